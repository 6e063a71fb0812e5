"""Sweeps on a real Dask cluster: a scheduler and workers as processes of this machine, started as their users do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import supple
from supple import SweepError
from supple.sweeping import engines
from sweeps import noisy, same, slow

TESTS = Path(__file__).parents[1]


class Cluster:
    """Everything is bound to 127.0.0.1."""

    def __init__(self) -> None:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
        self._env = os.environ | {"PYTHONPATH": paths, "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "0"}
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self, workers: int) -> None:
        more = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show"]
        self.scheduler = self._process("scheduler", *more)
        for _ in range(workers):
            self.start_worker()

    def start_worker(self) -> None:
        more = ["--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        self.workers.append(self._process("worker", f"tcp://{self.address}", *more))

    def _process(self, *words: str) -> subprocess.Popen[bytes]:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([sys.executable, "-m", "dask", *words], env=self._env, **quiet)

    def kill_worker(self) -> None:
        self._kill(self.workers.pop(0))

    def kill_scheduler(self) -> None:
        assert self.scheduler is not None
        self._kill(self.scheduler)

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        for process in [*self.workers, *([self.scheduler] if self.scheduler else [])]:
            self._kill(process)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    try:
        yield made
    finally:
        made.close()


def when(path: Path, done: int, then: Callable[[], None]) -> None:
    """Do something when a store has so many runs."""
    while not (path / ".zmetadata").exists() or supple.load_sweep(path).done < done:
        time.sleep(0.01)
    then()


def test_workers_and_the_scheduler_are_killed_and_nothing_is_lost(cluster, tmp_path, monkeypatch):
    """A worker dies, then the scheduler and with it everything; it comes back at the same address, with other workers.
    The results are those of one core, bit by bit."""
    monkeypatch.setattr("supple.sweeping.store.SECONDS", 0.05)
    monkeypatch.setattr("supple.sweeping.driver.BUNDLE", 0.05)
    path, over = tmp_path / "s.zarr", {"a": range(400)}
    cluster.start(2)

    def accidents() -> None:
        when(path, 40, cluster.kill_worker)
        when(path, 120, cluster.kill_scheduler)
        cluster.start(1)

    thread = threading.Thread(target=accidents)
    thread.start()
    s = supple.sweep(slow, over, out=path, engine=f"dask://{cluster.address}")
    thread.join()
    assert s.done == 400 and same(s, supple.sweep(slow, over, engine="serial"))

    # Failures, text and arrays of several lengths are as on one core, too.
    over = {"a": [1, 2, 3], "b": [1, 2]}
    from distributed import Client

    with Client(f"tcp://{cluster.address}", set_as_default=False) as client:
        both = [supple.sweep(noisy, over, repeats=2, engine=engine) for engine in (client, "serial")]
        assert same(*both) and both[0].failed == 2
        assert client.status == "running"  # it is ours


def test_a_scheduler_without_workers_is_said_to_have_none(cluster):
    cluster.start(0)
    engine = engines.engine_of(f"dask://{cluster.address}", None, 1)
    try:
        assert engines.said(engine) == f"dask://{cluster.address}, which has no workers yet" and engine.workers == 1
        cluster.start_worker()
        while engine.workers and "no workers" in engines.said(engine):
            time.sleep(0.1)
        assert engines.said(engine) == f"dask://{cluster.address}, 1 worker"
    finally:
        engine.close()


def test_engines_that_are_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "ANSWER", 0.3)
    begun = time.monotonic()
    with pytest.raises(SweepError, match=r"^dask://127\.0\.0\.1:9: no scheduler answers there .*`dask scheduler`"):
        supple.sweep(slow, {"a": [1]}, engine="dask://127.0.0.1:9", out=tmp_path / "s.zarr")
    assert time.monotonic() - begun < 20
    assert supple.sweep(slow, {"a": [1]}, engine="serial", out=tmp_path / "s.zarr", resume=True).done == 1
    with socket.socket() as mute:  # somebody who takes the call, and says nothing
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        with pytest.raises(SweepError, match="no scheduler answers there"):
            supple.sweep(slow, {"a": [1]}, engine=f"dask://127.0.0.1:{mute.getsockname()[1]}")
