"""Long chains with many contacts: passes over bodies against rows, against dense matrices, and against the law."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import supple
from supple import Contacts, Model, ModelBuilder
from supple.contact.memory import LIMIT
from supple.contact.room import ContactRoom
from tests.law_of_contact import NOTHING, Judge, Verdict

Floats = NDArray[np.float64]
H, LINK, RADIUS, MASS = 2e-3, 0.1, 0.01, 0.1
ALONG = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]  #: takes z, a capsule's axis, to x
ROWS, PASSES = 0.0, np.inf  #: prices


def add_link(b: ModelBuilder, name: str, parent: str | None, joint: str, mass: float = MASS, **more: object) -> None:
    """A capsule along x, hinged at the end of its parent."""
    inertia = mass * np.array([0.5 * RADIUS**2, LINK**2 / 12, LINK**2 / 12])
    at = (LINK, 0, 0) if parent else (0, 0, 0)
    b.add_body(name, parent, joint, position=at, mass=mass, com=(LINK / 2, 0, 0), inertia=inertia, **more)  # type: ignore[arg-type]
    b.add_shape(name, "capsule", (RADIUS, 0.9 * LINK), (LINK / 2, 0, 0), ALONG, friction=0.5)


def chain(n: int, joint: str = "ball", count: int = 1) -> Model:
    """`count` of them, with free roots. Axes of revolute joints are z and y in turn."""
    b = ModelBuilder("chain")
    for c in range(count):
        for k in range(n):
            more = {"axis": ((0, 0, 1), (0, 1, 0))[k % 2]} if joint == "revolute" and k else {}
            add_link(b, f"{c}.{k}", f"{c}.{k - 1}" if k else None, joint if k else "free", **more)
    return b.build()


def along(model: Model, points: Floats) -> Floats:
    """The position of a chain with ball joints along a polygon."""
    x = np.diff(points, axis=0) / LINK
    y = np.cross([0, 0, 1], x)
    y /= np.linalg.norm(y, axis=1)[:, None]
    R = np.stack([x, y, np.cross(x, y)], axis=2)
    q = model.neutral()
    q[:3], q[3:7] = points[0], Rotation.from_matrix(R[0]).as_quat()
    q[7:] = Rotation.from_matrix(R[:-1].transpose(0, 2, 1) @ R[1:]).as_quat().ravel()
    return q


def crossing(n: int, height: float = RADIUS + 2e-3) -> tuple[Model, Floats]:
    """A chain in loops, each of which it lays across itself."""
    t, points = 0.0, [np.zeros(3)]

    def curve(t: float) -> Floats:
        bump = np.exp(-(((t % (2 * np.pi) - 1.55) / 0.35) ** 2))  # where it comes to what lies there already
        return np.array([0.35 * t - 0.6 * np.sin(t), 0.6 - 0.6 * np.cos(t), 2.6 * RADIUS * bump])

    points = [curve(0.0)]
    while len(points) <= n:
        low, high = t, t + 0.5
        for _ in range(50):
            t = 0.5 * (low + high)
            low, high = (t, high) if np.linalg.norm(curve(t) - points[-1]) < LINK else (low, t)
        points.append(curve(t))
    model = chain(n)
    steps = np.diff(np.array(points), axis=0)
    steps *= LINK / np.linalg.norm(steps, axis=1)[:, None]
    return model, along(model, np.concatenate([[points[0]], points[0] + np.cumsum(steps, axis=0)]) + [0, 0, height])


def zigzag(n: int, joint: str = "ball") -> tuple[Model, Floats]:
    model = chain(n, joint)
    if joint == "ball":
        turn = np.where(np.arange(n) % 2, 0.5, -0.5)
        steps = LINK * np.column_stack([np.cos(turn), np.sin(turn), np.zeros(n)])
        return model, along(model, np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)]) + [0, 0, RADIUS + 2e-3])
    q = model.neutral()
    q[2], q[8::2] = RADIUS + 2e-3, 0.4 * np.where(np.arange(len(q[8::2])) % 2, 1, -1)
    return model, q


def branching(seed: int, n: int = 70) -> tuple[Model, Floats]:
    """A tree with side branches, joints of several kinds, tight limits, dampers, and masses up to ten times apart, flat
    on the ground."""
    rng, b = np.random.default_rng(seed), ModelBuilder("tree")
    for k in range(n):
        parent = None if k == 0 else f"{k - 1 if rng.random() < 0.93 else rng.integers(0, k)}"
        joint = str(rng.choice(["ball", "revolute", "universal"])) if k else "free"
        more: dict[str, object] = {"damping": 1e-3} if joint == "ball" else {}
        if joint == "universal":
            more = {"axis": (0, 0, 1), "axis2": (0, 1, 0)}
        elif joint == "revolute":
            more = {"axis": rng.normal(size=3), "lower": -5e-4, "upper": 1e-3, "armature": 1e-4}
        add_link(b, f"{k}", parent, joint, float(10 ** rng.uniform(-1, 0)), **more)
    model = b.build()
    q = model.neutral()
    q[2] = RADIUS
    return model, q


def room_of(model: Model, price: float, **contacts: object) -> ContactRoom:
    room = ContactRoom(model, NOTHING, Contacts(ground=0.0, **contacts))  # type: ignore[arg-type]
    room.deep.price = price
    return room


def fallen(model: Model, q: Floats, v: Floats, steps: int) -> tuple[Floats, Floats]:
    """After so many steps by rows."""
    room = room_of(model, ROWS)
    for _ in range(steps):
        if room.take(q, v, H, np.zeros(model.nv), None):
            q, v = room.q.copy(), room.v.copy()
        else:
            final = supple.simulate(model, q, v, dt=H, duration=H).final
            q, v = final.q, final.v
    return q, v


def jacobian(model: Model, q: Floats, touches: NDArray[np.void]) -> Floats:
    """(3 k, nv) by velocities of bodies, one degree of freedom at a time; of limits, only the first row counts."""
    P = supple.poses(model, q).position
    out = np.zeros((len(touches), 3, model.nv))
    for j in range(model.nv):
        motion = supple.velocities(model, q, np.eye(model.nv)[j])
        for k, t in enumerate(touches):
            if t["kind"] == LIMIT:
                out[k, 0, j] = t["n"][0] * (t["a"] == j)
                continue
            for side, sign in (("a", 1.0), ("b", -1.0)):
                if (b := t[side]) >= 0:
                    w = motion.linear[b] + np.cross(motion.angular[b], t["point"] - P[b])
                    out[k, :, j] += sign * np.array([t["n"] @ w, t["t"] @ w, t["s"] @ w])
    return out.reshape(-1, model.nv)


@pytest.mark.parametrize("case", ["zigzag", "crossing", "branching"])
def test_newtons_equations_by_passes_are_those_of_dense_matrices(case: str) -> None:
    """Of the last solution of a step: v = W change and change = f - A v, with W from the mass matrix; W of each touch
    alone; and velocities that impulses make. The chain that lies across itself has handles, of several kinds of
    neighbours."""
    makers = {"zigzag": lambda: zigzag(30), "crossing": lambda: crossing(60), "branching": lambda: branching(1)}
    model, q = makers[case]()
    begun = np.random.default_rng(3).normal(size=model.nv) * (0.2 if case == "branching" else 0.0)
    q, v = fallen(model, q, begun, {"zigzag": 11, "crossing": 26, "branching": 2}[case])
    room = room_of(model, PASSES, overlap=1e-3)  # so that no other equations come after
    assert room.take(q, v, H / 8, np.zeros(model.nv), None)
    assert room.landing.parts == 1 and room.deep.n_groups == 1 and room.landing.sweeps > 0
    found = room.found[room.found["aside"] == 0]
    assert case != "crossing" or (found["b"] >= 0).sum() > 0
    q = model.integrate(q, v, room.landing.before)  # where forces act
    H_matrix = supple.mass_matrix(model, q) + H / 8 * np.diag(model.damping)
    J = jacobian(model, q, found)
    W = J @ np.linalg.solve(H_matrix, J.T)
    for k, t in enumerate(found):
        alone = W[3 * k : 3 * k + 3, 3 * k : 3 * k + 3][np.triu_indices(3)]
        np.testing.assert_allclose(t["W"], alone, atol=1e-7 * alone.max())
    size = np.abs(W @ found["f"].ravel()).max()
    np.testing.assert_allclose(W @ found["change"].ravel(), found["v"].ravel(), atol=1e-7 * size)
    A_v = np.einsum("kij,kj->ki", found["slope"].reshape(-1, 3, 3), found["v"])
    np.testing.assert_allclose(found["change"], found["f"] - A_v, atol=1e-9 * np.abs(found["f"]).max())
    u = found["free"] + (W @ found["lam"].ravel()).reshape(-1, 3)
    np.testing.assert_allclose(u, found["u"], atol=1e-7 * np.abs(found["free"]).max())


def pile() -> tuple[Model, Floats]:
    """Three chains across each other."""
    model = chain(26, count=3)
    q = model.neutral()
    for c in range(3):
        at = c * np.array([1.0, -0.7, 2.1 * RADIUS]) + [0, 0, 1.2 * RADIUS]
        q[c * len(q) // 3 :][:7] = *at, 0, 0, np.sin(c / 2), np.cos(c / 2)
    return model, q


@pytest.mark.parametrize("case", ["zigzag", "revolute", "crossing", "branching 0", "branching 1", "pile"])
def test_impulses_by_passes_are_a_solution_by_rows(case: str) -> None:
    """Solutions need not be unique: rows get the impulses that passes have found, which satisfy the law by rows, too,
    without a sweep, and do the same to velocities."""
    name, _, seed = case.partition(" ")
    model, q = {
        "zigzag": lambda: zigzag(40), "revolute": lambda: zigzag(40, "revolute"), "crossing": lambda: crossing(50),
        "branching": lambda: branching(int(seed)), "pile": pile,
    }[name]()  # fmt: skip
    v = (0.01 if name == "crossing" else 0.2) * np.random.default_rng(3).normal(size=model.nv)
    passes, rows = (room_of(model, price, overlap=1e-3) for price in (PASSES, ROWS))
    rows.landing.most = 0
    compared = limits = between = 0
    for _ in range(40 if name in ("pile", "crossing") else 20):
        if not passes.take(q, v, H, np.zeros(model.nv), None):
            q, v = (final := supple.simulate(model, q, v, dt=H, duration=H).final).q, final.v
            continue
        for _ in range(20):  # velocities without impulses depend on those that are expected: until these are found
            assert passes.take(q, v, H, np.zeros(model.nv), None)
            if passes.landing.sweeps == 0:
                break
        pushes = passes.found[passes.found["lam"][:, 0] > 0]
        if passes.landing.sweeps == 0 and passes.landing.parts == 1 and len(pushes):
            rows.known = passes.known
            assert rows.take(q, v, H, np.zeros(model.nv), None)
            assert passes.deep.n_groups > 0 and rows.deep.n_groups == rows.landing.sweeps == 0
            ours, theirs = (supple.velocities(model, x.q, x.v).linear for x in (passes, rows))
            np.testing.assert_allclose(ours, theirs, atol=1e-9 * np.abs(theirs).max())
            compared, limits = compared + 1, limits + (pushes["kind"] == LIMIT).sum()
            between += ((pushes["kind"] != LIMIT) & (pushes["b"] >= 0)).sum()
        q, v = passes.q.copy(), passes.v.copy()
    assert compared >= 3
    assert (limits > 0) == (name == "branching") and (between > 0) == (name in ("pile", "crossing"))


@pytest.mark.parametrize("case", ["straight", "zigzag", "revolute", "crossing"])
def test_a_long_chain_keeps_the_law_at_every_step(case: str) -> None:
    """Of three hundred links that fall to the ground, and across themselves."""
    if case == "straight":
        model = chain(300)
        q = model.neutral()
        q[2] = RADIUS + 2e-3
    else:
        model, q = crossing(150) if case == "crossing" else zigzag(300, "ball" if case == "zigzag" else case)
    verdict = Verdict()
    judge = Judge(model, q, np.zeros(model.nv), Contacts(ground=0.0), verdict, case)
    judge.run(0.06, H)
    assert judge.room.deep.n_groups == 1 and judge.room.scene.n_entries == (judge.room.found["aside"] == 0).sum()
    assert verdict.steps > 15 and not verdict.refused
    assert verdict.pull == 0.0 and verdict.cone < 1e-12
    assert judge.room.landing.fault <= 1.0  # of both equations of a touch together; the judge's conditions differ
    assert verdict.fault < (2e-5 if case == "crossing" else 1e-5)
    assert verdict.differ < 1e-9 and max(verdict.overlap) < 6e-4 and max(verdict.rise) < 2e-3


def test_five_thousand_links_on_the_ground_take_memory_in_proportion() -> None:
    """No touch has a row, and the ground carries all of them in the end."""
    model, q = zigzag(5000)
    room, v = room_of(model, 1.0), np.zeros(model.nv)
    for _ in range(40):
        if room.take(q, v, H, np.zeros(model.nv), None):
            q, v = room.q.copy(), room.v.copy()
        else:
            final = supple.simulate(model, q, v, dt=H, duration=H).final
            q, v = final.q, final.v
    assert room.scene.n == 10_000 and room.scene.n_entries == room.scene.n
    assert room.blocks.room_numbers == 0
    carried = room.rows()[:, 11].sum()
    np.testing.assert_allclose(carried, 9.81 * model.total_mass, rtol=1e-6)
    assert np.abs(v).max() < 1e-6


def test_chains_that_begin_inside_the_ground_and_each_other_come_apart() -> None:
    model = chain(30, count=2)
    q = model.neutral()
    q[2] = RADIUS - 1e-3
    half = len(q) // 2
    q[half : half + 7] = 1.5, -1.5, 3 * RADIUS - 2e-3, 0, 0, np.sqrt(0.5), np.sqrt(0.5)
    room, v = room_of(model, PASSES), np.zeros(model.nv)
    before = -room.touching(q)["gap"].min()
    room.deep.price = PASSES
    for _ in range(10):
        assert room.take(q, v, H, np.zeros(model.nv), None)
        q, v = room.q.copy(), room.v.copy()
    assert room.deep.n_groups == 1 and before > 9e-4
    assert room.touching(q)["gap"].min() > -1e-5


def test_a_long_pendulum_swings_into_a_wall() -> None:
    """Its links stop there, and slide down it; none passes through, and the law is kept."""
    b = ModelBuilder("pendulum")
    for k in range(60):
        joint = "revolute" if k % 2 == 0 else "ball"
        add_link(b, f"{k}", f"{k - 1}" if k else None, joint, axis=(0, 1, 0), damping=1e-3)
    b.add_shape(None, "box", (0.1, 20, 20), (-0.07, 0, 0), friction=0.3, name="wall")
    model = b.build()
    q = model.neutral()
    q[0] = 1.4  # nearly straight down, from 0.17 rad off the wall
    verdict = Verdict()
    judge = Judge(model, q, np.zeros(model.nv), Contacts(), verdict, "wall")
    judge.room.deep.price = PASSES
    judge.run(1.0, 4e-3)
    assert judge.room.deep.n_groups == 1 and len(judge.room.found) > 10
    assert not verdict.refused and verdict.pull == 0.0 and verdict.fault < 1e-5 and max(verdict.overlap) < 6e-4


def test_short_trees_have_rows() -> None:
    """Their bodies are not even counted."""
    model, q = zigzag(20)
    room = room_of(model, PASSES)
    assert not room.deep.possible
    q[2] = RADIUS
    assert room.take(q, np.zeros(model.nv), H, np.zeros(model.nv), None) and room.scene.n_entries > 10 * room.scene.n


def test_adaptive_chains_have_passes_too() -> None:
    """With all joints active, as exact runs; with some, in groups of the reduced tree."""
    model, q = zigzag(60)
    exact = supple.simulate(model, q, duration=0.05, dt=H, contacts=Contacts(ground=0.0)).final
    for active in (60, 35):
        body = supple.AdaptiveDynamics(model, q, active=active, contacts=Contacts(ground=0.0))
        body.run(0.05, dt=H)
        assert body._hybrid.touches is not None
        room = body._hybrid.touches.room
        assert room.deep.n_groups == 1 and room.scene.n_entries == room.scene.n
        if active == 60:
            np.testing.assert_allclose(body.q, exact.q, atol=1e-6)
