"""What acts on a run through an event that changes its model, case by case; tests/property/test_carried_forces.py has
random trees."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import supple


def arm(**root: object) -> supple.Model:
    """Four bodies in a row, a ... d, on hinges; a floats unless said."""
    b = supple.ModelBuilder("arm", gravity=(0, 0, 0))
    body = dict(mass=1.0, com=(0, 0, 0.2), inertia=(0.1, 0.1, 0.1))
    b.add_body("a", None, **{"joint": "free"} | root, **body)
    for up, name in ("ab", "bc", "cd"):
        b.add_body(name, up, axis=(0, 1, 0), position=(0, 0, 0.4), lower=-1.0, upper=1.0, **body)
    b.add_frame("tip", "b", (0, 0, 0.1))
    return b.build()


def to(body: str, time: float = 0.0503, **how: object) -> supple.Event:
    """Another root, on a free joint unless said, after a while."""

    def then(s: supple.State) -> supple.State:
        new = supple.reroot(s.model, s.q, s.v, body=body, **{"joint": "free"} | how)
        return s.replace(model=new.model, q=new.q, v=new.v)

    return supple.Event(f"root {body}", lambda s: s.time - time, 1, then)


def rates(run: supple.Result) -> list[float]:
    m, v = run.final.model, run.final.v
    return [float(v[m.joints[f"{x}_joint"].v][0]) for x in "bcd"]


@pytest.mark.parametrize(
    "forces",
    [
        [supple.Push("b", force=(3, 0, 0), point=(0, 0, 0.1))],
        [supple.Push("tip", force=(3, 0, 0))],
        [supple.Push(1, force=(3, 0, 0), point=(0, 0, 0.1), frame="body")],
        [supple.Spring("b", (1, 0, 0.5), 20.0, point=(0, 0, 0.1))],
        [supple.Controller("b_joint", 5.0, target=1.0)],
        [supple.Controller(1, 5.0, target=1.0)],
        [lambda time, q, v, model: np.eye(model.nv)[model.joints["b_joint"].v][0]],
    ],
)
def test_a_force_stays_where_it_is(forces):
    run = [supple.simulate(arm(), duration=0.2, forces=forces, events=e) for e in ([], [to("d")])]
    assert max(np.abs(rates(run[0]))) > 0.05
    np.testing.assert_allclose(rates(run[1]), rates(run[0]), atol=1e-9)
    if len(run[1].segments) == 2:
        before, after = run[1].segments
        np.testing.assert_allclose(after.potential[0], before.potential[-1], atol=1e-12)


def test_a_constant_tau_stays_at_its_joint():
    model = arm()
    tau = np.zeros(model.nv)
    tau[model.joints["b_joint"].v] = 1.0
    run = [supple.simulate(model, duration=0.2, tau=tau, events=e) for e in ([], [to("d")], [to("c"), to("a", 0.1)])]
    np.testing.assert_allclose(rates(run[1]), rates(run[0]), atol=1e-9)
    np.testing.assert_allclose(rates(run[2]), rates(run[0]), atol=1e-9)


def test_the_targets_of_a_universal_joint_change_places_with_its_angles():
    b = supple.ModelBuilder(gravity=(0, 0, 0))
    body = dict(mass=1.0, com=(0, 0, 0.2), inertia=(0.1, 0.1, 0.1))
    b.add_body("a", None, "free", **body)
    b.add_body("b", "a", "universal", axis=(1, 0, 0), axis2=(0, 1, 0), position=(0, 0, 0.4), joint_name="u", **body)
    hold = supple.Controller("u", 50.0, 5.0, target=[0.1, 0.8], rate=[0.2, 0.0])
    ends = [supple.simulate(b.build(), duration=3, forces=[hold], events=e).final for e in ([], [to("b")])]
    here, there = (s.q[s.model.joints["u"].q] for s in ends)
    np.testing.assert_allclose(there, here[::-1], atol=1e-9)
    np.testing.assert_allclose(here, [0.1 + 0.2 * 5 / 50, 0.8], atol=1e-3)


@pytest.mark.parametrize(
    "changes, said",
    [
        (dict(tau=np.eye(9)[2]), "tau has a force at joint 'a_joint', which is gone .* body 'a' to the world, and the "
         "joint that now has its name is another; let tau be zero there, or make it a function .state. or "
         ".time, q, v, model."),
        (dict(forces=[lambda time, q, v: np.zeros(9)]), "force '<lambda>' is a function .* an event changed the model"),
        (dict(tau=lambda time, q, v, scale=2.0: np.zeros(9)), "force '<lambda>' is a function"),
        (dict(forces=[supple.Limits(10.0, joints=["b_joint", "a_joint"])], model=arm(joint="revolute", upper=1.0)),
         "Limits at joint 'a_joint', which is gone .* name joints that stay, or leave `joints` out"),
        (dict(forces=[supple.Controller("a_joint", 1.0)], model=arm(joint="revolute")),
         "Controller at joint 'a_joint', which is gone .*use a function"),
    ],
)  # fmt: skip
def test_what_cannot_be_carried_is_refused(changes, said):
    """By its name, with the time and the way out; what was before is kept."""
    model = changes.pop("model", arm())
    with pytest.raises(supple.SimulationError, match=f"(?s)at time 0.0503 s: {said}") as e:
        supple.simulate(model, duration=0.2, events=[to("d", joint_name="a_joint")], **changes)
    assert e.value.result is not None and e.value.result.times[-1] == 0.05


def test_a_top_joint_of_the_same_name_and_kind_is_another():
    """But the one that `undo` brings back is the same: its controller goes on."""
    model = arm(joint="revolute", axis=(0, 1, 0))
    hold = supple.Controller("a_joint", 5.0, target=0.3)

    def lands(s: supple.State) -> supple.State:
        hit = supple.impact(s.model, s.q, s.v, body="d", joint="revolute", axis=(0, 1, 0))
        return s.replace(model=hit.model, q=hit.q, v=hit.v)

    landing = supple.Event("lands", lambda s: s.time - 0.0503, 1, lands)
    with pytest.raises(supple.SimulationError, match="joint 'a_joint', which is gone"):
        supple.simulate(model, duration=0.2, forces=[hold], events=[landing])

    def there_and_back(s: supple.State) -> supple.State:
        back = supple.reroot(s.model, s.q, s.v, body="c", joint="free").undo()
        return s.replace(model=back.model, q=back.q, v=back.v)

    def by_hand(s: supple.State) -> supple.State:
        new = supple.reroot(s.model, s.q, s.v, body="c", joint="free")
        old = supple.reroot(new.model, new.q, new.v, body="a", point=(0, 0, 0), joint=new.top)
        return s.replace(model=old.model, q=old.q, v=old.v)

    plain = supple.simulate(model, duration=0.2, forces=[hold])
    for then in (there_and_back, by_hand):
        event = supple.Event("back", lambda s: s.time - 0.0503, 1, then)
        run = supple.simulate(model, duration=0.2, forces=[hold], events=[event])
        np.testing.assert_allclose(rates(run), rates(plain), atol=1e-9)


def test_a_body_that_is_gone_is_named():
    b = supple.ModelBuilder("less", gravity=(0, 0, 0))
    b.add_body("a", None, "free", mass=1.0, inertia=(0.1, 0.1, 0.1))
    less = b.build()

    def then(s: supple.State) -> supple.State:
        return s.replace(model=less, q=s.q[:7], v=s.v[:6])

    event = supple.Event("breaks", lambda s: s.time - 0.0503, 1, then)
    for force, said in (
        (supple.Push("b", force=(1, 0, 0)), "Push on body 'b': the model that an event gave has no body of that name"),
        (supple.Spring("tip", (0, 0, 0), 1.0), "Spring on frame 'tip': the model that an event gave has no frame"),
        (supple.Controller("c_joint", 1.0), "Controller at joint 'c_joint', which is gone .* it joined body 'c' to b"),
    ):
        with pytest.raises(supple.SimulationError, match=said):
            supple.simulate(arm(), duration=0.1, forces=[force], events=[event])
    kept = supple.Push("a", force=(1, 0, 0))
    assert supple.simulate(arm(), duration=0.1, forces=[kept], events=[event]).final.model.n_bodies == 1


def test_a_function_goes_on_while_q_and_v_mean_the_same():
    """Gravity may change, and a function of three arguments is none the wiser."""
    calls = []

    def push(time, q, v):
        calls.append(len(q))
        return np.zeros(len(v))

    def then(s: supple.State) -> supple.State:
        return s.replace(model=replace(s.model, gravity=np.array([0.0, 0.0, -9.81])))

    event = supple.Event("heavy", lambda s: s.time - 0.0503, 1, then)
    run = supple.simulate(arm(), duration=0.1, forces=[push], events=[event])
    assert run.final.v[2] == pytest.approx(-9.81 * (0.1 - 0.0503), rel=1e-6)
    assert set(calls) == {10}


def test_what_functions_may_be():
    """Four arguments are told the model; defaults do not count, and objects may be called like functions."""

    class Drive:
        def __call__(self, time, q, v, model, *, gain=1.0):
            return gain * np.eye(model.nv)[model.joints["b_joint"].v][0]

    def three(time, q, v, gain=1.0):
        return gain * np.eye(9)[6]

    same = [supple.simulate(arm(), duration=0.05, forces=[f]) for f in (Drive(), three)]
    np.testing.assert_array_equal(same[0].final.v, same[1].final.v)
    assert rates(same[0])[0] > 0.01

    for refused in (lambda time, q: 0, lambda time, q, v, model, more: 0, lambda time, q, v, *, model: 0):
        with pytest.raises(supple.StateError, match=r"force '<lambda>' takes \(time, q.*a function \(time, q, v\), or"):
            supple.simulate(arm(), duration=0.05, tau=refused)

    def wrong(time, q, v, model):
        return np.zeros(model.nv + 1)

    with pytest.raises(supple.SimulationError, match=re.escape("force 'wrong' returned shape (10,)")):
        supple.simulate(arm(), duration=0.05, forces=[wrong])
