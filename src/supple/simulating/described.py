"""What a run was given, in words and numbers, so that runs can be told apart: kept in recordings.

Numbers are kept unchanged. Functions are represented by name only: two of the same name count as the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import SuppleError
from supple.integrating.model_law import Actuation
from supple.model.model import Model
from supple.simulating.crossings import resolution_of
from supple.simulating.forces import Controls, OnBody, Push, Spring, SpringBetween, joint_forces
from supple.simulating.simulation import Simulation

Floats = NDArray[np.float64]

MANY = 200  #: arrays with more numbers than this are represented by a hash


def described(x: Any) -> Any:
    """A value in JSON form, the same for equal values."""
    if x is None or isinstance(x, bool | int | float | str):
        return x
    if isinstance(x, np.ndarray | np.generic):
        return _numbers(np.asarray(x))
    if is_dataclass(x) and not isinstance(x, type):
        said = {f.name: described(getattr(x, f.name)) for f in fields(x)}
        if isinstance(x, Push) and x.always:  # as before pushes could have a time
            said = {name: value for name, value in said.items() if name not in ("start", "stop")}
        return {"kind": type(x).__name__} | said
    if isinstance(x, Mapping):
        return {str(name): described(value) for name, value in x.items()}
    if isinstance(x, Sequence):
        numbers = _array(x)
        return [described(value) for value in x] if numbers is None else _numbers(numbers)
    return f"{'function' if callable(x) else 'object'} {_name(x)}"


def _array(x: Sequence[Any]) -> NDArray[Any] | None:
    """A list of numbers, or of equally long lists of numbers, as an array; None for any other list."""
    try:
        out = np.asarray(x)
    except (TypeError, ValueError):
        return None
    return out if out.dtype.kind in "biuf" else None


def _numbers(x: NDArray[Any]) -> Any:
    if x.size <= MANY:
        return x.tolist()
    same = np.ascontiguousarray(x, dtype=np.float64) + 0.0 if x.dtype.kind in "biuf" else x  # nor do -0 and 0 differ
    return f"{' x '.join(map(str, x.shape))} numbers of hash {hashlib.sha256(same.tobytes()).hexdigest()[:16]}"


def _name(x: Any) -> str:
    if isinstance(x, partial):
        return f"{_name(x.func)} of {json.dumps(described([*x.args, x.keywords]))}"
    return str(getattr(x, "__name__", type(x).__name__))


def given(run: Simulation) -> dict[str, Any]:
    """Settings, forces and events of a run, the same whether defaults are given or left out; bodies and joints by
    name."""
    follows = ("duration", "error_measure", "progress_unit", "shapes")
    settings = {name: x for name, x in run.settings.items() if name not in follows}
    out = {name: described(value) for name, value in (settings | run.given).items()}
    for force, of in zip(run.given["forces"], out["forces"]):
        if isinstance(force, Controls) and not callable(force.values):
            actuation = Actuation(run.model)
            values = actuation.controls(force.values).tolist()
            of["values"] = {name: x for name, x in zip(actuation.names, values) if x}
        elif isinstance(of, dict):
            _by_name(run.model, of)
    if isinstance(out.get("active"), list):
        out["active"] = _names(run.model, out["active"])
    for event, of in zip(run.given["events"], out["events"]):
        of["resolution"] = resolution_of(event, run.dt)
    if out["tau"] is not None and not callable(run.given["tau"]):
        tau = joint_forces(run.model, run.given["tau"])
        out["tau"] = described(tau) if tau.any() else None
    return dict(json.loads(json.dumps(out)))


def forces_again(said: Any) -> list[OnBody]:
    """Pushes and springs from what `given` says of forces. A recording may be anybody's: what is none is left out."""
    out: list[OnBody] = []
    kinds: dict[str, type[OnBody]] = {kind.__name__: kind for kind in (Push, Spring, SpringBetween)}
    for force in said if isinstance(said, list) else ():
        kind = kinds.get(str(force.get("kind"))) if isinstance(force, dict) else None
        if kind is not None:
            known = {f.name for f in fields(kind)}
            with suppress(SuppleError, TypeError):
                out.append(kind(**{name: x for name, x in force.items() if name in known}))
    return out


#: Forces that act at no point of a body, in words.
OTHERS = {"function": "functions", "Controller": "controllers", "Limits": "joint limits", "Controls": "actuators"}


def other_forces(given: Mapping[str, Any]) -> tuple[str, ...]:
    """In words, the kinds of forces that are neither pushes nor springs, of what a run was given or `given` says."""
    forces, tau = given.get("forces"), given.get("tau")
    kinds = {_kind_of(force) for force in forces} if isinstance(forces, list | tuple) else set()
    if tau is not None:
        kinds.add("function" if _kind_of(tau) == "function" else "tau")
    return tuple(text for kind, text in (OTHERS | {"tau": "tau"}).items() if kind in kinds)


def _kind_of(force: Any) -> str:
    """Of a force, or of what `described` says of it."""
    if isinstance(force, dict):
        return str(force.get("kind"))
    by_function = callable(force) or (isinstance(force, str) and force.startswith("function "))
    return "function" if by_function else type(force).__name__


def plane_again(said: Any) -> Floats | None:
    """Four numbers that are a plane, or None."""
    try:
        plane = np.array(said, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    ok = plane.shape == (4,) and np.abs(plane).max() < 1e9 and np.linalg.norm(plane[:3]) > 1e-3  # none is NaN
    return plane if ok else None


def _by_name(model: Model, force: dict[str, Any]) -> None:
    for key, names in (("body", model.body_names), ("other", model.body_names), ("joint", model.joint_names)):
        if isinstance(force.get(key), int):
            force[key] = names[force[key]]
    if isinstance(force.get("joints"), list):
        force["joints"] = _names(model, force["joints"])


def _names(model: Model, joints: list[Any]) -> list[Any]:
    return [model.joint_names[j] if isinstance(j, int) else j for j in joints]


def difference(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str | None:
    """The difference between what two runs were given, as "with X, not with Y"; None if there is none."""
    for name in (*ours, *(name for name in theirs if name not in ours)):
        a, b = theirs.get(name), ours.get(name)
        if a == b:
            continue
        if isinstance(a, list) and isinstance(b, list) and name in ("forces", "events"):
            return _difference_of_lists(name, a, b)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            key = next(key for key in (*b, *a) if a.get(key) != b.get(key))
            return f"with {key} {_shown(a.get(key))} in {name}, not {_shown(b.get(key))}"
        return f"with {name} {_shown(a)}, not {_shown(b)}"
    return None


def _difference_of_lists(name: str, theirs: list[Any], ours: list[Any]) -> str:
    if len(theirs) != len(ours):
        return f"with {len(theirs)} {name}, not {len(ours)}"
    i, a, b = next((i, a, b) for i, (a, b) in enumerate(zip(theirs, ours)) if a != b)
    which = f"{name[:-1]} {i + 1} of {len(ours)}"
    if isinstance(a, dict) and isinstance(b, dict) and a.get("kind") == b["kind"]:
        key = next(key for key in b if a.get(key) != b[key])
        about = next(
            (f" {word} {b[word]!r}" for word in ("body", "joint", "name") if word in a and a[word] == b[word]), ""
        )
        return f"with {key} {_shown(a.get(key))}, not {_shown(b[key])}, in {which} ({b['kind']}{about})"
    return f"with {_kind(a)} as {which}, not {_kind(b)}"


def _kind(force: Any) -> str:
    return f"a {force.get('kind')}" if isinstance(force, dict) else str(force)


def _shown(x: Any) -> str:
    text = "nothing" if x is None else repr(x)
    return text if len(text) <= 200 else f"{text[:200]}..."


def other_start(model: Model, theirs: tuple[Floats, Floats], ours: tuple[Floats, Floats]) -> str | None:
    """How two initial states differ, by joint; None if they are bit-identical."""
    for name, a, b, first in zip("qv", theirs, ours, (model.q_index, model.v_index)):
        bad = np.flatnonzero(a != b)
        if len(bad):
            joint = model.joints[int(np.searchsorted(first, bad[0], side="right")) - 1]  # type: ignore[index]
            at = joint.q if name == "q" else joint.v
            return f"{name} of joint {joint.name!r} was {a[at].tolist()}, not {b[at].tolist()}"
    return None
