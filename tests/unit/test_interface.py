"""The public interface as a whole: one list of names; parameters called, ordered and defaulted alike; what calls
return is public; settings hold when they are changed, or refuse it."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pytest

import supple
from supple import AdaptiveDynamics, QuasiStatics, Simulation, StateError, scenes, trees

FUNCTIONS = [name for name in supple.__all__ if inspect.isfunction(getattr(supple, name))]
CLASSES = [
    name
    for name in supple.__all__
    if inspect.isclass(getattr(supple, name)) and not issubclass(getattr(supple, name), Exception)
]
#: Records of a state, which have what they are given, and displacements, which are no state's velocity.
OWN_V = (
    "State",
    "Walker",
    "Impact",
    "Joint",
    "Moving",
    "Rerooted",
    "VirtualWork",
    "Model.integrate",
    "jacobian_derivative",
)


def public_calls() -> Iterator[tuple[str, Any]]:
    """Functions, classes, and their methods and properties."""
    for name in FUNCTIONS:
        yield name, getattr(supple, name)
    for name in CLASSES:
        kind = getattr(supple, name)
        yield name, kind.__init__
        for key in dir(kind):
            part = inspect.getattr_static(kind, key)
            if not key.startswith("_"):
                part = getattr(part, "fget", None) or getattr(part, "func", None) or part
                if inspect.isfunction(part) and inspect.unwrap(part).__module__.startswith("supple."):
                    yield f"{name}.{key}", part


def parameters(call: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(call).parameters)


# --- names ----------------------------------------------------------------------------------------------------------


def test_every_name_is_listed_once_and_is_there():
    stub = Path(supple.__file__).with_suffix(".pyi").read_text()
    lines = [line.split() for line in stub.splitlines() if line.startswith("from ")]
    assert all(words[3] == words[5] for words in lines)  # a re-export, for type checkers
    assert sorted(words[3] for words in lines) == supple.__all__
    assert len(set(supple.__all__)) == len(supple.__all__)
    for name in supple.__all__:
        assert getattr(supple, name) is not None
    assert supple.scenes is scenes and supple.trees is trees


def test_dir_has_the_public_names_and_nothing_else():
    assert {"poses", "Poses", "Simulation", "scenes", "trees"} <= set(dir(supple))
    assert set(dir(supple)) == {*supple.__all__, "__version__"}
    with pytest.raises(AttributeError, match="no attribute 'simulation'"):
        _ = supple.simulation  # a class now


def test_importing_supple_loads_nothing_else():
    loaded = (
        "import sys, supple; dir(supple); print([m for m in sys.modules if m.startswith('supple.') or m == 'numpy'])"
    )
    out = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


# --- parameters and what is returned --------------------------------------------------------------------------------


def test_frame_has_one_default():
    found = {name: p["frame"].default for name, call in public_calls() if "frame" in (p := parameters(call))}
    del found["Motions"]  # a result, which says what it has
    assert len(found) >= 7 and set(found.values()) == {"world"}, found


def test_v_and_tau_may_be_left_out_wherever_a_state_is_taken():
    seen = []
    for name, call in public_calls():
        given = parameters(call)
        for x in ("v", "tau", "wrenches"):
            if x in given and not name.startswith(OWN_V) and len(given) > 2:
                seen.append(name)
                assert given[x].default is None, f"{name}: {x}"
    assert {"forward_dynamics", "velocities", "kinetic_energy", "impact", "simulate", "to_mujoco"} <= set(seen)


def test_states_are_given_in_one_order():
    order = ("model", "q", "v", "tau", "a", "wrenches")
    for name, call in public_calls():
        by_place = [p.name for p in parameters(call).values() if p.kind is p.POSITIONAL_OR_KEYWORD and p.name in order]
        if name.startswith(("State", "wrench")):  # of a state, and of a force on a body, where q comes late
            continue
        assert by_place == [x for x in order if x in by_place], name


def test_zeros_may_be_left_out():
    model = trees.chain(6)
    q, zeros = model.random(1), np.zeros(model.nv)
    for method in ("aba", "crba", "virtual-work", "dca", "dense"):
        wanted = supple.forward_dynamics(model, q, zeros, method=method)
        np.testing.assert_array_equal(supple.forward_dynamics(model, q, method=method), wanted)
    batch = np.stack([q, model.random(2)])
    np.testing.assert_allclose(supple.forward_dynamics(model, batch), supple.forward_dynamics(model, batch, zeros))
    np.testing.assert_array_equal(supple.inverse_dynamics(model, q), supple.bias_force(model, q))
    assert supple.kinetic_energy(model, q) == 0.0 and not supple.momentum(model, q).any()
    assert not supple.velocities(model, q).spatial.any() and not supple.accelerations(model, q).spatial.any()
    np.testing.assert_array_equal(supple.virtual_work(model, q).wrenches, supple.virtual_work(model, q, zeros).wrenches)
    assert not supple.to_mujoco(model, q)[1].any()
    for call in (supple.forward_dynamics, supple.velocities, supple.kinetic_energy):
        with pytest.raises(StateError, match="model must be"):
            call("no model", q)


def classes_in(hint: Any) -> Iterator[type]:
    if get_origin(hint) is not None:
        if isinstance(get_origin(hint), type):
            yield get_origin(hint)
        for part in get_args(hint):
            yield from classes_in(part)
    elif isinstance(hint, type):
        yield hint


def test_what_a_public_call_returns_is_public():
    public = {getattr(supple, name) for name in supple.__all__ if isinstance(getattr(supple, name), type)}
    hidden: set[tuple[str, type]] = set()
    for name, call in public_calls():
        hints = get_type_hints(inspect.unwrap(call))
        hidden |= {(name, kind) for kind in classes_in(hints.get("return"))}
    for kind in public:
        if is_dataclass(kind) and kind not in (supple.Sample, supple.TopJoint):  # opaque ones
            hints = get_type_hints(kind)
            fields = [x for name, x in hints.items() if not name.startswith("_")]
            hidden |= {(kind.__name__, part) for hint in fields for part in classes_in(hint)}
    ours = {(name, kind.__name__) for name, kind in hidden if kind.__module__.startswith("supple.")}
    assert not {(name, kind) for name, kind in ours if kind not in supple.__all__}


def test_simulate_takes_the_settings_of_simulation():
    own = {"record", "resume", "overwrite", "progress"}
    simulate, run = parameters(supple.simulate), parameters(Simulation)
    assert set(simulate) - set(run) == own
    assert all(simulate[name] == p for name, p in run.items() if name != "duration")
    assert simulate["duration"].default is inspect.Parameter.empty
    source = inspect.unwrap(supple.simulate).__code__.co_varnames  # nor is any listed twice
    assert not {"dt", "integrator", "method", "events"} & set(source)


# --- answers by name ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def framed() -> supple.Model:
    b = supple.ModelBuilder("framed")
    b.add_body("arm", axis=(0, 1, 0), mass=1.0, com=(0, 0, 0.2), inertia=(0.02, 0.02, 0.01))
    b.add_body("hand", parent="arm", joint="ball", position=(0, 0, 0.5), mass=1.0, inertia=(0.02, 0.03, 0.01))
    turn = trees.chain(1, seed=4).rotation[0]
    b.add_frame("tip", "hand", position=(0.1, 0.2, 0.3), rotation=turn)
    b.add_frame("base", None, position=(1.0, 2.0, 3.0), rotation=turn.T)
    return b.build()


def test_poses_of_bodies_and_frames_by_name(framed):
    q = framed.random(0)
    all_of_them, frame = supple.poses(framed, q), framed.frames["tip"]
    R, r = all_of_them
    for key in ("hand", 1):
        np.testing.assert_array_equal(all_of_them[key].rotation, R[1])
        np.testing.assert_array_equal(all_of_them[key].position, r[1])
    tip = all_of_them["tip"]
    np.testing.assert_allclose(tip.rotation, R[1] @ frame.rotation, atol=1e-15)
    np.testing.assert_allclose(tip.position, r[1] + R[1] @ frame.position, atol=1e-15)
    base = all_of_them["base"]
    np.testing.assert_array_equal(base.position, [1, 2, 3])
    many = supple.poses(framed, np.stack([q] * 3))
    for name in ("hand", "tip", "base"):
        one, three = all_of_them[name], many[name]
        np.testing.assert_allclose(three.rotation, np.stack([one.rotation] * 3), atol=1e-15)
        np.testing.assert_allclose(three.position, np.stack([one.position] * 3), atol=1e-15)
    again = pickle.loads(pickle.dumps(all_of_them))
    np.testing.assert_array_equal(again["tip"].position, tip.position)
    for wrong in ("tipp", 2, None, 0.5):
        with pytest.raises(supple.ModelError):
            _ = all_of_them[wrong]


@pytest.mark.parametrize("frame", ["world", "body"])
def test_motions_of_frames_by_name(framed, frame):
    """Velocities against Jacobians; accelerations against differences of velocities."""
    rng = np.random.default_rng(1)
    q, v, a = framed.random(rng), *rng.standard_normal((2, framed.nv))
    moves = supple.velocities(framed, q, v, frame)
    for name in ("arm", "hand", "tip"):
        J = supple.jacobian(framed, q, name, frame=frame)
        np.testing.assert_allclose(moves[name], J @ v, atol=1e-13)
    np.testing.assert_array_equal(moves["hand"], moves.spatial[1])
    np.testing.assert_array_equal(moves[1], np.concatenate([moves.angular[1], moves.linear[1]]))
    assert not moves["base"].any()
    np.testing.assert_array_equal(np.asarray(moves), moves.spatial)
    many = supple.velocities(framed, np.stack([q, q]), np.stack([v, 2 * v]), frame)
    np.testing.assert_allclose(many["tip"], [moves["tip"], 2 * moves["tip"]], atol=1e-13)
    assert many["base"].shape == (2, 6)

    found, h = supple.accelerations(framed, q, v, a, frame)["tip"], 1e-5

    def tip(t):
        """The velocity of the tip along the world's axes, and where it is."""
        at = framed.integrate(q, v + 0.5 * t * a, t)
        return supple.velocities(framed, at, v + t * a)["tip"]

    rate = (8 * (tip(h) - tip(-h)) - tip(2 * h) + tip(-2 * h)) / (12 * h)
    V = tip(0.0)
    rate[3:] -= np.cross(V[:3], V[3:])  # spatial: of the field, not of the particle
    R = supple.poses(framed, q)["tip"].rotation
    wanted = rate if frame == "world" else np.concatenate([R.T @ rate[:3], R.T @ rate[3:]])
    np.testing.assert_allclose(found, wanted, atol=1e-7)


@pytest.mark.parametrize("kind", [QuasiStatics, AdaptiveDynamics])
def test_steppers_answer_as_poses_does(framed, kind):
    q = framed.random(3)
    body, wanted = kind(framed, q), supple.poses(framed, q)
    found = body.poses()
    assert type(found) is supple.Poses
    np.testing.assert_allclose(found.rotation, wanted.rotation, atol=1e-14)
    for name in ("arm", "tip", "base"):
        np.testing.assert_allclose(found[name].position, wanted[name].position, atol=1e-14)
    some = body.poses(["tip", "base", 0])
    assert some.position.shape == (3, 3)
    for name in ("tip", "base", "arm", 0):
        np.testing.assert_allclose(some[name].rotation, wanted[name].rotation, atol=1e-14)
        np.testing.assert_allclose(some[name].position, wanted[name].position, atol=1e-14)
    np.testing.assert_allclose(some.position[0], wanted["tip"].position, atol=1e-14)
    with pytest.raises(supple.ModelError, match="not among the 3"):
        _ = some["hand"]


@pytest.mark.parametrize("kind", [QuasiStatics, AdaptiveDynamics])
def test_what_is_applied_is_a_public_force(kind):
    body = kind(trees.chain(5))
    push, spring = body.apply("link4", force=(0, 0, 1)), body.spring(2, (1, 0, 0), 5.0)
    assert type(push) is supple.Push and type(spring) is supple.Spring
    assert (push.body, push.frame, spring.body, spring.stiffness) == ("link4", "world", "link2", 5.0)
    push.set(force=(0, 0, 2))
    spring.set(anchor=(0, 1, 0))
    assert tuple(push.force) == (0, 0, 2) and tuple(spring.anchor) == (0, 1, 0)
    assert "force [0, 0, 2]" in repr(push)
    with pytest.raises(AttributeError):
        push.force = (1, 0, 0)  # type: ignore[misc]
    push.remove()
    assert repr(push).endswith(", removed>")
    with pytest.raises(StateError, match="acts on nothing yet"):
        supple.Push("link4", force=(0, 0, 1)).set(force=(0, 0, 2))


# --- settings -------------------------------------------------------------------------------------------------------


def chain_and_q() -> tuple[supple.Model, np.ndarray]:
    model = trees.chain(30, gravity=(0, 0, -9.81), seed=2)
    return model, model.random(2)


#: Settings of adaptive dynamics that may be changed: made with the first, set to the second.
CHANGES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (dict(active=5), dict(active=9)),
    (dict(active=5), dict(error=0.4)),
    (dict(error=0.4), dict(active=6)),
    (dict(error=0.4), dict(error=0.02)),
    (dict(error=0.4), dict(measure="absolute-linkage")),
    (dict(error=0.4, measure="absolute-linkage"), dict(measure="relative-linkage")),
    (dict(active=5), dict(update_every=3)),
    (dict(active=5), dict(acceleration_region=20)),
    (dict(active=5), dict(acceleration_region=0.7)),
    (dict(active=5, acceleration_region=20), dict(acceleration_region=None)),
    (dict(error=0.15), dict(guaranteed=True)),
    (dict(error=0.15, guaranteed=True), dict(guaranteed=False)),
    (dict(error=0.15, guaranteed=True), dict(measure="absolute-linkage")),
    (dict(active=5), dict(weights=np.linspace(1, 9, 30))),
    (dict(active=5), dict(velocity_weights=np.linspace(1, 9, 30))),
    (dict(active=5), dict(check_energy=False)),
]


@pytest.mark.parametrize(("first", "then"), CHANGES, ids=[f"{[*a]} then {[*b]}" for a, b in CHANGES])
def test_a_setting_of_adaptive_dynamics_that_is_changed_holds(first, then):
    """What is changed before the first step goes on as what was made so."""
    model, q = chain_and_q()
    options = {**first, **then}
    for other, one in (("active", "error"), ("error", "active")):
        if one in then:
            options.pop(other, None)
    changed, made = AdaptiveDynamics(model, q, **first), AdaptiveDynamics(model, q, **options)
    for name, value in then.items():
        setattr(changed, name, value)
        np.testing.assert_array_equal(getattr(changed, name), value)
    assert changed.error_measure == made.error_measure
    for _ in range(45):
        changed.step(1e-3)
        made.step(1e-3)
    np.testing.assert_array_equal(changed.q, made.q)
    assert changed.active_joints.tolist() == made.active_joints.tolist()
    assert (changed.update_every, changed.stats.certified) == (made.update_every, made.stats.certified)


def test_update_every_holds_while_it_goes_on():
    model, q = chain_and_q()
    ad = AdaptiveDynamics(model, q, active=5, update_every=20)
    ad.run(0.04, 1e-3)
    before = ad.stats.updates
    ad.update_every = 3
    ad.run(0.03, 1e-3)
    assert ad.stats.updates - before in (10, 11)


def test_guaranteed_holds_while_it_goes_on_and_is_refused_without_an_error():
    model, q = chain_and_q()
    ad = AdaptiveDynamics(model, q, error=0.5, update_every=7)
    ad.run(0.02, 1e-3)
    assert ad.error_measure == "relative-linkage velocity" and not ad.stats.certified
    ad.guaranteed = True
    for measure, error in (("absolute-linkage", 3.0), ("relative-linkage", 0.02)):
        ad.error, ad.measure = error, measure
        unit = " [rad/s^2]" if measure == "absolute-linkage" else ""
        assert ad.error_measure == f"{measure} acceleration{unit}" and ad.update_every == 1
        for _ in range(20):
            ad.step(1e-4)
            assert ad.stats.certified and ad.stats.error == ad.stats.acceleration_error <= error
    ad.guaranteed = False
    assert ad.update_every == 7 and not ad.stats.certified
    ad.active = 3
    with pytest.raises(StateError, match="set error first"):
        ad.guaranteed = True
    with pytest.raises(StateError, match="fixed by a list"):
        AdaptiveDynamics(model, q, active=[1, 2]).guaranteed = True


def test_check_energy_may_be_switched_off_and_on():
    model, q = chain_and_q()
    ad = AdaptiveDynamics(model, q, check_energy=False)
    ad.spring(29, (9, 9, 9), 1e7)
    ad.step(1e-3)
    ad.check_energy = True
    with pytest.raises(supple.SimulationError):
        ad.run(0.1, 1e-3)


def test_settings_of_quasi_statics_hold():
    model, q = chain_and_q()
    qs, made = QuasiStatics(model, q), QuasiStatics(model, q, error=0.3, measure="absolute-joint")
    qs.error, qs.measure = 0.3, "absolute-joint"
    a, b = qs.solve(), made.solve()
    assert a.joints.tolist() == b.joints.tolist() and a.error == b.error <= 0.3
    assert a.measure == "absolute-joint acceleration [rad/s^2]"
    qs.error = 0.0
    assert qs.solve().error < 1e-9


READ_ONLY: dict[Any, tuple[str, ...]] = {
    QuasiStatics: ("model", "order", "q", "time", "steps"),
    AdaptiveDynamics: (
        "model", "order", "q", "v", "time", "active_joints", "fixed", "error_measure", "stats", "energy",
    ),
    Simulation: (
        "method", "integrator", "model", "dt", "every", "duration", "forces", "tau", "joint_wrenches", "joint_forces",
        "rtol", "atol",
        "time", "stepper", "push_scale", "settings",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", READ_ONLY)
def test_what_cannot_be_set_says_what_to_do(kind):
    body = kind(trees.chain(3))
    for name in READ_ONLY[kind]:
        before = repr(getattr(body, name))
        with pytest.raises(StateError, match=f"^{name} of {kind.__name__} cannot be set: .{{8,}}"):
            setattr(body, name, 1)
        assert repr(getattr(body, name)) == before


@pytest.mark.parametrize("kind", READ_ONLY)
def test_every_setting_is_an_attribute_that_holds_or_refuses(kind):
    """None can be assigned to without effect."""
    for name, p in parameters(kind).items():
        if p.kind is p.VAR_KEYWORD or (kind, name) == (Simulation, "q") or (kind, name) == (Simulation, "v"):
            continue
        if (kind, name) == (Simulation, "events"):  # what happened, a list
            continue
        part = inspect.getattr_static(kind, name)
        assert isinstance(part, property) and part.fset is not None, name


def test_a_run_may_stop_checking_energy():
    b = supple.ModelBuilder()
    b.add_body("m", joint="prismatic", axis=(1, 0, 0), mass=1.0)
    how = dict(dt=0.1, duration=3.0, integrator="euler", forces=[supple.Spring("m", (0, 0, 0), 400.0)])
    with pytest.raises(supple.SimulationError, match="energy grows"):
        list(Simulation(b.build(), [1.0], **how))
    run = Simulation(b.build(), [1.0], **how)
    run.check_energy = False
    assert len(list(run)) == 31 and run.time == 3.0


# --- errors and their measures --------------------------------------------------------------------------------------


def test_the_error_of_a_run_is_in_the_measure_in_which_it_was_set(tmp_path):
    model, q = chain_and_q()
    cases = {
        "relative-joint acceleration": dict(method="quasi-statics", error=1e-3),
        "absolute-linkage acceleration [rad/s^2]": dict(method="quasi-statics", error=5.0, measure="absolute-linkage"),
        "relative-linkage velocity": dict(method="adaptive", error=0.1),
        "relative-linkage acceleration": dict(method="adaptive", error=0.1, guaranteed=True),
        "absolute-linkage velocity [rad/s]": dict(method="adaptive", error=0.5, measure="absolute-linkage"),
        "absolute-linkage acceleration [rad/s^2] ": dict(
            method="adaptive", error=5.0, guaranteed=True, measure="absolute-linkage"
        ),
        "weighted relative-linkage velocity": dict(method="adaptive", error=0.1, velocity_weights=[2.0] * 30),
    }
    for k, (measure, how) in enumerate(cases.items()):
        for record in (None, tmp_path / f"{k}.h5"):
            r = supple.simulate(model, q, duration=0.05, dt=1e-3, record=record, **how)
            assert r.measure == measure.strip() and (r.error <= how["error"]).all() and r.error.max() > 0.0
    assert supple.simulate(model, q, duration=0.01).measure is None


def test_a_camera_makes_errors_pixels():
    model, q = chain_and_q()
    ad = AdaptiveDynamics(model, q, error=10.0)
    ad.look_from((10, 0, 0))
    assert ad.error_measure == "on-screen relative-linkage velocity"
    ad.measure = "absolute-linkage"
    assert ad.error_measure == "on-screen absolute-linkage velocity [px/s]"
    ad.set_weights()
    assert ad.error_measure == "absolute-linkage velocity [rad/s]"


def test_energy_is_kinetic_and_potential():
    model, q = chain_and_q()
    ad = AdaptiveDynamics(model, q)
    ad.run(0.05, 1e-3)
    assert ad.energy == pytest.approx(ad.kinetic + ad.potential, rel=1e-14)
    assert ad.kinetic == pytest.approx(supple.kinetic_energy(model, ad.q, ad.v), rel=1e-9)
    r = supple.simulate(model, q, duration=0.05)
    np.testing.assert_array_equal(r.energy, r.kinetic + r.potential)
    step = supple.walk(scenes.compass(), 1)[0]
    np.testing.assert_array_equal(step.energy, step.kinetic + step.potential)
    assert len(step.times) == len(step.q) == len(step.energy)


def test_recordings_from_before_are_read_in_the_words_of_now():
    from supple.adaptive.measures import SQUARED
    from supple.simulating.names import measure_of, today

    old = {"method": "aba", "integrator": "adaptive", "rtol": 1e-9}
    assert today(old) == old | {"integrator": "dop853"}
    assert today({"method": "adaptive", "integrator": ""}) == {"method": "adaptive", "integrator": ""}
    assert measure_of({"method": "adaptive"}) == SQUARED
    assert (
        measure_of({"method": "quasi-statics", "measure": "absolute-joint"}) == "absolute-joint acceleration [rad/s^2]"
    )
