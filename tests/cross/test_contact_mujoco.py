"""Bodies that touch, beside MuJoCo's with contacts that are as hard as it has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import supple

mujoco = pytest.importorskip("mujoco")

HARD = 'solref=".004 1" solimp=".99 .999 .0001"'
WORLD = """<mujoco><option timestep="0.001" cone="elliptic" gravity="{}"><flag eulerdamp="disable"/></option><worldbody>
<geom type="plane" size="9 9 1" condim="1" friction="0 0 0" {hard}/><body pos="{}">
<freejoint/>{}</body></worldbody></mujoco>"""
BOX = '<geom type="box" size=".2 .15 .1" density="500" friction="{} .001 .001" condim="{}" {hard}/>'


def both(folder: Path, gravity: str, at: str, geom: str, v: list[float], duration: float) -> tuple[np.ndarray, ...]:
    """Where the body is after every step, and how it moves: ours, and MuJoCo's."""
    path = folder / "body.xml"
    path.write_text(WORLD.format(gravity, at, geom, hard=HARD))
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    d.qvel[:] = v
    model = supple.load(path)
    q, ours = supple.from_mujoco(model, d.qpos, d.qvel)
    r = supple.simulate(model, q, ours, duration=duration, contacts=True)
    theirs = [(d.qpos.copy(), d.qvel.copy())]
    while d.time < duration - 1e-9:
        mujoco.mj_step(m, d)
        theirs.append((d.qpos.copy(), d.qvel.copy()))
    states = [supple.to_mujoco(model, q, v) for q, v in zip(r.q, r.v)]
    return tuple(np.array(x) for x in (*zip(*states), *zip(*theirs)))


def test_a_box_slides_down_a_smooth_plane(tmp_path: Path) -> None:
    geom = BOX.format("0", 1, hard=HARD)
    q, v, theirs, their_v = both(tmp_path, "3 0 -9", "0 0 .1", geom, [0, 0.5, 0, 0, 0, 0], 0.5)
    assert v[-1, 0] == pytest.approx(3 * 0.5) and v[-1, 1] == pytest.approx(0.5)
    np.testing.assert_allclose(q, theirs, atol=2e-3)
    np.testing.assert_allclose(v[5:], their_v[5:], atol=2e-3)  # at first, MuJoCo's sinks in


def test_a_ball_flies_and_lands_on_a_smooth_plane(tmp_path: Path) -> None:
    """MuJoCo's sinks in by 2 mm, and comes to rest within a tenth of a second."""
    geom = f'<geom type="sphere" size=".1" friction="0 0 0" condim="1" {HARD}/>'
    q, v, theirs, their_v = both(tmp_path, "0 0 -9.81", "0 0 .3", geom, [0.7, 0, 0, 0, 0, 0], 0.4)
    np.testing.assert_allclose(q, theirs, atol=3e-3)
    np.testing.assert_allclose(v[:200], their_v[:200], atol=1e-9)
    np.testing.assert_allclose(v[300:], their_v[300:], atol=1e-2)
    np.testing.assert_allclose(v[300:], np.tile([0.7, 0, 0, 0, 0, 0], (101, 1)), atol=1e-9)


def test_a_box_is_stopped_by_friction(tmp_path: Path) -> None:
    """After v / (mu g), 0.28 s. What slides hops in MuJoCo: along the way, only positions agree."""
    geom = BOX.format("0.4", 3, hard=HARD)
    q, v, theirs, their_v = both(tmp_path, "0 0 -9.81", "0 0 .1", geom, [1.0, 0.5, 0, 0, 0, 0], 0.4)
    assert np.hypot(*v[200, :2]) == pytest.approx(np.hypot(1.0, 0.5) - 0.4 * 9.81 * 0.2, abs=1e-6)
    np.testing.assert_allclose(q, theirs, atol=3e-3)
    np.testing.assert_allclose(v[310:], their_v[310:], atol=2e-3)


def test_a_ball_that_slides_begins_to_roll(tmp_path: Path) -> None:
    geom = f'<geom type="sphere" size=".1" friction=".3 0 0" {HARD}/>'
    q, v, theirs, their_v = both(tmp_path, "0 0 -9.81", "0 0 .1", geom, [2.0, 0, 0, 0, 0, 0], 0.5)
    np.testing.assert_allclose(q[:, :3], theirs[:, :3], atol=3e-3)
    np.testing.assert_allclose(v[210:], their_v[210:], atol=3e-3)
