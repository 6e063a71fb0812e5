"""BVH files: hierarchy, channels, units, masses; and what is wrong with a file, by line."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import supple
from supple.files import bvh, bvh_text
from supple.files.bvh_text import read_bvh
from supple.files.segments import PARTS, TWICE, inertias, part_of
from supple.scenes import walk_bvh

SMALL = """HIERARCHY
ROOT Hips
{
  OFFSET 1 2 3
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT LeftUpLeg
  {
    OFFSET 10 0 0
    CHANNELS 3 Yrotation Zrotation Xrotation
    JOINT LeftLeg
    {
      OFFSET 0 -45 0
      CHANNELS 1 Xrotation
      JOINT LeftFoot
      {
        OFFSET 0 -45 0
        End Site
        {
          OFFSET 0 -5 15
        }
      }
    }
  }
  JOINT Spine
  {
    OFFSET 0 20 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 60 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.01
0 90 0 0 0 0 0 0 0 0 0 0 0
5 91 -7 10 20 30 40 -50 60 70 15 -25 35
"""


def write(tmp_path, text, name="small.bvh"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_positions_are_those_of_the_file(tmp_path):
    """Oracle: SciPy's rotations, multiplied up the hierarchy in the file's own axes and units."""
    clip = supple.load_bvh(write(tmp_path, SMALL))
    assert clip.times.tolist() == [0.0, 0.01] and clip.rate == 100.0 and clip.feet == ()
    hips = Rotation.from_euler("ZXY", [10, 20, 30], degrees=True)
    thigh = hips * Rotation.from_euler("YZX", [40, -50, 60], degrees=True)
    shank = thigh * Rotation.from_euler("X", 70, degrees=True)
    spine = hips * Rotation.from_euler("ZXY", [15, -25, 35], degrees=True)
    root = np.array([5.0, 91.0, -7.0])
    hip = root + hips.apply([10, 0, 0])
    knee = hip + thigh.apply([0, -45, 0])
    toe = knee + shank.apply([0, -50, 15])
    head = root + hips.apply([0, 20, 0]) + spine.apply([0, 60, 0])

    def world(p):  # y up to z up, centimetres to metres
        return 0.01 * np.array([p[0], -p[2], p[1]])

    poses = supple.poses(clip.model, clip.q[1])
    model = clip.model

    def found(name):
        f = model.frames[name]
        return poses.rotation[f.body] @ f.position + poses.position[f.body]

    np.testing.assert_allclose(poses.position[model.bodies["LeftUpLeg"].index], world(hip), atol=1e-12)
    np.testing.assert_allclose(poses.position[model.bodies["LeftLeg"].index], world(knee), atol=1e-12)
    np.testing.assert_allclose(found("LeftFoot/end"), world(toe), atol=1e-12)
    np.testing.assert_allclose(found("Spine/end"), world(head), atol=1e-12)
    assert [model.joints[i].type for i in range(4)] == ["free", "ball", "revolute", "ball"]
    assert "LeftFoot" in model.frames, "without channels it is part of the shank"
    assert abs(model.total_mass - 70) < 1e-12
    assert "taken to be in cm" in str(model.report)


def test_units_and_axes(tmp_path):
    path = write(tmp_path, SMALL)
    inches = supple.load_bvh(path, unit="in", up="z", mass=50, sex="female")
    assert "taken" not in str(inches.model.report) and abs(inches.model.total_mass - 50) < 1e-12
    np.testing.assert_allclose(inches.q[1, :3], 0.0254 * np.array([5.0, 91.0, -7.0]))
    assert supple.load_bvh(path, unit=2.0).q[1, 2] == 182.0
    assert supple.load(path).nq == inches.model.nq


def test_our_file_is_what_its_maker_makes():
    assert walk_bvh.FILE.read_text() == walk_bvh.text()
    clip = supple.load_bvh(walk_bvh.FILE)
    assert len(clip) == 101 and clip.feet == ("LeftFoot", "RightFoot") and clip.model.nv == 51
    assert np.abs(np.diff(clip.q, axis=0)).max() < 0.2, "no jumps, of quaternions either"


def test_segments_add_up_and_are_recognised():
    for sex in PARTS:
        total = sum(p.mass * (2 if name in TWICE else 1) for name, p in PARTS[sex].items())
        assert abs(total - 1) < 2e-3
    names = {
        "LeftUpLeg": "thigh", "rThigh": "thigh", "RightHip": "thigh", "lShin": "shank", "LeftKnee": "shank",
        "LeftFoot": "foot", "LeftToeBase": "foot", "RightAnkle": "foot", "Hips": "pelvis", "hip": "pelvis",
        "Spine1": "trunk", "Chest2": "trunk", "LeftCollar": "trunk", "lShldr": "upper arm", "LeftArm": "upper arm",
        "RightForeArm": "forearm", "LeftElbow": "forearm", "LeftWrist": "hand", "RightHandThumb1": "hand",
        "Neck": "head", "Head": "head", "LeftShoulder": "trunk", "Tail": None,
    }  # fmt: skip
    assert {name: part_of(name) for name in names} == names
    masses, com, inertia, unknown = inertias(["LeftUpLeg", "RightUpLeg", "Tail"], np.eye(3) * [0.4, 0.4, 0.3], 10.0)
    assert unknown == ["Tail"] and masses[0] == masses[1] and abs(masses.sum() - 10) < 1e-12
    np.testing.assert_allclose(com[0], [0.4095 * 0.4, 0, 0])
    np.testing.assert_allclose(np.linalg.eigvalsh(inertia[0]), masses[0] * 0.16 * np.array([0.149, 0.329, 0.329]) ** 2)


# --- what is wrong, and where ---------------------------------------------------------------------------------------


def changed(old: str, new: str) -> str:
    assert old in SMALL
    return SMALL.replace(old, new, 1)


def at(text: str) -> int:
    """The line in which a text stands first."""
    return SMALL[: SMALL.index(text)].count("\n") + 1


ROW, LATER = "0 90 0 0 0 0 0 0 0 0 0 0 0", "5 91 -7"
THIGH = "CHANNELS 3 Yrotation Zrotation Xrotation"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("# nothing", 1, "ends where HIERARCHY"),
        ("<robot/>\n", 1, "not a BVH"),
        (SMALL[: SMALL.index(" -25 35")], at(LATER), "cut off in the middle of a frame: frame 2 has 11 numbers"),
        (SMALL + "0 1 2\n", at(LATER) + 1, f"more frames than the 2 of line {at('Frames')}"),
        (changed("Frames: 2", "Frames: 5"), at("Frames"), "5 frames are announced, and 2 are there"),
        (changed(ROW, "0 90 0 0"), at(ROW), "frame 1 has 4 numbers, and the hierarchy 13 channels"),
        (changed("0 90 0 0 0 0", "0 90 0 0 x 0"), at(ROW), "'x' is not a number"),
        (changed("0 90 0 0 0 0", "0 nan 0 0 0 0"), at(ROW), "not finite"),
        (changed("0 90 0 0 0 0", "0 1e400 0 0 0 0"), at(ROW), "'1e400' is not finite"),
        (changed("0 90 0 0 0 0", "0 1e61 0 0 0 0"), at(ROW), "'1e61' is too large"),
        (changed("0 90 0 0 0 0", "0 1_0 0 0 0 0"), at(ROW), "'1_0' is not a number"),
        (changed("0 90 0 0 0 0", "0 ٣ 0 0 0 0"), at(ROW), "'٣' is not a number"),
        (changed("Frames: 2", "Frames: ²"), at("Frames"), "Frames"),
        (changed("Frames: 2", "Frames: " + "9" * 5000), at("Frames"), "Frames"),
        (changed("Frame Time: 0.01", "Frame Time: " + "9" * 5000), at("Frame Time"), "..' is not finite"),
        (changed(THIGH, "CHANNELS ² Yrotation Zrotation"), at(THIGH), "must say how many"),
        (changed(THIGH, "CHANNELS " + "9" * 5000), at(THIGH), "must say how many"),
        (changed("JOINT Spine", "JOINT Sp\0ine"), at("JOINT Spine"), "a null character"),
        (changed(THIGH, "CHANNELS 3 Yrotation Zrotation"), at(THIGH), "says it has 3"),
        (changed(THIGH, "CHANNELS 1 Wrotation"), at(THIGH), "'Wrotation' is no channel"),
        (changed(THIGH, "CHANNELS 2 Yrotation Yrotation"), at(THIGH), "Yrotation twice"),
        (changed("OFFSET 10 0 0", "OFFSET 10 0"), at("OFFSET 10"), "needs 3 numbers, and has 2"),
        (changed("OFFSET 10 0 0", "OFFSET 10 zero 0"), at("OFFSET 10"), "'zero' is not a number"),
        (changed("JOINT Spine", "JOINT LeftLeg"), at("JOINT Spine"), f"already, in line {at('JOINT LeftLeg')}"),
        (changed("JOINT Spine", "ROOT Spine"), at("JOINT Spine"), "does not belong here"),
        (changed("JOINT Spine", "BONE Spine"), at("JOINT Spine"), "'BONE' is not expected"),
        (changed("Frame Time: 0.01", "Frame Time: 0"), at("Frame Time"), "must take time"),
        (changed("Frame Time: 0.01", "Time: 0.01"), at("Frame Time"), "Frame Time"),
        (changed("Frames: 2", "Frames: two"), at("Frames"), "Frames"),
        (SMALL[: SMALL.index("      JOINT LeftFoot")], at("JOINT LeftFoot") - 1, "the rest of joint 'LeftLeg'"),
        (SMALL[: SMALL.index("Frames")], at("MOTION"), "ends where Frames"),
        (changed("    OFFSET 0 20 0\n", ""), at("}\nMOTION") - 2, "'Spine' has no OFFSET"),
        (changed("}\nMOTION", "MOTION"), at("}\nMOTION"), "a closing brace is missing"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(tmp_path, text, line, message):
    with pytest.raises(supple.ParseError) as e:
        read_bvh(write(tmp_path, text))
    assert message in str(e.value)
    assert e.value.line == line and e.value.file.endswith("small.bvh")


def test_other_things_that_are_refused(tmp_path):
    with pytest.raises(supple.ParseError, match="there is no such file"):
        supple.load_bvh(tmp_path / "nothing.bvh")
    (tmp_path / "binary.bvh").write_bytes(b"\x80\x81\xff")
    with pytest.raises(supple.ParseError, match="not a text file"):
        supple.load_bvh(tmp_path / "binary.bvh")
    path = write(tmp_path, SMALL)
    for how, message in (
        (dict(unit="ell"), "unit must be"),
        (dict(up="x"), "up must be"),
        (dict(mass=-1.0), "mass must be a positive number"),
        (dict(sex="?"), "sex must be"),
    ):
        with pytest.raises(supple.ModelError, match=message):
            supple.load_bvh(path, **how)


def joints(n: int, chain: bool, more: str = "CHANNELS 1 Xrotation\n", end: str = "") -> str:
    """The text of n joints: each on the one before, or all on the root."""
    opened = [f"JOINT j{i}\n{{\nOFFSET 0 1 0\n{more}{end}" for i in range(n)]
    body = "".join(opened) + "}\n" * n if chain else "".join(text + "}\n" for text in opened)
    head = "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 3 Xrotation Yrotation Zrotation\n"
    return f"{head}{body}}}\nMOTION\nFrames: 0\nFrame Time: 0.1\n"


@pytest.mark.parametrize("chain", [True, False])
@pytest.mark.parametrize("end", ["", "End Site\n{\nOFFSET 0 1 0\n}\n"])
def test_the_work_on_a_joint_does_not_grow_with_their_number(tmp_path, chain, end):
    """Counted in calls of functions, of which a joint alone may take 400."""
    calls = {}
    for n in (200, 800):
        path = write(tmp_path, joints(n, chain, end=end))
        supple.load_bvh(path)
        count = 0

        def event(frame, what, argument):
            nonlocal count
            count += what in ("call", "c_call")

        sys.setprofile(event)
        try:
            clip = supple.load_bvh(path)
        finally:
            sys.setprofile(None)
        assert clip.model.n_bodies == n + 1
        calls[n] = count / n
    assert calls[800] < min(1.05 * calls[200], 400 if not end else 600)


def test_many_levels(tmp_path, monkeypatch):
    """Deeper than any stack, and as many joints as may be."""
    monkeypatch.setattr(bvh_text, "MOST_JOINTS", 20_000)
    path = write(tmp_path, joints(19_999, chain=True, more=""))
    assert len(read_bvh(path).nodes) == 20_000
    path = write(tmp_path, joints(20_000, chain=True, more=""))
    with pytest.raises(supple.ParseError, match=r"small.bvh:\d+: there are more than 20000 joints"):
        read_bvh(path)
    path = write(tmp_path, "HIERARCHY\nROOT r\n" + "{" * 100_000)
    with pytest.raises(supple.ParseError, match=r"small.bvh:3: '{' is not expected here"):
        read_bvh(path)


def test_names_are_kept_whatever_they_hold(tmp_path):
    """Who shows them escapes them."""
    names = ("\x1b[2Jred", "![](http://127.0.0.1/)", "\u202eback", "two  words")
    text = SMALL.replace("JOINT Spine", f"JOINT {names[0]}").replace("LeftUpLeg", names[1]).replace("Hips", names[2])
    clip = supple.load_bvh(write(tmp_path, text.replace("LeftLeg", names[3])))
    assert set(clip.model.body_names) >= {names[0], names[1], names[2], "two words"}


def test_a_skeleton_without_frames(tmp_path):
    clip = supple.load_bvh(write(tmp_path, joints(2, chain=True)))
    assert len(clip) == 0 and clip.q.shape == (0, clip.model.nq)
    assert "0 frames in 0 s" in repr(clip) and clip.rate == np.inf


@pytest.mark.parametrize("seed", range(10))
def test_joints_with_any_channels(tmp_path, seed, monkeypatch):
    """Any order and number of channels; rotations are those of SciPy, frame by frame and joint by joint."""
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(bvh, "AT_ONCE", int(rng.integers(1, 30)))  # several blocks of frames
    parts, kinds = [], []
    for i in range(12):
        turns = list(rng.permutation(["Xrotation", "Yrotation", "Zrotation"])[: rng.integers(1, 4)])
        moves = ["Yposition"] if i and rng.random() < 0.3 else []
        channels = [str(c) for c in rng.permutation(turns + moves)]
        kinds.append(channels)
        word = "JOINT" if i else "ROOT"
        parts.append(f"{word} j{i}\n{{\nOFFSET 0 {i + 1} 1\nCHANNELS {len(channels)} {' '.join(channels)}\n")
    numbers = rng.uniform(-180, 180, (7, sum(map(len, kinds))))
    rows = "\n".join(" ".join(map(str, row)) for row in numbers)
    text = "HIERARCHY\n" + "".join(parts) + "}\n" * 12 + f"MOTION\nFrames: 7\nFrame Time: 0.1\n{rows}\n"
    clip = supple.load_bvh(write(tmp_path, text), up="z")
    first = 0
    for i, channels in enumerate(kinds):
        columns = dict(zip(channels, numbers.T[first : first + len(channels)]))
        first += len(channels)
        turns = [c for c in channels if c.endswith("rotation")]
        joint = clip.model.joints[i]
        if joint.type == "revolute":
            np.testing.assert_allclose(clip.q[:, joint.q][:, 0], np.deg2rad(columns[turns[0]]))
            continue
        theirs = Rotation.from_euler(
            "".join(c[0] for c in turns), np.array([columns[c] for c in turns]).T, degrees=True
        )
        quaternion = clip.q[:, joint.q.stop - 4 : joint.q.stop]
        np.testing.assert_allclose(Rotation.from_quat(quaternion).as_matrix(), theirs.as_matrix(), atol=1e-12)
        assert (np.sum(quaternion[1:] * quaternion[:-1], axis=1) >= 0).all()


@pytest.mark.parametrize("seed", range(40))
def test_no_garbled_file_raises_anything_else(tmp_path, seed):
    """Lines dropped, doubled, cut, swapped: a clip or a ParseError."""
    rng = np.random.default_rng(seed)
    lines = SMALL.splitlines()
    for _ in range(int(rng.integers(1, 4))):
        i, j = rng.integers(len(lines), size=2)
        what = rng.integers(4)
        if what == 0:
            del lines[i]
        elif what == 1:
            lines.insert(i, lines[j])
        elif what == 2:
            lines[i] = lines[i][: len(lines[i]) // 2]
        else:
            lines[i], lines[j] = lines[j], lines[i]
    try:
        supple.load_bvh(write(tmp_path, "\n".join(lines)))
    except supple.ParseError as e:
        assert e.file


# --- as other tools write it ------------------------------------------------------------------------------------------


def tight(text: str) -> str:
    """Braces on the lines before and after."""
    return text.replace("\n{", " {").replace("\n}", " }")


def plain(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines()) + "\n"


def commented(text: str) -> str:
    return "# made by hand\n" + text.replace("OFFSET 10", "// the left one\n  # {\nOFFSET 10").replace(
        "MOTION", "#\nMOTION"
    )


WRITTEN = {
    "brace on the joint's line": lambda t: plain(t).replace("\n{", " {"),
    "brace at the name": lambda t: plain(t).replace("\n{", "{"),
    "braces anywhere": lambda t: tight(plain(t)),
    "brace before what follows": lambda t: plain(t).replace("{\n", "{ ").replace("\n}", "}"),
    "lower case": lambda t: plain(t).lower().replace("hips", "Hips").replace("leftupleg", "LeftUpLeg")
    .replace("leftleg", "LeftLeg").replace("leftfoot", "LeftFoot").replace("spine", "Spine"),
    "channels in capitals": lambda t: t.replace("rotation", "ROTATION").replace("position", "POSITION"),
    "tabs and blank lines": lambda t: t.replace("  ", "\t").replace("\n", "\n\n"),
    "Windows": lambda t: t.replace("\n", "\r\n"),
    "old Macintosh": lambda t: t.replace("\n", "\r"),
    "spaces at colons": lambda t: t.replace("Frames: 2", "Frames :2").replace("Frame Time: 0.01", "Frame time:0.01"),
    "comments": commented,
    "comments behind": lambda t: t.replace("{", "{ # {").replace("\n5", " // x }\n5").replace("MOTION", "MOTION #now"),
    "comments at braces": lambda t: t.replace("}", "}#{ x"),
    "end sites with names": lambda t: t.replace("End Site", "End Site toe"),
}  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("how", WRITTEN)
def test_the_same_file_written_otherwise(tmp_path, how, encoding):
    path = tmp_path / "other.bvh"
    path.write_bytes(WRITTEN[how](SMALL).encode(encoding))
    ours, theirs = supple.load_bvh(path), supple.load_bvh(write(tmp_path, SMALL))
    assert ours.model.body_names == theirs.model.body_names and len(ours.model.report) == len(theirs.model.report)
    assert [f.name for f in ours.model.frame_list] == [f.name for f in theirs.model.frame_list]
    np.testing.assert_array_equal(ours.q, theirs.q)
    np.testing.assert_array_equal(ours.model.position, theirs.model.position)
    np.testing.assert_array_equal(ours.times, theirs.times)


def test_feet_are_known_by_their_names_whatever_the_braces(tmp_path):
    text = changed("OFFSET 0 -45 0\n        End", "OFFSET 0 -45 0\n        CHANNELS 1 Xrotation\n        End")
    text = text.replace("-25 35", "-25 35 0").replace("0 0 0 0\n5", "0 0 0 0 0\n5")
    for how in ("brace on the joint's line", "brace at the name", "braces anywhere"):
        assert supple.load_bvh(write(tmp_path, WRITTEN[how](text))).feet == ("LeftFoot",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_names_that_are_not_ascii(tmp_path, encoding):
    path = tmp_path / "other.bvh"
    path.write_bytes(changed("JOINT Spine", "JOINT Rückgrat Ä").encode(encoding))
    model = supple.load_bvh(path).model
    assert "Rückgrat Ä" in model.body_names
    assert len(model.report.about("encoding")) == (encoding == "latin-1")


def test_comments_and_names(tmp_path):
    path = tmp_path / "other.bvh"
    path.write_bytes(("# von Ä\n" + changed("JOINT Spine", "JOINT Spine #2 // the lower")).encode("latin-1"))
    assert "Spine #2" in supple.load_bvh(path).model.body_names


@pytest.mark.parametrize("seed", range(20))
def test_braces_and_spaces_anywhere(tmp_path, seed):
    """Line breaks about braces put in and taken out at random change nothing, and no name has a brace in it."""
    rng = np.random.default_rng(seed)
    head, motion = plain(SMALL).split("MOTION")
    for brace in "{}":
        parts = head.split(brace)
        around = [str(rng.choice(["\n", "\n\n  ", " ", ""])) for _ in range(2 * len(parts))]
        head = parts[0].rstrip()
        for i, part in enumerate(parts[1:]):
            head += around[2 * i] + brace + around[2 * i + 1] + part.strip()
    ours, theirs = (supple.load_bvh(write(tmp_path, t)) for t in (f"{head}\nMOTION{motion}", SMALL))
    assert ours.model.body_names == theirs.model.body_names
    np.testing.assert_array_equal(ours.q, theirs.q)


@pytest.mark.parametrize("count", ["²", "9" * 5000, "-1", "2.0", ""])
def test_numbers_that_are_none(tmp_path, count):
    for old, new in (("Frames: 2", f"Frames: {count}"), ("CHANNELS 6", f"CHANNELS {count}")):
        with pytest.raises(supple.ParseError):
            supple.load_bvh(write(tmp_path, changed(old, new)))
