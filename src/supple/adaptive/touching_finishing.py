"""The end of a part of a step of a hybrid body, as contact/finishing.py has it for whole ones: positions move with the
velocities of the end from where forces act, shapes that overlap are moved apart, as far as that does no harm, and the
part is judged [touching_judging.py]."""

from __future__ import annotations

from supple.adaptive.memory import CURRENT
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching_judging import NO_ROOM, depth_after, energies, too_deep
from supple.adaptive.touching_loops import close_part
from supple.adaptive.touching_memory import touching_of
from supple.adaptive.touching_placing import place_here
from supple.adaptive.touching_search import search_placed
from supple.contact.finishing import APART, TRIES, shrinks_by, too_late
from supple.contact.judging import book, energy_excess, forgive, left_to_add
from supple.contact.landing import turn_back
from supple.contact.stepping import SHARE
from supple.integrating.chart import point_into, rate_into
from supple.model.joints import NQ
from supple.spatial.compiler import helper

GOOD, BAD, LACKS_ROOM = range(3)  #: what a part is found to be


@helper
def copy_q(m, q, to):
    """The coordinates of active joints."""
    for b in range(m.n):
        for i in range(m.bodies[b].iq, m.bodies[b].iq + NQ[m.bodies[b].kind]):
            to[i] = q[i]


@helper
def copy_v(scene, v, to):
    """The velocities of active joints."""
    for i in range(scene.n_present):
        to[scene.present[i]] = v[scene.present[i]]


@helper
def move_by(hybrid, m, x, dv, h):
    """q moved by dv for h, from where q0 then is; v keeps its direction in the world."""
    touching = touching_of(hybrid)
    scene = touching.scene
    copy_q(m, x.q, touching.q0)
    for i in range(scene.n_present):
        touching.x[scene.present[i]] = 0.0
    rate_into(m, touching.x, x.q, dv, touching.rate)
    for i in range(scene.n_present):
        touching.x[scene.present[i]] = h * touching.rate[scene.present[i]]
    point_into(m, touching.q0, touching.x, x.q)
    turn_back(m, touching.q0, x.q, x.v)


@helper
def begin_part(hybrid):
    """Keep the state where a part begins, after impacts."""
    m, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    copy_q(m, x.q, touching.part_q)
    copy_v(touching.scene, x.v, touching.part_v)


@helper
def take_back(hybrid):
    """q and v as they were where a part began."""
    m, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    copy_q(m, touching.part_q, x.q)
    copy_v(touching.scene, touching.part_v, x.v)
    place_here(hybrid)


@helper
def move_on(hybrid, h, halfway):
    """From where a part of length h begins to where forces act, with the touches there, as contact/finishing.py has
    it."""
    m, x = open_reduced(hybrid)
    touching, early = touching_of(hybrid), 0.0
    touching.before = 0.5 * h if halfway else 0.0
    for attempt in range(TRIES):
        closed = True
        if touching.before > 0.0:
            move_by(hybrid, m, x, touching.part_v, touching.before)
            closed = close_part(hybrid, touching.before)
            place_here(hybrid)
        search_placed(hybrid, CURRENT, h)
        early = too_late(touching.scene, x.v) if closed else h
        if touching.before == 0.0 or early == 0.0:
            break
        take_back(hybrid)
        touching.before = max(touching.before - early, 0.0) if attempt + 2 < TRIES else 0.0


@helper
def move_apart(hybrid, kinetic, lower, horizon):
    """Where shapes overlap, q moved by dq: by as much of it as adds no more to the energy of motion than the budget
    has, and lets nothing else overlap. kinetic, lower: the energies before. Returns how deep shapes overlap then
    [too_deep]."""
    m, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    scene, now, after, depth = touching.scene, 0.0, 0.0, 0.0
    copy_v(scene, x.v, touching.dv)
    allowed = left_to_add(touching, touching.budget)
    for attempt in range(APART + 1):
        move_by(hybrid, m, x, touching.dq, 1.0 if attempt < APART else 0.0)
        place_here(hybrid)
        now, after, _ = energies(hybrid)
        if attempt == APART or now <= kinetic + allowed:
            depth = too_deep(hybrid, horizon)
            if attempt == APART or not depth > 0.0:
                break
        copy_q(m, touching.q0, x.q)
        copy_v(scene, touching.dv, x.v)
        shrink = shrinks_by(now - kinetic, allowed)
        for i in range(scene.n_present):
            touching.dq[scene.present[i]] *= shrink
    touching.open = 1  # to first order, loops stay closed
    touching.budget -= now - kinetic
    touching.lifted += max(after - lower, 0.0)
    book(touching, now - kinetic + after - lower)
    forgive(touching)
    return depth


@helper
def finish_part(hybrid, kinetic, potential, h, length):
    """Moves a part of a step of length h, whose energies were these where it began. Returns what it is found to be."""
    m, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    risen, rest = touching.risen, touching.left - length
    horizon = rest if rest > SHARE * h else h
    copy_v(touching.scene, touching.end, x.v)
    move_by(hybrid, m, x, touching.end, touching.after)
    closed = close_part(hybrid, length)
    place_here(hybrid)
    now, lower, _ = energies(hybrid)
    gain = now + lower - kinetic - potential - touching.work
    touching.excess = energy_excess(touching, gain, kinetic, potential, length / h)
    good = closed and touching.excess == 0.0
    if good:
        book(touching, touching.gain)
        touching.budget += max(-touching.gain, 0.0)
    if good and touching.apart:
        touching.depth = move_apart(hybrid, now, lower, horizon)
    else:
        touching.depth = depth_after(hybrid, length, horizon)
    if good and touching.depth == 0.0:
        return GOOD
    touching.risen = risen
    return LACKS_ROOM if touching.depth == NO_ROOM else BAD
