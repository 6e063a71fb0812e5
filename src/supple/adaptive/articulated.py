"""From the hybrid body to the fully articulated one: step 1 of the active region update [AD sections 5.1, 6].

The matrices of all nodes depend only on positions, so only those of the active region are recomputed. The linear
coefficients of a passive node come from its load cases (assembly/load_cases.py) and its motion. Those of nodes above a
force, and of the active region, come from the nodes below them.

Accelerations are relative to those of the hybrid body with zero joint accelerations, as in exact/dca.py: the world then
does not accelerate, and velocities and gravity enter as forces on the bodies.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.fetching import AHEAD, POSE_LINES, fetch_coefficients, fetch_joint, fetch_link, fetch_loads
from supple.adaptive.memory import CURRENT, HELD, HybridBody
from supple.adaptive.reduced import drive_joints, end_way, own_force, without_joints, zero
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.regions import find_piece
from supple.assembly.load_cases import evaluate_absorbed, evaluate_stretch, force_in_basis
from supple.assembly.passes import renew
from supple.assembly.poses import beyond_joint, pose_at, span_of
from supple.assembly.tree import JOIN, LEAF, LIGHT
from supple.exact.rnea import rigid_force
from supple.integrating.push_law import END, end_parts, push_force
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Force, Motion, cross
from supple.spatial.compiler import helper, kernel, part
from supple.spatial.cpu import fetch


@helper
def set_move(hybrid, i, w, dw, a):
    """Set the motion of the frame of node i: angular velocity w, angular acceleration dw, acceleration a of its
    origin."""
    move = hybrid.motion[i]
    move.w, move.dw, move.a = w, dw, a


@helper
def move_beyond(move, R, r):
    """The motion of a frame rigidly attached at pose R, r to a frame with this motion."""
    w, dw, a = move.w, move.dw, move.a
    return w @ R, dw @ R, (a + cross(dw, r) + cross(w, cross(w, r))) @ R


@helper
def find_piece_move(hybrid, i):
    """The motion of a piece, from that of its reduced body."""
    R, r = pose_at(hybrid.piece_pose, i)
    w, dw, a = move_beyond(hybrid.moves[hybrid.piece[i]], R, r)
    set_move(hybrid, i, w, dw, a)


@helper
def find_child_move(hybrid, i, child):
    """The motion of a part of a rigid node."""
    body, tree = hybrid.body, hybrid.body.tree
    move = hybrid.motion[i]
    w, dw, a = move.w, move.dw, move.a
    kind, j = tree.kind[i], tree.item[i]
    if kind == LIGHT:
        R, r = pose_at(tree.frames, j)
        R, r = beyond_joint(tree, j, body.q, R, r)
        w, dw, a = move_beyond(move, R, r)
    elif kind == JOIN and tree.right[i] == child:
        R, r = span_of(body, tree.left[i])
        R, r = beyond_joint(tree, j, body.q, R, r)
        w, dw, a = move_beyond(move, R, r)
    set_move(hybrid, child, w, dw, a)


@helper
def resist(hybrid, i):
    """The inertial force on the body of a LEAF, stored in place of its external force."""
    body, tree = hybrid.body, hybrid.body.tree
    b = tree.item[i]
    move = hybrid.motion[i]
    f = rigid_force(tree.inertias[b].Y, move.w, move.dw, move.a)
    body.external[b].f = force_in_basis(tree, b, Force(f.ang * -1.0, f.lin * -1.0))


@kernel(types.float64(HybridBody.type, types.int64), "passive nodes", effort=2, nogil=True)
def evaluate(hybrid, i):
    """The linear coefficients of a passive node whose motion is known."""
    body, tree = hybrid.body, hybrid.body.tree
    w, dw, a = hybrid.motion[i].w, hybrid.motion[i].dw, hybrid.motion[i].a
    kind, l = tree.kind[i], tree.left[i]
    if kind == LEAF and tree.lone[i]:
        resist(hybrid, i)
        if l >= 0:
            set_move(hybrid, l, w, dw, a)
            evaluate_absorbed(body, l, w, Motion(dw, a))
    elif kind in (JOIN, LEAF):
        evaluate_stretch(body, i, w, Motion(dw, a))
    else:
        evaluate_absorbed(body, i, w, Motion(dw, a))
    return 0.0


@helper
def is_passive(hybrid, i):
    """Neither active nor above a force."""
    return not (hybrid.flags[i] & CURRENT or hybrid.on_path[i])


@part
def prepare_parts(hybrid, i):
    """The linear coefficients of the passive parts of a rigid node whose motion is known."""
    tree = hybrid.body.tree
    l, r = tree.left[i], tree.right[i]
    child = l
    while child >= 0:
        find_child_move(hybrid, i, child)
        if is_passive(hybrid, child):
            evaluate(hybrid, child)
        child = r if child == l else -1


@helper
def push_on_body(hybrid, x):
    """The x-th push, along world axes and about the origin of its body; and the rotation of that."""
    rb, R, r = find_piece(hybrid, CURRENT, hybrid.push_leaf[x])
    S, o = pose_at(hybrid.world, rb)
    X = S @ r + o
    R = S @ R
    w, v = hybrid.moves[rb].w, hybrid.moves[rb].v
    push = hybrid.pushes[x]
    f = push_force(push, R, X, Motion(S @ w, S @ (v + cross(w, r))))
    if push.kind == END:
        end = hybrid.reduced_pushes[hybrid.push_order[x]]
        way, rate = end_way(hybrid, end)
        pull, drag = end_parts(end, way, rate)
        f = Force(cross(R @ push.point, pull + drag), pull + drag)
    return R, f


@helper
def add_pushes(hybrid):
    """Add the pushes on bodies to their external forces."""
    body, tree = hybrid.body, hybrid.body.tree
    for x in range(hybrid.n_pushes):
        R, f = push_on_body(hybrid, x)
        b = tree.item[hybrid.push_leaf[x]]
        f = force_in_basis(tree, b, Force(f.ang @ R, f.lin @ R))
        body.external[b].f = body.external[b].f + f


@helper
def add_outer(hybrid):
    """Add further forces."""
    body, tree = hybrid.body, hybrid.body.tree
    for k in range(hybrid.n_outer):
        outer = hybrid.outer[k]
        body.external[outer.body].f = body.external[outer.body].f + force_in_basis(tree, outer.body, outer.f)


@kernel(types.float64(HybridBody.type), "to the articulated body", effort=3, nogil=True)
def update_articulated_body(hybrid):
    """Compute all coefficients needed to choose an acceleration update region. Returns the smallest pivot."""
    body, tree = hybrid.body, hybrid.body.tree
    m, x = open_reduced(hybrid)
    without_joints(hybrid, True, True, True)
    drive_joints(m, hybrid, x, x.v)
    for b in range(m.n):
        iv, k = m.bodies[b].iv, DOF[m.bodies[b].kind]
        for j in range(iv, iv + k):
            body.force[j] = x.drive[j] - m.dofs[j].damping * x.v[j]
    seen, paths = hybrid.n_seen, hybrid.n_paths
    for k in range(seen):
        i = hybrid.seen[k]
        active = hybrid.flags[i] & CURRENT
        if hybrid.flags[i] & HELD:
            rest_force(hybrid, x, tree.item[i])
        if active and tree.kind[i] == LEAF:
            find_piece_move(hybrid, i)
            resist(hybrid, i)
        elif not active and hybrid.on_path[i]:
            find_piece_move(hybrid, i)
    for k in range(paths - 1, -1, -1):  # rigid nodes above forces, from the top
        i = hybrid.paths[k]
        if not hybrid.flags[i] & CURRENT:
            if tree.kind[i] == LEAF:
                resist(hybrid, i)
            prepare_parts(hybrid, i)
    smallest = 1.0e300
    add_pushes(hybrid)
    add_outer(hybrid)
    for k in range(paths):
        i = hybrid.paths[k]
        if not hybrid.flags[i] & CURRENT:
            renew(body, i, True, False)
    for k in range(seen - 1, -1, -1):
        if k >= AHEAD:
            fetch_update(hybrid, hybrid.seen[k - AHEAD])
        i = hybrid.seen[k]
        if hybrid.flags[i] & CURRENT:
            smallest = min(smallest, renew(body, i, True, True))
        elif not hybrid.on_path[i]:
            find_piece_move(hybrid, i)
            if hybrid.asleep[i]:  # what it rests on carries it
                hybrid.motion[i].a = zero()
            evaluate(hybrid, i)
    return smallest


@helper
def fetch_update(hybrid, i):
    """Prefetch what the last loop of update_articulated_body needs for node i."""
    fetch_coefficients(hybrid.body, i)
    if hybrid.flags[i] & CURRENT:
        fetch_joint(hybrid.body, i)
        fetch_link(hybrid.body.tree, i)
    else:
        fetch_loads(hybrid.body, i)
        fetch(hybrid.motion, i, POSE_LINES)
        fetch(hybrid.piece_pose, i, POSE_LINES)
        fetch(hybrid.body.spans, i, POSE_LINES)


@helper
def rest_force(hybrid, x, j):
    """The forces of a joint at rest."""
    body, tree = hybrid.body, hybrid.body.tree
    for k in range(tree.iv[j], tree.iv[j] + DOF[tree.joint[j]]):
        body.force[k] = own_force(hybrid, x, k, 0.0)
