"""Every kind of force, alone and with all others, by three ways: an exact run, an adaptive run with all joints active,
and the formulas of docs/runs.md written out here, over the dense equations of motion H a + C = tau.

Runs give accelerations as (v(h) - v) / h, which is off by a multiple of h; twice that of h/2 minus that of h is off by
a multiple of h^2. With h = 1 microsecond and the stiffnesses drawn here that is 1e-7 of the largest, rounding included.
"""

from __future__ import annotations

import numpy as np
import pytest

import supple
from drawn import near
from supple import AdaptiveDynamics, Controller, Limits, ModelBuilder, Push, Spring, SpringBetween
from supple.simulating.forces import Forces, law_rows

KINDS = ("revolute", "continuous", "prismatic", "screw", "cylindrical", "universal", "planar", "ball", "free")
CURVED = ("planar", "ball", "free")
STEP = 1e-6


class Drawn:
    """A random tree of every joint type in a random state; `plain` is the same tree without damping and armature."""

    def __init__(self, rng, n, gravity=(0.0, 0.0, 0.0), damping=0.0, armature=0.0):
        self.rng, self.n = rng, n
        full, plain = ModelBuilder(gravity=gravity), ModelBuilder(gravity=gravity)
        for i in range(n):
            kind, axis = str(rng.choice(KINDS)), rng.standard_normal(3)
            limits = {"lower": -rng.uniform(0.0, 0.3), "upper": rng.uniform(0.0, 0.3)}
            said = dict(
                axis=axis, axis2=np.cross(axis, rng.standard_normal(3)), pitch=0.3, position=rng.standard_normal(3),
                mass=rng.uniform(0.5, 2.0), com=0.2 * rng.standard_normal(3), inertia=np.eye(3) * rng.uniform(0.2, 0.5),
                **({} if kind in (*CURVED, "continuous") else limits),
            )  # fmt: skip
            parent = None if i == 0 or rng.random() < 0.2 else int(rng.integers(0, i))
            own = rng.uniform(0, 1, 2)
            full.add_body(None, parent, kind, damping=damping * own[0], armature=armature * own[1], **said)
            plain.add_body(None, parent, kind, **said)
            for b in (full, plain):
                b.add_frame(f"tool {i}", i, position=(0.1, 0.2 * i, 0.3), rotation=np.eye(3)[[1, 2, 0]])
        self.model, self.plain = full.build(), plain.build()
        self.q = self.model.integrate(self.model.neutral(), rng.uniform(-0.7, 0.7, self.model.nv))
        self.v = rng.standard_normal(self.model.nv)
        self.bodies = rng.integers(n, size=2).tolist()
        self.joints = [i for i in range(n) if self.model.joints[i].type not in CURVED]

    def vector(self):
        return self.rng.standard_normal(3)


# --- the formulas ----------------------------------------------------------------------------------------------------


def at_joints(drawn, force):
    """tau of a controller or of limits."""
    model, tau = drawn.model, np.zeros(drawn.model.nv)
    if isinstance(force, Controller):
        part = model.joints[force.joint]
        pull = force.stiffness * (force.target - drawn.q[part.q]) + force.damping * (force.rate - drawn.v[part.v])
        tau[part.v] = np.clip(pull, -force.most, force.most)
        return tau
    for i in drawn.joints if force.joints is None else force.joints:
        part = model.joints[i]
        for q, v, lower, upper, j in zip(drawn.q[part.q], drawn.v[part.v], part.lower, part.upper,
                                         range(part.v.start, part.v.stop)):  # fmt: skip
            if q < lower:
                tau[j] = max(force.stiffness * (lower - q) - force.damping * v, 0.0)
            if q > upper:
                tau[j] = -max(force.stiffness * (q - upper) + force.damping * v, 0.0)
    return tau


def place(drawn, name, at):
    """A body, its pose, the axes of a frame on it, a point there, and the point's place and velocity in the world."""
    model, named = drawn.model, isinstance(name, str)
    frame = model.frames[name] if named else None
    body = frame.body if named else name
    R, r = (x[body] for x in (supple.poses(model, drawn.q).rotation, supple.poses(model, drawn.q).position))
    own = frame.rotation if named else np.eye(3)
    point = own @ at + (frame.position if named else 0.0)
    twist = supple.velocities(model, drawn.q, drawn.v, frame="body")[body]
    return body, R, own, point, r + R @ point, R @ (twist[3:] + np.cross(twist[:3], point))


def between(drawn, force):
    """(n, 6) wrenches of a spring between two bodies, in their frames."""
    first, second = place(drawn, force.body, force.point), place(drawn, force.other, force.other_point)
    way, rate, out = second[4] - first[4], second[5] - first[5], np.zeros((drawn.n, 6))
    far, n = np.linalg.norm(way), way / np.linalg.norm(way)
    tension = force.stiffness * (far - force.length) + force.damping * n @ rate
    if force.pulls_only:
        tension = max(tension, 0.0) if far > force.length else 0.0
    for (body, R, _, point, _, _), f in ((first, tension * n), (second, -tension * n)):
        out[body] += np.concatenate([np.cross(point, R.T @ f), R.T @ f])
    return out


def on_bodies(drawn, force):
    """(n, 6) wrenches of a push or a spring, in the bodies' frames."""
    if isinstance(force, SpringBetween):
        return between(drawn, force)
    out = np.zeros((drawn.n, 6))
    body, R, own, point, x, velocity = place(drawn, force.body, force.point)
    if isinstance(force, Push):
        turn = own if force.frame == "body" else R.T
        f, torque = turn @ force.force, turn @ force.torque
    else:
        away = x - force.anchor
        pull = -force.stiffness * (1.0 - force.length / np.linalg.norm(away)) * away
        f, torque = R.T @ (pull - force.damping * velocity), np.zeros(3)
    out[body] = np.concatenate([torque + np.cross(point, f), f])
    return out


def accelerations(drawn, forces, tau):
    """H a = tau - C, with armature and damping written out."""
    m, tau, wrenches = drawn.plain, tau.copy(), np.zeros((drawn.n, 6))
    for force in forces:
        if isinstance(force, Controller | Limits):
            tau += at_joints(drawn, force)
        else:
            wrenches += on_bodies(drawn, force)
    C = supple.inverse_dynamics(m, drawn.q, drawn.v, None, wrenches) + drawn.model.damping * drawn.v
    return np.linalg.solve(supple.mass_matrix(m, drawn.q) + np.diag(drawn.model.armature), tau - C)


# --- the kinds -------------------------------------------------------------------------------------------------------


def joined(d, frames=False, **settings):
    """A spring between two random bodies, if there are two."""
    if d.n < 2:
        return []
    pair = [int(i) for i in d.rng.choice(d.n, 2, replace=False)]
    names = [f"tool {i}" for i in pair] if frames else pair
    return [SpringBetween(*names, 20.0, d.vector(), d.vector(), **settings)]


def controllers(**settings):
    def make(d):
        return [Controller(j, **settings) for j in d.joints[:2]]

    return make


ALONE = {
    "push": lambda d: [Push(d.bodies[0], 5 * d.vector(), d.vector())],
    "push that turns with the body": lambda d: [Push(d.bodies[0], 5 * d.vector(), d.vector(), frame="body")],
    "torque": lambda d: [Push(d.bodies[0], torque=d.vector())],
    "torque that turns with the body": lambda d: [Push(d.bodies[0], torque=d.vector(), frame="body")],
    "push on a frame": lambda d: [Push(f"tool {d.bodies[0]}", 5 * d.vector(), d.vector(), d.vector(), "body")],
    "spring": lambda d: [Spring(d.bodies[0], d.vector(), 20.0, d.vector())],
    "spring with a damper": lambda d: [Spring(d.bodies[0], d.vector(), 20.0, d.vector(), 3.0)],
    "spring on a frame": lambda d: [Spring(f"tool {d.bodies[0]}", d.vector(), 20.0, d.vector(), 3.0)],
    "two springs on a body": lambda d: [Spring(d.bodies[0], d.vector(), k, d.vector(), 1.0) for k in (5.0, 9.0)],
    "spring with a length": lambda d: [Spring(d.bodies[0], d.vector(), 20.0, d.vector(), 3.0, 0.7)],
    "spring between two bodies": lambda d: joined(d),
    "spring with a damper between": lambda d: joined(d, damping=3.0, length=0.7),
    "spring between two frames": lambda d: joined(d, frames=True, damping=3.0, length=0.7),
    "taut rope": lambda d: joined(d, damping=0.3, length=0.01, pulls_only=True),
    "rope that would push": lambda d: joined(d, damping=30.0, length=0.4, pulls_only=True),
    "a net": lambda d: [force for _ in range(3) for force in joined(d, damping=1.0, length=0.5)],
    "limits": lambda d: [Limits(300.0)],
    "limits with dampers": lambda d: [Limits(300.0, 20.0)],
    "limits that would pull": lambda d: [Limits(10.0, 100.0)],
    "limits of dampers alone": lambda d: [Limits(0.0, 20.0)],
    "limits of one joint": lambda d: [Limits(300.0, 20.0, d.joints[:1])],
    "limits twice": lambda d: [Limits(300.0, 20.0), Limits(100.0, 5.0, d.joints[:1])],
    "controller": controllers(stiffness=40.0),
    "controller with damping": controllers(stiffness=40.0, damping=4.0, target=0.3),
    "controller with a rate": controllers(stiffness=40.0, damping=4.0, target=-0.2, rate=1.5),
    "controller that gives all it has": controllers(stiffness=4000.0, damping=400.0, most=2.0),
    "damper": controllers(stiffness=0.0, damping=4.0),
    "two controllers at a joint": lambda d: [Controller(d.joints[0], k, 2.0 - k) for k in (0.0, 2.0)],
}  # fmt: skip
BY_THE_MODEL = {
    "gravity": dict(gravity=(1.0, -2.0, -9.81)),
    "damping": dict(damping=2.0),
    "armature": dict(armature=3.0),
    "all of these": dict(gravity=(0.0, 3.0, -9.0), damping=2.0, armature=3.0),
}


def exact_run(d, forces, tau, h):
    how = dict(duration=h, dt=h, forces=forces, tau=tau, method="aba", integrator="semi-implicit")
    return (supple.simulate(d.model, d.q, d.v, **how).final.v - d.v) / h


def rk4_run(d, forces, tau, h):
    """Through NumPy, too: a force that is a function keeps a run out of the kernel that takes many steps."""
    nothing = lambda time, q, v: np.zeros(d.model.nv)  # noqa: E731
    how = dict(duration=h, dt=h, forces=[*forces, nothing], tau=tau, method="crba", integrator="rk4")
    return (supple.simulate(d.model, d.q, d.v, **how).final.v - d.v) / h


def adaptive_run(d, forces, tau, h):
    how = dict(duration=h, dt=h, forces=forces, tau=tau, method="adaptive", active=d.n)
    return (supple.simulate(d.model, d.q, d.v, **how).final.v - d.v) / h


def driven_run(d, forces, tau, h):
    """The same forces by the methods of AdaptiveDynamics."""
    ad = AdaptiveDynamics(d.model, d.q, d.v, active=d.n)
    for i in range(d.n):
        ad.torque(i, tau[d.model.joints[i].v])
    seen = set()
    for f in forces:
        if isinstance(f, Push):
            ad.apply(f.body, f.force, f.point, f.torque, f.frame)
        elif isinstance(f, Spring):
            ad.spring(f.body, f.anchor, f.stiffness, f.point, f.damping, f.length)
        elif isinstance(f, SpringBetween):
            ends = f.body, f.other, f.stiffness, f.point, f.other_point
            ad.spring_between(*ends, f.damping, f.length, f.pulls_only)
        elif isinstance(f, Controller) and f.joint not in seen:
            seen.add(f.joint)
            ad.control(f.joint, f.stiffness, f.damping, f.target, f.rate, f.most)
        elif isinstance(f, Limits) and f.joints is None and Limits not in seen:
            seen.add(Limits)
            ad.limits(f.stiffness, f.damping)
        else:  # a second one at the joint
            ad.joint_law(law_rows(d.model, f))
    ad.step(h)
    return (ad.v - d.v) / h


def compare(d, forces, tau):
    wanted = accelerations(d, forces, tau)
    for run in (exact_run, rk4_run, adaptive_run, driven_run):
        near(2.0 * run(d, forces, tau, STEP / 2) - run(d, forces, tau, STEP), wanted, 1e-6)
    return wanted


@pytest.mark.parametrize("kind", ALONE)
def test_forces_alone(kind):
    """And that they matter: otherwise a force that nobody applies would pass."""
    felt = 0
    for seed in range(6):
        d = Drawn(np.random.default_rng(seed), 1 + 2 * seed)
        if not d.joints:
            continue
        nothing = np.zeros(d.model.nv)
        forces = ALONE[kind](d)
        felt += np.abs(compare(d, forces, nothing) - accelerations(d, [], nothing)).max() > 1e-2
    assert felt >= 2


@pytest.mark.parametrize("kind", BY_THE_MODEL)
def test_forces_of_the_model(kind):
    for seed in range(5):
        d, bare = (Drawn(np.random.default_rng(seed), 2 + seed, **how) for how in (BY_THE_MODEL[kind], {}))
        nothing = np.zeros(d.model.nv)
        assert np.abs(compare(d, [], nothing) - accelerations(bare, [], nothing)).max() > 1e-2


@pytest.mark.parametrize("seed", range(12))
def test_all_forces_at_once(seed):
    rng = np.random.default_rng(100 + seed)
    d = Drawn(rng, int(rng.integers(1, 12)), (0.0, 3.0, -9.0), 2.0, 3.0)
    forces = [force for make in ALONE.values() for force in make(d)] if d.joints else []
    compare(d, [forces[i] for i in rng.permutation(len(forces))], rng.standard_normal(d.model.nv))


def test_motors_at_every_joint():
    for seed in range(5):
        d = Drawn(np.random.default_rng(seed), 5)
        compare(d, [], 5.0 * d.rng.standard_normal(d.model.nv))


HOLDING = {
    "push": ALONE["push"],
    "spring": ALONE["spring"],
    "spring with a length": lambda d: [Spring(d.bodies[0], d.vector(), 20.0, d.vector(), length=0.7)],
    "spring between": lambda d: joined(d, frames=True),
    "spring with a length between": lambda d: joined(d, length=0.7),
    "ropes between": lambda d: [rope for x in (0.1, 2.0) for rope in joined(d, length=x, pulls_only=True)],
    "limits": lambda d: [Limits(300.0)],
    "controller": controllers(stiffness=40.0, target=0.3),
    "several": lambda d: [Limits(300.0), Spring(d.bodies[1], d.vector(), 9.0), *controllers(stiffness=5.0)(d)],
}


@pytest.mark.parametrize("kind", HOLDING)
def test_energy_is_what_forces_give_back(kind):
    """Where a body moves with v, the energy that forces hold falls by their power: tau.v, and wrenches times twists."""
    h = 1e-6
    for seed in range(8):
        d = Drawn(np.random.default_rng(seed), 2 + seed)
        if not d.joints:
            continue
        acting = Forces(d.model, HOLDING[kind](d), None)
        tau, wrenches = acting(0.0, d.q, d.v)
        power = tau @ d.v if tau is not None else 0.0
        if wrenches is not None:
            power += (wrenches * supple.velocities(d.model, d.q, d.v, frame="body")).sum()
        ahead, behind = (acting.energy(d.model.integrate(d.q, d.v, t)[None])[0] for t in (h, -h))
        near((behind - ahead) / (2 * h), power, 1e-6)


DRIVEN = {
    "push that turns with the body": dict(forces=[Push(0, (0.0, 0.0, 5.0), frame="body")]),
    "torque": dict(forces=[Push(0, torque=(0.0, 0.0, 1.0))]),
    "tau": dict(tau=[0.0, 0.0, 5.0, 0.0, 0.0, 1.0]),
    "function": dict(tau=lambda time, q, v: np.array([0.0, 0.0, 5.0, 0.0, 0.0, 1.0])),
}


@pytest.mark.parametrize("kind", DRIVEN)
def test_motors_are_not_taken_for_energy_from_nowhere(kind):
    """A body at rest that is driven gains energy in every step, and the run goes on."""
    b = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    b.add_body("b", joint="free", mass=1.0, inertia=np.eye(3))
    run = supple.simulate(b.build(), duration=0.5, dt=1e-2, integrator="rk4", **DRIVEN[kind])
    assert run.final.time == pytest.approx(0.5) and run.kinetic[-1] > 0.1 > run.kinetic[1]


@pytest.mark.parametrize("setting", [dict(rate=3.0), dict(most=2.0, target=9.0)])
def test_controllers_that_drive_are_not_either(setting):
    b = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    b.add_body("b", joint="prismatic", mass=1.0, inertia=np.eye(3))
    forces = [Controller(0, 4.0, 4.0, **setting)]
    assert supple.simulate(b.build(), duration=1.0, dt=1e-2, integrator="rk4", forces=forces).kinetic[-1] > 0.1
