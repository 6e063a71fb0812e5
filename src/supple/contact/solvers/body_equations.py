"""Newton's equations of an island of deep trees, over bodies: O(bodies + touches) if few bodies touch each other.

A touch with the world adds J^T A J to the inertia of its body only, so that the passes of the articulated-body
algorithm solve

    (H + J^T A J) dv = J^T f,    v = J dv,    change = f - A v

with 6x6 matrices M that are not symmetric where touches slide. A limit adds A to the armature of its joint.

Bodies that touch each other are handles [handles.py], and so are bodies where the paths of two of them to the root
meet. Between a handle c and the next one above it, all degrees of freedom are eliminated, and the two are linked by a
port,

    V_l = Q V + C force + v        velocity of the parent of c, about the origin of c; V: of the handle above
    P^T force                      force on the handle above; force: of c on its parent

so that the unknowns of c are its velocity V, that force and the velocities x of its joint:

    M V + force - sum P^T force of handles below + terms of touches between bodies = f
    V - C force - S x - Q V of the handle above = v
    stiffness x - S . force = tau

These are blocks of blocks.py. Every diagonal block is regular: it is the inertia of bodies of which some are held.
Forces are divided by the mass of the handle.
"""

from __future__ import annotations

from supple.contact.islands import touch_at
from supple.contact.memory import LIMIT
from supple.contact.solvers.body_factors import shifted, six_forces, six_of
from supple.contact.solvers.factors import substitute
from supple.contact.solvers.handles import FORCE, JOINT
from supple.spatial.addresses import from_entry
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper, part
from supple.spatial.cpu import dot, entry, make_six, set_six, six


@helper
def no_six():
    return make_six(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@helper
def moved(r, v):
    """A motion about the origin, shifted to r."""
    x, y, z = entry(v, 0), entry(v, 1), entry(v, 2)
    return v + make_six(0.0, 0.0, 0.0, y * r.z - z * r.y, z * r.x - x * r.z, x * r.y - y * r.x)


@helper
def set_forces(scene):
    """f of all touches, as forces on bodies and joints."""
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
    """Passes the force on a body to its parent, and its effect to its port."""
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
def unknowns_of(scene, body):
    """The unknowns of a handle; before they are solved for, their right-hand sides."""
    B = scene.blocks
    return from_entry(B.x, B.first[B.rank[body.handle]])


@helper
def set_right_sides(scene):
    """The right-hand sides of the blocks of handles."""
    T = scene.deep
    for i in range(T.low, T.high):
        b = T.order[i]
        body, port = T.bodies[b], T.ports[b]
        if body.handle >= 0:
            x = unknowns_of(scene, body)
            set_six(x, 0, body.f * (1.0 / port.scale))
            set_six(x, FORCE, port.v)
            for k in range(body.first, body.last):
                x[JOINT + k - body.first] = T.dofs[k].tau / port.scale


@helper
def take_solution(scene):
    """Velocities and forces of handles."""
    T = scene.deep
    for i in range(T.low, T.high):
        b = T.order[i]
        body, port = T.bodies[b], T.ports[b]
        if body.handle >= 0:
            x = unknowns_of(scene, body)
            body.v, port.force = six(x, 0), six(x, FORCE) * port.scale
            for k in range(body.first, body.last):
                T.dofs[k].x = x[JOINT + k - body.first]


@part
def move_body(T, b):
    """The velocity of a body that is not a handle, and those of its joint, by that of its parent."""
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
    """v and change of all touches, from f."""
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
