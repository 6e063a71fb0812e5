"""Which trees have passes instead of rows [passes.py].

Trees that touch each other form a group, which has either rows or passes, by estimated cost. The cost of rows and of
their equations grows with the square and the cube of the depth of a tree, that of passes with the number of its bodies,
even if there are few touches.
"""

from __future__ import annotations

from supple.contact.islands import set_of, touch_at
from supple.contact.memory import LIMIT
from supple.model.joint_poses import DOF
from supple.spatial.compiler import helper, part

#: Approximate costs in nanoseconds. By rows: the cube of the number of Newton's equations, divided by CUBES, and ENTRY
#: for an entry. By passes: BODY for a body, and BETWEEN for a touch between two bodies.
CUBES, ENTRY, BODY, BETWEEN = 10, 10, 700, 4000


@helper
def bodies_of(touch, owner):
    """The two bodies of a touch, the higher index first; the other is -1 if there is none."""
    if touch.kind == LIMIT:
        return owner[touch.a], -1
    return max(touch.a, touch.b), min(touch.a, touch.b)


@helper
def count_touches(scene, owner):
    """Touches and estimated costs of every tree; trees that touch each other are joined."""
    T, m = scene.deep, scene.model
    for b in range(m.n):
        p, k = m.bodies[b].parent, DOF[m.bodies[b].kind]
        T.above[b] = k + (T.above[p] if p >= 0 else 0)
        T.root[b] = T.root[p] if p >= 0 else b
        T.joined[b], T.count[b], T.width[b], T.by_rows[b], T.by_passes[b], T.group[b] = b, 0, 0, 0, 0, -1
        T.width[T.root[b]] += k
        T.by_passes[T.root[b]] += BODY
    for k in range(scene.n):
        if scene.touches[k].aside:
            continue
        a, b = bodies_of(scene.touches[k], owner)
        one = T.root[a]
        T.by_rows[one] += ENTRY * T.above[a]
        T.count[one] += 1
        if b >= 0:
            other = T.root[b]
            T.by_rows[other] += ENTRY * T.above[b]
            T.by_passes[one] += BETWEEN
            if other != one:
                T.count[other] += 1
                T.joined[set_of(T.joined, other)] = set_of(T.joined, one)


@helper
def is_touched_root(T, b):
    return T.root[b] == b and T.count[b] > 0


@part
def choose_passes(scene, owner):
    """Chooses the groups that have passes. Returns whether there are any."""
    T, m = scene.deep, scene.model
    T.n_groups = 0
    if not T.possible:
        return False
    count_touches(scene, owner)
    for b in range(m.n):
        if is_touched_root(T, b):
            n, r = min(3 * T.count[b], T.width[b]), set_of(T.joined, b)
            cost = T.by_rows[b] + n * n * n // CUBES
            if r != b:
                T.by_rows[r] += cost
                T.by_passes[r] += T.by_passes[b]
            else:
                T.by_rows[b] = cost
    for b in range(m.n):
        if is_touched_root(T, b) and set_of(T.joined, b) == b and T.price * T.by_rows[b] > T.by_passes[b]:
            T.group[b] = T.n_groups
            T.n_groups += 1
    return T.n_groups > 0


@helper
def group_of(T, b):
    """The group of a body, -1 if it has rows."""
    return T.group[set_of(T.joined, T.root[b])]


@helper
def sort_bodies(T, n):
    """Sorts bodies by groups."""
    for g in range(T.n_groups + 1):
        T.begins[g] = 0
    for b in range(n):
        if group_of(T, b) >= 0:
            T.begins[group_of(T, b) + 1] += 1
    for g in range(T.n_groups):
        T.begins[g + 1] += T.begins[g]
        T.count[g] = T.begins[g]
    for b in range(n):
        g = group_of(T, b)
        if g >= 0:
            T.order[T.count[g]] = b
            T.count[g] += 1


@helper
def enter_group(scene):
    """Makes the group of the current island the current one, and lists touches by body. If the island has rows, there
    is no current group."""
    T, g = scene.deep, touch_at(scene, scene.low).deep - 1
    T.low = T.high = 0
    if g >= 0:
        T.low, T.high = T.begins[g], T.begins[g + 1]
        for i in range(T.low, T.high):
            T.bodies[T.order[i]].head = -1
        for k in range(scene.high - 1, scene.low - 1, -1):
            touch = touch_at(scene, k)
            body = T.bodies[touch.home]
            touch.next, body.head = body.head, scene.sequence[k]


@helper
def enter_all_groups(scene):
    """Makes all groups together the current one. Returns whether there are any."""
    T = scene.deep
    T.low, T.high = 0, T.begins[T.n_groups] if T.n_groups > 0 else 0
    return T.high > 0


@helper
def is_deep(scene):
    """Whether the current island has passes."""
    return scene.deep.high > 0
