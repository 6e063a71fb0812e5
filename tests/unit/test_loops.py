"""Loops: rows against finite differences, dynamics against a dense formula, linkages against closed forms."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import supple
from large_linkages import four_bar_chain
from linkages import (
    CLOSING,
    allowed_velocity,
    bennett,
    four_bar,
    random_linkage,
    random_rotation,
)
from supple.drawing import tree
from supple.exact.closure import closure
from supple.exact.with_loops import WITH_FORCES


def tree_of(model):
    return dataclasses.replace(model, loop_list=(), relation_list=())


def by_formula(model, q, v, tau):
    """Accelerations and forces along rows, from the matrices of the tree."""
    tree, rows = tree_of(model), closure(model, q, v)
    inverse = np.linalg.inv(supple.mass_matrix(tree, q))
    free = inverse @ (tau - supple.bias_force(tree, q, v))
    x = np.linalg.pinv(rows.G @ inverse @ rows.G.T, rcond=1e-11) @ (rows.g - rows.G @ free)
    return free + inverse @ rows.G.T @ x, x, rows


@pytest.mark.parametrize("kind", CLOSING)
def test_rows_are_derivatives(kind):
    """G is the derivative of phi, and g the part of its second derivative that velocities cause."""
    rng = np.random.default_rng(CLOSING.index(kind))
    model, q = random_linkage(rng, [kind])
    rows = closure(model, q)
    assert np.abs(rows.phi).max() < 1e-13
    h = 1e-6
    steps = [(closure(model, model.integrate(q, h * e)).phi - closure(model, model.integrate(q, -h * e)).phi) / (2 * h)
             for e in np.eye(model.nv)]  # fmt: skip
    np.testing.assert_allclose(rows.G, np.array(steps).T, atol=1e-8)
    v, h = allowed_velocity(rng, rows.G), 1e-4
    ahead, behind = (closure(model, model.integrate(q, s * h * v)).phi for s in (1, -1))
    np.testing.assert_allclose(closure(model, q, v).g, -(ahead + behind) / h**2, atol=1e-5)


def test_rows_hold_where_loops_are_open():
    """phi' = G v also away from closure, up to the first order in phi of rotations, so that Newton's method is one."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        model, q = random_linkage(rng, CLOSING)
        far = model.integrate(q, 1e-3 * rng.normal(size=model.nv))
        rows = closure(model, far)
        step = -np.linalg.lstsq(rows.G, rows.phi, rcond=1e-9)[0]
        left = closure(model, model.integrate(far, step)).phi
        assert np.abs(left).max() < 30 * np.abs(rows.phi).max() ** 2


@pytest.mark.parametrize("seed", range(6))
def test_dynamics_follow_the_formula(seed):
    """Every method, on mechanisms of all joint types, some with redundant rows; forces are the smallest ones."""
    rng = np.random.default_rng(seed)
    model, q = random_linkage(rng, CLOSING, n=9, loops=3)
    v, tau = allowed_velocity(rng, closure(model, q).G), rng.normal(size=model.nv)
    a, x, rows = by_formula(model, q, v, tau)
    for method in ("aba", "crba", "dense"):
        np.testing.assert_allclose(supple.forward_dynamics(model, q, v, tau, method=method), a, atol=1e-9)
    found = WITH_FORCES(model, q, v, tau, None)
    np.testing.assert_allclose(found[model.nv :], x, atol=1e-8 * np.abs(x).max())
    assert np.abs(rows.G @ found[: model.nv] - rows.g).max() < 1e-10


def test_tree_loses_nothing():
    """A model without loops has the dynamics of the tree, by the same calls."""
    model, q = random_linkage(np.random.default_rng(1), loops=0)
    assert model.is_tree
    assert supple.close_loops(model, q).tolist() == q.tolist()
    assert supple.mobility(model, q) == supple.Mobility(model.nv, 0, 0, (), False)


def test_batches_and_odd_arguments():
    rng = np.random.default_rng(2)
    model, q = random_linkage(rng)
    qs, tau = np.array([q, q]), rng.normal(size=(2, model.nv))
    both = supple.forward_dynamics(model, qs, None, tau)
    for method in ("aba", "crba", "dense"):
        again = supple.forward_dynamics(model, qs.tolist(), None, tau, method=method)
        np.testing.assert_allclose(again, both, atol=1e-9)
        with pytest.raises(supple.StateError, match="state 1 of the batch"):
            supple.forward_dynamics(model, qs, None, [tau[0], np.full(model.nv, np.nan)], method=method)
    with pytest.raises(supple.ModelError, match="'virtual-work' is for trees"):
        supple.forward_dynamics(model, q, method="virtual-work")
    with pytest.raises(supple.ModelError, match="for trees"):
        supple.virtual_work(model, q)


def test_names_of_loops_are_suggested_as_joints():
    model = four_bar()
    q = supple.close_loops(model, [-1.0, -0.2, 2.0])
    with pytest.raises(supple.ModelError, match="no joint named 'pim'; did you mean 'pin'"):
        supple.joint_wrenches(model, q, joint="pim")
    with pytest.raises(supple.ModelError, match="no joint named 'x'; there are: 'crank_joint', "):
        supple.joint_wrenches(model, q, joint="x")


def test_loop_forces_are_joint_wrenches():
    """Newton's and Euler's laws for each body, with the wrenches of all joints, those of loops included."""
    rng = np.random.default_rng(4)
    for _ in range(5):
        model, q = random_linkage(rng, CLOSING, loops=3)
        v, tau = allowed_velocity(rng, closure(model, q).G), rng.normal(size=model.nv)
        carried = supple.joint_wrenches(model, q, v, tau)
        assert carried.shape == (model.n_bodies + 3, 6)
        a = supple.forward_dynamics(model, q, v, tau)
        pose, V = supple.poses(model, q), supple.velocities(model, q, v).spatial
        A = supple.accelerations(model, q, v, a).spatial
        origin = np.vstack([pose.position, np.zeros(3)])
        for i in range(model.n_bodies):
            total = np.zeros(6)  # about the world's origin
            ends = [(int(model.parent[j]), j, j) for j in range(model.n_bodies)]
            ends += [(x.body, x.other, model.n_bodies + k) for k, x in enumerate(model.loop_list)]
            for parent, child, row in ends:
                w = carried[row].copy()
                w[:3] += np.cross(origin[child], w[3:])
                total += w * ((child == i) - (parent == i) * 1.0)
            R, m = pose.rotation[i], model.mass[i]
            c, w_i = pose.position[i] + R @ model.com[i], V[i, :3]
            arm = R @ model.com[i]
            a_c = A[i, 3:] + np.cross(w_i, V[i, 3:]) + np.cross(A[i, :3], arm) + np.cross(w_i, np.cross(w_i, arm))
            I = R @ model.inertia[i] @ R.T
            force = m * (a_c - model.gravity)
            moment = I @ A[i, :3] + np.cross(w_i, I @ w_i) + np.cross(c, force)
            np.testing.assert_allclose(total, [*moment, *force], atol=1e-8)
        by_name = supple.joint_wrenches(model, q, v, tau, joint="loop1", frame="child")
        other = model.loops["loop1"].other
        np.testing.assert_allclose(pose.rotation[other] @ by_name[3:], carried[model.n_bodies + 1, 3:], atol=1e-9)


def test_power_balance():
    """The energy changes by what motors give and dampers take: forces of loops do no work."""
    rng = np.random.default_rng(6)
    for _ in range(5):
        model, q = random_linkage(rng, CLOSING, loops=2)
        v, tau = allowed_velocity(rng, closure(model, q).G), rng.normal(size=model.nv)
        a = supple.forward_dynamics(model, q, v, tau)
        ahead, behind = (energy_later(model, q, v, a, t) for t in (1e-5, -1e-5))
        assert (ahead - behind) / 2e-5 == pytest.approx(v @ (tau - model.damping * v), rel=1e-5, abs=1e-5)


def energy_later(model, q, v, a, t):
    q, v = model.integrate(q, v * t + 0.5 * a * t * t), v + a * t
    return supple.kinetic_energy(model, q, v) + supple.potential_energy(model, q)


def test_impact_keeps_loops_closed():
    rng = np.random.default_rng(7)
    for _ in range(5):
        model, q = random_linkage(rng, ("revolute", "ball", "universal"), loops=1)
        v = allowed_velocity(rng, closure(model, q).G)
        hit = supple.impact(model, q, v, body=str(model.body_names[-1]), joint="ball")
        rows = closure(hit.model, hit.q)
        assert np.abs(rows.phi).max() < 1e-12
        assert np.abs(rows.G @ hit.v).max() < 1e-10
        assert hit.energy_lost >= 0


# --- linkages with closed forms -----------------------------------------------------------------------------------


def four_bar_angles(crank, coupler, rocker, base, theta):
    """Angles of coupler and rocker relative to the body before, by the law of cosines."""
    A = np.array([crank * np.cos(theta), crank * np.sin(theta)])
    d = np.array([base, 0.0]) - A
    length = np.linalg.norm(d)
    inner = np.arccos((coupler**2 + length**2 - rocker**2) / (2 * coupler * length))
    first = np.arctan2(d[1], d[0]) + inner
    B = A + coupler * np.array([np.cos(first), np.sin(first)])
    second = np.arctan2(-B[1], base - B[0])
    return np.array([theta, first - theta, second - first])


def test_four_bar_closes_as_by_hand():
    sizes = (0.3, 0.8, 0.6, 0.7)
    model = four_bar(*sizes)
    for theta in np.linspace(0.1, 6.0, 7):
        exact = four_bar_angles(*sizes, theta)
        q = -exact  # about y, positive angles turn x to -z
        assert np.abs(closure(model, q).phi).max() < 1e-12
        again = supple.close_loops(model, q + [0.01, -0.02, 0.015])
        assert np.abs(closure(model, again).phi).max() < 1e-12
        found = supple.mobility(model, q)
        assert (found.degrees, found.rows, found.redundant) == (1, 5, 3)  # a plane linkage of hinges in space
        assert found.overconstrained == ("loop 'pin'",)
        assert not found.singular


def test_four_bar_accelerates_as_its_crank_angle():
    """The one equation of motion in the crank's angle: M(t) t'' + M'(t) t'^2 / 2 + V'(t) = tau."""
    sizes = (0.3, 0.8, 0.6, 0.7)
    model = four_bar(*sizes)

    def state(theta, rate):
        h = 1e-6
        q = -four_bar_angles(*sizes, theta)
        slope = -(four_bar_angles(*sizes, theta + h) - four_bar_angles(*sizes, theta - h)) / (2 * h)
        return q, slope * rate

    def M(theta):
        q, v = state(theta, 1.0)
        return 2 * supple.kinetic_energy(model, q, v)

    def V(theta):
        return supple.potential_energy(model, state(theta, 0.0)[0])

    theta, rate, torque, h = 0.8, 1.7, 2.0, 1e-4
    slope_M, slope_V = ((f(theta + h) - f(theta - h)) / (2 * h) for f in (M, V))
    expected = (torque - 0.5 * slope_M * rate**2 - slope_V) / M(theta)
    q, v = state(theta, rate)
    a = supple.forward_dynamics(model, q, v, [-torque, 0, 0])
    assert -a[0] == pytest.approx(expected, rel=1e-5)


def test_parallelogram_is_singular_when_flat():
    model = four_bar(0.4, 1.0, 0.4, 1.0)
    flat = np.array([0.0, 0.0, np.pi])  # crank and coupler along x, the rocker folded back
    found = supple.mobility(model, flat)
    assert found.singular
    assert found.degrees == 2
    a = supple.forward_dynamics(model, flat)
    rows = closure(model, flat)
    assert np.isfinite(a).all()
    assert np.abs(rows.G @ a - rows.g).max() < 1e-9


def test_planes_may_be_tilted():
    """Rows out of the plane are then not zero, but rounding."""
    rng, upright = np.random.default_rng(12), four_bar()
    q = supple.close_loops(upright, [-0.8, -0.4, 1.9])
    for _ in range(10):
        model = four_bar(turned=random_rotation(rng))
        np.testing.assert_allclose(supple.close_loops(model, [-0.8, -0.4, 1.9]), q, atol=1e-9)
        assert supple.mobility(model, q) == supple.mobility(upright, q)
        for method in ("aba", "crba", "dense"):
            np.testing.assert_allclose(
                supple.forward_dynamics(model, q, method=method), supple.forward_dynamics(upright, q), rtol=1e-9
            )


def test_long_plane_chains_may_be_tilted():
    """With more joints than rows, those that are rounding would look like independent ones."""
    rng = np.random.default_rng(13)
    for R in (np.eye(3), random_rotation(rng)):
        builder = supple.ModelBuilder(gravity=R @ (0, 0, -9.81))
        for i in range(12):
            builder.add_body(
                f"b{i}", None if i == 0 else i - 1, "continuous", axis=(0, 1, 0), mass=1, inertia=(0.1, 0.1, 0.1),
                position=(0, 0, 0) if i == 0 else (1, 0, 0), rotation=R if i == 0 else None,
            )  # fmt: skip
        builder.close("b11", None, axis=(0, 1, 0), position=(1, 0, 0), other_position=R @ (8, 0, 1), other_rotation=R)
        model = builder.build()
        q = supple.close_loops(model, np.linspace(-0.6, 0.5, 12))
        assert supple.mobility(model, q).degrees == 10
        if R[0, 0] == 1.0:
            straight = q, supple.forward_dynamics(model, q)
    np.testing.assert_allclose(q, straight[0], atol=1e-8)
    np.testing.assert_allclose(supple.forward_dynamics(model, straight[0]), straight[1], rtol=1e-8)


def test_overconstrained_linkage_at_a_rounded_position():
    """q with six digits is a little beside where Bennett's linkage is closed; it moves there all the same."""
    model, q = bennett()
    exact = supple.forward_dynamics(model, q)
    assert np.abs(exact).max() > 1.0
    assert supple.mobility(model, q.round(7)) == supple.Mobility(1, 5, 3, ("loop 'last'",), False)
    for method in ("aba", "crba", "dense"):
        for digits in (12, 10, 8, 6):
            a = supple.forward_dynamics(model, q.round(digits), method=method)
            np.testing.assert_allclose(a, exact, atol=1e3 * 10.0**-digits)


def test_parallel_axes_do_not_close_a_universal_joint():
    """There its row vanishes: it must not be taken for closed."""
    builder = supple.ModelBuilder()
    builder.add_body("a", None, "ball", mass=1.0, inertia=(1, 1, 1))
    turn = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])  # z of `other` along x, which is the first axis
    builder.close(None, "a", "universal", axis=(1, 0, 0), axis2=(0, 0, 1), other_rotation=turn.T)
    model = builder.build()
    assert np.abs(closure(model, model.neutral()).phi).max() > 0.9
    with pytest.raises(supple.StateError, match="loops are open"):
        supple.mobility(model, model.neutral())


def test_contradictory_loops_are_named():
    model = four_bar(0.1, 0.2, 0.1, 5.0)  # too short to reach
    with pytest.raises(supple.StateError, match=r"loop 'pin' cannot be closed from here: 4\.6\d? m of its gap"):
        supple.close_loops(model, [0.1, 0.2, 0.3])
    with pytest.raises(supple.StateError, match="loops are open"):
        supple.mobility(model, [0.1, 0.2, 0.3])


# --- relations ----------------------------------------------------------------------------------------------------


def gears(ratio=-3.0):
    builder = supple.ModelBuilder("gears")
    builder.add_body("wheel", None, "continuous", axis=(0, 1, 0), mass=2.0, inertia=(1, 0.5, 1))
    builder.add_body("pinion", None, "continuous", axis=(0, 1, 0), position=(1, 0, 0), mass=0.1, inertia=(1, 0.02, 1))
    builder.relate({"wheel_joint": ratio, "pinion_joint": -1.0}, offset=0.5, name="mesh")
    return builder.build()


def test_gears_share_torque():
    """One degree of freedom, with the inertia of both seen through the ratio."""
    model = gears()
    q = supple.close_loops(model, np.zeros(2))
    assert -3 * q[0] - q[1] == pytest.approx(0.5, abs=1e-12)
    for method in ("aba", "crba", "dense"):
        a = supple.forward_dynamics(model, q, None, [2.0, 0.5], method=method)
        assert a[1] == pytest.approx(-3 * a[0], rel=1e-12)
        assert a[0] == pytest.approx((2.0 - 3 * 0.5) / (0.5 + 9 * 0.02), rel=1e-12)
    assert supple.mobility(model, q).degrees == 1
    assert repr(model.relations["mesh"]) == "<Relation 'mesh': - 3 'wheel_joint' - 'pinion_joint' = 0.5>"


def test_factors_of_any_size_relate():
    for size in (1e-200, 1.0, 1e200):
        builder = supple.ModelBuilder()
        for name in "ab":
            builder.add_body(name, None, "continuous", mass=1, inertia=(1, 1, 1))
        builder.relate({"a_joint": size, "b_joint": size})
        model = builder.build()
        np.testing.assert_allclose(supple.close_loops(model, [1e-3, 0.0]), [5e-4, -5e-4], atol=1e-12)
        for method in ("aba", "crba", "dense"):
            np.testing.assert_allclose(supple.forward_dynamics(model, [0, 0], None, [1, 0], method=method), [0.5, -0.5])


def test_relations_that_contradict_each_other_are_both_named():
    builder = supple.ModelBuilder()
    for name in "abc":
        builder.add_body(name, None, "prismatic", mass=1, inertia=(1, 1, 1))
    builder.relate({"a_joint": 1.0, "b_joint": 1.0}, name="one")
    builder.relate({"c_joint": 1.0}, name="innocent")
    builder.relate({"a_joint": 2.0, "b_joint": 2.0}, offset=1.0, name="two")
    with pytest.raises(
        supple.StateError, match=r"relation '(one|two)' cannot .* with relation '(one|two)': 0\.25 of its"
    ):
        supple.close_loops(builder.build(), np.zeros(3))


# --- inverse dynamics ---------------------------------------------------------------------------------------------


def test_actuated_joints_do_it_alone():
    rng = np.random.default_rng(8)
    model = four_bar()
    q = supple.close_loops(model, [-0.8, -0.4, 1.9])
    rows = closure(model, q)
    v = allowed_velocity(rng, rows.G)
    a = supple.forward_dynamics(model, q, v, [1.5, 0, 0])
    np.testing.assert_allclose(
        supple.inverse_dynamics(model, q, v, a, actuated=["crank_joint"]), [1.5, 0, 0], atol=1e-9
    )
    both = supple.inverse_dynamics(model, q, v, a, actuated=["crank_joint", "rocker_joint"])
    assert both[1] == 0.0
    assert np.linalg.norm(both) < 1.5  # shared, and so smaller
    twice = supple.inverse_dynamics(model, q, v, a, actuated=["crank_joint", 0])
    np.testing.assert_allclose(twice, [1.5, 0, 0], atol=1e-9)
    np.testing.assert_allclose(supple.forward_dynamics(model, q, v, both), a, atol=1e-9)


def test_too_few_actuated_joints_are_refused():
    rng = np.random.default_rng(9)
    model, q = random_linkage(rng, ("ball",), loops=1)
    with pytest.raises(supple.StateError, match="actuate more joints"):
        supple.inverse_dynamics(model, q, a=allowed_velocity(rng, closure(model, q).G), actuated=["b3_joint"])


@pytest.mark.parametrize("seed", range(40))
def test_actuated_joints_do_it_or_are_refused(seed):
    """Some of the joints of random mechanisms, among them joints that loops hold, which can do nothing."""
    rng = np.random.default_rng(seed)
    model, q = random_linkage(rng, CLOSING, n=int(rng.integers(2, 8)), loops=int(rng.integers(1, 4)))
    model = dataclasses.replace(model, damping=np.zeros(model.nv))
    v = allowed_velocity(rng, closure(model, q).G)
    a = supple.forward_dynamics(model, q, v, rng.normal(size=model.nv))
    joints = rng.choice(model.joint_names, int(rng.integers(1, model.n_joints + 1)), replace=False).tolist()
    mine = np.isin(model.dof_body, [model.joints[name].index for name in joints])
    _, s, Vt = np.linalg.svd(closure(model, q).G)
    N, needed = Vt[np.count_nonzero(s > 1e-9) :].T, supple.inverse_dynamics(model, q, v, a)
    U, s, Vt = np.linalg.svd(N[mine], full_matrices=False)
    wanted = U[:, s > 1e-8] @ (Vt[s > 1e-8] @ (N.T @ needed) / s[s > 1e-8])
    if np.abs(N[mine].T @ wanted - N.T @ needed).max(initial=0.0) > 1e-7 * np.abs(needed).max():
        with pytest.raises(supple.StateError, match="actuate more joints"):
            supple.inverse_dynamics(model, q, v, a, actuated=joints)
        return
    tau = supple.inverse_dynamics(model, q, v, a, actuated=joints)
    np.testing.assert_allclose(tau[mine], wanted, atol=1e-7 * max(1.0, np.abs(wanted).max(initial=0.0)))
    assert not tau[~mine].any()
    np.testing.assert_allclose(supple.forward_dynamics(model, q, v, tau), a, atol=1e-7 * max(1.0, np.abs(a).max()))


def test_accelerations_that_open_loops_are_refused():
    model = four_bar()
    q = supple.close_loops(model, [-0.8, -0.4, 1.9])
    with pytest.raises(supple.StateError, match=r"these accelerations open loop 'pin', by 1\.55 \(m/s"):
        supple.inverse_dynamics(model, q, None, [1.0, 2.0, 3.0], actuated=["crank_joint"])


# --- models -------------------------------------------------------------------------------------------------------


def test_loops_are_part_of_the_model():
    model = four_bar()
    loop = model.loops["pin"]
    assert (loop.joint, loop.body, loop.other, loop.rows) == ("revolute", 2, -1, 5)
    assert "pin" in repr(loop)
    assert dataclasses.replace(model, name="x").loop_list == model.loop_list
    with pytest.raises(supple.ModelError, match="no loop named 'pn'"):
        model.loops["pn"]
    assert not model.is_tree


def test_rerooting_keeps_the_mechanism():
    """Another spanning tree, the same accelerations of bodies."""
    rng = np.random.default_rng(10)
    for _ in range(5):
        model, q = random_linkage(rng, CLOSING, loops=2)
        v = allowed_velocity(rng, closure(model, q).G)
        new = supple.reroot(model, q, v, body=str(model.body_names[-1]), joint="free")
        rows = closure(new.model, new.q, new.v)
        assert np.abs(rows.phi).max() < 1e-12
        assert np.abs(rows.G @ new.v).max() < 1e-11
        a, b = supple.forward_dynamics(model, q, v), supple.forward_dynamics(new.model, new.q, new.v)
        A, B = supple.accelerations(model, q, v, a), supple.accelerations(new.model, new.q, new.v, b)
        for name in model.body_names:
            np.testing.assert_allclose(A[name][:3], B[name][:3], atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(joint="free"), "is not a joint that closes a loop"),
        (dict(joint="hinge"), "is not a joint that closes a loop"),
        (dict(axis=(0, 0, 0)), "has no direction"),
        (dict(axis=(0, np.nan, 0)), "axis of loop 'pin'"),
        (dict(joint="ball", axis=np.array([b"1", b"0", b"0"])), "axis of loop 'pin'"),
        (dict(joint=np.zeros(2)), "is not a joint that closes a loop"),
        (dict(joint="universal", axis2=(0, 1, 0)), "must be perpendicular"),
        (dict(other=2), "to itself"),
        (dict(other=7), "numbered from 0"),
        (dict(name="crank_joint"), "both called 'crank_joint'"),
        (dict(position=(0, 0)), "position of loop 'pin'"),
        (dict(pitch=np.inf), "pitch of loop 'pin'"),
        (dict(pitch=1e200), "loop 'pin': pitch is too large for anything real"),
        (dict(position=(1e300, 0, 0)), "loop 'pin': position is too large for anything real"),
        (dict(other_position=(0, -1e61, 0)), "loop 'pin': other_position is too large for anything real"),
        (dict(body=-1, other=-1), "connects the world to itself"),
    ],
)
def test_loops_are_validated(change, message):
    model = four_bar()
    with pytest.raises(supple.ModelError, match=message):
        dataclasses.replace(model, loop_list=(dataclasses.replace(model.loop_list[0], **change),))


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ({}, "give the factor of each joint"),
        ({"wheel": 1.0}, "there is no joint 'wheel'"),
        ({"wheel_joint": np.nan}, "the factor of 'wheel_joint'"),
        ([1.0], "give the factor of each joint"),
        ({"wheel_joint": 0.0}, "all factors are zero"),
    ],
)
def test_relations_are_validated(factors, message):
    builder = supple.ModelBuilder()
    builder.add_body("wheel", None, "continuous", mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(supple.ModelError, match=message):
        builder.relate(factors)
        builder.build()


def test_many_loops():
    """5,000 welds are quick to solve, and leave one body; dense matrices are refused before memory runs out."""
    builder = supple.ModelBuilder()
    builder.add_bodies(np.full(5_001, -1), "free", mass=1.0, inertia=np.eye(3))
    for i in range(5_000):
        builder.close(i, i + 1, "fixed")
    model = builder.build()
    np.testing.assert_allclose(supple.forward_dynamics(model, model.neutral()), np.tile([0, 0, -9.81, 0, 0, 0], 5_001))
    assert supple.mobility(model, model.neutral()).degrees == 6
    with pytest.raises(supple.SuppleError, match="rows"):
        closure(model, model.neutral())


def test_loops_are_drawn_and_listed():
    """Dashed, in a colour that nothing else has; in a line each below the tree."""
    model = four_bar()
    assert "⟲ rocker to the world  [pin: revolute]" in model.tree()
    assert "⟲" not in tree_of(model).tree()
    for n, closed in ((1, model), (40, four_bar_chain(60)[0])):
        drawn = [closing_pixels(x) for x in (closed, tree_of(closed))]
        assert drawn[0] > 30 * n and drawn[1] == 0


def closing_pixels(model) -> int:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(model.plot())
    canvas.draw()
    seen = np.asarray(canvas.buffer_rgba())[..., :3].astype(int)
    colour = [int(tree.CLOSING[i : i + 2], 16) for i in (1, 3, 5)]
    return int((np.abs(seen - colour).max(axis=-1) < 20).sum())


@pytest.mark.parametrize("seed", range(20))
def test_loops_of_copies_are_the_same_to_the_last_bit(seed: int):
    model, _ = random_linkage(np.random.default_rng(seed), n=8, loops=6)
    for again in (pickle.loads(pickle.dumps(model)), dataclasses.replace(model), copy.deepcopy(model)):
        assert again.loop_list == model.loop_list
