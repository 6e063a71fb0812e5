"""The dynamics of the hybrid body: the multilevel forward dynamics algorithm [AD section 4.3]. The cost of a step is
proportional to the number of active joints and of forces.

AD runs divide and conquer over the hybrid nodes. A hybrid body is an articulated body whose rigid bodies are the pieces
of the rigid front, so the articulated-body algorithm can be used as well, at a third of the cost.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.hybrid_rows import factor_rows, hold_rows, note_end
from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced_tree import Reduced, open_reduced
from supple.assembly.joints import identity
from supple.assembly.poses import pose_at, set_pose
from supple.exact.aba import accelerate_joints, eliminate_joints
from supple.exact.closure import hold_world
from supple.exact.motion import joint_of, move, turn_ahead, world_at_rest
from supple.exact.rnea import rigid_force
from supple.integrating.joint_law import LAW, law_among, law_force
from supple.integrating.push_law import END, SPRING, end_parts, place_of, push_parts, velocity_of
from supple.model.joint_poses import DOF
from supple.spatial.algebra import (
    Force,
    RigidInertia,
    Vec3,
    cross,
    matrix,
    product_sym,
    shift_motion,
    transpose,
    z_axis,
)
from supple.spatial.compiler import helper, kernel

_int = types.int64


@helper
def zero():
    return Vec3(0.0, 0.0, 0.0)


@helper
def at_rest(m):
    """The same tree without gravity."""
    return Reduced(m.n, m.n_angles, m.bodies, m.shapes, m.dofs, zero(), m.angles)


@helper
def turn_rigid(R, Y):
    """A rigid inertia in axes relative to which its own frame has rotation R."""
    return RigidInertia(Y.m, R @ Y.h, product_sym(R @ matrix(Y.I), transpose(R)))


@helper
def push_on(hybrid, rb, R, X, V):
    """The force on a reduced body, except that of springs between two bodies; the part not due to springs; and the
    part due to the springs' dampers."""
    total, given, drags = Force(zero(), zero()), Force(zero(), zero()), Force(zero(), zero())
    for x in range(hybrid.push_start[rb], hybrid.push_start[rb + 1]):
        push = hybrid.reduced_pushes[x]
        steady, drag = push_parts(push, R, X, V)
        total, drags = total + steady + drag, drags + drag
        if push.kind != SPRING:
            given = given + steady
    return total, given, drags


@helper
def end_state(hybrid, end):
    """The place of an end of a spring between two bodies, and its velocity, as recorded."""
    R, X = pose_at(hybrid.world, end.body)
    return place_of(end, R, X), velocity_of(end, R, hybrid.pushed[end.body].now)


@helper
def end_way(hybrid, end):
    """The way from an end to the other one, and its rate of change."""
    x, u = end_state(hybrid, end)
    c, w = end_state(hybrid, hybrid.reduced_pushes[end.other])
    return c - x, w - u


@helper
def pull_ends(hybrid, bodies, weight):
    """Add the forces of springs between two bodies, from recorded poses and velocities, to those on the reduced bodies,
    and a share of the dampers' to their sums."""
    if hybrid.n_ends == 0:
        return
    for k in range(hybrid.n_pushes):
        end = hybrid.reduced_pushes[k]
        if end.kind == END and end.body > 0:
            R, _ = pose_at(hybrid.world, end.body)
            way, rate = end_way(hybrid, end)
            pull, drag = end_parts(end, way, rate)
            p, f, row = R @ end.point, pull + drag, hybrid.pushed[end.body]
            bodies[end.body - 1].p = bodies[end.body - 1].p - Force(cross(p, f), f)
            row.drag = row.drag + Force(cross(p, drag), drag) * weight


@helper
def is_pushed(hybrid, b):
    """Whether something pushes row b's body."""
    return hybrid.push_start[b + 2] > hybrid.push_start[b + 1]


@kernel(
    types.float64(HybridBody.type, types.int64, types.int64, types.int64),
    "hybrid body without joints",
    effort=2,
    nogil=True,
)
def without_joints(hybrid, moving, pushed, note):
    """The motion of the bodies with zero joint accelerations, as in exact/aba.py, but with inertias that are not split.
    moving: include their velocities and gravity; pushed: include the forces on them; note: record poses, motions and
    the kinetic energy."""
    m, x = open_reduced(hybrid)
    v = x.v if moving else x.zeros
    if not moving:
        m = at_rest(m)
    path, bodies, S = x.work.path, x.work.bodies, x.work.S
    path[0].zeta = world_at_rest(m, 0.0, path[0])
    path[0].X = zero()
    set_pose(hybrid.world, 0, identity(), zero())
    if note:
        world = hybrid.moves[0]
        world.w, world.dw, world.a, world.v = zero(), zero(), m.gravity * -1.0, zero()
    if hybrid.n_loop_rows > 0:
        hold_world(hybrid.closing.loops, path[0].zeta)
    done, kinetic = 0, 0.0
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        done = turn_ahead(m, x.q, S, done, b)
        R, r, V, c = move(m, b, path[p].R, path[p].V, x.q, v, S)
        Y = m.shapes[b].I
        zeta = shift_motion(r, path[p].zeta) + c
        X = path[p].X + r
        Y = turn_rigid(R, Y)
        f = rigid_force(Y, V.ang, zeta.ang, zeta.lin + cross(V.ang, V.lin))  # [RBDA 7.37]
        if pushed and is_pushed(hybrid, b):
            push, given, drag = push_on(hybrid, b + 1, R, X, V)
            f = f - push
            row = hybrid.pushed[b + 1]
            row.now, row.V, row.given, row.drag = V, V, given, drag
            set_pose(hybrid.world, b + 1, R, X)
        path[i].R = R
        path[i].V = V
        path[i].zeta = zeta
        path[i].X = X
        bodies[b].r = r
        bodies[b].z = z_axis(R)
        bodies[b].p = f
        bodies[b].I = Y
        if hybrid.n_loop_rows > 0:
            note_end(hybrid.closing.loops, b, R, X, V, zeta)
        if note:
            kinetic += 0.5 * (V @ (Y @ V))
            for k in range(j, j + DOF[kind]):
                kinetic += 0.5 * m.dofs[k].armature * v[k] * v[k]
            set_pose(hybrid.world, b + 1, R, X)
            frame = hybrid.moves[b + 1]
            frame.w, frame.dw, frame.v = V.ang @ R, zeta.ang @ R, V.lin @ R
            frame.a = (zeta.lin + cross(V.ang, V.lin)) @ R
    if note:
        hybrid.kinetic = kinetic
    if pushed:
        pull_ends(hybrid, bodies, 1.0)
    return 0.0


@helper
def first_law(hybrid, j):
    """1 + the first row of the law of degree of freedom j; 0 if it has none."""
    return hybrid.controlled[j] if hybrid.n_rows > 0 else 0


@helper
def own_force(hybrid, x, j, v):
    """The force of degree of freedom j's own joint: its actuator, controllers and limits."""
    f, row = hybrid.controls[j], first_law(hybrid, j)
    while row > 0:
        law = law_among(hybrid.controls, x.nv + LAW * (row - 1))
        f += law_force(law, x.q[int(law.coordinate)], v)
        row = hybrid.controlled[x.nv + row - 1]
    return f


@helper
def drive_joints(m, hybrid, x, v):
    """The forces of all active joints, at velocities v."""
    for b in range(m.n):
        iv, k = m.bodies[b].iv, DOF[m.bodies[b].kind]
        for j in range(iv, iv + k):
            x.drive[j] = own_force(hybrid, x, j, v[j])


@kernel(types.float64(HybridBody.type, types.int64), "hybrid body, joints", effort=2, nogil=True)
def joint_passes(hybrid, moving):
    """The pass of exact/aba.py that eliminates joints. moving: under their forces; otherwise under their momenta,
    followed by the outward pass, which gives velocities, with rows of loops as their g says. Returns the smallest
    pivot."""
    m, x = open_reduced(hybrid)
    if moving:
        return eliminate_joints(m, x.v, x.drive, x.work)
    smallest = eliminate_joints(m, x.zeros, x.momentum, x.work)
    if hybrid.n_loop_rows > 0:
        factor_rows(hybrid)
        hold_rows(hybrid)
    accelerate_joints(m, x.zeros, x.qdd, x.work)
    return smallest
