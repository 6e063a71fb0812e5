"""Where cameras are put: all of a motion is in the picture, and no more room is left than a margin."""

from __future__ import annotations

import numpy as np
import pytest

import supple
from supple import scenes
from supple.viewing.camera import FIELD, MARGIN, View, asked_view, axes, first_look, fit
from supple.viewing.cameras import DIRECTIONS, extremes


def clouds(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Points of any form, a direction to look from, and the form of a picture."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((40, 3)) * 10.0 ** rng.uniform(-3, 3, 3) + rng.uniform(-100, 100, 3)
    return points, rng.standard_normal(3), float(rng.uniform(0.3, 3.0))


@pytest.mark.parametrize("seed", range(60))
def test_all_is_in_the_picture_and_some_of_it_at_the_margin(seed: int) -> None:
    points, back, aspect = clouds(seed)
    view = fit(points, back, aspect)
    np.testing.assert_allclose(view.back, back / np.linalg.norm(back), atol=1e-6)
    size = round(1000 * aspect), 1000
    at, ahead = view.see(points, size)
    assert ahead.min() > 0
    off = np.abs(at - np.array(size) / 2) / (np.array(size) / 2)
    assert off.max() <= 1 / MARGIN + 2e-3  # of whole pixels
    low, high = at.min(axis=0), at.max(axis=0)
    np.testing.assert_allclose(low + high, size, atol=2.0)  # in the middle
    nearest = ahead.min() < 0.03 * np.ptp(points @ axes(back), axis=0).max()
    assert off.max() > 0.98 / MARGIN or nearest  # no farther than it must be


def test_picture_is_what_a_pinhole_camera_sees() -> None:
    view = View(np.array([0.0, -2.0, 0.0]), np.zeros(3))
    t = np.tan(FIELD / 2)
    at, ahead = view.see(np.array([(0.0, 0.0, 0.0), (2 * t, 0.0, 0.0), (0.0, 0.0, 2 * t)]), (600, 400))
    np.testing.assert_allclose(at, [(300, 200), (500, 200), (300, 0)], atol=1e-9)
    np.testing.assert_allclose(ahead, 2.0)


def test_outermost_points_need_as_much_room_as_all() -> None:
    points = np.random.default_rng(1).standard_normal((5000, 3)) * (3.0, 1.0, 0.2)
    some = extremes(points)
    assert len(some) <= len(DIRECTIONS) < 200
    for back in np.random.default_rng(2).standard_normal((20, 3)):
        at, _ = fit(some, back, 1.2).see(points, (1200, 1000))
        assert (at > 0).all() and (at < (1200, 1000)).all()


@pytest.mark.parametrize("seed", range(10))
def test_long_motions_are_seen_from_their_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    along = np.array([np.cos(seed), np.sin(seed), 0.0])
    points = rng.uniform(0.0, 5.0, (100, 1)) * along + rng.uniform(-0.5, 0.5, (100, 3))
    back = first_look(supple.trees.chain(4), points)
    assert abs(back @ along) < 0.5 * np.linalg.norm(back) and back[2] > 0


def test_very_long_bodies_are_seen_along_themselves() -> None:
    scene = scenes.millipede()
    points = supple.poses(scene.model, scene.q0).position
    back = first_look(scene.model, points)
    assert abs(back[0]) > 0.8 * np.linalg.norm(back)  # its spine lies along x


def test_cameras_that_are_asked_for() -> None:
    points = np.random.default_rng(0).standard_normal((30, 3))
    assert asked_view("front", points, 1.0).back[0] > 0.9
    assert asked_view("top", points, 1.0).back[2] > 0.9
    eye, target = asked_view("1,2,3:0,0,1", points, 1.0)
    assert (eye.tolist(), target.tolist()) == ([1.0, 2.0, 3.0], [0.0, 0.0, 1.0])
    for wrong in ("", "1,2", "1,2,x", "1,2,3:4", "1,2,nan", "1,2,3:1,2,3", "above"):
        with pytest.raises(supple.ViewError, match="camera"):
            asked_view(wrong, points, 1.0)


@pytest.mark.parametrize(
    "text", ["1e300,0,0", "0,-1e308,0:0,0,0", "1,0,0:1e300,0,0", "1e9,0,0", "1e200,1e200,1e200:1e200,0,1e200"]
)
def test_what_makes_no_picture_is_refused(text: str) -> None:
    points = np.array([(0.0, 0.0, 0.0), (1.0, 1.0, 1.0)])
    with pytest.raises(supple.ViewError, match=r"nothing of it would be seen|cannot look at anything"):
        asked_view(text, points, 1.5)
    view = asked_view("1000,0,0:1e9,0,0", points, 1.5)  # a far target is a direction
    assert np.isfinite(view.see(points, (600, 400))[0]).all()
