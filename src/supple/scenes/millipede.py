"""A robot like a millipede, pushed at a foot [QS section 6.2, Figure 4]."""

from __future__ import annotations

import numpy as np

from supple.arguments import checked
from supple.errors import StateError
from supple.model.builder import ModelBuilder
from supple.model.parents import room
from supple.model.topology import depth_first
from supple.scenes.scene import Pushes, Scene, Some

SPINE, LEG = (0.02, 0.05), (0.01, 0.01)  #: metres and kilograms of a link
DAMPING = 10.0  #: of joints, a second, as a share of the inertia of a link
THICKNESS = 0.3  #: of a link, as a share of its length


@checked
def millipede(legs: Some = 1000, leg_links: Some = 10, spine: Some = 3000) -> Scene:
    """A spine of links that turn alternately up and sideways, with legs in pairs along it; one foot is pushed.

    The first link of the spine hangs on the world by a revolute joint (the paper has 13,000 links and 12,999 joints,
    its first link having none). The spine lies along x and winds gently; legs stand out to the left and right, turn
    about z at the hip and about x at all other joints, and bend down. The push is at the foot of a leg in the middle.
    """
    pairs = (legs + 1) // 2
    if pairs > spine:
        raise StateError(f"{legs} legs in pairs do not fit on a spine of {spine} links; give it more links")
    n, m = spine + legs * leg_links, leg_links
    room(n)
    leg = np.arange(legs)
    first, hip = spine + m * leg, (2 * (leg // 2) + 1) * spine // (2 * pairs)
    parent = np.arange(-1, n - 1)
    parent[first] = hip
    in_leg = np.arange(n) >= spine
    length, mass = (np.where(in_leg, LEG[k], SPINE[k]) for k in range(2))
    side = np.where(leg % 2, -1.0, 1.0)
    out = np.zeros((n, 3))  # from a link's joint to its end
    out[:spine, 0] = SPINE[0]
    out[spine:, 1] = np.repeat(side, m) * LEG[0]
    position = out[parent]
    position[0] = 0.0
    position[first] = np.column_stack(
        [np.full(legs, 0.5 * SPINE[0]), 0.5 * THICKNESS * SPINE[0] * side, np.zeros(legs)]
    )
    axis = np.zeros((n, 3))
    axis[:spine:2, 2] = axis[1:spine:2, 1] = axis[first, 2] = 1.0
    axis[spine:, 0] = 1.0 - axis[spine:, 2]
    width = THICKNESS * length
    moments = np.empty((n, 3, 3))
    moments[:] = np.eye(3) * (mass * (length**2 + width**2) / 12)[:, None, None]
    k = np.arange(n)
    along = in_leg.astype(int)  # x of the spine, y of legs
    moments[k, along, along] = mass * width**2 / 6
    b = ModelBuilder("millipede", gravity=(0.0, 0.0, 0.0))
    names = [f"spine{i}" for i in range(spine)] + [f"leg{i}_{j}" for i in range(legs) for j in range(m)]
    damping = DAMPING * mass * length**2
    b.add_bodies(
        parent, names=names, axis=axis, position=position, mass=mass, com=0.5 * out, inertia=moments, damping=damping
    )  # fmt: skip
    q = np.zeros(n)
    s = np.arange(0, spine, 2)
    q[s] = 0.05 * np.cos(2 * np.pi * s / 120)  # the spine winds,
    q[1:spine:2] = 0.01 * np.cos(2 * np.pi * np.arange(1, spine, 2) / 200)  # rises and falls,
    q[first] = 0.4 * np.sin(2 * np.pi * (leg // 2) / 12 + np.pi * (leg % 2))  # legs walk in waves,
    bend = -1.2 / max(1, m - 1) * side
    q[first[:, None] + np.arange(1, m)] = bend[:, None]  # and bend down
    order = depth_first(parent)
    number = np.empty(n, dtype=np.int64)
    number[order] = np.arange(n)
    foot = int(first[legs // 2] + m - 1)
    push = Pushes(number[[foot]], np.array([[0.02, 0.01, 0.03]]), out[[foot]])
    rods = np.zeros((n, 2, 3))
    rods[:, 1] = out
    how = dict(method="adaptive", duration=2.0, quasi_static_dt=2e-3)
    return Scene(b.build(), q[order], push, 1e-3, rods[order], **how)  # type: ignore[arg-type]
