"""What a scene is: a model, a position, and forces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive.dynamics import AdaptiveDynamics
from supple.adaptive.quasistatics import Measure, QuasiStatics
from supple.arguments import whole
from supple.exact.kinematics import poses
from supple.exact.wrench import wrench
from supple.model.model import Model, count, listed
from supple.simulating.events import Event
from supple.simulating.forces import Push, Spring

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pushes:
    """Forces of the world on points of bodies, a row each."""

    bodies: Ints  #: (m,)
    forces: Floats  #: (m, 3) in the world
    points: Floats  #: (m, 3) in the body's frame

    def __repr__(self) -> str:
        return f"<{count(len(self), 'push')} on bodies {listed(self.bodies[:6])}>"

    def __len__(self) -> int:
        return len(self.bodies)

    def each(self) -> Iterator[tuple[int, Floats, Floats]]:
        """Body, force, point."""
        return zip(self.bodies.tolist(), self.forces, self.points)

    def wrenches(self, model: Model, q: ArrayLike) -> Floats:
        """(n_bodies, 6) the same as forward_dynamics takes them."""
        out = np.zeros((model.n_bodies, 6))
        for b, f, p in self.each():
            out += wrench(model, b, force=f, point=p, q=q)
        return out


@dataclass(frozen=True, eq=False)
class Springs:
    """Springs of no length at rest, from points of bodies to points of the world, a row each."""

    bodies: Ints  #: (m,)
    points: Floats  #: (m, 3) in the body's frame
    anchors: Floats  #: (m, 3) in the world
    stiffness: Floats  #: (m,) newtons a metre

    def __repr__(self) -> str:
        return f"<{count(len(self), 'spring')} on bodies {listed(self.bodies[:6])}>"

    def __len__(self) -> int:
        return len(self.bodies)

    def each(self) -> Iterator[tuple[int, Floats, float, Floats]]:
        """Body, anchor, stiffness, point."""
        return zip(self.bodies.tolist(), self.anchors, self.stiffness.tolist(), self.points)

    def wrenches(self, model: Model, q: ArrayLike) -> Floats:
        """(n_bodies, 6) what they do to the bodies at a position."""
        rotation, position = poses(model, q)
        reach = np.einsum("mij,mj->mi", rotation[self.bodies], self.points) + position[self.bodies]
        forces = self.stiffness[:, None] * (self.anchors - reach)
        return Pushes(self.bodies, forces, self.points).wrenches(model, q)


NO_PUSHES = Pushes(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), np.zeros((0, 3)))
NO_SPRINGS = Springs(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Scene:
    """A model at a position, under forces."""

    model: Model
    q0: Floats
    pushes: Pushes
    dt: float  #: seconds of a step, small enough for thousands of them to make a smooth motion
    rods: Floats  #: (n_bodies, 2, 3) two points of each body in its frame, between which it is drawn
    springs: Springs = NO_SPRINGS
    v0: Floats | None = None  #: at rest, by default
    forces: tuple[Any, ...] = ()  #: more than pushes: what supple.simulate takes
    events: tuple[Event, ...] = ()
    method: str = "quasi-statics"  #: the one that it was made for
    duration: float | None = None  #: seconds that are worth a look, if so

    def __repr__(self) -> str:
        acts = [count(len(self.pushes), "push"), count(len(self.springs), "spring"), count(len(self.forces), "force")]
        said = ", ".join(x for x in acts if not x.startswith("0 ")) or "no forces"
        return f"<Scene: {repr(self.model)[1:-1]}; {said}; {self.method}, dt={self.dt:g}>"

    def all_forces(self) -> list[Any]:
        """The pushes, springs and all else that acts, as supple.simulate takes them."""
        pushes = [Push(b, force=f, point=p) for b, f, p in self.pushes.each()]
        return [*pushes, *(Spring(b, a, k, p) for b, a, k, p in self.springs.each()), *self.forces]

    def quasi_statics(self, error: float = 2.0**-19, measure: Measure = "relative-joint") -> QuasiStatics:
        """The scene under its forces, ready to be stepped."""
        qs = QuasiStatics(self.model, self.q0, error, measure)
        self._push(qs)
        return qs

    def adaptive_dynamics(self, active: int | Sequence[str | int] | None = None, **settings: Any) -> AdaptiveDynamics:
        """The scene under its forces, ready to be stepped; settings: what AdaptiveDynamics takes."""
        ad = AdaptiveDynamics(self.model, self.q0, self.v0, active, **settings)
        self._push(ad)
        return ad

    def _push(self, body: QuasiStatics | AdaptiveDynamics) -> None:
        for b, f, p in self.pushes.each():
            body.apply(b, force=f, point=p)
        for b, a, k, p in self.springs.each():
            body.spring(b, a, k, p)

    def wrenches(self, q: ArrayLike) -> Floats:
        """(n_bodies, 6) all forces at a position, as forward_dynamics takes them."""
        return self.pushes.wrenches(self.model, q) + self.springs.wrenches(self.model, q)

    def with_pushes(self, pushes: Pushes) -> Scene:
        return replace(self, pushes=pushes)


MOST = 10**8  #: of anything that a scene has
Some = Annotated[int, whole(1, MOST)]
SeedNumber = Annotated[int, whole(0, 2**63)]
