"""The end of a part of a step of a hybrid body: contact/steps/finishing.py over the active joints. Positions move with
the velocities of the end, from where forces act. Overlap is removed, as far as that adds little energy and makes
nothing else overlap; and the part is judged [judging.py]."""

from __future__ import annotations

from supple.adaptive.memory import CURRENT
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching.body_poses import place_here, place_trees, sum_kinetic
from supple.adaptive.touching.judging import NO_ROOM, depth_after, energies, energies_of, outruns, too_deep
from supple.adaptive.touching.loops import close_part
from supple.adaptive.touching.memory import touching_of
from supple.adaptive.touching.search import search_placed
from supple.contact.response.velocity_products import turn_back_joint
from supple.contact.steps.finishing import APART, TRIES, any_sunk, move_less, too_late
from supple.contact.steps.judging import book, energy_excess, forgive, left_to_add, mark_deep
from supple.contact.steps.momenta import (
    ROUNDS,
    add_body,
    begin_sums,
    find_free,
    is_kept,
    keep_sums,
    note_roots,
    restore_sums,
)
from supple.contact.steps.part_length import SHARE
from supple.contact.steps.striking import end_of_tree
from supple.contact.tree_groups import find_groups, group_of
from supple.integrating.chart import point_joint, rate_joint
from supple.model.joint_poses import DOF
from supple.model.joints import NQ
from supple.spatial.compiler import helper

GOOD, BAD, LACKS_ROOM = range(3)  #: a part is accepted, or rejected; or there is not enough memory to judge it


@helper
def copy_q(m, q, to):
    """Copies the coordinates of active joints."""
    for b in range(m.n):
        for i in range(m.bodies[b].iq, m.bodies[b].iq + NQ[m.bodies[b].kind]):
            to[i] = q[i]


@helper
def copy_v(scene, v, to):
    """Copies the velocities of active joints."""
    for i in range(scene.n_present):
        to[scene.present[i]] = v[scene.present[i]]


@helper
def move_bodies(hybrid, m, x, dv, h, first, last):
    """Moves q of reduced bodies `first` to `last` with velocities dv for h; q0 keeps the old one. v is transformed to
    the new axes of free and planar joints."""
    touching = touching_of(hybrid)
    for b in range(first, last):
        body = m.bodies[b]
        for i in range(body.iq, body.iq + NQ[body.kind]):
            touching.q0[i] = x.q[i]
        for j in range(body.iv, body.iv + DOF[body.kind]):
            touching.x[j] = 0.0
        rate_joint(m, b, touching.x, x.q, dv, touching.rate)
        for j in range(body.iv, body.iv + DOF[body.kind]):
            touching.x[j] = h * touching.rate[j]
        point_joint(m, b, touching.q0, touching.x, x.q)
        turn_back_joint(m, b, touching.q0, x.q, x.v)


@helper
def move_by(hybrid, m, x, dv, h):
    """The same for all reduced bodies."""
    move_bodies(hybrid, m, x, dv, h, 0, m.n)


@helper
def begin_part(hybrid):
    """Saves the state where a part begins, after impacts."""
    m, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    touching.scene.sunk = any_sunk(touching.scene)
    copy_q(m, x.q, touching.part_q)
    copy_v(touching.scene, x.v, touching.part_v)


@helper
def take_back(hybrid):
    """Restores q and v at the beginning of a part."""
    m, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    copy_q(m, touching.part_q, x.q)
    copy_v(touching.scene, touching.part_v, x.v)
    place_here(hybrid)


@helper
def move_on(hybrid, h, halfway):
    """Moves from the beginning of a part of length h to where forces act, and finds the touches there, as
    contact/steps/finishing.py does. halfway: whether that is its middle, if nothing overlaps there."""
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
def end_of_trees(hybrid, m, first):
    """The end of the tree that begins with body `first`, or of all trees if loops may connect them."""
    return m.n if hybrid.n_loop_rows > 0 else end_of_tree(m, first)


@helper
def is_moved(m, dq, first, last):
    """Whether dq moves any of these bodies."""
    total = 0.0
    for b in range(first, last):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            total += abs(dq[j])
    return total != 0.0


@helper
def is_changed(hybrid, m, first, last):
    """Whether dq moves any of these bodies, or others with which they keep their momentum."""
    touching = touching_of(hybrid)
    kept = hybrid.n_loop_rows == 0 and is_kept(touching.groups, first)
    return kept or is_moved(m, touching.dq, first, last)


@helper
def energies_of_changed(hybrid, m):
    """Kinetic and gravitational energy of the trees that is_changed is about."""
    first, kinetic, potential = 0, 0.0, 0.0
    while first < m.n:
        last = end_of_trees(hybrid, m, first)
        if is_changed(hybrid, m, first, last):
            moving, lifted = energies_of(hybrid, first, last)
            kinetic, potential = kinetic + moving, potential + lifted
        first = last
    return kinetic, potential


@helper
def group_trees(hybrid, m):
    """Finds the groups of trees that touch each other."""
    touching = touching_of(hybrid)
    groups, first = touching.groups, 0
    while first < m.n:
        last = end_of_trees(hybrid, m, first)
        for b in range(first, last):
            groups.tree[b] = first
        first = last
    find_groups(groups, touching.scene, m.n)


@helper
def move_trees(hybrid, m, x):
    """Moves trees by dq, by the share of their group, and places them there."""
    dq, groups, first = touching_of(hybrid).dq, touching_of(hybrid).groups, 0
    while first < m.n:
        last = end_of_trees(hybrid, m, first)
        if is_changed(hybrid, m, first, last):
            move_bodies(hybrid, m, x, dq, groups.share[group_of(groups, first)], first, last)
            if hybrid.n_loop_rows > 0:
                place_here(hybrid)
            else:
                place_trees(hybrid, first, last)
        first = last


@helper
def sum_momenta(hybrid, m, x):
    """The momenta of trees that are to keep them, as they are placed."""
    touching = touching_of(hybrid)
    begin_sums(touching.groups, m.n)
    for b in range(m.n):
        if is_kept(touching.groups, b):
            add_body(touching.groups, touching.scene.bodies, b, x.work.bodies[b].I)


@helper
def keep_momenta(hybrid, m, x):
    """Keeps the momenta of free trees that dq is going to move. Returns whether there are any."""
    touching = touching_of(hybrid)
    if hybrid.n_loop_rows > 0 or not find_free(touching.groups, touching.scene, m, touching.dq):
        return False
    sum_momenta(hybrid, m, x)
    keep_sums(touching.groups, m.n)
    return True


@helper
def restore_momenta(hybrid, m, x):
    """Gives trees the momenta that were kept, where they have been moved to."""
    groups = touching_of(hybrid).groups
    for k in range(1, ROUNDS + 1):
        sum_momenta(hybrid, m, x)
        restore_sums(groups, m, touching_of(hybrid).scene.bodies, x.v, k < ROUNDS)
    first = 0
    while first < m.n:
        last = end_of_tree(m, first)
        if is_kept(groups, first):
            place_trees(hybrid, first, last)
        first = last


@helper
def move_apart(hybrid, horizon):
    """Moves q by dq, which removes overlap: by as much of it as the budget of kinetic energy allows, and as makes
    nothing else overlap [contact/tree_groups.py]. Free trees keep their momenta [contact/steps/momenta.py]. Returns the
    overlap that is left [too_deep]."""
    m, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    scene, gain, lifted, depth = touching.scene, 0.0, 0.0, 0.0
    group_trees(hybrid, m)
    keeps = keep_momenta(hybrid, m, x)
    kinetic, potential = energies_of_changed(hybrid, m)
    copy_v(scene, x.v, touching.dv)
    copy_q(m, x.q, touching.q0)
    allowed = left_to_add(touching, touching.budget)
    for attempt in range(APART + 2):
        move_trees(hybrid, m, x)
        if keeps:
            restore_momenta(hybrid, m, x)
        now, after = energies_of_changed(hybrid, m)
        gain, lifted = now - kinetic, after - potential
        fits = gain <= allowed or attempt > APART
        if fits:
            depth = too_deep(hybrid, horizon)
            if not depth > 0.0 or attempt > APART:
                break
            mark_deep(touching.groups, scene, touching.ahead, touching.owner, m.n)
        move_less(touching.groups, m.n, fits, gain, allowed, attempt)
        copy_q(m, touching.q0, x.q)
        copy_v(scene, touching.dv, x.v)
    if hybrid.n_loop_rows == 0:
        hybrid.kinetic = sum_kinetic(hybrid)  # not a difference: the next call of a run places bodies and adds up again
    touching.open = 1  # dq keeps loops closed to first order only
    touching.budget -= gain
    touching.lifted += max(lifted, 0.0)
    book(touching, gain + lifted)
    forgive(touching)
    return depth


@helper
def finish_part(hybrid, kinetic, potential, h, length):
    """Takes a part of the given length to its end, in a step of length h, and judges it. kinetic, potential: energies
    where it began. Returns GOOD, BAD or LACKS_ROOM."""
    m, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    risen, rest = touching.risen, touching.left - length
    horizon = rest if rest > SHARE * h else h
    if touching.apart:
        note_roots(touching.groups, m, touching.scene.bodies)
    copy_v(touching.scene, touching.end, x.v)
    move_by(hybrid, m, x, touching.end, touching.after)
    closed = close_part(hybrid, length)
    place_here(hybrid)
    now, lower, _ = energies(hybrid)
    gain = now + lower - kinetic - potential - touching.work
    touching.excess = energy_excess(touching, gain, kinetic, potential, length / h)
    good = closed and touching.excess == 0.0 and not outruns(hybrid, length, 1.0)
    if good:
        book(touching, touching.gain)
        touching.budget += max(-touching.gain, 0.0)
    if good and touching.apart:
        touching.depth = move_apart(hybrid, horizon)
    else:
        touching.depth = depth_after(hybrid, length, horizon)
    if good and touching.depth == 0.0:
        return GOOD
    touching.risen = risen
    return LACKS_ROOM if touching.depth == NO_ROOM else BAD
