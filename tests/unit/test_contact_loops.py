"""Bodies with closed loops that touch: every step by the conditions of its own problem, written densely; runs beside
rigid bodies and closed forms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import supple
from supple import Contacts, Model, ModelBuilder, simulate
from supple.contact.room import ContactRoom
from supple.exact.closure import closure, gaps
from supple.integrating.closing import projector
from supple.integrating.model_law import passive_rows
from tests.touching import Floats, moved_on

G, H = 9.81, 2e-3
ALONG = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  #: z of a capsule along x
FLOOR = Contacts(ground=0.0)


def ring(n: int, geared: bool = False) -> tuple[Model, np.ndarray]:
    """A free ring of links, upright; three are a rigid triangle, with redundant rows. geared: two of its hinges turn
    alike."""
    b, radius = ModelBuilder("ring"), 0.4
    length = 2 * radius * np.sin(np.pi / n)
    for i in range(n):
        how: dict[str, Any] = dict(mass=0.5, com=(0.5 * length, 0.0, 0.0), inertia=(1e-3, 8e-3, 8e-3))
        if i == 0:
            b.add_body("link 0", joint="free", **how)
        else:
            how |= dict(joint="revolute", axis=(0.0, 1.0, 0.0), position=(length, 0.0, 0.0), joint_name=f"hinge {i}")
            b.add_body(f"link {i}", f"link {i - 1}", **how)
        b.add_shape(f"link {i}", "capsule", (0.03, length - 0.06), (0.5 * length, 0.0, 0.0), ALONG, friction=0.4)
    b.close(f"link {n - 1}", "link 0", "revolute", axis=(0.0, 1.0, 0.0), position=(length, 0.0, 0.0))
    if geared:
        b.relate({"hinge 1": 1.0, "hinge 3": -1.0})
    model = b.build()
    q = model.neutral()
    q[7:] = 2 * np.pi / n
    return model, q


def dense_rows(model: Model, q: np.ndarray, touches: np.ndarray) -> np.ndarray:
    """(3 k, nv) velocities at touches along their normals and across, from those of bodies, one joint at a time."""
    at = supple.poses(model, q).position
    rows = []
    for touch in touches:
        columns = []
        for e in np.eye(model.nv):
            u = np.zeros(3)
            V = supple.velocities(model, q, e).spatial
            for body, sign in ((touch["a"], 1.0), (touch["b"], -1.0)):
                if body >= 0:
                    u += sign * (V[body, 3:] + np.cross(V[body, :3], touch["point"] - at[body]))
            columns.append(np.array([touch["n"], touch["t"], touch["s"]]) @ u)
        rows += list(np.transpose(columns))
    return np.array(rows)


def moved_freely(tree: Model, q: Floats, u: Floats, time: float) -> Floats:
    """What velocities change by in some time, with velocity products of u, along the axes of where forces act."""
    change = time * supple.forward_dynamics(tree, q, u)
    change[:3] += time * np.cross(u[3:6], u[:3])
    return np.asarray(change)


@pytest.mark.parametrize("geared", [False, True])
def test_every_step_solves_its_problem_written_densely(geared: bool):
    """H (v' - v_free) = J^T lam + G^T x, G v' = 0, and the law of contact at every touch, where forces act; velocities
    without impulses are those of the tree, whose loops are open; velocity products those of the middle, where they are
    closed, or, where there is an impact, those before and after it, each for its time."""
    model, q = ring(6, geared)
    tree = replace(model, loop_list=(), relation_list=())
    room, seen = ContactRoom(model, passive_rows(model), replace(FLOOR, limits=False)), 0
    q[2], slid, struck = 0.85, 0, 0
    r = simulate(model, q, supple.close_velocities(model, q, np.r_[1.0, 0.3, -1.0, 0.5, 2.0, 0.0, np.ones(5)]),
                 duration=0.6, dt=H, every=10, contacts=replace(FLOOR, limits=False))  # fmt: skip
    for q, v in zip(r.q, r.v):
        room.known = room.known[:0]  # velocity products are without impulses
        if not room.take(q, v, H, np.zeros(model.nv), None) or room.landing.parts > 1:
            continue
        touches, seen = room.found.copy(), seen + 1
        before = room.landing.before
        if before > 0.0:
            q, v, _ = projector(model)(*moved_on(model, q, v, before))
        horizon = 1.5 * H - before
        mass, rows, used = supple.mass_matrix(tree, q), closure(model, q).G, np.array(room.landing.middle)
        response = touches["W"][:, [0, 3, 5]].max(axis=1)
        if (np.linalg.norm(touches["lam"] - touches["expected"], axis=1) * response > room.landing.slowest).any():
            np.testing.assert_allclose(used, room.implicit.end, atol=0.02 * np.abs(used).max())
            free = v + moved_freely(tree, q, v, before) + moved_freely(tree, q, used, H - before)
            struck += 1
        else:
            middle = v + 0.5 * H * supple.forward_dynamics(tree, q, v)
            ways = np.linalg.solve(mass, rows.T)
            middle -= ways @ np.linalg.lstsq(rows @ ways, rows @ middle, rcond=1e-9)[0]  # the nearest with loops closed
            np.testing.assert_allclose(used, middle, atol=1e-9 * np.abs(middle).max())
            free = v + moved_freely(tree, q, middle, H)
        after = np.array(room.implicit.end)
        J = dense_rows(tree, q, touches)
        scale = np.abs(after).max() + G * H
        assert np.abs(rows @ after).max() < 1e-9 * scale
        lam = touches["lam"].ravel()
        left = mass @ (after - free) - J.T @ lam
        x = np.linalg.lstsq(rows.T, left, rcond=1e-9)[0]
        assert np.abs(left - rows.T @ x).max() < 1e-9 * scale
        u = (J @ after).reshape(-1, 3)
        for touch, (n, *across) in zip(touches, u):
            lam_n, lam_t = touch["lam"][0], touch["lam"][1:]
            gap, most = n + max(touch["gap"], 0.0) / horizon, touch["friction"] * touch["lam"][0]
            assert lam_n >= 0.0 and gap > -1e-5 * scale and min(lam_n * touch["W"][0], gap) < 1e-5 * scale
            assert np.linalg.norm(lam_t) <= most * (1 + 1e-6) + 1e-12
            if np.linalg.norm(across) > 1e-3 * scale and lam_n * touch["W"][0] > 1e-4 * scale:
                slid += 1
                np.testing.assert_allclose(lam_t, -most * np.array(across) / np.linalg.norm(across), atol=1e-2 * most)
    assert seen > 8 and slid > 3 and 0 < struck < seen


def test_a_ring_falls_and_stays_closed():
    model, q = ring(8)
    q[2] = 1.2
    r = simulate(model, q, duration=1.5, dt=H, contacts=FLOOR)
    assert max(np.abs(gaps(model, x, v).phi).max() for x, v in zip(r.q, r.v)) < 1e-10
    assert max(np.abs(gaps(model, x, v).rate).max() for x, v in zip(r.q, r.v)) < 1e-10
    assert np.diff(r.energy).max() < 1e-3 * np.ptp(r.energy)
    assert min(x.gap for i in range(0, len(r), 5) for x in r.contacts(i)) > -1e-3
    on_floor = sum(x.force[2] for x in r.contacts(-1) if x.other == "ground")
    assert on_floor == pytest.approx(model.total_mass * G, rel=1e-3) and np.abs(r.v[-1]).max() < 1e-3


def test_three_links_in_a_ring_fall_as_one_rigid_body():
    """... of the same mass and shapes, to the error of steps: of order one."""
    model, q = ring(3)
    q[:3], q[3:7] = (0.0, 0.0, 0.9), np.array([0.1, 0.5, 0.2, 0.8]) / np.linalg.norm([0.1, 0.5, 0.2, 0.8])
    at = supple.poses(model, q)
    R0 = at.rotation[0]
    centre = supple.center_of_mass(model, q)
    inertia = np.zeros((3, 3))
    b = ModelBuilder("triangle")
    for i in range(3):
        R, d = at.rotation[i], at.position[i] + at.rotation[i] @ model.com[i] - centre
        inertia += R @ model.inertia[i] @ R.T + model.mass[i] * (d @ d * np.eye(3) - np.outer(d, d))
    b.add_body("triangle", joint="free", mass=model.total_mass, com=R0.T @ (centre - at.position[0]),
               inertia=R0.T @ inertia @ R0)  # fmt: skip
    for x in model.shape_list:
        R, p = R0.T @ at.rotation[x.body], R0.T @ (at.position[x.body] - at.position[0])
        b.add_shape("triangle", "capsule", x.size, p + R @ x.position, R @ x.rotation, friction=x.friction)
    off = []
    for dt in (2e-3, 1e-3):
        v = np.r_[0.3, 0.2, 0.1, 1.0, -2.0, 0.5]
        a = simulate(model, q, np.r_[v, 0.0, 0.0], duration=0.5, dt=dt, contacts=FLOOR)
        c = simulate(b.build(), q[:7], v, duration=0.5, dt=dt, contacts=FLOOR)
        assert any(c.contacts(i) for i in range(len(c)))
        off.append(np.abs(a.q[-1, :7] - c.q[-1]).max())
    assert off[1] < 2e-3 and off[1] < max(0.7 * off[0], 1e-4)  # both may take the very same steps


def test_the_joint_of_a_loop_carries_the_tie_of_a_frame_that_stands():
    """Two legs on a floor without friction, hinged at the top, and a bar between their feet that closes the loop: its
    pull is half a leg's weight times the tangent of the angle, if the bar has no weight to speak of."""
    angle, length, leg, bar = 0.4, 1.0, 3.0, 1e-6
    half = length * np.sin(angle)
    b = ModelBuilder("frame")
    how: dict[str, Any] = dict(mass=leg, inertia=(0.25, 0.25, 0.01))
    b.add_body("left", joint="planar", axis=(0.0, -1.0, 0.0), com=(0.0, 0.0, -0.5 * length), **how)
    b.add_body("right", "left", joint="revolute", axis=(0.0, -1.0, 0.0), com=(0.0, 0.0, -0.5 * length), **how)
    b.add_body("bar", "left", joint="revolute", axis=(0.0, -1.0, 0.0), position=(0.0, 0.0, -length), mass=bar,
               com=(half, 0.0, 0.0), inertia=[bar] * 3)  # fmt: skip
    for name in ("left", "right"):
        b.add_shape(name, "sphere", (1e-3,), (0.0, 0.0, -length), friction=0.0)
    b.close("bar", "right", "revolute", name="tie", axis=(0.0, -1.0, 0.0), position=(2 * half, 0.0, 0.0),
            other_position=(0.0, 0.0, -length))  # fmt: skip
    model = b.build()
    height = length * np.cos(angle) + 1e-3
    q = supple.close_loops(model, np.array([0.0, height, np.cos(angle), -np.sin(angle), 2 * angle, angle]))
    r = simulate(model, q, duration=0.1, dt=H, contacts=replace(FLOOR, friction=0.0), joint_wrenches=True)
    assert np.abs(r.v[-1]).max() < 1e-6
    assert [x.force[2] for x in r.contacts(-1)] == pytest.approx([leg * G, leg * G], rel=1e-5)
    names = [*model.joint_names, *(x.name for x in model.loop_list)]
    pull = r.joint_wrenches[-1, names.index("tie")]
    assert np.linalg.norm(pull[3:]) == pytest.approx(0.5 * leg * G * np.tan(angle), rel=1e-4)


def test_bodies_that_a_loop_connects_do_not_touch_unless_asked_for():
    model, q = ring(4)
    for neighbours in (False, True):
        found = ContactRoom(model, passive_rows(model), Contacts(neighbours=neighbours)).touching(q)
        assert bool(len(found[found["kind"] == 0])) == neighbours


def door(kind: str, hinges: int) -> Model:
    """A frame and what a joint connects to it, which is there several times more."""
    b, turn = ModelBuilder("door"), np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    R, p = turn * np.sign(np.linalg.det(turn)), np.array([0.3, 0.1, 0.0])
    b.add_body("frame", None, "free", mass=1.0, com=(0.1, 0.0, 0.2), inertia=(0.1, 0.11, 0.12))
    b.add_body("door", "frame", kind, axis=(0, 0, 1), position=p, rotation=R, mass=2.0, com=(0.2, 0.1, 0.0),
               inertia=(0.1, 0.11, 0.12))  # fmt: skip
    for k in range(hinges):
        along = np.array([0.0, 0.0, 0.3 * k + 0.1])
        b.close("frame", "door", kind, axis=(0, 0, 1), rotation=R, position=p + R @ along, other_position=along)
    b.add_shape("frame", "sphere", (0.05,))
    b.add_shape("door", "sphere", (0.05,), (0.5, 0.1, 0.0))
    return b.build()


@pytest.mark.parametrize("method", ["aba", "adaptive"])
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "cylindrical"])
def test_a_door_falls_as_with_one_hinge_however_many_it_has(kind: str, method: str):
    """All rows of the others are nothing but rounding, and forbid no direction."""
    runs = []
    for hinges in (0, 1, 3):
        model = door(kind, hinges)
        q = model.neutral()
        q[2] = 0.6
        runs.append(simulate(model, q, duration=0.5, dt=H, contacts=FLOOR, method=method))
    assert runs[0].contacts(-1) and np.abs(runs[0].q[-1, 7:]).max() > 0.1
    for other in runs[1:]:
        np.testing.assert_allclose(other.q, runs[0].q, atol=1e-9)
