"""Forces through events that change the root: the same bodies under the same forces move as if nothing had happened.

A tree that floats is put on a free joint of another body, again and again, in mid-flight. That changes no physics, so
every body must be where it is in the run without events, whatever pulls, pushes or drives it. Tolerance: Runge-Kutta
steps in other coordinates differ by some dt^4, and a force at a wrong point or joint by more than 1e-3.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import supple
from oracle import MOVING, random_model
from supple.model.joints import JointType
from supple.model.manifold import PLAIN

TIMES = (0.0203, 0.0409, 0.0611)
HOW = dict(duration=0.08, dt=1e-3, check_energy=False)
OTHERS = tuple(kind for kind in MOVING if kind != "free")


def floating(seed: int, kinds: tuple[str, ...] = MOVING) -> tuple[supple.Model, np.ndarray, np.ndarray]:
    """A tree on a free joint, whose bodies' origins are not where they were built, with narrow limits; its state."""
    rng = np.random.default_rng(seed)
    tree = random_model(rng, int(rng.integers(3, 7)), kinds, chain=0.8, world=0.0, extras=False)
    q, v = tree.random(rng), rng.standard_normal(tree.nv)
    new = supple.reroot(tree, q, v, body=int(rng.integers(tree.n_bodies)), point=rng.standard_normal(3), joint="free")
    lower, upper = np.full(new.model.nq, -np.inf), np.full(new.model.nq, np.inf)
    for joint in new.model.joints.values():
        if JointType[joint.type.upper()] in PLAIN:
            lower[joint.q], upper[joint.q] = new.q[joint.q] + 0.01, new.q[joint.q] + 0.1
    return replace(new.model, lower=lower, upper=upper), new.q, new.v


def reroots(seed: int, back: bool = False) -> list[supple.Event]:
    """Events that make some body the root, on a free joint at some point; back: the second one undoes the first."""
    rng = np.random.default_rng(seed)
    made: list[supple.Rerooted] = []

    def event(number: int, time: float) -> supple.Event:
        def then(s: supple.State) -> supple.State:
            if back and made:
                new = made.pop().undo(s.q, s.v)
            else:
                body, point = int(rng.integers(s.model.n_bodies)), rng.standard_normal(3)
                new = supple.reroot(s.model, s.q, s.v, body=body, point=point, joint="free")
                made.append(new)
            return s.replace(model=new.model, q=new.q, v=new.v)

        return supple.Event(f"root {number}", lambda s: s.time - time, 1, then)

    return [event(i, time) for i, time in enumerate(TIMES)]


def seen(state: supple.State) -> np.ndarray:
    """Where the bodies are, by name: rotations, and centres of mass."""
    m, at = state.model, supple.poses(state.model, state.q)
    com = at.position + np.einsum("nij,nj->ni", at.rotation, m.com)
    by_name = np.argsort(np.array(list(m.body_names)))
    return np.concatenate([at.rotation.reshape(-1, 9), com], axis=1)[by_name]


def same_motion(model, q, v, events, tolerance=1e-7, moves=1e-4, **forces) -> None:
    """The run with events ends where the one without does, and where one without forces does not."""
    plain = supple.simulate(model, q, v, **HOW, **forces).final
    changed = supple.simulate(model, q, v, **HOW, **forces, events=events)
    idle = supple.simulate(model, q, v, **HOW).final
    assert len(changed.events) == len(TIMES)
    np.testing.assert_allclose(seen(changed.final), seen(plain), rtol=0, atol=tolerance)
    assert np.abs(seen(plain) - seen(idle)).max() > moves


def plain_joints(model: supple.Model) -> list[supple.model.model.Joint]:
    return [j for j in model.joints.values() if JointType[j.type.upper()] in PLAIN]


def pushes(model, rng):
    points = rng.standard_normal((3, 3))
    here, there, frame = (int(rng.integers(model.n_bodies)) for _ in range(3))
    return [
        supple.Push(model.body_names[here], force=5 * rng.standard_normal(3), point=points[0]),
        supple.Push(there, force=rng.standard_normal(3), point=points[1], torque=(1, 2, 3), frame="body"),
        supple.Push(frame, torque=5 * rng.standard_normal(3)),
    ]


def springs(model, rng):
    here, there = (int(rng.integers(model.n_bodies)) for _ in range(2))
    ends = np.random.default_rng(here).standard_normal((2, 3))
    return [
        supple.Spring(model.body_names[here], rng.standard_normal(3), 30.0, rng.standard_normal(3), 1.0, 0.3),
        supple.Spring(there, rng.standard_normal(3), 30.0, point=rng.standard_normal(3)),
        supple.SpringBetween(model.body_names[here], (here + 1) % model.n_bodies, 30.0, *ends, 1.0, 0.3),
    ]


def controllers(model, rng):
    return [
        supple.Controller(
            j.name if k % 2 else j.index, 20.0, 0.5,
            target=rng.standard_normal(len(j.lower)), rate=rng.standard_normal(len(j.lower)), most=15.0,
        )
        for k, j in enumerate(plain_joints(model))
    ]  # fmt: skip


def limits(model, rng):
    joints = plain_joints(model)
    return [supple.Limits(300.0, 1.0, [joints[0].index, *(j.name for j in joints[1:])]), supple.Limits(200.0)]


def functions(model, rng):
    """What they do is said by names: a wrench on a body about its centre of mass, a force at a joint."""
    body = model.body_names[int(rng.integers(model.n_bodies))]
    push = rng.standard_normal(6)
    driven = plain_joints(model)[0].name

    def wrench(time, q, v, model):
        out, b = np.zeros((model.n_bodies, 6)), model.bodies[body]
        out[b.index] = np.concatenate([push[:3] + np.cross(b.com, push[3:]), push[3:]])
        return out

    def drive(time, q, v, m, strength=3.0):
        out = np.zeros(m.nv)
        out[m.joints[driven].v] = strength
        return out

    return [wrench, drive]


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("forces", [pushes, springs, controllers, limits, functions])
@pytest.mark.parametrize("seed", range(4))
def test_forces_stay_where_they_are(seed, forces, back):
    kinds = MOVING if forces in (pushes, springs) else ("revolute", "universal", "cylindrical", "screw", "prismatic")
    model, q, v = floating(seed, kinds)
    acting = forces(model, np.random.default_rng(100 + seed))
    same_motion(model, q, v, reroots(seed, back), forces=acting)


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("kind", [*MOVING, None])
def test_a_constant_tau_stays_at_its_joints(kind, back):
    """Also at ball, planar and free joints, where it is along the axes of a body that may not be the child any more."""
    for seed in range(2):
        model, q, v = floating(seed, MOVING if kind is None else (kind,))
        tau = np.random.default_rng(seed).standard_normal(model.nv)
        tau[model.joints[0].v] = 0.0
        same_motion(model, q, v, reroots(seed, back), tau=tau)


@pytest.mark.parametrize("how", [{"method": m} for m in ("crba", "virtual-work", "dca")] + [
    {"integrator": "dop853"}, {"integrator": "semi-implicit", "dt": 2e-5}])  # fmt: skip
def test_by_every_method_and_integrator(how, monkeypatch):
    model, q, v = floating(11)
    rng = np.random.default_rng(0)
    forces = pushes(model, rng) + springs(model, rng) + controllers(model, rng) + limits(model, rng)
    tau = rng.standard_normal(model.nv)
    tau[model.joints[0].v] = 0.0
    first_order = how.get("integrator") == "semi-implicit"
    for name, value in how.items():
        monkeypatch.setitem(HOW, name, value)
    same_motion(model, q, v, reroots(3), forces=forces, tau=tau, tolerance=1e-4 if first_order else 1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_energy_has_no_steps(seed):
    """Springs, walls and steady pushes hold at a change of root what they held before it."""
    model, q, v = floating(seed)
    rng = np.random.default_rng(seed)
    forces = [x for x in pushes(model, rng) if x.frame == "world"] + springs(model, rng)
    run = supple.simulate(model, q, v, **HOW, forces=[*forces, supple.Limits(200.0)], events=reroots(seed))
    for before, after in zip(run.segments, run.segments[1:]):
        np.testing.assert_allclose(after.potential[0], before.potential[-1], rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(after.kinetic[0], before.kinetic[-1], rtol=1e-11)


def test_a_resumed_run_has_the_same_forces(tmp_path):
    """After resuming, a model that an event made is read from the file; what is bound to it is the same to the bit."""
    model, q, v = floating(5)
    rng = np.random.default_rng(5)
    how = HOW | dict(forces=pushes(model, rng) + springs(model, rng) + controllers(model, rng))
    how["tau"] = rng.standard_normal(model.nv)
    how["tau"][model.joints[0].v] = 0.0
    whole = supple.simulate(model, q, v, **how, events=reroots(2)[:1])
    path = tmp_path / "run.h5"
    supple.simulate(model, q, v, **how | {"duration": 0.05}, events=reroots(2)[:1], record=path)
    resumed = supple.simulate(model, q, v, **how, events=reroots(2)[:1], record=path, resume=True)
    assert len(resumed.segments) == 2
    np.testing.assert_array_equal(resumed.final.q, whole.final.q)
    np.testing.assert_array_equal(resumed.final.v, whole.final.v)
