"""The corner of a convex hull that is farthest along a direction: uphill along edges. Where no neighbour of a corner is
farther, none at all is, since a hull is convex: O(sqrt(n)) corners are looked at. Climbs begin with the corner that is
farthest along the middle of the direction's sector, by the signs of its coordinates and the largest of them. So they
find the same one whatever was found before. Hulls of few corners are scanned.

A graph is one row of whole numbers: the first corner for each sector, then for every corner where its neighbours begin,
and these.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from supple.model.shapes import hull_of
from supple.spatial.algebra import Vec3, dot
from supple.spatial.compiler import helper

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SCANNED = 32  #: corners of hulls that are not climbed
SECTORS = 24
LONG = 2.0  #: the largest coordinate of the middle of a sector, relative to the others


def graph_of(points: Floats, at: int) -> Ints:
    """Of a hull with these corners; at: where the graph will be among others."""
    sides = hull_of(points).simplices
    ends = np.concatenate([sides[:, [i, j]] for i, j in itertools.permutations(range(3), 2)])
    ends = np.unique(ends, axis=0)
    signs = np.array([*itertools.product((1.0, -1.0), repeat=3)])[:, ::-1]  # x changes first
    middles = (signs[:, None] * (1.0 + (LONG - 1.0) * np.eye(3))).reshape(SECTORS, 3)
    first = np.argmax(middles @ points.T, axis=1)
    starts = at + SECTORS + len(points) + 1 + np.searchsorted(ends[:, 0], np.arange(len(points) + 1))
    return np.concatenate([first, starts, ends[:, 1]])


@helper
def sector_of(e):
    x, y, z = abs(e.x), abs(e.y), abs(e.z)
    largest = 0 if x >= y and x >= z else 1 if y >= z else 2
    return 3 * ((0 if e.x >= 0.0 else 1) + (0 if e.y >= 0.0 else 2) + (0 if e.z >= 0.0 else 4)) + largest


@helper
def hull_point(scene, A, k):
    p = 3 * (A.first + k)
    return Vec3(scene.points[p], scene.points[p + 1], scene.points[p + 2])


@helper
def scan_hull(scene, A, e):
    k, best = 0, dot(hull_point(scene, A, 0), e)
    for m in range(1, A.count):
        y = dot(hull_point(scene, A, m), e)
        if y > best:
            k, best = m, y
    return k


@helper
def climb_hull(scene, A, e):
    graphs = scene.graphs
    starts, k = A.graph + SECTORS, graphs[A.graph + sector_of(e)]
    best, here = dot(hull_point(scene, A, k), e), -1
    while here != k:
        here = k
        for m in range(graphs[starts + here], graphs[starts + here + 1]):
            y = dot(hull_point(scene, A, graphs[m]), e)
            if y > best:
                k, best = graphs[m], y
    return k


@helper
def farthest_index(scene, A, e):
    """Which corner of a hull is farthest along e, in its frame."""
    return climb_hull(scene, A, e) if A.graph >= 0 else scan_hull(scene, A, e)


@helper
def farthest_corner(scene, A, e):
    return hull_point(scene, A, farthest_index(scene, A, e))
