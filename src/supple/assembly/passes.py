"""One node at a time: from its parts upwards, and from the forces on it downwards."""

from __future__ import annotations

from supple.assembly.joints import UNIVERSAL, turn_of_joint
from supple.assembly.nodes import (
    EB,
    FB,
    FT,
    GAMMA,
    JOINT,
    QV,
    XV,
    back,
    join,
    join_forces,
    leaf,
    leaf_forces,
    light,
    light_forces,
    sum_forces,
    sum_up,
    times,
)
from supple.assembly.tree import JOIN, LEAF, LIGHT
from supple.spatial.compiler import helper
from supple.spatial.sixes import dot, set_six, six


@helper
def renew(t, i, out, at, joint_at, tail, tail_at, q, external, force, w, psi, matrices):
    """The coefficients of node i from those of its parts; without `matrices`, only what depends on forces.

    Numbers of node k are at out[at[k]:], those of its joint at out[joint_at[k]:] and tail[tail_at[k]:]. external: forces on bodies, six numbers
    each in their bases; force: the joints' own. Returns the smallest pivot: if it is not positive, there is no inertia
    where some is needed.
    """
    kind, l, r, j = t.kind[i], t.left[i], t.right[i], t.item[i]
    smallest = 1.0e300
    if kind == JOIN:
        turned = turn_of_joint(t, j, q, w)
        oa, ob, oc, oj, ot = at[l], at[r], at[i], joint_at[i], tail_at[i]
        sa, sb = t.joints[l] > 0, t.joints[r] > 0
        if matrices:
            smallest = join(t, l, r, i, j, out, oa, ob, oc, oj, tail, ot, sa, sb, w, psi, turned)
        join_forces(t, l, r, i, j, out, oa, ob, oc, oj, tail, ot, sa, sb, w, psi, turned, force)
    elif kind == LEAF:
        if not t.lone[i]:
            ol = at[l] if l >= 0 else 0
            if matrices:
                smallest = leaf(t, j, i, l >= 0, out, at[i], ol, w, psi)
            leaf_forces(t, j, i, l >= 0, out, at[i], ol, w, psi, external)
    elif kind == LIGHT:
        turned = turn_of_joint(t, j, q, w)
        lone = t.lone[l] != 0
        absorbed = t.left[l]
        ol = at[absorbed] if lone and absorbed >= 0 else -1
        ob, oc, oj, ot, sb = at[l], at[i], joint_at[i], tail_at[i], t.joints[l] > 0
        if matrices:
            smallest = light(t, j, lone, out, ob, ol, oc, oj, tail, ot, sb, w, psi, turned)
        light_forces(t, j, lone, out, ob, ol, oc, oj, tail, ot, sb, w, psi, turned, force, external)
    else:
        if matrices:
            sum_up(out, at[l], at[r], at[i], psi)
        sum_forces(out, at[l], at[r], at[i], psi)
    return smallest


# What a node is told from above lies in `told`, twelve numbers a node: the forces f1 and f2 on a stretch; the body's
# acceleration for a LIGHT or SUM, and for a LEAF that is alone under a LIGHT.


@helper
def join_down(t, i, out, oj, q, told, ta, tb, ti, w, qdd):
    """A JOIN: its joint's acceleration, and the forces on its parts [QS (4), (5)]."""
    j = t.item[i]
    k, iv = 6 - t.forbidden[j], t.iv[j]
    below = t.open[i] != 0
    f1, f2 = six(told, ti), six(told, ti + 6)
    ut, ub, r = oj + JOINT, oj + JOINT + 6 * k, oj + JOINT + 12 * k
    for a in range(k):
        x = out[r + a] + dot(six(out, ut + 6 * a), f1)
        if below:
            x -= dot(six(out, ub + 6 * a), f2)
        qdd[iv + a] = x
    for a in range(6):
        x = out[oj + GAMMA + a] + dot(six(out, oj + FT + 6 * a), f1)
        if below:
            x -= dot(six(out, oj + FB + 6 * a), f2)
        w[XV + a] = x
    revolute, cos, sin, both = turn_of_joint(t, j, q, w)
    upper = back(w, XV, revolute, cos, sin) * -1.0
    lower = times(w, XV, w, EB) if both else six(w, XV)
    set_six(told, ta, f1)
    set_six(told, ta + 6, upper)
    set_six(told, tb, lower)
    set_six(told, tb + 6, f2)


@helper
def leaf_down(t, i, out, top, b, told, to, ti, w):
    """A LEAF on a path, with something absorbed into it: the body's acceleration. top, b: where Phi1 and b1 lie."""
    f = six(told, ti)
    if t.open[i]:
        f = f + times(told, ti + 6, t.to_joint, 36 * t.heavy[t.item[i]])
    set_six(w, XV, f)
    set_six(told, to, times(w, XV, out, top) + six(out, b))


@helper
def light_down(t, i, out, oj, q, told, to, ti, w, qdd):
    """A LIGHT: its joint's acceleration, and the force on its path, or, under it alone, its body's acceleration."""
    j = t.item[i]
    k, iv = 6 - t.forbidden[j], t.iv[j]
    a = six(told, ti)
    for x in range(6):  # a' = X T a
        w[XV + x] = dot(six(out, oj + FB + 6 * x), a)
    a = six(w, XV)
    both = t.joint[j] == UNIVERSAL
    if both:
        turn_of_joint(t, j, q, w)
    for x in range(k):
        qdd[iv + x] = out[oj + JOINT + 12 * k + x] + dot(six(out, oj + JOINT + 6 * x), a)
    if t.lone[t.left[i]]:
        for x in range(k):
            w[XV + 6 - k + x] += qdd[iv + x]
        set_six(told, to, times(w, XV, w, EB) if both else six(w, XV))
    else:
        f = six(out, oj + GAMMA)
        for x in range(6):
            w[QV + x] = dot(six(out, oj + FT + 6 * x), a)
        set_six(w, QV, six(w, QV) + f)
        set_six(told, to, times(w, QV, w, EB) if both else six(w, QV))
        set_six(told, to + 6, f * 0.0)
