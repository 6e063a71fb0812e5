"""The end of a part of a step: where it leads, and whether it may stand.

Positions move with the velocities of the end; then shapes that overlap are moved apart, as far as that does no harm.
"""

from __future__ import annotations

from supple.contact.judging import DEEPEST, energies, energy_excess, farthest_move, too_deep
from supple.contact.landing import move_bodies, turn_back
from supple.integrating.chart import point_into, rate_into
from supple.integrating.stages import slope_of
from supple.spatial.compiler import helper

APART = 3  #: attempts to move apart what overlaps


@helper
def move_by(m, step, rate, dv, h):
    """q moved by dv for h, from where q0 then is; v keeps its direction in the world."""
    for j in range(m.nv):
        step.x[j] = 0.0
    for i in range(m.nq):
        step.q0[i] = step.q[i]
    rate_into(m, step.x, step.q, dv, rate)
    for j in range(m.nv):
        step.x[j] = h * rate[j]
    point_into(m, step.q0, step.x, step.q)
    turn_back(m, step.q0, step.q, step.v)


@helper
def move_part(landing, h):
    """q and v at the end of a part, before shapes are moved apart."""
    step = landing.implicit.body.step
    m = step.model
    for i in range(m.nq):
        landing.q[i] = step.q[i]
    for j in range(m.nv):
        landing.v[j], step.v[j] = step.v[j], landing.implicit.end[j]
    move_by(m, step, slope_of(step, 0), landing.implicit.end, h)
    move_bodies(m, step.q, step.v, landing.placing)


@helper
def move_apart(landing, kinetic):
    """Where shapes overlap, q moved by dq: by as much of it as adds no more to the energy of motion than is to spare,
    and lets nothing else overlap. Returns energies then."""
    scene, step = landing.scene, landing.implicit.body.step
    m, now, lower, rate = step.model, 0.0, 0.0, 0.0
    for j in range(m.nv):
        landing.dv[j] = step.v[j]
    for attempt in range(APART + 1):
        move_by(m, step, slope_of(step, 0), landing.dq, 1.0 if attempt < APART else 0.0)
        move_bodies(m, step.q, step.v, landing.placing)
        now, lower, _, rate = energies(m, scene.bodies, step.v)
        if attempt == APART or (now <= kinetic + max(landing.spare, 0.0) and too_deep(scene, landing.ahead) == 0.0):
            break
        for i in range(m.nq):
            step.q[i] = step.q0[i]
        for j in range(m.nv):
            step.v[j] = landing.dv[j]
            landing.dq[j] *= 0.25
    landing.spare -= now - kinetic
    return now, lower, rate


@helper
def take_back(landing):
    """q and v as they were where a part began."""
    step = landing.implicit.body.step
    m = step.model
    for i in range(m.nq):
        step.q[i] = landing.q[i]
    for j in range(m.nv):
        step.v[j] = landing.v[j]
    move_bodies(m, step.q, step.v, landing.placing)


@helper
def finish_part(landing, kinetic, potential, rate, h, length):
    """Moves a part of a step of length h, whose energies were these where it began, with the rate of that of gravity.
    Returns whether it may stand, and the same where it ends."""
    scene, step = landing.scene, landing.implicit.body.step
    m = step.model
    move_part(landing, length)
    now, lower, _, later = energies(m, scene.bodies, step.v)
    gain = now + lower - kinetic - potential - landing.work
    too_high = 0.5 * (lower - potential - length * rate)
    landing.excess = energy_excess(landing, gain, too_high, kinetic, potential, length / h)
    landing.depth = too_deep(scene, landing.ahead) if farthest_move(scene, length) > 0.5 * DEEPEST else 0.0
    good = landing.excess == 0.0 and landing.depth == 0.0
    if good and landing.apart:
        now, after, later = move_apart(landing, now)
        landing.lifted, lower = landing.lifted + max(after - lower, 0.0), after
    return good, now, lower, later
