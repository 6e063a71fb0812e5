"""Many steps in one compiled call: a fixed-step integrator around the articulated-body algorithm.

The forces act at the joints: a constant vector, and a law (joint_law.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.exact.aba import ABA, aba, aba_scratch
from supple.exact.calls import NOT_FINITE, SINGULAR, STATE_SHIFT, call_at, finite, no_wrenches, row_of
from supple.exact.motion import CallState
from supple.integrating.chart import move_into, point_into, rate_into
from supple.integrating.joint_law import add_law
from supple.integrating.runge_kutta import RK4_NODES, RK4_WEIGHTS
from supple.model.model import Model
from supple.spatial.addresses import vector
from supple.spatial.compiler import helper, kernel
from supple.spatial.cpu import OK
from supple.spatial.pointing import Pointing

Floats = NDArray[np.float64]

EULER, SEMI_IMPLICIT, RK4 = range(3)
FIXED_STEP = {"euler": EULER, "semi-implicit": SEMI_IMPLICIT, "rk4": RK4}


class Step(NamedTuple):
    """Scratch of a step, each a vector."""

    q: Any  #: position of a stage
    x: Any  #: in the chart about the beginning of the step
    v: Any
    slope: Any  #: dx/dt
    a: Any
    sum_x: Any  #: weighted sums of the slopes
    sum_a: Any
    tau: Any


class Acting(NamedTuple):
    """The forces at the joints."""

    force: Any  #: (nv,) constant
    law: Any  #: flat
    law_size: Any


_vector, _matrix, _int = types.float64[::1], types.float64[:, ::1], types.int64


@helper
def step_room(rows):
    return Step(
        row_of(rows, 0),
        row_of(rows, 1),
        row_of(rows, 2),
        row_of(rows, 3),
        row_of(rows, 4),
        row_of(rows, 5),
        row_of(rows, 6),
        row_of(rows, 7),
    )


@helper
def accelerate(m, acting, y, work):
    """The accelerations of a stage. Returns the smallest D."""
    for j in range(m.nv):
        y.tau[j] = acting.force[j]
    add_law(acting.law, acting.law_size, y.q, y.v, y.tau)
    return aba(m, CallState(y.q, y.v, y.tau, False, no_wrenches()), y.a, work)


@helper
def begin_stage(m, q, v, dt, stage, y):
    """The state of a stage of RK4; the first is the beginning of the step."""
    if stage == 0:
        for k in range(m.nq):
            y.q[k] = q[k]
        for j in range(m.nv):
            y.v[j] = v[j]
            y.x[j] = y.sum_x[j] = y.sum_a[j] = 0.0
        return
    part = RK4_NODES[stage] * dt
    for j in range(m.nv):
        y.x[j] = part * y.slope[j]
        y.v[j] = v[j] + part * y.a[j]
    point_into(m, q, y.x, y.q)


@helper
def end_stage(m, stage, y):
    """Add its slopes."""
    rate_into(m, y.x, y.q, y.v, y.slope)
    weight = RK4_WEIGHTS[stage]
    for j in range(m.nv):
        y.sum_x[j] += weight * y.slope[j]
        y.sum_a[j] += weight * y.a[j]


@helper
def end_step(m, integrator, q, v, dt, y):
    """The state at the end of the step, to y."""
    end = y.sum_a if integrator == RK4 else y.a
    for j in range(m.nv):
        y.v[j] = v[j] + dt * end[j]
        y.x[j] = dt * y.sum_x[j]
    if integrator == RK4:
        point_into(m, q, y.x, y.q)
    elif integrator == SEMI_IMPLICIT:
        move_into(m, q, y.v, dt, y.q)
    else:
        move_into(m, q, v, dt, y.q)


@kernel(
    _int(_int, _int, _vector, _vector, _vector, _vector, types.float64, _int, _int, _matrix, _matrix, _matrix),
    "steps",
    effort=2,
)
def march_kernel(handle, integrator, q, v, force, law, dt, steps, every, kept_q, kept_v, scratch):
    """Steps of dt from q and v, which are changed in place; after each `every` steps, the state goes to a row of
    kept_q, kept_v.

    Returns OK; or a status and the index of the step that failed: q and v are then what they were before it.
    """
    call = call_at(handle)
    m, work = call.model, aba_scratch(call)
    acting = Acting(vector(force), vector(law), law.shape[0])
    q0, v0, y = vector(q), vector(v), step_room(scratch)
    for step in range(steps):
        for stage in range(len(RK4_NODES) if integrator == RK4 else 1):
            begin_stage(m, q0, v0, dt, stage, y)
            if not accelerate(m, acting, y, work) > 0.0:
                return SINGULAR + (step << STATE_SHIFT)
            if integrator == RK4:
                end_stage(m, stage, y)
        end_step(m, integrator, q0, v0, dt, y)
        if not (finite(y.q, m.nq) and finite(y.v, m.nv)):
            return NOT_FINITE + (step << STATE_SHIFT)
        for k in range(m.nq):
            q0[k] = y.q[k]
        for j in range(m.nv):
            v0[j] = y.v[j]
        if (step + 1) % every == 0:
            row = (step + 1) // every - 1
            kept_q[row, :] = q
            kept_v[row, :] = v
    return OK


class March(Pointing):
    """Steps of one size for a model with forces at its joints."""

    _pointers = ("_work", "_run")

    def __init__(self, model: Model, integrator: str, dt: float, force: Floats, law: Floats) -> None:
        self._model, self._dt = model, dt
        self._code = FIXED_STEP[integrator]
        self._force, self._law = force, law.reshape(-1)
        self._scratch = np.empty((8, max(model.nq, model.nv)))
        self._point()

    def _point(self) -> None:
        self._work = ABA.work(self._model)
        self._run = march_kernel.load()

    def run(self, q: Floats, v: Floats, rows: int, every: int) -> tuple[Floats, Floats, int]:
        """`rows` rows, `every` steps apart; q and v are moved to the last. The third return value is the number of
        steps taken: fewer than requested if one failed, q and v then being what they were before it."""
        kept_q, kept_v = np.empty((rows, self._model.nq)), np.empty((rows, self._model.nv))
        handle, steps = self._work.handle, rows * every
        forces = self._force, self._law, self._dt
        status = self._run(handle, self._code, q, v, *forces, steps, every, kept_q, kept_v, self._scratch)
        return kept_q, kept_v, steps if status == OK else int(status) >> STATE_SHIFT
