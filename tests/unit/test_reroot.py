"""What reroot does with names, frames, shapes, limits and forests, and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import supple
from supple import trees


def arm(**more):
    b = supple.ModelBuilder("arm", gravity=(0, 0, -5))
    common = dict(axis=(0, 1, 0), mass=1.0, com=(0, 0, 0.2), inertia=(0.1, 0.1, 0.01))
    b.add_body("upper", joint="revolute", joint_name="shoulder", **common)
    b.add_body("fore", "upper", joint_name="elbow", position=(0, 0, 1), lower=-0.5, upper=2.0, damping=0.3,
               armature=0.2, friction=0.1, velocity_limit=7.0, effort_limit=9.0, **(common | more))  # fmt: skip
    b.add_body("hand", "fore", "prismatic", joint_name="slide", position=(0, 0, 0.5), lower=0.0, upper=0.3, **common)
    b.add_frame("tip", "hand", (0, 0, 0.1))
    b.add_frame("lamp", None, (1, 2, 3))
    b.add_visual("fore", "box", (0.1, 0.2, 1.0), position=(0, 0, 0.5), name="bone")
    return b.build()


def test_names_frames_shapes_and_limits_follow():
    model = arm()
    q, v = np.array([0.2, 0.5, 0.1]), np.array([0.0, 0.0, 0.0])
    new = supple.reroot(model, q, v, body="hand", point=supple.poses(model, q).position[2], axis=(0, 1, 0))
    m = new.model
    assert list(m.body_names) == ["hand", "fore", "upper"]
    assert list(m.joint_names) == ["shoulder", "slide", "elbow"]
    assert [m.joints[i].type for i in range(3)] == ["revolute", "prismatic", "revolute"]
    assert m.name == "arm" and m.gravity[2] == -5
    elbow = m.joints["elbow"]
    assert (elbow.lower[0], elbow.upper[0]) == (-0.5, 2.0)
    for name, value in dict(damping=0.3, armature=0.2, friction=0.1, velocity_limit=7.0, effort_limit=9.0).items():
        assert getattr(m, name)[elbow.v] == value
    # a reversed joint keeps its coordinate
    assert new.q[elbow.q] == 0.5 and new.q[m.joints["slide"].q] == 0.1
    poses, old = supple.poses(m, new.q), supple.poses(model, q)

    def world(model, poses, frame):
        return poses.rotation[frame.body] @ frame.position + poses.position[frame.body]

    tip, bone = m.frames["tip"], m.visuals[0]
    np.testing.assert_allclose(world(m, poses, tip), world(model, old, model.frames["tip"]), atol=1e-15)
    np.testing.assert_allclose(world(m, poses, bone), world(model, old, model.visuals[0]), atol=1e-15)
    assert m.frames["lamp"] == model.frames["lamp"] and m.body_names[bone.body] == "fore" and bone.name == "bone"
    assert not m.position.flags.writeable and not tip.position.flags.writeable


def test_the_old_root_joint_is_gone_and_the_report_says_so():
    b = supple.ModelBuilder()
    b.add_body("one", damping=0.5, lower=-1.0, mass=1.0, com=(1, 0, 0))
    b.add_body("two", "one", position=(2, 0, 0), mass=1.0, com=(1, 0, 0))
    model = b.build()
    new = supple.reroot(model, [0.1, 0.2], body="two", point=(0, 0, 0))
    assert new.model.damping.tolist() == [0.0, 0.0] and new.v is None and new.a is None
    text = str(new.model.report)
    assert "'one_joint'" in text and "damping" in text and "lower" in text and "effort" not in text
    back = new.undo().model
    assert back.damping.tolist() == [0.5, 0.0] and back.lower[0] == -1.0


def test_numbers_come_back_for_a_root_with_one_child():
    model = trees.from_parents(np.array([-1, 0, 1, 2, 1, 4, 4, 1, 7]), seed=2)
    new = supple.reroot(model, model.neutral(), body=5, joint="free")
    back = supple.reroot(new.model, new.q, body=model.body_names[0], point=model.position[0], joint=new.top)
    assert list(back.model.body_names) == list(model.body_names)
    np.testing.assert_array_equal(back.model.parent, model.parent)


@pytest.mark.parametrize("angle", [4.0, -9.0, 0.0, np.pi, -np.pi, 100.0])
@pytest.mark.parametrize("kind", ["revolute", "continuous", "screw", "cylindrical", "universal"])
def test_an_angle_comes_back_in_its_turn(kind, angle):
    b = supple.ModelBuilder()
    body = dict(mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.1, 0.1))
    b.add_body("r", None, kind, axis=(0, 0, 1), axis2=(0, 1, 0), pitch=0.1, **body)
    b.add_body("c", "r", axis=(1, 0, 0), position=(0, 0.3, 0.2), **body)
    model = b.build()
    q, v = np.full(model.nq, angle), np.linspace(1.0, 2.0, model.nv)
    q[-1] = 0.3
    new = supple.reroot(model, q, v, 2 * v, body="c", joint="free")
    back = new.undo()
    assert back.model is model
    for got, was in ((back.q, q), (back.v, v), (back.a, 2 * v), (new.undo(new.q).q, q)):
        np.testing.assert_allclose(got, was, rtol=0, atol=1e-13)
    place = supple.poses(model, q).position[0]
    again = supple.reroot(new.model, new.q, body="r", point=place, joint=new.top)
    np.testing.assert_allclose(again.q, q, rtol=0, atol=1e-13)


def test_an_angle_that_has_moved_on_respects_its_limits():
    """Of all angles that look the same: the one within the limits, else the nearest; a limit is not a wall to the last
    bit, nor to what its springs let through."""

    def angle_after(lower: float, upper: float, was: float, now: float) -> float:
        b = supple.ModelBuilder()
        body = dict(mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.1, 0.1))
        b.add_body("r", None, lower=lower, upper=upper, **body)
        b.add_body("c", "r", axis=(1, 0, 0), position=(0, 0.3, 0.2), **body)
        model = b.build()
        new = supple.reroot(model, [was, 0.2], body="c", joint="free")
        later = supple.reroot(model, [now, 0.2], body="c", joint="free")
        return float(new.undo(later.q).q[0])

    free = np.inf
    for lower, upper, was, now, expected in (
        (0.0, 6.0, 4.0, 4.5, 4.5),
        (0.0, 6.0, 0.5, 5.5, 5.5),  # nearer to 0.5 is -0.78, beyond the limit
        (0.0, 6.0, 5.5, 0.5, 0.5),
        (-20.0, -10.0, -11.0, -15.0, -15.0),
        (-3.0, 3.5, 3.4, 3.55, 3.55),  # a little beyond, where -2.73 would be within
        (0.0, 7.0, 0.0, -1e-12, -1e-12),  # not a turn further
        (0.0, 1.0, 0.5, 3.0, 3.0),  # no turn is within: the nearest
        (-free, free, 20.0, 21.0, 21.0),
        (-free, free, 4.0, 8.0, 8.0 - 2 * np.pi),  # more than half a turn cannot be told
    ):
        np.testing.assert_allclose(angle_after(lower, upper, was, now), expected, rtol=0, atol=1e-12)


def test_a_quaternion_comes_back_with_its_sign():
    for joint in ("ball", "free"):
        model = trees.chain(3, joint=joint, seed=1)
        q = model.random(np.random.default_rng(4))
        for sign in (1.0, -1.0):
            x = q.copy()
            x[model.joints[0].q][-4:] *= sign
            np.testing.assert_allclose(supple.reroot(model, x, body=2, joint="free").undo().q, x, rtol=0, atol=1e-14)


@pytest.mark.parametrize("joint, n", [("ball", 10_000), ("revolute", 10_000), ("universal", 3000), ("free", 1000)])
def test_a_long_chain_there_and_back(joint, n):
    """Rounding grows with the chain, and is not taken for a motion that the joint does not have."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        model = trees.chain(n, joint=joint, seed=seed)
        q, (v, a) = model.random(rng), rng.standard_normal((2, model.nv))
        new = supple.reroot(model, q, v, a, body=n - 1, joint="free")
        for back in (new.undo(), new.undo(new.q, new.v, new.a)):
            np.testing.assert_allclose(back.q, q, rtol=0, atol=1e-10)
            np.testing.assert_allclose(back.v, v, rtol=0, atol=1e-8)
            np.testing.assert_allclose(back.a, a, rtol=0, atol=1e-6)  # centripetal ones on the way are 1e6
    # What is no rounding is still refused:
    off = new.q.copy()
    off[0] += 1e-4
    if joint != "free":
        with pytest.raises(supple.StateError, match="cannot be where it is"):
            new.undo(off)


def test_what_reversing_drops_undo_brings_back():
    """Limits of ball joints cannot be reversed; the old model has them still."""
    b = supple.ModelBuilder()
    b.add_body("a", None, "free", mass=1.0, inertia=(1, 1, 1))
    b.add_body("b", "a", "ball", velocity_limit=3.0, friction=0.1, position=(0, 0, 1), mass=1.0, inertia=(1, 1, 1))
    model = b.build()
    new = supple.reroot(model, model.neutral(), body="b", joint="free")
    assert new.model.friction[-1] == 0.0
    back = new.undo()
    assert back.model is model and back.model.friction[-1] == 0.1
    forth = back.undo()
    assert forth.model is new.model
    np.testing.assert_allclose(forth.q, new.q, atol=1e-15)
    np.testing.assert_array_equal(forth.number, new.number)
    np.testing.assert_array_equal(forth.shift, new.shift)
    np.testing.assert_array_equal(forth.chain, new.chain)


def test_origins_are_told_from_where_bodies_were_built():
    model = arm()
    q = np.array([0.2, 0.5, 0.1])
    assert not model.origin.any()
    new = supple.reroot(model, q, body=2, point=(0.3, 0.1, 0.2), joint="free")
    np.testing.assert_array_equal(new.model.origin[new.number], new.shift)
    more = supple.reroot(new.model, new.q, body=1, joint="free")
    np.testing.assert_allclose(more.model.origin[more.number[new.number]], new.shift + more.shift[new.number])
    assert not new.model.origin.flags.writeable


def test_the_same_body_on_another_joint_and_place():
    model = arm()
    q = np.array([0.2, 0.5, 0.1])
    floating = supple.reroot(model, q, body="upper", joint="free")
    assert floating.model.joints["shoulder"].type == "free" and floating.model.nq == 9
    again = supple.reroot(floating.model, floating.q, np.zeros(8), body=0, joint="revolute", axis=(0, 1, 0),
                          rotation=np.eye(3), joint_name="hinge")  # fmt: skip
    assert again.model.nq == 3 and again.model.joint_names[0] == "hinge"
    np.testing.assert_allclose(again.q, q, atol=1e-15)


def test_a_forest_leaves_its_other_trees_alone():
    rng = np.random.default_rng(0)
    model = trees.from_parents(np.array([-1, 0, 1, -1, 3, 4, 3, -1, 7]), seed=1)
    q = model.random(rng)
    new = supple.reroot(model, q, body=5, joint="free")
    assert new.model.parent.tolist() == [-1, 0, 1, -1, 3, 4, 5, -1, 7]
    assert [new.model.body_names[i] for i in (0, 1, 2, 7, 8)] == [model.body_names[i] for i in (0, 1, 2, 7, 8)]
    np.testing.assert_array_equal(new.q[:3], q[:3])
    np.testing.assert_array_equal(new.q[-2:], q[-2:])


def test_a_frame_can_be_the_new_root():
    model = arm()
    q = np.array([0.2, 0.5, 0.1])
    poses = supple.poses(model, q)
    tip = poses.rotation[2] @ [0, 0, 0.1] + poses.position[2]
    new = supple.reroot(model, q, body="tip", joint="ball")
    np.testing.assert_allclose(supple.poses(new.model, new.q).position[0], tip, atol=1e-15)
    np.testing.assert_allclose(new.model.frames["tip"].position, 0, atol=1e-15)
    with pytest.raises(supple.ModelError, match="'lamp' is fixed to the world"):
        supple.reroot(model, q, body="lamp")


def test_rerooted_models_can_be_copied_and_searched():
    model = arm()
    new = supple.reroot(model, np.zeros(3), body="hand", joint="free").model
    twin = pickle.loads(pickle.dumps(new))
    assert twin.body_names == new.body_names == ("hand", "fore", "upper") and twin.joint_names == new.joint_names
    assert new.bodies["fore"].index == 1 and "hand" in repr(new.bodies)
    assert new.body_names[1:] == ("fore", "upper") and hash(new.body_names) == hash(twin.body_names)
    with pytest.raises(supple.ModelError, match="did you mean 'hand'"):
        new.bodies["hnad"]
    again = supple.reroot(new, new.neutral(), body="upper", joint="free").model
    assert list(again.body_names) == ["upper", "fore", "hand"]


# --- what is refused --------------------------------------------------------------------------------------------


def test_a_pose_that_the_joint_does_not_have():
    model = arm()
    q = np.array([0.2, 0.5, 0.1])
    with pytest.raises(supple.StateError, match=r"'hand' on a revolute joint.*turned by"):
        supple.reroot(model, q, body="hand", axis=(1, 0, 0))
    with pytest.raises(supple.StateError, match=r"'hand' on a prismatic joint.*turned by"):
        supple.reroot(model, q, body="hand", joint="prismatic")
    with pytest.raises(supple.StateError, match=r"'hand' on a revolute joint.*m away"):
        supple.reroot(model, q, body="hand", axis=(0, 1, 0), position=(1, 1, 1))
    with pytest.raises(supple.StateError, match="'hand' on a universal joint"):
        supple.reroot(model, q, body="hand", joint="universal", axis=(1, 0, 0), axis2=(0, 0, 1))


def test_a_motion_that_the_joint_does_not_have():
    model = arm()
    q, v = np.array([0.2, 0.5, 0.1]), np.array([1.0, 0.0, 0.0])
    with pytest.raises(supple.StateError, match=r"'hand'.*velocity"):
        supple.reroot(model, q, v, body="hand", axis=(0, 1, 0))
    with pytest.raises(supple.StateError, match=r"'hand'.*acceleration"):
        supple.reroot(model, q, 0 * v, v, body="hand", axis=(0, 1, 0))


def test_damping_that_cannot_follow():
    for kind, damping in (("planar", 0.1), ("free", 0.1), ("ball", (0.1, 0.2, 0.1))):
        b = supple.ModelBuilder()
        b.add_body("one", mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1))
        b.add_body("two", "one", kind, mass=1.0, inertia=(1, 1, 1), damping=damping)
        model = b.build()
        with pytest.raises(supple.ModelError, match=r"'two_joint'.*damping"):
            supple.reroot(model, model.neutral(), body="two", joint="free")
    b = supple.ModelBuilder()
    b.add_body("one", mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1))
    b.add_body("two", "one", "ball", mass=1.0, inertia=(1, 1, 1), damping=0.2, armature=0.1, lower=-0.5)
    model = b.build()
    new = supple.reroot(model, model.neutral(), body="two", joint="free").model
    ball = new.joints["two_joint"]
    assert (new.damping[ball.v] == 0.2).all() and (new.armature[ball.v] == 0.1).all()
    assert (ball.lower == -np.inf).all() and "'two_joint' is reversed, and without its lower" in str(new.report)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(body="hnad"), "did you mean 'hand'"),
        (dict(body=7), "there is no body 7"),
        (dict(body="hand", point=(1, 2)), "point must be three finite numbers"),
        (dict(body="hand", point=(1, 2, np.nan)), "point must be three finite numbers"),
        (dict(body="hand", joint="fixed"), "on a joint that moves, not on a fixed one"),
        (dict(body="hand", joint="revolut"), "did you mean 'revolute'"),
        (dict(body="hand", axis=(0, 0, 0)), "axis is zero"),
        (dict(body="hand", joint="universal"), "needs axis2"),
        (dict(body="hand", joint="universal", axis=(0, 1, 0), axis2=(0, 1, 1)), "perpendicular"),
        (dict(body="hand", joint="free", joint_name="elbow"), "'elbow' already"),
        (dict(body="hand", rotation=2 * np.eye(3)), "not a rotation"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(supple.ModelError, match=message):
        supple.reroot(arm(), np.zeros(3), **arguments)


def test_forces_of_the_wrong_shape_are_refused():
    new = supple.reroot(arm(), np.zeros(3), body="hand", joint="free")
    with pytest.raises(supple.StateError, match="tau has shape"):
        new.forces(np.ones(4))
    with pytest.raises(supple.StateError, match="wrenches has shape"):
        new.wrenches(np.ones((4, 6)))
    batch = np.random.default_rng(0).standard_normal((5, 3, 6))
    np.testing.assert_array_equal(new.wrenches(batch)[2], new.wrenches(batch[2]))
    np.testing.assert_array_equal(new.forces(batch[:, 0, :3])[1], new.forces(batch[1, 0, :3]))


def test_bad_states_are_named():
    model = trees.chain(3, joint="ball")
    q = model.neutral()
    with pytest.raises(supple.StateError, match="q has shape"):
        supple.reroot(model, q[:-1], body=2, joint="free")
    with pytest.raises(supple.StateError, match="one state"):
        supple.reroot(model, np.stack([q, q]), body=2, joint="free")
    with pytest.raises(supple.StateError, match="v\\[4\\] is inf; every number must be finite"):
        supple.reroot(model, q, np.where(np.arange(9) == 4, np.inf, 0), body=2, joint="free")
    with pytest.raises(supple.StateError, match=r"link1.*quaternion"):
        supple.reroot(model, np.where(np.arange(12) == 7, 2.0, q), body=2, joint="free")


def test_tables_carried_over_are_those_of_a_model_of_its_own():
    """What forward dynamics found for bodies off the chain is kept; the same bits come out as for a copy without it."""
    rng = np.random.default_rng(1)
    model = trees.from_parents(np.array([-1, 0, 1, 2, 1, 4, 4, 0, 7]), seed=2)
    q, v = model.random(rng), rng.standard_normal(model.nv)
    supple.forward_dynamics(model, q, v)
    new = supple.reroot(model, q, v, body=5, joint="free")
    twin = pickle.loads(pickle.dumps(new.model))
    np.testing.assert_array_equal(supple.forward_dynamics(new.model, new.q, new.v),
                                  supple.forward_dynamics(twin, new.q, new.v))  # fmt: skip
    for method in ("crba", "dca"):
        near = supple.forward_dynamics(new.model, new.q, new.v, method=method)
        np.testing.assert_allclose(near, supple.forward_dynamics(twin, new.q, new.v), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind, part", [("ball", slice(0, 4)), ("free", slice(3, 7)), ("planar", slice(2, 4))])
def test_joints_on_the_way_have_unit_parts(kind, part):
    """Refused in the words that every call has for it; beyond the chain nobody looks."""
    b = supple.ModelBuilder()
    for i in range(3):
        b.add_body(f"b{i}", i - 1, kind if i == 1 else "revolute", mass=1.0, inertia=np.eye(3), position=(0, 0, 1))
    model = b.build()
    q = model.random(0)
    q[model.joints[1].q][part] *= 1.01
    with pytest.raises(
        supple.StateError, match=r"b1_joint.* has length 1\.01, not 1; use model\.normalize\(q\)"
    ) as said:
        supple.reroot(model, q, body=2, joint="free")
    with pytest.raises(supple.StateError) as same:
        supple.poses(model, q)
    assert str(said.value) == str(same.value)
    supple.reroot(model, q, body=0, joint="free")
    supple.reroot(model, model.normalize(q), body=2, joint="free")
