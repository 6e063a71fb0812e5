"""Walks of many states of one walker, compiled: strides (stride.py) and landings (landings.py), foot after foot.

What a basin of attraction or a diagram of bifurcations needs of each: how many steps it makes before it falls, where it
is then, and how long its last steps were.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, NamedTuple

import numpy as np
from numba import types
from numpy.typing import ArrayLike, NDArray

from supple.arguments import as_floats, checked, whole
from supple.errors import StateError
from supple.exact.kinematics import place_all, placed_scratch
from supple.model.model import count
from supple.spatial.addresses import from_entry, vector
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper, kernel
from supple.spatial.fields import Integer, Number, Value
from supple.spatial.structs import Link, Struct
from supple.walking.impacts import impact
from supple.walking.landings import Landing, land, landing
from supple.walking.stride import FELL, FIRST, STUCK, TOUCHED, Clock, Strider, Striding, stride
from supple.walking.touchdown import FOOT, above, point_of
from supple.walking.walkers import LATEST, Tolerance, Walker, footing

#: In units of a walker's pace: the longest step of the integration. The instant of a touchdown is found by whole steps
#: that end there; the polynomial on the way only says near which instant.
LONGEST_OF_MANY = 1.0

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Stance(Struct):
    """A tree on one foot."""

    striding = Link(Striding)
    landing = Link(Landing)
    support = Value(Vec3)  # where it stands


class Pair(Struct):
    """The trees of both feet, and how far a walk goes."""

    first = Link(Stance)
    second = Link(Stance)
    clock = Link(Clock)
    steps = Integer()
    begin = Number()  # the first step of the integration to be tried


@helper
def _step(stance, clock, begin, y, new):
    """One step: y, the clock's state, to the touchdown, new after the impact. Returns how it ended, and its length."""
    n, watched = stance.striding.n, stance.striding.watched
    clock.time, clock.step, clock.rejected, clock.rows = 0.0, begin, 0, 0
    end = stride(stance.striding, clock)
    if end != TOUCHED:
        return end, 0.0
    q, to = vector(y), vector(new)
    m, work = watched.poses.model, placed_scratch(watched.poses)
    place_all(m, q, work)
    d = point_of(m, watched, work, FOOT) - stance.support
    length = np.sqrt(d.x * d.x + d.y * d.y + d.z * d.z)
    good = land(stance.landing, q, from_entry(q, n), to, from_entry(to, n))
    return (end if good else STUCK), length


@helper
def _lies(watched, q):
    """Whether it has fallen before it begins (Walker.check)."""
    _, guard, _ = above(q, watched)
    return not guard > max(0.0, -watched.least)


_MATRIX = types.float64[:, ::1]


@kernel(
    types.void(Pair.type, _MATRIX, types.int64[:, ::1], types.float64[:, :, ::1], _MATRIX), "walks of many", effort=2
)
def walks_kernel(x, states, ends, last, room):
    """states: (m, 2 n), to the end of the walk. ends: (m, 2) steps made, and how the last one ended. last: (m, k, 2)
    duration and length of the last k steps, in a ring. room: (2, 2 n) scratch, of which the first row is
    the clock's state."""
    y, new, keep = room[0], room[1], last.shape[1]
    for i in range(states.shape[0]):
        y[:] = states[i]
        made, end = 0, FELL if _lies(x.first.striding.watched, vector(y)) else TOUCHED
        while made < x.steps and end == TOUCHED:
            stance = x.first if made % 2 == 0 else x.second
            end, length = _step(stance, x.clock, x.begin, y, new)
            if end == TOUCHED:
                if keep > 0:
                    last[i, made % keep, 0] = x.clock.time
                    last[i, made % keep, 1] = length
                y[:] = new
                made += 1
        states[i] = y
        ends[i, 0] = made
        ends[i, 1] = end


_kernel = cache(walks_kernel.load)


class Walks(NamedTuple):
    """Walks of many states. steps: (m,) made, fell: (m,) whether there were no more because it fell (or stood still).
    q, v: (m, nv) after the last impact, or at the end of the fall, of the model on the foot that it stands on then.
    durations, lengths: (m, keep) of the last steps, in seconds and metres, oldest first; NaN if there were fewer."""

    steps: Ints
    fell: NDArray[np.bool_]
    q: Floats
    v: Floats
    durations: Floats
    lengths: Floats

    def __repr__(self) -> str:
        still = int((~self.fell).sum())
        return f"<Walks of {count(len(self.steps), 'state')}: {still:,} walk on, {len(self.fell) - still:,} fell>"


@checked
def walk_many(
    walker: Walker,
    q: ArrayLike,
    v: ArrayLike | None = None,
    steps: Annotated[int, whole(1, 1_000_000)] = 10,
    *,
    keep: Annotated[int, whole(0, 10_000)] = 0,
    tolerance: Tolerance = 1e-8,
) -> Walks:
    """The walker from many states, q and v of (m, nv), each `steps` steps or until it falls: as `walk`, but compiled
    throughout, and without a trace. v None means at rest. From where `walk` refuses to begin, with the guard on the
    ground, it fell without a step.

    keep: of so many of the last steps, durations and lengths are kept. tolerance: of the integration. A basin of
    attraction is the walks of a grid of states; see also supple.sweep(..., batch=4096).
    """
    n = walker.model.nv
    positions = _states("q", q, n)
    rates = np.zeros_like(positions) if v is None else _states("v", v, n)
    if len(rates) != len(positions):
        raise StateError(f"walk_many: there are {len(positions)} q and {len(rates)} v; give as many of each")
    states = np.concatenate([positions, rates], axis=1)
    ends, last = np.zeros((len(states), 2), dtype=np.int64), np.full((len(states), keep, 2), np.nan)
    walking = Walking(walker, tolerance, LONGEST_OF_MANY)
    walking(states, ends, last, steps)
    made = ends[:, 0]
    order = (made[:, None] + np.arange(keep)) % max(keep, 1)  # the oldest first
    turned = np.where(made[:, None] < keep, np.arange(keep), order)
    durations, lengths = (np.take_along_axis(last[:, :, k], turned, axis=1) for k in range(2))
    return Walks(made.copy(), ends[:, 1] != TOUCHED, states[:, :n].copy(), states[:, n:].copy(), durations, lengths)


def _states(name: str, value: ArrayLike, n: int) -> Floats:
    out = as_floats(f"walk_many: {name}", value)
    if out.ndim != 2 or out.shape[1] != n or not np.isfinite(out).all():
        raise StateError(f"walk_many: {name} must be finite numbers of shape (m, {n}), not of {out.shape}")
    return out


class Walking:
    """A walker ready to walk from many states. longest: step of the integration, in units of the walker's pace.
    flat: by closed forms where there are any."""

    def __init__(self, walker: Walker, tolerance: float, longest: float, flat: bool = True) -> None:
        walker.check()
        walker.model._require_tree("a walker")
        pace, n = walker.pace, walker.model.nv
        settings = tolerance, tolerance, longest * pace, LATEST * pace
        there = impact(walker.model, walker.q, walker.v, body=walker.feet[1], axis=walker.axis)
        back = impact(there.model, there.q, there.v, body=walker.feet[0], axis=walker.axis)
        models, hits = (walker.model, there.model), (there, back)
        self._striders = [Strider(footing(walker, model, flat)) for model in models]
        stances = [
            Stance.of(striding=s.prepared(*settings), landing=landing(hit.rerooted), support=model.position[0])
            for s, hit, model in zip(self._striders, hits, models)
        ]
        self._room = np.empty((2, 2 * n))
        clock = Clock.of(state=self._room[0])
        self._pair = Pair.of(first=stances[0], second=stances[1], clock=clock, begin=FIRST * longest * pace)

    def __call__(self, states: Floats, ends: Ints, last: Floats, steps: int) -> None:
        self._pair.steps = steps
        _kernel()(self._pair.address, states, ends, last, self._room)
