"""What adaptive dynamics refuses leaves it as it was, to the last bit; a step that fails leaves a usable body."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import supple
from drawn import SETTINGS, near
from oracle import random_model
from supple import AdaptiveDynamics, ModelBuilder, trees
from supple.adaptive.memory import CURRENT

FEW = settings(SETTINGS, max_examples=20)
OPTIONS = (
    dict(active=4, update_every=3),
    dict(active=7, update_every=1),
    dict(active=12),
    dict(active=[0, 3, 5]),
    dict(error=0.3, update_every=2),
    dict(error=0.3, guaranteed=True),
)


def weights(model, bad=np.inf):
    """Functions of positions, which raise where a coordinate is `bad`."""

    def weight(q):
        if q[0] == bad:
            raise OSError("no weight here")
        return 1.0 + q[0] ** 2

    return {model.joint_names[j]: weight for j in range(0, model.n_bodies, 2)}


def state(ad):
    """All that decides how it goes on, by name."""
    out = {x: getattr(ad._hybrid.memory, x).copy() for x in ("must", "controls", "controlled")} | ad.save()
    asked, metrics = ad._hybrid.settings, ad._hybrid.metrics
    own = ("pins", "most", "error", "every", "reach", "guaranteed", "check_energy")
    out |= {f"asked {name}": np.array(getattr(asked, name)) for name in own} | {"q": ad.q.copy(), "v": ad.v.copy()}
    out |= {"weights": metrics.acceleration.values.copy(), "velocity weights": metrics.velocity.values.copy()}
    settings = ("every", "most", "most_reached", "error", "reach_error", "ways")
    out |= {name: np.array(getattr(ad._hybrid.memory, name)) for name in settings} | {"joints": ad.active_joints}
    rows = [p.row.view(np.float64) for p in ad._pushes.acting]
    return out | {"forbidden": ad._hybrid.memory.body.tree.forbidden.copy(), "pushes": np.array(rows)}


def same(before, after, name=""):
    for key, x in before.items():
        np.testing.assert_array_equal(x, after[key], err_msg=f"{name}: {key}")


def made(seed, which):
    """A body under forces, some steps on its way, with pins where it takes them."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 12, chain=0.5)
    v = rng.standard_normal(model.nv)
    if which == 3:
        v[~np.isin(model.dof_body, [0, 3, 5])] = 0.0
    how = dict(weights=weights(model, 7.0), velocity_weights=weights(model, 8.0))
    ad = AdaptiveDynamics(model, model.random(rng), v, **OPTIONS[which], **how)
    push = ad.apply(11, force=(1, 2, 3), point=(0.1, 0, 0))
    spring = ad.spring(5, anchor=(0, 0, 1), stiffness=2.0)
    if which != 3:
        ad.pin(6)
        ad.pin(2, False)
    for _ in range(int(rng.integers(0, 5))):
        ad.step(1e-4)
    return ad, push, spring


def refused_calls(ad, push, spring):
    """What must be refused: a name, and the call."""
    model, nq, nv = ad.model, ad.model.nq, ad.model.nv
    bad_q, quaternion = ad.q.copy(), ad.q.copy()
    bad_q[model.joints[0].q] = 7.0  # no weight here; a function of the user's raises
    locked = np.flatnonzero(ad._hybrid.settings.pins < 0)[0]
    moves = np.zeros(nv)
    moves[model.joints[int(locked)].v] = 1.0
    quaternion[0] = np.nan
    saved, other = ad.save(), AdaptiveDynamics(trees.chain(3)).save()
    beheaded = saved | {"flags": np.where(np.arange(len(saved["flags"])) == len(saved["flags"]) - 1, 0, 1)}
    curved = [j for j in range(model.n_bodies) if model.joints[j].type in ("ball", "free", "planar")]

    def to(name, value):
        return f"{name} = {value!r}", lambda: setattr(ad, name, value)

    calls = [to("active", x) for x in (-1, 2.5, "two", None, [1, 2], np.nan, np.inf, True, {}, 1j)]
    calls += [to("error", x) for x in (-1.0, "small", None, np.nan, np.inf, [1.0], 1j)]
    calls += [to("update_every", x) for x in (0, -3, 1.5, "often", None, np.nan, [2])]
    calls += [(f"step({x!r})", lambda x=x: ad.step(x)) for x in (0.0, -1e-3, np.nan, np.inf, "1", None, [1e-3], 1j)]
    calls += [
        (f"run({x!r})", lambda x=x: ad.run(*x))
        for x in ((-1, 1), (1, 0), (np.inf, 1), ("1", 1), (1, None), (1e300, 1e-300))
    ]
    calls += [
        (f"pin({x!r})", lambda x=x: ad.pin(*x))
        for x in (("nobody",), (99,), (-1,), (None,), (1.0,), (3, "yes"), (3, 1))
    ]
    calls += [(f"set_state {i}", lambda x=x: ad.set_state(*x)) for i, x in enumerate((
        (np.zeros(nq + 1),), ("q",), (None, np.ones(nv + 1)), (quaternion,), (ad.q, moves), (ad.q, np.full(nv, np.inf)),
        (ad.q, {}), ([None] * nq,)))]  # fmt: skip
    bad_weights = ([1.0], [-1.0] * 12, "heavy", {"nobody": 1.0}, {0: [[1, 2], [3]]}, {0: np.nan}, {0: lambda q: -1.0},
                   {0: lambda q: "x"}, 3.0, {0: -np.eye(7)}, [None] * 12)  # fmt: skip
    calls += [(f"set_weights({x!r})", lambda x=x: ad.set_weights(x)) for x in bad_weights]
    calls += [(f"set_weights(None, {x!r})", lambda x=x: ad.set_weights(None, x)) for x in bad_weights]
    calls += [(f"restore {i}", lambda x=x: ad.restore(x)) for i, x in enumerate((
        None, 3, {}, other, saved | {"flags": saved["flags"][1:]}, saved | {"flags": saved["flags"] * np.nan}, beheaded,
        saved | {"flags": 77 + saved["flags"]}, saved | {"kept_q": "kept"}, saved | {"time": "now"},
        saved | {"n_dropped": -1}, {"flags": saved["flags"]}))]  # fmt: skip
    calls += [
        ("look_from", lambda: ad.look_from((0, 0))),
        ("look_from, angle", lambda: ad.look_from((0, 0, 9), view_angle=1.0)),
        ("look_from, focal", lambda: ad.look_from((0, 0, 9), focal="long")),
        ("torque", lambda: ad.torque(0, np.zeros(9))),
        ("torque, words", lambda: ad.torque(0, "strong")),
        ("torque, joint", lambda: ad.torque("nobody", 1.0)),
        ("control", lambda: ad.control(None, 1.0)),
        ("limits", lambda: ad.limits(-1.0)),
        ("limits, words", lambda: ad.limits("stiff")),
        ("apply", lambda: ad.apply("nobody", force=(1, 0, 0))),
        ("apply, body", lambda: ad.apply(None, force=(1, 0, 0))),
        ("apply, force", lambda: ad.apply(0, force=(1, 0))),
        ("apply, frame", lambda: ad.apply(0, force=(1, 0, 0), frame="moon")),
        ("spring", lambda: ad.spring(0, (0, 0, 0), "stiff")),
        ("spring, damping", lambda: ad.spring(0, (0, 0, 0), 1.0, damping=None)),
        ("set", lambda: push.set(force="strong")),
        ("set, torque", lambda: push.set(torque=(0, 0))),
        ("set of a spring", lambda: spring.set(anchor=(0, 0))),
        ("poses", lambda: ad.poses("body")),
        ("poses, number", lambda: ad.poses(3)),
        ("poses, unknown", lambda: ad.poses([99])),
    ]  # fmt: skip
    calls += [to("guaranteed", "yes"), to("check_energy", 3), to("acceleration_region", -1.0), to("weights", "heavy"),
              to("velocity_weights", [-1.0] * 12), to("q", ad.q), to("measure", "x"), to("time", 0.0)]  # fmt: skip
    if curved:
        calls.append(("control of a curved joint", lambda: ad.control(curved[0], 1.0)))
    plain = next((j for j in range(12) if j not in curved), None)
    if plain is not None:
        for x in ("stiff", -1.0, None, np.nan):
            calls.append((f"control({x!r})", lambda x=x: ad.control(plain, x)))
            calls.append((f"damping {x!r}", lambda x=x: ad.control(plain, 1.0, x)))
        calls += [("target", lambda: ad.control(plain, 1.0, target=np.zeros(5))),
                  ("target, words", lambda: ad.control(plain, 1.0, target="there")),
                  ("most", lambda: ad.control(plain, 1.0, most=-1.0))]  # fmt: skip
    if ad.fixed:
        calls += [to("active", 3), to("error", 1.0), to("guaranteed", True), ("pin", lambda: ad.pin(1))]
    elif ad.guaranteed:
        calls += [to("active", 3), to("update_every", 2)]
    elif not ad._hybrid.settings.roots[6]:  # free roots count apart
        calls += [to("active", 0)]  # one is pinned
    return calls


@settings(SETTINGS, max_examples=12)
@given(st.integers(0, 2**32 - 1), st.sampled_from(range(len(OPTIONS))))
def test_refused_calls_leave_no_trace(seed, which):
    """Every refusal is one of ours, with a sentence; and the body then goes on as a twin that was never asked."""
    (ad, *forces), (twin, *_) = made(seed, which), made(seed, which)
    before = state(ad)
    for name, call in refused_calls(ad, *forces):
        with pytest.raises(supple.SuppleError) as caught:
            call()
        assert len(str(caught.value)) > 20, name
        same(before, state(ad), name)
    for _ in range(4):
        ad.step(1e-4)
        twin.step(1e-4)
        np.testing.assert_array_equal(ad.q, twin.q)
        np.testing.assert_array_equal(ad.v, twin.v)
        assert ad.stats == twin.stats and ad.active_joints.tolist() == twin.active_joints.tolist()


@FEW
@given(st.integers(0, 2**32 - 1), st.sampled_from(range(len(OPTIONS))), st.sampled_from((7.0, 8.0)))
def test_what_fails_half_way_is_put_back(seed, which, where):
    """A weight that raises, whatever: after q was changed, and after half of the weights were."""
    (ad, *_), (twin, *_) = made(seed, which), made(seed, which)
    model = ad.model
    plain = [j for j in range(0, 12, 2) if model.joints[j].type not in ("ball", "free", "planar")]
    if not plain:
        return
    q = ad.q.copy()
    q[model.joints[plain[-1]].q] = where
    before = state(ad)
    with pytest.raises(OSError):
        ad.set_state(q, 0.0 * ad.v)
    same(before, state(ad))
    for _ in range(4):
        ad.step(1e-4)
        twin.step(1e-4)
        np.testing.assert_array_equal(ad.q, twin.q)
        np.testing.assert_array_equal(ad.v, twin.v)


@FEW
@given(st.integers(0, 2**32 - 1), st.sampled_from(range(len(OPTIONS))), st.floats(170, 300))
def test_after_a_failed_step_it_is_as_if_made_anew(seed, which, power):
    """A force beyond all numbers; then without it. No flag stays set, and the next steps are those of a new body."""
    ad, push, _ = made(seed, which)
    push.set(force=(10.0**power, 10.0**power, 0))
    try:
        ad.run(0.5, 1e-2)
    except (supple.SimulationError, supple.SingularError):
        pass
    else:
        return  # it does not act on what moves
    assert np.isfinite(ad.q).all() and np.isfinite(ad.v).all() and ad.time >= 0.0
    push.set(force=(0, 0, 1))
    again = AdaptiveDynamics(
        ad.model, ad.q, ad.v, **OPTIONS[which], weights=weights(ad.model), velocity_weights=weights(ad.model)
    )
    again.apply(11, force=(0, 0, 1), point=(0.1, 0, 0))
    again.spring(5, anchor=(0, 0, 1), stiffness=2.0)
    if which != 3:
        again.pin(6)
        again.pin(2, False)
    for _ in range(4):
        assert ad.active_joints.tolist() == again.active_joints.tolist()
        np.testing.assert_array_equal(ad._hybrid.memory.flags, again._hybrid.memory.flags)
        ad.step(1e-4)
        again.step(1e-4)
        np.testing.assert_array_equal(ad.q, again.q)
        np.testing.assert_array_equal(ad.v, again.v)
    near(ad.kinetic, supple.kinetic_energy(ad.model, ad.q, ad.v), 1e-9)
    assert np.isfinite([ad.stats.energy_removed, ad.stats.velocity_error, ad.stats.acceleration_error]).all()


@pytest.mark.parametrize("how", [dict(active=0), dict(active=1), dict(active=2), dict(error=1.0, guaranteed=True)])
def test_flags_after_a_velocity_that_is_not_finite(how):
    b = ModelBuilder()
    for i in range(2):
        b.add_body(f"b{i}", None, "prismatic", axis=(0, i, 1), mass=1, inertia=np.eye(3))
    ad = AdaptiveDynamics(b.build(), update_every=1, **how)
    ad.step(1e-4)
    push = ad.apply("b0", force=(0, 0, 1e160))
    if how.get("active") != 0:
        with pytest.raises(supple.SimulationError, match="is kept"):
            ad.step(1e-2)
    push.remove()
    for _ in range(4):
        ad.step(1e-4)
    assert set(np.flatnonzero(ad.v)) <= set(ad.active_joints.tolist())
    assert set(ad._hybrid.memory.flags.tolist()) <= {0, CURRENT}
    assert np.abs(ad.v).max(initial=0.0) < 1.0


def test_a_refused_budget_does_not_stick():
    ad = AdaptiveDynamics(trees.chain(6), active=4, update_every=1)
    ad.pin(0)
    ad.pin(1)
    with pytest.raises(supple.StateError, match="2 joints are pinned to be active, but at most 1 may move"):
        ad.active = 1
    assert ad.active == 4
    ad.pin(5, False)
    ad.run(0.01, 1e-3)
    assert ad.stats.active_count == 4


def test_a_refused_state_does_not_stick():
    model = trees.chain(4, gravity=(0, 0, 0), seed=1)
    ad = AdaptiveDynamics(model, np.zeros(4), [0, 0.1, 0, 0], active=3, update_every=50)
    ad.pin(0, False)
    ad.step(1e-3)
    q, v = ad.q.copy(), ad.v.copy()
    with pytest.raises(supple.StateError, match="'link0_joint' is locked"):
        ad.set_state(np.full(4, 0.7), np.full(4, 2.0))
    np.testing.assert_array_equal(ad.q, q)
    np.testing.assert_array_equal(ad.v, v)
    near(ad.poses().position, supple.poses(model, q).position)
    ad.step(1e-3)
    assert ad.v[0] == 0.0


@pytest.mark.parametrize(
    "how",
    [dict(active="link0"), dict(active=2.5), dict(active=-1), dict(active={}), dict(active=[[0], [1, 2]]),
     dict(active=[None]), dict(error="small"), dict(error=np.nan), dict(error=[1]), dict(active=2, update_every="20"),
     dict(active=2, acceleration_region="much"), dict(active=2, acceleration_region=-1), dict(weights="heavy"),
     dict(velocity_weights={"link0_joint": None}), dict(weights={"link0_joint": lambda q: None}), dict(v="fast")],
)  # fmt: skip
def test_it_is_not_made_of_what_makes_no_sense(how):
    with pytest.raises(supple.SuppleError) as caught:
        AdaptiveDynamics(trees.chain(5), **how)
    assert len(str(caught.value)) > 20
