"""Trees that touches surprise: by impulses other than those of the step before.

Velocity products of a part are those of its mean velocity, which is predicted by the impulses that are expected
[landing.py]. Where an impact changes velocities, they are those before and after it, each for its time: impulses of
trees that are struck, and of all that they touch, are solved once more. The impulses of others are settled.

If a blow was predicted to continue but is over, the velocities of that first solution are arbitrary: light links
between heavy bodies would turn fast. The impulses of these trees are then solved for twice: with velocity products of
the beginning first, then as above.
"""

from __future__ import annotations

from supple.contact.geometry.points import norm
from supple.contact.response.rows import answer, push_z
from supple.spatial.compiler import helper

STRUCK, MISLED = 1, 2  #: marks of trees that are struck; MISLED: a blow was predicted to continue
HARD = 30.0  #: times the change of velocity that is a surprise: that of a hard blow


@helper
def surprises(touch, slowest):
    """Whether a touch does something else than was expected of it."""
    return norm(touch.lam - touch.expected) * max(touch.W.xx, touch.W.yy, touch.W.zz) > slowest


@helper
def is_over(touch, slowest):
    """Whether a touch was expected to push harder than it does: a blow is over."""
    return norm(touch.expected) > norm(touch.lam) and surprises(touch, slowest)


@helper
def acts_on(scene, touch, mark):
    """Whether a touch acts on a tree with this mark, or a higher one."""
    B, found = scene.blocks, False
    for i in range(touch.first, touch.first + touch.count):
        found = found or B.struck[B.tree[scene.entries[i].dof]] >= mark
    return found


@helper
def mark_trees(scene, touch, mark):
    """Marks the trees of a touch. Returns whether any was not marked so."""
    B, new = scene.blocks, False
    for i in range(touch.first, touch.first + touch.count):
        tree = B.tree[scene.entries[i].dof]
        new = new or B.struck[tree] < mark
        B.struck[tree] = max(B.struck[tree], mark)
    return new


@helper
def mark_all(scene, mark):
    """Marks all trees."""
    for i in range(scene.n_present):
        scene.blocks.struck[scene.blocks.tree[scene.present[i]]] = mark


@helper
def spread(scene, mark):
    """Marks the trees of whole islands, and of all others that act on these."""
    grows = True
    while grows:
        grows, low = False, 0
        for island in range(scene.n_islands):
            high, marked = scene.ends[island], False
            for k in range(low, high):
                marked = marked or acts_on(scene, scene.touches[scene.sequence[k]], mark)
            for k in range(low, high if marked else low):
                grows = mark_trees(scene, scene.touches[scene.sequence[k]], mark) or grows
            low = high


@helper
def are_together(scene, together):
    """Whether all trees are struck if any is. together: because something connects them."""
    return together or scene.deep.n_groups > 0


@helper
def in_islands(scene):
    """The number of touches in the sequence of islands."""
    return scene.ends[scene.n_islands - 1] if scene.n_islands > 0 else 0


@helper
def settle_others(scene, together):
    """Settles all touches that do not act on trees that are struck."""
    whole = are_together(scene, together)
    for k in range(scene.n):
        scene.touches[k].settled = 0 if whole else 1
    for k in range(0 if whole else in_islands(scene)):
        touch = scene.touches[scene.sequence[k]]
        touch.settled = 0 if acts_on(scene, touch, STRUCK) else 1


@helper
def find_struck(scene, slowest, together):
    """Marks trees that are struck, and settles touches of others. together: whether all trees are struck if any is.
    Returns whether any is."""
    found, whole = False, are_together(scene, together)
    for k in range(scene.n):
        found = found or surprises(scene.touches[k], slowest)
    if not found:
        return False
    mark_all(scene, STRUCK if whole else 0)
    for k in range(0 if whole else in_islands(scene)):
        touch = scene.touches[scene.sequence[k]]
        if surprises(touch, slowest):
            mark_trees(scene, touch, STRUCK)
    if not whole:
        spread(scene, STRUCK)
    settle_others(scene, together)
    return True


@helper
def any_over(scene, slowest):
    """Whether any touch was expected to push harder than it does."""
    found = False
    for k in range(scene.n):
        found = found or is_over(scene.touches[k], slowest)
    return found


@helper
def mark_misled(scene, slowest):
    """Marks the trees of these touches, if the impulses that were expected would have moved them differently: touches
    may share the same force in many ways. Overwrites z. Returns whether there are any."""
    found, n = False, in_islands(scene)
    for k in range(n):
        touch = scene.touches[scene.sequence[k]]
        push_z(scene, touch, touch.expected * -1.0)
    for k in range(n):
        touch = scene.touches[scene.sequence[k]]
        if is_over(touch, slowest) and norm(answer(scene, touch)) > slowest:
            mark_trees(scene, touch, MISLED)
            found = True
    return found


@helper
def begin_anew(scene, v, end, slowest, together):
    """Marks the struck trees on which a hard blow was predicted to continue but is over, and sets their velocities at
    the end to those of the beginning, v. Returns whether there are any."""
    B, hard = scene.blocks, HARD * slowest
    if not any_over(scene, hard) or (scene.deep.n_groups == 0 and not mark_misled(scene, hard)):  # deep ones lack rows
        return False
    if are_together(scene, together):
        mark_all(scene, MISLED)
    else:
        spread(scene, MISLED)
    for i in range(scene.n_present):
        j = scene.present[i]
        if B.struck[B.tree[j]] == MISLED:
            end[j] = v[j]
    return True


@helper
def strike_again(scene, together):
    """Only the trees that were misled remain struck."""
    B = scene.blocks
    for i in range(scene.n_present):
        tree = B.tree[scene.present[i]]
        if B.struck[tree] == STRUCK:
            B.struck[tree] = 0
    settle_others(scene, together)


@helper
def end_of_tree(m, first):
    """The body after the last one of the tree that begins with body `first`."""
    last = first + 1
    while last < m.n and m.bodies[last].parent >= 0:
        last += 1
    return last
