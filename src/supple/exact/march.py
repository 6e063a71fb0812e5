"""Many steps in one compiled call: a fixed-step integrator around the articulated-body algorithm.

What acts are forces at the joints: a constant vector, and a law (joint_law.py).
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.exact.aba import ABA, BODY_ROW, DOF_ROW, PATH_ROW, aba
from supple.exact.calls import (
    AXES,
    DOFS,
    EXTRA,
    HEADER,
    N_EXTRA,
    N_SLOTS,
    NOT_FINITE,
    PATH,
    SINGULAR,
    STATE_SHIFT,
    TURNS,
    WORK,
    Work,
    finite,
)
from supple.exact.chart import move_into, point_into, rate_into
from supple.exact.joint_law import add_law
from supple.exact.motion import AXIS, Axes
from supple.exact.runge_kutta import RK4_NODES, RK4_WEIGHTS
from supple.exact.tables import open_tables
from supple.model.model import Model
from supple.spatial.compiler import kernel
from supple.spatial.indexing import item, set_item
from supple.spatial.pointing import Pointing
from supple.spatial.references import OK, floats_at, ints_at
from supple.spatial.trig import RING

Floats = NDArray[np.float64]

EULER, SEMI_IMPLICIT, RK4 = range(3)
FIXED_STEP = {"euler": EULER, "semi-implicit": SEMI_IMPLICIT, "rk4": RK4}


_vector, _matrix, _int = types.float64[::1], types.float64[:, ::1], types.int64


@kernel(
    _int(_int, _int, _vector, _vector, _vector, _vector, types.float64, _int, _int, _matrix, _matrix, _matrix),
    "steps",
    effort=2,
)
def march_kernel(handle, integrator, q, v, force, law, dt, steps, every, kept_q, kept_v, scratch):
    """Steps of dt from q and v, which are changed in place; every so many, the state goes to a row of kept_q, kept_v.

    Returns OK; or a status and which step could not be taken: q and v are then what they were before it.
    """
    h = ints_at(handle, (HEADER,))
    m = open_tables(h)
    stages = len(RK4_NODES) if integrator == RK4 else 1
    qs, x, vs, slope = scratch[0], scratch[1], scratch[2], scratch[3]
    a, sum_x, sum_a, tau = scratch[4], scratch[5], scratch[6], scratch[7]
    for step in range(steps):
        for stage in range(stages):
            if stage == 0:
                for k in range(m.nq):
                    set_item(qs, k, item(q, k))
                for j in range(m.nv):
                    set_item(vs, j, item(v, j))
                    set_item(x, j, 0.0)
                    set_item(sum_x, j, 0.0)
                    set_item(sum_a, j, 0.0)
            else:
                part = RK4_NODES[stage] * dt
                for j in range(m.nv):
                    set_item(x, j, part * item(slope, j))
                    set_item(vs, j, item(v, j) + part * item(a, j))
                point_into(m, q, x, qs)
            for j in range(m.nv):
                set_item(tau, j, item(force, j))
            add_law(law, qs, vs, tau)
            good = aba(
                m,
                qs,
                vs,
                tau,
                False,
                m.outward,
                a,
                floats_at(h[PATH], (h[N_SLOTS], PATH_ROW)),
                floats_at(h[WORK], (m.n, BODY_ROW)),
                Axes(floats_at(h[AXES], (m.nv, AXIS)), floats_at(h[TURNS], (RING, 2))),
                floats_at(h[DOFS], (m.nv, DOF_ROW)),
                floats_at(h[EXTRA], (h[N_EXTRA],)),
            )
            if not good > 0.0:
                return SINGULAR + (step << STATE_SHIFT)
            if stages > 1:
                rate_into(m, x, qs, vs, slope)
                weight = RK4_WEIGHTS[stage]
                for j in range(m.nv):
                    set_item(sum_x, j, item(sum_x, j) + weight * item(slope, j))
                    set_item(sum_a, j, item(sum_a, j) + weight * item(a, j))
        end = sum_a if stages > 1 else a
        for j in range(m.nv):
            set_item(vs, j, item(v, j) + dt * item(end, j))
            set_item(x, j, dt * item(sum_x, j))
        if integrator == RK4:
            point_into(m, q, x, qs)
        elif integrator == SEMI_IMPLICIT:
            move_into(m, q, vs, dt, qs)
        else:
            move_into(m, q, v, dt, qs)
        if not (finite(qs[: m.nq]) and finite(vs[: m.nv])):
            return NOT_FINITE + (step << STATE_SHIFT)
        for k in range(m.nq):
            set_item(q, k, item(qs, k))
        for j in range(m.nv):
            set_item(v, j, item(vs, j))
        if (step + 1) % every == 0:
            row = (step + 1) // every - 1
            kept_q[row, :] = q
            kept_v[row, :] = v
    return OK


class March(Pointing):
    """Steps of one size for a model under forces at its joints."""

    _pointers = ("_work", "_run")

    def __init__(self, model: Model, integrator: str, dt: float, force: Floats, law: Floats) -> None:
        self._model, self._dt = model, dt
        self._code = FIXED_STEP[integrator]
        self._force, self._law = force, law.reshape(-1)
        self._scratch = np.empty((8, max(model.nq, model.nv)))
        self._point()

    def _point(self) -> None:
        self._work: Work = self._model._work.get(ABA.name) or ABA.prepare(self._model)
        self._run = march_kernel.load()

    def run(self, q: Floats, v: Floats, rows: int, every: int) -> tuple[Floats, Floats, int]:
        """So many rows, each `every` steps after the one before; q and v are moved to the last. The third is how many
        steps were taken: fewer than asked for if one could not be, q and v then being what they were before it."""
        kept_q, kept_v = np.empty((rows, self._model.nq)), np.empty((rows, self._model.nv))
        handle, steps = self._work.handle, rows * every
        forces = self._force, self._law, self._dt
        status = self._run(handle, self._code, q, v, *forces, steps, every, kept_q, kept_v, self._scratch)
        return kept_q, kept_v, steps if status == OK else int(status) >> STATE_SHIFT
