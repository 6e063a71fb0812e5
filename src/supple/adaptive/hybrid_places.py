"""The hybrid body is formed: its reduced tree, the forces on it, and where its loops are: the reduced bodies at their
ends, and the rows that are left."""

from __future__ import annotations

from numba import types

from supple.adaptive.hybrid_fronts import is_cheaper
from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.regions import build_reduced, find_piece, place_pushes
from supple.assembly.joints import identity
from supple.assembly.poses import compose
from supple.exact.row_elimination import SIX
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Force, Vec3
from supple.spatial.compiler import helper, kernel


@kernel(types.void(HybridBody.type, types.int64), "loops of the hybrid body", nogil=True)
def place_loops(hybrid, mask):
    """The loops between different reduced bodies, and the relations of active joints, after build_reduced."""
    m, _ = open_reduced(hybrid)
    held = hybrid.closing
    count = 0
    for b in range(m.n):
        held.loops.captured[b] = -1
        held.row_of_joint[hybrid.joints[b]] = b
        held.first_dof[b] = count
        count += DOF[m.bodies[b].kind]
    place_joints(hybrid, mask)
    pair_loops(held)
    rows, kept = number_rows(held)
    held.n_joint_rows = kept
    held.loops.n_rows, held.front.n = place_relations(hybrid, rows, kept)
    hybrid.n_loop_rows, held.front.stride, held.front.n_F = held.front.n, count, count
    held.by_fronts, hybrid.misjudged = 1 if is_cheaper(held) else 0, 0


@helper
def place_joints(hybrid, mask):
    """The loop joints, without their rows."""
    held = hybrid.closing
    whole, loops = held.whole, held.loops
    count, motions = 0, 0
    for i in range(whole.n_loops):
        to, given = loops.loops[count], whole.loops[i]
        for side in range(2):
            place_end(hybrid, mask, held.leaf[2 * i + side], given.ends[side], to.ends[side])
        if to.ends[0].body == to.ends[1].body:
            continue
        to.kind, to.pitch, to.row = given.kind, given.pitch, given.row
        for side in range(2):
            b = to.ends[side].body
            if b >= 0 and loops.captured[b] < 0:
                loops.captured[b] = motions
                motions += 1
        count += 1
    for i in range(count):
        for side in range(2):
            end = loops.loops[i].ends[side]
            end.motion = loops.captured[end.body] if end.body >= 0 else motions
    loops.n_loops, loops.n_motions = count, motions + 1


@helper
def pair_loops(held):
    """Which loops are between the same two bodies."""
    loops = held.loops.loops
    for i in range(held.loops.n_loops):
        held.heads[max(loops[i].ends[0].body, loops[i].ends[1].body)] = -1
    for i in range(held.loops.n_loops):
        b = max(loops[i].ends[0].body, loops[i].ends[1].body)
        held.next[i] = held.heads[b]
        held.heads[b] = i
    count = 0
    for i in range(held.loops.n_loops):
        b = max(loops[i].ends[0].body, loops[i].ends[1].body)
        k, first = held.heads[b], count
        held.heads[b] = -1  # its loops are numbered now
        while k >= 0:
            a = min(loops[k].ends[0].body, loops[k].ends[1].body) + 1
            p = held.stamps[a]
            if not (first <= p < count and held.pairs[p].first == a):
                held.stamps[a] = p = count
                held.pairs[p].first, held.pairs[p].n = a, 0
                count += 1
            held.pair_of[k] = p
            held.pairs[p].n += 6 - DOF[loops[k].kind]
            k = held.next[k]
    held.n_pairs = count


@helper
def number_rows(held):
    """Number the rows of loops, those of a pair of bodies one after another. Returns how many there are, and how many
    when all that are too many for a pair are combined."""
    loops, row, kept, room = held.loops.loops, 0, 0, 0
    for p in range(held.n_pairs):
        pair = held.pairs[p]
        pair.first, pair.at, pair.H = row, kept, room
        row += pair.n
        for k in range(min(pair.n, SIX)):
            held.places[kept + k].block = kept
            held.places[kept + k].row = pair.first + k if pair.n <= SIX else -1
        kept += min(pair.n, SIX)
        if pair.n > SIX:
            room += SIX * (pair.n + 1)
        pair.n = 0
    for i in range(held.loops.n_loops):
        pair, n = held.pairs[held.pair_of[i]], 6 - DOF[loops[i].kind]
        for k in range(n):
            held.from_row[pair.first + pair.n + k] = loops[i].row + k
        loops[i].row = pair.first + pair.n
        pair.n += n
    return row, kept


@helper
def place_end(hybrid, mask, leaf, given, to):
    """The frame at an end of a loop, on its reduced body."""
    rb, R, r = 0, identity(), Vec3(0.0, 0.0, 0.0)
    if leaf >= 0:
        rb, R, r = find_piece(hybrid, mask, leaf)
    to.R, to.p = compose(R, r, given.R, given.p)
    to.body = rb - 1


@helper
def place_relations(hybrid, row, kept):
    """The relations, from a row on. Returns how many rows there are, and how many are eliminated."""
    held, q, o = hybrid.closing, hybrid.body.q, Vec3(0.0, 0.0, 0.0)
    whole, loops = held.whole, held.loops
    count, i = 0, 0
    while i < whole.n_terms:
        origin, begun = whole.terms[i].row, count
        rest = whole.sums[origin]
        while i < whole.n_terms and whole.terms[i].row == origin:
            term, j = whole.terms[i], held.term_joint[i]
            b = held.row_of_joint[j]
            if b < hybrid.n_joints and hybrid.joints[b] == j:
                to = loops.terms[count]
                to.row, to.iq, to.iv, to.factor = row, term.iq, term.iv, term.factor
                held.term_body[count] = b
                count += 1
            else:
                rest -= term.factor * q[term.iq]
            i += 1
        if count > begun:
            loops.sums[row], loops.rows[row].f = rest, Force(o, o)
            held.from_row[row], held.places[kept].row, held.places[kept].block = origin, row, kept
            row += 1
            kept += 1
    loops.n_terms = count
    return row, kept


@kernel(types.float64(HybridBody.type, types.int64), "hybrid body", effort=2, nogil=True)
def form_hybrid_body(hybrid, mask):
    """The reduced tree of a region, and the forces on it."""
    m, x = open_reduced(hybrid)
    build_reduced(hybrid, m, x.angles, mask, hybrid.queue)
    place_pushes(hybrid, mask, hybrid.queue)
    if hybrid.has_loops:
        place_loops(hybrid, mask)
    return 0.0
