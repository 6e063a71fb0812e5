"""`supple view` that writes files: of recordings, robots and captured motion; and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

import supple
from supple import cli

image = pytest.importorskip("PIL.Image")
pytest.importorskip("viser")
WALK = Path(supple.__file__).parent / "scenes" / "walk.bvh"
ROBOT = """<robot name="arm"><link name="base"/>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<link name="a"><inertial><origin xyz="0 0 0.5"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


def view(*words: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(["view", *map(str, words)])
    return int(ended.value.code or 0)


def test_captured_motion_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gif, html = tmp_path / "walk.gif", tmp_path / "walk.html"
    how = ("--frames", "3", "--size", "160x120", "--camera", "left", "--fps", "5")
    assert view(WALK, "--gif", gif, "--html", html, *how) == 0
    with image.open(gif) as picture:
        assert (picture.n_frames, picture.size) == (3, (160, 120))
    text = html.read_text()
    assert 'id="supple-time"' in text and text.count("Content-Security-Policy") >= 1
    assert "3 pictures" in capsys.readouterr().out


def test_robot_is_a_picture_of_its_pose(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(ROBOT)
    assert view(tmp_path / "arm.urdf", "--gif", tmp_path / "arm.png", "--size", "100x80") == 0
    with image.open(tmp_path / "arm.png") as picture:
        assert picture.size == (100, 80)


@pytest.mark.parametrize("option", ["--gif", "--html"])
def test_files_say_what_is_not_drawn_in_them(tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    (tmp_path / "a.stl").write_text("solid nothing")
    visual = '<visual><geometry><mesh filename="a.stl"/></geometry></visual></link></robot>'
    (tmp_path / "arm.urdf").write_text(ROBOT.replace("</link></robot>", visual))
    assert view(tmp_path / "arm.urdf", option, tmp_path / f"arm.{option[2:]}") == 0
    assert "not drawn: " in (out := " ".join(capsys.readouterr().out.split())) and "a.stl" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [(("--gif", "run.mp4"), "must end in"), (("--mp4", "run.gif"), "must end in"),
     (("--html", "run.gif"), "must end in"), (("--gif", "run.gif", "--size", "800"), "WIDTHxHEIGHT"),
     (("--gif", "run.gif", "--size", "9x9"), "pixels"),
     (("--gif", "run.gif", "--camera", "above"), "camera"), (("--fps", "5"), "--mp4"), (("--frames", "5"), "--mp4"),
     (("--gif", "run.gif", "--fps", "0"), "pictures a second")],
)  # fmt: skip
def test_what_cannot_be_written_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert view(WALK, *words) != 0
    captured = capsys.readouterr()
    assert said in " ".join((captured.out + captured.err).replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []
