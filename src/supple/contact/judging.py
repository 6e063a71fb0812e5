"""Whether a part of a step may stand: by what it did to energy, and by how deep shapes overlap where it ends.

The rows of touches and velocity products are those of the part's middle, and touches are those that were near then.
What bodies do otherwise, because they turn fast or because others strike them, is of second order in the length of the
part: one that goes wrong is taken again, half as long.

    E' - E - W <= gain    E: of motion, and of gravity;  W: the work of the forces of joints and of pushes on bodies

Gains within that bound could add up. What E - W is higher than the lowest that it has been in a run is kept account of
from step to step, and limited likewise.

Touches only take energy, as they are solved. Moving shapes apart is not of second order: as much of it is done as adds
no more to the energy of motion; what it lifts is counted.
"""

from __future__ import annotations

from supple.contact.finding import find_touches_again
from supple.contact.landing import body_motions
from supple.contact.memory import LIMIT
from supple.contact.points import norm
from supple.exact.aba import aba_scratch
from supple.exact.motion import turned_inertia
from supple.spatial.algebra import cross, dot, rotate_force
from supple.spatial.compiler import helper, part

DEEPEST = 5e-4  #: metres, or radians of limits, of overlap that a part may end with, unless it began with more ...
TINY = 0.05  #: ... or this share of how far a shape reaches from the middle of its body, if that is less
THIN = 0.1  #: of half that diagonal: what a shape counts as thick, at least, where it moves farther than was searched
DEEPER = 1e-8  #: metres, or radians, that count as no more: what the law's tolerance and rounding leave
GAIN = 5e-4  #: of the energy of motion, and of what gravity gives to it in a step: what a step may add, and what moving
#: shapes apart may
RISE = 1e-3  #: of the largest energy of motion so far: what a run may add, from any instant to any other
SHORT = 0.1  #: of a step: shorter parts may add more than that
REPAID = 5e-3  #: of restitution, if half of that has been added
ROUNDING = 1e-12  #: of the energies
UNSOLVED = 0.01  #: of the tolerance: faults that solvers leave


@part
def energies(m, bodies, v):
    """Of motion, and of gravity, of bodies as they are placed; and the mass of all."""
    kinetic, potential, mass = 0.0, 0.0, 0.0
    for b in range(m.n):
        body = bodies[b]
        I = turned_inertia(body.R, m.shapes[b])
        kinetic += 0.5 * (body.V @ (I @ body.V))
        potential -= dot(body.P * I.m + I.h, m.gravity)
        mass += I.m
    for j in range(m.nv):
        kinetic += 0.5 * m.dofs[j].armature * v[j] * v[j]
    return kinetic, potential, mass


@helper
def work_of_joint(force, damping, slopes, v, end, h):
    """W of one degree of freedom: its force is a line in the velocity [implicit.py]. slopes: the armature that stands
    for it, damping included."""
    change = end - v
    return h * (force - damping * v - slopes * change / h) * (v + 0.5 * change)


@part
def work_of_forces(landing, h):
    """W of a part of length h, whose velocities at the end have been found: forces are lines in these [implicit.py]."""
    implicit, scene = landing.implicit, landing.scene
    body, step = implicit.body, implicit.body.step
    m, traits, work = step.model, body.aba.model.dofs, 0.0
    for j in range(m.nv):
        slopes = traits[j].armature - m.dofs[j].armature
        work += work_of_joint(body.tau[j], m.dofs[j].damping, slopes, step.v[j], implicit.end[j], h)
    if implicit.pushed:
        body_motions(scene, aba_scratch(body.aba), implicit.end)
        for b in range(m.n):
            at = scene.bodies[b]
            mean = (at.V + scene.motions[b].x) * 0.5
            work += h * (mean @ rotate_force(at.R @ m.outward[b].R, implicit.wrenches[b].f))
    return work


@helper
def farthest_move(scene, h):
    """How far any point of a shape, or a joint with limits, moved in a part of length h, at most."""
    most = 0.0
    for k in range(scene.n_limits):
        most = max(most, abs(scene.v[scene.limits[k]]) * h)
    for i in range(scene.n_shapes - scene.n_flat):
        shape = scene.shapes[i]
        if shape.body >= 0:
            body = scene.bodies[shape.body]
            speed = norm(body.V.lin + cross(body.V.ang, body.R @ shape.p)) + norm(body.V.ang) * norm(shape.box)
            most = max(most, speed * h)
    return most


@helper
def outruns(scene, h):
    """Whether a shape moved farther in a part of length h than touches were searched for, as what strikes or pushes it
    may make it do, and farther than half of what it is thick: it may be through something else by then, with no
    overlap that says so. Or whether it turned a radian farther, however far the search went."""
    for i in range(scene.n_shapes - scene.n_flat):
        shape = scene.shapes[i]
        if shape.body >= 0:
            body, box = scene.bodies[shape.body], shape.box
            turn = norm(body.V.ang) * norm(box) * h
            way = norm(body.V.lin + cross(body.V.ang, body.R @ shape.p)) * h + turn
            thick = max(min(box.x, box.y, box.z), THIN * norm(box))
            if way > shape.searched + scene.length + thick or turn > shape.searched + norm(box):
                return True
    return False


@helper
def allowed_of(scene, touch):
    """Overlap of a touch that a part may end with."""
    allowed = DEEPEST
    if touch.kind != LIMIT:
        allowed = min(scene.shapes[touch.shape].allowed, scene.shapes[touch.other].allowed)
    return allowed


@helper
def depth_before(scene, now):
    """How deep the shapes of a touch may overlap because they did so where forces acted in the part."""
    deep = 0.0
    for k in range(scene.n):
        touch = scene.touches[k]
        one = touch.shape == now.shape and touch.other == now.other
        same = one or (touch.shape == now.other and touch.other == now.shape)
        if same and touch.kind == now.kind and (touch.kind != LIMIT or touch.a == now.a):
            deep = max(deep, DEEPER - touch.gap)
    return deep


@helper
def left_unsolved(scene, tolerance):
    """The work of what solvers leave of faults: bodies that forces hold at rest have no energy of motion that this
    could be compared with."""
    work = 0.0
    for k in range(scene.n):
        work += abs(dot(scene.touches[k].lam, scene.touches[k].free))
    return UNSOLVED * tolerance * work


@helper
def energy_excess(landing, gain, kinetic, potential, share):
    """What a part adds to the energy, relative to the scale of its step, if that is more than it may; otherwise 0.
    kinetic, potential: where it began. share: its length, relative to the step's."""
    landing.gain, rounding = gain, ROUNDING * (kinetic + abs(potential))
    allowed = GAIN * (landing.scale * share + max(landing.work, 0.0)) + rounding
    allowed += left_unsolved(landing.scene, landing.tolerance)
    rises = gain > rounding and landing.risen + gain > RISE * landing.largest and share > SHORT
    return gain / (landing.scale + 1e-12) if gain > allowed or rises else 0.0


@helper
def begin_account(landing, kinetic, mass, gravity, h):
    """Of a step of length h, at whose beginning bodies have this energy of motion."""
    landing.scale = kinetic + mass * dot(gravity, gravity) * h * h
    landing.largest = max(landing.largest, landing.scale)


@helper
def book(landing, gain):
    """What impacts add to the energy, or a part that may stand."""
    landing.risen = max(landing.risen + gain, 0.0)


@helper
def forgive(landing):
    """What the energy has risen by more than it may does not count against parts that follow."""
    landing.risen = min(landing.risen, RISE * landing.largest)


@helper
def share_of_bounce(landing):
    """Of restitution: what is struck gives back what parts have added, before they may add no more."""
    return 1.0 - REPAID if landing.risen > 0.5 * RISE * landing.largest else 1.0


@helper
def left_to_add(landing, spare):
    """What moving shapes apart may add to the energy of motion. spare: of the step's."""
    return max(min(spare, RISE * landing.largest - landing.risen), 0.0)


@helper
def count_rough(landing):
    """A part that stands although it should not."""
    landing.rough += 1
    book(landing, landing.gain)
    forgive(landing)
    landing.gained = max(landing.gained, landing.excess)
    landing.deepest = max(landing.deepest, landing.depth)


@part
def too_deep(scene, ahead):
    """How deep the worst overlap is where a part ended, at which bodies are placed, among those that are larger than
    they may be: 0 if none is. ahead: where touches there go."""
    find_touches_again(ahead)
    return deepest_of(scene, ahead)


@part
def deepest_of(scene, ahead):
    """The same, of touches that have been found."""
    deepest = DEEPEST if ahead.n > ahead.capacity else 0.0  # then some are not known
    for k in range(min(ahead.n, ahead.capacity)):
        now = ahead.touches[k]
        if -now.gap > max(deepest, allowed_of(scene, now)) and -now.gap > depth_before(scene, now):
            deepest = -now.gap
    return deepest
