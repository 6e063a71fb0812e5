"""The solution of y = y0 + Lambda x = 0 for the forces x of loops, over the assembly tree [loop_forces.py].

A pass for each row gives Lambda. The solution is improved until y is nothing but rounding: what is wrong with Lambda
only delays that.

**The error of x.** The y that are left, and what rounding hides of y0 and Lambda x, are the effect of wrong forces d,
with Lambda d = y; the signs of y are those that make d large. The accelerations of all joints that d would cause are
the root of their total, which is a quadratic function of d: it is seen in the totals for x + t d and x - t d, with t so
large that rounding does not matter. A row that is left out, because it seems to depend on others, may be as far from
them as what tells rows apart elsewhere [exact/row_scales.py]. What undoes its y is that much larger, and counts as
accelerations along the most yielding row of the same loop; if y is more than rounding, the row may be nearer still, and
the whole body is solved instead [whole_loops.py].
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.balance import sizes_in_basis
from supple.adaptive.dependent_rows import factor_rows, solve_for_largest, solve_rows
from supple.adaptive.loop_forces import LoopForces, apply_forces, find_accelerations, find_sizes, place_ends
from supple.adaptive.memory import QuasiStaticBody
from supple.adaptive.total_acceleration import total_acceleration
from supple.assembly.passes import closing_of
from supple.exact.closure import widest_gap
from supple.exact.row_scales import least_remainder, reach_of
from supple.integrating.push_law import length
from supple.model.joint_poses import DOF
from supple.spatial.algebra import dot, shift_force
from supple.spatial.compiler import helper, kernel
from supple.spatial.cpu import set_six, six

RANK = 1e-6  #: a row of which less remains, of one, depends on others: Lambda has half the digits of its factors
ROUNDING = 1e-14  #: rows that give way by no more than this, of what their ends would do alone, are rounding
MOST = 10  #: improvements
LARGER = 16.0  #: unit forces are such that accelerations along rows become so many times larger than without them
FAILED = 1e-6  #: accelerations along rows, compared with the terms of which they are differences: Lambda is useless
UNIT = 2.0**-53  #: unit roundoff
CLOSEST = 1e-8  #: rows that may be nearer than this to others, of one, are not


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
    n, most, free, chief = held.loops.n_rows, 0.0, 0.0, first
    for r in range(first, end):
        reach = reach_of(held.loops, r)
        if held.L[n * r + r] / (reach * reach) > most:
            most, chief = held.L[n * r + r] / (reach * reach), r
        free = max(free, held.gives[r] / (reach * reach))
    whole = 1.0 / math.sqrt(most) if most > ROUNDING * free else 0.0
    for r in range(first, end):
        held.scale[r], held.chief[r] = whole / reach_of(held.loops, r), chief


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
        held.yields[r] = math.sqrt(max(L[n * r + r], held.gives[r]))
    for r in range(n):
        for s in range(n):
            L[n * r + s] *= held.scale[r] * held.scale[s]
    held.rank = factor_rows(L, held.order, n, max(RANK, least_remainder(widest_gap(loops))))


@helper
def undo(held):
    """`change`, which has accelerations along rows, becomes the forces that cause them."""
    n = held.loops.n_rows
    for r in range(n):
        held.change[r] *= held.scale[r]
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
            held.change[r] = -held.y[r]
        undo(held)
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
def find_wrong(held):
    """Forces by which x may be wrong, into `change`, which has what rounding hides of y."""
    n, change = held.loops.n_rows, held.change
    near = max(CLOSEST, least_remainder(widest_gap(held.loops)))
    for r in range(n):
        change[r] = held.scale[r] * max(abs(held.y[r]), change[r])
    solve_for_largest(held.L, held.order, held.rank, n, change)
    for a in range(held.rank, n):
        r = held.order[a]
        left = held.scale[r] * max(abs(held.y[r]), UNIT * held.size[r]) / near
        change[held.chief[r]] += math.copysign(left, change[held.chief[r]])
    for r in range(n):
        change[r] *= held.scale[r]


@helper
def error_of_forces(qs, held):
    """The accelerations of all joints, the root of the sum of their squares, by which the forces x are wrong."""
    n, most, level, pressed = held.loops.n_rows, 0.0, 0.0, 0.0
    for r in range(n):
        pressed += held.yields[r] * abs(held.x[r])
    for r in range(n):
        hidden = qs.digits * (held.size[r] + held.yields[r] * pressed)
        most, level = max(most, abs(held.y[r]), hidden), max(level, held.size[r])
        held.change[r] = hidden
    if most == 0.0:
        return 0.0
    for a in range(held.rank, n):
        if abs(held.y[held.order[a]]) > held.change[held.order[a]]:
            return math.inf
    find_wrong(held)
    for r in range(n):
        held.kept[r] = held.x[r]
    t = max(level / most, 1.0)
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
    find_sizes(held.loops, qs.body.qdd, held)
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
