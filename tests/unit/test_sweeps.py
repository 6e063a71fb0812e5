"""Sweeps in memory: what they go over, what is refused before anything runs, what they give."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from inspect import signature
from pathlib import Path
from threading import Lock

import numpy as np
import pytest

import supple
from supple import Range, StateError, SweepError
from supple.sweeping import work
from supple.sweeping.cut import Cut
from supple.sweeping.work import do_here
from supple.walking.walkers import events
from sweeps import Shuffled, batched, deadly, mixed, noisy, same
from tests.fuzz.odd_values import odd


def made(what, over, **how):
    return supple.sweep(what, over, engine="serial", **how)


# --- what it goes over ----------------------------------------------------------------------------------------------


def test_a_grid_is_the_product_of_its_axes_in_order():
    s = made(lambda a, b: 10 * a + b, {"a": [1, 2, 3], "b": "4:5:2"})
    assert s.shape == (3, 2) and s.dimensions == ("a", "b") and len(s) == 6
    assert np.array_equal(s["result"], [[14, 15], [24, 25], [34, 35]])
    assert s.parameters(3) == {"a": 2, "b": 5.0} and s.axes["b"].tolist() == [4.0, 5.0]
    assert s.done == 6 and not s.failed and not s.missing and s.units == {"wall_time": "s"}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1:3:3", [1, 2, 3]),
        ("1:100:3:log", [1, 10, 100]),
        ("5, 10,15", [5, 10, 15]),
        ("7", [7]),
        ("3:1:3", [3, 2, 1]),
    ],
)
def test_values_as_text(text, values):
    assert np.allclose(made(lambda a: a, {"a": text}).axes["a"], values, rtol=1e-15)


def test_ranges_in_python():
    s = made(lambda a: a, {"a": Range(1e-4, 1e-2, 3, log=True)})
    assert np.allclose(s["result"], [1e-4, 1e-3, 1e-2])


@pytest.mark.parametrize("sampling", ["sobol", "latin-hypercube", "random"])
def test_samples_fill_the_ranges_and_follow_from_the_seed(sampling):
    how = dict(samples=60, sampling=sampling)
    over = {"a": "2:4", "b": Range(1e-3, 10.0, log=True), "n": "1:6"}

    def f(a, b, n: int):
        assert isinstance(n, int)
        return a

    s, again, other = (made(f, over, seed=k, **how) for k in (3, 3, 4))
    assert s.dimensions == ("sample",) and s.shape == (60,)
    assert same(s, again) and (s.axes["a"] != other.axes["a"]).all()
    assert 2 <= s.axes["a"].min() < 2.2 and 3.8 < s.axes["a"].max() <= 4
    assert np.median(np.log10(s.axes["b"])) == pytest.approx(-1, abs=0.5)  # half of them below the middle of the ratios
    assert set(s.axes["n"].tolist()) == set(range(1, 7))


@pytest.mark.parametrize(("text", "low", "high"), [("5:1", 1, 5), ("0.5:3.5", 1, 3), ("9:2:log", 2, 9), ("4:4", 4, 4)])
def test_whole_numbers_are_sampled_from_all_there_are(text, low, high):
    def f(n: int):
        return n

    assert set(made(f, {"n": text}, samples=64).axes["n"].tolist()) == set(range(low, high + 1))
    with pytest.raises(StateError, match=r"no whole number from 1\.2 to 1\.8"):
        made(f, {"n": "1.2:1.8"}, samples=4)


def test_text_and_large_whole_numbers_stay_what_they_are():
    assert made(lambda a: a, {"a": np.array(["x", "y"])}).axes["a"].tolist() == ["x", "y"]
    assert made(lambda a: a % 10, {"a": "9007199254740993"})["result"].tolist() == [3]


def test_repeats_have_seeds_and_the_others_the_same_ones():
    s = made(noisy, {"a": [1, 2]}, repeats=3, seed=40)
    assert s.dimensions == ("a", "repeat") and s.axes["seed"].tolist() == [40, 41, 42]
    assert s["x"][0, 1] == 1 + np.random.default_rng(41).random()
    assert np.allclose(s["x"][1] - s["x"][0], 1, atol=1e-15)


# --- what is refused before anything runs ---------------------------------------------------------------------------


def never(a, b=0):
    raise AssertionError("it runs")


@pytest.mark.parametrize(
    ("over", "how", "said"),
    [
        ({}, {}, "goes over something"),
        ({"c": [1]}, {}, "no parameter named 'c'.*a, b"),
        ({"a": []}, {}, "from 1 to"),
        ({"a": [1, float("nan")]}, {}, "finite numbers"),
        ({"a": np.array([1.0, np.inf])}, {}, "finite numbers"),
        ({"a": "1:2:x"}, {}, "is no range"),
        ({"a": "0:1:2:log"}, {}, "positive numbers"),
        ({"a": "1:2:2.5"}, {}, "is no range"),
        ({"a": "1,,2"}, {}, "a value is missing"),
        ({"a": 5}, {}, "list of values"),
        ({"a": [1, "x"]}, {}, "all numbers, all text"),
        ({"a": [print]}, {}, "finite numbers, text"),
        ({"a": np.ones((2, 2))}, {}, "shape"),
        ({"b": [1]}, {}, "needs a"),
        ({"a": [1]}, {"fixed": {"a": 2}}, "varied, and fixed"),
        ({"a": "1:2"}, {}, "say how many"),
        ({"a": [1]}, {"samples": 4}, "there is none"),
        ({"a": [1]}, {"repeats": 2}, "takes no seed"),
        ({"a": [1]}, {"quantities": ["state"]}, "are for scenes"),
        ({"a": [1]}, {"resume": True}, "give out="),
        ({"a": [1]}, {"units": {"x": 3}}, "units"),
        ({"a": range(10**5), "b": range(10**4)}, {}, "at most 100,000,000"),
        ({"a": [1]}, {"workers": 2}, "leave workers out"),
        ({3: [1]}, {}, "3 is none"),
        ({"a": b"12"}, {}, "not over bytes"),
        ({"a": "-1e308:1e308:5"}, {}, "too wide"),
    ],
)
def test_wrong_parameters_of_functions(over, how, said):
    with pytest.raises(StateError, match=said):
        made(never, over, **how)


@pytest.mark.parametrize(
    ("scene", "over", "how", "said"),
    [
        ("compas", {"slope": [0.1]}, {}, "did you mean 'compass'"),
        ("compass", {"slop": [0.1]}, {}, "did you mean 'slope'"),
        ("compass", {"slope": [0.1, 2.0]}, {}, "slope must be a number between -1 and 1"),
        ("compass", {"slope": ["x"]}, {}, "must be a number, not 'x'"),
        ("compass", {"slope": [float("nan")]}, {}, "slope must be"),
        ("compass", {"start": ["table", "tabel"]}, {}, "did you mean 'table'"),
        ("compass", {"hip_mass": "0:1:2"}, {}, "positive"),
        ("pendulum", {"links": "1:4:3"}, {}, "whole number"),
        ("pendulum", {"method": ["aba", "abba"]}, {}, "did you mean 'aba'"),
        ("pendulum", {"dt": [0.01, 0.0]}, {}, "positive"),
        ("pendulum", {"duration": [float("inf")]}, {}, "finite"),
        ("pendulum", {"rtol": [1e-6]}, {}, "dop853"),
        ("pendulum", {"links": [2]}, {"quantities": ["gait"]}, "no walker"),
        ("pendulum", {"links": [2]}, {"quantities": ["energie"]}, "did you mean 'energies'"),
        ("pendulum", {"links": [2]}, {"repeats": 2}, "takes no seed"),
        ("pendulum", {"links": [2]}, {"batch": 2}, "one by one"),
        ("compass", {"dt": [0.1]}, {"quantities": ["gait"]}, "leave it out"),
    ],
)
def test_wrong_parameters_of_scenes(scene, over, how, said):
    with pytest.raises(StateError, match=said):
        made(scene, over, **how)


NONE = ["dusk", "dask://", "dask://localhost", "dask://localhost:99999", "dask://a b:80", "dask://x:80:80", 3, object()]


@pytest.mark.parametrize("engine", NONE)
def test_what_is_no_engine(engine):
    with pytest.raises(StateError, match="engine"):
        supple.sweep(never, {"a": [1]}, engine=engine)


def test_odd_arguments_are_taken_or_refused_in_words(tmp_path):
    rng, usual = np.random.default_rng(2), {"over": {"a": [1]}, "engine": "serial"}
    names = [name for name in signature(supple.sweep).parameters if name not in ("what", "engine", "workers")]
    for _ in range(300):
        name = names[rng.integers(len(names))]
        value = odd(rng)
        if name in ("samples", "repeats") and isinstance(value, (int, float)) and value > 1000:
            continue  # who asks for so many runs gets them
        try:
            given = usual | {name: {"a": value} if name == "over" and rng.random() < 0.7 else value}
            if name == "out" and isinstance(value, (str, Path)):
                continue  # a folder of that name
            repr(supple.sweep(lambda a, seed=0: a, **given))
        except supple.SuppleError as e:
            assert str(e)


# --- what it gives --------------------------------------------------------------------------------------------------


def test_a_run_that_fails_is_a_failure_of_its_own():
    s = made(noisy, {"a": [1, 2, 3], "b": [1, 2]})
    assert s.failed == 1 and s.done == 5 and np.isnan(s["x"][2, 1])
    (bad,) = s.failures
    assert bad.run == 5 and bad.parameters == {"a": 3, "b": 2} and "do not go together" in bad.message
    assert s["several"].shape == (3, 2, 3) and s["word"][1, 0] == "a is 2" and s["word"][2, 1] == ""
    assert np.isnan(s["several"][2, 0, 1:]).all() and np.isfinite(s["several"][1, 0]).all()
    assert "1 failed" in repr(s)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (None, "None"),
        (1j, "real and imaginary"),
        ({"a": 1}, "a parameter is"),
        ({"status": 1}, "Supple's own"),
        ({"../x": 1}, "cannot be called"),
        ({"": 1}, "cannot be called"),
        ({3: 1}, "cannot be called"),
        ({"x": "y" * 300}, "characters"),
        ({"x": object()}, "object"),
        (10**400, "too large"),
    ],
)
def test_what_no_quantity_can_be(returned, said):
    s = made(lambda a: returned, {"a": [1]})
    assert s.failed == 1 and said in s.failures[0].message


def test_quantities_that_do_not_go_together_fail_alone():
    s = made(lambda a: "text" if a == 2 else 1.0, {"a": [1, 2, 3]})
    assert s.status.tolist() == [1, 0, 1] and "something else in other runs" in s.failures[0].message
    s = made(lambda a: np.ones((2, a)) if a < 3 else np.ones(a), {"a": [2, 1, 3]})
    assert s.status.tolist() == [1, 1, 0] and "a list of numbers here" in s.failures[0].message
    assert s["result"].shape == (3, 2, 2) and np.isnan(s["result"][1, :, 1]).all()


def test_what_a_quantity_is_does_not_depend_on_who_computes_it_when(tmp_path, monkeypatch):
    """Text, numbers and arrays of several shapes under one name: the first run decides, also if it comes last."""
    monkeypatch.setattr("supple.sweeping.driver.BUNDLE", 1e-4)
    for seed in range(8):
        how = dict(over={"a": range(30)}, fixed={"seed": seed})
        one = supple.sweep(mixed, engine="serial", **how)
        assert same(one, supple.sweep(mixed, engine=Shuffled(seed), **how))
        assert same(one, supple.sweep(mixed, engine=Shuffled(seed), out=tmp_path / f"{seed}.zarr", **how))
        assert 0 < one.failed < 30


def test_names_that_are_supples_own():
    with pytest.raises(StateError, match="wall_time is the name of something else"):
        made(lambda wall_time: 1.0, {"wall_time": [1, 2]})
    s = made(lambda x_0: {"x": np.ones(3)}, {"x_0": [1, 2, 3, 4]})
    assert dict(s.to_xarray().sizes) == {"x_0": 4, "x_0_": 3}


class Unspeakable(BaseException):
    def __str__(self):
        raise RuntimeError


def test_whatever_is_raised_is_a_failure():
    def f(a):
        raise (GeneratorExit, KeyboardInterrupt, Unspeakable)[a]

    with ThreadPoolExecutor(1) as threads:
        s = supple.sweep(f, {"a": [0, 1, 2]}, engine=threads)
    assert [x.message for x in s.failures] == ["GeneratorExit", "KeyboardInterrupt", "Unspeakable"]


def test_sys_exit_and_endless_recursion_are_failures():
    def f(a):
        if a == 1:
            raise SystemExit(3)
        return f(a)

    s = made(f, {"a": [1, 2]})
    assert s.failed == 2 and "SystemExit" in s.failures[0].message and "Recursion" in s.failures[1].message


def test_batches_get_arrays():
    s = made(batched, {"x": "0:3:4", "y": "0:4:5"}, batch=6)
    assert s["r"].shape == (4, 5) and s["both"].shape == (4, 5, 2)
    assert np.array_equal(s["r"], np.hypot(*np.meshgrid(s.axes["x"], s.axes["y"], indexing="ij")))
    bad = made(lambda x: np.zeros(3), {"x": "0:3:4"}, batch=4)
    assert bad.failed == 4 and "a row for each" in bad.failures[0].message
    other = made(lambda x: np.zeros(4) if x[0] else np.zeros((4, 2)), {"x": range(8)}, batch=4)
    assert other.status.tolist() == [1] * 4 + [0] * 4 and "a number here" in other.failures[0].message
    wide = made(lambda x: np.zeros((len(x), 30)), {"x": range(50_000)}, batch=50_000)
    assert wide.done == 50_000 and wide["result"].shape == (50_000, 30)


def test_a_scene_gives_named_quantities_with_units():
    s = made("compass", {"slope": [0.03, 0.0524]}, fixed={"duration": 0.8, "integrator": "dop853", "dt": 0.02})
    assert s.done == 2 and s["events_foot_at_the_ground"].tolist() == [2.0, 2.0]
    assert s.units["kinetic"] == "J" and s.units["time"] == "s" and s["final_q"].shape == (2, 2)
    walker = supple.scenes.compass(slope=0.03)
    how = dict(duration=0.8, integrator="dop853", dt=0.02, events=events(walker))
    run = supple.simulate(walker.model, walker.q, walker.v, **how)
    assert s["final_q"][0].tobytes() == run.final.q.tobytes() and s["kinetic"][0] == run.segments[-1].kinetic[-1]
    assert s["energy_change"][0] == run.energy[-1] - run.energy[0] and s["time"][0] == 0.8


def test_adaptive_runs_say_their_error_and_their_active_joints():
    s = made("pendulum", {"active": [2, 4]}, fixed={"method": "adaptive", "links": 8, "duration": 0.05, "dt": 1e-3})
    assert (s["active_joints"] <= [2, 4]).all() and (s["error"] >= 0).all()


def test_gaits_are_those_of_gait():
    s = made("compass", {"slope": [0.04, 0.05]}, quantities=["gait"])
    found = supple.gait(supple.scenes.compass(slope=0.05))
    assert s["period"][1] == found.period and s["stable"].tolist() == [1, 1]
    assert s["largest_eigenvalue"][1] == abs(found.eigenvalues[0])


def test_plots_of_every_kind(tmp_path):
    one = made(lambda a: a * a, {"a": "0:1:9"})
    lines = made(lambda a, b: a * b, {"a": "0:1:9", "b": [1, 2]})
    words = made(lambda a, b: len(a) * b, {"a": ["x", "yy"], "b": [1, 2]})
    heat = made(lambda a, b: a * b, {"a": "0:1:9", "b": "1:1e4:12:log"})
    three = made(lambda a, b, c: a * b * c, {"a": "0:1:9", "b": "1:2:8", "c": [1, 2]})
    points = made(lambda a: np.arange(3) * a, {"a": "0:1:9"})
    drawn = made(lambda a, b: a * b, {"a": "0:1", "b": "1:2"}, samples=16)
    alone = made(lambda a: a, {"a": "0:1"}, samples=16)
    means = made(noisy, {"a": [1, 2, 3]}, repeats=3)
    single = made(lambda a: a, {"a": [2]})
    huge = made(lambda a: 1e308 * (-1) ** a, {"a": [1, 2, 3]})
    for i, s in enumerate((one, lines, words, heat, three, points, drawn, alone, means, single, huge)):
        s.plot(tmp_path / f"{i}.svg")
        assert "<text" in (tmp_path / f"{i}.svg").read_text() or (tmp_path / f"{i}.svg").stat().st_size > 5000
    with pytest.raises(StateError, match="no quantity named 'resul'"):
        one.plot(quantity="resul")
    with pytest.raises(StateError, match="is text"):
        means.plot(quantity="word")


def test_axes_are_drawn_in_their_order():
    """However they were given."""
    s = made(lambda a, b: 10 * a + b, {"a": [5, 15, 10, 1, 7, 9, 2], "b": "9:1:8"})
    (mesh,) = s.plot().axes[0].collections
    drawn = mesh.get_array().reshape(8, 7)
    assert (np.diff(drawn, axis=0) > 0).all() and (np.diff(drawn, axis=1) > 0).all()
    (line,) = made(lambda a: a * a, {"a": [3, 1, 2]}).plot().axes[0].lines
    assert line.get_xdata().tolist() == [1, 2, 3] and line.get_ydata().tolist() == [1, 4, 9]


# --- where it runs --------------------------------------------------------------------------------------------------


def test_processes_give_the_same_bits_and_survive_a_run_that_kills_them():
    """Lambdas and functions inside others go to other processes, too; a run that kills its process is a failure."""
    over = {"a": list(range(12))}
    s = supple.sweep(lambda a: deadly(a), over, workers=2)
    assert s.status.tolist() == [1] * 7 + [0] + [1] * 4 and "its process died" in s.failures[0].message
    assert [x for x in s["result"] if x == x] == [a * a for a in range(12) if a != 7]


def test_a_bundle_that_takes_long_gives_back_what_it_has_not_made(monkeypatch):
    over = {"a": [1, 2, 3, 4, 5, 6], "b": [1, 2, 4]}
    whole = made(noisy, over)
    monkeypatch.setattr("supple.sweeping.work.LONG", 0.0)
    sent = []
    monkeypatch.setattr("supple.sweeping.driver.do_here", lambda work, x: sent.append(len(x["a"])) or do_here(work, x))
    assert same(made(noisy, over), whole) and max(sent) > 1 and len(sent) >= 18


def test_what_is_large_is_sent_to_a_worker_once(monkeypatch):
    big, sent = np.arange(100_000.0), []

    class Watched(ThreadPoolExecutor):
        def submit(self, function, parcel, columns):
            sent.append(parcel.content)
            return super().submit(function, parcel, columns)

    monkeypatch.setattr("supple.sweeping.driver.BUNDLE", 1e-6)
    with Watched(1) as threads:
        s = supple.sweep(lambda a: big[a], {"a": range(50)}, engine=threads)
    assert s["result"].tolist() == list(range(50))
    assert len(sent) > 50 and 1 <= sum(x is not None for x in sent) <= 3


def test_a_worker_of_another_version_is_refused(monkeypatch):
    with ThreadPoolExecutor(1) as threads:
        monkeypatch.setattr("supple.sweeping.work.__version__", "9.9")
        held = work.parcel(work.Work(None, {}, frozenset()))
        monkeypatch.undo()
        monkeypatch.setattr("supple.sweeping.driver.parcel", lambda _: held)
        with pytest.raises(SweepError, match=r"a worker has Supple .*, and what began the sweep has 9\.9"):
            supple.sweep(noisy, {"a": [1]}, engine=threads)


def test_an_executor_that_is_given_is_used():
    with ThreadPoolExecutor(3) as threads:
        s = supple.sweep(noisy, {"a": [1, 2, 3], "b": [1, 2]}, engine=threads)
    assert same(s, made(noisy, {"a": [1, 2, 3], "b": [1, 2]}))
    with pytest.raises(SweepError, match="takes no runs"):
        supple.sweep(noisy, {"a": [1]}, engine=threads)


def test_what_cannot_be_sent_is_said_before_anything_runs():
    held = Lock()
    with pytest.raises(StateError, match=r"cannot be sent to other processes.*engine='serial'"):
        supple.sweep(lambda a: held.locked(), {"a": [1]})


# --- chunks ---------------------------------------------------------------------------------------------------------


def test_chunks_are_stretches_of_runs():
    rng = np.random.default_rng(5)
    for _ in range(60):
        shape = tuple(rng.integers(1, 30, rng.integers(1, 5)).tolist())
        cut, size = Cut.of(shape, int(rng.integers(1, 300))), int(np.prod(shape))
        numbers = np.array([cut.place(i)[0] for i in range(size)])
        assert (np.diff(numbers) >= 0).all()
        places = np.unravel_index(np.arange(size), shape)
        for number in np.unique(numbers).tolist():
            runs = np.flatnonzero(numbers == number)
            assert runs[0] == cut.start(number) and runs[-1] == cut.stop(number) - 1
            for axis, at in enumerate(cut.index(number)):
                assert (places[axis][runs] // cut.chunks[axis] == at).all()
