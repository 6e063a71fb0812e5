"""Bodies that touch, beside MuJoCo's with contacts that are as hard as it has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import supple

mujoco = pytest.importorskip("mujoco")

HARD = 'solref=".004 1" solimp=".99 .999 .0001"'
WORLD = """<mujoco><option timestep="0.001" cone="elliptic" gravity="{}"><flag eulerdamp="disable"/></option><worldbody>
<geom type="plane" size="9 9 1" {hard}/><body pos="{}">
<freejoint/>{}</body></worldbody></mujoco>"""
BOX = '<geom type="box" size=".2 .15 .1" density="500" friction="{} .001 .001" condim="{}" {hard}/>'


def both(folder: Path, gravity: str, at: str, geom: str, v: list[float], duration: float) -> tuple[np.ndarray, ...]:
    """Where the body is in the end, and how it moves: ours, and MuJoCo's."""
    path = folder / "body.xml"
    path.write_text(WORLD.format(gravity, at, geom, hard=HARD))
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    d.qvel[:] = v
    model = supple.load(path)
    q, ours = supple.from_mujoco(model, d.qpos, d.qvel)
    r = supple.simulate(model, q, ours, duration=duration, contacts=True)
    while d.time < duration - 1e-9:
        mujoco.mj_step(m, d)
    qpos, qvel = supple.to_mujoco(model, r.q[-1], r.v[-1])
    return qpos, qvel, d.qpos.copy(), d.qvel.copy()


def test_a_box_slides_down_a_smooth_plane(tmp_path: Path) -> None:
    geom = BOX.format("0", 1, hard=HARD)
    q, v, theirs, their_v = both(tmp_path, "3 0 -9", "0 0 .1", geom, [0, 0.5, 0, 0, 0, 0], 0.5)
    np.testing.assert_allclose(q, theirs, atol=2e-3)
    np.testing.assert_allclose(v, their_v, atol=2e-3)


def test_a_box_is_stopped_by_friction(tmp_path: Path) -> None:
    geom = BOX.format("0.4", 3, hard=HARD)
    q, v, theirs, their_v = both(tmp_path, "0 0 -9.81", "0 0 .1", geom, [1.0, 0.5, 0, 0, 0, 0], 0.2)
    np.testing.assert_allclose(q, theirs, atol=3e-3)
    np.testing.assert_allclose(v, their_v, atol=2e-2)


def test_a_ball_that_slides_begins_to_roll(tmp_path: Path) -> None:
    geom = f'<geom type="sphere" size=".1" friction=".3 0 0" {HARD}/>'
    q, v, theirs, their_v = both(tmp_path, "0 0 -9.81", "0 0 .1", geom, [2.0, 0, 0, 0, 0, 0], 0.5)
    np.testing.assert_allclose(q[:3], theirs[:3], atol=3e-3)
    np.testing.assert_allclose(v, their_v, atol=3e-2)
