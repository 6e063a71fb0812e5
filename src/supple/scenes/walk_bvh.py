"""Makes walk.bvh: a person who walks three steps on level ground, as captured motion would have it.

    python -m supple.scenes.walk_bvh > walk.bvh

Nobody was measured. The pelvis moves on evenly and sways a little; each foot stands flat, then swings forward along a
smooth curve; the legs reach from the one to the other (two links, solved in their plane); arms swing against them.
Units are centimetres and degrees, y is up, and the walk leads along z, as is usual in BVH.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FILE = Path(__file__).with_name("walk.bvh")

RATE, FRAMES = 50.0, 101
STEP, STEP_TIME = 52.0, 0.55  #: centimetres and seconds from one heel strike to the next
STANCE = 0.6  #: of the time of two steps for which a foot stands
THIGH, SHANK, ANKLE, HIP, WIDTH = 42.0, 41.0, 8.0, 83.0, 9.0  #: lengths; how high the hips are; half their distance
LIFT = 9.0  #: how high a foot swings

#: name, parent, offset, end site
SKELETON: tuple[tuple[str, str, tuple[float, float, float], tuple[float, float, float] | None], ...] = (
    ("Hips", "", (0.0, 0.0, 0.0), None),
    ("LeftUpLeg", "Hips", (WIDTH, 0.0, 0.0), None),
    ("LeftLeg", "LeftUpLeg", (0.0, -THIGH, 0.0), None),
    ("LeftFoot", "LeftLeg", (0.0, -SHANK, 0.0), (0.0, -ANKLE, 18.0)),
    ("RightUpLeg", "Hips", (-WIDTH, 0.0, 0.0), None),
    ("RightLeg", "RightUpLeg", (0.0, -THIGH, 0.0), None),
    ("RightFoot", "RightLeg", (0.0, -SHANK, 0.0), (0.0, -ANKLE, 18.0)),
    ("Spine", "Hips", (0.0, 10.0, 0.0), None),
    ("Chest", "Spine", (0.0, 20.0, 0.0), None),
    ("Head", "Chest", (0.0, 24.0, 0.0), (0.0, 24.0, 0.0)),
    ("LeftArm", "Chest", (18.0, 18.0, 0.0), None),
    ("LeftForeArm", "LeftArm", (0.0, -29.0, 0.0), None),
    ("LeftHand", "LeftForeArm", (0.0, -25.0, 0.0), (0.0, -18.0, 0.0)),
    ("RightArm", "Chest", (-18.0, 18.0, 0.0), None),
    ("RightForeArm", "RightArm", (0.0, -29.0, 0.0), None),
    ("RightHand", "RightForeArm", (0.0, -25.0, 0.0), (0.0, -18.0, 0.0)),
)


def ease(x: Floats) -> Floats:
    """From 0 to 1 with speed and acceleration zero at both ends."""
    x = np.clip(x, 0.0, 1.0)
    return x**3 * (10.0 - 15.0 * x + 6.0 * x**2)


def ankle(time: Floats, phase: float) -> tuple[Floats, Floats]:
    """Height and place along z of an ankle; phase: when, in steps, the foot comes down first."""
    cycle = time / (2 * STEP_TIME) - 0.5 * phase
    turn = np.floor(cycle)
    swing = (cycle - turn - STANCE) / (1.0 - STANCE)
    z = STEP * (2 * (turn + ease(swing)) + phase)
    return ANKLE + LIFT * 64.0 * np.clip(swing * (1.0 - swing), 0.0, 1.0) ** 3, z


def leg(height: Floats, ahead: Floats) -> tuple[Floats, Floats, Floats]:
    """Degrees about x of the hip, the knee and the ankle, for an ankle so far below and ahead of the hip."""
    reach = np.minimum(np.hypot(height, ahead), 0.9995 * (THIGH + SHANK))
    bend = np.arccos((THIGH**2 + SHANK**2 - reach**2) / (2 * THIGH * SHANK))
    inner = np.arccos((THIGH**2 + reach**2 - SHANK**2) / (2 * THIGH * reach))
    hip = -(np.arctan2(ahead, height) + inner)  # a positive turn about x takes a hanging leg backwards
    knee = np.pi - bend
    return tuple(np.rad2deg(x) for x in (hip, knee, -hip - knee))  # type: ignore[return-value]


def angles() -> tuple[Floats, dict[str, Floats]]:
    """The root's places, and by joint the degrees about z, x and y, for every frame."""
    time = np.arange(FRAMES) / RATE
    beat = np.pi * time / STEP_TIME  # a step is half a turn
    root = np.stack([
        1.5 * np.cos(beat - 0.6 * np.pi),
        HIP + 1.2 * np.cos(2 * (beat - 0.6 * np.pi)),
        STEP / STEP_TIME * time - STANCE * STEP,
    ], axis=1)  # fmt: skip
    turns = {name: np.zeros((FRAMES, 3)) for name, *_ in SKELETON}
    for side, phase in (("Left", 0.0), ("Right", 1.0)):
        y, z = ankle(time, phase)
        hip, knee, foot = leg(root[:, 1] - y, z - root[:, 2])
        for joint, x in (("UpLeg", hip), ("Leg", knee), ("Foot", foot)):
            turns[side + joint][:, 1] = x
        swing = np.cos(beat) * (1.0 if side == "Left" else -1.0)
        turns[f"{side}Arm"][:, 1] = 18.0 * swing
        turns[f"{side}ForeArm"][:, 1] = -20.0 - 8.0 * swing
        turns[f"{side}Arm"][:, 0] = 6.0 if side == "Left" else -6.0
    turns["Spine"][:, 2] = 3.0 * np.cos(beat)
    turns["Chest"][:, 2] = 3.0 * np.cos(beat)
    turns["Chest"][:, 1] = 2.0
    turns["Head"][:, 2] = -6.0 * np.cos(beat)
    return root, turns


def text() -> str:
    """The file."""
    lines = ["HIERARCHY"]
    open_: list[str] = []
    for name, parent, offset, end in SKELETON:
        while open_ and open_[-1] != parent:
            open_.pop()
            lines.append("\t" * len(open_) + "}")
        pad = "\t" * len(open_)
        lines += [f"{pad}{'JOINT' if parent else 'ROOT'} {name}", f"{pad}{{"]
        open_.append(name)
        pad = "\t" * len(open_)
        lines.append(f"{pad}OFFSET {' '.join(f'{x:g}' for x in offset)}")
        channels = "Zrotation Xrotation Yrotation"
        channels = f"3 {channels}" if parent else f"6 Xposition Yposition Zposition {channels}"
        lines.append(f"{pad}CHANNELS {channels}")
        if end is not None:
            lines += [f"{pad}End Site", f"{pad}{{", f"{pad}\tOFFSET {' '.join(f'{x:g}' for x in end)}", f"{pad}}}"]
    lines += ["\t" * i + "}" for i in reversed(range(len(open_)))]
    root, turns = angles()
    rows = np.concatenate([root, *(turns[name] for name, *_ in SKELETON)], axis=1)
    lines += ["MOTION", f"Frames: {FRAMES}", f"Frame Time: {1 / RATE:g}"]
    return "\n".join([*lines, *(" ".join(f"{x:.3f}" for x in row + 0.0) for row in rows)]) + "\n"


if __name__ == "__main__":
    print(text(), end="")
