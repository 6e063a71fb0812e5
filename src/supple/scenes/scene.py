"""What a scene is: a model, a position, and forces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive.quasistatics import Measure, QuasiStatics
from supple.errors import StateError
from supple.exact.wrench import wrench
from supple.model.model import Model
from supple.simulating.events import Event
from supple.simulating.forces import Push

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pushes:
    """Forces of the world on points of bodies, a row each."""

    bodies: Ints  #: (m,)
    forces: Floats  #: (m, 3) in the world
    points: Floats  #: (m, 3) in the body's frame

    def __len__(self) -> int:
        return len(self.bodies)

    def wrenches(self, model: Model, q: ArrayLike) -> Floats:
        """(n_bodies, 6) the same as forward_dynamics takes them."""
        out = np.zeros((model.n_bodies, 6))
        for b, f, p in zip(self.bodies.tolist(), self.forces, self.points):
            out += wrench(model, b, force=f, point=p, q=q)
        return out


@dataclass(frozen=True, eq=False)
class Scene:
    """A model at a position, under forces."""

    model: Model
    q0: Floats
    pushes: Pushes
    dt: float  #: seconds of a step, small enough for thousands of them to make a smooth motion
    rods: Floats  #: (n_bodies, 2, 3) two points of each body in its frame, between which it is drawn
    v0: Floats | None = None  #: at rest, by default
    forces: tuple[Any, ...] = ()  #: more than pushes: what supple.simulate takes
    events: tuple[Event, ...] = ()
    method: str = "quasi-statics"  #: the one that it was made for
    duration: float | None = None  #: seconds that are worth a look, if so

    def all_forces(self) -> list[Any]:
        """The pushes and all else that acts, as supple.simulate takes them."""
        rows = zip(self.pushes.bodies.tolist(), self.pushes.forces, self.pushes.points)
        return [*(Push(b, force=f, point=p) for b, f, p in rows), *self.forces]

    def quasi_statics(self, error: float = 2.0**-19, measure: Measure = "relative-joint") -> QuasiStatics:
        """The scene under its forces, ready to be stepped."""
        qs = QuasiStatics(self.model, self.q0, error, measure)
        for b, f, p in zip(self.pushes.bodies.tolist(), self.pushes.forces, self.pushes.points):
            qs.apply(b, force=f, point=p)
        return qs

    def with_pushes(self, pushes: Pushes) -> Scene:
        return replace(self, pushes=pushes)


def at_least(name: str, value: int, least: int) -> int:
    """value, refused if it is not a whole number or too small."""
    if int(value) != value or value < least:
        raise StateError(f"{name} must be a whole number, at least {least}; not {value!r}")
    return int(value)
