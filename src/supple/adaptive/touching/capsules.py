"""Bounding capsules of shapes and boxes: segments with a radius. The distance of two of them is a lower bound for that
of their contents; for limbs it is a close one."""

from __future__ import annotations

import math

from supple.contact.geometry.points import clamp, norm
from supple.contact.memory import CAPSULE, SPHERE
from supple.spatial.algebra import dot, x_axis, y_axis, z_axis
from supple.spatial.compiler import helper

ROUNDING = 1e-6  #: bound on the rounding error of the distance of two capsules, relative to their sizes


@helper
def capsule_around_box(X, h):
    """The bounding capsule of a box with half edges h along the axes of X: its direction, that of the longest edge,
    half its length, and its radius."""
    if h.x >= h.y and h.x >= h.z:
        axis, half, radius = x_axis(X), h.x, math.sqrt(h.y * h.y + h.z * h.z)
    elif h.y >= h.z:
        axis, half, radius = y_axis(X), h.y, math.sqrt(h.x * h.x + h.z * h.z)
    else:
        axis, half, radius = z_axis(X), h.z, math.sqrt(h.x * h.x + h.y * h.y)
    return axis, half, radius


@helper
def capsule_around(shape):
    """The bounding capsule of a shape that is placed."""
    if shape.kind in (SPHERE, CAPSULE):
        axis, half, radius = z_axis(shape.X), shape.half.z if shape.kind == CAPSULE else 0.0, shape.half.x
    else:
        axis, half, radius = capsule_around_box(shape.X, shape.box)
    return axis, half, radius


@helper
def segment_distance(d, a, l, b, m):
    """The distance of two segments of half lengths l and m along unit vectors a and b [Ericson 2005, Real-Time
    Collision Detection, section 5.1.9]. d: from the centre of the first to that of the second."""
    ab, da, db = dot(a, b), dot(d, a), dot(d, b)
    x = clamp((da - ab * db) / max(1.0 - ab * ab, 1e-12), -l, l)
    y = clamp(ab * x - db, -m, m)
    x = clamp(da + ab * y, -l, l)
    return norm(d + b * y - a * x)
