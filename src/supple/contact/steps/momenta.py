"""Momentum of bodies that only touch each other, while their shapes are moved apart.

Velocities of joints stay as they are when overlap is removed from positions [finishing.py], but positions and inertias
change. Alone, that would change the momentum p of trees that push each other, and their angular momentum L about their
common centre of mass: where they slide along each other and rotate fast, in the same direction step after step. A rigid
motion of all of them together restores both:

    u = (p - p') / m,    w = I^-1 (L - L')        of the centre of mass, with the inertia I about it

It is the smallest change of velocities that does so, in the metric of H. It is rigid where forces acted, so that it
changes no velocity at touches, for which the contact law holds there. Bodies have moved on since then: this is repeated
ROUNDS times, the last time without rotation, so that p is exact.

Trees are left as they are if their roots are not free, if they have loops, or if they are near the world or others that
they do not push.
"""

from __future__ import annotations

from supple.contact.islands import set_of
from supple.contact.memory import LIMIT
from supple.model.joint_poses import DOF, FREE
from supple.model.moving import set_triple, triple
from supple.spatial.algebra import (
    Force,
    Motion,
    RigidInertia,
    Sym3,
    Vec3,
    cross,
    inverse_sym,
    shift_force,
    shift_motion,
    shift_rigid,
)
from supple.spatial.compiler import helper, part

ROUNDS = 3  #: of restoring momenta


@helper
def crowd_of(groups, b):
    """The set of trees that push each other to which body b belongs; -1 for the world."""
    return set_of(groups.pushed, groups.tree[b]) if b >= 0 else -1


@helper
def hold(groups, b):
    """The set of body b is not free."""
    if b >= 0:
        groups.held[crowd_of(groups, b)] = 1


@helper
def is_kept(groups, b):
    """Whether the momentum of the set of body b is."""
    return groups.kept[crowd_of(groups, b)] > 0


@part
def find_free(groups, scene, m, dq):
    """Finds the sets of trees that are free, of the trees of m. Those that dq moves are to keep their momenta. Returns
    whether there are any."""
    for b in range(m.n):
        groups.pushed[b], groups.held[b], groups.kept[b] = b, 0, 0
    for k in range(scene.n):
        touch = scene.touches[k]
        pushes = touch.lam.x > 0.0 or touch.push > 0.0
        if pushes and touch.kind != LIMIT and touch.a >= 0 and touch.b >= 0:
            groups.pushed[crowd_of(groups, touch.a)] = crowd_of(groups, touch.b)
    for k in range(scene.n):
        touch = scene.touches[k]
        if touch.kind != LIMIT and crowd_of(groups, touch.a) != crowd_of(groups, touch.b):
            hold(groups, touch.a)
            hold(groups, touch.b)
    for b in range(m.n):
        if m.bodies[b].parent < 0 and (m.bodies[b].kind != FREE or groups.looped[b] > 0):
            hold(groups, b)
    found = False
    for b in range(m.n):
        moved = 0.0
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            moved += abs(dq[j])
        if moved != 0.0 and groups.held[crowd_of(groups, b)] == 0:
            groups.kept[crowd_of(groups, b)], found = 1, True
    return found


@helper
def begin_sums(groups, n):
    """The momenta and inertias of no bodies."""
    o = Vec3(0.0, 0.0, 0.0)
    for b in range(n):
        groups.momenta[b].f = Force(o, o)
        groups.momenta[b].Y = RigidInertia(0.0, o, Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))


@helper
def add_body(groups, bodies, b, I):
    """Adds the momentum and the inertia I of a body, as it is placed, to those of its set, about its first body."""
    i = crowd_of(groups, b)
    one, r = groups.momenta[i], bodies[b].P - bodies[i].P
    one.f, one.Y = one.f + shift_force(r, I @ bodies[b].V), one.Y + shift_rigid(r, I)


@helper
def about_centre(one):
    """The momentum of a set about its centre of mass."""
    return shift_force(one.Y.h * (-1.0 / one.Y.m), one.f)


@helper
def keep_sums(groups, n):
    """Keeps the momenta that were summed."""
    for b in range(n):
        if groups.kept[b]:
            groups.momenta[b].before = about_centre(groups.momenta[b])


@helper
def restoring(one, turns):
    """The motion of a set that gives it the momentum that was kept, at its first body. turns: whether it rotates."""
    lost, c = one.before - about_centre(one), one.Y.h * (1.0 / one.Y.m)
    I = shift_rigid(c * -1.0, one.Y).I
    J, left = inverse_sym(I, I)
    w = J @ lost.ang if turns and left > 0.0 else Vec3(0.0, 0.0, 0.0)
    return Motion(w, lost.lin * (1.0 / one.Y.m) + cross(c, w))


@part
def restore_sums(groups, m, bodies, v, turns):
    """Adds motions to v, and to the velocities of bodies, that restore the momenta that were kept, but for what bodies
    rotate from where forces acted to where they are placed. turns: whether motions rotate; if they do not, momentum
    without its angular part is exact."""
    at = lin = ang = Vec3(0.0, 0.0, 0.0)  # of the root of the present tree
    for b in range(m.n):
        if is_kept(groups, b):
            if m.bodies[b].parent < 0:
                root, one, j = groups.momenta[b], groups.momenta[crowd_of(groups, b)], m.bodies[b].iv
                V = shift_motion(root.P - one.P, restoring(one, turns))
                turning = V.ang @ root.R
                set_triple(v, j, triple(v, j) + V.lin @ bodies[b].R)
                set_triple(v, j + 3, triple(v, j + 3) + turning)
                at, lin, ang = bodies[b].P, V.lin, bodies[b].R @ turning
            V = bodies[b].V
            bodies[b].V = Motion(V.ang + ang, V.lin + lin + cross(ang, bodies[b].P - at))


@helper
def note_roots(groups, m, bodies):
    """Notes the poses of roots, where forces act."""
    for b in range(m.n):
        if m.bodies[b].parent < 0:
            groups.momenta[b].R, groups.momenta[b].P = bodies[b].R, bodies[b].P
