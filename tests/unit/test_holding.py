"""Steps for which no forces are found that keep the law of contact: convex problems, what they miss, and where that is
said."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import supple
from supple import AdaptiveDynamics, Contacts, ModelBuilder, SimulationError, simulate
from supple.adaptive.memory import CURRENT
from supple.adaptive.touching.search import search_touches
from supple.adaptive.touching.solution import solve_part
from supple.commands.run import _say_done
from supple.contact.outcomes import DONE, RELAXED, UNSOLVED, words_for_unsolved
from supple.contact.room import ContactRoom
from supple.contact.solvers.holding import NOT_FOUND
from supple.contact.steps.judging import DEEPEST
from supple.integrating.joint_law import LAW
from tests.touching import Floats, jammed

DT = 2e-3
FRICTION = 0.8
#: Seeds and sizes of scenes that are solved in several parts.
SOLVED = (9, 3, 30), (12, 3, 30)
#: With one sweep, and one convex problem where that is not enough, touches that slide miss the law.
HASTY = Contacts(sweeps=1)


def fault(W: Floats, lam: Floats, u: Floats) -> float:
    """How far an impulse is from lam = P(lam - r (u + mu |u_t| n)), as a velocity; no touch has a gap. One that is set
    aside has no response, and need only stay open."""
    if W[0] == 0.0:
        return max(float(-u[0]), 0.0)
    x = lam - (u + [FRICTION * np.hypot(u[1], u[2]), 0.0, 0.0]) / W[0]
    across = np.hypot(x[1], x[2])
    if FRICTION * across <= -x[0]:
        x = np.zeros(3)
    elif across > FRICTION * x[0]:
        n = (x[0] + FRICTION * across) / (1 + FRICTION**2)
        x = np.array([n, *(FRICTION * n / across * x[1:])])
    return float(W[0] * np.linalg.norm(x - lam))


@pytest.mark.parametrize("which", SOLVED)
def test_what_holds_of_parts_jammed_in_many_places(which: tuple[int, int, int]) -> None:
    """Of the forces of a convex law, too: they push, friction is in its cone and against the slip, nothing closes, and
    energy falls. Velocities are those of exact functions."""
    model, v = jammed(*which)
    body = AdaptiveDynamics(model, None, v, active=0, contacts=True)
    body.step(DT)  # makes room for all that follows
    body.set_state(model.neutral(), v)
    hybrid = body._hybrid
    assert hybrid.touches is not None and np.isfinite(hybrid.energies()).all()  # places all rigid parts
    touching, find, solve = hybrid.touches.struct, search_touches.load(), solve_part.load()
    find(hybrid.memory.address, CURRENT, DT)
    hybrid.touches.room.found["lam"] = 0.0
    assert solve(hybrid.memory.address, DT, 0, 0) == UNSOLVED
    hybrid.touches.room.found["lam"] = 0.0
    status = solve(hybrid.memory.address, DT, 0, 1)
    found, end = hybrid.touches.room.found, touching.end[: model.nv]
    P, motion = supple.poses(model, body.q).position, supple.velocities(model, body.q, end)
    u, lam = np.zeros((len(found), 3)), found["lam"]
    for k, t in enumerate(found):
        w = sum(
            sign * (motion.linear[b] + np.cross(motion.angular[b], t["point"] - P[b]))
            for b, sign in ((t["a"], 1.0), (t["b"], -1.0))
            if b >= 0
        )
        u[k] = t["n"] @ w, t["t"] @ w, t["s"] @ w
    slip, across = np.hypot(u[:, 1], u[:, 2]), np.hypot(lam[:, 1], lam[:, 2])
    assert (lam[:, 0] >= 0).all() and (across <= FRICTION * lam[:, 0] * (1 + 1e-9)).all()
    np.testing.assert_allclose((lam[:, 1:] * u[:, 1:]).sum(axis=1), -FRICTION * lam[:, 0] * slip, atol=1e-5)
    off = max(fault(t["W"], t["lam"], x) for t, x in zip(found, u))
    np.testing.assert_allclose(off, touching.missed, rtol=1e-3, atol=1e-7)
    assert status == (RELAXED if off > 1e-4 else DONE)  # a tolerance is 1e-5 of velocities up to 10 m/s
    assert u[:, 0].min() > -(2 * off + 1e-6)
    assert supple.kinetic_energy(model, body.q, end) < supple.kinetic_energy(model, body.q, v)


@pytest.mark.parametrize("which", SOLVED)
def test_steps_of_parts_jammed_in_many_places(which: tuple[int, int, int]) -> None:
    model, v = jammed(*which)
    body = AdaptiveDynamics(model, None, v, active=0, contacts=True)
    before = body.kinetic
    body.step(DT)
    assert body._hybrid.memory.touching.parts > 1  # no forces were found at once
    assert body.stats.relaxed == 0
    room = ContactRoom(model, np.zeros((0, LAW)), Contacts())
    assert room.touching(body.q.copy())["gap"].min(initial=1.0) > -0.5 * DEEPEST and body.kinetic < before


def test_what_misses_the_law_is_counted_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    model, v = jammed(*SOLVED[0])
    with caplog.at_level(logging.WARNING, "supple"):
        r = simulate(model, None, v, dt=DT, duration=5 * DT, method="adaptive", active=0, contacts=HASTY)
    faults = r.about["contact_faults"]
    assert faults["relaxed"] > 0 and 1e-4 < faults["fault"] < 1.0 and faults["rough"] == 0
    assert [f"{faults['fault']:.2g} m/s" in x.getMessage() for x in caplog.records] == [True]
    console = Console(record=True, width=200)
    _say_done(console, r, None)
    assert all("violating the contact law" in said for said in (repr(r), r._repr_html_(), console.export_text()))
    body = AdaptiveDynamics(model, None, v, active=0, contacts=HASTY)
    body.step(DT)
    twin = AdaptiveDynamics(model, body.q, body.v, active=0, contacts=HASTY)
    caplog.clear()
    twin.restore(body.save())
    twin.step(DT)
    assert twin.stats.relaxed >= body.stats.relaxed > 0 and twin.stats.relaxed_fault >= body.stats.relaxed_fault > 0
    assert not caplog.records  # it was said


def test_errors_say_what_was_not_found() -> None:
    assert words_for_unsolved(3, 2.5).endswith("could not be found: the residual is 2.5 times the tolerance")
    assert words_for_unsolved(3, NOT_FOUND).endswith("could not be found")
    assert words_for_unsolved(0, 0.0) == "velocities have become too large for numbers"


def test_an_exact_run_finds_such_forces_or_refuses() -> None:
    model, v = jammed(*SOLVED[0])
    r = simulate(model, None, v, dt=DT, duration=DT, contacts=True)
    assert len(r.contacts(-1)) > 0 and r.kinetic[-1] < r.kinetic[0]
    with pytest.raises(SimulationError, match="could not be found") as e:  # to more digits than there are
        simulate(model, None, v, dt=DT, duration=DT, contacts=Contacts(tolerance=1e-15))
    assert e.value.state is not None and e.value.state.time == 0.0


@pytest.mark.parametrize("how", [{}, {"method": "adaptive", "active": 2}])
def test_parts_that_stand_although_they_are_rough_are_reported(how: dict[str, Any], tmp_path: Path) -> None:
    """Beside a ball that lies on the floor, a double pendulum turns by radians in the shortest parts of a step: its
    energy grows by more than it may."""
    b, like = ModelBuilder("pendulum beside a ball"), {"mass": 1.0, "inertia": [0.01] * 3}
    b.add_body("ball", joint="free", **like)
    b.add_shape("ball", "sphere", [0.1])
    b.add_body("upper", joint="revolute", axis=[0, 1, 0], position=[0, 0, 3], **like)
    b.add_body("lower", "upper", joint="revolute", axis=[0, 1, 0], position=[0, 0, -0.5], com=[0, 0, -0.3], **like)
    model = b.build()
    q, v = model.neutral(), np.zeros(model.nv)
    q[2], q[-1], v[-2:] = 0.1, 1.0, (1e6, -2e6)
    given: Any = {"dt": DT, "contacts": Contacts(ground=0.0), "check_energy": False, **how}
    r = simulate(model, q, v, duration=40 * DT, **given)
    faults = r.about["contact_faults"]
    assert faults["rough"] > 10 and faults["relaxed"] == 0 and faults["energy"] > 1e-4
    assert "above tolerance" in repr(r)
    path = tmp_path / "run.h5"
    simulate(model, q, v, duration=36 * DT, record=path, **given).close()
    again = simulate(model, q, v, duration=40 * DT, record=path, resume=True, **given)
    assert again.about["contact_faults"] == faults and again.contact_faults == r.contact_faults
    again.close()


def test_what_keeps_its_promises_is_not_reported() -> None:
    model, v = jammed(*SOLVED[0])
    r = simulate(model, model.neutral(), v, duration=0.01, contacts=True)
    assert not any(r.about["contact_faults"].values()) and r.contact_faults == "" and "above tolerance" not in repr(r)
    assert "contact_faults" not in simulate(model, duration=0.01).about


def test_overlap_that_an_adaptive_step_begins_with_is_moved_apart_and_not_counted() -> None:
    b = ModelBuilder("box")
    b.add_body("box", joint="free", mass=1.0, inertia=[0.01] * 3)
    b.add_shape("box", "box", [0.2] * 3, friction=0.5)
    q = (model := b.build()).neutral()
    q[2] = 0.09
    body = AdaptiveDynamics(model, q, active=0, contacts=Contacts(ground=0.0, sleep=0.0))
    for _ in range(20):
        body.step(DT)
    assert body.stats.rough == 0 and body.stats.overlap == 0.0 and body.q[2] > 0.0999


@pytest.mark.parametrize(("height", "active"), [(1.0, 3), (0.28, 1), (0.28, 3)])  # in flight, and on the floor
def test_overlap_within_a_rigid_part_is_not_of_the_step_in_which_it_begins_to_move(height: float, active: int) -> None:
    """The outer links of a chain, folded into each other while it is rigid, are moved apart once hinges may move: these
    steps end with less overlap than they begin with."""
    b, like = ModelBuilder("folded"), {"mass": 1.0, "inertia": [0.01] * 3}
    b.add_body("a", joint="free", **like)
    b.add_body("b", parent="a", joint="revolute", axis=[0, 1, 0], position=[0.3, 0, 0], **like)
    b.add_body("c", parent="b", joint="revolute", axis=[0, 1, 0], position=[0.3, 0, 0], **like)
    for name in "abc":
        b.add_shape(name, "capsule", [0.05, 0.2], [0.15, 0, 0], [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], friction=0.5)
    model = b.build()
    q = model.neutral()
    q[2], q[-2:] = height, 2.09
    body = AdaptiveDynamics(model, q, active=0, contacts=Contacts(ground=0.0))
    body.run(40 * DT, DT)
    assert bool(len(body.touches)) == (height < 1.0) and body.stats.rough == 0

    def overlap() -> float:
        """Of the round ends where the chain begins and ends."""
        R, p = body.poses()
        return 0.1 - float(np.linalg.norm(p[0] + 0.05 * R[0, :, 0] - p[2] - 0.25 * R[2, :, 0]))

    assert overlap() > 10 * DEEPEST
    body.active = active
    body.run(40 * DT, DT)
    assert overlap() < DEEPEST and body.stats.rough == 0
