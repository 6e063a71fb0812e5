"""Compiled steps of bodies with loops: the stages of stages.py along fronts, and the projection at the end of a step.

Stages are a little beside the positions in which loops are closed. Rows that are redundant there are not here: the
acceleration of such a stage is that of the nearest state with closed loops.
"""

from __future__ import annotations

from numba import types

from supple.exact.call_kernels import no_wrenches
from supple.exact.motion import CallState
from supple.exact.with_loops import front_scratch, loop_joints
from supple.integrating.joint_law import add_law
from supple.integrating.projecting import CLOSED, Projection, project_kernel
from supple.integrating.stages import UnderForces, place_stage, rate_stage, slope_of
from supple.spatial.addresses import from_entry
from supple.spatial.compiler import helper, kernel


@helper
def accelerate_at(body, q, v, out, work):
    """The accelerations at a state, under the forces of the joints. Returns the smallest D."""
    m = body.aba.model
    for j in range(m.nv):
        body.tau[j] = body.force[j]
    add_law(body.law, body.law_size, q, v, body.tau)
    return loop_joints(m, CallState(q, v, body.tau, False, no_wrenches()), out, work)


@helper
def close_stage(step, projection):
    """The state nearest to that of a stage in which loops are closed, in the memory of the projection. Returns whether
    there is one."""
    m = step.model
    for i in range(m.nq):
        projection.q[i] = step.q[i]
    for j in range(m.nv):
        projection.v[j] = step.v[j]
    return project_kernel(projection) == CLOSED


@kernel(
    types.float64(UnderForces.type, Projection.type, types.int64, types.float64),
    "stages of a step with loops",
    effort=2,
)
def take_closed_stages(body, projection, end, h):
    """The first `end` stages of a step of length h. Returns the smallest D: not positive if it cannot be taken."""
    step, call = body.step, body.aba
    m, work, smallest = call.model, front_scratch(call), 1.0e300
    for s in range(end):
        place_stage(step, s, h)
        rate_stage(step, s)
        out = from_entry(slope_of(step, s), m.nv)
        D = accelerate_at(body, step.q, step.v, out, work)
        if D > 0.0 and work.hubs[0].redundant > 0:
            if not close_stage(step, projection):
                return 0.0
            D = accelerate_at(body, projection.q, projection.v, out, work)
        if not D > 0.0:
            return D
        smallest = min(smallest, D)
    return smallest


@kernel(types.int64(UnderForces.type, Projection.type), "end of a step with loops")
def close_step(body, projection):
    """Close the loops at the end of a step. Returns 1 if they could be."""
    step = body.step
    m = step.model
    if not close_stage(step, projection):
        return 0
    for i in range(m.nq):
        step.q[i] = projection.q[i]
    for j in range(m.nv):
        step.v[j] = projection.v[j]
    return 1
