"""Which runs a sweep has: axes, whose product they are, in C order.

A grid has an axis for each of its parameters. All parameters that are sampled share one, `sample`; and seeds are on
another one, `repeat`. What run i gets follows from i alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from supple.errors import StateError, quoted, short
from supple.sweeping.outcomes import FAILURE, NAME, STATUS, WALL
from supple.sweeping.ranges import Range, given

Sampling = Literal["sobol", "latin-hypercube", "random"]
SAMPLE, REPEAT, SEED = "sample", "repeat", "seed"
MOST = 10**8  #: runs
MOST_SAMPLED = 1000  #: parameters


class Target(Protocol):
    """What is run: which parameters it has, and which values they may have."""

    @property
    def name(self) -> str: ...
    def accept(self, parameter: str, value: Any) -> Any:
        """A value of a parameter, as the run gets it; raises StateError if it has no such parameter or value."""

    def takes(self, parameter: str) -> bool: ...
    def is_whole(self, parameter: str) -> bool:
        """Whether its values are whole numbers."""


@dataclass(frozen=True, eq=False)
class Axis:
    """A dimension, and the values along it of one parameter or several: arrays of numbers, truth values or text."""

    name: str
    values: dict[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(next(iter(self.values.values())))


@dataclass(frozen=True, eq=False)
class Plan:
    """All runs of a sweep."""

    axes: tuple[Axis, ...]
    fixed: dict[str, Any]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    @cached_property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def names(self) -> list[str]:
        """Of all that varies."""
        return [name for axis in self.axes for name in axis.values]

    def columns(self, runs: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """What varies, for some runs: an array for each parameter."""
        places = np.unravel_index(runs, self.shape)
        return {name: x[place] for axis, place in zip(self.axes, places) for name, x in axis.values.items()}

    def varied(self, run: int) -> dict[str, Any]:
        """What is this run's own."""
        return {name: column.tolist()[0] for name, column in self.columns(np.array([run])).items()}


def plan(
    target: Target,
    over: Mapping[str, Any],
    fixed: Mapping[str, Any],
    samples: int | None,
    sampling: Sampling,
    repeats: int | None,
    seed: int,
) -> Plan:
    """The runs, each value of each parameter checked."""
    both = [name for name in over if name in fixed]
    if both:
        raise StateError(f"{both[0]} is varied, and fixed as well; leave one of them out")
    grid: list[Axis] = []
    sampled: dict[str, Range] = {}
    for name, value in over.items():
        if not isinstance(name, str):
            raise StateError(f"parameters have names, and {quoted(name)} is none")
        values = given(name, value)
        if isinstance(values, Range) and values.count is None:
            sampled[name] = values
        else:
            grid.append(Axis(name, {name: _accepted(target, name, values)}))
    if sampled or samples is not None:
        grid.append(_samples(target, sampled, samples, sampling, seed))
    if repeats is not None:
        grid.append(_repeats(target, repeats, seed, {*over, *fixed}))
    if not grid:
        raise StateError("a sweep goes over something: name a parameter and its values, such as slope=0.01:0.1:100")
    out = Plan(tuple(grid), {name: target.accept(name, value) for name, value in fixed.items()})
    if out.size > MOST:
        raise StateError(f"these are {out.size:,} runs (at most {MOST:,}); take fewer values")
    return out


def _accepted(target: Target, name: str, values: Range | list[Any]) -> NDArray[Any]:
    several = values.values().tolist() if isinstance(values, Range) else values
    return as_column(name, [target.accept(name, x) for x in several])


def as_column(name: str, values: list[Any]) -> NDArray[Any]:
    """Values of one kind, as they can be kept: numbers, truth values or text."""
    kinds = {type(x) for x in values}
    if kinds <= {bool, np.bool_}:
        return np.array(values, dtype=bool)
    if kinds & {bool, np.bool_} or (str in kinds and kinds != {str}):
        raise StateError(f"{name}: values are all numbers, all text or all true or false, not some of each")
    if kinds == {str}:
        return np.array(values)
    if all(isinstance(x, (int, np.integer)) for x in values) and all(abs(int(x)) < 2**63 for x in values):
        return np.array(values, dtype=np.int64)
    return np.array(values, dtype=np.float64)


def _samples(target: Target, ranges: dict[str, Range], count: int | None, sampling: Sampling, seed: int) -> Axis:
    if count is None:
        names = ", ".join(ranges)
        raise StateError(
            f"{names}: say how many: FROM:TO:COUNT for a grid, or a number of samples (samples=128, --samples 128)"
        )
    if not ranges:
        raise StateError("samples are drawn from a range without a count, such as slope=0.01:0.1; there is none")
    if len(ranges) > MOST_SAMPLED:
        raise StateError(f"these are {len(ranges):,} sampled parameters (at most {MOST_SAMPLED:,})")
    shares = _shares(len(ranges), count, sampling, seed)
    out = {}
    for (name, values), column in zip(ranges.items(), shares.T):
        drawn = values.whole_at(column) if target.is_whole(name) else values.at(column)
        out[name] = as_column(name, [target.accept(name, x) for x in drawn.tolist()])
    return Axis(SAMPLE, out)


def _shares(n: int, count: int, sampling: Sampling, seed: int) -> NDArray[np.float64]:
    """(count, n) points of the unit cube."""
    from scipy.stats import qmc

    rng = np.random.default_rng(seed)
    if sampling == "random":
        return rng.random((count, n))
    made = qmc.Sobol(n, rng=rng) if sampling == "sobol" else qmc.LatinHypercube(n, rng=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a number of points that is no power of two is as good as asked
        return np.asarray(made.random(count), dtype=np.float64)


def _repeats(target: Target, repeats: int, seed: int, named: set[str]) -> Axis:
    if not target.takes(SEED):
        raise StateError(f"{target.name} takes no seed: repeated, its runs would all be the same")
    if SEED in named:
        raise StateError("seed is a parameter already; leave repeats out")
    return Axis(REPEAT, {SEED: as_column(SEED, [target.accept(SEED, seed + i) for i in range(repeats)])})


def check_names(plan: Plan) -> None:
    """Refuse names that could not be kept, or not beside each other."""
    seen: set[str] = {STATUS, FAILURE, WALL}
    for axis in plan.axes:
        for name in {axis.name, *axis.values}:
            if not NAME.fullmatch(name):
                raise StateError(f"a parameter cannot be called {quoted(name)}: letters, digits and _ make a name")
            if name in seen:
                raise StateError(f"{short(name)} is the name of something else already; rename the parameter")
            seen.add(name)
