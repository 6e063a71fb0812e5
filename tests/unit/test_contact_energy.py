"""Energy of bodies that touch: it does not rise, however many steps there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import supple
from supple import Contacts, ModelBuilder, scenes, simulate
from supple.contact.room import ContactRoom
from supple.contact.steps.judging import RISE
from supple.integrating.model_law import passive_rows
from tests.touching import chains, strewn
from tests.unit.test_contact_loops import ring


def largest_rise(r: Any) -> float:
    """The largest rise of energy between any two instants, relative to the largest kinetic energy."""
    return float((r.energy - np.minimum.accumulate(r.energy)).max() / r.kinetic.max())


@pytest.mark.parametrize("dt", [2e-3, 1e-3])
@pytest.mark.parametrize("how", [{}, {"method": "adaptive", "active": 40}])
def test_a_rope_that_falls_over_a_bar_gains_no_energy(dt: float, how: dict[str, Any]) -> None:
    """It would gain two percent at steps of 2 ms if its links moved with the velocities of the ends of steps."""
    rope = scenes.rope()
    r = simulate(rope.model, rope.q0, dt=dt, duration=0.7, contacts=rope.contacts, **how)
    assert r.kinetic.max() > 30.0 and largest_rise(r) < RISE


@pytest.mark.parametrize("restitution", [0.0, 1.0])
def test_chains_without_friction_gain_no_energy(restitution: float) -> None:
    """... while they fall on each other, and, with restitution, bounce."""
    model = chains(4, 3, restitution=restitution, damping=0.0)
    contacts = Contacts(ground=0.0, friction=0.0)
    r = simulate(model, strewn(model, 1, 1.0, 0.1), dt=2e-3, duration=1.0, contacts=contacts)
    assert any(r.contacts(i) for i in range(len(r))) and largest_rise(r) < 1.1 * RISE


@pytest.mark.parametrize("method", ["aba", "adaptive"])
def test_a_ring_that_bounces_without_loss_gains_no_energy(method: Any) -> None:
    """Its loop is closed before what a part of a step did is judged."""
    model, q = ring(6)
    q[2] = 1.5
    v = supple.close_velocities(model, q, np.r_[0.5, 0.3, 0.0, 1.0, 2.0, 0.5, np.ones(model.nv - 6)])
    contacts = Contacts(ground=0.0, friction=0.0, restitution=1.0)
    r = simulate(model, q, v, dt=2e-3, duration=1.2, method=method, contacts=contacts)
    assert largest_rise(r) < 2.0 * RISE and r.energy[-1] > 0.9 * r.energy[0]


def test_the_account_of_energy_goes_from_step_to_step() -> None:
    """Two rooms that know the same take the same steps; what has been added is part of it."""
    rope = scenes.rope()
    law, tau = passive_rows(rope.model), np.zeros(rope.model.nv)
    assert rope.contacts is not None
    one, two = (ContactRoom(rope.model, law, rope.contacts) for _ in range(2))
    q, v = rope.q0.copy(), np.zeros(rope.model.nv)
    q[2] -= 0.0205
    one.known = np.array([[-1.0, 0.02, 30.0, 0.0]])
    np.testing.assert_array_equal(one.account, [[-1.0, 0.02, 30.0, 0.0]])
    for _ in range(20):
        two.known = one.known
        np.testing.assert_array_equal(two.known, one.known)
        assert one.take(q, v, 2e-3, tau, None) and two.take(q, v, 2e-3, tau, None)
        np.testing.assert_array_equal(one.q, two.q)
        np.testing.assert_array_equal(one.account, two.account)
        q, v = one.q.copy(), one.v.copy()
    assert one.account[0, 1] != 0.02 and one.account[0, 2] == 30.0  # there is motion, but less than that


@pytest.mark.parametrize("how", [{}, {"method": "adaptive", "active": 3}])
@pytest.mark.parametrize("driven", [False, True])
def test_what_is_held_at_rest_without_gravity_does_not_count_as_a_gain(how: dict[str, Any], driven: bool) -> None:
    """Two fingers that hold a box, by forces or by springs: what solvers leave of faults is not compared with an energy
    of motion that there is not."""
    b = ModelBuilder("grip", gravity=(0.0, 0.0, 0.0))
    b.add_body("box", joint="free", mass=0.5, inertia=(1e-3, 1e-3, 1e-3))
    b.add_shape("box", "box", (0.1, 0.1, 0.1), friction=0.8)
    for i, side in enumerate((-1.0, 1.0)):
        spring = {} if driven else {"stiffness": 500.0, "rest": -0.02 * side, "damping": 2.0}
        b.add_body(f"finger{i}", joint="prismatic", axis=(1, 0, 0), mass=0.2, inertia=(1e-4, 1e-4, 1e-4), **spring)  # type: ignore[arg-type]
        b.add_shape(f"finger{i}", "box", (0.02, 0.08, 0.08), (0.0605 * side, 0.003 * i, 0.002), friction=0.8)
    model = b.build()
    tau = np.r_[np.zeros(6), 10.0, -10.0] if driven else None
    r = simulate(model, model.neutral(), dt=2e-3, duration=0.5, tau=tau, contacts=True, **how)
    assert sum(c.force[0] > 1.0 for c in r.contacts(-1)) >= 1 and np.abs(r.v[-1]).max() < 1e-6
    assert r.about["contact_faults"]["rough"] == 0 and not r.contact_faults
