"""The linearly implicit step: Euler's, implicit in the forces of joints, extrapolated to order two.

The forces of joints are those of their law (joint_law.py) and the model's damping. With K and D their slopes, diagonal
matrices, -d tau / dq and -d tau / dv, the velocity at the end of a part of length h is v' = v + h a,

    (H + h D + h^2 K) a = tau(q + h v, v) - C        law and slopes are taken where the joint will be at its speed
    x' = x + h dx/dt(x, v')                          in the chart about the step's beginning (chart.py)

which is the articulated-body algorithm with an armature of h D + h^2 K more: O(n), and no matrix. For linear forces it
is the implicit Euler method; gravity, velocity products and all other forces are taken at the beginning of the part.
A step of length h consists of three parts [Hairer and Wanner 1996, Solving Ordinary Differential Equations II, IV.9]:

    y1 = one part of h from y0;   y2 = two parts of h/2 from y0;   y = 2 y2 - y1

which is of order two whatever the slopes, since it is an extrapolation; and L-stable for linear forces of joints:

    R(z) = 2 / (1 - z/2)^2 - 1 / (1 - z)

An oscillation by other forces, of frequency w, loses (h w)^4 / 16 of its amplitude in a step.

A limit that engages or a force that becomes limited within a step is no smooth force, and what is extrapolated could
have more energy than either. Where a part finds the law in another piece (law_line) than it was in at the beginning,
the step is y2: order one.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.exact.aba import ABA, aba, aba_scratch
from supple.exact.calls import HostWork
from supple.exact.motion import CallState
from supple.exact.tables import DofTraits, Wrench, host_tables
from supple.integrating.chart import point_into, rate_into
from supple.integrating.joint_law import LAW, law_among, law_line
from supple.integrating.runge_kutta import RK4
from supple.integrating.stages import StepRoom, UnderForces, place_stage, slope_of
from supple.model.model import Model
from supple.spatial import fields
from supple.spatial.addresses import from_entry
from supple.spatial.compiler import helper, kernel
from supple.spatial.fields import Integer
from supple.spatial.held import Held
from supple.spatial.structs import Link, Struct, Table

Floats = NDArray[np.float64]

PARTS = 3  #: of a step: the whole of it, its first half, its second half
WHOLE, FIRST, SECOND = range(PARTS)


class Implicit(Struct):
    """A step, by parts."""

    body = Link(UnderForces)  # the model of its `aba` has traits of its own, into which the slopes go
    pushed = Integer()  # whether there are wrenches
    wrenches = Table(Wrench)
    pieces = fields.Floats()  # (rows of the law) of the law, at the step's beginning
    crossed = Integer()  # whether a part found another
    x1 = fields.Floats()  # where the whole step ends
    v1 = fields.Floats()
    off = fields.Floats()  # (nv,) the difference that the halves make to the velocities


@helper
def line_up(implicit, h, part):
    """The forces of joints and their slopes, for a part of length h: in body.tau, and as armatures."""
    body, step = implicit.body, implicit.body.step
    m, traits = step.model, body.aba.model.dofs
    for j in range(m.nv):
        body.tau[j] = body.force[j]
        traits[j].armature = m.dofs[j].armature + h * m.dofs[j].damping
    for k in range(0, body.law_size, LAW):
        law = law_among(body.law, k)
        j = int(law.dof)
        x, u, row = step.q[int(law.coordinate)], step.v[j], k // LAW
        f, stiffness, damper, piece = law_line(law, x + h * u, u)
        body.tau[j] += f
        traits[j].armature += h * (damper + h * stiffness)
        if part == WHOLE:
            implicit.pieces[row] = law_line(law, x, u)[3]
        if implicit.pieces[row] != piece:
            implicit.crossed = 1


@helper
def move_part(implicit, h):
    """A part of length h of step.x, step.v and step.q. Returns the smallest D; nothing moves if that is not
    positive."""
    body, step, call = implicit.body, implicit.body.step, implicit.body.aba
    m, slope = step.model, slope_of(step, 0)
    a = from_entry(slope, m.nv)
    state = CallState(step.q, step.v, body.tau, implicit.pushed > 0, implicit.wrenches)
    D = aba(call.model, state, a, aba_scratch(call))
    if not D > 0.0:
        return D
    for j in range(m.nv):
        step.v[j] += h * a[j]
    rate_into(m, step.x, step.q, step.v, slope)
    for j in range(m.nv):
        step.x[j] += h * slope[j]
    point_into(m, step.q0, step.x, step.q)
    return D


@helper
def extrapolate(implicit):
    """From the ends of the whole step and of the halves to that of the step."""
    step = implicit.body.step
    m, x1, v1 = step.model, implicit.x1, implicit.v1
    for j in range(m.nv):
        implicit.off[j] = step.v[j] - v1[j]
    if implicit.crossed:
        return
    for j in range(m.nv):
        step.x[j], step.v[j] = 2.0 * step.x[j] - x1[j], 2.0 * step.v[j] - v1[j]
    point_into(m, step.q0, step.x, step.q)


@kernel(types.float64(Implicit.type, types.int64, types.float64), "parts of an implicit step", effort=2)
def take_part(implicit, part, h):
    """One of the PARTS of a step of length h, under the forces body.force and wrenches; the step's end is that of the
    last. Returns the smallest D; if that is not positive, the step cannot be taken."""
    step = implicit.body.step
    if part == FIRST:
        for j in range(step.model.nv):
            implicit.x1[j], implicit.v1[j] = step.x[j], step.v[j]
    if part == WHOLE:
        implicit.crossed = 0
    if part != SECOND:
        place_stage(step, 0, h)
    if part != WHOLE:
        h = 0.5 * h
    line_up(implicit, h, part)
    D = move_part(implicit, h)
    if part == SECOND:
        extrapolate(implicit)
    return D


class ImplicitRoom(StepRoom):
    """The memory of a linearly implicit step of a model under a law, whose rows may be changed between parts."""

    def __init__(self, model: Model, law: Floats) -> None:
        super().__init__(model, RK4)
        self.force, self.off, self._law = np.zeros(model.nv), np.zeros(model.nv), law.reshape(-1)
        self._wrenches = np.zeros((model.n_bodies, 6))
        self.implicit: Held = Implicit.of(
            body=self._body(model), wrenches=self._wrenches, pieces=np.zeros(len(law)), x1=np.zeros(model.nv),
            v1=np.zeros(model.nv), off=self.off,
        )  # fmt: skip
        self._part = take_part.load()

    def _body(self, model: Model) -> Held:
        call, traits = HostWork(ABA, model).call, DofTraits.zeros(model.nv)
        traits["damping"] = model.damping
        call.model = host_tables(model).tables.but(dofs=traits)
        return UnderForces.of(
            step=self.struct, aba=call, force=self.force, law=self._law, law_size=len(self._law),
            tau=np.zeros(model.nv),
        )  # fmt: skip

    def part(self, part: int, h: float, tau: Floats, wrenches: Floats | None) -> bool:
        """One part of a step of length h, under forces in addition to the law; False if it cannot be taken."""
        self.force[:], self.implicit.pushed = tau, wrenches is not None
        if wrenches is not None:
            self._wrenches[:] = wrenches
        return bool(self._part(self.implicit.address, part, h) > 0.0)
