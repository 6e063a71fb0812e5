"""Moving pictures: their number, size and rate; the colours in them; the legend and the time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import supple
from supple import scenes
from supple.viewing.camera import FIELD, fit
from supple.viewing.colours import ACTIVE, ANCHOR, ASLEEP, CONTACT_FORCE, FORCE, PLANE, RIGID, SPRING, TORQUE, Entry
from supple.viewing.movie import Wanted, export_movie, schedule
from supple.viewing.pictures import INK, SHADE, SUN, Painter, finer
from supple.viewing.scenery import _arrow
from supple.viewing.show import shown_as
from supple.viewing.timeline import HOLD, Timeline
from walks import walk_then_fly

image = pytest.importorskip("PIL.Image")


def adaptive() -> supple.Result:
    scene = scenes.molecule(60)
    how: Any = dict(method="adaptive", active=25, dt=scene.dt, every=20, duration=100 * scene.dt)
    result = supple.simulate(scene.model, scene.q0, forces=scene.all_forces(), **how)
    result.rods = scene.rods
    return result


def pictures(path: Path) -> list[np.ndarray]:
    out = []
    with image.open(path) as moving:
        for i in range(moving.n_frames):
            moving.seek(i)
            out.append(np.asarray(moving.convert("RGB")).astype(int))
    return out


def film(path: Path) -> list[np.ndarray]:
    av = pytest.importorskip("av")
    with av.open(path) as moving:
        return [np.asarray(frame.to_image()).astype(int) for frame in moving.decode(video=0)]


def count(picture: np.ndarray, colour: tuple[int, ...], off: int = 3) -> int:
    return int((np.abs(picture - np.array(colour)).max(axis=-1) <= off).sum())


def caption(picture: np.ndarray) -> np.ndarray:
    """Where the time is said."""
    return picture[:40, :120]


def legend(picture: np.ndarray) -> np.ndarray:
    return picture[-34:]


def test_active_bodies_have_the_colour_that_the_legend_says(tmp_path: Path) -> None:
    result = adaptive()
    export_movie(result, tmp_path / "run.png", Wanted(frames=3, size=(400, 300)), result.rods)
    first, *_, last = pictures(tmp_path / "run.png")
    for colour, off in ((ACTIVE, 3), (RIGID, 3), (FORCE, 45)):  # an arrow is shaded
        assert count(legend(last), colour) > 80  # a patch
        assert count(last[:-34], colour, off) > 20
    assert count(first[:-34], ACTIVE) == 0  # the control: before the first step none is active
    assert count(legend(first), ACTIVE) > 80
    assert not np.array_equal(caption(first), caption(last))
    assert count(caption(last), (255, 255, 255)) < caption(last).shape[0] * 120  # something is said there


@pytest.mark.parametrize("kind", ["box", "capsule", "hull"])
def test_solids_throw_a_shadow_where_they_are(kind: str, tmp_path: Path) -> None:
    """On a floor a metre below them, away from the light, and as large as parallel light makes it; seen from above."""
    corners = np.array([(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
    size: Any = {"box": (0.2, 0.2, 0.2), "capsule": (0.1, 0.0), "hull": ()}[kind]
    b = supple.ModelBuilder("block")
    b.add_body("block", joint="free", mass=1.0, inertia=(0.01, 0.01, 0.01))
    b.add_shape("block", kind, size, points=corners if kind == "hull" else None)
    model = b.build()
    q = model.neutral()
    q[2] = 1.0
    result = supple.simulate(model, q, duration=0.001, contacts=supple.Contacts(ground=0.0))
    export_movie(result, tmp_path / "run.png", Wanted(frames=1, size=(800, 600), camera="0,0,4:0,0,0"))
    (picture,) = pictures(tmp_path / "run.png")
    metre = 300 / np.tan(0.5 * FIELD) / 4.0  # pixels, on the floor
    slant = np.abs(SUN) / SUN[2]
    area = 0.04 * slant.sum() if kind != "capsule" else np.pi * 0.01 * np.linalg.norm(slant)
    dark = np.abs(picture - np.array(SHADE)).max(axis=-1) <= 2
    assert dark.sum() == pytest.approx(area * metre**2, rel=0.12)  # pixels of its edge are of both colours
    away = np.argwhere(dark).mean(axis=0) - (300, 400)
    assert np.linalg.norm(away) == pytest.approx(metre * np.hypot(*slant[:2]), rel=0.03)


def test_springs_and_anchors_are_drawn(tmp_path: Path) -> None:
    scene = scenes.spring_pendulum(links=8)
    result = supple.simulate(scene.model, scene.q0, forces=scene.all_forces(), dt=scene.dt, duration=0.02, every=10)
    export_movie(result, tmp_path / "run.png", Wanted(frames=1, size=(400, 300)), scene.rods)
    (picture,) = pictures(tmp_path / "run.png")
    assert count(picture[:-34], SPRING, 40) > 20 and count(picture[:-34], ANCHOR, 30) > 20
    alone = supple.simulate(scene.model, scene.q0, dt=scene.dt, duration=0.02, every=10)
    export_movie(alone, tmp_path / "alone.png", Wanted(frames=1, size=(400, 300)), scene.rods)
    assert count(pictures(tmp_path / "alone.png")[0], SPRING, 40) == 0


def test_torques_are_drawn_while_they_act(tmp_path: Path) -> None:
    model = supple.trees.chain(4)
    turn = supple.Push(2, torque=(0.0, 3.0, 1.0), stop=0.01)
    result = supple.simulate(model, forces=[turn, lambda t, q, v: -v], dt=1e-3, duration=0.02, every=5)
    export_movie(result, tmp_path / "run.png", Wanted(frames=3, size=(300, 240)))
    first, *_, last = (p[:-54] for p in pictures(tmp_path / "run.png"))  # without the legend, which has two lines
    assert count(first, TORQUE, 40) > 40 and count(last, TORQUE, 40) == 0


@pytest.mark.parametrize("ending", [".png", ".mp4"])
def test_captured_motion_has_the_forces_of_the_ground(tmp_path: Path, ending: str) -> None:
    result, *_ = shown_as(walk_then_fly())
    path = export_movie(result, tmp_path / f"walk{ending}", Wanted(frames=5, size=(320, 240)))
    made = pictures(path) if ending == ".png" else film(path)
    stands, flies = made[1], made[-1]
    assert count(stands[:-34], FORCE, 45) > 20 and count(flies[:-34], FORCE, 45) == 0
    assert count(legend(flies), FORCE, 20) > 80


def test_a_legend_that_is_too_long_has_several_lines(tmp_path: Path) -> None:
    """All of it is in the picture: its last remark is at the bottom, its colours above."""
    model = supple.trees.chain(3)
    forces = [supple.Push(2, (0.0, 0.0, 1.0), torque=(1.0, 0.0, 0.0)), supple.Spring(1, (0.0, 1.0, 0.0), 5.0)]
    result = supple.simulate(model, forces=[*forces, lambda t, q, v: -v], dt=1e-3, duration=2e-3)
    export_movie(result, tmp_path / "run.png", Wanted(frames=1, size=(240, 200)))
    (picture,) = pictures(tmp_path / "run.png")
    for colour in (FORCE, TORQUE, SPRING, ANCHOR):
        assert count(picture[-64:], colour) > 80
        assert count(picture[:, -4:], colour) == 0  # nothing is cut off at the right
    assert count(picture[-20:], FORCE) == 0 and count(picture[-20:], (40, 48, 56), 60) > 30  # the remark


@pytest.mark.parametrize("size", [(160, 120), (120, 110), (320, 70), (120, 1500)])
def test_a_legend_has_smaller_letters_where_it_would_not_fit(size: tuple[int, int]) -> None:
    """All of it is in the picture, and below the time; where it could not be read, there is none."""
    points, colours = np.eye(3), (ACTIVE, RIGID, ASLEEP, CONTACT_FORCE)
    words = "active", "rigid", "asleep", "contact force: 1 m is 2,000 N (arrows cut at 1,300 N)"
    entries = [*map(Entry, words, colours), Entry("not drawn: forces of controllers", None)]

    def drawn(size: tuple[int, int], said: str) -> np.ndarray:
        painter = Painter(fit(points, np.ones(3), size[0] / size[1]), size, None, points)
        nothing = np.zeros((0, 3, 3)), np.zeros((0, 3))
        return np.asarray(painter.draw([], nothing, None, [], entries, said)).astype(int)

    legend = drawn(size, "")
    assert min(count(legend, colour) for colour in colours) > 20
    assert (legend[:, -3:] == 255).all() and (legend[-2:] == 255).all()
    time = (drawn(size, "12.345 s") != legend).any(axis=(1, 2))
    assert time.sum() > 4 and (legend[: np.flatnonzero(time).max() + 1] == 255).all()
    assert (drawn((50, 40), "") == 255).all()


def test_trees_that_sleep_have_a_colour_of_their_own(tmp_path: Path) -> None:
    """Orange and grey as long as it falls, dark where it sleeps; the legend has all three throughout."""
    scene = scenes.pile(2, 3)
    how: Any = dict(method="adaptive", active=1, contacts=scene.contacts, dt=scene.dt)
    result = supple.simulate(scene.model, scene.q0, duration=4.0, every=1000, **how)
    export_movie(result, tmp_path / "run.png", Wanted(frames=2, size=(400, 300)), scene.rods)
    first, last = pictures(tmp_path / "run.png")
    for picture in (first, last):
        assert min(count(picture[-50:, :-60], colour) for colour in (ACTIVE, RIGID, ASLEEP)) > 80
    counts = [[count(p[:-50], colour, 10) for colour in (ACTIVE, RIGID, ASLEEP)] for p in (first, last)]
    assert min(counts[0][:2]) > 20 and counts[0][2] == 0, counts
    assert max(counts[1][:2]) == 0 and counts[1][2] > 50, counts


@pytest.mark.parametrize(("wide", "lines"), [(150, 3), (240, 2), (400, 1)])
def test_a_remark_that_is_longer_than_a_line_has_several(tmp_path: Path, wide: int, lines: int) -> None:
    """The scale of contact forces is within the picture, in as many lines as it needs, and beside its colour."""
    scene = scenes.pile(2, 3)
    result = supple.simulate(scene.model, scene.q0, contacts=scene.contacts, dt=scene.dt, duration=0.4, every=100)
    export_movie(result, tmp_path / "run.png", Wanted(frames=1, size=(wide, 300)))
    (picture,) = pictures(tmp_path / "run.png")
    assert count(picture, CONTACT_FORCE) > 80
    assert count(picture[-100:, -3:], INK, 60) == 0  # nothing is cut off at the right
    ends = np.flatnonzero((np.abs(picture[-100:] - np.array(INK)).max(axis=-1) < 60).any(axis=1))
    assert 1 + np.count_nonzero(np.diff(ends) > 3) == lines, ends
    patch = np.flatnonzero((np.abs(picture - np.array(CONTACT_FORCE)).max(axis=-1) < 3)[:, :30].any(axis=0))
    words = np.flatnonzero((np.abs(picture[-100:] - np.array(INK)).max(axis=-1) < 60).any(axis=0))
    assert patch.max() < words.min()  # further lines are beside the colour, not below it


def test_what_repeats_holds_its_last_state(tmp_path: Path) -> None:
    result = adaptive()
    path = export_movie(result, tmp_path / "run.gif", Wanted(frames=3, size=(120, 90)), result.rods)
    shown = []
    with image.open(path) as moving:
        for i in range(moving.n_frames):
            moving.seek(i)
            shown.append(moving.info["duration"])
    assert shown[-1] == pytest.approx(max(1000.0 * HOLD, shown[0]), abs=10) and shown[0] == shown[1]


@pytest.mark.parametrize("ending", [".gif", ".webp", ".png"])
def test_pictures_are_as_many_and_as_large_as_asked_for(tmp_path: Path, ending: str) -> None:
    model = supple.trees.chain(4)
    result = supple.simulate(model, np.full(model.nq, 0.5), dt=1e-3, duration=2.0, every=50)
    path = export_movie(result, tmp_path / f"p{ending}", Wanted(frames=5, size=(120, 90)))
    made = pictures(path)
    assert (len(made), made[0].shape) == (5, (90, 120, 3))
    assert len({p.tobytes() for p in made}) == 5


def test_film_has_the_rate_and_the_length_that_it_is_asked_for(tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    result = adaptive()
    path = export_movie(result, tmp_path / "run.mp4", Wanted(fps=8.0, size=(321, 241)), result.rods)
    with av.open(path) as film:
        (stream,) = film.streams.video
        shown = [np.asarray(frame.to_image()).astype(int) for frame in film.decode(video=0)]
        assert (stream.codec_context.name, stream.width, stream.height) == ("h264", 320, 240)
        assert float(stream.average_rate) == 8.0
    assert len(shown) == round(8.0 * result.times[-1]) + 1
    assert count(shown[-1][:-30], ACTIVE, 40) > 20 and count(shown[0][:-30], ACTIVE, 40) == 0


def test_film_without_its_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "av" else find(name))
    with pytest.raises(supple.ViewError, match=r"PyAV: pip install 'supple\[view\]'"):
        export_movie(adaptive(), tmp_path / "run.mp4")


def test_pictures_are_spread_evenly_over_the_time_of_a_run() -> None:
    model = supple.trees.chain(2)
    timeline = Timeline(supple.simulate(model, dt=1e-2, duration=4.0))
    frames, rate = schedule(timeline, Wanted(), ".mp4")
    assert (len(frames), rate, frames[0], frames[-1]) == (121, 30.0, 0, 400)
    frames, rate = schedule(timeline, Wanted(frames=41), ".gif")
    assert (len(frames), rate, set(np.diff(frames))) == (41, 10.0, {10})
    assert schedule(Timeline(supple.simulate(model, dt=1e-2, duration=0.0)), Wanted(), ".mp4")[0] == [0]


@pytest.mark.parametrize(
    "wrong", [{"frames": 0}, {"fps": 0.0}, {"fps": 1e9}, {"size": (0, 100)}, {"size": (100, 10**9)}]
)
def test_what_cannot_be_drawn_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(supple.ViewError):
        Wanted(**wrong)


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(supple.ViewError, match="moving picture ends in"):
        export_movie(adaptive(), tmp_path / "p.txt")


def test_a_floor_that_reaches_behind_the_camera_is_drawn(tmp_path: Path) -> None:
    builder = supple.ModelBuilder()
    builder.add_body("ball", joint="free", mass=1.0, inertia=[0.004] * 3)
    builder.add_shape("ball", "sphere", 0.1)
    ball = builder.build()
    q = ball.neutral()
    q[2] = 0.2
    run = supple.simulate(ball, q, duration=0.01, contacts=supple.Contacts(ground=0.0))
    view = Wanted(frames=1, size=(160, 120), camera="0.2,0,0.05:-1,0,-0.2")
    export_movie(run, tmp_path / "floor.png", view)
    assert count(pictures(tmp_path / "floor.png")[0], PLANE) > 0.1 * 160 * 120


def test_long_triangles_are_divided_so_that_what_is_nearer_hides_the_rest() -> None:
    """An arrow that is long and thin: its edges become short, its surface and the way it faces stay."""
    vertices, faces = _arrow()
    scale = np.array([0.1, 0.1, 2.0])
    fine, more = finer(vertices, faces, scale, 5000)

    def areas(v: Any, f: Any) -> Any:
        a, b, c = (scale * v)[f].transpose(1, 0, 2)
        return 0.5 * np.cross(b - a, c - a)

    assert len(faces) < len(more) <= 5000
    edges = np.linalg.norm(np.diff((scale * fine)[more][:, (0, 1, 2, 0)], axis=1), axis=2)
    assert edges.max() < 0.16 * 2.1
    assert np.linalg.norm(areas(fine, more), axis=1).sum() == pytest.approx(
        np.linalg.norm(areas(vertices, faces), axis=1).sum()
    )
    np.testing.assert_allclose(areas(fine, more).sum(axis=0), 0.0, atol=1e-12)
    assert finer(vertices, faces, scale, 10)[1] is faces
