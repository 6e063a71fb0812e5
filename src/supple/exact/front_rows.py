"""The state of a mechanism before its forces: bodies, axes of the joints of the spanning tree, rows of those cut.

A loop joint in the spanning tree moves along what its rows leave. A joint of the model's tree that is cut has rows
perpendicular to its axes, and one for each armature.
"""

from __future__ import annotations

import math

from supple.exact.aba import BODY_LINES, SHAPE_LINES, without_joint
from supple.exact.closure import FORBIDDEN, find_relations, find_rows, frame_at, hold_world, widest_gap
from supple.exact.fronts import AHEAD, CACHED, NODE_LINES
from supple.exact.jacobians import axis_along
from supple.exact.motion import joint_of, turn_ahead, world_at_rest, zero_vec
from supple.exact.row_scales import RANK, least_remainder
from supple.model.joint_poses import DOF, SCREW, UNIVERSAL
from supple.model.joints import DIRECTIONS, KINDS, JointType
from supple.spatial.algebra import Force, Motion, Vec3, cross, shift_motion, x_axis, y_axis, z_axis
from supple.spatial.compiler import helper
from supple.spatial.cpu import fetch

#: By type: the directions that a joint allows, numbered as in FORBIDDEN.
ALLOWED = tuple(
    tuple(DIRECTIONS.index(name) for name in sorted(KINDS[JointType(t)].allowed.split(), key=DIRECTIONS.index))
    + (-1,) * (6 - len(KINDS[JointType(t)].allowed.split()))
    for t in range(len(JointType))
)


@helper
def prepare_state(m, state, mech, work):
    """Bodies, rows and axes."""
    place_bodies(m, state, mech, work)
    find_rows(mech.loops)
    find_relations(mech.loops, state.q, state.v)
    find_axes(m, mech, work)


@helper
def tell_rows(mech, share):
    """What remains of a row for it not to depend on others: what the gap explains, or a share of that."""
    mech.least = max(RANK, share * least_remainder(widest_gap(mech.loops)))


@helper
def place_bodies(m, state, mech, work):
    """The first pass of aba.py, for nodes; also the motions of bodies at the ends of loops."""
    path, loops = work.path, mech.loops
    path[0].zeta = world_at_rest(m, state.q[0], path[0])
    path[0].X = zero_vec(state.q[0])
    hold_world(loops, path[0].zeta)
    done, far = 0, mech.n_nodes > CACHED
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        if far and b + AHEAD < m.n:
            fetch(m.shapes, b + AHEAD, SHAPE_LINES)
            fetch(work.bodies, b + AHEAD, BODY_LINES)
            fetch(mech.nodes, mech.node_of[b + AHEAD], NODE_LINES)
        done = turn_ahead(m, state.q, work.S, done, b)
        R, I = without_joint(m, b, state, work)
        X = path[p].X + work.bodies[b].r
        path[i].X = X
        node = mech.nodes[mech.node_of[b]]
        node.I, node.f, node.P = I, work.bodies[b].p, X
        if loops.captured[b] >= 0:
            end = loops.motions[loops.captured[b]]
            end.R, end.P, end.V, end.zeta = R, X, path[i].V, path[i].zeta


@helper
def find_axes(m, mech, work):
    """s of every degree of freedom, and the rows of cut joints."""
    for a in range(mech.n_nodes):
        node = mech.nodes[a]
        if node.body < 0:
            continue
        if node.is_loop:
            loop_axes(mech, node)
            continue
        b = node.joint
        kind, j = m.bodies[b].kind, m.bodies[b].iv
        shift = node.P - mech.nodes[mech.node_of[b]].P
        for k in range(DOF[kind]):
            dof = mech.dofs[node.dof + k]
            dof.s = shift_motion(shift, tree_axis(kind, j + k, b, work)) * node.sign
            dof.armature = m.dofs[j + k].armature
    for i in range(mech.n_cuts):
        cut_rows(m, mech.cuts[i], mech, work)


@helper
def tree_axis(kind, k, b, work):
    """The axis of a degree of freedom of the model, about the origin of its body."""
    return axis_along(kind, work.bodies[b].z, work.S, k)


@helper
def loop_axes(mech, node):
    """s of a loop joint: what its rows leave."""
    loop = mech.loops.loops[node.joint]
    A, B = frame_at(mech.loops, loop.ends[0]), frame_at(mech.loops, loop.ends[1])
    o, shift = Vec3(0.0, 0.0, 0.0), node.P - B.P
    for i in range(DOF[loop.kind]):
        k = ALLOWED[loop.kind][i]
        turns = x_axis(B.R) if k == 0 else (y_axis(B.R) if k == 1 else z_axis(B.R))
        slides = x_axis(A.R) if k == 3 else (y_axis(A.R) if k == 4 else z_axis(A.R))
        if loop.kind == UNIVERSAL and k == 0:
            turns = x_axis(A.R)
        s = Motion(turns, o) if k < 3 else Motion(o, slides)
        if loop.kind == SCREW:
            s = Motion(turns, z_axis(A.R) * loop.pitch)
        mech.dofs[node.dof + i].s = shift_motion(shift, s) * node.sign


@helper
def cut_rows(m, cut, mech, work):
    """The rows of a joint of the model's tree that is cut; those of its armatures last."""
    b = cut.body
    kind, j, P = m.bodies[b].kind, m.bodies[b].iv, mech.nodes[cut.node].P
    o, z, r = Vec3(0.0, 0.0, 0.0), work.bodies[b].z, cut.row
    # two directions perpendicular to z; any will do
    x = Vec3(0.0, z.z, -z.y) if abs(z.x) < 0.5 else Vec3(-z.z, 0.0, z.x)
    if kind == UNIVERSAL:
        x = work.S.axes[j].s.ang
        z = work.S.axes[j + 1].s.ang
    x = x * (1.0 / math.sqrt(x.x * x.x + x.y * x.y + x.z * x.z))
    y = cross(z, x)
    for i in range(6 - DOF[kind]):
        k = FORBIDDEN[kind][i] % 3
        e = x if k == 0 else (y if k == 1 else z)
        f = Force(e, o) if FORBIDDEN[kind][i] < 3 else Force(o, e)
        if kind == SCREW and FORBIDDEN[kind][i] == 5:
            f = Force(z * -m.shapes[b].pitch, z)
        set_row(mech, r, f, P)
        r += 1
    if cut.is_soft:
        for k in range(j, j + DOF[kind]):
            armature = m.dofs[k].armature
            mech.soft[r] = 1.0 / armature if armature > 0.0 else -1.0
            set_row(mech, r, dual(tree_axis(kind, k, b, work)) * (1.0 if armature > 0.0 else 0.0), P)
            r += 1


@helper
def set_row(mech, r, f, P):
    row = mech.loops.rows[r]
    row.f, row.P, row.phi, row.rate, row.g = f, P, 0.0, 0.0, 0.0


@helper
def dual(s):
    """The force along an axis whose product with the motion s q is q; the axes of a joint are perpendicular."""
    square = s.ang.x * s.ang.x + s.ang.y * s.ang.y + s.ang.z * s.ang.z
    square += s.lin.x * s.lin.x + s.lin.y * s.lin.y + s.lin.z * s.lin.z
    return Force(s.ang, s.lin) * (1.0 / square)
