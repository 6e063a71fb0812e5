"""Divergence: runs that no step can follow are called so, and the last good state is good."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import supple
from supple import robots
from supple.simulating.dynamics import Dynamics, EnergyGuard

STIFF = 1e5


def arm(n: int = 4, **how: object) -> supple.Model:
    """A chain whose links become lighter."""
    b = supple.ModelBuilder("arm")
    for i in range(n):
        size = 0.4 / 2**i
        mass = 20 * size**3
        b.add_body(f"b{i}", joint="revolute", parent=f"b{i - 1}" if i else None, axis=(0, 1, 0) if i % 2 else (1, 0, 0),
                   position=(0, 0, -2 * size) if i else (0, 0, 0), mass=mass, com=(0, 0, -0.5 * size),
                   inertia=(mass * size**2 / 10,) * 3, **how)  # fmt: skip
    return b.build()


def bent(model: supple.Model) -> np.ndarray | None:
    """Where an arm starts."""
    return np.array([0.3, 0.2, -0.1, 0.4]) if model.name == "arm" else None


def zero(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.zeros(len(v))


#: Families of runs that diverge: the model, and how it is run.
FAMILIES = {
    "damper": lambda: (arm(damping=5.0), dict(dt=1e-2)),
    "controllers": lambda: (arm(), dict(forces=[supple.Controller(j, STIFF, 400.0) for j in range(4)])),
    "undamped spring": lambda: (arm(), dict(forces=[supple.Controller(3, 1e9, 0.0, target=1.0)])),
    "moving target": lambda: (arm(), dict(forces=[supple.Controller(j, 10.0, 50.0, rate=1.0) for j in range(4)])),
    "limited motors": lambda: (arm(damping=5.0), dict(forces=[supple.Controller(0, 10.0, 1.0, most=3.0)], dt=1e-2)),
    "constant torque": lambda: (arm(damping=5.0), dict(tau=np.full(4, 0.5), dt=1e-2)),
    "huge torque": lambda: (arm(), dict(tau=np.full(4, 1e7))),
    "function": lambda: (arm(), dict(forces=[lambda t, q, v: -1e3 * q - 50.0 * v])),
    "spring to a point": lambda: (arm(), dict(forces=[supple.Spring("b3", (0.5, 0, 0), 1e7, damping=1e3)])),
    "spring, undamped": lambda: (arm(), dict(forces=[supple.Spring("b3", (0.5, 0, 0), 1e9)])),
    "huge push": lambda: (arm(), dict(forces=[supple.Push("b3", (1e8, 1e8, 0))])),
    "free": lambda: (supple.trees.humanoid(), dict(forces=[supple.Spring("torso", (0, 0, 9), 1e8, damping=1e5)])),
}


def plausible(model: supple.Model, state: supple.State, dt: float) -> None:
    """Speeds that a step can follow, and that are near the forces' own."""
    assert np.isfinite(state.q).all() and np.abs(state.v).max() * dt < 0.3
    assert np.isfinite(supple.forward_dynamics(model, state.q, state.v)).all()


@pytest.mark.parametrize("integrator", ["rk4", "semi-implicit", "euler"])
@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_called_divergence(family, integrator):
    """By every explicit integrator, with and without the guard of energies; and the result ends with the last good
    state."""
    model, how = FAMILIES[family]()
    how = dict(dt=1e-3, duration=3.0, integrator=integrator, q=bent(model)) | how
    for check in (True, False):
        with pytest.raises(supple.SimulationError, match="the run diverged") as caught:
            supple.simulate(model, check_energy=check, **how)
        e = caught.value
        assert "singular" not in str(e) and e.joint in model.joint_names
        assert 0 <= e.state.time <= e.time < 3.0
        plausible(model, e.state, how["dt"])
        assert e.result.final.time == pytest.approx(e.state.time, abs=1e-9)
        np.testing.assert_array_equal(e.result.final.v, e.state.v)


@pytest.mark.parametrize("family", ["damper", "controllers", "undamped spring", "moving target", "limited motors",
                                    "constant torque"])  # fmt: skip
def test_joints_may_be_stiff(family):
    """What diverges only because joints are stiff runs by default."""
    model, how = FAMILIES[family]()
    r = supple.simulate(model, bent(model), **(dict(dt=1e-3, duration=3.0) | how))
    assert r.about["integrator"] == "implicit" and r.final.time == 3.0 and np.abs(r.v).max() < 1e3


def test_the_compiled_march_and_single_steps_agree():
    """The same steps are rough, and the same state is the last good one."""
    model, how = FAMILIES["constant torque"]()
    how |= dict(duration=3.0, integrator="rk4")
    errors = []
    for forces in ((), (zero,)):
        with pytest.raises(supple.SimulationError) as caught:
            supple.simulate(model, bent(model), forces=forces, **how)
        errors.append(caught.value)
    a, b = errors
    assert str(a) == str(b) and a.state.time == b.state.time
    np.testing.assert_allclose(a.state.v, b.state.v, rtol=1e-9)


@pytest.mark.parametrize("every", [1, 7])
def test_a_recording_ends_with_the_last_good_state(tmp_path, every, monkeypatch):
    """Also when every step is a piece of its own: what came after it was held back."""
    model, how = FAMILIES["damper"]()
    how |= dict(integrator="semi-implicit", duration=3.0, every=every, dt=2.5e-3)
    monkeypatch.setattr("supple.simulating.drivers.SECONDS", 0.0)
    for more in ({}, {"forces": [zero]}):
        file = tmp_path / f"{len(more)}.h5"
        with pytest.raises(supple.SimulationError, match="diverged") as caught:
            supple.simulate(model, bent(model), record=file, **how, **more)
        e, r = caught.value, supple.load_run(file)
        assert r.final.time <= e.state.time < r.final.time + every * how["dt"] * 1.5
        assert np.abs(r.v).max() <= np.abs(e.state.v).max() * 3 + 1.0
        assert r.about["stopped"] == str(e)


def test_remedies():
    """An error names what helps: an implicit integrator for stiff joints, shorter steps for anything else."""
    model, how = FAMILIES["damper"]()
    with pytest.raises(supple.SimulationError, match=r"since the damping of joint 'b\d_joint' needs .*: use integrator "
                       r"'implicit', or a smaller dt$"):  # fmt: skip
        supple.simulate(model, bent(model), duration=3.0, integrator="rk4", **how)
    with pytest.raises(supple.SimulationError, match=r"use integrator 'implicit' and method 'aba', or a smaller dt$"):
        supple.simulate(model, bent(model), duration=3.0, method="crba", **how)
    model, how = FAMILIES["function"]()
    with pytest.raises(supple.SimulationError, match=r"'rk4': use a smaller dt, or integrator 'dop853'$"):
        supple.simulate(model, bent(model), duration=3.0, **how)
    with pytest.raises(supple.SimulationError, match="implicit in dampers, springs and limits of joints only"):
        supple.simulate(model, bent(model), duration=3.0, integrator="implicit", **how)


def test_one_step_may_be_too_many():
    """A force so stiff that the first step overflows: nothing is said of speeds, and nothing of a singular matrix."""
    model = arm()
    for force in (supple.Controller(3, 1e200, 0.0, target=1.0), supple.Spring("b3", (0.5, 0, 0), 1e200)):
        for forces in ([force], [force, zero]):
            with pytest.raises(
                supple.SimulationError, match="diverged: the step from time 0 s leads to numbers too"
            ) as e:
                supple.simulate(model, bent(model), duration=0.1, integrator="rk4", forces=forces)
            assert e.value.state.time == 0.0 and len(e.value.result) == 1
    r = supple.simulate(model, bent(model), duration=0.1, forces=[supple.Controller(3, 1e200, 1e199)])
    assert r.about["integrator"] == "implicit"
    assert r.final.q[3] == pytest.approx(0.4 * np.exp(-1.0), rel=1e-3)  # at k / d = 10 per second


def test_a_singular_model_is_no_divergence():
    b = supple.ModelBuilder("nothing")
    b.add_body("a", joint="revolute", axis=(0, 0, 1), mass=1.0)
    b.add_body("b", joint="revolute", parent="a", axis=(0, 0, 1), mass=1.0, com=(0.5, 0, 0))
    for integrator in ("rk4", "implicit"):
        for forces in ((), (zero,)):
            with pytest.raises(supple.SimulationError, match="singular"):
                supple.simulate(b.build(), duration=0.1, integrator=integrator, forces=forces)


# --- what does not diverge ------------------------------------------------------------------------------------------


def test_fast_motions_are_no_divergence():
    """A wheel at 1e6 rad/s; a light body thrown by a pulse of one step; a hard impact; a force that is noise."""
    b = supple.ModelBuilder("wheel")
    b.add_body("wheel", joint="revolute", axis=(0, 0, 1), mass=1.0, inertia=(1e-3,) * 3)
    wheel = b.build()
    assert supple.simulate(wheel, [0.0], [1e6], duration=0.5, tau=[100.0]).final.v[0] == pytest.approx(1e6 + 5e4)
    pulse = supple.simulate(wheel, duration=0.1, tau=lambda t, q, v: np.array([1e5 * (0.05 <= t < 0.051)]))
    assert pulse.final.v[0] > 1e4
    b = supple.ModelBuilder("puck", gravity=(0, 0, 0))
    b.add_body("puck", joint="prismatic", axis=(1, 0, 0), mass=1.0, lower=-1.0, upper=1.0)
    hit = supple.simulate(b.build(), [0.0], [30.0], duration=1.0, integrator="rk4", forces=[supple.Limits(1e6)])
    assert np.abs(hit.v).max() < 31.0
    rng = np.random.default_rng(0)
    noise = supple.simulate(arm(), duration=0.5, tau=lambda t, q, v: rng.normal(size=4))
    assert noise.final.time == 0.5


def test_a_top_that_turns_half_a_radian_in_a_step():
    b = supple.ModelBuilder("top")
    b.add_body("top", joint="ball", mass=1.0, com=(0, 0, 0.1), inertia=(0.01, 0.01, 0.005))
    top = b.build()
    for integrator in ("rk4", "implicit"):
        q, v = top.integrate(top.neutral(), [0.3, 0, 0]), np.array([0.0, 0.0, 500.0])
        assert supple.simulate(top, q, v, duration=1.0, dt=1e-3, integrator=integrator).final.time == 1.0


# --- adaptive dynamics ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("tau", [None, np.full(4, 0.5)])
def test_adaptive_dynamics_calls_it_divergence_too(check, tau):
    """Its steps are explicit; with the guard of energies off, its own singular bodies are no excuse."""
    model = arm(damping=5.0)
    how = dict(method="adaptive", active=4, dt=1e-2, duration=3.0, tau=tau, check_energy=check)
    with pytest.raises(supple.SimulationError, match="the run diverged") as caught:
        supple.simulate(model, bent(model), **how)
    e = caught.value
    plausible(model, e.state, 1e-2)
    assert e.result.final.time == pytest.approx(e.state.time, abs=1e-9)
    np.testing.assert_array_equal(e.result.final.q, e.state.q)


def test_talos_with_hands_by_explicit_steps():
    """The case that was once reported as a singular mass matrix, with speeds of 1e21; without dry friction, which would
    make those steps implicit."""
    file = robots.find("talos_data/robots/talos_full_v2.urdf")
    if file is None:
        pytest.skip("example-robot-data is not installed")
    talos = supple.load(file, loops=False)
    rubs = supple.simulate(talos, duration=0.2, integrator="rk4")
    np.testing.assert_allclose(rubs.q, supple.simulate(talos, duration=0.2, integrator="implicit").q, atol=2e-2)
    talos = dataclasses.replace(talos, friction=np.zeros(talos.nv))
    for tau in (None, np.full(talos.nv, 0.1)):
        for integrator in ("rk4", "semi-implicit"):
            with pytest.raises(supple.SimulationError, match=r"diverged.*use integrator 'implicit'") as caught:
                supple.simulate(talos, duration=1.0, tau=tau, integrator=integrator)
            plausible(talos, caught.value.state, 1e-3)


def test_rounding_of_a_single_body_at_rest_is_no_divergence():
    """Its origin is its centre of mass, so that distances between bodies say nothing of its size."""
    b = supple.ModelBuilder("block")
    b.add_body("block", joint="free", mass=2.0, inertia=(0.02, 0.03, 0.04))
    model = b.build()
    guard = EnergyGuard(Dynamics(model, "aba"), model.neutral(), 0.0, 0.0)
    assert guard.check(np.full(4, 5e-18), np.full(4, 3e-14)) is None
    assert guard.check(np.array([1.0]), np.array([1.0])) == 0


def test_moments_that_a_file_has_wrong_make_no_warnings(tmp_path):
    """Of a body by itself, from which its size follows: those of a finger of iCub are negative."""
    (tmp_path / "finger.urdf").write_text(
        '<robot name="finger"><link name="base"/><link name="tip"><inertial><mass value="0.1"/>'
        '<inertia ixx="-1e-6" iyy="-1e-6" izz="-1e-6" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="j" type="prismatic"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/>'
        '<limit lower="-9" upper="9" effort="1" velocity="1"/></joint></robot>'
    )
    run = supple.simulate(supple.load(tmp_path / "finger.urdf"), duration=0.1)  # warnings are errors here
    assert run.q[-1, 0] == pytest.approx(-0.5 * 9.81 * 0.01)
