"""The positions of a part of a step: where forces act, and where it ends.

Bodies move half of the way with the velocities of the beginning, and from there on with those of the end. Shapes that
overlap are moved apart, as far as that adds no energy and causes no other overlap. Then the part is accepted or not
[judging.py].
"""

from __future__ import annotations

from supple.contact.geometry.finding import find_touches_near
from supple.contact.geometry.points import norm
from supple.contact.response.velocity_products import turn_back
from supple.contact.steps.judging import (
    allowed_of,
    book,
    energies,
    energy_excess,
    farthest_move,
    forgive,
    left_to_add,
    mark_deep,
    outruns,
    too_deep,
)
from supple.contact.steps.landing import move_bodies, speed_of_touch
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
from supple.contact.tree_groups import find_groups, group_of, move_all_less, move_deep_less
from supple.exact.motion import turned_inertia
from supple.integrating.chart import point_into, rate_into
from supple.integrating.projecting import CLOSED, project_kernel
from supple.integrating.stages import slope_of
from supple.spatial.compiler import helper, part

APART = 3  #: attempts to move overlapping shapes apart; then groups that overlap do not move, and then none does
LESS = 0.25  #: the factor of a motion that makes something overlap
SINKS = 0.5  #: of the overlap allowed at the end of a part: overlap allowed where forces act ...
SLOW = 0.01  #: m/s: ... for shapes that approach faster than this
TRIES = 3  #: instants at which forces may act; the last of them is the beginning of the part


@helper
def begin_move(m, step, rate, dv):
    """Saves q in q0, and finds the rate of coordinates about it for velocities dv."""
    for j in range(m.nv):
        step.x[j] = 0.0
    for i in range(m.nq):
        step.q0[i] = step.q[i]
    rate_into(m, step.x, step.q, dv, rate)


@helper
def end_move(m, step):
    """Moves q to the coordinates x about q0. v keeps its direction in the world."""
    point_into(m, step.q0, step.x, step.q)
    turn_back(m, step.q0, step.q, step.v)


@helper
def move_by(m, step, rate, dv, h):
    """Moves q by dv for a time h; q0 is where it was."""
    begin_move(m, step, rate, dv)
    for j in range(m.nv):
        step.x[j] = h * rate[j]
    end_move(m, step)


@helper
def copy_state(m, source, to):
    """Copies q and v."""
    for i in range(m.nq):
        to.q[i] = source.q[i]
    for j in range(m.nv):
        to.v[j] = source.v[j]


@helper
def begin_part(landing):
    """Saves the state where a part begins, after impacts."""
    step, scene = landing.implicit.body.step, landing.scene
    scene.sunk = any_sunk(scene)
    copy_state(step.model, step, landing)


@helper
def close_part(landing):
    """Closes loops, and makes velocities keep them closed. Returns whether that succeeded."""
    if landing.mechanisms.n == 0:
        return True
    closing, step = landing.closing, landing.implicit.body.step
    copy_state(step.model, step, closing)
    closed = project_kernel(closing) == CLOSED
    copy_state(step.model, closing, step)
    return closed


@helper
def move_on(landing, h, halfway):
    """Moves bodies from the beginning of a part of length h, where they are placed, to where forces act, and finds the
    touches there. That is half of the way if `halfway`, less if shapes would come to overlap until then or loops cannot
    be closed."""
    scene, step = landing.scene, landing.implicit.body.step
    m, landing.before, early = step.model, 0.5 * h if halfway else 0.0, 0.0
    for attempt in range(TRIES):
        closed = True
        if landing.before > 0.0:
            move_by(m, step, slope_of(step, 0), landing.v, landing.before)
            closed = close_part(landing)
            move_bodies(m, step.q, step.v, landing.placing)
        find_touches_near(scene, h)
        early = too_late(scene, step.v) if closed else h
        if landing.before == 0.0 or early == 0.0:
            break
        take_back(landing)
        landing.before = max(landing.before - early, 0.0) if attempt + 2 < TRIES else 0.0


@helper
def is_sunk(scene, touch):
    """Whether shapes overlap by more than they may where forces act."""
    return touch.gap < -SINKS * allowed_of(scene, touch)


@helper
def any_sunk(scene):
    """Whether any shapes do."""
    found = False
    for k in range(scene.n):
        found = found or is_sunk(scene, scene.touches[k])
    return found


@helper
def too_late(scene, v):
    """How long ago shapes began to overlap, of those that approach each other; 0 if the overlap is small. If nothing
    overlapped where the part began, shapes that do now have approached each other, too, even if they slide along the
    present normal: then it is that of another face, such as the bottom of a wall that stands on the floor."""
    most = 0.0
    for k in range(min(scene.n, scene.capacity)):
        touch = scene.touches[k]
        if is_sunk(scene, touch):
            u = speed_of_touch(scene, touch, v, True)
            speed = -u.x if scene.sunk or u.x < -SLOW else norm(u)
            if speed > SLOW:
                most = max(most, -touch.gap / speed)
    return most


@helper
def move_part(landing):
    """q and v at the end of a part, before shapes are moved apart. Returns whether loops are closed."""
    step = landing.implicit.body.step
    m = step.model
    for j in range(m.nv):
        step.v[j] = landing.implicit.end[j]
    move_by(m, step, slope_of(step, 0), landing.implicit.end, landing.after)
    closed = close_part(landing)
    move_bodies(m, step.q, step.v, landing.placing)
    return closed


@helper
def move_groups(landing):
    """Moves q by dq, each group of trees by its share of it; q0 is where it was."""
    step, groups = landing.implicit.body.step, landing.groups
    m, rate = step.model, slope_of(step, 0)
    begin_move(m, step, rate, landing.dq)
    for j in range(m.nv):
        step.x[j] = groups.share[group_of(groups, landing.owner[j])] * rate[j]
    end_move(m, step)


@part
def sum_momenta(groups, m, bodies):
    """The momenta of trees that are to keep them, as they are placed."""
    begin_sums(groups, m.n)
    for b in range(m.n):
        if is_kept(groups, b):
            add_body(groups, bodies, b, turned_inertia(bodies[b].R, m.shapes[b]))


@helper
def restore_momenta(landing):
    """Gives trees the momenta that were kept, where they have been moved to."""
    step, bodies, groups = landing.implicit.body.step, landing.scene.bodies, landing.groups
    for k in range(1, ROUNDS + 1):
        sum_momenta(groups, step.model, bodies)
        restore_sums(groups, step.model, bodies, step.v, k < ROUNDS)
    move_bodies(step.model, step.q, step.v, landing.placing)


@helper
def move_apart(landing, kinetic):
    """Moves q by dq, which removes overlap, or by as much of it as adds no more kinetic energy than allowed and causes
    no other overlap [tree_groups.py]. Free trees keep their momenta [momenta.py]. Returns the energies then;
    landing.depth is the largest overlap beyond tolerance [judging.py]."""
    scene, step, groups = landing.scene, landing.implicit.body.step, landing.groups
    m, now, lower = step.model, 0.0, 0.0
    for j in range(m.nv):
        landing.dv[j] = step.v[j]
    allowed = left_to_add(landing, landing.spare)
    find_groups(groups, scene, m.n)
    keeps = find_free(groups, scene, m, landing.dq)
    if keeps:
        sum_momenta(groups, m, scene.bodies)
        keep_sums(groups, m.n)
    for attempt in range(APART + 2):
        move_groups(landing)
        move_bodies(m, step.q, step.v, landing.placing)
        if keeps:
            restore_momenta(landing)
        now, lower, _ = energies(m, scene.bodies, step.v)
        fits = now <= kinetic + allowed or attempt > APART
        if fits:
            landing.depth = too_deep(scene, landing.ahead)
            if landing.depth == 0.0 or attempt > APART:
                break
            mark_deep(groups, scene, landing.ahead, landing.owner, m.n)
        move_less(groups, m.n, fits, now - kinetic, allowed, attempt)
        for i in range(m.nq):
            step.q[i] = step.q0[i]
        for j in range(m.nv):
            step.v[j] = landing.dv[j]
    landing.spare -= now - kinetic
    return now, lower


@helper
def move_less(groups, n, fits, gain, allowed, attempt):
    """Reduces the share of motion of n bodies after an attempt: of all if it adds more kinetic energy than allowed,
    otherwise (`fits`) of groups that overlap. The last but one attempt is made without these, the last without any
    motion."""
    if attempt == APART:
        move_all_less(groups, n, 0.0)
    elif fits:
        move_deep_less(groups, n, LESS if attempt + 1 < APART else 0.0)
    else:
        move_all_less(groups, n, min(max(0.9 * allowed / gain, LESS), 0.9) if attempt + 1 < APART else 0.0)


@helper
def take_back(landing):
    """Restores q and v at the beginning of a part."""
    step = landing.implicit.body.step
    copy_state(step.model, landing, step)
    move_bodies(step.model, step.q, step.v, landing.placing)


@helper
def finish_part(landing, kinetic, potential, h, length):
    """Moves bodies to the end of a part of a step of length h. kinetic, potential: energies where it begins. Returns
    whether it is accepted, and the energies where it ends."""
    scene, step = landing.scene, landing.implicit.body.step
    m = step.model
    if landing.apart:
        note_roots(landing.groups, m, scene.bodies)
    closed, risen = move_part(landing), landing.risen
    now, lower, _ = energies(m, scene.bodies, step.v)
    gain = now + lower - kinetic - potential - landing.work
    landing.excess = energy_excess(landing, gain, kinetic, potential, length / h)
    good = closed and landing.excess == 0.0 and not outruns(scene, length)
    if good:
        book(landing, landing.gain)
        landing.spare += max(-landing.gain, 0.0)
    if good and landing.apart:
        moving, after = move_apart(landing, now)
        book(landing, moving - now + after - lower)
        forgive(landing)
        landing.lifted += max(after - lower, 0.0)
        now, lower = moving, after
    else:
        landing.depth = too_deep(scene, landing.ahead) if farthest_move(scene, length) > 0.5 * scene.allowed else 0.0
    good = good and landing.depth == 0.0
    if not good:
        landing.risen = risen
    return good, now, lower
