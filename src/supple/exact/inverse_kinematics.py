"""Inverse kinematics: positions of joints that bring bodies or named frames to given places.

Each goal has a residual: the position it is off by, and the rotation vector it is off by, along world axes. The sum of
their weighted squares is minimised by Levenberg-Marquardt steps within the joint limits [levenberg.py], with J the
Jacobians of the goals. The rows of loops are held [closure.py], and after each step the same kind of steps closes them
again. A posture is a second goal, in the null space of the first: the distance to it decreases along the directions
that leave the goals where they are, P = 1 - J^+ J over the joints that are not at their limits; after every such step
the goals are reached again. Both searches find local minima, so they are repeated from other starts, and the best
result is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from supple.arguments import TRIPLE, Count, NotNegative, Positive, Reals, Seed, Triple, checked, take
from supple.errors import StateError
from supple.exact.answers import Pose
from supple.exact.columns import ClosedBy, Columns, coupled, path_to
from supple.exact.jacobians import jacobian
from supple.exact.kinematics import poses
from supple.exact.levenberg import Room, free_part, minimised
from supple.model import manifold
from supple.model.checks import LARGEST
from supple.model.model import Frame, Model, count, listed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POSTURE_STEPS, NEAR = 100, 1e-9  #: steps towards the posture; [rad, m] the last of them


@checked
@dataclass(frozen=True, eq=False)
class Goal:
    """Where a body or named frame should be: the position of a point of it, its rotation, or both. weight: of its
    squared error against the other goals', where not all can be reached."""

    position: Triple | None = None
    rotation: Reals | None = None  #: (3, 3), from the frame's axes to the world's
    point: Triple = (0.0, 0.0, 0.0)  #: in the body's frame
    weight: Positive = 1.0

    def __post_init__(self) -> None:
        _refuse_large("the position of a Goal", self.position)
        _refuse_large("the point of a Goal", self.point)
        if self.position is None and self.rotation is None:
            raise StateError("a Goal needs a position, a rotation or both")
        if self.rotation is not None:
            R = np.asarray(self.rotation)
            if R.shape != (3, 3) or not np.allclose(R @ R.T, np.eye(3), atol=1e-6) or not np.linalg.det(R) > 0.0:
                raise StateError(f"a Goal's rotation must be a 3x3 rotation matrix, not {listed(R)}")

    def __repr__(self) -> str:
        parts = [f"position {listed(self.position)}"] if self.position is not None else []
        return f"<Goal: {', '.join(parts + ['a rotation'] * (self.rotation is not None))}>"


class Miss(NamedTuple):
    """How far a goal is missed."""

    position: float  #: metres
    rotation: float  #: radians

    def __repr__(self) -> str:
        return f"<Miss: {self.position:.3g} m, {self.rotation:.3g} rad>"


@dataclass(frozen=True, eq=False)
class Reached:
    """The result of inverse_kinematics."""

    q: Floats  #: (nq,)
    reached: bool  #: whether all goals are, within the tolerance
    misses: dict[str, Miss]  #: by the name of the body or frame
    iterations: int

    def __repr__(self) -> str:
        far = max(self.misses.values(), key=max)
        how = "reached" if self.reached else "not reached"
        size = f"at most {far.position:.3g} m and {far.rotation:.3g} rad off"
        return f"<Reached: {count(len(self.misses), 'goal')} {how}, {size}, {count(self.iterations, 'iteration')}>"


@checked
def inverse_kinematics(
    model: Model,
    goals: Mapping[Any, Any],
    q: ArrayLike | None = None,
    *,
    posture: ArrayLike | None = None,
    joints: Sequence[str | int] | None = None,
    limits: bool = True,
    lever: Positive = 1.0,
    tolerance: NotNegative = 1e-9,
    iterations: Count = 200,
    attempts: Count = 10,
    seed: Seed = 0,
) -> Reached:
    """Positions of the joints at which bodies or named frames are where they should be, or as near as possible.

        reached = supple.inverse_kinematics(arm, {"hand": (0.4, 0.1, 0.5)}, q)
        reached = supple.inverse_kinematics(talos, {"left_sole_link": pose, "gripper": Goal(position=x)}, q)

    goals: by name, three numbers (a position), a Pose, or a Goal. q: where the search starts (neutral by default).
    posture: the preferred position among those that reach the goals equally well; joints that no goal depends on go
    there, and without a posture stay where they are. joints: those that may move (all by default). limits: these stay
    within the model's limits. lever: metres that a radian of rotation counts. tolerance: metres
    and radians within which a goal is reached. attempts: how often the search starts until the goals are reached, at q,
    then at random positions; the best result is returned. With a posture it starts there, too, and as often as that
    even if they are reached: the result nearest to the posture is returned, the nearest of all if one of the starts
    leads to it. The time grows in proportion: attempts=1 is fastest. Loops are closed in the result, whether the goals
    are reached or not; StateError if these joints cannot close them from q.
    """
    _refuse_large("lever", lever)
    search = _Search(model, _goals(model, goals), joints, limits, lever, tolerance)
    start = manifold.checked("q", model.neutral() if q is None else q, model.nq)
    wanted = None if posture is None else manifold.checked("posture", posture, model.nq)
    for name, given in (("q", start), ("posture", wanted)):
        if given is not None and given.ndim != 1:
            raise StateError(f"inverse_kinematics takes one state; {name} has shape {given.shape}")
        _refuse_large(name, given)
    start = search.closed_first(search.settled(start, start if wanted is None else wanted, search.idle))
    rng, found, spent = np.random.default_rng(seed), [], 0
    starts = [start] if wanted is None else [start, search.settled(start, wanted, search.may)]
    for attempt in range(len(starts) - 1 + attempts):
        begin = starts[attempt] if attempt < len(starts) else search.elsewhere(start, rng)
        where, error, steps = search.reach(search.columns.inside(model.normalize(begin)), iterations)
        spent += steps
        found.append((error < np.inf and search.is_reached(where), error, where))
        if wanted is None and found[-1][0]:
            break
    if wanted is None:
        where = min(found, key=lambda x: (not x[0], x[1]))[2]
    else:
        where, steps = search.nearest(model.normalize(wanted), found)
        spent += steps
    misses = {place.name: miss for place, miss in zip(search.places, search.misses(where))}
    return Reached(where, search.is_reached(where), misses, spent)


def _goals(model: Model, goals: Mapping[Any, Any]) -> list[tuple[Frame, Goal]]:
    if not goals:
        raise StateError("inverse_kinematics needs at least one goal: {'hand': (x, y, z)}")
    out: dict[str, tuple[Frame, Goal]] = {}
    keys: dict[str, Any] = {}
    for name, given in goals.items():
        place = model.moving_place(name)
        if place.name in out:
            raise StateError(
                f"{keys[place.name]!r} and {name!r} are the same body: give it one goal (for two points of it, a named "
                "frame for one of them)"
            )
        keys[place.name], out[place.name] = name, (place, _goal(name, given))
    return list(out.values())


def _refuse_large(what: str, x: ArrayLike | None) -> None:
    """Numbers whose squares would overflow."""
    if x is not None and not (np.abs(np.asarray(x)) <= LARGEST).all():
        raise StateError(f"{what} is too large for anything real: {listed(x)}; at most {LARGEST:g}")


def _goal(name: Any, given: Any) -> Goal:
    if isinstance(given, Goal):
        return given
    if isinstance(given, Pose):
        return Goal(given.position, given.rotation)
    try:
        position = take("a goal", given, TRIPLE)
    except StateError:
        raise StateError(f"the goal of {name!r} must be three finite numbers, a Pose or a Goal") from None
    return Goal(position)


class _Search:
    """The goals of one model, and the degrees of freedom that may move."""

    def __init__(
        self,
        model: Model,
        goals: list[tuple[Frame, Goal]],
        joints: Sequence[str | int] | None,
        limits: bool,
        lever: float,
        tolerance: float,
    ) -> None:
        self.model, self.goals, self.lever = model, [goal for _, goal in goals], lever
        self._tolerance = tolerance
        self.places = [place for place, _ in goals]
        largest = max(goal.weight for goal in self.goals)
        self.scales = [float(np.sqrt(goal.weight / largest)) for goal in self.goals]  #: only ratios of weights matter
        self.most = (1.0 + lever * lever) * len(goals)  #: of the squared tolerance, the error where goals are reached
        may = set(range(model.n_bodies) if joints is None else (model.joints[j].index for j in joints))  # type: ignore[index]
        moved = coupled(model, set[int]().union(*(path_to(model, place.body) for place in self.places)))
        self.columns = Columns(model, may & moved, limits)
        self._loops, self._all_loops = ClosedBy(self.columns), ClosedBy(Columns(model, may, limits))
        self.may, self.idle = sorted(may), sorted(may - moved)  #: joints that may move; on which no goal depends
        self._limits = limits

    def closed_first(self, q: Floats) -> Floats:
        """q with loops closed by all joints that may move, also those on which no goal depends."""
        closed = self._all_loops.closed(q)
        if closed is None:
            raise StateError(
                "the joints that may move cannot close the loops of this model within their limits, from this q; begin "
                "from supple.close_loops(model, q), or let more joints move"
            )
        return closed

    def settled(self, q: Floats, posture: Floats, joints: list[int]) -> Floats:
        """q with some joints at a posture, and within their limits."""
        q = q.copy()
        for b in joints:
            part = self.model.joints[b]  # type: ignore[index]
            q[part.q] = posture[part.q]
            if self._limits and (self.columns.coordinate[part.v] >= 0).all():
                q[part.q] = np.clip(q[part.q], part.lower, part.upper)
        return q

    def elsewhere(self, q: Floats, rng: np.random.Generator) -> Floats:
        """q with the joints that may move at random positions."""
        q, other = q.copy(), manifold.random(self.model, rng)
        for b in np.unique(self.model.dof_body[self.columns.dofs]).tolist():
            at = self.model.joints[b].q
            q[at] = other[at]
        return q

    def misses(self, q: Floats) -> list[Miss]:
        lengths = [(float(np.linalg.norm(x)), float(np.linalg.norm(w))) for x, w in self._off(q)]
        return [Miss(*each) for each in lengths]

    def is_reached(self, q: Floats) -> bool:
        return all(max(miss) <= self._tolerance for miss in self.misses(q))

    def _off(self, q: Floats) -> list[tuple[Floats, Floats]]:
        """Position and rotation vector by which each goal is off."""
        where, out = poses(self.model, q), []
        for place, goal in zip(self.places, self.goals):
            R, r = where[place.name if place.name in self.model.frames else place.body]
            x, w = np.zeros(3), np.zeros(3)
            if goal.position is not None:
                x = r + R @ np.asarray(goal.point) - np.asarray(goal.position)
            if goal.rotation is not None:
                w = Rotation.from_matrix(R @ np.asarray(goal.rotation).T).as_rotvec()
            out.append((x, w))
        return out

    def residual(self, q: Floats) -> Floats:
        """(6 goals,) weighted."""
        parts = [s * np.concatenate([self.lever * w, x]) for s, (x, w) in zip(self.scales, self._off(q))]
        return np.concatenate(parts)

    def matrix(self, q: Floats) -> Floats:
        """(6 goals, columns) its derivative, up to the curvature of rotations, which does not change the gradient."""
        rows = []
        for place, goal, scale in zip(self.places, self.goals, self.scales):
            body = place.name if place.name in self.model.frames else place.body
            J = jacobian(self.model, q, body, goal.point)[:, self.columns.dofs]
            J[:3] *= self.lever * (goal.rotation is not None)
            J[3:] *= goal.position is not None
            rows.append(scale * J)
        return np.concatenate(rows)

    def held(self, q: Floats) -> Floats:
        return self._loops.rows(q)

    def room(self, q: Floats) -> Room:
        return self.columns.room(q)

    def moved(self, q: Floats, d: Floats) -> Floats | None:
        return self._loops.closed(self.columns.step(q, d))

    def is_done(self, q: Floats, error: float) -> bool:
        small = error <= self.most * self._tolerance * self._tolerance
        return not len(self.columns) or (small and self.is_reached(q))

    def reach(self, q: Floats, iterations: int) -> tuple[Floats, float, int]:
        """From q: the best position, its squared error, and the number of steps. The error is infinite if loops cannot
        be closed."""
        closed = self._loops.closed(q)
        return (q, np.inf, 0) if closed is None else minimised(self, closed, iterations)

    def nearest(self, posture: Floats, found: list[tuple[bool, float, Floats]]) -> tuple[Floats, int]:
        """The position nearest to a posture that can be reached from the best of those found; and the number of
        steps."""
        least = min((not reached, error) for reached, error, _ in found)
        spent, best = 0, []
        for reached, error, q in found:
            if reached or (least[0] and error <= least[1] * (1.0 + 1e-6)):
                q, steps = self.towards(posture, q, None if reached else error)
                spent += steps
                best.append(q)
        return min(best, key=lambda q: self._distance(q, posture)), spent

    def towards(self, posture: Floats, q: Floats, error: float | None) -> tuple[Floats, int]:
        """The position nearest to a posture, among those that reach the goals, or have no larger error: and the number
        of steps."""
        spent, far, share = 0, self._distance(q, posture), 1.0
        for _ in range(POSTURE_STEPS):
            d = self._free(q, self.model.difference(q, posture)[self.columns.dofs])
            if np.abs(share * d).max(initial=0.0) < NEAR:
                break
            trial, new, steps = self.reach(self.columns.step(q, share * d), 20)
            spent += steps + 1
            distance = self._distance(trial, posture)
            as_good = self.is_reached(trial) if error is None else new <= error * (1.0 + 1e-6)
            if as_good and distance < far:
                q, far, share = trial, distance, min(1.0, 2.0 * share)
            else:
                share *= 0.5
        return q, spent

    def _distance(self, q: Floats, posture: Floats) -> float:
        return float(np.linalg.norm(self.model.difference(q, posture)[self.columns.dofs]))

    def _free(self, q: Floats, d: Floats) -> Floats:
        """The part of d that leaves the goals where they are, keeps loops closed and respects the limits."""
        return free_part(np.concatenate([self.held(q), self.matrix(q)]), d, self.room(q))
