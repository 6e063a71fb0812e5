"""Blocks of Newton's equations of an island, and an order in which they are eliminated.

Eliminating a block couples all blocks that it is coupled to, so the order decides how many coupled pairs there are in
the end: the block whose neighbours have the fewest unknowns comes first [minimum degree; George and Liu 1989, The
evolution of the minimum degree ordering algorithm]. Neighbours are kept as sets of bits, and joined word by word.

    rank       place of a block in that order; the neighbours of a block are those of higher rank
    first      number of the first unknown of a block; unknowns are in the order of blocks
    neighbours, places   ranks of neighbours, in order, and where each begins among all; `begins`: where a block's do
    width      unknowns of all neighbours
    rows       where the numbers of a block begin: its rows (size, size + width), then its columns (width, size)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.spatial import fields
from supple.spatial.compiler import helper
from supple.spatial.fields import Integer, Integers
from supple.spatial.held import Held
from supple.spatial.structs import Struct

BITS = 32  #: of a word
MOST = 13  #: unknowns for each degree of freedom: of a body on a revolute joint [body_equations.py]


class Blocks(Struct):
    """The pattern, and the numbers [factors.py]. What there is no room for is in `wanted_...`."""

    n = Integer()
    set_words = Integer()  # of a set of blocks
    tree = Integers()  # (nv,) of every degree of freedom
    number = Integers()  # (trees,) of a tree in the present island
    struck = Integers()  # (trees,) whether touches surprise a tree [striking.py]
    dual = Integer()  # whether unknowns are impulses [equations.py]
    one = Integers()  # (blocks,) as everything up to rows: the trees of a group of touches [touch_equations.py]
    two = Integers()
    next = Integers()  # another group that `one` is the same of, -1: none
    size = Integers()
    degree = Integers()  # unknowns of all neighbours, -1 if eliminated
    rank = Integers()
    sequence = Integers()  # blocks by rank
    first = Integers()  # (blocks + 1,) by rank, as everything below
    begins = Integers()  # (blocks + 1,)
    width = Integers()
    rows = Integers()
    where = Integers()  # scratch: where a neighbour begins
    joins = Integers()  # (blocks + 1,) where touches of a group begin among members
    members = Integers()  # (touches,)
    swaps = Integers()  # (MOST nv,) rows that were exchanged
    sets = Integers()  # (blocks, words)
    neighbours = Integers()
    places = Integers()
    numbers = fields.Floats()
    responses = fields.Floats()  # W, pair by pair
    spread = fields.Floats()  # (3, nv) of a touch, along degrees of freedom
    x = fields.Floats()  # (MOST nv,) the right side, then the solution
    product = Integer()  # where scratch begins in numbers
    room_sets = Integer()
    room_lists = Integer()
    room_numbers = Integer()
    room_responses = Integer()
    wanted_sets = Integer()
    wanted_lists = Integer()
    wanted_numbers = Integer()
    wanted_responses = Integer()


def blocks_for(tree: NDArray[np.int64]) -> Held:
    """The memory, given the tree of every degree of freedom; for patterns and numbers it grows by need."""
    n = len(tree)
    by_block = ("one", "two", "next", "size", "degree", "rank", "sequence", "first", "begins", "width", "rows", "where")
    others = ("number", "struck", "joins", "members", "sets", "neighbours", "places")
    arrays = {name: np.zeros(n + 1, dtype=np.int64) for name in (*by_block, *others)}
    return Blocks.of(
        tree=np.append(tree, 0), x=np.zeros(MOST * n + 1), spread=np.zeros(3 * n + 1), numbers=np.zeros(1),
        responses=np.zeros(1), swaps=np.zeros(MOST * n + 1, dtype=np.int64), **arrays,
    )  # fmt: skip


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
    if blocks.wanted_responses > blocks.room_responses:
        blocks.room_responses = 2 * blocks.wanted_responses
        blocks.responses = np.zeros(blocks.room_responses)


@helper
def set_degree(B, b):
    total = 0
    for w in range(B.set_words):
        word, other = B.sets[B.set_words * b + w], BITS * w
        while word != 0:
            total += B.size[other] * (word & 1)
            word, other = word >> 1, other + 1
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
def order_unknowns(B):
    """The order of blocks whose sizes are known, and where numbers and unknowns of each are. Returns whether there was
    room; that for sets is there."""
    order_blocks(B)
    fits = list_neighbours(B)
    B.wanted_lists = B.begins[B.n]
    if not fits:
        return False
    B.wanted_numbers, at = place_blocks(B), 0
    for rank in range(B.n):
        B.first[rank] = at
        at += B.size[B.sequence[rank]]
    B.first[B.n] = at
    return B.wanted_numbers <= B.room_numbers


@helper
def begin_sets(B, n):
    """No neighbours, of n blocks. Returns whether there was room."""
    B.n, B.set_words = n, (n + BITS - 1) // BITS
    B.wanted_sets = n * B.set_words
    if B.wanted_sets > B.room_sets:
        return False
    for i in range(n * B.set_words):
        B.sets[i] = 0
    return True


@helper
def connect(B, p, q):
    """Makes two blocks neighbours."""
    B.sets[B.set_words * p + q // BITS] |= 1 << q % BITS
    B.sets[B.set_words * q + p // BITS] |= 1 << p % BITS


@helper
def panel_of(B, p, q):
    """Where the unknowns of a neighbour begin among those of all neighbours; both by rank."""
    low, high = B.begins[p], B.begins[p + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if B.neighbours[middle] < q:
            low = middle + 1
        else:
            high = middle
    return B.places[low]


@helper
def number_trees(scene):
    """Those of the present island. Returns how many there are."""
    B, n = scene.blocks, 0
    for i in range(scene.n_local):
        B.number[B.tree[scene.dofs[i]]] = -1
    for i in range(scene.n_local):
        tree = B.tree[scene.dofs[i]]
        if B.number[tree] < 0:
            B.number[tree] = n
            n += 1
    return n


@helper
def trees_of(scene, touch):
    """The one or two trees of a touch."""
    B = scene.blocks
    p = q = B.number[B.tree[scene.entries[touch.first].dof]]
    for i in range(touch.first, touch.first + touch.count):
        b = B.number[B.tree[scene.entries[i].dof]]
        q = b if b != p else q
    return p, q
