"""Small dense steps of fronts.py: how rows of one front are eliminated, by orthogonal transformations alone.

    symbol   what
    K        the force about the node that a unit force along each row exerts, six numbers a row
    F        F^T F x are the accelerations along rows that forces x cause below the node; stored by columns, one a row
             of the front
    Q        rotates closed rows, x = Q z, so that only the first six of K Q are not zero
    Z, T     of the eliminated rows, where some depend on others: their part of F is T Z^T

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
SURE = 1e-4  #: of a square from which others were subtracted: where less is left, it is summed again
NOISE = 1e-20  #: rows passed on whose squares are shorter than this, of one, are rounding
CANCELLED = 1e-22  #: so are rows, if no more than this is left of the square of how far their ends would give way alone
SIX = 6


@helper
def least_remainder(gap):
    """The remainder that tells a row from others where loops are open by `gap`."""
    return max(RANK, min(BY_GAP * math.sqrt(gap), COARSEST))


@helper
def reflection(v, n):
    """Make of v[:n] the vector of a reflection that turns it along its first axis. Returns its factor 2 / v.v, and
    what the first entry becomes."""
    square = 0.0
    for i in range(1, n):
        square += v[i] * v[i]
    first = v[0]
    if square == 0.0:
        return 0.0, first
    length = math.sqrt(first * first + square)
    v[0] = first + length if first > 0.0 else first - length
    return 2.0 / (v[0] * v[0] + square), -length if first > 0.0 else length


@helper
def reflect_column(F, at, v, factor, n):
    """Reflect n entries of F."""
    t = 0.0
    for i in range(n):
        t += v[i] * F[at + i]
    t *= factor
    for i in range(n):
        F[at + i] -= t * v[i]


@helper
def reflect_four(F, a, b, c, d, v, factor, n):
    """Reflect n entries of F at four places: together, since every sum waits for its own last term."""
    s, t, u, w = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        s += v[i] * F[a + i]
        t += v[i] * F[b + i]
        u += v[i] * F[c + i]
        w += v[i] * F[d + i]
    s, t, u, w = factor * s, factor * t, factor * u, factor * w
    for i in range(n):
        F[a + i] -= s * v[i]
        F[b + i] -= t * v[i]
        F[c + i] -= u * v[i]
        F[d + i] -= w * v[i]


@helper
def column_square(F, at, n):
    t = 0.0
    for i in range(n):
        t += F[at + i] * F[at + i]
    return t


@helper
def triangular(F, at, stride, columns, n, room):
    """Make n rows of some columns of F, the first of which begins at `at`, upper triangular. Returns how many rows are
    left."""
    for j in range(min(columns, n)):
        reflect_columns(F, at + j * stride + j, stride, columns - j, n - j, room)
    return min(columns, n)


@helper
def reflect_first(F, at, n, room):
    """The reflection, into room, after which only the first of n entries of F is not zero. Returns its factor."""
    for i in range(n):
        room[i] = F[at + i]
    factor, F[at] = reflection(room, n)
    for i in range(1, n):
        F[at + i] = 0.0
    return factor


@helper
def reflect_columns(F, at, stride, columns, n, room):
    """Reflect n rows of some columns of F, so that only the first number of the first column is left of it."""
    factor = reflect_first(F, at, n, room)
    if factor != 0.0:
        for k in range(1, columns):
            reflect_column(F, at + k * stride, room, factor, n)


@helper
def rotate_closed(front, mechanism):
    """Q: six reflections of the closed rows, which leave only six of them with a force on the node."""
    K, F, H, room = mechanism.K, mechanism.F, mechanism.H, mechanism.room
    first, n = front.n_open, front.n - front.n_open
    for i in range(SIX):
        v = front.H + i * (n + 1)  # the vector, then its factor
        for j in range(i, n):
            H[v + j] = K[front.K + 6 * (first + j) + i]
        for j in range(i):
            H[v + j] = 0.0
        square = 0.0
        for j in range(i + 1, n):
            square += H[v + j] * H[v + j]
        head = H[v + i]
        factor = 0.0
        if square > 0.0:
            length = math.sqrt(head * head + square)
            H[v + i] = head + length if head > 0.0 else head - length
            factor = 2.0 / (H[v + i] * H[v + i] + square)
        H[v + n] = factor
        if factor == 0.0:
            continue
        for c in range(i, SIX):
            t = 0.0
            for j in range(i, n):
                t += H[v + j] * K[front.K + 6 * (first + j) + c]
            t *= factor
            for j in range(i, n):
                K[front.K + 6 * (first + j) + c] -= t * H[v + j]
        for k in range(front.n_F):
            room[k] = 0.0
        for j in range(i, n):
            at = front.F + (first + j) * front.stride
            for k in range(front.n_F):
                room[k] += H[v + j] * F[at + k]
        for j in range(i, n):
            at, h = front.F + (first + j) * front.stride, factor * H[v + j]
            for k in range(front.n_F):
                F[at + k] -= h * room[k]


@helper
def rotate_numbers(front, mechanism, x, back):
    """Q^T times the closed ones of a number a row; back: Q times."""
    H = mechanism.H
    first, n = front.b + front.n_open, front.n - front.n_open
    for step in range(SIX):
        i = SIX - 1 - step if back else step
        v = front.H + i * (n + 1)
        t = 0.0
        for j in range(i, n):
            t += H[v + j] * x[first + j]
        t *= H[v + n]
        for j in range(i, n):
            x[first + j] -= t * H[v + j]


@helper
def reach_of(loops, r):
    """How far a turn of one radian moves along a row: the size of the model, or one for rows that turn themselves."""
    f = loops.rows[r].f
    return loops.size if dot(f.lin, f.lin) > 0.0 else 1.0


@helper
def scale_closed(front, node, mechanism):
    """What makes closed rows comparable: how far each gives way to a unit force, if nothing holds the node."""
    for c in range(front.n_open, front.n):
        square = column_square(mechanism.F, front.F + c * front.stride, front.n_F)
        if not front.is_base:
            square += gives_way(node.IA, force_at(mechanism.K, front.K + 6 * c))
        mechanism.scale[front.b + c] = square
    scale_blocks(front, mechanism)


@helper
def scale_blocks(front, mechanism):
    """The scales of closed rows, from the squares of their lengths, which are in `scale`."""
    scale, block = mechanism.scale, mechanism.block
    c = front.n_open
    while c < front.n:
        stop, most, free = c, 0.0, 0.0
        while stop < front.n and block[front.b + stop] == block[front.b + c]:
            reach = reach_at(mechanism, front.b + stop)
            most = max(most, scale[front.b + stop] / (reach * reach))
            scale[front.b + stop] = 1.0 / reach
            row = mechanism.row_of[front.b + stop]
            free = max(free, mechanism.gives[row] / (reach * reach) if row >= 0 else NOISE / CANCELLED)
            stop += 1
        whole = 1.0 / math.sqrt(most) if most > CANCELLED * free else 0.0
        while c < stop:
            scale[front.b + c] *= whole
            c += 1


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
def reach_at(mechanism, place):
    """How far a turn of one radian moves along the row in a place."""
    return reach_of(mechanism.loops, mechanism.row_of[place]) if mechanism.row_of[place] >= 0 else 1.0


@helper
def apply_scale(front, mechanism):
    """Scale the closed columns of K and F."""
    for c in range(front.n_open, front.n):
        s = mechanism.scale[front.b + c]
        for i in range(6):
            mechanism.K[front.K + 6 * c + i] *= s
        for i in range(front.n_F):
            mechanism.F[front.F + c * front.stride + i] *= s


@helper
def scale_numbers(front, mechanism, x):
    """Scale a number for each closed row."""
    for c in range(front.b + front.n_open, front.b + front.n):
        x[c] *= mechanism.scale[c]


@helper
def begin_elimination(front, pivots):
    """How many rows are eliminated; in which order is not known yet."""
    first = front.n_open + front.n_kept
    for j in range(front.n - first):
        pivots[front.b + j] = first + j
    return front.n - first


@helper
def eliminate_rows(front, mechanism):
    """Make F triangular in the columns of the eliminated rows, longest remaining column first, and find their rank.
    How long they are is in E, which is free until then: the square that is left of each, and the one from which it was
    last subtracted; where rounding might matter, it is summed again."""
    E, pivots, b = mechanism.E, mechanism.pivots, front.b
    gone, first, rank = begin_elimination(front, pivots), front.n_open + front.n_kept, 0
    most = min(gone, front.n_F)
    left, whole = front.E - first, front.E - first + gone
    if most > 0:
        for c in range(first, front.n):
            E[left + c] = E[whole + c] = square_left(front, mechanism, c, 0)
    while rank < most:
        best, length = rank, -1.0
        for j in range(rank, gone):
            c = pivots[b + j]
            if not E[left + c] > SURE * E[whole + c]:
                E[left + c] = E[whole + c] = square_left(front, mechanism, c, rank)
            if E[left + c] > length:
                best, length = j, E[left + c]
        if not length > mechanism.least * mechanism.least:
            break
        choose_pivot(front, pivots, rank, best)
        eliminate_pivot(front, mechanism, rank)
        for j in range(rank + 1, gone):
            c = pivots[b + j]
            x = mechanism.F[front.F + c * front.stride + rank] * scale_at(front, mechanism, c)
            E[left + c] -= x * x
        rank += 1
    finish_elimination(front, mechanism, rank)


@helper
def scale_at(front, mechanism, c):
    """What makes column c comparable: at a base; elsewhere the columns are scaled."""
    return mechanism.scale[front.b + c] if front.is_base else 1.0


@helper
def square_left(front, mechanism, c, rank):
    """The square of what is left of column c."""
    t = column_square(mechanism.F, front.F + c * front.stride + rank, front.n_F - rank)
    return t * scale_at(front, mechanism, c) ** 2


@helper
def choose_pivot(front, pivots, rank, best):
    """The eliminated row in place `best` is the next."""
    p = pivots[front.b + best]
    pivots[front.b + best] = pivots[front.b + rank]
    pivots[front.b + rank] = p


@helper
def eliminate_pivot(front, mechanism, rank):
    """Make F triangular in one more column."""
    F, room, pivots, stride = mechanism.F, mechanism.room, mechanism.pivots, front.stride
    first, left = front.n_open + front.n_kept, front.n_F - rank
    factor = reflect_first(F, front.F + pivots[front.b + rank] * stride + rank, left, room)
    if factor == 0.0:
        return
    at, j, gone = front.F + rank, rank + 1, front.n - first
    while j + 3 < gone:
        k = front.b + j
        reflect_four(
            F, at + pivots[k] * stride, at + pivots[k + 1] * stride, at + pivots[k + 2] * stride,
            at + pivots[k + 3] * stride, room, factor, left,
        )  # fmt: skip
        j += 4
    for k in range(j, gone):
        reflect_column(F, at + pivots[front.b + k] * stride, room, factor, left)
    for c in range(first):
        reflect_column(F, at + c * stride, room, factor, left)


@helper
def finish_elimination(front, mechanism, rank):
    """Note how many rows do not depend on others, and turn those that do."""
    gone = front.n - front.n_open - front.n_kept
    front.rank = rank
    mechanism.redundant += gone - rank
    if rank < gone:
        reflect_dependent(front, mechanism)


@helper
def reflect_dependent(front, mechanism):
    """Z: reflections of dependent rows, so that the part of F of eliminated rows is triangular with as many columns as
    their rank; from its last row to its first."""
    F, E, pivots, stride = mechanism.F, mechanism.E, mechanism.pivots, front.stride
    rank, gone = front.rank, front.n - front.n_open - front.n_kept
    extra = gone - rank
    for step in range(rank):
        i = rank - 1 - step
        v = front.E + gone + i * (gone + 1)  # entries for column i and the dependent columns; then the factor
        head = F[front.F + pivots[front.b + i] * stride + i]
        square = 0.0
        for j in range(extra):
            E[v + 1 + j] = F[front.F + pivots[front.b + rank + j] * stride + i]
            square += E[v + 1 + j] * E[v + 1 + j]
        E[v + gone] = 0.0
        if square == 0.0:
            continue
        length = math.sqrt(head * head + square)
        E[v] = head + length if head > 0.0 else head - length
        factor = 2.0 / (E[v] * E[v] + square)
        E[v + gone] = factor
        for k in range(i + 1):
            one = front.F + pivots[front.b + i] * stride + k
            t = E[v] * F[one]
            for j in range(extra):
                t += E[v + 1 + j] * F[front.F + pivots[front.b + rank + j] * stride + k]
            t *= factor
            F[one] -= t * E[v]
            for j in range(extra):
                F[front.F + pivots[front.b + rank + j] * stride + k] -= t * E[v + 1 + j]


@helper
def turn_dependent(front, mechanism, x, back):
    """Z^T times the numbers of eliminated rows; back: Z times."""
    E, pivots = mechanism.E, mechanism.pivots
    rank, gone = front.rank, front.n - front.n_open - front.n_kept
    for step in range(rank):
        i = step if back else rank - 1 - step
        v = front.E + gone + i * (gone + 1)
        if E[v + gone] == 0.0:
            continue
        one = front.b + pivots[front.b + i]
        t = E[v] * x[one]
        for j in range(gone - rank):
            t += E[v + 1 + j] * x[front.b + pivots[front.b + rank + j]]
        t *= E[v + gone]
        x[one] -= t * E[v]
        for j in range(gone - rank):
            x[front.b + pivots[front.b + rank + j]] -= t * E[v + 1 + j]


@helper
def eliminate_numbers(front, mechanism):
    """w with T^T w = b of eliminated rows; what they leave for the others is subtracted from their b."""
    F, E, b, pivots, stride = mechanism.F, mechanism.E, mechanism.b, mechanism.pivots, front.stride
    rank, first = front.rank, front.n_open + front.n_kept
    if rank < front.n - first:
        turn_dependent(front, mechanism, b, False)
    for i in range(rank):
        column = front.F + pivots[front.b + i] * stride
        t = b[front.b + pivots[front.b + i]]
        for k in range(i):
            t -= F[column + k] * E[front.E + k]
        E[front.E + i] = t / F[column + i]
    for c in range(first):
        t, column = 0.0, front.F + c * stride
        for i in range(rank):
            t += F[column + i] * E[front.E + i]
        b[front.b + c] -= t


@helper
def find_forces(front, mechanism):
    """x of the eliminated rows, from those of the others."""
    F, E, x, pivots, room, stride = (
        mechanism.F, mechanism.E, mechanism.x, mechanism.pivots, mechanism.room, front.stride,
    )  # fmt: skip
    rank, first = front.rank, front.n_open + front.n_kept
    for i in range(rank):
        room[i] = E[front.E + i]
    for c in range(first):
        t, column = x[front.b + c], front.F + c * stride
        for i in range(rank):
            room[i] -= F[column + i] * t
    for step in range(rank):
        i = rank - 1 - step
        column = front.F + pivots[front.b + i] * stride
        t = room[i] / F[column + i]
        x[front.b + pivots[front.b + i]] = t
        for k in range(i):
            room[k] -= F[column + k] * t
    for j in range(rank, front.n - first):
        x[front.b + pivots[front.b + j]] = 0.0
    if rank < front.n - first:
        turn_dependent(front, mechanism, x, True)
