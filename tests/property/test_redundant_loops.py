"""Rows that repeat others change nothing: loop joints that stand beside joints of the tree, loops that are there twice,
and relations between coordinates that loops hold, by every method and however the rows are eliminated."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import supple
from linkages import CLOSING, allowed_velocity, random_linkage, random_rotation, related_trees
from many_digits import accelerations
from supple.exact import front_builder
from supple.exact.closure import closure

METHODS = ("aba", "crba", "dense")


def door(rng, kind, hinges):
    """A body on the world by joints of one type, at several places where they allow the same motion."""
    R, p, axis = random_rotation(rng), rng.normal(size=3), np.array([0.0, 0.0, 1.0])
    builder = supple.ModelBuilder()
    builder.add_body("frame", None, "ball", rotation=random_rotation(rng), mass=1.0, com=p, inertia=(1, 1.1, 1.2))
    builder.add_body("door", "frame", kind, axis=axis, pitch=0.3, rotation=R, position=p, mass=2.0,
                     com=rng.normal(size=3), inertia=(1, 1.1, 1.2))  # fmt: skip
    for k in range(hinges):
        along = (0.3 * k + 0.1) * axis
        builder.close(
            "frame", "door", kind, axis=axis, pitch=0.3, rotation=R, position=p + R @ along, other_position=along
        )
    return builder.build()


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "screw", "cylindrical", "planar"])
def test_more_hinges_on_one_axis(kind):
    """All rows of the second hinge are rounding: they must not be taken for directions that are forbidden."""
    for seed in range(4):
        one, two, many = (door(np.random.default_rng(seed), kind, hinges) for hinges in (0, 1, 8))
        rng = np.random.default_rng([seed, 1])
        q, v = one.random(rng), rng.normal(size=one.nv)
        expected = supple.forward_dynamics(one, q, v)
        for model in (two, many):
            found = supple.mobility(model, q)
            assert (found.degrees, found.redundant, found.singular) == (one.nv, found.rows, False)
            np.testing.assert_array_equal(supple.close_velocities(model, q, v), v)
            for method in METHODS:
                np.testing.assert_allclose(supple.forward_dynamics(model, q, v, method=method), expected, rtol=1e-9)


@pytest.mark.parametrize(("small", "many"), [(30, 12), (0, 12), (0, 6), (0, 1000)])
def test_loops_that_are_there_twice(monkeypatch, small, many):
    """small: rows up to which all are eliminated together; many: closed rows from which on they are reduced to six."""
    monkeypatch.setattr(front_builder, "SMALL", small)
    monkeypatch.setattr(front_builder, "MANY", many)
    for seed, (n, loops) in enumerate([(3, 1), (5, 2), (8, 3), (12, 5), (18, 8)] * 3):
        rng = np.random.default_rng([seed, n])
        once, q = random_linkage(rng, CLOSING, n=n, loops=loops)
        again = tuple(dataclasses.replace(x, name=f"{x.name} again") for x in once.loop_list)
        twice = dataclasses.replace(once, loop_list=once.loop_list + again)
        v, tau = allowed_velocity(rng, closure(once, q).G), rng.normal(size=once.nv)
        expected = supple.forward_dynamics(once, q, v, tau, method="dense")
        scale = max(1.0, np.abs(expected).max())
        for model in (once, twice):
            np.testing.assert_allclose(supple.forward_dynamics(model, q, v, tau), expected, atol=1e-8 * scale)
        np.testing.assert_allclose(
            supple.forward_dynamics(twice, q, v, tau, method="dense"), expected, atol=1e-8 * scale
        )


@pytest.mark.parametrize("decades", [0, 6])
@pytest.mark.parametrize("seed", range(6))
def test_relations_between_coordinates_that_loops_hold(seed, decades):
    """Nothing but rounding is left of such a relation where the loops have been eliminated before it."""
    rng = np.random.default_rng(seed)
    model = related_trees(rng, 3 + seed % 3, decades)
    q, tau = model.neutral(), rng.normal(size=model.nv)
    expected = accelerations(model, q, tau)
    for method in METHODS:
        found = supple.forward_dynamics(model, q, None, tau, method=method)
        np.testing.assert_allclose(found, expected, atol=1e-10 * max(1.0, np.abs(expected).max()))
