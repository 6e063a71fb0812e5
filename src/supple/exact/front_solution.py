"""Accelerations of a mechanism whose fronts are factored [fronts.py], for any right-hand sides; forces along rows."""

from __future__ import annotations

from numba import types

from supple.exact.aba import joint_force
from supple.exact.closure import along
from supple.exact.front_rows import dual, tree_axis
from supple.exact.front_tables import Mechanism
from supple.exact.fronts import AHEAD, fetch_coming, has_rows_above
from supple.exact.row_elimination import eliminate_numbers, find_forces, rotate_numbers
from supple.exact.row_scales import scale_numbers
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Force, Motion, Vec3, shift_force, shift_motion
from supple.spatial.compiler import helper, kernel

IMPROVEMENTS = 2  #: of accelerations where masses are far apart


@helper
def load_forces(m, state, mech, work):
    """Forces of joints; those of cut joints act on the two bodies."""
    for k in range(mech.n_dofs):
        j = mech.dofs[k].iv
        mech.dofs[k].u = joint_force(m, state.known, state.v, j) if j >= 0 else 0.0
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
    for a in range(mech.n_nodes):
        mech.nodes[a].f = Force(o, o)
    for k in range(mech.n_dofs):
        mech.dofs[k].u = 0.0


@kernel(types.void(Mechanism.type), "solutions of fronts", effort=2)
def solve_fronts(mech):
    """The accelerations A of all nodes, and a of degrees of freedom."""
    if mech.has_loop_joints:
        for a in range(mech.n_nodes):
            hold_loop_joint(mech.nodes[a], mech)
    for a in range(mech.n_nodes - 1, -1, -1):
        fetch_coming(mech, a, -AHEAD)
        gather_forces(mech.nodes[a], mech)
    for a in range(mech.n_nodes):
        fetch_coming(mech, a, AHEAD)
        accelerate_node(mech.nodes[a], mech)


@helper
def hold_loop_joint(node, mech):
    """c: what loop joints of the spanning tree between a base and the node add to its acceleration."""
    if node.body < 0:
        return
    up = mech.nodes[node.parent]
    c = shift_motion(node.P - up.P, up.c)
    if node.is_loop:
        loop, o = mech.loops.loops[node.joint], Vec3(0.0, 0.0, 0.0)
        jump = Motion(o, o)
        for i in range(loop.row, loop.row + 6 - DOF[loop.kind]):
            row = mech.loops.rows[i]
            f = dual(Motion(row.f.ang, row.f.lin))
            jump = jump + Motion(f.ang, f.lin) * row.g
        c = c + shift_motion(node.P - mech.loops.rows[loop.row].P, jump) * node.sign
    node.c = c


@helper
def gather_forces(node, mech):
    """u and b, from the leaves to the bases."""
    if node.is_new:
        gather_rows(node, mech.fronts[node.front], mech)
    if node.body >= 0:
        pA = node.f
        if mech.has_loop_joints:
            pA = pA + node.I @ node.c
        if node.has_children:
            pA = pA + mech.passed[node.slot].pA
        pass_force(node, pA, mech)


@helper
def gather_rows(node, front, mech):
    """b of a front, from those below it and from rows that enter; without eliminated ones."""
    b = mech.b
    for r in range(front.n):
        b[front.b + r] = 0.0
    i = front.below
    while i >= 0:
        below = mech.fronts[i]
        for r in range(below.n_open + below.n_kept):
            b[front.b + mech.to[below.to + r]] += b[below.b + r]
        i = below.beside
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
        eliminate_numbers(front, mech, b)


@helper
def pass_force(node, pA, mech):
    """Pass the bias force of a body through its degrees of freedom, on to its parent."""
    for k in range(node.dof + node.n_dofs - 1, node.dof - 1, -1):
        dof = mech.dofs[k]
        u = dof.u - dof.s @ pA
        dof.u = u
        pA = pA + dof.U * (dof.d * u)
        if node.front >= 0:
            front = mech.fronts[node.front]
            m = front.n_open + front.n_kept
            for r in range(m):
                mech.b[front.b + r] -= mech.Y[node.Y + (k - node.dof) * m + r] * (dof.d * u)
    up = mech.nodes[node.parent]
    if up.body >= 0:
        add_force(node, up, pA, mech)


@helper
def add_force(node, up, pA, mech):
    """Pass a force on to the parent."""
    pA, above = shift_force(node.P - up.P, pA), mech.passed[up.slot]
    above.pA = pA if node.slot == up.slot else above.pA + pA


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
    x = mech.b  # which is not needed any more
    if has_rows_above(node, mech) and mech.nodes[node.parent].front != node.front:
        front, above = mech.fronts[node.front], mech.fronts[mech.nodes[node.parent].front]
        for r in range(front.n_open + front.n_kept):
            x[front.b + r] = x[above.b + mech.to[front.to + r]]
    if node.body >= 0:
        up = mech.nodes[node.parent]
        A = shift_motion(node.P - up.P, up.A)
        for k in range(node.dof, node.dof + node.n_dofs):
            dof = mech.dofs[k]
            u = dof.u - A @ dof.U
            if node.front >= 0:
                front = mech.fronts[node.front]
                m = front.n_open + front.n_kept
                for r in range(m):
                    u += mech.Y[node.Y + (k - node.dof) * m + r] * x[front.b + r]
            a = u * dof.d
            A = A + dof.s * a
            if dof.iv >= 0:
                mech.a[dof.iv] = a
        node.A = A
    if node.is_new:
        front = mech.fronts[node.front]
        if front.n > front.n_open + front.n_kept:
            find_forces(front, mech, x)
            if not front.is_base:
                rotate_numbers(front, mech, x, True)
                scale_numbers(front, mech, x)


@helper
def note_missing(mech):
    """Make of g what rows still have to accelerate, after a solution."""
    for a in range(mech.n_nodes):
        node = mech.nodes[a]
        A = node.A + node.c
        for e in range(node.end, node.end + node.n_ends):
            end = mech.ends[e]
            for i in range(end.n_rows):
                row = mech.loops.rows[end.row + i]
                row.g -= end.sign * along(row.f, shift_motion(row.P - node.P, A))
                if end.owns:
                    row.g -= abs(mech.soft[end.row + i]) * mech.b[mech.fronts[node.front].b + end.at + i]
        for e in range(node.direct, node.direct + node.n_directs):
            direct = mech.directs[e]
            mech.loops.rows[direct.row].g -= direct.factor * mech.a[mech.dofs[direct.dof].iv]
        if node.is_loop:  # its rows are not unknown
            loop = mech.loops.loops[node.joint]
            for r in range(loop.row, loop.row + 6 - DOF[loop.kind]):
                mech.loops.rows[r].g = 0.0


@helper
def improve(m, mech, out, work):
    """Add the response to what rows still have to accelerate. Light bodies between heavy ones accelerate by the
    difference of large forces; that rows hold tells it to all digits."""
    for _ in range(IMPROVEMENTS):
        note_missing(mech)
        load_nothing(mech)
        solve_fronts(mech)
        collect(m, mech, mech.more, work)
        for j in range(m.nv):
            out[j] += mech.more[j]
        if work.n_out > m.nv:
            collect_forces(m, mech, mech.more)
            for j in range(m.nv, m.nv + mech.loops.n_rows):
                out[j] += mech.more[j]


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
        for e in range(node.direct, node.direct + node.n_directs):
            direct = mech.directs[e]
            out[m.nv + direct.row] = mech.b[mech.fronts[node.front].b + direct.at]
        if node.body < 0:
            continue
        pA = node.f + node.I @ (node.A + node.c)  # the force that the joint of the body exerts on it
        if node.has_children:
            pA = pA + mech.passed[node.slot].pA
        for e in range(node.end, node.end + node.n_ends):
            end = mech.ends[e]
            for i in range(end.n_rows):
                force = mech.b[mech.fronts[node.front].b + end.at + i]
                row = mech.loops.rows[end.row + i]
                pA = pA - shift_force(row.P - node.P, row.f) * (end.sign * force)
                if end.row + i < mech.loops.n_rows:
                    out[m.nv + end.row + i] = force
        if node.is_loop:
            loop = mech.loops.loops[node.joint]
            for i in range(loop.row, loop.row + 6 - DOF[loop.kind]):
                row = mech.loops.rows[i]
                f = dual(Motion(row.f.ang, row.f.lin))
                out[m.nv + i] = node.sign * (Motion(f.ang, f.lin) @ shift_force(node.P - row.P, pA))
        up = mech.nodes[node.parent]
        if up.body >= 0:
            add_force(node, up, pA, mech)
