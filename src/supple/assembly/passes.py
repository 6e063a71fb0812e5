"""One node at a time: from its parts upwards, and from the forces on it downwards."""

from __future__ import annotations

from numba import types

from supple.assembly.absorbing import (
    leaf,
    leaf_forces,
    light,
    light_forces,
    lone_forces,
    lone_light,
    sum_forces,
    sum_up,
)
from supple.assembly.desk import open_desk
from supple.assembly.joints import REVOLUTE, UNIVERSAL, turn_of_joint
from supple.assembly.nodes import Absorbed, Closing, Joint, Stretch
from supple.assembly.stretches import Own, Sides, join, join_forces, own_joint, sides_of
from supple.assembly.tree import JOIN, LEAF, LIGHT
from supple.assembly.turning import lower_back, moved_back, new_turn_matrices, revolute_turn
from supple.spatial.compiler import helper, kernel
from supple.spatial.matrices import matrix_among, new_matrix
from supple.spatial.sixes import dot, set_six, six

NONE_NEEDED = 1.0e300  #: the smallest pivot where nothing is eliminated

stretch_among, absorbed_among = Stretch.among, Absorbed.among
joint_among, closing_among = Joint.among, Closing.among

_int = types.int64
_node_signature = types.float64(_int, _int, types.boolean, types.boolean)


@helper
def stretch_of(d, i):
    return stretch_among(d.out, d.at[i])


@helper
def absorbed_of(d, i):
    return absorbed_among(d.out, d.at[i])


@helper
def joint_of_node(d, i):
    return joint_among(d.out, d.joint_at[i])


@helper
def closing_of(d, i):
    return closing_among(d.tail, d.tail_at[i])


@helper
def sides_of_leaf(t, i, totals):
    """What there is of a LEAF, as a JOIN has it."""
    return Sides(False, False, t.open[i] != 0, t.right[t.up[i]] == i, totals)


@helper
def next_joint(t, b):
    """T of the joint that follows body b on its path."""
    return matrix_among(t.to_joint, 36 * max(t.heavy[b], 0))


# --- upwards --------------------------------------------------------------------------------------------------------


@helper
def renew(t, d, desk, i, totals, matrices):
    """The coefficients of node i from those of its parts; without `matrices`, only those that depend on forces. Returns
    the smallest pivot: if it is not positive, there is no inertia where some is needed."""
    kind, j = t.kind[i], t.item[i]
    if kind == JOIN:
        if t.joint[j] == REVOLUTE and t.forbidden[j] == 5 and t.armature[t.iv[j]] == 0.0:
            return renew_revolute(desk, i, totals, matrices)
        return renew_join(desk, i, totals, matrices)
    if kind == LEAF:
        if t.lone[i]:
            return NONE_NEEDED
        if t.left[i] < 0 and not matrices:
            C = stretch_of(d, i)
            f = six(d.external, 6 * j)
            leaf_forces(next_joint(t, j), C, False, absorbed_of(d, i), sides_of_leaf(t, i, totals), f)
            return NONE_NEEDED
        return renew_leaf(desk, i, totals, matrices)
    if kind == LIGHT:
        return renew_light(desk, i, totals, matrices)
    A, B, C = absorbed_of(d, t.left[i]), absorbed_of(d, t.right[i]), absorbed_of(d, i)
    if matrices:
        sum_up(A, B, C, totals)
    sum_forces(A, B, C, totals)
    return NONE_NEEDED


@kernel(_node_signature, "revolute joints of an assembly", effort=4, nogil=True)
def renew_revolute(desk, i, totals, matrices):
    """A JOIN at a revolute joint without armature, of which there are most: with the numbers known, loops unroll."""
    t, d = open_desk(desk)
    A, B, C = stretch_of(d, t.left[i]), stretch_of(d, t.right[i]), stretch_of(d, i)
    J, closing, sides = joint_of_node(d, i), closing_of(d, i), sides_of(t, i, totals)
    _, Q, drive, armature, weight = own_joint(t, t.item[i], d.force, 1.0)
    own = Own(1, Q, drive, armature, weight)
    angle = turn_of_joint(t, t.item[i], d.q, new_turn_matrices())
    turn = revolute_turn(angle.cos, angle.sin, new_turn_matrices())
    smallest = NONE_NEEDED
    if matrices:
        smallest = join(A, B, C, J, closing, own, sides, turn, False)
    join_forces(A, B, C, J, closing, own, sides, turn)
    return smallest


@kernel(_node_signature, "joints of an assembly", effort=5, nogil=True)
def renew_join(desk, i, totals, matrices):
    """Any JOIN."""
    t, d = open_desk(desk)
    A, B, C = stretch_of(d, t.left[i]), stretch_of(d, t.right[i]), stretch_of(d, i)
    J, closing, sides = joint_of_node(d, i), closing_of(d, i), sides_of(t, i, totals)
    own, turn = own_joint(t, t.item[i], d.force, 1.0), turn_of_joint(t, t.item[i], d.q, new_turn_matrices())
    smallest = NONE_NEEDED
    if matrices:
        smallest = join(A, B, C, J, closing, own, sides, turn, True)
    join_forces(A, B, C, J, closing, own, sides, turn)
    return smallest


@kernel(_node_signature, "bodies of an assembly", effort=2, nogil=True)
def renew_leaf(desk, i, totals, matrices):
    """A LEAF on a path."""
    t, d = open_desk(desk)
    b, l, C, sides = t.item[i], t.left[i], stretch_of(d, i), sides_of_leaf(t, i, totals)
    absorbed = absorbed_of(d, max(l, 0))
    smallest = NONE_NEEDED
    if matrices:
        smallest = leaf(matrix_among(t.inertia, 36 * b), next_joint(t, b), C, l >= 0, absorbed, sides)
    leaf_forces(next_joint(t, b), C, l >= 0, absorbed, sides, six(d.external, 6 * b))
    return smallest


@kernel(_node_signature, "branches of an assembly", effort=4, nogil=True)
def renew_light(desk, i, totals, matrices):
    """A LIGHT."""
    t, d = open_desk(desk)
    j, path, smallest = t.item[i], t.left[i], NONE_NEEDED
    C, J, closing = absorbed_of(d, i), joint_of_node(d, i), closing_of(d, i)
    T, own, turn = (
        matrix_among(t.to_joint, 36 * j),
        own_joint(t, j, d.force, 1.0),
        turn_of_joint(t, j, d.q, new_turn_matrices()),
    )
    if t.lone[path]:
        some, I = t.left[path] >= 0, matrix_among(t.inertia, 36 * j)
        absorbed = absorbed_of(d, max(t.left[path], 0))
        if matrices:
            smallest = lone_light(I, some, absorbed, C, J, closing, T, own, totals, turn)
        lone_forces(some, absorbed, C, J, closing, own, totals, turn, six(d.external, 6 * j))
    else:
        B, jointed = stretch_of(d, path), t.joints[path] > 0
        if matrices:
            smallest = light(B, C, J, closing, T, own, jointed, totals, turn)
        light_forces(B, C, J, closing, own, jointed, totals, turn)
    return smallest


# --- downwards ------------------------------------------------------------------------------------------------------
# What a node is told from above: the forces f1 and f2 on a stretch; the body's acceleration for a LIGHT or SUM, and for
# a LEAF that is alone under a LIGHT.


@helper
def join_down(t, d, i):
    """A JOIN: its joint's acceleration, and the forces on its parts [QS (4), (5)]."""
    j = t.item[i]
    if t.joint[j] == REVOLUTE and t.forbidden[j] == 5:
        turn = turn_of_joint(t, j, d.q, new_turn_matrices())
        _join_down(t, d, i, j, 1, revolute_turn(turn.cos, turn.sin, new_turn_matrices()))
    else:
        _join_down(t, d, i, j, 6 - t.forbidden[j], turn_of_joint(t, j, d.q, new_turn_matrices()))


@helper
def _join_down(t, d, i, j, k, turn):
    J, told, iv, below = joint_of_node(d, i), d.told, t.iv[j], t.open[i] != 0
    ti, ta, tb = d.told_at[i], d.told_at[t.left[i]], d.told_at[t.right[i]]
    f1, f2 = six(told, ti), six(told, ti + 6)
    for a in range(k):
        x = J.rows[a].R + dot(J.rows[a].U1, f1)
        if below:
            x -= dot(J.rows[a].U2, f2)
        d.qdd[iv + a] = x  # [QS (4)]
    f = J.gamma + J.F1 @ f1
    if below:
        f -= J.F2 @ f2
    set_six(told, ta, f1)
    set_six(told, ta + 6, moved_back(f, turn) * -1.0)  # f2^A = -f1^B [QS (5)]
    set_six(told, tb, lower_back(f, turn))
    set_six(told, tb + 6, f2)


@helper
def leaf_down(t, d, i, Phi1, b1):
    """A LEAF on a path, with something absorbed into it: the body's acceleration."""
    f = six(d.told, d.told_at[i])
    if t.open[i]:
        f += six(d.told, d.told_at[i] + 6) @ next_joint(t, t.item[i])
    set_six(d.told, d.told_at[t.left[i]], f @ Phi1 + b1)


@helper
def light_down(t, d, i):
    """A LIGHT: its joint's acceleration, and the force on its path, or, under it alone, its body's acceleration."""
    J, j = joint_of_node(d, i), t.item[i]
    k, iv, to = 6 - t.forbidden[j], t.iv[j], d.told_at[t.left[i]]
    a = J.F2 @ six(d.told, d.told_at[i])  # E T a
    step = new_matrix()
    step[0] = a
    for x in range(k):
        qdd = J.rows[x].R + dot(J.rows[x].U1, a)
        d.qdd[iv + x] = qdd
        step[0, 6 - k + x] += qdd
    f = step[0] if t.lone[t.left[i]] else J.gamma + J.F1 @ a
    if t.joint[j] == UNIVERSAL:
        f = lower_back(f, turn_of_joint(t, j, d.q, new_turn_matrices()))
    set_six(d.told, to, f)
    if not t.lone[t.left[i]]:
        set_six(d.told, to + 6, a * 0.0)
