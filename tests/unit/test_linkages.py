"""The linkages among the scenes: benchmark problems of the IFToMM's library with published solutions, laws of
conservation and closed forms."""

from __future__ import annotations

from math import cos, sin, sqrt

import numpy as np
import pytest

import supple
from supple import scenes
from supple.exact.closure import closure

#: Of Andrews' squeezer after 0.03 s, by body [Test Set for Initial Value Problem Solvers, release 2.4, II-9].
SQUEEZED = {
    "crank": 15.81077119629904, "connecting rod": -15.75637105984298, "triangle": 0.04082224013073101,
    "upper rod": -0.5347301163226948, "upper arm": 0.5244099658805304, "lower rod": 0.5347301163226948,
    "lower arm": 1.048080741042263,
}  # fmt: skip
SQUEEZING = {
    "crank": 1139.920302151208, "connecting rod": -1424.379294994111, "triangle": 11.03291221937134,
    "upper rod": 19.29337464421385, "upper arm": 0.5735699284790808, "lower rod": -19.29337464421385,
    "lower arm": 0.3231791658026955,
}  # fmt: skip


def run(scene, duration=None, **settings):
    how = dict(duration=duration or scene.duration, dt=scene.dt, forces=scene.all_forces()) | settings
    return supple.simulate(scene.model, scene.q0, scene.v0, **how)


def widest_gap(result):
    """Of all recorded states, in position and velocity."""
    rows = [closure(result.model, q, v) for q, v in zip(result.q, result.v)]
    return max(np.abs(r.phi).max() for r in rows), max(np.abs(r.G @ v).max() for r, v in zip(rows, result.v))


@pytest.mark.parametrize(
    ("name", "degrees", "redundant"), [("four-bar-chain", 1, 6), ("bricard", 1, 1), ("flyball", 2, 6)]
)
def test_ten_seconds(name, degrees, redundant):
    """A02, A04, and the governor with rods: closed to 1e-12, with an energy that is kept to 1e-9 J."""
    scene = scenes.NAMES[name]()
    found = supple.mobility(scene.model, scene.q0)
    assert (found.degrees, found.redundant, found.singular) == (degrees, redundant, False)
    result = run(scene, every=10)
    assert result.times[-1] == 10.0
    assert max(widest_gap(result)) < 1e-12
    assert np.ptp(result.energy) < 1e-9


def test_a_chain_of_windows_stays_parallel():
    """It falls as one rod does: nothing but gravity and the speed at first decide, not which way it could go."""
    scene = scenes.four_bar_chain(4)
    result = run(scene, 3.0, every=5)
    rods = [result.model.joints[f"rod{i}_joint"].q.start for i in range(5)]
    turned = result.q[:, rods]
    assert turned[-1, 0] > 2 * np.pi  # around, twice through the flat position
    np.testing.assert_allclose(turned, np.repeat(turned[:, :1], 5, axis=1), atol=1e-9)
    # one degree of freedom: (5 / 3 + 4) / 2 w^2 + 9.81 (5 / 2 + 4) cos(angle) is kept
    speed = result.v[:, rods[0]]
    energy = (5 / 3 + 4) / 2 * speed**2 + 9.81 * 6.5 * np.cos(turned[:, 0])
    assert np.ptp(energy) < 1e-9


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_andrews_squeezer_as_published(integrator):
    scene = scenes.andrews()
    result = run(scene, 0.03, integrator=integrator, every=10)
    for i, name in enumerate(result.model.body_names):
        assert result.q[-1, i] == pytest.approx(SQUEEZED[name], abs=2e-8)
        assert result.v[-1, i] == pytest.approx(SQUEEZING[name], rel=1e-4)
    assert max(widest_gap(result)) < 1e-12
    crank = result.model.joints["crank_joint"].q.start
    work = 0.033 * (result.q[:, crank] - result.q[0, crank])
    assert np.ptp(result.energy - work) < 1e-8
    assert work[-1] > 0.5


def test_andrews_squeezer_begins_as_published():
    scene = scenes.andrews()
    spring, motor = scene.forces
    tau = motor(0.0, scene.q0, np.zeros(scene.model.nv), scene.model)
    D = supple.poses(scene.model, scene.q0)["triangle"]
    pull = D.rotation @ spring.point + D.position - spring.anchor
    force = -spring.stiffness * (1 - spring.length / np.linalg.norm(pull)) * pull
    wrenches = supple.wrench(scene.model, "triangle", force=force, point=spring.point, q=scene.q0)
    a = dict(zip(scene.model.body_names, supple.forward_dynamics(scene.model, scene.q0, None, tau, wrenches)))
    assert a["crank"] == pytest.approx(14222.4439199541, rel=1e-9)
    assert a["connecting rod"] == pytest.approx(-10666.8329399656, rel=1e-9)


def test_the_governor_keeps_its_angular_momentum():
    scene = scenes.flyball()
    result = run(scene, 2.0, every=10)
    spins = [supple.momentum(result.model, q, v)[2] for q, v in zip(result.q, result.v)]
    assert spins[0] > 10.0
    assert np.ptp(spins) < 1e-9
    left, right = (result.model.joints[f"arm{i}_joint"].q.start for i in (0, 1))
    np.testing.assert_allclose(result.q[:, left], -result.q[:, right], atol=1e-10)


def test_springs_in_place_of_rods_do_nearly_the_same():
    """A05 without loops: the springs give by a tenth of a millimetre, the rods weigh 0.15 kg each."""
    stiff, rigid = scenes.flyball(springs=True), scenes.flyball()
    assert stiff.model.is_tree and not rigid.model.is_tree
    ends = [run(scene, 0.05, every=10).segments[-1] for scene in (stiff, rigid)]
    slid = [end.q[-1, end.model.joints["slider_joint"].q.start] - 0.5 for end in ends]
    assert slid[0] == pytest.approx(slid[1], rel=0.05)
    assert abs(slid[0]) > 1e-3


@pytest.mark.parametrize("angle", [0.3, 1.0, 2.0])
def test_slider_crank_by_its_closed_form(angle):
    """x = r cos t + sqrt(l^2 - r^2 sin^2 t), its speed, and the one equation of motion in the crank's angle t."""
    r, l, w, h = 0.2, 0.6, 3.0, 1e-5

    def place(t):
        return r * cos(t) + sqrt(l * l - (r * sin(t)) ** 2)

    scene = scenes.slider_crank(r, l, angle, w)
    model, names = scene.model, scene.model.body_names
    slider = names.index("slider")
    assert scene.q0[slider] == pytest.approx(place(angle), abs=1e-12)
    v = scene.v0 * (-w / scene.v0[names.index("crank")])  # v0 is the nearest allowed velocity, which is slower
    assert v[slider] == pytest.approx((place(angle + h) - place(angle - h)) / (2 * h) * w, rel=1e-6)

    def inertia(t):
        s = scenes.slider_crank(r, l, t, 1.0)
        u = s.v0 / -s.v0[names.index("crank")]
        return 2 * supple.kinetic_energy(s.model, s.q0, u)

    def potential(t):
        s = scenes.slider_crank(r, l, t)
        return supple.potential_energy(s.model, s.q0)

    h = 1e-4
    slope_M, slope_V = ((f(angle + h) - f(angle - h)) / (2 * h) for f in (inertia, potential))
    expected = -(0.5 * slope_M * w * w + slope_V) / inertia(angle)
    assert -supple.forward_dynamics(model, scene.q0, v)[names.index("crank")] == pytest.approx(expected, rel=1e-5)
