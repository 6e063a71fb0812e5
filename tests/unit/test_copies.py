"""Copies and pickles of what holds addresses: independent, the same to the last bit, and they go on the same."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys

import numpy as np
import pytest

import supple
from supple.adaptive.simulated_body import SimulatedBody
from supple.errors import RecordingError, StateError
from supple.exact.calls import HostWork
from supple.exact.tables import host_tables
from supple.integrating.chart import chart

WAYS = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x))}
MODEL = supple.trees.chain(30)
Q, V = MODEL.random(0), np.linspace(-0.2, 0.2, 30)


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


def weighted(x: np.ndarray) -> float:
    return 1.0 + float(x[0]) ** 2


def quasi_statics(**how):
    qs = supple.QuasiStatics(MODEL, Q, **{"error": 1e-3, **how})
    qs.apply(29, force=(0, 0, 1))
    qs.spring(10, (1, 1, 1), 5.0)
    qs.torque(3, 0.5)
    return qs


def dynamics(**how):
    ad = supple.AdaptiveDynamics(MODEL, Q, V if "active" not in how else None, **how)
    ad.apply(29, force=(0, 0, 1), frame="body")
    ad.spring(10, (1, 1, 1), 5.0, damping=0.1)
    ad.torque(3, 0.5)
    ad.control(5, 2.0, 0.1)
    ad.limits(10.0)
    return ad


STEPPERS = {
    "quasi-statics": quasi_statics,
    "quasi-statics, the whole body at once": lambda: quasi_statics(error=0.0),
    "dynamics": dynamics,
    "dynamics, some joints": lambda: dynamics(active=5, update_every=3),
    "dynamics, an error": lambda: dynamics(error=1e-3),
    "dynamics, guaranteed": lambda: dynamics(error=1e-3, guaranteed=True),
    "dynamics, weights that follow": lambda: dynamics(weights={MODEL.joint_names[2]: weighted}),
    "dynamics, a joint pinned": lambda: pinned(),
}


def pinned():
    ad = dynamics(active=5)
    ad.pin(7, False)
    ad.pin(9, True)
    return ad


def state(stepper):
    """All that can be seen of it."""
    if isinstance(stepper, supple.AdaptiveDynamics):
        arrays, rest = (stepper.v,), (stepper.stats, stepper.kinetic, stepper.potential)
    else:
        found = stepper.solve()
        arrays, rest = (found.accelerations, found.joints), found.bounds
    return stepper.time, [x.tobytes() for x in (stepper.q, *stepper.poses(), *arrays)], rest


def steps(stepper, n=7):
    for _ in range(n):
        stepper.step(1e-3)


@pytest.mark.parametrize("make", STEPPERS.values(), ids=STEPPERS)
def test_copies_of_steppers(make, way):
    """In the middle of a run: moving the one does not move the other, and both get to the same bits."""
    one = make()
    steps(one)
    two, before = way(one), state(one)
    assert state(two) == before
    steps(two)
    assert state(one) == before != state(two)
    steps(one)
    assert state(one) == state(two)


@pytest.mark.parametrize("make", [quasi_statics, dynamics])
def test_a_copy_outlives_the_original(make, way):
    """Whose memory is then used for something else."""
    one = make()
    steps(one, 3)
    two, three = way(one), way(one)
    steps(three)
    expected = state(three)
    del one, three
    gc.collect()
    spoil = [np.full(k, np.nan) for k in range(1, 3000)]
    steps(two)
    assert state(two) == expected and spoil


@pytest.mark.parametrize("make", [quasi_statics, dynamics])
def test_forces_of_a_copy(make, way):
    """A force belongs to one body. Copied with it, it is the copy's; copied alone, it has one of its own."""
    one = make()
    push = one.apply(20, force=(1, 0, 0))
    steps(one, 2)
    two, theirs = pickle.loads(pickle.dumps((one, push))) if way is WAYS["pickle"] else copy.deepcopy((one, push))
    before = state(one)
    theirs.set(force=(5, 5, 5))
    theirs.remove()
    steps(two)
    assert state(one) == before and repr(theirs).endswith("removed>") and not repr(push).endswith("removed>")
    alone = copy.deepcopy(push)
    alone.set(force=(0, 9, 0))
    alone._acts._owner.step(1e-3)
    assert state(one) == before and alone._acts._owner is not one
    push.set(force=(0, 0, 1))
    steps(one)


def test_copies_share_the_model_and_deep_copies_do_not():
    for make in (quasi_statics, dynamics):
        one = make()
        assert copy.copy(one).model is one.model
        assert copy.deepcopy(one).model is not one.model


def test_settings_of_a_copy():
    one = quasi_statics()
    two = copy.copy(one)
    two.error, two.measure = 0.5, "absolute-linkage"
    assert (one.error, one.measure) == (1e-3, "relative-joint")
    three = dynamics(active=4)
    four = copy.copy(three)
    four.active = 9
    four.set_weights(np.full(30, 2.0))
    four.control(5, 100.0)
    four.limits(5.0)
    steps(three), steps(four)
    assert (three.active, four.active) == (4, 9)


def test_a_pickle_in_another_process(tmp_path):
    """Which has other addresses, of kernels too."""
    one = dynamics(active=5, update_every=3)
    steps(one)
    file = tmp_path / "stepper.pickle"
    file.write_bytes(pickle.dumps((one, quasi_statics())))
    script = f"""
import pickle, sys
for stepper in pickle.load(open({str(file)!r}, "rb")):
    for _ in range(7):
        stepper.step(1e-3)
    sys.stdout.buffer.write(stepper.q.tobytes())
"""
    out = subprocess.run([sys.executable, "-c", script], capture_output=True)
    assert out.returncode == 0, out.stderr
    two = quasi_statics()
    steps(one), steps(two)
    assert out.stdout == one.q.tobytes() + two.q.tobytes()


def test_a_pickle_of_another_version(monkeypatch):
    """Its arrays may be laid out otherwise."""
    kept = pickle.dumps(quasi_statics())
    monkeypatch.setattr(SimulatedBody, "_layout", classmethod(lambda cls: "another"))
    with pytest.raises(StateError, match="this QuasiStatics was pickled by another version of Supple"):
        pickle.loads(kept)


def test_copies_of_factors(way):
    H = supple.mass_matrix(MODEL, Q)
    one = supple.factorize(H, MODEL.expanded_parent)
    one.refactorize(H)
    two, values, b, L = way(one), one.values.copy(), np.ones(30), one.L
    np.testing.assert_array_equal(two.values, values)
    two.refactorize(2 * H)
    np.testing.assert_array_equal(one.values, values)
    np.testing.assert_array_equal(two.solve(b), supple.factorize(2 * H, MODEL.expanded_parent).solve(b))
    del one
    gc.collect()
    two.refactorize(H)
    np.testing.assert_array_equal(two.L, L)


@pytest.mark.parametrize("parent", [[-1, 0, 1, 1], [-1, 0, 0, 1]])
def test_copies_of_patterns_and_matrices(way, parent):
    """Also of one whose rows are packed in another order."""
    pattern = supple.Pattern(parent)
    matrix = supple.TreeMatrix(pattern, np.arange(pattern.size))
    other = way(matrix)
    np.testing.assert_array_equal(other.dense(), matrix.dense())
    other.values[:] = 0.0
    assert matrix.values.any()
    assert way(pattern).parent.tolist() == parent and way(pattern).size == pattern.size


RUNS = {
    "aba": {},
    "adaptive steps": {"integrator": "dop853"},
    "forces": {"forces": [supple.Spring(20, (0, 0, 1), 3.0), supple.Limits(10.0)]},
    "dca": {"method": "dca"},
    "quasi-statics": {"method": "quasi-statics", "v": None, "forces": [supple.Push(29, force=(0, 0, 1))]},
    "adaptive": {"method": "adaptive", "active": 5, "v": None, "forces": [supple.Push(29, force=(0, 0, 1))]},
}


@pytest.mark.parametrize("how", RUNS.values(), ids=RUNS)
def test_copies_of_runs(how, way):
    """Before they begin: each goes its own way, and it is the same."""
    one = supple.Simulation(MODEL, Q, **{"v": V, "duration": 0.02, "dt": 1e-3, **how})
    two = way(one)
    ends = [[(s.time, s.q.tobytes(), s.v.tobytes()) for s in run] for run in (one, two)]
    assert ends[0] == ends[1] and len(ends[0]) == 21


def test_parts_of_a_model(way):
    """By name, after the model that they were of is gone."""
    model = supple.trees.chain(4)
    joints, bodies, frames = (way(x) for x in (model.joints, model.bodies, model.frames))
    names = model.joint_names, model.body_names
    del model
    gc.collect()
    assert (tuple(joints), tuple(bodies)) == names and len(frames) == 0
    assert joints[3].v == slice(3, 4) and bodies[names[1][2]].parent == 1


def test_what_is_not_copied(tmp_path, way):
    """Scratch of a model, and open files: they say so."""
    supple.forward_dynamics(MODEL, Q, V)
    work: HostWork = MODEL._work["aba"]
    for scratch in (work, host_tables(MODEL), chart(MODEL)):
        with pytest.raises(StateError, match="is not copied or pickled: it is scratch of a model, which can be"):
            way(scratch)
    result = supple.simulate(MODEL, Q, V, duration=0.01, dt=1e-3, record=tmp_path / "run.h5")
    if way is not copy.copy:
        with pytest.raises(RecordingError, match=r"run\.h5 is open, and not copied or pickled"):
            way(result)
