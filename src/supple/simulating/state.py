"""A state: where a body is and how it moves, at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.arguments import FINITE, ROW, take
from supple.errors import SimulationError, quoted
from supple.exact.state_errors import MODEL
from supple.integrating.states import checked_state as checked_state
from supple.model.model import Model
from supple.once import made_once

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class JointState(NamedTuple):
    """The position and velocity of one joint: a number each, or one for each coordinate."""

    q: Any
    v: Any


@made_once("time")
@dataclass(frozen=True, eq=False)
class State:
    """Where a body is and how it moves, at a time: passed to forces, and to an event's `then`, which may return a
    changed one. state["elbow"] has the q and v of one joint."""

    time: float
    q: Floats
    v: Floats
    model: Model
    active_joints: Ints | None = None  #: the joints that were computed, by index, if not all were
    error: float | None = None  #: of leaving out the others, in the measure of the run (Result.measure)
    sleeping: Ints | None = None  #: the free roots of trees that sleep, by index; None in runs in which nothing sleeps

    def __post_init__(self) -> None:
        q, v = self.q, self.v
        timed = self.time.__class__ is float and self.time - self.time == 0.0  # and finite
        plain = timed and q.__class__ is np.ndarray and v.__class__ is np.ndarray
        if not (plain and q.dtype == v.dtype == np.float64 and q.ndim == v.ndim == 1 and isinstance(self.model, Model)):
            for name, kind in (("time", FINITE), ("q", ROW), ("v", ROW), ("model", MODEL)):
                object.__setattr__(self, name, take(f"State: {name}", getattr(self, name), kind))

    __iter__ = None  # it is no sequence of joints

    def __getitem__(self, joint: str | int) -> JointState:
        """The q and v of a joint: numbers, or arrays if it has several."""
        at = slices(self.model).get(joint) if isinstance(joint, str) else None
        if at is None:
            part = self.model.joints[joint]  # type: ignore[index]
            at = part.q, part.v
        q, v = self.q[at[0]], self.v[at[1]]
        return JointState(float(q[0]) if len(q) == 1 else q, float(v[0]) if len(v) == 1 else v)

    def replace(self, **changes: Any) -> State:
        """A copy of the state with another q, v or model."""
        return replace(self, **changes)

    def __repr__(self) -> str:
        return f"<State of {quoted(self.model.name)} at {self.time:.6g} s: q {_some(self.q)}, v {_some(self.v)}>"


def slices(model: Model) -> dict[str, tuple[slice, slice]]:
    """The slices of q and v of every joint, by name; kept with the model, as functions need them in every step."""
    return model._kept(slices, lambda: {j.name: (j.q, j.v) for j in model.joints.values()})


def lent(x: Floats) -> Floats:
    """A read-only view for a function that is not ours."""
    out = x.view()
    out.setflags(write=False)
    return out


def lent_to(who: str, owner: Any, function: Callable[..., Any], time: float, *arguments: Any) -> Any:
    """What a function that is not ours returns; if it writes into a lent array, the error names its owner."""
    try:
        return function(*arguments)
    except ValueError as e:
        if "read-only" not in str(e):
            raise
        raise SimulationError(
            f"{who} {name_of(owner)!r} writes into the q or v that it is given, at time {time:.6g} s: these are the "
            "run's own and read-only; make new arrays (-c * v, not v *= -c) or write into a copy (q.copy())",
            time,
        ) from e


def name_of(x: Any) -> str:
    """The name of an event or a function."""
    return str(getattr(x, "name", None) or getattr(x, "__name__", None) or type(x).__name__)


def _some(x: Floats) -> str:
    shown = ", ".join(f"{value:.4g}" for value in x[:6])
    return f"[{shown}{', ...' if len(x) > 6 else ''}]"
