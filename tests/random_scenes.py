"""Random scenes with contacts, of which every step is judged by law_of_contact.py.

python -m tests.random_scenes --scenes 1000 --seed 0    as many scenes, and what was found
python -m tests.random_scenes --stack 10000             ten boxes on each other, for so many steps
python -m tests.random_scenes --heap 100 --seed 1       so many boxes that fall together
python -m tests.random_scenes --jammed 10000            a step of rigid parts that touch in many places at once
python -m tests.random_scenes --only 17                 one scene of them
python -m tests.random_scenes --adaptive --scenes 200   the same scenes, piles of chains and people who fall, of which
                                                        some joints move
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple import AdaptiveDynamics, Contacts, Model, ModelBuilder, scenes
from supple.contact.ground import lowest_point
from supple.contact.memory import CONTACT
from supple.contact.room import ContactRoom
from supple.errors import SimulationError
from supple.integrating.joint_law import LAW
from supple.model.geometry import rotation_from_quaternion
from tests.law_of_contact import AdaptiveJudge, Judge, Verdict
from tests.touching import chains, jammed, strewn

Floats = NDArray[np.float64]
KINDS = ("sphere", "capsule", "box", "cylinder", "hull")
STEPS = (1e-3, 2e-3, 3e-3, 5e-3)
DURATION = 0.6


def solid(rng: np.random.Generator, kinds: Sequence[str]) -> tuple[str, Any, Any, Floats]:
    """Kind, size and points of a shape, and half the edges of a box about it."""
    kind, size = str(rng.choice(kinds)), rng.uniform(0.03, 0.15, 3)
    points = None
    half = {"sphere": size[[0, 0, 0]], "capsule": size[[0, 0, 1]] + [0, 0, size[0]], "cylinder": size[[0, 0, 1]]}
    if kind == "hull":
        points = rng.normal(size=(int(rng.integers(8, 25)), 3))
        points = points / np.linalg.norm(points, axis=1)[:, None] * size
    sizes = {"sphere": size[:1], "capsule": size[:2] * (1, 2), "cylinder": size[:2] * (1, 2), "box": 2 * size}
    return kind, sizes.get(kind, ()), points, half.get(kind, size)


def add_tree(
    b: ModelBuilder, rng: np.random.Generator, t: int, spread: float, kinds: Sequence[str], shape: dict[str, Any]
) -> None:
    """A free body with up to four more on joints, some of them with limits."""
    names: list[str] = []
    for d in range(int(rng.integers(1, 6))):
        kind, size, points, half = solid(rng, kinds)
        mass = float(10.0 ** rng.uniform(-spread, spread))
        inertia = mass / 3 * (half @ half - half**2)
        how: dict[str, Any] = dict(mass=mass, inertia=inertia)
        parent = None
        if names:
            parent = names[int(rng.integers(len(names)))]
            joint = str(rng.choice(["revolute", "revolute", "ball", "prismatic"]))
            axis = rng.normal(size=3)
            how |= dict(joint=joint, position=(0, 0, -0.2 - 0.15 * rng.random()), com=(0, 0, -0.1))
            if joint != "ball":
                how |= dict(axis=axis / np.linalg.norm(axis), damping=float(rng.choice([0.0, 0.01])))
            if joint == "prismatic":
                how |= dict(lower=-0.1, upper=0.1)
            elif joint == "revolute" and rng.random() < 0.7:
                how |= dict(lower=-float(rng.uniform(0, 1)), upper=float(rng.uniform(0, 1)))
        else:
            how |= dict(joint="free")
        b.add_body(f"t{t}_{d}", parent, **how)
        at = (0, 0, -0.1) if names else (0, 0, 0)
        names.append(f"t{t}_{d}")
        friction = float(rng.choice([0.0, rng.uniform(0, 1.5)], p=[0.2, 0.8]))
        b.add_shape(names[-1], kind, size, at, points=points, friction=friction, **shape)


def add_ground(b: ModelBuilder, rng: np.random.Generator, hills: bool) -> None:
    """A plane, flat or sloping, sometimes with a box or hills on it."""
    slope = float(rng.choice([0.0, rng.uniform(0, 0.6)]))
    b.add_shape(None, "plane", rotation=(0, np.sin(slope / 2), 0, np.cos(slope / 2)), friction=0.0)
    if rng.random() < 0.5:
        b.add_shape(None, "box", (0.5, 0.5, 0.3), (0.3, 0, 0.15), friction=0.0)
    if hills:
        b.add_shape(None, "heights", (6, 6), (0, 0, -0.05), points=rng.uniform(0, 0.12, (30, 30)), friction=0.0)


def scene(seed: int, number: int) -> tuple[Model, Floats, Floats, float]:
    """A model, where it begins, and the step."""
    rng = np.random.default_rng((seed, number))
    b = ModelBuilder("scene")
    shape = dict(restitution=float(rng.choice([0.0, 0.0, rng.uniform(0, 1)])))
    spread = float(rng.choice([0.0, 0.5, 1.5, 3.0], p=[0.3, 0.3, 0.3, 0.1]))
    hills = rng.random() < 0.3
    for t in range(int(rng.integers(1, 6))):
        add_tree(b, rng, t, spread, KINDS, shape)
    add_ground(b, rng, hills)
    model = b.build()
    q, v = model.neutral(), np.zeros(model.nv)
    roots, down = np.flatnonzero(model.parent < 0), rng.uniform(0, 3)
    for k, i in enumerate(roots):
        at, first = model.q_index[i], model.v_index[i]
        turn = rng.normal(size=4)
        q[at : at + 7] = *rng.uniform(-0.3, 0.3, 2), 10.0 * (k + 1), *(turn / np.linalg.norm(turn))
        v[first : first + 6] = rng.normal(size=6) * (1, 1, 1, 3, 3, 3)
        v[first : first + 3] -= down * rotation_from_quaternion(q[at + 3 : at + 7])[2]  # all are thrown down
    lower_apart(model, q, model.q_index[roots])
    return model, q, v, float(rng.choice(STEPS))


def lower_apart(model: Model, q: Floats, roots: NDArray[np.int64], contacts: Contacts | None = None) -> None:
    """Every tree as low as it gets without touching anything, the first one first."""
    room = ContactRoom(model, np.zeros((0, LAW)), contacts or Contacts())
    for at in roots:
        free = q[at + 2]
        for height in np.arange(0.2, free, 0.1):
            q[at + 2] = height
            if room.touching(q)["gap"][room.found["kind"] == CONTACT].min(initial=1.0) > 1e-3:
                break


def judge_scene(seed: int, number: int, verdict: Verdict, duration: float = DURATION) -> Judge:
    model, q, v, h = scene(seed, number)
    judge = Judge(model, q, v, Contacts(), verdict, f"scene {number}, steps of {1e3 * h:.0f} ms")
    judge.run(duration, h)
    return judge


def adaptive_scene(seed: int, number: int) -> tuple[AdaptiveDynamics, float, str]:
    """A body of which some joints move, the step, and what it is: of every four, two scenes as above, a pile of chains,
    and a few people who fall."""
    rng = np.random.default_rng((seed, number, 1))
    every, kind = int(rng.choice([1, 3, 20])), number % 4
    contacts: Contacts = Contacts(ground=0.0)
    if kind < 2:
        model, q, v, h = scene(seed, number)
        contacts = Contacts()
    elif kind == 2:
        model = chains(int(rng.integers(2, 8)), int(rng.integers(2, 7)), restitution=float(rng.choice([0.0, 0.0, 0.6])),
                       lower=-1.0, upper=1.0)  # fmt: skip
        q, v, h = strewn(model, number, 0.8, 0.1), np.zeros(model.nv), float(rng.choice(STEPS))
        roots, hinges = model.q_index[model.parent < 0], model.q_index[model.parent >= 0]
        q[hinges] = np.clip(q[hinges], -0.9, 0.9)
        q[roots + 2] = 10.0 * np.arange(1, len(roots) + 1)
        lower_apart(model, q, roots, contacts)
    else:
        crowd = scenes.falling_crowd(1, int(rng.integers(1, 4)), number)
        model, q, v, h = crowd.model, crowd.q0.copy(), np.zeros(crowd.model.nv), float(rng.choice(STEPS[:3]))
        assert crowd.contacts is not None
        contacts = replace(crowd.contacts, ground=lowest_point(model, q))
        room = ContactRoom(model, np.zeros((0, LAW)), contacts)  # limbs may overlap as people stand
        deep = room.touching(q)[["shape", "other"]][room.found["gap"] < 0.0].tolist()
        contacts = replace(contacts, apart=[(room.shapes[i].name, room.shapes[j].name) for i, j in deep])
        for first in model.v_index[model.parent < 0]:
            v[first : first + 2] = rng.normal(size=2) * 3.0
    active = int(rng.integers(0, model.n_bodies + 1) if kind < 3 else rng.integers(0, model.n_bodies // 8))
    body = AdaptiveDynamics(model, q, v, active=active, update_every=every, contacts=contacts)
    name = f"{active} of {model.n_bodies} joints, chosen every {every} steps of {1e3 * h:.0f} ms"
    return body, h, name


def judge_adaptive(seed: int, number: int, verdict: Verdict, duration: float = DURATION) -> AdaptiveJudge:
    body, h, what = adaptive_scene(seed, number)
    judge = AdaptiveJudge(body, verdict, f"scene {number}, {what}")
    judge.run(duration if number % 4 < 3 else 2 * duration, h)
    return judge


def boxes(edges: Floats, friction: float) -> Model:
    b = ModelBuilder("boxes")
    for i, e in enumerate(edges):
        mass = 1000.0 * float(np.prod(e))
        b.add_body(f"box{i}", joint="free", mass=mass, inertia=mass / 12 * (e @ e - e**2))
        b.add_shape(f"box{i}", "box", e, friction=friction)
    return b.build()


def stack(steps: int) -> str:
    """Ten boxes on each other: how far any coordinate strays."""
    model = boxes(np.tile([0.2, 0.2, 0.1], (10, 1)), 0.5)
    q = model.neutral()
    q.reshape(10, 7)[:, :3] = [(0.01 * (i % 3), 0.01 * (i % 2), 0.05 + 0.1 * i) for i in range(10)]
    verdict, begun, most = Verdict(), q.copy(), 0.0
    judge = Judge(model, q, np.zeros(model.nv), Contacts(ground=0.0), verdict, "stack")
    for _ in range(steps):
        judge.step(2e-3)
        most = max(most, float(np.abs(judge.q - begun).max()))
    return f"ten boxes, {steps:,} steps of 2 ms: moved by at most {1e6 * most:.2g} µm; overlap {judge.overlap:.1g} m"


def heap(n: int, seed: int, duration: float = 3.0, h: float = 2e-3) -> Verdict:
    """Boxes of different sizes that fall together, four on each floor."""
    rng = np.random.default_rng(seed)
    model = boxes(rng.uniform(0.1, 0.2, (n, 3)), 0.6)
    q = model.neutral()
    for i in range(n):
        turn = rng.normal(size=4)
        q[7 * i : 7 * i + 7] = 0.27 * (i % 2), 0.27 * (i // 2 % 2), 0.2 + 0.3 * (i // 4), *(turn / np.linalg.norm(turn))
    verdict = Verdict()
    Judge(model, q, np.zeros(model.nv), Contacts(ground=0.0), verdict, f"heap of {n}, seed {seed}").run(duration, h)
    return verdict


def jams(scenes: int, seed: int) -> str:
    """A step of rigid parts that touch in many places at once: how often the law could be kept by halving it alone."""
    relaxed, stopped, worst = [], [], 0.0
    for number in range(scenes):
        rng = np.random.default_rng((seed, number))
        which = int(rng.integers(1 << 31)), int(rng.integers(2, 7)), int(rng.integers(16, 61))
        model, v = jammed(*which)
        body = AdaptiveDynamics(model, None, v, active=0, contacts=True)
        try:
            body.step(2e-3)
        except SimulationError:
            stopped.append(number)
        else:
            relaxed += [number] if body.stats.relaxed else []
            worst = max(worst, body.stats.relaxed_fault)
    return f"{scenes:,} jammed scenes: {len(relaxed)} miss the law, by at most {worst:.2g} m/s {relaxed[:9]}, " + (
        f"{len(stopped)} stopped {stopped[:9]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, what in [
        ("scenes", "how many"),
        ("seed", "of all of them"),
        ("only", "one scene, by its number"),
        ("stack", "ten boxes for so many steps"),
        ("heap", "so many boxes"),
        ("jammed", "so many scenes of rigid parts that touch in many places at once"),
    ]:
        parser.add_argument(f"--{name}", type=int, default=0 if name == "seed" else None, help=what)
    parser.add_argument("--adaptive", action="store_true", help="of which some joints move")
    given = parser.parse_args()
    if given.stack is not None:
        print(stack(given.stack))
    elif given.heap is not None:
        print(heap(given.heap, given.seed))
    elif given.jammed is not None:
        print(jams(given.jammed, given.seed))
    else:
        verdict, begun = Verdict(), time.perf_counter()
        numbers = [given.only] if given.only is not None else range(given.scenes or 20)
        for number in numbers:
            (judge_adaptive if given.adaptive else judge_scene)(given.seed, number, verdict)
            if verdict.scenes % 100 == 0 or verdict.scenes == len(numbers):
                print(f"{verdict}\n{time.perf_counter() - begun:.0f} s\n", flush=True)


if __name__ == "__main__":
    main()
