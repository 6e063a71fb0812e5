"""The list of pairs that may touch, kept up to date: bodies that stray, farther than was expected when pairs were
listed, meet all others again, and the pairs that this brings are added. Where too many stray, pairs are listed anew.

What is known of a listed pair is of where its shapes were when pairs were listed. New ones are simply tried in the next
search [touching_spares.py].
"""

from __future__ import annotations

from numba import types

from supple.adaptive.heapsort import sort
from supple.adaptive.memory import HybridBody
from supple.adaptive.touching_boxes import extend_box, ways_of
from supple.adaptive.touching_memory import touching_of
from supple.adaptive.touching_pairs import list_pairs, meet_boxes, meet_flats
from supple.adaptive.touching_spares import UNKNOWN, list_pair, shift_bodies
from supple.contact.points import norm
from supple.spatial.addresses import from_entry
from supple.spatial.compiler import helper, kernel

MOST = 64  #: boxes that are extended at a time
FARTHER = 1.5  #: times what is needed: how far they reach then


@helper
def overlap(A, B):
    """Whether two boxes do."""
    return (
        A.low.x <= B.high.x and B.low.x <= A.high.x
        and A.low.y <= B.high.y and B.low.y <= A.high.y
        and A.low.z <= B.high.z and B.low.z <= A.high.z
    )  # fmt: skip


@helper
def meet_all(hybrid, k):
    """What may touch box k, which has been extended; these pairs come after all others."""
    touching = touching_of(hybrid)
    box, begins, sides = touching.boxes[k], touching.begins, touching.sides
    first, last, end = box.low.y, box.high.y, box.high.x
    meet_flats(hybrid, box)
    for i in range(touching.n_boxes):
        if begins[i] <= end and sides[2 * i] <= last and first <= sides[2 * i + 1]:
            other = touching.order[i]
            if other == k:
                begins[i], sides[2 * i], sides[2 * i + 1] = box.low.x, first, last
            elif overlap(box, touching.boxes[other]):
                meet_boxes(hybrid, box, touching.boxes[other])


@helper
def select_new(touching, before):
    """Of the pairs after so many, those that are not among these: in ascending order, in `spare`. Returns their
    number."""
    pairs, new, n, at = touching.pairs, touching.spare, 0, 0
    more = from_entry(pairs, before)
    sort(more, touching.n_pairs - before)
    for k in range(touching.n_pairs - before):
        key = more[k]
        while at < before and pairs[at] < key:
            at += 1
        if (at == before or pairs[at] != key) and (n == 0 or new[n - 1] != key):
            new[n] = key
            n += 1
    return n


@helper
def insert_new(touching, before, n):
    """The first n pairs in `spare` among the others, from the end of both."""
    scene, pairs, listed, new = touching.scene, touching.pairs, touching.list, touching.spare
    i, j = before - 1, n - 1
    while j >= 0:
        to = i + j + 1
        if i >= 0 and pairs[i] > new[j]:
            pairs[to] = pairs[i]
            listed[to].one, listed[to].two, listed[to].spare = listed[i].one, listed[i].two, listed[i].spare
            i -= 1
        else:
            pairs[to], s = new[j], new[j] // scene.n_shapes
            list_pair(touching, listed[to], s, new[j] - s * scene.n_shapes, UNKNOWN)
            j -= 1
    touching.n_pairs = before + n


@helper
def catch_strays(hybrid, h, fall):
    """Extends the boxes of what has left them, or may within a step of length h, and adds the pairs that this brings:
    O(active) for each. fall: by gravity. Returns whether the list holds then."""
    touching, before, count = touching_of(hybrid), touching_of(hybrid).n_pairs, 0
    touching.again = 1
    for k in range(touching.n_boxes):
        box = touching.boxes[k]
        if box.part > 0:
            reach, strays = ways_of(hybrid, box, h, fall)
            if not (reach <= box.reach and strays <= box.strays):
                count += 1
                if count > MOST or not reach + strays < 1e300:
                    return False
                extend_box(hybrid, box, max(FARTHER * reach, box.reach), max(FARTHER * strays, box.strays))
                meet_all(hybrid, k)
    if touching.n_pairs > touching.pair_room:
        return False
    if touching.n_pairs > before:
        insert_new(touching, before, select_new(touching, before))
    return True


@kernel(
    types.int64(HybridBody.type, types.int64, types.float64), "pairs of shapes that may touch", effort=2, nogil=True
)
def renew_list(hybrid, mask, h):
    """So that it has all pairs that may touch within h, and how far they have moved is known. Returns whether there is
    room for it."""
    touching, fall = touching_of(hybrid), norm(hybrid.gravity) * h * h
    if touching.listed == touching.formed:
        shift_bodies(hybrid, h, fall)
    if touching.listed != touching.formed or not catch_strays(hybrid, h, fall):
        list_pairs(hybrid, mask, h)
        shift_bodies(hybrid, h, fall)
    return touching.n_pairs <= touching.pair_room
