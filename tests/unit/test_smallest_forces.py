"""Forces along redundant rows: the smallest of all with the same effect."""

from __future__ import annotations

import numpy as np
import pytest

import many_digits
import supple
from large_linkages import four_bar_chain
from linkages import parallel, parallelogram, random_linkage, random_rotation
from supple.exact.closure import closure
from supple.exact.loop_dynamics import loop_wrenches
from supple.exact.smallest_forces import smallest_forces
from supple.exact.with_loops import WITH_FORCES


def test_forces_of_many_redundant_rows_are_the_smallest_over_all():
    """By the singular values of G; the same effect, and shorter than what fronts find."""
    shorter = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        model, q = random_linkage(rng, n=int(rng.integers(10, 30)), loops=int(rng.integers(6, 12)))
        G, found = closure(model, q).G, WITH_FORCES.general(model, q, np.zeros(model.nv), None, None)[model.nv :]
        U, s, _ = np.linalg.svd(G)
        U = U[:, : np.count_nonzero(s > 1e-9 * s[0])]
        forces = smallest_forces(model, q, found, 1e-7)
        np.testing.assert_allclose(forces, U @ (U.T @ found), atol=1e-9 * np.abs(found).max())
        np.testing.assert_allclose(G.T @ forces, G.T @ found, atol=1e-9 * np.abs(found).max())
        shorter += np.linalg.norm(forces) < 0.99 * np.linalg.norm(found)
    assert shorter >= 2


def test_joint_wrenches_have_the_smallest_forces_of_large_mechanisms():
    model, q, v = four_bar_chain(8, hanging=True)
    carried = supple.joint_wrenches(model, q, v, frame="world")
    loops = carried[model.n_bodies :]
    rows = closure(model, q, v)
    found = WITH_FORCES.general(model, q, v, None, None)[model.nv :]
    U, s, _ = np.linalg.svd(rows.G)
    U = U[:, : np.count_nonzero(s > 1e-9 * s[0])]
    smallest_ones = U @ (U.T @ found)
    for i in range(len(loops)):
        mine = slice(5 * i, 5 * i + 5)
        np.testing.assert_allclose(loops[i, 3:], smallest_ones[mine] @ rows.f[mine, 3:], atol=1e-9)


@pytest.mark.parametrize("angle", [0.3, 1e-3, 1e-4, 2e-5])
def test_forces_are_the_smallest_near_flat_positions(angle):
    """Forces along rods of a parallelogram that is nearly flat are as many times larger than what they balance; rows
    that are independent there are far from those that are not. About themselves, hinges carry tau."""
    R = random_rotation(np.random.default_rng(1))
    model, q = parallelogram(8, turned=R), parallel(angle, 8)
    tau = np.random.default_rng(2).normal(size=model.nv)
    carried = supple.joint_wrenches(model, q, None, tau, frame="world")
    expected = loop_wrenches(model, q, many_digits.smallest_forces(model, q, tau))
    assert np.abs(carried[model.n_bodies :] - expected).max() < 1e-8 * np.abs(expected).max()
    assert np.abs(carried[: model.n_bodies, :3] @ R[:, 1] - tau).max() < 1e-7
