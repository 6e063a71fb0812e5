"""Whether energy comes from nowhere: the accounts by which an unstable run is stopped.

From one look to the next, with T the kinetic energy and V that of gravity and springs,

    g = (T' - T) + (V' - V) - W - D + L

is the energy that nothing accounts for. W is the work of joints and pushes, D that of dampers, L what was taken by
stopping joints. All is counted consistently with the step (kick.py), so that g is of the size of the step's own errors,
which are small beside the energies that are exchanged, however slowly something begins to move.

What there is to compare it with is S = T + height: the potential above the lowest seen, where W counts as potential,
too. Without dampers S is constant, or grows as lower places are found. What dampers and stopping take of it, they take
of the unaccounted energy in proportion:

    grown' = max(0, (grown + g) S' / (S' + taken))

A run is unstable when there is more unaccounted energy than other.

Dampers take energy, but not in every step: where c h / m is near the end of what is stable, and in the guaranteed mode
near 2, the velocities of which the step takes the drag are far from the one that does the work. What they give is
*lent*, and what they take is first taken from that. The step of kick.py lends hardly anything where it is stable; that
of the guaranteed mode may lend much (at c h / m = 1.95 the energy of a spring may be 28 times what it was, before it
falls). So a run is unstable, too, when more is lent or unaccounted for than there is other energy, and c h / m is 2
along the velocities of now; or when nearly all is lent, even beside what was in springs when the accounts were opened.

A change of forces is a change of V, and not of anything here: the accounts are closed before, and opened after it. What
forces that are gone could have given is no longer there; height begins anew, and what was unaccounted for shrinks with
S. What may have been rounding in those forces is forgotten: nothing later is of the size to compare it with.
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.pushes import P_KIND, P_MOMENT, P_POINT, P_STIFFNESS, P_VECTOR, PUSH_ROW, SPRING
from supple.adaptive.reduced import force_at, is_pushed, own_force, vec_at, without_joints
from supple.adaptive.store import (
    DRAG_WORK,
    DT,
    GROWN,
    HEIGHT,
    KINETIC,
    LENT,
    MOVE,
    OPEN,
    POSE,
    PUSHED_DRAG,
    PUSHED_ROW,
    SQUARES,
    STOPPED,
    STRETCH,
    THEN_KINETIC,
    THEN_POTENTIAL,
    THERE,
    UNCHECKED,
    WORK,
    open_reduced,
    open_store,
)
from supple.assembly.loads import load_rigid_at
from supple.assembly.poses import load_pose
from supple.exact.joint_law import COORDINATE_, LAW, REST_, law_work
from supple.exact.motion import DOF
from supple.exact.tables import DAMPING, IV, KIND, RIGID
from supple.spatial.algebra import Motion, dot
from supple.spatial.compiler import helper, kernel, part
from supple.spatial.rows import load_rigid

LOOK = 20  #: steps between two looks, at most; fewer where velocities have doubled
ROUNDING = 1e-10  #: of the energies and forces that are added up: what is less may be rounding
DAMPED = 1.98  #: of c h / m: beyond, what dampers lend may not be given back
MOST_LENT = 31.0 / 32.0  #: of all energy, whatever c h / m is


@helper
def length(a):
    return math.sqrt(dot(a, a))


@helper
def potential(m, s):
    """The energy of gravity and springs, of poses that have been noted; and the size of what was added up."""
    total, size, g = 0.0, 0.0, length(m.gravity)
    for rb in range(m.n + 1):
        R, X = load_pose(s.world, POSE * rb)
        Y = load_rigid_at(s.world_mass, 0)
        if rb > 0:
            Y = load_rigid(m.rows, rb - 1, RIGID)
        total -= dot(m.gravity, X * Y.m + R @ Y.h)
        size += g * (Y.m * length(X) + length(Y.h))
        for k in range(PUSH_ROW * s.push_start[rb], PUSH_ROW * s.push_start[rb + 1], PUSH_ROW):
            x, f = X + R @ vec_at(s.reduced_pushes, k + P_POINT), vec_at(s.reduced_pushes, k + P_VECTOR)
            if s.reduced_pushes[k + P_KIND] == SPRING:
                stiffness = 0.5 * s.reduced_pushes[k + P_STIFFNESS]
                e = f - x
                total, size = total + stiffness * dot(e, e), size + stiffness * (dot(f, f) + dot(x, x))
            else:
                moment = vec_at(s.reduced_pushes, k + P_MOMENT)
                size += length(f) * (1.0 + length(x)) + length(moment)
    return total, size


@helper
def joint_sizes(m, s, x):
    """How large the forces of joints are: so much they would do over one unit of way; the sum of squares of the
    velocities; and the power that dampers take at those, of joints and of springs. After motions were noted."""
    size, squares, power = 0.0, 0.0, 0.0
    for b in range(m.n):
        iv = m.bodies[b, IV]
        for j in range(iv, iv + DOF[m.bodies[b, KIND]]):
            v, rest = x.v[j], own_force(s, x, j, 0.0)
            size += abs(rest) + 2.0 * abs(s.controls[j])
            squares += v * v
            power += (m.dofs[j, DAMPING] * v + rest - own_force(s, x, j, v)) * v
        if is_pushed(s, b):
            R, _ = load_pose(s.world, POSE * (b + 1))
            V = Motion(R @ vec_at(s.moves, MOVE * (b + 1)), R @ vec_at(s.moves, MOVE * (b + 1) + 9))
            power -= V @ force_at(s.pushed, PUSHED_ROW * (b + 1) + PUSHED_DRAG)
    return size, squares, power


@helper
def stretch(m, s, x):
    """The energy of springs, of joints and of pushes, above that of their rest."""
    total, nv = 0.0, x.v.shape[0]
    for b in range(m.n):
        iv = m.bodies[b, IV]
        for j in range(iv, iv + DOF[m.bodies[b, KIND]]):
            row = s.controlled[j]
            while row > 0:
                k = nv + LAW * (row - 1)
                q = x.q[int(s.controls[k + COORDINATE_])]
                total += abs(law_work(s.controls, k, q, s.controls[k + REST_]))
                row = s.controlled[nv + row - 1]
        R, X = load_pose(s.world, POSE * (b + 1))
        for k in range(PUSH_ROW * s.push_start[b + 1], PUSH_ROW * s.push_start[b + 2], PUSH_ROW):
            if s.reduced_pushes[k + P_KIND] == SPRING:
                e = vec_at(s.reduced_pushes, k + P_VECTOR) - X - R @ vec_at(s.reduced_pushes, k + P_POINT)
                total += 0.5 * s.reduced_pushes[k + P_STIFFNESS] * dot(e, e)
    return total


@part
def look(store):
    """Bring the accounts up to date, and begin them anew. Returns whether energy has come from nowhere, and how much of
    it may be rounding."""
    s = open_store(store)
    without_joints(store, True, True, True)
    m, x = open_reduced(store)
    kinetic = s.numbers[KINETIC]
    energy, size = potential(m, s)
    forces, squares, power = joint_sizes(m, s, x)
    if s.numbers[OPEN] > 0.0:
        settle_accounts(s, kinetic, energy)
    else:
        s.numbers[STRETCH] = stretch(m, s, x) + s.numbers[LENT] / MOST_LENT  # lent before: not again
    s.numbers[THEN_KINETIC] = kinetic
    s.numbers[THEN_POTENTIAL] = energy
    for k in (WORK, DRAG_WORK, STOPPED):
        s.numbers[k] = 0.0
    s.numbers[SQUARES] = max(squares, 0.5 * s.numbers[SQUARES])
    s.numbers[OPEN] = 1.0
    s.counts[UNCHECKED] = 0
    grown, lent, there = s.numbers[GROWN], s.numbers[LENT], s.numbers[THERE]
    rounding = ROUNDING * (size + forces)
    too_damped = s.numbers[DT] * power >= 2.0 * DAMPED * kinetic and grown + lent > 0.5 * there + rounding
    all_lent = lent > MOST_LENT * (there + s.numbers[STRETCH]) + rounding
    return not grown <= 0.5 * there + rounding or too_damped or all_lent, rounding


@helper
def settle_accounts(s, kinetic, energy):
    """Since the last look: what there is, what of it nothing accounts for, and what dampers gave."""
    stopped, lent = s.numbers[STOPPED], s.numbers[LENT] + s.numbers[DRAG_WORK]
    rise = energy - s.numbers[THEN_POTENTIAL] - s.numbers[WORK]
    height = max(0.0, s.numbers[HEIGHT] + rise)
    there, taken = kinetic + height, max(0.0, -lent) + max(0.0, stopped)
    gained = kinetic - s.numbers[THEN_KINETIC] + rise - s.numbers[DRAG_WORK] + stopped
    share = there / (there + taken) if taken > 0.0 else 1.0
    s.numbers[HEIGHT] = height
    s.numbers[GROWN] = max(0.0, s.numbers[GROWN] + gained) * share
    s.numbers[LENT] = max(0.0, lent) * share
    s.numbers[THERE] = there


@kernel(types.void(types.int64), "adaptive dynamics, accounts")
def close_kernel(store):
    """Close the accounts, before forces change: the next step opens them, with the forces of then."""
    _, rounding = look(store)
    s = open_store(store)
    kinetic, there = s.numbers[KINETIC], s.numbers[THERE]
    for k in (GROWN, LENT):
        left = max(0.0, s.numbers[k] - rounding)
        s.numbers[k] = left * kinetic / there if there > 0.0 else 0.0
    s.numbers[THERE] = kinetic
    for k in (HEIGHT, SQUARES, OPEN):
        s.numbers[k] = 0.0


@kernel(types.float64(types.int64), "adaptive dynamics, energy")
def energy_kernel(store):
    """Kinetic and potential energy; poses are noted."""
    m, _ = open_reduced(store)
    s = open_store(store)
    without_joints(store, True, False, True)
    energy, _ = potential(m, s)
    return s.numbers[KINETIC] + energy
