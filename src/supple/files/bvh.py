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
from supple.files.bvh_text import AXES, Bvh, Node, read_bvh
from supple.files.urdf import ROOT_JOINT
from supple.model.builder import GRAVITY, ModelBuilder
from supple.model.clip import Clip
from supple.model.geometry import quaternion_from_rotation, rotation_about
from supple.model.joints import JointType
from supple.model.model import Model

Floats = NDArray[np.float64]
Up = Literal["y", "z"]

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254}
AT_ONCE = 50_000  #: rotations of joints and frames that are computed together
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
    size = float(np.ptp(np.array([*places, *ends]), axis=0).max())
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
    owner, tips = _bones(bvh)
    tips = scale * tips @ turn.T
    ends = np.zeros((len(bvh.nodes), 3))
    np.add.at(ends, owner, tips)
    ends /= np.maximum(np.bincount(owner, minlength=len(ends)), 1)[:, None]
    places = scale * np.array([n.offset for n in bvh.nodes]) @ turn.T
    places[0] = 0.0
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
            position=places[i],
            mass=masses[i],
            com=com[i],
            inertia=inertia[i],
        )
        if node.end is not None:
            b.add_frame(f"{node.name}/end", i, scale * (turn @ node.end))
    for i, radius, length, position, rotation in zip(owner.tolist(), *_rods(tips)):
        b.add_visual(i, "capsule", (radius, length), position, rotation)
    return b.build(unphysical_inertia="report", singular="report")


def _bones(bvh: Bvh) -> tuple[NDArray[np.int64], Floats]:
    """Where each joint reaches: to its children in their order, then to its end site. The joints, and the places."""
    children: list[list[Floats]] = [[] for _ in bvh.nodes]
    for node in bvh.nodes[1:]:
        children[node.parent].append(node.offset)
    reach = [tips if n.end is None else [*tips, n.end] for tips, n in zip(children, bvh.nodes)]
    owner = np.repeat(np.arange(len(reach)), [len(tips) for tips in reach])
    return owner, np.array([tip for tips in reach for tip in tips]).reshape(-1, 3)


def _rods(tips: Floats) -> tuple[list[float], list[float], Floats, Floats]:
    """Capsules from the origin to places (n, 3): radii and lengths, positions, rotations."""
    length = np.linalg.norm(tips, axis=1)
    z = np.where(length[:, None] > 0, tips / np.where(length > 0, length, 1.0)[:, None], (0.0, 0.0, 1.0))
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z), axis=1)])
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return (0.1 * length + 0.005).tolist(), length.tolist(), 0.5 * tips, np.stack([x, np.cross(z, x), z], axis=2)


def _coordinates(bvh: Bvh, model: Model, turn: Floats, scale: float) -> Floats:
    """(frames, nq), joints with the same channels together."""
    q = np.tile(model.neutral(), (len(bvh.frames), 1))
    body = {name: i for i, name in enumerate(model.body_names)}
    alike: dict[tuple[bool, tuple[str, ...]], list[Node]] = {}
    for node in bvh.nodes:
        if node.name in body:
            alike.setdefault((node.parent < 0, tuple(node.channels)), []).append(node)
    for (_, channels), nodes in alike.items():
        numbers = [body[n.name] for n in nodes]
        columns = np.array([n.first for n in nodes])[:, None] + np.arange(len(channels))
        kind, first = JointType(int(model.joint_type[numbers[0]])), model.q_index[numbers]
        if kind == JointType.REVOLUTE:
            turns = [c.endswith("rotation") for c in channels].index(True)
            q[:, first] = np.deg2rad(bvh.frames[:, columns[:, turns]])
            continue
        at = first[:, None] + (3 if kind == JointType.FREE else 0) + np.arange(4)
        block = max(1, AT_ONCE // len(nodes))
        for start in range(0, len(q), block):
            rows = slice(start, start + block)
            R = _rotations(channels, bvh.frames[rows, columns])
            q[rows, at] = quaternion_from_rotation(turn @ R @ turn.T)
        _keep_signs(q, at)
        if kind == JointType.FREE:
            q[:, first[0] : first[0] + 3] = scale * _root_places(bvh) @ turn.T
    return q


def _rotations(channels: tuple[str, ...], values: Floats) -> Floats:
    """R1 R2 R3 of the rotation channels, in their order; values (..., channels) in degrees."""
    R = np.broadcast_to(np.eye(3), (*values.shape[:-1], 3, 3))
    for channel, x in zip(channels, np.moveaxis(values, -1, 0)):
        if channel.endswith("rotation"):
            R = R @ rotation_about(AXES[channel[0]], np.deg2rad(x))
    return R


def _keep_signs(q: Floats, at: NDArray[np.int64]) -> None:
    """Change the signs of quaternions in columns `at` (n, 4) of q, so that none jumps from one frame to the next."""
    for columns in at if len(q) > 1 else ():
        x = q[:, columns]
        flips = np.where(np.sum(x[1:] * x[:-1], axis=1) < 0, -1.0, 1.0)
        q[1:, columns] = x[1:] * np.cumprod(flips)[:, None]


def _root_places(bvh: Bvh) -> Floats:
    """Where the root is: its offset, or instead what position channels say."""
    root = bvh.nodes[0]
    p = np.tile(root.offset, (len(bvh.frames), 1))
    for i, channel in enumerate(root.channels):
        if channel.endswith("position"):
            p[:, "XYZ".index(channel[0])] = bvh.frames[:, root.first + i]
    return p
