"""From captured motion to torques: smoothing, derivatives, who stands, and inverse dynamics on the support."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import supple
from pictures import lacking
from supple.capture.motion import differentiate, smooth
from supple.capture.plot import COLOURS, leg_joints, plot_loads
from supple.capture.support import NONE, SEVERAL, Support, _steady, find_support, sole_points
from supple.capture.torques import STRONGEST, loads, shares
from supple.model.clip import Arrows, Clip
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


@pytest.fixture(scope="module")
def path(walk, carried):
    """The centre of mass, the acceleration of it, and the angular momentum about it and its rate, from splines."""
    from scipy.interpolate import make_interp_spline

    q, v = carried.moving.clip.q, carried.moving.v
    com = np.array([supple.center_of_mass(walk.model, x) for x in q])
    spin = np.array([supple.momentum(walk.model, x, u)[:3] for x, u in zip(q, v)])
    speed = make_interp_spline(walk.times, com, k=5)
    return com, speed(walk.times, 2), make_interp_spline(walk.times, spin, k=5)(walk.times, 1)


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
    """Each stands for STANCE of two steps, so that both stand for the part by which that is more than one step."""
    foot = carried.support.foot
    assert set(foot) == {0, 1, SEVERAL} and abs(carried.support.ground) < 0.02
    np.testing.assert_allclose(carried.support.down.mean(axis=0), walk_bvh.STANCE, atol=0.15)
    begins = np.flatnonzero((foot[1:] == SEVERAL) & (foot[:-1] != SEVERAL))
    np.testing.assert_allclose(np.diff(walk.times[begins]), walk_bvh.STEP_TIME, atol=0.03)
    assert [int(foot[i]) for i in begins] == [0, 1, 0], "before both stand, one does in turn"


def test_reaction_is_newtons_law(walk, carried, path):
    """The ground gives what the centre of mass needs: m (c'' - g), differentiated from its own path."""
    wanted = walk.model.total_mass * (path[1] - walk.model.gravity)
    np.testing.assert_allclose(carried.reaction[8:-8], wanted[8:-8], atol=0.2)
    np.testing.assert_allclose(np.linalg.norm(carried.reaction, axis=1), carried.residual, rtol=1e-9)
    assert 0.5 < carried.reaction[:, 2].mean() / (70 * 9.81) < 1.5


def test_moment_is_eulers_law(carried, path):
    """About the centre of mass, the ground's moment is the rate of the angular momentum."""
    com, _, rate = path
    given = carried.moment + np.cross(carried.point - com, carried.reaction)
    np.testing.assert_allclose(given[8:-8], rate[8:-8], atol=0.3)


def test_the_feet_give_together_what_the_ground_gives(carried):
    """Forces and moments of the feet, at their centres of pressure, are the whole; each force points as the whole."""
    at, force = carried.arrows.points, carried.arrows.vectors
    np.testing.assert_allclose(force.sum(axis=1), carried.reaction, atol=1e-9)
    np.testing.assert_allclose(carried.shares.sum(axis=1), 1.0, atol=1e-12)
    assert (carried.shares >= 0).all() and (carried.shares[~carried.support.down] == 0).all()
    moments = np.cross(at - carried.point[:, None], force).sum(axis=1)
    np.testing.assert_allclose(moments[:, :2], carried.moment[:, :2], atol=1e-8)
    mean = np.nansum(carried.shares[..., None] * carried.foot_pressure, axis=1)
    np.testing.assert_allclose(mean, carried.pressure, atol=1e-9)


def test_shares_follow_the_centre_of_pressure():
    two = np.array([[[0.0, 0.0], [1.0, 0.0]]] * 5)
    p = np.array([[0.25, 0.0], [0.25, 3.0], [-2.0, 0.0], [0.5, 0.0], [9.0, 1.0]])
    both = np.ones((5, 2), dtype=bool)
    np.testing.assert_allclose(shares(two, p, both), [[0.75, 0.25], [0.75, 0.25], [1, 0], [0.5, 0.5], [0, 1]])
    one = np.array([[True, False]] * 5)
    np.testing.assert_allclose(shares(two, p, one), [[1, 0]] * 5)
    same = np.zeros((1, 2, 2))
    np.testing.assert_allclose(shares(same, p[:1], both[:1]), [[0.5, 0.5]])
    four = np.array([[[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]]])
    w = shares(four, np.array([[1.2, 0.3]]), np.ones((1, 4), dtype=bool))
    np.testing.assert_allclose((w[..., None] * four).sum(axis=1), [[1.2, 0.3]])


def test_moments_leave_nothing_to_the_pelvis(walk, carried):
    """Given as wrenches on the feet, the ground's force is all that the root needs; on both feet, too."""
    m, model = carried.moving, walk.model
    for i in (3, 12, 40, 58, 77):
        q, pushes = m.clip.q[i], np.zeros((model.n_bodies, 6))
        free = carried.moment[i] + np.cross(
            carried.point[i] - [*carried.pressure[i], carried.support.ground], carried.reaction[i]
        )
        for k, foot in enumerate(walk.feet):
            if carried.shares[i, k] > 0:
                pushes += supple.wrench(
                    model, foot, force=carried.arrows.vectors[i, k], torque=carried.shares[i, k] * free,
                    point=carried.arrows.points[i, k], point_frame="world", q=q,
                )  # fmt: skip
        tau = supple.inverse_dynamics(model, q, m.v[i], m.a[i], pushes)
        assert np.abs(tau[:6]).max() < 1e-8
        wanted = np.array([tau[model.joints[name].v] for name in carried.joints])
        np.testing.assert_allclose(carried.moments[i], wanted, atol=1e-8)
        np.testing.assert_allclose(carried.supported[i], np.linalg.norm(wanted, axis=1), atol=1e-8)


def test_moments_are_those_of_a_tree_that_is_rooted_at_the_foot(walk, carried):
    """[RR section 7.1]: where one foot stands, re-rooted to it; the root then carries the reaction."""
    m, model = carried.moving, walk.model
    for i in (12, 20, 44, 70):
        foot = walk.feet[carried.support.foot[i]]
        new = supple.reroot(model, m.clip.q[i], m.v[i], m.a[i], body=foot, joint="free")
        tau = supple.inverse_dynamics(new.model, new.q, new.v, new.a)
        R = supple.poses(new.model, new.q).rotation[0]
        np.testing.assert_allclose(R @ tau[:3], carried.reaction[i], atol=1e-8)
        sizes = [np.linalg.norm(tau[new.model.joints[name].v]) for name in carried.joints]
        np.testing.assert_allclose(carried.supported[i], sizes, atol=1e-8)
        knee = carried.joints.index(foot.replace("Foot", "Leg_joint"))
        assert carried.supported[i, knee] > 2 * carried.pelvis[i, knee], "a leg that stands carries"


def test_power_is_the_rate_of_energy(walk, carried):
    """What joints put in and what the ground does at the feet changes kinetic and potential energy."""
    from scipy.interpolate import make_interp_spline

    m, model = carried.moving, walk.model
    energy = [supple.kinetic_energy(model, q, v) + supple.potential_energy(model, q) for q, v in zip(m.clip.q, m.v)]
    rate = make_interp_spline(walk.times, energy, k=5)(walk.times, 1)
    V, P = supple.velocities(model, m.clip.q, m.v).spatial, supple.poses(model, m.clip.q)
    ground = np.zeros(len(walk))
    free = carried.moment.copy()
    free += np.cross(carried.point - np.c_[carried.pressure, carried.point[:, 2]], carried.reaction)
    for k, foot in enumerate(walk.feet):
        body = model.bodies[foot].index
        at = carried.arrows.points[:, k]
        moves = V[:, body, 3:] + np.cross(V[:, body, :3], at - P.position[:, body])
        ground += (carried.arrows.vectors[:, k] * moves).sum(axis=1)
        ground += (carried.shares[:, k, None] * free * V[:, body, :3]).sum(axis=1)
    np.testing.assert_allclose((carried.power.sum(axis=1) + ground)[8:-8], rate[8:-8], atol=0.5)
    np.testing.assert_array_equal(carried.times, walk.times)


def still(rows: int = 40, lean: float = 0.0, ahead: float = 0.0):
    """A person who stands, leaning to one side and ahead; feet at x = +-0.1."""
    b = supple.ModelBuilder()
    b.add_body("pelvis", joint="free", mass=50.0, inertia=(2, 2, 2), com=(lean, ahead, 0.3))
    for side, x in (("left", 0.1), ("right", -0.1)):
        b.add_body(f"{side} leg", "pelvis", "revolute", axis=(1, 0, 0), position=(x, 0, 0), mass=8.0,
                   com=(0, 0, -0.4), inertia=(1, 1, 0.1))  # fmt: skip
        b.add_body(f"{side} foot", f"{side} leg", "ball", position=(0, 0, -0.9), mass=2.0, inertia=(0.1, 0.1, 0.1))
        b.add_frame(f"{side} foot/end", f"{side} foot", (0, 0.2, -0.1))
    model = b.build()
    q = np.tile(model.neutral(), (rows, 1))
    q[:, 2] = 1.0
    return Clip(model, np.arange(rows) / 50.0, q, ("left foot", "right foot"))


@pytest.mark.parametrize(("lean", "left"), [(0.0, 0.5), (0.07, 0.75), (-0.07, 0.25), (0.14, 1.0), (0.3, 1.0)])
def test_who_stands_still_shares_the_load_by_leaning(lean, left):
    """The centre of mass is at 50 lean / 70, and the pressure below it: its part of the way from foot to foot."""
    clip = still(lean=lean)
    found = supple.motion_loads(clip)
    np.testing.assert_allclose(found.shares, [[left, 1 - left]] * len(clip), atol=1e-9)
    np.testing.assert_allclose(found.reaction, [[0, 0, 70 * 9.81]] * len(clip), atol=1e-7)
    np.testing.assert_allclose(found.pressure[:, 0], 50 * lean / 70, atol=1e-9)
    wide = 50 * lean / 70 - 0.1 > 0.06
    assert any("leaves left foot" in text for text in found.warnings) == wide


def test_signs_and_axes_of_moments():
    """The ground presses upwards ahead of a hip, which would turn the leg about x; the hip holds against that."""
    clip = still(ahead=0.1)
    found = supple.motion_loads(clip)
    k = found.joints.index("left leg_joint")
    hip = supple.poses(clip.model, clip.q[0]).position[clip.model.bodies["left leg"].index]
    wanted = -0.5 * 70 * 9.81 * (found.pressure[0, 1] - hip[1])
    assert wanted < -1.0
    np.testing.assert_allclose(found.moments[0, k], [wanted, 0, 0], atol=1e-6)
    np.testing.assert_allclose(found.about("left leg_joint", (2, 0, 0), "body"), wanted, atol=1e-6)
    np.testing.assert_allclose(found.about("left leg_joint", (1, 0, 0)), wanted, atol=1e-6)
    with pytest.raises(supple.StateError, match="did you mean"):
        found.about("left legjoint", (1, 0, 0))


def test_what_no_person_could_do_is_said(caplog):
    clip = still()
    assert not supple.motion_loads(clip).warnings
    jump = Clip(clip.model, clip.times, clip.q.copy(), clip.feet)
    jump.q[:, 2] += 0.03 * np.cos(2 * np.pi * 4 * clip.times)
    with caplog.at_level("WARNING", "supple"):
        found = loads(differentiate(jump), Support(np.ones((len(jump), 2), dtype=bool), 0.0))
    assert any("have to pull" in text for text in found.warnings)
    far = still(lean=8.0)
    found = supple.motion_loads(far)
    assert any(f"more than {STRONGEST:g} N m" in text for text in found.warnings)
    assert any("leaves left foot" in text for text in found.warnings) and "leaves left foot" in caplog.text


def test_pressure_is_under_the_foot(carried):
    clip, i = carried.moving.clip, 22  # in the middle of a step
    foot = carried.support.foot[i]
    there = sole_points(clip.model, supple.poses(clip.model, clip.q), clip.feet[foot])[i].mean(axis=0)
    assert np.linalg.norm(carried.pressure[i] - there) < 0.3
    np.testing.assert_allclose(carried.foot_pressure[i, foot], carried.pressure[i])
    assert np.isnan(carried.foot_pressure[i, 1 - foot]).all()


def test_arrows_go_with_a_clip(walk, carried):
    clip = carried.clip
    assert clip.arrows.names == walk.feet and len(clip.arrows) == len(walk) and clip.arrows.unit == "N"
    assert repr(clip.arrows) == "<Arrows: LeftFoot, RightFoot in N, 101 frames>"
    at, force = clip.arrows.at(walk.times[22] + 0.4 / walk.rate)
    np.testing.assert_array_equal(at, clip.arrows.points[22])
    np.testing.assert_array_equal(force, clip.arrows.vectors[22])
    for time, i in ((-1.0, 0), (99.0, -1)):
        np.testing.assert_array_equal(clip.arrows.at(time)[0], clip.arrows.points[i])
    assert clip.arrows.largest == pytest.approx(np.linalg.norm(clip.arrows.vectors, axis=2).max())
    none = np.zeros((2, 1, 3))
    for bad in (
        dict(vectors=np.full((2, 1, 3), np.nan)), dict(points=np.zeros((2, 2, 3))), dict(times=np.array([1.0, 1.0]))
    ):  # fmt: skip
        with pytest.raises(supple.StateError, match=next(iter(bad))):
            Arrows(**(dict(names=("a",), times=np.arange(2.0), points=none, vectors=none) | bad))
    empty = Arrows((), np.zeros(0), np.zeros((0, 0, 3)), np.zeros((0, 0, 3)))
    assert empty.largest == 0.0 and len(empty.at(1.0)[0]) == 0


def test_feet_do_not_flicker():
    """Contacts and gaps of a few frames are none, except at the ends of a clip."""
    read = lambda text: np.array([[c == "x" for c in line] for line in text.split()]).T  # noqa: E731
    given = read("x....xxxx.xxxx....x...xxx. ..xxxxxxxxxxxxxxxxxx..xxxx")
    wanted = read("x....xxxxxxxxx........xxx. ..xxxxxxxxxxxxxxxxxxxxxxxx")
    np.testing.assert_array_equal(_steady(given, 3), wanted)


def test_nobody_stands_in_flight(walk):
    model = walk.model
    t = np.arange(30) / 50.0
    q = np.tile(walk.q[10], (30, 1))
    q[:, 2] += 1.0 + 2.0 * t - 0.5 * 9.81 * t**2
    q[0] = walk.q[10]  # on the ground once, so that its height is known
    still = differentiate(Clip(model, t[1:], q[1:], walk.feet))
    support = find_support(still, speed=0.5)
    fallen = loads(still, Support(np.zeros((29, 2), dtype=bool), 0.0))
    assert (support.foot == NONE).sum() > 20
    assert not fallen.reaction.any() and fallen.residual[5:-5].max() < 1e-6
    np.testing.assert_allclose(fallen.supported, fallen.pelvis)


def test_a_picture_of_it(carried, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "loads.png"
    plot_loads(carried, path=str(path))
    assert not lacking(tmp_path, {"loads.png": COLOURS[:3]})
    carried.plot(joints=[])  # warnings are errors in tests
    assert leg_joints(carried) == ["LeftUpLeg_joint", "LeftLeg_joint", "LeftFoot_joint"]


def test_what_is_refused(walk):
    with pytest.raises(supple.StateError, match="too few"):
        differentiate(Clip(walk.model, walk.times[:4], walk.q[:4]))
    with pytest.raises(supple.StateError, match="cutoff"):
        smooth(walk, 40.0)
    with pytest.raises(supple.StateError, match="feet"):
        find_support(differentiate(Clip(walk.model, walk.times, walk.q)))


def feet_apart(k, rng):
    """Centres of k feet, sometimes on a line or at the same place, and a centre of pressure that may be outside."""
    c = rng.uniform(0, 1, (k, 2))
    if rng.random() < 0.2:
        c[:, 1] = 2.0 * c[:, 0]
    if rng.random() < 0.2:
        c[1] = c[0]
    return c, rng.uniform(-0.3, 1.3, 2) * 10.0 ** rng.uniform(-1, 2)


def test_shares_of_many_feet_bring_the_pressure_nearest():
    """Oracle: the best of all subsets of feet, each without the bound at zero; of equally near ones, the most even."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        k = int(rng.integers(2, 6))
        c, p = feet_apart(k, rng)
        best = []
        for subset in range(1, 2**k):
            S = np.flatnonzero([subset >> i & 1 for i in range(k)])
            w = np.zeros(k)
            w[S] = 1.0 / len(S) + np.linalg.pinv((c[S] - c[S].mean(axis=0)).T) @ (p - c[S].mean(axis=0))
            if w.min() > -1e-9:
                best.append((round(float(np.linalg.norm(w @ c - p)), 8), float(w @ w), w))
        found = shares(c[None], p[None], np.ones((1, k), bool))[0]
        np.testing.assert_allclose(found, min(best, key=lambda x: x[:2])[2], atol=1e-7)


@pytest.mark.parametrize("frame", [1, 50, 90])
def test_a_gap_is_refused_by_its_place(walk, frame):
    late = walk.times.copy()
    late[frame:] += 5.0
    with pytest.raises(supple.StateError, match=rf"5.02 s pass from frame {frame - 1} to frame {frame}, and 0.02 s"):
        supple.motion_loads(replace(walk, times=late))


def test_times_that_jitter_are_treated_as_even(walk, carried):
    """By less than a tenth of a frame: as if printed with few digits. The moments stay what they are."""
    late = walk.times + np.random.default_rng(0).uniform(-0.001, 0.001, len(walk))
    found = supple.motion_loads(replace(walk, times=late))
    assert np.ptp(np.diff(found.times)) < 1e-9
    np.testing.assert_allclose(found.moments, carried.moments, atol=0.03 * np.abs(carried.moments).max())


def test_a_body_that_is_not_free_has_no_ground(walk):
    arm = supple.trees.chain(4)
    clip = Clip(arm, np.arange(60) / 30, np.zeros((60, 4)), feet=(arm.body_names[3],))
    with pytest.raises(supple.StateError, match="'link0_joint', must be free"):
        supple.motion_loads(clip)


def test_axes_of_any_length(carried):
    knee = carried.joints[3]
    wanted = carried.about(knee, (1, 0, 0))
    for size in (1e-300, 1e-200, 7.0, 1e200, 1e308):
        np.testing.assert_allclose(carried.about(knee, (size, 0, 0)), wanted)
    with pytest.raises(supple.StateError, match="has no direction"):
        carried.about(knee, (0, 0, 0))
