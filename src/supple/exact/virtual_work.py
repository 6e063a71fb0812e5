"""Forward dynamics by the principle of virtual work, with every joint's force [Yamane and Nakamura (VW)].

Every link is at first alone. Joints are closed one by one, from the leaves to the root: each time the constraint force
that closes it follows from how much the two sides give way. On the way back every joint learns what those closed after
it add to its force.

    symbol      what                                                              kept in
    R, V, zeta  rotation, velocity, acceleration if no joint accelerated          path R_, V_, Z_
    r, z        origin as seen from the parent's; the joint's axis                work P_, E_
    c, J, w     centre of mass; inverse rotational inertia there; 1 / mass        work C_, J_; constants
    b           force that zeta takes [VW (15): b - f]                            work F_
    P, y        mobility of a link and all that is joined to it by now, and its   path P_ALL, Y_
                acceleration beyond zeta                                          (the parent's before: work B_)
    W           K^T M K, M the inverse of what gives way at the joint [VW (41)]   work W_ (digits left in it: L_)
    f           K^T n + S tau, the force on the child: at its stage, then final   work F_, path F_ALL

Along world axes, about each body's own origin, as in aba.py; accelerations are counted from zeta, so that h [VW (29)]
is zero. What the paper writes with K and M stands here as one 6x6 matrix W = K^T M K: V, the sum of the two sides'
mobilities, is inverted, then the directions of the joint are taken out one by one, as in aba.py, each with its force
tau and its armature. Mobilities are symmetric by their type.

Mobilities are subtracted and inverted, so digits are lost where a link is lighter than what it carries, with the square
of how much it is. `left`, positive unless a pivot says that few are left (LOST in algebra.py), comes with the result;
digits.py sees to it that nobody gets numbers without digits.

A joint that is closed changes the mobility of the link it is on, so any number of joints on a link cost O(n), and none
of them needs to know of the others [VW section 4 splits such links, or keeps a matrix for every pair: virtual_hubs.py].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.errors import SingularError
from supple.exact.aba import AHEAD, CACHED, D_, accelerate, eliminate, joint_force, without_joint
from supple.exact.calls import TAU, WRENCHES, Algorithm, Q, V, Work
from supple.exact.motion import DOF, PRISMATIC, REVOLUTE, joint_of, turn_ahead, world_at_rest, zero_vec
from supple.exact.tables import ARMATURE, HAS_CHILDREN, PARENT, ROW, split_inertias
from supple.model.inside import inside_turns
from supple.model.model import Model
from supple.spatial.algebra import (
    Motion,
    Prismatic,
    Revolute,
    cross,
    inverse,
    respond,
    respond_rigid,
    rigid_mobility,
    shift_force,
    shift_mobility,
    shift_motion,
)
from supple.spatial.compiler import helper
from supple.spatial.indexing import LINE, fetch, get, put, set_item
from supple.spatial.lanes import number_like, smaller
from supple.spatial.rows import (
    load_force,
    load_inertia,
    load_mobility,
    load_motion,
    load_sym,
    load_turned_sym,
    load_vec,
    set_six,
    store_inertia,
    store_six,
    store_sym,
    store_vec,
)

R_, V_, Z_, P_ALL, Y_, F_ALL, PATH_ROW = 0, 9, 15, 24, 45, 51, 64
P_, E_, F_, C_, J_, W_, L_, B_, BODY_ROW = 0, 3, 6, 12, 15, 21, 42, 48, 72
DOF_ROW = 8  # as in aba.py
LIGHTNESS, TURNING, CONSTANT_ROW = 0, 1, 8


@helper
def virtual_work(m, q, v, tau, has_wrenches, wrenches, out, path, work, S, dofs, constants):
    """qdd, and after it, where there is room in `out`, the six numbers of every joint's force, about its body's
    origin, and what close_joints returns. Returns that, too; where there is room, always a positive number: the caller
    has to look."""
    free_links(m, q, v, has_wrenches, wrenches, path, work, S, constants)
    smallest = close_joints(m, q[0], v, tau, out, path, work, S, dofs, constants)
    if out.shape[0] > m.nv:
        set_item(out, m.nv + 6 * m.n, smallest)
        smallest = number_like(q[0], 1.0)
    return smallest


@helper
def close_joints(m, number, v, tau, out, path, work, S, dofs, constants):
    """Both paths, after free_links, in numbers like the one given. Returns the smallest of what must be positive: if it
    is not, some constraint is degenerate, or few digits are left."""
    far = m.n > CACHED
    smallest, o = number_like(number, np.inf), zero_vec(number)
    for b in range(m.n - 1, -1, -1):  # path 1: close the joints, from the leaves to the root
        i, p, _, j = joint_of(m, b)
        if far:
            fetch(work, b - AHEAD, B_ // LINE)
            fetch(dofs, j - AHEAD, 1)
        parent = get(m.bodies, b, PARENT)
        r, z = load_vec(work, b, P_), load_vec(work, b, E_)
        if get(m.bodies, b, HAS_CHILDREN):
            V, y = load_mobility(path, i, P_ALL), load_motion(path, i, Y_)
        else:
            V, y = (
                mobility_of(b, o, work, constants),
                response_of(b, o, load_force(work, b, F_) * -1.0, work, constants),
            )
        first = i == p  # the last child is the first to be joined
        if parent >= 0:  # V = S_i - S_i,i-1 M_i-1 S_i,i-1^T [VW (41)], without K; y = -(a_i - S_i,i-1 n_i-1) [VW (40)]
            if first:
                V = V + mobility_of(parent, r, work, constants)
                y = y - response_of(parent, r, load_force(work, parent, F_) * -1.0, work, constants)
            else:
                P, y_p = load_mobility(path, p, P_ALL), load_motion(path, p, Y_)
                store_inertia(work, b, B_, P)
                V, y = V + shift_mobility(r, P), y - shift_motion(r, y_p)
        W, f, left = close_joint(m, b, z, V, y, tau, v, S, dofs, work)
        smallest = smaller(left, smallest)
        store_six(work, b, F_, f)
        if parent >= 0:
            if first:
                reaction = load_force(work, parent, F_) + shift_force(r, f)
                y_p = response_of(parent, o, reaction * -1.0, work, constants)
                w, c, J = get(constants, parent, LIGHTNESS), load_vec(work, parent, C_), load_sym(work, parent, J_)
                P = respond_rigid(w, c, J, r, W)
            else:
                y_p, P = y_p - P @ shift_force(r, f), respond(P, r, W)
            store_inertia(path, p, P_ALL, P)
            store_six(path, p, Y_, y_p)

    for b in range(m.n):  # path 2: from the root to the leaves, what the joints closed later add
        i, p, kind, j = joint_of(m, b)
        if far:
            fetch(work, b + AHEAD, B_ // LINE)
            fetch(dofs, j + AHEAD, 1)
        parent = get(m.bodies, b, PARENT)
        r, z, f = load_vec(work, b, P_), load_vec(work, b, E_), load_force(work, b, F_)
        if parent >= 0:
            f_p = load_force(path, p, F_ALL)
            if i == p:
                a = response_of(parent, r, f_p, work, constants)
            else:
                a = shift_motion(r, load_mobility(work, b, B_) @ f_p)
            f = f + load_inertia(work, b, W_) @ a  # [VW (47)]
            if i != p:
                store_six(path, p, F_ALL, f_p - shift_force(r, f))
        else:
            a = Motion(o, o)
        store_six(path, i, F_ALL, f)
        if kind == REVOLUTE:
            accelerate(a, Revolute(z), dofs, j, out)
        elif kind == PRISMATIC:
            accelerate(a, Prismatic(z), dofs, j, out)
        else:
            for k in range(j, j + DOF[kind]):
                a = accelerate(a, load_motion(S.rows, k, 0), dofs, k, out)
        if out.shape[0] > m.nv:
            set_six(out, m.nv + 6 * b, f)
    return smallest


@helper
def close_joint(m, b, z, V, y, tau, v, S, dofs, work):
    """W and f of joint b, whose two sides give way by V and would part with y; then a number that is positive if W has
    digits left and the joint's directions have inertia."""
    _, _, kind, j = joint_of(m, b)
    W, smallest = inverse(V)
    put(work, b, L_, smallest)
    f = W @ Motion(y.ang * -1.0, y.lin * -1.0)
    if kind == REVOLUTE:
        W, f, D = eliminate(W, f, Revolute(z), dofs, j, joint_force(m, tau, v, j), get(m.dofs, j, ARMATURE))
        smallest = smaller(D, smallest)
    elif kind == PRISMATIC:
        W, f, D = eliminate(W, f, Prismatic(z), dofs, j, joint_force(m, tau, v, j), get(m.dofs, j, ARMATURE))
        smallest = smaller(D, smallest)
    else:
        for k in range(j + DOF[kind] - 1, j - 1, -1):
            s = load_motion(S.rows, k, 0)
            W, f, D = eliminate(W, f, s, dofs, k, joint_force(m, tau, v, k), get(m.dofs, k, ARMATURE))
            smallest = smaller(D, smallest)
    store_inertia(work, b, W_, W)
    return W, f, smallest


@helper
def free_links(m, q, v, has_wrenches, wrenches, path, work, S, constants):
    """Where links are, what they would do without joints: R, V and zeta in `path`; r, z, b, c and J in `work`."""
    far = m.n > CACHED
    world_at_rest(m, q, path)
    done = 0
    for b in range(m.n):
        if far:
            fetch(m.rows, b + AHEAD, ROW // LINE)
            fetch(constants, b + AHEAD, 1)
            fetch(work, b + AHEAD, -(-W_ // LINE))
        done = turn_ahead(m, q, S, done, b)
        R, Y = without_joint(m, b, q, v, has_wrenches, wrenches, path, work, S)
        store_vec(work, b, C_, Y.h * get(constants, b, LIGHTNESS))
        store_sym(work, b, J_, load_turned_sym(R, constants, b, TURNING))


@helper
def mobility_of(b, r, work, constants):
    """A_b^-1 of a link that is alone, as it is felt at r."""
    return rigid_mobility(get(constants, b, LIGHTNESS), load_vec(work, b, C_) - r, load_sym(work, b, J_))


@helper
def response_of(b, r, f, work, constants):
    """A_b^-1 f of a link that is alone, at r."""
    c = load_vec(work, b, C_)
    ang = load_sym(work, b, J_) @ (f.ang - cross(c, f.lin))
    return Motion(ang, f.lin * get(constants, b, LIGHTNESS) + cross(ang, r - c))


def constants_of(model: Model) -> NDArray[np.float64]:
    """(n, 8) one over the mass, and the inverse rotational inertia about the centre of mass, split as in tables.py."""
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
    out = np.empty((len(I), CONSTANT_ROW))
    with np.errstate(over="ignore"):  # of masses that are hardly numbers: refuse_degenerate will name the joint
        out[:, LIGHTNESS] = 1.0 / model.mass
        out[:, TURNING:] = split_inertias(np.linalg.inv(I).astype(np.float64))
    return out


def refuse_degenerate(model: Model, work: Work) -> None:
    """Name the joint that could not be closed, if there is one: what gives way there has overflown, or lost its digits
    [LOST in algebra.py], where a body is far lighter than what it is joined to, or far thinner than long."""
    W, left, inverse_D = work.scratch[1][:, W_ : W_ + 21], work.scratch[1][:, L_], work.scratch[4][:, D_]
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


VIRTUAL_WORK = Algorithm(
    "virtual work",
    virtual_work,
    PATH_ROW,
    BODY_ROW,
    DOF_ROW,
    (Q, V, TAU, WRENCHES),
    lambda m: (m.nv,),
    constants=constants_of,
    constant_row=CONSTANT_ROW,
    refuse=refuse_degenerate,
)
WITH_WRENCHES = Algorithm(
    "virtual work with wrenches",
    virtual_work,
    PATH_ROW,
    BODY_ROW,
    DOF_ROW,
    (Q, V, TAU, WRENCHES),
    lambda m: (m.nv + 6 * m.n_bodies + 1,),
    constants=constants_of,
    constant_row=CONSTANT_ROW,
    refuse=refuse_degenerate,
    like=VIRTUAL_WORK,
)
