"""From captured motion to torques: smoothing, derivatives, who stands, and inverse dynamics on the support."""

from __future__ import annotations

import numpy as np
import pytest

import supple
from pictures import lacking
from supple.capture import torques as capture
from supple.capture.plot import COLOURS, leg_joints, plot_loads
from supple.capture.torques import NONE, Clip, differentiate, find_support, loads, smooth
from supple.scenes import walk_bvh


def tree() -> supple.Model:
    b = supple.ModelBuilder()
    b.add_body("base", joint="free", mass=3.0, inertia=(0.1, 0.2, 0.3))
    b.add_body("arm", "base", "ball", position=(0, 0, 0.5), mass=1.0, com=(0, 0, 0.2), inertia=(0.1, 0.1, 0.02))
    b.add_body("hand", "arm", "revolute", axis=(0, 1, 0), position=(0, 0, 0.4), mass=0.5, com=(0, 0, 0.1))
    return b.build()


def curve(model, t):
    """A smooth motion: neutral, moved along a vector that depends on time. (frames, nq)"""
    rates = np.arange(1, model.nv + 1) / model.nv
    x = np.sin(np.outer(t, 1.0 + rates)) * 0.6
    return model.integrate(np.tile(model.neutral(), (len(t), 1)), x, 1.0)


@pytest.fixture(scope="module")
def walk():
    return supple.load_bvh(walk_bvh.FILE)


@pytest.fixture(scope="module")
def carried(walk):
    return supple.motion_loads(walk)


def test_derivatives_are_those_of_the_motion():
    """Oracle: differences on the manifold at steps a thousand times finer than the frames."""
    model, h = tree(), 1e-5
    t = np.arange(60) / 50.0
    moving = differentiate(Clip(model, t, curve(model, t)))

    def rate(t):
        return model.difference(curve(model, t - h), curve(model, t + h)) / (2 * h)

    inside = slice(6, -6)  # splines are less exact at their ends
    np.testing.assert_allclose(moving.v[inside], rate(t)[inside], atol=2e-6)
    step = 1e-3
    np.testing.assert_allclose(moving.a[inside], ((rate(t + step) - rate(t - step)) / (2 * step))[inside], atol=2e-4)


def test_smoothing_takes_noise_and_leaves_motion():
    model, rng = tree(), np.random.default_rng(0)
    t = np.arange(200) / 100.0
    q = curve(model, t)
    noisy = model.integrate(q, 1e-3 * rng.standard_normal((len(t), model.nv)), 1.0)
    before, after = (np.abs(model.difference(q, x)).std() for x in (noisy, smooth(Clip(model, t, noisy), 6.0).q))
    assert after < 0.5 * before
    kept = smooth(Clip(model, t, q), 20.0).q[20:-20]
    assert np.abs(model.difference(q[20:-20], kept)).max() < 1e-3


def test_the_feet_of_the_walk_stand_in_turn(walk, carried):
    foot = carried.support.foot
    assert set(foot) == {0, 1} and abs(carried.support.ground) < 0.02
    changes = np.flatnonzero(np.diff(foot))
    steps = np.diff(walk.times[changes])
    np.testing.assert_allclose(steps, walk_bvh.STEP_TIME, atol=0.03)


def test_reaction_is_newtons_law(walk, carried):
    """The ground gives what the centre of mass needs: m (c'' - g), differentiated from its own path."""
    q = carried.moving.clip.q
    com = np.array([supple.center_of_mass(walk.model, x) for x in q])
    from scipy.interpolate import make_interp_spline

    acceleration = make_interp_spline(walk.times, com, k=5)(walk.times, 2)
    wanted = walk.model.total_mass * (acceleration - walk.model.gravity)
    np.testing.assert_allclose(carried.reaction[8:-8], wanted[8:-8], atol=0.2)
    np.testing.assert_allclose(np.linalg.norm(carried.reaction, axis=1), carried.residual, rtol=1e-9)
    assert 0.5 < carried.reaction[:, 2].mean() / (70 * 9.81) < 1.5


def test_torques_are_those_of_the_pelvis_with_the_reaction_on_the_foot(walk, carried):
    """Re-rooting moves the unknown force to where it acts: given there as a wrench, the old root needs none."""
    m, model = carried.moving, walk.model
    for i in (12, 40, 77):
        foot = walk.feet[carried.support.foot[i]]
        q = m.clip.q[i]
        push = supple.wrench(model, foot, force=carried.reaction[i], torque=carried.moment[i],
                             point=carried.point[i], point_frame="world", q=q)  # fmt: skip
        tau = supple.inverse_dynamics(model, q, m.v[i], m.a[i], push)
        assert np.abs(tau[:6]).max() < 1e-8, "nothing is left at the pelvis"
        sizes = [np.linalg.norm(tau[model.joints[name].v]) for name in carried.joints]
        np.testing.assert_allclose(carried.supported[i], sizes, atol=1e-8)
        knee = carried.joints.index(foot.replace("Foot", "Leg_joint"))
        assert carried.supported[i, knee] > 3 * carried.pelvis[i, knee], "a leg that stands carries"


def test_pressure_is_under_the_foot(carried):
    model = carried.moving.clip.model
    i = 22  # in the middle of a step
    foot = carried.moving.clip.feet[carried.support.foot[i]]
    ankle = supple.poses(model, carried.moving.clip.q[i]).position[model.bodies[foot].index]
    assert np.linalg.norm(carried.pressure[i] - ankle[:2]) < 0.3


def test_nobody_stands_in_flight(walk):
    model = walk.model
    t = np.arange(30) / 50.0
    q = np.tile(walk.q[10], (30, 1))
    q[:, 2] += 1.0 + 2.0 * t - 0.5 * 9.81 * t**2
    q[0] = walk.q[10]  # on the ground once, so that its height is known
    still = differentiate(Clip(model, t[1:], q[1:], walk.feet))
    support = find_support(still, speed=0.5)
    fallen = loads(still, capture.Support(np.full(29, NONE), 0.0))
    assert (support.foot == NONE).sum() > 20
    assert not fallen.reaction.any() and fallen.residual[5:-5].max() < 1e-6
    np.testing.assert_allclose(fallen.supported, fallen.pelvis)


def test_a_picture_of_it(carried, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "loads.png"
    plot_loads(carried, path=str(path))
    assert not lacking(tmp_path, {"loads.png": COLOURS[:3]})
    assert leg_joints(carried) == ["LeftUpLeg_joint", "LeftLeg_joint", "LeftFoot_joint"]


def test_what_is_refused(walk):
    with pytest.raises(supple.StateError, match="too few"):
        differentiate(Clip(walk.model, walk.times[:4], walk.q[:4]))
    with pytest.raises(supple.StateError, match="cutoff"):
        smooth(walk, 40.0)
    with pytest.raises(supple.StateError, match="feet"):
        find_support(differentiate(Clip(walk.model, walk.times, walk.q)))
