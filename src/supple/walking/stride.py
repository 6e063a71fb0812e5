"""From one step of a walker to the next: the motion of a body until one of its points lands on a plane, compiled.

Dormand and Prince's explicit Runge-Kutta method of order 8 (integrating/stages.py), around the articulated-body
algorithm. The only forces are gravity and the joints' damping. For joints with additive coordinates.

Touchdowns and falls (touchdown.py) are searched within each step: in LOOKS parts of it, so that a foot that crosses the
ground and returns within a step is found, unless it does so twice in a part. The instant is then corrected, and the
touchdown judged, with whole steps of the method from the beginning of the last step: it is as accurate as the
integration.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.errors import StateError
from supple.exact.aba import ABA
from supple.exact.call_kernels import finite
from supple.integrating.looks import NOWHERE, differences, falls, value
from supple.integrating.runge_kutta import STAGES, blended, dop853, dop853_tableau, growth
from supple.integrating.stages import StepRoom, UnderForces, slope_of, take_stages
from supple.model.manifold import PLAIN
from supple.spatial import fields
from supple.spatial.addresses import from_entry
from supple.spatial.compiler import helper, kernel
from supple.spatial.fields import Integer, Number
from supple.spatial.held import Held
from supple.spatial.pointing import Pointing
from supple.spatial.structs import Link, Struct
from supple.walking.flat import flat_stages
from supple.walking.touchdown import (
    FOOT,
    GUARD,
    LOOKS,
    Footing,
    Taken,
    Watched,
    above,
    inside,
)

Floats = NDArray[np.float64]

TOUCHED, FELL, LATE, STUCK, FULL = range(5)
ON_THE_WAY = -1
FIRST = 0.2  #: of the longest step: the first to be tried

_blended, _growth = helper(blended), helper(growth)


class Clock(Struct):
    """How far a stride is."""

    time = Number()
    step = Number()  # the length to try next
    rejected = Integer()  # whether the last one tried was rejected
    state = fields.Floats()  # q and v
    trace = fields.Floats()  # rows: time, q, v after every step
    room = Integer()  # for so many rows of the trace, none if it is not kept
    rows = Integer()  # of them filled


class Striding(Struct):
    """Everything that a stride needs. Vectors of states have 2 n numbers, q and v."""

    body = Link(UnderForces)
    watched = Link(Watched)
    n = Integer()
    rtol = Number()
    atol = Number()
    longest = Number()  # step
    latest = Number()  # time
    E3 = fields.Floats()  # the method's coefficients
    E5 = fields.Floats()
    after = fields.Floats()  # the state after a step
    after_rate = fields.Floats()
    there = fields.Floats()  # the state at a crossing
    q = fields.Floats()
    heights = fields.Floats()


@helper
def _advance(x, h):
    """One step of the method, whose first slope is known; the slope at its end is k_STAGES. Returns whether the mass
    matrix is regular."""
    return _stages(x, 1, STAGES + 1, h) > 0.0


@helper
def _stages(x, first, end, h):
    """Stages of a step, in closed form where there is one."""
    if x.watched.flat.is_so != 0:
        return flat_stages(x.watched.flat, x.body.step, first, end, h)
    return take_stages(x.body, first, end, h)


@helper
def _error(x, h):
    """The error of a step relative to the tolerance: rtol of a radian or a metre, and of velocities."""
    step, n, five, three = x.body.step, x.n, 0.0, 0.0
    for i in range(2 * n):
        scale = x.atol + x.rtol * (1.0 if i < n else max(abs(step.v0[i - n]), abs(step.v[i - n])))
        e5, e3 = 0.0, 0.0
        for s in range(STAGES):
            e5 += x.E5[s] * step.K[2 * n * s + i]
            e3 += x.E3[s] * step.K[2 * n * s + i]
        five += (e5 / scale) ** 2
        three += (e3 / scale) ** 2
    return _blended(five, three, h, 2 * n)


@helper
def _exactly(x, h, which, s, rate):
    """The crossing near the fraction s of a step of length h, where the height has this rate, by steps that end there;
    and whether the foot is far enough ahead. The step is then at that state. NOWHERE if there is none: the height only
    came near zero."""
    step, ahead, move, last = x.body.step, 0.0, 0.0, np.inf
    for _ in range(8):
        if not _advance(x, s * h):
            return NOWHERE, False
        now = above(step.q, x.watched)
        ahead, move = now[2], -now[which] / rate
        if not abs(move) < min(0.1, 0.5 * last) or not 0.0 < s + move <= 1.0:
            break
        last = abs(move)
        s += move
    return s if abs(move) < 1e-8 else NOWHERE, ahead > 0.0


@helper
def _looked_through(x, t):
    """How a step ends, and after which fraction of it: TOUCHED or FELL, with the state x.there, or ON_THE_WAY."""
    looks = LOOKS + 1
    for i in range(looks):
        x.heights[i], x.heights[looks + i], _ = inside(t, x.watched, i / LOOKS)
    for which in range(2):
        differences(from_entry(x.heights, looks * which), LOOKS, from_entry(x.heights, looks * (2 + which)))
    end, first = ON_THE_WAY, 1.0
    for i in range(2 * LOOKS):
        which = i % 2
        heights, c = from_entry(x.heights, looks * which), from_entry(x.heights, looks * (2 + which))
        if which == FOOT and end != ON_THE_WAY:
            break
        place = falls(c, heights, LOOKS, i // 2)
        if place != NOWHERE:
            s, ahead = _exactly(x, t.step, which, place / LOOKS, LOOKS * value(c, LOOKS, place)[1])
            sooner = s != NOWHERE and (end == ON_THE_WAY or s < first)
            if sooner and (which == GUARD or ahead):
                end, first = TOUCHED if which == FOOT else FELL, s
                _note_state(x.body.step, x.n, x.there)
    return end, first


@helper
def _note_state(step, n, to):
    """Copy the state of the current stage."""
    for i in range(n):
        to[i] = step.q[i]
        to[n + i] = step.v[i]


@helper
def _begin_at(step, n, state):
    """The next step begins there."""
    for i in range(n):
        step.q0[i] = state[i]
        step.v0[i] = state[n + i]


@helper
def _step(x, clock):
    """One step, if it is accepted; if not, the next is shorter. Returns how it ended, and whether it was accepted."""
    step, n, left = x.body.step, x.n, x.latest - clock.time
    h = min(clock.step, x.longest, left)
    if h < 1e-13 * x.longest and h < left:
        return STUCK, False
    good = _advance(x, h)
    error = _error(x, h)
    if not good or not finite(step.q, n) or not finite(step.v, n) or not error < 1.0:
        clock.rejected = 1
        clock.step = h * _growth(error if good else np.inf, True)
        return ON_THE_WAY, False
    _note_state(step, n, x.after)
    rate = slope_of(step, STAGES)
    for i in range(2 * n):
        x.after_rate[i] = rate[i]
    end, s = _looked_through(x, Taken(step.q0, x.after, slope_of(step, 0), x.after_rate, h, x.q))
    clock.step = h * _growth(error, clock.rejected != 0)
    clock.rejected = 0
    clock.time += s * h
    _begin_at(step, n, x.after if end == ON_THE_WAY else x.there)
    rate = slope_of(step, 0)
    for i in range(2 * n):
        rate[i] = x.after_rate[i]
    return end, True


@helper
def _steps(x, clock):
    """Steps until the stride ends; returns how."""
    step, n = x.body.step, x.n
    if not _stages(x, 0, 1, 0.0) > 0.0:
        return STUCK
    while clock.time < x.latest:
        end, taken = _step(x, clock)
        if end == STUCK:
            return STUCK
        if not taken:
            continue
        if clock.rows < clock.room:
            row = from_entry(clock.trace, clock.rows * (1 + 2 * n))
            row[0] = clock.time
            for i in range(n):
                row[1 + i] = step.q0[i]
                row[1 + n + i] = step.v0[i]
            clock.rows += 1
        elif clock.room > 0:
            return FULL
        if end != ON_THE_WAY:
            return end
    return LATE


@kernel(types.int64(Striding.type, Clock.type), "strides", effort=2)
def stride(x, clock):
    """Moves the clock and its state to the next touchdown; returns how it ended."""
    step, n, y = x.body.step, x.n, clock.state
    _begin_at(step, n, y)
    end = _steps(x, clock)
    for i in range(n):
        y[i] = step.q0[i]
        y[n + i] = step.v0[i]
    return end


_kernel = cache(stride.load)


class Stride(NamedTuple):
    """How a stride ended: TOUCHED, FELL, LATE, STUCK or FULL; the state there; and all steps on the way."""

    end: int
    time: float
    q: Floats
    v: Floats
    trace: Floats  #: (steps, 1 + nq + nv): time, q, v; empty unless requested


class Strider(Pointing):
    """A model ready to make strides."""

    _pointers = ("_striding",)

    def __init__(self, footing: Footing) -> None:
        model = footing.model
        if not np.isin(model.joint_type, PLAIN).all():
            bad = model.joint_names[int(np.flatnonzero(~np.isin(model.joint_type, PLAIN))[0])]
            raise StateError(f"joint {bad!r}: strides are for joints whose coordinates add; simulate takes any")
        self._footing, self._n = footing, model.nv
        self._point()

    def _point(self) -> None:
        model, n, T = self._footing.model, self._n, dop853_tableau()
        still = np.zeros(n)
        body = UnderForces.of(
            step=StepRoom(model, dop853()).struct, aba=ABA.work(model).call, force=still, tau=np.zeros(n)
        )
        room = {name: np.empty(2 * n) for name in ("after", "after_rate", "there")}
        self._striding: Held = Striding.of(
            body=body, watched=self._footing.watched, n=n, E3=T.E3, E5=T.E5, q=np.empty(n),
            heights=np.empty(4 * (LOOKS + 1)), **room,
        )  # fmt: skip

    def prepared(self, rtol: float, atol: float, longest: float, latest: float) -> Held:
        """The struct of strides with these settings."""
        x = self._striding
        x.rtol, x.atol, x.longest, x.latest = rtol, atol, longest, latest
        return x

    def __call__(
        self, q: Floats, v: Floats, *, rtol: float, atol: float, longest: float, latest: float, rows: int = 0
    ) -> Stride:
        """From q and v to the next touchdown, a fall, or `latest`; steps no longer than `longest`."""
        y, x = np.concatenate([q, v]), self.prepared(rtol, atol, longest, latest)
        trace = np.empty((rows, 1 + 2 * self._n))
        clock = Clock.of(step=FIRST * longest, state=y, trace=trace, room=rows)
        end = _kernel()(x.address, clock.address)
        return Stride(int(end), float(clock.time), y[: self._n], y[self._n :], trace[: int(clock.rows)])
