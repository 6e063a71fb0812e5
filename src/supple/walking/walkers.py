"""Walkers: trees that stand on one foot until the other lands and becomes the root [RR section 8].

Between impacts a walker is a tree on its support foot and moves in compiled code (walking/stride.py). When the other
foot lands, it stays there without bounce or slip (impacts.py), and the tree is re-rooted to it; the old support is
released [RR B1 to B5]. The ground is one plane, so a step looks the same wherever it is made: models are kept, one for
each foot, with the support at its initial position, and each step reports how far it took the walker.

The same law of touchdown holds for `walk`, `gait` and the `events` of a simulation (walking/touchdown.py). Heights are
relative to the support:

    touchdown   the first instant at which the foot's height falls through zero and, at that instant, the foot is ahead
                of the support by more than `clearance`; a foot that scuffs the ground elsewhere does nothing
    fall        the instant at which the guard's height falls through `least`, if that comes first
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import Vector, as_floats, checked, number, whole
from supple.errors import SimulationError, StateError, quoted
from supple.exact.energy import kinetic_energy, potential_energy
from supple.exact.kinematics import poses
from supple.model.model import Frame, Model, listed
from supple.rerooting.chain import chain_end
from supple.rerooting.reroot import Rerooted
from supple.simulating.events import Event
from supple.simulating.state import State, checked_state
from supple.walking.impacts import impact, velocities_after
from supple.walking.stride import FELL, FULL, LATE, TOUCHED, Stride, Strider
from supple.walking.touchdown import AHEAD, FOOT, GUARD, Footing, Place

Floats = NDArray[np.float64]

Tolerance = Annotated[float, number("a number from 1e-15 to 1e-2", 1e-15, 1e-2)]
#: In units of a walker's pace: the longest duration of a step; the longest step of the integration; the same if a trace
#: is kept.
LATEST, LONGEST, LONGEST_TRACED = 60.0, 0.3, 0.06
ROWS = 4000  #: initial rows of a trace


@checked
@dataclass(frozen=True)
class Walker:
    """A model that stands on a foot, and its state just after that foot landed.

    feet: names of two frames, the one it stands on first; guard: a frame that comes below `least` above the ground only
    in a fall. normal, forward: of the ground, in the world. axis: of the support joint, along the axes of both feet's
    bodies. A foot lands only if it is then ahead of the other by more than `clearance`.
    """

    name: str
    model: Model
    q: Floats
    v: Floats
    feet: tuple[str, str]
    guard: str
    least: float
    normal: Vector
    forward: Vector
    axis: Vector
    clearance: float = 1e-3
    parameters: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Walker {quoted(self.name)} on {quoted(self.feet[0])}: q {listed(self.q)}, v {listed(self.v)}>"

    def __post_init__(self) -> None:
        for name, size in (("q", self.model.nq), ("v", self.model.nv)):
            x = getattr(self, name)
            if x.shape != (size,) or not np.isfinite(x).all():
                raise StateError(f"walker {self.name!r}: {name} must be {size} finite numbers")

    def at(self, q: ArrayLike, v: ArrayLike | None = None) -> Walker:
        """The same walker in another state; v None means at rest."""
        still = np.zeros(self.model.nv) if v is None else v
        return replace(self, q=np.array(as_floats("at: q", q)), v=np.array(as_floats("at: v", still)))

    @property
    def pace(self) -> float:
        """A characteristic time of the walker, in seconds: the square root of the guard's height over gravity."""
        height = self.normal @ from_support(self.model, self.model.frames[self.guard], self.q)
        pull = float(np.linalg.norm(self.model.gravity))
        return float(np.sqrt(height / pull)) if pull > 0 else 1.0

    def check(self) -> None:
        """Raises StateError if a frame is missing, the state is not one of the model, or the walker lies on the
        ground."""
        missing = [x for x in (*self.feet, self.guard) if x not in self.model.frames]
        if missing:
            raise StateError(f"walker {self.name!r}: its model has no frame {missing[0]!r}")
        checked_state(self.model, self.q, self.v)
        height = float(self.normal @ from_support(self.model, self.model.frames[self.guard], self.q))
        if not height > max(self.least, 0.0):
            raise StateError(
                f"walker {self.name!r} has already fallen: {self.guard!r} is {height:.4g} m above the ground, "
                f"and below {self.least:.4g} m is a fall; begin with another q"
            )


def from_support(model: Model, frame: Frame, q: Floats) -> Floats:
    """(3,) the vector from the model's support to one of its frames."""
    _, end = chain_end(model, frame.body, q, None, None)
    return np.asarray(end.p + end.R @ frame.position - model.position[0])


def standing(walker: Walker, model: Model) -> tuple[str, str]:
    """The foot that a model of the walker stands on, and the swing foot."""
    a, b = walker.feet
    return (b, a) if model.frames[b].body == 0 else (a, b)


def footing(walker: Walker, model: Model, flat: bool = False) -> Footing:
    """The swing foot and the guard, while the walker stands as in this model. flat: in closed form, if there is one."""
    foot, guard = (model.frames[x] for x in (standing(walker, model)[1], walker.guard))
    at = model.position[0]
    plane = np.array([[*walker.normal, walker.normal @ at], [*walker.forward, walker.forward @ at]])
    places = Place(foot.body, foot.position), Place(guard.body, guard.position)
    axis = walker.axis if flat else None
    return Footing(model, *places, plane, walker.clearance, walker.least, axis)


def events(walker: Walker) -> tuple[Event, Event]:
    """For `simulate`: a foot that lands ahead becomes the root, after an impact; a fall ends the run. (A foot that
    scuffs the ground on its way is an event, too, but nothing happens.)

    simulate(walker.model, walker.q, walker.v, events=events(walker), integrator="dop853", ...) walks as `walk` does,
    through the world, and accepts forces and controllers.
    """
    walker.check()

    known = [footing(walker, walker.model)]

    def look(state: State) -> tuple[float, float, float]:
        """The foot's height, the guard's, and how far ahead the foot is, as in `above`."""
        now = known[0]
        if now.model is not state.model:
            now = known[0] = footing(walker, state.model)
        return now(state.q)

    def land(state: State) -> State | None:
        if not look(state)[AHEAD] > 0.0:
            return None  # it scuffs the ground, which is ignored [RR B2]
        hit = impact(state.model, state.q, state.v, body=standing(walker, state.model)[1], axis=walker.axis)
        return state.replace(model=hit.model, q=hit.q, v=hit.v)

    def height(state: State) -> float:
        return look(state)[FOOT]

    def stands(state: State) -> float:
        return look(state)[GUARD]

    return Event("foot at the ground", height, -1, land), Event("fall", stands, -1, "stop")


@dataclass(frozen=True)
class Step:
    """One step: from just after an impact to just after the next (or until the walker fell, as `end` tells).

    Positions are those of the model, whose support is at its own place; `origin` is its offset in the world relative to
    that. before: q and v at the touchdown, of the same model; after: those just after the impact, of the next one.
    """

    model: Model
    feet: tuple[str, str]
    origin: Floats
    begin: float
    duration: float
    end: int
    before: tuple[Floats, Floats]
    after: tuple[Floats, Floats]
    energy_lost: float
    impact_kinetic: tuple[float, float]  #: kinetic energy before and after the impact
    travel: Floats  #: (3,) from the support to where the other foot landed
    trace: Floats  #: (k, 1 + nq + nv): time since `begin`, q, v

    def __repr__(self) -> str:
        far = float(np.linalg.norm(self.travel))
        what = f"{far:.6g} m, {self.energy_lost:.6g} J lost" if self.landed else "not landed"
        return f"<Step on {quoted(self.feet[0])} from {self.begin:.6g} s, {self.duration:.6g} s long: {what}>"

    @property
    def landed(self) -> bool:
        return self.end == TOUCHED

    @property
    def times(self) -> Floats:
        """(k,) of the trace, in seconds since the walk began."""
        return self.begin + self.trace[:, 0]

    @property
    def q(self) -> Floats:
        """(k, nq) along the trace."""
        return np.ascontiguousarray(self.trace[:, 1 : 1 + self.model.nq])

    @property
    def v(self) -> Floats:
        """(k, nv) along the trace."""
        return np.ascontiguousarray(self.trace[:, 1 + self.model.nq :])

    @property
    def kinetic(self) -> Floats:
        """(k,) energy along the trace."""
        return np.asarray(kinetic_energy(self.model, self.q, self.v))

    @property
    def potential(self) -> Floats:
        """(k,) energy along the trace, relative to the world's origin."""
        rise = -self.model.total_mass * float(self.model.gravity @ self.origin)
        return np.asarray(potential_energy(self.model, self.q) + rise)

    @property
    def energy(self) -> Floats:
        """(k,) kinetic and potential."""
        return self.kinetic + self.potential


class _Stance:
    """A model on one foot, ready to step; to: the change of root at the next touchdown, known after the first."""

    def __init__(self, walker: Walker, model: Model, feet: tuple[str, str]) -> None:
        model._require_tree("a walker")
        self.model, self.feet, self.walker = model, feet, walker
        self.to: Rerooted | None = None
        self.next: _Stance | None = None
        self._stride = Strider(footing(walker, model))

    def stride(self, q: Floats, v: Floats, tolerance: float, rows: int, longest: float, latest: float) -> Stride:
        """rows: of the trace; more are allocated if they do not suffice."""
        while True:
            done = self._stride(q, v, rtol=tolerance, atol=tolerance, longest=longest, latest=latest, rows=rows)
            if done.end != FULL:
                return done
            rows *= 4

    def land(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """q and v on the other foot."""
        if self.to is None:
            # In the pose of the bind, the support joint turns about the walker's axis.
            hit = impact(self.model, q, v, body=self.feet[1], axis=self.walker.axis)
            self.to = hit.rerooted
            return hit.q, hit.v
        new_q = self.to.again(q).q
        return new_q, velocities_after(self.model, q, v, self.to, new_q)

    def travel(self, q: Floats) -> Floats:
        return from_support(self.model, self.model.frames[self.feet[1]], q)


class Steps:
    """Walks: keeps the models of both feet. Each call of `step` is one step from a state on the first foot, or on the
    foot named. longest: the longest step of the integration, in units of the walker's pace."""

    @checked
    def __init__(self, walker: Walker, tolerance: Tolerance = 1e-11, longest: float = LONGEST) -> None:
        walker.check()
        self.walker, self.tolerance = walker, tolerance
        self.longest, self.latest = longest * walker.pace, LATEST * walker.pace
        self.first = _Stance(walker, walker.model, walker.feet)
        self._stances = {self._key(self.first): self.first}

    @staticmethod
    def _key(stance: _Stance) -> tuple[Any, ...]:
        return (*stance.feet, *stance.model.body_names)

    def step(
        self, stance: _Stance, q: Floats, v: Floats, trace: bool = False, begin: float = 0.0, origin: ArrayLike = 0.0
    ) -> Step:
        done = stance.stride(q, v, self.tolerance, ROWS if trace else 0, self.longest, self.latest)
        travel, lost, kinetic, after = np.zeros(3), 0.0, (0.0, 0.0), (done.q, done.v)
        if done.end == TOUCHED:
            after = stance.land(done.q, done.v)
            self._know_next(stance)
            assert stance.to is not None
            kinetic = kinetic_energy(stance.model, done.q, done.v), kinetic_energy(stance.to.model, *after)
            travel, lost = stance.travel(done.q), kinetic[0] - kinetic[1]
        rows = np.concatenate([[np.concatenate([[0.0], q, v])], done.trace]) if trace else done.trace
        place = np.broadcast_to(np.asarray(origin, dtype=np.float64), (3,))
        return Step(
            stance.model, stance.feet, place, begin, done.time, done.end, (done.q, done.v), after, lost, kinetic,
            travel, rows,
        )  # fmt: skip

    def _know_next(self, stance: _Stance) -> None:
        if stance.next is None:
            assert stance.to is not None
            made = _Stance(self.walker, stance.to.model, stance.feet[::-1])
            stance.next = self._stances.setdefault(self._key(made), made)

    def walk(self, steps: int, trace: bool = False) -> Iterator[Step]:
        """Step after step until the walker falls."""
        stance, q, v, time, origin = self.first, self.walker.q, self.walker.v, 0.0, np.zeros(3)
        for _ in range(steps):
            step = self.step(stance, q, v, trace, time, origin)
            yield step
            if not step.landed:
                return
            assert stance.next is not None
            arrived = origin + stance.model.position[0] + step.travel
            stance, (q, v), time = stance.next, step.after, time + step.duration
            origin = arrived - stance.model.position[0]


@checked
def walk(
    walker: Walker, steps: Annotated[int, whole(1, 1_000_000)] = 10, *, tolerance: Tolerance = 1e-11, trace: bool = True
) -> list[Step]:
    """`steps` steps, fewer if the walker falls (the last one's `landed` is then false).

    tolerance: of the integration, relative and absolute. trace: keep the states along the way.
    """
    return list(Steps(walker, tolerance, longest=LONGEST_TRACED if trace else LONGEST).walk(steps, trace))


def not_landed(walker: Walker, step: Step, count: int) -> SimulationError:
    """The error to raise for a step that did not land."""
    how = {FELL: "falls", LATE: "makes no step"}.get(step.end, "cannot be integrated any further")
    return SimulationError(
        f"walker {walker.name!r} {how} in step {count}, {step.duration:.4g} s after the last", step.begin
    )


def leg_angles(step: Step, bodies: tuple[str, str], up: ArrayLike = (0.0, 0.0, 1.0)) -> Floats:
    """(k, 2) angles of two bodies' `up` axes from the vertical along the trace, counter-clockwise in the x-z plane."""
    n = step.model.nq
    R = poses(step.model, np.ascontiguousarray(step.trace[:, 1 : 1 + n])).rotation
    ends = np.stack([R[:, step.model.bodies[b].index] @ np.asarray(up, dtype=np.float64) for b in bodies], axis=1)
    return np.asarray(np.arctan2(-ends[..., 0], ends[..., 2]))
