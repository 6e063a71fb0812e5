"""Passes over the assembly tree, one node at a time: coefficients from the parts up, forces from the node down."""

from __future__ import annotations

from numba import types

from supple.assembly.absorbing import (
    Branch,
    leaf,
    leaf_forces,
    light,
    light_forces,
    lone_forces,
    lone_light,
    sum_forces,
    sum_up,
)
from supple.assembly.joint_turns import lower_back, moved_back, new_turn_matrices, revolute_turn
from supple.assembly.joints import turn_of_joint
from supple.assembly.memory import AssembledBody
from supple.assembly.nodes import Absorbed, Closing, Joint, Stretch
from supple.assembly.stretches import Joining, Own, Sides, join, join_forces, own_joint, sides_of
from supple.assembly.tree import JOIN, LEAF, LIGHT
from supple.model.joint_poses import REVOLUTE, UNIVERSAL
from supple.spatial.compiler import helper, kernel
from supple.spatial.cpu import dot
from supple.spatial.matrices import new_matrix

NONE_NEEDED = 1.0e300  #: the smallest pivot where nothing is eliminated

stretch_among, absorbed_among = Stretch.among, Absorbed.among
joint_among, closing_among = Joint.among, Closing.among

_node_signature = types.float64(AssembledBody.type, types.int64, types.boolean, types.boolean)


@helper
def stretch_of(body, i):
    return stretch_among(body.numbers, body.node_at[i])


@helper
def absorbed_of(body, i):
    return absorbed_among(body.numbers, body.node_at[i])


@helper
def joint_of_node(body, i):
    return joint_among(body.numbers, body.joint_at[i])


@helper
def closing_of(body, i):
    return closing_among(body.closings, body.closing_at[i])


@helper
def told(body, i):
    """The input that node i receives from above."""
    return body.told[body.told_at[i]]


@helper
def sides_of_leaf(tree, i, totals):
    """The Sides of a LEAF, as for a JOIN."""
    return Sides(False, False, tree.open[i] != 0, tree.right[tree.up[i]] == i, totals)


@helper
def next_joint(tree, b):
    """T of the joint that follows body b on its path."""
    return tree.links[max(tree.heavy[b], 0)].T


# --- upwards --------------------------------------------------------------------------------------------------------


@helper
def renew(body, i, totals, matrices):
    """Compute the coefficients of node i from those of its parts; without `matrices`, only the force-dependent ones.
    Returns the smallest pivot. If it is not positive, inertia is missing where it is needed."""
    tree = body.tree
    kind, j = tree.kind[i], tree.item[i]
    if kind == JOIN:
        if tree.joint[j] == REVOLUTE and tree.forbidden[j] == 5 and tree.armature[tree.iv[j]] == 0.0:
            return renew_revolute(body, i, totals, matrices)
        return renew_join(body, i, totals, matrices)
    if kind == LEAF:
        if tree.lone[i]:
            return NONE_NEEDED
        if tree.left[i] < 0 and not matrices:
            C = stretch_of(body, i)
            f = body.external[j].f
            leaf_forces(next_joint(tree, j), C, False, absorbed_of(body, i), sides_of_leaf(tree, i, totals), f)
            return NONE_NEEDED
        return renew_leaf(body, i, totals, matrices)
    if kind == LIGHT:
        return renew_light(body, i, totals, matrices)
    A, B, C = absorbed_of(body, tree.left[i]), absorbed_of(body, tree.right[i]), absorbed_of(body, i)
    if matrices:
        sum_up(A, B, C, totals)
    sum_forces(A, B, C, totals)
    return NONE_NEEDED


@helper
def joining_of(body, i, own, turn, totals):
    """The inputs and outputs of JOIN i."""
    tree = body.tree
    A, B, C = stretch_of(body, tree.left[i]), stretch_of(body, tree.right[i]), stretch_of(body, i)
    return Joining(A, B, C, joint_of_node(body, i), closing_of(body, i), own, sides_of(tree, i, totals), turn)


@kernel(_node_signature, "revolute joints of an assembly", effort=4, nogil=True)
def renew_revolute(body, i, totals, matrices):
    """A JOIN at a revolute joint without armature, the most common case: with constant sizes, loops unroll."""
    tree = body.tree
    _, Q, drive, armature, weight = own_joint(tree, tree.item[i], body.force, 1.0)
    own = Own(1, Q, drive, armature, weight)
    angle = turn_of_joint(tree, tree.item[i], body.q, new_turn_matrices())
    joining = joining_of(body, i, own, revolute_turn(angle.cos, angle.sin, new_turn_matrices()), totals)
    smallest = NONE_NEEDED
    if matrices:
        smallest = join(joining, False)
    join_forces(joining)
    return smallest


@kernel(_node_signature, "joints of an assembly", effort=5, nogil=True)
def renew_join(body, i, totals, matrices):
    """Any JOIN."""
    tree = body.tree
    own = own_joint(tree, tree.item[i], body.force, 1.0)
    joining = joining_of(body, i, own, turn_of_joint(tree, tree.item[i], body.q, new_turn_matrices()), totals)
    smallest = NONE_NEEDED
    if matrices:
        smallest = join(joining, True)
    join_forces(joining)
    return smallest


@kernel(_node_signature, "bodies of an assembly", effort=2, nogil=True)
def renew_leaf(body, i, totals, matrices):
    """A LEAF on a path."""
    tree = body.tree
    b, l, C, sides = tree.item[i], tree.left[i], stretch_of(body, i), sides_of_leaf(tree, i, totals)
    absorbed = absorbed_of(body, max(l, 0))
    smallest = NONE_NEEDED
    if matrices:
        smallest = leaf(tree.links[b].I, next_joint(tree, b), C, l >= 0, absorbed, sides)
    leaf_forces(next_joint(tree, b), C, l >= 0, absorbed, sides, body.external[b].f)
    return smallest


@helper
def branch_of_path(body, i, own, turn, totals):
    """The inputs and outputs of LIGHT i with a path under it."""
    path = body.tree.left[i]
    C, J, closing = absorbed_of(body, i), joint_of_node(body, i), closing_of(body, i)
    return Branch(stretch_of(body, path), body.tree.joints[path] > 0, C, J, closing, own, totals, turn)


@helper
def branch_of_body(body, i, own, turn, totals):
    """The inputs and outputs of LIGHT i with a single body under it."""
    under = body.tree.left[body.tree.left[i]]
    C, J, closing = absorbed_of(body, i), joint_of_node(body, i), closing_of(body, i)
    return Branch(absorbed_of(body, max(under, 0)), under >= 0, C, J, closing, own, totals, turn)


@kernel(_node_signature, "branches of an assembly", effort=4, nogil=True)
def renew_light(body, i, totals, matrices):
    """A LIGHT."""
    tree = body.tree
    j, path, smallest = tree.item[i], tree.left[i], NONE_NEEDED
    own, turn = own_joint(tree, j, body.force, 1.0), turn_of_joint(tree, j, body.q, new_turn_matrices())
    if tree.lone[path]:
        lone = branch_of_body(body, i, own, turn, totals)
        if matrices:
            smallest = lone_light(lone, tree.links[j].I, tree.links[j].T)
        lone_forces(lone, body.external[j].f)
    else:
        branch = branch_of_path(body, i, own, turn, totals)
        if matrices:
            smallest = light(branch, tree.links[j].T)
        light_forces(branch)
    return smallest


# --- downwards ------------------------------------------------------------------------------------------------------
# The input of a node from above: the forces f1 and f2 on a stretch; the body's acceleration for a LIGHT or SUM, and for
# a lone LEAF under a LIGHT.


@helper
def join_down(body, i):
    """A JOIN: its joint's acceleration, and the forces on its parts [QS (4), (5)]."""
    tree = body.tree
    j = tree.item[i]
    if tree.joint[j] == REVOLUTE and tree.forbidden[j] == 5:
        turn = turn_of_joint(tree, j, body.q, new_turn_matrices())
        _join_down(body, i, j, 1, revolute_turn(turn.cos, turn.sin, new_turn_matrices()))
    else:
        _join_down(body, i, j, 6 - tree.forbidden[j], turn_of_joint(tree, j, body.q, new_turn_matrices()))


@helper
def _join_down(body, i, j, k, turn):
    tree = body.tree
    J, iv, below = joint_of_node(body, i), tree.iv[j], tree.open[i] != 0
    here, upper, lower = told(body, i), told(body, tree.left[i]), told(body, tree.right[i])
    f1, f2 = here.f1, here.f2
    for a in range(k):
        x = J.rows[a].R + dot(J.rows[a].U1, f1)
        if below:
            x -= dot(J.rows[a].U2, f2)
        body.qdd[iv + a] = x  # [QS (4)]
    f = J.gamma + J.F1 @ f1  # f1^B [QS (5)]
    if below:
        f -= J.F2 @ f2
    upper.f1 = f1
    upper.f2 = moved_back(f, turn) * -1.0  # f2^A = -f1^B [QS (5)]
    lower.f1 = lower_back(f, turn)
    lower.f2 = f2


@helper
def leaf_down(body, i, Phi1, b1):
    """A LEAF on a path with absorbed branches: the body's acceleration."""
    tree = body.tree
    f = told(body, i).f1
    if tree.open[i]:
        f += told(body, i).f2 @ next_joint(tree, tree.item[i])
    told(body, tree.left[i]).f1 = f @ Phi1 + b1


@helper
def light_down(body, i):
    """A LIGHT: its joint's acceleration, and the force on its path, or the acceleration of the lone body under it."""
    tree = body.tree
    J, j = joint_of_node(body, i), tree.item[i]
    k, iv, to = 6 - tree.forbidden[j], tree.iv[j], told(body, tree.left[i])
    a = J.F2 @ told(body, i).f1  # E T a
    step = new_matrix()
    step[0] = a
    for x in range(k):
        qdd = J.rows[x].R + dot(J.rows[x].U1, a)  # [QS (6)], with the acceleration of the body above
        body.qdd[iv + x] = qdd
        step[0, 6 - k + x] += qdd
    f = step[0] if tree.lone[tree.left[i]] else J.gamma + J.F1 @ a  # f1^B [QS (7)]
    if tree.joint[j] == UNIVERSAL:
        f = lower_back(f, turn_of_joint(tree, j, body.q, new_turn_matrices()))
    to.f1 = f
    if not tree.lone[tree.left[i]]:
        to.f2 = a * 0.0


@helper
def sum_down(body, i):
    """A SUM: the body's acceleration is that of both parts."""
    tree, a = body.tree, told(body, i).f1
    told(body, tree.left[i]).f1 = a
    told(body, tree.right[i]).f1 = a


@helper
def lone_down(body, i):
    """A lone LEAF under a LIGHT, from which it received the body's acceleration."""
    told(body, body.tree.left[i]).f1 = told(body, i).f1
