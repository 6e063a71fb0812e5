"""Every method where a light body carries a heavy one: right, or refused by name.

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


def test_methods_that_form_the_mass_matrix_are_right_whatever_the_masses():
    """It has no digits left for the lightest bodies: solutions are refined. Some of these were 8 % off."""
    for rng, n in states(60, 20):
        model = uneven_model(rng, n, (1e-6, 1e4), (1e-2, 30.0), armature=1000.0)
        state = drawn_state(model, rng)
        a = supple.forward_dynamics(model, *state)
        for method in ("crba", "dense"):
            try:
                assert off(supple.forward_dynamics(model, *state, method=method), a) < 1e-6
            except supple.SingularError as e:
                assert "cannot close joint 'body" in str(e) and "the mass matrix has too few digits" in str(e)


def test_the_mass_matrix_of_a_long_chain():
    """It is compared: batches, too; and a body at rest, whose accelerations are nothing but rounding."""
    model = beads(250, 1e-5, 1e-3)
    q, v, tau = in_some_states(model)[0]
    a = supple.forward_dynamics(model, q, v, tau)
    assert off(supple.forward_dynamics(model, [q, model.random(1)], v, tau, method="crba")[0], a) < 1e-6
    held = supple.inverse_dynamics(model, q, v, v)
    assert np.abs(supple.forward_dynamics(model, q, v, held, method="crba")).max() < 1e-6 * np.abs(a).max()


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


# --- forces that balance --------------------------------------------------------------------------------------------


def hanging(light, inertia, rng):
    """An arm on a dummy link, and the posture in which it hangs at rest: Newton's method for no torque by weight."""
    b = supple.ModelBuilder()
    b.add_body("dummy", None, axis=(1, 0, 0), mass=light, inertia=[inertia] * 3)
    b.add_body("upper", "dummy", axis=(0, 1, 0), position=(0, 0.05, 0), mass=10, com=0.3 * rng.standard_normal(3),
               inertia=[0.1] * 3)  # fmt: skip
    b.add_body("lower", "upper", axis=(0.6, 0, 0.8), position=(0, 0.1, -1), mass=10, com=0.3 * rng.standard_normal(3),
               inertia=[1.0] * 3, armature=1.0)  # fmt: skip
    model, q, h = b.build(), np.zeros(3), 1e-6 * np.eye(3)
    for _ in range(60):
        slope = (supple.bias_force(model, q + h) - supple.bias_force(model, q - h)).T / 2e-6
        step = np.linalg.solve(slope, -supple.bias_force(model, q))
        q = q + step * min(1.0, 0.5 / np.abs(step).max())
    assert np.abs(supple.bias_force(model, q)).max() < 1e-12
    return model, q


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [(1e-4, 1e-8), (0.1, 5e-4)])
def test_a_robot_that_hangs_at_rest_is_not_refused(method, size):
    """Its accelerations are nothing but rounding, and so is any scale made of them."""
    for seed in range(4):
        model, q = hanging(*size, np.random.default_rng(seed))
        assert np.abs(supple.forward_dynamics(model, q, np.zeros(3), method=method)).max() < 1e-11
        moving = np.array([np.zeros(3), np.ones(3)])
        many = supple.forward_dynamics(model, [q, q + 0.5], moving, method=method)
        assert off(many[1], supple.forward_dynamics(model, q + 0.5, moving[1])) < 2e-9


@pytest.mark.parametrize("method", METHODS)
def test_balanced_gimbals_floating_bodies_and_steady_spin_are_not_refused(method):
    """Weight that acts on no joint in any posture; wrenches that carry the weight; motion that needs no force."""
    axis = np.array([0.48, 0.6, 0.64])
    b = supple.ModelBuilder()
    b.add_body("ring", None, axis=(0.6, 0, 0.8), mass=1e-4, inertia=[1e-8] * 3)
    b.add_body("rotor", "ring", axis=axis, position=-0.3 * axis, mass=20, com=0.3 * axis, inertia=[1.0] * 3)
    gimbal = b.build()
    for turned in (0.3, 1.1, 2.3):
        for v in (np.zeros(2), np.array([0.0, 30.0])):
            found = supple.forward_dynamics(gimbal, [turned, 0.7], v, method=method)
            assert np.abs(found).max() < 1e-9 * (1 + v @ v)
    model = arm()
    q, rng = model.random(np.random.default_rng(5)), np.random.default_rng(6)
    R = supple.poses(model, q).rotation
    up = np.einsum("nji,j->ni", R, -np.asarray(model.gravity)) * model.mass[:, None]
    afloat = np.concatenate([np.cross(model.com, up), up], axis=1)
    found = supple.forward_dynamics(model, q, np.zeros(3), wrenches=afloat, method=method)
    assert np.abs(found).max() < 1e-6
    tau = rng.standard_normal(3)
    wanted = supple.forward_dynamics(model, q, np.zeros(3), tau, afloat)
    assert off(supple.forward_dynamics(model, q, np.zeros(3), tau, afloat, method), wanted) < 1e-6


# --- wrenches -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["dca", "crba"])
def test_wrenches_by_accelerations_of_other_methods(method):
    """Good accelerations of light bodies make bad wrenches of heavy ones: 32 digits are the reference."""
    for rng, _ in states(60, 8):
        model = uneven_model(rng, 8, (1e-3, 100.0), (1e-2, 2.0), armature=100.0)
        q, v, tau = model.random(rng), *rng.standard_normal((2, model.nv))
        try:
            wanted = supple.joint_wrenches(model, q, v, tau, method="virtual-work")
            found = supple.joint_wrenches(model, q, v, tau, method=method)
        except supple.SingularError:
            continue
        if np.abs(wanted).max() > 1e-3:
            assert off(found, wanted) < 1e-6
            reach = max(1.0, np.abs(supple.poses(model, q).position).max())
            ground = supple.ground_wrench(model, q, v, tau, method="virtual-work")
            ground -= supple.ground_wrench(model, q, v, tau, method=method)
            assert np.abs(ground).max() < 1e-5 * reach * np.abs(wanted).max()
    many = [model.random(rng) for _ in range(3)]
    found = supple.joint_wrenches(model, many, v, tau, method=method)
    assert off(found, supple.joint_wrenches(model, many, v, tau)) < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_wrenches_are_right_or_refused_whatever_the_masses(method):
    """Where accelerations are right, and 32 digits are not enough for wrenches: they were 1e-5 off."""
    refused = 0
    for rng, n in states(150, 21):
        model = uneven_model(rng, n, (1e-6, 1e6), (1e-3, 30.0), armature=1000.0)
        q, v, tau, wrenches = drawn_state(model, rng)
        wanted = supple.joint_wrenches(model, q, v, tau, wrenches, method="aba")
        if np.abs(wanted).max() < 1e-2 * model.mass.sum():
            continue  # it falls freely, or nearly so
        try:
            assert off(supple.joint_wrenches(model, q, v, tau, wrenches, method=method), wanted) < 1e-6
        except supple.SingularError as e:
            refused += 1
            assert "cannot close joint 'body" in str(e)
    assert refused <= 15


@pytest.mark.parametrize("method", METHODS)
def test_wrenches_of_an_arm_that_falls_freely_are_not_refused(method):
    """They are nothing but rounding."""
    b = supple.ModelBuilder()
    b.add_body("dummy", None, "free", mass=1e-4, inertia=[1e-8] * 3)
    b.add_body("upper", "dummy", axis=(0, 1, 0), position=(0.05, 0, 0), mass=10, com=(0.05, 0, 0), inertia=[0.1] * 3)
    b.add_body("lower", "upper", axis=(0.6, 0, 0.8), position=(1, 0, 0), mass=10, com=(0.5, 0.1, 0), inertia=[1.0] * 3)
    model = b.build()
    for seed in range(10):
        found = supple.joint_wrenches(model, model.random(seed), np.zeros(model.nv), method=method)
        assert np.abs(found).max() < 1e-6


def test_wrenches_where_a_body_has_no_mobility():
    """Which 32 digits need: those of articulated bodies are taken."""
    b = supple.ModelBuilder()
    b.add_body("rod", None, axis=(0, 1, 0), mass=1e-3, com=(0.5, 0, 0), inertia=[0, 1e-9, 1e-9])
    b.add_body("tip", "rod", axis=(0, 0, 1), position=(1, 0, 0), mass=1e3, com=(0.5, 0, 0), inertia=[0, 1.0, 1.0])
    model = b.build()
    for seed in range(20):
        q, v, tau = np.random.default_rng(seed).standard_normal((3, 2))
        wanted = supple.joint_wrenches(model, q, v, tau)
        assert off(supple.joint_wrenches(model, q, v, tau, method="crba"), wanted) < 2e-9


# --- many bodies ----------------------------------------------------------------------------------------------------


def beads(n, light, mass, axis=(0, 1, 0), joint="revolute", star=False):
    """Every other link (of a star, the hub) has little inertia and mass."""
    b = supple.ModelBuilder()
    for i in range(n):
        little = i == 0 if star else i % 2 == 0
        up = None if i == 0 else "b0" if star else f"b{i - 1}"
        b.add_body(f"b{i}", up, "ball" if i == 0 else joint, axis=axis if np.ndim(axis) == 1 else axis[i],
                   position=(float(i > 0), 0, 0), mass=mass if little else 1.0, com=(0.5, 0, 0),
                   inertia=[0.9 * (light if little else 1.0)] * 3)  # fmt: skip
    return b.build()


def in_some_states(model):
    rng = np.random.default_rng(0)
    still, v, tau = np.zeros(model.nv), *rng.standard_normal((2, model.nv))
    return [(model.neutral(), still, tau), (model.neutral(), v, still), (model.random(rng), still, still)]


@pytest.mark.parametrize(("n", "light"), [(200, 1e-2), (3000, 1.2e-4)])
def test_wrenches_in_chains_of_two_sorts_of_links(n, light):
    model = beads(n, light, 0.14)
    for state in in_some_states(model):
        exact = reference.forward_dynamics(model, *state)
        for method in (None, "dca", "virtual-work"):
            assert off(supple.joint_wrenches(model, *state, frame="world", method=method), exact.wrenches) < 1e-7
        for method in METHODS:
            assert off(supple.forward_dynamics(model, *state, method=method), exact.accelerations) < 1e-7


def test_long_chains_with_all_directions_of_axes():
    """Newton and Euler, summed up from the leaves, lose more than 1e-6 here: the default is not that."""
    axes = np.random.default_rng(5).standard_normal((3000, 3))
    for light in (1e-2, 1.0):
        model = beads(3000, light, 0.14, axes)
        for state in in_some_states(model)[::2]:
            exact = reference.forward_dynamics(model, *state)
            assert off(supple.joint_wrenches(model, *state, frame="world"), exact.wrenches) < 1e-6


def test_many_on_a_light_hub_and_forks_of_small_bodies():
    tree = supple.ModelBuilder()
    axes = np.random.default_rng(5).standard_normal((1000, 3))
    for i in range(1000):
        tree.add_body(f"b{i}", f"b{(i - 1) // 2}" if i else None, axis=axes[i], position=(float(i > 0), 0, 0),
                      inertia=[1.2e-4] * 3, mass=1.0)  # fmt: skip
    for model in (beads(260, 4.5e-4, 4.5e-4, star=True), tree.build()):
        for state in in_some_states(model):
            exact = reference.forward_dynamics(model, *state)
            for method in METHODS:
                assert off(supple.forward_dynamics(model, *state, method=method), exact.accelerations) < 1e-7
            assert off(supple.virtual_work(model, *state).wrenches, exact.wrenches) < 1e-7


def test_masses_count_as_moments_of_inertia_do():
    """A base of hardly any mass and ordinary inertia, that carries three bodies."""
    b = supple.ModelBuilder()
    b.add_body("base", None, "free", mass=1e-12, inertia=[1.0] * 3)
    for i in range(3):
        b.add_body(f"b{i}", f"b{i - 1}" if i else "base", axis=np.eye(3)[i], position=(0.01, 0.02, 0.01), mass=1.0,
                   com=(0.01, 0.01, 0), inertia=[1.0, 1.2, 1.1])  # fmt: skip
    model = b.build()
    assert not keeps_digits(model)
    rng = np.random.default_rng(0)
    q, tau = model.random(rng), rng.standard_normal(model.nv)
    wanted = supple.forward_dynamics(model, q, np.zeros(model.nv), tau)
    for method in METHODS:
        try:
            assert off(supple.forward_dynamics(model, q, np.zeros(model.nv), tau, method=method), wanted) < 1e-6
        except supple.SingularError as e:
            assert "'base' (1e-12 kg" in str(e)
