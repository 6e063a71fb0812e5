"""Newton's equations by blocks against a dense matrix, and heaps of many bodies that touch each other."""

from __future__ import annotations

import numpy as np
import pytest

from supple import Contacts, Model, ModelBuilder, simulate
from supple.bench.ragdolls import DT, dropped, ragdoll
from supple.contact.blocks import blocks_for, make_room
from supple.contact.deep import deep_for
from supple.contact.memory import Entry, Scene, Touch
from supple.contact.room import ContactRoom
from supple.contact.solvers.solving import solve_touches
from supple.exact.tables import host_tables
from supple.integrating.model_law import passive_rows


def revolutes(n: int) -> Model:
    b = ModelBuilder("revolutes")
    for i in range(n):
        b.add_body(f"b{i}", joint="revolute", mass=1.0, inertia=[1.0] * 3)
    return b.build()


def touching_trees(rng: np.random.Generator, trees: int, size: int, touches: int) -> tuple[np.ndarray, np.ndarray]:
    """Y (touches, 3, nv) of touches between random pairs of trees, and the tree of every degree of freedom."""
    Y = np.zeros((touches, 3, trees * size))
    for k in range(touches):
        for t in rng.choice(trees, size=1 + k % 2, replace=False):
            Y[k, :, t * size : (t + 1) * size] = rng.normal(size=(3, size))
    Y[:, 0], Y[:, 1:] = np.abs(Y[:, 0]), 0.3 * Y[:, 1:]  # some motion opens all of them, so that there is a solution
    return Y, np.repeat(np.arange(trees), size)


def attempted(
    Y: np.ndarray, tree: np.ndarray, mu: np.ndarray, free: np.ndarray, bias: np.ndarray, tolerance: float,
    convex: bool = True, start: np.ndarray | float = 0.0,
) -> tuple[np.ndarray, float]:  # fmt: skip
    """The touches, solved from impulses to start with; by convex problems, if nothing else does. And the fault that is
    left."""
    n, _, nv = Y.shape
    touches, entries = Touch.zeros(n), Entry.zeros(n * nv)
    at = 0
    for k in range(n):
        dofs = np.flatnonzero(np.abs(Y[k]).sum(axis=0))
        touches["first"][k], touches["count"][k] = at, len(dofs)
        entries["dof"][at : at + len(dofs)], entries["y"][at : at + len(dofs)] = dofs, Y[k, :, dofs]
        at += len(dofs)
        touches["W"][k] = (Y[k] @ Y[k].T)[np.triu_indices(3)]
    touches["free"], touches["bias"] = free, bias
    touches["friction"], touches["active"] = mu, 1
    blocks = blocks_for(tree)
    names = ("local", "dofs", "ends", "sequence")
    scene = Scene.of(
        model=host_tables(revolutes(nv)), touches=touches, capacity=n, n=n, entries=entries, room=len(entries),
        n_entries=at, blocks=blocks, deep=deep_for(1, 0), z=np.zeros(nv), total=np.zeros(nv),
        **{name: np.zeros(max(n, nv) + 1, dtype=np.int64) for name in names},
    )  # fmt: skip
    solve = solve_touches.load()
    for _ in range(30):  # patterns, lists and numbers grow one after the other, island by island
        touches["lam"] = start
        worst = tolerance * solve(scene.address, 2000, tolerance, 1.0, convex and tolerance > 1e-8)
        if worst >= 0.0:
            break
        make_room(blocks)
    return touches, worst


def solved(
    Y: np.ndarray, tree: np.ndarray, mu: np.ndarray, free: np.ndarray, bias: np.ndarray, tolerance: float = 1e-8
) -> np.ndarray:
    touches, worst = attempted(Y, tree, mu, free, bias, tolerance)
    assert 0.0 <= worst <= tolerance
    return touches


@pytest.mark.parametrize("large", [0, 12], ids=["by degrees of freedom", "by touches"])
@pytest.mark.parametrize("seed", range(6))
def test_touches_between_many_trees_keep_the_law(seed: int, large: int) -> None:
    """Judged by the law itself, with velocities from the dense matrix: whatever the unknowns of the sparse one, and the
    order in which its blocks were eliminated."""
    rng = np.random.default_rng(seed)
    trees = int(rng.integers(2, 45))
    Y, tree = touching_trees(rng, trees, large + int(rng.integers(3, 8)), int(rng.integers(trees, 3 * trees)))
    mu = rng.choice([0.0, 0.2, 0.7, 1.5], size=len(Y))
    free, bias = rng.normal(size=(len(Y), 3)) - [1, 0, 0], rng.uniform(0, 0.5, len(Y))
    touches = solved(Y, tree, mu, free, bias)
    lam = np.where(mu[:, None] > 0, touches["lam"], touches["lam"] * [1, 0, 0])
    u = touches["free"] + Y @ np.einsum("kij,ki->j", Y, lam)
    slip, across, open_by = np.hypot(u[:, 1], u[:, 2]), np.hypot(lam[:, 1], lam[:, 2]), u[:, 0] + touches["bias"]
    assert (lam[:, 0] >= 0).all() and (across <= mu * lam[:, 0] * (1 + 1e-9)).all()
    assert (open_by > -1e-7).all()
    assert (lam[:, 0] * open_by < 1e-6).all()
    np.testing.assert_allclose((lam[:, 1:] * u[:, 1:]).sum(axis=1), -mu * lam[:, 0] * slip, atol=1e-6)


def crossed(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Y, mu, free and bias of touches and limits of one tree, in any directions, some of them on the same body. That
    all is at rest is possible, so that there is a solution."""
    g = np.random.default_rng(seed)
    n, nv, limits = int(g.integers(3, 30)), int(g.integers(6, 24)), int(g.integers(0, 6))
    Y = np.zeros((n + limits, 3, nv))
    for k in range(n):
        count = int(g.integers(4, nv + 1))
        Y[k][:, g.choice(nv, count, replace=False)] = g.normal(size=(3, count))
    Y[:n] *= 10 ** g.uniform(-1.5, 1.5, size=(1, 1, nv)) if seed % 2 else 1.0
    for k in range(0, n - 3, 4):
        Y[k + 1 : k + 4] = Y[k] + 0.3 * g.normal(size=(3, 1, 1)) * Y[k + 1 : k + 4]
    mu, bias = g.choice([0.2, 0.5, 1.0, 1.5], size=n + limits), g.uniform(-0.7, 0.3, n + limits).clip(0.0)
    mu[n:], Y[range(n, n + limits), 0, g.choice(nv, limits, replace=False)] = 0.0, 10 ** g.uniform(-1, 2, size=limits)
    return Y, mu, Y @ g.normal(size=nv), bias


@pytest.mark.parametrize("seed", [217, 527, 1260, 1837, 2143, 2361, 2573, 3080])
def test_convex_problems_settle_where_touches_cross(seed: int) -> None:
    """Where |u_t| goes to and fro, or drifts, from one problem to the next."""
    Y, mu, free, bias = crossed(seed)
    tolerance = 1e-5 * float(np.linalg.norm(free, axis=1).max())
    solved(Y, np.zeros(Y.shape[2], dtype=np.int64), mu, free, bias, tolerance)


def wedged(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Y, mu and velocities of one or two bodies that are squeezed in several places, without joints."""
    g = np.random.default_rng(seed)
    n, bodies = int(g.integers(4, 9)), int(g.integers(1, 3))
    weights = 10.0 ** g.uniform(-1, 1, size=6 * bodies)
    Y = np.zeros((n, 3, 6 * bodies))
    for k in range(n):
        p, normal = 0.3 * g.normal(size=3), unit(g.normal(size=3))
        t = unit(np.cross(normal, g.normal(size=3)))
        which = [0] if bodies == 1 else [0, 1] if k % 2 else [int(g.integers(2))]
        for sign, b in zip((1.0, -1.0), which):
            for row, d in enumerate((normal, t, np.cross(normal, t))):
                Y[k, row, 6 * b : 6 * b + 6] = sign * np.r_[d, np.cross(p, d)]
    return Y / np.sqrt(weights), np.full(n, g.choice([0.4, 0.8, 1.2])), 0.05 * g.normal(size=6 * bodies)


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x)


@pytest.mark.parametrize("seed", [115, 399, 406, 416, 461, 499, *range(4)])
def test_touches_that_wedge_bodies_are_solved_for_as_these_move(seed: int) -> None:
    """Step by step, from the impulses of the step before, without convex problems: touches begin to slide, or turn. At
    rest nothing closes, so that there is a solution. The first six were not found by the other methods."""
    Y, mu, v = wedged(seed)
    g, tree, lam = np.random.default_rng(seed), np.zeros(Y.shape[2], dtype=np.int64), np.zeros((len(Y), 3))
    turn, faster = 0.01 * g.normal(size=Y.shape), 0.01 * g.normal(size=Y.shape[2])
    for _ in range(30):
        tolerance = 1e-5 * float(np.linalg.norm(Y @ v, axis=1).max())
        touches, worst = attempted(Y, tree, mu, Y @ v, np.zeros(len(Y)), tolerance, False, lam)
        assert 0.0 <= worst <= tolerance
        Y, v, lam = Y + turn, v + faster, touches["lam"].copy()


@pytest.mark.parametrize("rough", [1e-12, 10.0, 100.0, 1e3])
def test_what_counts_as_solved_keeps_the_law_however_rough_it_is(rough: float) -> None:
    """Each part of the law by itself, as velocities from the dense matrix: none is hidden behind another one that
    friction makes a thousand times larger."""
    count = 0
    for seed in range(60):
        Y, mu, free, bias = crossed(seed)
        mu = np.where(mu > 0.0, rough, 0.0)
        tolerance = 1e-5 * float(np.linalg.norm(free, axis=1).max())
        touches, worst = attempted(Y, np.zeros(Y.shape[2], dtype=np.int64), mu, free, bias, tolerance)
        if not worst <= tolerance:
            continue
        count += 1
        lam, W = touches["lam"], touches["W"][:, 0]
        u = free + Y @ np.einsum("kij,ki->j", Y, lam)
        opens, slip, across = u[:, 0] + bias, np.hypot(u[:, 1], u[:, 2]), np.hypot(lam[:, 1], lam[:, 2])
        assert (lam[:, 0] >= 0.0).all() and (across <= mu * lam[:, 0] * (1 + 1e-12)).all()
        assert opens.min() > -1.01 * tolerance
        assert np.minimum(W * lam[:, 0], opens).max() < 1.01 * tolerance
        # it sticks, or friction is what the slip says, or the slip where friction says
        against = -(mu * lam[:, 0] / np.maximum(slip, 1e-300))[:, None] * u[:, 1:]
        wrong = W * np.linalg.norm(lam[:, 1:] - against, axis=1)
        beside = np.linalg.norm(u[:, 1:] + (slip / np.maximum(across, 1e-300))[:, None] * lam[:, 1:], axis=1)
        beside += W * (mu * lam[:, 0] - across)
        assert np.min([slip, wrong, beside], axis=0)[mu > 0.0].max(initial=0.0) < 2 * tolerance
    assert count >= 40


def test_a_light_link_that_jams_between_its_limit_and_the_ground_sticks() -> None:
    """Of masses 40,000 times apart: the responses of a contact and of a limit, which are nearly the same. By trying all
    states, the only solution is that the contact sticks, though it would open or slide, and the limit closes, though it
    would open."""
    W = np.array(
        [
            [47.63117964, 26.42814561, 116.29575187, 444.27524487],
            [26.42814561, 42.06560132, 73.45571344, 276.01357274],
            [116.29575187, 73.45571344, 287.47854234, 1101.87412207],
            [444.27524487, 276.01357274, 1101.87412207, 4272.99464684],
        ]
    )
    free = np.array([[-1.0288392859e-05, -2.5938789139e-04, 1.3381317153e-04], [9.8971291177e-04, 0.0, 0.0]])
    L, Y = np.linalg.cholesky(W), np.zeros((2, 3, 4))
    Y[0], Y[1, 0] = L[:3], L[3]
    touches = solved(Y, np.zeros(4, dtype=np.int64), np.array([0.9901316275, 0.0]), free, np.zeros(2))
    lam = np.append(touches["lam"][0], touches["lam"][1, 0])
    np.testing.assert_allclose(lam, np.linalg.solve(W, -np.append(free[0], free[1, 0])), rtol=1e-3)
    assert np.hypot(*lam[1:3]) < 0.99 * lam[0] and lam[3] > 0.0


@pytest.mark.parametrize("seed", [2, 19])
def test_a_ragdoll_that_settles_takes_one_step_of_newtons_method(seed: int) -> None:
    """It lies on ten places and more, and creeps in some: impulses of the step before, and what slid in it, are nearly
    right."""
    model = ragdoll()
    room = ContactRoom(model, passive_rows(model), Contacts(ground=0.0, friction=0.8))
    (q, v), taken = dropped(model, seed), []
    for _ in range(1500):
        assert room.take(q, v, DT, np.zeros(model.nv), None)
        q, v = room.q.copy(), room.v.copy()
        taken.append(room.landing.sweeps)
    assert 0.9 < np.mean(taken[1000:]) < 1.25
    assert np.mean(taken) < 1.95


def boxes(n: int, rng: np.random.Generator) -> tuple[Model, np.ndarray]:
    """Boxes of different sizes above each other, turned at random, four on each floor."""
    b = ModelBuilder("boxes")
    for i in range(n):
        edges = rng.uniform(0.1, 0.2, 3)
        mass = 1000 * np.prod(edges)
        inertia = mass / 12 * (np.sum(edges**2) - edges**2)
        b.add_body(f"box{i}", joint="free", mass=float(mass), inertia=inertia)
        b.add_shape(f"box{i}", "box", edges, friction=0.6)
    model = b.build()
    q = model.neutral()
    for i in range(n):
        turn = rng.normal(size=4)
        q[7 * i : 7 * i + 7] = 0.27 * (i % 2), 0.27 * (i // 2 % 2), 0.2 + 0.3 * (i // 4), *(turn / np.linalg.norm(turn))
    return model, q


def test_a_heap_of_forty_boxes_is_solved_at_every_step() -> None:
    """Up to 240 degrees of freedom in one island: none is refused, and the floor carries all of them in the end."""
    model, q = boxes(40, np.random.default_rng(1))
    r = simulate(model, q, dt=5e-3, duration=4.0, contacts=Contacts(ground=0.0), every=800)
    on_floor = sum(c.force[2] for c in r.contacts(-1) if c.other == "ground")
    np.testing.assert_allclose(on_floor, 9.81 * model.total_mass, rtol=0.05)
    assert r.q[-1].reshape(-1, 7)[:, 2].min() > 0.04
