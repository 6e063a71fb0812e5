"""Whether energy comes from nowhere: the accounts by which an unstable run is stopped.

From one look to the next, with T the kinetic energy and V that of gravity and springs,

    g = (T' - T) + (V' - V) - W - D + L

is the energy that nothing accounts for. W is the work of joints and pushes, D (not above zero) that of dampers, L what
was taken by stopping joints. All is counted consistently with the step (kick.py), so that g is of the size of the
step's own errors, which are small beside the energies that are exchanged, however slowly something begins to move.

What there is to compare it with is S = T + height: the potential above the lowest seen, where W counts as potential,
too. Without dampers S is constant, or grows as lower places are found. What dampers and stopping take of it, they take
of the unaccounted energy in proportion:

    grown' = max(0, (grown + g) S' / (S' - D + L))

A change of springs is a change of V, and not of anything here: the accounts are closed before, and opened after it. A
run is unstable when there is more unaccounted energy than other.
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.pushes import P_KIND, P_MOMENT, P_POINT, P_STIFFNESS, P_VECTOR, PUSH_ROW, SPRING
from supple.adaptive.reduced import own_force, vec_at, without_joints
from supple.adaptive.store import (
    DRAG_WORK,
    GROWN,
    HEIGHT,
    KINETIC,
    OPEN,
    POSE,
    SQUARES,
    STOPPED,
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
from supple.exact.motion import DOF
from supple.exact.tables import IV, KIND, RIGID
from supple.spatial.algebra import dot
from supple.spatial.compiler import helper, kernel, part
from supple.spatial.indexing import get, item, set_item
from supple.spatial.rows import load_rigid

LOOK = 20  #: steps between two looks, at most; fewer where velocities have doubled
ROUNDING = 1e-10  #: of the energies and forces that are added up: what is less may be rounding


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
        for k in range(PUSH_ROW * item(s.push_start, rb), PUSH_ROW * item(s.push_start, rb + 1), PUSH_ROW):
            x, f = X + R @ vec_at(s.reduced_pushes, k + P_POINT), vec_at(s.reduced_pushes, k + P_VECTOR)
            if item(s.reduced_pushes, k + P_KIND) == SPRING:
                stiffness = 0.5 * item(s.reduced_pushes, k + P_STIFFNESS)
                e = f - x
                total, size = total + stiffness * dot(e, e), size + stiffness * (dot(f, f) + dot(x, x))
            else:
                moment = vec_at(s.reduced_pushes, k + P_MOMENT)
                size += length(f) * (1.0 + length(x)) + length(moment)
    return total, size


@helper
def joint_sizes(m, s, x):
    """How large the forces of joints are: so much they would do over one unit of way; and the sum of squares of the
    velocities."""
    size, squares = 0.0, 0.0
    for b in range(m.n):
        iv = get(m.bodies, b, IV)
        for j in range(iv, iv + DOF[get(m.bodies, b, KIND)]):
            size += abs(own_force(s, x, j, 0.0)) + 2.0 * abs(item(s.controls, j))
            squares += item(x.v, j) * item(x.v, j)
    return size, squares


@part
def look(store):
    """Bring the accounts up to date, and begin them anew. Returns whether energy has come from nowhere."""
    s = open_store(store)
    without_joints(s, store, True, False, True)
    m, x = open_reduced(store)
    kinetic = item(s.numbers, KINETIC)
    energy, size = potential(m, s)
    forces, squares = joint_sizes(m, s, x)
    grown, there = item(s.numbers, GROWN), item(s.numbers, THERE)
    if item(s.numbers, OPEN) > 0.0:
        work, stopped = item(s.numbers, WORK), item(s.numbers, STOPPED)
        damped = max(0.0, -item(s.numbers, DRAG_WORK))
        rise = energy - item(s.numbers, THEN_POTENTIAL) - work
        height = max(0.0, item(s.numbers, HEIGHT) + rise)
        there, lost = kinetic + height, damped + max(0.0, stopped)
        grown += kinetic - item(s.numbers, THEN_KINETIC) + rise + damped + stopped
        if lost > 0.0:
            grown *= there / (there + lost)
        set_item(s.numbers, HEIGHT, height)
        set_item(s.numbers, GROWN, max(0.0, grown))
        set_item(s.numbers, THERE, there)
    set_item(s.numbers, THEN_KINETIC, kinetic)
    set_item(s.numbers, THEN_POTENTIAL, energy)
    for k in (WORK, DRAG_WORK, STOPPED):
        set_item(s.numbers, k, 0.0)
    set_item(s.numbers, SQUARES, max(squares, 0.5 * item(s.numbers, SQUARES)))
    set_item(s.numbers, OPEN, 1.0)
    set_item(s.counts, UNCHECKED, 0)
    return not grown <= 0.5 * there + ROUNDING * (size + forces)


@kernel(types.void(types.int64), "adaptive dynamics, accounts")
def close_kernel(store):
    """Close the accounts: the next step opens them, with the forces of then."""
    look(store)
    set_item(open_store(store).numbers, OPEN, 0.0)


@kernel(types.float64(types.int64), "adaptive dynamics, energy")
def energy_kernel(store):
    """Kinetic and potential energy; poses are noted."""
    m, _ = open_reduced(store)
    s = open_store(store)
    without_joints(s, store, True, False, True)
    energy, _ = potential(m, s)
    return item(s.numbers, KINETIC) + energy
