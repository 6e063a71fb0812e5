"""`supple bench sweeps`: what a sweep adds to its runs, two processes beside one, a basin of attraction beside a loop
over `walk`."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import supple
from supple import scenes
from supple.bench.rows import Row
from supple.sweeping.driver import Driver
from supple.sweeping.engines import Engine, Processes
from supple.sweeping.functions import FunctionTarget
from supple.sweeping.plan import plan
from supple.sweeping.table import Table
from supple.sweeping.work import Work, taken

OVERHEAD = 1e-3  #: seconds a run
TWO = (1.7, 1.9)  #: times as fast as one process: (floor, aim)
BASIN = (20.0, 30.0)  #: times as fast as a loop over walk
SLOPE, STEPS, TOLERANCE = 0.009, 10, 1e-8

Floats = NDArray[np.float64]


def groups(console: Console, quick: bool) -> Iterator[tuple[str, list[Row]]]:
    yield "What a sweep adds to a run, on one worker", [_overhead(quick)]
    yield "Two processes beside one", [_two(quick)]
    yield "A basin of attraction, on one core", [_basin(quick)]


def _nothing(a: float) -> float:
    return a


def _busy(a: float, seconds: float) -> float:
    """Work of a core, for so long in its own time."""
    last, x = clock.process_time() + seconds, a
    while clock.process_time() < last:
        x = np.sin(x)
    return float(x)


def _overhead(quick: bool) -> Row:
    count = 2000 if quick else 20_000
    return Row("a run that does nothing", _timed(_nothing, count, 1, {}) / count, "s", floor=OVERHEAD, aim=OVERHEAD / 5)


def _two(quick: bool) -> Row:
    """The same work of 10 ms a run."""
    count = 100 if quick else 400
    one, two = (min(_timed(_busy, count, n, {"seconds": 0.01}) for _ in range(1 if quick else 3)) for n in (1, 2))
    return Row(f"{count} runs of 10 ms", two, "s", one, "one process", *TWO)


def _timed(function: Callable[..., float], count: int, workers: int, fixed: dict[str, float]) -> float:
    """Seconds of a sweep, once its processes are there."""
    target = FunctionTarget(function, batched=False)
    engine = Processes(workers)
    try:
        _drive(target, 4 * workers, engine, fixed)
        begun = clock.perf_counter()
        _drive(target, count, engine, fixed)
        return clock.perf_counter() - begun
    finally:
        engine.close()


def _drive(target: FunctionTarget, count: int, engine: Engine, fixed: dict[str, float]) -> None:
    runs = plan(target, {"a": np.arange(float(count))}, fixed, None, "sobol", None, 0)
    table = Table(runs, {})
    Driver(runs, Work(target, runs.fixed, taken(["a"])), table, engine, None).run(lambda: None)


def _basin(quick: bool) -> Row:
    """Cells of the simplest walker's basin: steps before it falls."""
    walker = scenes.simplest_walker(SLOPE)
    q, v = section(walker, 32 if quick else 64)
    some = slice(None, None, 16)
    supple.walk_many(walker, q[:4], v[:4], STEPS, tolerance=TOLERANCE)
    begun = clock.perf_counter()
    ours = supple.walk_many(walker, q, v, STEPS, tolerance=TOLERANCE)
    mine = (clock.perf_counter() - begun) / len(q)
    begun = clock.perf_counter()
    theirs = [
        sum(step.landed for step in supple.walk(walker.at(x, y), STEPS, trace=False, tolerance=TOLERANCE))
        for x, y in zip(q[some], v[some])
    ]
    loop = (clock.perf_counter() - begun) / len(theirs)
    if not np.array_equal(ours.steps[some], theirs):
        raise supple.SuppleError("walk_many and walk do not make the same steps; timing them would mean nothing")
    return Row(f"a cell of {len(q):,}", mine, "s", loop, "a loop over walk", *BASIN)


def section(walker: supple.Walker, n: int) -> tuple[Floats, Floats]:
    """(n n, 2) states just after an impact of the simplest walker, on a grid of its angle and rate."""
    slope = walker.parameters["slope"]
    theta, rate = map(np.ravel, np.meshgrid(np.linspace(0.1, 0.3, n), np.linspace(-0.3, -0.1, n), indexing="ij"))
    q = np.stack([theta - slope, 2 * theta], axis=1)
    return q, np.stack([rate, rate * (1 - np.cos(2 * theta))], axis=1)
