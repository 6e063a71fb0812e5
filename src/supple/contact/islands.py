"""Touches that have nothing to do with each other are solved apart: an island is all touches that act, one through the
other, on the same degrees of freedom. They are found by joining sets [Tarjan 1975], nearly O(entries).

scene.sequence lists touches island by island; scene.low and scene.high are where the present one begins and ends in it,
scene.dofs its degrees of freedom, scene.local their numbers.
"""

from __future__ import annotations

from supple.spatial.compiler import helper, part


@helper
def touch_at(scene, i):
    """A touch of the sequence."""
    return scene.touches[scene.sequence[i]]


@helper
def set_of(joined, j):
    """The representative of the set that j is in; the way there is halved."""
    while joined[j] != j:
        joined[j] = joined[joined[j]]
        j = joined[j]
    return j


@helper
def join_sets(scene):
    """Degrees of freedom that a touch has in common, in scene.local."""
    joined = scene.local
    for i in range(scene.n_entries):
        j = scene.entries[i].dof
        joined[j] = j
    for k in range(scene.n):
        touch = scene.touches[k]
        if touch.aside:
            continue
        first = set_of(joined, scene.entries[touch.first].dof)
        for i in range(touch.first + 1, touch.first + touch.count):
            other = set_of(joined, scene.entries[i].dof)
            if other != first:
                joined[other] = first


@part
def find_islands(scene):
    """The sequence of touches that are not set aside, and where each island begins in it. Returns their number."""
    join_sets(scene)
    ends, n = scene.ends, 0
    for i in range(scene.n_entries):
        scene.dofs[scene.entries[i].dof] = -1
    for k in range(scene.n):
        touch = scene.touches[k]
        if touch.aside:
            continue
        root = set_of(scene.local, scene.entries[touch.first].dof)
        if scene.dofs[root] < 0:
            scene.dofs[root] = n
            ends[n] = 0
            n += 1
        touch.island = scene.dofs[root]
        ends[touch.island] += 1
    total = 0
    for i in range(n):
        total, ends[i] = total + ends[i], total
    for k in range(scene.n):
        island = scene.touches[k].island
        if not scene.touches[k].aside:
            scene.sequence[ends[island]] = k
            ends[island] += 1
    for i in range(scene.n_entries):
        scene.local[scene.entries[i].dof] = -1
    scene.n_islands = n
    return n


@part
def enter_island(scene, k):
    """Makes an island the present one, and numbers its degrees of freedom."""
    for i in range(scene.n_local):
        scene.local[scene.dofs[i]] = -1
    scene.low, scene.high = scene.ends[k - 1] if k > 0 else 0, scene.ends[k]
    n = 0
    for t in range(scene.low, scene.high):
        touch = touch_at(scene, t)
        for i in range(touch.first, touch.first + touch.count):
            j = scene.entries[i].dof
            if scene.local[j] < 0:
                scene.local[j] = n
                scene.dofs[n] = j
                n += 1
    scene.n_local = n
