"""The implicit integrator: closed forms, order, stability at any step, limits, friction, motors; stiff robots; and when
it is chosen."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scipy.linalg import expm

import supple
from supple import robots
from supple.simulating.dynamics import Dynamics
from supple.simulating.stiffness import STABLE, stiffest

TALOS_WITH_HANDS = "talos_data/robots/talos_full_v2.urdf"


def sliders(*masses: float, **how: object) -> supple.Model:
    """Bodies on a line, each sliding on the one before."""
    b = supple.ModelBuilder("sliders", gravity=(0, 0, 0))
    for i, mass in enumerate(masses):
        b.add_body(f"b{i}", joint="prismatic", axis=(1, 0, 0), mass=mass, parent=f"b{i - 1}" if i else None, **how)
    return b.build()


def robot(file: str, loops: bool = True) -> supple.Model:
    found = robots.find(file)
    if found is None:
        pytest.skip("example-robot-data is not installed")
    return supple.load(found, loops=loops)


def held(model: supple.Model, stiffness: float = 400.0, damping: float = 40.0) -> list[supple.Controller]:
    """A controller at every joint, for zero."""
    return [supple.Controller(joint, stiffness, damping) for joint in model.joints]


def implicit(model: supple.Model, *start: object, **how: object) -> supple.Result:
    return supple.simulate(model, *start, integrator="implicit", **how)


# --- linear forces --------------------------------------------------------------------------------------------------


def test_the_stability_function_is_bounded_by_one():
    """|R| <= 1 on the imaginary axis, and R has no pole to its left: A-stable; R(infinity) = 0: L-stable."""
    z = 1j * np.logspace(-4, 8, 100_000)
    R = 2 / (1 - z / 2) ** 2 - 1 / (1 - z)
    assert np.abs(R).max() <= 1.0 + 4e-16 and abs(R[-1]) < 1e-7


@pytest.mark.parametrize("k, d", [(1e2, 0.0), (1e6, 1e1), (1e4, 1e6), (0.0, 1e8)])
@pytest.mark.parametrize("h", [1e-3, 1e-1, 1e3])
def test_a_step_of_a_linear_spring_is_the_stability_function(k, d, h):
    """y' = A y: each step multiplies by R(h A), for h |A| up to 1e11."""
    A = np.array([[0.0, 1.0], [-k, -d]])
    one, eye = np.linalg.inv(np.eye(2) - h * A), np.eye(2)
    half = np.linalg.inv(eye - 0.5 * h * A)
    R = 2 * half @ half - one
    y = np.array([1.0, 0.5])
    r = implicit(sliders(1.0), y[:1], y[1:], dt=h, duration=3 * h, forces=[supple.Controller(0, k, d)])
    for q, v in zip(r.q[1:], r.v[1:]):
        y = R @ y
        np.testing.assert_allclose([q[0], v[0]], y, rtol=1e-9, atol=1e-12)


def test_order_two_for_a_damped_oscillator():
    """Against the exponential of its matrix."""
    A = np.array([[0.0, 1.0], [-50.0, -3.0]])
    exact = expm(A) @ [0.4, 0.0]
    off = []
    for h in (1e-3, 5e-4, 2.5e-4):
        r = implicit(sliders(1.0), [0.4], dt=h, duration=1.0, forces=[supple.Controller(0, 50.0, 3.0)]).final
        off.append(np.abs([r.q[0] - exact[0], r.v[0] - exact[1]]).max())
    np.testing.assert_allclose(np.log2(np.array(off[:-1]) / off[1:]), 2.0, atol=0.1)


@pytest.mark.parametrize("tau", [None, lambda t, q, v: np.zeros(len(v))], ids=["compiled", "in Python"])
@pytest.mark.parametrize("joint", ["ball", "free", "planar", "universal"])
def test_order_two_on_the_manifold(joint, tau):
    """Joints with quaternions, damped, under gravity: against integrator dop853."""
    b = supple.ModelBuilder("body")
    axes = dict(axis=(1, 0, 0), axis2=(0, 1, 0)) if joint == "universal" else {}
    b.add_body("top", joint=joint, **axes, mass=1.0, com=(0.1, 0.05, 0.2), inertia=(0.02, 0.03, 0.01), damping=0.05)
    b.add_body("arm", joint="revolute", parent="top", axis=(1, 0, 0), position=(0, 0, 0.3), mass=0.5, com=(0, 0.2, 0),
               inertia=(0.01, 0.01, 0.02), damping=0.2)  # fmt: skip
    model = b.build()
    rng = np.random.default_rng(3)
    q, v = model.random(rng), rng.standard_normal(model.nv)
    forces = [supple.Controller("arm_joint", 3.0, 0.1, target=0.2)]
    how = dict(duration=0.4, forces=forces, tau=tau, check_energy=False)
    exact = supple.simulate(model, q, v, dt=0.1, integrator="dop853", rtol=1e-12, atol=1e-12, **how).final
    off = []
    for h in (2e-3, 1e-3):
        r = implicit(model, q, v, dt=h, **how).final
        off.append(max(np.abs(model.difference(exact.q, r.q)).max(), np.abs(r.v - exact.v).max()))
    assert 3.4 < off[0] / off[1] < 4.6


def test_springs_and_dampers_never_supply_energy():
    """Random masses, springs and dampers over twelve decades, at any step: no step adds energy, up to rounding."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(1, 6))
        model = sliders(*10.0 ** rng.uniform(-4, 3, n))
        forces = [
            supple.Controller(i, *(10.0 ** rng.uniform(-2, 8, 2) * (rng.random(2) < 0.7)), target=rng.normal())
            for i in range(n)
        ]
        h = 10.0 ** rng.uniform(-5, 3)
        r = implicit(model, rng.normal(size=n), rng.normal(size=n), dt=h, duration=40 * h, forces=forces)
        assert np.diff(r.energy).max() <= 1e-13 * r.energy[0]


def test_a_swing_by_other_forces_loses_little():
    """A pendulum without damping: (h w)^4 / 16 of its amplitude in a step, and no gain."""
    b = supple.ModelBuilder("pendulum")
    b.add_body("bob", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -1.0))
    h, w = 0.05, np.sqrt(9.81)
    r = implicit(b.build(), [0.01], dt=h, duration=2000 * h)
    bottom = -9.81  # J, at rest
    left = (r.energy[-1] - bottom) / (r.energy[0] - bottom)
    assert left == pytest.approx((1 - (h * w) ** 4 / 16) ** (2 * 2000), rel=0.05)


# --- forces that are not linear -------------------------------------------------------------------------------------


@pytest.mark.parametrize("stiffness", [1e3, 1e6, 1e10])
@pytest.mark.parametrize("damping", [0.0, 1e-4, 1e-2])
@pytest.mark.parametrize("h", [1e-3, 1e-2, 1e-1])
def test_limits_that_are_hit_hard(stiffness, damping, h):
    """Nothing comes back faster than it went, no step adds energy, and nothing goes deep."""
    b = supple.ModelBuilder("between walls", gravity=(0, 0, 0))
    b.add_body("b", joint="prismatic", axis=(1, 0, 0), mass=1.0, lower=-1.0, upper=1.0)
    for speed in (3.0, 7.3, 50.0):
        limits = supple.Limits(stiffness, damping * stiffness)
        r = implicit(b.build(), [0.1], [speed], dt=h, duration=100 * h, forces=[limits])
        assert r.energy.max() <= r.energy[0] * (1 + 1e-9)
        deepest = speed / np.sqrt(stiffness)  # all of its energy in the wall
        assert np.abs(r.q).max() <= 1.0 + 1.001 * deepest


@pytest.mark.parametrize("mass", [1.0, 1e-6])
@pytest.mark.parametrize("h", [1e-4, 1e-3, 1e-2, 1e-1])
def test_friction_brings_to_rest(mass, h):
    """Also with steps in which it could stop the body thousands of times."""
    r = implicit(sliders(mass, friction=1.0), [0.0], [2.0], dt=h, duration=3.0)
    way = max(0.5 * mass * 2.0**2, 1e-3 * 2.0)  # at F; a light body is stopped within the slip speed's millisecond
    assert r.final.q[0] == pytest.approx(way, rel=0.01)
    assert abs(r.final.v[0]) < 1e-12 and np.diff(r.kinetic).max() <= 1e-15


@pytest.mark.parametrize("mass", [1.0, 1e-4])
@pytest.mark.parametrize("h", [1e-3, 1e-2, 1e-1])
def test_a_motor_at_its_limit_arrives_without_chatter(mass, h):
    forces = [supple.Controller(0, 400.0, 40.0, most=1.0)]
    r = implicit(sliders(mass), [1.0], dt=h, duration=20.0, forces=forces)
    late = r.times > 15.0
    assert np.abs(r.q[late]).max() < 1e-12 and np.abs(r.v[late]).max() < 1e-12
    if mass == 1.0:
        exact = supple.simulate(sliders(mass), [1.0], dt=1e-3, duration=20.0, integrator="rk4", forces=forces)
        np.testing.assert_allclose(r.q, exact.q[:: round(h / 1e-3)], atol=5 * h)
    else:  # light enough to be where the controller wants it: q' = -10 q
        assert r.q.min() > -1e-6


# --- with everything else -------------------------------------------------------------------------------------------


def test_events_pushes_and_functions_with_it():
    """A damped pendulum on a spring to a point, under a function of time: the event's instant as by dop853."""
    b = supple.ModelBuilder("pendulum")
    b.add_body("bob", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -1.0), damping=0.5)
    model = b.build()
    forces = [
        supple.Spring("bob", (1.0, 0, -1.0), 5.0, point=(0, 0, -1.0)), supple.Push("bob", (0.3, 0, 0), (0, 0, -0.5)),
        lambda t, q, v: np.array([0.2 * np.sin(5 * t)]),
    ]  # fmt: skip
    event = supple.Event("down", lambda s: s.q[0])
    how = dict(duration=1.0, forces=forces, events=[event])
    exact = supple.simulate(model, [1.0], dt=0.05, integrator="dop853", rtol=1e-11, atol=1e-11, **how)
    off = []
    for h in (2e-3, 1e-3):
        r = implicit(model, [1.0], dt=h, **how)
        assert len(r.events) == len(exact.events) >= 1
        off.append(abs(r.events[0].time - exact.events[0].time))
    assert off[1] < 1e-4 and 3.0 < off[0] / off[1] < 5.0


def test_a_run_is_resumed_bit_identically(tmp_path):
    model = supple.trees.humanoid()
    forces = [supple.Limits(1e5, 1e3)]
    q = model.random(np.random.default_rng(2))
    how = dict(dt=1e-3, forces=forces, integrator="implicit", every=3)
    whole = supple.simulate(model, q, duration=0.1, **how)
    file = tmp_path / "run.h5"
    supple.simulate(model, q, duration=0.048, record=file, **how)
    parts = supple.simulate(model, q, duration=0.1, record=file, resume=True, **how)
    np.testing.assert_array_equal(parts.q, whole.q)
    np.testing.assert_array_equal(parts.v, whole.v)


def test_other_methods_refuse_it():
    model = supple.trees.chain(2)
    with pytest.raises(supple.StateError, match=r"'implicit' steps by the articulated-body algorithm, not by .*'crba'"):
        implicit(model, duration=0.1, method="crba")
    with pytest.raises(supple.StateError, match="steps in its own way"):
        implicit(model, duration=0.1, method="adaptive")


# --- robots ---------------------------------------------------------------------------------------------------------


def test_panda_holds_and_moves_by_stiff_controllers():
    """PD 400/40, at 1 ms with the defaults, at 1 ms and 10 ms by name; against Runge-Kutta 4 with tiny steps."""
    panda = robot(robots.PANDA, loops=False)
    hold = supple.simulate(panda, duration=1.0, dt=1e-3, forces=held(panda))
    assert hold.about["integrator"] == "implicit"
    assert np.diff(hold.energy).max() < 1e-9 and np.abs(hold.final.v).max() < 1e-2
    aims = [0.5, -0.4, 0.6, -1.5, 0.3, 1.2, 0.7, 0.02, 0.02]
    forces = [supple.Controller(joint, 400.0, 40.0, target=aim) for joint, aim in zip(panda.joints, aims)]
    exact = supple.simulate(panda, duration=0.5, dt=2e-5, integrator="rk4", forces=forces, every=25_000).final
    for h, allowed in ((1e-3, 1e-5), (1e-2, 5e-4)):
        r = supple.simulate(panda, duration=0.5, dt=h, forces=forces)
        assert r.about["integrator"] == "implicit" and np.abs(r.final.q - exact.q).max() < allowed
    with pytest.raises(supple.SimulationError, match=r"diverged.*use integrator 'implicit'"):
        supple.simulate(panda, duration=1.0, dt=1e-3, integrator="rk4", forces=held(panda))


def test_talos_with_its_hands_runs_with_the_defaults():
    """Falling limp for 3 s at 1 ms: energy only falls, and the first half second agrees with steps of 0.02 ms. Six
    joints of each hand follow a seventh, at every instant."""
    talos = robot(TALOS_WITH_HANDS)
    assert talos.n_joints == 44 and len(talos.relation_list) == 12
    r = supple.simulate(talos, duration=3.0)
    assert r.about["integrator"] == "implicit" and r.about["dt"] == 1e-3
    assert np.isfinite(r.v).all() and np.diff(r.energy).max() < 1e-6 * np.ptp(r.energy)
    exact = supple.simulate(talos, duration=0.5, dt=2e-5, integrator="rk4", every=25_000).final
    here = r[500]
    assert np.abs(here.q - exact.q).max() < 2e-3 and np.abs(here.v - exact.v).max() < 2e-2
    for x in talos.relation_list:
        sums = sum(factor * r.q[:, talos.joints[j].q.start] for j, factor in zip(x.joints, x.factors))
        assert np.abs(sums).max() < 1e-10


def test_talos_within_limits_like_walls():
    """Half of its joints start beyond them; stopping one throws others into theirs. No step adds energy."""
    talos = robot(TALOS_WITH_HANDS, loops=False)
    r = supple.simulate(talos, duration=2.0, forces=[supple.Limits(1e6, 1e3)])
    assert r.about["integrator"] == "implicit" and np.diff(r.energy).max() < 1e-5 * np.ptp(r.energy)
    stopped = np.abs(talos.lower) < 1e9
    assert (r.final.q[stopped] > talos.lower[stopped] - 1e-3).all()


def test_an_arm_falls_as_in_mujoco():
    """MuJoCo's integrator implicitfast, for a damped arm whose links become as light as fingers, at the same step."""
    mujoco = pytest.importorskip("mujoco")
    b = supple.ModelBuilder("arm")
    xml = ["<mujoco><option timestep='0.001' integrator='implicitfast'/><worldbody>"]
    for i in range(4):
        size = 0.3 / 3**i
        mass, inertia = 0.5 * size**3 / 0.027, 0.5 * size**5 / 0.027
        b.add_body(f"b{i}", joint="revolute", parent=f"b{i - 1}" if i else None, axis=(0, 1, 0), damping=0.5,
                   position=(0, 0, -size * 3) if i else (0, 0, 0), mass=mass, com=(0, 0, -size / 2),
                   inertia=(inertia,) * 3)  # fmt: skip
        place = f"0 0 {-size * 3 if i else 0}"
        xml.append(
            f"<body pos='{place}'><joint axis='0 1 0' damping='0.5'/><inertial pos='0 0 {-size / 2}' mass='{mass}' "
            f"diaginertia='{inertia} {inertia} {inertia}'/>"
        )
    theirs = mujoco.MjModel.from_xml_string("".join(xml) + "</body>" * 4 + "</worldbody></mujoco>")
    data, model = mujoco.MjData(theirs), b.build()
    q = np.array([1.0, 0.5, -0.3, 0.2])
    data.qpos[:] = q
    for _ in range(1000):
        mujoco.mj_step(theirs, data)
    r = supple.simulate(model, q, duration=1.0)
    assert r.about["integrator"] == "implicit"
    assert np.abs(r.final.q - q).max() > 0.1
    np.testing.assert_allclose(r.final.q, data.qpos, atol=5e-3 * np.abs(r.final.q - q).max())


# --- when it is chosen ----------------------------------------------------------------------------------------------


def test_stiffness_is_the_largest_rate():
    """Against dense eigenvalues, for dampers and springs apart."""
    rng = np.random.default_rng(5)
    for seed in range(8):
        model = supple.trees.random_tree(12, seed=seed)
        q = model.random(rng)
        plain = [j for j in model.joints if model.joints[j].type in ("revolute", "prismatic", "screw")]
        if not plain:
            continue
        for k, d in ((0.0, 1.0), (1.0, 0.0)):
            gains = 10.0 ** rng.uniform(0, 2, len(plain))
            forces = [supple.Controller(j, k * g, d * g) for j, g in zip(plain, gains)]
            law = Dynamics(model, "aba", forces).forces.law
            found = stiffest(model.with_changes(damping=0.0) if model.damping.any() else model, law, q)
            x = np.zeros(model.nv)
            for j, g in zip(plain, gains):
                x[model.joints[j].v] = g
            H = supple.mass_matrix(model, q)
            largest = np.linalg.eigvals(np.linalg.solve(H, np.diag(x))).real.max()
            assert found is not None
            assert found.rate == pytest.approx(largest if d else np.sqrt(largest), rel=0.1)
            assert found.cause == ("damping" if d else "stiffness") and found.joint in plain


def test_it_is_chosen_where_runge_kutta_would_be_unstable(caplog):
    model = sliders(2.0, damping=40.0)  # 20 per second
    longest = STABLE / 20.0
    caplog.set_level(logging.INFO, logger="supple")
    quiet = supple.Simulation(model, dt=0.99 * longest)
    assert (quiet.integrator, quiet.why_implicit) == ("rk4", None) and not caplog.records
    stiff = supple.Simulation(model, dt=1.01 * longest)
    assert stiff.integrator == stiff.settings["integrator"] == "implicit"
    assert "the damping of joint 'b0_joint' needs steps below 0.12 s" in str(stiff.why_implicit)
    assert str(stiff.why_implicit) in caplog.text
    assert supple.Simulation(model, dt=1.0, integrator="rk4").integrator == "rk4"
    assert supple.Simulation(model, dt=1.0, method="crba").integrator == "rk4"
    limited = supple.Simulation(sliders(1.0, lower=-1.0, upper=1.0), dt=1e-3, forces=[supple.Limits(1e8)])
    assert limited.integrator == "implicit" and "the stiffness of joint" in str(limited.why_implicit)
