"""The same forces in exact and in adaptive runs: every kind, at joints that move and at joints that rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import supple
from drawn import SETTINGS, near
from supple import AdaptiveDynamics, ModelBuilder
from supple.integrating import joint_law
from supple.integrating.chart import chart
from supple.simulating.dynamics import Dynamics

KINDS = ("revolute", "continuous", "prismatic", "screw", "cylindrical", "universal", "planar", "ball", "free")
CURVED = ("planar", "ball", "free")
SINGLE = ("revolute", "continuous", "prismatic", "screw")


def limited_model(rng, n):
    """A tree of every joint type, most of whose joints have limits, and some springs, dry friction and actuators."""
    b = ModelBuilder()
    for i in range(n):
        kind = str(rng.choice(KINDS))
        limits = {}
        if kind not in (*CURVED, "continuous") and rng.random() < 0.8:
            limits = {"lower": -rng.uniform(0.0, 0.5), "upper": rng.uniform(0.0, 0.5)}
        if kind not in CURVED:
            limits |= {"stiffness": rng.choice([0.0, 10.0]), "rest": rng.uniform(-1, 1)}
        axis = rng.standard_normal(3)
        if kind in SINGLE and rng.random() < 0.5:
            gains = dict(gain=rng.uniform(-9, 9), stiffness=rng.choice([0.0, 9.0]), damping=rng.choice([0.0, 3.0]))
            most = dict(force_range=tuple(sorted(rng.uniform(-9, 9, 2)))) if rng.random() < 0.5 else {}
            b.add_actuator(supple.Actuator(f"motor{i}", f"body{i}_joint", bias=rng.uniform(-1, 1), **gains, **most))
        b.add_body(
            None, None if i == 0 or rng.random() < 0.2 else int(rng.integers(0, i)), kind, axis=axis,
            axis2=np.cross(axis, rng.standard_normal(3)), pitch=0.3, position=rng.standard_normal(3),
            mass=rng.uniform(0.5, 2.0), com=0.2 * rng.standard_normal(3), inertia=np.eye(3) * rng.uniform(0.2, 0.5),
            damping=rng.uniform(0, 0.3), friction=rng.choice([0.0, 0.4]), **limits,
        )  # fmt: skip
    return b.build()


def every_kind(model, rng):
    """Pushes, springs, controllers and limits, several on the same joint, and joint forces."""
    n, plain = model.n_bodies, [j for j in range(model.n_bodies) if model.joints[j].type not in CURVED]
    x = lambda: rng.standard_normal(3)  # noqa: E731
    forces = [
        supple.Push(int(rng.integers(n)), x(), x(), x()),
        supple.Push(int(rng.integers(n)), x(), x(), x(), "body"),
        supple.Spring(int(rng.integers(n)), x(), rng.uniform(0, 20), x(), rng.uniform(0, 2)),
        *(
            supple.SpringBetween(
                *(int(i) for i in rng.choice(n, 2, replace=False)),
                rng.uniform(0, 20),
                x(),
                x(),
                rng.uniform(0, 2),
                rng.uniform(0, 2),
                bool(rng.integers(2)),
            )
            for _ in range(2 if n > 1 else 0)
        ),
        supple.Limits(rng.uniform(0, 500), rng.uniform(0, 50)),
        supple.Controls(rng.standard_normal(len(model.actuators))),
    ]
    for j in rng.choice(plain, min(3, len(plain))) if plain else ():
        size = model.joints[int(j)].v.stop - model.joints[int(j)].v.start
        target, rate = rng.standard_normal(size), rng.standard_normal(size) if rng.random() < 0.5 else 0.0
        most = rng.uniform(0, 20) if rng.random() < 0.5 else np.inf
        forces.append(supple.Controller(int(j), rng.uniform(0, 50), rng.uniform(0, 5), target, rate, most))
        forces.append(supple.Limits(rng.uniform(0, 300), rng.uniform(0, 50), [int(j)]))
    return [forces[i] for i in rng.permutation(len(forces))], rng.standard_normal(model.nv)


@SETTINGS
@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_exact_and_adaptive_runs_have_the_same_forces(n, seed):
    """So short a run that any integrator gives the same, under accelerations that are not small."""
    rng = np.random.default_rng(seed)
    model = limited_model(rng, n)
    q = model.integrate(model.neutral(), rng.uniform(-0.7, 0.7, model.nv))
    v = rng.standard_normal(model.nv)
    forces, tau = every_kind(model, rng)
    how = dict(duration=2e-8, dt=1e-8, forces=forces, tau=tau)
    exact = supple.simulate(model, q, v, method="aba", integrator="semi-implicit", **how)
    some = supple.simulate(model, q, v, method="adaptive", active=n, **how)
    near((some.final.v - v) / 2e-8, (exact.final.v - v) / 2e-8, 1e-4)
    near(model.difference(exact.final.q, some.final.q), np.zeros(model.nv), 1e-10)


@SETTINGS
@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_joints_at_rest_know_the_law(n, seed):
    """Most joints rest, and their forces enter through what rigid parts know beforehand; with nothing neglected, all
    accelerations are the exact ones. Of a step so short that dry friction, which is implicit, makes no difference."""
    rng = np.random.default_rng(seed)
    model = limited_model(rng, n)
    q = model.integrate(model.neutral(), rng.uniform(-0.7, 0.7, model.nv))
    v = np.where(np.isin(model.dof_body, rng.integers(n, size=2)), rng.standard_normal(model.nv), 0.0)
    forces, tau = every_kind(model, rng)
    how = dict(duration=1e-10, dt=1e-10, forces=forces, tau=tau)
    exact = supple.simulate(model, q, v, method="aba", integrator="semi-implicit", **how)
    some = supple.simulate(model, q, v, method="adaptive", error=0.0, guaranteed=True, **how)
    near((some.final.v - v) / 1e-10, (exact.final.v - v) / 1e-10, 1e-4)


def slider():
    b = ModelBuilder(gravity=(0, 0, 0))
    b.add_body("slider", joint="prismatic", axis=(1, 0, 0), lower=-0.1, upper=0.1, mass=1.0, inertia=np.eye(3))
    return b.build()


@pytest.mark.parametrize(
    "q, v, forces",
    [
        (0.0, 1.0, [supple.Limits(1000.0)]),
        (0.0, 1.0, [supple.Limits(1000.0, damping=60.0)]),
        (0.0, -1.0, [supple.Limits(1000.0, damping=60.0, joints=["slider_joint"])]),
        (0.05, 0.0, [supple.Controller(0, 50.0)]),
        (0.05, 0.0, [supple.Controller(0, 50.0), supple.Controller(0, 0.0, damping=5.0)]),
        (0.05, 0.0, [supple.Controller(0, 500.0, 5.0, 0.2, 0.3, 2.0)]),
        (0.0, 1.0, [supple.Limits(1000.0), supple.Limits(500.0)]),
        (0.05, 0.0, [supple.Spring("slider", (0.0, 0.0, 0.0), 50.0, damping=3.0)]),
        (0.05, 0.0, [supple.Spring("slider", (1.0, 0.3, 0.0), 50.0, length=0.8)]),
    ],
)
def test_a_slider_between_walls(q, v, forces):
    how = dict(duration=0.3, dt=1e-4, every=100, forces=forces)
    exact = supple.simulate(slider(), [q], [v], method="aba", integrator="rk4", **how)
    some = supple.simulate(slider(), [q], [v], method="adaptive", active=1, **how)
    near(some.q, exact.q, 5e-3)
    near(some.v, exact.v, 5e-3)


def test_functions_are_refused_in_words():
    with pytest.raises(supple.StateError, match=r"constant supple\.Controls; exact methods take all forces"):
        supple.simulate(slider(), [0.0], duration=0.1, method="adaptive", forces=[lambda time, q, v: -v])


def test_dampers_of_springs_do_nothing_at_rest():
    how = dict(duration=0.1, dt=0.01, method="quasi-statics")
    some, none = (
        supple.simulate(slider(), [0.0], forces=[supple.Spring(0, (1, 0, 0), 1.0, damping=d)], **how)
        for d in (1.0, 0.0)
    )
    np.testing.assert_array_equal(some.q, none.q)
    assert some.q[-1] != some.q[0]


def test_a_wall_never_pulls():
    """However fast the way back, the damper takes no more than the spring gives."""
    rows = joint_law.limit_rows(slider(), 100.0, 50.0)
    force = joint_law.law_kernel.load()
    for q in np.linspace(-0.3, 0.3, 25):
        for v in np.linspace(-5, 5, 21):
            tau = np.zeros(1)
            force(rows.reshape(-1), np.array([q]), np.array([v]), tau)
            if abs(q) <= 0.1:
                assert tau[0] == 0.0
            else:
                beyond = q - np.sign(q) * 0.1
                assert tau[0] * np.sign(q) <= 0.0
                near(tau[0], min(-100.0 * beyond - 50.0 * v, 0.0) if q > 0 else max(-100.0 * beyond - 50.0 * v, 0.0))


def any_law(rng):
    """A controller with a largest force, and walls on both sides."""
    law = np.zeros(1, joint_law.Law.dtype).view(np.recarray)[0]
    law.stiffness, law.damper = rng.uniform(0, 30, 2) * (rng.random(2) < 0.8)
    law.rest, law.rate = rng.standard_normal(2)
    law.most = rng.uniform(0, 30) if rng.random() < 0.7 else np.inf
    law.lower, law.upper = np.sort(rng.uniform(-1, 1, 2)) if rng.random() < 0.7 else (-np.inf, np.inf)
    law.wall, law.loss = rng.uniform(0, 100, 2)
    return law


@settings(SETTINGS, max_examples=100)
@given(st.integers(0, 2**32 - 1))
def test_slopes_are_those_of_the_force(seed):
    """Central differences of the law where it is linear; where a force is limited, the line through it and zero."""
    rng = np.random.default_rng(seed)
    law = any_law(rng)
    x, u = rng.uniform(-2, 2, 2)
    force = lambda x, u: joint_law.law_force.py_func(law, x, u)  # noqa: E731
    line = lambda x, u: joint_law.law_line.py_func(law, x, u)  # noqa: E731
    f, stiffness, damper, piece = line(x, u)
    near(f, force(x, u), 1e-13)
    e = 1e-5
    around = [(x - e, u), (x + e, u), (x, u - e), (x, u + e)]
    if any(line(*p)[3] != piece for p in around):
        return  # at a corner
    pull = law.stiffness * (law.rest - x) + law.damper * (law.rate - u)
    k, d = law.stiffness, law.damper
    if abs(pull) > law.most:  # its own slopes are zero; those of the line reach zero where the pull does
        near((f - force(*around[1])) / e, stiffness - law.most / abs(pull) * k, 1e-4)
        stiffness, damper = stiffness - law.most / abs(pull) * k, damper - law.most / abs(pull) * d
    near((force(*around[0]) - force(*around[1])) / (2 * e), stiffness, 1e-5)
    near((force(*around[2]) - force(*around[3])) / (2 * e), damper, 1e-5)
    most_k, most_d = joint_law.steepest(np.array([law.tolist()]), 1)
    assert most_k[0] >= stiffness * (1 - 1e-12) and most_d[0] >= damper * (1 - 1e-12)


def dense_part(model, law, x, v, h, q0, tau):
    """A part of an implicit step over dense matrices, in the chart about q0: x and v at its end."""
    moves = chart(model)
    q = moves.point(q0, x)
    tau, slope = tau.copy(), model.damping.copy()
    for row in joint_law.by_name(law).view(np.recarray):
        j = int(row.dof)
        f, stiffness, damper, _ = joint_law.law_line.py_func(row, q[int(row.coordinate)] + h * v[j], v[j])
        tau[j] += f
        slope[j] += damper + h * stiffness
    H = supple.mass_matrix(model, q)
    C = supple.inverse_dynamics(model, q, v, np.zeros(model.nv))  # damping included
    v = v + h * np.linalg.solve(H + h * np.diag(slope), tau - C)
    return x + h * moves.rate(x, q, v), v


@settings(SETTINGS, max_examples=40)
@given(st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_an_implicit_step_solves_the_dense_equations(n, seed):
    """Trees of every joint type under controllers, springs and friction; in compiled code and in Python."""
    rng = np.random.default_rng(seed)
    model = limited_model(rng, n)
    q, v, tau = model.random(rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)
    forces = [f for f in every_kind(model, rng)[0] if isinstance(f, supple.Controller)]
    h, acting = 10.0 ** rng.uniform(-4, -1.5), Dynamics(model, "aba", forces).forces
    law, all_tau, still = acting.law, tau + acting.constant, np.zeros(model.nv)  # motors are constant
    whole = dense_part(model, law, still, v, h, q, all_tau)
    half = dense_part(model, law, still, v, h / 2, q, all_tau)
    half = dense_part(model, law, *half, h / 2, q, all_tau)
    ends = {"order one": half, "order two": [2 * b - a for a, b in zip(whole, half)]}
    for given_as in ({"tau": tau}, {"tau": lambda t, q, v: tau}):
        end = supple.simulate(model, q, v, duration=h, dt=h, integrator="implicit", forces=forces, **given_as).final
        off = []
        for x, u in ends.values():
            at = chart(model).point(q, x)
            off.append(max(np.abs(model.difference(at, end.q)).max() / h, np.abs(u - end.v).max()))
        assert min(off) < 1e-8 * (1 + np.abs(v).max() + np.abs(end.v).max())


@settings(SETTINGS, max_examples=80)
@given(st.integers(0, 2**32 - 1))
def test_work_is_the_integral_of_the_force(seed):
    """Of a controller with a largest force, and walls on both sides, over ways that cross all of them."""
    rng = np.random.default_rng(seed)
    law = any_law(rng)
    x, y = rng.uniform(-2, 2, 2)
    force, n, total = joint_law.law_kernel.load(), 2000, 0.0
    for q in x + (y - x) * (np.arange(n) + 0.5) / n:
        tau = np.zeros(1)
        force(np.array(law.tolist()), np.array([q]), np.zeros(1), tau)
        total += tau[0] * (y - x) / n
    near(joint_law.law_work.py_func(law, x, y), total, 1e-4)
    near(joint_law.law_work.py_func(law, x, y), -joint_law.law_work.py_func(law, y, x), 1e-12)


def test_controllers_and_limits_are_replaced_and_laws_add_up():
    """control and limits say what is from now on; joint_law adds to it. In any order, on any joints."""
    rng = np.random.default_rng(3)
    model = limited_model(rng, 12)
    plain = [j for j in range(12) if model.joints[j].type not in CURVED]
    q = model.integrate(model.neutral(), rng.uniform(-0.7, 0.7, model.nv))
    v = rng.standard_normal(model.nv)
    for moving in (v, 0.0 * v):
        ad = AdaptiveDynamics(model, q, moving, error=0.0, guaranteed=True)
        controllers, walls, more = {}, np.zeros((0, joint_law.LAW)), []
        for _ in range(60):
            what = rng.integers(3)
            joint, k, d, x = int(rng.choice(plain)), *rng.uniform(0, 30, 2), float(rng.standard_normal())
            if what == 0:
                ad.control(joint, k, d, x, rate=0.5, most=10.0)
                controllers[joint] = joint_law.controller_rows(model, joint, k, d, x, 0.5, 10.0)
            elif what == 1:
                ad.limits(k, d)
                walls = joint_law.limit_rows(model, k, d)
            else:
                more.append(joint_law.controller_rows(model, joint, 0.1 * k, 0.1 * d, x))
                ad.joint_law(more[-1])
        law = np.concatenate([*controllers.values(), walls, *more])
        tau = np.zeros(model.nv)
        joint_law.law_kernel.load()(law.reshape(-1), q, moving, tau)
        tau += supple.joint_forces(model, q, moving)
        ad.step(1e-9)
        near((ad.v - moving) / 1e-9, supple.forward_dynamics(model, q, moving, tau), 1e-4)


FEW = settings(SETTINGS, max_examples=20)


@FEW
@given(st.integers(2, 30), st.integers(0, 2**32 - 1))
def test_limits_of_all_joints_are_those_of_each(n, seed):
    rng = np.random.default_rng(seed)
    model = limited_model(rng, n)
    each = [
        joint_law.limit_rows(model, 3.0, 2.0, [j]) for j in range(n) if model.joints[j].type not in CURVED
    ]  # fmt: skip
    np.testing.assert_array_equal(
        joint_law.limit_rows(model, 3.0, 2.0), np.concatenate([np.zeros((0, joint_law.LAW)), *each])
    )
