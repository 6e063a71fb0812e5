"""Adaptive dynamics on any tree: exact with all joints, physical with some, never stale, honest about its error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import supple
from drawn import SETTINGS, near, systems
from oracle import free_roots, random_model
from supple import AdaptiveDynamics, ModelBuilder, trees
from supple.adaptive.measures import LINKAGE_MEASURES

FEW = settings(SETTINGS, max_examples=20)


def loaded(ad, rng):
    """Forces on an AdaptiveDynamics; a function of q and v that gives the joint forces and wrenches they are worth."""
    model = ad.model
    pushes = [(int(rng.integers(model.n_bodies)), *rng.standard_normal((3, 3)), frame) for frame in ("world", "body")]
    for body, force, point, torque, frame in pushes:
        ad.apply(body, force=force, point=point, torque=torque, frame=frame)
    tied, anchor, held, stiffness, damping = int(rng.integers(model.n_bodies)), *rng.standard_normal((2, 3)), 1.5, 0.3
    ad.spring(tied, anchor, stiffness, held, damping)
    joint, tau = model.joints[int(rng.integers(model.n_bodies))], np.zeros(model.nv)
    tau[joint.v] = rng.standard_normal(joint.v.stop - joint.v.start)
    ad.torque(joint.name, tau[joint.v])

    def loads(q, v):
        W = np.zeros((model.n_bodies, 6))
        for body, force, point, torque, frame in pushes:
            W += supple.wrench(model, body, force=force, torque=torque, point=point, q=q, frame=frame)
        R, x = (part[tied] for part in supple.poses(model, q))
        pull = stiffness * (anchor - x - R @ held) - damping * (supple.jacobian(model, q, tied, held) @ v)[3:]
        return tau, W + supple.wrench(model, tied, force=pull, point=held, q=q)

    return loads


def no_loads(q, v):
    return None, None


def constrained(model, loads, free):
    """The accelerations, as a function of q and v, while only the degrees of freedom in `free` may accelerate."""

    def accelerate(q, v):
        tau, W = loads(q, v)
        H = supple.mass_matrix(model, q)[np.ix_(free, free)]
        force = -supple.inverse_dynamics(model, q, v, np.zeros(model.nv), W) + (0.0 if tau is None else tau)
        a = np.zeros(model.nv)
        a[free] = np.linalg.solve(H, force[free])
        return a

    return accelerate


def full(model, loads=no_loads):
    return lambda q, v: supple.forward_dynamics(model, q, v, *loads(q, v))


def kicked(model, q, v, dt, accelerate):
    """Half a drift, a kick, half a drift."""
    q = model.integrate(q, v, 0.5 * dt)
    first = accelerate(q, v)
    middle = accelerate(q, v + 0.5 * dt * first)
    v = v + 0.25 * dt * (first + 2.0 * middle + accelerate(q, v + dt * middle))
    return model.integrate(q, v, 0.5 * dt), v


def some_moving(model, v, rng, share=0.5):
    """v with most joints at rest."""
    v = v.copy()
    for joint in model.joints.values():
        if rng.random() < share:
            v[joint.v] = 0.0
    return v


@SETTINGS
@given(systems(), st.integers(0, 2**32 - 1))
def test_all_joints_active_is_exact(system, seed):
    model, q, v, *_ = system
    ad = AdaptiveDynamics(model, q, v)
    loads = loaded(ad, np.random.default_rng(seed))
    for _ in range(2):
        q, v = kicked(model, q, v, 1e-3, full(model, loads))
        ad.step(1e-3)
        near(ad.v, v, 1e-9)
        near(model.difference(q, ad.q), np.zeros(model.nv), 1e-9)


@SETTINGS
@given(systems(), st.integers(0, 2**32 - 1))
def test_load_cases_equal_a_direct_pass(system, seed):
    """Most joints rest, so most nodes are passive, and their coefficients come from load cases: nothing but exact ones
    give the exact accelerations of all joints, and their weighted sum of squares at the root."""
    model, q, v, *_ = system
    rng = np.random.default_rng(seed)
    v = some_moving(model, v, rng)
    weights = rng.uniform(0.5, 2.0, model.n_bodies)
    ad = AdaptiveDynamics(model, q, v, error=0.0, guaranteed=True, weights=weights)
    exact = supple.forward_dynamics(model, q, v, *loaded(ad, rng)(q, v))
    ad.step(1e-13)  # so short that accelerations are those of now
    near(ad._hybrid.memory.body.qdd, exact, 1e-9)
    total = (np.repeat(weights, np.diff([*model.v_index, model.nv])) * exact**2).sum()
    near(ad._hybrid.memory.acceleration_total, total, 1e-7)  # a difference of larger numbers


@FEW
@given(systems(), st.integers(0, 2**32 - 1))
def test_matrix_weights(system, seed):
    model, q, *_ = system
    rng = np.random.default_rng(seed)
    weights, total = {}, 0.0
    exact = supple.forward_dynamics(model, q, np.zeros(model.nv))
    for name, joint in model.joints.items():
        k = joint.v.stop - joint.v.start
        A = rng.standard_normal((k, k))
        A = A @ A.T + np.eye(k)
        weights[name] = A if rng.random() < 0.5 else lambda q, A=A: (1 + q[0] ** 2) * A
        scale = 1.0 if isinstance(weights[name], np.ndarray) else 1 + q[joint.q][0] ** 2
        total += scale * exact[joint.v] @ A @ exact[joint.v]
    ad = AdaptiveDynamics(model, q, error=0.0, guaranteed=True, weights=weights)
    ad.step(1e-9)
    near(ad._hybrid.memory.acceleration_total, total, 1e-7)  # a difference of larger numbers


def test_what_is_asked_is_met_however_little():
    """Sums that run from a large number down to a small one drift, and must not be believed."""
    for seed in range(12):
        model = trees.chain(100, gravity=(0, 0, 0), seed=seed)
        q, push = model.random(seed), dict(force=(100, 200, 300), point=(0.1, 0.2, 0.3))
        W = supple.wrench(model, seed, q=q, **push)
        a = supple.forward_dynamics(model, q, np.zeros(100), None, W)
        for share in (1e-10, 1e-14, 1e-16, 1e-18):
            error = float(np.sqrt(share) * np.linalg.norm(a))
            for measure, e in (("absolute-linkage", error), ("relative-linkage", float(np.sqrt(share)))):
                sure = AdaptiveDynamics(model, q, error=e, measure=measure, guaranteed=True)
                some = AdaptiveDynamics(model, q, a, error=e, measure=measure, update_every=1)
                for ad in (sure, some):
                    ad.apply(seed, **push)
                    ad.step(1e-6)
                assert sure.stats.error == sure.stats.acceleration_error <= sure.error
                assert some.stats.error == some.stats.velocity_error <= some.error


@FEW
@given(systems(), st.integers(0, 2**32 - 1))
def test_weights_that_are_functions_follow(system, seed):
    """Both kinds, at every update: a body whose weights depend on position chooses as one that is made there."""
    model, q, v, *_ = system
    rng = np.random.default_rng(seed)
    scale = 10 ** rng.uniform(-2, 2, (2, model.n_bodies))
    of, to = ({j: (lambda x, k=k: 1.0 + k * float(x @ x)) for j, k in enumerate(row)} for row in scale)
    how = dict(active=model.n_bodies // 2, update_every=2, weights=of, velocity_weights=to)
    ad = AdaptiveDynamics(model, q, v, **how)
    if free_roots(model).sum() + how["active"] >= model.n_bodies:  # all move: nothing is chosen, no weight matters
        return
    for _ in range(3):
        again = AdaptiveDynamics(model, ad.q, ad.v, **how)
        ad.step(1e-2)
        again.step(1e-2)
        assert ad.active_joints.tolist() == again.active_joints.tolist()
        for name in ("acceleration", "velocity"):
            near(getattr(ad._hybrid.metrics, name).values, getattr(again._hybrid.metrics, name).values, 1e-14)
        np.testing.assert_array_equal(ad._hybrid.memory.velocity_weight, ad._hybrid.metrics.velocity.values)
        near(ad.stats.velocity_error, again.stats.velocity_error, 1e-9)
        ad.step(1e-2)
    ad.set_state(q)
    again = AdaptiveDynamics(model, q, **how)
    np.testing.assert_array_equal(ad._hybrid.memory.velocity_weight, again._hybrid.memory.velocity_weight)
    np.testing.assert_array_equal(ad._hybrid.metrics.acceleration.values, again._hybrid.metrics.acceleration.values)


def test_functions_cannot_change_positions():
    def weight(q):
        q[:] = 5.0
        return 1.0

    ad = AdaptiveDynamics(trees.chain(4), np.full(4, 0.5), active=2, weights={0: weight}, velocity_weights={1: weight})
    ad.step(1e-6)
    near(ad.q, np.full(4, 0.5), 1e-6)


def test_update_every_may_be_changed():
    """It counts from the last choice, and a choice that is due by then is made at the next step."""
    ad = AdaptiveDynamics(trees.chain(8), active=3, update_every=1000)
    ad.run(5e-3, 1e-3)
    assert ad.stats.updates == 1
    ad.update_every = 7
    ad.run(2e-3, 1e-3)
    assert ad.stats.updates == 1 and ad.update_every == 7
    ad.step(1e-3)
    assert ad.stats.updates == 2
    ad.update_every = 2
    ad.run(8e-3, 1e-3)
    assert ad.stats.updates == 6
    ad.update_every = 1000
    ad.run(20e-3, 1e-3)
    assert ad.stats.updates == 6
    with pytest.raises(supple.StateError, match="set error first"):
        ad.guaranteed = True


@FEW
@given(systems(), st.integers(0, 2**32 - 1), st.floats(0.01, 1.0), st.sampled_from(LINKAGE_MEASURES))
def test_guaranteed_error_is_certified(system, seed, share, measure):
    """... at every step: the size of the accelerations treated as zero is what is said, and no more than asked. These
    are the accelerations by which velocities change: of positions half a step on, and of the velocities there by what
    the hybrid body does."""
    model, q, v, *_ = system
    rng, dt = np.random.default_rng(seed), 1e-4
    v = some_moving(model, v, rng, 0.8)
    exact = supple.forward_dynamics(model, q, v)
    absolute, asked = measure == "absolute-linkage", share * float(exact @ exact)
    ad = AdaptiveDynamics(model, q, v, error=float(np.sqrt(asked if absolute else share)), measure=measure,
                          guaranteed=True)  # fmt: skip
    for _ in range(3):
        v, free = ad.v.copy(), np.isin(model.dof_body, ad.active_joints)
        q = model.integrate(ad.q, v, 0.5 * dt)
        exact = supple.forward_dynamics(model, q, v + 0.5 * dt * constrained(model, no_loads, free)(q, v))
        ad.step(dt)
        missing = exact - (ad.v - v) / dt
        error, size = float(missing @ missing), float(exact @ exact)
        slack = 1e-7 * max(1.0, size)
        assert ad.stats.certified
        unit = 1.0 if absolute else size  # of squares
        assert ad.stats.acceleration_error**2 * unit <= (asked if absolute else share * size) + slack
        assert abs(error - ad.stats.acceleration_error**2 * unit) <= slack


def welded(model, q, keep):
    """The model built again, with all joints but those in `keep` welded where they are."""
    R, x = supple.poses(model, q)
    builder = ModelBuilder(gravity=model.gravity)
    for b in range(model.n_bodies):
        up = int(model.parent[b])
        common = dict(mass=model.mass[b], com=model.com[b], inertia=model.inertia[b], joint_name=model.joint_names[b])
        if b in keep:
            joint = model.joints[b]
            builder.add_body(
                model.body_names[b], None if up < 0 else up, joint.type, axis=model.axis[b], axis2=model.axis2[b],
                pitch=model.pitch[b], position=model.position[b], rotation=model.rotation[b],
                damping=model.damping[joint.v], armature=model.armature[joint.v], **common,
            )  # fmt: skip
        else:
            R0, x0 = (np.eye(3), np.zeros(3)) if up < 0 else (R[up], x[up])
            builder.add_body(
                model.body_names[b], None if up < 0 else up, "fixed", position=R0.T @ (x[b] - x0), rotation=R0.T @ R[b],
                **common,
            )  # fmt: skip
    return builder.build()


@FEW
@given(systems(), st.integers(0, 2**32 - 1))
def test_fixed_hybrid_body_is_the_welded_one(system, seed):
    model, q, v, *_ = system
    keep = np.append(np.flatnonzero(np.random.default_rng(seed).random(model.n_bodies - 1) < 0.5), model.n_bodies - 1)
    v = np.where(np.isin(model.dof_body, keep), v, 0.0)
    ad = AdaptiveDynamics(model, q, v, active=keep.tolist())
    ad.step(1e-3)
    assert set(ad.active_joints) == set(keep)
    rebuilt = welded(model, q, keep)
    part = np.concatenate([np.zeros(0)] + [q[model.joints[name].q] for name in rebuilt.joint_names])
    rates = np.concatenate([np.zeros(0)] + [v[model.joints[name].v] for name in rebuilt.joint_names])
    after = v.copy()
    if len(rebuilt.joint_names):
        _, rates = kicked(rebuilt, part, rates, 1e-3, full(rebuilt))
        for name, joint in rebuilt.joints.items():
            after[model.joints[name].v] = rates[joint.v]
    near(ad.v, after, 1e-9)


@FEW
@given(systems(), st.integers(0, 2**32 - 1))
def test_forces_on_a_fixed_hybrid_body(system, seed):
    """Joints that are not active are constraints: the others accelerate as the mass matrix without their rows says."""
    model, q, v, *_ = system
    rng = np.random.default_rng(seed)
    keep = np.flatnonzero(rng.random(model.n_bodies) < 0.5)
    free = np.isin(model.dof_body, keep)
    v = np.where(free, v, 0.0)
    ad = AdaptiveDynamics(model, q, v, active=keep.tolist())
    _, after = kicked(model, q, v, 1e-3, constrained(model, loaded(ad, rng), free))
    ad.step(1e-3)
    near(ad.v, after, 1e-9)
    assert set(ad.active_joints) == set(keep)


@FEW
@given(systems(), st.integers(0, 2**32 - 1))
def test_rigidification(system, seed):
    """Stopping joints takes exactly 1/2 v_R (K^R)^-1 v_R of kinetic energy, K^R of H^-1's rows and columns; the others'
    momenta stay."""
    model, q, v, *_ = system
    count = int(np.random.default_rng(seed).integers(0, model.n_bodies + 1))
    ad = AdaptiveDynamics(model, q, v, active=count)
    dt = 1e-12  # accelerations add nothing
    before = ad.kinetic
    near(before, supple.kinetic_energy(model, q, v), 1e-10)
    ad.step(dt)
    stopped = ~np.isin(model.dof_body, ad.active_joints)
    assert not ad.v[stopped].any()
    assert len(ad.active_joints) <= count + int(free_roots(model).sum())
    H = supple.mass_matrix(model, q)
    K = np.linalg.inv(H)[np.ix_(stopped, stopped)]
    predicted = 0.5 * v[stopped] @ np.linalg.solve(K, v[stopped]) if stopped.any() else 0.0
    near(ad.stats.energy_removed, predicted, 1e-8)
    near(ad.kinetic, before - predicted, 1e-8)
    near((H @ ad.v)[~stopped], (H @ v)[~stopped], 1e-8)
    assert ad.kinetic <= before * (1 + 1e-9)


def test_momentum_of_a_free_body_is_kept():
    """A floating body in free space, thinned to a third of its joints again and again: neither momentum changes."""
    rng = np.random.default_rng(4)
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("hub", joint="free", mass=2.0, inertia=np.diag([0.3, 0.4, 0.5]))
    for i in range(12):
        builder.add_body(
            f"b{i}", parent="hub" if i % 4 == 0 else f"b{i - 1}", axis=rng.standard_normal(3),
            position=rng.standard_normal(3), mass=0.5, com=(0.1, 0, 0), inertia=np.diag([0.03, 0.04, 0.05]),
        )  # fmt: skip
    model = builder.build()
    ad = AdaptiveDynamics(model, model.random(rng), rng.standard_normal(model.nv), active=5, update_every=3)
    ad.pin("hub_joint")
    before = supple.momentum(model, ad.q, ad.v)
    for _ in range(20):
        ad.step(1e-9)
    after = supple.momentum(model, ad.q, ad.v)
    near(np.array(after).reshape(-1), np.array(before).reshape(-1), 1e-6)
    assert ad.stats.energy_removed > 0
    assert len(ad.active_joints) <= 5 + 1  # the hub does not count


@FEW
@given(systems(), st.integers(0, 2**32 - 1))
def test_lazy_steps_equal_rebuilding(system, seed):
    """What is kept from step to step is what it would be anew."""
    model, q, v, *_ = system
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, model.n_bodies + 1))
    options = dict(active=count, update_every=1)
    lazy = AdaptiveDynamics(model, q, v, **options)
    loaded(lazy, np.random.default_rng(seed))
    for _ in range(6):
        again = AdaptiveDynamics(model, lazy.q, lazy.v, **options)
        loaded(again, np.random.default_rng(seed))
        lazy.step(1e-3)
        again.step(1e-3)
        near(lazy.v, again.v, 1e-8)
        near(lazy.q, again.q, 1e-10)
        assert set(lazy.active_joints) == set(again.active_joints)


@FEW
@given(systems(), st.integers(0, 2**32 - 1))
def test_poses_and_energies(system, seed):
    model, q, v, *_ = system
    ad = AdaptiveDynamics(model, q, v, active=int(np.random.default_rng(seed).integers(0, model.n_bodies + 1)))
    ad.step(1e-3)
    ad.step(1e-3)
    R, x = ad.poses()
    exact_R, exact_x = supple.poses(model, ad.q)
    near(R, exact_R)
    near(x, exact_x)
    near(ad.kinetic, supple.kinetic_energy(model, ad.q, ad.v), 1e-9)
    near(ad.potential, supple.potential_energy(model, ad.q), 1e-9)


@FEW
@given(systems(), st.integers(0, 2**32 - 1))
def test_pinned_joints(system, seed):
    model, q, *_ = system
    rng = np.random.default_rng(seed)
    always, never = rng.integers(model.n_bodies, size=2)
    ad = AdaptiveDynamics(model, q, active=max(1, model.n_bodies // 2), update_every=2)
    ad.pin(int(always), True)
    if never != always:
        ad.pin(int(never), False)
    for _ in range(5):
        ad.step(1e-3)
        assert always in ad.active_joints
        assert never == always or never not in ad.active_joints
    if never != always:
        np.testing.assert_array_equal(ad.q[model.joints[int(never)].q], q[model.joints[int(never)].q])


def test_pinning_a_moving_joint_stops_it():
    rng = np.random.default_rng(1)
    model = random_model(rng, 8, ("revolute",), chain=1.0)
    v = rng.standard_normal(model.nv)
    ad = AdaptiveDynamics(model, model.random(rng), v)
    before = ad.kinetic
    ad.pin(3, False)
    assert ad.v[3] == 0.0
    assert ad.kinetic < before
    near(before - ad.kinetic, ad.stats.energy_removed, 1e-12)


def test_controllers_limits_and_damping_at_rest_and_in_motion():
    """The forces of joints are the same whether their joints move or not, and the same as by formula."""
    rng = np.random.default_rng(2)
    model = trees.chain(12)
    q, v = rng.uniform(-1, 1, 12), rng.standard_normal(12)
    lower, upper = np.array(model.lower), np.array(model.upper)
    for moving in (v, np.where(np.arange(12) < 4, v, 0.0)):
        ad = AdaptiveDynamics(model, q, moving, error=0.0, guaranteed=True)
        ad.control(3, stiffness=5.0, damping=0.2, target=0.3)
        ad.control(9, stiffness=4.0, damping=0.1)
        ad.torque(7, 0.8)
        assert ad.limits(stiffness=50.0, damping=1.0) == int((np.isfinite(lower) | np.isfinite(upper)).sum())
        tau = np.zeros(12)
        tau[3] = 5.0 * (0.3 - q[3]) - 0.2 * moving[3]
        tau[9], tau[7] = -0.1 * moving[9], 0.8
        ad.step(1e-13)
        near(ad._hybrid.memory.body.qdd, supple.forward_dynamics(model, q, moving, tau), 1e-10)


def test_limits_push_back():
    builder = ModelBuilder(gravity=(0, 0, 0))
    for i in range(3):
        builder.add_body(
            f"b{i}", parent=f"b{i - 1}" if i else None, joint="prismatic", axis=(1, 0, 0), lower=-0.1, upper=0.1,
            mass=1.0, inertia=np.eye(3),
        )  # fmt: skip
    model = builder.build()
    q, v = np.array([0.15, 0.0, -0.2]), np.array([0.5, 1.0, 0.0])
    ad = AdaptiveDynamics(model, q, v)
    assert ad.limits(stiffness=100.0, damping=2.0) == 3
    tau = np.array([-5.0 - 1.0, 0.0, 10.0])
    ad.step(1e-13)
    near(ad._hybrid.memory.body.qdd, supple.forward_dynamics(model, q, v, tau), 1e-10)


def figure_4():
    builder = ModelBuilder(gravity=(0, 0, 0))
    for i in range(5):
        builder.add_body(
            f"l{i + 1}", parent=f"l{i}" if i else None, joint="prismatic", axis=(1, 0, 0), mass=2.0, inertia=np.eye(3)
        )
    return builder.build()


def test_figure_4():
    """AD Figure 4: J1 is active, J2 ... J4 are not: the force on l2 moves l2 ... l5 together, a2 = f / (4 m). Here l1
    hangs on the world by a joint of its own, J0, which is not active, either."""
    model = figure_4()
    ad = AdaptiveDynamics(model, active=["l2_joint"])
    ad.apply("l2", force=(3.0, 0, 0))
    ad.step(1.0)
    near(ad.v[1], 3.0 / (4 * 2.0), 1e-14)
    assert ad.v[[0, 2, 3, 4]].tolist() == [0, 0, 0, 0]


def test_errors_name_what_is_wrong():
    model = trees.chain(5)
    with pytest.raises(supple.StateError, match="either active"):
        AdaptiveDynamics(model, active=2, error=1.0)
    with pytest.raises(supple.StateError, match="needs an error to guarantee"):
        AdaptiveDynamics(model, guaranteed=True)
    with pytest.raises(supple.StateError, match="update_every"):
        AdaptiveDynamics(model, active=2, update_every=0)
    ball = trees.chain(5, joint="ball")
    for bad in (-1.0, 0.0, np.inf, np.nan):
        for weights in ([1, 1, bad, 1, 1], {"link2_joint": bad}):
            with pytest.raises(supple.StateError, match="weight of joint 'link2_joint'"):
                AdaptiveDynamics(ball, active=2, weights=weights)
    with pytest.raises(supple.StateError, match="pinned to be active"):
        AdaptiveDynamics(model, active=0).pin(2)
    with pytest.raises(supple.ModelError, match="elbow"):
        AdaptiveDynamics(model, active=["elbow"])
    with pytest.raises(supple.StateError, match="is locked"):
        AdaptiveDynamics(model, v=np.ones(5), active=[0])
    ad = AdaptiveDynamics(model, active=2)
    with pytest.raises(supple.StateError, match="dt"):
        ad.step(np.nan)


@pytest.mark.parametrize("active", [3, 30])
def test_an_unstable_step_is_reported_and_nothing_lost(active):
    """A spring far too stiff for the step."""
    model = trees.chain(30)
    ad = AdaptiveDynamics(model, active=active, update_every=5)
    ad.spring(20, anchor=(1.0, 2.0, 0.5), stiffness=1e7)
    with pytest.raises(supple.SimulationError, match="joint") as caught:
        ad.run(10.0, 0.01)
    assert "time" in str(caught.value)
    assert np.isfinite(ad.q).all() and np.isfinite(ad.v).all()
    assert ad.kinetic < 1e12
    ad.step(1e-9)


def test_cost_does_not_depend_on_the_number_of_joints():
    """What a step touches: the reduced tree, whatever hangs on it."""
    for n in (50, 5000):
        ad = AdaptiveDynamics(trees.chain(n), active=4)
        ad.apply(10, force=(0, 0, 1.0))
        ad.run(0.1, 1e-3)
        assert ad.stats.active_count == 4
        assert ad._hybrid.memory.n_seen <= 4 * 2 + 1
        assert ad.stats.force_region <= 2 * np.log2(n) + 4


def test_statistics_and_regions_know_of_forces_at_once():
    """Whether anything else has been asked since, or a step taken."""
    ad = AdaptiveDynamics(trees.chain(50), active=4)
    for push in (ad.apply(10, force=(0, 0, 1.0)), None):
        stats, forced = ad.stats, ad.regions()["forced"]
        assert np.isfinite(ad.energy)
        assert stats == ad.stats and forced.tolist() == ad.regions()["forced"].tolist()
        assert (stats.force_region > 0) == (len(forced) > 0) == (push is not None)
        if push:
            push.remove()


@FEW
@given(systems(largest=12), st.integers(0, 2**32 - 1))
def test_camera_weights_bound_pixels(system, seed):
    """One joint's velocity moves no point that it carries by more pixels than its weight says."""
    model, q, v, *_ = system
    rng = np.random.default_rng(seed)
    eye = rng.standard_normal(3) * 20
    weights = supple.camera_weights(model, q, eye, focal=500.0)
    x = supple.poses(model, q).position
    for name, joint in model.joints.items():
        alone = np.zeros(model.nv)
        alone[joint.v] = v[joint.v]
        speed = np.linalg.norm(supple.velocities(model, q, alone).linear, axis=1)
        pixels = 500.0 * speed / np.linalg.norm(x - eye, axis=1)
        assert pixels.max() <= np.sqrt(weights[joint.index]) * np.linalg.norm(v[joint.v]) * (1 + 1e-9), name


def test_what_is_far_or_unseen_is_simplified_first():
    """Three pendulums alike, before the camera, far away, and behind it: the budget goes to the first."""
    builder = ModelBuilder()
    for k, y in enumerate((5.0, 5000.0, -5.0)):
        for i in range(10):
            builder.add_body(
                f"p{k}-{i}", parent=f"p{k}-{i - 1}" if i else None, axis=(1, 0, 0),
                position=(0, 0, -0.1) if i else (0, y, 0), mass=0.1, com=(0, 0.03, -0.05), inertia=np.eye(3) * 1e-4,
            )  # fmt: skip
    model = builder.build()
    ad = AdaptiveDynamics(model, active=10)
    ad.look_from((0, 0, 0), target=(0, 1, 0), view_angle=1.0)
    ad.run(0.1, 1e-3)
    count = [sum(model.joint_names[j].startswith(f"p{k}") for j in ad.active_joints) for k in range(3)]
    assert count[0] > count[1] >= count[2] and sum(count) == 10, count
    without = AdaptiveDynamics(model, active=10)
    without.run(0.1, 1e-3)
    assert sum(model.joint_names[j].startswith("p2") for j in without.active_joints) > count[2]


@pytest.mark.parametrize("options", [dict(active=3), dict(active=30), dict(error=1e-9, guaranteed=True)])
def test_forces_that_work_are_no_instability(options):
    """A strong push from rest, with an update at every step: all the energy there is comes from it."""
    model = trees.chain(30, gravity=(0, 0, 0))
    ad = AdaptiveDynamics(model, np.full(30, 0.2), update_every=1, **options)
    ad.apply(20, force=(0, 0, 5.0))
    for _ in range(100):
        ad.step(1e-4)
    assert ad.kinetic > 0
    assert "30 joints active" in repr(ad)


def test_nothing_moves_when_nothing_matters():
    """With an error that forgives all motion, every joint is stopped at every update, and that is no instability."""
    model = trees.chain(40)
    q = model.random(np.random.default_rng(0))
    ad = AdaptiveDynamics(model, q, error=1e9)
    ad.run(0.1, 1e-3)
    assert ad.stats.active_count == 0
    np.testing.assert_array_equal(ad.q, q)
    assert ad.stats.velocity_error <= 1e9
