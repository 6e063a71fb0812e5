"""Adaptive dynamics of bodies that touch: as exact runs where all joints move, and the laws of contact in any case."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import supple
from supple import AdaptiveDynamics, Contacts, Model, ModelBuilder, Result, simulate
from supple.adaptive.memory import CURRENT
from supple.adaptive.touching.search import search_touches
from supple.adaptive.touching.stepping import ROOM_FOR_TOUCHES
from supple.contact.room import ContactRoom
from supple.integrating.joint_law import LAW
from tests.touching import RADIUS, Floats, add_capsules, add_chain, chains, strewn

G = 9.81
FLOOR = Contacts(ground=0.0)


def both_ways(model: Model, q: Floats, duration: float = 0.5, dt: float = 2e-3, **how: Any) -> tuple[Result, Result]:
    how = {"contacts": FLOOR} | how
    exact = simulate(model, q, duration=duration, dt=dt, **how)
    return exact, simulate(model, q, duration=duration, dt=dt, method="adaptive", active=model.n_bodies, **how)


def lying(model: Model, seed: int = 0) -> Floats:
    """Straight chains that lie on the floor, apart from each other."""
    q = model.neutral()
    for k, at in enumerate(model.q_index[model.parent < 0]):
        q[at : at + 3] = 0.0, 0.3 * k, 0.04
        q[at + 3 : at + 7] = 0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5)
    return q


@pytest.mark.parametrize(("links", "seed"), [(2, 0), (3, 13), (4, 2), (5, 3)])
def test_all_joints_active_is_the_exact_run(links: int, seed: int) -> None:
    """Steps in which something touches are the same, also where a chain lies on more points than it needs; what differs
    is rounding, and what the solver leaves of the law. With other seeds, forces are not unique where links begin to
    slide."""
    rng = np.random.default_rng(seed)
    model = chains(links)
    q = lying(model)
    v = 0.4 * rng.normal(size=model.nv)
    v[2] = 0.0
    exact = simulate(model, q, v, duration=0.1, dt=2e-3, contacts=FLOOR)
    ours = simulate(model, q, v, duration=0.1, dt=2e-3, contacts=FLOOR, method="adaptive", active=model.n_bodies)
    touching = [i for i in range(len(exact.times)) if exact.contacts(i)]
    assert len(touching) > 10
    np.testing.assert_allclose(ours.q, exact.q, atol=1e-7)


def test_all_joints_active_with_springs_limits_controllers_and_bounces() -> None:
    model = chains(3, restitution=0.5, stiffness=3.0, lower=-0.4, upper=0.4, friction=0.02)
    q = lying(model)
    forces = [supple.Controller("c0l1_joint", stiffness=20.0, damping=0.5, target=0.5)]
    exact, ours = both_ways(model, q, 0.2, forces=forces)
    assert all(exact.contacts(i) for i in range(1, len(exact.times))) and np.abs(exact.q[-1] - q).max() > 0.1
    np.testing.assert_allclose(ours.q[:60], exact.q[:60], atol=1e-5)  # then forces are not unique


@pytest.mark.parametrize("active", [0, 1, 3, 8])
@pytest.mark.parametrize("seed", range(3))
def test_the_laws_of_contact_hold_at_every_step(active: int, seed: int) -> None:
    model = chains(6, 2)
    q = strewn(model, seed, 1.3)
    r = simulate(model, q, duration=1.5, dt=2e-3, contacts=FLOOR, method="adaptive", active=active)
    body, touched = AdaptiveDynamics(model, q, active=active, contacts=FLOOR), 0
    for i in range(len(r.times)):
        if i > 0:
            body.step(2e-3)
        np.testing.assert_array_equal(body.q, r.q[i])
        for c in r.contacts(i):
            along = c.force @ c.normal
            across = c.force - along * c.normal
            touched += 1
            assert along >= 0.0 and c.gap > -2e-3
            if body._hybrid.memory.touching.parts > 1:  # force is the mean, but normal and slip are of the last part
                continue
            assert np.linalg.norm(across) <= 0.6 * along * (1 + 1e-6) + 1e-9
            slip = np.linalg.norm(c.slip)
            if slip > 1e-4 and along > 1e-3:
                assert across @ c.slip <= 1e-6 * along * slip  # against the slip
    assert touched > 500
    lowest = min(_lowest(model, q) for q in r.q[::20])
    assert lowest > -2e-3
    assert r.energy[-1] < r.energy[0] and np.diff(r.energy).max() < 2e-3 * (r.energy[0] - r.energy[-1])


def _lowest(model: Model, q: Floats) -> float:
    place = supple.poses(model, q)
    ends = [place.position + np.einsum("nij,j->ni", place.rotation, (0.0, 0.0, z)) for z in (0.0, -0.2)]
    return min(float(x[:, 2].min()) for x in ends) - 0.04


@pytest.mark.parametrize("active", [0, 2, 10])
def test_momentum_between_bodies_that_meet(active: int) -> None:
    model = chains(5, 2, gravity=0.0)
    q, v = strewn(model, 3, apart=0.5), np.zeros(model.nv)
    q[3:7] = q[model.q_index[5] + 3 : model.q_index[5] + 7] = (0.0, 0.0, 0.0, 1.0)
    v[0] = 2.0
    body = AdaptiveDynamics(model, q, v, active=active, contacts=True, update_every=7)
    before, met = supple.momentum_matrix(model, body.q) @ body.v, 0
    for _ in range(400):
        body.step(1e-3)
        met += len(body.touches) > 0
        now = supple.momentum_matrix(model, body.q) @ body.v
        np.testing.assert_allclose(now[3:], before[3:], atol=1e-2)  # of 10 kg m/s: what steps of 1 ms leave
    assert met > 0


@pytest.mark.parametrize(("links", "restitution", "every"), [(6, 0.0, 20), (5, 0.6, 3)])
def test_copies_pickles_and_restored_runs_go_on_alike(links: int, restitution: float, every: int) -> None:
    """In all that is visible, at once and in every step; with more touches than there is room for at first."""
    model = chains(links, 4, restitution=restitution)
    body = AdaptiveDynamics(model, strewn(model, 1, apart=0.25), active=8, contacts=FLOOR, update_every=every)
    body.apply("c1l2", force=(3.0, 2.0, 1.0))
    body.run(0.44, dt=2e-3)
    while len(body.touches) == 0:  # between bounces
        body.step(2e-3)
    twins = [copy.copy(body), copy.deepcopy(body), pickle.loads(pickle.dumps(body))]
    other = AdaptiveDynamics(model, active=8, contacts=FLOOR, update_every=every)
    other.apply("c1l2", force=(3.0, 2.0, 1.0))
    other.set_state(body.q, body.v)
    other.restore(body.save())
    assert len(body.touches) > 0
    for _ in range(60):
        for twin in (*twins, other):
            np.testing.assert_array_equal(twin.touches, body.touches)
            assert twin.stats == body.stats
            twin.step(2e-3)
        body.step(2e-3)
    for twin in (*twins, other):
        np.testing.assert_array_equal(twin.q, body.q)
        np.testing.assert_array_equal(twin.v, body.v)
    later = ("touches_exerted", "touches_gained", "touches_last_step")
    saved = {name: x for name, x in body.save().items() if name not in later}
    other.restore(saved)  # of a version that did not save these
    assert len(other.touches) == 0 and other.stats.energy_gain == 0.0


def assert_same_in_single_steps(whole: AdaptiveDynamics, calls: int) -> None:
    """Calls of five steps each, compared with the same steps one by one."""
    split = copy.deepcopy(whole)
    for _ in range(calls):
        whole.run(0.01, dt=2e-3)
        for _ in range(5):
            split.step(2e-3)
        assert split.stats == whole.stats
        np.testing.assert_array_equal(split.q, whole.q)
        np.testing.assert_array_equal(split.touches, whole.touches)


@pytest.mark.parametrize("seed", [4, 6, 9, 11])
def test_it_does_not_matter_in_how_many_calls_steps_are_taken(seed: int) -> None:
    """The first step of a call looks for touches itself, others go on with what the step before found where it ended:
    that is the same."""
    model = chains(5, 3)
    whole = AdaptiveDynamics(model, strewn(model, seed, apart=0.25), active=5, contacts=FLOOR, update_every=1)
    assert_same_in_single_steps(whole, 60)
    assert len(whole.touches) > 0


@pytest.mark.parametrize(("seed", "active", "turns"), [(3, 8, 0), (17, 8, 0), (22, 8, 0), (55, 8, 0), (22, 12, 10**8)])
def test_it_does_not_matter_in_how_many_calls_overlap_is_removed(seed: int, active: int, turns: int) -> None:
    """How far bodies are moved apart depends on their energies, which are found again where a call begins. turns: of a
    hinge; sines of large angles, and of others in the same group of four, are computed in another way."""
    model = chains(3, 4)
    q, v = strewn(model, seed, height=0.05, apart=0.1), 0.5 * np.random.default_rng(seed).normal(size=model.nv)
    q[model.q_index[8]] += turns * 2 * np.pi
    whole = AdaptiveDynamics(model, q, v, active=active, contacts=FLOOR, update_every=5)
    assert_same_in_single_steps(whole, 10)


def path_between(model: Model, a: int, b: int) -> set[int]:
    """The joints by which two bodies may move relative to each other; -1 is the world."""
    above = []
    for x in (a, b):
        way = set()
        while x >= 0:
            way.add(int(x))
            x = model.parent[x]
        above.append(way)
    return above[0] ^ above[1]


def assert_finds_all(body: AdaptiveDynamics, room: ContactRoom) -> int:
    """What touches now, but for shapes that are rigidly connected at the moment. Returns how much there is."""
    hybrid = body._hybrid
    energies = hybrid.energies()  # places all rigid parts
    assert np.isfinite(energies).all() and hybrid.touches is not None
    search, scene = search_touches.load(), hybrid.touches.room.scene
    search(hybrid.memory.address, CURRENT, 0.0)
    while scene.n > scene.capacity:
        hybrid.touches.lacks_room(ROOM_FOR_TOUCHES, hybrid.memory)
        search(hybrid.memory.address, CURRENT, 0.0)
    ours = hybrid.touches.room.found
    moving, expected = set(body.active_joints.tolist()), []
    for t in room.touching(body.q.copy()):
        if path_between(body.model, t["a"], t["b"]) & moving:
            expected.append(sorted((int(t["shape"]), int(t["other"]))))
    assert sorted(sorted((int(t["shape"]), int(t["other"]))) for t in ours) == sorted(expected)
    return len(expected)


@pytest.mark.parametrize("active", [0, 2, 5, 18])
@pytest.mark.parametrize("seed", range(4))
def test_the_tree_finds_what_a_search_of_all_shapes_finds(active: int, seed: int) -> None:
    """Of bodies that overlap at random."""
    model = chains(6, 3)
    q = strewn(model, seed, height=0.05, apart=0.1)
    contacts = Contacts(ground=0.0, limits=False)
    room = ContactRoom(model, np.zeros((0, LAW)), contacts)
    v = np.random.default_rng(seed).normal(size=model.nv)
    for moved in (False, True):
        body = AdaptiveDynamics(model, q, v if moved else None, active=active, contacts=contacts, check_energy=False)
        if moved:  # joints that have moved and then stopped: their nodes have become rigid
            body.run(0.1, dt=1e-3)
        found = assert_finds_all(body, room)
        assert moved or found > 1


def over_fields(seed: int, bodies: int = 24, links: int = 2) -> tuple[Model, Floats]:
    """Chains about the borders of two height fields that lean, one level, one with hills; and where they are: they
    point away from a corner of a field, and their ends hardly touch it, or nearly do."""
    rng, b, places = np.random.default_rng(seed), ModelBuilder("over fields"), []
    for k in range(bodies):
        add_chain(b, links, f"c{k}l", damping=0.05)
        add_capsules(b, links, f"c{k}l", friction=0.6, margin=0.002 * (k % 4))
    for k in range(2):
        edges, points = rng.uniform(0.4, 1.2, 2), 0.1 * k * rng.normal(size=(5, 7)) + rng.normal()
        turn, middle = Rotation.from_rotvec(0.4 * rng.normal(size=3)), np.array([2.0 * k, 0.0, -0.5])
        b.add_shape(None, "heights", edges, middle, turn.as_quat(), points=points, margin=0.01 * k)
        for _ in range(bodies // 2):
            i, j = rng.choice([0, 4]), rng.choice([0, 6])
            corner = edges * (j / 6 - 0.5, i / 4 - 0.5)
            places.append(turn.apply((*corner, points[i, j])) + middle)
    model = b.build()
    q = strewn(model, seed)
    for k, at in enumerate(model.q_index[model.parent < 0]):
        turn = Rotation.from_quat(q[at + 3 : at + 7])
        q[at : at + 3] = places[k] + turn.apply((0.0, 0.0, -RADIUS * rng.uniform(0.9, 1.5)))
    return model, q


@pytest.mark.parametrize("active", [0, 4, 18])
def test_height_fields_are_met_wherever_they_are_and_however_they_lean(active: int) -> None:
    """By chains at their corners, and then while these fall past them."""
    contacts, alike = Contacts(limits=False, sleep=0.0), 0
    for seed in range(20):
        model, q = over_fields(seed)
        room = ContactRoom(model, np.zeros((0, LAW)), contacts)
        v = np.random.default_rng(seed).normal(size=model.nv)
        body = AdaptiveDynamics(model, q, active=active, contacts=contacts, check_energy=False)
        alike += assert_finds_all(body, room)
        if seed < 3:
            body.set_state(q, v)
            for _ in range(40):
                body.run(4e-3, dt=2e-3)
                alike += assert_finds_all(body, room)
    assert alike > 1000


@pytest.mark.parametrize("way", [(0.0, 0.0, 6.0), (9.0, 0.0, -1.0), (0.0, -9.0, -20.0)])
def test_pairs_with_a_height_field_are_not_listed_far_above_or_beside_it(way: tuple[float, float, float]) -> None:
    b = ModelBuilder("far")
    add_chain(b, 30)
    add_capsules(b, 30)
    turn = Rotation.from_rotvec((0.1, 0.2, 2.0))
    b.add_shape(None, "heights", (4.0, 3.0), rotation=turn.as_quat(), points=np.linspace(0.0, 1.0, 20).reshape(4, 5))
    model = b.build()
    q = model.neutral()
    q[:3] = turn.apply(way) + (0.0, 0.0, 3.0)
    for far in (True, False):
        body = AdaptiveDynamics(model, q, active=3, contacts=Contacts(sleep=0.0))
        body.step(1e-3)
        assert body._hybrid.touches is not None
        touching = body._hybrid.touches.struct
        listed = touching.n_pairs, touching.n_listed_shapes
        assert listed == (0, 0) if far else listed[0] > 3
        q[:3] = 0.0, 0.0, 1.5


@pytest.mark.parametrize(("active", "every"), [(8, 3), (10, 1), (14, 20)])
def test_lists_of_pairs_that_are_kept_miss_nothing(active: int, every: int) -> None:
    """Chains that fall on each other, while their active joints change."""
    model = chains(8, 3)
    q, contacts = strewn(model, 5, height=0.5, apart=0.15), Contacts(ground=0.0, limits=False, sleep=0.0)
    room = ContactRoom(model, np.zeros((0, LAW)), contacts)
    v = np.random.default_rng(1).normal(size=model.nv)
    body = AdaptiveDynamics(model, q, v, active=active, update_every=every, contacts=contacts, check_energy=False)
    found = 0
    for _ in range(150):
        body.run(4e-3, dt=2e-3)
        found += assert_finds_all(body, room)
    assert found > 1000


@pytest.mark.parametrize("seed", range(4))
def test_bodies_that_stray_meet_all_others_again(seed: int) -> None:
    """A chain that is pushed through others: pairs are added, while those of the others stay listed."""
    model = chains(12, 3)
    q, contacts = strewn(model, seed, height=0.4, apart=0.2), Contacts(ground=0.0, limits=False, sleep=0.0)
    room = ContactRoom(model, np.zeros((0, LAW)), contacts)
    body = AdaptiveDynamics(model, q, active=20, update_every=1000, contacts=contacts, check_energy=False)
    body.run(2e-3, dt=2e-3)
    assert body._hybrid.touches is not None
    touching = body._hybrid.touches.struct
    body.apply(0, force=(150.0, 90.0, 10.0))
    strays = found = 0
    for _ in range(60):
        lists, pairs = touching.stamp, touching.n_pairs
        body.run(2e-3, dt=2e-3)
        strays += touching.stamp == lists and touching.n_pairs > pairs
        found += assert_finds_all(body, room)
    assert strays > 3 and found > 100


@pytest.mark.parametrize("seed", range(4))
def test_links_that_stray_from_their_own_tree_meet_the_ground(seed: int) -> None:
    """Chains that fall, and in which torques act for a while: first their links move relative to each other farther
    than was expected, which concerns pairs of the same chain alone, and then farther from where they were."""
    model, rng = chains(6, 4), np.random.default_rng(seed)
    q, contacts = strewn(model, seed, height=0.5, apart=0.6), Contacts(ground=0.0, limits=False, sleep=0.0)
    room = ContactRoom(model, np.zeros((0, LAW)), contacts)
    body = AdaptiveDynamics(model, q, active=24, update_every=1000, contacts=contacts, check_energy=False)
    body.run(2e-3, dt=2e-3)
    assert body._hybrid.touches is not None
    touching = body._hybrid.touches.struct
    for joint in np.flatnonzero(model.parent >= 0):
        body.torque(int(joint), 0.3 * rng.normal())
    strays = found = 0
    for _ in range(150):
        lists, reach, own = touching.stamp, touching.boxes["reach"].copy(), touching.boxes["strays"].copy()
        body.run(2e-3, dt=2e-3)
        alone = (touching.boxes["strays"] > own) & (touching.boxes["reach"] == reach)
        strays += touching.stamp == lists and alone.any()
        found += assert_finds_all(body, room)
    assert strays > 3 and found > 100


def blocks_apart(count: int, gravity: float, seed: int, apart: float, speed: float) -> tuple[Model, Floats, Floats]:
    """Free blocks in rows along x, with random velocities."""
    rng, b = np.random.default_rng(seed), ModelBuilder("blocks", gravity=(0.0, 0.0, -gravity))
    for k in range(count):
        b.add_body(f"block{k}", joint="free", mass=1.0, inertia=(0.002, 0.003, 0.004))
        b.add_shape(f"block{k}", "box", (0.1, 0.1, 0.1))
    model = b.build()
    q, v = model.neutral(), np.zeros(model.nv)
    for k in range(count):
        q[7 * k : 7 * k + 3] = apart * (k % 8), apart * (k // 8), 5.0
        v[6 * k : 6 * k + 6] = speed * rng.normal(size=6)
    return model, q, v


@pytest.mark.parametrize("every", [1, 20])
@pytest.mark.parametrize(("gravity", "speed"), [(0.0, 3.0), (0.0, 10.0), (G, 30.0)])
def test_copies_go_on_alike_where_bodies_fly_apart(gravity: float, speed: float, every: int) -> None:
    """A copy makes a list of pairs anew, from where bodies are: it has what is behind them, too, if it is near."""
    model, q, v = blocks_apart(2, gravity, 0, 0.105, 0.3)
    v[0], v[6] = -speed, speed
    body, near = AdaptiveDynamics(model, q, v, active=0, contacts=True, update_every=every), 0
    for _ in range(5):
        twin = copy.deepcopy(body)
        body.step(2e-3)
        twin.step(2e-3)
        np.testing.assert_array_equal(twin.q, body.q)
        np.testing.assert_array_equal(twin.v, body.v)
        near += body._hybrid.memory.touching.parts > 0
    assert near > 0


def test_lists_of_pairs_are_kept_where_nothing_falls() -> None:
    """For as long as they were made for, however many bodies move."""
    model, q, v = blocks_apart(100, 0.0, 0, 0.5, 0.5)
    v.reshape(-1, 6)[:, 3:] = 0.0
    body = AdaptiveDynamics(model, q, v, active=0, contacts=True, update_every=1000)
    body.step(2e-3)
    assert body._hybrid.touches is not None
    touching = body._hybrid.touches.struct
    lists, searches = touching.stamp, touching.searches
    body.run(0.04, dt=2e-3)
    assert touching.stamp == lists and touching.searches >= searches + 20


@pytest.mark.parametrize("seed", range(6))
def test_forces_do_not_drive_joints_through_limits(seed: int) -> None:
    """However fast they make a light link within a step, from where nothing is near."""
    rng = np.random.default_rng(seed)
    b = ModelBuilder("finger")
    mass = 0.02 * 10 ** rng.uniform(-2, 0)
    b.add_body("tip", joint_name="knuckle", axis=(0, 1, 0), mass=mass, com=(0, 0, -0.05), lower=-1.0, upper=1.0)
    b.add_shape("tip", "capsule", (0.01, 0.08), (0, 0, -0.05))
    finger = AdaptiveDynamics(b.build(), active=1, contacts=Contacts(ground=-1.0))
    if seed % 2:
        finger.torque("knuckle", rng.uniform(0.05, 2.0))
    else:
        finger.apply("tip", force=(rng.uniform(1, 40), 0, 0), point=(0, 0, -0.1))
    for _ in range(40):
        finger.step(5e-3)
        assert abs(finger.q[0]) < 1.0 + 5e-4
