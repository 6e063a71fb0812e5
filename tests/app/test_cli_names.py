"""Names in files that are orders to a terminal, or markup: every command shows them as text."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_cli import ARM, run

import supple
from supple.errors import printable

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
BVH = """HIERARCHY
ROOT hips{name}
{{
OFFSET 0 90 0
CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
JOINT knee{name}[/]
{{
OFFSET 0 -40 0
CHANNELS 3 Zrotation Xrotation Yrotation
End Site
{{
OFFSET 0 -40 0
}}
}}
}}
MOTION
Frames: 2
Frame Time: 0.01
0 90 0 0 0 0 0 0 0
0 90 0 0 0 0 0 0 1
"""


def check(*arguments: object, code: int = 0) -> str:
    """What a command says, all of which can be seen."""
    done = run(*arguments)
    assert done.returncode == code, done.stderr
    said = done.stdout + done.stderr
    assert printable(said, keep="\n") == said
    return said


def test_captured_motion(tmp_path: Path) -> None:
    file = tmp_path / "walk.bvh"
    file.write_text(BVH.format(name=ESCAPE))
    assert "knee\\x1b]0;owned\\x07\\x1b[31m[/]" in check("inspect", file, "--all")


@pytest.mark.parametrize("character", ["\x9b", "\u202e", "\u2028", "&#10;"])
def test_robots(tmp_path: Path, character: str) -> None:
    file = tmp_path / f"arm{ESCAPE[:3]}.urdf"
    file.write_text(ARM.replace('"upper"', f'"up{character}[/]per"').replace('name="arm"', f'name="[/]{character}"'))
    assert "per" in check("inspect", file, "--all")
    recording = tmp_path / "\x1b[2J.h5"
    check("run", file, "--duration", "0.002", "--record", recording)
    assert supple.load_run(recording).model.name.startswith("[/]")
    check("export", recording, "--to", "npz")
    check("convert", file, "-o", tmp_path / "\x1b[2J.urdf")


def test_errors(tmp_path: Path) -> None:
    file = tmp_path / "\x1b[31m.urdf"
    assert "\\x1b[31m.urdf" in check("inspect", file, code=2)
    file.write_text("<robot><link/></robot>")
    check("inspect", file, code=2)
    for wrong in (("run", "x\x1b[31m"), ("view", file), ("export", file), ("run", "molecule", "--set", "\x1b[31m=3"),
                  ("run", "molecule", "--force", "\x1b[31m:1,2,3"), ("run", "--config", tmp_path / "\x1b.toml"),
                  ("\x1b[31m",), ("run", "molecule", "--method", "\x1b[31m")):  # fmt: skip
        check(*wrong, code=2)


def test_pictures_and_pages_of_hostile_names(tmp_path: Path) -> None:
    pytest.importorskip("viser")
    pytest.importorskip("PIL")
    file, recording = tmp_path / "arm.urdf", tmp_path / "run.h5"
    file.write_text(ARM)
    check("run", file, "--duration", "0.002", "--record", recording)
    for option, name in (("--gif", "[red]\x1b[2J.gif"), ("--html", "[red]\x1b[2J.html")):
        assert "[red]\\x1b[2J" in check("view", recording, option, tmp_path / name, "--frames", "2")
