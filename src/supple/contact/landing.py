"""Velocities of a part of a step with touches: without impulses, at touches, and along which axes.

The linear velocity of free and planar joints is along the body's axes, which turn meanwhile: velocities of the end are
along those of the beginning, as the rows of touches are, and go over to the new ones when the part is done. A wheel
rolls, and momentum stays. Velocity products are those of the middle of the part: inertias and factors are the same as
at its beginning, and only forces go through the tree again.
"""

from __future__ import annotations

from supple.contact.deep_groups import enter_all_groups
from supple.contact.mechanisms import Mechanisms, find_basis, keep_closed
from supple.contact.memory import LIMIT, Scene
from supple.contact.passes import begin_pass, finish_pass, push_bodies
from supple.contact.points import norm
from supple.contact.rows import add_changes, push_z
from supple.contact.striking import end_of_tree
from supple.exact.aba import aba, aba_scratch, accelerate_trees, joint_force
from supple.exact.call_kernels import Call
from supple.exact.jacobians import axis_along, move_all
from supple.exact.kinematics import placed_scratch
from supple.exact.motion import CallState, joint_motion, joint_of, world_at_rest
from supple.exact.rnea import rigid_force
from supple.integrating.implicit import Implicit, line_up
from supple.integrating.projecting import Projection
from supple.integrating.stages import slope_of
from supple.model.joint_poses import DOF, with_moving_axes
from supple.model.moving import FREE, PLANAR, rotation_at, set_triple, triple
from supple.spatial import fields
from supple.spatial.addresses import from_entry
from supple.spatial.algebra import (
    Motion,
    Vec3,
    crm,
    cross,
    dot,
    rotate_force,
    shift_force,
    shift_motion,
    transpose,
)
from supple.spatial.compiler import helper, part
from supple.spatial.fields import Integer, Integers, Number
from supple.spatial.structs import Link, Struct

SURE = 0.1  #: of a step: in shorter parts, which follow sudden changes, touches are expected to do nothing


class Landing(Struct):
    """A step with touches."""

    implicit = Link(Implicit)
    scene = Link(Scene)
    ahead = Link(Scene)  # the same, and touches where a part ends
    mechanisms = Link(Mechanisms)
    closing = Link(Projection)  # of loops, if there are any
    placing = Link(Call)
    owner = Integers()  # the body of every degree of freedom
    middle = fields.Floats()  # (nv,) velocities in the middle of a part
    q = fields.Floats()  # (nq,) where a part begins
    v = fields.Floats()  # (nv,) and its velocities
    dv = fields.Floats()
    dq = fields.Floats()
    tolerance = Number()  # of faults, relative to velocities
    most = Integer()  # sweeps
    overlap = Number()  # that is left alone, in metres
    next = Number()  # how long a part may be until something bounces
    before = Number()  # how long bodies move in a part before forces act on them ...
    after = Number()  # ... and after that
    fault = Number()  # the worst that is left, relative to the tolerance
    sweeps = Integer()  # of all parts
    parts = Integer()
    bounces = Integer()  # rounds of impacts
    last = Number()  # the length of the step
    apart = Integer()  # whether dq is a motion
    work = Number()  # of forces in a part
    lifted = Number()  # energy of gravity, by moving apart what overlaps
    spare = Number()  # what moving apart may still add to the energy of motion
    placed = Integer()  # whether bodies are placed where the last step ended, with these energies, of motion and ...
    kinetic = Number()
    potential = Number()  # ... of gravity
    mass = Number()  # of all of them
    scale = Number()  # of energies in a step
    largest = Number()  # of all scales so far
    risen = Number()  # by how much the energy is higher than it was at best, other than by the work of forces
    gain = Number()  # what a part adds to it
    excess = Number()  # what a part adds to the energy, relative to the scale, if that is more than it may ...
    depth = Number()  # ... and how deep shapes overlap then, likewise
    rough = Integer()  # parts that stand although they should not, and the largest of both in them
    gained = Number()
    deepest = Number()
    slowest = Number()  # approaches that are slower do not bounce
    certain = Integer()  # whether the step is taken even if nothing is near


@part
def move_bodies(m, q, v, call):
    move_all(m, q, v, placed_scratch(call))


# --- velocities at touches --------------------------------------------------------------------------------------------


@part
def body_motions(scene, work, v):
    """The velocities of all bodies at v, at the position that `work` is of."""
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
    """The velocity of a point of a body: now, or at the velocities that body_motions was given."""
    u = Vec3(0.0, 0.0, 0.0)
    if b >= 0:
        V = scene.bodies[b].V if now else scene.motions[b].x
        u = V.lin + cross(V.ang, point - scene.bodies[b].P)
    return u


@helper
def speed_of_touch(scene, touch, v, now):
    if touch.kind == LIMIT:
        u = Vec3(touch.n.x * v[touch.a], 0.0, 0.0)
    else:
        w = speed_at(scene, touch.a, touch.point, now) - speed_at(scene, touch.b, touch.point, now)
        u = Vec3(dot(touch.n, w), dot(touch.t, w), dot(touch.s, w))
    return u


@helper
def relative_speed(scene, touch, v):
    """u at velocities v, which body_motions was given."""
    return speed_of_touch(scene, touch, v, False)


# --- over a part ------------------------------------------------------------------------------------------------------


@helper
def turn_with(m, middle, h, end, first, last):
    """end += h w x v of the linear velocities of free and planar joints of some trees: along the axes of the
    beginning."""
    for b in range(first, last):
        kind, j = m.bodies[b].kind, m.bodies[b].iv
        if kind == FREE:
            set_triple(end, j, triple(end, j) + cross(triple(middle, j + 3), triple(middle, j)) * h)
        elif kind == PLANAR:
            w = h * middle[j + 2]
            end[j], end[j + 1] = end[j] - w * middle[j + 1], end[j + 1] + w * middle[j]


@helper
def turn_back(m, q, after, v):
    """The same velocities along the axes of the end."""
    for b in range(m.n):
        kind, j, k = m.bodies[b].kind, m.bodies[b].iv, m.bodies[b].iq
        if kind == FREE:
            w = rotation_at(q, k + 3) @ triple(v, j)
            set_triple(v, j, transpose(rotation_at(after, k + 3)) @ w)
        elif kind == PLANAR:
            c = after[k + 2] * q[k + 2] + after[k + 3] * q[k + 3]
            s = after[k + 3] * q[k + 2] - after[k + 2] * q[k + 3]
            v[j], v[j + 1] = c * v[j] + s * v[j + 1], c * v[j + 1] - s * v[j]


@helper
def bias_force(m, b, R, v, work):
    """V and zeta [aba.py] of a body at other velocities, where it is, in `path`. Returns V, and p of what nothing
    pushes."""
    i, p, kind, j = joint_of(m, b)
    path, here = work.path, work.bodies[b]
    moved = joint_motion(m, b, R, v, work.S)
    V = shift_motion(here.r, path[p].V) + moved
    zeta = shift_motion(here.r, path[p].zeta) + with_moving_axes(kind, crm(V, moved), work.S.axes, j, v)
    path[i].V, path[i].zeta = V, zeta
    return V, rigid_force(here.I, V.ang, zeta.ang, zeta.lin + cross(V.ang, V.lin))


@helper
def bias_forces(scene, state, work, first, last):
    """The same of bodies of some trees, with what pushes them."""
    m = scene.model
    work.path[0].zeta = world_at_rest(m, state.q[0], work.path[0])
    for b in range(first, last):
        R = scene.bodies[b].R
        _, f = bias_force(m, b, R, state.v, work)
        if state.pushed:
            f = f - rotate_force(R @ m.outward[b].R, state.wrenches[b].f)
        work.bodies[b].p = f


@helper
def lift_biases(m, v, tau, work, first, last):
    """u of the degrees of freedom of some trees, by the factors that there are: the backward pass of forces alone."""
    path, bodies, dofs = work.path, work.bodies, work.dofs
    for b in range(last - 1, first - 1, -1):
        i, p, kind, j = joint_of(m, b)
        f = bodies[b].p + path[i].pA if m.bodies[b].has_children else bodies[b].p
        for k in range(j + DOF[kind] - 1, j - 1, -1):
            dof = dofs[k]
            dof.u = joint_force(m, tau, v, k) - axis_along(kind, bodies[b].z, work.S, k) @ f
            f = f + dof.U * (dof.u * dof.d)
        if m.bodies[b].parent >= 0:
            f = shift_force(bodies[b].r, f)
            path[p].pA = f + path[p].pA if i != p else f


@part
def accelerate_freely(landing, h):
    """Accelerations without impulses; the factors are those of H + h D + h^2 K, and loops keep closed by their rows.
    Returns the smallest D."""
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
    """In a part of length h of a step of length `last`: those that touches have before they are solved for. Returns how
    much of them."""
    share = 1.0 if h > SURE * last else 0.0
    for k in range(scene.n):
        scene.touches[k].expected, scene.touches[k].settled = scene.touches[k].lam * share, 0
    return share


@helper
def expect_changes(scene, m, work, dv):
    """dv: what the impulses do that touches have before they are solved for."""
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
    """a of some trees at velocities u, where forces act, by the factors that there are; damping is of the
    beginning."""
    implicit = landing.implicit
    body, step, call = implicit.body, implicit.body.step, implicit.body.aba
    work, state = aba_scratch(call), CallState(step.q, u, body.tau, implicit.pushed > 0, implicit.wrenches)
    bias_forces(landing.scene, state, work, first, last)
    lift_biases(call.model, step.v, body.tau, work, first, last)
    work.path[0].A = Motion(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
    accelerate_trees(call.model, first, last, a, work)


@part
def free_velocities(landing, h):
    """Velocities at the end of a part without impulses, in `end`, from accelerations and rows of touches."""
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
    """The velocities at the end, by impulses."""
    implicit = landing.implicit
    m = implicit.body.step.model
    for j in range(m.nv):
        landing.dv[j] = 0.0
    add_changes(m, work, landing.scene.z, landing.dv)
    for j in range(m.nv):
        implicit.end[j] += landing.dv[j]


@part
def velocities_by_impacts(landing):
    """The same as free_velocities of trees that are struck, once impulses, and the velocities in `end` by them, are
    known: bodies have the velocities of the beginning until impulses change them, and those of the end from then on.
    Those of other trees are without impulses again."""
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
    """How fast a touch may close at the end of a part of length h: so that nothing overlaps before forces act in the
    next part, which is as long; what bounces, until the end of this one."""
    bounces = touch.restitution > 0.0 and touch.free.x < -landing.slowest
    return max(touch.gap, 0.0) / (landing.after if bounces else landing.after + 0.5 * h)


@helper
def prepare_touches(landing, scene, work, v, end, h):
    """Velocities at touches before and without impulses, and how far they may close; bodies are placed with v. landing:
    what is known of the part. Returns the largest."""
    largest = 0.0
    body_motions(scene, work, end)
    for k in range(scene.n):
        touch = scene.touches[k]
        touch.before = speed_of_touch(scene, touch, v, True)
        touch.free = relative_speed(scene, touch, end)
        touch.bias = may_close(landing, touch, h)
        largest = max(largest, norm(touch.before), norm(touch.free))
    return largest
