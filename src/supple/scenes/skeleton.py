"""A person as a tree of rigid bodies: 89 of them, and 95 degrees of freedom, as the characters of AD Figure 1 have.

The pelvis is free. Joints of several directions are revolute joints in a row, the bodies between them being what is in
the joint, a small share of the limb; the head alone sits on a universal joint. Frames are the world's when a person
stands upright with hanging arms: x to the front, y to the left, z up. Somebody of 1.76 m and 75 kg is described.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.model.joints import JointName
from supple.model.topology import depth_first

Floats = NDArray[np.float64]
Vector = tuple[float, float, float]

IN_JOINT = 0.06  #: share of a limb's mass that each of the bodies in its joint has
PELVIS = 0.95  #: metres above the ground
_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


class Bone(NamedTuple):
    """A limb: where it begins on another, where it ends from there, its mass and radius; the directions it turns in,
    each with limits and where it is when one stands at ease. On the left, turns about x and z are the other way."""

    name: str
    on: str
    at: Vector
    to: Vector
    mass: float
    radius: float
    turns: tuple[tuple[Vector, float, float, float], ...]


def _back(axis: Vector) -> Vector:
    return (-axis[0], -axis[1], -axis[2])


_TRUNK = (
    Bone("loin", "pelvis", (0.0, 0.0, 0.08), (0.01, 0.0, 0.12), 7.0, 0.11,
         ((_X, -0.3, 0.3, 0.0), (_Y, -0.3, 0.6, 0.02), (_Z, -0.2, 0.2, 0.0))),
    Bone("waist", "loin", (0.01, 0.0, 0.12), (-0.01, 0.0, 0.14), 6.5, 0.11,
         ((_X, -0.3, 0.3, 0.0), (_Y, -0.3, 0.6, 0.02), (_Z, -0.3, 0.3, 0.0))),
    Bone("chest", "waist", (-0.01, 0.0, 0.14), (-0.01, 0.0, 0.17), 9.6, 0.13,
         ((_X, -0.2, 0.2, 0.0), (_Y, -0.2, 0.4, 0.0), (_Z, -0.5, 0.5, 0.0))),
    Bone("neck", "chest", (-0.01, 0.0, 0.17), (0.02, 0.0, 0.10), 1.6, 0.055,
         ((_X, -0.4, 0.4, 0.0), (_Y, -0.5, 0.5, 0.05), (_Z, -0.7, 0.7, 0.0))),
    Bone("jaw", "head", (0.02, 0.0, 0.04), (0.07, 0.0, -0.04), 0.6, 0.03, ((_Y, 0.0, 0.4, 0.0),)),
)  # fmt: skip
_HEAD = Bone("head", "neck", (0.02, 0.0, 0.10), (0.02, 0.0, 0.20), 4.2, 0.085, ((_Y, -0.6, 0.6, 0.0),))
_RIGHT = (
    Bone("collar", "chest", (0.01, -0.02, 0.14), (-0.01, -0.15, 0.01), 1.2, 0.04,
         ((_X, -0.3, 0.2, 0.0), (_Z, -0.3, 0.3, 0.0))),
    Bone("upper arm", "collar", (-0.01, -0.15, 0.01), (0.0, 0.0, -0.29), 2.1, 0.045,
         ((_X, -2.5, 0.3, -0.12), (_back(_Y), -0.8, 2.8, 0.05), (_Z, -1.2, 1.2, 0.0))),
    Bone("forearm", "upper arm", (0.0, 0.0, -0.29), (0.0, 0.0, -0.25), 1.2, 0.035,
         ((_back(_Y), 0.0, 2.5, 0.35), (_Z, -1.5, 1.5, 0.0))),
    Bone("palm", "forearm", (0.0, 0.0, -0.25), (0.0, 0.0, -0.09), 0.32, 0.025,
         ((_X, -1.0, 1.0, 0.0), (_Y, -0.4, 0.4, 0.0))),
    Bone("thumb", "palm", (0.02, 0.0, -0.02), (0.03, 0.01, -0.035), 0.03, 0.011,
         ((_Y, -0.6, 0.6, 0.0), (_X, -0.3, 1.0, 0.2))),
    Bone("thumb 2", "thumb", (0.03, 0.01, -0.035), (0.01, 0.0, -0.032), 0.012, 0.01, ((_X, 0.0, 1.0, 0.2),)),
    Bone("thumb 3", "thumb 2", (0.01, 0.0, -0.032), (0.005, 0.0, -0.026), 0.008, 0.009, ((_X, 0.0, 1.3, 0.2),)),
    *(
        bone
        for k, (finger, size) in enumerate((("index", 0.95), ("middle", 1.05), ("ring", 0.98), ("little", 0.78)))
        for bone in (
            Bone(finger, "palm", (0.033 - 0.022 * k, 0.0, -0.09), (0.0, 0.0, -0.044 * size), 0.018 * size, 0.009,
                 ((_Y, -0.25, 0.25, 0.09 * k - 0.13), (_X, -0.2, 1.5, 0.25))),
            Bone(f"{finger} 2", finger, (0.0, 0.0, -0.044 * size), (0.0, 0.0, -0.027 * size), 0.009 * size, 0.008,
                 ((_X, 0.0, 1.7, 0.35),)),
            Bone(f"{finger} 3", f"{finger} 2", (0.0, 0.0, -0.027 * size), (0.0, 0.0, -0.02 * size), 0.005 * size, 0.007,
                 ((_X, 0.0, 1.2, 0.25),)),
        )
    ),
    Bone("thigh", "pelvis", (0.0, -0.09, -0.04), (0.0, 0.0, -0.42), 9.0, 0.075,
         ((_X, -0.8, 0.4, -0.04), (_back(_Y), -0.4, 2.0, 0.0), (_Z, -0.6, 0.6, 0.0))),
    Bone("shank", "thigh", (0.0, 0.0, -0.42), (0.0, 0.0, -0.41), 3.4, 0.05, ((_Y, 0.0, 2.4, 0.0),)),
    Bone("foot", "shank", (0.0, 0.0, -0.41), (0.13, 0.0, -0.06), 0.95, 0.03,
         ((_Y, -0.7, 0.5, 0.0), (_X, -0.3, 0.3, 0.04))),
    Bone("big toe", "foot", (0.13, 0.02, -0.06), (0.06, 0.0, 0.0), 0.06, 0.014, ((_Y, -1.0, 0.5, 0.0),)),
    Bone("toes", "foot", (0.13, -0.015, -0.06), (0.05, 0.0, 0.0), 0.08, 0.014, ((_Y, -1.0, 0.5, 0.0),)),
)  # fmt: skip
_HIPS = Bone("pelvis", "world", (0.0, 0.0, PELVIS), (0.0, 0.0, 0.08), 8.54, 0.12, ())


class Skeleton(NamedTuple):
    """A person, one row a body, depth first."""

    names: list[str]
    parent: NDArray[np.int64]
    joint: list[JointName]
    axis: Floats
    position: Floats
    mass: Floats
    com: Floats
    inertia: Floats
    lower: Floats
    upper: Floats
    ease: Floats  #: (n,) the angles of somebody who stands at ease
    rods: Floats  #: (n, 2, 3) where a body begins and ends, in its frame
    radius: Floats  #: (n,) of its limb


@cache
def skeleton() -> Skeleton:
    """The person described above."""
    rows: list[tuple[str, int, JointName, Vector, Vector, float, float, Vector, Vector, float, float, float]] = []
    last, end_of = {"world": -1}, {"world": (0.0, 0.0, 0.0)}
    joint: JointName
    for bone in (_HIPS, *_TRUNK[:-1], _HEAD, _TRUNK[-1], *_sided("right ", 1.0), *_sided("left ", -1.0)):
        turns = bone.turns or ((_X, -np.inf, np.inf, 0.0),)
        up, at = last[bone.on], bone.at
        # what is in the joint is drawn from there to the nearer end of the bone above
        near = min((np.subtract(x, at) for x in ((0.0, 0.0, 0.0), end_of[bone.on])), key=lambda x: float(x @ x))
        for k, (axis, low, high, ease) in enumerate(turns):
            inner = k < len(turns) - 1
            share = IN_JOINT if inner else 1.0 - IN_JOINT * (len(turns) - 1)
            joint = "free" if not bone.turns else "universal" if bone is _HEAD else "revolute"
            name = f"{bone.name} joint {k + 1}" if inner else bone.name
            begin: Vector = tuple(near.tolist()) if inner and k == 0 else (0.0, 0.0, 0.0)
            to = (0.0, 0.0, 0.0) if inner else bone.to
            rows.append((name, up, joint, axis, at, share * bone.mass, bone.radius, begin, to, low, high, ease))
            up, at = len(rows) - 1, (0.0, 0.0, 0.0)
        last[bone.name], end_of[bone.name] = up, bone.to
    names, parent, joints, axes, positions, mass, radius, begins, ends, lower, upper, ease_ = zip(*rows)
    m, r, end = np.array(mass), np.array(radius), np.array(ends)
    length = np.linalg.norm(end, axis=1)
    along = np.divide(end, length[:, None], out=np.zeros_like(end), where=length[:, None] > 0)
    # a round rod; in a joint, a ball
    across = np.where(length > 0, m * (length**2 / 12 + r**2 / 4), 0.4 * m * r**2)
    less = across - np.where(length > 0, 0.5 * m * r**2, across)
    inertia = across[:, None, None] * np.eye(3) - less[:, None, None] * along[:, :, None] * along[:, None, :]
    o = depth_first(np.array(parent))
    number = np.append(np.argsort(o), -1)  # the last one is the world's
    return Skeleton(
        [names[i] for i in o], number[np.array(parent)[o]], [joints[i] for i in o], np.array(axes)[o],
        np.array(positions)[o], m[o], 0.5 * end[o], inertia[o], np.array(lower)[o], np.array(upper)[o],
        np.array(ease_)[o], np.stack([begins, end], axis=1)[o], r[o],
    )  # fmt: skip


def _sided(side: str, sign: float) -> list[Bone]:
    """The bones of one side; the left ones are the mirror image."""
    central = ("pelvis", "chest")

    def mirrored(v: Vector) -> Vector:
        return (v[0], sign * v[1], v[2])

    out = []
    for b in _RIGHT:
        turns = tuple(((sign * a[0], a[1], sign * a[2]), *rest) for a, *rest in b.turns)
        on = b.on if b.on in central else side + b.on
        out.append(Bone(side + b.name, on, mirrored(b.at), mirrored(b.to), b.mass, b.radius, turns))  # type: ignore[arg-type]
    return out
