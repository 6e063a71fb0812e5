"""Newton's equations of an island: how impulses change by `change` and velocities by v, where

    change = f - A v,    v = W change

with f and A of every touch; of one that does not take part, both are zero. Unknowns are degrees of freedom or impulses,
whichever are fewer: a person on the ground touches it in few places, a box in more than it needs. Those of deep trees
are velocities of bodies.
"""

from __future__ import annotations

from supple.contact.response.deep_groups import is_deep
from supple.contact.solvers.body_equations import solve_for_bodies
from supple.contact.solvers.body_factors import factorize_bodies
from supple.contact.solvers.factors import factorize
from supple.contact.solvers.handles import find_body_pattern
from supple.contact.solvers.touch_equations import (
    assemble_touches,
    count_equations,
    find_touch_pattern,
    solve_for_touches,
)
from supple.contact.solvers.tree_equations import assemble_trees, find_tree_pattern, solve_for_trees
from supple.spatial.compiler import part


@part
def find_pattern(scene, inside):
    """Of the present island. inside: whether all touches have equations, as in interior.py, and not only closed ones.
    Returns whether there was room for it."""
    if is_deep(scene):
        scene.blocks.dual = False
        return find_body_pattern(scene)
    few = scene.high - scene.low <= scene.n_local  # for which there is room
    scene.blocks.dual = few and count_equations(scene, inside) <= scene.n_local
    return find_touch_pattern(scene) if scene.blocks.dual else find_tree_pattern(scene)


@part
def factorize_equations(scene):
    """For A of all touches, touch.slope."""
    if is_deep(scene):
        factorize_bodies(scene)
        return
    if scene.blocks.dual:
        assemble_touches(scene)
    else:
        assemble_trees(scene)
    factorize(scene)


@part
def solve_equations(scene):
    """For f of all touches."""
    if is_deep(scene):
        solve_for_bodies(scene)
    elif scene.blocks.dual:
        solve_for_touches(scene)
    else:
        solve_for_trees(scene)
