"""Where the nodes of a tree go on paper: depth across, and lanes down.

The longest way down from a node stays in its lane. What else hangs on it goes below, as near as there is room, the
deepest first, so that no line crosses another. Where that takes many lanes, as with short branches one after another
along a spine, lines may cross: then each way takes the first lane that is free over its length. Both take O(n log n)
for n nodes.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]

TOO_MANY = 3  #: times as many lanes as needed, from which lines may cross


def lanes(parent: ArrayLike) -> tuple[Ints, Ints]:
    """(n,) depth, from 1, and lane, from 0, of each node; parents come first, -1 is the parent of roots."""
    up = np.asarray(parent, dtype=np.int64).tolist()
    depth = [1] * len(up)
    children: list[list[int]] = [[] for _ in up]
    for i, p in enumerate(up):
        if p >= 0:
            depth[i] = depth[p] + 1
            children[p].append(i)
    height = [1] * len(up)
    for i in range(len(up) - 1, -1, -1):
        children[i].sort(key=lambda c: height[c])
        height[i] = 1 + max((height[c] for c in children[i]), default=0)
    lane = _apart(up, children)
    if max(lane) > TOO_MANY * np.bincount(depth).max():
        lane = _packed(up, children, depth, height)
    return np.array(depth, dtype=np.int64), np.array(lane, dtype=np.int64)


def _apart(up: list[int], children: list[list[int]]) -> list[int]:
    """Lanes in which nothing crosses."""
    lane = [0] * len(up)  # at first, below the parent's
    room: dict[int, list[int]] = {}  # lanes taken at each depth of what hangs on a node, deepest first
    for i in range(len(up) - 1, -1, -1):
        taken = room.pop(children[i][-1]) if children[i] else []
        for c in children[i][:-1]:
            own = room.pop(c)
            start = len(taken) - len(own)
            lane[c] = max(taken[start:])
            taken[start:] = [lane[c] + x for x in own]
        taken.append(1 + max((lane[c] for c in children[i]), default=0))  # the line down to the last of them
        room[i] = taken
    free = 0
    for i, p in enumerate(up):
        if p < 0:
            lane[i], free = free, free + max(room[i])
        else:
            lane[i] += lane[p]
    return lane


def _packed(up: list[int], children: list[list[int]], depth: list[int], height: list[int]) -> list[int]:
    """Few lanes."""
    goes_on = {below[-1] for below in children if below}  # in its parent's lane
    starts = sorted((i for i in range(len(up)) if i not in goes_on), key=lambda i: depth[i])
    busy: list[tuple[int, int]] = []  # where a lane ends, and which
    free: list[int] = []
    lane, lanes = [0] * len(up), 0
    for i in starts:
        while busy and busy[0][0] < depth[i] - 1:  # where the line from its parent comes down
            heapq.heappush(free, heapq.heappop(busy)[1])
        if not free:
            free, lanes = [lanes], lanes + 1
        lane[i] = heapq.heappop(free)
        heapq.heappush(busy, (depth[i] + height[i] - 1, lane[i]))
    for i, p in enumerate(up):
        if i in goes_on:
            lane[i] = lane[p]
    return lane
