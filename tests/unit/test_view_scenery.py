"""What is drawn around bodies: where forces act, while they do; springs to their anchors; the ground."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import supple
from supple import scenes
from supple.contact.room import COLUMNS
from supple.model.clip import Clip
from supple.simulating.contacts import arrows_now
from supple.simulating.described import forces_again, given, other_forces, plane_again
from supple.viewing.colours import CONTACT_FORCE, FORCE
from supple.viewing.reached import motion
from supple.viewing.scenery import Scenery, _arrow, _coil, _ring, contacts_beyond, ground_of, usual_force
from supple.viewing.shapes import ball_radii
from supple.viewing.show import shown_as
from supple.viewing.timeline import Timeline


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
    made = Scenery([supple.Push(3, force, point, frame=frame)]).batches(model, pose)
    begin, end = ends(made["force"])
    at = pose.position[3] + pose.rotation[3] @ point
    assert min(np.linalg.norm(begin - at), np.linalg.norm(end - at)) < 1e-9  # it begins or ends there
    d = (end - begin)[0] / np.linalg.norm(end - begin)
    world = pose.rotation[3] @ force if frame == "body" else force
    np.testing.assert_allclose(d, world / np.linalg.norm(world), atol=1e-9)
    assert len(made["spring"]) == len(made["torque"]) == 0


def test_arrows_are_there_while_pushes_act() -> None:
    model = supple.trees.chain(3)
    pose = supple.poses(model, model.neutral())
    scenery = Scenery([supple.Push(2, (0.0, 0.0, 2.0), start=1.0, stop=2.0), supple.Push(1, (0.0, 0.0, 1.0))])
    lengths = {t: scenery.batches(model, pose, t)["force"].scale[:, 2] for t in (0.5, 1.0, 1.9, 2.0)}
    assert [bool(x[0] > 1e-6) for x in lengths.values()] == [False, True, True, False]
    assert all(x[1] > 1e-6 for x in lengths.values())
    assert lengths[1.0][0] == pytest.approx(2 * lengths[1.0][1])  # as their strengths
    weaker = scenery.batches(model, pose, 1.0, scale=0.75)["force"].scale[:, 2]
    assert weaker[0] == pytest.approx(0.75 * lengths[1.0][0])
    assert (scenery.batches(model, pose, 1.0, scale=0.0)["force"].scale[:, 2] < 1e-6).all()


@pytest.mark.parametrize("seed", range(6))
def test_rings_go_around_torques_at_the_centre_of_the_body(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = supple.trees.chain(5)
    pose = supple.poses(model, model.random(seed))
    torque = rng.standard_normal(3)
    frame: Any = ("world", "body")[seed % 2]
    pushes = [supple.Push(3, torque=torque, frame=frame), supple.Push(1, torque=0.1 * torque, start=1.0, stop=2.0)]
    scenery = Scenery(pushes)
    rings = {t: scenery.batches(model, pose, t)["torque"] for t in (0.0, 1.0)}
    np.testing.assert_allclose(rings[0.0].begin[0], pose.position[3] + pose.rotation[3] @ model.com[3], atol=1e-9)
    world = pose.rotation[3] @ torque if frame == "body" else torque
    np.testing.assert_allclose(rings[0.0].rotation[0, :, 2], world / np.linalg.norm(world), atol=1e-9)
    assert np.ptp(rings[0.0].scale[0]) == 0.0  # a circle
    assert rings[0.0].scale[1, 0] < 1e-6 < rings[1.0].scale[1, 0]  # while it acts
    assert len(scenery.batches(model, pose)["force"]) == 0
    assert (scenery.batches(model, pose, 1.0, scale=0.0)["torque"].scale < 1e-6).all()


@pytest.mark.parametrize("mesh", [_arrow(), _ring(), _coil(9, 8), _coil(3, 5)], ids=["arrow", "ring", "coil", "coarse"])
def test_meshes_show_their_outer_sides(mesh: tuple[np.ndarray, np.ndarray]) -> None:
    """The volume within their triangles is positive: pictures leave out what faces away."""
    a, b, c = mesh[0][mesh[1]].transpose(1, 0, 2)
    assert np.einsum("fi,fi->", a, np.cross(b, c)) / 6.0 > 1e-3


def test_a_ring_points_the_way_a_right_handed_screw_turns() -> None:
    vertices, _ = _ring()
    thick = np.linalg.norm(vertices - vertices / np.linalg.norm(vertices[:, :2], axis=1)[:, None] * (1, 1, 0), axis=1)
    angle = np.degrees(np.arctan2(vertices[:, 1], vertices[:, 0])) % 360.0
    assert 200.0 < angle[thick > 0.2].mean() < 290.0 and angle[thick < 0.1].mean() < 200.0  # its head is ahead


def test_arrows_of_a_captured_motion_are_true_to_scale() -> None:
    clip = supple.load_bvh(Path(supple.__file__).parent / "scenes" / "walk.bvh")
    loads = supple.motion_loads(clip)
    result, *_ = shown_as(clip)
    scenery = Scenery.of(result)
    batches = [scenery.batches(clip.model, supple.poses(clip.model, q), t) for q, t in zip(clip.q, clip.times)]
    (entry,) = scenery.legend(["vector"])
    newtons = float(re.fullmatch(r"force: 1 m is ([\d,]+) N", entry.text)[1].replace(",", ""))  # type: ignore[index]
    assert entry.colour == FORCE
    assert result.ground is not None and result.ground[3] == pytest.approx(loads.support.ground)
    shown = np.array([b["vector"].scale[:, 2] for b in batches])
    wanted = loads.shares * np.linalg.norm(loads.reaction, axis=1)[:, None]
    np.testing.assert_allclose(np.where(shown > 1e-6, shown, 0.0) * newtons, wanted, rtol=1e-9, atol=1e-3)
    assert (wanted == 0.0).any() and (wanted > 300.0).any()
    for k in np.flatnonzero(loads.shares[:, 0] == 1.0)[:3]:
        at = [*loads.foot_pressure[k, 0], loads.support.ground]
        np.testing.assert_allclose(batches[k]["vector"].begin[0], at, atol=1e-9)


def test_a_motion_without_feet_says_why_no_force_of_the_ground_is_drawn() -> None:
    clip = replace(supple.load_bvh(Path(supple.__file__).parent / "scenes" / "walk.bvh"), feet=())
    result, *_ = shown_as(clip)
    assert result.arrows is None and result.ground is None
    (entry,) = Scenery.of(result).legend([])
    assert entry.colour is None and entry.text.startswith(
        "not drawn: forces of the ground (the clip does not say which"
    )
    few, *_ = shown_as(Clip(clip.model, clip.times[:3], clip.q[:3], ("LeftFoot",)))
    assert "too few" in Scenery.of(few).legend([])[0].text


def test_bodies_are_not_made_small_by_the_arrows_of_their_contacts() -> None:
    """A ball is thrown on the floor: the arrow of the impact is longer than the ball is wide."""
    b = supple.ModelBuilder()
    b.add_body("ball", joint="free", mass=1.0, inertia=[0.004] * 3)
    b.add_shape("ball", "sphere", 0.1)
    ball = b.build()
    q, v = ball.neutral(), np.array([0.0, 0.0, -3.0, 0.0, 0.0, 0.0])
    q[2] = 0.12
    run = supple.simulate(ball, q, v, duration=0.1, dt=2e-3, contacts=supple.Contacts(ground=0.0))
    scenery = Scenery.of(run)
    drawn = [
        scenery.batches(ball, supple.poses(ball, q), t)["vector"].scale[:, 2].max() for q, t in zip(run.q, run.times)
    ]
    assert max(drawn) > 0.4
    points = motion(Timeline(run), None, scenery)
    assert points[:, 2].min() >= -0.01 and points[:, 2].max() <= 0.23


def test_arrows_of_what_rests_on_the_floor_are_in_the_first_picture() -> None:
    """A box, which never moves; before the first step, there are no arrows, and nothing at the origin needs room."""
    b = supple.ModelBuilder()
    b.add_body("box", joint="free", mass=1.0, inertia=[0.004] * 3)
    b.add_shape("box", "box", (0.2, 0.2, 0.2))
    box = b.build()
    q = box.neutral()
    q[2] = 5.1
    run = supple.simulate(box, q, duration=0.1, dt=2e-3, contacts=supple.Contacts(ground=5.0))
    scenery = Scenery.of(run)
    points = motion(Timeline(run), None, scenery)
    arrows = scenery.batches(box, supple.poses(box, run.q[-1]), run.times[-1])["vector"].scale[:, 2]
    assert 0.2 < arrows.max() == pytest.approx(points[:, 2].max() - 5.0, abs=1e-3)
    assert points[:, 2].min() > 4.99


def test_arrows_of_contacts_are_as_long_as_suits_the_usual_one() -> None:
    """A rope that falls over a cylinder and on the floor: a few contacts carry many times what most do."""
    scene = scenes.NAMES["rope"](links=20)
    run = supple.simulate(
        scene.model, scene.q0, scene.v0, duration=1.5, dt=scene.dt, contacts=scene.contacts, forces=scene.all_forces()
    )
    scenery = Scenery.of(run)
    assert run.arrows is not None
    force = np.linalg.norm(run.arrows.vectors, axis=2)
    usual = usual_force(run.model, run.arrows)
    long, thick = [], []
    for q, t in zip(run.q, run.times):
        scale = scenery.batches(run.model, supple.poses(run.model, q), t)["vector"].scale
        long.append(np.where(scale[:, 2] > 1e-6, scale[:, 2], 0.0))
        thick.append(scale[:, 0])
    shown, length = np.array(long), 20 * 0.12  # metres of rope
    assert shown.shape == force.shape and 5.0 < usual < 15.0  # newtons; the rope weighs 20 N
    assert 0.05 * length < shown.max() / 2.5 < 0.3 * length and np.max(thick) < 0.06 * length
    (entry,) = scenery.legend(["vector"])
    found = re.fullmatch(r"contact force: 1 m is ([\d.,]+) N \(arrows cut at ([\d.,]+) N\)", entry.text)
    assert found is not None
    newtons, cut = (float(x.replace(",", "")) for x in found.groups())
    np.testing.assert_allclose(shown * newtons, np.minimum(force, cut), rtol=1e-9, atol=1e-5 * newtons)
    assert force[-1].max() < cut < force.max()  # what holds it is true to scale, impacts are cut
    push, contact = scenery.legend(["force", "vector"])
    assert push.text == "applied force" and (push.colour, contact.colour) == (FORCE, CONTACT_FORCE)
    arrows = scenery.batches(run.model, supple.poses(run.model, run.q[-1]), run.times[-1])["vector"]
    assert (arrows.own == CONTACT_FORCE).all()


def test_arrows_of_contacts_suit_bodies_whose_inertia_is_far_too_large() -> None:
    """As in the files of some robots: a base with a hand, whose fingers would be as wide as the base is long."""
    b = supple.ModelBuilder("hand")
    b.add_body("base", joint="free", mass=10.0, inertia=(0.4, 0.4, 0.4))
    b.add_shape("base", "box", (0.5, 0.5, 0.5))
    for i in range(5):
        b.add_body(f"finger{i}", "base", axis=(0, 1, 0), position=(0.3, 0, 0.05 * i), mass=0.01, inertia=[1e-3] * 3)
        b.add_shape(f"finger{i}", "sphere", (0.01,))
    model, rows = b.build(), np.zeros((1, COLUMNS))
    rows[:, 11] = 1.0
    scenery = Scenery((), None, arrows_now(0.0, rows, 1), typical=1.0)
    length = scenery.batches(model, supple.poses(model, model.neutral()))["vector"].scale[0, 2]
    assert 0.05 < length < 0.3  # 1.3 m, of balls that are as wide as their inertia says


def test_inertias_below_zero_are_those_of_points() -> None:
    """Files have some, by rounding."""
    b = supple.ModelBuilder("bit")
    b.add_body("bit", mass=0.5, inertia=(-1e-20, -1e-20, 0.0), armature=1.0)
    assert ball_radii(b.build(unphysical_inertia="report")).tolist() == [0.0]


def test_arrows_are_shorter_where_there_are_many_contacts() -> None:
    model, pose = (m := scenes.NAMES["rope"](links=20).model), supple.poses(m, m.neutral())
    rows = np.zeros((200, COLUMNS))
    rows[:, 11] = 1.0

    def length(n: int) -> float:
        arrows = arrows_now(0.0, rows[:n], 300)
        scenery = Scenery((), None, arrows, typical=1.0, contacts=contacts_beyond(model, arrows))
        return float(scenery.batches(model, pose)["vector"].scale[0, 2])

    assert length(2) == length(50) and 0.3 < length(200) / length(50) < 0.8  # scales are round numbers


def test_live_arrows_of_contacts_change_their_scale_where_it_does_not_suit() -> None:
    model = scenes.NAMES["rope"](links=20).model
    pose, rows = supple.poses(model, model.neutral()), np.zeros((3, COLUMNS))
    rows[:, 11] = 1.0, 2.0, 50.0
    before = usual_force(model)
    scenery = Scenery((), None, arrows_now(0.0, rows, 5), typical=before)

    def lengths() -> np.ndarray:
        return scenery.batches(model, pose)["vector"].scale[:3, 2]

    at_first = lengths()
    scenery.scale_by(1.5 * before)
    np.testing.assert_array_equal(lengths(), at_first)
    assert usual_force(model, scenery.arrows) == 50.0  # most of what acts
    scenery.scale_by(0.1 * before)
    assert 5.0 < lengths()[2] / at_first[2] < 20.0 and lengths()[2] < lengths()[0]  # the strongest is the first


def test_springs_reach_from_bodies_to_anchors() -> None:
    scene = scenes.spring_pendulum(links=10)
    q = scene.model.random(1)
    pose = supple.poses(scene.model, q)
    made = Scenery(scene.all_forces()).batches(scene.model, pose)
    coils, anchors = made["spring"], made["anchor"]
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
    made = Scenery(forces).batches(model, pose)
    springs, anchors = made["spring"], made["anchor"]
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
    before, after = Scenery(acted).batches(model, pose), Scenery.of(run).batches(model, pose)
    for name, batch in before.items():
        np.testing.assert_array_equal(batch.begin, after[name].begin)
    assert Scenery.of(run).legend([])[0].text == "not drawn: forces of functions"
    run.close()


def test_forces_without_a_place_are_named(tmp_path: Any) -> None:
    model = supple.trees.chain(4)
    forces = [supple.Controller(1, 5.0), supple.Push(2, (1.0, 0.0, 0.0)), supple.Limits(10.0), lambda t, q, v: 0 * v]
    run = supple.simulate(model, dt=1e-3, duration=2e-3, forces=forces, tau=np.ones(4), record=tmp_path / "run.h5")
    kept = supple.simulate(model, dt=1e-3, duration=2e-3, forces=forces, tau=np.ones(4))
    assert run.others == kept.others == ("functions", "controllers", "joint limits", "tau")
    assert supple.simulate(model, dt=1e-3, duration=2e-3, tau=lambda t, q, v: 0 * v).others == ("functions",)
    assert supple.simulate(model, dt=1e-3, duration=2e-3, forces=forces[1:2]).others == ()
    run.close()


@pytest.mark.parametrize(
    "said",
    [None, 1, "x", [1, None, "x"], [{"kind": "Push"}], [{"kind": "Spring", "body": 0}], [{"kind": "Push", "body": []}],
     [{"kind": "Push", "body": "a", "force": "nan"}], [{"kind": ["Push"], "body": 0}], [{"kind": "eval", "body": 0}],
     [{"kind": "Push", "body": "no such body", "force": [1, 2, 3], "more": 1}]],
)  # fmt: skip
def test_recordings_of_anybody_are_drawn_as_far_as_they_make_sense(said: Any) -> None:
    model = supple.trees.chain(2)
    made = Scenery(forces_again(said)).batches(model, supple.poses(model, model.neutral()))
    assert len(made["force"]) == len(made["spring"]) == len(made["torque"]) == 0
    assert other_forces({"forces": said}) == ()


@pytest.mark.parametrize(
    "said", [None, "x", [1, 2, 3], [0, 0, 0, 1], [0, 0, float("nan"), 1], [[1], [2]], {"a": 1}, [1e300] * 4]
)
def test_planes_of_anybody(said: Any) -> None:
    assert plane_again(said) is None


def test_what_is_given_is_what_is_drawn() -> None:
    run = supple.Simulation(supple.trees.chain(2), forces=[supple.Push(1, (0.0, 0.0, 1.0), start=0.5)])
    (push,) = forces_again(given(run)["forces"])
    assert isinstance(push, supple.Push) and (push.start, push.stop) == (0.5, np.inf)
