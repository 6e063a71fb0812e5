"""What makes rows of a front comparable, and what tells them apart [row_elimination.py].

Rows are compared after scaling: how far a row gives way to a unit force, if nothing holds the node, is made one for the
most yielding row of each cut joint, and of those that each child passed on; turns count by the size of the model. If
next to nothing is left of how far the two ends of a joint would give way alone, its rows are rounding: a door's second
hinge. A column of which too little is left once the others have been eliminated depends on them.

How little is too little depends on how far the loops are open. Rows that depend on each other wherever loops are closed
(Bricard's linkage) do so no longer beside those positions. Obeying them all would forbid the mechanism its motion. A
remainder that is not larger than what the gap explains is therefore left out. At a distance e from a singular position,
where rows are only about e apart, a gap of e d lies d away from where the loops are closed. Rows that are redundant
there have remainders of d^2 / e: the square root of the gap is between both.
"""

from __future__ import annotations

import math

from supple.spatial.algebra import Force, Vec3, dot
from supple.spatial.compiler import helper

RANK = 1e-10  #: a column whose remainder is shorter than this, of one, depends on the others; more where loops are open
BY_GAP, COARSEST = 10.0, 1e-2
NOISE = 1e-20  #: rows passed on whose squares are shorter than this, of one, are rounding
CANCELLED = 1e-22  #: so are rows, if no more than this is left of the square of how far their ends would give way alone


@helper
def least_remainder(gap):
    """The remainder that tells a row from others where loops are open by `gap`."""
    return max(RANK, min(BY_GAP * math.sqrt(gap), COARSEST))


@helper
def reach_of(loops, r):
    """How far a turn of one radian moves along a row: the size of the model, or one for rows that turn themselves."""
    f = loops.rows[r].f
    return loops.size if dot(f.lin, f.lin) > 0.0 else 1.0


@helper
def place_of(front, mechanism, c):
    """What belongs to column c of a front, of a closed row."""
    return mechanism.places[front.places + c - front.n_open]


@helper
def scale_closed(front, node, mechanism):
    """What makes closed rows comparable: how far each gives way to a unit force, if nothing holds the node."""
    for c in range(front.n_open, front.n):
        square = column_square(mechanism.F, front.F + c * front.stride, front.n_F)
        if not front.is_base:
            square += gives_way(node.IA, force_at(mechanism.K, front.K + 6 * c))
        place_of(front, mechanism, c).scale = square
    scale_blocks(front, mechanism)


@helper
def scale_blocks(front, mechanism):
    """The scales of closed rows, from the squares of their lengths, which are in `scale`."""
    places, at = mechanism.places, front.places
    end = at + front.n - front.n_open
    while at < end:
        stop, most, free = at, 0.0, 0.0
        while stop < end and places[stop].block == places[at].block:
            place = places[stop]
            reach = reach_of(mechanism.loops, place.row) if place.row >= 0 else 1.0
            most = max(most, place.scale / (reach * reach))
            place.scale = 1.0 / reach
            free = max(free, mechanism.gives[place.row] / (reach * reach) if place.row >= 0 else NOISE / CANCELLED)
            stop += 1
        whole = 1.0 / math.sqrt(most) if most > CANCELLED * free else 0.0
        while at < stop:
            places[at].scale *= whole
            at += 1


@helper
def column_square(F, at, n):
    t = 0.0
    for i in range(n):
        t += F[at + i] * F[at + i]
    return t


@helper
def force_at(K, i):
    return Force(Vec3(K[i], K[i + 1], K[i + 2]), Vec3(K[i + 3], K[i + 4], K[i + 5]))


@helper
def gives_way(IA, f):
    """About how far a body gives way to a force, by its largest inertias: a thin rod has none about itself."""
    J, M = max(IA.A.xx, IA.A.yy, IA.A.zz), max(IA.M.xx, IA.M.yy, IA.M.zz)
    turns = dot(f.ang, f.ang) / J if J > 0.0 else 0.0
    slides = dot(f.lin, f.lin) / M if M > 0.0 else 0.0
    return turns + slides


@helper
def apply_scale(front, mechanism):
    """Scale the closed columns of K and F."""
    for c in range(front.n_open, front.n):
        s = place_of(front, mechanism, c).scale
        for i in range(6):
            mechanism.K[front.K + 6 * c + i] *= s
        for i in range(front.n_F):
            mechanism.F[front.F + c * front.stride + i] *= s


@helper
def scale_numbers(front, mechanism, x):
    """Scale a number for each closed row."""
    for c in range(front.n_open, front.n):
        x[front.b + c] *= place_of(front, mechanism, c).scale
