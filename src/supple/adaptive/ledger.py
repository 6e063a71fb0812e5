"""Detection of energy without a source: the energy accounts by which an unstable run is stopped.

Between two checks, with T the kinetic energy and V that of gravity and springs,

    g = (T' - T) + (V' - V) - W - D + L

is the unaccounted energy. W is the work of joints and pushes, D that of dampers, L the energy removed by stopping
joints. All terms are counted consistently with the step (kick.py), so g is of the size of the step's own errors, which
are small relative to the energies exchanged, however slowly a motion begins.

It is compared with S = T + height: the potential above the lowest value seen, where W also counts as potential. Without
dampers S is constant, or grows as lower positions are found. Energy taken from S by dampers and by stopping joints also
reduces the unaccounted energy in proportion:

    grown' = max(0, (grown + g) S' / (S' + taken))

A run is unstable when the unaccounted energy exceeds the rest.

Dampers take energy, but not in every step: where c h / m is near the limit of stability, and in the guaranteed mode
near 2, the velocities from which the step computes the drag differ greatly from the one that does the work. Energy that
dampers give is *lent*, and energy that they take is first deducted from that. The step of kick.py lends hardly anything
where it is stable; that of the guaranteed mode may lend much (at c h / m = 1.95 the energy of a spring may reach 28
times its initial value before it falls). So a run is also unstable when the lent or unaccounted energy exceeds the rest
and c h / m is 2 along the current velocities; or when nearly all energy is lent, even including the energy in springs
when the accounts were opened.

A change of forces changes V, but nothing else here: the accounts are closed before it and opened after it. Energy that
removed forces could have supplied no longer exists; height is reset, and the unaccounted energy shrinks with S.
Possible rounding errors of those forces are discarded: nothing later is of comparable size.

Steps with contact are judged elsewhere [touching/judging.py]: they close the accounts, which are opened after them.
Energy that contacts take reduces the unaccounted energy in proportion, too.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced import end_way, is_pushed, own_force, without_joints
from supple.adaptive.reduced_tree import open_reduced
from supple.assembly.poses import pose_at
from supple.integrating.joint_law import LAW, law_among, law_work
from supple.integrating.push_law import END, PUSH, SPRING, length, push_energy, spring_energy
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Motion, dot
from supple.spatial.compiler import helper, kernel, part
from supple.spatial.held import Held

LOOK = 20  #: largest number of steps between two checks; fewer where velocities have doubled
ROUNDING = 1e-10  #: relative to the energies and forces that are summed: anything less may be rounding
SHAKY = 1e-6  #: the same with loops: in singular positions these hold joints as exactly as the root of rounding
DAMPED = 1.98  #: of c h / m: above this, energy lent by dampers may not be returned
MOST_LENT = 31.0 / 32.0  #: of all energy, for any c h / m


@helper
def end_energy(hybrid, end):
    """The energy of a spring between two bodies; each of its ends has half of it."""
    way, _ = end_way(hybrid, end)
    return spring_energy(end, way)


@helper
def potential(m, hybrid):
    """The energy of gravity and springs, from recorded poses; and the magnitude of the summed terms."""
    total, size, g = 0.0, 0.0, length(m.gravity)
    for rb in range(m.n + 1):
        R, X = pose_at(hybrid.world, rb)
        Y = hybrid.world_inertia
        if rb > 0:
            Y = m.shapes[rb - 1].I
        total -= dot(m.gravity, X * Y.m + R @ Y.h)
        size += g * (Y.m * length(X) + length(Y.h))
        for k in range(hybrid.push_start[rb], hybrid.push_start[rb + 1]):
            push = hybrid.reduced_pushes[k]
            x, f = X + R @ push.point, push.vector
            if push.kind == SPRING:
                total += push_energy(push, R, X)
            if push.kind == END:
                total += 0.5 * end_energy(hybrid, push)
            if push.kind == SPRING or push.kind == END:
                size += 0.5 * push.stiffness * (dot(f, f) + dot(x, x) + push.length * push.length)
            else:
                size += length(f) * (1.0 + length(x)) + length(push.moment)
    return total, size


@helper
def joint_sizes(m, hybrid, x):
    """The magnitude of joint forces, as their work over a unit displacement; the sum of squares of the velocities; and
    the power that dampers of joints and springs take at these. Requires recorded motions."""
    size, squares, power = 0.0, 0.0, 0.0
    for b in range(m.n):
        iv = m.bodies[b].iv
        for j in range(iv, iv + DOF[m.bodies[b].kind]):
            v, rest = x.v[j], own_force(hybrid, x, j, 0.0)
            size += abs(rest) + 2.0 * abs(hybrid.controls[j])
            squares += v * v
            power += (m.dofs[j].damping * v + rest - own_force(hybrid, x, j, v)) * v
        if is_pushed(hybrid, b):
            R, _ = pose_at(hybrid.world, (b + 1))
            V = Motion(R @ hybrid.moves[b + 1].w, R @ hybrid.moves[b + 1].v)
            power -= V @ hybrid.pushed[b + 1].drag
    return size, squares, power


@helper
def stretch(m, hybrid, x):
    """The energy of springs, of joints and of pushes, above that at rest."""
    total = 0.0
    for b in range(m.n):
        iv = m.bodies[b].iv
        for j in range(iv, iv + DOF[m.bodies[b].kind]):
            row = hybrid.controlled[j]
            while row > 0:
                law = law_among(hybrid.controls, x.nv + LAW * (row - 1))
                total += abs(law_work(law, x.q[int(law.coordinate)], law.rest))
                row = hybrid.controlled[x.nv + row - 1]
        R, X = pose_at(hybrid.world, (b + 1))
        for k in range(hybrid.push_start[b + 1], hybrid.push_start[b + 2]):
            push = hybrid.reduced_pushes[k]
            if push.kind == SPRING:
                total += push_energy(push, R, X)
            elif push.kind == END:
                moves = hybrid.reduced_pushes[push.other].body > 0
                total += end_energy(hybrid, push) * (0.5 if moves else 1.0)
    return total


@part
def look(hybrid):
    """Update the energy accounts, and restart them. Returns whether there is energy without a source, and how
    much of it may be rounding."""
    without_joints(hybrid, True, True, True)
    m, x = open_reduced(hybrid)
    kinetic = hybrid.kinetic
    energy, size = potential(m, hybrid)
    forces, squares, power = joint_sizes(m, hybrid, x)
    if hybrid.accounts_open > 0.0:
        settle_accounts(hybrid, kinetic, energy)
    else:
        reopen_accounts(hybrid, kinetic)
        hybrid.stretch = stretch(m, hybrid, x) + hybrid.lent / MOST_LENT  # lent before: not counted again
    hybrid.then_kinetic = kinetic
    hybrid.then_potential = energy
    hybrid.work = hybrid.drag_work = hybrid.stopped = 0.0
    hybrid.squares = max(squares, 0.5 * hybrid.squares)
    hybrid.accounts_open = 1.0
    hybrid.unchecked = 0
    grown, lent, there = hybrid.grown, hybrid.lent, hybrid.there
    rounding = (SHAKY if hybrid.has_loops else ROUNDING) * (size + forces)
    too_damped = hybrid.dt * power >= 2.0 * DAMPED * kinetic and grown + lent > 0.5 * there + rounding
    all_lent = lent > MOST_LENT * (there + hybrid.stretch) + rounding
    return not grown <= 0.5 * there + rounding or too_damped or all_lent, rounding


@helper
def reopen_accounts(hybrid, kinetic):
    """After a change of forces, or steps with contact: energy that contacts took reduces the unaccounted part of it."""
    share = kinetic / hybrid.there if hybrid.there > kinetic else 1.0
    hybrid.grown *= share
    hybrid.lent *= share
    hybrid.there, hybrid.height = kinetic, 0.0


@helper
def settle_accounts(hybrid, kinetic, energy):
    """Since the last check: the energy available, the unaccounted part of it, and the energy given by dampers."""
    stopped, lent = hybrid.stopped, hybrid.lent + hybrid.drag_work
    rise = energy - hybrid.then_potential - hybrid.work
    height = max(0.0, hybrid.height + rise)
    there, taken = kinetic + height, max(0.0, -lent) + max(0.0, stopped)
    gained = kinetic - hybrid.then_kinetic + rise - hybrid.drag_work + stopped
    share = there / (there + taken) if taken > 0.0 else 1.0
    hybrid.height = height
    hybrid.grown = max(0.0, hybrid.grown + gained) * share
    hybrid.lent = max(0.0, lent) * share
    hybrid.there = there


@helper
def balance(hybrid, m):
    """The energy, less the work of joints, pushes and dampers since the last check, and with what stopping joints took:
    the same before and after a step, but for the step's own errors."""
    without_joints(hybrid, True, True, True)
    energy, _ = potential(m, hybrid)
    return hybrid.kinetic + energy - hybrid.work - hybrid.drag_work + hybrid.stopped


@kernel(types.void(HybridBody.type), "adaptive dynamics, accounts")
def close_kernel(hybrid):
    """Close the accounts before forces change: the next step opens them with the new forces."""
    _, rounding = look(hybrid)
    kinetic, there = hybrid.kinetic, hybrid.there
    grown, lent = max(0.0, hybrid.grown - rounding), max(0.0, hybrid.lent - rounding)
    hybrid.grown = grown * kinetic / there if there > 0.0 else 0.0
    hybrid.lent = lent * kinetic / there if there > 0.0 else 0.0
    hybrid.there = kinetic
    hybrid.height = hybrid.squares = hybrid.accounts_open = 0.0


@kernel(types.float64(HybridBody.type), "adaptive dynamics, energy")
def energy_kernel(hybrid):
    """Kinetic energy, and that of gravity, springs on bodies and pushes that keep their direction in the world; records
    poses."""
    m, _ = open_reduced(hybrid)
    without_joints(hybrid, True, False, True)
    energy, _ = potential(m, hybrid)
    for rb in range(m.n + 1):
        R, X = pose_at(hybrid.world, rb)
        for k in range(hybrid.push_start[rb], hybrid.push_start[rb + 1]):
            if hybrid.reduced_pushes[k].kind == PUSH:
                energy += push_energy(hybrid.reduced_pushes[k], R, X)
    return hybrid.kinetic + energy


def close_accounts(hybrid: Held) -> None:
    """Close the accounts of a HybridBody, if they are open: its forces are about to change."""
    if hybrid.accounts_open:
        close_kernel.load()(hybrid.address)
