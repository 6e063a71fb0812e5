"""The neighbour list of a hybrid body: all candidate pairs, that is pairs of shapes that may touch within several
steps.

The broad phase sorts bounding boxes [boxes.py] along x and sweeps them, in strips across y. Where a box that
overlaps another one contains many bodies, the search descends along the assembly tree [descent.py]. Rigidly
connected shapes are no candidates. So building the list costs O(active log active + pairs log n), independent of the
number of links at rest.

Boxes include the motion of several steps, and the list is kept that long [Verlet 1967, who does this for atoms], or
until other joints are active. If a few bodies move farther than was expected, pairs are added for them
[neighbours.py]. Pairs are in ascending order, so that the touches of a step do not depend on when the list was
built.
"""

from __future__ import annotations

from supple.adaptive.radix_sort import sort_large
from supple.adaptive.touching.boxes import make_boxes
from supple.adaptive.touching.capsules import ROUNDING, segment_distance
from supple.adaptive.touching.clearance import clearance_of, list_pair, reset_travel
from supple.adaptive.touching.descent import search_boxes, search_flats
from supple.adaptive.touching.memory import touching_of
from supple.contact.geometry.finding import AHEAD
from supple.contact.geometry.points import norm
from supple.spatial.compiler import helper

KEPT, AFTER = 24, 4  #: steps for which a list is built: at most, and after the next update of active joints
BINS = 1 << 20  #: into which the extent along x is divided; boxes that begin in the same bin are in no order
STRIPS, FEW = 64, 128  #: strips of the sweep, at most; and boxes for each of them, at least, on average


@helper
def order_boxes(touching):
    """Sorts boxes along x by bins, and finds where they begin, rounded down to bins."""
    boxes, order, begins, n = touching.boxes, touching.order, touching.begins, touching.n_boxes
    low, high = 1e300, -1e300
    for k in range(n):
        low, high = min(low, boxes[k].low.x), max(high, boxes[k].low.x)
    bin_width = max((high - low) / BINS, 1e-300)
    for k in range(n):
        at = (boxes[k].low.x - low) / bin_width
        order[k] = (int(at) if 0.0 <= at <= BINS else 0) * n + k
    sort_large(order, touching.inside, touching.counts, n)
    for k in range(n):
        bin, order[k] = order[k] // n, order[k] % n
        begins[k] = low + (bin - 1) * bin_width  # one less because of rounding


@helper
def fill_sweep(touching):
    """Copies what the sweep needs of boxes, in their order."""
    begins, sides = touching.begins, touching.sides
    touching.widest = touching.grown = 0.0
    for k in range(touching.n_boxes):
        box, row = touching.boxes[touching.order[k]], touching.swept[k]
        row.low, row.high, row.box, row.reduced_body = box.low, box.high, touching.order[k], box.reduced_body
        row.tree = touching.travels[box.reduced_body - 1].root if box.reduced_body > 0 else -1
        row.here, row.at, row.axis, row.half, row.radius = box.here, box.at, box.axis, box.half, box.radius
        row.reach, row.strays = box.reach, box.strays
        box.place, sides[2 * k], sides[2 * k + 1] = k, box.low.y, box.high.y
        touching.widest = max(touching.widest, box.high.x - begins[k])


@helper
def are_near(touching, A, B, same_tree):
    """Whether the contents of two boxes may come close enough to touch, by their bounding capsules: where they are, for
    their relative motion in one tree, otherwise halfway along their expected motion."""
    if A.reduced_body == B.reduced_body:
        return False
    out = A.radius + B.radius + touching.scene.length + (A.strays + B.strays if same_tree else A.reach + B.reach)
    d = B.here - A.here if same_tree else B.at - A.at
    gap = segment_distance(d, A.axis, A.half, B.axis, B.half)
    return gap - ROUNDING * (A.half + B.half + A.radius + B.radius) <= out


@helper
def sweep_strip(hybrid, low, high):
    """Sweeps the boxes that reach into the strip from low to high across y. A pair is found in the strip where its
    overlap along y begins."""
    touching = touching_of(hybrid)
    boxes, swept, begins, sides, inside = (
        touching.boxes, touching.swept, touching.begins, touching.sides, touching.inside,
    )  # fmt: skip
    n = 0
    for k in range(touching.n_boxes):
        if sides[2 * k] < high and low <= sides[2 * k + 1]:
            inside[n] = k
            n += 1
    for i in range(n):
        A = swept[inside[i]]
        end, first, last = A.high.x, A.low.y, A.high.y
        for j in range(i + 1, n):
            l = inside[j]
            if begins[l] > end:
                break
            if sides[2 * l] <= last and first <= sides[2 * l + 1] and low <= max(first, sides[2 * l]):
                B = swept[l]
                same_tree = A.tree == B.tree and A.tree >= 0
                if A.low.z <= B.high.z and B.low.z <= A.high.z and are_near(touching, A, B, same_tree):
                    search_boxes(hybrid, boxes[A.box], boxes[B.box], same_tree)


@helper
def sweep_boxes(hybrid):
    """Sweeps all boxes, in strips that are twice as wide as boxes are on average."""
    touching = touching_of(hybrid)
    sides, n, width, low, high = touching.sides, touching.n_boxes, 0.0, 1e300, -1e300
    order_boxes(touching)
    fill_sweep(touching)
    for k in range(n):
        width += (sides[2 * k + 1] - sides[2 * k]) * 2.0 / n
        low, high = min(low, sides[2 * k]), max(high, sides[2 * k + 1])
    count = max(min(int((high - low) / max(width, 1e-300)), STRIPS, n // FEW), 1) if n > 0 else 0
    for s in range(count):
        begin = low + (high - low) * s / count if s > 0 else -1e300
        end = low + (high - low) * (s + 1) / count if s < count - 1 else 1e300
        sweep_strip(hybrid, begin, end)


@helper
def finish_list(touching):
    """Sorts the candidate pairs, and finds their clearance."""
    scene = touching.scene
    sort_large(touching.pairs, touching.scratch, touching.counts, touching.n_pairs)
    for k in range(touching.n_pairs):
        s = touching.pairs[k] // scene.n_shapes
        t = touching.pairs[k] - s * scene.n_shapes
        list_pair(touching, touching.list[k], s, t, clearance_of(scene, s, t))


@helper
def list_pairs(hybrid, mask, h):
    """Builds the neighbour list for several steps of the hybrid body, with the region with one of the flags in `mask`.
    h: the time within which touches are searched for. If there is not enough memory, touching.listed is 0."""
    touching = touching_of(hybrid)
    n = hybrid.body.tree.n_nodes
    ahead, g = min(KEPT, hybrid.every + AFTER) * hybrid.dt, norm(hybrid.gravity)
    touching.stamp += 1
    touching.n_pairs = touching.n_listed_shapes = touching.extending = 0
    reset_travel(hybrid)
    make_boxes(hybrid, mask, max(AHEAD * h, ahead), g * max(AHEAD * h * h, ahead * ahead), h)
    for k in range(touching.n_boxes):
        box = touching.boxes[k]
        if box.item < 2 * n and box.reduced_body > 0:
            search_flats(hybrid, box)
    sweep_boxes(hybrid)
    if touching.n_pairs <= touching.pair_room:
        finish_list(touching)
        touching.listed = touching.formed
    else:
        touching.listed = 0
