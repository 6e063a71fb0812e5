"""Closed loops in steps of hybrid bodies that touch: contact/mechanisms.py over the active joints.

Loops between different rigid parts [hybrid_places.py] have rows on the reduced tree, whose factors are those of its
touches: Q is a basis of the rows of G L^-1 D^-1/2, and rows of touches become those of Y P. A mechanism here is all
active joints above the ends of loops, in reduced trees that loops connect; other joints of these trees keep their own
entries. Which joints these are changes only when the reduced tree is formed anew.

Of two rigid parts that more than six rows join, six combinations of the rows are taken [hybrid_rows.py].

Loops are closed again where a part of a step ends, before it is judged: one that cannot be closed, or gains energy
thereby, is halved.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from supple.adaptive.hybrid_closing import close_loops
from supple.adaptive.hybrid_rows import combine
from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.steps import DONE, close
from supple.adaptive.touching_memory import touching_of
from supple.contact.islands import set_of
from supple.contact.mechanisms import (
    add_loop,
    add_relations,
    add_to_basis,
    alone,
    begin_basis,
    component,
    keep_closed,
    project_rows,
)
from supple.contact.rows import lift_pair, make_rows
from supple.exact.row_elimination import SIX
from supple.exact.row_scales import CANCELLED
from supple.integrating.projecting import CLOSED
from supple.model.joint_poses import DOF
from supple.spatial.algebra import shift_force
from supple.spatial.compiler import helper, kernel, part

ABOUT, NUMBERED = 1, 2  #: marks of reduced bodies above ends of loops; and of the first of them: its mechanism is added


# --- the mechanisms of the reduced tree -------------------------------------------------------------------------------


@helper
def mark_above(m, about, b):
    while b >= 0 and not about[b]:
        about[b] = ABOUT
        b = m.bodies[b].parent


@helper
def join_trees(touching, a, b):
    sets = touching.tree_sets
    sets[set_of(sets, touching.tree_of[a])] = set_of(sets, touching.tree_of[b])


@helper
def find_trees(hybrid, m, touching):
    """The reduced tree of every reduced body, which of these are above ends of loops, and the trees that loops
    connect."""
    loops, about = hybrid.closing.loops, touching.about
    for b in range(m.n):
        p = m.bodies[b].parent
        touching.tree_of[b] = b if p < 0 else touching.tree_of[p]
        touching.tree_sets[b], about[b] = b, 0
    for i in range(loops.n_loops):
        a, b = loops.loops[i].ends[0].body, loops.loops[i].ends[1].body
        mark_above(m, about, a)
        mark_above(m, about, b)
        if a >= 0 and b >= 0:
            join_trees(touching, a, b)
    for i in range(loops.n_terms):
        b = hybrid.closing.term_body[i]
        mark_above(m, about, b)
        if i > 0 and loops.terms[i].row == loops.terms[i - 1].row:
            join_trees(touching, hybrid.closing.term_body[i - 1], b)


@helper
def gather(hybrid, m, touching):
    """The active joints of every mechanism, if the reduced tree has been formed since they were gathered."""
    M, about, sets, n = touching.mechanisms, touching.about, touching.tree_sets, 0
    if touching.gathered == touching.formed:
        return
    touching.gathered = touching.formed
    find_trees(hybrid, m, touching)
    M.first[0] = 0
    for b in range(m.n):
        if about[b]:
            s = set_of(sets, touching.tree_of[b])
            if about[s] == ABOUT:
                about[s] = NUMBERED + n
                n += 1
                M.first[n] = 0
            M.first[about[s] - NUMBERED + 1] += DOF[m.bodies[b].kind]
    at = 0
    for c in range(n):
        size = M.first[c + 1]
        M.begin[c], M.rank[c] = at, 0
        M.first[c + 1] += M.first[c]
        at += (min(size, M.loops.n_rows) + 1) * size
    for b in range(m.n):
        c = about[set_of(sets, touching.tree_of[b])] - NUMBERED if about[b] else -1
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            M.mechanism[j] = c
            if c >= 0:
                M.place[j] = M.rank[c]
                M.dofs[M.first[c] + M.rank[c]] = j
                M.rank[c] += 1
    M.n = n


# --- the basis, and what it does --------------------------------------------------------------------------------------


@helper
def force_of_held(scene, row, b, sign):
    """The force of a combination of rows on one of its bodies, about its origin."""
    return shift_force(row.P - scene.bodies[b].P if b >= 0 else row.P, row.f) * sign


@part
def lift_held(scene, work, held, k):
    """The entries of three combinations of the rows of a pair, from the k-th row on."""
    one, two, three = held.rows[k], held.rows[k + 1], held.rows[k + 2]
    a, b = one.b, one.a
    lift_pair(
        scene, work, a, b, force_of_held(scene, one, a, 1.0), force_of_held(scene, two, a, 1.0),
        force_of_held(scene, three, a, 1.0), force_of_held(scene, one, b, -1.0), force_of_held(scene, two, b, -1.0),
        force_of_held(scene, three, b, -1.0),
    )  # fmt: skip


@part
def add_pair(M, scene, work, held, pair, least):
    """The six combinations of the rows of a pair of bodies. Returns whether there was room for entries."""
    scene.n_entries = 0
    lift_held(scene, work, held, pair.at)
    half = scene.n_entries
    lift_held(scene, work, held, pair.at + 3)
    if scene.n_entries > scene.room:
        return False
    most = free = 0.0
    for k in range(SIX):
        square, row = 0.0, held.rows[pair.at + k]
        for e in range(0 if k < 3 else half, half if k < 3 else scene.n_entries):
            square += component(scene.entries[e].y, k % 3) ** 2
        most = max(most, square)
        gives = alone(work, row.a, force_of_held(scene, row, row.a, 1.0))
        free = max(free, gives + alone(work, row.b, force_of_held(scene, row, row.b, 1.0)))
    if not most > CANCELLED * free:
        return True
    smallest = least * math.sqrt(most)
    for k in range(SIX):
        add_to_basis(M, scene, 0 if k < 3 else half, half if k < 3 else scene.n_entries, k % 3, smallest)
    return True


@kernel(types.void(HybridBody.type), "loops of hybrid bodies that touch", effort=3, nogil=True)
def find_loops(hybrid):
    """Q where the factors of the reduced tree are of; mechanisms.found: whether there was room for entries."""
    m, x = open_reduced(hybrid)
    touching, held = touching_of(hybrid), hybrid.closing
    M, scene = touching.mechanisms, touching.scene
    gather(hybrid, m, touching)
    least = begin_basis(M, scene, x.q, x.v)
    combine(held)
    for i in range(M.loops.n_loops):
        loop, pair, room = M.loops.loops[i], held.pairs[held.pair_of[i]], True
        if pair.n <= SIX:
            room = add_loop(M, scene, x.work, loop, least)
        elif loop.row == pair.first:
            room = add_pair(M, scene, x.work, held, pair, least)
        if not room:
            return
    if add_relations(M, scene, x.work, touching.owner, least):
        M.found = 1


@kernel(types.void(HybridBody.type, types.int64), "velocities that keep loops closed", effort=2, nogil=True)
def hold_closed(hybrid, at_end):
    """Change velocities, those at the end of a part or those in its middle, to the nearest that keep loops closed."""
    _, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    keep_closed(touching.mechanisms, touching.scene, x.work, touching.end if at_end else x.half, touching.dv)


@helper
def rows_of_touches(hybrid, work):
    """The rows of all touches, of bodies whose loops stay closed. Returns whether there was room."""
    touching = touching_of(hybrid)
    scene, M = touching.scene, touching.mechanisms
    if hybrid.n_loop_rows == 0:
        return make_rows(scene, work, touching.owner)
    return M.found and make_rows(scene, work, touching.owner) and project_rows(M, scene)


# --- after a part -----------------------------------------------------------------------------------------------------


@helper
def close_part(hybrid, h):
    """Close loops where a part of length h ends, and make velocities keep them closed [hybrid_closing.py]. Energies are
    judged elsewhere. Returns whether they are closed."""
    touching = touching_of(hybrid)
    touching.open = 0
    if hybrid.n_loop_rows == 0:
        return True
    scene, dt = touching.scene, hybrid.dt
    hybrid.closing.balance, hybrid.dt = np.inf, h
    for i in range(scene.n_present):
        hybrid.closing.pulled[scene.present[i]] = 0.0
    touching.open = 0 if close_loops(hybrid, True) == CLOSED else 1
    hybrid.dt = dt
    return not touching.open


@helper
def close_step(hybrid):
    """Close loops where a step ends, if shapes were moved apart in it. Returns how it ended, as steps.py has it."""
    touching = touching_of(hybrid)
    if hybrid.n_loop_rows == 0 or not touching.open:
        return DONE
    hybrid.closing.balance, touching.placed = np.inf, 0
    return close(hybrid, True)
