"""Forward dynamics by the articulated-body algorithm [Featherstone 2008, Rigid Body Dynamics Algorithms (RBDA), ch. 7].

All quantities are along world axes, about each body's own origin: nothing rotates between bodies, and no digits are
lost to a distant common origin. Where the book adds Ia c in the backward pass, zeta carries velocity products and
gravity forward: accelerations are relative to it, and the bias force is that of inverse dynamics. A joint of k degrees
of freedom is k successive eliminations of one, so D is never a matrix. Cost O(n).

    symbol       what
    R, V         rotation of the body; velocity                             of `path`: what bodies pass on to children
    zeta         acceleration if no joint accelerated, -gravity included    and parents, a row for each slot
    A            acceleration beyond zeta                                   [topology.slots]
    IA, pA       what a body's children add to I and p
    r, z         origin as seen from the parent's; the joint's axis         of `bodies`
    p, I         bias force, at acceleration zeta; rigid inertia
    U, d, u      I S, 1/D, and tau - S.p, as in the book                    of `dofs`
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.exact.call_kernels import ScratchRows, scratch_opener
from supple.exact.calls import TAU, WRENCHES, Algorithm, HostWork, Q, V
from supple.exact.motion import joint_of, move, turn_ahead, turned_inertia, world_at_rest, zero_vec
from supple.exact.rnea import rigid_force
from supple.exact.tables import BodyShape
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE
from supple.model.model import Model
from supple.spatial.algebra import (
    Force,
    Inertia,
    Mat3,
    Motion,
    Prismatic,
    Revolute,
    RigidInertia,
    Vec3,
    articulated,
    cross,
    outer_inertia,
    rotate_force,
    shift_force,
    shift_inertia,
    shift_motion,
    z_axis,
)
from supple.spatial.any_number import number_like, smaller
from supple.spatial.compiler import helper
from supple.spatial.cpu import LINE, fetch
from supple.spatial.fields import Number, Value
from supple.spatial.structs import Struct

CACHED, AHEAD = 2000, 8  # above CACHED bodies, rows are prefetched AHEAD bodies in advance


class AbaPath(Struct, align=LINE):
    """What bodies pass on to children and parents."""

    R = Value(Mat3)  # rotation
    V = Value(Motion)  # velocity
    zeta = Value(Motion)  # acceleration if no joint accelerated, -gravity included
    X = Value(Vec3)  # position of the origin in the world, where needed
    IA = Value(Inertia)  # what the children add to I
    pA = Value(Force)  # and to p
    A = Value(Motion)  # acceleration beyond zeta


class AbaBody(Struct, align=LINE):
    r = Value(Vec3)  # origin as seen from the parent's
    z = Value(Vec3)  # the joint's axis, where that is the body's z
    p = Value(Force)  # bias force, at acceleration zeta
    I = Value(RigidInertia)


class AbaDof(Struct):
    U = Value(Force)  # [RBDA 7.43]
    d = Number()  # 1 / D [RBDA 7.44]
    u = Number()  # [RBDA 7.45]


BODY_LINES, SHAPE_LINES = AbaBody.words // LINE, BodyShape.words // LINE
ROWS = ScratchRows(AbaPath, AbaBody, AbaDof)
aba_scratch, _ = scratch_opener(ROWS)


@helper
def eliminate(I, f, S, dof, tau, armature):
    """Eliminate a degree of freedom from the articulated body. Specialised on the type of S."""
    U = I @ S  # [RBDA 7.43]
    D = S @ U + armature
    d = 1.0 / D  # [RBDA 7.44]
    u = tau - S @ f  # [RBDA 7.45]
    dof.U, dof.d, dof.u = U, d, u
    return I - outer_inertia(U, d), f + U * (u * d), D  # Ia, pa [RBDA 7.47, 7.48]


@helper
def accelerate(a, S, dof):
    """The body's acceleration including that of a degree of freedom, and the latter."""
    qdd = (dof.u - a @ dof.U) * dof.d  # [RBDA 7.51]
    return a + S * qdd, qdd


@helper
def joint_force(m, tau, v, j):
    """Joint force including damping."""
    return tau[j] - v[j] * m.dofs[j].damping


@helper
def aba(m, state, qdd, work):
    """qdd of one state (or of four, in lanes). Returns the smallest D, which is not positive if the system is
    singular."""
    without_joints(m, state, work)
    return with_joints(m, state.v, state.known, qdd, work)


@helper
def with_joints(m, v, tau, qdd, work):
    """The two passes in which joints accelerate, after without_joints. Returns the smallest D."""
    smallest = eliminate_joints(m, v, tau, work)
    accelerate_joints(m, v, qdd, work)
    return smallest


@helper
def accelerate_joints(m, v, qdd, work):
    """The second of the two: the forward pass, from the first body to the last."""
    zero = zero_vec(v[0])
    work.path[0].A = Motion(zero, zero)
    accelerate_trees(m, 0, m.n, qdd, work)


@helper
def accelerate_trees(m, first, last, qdd, work):
    """The same of trees that come one after the other, from body `first` on, up to `last`; path[0].A is there."""
    path, bodies, dofs = work.path, work.bodies, work.dofs
    far = m.n > CACHED
    for b in range(first, last):
        i, p, kind, j = joint_of(m, b)
        if far:
            fetch(bodies, b + 2 * AHEAD, 1)  # r and z
            fetch(dofs, j + 2 * AHEAD, 1)
        A = shift_motion(bodies[b].r, path[p].A)
        z = bodies[b].z
        if kind == REVOLUTE:
            A, qdd[j] = accelerate(A, Revolute(z), dofs[j])
        elif kind == PRISMATIC:
            A, qdd[j] = accelerate(A, Prismatic(z), dofs[j])
        else:
            for k in range(j, j + DOF[kind]):
                A, qdd[k] = accelerate(A, work.S.axes[k].s, dofs[k])
        path[i].A = A


@helper
def eliminate_joints(m, v, tau, work):
    """The first of the two: the backward pass, from the last body to the first."""
    path, bodies, dofs = work.path, work.bodies, work.dofs
    far = m.n > CACHED
    smallest = number_like(v[0], np.inf)
    for b in range(m.n - 1, -1, -1):
        i, p, kind, j = joint_of(m, b)
        if far:
            fetch(bodies, b - AHEAD, BODY_LINES)
            fetch(dofs, j - AHEAD, 1)
        IA, pA = articulated(bodies[b].I), bodies[b].p
        if m.bodies[b].has_children:
            IA, pA = IA + path[i].IA, pA + path[i].pA
        z = bodies[b].z
        if kind == REVOLUTE:
            IA, pA, D = eliminate(IA, pA, Revolute(z), dofs[j], joint_force(m, tau, v, j), m.dofs[j].armature)
            smallest = smaller(D, smallest)
        elif kind == PRISMATIC:
            IA, pA, D = eliminate(IA, pA, Prismatic(z), dofs[j], joint_force(m, tau, v, j), m.dofs[j].armature)
            smallest = smaller(D, smallest)
        else:
            for k in range(j + DOF[kind] - 1, j - 1, -1):
                s = work.S.axes[k].s
                IA, pA, D = eliminate(IA, pA, s, dofs[k], joint_force(m, tau, v, k), m.dofs[k].armature)
                smallest = smaller(D, smallest)
        if m.bodies[b].parent >= 0:
            r = bodies[b].r
            IA, pA = shift_inertia(r, IA), shift_force(r, pA)
            if i != p:  # not the last child: later children have already stored theirs there
                IA, pA = IA + path[p].IA, pA + path[p].pA
            path[p].IA, path[p].pA = IA, pA
    return smallest


@helper
def without_joints(m, state, work):
    """Motion of the bodies with no joint accelerating: R, V and zeta in `path`; r, z, p and I in `bodies`."""
    far = m.n > CACHED
    world = work.path[0]
    world.zeta = world_at_rest(m, state.q[0], world)
    done = 0
    for b in range(m.n):
        if far:
            fetch(m.shapes, b + AHEAD, SHAPE_LINES)
            fetch(work.bodies, b + AHEAD, BODY_LINES)
        done = turn_ahead(m, state.q, work.S, done, b)
        _, I = without_joint(m, b, state, work)
        work.bodies[b].I = I


@helper
def without_joint(m, b, state, work):
    """The same for one body, except its inertia; returns R and I."""
    i, p, _, _ = joint_of(m, b)
    above = work.path[p]
    R, r, V, c = move(m, b, above.R, above.V, state.q, state.v, work.S)
    I = turned_inertia(R, m.shapes[b])
    zeta = shift_motion(r, above.zeta) + c
    # pA = I zeta + v x* I v - f_ext  [RBDA 7.37], by the acceleration of the origin as a point: v x m v is omitted
    # rather than rounded, since its rounding error would swamp the moment of a light foot on a heavy hip.
    f = rigid_force(I, V.ang, zeta.ang, zeta.lin + cross(V.ang, V.lin))
    if state.pushed:
        f = f - rotate_force(R @ m.outward[b].R, state.wrenches[b].f)
    here, body = work.path[i], work.bodies[b]
    here.R, here.V, here.zeta = R, V, zeta
    body.r, body.z, body.p = r, z_axis(R), f
    return R, I


def _inverse_D(model: Model, work: HostWork) -> NDArray[np.float64]:
    out: NDArray[np.float64] = work.dofs["d"]
    return out


ABA = Algorithm("aba", aba, ROWS, (Q, V, TAU, WRENCHES), lambda m: (m.nv,), inverse_D=_inverse_D, of_trees=True)
