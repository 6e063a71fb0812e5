"""Acceptance of a part of a step: by the energy that it adds, and by the overlap at its end.

Rows and velocity products are those of the middle of the part, and touches are those that were near then. What bodies
do otherwise, because they rotate fast or are struck, is of second order in the length of the part. A part that is not
accepted is repeated with half its length.

    E' - E - W <= gain    E: kinetic and gravitational energy;  W: the work of joint forces and of pushes on bodies

Gains within that bound could add up. The rise of E - W above its lowest value so far in a run is therefore summed from
step to step, and limited as well.

The impulses of touches only take energy. Moving shapes apart is not of second order: it goes as far as the bound on
kinetic energy allows; the potential energy that it adds is counted separately.
"""

from __future__ import annotations

from supple.contact.geometry.finding import find_touches_again
from supple.contact.geometry.points import norm
from supple.contact.memory import LIMIT, SPHERE
from supple.contact.steps.landing import body_motions
from supple.contact.tree_groups import group_of
from supple.exact.aba import aba_scratch
from supple.exact.motion import turned_inertia
from supple.spatial.algebra import cross, dot, rotate_force
from supple.spatial.compiler import helper, part

DEEPEST = 5e-4  #: overlap, in metres or radians, that a part may end with, unless it began with more ...
TINY = 0.05  #: ... or this share of how far a shape reaches from the centre of mass of its body, if that is less
THIN = 0.1  #: of half the diagonal of a shape: the least thickness that `outruns_search` assumes
DEEPER = 1e-8  #: metres or radians: ignored increase of overlap, which the solver's tolerance and rounding cause
GAIN = 5e-4  #: of kinetic energy and what gravity adds to it in a step: energy that a step may add, and that moving
#: shapes apart may add
RISE = 1e-3  #: of the largest kinetic energy so far: energy that a run may add between any two instants
SHORT = 0.1  #: of a step: shorter parts may add more than that
FINEST, FINER = 2.0**-7, 2.0**-16  #: of a step: parts that are not halved because of overlap, or of energy
REPAID = 5e-3  #: reduction of restitution, if half of RISE is used up
ROUNDING = 1e-12  #: of the energies
UNSOLVED = 0.01  #: of the tolerance: residuals that solvers leave


@part
def energies(m, bodies, v):
    """Kinetic and gravitational energy of bodies as they are placed, and their total mass."""
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
    """W of one degree of freedom, whose force is linear in the velocity [implicit.py]. slopes: the armature that
    represents springs and dampers in the implicit step."""
    change = end - v
    return h * (force - damping * v - slopes * change / h) * (v + 0.5 * change)


@part
def work_of_forces(landing, h):
    """W of a part of length h, by the velocities at its end. Forces are linear in these [implicit.py]."""
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
def speed_of_shape(body, shape):
    """The speed of the origin of a shape on a body."""
    return norm(body.V.lin + cross(body.V.ang, body.R @ shape.p))


@helper
def farthest_move(scene, h):
    """A bound on the motion of all points of shapes, and of joints with limits, in a part of length h."""
    most = 0.0
    for k in range(scene.n_limits):
        most = max(most, abs(scene.v[scene.limits[k]]) * h)
    for i in range(scene.n_shapes - scene.n_flat):
        shape = scene.shapes[i]
        if shape.body >= 0:
            body = scene.bodies[shape.body]
            most = max(most, (speed_of_shape(body, shape) + norm(body.V.ang) * norm(shape.box)) * h)
    return most


@helper
def outruns_search(body, shape, h, searched, turned, share):
    """Whether a shape on a body moved farther in a part of length h than touches were `searched` for, because something
    struck or pushed it, and farther than half its thickness: it may have passed through another shape without
    overlapping it in the end. share: of the thickness that counts. Or whether it rotated by a radian more than
    expected: its corners may have passed through what it touches, which is avoided only along straight lines. turned:
    how far that rotation moves them. That of spheres moves nothing."""
    box = shape.box
    turn = norm(body.V.ang) * norm(box) * h
    way = speed_of_shape(body, shape) * h + turn
    thick = max(min(box.x, box.y, box.z), THIN * norm(box))
    return way > searched + share * thick or (shape.kind != SPHERE and turn > turned + norm(box))


@helper
def outruns(scene, h):
    """Whether any shape does, in a part of length h."""
    for i in range(scene.n_shapes - scene.n_flat):
        shape = scene.shapes[i]
        searched = shape.searched + scene.length
        if shape.body >= 0 and outruns_search(scene.bodies[shape.body], shape, h, searched, shape.turned, 1.0):
            return True
    return False


@helper
def allowed_of(scene, touch):
    """The overlap of a touch that a part may end with."""
    allowed = DEEPEST
    if touch.kind != LIMIT:
        allowed = min(scene.shapes[touch.shape].allowed, scene.shapes[touch.other].allowed)
    return allowed


@helper
def depth_before(scene, now):
    """How deep the shapes of a touch may overlap because they already did where forces acted in the part."""
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
    """The work that residuals of solvers may do: it cannot be compared with the kinetic energy of bodies that forces
    hold at rest."""
    work = 0.0
    for k in range(scene.n):
        work += abs(dot(scene.touches[k].lam, scene.touches[k].free))
    return UNSOLVED * tolerance * work


@helper
def energy_excess(landing, gain, kinetic, potential, share):
    """The energy that a part adds, relative to the scale of its step, if that is more than allowed; otherwise 0.
    kinetic, potential: energies where it begins. share: its length, relative to the step's."""
    landing.gain, rounding = gain, ROUNDING * (kinetic + abs(potential))
    allowed = GAIN * (landing.scale * share + max(landing.work, 0.0)) + rounding
    allowed += left_unsolved(landing.scene, landing.tolerance)
    rises = gain > rounding and landing.risen + gain > RISE * landing.largest and share > SHORT
    return gain / (landing.scale + 1e-12) if gain > allowed or rises else 0.0


@helper
def begin_account(landing, kinetic, mass, gravity, h):
    """Begins the account of energy of a step of length h. kinetic, mass: of all bodies, where it begins."""
    landing.scale = kinetic + mass * dot(gravity, gravity) * h * h
    landing.largest = max(landing.largest, landing.scale)


@helper
def book(landing, gain):
    """Adds the energy gained by impacts, or by a part that is accepted, to the account."""
    landing.risen = max(landing.risen + gain, 0.0)


@helper
def forgive(landing):
    """A rise beyond what is allowed does not count against the parts that follow."""
    landing.risen = min(landing.risen, RISE * landing.largest)


@helper
def share_of_bounce(landing):
    """The factor of restitution: impacts repay energy that parts have added, before these may add no more."""
    return 1.0 - REPAID if landing.risen > 0.5 * RISE * landing.largest else 1.0


@helper
def left_to_add(landing, spare):
    """The kinetic energy that moving shapes apart may add. spare: what is left of the step's allowance."""
    return max(min(spare, RISE * landing.largest - landing.risen), 0.0)


@helper
def is_shortest(landing, length, h):
    """Whether a part of a step of length h, which was judged, is too short to be halved."""
    return length <= h * (FINER if landing.excess > 0.0 else FINEST)


@helper
def count_rough(landing):
    """Counts a part that is above tolerance, but too short to be halved."""
    landing.rough += 1
    book(landing, landing.gain)
    forgive(landing)
    landing.gained = max(landing.gained, landing.excess)
    landing.deepest = max(landing.deepest, landing.depth)


@part
def too_deep(scene, ahead):
    """The largest overlap beyond what is allowed at the end of a part, where bodies are placed; 0 if there is none.
    ahead: memory for the touches there."""
    find_touches_again(ahead)
    return deepest_of(scene, ahead)


@part
def deepest_of(scene, ahead):
    """The same, for touches that have been found."""
    deepest = DEEPEST if ahead.n > ahead.capacity else 0.0  # some may be missing
    for k in range(min(ahead.n, ahead.capacity)):
        now = ahead.touches[k]
        if -now.gap > max(deepest, allowed_of(scene, now)) and -now.gap > depth_before(scene, now):
            deepest = -now.gap
    return deepest


@part
def mark_deep(groups, scene, ahead, owner, n):
    """Marks the groups that overlap too far by the touches of `ahead`: all n bodies if there are none, because some
    touches were not found. owner: the body of every degree of freedom."""
    found = False
    for b in range(n):
        groups.deep[b] = 0
    for k in range(min(ahead.n, ahead.capacity)):
        now = ahead.touches[k]
        if -now.gap > allowed_of(scene, now) and -now.gap > depth_before(scene, now):
            found = True
            if now.kind == LIMIT:
                groups.deep[group_of(groups, owner[now.a])] = 1
            else:
                for b in (now.a, now.b):
                    if b >= 0:
                        groups.deep[group_of(groups, b)] = 1
    for b in range(0 if found else n):
        groups.deep[b] = 1
