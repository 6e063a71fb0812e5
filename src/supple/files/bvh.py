"""BVH (Biovision hierarchy), the usual form of captured motion: a skeleton and its angles, frame by frame.

What corresponds to what
  - A joint is a body that begins there, on a ball joint (one rotation channel: revolute; none: fixed, merged away; the
    root: free). Rotation channels turn in their order: R = R1 R2 R3.
  - An end site is a frame named "joint/end".
  - The world's z axis points up: where the file's y does, all is turned. Lengths become metres: BVH does not say its
    unit, so unless it is given it is the one in which the skeleton is nearest to a person's height. The report says so.
  - BVH has no masses: segments.py gives them by the joints' names, for a person of the mass given.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import Positive, Triple, checked_as
from supple.errors import ModelError, ParseError
from supple.files import segments
from supple.files.bvh_text import AXES, Bvh, read_bvh
from supple.files.urdf import ROOT_JOINT
from supple.model.builder import GRAVITY, ModelBuilder
from supple.model.clip import Clip
from supple.model.geometry import quaternion_from_rotation, rotation_about
from supple.model.model import Model

Floats = NDArray[np.float64]
Up = Literal["y", "z"]

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254}
PERSON = 1.7  #: metres, of a skeleton whose unit is guessed
TURNED = rotation_about((1.0, 0.0, 0.0), np.pi / 2).round(15)  #: y to z, z to -y


@checked_as(ParseError)
def load_bvh(
    path: str | Path,
    *,
    mass: Positive = 70.0,
    sex: segments.Sex = "male",
    unit: str | Positive | None = None,
    up: Up = "y",
    gravity: Triple | None = None,
) -> Clip:
    """A captured motion: a model of the skeleton with masses, and q at each frame.

    mass: of the person, kilograms. sex: whose proportions. unit: of lengths, "m", "cm", "mm", "in" or in metres;
    guessed from the skeleton's height if not given. up: the axis that points up in the file.
    """
    bvh = read_bvh(path)
    turn = np.eye(3) if up == "z" else TURNED
    scale, guessed = _scale(bvh, unit)
    try:
        model = _model(bvh, turn, scale, guessed, mass, sex, GRAVITY if gravity is None else gravity)
    except ModelError as e:
        raise e if isinstance(e, ParseError) else ParseError(str(e), bvh.file) from None
    times = bvh.frame_time * np.arange(len(bvh.frames), dtype=np.float64)
    feet = [n for n in bvh.nodes if segments.part_of(n.name) == "foot" and n.name in model.bodies]
    first = tuple(n.name for n in feet if n.parent < 0 or segments.part_of(bvh.nodes[n.parent].name) != "foot")
    return Clip(model, times, _coordinates(bvh, model, turn, scale), first)


def _scale(bvh: Bvh, unit: str | float | None) -> tuple[float, str | None]:
    """Metres a unit, and what to say if it was guessed."""
    if unit is not None:
        metres = UNITS.get(unit) if isinstance(unit, str) else float(unit)
        if metres is None or not (np.isfinite(metres) and metres > 0):
            raise ModelError(f"unit must be one of {', '.join(map(repr, UNITS))} or a number of metres, not {unit!r}")
        return metres, None
    places: list[Floats] = []
    for node in bvh.nodes:
        places.append(np.zeros(3) if node.parent < 0 else places[node.parent] + node.offset)
    ends = [p + n.end for p, n in zip(places, bvh.nodes) if n.end is not None]
    size = float(np.ptp([*places, *ends], axis=0).max())
    if size == 0:
        raise ParseError("the skeleton has no size: all offsets are zero", bvh.file, bvh.nodes[0].line)
    best = min(UNITS, key=lambda u: abs(np.log(size * UNITS[u] / PERSON)))
    return UNITS[best], f"lengths are taken to be in {best}: the skeleton measures {size:.4g} of them"


def _model(
    bvh: Bvh, turn: Floats, scale: float, guessed: str | None, mass: float, sex: segments.Sex, gravity: ArrayLike
) -> Model:
    b = ModelBuilder(Path(bvh.file).stem, gravity, bvh.file)
    if guessed:
        b.remark("unit", guessed)
    if bvh.encoding == "latin-1":
        b.remark("encoding", "the file is not UTF-8; its names are read as Latin-1")
    reach: list[list[Floats]] = [[] if n.end is None else [n.end] for n in bvh.nodes]
    for node in reversed(bvh.nodes[1:]):
        reach[node.parent].insert(0, node.offset)
    ends = np.array([scale * (turn @ np.mean(r, axis=0)) if r else np.zeros(3) for r in reach])
    masses, com, inertia, unknown = segments.inertias([n.name for n in bvh.nodes], ends, mass, sex)
    for name in unknown:
        b.remark("segment", f"joint {name!r}: its name says no part of a body; it is as heavy as trunk of its length")
    for i, node in enumerate(bvh.nodes):
        turns = [c for c in node.channels if c.endswith("rotation")]
        kind: Any = ("fixed", "revolute", "ball", "ball")[len(turns)]
        if node.parent < 0:
            kind = "free"
        elif len(turns) < len(node.channels):
            b.remark(
                "channel", f"joint {node.name!r}: position channels are left out; bones keep their lengths", node.line
            )
        b.add_body(
            node.name,
            None if node.parent < 0 else node.parent,
            kind,
            joint_name=ROOT_JOINT if node.parent < 0 else None,
            axis=turn @ AXES[turns[0][0]] if kind == "revolute" else (0.0, 0.0, 1.0),
            position=np.zeros(3) if node.parent < 0 else scale * (turn @ node.offset),
            mass=masses[i],
            com=com[i],
            inertia=inertia[i],
        )
        if node.end is not None:
            b.add_frame(f"{node.name}/end", node.name, scale * (turn @ node.end))
        for end in reach[i]:
            b.add_visual(node.name, "capsule", *_rod(scale * (turn @ end)))
    return b.build(unphysical_inertia="report", singular="report")


def _rod(end: Floats) -> tuple[tuple[float, float], Floats, Floats]:
    """A capsule from the origin to `end`: radius and length, position, rotation."""
    length = float(np.linalg.norm(end))
    z = end / length if length else np.array([0.0, 0.0, 1.0])
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    return (0.1 * length + 0.005, length), 0.5 * end, np.stack([x, np.cross(z, x), z], axis=1)


def _coordinates(bvh: Bvh, model: Model, turn: Floats, scale: float) -> Floats:
    q = np.tile(model.neutral(), (len(bvh.frames), 1))
    for node in bvh.nodes:
        columns = bvh.frames[:, node.first : node.first + len(node.channels)]
        R = np.broadcast_to(np.eye(3), (len(columns), 3, 3))
        p = np.tile(node.offset, (len(columns), 1))
        angle = np.zeros(len(columns))
        for channel, x in zip(node.channels, columns.T):
            if channel.endswith("position"):
                p[:, "XYZ".index(channel[0])] = x  # instead of the offset
            else:
                angle = np.deg2rad(x)
                R = R @ rotation_about(AXES[channel[0]], angle)
        if node.name not in model.bodies:
            continue
        joint = model.joints[model.bodies[node.name].index]
        at = slice(joint.q.stop - 4, joint.q.stop)
        if joint.type == "revolute":
            q[:, joint.q] = angle[:, None]
            continue
        quaternion = quaternion_from_rotation(turn @ R @ turn.T)
        flips = np.where(np.sum(quaternion[1:] * quaternion[:-1], axis=1) < 0, -1.0, 1.0)
        q[:, at] = quaternion * np.concatenate([[1.0], np.cumprod(flips)])[:, None]  # without jumps
        if joint.type == "free":
            q[:, joint.q.start : joint.q.start + 3] = scale * p @ turn.T
    return q
