"""Plastic impacts of any tree on any new support, against a dense formula.

Oracle: in coordinates of the floating tree the impact is the projection of the velocity onto what the new joint allows,
orthogonal in the mass matrix H: v+ = M (M^T H M)^-1 M^T H v-, M's columns being motions about the support.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import supple
from drawn import SETTINGS, near
from linkages import allowed_velocity, random_linkage
from oracle import MOVING, random_model
from supple.contact.shape_tables import ROUGHEST
from supple.exact.closure import closure

ALLOWED = {"ball": [3, 4, 5], "free": [0, 1, 2, 3, 4, 5]}  #: entries of a free joint's v that the joint has, too


@SETTINGS
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 9), st.sampled_from(["revolute", "prismatic", "ball", "planar", "free"])
)
def test_equal_to_the_projection(seed, n, joint):
    rng = np.random.default_rng(seed)
    kinds = ("revolute", "prismatic", "screw", "cylindrical", "universal", "ball")
    model = random_model(rng, n, kinds, world=0.0, extras=False)
    q, v = model.random(rng), rng.standard_normal(model.nv)
    body, point = int(rng.integers(n)), rng.standard_normal(3)
    now = supple.poses(model, q).rotation[body]
    hit = supple.impact(model, q, v, body=body, point=point, joint=joint, axis=(0, 0, 1), rotation=now)
    # the same tree floating, about the same point, with the same axes
    free = supple.reroot(model, q, v, body=body, point=point, joint="free")
    H = supple.mass_matrix(free.model, free.q)
    allowed = {"revolute": [5], "prismatic": [2], "planar": [0, 1, 5]} | ALLOWED
    M = np.eye(free.model.nv)[:, [*allowed[joint], *range(6, free.model.nv)]]
    wanted = np.linalg.solve(M.T @ H @ M, M.T @ H @ free.v)
    near(hit.v, wanted, 1e-8)
    left = free.v - M @ wanted
    near(hit.energy_lost, 0.5 * left @ H @ left, 1e-8)
    assert hit.energy_lost > -1e-9 * max(1.0, supple.kinetic_energy(model, q, v))
    near(hit.impulse, supple.momentum(hit.model, hit.q, hit.v)[3:] - supple.momentum(model, q, v)[3:], 1e-9)


@SETTINGS
@given(st.integers(0, 2**32 - 1), st.sampled_from(["revolute", "ball", "free"]), st.booleans())
def test_loops_share_the_blow(seed, joint, is_hit):
    """The same projection with the rows of loops, some of which lead to the world: the impulse is the support's own,
    where others cannot take its place. is_hit: the ground does not hold the body, and it has no friction."""
    rng = np.random.default_rng(seed)
    model, q = random_linkage(rng, n=int(rng.integers(3, 8)), loops=2)
    v, body = allowed_velocity(rng, closure(model, q).G), int(rng.integers(model.n_bodies))
    free = supple.reroot(model, q, v, body=body, joint="free")
    H, G, at = supple.mass_matrix(free.model, free.q), closure(free.model, free.q).G, int(free.number[body])
    first = free.model.joints[at].v.start
    R, u = supple.poses(free.model, free.q).rotation[at], free.v[first : first + 3]
    how = dict(body=body, joint="free" if is_hit else joint)
    if is_hit:
        assume(np.linalg.norm(u) > 1e-3)  # otherwise loops hold the body
        S = np.zeros((1, free.model.nv))
        S[0, first : first + 3] = u / np.linalg.norm(u)
        hit = supple.impact(model, q, v, **how, normal=-R @ u, friction=0.0)
    else:
        S = np.eye(free.model.nv)[first : first + {"revolute": 5, "ball": 3, "free": 0}[joint]]
        hit = supple.impact(model, q, v, **how, axis=(0, 0, 1), rotation=R)
    half = np.linalg.cholesky(H)
    U, s, Vt = np.linalg.svd(np.linalg.solve(half, np.vstack([S, G]).T), full_matrices=False)
    kept = s > 1e-9 * s[0]
    x = -Vt[kept].T @ (U[:, kept].T @ (half.T @ free.v) / s[kept])
    after = free.v + np.linalg.solve(H, np.vstack([S, G]).T @ x)
    allowed = after if is_hit else after[[k for k in range(len(after)) if not first <= k < first + len(S)]]
    near(hit.v, allowed, 1e-7)
    near(hit.energy_lost, 0.5 * free.v @ H @ free.v - 0.5 * after @ H @ after, 1e-7)
    if np.linalg.norm(np.linalg.pinv(Vt[kept])[: len(S)] @ Vt[kept] - np.eye(len(x))[: len(S)]) < 1e-9:
        near(hit.impulse, R @ (S.T @ x[: len(S)])[first : first + 3], 1e-7)


def test_rotors_keep_their_momentum():
    """Armature counts in the momentum of joints that stay; an impact on the free joint it had changes nothing."""
    rng = np.random.default_rng(4)
    kinds = ("revolute", "prismatic", "ball")
    for _ in range(10):
        tree = random_model(rng, 6, kinds, world=0.0)
        q, v = tree.random(rng), rng.standard_normal(tree.nv)
        hit = supple.impact(tree, q, v, body=4, point=rng.standard_normal(3), joint="free")
        new = supple.reroot(tree, q, v, body=4, point=hit.rerooted.shift[0], joint="free")
        kept = [i for i in range(1, 6)]
        for name in (tree.joint_names[i] for i in kept):
            np.testing.assert_allclose(hit.v[hit.model.joints[name].v], new.v[new.model.joints[name].v], atol=1e-8)
        assert abs(hit.energy_lost) < 1e-8


def test_a_motion_the_support_allows_loses_nothing():
    rng = np.random.default_rng(2)
    model = random_model(rng, 5, MOVING, world=0.0, extras=False)
    q = model.random(rng)
    new = supple.reroot(model, q, body=3, point=(1, 2, 3), joint="ball")
    v = rng.standard_normal(new.model.nv)
    again = supple.impact(new.model, new.q, v, body=0, point=(1, 2, 3), joint="ball")
    assert abs(again.energy_lost) < 1e-9
    np.testing.assert_allclose(again.v, v, atol=1e-9)


def test_a_pose_that_the_support_does_not_have_is_refused():
    model = random_model(np.random.default_rng(2), 5, ("ball",), world=0.0)
    with pytest.raises(supple.StateError, match="body3"):
        supple.impact(model, model.random(1), np.ones(model.nv), body="body3", axis=(0, 1, 0))


def test_impulses_that_pull_or_slip_are_refused():
    """A ball that falls obliquely: the ground pushes; it cannot hold what leaves it, nor beyond its friction."""
    b = supple.ModelBuilder()
    b.add_body("ball", joint="free", mass=2.0, inertia=(1, 1, 1))
    model = b.build()
    q, down = model.neutral(), np.array([0.5, 0, -1.0, 0, 0, 0])
    how = dict(body="ball", point=(0, 0, 0), joint="ball", normal=(0, 0, 2.0))
    near(supple.impact(model, q, down, friction=0.6, **how).impulse, [-1.0, 0, 2.0], 1e-12)
    with pytest.raises(supple.SimulationError, match="slip"):
        supple.impact(model, q, down, friction=0.4, **how)
    with pytest.raises(supple.SimulationError, match="pull"):
        supple.impact(model, q, -down, **how)
    with pytest.raises(supple.StateError, match="normal"):
        supple.impact(model, q, down, body="ball", joint="ball", friction=0.4)


def ball() -> supple.Model:
    b = supple.ModelBuilder()
    b.add_body("ball", joint="free", mass=2.0, inertia=(0.008, 0.008, 0.008))  # a solid sphere of 0.1 m
    return b.build()


@pytest.mark.parametrize(("friction", "e"), [(0.0, 0.5), (0.04, 0.5), (10.0, 0.5), (10.0, 0.0), (0.04, 1.0)])
def test_a_sphere_that_bounces_obliquely(friction, e):
    """It slips while mu (1 + e) |u_n| is less than 2/7 of its speed along the ground, and rolls otherwise."""
    model = ball()
    q = model.neutral()
    q[2] = 0.1
    hit = supple.impact(
        model, q, [1.0, 0, -2.0, 0, 0, 0], body="ball", point=(0, 0, 0), joint="free", normal=(0, 0, 3), restitution=e,
        friction=friction,
    )  # fmt: skip
    along = 2.0 * min(2 / 7, friction * 2.0 * (1 + e))
    near(hit.impulse, [-along, 0.0, 4.0 * (1 + e)], 1e-12)
    turning = 0.1 * along / 0.008
    near(hit.v, [1.0 - along / 2 - 0.1 * turning, 0.0, 2.0 * e, 0, turning, 0], 1e-12)  # of the point that was hit
    lost = 0.5 * 2.0 * (1.0 + 4.0) - 0.5 * 2.0 * ((1.0 - along / 2) ** 2 + 4 * e * e) - 0.5 * 0.008 * turning**2
    near(hit.energy_lost, lost, 1e-12)


@SETTINGS
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 9),
    st.sampled_from([0.0, 0.3, 2.0, 1e12, 1e300]),
    st.sampled_from([0.0, 0.4, 1.0]),
)
def test_the_law_of_a_blow_holds_on_random_trees(seed, n, friction, e):
    """The impulse is that of the momentum; it pushes within its cone and against the slip; energy is never gained.
    Equations of the flattest cones could not be solved."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, n, ("revolute", "prismatic", "ball"), world=0.0, extras=False)
    q, v = model.random(rng), rng.standard_normal(model.nv)
    body, point, normal = int(rng.integers(n)), rng.standard_normal(3), rng.standard_normal(3)
    normal /= np.linalg.norm(normal)
    before = supple.reroot(model, q, v, body=body, point=point, joint="free")

    def at_point(velocity):
        R = supple.poses(before.model, before.q).rotation[0]
        return R @ velocity[:3]

    u = at_point(before.v)
    normal *= -np.sign(normal @ u)
    how = dict(body=body, point=point, joint="free", friction=friction, restitution=e)
    hit = supple.impact(model, q, v, normal=normal, **how)
    after, friction = at_point(hit.v), min(friction, ROUGHEST)
    push, slip = hit.impulse @ normal, after - (after @ normal) * normal
    across, size = hit.impulse - push * normal, np.linalg.norm(hit.impulse)
    assert push > 0 and np.linalg.norm(across) <= friction * push + 1e-7 * size
    assert after @ normal <= -e * (u @ normal) + 1e-7 * np.linalg.norm(u)
    if np.linalg.norm(slip) > 1e-6 * np.linalg.norm(u):
        assert np.linalg.norm(across + friction * push * slip / np.linalg.norm(slip)) < 1e-5 * size
    energy = supple.kinetic_energy(model, q, v)
    assert hit.energy_lost > -1e-9 * energy
    if e == 0.0 or friction == 0.0:
        near(after @ normal, -e * (u @ normal), 1e-7)
    with pytest.raises(supple.SimulationError, match="leaves the ground"):
        supple.impact(model, q, v, normal=-normal, **how)


@pytest.mark.parametrize("mass", [1e-12, 1e12])
def test_a_blow_is_the_same_for_bodies_of_any_mass(mass):
    """Beside the velocities that 1 N s gives to a heavy body, gravity is large."""
    rng, hits = np.random.default_rng(5), []
    q, v = [*rng.standard_normal(3), 0, 0, 0, 1], np.append(rng.standard_normal(2), [-9, 1, 2, 3])
    for unit in (1.0, mass):
        b = supple.ModelBuilder()
        b.add_body("stone", joint="free", mass=2.0 * unit, inertia=np.array([0.02, 0.03, 0.04]) * unit)
        how = dict(body="stone", point=(0.1, 0.2, -0.1), joint="free", normal=(0, 0, 1), restitution=0.5)
        hits.append(supple.impact(b.build(), q, v, friction=0.3, **how))
    near(hits[1].v, hits[0].v, 1e-12)
    near(hits[1].impulse / mass, hits[0].impulse, 1e-12)


@pytest.mark.parametrize("length", [1e-300, 1e300])
def test_a_normal_may_have_any_length(length):
    model, v = ball(), [0, 0, -1.0, 0, 0, 0]
    how = dict(body="ball", point=(0, 0, 0), joint="free", friction=0.5)
    hit = supple.impact(model, model.neutral(), v, normal=(0, 0, length), **how)
    near(hit.impulse, [0, 0, 2.0], 1e-12)
    with pytest.raises(supple.StateError, match="no direction"):
        supple.impact(model, model.neutral(), v, normal=(0, 0, 0), **how)


def test_what_a_blow_needs():
    model, v = ball(), [0, 0, -1.0, 0, 0, 0]
    how = dict(body="ball", point=(0, 0, 0))
    with pytest.raises(supple.StateError, match="normal"):
        supple.impact(model, model.neutral(), v, joint="free", restitution=0.5, **how)
    with pytest.raises(supple.StateError, match="joint='free'"):
        supple.impact(model, model.neutral(), v, joint="ball", normal=(0, 0, 1), restitution=0.5, **how)
    with pytest.raises(supple.StateError, match="friction"):
        supple.impact(model, model.neutral(), v, joint="free", normal=(0, 0, 1), **how)
    with pytest.raises(supple.SuppleError, match="restitution"):
        supple.impact(model, model.neutral(), v, joint="free", normal=(0, 0, 1), friction=0, restitution=1.5, **how)
