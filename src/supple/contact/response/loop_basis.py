"""The orthonormal basis Q of the constraint rows of loops, by the Gram-Schmidt process [mechanisms.py].

A row that is small after orthogonalization, compared with the longest of its loop, depends on others and is left out:
redundant rows do no harm. Neither does a loop all of whose rows are rounding errors, such as a door's second hinge
[row_scales.py].
"""

from __future__ import annotations

import math

from supple.contact.response.rows import lift_pair, row_of_dof
from supple.exact.closure import find_relations, find_rows, hold_world, widest_gap
from supple.exact.row_scales import CANCELLED, gives_way, least_remainder, reach_of
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Force, Motion, Vec3, articulated, shift_force
from supple.spatial.compiler import helper, part

# --- the rows of a loop -----------------------------------------------------------------------------------------------


@helper
def place_ends(loops, bodies, n):
    """Places the bodies at the ends of loops."""
    o = Vec3(0.0, 0.0, 0.0)
    still = Motion(o, o)
    hold_world(loops, still)
    for b in range(n):
        if loops.captured[b] >= 0:
            end = loops.motions[loops.captured[b]]
            end.R, end.P, end.V, end.zeta = bodies[b].R, bodies[b].P, still, still


@helper
def force_of_row(scene, loops, k, last, b, sign):
    """The unit force along row k on a body, about its origin; zero beyond the last row of a loop."""
    o = Vec3(0.0, 0.0, 0.0)
    f = Force(o, o)
    if k < last:
        row = loops.rows[k]
        f = shift_force(row.P - scene.bodies[b].P if b >= 0 else row.P, row.f) * sign
    return f


@part
def lift_rows(scene, work, loops, loop, k):
    """Appends the entries of three rows of a loop, from row k on."""
    last, a, b = loop.row + 6 - DOF[loop.kind], loop.ends[1].body, loop.ends[0].body
    f, g, h = (
        force_of_row(scene, loops, k, last, a, 1.0),
        force_of_row(scene, loops, k + 1, last, a, 1.0),
        force_of_row(scene, loops, k + 2, last, a, 1.0),
    )
    lift_pair(
        scene, work, a, b, f, g, h,
        force_of_row(scene, loops, k, last, b, -1.0), force_of_row(scene, loops, k + 1, last, b, -1.0),
        force_of_row(scene, loops, k + 2, last, b, -1.0),
    )  # fmt: skip


@helper
def component(y, i):
    return y.x if i == 0 else (y.y if i == 1 else y.z)


@helper
def longest_row(scene, loops, loop, half):
    """The length of a loop's longest row; the first three rows have `half` entries. Translational rows are divided by
    the size of the model."""
    most = 0.0
    for i in range(6 - DOF[loop.kind]):
        square = 0.0
        for e in range(0 if i < 3 else half, half if i < 3 else scene.n_entries):
            y = component(scene.entries[e].y, i % 3)
            square += y * y
        most = max(most, math.sqrt(square) / reach_of(loops, loop.row + i))
    return most


@helper
def alone(work, b, f):
    """Approximate response of an unconstrained body to a force; squared, as that of rows."""
    return gives_way(articulated(work.bodies[b].I), f) if b >= 0 else 0.0


@helper
def gives_alone(scene, work, loops, loop):
    """The largest such response of the two ends of a loop, of all its rows."""
    last, a, b, most = loop.row + 6 - DOF[loop.kind], loop.ends[1].body, loop.ends[0].body, 0.0
    for k in range(loop.row, last):
        square = alone(work, a, force_of_row(scene, loops, k, last, a, 1.0))
        square += alone(work, b, force_of_row(scene, loops, k, last, b, 1.0))
        most = max(most, square / reach_of(loops, k) ** 2)
    return most


# --- the basis --------------------------------------------------------------------------------------------------------


@helper
def dot_rows(Q, a, b, n):
    total = 0.0
    for i in range(n):
        total += Q[a + i] * Q[b + i]
    return total


@part
def add_to_basis(M, scene, begin, end, i, least):
    """Orthogonalizes the i-th of the three rows with entries `begin` to `end`, and adds it to the basis if what remains
    is longer than `least`. Done twice, which is enough."""
    if end == begin:
        return
    c, Q = M.mechanism[scene.entries[begin].dof], M.Q
    n, first = M.first[c + 1] - M.first[c], M.begin[c]
    at = first + M.rank[c] * n
    for p in range(n):
        Q[at + p] = 0.0
    for e in range(begin, end):
        Q[at + M.place[scene.entries[e].dof]] += component(scene.entries[e].y, i)
    for _ in range(2):
        for r in range(M.rank[c]):
            other = first + r * n
            s = dot_rows(Q, other, at, n)
            for p in range(n):
                Q[at + p] -= s * Q[other + p]
    length = math.sqrt(dot_rows(Q, at, at, n))
    if length > least and M.rank[c] < n:
        for p in range(n):
            Q[at + p] /= length
        M.rank[c] += 1


@helper
def begin_basis(M, scene, q, v):
    """The rows of all loops at the poses of scene.bodies, and an empty basis. Returns the relative length below which a
    remainder is treated as zero."""
    loops, M.found = M.loops, 0
    place_ends(loops, scene.bodies, scene.model.n)
    find_rows(loops)
    find_relations(loops, q, v)
    for c in range(M.n):
        M.rank[c] = 0
    return least_remainder(widest_gap(loops))


@part
def add_loop(M, scene, work, loop, least):
    """Adds the rows of a loop joint. Returns whether there was memory for their entries."""
    loops, scene.n_entries = M.loops, 0
    lift_rows(scene, work, loops, loop, loop.row)
    half = scene.n_entries
    lift_rows(scene, work, loops, loop, loop.row + 3)
    if scene.n_entries > scene.room:
        return False
    most = longest_row(scene, loops, loop, half)
    if not most * most > CANCELLED * gives_alone(scene, work, loops, loop):
        return True
    for k in range(6 - DOF[loop.kind]):
        smallest = least * most * reach_of(loops, loop.row + k)
        add_to_basis(M, scene, 0 if k < 3 else half, half if k < 3 else scene.n_entries, k % 3, smallest)
    return True


@part
def add_relations(M, scene, work, owner, least):
    """Adds the rows of relations between coordinates. Returns whether there was memory for their entries."""
    loops, i = M.loops, 0
    while i < loops.n_terms:
        row, scene.n_entries = loops.terms[i].row, 0
        while i < loops.n_terms and loops.terms[i].row == row:
            term = loops.terms[i]
            row_of_dof(scene, work, term.iv, owner[term.iv], term.factor)
            i += 1
        if scene.n_entries > scene.room:
            return False
        square = 0.0
        for e in range(scene.n_entries):
            square += scene.entries[e].y.x * scene.entries[e].y.x
        add_to_basis(M, scene, 0, scene.n_entries, 0, least * math.sqrt(square))
    return True


@part
def find_basis(M, scene, work, owner, q):
    """Q at the position of `work` and scene.bodies; M.found: whether there was memory for entries."""
    least = begin_basis(M, scene, q, scene.v)
    for i in range(M.loops.n_loops):
        if not add_loop(M, scene, work, M.loops.loops[i], least):
            return
    if add_relations(M, scene, work, owner, least):
        M.found = 1
