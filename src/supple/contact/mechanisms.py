"""Closed loops in steps with touches: impulses act on mechanisms, whose loops stay closed.

The rows G of loops [exact/closure.py] have factors as those of touches do [rows.py], Y_G = G L^-1 D^-1/2. With the rows
of Q an orthonormal basis of those of Y_G, the response of the constrained body is

    J (H^-1 - H^-1 G^T (G H^-1 G^T)^-1 G H^-1) J^T = (Y P) (Y P)^T,    P = 1 - Q^T Q,    dv = L^-1 D^-1/2 P Y^T lam

so that rows of touches become those of Y P, and all that follows is as without loops. Velocities without impulses
become the nearest ones, in the metric of H, that keep loops closed: zeta = D^1/2 L v becomes P zeta.

A row of which nothing is left, compared with the longest of its loop, depends on others and is left out: redundant rows
do no harm. Nor does a loop all of whose rows are rounding, as a door's second hinge [row_scales.py]. Trees that loops
connect are one mechanism, within which Q is dense: O(r^2 n) for r rows over n degrees of freedom, and O(r n) for a
touch. What steps add to gaps, projecting.py closes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from supple import memory
from supple.contact.rows import add_changes, lift_pair, respond_alone, row_of_dof
from supple.exact.closure import find_relations, find_rows, hold_world, widest_gap
from supple.exact.loop_tables import Loops, loop_tables
from supple.exact.motion import joint_of, zero_vec
from supple.exact.row_scales import CANCELLED, gives_way, least_remainder, reach_of
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE
from supple.model.model import Model
from supple.spatial import fields
from supple.spatial.algebra import Force, Motion, Prismatic, Revolute, Vec3, articulated, shift_force, shift_motion
from supple.spatial.compiler import helper, part
from supple.spatial.fields import Integer, Integers, Value
from supple.spatial.held import Held
from supple.spatial.structs import Link, Struct, Table

Ints = NDArray[np.int64]

NOTHING = 1e-22  #: of the square of a row: what is left of it by rounding


class Three(Struct):
    """Of one degree of freedom, in three rows."""

    y = Value(Vec3)


class Mechanisms(Struct):
    """The loops of a model, and what they forbid in coordinates z."""

    loops = Link(Loops)
    n = Integer()
    mechanism = Integers()  # (nv,) of every degree of freedom; -1 if no loop is about
    place = Integers()  # (nv,) its number there
    first = Integers()  # (n + 1,) where the degrees of freedom of a mechanism begin in `dofs`
    dofs = Integers()
    begin = Integers()  # (n,) where its basis begins in Q
    rank = Integers()  # (n,) how many rows that has
    Q = fields.Floats()
    found = Integer()  # whether there was room to find it
    w = Table(Three)  # (nv,) three rows on their way


# --- the basis --------------------------------------------------------------------------------------------------------


@helper
def place_ends(loops, bodies, n):
    """Where the bodies at ends of loops are."""
    o = Vec3(0.0, 0.0, 0.0)
    still = Motion(o, o)
    hold_world(loops, still)
    for b in range(n):
        if loops.captured[b] >= 0:
            end = loops.motions[loops.captured[b]]
            end.R, end.P, end.V, end.zeta = bodies[b].R, bodies[b].P, still, still


@helper
def force_of_row(scene, loops, k, last, b, sign):
    """The unit force along a row on a body, about its origin; none beyond the last row of a loop."""
    o = Vec3(0.0, 0.0, 0.0)
    f = Force(o, o)
    if k < last:
        row = loops.rows[k]
        f = shift_force(row.P - scene.bodies[b].P if b >= 0 else row.P, row.f) * sign
    return f


@part
def lift_rows(scene, work, loops, loop, k):
    """The entries of three rows of a loop, from its k-th on."""
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
    """Of those of a loop, of which the first three have `half` entries; rows that slide are measured by the size."""
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
    """About how far a body gives way to a force if nothing holds it; squared, as rows are."""
    return gives_way(articulated(work.bodies[b].I), f) if b >= 0 else 0.0


@helper
def gives_alone(scene, work, loops, loop):
    """The same of the two ends of a loop, along the row along which they give way most."""
    last, a, b, most = loop.row + 6 - DOF[loop.kind], loop.ends[1].body, loop.ends[0].body, 0.0
    for k in range(loop.row, last):
        square = alone(work, a, force_of_row(scene, loops, k, last, a, 1.0))
        square += alone(work, b, force_of_row(scene, loops, k, last, b, 1.0))
        most = max(most, square / reach_of(loops, k) ** 2)
    return most


@helper
def dot_rows(Q, a, b, n):
    total = 0.0
    for i in range(n):
        total += Q[a + i] * Q[b + i]
    return total


@part
def add_to_basis(M, scene, begin, end, i, least):
    """The i-th of three rows that have these entries: what others of the basis leave of it, if that is longer than
    `least` [Gram and Schmidt; twice is enough]."""
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
    """The rows of all loops, where scene.bodies are; there is no basis yet. Returns the remainder that tells rows
    apart."""
    loops, M.found = M.loops, 0
    place_ends(loops, scene.bodies, scene.model.n)
    find_rows(loops)
    find_relations(loops, q, v)
    for c in range(M.n):
        M.rank[c] = 0
    return least_remainder(widest_gap(loops))


@part
def add_loop(M, scene, work, loop, least):
    """The rows of a loop joint. Returns whether there was room for entries."""
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
    """The rows of relations between coordinates. Returns whether there was room for entries."""
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
    """Q at the position that `work` and scene.bodies are of; M.found: whether there was room for entries."""
    least = begin_basis(M, scene, q, scene.v)
    for i in range(M.loops.n_loops):
        if not add_loop(M, scene, work, M.loops.loops[i], least):
            return
    if add_relations(M, scene, work, owner, least):
        M.found = 1


# --- what it does to velocities and to rows ---------------------------------------------------------------------------


@part
def coordinates_of(m, work, v, z):
    """z = D^1/2 L v: what add_changes makes v of."""
    path, bodies, dofs = work.path, work.bodies, work.dofs
    o = zero_vec(0.0)
    path[0].A = Motion(o, o)
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        A = shift_motion(bodies[b].r, path[p].A)
        for k in range(j, j + DOF[kind]):
            d = dofs[k].d
            z[k] = (v[k] + (A @ dofs[k].U) * d) / math.sqrt(d)
            if kind == REVOLUTE:
                A = A + Revolute(bodies[b].z) * v[k]
            elif kind == PRISMATIC:
                A = A + Prismatic(bodies[b].z) * v[k]
            else:
                A = A + work.S.axes[k].s * v[k]
        path[i].A = A


@part
def keep_closed(M, scene, work, v, change):
    """The velocities nearest to v that keep loops closed. change: (nv,) scratch."""
    m, Q, zeta, z, present = scene.model, M.Q, scene.total, scene.z, scene.present
    coordinates_of(m, work, v, zeta)
    for i in range(scene.n_present):
        z[present[i]] = change[present[i]] = 0.0
    for c in range(M.n):
        first, n = M.first[c], M.first[c + 1] - M.first[c]
        for r in range(M.rank[c]):
            at, s = M.begin[c] + r * n, 0.0
            for p in range(n):
                s += Q[at + p] * zeta[M.dofs[first + p]]
            for p in range(n):
                z[M.dofs[first + p]] -= s * Q[at + p]
    add_changes(m, work, z, change)
    for i in range(scene.n_present):
        v[present[i]] += change[present[i]]


@helper
def mechanisms_at(M, scene, touch):
    """Of a touch: one mechanism, another one, and how many entries are of neither; -1 for none."""
    one = other = -1
    kept = 0
    for e in range(touch.first, touch.first + touch.count):
        c = M.mechanism[scene.entries[e].dof]
        if c < 0:
            kept += 1
        elif one < 0 or c == one:
            one = c
        else:
            other = c
    return one, other, kept


@helper
def size_of(M, c):
    return M.first[c + 1] - M.first[c] if c >= 0 else 0


@part
def project_in(M, c):
    """w of a mechanism, times P; nothing is what only rounding leaves."""
    Q, first, n = M.Q, M.first[c], M.first[c + 1] - M.first[c]
    xx = yy = zz = x2 = y2 = z2 = 0.0
    for p in range(n):
        y = M.w[M.dofs[first + p]].y
        xx, yy, zz = xx + y.x * y.x, yy + y.y * y.y, zz + y.z * y.z
    for r in range(M.rank[c]):
        at, s = M.begin[c] + r * n, Vec3(0.0, 0.0, 0.0)
        for p in range(n):
            s = s + M.w[M.dofs[first + p]].y * Q[at + p]
        for p in range(n):
            w = M.w[M.dofs[first + p]]
            w.y = w.y - s * Q[at + p]
    for p in range(n):
        y = M.w[M.dofs[first + p]].y
        x2, y2, z2 = x2 + y.x * y.x, y2 + y.y * y.y, z2 + y.z * y.z
    x, y, z = (
        1.0 if x2 > NOTHING * xx else 0.0,
        1.0 if y2 > NOTHING * yy else 0.0,
        1.0 if z2 > NOTHING * zz else 0.0,
    )
    for p in range(n):
        w = M.w[M.dofs[first + p]]
        w.y = Vec3(w.y.x * x, w.y.y * y, w.y.z * z)


@helper
def put_entries(M, scene, c, at):
    """Entries of all degrees of freedom of a mechanism. Returns where the next goes."""
    for p in range(M.first[c], M.first[c + 1]):
        entry = scene.entries[at]
        entry.dof, entry.y = M.dofs[p], M.w[M.dofs[p]].y
        at += 1
    return at


@part
def project_rows(M, scene):
    """Rows of touches become those of Y P. Returns whether there was room."""
    total = 0
    for k in range(scene.n):
        one, other, kept = mechanisms_at(M, scene, scene.touches[k])
        total += kept + size_of(M, one) + size_of(M, other)
    scene.n_entries = total
    if total > scene.room:
        return False
    for k in range(scene.n - 1, -1, -1):  # they only grow: none is overwritten that is still needed
        touch = scene.touches[k]
        one, other, kept = mechanisms_at(M, scene, touch)
        for side in range(2):
            c = one if side == 0 else other
            for p in range(M.first[c] if c >= 0 else 0, M.first[c + 1] if c >= 0 else 0):
                M.w[M.dofs[p]].y = Vec3(0.0, 0.0, 0.0)
        before, last = touch.first, touch.first + touch.count
        total -= kept + size_of(M, one) + size_of(M, other)
        at = total + kept + size_of(M, one) + size_of(M, other)
        for e in range(last - 1, before - 1, -1):
            entry = scene.entries[e]
            j, y = entry.dof, entry.y
            if M.mechanism[j] < 0:
                at -= 1
                scene.entries[at].dof, scene.entries[at].y = j, y
            else:
                M.w[j].y = y
        touch.first, touch.count, at = total, at + kept - total, total
        if one >= 0:
            project_in(M, one)
            at = put_entries(M, scene, one, at)
        if other >= 0:
            project_in(M, other)
            put_entries(M, scene, other, at)
        respond_alone(scene, touch)
    return True


# --- memory -----------------------------------------------------------------------------------------------------------


def connected(model: Model, roots: Ints, others: Sequence[tuple[int, int]] = ()) -> Ints:
    """(n_bodies,) a number for each mechanism: the least root of the trees that loops and relations connect. others:
    more pairs of bodies that are connected."""
    out = roots.copy()
    names = {name: i for i, name in enumerate(model.joint_names)} if model.relation_list else {}
    ties = [(x.body, x.other) for x in model.loop_list] + [
        tuple(names[n] for n in x.joints) for x in model.relation_list
    ]
    for tie in (*ties, *others):
        own = np.unique(out[[b for b in tie if b >= 0]])
        out[np.isin(out, own)] = own[0]
    return out


def mechanisms_of(model: Model, groups: Ints) -> Held:
    """groups: (n_bodies,) from `connected`."""
    loops = loop_tables(model)
    tied = {int(groups[b]) for x in model.loop_list for b in (x.body, x.other) if b >= 0}
    names = {name: i for i, name in enumerate(model.joint_names)} if model.relation_list else {}
    tied |= {int(groups[names[n]]) for x in model.relation_list for n in x.joints}
    by_dof = groups[model.dof_body]
    parts = [np.flatnonzero(by_dof == c) for c in sorted(tied)]
    mechanism, place = np.full(model.nv, -1), np.zeros(model.nv, dtype=np.int64)
    for c, dofs in enumerate(parts):
        mechanism[dofs], place[dofs] = c, np.arange(len(dofs))
    sizes = np.array([len(x) for x in parts], dtype=np.int64)
    rows = np.minimum(sizes, loops.n_rows) + 1
    numbers = int((rows * sizes).sum())
    memory.require(8 * numbers, f"the rows of loops over {model.nv:,} degrees of freedom", "use fewer loops")
    return Mechanisms.of(
        loops=loops, n=len(parts), mechanism=mechanism, place=place, first=np.append(0, np.cumsum(sizes)),
        dofs=np.concatenate([*parts, [0]]).astype(np.int64), begin=np.append(0, np.cumsum(rows * sizes)),
        rank=np.zeros(len(parts) + 1, dtype=np.int64), Q=np.zeros(numbers + 1), w=Three.zeros(model.nv),
    )  # fmt: skip
