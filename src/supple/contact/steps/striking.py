"""Trees that touches surprise: by impulses other than those of the step before.

Velocity products of a part are those of its mean velocity, which is predicted by the impulses that are expected
[landing.py]. Where an impact changes velocities, they are those before and after it, each for its time: impulses of
trees that are struck, and of all that they touch, are solved once more. The impulses of others are settled.

Where the prediction was that a blow goes on that is over, the velocities of that first solution are arbitrary: light
links between heavy bodies would turn fast. Impulses are then first found with velocity products of the beginning.
"""

from __future__ import annotations

from supple.contact.geometry.points import norm
from supple.spatial.compiler import helper

BLOW = 2.0  #: times what was found: an impulse that was expected, and is over


@helper
def surprises(touch, slowest):
    """Whether a touch does something else than was expected of it."""
    return norm(touch.lam - touch.expected) * max(touch.W.xx, touch.W.yy, touch.W.zz) > slowest


@helper
def acts_on_struck(scene, touch):
    """Whether a touch acts on a tree that is struck."""
    B, found = scene.blocks, False
    for i in range(touch.first, touch.first + touch.count):
        found = found or B.struck[B.tree[scene.entries[i].dof]] > 0
    return found


@helper
def mark_trees(scene, touch):
    """Those of a touch are struck."""
    B = scene.blocks
    for i in range(touch.first, touch.first + touch.count):
        B.struck[B.tree[scene.entries[i].dof]] = 1


@helper
def strike_all(scene):
    """Nothing is settled."""
    for i in range(scene.n_present):
        scene.blocks.struck[scene.blocks.tree[scene.present[i]]] = 1
    for k in range(scene.n):
        scene.touches[k].settled = 0


@helper
def strike_islands(scene, slowest):
    """Whole islands, with all others that act on the same trees."""
    grows = True
    for k in range(scene.n):
        scene.touches[k].settled = 1
    while grows:
        grows, low = False, 0
        for island in range(scene.n_islands):
            high, struck = scene.ends[island], False
            for k in range(low, high):
                touch = scene.touches[scene.sequence[k]]
                struck = struck or (touch.settled and (surprises(touch, slowest) or acts_on_struck(scene, touch)))
            for k in range(low, high if struck else low):
                touch = scene.touches[scene.sequence[k]]
                touch.settled = 0
                mark_trees(scene, touch)
            grows, low = grows or struck, high


@helper
def find_struck(scene, slowest, together):
    """Marks trees that are struck, and touches that are settled. together: whether all trees are, if any is. Returns
    whether any is."""
    found = False
    for k in range(scene.n):
        found = found or surprises(scene.touches[k], slowest)
    if not found:
        return False
    for i in range(scene.n_present):
        scene.blocks.struck[scene.blocks.tree[scene.present[i]]] = 0
    if together or scene.deep.n_groups > 0:
        strike_all(scene)
    else:
        strike_islands(scene, slowest)
    return True


@helper
def expects_blow(scene, slowest):
    """Whether impulses were expected that are much larger than those that were found."""
    found = False
    for k in range(scene.n):
        touch = scene.touches[k]
        found = found or (norm(touch.expected) > BLOW * norm(touch.lam) and surprises(touch, slowest))
    return found


@helper
def begin_anew(scene, v, end):
    """Velocities at the end of trees that are struck: those of the beginning, v."""
    B = scene.blocks
    for i in range(scene.n_present):
        j = scene.present[i]
        if B.struck[B.tree[j]]:
            end[j] = v[j]


@helper
def end_of_tree(m, first):
    """The body after the last one of the tree that begins with body `first`."""
    last = first + 1
    while last < m.n and m.bodies[last].parent >= 0:
        last += 1
    return last
