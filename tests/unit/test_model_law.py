"""Springs, dry friction and actuators that a model has itself: against closed forms, MuJoCo, and after a change of
root or a recording."""

from __future__ import annotations

import dataclasses
import logging

import numpy as np
import pytest

import supple
from supple.integrating.model_law import SLIP, STICK, slip_speeds

G = 9.81


def wheel(inertia=0.5, gravity=(0, 0, 0), **joint):
    """A body that turns about a horizontal axis through a point off its centre of mass, if there is gravity."""
    b = supple.ModelBuilder(gravity=gravity)
    b.add_body("wheel", joint="revolute", axis=(0, 1, 0), mass=1.0, inertia=(inertia,) * 3, joint_name="axle", **joint)
    return b


# --- closed forms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["aba", "crba", "dca", "adaptive"])
def test_a_spring_swings_about_its_rest(method):
    k, inertia, rest = 8.0, 0.5, 0.3
    model = wheel(inertia, stiffness=k, rest=rest).build()
    run = supple.simulate(model, [0.8], duration=1.0, dt=1e-3, method=method)
    w = np.sqrt(k / inertia)
    np.testing.assert_allclose(run.q[:, 0], rest + 0.5 * np.cos(w * run.times), atol=2e-6)
    if method != "adaptive":
        np.testing.assert_allclose(run.energy, 0.5 * k * 0.25, rtol=1e-6)


@pytest.mark.parametrize(("friction", "inertia"), [(0.5, 0.5), (3.0, 0.01), (1e-4, 2.0)])
def test_friction_stops_a_wheel_as_coulomb_says_and_then_by_its_slope(friction, inertia):
    """v = v0 - F t / M down to the slip speed v_s; from there v_s exp(-F t / (M v_s))."""
    model = wheel(inertia, friction=friction).build()
    slow = float(slip_speeds(model)[0])
    assert slow == max(SLIP, STICK * friction / inertia)
    v0 = slow + 0.4 * friction / inertia
    run = supple.simulate(model, v=[v0], duration=0.4 + 5 * slow * inertia / friction, dt=1e-4, check_energy=True)
    after = run.times - 0.4
    wanted = np.where(
        after < 0, v0 - friction / inertia * run.times, slow * np.exp(-friction / (inertia * slow) * after)
    )
    np.testing.assert_allclose(run.v[:, 0], wanted, atol=2e-3 * slow + 1e-12)


@pytest.mark.parametrize("method", ["aba", "adaptive"])
def test_friction_holds_what_is_lighter_and_lets_slip_what_is_heavier(method):
    b = supple.ModelBuilder(gravity=(0, 0, -G))
    b.add_body("block", joint="prismatic", axis=(0, 0, 1), mass=2.0, friction=30.0)
    model = b.build()
    held = supple.simulate(model, duration=0.5, dt=1e-3, method=method)
    creep = slip_speeds(model)[0] * 2 * G / 30.0
    np.testing.assert_allclose(held.final.v, -creep, rtol=1e-6)
    assert abs(held.final.q[0]) < 0.51 * creep, "it creeps, and no more"
    slips = dataclasses.replace(model, friction=np.array([12.0]))
    falls = supple.simulate(slips, duration=0.5, dt=1e-3, method=method)
    a = 12.0 / 2.0 - G
    np.testing.assert_allclose(falls.final.v, a * 0.5, rtol=3e-3)


def test_friction_of_a_light_joint_does_not_tremble():
    """Its slope is as steep as steps of the default length allow, however light the joint is."""
    for inertia in (1e-6, 1e-3, 0.1):
        for integrator in ("euler", "semi-implicit", "rk4"):
            model = wheel(inertia, friction=0.1).build()
            run = supple.simulate(model, v=[0.5 * 1e-3 * 0.1 / inertia], duration=0.05, dt=1e-3, integrator=integrator)
            assert abs(run.final.v[0]) < 1e-6 * abs(run.v[0, 0])
            assert (run.v[:, 0] * np.sign(run.v[0, 0]) > -1e-12).all(), "it does not turn back"


def test_friction_never_adds_energy():
    rng = np.random.default_rng(2)
    model = supple.trees.chain(6)
    model = dataclasses.replace(model, friction=rng.uniform(0, 2, model.nv))
    run = supple.simulate(model, model.random(rng), rng.standard_normal(model.nv), duration=1.0, dt=1e-3)
    assert (np.diff(run.energy) < 1e-6 * np.abs(run.energy).max()).all()
    assert run.energy[-1] < run.energy[0]


def test_adaptive_runs_with_all_joints_move_as_exact_ones():
    """A chain with springs and friction that falls, slips and sticks, for thousands of steps."""
    n = 12
    model = supple.trees.chain(n)
    rest = np.linspace(-0.5, 0.5, n)
    model = dataclasses.replace(model, friction=np.full(n, 0.3), stiffness=np.full(n, 2.0), rest=rest)
    q = np.linspace(0.1, 0.4, n)
    exact = supple.simulate(model, q, duration=1.0, dt=2.5e-4)
    some = supple.simulate(model, q, duration=1.0, dt=2.5e-4, method="adaptive", active=n)
    assert np.abs(exact.q[-1] - q).max() > 0.1
    np.testing.assert_allclose(some.q, exact.q, atol=2e-3)


# --- actuators ------------------------------------------------------------------------------------------------------


def servo(**how):
    b = wheel()
    b.add_actuator(supple.Actuator("servo", "axle", **how))
    return b.build()


def test_kinds_of_actuators():
    assert servo(gain=2.0).actuators["servo"].kind == "motor"
    assert servo(gain=2.0, stiffness=2.0, damping=1.0).actuators["servo"].kind == "position"
    assert servo(gain=2.0, damping=2.0).actuators["servo"].kind == "velocity"
    assert repr(servo().actuators) == "<1 actuator: servo>"
    assert repr(servo(gain=2.0).actuators["servo"]) == "<Actuator 'servo': motor at joint 'axle', gain 2>"


@pytest.mark.parametrize("method", ["aba", "adaptive"])
def test_a_motor_accelerates_evenly(method):
    model = servo(gain=3.0, control_range=(-0.5, 0.5))
    for control, torque in ((0.2, 0.6), (4.0, 1.5), (-4.0, -1.5)):
        run = supple.simulate(model, duration=0.5, dt=1e-3, method=method, forces=[supple.Controls({"servo": control})])
        np.testing.assert_allclose(run.final.v, torque / 0.5 * 0.5, rtol=1e-9)


def test_a_velocity_servo_approaches_its_speed():
    model = servo(gain=2.0, damping=2.0)
    run = supple.simulate(model, duration=1.0, dt=1e-3, forces=[supple.Controls([1.5])])
    np.testing.assert_allclose(run.v[:, 0], 1.5 * (1 - np.exp(-4.0 * run.times)), atol=1e-9)


def test_controls_may_be_a_function_of_time_and_state():
    """A torque that grows with time: q = c t^3 / 6."""
    model = servo(gain=2.0)
    how = dict(duration=1.0, dt=1e-2)
    for function in (lambda t, q, v: [t], lambda t, q, v, model: {"servo": t}):
        run = supple.simulate(model, forces=[supple.Controls(function)], **how)
        np.testing.assert_allclose(run.q[:, 0], 4.0 * run.times**3 / 6, atol=1e-12)
    aimed = servo(gain=50.0, stiffness=50.0, damping=5.0, bias=3.0, force_range=(-1.0, 8.0))
    run = supple.simulate(aimed, forces=[supple.Controls(lambda t, q, v: {"servo": 1.0})], **how)
    np.testing.assert_allclose(run.q, supple.simulate(aimed, forces=[supple.Controls([1.0])], **how).q, atol=1e-14)


def test_adaptive_controls_are_set_at_any_time():
    model = servo(gain=3.0, stiffness=3.0, force_range=(-1.0, 2.0))
    body = supple.AdaptiveDynamics(model)
    body.torque("axle", 0.25)
    body.controls([0.5])
    body.step(1e-6)
    np.testing.assert_allclose(body.v, (1.5 + 0.25) / 0.5 * 1e-6, rtol=1e-6)
    body.controls({})
    body.torque("axle", 0.0)
    before = body.v.copy()
    body.step(1e-6)
    np.testing.assert_allclose(body.v - before, 0.0, atol=1e-10)


def test_what_controls_refuse():
    model = servo()
    for bad, said in (
        ({"serve": 1.0}, "did you mean 'servo'"),
        ({"servo": np.nan}, "the control of actuator 'servo'"),
        ([1.0, 2.0], "one for each actuator"),
        ("x", "controls"),
    ):
        with pytest.raises(supple.StateError, match=said):
            supple.simulate(model, duration=0.1, forces=[supple.Controls(bad)])
    with pytest.raises(supple.StateError, match="once"):
        supple.simulate(model, duration=0.1, forces=[supple.Controls([1]), supple.Controls([2])])
    with pytest.raises(supple.StateError, match="does not take"):
        supple.simulate(model, duration=0.1, method="adaptive", forces=[supple.Controls(lambda t, q, v: [1])])
    with pytest.raises(supple.StateError, match="too large"):
        supple.simulate(servo(gain=1e300, stiffness=1e-10), duration=0.1, forces=[supple.Controls([1e50])])


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (dict(gain=np.inf), "gain"),
        (dict(stiffness=-1.0), "stiffness"),
        (dict(damping=np.nan), "damping"),
        (dict(control_range=(1.0, -1.0)), "control_range"),
        (dict(force_range=(-np.inf, 1.0)), "force_range"),
        (dict(force_range=(np.nan, 1.0)), "force_range"),
        (dict(force_range=1.0), "force_range"),
        (dict(name=3), "name"),
    ],
)
def test_what_an_actuator_refuses(how, said):
    with pytest.raises(supple.ModelError, match=said):
        supple.Actuator(**(dict(name="a", joint="b") | how))


def test_where_actuators_are_refused():
    b = wheel()
    b.add_body("ball", "wheel", "ball", mass=1.0, inertia=(1, 1, 1))
    for name, joint, said in (("a", "axel", "no joint 'axel'"), ("a", "ball_joint", "more than one degree")):
        model = b.build()
        with pytest.raises(supple.ModelError, match=said):
            dataclasses.replace(model, actuator_list=(supple.Actuator(name, joint),))
    with pytest.raises(supple.ModelError, match="two actuators"):
        dataclasses.replace(b.build(), actuator_list=(supple.Actuator("a", "axle"),) * 2)
    for bad in (None, ["x"], {}):
        with pytest.raises(supple.ModelError, match="actuator_list"):
            dataclasses.replace(b.build(), actuator_list=bad)
    with pytest.raises(supple.ModelError):
        b.add_actuator("x")


# --- against MuJoCo -------------------------------------------------------------------------------------------------

ARM = """<mujoco><compiler angle="radian"/><option timestep="0.0005" integrator="RK4"/>
<default><geom contype="0" conaffinity="0" type="capsule" size=".05"/></default>
<worldbody><body name="a"><joint name="j" axis="0 1 0" stiffness="8" springref=".3" damping=".1" frictionloss="{loss}"/>
<geom fromto="0 0 0 .5 0 0"/>
<body name="b" pos=".5 0 0"><joint name="k" axis="0 1 0" ref=".1" armature=".01"/><geom fromto="0 0 0 .5 0 0"/>
<body name="c" pos=".5 0 0"><joint name="l" type="slide" axis="1 0 0" damping="1" stiffness="300"/>
<geom type="sphere"/></body></body></body></worldbody>
<actuator><position name="p" joint="k" kp="40" kv="2" gear="1.5" ctrlrange="-1 1" forcerange="-6 20"/>
<velocity name="w" joint="l" kv="5" gear="-2"/><motor name="m" joint="j" gear="3"/></actuator></mujoco>"""


@pytest.mark.parametrize(("loss", "near"), [(0.0, 1e-8), (0.3, 1e-3)])
def test_a_run_is_mujocos(tmp_path, loss, near):
    """An arm with springs and three kinds of actuators; with dry friction, which turns around, less nearly."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "arm.xml"
    path.write_text(ARM.format(loss=loss))
    model = supple.load(path)
    theirs = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    controls = {"p": 0.8, "w": 0.2, "m": 1.5}
    data.ctrl[:] = list(controls.values())
    data.qpos[:] = 0.0
    run = supple.simulate(model, duration=1.0, dt=5e-4, forces=[supple.Controls(controls)])
    wanted = [data.qpos.copy()]
    for _ in range(2000):
        mujoco.mj_step(theirs, data)
        wanted.append(data.qpos.copy())
    assert np.ptp(wanted, axis=0).min() > 0.01, "everything moves"
    np.testing.assert_allclose(run.q, wanted, atol=near)


# --- another root, recordings, copies -------------------------------------------------------------------------------


def sprung_arm():
    b = supple.ModelBuilder("arm")
    common = dict(axis=(0, 1, 0), mass=1.0, com=(0, 0, 0.2), inertia=(0.1, 0.1, 0.01))
    b.add_body("upper", joint="free", **(common | {"axis": (0, 0, 1)}))
    b.add_body("fore", "upper", joint_name="elbow", position=(0, 0, 1), stiffness=7.0, rest=0.4, friction=0.3, **common)
    b.add_body("hand", "fore", "universal", axis2=(1, 0, 0), position=(0, 0, 0.5), joint_name="wrist",
               stiffness=(3.0, 5.0), rest=(0.1, -0.2), **common)  # fmt: skip
    b.add_actuator(supple.Actuator("biceps", "elbow", gain=4.0, stiffness=4.0, damping=0.5, force_range=(-1.0, 3.0)))
    return b.build()


def test_springs_friction_and_actuators_follow_a_change_of_root():
    model, rng = sprung_arm(), np.random.default_rng(0)
    q = model.integrate(model.neutral(), 0.3 * rng.standard_normal(model.nv))
    v = rng.standard_normal(model.nv)
    new = supple.reroot(model, q, v, body="hand", joint="free")
    assert new.model.actuators["biceps"] == model.actuators["biceps"]
    there = supple.joint_forces(model, q, v, {"biceps": 0.5})
    assert np.abs(there[6:]).min() > 0.05
    np.testing.assert_allclose(supple.joint_forces(new.model, new.q, new.v, [0.5]), new.forces(there), atol=1e-12)


def test_an_actuator_of_the_old_root_is_gone_and_the_report_says_so():
    b = wheel()
    b.add_body("other", "wheel", position=(1, 0, 0), axis=(0, 1, 0), mass=1.0, inertia=(1, 1, 1))
    b.add_actuator(supple.Actuator("motor", "axle"))
    new = supple.reroot(b.build(), [0.1, 0.2], body="other", axis=(0, 1, 0))
    assert not new.model.actuators
    assert any("without its actuators" in r.message for r in new.model.report)


def test_a_recording_has_them_and_is_resumed_with_them(tmp_path):
    model = sprung_arm()
    how = dict(dt=1e-3, forces=[supple.Controls({"biceps": 0.7})])
    whole = supple.simulate(model, duration=0.2, **how)
    path = tmp_path / "run.h5"
    supple.simulate(model, duration=0.1, record=path, **how)
    kept = supple.load_run(path).model
    assert kept.actuator_list == model.actuator_list
    for name in ("stiffness", "rest", "friction"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(model, name))
    resumed = supple.simulate(model, duration=0.2, record=path, resume=True, dt=1e-3, forces=[supple.Controls([0.7])])
    np.testing.assert_array_equal(resumed.q, whole.q)
    with pytest.raises(supple.RecordingError, match=r"0\.7"):
        supple.simulate(model, duration=0.3, record=path, resume=True, dt=1e-3, forces=[supple.Controls([0.1])])
    other = dataclasses.replace(model, actuator_list=(dataclasses.replace(model.actuators["biceps"], gain=5.0),))
    with pytest.raises(supple.RecordingError, match="different in actuators"):
        supple.simulate(other, duration=0.3, record=path, resume=True, **how)


def test_quasi_statics_says_that_it_does_not_know_them(caplog):
    with caplog.at_level(logging.WARNING, "supple"):
        supple.simulate(sprung_arm(), duration=1e-3, dt=1e-3, method="quasi-statics")
    assert "do not act" in caplog.text


def test_joint_forces_of_batches():
    """Each state of a batch as alone; q or v may be shared; an empty batch is one."""
    b = supple.ModelBuilder()
    b.add_body("a", mass=1.0, com=(0.1, 0, 0), inertia=np.eye(3), stiffness=3.0, friction=0.2)
    b.add_body("c", "a", mass=1.0, com=(0.1, 0, 0), inertia=np.eye(3), stiffness=1.0)
    b.add_actuator(supple.Actuator("motor", "c_joint", gain=2.0))
    model, rng = b.build(), np.random.default_rng(0)
    q, v, controls = rng.normal(size=(5, 2)), rng.normal(size=(5, 2)), {"motor": 0.5}
    forces = supple.joint_forces(model, q, v, controls)
    alone = np.array([supple.joint_forces(model, x, u, controls) for x, u in zip(q, v)])
    np.testing.assert_array_equal(forces, alone)
    np.testing.assert_array_equal(supple.joint_forces(model, q[0], v, controls)[0], alone[0])
    np.testing.assert_array_equal(supple.joint_forces(model, q)[3], supple.joint_forces(model, q[3]))
    assert supple.joint_forces(model, np.zeros((0, 2))).shape == (0, 2)
    for wrong in ((q, v[:3]), (q[None], v), (q[:, :1], v)):
        with pytest.raises(supple.StateError):
            supple.joint_forces(model, *wrong)
