"""The pattern of Newton's equations of an island: one block for each tree, and an order in which they are eliminated.

Two trees are coupled if a touch is between them. To eliminate a block couples all that it is coupled to, so the order
decides how many blocks there are in the end: the block with the fewest neighbours comes first [minimum degree; George
and Liu 1989, The evolution of the minimum degree ordering algorithm]. Neighbours are kept as sets of bits, and joined
word by word.

    rank       place of a block in that order; the neighbours of a block are those of higher rank
    first      where the degrees of freedom of a block begin, in the numbers of scene.local; they are in that order
    neighbours, places   ranks of neighbours, in order, and where each begins among all; `begins`: where a block's do
    width      degrees of freedom of all neighbours
    rows       where the numbers of a block begin: its rows (size, size + width), then its columns (width, size)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.contact.islands import touch_at
from supple.spatial import fields
from supple.spatial.compiler import helper, part
from supple.spatial.fields import Integer, Integers
from supple.spatial.held import Held
from supple.spatial.structs import Struct

BITS = 32  #: of a word


class Blocks(Struct):
    """The pattern, and the numbers [factors.py]. What there is no room for is in `wanted_...`."""

    n = Integer()
    set_words = Integer()  # of a set of blocks
    tree = Integers()  # (nv,) of every degree of freedom
    number = Integers()  # (trees,) the block of a tree
    size = Integers()  # (blocks,) as everything up to rows
    degree = Integers()  # number of neighbours, -1 if eliminated
    rank = Integers()
    sequence = Integers()  # blocks by rank
    first = Integers()  # (blocks + 1,) by rank, as everything below
    begins = Integers()  # (blocks + 1,)
    width = Integers()
    rows = Integers()
    where = Integers()  # scratch: where a neighbour begins
    swaps = Integers()  # (nv,) rows that were exchanged
    sets = Integers()  # (blocks, words)
    neighbours = Integers()
    places = Integers()
    numbers = fields.Floats()
    spread = fields.Floats()  # (3, nv) of a touch, along its two blocks [factors.py]
    x = fields.Floats()  # (nv,) by local numbers: the right side, then the solution
    product = Integer()  # where scratch begins in numbers
    room_sets = Integer()
    room_lists = Integer()
    room_numbers = Integer()
    wanted_sets = Integer()
    wanted_lists = Integer()
    wanted_numbers = Integer()


def blocks_for(tree: NDArray[np.int64]) -> Held:
    """The memory, given the tree of every degree of freedom; for patterns and numbers it grows by need."""
    n = len(tree)
    by_block = ("number", "size", "degree", "rank", "sequence", "first", "begins", "width", "rows", "where")
    arrays = {name: np.zeros(n + 1, dtype=np.int64) for name in (*by_block, "swaps", "sets", "neighbours", "places")}
    return Blocks.of(
        tree=np.append(tree, 0), x=np.zeros(n + 1), spread=np.zeros(3 * n + 1), numbers=np.zeros(1), **arrays
    )


def make_room(blocks: Held) -> None:
    """For twice as much as was wanted, wherever that was too much."""
    if blocks.wanted_sets > blocks.room_sets:
        blocks.room_sets = 2 * blocks.wanted_sets
        blocks.sets = np.zeros(blocks.room_sets, dtype=np.int64)
    if blocks.wanted_lists > blocks.room_lists:
        blocks.room_lists = 2 * blocks.wanted_lists
        blocks.neighbours, blocks.places = np.zeros((2, blocks.room_lists), dtype=np.int64)
    if blocks.wanted_numbers > blocks.room_numbers:
        blocks.room_numbers = 2 * blocks.wanted_numbers
        blocks.numbers = np.zeros(blocks.room_numbers)


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
def number_blocks(scene):
    """One block for each tree of the present island."""
    B, n = scene.blocks, 0
    for i in range(scene.n_local):
        B.number[B.tree[scene.dofs[i]]] = -1
    for i in range(scene.n_local):
        tree = B.tree[scene.dofs[i]]
        if B.number[tree] < 0:
            B.number[tree], B.size[n] = n, 0
            n += 1
        B.size[B.number[tree]] += 1
    B.n, B.set_words = n, (n + BITS - 1) // BITS


@helper
def connect_blocks(scene):
    """The blocks of every touch, and who is whose neighbour."""
    B = scene.blocks
    for i in range(B.n * B.set_words):
        B.sets[i] = 0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        p = B.number[B.tree[scene.entries[touch.first].dof]]
        q = p
        for i in range(touch.first, touch.first + touch.count):
            b = B.number[B.tree[scene.entries[i].dof]]
            q = b if b != p else q
        touch.p, touch.q = p, q
        if p != q:
            B.sets[B.set_words * p + q // BITS] |= 1 << q % BITS
            B.sets[B.set_words * q + p // BITS] |= 1 << p % BITS


@helper
def count_bits(x):
    """Of a word."""
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F
    return (x * 0x01010101 >> 24) & 0xFF


@helper
def set_degree(B, b):
    total = 0
    for w in range(B.set_words):
        total += count_bits(B.sets[B.set_words * b + w])
    B.degree[b] = total


@helper
def join_neighbours(B, p):
    """Couples all neighbours of p with each other, and parts them from p."""
    words = B.set_words
    for b in range(B.n):
        if B.degree[b] >= 0 and B.sets[words * p + b // BITS] >> b % BITS & 1:
            for w in range(words):
                B.sets[words * b + w] |= B.sets[words * p + w]
            B.sets[words * b + b // BITS] &= ~(1 << b % BITS)
            B.sets[words * b + p // BITS] &= ~(1 << p % BITS)
            set_degree(B, b)


@helper
def order_blocks(B):
    """Their ranks."""
    for b in range(B.n):
        set_degree(B, b)
    for rank in range(B.n):
        best = -1
        for b in range(B.n):
            if B.degree[b] >= 0 and (best < 0 or B.degree[b] < B.degree[best]):
                best = b
        B.rank[best], B.sequence[rank], B.degree[best] = rank, best, -1
        join_neighbours(B, best)


@helper
def list_neighbours(B):
    """By rank. Returns whether there was room."""
    n = 0
    for rank in range(B.n):
        B.begins[rank], p = n, B.sequence[rank]
        for w in range(B.set_words):
            word, b = B.sets[B.set_words * p + w], BITS * w
            while word != 0:
                if word & 1:
                    at, other = n, B.rank[b]
                    if at < B.room_lists:
                        while at > B.begins[rank] and B.neighbours[at - 1] > other:
                            B.neighbours[at] = B.neighbours[at - 1]
                            at -= 1
                        B.neighbours[at] = other
                    n += 1
                word, b = word >> 1, b + 1
    B.begins[B.n] = n
    return n <= B.room_lists


@helper
def place_blocks(B):
    """Where numbers of blocks are. Returns how many there are."""
    at, widest = 0, 0
    for rank in range(B.n):
        size, width = B.size[B.sequence[rank]], 0
        for i in range(B.begins[rank], B.begins[rank + 1]):
            B.places[i] = width
            width += B.size[B.sequence[B.neighbours[i]]]
        B.width[rank], B.rows[rank] = width, at
        at += size * (size + 2 * width)
        widest = max(widest, width)
    B.product = at
    return at + widest * widest


@helper
def renumber(scene):
    """Degrees of freedom in the order of their blocks."""
    B, at = scene.blocks, 0
    for rank in range(B.n):
        B.first[rank] = B.where[rank] = at
        at += B.size[B.sequence[rank]]
    B.first[B.n] = at
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
            low, high = B.begins[touch.p], B.begins[touch.p + 1] - 1
            while low < high:
                middle = (low + high) // 2
                if B.neighbours[middle] < touch.q:
                    low = middle + 1
                else:
                    high = middle
            touch.panel = B.places[low]


@part
def find_pattern(scene):
    """Of the present island. Returns whether there was room for it."""
    B = scene.blocks
    sort_down(scene.dofs, scene.n_local)
    number_blocks(scene)
    B.wanted_sets = B.n * B.set_words
    if B.wanted_sets > B.room_sets:
        return False
    connect_blocks(scene)
    order_blocks(B)
    fits = list_neighbours(B)
    B.wanted_lists = B.begins[B.n]
    if not fits:
        return False
    B.wanted_numbers = place_blocks(B)
    renumber(scene)
    place_touches(scene)
    return B.wanted_numbers <= B.room_numbers
