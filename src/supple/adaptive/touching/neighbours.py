"""The neighbour list, kept up to date. Boxes of bodies that move farther than was expected when the list was built are
extended and tested against all others again, and the new candidate pairs are added. If there are too many of them, the
list is built again.

The clearance of a listed pair counts travel since the list was built. New pairs are tested in the next search
[clearance.py].
"""

from __future__ import annotations

from numba import types

from supple.adaptive.heapsort import sort
from supple.adaptive.memory import HybridBody
from supple.adaptive.touching.boxes import extend_box, needed_reach
from supple.adaptive.touching.clearance import UNKNOWN, in_same_tree, list_pair, update_travel
from supple.adaptive.touching.descent import search_boxes, search_flats
from supple.adaptive.touching.memory import touching_of
from supple.adaptive.touching.pairs import list_pairs
from supple.contact.geometry.points import norm
from supple.spatial.addresses import from_entry
from supple.spatial.algebra import dot
from supple.spatial.compiler import helper, kernel

MOST = 64  #: boxes that are extended in one search
FARTHER = 1.5  #: their new reach, relative to what is needed


@helper
def boxes_overlap(A, B):
    return (
        A.low.x <= B.high.x and B.low.x <= A.high.x
        and A.low.y <= B.high.y and B.low.y <= A.high.y
        and A.low.z <= B.high.z and B.low.z <= A.high.z
    )  # fmt: skip


@helper
def are_distant(hybrid, A, B):
    """Whether two boxes of one tree are too far apart to touch, by their bounding spheres in the frame of the root."""
    d, out = B.at_in_root - A.at_in_root, A.far + B.far + A.strays + B.strays + touching_of(hybrid).scene.length
    return dot(d, d) > out * out


@helper
def search_if_near(hybrid, A, B):
    """Adds the candidate pairs of two boxes at the end of the list, if they are near each other."""
    same_tree = in_same_tree(touching_of(hybrid), A.reduced_body - 1, B.reduced_body - 1)
    if A.reduced_body != B.reduced_body and boxes_overlap(A, B) and not (same_tree and are_distant(hybrid, A, B)):
        search_boxes(hybrid, A, B, same_tree)


@helper
def first_from(ascending, n, x):
    """The first of n numbers in ascending order that is not below x; n if there is none."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@helper
def search_all(hybrid, k):
    """Adds the candidate pairs of box k, which has been extended, with all others that may overlap it along x. Boxes
    stay in the order in which they were swept: `widest` and `grown` bound how far they are from where they began
    then."""
    touching = touching_of(hybrid)
    box, begins, sides = touching.boxes[k], touching.begins, touching.sides
    at, first, last = box.place, box.low.y, box.high.y
    sides[2 * at], sides[2 * at + 1] = first, last
    touching.widest = max(touching.widest, box.high.x - begins[at])
    touching.grown = max(touching.grown, begins[at] - box.low.x)
    search_flats(hybrid, box)
    i, end = first_from(begins, touching.n_boxes, box.low.x - touching.widest), box.high.x + touching.grown
    while i < touching.n_boxes and not begins[i] > end:
        if i != at and sides[2 * i] <= last and first <= sides[2 * i + 1]:
            search_if_near(hybrid, box, touching.boxes[touching.order[i]])
        i += 1


@helper
def search_tree(hybrid, k):
    """Adds the candidate pairs of box k, which has been extended, with others of its tree."""
    touching = touching_of(hybrid)
    box = touching.boxes[k]
    other = touching.travels[touching.travels[box.reduced_body - 1].root].box
    while other >= 0:
        if other != k:
            search_if_near(hybrid, box, touching.boxes[other])
        other = touching.boxes[other].next


@helper
def select_new(touching, before):
    """Collects in `scratch`, in ascending order, the pairs that were added after the first `before` of them and are not
    listed yet. Returns their number."""
    pairs, new, n, at = touching.pairs, touching.scratch, 0, 0
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
    """Merges the first n pairs in `scratch` into the list of `before` pairs, from the end of both."""
    scene, pairs, listed, new = touching.scene, touching.pairs, touching.list, touching.scratch
    i, j = before - 1, n - 1
    while j >= 0:
        to = i + j + 1
        if i >= 0 and pairs[i] > new[j]:
            pairs[to] = pairs[i]
            listed[to].one, listed[to].two, listed[to].clearance = listed[i].one, listed[i].two, listed[i].clearance
            i -= 1
        else:
            pairs[to], s = new[j], new[j] // scene.n_shapes
            list_pair(touching, listed[to], s, new[j] - s * scene.n_shapes, UNKNOWN)
            j -= 1
    touching.n_pairs = before + n


@helper
def extend_boxes(hybrid, h, fall):
    """Extends the boxes whose contents have left them, or may do so within a step of length h, and adds their new
    candidate pairs: O(active) for each. fall: the distance that bodies fall in the step. Returns whether the list is
    complete then."""
    touching, before, count = touching_of(hybrid), touching_of(hybrid).n_pairs, 0
    touching.extending = 1
    for k in range(touching.n_boxes):
        box = touching.boxes[k]
        if box.reduced_body > 0:
            reach, strays = needed_reach(hybrid, box, h, fall)
            if not (reach <= box.reach and strays <= box.strays):
                count += 1
                if count > MOST or not reach + strays < 1e300:
                    return False
                if reach > box.reach:
                    extend_box(hybrid, box, FARTHER * reach, max(FARTHER * strays, box.strays))
                    search_all(hybrid, k)
                else:
                    extend_box(hybrid, box, box.reach, FARTHER * strays)
                    search_tree(hybrid, k)
    if touching.n_pairs > touching.pair_room:
        return False
    if touching.n_pairs > before:
        insert_new(touching, before, select_new(touching, before))
    return True


@kernel(
    types.int64(HybridBody.type, types.int64, types.float64), "pairs of shapes that may touch", effort=2, nogil=True
)
def renew_list(hybrid, mask, h):
    """Updates the neighbour list, so that it has all pairs that may touch within h, and the travel of reduced bodies.
    Returns whether there is enough memory for it."""
    touching, fall = touching_of(hybrid), norm(hybrid.gravity) * h * h
    if touching.listed == touching.formed:
        update_travel(hybrid, h, fall)
    if touching.listed != touching.formed or not extend_boxes(hybrid, h, fall):
        list_pairs(hybrid, mask, h)
        update_travel(hybrid, h, fall)
    return touching.n_pairs <= touching.pair_room
