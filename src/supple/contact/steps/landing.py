"""Velocities of a part of a step with touches: without impulses, and at touches.

Velocity products are those of the mean velocity of the part, which is predicted with the impulses of the previous step
[velocity_products.py]. Trees that are struck [striking.py] have those of the velocities before and after the impact.
"""

from __future__ import annotations

from supple.contact.geometry.points import norm
from supple.contact.memory import LIMIT, Known, Scene
from supple.contact.response.deep_groups import enter_all_groups
from supple.contact.response.loop_basis import find_basis
from supple.contact.response.loop_projection import keep_closed
from supple.contact.response.mechanisms import Mechanisms
from supple.contact.response.passes import begin_pass, finish_pass, push_bodies
from supple.contact.response.rows import add_changes, push_z
from supple.contact.response.velocity_products import bias_forces, lift_biases, turn_with
from supple.contact.steps.striking import end_of_tree
from supple.contact.tree_groups import TreeGroups
from supple.exact.aba import aba, aba_scratch, accelerate_trees
from supple.exact.call_kernels import Call
from supple.exact.jacobians import move_all
from supple.exact.kinematics import placed_scratch
from supple.exact.motion import CallState, joint_motion, joint_of
from supple.exact.tables import Wrench
from supple.integrating.implicit import Implicit, line_up
from supple.integrating.projecting import Projection
from supple.integrating.stages import slope_of
from supple.spatial import fields
from supple.spatial.addresses import from_entry
from supple.spatial.algebra import Motion, Vec3, cross, dot, shift_motion
from supple.spatial.compiler import helper, part
from supple.spatial.fields import Integer, Integers, Number
from supple.spatial.structs import Link, Struct, Table

SURE = 0.1  #: of a step: shorter parts follow sudden changes, and do not predict impulses
SLOWEST = 1e-6  #: m/s or rad/s, to which a tolerance is relative where velocities and gravity are zero


class Landing(Struct):
    """A step with contact: settings, state and statistics."""

    implicit = Link(Implicit)
    scene = Link(Scene)
    ahead = Link(Scene)  # the same, with the touches where a part ends
    mechanisms = Link(Mechanisms)
    closing = Link(Projection)  # closes loops, if there are any
    placing = Link(Call)
    groups = Link(TreeGroups)
    owner = Integers()  # the body of every degree of freedom
    middle = fields.Floats()  # (nv,) velocities in the middle of a part
    q = fields.Floats()  # (nq,) where a part begins
    v = fields.Floats()  # (nv,) and its velocities
    dv = fields.Floats()
    dq = fields.Floats()
    pushes = Table(Wrench)  # on bodies, along world axes [pushing.py]
    tolerance = Number()  # of residuals, relative to velocities
    most = Integer()  # the maximum number of sweeps
    overlap = Number()  # metres of overlap that are not removed
    next = Number()  # time until something bounces
    before = Number()  # time from the beginning of a part until forces act ...
    after = Number()  # ... and from then on to its end
    fault = Number()  # the largest residual, relative to the tolerance
    sweeps = Integer()  # of all parts
    parts = Integer()
    bounces = Integer()  # rounds of impacts
    last = Number()  # the length of the step
    apart = Integer()  # whether dq is a motion
    work = Number()  # of joint forces and pushes in a part
    lifted = Number()  # potential energy added by moving shapes apart
    spare = Number()  # kinetic energy that moving shapes apart may still add
    placed = Integer()  # whether bodies are placed where the last step ended, with these energies:
    kinetic = Number()
    potential = Number()  # of gravity
    mass = Number()  # of all bodies
    scale = Number()  # of energies in a step
    largest = Number()  # of all scales so far
    risen = Number()  # rise of energy above its lowest value so far, without the work of forces
    gain = Number()  # what a part adds to it
    excess = Number()  # energy that a part adds, relative to the scale, if that is more than allowed; else 0
    depth = Number()  # overlap at its end, if that is more than allowed; else 0
    rough = Integer()  # parts above tolerance that were too short to be halved, and the largest of both in them:
    gained = Number()
    deepest = Number()
    slowest = Number()  # m/s: slower approaches do not bounce
    certain = Integer()  # whether the step is taken even if nothing is near
    known0 = Table(Known)  # known forces where the step begins [warm_start.py], ...
    n_known0 = Integer()
    largest0 = Number()  # ... and the account of energy
    risen0 = Number()


@part
def move_bodies(m, q, v, call):
    move_all(m, q, v, placed_scratch(call))


# --- velocities at touches --------------------------------------------------------------------------------------------


@part
def body_motions(scene, work, v):
    """The velocities of all bodies at joint velocities v, at the position of the factors in `work`."""
    m, path, bodies = scene.model, work.path, work.bodies
    zero = Vec3(0.0, 0.0, 0.0)
    path[0].A = Motion(zero, zero)
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        V = shift_motion(bodies[b].r, path[p].A) + joint_motion(m, b, scene.bodies[b].R, v, work.S)
        path[i].A = V
        scene.motions[b].x = V


@helper
def speed_at(scene, b, point, now):
    """The velocity of a point of a body: as placed if `now`, else at the velocities given to body_motions."""
    u = Vec3(0.0, 0.0, 0.0)
    if b >= 0:
        V = scene.bodies[b].V if now else scene.motions[b].x
        u = V.lin + cross(V.ang, point - scene.bodies[b].P)
    return u


@helper
def speed_of_touch(scene, touch, v, now):
    """u of a touch; v, now: as above."""
    if touch.kind == LIMIT:
        u = Vec3(touch.n.x * v[touch.a], 0.0, 0.0)
    else:
        w = speed_at(scene, touch.a, touch.point, now) - speed_at(scene, touch.b, touch.point, now)
        u = Vec3(dot(touch.n, w), dot(touch.t, w), dot(touch.s, w))
    return u


@helper
def relative_speed(scene, touch, v):
    """u at the velocities v that body_motions was given."""
    return speed_of_touch(scene, touch, v, False)


# --- over a part ------------------------------------------------------------------------------------------------------


@part
def accelerate_freely(landing, h):
    """Accelerations without impulses, the factors of H + h D + h^2 K, and the basis of the rows of loops. Returns the
    smallest D."""
    implicit = landing.implicit
    body, step, call = implicit.body, implicit.body.step, implicit.body.aba
    a, work = from_entry(slope_of(step, 0), step.model.nv), aba_scratch(implicit.body.aba)
    line_up(implicit, h)
    state = CallState(step.q, step.v, body.tau, implicit.pushed > 0, implicit.wrenches)
    D = aba(call.model, state, a, work)
    if D > 0.0 and landing.mechanisms.n > 0:
        find_basis(landing.mechanisms, landing.scene, work, landing.owner, step.q)
    return D


@helper
def expect_impulses(scene, h, last):
    """Predicts the impulses of a part of length h of a step of length `last`: the initial ones, or none in short parts.
    Returns 1 or 0."""
    share = 1.0 if h > SURE * last else 0.0
    for k in range(scene.n):
        scene.touches[k].expected, scene.touches[k].settled = scene.touches[k].lam * share, 0
    return share


@helper
def expect_changes(scene, m, work, dv):
    """dv: the changes of velocities by the initial impulses."""
    for i in range(scene.n_present):
        scene.z[scene.present[i]] = dv[scene.present[i]] = 0.0
    for k in range(scene.n):
        push_z(scene, scene.touches[k], scene.touches[k].lam)
    if enter_all_groups(scene):
        begin_pass(scene)
        for k in range(scene.n):
            if scene.touches[k].deep > 0:
                push_bodies(scene, scene.touches[k], scene.touches[k].lam)
        finish_pass(scene, scene.z)
    add_changes(m, work, scene.z, dv)


@helper
def accelerate_at(landing, u, a, first, last):
    """a of trees of bodies `first` to `last` at velocities u, where forces act, with the present factors. Damping is
    that of the beginning."""
    implicit = landing.implicit
    body, step, call = implicit.body, implicit.body.step, implicit.body.aba
    work, state = aba_scratch(call), CallState(step.q, u, body.tau, implicit.pushed > 0, implicit.wrenches)
    bias_forces(landing.scene, state, work, first, last)
    lift_biases(call.model, step.v, body.tau, work, first, last)
    work.path[0].A = Motion(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
    accelerate_trees(call.model, first, last, a, work)


@part
def free_velocities(landing, h):
    """Velocities at the end of a part without impulses, in `end`, from accelerations and the rows of touches."""
    implicit, middle = landing.implicit, landing.middle
    step, work = implicit.body.step, aba_scratch(implicit.body.aba)
    m, a = step.model, from_entry(slope_of(step, 0), step.model.nv)
    expected = expect_impulses(landing.scene, h, landing.last)
    expect_changes(landing.scene, m, work, landing.dv)
    for j in range(m.nv):
        middle[j] = step.v[j] + 0.5 * (h * a[j] + expected * landing.dv[j])
    if landing.mechanisms.n > 0:
        keep_closed(landing.mechanisms, landing.scene, work, middle, landing.dv)
    accelerate_at(landing, middle, a, 0, m.n)
    for j in range(m.nv):
        implicit.end[j] = step.v[j] + h * a[j]
    turn_with(m, middle, h, implicit.end, 0, m.n)
    if landing.mechanisms.n > 0:
        keep_closed(landing.mechanisms, landing.scene, work, implicit.end, landing.dv)


@helper
def change_end(landing, work):
    """Adds the effect of impulses to the velocities at the end."""
    implicit = landing.implicit
    m = implicit.body.step.model
    for j in range(m.nv):
        landing.dv[j] = 0.0
    add_changes(m, work, landing.scene.z, landing.dv)
    for j in range(m.nv):
        implicit.end[j] += landing.dv[j]


@part
def velocities_by_impacts(landing):
    """The same as free_velocities, for trees that are struck, when impulses and the velocities in `end` are known:
    velocity products are those of the beginning until forces act, and those of the end from then on. The velocities of
    other trees are without impulses again."""
    implicit, after, scene = landing.implicit, landing.middle, landing.scene
    step, B, first = implicit.body.step, scene.blocks, 0
    m, a, end = step.model, from_entry(slope_of(step, 0), step.model.nv), implicit.end
    while first < m.n:
        last, begin = end_of_tree(m, first), m.bodies[first].iv
        stop = m.bodies[last].iv if last < m.n else m.nv
        if B.struck[B.tree[begin]]:
            for j in range(begin, stop):
                after[j] = end[j]
            accelerate_at(landing, step.v, a, first, last)
            for j in range(begin, stop):
                end[j] = step.v[j] + landing.before * a[j]
            accelerate_at(landing, after, a, first, last)
            for j in range(begin, stop):
                end[j] += landing.after * a[j]
            turn_with(m, step.v, landing.before, end, first, last)
            turn_with(m, after, landing.after, end, first, last)
        else:
            for j in range(begin, stop):
                end[j] -= landing.dv[j]
        first = last
    if landing.mechanisms.n > 0:
        keep_closed(landing.mechanisms, scene, aba_scratch(implicit.body.aba), end, landing.dv)


@helper
def may_close(landing, touch, h):
    """The speed at which a touch may close at the end of a part of length h: it then has no overlap when forces act in
    the next part, assumed to be as long, or, if it bounces, at the end of this one."""
    bounces = touch.restitution > 0.0 and touch.free.x < -landing.slowest
    return max(touch.gap, 0.0) / (landing.after if bounces else landing.after + 0.5 * h)


@helper
def prepare_touches(landing, scene, work, v, end, h):
    """Velocities at touches at the beginning of a part of length h and without impulses, and their biases. Bodies are
    placed with velocities v."""
    body_motions(scene, work, end)
    for k in range(scene.n):
        touch = scene.touches[k]
        touch.before = speed_of_touch(scene, touch, v, True)
        touch.free = relative_speed(scene, touch, end)
        touch.bias = may_close(landing, touch, h)
        touch.speed = max(norm(touch.before), norm(touch.free))
