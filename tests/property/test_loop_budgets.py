"""Numbers of joints of bodies with loops, against all sets of joints that can move together."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import supple
from supple import AdaptiveDynamics, ModelBuilder
from supple.exact.closure import closure


def motions(G):
    _, s, Vt = np.linalg.svd(G)
    return Vt[np.count_nonzero(s > 1e-9) :].T


def movable_sets(model, q):
    """All sets of joints that can move while the others are rigid, and of which none can be missed."""
    G, found = closure(model, q).G, []
    for size in range(1, model.n_bodies + 1):
        for some in map(frozenset, combinations(range(model.n_bodies), size)):
            if not any(x <= some for x in found) and motions(G[:, np.isin(model.dof_body, list(some))]).size:
                found.append(some)
    return found


def accelerates(model, q, joints):
    """Whether joints do so under gravity if all others are rigid."""
    columns = np.isin(model.dof_body, list(joints))
    rest = np.zeros(model.nv)
    force = -supple.inverse_dynamics(model, q, rest, rest)[columns]
    return np.abs(motions(closure(model, q).G[:, columns]).T @ force).max() > 1e-6


def geared(rng):
    """Wheels off their centres, some on others, and relations of two to four of them."""
    n, builder = int(rng.integers(3, 8)), ModelBuilder("geared")
    for i in range(n):
        on = None if i == 0 or rng.random() < 0.6 else int(rng.integers(0, i))
        builder.add_body(
            f"w{i}", on, "continuous", axis=(0, 1, 0), position=(i, 0, 0.2 * rng.normal()), mass=rng.uniform(0.5, 2),
            com=(0.1, 0, 0.03), inertia=(0.01,) * 3,
        )  # fmt: skip
    for _ in range(int(rng.integers(1, n))):
        some = rng.choice(n, int(rng.integers(2, min(n, 4) + 1)), replace=False)
        builder.relate({f"w{j}_joint": float(rng.choice([-2, -1, 1, 1.5, 3])) for j in some})
    model = builder.build()
    return model, np.zeros(model.nq)


def bars(rng):
    """A four-bar linkage or two, one perhaps on the other, and links that hang from them."""
    builder, rod, names = ModelBuilder("bars"), dict(axis=(0, 1, 0), mass=1.0, inertia=(1e-3, 0.05, 0.05)), []
    for i in range(int(rng.integers(1, 3))):
        on, at = None if i == 0 or rng.random() < 0.5 else names[int(rng.integers(3))], np.array([0.0, i, 0.0])
        builder.add_body(f"crank{i}", on, **rod, com=(0.15, 0, 0), position=at)
        builder.add_body(f"coupler{i}", f"crank{i}", **rod, com=(0.4, 0, 0), position=(0.3, 0, 0))
        builder.add_body(f"rocker{i}", f"coupler{i}", **rod, com=(0.3, 0, 0), position=(0.8, 0, 0))
        builder.close(f"rocker{i}", on, axis=(0, 1, 0), position=(0.6, 0, 0), other_position=at + (0.7, 0, 0))
        names += [f"crank{i}", f"coupler{i}", f"rocker{i}"]
    for i in range(int(rng.integers(0, 8 - len(names)))):
        on = names[int(rng.integers(len(names)))]
        builder.add_body(
            f"hanging{i}", on, axis=(0, 1, 0), position=(0.2, 0, 0), mass=rng.uniform(0.1, 2), com=(0.1, 0.05, -0.2),
            inertia=(0.01,) * 3,
        )  # fmt: skip
    model, start = builder.build(), {"crank": -1.0, "coupler": -0.2, "rocker": 2.0, "hanging": 0.3}
    return model, supple.close_loops(model, [start[name.rstrip("01234567")] for name in model.body_names])


@pytest.mark.parametrize("make", [geared, bars])
def test_a_number_of_joints_is_refused_or_moves_something(make):
    """It is refused where any set that can move is larger, and with the size of the smallest; otherwise one for which
    there is room moves from the first update on."""
    refused = 0
    for seed in range(14):
        model, q = make(np.random.default_rng(seed))
        sets = movable_sets(model, q)
        fewest = min(map(len, sets), default=model.n_bodies)
        for active in range(1, model.n_bodies):
            if active < fewest and sets:
                with pytest.raises(supple.StateError, match=f"use active={fewest} or more"):
                    AdaptiveDynamics(model, q, active=active)
                refused += 1
                continue
            ad = AdaptiveDynamics(model, q, active=active, update_every=1)
            fits = any(len(x) <= active and accelerates(model, q, x) for x in sets)
            for _ in range(2):
                ad.step(1e-6)
                assert len(ad.active_joints) <= active
                assert (np.abs(ad.v).max() > 0) == fits, (seed, active)
    assert refused > 3


def test_a_joint_that_no_loop_holds_moves_where_there_is_room():
    """Beside the joints of a loop that matter more, and for which there is none; and for good."""
    model, q = bars(np.random.default_rng(4))
    held = {"crank", "coupler", "rocker"}
    alone = [j for j, name in enumerate(model.body_names) if name.rstrip("01234567") not in held]
    assert alone
    for active in (1, 2, 4, 5):
        ad = AdaptiveDynamics(model, q, active=active, update_every=1)
        for _ in range(4):
            ad.step(1e-5)
            moving = set(ad.active_joints.tolist())
            assert len(moving) == active or moving >= set(alone), active
