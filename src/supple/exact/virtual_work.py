"""Forward dynamics by the principle of virtual work, with every joint's force [Yamane and Nakamura (VW)].

Initially, every link is free. Joints are closed one by one, from the leaves to the root: the constraint force that
closes a joint follows from the mobilities of its two sides. In the second pass, every joint receives what those closed
after it add to its force.

    symbol      what
    R, V, zeta  rotation, velocity, acceleration if no joint accelerated          of `path`
    P, y        mobility of a link and all that is joined to it so far, and its   of `path`
                acceleration beyond zeta                                          (the parent's P before: of `bodies`)
    r, z        origin relative to the parent's; the joint's axis                 of `bodies`
    c, J, w     centre of mass; inverse rotational inertia there; 1 / mass        w of `constants`
    p           force required by zeta [VW (15): b - f]                           of `bodies`; then f
    W           K^T M K, M the inverse of the joint's mobility [VW (41)]          of `bodies` (digits left in it: left)
    f           K^T n + S tau, the force on the child: at its stage, then final   final: of `path`

Along world axes, about each body's own origin, as in aba.py; accelerations are relative to zeta, so that h [VW (29)]
is zero. What the paper writes with K and M is one 6x6 matrix W = K^T M K here: V, the sum of the two sides' mobilities,
is inverted, then the directions of the joint are eliminated one by one, as in aba.py, each with its force tau and its
armature. Mobilities are symmetric by their type.

Mobilities are subtracted and inverted, so digits are lost where a link is lighter than what it carries, with the square
of the ratio. `left`, positive unless a pivot indicates that few are left (LOST in algebra.py), comes with the result;
digits.py ensures that no inaccurate results are returned.

Closing a joint changes the mobility of the link it is on, so any number of joints on a link cost O(n), and each is
independent of the others [VW section 4 splits such links, or keeps a matrix for every pair: virtual_hubs.py].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.errors import SingularError
from supple.exact.aba import AHEAD, CACHED, SHAPE_LINES, AbaDof, accelerate, eliminate, joint_force, without_joint
from supple.exact.call_kernels import ScratchRows
from supple.exact.calls import TAU, WRENCHES, Algorithm, HostWork, Q, V
from supple.exact.motion import joint_of, turn_ahead, turned_split, world_at_rest, zero_vec
from supple.exact.tables import Wrench, split_inertias
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE
from supple.model.kernel_frames import inside_turns
from supple.model.model import Model
from supple.spatial.algebra import (
    Force,
    Inertia,
    Mat3,
    Mobility,
    Motion,
    Prismatic,
    Revolute,
    Sym3,
    Vec3,
    cross,
    inverse,
    respond,
    respond_rigid,
    rigid_mobility,
    shift_force,
    shift_mobility,
    shift_motion,
)
from supple.spatial.any_number import number_like, smaller
from supple.spatial.compiler import helper
from supple.spatial.cpu import LINE, fetch
from supple.spatial.fields import Number, Value
from supple.spatial.structs import Struct


class LinkPath(Struct, align=LINE):
    """What links pass on."""

    R = Value(Mat3)
    V = Value(Motion)
    zeta = Value(Motion)
    P = Value(Mobility)  # of a link and all that is joined to it so far
    y = Value(Motion)  # its acceleration beyond zeta
    f = Value(Force)  # the final force of the joint above


class LinkBody(Struct, align=LINE):
    """A link, and the joint above it."""

    r = Value(Vec3)
    z = Value(Vec3)
    p = Value(Force)  # the force required by zeta [VW (15): b - f]; then f = K^T n + S tau on the link, at its stage
    c = Value(Vec3)  # centre of mass
    J = Value(Sym3)  # inverse rotational inertia there
    W = Value(Inertia)  # K^T M K, M the inverse of the joint's mobility [VW (41)]
    left = Number()  # digits left in it
    P = Value(Mobility)  # of the parent, before this joint was closed


class LinkConstants(Struct):
    """The parts of a link's mobility: 1 / mass, and its inverse rotational inertia, split as in tables.py."""

    w = Number()
    k = Number()
    s = Value(Vec3)
    t = Value(Vec3)


BODY_LINES = -(-LinkBody.offsets["P"] // LINE)  # those that both paths use
FREE_LINES = -(-LinkBody.offsets["W"] // LINE)  # those of a free link
ROWS = ScratchRows(LinkPath, LinkBody, AbaDof, LinkConstants)
wrench_among = Wrench.among


@helper
def virtual_work(m, state, out, work):
    """qdd, followed, if there is room in `out`, by the six numbers of every joint's force, about its body's origin, and
    the return value of close_joints. Returns the latter, too; if there is room, always a positive number: the caller
    must check."""
    free_links(m, state, work)
    smallest = close_joints(m, state.q[0], state.v, state.known, out, work)
    if work.n_out > m.nv:
        out[m.nv + 6 * m.n] = smallest
        smallest = number_like(state.q[0], 1.0)
    return smallest


@helper
def close_joints(m, number, v, tau, out, work):
    """Both paths, after free_links, in numbers like the one given. Returns the smallest of the quantities that must be
    positive: otherwise some constraint is degenerate, or few digits are left."""
    smallest = close_up(m, number, v, tau, work)
    finish_down(m, number, out, work)
    return smallest


@helper
def close_up(m, number, v, tau, work):
    """Path 1: close the joints, from the leaves to the root."""
    path, bodies, constants = work.path, work.bodies, work.constants
    far = m.n > CACHED
    smallest, o = number_like(number, np.inf), zero_vec(number)
    for b in range(m.n - 1, -1, -1):
        i, p, _, j = joint_of(m, b)
        if far:
            fetch(bodies, b - AHEAD, BODY_LINES)
            fetch(work.dofs, j - AHEAD, 1)
        parent = m.bodies[b].parent
        body, r = bodies[b], bodies[b].r
        if m.bodies[b].has_children:
            V, y = path[i].P, path[i].y
        else:
            V, y = mobility_of(body, constants[b], o), response_of(body, constants[b], o, body.p * -1.0)
        first = i == p  # the last child is the first to be joined
        if parent >= 0:  # V = S_i - S_i,i-1 M_i-1 S_i,i-1^T [VW (41)], without K; y = -(a_i - S_i,i-1 n_i-1) [VW (40)]
            above, w = bodies[parent], constants[parent]
            if first:
                V = V + mobility_of(above, w, r)
                y = y - response_of(above, w, r, above.p * -1.0)
            else:
                P, y_p = path[p].P, path[p].y
                body.P = P
                V, y = V + shift_mobility(r, P), y - shift_motion(r, y_p)
        W, f, left = close_joint(m, b, V, y, tau, v, work)
        smallest = smaller(left, smallest)
        body.p = f
        if parent >= 0:
            above, w = bodies[parent], constants[parent]
            if first:
                y_p = response_of(above, w, o, (above.p + shift_force(r, f)) * -1.0)
                P = respond_rigid(w.w, above.c, above.J, r, W)
            else:
                y_p, P = y_p - P @ shift_force(r, f), respond(P, r, W)
            path[p].P, path[p].y = P, y_p
    return smallest


@helper
def finish_down(m, number, out, work):
    """Path 2: from the root to the leaves, adding the effect of the joints closed later."""
    path, bodies, dofs, o = work.path, work.bodies, work.dofs, zero_vec(number)
    far = m.n > CACHED
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        if far:
            fetch(bodies, b + AHEAD, BODY_LINES)
            fetch(dofs, j + AHEAD, 1)
        parent = m.bodies[b].parent
        body, r, z, f = bodies[b], bodies[b].r, bodies[b].z, bodies[b].p
        if parent >= 0:
            f_p = path[p].f
            alone = i == p  # the parent then has nothing joined to it yet
            a = response_of(bodies[parent], work.constants[parent], r, f_p) if alone else shift_motion(r, body.P @ f_p)
            f = f + body.W @ a  # [VW (47)]
            if i != p:
                path[p].f = f_p - shift_force(r, f)
        else:
            a = Motion(o, o)
        path[i].f = f
        if kind == REVOLUTE:
            _, out[j] = accelerate(a, Revolute(z), dofs[j])
        elif kind == PRISMATIC:
            _, out[j] = accelerate(a, Prismatic(z), dofs[j])
        else:
            for k in range(j, j + DOF[kind]):
                a, out[k] = accelerate(a, work.S.axes[k].s, dofs[k])
        if work.n_out > m.nv:
            wrench_among(out, m.nv + 6 * b).f = f


@helper
def close_joint(m, b, V, y, tau, v, work):
    """W and f of joint b, whose two sides have total mobility V and would separate with y; then a number that is
    positive if W has digits left and the joint's directions have inertia."""
    _, _, kind, j = joint_of(m, b)
    body, dofs = work.bodies[b], work.dofs
    W, smallest = inverse(V)
    body.left = smallest
    f = W @ Motion(y.ang * -1.0, y.lin * -1.0)
    if kind == REVOLUTE:
        W, f, D = eliminate(W, f, Revolute(body.z), dofs[j], joint_force(m, tau, v, j), m.dofs[j].armature)
        smallest = smaller(D, smallest)
    elif kind == PRISMATIC:
        W, f, D = eliminate(W, f, Prismatic(body.z), dofs[j], joint_force(m, tau, v, j), m.dofs[j].armature)
        smallest = smaller(D, smallest)
    else:
        for k in range(j + DOF[kind] - 1, j - 1, -1):
            s = work.S.axes[k].s
            W, f, D = eliminate(W, f, s, dofs[k], joint_force(m, tau, v, k), m.dofs[k].armature)
            smallest = smaller(D, smallest)
    body.W = W
    return W, f, smallest


@helper
def free_links(m, state, work):
    """Positions of the links, and their motion without joints: R, V and zeta in `path`; r, z, p, c and J in
    `bodies`."""
    far = m.n > CACHED
    world = work.path[0]
    world.zeta = world_at_rest(m, state.q[0], world)
    done = 0
    for b in range(m.n):
        if far:
            fetch(m.shapes, b + AHEAD, SHAPE_LINES)
            fetch(work.constants, b + AHEAD, 1)
            fetch(work.bodies, b + AHEAD, FREE_LINES)
        done = turn_ahead(m, state.q, work.S, done, b)
        R, I = without_joint(m, b, state, work)
        body, constants = work.bodies[b], work.constants[b]
        body.c, body.J = I.h * constants.w, turned_split(R, constants)


@helper
def mobility_of(link, constants, r):
    """A^-1 of a free link, at r."""
    return rigid_mobility(constants.w, link.c - r, link.J)


@helper
def response_of(link, constants, r, f):
    """A^-1 f of a free link, at r."""
    c = link.c
    ang = link.J @ (f.ang - cross(c, f.lin))
    return Motion(ang, f.lin * constants.w + cross(ang, r - c))


def constants_of(model: Model) -> NDArray[np.void]:
    """LinkConstants of every body."""
    Q = inside_turns(model)
    I = Q.transpose(0, 2, 1) @ model.inertia @ Q
    least = np.linalg.eigvalsh(I)[:, 0]
    light = np.flatnonzero(~((model.mass > 0) & (least > 0)))
    if len(light):
        b = int(light[0])
        lacks = "mass" if not model.mass[b] > 0 else "inertia about some axis through its centre of mass"
        raise SingularError(
            f"virtual work needs the inverse of every body's inertia, and body {model.body_names[b]!r} has no {lacks}; "
            "give it some, or use method='aba'"
        )
    out = LinkConstants.zeros(len(I))
    with np.errstate(over="ignore"):  # for extreme masses: refuse_degenerate will name the joint
        out["w"] = 1.0 / model.mass
        split = split_inertias(np.linalg.inv(I).astype(np.float64))
    out["k"], out["s"], out["t"] = split[:, 0], split[:, 1:4], split[:, 4:]
    return out


def refuse_degenerate(model: Model, work: HostWork) -> None:
    """Name the joint that could not be closed, if there is one: its mobility has overflowed, or lost its digits [LOST
    in algebra.py], where a body is far lighter than what it is joined to, or far thinner than long."""
    W, left, inverse_D = work.bodies["W"], work.bodies["left"], work.dofs["d"]
    bad = ~((left > 0) & np.isfinite(W).all(axis=1))
    bad |= np.isin(np.arange(len(W)), model.dof_body[~(np.isfinite(inverse_D) & (inverse_D > 0))])
    if bad.any():
        b = int(np.flatnonzero(bad)[-1])  # closed from the last to the first: the last one is the cause
        p = int(model.parent[b])
        sides = f"body {model.body_names[b]!r} and " + (f"body {model.body_names[p]!r}" if p >= 0 else "the world")
        raise SingularError(
            f"virtual work cannot close joint {model.joint_names[b]!r}: {sides}, with what they carry, are of so "
            "different mass or inertia that float64 has no digits left for how they give way; use method='aba'"
        )


_INPUTS = Q, V, TAU, WRENCHES
VIRTUAL_WORK = Algorithm(
    "virtual work",
    virtual_work,
    ROWS,
    _INPUTS,
    lambda m: (m.nv,),
    constants=constants_of,
    refuse=refuse_degenerate,
)
WITH_WRENCHES = Algorithm(
    "virtual work with wrenches",
    virtual_work,
    ROWS,
    _INPUTS,
    lambda m: (m.nv + 6 * m.n_bodies + 1,),
    constants=constants_of,
    refuse=refuse_degenerate,
    like=VIRTUAL_WORK,
)
