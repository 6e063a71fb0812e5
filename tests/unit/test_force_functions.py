"""Forces written as functions: joints by name, in and out, and what is said of mistakes."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

import supple
from oracle import random_model


def arm():
    b = supple.ModelBuilder("arm")
    b.add_body("base", "world", "free", joint_name="root", mass=2.0, inertia=np.eye(3))
    b.add_body("upper", "base", "revolute", axis=(0, 1, 0), joint_name="shoulder", mass=1.0, com=(0.2, 0, 0),
               inertia=np.eye(3) * 0.02)  # fmt: skip
    b.add_body("lower", "upper", "revolute", axis=(0, 1, 0), position=(0.4, 0, 0), joint_name="elbow", mass=1.0,
               com=(0.2, 0, 0), inertia=np.eye(3) * 0.02)  # fmt: skip
    b.add_body("hand", "lower", "ball", position=(0.4, 0, 0), joint_name="wrist", mass=0.3, inertia=np.eye(3) * 0.01)
    return b.build()


MODEL = arm()
HOW = dict(q=MODEL.random(0), v=0.1 * np.ones(MODEL.nv), duration=0.05, dt=1e-3)
WRIST = np.array([0.1, -0.2, 0.3])


def arrays(time, q, v):
    out = np.zeros(11)
    out[7] = -2.0 * q[8] - 0.1 * v[7] + np.sin(time)
    out[8:11] = WRIST - 0.1 * v[8:11]
    return out


def named(state):
    elbow, wrist = state["elbow"], state["wrist"]
    return {"elbow": -2.0 * elbow.q - 0.1 * elbow.v + np.sin(state.time), "wrist": WRIST - 0.1 * wrist.v}


def told(time, q, v, model):
    part = model.joints["elbow"]
    return {"elbow": -2.0 * q[part.q] - 0.1 * v[part.v] + np.sin(time), "wrist": arrays(time, q, v)[8:11]}


def gained(state, stiffness=2.0, damping=0.1, more=None):
    return named(state)


@pytest.mark.parametrize("how", [{}, {"method": "crba", "integrator": "dop853"}, {"integrator": "euler"}], ids=str)
@pytest.mark.parametrize("function", [named, told, gained, partial(gained, stiffness=3.0), lambda s: named(s)])
@pytest.mark.parametrize("setting", ["forces", "tau"])
def test_every_form_is_the_same_force(setting, function, how):
    wanted = supple.simulate(MODEL, **HOW, forces=[arrays], **how)
    found = supple.simulate(MODEL, **HOW, **how, **{setting: function})
    np.testing.assert_allclose(found.q, wanted.q, rtol=0, atol=1e-13)
    assert np.abs(wanted.q - supple.simulate(MODEL, **HOW, **how).q).max() > 1e-4


@pytest.mark.parametrize("method", ["aba", "adaptive", "quasi-statics"])
def test_a_constant_tau_by_joint(method, tmp_path):
    """Also in a recording, which is the same run whichever way tau was given."""
    tau = np.zeros(MODEL.nv)
    tau[7], tau[8:11] = 1.5, WRIST
    how = dict(HOW, method=method) | ({"v": None} if method == "quasi-statics" else {})
    by_name = {"elbow": 1.5, "wrist": WRIST}
    whole = supple.simulate(MODEL, **how, tau=tau)
    np.testing.assert_array_equal(supple.simulate(MODEL, **how, tau=by_name).q, whole.q)
    supple.simulate(MODEL, **how | {"duration": 0.02}, tau=by_name, record=tmp_path / "run.h5").close()
    again = supple.simulate(MODEL, **how, tau=tau, record=tmp_path / "run.h5", resume=True)
    np.testing.assert_array_equal(again.q, whole.q)
    again.close()


def test_states_have_joints_by_name():
    state = supple.simulate(MODEL, **HOW).final
    assert state["elbow"] == (state.q[8], state.v[7]) and isinstance(state["elbow"].q, float)
    np.testing.assert_array_equal(state["root"].q, state.q[:7])
    np.testing.assert_array_equal(state["wrist"].v, state.v[8:11])
    assert state[2] == state["elbow"]
    with pytest.raises(supple.ModelError, match="no joint named 'elbw'; did you mean 'elbow'"):
        state["elbw"]
    with pytest.raises(TypeError):
        iter(state)


def test_controls_and_events_get_the_same_state():
    b = supple.ModelBuilder("lever")
    b.add_body("lever", axis=(0, 1, 0), mass=1.0, com=(0.5, 0, 0), joint_name="pivot")
    b.add_actuator(supple.Actuator("motor", "pivot"))
    model, down = b.build(), supple.Event("down", lambda state: state["pivot"].q - 0.3)
    how = dict(duration=0.5, events=[down])
    found = supple.simulate(model, forces=[supple.Controls(lambda state: {"motor": -state["pivot"].v})], **how)
    wanted = supple.simulate(model, tau=lambda time, q, v: -v, **how)
    np.testing.assert_allclose(found.q, wanted.q, atol=1e-13)
    assert len(found.events) == 1


def test_a_function_of_the_state_follows_a_change_of_root():
    rng = np.random.default_rng(0)
    tree = random_model(rng, 5, ("revolute", "prismatic"), world=0.0, chain=0.8, extras=False)
    made = supple.reroot(tree, tree.random(rng), 0.1 * np.ones(tree.nv), body=3, joint="free")
    model, joint = made.model, made.model.joint_names[2]

    def motor(state):
        return {joint: 3.0 - state[joint].v}

    def turn(state):
        new = supple.reroot(state.model, state.q, state.v, body=1, joint="free")
        return state.replace(model=new.model, q=new.q, v=new.v)

    how = dict(duration=0.1, dt=1e-3, tau=motor, check_energy=False)
    plain = supple.simulate(model, made.q, made.v, **how).final
    event = supple.Event("turn", lambda s: s.time - 0.0503, 1, turn)
    turned = supple.simulate(model, made.q, made.v, **how, events=[event]).final
    assert turned.model is not plain.model
    assert turned[joint].q == pytest.approx(plain[joint].q, abs=1e-9)


@pytest.mark.parametrize(
    "force, said",
    [
        (lambda s: {"elbw": 1.0}, "has forces by the names of joints: no joint named 'elbw'; did you mean 'elbow'?"),
        (lambda state: {2: 1.0}, "has forces by the names of joints: not 2"),
        (lambda state: {"wrist": 1.0}, "at joint 'wrist' must be 3 numbers, not 1.0"),
        (lambda state: {"elbow": [1.0, 2.0]}, "at joint 'elbow' must be one number, not [1.0, 2.0]"),
        (lambda state: {"elbow": "much"}, "at joint 'elbow' must be"),
        (lambda state: {"elbow": np.nan}, "is nan at joint 'elbow', at time 0 s"),
        (lambda state: {"wrist": (0, np.inf, 0)}, "is inf at joint 'wrist', at time 0 s"),
        (lambda state: {"elbow": 1.0 if state.time < 0.01 else np.nan}, "is nan at joint 'elbow', at time 0.01 s"),
        (lambda t, q, v: np.where(np.arange(11) == 6, np.nan, 0.0), "is nan at joint 'shoulder', at time 0 s"),
        (lambda t, q, v: np.where(np.eye(4, 6)[::-1] > 0, -np.inf, 0.0), "is -inf at body 'base', at time 0 s"),
        (lambda state: np.zeros(3), "returned shape (3,); a force returns (11,) at the joints"),
        (lambda state: state["nose"].q, "no joint named 'nose'"),
        (lambda a, b: 0, "takes (a, b); a force is a function (time, q, v), or a function (state)"),
    ],
)  # fmt: skip
def test_mistakes(force, said):
    for more in ({}, {"integrator": "euler"}):
        with pytest.raises(supple.SuppleError, match=re.escape(said)) as e:
            supple.simulate(MODEL, **HOW, forces=[force], **more)
        if "nan at joint" in said:
            assert e.value.joint in said and e.value.state.time <= e.value.time <= 0.0101


@pytest.mark.parametrize(
    "tau, said",
    [
        ({"elbw": 1.0}, "tau has forces by the names of joints: no joint named 'elbw'; did you mean 'elbow'?"),
        ({"wrist": [1.0]}, "tau at joint 'wrist' must be 3 numbers, not [1.0]"),
        ({"elbow": np.inf}, "tau must be 11 finite numbers, forces by joint {name: force}, or a function"),
    ],
)
def test_mistakes_of_a_constant_tau(tau, said):
    for method in ("aba", "adaptive"):
        with pytest.raises(supple.StateError, match=re.escape(said)):
            supple.simulate(MODEL, **HOW, tau=tau, method=method)


def test_forces_so_large_that_only_their_sum_overflows_are_taken():
    supple.simulate(MODEL, **HOW | {"duration": 0.0}, tau=lambda state: {"elbow": 1e308, "shoulder": 1e308})
