"""From one step of a walker to the next: the motion of a body until one of its points lands on a plane, compiled.

Dormand and Prince's explicit Runge-Kutta method of order 8 (runge_kutta.py), around the articulated-body algorithm. The
only forces are gravity and the joints' damping. For joints with additive coordinates.

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
from supple.exact.aba import ABA, aba, aba_scratch
from supple.exact.calls import Call, finite, no_wrenches
from supple.exact.motion import CallState
from supple.integrating.runge_kutta import STAGES, blended, dop853, growth
from supple.model.manifold import PLAIN
from supple.spatial import fields
from supple.spatial.addresses import float_vector, from_entry
from supple.spatial.compiler import helper, kernel, part
from supple.spatial.fields import Integer, Number
from supple.spatial.held import Held
from supple.spatial.pointing import Pointing
from supple.spatial.structs import Link, Struct
from supple.walking.touchdown import (
    FOOT,
    GUARD,
    LOOKS,
    NOWHERE,
    Footing,
    Taken,
    Watched,
    above,
    crossing,
    differences,
    height,
    inside,
)

Floats = NDArray[np.float64]

TOUCHED, FELL, LATE, STUCK, FULL = range(5)
ON_THE_WAY = -1

_blended, _growth = helper(blended), helper(growth)


class Clock(Struct):
    time = Number()
    step = Number()  # the length to try next
    rejected = Integer()  # whether the last one tried was rejected
    rows = Integer()  # of the trace, filled


class Striding(Struct):
    """Everything that a stride needs. Vectors of states and rates have 2 n numbers, q and v."""

    aba = Link(Call)
    watched = Link(Watched)
    n = Integer()
    size = Integer()  # 2 n
    rtol = Number()
    atol = Number()
    longest = Number()  # step
    latest = Number()  # time
    A = fields.Floats()  # the method's coefficients
    B = fields.Floats()
    E3 = fields.Floats()
    E5 = fields.Floats()
    K = fields.Floats()  # the rates of its stages
    after = fields.Floats()  # the state after a step
    after_rate = fields.Floats()
    tried = fields.Floats()
    there = fields.Floats()
    q = fields.Floats()
    heights = fields.Floats()


@part  # so that the articulated-body algorithm is compiled once, not wherever a rate is needed
def _rate(x, y, out):
    """The derivative of y = (q, v); returns whether the mass matrix is regular."""
    m, n = x.aba.model, x.n
    state = CallState(y, from_entry(y, n), float_vector(m.zero_v, n), False, no_wrenches())
    good = aba(m, state, from_entry(out, n), aba_scratch(x.aba))
    for j in range(n):
        out[j] = y[n + j]
    return good > 0.0


@helper
def _advance(x, y, step, new):
    """One step of the method from y, whose rate is K_0, to new; the rate at its end is K_STAGES."""
    good, size, K = True, x.size, x.K
    for s in range(1, STAGES + 1):
        for i in range(size):
            total = 0.0
            for r in range(s):
                total += (x.A[STAGES * s + r] if s < STAGES else x.B[r]) * K[size * r + i]
            new[i] = y[i] + step * total
        good = _rate(x, new, from_entry(K, size * s)) and good
    return good


@helper
def _error(x, y, step):
    """The error of a step relative to the tolerance: rtol of a radian or a metre, and of velocities."""
    five, three = 0.0, 0.0
    for i in range(x.size):
        scale = x.atol + x.rtol * (1.0 if i < x.n else max(abs(y[i]), abs(x.after[i])))
        e5, e3 = 0.0, 0.0
        for s in range(STAGES):
            e5 += x.E5[s] * x.K[x.size * s + i]
            e3 += x.E3[s] * x.K[x.size * s + i]
        five += (e5 / scale) ** 2
        three += (e3 / scale) ** 2
    return _blended(five, three, step, x.size)


@helper
def _exactly(x, t, which, s, rate):
    """The crossing near the fraction s of a step, where the height has this rate, by steps that end there; and whether
    the foot is far enough ahead. x.tried: the state there. NOWHERE if there is none: the height only came near zero."""
    ahead, move, last = 0.0, 0.0, np.inf
    for _ in range(8):
        _advance(x, t.y, s * t.step, x.tried)
        now = above(x.tried, x.watched)
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
        differences(from_entry(x.heights, looks * which), from_entry(x.heights, looks * (2 + which)))
    end, first = ON_THE_WAY, 1.0
    for i in range(2 * LOOKS):
        which = i % 2
        heights, c = from_entry(x.heights, looks * which), from_entry(x.heights, looks * (2 + which))
        if which == FOOT and end != ON_THE_WAY:
            break
        place = crossing(c, heights, i // 2)
        if place != NOWHERE:
            s, ahead = _exactly(x, t, which, place / LOOKS, LOOKS * height(c, place)[1])
            sooner = s != NOWHERE and (end == ON_THE_WAY or s < first)
            if sooner and (which == GUARD or ahead):
                end, first = TOUCHED if which == FOOT else FELL, s
                copy(x.tried, x.there, x.size)
    return end, first


@helper
def copy(a, b, n):
    """b = a"""
    for i in range(n):
        b[i] = a[i]


@helper
def _step(x, clock, y):
    """One step, if it is accepted; if not, the next is shorter. Returns how it ended, and whether it was accepted."""
    left = x.latest - clock.time
    step = min(clock.step, x.longest, left)
    if step < 1e-13 * x.longest and step < left:
        return STUCK, False
    good = _advance(x, y, step, x.after)
    error = _error(x, y, step)
    if not good or not finite(x.after, x.size) or not error < 1.0:
        clock.rejected = 1
        clock.step = step * _growth(error if good else np.inf, True)
        return ON_THE_WAY, False
    copy(from_entry(x.K, x.size * STAGES), x.after_rate, x.size)
    end, s = _looked_through(x, Taken(y, x.after, x.K, x.after_rate, step, x.q))
    clock.step = step * _growth(error, clock.rejected != 0)
    clock.rejected = 0
    clock.time += s * step
    copy(x.after if end == ON_THE_WAY else x.there, y, x.size)
    copy(x.after_rate, x.K, x.size)
    return end, True


_vector, _matrix = types.float64[::1], types.float64[:, ::1]


@kernel(types.int64(Striding.type, Clock.type, _vector, _matrix), "strides", effort=2)
def stride_kernel(x, clock, y, trace):
    """Moves y = (q, v) and the clock to the next touchdown; returns how it ended, and fills rows of the trace: time, q,
    v after every step."""
    now = float_vector(y.ctypes.data, x.size)
    if not _rate(x, now, x.K):
        return STUCK
    while clock.time < x.latest:
        end, taken = _step(x, clock, now)
        if end == STUCK:
            return STUCK
        if not taken:
            continue
        if clock.rows < trace.shape[0]:
            trace[clock.rows, 0] = clock.time
            trace[clock.rows, 1:] = y
            clock.rows += 1
        elif trace.shape[0] > 0:
            return FULL
        if end != ON_THE_WAY:
            return end
    return LATE


_kernel = cache(stride_kernel.load)


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
        model, n, T = self._footing.model, self._n, dop853()
        work = ABA.work(model)
        room = {name: np.empty(2 * n) for name in ("after", "after_rate", "tried", "there")}
        self._striding: Held = Striding.of(
            aba=work.call, watched=self._footing.watched, n=n, size=2 * n, A=T.A, B=T.B, E3=T.E3, E5=T.E5,
            K=np.empty(2 * n * (STAGES + 1)), q=np.empty(n), heights=np.empty(4 * (LOOKS + 1)), **room,
        )  # fmt: skip

    def __call__(
        self, q: Floats, v: Floats, *, rtol: float, atol: float, longest: float, latest: float, rows: int = 0
    ) -> Stride:
        """From q and v to the next touchdown, a fall, or `latest`; steps no longer than `longest`."""
        y, clock, x = np.concatenate([q, v]), Clock.of(step=0.2 * longest), self._striding
        x.rtol, x.atol, x.longest, x.latest = rtol, atol, longest, latest
        trace = np.empty((rows, 1 + 2 * self._n))
        end = _kernel()(x.address, clock.address, y, trace)
        return Stride(int(end), float(clock.time), y[: self._n], y[self._n :], trace[: int(clock.rows)])
