"""How long a part of a step may be.

Touches are found at the beginning of a part and move along straight lines within it. Where a body rotates, the gap
deviates from that by a t^2 / 2, with a the centripetal acceleration along the normal.
"""

from __future__ import annotations

import math

from supple.contact.memory import CAPSULE, LIMIT, SPHERE
from supple.spatial.algebra import dot
from supple.spatial.compiler import helper

CURVED = 5e-4  #: metres by which gaps may deviate from straight lines in a part ...
PARTS_MOST = 8  #: ... unless a step would need more parts than this
SHARE = 1e-6  #: of a step: the shortest part
FINEST = 1.0 / 128.0  #: of a step: shorter parts are not halved because of overlap or energy


@helper
def strays(scene, b, shape, point, n):
    """The centripetal acceleration along n of a touch point of a body; for spheres and capsules, of the point on their
    axis. n: into the body."""
    if b < 0:
        return 0.0
    body, kind, w = scene.bodies[b], scene.shapes[shape].kind, scene.bodies[b].V.ang
    r = point - body.P
    if kind in (SPHERE, CAPSULE):
        r = r + n * scene.shapes[shape].half.x
    return abs(dot(n, w) * dot(w, r) - dot(n, r) * dot(w, w))


@helper
def careful_length(scene, h):
    """The length of a part, at most h, in which rotation changes no gap by more than CURVED."""
    most = 0.0
    for k in range(scene.n):
        touch = scene.touches[k]
        if touch.kind != LIMIT:
            most = max(most, strays(scene, touch.a, touch.shape, touch.point, touch.n))
            most = max(most, strays(scene, touch.b, touch.other, touch.point, touch.n * -1.0))
    parts = min(math.ceil(h * math.sqrt(0.5 * most / CURVED)), PARTS_MOST)
    return h / max(parts, 1)
