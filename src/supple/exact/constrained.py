"""Forward dynamics of bodies with loops: the articulated-body algorithm, with forces along the rows that loops forbid.

The tree alone would accelerate by ABA [aba.py]. A unit force along row r of a loop [closure.py] is passed on from its
ends to the root as ABA passes on bias forces. It exerts Y[j, r] on degree of freedom j, once everything beyond that has
moved. With D the diagonal that ABA divides by, and u its joint forces,

    L = G H^-1 G^T = Y^T D^-1 Y          G H^-1 (tau - C) = Y^T D^-1 u
    L x = g - Y^T D^-1 u                 the forces x along rows, smallest where they are not unique [least_forces.py]
    u := u + Y x                         then ABA's last pass gives the accelerations

This is exact, and costs O(rows) for each body between a loop and the root. Redundant rows, and rows that coincide in a
singular position, leave x not unique, but not the accelerations.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from supple.exact.aba import ROWS, accelerate_joints, eliminate_joints, without_joint
from supple.exact.call_kernels import scratch_opener
from supple.exact.calls import TAU, WRENCHES, Algorithm, HostWork, Q, V
from supple.exact.closure import find_relations, find_rows, hold_world, reach_of, widest_gap
from supple.exact.least_forces import cholesky_solved, least_remainder, least_solution
from supple.exact.loop_tables import Loops, with_memory
from supple.exact.motion import joint_of, turn_ahead, world_at_rest, zero_vec
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE
from supple.model.model import Model
from supple.spatial.algebra import Force, Prismatic, Revolute, Vec3, shift_force
from supple.spatial.compiler import helper

Floats = NDArray[np.float64]


def n_rows(model: Model) -> int:
    """How many directions loops and relations forbid, redundant ones included."""
    return sum(x.rows for x in model.loop_list) + len(model.relation_list)


@helper
def constrained(m, state, out, work):
    """qdd and, if there is room for them, the forces along rows. Returns the smallest D."""
    loops = work.hubs[0]
    smallest = prepare_rows(m, state, loops, work)
    solve_rows(m, loops, work)
    push_joints(m, loops, work)
    accelerate_joints(m, state.v, out, work)
    for i in range(m.nv, work.n_out):
        out[i] = loops.x[i - m.nv]
    return smallest


@helper
def prepare_rows(m, state, loops, work):
    """ABA's first two passes, then Y, L and b. Returns the smallest D."""
    move_bodies(m, state, loops, work)
    smallest = eliminate_joints(m, state.v, state.known, work)
    find_rows(loops)
    find_relations(loops, state.q, state.v)
    loops.least = least_remainder(widest_gap(loops))
    carry_rows(m, loops, work)
    return smallest


@helper
def move_bodies(m, state, loops, work):
    """As without_joints of aba.py; also the motions of bodies at the ends of loops."""
    path = work.path
    path[0].zeta = world_at_rest(m, state.q[0], path[0])
    path[0].X = zero_vec(state.q[0])
    hold_world(loops, path[0].zeta)
    done = 0
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, state.q, work.S, done, b)
        R, I = without_joint(m, b, state, work)
        work.bodies[b].I = I
        X = path[p].X + work.bodies[b].r
        path[i].X = X
        if loops.captured[b] >= 0:
            end = loops.motions[loops.captured[b]]
            end.R, end.P, end.V, end.zeta = R, X, path[i].V, path[i].zeta


@helper
def carry_rows(m, loops, work):
    """Y, L and b: pass unit forces along all rows on to the root."""
    n = loops.n_rows
    for i in range(n * n):
        loops.L[i] = 0.0
    for r in range(n):
        loops.b[r] = loops.rows[r].g
    e = 0
    while e < loops.n_entries:
        b = loops.entries[e].body
        stop = e
        while stop < loops.n_entries and loops.entries[stop].body == b:
            enter(loops, loops.entries[stop])
            stop += 1
        _, _, kind, j = joint_of(m, b)
        for k in range(j + DOF[kind] - 1, j - 1, -1):
            for a in range(e, stop):
                if kind == REVOLUTE:
                    pass_joint(loops, loops.entries[a], Revolute(work.bodies[b].z), work.dofs[k], k)
                elif kind == PRISMATIC:
                    pass_joint(loops, loops.entries[a], Prismatic(work.bodies[b].z), work.dofs[k], k)
                else:
                    pass_joint(loops, loops.entries[a], work.S.axes[k].s, work.dofs[k], k)
            for a in range(e, stop):
                for c in range(e, a + 1):
                    add_products(loops, loops.entries[a], loops.entries[c], work.dofs[k].d, k)
        for a in range(e, stop):
            leave(loops, loops.entries[a], work.bodies[b].r)
        e = stop


@helper
def enter(loops, entry):
    """Forces along the rows of a group as they arrive at a body; those that act on it are added."""
    if entry.is_first:
        o = Vec3(0.0, 0.0, 0.0)
        for r in range(entry.n_rows):
            loops.K[entry.K + r].f = Force(o, o)
    if entry.end >= 0:
        P = loops.motions[loops.captured[entry.body]].P
        sign = 1.0 if entry.end & 1 else -1.0  # on `other`; the opposite on `body`
        for r in range(entry.n_rows):
            row = loops.rows[entry.row + r]
            carried = loops.K[entry.K + r]
            carried.f = carried.f + shift_force(row.P - P, row.f) * sign


@helper
def pass_joint(loops, entry, S, dof, k):
    """Pass the forces of a group through a degree of freedom, which yields to them."""
    n = loops.n_rows
    direct = loops.terms[entry.term].factor if entry.term >= 0 else 0.0
    for r in range(entry.row, entry.row + entry.n_rows):
        carried = loops.K[entry.K + r - entry.row]
        y = S @ carried.f + direct
        carried.f = carried.f - dof.U * (y * dof.d)
        loops.Y[k * n + r] = y
        loops.b[r] -= y * dof.d * dof.u


@helper
def add_products(loops, one, two, d, k):
    """Add to L what a degree of freedom couples."""
    n = loops.n_rows
    for r in range(one.row, one.row + one.n_rows):
        y = loops.Y[k * n + r] * d
        for c in range(two.row, two.row + two.n_rows):
            loops.L[r * n + c] += y * loops.Y[k * n + c]


@helper
def leave(loops, entry, r_b):
    """Pass the forces of a group on to the parent body."""
    if entry.K_parent >= 0:
        for r in range(entry.n_rows):
            f = shift_force(r_b, loops.K[entry.K + r].f)
            to = loops.K[entry.K_parent + r]
            to.f = f if entry.K_parent == entry.K else to.f + f


@helper
def solve_rows(m, loops, work):
    """x, the forces along rows."""
    n = loops.n_rows
    scale_rows(loops)
    loops.rank = n
    if not cholesky_solved(loops.L, loops.scale, loops.room.R, loops.b, loops.x, n):
        gather_factor(m, loops, work)
        loops.rank = least_solution(loops.B, n, m.nv, loops.scale, loops.b, loops.x, loops.least, loops.room)


@helper
def scale_rows(loops):
    """What makes the longest row of B of each loop one of unit length, from the diagonal of L."""
    n = loops.n_rows
    for i in range(n):
        loops.scale[i] = math.sqrt(max(loops.L[i * n + i], 0.0))
    for i in range(loops.n_loops):
        loop = loops.loops[i]
        first, end, most = loop.row, loop.row + 6 - DOF[loop.kind], 0.0
        for r in range(first, end):
            most = max(most, loops.scale[r] / reach_of(loops, r))
        for r in range(first, end):
            loops.scale[r] = most * reach_of(loops, r)
    for i in range(n):
        loops.scale[i] = 1.0 / loops.scale[i] if loops.scale[i] > 0.0 else 0.0


@helper
def gather_factor(m, loops, work):
    """B = D^-1/2 Y, transposed and scaled."""
    n = loops.n_rows
    for i in range(n * m.nv):
        loops.B[i] = 0.0
    for e in range(loops.n_entries):
        entry = loops.entries[e]
        _, _, kind, j = joint_of(m, entry.body)
        for k in range(j, j + DOF[kind]):
            root = math.sqrt(max(work.dofs[k].d, 0.0))
            for r in range(entry.row, entry.row + entry.n_rows):
                loops.B[r * m.nv + k] = root * loops.Y[k * n + r] * loops.scale[r]


@helper
def push_joints(m, loops, work):
    """u := u + Y x."""
    n = loops.n_rows
    for e in range(loops.n_entries):
        entry = loops.entries[e]
        _, _, kind, j = joint_of(m, entry.body)
        for k in range(j, j + DOF[kind]):
            for r in range(entry.row, entry.row + entry.n_rows):
                work.dofs[k].u += loops.Y[k * n + r] * loops.x[r]


def were_redundant(model: Model) -> bool:
    """Whether rows depended on each other in the last state that CONSTRAINED was given."""
    return bool(CONSTRAINED.work(model).call.hubs.rank < n_rows(model))


def _inverse_D(model: Model, work: HostWork) -> Floats:
    out: Floats = work.dofs["d"]
    return out


_INPUTS = Q, V, TAU, WRENCHES
_ROWS = ROWS._replace(hubs=Loops)
constrained_scratch, _ = scratch_opener(_ROWS)
CONSTRAINED = Algorithm(
    "aba with loops", constrained, _ROWS, _INPUTS, lambda m: (m.nv,), hubs=with_memory, inverse_D=_inverse_D,
    lanes=False, method="aba",
)  # fmt: skip
#: Also the forces along all rows, in the order of closure.
WITH_FORCES = Algorithm(
    "aba with loops and forces", constrained, _ROWS, _INPUTS, lambda m: (m.nv + n_rows(m),), hubs=with_memory,
    inverse_D=_inverse_D, lanes=False, like=CONSTRAINED,
)  # fmt: skip
