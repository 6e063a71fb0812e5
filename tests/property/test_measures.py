"""Errors that are promised and errors that there are: relative and absolute, certified and measured, on any tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import supple
from drawn import SETTINGS, systems
from supple import AdaptiveDynamics, QuasiStatics, trees
from supple.adaptive.measures import MEASURES, of_adaptive_dynamics, of_quasi_statics, said
from supple.model.joints import NV

FEW = settings(SETTINGS, max_examples=20)


def errors(model: supple.Model, exact: np.ndarray, found: np.ndarray) -> dict[str, float]:
    """An error in all measures [QS definition 2]."""
    some = np.array(NV)[model.joint_type] > 0
    of_joints = lambda x: np.sqrt(np.add.reduceat(x * x, model.v_index[some])).max()  # noqa: E731
    out = {}
    for name, size in (("linkage", np.linalg.norm), ("joint", of_joints)):
        out[f"absolute-{name}"] = off = float(size(exact - found))
        out[f"relative-{name}"] = off / float(size(exact)) if off else 0.0
    return out


@FEW
@given(systems(), st.sampled_from(MEASURES), st.floats(1e-6, 0.9))
def test_quasi_statics_certifies_no_less_than_is_measured(system, measure, share):
    model, q, _, tau, *_ = system
    qs = QuasiStatics(model, q, measure=measure)
    for joint in model.joints.values():
        if joint.v.stop > joint.v.start:
            qs.torque(joint.name, tau[joint.v])
    exact = supple.forward_dynamics(model, q, np.zeros(model.nv), tau)
    whole = errors(model, exact, np.zeros(model.nv))[measure.replace("relative", "absolute")]
    qs.error = share * (whole if measure.startswith("absolute") else 1.0)
    found = qs.solve()
    true, scale = errors(model, exact, found.dense())[measure], 1.0 if "relative" in measure else whole
    assert true <= found.error + 1e-9 * scale and found.error <= qs.error
    assert qs.measured_error() == pytest.approx(true, rel=1e-6, abs=1e-9 * scale)


@FEW
@given(systems(), st.floats(1e-3, 0.9), st.booleans())
def test_adaptive_dynamics_certifies_no_less_than_is_measured(system, share, weighted):
    """With guaranteed=True, of a step so short that nothing else is off."""
    model, q, *_ = system
    weights = np.linspace(1.0, 5.0, model.n_bodies) if weighted else None
    ad = AdaptiveDynamics(model, q, error=share, guaranteed=True, weights=weights)
    dt = 1e-7
    before = ad.q.copy(), ad.active_joints.tolist()
    measured = ad.measured_error(dt)
    assert (ad.q == before[0]).all() and ad.active_joints.tolist() == before[1] and ad.time == 0.0
    ad.step(dt)
    assert ad.stats.error <= share
    assert measured <= ad.stats.error * (1 + 1e-4) + 1e-6
    assert ad.stats.error <= measured * (1 + 1e-4) + 1e-6  # and not much more, where rounding is small


def near_balance(n: int, off: float) -> tuple[supple.Model, np.ndarray, np.ndarray, np.ndarray]:
    """A heavy chain that motors hold but for a small share of the torques; and its accelerations, in long double."""
    rng = np.random.default_rng(n)
    model = trees.chain(n, seed=n)
    q = model.random(rng)
    hold = supple.inverse_dynamics(model, q, np.zeros(n), np.zeros(n))
    extra = off * np.abs(hold).max() * rng.standard_normal(n)
    H = supple.mass_matrix(model, q)
    return model, q, hold + extra, np.linalg.solve(H, extra)


@pytest.mark.parametrize("n", [5, 40, 120])
@pytest.mark.parametrize("off", [1e-2, 1e-5, 1e-8, 1e-11, 0.0])
def test_relative_errors_are_certified_near_balance(n: int, off: float):
    """Where forces cancel, little is left to compare with: then the certificate says that it cannot be sure, and never
    less than the error that there is."""
    model, q, tau, exact = near_balance(n, off)
    ad = AdaptiveDynamics(model, q, error=0.05, guaranteed=True)
    qs = QuasiStatics(model, q, error=0.05, measure="relative-linkage")
    for j in range(n):
        ad.torque(j, tau[j])
        qs.torque(j, tau[j])
    dt = 1e-9
    ad.step(dt)
    size = float(np.linalg.norm(exact))
    digits = 1e-16 * np.linalg.norm(np.linalg.solve(supple.mass_matrix(model, q), np.abs(tau) * n))  # of `exact`
    for found, certified in ((ad.v / dt, ad.stats.error), (qs.solve().dense(), qs.solve().error)):
        true = float(np.linalg.norm(found - exact))
        assert true <= certified * (size + digits) * (1 + 1e-3) + 10 * digits
        assert certified <= 0.05 or size < 1e-3 * np.linalg.norm(np.linalg.solve(supple.mass_matrix(model, q), tau))


def test_nothing_left_out_of_nothing_is_no_error():
    ad = AdaptiveDynamics(trees.chain(10, gravity=(0, 0, 0)), error=0.01, guaranteed=True)
    ad.step(1e-3)
    assert ad.stats.error == 0.0 and ad.stats.active_count == 0
    assert ad.measured_error(1e-3) == 0.0 == QuasiStatics(ad.model).measured_error()


def test_relative_errors_do_not_depend_on_units():
    """A body a thousand times as large and as slow, under the same share of its weight: the same joints."""
    rng = np.random.default_rng(1)
    chain = trees.chain(60, seed=3)
    q = chain.random(rng)
    light = AdaptiveDynamics(chain, q, error=0.02, guaranteed=True)
    heavy = AdaptiveDynamics(trees.chain(60, seed=3, gravity=(0, 0, -9.81e6)), q, error=0.02, guaranteed=True)
    light.step(1e-6)
    heavy.step(1e-9)
    assert light.active_joints.tolist() == heavy.active_joints.tolist() and 0 < len(light.active_joints) < 60
    assert light.stats.error == pytest.approx(heavy.stats.error, rel=1e-6)


@pytest.mark.parametrize(
    ("error", "measure", "words"),
    [
        (0.00834, of_quasi_statics("relative-joint"), "0.834% of the largest joint acceleration"),
        (0.00834, of_quasi_statics("relative-linkage"), "0.834% of the acceleration of all joints"),
        (2.32e8, of_quasi_statics("absolute-joint"), "2.32e+08 rad/s^2 (absolute-joint acceleration)"),
        (0.5, of_adaptive_dynamics("relative-linkage", False, ""), "50% of the velocity of all joints"),
        (0.5, of_adaptive_dynamics("absolute-linkage", False, ""), "0.5 rad/s (absolute-linkage velocity)"),
        (0.5, of_adaptive_dynamics("absolute-linkage", True, "camera"),
         "0.5 px/s^2 (on-screen absolute-linkage acceleration)"),
        (0.5, of_adaptive_dynamics("relative-linkage", True, "camera"),
         "50% of the on-screen acceleration of all joints"),
        (0.5, of_adaptive_dynamics("relative-linkage", True, "given"),
         "50% of the weighted acceleration of all joints"),
        (0.5, "", "0.5"),
        (0.5, "somebody's own", "0.5 (somebody's own)"),
    ],
)  # fmt: skip
def test_errors_in_words(error, measure, words):
    assert said(error, measure) == words


def test_a_run_says_its_errors():
    """... in its repr and in its plot; measured, too."""
    model = trees.chain(30)
    q = model.random(np.random.default_rng(0))
    for how, kind in ((dict(method="quasi-statics", error=0.05), "certified error at most "),
                      (dict(method="adaptive", error=0.05, guaranteed=True), "certified error at most "),
                      (dict(method="adaptive", error=0.05), "error at updates at most ")):  # fmt: skip
        run = supple.Simulation(model, q, duration=0.05, dt=1e-3, **how)
        r = supple.simulate(model, q, duration=0.05, dt=1e-3, **how)
        list(run)
        measured = run.measured_error()
        assert f"{kind}{100 * r.error.max():.3g}% of the " in repr(r) and measured is not None and measured >= 0.0
        labels = [t.get_text() for ax in r.plot().axes for t in ax.get_legend().get_texts()]
        assert ("certified error" if "certified" in kind else "error at updates") in labels
        assert [ax.get_ylabel() for ax in r.plot().axes][-1] == "%"
    assert supple.Simulation(model, q, duration=0.05).measured_error() is None
