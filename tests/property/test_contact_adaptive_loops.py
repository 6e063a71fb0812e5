"""Adaptive dynamics of bodies with closed loops that touch: every step by the conditions of its own problem, written
densely over the active joints; exact runs where all joints move; joints that move together, sleep, copies, refusals."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import supple
from linkages import bennett, four_bar, parallel, parallelogram, random_linkage, related_trees
from supple import AdaptiveDynamics, Contacts, Model, Shape, StateError, simulate
from supple.adaptive.memory import CURRENT
from supple.exact.closure import closure, gaps
from supple.model.joints import JointType
from tests.touching import Floats, moved_on
from tests.unit.test_contact_loops import ring

G, H = 9.81, 2e-3
FLOOR = Contacts(ground=0.0)


def gap(model: Model, body: AdaptiveDynamics) -> float:
    rows = gaps(model, body.q.copy(), body.v.copy())
    return float(max(np.abs(rows.phi).max(), np.abs(rows.rate).max()))


# --- every step -------------------------------------------------------------------------------------------------------


def mechanism(name: str, rng: np.random.Generator) -> tuple[Model, Floats]:
    """A mechanism and a position in which it is closed."""
    if name in ("random", "twice"):
        model, q = random_linkage(rng, n=6, loops=int(rng.integers(1, 4)))
        if name == "twice":
            again = tuple(replace(x, name=f"{x.name} again") for x in model.loop_list)
            model = replace(model, loop_list=model.loop_list + again)
        return model, q
    if name == "trees":
        model = related_trees(rng, 3)
        return model, model.neutral()
    if name == "ring":
        model, q = ring(6, bool(rng.random() < 0.5))
        return replace(model, shape_list=()), q
    if name == "four-bar":
        model = four_bar()
        return model, supple.close_loops(model, [-1.0, -0.2, 2.0])
    if name == "parallelogram":
        return parallelogram(), parallel(float(rng.uniform(0.3, 1.2)))
    return bennett()


def on_floor(rng: np.random.Generator, model: Model, q: Floats) -> tuple[Model, float]:
    """With spheres that nearly touch a floor, and the height of that."""
    place, shapes = supple.poses(model, q), []
    at = [place.position[b] + place.rotation[b] @ (p := 0.2 * rng.normal(size=3)) for b in range(model.n_bodies)]
    ground = min(x[2] for x in at) - 0.05
    for b in rng.choice(model.n_bodies, min(model.n_bodies, 4), replace=False):
        p = place.rotation[b].T @ (at[b] - place.position[b])
        radius = at[b][2] - ground - 1e-4 * rng.random()
        shapes.append(Shape(f"s{b}", int(b), "sphere", (radius,), p, np.eye(3), friction=0.5, group=2, mask=1))
    return replace(model, shape_list=tuple(shapes)), float(ground)


def dense_rows(model: Model, q: Floats, touches: Any, shapes: list[Shape]) -> Floats:
    """(3 k, nv) velocities at touches along their normals and across, from those of bodies, one joint at a time."""
    at, columns = supple.poses(model, q).position, []
    for e in np.eye(model.nv):
        V, column = supple.velocities(model, q, e).spatial, []
        for touch in touches:
            u = np.zeros(3)
            for shape, sign in ((touch["shape"], 1.0), (touch["other"], -1.0)):
                b = shapes[shape].body
                if b >= 0:
                    u += sign * (V[b, 3:] + np.cross(V[b, :3], touch["point"] - at[b]))
            column += list(np.array([touch["n"], touch["t"], touch["s"]]) @ u)
        columns.append(column)
    return np.array(columns).T


class Dense:
    """H dv = h f + J^T lam + G^T x with G v' = 0, over the degrees of freedom that are active. q, v: where forces act,
    after the time `before`; struck: the velocities by an impact, if there is one."""

    def __init__(self, model: Model, q: Floats, v: Floats, moves: Any, before: float, struck: Floats | None) -> None:
        self.horizon = 1.5 * H - before  # until forces act next
        self.model = replace(model, loop_list=(), relation_list=(), damping=np.zeros(model.nv))
        self.q, self.moves = q, np.flatnonzero(moves)
        damping = np.diag(model.damping[self.moves])
        self.M = supple.mass_matrix(self.model, q)[np.ix_(self.moves, self.moves)] + H * damping
        self.G = closure(model, q).G[:, self.moves]
        self.ways = np.linalg.solve(self.M, self.G.T)
        self.drag = damping @ v[self.moves]
        middle = self.closed(v + 0.5 * H * self.accelerate(v))
        times = [(middle, H)] if struck is None else [(v, before), (struck, H - before)]
        self.free = v + sum(time * self.accelerate(u) for u, time in times)
        free = np.flatnonzero((model.joint_type == JointType.FREE) & np.isin(np.arange(model.n_bodies), self.joints))
        for j in model.v_index[free]:
            for u, time in times:
                self.free[j : j + 3] += time * np.cross(u[j + 3 : j + 6], u[j : j + 3])
        self.free = self.closed(self.free)

    @property
    def joints(self) -> Any:
        return self.model.dof_body[self.moves]

    def accelerate(self, v: Floats) -> Floats:
        bias = supple.inverse_dynamics(self.model, self.q, v, np.zeros(self.model.nv))[self.moves]
        out = np.zeros(self.model.nv)
        out[self.moves] = np.linalg.solve(self.M, -bias - self.drag)
        return out

    def closed(self, v: Floats) -> Floats:
        """The nearest velocities with loops closed."""
        out = v.copy()
        out[self.moves] -= self.ways @ np.linalg.lstsq(self.G @ self.ways, self.G @ v[self.moves], rcond=1e-10)[0]
        return out

    def check(self, end: Floats, touches: Any, shapes: list[Shape]) -> int:
        """Judge velocities after a step, and impulses. Returns how many push."""
        J, lam = dense_rows(self.model, self.q, touches, shapes)[:, self.moves], touches["lam"].ravel()
        scale = max(np.abs(end).max(), np.abs(self.free).max()) + G * H
        still = np.setdiff1d(np.arange(self.model.nv), self.moves)
        assert not end[still].any()
        assert np.abs(self.G @ end[self.moves]).max(initial=0.0) < 1e-9 * scale
        left = self.M @ (end - self.free)[self.moves] - J.T @ lam
        x = np.linalg.lstsq(self.G.T, left, rcond=1e-10)[0]
        assert np.abs(left - self.G.T @ x).max() < 1e-8 * scale * max(1.0, np.abs(self.M).max())
        tolerance, ways = 2e-5 * scale, np.linalg.solve(self.M, J.T)
        held = ways - self.ways @ np.linalg.lstsq(self.G @ self.ways, self.G @ ways, rcond=1e-10)[0]
        for k, touch in enumerate(touches):
            n, *across = (J @ end[self.moves])[3 * k : 3 * k + 3]
            answers, (push, *rub) = (J @ held)[3 * k, 3 * k], touch["lam"]
            opens, most = n + max(touch["gap"], 0.0) / self.horizon, touch["friction"] * push
            assert push >= 0.0 and np.linalg.norm(rub) <= most * (1 + 1e-6) + 1e-12
            if not touch["active"]:  # nothing can open it or close it
                assert answers < 1e-8 * np.trace(J @ ways) + 1e-12 and push == 0.0
                continue
            assert opens > -tolerance and min(push * answers, opens) < tolerance
            if np.linalg.norm(across) > 1e-3 * scale and push * answers > 1e-4 * scale:
                np.testing.assert_allclose(rub, -most * np.array(across) / np.linalg.norm(across), atol=2e-2 * most)
        return int((touches["lam"][:, 0] > 0).sum())


def coordinates(model: Model, joints: Any) -> Any:
    """The indices in q of some joints."""
    last = np.append(model.q_index, model.nq)[1:]
    return np.concatenate([np.arange(model.q_index[j], last[j]) for j in joints])


def nearest_closed(model: Model, q: Floats, v: Floats, moves: Any) -> Floats:
    """The nearest velocities of some degrees of freedom that keep loops closed, in the metric of the mass matrix."""
    out, G = v.copy(), closure(model, q).G[:, moves]
    ways = np.linalg.solve(supple.mass_matrix(model, q)[np.ix_(moves, moves)], G.T)
    out[moves] -= ways @ np.linalg.lstsq(G @ ways, G @ v[moves], rcond=1e-10)[0]
    return out


def judged_step(name: str, seed: int) -> int:
    """One step of a mechanism of which random joints move, all others being rigid. Returns how many touches push."""
    rng = np.random.default_rng([seed, 7])
    model, q = mechanism(name, rng)
    model, ground = on_floor(rng, model, q)
    joints = np.flatnonzero(rng.random(model.n_bodies) < rng.choice([0.5, 0.8, 1.0]))
    joints = joints if len(joints) else np.array([0])
    moves, v = np.isin(model.dof_body, joints), np.zeros(model.nv)
    _, s, Vt = np.linalg.svd(closure(model, q).G[:, moves])
    N = Vt[np.count_nonzero(s > 1e-9) :].T
    v[moves] = N @ (N.T @ rng.normal(size=len(N)))
    contacts = Contacts(ground=ground, limits=False)
    body = AdaptiveDynamics(model, q, v, active=[model.joint_names[j] for j in joints], contacts=contacts)
    q, v = body.q.copy(), body.v.copy()
    body.step(H)
    touches = body._hybrid.touches
    assert touches is not None and gap(model, body) < 1e-10
    if touches.struct.parts != 1 or not len(touches.room.found):
        return 0
    before = touches.struct.before
    if before > 0.0:
        if touches.struct.apart:  # where forces act is not known any more
            return 0
        (straight, v), q = moved_on(model, q, v, before), np.array(touches.struct.q0)
        q = np.where(np.isin(np.arange(model.nq), coordinates(model, joints)), q, straight)
        assert np.abs(q - straight).max() < 10.0 * before**2 * np.abs(v).max() ** 2 + 1e-9
        v = nearest_closed(model, q, v, moves)
    found, end = touches.room.found.copy(), np.array(touches.struct.end)
    response = found["W"][:, [0, 3, 5]].max(axis=1)
    unexpected = np.linalg.norm(found["lam"] - found["expected"], axis=1) * response > touches.struct.slowest
    struck = None
    if unexpected.any():
        struck = np.where(moves, body._hybrid.memory.half, 0.0)
        if np.abs(struck - end).max() > 0.05 * (np.abs(end).max() + G * H):  # what closed the loops is there by now
            struck = end
    return Dense(model, q, v, moves, before, struck).check(end, found, touches.room.shapes)


MECHANISMS = ["random", "twice", "trees", "ring", "four-bar", "parallelogram", "bennett"]


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_step_solves_its_problem_written_densely(name: str) -> None:
    assert sum(judged_step(name, seed) for seed in range(80)) > 3


# --- runs -------------------------------------------------------------------------------------------------------------


def lowest(model: Model, q: Floats) -> float:
    """The height of the lowest point of capsules."""
    place, out = supple.poses(model, q), []
    for x in model.shape_list:
        R, p = place.rotation[x.body], place.position[x.body]
        ends = [p + R @ (x.position + x.rotation @ (0.0, 0.0, s * x.size[1])) for s in (-0.5, 0.5)]
        out += [end[2] - x.size[0] for end in ends]
    return float(min(out))


@pytest.mark.parametrize("seed", range(4))
def test_all_joints_active_is_the_exact_run(seed: int) -> None:
    """From where it touches; as for trees, forces are unique only for a short while."""
    rng = np.random.default_rng(seed)
    model, q = ring(4 + seed, geared=seed == 2)
    q[2] -= lowest(model, q)
    v = supple.close_velocities(model, q, 0.4 * rng.normal(size=model.nv))
    v[2] = 0.0
    how: dict[str, Any] = dict(duration=0.06, dt=H, contacts=FLOOR)
    exact = simulate(model, q, v, **how)
    ours = simulate(model, q, v, method="adaptive", active=model.n_bodies, **how)
    assert sum(bool(exact.contacts(i)) for i in range(len(exact.times))) > 10
    np.testing.assert_allclose(ours.q, exact.q, atol=1e-5)


def test_all_joints_active_with_springs_limits_and_bounces() -> None:
    model, q = ring(5)
    hinges = np.arange(model.nv) > 5
    model = replace(
        model, lower=np.where(np.arange(model.nq) < 7, model.lower, 1.2), stiffness=2.0 * hinges, damping=0.02 * hinges,
        shape_list=tuple(replace(x, restitution=0.6) for x in model.shape_list),
    )  # fmt: skip
    q[2] -= lowest(model, q)
    how: dict[str, Any] = dict(duration=0.2, dt=H, contacts=FLOOR)
    v = np.r_[0.5, 0.0, -2.0, np.zeros(model.nv - 3)]
    exact, ours = simulate(model, q, v, **how), simulate(model, q, v, method="adaptive", active=model.n_bodies, **how)
    assert exact.v[5:, 2].max() > 0.3 and exact.q[:, 7:].min() < 1.2 + 1e-3  # it bounces, and reaches a limit
    np.testing.assert_allclose(ours.q, exact.q, atol=1e-5)


@pytest.mark.parametrize("active", [0, 4, 6])
@pytest.mark.parametrize("geared", [False, True])
def test_the_laws_of_contact_hold_at_every_step(active: int, geared: bool) -> None:
    model, q = ring(8, geared)
    q[2:7] = 0.9, 0.3, 0.4, 0.1, 0.9
    q[3:7] /= np.linalg.norm(q[3:7])
    r = simulate(model, q, duration=1.0, dt=H, contacts=FLOOR, method="adaptive", active=active)
    touched, scale = 0, model.total_mass * G * G * H * H
    for i, (x, v) in enumerate(zip(r.q, r.v)):
        rows = gaps(model, x, v)
        assert np.abs(rows.phi).max() < 1e-10 and np.abs(rows.rate).max() < 1e-10
        for c in r.contacts(i):
            along = c.force @ c.normal
            across = c.force - along * c.normal
            touched += 1
            assert along >= 0.0 and c.gap > -5e-4 and np.linalg.norm(across) <= 0.4 * along * (1 + 1e-6) + 1e-9
            if np.linalg.norm(c.slip) > 1e-4 and along > 1e-3:
                assert across @ c.slip <= 1e-6 * along * np.linalg.norm(c.slip)  # against the slip
    kinetic = supple.kinetic_energy(model, r.q, r.v)
    assert touched > 300 and (np.diff(r.energy) / (kinetic[:-1] + scale)).max() < 2e-3


@pytest.mark.parametrize(("method", "every"), [("aba", 0), ("adaptive", 5)])
@pytest.mark.parametrize("seed", [7, 10])
def test_bounces_within_a_step_add_no_energy(seed: int, method: str, every: int) -> None:
    """There, positions have moved since velocities were made to keep loops closed: impulses along rows of closed loops
    must not act on the rest of the velocities."""
    rng = np.random.default_rng(seed)
    model, q = ring(11)
    model = replace(model, shape_list=tuple(replace(x, restitution=1.0, friction=0.0) for x in model.shape_list))
    h, turn = 5e-3, rng.normal(size=4)
    q[3:7] = turn / np.linalg.norm(turn)
    q[2] += 0.01 - lowest(model, q)
    v = supple.close_velocities(model, q, 2.0 * rng.normal(size=model.nv))
    how = {"update_every": every} if every else {}
    r = simulate(model, q, v, duration=1.0, dt=h, contacts=FLOOR, method=method, **how)
    scale = supple.kinetic_energy(model, r.q, r.v) + model.total_mass * G * G * h * h
    assert sum(bool(r.contacts(i)) for i in range(len(r.times))) > 3
    assert (np.diff(r.energy) / scale[:-1]).max() < 3e-3


# --- which joints move ------------------------------------------------------------------------------------------------


def test_joints_are_chosen_by_the_forces_of_loops_and_contacts_together() -> None:
    """At an update of a ring that moves on the floor: accelerations of the whole body under both, beside dense ones."""
    model, q = ring(6)
    q[2] = 0.5
    v = supple.close_velocities(model, q, np.r_[0.5, 0.3, -0.5, 0.2, 1.0, 0.1, np.ones(5)])
    body, seen = AdaptiveDynamics(model, q, v, active=4, update_every=1, contacts=FLOOR), 0
    turns = supple.exact.tables.host_tables(model).tables.outward["R"].reshape(-1, 3, 3)
    for _ in range(120):
        q, v, memory = body.q.copy(), body.v.copy(), body._hybrid.memory
        memory.outer["f"] = 0.0
        body.step(H)
        if not memory.outer["f"].any():
            continue
        rows, place = closure(model, q, v), supple.poses(model, q)
        force = -supple.inverse_dynamics(model, q, v, np.zeros(model.nv))
        for outer in memory.outer:
            if np.any(outer["f"]):
                R = place.rotation[outer["body"]] @ turns[outer["body"]].T
                wrench = np.r_[R @ outer["f"][:3], R @ outer["f"][3:]]
                force += supple.jacobian(model, q, int(outer["body"])).T @ wrench
        whole = np.block([[supple.mass_matrix(model, q), rows.G.T], [rows.G, np.zeros((len(rows.G),) * 2)]])
        expected = np.linalg.lstsq(whole, np.r_[force, rows.g], rcond=1e-11)[0][: model.nv]
        np.testing.assert_allclose(memory.closing.wanted[: model.nv], expected, atol=1e-7 * np.abs(expected).max())
        seen += 1
    assert seen > 20


def linkage_over_floor() -> tuple[Model, Floats]:
    """A four-bar linkage and two pendulums, one on its coupler, that strike spheres of the world."""
    b, rod = supple.ModelBuilder("linkage"), dict(axis=(0, 1, 0), mass=1.0, inertia=(1e-3, 0.05, 0.05))
    b.add_body("crank", None, **rod, com=(0.15, 0, 0))
    b.add_body("coupler", "crank", **rod, com=(0.4, 0, 0), position=(0.3, 0, 0))
    b.add_body("rocker", "coupler", **rod, com=(0.3, 0, 0), position=(0.8, 0, 0))
    b.close("rocker", None, axis=(0, 1, 0), position=(0.6, 0, 0), other_position=(0.7, 0, 0))
    b.add_body("near", "coupler", **rod, com=(0.2, 0, 0), position=(0.2, 0, 0))
    b.add_body("far", None, **rod, com=(0.2, 0, 0), position=(3.0, 0, 0))
    for name in ("coupler", "near", "far"):
        b.add_shape(name, "sphere", (0.05,), (0.4, 0.1, 0.0))
    model = b.build()
    return model, supple.close_loops(model, [-1.0, -0.2, 2.0, 0.3, 0.2])


def test_joints_that_cannot_move_alone_are_chosen_together_or_refused() -> None:
    model, q = linkage_over_floor()
    linkage, floor = {0, 1, 2}, Contacts(ground=-0.2)
    sizes, touched = set(), 0
    for active in (1, 2, 3, 4):
        body = AdaptiveDynamics(model, q, active=active, update_every=3, contacts=floor)
        for _ in range(200):
            body.step(5e-3)
            moving = set(body.active_joints.tolist())
            assert len(moving) <= active and moving & linkage in (set(), linkage)
            assert gap(model, body) < 1e-10
            sizes.add(len(moving))
            touched += len(body.touches)
    assert {1, 3, 4} <= sizes and touched > 50
    alone = four_bar()
    shape = Shape("rocker", 2, "sphere", (0.05,), np.zeros(3), np.eye(3))
    with pytest.raises(StateError, match="use active=3 or more"):
        AdaptiveDynamics(replace(alone, shape_list=(shape,)), q[:3], active=2, contacts=floor)
    with pytest.raises(StateError, match="guaranteed"):
        AdaptiveDynamics(model, q, error=0.1, guaranteed=True, contacts=floor)


# --- sleep ------------------------------------------------------------------------------------------------------------


def tied(pendulum: bool) -> tuple[Model, Floats]:
    """Two boxes that a ball joint connects, with a light wheel in each, and a third box; pendulum: the third is instead
    a swing, and another joint connects the second box to it."""
    b = supple.ModelBuilder("tied")
    for i in range(3):
        name = f"box{i}"
        if i == 2 and pendulum:
            b.add_body(name, None, "revolute", axis=(0, 1, 0), position=(1.0, 0, 0.6), mass=1.0, com=(0, 0, -0.5),
                       inertia=[0.01] * 3)  # fmt: skip
            b.close("box1", name, "ball", position=(0.1, 0, 0), other_position=(0, 0, -0.5))
        else:
            b.add_body(name, None, "free", mass=1.0, inertia=[0.01] * 3)
            b.add_body(f"wheel{i}", name, mass=1e-3, inertia=[1e-6] * 3)
            b.add_shape(name, "box", (0.2, 0.2, 0.2), friction=0.5)
    b.close("box0", "box1", "ball", position=(0.15, 0, 0), other_position=(-0.15, 0, 0))
    model = b.build()
    q = model.neutral()
    for j, x in zip(model.q_index[model.joint_type == JointType.FREE], (0.0, 0.3, 3.0)):
        q[j : j + 3] = x, 0.0, 0.1
    return model, supple.close_loops(model, q) if pendulum else q


def test_characters_that_loops_connect_sleep_and_wake_together() -> None:
    model, q = tied(False)
    body = AdaptiveDynamics(model, q, active=0, contacts=FLOOR)
    body.run(0.5, H)
    assert body.sleeping.tolist() == [0, 2, 4] and not body.v.any()
    push = body.apply("box0", force=(0.0, 0.0, 30.0))
    assert body.sleeping.tolist() == [4]
    body.run(0.3, H)
    push.remove()
    assert body.q[2] > 0.2 and gap(model, body) < 1e-10
    body.run(4.0, H)
    assert body.sleeping.tolist() == [0, 2, 4] and gap(model, body) < 1e-10


def test_a_character_tied_to_what_never_sleeps_stays_awake() -> None:
    model, q = tied(True)
    body = AdaptiveDynamics(model, q, active=1, contacts=FLOOR)
    body.run(1.0, H)
    assert body.sleeping.size == 0 and gap(model, body) < 1e-10


def test_a_ring_sleeps_and_wakes_when_it_is_pushed() -> None:
    model, q = ring(6)
    q[2], q[3:7] = 0.03, (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))  # flat on the floor
    body = AdaptiveDynamics(model, q, active=4, contacts=FLOOR)
    body.run(1.0, H)
    assert body.sleeping.tolist() == [0] and not body.v.any()
    body.apply("link 3", force=(0.0, 0.0, 40.0))
    body.run(0.1, H)
    assert body.sleeping.size == 0 and body.v.any() and gap(model, body) < 1e-10


# --- copies, resumed runs, refused calls ------------------------------------------------------------------------------


def test_copies_pickles_and_restored_runs_go_on_alike() -> None:
    model, q = ring(8)
    q[2] = 0.8
    body = AdaptiveDynamics(model, q, np.r_[0.5, 1.0, 0.0, 1.0, 0.0, 1.0, np.zeros(7)], active=4, contacts=FLOOR)
    body.run(0.3, H)
    assert len(body.touches)
    twins = [copy.copy(body), copy.deepcopy(body), pickle.loads(pickle.dumps(body))]
    other = AdaptiveDynamics(model, q, active=4, contacts=FLOOR)
    other.set_state(body.q, body.v)
    other.restore(body.save())
    for bad in (np.full(model.nq, np.nan), model.neutral()[:-1]):
        with pytest.raises(StateError):
            body.set_state(bad)
    with pytest.raises(StateError):
        body.guaranteed = True
    body.run(0.2, H)
    for twin in (*twins, other):
        twin.run(0.2, H)
        np.testing.assert_array_equal(twin.q, body.q)
        np.testing.assert_array_equal(twin.touches, body.touches)
    body.set_state(q)
    body.run(0.5, H)
    assert gap(model, body) < 1e-10 and len(body.touches)


def test_a_run_is_resumed_bit_by_bit(tmp_path: Path) -> None:
    model, q = ring(6, True)
    q[2] = 0.8
    how: dict[str, Any] = dict(dt=H, contacts=FLOOR, method="adaptive", active=4, update_every=7)
    whole, file = simulate(model, q, duration=0.4, **how), tmp_path / "run.h5"
    simulate(model, q, duration=0.25, record=file, **how)
    simulate(model, q, duration=0.4, record=file, resume=True, **how)
    np.testing.assert_array_equal(supple.load_run(file).q, whole.q)
    assert whole.contacts(-1)


@pytest.mark.parametrize("contacts", [FLOOR, None])
def test_what_nodes_were_as_rigid_ones_before_does_not_matter(contacts: Contacts | None) -> None:
    """Which joints are chosen follows from the state: spans and inertias of active nodes may be of any time before, and
    are found again before they are used."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        model, q = ring(8, seed % 2 == 0)
        q[2], q[3:7] = 0.8, Rotation.random(random_state=seed).as_quat()
        body = AdaptiveDynamics(model, q, active=int(rng.integers(3, 6)), contacts=contacts, update_every=3)
        for turn in range(6):
            body.apply(f"link {rng.integers(8)}", force=2.0 * rng.normal(size=3))
            body.run(0.05, H)
            twin = copy.deepcopy(body)
            memory = twin._hybrid.memory
            active = memory.flags & CURRENT > 0
            memory.body.spans["R"][active] = Rotation.random(random_state=turn).as_matrix().ravel()
            memory.body.spans["r"][active] = rng.normal(size=3)
            memory.rigid["Y"][active] *= 3.0
            for each in (body, twin):
                each.run(0.05, H)
            np.testing.assert_array_equal(twin.q, body.q)
            np.testing.assert_array_equal(twin.active_joints, body.active_joints)
