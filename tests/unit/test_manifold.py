"""Positions as points on a manifold: integrate and difference against each other and SciPy's matrix exponential.

Tolerances: 1e-13 where nothing cancels; difference(q, integrate(q, v)) = v loses digits as the turn nears π, where the
logarithm is ill conditioned, so the turns there stay below 3.1 (1e-12).
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import supple
from supple.errors import StateError
from supple.integrating.chart import chart
from supple.model.geometry import quaternion_from_rotation, rotation_from_quaternion
from supple.model.joints import UNIT_PART, JointType

expm = pytest.importorskip("scipy.linalg").expm

KINDS = ("revolute", "continuous", "prismatic", "screw", "cylindrical", "universal", "planar", "ball", "free")
seeds = st.integers(0, 2**32 - 1)


def model_of(*kinds):
    b = supple.ModelBuilder()
    for k, kind in enumerate(kinds):
        b.add_body(None, k - 1, kind, axis=(1, 2, 2), axis2=(2, 1, -2), mass=1.0, inertia=(1, 1, 1))
    return b.build()


ONE = {kind: model_of(kind) for kind in KINDS}
ALL = model_of(*KINDS)


def close(a, b, tolerance=1e-13):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


def same_place(model, a, b, tolerance=1e-13):
    """Two positions, quaternions up to sign."""
    for i in range(model.n_bodies):
        x, y = (q[..., model.joints[i].q] for q in (a, b))
        if model.joint_type[i] in (JointType.BALL, JointType.FREE):
            first, length = UNIT_PART[JointType(int(model.joint_type[i]))]
            part = slice(first, first + length)
            sign = np.sign(np.sum(x[..., part] * y[..., part], axis=-1, keepdims=True))
            y = np.concatenate([y[..., :first], y[..., part] * sign], axis=-1)
        close(x, y, tolerance)


def velocity(model, rng, turn):
    """Random, each joint's angular part shorter than `turn`."""
    v = rng.standard_normal(model.nv)
    for i in range(model.n_bodies):
        part, kind = model.joints[i].v, model.joint_type[i]
        start = {JointType.FREE: part.start + 3, JointType.PLANAR: part.start + 2}.get(kind, part.start)
        w = v[start : part.stop]
        if kind in (JointType.FREE, JointType.BALL, JointType.PLANAR):
            w *= rng.uniform(0, turn) / np.linalg.norm(w)
    return v


# --- there and back -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds)
@settings(max_examples=40, deadline=None)
def test_difference_undoes_integrate(kind, seed):
    model, rng = ONE[kind], np.random.default_rng(seed)
    q, v = model.random(rng), velocity(ONE[kind], rng, 3.1)
    close(model.difference(q, model.integrate(q, v)), v, 1e-12)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds)
@settings(max_examples=40, deadline=None)
def test_integrate_undoes_difference(kind, seed):
    model, rng = ONE[kind], np.random.default_rng(seed)
    q0, q1 = model.random(rng), model.random(rng)
    v = model.difference(q0, q1)
    same_place(model, model.integrate(q0, v), q1, 1e-12)
    same_place(model, model.integrate(q0, 2 * v, 0.5), q1, 1e-12)


@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_constant_velocity_can_be_cut_in_pieces(seed):
    rng = np.random.default_rng(seed)
    q, v = ALL.random(rng), rng.standard_normal(ALL.nv)
    halfway = ALL.integrate(q, v, 0.4)
    same_place(ALL, ALL.integrate(halfway, v, 0.6), ALL.integrate(q, v), 1e-13)
    same_place(ALL, ALL.integrate(halfway, v, -0.4), q, 1e-13)


@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_runs_move_as_integrate_does(seed):
    """To the last bit: they call the same lines."""
    rng = np.random.default_rng(seed)
    q, v, h = ALL.random(rng), rng.standard_normal(ALL.nv) * 10.0 ** rng.uniform(-8, 1), rng.uniform(-1, 1)
    np.testing.assert_array_equal(chart(ALL).move(q, v, h), ALL.integrate(q, v, h))
    np.testing.assert_array_equal(ALL.integrate(np.stack([q, q]), v, h), [ALL.integrate(q, v, h)] * 2)


@pytest.mark.parametrize("kind", KINDS)
def test_no_motion(kind):
    model = ONE[kind]
    q = model.random(3)
    close(model.integrate(q, np.zeros(model.nv)), q, 1e-15)
    close(model.difference(q, q), np.zeros(model.nv), 1e-15)


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_both_quaternions_of_a_rotation_are_one_place(kind):
    """The difference takes the short way: at most half a turn."""
    model = ONE[kind]
    q0, q1 = model.random(1), model.random(2)
    other = q1.copy()
    other[-4:] *= -1
    close(model.difference(q0, other), model.difference(q0, q1))
    assert np.linalg.norm(model.difference(q0, q1)[-3:]) <= np.pi


@pytest.mark.parametrize("kind", ["ball", "free", "planar"])
def test_half_a_turn(kind):
    model = ONE[kind]
    v = np.zeros(model.nv)
    v[-1] = np.pi
    q = model.neutral()
    back = model.difference(q, model.integrate(q, v))
    close(np.abs(back), np.abs(v), 1e-12)  # either way round


# --- against the exponential of matrices ----------------------------------------------------------------------------


def pose(kind, q):
    """A joint's position as a homogeneous matrix (planar: in its plane)."""
    if kind == "planar":
        return np.array([[q[2], -q[3], q[0]], [q[3], q[2], q[1]], [0, 0, 1]])
    T = np.eye(4)
    T[:3, :3] = rotation_from_quaternion(q[-4:])
    T[:3, 3] = q[:3] if kind == "free" else 0
    return T


def twist(kind, v):
    if kind == "planar":
        return np.array([[0, -v[2], v[0]], [v[2], 0, v[1]], [0, 0, 0]])
    w, u = v[-3:], v[:3] if kind == "free" else np.zeros(3)
    return np.block([[np.cross(np.eye(3), w), u[:, None]], [np.zeros((1, 4))]])


@pytest.mark.parametrize("kind", ["planar", "ball", "free"])
@given(seed=seeds, size=st.sampled_from([1e-9, 1e-4, 0.03, 0.049, 0.051, 0.07, 1.0, 3.0, 8.0]))
@settings(max_examples=40, deadline=None)
def test_integrate_is_the_exponential(kind, seed, size):
    model, rng = ONE[kind], np.random.default_rng(seed)
    q, v = model.random(rng), rng.standard_normal(model.nv)
    v *= size / np.linalg.norm(v)
    close(pose(kind, model.integrate(q, v)), pose(kind, q) @ expm(twist(kind, v)), 1e-13 * max(1.0, size))


def test_the_sign_of_the_twist_is_right():
    """The oracle itself, where the answer is known: a quarter turn about z takes x to y."""
    T = expm(twist("ball", np.array([0, 0, np.pi / 2])))
    close(T[:3, 0], [0, 1, 0])
    close(quaternion_from_rotation(T[:3, :3]), ONE["ball"].integrate([0, 0, 0, 1], [0, 0, np.pi / 2]))


@pytest.mark.parametrize("kind", ["planar", "free"])
def test_series_meet_the_closed_forms(kind):
    """On both sides of the angle where one takes over from the other, a small step is a small step, there and back."""
    model = ONE[kind]
    q = model.random(4)
    direction = np.random.default_rng(5).standard_normal(model.nv)
    turn = np.linalg.norm(direction[3:] if kind == "free" else direction[2:])
    at = [0.05 * (1 + d) / turn for d in (-1e-9, 1e-9)]
    below, above = (model.integrate(q, direction * t) for t in at)
    close(below, above, 1e-9)
    close(above - below, (at[1] - at[0]) * (model.integrate(q, direction * 0.0500001 / turn) - below)
          / (0.0500001 / turn - at[0]), 1e-14)  # fmt: skip
    for t, there in zip(at, (below, above)):
        close(model.difference(q, there), direction * t, 1e-14)


# --- batches --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 3])
def test_batches(size):
    rng = np.random.default_rng(size)
    q = np.array([ALL.random(rng) for _ in range(size)]).reshape(size, ALL.nq)
    v = rng.standard_normal((size, ALL.nv))
    there = ALL.integrate(q, v, 0.3)
    assert there.shape == (size, ALL.nq)
    for k in range(size):
        close(there[k], ALL.integrate(q[k], v[k], 0.3), 1e-15)
        close(ALL.difference(q, there)[k], ALL.difference(q[k], there[k]), 1e-15)
        close(ALL.integrate(q[0], v)[k], ALL.integrate(q[0], v[k]), 1e-15)
        close(ALL.integrate(q, v[0])[k], ALL.integrate(q[k], v[0]), 1e-15)
        close(ALL.difference(q[0], q)[k], ALL.difference(q[0], q[k]), 1e-15)
        close(ALL.normalize(2 * q)[k], ALL.normalize(2 * q[k]), 1e-15)


def test_arguments_are_left_alone():
    rng = np.random.default_rng(0)
    q, v = ALL.random(rng), rng.standard_normal(ALL.nv)
    before = q.copy(), v.copy()
    for out in (ALL.integrate(q, v), ALL.difference(q, q), ALL.normalize(q)):
        assert not np.shares_memory(out, q) and not np.shares_memory(out, v) and out.flags.writeable
    np.testing.assert_array_equal(q, before[0])
    np.testing.assert_array_equal(v, before[1])


# --- unit parts -----------------------------------------------------------------------------------------------------


def test_normalize():
    rng = np.random.default_rng(0)
    q = ALL.random(rng)
    for kind, (first, length) in UNIT_PART.items():
        i = int(np.flatnonzero(ALL.joint_type == kind)[0])
        part = slice(int(ALL.q_index[i]) + first, int(ALL.q_index[i]) + first + length)
        off = q.copy()
        off[part] *= 1.7
        out = ALL.normalize(off)
        close(out, q, 1e-15)  # direction kept, the rest as it was
        off[part] = 0
        with pytest.raises(StateError, match="no direction"):
            ALL.normalize(off)


def test_integrate_keeps_unit_length():
    """A thousand steps leave no trace on the length of a quaternion."""
    rng = np.random.default_rng(0)
    q = ALL.random(rng)
    for _ in range(1000):
        q = ALL.integrate(q, rng.standard_normal(ALL.nv), 0.1)
    close(ALL.normalize(q), q, 1e-15)


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("q", "v", "message"),
    [
        (np.zeros(3), np.zeros(6), r"q has shape \(3,\); expected \(7,\), or \(B, 7\)"),
        (np.zeros(7), np.zeros(7), r"v has shape \(7,\); expected \(6,\)"),
        (np.zeros((2, 2, 7)), np.zeros(6), "q has shape"),
        (0.0, np.zeros(6), "q has shape"),
        (np.zeros(7), None, "v must be an array of real numbers"),
        (
            np.zeros(7, dtype=complex),
            np.zeros(6),
            "q must be an array of real numbers, not an array of dtype complex128",
        ),
        (["a"] * 7, np.zeros(6), "q must be an array of real numbers"),
        (["1"] * 7, np.zeros(6), "q must be an array of real numbers"),
        ([[0.0], [0.0, 1.0]], np.zeros(6), "q must be an array of real numbers"),
        (np.ones((2, 7)), np.ones((3, 6)), "batches of different lengths: 2 and 3"),
    ],
)
def test_what_is_refused(q, v, message):
    with pytest.raises(StateError, match=message):
        ONE["free"].integrate(q, v)


def test_difference_names_its_arguments():
    with pytest.raises(StateError, match="q1 has shape"):
        ONE["free"].difference(np.zeros(7), np.zeros(6))
    with pytest.raises(StateError, match="batches of different lengths"):
        ONE["free"].difference(np.ones((2, 7)), np.ones((3, 7)))
