"""What is drawn around bodies: where forces act, while they do; springs to their anchors; the ground."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import supple
from supple import scenes
from supple.simulating.described import forces_again, given, plane_again
from supple.viewing.scenery import Scenery, ground_of


def ends(batch: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where instances begin and end, in the world."""
    return batch.begin, batch.begin + batch.scale[:, 2:] * batch.rotation[:, :, 2]


@pytest.mark.parametrize("seed", range(8))
def test_arrows_point_along_forces_at_their_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = supple.trees.chain(5)
    pose = supple.poses(model, model.random(seed))
    force, point = rng.standard_normal((2, 3))
    frame: Any = ("world", "body")[seed % 2]
    arrow, springs, _ = Scenery([supple.Push(3, force, point, frame=frame)]).batches(model, pose)
    begin, end = ends(arrow)
    at = pose.position[3] + pose.rotation[3] @ point
    assert min(np.linalg.norm(begin - at), np.linalg.norm(end - at)) < 1e-9  # it begins or ends there
    d = (end - begin)[0] / np.linalg.norm(end - begin)
    world = pose.rotation[3] @ force if frame == "body" else force
    np.testing.assert_allclose(d, world / np.linalg.norm(world), atol=1e-9)
    assert len(springs) == 0


def test_arrows_are_there_while_pushes_act() -> None:
    model = supple.trees.chain(3)
    pose = supple.poses(model, model.neutral())
    scenery = Scenery([supple.Push(2, (0.0, 0.0, 2.0), start=1.0, stop=2.0), supple.Push(1, (0.0, 0.0, 1.0))])
    lengths = {t: scenery.batches(model, pose, t)[0].scale[:, 2] for t in (0.5, 1.0, 1.9, 2.0)}
    assert [bool(x[0] > 1e-6) for x in lengths.values()] == [False, True, True, False]
    assert all(x[1] > 1e-6 for x in lengths.values())
    assert lengths[1.0][0] == pytest.approx(2 * lengths[1.0][1])  # as their strengths
    weaker = scenery.batches(model, pose, 1.0, scale=0.75)[0].scale[:, 2]
    assert weaker[0] == pytest.approx(0.75 * lengths[1.0][0])
    assert (scenery.batches(model, pose, 1.0, scale=0.0)[0].scale[:, 2] < 1e-6).all()


def test_springs_reach_from_bodies_to_anchors() -> None:
    scene = scenes.spring_pendulum(links=10)
    q = scene.model.random(1)
    pose = supple.poses(scene.model, q)
    _, coils, anchors = Scenery(scene.all_forces()).batches(scene.model, pose)
    body, point = int(scene.springs.bodies[0]), scene.springs.points[0]
    begin, end = ends(coils)
    np.testing.assert_allclose(begin[0], pose.position[body] + pose.rotation[body] @ point, atol=1e-9)
    np.testing.assert_allclose(end, scene.springs.anchors, atol=1e-9)
    np.testing.assert_allclose(anchors.begin, [scene.springs.anchors[0], (0.0, 0.0, 0.0)], atol=1e-9)  # and the pin


def test_feet_of_a_walker_are_on_its_ground() -> None:
    scene = scenes.NAMES["compass"](slope=0.1)
    ground = ground_of(scene.ground, scene.model, np.zeros((1, 3)))
    assert ground is not None and ground.real
    np.testing.assert_allclose(ground.normal, [np.sin(0.1), 0.0, np.cos(0.1)])
    feet = supple.poses(scene.model, scene.q0)
    for name in ("left foot", "right foot"):
        assert ground.normal @ feet[name].position == pytest.approx(ground.height, abs=1e-9)
    np.testing.assert_allclose(ground.turn[:, 2], ground.normal)
    fallen = ground_of(None, supple.trees.chain(3), np.array([(0.0, 0.0, -2.0), (0.0, 0.0, 1.0)]))
    assert fallen is not None and not fallen.real and -2.1 < fallen.height < -2.0
    assert ground_of(None, scenes.molecule(5).model, np.zeros((1, 3))) is None  # where nothing is level


def test_springs_between_bodies_are_drawn_from_one_to_the_other() -> None:
    model = supple.trees.chain(5)
    q = model.random(0)
    pose, at = supple.poses(model, q), np.array([(0.1, 0.2, 0.3), (0.0, -0.1, 0.4)])
    forces = [supple.Spring(3, (0.0, 1.0, 0.0), 5.0), supple.SpringBetween(1, 4, 5.0, *at)]
    forces += [supple.SpringBetween("no such body", 4, 5.0), supple.SpringBetween(1, "nor this", 5.0)]
    _, springs, anchors = Scenery(forces).batches(model, pose)
    ends = [pose.position[b] + pose.rotation[b] @ p for b, p in zip((1, 4), at)]
    assert len(springs) == 2 and len(anchors) == 2  # of one spring, and where the chain hangs
    np.testing.assert_allclose(springs.begin[1], ends[0], atol=1e-12)
    far = springs.rotation[1] @ (0.0, 0.0, springs.scale[1, 2])
    np.testing.assert_allclose(springs.begin[1] + far, ends[1], atol=1e-12)


def test_recordings_say_what_acted(tmp_path: Any) -> None:
    model = supple.trees.chain(4)
    acted = [
        supple.Push(2, (1.0, 0.0, 0.0), (0.1, 0.0, 0.0)),
        supple.Spring(3, (0.0, 1.0, 0.0), 5.0),
        supple.SpringBetween(1, 3, 5.0, (0.0, 0.1, 0.0)),
        lambda t, q, v: 0 * v,
    ]
    run = supple.simulate(model, dt=1e-3, duration=2e-3, forces=acted, record=tmp_path / "run.h5")
    push, spring, between = run.forces
    assert (between.body, between.other, between.point.tolist()) == ("link1", "link3", [0.0, 0.1, 0.0])
    assert (push.force.tolist(), push.point.tolist()) == ([1.0, 0.0, 0.0], [0.1, 0.0, 0.0])
    assert (spring.anchor.tolist(), spring.stiffness) == ([0.0, 1.0, 0.0], 5.0)
    pose = supple.poses(model, model.neutral())
    for a, b in zip(Scenery(acted).batches(model, pose), Scenery(run.forces).batches(model, pose)):
        np.testing.assert_array_equal(a.begin, b.begin)
    run.close()


@pytest.mark.parametrize(
    "said",
    [None, 1, "x", [1, None, "x"], [{"kind": "Push"}], [{"kind": "Spring", "body": 0}], [{"kind": "Push", "body": []}],
     [{"kind": "Push", "body": "a", "force": "nan"}], [{"kind": ["Push"], "body": 0}], [{"kind": "eval", "body": 0}],
     [{"kind": "Push", "body": "no such body", "force": [1, 2, 3], "more": 1}]],
)  # fmt: skip
def test_recordings_of_anybody_are_drawn_as_far_as_they_make_sense(said: Any) -> None:
    model = supple.trees.chain(2)
    arrows, springs, _ = Scenery(forces_again(said)).batches(model, supple.poses(model, model.neutral()))
    assert len(arrows) == len(springs) == 0


@pytest.mark.parametrize(
    "said", [None, "x", [1, 2, 3], [0, 0, 0, 1], [0, 0, float("nan"), 1], [[1], [2]], {"a": 1}, [1e300] * 4]
)
def test_planes_of_anybody(said: Any) -> None:
    assert plane_again(said) is None


def test_what_is_given_is_what_is_drawn() -> None:
    run = supple.Simulation(supple.trees.chain(2), forces=[supple.Push(1, (0.0, 0.0, 1.0), start=0.5)])
    (push,) = forces_again(given(run)["forces"])
    assert isinstance(push, supple.Push) and (push.start, push.stop) == (0.5, np.inf)
