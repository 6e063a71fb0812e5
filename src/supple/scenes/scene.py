"""What a scene is: a model, a position, and forces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive.dynamics import AdaptiveDynamics
from supple.adaptive.quasistatics import Measure, QuasiStatics
from supple.arguments import whole
from supple.contact.settings import Contacts
from supple.exact.kinematics import poses
from supple.exact.wrench import wrench
from supple.model.model import Model, count, listed
from supple.simulating.drivers import load_stepper
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
    times: Floats | None = None  #: (m, 2) seconds from and until which each acts; None: all of them always do

    def __repr__(self) -> str:
        return f"<{count(len(self), 'push')} on bodies {listed(self.bodies[:6])}>"

    def __len__(self) -> int:
        return len(self.bodies)

    def each(self) -> Iterator[tuple[int, Floats, Floats]]:
        """Body, force, point."""
        return zip(self.bodies.tolist(), self.forces, self.points)

    def described(self) -> list[Push]:
        """The same as supple.simulate takes them."""
        times = np.tile((0.0, np.inf), (len(self), 1)) if self.times is None else self.times
        return [Push(b, f, p, start=t[0], stop=t[1]) for (b, f, p), t in zip(self.each(), times)]

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
    damping: Floats | None = None  #: (m,) newton seconds a metre; None: no dampers

    def __repr__(self) -> str:
        return f"<{count(len(self), 'spring')} on bodies {listed(self.bodies[:6])}>"

    def __len__(self) -> int:
        return len(self.bodies)

    def each(self) -> Iterator[tuple[int, Floats, float, Floats, float]]:
        """Body, anchor, stiffness, point, damping."""
        damping = [0.0] * len(self) if self.damping is None else self.damping.tolist()
        return zip(self.bodies.tolist(), self.anchors, self.stiffness.tolist(), self.points, damping)

    def wrenches(self, model: Model, q: ArrayLike) -> Floats:
        """(n_bodies, 6) what they do to the bodies at a position, at rest."""
        rotation, position = poses(model, q)
        reach = np.einsum("mij,mj->mi", rotation[self.bodies], self.points) + position[self.bodies]
        forces = self.stiffness[:, None] * (self.anchors - reach)
        return Pushes(self.bodies, forces, self.points).wrenches(model, q)


NO_PUSHES = Pushes(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), np.zeros((0, 3)))
NO_SPRINGS = Springs(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Scene:
    """A model at a position, under forces, and how to follow it through time."""

    model: Model
    q0: Floats
    pushes: Pushes
    dt: float  #: seconds of a step of dynamics
    rods: Floats  #: (n_bodies, 2, 3) two points of each body in its frame, between which it is drawn
    springs: Springs = NO_SPRINGS
    v0: Floats | None = None  #: at rest, by default
    forces: tuple[Any, ...] = ()  #: more than pushes: what supple.simulate takes
    events: tuple[Event, ...] = ()
    ground: Floats | None = None  #: (4,) normal and height of a plane on which it stands, if there is one
    duration: float = 5.0  #: seconds that are worth a look
    method: str = "aba"  #: of simulate, unless another one is named
    quasi_static_dt: float | None = None  #: of a step of quasi-statics, thousands of which make a smooth motion
    adaptive: Mapping[str, Any] = field(default_factory=lambda: {"error": 0.01})  #: settings of adaptive dynamics
    contacts: Contacts | None = None  #: settings of contact; None: without contacts
    solid: bool = False  #: bodies are drawn by their contact shapes, not between the points of `rods`

    def __repr__(self) -> str:
        acts = [count(len(self.pushes), "push"), count(len(self.springs), "spring"), count(len(self.forces), "force")]
        said = ", ".join(x for x in acts if not x.startswith("0 ")) or "no forces"
        return f"<Scene: {repr(self.model)[1:-1]}; {said}; {self.method}, {self.duration:g} s, dt={self.dt:g}>"

    @property
    def drawn_rods(self) -> Floats | None:
        """The rods that are drawn; None where bodies are drawn by their shapes."""
        return None if self.solid else self.rods

    def step_of(self, method: str) -> float:
        """dt of a step by a method."""
        return self.quasi_static_dt or self.dt if method == "quasi-statics" else self.dt

    def all_forces(self) -> list[Any]:
        """The pushes, springs and all else that acts, as supple.simulate takes them."""
        springs = [Spring(b, a, k, p, d) for b, a, k, p, d in self.springs.each()]
        return [*self.pushes.described(), *springs, *self.forces]

    def quasi_statics(self, error: float = 2.0**-19, measure: Measure = "relative-joint") -> QuasiStatics:
        """The scene under its forces, ready to be stepped: all but those that act for a limited time only."""
        qs = QuasiStatics(self.model, self.q0, error, measure)
        load_stepper(qs, self._lasting(), None)
        return qs

    def adaptive_dynamics(self, active: int | Sequence[str | int] | None = None, **settings: Any) -> AdaptiveDynamics:
        """The scene under its forces, ready to be stepped: all but those that act for a limited time only. settings:
        what AdaptiveDynamics takes."""
        ad = AdaptiveDynamics(self.model, self.q0, self.v0, active, **{"contacts": self.contacts} | settings)
        load_stepper(ad, self._lasting(), None)
        return ad

    def _lasting(self) -> list[Any]:
        """The forces that always act."""
        return [x for x in self.all_forces() if not isinstance(x, Push) or x.always]

    def wrenches(self, q: ArrayLike) -> Floats:
        """(n_bodies, 6) all pushes and springs at a position, at rest, as forward_dynamics takes them."""
        return self.pushes.wrenches(self.model, q) + self.springs.wrenches(self.model, q)

    def with_pushes(self, pushes: Pushes) -> Scene:
        return replace(self, pushes=pushes)


MOST = 10**8  #: of anything that a scene has
Some = Annotated[int, whole(1, MOST)]
SeedNumber = Annotated[int, whole(0, 2**63)]
