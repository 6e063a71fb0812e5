"""From the hybrid body to the fully articulated one: step 1 of the active region update [AD sections 5.1, 6].

The matrices of all nodes depend on positions alone, so only those of the active region are renewed. The linear
coefficients of a passive node come from its load cases (assembly/loads.py) and its motion; those of the nodes above a
force, and of the active region, from the nodes under them.

Accelerations are counted from what they are while no joint of the hybrid body accelerates, as in exact/dca.py: the
world then does not accelerate, and velocities and gravity enter as forces on the bodies.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.pushes import PUSH_ROW
from supple.adaptive.reduced import drive_joints, own_force, push_force, vec_at, without_joints
from supple.adaptive.regions import find_piece
from supple.adaptive.store import (
    CURRENT,
    HELD,
    INERTIA10,
    MOTION,
    MOVE,
    N_PATHS,
    N_PUSHES,
    POSE,
    SEEN,
    open_reduced,
    open_store,
)
from supple.assembly.desk import open_desk
from supple.assembly.loads import evaluate_absorbed, evaluate_stretch, force_in_basis, load_rigid_at
from supple.assembly.passes import renew
from supple.assembly.poses import beyond_joint, load_pose, span_of
from supple.assembly.tree import JOIN, LEAF, LIGHT
from supple.exact.motion import DOF
from supple.exact.rnea import rigid_force
from supple.exact.tables import DAMPING, IV, KIND
from supple.spatial.algebra import Force, Motion, cross
from supple.spatial.compiler import helper, kernel, part
from supple.spatial.rows import set_vec
from supple.spatial.sixes import set_six, six


@helper
def set_move(s, i, w, dw, a):
    """How the frame of node i moves: it turns with w and dw, its origin accelerates by a."""
    set_vec(s.motion, MOTION * i, w)
    set_vec(s.motion, MOTION * i + 3, dw)
    set_vec(s.motion, MOTION * i + 6, a)


@helper
def get_move(a, k):
    return vec_at(a, k), vec_at(a, k + 3), vec_at(a, k + 6)


@helper
def move_beyond(w, dw, a, R, r):
    """The motion of a frame that is rigidly at R, r in one that moves so."""
    return w @ R, dw @ R, (a + cross(dw, r) + cross(w, cross(w, r))) @ R


@helper
def find_piece_move(s, i):
    """The motion of a piece, from that of its reduced body."""
    w, dw, a = get_move(s.moves, MOVE * s.piece[i])
    R, r = load_pose(s.piece_pose, POSE * i)
    w, dw, a = move_beyond(w, dw, a, R, r)
    set_move(s, i, w, dw, a)


@helper
def find_child_move(t, d, s, i, child):
    """The motion of a part of a rigid node."""
    w, dw, a = get_move(s.motion, MOTION * i)
    kind, j = t.kind[i], t.item[i]
    if kind == LIGHT:
        R, r = load_pose(s.trees, POSE * j)
        R, r = beyond_joint(t, j, d.q, R, r)
        w, dw, a = move_beyond(w, dw, a, R, r)
    elif kind == JOIN and t.right[i] == child:
        R, r = span_of(t, t.left[i], s.trees, s.spans)
        R, r = beyond_joint(t, j, d.q, R, r)
        w, dw, a = move_beyond(w, dw, a, R, r)
    set_move(s, child, w, dw, a)


@helper
def resist(t, d, s, i):
    """The force of inertia on the body of a LEAF, which takes the place of its external force."""
    b = t.item[i]
    w, dw, a = get_move(s.motion, MOTION * i)
    f = rigid_force(load_rigid_at(s.own, INERTIA10 * b), w, dw, a)
    set_six(d.external, 6 * b, force_in_basis(t, b, Force(f.ang * -1.0, f.lin * -1.0)))


@kernel(types.float64(types.int64, types.int64, types.int64), "passive nodes", effort=2, nogil=True)
def evaluate(desk, store, i):
    """The linear coefficients of a passive node, whose motion is known."""
    t, d = open_desk(desk)
    s = open_store(store)
    w, dw, a = get_move(s.motion, MOTION * i)
    kind, l = t.kind[i], t.left[i]
    if kind == LEAF and t.lone[i]:
        resist(t, d, s, i)
        if l >= 0:
            set_move(s, l, w, dw, a)
            evaluate_absorbed(t, d, l, w, Motion(dw, a), s.loads, s.load_at)
    elif kind in (JOIN, LEAF):
        evaluate_stretch(t, d, i, w, Motion(dw, a), s.trees, s.spans, s.loads, s.load_at)
    else:
        evaluate_absorbed(t, d, i, w, Motion(dw, a), s.loads, s.load_at)
    return 0.0


@helper
def is_passive(s, i):
    """Neither active nor above a force."""
    return not (s.flags[i] & CURRENT or s.on_path[i])


@part
def prepare_parts(desk, store, i):
    """The linear coefficients of the passive parts of a rigid node, whose motion is known."""
    t, d = open_desk(desk)
    s = open_store(store)
    l, r = t.left[i], t.right[i]
    child = l
    while child >= 0:
        find_child_move(t, d, s, i, child)
        if is_passive(s, child):
            evaluate(desk, store, child)
        child = r if child == l else -1


@helper
def add_pushes(t, d, s):
    """The forces on the bodies that are pushed, to their external ones."""
    for x in range(s.counts[N_PUSHES]):
        i = s.push_leaf[x]
        rb, R, r = find_piece(t, d, s, CURRENT, i)
        S, o = load_pose(s.world, POSE * rb)
        X = S @ r + o
        R = S @ R
        w, v = vec_at(s.moves, MOVE * rb), vec_at(s.moves, MOVE * rb + 9)
        f = push_force(s.pushes, PUSH_ROW * x, R, X, Motion(S @ w, S @ (v + cross(w, r))))
        b = t.item[i]
        f = force_in_basis(t, b, Force(f.ang @ R, f.lin @ R))
        set_six(d.external, 6 * b, six(d.external, 6 * b) + f)


@kernel(types.float64(types.int64, types.int64), "to the articulated body", effort=3, nogil=True)
def convert(desk, store):
    """All coefficients that the choice of an acceleration update region begins with. Returns the smallest pivot."""
    t, d = open_desk(desk)
    s = open_store(store)
    m, x = open_reduced(store)
    without_joints(store, True, True, True)
    drive_joints(m, s, x, x.v)
    for b in range(m.n):
        iv, k = m.bodies[b, IV], DOF[m.bodies[b, KIND]]
        for j in range(iv, iv + k):
            d.force[j] = x.drive[j] - m.dofs[j, DAMPING] * x.v[j]
    seen, paths = s.counts[SEEN], s.counts[N_PATHS]
    for k in range(seen):
        i = s.seen[k]
        active = s.flags[i] & CURRENT
        if s.flags[i] & HELD:
            rest_force(t, s, x, d, t.item[i])
        if not active or t.kind[i] == LEAF:
            find_piece_move(s, i)
            if active:
                resist(t, d, s, i)
            elif not s.on_path[i]:
                evaluate(desk, store, i)
    for k in range(paths - 1, -1, -1):  # rigid nodes above forces, from above
        i = s.paths[k]
        if not s.flags[i] & CURRENT:
            if t.kind[i] == LEAF:
                resist(t, d, s, i)
            prepare_parts(desk, store, i)
    add_pushes(t, d, s)
    smallest = 1.0e300
    for k in range(paths):
        i = s.paths[k]
        if not s.flags[i] & CURRENT:
            renew(t, d, desk, i, True, False)
    for k in range(seen - 1, -1, -1):
        i = s.seen[k]
        if s.flags[i] & CURRENT:
            smallest = min(smallest, renew(t, d, desk, i, True, True))
    return smallest


@helper
def rest_force(t, s, x, d, j):
    """The forces of a joint that does not move."""
    for k in range(t.iv[j], t.iv[j] + DOF[t.joint[j]]):
        d.force[k] = own_force(s, x, k, 0.0)
