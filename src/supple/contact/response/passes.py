"""Response of velocities at touches of deep trees to impulses there: by passes over all bodies, without rows.

A row of rows.py has an entry for every degree of freedom above a touch: a chain of n links that lies on the ground has
O(n^2) of them. One pass up the tree and one down it, with the same factors, take O(n) for all touches together:

    F = sum of J^T lam,    u = S . F,  z = D^-1/2 u,  F - U u / D to the parent          [RBDA 7.45, 7.48]
    V from the parent,     x = (u - U . V) / D,       V + S x,     Y z = J V             [RBDA 7.51]

W of a single touch is J L J^T, where the mobility L of a body follows from that of its parent. A touch between two
bodies of one tree has an additional term, which takes O(distance).

deep_groups.py decides which trees these are.
"""

from __future__ import annotations

import math

from supple.contact.memory import LIMIT
from supple.contact.response.deep_groups import bodies_of, choose_passes, group_of, sort_bodies
from supple.exact.jacobians import axis_along
from supple.exact.motion import joint_of
from supple.model.joint_poses import DOF
from supple.spatial.algebra import (
    Force,
    Mobility,
    Motion,
    Sym3,
    Vec3,
    cross,
    dot,
    outer,
    outer_sym,
    shift_force,
    shift_mobility,
    shift_motion,
)
from supple.spatial.compiler import helper, part

# --- factors, and W ---------------------------------------------------------------------------------------------------


@helper
def outer_mobility(S, a):
    """S a S^T"""
    e = S * a
    return Mobility(outer_sym(S.ang, e.ang), outer(S.ang, e.lin), outer_sym(S.lin, e.lin))


@helper
def moved_along(L, dof):
    """L of a body after a degree of freedom: (1 - S d U^T) L (1 - U d S^T) + S d S^T. Stores w and turn, the latter
    without the degrees of freedom that follow."""
    S, d = dof.S, dof.d
    a = L @ dof.U
    dof.w = d + d * d * (a @ dof.U)
    a = a * d
    dof.turn = S * dof.w - a
    A, M = outer(a.ang, S.ang), outer(a.lin, S.lin)  # for a S^T + S a^T
    both = Mobility(
        Sym3(2.0 * A.r0.x, A.r0.y + A.r1.x, A.r0.z + A.r2.x, 2.0 * A.r1.y, A.r1.z + A.r2.y, 2.0 * A.r2.z),
        outer(a.ang, S.lin) + outer(S.ang, a.lin),
        Sym3(2.0 * M.r0.x, M.r0.y + M.r1.x, M.r0.z + M.r2.x, 2.0 * M.r1.y, M.r1.z + M.r2.y, 2.0 * M.r2.z),
    )
    return L - both + outer_mobility(S, dof.w)


@part
def keep_factors(scene, work):
    """Copies the factors of the articulated-body algorithm that passes need, and finds L."""
    T, m, o = scene.deep, scene.model, Vec3(0.0, 0.0, 0.0)
    none = Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for i in range(T.begins[T.n_groups]):
        b = T.order[i]
        body, (_, _, kind, j) = T.bodies[b], joint_of(m, b)
        body.parent, body.first, body.last = m.bodies[b].parent, j, j + DOF[kind]
        body.r, body.I = work.bodies[b].r, work.bodies[b].I
        L = Mobility(none, outer(o, o), none)
        if body.parent >= 0:
            L = shift_mobility(body.r, T.bodies[body.parent].L)
        for k in range(j, body.last):
            dof = T.dofs[k]
            dof.S, dof.U, dof.d = axis_along(kind, work.bodies[b].z, work.S, k), work.dofs[k].U, work.dofs[k].d
            dof.armature = max(1.0 / dof.d - dof.S @ dof.U, 0.0)
            L = moved_along(L, dof)
            for before in range(j, k):
                turn = T.dofs[before].turn
                T.dofs[before].turn = turn - dof.S * ((turn @ dof.U) * dof.d)
        body.L = L


@helper
def force_on(scene, b, point, n):
    """The force n at a point, about the origin of a body."""
    return Force(cross(point - scene.bodies[b].P, n), n)


@helper
def forces_on(scene, touch, b):
    """Unit forces along n, t and s of a touch, about the origin of a body."""
    p = touch.point
    return force_on(scene, b, p, touch.n), force_on(scene, b, p, touch.t), force_on(scene, b, p, touch.s)


@helper
def added_response(W, L, f, g, h):
    """W plus J L J^T."""
    x, y, z = L @ f, L @ g, L @ h
    return W + Sym3(x @ f, x @ g, x @ h, y @ g, y @ h, z @ h)


@helper
def passed_on(T, b, f):
    """Passes a force on a body to its parent."""
    body = T.bodies[b]
    for k in range(body.last - 1, body.first - 1, -1):
        dof = T.dofs[k]
        f = f - dof.U * ((dof.S @ f) * dof.d)
    return shift_force(body.r, f)


@part
def shared_response(scene, touch):
    """J L J^T between the two bodies of a touch, plus its transpose: by L of their lowest common ancestor."""
    T, a, b = scene.deep, touch.a, touch.b
    f, g, h = forces_on(scene, touch, a)
    p, q, r = forces_on(scene, touch, b)
    while a != b and a >= 0 and b >= 0:
        if a > b:
            f, g, h = passed_on(T, a, f), passed_on(T, a, g), passed_on(T, a, h)
            a = T.bodies[a].parent
        else:
            p, q, r = passed_on(T, b, p), passed_on(T, b, q), passed_on(T, b, r)
            b = T.bodies[b].parent
    if a != b:
        return Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    L = T.bodies[a].L
    x, y, z = L @ f, L @ g, L @ h
    return Sym3(
        2.0 * (x @ p), x @ q + y @ p, x @ r + z @ p, 2.0 * (y @ q), y @ r + z @ q, 2.0 * (z @ r)
    )  # fmt: skip


@helper
def respond_deep(scene, touch):
    """W of a single touch."""
    T, W = scene.deep, Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if touch.kind == LIMIT:
        touch.W = Sym3(T.dofs[touch.a].w, 0.0, 0.0, 0.0, 0.0, 0.0)
        return
    if touch.a >= 0:
        f, g, h = forces_on(scene, touch, touch.a)
        W = added_response(W, T.bodies[touch.a].L, f, g, h)
    if touch.b >= 0:
        f, g, h = forces_on(scene, touch, touch.b)
        W = added_response(W, T.bodies[touch.b].L, f, g, h)
    if touch.a >= 0 and touch.b >= 0:
        W = W - shared_response(scene, touch)
    touch.W = W


@part
def prepare_passes(scene, work, owner):
    """Chooses the groups that have passes, and prepares these. Returns whether there was enough memory."""
    T = scene.deep
    for k in range(scene.n):
        scene.touches[k].deep = 0
    if not choose_passes(scene, owner):
        return True
    T.wanted = scene.model.n
    if T.wanted > T.room:
        return False
    sort_bodies(T, scene.model.n)
    keep_factors(scene, work)
    for k in range(scene.n):
        touch = scene.touches[k]
        if touch.aside:
            continue
        b, _ = bodies_of(touch, owner)
        g = group_of(T, b)
        touch.deep, touch.home = g + 1, b
        if g >= 0:
            respond_deep(scene, touch)
    return True


# --- impulses and velocities ------------------------------------------------------------------------------------------


@helper
def push_body(scene, touch, b, lam):
    """Adds an impulse of a touch to those on body b."""
    body, f = scene.deep.bodies[b], touch.n * lam.x + touch.t * lam.y + touch.s * lam.z
    body.F = body.F + force_on(scene, b, touch.point, f)


@helper
def begin_pass(scene):
    """Resets the impulses on the bodies of the current group."""
    T, o = scene.deep, Vec3(0.0, 0.0, 0.0)
    for i in range(T.low, T.high):
        body = T.bodies[T.order[i]]
        body.F = Force(o, o)
        for k in range(body.first, body.last):
            T.dofs[k].force = 0.0


@helper
def push_bodies(scene, touch, lam):
    """Adds an impulse of a touch to those on its bodies, or on its joint."""
    if touch.kind == LIMIT:
        scene.deep.dofs[touch.a].force += touch.n.x * lam.x
    else:
        if touch.a >= 0:
            push_body(scene, touch, touch.a, lam)
        if touch.b >= 0:
            push_body(scene, touch, touch.b, lam * -1.0)


@part
def finish_pass(scene, z):
    """z by the impulses on bodies and joints of the current group, and V and x."""
    T, o = scene.deep, Vec3(0.0, 0.0, 0.0)
    for i in range(T.high - 1, T.low - 1, -1):
        body = T.bodies[T.order[i]]
        F = body.F
        for k in range(body.last - 1, body.first - 1, -1):
            dof = T.dofs[k]
            u = dof.S @ F + dof.force
            z[k], dof.x = u * math.sqrt(dof.d), u * dof.d
            F = F - dof.U * dof.x
        if body.parent >= 0:
            above = T.bodies[body.parent]
            above.F = above.F + shift_force(body.r, F)
    for i in range(T.low, T.high):
        body = T.bodies[T.order[i]]
        V = shift_motion(body.r, T.bodies[body.parent].V) if body.parent >= 0 else Motion(o, o)
        for k in range(body.first, body.last):
            dof = T.dofs[k]
            dof.x -= (V @ dof.U) * dof.d
            V = V + dof.S * dof.x
        body.V = V


@helper
def velocity_at(scene, touch, b):
    """The change of velocity of a body at a touch, along the world's axes."""
    V = scene.deep.bodies[b].V
    return V.lin + cross(V.ang, touch.point - scene.bodies[b].P)


@helper
def answer_by_pass(scene, touch):
    """Y z at a touch."""
    if touch.kind == LIMIT:
        return Vec3(touch.n.x * scene.deep.dofs[touch.a].x, 0.0, 0.0)
    w = Vec3(0.0, 0.0, 0.0)
    if touch.a >= 0:
        w = w + velocity_at(scene, touch, touch.a)
    if touch.b >= 0:
        w = w - velocity_at(scene, touch, touch.b)
    return Vec3(dot(touch.n, w), dot(touch.t, w), dot(touch.s, w))
