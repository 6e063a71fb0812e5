"""One step of the hybrid body: half a drift, a kick, half a drift.

    q_h = q + h/2 v          positions move half a step, with the old velocities
    u   = v + h/2 a(q_h, v)  velocities of the middle of the step
    v'  = v + h a(q_h, u)    the kick
    q'  = q_h + h/2 v'       the other half, with the new ones

on the manifold where joints have one. It is of second order, and nearly reversible: with u = (v + v') / 2 it would be
symmetric in time, and u is that up to terms of the third order in h. Semi-implicit Euler, which costs two thirds as
much, keeps energies only where the mass matrix is constant.

Both accelerations are of the same positions, so the second one (again_kernel) finds joints turned, bodies placed and
articulated inertias eliminated: it passes on velocities and forces alone.

The kick changes the kinetic energy by exactly h a.H (v + v') / 2, whatever the forces are. So that is how the work of
forces is counted (ledger.py): pushes and dampers by their power at the mean velocity; torques, and controllers and
limits, which have a potential, as positions move.
"""

from __future__ import annotations

from supple.adaptive.ledger import LOOK
from supple.adaptive.momenta import NEEDED, across, project
from supple.adaptive.reduced import (
    drive_joints,
    force_at,
    is_pushed,
    joint_passes,
    own_force,
    push_on,
    vec_at,
    without_joints,
    zero,
)
from supple.adaptive.store import (
    AGAIN,
    DRAG_WORK,
    DT,
    POSE,
    PUSHED_DRAG,
    PUSHED_GIVEN,
    PUSHED_ROW,
    PUSHED_V,
    SQUARES,
    UNCHECKED,
    WORK,
    open_reduced,
    open_store,
)
from supple.assembly.joints import advance
from supple.assembly.poses import load_pose
from supple.exact.aba import A_, B_, D_, E_, F_, P_, U_, V_, Y_, Z_, accelerate, joint_force, u_
from supple.exact.joint_law import COORDINATE_, LAW, law_work
from supple.exact.motion import DOF, PRISMATIC, REVOLUTE, UNIVERSAL, joint_of, world_at_rest
from supple.exact.tables import HAS_CHILDREN, IV, KIND, PARENT
from supple.spatial.algebra import Motion, Prismatic, Revolute, crf, crm, cross, shift_force, shift_motion
from supple.spatial.compiler import helper, kernel
from supple.spatial.indexing import get, item, put, set_item
from supple.spatial.references import LINKED, call_at
from supple.spatial.rows import load_force, load_motion, load_rigid, load_vec, store_six


@helper
def add_to(s, k, x):
    set_item(s.numbers, k, item(s.numbers, k) + x)


@helper
def own_work(s, x, j, way):
    """The work of the torque, controllers and limits of degree of freedom j, as they are at rest, on its way."""
    nv, work, row = x.v.shape[0], item(s.controls, j) * way, item(s.controlled, j)
    while row > 0:
        k = nv + LAW * (row - 1)
        q = item(x.q, int(item(s.controls, k + COORDINATE_)))
        work += law_work(s.controls, k, q, q + way)
        row = item(s.controlled, nv + row - 1)
    return work


@helper
def drift(t, d, m, s, x, dt):
    """Move all active joints with their velocities; the work of torques, controllers and limits is counted."""
    work = 0.0
    for b in range(m.n):
        iv = get(m.bodies, b, IV)
        for j in range(iv, iv + DOF[get(m.bodies, b, KIND)]):
            work += own_work(s, x, j, dt * item(x.v, j))
        advance(t, item(s.joints, b), d.q, s.v, dt)
    add_to(s, WORK, work)


@helper
def predict(store):
    """The velocities of the middle of the step, to x.half, and the forces of joints there. Returns the smallest
    pivot."""
    m, x = open_reduced(store)
    s = open_store(store)
    drive_joints(m, s, x, x.v)
    without_joints(s, store, True, True, False)
    smallest = joint_passes(s, store, True)
    half = 0.5 * item(s.numbers, DT)
    for b in range(m.n):
        iv = get(m.bodies, b, IV)
        for j in range(iv, iv + DOF[get(m.bodies, b, KIND)]):
            v = item(x.v, j) + half * item(x.qdd, j)
            set_item(x.half, j, v)
            set_item(x.drive, j, own_force(s, x, j, v))
    return smallest


@helper
def kick(store):
    """New velocities of all active joints. Returns the smallest pivot, and the sum of their squares."""
    smallest = predict(store)
    m, x = open_reduced(store)
    s = open_store(store)
    call_at(item(s.links, AGAIN), store, 0, 0, 0)
    return smallest, change_velocities(m, s, x)


@kernel(LINKED, "hybrid body, once more", effort=2, nogil=True)
def again_kernel(store, unused, unused_too, unused_three):
    """The accelerations at the velocities of x.half and under the forces of x.drive, after those at others: the passes
    of exact/aba.py without what depends on positions alone. The work of pushes is counted."""
    m, x = open_reduced(store)
    s = open_store(store)
    path, work, S, v = x.path, x.work, x.axes, x.half
    world_at_rest(m, x.q, path)
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        r, z = load_vec(work, b, P_), load_vec(work, b, E_)
        V = shift_motion(r, load_motion(path, p, V_))
        if kind == REVOLUTE:
            w = z * item(v, j)
            c = Motion(cross(V.ang, w), cross(V.lin, w))
            V = Motion(V.ang + w, V.lin)
        else:
            v_J = across(kind, z, S, j, v)
            V = V + v_J
            c = crm(V, v_J)
            if kind == UNIVERSAL:  # the second axis turns with the first
                w1 = load_motion(S.rows, j, 0).ang * item(v, j)
                w2 = load_motion(S.rows, j + 1, 0).ang * item(v, j + 1)
                c = Motion(c.ang + cross(w1, w2), c.lin)
        zeta = shift_motion(r, load_motion(path, p, Z_)) + c
        Y = load_rigid(work, b, Y_)
        f = Y @ zeta + crf(V, Y @ V)  # [RBDA 7.37]
        if is_pushed(s, b):
            R, X = load_pose(s.world, POSE * (b + 1))
            f = f - push_on(s, b + 1, R, X, V)
        store_six(path, i, V_, V)
        store_six(path, i, Z_, zeta)
        store_six(work, b, F_, f)
    for b in range(m.n - 1, -1, -1):
        i, p, kind, j = joint_of(m, b)
        f, z = load_force(work, b, F_), load_vec(work, b, E_)
        if get(m.bodies, b, HAS_CHILDREN):
            f = f + load_force(path, i, B_)
        if kind == REVOLUTE:
            f = pass_on(m, x, j, Revolute(z), f)
        elif kind == PRISMATIC:
            f = pass_on(m, x, j, Prismatic(z), f)
        else:
            for k in range(j + DOF[kind] - 1, j - 1, -1):
                f = pass_on(m, x, k, load_motion(S.rows, k, 0), f)
        if get(m.bodies, b, PARENT) >= 0:
            f = shift_force(load_vec(work, b, P_), f)
            if i != p:  # not the last child: those after it have already put theirs there
                f = f + load_force(path, p, B_)
            store_six(path, p, B_, f)
    given, drag, half = 0.0, 0.0, 0.5 * item(s.numbers, DT)
    store_six(path, 0, A_, Motion(zero(), zero()))
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        A, z = shift_motion(load_vec(work, b, P_), load_motion(path, p, A_)), load_vec(work, b, E_)
        if kind == REVOLUTE:
            A = accelerate(A, Revolute(z), x.dofs, j, x.qdd)  # [RBDA 7.51]
        elif kind == PRISMATIC:
            A = accelerate(A, Prismatic(z), x.dofs, j, x.qdd)
        else:
            for k in range(j, j + DOF[kind]):
                A = accelerate(A, load_motion(S.rows, k, 0), x.dofs, k, x.qdd)
        store_six(path, i, A_, A)
        if is_pushed(s, b):
            at = PUSHED_ROW * (b + 1)
            mean = Motion(vec_at(s.pushed, at + PUSHED_V), vec_at(s.pushed, at + PUSHED_V + 3)) + A * half
            given += mean @ force_at(s.pushed, at + PUSHED_GIVEN)
            drag += mean @ force_at(s.pushed, at + PUSHED_DRAG)
    add_to(s, WORK, 2.0 * half * given)
    add_to(s, DRAG_WORK, 2.0 * half * drag)
    return 0.0


@helper
def pass_on(m, x, j, S, f):
    """The bias force beyond degree of freedom j, which was eliminated before [RBDA 7.45, 7.48]."""
    u = joint_force(m, x.drive, x.half, j) - S @ f
    put(x.dofs, j, u_, u)
    return f + load_force(x.dofs, j, U_) * (u * get(x.dofs, j, D_))


@helper
def change_velocities(m, s, x):
    """By the accelerations. x.drive becomes what joints' dampers do. Returns the sum of squares of the velocities."""
    dt, drag, squares = item(s.numbers, DT), 0.0, 0.0
    for b in range(m.n):
        iv = get(m.bodies, b, IV)
        for j in range(iv, iv + DOF[get(m.bodies, b, KIND)]):
            v = item(x.v, j)
            after = v + dt * item(x.qdd, j)
            damper = joint_force(m, x.drive, x.half, j) - own_force(s, x, j, 0.0)
            drag += damper * (v + after)
            squares += after * after
            set_item(x.drive, j, damper)
            set_item(x.v, j, after)
    add_to(s, DRAG_WORK, 0.5 * dt * drag)
    if squares > 4.0 * item(s.numbers, SQUARES):  # as they grow when a run becomes unstable: have a look
        set_item(s.counts, UNCHECKED, LOOK)
    return squares


@helper
def swap_velocities(m, x):
    """x.v and x.half take each other's place."""
    for b in range(m.n):
        iv = get(m.bodies, b, IV)
        for j in range(iv, iv + DOF[get(m.bodies, b, KIND)]):
            v = item(x.v, j)
            set_item(x.v, j, item(x.half, j))
            set_item(x.half, j, v)


@helper
def imposed_kick(store):
    """New velocities by accelerations that are given, not found: what it takes to impose them is counted as work, and
    so are pushes. Returns the sum of squares of the velocities."""
    m, x = open_reduced(store)
    s = open_store(store)
    drive_joints(m, s, x, x.half)
    swap_velocities(m, x)
    without_joints(s, store, True, True, False)
    project(s, store, NEEDED)
    swap_velocities(m, x)
    dt, work = item(s.numbers, DT), 0.0
    for b in range(m.n):
        iv = get(m.bodies, b, IV)
        for j in range(iv, iv + DOF[get(m.bodies, b, KIND)]):
            mean = item(x.v, j) + 0.5 * dt * item(x.qdd, j)
            work += (item(x.impulse, j) - joint_force(m, x.drive, x.half, j)) * mean
    add_to(s, WORK, dt * work)
    return change_velocities(m, s, x)
