"""Warm start: the initial impulses of a part are those of the previous part, matched by the keys of touches."""

from __future__ import annotations

from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper


@helper
def recall(scene, h):
    """Initial impulses of a part of length h, from the forces of the previous one. Most touches are in the same order
    as before, so that a search through all of them is needed only for the few that pushed and are gone."""
    following = 0
    for k in range(scene.n):
        scene.touches[k].lam = Vec3(0.0, 0.0, 0.0)
    for i in range(scene.n_known):
        known = scene.known[i]
        for k in range(scene.n if known.lam.x > 0.0 else min(scene.n, 1)):
            at = following + k if following + k < scene.n else following + k - scene.n
            if scene.touches[at].key == known.key:
                scene.touches[at].lam, following = known.lam * h, at + 1
                break


@helper
def copy_known(known, n, other):
    """Copies n known forces to another table."""
    for k in range(n):
        other[k].key, other[k].lam = known[k].key, known[k].lam


@helper
def remember(scene, h):
    """Keeps the forces of a part of length h."""
    scene.n_known = scene.n
    for k in range(scene.n):
        scene.known[k].key, scene.known[k].lam = scene.touches[k].key, scene.touches[k].lam * (1.0 / h)
