"""Small dense steps of fronts.py: how rows of one front are eliminated, by orthogonal transformations alone.

symbol   what
K        the force about the node that a unit force along each row exerts, six numbers a row
F        F^T F x are the accelerations along rows that forces x cause below the node; stored by columns, one a row
         of the front
Q        rotates closed rows, x = Q z, so that only the first six of K Q are not zero
Z, T     of the eliminated rows, where some depend on others: their part of F is T Z^T. Solutions need it and what
         is beside it in F, which are kept by rows; the rest of F is passed on
"""

from __future__ import annotations

import math

from supple.exact.row_scales import column_square, place_of
from supple.spatial.compiler import helper

SIX = 6
SURE = 1e-4  #: of a square from which others were subtracted: where less is left, it is summed again


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
def pivot_at(front, mechanism, j):
    """The column of the row that is eliminated as the j-th."""
    return mechanism.places[front.places + j].pivot


@helper
def begin_elimination(front, mechanism):
    """How many rows are eliminated; in which order is not known yet."""
    first = front.n_open + front.n_kept
    for j in range(front.n - first):
        mechanism.places[front.places + j].pivot = first + j
    return front.n - first


@helper
def eliminate_rows(front, mechanism):
    """Make F triangular in the columns of the eliminated rows, longest remaining column first, and find their rank.
    How long they are is in E, which is free until then: the square that is left of each, and the one from which it was
    last subtracted; where rounding might matter, it is summed again."""
    E = mechanism.E
    gone, first, rank = begin_elimination(front, mechanism), front.n_open + front.n_kept, 0
    most = min(gone, front.n_F)
    left, whole = front.E - first, front.E - first + gone
    if most > 0:
        for c in range(first, front.n):
            E[left + c] = E[whole + c] = square_left(front, mechanism, c, 0)
    while rank < most:
        best, length = rank, -1.0
        for j in range(rank, gone):
            c = pivot_at(front, mechanism, j)
            if not E[left + c] > SURE * E[whole + c]:
                E[left + c] = E[whole + c] = square_left(front, mechanism, c, rank)
            if E[left + c] > length:
                best, length = j, E[left + c]
        if not length > mechanism.least * mechanism.least:
            break
        choose_pivot(front, mechanism, rank, best)
        eliminate_pivot(front, mechanism, rank)
        for j in range(rank + 1, gone):
            c = pivot_at(front, mechanism, j)
            x = mechanism.F[front.F + c * front.stride + rank] * scale_at(front, mechanism, c)
            E[left + c] -= x * x
        rank += 1
    finish_elimination(front, mechanism, rank)


@helper
def scale_at(front, mechanism, c):
    """What makes column c comparable: at a base; elsewhere the columns are scaled."""
    return place_of(front, mechanism, c).scale if front.is_base else 1.0


@helper
def square_left(front, mechanism, c, rank):
    """The square of what is left of column c."""
    t = column_square(mechanism.F, front.F + c * front.stride + rank, front.n_F - rank)
    return t * scale_at(front, mechanism, c) ** 2


@helper
def choose_pivot(front, mechanism, rank, best):
    """The row that would be eliminated as number `best` is the next."""
    one, two = mechanism.places[front.places + best], mechanism.places[front.places + rank]
    p = one.pivot
    one.pivot = two.pivot
    two.pivot = p


@helper
def eliminate_pivot(front, mechanism, rank):
    """Make F triangular in one more column."""
    F, room, stride = mechanism.F, mechanism.room, front.stride
    first, left = front.n_open + front.n_kept, front.n_F - rank
    factor = reflect_first(F, front.F + pivot_at(front, mechanism, rank) * stride + rank, left, room)
    if factor == 0.0:
        return
    at, j, gone = front.F + rank, rank + 1, front.n - first
    while j + 3 < gone:
        reflect_four(
            F, at + pivot_at(front, mechanism, j) * stride, at + pivot_at(front, mechanism, j + 1) * stride,
            at + pivot_at(front, mechanism, j + 2) * stride, at + pivot_at(front, mechanism, j + 3) * stride,
            room, factor, left,
        )  # fmt: skip
        j += 4
    for k in range(j, gone):
        reflect_column(F, at + pivot_at(front, mechanism, k) * stride, room, factor, left)
    for c in range(first):
        reflect_column(F, at + c * stride, room, factor, left)


@helper
def finish_elimination(front, mechanism, rank):
    """Note how many rows do not depend on others, turn those that do, and keep what solutions need."""
    gone = front.n - front.n_open - front.n_kept
    front.rank = rank
    mechanism.redundant += gone - rank
    if rank < gone:
        reflect_dependent(front, mechanism)
    keep_triangle(front, mechanism)


@helper
def reflect_dependent(front, mechanism):
    """Z: reflections of dependent rows, so that the part of F of eliminated rows is triangular with as many columns as
    their rank; from its last row to its first."""
    F, E, stride = mechanism.F, mechanism.E, front.stride
    rank, gone = front.rank, front.n - front.n_open - front.n_kept
    extra = gone - rank
    for step in range(rank):
        i = rank - 1 - step
        v = front.E + gone + i * (gone + 1)  # entries for column i and the dependent columns; then the factor
        column = front.F + pivot_at(front, mechanism, i) * stride
        head = F[column + i]
        square = 0.0
        for j in range(extra):
            E[v + 1 + j] = F[front.F + pivot_at(front, mechanism, rank + j) * stride + i]
            square += E[v + 1 + j] * E[v + 1 + j]
        E[v + gone] = 0.0
        if square == 0.0:
            continue
        length = math.sqrt(head * head + square)
        E[v] = head + length if head > 0.0 else head - length
        factor = 2.0 / (E[v] * E[v] + square)
        E[v + gone] = factor
        for k in range(i + 1):
            t = E[v] * F[column + k]
            for j in range(extra):
                t += E[v + 1 + j] * F[front.F + pivot_at(front, mechanism, rank + j) * stride + k]
            t *= factor
            F[column + k] -= t * E[v]
            for j in range(extra):
                F[front.F + pivot_at(front, mechanism, rank + j) * stride + k] -= t * E[v + 1 + j]


@helper
def keep_triangle(front, mechanism):
    """T and what is beside it in F, by rows; T last, its columns in the order of elimination."""
    F, T = mechanism.F, mechanism.T
    first, rank = front.n_open + front.n_kept, front.rank
    for c in range(first):
        column = front.F + c * front.stride
        for i in range(rank):
            T[front.T + i * front.n + c] = F[column + i]
    for j in range(rank):
        column = front.F + pivot_at(front, mechanism, j) * front.stride
        for i in range(j + 1):
            T[front.T + i * front.n + first + j] = F[column + i]


@helper
def turn_dependent(front, mechanism, x, back):
    """Z^T times the numbers of eliminated rows; back: Z times."""
    E = mechanism.E
    rank, gone = front.rank, front.n - front.n_open - front.n_kept
    for step in range(rank):
        i = step if back else rank - 1 - step
        v = front.E + gone + i * (gone + 1)
        if E[v + gone] == 0.0:
            continue
        one = front.b + pivot_at(front, mechanism, i)
        t = E[v] * x[one]
        for j in range(gone - rank):
            t += E[v + 1 + j] * x[front.b + pivot_at(front, mechanism, rank + j)]
        t *= E[v + gone]
        x[one] -= t * E[v]
        for j in range(gone - rank):
            x[front.b + pivot_at(front, mechanism, rank + j)] -= t * E[v + 1 + j]


@helper
def eliminate_numbers(front, mechanism, b):
    """w with T^T w = b of eliminated rows; what they leave for the others is subtracted from their b."""
    T, w = mechanism.T, mechanism.E
    rank, first = front.rank, front.n_open + front.n_kept
    if rank < front.n - first:
        turn_dependent(front, mechanism, b, False)
    for i in range(rank):
        w[front.E + i] = b[front.b + pivot_at(front, mechanism, i)]
    for i in range(rank):
        row = front.T + i * front.n
        t = w[front.E + i] / T[row + first + i]
        w[front.E + i] = t
        for k in range(i + 1, rank):
            w[front.E + k] -= T[row + first + k] * t
        for c in range(first):
            b[front.b + c] -= T[row + c] * t


@helper
def find_forces(front, mechanism, x):
    """x of the eliminated rows, from those of the others."""
    T, w, room = mechanism.T, mechanism.E, mechanism.room
    rank, first = front.rank, front.n_open + front.n_kept
    for step in range(rank):
        i = rank - 1 - step
        row = front.T + i * front.n
        t = w[front.E + i]
        for c in range(first):
            t -= T[row + c] * x[front.b + c]
        for k in range(i + 1, rank):
            t -= T[row + first + k] * room[k]
        room[i] = t / T[row + first + i]
    for i in range(rank):
        x[front.b + pivot_at(front, mechanism, i)] = room[i]
    for j in range(rank, front.n - first):
        x[front.b + pivot_at(front, mechanism, j)] = 0.0
    if rank < front.n - first:
        turn_dependent(front, mechanism, x, True)
