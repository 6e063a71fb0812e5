"""The hybrid body of an active region: its pieces, and the tree that they form [AD section 4.1].

A node whose joint is active has the flag CURRENT (or another flag, while a region is being chosen), and so do all nodes
above it, and a LEAF or SUM that contains something active. Nodes without the flag directly below nodes with it are the
rigid front. A joint that also has HELD does not move, and is only on the way to others: where some are pinned, or at
the start of a run.
"""

from __future__ import annotations

from supple.adaptive.fetching import fetch_piece
from supple.adaptive.memory import CHOSEN, HELD, HOLD, UPDATE
from supple.adaptive.reduced import turn_rigid
from supple.assembly.joints import identity, pose_of_joint
from supple.assembly.load_cases import join_loads, leaf_loads, light_loads, sum_loads
from supple.assembly.poses import beyond_joint, compose, pose_at, renew_span, set_pose, span_of
from supple.assembly.tree import JOIN, LEAF, LIGHT
from supple.integrating.push_law import END, OWN_PUSH
from supple.model.joint_poses import TURNS
from supple.spatial.algebra import RigidInertia, Sym3, Vec3, shift_rigid
from supple.spatial.compiler import helper


@helper
def no_inertia():
    return RigidInertia(0.0, Vec3(0.0, 0.0, 0.0), Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))


@helper
def moved_rigid(R, r, Y):
    """A rigid inertia, transformed to the frame in which its own frame has pose R, r."""
    return shift_rigid(r, turn_rigid(R, Y))


@helper
def add_rigid(m, hybrid, rb, R, r, Y):
    """Add a piece to reduced body rb."""
    Y = moved_rigid(R, r, Y)
    if rb == 0:
        hybrid.world_inertia = hybrid.world_inertia + Y
    else:
        m.shapes[rb - 1].I = m.shapes[rb - 1].I + Y


@helper
def add_joint(hybrid, m, angles, rb, j, R, r):
    """Add active joint j to reduced body rb, in which its frame at zero position is R, r. Returns the body under it."""
    tree = hybrid.body.tree
    b = hybrid.n_joints
    kind, iq = tree.joint[j], tree.iq[j]
    hybrid.joints[b] = j
    m.bodies[b].parent = rb - 1
    m.bodies[b].kind = kind
    m.bodies[b].iq = iq
    m.bodies[b].iv = tree.iv[j]
    m.bodies[b].has_children = 0
    n = hybrid.n_angles
    m.bodies[b].angle = n
    for k in range(TURNS[kind]):
        angles[n + k] = iq + k
    hybrid.n_angles = n + TURNS[kind]
    m.shapes[b].tree_R = R
    m.shapes[b].tree_p = r
    m.shapes[b].I = no_inertia()
    m.shapes[b].pitch = tree.pitch[j]
    hybrid.n_joints = b + 1
    return b + 1


@helper
def can_move(hybrid, mask, i):
    """Whether the joint of a node in the region moves: not if it is locked or held."""
    tree = hybrid.body.tree
    flags = hybrid.flags[i]
    held = flags & HOLD if mask == CHOSEN else flags & HELD and not flags & mask & UPDATE
    return tree.forbidden[tree.item[i]] < 6 and not held


@helper
def piece_at(hybrid, i, rb, R, r):
    """Node i is, or starts, a piece of reduced body rb."""
    hybrid.piece[i] = rb
    set_pose(hybrid.piece_pose, i, R, r)


@helper
def build_reduced(hybrid, m, angles, mask, stack):
    """The reduced tree of the region with one of the flags in `mask`. `seen`: its nodes and the front, parents first.

    Walks along every path from its top down, with the current location: reduced body rb, pose R, r.
    """
    body, tree = hybrid.body, hybrid.body.tree
    hybrid.world_inertia = no_inertia()
    hybrid.n_joints = 0
    hybrid.n_angles = 0
    seen, top = 0, 0
    rb, R, r = 0, identity(), Vec3(0.0, 0.0, 0.0)
    stack[0] = 2 * (tree.n_nodes - 1)
    while top >= 0:
        i, again = stack[top] // 2, stack[top] % 2
        top -= 1
        kind, j = tree.kind[i], tree.item[i]
        if again:
            if kind == JOIN:  # between its parts
                if can_move(hybrid, mask, i):
                    rb = add_joint(hybrid, m, angles, rb, j, R, r)
                    R, r = identity(), Vec3(0.0, 0.0, 0.0)
                else:
                    R, r = beyond_joint(tree, j, body.q, R, r)
                top += 1
                stack[top] = 2 * tree.right[i]
            else:  # after the branches absorbed into a LEAF, or the path of a LIGHT: back to the previous location
                rb = hybrid.piece[i]
                R, r = pose_at(hybrid.piece_pose, i)
                if kind == LEAF and tree.open[i]:
                    S, q = pose_at(tree.frames, tree.heavy[j])
                    R, r = compose(R, r, S, q)
            continue
        hybrid.seen[seen] = i
        seen += 1
        piece_at(hybrid, i, rb, R, r)
        if not hybrid.flags[i] & mask:
            add_rigid(m, hybrid, rb, R, r, hybrid.rigid[i].Y)
            if (kind in (JOIN, LEAF)) and tree.open[i]:
                S, q = span_of(body, i)
                R, r = compose(R, r, S, q)
        elif kind == JOIN:
            fetch_piece(hybrid, tree.left[i])
            fetch_piece(hybrid, tree.right[i])
            stack[top + 1] = 2 * i + 1
            stack[top + 2] = 2 * tree.left[i]
            top += 2
        elif kind == LEAF:
            add_rigid(m, hybrid, rb, R, r, tree.inertias[j].Y)
            stack[top + 1] = 2 * i + 1
            stack[top + 2] = 2 * tree.left[i]
            top += 2
        elif kind == LIGHT:
            stack[top + 1] = 2 * i + 1
            stack[top + 2] = 2 * tree.left[i]
            top += 2
            S, q = pose_at(tree.frames, j)
            R, r = compose(R, r, S, q)
            if can_move(hybrid, mask, i):
                rb = add_joint(hybrid, m, angles, rb, j, R, r)
                R, r = identity(), Vec3(0.0, 0.0, 0.0)
            else:
                R, r = beyond_joint(tree, j, body.q, R, r)
        else:
            fetch_piece(hybrid, tree.left[i])
            fetch_piece(hybrid, tree.right[i])
            stack[top + 1] = 2 * tree.right[i]
            stack[top + 2] = 2 * tree.left[i]
            top += 2
    hybrid.n_seen = seen
    set_slots(m, hybrid.n_joints)


@helper
def set_slots(m, n):
    """As topology.slots: the last child of a body takes its slot, any other child has its own."""
    first = True
    for b in range(n - 1, -1, -1):  # PARENT_SLOT temporarily says whether b is the last child
        p = m.bodies[b].parent
        if p < 0:
            m.bodies[b].parent_slot = 1 if first else 0
            first = False
        else:
            m.bodies[b].parent_slot = 0 if m.bodies[p].has_children else 1
            m.bodies[p].has_children = 1
    for b in range(n):
        p = m.bodies[b].parent
        above = 0 if p < 0 else m.bodies[p].slot
        m.bodies[b].slot = above if m.bodies[b].parent_slot else b + 1
        m.bodies[b].parent_slot = above


@helper
def settle_inertia(hybrid, i):
    """The inertia of node i, and its span, as if everything under it were rigid: those of its parts are known."""
    body, tree = hybrid.body, hybrid.body.tree
    kind, j, l = tree.kind[i], tree.item[i], tree.left[i]
    if kind == JOIN:
        r = tree.right[i]
        if tree.open[i]:
            renew_span(body, i)
        R, p = span_of(body, l)
        R, p = beyond_joint(tree, j, body.q, R, p)
        Y = hybrid.rigid[l].Y + moved_rigid(R, p, hybrid.rigid[r].Y)  # I_A + I_B in a common frame [AD (6)]
    elif kind == LEAF:
        Y = tree.inertias[j].Y
        if l >= 0:
            Y = Y + hybrid.rigid[l].Y
    elif kind == LIGHT:
        R, p = pose_at(tree.frames, j)
        S, q = pose_of_joint(tree, j, body.q)
        R, p = compose(R, p, S, q)
        Y = moved_rigid(R, p, hybrid.rigid[l].Y)
    else:
        Y = hybrid.rigid[l].Y + hybrid.rigid[tree.right[i]].Y
    hybrid.rigid[i].Y = RigidInertia(Y.m, Y.h, Y.I)


@helper
def settle(hybrid, i):
    """Make node i and everything under it rigid, and compute its rigid-body data. Its matrices must be up to date."""
    body, tree = hybrid.body, hybrid.body.tree
    kind = tree.kind[i]
    settle_inertia(hybrid, i)
    if kind == JOIN:
        join_loads(body, i)
    elif kind == LEAF:
        if not tree.lone[i]:
            leaf_loads(body, i)
    elif kind == LIGHT:
        light_loads(body, i)
    else:
        sum_loads(body, i)


@helper
def is_piece(hybrid, mask, i):
    """Whether node i is a piece: on the front, or a leaf that contains something active."""
    tree = hybrid.body.tree
    up = tree.up[i]
    return hybrid.flags[i] & mask or up < 0 or hybrid.flags[up] & mask


@helper
def find_piece(hybrid, mask, i):
    """The reduced body that contains node i (inactive, or a LEAF), and the pose of its frame in it. O(depth)."""
    body, tree = hybrid.body, hybrid.body.tree
    R, r = identity(), Vec3(0.0, 0.0, 0.0)
    while not is_piece(hybrid, mask, i):
        up = tree.up[i]
        kind, j = tree.kind[up], tree.item[up]
        if kind == LIGHT or (kind == JOIN and tree.right[up] == i):
            S, q = pose_at(tree.frames, j)
            if kind == JOIN:
                S, q = span_of(body, tree.left[up])
            S, q = beyond_joint(tree, j, body.q, S, q)
            R, r = compose(S, q, R, r)
        i = up
    S, q = pose_at(hybrid.piece_pose, i)
    R, r = compose(S, q, R, r)
    return hybrid.piece[i], R, r


@helper
def place_pushes(hybrid, mask, stack):
    """The pushes as they act on the reduced bodies, sorted by reduced body."""
    n, bodies = hybrid.n_pushes, hybrid.n_joints + 1
    for rb in range(bodies + 1):
        hybrid.push_start[rb] = 0
    if n == 0:
        return
    for x in range(n):
        rb, _, _ = find_piece(hybrid, mask, hybrid.push_leaf[x])
        hybrid.push_start[rb + 1] += 1
    for rb in range(bodies):
        hybrid.push_start[rb + 1] += hybrid.push_start[rb]
    for rb in range(bodies):
        stack[rb] = hybrid.push_start[rb]
    for x in range(n):
        rb, R, r = find_piece(hybrid, mask, hybrid.push_leaf[x])
        push, to = hybrid.pushes[x], hybrid.reduced_pushes[stack[rb]]
        hybrid.push_order[x] = stack[rb]
        stack[rb] += 1
        to.kind, to.stiffness, to.damping, to.length = push.kind, push.stiffness, push.damping, push.length
        to.pulls, to.body = push.pulls, rb
        to.vector, to.moment, to.point = push.vector, push.moment, R @ push.point + r
        if push.kind == OWN_PUSH:
            to.vector, to.moment = R @ push.vector, R @ push.moment
    for x in range(n):
        if hybrid.pushes[x].kind == END:
            hybrid.reduced_pushes[hybrid.push_order[x]].other = hybrid.push_order[hybrid.pushes[x].other]
