"""Quasi-statics of the whole body at once, by the articulated-body algorithm: O(n), and accurate where the assembly
tree has no digits left (forces in balance, light links that carry heavy ones), or where most joints matter anyway.

Joints whose accelerations are small enough to be neglected are treated as zero, as elsewhere; here all accelerations
are known, so as many joints as possible are neglected.

**Rounding errors.** The equation of a joint, D qdd = tau - S.f, is the difference of its own force and the load that it
carries. `noise` is the magnitude of these terms: |tau| plus the sum of the magnitudes of the forces below the joint,
and of their moments about it. NOISE is the largest acceleration that u times that would cause at any joint on its own
(u: the unit roundoff). The joints together have at most AMPLIFICATION times that, and its norm over all joints is
IN_ALL times that. These two factors are measured from time to time by a second solution, for forces as large as the
noise and for the residual of the first solution in the equations of motion. If the residual is far larger than the
noise (LUCK; this happens with light links between heavy ones, at large accelerations), its size is a matter of luck,
and the result is valid for this solution only. Where bodies are very unlike (UNLIKE) [light_bodies.py], the signs of
these forces matter: the factors are then the largest for several choices (DRAWS). FLOOR is the larger of all that and
LEAST u times the accelerations.
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.backsubstitution import norm_square, note_slide
from supple.adaptive.certificate import ABSOLUTE_JOINT, ABSOLUTE_LINKAGE, RELATIVE_LINKAGE, quotient, set_bounds
from supple.adaptive.memory import QuasiStaticBody
from supple.adaptive.momenta import across
from supple.adaptive.outdated import MATRICES, mark
from supple.assembly.joints import advance
from supple.exact.aba import aba_scratch, with_joints, without_joint
from supple.exact.call_kernels import call_at, no_wrenches
from supple.exact.motion import CallState, joint_of, turn_ahead, world_at_rest
from supple.integrating.push_law import length, push_force, push_size
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE
from supple.spatial.addresses import float_vector
from supple.spatial.algebra import Force, Motion, Prismatic, Revolute, Vec3, shift_force, shift_motion
from supple.spatial.compiler import helper, kernel

#: Tasks of a kernel call.
SOLVE, SELECT, ADVANCE_ALL, PROBE, WEIGHTLESS, UNLIKE, NOTE, CLOSED = 1, 2, 4, 8, 16, 32, 64, 128
UNIT = 2.0**-53  #: unit roundoff
SAFETY, LEAST = 32.0, 1024.0
LUCK, DRAWS = 32.0, 8


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
    return S.axes[k].s @ f


@helper
def load_bodies(m, qs, state, work):
    """The bias forces of the bodies with zero joint accelerations [exact/aba.py], under gravity and pushes. The
    magnitudes of pushes are written to `carried`, and of the moments of weights, also of those that hang straight."""
    path, bodies = work.path, work.bodies
    path[0].zeta = world_at_rest(m, 0.0, path[0])
    path[0].X = zero()
    done, next_ = 0, 0
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, state.q, work.S, done, b)
        above = path[p].X
        R, bodies[b].I = without_joint(m, b, state, work)
        X = above + bodies[b].r
        path[i].X = X
        qs.carried[b].force = 0.0
        qs.carried[b].moment = length(bodies[b].I.h) * length(qs.gravity)
        if next_ < qs.n_pushed and qs.pushed[next_] == b:
            f = bodies[b].p
            weight, moment = push_sizes(qs, next_, X)
            qs.carried[b].force = weight
            qs.carried[b].moment += moment
            pushes = Force(zero(), zero())
            for k in range(qs.push_start[next_], qs.push_start[next_ + 1]):
                pushes = pushes + push_force(qs.pushes[k], R, X, Motion(zero(), zero()))
            pulls = qs.pulls[next_]
            qs.carried[b].force += length(pulls.loops.lin)
            qs.carried[b].moment += length(pulls.loops.ang)
            pulls.pushes = pushes
            bodies[b].p = f - pushes - pulls.loops
            next_ += 1


@helper
def push_sizes(qs, x, X):
    """The magnitudes of the pushes on the x-th pushed body, which is at X: of forces, and of their moments."""
    weight, moment = 0.0, 0.0
    for k in range(qs.push_start[x], qs.push_start[x + 1]):
        f, m = push_size(qs.pushes[k], X)
        weight, moment = weight + f, moment + m
    return weight, moment


@helper
def measure_noise(m, qs, force, work):
    """`noise` of every degree of freedom. Returns the largest acceleration that a force of this size would cause at its
    joint on its own."""
    most, bodies, dofs, S = 0.0, work.bodies, work.dofs, work.S
    for b in range(m.n - 1, -1, -1):
        _, _, kind, j = joint_of(m, b)
        f = bodies[b].p
        weight = qs.carried[b].force + length(f.lin)
        moment = qs.carried[b].moment + length(f.ang)
        for k in range(j, j + DOF[kind]):
            carried = moment if kind == REVOLUTE else weight
            if kind != REVOLUTE and kind != PRISMATIC:
                s = S.axes[k].s
                carried = length(s.ang) * moment + length(s.lin) * weight
            noise = abs(force[k]) + carried
            qs.noise[k] = noise
            most = max(most, noise * dofs[k].d)
        p = m.bodies[b].parent
        if p >= 0:
            moment += length(bodies[b].r) * weight
            qs.carried[p].force += weight
            qs.carried[p].moment += moment
    return most


@helper
def add_up(qs):
    """The totals of all joints, with none neglected."""
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
    """The squared acceleration below which every joint may be neglected."""
    tree = qs.body.tree
    floor = qs.floor
    if measure in (ABSOLUTE_LINKAGE, RELATIVE_LINKAGE):
        size = 1.0 if measure == ABSOLUTE_LINKAGE else max(math.sqrt(qs.squares) - floor, 0.0)
        return max(error * size - 2.0 * floor, 0.0) ** 2 / tree.n
    size = 1.0 if measure == ABSOLUTE_JOINT else max(math.sqrt(qs.largest) - floor, 0.0)
    return max(error * size - floor, 0.0) ** 2


@helper
def select(qs, error, measure):
    """The joints that are not neglected, and the resulting error."""
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
    """Move the joints that are not neglected, and mark the affected nodes."""
    body, tree = qs.body, qs.body.tree
    for x in range(qs.n_computed):
        j = qs.computed[x]
        advance(tree, j, body.q, body.qdd, factor)
        note_slide(qs, j, factor)
        mark(qs, tree.node_of[j], MATRICES)
    qs.stale = 1


@helper
def probe_forces(m, qs, tau, qdd, work, out):
    """The residual of accelerations in the equations of motion, tau - S.f - armature qdd, and the noise, including the
    forces that currently move the bodies, with pseudo-random signs. Returns the ratio of the former to the latter, each
    as the largest acceleration that it would cause at any joint on its own. After load_bodies; removes the bodies' own
    forces."""
    path, bodies, dofs, S = work.path, work.bodies, work.dofs, work.S
    path[0].A = Motion(zero(), zero())
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        A = shift_motion(bodies[b].r, path[p].A) + across(kind, bodies[b].z, S, j, qdd)
        path[i].A = A
        f = bodies[b].I @ A
        qs.carried[b].force += length(f.lin)
        qs.carried[b].moment += length(f.ang)
        bodies[b].p = bodies[b].p + f
    noise, most = UNIT * measure_noise(m, qs, tau, work), 0.0
    for b in range(m.n - 1, -1, -1):
        i, p, kind, j = joint_of(m, b)
        f = bodies[b].p
        if m.bodies[b].has_children:
            f = f + path[i].pA
        for k in range(j, j + DOF[kind]):
            sign = 1.0 if (k * k + 3 * k >> 2) & 1 else -1.0
            left = tau[k] - along(kind, bodies[b].z, S, k, f) - m.dofs[k].armature * qdd[k]
            most = max(most, abs(left) * dofs[k].d)
            out[k] = left + sign * UNIT * qs.noise[k]
        bodies[b].p = Force(zero(), zero())
        if m.bodies[b].parent >= 0:
            f = shift_force(bodies[b].r, f)
            if i != p:  # not the last child: later children have already stored theirs there
                f = f + path[p].pA
            path[p].pA = f
    return quotient(most, noise)


@helper
def other_signs(x, n, draw):
    """Change the signs of about half of some numbers."""
    for k in range(n):
        if (k + 1) * (2 * draw + 1) * 0x9E3779B1 >> 13 & 1:
            x[k] = -x[k]


@helper
def note_amplification(qs, most, squares):
    """From the largest acceleration that a probe caused, and the sum of their squares."""
    qs.amplification = SAFETY * quotient(most, qs.noise_level)
    qs.amplification_in_all = SAFETY * quotient(math.sqrt(squares), qs.noise_level)


_int, _float = types.int64, types.float64


@kernel(_float(_int, QuasiStaticBody.type, _int, _float, _int, _float), "quasi-statics, whole body", effort=4)
def whole_kernel(handle, qs, tasks, error, measure, factor):
    """Perform the given tasks; handle: of the articulated-body algorithm. Returns the smallest D, or for PROBE the
    residual of the equations of motion, relative to the noise."""
    body = qs.body
    call = call_at(handle)
    m, work = call.model, aba_scratch(call)
    smallest, left = 1.0e300, 0.0
    if tasks & NOTE:
        still = float_vector(m.zero_v, m.nv)
        load_bodies(m, qs, CallState(body.q, still, still, False, no_wrenches()), work)
    if tasks & (SOLVE | PROBE):
        still, tau, out = float_vector(m.zero_v, m.nv), body.force, body.qdd
        load_bodies(m, qs, CallState(body.q, still, still, False, no_wrenches()), work)
        if tasks & PROBE:
            left = probe_forces(m, qs, tau, out, work, qs.probe)
            if tasks & CLOSED:
                return left
            tau, out = qs.probe, qs.noise
        elif tasks & WEIGHTLESS:
            for b in range(m.n):
                work.bodies[b].p = Force(zero(), zero())
        most, squares = 0.0, 0.0
        for draw in range(DRAWS if tasks & UNLIKE else 1):
            if draw > 0:
                other_signs(tau, m.nv, draw)
            smallest = with_joints(m, still, tau, out, work)
            total = 0.0
            for j in range(m.nv):
                most, total = max(most, abs(out[j])), total + out[j] * out[j]
            squares = max(squares, total)
        if tasks & CLOSED:  # the same, by fronts
            for j in range(m.nv):
                out[j] = qs.closed[j]
        if tasks & PROBE:
            note_amplification(qs, most, squares)
        else:
            add_up(qs)
            qs.noise_level = UNIT * measure_noise(m, qs, tau, work)
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
