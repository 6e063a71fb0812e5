"""Divide and conquer and virtual work where a light body carries a heavy one: right, or refused by name.

1e-6 of the largest acceleration is promised, on every model that articulated bodies solve. They are the reference: on
these models they agree with extended precision, which is checked where it knows the joints.
"""

from __future__ import annotations

import numpy as np
import pytest

import supple
from oracle import uneven_model
from supple.exact.digits import keeps_digits
from supple.reproduce import vw_reference as reference

METHODS = ("dca", "virtual-work")
HUBS = ("absorb", "split", "pairs")


def off(found, wanted):
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def arm(light=1e-4, inertia=1e-8, armature=1.0):
    """A dummy link, as URDF files have them, that carries an arm."""
    b = supple.ModelBuilder()
    b.add_body("dummy", None, axis=(0, 0, 1), mass=light, inertia=np.eye(3) * inertia)
    b.add_body("upper", "dummy", axis=(0, 1, 0), position=(0.05, 0, 0), mass=10, com=(0.05, 0, 0), inertia=[0.1] * 3)
    b.add_body("lower", "upper", axis=(0.6, 0, 0.8), position=(1, 0, 0), mass=10, com=(0.5, 0.1, 0), inertia=[1.0] * 3,
               armature=armature)  # fmt: skip
    return b.build()


def crane():
    """A dummy link, 900 kg on it, and 80 kg with a geared motor 50 m away."""
    b = supple.ModelBuilder()
    b.add_body("a", None, axis=(0, 0, 1), mass=1e-4, inertia=[1e-8] * 3)
    b.add_body("b", "a", axis=(0, 1, 0), position=(0.05, 0, 0), mass=900, com=(0.05, 0, 0), inertia=[9.0] * 3)
    b.add_body("c", "b", axis=(0.6, 0, 0.8), position=(50, 0, 0), mass=80, com=(0.5, 0.1, 0), inertia=[8.0] * 3,
               armature=5000)  # fmt: skip
    return b.build()


def two_bodies(light, armature):
    b = supple.ModelBuilder()
    b.add_body("a", None, axis=(0.3, 0.5, 0.8), mass=light, com=(0.01, 0.02, 0.03), inertia=[light * 1e-3] * 3)
    b.add_body("b", "a", "planar", axis=(0.7, -0.5, 0.3), position=(1, 0.3, 0), mass=10, com=(0.3, 0.2, 0.1),
               inertia=[1.0] * 3, armature=armature)  # fmt: skip
    return b.build()


@pytest.mark.parametrize(
    "model",
    [arm(1e-2, 1e-5), arm(1e-3, 1e-7), arm(), crane(), *(two_bodies(m, a) for m in (1e-2, 1e-4) for a in (0.0, 10.0))],
)
def test_a_light_link_that_carries_heavy_ones(model):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        q, v, tau = model.random(rng), rng.standard_normal(model.nv), 10 * rng.standard_normal(model.nv)
        a = supple.forward_dynamics(model, q, v, tau)
        for method in METHODS:
            assert off(supple.forward_dynamics(model, q, v, tau, method=method), a) < 2e-9
        carried = supple.joint_wrenches(model, q, v, frame="world", a=a)
        assert off(supple.joint_wrenches(model, q, v, tau, frame="world"), carried) < 1e-12
        for hubs in HUBS:
            found = supple.virtual_work(model, q, v, tau, hubs=hubs)
            assert off(found.accelerations, a) < 2e-9
            assert off(found.wrenches, carried) < 2e-9


def test_extended_precision_agrees():
    """Not with ABA: accelerations and wrenches by refinement in long double."""
    for model in (arm(), crane()):
        rng = np.random.default_rng(1)
        q, v, tau = model.random(rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)
        exact = reference.forward_dynamics(model, q, v, tau)
        found = supple.virtual_work(model, q, v, tau)
        assert off(found.accelerations, exact.accelerations) < 1e-11
        assert off(found.wrenches, exact.wrenches) < 1e-9
        assert off(supple.forward_dynamics(model, q, v, tau, method="dca"), exact.accelerations) < 1e-11


def states(models, seed):
    for i in range(models):
        rng = np.random.default_rng([seed, i])
        yield rng, int(rng.integers(1, 13))


def drawn_state(model, rng):
    v, tau = rng.standard_normal((2, model.nv)) * 10 ** rng.uniform(-1, 2, (2, 1))
    wrenches = rng.standard_normal((model.n_bodies, 6)) * 100 if rng.random() < 0.3 else None
    return model.random(rng), v, tau, wrenches


def test_masses_ten_thousandfold_apart_and_armatures_are_ordinary():
    """Never refused, and nine digits: those of ABA, which loses one or two more here and there."""
    for rng, n in states(60, 1):
        model = uneven_model(rng, n, (1e-4, 1.0), (1e-2, 2.0), armature=5000.0)
        state = drawn_state(model, rng)
        a = supple.forward_dynamics(model, *state)
        for method in METHODS:
            assert off(supple.forward_dynamics(model, *state, method=method), a) < 1e-7


def test_whatever_the_masses_it_is_right_or_refused_by_name():
    """Twelve decades of mass, four of length."""
    refused = 0
    for rng, n in states(80, 2):
        model = uneven_model(rng, n, (1e-8, 1e4), (1e-3, 50.0), armature=5000.0)
        state = drawn_state(model, rng)
        a = supple.forward_dynamics(model, *state)
        for method in METHODS:
            try:
                assert off(supple.forward_dynamics(model, *state, method=method), a) < 1e-6
            except supple.SingularError as e:
                refused += 1
                assert "cannot close joint 'body" in str(e) and "method='aba'" in str(e)
    assert refused <= 8  # of 160


def test_long_chains_of_light_and_heavy_links():
    for n in (64, 300):
        rng = np.random.default_rng(n)
        model = uneven_model(rng, n, (1e-4, 1.0), (0.1, 2.0), chain=1.0)
        state = drawn_state(model, rng)
        a = supple.forward_dynamics(model, *state)
        for method in METHODS:
            assert off(supple.forward_dynamics(model, *state, method=method), a) < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_batches_equal_loops(method):
    model = crane()
    rng = np.random.default_rng(0)
    q = np.array([model.random(rng) for _ in range(9)])
    v, tau = rng.standard_normal((2, 9, model.nv))
    wrenches = rng.standard_normal((model.n_bodies, 6))
    many = supple.forward_dynamics(model, q, v, tau, wrenches, method)
    for i in range(9):
        assert off(many[i], supple.forward_dynamics(model, q[i], v[i], tau[i], wrenches, method)) < 1e-9
    assert supple.forward_dynamics(model, q[:0], v[0], method=method).shape == (0, model.nv)
    found = supple.virtual_work(model, q, v, tau, wrenches)
    carried = supple.joint_wrenches(model, q, v, tau, wrenches, "world", method="aba")
    assert off(found.wrenches, carried) < 2e-9


@pytest.mark.parametrize("method", METHODS)
def test_a_robot_that_stands_is_not_refused(method):
    """Held against its weight it accelerates by what rounding leaves; so it does by any method."""
    model = arm()
    q = model.random(np.random.default_rng(3))
    held = supple.bias_force(model, q)
    falling = np.abs(supple.forward_dynamics(model, q, np.zeros(3))).max()
    assert np.abs(supple.forward_dynamics(model, q, np.zeros(3), held, method=method)).max() < 1e-9 * falling


@pytest.mark.parametrize("method", METHODS)
def test_what_nobody_can_solve_is_refused_with_its_masses(method):
    """A mass of 1e-30 kg that carries 1 kg: 32 digits are not enough."""
    b = supple.ModelBuilder()
    b.add_body("mote", None, "ball", mass=1e-30, inertia=[1e-34] * 3)
    b.add_body("rod", "mote", axis=(0, 1, 0), position=(0.1, 0, 0), mass=1.0, com=(0.5, 0, 0), inertia=[0.1] * 3)
    b.add_body("tip", "rod", axis=(0, 0, 1), position=(1, 0, 0), mass=1.0, com=(0.5, 0.1, 0), inertia=[0.1] * 3)
    model = b.build()
    q, v = model.neutral(), np.ones(model.nv)
    with pytest.raises(supple.SingularError, match=r"joint 'rod_joint'.*'mote' .1e-30 kg.*carries body 'rod'"):
        supple.forward_dynamics(model, q, v, method=method)
    with pytest.raises(supple.SingularError, match=r"state 0 of the batch: .*'mote'"):
        supple.forward_dynamics(model, [q, q], v, method=method)


def test_bodies_alike_are_not_compared():
    assert keeps_digits(supple.trees.chain(100)) and keeps_digits(supple.scenes.molecule(200).model)
    assert not keeps_digits(arm()) and not keeps_digits(two_bodies(10.0, 0.0))  # which slides
    assert not keeps_digits(arm(10.0, 0.1, 5000.0)) and keeps_digits(arm(10.0, 0.1, 1.0))
