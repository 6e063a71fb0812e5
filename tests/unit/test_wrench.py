"""supple.wrench against the formulas by hand, and against virtual work: J^T f is what a force does to the joints.

Tolerance 1e-12: poses, Jacobian and two inverse dynamics of trees of a dozen bodies.
"""

from __future__ import annotations

import numpy as np
import pytest

import supple
from oracle import random_model
from supple.errors import ModelError, StateError


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


@pytest.fixture
def case():
    rng = np.random.default_rng(12)
    model = random_model(rng, 12)
    return model, model.random(rng), rng.standard_normal((4, 3))


def test_by_hand():
    """An arm of 2 m hangs from a hinge about y; at 90 degrees it points along -x."""
    b = supple.ModelBuilder()
    b.add_body("arm", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -1))
    model = b.build()
    q = [np.pi / 2]
    close(supple.poses(model, q).rotation[0] @ [0, 0, -2], [-2, 0, 0])
    # 3 N upwards at the tip is along the arm's own -x, with a moment of 6 N m about its origin
    w = supple.wrench(model, "arm", force=(0, 0, 3), point=(0, 0, -2), q=q)
    close(w, [[0, 6, 0, -3, 0, 0]])
    # which turns the hinge with (r x f)_y = (-2, 0, 0) x (0, 0, 3) = 6
    at_rest = supple.inverse_dynamics(model, q, None, None)
    close(at_rest - supple.inverse_dynamics(model, q, None, None, w), [6.0])
    # a torque is free of the point
    close(supple.wrench(model, 0, torque=(0, 2, 0), point=(5, 5, 5), q=q), [[0, 2, 0, 0, 0, 0]])


def test_in_the_bodys_frame(case):
    model, _, (f, t, r, _) = case
    w = supple.wrench(model, 5, f, r, t, frame="body")
    close(w[5], np.concatenate([t + np.cross(r, f), f]))
    assert not w[np.arange(model.n_bodies) != 5].any()
    assert w.shape == (model.n_bodies, 6)


def test_in_the_world(case):
    model, q, (f, t, r, _) = case
    poses = supple.poses(model, q)
    R, p = poses.rotation[7], poses.position[7]
    in_world = supple.wrench(model, 7, f, r, t, q=q)
    close(in_world, supple.wrench(model, 7, R.T @ f, r, R.T @ t, frame="body"))
    close(in_world, supple.wrench(model, 7, f, p + R @ r, t, q=q, point_frame="world"))
    close(
        supple.wrench(model, 7, R.T @ f, p + R @ r, R.T @ t, frame="body", q=q, point_frame="world"),
        supple.wrench(model, 7, f, r, t, q=q),
    )


@pytest.mark.parametrize("body", [0, 6, 11])
def test_virtual_work(case, body):
    """The joint forces that balance a wrench are J^T f."""
    model, q, (f, t, r, _) = case
    J = supple.jacobian(model, q, body, r)
    w = supple.wrench(model, body, f, r, t, q=q)
    free = supple.inverse_dynamics(model, q, None, None)
    held = supple.inverse_dynamics(model, q, None, None, w)
    close(free - held, J[:3].T @ t + J[3:].T @ f)
    own = supple.jacobian(model, q, body, r, frame="body")
    w = supple.wrench(model, body, f, r, t, frame="body")
    held = supple.inverse_dynamics(model, q, None, None, w)
    close(free - held, own[:3].T @ t + own[3:].T @ f)


def test_wrenches_add_up(case):
    model, q, (f, t, r, s) = case
    one, other = supple.wrench(model, 3, f, r, q=q), supple.wrench(model, 3, t, s, q=q)
    v = np.ones(model.nv)
    rest = supple.forward_dynamics(model, q, v)
    both = supple.forward_dynamics(model, q, v, wrenches=one + other)
    separately = [supple.forward_dynamics(model, q, v, wrenches=w) - rest for w in (one, other)]
    np.testing.assert_allclose(both - rest, sum(separately), rtol=0, atol=1e-9)  # H^-1 makes rounding larger


def test_batches(case):
    model, _, (f, t, r, _) = case
    rng = np.random.default_rng(3)
    q = np.array([model.random(rng) for _ in range(3)])
    for kind in ("body", "world"):
        w = supple.wrench(model, 4, f, r, t, q=q, point_frame=kind)
        assert w.shape == (3, model.n_bodies, 6)
        for k in range(3):
            close(w[k], supple.wrench(model, 4, f, r, t, q=q[k], point_frame=kind))


def test_by_name(case):
    model, q, (f, *_) = case
    close(supple.wrench(model, model.body_names[4], f, q=q), supple.wrench(model, 4, f, q=q))


def test_what_is_refused(case):
    model, q, _ = case
    with pytest.raises(StateError, match="needs q"):
        supple.wrench(model, 0, (1, 0, 0))
    with pytest.raises(StateError, match="needs q"):
        supple.wrench(model, 0, (1, 0, 0), (0, 0, 0), frame="body", point_frame="world")
    for name in ("force", "point", "torque"):
        for bad in ((1, 2), (1, 2, np.nan), "north", (1, 2, 3j), None):
            with pytest.raises(StateError, match=f"^wrench: {name} must be"):
                supple.wrench(model, 0, q=q, **{name: bad})
    for name in ("frame", "point_frame"):
        with pytest.raises(StateError, match=f"^wrench: {name} must be 'world' or 'body', not 'bodi'"):
            supple.wrench(model, 0, (1, 0, 0), q=q, **{name: "bodi"})
    with pytest.raises(ModelError, match="no body named 'bodi3'; did you mean 'body3'"):
        supple.wrench(model, "bodi3", (1, 0, 0), q=q)
    with pytest.raises(ModelError, match="there is no body 12"):
        supple.wrench(model, 12, (1, 0, 0), q=q)
    with pytest.raises(ModelError, match="there is no body -1"):
        supple.wrench(model, -1, (1, 0, 0), q=q)


@pytest.fixture
def tool():
    """Two links, and on the second a tool: a frame off its origin, turned."""
    b = supple.ModelBuilder(gravity=(0, 0, 0))
    upper = b.add_body("upper", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.2), inertia=(0.1, 0.1, 0.1))
    b.add_body(
        "lower", upper, axis=(1, 0, 0), position=(0, 0, -0.5), mass=1.0, com=(0, 0, -0.2), inertia=(0.1, 0.2, 0.1)
    )
    half = np.sqrt(0.5)
    b.add_body("tool", "lower", "fixed", position=(0.1, 0.2, -0.4), rotation=(half, 0, 0, half))
    b.add_body("wall", None, "fixed")
    return b.build()


FORCE, POINT, TORQUE, Q = np.array([1.0, 2.0, 3.0]), np.array([0.3, -0.1, 0.2]), np.array([0.5, 0.0, -1.0]), [0.4, -0.7]


def on_lower(model, frame):
    """What a push of the tool is as one of its body."""
    place = model.frames["tool"]
    turn = place.rotation if frame == "body" else np.eye(3)
    return dict(force=turn @ FORCE, torque=turn @ TORQUE, point=place.rotation @ POINT + place.position, frame=frame)


@pytest.mark.parametrize("frame", ["world", "body"])
def test_frames_are_pushed_as_bodies_are(tool, frame):
    how = dict(force=FORCE, torque=TORQUE, point=POINT, frame=frame)
    W = supple.wrench(tool, "tool", **how, q=Q)
    close(W, supple.wrench(tool, "lower", **on_lower(tool, frame), q=Q))
    J = supple.jacobian(tool, Q, "tool", POINT, frame=frame)
    at_rest = supple.inverse_dynamics(tool, Q, None, None)
    close(at_rest - supple.inverse_dynamics(tool, Q, None, None, W), J.T @ np.concatenate([TORQUE, FORCE]))
    for made in (supple.QuasiStatics(tool, Q, error=0.0), supple.AdaptiveDynamics(tool, Q)):
        push = made.apply("tool", force=(0, 0, 9))
        push.remove()
        push = made.apply("tool", **{**how, "force": (7, 7, 7)})
        push.set(force=FORCE)
        made.step(1e-3)
        twin = type(made)(tool, Q, error=0.0) if isinstance(made, supple.QuasiStatics) else type(made)(tool, Q)
        twin.apply("lower", **on_lower(tool, frame))
        twin.step(1e-3)
        close(made.q, twin.q)
        assert np.abs(made.q - Q).max() > 1e-7
    runs = [
        supple.simulate(tool, Q, duration=0.1, forces=[force], check_energy=False)
        for force in (supple.Push("tool", **how), supple.Push("lower", **on_lower(tool, frame)))
    ]
    close(runs[0].q, runs[1].q)


def test_springs_hang_on_frames(tool):
    place = tool.frames["tool"]
    at = place.rotation @ POINT + place.position
    springs = supple.Spring("tool", (0, 1, 0), 5.0, POINT), supple.Spring("lower", (0, 1, 0), 5.0, at)
    runs = [supple.simulate(tool, Q, duration=0.1, forces=[spring]) for spring in springs]
    close(runs[0].q, runs[1].q)
    made = [supple.AdaptiveDynamics(tool, Q) for _ in range(2)]
    made[0].spring("tool", (0, 1, 0), 5.0, point=POINT)
    made[1].spring("lower", (0, 1, 0), 5.0, point=at)
    for body in made:
        body.step(1e-2)
    close(made[0].q, made[1].q)


def test_frames_are_suggested_and_those_of_the_world_refused(tool):
    for call in (lambda x: supple.wrench(tool, x, frame="body"), supple.QuasiStatics(tool).apply):
        with pytest.raises(ModelError, match="no body or frame named 'tol'; did you mean 'tool'"):
            call("tol")
        with pytest.raises(ModelError, match="'wall' is fixed to the world"):
            call("wall")
