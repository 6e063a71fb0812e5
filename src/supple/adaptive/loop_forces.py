"""The forces of loops, over the assembly tree: those under which the tree moves with its loops closed.

A loop joint that is cut leaves a tree, on which it acts by forces x along its rows [exact/closure.py]. With them,
nodes, totals and certificates are those of the tree. The accelerations y along the rows are linear in x:

    y = y0 + Lambda x        y = 0 where loops stay closed, at rest

They are the differences of the accelerations of the bodies at both ends, which follow from a pass up and a pass down
the nodes above these bodies: O(log n) for each. How x is found: loop_solution.py.
"""

from __future__ import annotations

from supple.assembly.frames import BASIS
from supple.assembly.joints import beside, force_in_basis
from supple.assembly.passes import (
    join_down,
    leaf_down,
    light_down,
    lone_down,
    next_joint,
    renew,
    stretch_of,
    sum_down,
    told,
)
from supple.assembly.poses import pose_at
from supple.assembly.tree import JOIN, LEAF, LIGHT
from supple.exact.closure import along, find_relations, find_rows, hold_world
from supple.exact.loop_tables import Loops
from supple.model.joint_poses import DOF, SCREW
from supple.spatial.algebra import Force, Motion, Vec3, shift_force, shift_motion
from supple.spatial.compiler import helper
from supple.spatial.fields import Floats, Integer, Integers, Number, Six, Value
from supple.spatial.matrices import new_matrix
from supple.spatial.structs import Link, Struct, Table


class HeldBody(Struct):
    """A body at an end of a loop."""

    body = Integer()
    pushed = Integer()  # its number among the pushed bodies
    given = Six()  # the other forces on it, in its basis
    f = Value(Force)  # that of loops, along world axes, about its origin


class LoopForces(Struct):
    """The forces of loops, and memory for finding them. Arrays have a number for each row, unless stated otherwise."""

    loops = Link(Loops)
    bodies = Table(HeldBody)  # in the order of Loops.motions
    n_bodies = Integer()
    paths = Integers()  # the nodes above them, and of the joints of relations, ascending
    n_paths = Integer()
    term_nodes = Integers()  # the node of each term of relations
    own = Floats()  # (nv,) forces of joints without those of relations
    still = Floats()  # (nv,) zeros
    x = Floats()  # forces
    y = Floats()  # accelerations along rows
    size = Floats()  # the terms of which these are differences, without the forces of loops
    gives = Floats()  # how far each gives way to a unit force, by its two bodies alone
    yields = Floats()  # the root of that, or of its Lambda: forces along it are rounded by what they cause alone
    scale = Floats()  # what makes rows comparable
    chief = Integers()  # the most yielding row of the same loop
    L = Floats()  # (rows, rows) the factor of Lambda, scaled
    order = Integers()
    rank = Integer()
    change = Floats()
    kept = Floats()  # y, or x, meanwhile
    # positions [loop_closing.py]
    sides = Integers()  # (loops, n) whether a joint moves the second end of a loop (1) or the first (-1); both: 0
    taken = Integers()  # (n,) the joints that may move to close loops are marked ...
    joints = Integers()  # (n,) ... and listed
    n_joints = Integer()
    columns = Floats()  # (nv, rows) of G, for their degrees of freedom
    moves = Floats()  # (nv,) their motion
    kept_q = Floats()  # (nq,) the last position in which all loops were closed
    left = Number()  # the widest gap
    worst = Integer()  # its row


@helper
def place_ends(qs, held):
    """The rows, at the current position. The poses of the pushed bodies are known."""
    body, tree, o = qs.body, qs.body.tree, Vec3(0.0, 0.0, 0.0)
    rest = Motion(o, o)
    hold_world(held.loops, rest)
    for k in range(held.n_bodies):
        motion = held.loops.motions[k]
        R, r = pose_at(qs.world, tree.leaf_of[held.bodies[k].body])
        motion.R, motion.P, motion.V, motion.zeta = R, r, rest, rest
    find_rows(held.loops)
    find_relations(held.loops, body.q, held.still)


@helper
def hold_bodies(loops, held):
    """The forces of loops on their bodies, for the current x."""
    o = Vec3(0.0, 0.0, 0.0)
    for k in range(held.n_bodies):
        held.bodies[k].f = Force(o, o)
    for i in range(loops.n_loops):
        loop = loops.loops[i]
        for r in range(loop.row, loop.row + 6 - DOF[loop.kind]):
            for side in range(2):
                k = loop.ends[side].motion
                if loop.ends[side].body >= 0:
                    row, sign = loops.rows[r], 1.0 if side == 1 else -1.0
                    f = shift_force(row.P - loops.motions[k].P, row.f)
                    held.bodies[k].f = held.bodies[k].f + f * (sign * held.x[r])


@helper
def hold_joints(body, held):
    """Those of relations on their joints."""
    loops = held.loops
    for i in range(loops.n_terms):
        iv = loops.terms[i].iv
        body.force[iv] = held.own[iv]
    for i in range(loops.n_terms):
        term = loops.terms[i]
        body.force[term.iv] += term.factor * held.x[term.row]


@helper
def apply_forces(qs, held):
    """Let the forces x act: the nodes above them are brought up to date."""
    body, tree = qs.body, qs.body.tree
    hold_bodies(held.loops, held)
    hold_joints(body, held)
    for k in range(held.n_bodies):
        one, R = held.bodies[k], held.loops.motions[k].R
        f = force_in_basis(tree, one.body, Force(one.f.ang @ R, one.f.lin @ R))  # R^T f
        body.external[one.body].f = one.given + f
    for k in range(held.n_paths):
        renew(body, held.paths[k], True, False)


@helper
def go_down(body, i):
    """Pass on to the parts of node i what it receives from above."""
    tree = body.tree
    kind = tree.kind[i]
    if kind == JOIN:
        join_down(body, i)
    elif kind == LIGHT:
        light_down(body, i)
    elif kind != LEAF:
        sum_down(body, i)
    elif tree.left[i] >= 0:
        if tree.lone[i]:
            lone_down(body, i)
        else:
            leaf_down(body, i, stretch_of(body, i).Phi1, stretch_of(body, i).b1)


@helper
def acceleration_of(body, b):
    """The acceleration of a body along its own axes, from what its leaf receives from above."""
    tree = body.tree
    i, kind, x = tree.leaf_of[b], tree.joint[b], new_matrix()
    a = told(body, i).f1
    if not tree.lone[i]:
        if tree.open[i]:
            a += told(body, i).f2 @ next_joint(tree, b)
        a = a @ stretch_of(body, i).Phi1 + stretch_of(body, i).b1
    x[0] = a
    for k in range(6):
        x[1, BASIS[kind, k]] = x[0, k]
    lin = x[1, 5] + tree.pitch[b] * x[1, 2] if kind == SCREW else x[1, 5]
    return Motion(Vec3(x[1, 0], x[1, 1], x[1, 2]), Vec3(x[1, 3], x[1, 4], lin))


@helper
def find_accelerations(qs, held):
    """y."""
    body, loops = qs.body, held.loops
    told(body, body.tree.n_nodes - 1).f1 = beside(Vec3(0.0, 0.0, 0.0), qs.gravity * -1.0)
    for k in range(held.n_paths - 1, -1, -1):
        go_down(body, held.paths[k])
    for k in range(held.n_bodies):
        a, R = acceleration_of(body, held.bodies[k].body), loops.motions[k].R
        loops.motions[k].zeta = Motion(R @ a.ang, R @ a.lin)
    loops.motions[loops.n_motions - 1].zeta = Motion(Vec3(0.0, 0.0, 0.0), qs.gravity * -1.0)
    find_rates(loops, body.qdd, held)


@helper
def find_rates(loops, qdd, held):
    """y, from the accelerations zeta of the bodies at the ends of loops, and qdd of joints."""
    for r in range(loops.n_rows):
        held.y[r] = 0.0
    for i in range(loops.n_loops):
        loop = loops.loops[i]
        for r in range(loop.row, loop.row + 6 - DOF[loop.kind]):
            for side in range(2):
                row, end = loops.rows[r], loops.motions[loop.ends[side].motion]
                a = along(row.f, shift_motion(row.P - end.P, end.zeta))
                held.y[r] += a if side == 1 else -a
    for i in range(loops.n_terms):
        term = loops.terms[i]
        held.y[term.row] += term.factor * qdd[term.iv]


@helper
def find_sizes(loops, qdd, held):
    """The sizes of the terms of y."""
    for r in range(loops.n_rows):
        held.size[r] = 0.0
    for i in range(loops.n_loops):
        loop = loops.loops[i]
        for r in range(loop.row, loop.row + 6 - DOF[loop.kind]):
            for side in range(2):
                row, end = loops.rows[r], loops.motions[loop.ends[side].motion]
                held.size[r] += abs(along(row.f, shift_motion(row.P - end.P, end.zeta)))
    for i in range(loops.n_terms):
        term = loops.terms[i]
        held.size[term.row] += abs(term.factor * qdd[term.iv])
