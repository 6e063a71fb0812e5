"""A Gauss-Seidel sweep over the touches of deep trees [sweeps.py] in O(bodies + touches): by a walk along the tree.

Bodies are visited parents first, and their touches are solved one after the other. When the walk reaches a body, the
effect of all changes of impulses so far on its velocity is known:

    G = psi^T (G + L F of its parent)       by impulses outside its subtree; F: impulses on the parent, with those
    V + G, and L J^T change                 passed on from subtrees that were visited; psi^T: as in passes.py, with x

The impulse of a limit moves its body by `turn`, which becomes part of G. A touch between two bodies is solved at the
one that is visited later, with the velocity that the other had when it was visited. A pass [passes.py] then makes all
velocities consistent.
"""

from __future__ import annotations

import math

from supple.contact.memory import LIMIT
from supple.contact.response.passes import force_on
from supple.contact.response.rows import answer
from supple.contact.solvers.cone import PROX, one_touch, stronger
from supple.contact.solvers.opening import further
from supple.spatial.algebra import Force, Motion, Vec3, shift_force, shift_motion
from supple.spatial.compiler import helper, part


@helper
def renewed(scene, touch):
    """The new impulse of one touch, all others being fixed."""
    lam, W = touch.lam, stronger(touch.W, PROX)
    if touch.W.xx <= 0.0:  # nothing can move
        return lam
    u = touch.free + answer(scene, touch)
    rubs = lam.y * lam.y + lam.z * lam.z
    k = math.sqrt((u.y * u.y + u.z * u.z) / rubs) if rubs > 0.0 else 0.0
    return one_touch(W, Vec3(u.x + touch.bias, u.y, u.z) - W @ lam, touch.friction, k)


@helper
def change_of(scene, touch, pushing, h, least):
    """Updates the impulse of a touch, or its push against overlap. Returns its change."""
    if pushing:
        more = further(scene, touch, h, least)
        touch.push += more
        return Vec3(more, 0.0, 0.0)
    new = renewed(scene, touch)
    change = new - touch.lam
    touch.lam = new
    return change


@helper
def climb(T, at, to):
    """Passes impulses on bodies up the tree, from `at` to `to`."""
    while at != to and at >= 0:
        body = T.bodies[at]
        if body.parent >= 0:
            f, above = body.F, T.bodies[body.parent]
            for k in range(body.last - 1, body.first - 1, -1):
                dof = T.dofs[k]
                f = f - dof.U * ((dof.S @ f + dof.force) * dof.d)
            above.F = above.F + shift_force(body.r, f)
        at = body.parent


@helper
def follow(T, body):
    """G of a body; V of the body and x of its joint change by it."""
    o = Vec3(0.0, 0.0, 0.0)
    V = Motion(o, o)
    if body.parent >= 0:
        above = T.bodies[body.parent]
        V = shift_motion(body.r, above.G + above.L @ above.F)
    for k in range(body.first, body.last):
        dof = T.dofs[k]
        x = (V @ dof.U) * dof.d
        dof.force, dof.x, V = 0.0, dof.x - x, V - dof.S * x
    body.F, body.G, body.V = Force(o, o), V, body.V + V


@helper
def push_at(scene, b, touch, c):
    """Applies a change of impulse at the body that is visited."""
    T, body = scene.deep, scene.deep.bodies[b]
    if touch.kind == LIMIT:
        dof, x = T.dofs[touch.a], touch.n.x * c.x
        turn = dof.turn * x
        dof.force, dof.x = dof.force + x, dof.x + dof.w * x
        body.G, body.V = body.G + turn, body.V + turn
    else:
        f = touch.n * c.x + touch.t * c.y + touch.s * c.z
        F = force_on(scene, b, touch.point, f if b == touch.a else f * -1.0)
        body.F, body.V = body.F + F, body.V + body.L @ F
        for k in range(body.first, body.last):
            T.dofs[k].x += T.dofs[k].turn @ F


@part
def walk(scene, pushing, h, least):
    """Updates all touches of the current island: their impulses or, if `pushing`, their pushes [opening.py]. Velocities
    are not consistent with impulses afterwards. Returns the largest change along a normal, times W."""
    T, at, most = scene.deep, -1, 0.0
    for i in range(T.low, T.high):
        b = T.order[i]
        body = T.bodies[b]
        climb(T, at, body.parent)
        follow(T, body)
        k = body.head
        while k >= 0:
            touch = scene.touches[k]
            if touch.active:
                c = change_of(scene, touch, pushing, h, least)
                push_at(scene, b, touch, c)
                most = max(most, abs(c.x) * touch.W.xx)
            k = touch.next
        at = b
    return most
