"""The hybrid body of an active region: its pieces, and the tree that they form [AD section 4.1].

A node whose joint is active has the flag CURRENT (or another one, while a region is being chosen); so have all nodes
above it, and a LEAF or SUM with something active in it. The nodes without it under those with it are the rigid front.
With HELD, too, a joint does not move, and is only on the way to others: where some are pinned, or as a run begins.
"""

from __future__ import annotations

from supple.adaptive.pushes import OWN_PUSH, P_KIND, P_MOMENT, P_POINT, P_VECTOR, PUSH_ROW
from supple.adaptive.reduced import turn_rigid
from supple.adaptive.store import ANGLES, HELD, INERTIA10, JOINTS, N_PUSHES, POSE, SEEN, UPDATE, open_store
from supple.assembly.desk import open_desk
from supple.assembly.joints import identity, pose_of_joint
from supple.assembly.loads import join_loads, leaf_loads, light_loads, load_rigid_at, sum_loads
from supple.assembly.poses import beyond_joint, compose, load_pose, renew_span, span_of, store_pose
from supple.assembly.tree import JOIN, LEAF, LIGHT
from supple.exact.motion import TURNS
from supple.exact.tables import (
    ANGLE,
    HAS_CHILDREN,
    IQ,
    IV,
    KIND,
    PARENT,
    PARENT_SLOT,
    PITCH,
    RIGID,
    SLOT,
    TREE_P,
    TREE_R,
)
from supple.spatial.algebra import RigidInertia, Vec3, shift_rigid
from supple.spatial.compiler import helper, part
from supple.spatial.rows import load_rigid, set_vec, store_mat, store_rigid, store_vec


@helper
def set_rigid(a, k, Y):
    """A rigid inertia to a[k:k+10]."""
    a[k] = Y.m
    set_vec(a, k + 1, Y.h)
    set_vec(a, k + 4, Vec3(Y.I.xx, Y.I.xy, Y.I.xz))
    set_vec(a, k + 7, Vec3(Y.I.yy, Y.I.yz, Y.I.zz))


@helper
def moved_rigid(R, r, Y):
    """A rigid inertia seen from the frame in which its own is R, r."""
    return shift_rigid(r, turn_rigid(R, Y))


@helper
def add_rigid(m, s, rb, R, r, Y):
    """A piece more of reduced body rb."""
    Y = moved_rigid(R, r, Y)
    if rb == 0:
        set_rigid(s.world_mass, 0, load_rigid_at(s.world_mass, 0) + Y)
    else:
        store_rigid(m.rows, rb - 1, RIGID, load_rigid(m.rows, rb - 1, RIGID) + Y)


@helper
def add_joint(t, m, s, angles, rb, j, R, r):
    """Joint j, active, on reduced body rb, where its frame before it moves is R, r. Returns the body under it."""
    b = s.counts[JOINTS]
    kind, iq = t.joint[j], t.iq[j]
    s.joints[b] = j
    m.bodies[b, PARENT] = rb - 1
    m.bodies[b, KIND] = kind
    m.bodies[b, IQ] = iq
    m.bodies[b, IV] = t.iv[j]
    m.bodies[b, HAS_CHILDREN] = 0
    n = s.counts[ANGLES]
    m.bodies[b, ANGLE] = n
    for k in range(TURNS[kind]):
        angles[n + k] = iq + k
    s.counts[ANGLES] = n + TURNS[kind]
    store_mat(m.rows, b, TREE_R, R)
    store_vec(m.rows, b, TREE_P, r)
    for k in range(RIGID, RIGID + INERTIA10):
        m.rows[b, k] = 0.0
    m.rows[b, PITCH] = t.pitch[j]
    s.counts[JOINTS] = b + 1
    return b + 1


@helper
def can_move(t, s, mask, i):
    """Whether the joint of a node, which is in the region, moves in it: not if it is locked or held."""
    flags = s.flags[i]
    return t.forbidden[t.item[i]] < 6 and (not flags & HELD or flags & mask & UPDATE)


@helper
def piece_at(s, i, rb, R, r):
    """Node i is, or begins, a piece of reduced body rb."""
    s.piece[i] = rb
    store_pose(s.piece_pose, POSE * i, R, r)


@helper
def build_reduced(t, d, m, s, angles, mask, stack):
    """The reduced tree of the region with one of the flags in `mask`. `seen`: its nodes and the front, parents first.

    A walk along every path from its top down, with the place where it is: reduced body rb, pose R, r.
    """
    for k in range(INERTIA10):
        s.world_mass[k] = 0.0
    s.counts[JOINTS] = 0
    s.counts[ANGLES] = 0
    seen, top = 0, 0
    rb, R, r = 0, identity(), Vec3(0.0, 0.0, 0.0)
    stack[0] = 2 * (t.nodes - 1)
    while top >= 0:
        i, again = stack[top] // 2, stack[top] % 2
        top -= 1
        kind, j = t.kind[i], t.item[i]
        if again:
            if kind == JOIN:  # between its parts
                if can_move(t, s, mask, i):
                    rb = add_joint(t, m, s, angles, rb, j, R, r)
                    R, r = identity(), Vec3(0.0, 0.0, 0.0)
                else:
                    R, r = beyond_joint(t, j, d.q, R, r)
                top += 1
                stack[top] = 2 * t.right[i]
            else:  # after what is absorbed into a LEAF, or hangs on a LIGHT's joint: back where it was
                rb = s.piece[i]
                R, r = load_pose(s.piece_pose, POSE * i)
                if kind == LEAF and t.open[i]:
                    S, q = load_pose(s.trees, POSE * t.heavy[j])
                    R, r = compose(R, r, S, q)
            continue
        s.seen[seen] = i
        seen += 1
        piece_at(s, i, rb, R, r)
        if not s.flags[i] & mask:
            add_rigid(m, s, rb, R, r, load_rigid_at(s.rigid, INERTIA10 * i))
            if (kind in (JOIN, LEAF)) and t.open[i]:
                S, q = span_of(t, i, s.trees, s.spans)
                R, r = compose(R, r, S, q)
        elif kind == JOIN:
            stack[top + 1] = 2 * i + 1
            stack[top + 2] = 2 * t.left[i]
            top += 2
        elif kind == LEAF:
            add_rigid(m, s, rb, R, r, load_rigid_at(s.own, INERTIA10 * j))
            stack[top + 1] = 2 * i + 1
            stack[top + 2] = 2 * t.left[i]
            top += 2
        elif kind == LIGHT:
            stack[top + 1] = 2 * i + 1
            stack[top + 2] = 2 * t.left[i]
            top += 2
            S, q = load_pose(s.trees, POSE * j)
            R, r = compose(R, r, S, q)
            if can_move(t, s, mask, i):
                rb = add_joint(t, m, s, angles, rb, j, R, r)
                R, r = identity(), Vec3(0.0, 0.0, 0.0)
            else:
                R, r = beyond_joint(t, j, d.q, R, r)
        else:
            stack[top + 1] = 2 * t.right[i]
            stack[top + 2] = 2 * t.left[i]
            top += 2
    s.counts[SEEN] = seen
    set_slots(m, s.counts[JOINTS])


@helper
def set_slots(m, n):
    """As topology.slots: the last child of a body takes its place, any other one of its own."""
    first = True
    for b in range(n - 1, -1, -1):  # PARENT_SLOT says, for now, whether b is the last child
        p = m.bodies[b, PARENT]
        if p < 0:
            m.bodies[b, PARENT_SLOT] = 1 if first else 0
            first = False
        else:
            m.bodies[b, PARENT_SLOT] = 0 if m.bodies[p, HAS_CHILDREN] else 1
            m.bodies[p, HAS_CHILDREN] = 1
    for b in range(n):
        p = m.bodies[b, PARENT]
        above = 0 if p < 0 else m.bodies[p, SLOT]
        m.bodies[b, SLOT] = above if m.bodies[b, PARENT_SLOT] else b + 1
        m.bodies[b, PARENT_SLOT] = above


@part
def settle_join(desk, store, i):
    t, d = open_desk(desk)
    s = open_store(store)
    join_loads(t, d, i, s.trees, s.spans, s.loads, s.load_at)


@part
def settle_leaf(desk, store, i):
    t, d = open_desk(desk)
    s = open_store(store)
    leaf_loads(t, d, i, s.own, s.trees, s.loads, s.load_at)


@part
def settle_light(desk, store, i):
    t, d = open_desk(desk)
    s = open_store(store)
    light_loads(t, d, i, s.own, s.trees, s.loads, s.load_at)


@helper
def settle(t, d, s, desk, store, i):
    """Node i is rigid from now on, and so is what is under it: what must be known of it. Its matrices are renewed."""
    kind, j, l = t.kind[i], t.item[i], t.left[i]
    if kind == JOIN:
        r = t.right[i]
        if t.open[i]:
            renew_span(t, i, d.q, s.trees, s.spans)
        R, p = span_of(t, l, s.trees, s.spans)
        R, p = beyond_joint(t, j, d.q, R, p)
        Y = load_rigid_at(s.rigid, INERTIA10 * l) + moved_rigid(R, p, load_rigid_at(s.rigid, INERTIA10 * r))
        settle_join(desk, store, i)
    elif kind == LEAF:
        Y = load_rigid_at(s.own, INERTIA10 * j)
        if l >= 0:
            Y = Y + load_rigid_at(s.rigid, INERTIA10 * l)
        if not t.lone[i]:
            settle_leaf(desk, store, i)
    elif kind == LIGHT:
        R, p = load_pose(s.trees, POSE * j)
        S, q = pose_of_joint(t, j, d.q)
        R, p = compose(R, p, S, q)
        Y = moved_rigid(R, p, load_rigid_at(s.rigid, INERTIA10 * l))
        settle_light(desk, store, i)
    else:
        Y = load_rigid_at(s.rigid, INERTIA10 * l) + load_rigid_at(s.rigid, INERTIA10 * t.right[i])
        sum_loads(t, i, s.loads, s.load_at)
    set_rigid(s.rigid, INERTIA10 * i, RigidInertia(Y.m, Y.h, Y.I))


@helper
def is_piece(t, s, mask, i):
    """Whether node i is one: on the front, or a leaf with something active in it."""
    up = t.up[i]
    return s.flags[i] & mask or up < 0 or s.flags[up] & mask


@helper
def find_piece(t, d, s, mask, i):
    """The reduced body that node i, not active but for a LEAF, is in, and where in it its frame is. O(depth)."""
    R, r = identity(), Vec3(0.0, 0.0, 0.0)
    while not is_piece(t, s, mask, i):
        up = t.up[i]
        kind, j = t.kind[up], t.item[up]
        if kind == LIGHT or (kind == JOIN and t.right[up] == i):
            S, q = load_pose(s.trees, POSE * j)
            if kind == JOIN:
                S, q = span_of(t, t.left[up], s.trees, s.spans)
            S, q = beyond_joint(t, j, d.q, S, q)
            R, r = compose(S, q, R, r)
        i = up
    S, q = load_pose(s.piece_pose, POSE * i)
    R, r = compose(S, q, R, r)
    return s.piece[i], R, r


@helper
def place_pushes(t, d, s, mask, stack):
    """The pushes as the reduced bodies feel them, by reduced body."""
    n, bodies = s.counts[N_PUSHES], s.counts[JOINTS] + 1
    for rb in range(bodies + 1):
        s.push_start[rb] = 0
    if n == 0:
        return
    for x in range(n):
        rb, _, _ = find_piece(t, d, s, mask, s.push_leaf[x])
        s.push_order[x] = rb
        s.push_start[rb + 1] += 1
    for rb in range(bodies):
        s.push_start[rb + 1] += s.push_start[rb]
    for rb in range(bodies):
        stack[rb] = s.push_start[rb]
    for x in range(n):
        rb, R, r = find_piece(t, d, s, mask, s.push_leaf[x])
        to, at = PUSH_ROW * stack[rb], PUSH_ROW * x
        stack[rb] += 1
        for k in range(PUSH_ROW):
            s.reduced_pushes[to + k] = s.pushes[at + k]
        p = Vec3(s.pushes[at + P_POINT], s.pushes[at + P_POINT + 1], s.pushes[at + P_POINT + 2])
        set_vec(s.reduced_pushes, to + P_POINT, R @ p + r)
        if s.pushes[at + P_KIND] == OWN_PUSH:
            for o in (P_VECTOR, P_MOMENT):
                f = Vec3(s.pushes[at + o], s.pushes[at + o + 1], s.pushes[at + o + 2])
                set_vec(s.reduced_pushes, to + o, R @ f)
