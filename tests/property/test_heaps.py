"""Random heaps of bodies that touch: whatever they do, contacts push, friction stays in its cone and against the slip,
what is open has no force, and energy does not grow beyond the first-order error of a step."""

from __future__ import annotations

import numpy as np
import pytest

import supple
from supple import Contacts, Model, ModelBuilder
from supple.contact.memory import CONTACT
from supple.contact.room import ContactRoom
from supple.exact.energy import kinetic_energy, potential_energy


def heap(rng: np.random.Generator, restitution: float = 0.0) -> tuple[Model, np.ndarray, np.ndarray]:
    """Trees of one to three bodies above each other, over a floor that may have a box and hills on it."""
    b = ModelBuilder("heap")
    for t in range(int(rng.integers(1, 5))):
        up = None
        for d in range(int(rng.integers(1, 4))):
            size, mass = rng.uniform(0.05, 0.2, 3), float(np.exp(rng.uniform(-1, 1.5)))
            how: dict[str, object] = dict(joint="free")
            if up is not None:
                how = dict(joint=str(rng.choice(["revolute", "ball"])), axis=(0, 1, 0), position=(0, 0, -0.45))
                how |= {} if how["joint"] == "ball" else dict(lower=-1.0, upper=1.0)
            up = b.add_body(f"t{t}_{d}", up, mass=mass, inertia=[mass * 0.01] * 3, **how)  # type: ignore[arg-type]
            kind = str(rng.choice(["sphere", "capsule", "box", "cylinder"]))
            sizes = {"sphere": size[:1], "capsule": size[:2], "box": size * 1.3, "cylinder": size[:2]}
            friction = float(rng.choice([0.0, 0.3, 0.8, 1.2]))
            b.add_shape(up, kind, sizes[kind], friction=friction, restitution=restitution)
    if rng.random() < 0.5:
        b.add_shape(None, "box", (0.5, 0.5, 0.3), (0.3, 0, 0.15))
    if rng.random() < 0.4:
        b.add_shape(None, "heights", (6, 6), (0, 0, -0.1), points=rng.uniform(0, 0.15, (8, 8)))
    model = b.build()
    q, v = model.neutral(), np.zeros(model.nv)
    for k, i in enumerate(np.flatnonzero(model.parent < 0)):
        at, first = model.q_index[i], model.v_index[i]
        turn = rng.normal(size=4)
        q[at : at + 7] = *rng.uniform(-0.4, 0.4, 2), 1.7 + 1.7 * k, *(turn / np.linalg.norm(turn))
        v[first : first + 6] = rng.normal(size=6)
    return model, q, v


def check_touches(room: ContactRoom, tolerance: float) -> None:
    """The law, at every touch of a step that was taken."""
    found = room.found
    lam, u, bias, mu = (found[name] for name in ("lam", "u", "bias", "friction"))
    slip, across = np.hypot(u[:, 1], u[:, 2]), np.hypot(lam[:, 1], lam[:, 2])
    assert (lam[:, 0] >= 0).all()
    assert (across <= mu * lam[:, 0] * (1 + 1e-9) + 1e-15).all()
    assert (u[:, 0] + bias >= -tolerance).all()
    pushes = lam[:, 0] * found["W"][:, 0] > 10 * tolerance
    assert (np.abs(u[:, 0] + bias)[pushes] <= 2 * tolerance).all()
    slides = pushes & (slip > 100 * tolerance) & (mu > 0) & (found["kind"] == CONTACT)
    along = (lam[:, 1:] * u[:, 1:]).sum(axis=1)
    np.testing.assert_allclose(along[slides], -(mu * lam[:, 0] * slip)[slides], rtol=0.05)


@pytest.mark.parametrize("seed", range(8))
def test_every_step_of_a_random_heap_keeps_the_law(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, q, v = heap(rng)
    h, contacts = float(rng.choice([1e-3, 2e-3, 5e-3])), Contacts(ground=0.0)
    room = ContactRoom(model, np.zeros((0, 11)), contacts)
    energy, touched = kinetic_energy(model, q, v) + potential_energy(model, q), 0
    begun = most = energy
    for _ in range(int(1.2 / h)):
        if room.take(q, v, h, np.zeros(model.nv), None):
            q, v = room.q.copy(), room.v.copy()
            speeds = [np.abs(room.found[name]).max(initial=0.0) for name in ("before", "free")]
            check_touches(room, 0.1 * contacts.tolerance * (2 * max(speeds) + 9.81 * h) * np.sqrt(3))
            assert room.found["gap"][room.found["kind"] == CONTACT].min(initial=0.0) > -6e-4
            touched += 1
        else:
            after = supple.simulate(model, q, v, dt=h, duration=h).final
            q, v = after.q, after.v
        energy = kinetic_energy(model, q, v) + potential_energy(model, q)
        assert energy < most + 1e-3 * begun  # a whipping link gains that much, and moving apart what overlaps lifts
        most = min(most, energy) if touched else most
    assert touched > 10


@pytest.mark.parametrize("seed", range(3))
def test_restitution_never_adds_energy(seed: int) -> None:
    """Bodies with friction and joints that bounce: energy falls with every impact, or stays."""
    rng = np.random.default_rng(100 + seed)
    model, q, v = heap(rng, restitution=float(rng.choice([0.5, 1.0])))
    r = supple.simulate(model, q, v, dt=1e-3, duration=1.2, contacts=Contacts(ground=0.0))
    assert (r.energy < r.energy[0] + 2e-3 * abs(r.energy[0])).all()
