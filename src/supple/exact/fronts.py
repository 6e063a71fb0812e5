"""Dynamics of mechanisms with loops, in time proportional to their size where loops are short.

The articulated-body algorithm (aba.py) along a spanning tree [spanning.py], with the rows of cut joints carried along:
a front has, besides the articulated inertia IA and bias force pA of a node, the forces K that unit forces along the
rows exert on it and the accelerations F^T F along rows that such forces cause below it,

    force on the node = IA A + pA - K x        K^T A + F^T F x = b

for the acceleration A of the node and forces x along the rows. To pass a degree of freedom with axis s:

    U = IA s    d = 1 / (s.U + armature)    u = tau - s.pA    y = K^T s
    IA - U d U^T,   pA + U d u,   K - U d y^T,   F with the row sqrt(d) y^T,   b - y d u

Rows both of whose ends are below a node are closed. Only six combinations of them exert a force on it; the others have
K = 0, and F^T F x = b gives their forces in terms of the rest: they are eliminated, by orthogonal transformations of F
[row_elimination.py]. Nothing is subtracted from F^T F or added to IA, so nothing cancels. Where rows depend on each
other, the smallest forces of those eliminated together are taken. A base is the world, which has no acceleration:
there all closed rows are eliminated.

Cut joints of the model's own tree are rows, too, and their armatures are a compliance along a row. A loop joint in
the spanning tree adds c to the accelerations, the particular solution of K c = g [closure.py].
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.errors import SingularError
from supple.exact.aba import ROWS, joint_force, without_joint
from supple.exact.call_kernels import scratch_opener
from supple.exact.calls import TAU, WRENCHES, Algorithm, HostWork, Q, V
from supple.exact.closure import FORBIDDEN, along, find_relations, find_rows, frame_at, hold_world, widest_gap
from supple.exact.front_builder import mechanism, n_rows
from supple.exact.front_tables import Mechanism
from supple.exact.motion import joint_of, turn_ahead, world_at_rest, zero_vec
from supple.exact.row_elimination import (
    RANK,
    apply_scale,
    eliminate_numbers,
    eliminate_rows,
    find_forces,
    force_at,
    gives_way,
    least_remainder,
    rotate_closed,
    rotate_numbers,
    scale_closed,
    scale_numbers,
    triangular,
)
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE, SCREW, UNIVERSAL
from supple.model.joints import DIRECTIONS, KINDS, JointType
from supple.model.model import Model
from supple.spatial.algebra import (
    Force,
    Motion,
    Vec3,
    articulated,
    cross,
    outer_inertia,
    shift_force,
    shift_inertia,
    shift_motion,
    x_axis,
    y_axis,
    z_axis,
)
from supple.spatial.compiler import helper, kernel

Floats = NDArray[np.float64]

#: By type: the directions that a joint allows, numbered as in FORBIDDEN.
ALLOWED = tuple(
    tuple(DIRECTIONS.index(name) for name in sorted(KINDS[JointType(t)].allowed.split(), key=DIRECTIONS.index))
    + (-1,) * (6 - len(KINDS[JointType(t)].allowed.split()))
    for t in range(len(JointType))
)


@helper
def loop_joints(m, state, out, work):
    """qdd and, if there is room for them, the forces along rows. Returns the smallest D."""
    mech = work.hubs[0]
    smallest = factor_state(m, state, mech, work)
    load_forces(m, state, mech, work)
    solve_fronts(mech)
    collect(m, mech, out, work)
    if work.n_out > m.nv:
        collect_forces(m, mech, out)
    return smallest


@helper
def factor_state(m, state, mech, work):
    """Everything that does not depend on forces. Returns the smallest D."""
    prepare_state(m, state, mech, work)
    tell_rows(mech, 1.0)
    return factor_fronts(mech)


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


# --- the state --------------------------------------------------------------------------------------------------------


@helper
def place_bodies(m, state, mech, work):
    """The first pass of aba.py, for nodes; also the motions of bodies at the ends of loops."""
    path, loops = work.path, mech.loops
    path[0].zeta = world_at_rest(m, state.q[0], path[0])
    path[0].X = zero_vec(state.q[0])
    hold_world(loops, path[0].zeta)
    done = 0
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, state.q, work.S, done, b)
        R, I = without_joint(m, b, state, work)
        X = path[p].X + work.bodies[b].r
        path[i].X = X
        node = mech.nodes[mech.node_of[b]]
        node.I, node.IA, node.f, node.P = I, articulated(I), work.bodies[b].p, X
        if loops.captured[b] >= 0:
            end = loops.motions[loops.captured[b]]
            end.R, end.P, end.V, end.zeta = R, X, path[i].V, path[i].zeta


@helper
def find_axes(m, mech, work):
    """s of every degree of freedom, r of every node, and the rows of cut joints."""
    for a in range(mech.n_bases, mech.n_nodes):
        node = mech.nodes[a]
        up = mech.nodes[node.parent]
        node.r = node.P - up.P if up.body >= 0 else node.P
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
    o, z = Vec3(0.0, 0.0, 0.0), work.bodies[b].z
    if kind == REVOLUTE:
        s = Motion(z, o)
    elif kind == PRISMATIC:
        s = Motion(o, z)
    else:
        s = work.S.axes[k].s
    return s


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


# --- the matrices -----------------------------------------------------------------------------------------------------


@helper
def set_force(K, i, f):
    K[i], K[i + 1], K[i + 2] = f.ang.x, f.ang.y, f.ang.z
    K[i + 3], K[i + 4], K[i + 5] = f.lin.x, f.lin.y, f.lin.z


@kernel(types.float64(Mechanism.type), "factors of fronts", effort=2)
def factor_fronts(mech):
    """IA, U, d, K, Y and F from the leaves to the bases. Returns the smallest D."""
    for i in range(mech.n_fronts):
        mech.fronts[i].n_F = mech.fronts[i].rank = mech.fronts[i].has_begun = 0
    for i in range(mech.n_all_rows):
        mech.gives[i] = 0.0
    mech.redundant = 0
    smallest = np.inf
    for a in range(mech.n_nodes - 1, -1, -1):
        node = mech.nodes[a]
        if node.is_new:
            begin_front(node, mech)
        if node.body < 0:
            if has_rows_above(node, mech):
                leave_node(node, mech.nodes[node.parent], mech)
            continue
        IA = node.IA
        for k in range(node.dof + node.n_dofs - 1, node.dof - 1, -1):
            dof = mech.dofs[k]
            U = IA @ dof.s
            D = dof.s @ U + dof.armature
            dof.U, dof.d = U, 1.0 / D
            smallest = min(smallest, D) if D == D else -1.0
            IA = IA - outer_inertia(U, dof.d)
            if node.front >= 0:
                pass_rows(node, k, mech)
        up = mech.nodes[node.parent]
        if up.body >= 0:
            up.IA = up.IA + shift_inertia(node.r, IA)
        if has_rows_above(node, mech):
            leave_node(node, up, mech)
    return smallest


@helper
def has_rows_above(node, mech):
    """Whether rows go on from a node to its parent."""
    return node.front >= 0 and mech.fronts[node.front].n_open + mech.fronts[node.front].n_kept > 0


@helper
def clear(front, mech):
    """No rows have arrived yet."""
    front.has_begun = 1
    for j in range(6 * front.n):
        mech.K[front.K + j] = 0.0


@helper
def begin_front(node, mech):
    """Add the rows that enter at a node to those of its children, and eliminate closed ones."""
    front, loops = mech.fronts[node.front], mech.loops
    if not front.has_begun:
        clear(front, mech)
    for e in range(node.end, node.end + node.n_ends):
        end = mech.ends[e]
        for i in range(end.n_rows):
            row, at = loops.rows[end.row + i], front.K + 6 * (end.at + i)
            f = shift_force(row.P - node.P, row.f)
            set_force(mech.K, at, force_at(mech.K, at) + f * end.sign)
            if node.body >= 0:
                mech.gives[end.row + i] += gives_way(node.IA, f)
            if end.owns and mech.soft[end.row + i] != 0.0:
                mech.F[append_zeros(front, mech) + (end.at + i) * front.stride] = math.sqrt(abs(mech.soft[end.row + i]))
    if front.n > front.n_open + front.n_kept:
        scale_closed(front, node, mech)
        if not front.is_base:
            apply_scale(front, mech)
            rotate_closed(front, mech)
        eliminate_rows(front, mech)


@helper
def append(front, mech):
    """A new row of F: where it begins. Its numbers are not set."""
    if front.n_F == front.stride:  # only after rows have been eliminated: there is room for all that come before
        at, m = front.F + front.rank, front.n_open + front.n_kept
        front.n_F = front.rank + triangular(mech.F, at, front.stride, m, front.n_F - front.rank, mech.room)
    front.n_F += 1
    return front.F + front.n_F - 1


@helper
def append_zeros(front, mech):
    """A new row of F, of zeros."""
    at = append(front, mech)
    for c in range(front.n):
        mech.F[at + c * front.stride] = 0.0
    return at


@helper
def pass_rows(node, k, mech):
    """Pass the rows of a node through a degree of freedom."""
    front, dof, K, Y = mech.fronts[node.front], mech.dofs[k], mech.K, mech.Y
    m = front.n_open + front.n_kept
    for r in range(m):
        Y[dof.y + r] = dof.s @ force_at(K, front.K + 6 * r)
    for e in range(node.direct, node.direct + node.n_directs):
        if mech.directs[e].dof == k:
            Y[dof.y + mech.directs[e].at] += mech.directs[e].factor
    new, root = append(front, mech), math.sqrt(max(dof.d, 0.0))
    for r in range(m):
        y, at = Y[dof.y + r], front.K + 6 * r
        set_force(K, at, force_at(K, at) - dof.U * (y * dof.d))
        mech.F[new + r * front.stride] = root * y


@helper
def leave_node(node, up, mech):
    """Pass the rows of a node on to its parent."""
    front, K = mech.fronts[node.front], mech.K
    m = front.n_open + front.n_kept
    if up.front == node.front:
        for r in range(m):
            at = front.K + 6 * r
            set_force(K, at, shift_force(node.r, force_at(K, at)))
        return
    to = mech.fronts[up.front]
    if not to.has_begun:
        clear(to, mech)
    for r in range(m):
        at = to.K + 6 * mech.to[front.to + r]
        set_force(K, at, force_at(K, at) + shift_force(node.r, force_at(K, front.K + 6 * r)))
    rows = front.n_F - front.rank
    if rows > m:
        rows = triangular(mech.F, front.F + front.rank, front.stride, m, rows, mech.room)
    for i in range(rows):
        new = append_zeros(to, mech)
        for r in range(m):
            mech.F[new + mech.to[front.to + r] * to.stride] = mech.F[front.F + r * front.stride + front.rank + i]


# --- right-hand sides and solutions -----------------------------------------------------------------------------------


@helper
def load_forces(m, state, mech, work):
    """Forces of joints; those of cut joints act on the two bodies."""
    for k in range(mech.n_dofs):
        j = mech.dofs[k].iv
        mech.dofs[k].tau = joint_force(m, state.known, state.v, j) if j >= 0 else 0.0
    for i in range(mech.n_cuts):
        cut = mech.cuts[i]
        kind, j = m.bodies[cut.body].kind, m.bodies[cut.body].iv
        node = mech.nodes[cut.node]
        for k in range(j, j + DOF[kind]):
            f = dual(tree_axis(kind, k, cut.body, work)) * joint_force(m, state.known, state.v, k)
            node.f = node.f - f
            if cut.other >= 0:
                other = mech.nodes[cut.other]
                other.f = other.f + shift_force(node.P - other.P, f)


@helper
def load_nothing(mech):
    """No forces: only rows and loop joints have something to equal."""
    o = Vec3(0.0, 0.0, 0.0)
    for a in range(mech.n_bases, mech.n_nodes):
        mech.nodes[a].f = Force(o, o)
    for k in range(mech.n_dofs):
        mech.dofs[k].tau = 0.0


@kernel(types.void(Mechanism.type), "solutions of fronts", effort=2)
def solve_fronts(mech):
    """The accelerations A of all nodes, and a of degrees of freedom."""
    o = Vec3(0.0, 0.0, 0.0)
    for a in range(mech.n_bases):
        mech.nodes[a].A = mech.nodes[a].c = Motion(o, o)
    for i in range(mech.n_fronts):
        front = mech.fronts[i]
        for r in range(front.n):
            mech.b[front.b + r] = 0.0
    for a in range(mech.n_bases, mech.n_nodes):
        hold_loop_joint(mech.nodes[a], mech)
    for a in range(mech.n_nodes - 1, -1, -1):
        gather_forces(mech.nodes[a], mech)
    for a in range(mech.n_nodes):
        accelerate_node(mech.nodes[a], mech)


@helper
def hold_loop_joint(node, mech):
    """c: what loop joints of the spanning tree between a base and the node add to its acceleration; and pA."""
    pA = node.f
    if mech.has_loop_joints:
        c = shift_motion(node.r, mech.nodes[node.parent].c)
        if node.is_loop:
            loop, o = mech.loops.loops[node.joint], Vec3(0.0, 0.0, 0.0)
            jump = Motion(o, o)
            for i in range(loop.row, loop.row + 6 - DOF[loop.kind]):
                row = mech.loops.rows[i]
                f = dual(Motion(row.f.ang, row.f.lin))
                jump = jump + Motion(f.ang, f.lin) * row.g
            c = c + shift_motion(node.P - mech.loops.rows[loop.row].P, jump) * node.sign
        node.c = c
        pA = pA + node.I @ c
    node.pA = pA


@helper
def gather_forces(node, mech):
    """u and b, from the leaves to the bases."""
    b = mech.b
    if node.is_new:
        front = mech.fronts[node.front]
        for e in range(node.end, node.end + node.n_ends):
            gather_end(node, mech.ends[e], front, mech)
        for e in range(node.direct, node.direct + node.n_directs):
            direct = mech.directs[e]
            if direct.owns:
                b[front.b + direct.at] += mech.loops.rows[direct.row].g
        if front.n > front.n_open + front.n_kept:
            if not front.is_base:
                scale_numbers(front, mech, b)
                rotate_numbers(front, mech, b, False)
            eliminate_numbers(front, mech)
    if node.body >= 0:
        pass_force(node, mech)
    if has_rows_above(node, mech) and mech.nodes[node.parent].front != node.front:
        front, to = mech.fronts[node.front], mech.fronts[mech.nodes[node.parent].front]
        for r in range(front.n_open + front.n_kept):
            b[to.b + mech.to[front.to + r]] += b[front.b + r]


@helper
def pass_force(node, mech):
    """Pass the bias force of a body through its degrees of freedom, on to its parent."""
    pA = node.pA
    for k in range(node.dof + node.n_dofs - 1, node.dof - 1, -1):
        dof = mech.dofs[k]
        u = dof.tau - dof.s @ pA
        dof.u = u
        pA = pA + dof.U * (dof.d * u)
        if node.front >= 0:
            front = mech.fronts[node.front]
            for r in range(front.n_open + front.n_kept):
                mech.b[front.b + r] -= mech.Y[dof.y + r] * (dof.d * u)
    up = mech.nodes[node.parent]
    if up.body >= 0:
        up.pA = up.pA + shift_force(node.r, pA)


@helper
def gather_end(node, end, front, mech):
    """What the rows that enter at a node must equal."""
    for i in range(end.n_rows):
        row, at = mech.loops.rows[end.row + i], front.b + end.at + i
        if end.owns:
            mech.b[at] += row.g
        if mech.has_loop_joints:
            mech.b[at] -= end.sign * along(row.f, shift_motion(row.P - node.P, node.c))


@helper
def accelerate_node(node, mech):
    """Forces along the rows of a node, and its acceleration, from those of its parent."""
    x = mech.x
    if has_rows_above(node, mech) and mech.nodes[node.parent].front != node.front:
        front, above = mech.fronts[node.front], mech.fronts[mech.nodes[node.parent].front]
        for r in range(front.n_open + front.n_kept):
            x[front.b + r] = x[above.b + mech.to[front.to + r]]
    if node.body >= 0:
        A = shift_motion(node.r, mech.nodes[node.parent].A)
        for k in range(node.dof, node.dof + node.n_dofs):
            dof = mech.dofs[k]
            u = dof.u - A @ dof.U
            if node.front >= 0:
                front = mech.fronts[node.front]
                for r in range(front.n_open + front.n_kept):
                    u += mech.Y[dof.y + r] * x[front.b + r]
            a = u * dof.d
            A = A + dof.s * a
            if dof.iv >= 0:
                mech.a[dof.iv] = a
        node.A = A
    if node.is_new:
        front = mech.fronts[node.front]
        if front.n > front.n_open + front.n_kept:
            find_forces(front, mech)
            if not front.is_base:
                rotate_numbers(front, mech, x, True)
                scale_numbers(front, mech, x)


# --- results ----------------------------------------------------------------------------------------------------------


@helper
def collect(m, mech, out, work):
    """Accelerations of the model's coordinates."""
    for j in range(m.nv):
        out[j] = mech.a[j]
    for i in range(mech.n_cuts):
        cut = mech.cuts[i]
        kind, j, node = m.bodies[cut.body].kind, m.bodies[cut.body].iv, mech.nodes[cut.node]
        A = node.A + node.c
        if cut.other >= 0:
            other = mech.nodes[cut.other]
            A = A - shift_motion(node.P - other.P, other.A + other.c)
        for k in range(j, j + DOF[kind]):
            out[k] = A @ dual(tree_axis(kind, k, cut.body, work))


@helper
def collect_forces(m, mech, out):
    """Forces along all rows of the model's loops and relations: of cut joints from the fronts where they end, of loop
    joints in the spanning tree from the motion of what they carry."""
    for a in range(mech.n_nodes - 1, -1, -1):
        node = mech.nodes[a]
        if node.body >= 0:
            node.pA = node.f + node.I @ (node.A + node.c)  # the force that the joints of the body exert on it
    for a in range(mech.n_nodes - 1, -1, -1):
        node = mech.nodes[a]
        for e in range(node.end, node.end + node.n_ends):
            end = mech.ends[e]
            for i in range(end.n_rows):
                force = mech.x[mech.fronts[node.front].b + end.at + i]
                row = mech.loops.rows[end.row + i]
                node.pA = node.pA - shift_force(row.P - node.P, row.f) * (end.sign * force)
                if end.row + i < mech.loops.n_rows:
                    out[m.nv + end.row + i] = force
        for e in range(node.direct, node.direct + node.n_directs):
            direct = mech.directs[e]
            out[m.nv + direct.row] = mech.x[mech.fronts[node.front].b + direct.at]
    for a in range(mech.n_nodes - 1, mech.n_bases - 1, -1):
        node = mech.nodes[a]
        up = mech.nodes[node.parent]
        if node.is_loop:
            loop = mech.loops.loops[node.joint]
            for i in range(loop.row, loop.row + 6 - DOF[loop.kind]):
                row = mech.loops.rows[i]
                f = dual(Motion(row.f.ang, row.f.lin))
                there = shift_force(node.P - row.P, node.pA)
                out[m.nv + i] = node.sign * (Motion(f.ang, f.lin) @ there)
        if up.body >= 0:
            up.pA = up.pA + shift_force(node.r, node.pA)


def _inverse_D(model: Model, work: HostWork) -> Floats:
    dofs, out = work.call.hubs.dofs, np.ones(model.nv)
    mine = dofs["iv"] >= 0
    out[dofs["iv"][mine]] = dofs["d"][mine]
    return out


def _refuse(model: Model, work: HostWork) -> None:
    """Name the loop joint beyond which nothing has inertia, if that is what is wrong."""
    nodes, dofs = work.call.hubs.nodes, work.call.hubs.dofs
    bad = np.flatnonzero((dofs["iv"] < 0) & ~(np.isfinite(dofs["d"]) & (dofs["d"] > 0.0)))
    if len(bad):
        node = nodes[int(np.searchsorted(nodes["dof"] + nodes["n_dofs"], bad[-1], side="right"))]
        loop, body = model.loop_list[node["joint"]], model.body_names[node["body"]]
        raise SingularError(
            f"the mass matrix is singular: loop {loop.name!r} holds body {body!r}, which has no inertia in a direction "
            "in which the loop lets it move; give it mass or inertia"
        )


def were_redundant(model: Model) -> bool:
    """Whether rows depended on each other in the last state that WITH_LOOPS was given."""
    return bool(WITH_LOOPS.work(model).call.hubs.redundant)


_INPUTS = Q, V, TAU, WRENCHES
_ROWS = ROWS._replace(hubs=Mechanism)
front_scratch, _ = scratch_opener(_ROWS)
WITH_LOOPS = Algorithm(
    "aba with loops", loop_joints, _ROWS, _INPUTS, lambda m: (m.nv,), hubs=mechanism, inverse_D=_inverse_D,
    refuse=_refuse, lanes=False, method="aba",
)  # fmt: skip
#: Also the forces along all rows, in the order of closure.
WITH_FORCES = Algorithm(
    "aba with loops and forces", loop_joints, _ROWS, _INPUTS, lambda m: (m.nv + n_rows(m),), hubs=mechanism,
    inverse_D=_inverse_D, refuse=_refuse, lanes=False, like=WITH_LOOPS,
)  # fmt: skip
#: For models whose tables are given other armatures.
WITH_ARMATURES = Algorithm(
    "aba with loops and armatures", loop_joints, _ROWS, _INPUTS, lambda m: (m.nv,), lanes=False, like=WITH_LOOPS,
    hubs=lambda model: mechanism(model, armature=True), inverse_D=_inverse_D, refuse=_refuse,
)  # fmt: skip
