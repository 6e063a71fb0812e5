"""The scenes of AD: pendulums and a crowd. How many bodies they have, what they weigh, how they begin to move."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import supple
from supple import scenes
from supple.model.joints import JointType
from supple.scenes.skeleton import skeleton

G = 9.81


def ends(scene, q=None):
    """(n_bodies, 2, 3) both ends of every body in the world."""
    R, x = supple.poses(scene.model, scene.q0 if q is None else q)
    return np.einsum("nij,nkj->nki", R, scene.rods) + x[:, None]


# --- pendulums ------------------------------------------------------------------------------------------------------


def test_the_pendulum_lies_sideways_and_weighs_what_is_asked():
    scene = scenes.pendulum()
    model = scene.model
    assert (model.n_bodies, model.nv, len(scene.pushes), len(scene.springs)) == (300, 300, 0, 0)
    assert model.total_mass == pytest.approx(3.0)
    x = ends(scene)
    np.testing.assert_allclose(x[-1, 1], [3.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(x[1:, 0], x[:-1, 1], atol=1e-12)
    a = supple.forward_dynamics(model, scene.q0, np.zeros(300))
    assert np.isfinite(a).all()
    # let go sideways, a chain of many links begins as one without weight beyond its first: all of it falls
    assert a[0] > 0 and np.abs(a[1::2]).max() < 1e-9 * np.abs(a).max()


def test_a_pendulum_of_one_link_is_a_rod():
    scene = scenes.pendulum(1, length=2.0, mass=5.0, angle=0.7)
    radius = 0.2
    inertia = 5.0 * (4.0 / 3 + radius**2 / 4)
    (a,) = supple.forward_dynamics(scene.model, scene.q0, [0.0])
    assert a == pytest.approx(5.0 * G * 1.0 * np.sin(0.7) / inertia)


@pytest.mark.parametrize("planar", [True, False])
def test_pendulums_turn_in_a_plane_or_not(planar: bool):
    model = scenes.pendulum(20, planar=planar).model
    y = supple.poses(model, model.random(0)).position[:, 1]
    assert bool(np.abs(y).max() < 1e-12) is planar


def test_the_spring_pulls_its_link_to_a_point_of_the_world():
    scene = scenes.spring_pendulum()
    assert (scene.model.n_bodies, len(scene.springs), len(scene.pushes)) == (50, 1, 0)
    assert (scene.model.damping > 0).all()
    (b,), (anchor,), (k,) = scene.springs.bodies, scene.springs.anchors, scene.springs.stiffness
    assert b == 32

    def energy(q):
        return supple.potential_energy(scene.model, q) + 0.5 * k * ((ends(scene, q)[b, 1] - anchor) ** 2).sum()

    q = scene.model.random(1)
    force = supple.mass_matrix(scene.model, q) @ supple.forward_dynamics(
        scene.model, q, np.zeros(50), None, scene.wrenches(q)
    )
    h = 1e-5
    slope = [(energy(q + h * e) - energy(q - h * e)) / (2 * h) for e in np.eye(50)]
    np.testing.assert_allclose(force, -np.array(slope), atol=1e-6 * np.abs(slope).max())


def test_forces_are_those_of_quasi_statics():
    scene = scenes.spring_pendulum(20)
    a = supple.forward_dynamics(scene.model, scene.q0, np.zeros(20), None, scene.wrenches(scene.q0))
    np.testing.assert_allclose(scene.quasi_statics(0.0).solve().dense(), a, atol=1e-10 * np.abs(a).max())


def test_it_comes_to_rest_where_weight_and_spring_are_in_balance():
    """Under a drag on all that moves, -3 H v, against the least energy there is."""
    scene = scenes.spring_pendulum(10)
    model, q, v, h = scene.model, scene.q0, np.zeros(10), 2e-3
    (b,), (anchor,), (k,) = scene.springs.bodies, scene.springs.anchors, scene.springs.stiffness

    def energy(q):
        return supple.potential_energy(model, q) + 0.5 * k * ((ends(scene, q)[b, 1] - anchor) ** 2).sum()

    for _ in range(5000):
        drag = -3.0 * supple.mass_matrix(model, q) @ v
        v = v + h * supple.forward_dynamics(model, q, v, drag, scene.wrenches(q))
        q = q + h * v
    assert np.abs(v).max() < 1e-4
    least = minimize(energy, scene.q0, method="BFGS").x
    np.testing.assert_allclose(ends(scene, q), ends(scene, least), atol=1e-3)
    before, after = (np.linalg.norm(ends(scene, x)[b, 1] - anchor) for x in (scene.q0, q))
    assert after < 0.3 * before


# --- the crowd ------------------------------------------------------------------------------------------------------


def test_the_crowd_has_as_many_bodies_as_the_paper_s():
    scene = scenes.crowd()
    model = scene.model
    assert (model.n_bodies, model.nv, (model.parent < 0).sum()) == (17_800, 19_000, 200)
    assert (model.joint_type[model.parent < 0] == JointType.FREE).all()
    assert len(scene.pushes) == 400 and len(scene.springs) == 400  # each is pushed twice, and held by two springs
    away = scenes.crowd(puppets=False).pushes
    assert len(away) == 200 and (away.forces[:, 0] > 0).all()  # from the camera, along x
    assert 65 < model.total_mass / 200 < 85
    assert (model.mass > 0).all() and np.linalg.eigvalsh(model.inertia).min() > 0
    v = np.zeros(model.nv)
    a = supple.forward_dynamics(model, scene.q0, v, None, scene.wrenches(scene.q0))
    assert np.isfinite(a).all() and np.abs(a).max() < 1e4


def test_everybody_is_pushed_away_and_nobody_moves_another():
    scene = scenes.crowd(2, 3, puppets=False)
    model, q, W = scene.model, scene.q0, scene.wrenches(scene.q0)
    a = supple.forward_dynamics(model, q, np.zeros(model.nv), None, W)
    h = 1e-4
    moved = model.integrate(q, a, 0.5 * h**2)
    for i in range(6):
        own = slice(89 * i, 89 * (i + 1))
        mass = model.mass[own]
        before, after = ((mass @ center(model, x)[own]) / mass.sum() for x in (q, moved))
        push = scene.pushes.forces[i] / mass.sum()
        np.testing.assert_allclose((after - before) / (0.5 * h**2), push, atol=1e-4 * push[0])
    W[:89] = 0.0
    still = supple.forward_dynamics(model, q, np.zeros(model.nv), None, W)
    assert np.abs(still[:95]).max() < 1e-9 and np.array_equal(still[95:], a[95:])


def test_pushed_people_stay_whole():
    """Explicit steps of the dt given are stable: people pushed for a fifth of a second drift away, and fold."""
    scene = scenes.crowd(1, 1, puppets=False)
    model, q, v = scene.model, scene.q0, np.zeros(95)
    for k in range(400):
        W = scene.wrenches(q) if k < 200 else None
        v = v + scene.dt * supple.forward_dynamics(model, q, v, None, W)
        q = model.integrate(q, v, scene.dt)
    assert 200 * scene.dt == pytest.approx(0.2)
    speed = 0.2 * scene.pushes.forces[0, 0] / model.total_mass
    momentum = model.mass @ (center(model, model.integrate(q, v, 1e-6)) - center(model, q)) / 1e-6
    np.testing.assert_allclose(momentum / model.total_mass, [speed, 0.0, 0.0], atol=0.02 * speed)
    assert np.abs(v[6:]).max() < 100


def center(model, q):
    R, x = supple.poses(model, q)
    return np.einsum("nij,nj->ni", R, model.com) + x


def test_a_person_stands_on_its_feet_with_its_head_up():
    scene = scenes.crowd(2, 2)
    assert scene.model.body_names == tuple(f"person {i} {name}" for i in range(4) for name in skeleton().names)
    points = ends(scene).reshape(4, 89, 2, 3)
    names = skeleton().names
    for person in points:
        at = dict(zip(names, person[:, 1]))  # where bodies end
        middle = person[names.index("pelvis"), 0]
        assert 1.6 < at["head"][2] == person[..., 2].max() < 1.95
        assert -0.05 < person[..., 2].min() < 0.05
        facing = at["right toes"] - at["right shank"]
        for side in ("left", "right"):
            assert at[f"{side} foot"][2] < 0.12 and 0.6 < at[f"{side} middle 3"][2] < 1.1
            assert 0.2 < np.linalg.norm(at[f"{side} middle 3"][:2] - middle[:2]) < 0.6
            assert (at[f"{side} big toe"] - at[f"{side} shank"]) @ facing > 0
        assert facing[0] < 0  # towards the camera
        left, right = at["left upper arm"] - middle, at["right upper arm"] - middle
        assert np.cross(facing, left)[2] > 0 > np.cross(facing, right)[2]
    q = scene.q0[scene.model.q_index[scene.model.joint_type == JointType.REVOLUTE]]
    limits = [
        x[scene.model.q_index[scene.model.joint_type == JointType.REVOLUTE]]
        for x in (scene.model.lower, scene.model.upper)
    ]
    assert (limits[0] <= q).all() and (q <= limits[1]).all() and np.isfinite(limits).all()


def test_a_person_is_symmetric():
    person = skeleton()
    assert person.mass.sum() == pytest.approx(75.0, abs=0.01)
    for i, name in enumerate(person.names):
        if name.startswith("left "):
            j = person.names.index(name.replace("left ", "right "))
            mirror = np.array([1.0, -1.0, 1.0])
            np.testing.assert_allclose(person.position[i], mirror * person.position[j])
            np.testing.assert_allclose(person.inertia[i], person.inertia[j] * np.outer(mirror, mirror))
            np.testing.assert_allclose(person.axis[i], -mirror * person.axis[j])  # axes are mirrored as turns are
            assert (person.lower[i], person.upper[i], person.mass[i]) == (
                person.lower[j],
                person.upper[j],
                person.mass[j],
            )


def test_seeds_make_other_people():
    one, again, other = (scenes.crowd(2, 2, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.q0, again.q0)
    assert not np.array_equal(one.q0, other.q0) and one.model.total_mass != other.model.total_mass


@pytest.mark.parametrize("bad", [0, -3, 2.5])
def test_sizes_that_make_no_sense_are_refused(bad):
    for make in (scenes.pendulum, scenes.spring_pendulum, scenes.crowd):
        with pytest.raises(supple.StateError, match="whole number"):
            make(bad)
    for size in ({"length": bad}, {"mass": bad}):
        if bad <= 0:
            with pytest.raises(supple.StateError, match="must be a positive number"):
                scenes.pendulum(3, **size)
    with pytest.raises(supple.StateError, match="from 0 to 9"):
        scenes.spring_pendulum(10, link=10)
