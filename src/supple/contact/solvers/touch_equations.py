"""Newton's equations of an island in impulses: one block for each group of touches between the same two trees.

    (1 + A W) change = f,    v = W change,    W = Y Y^T

Two groups are coupled if they have a tree in common. W stays the same as long as touches do; A changes from step to
step. Where it is zero, as of touches that are open, change is f, and there is no equation. A touch without friction has
one, others have three. Equations are divided by the size of their numbers, which differ by 1 / RHO [newton.py].
"""

from __future__ import annotations

from supple.contact.blocks import begin_sets, connect, number_trees, order_unknowns, place_blocks, trees_of
from supple.contact.islands import touch_at
from supple.contact.solvers.factors import block_size, columns_of, rows_of, substitute
from supple.contact.solvers.tree_equations import answer_to
from supple.spatial.addresses import from_entry
from supple.spatial.algebra import Vec3, dot
from supple.spatial.compiler import helper, part


@helper
def takes_part(touch):
    return touch.active and touch.W.xx > 0.0


@helper
def equations_of(touch):
    """How many there are if it is closed."""
    return 3 if touch.friction > 0.0 else 1


@helper
def count_equations(scene, inside):
    """Those of touches that seem to be closed; or of all."""
    total = 0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch) and (inside or touch.lam.x * touch.W.xx > touch.u.x + touch.bias):
            total += equations_of(touch)
    return total


# --- the pattern ------------------------------------------------------------------------------------------------------


@helper
def group_touches(scene):
    """The group of every touch, in touch.p. Returns how many there are. B.where: the first group of a tree."""
    B, n = scene.blocks, 0
    for p in range(number_trees(scene)):
        B.where[p] = -1
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            p, q = trees_of(scene, touch)
            p, q = min(p, q), max(p, q)
            g = B.where[p]
            while g >= 0 and B.two[g] != q:
                g = B.next[g]
            if g < 0:
                g, n = n, n + 1
                B.one[g], B.two[g], B.size[g], B.next[g] = p, q, 0, B.where[p]
                B.where[p] = g
            B.size[g] += equations_of(touch)
            touch.p = g
    return n


@helper
def share_tree(B, g, h):
    return B.one[g] in (B.one[h], B.two[h]) or B.two[g] in (B.one[h], B.two[h])


@helper
def list_members(scene):
    """Touches by the rank of their group, which then is touch.p."""
    B = scene.blocks
    for rank in range(B.n + 1):
        B.joins[rank] = 0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            touch.p = B.rank[touch.p]
            B.joins[touch.p + 1] += 1
    for rank in range(B.n):
        B.joins[rank + 1] += B.joins[rank]
        B.where[rank] = B.joins[rank]
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            B.members[B.where[touch.p]] = scene.sequence[k]
            B.where[touch.p] += 1


@part
def find_touch_pattern(scene):
    """Of the present island, with W. Returns whether there was room for it."""
    B = scene.blocks
    if not begin_sets(B, group_touches(scene)):
        return False
    for g in range(B.n):
        for h in range(g):
            if share_tree(B, g, h):
                connect(B, g, h)
    if not order_unknowns(B):
        return False
    list_members(scene)
    B.wanted_responses = 9 * count_pairs(B)
    if B.wanted_responses > B.room_responses:
        return False
    respond(scene)
    return True


# --- W ----------------------------------------------------------------------------------------------------------------


@helper
def count_pairs(B):
    """Of touches that W couples, each with itself, too."""
    total = 0
    for rank in range(B.n):
        n, beside = B.joins[rank + 1] - B.joins[rank], 0
        for i in range(B.begins[rank], B.begins[rank + 1]):
            b = B.neighbours[i]
            if share_tree(B, B.sequence[rank], B.sequence[b]):
                beside += B.joins[b + 1] - B.joins[b]
        total += n * (n + 1) // 2 + n * beside
    return total


@helper
def respond_to(scene, m, at):
    """W between the touch that is spread, and a member: its rows, into B.responses."""
    B = scene.blocks
    touch, spread, W = scene.touches[B.members[m]], B.spread, from_entry(B.responses, at)
    x = y = z = Vec3(0.0, 0.0, 0.0)
    for i in range(touch.first, touch.first + touch.count):
        e = scene.entries[i]
        j, c = 3 * scene.local[e.dof], e.y
        x, y, z = x + c * spread[j], y + c * spread[j + 1], z + c * spread[j + 2]
    W[0], W[1], W[2], W[3], W[4], W[5], W[6], W[7], W[8] = x.x, x.y, x.z, y.x, y.y, y.z, z.x, z.y, z.z


@part
def respond(scene):
    """W of all touches: of every member, with those that come after it in its group, then in the neighbours of that."""
    B, at = scene.blocks, 0
    for i in range(3 * scene.n_local):
        B.spread[i] = 0.0
    for m in range(B.joins[B.n]):
        touch = scene.touches[B.members[m]]
        for i in range(touch.first, touch.first + touch.count):
            e = scene.entries[i]
            j = 3 * scene.local[e.dof]
            B.spread[j], B.spread[j + 1], B.spread[j + 2] = e.y.x, e.y.y, e.y.z
        for k in range(m, B.joins[touch.p + 1]):
            respond_to(scene, k, at)
            at += 9
        for i in range(B.begins[touch.p], B.begins[touch.p + 1]):
            b = B.neighbours[i]
            if share_tree(B, B.sequence[touch.p], B.sequence[b]):
                for k in range(B.joins[b], B.joins[b + 1]):
                    respond_to(scene, k, at)
                    at += 9
        for i in range(touch.first, touch.first + touch.count):
            j = 3 * scene.local[scene.entries[i].dof]
            B.spread[j] = B.spread[j + 1] = B.spread[j + 2] = 0.0


# --- one step ---------------------------------------------------------------------------------------------------------


@helper
def size_of_row(a, W):
    return 1.0 / (1.0 + max(abs(a.x), abs(a.y), abs(a.z)) * max(W.xx, W.yy, W.zz))


@helper
def number_equations(scene):
    """Those of closed touches, and where their blocks are."""
    B, at = scene.blocks, 0
    for rank in range(B.n):
        B.first[rank] = at
        for m in range(B.joins[rank], B.joins[rank + 1]):
            touch = scene.touches[B.members[m]]
            A, W = touch.slope, touch.W
            touch.row, touch.rows = at, equations_of(touch) if A.r0.x > 0.0 else 0
            touch.scale = Vec3(size_of_row(A.r0, W), size_of_row(A.r1, W), size_of_row(A.r2, W))
            at += touch.rows
        B.size[B.sequence[rank]] = at - B.first[rank]
    B.first[B.n] = at
    place_blocks(B)


@helper
def put_block(to, stride, one, rows, x, y, z):
    """The equations of touch `one` over so many unknowns of another: A W, scaled, with the columns of W."""
    A, s = one.slope, one.scale
    p = A.r0 * s.x
    if one.rows == 1:
        to[0] = p.x * x.x
        if rows == 3:
            to[1], to[2] = p.x * y.x, p.x * z.x
        return
    q, r, second, third = A.r1 * s.y, A.r2 * s.z, from_entry(to, stride), from_entry(to, 2 * stride)
    to[0], second[0], third[0] = dot(p, x), dot(q, x), dot(r, x)
    if rows == 3:
        to[1], second[1], third[1] = dot(p, y), dot(q, y), dot(r, y)
        to[2], second[2], third[2] = dot(p, z), dot(q, z), dot(r, z)


@helper
def put_both(scene, one, m, at, above, stride, below, stride_below):
    """The equations of a touch over the unknowns of a member, and the other way round."""
    B = scene.blocks
    two, W = scene.touches[B.members[m]], from_entry(B.responses, at)
    x, y, z = Vec3(W[0], W[1], W[2]), Vec3(W[3], W[4], W[5]), Vec3(W[6], W[7], W[8])
    put_block(above, stride, one, two.rows, Vec3(x.x, y.x, z.x), Vec3(x.y, y.y, z.y), Vec3(x.z, y.z, z.z))
    put_block(below, stride_below, two, one.rows, x, y, z)


@helper
def put_touch(scene, m, at):
    """The equations of a member, and of all others that come after it over its unknowns. at: its W."""
    B = scene.blocks
    one = scene.touches[B.members[m]]
    rank = one.p
    size, length, row = block_size(B, rank), block_size(B, rank) + B.width[rank], one.row - B.first[rank]
    R, C = rows_of(B, rank), columns_of(B, rank)
    for k in range(m, B.joins[rank + 1]):
        beside = scene.touches[B.members[k]]
        if beside.rows > 0:
            to = beside.row - B.first[rank]
            above, below = from_entry(R, length * row + to), from_entry(R, length * to + row)
            put_both(scene, one, k, at, above, length, below, length)
        at += 9
    for i in range(B.begins[rank], B.begins[rank + 1]):
        b = B.neighbours[i]
        if share_tree(B, B.sequence[rank], B.sequence[b]):
            for k in range(B.joins[b], B.joins[b + 1]):
                beside = scene.touches[B.members[k]]
                if beside.rows > 0:
                    to = B.places[i] + beside.row - B.first[b]
                    above, below = from_entry(R, length * row + size + to), from_entry(C, size * to + row)
                    put_both(scene, one, k, at, above, length, below, size)
                at += 9
    R[(length + 1) * row] += one.scale.x
    if one.rows == 3:
        R[(length + 1) * (row + 1)] += one.scale.y
        R[(length + 1) * (row + 2)] += one.scale.z


@helper
def count_after(B, rank, m):
    """How many members W couples a member with, and itself."""
    total = B.joins[rank + 1] - m
    for i in range(B.begins[rank], B.begins[rank + 1]):
        b = B.neighbours[i]
        if share_tree(B, B.sequence[rank], B.sequence[b]):
            total += B.joins[b + 1] - B.joins[b]
    return total


@part
def assemble_touches(scene):
    """1 + A W of closed touches."""
    B, at = scene.blocks, 0
    number_equations(scene)
    for i in range(B.product):
        B.numbers[i] = 0.0
    for m in range(B.joins[B.n]):
        touch = scene.touches[B.members[m]]
        if touch.rows > 0:
            put_touch(scene, m, at)
        at += 9 * count_after(B, touch.p, m)


@helper
def push_local(scene, touch, z, change):
    """z += Y^T of a change of a touch's impulse, by local numbers. Returns whether it is any."""
    if change.x == 0.0 and change.y == 0.0 and change.z == 0.0:
        return False
    for i in range(touch.first, touch.first + touch.count):
        z[scene.local[scene.entries[i].dof]] += dot(scene.entries[i].y, change)
    return True


@part
def solve_for_touches(scene):
    """v and change of touches, by f."""
    B, n, z, moved = scene.blocks, scene.blocks.joins[scene.blocks.n], scene.blocks.spread, False
    for i in range(scene.n_local):
        z[i] = 0.0
    for m in range(n):
        touch = scene.touches[B.members[m]]
        touch.change = touch.f
        if touch.rows == 0:
            moved = push_local(scene, touch, z, touch.f) or moved
    for m in range(n):
        touch = scene.touches[B.members[m]]
        if touch.rows > 0:
            f, s, x = touch.f, touch.scale, touch.row
            f = f - touch.slope @ answer_to(scene, touch, z) if moved else f
            B.x[x] = s.x * f.x
            if touch.rows == 3:
                B.x[x + 1], B.x[x + 2] = s.y * f.y, s.z * f.z
    substitute(B)
    for m in range(n):
        touch = scene.touches[B.members[m]]
        if touch.rows > 0:
            x = touch.row
            touch.change = Vec3(B.x[x], B.x[x + 1], B.x[x + 2]) if touch.rows == 3 else Vec3(B.x[x], 0.0, 0.0)
            push_local(scene, touch, z, touch.change)
    for m in range(n):
        touch = scene.touches[B.members[m]]
        touch.v = answer_to(scene, touch, z)
