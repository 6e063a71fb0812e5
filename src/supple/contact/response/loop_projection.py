"""Projection of velocities and of the rows of touches, by P = 1 - Q^T Q, so that loops stay closed [mechanisms.py]."""

from __future__ import annotations

import math

from supple.contact.response.rows import add_changes, make_rows, respond_alone
from supple.exact.motion import joint_of, zero_vec
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE
from supple.spatial.algebra import Motion, Prismatic, Revolute, Vec3, shift_motion
from supple.spatial.compiler import helper, part

NOTHING = 1e-22  #: of the squared length of a row: a smaller remainder is rounding

# --- velocities -------------------------------------------------------------------------------------------------------


@part
def coordinates_of(m, work, v, z):
    """z = D^1/2 L v: the inverse of add_changes."""
    path, bodies, dofs = work.path, work.bodies, work.dofs
    o = zero_vec(0.0)
    path[0].A = Motion(o, o)
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        A = shift_motion(bodies[b].r, path[p].A)
        for k in range(j, j + DOF[kind]):
            d = dofs[k].d
            z[k] = (v[k] + (A @ dofs[k].U) * d) / math.sqrt(d)
            if kind == REVOLUTE:
                A = A + Revolute(bodies[b].z) * v[k]
            elif kind == PRISMATIC:
                A = A + Prismatic(bodies[b].z) * v[k]
            else:
                A = A + work.S.axes[k].s * v[k]
        path[i].A = A


@part
def keep_closed(M, scene, work, v, change):
    """Projects v to the nearest velocities that keep loops closed. change: (nv,) scratch."""
    m, Q, zeta, z, present = scene.model, M.Q, scene.total, scene.z, scene.present
    coordinates_of(m, work, v, zeta)
    for i in range(scene.n_present):
        z[present[i]] = change[present[i]] = 0.0
    for c in range(M.n):
        first, n = M.first[c], M.first[c + 1] - M.first[c]
        for r in range(M.rank[c]):
            at, s = M.begin[c] + r * n, 0.0
            for p in range(n):
                s += Q[at + p] * zeta[M.dofs[first + p]]
            for p in range(n):
                z[M.dofs[first + p]] -= s * Q[at + p]
    add_changes(m, work, z, change)
    for i in range(scene.n_present):
        v[present[i]] += change[present[i]]


# --- rows of touches --------------------------------------------------------------------------------------------------


@helper
def mechanisms_at(M, scene, touch):
    """The two mechanisms of a touch, -1 for none, and the number of its entries outside of mechanisms."""
    one = other = -1
    kept = 0
    for e in range(touch.first, touch.first + touch.count):
        c = M.mechanism[scene.entries[e].dof]
        if c < 0:
            kept += 1
        elif one < 0 or c == one:
            one = c
        else:
            other = c
    return one, other, kept


@helper
def size_of(M, c):
    """The degrees of freedom of a mechanism; 0 for none."""
    return M.first[c + 1] - M.first[c] if c >= 0 else 0


@part
def project_in(M, c):
    """w of a mechanism, times P; zero where only rounding remains."""
    Q, first, n = M.Q, M.first[c], M.first[c + 1] - M.first[c]
    xx = yy = zz = x2 = y2 = z2 = 0.0
    for p in range(n):
        y = M.w[M.dofs[first + p]].y
        xx, yy, zz = xx + y.x * y.x, yy + y.y * y.y, zz + y.z * y.z
    for r in range(M.rank[c]):
        at, s = M.begin[c] + r * n, Vec3(0.0, 0.0, 0.0)
        for p in range(n):
            s = s + M.w[M.dofs[first + p]].y * Q[at + p]
        for p in range(n):
            w = M.w[M.dofs[first + p]]
            w.y = w.y - s * Q[at + p]
    for p in range(n):
        y = M.w[M.dofs[first + p]].y
        x2, y2, z2 = x2 + y.x * y.x, y2 + y.y * y.y, z2 + y.z * y.z
    x, y, z = (
        1.0 if x2 > NOTHING * xx else 0.0,
        1.0 if y2 > NOTHING * yy else 0.0,
        1.0 if z2 > NOTHING * zz else 0.0,
    )
    for p in range(n):
        w = M.w[M.dofs[first + p]]
        w.y = Vec3(w.y.x * x, w.y.y * y, w.y.z * z)


@helper
def put_entries(M, scene, c, at):
    """Writes entries for all degrees of freedom of a mechanism, from index `at` on. Returns the next index."""
    for p in range(M.first[c], M.first[c + 1]):
        entry = scene.entries[at]
        entry.dof, entry.y = M.dofs[p], M.w[M.dofs[p]].y
        at += 1
    return at


@part
def project_rows(M, scene):
    """Replaces the rows of touches by those of Y P. Returns whether there was enough memory."""
    total = 0
    for k in range(scene.n):
        one, other, kept = mechanisms_at(M, scene, scene.touches[k])
        total += kept + size_of(M, one) + size_of(M, other)
    scene.n_entries = total
    if total > scene.room:
        return False
    for k in range(scene.n - 1, -1, -1):  # rows only grow: backwards, none is overwritten that is still needed
        touch = scene.touches[k]
        one, other, kept = mechanisms_at(M, scene, touch)
        for side in range(2):
            c = one if side == 0 else other
            for p in range(M.first[c] if c >= 0 else 0, M.first[c + 1] if c >= 0 else 0):
                M.w[M.dofs[p]].y = Vec3(0.0, 0.0, 0.0)
        before, last = touch.first, touch.first + touch.count
        total -= kept + size_of(M, one) + size_of(M, other)
        at = total + kept + size_of(M, one) + size_of(M, other)
        for e in range(last - 1, before - 1, -1):
            entry = scene.entries[e]
            j, y = entry.dof, entry.y
            if M.mechanism[j] < 0:
                at -= 1
                scene.entries[at].dof, scene.entries[at].y = j, y
            else:
                M.w[j].y = y
        touch.first, touch.count, at = total, at + kept - total, total
        if one >= 0:
            project_in(M, one)
            at = put_entries(M, scene, one, at)
        if other >= 0:
            project_in(M, other)
            put_entries(M, scene, other, at)
        respond_alone(scene, touch)
    return True


@helper
def make_closed_rows(M, scene, work, owner, looped):
    """The rows of all touches; looped: whether there are loops, for which they are projected. Returns whether there was
    enough memory."""
    if not looped:
        return make_rows(scene, work, owner)
    return M.found and make_rows(scene, work, owner) and project_rows(M, scene)
