"""Response of velocities at touches to impulses there, by the factors of the articulated-body algorithm.

The algorithm's backward pass factorizes the inverse of the mass matrix, H^-1 = L^-1 D^-1 L^-T [Jain 2011, Robot and
Multibody Dynamics, ch. 9]. An impulse at a body is passed up the tree, and leaves u_j = S_j . p at every degree of
freedom of its ancestors [RBDA 7.45, 7.48]. These are the entries of the rows of

    Y = J L^-1 D^-1/2,    W = J H^-1 J^T = Y Y^T,    z = Y^T lam,    u = u_free + Y z,    dv = L^-1 D^-1/2 z

A touch has entries only for the ancestors of its two bodies, once for common ones: O(depth). The Delassus matrix W is
never formed; one forward pass converts z to the change of all velocities: O(n). If the algorithm was given armatures
that represent springs and dampers at joints, H includes them. Touches of deep trees have no rows [passes.py].
"""

from __future__ import annotations

import math

from supple.contact.memory import LIMIT
from supple.contact.response.passes import answer_by_pass, prepare_passes
from supple.exact.motion import joint_of, zero_vec
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE
from supple.spatial.algebra import (
    Force,
    Motion,
    Prismatic,
    Revolute,
    Sym3,
    Vec3,
    cross,
    dot,
    shift_force,
    shift_motion,
)
from supple.spatial.compiler import helper, part


@helper
def lift_dof(scene, dofs, S, j, f, g, h):
    """Passes three forces over one degree of freedom: stores their entries, and returns what remains of them."""
    dof, u = dofs[j], Vec3(S @ f, S @ g, S @ h)
    d, k = dof.d, scene.n_entries
    if k < scene.room:
        entry = scene.entries[k]
        entry.dof, entry.y = j, u * math.sqrt(d)
    scene.n_entries = k + 1
    U = dof.U
    return f - U * (u.x * d), g - U * (u.y * d), h - U * (u.z * d)


@helper
def lift(scene, work, b, f, g, h):
    """Passes three forces on body b, about its origin, to its parent. Their entries are appended."""
    m, bodies = scene.model, work.bodies
    _, _, kind, j = joint_of(m, b)
    z = bodies[b].z
    if kind == REVOLUTE:
        f, g, h = lift_dof(scene, work.dofs, Revolute(z), j, f, g, h)
    elif kind == PRISMATIC:
        f, g, h = lift_dof(scene, work.dofs, Prismatic(z), j, f, g, h)
    else:
        for k in range(j + DOF[kind] - 1, j - 1, -1):
            f, g, h = lift_dof(scene, work.dofs, work.S.axes[k].s, k, f, g, h)
    r = bodies[b].r
    return shift_force(r, f), shift_force(r, g), shift_force(r, h)


@helper
def force_at(r, n):
    """The force n at r, about the origin."""
    return Force(cross(r, n), n)


@part
def lift_pair(scene, work, a, b, fa, ga, ha, fb, gb, hb):
    """Passes three forces on each of two bodies up the tree, from the body with the higher index, until they meet."""
    m = scene.model
    while a != b:
        if a > b:
            fa, ga, ha = lift(scene, work, a, fa, ga, ha)
            a = m.bodies[a].parent
        else:
            fb, gb, hb = lift(scene, work, b, fb, gb, hb)
            b = m.bodies[b].parent
    fa, ga, ha = fa + fb, ga + gb, ha + hb
    while a >= 0:
        fa, ga, ha = lift(scene, work, a, fa, ga, ha)
        a = m.bodies[a].parent


@part
def row_of_contact(scene, work, touch):
    """The three rows of a contact."""
    a, b = touch.a, touch.b
    r = touch.point - scene.bodies[a].P if a >= 0 else touch.point
    fa, ga, ha = force_at(r, touch.n), force_at(r, touch.t), force_at(r, touch.s)
    r = touch.point - scene.bodies[b].P if b >= 0 else touch.point
    fb, gb, hb = force_at(r, touch.n) * -1.0, force_at(r, touch.t) * -1.0, force_at(r, touch.s) * -1.0
    lift_pair(scene, work, a, b, fa, ga, ha, fb, gb, hb)


@part
def row_of_dof(scene, work, j, body, force):
    """The row of a force on degree of freedom j, of the joint of a body; the other two are zero."""
    m = scene.model
    dof, k, o = work.dofs[j], scene.n_entries, zero_vec(0.0)
    if k < scene.room:
        entry = scene.entries[k]
        entry.dof, entry.y = j, Vec3(force * math.sqrt(dof.d), 0.0, 0.0)
    scene.n_entries = k + 1
    f, none = dof.U * (-force * dof.d), Force(o, o)
    g, h = none, none
    for k in range(j - 1, m.bodies[body].iv - 1, -1):
        f, g, h = lift_dof(scene, work.dofs, work.S.axes[k].s, k, f, g, h)
    f, b = shift_force(work.bodies[body].r, f), m.bodies[body].parent
    while b >= 0:
        f, g, h = lift(scene, work, b, f, g, h)
        b = m.bodies[b].parent


@helper
def row_of_group(scene, touch):
    """A zero entry, which only tells to which group of deep trees a touch belongs: at a degree of freedom of the
    group's first body."""
    T, k = scene.deep, scene.n_entries
    if k < scene.room:
        entry = scene.entries[k]
        entry.dof, entry.y = T.bodies[T.order[T.begins[touch.deep - 1]]].first, zero_vec(0.0)
    scene.n_entries = k + 1


@helper
def respond_alone(scene, touch):
    """W of a single touch."""
    xx = xy = xz = yy = yz = zz = 0.0
    for i in range(touch.first, touch.first + touch.count):
        y = scene.entries[i].y
        xx, xy, xz = xx + y.x * y.x, xy + y.x * y.y, xz + y.x * y.z
        yy, yz, zz = yy + y.y * y.y, yz + y.y * y.z, zz + y.z * y.z
    touch.W = Sym3(xx, xy, xz, yy, yz, zz)


@part
def make_row(scene, work, owner, touch):
    """The rows of a touch, and its W."""
    touch.first = scene.n_entries
    if touch.deep > 0:
        row_of_group(scene, touch)
    elif touch.kind == LIMIT:
        row_of_dof(scene, work, touch.a, owner[touch.a], touch.n.x)
    else:
        row_of_contact(scene, work, touch)
    touch.count = scene.n_entries - touch.first
    if touch.deep == 0 and scene.n_entries <= scene.room:
        respond_alone(scene, touch)


@part
def make_rows(scene, work, owner):
    """The rows of all touches that are not set aside, and W of each. owner: the body of every degree of freedom.
    Returns whether there was enough memory."""
    scene.n_entries = 0
    if not prepare_passes(scene, work, owner):
        return False
    for k in range(scene.n):
        touch = scene.touches[k]
        touch.count = 0
        if not touch.aside:
            make_row(scene, work, owner, touch)
    return scene.n_entries <= scene.room


@part
def add_rows(scene, work, owner):
    """The rows of touches that are no longer set aside. Returns whether there was enough memory."""
    if scene.deep.n_groups > 0:
        return make_rows(scene, work, owner)
    for k in range(scene.n):
        touch = scene.touches[k]
        if touch.count == 0 and not touch.aside:
            make_row(scene, work, owner, touch)
    return scene.n_entries <= scene.room


@helper
def answer(scene, touch):
    """Y z at a touch."""
    if touch.deep > 0:
        return answer_by_pass(scene, touch)
    x = y = w = 0.0
    for i in range(touch.first, touch.first + touch.count):
        e = scene.entries[i]
        z, c = scene.z[e.dof], e.y
        x, y, w = x + c.x * z, y + c.y * z, w + c.z * z
    return Vec3(x, y, w)


@helper
def push_z(scene, touch, change):
    """z += Y^T times the change of a touch's impulse."""
    for i in range(touch.first, touch.first + touch.count):
        e = scene.entries[i]
        scene.z[e.dof] += dot(e.y, change)


@part
def add_changes(m, work, z, dv):
    """dv += L^-1 D^-1/2 z: the forward pass [RBDA 7.51]."""
    path, bodies, dofs = work.path, work.bodies, work.dofs
    o = zero_vec(0.0)
    path[0].A = Motion(o, o)
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        A = shift_motion(bodies[b].r, path[p].A)
        axis = bodies[b].z
        if kind == REVOLUTE:
            x = z[j] * math.sqrt(dofs[j].d) - (A @ dofs[j].U) * dofs[j].d
            A = A + Revolute(axis) * x
            dv[j] += x
        elif kind == PRISMATIC:
            x = z[j] * math.sqrt(dofs[j].d) - (A @ dofs[j].U) * dofs[j].d
            A = A + Prismatic(axis) * x
            dv[j] += x
        else:
            for k in range(j, j + DOF[kind]):
                x = z[k] * math.sqrt(dofs[k].d) - (A @ dofs[k].U) * dofs[k].d
                A = A + work.S.axes[k].s * x
                dv[k] += x
        path[i].A = A
