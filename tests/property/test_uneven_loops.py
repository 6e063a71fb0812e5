"""Mechanisms whose masses are up to 10^12 apart: which rows depend on others, and accelerations to all digits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import supple
from linkages import CLOSING, bennett, four_bar, parallel, parallelogram, random_linkage
from many_digits import accelerations
from supple.exact import front_builder
from supple.model.model import Model


def uneven(model: Model, factors) -> Model:
    """The same mechanism with other masses."""
    return replace(model, mass=model.mass * factors, inertia=model.inertia * np.asarray(factors)[:, None, None])


def off(found, expected) -> float:
    """Relative to the largest acceleration."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def fronts_of(monkeypatch, small: int, many: int) -> None:
    """small: rows up to which all are eliminated together; many: closed rows from which on they are reduced to six."""
    monkeypatch.setattr(front_builder, "SMALL", small)
    monkeypatch.setattr(front_builder, "MANY", many)


# The last ones were wrong in the first digit before: by fronts, or by dense matrices.
@pytest.mark.parametrize("seed", [*range(8), 30, 59, 70, 83, 119, 123, 127, 134])
def test_random_mechanisms(seed: int, monkeypatch):
    rng = np.random.default_rng(seed)
    model, q = random_linkage(rng, list(CLOSING), n=8 + seed % 9, loops=1 + seed % 4)
    model = uneven(model, 10 ** rng.uniform(0, 12, model.n_bodies))
    model = replace(model, armature=0 * model.armature, damping=0 * model.damping)
    tau = rng.normal(size=model.nv)
    expected = accelerations(model, q, tau)
    tree = replace(model, loop_list=())
    lost = off(supple.forward_dynamics(tree, q, None, tau), accelerations(tree, q, tau))  # also without loops
    for small, many in ((30, 12), (0, 12), (0, 6)):
        fronts_of(monkeypatch, small, many)
        again = replace(model, name=f"{small} {many}")  # with tables of its own
        assert off(supple.forward_dynamics(again, q, None, tau), expected) < max(3e-6, 10 * lost)
    for method in ("crba", "dense"):  # the mass matrix itself has few digits
        assert off(supple.forward_dynamics(model, q, None, tau, method=method), expected) < 1e-4


def closed_chain(rng: np.random.Generator, n: int, in_plane: bool, heavy) -> tuple[Model, np.ndarray]:
    """A chain of links of 1 m, its last end hinged to the world where it is."""
    b = supple.ModelBuilder()
    for i in range(n):
        b.add_body(
            f"link{i}", i - 1 if i else None, "continuous", axis=(0, 1, 0) if in_plane else rng.normal(size=3),
            position=(1 if i else 0, 0, 0), mass=heavy[i], com=(0.5, 0, 0.1),
            inertia=heavy[i] * np.array([0.1, 0.12, 0.1]),
        )  # fmt: skip
    q = rng.normal(size=n)
    R, P = supple.poses(b.build(), q)[f"link{n - 1}"]
    b.close(
        f"link{n - 1}", None, "revolute", axis=(0, 1, 0), position=(1, 0, 0), other_position=P + R[:, 0],
        other_rotation=R,
    )  # fmt: skip
    return b.build(), q


@pytest.mark.parametrize("in_plane", [True, False])
@pytest.mark.parametrize("decades", [0, 3, 6, 9, 12])
def test_light_links_between_heavy_ones(decades: int, in_plane: bool):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n = (5 if in_plane else 8) + seed
        model, q = closed_chain(rng, n, in_plane, 10.0 ** (decades * ((np.arange(n) + seed) % 2)))
        tau = rng.normal(size=n)
        expected = accelerations(model, q, tau)
        for method in ("aba", "crba", "dense"):
            assert off(supple.forward_dynamics(model, q, None, tau, method=method), expected) < 1e-10


@pytest.mark.parametrize("decades", [3, 6, 9, 12])
def test_redundant_rows(decades: int):
    linkage = four_bar()
    cases = bennett(), (parallelogram(3), parallel(0.4, 3)), (linkage, supple.close_loops(linkage, [-1.0, -0.2, 2.0]))
    for seed, (even, q) in enumerate(cases * 3):
        rng = np.random.default_rng(seed)
        model, tau = uneven(even, 10 ** rng.uniform(0, decades, even.n_bodies)), rng.normal(size=even.nv)
        expected = accelerations(model, q, tau)
        for method in ("aba", "crba", "dense"):
            assert off(supple.forward_dynamics(model, q, None, tau, method=method), expected) < 1e-11


@pytest.mark.parametrize("seed", range(6))
def test_forces_of_loops_cause_these_accelerations(seed: int):
    """What loop joints carry, as forces on the bodies of the tree, accelerates it as the mechanism."""
    rng = np.random.default_rng(seed)
    model, q = random_linkage(rng, list(CLOSING), n=8, loops=3)
    model = uneven(model, 10 ** rng.uniform(0, 8, model.n_bodies))
    a, pose = supple.forward_dynamics(model, q), supple.poses(model, q)
    pushed = np.zeros((model.n_bodies, 6))
    for loop, f in zip(model.loop_list, supple.joint_wrenches(model, q, frame="world")[model.n_bodies :]):
        at = pose[loop.other].position if loop.other >= 0 else np.zeros(3)
        for body, sign in ((loop.other, 1.0), (loop.body, -1.0)):
            if body >= 0:
                R, P = pose[body]
                moment = f[:3] + np.cross(at - P, f[3:])
                pushed[body] += sign * np.concatenate([R.T @ moment, R.T @ f[3:]])
    tau = supple.inverse_dynamics(model, q, None, a, pushed)
    assert np.abs(tau).max() < 1e-11 * np.abs(supple.inverse_dynamics(model, q, None, 0 * a)).max()
