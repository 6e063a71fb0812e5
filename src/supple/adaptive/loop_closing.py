"""Closing loops after a quasi-static step, by a few joints: those that moved, and those of the nodes above the loops'
ends.

The joints of these nodes are halfway along a loop, a quarter of the way, and so on: there are O(log n) of them, and
they reach in every direction. Newton's method finds the least motion of all these joints that closes the loops,

    dq = G^T x        G G^T x = -phi        [exact/closure.py]

G is that of the first iteration: steps are so small that it hardly changes.
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.body_poses import climb
from supple.adaptive.dependent_rows import factor_rows, solve_rows
from supple.adaptive.loop_forces import LoopForces
from supple.adaptive.memory import QuasiStaticBody
from supple.adaptive.outdated import MATRICES, mark, renew_spans
from supple.assembly.joints import advance, identity, joint_room
from supple.assembly.poses import compose, pose_at, renew_span
from supple.assembly.tree import JOIN, LIGHT
from supple.exact.closure import along, find_relations, find_rows, hold_world, widest_gap
from supple.exact.row_scales import least_remainder, reach_of
from supple.integrating.push_law import length
from supple.model.joint_poses import DOF, JointPlace, place_joint, write_turns
from supple.model.joints import NQ
from supple.spatial.algebra import Motion, Vec3, shift_force
from supple.spatial.compiler import helper, kernel

RANK = 1e-6  #: a row of which less remains, of one, depends on others
STUCK = 0.5  #: an iteration that leaves more than this of the gap did not help
MOST = 30  #: iterations
EPSILON = 2.0**-50  #: rounding of positions, of which loops may stay open
FARTHEST = 1e6  #: metres from the origin beyond which gaps may be no larger


@helper
def find_gaps(qs, held):
    """phi of all rows at the current position, and the widest gap. Returns how far bodies at the ends are away."""
    body, loops, o, far = qs.body, held.loops, Vec3(0.0, 0.0, 0.0), 0.0
    rest = Motion(o, o)
    hold_world(loops, rest)
    for k in range(held.n_bodies):
        motion = loops.motions[k]
        R, r = climb(qs, held.bodies[k].body)
        motion.R, motion.P, motion.V, motion.zeta = R, r, rest, rest
        far = max(far, min(length(r), FARTHEST))
    find_rows(loops)
    find_relations(loops, body.q, held.still)
    held.left, held.worst = 0.0, 0
    for r in range(loops.n_rows):
        gap = abs(loops.rows[r].phi)
        if not gap <= held.left:
            held.left, held.worst = gap, r
    return far


@helper
def take_joint(qs, held, j):
    """Let joint j move."""
    if held.taken[j] == 0 and qs.body.tree.forbidden[j] < 6:
        held.taken[j] = 1
        held.joints[held.n_joints] = j
        held.n_joints += 1


@helper
def take_joints(qs, held):
    """The joints that may move to close the loops."""
    tree = qs.body.tree
    held.n_joints = 0
    for x in range(qs.n_computed):
        take_joint(qs, held, qs.computed[x])
    for x in range(held.n_paths):
        i = held.paths[x]
        if tree.kind[i] in (JOIN, LIGHT):
            take_joint(qs, held, tree.item[i])
    for x in range(held.n_joints):
        held.taken[held.joints[x]] = 0


@helper
def axes_of_joint(qs, j, room):
    """The directions of joint j along world axes, into room.axes. Returns the origin of its body, about which they
    are."""
    tree, q = qs.body.tree, qs.body.q
    R, r = identity(), Vec3(0.0, 0.0, 0.0)
    if tree.parent[j] >= 0:
        R, r = climb(qs, tree.parent[j])
    S, s = pose_at(tree.frames, j)
    R, r = compose(R, r, S, s)
    write_turns(tree.joint[j], q, tree.iq[j], room.turns)
    _, r = place_joint(JointPlace(tree.joint[j], tree.iq[j], 0, 0, tree.pitch[j]), R, r, q, room.turns, room.axes)
    return r


@helper
def find_columns(qs, held):
    """The columns of G of the joints that may move."""
    loops, tree, room, column = held.loops, qs.body.tree, joint_room(), 0
    n = loops.n_rows
    for x in range(held.n_joints):
        j = held.joints[x]
        P, dofs = axes_of_joint(qs, j, room), DOF[tree.joint[j]]
        for k in range(dofs * n):
            held.columns[column * n + k] = 0.0
        for i in range(loops.n_loops):
            loop, side = loops.loops[i], held.sides[i * tree.n + j]
            if side == 0:
                continue
            for r in range(loop.row, loop.row + 6 - DOF[loop.kind]):
                f = shift_force(loops.rows[r].P - P, loops.rows[r].f) * float(side)
                for k in range(dofs):
                    held.columns[(column + k) * n + r] = along(f, room.axes[k].s)
        for i in range(loops.n_terms):
            if loops.terms[i].iv == tree.iv[j]:
                held.columns[column * n + loops.terms[i].row] += loops.terms[i].factor
        column += dofs
    return column


@helper
def factor_columns(held, columns):
    """The factor of G G^T, scaled so that its diagonal is one."""
    n, L = held.loops.n_rows, held.L
    for k in range(n * n):
        L[k] = 0.0
    for c in range(columns):
        for r in range(n):
            g = held.columns[c * n + r]
            if g != 0.0:
                for s in range(n):
                    L[n * r + s] += g * held.columns[c * n + s]
    for r in range(n):
        square = L[n * r + r] / reach_of(held.loops, r) ** 2
        held.scale[r] = 1.0 / math.sqrt(L[n * r + r]) if square > RANK * RANK else 0.0
    for r in range(n):
        for s in range(n):
            L[n * r + s] *= held.scale[r] * held.scale[s]
    held.rank = factor_rows(L, held.order, n, max(RANK, least_remainder(widest_gap(held.loops))))


@helper
def move_joints(qs, held):
    """Move the joints by G^T x, and bring spans up to date."""
    body, tree, n, column = qs.body, qs.body.tree, held.loops.n_rows, 0
    for r in range(n):
        held.change[r] = -held.scale[r] * held.loops.rows[r].phi
    solve_rows(held.L, held.order, held.rank, n, held.change)
    for r in range(n):
        held.change[r] *= held.scale[r]
    for x in range(held.n_joints):
        j = held.joints[x]
        for k in range(DOF[tree.joint[j]]):
            t = 0.0
            for r in range(n):
                t += held.columns[column * n + r] * held.change[r]
            held.moves[tree.iv[j] + k] = t
            column += 1
        advance(tree, j, body.q, held.moves, 1.0)
    if qs.n_visited == 0:  # a solution of the whole body: the nodes of all its joints are marked
        renew_spans(qs)
    for x in range(qs.n_visited - 1, -1, -1):  # lower nodes first; those that are also among the paths come again
        renew_open(body, qs.visited[x])
    for x in range(held.n_paths):
        renew_open(body, held.paths[x])


@helper
def renew_open(body, i):
    if body.tree.kind[i] == JOIN and body.tree.open[i]:
        renew_span(body, i)


@helper
def keep_joint(qs, held, j):
    """The position of joint j is one to come back to."""
    tree, q = qs.body.tree, qs.body.q
    for k in range(tree.iq[j], tree.iq[j] + NQ[tree.joint[j]]):
        held.kept_q[k] = q[k]


@helper
def keep_joints(qs, held):
    """The same for all joints that have moved in a step."""
    for x in range(qs.n_computed):
        keep_joint(qs, held, qs.computed[x])
    for x in range(held.n_joints):
        keep_joint(qs, held, held.joints[x])


@kernel(types.boolean(QuasiStaticBody.type, LoopForces.type, types.float64), "quasi-statics, closing", nogil=True)
def close_kernel(qs, held, least):
    """Close the loops after a step in which few joints moved. least: how far they may stay open, besides rounding.
    Returns whether they are closed; then this is the state to come back to."""
    tree, before, moved = qs.body.tree, math.inf, False
    held.n_joints = 0
    for _ in range(MOST):
        least = max(least, EPSILON * find_gaps(qs, held))
        if held.left <= least or not held.left < STUCK * before:
            break
        if not moved:
            take_joints(qs, held)
            factor_columns(held, find_columns(qs, held))
            for x in range(held.n_joints):
                mark(qs, tree.node_of[held.joints[x]], MATRICES)
            moved = True
        before = held.left
        move_joints(qs, held)
    if not held.left <= 64.0 * least:
        return False
    keep_joints(qs, held)
    return True
