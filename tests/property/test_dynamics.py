"""Physics that must hold on any tree: hypothesis draws the tree, its joints and its state.

Tolerances are relative to the size of what is compared, times the condition number of H where H is inverted.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import supple
from drawn import SETTINGS, near, systems


@SETTINGS
@given(systems())
def test_forward_dynamics_inverts_inverse_dynamics(system):
    model, q, v, a, wrenches = system
    tau = supple.inverse_dynamics(model, q, v, a, wrenches)
    limit = 1e-13 * np.linalg.cond(supple.mass_matrix(model, q)) + 1e-12
    for method in ("aba", "crba", "dense"):
        near(supple.forward_dynamics(model, q, v, tau, wrenches, method=method), a, limit)
    # Mobilities are subtracted where the others add inertias: two digits go where links weigh as differently as here.
    near(supple.forward_dynamics(model, q, v, tau, wrenches, method="virtual-work"), a, 100 * limit)


@SETTINGS
@given(systems())
def test_inverse_dynamics_is_linear_in_acceleration(system):
    """tau = H a + C"""
    model, q, v, a, wrenches = system
    H, C = supple.mass_matrix(model, q), supple.bias_force(model, q, v, wrenches)
    near(supple.inverse_dynamics(model, q, v, a, wrenches), H @ a + C)


@SETTINGS
@given(systems())
def test_mass_matrix_is_symmetric_positive_and_has_the_zeros_of_the_tree(system):
    model, q, *_ = system
    H, tree = supple.mass_matrix(model, q), supple.mass_matrix(model, q, sparse=True)
    np.testing.assert_array_equal(H, H.T)
    assert np.linalg.eigvalsh(H)[0] > 0
    np.testing.assert_array_equal(tree.dense(), H)
    related = np.zeros(H.shape, dtype=bool)
    for i in range(model.nv):
        j = i
        while j >= 0:
            related[i, j] = related[j, i] = True
            j = model.expanded_parent[j]
    assert not H[~related].any()


@SETTINGS
@given(systems())
def test_kinetic_energy_is_half_v_H_v_and_momentum_is_its_derivative(system):
    model, q, v, *_ = system
    near(supple.kinetic_energy(model, q, v), 0.5 * v @ supple.mass_matrix(model, q) @ v)
    # linear momentum is total mass times the velocity of the centre of mass, here by central differences of step h:
    # errors of order h^2 times third derivatives, so a loose bound that any wrong term would break
    h = 1e-5
    before, after = (supple.center_of_mass(model, model.integrate(q, v, s * h)) for s in (-1, 1))
    near(supple.momentum(model, q, v)[3:], model.total_mass * (after - before) / (2 * h), 1e-5)


@SETTINGS
@given(systems())
def test_power_balance(system):
    """d/dt (kinetic + potential) = tau . v - damping v^2 + power of the wrenches."""
    model, q, v, tau, wrenches = system
    a = supple.forward_dynamics(model, q, v, tau, wrenches)
    power = tau @ v - model.damping @ v**2 + np.sum(wrenches * supple.velocities(model, q, v, "body").spatial)
    h = 1e-5

    def energy(s):
        q1, v1 = model.integrate(q, v, s) if s else q, v + s * a
        # along the exponential map q moves with v constant; its second-order error cancels in the central difference
        return supple.kinetic_energy(model, q1, v1) + supple.potential_energy(model, q1)

    near((energy(h) - energy(-h)) / (2 * h), power, 1e-4)


@SETTINGS
@given(systems())
def test_wrenches_act_through_jacobians(system):
    """An external wrench is worth J^T f of joint force."""
    model, q, v, _, wrenches = system
    worth = sum(supple.jacobian(model, q, i, frame="body").T @ wrenches[i] for i in range(model.n_bodies))
    near(supple.bias_force(model, q, v) - worth, supple.bias_force(model, q, v, wrenches))


@SETTINGS
@given(systems(kinds=("free",), largest=1))
def test_a_free_body_falls(system):
    """Without forces its centre of mass accelerates with gravity and its angular momentum about that is constant."""
    model, q, v, *_ = system
    bare = supple.ModelBuilder()
    bare.add_body("stone", joint="free", mass=model.mass[0], com=model.com[0], inertia=model.inertia[0])
    stone = bare.build()
    a = supple.forward_dynamics(stone, q, v)
    h = 1e-5
    momenta = [supple.momentum(stone, stone.integrate(q, v, s), v + s * a) for s in (-h, h)]
    rate = (momenta[1] - momenta[0]) / (2 * h)
    near(rate[3:], stone.total_mass * stone.gravity, 1e-6)
    near(rate[:3], np.zeros(3), 1e-5)


@SETTINGS
@given(systems(), st.integers(1, 9))
def test_batch_equals_loop(system, size):
    model, _, _, _, wrenches = system
    rng = np.random.default_rng(size)
    q = np.array([model.random(rng) for _ in range(size)])
    v, x = rng.standard_normal((2, size, model.nv))
    for f in (supple.forward_dynamics, supple.inverse_dynamics):
        near(f(model, q, v, x, wrenches), [f(model, q[i], v[i], x[i], wrenches) for i in range(size)], 1e-13)
    near(supple.mass_matrix(model, q), [supple.mass_matrix(model, one) for one in q], 1e-13)
    near(supple.poses(model, q).position, [supple.poses(model, one).position for one in q], 1e-13)
    near(supple.kinetic_energy(model, q, v), [supple.kinetic_energy(model, *s) for s in zip(q, v)], 1e-13)


@SETTINGS
@given(systems(), st.integers(0, 2**32 - 1))
def test_moving_the_world_changes_nothing(system, seed):
    """Turn and shift everything, gravity too: accelerations, masses and joint forces are the same."""
    model, q, v, a, wrenches = system
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    moved = supple.ModelBuilder(gravity=turn @ model.gravity)
    shift = rng.standard_normal(3)
    for i in range(model.n_bodies):
        root = model.parent[i] < 0
        joint = model.joints[i]
        moved.add_body(
            model.body_names[i],
            None if root else model.body_names[model.parent[i]],
            joint.type,
            axis=model.axis[i],
            axis2=model.axis2[i],
            pitch=model.pitch[i],
            position=turn @ model.position[i] + shift if root else model.position[i],
            rotation=turn @ model.rotation[i] if root else model.rotation[i],
            mass=model.mass[i],
            com=model.com[i],
            inertia=model.inertia[i],
            armature=model.armature[joint.v],
            damping=model.damping[joint.v],
        )
    other = moved.build()
    near(supple.mass_matrix(other, q), supple.mass_matrix(model, q))
    near(supple.inverse_dynamics(other, q, v, a, wrenches), supple.inverse_dynamics(model, q, v, a, wrenches))
    change = supple.potential_energy(other, q) - supple.potential_energy(model, q)
    near(change, -model.total_mass * other.gravity @ shift)


@SETTINGS
@given(systems(), st.sampled_from(["world", "body"]))
def test_the_derivative_of_a_jacobian_is_that_of_the_velocity(system, frame):
    """J a + J' v is the derivative of J v: along the world's axes the acceleration of the point; along the body's the
    spatial acceleration."""
    model, q, v, a, _ = system
    body = model.n_bodies - 1
    J, dJ = (f(body, frame=frame) for f in (
        lambda *x, **k: supple.jacobian(model, q, *x, **k),
        lambda *x, **k: supple.jacobian_derivative(model, q, v, *x, **k),
    ))  # fmt: skip
    A = supple.accelerations(model, q, v, a, frame)[body]
    if frame == "world":
        V = supple.velocities(model, q, v)[body]
        A = np.r_[A[:3], A[3:] + np.cross(V[:3], V[3:])]
    near(J @ a + dJ @ v, A)


@SETTINGS
@given(systems())
def test_the_momentum_matrix_gives_momentum_and_moves_by_forces(system):
    model, q, v, *_ = system
    for about in ("com", "origin"):
        near(supple.momentum_matrix(model, q, about) @ v, supple.momentum(model, q, v, about))


@SETTINGS
@given(systems())
def test_terms_add_up(system):
    """Slow motions lose no digits to gravity: c(q, v) is quadratic in v."""
    model, q, v, *_ = system
    c = supple.coriolis_force(model, q, v)
    near(supple.gravity_force(model, q) + c + model.damping * v, supple.bias_force(model, q, v))
    near(supple.coriolis_force(model, q, 1e-6 * v) * 1e12, c)
