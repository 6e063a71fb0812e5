"""Springs between two bodies: closed forms, conservation laws, and how they are attached, changed and removed."""

from __future__ import annotations

import numpy as np
import pytest

import supple
from oracle import random_model
from supple import AdaptiveDynamics, ModelBuilder, QuasiStatics, SpringBetween
from supple.simulating.forces import Forces

EVERY = [
    *({"method": m} for m in ("aba", "crba", "virtual-work", "dca")),
    *({"integrator": i} for i in ("dop853", "semi-implicit")),
    {"method": "adaptive", "active": 2},
    {"method": "adaptive", "error": 0.0, "guaranteed": True},
]


def sliders(masses=(2.0, 3.0), joint="prismatic", damping=0.0):
    """Two bodies that slide along x, or are free."""
    b = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    for name, m in zip("ab", masses):
        b.add_body(name, "world", joint, axis=(1, 0, 0), mass=m, inertia=np.eye(3), damping=damping)
    return b.build()


@pytest.mark.parametrize("how", EVERY, ids=str)
@pytest.mark.parametrize("length", [0.0, 0.5])
def test_two_bodies_swing_with_their_reduced_mass(how, length):
    """x2 - x1 = L + A cos(w t), w^2 = k / m, 1/m = 1/m1 + 1/m2; their centre of mass moves evenly."""
    model, k, far = sliders(), 40.0, length + 0.2
    w, u, t = np.sqrt(k * (1 / 2.0 + 1 / 3.0)), 0.3, 0.6
    spring = SpringBetween("a", "b", k, length=length)
    dt = 2e-5 if how.get("integrator") == "semi-implicit" else 5e-4
    run = supple.simulate(model, [0.0, far], [u, u], duration=t, dt=dt, forces=[spring], **how).final
    assert run.q[1] - run.q[0] == pytest.approx(length + 0.2 * np.cos(w * t), abs=5e-6)
    assert run.v[1] - run.v[0] == pytest.approx(-0.2 * w * np.sin(w * t), abs=5e-5)
    assert (2.0 * run.q[0] + 3.0 * run.q[1]) / 5.0 == pytest.approx(0.6 * far + u * t, abs=1e-12)
    assert 2.0 * run.v[0] + 3.0 * run.v[1] == pytest.approx(5.0 * u, abs=1e-12)


def test_a_damper_takes_the_relative_motion_only():
    """Critically damped, from rest: x = A (1 + w t) exp(-w t); and through zero length, where its line turns round."""
    model, k, m = sliders(), 40.0, 1.0 / (1 / 2.0 + 1 / 3.0)
    w = np.sqrt(k / m)
    spring = SpringBetween("a", "b", k, damping=2.0 * m * w, length=0.5)
    run = supple.simulate(model, [0.0, 0.7], duration=0.5, forces=[spring]).final
    assert run.q[1] - run.q[0] == pytest.approx(0.5 + 0.2 * (1 + w * 0.5) * np.exp(-w * 0.5), abs=1e-9)
    weak, s = SpringBetween("a", "b", k, damping=0.4 * m * w), 0.2
    through = supple.simulate(model, [0.0, 0.0], [0.0, 1.0], duration=1.0, forces=[weak])
    d = w * np.sqrt(1 - s**2)  # begins with both ends at one point
    np.testing.assert_allclose(
        through.q[:, 1] - through.q[:, 0], np.exp(-s * w * through.times) * np.sin(d * through.times) / d, atol=1e-9
    )


@pytest.mark.parametrize("how", EVERY, ids=str)
def test_free_bodies_keep_their_momentum_to_rounding(how):
    """Nothing turns: both are pulled at their centres of mass, in a direction that is no axis."""
    model = sliders(joint="free")
    q = model.neutral()
    q[model.joints["b_joint"].q][:3] = q[model.joints["b_joint"].q.start :][:3] = (0.4, -0.7, 0.3)
    v = np.random.default_rng(0).standard_normal(12)
    for j in ("a_joint", "b_joint"):
        at = model.joints[j].v
        v[at.start + 3 : at.stop] = 0.0
    spring = SpringBetween("a", "b", 50.0, damping=0.5, length=0.3)
    run = supple.simulate(model, q, v, duration=0.3, dt=1e-3, forces=[spring], **how)
    before, after = supple.momentum(model, q, v), supple.momentum(model, run.final.q, run.final.v)
    np.testing.assert_allclose(after[3:], before[3:], rtol=0, atol=1e-13)
    # no Runge-Kutta method keeps x × p, which is quadratic, to rounding
    np.testing.assert_allclose(after[:3], before[:3], rtol=0, atol=1e-4 if "semi" in str(how) else 1e-6)
    assert np.abs(run.final.v - v).max() > 0.1


@pytest.mark.parametrize("seed", range(10))
def test_forces_on_both_bodies_are_equal_and_opposite(seed):
    """About the world's origin they sum to zero to rounding, on trees of any joints."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 8)
    q, v = model.random(rng), rng.standard_normal(model.nv)
    a, b = (int(i) for i in rng.choice(8, 2, replace=False))
    rope = bool(seed % 2)
    spring = SpringBetween(a, b, 50.0, *rng.standard_normal((2, 3)), 3.0, 0.01 if rope else 0.8, rope)
    _, wrenches = Forces(model, [spring], None)(0.0, q, v)
    R, X = supple.poses(model, q).rotation, supple.poses(model, q).position
    f = np.einsum("nij,nj->ni", R, wrenches[:, 3:])
    moment = np.einsum("nij,nj->ni", R, wrenches[:, :3]) + np.cross(X, f)
    size = np.abs(f).max() * (1.0 + np.abs(X).max())
    assert size > 0.1
    np.testing.assert_allclose(f.sum(axis=0), 0.0, atol=1e-14 * size)
    np.testing.assert_allclose(moment.sum(axis=0), 0.0, atol=1e-13 * size)


def test_energy_is_conserved_and_counted():
    rng = np.random.default_rng(3)
    model = random_model(rng, 6, ("revolute", "ball", "free"), world=0.3, extras=False)
    q, v = model.random(rng), rng.standard_normal(model.nv)
    springs = [
        SpringBetween(0, 5, 30.0, length=0.3),
        SpringBetween(1, 3, 20.0, (0.1, 0, 0), length=2.0, pulls_only=True),
    ]
    run = supple.simulate(model, q, v, duration=0.5, integrator="dop853", rtol=1e-12, atol=1e-12, forces=springs)
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-9)
    assert np.ptp(run.potential) > 0.1
    ad = AdaptiveDynamics(model, q, v)
    assert ad.energy - AdaptiveDynamics(model, q, v).energy == 0.0
    for s in springs:
        ad.spring_between(s.body, s.other, s.stiffness, s.point, s.other_point, s.damping, s.length, s.pulls_only)
    assert ad.energy == pytest.approx(run.energy[0], rel=1e-12)
    ad.run(0.5, 1e-4)
    assert ad.energy == pytest.approx(run.energy[0], rel=1e-5)


def test_a_run_that_gains_energy_is_stopped():
    """The spring's energy counts: a stiff one with long steps of Euler's method explodes, and that is said."""
    how = dict(duration=10.0, dt=0.1, forces=[SpringBetween("a", "b", 400.0, length=0.1)])
    with pytest.raises(supple.SimulationError, match="the run diverged"):
        supple.simulate(sliders(), [0.0, 0.2], integrator="euler", **how)
    with pytest.raises(supple.SimulationError):
        supple.simulate(sliders(), [0.0, 0.2], method="adaptive", active=2, **how)


def test_a_slack_rope_does_nothing_and_never_pushes():
    rope = SpringBetween("a", "b", 1e3, damping=50.0, length=1.0, pulls_only=True)
    slack = supple.simulate(sliders(), [0.0, 0.5], [0.0, 0.4], duration=1.0, forces=[rope])
    np.testing.assert_allclose(slack.v, [[0.0, 0.4]] * len(slack), rtol=0, atol=1e-15)
    taut = supple.simulate(sliders(), [0.0, 0.999], [0.0, 2.0], duration=0.5, forces=[rope])
    assert (np.diff(taut.v[:, 0]) >= -1e-12).all() and (np.diff(taut.v[:, 1]) <= 1e-12).all()
    assert np.ptp(taut.v[:, 1]) > 0.5
    assert taut.potential[0] == 0.0


@pytest.mark.parametrize("order", ["balanced", "chain"])
def test_adaptive_bodies_feel_it_whatever_is_rigid(order):
    """Each pair of bodies, in one rigid piece, in two, or on the piece that is fixed to the world; all accelerations
    are the exact ones."""
    model = supple.trees.random_tree(12, seed=2)
    rng = np.random.default_rng(1)
    q = model.random(rng)
    for moving in range(0, 12, 4):
        v = np.where(model.dof_body == moving, 0.7, 0.0)
        for _ in range(4):
            a, b = (int(i) for i in rng.choice(12, 2, replace=False))
            spring = SpringBetween(a, b, 30.0, *rng.standard_normal((2, 3)), 2.0, 0.4)
            tau, wrenches = Forces(model, [spring], None)(0.0, q, v)
            exact = supple.forward_dynamics(model, q, v, tau, wrenches)
            ad = AdaptiveDynamics(model, q, v, error=0.0, guaranteed=True, order=order)
            ad.spring_between(a, b, 30.0, spring.point, spring.other_point, 2.0, 0.4)
            ad.step(1e-7)
            np.testing.assert_allclose((ad.v - v) / 1e-7, exact, rtol=0, atol=1e-5 * np.abs(exact).max())


def test_only_some_joints_move():
    """The equations of the joints that move, those of the others being at rest; and their energy is conserved."""
    model = supple.trees.chain(30, general=False)
    q, few = np.full(30, 0.1), [27, 28, 29]
    spring = SpringBetween("link29", "link12", 0.5, length=0.3)
    _, wrenches = Forces(model, [spring], None)(0.0, q, np.zeros(30))
    C = supple.inverse_dynamics(model, q, wrenches=wrenches)
    exact = np.linalg.solve(supple.mass_matrix(model, q)[np.ix_(few, few)], -C[few])
    ad = AdaptiveDynamics(model, q, active=few)
    ad.spring_between("link29", "link12", 0.5, length=0.3)
    before = ad.energy
    ad.step(1e-7)
    np.testing.assert_allclose(ad.v[few] / 1e-7, exact, rtol=1e-6)
    ad.run(0.3, 1e-4)
    assert ad.energy == pytest.approx(before, abs=1e-5) and np.abs(ad.v[few]).max() > 5.0


@pytest.mark.parametrize("kind", [AdaptiveDynamics, QuasiStatics])
def test_they_are_changed_removed_copied(kind):
    model = sliders()
    body = kind(model, [0.0, 1.0])
    spring = body.spring_between("a", "b", 10.0, length=1.0)
    again = body.__copy__()
    body.step(0.01)
    assert body.q.tolist() == [0.0, 1.0]
    spring.set(length=0.5)
    assert spring.length == 0.5
    body.step(0.01)
    assert body.q[0] > 0.0 > body.q[1] - 1.0
    spring.remove()
    assert "removed" in repr(spring)
    with pytest.raises(supple.StateError, match="removed"):
        spring.remove()
    if kind is QuasiStatics:
        at = body.q.copy()
        body.step(0.01)
        assert (body.q == at).all()
    again.step(0.01)
    assert again.q.tolist() == [0.0, 1.0]


def test_quasi_statics_follows_both_ends():
    """It comes to rest where the spring is as long as it wants to be, moved by both ends alike."""
    model = sliders((2.0, 2.0))
    qs = QuasiStatics(model, [0.0, 1.0])
    qs.spring_between("a", "b", 10.0, length=0.4)
    for _ in range(400):
        qs.step(0.1)
    np.testing.assert_allclose(qs.q, [0.3, 0.7], atol=1e-6)


def test_quasi_statics_is_exact_at_every_step():
    rng = np.random.default_rng(4)
    model = random_model(rng, 20)
    qs = QuasiStatics(model, model.random(rng), error=0.0)
    spring = SpringBetween(3, 17, 5.0, *rng.standard_normal((2, 3)), length=0.3)
    qs.spring_between(3, 17, 5.0, spring.point, spring.other_point, length=0.3)
    acting = Forces(model, [spring], None)
    for _ in range(5):
        _, wrenches = acting(0.0, qs.q.copy(), np.zeros(model.nv))
        exact = supple.forward_dynamics(model, qs.q, None, None, wrenches)
        for found in (qs.solve(), [stage for stage in qs.refine(error=0.0) if not stage.whole][-1]):
            np.testing.assert_allclose(found.dense(), exact, rtol=0, atol=1e-9 * np.abs(exact).max())
        qs.step(0.05)


def test_quasi_statics_has_nothing_out_of_date():
    """After many steps by the tree, in which few joints are computed, it is what one that is built there finds."""
    rng = np.random.default_rng(5)
    model = random_model(rng, 40, ("revolute", "ball", "prismatic"), chain=0.7, world=0.05)
    qs = QuasiStatics(model, model.random(rng), error=2.0**-4)
    ends = [(2, 35), (30, 11)]
    for a, b in ends:
        qs.spring_between(a, b, 2.0, (0.1, 0.2, 0.3), length=0.3)
    for _ in range(5):
        for _ in range(100):
            qs.step(0.02)
        fresh = QuasiStatics(model, qs.q.copy(), error=2.0**-4)
        for a, b in ends:
            fresh.spring_between(a, b, 2.0, (0.1, 0.2, 0.3), length=0.3)
        found, wanted = ([x for x in each.refine(error=0.0) if not x.whole][-1].dense() for each in (qs, fresh))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11 * np.abs(wanted).max())
        qs.error = qs.error  # the next step is at the promised error again


def test_a_stepper_that_knows_none_refuses_it(monkeypatch):
    monkeypatch.delattr("supple.adaptive.simulated_body.SimulatedBody.spring_between")
    monkeypatch.delattr(QuasiStatics, "spring_between")
    with pytest.raises(supple.StateError, match="this method does not take <SpringBetween 'a' and 'b'"):
        supple.simulate(sliders(), duration=0.1, method="quasi-statics", forces=[SpringBetween("a", "b", 1.0)])


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda m: SpringBetween("a", "c", 1.0), "no body or frame named 'c'"),
        (lambda m: SpringBetween("a", "a", 1.0), "a spring between 'a' and 'a' does nothing: both are on body 'a'"),
        (lambda m: SpringBetween("a", "tip", 1.0), "a spring between 'a' and 'tip' does nothing: both are on body 'a'"),
        (lambda m: SpringBetween("a", "b", -1.0), "stiffness must be"),
        (lambda m: SpringBetween("a", "b", 1.0, length=-1.0), "length must be"),
        (lambda m: SpringBetween("a", "b", 1.0, other_point=(1, 2)), "other_point must be"),
    ],
)  # fmt: skip
def test_mistakes(make, said):
    b = ModelBuilder()
    for name in "ab":
        b.add_body(name, "world", "prismatic", mass=1.0, inertia=np.eye(3))
    b.add_frame("tip", "a", position=(0, 0, 1))
    for method in ("aba", "adaptive", "quasi-statics"):
        with pytest.raises(supple.SuppleError, match=said):
            supple.simulate(b.build(), duration=0.01, method=method, forces=[make(None)])
