"""Newton's equations of an island of deep trees, over bodies: O(bodies + touches), where few bodies touch each other.

A touch with the world adds J^T A J to the inertia of its body alone, so that the passes of the articulated-body
algorithm solve

    (H + J^T A J) dv = J^T f,    v = J dv,    change = f - A v

with 6x6 matrices M that are not symmetric where touches slide. A limit adds A to the armature of its joint.

Bodies that touch each other are *handles*; so is a body on which two of them hang. Between a handle c and the next one
above it, all degrees of freedom are eliminated, and the two are linked by a port,

    V_l = Q V + C force + v        velocity of the parent of c, about the origin of c, by that of the handle above
    P^T force                      on the handle above, by the force of c on its parent

so that the unknowns of c are its velocity V, that force and the velocities x of its joint:

    M V + force - sum P^T force of handles below + what touches between bodies add = f
    V - C force - S x - Q V of the handle above = v
    stiffness x - S . force = tau

These are the blocks of blocks.py, two of which are coupled if one is the next above the other, or they touch. Every
block alone is regular: the inertia of bodies of which some are held. Forces are divided by the mass of the handle.
"""

from __future__ import annotations

from supple.contact.blocks import begin_sets, connect, order_unknowns, panel_of
from supple.contact.factors import block_size, columns_of, factorize, rows_of, substitute
from supple.contact.islands import touch_at
from supple.contact.memory import LIMIT
from supple.contact.passes import forces_on
from supple.spatial.addresses import from_entry
from supple.spatial.algebra import Vec3, articulated
from supple.spatial.compiler import helper, part
from supple.spatial.cpu import dot, entry, make_six, set_six, six
from supple.spatial.matrices import MatrixRows, add_row_products, assign, new_matrix, zero_rows

FORCE, JOINT = 6, 12  #: where unknowns of a block begin


# --- six numbers ------------------------------------------------------------------------------------------------------


@helper
def six_of(f):
    """A motion or a force."""
    return make_six(f.ang.x, f.ang.y, f.ang.z, f.lin.x, f.lin.y, f.lin.z)


@helper
def no_six():
    return make_six(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@helper
def shifted(r, f):
    """A force at r, about the origin."""
    x, y, z = entry(f, 3), entry(f, 4), entry(f, 5)
    return f + make_six(r.y * z - r.z * y, r.z * x - r.x * z, r.x * y - r.y * x, 0.0, 0.0, 0.0)


@helper
def moved(r, v):
    """A motion at the origin, at r."""
    x, y, z = entry(v, 0), entry(v, 1), entry(v, 2)
    return v + make_six(0.0, 0.0, 0.0, y * r.z - z * r.y, z * r.x - x * r.z, x * r.y - y * r.x)


@helper
def shifted_rows(r, P):
    """The same of six forces."""
    return MatrixRows(
        shifted(r, P[0]), shifted(r, P[1]), shifted(r, P[2]), shifted(r, P[3]), shifted(r, P[4]), shifted(r, P[5])
    )


@helper
def shifted_matrix(r, M):
    """An inertia at r, about the origin: X^T M X."""
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


# --- the pattern ------------------------------------------------------------------------------------------------------


@helper
def is_between(touch):
    """Whether it is between two bodies."""
    return touch.kind != LIMIT and touch.a >= 0 and touch.b >= 0


@helper
def find_handles(scene):
    """Handles and ports of the present group. Returns how many handles there are."""
    T, n = scene.deep, 0
    for i in range(T.low, T.high):
        body = T.bodies[T.order[i]]
        body.handle, body.port = -1, -1
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if is_between(touch):
            T.bodies[touch.a].handle = T.bodies[touch.b].handle = 0
    for i in range(T.high - 1, T.low - 1, -1):
        b = T.order[i]
        body = T.bodies[b]
        if body.handle >= 0:
            body.handle, body.port, n = n, -1, n + 1
        below = b if body.handle >= 0 else body.port
        if below >= 0 and body.parent >= 0:
            above = T.bodies[body.parent]
            if above.handle < 0 and above.port >= 0:
                above.handle = 0
            above.port = below
    return n


@helper
def link_handles(scene):
    """The handle above each, and who is whose neighbour; the size of blocks."""
    T, B = scene.deep, scene.blocks
    for i in range(T.low, T.high):
        b = T.order[i]
        body, port = T.bodies[b], T.ports[b]
        if body.handle >= 0:
            B.size[body.handle] = JOINT + body.last - body.first
            port.upper, port.scale = body.parent, body.I.m if body.I.m > 0.0 else 1.0
            while port.upper >= 0 and T.bodies[port.upper].handle < 0:
                port.upper = T.bodies[port.upper].parent
            if port.upper >= 0:
                connect(B, body.handle, T.bodies[port.upper].handle)
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if is_between(touch):
            connect(B, T.bodies[touch.a].handle, T.bodies[touch.b].handle)


@part
def find_body_pattern(scene):
    """Of the present island. Returns whether there was room for it."""
    if not begin_sets(scene.blocks, find_handles(scene)):
        return False
    link_handles(scene)
    return order_unknowns(scene.blocks)


@helper
def place_of(scene, a, b):
    """Where the numbers of handle a over unknowns of handle b are, and how far apart their rows."""
    B, T = scene.blocks, scene.deep
    p, q = B.rank[T.bodies[a].handle], B.rank[T.bodies[b].handle]
    size = block_size(B, min(p, q))
    if p == q:
        return rows_of(B, p), size + B.width[p]
    if p < q:
        return from_entry(rows_of(B, p), size + panel_of(B, p, q)), size + B.width[p]
    return from_entry(columns_of(B, q), size * panel_of(B, q, p)), size


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


# --- factors ----------------------------------------------------------------------------------------------------------


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
    """J of a touch on a body."""
    f, g, h = forces_on(scene, touch, b)
    return six_of(f), six_of(g), six_of(h)


@part
def stiffen(scene, touch, b):
    """M of a body by J^T A J of a touch."""
    f, g, h = six_forces(scene, touch, b)
    x, y, z = products(touch.slope, f, g, h)
    body = scene.deep.bodies[b]
    M = add_row_products(body.M, f, x, 1.0)
    M = add_row_products(M, g, y, 1.0)
    body.M = add_row_products(M, h, z, 1.0)


@part
def couple(scene, touch, a, b):
    """What a touch adds to the equations of a over the unknowns of b: -J^T A J."""
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
    """Inertias and armatures, with A of all touches."""
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
    """From the inertia of a body, and from the port of the handle below, if there is one."""
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
    """The block of a handle, whose port is complete."""
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
    """What a body adds to its parent."""
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
    """For A of all touches, touch.slope."""
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


# --- solution ---------------------------------------------------------------------------------------------------------


@helper
def set_forces(scene):
    """f of all touches, on bodies and joints."""
    T, none = scene.deep, no_six()
    for i in range(T.low, T.high):
        b = T.order[i]
        body = T.bodies[b]
        body.f, T.ports[b].v = none, none
        for k in range(body.first, body.last):
            T.dofs[k].tau = 0.0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        f = touch.f
        if touch.kind == LIMIT:
            T.dofs[touch.a].tau += touch.n.x * f.x
            continue
        if touch.a >= 0:
            x, y, z = six_forces(scene, touch, touch.a)
            T.bodies[touch.a].f = T.bodies[touch.a].f + x * f.x + y * f.y + z * f.z
        if touch.b >= 0:
            x, y, z = six_forces(scene, touch, touch.b)
            T.bodies[touch.b].f = T.bodies[touch.b].f - x * f.x - y * f.y - z * f.z


@part
def lift_forces(T, b):
    """Those on a body, to its parent; what they leave at ports."""
    body = T.bodies[b]
    f = body.f
    if body.handle >= 0:
        return
    for k in range(body.last - 1, body.first - 1, -1):
        dof = T.dofs[k]
        dof.t = dof.tau + dot(six_of(dof.S), f)
        if body.port >= 0:
            T.ports[body.port].v = T.ports[body.port].v + dof.Q * (dof.D * dof.t)
        f = f - dof.right * (dof.D * dof.t)
    if body.parent >= 0:
        T.bodies[body.parent].f = T.bodies[body.parent].f + shifted(body.r, f)


@helper
def set_right_sides(scene):
    """Of the blocks of handles."""
    T, B = scene.deep, scene.blocks
    for i in range(T.low, T.high):
        b = T.order[i]
        body, port = T.bodies[b], T.ports[b]
        if body.handle >= 0:
            x = from_entry(B.x, B.first[B.rank[body.handle]])
            set_six(x, 0, body.f * (1.0 / port.scale))
            set_six(x, FORCE, port.v)
            for k in range(body.first, body.last):
                x[JOINT + k - body.first] = T.dofs[k].tau / port.scale


@helper
def take_solution(scene):
    """Velocities and forces of handles."""
    T, B = scene.deep, scene.blocks
    for i in range(T.low, T.high):
        b = T.order[i]
        body, port = T.bodies[b], T.ports[b]
        if body.handle >= 0:
            x = from_entry(B.x, B.first[B.rank[body.handle]])
            body.v, port.force = six(x, 0), six(x, FORCE) * port.scale
            for k in range(body.first, body.last):
                T.dofs[k].x = x[JOINT + k - body.first]


@part
def move_body(T, b):
    """The velocity of a body that is no handle, and those of its joint, after those above it."""
    body = T.bodies[b]
    if body.handle >= 0:
        return
    v = moved(body.r, T.bodies[body.parent].v) if body.parent >= 0 else no_six()
    for k in range(body.first, body.last):
        dof = T.dofs[k]
        x = dof.t - dot(dof.left, v)
        if body.port >= 0:
            x += dot(dof.P, T.ports[body.port].force)
        dof.x = x * dof.D
        v = v + six_of(dof.S) * dof.x
    body.v = v


@helper
def velocity_of(scene, touch, b):
    f, g, h = six_forces(scene, touch, b)
    v = scene.deep.bodies[b].v
    return Vec3(dot(f, v), dot(g, v), dot(h, v))


@part
def solve_for_bodies(scene):
    """v and change of touches, by f."""
    T = scene.deep
    set_forces(scene)
    for i in range(T.high - 1, T.low - 1, -1):
        lift_forces(T, T.order[i])
    set_right_sides(scene)
    substitute(scene.blocks)
    take_solution(scene)
    for i in range(T.low, T.high):
        move_body(T, T.order[i])
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        v = Vec3(0.0, 0.0, 0.0)
        if touch.kind == LIMIT:
            v = Vec3(touch.n.x * T.dofs[touch.a].x, 0.0, 0.0)
        else:
            if touch.a >= 0:
                v = v + velocity_of(scene, touch, touch.a)
            if touch.b >= 0:
                v = v - velocity_of(scene, touch, touch.b)
        touch.v, touch.change = v, touch.f - touch.slope @ v
