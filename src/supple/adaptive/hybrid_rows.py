"""Forces along the rows of loops, in the hybrid body: the articulated-body algorithm with rows [exact/fronts.py], all
of which are eliminated at the world.

    Y^T = G, as forces pass from the ends of loops to the world: y = K^T s, K <- K - U d y^T at every degree of freedom
    F = sqrt(d) Y^T        F^T F x = g - Y d u        u <- u + Y^T x

Y and F depend on positions alone, and on armatures: the three evaluations of a kick share them.

Two rigid parts may be joined by many loops. However many rows those have, only six combinations of them exert a force
between two bodies: the rows are rotated, so that the others do nothing. The cost of a step thus depends on how many
parts move, not on how many loops join them.

**Bounces.** Half a drift turns the directions that loops forbid, so that velocities have a part G v along them:
before a kick h/2 times its rate of change, after it the opposite. Forces of loops then do no work in a kick. If
directions turn much within a step, as in positions that a mechanism can hardly leave, that is no longer so, and rows
are made to accelerate by -2 G v / h instead: what is forbidden of the velocity bounces back, and no work is done
whatever the step.
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.hybrid_fronts import (
    factor_by_fronts,
    goes_by_fronts,
    hold_by_fronts,
    respond_by_fronts,
    rounding_of,
)
from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced_tree import open_reduced
from supple.exact.closure import find_relations, find_rows
from supple.exact.front_rows import tell_rows, tree_axis
from supple.exact.fronts import set_force
from supple.exact.row_elimination import (
    SIX,
    eliminate_numbers,
    eliminate_rows,
    find_forces,
    rotate_closed,
    rotate_numbers,
)
from supple.exact.row_scales import force_at, gives_way, reach_of, scale_closed
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Force, Vec3, articulated, shift_force
from supple.spatial.compiler import helper, kernel

BOUNCED = 1e-3  #: of the kinetic energy: more than this makes velocities bounce


@helper
def note_end(loops, b, R, P, V, zeta):
    """Note the motion of the body of row b of the reduced tree, if it is at the end of a loop."""
    if loops.captured[b] >= 0:
        end = loops.motions[loops.captured[b]]
        end.R, end.P, end.V, end.zeta = R, P, V, zeta


@helper
def move_end(loops, b, V, zeta):
    """The same at the same position."""
    if loops.captured[b] >= 0:
        end = loops.motions[loops.captured[b]]
        end.V, end.zeta = V, zeta


@kernel(types.void(HybridBody.type, types.int64), "rows of the hybrid body", nogil=True)
def read_rows(hybrid, at_half):
    """phi, g and rates of all rows, from the motions of reduced bodies that were noted. at_half: with the velocities
    x.half, otherwise x.v."""
    _, x = open_reduced(hybrid)
    find_rows(hybrid.closing.loops)
    find_relations(hybrid.closing.loops, x.q, x.half if at_half else x.v)
    hybrid.closing.rounding = rounding_of(hybrid.closing.loops, False)


@helper
def combine(held):
    """The rows that are eliminated: those of pairs of bodies with six at most, and six combinations of others."""
    loops, ends = held.loops, held.loops.loops
    for i in range(loops.n_loops):
        pair = held.pairs[held.pair_of[i]]
        if pair.n <= SIX:
            for r in range(ends[i].row, ends[i].row + 6 - DOF[ends[i].kind]):
                set_held(held.rows[pair.at + r - pair.first], ends[i], loops.rows[r].f, loops.rows[r].P)
            continue
        P, sign = loops.rows[pair.first].P, 1.0
        if ends[i].row == pair.first:
            for k in range(SIX):
                set_held(held.rows[pair.at + k], ends[i], loops.rows[pair.first].f, P)
        elif ends[i].ends[1].body != held.rows[pair.at].b:
            sign = -1.0
        for r in range(ends[i].row, ends[i].row + 6 - DOF[ends[i].kind]):
            f = shift_force(loops.rows[r].P - P, loops.rows[r].f) * (sign / reach_of(loops, r))
            set_force(held.K, 6 * r, f)
    for p in range(held.n_pairs):
        pair = held.pairs[p]
        if pair.n > SIX:
            open_pair(held, pair)
            rotate_closed(held.pair, held)
            for k in range(SIX):
                held.rows[pair.at + k].f = force_at(held.K, 6 * (pair.first + k))


@helper
def set_held(row, loop, f, P):
    row.a, row.b, row.f, row.P = loop.ends[0].body, loop.ends[1].body, f, P


@helper
def open_pair(held, pair):
    """The rows of a pair of bodies as a front, all of them closed."""
    front = held.pair
    front.n, front.K, front.H, front.b = pair.n, 6 * pair.first, pair.H, pair.first


@kernel(types.void(HybridBody.type), "rows of the hybrid body, factors", effort=2, nogil=True)
def factor_rows(hybrid):
    """Y and F, after joints have been eliminated; and rows eliminated from F."""
    m, x = open_reduced(hybrid)
    held = hybrid.closing
    if goes_by_fronts(hybrid):
        factor_by_fronts(hybrid, m, x)
        return
    front, loops = held.front, held.loops
    n, stride = front.n, front.stride
    for i in range(n * stride):
        held.Y[i] = 0.0
    for r in range(loops.n_rows):
        held.gives[r] = 0.0  # relations keep this: all rows are in F, where their columns are never rounding alone
    combine(held)
    for c in range(held.n_joint_rows):
        pass_row(hybrid, m, x, c)
    for i in range(loops.n_terms):
        pass_term(hybrid, m, x, i)
    for b in range(m.n):
        j, c = m.bodies[b].iv, held.first_dof[b]
        for k in range(DOF[m.bodies[b].kind]):
            held.d[c + k] = x.work.dofs[j + k].d
    for c in range(stride):
        held.room[c] = math.sqrt(max(held.d[c], 0.0))
    for r in range(n):
        for c in range(stride):
            held.F[r * stride + c] = held.room[c] * held.Y[r * stride + c]
    held.redundant = loops.n_rows - n
    scale_closed(front, x.work.path[0], held)
    eliminate_rows(front, held)


@helper
def pass_row(hybrid, m, x, c):
    """Pass the unit force of row c, and its opposite, from the two bodies to the world."""
    held = hybrid.closing
    row = held.rows[c]
    a, b = row.a, row.b
    f = on_body(held, x, row, c, a, -1.0)
    g = on_body(held, x, row, c, b, 1.0)
    while a >= 0 or b >= 0:
        if a == b:  # from here on as one
            f, b = f + g, -1
        if a > b:
            f, a = pass_joint(held, m, x, a, c, f), m.bodies[a].parent
        else:
            g, b = pass_joint(held, m, x, b, c, g), m.bodies[b].parent


@helper
def on_body(held, x, row, c, b, sign):
    """The force of a row on one of its bodies, about its origin."""
    o = Vec3(0.0, 0.0, 0.0)
    f = Force(o, o)
    if b >= 0:
        f = shift_force(row.P - held.loops.motions[held.loops.captured[b]].P, row.f) * sign
        if held.places[c].row >= 0:
            held.gives[held.places[c].row] += gives_way(articulated(x.work.bodies[b].I), f)
    return f


@helper
def pass_joint(held, m, x, b, r, f):
    """Pass a force along row r from body b to its parent."""
    kind, j, at = m.bodies[b].kind, m.bodies[b].iv, r * held.front.stride + held.first_dof[b]
    for k in range(DOF[kind] - 1, -1, -1):
        dof = x.work.dofs[j + k]
        y = tree_axis(kind, j + k, b, x.work) @ f
        held.Y[at + k] += y
        f = f - dof.U * (y * dof.d)
    return shift_force(x.work.bodies[b].r, f)


@helper
def pass_term(hybrid, m, x, i):
    """Pass a term of a relation to the world: a force at its joint."""
    held = hybrid.closing
    b, term = held.term_body[i], held.loops.terms[i]
    dof, c = x.work.dofs[term.iv], term.row - held.loops.n_rows + held.front.n  # relations are last
    held.Y[c * held.front.stride + held.first_dof[b]] += term.factor
    f = shift_force(x.work.bodies[b].r, dof.U * (-term.factor * dof.d))
    b = m.bodies[b].parent
    while b >= 0:
        f, b = pass_joint(held, m, x, b, c, f), m.bodies[b].parent


@helper
def combine_numbers(held):
    """b of the rows that are eliminated, from `numbers` of all rows."""
    loops = held.loops
    for p in range(held.n_pairs):
        pair = held.pairs[p]
        if pair.n > SIX:
            for r in range(pair.first, pair.first + pair.n):
                held.numbers[r] /= reach_of(loops, r)
            open_pair(held, pair)
            rotate_numbers(held.pair, held, held.numbers, False)
        for k in range(min(pair.n, SIX)):
            held.b[pair.at + k] = held.numbers[pair.first + k]
    for c in range(held.n_joint_rows, held.front.n):
        held.b[c] = held.numbers[held.places[c].row]


@kernel(types.void(HybridBody.type), "rows of the hybrid body, forces", nogil=True)
def hold_rows(hybrid):
    """Find the forces x by which rows accelerate as their g says, and add them to the forces u of joints."""
    m, x = open_reduced(hybrid)
    held = hybrid.closing
    if goes_by_fronts(hybrid):
        if hold_by_fronts(m, x, held):
            return
        hybrid.misjudged = 1
        factor_rows(hybrid)
    n, stride, Y, d = held.front.n, held.front.stride, held.Y, held.d
    for r in range(held.loops.n_rows):
        held.numbers[r] = held.loops.rows[r].g
    combine_numbers(held)
    for b in range(m.n):
        j, c = m.bodies[b].iv, held.first_dof[b]
        for k in range(DOF[m.bodies[b].kind]):
            a = d[c + k] * x.work.dofs[j + k].u
            for r in range(n):
                held.b[r] -= Y[r * stride + c + k] * a
    eliminate_numbers(held.front, held, held.b)
    find_forces(held.front, held, held.x)
    for b in range(m.n):
        j, c = m.bodies[b].iv, held.first_dof[b]
        for k in range(DOF[m.bodies[b].kind]):
            u = x.work.dofs[j + k].u
            for r in range(n):
                u += Y[r * stride + c + k] * held.x[r]
            x.work.dofs[j + k].u = u


@kernel(types.void(HybridBody.type), "rows of the hybrid body, bounces", nogil=True)
def bounce(hybrid):
    """Decide whether velocities bounce off loops in a kick, by the kinetic energy of what is forbidden of them."""
    held, energy = hybrid.closing, 0.0
    for r in range(held.loops.n_rows):
        held.bounced[r] = -2.0 * held.loops.rows[r].rate / hybrid.dt
        held.numbers[r] = held.loops.rows[r].rate
    if goes_by_fronts(hybrid):
        energy = respond_by_fronts(held)
    else:
        combine_numbers(held)
        eliminate_numbers(held.front, held, held.b)
        for i in range(held.front.rank):
            energy += 0.5 * held.E[held.front.E + i] * held.E[held.front.E + i]
    held.bounces = 1 if energy > BOUNCED * hybrid.then_kinetic else 0


@helper
def constrain(hybrid, at_half, anew):
    """Let loops hold the hybrid body, once joints have been eliminated. anew: at a new position."""
    if hybrid.n_loop_rows == 0:
        return
    held = hybrid.closing
    read_rows(hybrid, at_half)
    if anew:
        tell_rows(held, 1.0)
        factor_rows(hybrid)
        bounce(hybrid)
    if held.bounces:
        for r in range(held.loops.n_rows):
            held.loops.rows[r].g = held.bounced[r]
    hold_rows(hybrid)
