"""Quasi-statics of the whole body at once, by the articulated-body algorithm: O(n), and right where the assembly tree
has no digits left (forces in balance, light links that carry heavy ones), or where most joints matter anyway.

Joints whose accelerations are small enough to be neglected are treated as zero, as elsewhere; here all are known, so
these are as many as can be.

**What rounding does to it.** The equation of a joint, D qdd = tau - S.f, is the difference of its own force and of what
it carries. `noise` is the size of these terms: |tau| plus the sum of the magnitudes of the forces below the joint, and
of their moments about it. NOISE is what the joint that moves most, on its own, would do under u times that (u: the unit
of rounding). What the joints do together, at most, is AMPLIFICATION times that, and IN_ALL times that is its norm over
all joints. These two are found now and then by a second solution, for forces as large as the noise and for what the
first one leaves of the equations of motion. If that is far more than the noise (LUCK; light links between heavy ones
do so, at large accelerations), it is a matter of luck how much it is, and holds for this solution only. FLOOR is the
larger one of all that and LEAST u times the accelerations.
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.backsubstitution import (
    ABSOLUTE_JOINT,
    ABSOLUTE_LINKAGE,
    MATRICES,
    RELATIVE_LINKAGE,
    length,
    mark,
    norm_square,
    note_slide,
    quotient,
    set_bounds,
)
from supple.adaptive.memory import SPRING, QuasiStaticBody
from supple.adaptive.momenta import across
from supple.adaptive.reduced import push_force
from supple.assembly.joints import advance
from supple.exact.aba import A_, B_, BODY_ROW, D_, DOF_ROW, E_, F_, P_, PATH_ROW, Y_, with_joints, without_joint
from supple.exact.calls import AXES, DOFS, HEADER, N_SLOTS, PATH, TURNS, WORK
from supple.exact.motion import AXIS, DOF, PRISMATIC, REVOLUTE, Axes, joint_of, turn_ahead, world_at_rest
from supple.exact.tables import ARMATURE, HAS_CHILDREN, PARENT, open_tables
from supple.spatial.algebra import Force, Motion, Prismatic, Revolute, Vec3, shift_force, shift_motion
from supple.spatial.compiler import helper, kernel
from supple.spatial.indexing import as_array
from supple.spatial.references import floats_at, ints_at
from supple.spatial.rows import load_force, load_motion, load_rigid, load_vec, store_rigid, store_six, store_vec
from supple.spatial.trig import RING

SOLVE, SELECT, ADVANCE_ALL, PROBE, WEIGHTLESS = 1, 2, 4, 8, 16  # what a call of the kernel is to do
UNIT = 2.0**-53  #: of rounding
SAFETY, LEAST = 32.0, 1024.0
LUCK = 32.0
X_ = 21  #: of a row of `path`: where the body's origin is in the world


@helper
def zero():
    return Vec3(0.0, 0.0, 0.0)


@helper
def along(kind, z, S, k, f):
    """S.f of degree of freedom k."""
    if kind == REVOLUTE:
        return Revolute(z) @ f
    if kind == PRISMATIC:
        return Prismatic(z) @ f
    return load_motion(S.rows, k, 0) @ f


@helper
def load_bodies(m, qs, q, path, work, S):
    """What the bodies take while no joint accelerates [exact/aba.py], under gravity and pushes, whose magnitudes go to
    `carried`."""
    world_at_rest(m, q, path)
    store_vec(path, 0, X_, zero())
    done, next_ = 0, 0
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, q, S, done, b)
        above = load_vec(path, p, X_)
        R, Y = without_joint(m, b, q, m.zeros, False, m.outward, path, work, S)
        store_rigid(work, b, Y_, Y)
        X = above + load_vec(work, b, P_)
        store_vec(path, i, X_, X)
        qs.carried[b].force = 0.0
        qs.carried[b].moment = 0.0
        if next_ < qs.n_pushed and qs.pushed[next_] == b:
            f = load_force(work, b, F_)
            weight, moment = push_sizes(qs, next_, X)
            qs.carried[b].force = weight
            qs.carried[b].moment = moment
            for k in range(qs.push_start[next_], qs.push_start[next_ + 1]):
                push = push_force(qs.pushes[k], R, X, Motion(zero(), zero()))
                f = f - push
            store_six(work, b, F_, f)
            next_ += 1


@helper
def push_sizes(qs, x, X):
    """The magnitudes of the pushes on the x-th of the pushed bodies, which is at X: of forces, and of their moments."""
    weight, moment = 0.0, 0.0
    for k in range(qs.push_start[x], qs.push_start[x + 1]):
        push = qs.pushes[k]
        p, f = length(push.point), length(push.vector)
        if push.kind == SPRING:
            f = (f + p + length(X)) * push.stiffness
        weight, moment = weight + f, moment + p * f + length(push.moment)
    return weight, moment


@helper
def measure_noise(m, qs, force, work, S, dofs):
    """`noise` of every degree of freedom. Returns the largest acceleration that so large a force would give its joint
    on its own."""
    most = 0.0
    for b in range(m.n - 1, -1, -1):
        _, _, kind, j = joint_of(m, b)
        f = load_force(work, b, F_)
        weight = qs.carried[b].force + length(f.lin)
        moment = qs.carried[b].moment + length(f.ang)
        for k in range(j, j + DOF[kind]):
            carried = moment if kind == REVOLUTE else weight
            if kind != REVOLUTE and kind != PRISMATIC:
                s = load_motion(S.rows, k, 0)
                carried = length(s.ang) * moment + length(s.lin) * weight
            noise = abs(force[k]) + carried
            qs.noise[k] = noise
            most = max(most, noise * dofs[k, D_])
        p = m.bodies[b, PARENT]
        if p >= 0:
            moment += length(load_vec(work, b, P_)) * weight
            qs.carried[p].force += weight
            qs.carried[p].moment += moment
    return most


@helper
def add_up(qs):
    """The totals of all joints, none of them neglected."""
    body, tree = qs.body, qs.body.tree
    largest, squares = 0.0, 0.0
    for j in range(tree.n):
        square = norm_square(body, j)
        largest, squares = max(largest, square), squares + square
    qs.largest = largest
    qs.squares = squares
    qs.root = squares


@helper
def negligible(qs, error, measure):
    """The square of an acceleration that every joint may neglect."""
    tree = qs.body.tree
    floor = qs.floor
    if measure in (ABSOLUTE_LINKAGE, RELATIVE_LINKAGE):
        size = 1.0 if measure == ABSOLUTE_LINKAGE else max(math.sqrt(qs.squares) - floor, 0.0)
        return max(error * size - 2.0 * floor, 0.0) ** 2 / tree.n
    size = 1.0 if measure == ABSOLUTE_JOINT else max(math.sqrt(qs.largest) - floor, 0.0)
    return max(error * size - floor, 0.0) ** 2


@helper
def select(qs, error, measure):
    """The joints that are not neglected, and what the error then is."""
    body, tree = qs.body, qs.body.tree
    limit = negligible(qs, error, measure) * (1.0 - 1e-9)
    count, left, most, kept = 0, 0.0, 0.0, 0.0
    for j in range(tree.n):
        square = norm_square(body, j)
        if error > 0.0 and square <= limit:
            left, most = left + square, max(most, square)
        else:
            qs.computed[count] = j
            count += 1
            kept += square
    qs.n_computed = count
    qs.squares = kept
    set_bounds(qs, tree.n, measure, (left, left if count < tree.n else -1.0), most, most)


@helper
def advance_all(qs, factor):
    """Move the joints that are not neglected, and mark what that changes."""
    body, tree = qs.body, qs.body.tree
    for x in range(qs.n_computed):
        j = qs.computed[x]
        advance(tree, j, body.q, body.qdd, factor)
        note_slide(qs, j, factor)
        mark(qs, tree.node_of[j], MATRICES)
    qs.stale = 1


@helper
def probe_forces(m, qs, tau, qdd, path, work, S, dofs, out):
    """What accelerations leave of the equations of motion, tau - S.f - armature qdd, and the noise, to which what moves
    the bodies now belongs, with signs that look random. Returns how the former compares with the latter, by what the
    joint that moves most, on its own, would do. After load_bodies; takes the bodies' own forces away."""
    store_six(path, 0, A_, Motion(zero(), zero()))
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        A = shift_motion(load_vec(work, b, P_), load_motion(path, p, A_)) + across(
            kind, load_vec(work, b, E_), S, j, qdd
        )
        store_six(path, i, A_, A)
        f = load_rigid(work, b, Y_) @ A
        qs.carried[b].force += length(f.lin)
        qs.carried[b].moment += length(f.ang)
        store_six(work, b, F_, load_force(work, b, F_) + f)
    noise, most = UNIT * measure_noise(m, qs, tau, work, S, dofs), 0.0
    for b in range(m.n - 1, -1, -1):
        i, p, kind, j = joint_of(m, b)
        f = load_force(work, b, F_)
        if m.bodies[b, HAS_CHILDREN]:
            f = f + load_force(path, i, B_)
        for k in range(j, j + DOF[kind]):
            sign = 1.0 if (k * k + 3 * k >> 2) & 1 else -1.0
            left = tau[k] - along(kind, load_vec(work, b, E_), S, k, f) - m.dofs[k, ARMATURE] * qdd[k]
            most = max(most, abs(left) * dofs[k, D_])
            out[k] = left + sign * UNIT * qs.noise[k]
        store_six(work, b, F_, Force(zero(), zero()))
        if m.bodies[b, PARENT] >= 0:
            f = shift_force(load_vec(work, b, P_), f)
            if i != p:  # not the last child: those after it have already put theirs there
                f = f + load_force(path, p, B_)
            store_six(path, p, B_, f)
    return quotient(most, noise)


_int, _float = types.int64, types.float64


@kernel(_float(_int, QuasiStaticBody.type, _int, _float, _int, _float), "quasi-statics, whole body", effort=4)
def whole_kernel(handle, qs, tasks, error, measure, factor):
    """The tasks asked for; handle: of the articulated-body algorithm. Returns the smallest D, or of PROBE what is left
    of the equations of motion, in parts of the noise."""
    body = qs.body
    h = ints_at(handle, (HEADER,))
    m = open_tables(h)
    smallest, left = 1.0e300, 0.0
    if tasks & (SOLVE | PROBE):
        q, tau, out = as_array(body.q, body.nq), as_array(body.force, body.nv), as_array(body.qdd, body.nv)
        path, bodies = floats_at(h[PATH], (h[N_SLOTS], PATH_ROW)), floats_at(h[WORK], (m.n, BODY_ROW))
        S = Axes(floats_at(h[AXES], (m.nv, AXIS)), floats_at(h[TURNS], (RING, 2)))
        dofs = floats_at(h[DOFS], (m.nv, DOF_ROW))
        load_bodies(m, qs, q, path, bodies, S)
        if tasks & PROBE:
            noise, probe = as_array(qs.noise, body.nv), as_array(qs.probe, body.nv)
            left = probe_forces(m, qs, tau, out, path, bodies, S, dofs, probe)
            tau, out = probe, noise
        elif tasks & WEIGHTLESS:
            for b in range(m.n):
                store_six(bodies, b, F_, Force(zero(), zero()))
        smallest = with_joints(m, q, m.zeros, tau, out, path, bodies, S, dofs)
        if tasks & PROBE:
            most, squares = 0.0, 0.0
            for j in range(m.nv):
                most, squares = max(most, abs(out[j])), squares + out[j] * out[j]
            qs.amplification = SAFETY * quotient(most, qs.noise_level)
            qs.amplification_in_all = SAFETY * quotient(math.sqrt(squares), qs.noise_level)
        else:
            add_up(qs)
            qs.noise_level = UNIT * measure_noise(m, qs, tau, bodies, S, dofs)
            qs.queue_length = 0
            qs.n_visited = 0
    if tasks & SELECT:
        linkage, noise = measure in (ABSOLUTE_LINKAGE, RELATIVE_LINKAGE), qs.noise_level
        square = qs.root if linkage else qs.largest
        qs.squares = qs.root
        floor = noise * (qs.amplification_in_all if linkage else qs.amplification)
        qs.floor = max(floor, LEAST * UNIT * math.sqrt(square))
        select(qs, error, measure)
    if tasks & ADVANCE_ALL:
        advance_all(qs, factor)
    return left if tasks & PROBE else smallest
