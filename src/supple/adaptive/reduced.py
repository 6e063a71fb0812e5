"""The dynamics of the hybrid body: the multilevel forward dynamics algorithm [AD section 4.3], a step of which costs as
many bodies as there are active joints, and as many forces as there are.

AD runs divide and conquer over the hybrid nodes. A hybrid body is an articulated body, whose rigid bodies are the
pieces of the rigid front, so the articulated-body algorithm serves as well, at a third of the cost.
"""

from __future__ import annotations

from supple.adaptive.pushes import (
    OWN_PUSH,
    P_DAMPING,
    P_KIND,
    P_MOMENT,
    P_POINT,
    P_STIFFNESS,
    P_VECTOR,
    PUSH_ROW,
    SPRING,
)
from supple.adaptive.store import (
    FREELY,
    JOINED,
    KINETIC,
    MOVE,
    POSE,
    POWER,
    POWER_DT,
    WORK_DONE,
    Reduced,
    open_reduced,
    open_store,
)
from supple.assembly.joints import advance, identity
from supple.assembly.loads import load_rigid_at
from supple.assembly.poses import load_pose, store_pose
from supple.exact.aba import A_, B_, E_, F_, P_, R_, V_, Y_, Z_, with_joints
from supple.exact.joint_law import COORDINATE_, LAW, law_force
from supple.exact.motion import DOF, PRISMATIC, REVOLUTE, joint_of, move, turn_ahead, world_at_rest
from supple.exact.rnea import newton_euler
from supple.exact.tables import ARMATURE, HAS_CHILDREN, IV, KIND, PARENT, RIGID
from supple.spatial.algebra import (
    Force,
    Motion,
    Prismatic,
    Revolute,
    RigidInertia,
    Vec3,
    cross,
    dot,
    matrix,
    product_sym,
    shift_force,
    shift_motion,
    transpose,
    z_axis,
)
from supple.spatial.compiler import helper, kernel, part
from supple.spatial.indexing import get, item, set_item
from supple.spatial.references import LINKED, call_at
from supple.spatial.rows import (
    load_force,
    load_mat,
    load_motion,
    load_rigid,
    load_vec,
    set_vec,
    store_mat,
    store_rigid,
    store_six,
    store_vec,
)

X_ = 21  #: of a row of `path`: where the body's origin is in the world


@helper
def vec_at(a, k):
    return Vec3(item(a, k), item(a, k + 1), item(a, k + 2))


@helper
def zero():
    return Vec3(0.0, 0.0, 0.0)


@helper
def at_rest(m):
    """The same tree without gravity."""
    return Reduced(m.n, m.bodies, m.rows, m.dofs, zero(), m.angles)


@helper
def turn_rigid(R, Y):
    """A rigid inertia along axes in which its own frame is R."""
    return RigidInertia(Y.m, R @ Y.h, product_sym(R @ matrix(Y.I), transpose(R)))


@helper
def push_force(pushes, k, R, X, V):
    """The force of one push, at pushes[k:], on a body at R, X that moves with V, along world axes; and the power of
    what is no spring."""
    p, f = R @ vec_at(pushes, k + P_POINT), vec_at(pushes, k + P_VECTOR)
    m, kind, power = vec_at(pushes, k + P_MOMENT), item(pushes, k + P_KIND), 0.0
    if kind == SPRING:
        f = (f - (X + p)) * item(pushes, k + P_STIFFNESS)
        f = f - (V.lin + cross(V.ang, p)) * item(pushes, k + P_DAMPING)
    else:
        if kind == OWN_PUSH:
            f, m = R @ f, R @ m
        power = dot(f, V.lin + cross(V.ang, p)) + dot(m, V.ang)
    return Force(m + cross(p, f), f), power


@helper
def push_on(s, rb, R, X, V):
    """The force on a reduced body, and the power of what is no spring."""
    total, power = Force(zero(), zero()), 0.0
    for x in range(item(s.push_start, rb), item(s.push_start, rb + 1)):
        f, watts = push_force(s.reduced_pushes, PUSH_ROW * x, R, X, V)
        total, power = total + f, power + watts
    return total, power


@helper
def without_joints(s, store, moving, pushed, note):
    """What the bodies do while no joint accelerates, as exact/aba.py has it, but with inertias that are not split.
    moving: with their velocities and gravity; pushed: with the forces on them; note: poses, motions and the kinetic
    energy are written down. Returns the forces' power."""
    return call_at(item(s.links, FREELY), store, moving, pushed, note)


@kernel(LINKED, "hybrid body without joints", effort=2, nogil=True)
def without_joints_kernel(store, moving, pushed, note):
    m, x = open_reduced(store)
    s = open_store(store)
    v = x.v if moving else x.zeros
    if not moving:
        m = at_rest(m)
    path, work, S = x.path, x.work, x.axes
    world_at_rest(m, x.q, path)
    store_vec(path, 0, X_, zero())
    if note:
        store_pose(s.world, 0, identity(), zero())
        set_vec(s.moves, 0, zero())
        set_vec(s.moves, 3, zero())
        set_vec(s.moves, 6, m.gravity * -1.0)
        set_vec(s.moves, 9, zero())
    done, power, kinetic = 0, 0.0, 0.0
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        done = turn_ahead(m, x.q, S, done, b)
        R, r, V, c = move(m, b, load_mat(path, p, R_), load_motion(path, p, V_), x.q, v, S)
        Y = load_rigid(m.rows, b, RIGID)
        zeta = shift_motion(r, load_motion(path, p, Z_)) + c
        X = load_vec(path, p, X_) + r
        f = newton_euler(R, Y, V, zeta)
        if pushed and item(s.push_start, b + 2) > item(s.push_start, b + 1):
            push, watts = push_on(s, b + 1, R, X, V)
            f, power = f - push, power + watts
        store_mat(path, i, R_, R)
        store_six(path, i, V_, V)
        store_six(path, i, Z_, zeta)
        store_vec(path, i, X_, X)
        store_vec(work, b, P_, r)
        store_vec(work, b, E_, z_axis(R))
        store_six(work, b, F_, f)
        Y = turn_rigid(R, Y)
        store_rigid(work, b, Y_, Y)
        if note:
            kinetic += 0.5 * (V @ (Y @ V))
            for k in range(j, j + DOF[kind]):
                kinetic += 0.5 * get(m.dofs, k, ARMATURE) * item(v, k) * item(v, k)
            store_pose(s.world, POSE * (b + 1), R, X)
            at = MOVE * (b + 1)
            set_vec(s.moves, at, V.ang @ R)
            set_vec(s.moves, at + 3, zeta.ang @ R)
            set_vec(s.moves, at + 6, (zeta.lin + cross(V.ang, V.lin)) @ R)
            set_vec(s.moves, at + 9, V.lin @ R)
    if note:
        set_item(s.numbers, KINETIC, kinetic)
    return power


@helper
def own_force(s, x, j, v):
    """What degree of freedom j's joint does of its own: its actuator, controllers and limits."""
    nv, f, row = x.v.shape[0], item(s.controls, j), item(s.controlled, j)
    while row > 0:
        k = nv + LAW * (row - 1)
        f += law_force(s.controls, k, item(x.q, int(item(s.controls, k + COORDINATE_))), v)
        row = item(s.controlled, nv + row - 1)
    return f


@helper
def drive_joints(m, s, x):
    """The forces of all active joints."""
    for b in range(m.n):
        iv, k = get(m.bodies, b, IV), DOF[get(m.bodies, b, KIND)]
        for j in range(iv, iv + k):
            set_item(x.drive, j, own_force(s, x, j, item(x.v, j)))


@helper
def joint_passes(s, store, moving):
    """The two passes of exact/aba.py in which joints accelerate: under their forces, or, not moving, under their
    momenta, which gives velocities. Returns the smallest pivot."""
    return call_at(item(s.links, JOINED), store, moving, 0, 0)


@kernel(LINKED, "hybrid body, joints", effort=2, nogil=True)
def joint_passes_kernel(store, moving, unused, unused_too):
    m, x = open_reduced(store)
    v, tau = (x.v, x.drive) if moving else (x.zeros, x.momentum)
    return with_joints(m, x.q, v, tau, x.qdd, x.path, x.work, x.axes, x.dofs)


@helper
def accelerate(store, dt):
    """The accelerations of all active joints. Returns the smallest pivot."""
    m, x = open_reduced(store)
    s = open_store(store)
    drive_joints(m, s, x)
    count_work(s, without_joints(s, store, True, True, False), dt)
    return joint_passes(s, store, True)


@helper
def count_work(s, power, dt):
    """Add the work of forces since the last step began, by the mean of their power then and now; dt: of the step that
    begins."""
    mean = 0.5 * (power + item(s.numbers, POWER))
    set_item(s.numbers, WORK_DONE, item(s.numbers, WORK_DONE) + item(s.numbers, POWER_DT) * mean)
    set_item(s.numbers, POWER, power)
    set_item(s.numbers, POWER_DT, dt)


@helper
def change_velocities(m, s, x, dt):
    """By the accelerations. Returns the sum of their squares."""
    work, squares = 0.0, 0.0
    for b in range(m.n):
        iv, k = get(m.bodies, b, IV), DOF[get(m.bodies, b, KIND)]
        for j in range(iv, iv + k):
            v = item(x.v, j)
            after = v + dt * item(x.qdd, j)
            set_item(x.v, j, after)
            work += item(x.drive, j) * (v + after)
            squares += after * after
    set_item(s.numbers, WORK_DONE, item(s.numbers, WORK_DONE) + 0.5 * dt * work)
    return squares


@helper
def change_positions(t, d, m, s, dt):
    for b in range(m.n):
        advance(t, item(s.joints, b), d.q, s.v, dt)


@helper
def across(kind, z, S, j, x):
    """S x, the motion across a joint."""
    if kind == REVOLUTE:
        return Motion(z * item(x, j), zero())
    if kind == PRISMATIC:
        return Motion(zero(), z * item(x, j))
    out = Motion(zero(), zero())
    for k in range(j, j + DOF[kind]):
        out = out + load_motion(S.rows, k, 0) * item(x, k)
    return out


@part
def momenta(store):
    """H v: the momentum of what each active joint moves, along its axes. Returns the kinetic energy."""
    without_joints(open_store(store), store, False, False, False)
    m, x = open_reduced(store)
    path, work, S = x.path, x.work, x.axes
    store_six(path, 0, A_, Motion(zero(), zero()))
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        V = shift_motion(load_vec(work, b, P_), load_motion(path, p, A_)) + across(
            kind, load_vec(work, b, E_), S, j, x.v
        )
        store_six(path, i, A_, V)
        store_six(work, b, F_, load_rigid(work, b, Y_) @ V)
    energy = 0.0
    for b in range(m.n - 1, -1, -1):
        i, p, kind, j = joint_of(m, b)
        F, z = load_force(work, b, F_), load_vec(work, b, E_)
        if get(m.bodies, b, HAS_CHILDREN):
            F = F + load_force(path, i, B_)
        for k in range(j, j + DOF[kind]):
            if kind == REVOLUTE:
                h = Revolute(z) @ F
            elif kind == PRISMATIC:
                h = Prismatic(z) @ F
            else:
                h = load_motion(S.rows, k, 0) @ F
            h += get(m.dofs, k, ARMATURE) * item(x.v, k)
            set_item(x.momentum, k, h)
            energy += 0.5 * h * item(x.v, k)
        if get(m.bodies, b, PARENT) >= 0:
            F = shift_force(load_vec(work, b, P_), F)
            if i != p:  # not the last child: those after it have already put theirs there
                F = F + load_force(path, p, B_)
            store_six(path, p, B_, F)
    return energy


@helper
def velocities_of(store):
    """The velocities with which the active joints have these momenta: H v = momentum. Returns the kinetic energy, and
    the smallest pivot."""
    s = open_store(store)
    without_joints(s, store, False, False, False)
    smallest = joint_passes(s, store, False)
    m, x = open_reduced(store)
    energy = 0.0
    for b in range(m.n):
        iv, k = get(m.bodies, b, IV), DOF[get(m.bodies, b, KIND)]
        for j in range(iv, iv + k):
            set_item(x.v, j, item(x.qdd, j))
            energy += 0.5 * item(x.momentum, j) * item(x.v, j)
    return energy, smallest


@helper
def potential(m, s):
    """The energy of gravity and springs, of poses that have been noted."""
    total = 0.0
    for rb in range(m.n + 1):
        R, X = load_pose(s.world, POSE * rb)
        Y = load_rigid_at(s.world_mass, 0)
        if rb > 0:
            Y = load_rigid(m.rows, rb - 1, RIGID)
        total -= dot(m.gravity, X * Y.m + R @ Y.h)
        for k in range(PUSH_ROW * item(s.push_start, rb), PUSH_ROW * item(s.push_start, rb + 1), PUSH_ROW):
            if item(s.reduced_pushes, k + P_KIND) == SPRING:
                e = vec_at(s.reduced_pushes, k + P_VECTOR) - X - R @ vec_at(s.reduced_pushes, k + P_POINT)
                total += 0.5 * item(s.reduced_pushes, k + P_STIFFNESS) * dot(e, e)
    return total
