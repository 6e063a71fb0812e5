"""Odd arguments: every public call, by its signature, with one or two arguments that nobody would give on purpose.

Calls are found from supple.__all__: functions, classes, their methods and settings, supple.trees, supple.scenes. What a
parameter usually gets is known by its name (usual_values.py); a new one has to be added there. Refused in words is
right, and so is an answer; but an answer to what is no number, where numbers are wanted, is a finding, too.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import supple
from supple import scenes
from tests.fuzz.odd_values import NEVER_NUMBERS, NUMBERS, odd, odd_array, strange_array
from tests.fuzz.usual_values import instance, model_of, usual

ARRAYS = ("ArrayLike", "Triple", "Vector", "Row", "Floats")  #: annotations of what takes arrays of numbers
SINGLE = ("float", "int", "Positive", "NotNegative", "Count", "Whole", "Seconds")  #: of what takes one number
#: Classes that calls make, not users; those whose instances have nothing to call.
ANSWERS = (
    "AdaptiveStats Body Contact Failure Frame Happened Impact Joint Loop Miss Mobility Motions Moving Multiplier Named "
    "Page Pose Poses Reached Relation Remark Report RerootedState Sample Segment Shape Step Support TopJoint Units "
    "VirtualWork Visual Walks"
)
MADE = f"{ANSWERS} Approximation Factor Gait Loads Model Rerooted Result Sweep TreeMatrix"
#: Calls that may open a browser, or start processes (tests/unit/test_sweeps.py has odd arguments of sweeps).
STARTING = ("view", "sweep")
PLAIN = (
    f"{ANSWERS} Actuator Arrows Contacts Controller Controls Event Goal Limits Push Range Simulation Spring "
    "SpringBetween"
)  # fmt: skip
#: Of these only such odd values as are no numbers: who asks for a run of 10^12 seconds gets one.
LONG = (
    "duration",
    "dt",
    "seconds",
    "most",
    "steps",
    "rtol",
    "atol",
    "tolerance",
    "resolution",
    "iterations",
    "attempts",
)
#: What may be infinite, or is not looked at as a whole, or when it is used.
MAY_BE = (
    "H", "axis2", "lower", "upper", "velocity_limit", "effort_limit", ("State", "q"), ("State", "v"), ("wrench", "q"),
    ("ModelBuilder", "gravity"), ("ModelBuilder.add_body", "pitch"), ("ModelBuilder.add_body", "mass"),
    ("ModelBuilder.add_bodies", "mass"), ("ModelBuilder.add_bodies", "pitch"), ("ModelBuilder.add_bodies", "damping"),
    ("ModelBuilder.add_bodies", "armature"), ("ModelBuilder.add_bodies", "friction"),
    ("ModelBuilder.add_bodies", "rest"), ("ModelBuilder.add_bodies", "stiffness"),
    "control_range", "force_range", ("Controls", "values"),
)  # fmt: skip
OPERATORS = ("__getitem__", "__matmul__")

Got = tuple[Callable[..., Any], supple.Model]


class Call(NamedTuple):
    """A public call: its name, how to get at it and the model that it has to do with, and its parameters."""

    name: str
    get: Callable[[np.random.Generator, Path], Got]
    parameters: tuple[inspect.Parameter, ...]


@cache
def calls() -> tuple[Call, ...]:
    """All that is public."""
    out = [_call(f"trees.{name}", f) for name, f in vars(supple.trees).items() if _defined_in(f, "supple.model.trees")]
    out += [_call(f"scenes.{name}", getattr(scenes, name)) for name in scenes.__all__ if name.islower()]
    for name in supple.__all__:
        thing = getattr(supple, name)
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            out += [] if name in MADE.split() else [_call(name, thing)]
            out += [] if name in PLAIN.split() else _methods(name, thing)
        elif inspect.isfunction(thing) and name not in STARTING:
            out.append(_call(name, thing))
    return (*out, *_methods("Push of it", supple.Push))


def _defined_in(x: Any, module: str) -> bool:
    return inspect.isfunction(x) and inspect.unwrap(x).__module__ == module and not x.__name__.startswith("_")


def _call(name: str, function: Callable[..., Any]) -> Call:
    return Call(name, lambda rng, folder: (function, model_of(int(rng.integers(2)))), _parameters(function))


def _methods(name: str, kind: type) -> list[Call]:
    """The methods of a class, and what can be set. (Setters that only refuse are partial functions.)"""
    out = []
    for key in dir(kind):
        static = inspect.getattr_static(kind, key)
        if isinstance(static, property) and static.fset is not None and not isinstance(static.fset, partial):
            value = inspect.Parameter(key, inspect.Parameter.POSITIONAL_ONLY)
            out.append(Call(f"{name}.{key} =", partial(_setter, name, key), (value,)))
        elif inspect.isfunction(static) and (not key.startswith("_") or key in OPERATORS):
            out.append(Call(f"{name}.{key}", partial(_bound, name, key), _parameters(static)[1:]))
    return out


def _setter(name: str, attribute: str, rng: np.random.Generator, folder: Path) -> Got:
    owner, model = instance(name, rng, folder)
    return partial(setattr, owner, attribute), model


def _bound(name: str, method: str, rng: np.random.Generator, folder: Path) -> Got:
    owner, model = instance(name, rng, folder)
    call = getattr(owner, method)
    if name != "ModelBuilder" or method == "build":
        return call, model
    return lambda *given, **named: (call(*given, **named), owner.build()), model  # which is when it checks


def _parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(function).parameters.values())


def attempt(rng: np.random.Generator, folder: Path) -> None:
    """One call. (Kernels are to be there: `supple compile`.)"""
    with contextlib.chdir(folder):  # for what is written to "x"
        _attempt(rng, folder)


def _attempt(rng: np.random.Generator, folder: Path) -> None:
    call = calls()[rng.integers(len(calls()))]
    function, model = call.get(rng, folder)
    given, named, wrong = arguments(call, model, rng, folder)
    try:
        result = function(*given, **named)
        repr(list(itertools.islice(result, 50)) if inspect.isgenerator(result) else result)
    except IndexError:
        if not call.name.endswith("__getitem__"):  # which says so to whoever iterates
            raise
    finally:
        supple.set_threads(2)
    assert wrong is None, f"{call.name} took {wrong}"


def arguments(
    call: Call, model: supple.Model, rng: np.random.Generator, folder: Path
) -> tuple[list[Any], dict[str, Any], str | None]:
    """Good ones, of which up to two are odd; and what of them must not be accepted, if anything."""
    chosen = [p for p in call.parameters if p.default is p.empty or rng.random() < 0.4]
    spoilt = set(rng.permutation(len(chosen))[: int(rng.choice([0, 1, 1, 1, 2]))].tolist())
    places: list[Any] = []
    named: dict[str, Any] = {}
    wrong = None
    for i, p in enumerate(chosen):
        if p.kind is p.VAR_KEYWORD:
            continue
        value = usual(call.name, p.name, model, rng, folder)
        if i in spoilt:
            value, never = _odd(call, p, value, rng)
            wrong = f"{p.name} = {_short(value)}" if never else wrong
        elif isinstance(value, np.ndarray) and value.dtype == np.float64 and rng.random() < 0.1:
            value = strange_array(value, rng)
        if p.kind is not p.KEYWORD_ONLY and p is call.parameters[i]:
            places.append(value)
        else:
            named[p.name] = value
    return places, named, wrong


def _odd(call: Call, p: inspect.Parameter, value: Any, rng: np.random.Generator) -> tuple[Any, bool]:
    """An odd value instead of a good one, and whether it must be refused."""
    kind = str(p.annotation).split(" |")[0].split("[")[0]
    must = p.name not in MAY_BE and (call.name, p.name) not in MAY_BE
    if kind in ARRAYS and value is not None and rng.random() < 0.5:
        return odd_array(rng, np.shape(value)), must
    if p.name in LONG or (kind in SINGLE and rng.random() < 0.4):
        value = NEVER_NUMBERS[rng.integers(len(NEVER_NUMBERS))]
        return value, must and kind in SINGLE and "|" not in str(p.annotation)
    return (NUMBERS[rng.integers(len(NUMBERS))] if kind in SINGLE and rng.random() < 0.4 else odd(rng)), False


def _short(value: Any) -> str:
    try:
        return repr(value)[:200]
    except Exception:
        return f"a {type(value).__name__}"
