"""A recording goes on as it was begun: what differs is refused by name."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import supple
from recorded import equal
from supple.errors import RecordingError


def model(length: float = 0.5, tool: float = 0.3) -> supple.Model:
    b = supple.ModelBuilder("arm")
    how = {"axis": (0, 1, 0), "mass": 1, "com": (0, 0, -length), "inertia": (0.1, 0.1, 0.1), "lower": -1, "upper": 1}
    b.add_body("a", joint_name="shoulder", **how)
    b.add_body("b", "a", joint_name="elbow", position=(0, 0, -1), **how)
    b.add_frame("tool", "b", (0, 0, -tool))
    return b.build()


def motor(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.full(2, np.sin(time))


def brake(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return -v


def geared(gear: float, time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.full(2, gear)


def when(state: supple.State) -> float:
    return float(state.q[0])


def then(state: supple.State) -> None:
    return None


MODEL = model()
PUSH, SPRING = supple.Push("a", force=(1, 0, 0)), supple.Spring("b", (0, 0, 1), 10.0)
CONTROLLER, LIMITS = supple.Controller("elbow", 5.0, target=0.2), supple.Limits(100.0)
EVENT = supple.Event("low", when, -1, then)
START = {"q": [0.5, 0.1], "v": [0.0, 1.0]}
FORCES = [PUSH, SPRING, CONTROLLER, LIMITS, motor, partial(geared, 2.0)]
BETWEEN = supple.SpringBetween("a", "b", 10.0)


def other(i: int, force: object) -> list[object]:
    return [*FORCES[:i], force, *FORCES[i + 1 :]]


#: what is given otherwise, and what is said
OTHERWISE = [
    ({"q": [0.5, -2.0]}, "another start: q of joint 'elbow' was [0.1], not [-2.0]"),
    ({"q": None}, "another start: q of joint 'shoulder' was [0.5], not [0.0]"),
    ({"q": [0.5, np.nextafter(0.1, 1)]}, "another start: q of joint 'elbow'"),
    ({"v": [9.0, 1.0]}, "another start: v of joint 'shoulder' was [0.0], not [9.0]"),
    ({"forces": []}, "with 6 forces, not 0"),
    ({"forces": [*FORCES, PUSH]}, "with 6 forces, not 7"),
    ({"forces": other(0, SPRING)}, "with a Push as force 1 of 6, not a Spring"),
    (
        {"forces": other(0, supple.Push("a", force=(500, 0, 0)))},
        "with force [1.0, 0.0, 0.0], not [500.0, 0.0, 0.0], in force 1 of 6 (Push body 'a')",
    ),
    ({"forces": other(0, supple.Push("b", force=(1, 0, 0)))}, "with body 'a', not 'b', in force 1 of 6 (Push)"),
    ({"forces": other(0, supple.Push("a", force=(1, 0, 0), point=(0, 0, 1)))}, "with point"),
    ({"forces": other(0, supple.Push("a", force=(1, 0, 0), frame="body"))}, "with frame 'world', not 'body'"),
    ({"forces": other(1, supple.Spring("b", (0, 0, 1), 11.0))}, "with stiffness 10.0, not 11.0"),
    ({"forces": other(1, supple.Spring("b", (0, 0, 1), 10.0, damping=1))}, "with damping 0.0, not 1.0"),
    ({"forces": other(1, BETWEEN)}, "with a Spring as force 2 of 6, not a SpringBetween"),
    ({"forces": other(2, supple.Controller("elbow", 5.0, target=0.3))}, "with target [0.2], not [0.3]"),
    ({"forces": other(2, supple.Controller("elbow", 5.0, target=0.2, most=7))}, "with most inf, not 7.0"),
    ({"forces": other(3, supple.Limits(100.0, joints=["elbow"]))}, "with joints nothing, not ['elbow']"),
    ({"forces": other(4, brake)}, "with function motor as force 5 of 6, not function brake"),
    ({"forces": other(5, partial(geared, 3.0))}, "geared of [2.0, {}] as force 6 of 6, not function geared of [3.0"),
    ({"forces": [FORCES[1], FORCES[0], *FORCES[2:]]}, "as force 1 of 6"),
    ({"tau": None}, "with tau [0.1, 0.2], not nothing"),
    ({"tau": [0.1, 0.3]}, "with tau [0.1, 0.2], not [0.1, 0.3]"),
    ({"tau": motor}, "with tau [0.1, 0.2], not 'function motor'"),
    ({"events": []}, "with 1 events, not 0"),
    ({"events": [supple.Event("high", when, -1, then)]}, "with name 'low', not 'high', in event 1 of 1"),
    ({"events": [supple.Event("low", when, 1, then)]}, "with direction -1, not 1, in event 1 of 1 (Event name 'low')"),
    ({"events": [supple.Event("low", when, -1, "stop")]}, "with then 'function then', not 'stop'"),
    ({"dt": 2e-3}, "with dt 0.001, not 0.002"),
    ({"every": 2}, "with every 1, not 2"),
    ({"method": "crba"}, "with method 'aba', not 'crba'"),
    ({"integrator": "euler"}, "with integrator 'rk4', not 'euler'"),
    ({"integrator": "dop853"}, "with integrator 'rk4', not 'dop853'"),
    ({"joint_wrenches": True}, "with joint_wrenches False, not True"),
    ({"check_energy": False}, "with check_energy True, not False"),
    ({"model": model(0.6)}, "with another model, different in com"),
    ({"model": model(tool=0.4)}, "with another model, different in frames"),
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run.h5"
    how = START | {"forces": FORCES, "tau": [0.1, 0.2], "events": [EVENT], "duration": 0.02, "record": path}
    supple.simulate(MODEL, **how).close()
    return how


@pytest.mark.parametrize(("change", "said"), OTHERWISE, ids=[said for _, said in OTHERWISE])
def test_another_run_is_refused(recorded, change, said):
    how = {"model": MODEL} | recorded | {"duration": 0.03, "resume": True} | change
    before = recorded["record"].read_bytes()
    with pytest.raises(RecordingError) as e:
        supple.simulate(how.pop("model"), **how)
    assert said in str(e.value) and str(recorded["record"]) in str(e.value) and "to resume it" in str(e.value)
    assert recorded["record"].read_bytes() == before


def test_the_same_run_in_other_words_goes_on(tmp_path):
    """Arrays for lists, numbers for names, forces made anew, another function of the same name."""

    def make(gear: float) -> object:
        def drive(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return np.full(2, gear)

        return drive

    path = tmp_path / "run.h5"
    how = {"duration": 0.02, "record": path, "forces": [PUSH, CONTROLLER, LIMITS, make(1.0)]}
    supple.simulate(MODEL, **START, **how).close()
    again = [supple.Push(0, force=np.array([1, 0, 0])), supple.Controller(1, 5, target=[0.2]), supple.Limits(100)]
    how |= {"duration": 0.03, "forces": [*again, make(1.0)], "resume": True}
    both = supple.simulate(model(), np.array(START["q"]), START["v"], **how)
    del how["record"], how["resume"]
    equal(both, supple.simulate(MODEL, **START, **how))


LONG = np.where(np.arange(250) == 3, 0.5, 0.0)
CHAIN = supple.trees.chain(250)
RESTING = {"method": "quasi-statics"}
ACTIVE = {"method": "adaptive", "active": [0, 1]}
#: what is given, and what else means the same
SAME = [
    (CHAIN, {"tau": LONG}, {"tau": LONG.tolist()}),
    (CHAIN, {"tau": LONG.tolist()}, {"tau": LONG.astype(np.float32)}),
    (CHAIN, {"tau": 2 * LONG}, {"tau": (2 * LONG).astype(int)}),
    (CHAIN, {"tau": LONG}, {"tau": np.where(LONG == 0.0, -0.0, LONG)}),
    (CHAIN, {}, {"tau": np.zeros(250)}),
    (CHAIN, ACTIVE | {"weights": LONG + 1}, {"weights": (LONG + 1).tolist()}),
    (MODEL, {}, {"tau": [0, 0]}),
    (MODEL, {"tau": (0, 1)}, {"tau": np.array([0.0, 1.0])}),
    (MODEL, {"events": [EVENT]}, {"events": supple.Event("low", when, -1, then, resolution=1e-3 / 4)}),
    (MODEL, {}, {"integrator": "rk4", "every": 1.0, "check_energy": True, "forces": (), "method": "aba"}),
    (MODEL, {"integrator": "dop853"}, {"rtol": 1e-9, "atol": 1e-9}),
    (MODEL, RESTING, {"error": 2.0**-19}),
    (MODEL, RESTING, {"measure": "relative-joint", "order": "balanced"}),
    (MODEL, ACTIVE, {"guaranteed": False, "error": None}),
    (MODEL, ACTIVE, {"order": "balanced", "update_every": 20, "weights": None}),
    (MODEL, ACTIVE, {"active": ["shoulder", "elbow"]}),
]


@pytest.mark.parametrize(("body", "how", "more"), SAME)
def test_defaults_and_arrays_may_be_said_in_any_way(body, how, more, tmp_path):
    """Whichever of the two comes first."""
    for i, (one, two) in enumerate(((how, how | more), (how | more, how))):
        path = tmp_path / f"{i}.h5"
        supple.simulate(body, duration=2e-3, record=path, **one).close()
        equal(
            supple.simulate(body, duration=4e-3, record=path, resume=True, **two),
            supple.simulate(body, duration=4e-3, **one),
        )


def test_other_settings_than_the_defaults_are_refused(tmp_path):
    for i, (how, more, said) in enumerate((
        (RESTING, {"error": 1e-3}, "with error 1.9073486328125e-06, not 0.001"),
        (ACTIVE, {"update_every": 3}, "with update_every 20, not 3"),
        ({"events": [EVENT]}, {"events": supple.Event("low", when, -1, then, 1e-4)}, "with resolution 0.00025, not"),
        ({}, {"tau": [0, 1e-300]}, "with tau nothing, not [0.0, 1e-300]"),
    )):  # fmt: skip
        path = tmp_path / f"{i}.h5"
        supple.simulate(MODEL, duration=2e-3, record=path, **how).close()
        with pytest.raises(RecordingError) as e:
            supple.simulate(MODEL, duration=4e-3, record=path, resume=True, **how | more)
        assert said in str(e.value)


def test_options_of_methods_are_compared(tmp_path):
    """Arrays, short and long, and functions among them."""
    chain = supple.trees.chain(300)
    weights = np.linspace(1.0, 2.0, 300)
    how = {"duration": 2e-3, "method": "adaptive", "active": 5, "record": tmp_path / "run.h5", "resume": True}
    supple.simulate(chain, weights=weights, **how).close()
    supple.simulate(chain, weights=weights.copy(), **how).close()
    with pytest.raises(RecordingError, match=r"with weights '300 numbers of hash .*, not '300 numbers of hash"):
        supple.simulate(chain, weights=weights + 1e-9, **how)
    with pytest.raises(RecordingError, match=r"with weights '300 numbers of hash .*, not nothing"):
        supple.simulate(chain, **how)
    with pytest.raises(RecordingError, match="with active 5, not 6"):
        supple.simulate(chain, weights=weights, **how | {"active": 6})


def test_many_forces_fit(tmp_path):
    """More than an attribute of HDF5 holds (64 kB)."""
    chain = supple.trees.chain(2000)
    forces = [supple.Push(i, force=(0, 0, 0.001 * i)) for i in range(2000)]
    how = {"dt": 1e-3, "record": tmp_path / "run.h5", "resume": True, "method": "quasi-statics"}
    supple.simulate(chain, duration=1e-3, forces=forces, **how).close()
    supple.simulate(chain, duration=2e-3, forces=forces, **how).close()
    with pytest.raises(RecordingError, match=r"not \[0.0, 0.0, 7.0\], in force 1001 of 2000 .Push body"):
        changed = [*forces[:1000], supple.Push(1000, force=(0, 0, 7)), *forces[1001:]]
        supple.simulate(chain, duration=3e-3, forces=changed, **how)
