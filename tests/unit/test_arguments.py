"""What public calls take: each kind of argument, what is said of others, and the calls in which odd ones were taken."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
import pytest

import supple
from supple import arguments, memory, scenes, trees
from supple.arguments import Count, Positive, Row, Seed, Triple, checked, checked_as, kind_of, take
from supple.errors import ModelError, StateError


class Hostile:
    """Whatever is asked of it fails."""

    def _fail(self, *args):
        raise OSError("no")

    __float__ = __int__ = __len__ = __iter__ = __array__ = __repr__ = __eq__ = __fspath__ = _fail
    __hash__ = object.__hash__


class Entry:
    """Something that has a path."""

    def __init__(self, path: Any) -> None:
        self.path = path

    def __fspath__(self) -> Any:
        return self.path


GOOD = [
    (float, 1, 1.0), (float, np.float32(0.5), 0.5), (float, Fraction(1, 4), 0.25), (float, np.array(2.0), 2.0),
    (int, 3.0, 3), (int, np.int8(3), 3), (int, 10**30, 10**30), (bool, np.True_, True), (str, "é", "é"),
    (Positive, 1e-300, 1e-300), (Count, 1.0, 1), (str | int, np.int64(2), 2), (str | int, "knee", "knee"),
    (str | Path, "run.h5", "run.h5"), (Literal["a", "b"], "b", "b"), (Literal[-1, 0, 1], np.int64(-1), -1),
    (Sequence[str | int], np.array([0, 1]), [0, 1]), (tuple[str, str], ["a", "b"], ("a", "b")),
    (float | None, None, None), (int | Sequence[int] | None, (1, 2), [1, 2]), (Any, Hostile, Hostile),
    (Callable[[float], float], abs, abs), (str | Path, "\udcff", "\udcff"),
    (int, np.uint64(2**63 + 1), 2**63 + 1), (int, np.array(2**53 + 1), 2**53 + 1),
    (str | Path, PurePosixPath("run.h5"), "run.h5"), (str | Path | None, Entry("é"), "é"),
    (Path, Entry(b"\xff"), "\udcff"), (float | None, None, None),
]  # fmt: skip

NO_NUMBER = (None, "1", b"1", 1j, True, np.nan, np.inf, [1.0], np.ones(1), np.ma.masked, Decimal(1), Hostile(), 10**400)
BAD = [
    *((float, x) for x in NO_NUMBER), *((int, x) for x in (*NO_NUMBER[:-1], 2.5)),
    *((bool, x) for x in (1, 0, None, "x")),
    *((str, x) for x in (b"x", None, "a\0", "\ud800")),
    *((str | Path, x) for x in ("", "a\0", 5, None, b"x", "\ud800", Hostile())),
    *((str | Path, Entry(x)) for x in ("", "a\0", "x" * 256, 5)),
    *((Positive, x) for x in (0.0, -1.0)), *((Count, x) for x in (0, -1)), *((str | int, x) for x in (True, 1.0, None)),
    *((Literal["a", "b"], x) for x in ("c", 1, None, [])), *((Literal[-1, 0, 1], x) for x in (2, "1", True)),
    *((Sequence[str | int], x) for x in ("ab", 3, {"a": 1}, [None], range(10**12))), (tuple[str, str], ["a"]),
    *((Callable[[float], float], x) for x in (3, lambda: 0, lambda x, y: 0)), (supple.Model, "model"),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "given", "form"), GOOD, ids=range(len(GOOD)))
def test_what_fits_is_given_in_our_form(hint, given, form):
    kind = kind_of(hint)
    got = given if kind is None else take("x", given, kind)
    assert got == form and type(got) is type(form)


@pytest.mark.parametrize(("hint", "given"), BAD, ids=lambda x: type(x).__name__)
def test_what_does_not_is_refused_by_name(hint, given):
    kind = kind_of(hint)
    with pytest.raises(supple.StateError, match=r"^f: x must be .*[,;] not ") as caught:
        take("f: x", given, kind)
    assert kind.wanted in str(caught.value) and len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "given",
    [np.ones(3) + 1j, ["a", "b"], np.array([1, None]), [[1, 2], [3]], [10**400], np.zeros(2, dtype="M8[s]"), Hostile(),
     {"a": 1}, {1.0}, None, np.zeros(2, dtype="f8,f8"), b"12"],
)  # fmt: skip
def test_what_is_no_array_of_real_numbers(given):
    with pytest.raises(supple.StateError, match=r"^q must be an array of real numbers, not "):
        arguments.as_floats("q", given)


def test_arrays_of_other_forms_become_plain():
    """Contiguous, aligned float64; and the array itself where it is that."""
    x = np.arange(6.0)
    assert arguments.as_floats("x", x) is x
    unaligned = np.frombuffer(b"\0" + x.tobytes(), dtype=np.uint8)[1:].view("f8")
    for given in (x.tolist(), x.astype(np.float32), x.astype(">f8"), np.repeat(x, 2)[::2], unaligned, np.ma.array(x)):
        got = arguments.as_floats("x", given)
        assert type(got) is np.ndarray and got.dtype == np.float64 and got.flags.c_contiguous and got.flags.aligned
        np.testing.assert_array_equal(got, x)
    assert arguments.as_floats("x", 3).shape == () and arguments.as_floats("x", []).shape == (0,)


REAL = [Fraction(1, 3), 2**64, -(10**30), 0.5, True, np.float32(0.5), np.int8(3)]


@pytest.mark.parametrize("form", [list, tuple, lambda x: np.array(x, dtype=object), lambda x: [x, x]])
def test_real_numbers_of_any_class_are_taken_as_float_takes_them(form):
    for given in (REAL, REAL[:1], [2**64], [2**63, -1], [10**300], [Fraction(10**400, 10**399)]):
        got = arguments.as_floats("q", form(given))
        assert got.dtype == np.float64 and got.reshape(-1, len(given))[0].tolist() == [float(x) for x in given]
    model = trees.chain(3)
    np.testing.assert_array_equal(model.integrate([Fraction(1, 4), 2**64, 0], [0, 0, 1], 1), [0.25, 2.0**64, 1.0])
    np.testing.assert_array_equal(
        supple.mass_matrix(model, [Fraction(1, 4)] * 3), supple.mass_matrix(model, [0.25] * 3)
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([0.5, 10**400], "one with a number in it that is too large for float64"),
        ([0.5, Decimal("0.5")], r"one with Decimal\('0.5'\) in it: give float\(x\) of each"),
        ([Fraction(1, 2), None], "one with None in it"),
        ([Fraction(1, 2), "x"], "one with 'x' in it"),
        ([Fraction(1, 2), 1j], "one with 1j in it"),
        ([Fraction(1, 2), object], "one with <class 'object'> in it"),
        (np.broadcast_to(np.array(Fraction(1, 2)), 10**12), r"one of 1,000,000,000,000 objects: .*dtype=float"),
    ],
)
def test_what_else_is_in_a_list_is_named(given, said):
    with pytest.raises(StateError, match=f"^q must be an array of real numbers, not {said}"):
        arguments.as_floats("q", given)


def test_whole_numbers_beyond_64_bits_are_refused_in_lists_of_indices():
    for given in ([2**64], [2**63], [-(2**70)], np.array([2**63], dtype=np.uint64), [Fraction(1)]):
        with pytest.raises(StateError, match=r"^x must be an array of whole numbers, not "):
            take("x", given, arguments.WHOLE_NUMBERS)


@pytest.mark.parametrize(
    ("hint", "wanted"),
    [
        (Sequence[supple.Event] | supple.Event, "a supple.Event or a list of them"),
        (supple.Event | Sequence[supple.Event] | None, "a supple.Event or a list of them, or None"),
        (None | Sequence[int] | int, "a whole number or a list of them, or None"),
        (None | Sequence[str] | int, "a whole number or a list of values, each text, or None"),
        (Sequence[str | int] | str | int, "a name or a number or a list of them"),
        (None | float, "a finite number, or None"),
        (Callable[[float], float] | Literal["stop"] | None, "a function of 1 argument or 'stop', or None"),
    ],
)
def test_single_values_come_first_then_lists_then_none(hint, wanted):
    assert kind_of(hint).wanted == wanted


def test_masks_are_not_ignored():
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[1, 0, 0])
    for given in (masked, [masked, masked]):
        with pytest.raises(supple.StateError, match="masked entries"):
            arguments.as_floats("q", given)


class Options(TypedDict, total=False):
    size: Positive


@checked
def call(
    a: float, b: Count = 2, *more: str, c: Triple = (0, 0, 0), seed: Seed = None, **options: Unpack[Options]
) -> Any:
    return a, b, more, c, seed, options


@checked
@dataclass(frozen=True)
class Thing:
    name: str
    at: Triple = (1.0, 2.0, 3.0)
    row: Row = 0.5
    kept: Any = None


def test_checked_calls_take_arguments_as_python_does():
    a, b, more, c, seed, options = call(1, 3.0, "x", "y", c=[1, 2, 3], seed=4, size=2)
    assert (a, b, more, options) == (1.0, 3, ("x", "y"), {"size": 2.0}) and type(b) is int
    assert c.tolist() == [1.0, 2.0, 3.0] and isinstance(seed, np.random.Generator)
    assert call(b=1, a=2)[:2] == (2.0, 1) and call.__name__ == "call"
    for wrong in (lambda: call(), lambda: call(1, a=2), lambda: Thing()):
        with pytest.raises(TypeError, match=r"missing|multiple values"):  # Python's own
            wrong()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: call("x"), "call: a must be a finite number, not 'x'"),
        (lambda: call(1, 0), "call: b must be a whole number >= 1, not 0"),
        (lambda: call(1, 2, "x", 3), "call: more must be text, not 3"),
        (lambda: call(1, c=(1, 2)), r"call: c must be three finite numbers, not \(1, 2\)"),
        (lambda: call(1, seed=-1), "call: seed must be a seed .* not -1"),
        (lambda: call(1, size=0), "call: size must be a positive number, not 0"),
        (lambda: Thing(5), "Thing: name must be text, not 5"),
        (lambda: Thing("x", (1, 2)), r"Thing: at must be three finite numbers, not \(1, 2\)"),
        (lambda: replace(Thing("x"), row="wide"), "Thing: row must be one finite number or a list of them, not 'wide'"),
    ],
)
def test_messages_name_call_argument_and_value(wrong, message):
    with pytest.raises(supple.StateError, match=f"^{message}$"):
        wrong()


def test_dataclasses_have_their_defaults_in_our_form():
    thing = Thing("x")
    assert thing.at.tolist() == [1.0, 2.0, 3.0] and thing.row.tolist() == [0.5] and thing.kept is None
    assert Thing("x", row=[1, 2]).row.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        thing.at[0] = 5.0  # others have it, too


def test_errors_of_another_class():
    @checked_as(supple.ModelError)
    def build(n: Count) -> int:
        return n

    with pytest.raises(supple.ModelError, match="build: n must be a whole number"):
        build(-1)


def test_values_are_shown_in_one_short_line():
    assert arguments.shown(np.zeros((1000, 3))) == "an array of shape (1000, 3) of float64"
    for x in (Hostile(), 10**5000, "a" * 10**6, [[0] * 1000] * 1000, np.zeros((2, 2)), {i: i for i in range(1000)}):
        assert len(arguments.shown(x)) <= 120 and "\n" not in arguments.shown(x)


# --- where odd arguments were taken, or ended in an exception that was not ours --------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda m, q: supple.simulate(m, q, duration=None), "duration must be .* iterate over supple.Simulation"),
        (lambda m, q: supple.simulate(m, q, duration=0.1, every="x"), "every must be a whole number"),
        (lambda m, q: supple.simulate(m, q, duration=0.1, record=5), "record must be the path of a file"),
        (lambda m, q: supple.simulate(m, q, duration=0.1, integrator="dop853", rtol="x"), "rtol must be a positive"),
        (lambda m, q: supple.load_run(5), "path must be the path of a file, not 5"),
        (lambda m, q: supple.Spring(0, (0, 0, 0), "x"), "Spring: stiffness must be a finite number >= 0"),
        (lambda m, q: supple.Limits(1.0, joints="knee"), "Limits: joints must be a list"),
        (lambda m, q: supple.Event("e", np.zeros(3)), "Event: when must be a function"),
        (lambda m, q: supple.State(0.0, q, q, m).replace(q="x"), "State: q must be"),
        (lambda m, q: supple.AdaptiveDynamics(m, q, active="x"), "active must be a whole number"),
        (lambda m, q: supple.AdaptiveDynamics(m, q, weights="x"), "weights must be"),
        (lambda m, q: supple.QuasiStatics(m, q).restore({}), "restore takes what save"),
        (lambda m, q: supple.AdaptiveDynamics(m, q).joint_law([[99.0] * 11]), "degree of freedom that is none of 5"),
        (lambda m, q: scenes.compass(slope="x"), "compass: slope must be a number between -1 and 1"),
        (lambda m, q: scenes.simplest_walker(slope="x"), "simplest_walker: slope must be a number from"),
        (lambda m, q: supple.walk(scenes.compass(), "x"), "walk: steps must be a whole number"),
        (lambda m, q: supple.gait("x"), "gait: walker must be a supple.Walker"),
        (lambda m, q: supple.reroot(m, q, body=3, pitch="x"), "reroot: pitch must be a finite number"),
        (lambda m, q: supple.impact(m, q, np.ones(5) + 1j, body=3, joint="ball"), "impact: v must be an array of real"),
        (lambda m, q: supple.forward_dynamics(5, q, q), "model must be a supple.Model, not 5"),
        (lambda m, q: supple.mass_matrix(m, q, sparse=np.ones(2)), "sparse must be True or False"),
        (lambda m, q: supple.jacobian(m, q, True), "body must be a name or a number, not True"),
        (lambda m, q: m.integrate(q * np.nan, q), r"q\[0\] is nan; every number must be finite"),
        (lambda m, q: m.integrate(q, q, np.nan), "dt must be a finite number"),
        (lambda m, q: m.difference(q, q * np.inf), r"q1\[0\] is"),
        (lambda m, q: m.normalize(np.ma.array(q, mask=True)), "masked entries"),
        (lambda m, q: m.plot("no/such/folder/x.png"), "x.png cannot be written: there is no folder no/such/folder"),
        (lambda m, q: supple.reroot(m, q, body=2, joint="free").undo(v=q), "together with its q"),
        (lambda m, q: supple.simulate(m, q, duration=1e12), "states of this run would take .* record it"),
        (lambda m, q: supple.forward_dynamics(m, np.broadcast_to(q, (10**10, 5)), q), "as float64 would take"),
    ],
)  # fmt: skip
def test_odd_arguments_are_refused(wrong, message):
    model = trees.chain(5)
    with pytest.raises(supple.SuppleError, match=message):
        wrong(model, model.random(0))


@pytest.mark.parametrize(
    "make", [trees.chain, trees.spanning_grid, trees.random_tree, scenes.molecule, scenes.pendulum]
)
def test_bodies_that_would_not_fit_in_memory(make):
    with pytest.raises(supple.SuppleError, match=r"would take .* GB and this machine has|from 1 to 100000000"):
        make(10**12)


def test_what_is_in_memory_is_counted_before_a_run(monkeypatch):
    """Unless events may end it, or it keeps nothing there."""
    model = trees.chain(2)
    monkeypatch.setattr(memory, "physical_memory", lambda: 8000)
    with pytest.raises(supple.ModelError, match="1e\\+03 states of this run would take"):
        supple.simulate(model, duration=1.0)
    stop = supple.Event("stop", lambda s: s.time - 0.01, then="stop")
    assert supple.simulate(model, duration=1.0, events=[stop], check_energy=False).final.time == pytest.approx(0.01)


def test_unchecked_energy_is_unchecked_in_adaptive_dynamics():
    """A spring far too stiff for its step: energy grows, and nobody minds if nobody is to."""
    model = trees.chain(20)
    how = dict(duration=0.05, dt=1e-3, method="adaptive", active=5, forces=[supple.Spring(19, (9, 9, 9), 1e9)])
    with pytest.raises(supple.SimulationError, match="energy grows"):
        supple.simulate(model, **how)
    try:
        supple.simulate(model, check_energy=False, **how)
    except supple.SimulationError as e:
        assert "the run diverged" in str(e)
    with pytest.raises(supple.StateError, match="check_energy must be True or False"):
        supple.AdaptiveDynamics(model, check_energy="no")


def test_numbers_beyond_the_root_of_the_largest_float_have_a_direction():
    model = trees.chain(1, joint="ball")
    for scale in (1e-200, 1e-320, 1e200, 1e300):
        np.testing.assert_allclose(model.normalize(scale * np.array([0.0, 3, 0, 4])), [0, 0.6, 0, 0.8], rtol=1e-3)
    with pytest.raises(supple.StateError, match="too large"):
        model.integrate(model.neutral(), [1e308, 1e308, 1e308], 10.0)


def test_iterators_without_an_end_are_refused():
    with pytest.raises(StateError, match="make a list of it"):
        take("x", itertools.repeat(1), kind_of(Sequence[int]))
    assert take("x", iter(range(5)), kind_of(Sequence[int])) == [0, 1, 2, 3, 4]


def test_names_of_files_need_not_be_utf_8(tmp_path):
    """They are bytes, which Python has as halves of surrogate pairs."""
    path, model = tmp_path / "r\udcff.urdf", supple.trees.chain(3)
    try:
        supple.save_urdf(model, path)
    except ModelError as e:
        pytest.skip(str(e))  # a system with other names
    assert supple.load(path).nq == supple.load(str(path)).nq == 3
    run = tmp_path / "r\udcff.h5"
    supple.simulate(model, duration=0.01, dt=0.01, record=run, check_energy=False).close()
    assert len(supple.load_run(run)) == 2
    supple.export(run, tmp_path / "r\udcff.csv")


@pytest.mark.parametrize(
    "wrong", [{"rgba": "red"}, {"rgba": (1, 0)}, {"rgba": (np.nan,) * 4}, {"mesh": 5}, {"mesh": "\0"}, {"name": 5}]
)
def test_what_is_drawn_is_checked(wrong):
    builder = supple.ModelBuilder("b")
    with pytest.raises(ModelError, match=f"{next(iter(wrong))} of a visual must be"):
        builder.add_visual(None, "box", (1, 1, 1), **wrong)


def test_names_that_no_file_can_hold():
    builder = supple.ModelBuilder("b")
    builder.add_body("a\ud800", mass=1.0, inertia=np.eye(3))
    with pytest.raises(ModelError, match="surrogate"):
        builder.build()
