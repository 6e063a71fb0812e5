"""Boxes of shapes in an order in which they can be swept.

They are sorted along the axis along which shapes that move spread the most at the moment, in strips across the second
one: a strip has the boxes that begin in it. Without strips, the number of boxes side by side along one axis, which all
are tried, would grow with the model. Few shapes are in one strip.

The order of the step before is nearly right, so that sorting by insertion costs O(n). Where it is not, heapsort
[Williams 1964] takes over. Boxes that begin alike are sorted by the numbers of shapes: the order does not depend on the
one before.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper

Floats = NDArray[np.float64]

FEW = 256  #: shapes in one strip
WIDE = 4.0  #: the width of strips, relative to the average size of shapes
FARTHEST = 1e15  #: the number of a strip
MOVES = 16  #: of each box by insertion, on average, before heapsort takes over


def width_of(boxes: Floats) -> float:
    """Of strips, for shapes with these half edges."""
    return WIDE * float(np.linalg.norm(boxes, axis=1).mean()) if len(boxes) > FEW else math.inf


@helper
def axis_of(scene):
    """The axes along which shapes on bodies spread the most, then less: first + 3 if the one after the first is the
    last."""
    low, high = Vec3(1e300, 1e300, 1e300), Vec3(-1e300, -1e300, -1e300)
    for i in range(scene.n_shapes - scene.n_flat):
        if scene.shapes[i].body >= 0:
            at = scene.shapes[i].at
            low = Vec3(min(low.x, at.x), min(low.y, at.y), min(low.z, at.z))
            high = Vec3(max(high.x, at.x), max(high.y, at.y), max(high.z, at.z))
    x, y, z = high.x - low.x, high.y - low.y, high.z - low.z
    if x >= y and x >= z:
        axis = 3 if z > y else 0
    elif y >= z:
        axis = 4 if x > z else 1
    else:
        axis = 5 if y > x else 2
    return axis


@helper
def turned_to(a, axis):
    """The coordinates of a along the axes of axis_of."""
    if axis % 3 == 1:
        a = Vec3(a.y, a.z, a.x)
    elif axis % 3 == 2:
        a = Vec3(a.z, a.x, a.y)
    return a if axis < 3 else Vec3(a.x, a.z, a.y)


@helper
def strip_at(scene, y):
    return math.floor(min(max(y / scene.width, -FARTHEST), FARTHEST))


@helper
def comes_after(one, two):
    """Whether a span comes after another."""
    if one.strip != two.strip:
        return one.strip > two.strip
    return one.low.x > two.low.x or (one.low.x == two.low.x and one.shape > two.shape)


@helper
def copy_span(source, to):
    to.low, to.high, to.shape, to.strip = source.low, source.high, source.shape, source.strip


@helper
def sift_down(spans, spare, i, n):
    """Span i, in a heap of n whose top comes last, to where it belongs."""
    copy_span(spans[i], spare)
    k = 2 * i + 1
    while k < n:
        if k + 1 < n and comes_after(spans[k + 1], spans[k]):
            k += 1
        if not comes_after(spans[k], spare):
            break
        copy_span(spans[k], spans[i])
        i, k = k, 2 * k + 1
    copy_span(spare, spans[i])


@helper
def sort_as_heap(spans, spare, n):
    for i in range(n // 2 - 1, -1, -1):
        sift_down(spans, spare, i, n)
    for end in range(n - 1, 0, -1):
        copy_span(spans[0], spare)
        copy_span(spans[end], spans[0])
        copy_span(spare, spans[end])
        sift_down(spans, spare, 0, end)


@helper
def sort_by_insertion(spans, spare, n):
    """Returns whether that was done with few moves."""
    left = MOVES * n
    for k in range(1, n):
        at = k
        copy_span(spans[k], spare)
        while at > 0 and comes_after(spans[at - 1], spare):
            copy_span(spans[at - 1], spans[at])
            at -= 1
        copy_span(spare, spans[at])
        left -= k - at
        if left < 0:
            return False
    return True


@helper
def order_spans(scene):
    """Those of shapes that are placed, and where strips begin."""
    spans, n, axis = scene.spans, scene.n_shapes - scene.n_flat, axis_of(scene)
    scene.pairs.axis = axis
    for k in range(n):
        span, shape = spans[k], scene.shapes[spans[k].shape]
        span.low, span.high = turned_to(shape.low, axis), turned_to(shape.high, axis)
        span.strip = strip_at(scene, span.low.y)
    if not sort_by_insertion(spans, spans[n], n):
        sort_as_heap(spans, spans[n], n)
    scene.n_strips = 0
    for k in range(n):
        if k == 0 or spans[k].strip != spans[k - 1].strip:
            scene.strips[scene.n_strips] = k
            scene.n_strips += 1
    scene.strips[scene.n_strips] = n
