"""Joints that are moved by sliders; what supple.view shows, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import supple
from oracle import random_model
from supple.viewing.joints import Joints, ways
from supple.viewing.show import shown_as

pytest.importorskip("viser")
WALK = Path(supple.__file__).parent / "scenes" / "walk.bvh"


class Control:
    """A slider or a button, without a page."""

    def __init__(self, label: str, low: float = 0.0, high: float = 0.0, step: float = 0.0, value: float = 0.0) -> None:
        assert low <= value <= high
        self.label, self.min, self.max, self.value = label, low, high, value

    def __enter__(self) -> None: ...
    def __exit__(self, *what: object) -> None: ...
    def remove(self) -> None: ...

    def on_update(self, then: Any) -> None:
        self.then = then

    on_click = on_update


class Gui:
    def __init__(self) -> None:
        self.sliders: list[Control] = []

    def add_slider(self, *given: Any) -> Control:
        self.sliders.append(Control(*given))
        return self.sliders[-1]

    def add_folder(self, label: str) -> Control:
        return Control(label)

    def add_button(self, label: str, hint: str) -> Control:
        self.button = Control(label)
        return self.button

    def add_html(self, text: str) -> None: ...


class Moved:
    """An event of a page."""

    client = object()

    def __init__(self, control: Control, value: float) -> None:
        control.value, self.target = value, control


@pytest.mark.parametrize("seed", range(12))
def test_sliders_move_their_joints_and_no_others(seed: int) -> None:
    """Joints of all types."""
    model = random_model(np.random.default_rng(seed), 6)
    gui, changes = Gui(), []
    joints = Joints(gui, model, lambda: changes.append(1))
    assert len(gui.sliders) == model.nv
    q = model.random(seed)
    joints.show(q)
    assert joints.applied(q) is q
    k = seed % model.nv
    slider = gui.sliders[k]
    wanted = slider.min + 0.3 * (slider.max - slider.min)
    slider.then(Moved(slider, wanted))
    moved = joints.applied(q)
    step = model.difference(q, moved)
    assert np.abs(np.delete(step, k)).max(initial=0.0) < 1e-9
    (way,) = [w for j in range(model.n_joints) for w in ways(model, j) if w.v == k]
    assert (moved[way.q] if way.q >= 0 else step[k]) == pytest.approx(wanted, abs=1e-9)
    assert changes == [1]
    gui.button.then(None)
    assert joints.applied(q) is q


def test_sliders_say_where_joints_are_unless_they_are_held() -> None:
    model = supple.trees.chain(3)
    gui = Gui()
    joints = Joints(gui, model, lambda: None)
    joints.show(np.array([0.1, 0.2, 0.3]))
    assert [s.value for s in gui.sliders] == [0.1, 0.2, 0.3]
    gui.sliders[1].then(Moved(gui.sliders[1], 1.0))
    joints.show(np.array([0.4, 0.5, 0.6]))
    assert [s.value for s in gui.sliders] == [0.4, 1.0, 0.6]
    assert joints.applied(np.array([0.4, 0.5, 0.6])).tolist() == [0.4, 1.0, 0.6]


def test_large_bodies_have_sliders_for_what_is_picked() -> None:
    model = supple.trees.chain(100)
    gui = Gui()
    joints = Joints(gui, model, lambda: None)
    assert gui.sliders == []
    joints.pick(None)
    joints.pick(70)
    joints.pick(70)
    (slider,) = gui.sliders
    slider.then(Moved(slider, 0.5))
    assert np.flatnonzero(joints.applied(np.zeros(100))).tolist() == [70]


def test_poses_motions_clips_and_files_are_shown() -> None:
    model = supple.trees.chain(3)
    result, title, posed = shown_as(model)
    assert (len(result), title, posed, result[0].q.tolist()) == (1, model.name, True, [0.0, 0.0, 0.0])
    rows = np.random.default_rng(0).uniform(-1, 1, (5, 3))
    result, _, posed = shown_as(model, rows, times=[0.0, 1.0, 2.0, 3.0, 5.0])
    assert posed and np.array_equal(result.q, rows) and result.times[-1] == 5.0
    assert shown_as(model, rows)[0].times[1] == pytest.approx(1 / 30)
    clip = supple.load_bvh(WALK)
    for what in (clip, WALK, str(WALK)):
        result, _, posed = shown_as(what)
        assert posed and np.array_equal(result.q, clip.q)
    run = supple.simulate(model, dt=1e-3, duration=2e-3)
    assert shown_as(run) == (run, model.name, False)


@pytest.mark.parametrize(
    ("what", "q", "times", "said"),
    [(5, None, None, "is a Model"), (None, None, None, "is a Model"), ("chain", [0.0], None, "expected"),
     ("chain", np.zeros((2, 2, 3)), None, "expected"), ("chain", [np.nan] * 3, None, "finite"),
     ("chain", np.zeros((2, 3)), [0.0], "clip"), ("chain", np.zeros((0, 3)), None, "no positions"),
     ("run", [0.0] * 3, None, "for a Model"), ("nothing.urdf", None, None, "nothing.urdf"),
     ("nothing.h5", None, None, "nothing.h5")],
)  # fmt: skip
def test_what_cannot_be_shown_is_refused(what: Any, q: Any, times: Any, said: str) -> None:
    model = supple.trees.chain(3)
    given = {"chain": model, "run": supple.simulate(model, dt=1e-3, duration=1e-3)}
    with pytest.raises(supple.SuppleError, match=said):
        supple.view(given.get(what, what) if isinstance(what, str) else what, q, times=times, port=0)


def test_page_is_open_until_it_is_closed() -> None:
    from websockets.exceptions import InvalidStatus

    from pages import knock

    with supple.view(supple.trees.chain(2), [0.1, 0.2], port=0) as page:
        assert page.url in repr(page) and page.missing == []
        knock(page.url).close()
        almost = page.url[:-2] + ("y" if page.url[-2] == "x" else "x") + "/"  # tokens are random: one in 64 ends in x
        with pytest.raises(InvalidStatus):
            knock(almost)
    assert "closed" in repr(page)
    with pytest.raises(OSError):
        knock(page.url)
    page.close()


def test_sliders_keep_loops_closed(tmp_path: Path) -> None:
    """Two joints that follow each other: whichever was moved last is where it was put, and the other follows."""
    b = supple.ModelBuilder("gripper")
    for i in range(3):
        b.add_body(f"f{i}", joint="revolute", joint_name=f"j{i}", mass=1, inertia=(1, 1, 1), lower=-2, upper=2)
    b.relate({"j1": 1, "j0": -2}, 0.3)
    model = b.build()
    result, _, _ = shown_as(model)
    start = result.q[0]
    np.testing.assert_allclose(start, [-0.12, 0.06, 0], atol=1e-12)
    gui = Gui()
    joints = Joints(gui, model, lambda: None)
    for k, value, wanted in ((0, 0.5, [0.5, 1.3, 0]), (1, 0.7, [0.2, 0.7, 0]), (2, 1, [0.2, 0.7, 1])):
        gui.sliders[k].then(Moved(gui.sliders[k], value))
        q = joints.applied(start)
        np.testing.assert_allclose(q, wanted, atol=1e-11)
        joints.show(q)
        np.testing.assert_allclose([slider.value for slider in gui.sliders], wanted, atol=1e-6)
    gui.button.then(None)
    np.testing.assert_array_equal(joints.applied(start), start)
