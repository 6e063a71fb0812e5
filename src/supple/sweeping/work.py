"""What a worker does: a bundle of runs, each an outcome whatever happens in it."""

from __future__ import annotations

import hashlib
import pickle
import time as clock
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from supple import __version__
from supple.errors import StateError
from supple.sweeping.outcomes import FAILURE, LARGEST, STATUS, WALL, Outcome, failure, measured

LONG = 1.0  #: seconds of a bundle
LARGE = 100_000  #: bytes of what is not sent with every bundle
Ends = tuple[type[BaseException], ...]


class Runnable(Protocol):
    batched: bool

    def run(self, parameters: dict[str, Any]) -> Any: ...


class Work(NamedTuple):
    """What all runs of a sweep have in common."""

    target: Runnable
    fixed: dict[str, Any]
    taken: frozenset[str]  #: names that no quantity can have


class Parcel(NamedTuple):
    """Work as it is sent, and what tells it from other work. Without content where it is large, and was sent before."""

    content: bytes | None
    digest: str
    version: str  #: of Supple

    @property
    def is_large(self) -> bool:
        return self.content is not None and len(self.content) > LARGE


class Batch(NamedTuple):
    """What a batch gives: rows of quantities, or a message."""

    values: dict[str, NDArray[Any]] | None
    message: str
    seconds: float


def parcel(work: Work) -> Parcel:
    """Work for other processes; functions of scripts and notebooks are sent with all that they use."""
    import cloudpickle

    try:
        content: bytes = cloudpickle.dumps(work)
    except Exception as e:  # whatever __reduce__ of foreign objects raises
        raise StateError(
            f"what is to be run cannot be sent to other processes ({failure(e)}): let the function open files, locks "
            "and connections itself, or use engine='serial'"
        ) from None
    return Parcel(content, hashlib.sha256(content).hexdigest(), __version__)


_unpacked: dict[str, Work] = {}  #: what this process has at hand: the last


def _work_of(parcel: Parcel) -> Work | None:
    """None if it was never sent here."""
    work = _unpacked.get(parcel.digest)
    if work is None and parcel.content is not None:
        work = pickle.loads(parcel.content)
        _unpacked.clear()
        _unpacked[parcel.digest] = work
    return work


def do(parcel: Parcel, columns: dict[str, list[Any]]) -> list[Outcome] | Batch | None:
    """A bundle: the values of all that varies, of each run; None if the worker was never told what to do. Called in
    workers, where Ctrl-C means nothing."""
    if parcel.version != __version__:
        raise StateError(f"a worker has Supple {__version__}, and what began the sweep has {parcel.version}")
    work = _work_of(parcel)
    return None if work is None else _made(work, columns, ())


def do_here(work: Work, columns: dict[str, list[Any]]) -> list[Outcome] | Batch:
    """The same in this process."""
    return _made(work, columns, (KeyboardInterrupt,))


def _made(work: Work, columns: dict[str, list[Any]], ends: Ends) -> list[Outcome] | Batch:
    """At least one run, and no more when they have taken LONG. ends: exceptions that are the end of it all."""
    if work.target.batched:
        return _batch(work, columns, ends)
    names, out, end = list(columns), [], clock.perf_counter() + LONG
    for values in zip(*columns.values()):
        out.append(_run(work, dict(zip(names, values)), ends))
        if clock.perf_counter() > end:
            break
    return out


def _run(work: Work, varied: dict[str, Any], ends: Ends) -> Outcome:
    begun = clock.perf_counter()
    try:
        values = measured(work.target.run(work.fixed | varied), work.taken)
    except ends:
        raise
    except BaseException as e:
        return Outcome(None, failure(e), clock.perf_counter() - begun)
    seconds = clock.perf_counter() - begun
    return Outcome({WALL: seconds} | values, "", seconds)


def _batch(work: Work, columns: dict[str, list[Any]], ends: Ends) -> Batch:
    begun = clock.perf_counter()
    count = len(next(iter(columns.values())))
    try:
        arrays = {name: np.array(values) for name, values in columns.items()}
        values = measured(work.target.run(work.fixed | arrays), work.taken, LARGEST * count)
        for name, x in values.items():
            if not isinstance(x, np.ndarray) or x.shape[:1] != (count,):
                raise StateError(f"{name} must be an array with a row for each of the {count} runs of a batch")
    except ends:
        raise
    except BaseException as e:
        return Batch(None, failure(e), clock.perf_counter() - begun)
    seconds = clock.perf_counter() - begun
    return Batch({WALL: np.full(count, seconds / count)} | values, "", seconds)


def taken(names: Sequence[str]) -> frozenset[str]:
    """Names that no quantity can have, where these are parameters and axes."""
    return frozenset({*names, STATUS, FAILURE})
