"""Handles: bodies of deep trees that touch each other, and bodies where the paths of two of them to the root meet
[body_equations.py].

Each has a block of unknowns: its velocity, the force by which it acts on its parent, and the velocities of its joint.
Two blocks are coupled if the handles touch, or one is the next above the other.
"""

from __future__ import annotations

from supple.contact.blocks import begin_sets, connect, order_unknowns, panel_of
from supple.contact.islands import touch_at
from supple.contact.memory import LIMIT
from supple.contact.solvers.factors import block_size, columns_of, rows_of
from supple.spatial.addresses import from_entry
from supple.spatial.compiler import helper, part

FORCE, JOINT = 6, 12  #: offsets of unknowns in a block; the velocity is at 0


@helper
def is_between(touch):
    """Whether a touch is between two bodies."""
    return touch.kind != LIMIT and touch.a >= 0 and touch.b >= 0


@helper
def find_handles(scene):
    """Handles and ports of the current group. Returns the number of handles."""
    T, n = scene.deep, 0
    for i in range(T.low, T.high):
        body = T.bodies[T.order[i]]
        body.handle, body.port = -1, -1
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if is_between(touch):
            T.bodies[touch.a].handle = T.bodies[touch.b].handle = 0
    for i in range(T.high - 1, T.low - 1, -1):
        b = T.order[i]
        body = T.bodies[b]
        if body.handle >= 0:
            body.handle, body.port, n = n, -1, n + 1
        below = b if body.handle >= 0 else body.port
        if below >= 0 and body.parent >= 0:
            above = T.bodies[body.parent]
            if above.handle < 0 and above.port >= 0:
                above.handle = 0
            above.port = below
    return n


@helper
def link_handles(scene):
    """The handle above each handle, which blocks are coupled, and their sizes."""
    T, B = scene.deep, scene.blocks
    for i in range(T.low, T.high):
        b = T.order[i]
        body, port = T.bodies[b], T.ports[b]
        if body.handle >= 0:
            B.size[body.handle] = JOINT + body.last - body.first
            port.upper, port.scale = body.parent, body.I.m if body.I.m > 0.0 else 1.0
            while port.upper >= 0 and T.bodies[port.upper].handle < 0:
                port.upper = T.bodies[port.upper].parent
            if port.upper >= 0:
                connect(B, body.handle, T.bodies[port.upper].handle)
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if is_between(touch):
            connect(B, T.bodies[touch.a].handle, T.bodies[touch.b].handle)


@part
def find_body_pattern(scene):
    """The block pattern of the current island. Returns whether there was enough memory."""
    if not begin_sets(scene.blocks, find_handles(scene)):
        return False
    link_handles(scene)
    return order_unknowns(scene.blocks)


@helper
def place_of(scene, a, b):
    """Where the coefficients of handle a for the unknowns of handle b are, and the stride of their rows."""
    B, T = scene.blocks, scene.deep
    p, q = B.rank[T.bodies[a].handle], B.rank[T.bodies[b].handle]
    size = block_size(B, min(p, q))
    if p == q:
        return rows_of(B, p), size + B.width[p]
    if p < q:
        return from_entry(rows_of(B, p), size + panel_of(B, p, q)), size + B.width[p]
    return from_entry(columns_of(B, q), size * panel_of(B, q, p)), size
