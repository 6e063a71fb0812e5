"""How heavy the parts of a person are: body segments by the names that skeletons give them.

Shares of the body's mass, centres of mass (from the joint nearer the trunk, as a share of the segment's length) and
radii of gyration (about the centre of mass, shares of the length; across the segment, the mean of the two given, and
along it) are those of P. de Leva, Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters, Journal of
Biomechanics 29 (1996), 1223-1230, table 4, with joint centres as ends. The trunk is given there in one piece and in
three: the pelvis takes the lower one's share, all that is between it and the neck the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.errors import ModelError

Floats = NDArray[np.float64]
Sex = Literal["male", "female"]


class Part(NamedTuple):
    """mass: share of the body's, one side; center; across and along: radii of gyration."""

    mass: float
    center: float
    across: float
    along: float


PARTS: dict[str, dict[str, Part]] = {
    "male": {
        "head": Part(0.0694, 0.5002, 0.309, 0.261),
        "trunk": Part(0.3229, 0.5138, 0.317, 0.169),
        "pelvis": Part(0.1117, 0.5138, 0.317, 0.169),
        "upper arm": Part(0.0271, 0.5772, 0.277, 0.158),
        "forearm": Part(0.0162, 0.4574, 0.2705, 0.121),
        "hand": Part(0.0061, 0.7900, 0.5705, 0.401),
        "thigh": Part(0.1416, 0.4095, 0.329, 0.149),
        "shank": Part(0.0433, 0.4395, 0.2485, 0.102),
        "foot": Part(0.0137, 0.4415, 0.251, 0.124),
    },
    "female": {
        "head": Part(0.0668, 0.4841, 0.283, 0.261),
        "trunk": Part(0.3010, 0.4964, 0.2995, 0.147),
        "pelvis": Part(0.1247, 0.4964, 0.2995, 0.147),
        "upper arm": Part(0.0255, 0.5754, 0.269, 0.148),
        "forearm": Part(0.0138, 0.4559, 0.259, 0.094),
        "hand": Part(0.0056, 0.7474, 0.5425, 0.335),
        "thigh": Part(0.1478, 0.3612, 0.3665, 0.162),
        "shank": Part(0.0481, 0.4352, 0.265, 0.092),
        "foot": Part(0.0129, 0.4014, 0.289, 0.139),
    },
}
TWICE = ("upper arm", "forearm", "hand", "thigh", "shank", "foot")  #: left and right

#: What names contain, in lower case without signs; the first line that fits counts.
NAMES: tuple[tuple[str, str], ...] = (
    ("foot", r"foot|toe|ankle"),
    ("hand", r"hand|wrist|finger|thumb|index|middle|ring|pinky"),
    ("forearm", r"forearm|lowarm|lowerarm|elbow|radius"),
    ("thigh", r"upleg|upperleg|thigh|femur|[lr]hip|hip[lr]$|(left|right)hip|hip(left|right)"),
    ("shank", r"lowleg|lowerleg|shin|shank|calf|knee|tibia|leg"),
    ("trunk", r"collar|clavicle"),
    ("upper arm", r"uparm|upperarm|humerus|shldr|arm"),
    ("trunk", r"shoulder|chest|spine|torso|thorax|back|abdomen|lumbar"),
    ("pelvis", r"hips?$|pelvis|root"),
    ("head", r"head|neck|skull"),
)


def part_of(name: str) -> str | None:
    """Which part of a body a joint's name stands for, if any."""
    plain = re.sub(r"[^a-z]", "", name.lower())
    return next((part for part, pattern in NAMES if re.search(pattern, plain)), None)


def inertias(
    names: Sequence[str], ends: Floats, mass: float, sex: Sex = "male"
) -> tuple[Floats, Floats, Floats, list[str]]:
    """Masses, centres of mass and inertias of segments that reach from their joint to `ends` (n, 3), in their frames.

    Segments of one part (and side) share its mass in proportion to their lengths. The fourth are the names that stand
    for no part: those are as heavy as a piece of the trunk of their length.
    """
    if sex not in PARTS:
        raise ModelError(f"sex must be one of {', '.join(map(repr, PARTS))}, not {sex!r}")
    if not (np.isfinite(mass) and mass > 0):
        raise ModelError(f"the mass of a body must be a number above zero, not {mass!r}")
    parts = [part_of(name) for name in names]
    unknown = [name for name, part in zip(names, parts) if part is None]
    length = np.maximum(np.linalg.norm(ends, axis=1), 1e-3)
    shares = np.zeros(len(names))
    rows = [PARTS[sex][part or "trunk"] for part in parts]
    for part, row in PARTS[sex].items():
        which = np.array([(p or "trunk") == part for p in parts])
        if which.any():
            shares[which] = row.mass * (2 if part in TWICE else 1) * length[which] / length[which].sum()
    masses = mass * shares / shares.sum()
    along = ends / np.where(length > 1e-3, length, 1.0)[:, None]
    k = np.array([[row.center, row.across, row.along] for row in rows])
    across2, along2 = (masses * (k[:, i] * length) ** 2 for i in (1, 2))
    # a rod: along2 about its own axis, across2 about every other
    inertia = (
        across2[:, None, None] * np.eye(3) + (along2 - across2)[:, None, None] * along[:, :, None] * along[:, None]
    )
    return masses, k[:, :1] * ends, inertia, unknown
