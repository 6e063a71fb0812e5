"""What crashes, hangs or fills the memory in a library that reads files is an error, and the next file is read."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

import supple
from supple.errors import ParseError, StateError
from supple.files import apart
from supple.files.mjcf import COMPILER
from supple.viewing import solids

pytest.importorskip("mujoco")

BODY = '<body><joint/><geom size="0.1"/></body>'


def mjcf(world: str = BODY, more: str = "") -> str:
    return f"<mujoco>\n{more}\n<worldbody>\n{world}\n</worldbody></mujoco>"


NESTED = '<replicate count="10" offset="1 0 0">' * 9 + BODY + "</replicate>" * 9
TEXTURE = '<asset><texture name="t" type="2d" builtin="checker" width="30000" height="30000"/></asset>'
FIELD = '<asset><hfield name="h" nrow="30000" ncol="30000" size="1 1 1 1"/></asset>'
ITSELF = '<asset><model name="m" file="robot.xml"/></asset>'

#: Those that go on and on are stopped early; the others get far enough to fail by themselves.
ENDLESS = {
    "a body 10^9 times": (mjcf(NESTED), "takes more than 0.5 s|gave up"),
    "2 * 10^4 bodies": (mjcf(BODY * 20_000), "takes more than 0.5 s"),
    "10^9 key frames": (mjcf(more='<size nkey="1000000000"/>'), "takes more than 0.5 s|gave up|memory"),
}
HOSTILE = ENDLESS | {
    "a picture of 3 GB": (mjcf(more=TEXTURE), "[Mm]emory"),
    "a field of 4 GB": (mjcf('<geom type="hfield" hfield="h"/>', FIELD), "memory|takes more|refuses"),
    "10^9 numbers a body": (mjcf(more='<size nuser_body="1000000000"/>'), "memory|takes more"),
    "a model attached to itself": (mjcf(f'{BODY}<attach model="m" prefix="p"/>', ITSELF), "crashed|refuses|takes more"),
    "200,000 levels": (mjcf("<body>" * 200_000 + "</body>" * 200_000), "refuses|crashed|nest"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_small_files_that_take_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    text, message = HOSTILE[what]
    path = tmp_path / "robot.xml"
    path.write_text(text)
    with monkeypatch.context() as impatient, pytest.raises(ParseError, match=rf"robot.xml.*({message})"):
        impatient.setenv("SUPPLE_FILE_SECONDS", "0.5" if what in ENDLESS else "1.5")
        supple.load(path)
    path.write_text(mjcf())
    assert supple.load(path).n_bodies == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("pipe", '<include file="pipe"/>'),
        ("pipe.stl", '<asset><mesh name="m" file="pipe.stl"/></asset>'),
        ("parts/pipe.stl", '<compiler meshdir="parts"/><asset><mesh name="m" file="pipe.stl"/></asset>'),
        ("pipe.png", '<asset><texture name="t" type="cube" fileright="pipe.png"/></asset>'),
        ("pipe.xml", '<include file="other.xml"/>'),
    ],
)
def test_pipes_that_a_model_names_are_not_opened(tmp_path: Path, name: str, more: str) -> None:
    (tmp_path / "parts").mkdir()
    os.mkfifo(tmp_path / name)
    (tmp_path / "other.xml").write_text('<mujoco>\n<include file="pipe.xml"/></mujoco>')
    (tmp_path / "robot.xml").write_text(mjcf(more=more))
    with pytest.raises(ParseError, match=r"names '.*pipe.*': this is not a regular file but a pipe") as e:
        supple.load(tmp_path / "robot.xml")
    assert e.value.line == 2


def test_names_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    for text in (
        b'<body name="x\xff"><joint/><geom size="1"/></body>',
        b'<body><joint name="\xe9"/><geom size="1"/></body>',
    ):
        path.write_bytes(mjcf("BODY").encode().replace(b"BODY", text))
        with pytest.raises(ParseError, match=r"robot.xml.*not UTF-8"):
            supple.load(path)


def test_compiled_apart_is_the_model_compiled_here(tmp_path: Path) -> None:
    import mujoco

    path = tmp_path / "robot.xml"
    path.write_text(
        mjcf('<body name="a" pos="0 0 1"><joint name="j" damping="2"/><geom size="0.1 0.2" type="capsule"/></body>')
    )
    ours, theirs = supple.load(path), mujoco.MjModel.from_xml_path(str(path))
    assert ours.body_names == ("a",)
    assert ours.mass[0] == theirs.body_mass[1]
    assert np.array_equal(ours.damping, theirs.dof_damping)


def test_one_process_serves_many_files(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(mjcf())
    COMPILER.close()  # one that other tests have made grow may be replaced at any file
    supple.load(path)
    first = COMPILER._process
    path.write_text("<mujoco><odd/></mujoco>")
    with pytest.raises(ParseError, match=r"robot.xml:1: MuJoCo refuses it"):
        supple.load(path)
    path.write_text(mjcf())
    supple.load(path)
    assert first is not None and COMPILER._process is first
    COMPILER.close()
    assert supple.load(path).n_bodies == 1
    assert COMPILER._process is not first


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_forked_process_has_a_reader_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(mjcf())
    program = (
        "import os, sys, supple\n"
        "supple.load(sys.argv[1])\n"
        "child = os.fork()\n"
        "n = supple.load(sys.argv[1]).n_bodies\n"
        "if child == 0: os._exit(n)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), n)\n"
    )
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program, str(path)]
    assert subprocess.run(command, capture_output=True, text=True, timeout=60).stdout == "1 1\n"


@pytest.mark.parametrize("value", ["abc", "0", "-1", "nan", "inf"])
def test_limits_are_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    (tmp_path / "robot.xml").write_text(mjcf())
    monkeypatch.setenv("SUPPLE_FILE_SECONDS", value)
    with pytest.raises(StateError, match="SUPPLE_FILE_SECONDS is"):
        supple.load(tmp_path / "robot.xml")


def test_answers_larger_than_a_file_may_be_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "robot.xml").write_text(mjcf())
    monkeypatch.setattr(apart, "LARGEST_FILE", 1000)
    with pytest.raises(ParseError, match="what is in it is larger than"):
        supple.load(tmp_path / "robot.xml")


# --- meshes ------------------------------------------------------------------------------------------------


def glb(scene: dict[str, object]) -> bytes:
    text = json.dumps({"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], **scene}).encode()
    text += b" " * (-len(text) % 4)
    return b"glTF" + struct.pack("<II", 2, 20 + len(text)) + struct.pack("<I4s", len(text), b"JSON") + text


def archive(name: str, megabytes: int) -> bytes:
    """Of zeros: one compressed megabyte, again and again."""
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    piece = deflate.compress(bytes(2**20)) + deflate.flush(zlib.Z_FULL_FLUSH)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr(name, piece * megabytes + deflate.flush())
    data = bytearray(out.getvalue())
    for method in (8, data.rindex(b"PK\x01\x02") + 10):  # it was stored: now it is said to be compressed, from so much
        struct.pack_into("<H", data, method, zipfile.ZIP_DEFLATED)
        struct.pack_into("<I", data, method + 14, megabytes * 2**20)
    return bytes(data)


MANY = 10**9
POINTS = {"componentType": 5126, "count": MANY, "type": "VEC3"}
COUNTED = {
    "nodes": [{"mesh": 0}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
    "accessors": [POINTS, {"componentType": 5125, "count": 3 * MANY, "type": "SCALAR"}],
}
PLY = "ply\nformat {}\nelement vertex {}\nproperty float x\nproperty float y\nproperty float z\nend_header\n"
LAUGHS = "<!DOCTYPE l [<!ENTITY a 'aaaaaaaaaa'>" + "".join(
    f"<!ENTITY {chr(98 + i)} '{f'&{chr(97 + i)};' * 10}'>" for i in range(12)
)
MESHES = {
    "counts.stl": bytes(80) + struct.pack("<I", 2**32 - 1) + bytes(50),
    "counts.glb": glb(COUNTED),
    "counts.ply": PLY.format("binary_little_endian 1.0", 4 * MANY).encode() + bytes(60),
    "counts.off": b"OFF\n2000000000 2000000000 0\n0 0 0\n",
    "index.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3000000000\n",
    "laughs.dae": f"<?xml version='1.0'?>{LAUGHS}]><COLLADA><asset><unit name='&m;'/></asset></COLLADA>".encode(),
    "bomb.zae": archive("scene.dae", 3000),
    "cut.glb": b"glTF",
    "empty.stl": b"",
}


@pytest.mark.parametrize("name", MESHES)
def test_meshes_that_promise_more_than_they_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    pytest.importorskip("trimesh")
    path = tmp_path / name
    path.write_bytes(MESHES[name])
    with monkeypatch.context() as impatient:
        impatient.setenv("SUPPLE_FILE_SECONDS", "0.5" if name == "bomb.zae" else "1.5")
        said = solids._mesh(str(path))
    assert isinstance(said, str) and said.startswith(f"{path}: ")
    good = tmp_path / "good.obj"
    good.write_bytes(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (part,) = solids._mesh(str(good))
    assert isinstance(part, solids.Part)
    assert part.faces.tolist() == [[0, 1, 2]]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipes_that_a_mesh_names_are_not_opened(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    os.mkfifo(tmp_path / "pipe.mtl")
    (tmp_path / "a.obj").write_text("mtllib pipe.mtl\nusemtl red\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (part,) = solids._mesh(str(tmp_path / "a.obj"))
    assert isinstance(part, solids.Part)
    assert part.colour is None


def test_meshes_that_take_too_long_do_not_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    b = supple.ModelBuilder()
    body = b.add_body("a", mass=1.0, com=(1.0, 0.0, 0.0))
    for i in range(5):
        b.add_visual(body, "mesh", (1.0, 1.0, 1.0), mesh=str(tmp_path / f"{i}.stl"))
    asked: list[str | None] = []
    clock = iter(np.arange(0.0, 100.0, 1.5))
    monkeypatch.setattr(solids, "monotonic", lambda: next(clock))
    monkeypatch.setattr(solids, "_mesh", lambda path: asked.append(path) or "slow")
    failed = solids.solids(b.build()).failed
    assert len(asked) == 2
    assert [x.endswith("took too long") for x in failed] == [False, False, True, True, True]


def test_a_large_process_has_readers_that_are_used_again(tmp_path: Path) -> None:
    """What the system says of the memory of a new process may be what its parent had."""
    path = tmp_path / "robot.xml"
    path.write_text(mjcf())
    COMPILER.close()
    large = bytearray(os.urandom(1 << 20)) * 500
    supple.load(path)
    first = COMPILER._process
    supple.load(path)
    assert first is not None and COMPILER._process is first and len(large) == 500 << 20
