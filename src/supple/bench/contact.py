"""`supple bench contact`: a falling crowd and a sleeping one, a person on the ground, falling ragdolls, long chains on
the ground, and the search for contacts in large models."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from supple import scenes
from supple.adaptive.dynamics import AdaptiveDynamics
from supple.adaptive.memory import CURRENT
from supple.adaptive.touching.search import search_touches
from supple.bench.contact_peers import mujoco_data, mujoco_model
from supple.bench.exact import peer
from supple.bench.lying_chains import CHAINS, lying
from supple.bench.measure import minima
from supple.bench.ragdolls import WHOLE, falls
from supple.bench.rows import Row
from supple.contact.geometry.finding import find_touches
from supple.contact.room import ContactRoom, Unsolved
from supple.contact.settings import Contacts
from supple.errors import SimulationError
from supple.integrating.joint_law import LAW
from supple.integrating.model_law import passive_rows
from supple.model.builder import ModelBuilder
from supple.model.joints import JointName
from supple.model.model import Model
from supple.model.shapes import Shape
from supple.scenes import Scene

Floats = NDArray[np.float64]

CROWDS = (5, 4), (20, 10)  #: rows and columns of people
SOME, AT_REST = 4.0, 50.0  #: times faster than our own step of all joints: with 5 % active, with everybody asleep
CROWD_MUJOCO, HUMANOID_MUJOCO = (1.0, 2.0), (1.0, 1.5)  #: times faster than mj_step: (floor, aim)
PUSHED, ON_GROUND, LYING = 0.3, 1.4, 60.0  #: seconds: of pushes, until everybody is down, and until they sleep, at most
FALLING = tuple(0.32 + 0.08 * k for k in range(9))  #: seconds: instants of the fall, after the pushes ...
LANDING = (1.12, 1.28, 1.44)  #: ... and of landing on each other
SETTLES = 2.0  #: seconds for MuJoCo to come to rest, in which a person alone falls asleep
ROUNDS = 5  #: repeats of a fall
CALLS = 20  #: repeats of a window in which everybody sleeps: it takes microseconds
OURS, FULL, THEIRS, ASLEEP = "adaptive", "all joints", "mj_step", "mj_step, sleep on"
WINDOW = 20  #: steps that are timed together, with one update of the active joints
LINKS, ACTIVE = (1_000, 10_000, 100_000, 1_000_000), 10  #: links in all; active joints
CELL, ARCH = 0.1, 1_000  #: metres per link; links per arch
RADIUS = ARCH * CELL / np.pi


def groups(console: Console, quick: bool) -> Iterator[tuple[str, list[Row]]]:
    mujoco = peer(console, "mujoco", "mujoco")
    for rows, columns in CROWDS[:1] if quick else CROWDS:
        scene = scenes.falling_crowd(rows, columns)
        title = f"A crowd of {rows * columns} falls ({scene.model.n_bodies:,} joints), a step of 2 ms"
        yield from _crowd(title, scene, mujoco, quick)
    yield "A person who has just fallen, a step of 2 ms", _humanoid(mujoco, quick)
    if mujoco is not None:
        yield f"Ragdolls of eleven capsules, first {WHOLE:g} s after a drop, a step of 2 ms", falls(mujoco, quick)
    title = "Zigzag chains on the ground, a step of 2 ms"
    yield title, [row for n in (CHAINS[:2] if quick else CHAINS) for row in lying(n)]
    title = f"Finding contacts of arches of {ARCH:,} links on the ground, {ACTIVE} active joints"
    yield title, [row for n in (LINKS[:2] if quick else LINKS) for row in _finding(n)]


class Full:
    """Steps with contact of all joints, from a given state."""

    def __init__(self, scene: Scene, ground: float) -> None:
        assert scene.contacts is not None
        self.dt, model = scene.dt, scene.model
        self.room = ContactRoom(model, passive_rows(model), replace(scene.contacts, ground=ground))
        self._tau = np.zeros(model.nv)

    def window(self, q: Floats, v: Floats) -> float:
        """Seconds per step, over a window from a state; infinite if a step fails."""
        taken, known = 0.0, self.room.known[:0]
        self.room.known = known
        try:
            for k in range(WINDOW + 1):
                begun = time.process_time()
                self.room.take(q, v, self.dt, self._tau, None)
                taken += (time.process_time() - begun) * (k > 0)  # the first one has no warm start
                q, v = self.room.q.copy(), self.room.v.copy()
        except Unsolved:
            return np.inf
        return taken / WINDOW


def _adaptive_window(body: AdaptiveDynamics, dt: float) -> float:
    """The same for adaptive dynamics, from its current state."""
    begun = time.process_time()
    body.run(WINDOW * dt, dt)
    return (time.process_time() - begun) / WINDOW


class Theirs:
    """Steps of MuJoCo's, of the same bodies."""

    def __init__(self, mujoco: Any, full: Full, sleeps: bool, settle: float) -> None:
        """sleeps: whether bodies at rest sleep. settle: seconds before a window."""
        self.asleep = 0  #: trees, at the end of the last window
        self._mujoco, self._full, self._settle = mujoco, full, settle
        self._model = mujoco_model(mujoco, full.room, full.dt, sleeps)

    def window(self, q: Floats, v: Floats) -> float:
        """Seconds per step, over a window from a state, after settling."""
        model, full = self._model, self._full
        data = mujoco_data(self._mujoco, model, full.room.model, q, v)
        self._mujoco.mj_step(model, data, 1 + round(self._settle / full.dt))
        begun = time.process_time()
        self._mujoco.mj_step(model, data, WINDOW)
        taken = time.process_time() - begun
        if not np.isfinite(data.qpos).all():
            raise SimulationError("MuJoCo's run diverged")
        self.asleep = model.ntree - data.ntree_awake
        return taken / WINDOW


def _peers(mujoco: Any, full: Full, settle: float = 0.0) -> dict[str, Theirs]:
    """MuJoCo's steps without sleep, and with it."""
    sleeps = {THEIRS: False, ASLEEP: True} if mujoco is not None else {}
    return {name: Theirs(mujoco, full, on, settle) for name, on in sleeps.items()}


def _windows(peers: dict[str, Theirs], body: AdaptiveDynamics, full: Full, rounds: int) -> dict[str, float]:
    """The least seconds per step of each method, over windows that take turns: the others start from the current state,
    adaptive dynamics continues from there."""
    q, v = body.q.copy(), body.v.copy()
    others: dict[str, Full | Theirs] = {FULL: full, **peers}
    taken = [
        {OURS: _adaptive_window(body, full.dt), **{name: other.window(q, v) for name, other in others.items()}}
        for _ in range(rounds)
    ]
    return {name: min(x[name] for x in taken) for name in taken[0]}


def _pushed(scene: Scene) -> AdaptiveDynamics:
    """The scene, after everybody was pushed at once."""
    body = scene.adaptive_dynamics(**scene.adaptive)
    pushes = [body.apply(p.body, force=p.force, point=p.point) for p in scene.pushes.described()]
    body.run(PUSHED, scene.dt)
    for push in pushes:
        push.remove()
    return body


def _fall(scene: Scene) -> tuple[AdaptiveDynamics, list[tuple[Floats, Floats]], Floats]:
    """The body after a fall, the states at its instants, and the seconds per adaptive step from each of them."""
    body, states, taken = _pushed(scene), [], []
    for at in FALLING + LANDING:
        body.run(scene.dt * round((at - body.time) / scene.dt), scene.dt)
        states.append((body.q.copy(), body.v.copy()))
        taken.append(_adaptive_window(body, scene.dt))
    return body, states, np.array(taken)


def _full(scene: Scene, body: AdaptiveDynamics) -> Full:
    assert body.contacts is not None and isinstance(body.contacts.ground, float)
    return Full(scene, body.contacts.ground)


def _crowd(title: str, scene: Scene, mujoco: Any, quick: bool) -> Iterator[tuple[str, list[Row]]]:
    n, least = len(FALLING), dict[str, Floats]()
    full = _full(scene, scene.adaptive_dynamics(**scene.adaptive))
    others: dict[str, Full | Theirs] = {FULL: full, **_peers(mujoco, full)}
    for _ in range(2 if quick else ROUNDS):  # of the same fall
        body, states, ours = _fall(scene)
        taken = {OURS: ours, **{x: np.array([y.window(q, v) for q, v in states]) for x, y in others.items()}}
        least = {x: np.minimum(taken[x], least.get(x, np.inf)) for x in taken}
    ours = least[OURS]
    fall = {x: float(y[:n].mean()) for x, y in least.items()}
    found = [Row("5 % active", float(ours[:n].mean()), "s", fall[FULL], FULL, SOME)]
    found += [Row("5 % active, landing", float(ours[n:].mean()), "s", float(least[FULL][n:].mean()), FULL)]
    found += [Row(FULL, fall[FULL], "s", fall[x], x, *CROWD_MUJOCO) for x in (THEIRS, ASLEEP) if x in fall]
    yield title, found
    while len(body.sleeping) < (scene.model.parent < 0).sum() and body.time < LYING:
        body.run(0.2, scene.dt)
    peers = _peers(mujoco, full, SETTLES)
    best = _windows(peers, body, full, 1)
    best[OURS] = min(_adaptive_window(body, full.dt) for _ in range(CALLS))
    asleep = f"{len(body.sleeping)} asleep"
    found = [Row(asleep, best[OURS], "s", best[FULL], FULL, AT_REST)]
    names = {x: f"{x}: {y.asleep} asleep" if x == ASLEEP else x for x, y in peers.items()}
    found += [Row(asleep, best[OURS], "s", best[x], name) for x, name in names.items()]
    yield title.replace("falls", "sleeps"), found


def _humanoid(mujoco: Any, quick: bool) -> list[Row]:
    scene = scenes.falling_crowd(1, 1)
    body = _pushed(scene)
    body.run(ON_GROUND - PUSHED, scene.dt)
    full = _full(scene, body)
    best = _windows(_peers(mujoco, full), body, full, 5 if quick else 20)
    found = [Row(FULL, best[FULL], "s", best[x], x, *HUMANOID_MUJOCO) for x in (THEIRS,) if x in best]
    return [*found, Row("5 % active", best[OURS], "s", best[FULL], FULL)]


def _finding(n: int) -> list[Row]:
    """The search among listed candidate pairs, and with listing them again; compared with sorting and sweeping all
    shapes."""
    size, turn = (0.02, 0.8 * CELL), np.eye(3)
    middle = np.array([0.0, 0.0, -0.5 * CELL])
    shapes = tuple(Shape(f"s{i}", i, "capsule", size, middle, turn) for i in range(n))
    model = replace(_arches(n), shape_list=shapes)
    q = model.neutral()
    q[:3], q[3:7] = (-RADIUS, 0.0, 0.0099), (1.0, 0.0, 0.0, 0.0)  # upside down: it goes up, over and down again
    q[7:] = np.pi / (ARCH - 1)
    q[model.q_index[ARCH::ARCH]] = np.pi
    moving = list(range(ARCH // ACTIVE // 2, ARCH, ARCH // ACTIVE))  # of the first arch
    body = AdaptiveDynamics(model, q, active=moving, contacts=Contacts(ground=0.0, limits=False))
    body.run(3e-3, 1e-3)
    hybrid, find, all_of = body._hybrid, search_touches.load(), find_touches.load()
    assert hybrid.touches is not None
    touching = hybrid.touches.struct
    room = ContactRoom(model, np.zeros((0, LAW)), body.contacts)  # type: ignore[arg-type]
    room.touching(body.q.copy())

    def list_again() -> None:
        touching.listed = 0
        find(hybrid.memory.address, CURRENT, 1e-3)

    calls: dict[str, Callable[[], Any]] = {
        "listed": lambda: find(hybrid.memory.address, CURRENT, 1e-3),
        "again": list_again,
        "sweep": lambda: all_of(room.scene.address, 1e-3),
    }
    best = minima(calls, 20)
    names = {"listed": "in a step", "again": "pairs listed again"}
    return [Row(f"{n:,} links, {names[x]}", best[x], "s", best["sweep"], "all shapes") for x in names]


def _arches(n: int) -> Model:
    """Links with hinges about y, in arches side by side. The first arch has a free root, the others stand on a
    hinge."""
    b, first = ModelBuilder("arches"), np.arange(n) % ARCH == 0
    joints: list[JointName] = ["revolute"] * n
    joints[0] = "free"
    position = np.where(first[:, None], (RADIUS, 0.0, 0.0099), (0.0, 0.0, -CELL))
    position[:, 1] = np.where(first, 0.5 * (np.arange(n) // ARCH), 0.0)
    position[0] = 0.0
    b.add_bodies(
        np.where(first, -1, np.arange(n) - 1), joints, axis=(0.0, 1.0, 0.0), position=position, mass=0.1,
        com=(0.0, 0.0, -0.5 * CELL), inertia=1e-4 * np.eye(3),
    )  # fmt: skip
    return b.build()
