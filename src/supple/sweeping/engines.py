"""Where runs are made: in this process, in processes of this machine, on a Dask cluster, by an executor that is given.

All of them are executors of concurrent.futures to the driver. What they add: how many workers there are, and what to do
when they are gone.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time as clock
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from supple.errors import StateError, SweepError
from supple.model.model import count
from supple.sweeping.processes import Alone, begin

SERIAL, LOCAL, DASK = "serial", "local", "dask://"
ADDRESS = re.compile(r"dask://([\w.-]+:|\[[\da-fA-F:.]+\]:)(\d{1,5})/?", re.ASCII)
AGAIN = 1.0  #: seconds between two looks at who is there
PATIENCE = 60.0  #: seconds for a scheduler to come back
ANSWER = 10.0  #: seconds for a scheduler to answer at first


class Gone(Exception):
    """The workers, or who speaks for them, are gone; the runs they had were not made."""


class Engine(Protocol):
    def submit(self, function: Callable[..., Any], *given: Any) -> Future[Any]:
        """Raises Gone."""

    @property
    def workers(self) -> int:
        """How many there are now."""

    def restore(self) -> None:
        """After workers were lost: have others. Raises SweepError if there are none to be had."""

    def check(self) -> None:
        """Raises Gone if nothing that was submitted will ever come back."""

    def close(self, at_once: bool = False) -> None: ...


class Serial:
    """This process, one run after the other."""

    workers = 1

    def submit(self, function: Callable[..., Any], *given: Any) -> Future[Any]:
        out: Future[Any] = Future()
        out.set_result(function(*given))
        return out

    def restore(self) -> None: ...

    def check(self) -> None: ...

    def close(self, at_once: bool = False) -> None: ...


class Processes:
    """Processes of this machine. They end with this one, and do without its main script."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self.workers, Alone(), begin)

    def submit(self, function: Callable[..., Any], *given: Any) -> Future[Any]:
        try:
            return self._pool.submit(function, *given)
        except BrokenExecutor:
            raise Gone from None

    def restore(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._new()

    def check(self) -> None: ...

    def close(self, at_once: bool = False) -> None:
        processes = list((self._pool._processes or {}).values())
        if at_once:
            for process in processes:
                process.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)


class Given:
    """An executor of concurrent.futures that somebody else has made, and keeps."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    @property
    def workers(self) -> int:
        known = getattr(self._executor, "_max_workers", None) or getattr(self._executor, "num_workers", None)
        return known if isinstance(known, int) and known > 0 else os.cpu_count() or 1

    def submit(self, function: Callable[..., Any], *given: Any) -> Future[Any]:
        try:
            return self._executor.submit(function, *given)
        except BrokenExecutor:
            raise Gone from None
        except RuntimeError as e:
            raise SweepError(f"the executor takes no runs: {e}") from None

    def restore(self) -> None:
        raise SweepError("the workers of the executor died; make another one, and resume the sweep with it")

    def check(self) -> None: ...

    def close(self, at_once: bool = False) -> None: ...


class Dask:
    """A cluster of Dask distributed: a scheduler at an address, or a client that somebody else has made."""

    def __init__(self, address: str | None, client: Any = None) -> None:
        self._address, self._given = address, client
        self._seen, self._looked = 0, 0.0
        self._client = client or self._connected(ANSWER)

    @property
    def name(self) -> str:
        return f"{DASK}{self._address}" if self._address else "the Dask client"

    def __str__(self) -> str:
        workers = self.workers
        there = count(workers, "worker") if self._seen else "which has no workers yet"
        return f"{self.name}, {there}"

    def _connected(self, seconds: float) -> Any:
        try:
            from distributed import Client
        except ImportError:
            raise SweepError(f"{self.name} needs Dask: pip install 'supple[sweeps]'") from None
        try:
            with _quiet():
                how = dict(timeout=seconds, set_as_default=False)
                return _within(2.0 * seconds, lambda: Client(f"tcp://{self._address}", **how))
        except (OSError, TimeoutError, ValueError) as e:
            said = " ".join(str(e).split())[:120]
            raise SweepError(
                f"{self.name}: no scheduler answers there ({said}); `dask scheduler` starts one, and says its address"
            ) from None

    @property
    def workers(self) -> int:
        if clock.monotonic() - self._looked > AGAIN:
            with suppress(Exception):  # a connection that breaks is found by check()
                self._seen = sum(self._client.nthreads().values())
            self._looked = clock.monotonic()
        return max(self._seen, 1)

    def submit(self, function: Callable[..., Any], *given: Any) -> Future[Any]:
        self.check()
        out: Future[Any] = Future()
        try:
            theirs = self._client.submit(function, *given, pure=False)
        except Exception:  # of a client that is closing
            raise Gone from None
        theirs.add_done_callback(lambda done: _pass_on(done, out))
        out.theirs = theirs  # type: ignore[attr-defined]  # dropped, it would be cancelled
        return out

    def check(self) -> None:
        if self._client.status != "running":
            raise Gone

    def restore(self) -> None:
        if self._given is not None:
            raise SweepError("the Dask client lost its scheduler; connect another one, and resume the sweep with it")
        with suppress(Exception):
            self._client.close(timeout=1)
        last = clock.monotonic() + PATIENCE
        while True:
            try:
                self._client = self._connected(min(ANSWER, PATIENCE))
                return
            except SweepError as e:
                if clock.monotonic() > last:
                    raise SweepError(f"{e}; the connection was lost {PATIENCE:g} s ago") from None
                clock.sleep(0.2)

    def close(self, at_once: bool = False) -> None:
        if self._given is None:
            with suppress(Exception):
                self._client.close(timeout=2)


def _within(seconds: float, make: Callable[[], Any]) -> Any:
    """What is made, or TimeoutError: of somebody who takes a call and says nothing, Dask waits for ever."""
    out: Future[Any] = Future()

    def make_it() -> None:
        try:
            out.set_result(make())
        except BaseException as e:
            out.set_exception(e)

    threading.Thread(target=make_it, daemon=True).start()
    try:
        return out.result(seconds)
    except TimeoutError as e:
        raise TimeoutError(str(e) or f"nothing was said in {seconds:g} s") from None


def _pass_on(theirs: Any, ours: Future[Any]) -> None:
    """What came of a run on the cluster, in a future that can be waited for beside others."""
    with suppress(Exception):  # ours is given up already
        try:
            ours.set_result(theirs.result())
        except BaseException as e:
            ours.set_exception(Gone() if isinstance(e, CancelledError) or _is_cancelled(e) else e)


def _is_cancelled(e: BaseException) -> bool:
    return "Cancelled" in type(e).__name__ or isinstance(e, (TimeoutError, OSError))


def died(e: BaseException) -> bool:
    """Whether an exception says that the process that made a bundle is dead."""
    return isinstance(e, BrokenExecutor) or type(e).__name__ == "KilledWorker"


def engine_of(engine: Any, workers: int | None, runs: int) -> Engine:
    """The engine that is meant. runs: no more workers than these."""
    if engine is None or engine == LOCAL:
        return Processes(max(1, min(workers or cores(), runs)))
    if isinstance(engine, str):
        if workers is not None:
            raise StateError(f"engine {engine!r} has the workers that it has; leave workers out")
        if engine == SERIAL:
            return Serial()
        found = ADDRESS.fullmatch(engine)
        if found is not None and 0 < int(found[2]) < 2**16:
            return Dask(found[1] + found[2])
        raise StateError(f"engine {engine!r} is none: take 'local', 'serial', 'dask://HOST:PORT', or an executor")
    if workers is not None:
        raise StateError("an executor has the workers that it has; leave workers out")
    if type(engine).__module__.startswith("distributed") and hasattr(engine, "scheduler_info"):
        return Dask(None, engine)
    if isinstance(engine, Executor) or (callable(getattr(engine, "submit", None)) and hasattr(engine, "shutdown")):
        return Given(engine)
    raise StateError(f"an engine is text, an executor of concurrent.futures or a Dask client, not {type(engine)}")


def cores() -> int:
    """How many this process may use."""
    with suppress(AttributeError):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def said(engine: Engine) -> str:
    """Where runs are made, in words."""
    what = {Serial: "this process", Processes: count(engine.workers, "worker"), Given: "the executor given"}
    return what.get(type(engine)) or str(engine)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Dask's own words about connections that fail; ours say it in one sentence."""
    logger = logging.getLogger("distributed")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
