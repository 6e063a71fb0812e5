"""Functions that sweeps run in tests, here and in other processes; and what is compared of their results."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import Executor, Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import supple


def noisy(a: float, b: float = 1.0, seed: int = 0) -> dict[str, Any]:
    """Numbers, arrays of several lengths, text; and some failures."""
    if a == 3 and b == 2:
        raise ValueError("three and two do not go together")
    rng = np.random.default_rng(seed)
    return {"x": a * b + rng.random(), "several": rng.random(1 + int(a) % 3), "word": f"a is {a:g}"}


def mixed(a: int, seed: int = 0) -> dict[str, Any]:
    """One name for many things."""
    rng = np.random.default_rng([seed, a])
    what = ["text", rng.random(rng.integers(1, 5)), rng.random((2, rng.integers(1, 4))), 1.0, float("nan")]
    x = {"x": what[rng.integers(5)]} if rng.random() < 0.8 else {}
    return x | {"long": rng.random(rng.integers(1, 40))}


class Shuffled(Executor):
    """Runs what it gets at once, and says so in another order."""

    _max_workers = 3

    def __init__(self, seed: int) -> None:
        self._rng, self._held, self._count = np.random.default_rng(seed), [], 0

    def submit(self, function, *given):
        out = Future()
        self._held.append((out, function(*given)))
        threading.Timer(0.002, self._let_go).start()
        return out

    def _let_go(self) -> None:
        with suppress(IndexError):
            future, result = self._held.pop(int(self._rng.integers(len(self._held) or 1)))
            future.set_result(result)


def slow(a: int, seconds: float = 0.01) -> float:
    time.sleep(seconds)
    return float(np.sin(a))


def counted(a: int, folder: str) -> float:
    """Leaves a mark for each call."""
    with (Path(folder) / str(a)).open("a") as f:
        f.write("x")
    time.sleep(0.002)
    return np.sqrt(a)


def deadly(a: int) -> int:
    """Kills the process that runs it, for one value."""
    if a == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return a * a


def batched(x, y):
    return {"r": np.hypot(x, y), "both": np.stack([x, y], axis=1)}


def same(one: supple.Sweep, other: supple.Sweep) -> bool:
    """Whether two sweeps have the same bits, but for the time that they took."""
    assert one.shape == other.shape and {*one.quantities} == {*other.quantities}
    assert (one.status == other.status).all()
    said = [(f.run, f.message) for f in one.failures], [(f.run, f.message) for f in other.failures]
    assert said[0] == said[1]
    for name in set(one.quantities) - {"wall_time"}:
        a, b = one[name], other[name]
        assert a.shape == b.shape and a.dtype == b.dtype, name
        assert a.tobytes() == b.tobytes(), name
    return True
