"""The forces of loops, over the assembly tree: those under which the tree moves with its loops closed.

A loop joint that is cut leaves a tree, on which it acts by forces x along its rows [exact/closure.py]. With them,
nodes, totals and certificates are those of the tree. The accelerations y along the rows are linear in x:

    y = y0 + Lambda x        y = 0 where loops stay closed, at rest

They are the differences of the accelerations of the bodies at both ends, which follow from a pass up and a pass down
the nodes above these bodies: O(log n) for each. A pass for each row gives Lambda. The solution is improved until y is
nothing but rounding: what is wrong with Lambda only delays that.

**The error of x.** The y that are left, and what rounding hides of them, are the effect of wrong forces d, with
Lambda d = y. The accelerations of all joints that d would cause are the root of their total, which is a quadratic
function of d: it is seen in the totals for x + t d and x - t d, with t so large that rounding does not matter.
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.balance import sizes_in_basis
from supple.adaptive.dependent_rows import factor_rows, solve_rows
from supple.adaptive.memory import QuasiStaticBody
from supple.adaptive.total_acceleration import total_acceleration
from supple.assembly.frames import BASIS
from supple.assembly.joints import beside, force_in_basis
from supple.assembly.passes import (
    closing_of,
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
from supple.exact.closure import along, find_relations, find_rows, hold_world, widest_gap
from supple.exact.loop_tables import Loops
from supple.exact.row_elimination import least_remainder, reach_of
from supple.integrating.push_law import length
from supple.model.joint_poses import DOF, SCREW
from supple.spatial.algebra import Force, Motion, Vec3, dot, shift_force, shift_motion
from supple.spatial.compiler import helper, kernel
from supple.spatial.cpu import set_six, six
from supple.spatial.fields import Floats, Integer, Integers, Number, Six, Value
from supple.spatial.matrices import new_matrix
from supple.spatial.structs import Link, Struct, Table

RANK = 1e-6  #: a row of which less remains, of one, depends on others: Lambda has half the digits of its factors
ROUNDING = 1e-14  #: rows that give way by no more than this, of what their ends would do alone, are rounding
MOST = 10  #: improvements
LARGER = 16.0  #: unit forces are such that accelerations along rows become so many times larger than without them
FAILED = 1e-6  #: accelerations along rows, compared with the terms of which they are differences: Lambda is useless


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
    scale = Floats()  # what makes rows comparable
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
        held.y[term.row] += term.factor * body.qdd[term.iv]


@helper
def find_sizes(qs, held):
    """The sizes of the terms of y, from the accelerations of which y was just found."""
    loops = held.loops
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
        held.size[term.row] += abs(term.factor * qs.body.qdd[term.iv])


@helper
def find_gives(qs, held):
    """How far each row gives way to a unit force, by the bodies or joints at its ends alone."""
    body, loops, tree = qs.body, held.loops, qs.body.tree
    for r in range(loops.n_rows):
        held.gives[r] = 0.0
    for i in range(loops.n_loops):
        loop = loops.loops[i]
        for r in range(loop.row, loop.row + 6 - DOF[loop.kind]):
            for side in range(2):
                b, row = loop.ends[side].body, loops.rows[r]
                if b >= 0:
                    Y = tree.inertias[b].Y
                    f = shift_force(row.P - loops.motions[loop.ends[side].motion].P, row.f)
                    J = max(Y.I.xx, Y.I.yy, Y.I.zz)
                    held.gives[r] += dot(f.ang, f.ang) / J if J > 0.0 else 0.0
                    held.gives[r] += dot(f.lin, f.lin) / Y.m if Y.m > 0.0 else 0.0
    for i in range(loops.n_terms):
        term, node = loops.terms[i], held.term_nodes[i]
        held.gives[term.row] += term.factor * term.factor * abs(closing_of(body, node).rows[0].G[0])


@helper
def find_lambda(qs, held, level):
    """Lambda into L, from the accelerations that a force along each row causes. level: the size of those without."""
    n, x, y = held.loops.n_rows, held.x, held.y
    for r in range(n):
        held.kept[r] = y[r]
    for r in range(n):
        force = LARGER * level / held.gives[r] if held.gives[r] > 0.0 else 1.0
        x[r] = force
        apply_forces(qs, held)
        find_accelerations(qs, held)
        x[r] = 0.0
        for s in range(n):
            held.L[n * s + r] = (y[s] - held.kept[s]) / force
    for r in range(n):
        for s in range(r):
            mean = 0.5 * (held.L[n * r + s] + held.L[n * s + r])
            held.L[n * r + s] = held.L[n * s + r] = mean


@helper
def scale_group(held, first, end):
    """What makes the rows of a loop, or of a relation, comparable with others: the most yielding one is of unit size,
    turns count by the size of the model."""
    n, most, free = held.loops.n_rows, 0.0, 0.0
    for r in range(first, end):
        reach = reach_of(held.loops, r)
        most = max(most, held.L[n * r + r] / (reach * reach))
        free = max(free, held.gives[r] / (reach * reach))
    whole = 1.0 / math.sqrt(most) if most > ROUNDING * free else 0.0
    for r in range(first, end):
        held.scale[r] = whole / reach_of(held.loops, r)


@helper
def factor_lambda(held):
    """The factor of Lambda, scaled, and its rank."""
    loops, n, L = held.loops, held.loops.n_rows, held.L
    first = 0
    for i in range(loops.n_loops):
        end = loops.loops[i].row + 6 - DOF[loops.loops[i].kind]
        scale_group(held, loops.loops[i].row, end)
        first = max(first, end)
    for r in range(first, n):
        scale_group(held, r, r + 1)
    for r in range(n):
        for s in range(n):
            L[n * r + s] *= held.scale[r] * held.scale[s]
    held.rank = factor_rows(L, held.order, n, max(RANK, least_remainder(widest_gap(loops))))


@helper
def undo(held, sign):
    """`change`, which has accelerations along rows, becomes the forces that cause them; times sign."""
    n = held.loops.n_rows
    for r in range(n):
        held.change[r] *= sign * held.scale[r]
    solve_rows(held.L, held.order, held.rank, n, held.change)
    for r in range(n):
        held.change[r] *= held.scale[r]


@helper
def is_open(held):
    """The largest acceleration along rows, as scaled; and its terms."""
    most, terms = 0.0, 0.0
    for r in range(held.loops.n_rows):
        most = max(most, held.scale[r] * abs(held.y[r]))
        terms = max(terms, held.scale[r] * held.size[r])
    return most, terms


@helper
def improve(qs, held):
    """Change x until y is nothing but rounding. Returns whether that is achieved."""
    before = math.inf
    for _ in range(MOST):
        most, _ = is_open(held)
        if most == 0.0 or not most < 0.5 * before:
            break
        before = most
        for r in range(held.loops.n_rows):
            held.change[r] = held.y[r]
        undo(held, -1.0)
        for r in range(held.loops.n_rows):
            held.x[r] += held.change[r]
        apply_forces(qs, held)
        find_accelerations(qs, held)
    most, terms = is_open(held)
    return most <= FAILED * terms


@helper
def total_with(qs, held, t):
    """The total acceleration of all joints under the forces x + t change; x is in `kept`."""
    body = qs.body
    for r in range(held.loops.n_rows):
        held.x[r] = held.kept[r] + t * held.change[r]
    apply_forces(qs, held)
    a, _ = total_acceleration(body, body.tree.n_nodes - 1)
    return a


@helper
def error_of_forces(qs, held):
    """The accelerations of all joints, the root of the sum of their squares, by which the forces x are wrong."""
    n, most, level = held.loops.n_rows, 0.0, 0.0
    for r in range(n):
        wrong = max(abs(held.y[r]), qs.digits * held.size[r])
        most, level = max(most, wrong), max(level, held.size[r])
        held.change[r] = wrong if r % 2 == 0 else -wrong
        held.kept[r] = held.x[r]
    if most == 0.0:
        return 0.0
    undo(held, 1.0)
    t = level / most
    square = total_with(qs, held, t) + total_with(qs, held, -t) - 2.0 * total_with(qs, held, 0.0)
    return math.sqrt(max(0.5 * square, 0.0)) / t


@helper
def note_strain(qs, held):
    """Add the forces of loops to the sizes of pushes that may cancel each other."""
    tree = qs.body.tree
    for k in range(held.n_bodies):
        one = held.bodies[k]
        at = qs.strain[one.pushed].f
        set_six(at, 0, six(at, 0) + sizes_in_basis(tree, one.body, length(one.f.lin), length(one.f.ang)))


@kernel(types.boolean(QuasiStaticBody.type, LoopForces.type), "quasi-statics, loops", effort=6, nogil=True)
def loop_forces_kernel(qs, held):
    """Find the forces of loops, and let them act. Returns whether they were found."""
    n = held.loops.n_rows
    place_ends(qs, held)
    for k in range(held.n_bodies):
        held.bodies[k].given = qs.body.external[held.bodies[k].body].f
    for r in range(n):
        held.x[r] = 0.0
    apply_forces(qs, held)
    find_accelerations(qs, held)
    find_sizes(qs, held)
    level, qs.left_open = 0.0, 0.0
    for r in range(n):
        level = max(level, held.size[r])
    if level == 0.0:
        return True
    find_gives(qs, held)
    find_lambda(qs, held, level)
    factor_lambda(held)
    apply_forces(qs, held)
    find_accelerations(qs, held)
    if not improve(qs, held):
        return False
    qs.left_open = error_of_forces(qs, held)
    note_strain(qs, held)
    return qs.left_open < math.inf
