"""From one step of a walker to the next: the motion of a body until a point of it comes down on a plane, compiled.

Dormand and Prince's explicit Runge-Kutta method of order 8 (runge_kutta.py), around the articulated-body algorithm. No
forces act but gravity and the joints' damping. For joints whose coordinates add.

Touchdowns and falls (touchdown.py) are looked for within each step: in LOOKS parts of it, so that a foot that crosses
the ground there and back within a step is found, unless it does so twice in a part. The instant is then corrected, and
the touchdown judged, with whole steps of the method from where the last step began: it is as exact as the integration.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.errors import StateError
from supple.exact.aba import BODY_ROW, DOF_ROW, PATH_ROW, aba
from supple.exact.calls import AXES, DOFS, EXTRA, HEADER, N_EXTRA, N_SLOTS, PATH, TURNS, WORK, finite
from supple.exact.motion import AXIS, Axes
from supple.exact.runge_kutta import STAGES, blended, dop853, growth
from supple.exact.tables import open_tables
from supple.exact.touchdown import (
    FOOT,
    GUARD,
    LOOKS,
    NOWHERE,
    WATCHED,
    Footing,
    Taken,
    Watched,
    above,
    crossing,
    differences,
    height,
    inside,
)
from supple.model.manifold import PLAIN
from supple.spatial.compiler import helper, kernel
from supple.spatial.references import floats_at, ints_at
from supple.spatial.trig import RING

Floats = NDArray[np.float64]

TOUCHED, FELL, LATE, STUCK, FULL = range(5)
ON_THE_WAY = -1

_blended, _growth = helper(blended), helper(growth)


@helper
def _rate(h, m, n, y, out):
    """The derivative of y = (q, v); whether the mass matrix is regular."""
    good = aba(
        m,
        y[:n],
        y[n:],
        m.zeros,
        False,
        m.outward,
        out[n:],
        floats_at(h[PATH], (h[N_SLOTS], PATH_ROW)),
        floats_at(h[WORK], (m.n, BODY_ROW)),
        Axes(floats_at(h[AXES], (m.nv, AXIS)), floats_at(h[TURNS], (RING, 2))),
        floats_at(h[DOFS], (m.nv, DOF_ROW)),
        floats_at(h[EXTRA], (h[N_EXTRA],)),
    )
    for j in range(n):
        out[j] = y[n + j]
    return good > 0.0


@helper
def _advance(h, m, n, y, step, A, B, K, new):
    """One step of the method from y, whose rate is K[0]; the rate at its end is K[STAGES]."""
    good = True
    for s in range(1, STAGES + 1):
        for i in range(2 * n):
            x = 0.0
            for r in range(s):
                x += (A[s, r] if s < STAGES else B[r]) * K[r, i]
            new[i] = y[i] + step * x
        good = _rate(h, m, n, new, K[s]) and good
    return good


@helper
def _error(n, y, new, step, K, E3, E5, rtol, atol):
    """The error of a step as a share of what is allowed: rtol of a radian or a metre, and of velocities."""
    five, three = 0.0, 0.0
    for i in range(2 * n):
        scale = atol + rtol * (1.0 if i < n else max(abs(y[i]), abs(new[i])))
        e5, e3 = 0.0, 0.0
        for s in range(STAGES):
            e5 += E5[s] * K[s, i]
            e3 += E3[s] * K[s, i]
        five += (e5 / scale) ** 2
        three += (e3 / scale) ** 2
    return _blended(five, three, step, 2 * n)


@helper
def _exactly(h, m, t, w, which, s, rate, A, B, K, out):
    """The crossing near the share s of a step, where the height has this rate, by steps that end there; and whether the
    foot is far enough ahead. out: the state there. NOWHERE if there is none: the height came near zero only."""
    ahead, move, last = 0.0, 0.0, np.inf
    for _ in range(8):
        _advance(h, m, m.nv, t.y, s * t.step, A, B, K, out)
        now = above(h, m, out, w)
        ahead, move = now[2], -now[which] / rate
        if not abs(move) < min(0.1, 0.5 * last) or not 0.0 < s + move <= 1.0:
            break
        last = abs(move)
        s += move
    return s if abs(move) < 1e-8 else NOWHERE, ahead > 0.0


@helper
def _looked_through(h, m, t, w, A, B, K, heights, part, there):
    """How a step ends, and after which share of it: TOUCHED or FELL, with the state there, or ON_THE_WAY."""
    for i in range(LOOKS + 1):
        heights[FOOT, i], heights[GUARD, i], _ = inside(h, m, t, w, i / LOOKS)
    for which in range(2):
        differences(heights[which], heights[2 + which])
    end, first = ON_THE_WAY, 1.0
    for i in range(2 * LOOKS):
        which, c = i % 2, heights[2 + i % 2]
        if which == 0 and end != ON_THE_WAY:
            break
        x = crossing(c, heights[which], i // 2)
        if x != NOWHERE:
            s, ahead = _exactly(h, m, t, w, which, x / LOOKS, LOOKS * height(c, x)[1], A, B, K, part)
            sooner = s != NOWHERE and (end == ON_THE_WAY or s < first)
            if sooner and (which == GUARD or ahead):
                end, first = TOUCHED if which == FOOT else FELL, s
                there[:] = part
    return end, first


_int, _real, _vector, _matrix = types.int64, types.float64, types.float64[::1], types.float64[:, ::1]


@kernel(
    _int(
        _int, *WATCHED, *[_real] * 4, _vector, _vector, _matrix, _vector, _vector, _vector, _matrix, _matrix,
    ),
    "strides",
    effort=2,
)  # fmt: skip
def stride_kernel(
    handle, bodies, points, plane, clearance, least, path, work, rtol, atol, longest, latest, clock, y, A, B, E3, E5, K,
    trace,
):  # fmt: skip
    """Moves y = (q, v) and the clock to the next touchdown; returns how it ended, and fills rows of the trace.

    clock: time, the length of step to try next, rows of the trace filled. trace: time, q, v after every step.
    """
    h = ints_at(handle, (HEADER,))
    m = open_tables(h)
    n = m.nv
    new, part, there, new_rate = np.empty(2 * n), np.empty(2 * n), np.empty(2 * n), np.empty(2 * n)
    q, heights = np.empty(n), np.empty((4, LOOKS + 1))
    w = Watched(bodies, points, plane, clearance, least, path, work)
    if not _rate(h, m, n, y, K[0]):
        return STUCK
    rejected = False
    while clock[0] < latest:
        step = min(clock[1], longest, latest - clock[0])
        if step < 1e-13 * longest and step < latest - clock[0]:
            return STUCK
        good = _advance(h, m, n, y, step, A, B, K, new)
        error = _error(n, y, new, step, K, E3, E5, rtol, atol)
        if not good or not finite(new) or not error < 1.0:
            rejected = True
            clock[1] = step * _growth(error if good else np.inf, rejected)
            continue
        new_rate[:] = K[STAGES]
        end, s = _looked_through(h, m, Taken(y, new, K[0], new_rate, step, q), w, A, B, K, heights, part, there)
        clock[1] = step * _growth(error, rejected)
        rejected = False
        clock[0] += s * step
        y[:] = new if end == ON_THE_WAY else there
        K[0, :] = new_rate
        row = int(clock[2])
        if row < trace.shape[0]:
            trace[row, 0] = clock[0]
            trace[row, 1:] = y
            clock[2] = row + 1
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
    trace: Floats  #: (steps, 1 + nq + nv): time, q, v; empty unless asked for


class Strider:
    """A model ready to make strides."""

    def __init__(self, footing: Footing) -> None:
        model = footing.model
        if not np.isin(model.joint_type, PLAIN).all():
            bad = model.joint_names[int(np.flatnonzero(~np.isin(model.joint_type, PLAIN))[0])]
            raise StateError(f"joint {bad!r}: strides are for joints whose coordinates add; simulate takes any")
        self._footing, self._n = footing, model.nv
        self._K = np.empty((STAGES + 1, 2 * model.nv))

    def __call__(
        self, q: Floats, v: Floats, *, rtol: float, atol: float, longest: float, latest: float, rows: int = 0
    ) -> Stride:
        """From q and v to the next touchdown, a fall, or `latest`; steps no longer than `longest`."""
        y, clock = np.concatenate([q, v]), np.array([0.0, 0.2 * longest, 0.0])
        trace = np.empty((rows, 1 + 2 * self._n))
        how, T = (rtol, atol, longest, latest), dop853()
        footing = self._footing
        end = _kernel()(footing.work.handle, *footing.given, *how, clock, y, T.A, T.B, T.E3, T.E5, self._K, trace)
        return Stride(int(end), float(clock[0]), y[: self._n], y[self._n :], trace[: int(clock[2])])
