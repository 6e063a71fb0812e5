"""The linearly implicit step: Euler's, implicit in the forces of joints, extrapolated to order two.

The forces of joints are those of their law (joint_law.py) and the model's damping. With K and D their slopes, diagonal
matrices, -d tau / dq and -d tau / dv, the velocity at the end of a part of length h is v' = v + h a,

    (H + h D + h^2 K) a = tau(q + h v, v) - C        law and slopes are taken where the joint will be at its speed
    x' = x + h dx/dt(x, v')                          in the chart about the step's beginning (chart.py)

which is the articulated-body algorithm with an armature of h D + h^2 K more: O(n), and no matrix. For linear forces it
is the implicit Euler method; gravity, velocity products and all other forces are taken at the beginning of the part.
If v' runs into a limit that was not engaged, its force is taken as a line through where v' leads, and the part is
solved again.

A step of length h consists of three parts [Hairer and Wanner 1996, Solving Ordinary Differential Equations II, IV.9]:

    y1 = one part of h from y0;   y2 = two parts of h/2 from y0;   y = 2 y2 - y1

which is of order two whatever the slopes, since it is an extrapolation; and L-stable for linear forces of joints:

    R(z) = 2 / (1 - z/2)^2 - 1 / (1 - z)

An oscillation by other forces, of frequency w, loses (h w)^4 / 16 of its amplitude in a step.

A limit that engages or a force that becomes limited within a step is no smooth force, and what is extrapolated could
have more energy than either. Where a part finds the law in another piece (law_line) than it was in at the beginning,
the step is y2: order one.

Bodies with loops take the same parts, with forces along rows that keep G a = g at their beginning [with_loops.py].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.exact.aba import ABA, aba, aba_scratch
from supple.exact.calls import Algorithm, HostWork
from supple.exact.motion import CallState
from supple.exact.tables import DofTraits, Wrench, host_tables
from supple.exact.with_loops import WITH_ARMATURES, front_scratch, loop_joints
from supple.integrating.chart import point_into, rate_into
from supple.integrating.joint_law import LAW, law_among, law_line
from supple.integrating.runge_kutta import RK4
from supple.integrating.stages import StepRoom, UnderForces, place_stage, slope_of
from supple.model.model import Model
from supple.spatial import fields
from supple.spatial.addresses import from_entry
from supple.spatial.compiler import Kernel, helper, kernel
from supple.spatial.fields import Integer
from supple.spatial.held import Held
from supple.spatial.structs import Link, Struct, Table

Floats = NDArray[np.float64]

PARTS = 3  #: of a step: the whole of it, its first half, its second half
WHOLE, FIRST, SECOND = range(PARTS)
SOLVES = 4  #: most for a part: limits may engage by what others do
LIMIT = 2.0  #: pieces of the law beyond this have an engaged limit


class Implicit(Struct):
    """A step, by parts."""

    body = Link(UnderForces)  # the model of its `aba` has traits of its own, into which the slopes go
    pushed = Integer()  # whether there are wrenches
    wrenches = Table(Wrench)
    begun = fields.Floats()  # (rows of the law) the pieces of the law at the step's beginning
    pieces = fields.Floats()  # those for which it is lined up
    crossed = Integer()  # whether these were ever others
    through = fields.Floats()  # (rows of the law) the velocities through which its lines are
    end = fields.Floats()  # (nv,) velocities at the end of a part
    x1 = fields.Floats()  # where the whole step ends
    v1 = fields.Floats()
    off = fields.Floats()  # (nv,) the difference that the halves make to the velocities


@helper
def begin_step(implicit):
    """The pieces of the law at the step's beginning."""
    body, step = implicit.body, implicit.body.step
    implicit.crossed = 0
    for k in range(0, body.law_size, LAW):
        law = law_among(body.law, k)
        implicit.begun[k // LAW] = law_line(law, step.q[int(law.coordinate)], step.v[int(law.dof)])[3]


@helper
def line_up(implicit, h):
    """The forces of joints as lines in the velocity at the end of a part of length h: in body.tau, and their slopes as
    armatures."""
    body, step = implicit.body, implicit.body.step
    m, traits = step.model, body.aba.model.dofs
    for j in range(m.nv):
        body.tau[j] = body.force[j]
        traits[j].armature = m.dofs[j].armature + h * m.dofs[j].damping
    for k in range(0, body.law_size, LAW):
        law = law_among(body.law, k)
        j, row, u = int(law.dof), k // LAW, implicit.through[k // LAW]
        f, stiffness, damper, piece = law_line(law, step.q[int(law.coordinate)] + h * u, u)
        slope = damper + h * stiffness
        body.tau[j] += f + slope * (u - step.v[j])
        traits[j].armature += h * slope
        implicit.pieces[row] = piece
        if implicit.begun[row] != piece:
            implicit.crossed = 1


@helper
def engages(implicit, law, row, h, u):
    """Whether a velocity u at the end runs into a limit that was not engaged."""
    x = implicit.body.step.q[int(law.coordinate)] + h * u
    if law.lower <= x <= law.upper:
        return False
    return abs(implicit.pieces[row]) < LIMIT <= abs(law_line(law, x, u)[3])


@helper
def engage(implicit, h):
    """Let the lines of limits that the velocities in `end` run into, and that were not engaged, be through these.
    Returns whether there are any."""
    body, found = implicit.body, False
    for k in range(0, body.law_size, LAW):
        law, row = law_among(body.law, k), k // LAW
        u = implicit.end[int(law.dof)]
        if engages(implicit, law, row, h, u):
            implicit.through[row], found = u, True
    return found


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


def parts_by(accelerate: Any, opened: Any, name: str) -> Kernel:
    """The kernel that takes the parts of a step, by the articulated-body algorithm of trees or that of loops."""

    @helper
    def solve_part(implicit, h):
        """The velocities at the end of a part of length h, in `end`. Returns the smallest D; they are undefined if that
        is not positive."""
        body, step, call = implicit.body, implicit.body.step, implicit.body.aba
        m, a, D = step.model, from_entry(slope_of(step, 0), step.model.nv), 0.0
        for k in range(0, body.law_size, LAW):
            implicit.through[k // LAW] = step.v[int(law_among(body.law, k).dof)]
        for _ in range(SOLVES):
            line_up(implicit, h)
            state = CallState(step.q, step.v, body.tau, implicit.pushed > 0, implicit.wrenches)
            D = accelerate(call.model, state, a, opened(call))
            if not D > 0.0:
                return D
            for j in range(m.nv):
                implicit.end[j] = step.v[j] + h * a[j]
            if not engage(implicit, h):
                return D
        return D

    @helper
    def move_part(implicit, h):
        """A part of length h of step.x, step.v and step.q. Returns the smallest D; nothing moves if that is not
        positive."""
        step = implicit.body.step
        m, rate = step.model, slope_of(step, 0)
        D = solve_part(implicit, h)
        if not D > 0.0:
            return D
        for j in range(m.nv):
            step.v[j] = implicit.end[j]
        rate_into(m, step.x, step.q, step.v, rate)
        for j in range(m.nv):
            step.x[j] += h * rate[j]
        point_into(m, step.q0, step.x, step.q)
        return D

    @kernel(types.float64(Implicit.type, types.int64, types.float64), name, effort=2)
    def take_part(implicit, part, h):
        """One of the PARTS of a step of length h, under the forces body.force and wrenches; the step's end is that of
        the last. Returns the smallest D; if that is not positive, the step cannot be taken."""
        step = implicit.body.step
        if part == FIRST:
            for j in range(step.model.nv):
                implicit.x1[j], implicit.v1[j] = step.x[j], step.v[j]
        if part != SECOND:
            place_stage(step, 0, h)
        if part == WHOLE:
            begin_step(implicit)
        D = move_part(implicit, h if part == WHOLE else 0.5 * h)
        if part == SECOND:
            extrapolate(implicit)
        return D

    return take_part


take_part = parts_by(aba, aba_scratch, "parts of an implicit step")
take_part_with_loops = parts_by(loop_joints, front_scratch, "parts of an implicit step with loops")


class ImplicitRoom(StepRoom):
    """The memory of a linearly implicit step of a model under a law, whose rows may be changed between parts."""

    def __init__(self, model: Model, law: Floats) -> None:
        super().__init__(model, RK4)
        self.force, self.off, self._law = np.zeros(model.nv), np.zeros(model.nv), law.reshape(-1)
        self._wrenches = np.zeros((model.n_bodies, 6))
        self.implicit: Held = Implicit.of(
            body=self._body(model), wrenches=self._wrenches, off=self.off,
            **{name: np.zeros(len(law)) for name in ("begun", "pieces", "through")},
            **{name: np.zeros(model.nv) for name in ("end", "x1", "v1")},
        )  # fmt: skip
        self._part: Kernel = take_part if model.is_tree else take_part_with_loops

    def _algorithm(self, model: Model) -> Algorithm:
        """By which parts are taken."""
        return ABA if model.is_tree else WITH_ARMATURES

    def _body(self, model: Model) -> Held:
        call = HostWork(self._algorithm(model), model).call
        traits = DofTraits.zeros(model.nv)
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
        return bool(self._part.load()(self.implicit.address, part, h) > 0.0)
