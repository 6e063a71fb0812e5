"""Runs: integrators against closed forms and their orders, forces, what is refused, what is conserved."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

import supple
from drawn import systems
from pictures import lacking
from recorded import bouncing
from supple.integrating.chart import chart

ORDER = {"euler": 1, "semi-implicit": 1, "implicit": 2, "rk4": 4}
G, L = 9.81, 0.7


def pendulum(damping: float = 0.0) -> supple.Model:
    """A point mass of 2 kg on a rod of L."""
    b = supple.ModelBuilder("pendulum")
    b.add_body("bob", joint="revolute", joint_name="pivot", axis=(0, 1, 0), mass=2.0, com=(0, 0, -L), damping=damping)
    return b.build()


def swing(t: float, q0: float) -> tuple[float, float]:
    """Angle and rate of a pendulum let go at rest: Jacobi's elliptic functions."""
    k, w = np.sin(q0 / 2), np.sqrt(G / L)
    K = ellipk(k * k)
    sn, cn, dn, _ = ellipj(K - w * t, k * k)
    return 2 * np.arcsin(k * sn), -2 * k * w * cn * dn / np.sqrt(1 - (k * sn) ** 2)


@given(systems())
@settings(max_examples=40, deadline=None)
def test_chart_is_the_manifold(drawn):
    """`move` is model.integrate; the chart's rate is the derivative of its points: central differences."""
    model, q, v, x, _ = drawn
    moves = chart(model)
    for h in (1e-3, 0.7):
        np.testing.assert_allclose(moves.move(q, v, h), model.integrate(q, v, h), rtol=0, atol=1e-14 * (1 + h * 10))
    x = 0.3 * x
    at = moves.point(q, x)
    rate, e = moves.rate(x, at, v), 1e-6
    numeric = model.difference(moves.point(q, x - e * rate), moves.point(q, x + e * rate)) / (2 * e)
    np.testing.assert_allclose(numeric, v, rtol=0, atol=1e-8 * (1 + np.abs(v).max()))


@pytest.mark.parametrize("integrator", ORDER)
@pytest.mark.parametrize("tau", [None, lambda t, q, v: np.zeros(1)], ids=["compiled", "in Python"])
def test_order_of_fixed_steps(integrator, tau):
    """The error at a given time falls with the power of dt that the integrator promises."""
    exact = np.array(swing(1.0, 1.2))
    errors = []
    for n in (100, 200):
        r = supple.simulate(pendulum(), [1.2], duration=1.0, dt=1 / n, integrator=integrator, tau=tau)
        errors.append(np.abs(np.array([r.final.q[0], r.final.v[0]]) - exact).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDER[integrator], abs=0.15)


@pytest.mark.parametrize("joint", ["ball", "free", "planar"])
@pytest.mark.parametrize("tau", [False, True], ids=["compiled", "in Python"])
def test_rk4_is_of_order_four_on_the_manifold(joint, tau):
    """On joints whose coordinates do not add, against much shorter steps, and against the adaptive method."""
    rng = np.random.default_rng(3)
    model = supple.trees.random_tree(3, seed=1, joint=joint)
    q, v = model.random(rng), 2 * rng.standard_normal(model.nv)
    force = (lambda t, q, v: np.zeros(model.nv)) if tau else None

    def end(n: int, integrator: str = "rk4") -> np.ndarray:
        how = {"rtol": 1e-13, "atol": 1e-13} if integrator == "dop853" else {}
        return supple.simulate(model, q, v, duration=0.2, dt=0.2 / n, integrator=integrator, tau=force, **how).final.q

    true = end(2000) if not tau else end(1, "dop853")
    errors = [np.abs(model.difference(true, end(n))).max() for n in (20, 40)]
    assert np.log2(errors[0] / errors[1]) > 3.7


def test_adaptive_meets_the_closed_form_and_scipy():
    """A pendulum between samples, which the interpolant gives; and a tree with quaternions against SciPy on them."""
    r = supple.simulate(pendulum(), [2.5], duration=4.0, dt=0.013, integrator="dop853", rtol=1e-12, atol=1e-12)
    exact = np.array([swing(t, 2.5) for t in r.times])
    np.testing.assert_allclose(r.q[:, 0], exact[:, 0], atol=2e-10)
    np.testing.assert_allclose(r.v[:, 0], exact[:, 1], atol=2e-9)

    rng = np.random.default_rng(0)
    model = supple.trees.random_tree(4, seed=2, joint="ball")
    q, v = model.random(rng), rng.standard_normal(model.nv)

    def slope(t: float, y: np.ndarray) -> np.ndarray:
        x, u = model.normalize(y[: model.nq]), y[model.nq :]
        p, w = y[: model.nq].reshape(-1, 4), u.reshape(-1, 3)
        turned = np.concatenate([p[:, 3:] * w + np.cross(p[:, :3], w), -np.sum(p[:, :3] * w, axis=1)[:, None]], axis=1)
        return np.concatenate([0.5 * turned.ravel(), supple.forward_dynamics(model, x, u)])

    theirs = solve_ivp(slope, (0, 1), np.concatenate([q, v]), method="DOP853", rtol=1e-12, atol=1e-12)
    ours = supple.simulate(model, q, v, duration=1.0, dt=0.1, integrator="dop853", rtol=1e-12, atol=1e-12).final
    end = model.normalize(theirs.y[: model.nq, -1])
    assert np.abs(model.difference(end, ours.q)).max() < 1e-8
    assert np.abs(theirs.y[model.nq :, -1] - ours.v).max() < 1e-7


def test_compiled_steps_are_those_in_python():
    """The march and the steps in Python differ by rounding alone, joint forces and limits included."""
    rng = np.random.default_rng(1)
    model = supple.trees.random_tree(8, seed=4)
    q, v, tau = model.random(rng), rng.standard_normal(model.nv), 0.1 * rng.standard_normal(model.nv)
    plain = next(j for j in model.joints if model.joints[j].type in ("revolute", "prismatic", "screw"))
    forces = [supple.Controller(plain, 5.0, 0.1, target=0.3, most=2.0), supple.Limits(50.0, 1.0)]
    for integrator in ORDER:
        how = dict(duration=0.05, dt=1e-3, integrator=integrator, every=7)
        fast = supple.simulate(model, q, v, forces=forces, tau=tau, **how)
        slow = supple.simulate(model, q, v, forces=[*forces, lambda t, q, v: tau], **how)
        np.testing.assert_array_equal(fast.times, slow.times)
        np.testing.assert_allclose(fast.q, slow.q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(fast.v, slow.v, rtol=0, atol=1e-10)
    assert fast.times[-1] == 0.05 and len(fast) == 1 + 7 + 1  # the last step is kept though it is not a seventh


@given(systems(largest=8))
@settings(max_examples=25, deadline=None)
def test_any_body_marches_as_it_steps(drawn):
    """Random trees of all joints, compiled and in Python, by every fixed step: the same up to rounding."""
    model, q, v, _, _ = drawn
    for integrator in ORDER:
        how = dict(duration=0.01, dt=1e-3, integrator=integrator, check_energy=False)
        fast = supple.simulate(model, q, 0.3 * v, **how)
        slow = supple.simulate(model, q, 0.3 * v, tau=lambda t, q, v: np.zeros(model.nv), **how)
        scale = 1.0 + np.abs(slow.v).max()
        assert np.abs(model.difference(fast.final.q, slow.final.q)).max() < 1e-11 * scale**2
        assert np.abs(fast.final.v - slow.final.v).max() < 1e-9 * scale**2


@pytest.mark.parametrize("method", ["aba", "crba", "virtual-work", "dca"])
def test_energy_and_momentum_are_conserved(method):
    """A floating tree with springs to the world keeps its energy; without them and gravity its momentum, too."""
    model = supple.trees.humanoid(gravity=(0, 0, 0))
    rng = np.random.default_rng(0)
    q, v = model.random(rng), 0.3 * rng.standard_normal(model.nv)
    r = supple.simulate(model, q, v, duration=0.1, dt=1e-3, method=method, every=20)
    p = np.array([supple.momentum(model, s.q, s.v, about="origin") for s in r])
    np.testing.assert_allclose(p, p[:1].repeat(len(p), axis=0), atol=1e-7 * np.abs(p).max())
    springs = [supple.Spring("left_arm6", (1, 0, 0), 200.0, point=(0, 0, 0.1), length=0.3)]
    springs.append(supple.Push("torso", force=(1.0, 2.0, 3.0), point=(0.1, 0, 0)))
    r = supple.simulate(model, q, v, duration=0.1, dt=1e-3, method=method, forces=springs, every=20)
    assert np.ptp(r.energy) < 1e-6 * np.abs(r.kinetic).max()
    assert np.ptp(r.kinetic) > 1e-2 * r.kinetic.max()  # the energy did change form


def test_a_damped_spring_loses_what_the_damper_takes():
    """m z'' = -k (z - z0) - d z': the closed form of an oscillator."""
    b = supple.ModelBuilder("slide", gravity=(0, 0, 0))
    b.add_body("block", joint="prismatic", axis=(1, 0, 0), mass=2.0)
    r = supple.simulate(
        b.build(), [0.5], duration=1.0, integrator="dop853", rtol=1e-11, atol=1e-12, dt=0.1,
        forces=[supple.Spring("block", (0.1, 0, 0), 50.0, damping=1.5)],
    )  # fmt: skip
    decay, w = 1.5 / 4, np.sqrt(50 / 2 - (1.5 / 4) ** 2)
    t = r.times
    exact = 0.1 + 0.4 * np.exp(-decay * t) * (np.cos(w * t) + decay / w * np.sin(w * t))
    np.testing.assert_allclose(r.q[:, 0], exact, atol=1e-9)


def test_the_last_good_state_may_be_of_the_piece_before(monkeypatch):
    monkeypatch.setattr("supple.simulating.drivers.NUMBERS", 1)  # a state each
    with pytest.raises(supple.SimulationError, match="energy grows") as caught:
        supple.simulate(pendulum(), [1.0], duration=60.0, dt=0.05, integrator="euler")
    e = caught.value
    assert e.result.final.time == e.state.time == pytest.approx(e.time - 0.05)


@pytest.mark.parametrize("tau", [None, lambda t, q, v: np.zeros(1)], ids=["compiled", "in Python"])
def test_energy_from_nowhere_is_refused(tau):
    """Explicit Euler with long steps; the joint, the time and the last good state are told, and what was good is kept.
    A force of the user's may do work, so that then nothing is said."""
    how = dict(duration=60.0, dt=0.05, integrator="euler", tau=tau)
    if tau is not None:
        assert supple.simulate(pendulum(), [1.0], **how).final.time == 60.0
        return
    with pytest.raises(supple.SimulationError, match=r"energy grows.*'pivot'") as caught:
        supple.simulate(pendulum(), [1.0], **how)
    e = caught.value
    assert e.joint == "pivot" and e.time > 0 and isinstance(e.state, supple.State)
    assert e.result.final.time == e.state.time < e.time
    assert "integrator 'euler': use a smaller dt, or integrator 'rk4' or 'dop853'" in str(e)
    assert supple.simulate(pendulum(), [1.0], check_energy=False, **how).final.time == 60.0


def test_what_to_do_about_energy_is_not_what_is_done_already():
    """A pendulum that swings over many times in a step undoes Runge-Kutta 4, too."""
    with pytest.raises(supple.SimulationError, match="energy grows") as caught:
        supple.simulate(pendulum(), [1.0], duration=600.0, dt=0.9)
    assert str(caught.value).endswith("too long for integrator 'rk4': use a smaller dt, or integrator 'dop853'")


@pytest.mark.parametrize(("integrator", "advice"), [("rk4", ""), ("euler", ", or integrator 'rk4'")])
def test_a_run_with_contacts_is_not_told_to_take_steps_that_contacts_refuse(integrator, advice):
    b = supple.ModelBuilder("hanging")
    b.add_body("rod", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1), joint_name="pivot")
    b.add_shape("rod", "sphere", [0.1])
    how = dict(duration=600.0, dt=0.9 if integrator == "rk4" else 0.05, integrator=integrator)
    with pytest.raises(supple.SimulationError, match="energy grows") as caught:
        supple.simulate(b.build(), [1.0], contacts=True, **how)
    assert str(caught.value).endswith(f"too long for integrator '{integrator}': use a smaller dt{advice}")


@pytest.mark.parametrize("dt", [1e-2, 1e-6])
def test_energy_of_the_first_steps_is_not_from_nowhere(dt):
    """A body at rest, pushed where there is no gravity: of k explicit steps' kinetic energy 1/k is too much, however
    short they are, and that is no reason to stop."""
    b = supple.ModelBuilder("puck", gravity=(0, 0, 0))
    b.add_body("puck", joint="prismatic", axis=(1, 0, 0), mass=2.0)
    r = supple.simulate(b.build(), duration=20 * dt, dt=dt, integrator="euler", forces=[supple.Push("puck", (3, 0, 0))])
    assert len(r) == 21 and r.energy[1] == pytest.approx(r.kinetic[1])


@pytest.mark.parametrize("stiff", ["compiled", "in Python"])
def test_states_that_are_not_finite_are_refused(stiff):
    """A spring far too stiff for the step."""
    model = supple.trees.chain(3, general=False)
    name = model.joint_names[1]
    forces: list[object] = [supple.Controller(name, 1e9, 0.0, target=1.0)]
    if stiff == "in Python":
        forces.append(lambda t, q, v: np.zeros(3))
    with pytest.raises(supple.SimulationError) as caught:
        supple.simulate(model, duration=20.0, dt=0.01, forces=forces, check_energy=False, integrator="rk4")
    e = caught.value
    assert np.isfinite(e.state.q).all() and np.isfinite(e.state.v).all() and 0 <= e.state.time < 20
    assert len(e.result) >= 1 and np.isfinite(e.result.v).all()


def test_iterating_gives_the_same_states():
    model = supple.trees.chain(4)
    r = supple.simulate(model, duration=0.1, dt=0.01)
    for i, state in enumerate(supple.Simulation(model, dt=0.01)):
        np.testing.assert_array_equal(state.q, r.q[i])
        if i == 10:
            break
    assert state.time == pytest.approx(0.1) and "State of" in repr(state)


def test_quasi_statics_is_a_method_like_others():
    """The same positions as stepping it by hand; active joints and errors are kept."""
    from supple import scenes

    scene = scenes.bicycle_chain(12)
    pull = [
        supple.Push(int(b), force=f, point=p)
        for b, f, p in zip(scene.pushes.bodies, scene.pushes.forces, scene.pushes.points)
    ]
    dt = scene.step_of("quasi-statics")
    how = dict(duration=10 * dt, dt=dt, method="quasi-statics", error=1e-3)
    r = supple.simulate(scene.model, scene.q0, forces=pull, **how)
    qs = scene.quasi_statics(error=1e-3)
    for _ in range(10):
        qs.step(dt)
    np.testing.assert_array_equal(r.final.q, qs.q)
    assert r.error is not None and (r.error <= 1e-3).all()
    assert r.active_counts is not None and (r.active_counts > 0).all()
    assert len(r[3].active_joints) == r.active_counts[3]


def test_adaptive_dynamics_is_a_method_like_others():
    """With all joints active it is exact up to its steps, with some, what AdaptiveDynamics does by hand."""
    model = supple.trees.chain(20, gravity=(0, 0, -9.81))
    q = model.random(0)
    forces = [supple.Push(19, force=(0, 1, 0)), supple.Controller(model.joint_names[3], 2.0, 0.1, target=q[3])]
    how = dict(duration=0.1, dt=1e-3, forces=forces, every=10, check_energy=False)
    exact = supple.simulate(model, q, integrator="rk4", **how)
    full = supple.simulate(model, q, method="adaptive", active=20, **how)
    np.testing.assert_allclose(full.q, exact.q, rtol=0, atol=1e-4)
    some = supple.simulate(model, q, method="adaptive", active=5, update_every=4, **how)
    ad = supple.AdaptiveDynamics(model, q, active=5, update_every=4)
    ad.apply(19, force=(0, 1, 0))
    ad.control(model.joint_names[3], 2.0, 0.1, q[3])
    for _ in range(100):
        ad.step(1e-3)
    np.testing.assert_array_equal(some.final.q, ad.q)
    np.testing.assert_array_equal(some.final.active_joints, ad.active_joints)
    assert some.active_counts is not None and some.active_counts[1:].max() <= 5


def test_joint_wrenches_of_a_run():
    model, tau = supple.trees.chain(3), np.array([0.1, 0.2, 0.3])
    r = supple.simulate(model, duration=0.02, dt=0.01, tau=tau, joint_wrenches=True)
    assert r.joint_wrenches is not None
    for k, s in enumerate(r):
        wanted = supple.joint_wrenches(model, s.q, s.v, tau, frame="child")
        np.testing.assert_allclose(r.joint_wrenches[k], wanted, atol=1e-12)


def test_ctrl_c_keeps_what_was_done():
    model = supple.trees.chain(2)

    def impatient(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if t == 0.51:
            signal.raise_signal(signal.SIGINT)
        return np.zeros(2)

    before = signal.getsignal(signal.SIGINT)  # what runs in the background may ignore it
    r = supple.simulate(model, duration=1.0, dt=0.01, tau=impatient, integrator="euler")
    assert 0.5 < r.final.time <= 0.53 and "stopped at 0.5" in repr(r)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("joint", ["ball", "free", "planar"])
def test_a_body_that_spins_is_followed_through_many_turns(joint):
    """In long steps: nothing limits them but the chart, which ends at a full turn."""
    b = supple.ModelBuilder(gravity=(0, 0, 0))
    b.add_body("top", joint=joint, axis=(0, 0, 1), mass=1.0, inertia=np.eye(3))
    model = b.build()
    v = np.zeros(model.nv)
    v[-3:] = (3.0, -20.0, 31.0) if joint != "planar" else (0.0, 0.0, 31.0)
    r = supple.simulate(model, v=v, duration=2.0, dt=0.5, integrator="dop853")
    for time, q in zip(r.times, r.q):
        assert np.abs(model.difference(q, model.integrate(model.neutral(), v, time))).max() < 1e-12


def test_results_show_themselves(tmp_path):
    model, how = bouncing()
    r = supple.simulate(model, duration=1.0, dt=0.01, **how)
    assert "states, 0 to 1 s, aba, rk4; 1 event" in repr(r)
    r.plot(tmp_path / "ball.png")
    assert not lacking(tmp_path, {"ball.png": ("#1f77b4", "#ff7f0e", "#000000")})  # kinetic, potential and all energy


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"integrator": "rk5"}, "did you mean 'rk4'"),
        ({"method": "abba"}, "did you mean 'aba'"),
        ({"dt": 0}, "dt must be a positive number"),
        ({"dt": "fast"}, "dt must be a positive number"),
        ({"duration": -1}, "duration must be a finite number of seconds >= 0"),
        ({"duration": None}, r"duration must be .* iterate over supple.Simulation.* not None"),
        ({"every": 0}, "every must be a whole number"),
        ({"tau": [1, 2]}, "tau must be 1 finite"),
        ({"q": [1, 2]}, r"q has shape \(2,\)"),
        ({"q": [np.nan]}, "pivot"),
        ({"forces": [3]}, "a force is a Push"),
        ({"forces": [supple.Push("bop", force=(0, 0, 1))]}, "did you mean 'bob'"),
        ({"forces": [lambda t, q, v: np.zeros(3)]}, r"returned shape \(3,\)"),
        ({"events": [3]}, "supple.Event"),
        ({"error": 1e-3}, "error is for methods 'quasi-statics' and 'adaptive', this run uses 'aba': give"),
        ({"methd": "aba"}, "takes no methd .did you mean 'method'"),
        ({"method": "adaptive", "eror": 1e-3}, "takes no eror .did you mean 'error'"),
        ({"method": "quasi-statics", "active": 3}, "active is for method 'adaptive', .* method='adaptive', or leave"),
        ({"method": "quasi-statics", "actve": 3}, "takes no actve; .* error, measure, order"),
        (
            {"method": "quasi-statics", "integrator": "rk4"},
            r"leave the integrator out, or take another method \(aba, .*dense\)",
        ),
        ({"method": "quasi-statics", "v": [1.0]}, "at rest"),
        (
            {"method": "crba", "contacts": True},
            "contacts need method 'aba' or 'adaptive' and .* leave method='crba' out",
        ),
        ({"integrator": "dop853", "contacts": True}, "steps of fixed length: leave integrator='dop853' out"),
        ({"method": "quasi-statics", "forces": [supple.Limits(1.0)]}, "exact methods take all forces"),
    ],
)
def test_what_is_refused(changes, message):
    how = {"duration": 0.1, "dt": 0.01} | changes
    with pytest.raises(supple.SuppleError, match=message):
        supple.simulate(pendulum(), **how)


def test_forces_refuse_what_they_cannot_be():
    for make in (
        lambda: supple.Spring("a", (0, 0, 0), -1.0),
        lambda: supple.Push("a", force=(0, np.nan, 0)),
        lambda: supple.Push("a", frame="moon"),
    ):
        with pytest.raises(supple.StateError):
            make()
    model = supple.trees.chain(2, joint="ball")
    with pytest.raises(supple.StateError, match="coordinates do not add"):
        supple.simulate(model, duration=0.1, forces=[supple.Controller(model.joint_names[0], 1.0)])


@given(st.integers(1, 40), st.integers(1, 7), st.floats(0.3, 1.0))
@settings(max_examples=30, deadline=None)
def test_the_grid_of_samples(steps, every, last):
    """Samples are at multiples of dt, every so many, and at the end."""
    duration = (steps - 1 + last) * 0.01
    r = supple.simulate(pendulum(), [0.3], duration=duration, dt=0.01, every=every)
    expected = [k * 0.01 for k in range(0, steps, every)]
    if expected[-1] < duration - 1e-9:
        expected.append(duration)
    np.testing.assert_allclose(r.times, expected, rtol=1e-12)


@pytest.mark.parametrize("dt", [0.03, 1e9, 1e300])
def test_a_step_longer_than_the_run_is_cut_to_it(dt: float):
    model = supple.trees.chain(2)
    run = supple.simulate(model, duration=0.02, dt=dt, check_energy=False)
    assert run.times.tolist() == [0.0, 0.02]


class Calling:
    """A force that calls something at every look at it."""

    def __init__(self, call):
        self.call = call

    def __call__(self, t, q, v):
        self.call()
        return np.zeros(len(v))


def test_a_run_is_followed_by_one_at_a_time():
    model = supple.trees.chain(2)
    followed = []
    run = supple.Simulation(model, duration=0.1, dt=0.01, forces=[Calling(lambda: next(followed[0]))])
    followed.append(iter(run))
    with pytest.raises(supple.SimulationError, match="followed already"):
        list(followed[0])


def test_a_force_that_raises_stop_iteration_ends_nothing_in_silence():
    model = supple.trees.chain(2)
    with pytest.raises(supple.SimulationError, match="raised StopIteration"):
        supple.simulate(model, duration=0.1, dt=0.01, forces=[Calling(lambda: next(iter(())))])
