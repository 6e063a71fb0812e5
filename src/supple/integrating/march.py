"""Many steps in one compiled call: a fixed-step integrator around the articulated-body algorithm, of trees or with
loops.

The forces act at the joints: a constant vector, and a law (joint_law.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.exact.aba import ABA
from supple.exact.call_kernels import NOT_FINITE, SINGULAR, STATE_SHIFT, finite
from supple.exact.with_loops import WITH_LOOPS
from supple.integrating.chart import move_into
from supple.integrating.closed_stages import close_step, take_closed_stages
from supple.integrating.closing import projector
from supple.integrating.divergence import WEIGHT, Growth, Steadiness, change_into, note_step
from supple.integrating.friction import friction_jumps, friction_rows
from supple.integrating.implicit import PARTS, Implicit, ImplicitRoom, take_part, take_part_with_loops
from supple.integrating.projecting import Projection
from supple.integrating.runge_kutta import RK4 as RK4_METHOD
from supple.integrating.stages import StepRoom, UnderForces, place_stage, slope_of, take_stages
from supple.model.model import Model
from supple.spatial import fields
from supple.spatial.compiler import Kernel, helper, kernel
from supple.spatial.cpu import OK
from supple.spatial.fields import Integer, Number
from supple.spatial.held import Held
from supple.spatial.pointing import Pointing
from supple.spatial.structs import Link, Struct

Floats = NDArray[np.float64]

EULER, SEMI_IMPLICIT, RK4, IMPLICIT = range(4)
FIXED_STEP = {"euler": EULER, "semi-implicit": SEMI_IMPLICIT, "rk4": RK4, "implicit": IMPLICIT}
RK4_STAGES = RK4_METHOD.stages
DIVERGED, OPENED = 5, 6  #: statuses, beside those of exact/calls.py


class Marching(Struct):
    """Steps of one length; the current state is the beginning of `body.step`."""

    body = Link(UnderForces)
    implicit = Link(Implicit)  # of the implicit integrator, and of steps in which friction jumps [friction.py]
    projection = Link(Projection)  # of bodies with loops
    rubs = Integer()  # whether there is friction
    growth = Link(Growth)
    jumped = Integer()  # whether it did in the last step
    before = fields.Floats()  # (nv,) velocities of a stage
    off = fields.Floats()  # (nv,) of the last step [divergence.py]
    integrator = Integer()
    dt = Number()


@helper
def tree_stages(march, count):
    return take_stages(march.body, 0, count, march.dt)


@helper
def closed_stages(march, count):
    return take_closed_stages(march.body, march.projection, count, march.dt)


@helper
def nothing_to_close(march):
    return True


@helper
def close_loops(march):
    return close_step(march.body, march.projection) == 1


@helper
def friction_jumped(march, step):
    """Whether friction jumps between the velocities of an explicit step: of its stages, and at its end."""
    nv, stages = step.model.nv, RK4_STAGES if march.integrator == RK4 else 1
    before, after = march.before, march.off
    for j in range(nv):
        before[j] = step.v0[j]
    for s in range(1, stages + 1):
        for j in range(nv):
            after[j] = step.v[j] if s == stages else step.v0[j]
        if s < stages:
            for r in range(s):
                a, k = march.dt * step.A[step.rows * s + r], slope_of(step, r)
                for j in range(nv):
                    after[j] += a * k[nv + j]
        if friction_jumps(march.body.law, march.body.law_size, before, after):
            return True
        for j in range(nv):
            before[j] = after[j]
    return False


@helper
def end_explicit(march, step):
    """The state at the end of an explicit step, to step.q and step.v."""
    m, dt = step.model, march.dt
    if march.integrator == RK4:
        place_stage(step, RK4_STAGES, dt)
        return
    a = slope_of(step, 0)
    for j in range(m.nv):
        step.v[j] = step.v0[j] + dt * a[m.nv + j]
    move_into(m, step.q0, step.v if march.integrator == SEMI_IMPLICIT else step.v0, dt, step.q)


@helper
def diverges(march, step):
    """Whether the steps diverge, the last one included."""
    nv, off = step.model.nv, march.off
    if march.integrator == IMPLICIT or march.jumped:
        for j in range(nv):
            off[j] = WEIGHT * march.implicit.off[j]
    elif march.integrator == RK4:
        first, last = slope_of(step, 0), slope_of(step, RK4_STAGES - 1)
        for j in range(nv):
            off[j] = march.dt * (last[nv + j] - first[nv + j])
    else:
        change_into(march.growth, step.v0, step.v, off)
    return note_step(march.growth, step.q0, step.v0, step.v, off)


_matrix, _int = types.float64[:, ::1], types.int64


def march_by(stages: Any, part: Any, close: Any, name: str) -> Kernel:
    """The kernel that takes steps, of trees or with loops: by explicit stages, by implicit parts, and by what closes
    loops at the end of a step."""

    @helper
    def take_parts(march):
        """An implicit step."""
        smallest = 1.0e300
        for k in range(PARTS):
            D = part(march.implicit, k, march.dt)
            if not D > 0.0:
                return D
            smallest = min(smallest, D)
        return smallest

    @helper
    def take_step(march):
        """Take a step; its end is in step.q and step.v. Returns the smallest D: the step cannot be taken if that is not
        positive."""
        if march.integrator == IMPLICIT:
            return take_parts(march)
        D = stages(march, RK4_STAGES if march.integrator == RK4 else 1)
        if not D > 0.0:
            return D
        end_explicit(march, march.body.step)
        march.jumped = march.rubs > 0 and friction_jumped(march, march.body.step)
        return take_parts(march) if march.jumped else D

    @kernel(_int(Marching.type, _int, _int, _matrix, _matrix), name)
    def march_kernel(march, steps, every, kept_q, kept_v):
        """Take steps. After each `every` of them, the state goes to a row of kept_q, kept_v.

        Returns OK; or a status and the index of the step that failed: the current state is then what it was before it.
        """
        step = march.body.step
        m = step.model
        for i in range(steps):
            if not take_step(march) > 0.0:
                return SINGULAR + (i << STATE_SHIFT)
            if not (finite(step.q, m.nq) and finite(step.v, m.nv)):
                return NOT_FINITE + (i << STATE_SHIFT)
            if not close(march):
                return OPENED + (i << STATE_SHIFT)
            if diverges(march, step):
                march.growth.rough -= 1  # this step is not taken
                return DIVERGED + (i << STATE_SHIFT)
            for k in range(m.nq):
                step.q0[k] = step.q[k]
            for j in range(m.nv):
                step.v0[j] = step.v[j]
            if (i + 1) % every == 0:
                row = (i + 1) // every - 1
                for k in range(m.nq):
                    kept_q[row, k] = step.q[k]
                for j in range(m.nv):
                    kept_v[row, j] = step.v[j]
        return OK

    return march_kernel


march_tree = march_by(tree_stages, take_part, nothing_to_close, "steps")
march_with_loops = march_by(closed_stages, take_part_with_loops, close_loops, "steps with loops")


class March(Pointing):
    """Steps of one size for a model with forces at its joints."""

    _pointers = ("_room", "_marching", "_run", "_project")

    def __init__(self, model: Model, integrator: str, dt: float, force: Floats, law: Floats) -> None:
        self._model, self._dt = model, dt
        self._code = FIXED_STEP[integrator]
        self._force, self._law = force, law
        self.steadiness = Steadiness(model, dt)
        self._point()

    def _point(self) -> None:
        model, implicit = self._model, self._code == IMPLICIT
        more: dict[str, Any] = {}
        rubs = not implicit and len(friction_rows(self._law)) > 0
        if not model.is_tree:
            self._project = projector(model)
            more["projection"] = self._project.memory
        if implicit or rubs:
            self._room: StepRoom = ImplicitRoom(model, self._law)
            self._room.force[:] = self._force
            body, more["implicit"] = self._room.implicit.body, self._room.implicit
        else:
            self._room = StepRoom(model, RK4_METHOD)
        if not implicit:
            call = (ABA if model.is_tree else WITH_LOOPS).work(model).call
            body = UnderForces.of(
                step=self._room.struct, aba=call, force=self._force, law=self._law.reshape(-1),
                law_size=self._law.size, tau=np.zeros(model.nv),
            )  # fmt: skip
        self._marching: Held = Marching.of(
            body=body, growth=self.steadiness.growth, before=np.zeros(model.nv), off=np.zeros(model.nv),
            integrator=self._code, rubs=rubs, dt=self._dt, **more,
        )  # fmt: skip
        self._run = (march_tree if model.is_tree else march_with_loops).load()

    def run(self, q: Floats, v: Floats, rows: int, every: int) -> tuple[Floats, Floats, int]:
        """`rows` rows, `every` steps apart; q and v are moved to the last. The third return value is the number of
        steps taken: fewer than requested if one failed, or if they diverge, q and v then being what they were before
        it."""
        kept_q, kept_v = np.empty((rows, self._model.nq)), np.empty((rows, self._model.nv))
        room, steps = self._room, rows * every
        room.begin(q, v)
        status = self._run(self._marching.address, steps, every, kept_q, kept_v)
        q[:], v[:] = room.q0, room.v0
        return kept_q, kept_v, steps if status == OK else int(status) >> STATE_SHIFT
