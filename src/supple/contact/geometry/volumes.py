"""Boxes that contain the shapes of a node of an assembly tree, in the frame of the node's top body: the tree is the
hierarchy of bounding volumes [Lotan and others 2002, who do this for chains].

A node's box contains those of its two parts, placed by the joint between them. It stays valid while nothing moves
inside the node, wherever the node goes: only nodes that contain a moving joint renew theirs.
"""

from __future__ import annotations

from supple.spatial.algebra import Mat3, Vec3, dot, transpose
from supple.spatial.compiler import helper
from supple.spatial.fields import Number, Value
from supple.spatial.structs import Struct


class Volume(Struct):
    """A box."""

    c = Value(Vec3)  # its middle
    h = Value(Vec3)  # half edges; negative if there is nothing in it
    reach = Number()  # how far anything in it may move until pairs are listed again ...
    strays = Number()  # ... and relative to the first body of its tree


@helper
def nothing_in():
    return Vec3(-1.0, -1.0, -1.0)


@helper
def is_empty(h):
    return h.x < 0.0


@helper
def vec_abs(a):
    return Vec3(abs(a.x), abs(a.y), abs(a.z))


@helper
def mat_abs(R):
    return Mat3(vec_abs(R.r0), vec_abs(R.r1), vec_abs(R.r2))


@helper
def both(c, h, d, k):
    """The box that contains two."""
    if is_empty(h):
        return d, k
    if is_empty(k):
        return c, h
    low = Vec3(min(c.x - h.x, d.x - k.x), min(c.y - h.y, d.y - k.y), min(c.z - h.z, d.z - k.z))
    high = Vec3(max(c.x + h.x, d.x + k.x), max(c.y + h.y, d.y + k.y), max(c.z + h.z, d.z + k.z))
    return (low + high) * 0.5, (high - low) * 0.5


@helper
def with_turned(c, h, R, r, d, k):
    """The box c, h, made larger to contain another one, whose frame is at R, r."""
    if is_empty(k):
        return c, h
    return both(c, h, R @ d + r, mat_abs(R) @ k)


@helper
def is_above(n, height, R, r, volume, out):
    """Whether a box, whose frame is at R, r, is more than `out` above the plane n . x = height."""
    side = vec_abs(n @ R)
    return dot(n, R @ volume.c + r) - dot(side, volume.h) > height + out


@helper
def are_apart(R, r, A, S, s, B, out):
    """Whether a plane along a face of one of two boxes separates them by more than `out`. R, r and S, s: their
    frames."""
    C = transpose(R) @ S
    way = transpose(R) @ (S @ B.c + s - r) - A.c
    sizes = mat_abs(C)
    room = A.h + sizes @ B.h
    if abs(way.x) > room.x + out or abs(way.y) > room.y + out or abs(way.z) > room.z + out:
        return True
    back = way @ C
    room = B.h + A.h @ sizes
    return abs(back.x) > room.x + out or abs(back.y) > room.y + out or abs(back.z) > room.z + out
