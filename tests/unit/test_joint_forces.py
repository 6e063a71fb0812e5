"""The forces at the joints that a run keeps: they are those that move it, in three parts, wherever they are read."""

from __future__ import annotations

from copy import copy
from pathlib import Path

import numpy as np
import pytest

import supple
from oracle import random_model
from supple import Controller, Controls, Limits, Push, Spring, SpringBetween

EVERY = [
    *({"method": m} for m in ("aba", "crba", "virtual-work", "dca", "dense")),
    *({"integrator": i} for i in ("dop853", "euler")),
    {"method": "adaptive", "active": 3},
]


def robot(seed=0):
    """A floating tree with springs, friction, damping, limits and actuators."""
    b = supple.ModelBuilder("robot", gravity=(0.3, 0.0, -9.0))
    b.add_body("base", "world", "free", mass=3.0, inertia=np.eye(3), joint_name="root")
    b.add_body(
        "a",
        "base",
        "revolute",
        axis=(0, 1, 0),
        mass=1.0,
        com=(0.2, 0, 0),
        inertia=np.eye(3) * 0.1,
        joint_name="hip",
        stiffness=3.0,
        rest=0.3,
        damping=0.2,
        armature=0.1,
        lower=-0.1,
        upper=0.1,
    )
    b.add_body(
        "b", "a", "prismatic", axis=(1, 0, 0), mass=1.0, inertia=np.eye(3) * 0.1, joint_name="slide", friction=0.5
    )
    b.add_body(
        "c", "a", "ball", position=(0, 0.3, 0), mass=1.0, com=(0, 0, 0.1), inertia=np.eye(3) * 0.1, joint_name="ball"
    )
    b.add_actuator(supple.Actuator("servo", "hip", gain=20.0, stiffness=20.0, damping=1.0, force_range=(-5, 3)))
    b.add_actuator(supple.Actuator("motor", "slide", gain=2.0))
    model, rng = b.build(), np.random.default_rng(seed)
    q = model.integrate(model.neutral(), 0.4 * rng.standard_normal(model.nv))
    return model, q, 0.5 * rng.standard_normal(model.nv)  # fmt: skip


def pulling(state):
    return {"slide": np.sin(9 * state.time) - state["slide"].v, "ball": (0.1, 0.2, 0.3)}


def blowing(time, q, v):
    return np.tile([0.1, 0.0, 0.2, 0.5, -time, 0.0], (4, 1))


def forces(functions=True):
    fixed = [
        Controller("slide", 30.0, 2.0, 0.1, most=4.0), Limits(200.0, 3.0),
        Push("b", (1, 2, 3), (0.1, 0, 0), (0.1, 0, 0), start=0.003, stop=0.008),
        Spring("c", (0, 0, 1), 20.0, damping=0.5), SpringBetween("b", "c", 30.0, damping=0.5, length=0.1),
    ]  # fmt: skip
    steady = Controls({"servo": 0.4, "motor": 0.3})
    moving = [Controls(lambda state: {"servo": np.sin(state.time), "motor": state["hip"].q}), pulling, blowing]
    return [*fixed, *(moving if functions else [steady])]


def accelerations(model, q, v, kept):
    """By H a + C = tau, from what a result says alone."""
    H = supple.mass_matrix(model, q)
    C = supple.inverse_dynamics(model, q, v, np.zeros(model.nv))
    return np.linalg.solve(H, kept.sum(axis=0) - C)


@pytest.mark.parametrize("how", EVERY, ids=str)
def test_they_are_what_moves_the_body(how):
    """At every state, inverse dynamics of the accelerations that the forces cause gives their sum; and over a step
    velocities change accordingly."""
    model, q, v = robot()
    tau = np.linspace(-1.0, 1.0, model.nv)
    acting = forces(how.get("method") != "adaptive")
    run = supple.simulate(model, q, v, duration=0.01, dt=1e-3, forces=acting, tau=tau, joint_forces=True, **how)
    ours = supple.Simulation(model, q, v, forces=acting, tau=tau)
    for k, state in enumerate(run):
        parts = np.array([run.applied[k], run.passive[k], run.pushed[k]])
        a = ours._dynamics.acceleration(state.time, state.q, state.v)
        needed = supple.inverse_dynamics(model, state.q, state.v, a)
        np.testing.assert_allclose(parts.sum(axis=0), needed, rtol=0, atol=1e-12 * (1.0 + np.abs(parts).max()))
    h = 1e-6
    short = supple.simulate(model, q, v, duration=h, dt=h, forces=acting, tau=tau, joint_forces=True, **how)
    wanted = accelerations(model, q, v, short.segments[0].joint_forces[0])
    np.testing.assert_allclose((short.final.v - v) / h, wanted, rtol=0, atol=1e-3 * np.abs(wanted).max())


def test_each_part_has_what_it_says():
    """Written out: motors among those applied, springs, friction and walls among the passive ones."""
    model, q, v = robot()
    hip, slide, ball = (model.joints[name] for name in ("hip", "slide", "ball"))
    run = supple.simulate(model, q, v, duration=0.005, dt=1e-3, forces=forces(), tau={"hip": 0.7}, joint_forces=True)
    q, v, t = run.final.q, run.final.v, run.final.time
    x, u, s, w = q[hip.q][0], v[hip.v][0], q[slide.q][0], v[slide.v][0]
    servo = np.clip(20.0 * np.sin(t) - 20.0 * x - u, -5, 3)
    assert run.applied[-1, hip.v] == pytest.approx(0.7 + servo)
    pd = np.clip(30.0 * (0.1 - s) - 2.0 * w, -4, 4)
    assert run.applied[-1, slide.v] == pytest.approx(pd + 2.0 * x + np.sin(9 * t) - w)
    np.testing.assert_allclose(run.applied[-1, ball.v], (0.1, 0.2, 0.3))
    assert not run.applied[-1, :6].any() and not run.passive[-1, :6].any() and not run.passive[-1, ball.v].any()
    over = x - np.clip(x, -0.1, 0.1)
    wall = -200.0 * over - 3.0 * u if over else 0.0
    wall = max(wall, 0.0) if over < 0.0 else min(wall, 0.0)
    assert run.passive[-1, hip.v] == pytest.approx(3.0 * (0.3 - x) + wall)
    assert abs(run.passive[-1, slide.v][0]) == pytest.approx(0.5) and run.passive[-1, slide.v] * w < 0.0
    assert run.pushed[-1].all()


def test_pushed_is_the_power_of_forces_on_bodies():
    rng = np.random.default_rng(1)
    for _ in range(5):
        model = random_model(rng, 6)
        q, v = model.random(rng), rng.standard_normal(model.nv)
        W = rng.standard_normal((6, 6))
        run = supple.simulate(model, q, v, duration=0.0, forces=[lambda time, q, v: W], joint_forces=True)  # noqa: B023
        power = (W * supple.velocities(model, q, v, frame="body")).sum()
        assert run.pushed[0] @ v == pytest.approx(power, rel=1e-10)
        assert not run.applied.any()


def test_nothing_acts():
    run = supple.simulate(supple.trees.chain(3), duration=0.01, joint_forces=True)
    assert run.applied.shape == run.passive.shape == run.pushed.shape == (11, 3)
    assert not (run.applied.any() or run.passive.any() or run.pushed.any())


def test_runs_that_do_not_keep_them_have_none_and_call_no_function_for_them():
    calls = []

    def counted(time, q, v):
        calls.append(time)
        return 0.0 * v

    model = supple.trees.chain(3)
    run = supple.simulate(model, duration=0.01, forces=[counted])
    assert run.applied is None and run.passive is None and run.pushed is None and len(calls) == 40
    supple.simulate(model, duration=0.01, forces=[counted], joint_forces=True, every=5)
    assert len(calls) == 40 + 40 + 3


def test_recordings_have_them_and_go_on_with_them(tmp_path: Path):
    model, q, v = robot()
    how = dict(forces=forces(), dt=1e-3, joint_forces=True)
    whole = supple.simulate(model, q, v, duration=0.02, **how)
    path = tmp_path / "run.h5"
    supple.simulate(model, q, v, duration=0.01, record=path, **how).close()
    resumed = supple.simulate(model, q, v, duration=0.02, record=path, resume=True, **how)
    read = supple.load_run(path)
    for run in (resumed, read):
        for name in ("applied", "passive", "pushed"):
            np.testing.assert_array_equal(getattr(run, name), getattr(whole, name))
        np.testing.assert_array_equal(run.segments[0].joint_forces[7, 1], whole.passive[7])
    supple.export(path, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as arrays:
        np.testing.assert_array_equal(arrays["joint_forces"][:, 0], whole.applied)
    resumed.close(), read.close()
    with pytest.raises(supple.RecordingError, match="with joint_forces True, not nothing"):
        supple.simulate(model, q, v, duration=0.03, record=path, resume=True, **how | {"joint_forces": False})


def test_events_and_copies():
    model = supple.trees.chain(3, general=False)
    hit = supple.Event("hit", lambda state: state.time - 0.0105, 1, lambda state: state.replace(v=-state.v))
    how = dict(duration=0.02, dt=1e-3, tau=lambda state: -state.v, joint_forces=True)
    run = supple.simulate(model, np.full(3, 0.3), np.ones(3), events=[hit], **how)
    assert len(run.segments) == 2 and len(run.applied) == len(run.v)
    np.testing.assert_array_equal(run.applied, -run.v)
    sim = supple.Simulation(
        model, np.full(3, 0.3), np.ones(3), forces=[Push(2, (0, 0, 1))], joint_forces=True, duration=0.01
    )
    first = next(iter(sim.samples()))
    again = next(iter(copy(sim).samples()))
    np.testing.assert_array_equal(first.joint_forces, again.joint_forces)


def test_tables_and_plots_show_them(tmp_path: Path):
    pytest.importorskip("pandas")
    model, q, v = robot()
    run = supple.simulate(model, q, v, duration=0.005, dt=1e-3, forces=forces(), joint_forces=True)
    table = run.to_frame("pandas")
    for name in ("applied", "passive", "pushed"):
        np.testing.assert_array_equal(table[f"{name}.hip"], getattr(run, name)[:, 6])
        np.testing.assert_array_equal(table[f"{name}.ball[2]"], getattr(run, name)[:, 10])
    assert "applied.slide" not in run.to_frame("pandas", joints=["hip"])
    figure = run.plot(joints=["hip", "ball"])
    labels = [axis.get_ylabel() for axis in figure.axes]
    assert labels == ["J", "rad, m", "force applied"]
    assert [line.get_label() for line in figure.axes[2].lines] == ["hip", "ball[0]", "ball[1]", "ball[2]"]
    np.testing.assert_array_equal(figure.axes[2].lines[0].get_ydata(), run.applied[:, 6])


def test_quasi_statics_refuses():
    with pytest.raises(supple.StateError, match="leave joint_forces out"):
        supple.simulate(supple.trees.chain(3), duration=0.01, method="quasi-statics", joint_forces=True)
