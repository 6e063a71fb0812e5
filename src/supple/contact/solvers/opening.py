"""Removal of overlap at one touch [overlap.py]."""

from __future__ import annotations

from supple.contact.response.passes import answer_by_pass
from supple.spatial.compiler import helper

DEEPEST = 0.02  #: metres of overlap that are removed in one step, at most
STUCK = 1e-5  #: of the trace of W: touches with less along the normal cannot be moved apart


@helper
def opened(scene, touch):
    """How far the motion opens a touch."""
    if touch.deep > 0:
        return answer_by_pass(scene, touch).x
    x = 0.0
    for i in range(touch.first, touch.first + touch.count):
        x += scene.entries[i].y.x * scene.total[scene.entries[i].dof]
    return x


@helper
def further(scene, touch, h, least):
    """What is added to its push, all others being fixed. least: W along the normal below which it cannot move."""
    if not touch.W.xx > max(STUCK * (touch.W.xx + touch.W.yy + touch.W.zz), least):
        return 0.0
    gap = max(touch.gap, -DEEPEST) + max(h * touch.u.x, 0.0) + opened(scene, touch)
    return max(touch.push - gap / touch.W.xx, 0.0) - touch.push
