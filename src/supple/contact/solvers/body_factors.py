"""Factors of Newton's equations over bodies, from the last body to the first; notation as in body_equations.py.

Vectors of six are motions or forces, angular part first, in world axes.
"""

from __future__ import annotations

from supple.contact.islands import touch_at
from supple.contact.memory import LIMIT
from supple.contact.response.passes import forces_on
from supple.contact.solvers.factors import factorize
from supple.contact.solvers.handles import FORCE, JOINT, is_between, place_of
from supple.spatial.addresses import from_entry
from supple.spatial.algebra import articulated
from supple.spatial.compiler import helper, part
from supple.spatial.cpu import dot, entry, make_six, set_six, six
from supple.spatial.matrices import MatrixRows, add_row_products, assign, new_matrix, zero_rows


@helper
def six_of(f):
    """A motion or a force, as six numbers."""
    return make_six(f.ang.x, f.ang.y, f.ang.z, f.lin.x, f.lin.y, f.lin.z)


@helper
def shifted(r, f):
    """A force about r, shifted to the origin."""
    x, y, z = entry(f, 3), entry(f, 4), entry(f, 5)
    return f + make_six(r.y * z - r.z * y, r.z * x - r.x * z, r.x * y - r.y * x, 0.0, 0.0, 0.0)


@helper
def shifted_rows(r, P):
    """Six forces about r, shifted to the origin."""
    return MatrixRows(
        shifted(r, P[0]), shifted(r, P[1]), shifted(r, P[2]), shifted(r, P[3]), shifted(r, P[4]), shifted(r, P[5])
    )


@helper
def shifted_matrix(r, M):
    """An inertia about r, shifted to the origin: X^T M X."""
    N = shifted_rows(r, M)
    return MatrixRows(
        N[0] + N[5] * r.y - N[4] * r.z, N[1] + N[3] * r.z - N[5] * r.x, N[2] + N[4] * r.x - N[3] * r.y,
        N[3], N[4], N[5],
    )  # fmt: skip


@helper
def rigid_rows(I):
    Y = articulated(I)
    A, B, M = Y.A, Y.B, Y.M
    return MatrixRows(
        make_six(A.xx, A.xy, A.xz, B.r0.x, B.r0.y, B.r0.z),
        make_six(A.xy, A.yy, A.yz, B.r1.x, B.r1.y, B.r1.z),
        make_six(A.xz, A.yz, A.zz, B.r2.x, B.r2.y, B.r2.z),
        make_six(B.r0.x, B.r1.x, B.r2.x, M.xx, M.xy, M.xz),
        make_six(B.r0.y, B.r1.y, B.r2.y, M.xy, M.yy, M.yz),
        make_six(B.r0.z, B.r1.z, B.r2.z, M.xz, M.yz, M.zz),
    )


@helper
def add_six(to, x, factor):
    set_six(to, 0, six(to, 0) + x * factor)


@helper
def add_column(to, stride, x, factor):
    y = x * factor
    to[0] += entry(y, 0)
    to[stride] += entry(y, 1)
    to[2 * stride] += entry(y, 2)
    to[3 * stride] += entry(y, 3)
    to[4 * stride] += entry(y, 4)
    to[5 * stride] += entry(y, 5)


# --- equations, and their factors -------------------------------------------------------------------------------------


@helper
def products(A, f, g, h):
    """Rows of A times three forces."""
    return (
        f * A.r0.x + g * A.r0.y + h * A.r0.z,
        f * A.r1.x + g * A.r1.y + h * A.r1.z,
        f * A.r2.x + g * A.r2.y + h * A.r2.z,
    )


@helper
def six_forces(scene, touch, b):
    """The rows of J of a touch, for one body."""
    f, g, h = forces_on(scene, touch, b)
    return six_of(f), six_of(g), six_of(h)


@part
def stiffen(scene, touch, b):
    """Adds J^T A J of a touch to M of a body."""
    f, g, h = six_forces(scene, touch, b)
    x, y, z = products(touch.slope, f, g, h)
    body = scene.deep.bodies[b]
    M = add_row_products(body.M, f, x, 1.0)
    M = add_row_products(M, g, y, 1.0)
    body.M = add_row_products(M, h, z, 1.0)


@part
def couple(scene, touch, a, b):
    """Adds the term of a touch in the equations of a over the unknowns of b: -J^T A J."""
    f, g, h = six_forces(scene, touch, a)
    p, q, r = six_forces(scene, touch, b)
    x, y, z = products(touch.slope, p, q, r)
    K, s = new_matrix(), -1.0 / scene.deep.ports[a].scale
    assign(K, add_row_products(add_row_products(add_row_products(zero_rows(), f, x, s), g, y, s), h, z, s))
    to, stride = place_of(scene, a, b)
    for i in range(6):
        add_six(from_entry(to, stride * i), K[i], 1.0)


@helper
def add_slopes(scene):
    """Inertias and stiffnesses, with A of all touches."""
    T = scene.deep
    for i in range(T.low, T.high):
        body = T.bodies[T.order[i]]
        body.M = rigid_rows(body.I)
        for k in range(body.first, body.last):
            T.dofs[k].stiffness = T.dofs[k].armature
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if not touch.active or not touch.slope.r0.x > 0.0:
            continue
        if touch.kind == LIMIT:
            T.dofs[touch.a].stiffness += touch.slope.r0.x
            continue
        if touch.a >= 0:
            stiffen(scene, touch, touch.a)
        if touch.b >= 0:
            stiffen(scene, touch, touch.b)
        if is_between(touch):
            couple(scene, touch, touch.a, touch.b)
            couple(scene, touch, touch.b, touch.a)


@part
def eliminate_dof(T, body, dof):
    """Eliminates a degree of freedom from the inertia of a body, and from the port of the handle below, if any."""
    M, S = body.M, six_of(dof.S)
    dof.right, dof.left = M @ S, S @ M
    dof.D = 1.0 / (dot(S, dof.right) + dof.stiffness)
    if body.port >= 0:
        link = T.ports[body.port]
        dof.P, dof.Q = link.P @ S, link.Q @ S
        link.P = add_row_products(link.P, dof.P, dof.right, -dof.D)
        link.Q = add_row_products(link.Q, dof.Q, dof.left, -dof.D)
        link.C = add_row_products(link.C, dof.Q, dof.P, dof.D)
    body.M = add_row_products(M, dof.right, dof.left, -dof.D)


@part
def close_port(scene, c):
    """Fills the block of a handle, whose port is complete."""
    T = scene.deep
    body, port = T.bodies[c], T.ports[c]
    own, stride = place_of(scene, c, c)
    s = port.scale
    for i in range(6):
        add_six(from_entry(own, stride * i), body.M[i], 1.0 / s)
        kinematic = from_entry(own, stride * (FORCE + i))
        add_six(from_entry(kinematic, FORCE), port.C[i], -s)
        own[stride * i + FORCE + i] += 1.0
        kinematic[i] += 1.0
    for k in range(body.first, body.last):
        dof, at = T.dofs[k], JOINT + k - body.first
        S = six_of(dof.S)
        add_column(from_entry(own, stride * FORCE + at), stride, S, -1.0)
        add_six(from_entry(own, stride * at + FORCE), S, -1.0)
        own[stride * at + at] += dof.stiffness / s
    if port.upper >= 0:
        to, stride = place_of(scene, c, port.upper)
        for i in range(6):
            add_six(from_entry(to, stride * (FORCE + i)), port.Q[i], -1.0)
        to, stride = place_of(scene, port.upper, c)
        for i in range(6):
            add_column(from_entry(to, FORCE + i), stride, port.P[i], -s / T.ports[port.upper].scale)


@part
def pass_on(scene, b):
    """Eliminates the joint of a body and adds the rest to its parent; begins the port if the body is a handle."""
    T, body = scene.deep, scene.deep.bodies[b]
    if body.handle >= 0:
        port = T.ports[b]
        port.P, port.C = zero_rows(), zero_rows()
        for i in range(6):
            port.P[i, i] = 1.0
        port.P = shifted_rows(body.r, port.P)
        port.Q = port.P
        return
    for k in range(body.last - 1, body.first - 1, -1):
        eliminate_dof(T, body, T.dofs[k])
    if body.parent >= 0:
        above = T.bodies[body.parent]
        above.M = above.M + shifted_matrix(body.r, body.M)
        if body.port >= 0:
            port = T.ports[body.port]
            port.P, port.Q = shifted_rows(body.r, port.P), shifted_rows(body.r, port.Q)


@part
def factorize_bodies(scene):
    """Factorizes the equations, with A of all touches in touch.slope."""
    T, B = scene.deep, scene.blocks
    for i in range(B.product):
        B.numbers[i] = 0.0
    add_slopes(scene)
    for i in range(T.high - 1, T.low - 1, -1):
        pass_on(scene, T.order[i])
    for i in range(T.low, T.high):
        if T.bodies[T.order[i]].handle >= 0:
            close_port(scene, T.order[i])
    factorize(scene)
