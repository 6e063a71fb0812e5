"""Newton's equations of an island in degrees of freedom: one block for each tree.

    (1 + Y^T A Y) dz = Y^T f,    v = Y dz,    change = f - A v

Two trees are coupled if a touch is between them. A has one 3x3 block for each touch, not symmetric where it slides; Y
as in rows.py.
"""

from __future__ import annotations

from supple.contact.blocks import begin_sets, connect, number_trees, order_unknowns, panel_of, trees_of
from supple.contact.islands import touch_at
from supple.contact.solvers.factors import block_size, columns_of, rows_of, substitute
from supple.spatial.addresses import from_entry
from supple.spatial.algebra import Vec3, dot
from supple.spatial.compiler import helper, part


@helper
def sort_down(numbers, n):
    """Shell's sort [1959]: children before their parents, so that limbs of a tree are eliminated before its root, and
    most of them do not couple."""
    gap = n // 2
    while gap > 0:
        for i in range(gap, n):
            x, at = numbers[i], i
            while at >= gap and numbers[at - gap] < x:
                numbers[at] = numbers[at - gap]
                at -= gap
            numbers[at] = x
        gap = gap // 2


@helper
def connect_trees(scene):
    """The blocks of every touch, and who is whose neighbour. Returns whether there was room."""
    B = scene.blocks
    n = number_trees(scene)
    for p in range(n):
        B.size[p] = 0
    for i in range(scene.n_local):
        B.size[B.number[B.tree[scene.dofs[i]]]] += 1
    if not begin_sets(B, n):
        return False
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        touch.p, touch.q = trees_of(scene, touch)
        if touch.p != touch.q:
            connect(B, touch.p, touch.q)
    return True


@helper
def renumber(scene):
    """Degrees of freedom in the order of their blocks."""
    B = scene.blocks
    for rank in range(B.n):
        B.where[rank] = B.first[rank]
    for i in range(scene.n_local):
        j = scene.dofs[i]
        rank = B.rank[B.number[B.tree[j]]]
        scene.local[j] = B.where[rank]
        B.where[rank] += 1
    for i in range(scene.n_local):
        B.swaps[scene.local[scene.dofs[i]]] = scene.dofs[i]
    for i in range(scene.n_local):
        scene.dofs[i] = B.swaps[i]


@helper
def place_touches(scene):
    """Ranks of the blocks of every touch, and where the second is among the neighbours of the first."""
    B = scene.blocks
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        p, q = B.rank[touch.p], B.rank[touch.q]
        touch.p, touch.q, touch.panel = min(p, q), max(p, q), 0
        if p != q:
            touch.panel = panel_of(B, touch.p, touch.q)


@part
def find_tree_pattern(scene):
    """Of the present island. Returns whether there was room for it."""
    sort_down(scene.dofs, scene.n_local)
    if not connect_trees(scene) or not order_unknowns(scene.blocks):
        return False
    renumber(scene)
    place_touches(scene)
    return True


@helper
def spread(scene, touch):
    """A Y of one touch, along the degrees of freedom of its two blocks. Returns how many there are, and the first that
    it acts on."""
    B, A, n = scene.blocks, touch.slope, block_size(scene.blocks, touch.p)
    last, shift, low = B.first[touch.p + 1], B.first[touch.q] - n, n
    n += block_size(B, touch.q) if touch.q != touch.p else 0
    for i in range(3 * n):
        B.spread[i] = 0.0
    for i in range(touch.first, touch.first + touch.count):
        e = scene.entries[i]
        f, at = A @ e.y, scene.local[e.dof]
        at -= B.first[touch.p] if at < last else shift
        B.spread[at], B.spread[n + at], B.spread[2 * n + at] = f.x, f.y, f.z
        low = min(low, at)
    return n, low


@helper
def add_row(to, f, n, y, count):
    """y^T of what is spread, to a row."""
    g, h = from_entry(f, n), from_entry(f, 2 * n)
    for c in range(count):
        to[c] += y.x * f[c] + y.y * g[c] + y.z * h[c]


@helper
def add_touch_block(scene, touch):
    """Y^T A Y of one touch."""
    B, p, q = scene.blocks, touch.p, touch.q
    n, low = spread(scene, touch)
    size, stride, first_p, first_q = block_size(B, p), block_size(B, p) + B.width[p], B.first[p], B.first[q]
    own, columns, other = rows_of(B, p), columns_of(B, p), rows_of(B, q)
    stride_q, f, g = block_size(B, q) + B.width[q], B.spread, from_entry(B.spread, size)
    for k in range(touch.first, touch.first + touch.count):
        y, row = scene.entries[k].y, scene.local[scene.entries[k].dof]
        if row < B.first[p + 1]:
            add_row(from_entry(own, stride * (row - first_p) + low), from_entry(f, low), n, y, size - low)
            add_row(from_entry(own, stride * (row - first_p) + size + touch.panel), g, n, y, n - size)
        else:
            to = from_entry(columns, size * (touch.panel + row - first_q) + low)
            add_row(to, from_entry(f, low), n, y, size - low)
            add_row(from_entry(other, stride_q * (row - first_q)), g, n, y, n - size)


@part
def assemble_trees(scene):
    """1 + Y^T A Y."""
    B = scene.blocks
    for i in range(B.product):
        B.numbers[i] = 0.0
    for rank in range(B.n):
        R, size = rows_of(B, rank), block_size(B, rank)
        for i in range(size):
            R[(size + B.width[rank] + 1) * i] = 1.0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if touch.active and touch.slope.r0.x > 0.0:
            add_touch_block(scene, touch)


@part
def solve_for_trees(scene):
    """v and change of touches, by f."""
    B = scene.blocks
    for i in range(scene.n_local):
        B.x[i] = 0.0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        for i in range(touch.first, touch.first + touch.count):
            B.x[scene.local[scene.entries[i].dof]] += dot(scene.entries[i].y, touch.f)
    substitute(B)
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        touch.v = answer_to(scene, touch, B.x)
        touch.change = touch.f - touch.slope @ touch.v


@helper
def answer_to(scene, touch, z):
    """Y z at a touch, of z by local numbers."""
    x = y = w = 0.0
    for i in range(touch.first, touch.first + touch.count):
        e = scene.entries[i]
        d, c = z[scene.local[e.dof]], e.y
        x, y, w = x + c.x * d, y + c.y * d, w + c.z * d
    return Vec3(x, y, w)
