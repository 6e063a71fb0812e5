"""A sweep over the touches of deep trees [sweeps.py] in O(bodies + touches): by a walk along the tree.

Bodies are visited parents first, and their touches renewed, one after the other. What impulses that changed have done
to the velocity of a body is known when the walk comes to it:

    G = psi^T (G + L F of its parent)       by impulses outside of what hangs on it; F: those on the parent, and passed
    V + G, and L J^T change                 on from what hangs on it and was visited; psi^T: as in passes.py, with x

A touch between two bodies is renewed at the one that comes later, with the velocity that the other had when it was
visited, and a limit with that of its joint before the walk. A pass then makes all velocities what they are.
"""

from __future__ import annotations

from supple.contact.cone import PROX, one_touch, stronger
from supple.contact.memory import LIMIT
from supple.contact.passes import force_on, passed_on
from supple.contact.rows import answer
from supple.spatial.algebra import Force, Motion, Vec3, shift_motion
from supple.spatial.compiler import helper, part


@helper
def renewed(scene, touch):
    """The impulse of one touch, with all others as they are."""
    lam, W = touch.lam, stronger(touch.W, PROX)
    if touch.W.xx <= 0.0:  # nothing that could move
        return lam
    u = touch.free + answer(scene, touch)
    return one_touch(W, Vec3(u.x + touch.bias, u.y, u.z) - W @ lam, touch.friction)


@helper
def climb(T, at, to):
    """Passes on what was done to bodies below `to`."""
    while at != to and at >= 0:
        up = T.bodies[at].parent
        if up >= 0:
            T.bodies[up].F = T.bodies[up].F + passed_on(T, at, T.bodies[at].F)
        at = up


@helper
def follow(T, body):
    """G of a body."""
    above = T.bodies[body.parent]
    V = shift_motion(body.r, above.G + above.L @ above.F)
    for k in range(body.first, body.last):
        dof = T.dofs[k]
        V = V - dof.S * ((V @ dof.U) * dof.d)
    return V


@helper
def renew_at(scene, b):
    """The touches that are renewed at a body."""
    body, k = scene.deep.bodies[b], scene.deep.bodies[b].head
    while k >= 0:
        touch = scene.touches[k]
        if touch.active:
            new = renewed(scene, touch)
            c = new - touch.lam
            touch.lam = new
            if touch.kind != LIMIT:
                f = touch.n * c.x + touch.t * c.y + touch.s * c.z
                F = force_on(scene, b, touch.point, f if b == touch.a else f * -1.0)
                body.F, body.V = body.F + F, body.V + body.L @ F
        k = touch.next


@part
def walk(scene):
    """Renews all touches of the present island; velocities are not those of the impulses then."""
    T, o, at = scene.deep, Vec3(0.0, 0.0, 0.0), -1
    for i in range(T.low, T.high):
        b = T.order[i]
        body = T.bodies[b]
        climb(T, at, body.parent)
        body.F, body.G = Force(o, o), Motion(o, o)
        if body.parent >= 0:
            body.G = follow(T, body)
            body.V = body.V + body.G
        renew_at(scene, b)
        at = b
