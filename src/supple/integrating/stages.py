"""The stages of a step of an explicit Runge-Kutta method (runge_kutta.py), in the chart about its beginning (chart.py).

All integrators use them: compiled steps around the articulated-body algorithm, for fixed steps (march.py) and for the
strides of walkers, and steps in plain Python under any forces (simulating/integrators.py).

    y = (x, v)       coordinates in the chart, and velocities; at the beginning (0, v0)
    k_s = (dx/dt, a) slope of stage s: row s of K
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.exact.aba import aba, aba_scratch
from supple.exact.call_kernels import Call, no_wrenches
from supple.exact.motion import CallState
from supple.exact.tables import Tables, host_tables
from supple.integrating.chart import point_into, rate_into
from supple.integrating.joint_law import add_law
from supple.integrating.runge_kutta import Method
from supple.model.model import Model
from supple.spatial import fields
from supple.spatial.addresses import from_entry
from supple.spatial.compiler import helper, kernel
from supple.spatial.fields import Integer
from supple.spatial.held import Held
from supple.spatial.structs import Link, Struct

Floats = NDArray[np.float64]


class Stages(Struct):
    """A step, and its current stage."""

    model = Link(Tables)
    rows = Integer()  # of A
    A = fields.Floats()  # the method's coefficients
    K = fields.Floats()  # (rows x 2 nv) slopes
    q0 = fields.Floats()  # the beginning of the step
    v0 = fields.Floats()
    q = fields.Floats()  # of the stage
    x = fields.Floats()
    v = fields.Floats()


class UnderForces(Struct):
    """A body under forces at its joints, and a step of it."""

    step = Link(Stages)
    aba = Link(Call)
    force = fields.Floats()  # (nv,) constant
    law = fields.Floats()  # (law_size,) rows of joint_law.py
    law_size = Integer()
    tau = fields.Floats()  # (nv,) all of them


@helper
def slope_of(step, s):
    """k_s."""
    return from_entry(step.K, 2 * step.model.nv * s)


@helper
def place_stage(step, s, h):
    """The state of stage s of a step of length h: y_s = y_0 + h sum_r A[s, r] k_r  [HNW II.1.8]."""
    m, x, v = step.model, step.x, step.v
    if s == 0:
        for i in range(m.nq):
            step.q[i] = step.q0[i]
        for j in range(m.nv):
            x[j], v[j] = 0.0, step.v0[j]
        return
    for j in range(m.nv):
        x[j] = v[j] = 0.0
    for r in range(s):
        a, k = step.A[step.rows * s + r], slope_of(step, r)
        if a != 0.0:
            for j in range(m.nv):
                x[j] += a * k[j]
                v[j] += a * k[m.nv + j]
    for j in range(m.nv):
        x[j], v[j] = h * x[j], step.v0[j] + h * v[j]
    point_into(m, step.q0, x, step.q)


@helper
def rate_stage(step, s):
    """dx/dt of stage s, in k_s."""
    rate_into(step.model, step.x, step.q, step.v, slope_of(step, s))


@kernel(types.float64(UnderForces.type, types.int64, types.int64, types.float64), "stages of a step", effort=2)
def take_stages(body, first, end, h):
    """The stages from `first` to `end` - 1 of a step of length h, by the articulated-body algorithm. Returns the
    smallest D; later stages are not evaluated if that is not positive."""
    step, call = body.step, body.aba
    m, work, smallest = call.model, aba_scratch(call), 1.0e300
    for s in range(first, end):
        place_stage(step, s, h)
        rate_stage(step, s)
        for j in range(m.nv):
            body.tau[j] = body.force[j]
        add_law(body.law, body.law_size, step.q, step.v, body.tau)
        state = CallState(step.q, step.v, body.tau, False, no_wrenches())
        D = aba(m, state, from_entry(slope_of(step, s), m.nv), work)
        if not D > 0.0:
            return D
        smallest = min(smallest, D)
    return smallest


@kernel(types.void(Stages.type, types.int64, types.float64), "a stage")
def stage_kernel(step, s, h):
    place_stage(step, s, h)
    rate_stage(step, s)


class StepRoom:
    """The memory of a step of a model, by a method."""

    def __init__(self, model: Model, method: Method) -> None:
        n, rows = model.nv, len(method.C)
        self.method, self.nv = method, n
        self.q0, self.q = np.zeros(model.nq), np.zeros(model.nq)
        self.v0, self.v, self.x = np.zeros(n), np.zeros(n), np.zeros(n)
        self.K = np.zeros((rows, 2 * n))
        self.struct: Held = Stages.of(
            model=host_tables(model), rows=rows, A=method.A, K=self.K, q0=self.q0, v0=self.v0, q=self.q, x=self.x,
            v=self.v,
        )  # fmt: skip
        self._stage, self._at = stage_kernel.load(), self.struct.address

    def begin(self, q: Floats, v: Floats) -> None:
        """A step from q and v."""
        self.q0[:], self.v0[:] = q, v

    def stage(self, s: int, h: float) -> tuple[Floats, Floats]:
        """q and v of stage s; k_s lacks its acceleration."""
        self._stage(self._at, s, h)
        return self.q.copy(), self.v.copy()
