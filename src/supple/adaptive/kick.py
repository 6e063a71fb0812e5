"""One step of the hybrid body: half drift, kick, half drift.

    q_h = q + h/2 v                     positions move half a step, with the old velocities
    k1  = a(q_h, v)
    k2  = a(q_h, v + h/2 k1)
    k3  = a(q_h, v + h k2)
    v'  = v + h/4 (k1 + 2 k2 + k3)      the kick
    q'  = q_h + h/2 v'                  the other half, with the new velocities

on the manifold for joints that have one. It is of second order and nearly symmetric in time, which prevents energy
drift: a step back, of -h, undoes a step up to the sixth power of h. For a = J v and z = h J, forth and back is

    (1 + z + z^2/2 + z^3/8) (1 - z + z^2/2 - z^3/8) = 1 - z^6/64

while the explicit midpoint rule, v + h k2, leaves z^4/4, and thus a drift in the third power of h; substituting its
result once more, v + h a(q_h, v + h/2 k2), leaves -z^4/4. With three evaluations and k2 at v + c h k1, a step is undone
up to the fifth power for a family of weights in c; c = 1/2 is the member with the fewest terms. With u2 and u3 the
velocities of k2 and k3, v' = (u2 + u3)/2 + h/4 k3.
Semi-implicit Euler, with one evaluation, preserves energies only where the mass matrix is constant.

All three evaluations use the same positions, so those after the first only propagate velocities and forces
(next_evaluation.py). Joint accelerations are computed in the outward pass with which the next evaluation begins.

The kick changes the kinetic energy by exactly h a.H (v + v') / 2, with a the mean acceleration, for any forces. The
work of forces is therefore counted consistently with it (ledger.py): pushes and dampers by the power of their mean
force at the mean velocity; torques, and controllers and limits, which have a potential, as positions change.

Dry friction is as stiff as its slip speed is small. It is implicit where it holds: with d its slope at the velocity v,
the accelerations are those with an armature of h d more, and the force of the joint is less by h d a. A joint that
slides is retarded explicitly, unless friction jumps within the kick (integrating/friction.py): then the kick is made
again, with friction implicit at all joints.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.hybrid_rows import constrain, move_end
from supple.adaptive.ledger import LOOK
from supple.adaptive.memory import HybridBody
from supple.adaptive.momenta import NEEDED, project
from supple.adaptive.next_evaluation import accelerate_joint, eliminate_again, move_again
from supple.adaptive.reduced import (
    drive_joints,
    first_law,
    is_pushed,
    joint_passes,
    own_force,
    pull_ends,
    push_on,
    without_joints,
    zero,
)
from supple.adaptive.reduced_tree import open_reduced
from supple.assembly.poses import pose_at
from supple.exact.aba import joint_force
from supple.exact.motion import joint_of, world_at_rest
from supple.exact.rnea import rigid_force
from supple.integrating.friction import brake, is_friction, jumps
from supple.integrating.joint_law import LAW, law_among, law_work
from supple.model.joint_poses import DOF
from supple.model.moving import move_joint
from supple.spatial.algebra import Motion, cross
from supple.spatial.compiler import helper, kernel


@helper
def own_work(hybrid, x, j, way):
    """The work of the torque, controllers and limits of degree of freedom j, at zero velocity, over a displacement."""
    work, row = hybrid.controls[j] * way, first_law(hybrid, j)
    while row > 0:
        law = law_among(hybrid.controls, x.nv + LAW * (row - 1))
        q = x.q[int(law.coordinate)]
        work += law_work(law, q, q + way)
        row = hybrid.controlled[x.nv + row - 1]
    return work


@helper
def drift(hybrid, m, x, v, dt):
    """Move all active joints with velocities v, and count the work of torques, controllers and limits."""
    work = 0.0
    for b in range(m.n):
        kind, iv = m.bodies[b].kind, m.bodies[b].iv
        for j in range(iv, iv + DOF[kind]):
            work += own_work(hybrid, x, j, dt * v[j])
        move_joint(kind, x.q, m.bodies[b].iq, v, iv, dt, x.q)
    hybrid.work += work


@helper
def start(hybrid):
    """The first evaluation of a kick, up to the elimination of joints. Returns the smallest pivot."""
    m, x = open_reduced(hybrid)
    drive_joints(m, hybrid, x, x.v)
    without_joints(hybrid, True, True, False)
    smallest = joint_passes(hybrid, True)
    constrain(hybrid, False, True)
    return smallest


@helper
def predict(hybrid):
    """The velocities in the middle of the step, written to x.half: those at which a step of guaranteed error uses the
    accelerations. Returns the smallest pivot."""
    m, x = open_reduced(hybrid)
    brace(m, hybrid, x, False)
    smallest = start(hybrid)
    if go_on(hybrid, 1, True) < 0.0:
        brace(m, hybrid, x, True)
        smallest = start(hybrid)
        go_on(hybrid, 1, False)
    rub(m, hybrid, x)
    release(m, hybrid)
    return smallest


@helper
def friction_slopes(hybrid, x, j, sliding):
    """The slope of dry friction at degree of freedom j and its velocity (friction.py, brake), and that at rest."""
    slope, at_rest, row = 0.0, 0.0, first_law(hybrid, j)
    while row > 0:
        law = law_among(hybrid.controls, x.nv + LAW * (row - 1))
        if is_friction(law):
            slope, at_rest = slope + brake(law, x.v[j], sliding), at_rest + law.damper
        row = hybrid.controlled[x.nv + row - 1]
    return slope, at_rest


@helper
def rub(m, hybrid, x):
    """At joints that friction holds, or stops within the step, replace the velocity x.half by one at which friction
    exerts the implicit force d (v + h a): there the step is that of the implicit Euler method."""
    if not hybrid.has_friction:
        return
    for b in range(m.n):
        iv = m.bodies[b].iv
        for j in range(iv, iv + DOF[m.bodies[b].kind]):
            _, damper = friction_slopes(hybrid, x, j, False)
            braced = braced_by(m, hybrid, j)
            end, whole = 2.0 * x.half[j] - x.v[j], hybrid.dt * damper
            if braced > 0.0 and (braced > 0.999 * whole or 2.0 * end * x.v[j] < x.v[j] * x.v[j]):
                x.half[j] = braced / whole * end


@helper
def kick(hybrid):
    """New velocities of all active joints. Returns the smallest pivot, and the sum of squares of the velocities."""
    m, x = open_reduced(hybrid)
    brace(m, hybrid, x, False)
    smallest = start(hybrid)
    squares = go_on(hybrid, 2, True)
    if squares < 0.0:
        brace(m, hybrid, x, True)
        smallest = start(hybrid)
        squares = go_on(hybrid, 2, False)
    release(m, hybrid)
    return smallest, squares


@helper
def brace(m, hybrid, x, sliding):
    """Armatures by which dry friction is implicit: where it holds, and, if `sliding`, everywhere."""
    if not hybrid.has_friction:
        return
    armature = hybrid.body.tree.armature
    for b in range(m.n):
        iv = m.bodies[b].iv
        for j in range(iv, iv + DOF[m.bodies[b].kind]):
            slope, _ = friction_slopes(hybrid, x, j, sliding)
            m.dofs[j].armature = armature[j] + hybrid.dt * slope


@helper
def braced_by(m, hybrid, j):
    """The armature that degree of freedom j has been given."""
    return m.dofs[j].armature - hybrid.body.tree.armature[j] if hybrid.has_friction else 0.0


@helper
def release(m, hybrid):
    """The model's own armatures again."""
    if not hybrid.has_friction:
        return
    armature = hybrid.body.tree.armature
    for b in range(m.n):
        iv = m.bodies[b].iv
        for j in range(iv, iv + DOF[m.bodies[b].kind]):
            m.dofs[j].armature = armature[j]


@helper
def jumps_at(hybrid, x, j, u, w):
    """Whether friction at degree of freedom j jumps between two velocities."""
    row = first_law(hybrid, j) if hybrid.has_friction else 0
    while row > 0:
        law = law_among(hybrid.controls, x.nv + LAW * (row - 1))
        if is_friction(law) and jumps(law, u, w):
            return True
        row = hybrid.controlled[x.nv + row - 1]
    return False


@kernel(types.float64(HybridBody.type, types.int64, types.int64), "hybrid body, velocities", effort=2, nogil=True)
def go_on(hybrid, more, unless_jumped):
    """The rest of a kick, with `more` further evaluations: two, and the velocities change; or one, only for its
    velocities. Returns the sum of squares of the new velocities; or, if unless_jumped and friction jumps, a negative
    number: no velocity has changed."""
    m, x = open_reduced(hybrid)
    for second in range(more):
        jumped = evaluate_again(m, hybrid, x, second)
        if jumped and unless_jumped:
            return -1.0
    return change_velocities(m, hybrid, x) if more == 2 else 0.0


@helper
def evaluate_again(m, hybrid, x, second):
    """Compute the joint accelerations, and begin the next evaluation, at the resulting velocities, up to the
    elimination of joints: the passes of exact/aba.py without the terms that depend only on positions. second: these
    accelerations are k2, otherwise k1. Returns whether friction jumps."""
    jumped, now = False, x.half if second else x.v
    weight, ahead = (0.5, hybrid.dt) if second else (0.25, 0.5 * hybrid.dt)
    world = x.work.path[0]
    world.zeta = world_at_rest(m, 0.0, world)
    x.work.path[0].A = Motion(zero(), zero())
    looped = hybrid.n_loop_rows > 0
    for b in range(m.n):
        accelerate_joint(m, x, b)
        _, _, kind, iv = joint_of(m, b)
        for j in range(iv, iv + DOF[kind]):
            a, force = weight * x.qdd[j], weight * joint_force(m, x.drive, now, j)
            x.gain[j] = x.gain[j] + a if second else a
            x.effort[j] = x.effort[j] + force if second else force
            u = x.v[j] + ahead * x.qdd[j]
            jumped = jumped or jumps_at(hybrid, x, j, now[j], u)
            x.half[j] = u
            if hybrid.n_rows > 0:
                x.drive[j] = own_force(hybrid, x, j, u)
        V, zeta = move_again(m, x, b)
        f = rigid_force(x.work.bodies[b].I, V.ang, zeta.ang, zeta.lin + cross(V.ang, V.lin))  # [RBDA 7.37]
        if is_pushed(hybrid, b):
            f = f - push_again(hybrid, b, V, second)
        x.work.bodies[b].p = f
        if looped:
            move_end(hybrid.closing.loops, b, V, zeta)
    pull_ends(hybrid, x.work.bodies, 0.25 if second else 0.5)
    for b in range(m.n - 1, -1, -1):
        eliminate_again(m, x, b)
    constrain(hybrid, True, False)
    return jumped


@helper
def push_again(hybrid, b, V, second):
    """The force on a pushed body that moves with V. Sums that begin with V1 and D1 become V1 + V2/2 + V3/2 and
    D1/4 + D2/2 + D3/4."""
    R, X = pose_at(hybrid.world, (b + 1))
    push, _, drag = push_on(hybrid, b + 1, R, X, V)
    row = hybrid.pushed[b + 1]
    row.now, row.V = V, row.V + V * 0.5
    row.drag = row.drag + drag * 0.25 if second else row.drag * 0.25 + drag * 0.5
    return push


@helper
def change_velocities(m, hybrid, x):
    """Compute the last joint accelerations, k3, and the new velocities; x.qdd becomes the mean acceleration. Work is
    counted, that of pushes at the mean of V1 and V' = V2/2 + V3/2 + h A3/4. Returns the sum of squares of the new
    velocities."""
    given, drag, squares, dt = 0.0, 0.0, 0.0, hybrid.dt
    x.work.path[0].A = Motion(zero(), zero())
    for b in range(m.n):
        A = accelerate_joint(m, x, b)
        _, _, kind, iv = joint_of(m, b)
        for j in range(iv, iv + DOF[kind]):
            x.qdd[j] = x.gain[j] + 0.25 * x.qdd[j]
            last = joint_force(m, x.drive, x.half, j)
            force = x.effort[j] + 0.25 * last - braced_by(m, hybrid, j) * x.qdd[j]
            taken, square = change_velocity(hybrid, x, j, force)
            drag, squares = drag + taken, squares + square
        if is_pushed(hybrid, b):
            row = hybrid.pushed[b + 1]
            mean = (row.V + A * (0.25 * dt)) * 0.5
            given += mean @ row.given
            drag += mean @ row.drag
    hybrid.work += dt * given
    close(hybrid, dt * drag, squares)
    return squares


@helper
def change_velocity(hybrid, x, j, force):
    """Update the velocity of degree of freedom j by x.qdd. force: that of its joint; x.drive becomes its part due to
    dampers. Returns the power of the dampers at the mean velocity, and the square of the new velocity."""
    before = x.v[j]
    after = before + hybrid.dt * x.qdd[j]
    damper = force - (own_force(hybrid, x, j, 0.0) if hybrid.n_rows > 0 else x.drive[j])
    x.drive[j] = damper
    x.v[j] = after
    return 0.5 * damper * (before + after), after * after


@helper
def close(hybrid, drag, squares):
    """Complete the energy accounts of a kick: the work of dampers, and whether a check is due, since velocities grow
    when a run becomes unstable."""
    hybrid.drag_work += drag
    if squares > 4.0 * hybrid.squares:
        hybrid.unchecked = LOOK


@helper
def swap_velocities(m, x):
    """Exchange x.v and x.half."""
    for b in range(m.n):
        iv = m.bodies[b].iv
        for j in range(iv, iv + DOF[m.bodies[b].kind]):
            v = x.v[j]
            x.v[j] = x.half[j]
            x.half[j] = v


@helper
def imposed_kick(hybrid):
    """New velocities from prescribed accelerations: the forces needed to impose them are counted as work, and so are
    pushes. Returns the sum of squares of the velocities."""
    m, x = open_reduced(hybrid)
    drive_joints(m, hybrid, x, x.half)
    swap_velocities(m, x)
    without_joints(hybrid, True, True, False)
    project(hybrid, NEEDED)
    swap_velocities(m, x)
    dt, work, drag, squares = hybrid.dt, 0.0, 0.0, 0.0
    for b in range(m.n):
        iv = m.bodies[b].iv
        for j in range(iv, iv + DOF[m.bodies[b].kind]):
            mean, force = x.v[j] + 0.5 * dt * x.qdd[j], joint_force(m, x.drive, x.half, j)
            work += (x.impulse[j] - force) * mean
            taken, square = change_velocity(hybrid, x, j, force)
            drag, squares = drag + taken, squares + square
    hybrid.work += dt * work
    close(hybrid, dt * drag, squares)
    return squares
