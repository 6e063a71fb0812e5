"""The way from a public call to a kernel: what arguments may look like, what is refused and how, batches, threads,
memory.

Tolerances: a batch runs the same operations as a state alone, but for the order of a few sums: 1e-13 of the largest
number.
"""

from __future__ import annotations

import array
import gc
import os
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest

import supple
from oracle import random_model
from supple import memory
from supple.errors import ModelError, SingularError, StateError
from supple.exact import threads as pool

#: Every function of a state: what it takes, and how it is called.
FUNCTIONS = {
    "aba": ("q v tau wrenches", lambda m, q, v, tau, w: supple.forward_dynamics(m, q, v, tau, w)),
    "crba": ("q v tau wrenches", lambda m, q, v, tau, w: supple.forward_dynamics(m, q, v, tau, w, method="crba")),
    "dense": ("q v tau wrenches", lambda m, q, v, tau, w: supple.forward_dynamics(m, q, v, tau, w, method="dense")),
    "inverse_dynamics": ("q v a wrenches", lambda m, q, v, a, w: supple.inverse_dynamics(m, q, v, a, w)),
    "bias_force": ("q v wrenches", lambda m, q, v, w: supple.bias_force(m, q, v, w)),
    "mass_matrix": ("q", lambda m, q: supple.mass_matrix(m, q)),
    "packed mass_matrix": ("q", lambda m, q: supple.mass_matrix(m, q, sparse=True).values),
    "poses": ("q", lambda m, q: supple.poses(m, q).rotation),
    "positions": ("q", lambda m, q: supple.poses(m, q).position),
    "velocities": ("q v", lambda m, q, v: supple.velocities(m, q, v).spatial),
    "body velocities": ("q v", lambda m, q, v: supple.velocities(m, q, v, "body").spatial),
    "accelerations": ("q v a", lambda m, q, v, a: supple.accelerations(m, q, v, a).spatial),
    "body accelerations": ("q v a", lambda m, q, v, a: supple.accelerations(m, q, v, a, "body").spatial),
    "jacobian": ("q", lambda m, q: supple.jacobian(m, q, 5, (0.1, 0.2, 0.3))),
    "jacobian_derivative": ("q v", lambda m, q, v: supple.jacobian_derivative(m, q, v, 5, (0.1, 0.2, 0.3), "body")),
    "momentum_matrix": ("q", lambda m, q: supple.momentum_matrix(m, q)),
    "gravity_force": ("q", lambda m, q: supple.gravity_force(m, q)),
    "coriolis_force": ("q v", lambda m, q, v: supple.coriolis_force(m, q, v)),
    "kinetic_energy": ("q v", lambda m, q, v: supple.kinetic_energy(m, q, v)),
    "potential_energy": ("q", lambda m, q: supple.potential_energy(m, q)),
    "center_of_mass": ("q", lambda m, q: supple.center_of_mass(m, q)),
    "momentum": ("q v", lambda m, q, v: supple.momentum(m, q, v)),
}
OPTIONAL = {"tau", "a", "wrenches"}


@pytest.fixture(scope="module")
def model():
    return random_model(np.random.default_rng(30), 12)


def state(model, seed=0, *batch):
    """Every argument there is."""
    rng = np.random.default_rng(seed)
    q = np.array([model.random(rng) for _ in range(int(np.prod(batch)))]).reshape(*batch, model.nq)
    out = {name: rng.standard_normal((*batch, model.nv)) for name in ("v", "tau", "a")}
    return out | {"q": q, "wrenches": rng.standard_normal((*batch, model.n_bodies, 6))}


def run(name, model, given):
    takes, call = FUNCTIONS[name]
    return call(model, *(given[x] for x in takes.split()))


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-13 * max(1.0, np.abs(b).max(initial=0.0)))


# --- forms of arrays ------------------------------------------------------------------------------------------------


class Own(np.ndarray):
    """A subclass, as units packages have."""


def strided(x):
    out = np.full((*x.shape[:-1], 3 * x.shape[-1]), np.nan)[..., ::3]
    out[...] = x
    return out


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def unaligned(x):
    return np.frombuffer(b"\0" + x.tobytes(), dtype=np.float64, offset=1).reshape(x.shape)


def with_metadata(x):
    return x.astype(np.dtype("f8", metadata={"unit": "m"}))


FORMS = {
    "list": np.ndarray.tolist,
    "tuple": lambda x: tuple(x.tolist()),
    "Fortran order": np.asfortranarray,
    "strides": strided,
    "backwards": lambda x: np.ascontiguousarray(x[..., ::-1])[..., ::-1],
    "read-only": read_only,
    "subclass": lambda x: x.view(Own),
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "unaligned": unaligned,
    "dtype with metadata": with_metadata,
    "long double": lambda x: x.astype(np.longdouble),
    "list of arrays": list,
    "buffer": lambda x: memoryview(array.array("d", x)) if x.ndim == 1 else memoryview(x),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "batch"])
@pytest.mark.parametrize("name", ["aba", "inverse_dynamics", "mass_matrix", "jacobian"])
def test_forms_of_arrays(model, name, batch, form):
    """The same numbers, bit for bit."""
    given = state(model, 1, *batch)
    np.testing.assert_array_equal(run(name, model, {k: form(x) for k, x in given.items()}), run(name, model, given))


def test_numbers_in_a_file(model, tmp_path):
    given = state(model)
    np.save(tmp_path / "q.npy", given["q"])
    q = np.load(tmp_path / "q.npy", mmap_mode="r")
    assert type(q) is np.memmap
    np.testing.assert_array_equal(run("aba", model, given | {"q": q}), run("aba", model, given))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint16, bool])
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "batch"])
def test_other_types_of_number(model, dtype, batch):
    """Converted as they are: what a float32 holds, not what it was rounded from."""
    given = state(model, 1, *batch)
    given["v"] = np.arange(np.prod(given["v"].shape)).reshape(given["v"].shape).astype(dtype)
    given["wrenches"] = given["wrenches"].round().astype(np.float32)
    same = given | {k: given[k].astype(float) for k in ("v", "wrenches")}
    for name in ("aba", "inverse_dynamics", "kinetic_energy"):
        np.testing.assert_array_equal(run(name, model, given), run(name, model, same))


# --- what is refused ------------------------------------------------------------------------------------------------

NOT_NUMBERS = {
    "complex": lambda n: np.zeros(n, dtype=complex),
    "text": lambda n: ["0"] * n,
    "objects": lambda n: [object()] * n,
    "ragged": lambda n: [[0.0]] * (n - 1) + [[0.0, 1.0]],
    "None within": lambda n: [None] * n,
    "dates": lambda n: np.zeros(n, dtype="datetime64[s]"),
    "a dict": lambda n: {"q": 1},
    "a set": lambda n: {1.0, 2.0},
}


@pytest.mark.parametrize("bad", NOT_NUMBERS.values(), ids=NOT_NUMBERS)
def test_what_is_no_array_of_numbers(model, bad):
    given = state(model)
    for name, (takes, _) in FUNCTIONS.items():
        for what in takes.split():
            with pytest.raises(StateError, match=rf"^(\w+: )?{what} (must be an array of real numbers|has shape)"):
                run(name, model, given | {what: bad(len(given[what]))})


def test_wrong_shapes(model):
    given = state(model)
    for name, (takes, _) in FUNCTIONS.items():
        for what in takes.split():
            x = given[what]
            wanted = r", ".join(map(str, x.shape))
            for bad in (x[:-1], np.append(x, x[:1], axis=0), x[..., :0], x[None, None], np.float64(3.0), x[:, None]):
                with pytest.raises(StateError, match=rf"^{what} has shape \(.*\); expected \({wanted},?\), or \(B, "):
                    run(name, model, given | {what: bad})


def test_none_where_something_is_needed(model):
    given = state(model)
    for name, (takes, _) in FUNCTIONS.items():
        for what in takes.split():
            if what in OPTIONAL | {"v"}:
                zeros = run(name, model, given | {what: np.zeros_like(given[what])})
                close(run(name, model, given | {what: None}), zeros)
            else:
                with pytest.raises(StateError, match=rf"^(\w+: )?{what} must be an array of real numbers"):
                    run(name, model, given | {what: None})


def test_batches_that_do_not_fit(model):
    given = state(model, 0, 3)
    for name, (takes, _) in FUNCTIONS.items():
        for what in takes.split()[1:]:
            with pytest.raises(StateError, match=rf"^{what} has a batch of 2, the arguments before it one of 3"):
                run(name, model, given | {what: given[what][:2]})


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("batched", [False, True], ids=["one", "batch"])
def test_numbers_that_are_not_finite(model, bad, batched):
    """Wherever it stands: the argument, the place and the joint or body are named; in a batch, also the state."""
    given = state(model, 0, 6) if batched else state(model)
    lead = "state 4 of the batch: " if batched else ""
    for name, (takes, _) in FUNCTIONS.items():
        for what in takes.split():
            for i in (0, model.n_bodies // 2, model.n_bodies - 1):
                joint = model.joints[i]
                x = given[what].copy()
                row = x[4] if batched else x
                if what == "wrenches":
                    row[i, 2] = bad
                    where = rf"wrenches\[{i}, 2\] of body '{model.body_names[i]}' is {bad}"
                else:
                    k = (joint.q if what == "q" else joint.v).stop - 1
                    row[k] = bad
                    where = rf"{what}\[{k}\] \(joint '{joint.name}'\) is {bad}"
                with pytest.raises(StateError, match=f"^{lead}{where}; every number must be finite"):
                    run(name, model, given | {what: x})


def test_unit_parts(model):
    given = state(model)
    rows = [(k, i) for i, k in enumerate(model.joint_type) if model.joints[i].type in ("planar", "ball", "free")]
    assert len(rows) >= 3
    for _, i in rows:
        joint = model.joints[i]
        what = "cosine and sine" if joint.type == "planar" else "quaternion"
        q = given["q"].copy()
        at = slice(joint.q.stop - (2 if joint.type == "planar" else 4), joint.q.stop)
        q[at] *= 1 + 1e-5
        for name in FUNCTIONS:
            with pytest.raises(StateError, match=rf"^joint '{joint.name}': the {what} in q\[{at.start}:{at.stop}\] has "
                               r"length 1\.00001, not 1; use model\.normalize\(q\)"):  # fmt: skip
                run(name, model, given | {"q": q})
        expected = run("aba", model, given)
        np.testing.assert_allclose(run("aba", model, given | {"q": model.normalize(q)}), expected, rtol=1e-9)
        batch = np.stack([given["q"], q])
        with pytest.raises(StateError, match=rf"^state 1 of the batch: joint '{joint.name}': the {what}"):
            run("aba", model, given | {"q": batch})
        with pytest.raises(StateError, match=rf"^state 1 of the batch: joint '{joint.name}': the {what}"):
            run("jacobian", model, given | {"q": batch})
        q[at] = 0
        with pytest.raises(StateError, match="has length 0, not 1"):
            run("aba", model, given | {"q": q})


def test_almost_unit_is_good_enough(model):
    """Within the rounding of a simulation, and the result is that of the unit quaternion."""
    given = state(model)
    q = given["q"].copy()
    for i in range(model.n_bodies):
        if model.joints[i].type in ("ball", "free"):
            q[model.joints[i].q.stop - 4 : model.joints[i].q.stop] *= 1 + 3e-7
    for name in ("aba", "mass_matrix", "poses"):
        np.testing.assert_allclose(run(name, model, given | {"q": q}), run(name, model, given), rtol=1e-9, atol=1e-9)


def test_overflow(model):
    given = state(model)
    for name in ("aba", "crba", "inverse_dynamics"):
        with pytest.raises(StateError, match="the numbers given are too large for float64"):
            run(name, model, given | {"v": np.full(model.nv, 1e200)})
        batch = np.stack([given["v"], np.full(model.nv, 1e200)])
        with pytest.raises(StateError, match=r"^state 1 of the batch: .* too large for float64"):
            run(name, model, given | {"v": batch})


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m, q, v: supple.forward_dynamics(m, q, v, method="abba"), StateError, "not 'abba' .did you "
         "mean 'aba'"),
        (lambda m, q, v: supple.forward_dynamics(m, q, v, method="ABA"), StateError, "method must be 'aba', .*not 'A"),
        (lambda m, q, v: supple.velocities(m, q, v, "wrold"), StateError, "frame must be 'world' or 'body'"),
        (lambda m, q, v: supple.accelerations(m, q, v, v, "x"), StateError, "frame must be 'world' or 'body'"),
        (lambda m, q, v: supple.jacobian(m, q, 0, frame="x"), StateError, "frame must be 'world' or 'body'"),
        (lambda m, q, v: supple.jacobian(m, q, 0, (1, 2)), StateError, "point must be three finite numbers"),
        (lambda m, q, v: supple.jacobian(m, q, 0, (1, 2, np.nan)), StateError, "point must be three finite numbers"),
        (lambda m, q, v: supple.jacobian(m, q, 0, "abc"), StateError, "point must be three finite numbers"),
        (lambda m, q, v: supple.jacobian(m, q, "bodi3"), ModelError, "did you mean 'body3'"),
        (lambda m, q, v: supple.jacobian(m, q, 12), ModelError, "there is no body 12"),
        (lambda m, q, v: supple.momentum(m, q, v, about="x"), StateError, "about must be 'com' or 'origin'"),
        (lambda m, q, v: supple.set_threads(0), StateError, "must be a whole number from 1 to 1024, not 0"),
    ],
)  # fmt: skip
def test_other_wrong_arguments(model, call, error, message):
    with pytest.raises(error, match=message):
        call(model, model.neutral(), np.zeros(model.nv))


# --- batches --------------------------------------------------------------------------------------------------------


@pytest.fixture
def threads():
    before = pool.threads()
    yield supple.set_threads
    supple.set_threads(before)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 33])
def test_batches_are_their_states(model, threads, size, count):
    threads(count)
    given = state(model, size, size)
    for name in FUNCTIONS:
        many = np.asarray(run(name, model, given))
        assert len(many) == size
        one = [run(name, model, {k: x[s] for k, x in given.items()}) for s in range(size)]
        if size:
            close(many, np.array(one))
        else:
            assert many.shape[1:] == np.shape(run(name, model, state(model)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_batched_beside_unbatched(model, name):
    """Each argument in turn, and all but it, has a batch axis; the others hold for every state."""
    takes = FUNCTIONS[name][0].split()
    many, one = state(model, 1, 5), state(model, 2)
    for what in takes:
        for batched in ({what}, set(takes) - {what}):
            if not batched:
                continue
            given = {k: many[k] if k in batched else one[k] for k in takes}
            each = [run(name, model, {k: many[k][s] if k in batched else one[k] for k in takes}) for s in range(5)]
            close(run(name, model, given), np.array(each))


def test_a_batch_without_the_optional_ones(model):
    given = state(model, 1, 5)
    for name in ("aba", "crba", "dense"):
        without = run(name, model, given | {"tau": None, "wrenches": None})
        close(without, run(name, model, given | {"tau": np.zeros((5, model.nv)), "wrenches": None}))


def test_arguments_are_left_alone(model):
    for given in (state(model), state(model, 0, 5)):
        before = {k: x.copy() for k, x in given.items()}
        for name in FUNCTIONS:
            run(name, model, given)
        for k, x in given.items():
            np.testing.assert_array_equal(x, before[k])


@pytest.mark.parametrize("batch", [(), (5,)], ids=["one", "batch"])
@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("kinetic_energy", "potential_energy")])
def test_results_are_new(model, name, batch):
    """Writable, of the right type, and nobody else's: not the arguments', not the next result's, not the model's."""
    given = state(model, 0, *batch)
    first, second = run(name, model, given), run(name, model, given)
    assert type(first) is np.ndarray and first.dtype == np.float64 and first.dtype is np.dtype(np.float64)
    assert first.flags.writeable and first.flags.aligned
    assert not np.shares_memory(first, second)
    for x in (*given.values(), *(x for x in vars(model).values() if isinstance(x, np.ndarray))):
        assert not np.shares_memory(first, x)
    expected = second.copy()
    first[...] = np.nan
    np.testing.assert_array_equal(run(name, model, given), expected)
    np.testing.assert_array_equal(second, expected)


@pytest.mark.parametrize("name", ["aba", "crba", "inverse_dynamics", "mass_matrix"])
def test_results_own_their_numbers(model, name):
    given = state(model)
    run(name, model, given)
    out = run(name, model, given)
    assert out.flags.owndata and out.flags.c_contiguous and out.base is None
    assert sys.getrefcount(out) == 2


def test_energies_are_numbers(model):
    given = state(model)
    assert type(run("kinetic_energy", model, given)) is float and type(run("potential_energy", model, given)) is float


# --- singular -------------------------------------------------------------------------------------------------------


def wrist():
    """Roll, pitch, roll: at pitch 0 the first and the last axis are one, and nothing in between has inertia.

    The numbers are powers of two, so that the pivot comes out as zero and not as what rounding leaves.
    """
    b = supple.ModelBuilder()
    b.add_body("fork", joint_name="roll", axis=(0, 0, 1))
    b.add_body("ring", "fork", joint_name="pitch", axis=(0, 1, 0))
    b.add_body("hand", "ring", joint_name="turn", axis=(0, 0, 1), mass=2.0, inertia=(4, 4, 4))
    return b.build()


def massless_finger():
    b = supple.ModelBuilder()
    b.add_body("arm", mass=1.0, com=(0.3, 0.2, 0.1), inertia=(1, 1, 1))
    b.add_body("finger", "arm", "prismatic", joint_name="grip", axis=(1, 2, 3))
    b.add_body("other", "arm", mass=1.0, com=(0.3, 0.2, 0.1), inertia=(1, 1, 1))
    return b.build(singular="report")


@pytest.mark.parametrize("method", ["aba", "crba"])
def test_singular_states(method):
    model, v = wrist(), np.zeros(3)
    good, bad = np.array([0.1, 0.5, 0.2]), np.zeros(3)
    supple.forward_dynamics(model, good, v, method=method)
    message = "the mass matrix is singular: joint 'roll' moves body 'fork'"
    with pytest.raises(SingularError, match=f"^{message}"):
        supple.forward_dynamics(model, bad, v, method=method)
    with pytest.raises(SingularError, match=f"^state 6 of the batch: {message}"):
        supple.forward_dynamics(model, np.stack([good] * 6 + [bad]), v, method=method)
    supple.forward_dynamics(model, good, v, method=method)  # and goes on


@pytest.mark.parametrize("method", ["aba", "crba"])
def test_singular_models(method):
    model = massless_finger()
    q, v = np.array([0.3, 0.4, 0.5]), np.ones(3)
    with pytest.raises(SingularError, match="joint 'grip' moves body 'finger' and what it carries"):
        supple.forward_dynamics(model, q, v, method=method)
    with pytest.raises(SingularError, match=r"^state 0 of the batch: .* joint 'grip'"):
        supple.forward_dynamics(model, np.stack([q] * 5), v, method=method)


def test_singular_by_the_dense_method():
    with pytest.raises(SingularError, match="the mass matrix is singular; method 'aba' names the joint"):
        supple.forward_dynamics(massless_finger(), np.zeros(3), np.zeros(3), method="dense")


def test_what_singular_models_can_do():
    model = massless_finger()
    q, v = np.array([0.3, 0.4, 0.5]), np.ones(3)
    assert np.isfinite(supple.inverse_dynamics(model, q, v, v)).all()
    assert np.isfinite(supple.poses(model, q).position).all()
    assert supple.mass_matrix(model, q)[1, 1] == 0.0


def test_models_without_any_mass():
    """Inertia alone: energy and momentum are there, a centre of mass is not."""
    b = supple.ModelBuilder("wheel")
    b.add_body("wheel", axis=(0, 0, 1), inertia=(1, 1, 2))
    model = b.build()
    assert supple.kinetic_energy(model, [0.3], [2.0]) == pytest.approx(4.0, rel=1e-15)
    assert supple.potential_energy(model, [0.3]) == 0.0
    np.testing.assert_allclose(supple.momentum(model, [0.3], [2.0], "origin"), [0, 0, 4, 0, 0, 0], atol=1e-15)
    for call in (lambda: supple.center_of_mass(model, [0.3]), lambda: supple.momentum(model, [0.3], [2.0])):
        with pytest.raises(ModelError, match="'wheel' has no mass, and so no centre of mass"):
            call()


# --- memory ---------------------------------------------------------------------------------------------------------


def test_too_large_is_refused_before_anything_is_allocated(monkeypatch):
    """A chain of 200,000: 160 GB packed, 320 GB dense; on a machine of 16 GB."""
    monkeypatch.setattr(memory, "physical_memory", lambda: 16 * 10**9)
    model = supple.trees.chain(200_000)
    q, v = model.neutral(), np.zeros(model.nv)
    attempts = {
        r"a dense mass matrix of 200000 degrees .* 320 GB .* has 16 GB; use mass_matrix\(..., sparse=True\)": [
            lambda: supple.mass_matrix(model, q),
            lambda: supple.forward_dynamics(model, q, v, method="dense"),
        ],
        r"mass matrix of 'chain', .* would take 160 GB .*; use method='aba'": [
            lambda: supple.mass_matrix(model, q, sparse=True),
            lambda: supple.forward_dynamics(model, q, v, method="crba"),
            lambda: supple.forward_dynamics(model, q, v[None], method="crba"),
        ],
    }
    supple.forward_dynamics(model, q, v)  # which needs no matrix; and now the tables are there
    for message, ways in attempts.items():
        for way in ways:
            tracemalloc.start()
            with pytest.raises(ModelError, match=message):
                way()
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 10_000_000, "numbers were made before the refusal"


def test_a_batch_of_matrices_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "physical_memory", lambda: 10**6)
    model = supple.trees.chain(30)
    q = np.broadcast_to(model.neutral(), (200, model.nq))
    message = r"the result \(mass matrix\) for a batch of 200 states .* use smaller batches"
    with pytest.raises(ModelError, match=message):
        supple.mass_matrix(model, q)


def test_memory_is_asked_of_the_system():
    assert memory.physical_memory() is None or memory.physical_memory() > 2**28


def resident():
    with open("/proc/self/statm") as f:  # noqa: PTH123
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def repeat(n, f, *arguments):
    for _ in range(n):
        f(*arguments)


def failing(f, *arguments):
    try:
        f(*arguments)
    except (StateError, SingularError):
        return
    raise AssertionError("did not fail")


def test_reference_counts(model):
    """10,000 calls, good and bad, leave every argument, and what kernels know of, as often referred to as before."""
    given = state(model)
    q, v, tau, w = (given[k] for k in ("q", "v", "tau", "wrenches"))
    bad = np.full(model.nv, np.nan)
    watched = [q, v, tau, w, bad, np.dtype(np.float64), np.ndarray, model]
    run("aba", model, given)
    failing(supple.forward_dynamics, model, q, bad)
    gc.collect()
    before = [sys.getrefcount(x) for x in watched]
    repeat(5_000, supple.forward_dynamics, model, q, v, tau, w)
    repeat(5_000, supple.mass_matrix, model, q)
    repeat(500, failing, supple.forward_dynamics, model, q, bad)
    gc.collect()
    after = [sys.getrefcount(x) for x in watched]
    assert after[:5] == before[:5] and after[7] == before[7]
    assert np.abs(np.subtract(after[5:7], before[5:7])).max() < 50  # others come and go, not one a call


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")  # noqa: PTH110
def test_memory_does_not_grow():
    """200,000 calls, of which every tenth fails after its result was made."""
    model = supple.trees.chain(20)
    q, v = model.random(0), np.ones(20)
    huge, small = np.full(20, 1e200), wrist()
    nothing = np.zeros(3)

    def some(n):
        repeat(9 * n, supple.forward_dynamics, model, q, v)
        repeat(n // 2, failing, supple.inverse_dynamics, model, q, huge, v)
        repeat(n // 2, failing, supple.forward_dynamics, small, nothing, nothing)

    some(200)
    gc.collect()
    before = resident()
    some(20_000)
    gc.collect()
    assert resident() - before < 3_000_000  # leaking would take 180,000 x 272 bytes = 49 MB, or 20,000 x 272 = 5.4 MB


# --- threads --------------------------------------------------------------------------------------------------------


def in_threads(count, f):
    """f(k) on as many threads, started together; what they raise is raised here."""
    gate, wrong = threading.Barrier(count), []

    def body(k):
        try:
            gate.wait()
            f(k)
        except BaseException as e:
            wrong.append(e)

    started = [threading.Thread(target=body, args=(k,)) for k in range(count)]
    for t in started:
        t.start()
    for t in started:
        t.join()
    if wrong:
        raise wrong[0]


def test_two_threads_on_one_model(model, threads):
    """Singles share the model's scratch under the interpreter's lock; batches have their own."""
    threads(2)
    one = [state(model, k) for k in range(2)]
    many = [state(model, k, 40) for k in range(2)]
    names = ("aba", "crba", "inverse_dynamics", "mass_matrix", "poses")
    expected = [{n: (run(n, model, one[k]), run(n, model, many[k])) for n in names} for k in range(2)]

    def work(k):
        for _ in range(60):
            for n in names:
                np.testing.assert_array_equal(run(n, model, one[k]), expected[k][n][0])
                np.testing.assert_array_equal(run(n, model, many[k]), expected[k][n][1])

    in_threads(2, work)


def test_first_calls_from_several_threads():
    """Tables and scratch are made on the first call; whoever is late must not take them from under the others."""
    expected = None
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for attempt in range(10):
            model = supple.trees.chain(200)
            q, v = model.random(0), np.ones(200)
            results = [[] for _ in range(4)]

            def work(k, model=model, q=q, v=v, results=results):
                for _ in range(20):
                    results[k].append(supple.forward_dynamics(model, q, v))
                    results[k].append(supple.forward_dynamics(model, q, v, method="crba"))

            in_threads(4, work)
            if attempt == 0:
                expected = results[0][:2]
            for row in results:
                for k, x in enumerate(row):
                    np.testing.assert_array_equal(x, expected[k % 2])
    finally:
        sys.setswitchinterval(interval)


def test_threads_divide_a_batch(threads):
    """Pieces cover the batch once, in whole registers."""
    for count in (1, 2, 3, 8):
        threads(count)
        for size in (0, 1, 31, 32, 33, 100, 257):
            seen = []
            pool.in_parallel(lambda bounds, seen=seen: seen.append(bounds) or 0, size)
            covered = [k for first, stop in sorted(seen) for k in range(first, stop)]
            assert covered == list(range(size))
            assert len(seen) <= pool._PIECES * count and all(first % pool.WIDTH == 0 for first, _ in seen)


def test_batches_while_python_ends():
    """When no thread can be started any more."""
    code = (
        "import atexit, numpy as np, supple\n"
        "m = supple.trees.chain(3); q = np.zeros((500, 3)); supple.set_threads(2)\n"
        "a = supple.forward_dynamics(m, q, q)\n"
        "atexit.register(lambda: print('same', np.array_equal(supple.forward_dynamics(m, q, q), a)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert out.stdout == "same True\n", out.stderr
