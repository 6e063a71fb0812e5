"""From one step of a walker to the next: the motion of a body until a point of it comes down on a plane, compiled.

The explicit Runge-Kutta method of order 8 by Dormand and Prince [Hairer, Norsett, Wanner 1993, Solving Ordinary
Differential Equations I, II.5], with the coefficients of scipy.integrate.DOP853, around the articulated-body algorithm.
The instant of touching down is found with whole steps of the method, of other lengths, from where the last step began:
it is as exact as the integration. No forces act but gravity and the joints' damping. For joints whose coordinates add.

A point counts as coming down when its height falls through zero while it is ahead of the support by `clearance`:
a foot that scuffs the ground on its way forward does not [RR B2]. A guard point that comes below `least` means a fall.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.errors import StateError
from supple.exact import kinematics
from supple.exact.aba import ABA, BODY_ROW, DOF_ROW, PATH_ROW, aba
from supple.exact.calls import AXES, DOFS, EXTRA, HEADER, N_EXTRA, N_SLOTS, PATH, TURNS, WORK, Work, finite
from supple.exact.kinematics import place_all
from supple.exact.motion import AXIS, Axes
from supple.exact.tables import host_tables, open_tables
from supple.model.manifold import PLAIN
from supple.model.model import Model
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper, kernel
from supple.spatial.references import floats_at, ints_at
from supple.spatial.rows import load_mat, load_vec
from supple.spatial.trig import RING

Floats = NDArray[np.float64]

TOUCHED, FELL, LATE, STUCK, FULL = range(5)
STAGES = 12
FOOT, GUARD = range(2)
SAFETY, LEAST_FACTOR, MOST_FACTOR = 0.9, 0.2, 10.0


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
    """The error of a step as a share of what is allowed [HNW II.10]."""
    five, three = 0.0, 0.0
    for i in range(2 * n):
        scale = atol + rtol * max(abs(y[i]), abs(new[i]))
        e5, e3 = 0.0, 0.0
        for s in range(STAGES + 1):
            e5 += E5[s] * K[s, i]
            e3 += E3[s] * K[s, i]
        five += (e5 / scale) ** 2
        three += (e3 / scale) ** 2
    if five == 0.0 and three == 0.0:
        return 0.0
    return abs(step) * five / np.sqrt((five + 0.01 * three) * 2 * n)


@helper
def _where(h, m, q, bodies, points, plane, path, work, which):
    """Height of a watched point above the plane, and how far ahead it is."""
    S = Axes(floats_at(h[AXES], (m.nv, AXIS)), floats_at(h[TURNS], (RING, 2)))
    place_all(m, q, path, work, S)
    b = bodies[which]
    R = load_mat(work, b, kinematics.R_) @ load_mat(m.outward, b, 0)
    P = load_vec(work, b, kinematics.P_) + R @ Vec3(points[which, 0], points[which, 1], points[which, 2])
    height = plane[0, 0] * P.x + plane[0, 1] * P.y + plane[0, 2] * P.z - plane[0, 3]
    ahead = plane[1, 0] * P.x + plane[1, 1] * P.y + plane[1, 2] * P.z - plane[1, 3]
    return height, ahead


_int, _real, _vector, _matrix = types.int64, types.float64, types.float64[::1], types.float64[:, ::1]


@kernel(
    _int(
        _int, types.int64[::1], _matrix, _matrix, *[_real] * 6, _vector, _vector,
        _matrix, _vector, _vector, _vector, _matrix, _matrix, _matrix, _matrix,
    ),
    "strides",
    effort=2,
)  # fmt: skip
def stride_kernel(
    handle, bodies, points, plane, clearance, least, rtol, atol, longest, latest, clock, y, A, B, E3, E5, K, path, work,
    trace,
):  # fmt: skip
    """Moves y = (q, v) and the clock to the next touchdown; returns how it ended, and fills rows of the trace.

    clock: time, the length of step to try next, rows of the trace filled. trace: time, q, v after every step.
    """
    h = ints_at(handle, (HEADER,))
    m = open_tables(h)
    n = m.nv
    new, part = np.empty(2 * n), np.empty(2 * n)
    if not _rate(h, m, n, y, K[0]):
        return STUCK
    before, _ = _where(h, m, y, bodies, points, plane, path, work, FOOT)
    while clock[0] < latest:
        step = min(clock[1], longest, latest - clock[0])
        if step < 1e-14:
            return STUCK
        good = _advance(h, m, n, y, step, A, B, K, new)
        error = _error(n, y, new, step, K, E3, E5, rtol, atol)
        if not good or not finite(new) or not error <= 1.0:
            clock[1] = step * (max(LEAST_FACTOR, SAFETY * error**-0.125) if good and error > 0.0 else LEAST_FACTOR)
            continue
        after, ahead = _where(h, m, new, bodies, points, plane, path, work, FOOT)
        touched = before > 0.0 >= after and ahead > clearance
        if touched:
            # regula falsi with the Illinois rule, on the length of the step
            a, fa, b, fb, x, fx, side = 0.0, before, step, after, step, after, 0
            for _ in range(100):
                if fb == 0.0 or b - a <= 1e-16 * step:
                    break
                x = (a * fb - b * fa) / (fb - fa)
                if not a < x < b:
                    break
                _advance(h, m, n, y, x, A, B, K, part)
                fx, _ = _where(h, m, part, bodies, points, plane, path, work, FOOT)
                if fx > 0.0:
                    a, fa = x, fx
                    fb = 0.5 * fb if side == 1 else fb
                    side = 1
                else:
                    b, fb = x, fx
                    fa = 0.5 * fa if side == -1 else fa
                    side = -1
                if abs(fx) < 1e-16:
                    break
            step = x
            _advance(h, m, n, y, step, A, B, K, new)
        clock[0] += step
        y[:] = new
        K[0, :] = K[STAGES]
        before = after
        row = int(clock[2])
        if row < trace.shape[0]:
            trace[row, 0] = clock[0]
            trace[row, 1:] = y
            clock[2] = row + 1
        elif trace.shape[0] > 0:
            return FULL
        if touched:
            return TOUCHED
        factor = MOST_FACTOR if error == 0.0 else min(MOST_FACTOR, SAFETY * error**-0.125)
        clock[1] = step * max(LEAST_FACTOR, factor)
        height, _ = _where(h, m, y, bodies, points, plane, path, work, GUARD)
        if height < least:
            return FELL
    return LATE


@cache
def _coefficients() -> tuple[Floats, ...]:
    from scipy.integrate import DOP853

    return tuple(np.ascontiguousarray(x) for x in (DOP853.A, DOP853.B, DOP853.E3, DOP853.E5))


_kernel = cache(stride_kernel.load)


class Place(NamedTuple):
    """A point of a body, in its frame."""

    body: int
    point: Floats


class Stride(NamedTuple):
    """How a stride ended: TOUCHED, FELL, LATE, STUCK or FULL; the state there; and all steps on the way."""

    end: int
    time: float
    q: Floats
    v: Floats
    trace: Floats  #: (steps, 1 + nq + nv): time, q, v; empty unless asked for


class Strider:
    """A model ready to make strides. plane: rows of a normal and an offset, of a direction ahead and an offset."""

    def __init__(self, model: Model, foot: Place, guard: Place, plane: Floats, clearance: float, least: float) -> None:
        if not np.isin(model.joint_type, PLAIN).all():
            bad = model.joint_names[int(np.flatnonzero(~np.isin(model.joint_type, PLAIN))[0])]
            raise StateError(f"joint {bad!r}: strides are for joints whose coordinates add; simulate takes any")
        self._work: Work = model._work.get(ABA.name) or ABA.prepare(model)
        n, slots = model.n_bodies, host_tables(model).n_slots
        bodies = np.array([foot.body, guard.body])
        points = np.array([foot.point, guard.point], dtype=np.float64)
        self._watched: tuple[Any, ...] = (bodies, points, np.ascontiguousarray(plane), float(clearance), float(least))
        self._n = model.nv
        self._scratch = (
            np.empty((STAGES + 1, 2 * model.nv)),
            np.empty((slots, kinematics.PATH_ROW)),
            np.empty((n, kinematics.BODY_ROW)),
        )

    def __call__(
        self, q: Floats, v: Floats, *, rtol: float, atol: float, longest: float, latest: float, rows: int = 0
    ) -> Stride:
        """From q and v to the next touchdown, a fall, or `latest`; steps no longer than `longest`."""
        y, clock = np.concatenate([q, v]), np.array([0.0, min(longest, 0.02), 0.0])
        trace = np.empty((rows, 1 + 2 * self._n))
        how = rtol, atol, longest, latest
        end = _kernel()(self._work.handle, *self._watched, *how, clock, y, *_coefficients(), *self._scratch, trace)
        return Stride(int(end), float(clock[0]), y[: self._n], y[self._n :], trace[: int(clock[2])])
