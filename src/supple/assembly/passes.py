"""One node at a time: from its parts upwards, and from the forces on it downwards."""

from __future__ import annotations

from supple.assembly.absorbing import leaf, leaf_forces, light, light_forces, sum_forces, sum_up
from supple.assembly.coefficients import FB, FT, GAMMA, JOINT, QV, XV
from supple.assembly.desk import ANY_JOIN, ANY_LEAF, ANY_LIGHT, PLAIN_JOIN, open_desk
from supple.assembly.joints import REVOLUTE, UNIVERSAL, turn_of_joint
from supple.assembly.stretches import join, join_forces
from supple.assembly.tree import JOIN, LEAF, LIGHT
from supple.assembly.turning import back, times, to_lower
from supple.spatial.compiler import helper, kernel
from supple.spatial.indexing import item, set_item
from supple.spatial.references import LINKED, call_at
from supple.spatial.sixes import dot, set_six, six


@helper
def renew(t, d, desk, i, psi, matrices):
    """The coefficients of node i from those of its parts; without `matrices`, only what depends on forces. Returns the
    smallest pivot: if it is not positive, there is no inertia where some is needed."""
    kind, j = item(t.kind, i), item(t.item, i)
    if kind == JOIN:
        if item(t.joint, j) == REVOLUTE and item(t.forbidden, j) == 5 and item(t.armature, item(t.iv, j)) == 0.0:
            return call_at(item(d.kernels, PLAIN_JOIN), desk, i, psi, matrices)
        return call_at(item(d.kernels, ANY_JOIN), desk, i, psi, matrices)
    if kind == LEAF:
        if item(t.lone, i):
            return 1.0e300
        if item(t.left, i) < 0 and not matrices:
            leaf_forces(t, j, i, False, d.out, item(d.at, i), 0, d.w, psi, d.external)
            return 1.0e300
        return call_at(item(d.kernels, ANY_LEAF), desk, i, psi, matrices)
    if kind == LIGHT:
        return call_at(item(d.kernels, ANY_LIGHT), desk, i, psi, matrices)
    return any_sum(desk, i, psi, matrices)


@kernel(LINKED, "revolute joints of an assembly", effort=4, nogil=True)
def plain_join(desk, i, with_psi, with_matrices):
    """A JOIN at a revolute joint without armature, of which there are most: with the numbers known, loops unroll."""
    t, d = open_desk(desk)
    psi, matrices = with_psi != 0, with_matrices != 0
    j, l, r = item(t.item, i), item(t.left, i), item(t.right, i)
    _, cos, sin, _ = turn_of_joint(t, j, d.q, d.w)
    turned = (True, cos, sin, False)
    oa, ob, oc, oj, ot = item(d.at, l), item(d.at, r), item(d.at, i), item(d.joint_at, i), item(d.tail_at, i)
    sa, sb, smallest = item(t.joints, l) > 0, item(t.joints, r) > 0, 1.0e300
    if matrices:
        smallest = join(t, i, j, d.out, oa, ob, oc, oj, d.tail, ot, sa, sb, d.w, psi, turned, 5, False)
    join_forces(t, i, j, d.out, oa, ob, oc, oj, d.tail, ot, sa, sb, d.w, psi, turned, 1, d.force)
    return smallest


@kernel(LINKED, "joints of an assembly", effort=5, nogil=True)
def any_join(desk, i, with_psi, with_matrices):
    t, d = open_desk(desk)
    psi, matrices = with_psi != 0, with_matrices != 0
    j, l, r = item(t.item, i), item(t.left, i), item(t.right, i)
    turned, nc = turn_of_joint(t, j, d.q, d.w), item(t.forbidden, j)
    oa, ob, oc, oj, ot = item(d.at, l), item(d.at, r), item(d.at, i), item(d.joint_at, i), item(d.tail_at, i)
    sa, sb, smallest = item(t.joints, l) > 0, item(t.joints, r) > 0, 1.0e300
    if matrices:
        smallest = join(t, i, j, d.out, oa, ob, oc, oj, d.tail, ot, sa, sb, d.w, psi, turned, nc, True)
    join_forces(t, i, j, d.out, oa, ob, oc, oj, d.tail, ot, sa, sb, d.w, psi, turned, 6 - nc, d.force)
    return smallest


@kernel(LINKED, "bodies of an assembly", effort=2, nogil=True)
def any_leaf(desk, i, with_psi, with_matrices):
    t, d = open_desk(desk)
    psi, matrices = with_psi != 0, with_matrices != 0
    j, l, oc, smallest = item(t.item, i), item(t.left, i), item(d.at, i), 1.0e300
    ol = item(d.at, l) if l >= 0 else 0
    if matrices:
        smallest = leaf(t, j, i, l >= 0, d.out, oc, ol, d.w, psi)
    leaf_forces(t, j, i, l >= 0, d.out, oc, ol, d.w, psi, d.external)
    return smallest


@kernel(LINKED, "branches of an assembly", effort=4, nogil=True)
def any_light(desk, i, with_psi, with_matrices):
    t, d = open_desk(desk)
    psi, matrices = with_psi != 0, with_matrices != 0
    j, l, smallest = item(t.item, i), item(t.left, i), 1.0e300
    turned = turn_of_joint(t, j, d.q, d.w)
    lone, absorbed = item(t.lone, l) != 0, item(t.left, l)
    ol = item(d.at, absorbed) if lone and absorbed >= 0 else -1
    ob, oc, oj, ot = item(d.at, l), item(d.at, i), item(d.joint_at, i), item(d.tail_at, i)
    sb = item(t.joints, l) > 0
    if matrices:
        smallest = light(t, j, lone, d.out, ob, ol, oc, oj, d.tail, ot, sb, d.w, psi, turned)
    light_forces(t, j, lone, d.out, ob, ol, oc, oj, d.tail, ot, sb, d.w, psi, turned, d.force, d.external)
    return smallest


def node_kernels() -> list[int]:
    """The kernels that `renew` calls, in the order of desk.py."""
    return [x.address() for x in (plain_join, any_join, any_leaf, any_light)]


@helper
def any_sum(desk, i, psi, matrices):
    t, d = open_desk(desk)
    ol, orr, oc = item(d.at, item(t.left, i)), item(d.at, item(t.right, i)), item(d.at, i)
    if matrices:
        sum_up(d.out, ol, orr, oc, psi)
    sum_forces(d.out, ol, orr, oc, psi)
    return 1.0e300


# What a node is told from above: the forces f1 and f2 on a stretch; the body's acceleration for a LIGHT or SUM, and for
# a LEAF that is alone under a LIGHT.


@helper
def join_down(t, d, i):
    """A JOIN: its joint's acceleration, and the forces on its parts [QS (4), (5)]."""
    j = item(t.item, i)
    if item(t.joint, j) == REVOLUTE and item(t.forbidden, j) == 5:
        _, cos, sin, _ = turn_of_joint(t, j, d.q, d.w)
        _join_down(t, d, i, j, 1, (True, cos, sin, False))
    else:
        _join_down(t, d, i, j, 6 - item(t.forbidden, j), turn_of_joint(t, j, d.q, d.w))


@helper
def _join_down(t, d, i, j, k, turned):
    out, told, w, oj = d.out, d.told, d.w, item(d.joint_at, i)
    ti, ta, tb = item(d.told_at, i), item(d.told_at, item(t.left, i)), item(d.told_at, item(t.right, i))
    iv, below = item(t.iv, j), item(t.open, i) != 0
    f1, f2 = six(told, ti), six(told, ti + 6)
    ut, ub, r = oj + JOINT, oj + JOINT + 6 * k, oj + JOINT + 12 * k
    for a in range(k):
        x = item(out, r + a) + dot(six(out, ut + 6 * a), f1)
        if below:
            x -= dot(six(out, ub + 6 * a), f2)
        set_item(d.qdd, iv + a, x)
    for a in range(6):
        x = item(out, oj + GAMMA + a) + dot(six(out, oj + FT + 6 * a), f1)
        if below:
            x -= dot(six(out, oj + FB + 6 * a), f2)
        set_item(w, XV + a, x)
    set_six(told, ta, f1)
    set_six(told, ta + 6, back(w, XV, turned) * -1.0)
    set_six(told, tb, to_lower(w, XV, turned))
    set_six(told, tb + 6, f2)


@helper
def leaf_down(t, d, i, top, b):
    """A LEAF on a path, with something absorbed into it: the body's acceleration. top, b: where Phi1 and b1 lie."""
    ti, to = d.told_at[i], d.told_at[t.left[i]]
    f = six(d.told, ti)
    if t.open[i]:
        f = f + times(d.told, ti + 6, t.to_joint, 36 * t.heavy[t.item[i]])
    set_six(d.w, XV, f)
    set_six(d.told, to, times(d.w, XV, d.out, top) + six(d.out, b))


@helper
def light_down(t, d, i):
    """A LIGHT: its joint's acceleration, and the force on its path, or, under it alone, its body's acceleration."""
    out, w, oj, j = d.out, d.w, d.joint_at[i], t.item[i]
    k, iv, to = 6 - t.forbidden[j], t.iv[j], d.told_at[t.left[i]]
    a = six(d.told, d.told_at[i])
    for x in range(6):  # a' = E T a
        set_item(w, XV + x, dot(six(out, oj + FB + 6 * x), a))
    a = six(w, XV)
    turned = (False, 1.0, 0.0, False)
    if t.joint[j] == UNIVERSAL:
        turned = turn_of_joint(t, j, d.q, w)
    for x in range(k):
        set_item(d.qdd, iv + x, item(out, oj + JOINT + 12 * k + x) + dot(six(out, oj + JOINT + 6 * x), a))
    if t.lone[t.left[i]]:
        for x in range(k):
            set_item(w, XV + 6 - k + x, item(w, XV + 6 - k + x) + item(d.qdd, iv + x))
        set_six(d.told, to, to_lower(w, XV, turned))
    else:
        for x in range(6):
            set_item(w, QV + x, item(out, oj + GAMMA + x) + dot(six(out, oj + FT + 6 * x), a))
        set_six(d.told, to, to_lower(w, QV, turned))
        set_six(d.told, to + 6, a * 0.0)
