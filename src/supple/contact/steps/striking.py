"""Trees that touches surprise: by impulses other than those of the step before.

Velocity products of a part are those of its mean velocity, which is predicted by the impulses that are expected
[landing.py]. Where an impact changes velocities, they are those before and after it, each for its time: impulses of
trees that are struck, and of all that they touch, are solved once more. The impulses of others are settled.

Where the prediction was that a blow goes on that is over, the velocities of that first solution are arbitrary: light
links between heavy bodies would turn fast. Impulses of these trees are first found with velocity products of the
beginning, and then once more.
"""

from __future__ import annotations

from supple.contact.geometry.points import norm
from supple.contact.response.rows import answer, push_z
from supple.spatial.compiler import helper

STRUCK, MISLED = 1, 2  #: marks of trees that are struck; of the second, a blow was expected that is over
HARD = 30.0  #: times a surprise: velocities that a blow would have changed


@helper
def surprises(touch, slowest):
    """Whether a touch does something else than was expected of it."""
    return norm(touch.lam - touch.expected) * max(touch.W.xx, touch.W.yy, touch.W.zz) > slowest


@helper
def is_over(touch, slowest):
    """Whether a blow was expected of a touch that is over, or weaker."""
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
    all = are_together(scene, together)
    for k in range(scene.n):
        scene.touches[k].settled = 0 if all else 1
    for k in range(0 if all else in_islands(scene)):
        touch = scene.touches[scene.sequence[k]]
        touch.settled = 0 if acts_on(scene, touch, STRUCK) else 1


@helper
def find_struck(scene, slowest, together):
    """Marks trees that are struck, and settles touches of others. together: whether all trees are struck if any is.
    Returns whether any is."""
    found, all = False, are_together(scene, together)
    for k in range(scene.n):
        found = found or surprises(scene.touches[k], slowest)
    if not found:
        return False
    mark_all(scene, STRUCK if all else 0)
    for k in range(0 if all else in_islands(scene)):
        touch = scene.touches[scene.sequence[k]]
        if surprises(touch, slowest):
            mark_trees(scene, touch, STRUCK)
    if not all:
        spread(scene, STRUCK)
    settle_others(scene, together)
    return True


@helper
def any_over(scene, slowest):
    """Whether a blow was expected of any touch that is over."""
    found = False
    for k in range(scene.n):
        found = found or is_over(scene.touches[k], slowest)
    return found


@helper
def mark_misled(scene, slowest):
    """Marks the trees of touches that are over, if what was expected would have moved them otherwise than what was
    found: touches may share the same force in many ways. z is lost. Returns whether there are any."""
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
    """Marks the trees, of those that are struck, where a hard blow was expected that is over. Their velocities at the
    end are those of the beginning, v. Returns whether there are any."""
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
    """Leaves only those trees struck."""
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
