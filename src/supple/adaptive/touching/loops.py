"""Closed loops in steps of hybrid bodies with contact: contact/response/mechanisms.py over the active joints.

Loops between different rigid parts [hybrid_places.py] have rows on the reduced tree, with the same factors as its
touches: Q is a basis of the rows of G L^-1 D^-1/2, and the rows Y of touches become those of Y P. A mechanism here
consists of all active joints above the ends of loops, in reduced trees that loops connect; other joints of these trees
keep their own entries. It changes only when the reduced tree is formed again.

If more than six rows connect two rigid parts, six combinations of them are used [hybrid_rows.py].

Loops are closed at the end of a part of a step, before it is judged. A part whose loops cannot be closed, or that gains
energy by closing them, is halved.
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
from supple.adaptive.touching.memory import touching_of
from supple.contact.islands import set_of
from supple.contact.response.loop_basis import add_loop, add_relations, add_to_basis, alone, begin_basis, component
from supple.contact.response.loop_projection import keep_closed
from supple.contact.response.rows import lift_pair
from supple.exact.row_elimination import SIX
from supple.exact.row_scales import CANCELLED
from supple.integrating.projecting import CLOSED
from supple.model.joint_poses import DOF
from supple.spatial.algebra import shift_force
from supple.spatial.compiler import helper, kernel, part

ABOVE, NUMBERED = 1, 2  #: marks of reduced bodies above ends of loops; of one of each set, plus its mechanism's number


# --- the mechanisms of the reduced tree -------------------------------------------------------------------------------


@helper
def mark_above(m, above, b):
    """Marks reduced body b and those above it."""
    while b >= 0 and not above[b]:
        above[b] = ABOVE
        b = m.bodies[b].parent


@helper
def join_trees(touching, a, b):
    """Unites the sets of the trees of reduced bodies a and b."""
    sets = touching.tree_sets
    sets[set_of(sets, touching.tree_of[a])] = set_of(sets, touching.tree_of[b])


@helper
def find_trees(hybrid, m, touching):
    """Finds the tree of every reduced body, the sets of trees that loops connect, and the bodies above ends of
    loops."""
    loops, above = hybrid.closing.loops, touching.above_loop
    for b in range(m.n):
        p = m.bodies[b].parent
        touching.tree_of[b] = b if p < 0 else touching.tree_of[p]
        touching.tree_sets[b], above[b] = b, 0
    for i in range(loops.n_loops):
        a, b = loops.loops[i].ends[0].body, loops.loops[i].ends[1].body
        mark_above(m, above, a)
        mark_above(m, above, b)
        if a >= 0 and b >= 0:
            join_trees(touching, a, b)
    for i in range(loops.n_terms):
        b = hybrid.closing.term_body[i]
        mark_above(m, above, b)
        if i > 0 and loops.terms[i].row == loops.terms[i - 1].row:
            join_trees(touching, hybrid.closing.term_body[i - 1], b)


@helper
def gather_mechanisms(hybrid, m, touching):
    """Gathers the active joints of every mechanism, if the reduced tree has been formed since this was done last."""
    M, above, sets, n = touching.mechanisms, touching.above_loop, touching.tree_sets, 0
    if touching.gathered == touching.formed:
        return
    touching.gathered = touching.formed
    find_trees(hybrid, m, touching)
    M.first[0] = 0
    for b in range(m.n):
        if above[b]:
            s = set_of(sets, touching.tree_of[b])
            if above[s] == ABOVE:
                above[s] = NUMBERED + n
                n += 1
                M.first[n] = 0
            M.first[above[s] - NUMBERED + 1] += DOF[m.bodies[b].kind]
    at = 0
    for c in range(n):
        size = M.first[c + 1]
        M.begin[c], M.rank[c] = at, 0
        M.first[c + 1] += M.first[c]
        at += (min(size, M.loops.n_rows) + 1) * size
    for b in range(m.n):
        c = above[set_of(sets, touching.tree_of[b])] - NUMBERED if above[b] else -1
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
    """The force of a combination of rows on one of its bodies, about the origin of the body."""
    return shift_force(row.P - scene.bodies[b].P if b >= 0 else row.P, row.f) * sign


@part
def lift_held(scene, work, held, k):
    """The entries of three combinations of rows, from the k-th on, for the degrees of freedom of a pair of bodies."""
    one, two, three = held.rows[k], held.rows[k + 1], held.rows[k + 2]
    a, b = one.b, one.a
    lift_pair(
        scene, work, a, b, force_of_held(scene, one, a, 1.0), force_of_held(scene, two, a, 1.0),
        force_of_held(scene, three, a, 1.0), force_of_held(scene, one, b, -1.0), force_of_held(scene, two, b, -1.0),
        force_of_held(scene, three, b, -1.0),
    )  # fmt: skip


@part
def add_pair(M, scene, work, held, pair, least):
    """Adds the six combinations of rows of a pair of bodies to the basis. Returns whether there was enough memory for
    entries."""
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
    """Finds Q at the position of the factors of the reduced tree; mechanisms.found: whether there was enough memory for
    entries."""
    m, x = open_reduced(hybrid)
    touching, held = touching_of(hybrid), hybrid.closing
    M, scene = touching.mechanisms, touching.scene
    gather_mechanisms(hybrid, m, touching)
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
    """Projects the velocities at the end of a part, or those in its middle, onto those that keep loops closed."""
    _, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    keep_closed(touching.mechanisms, touching.scene, x.work, touching.end if at_end else x.half, touching.dv)


# --- after a part -----------------------------------------------------------------------------------------------------


@helper
def close_part(hybrid, h):
    """Closes loops at the end of a part of length h, and projects velocities so that they stay closed
    [hybrid_closing.py]; energies are judged afterwards. Returns whether loops are closed."""
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
    """Closes loops at the end of a step, if removing overlap may have opened them. Returns an outcome of steps.py."""
    touching = touching_of(hybrid)
    if hybrid.n_loop_rows == 0 or not touching.open:
        return DONE
    hybrid.closing.balance, touching.placed = np.inf, 0
    return close(hybrid, True)
