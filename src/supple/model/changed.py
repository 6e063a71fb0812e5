"""Another model in which one body or joint, or gravity, is different."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from supple.arguments import REALS, take
from supple.errors import ModelError
from supple.model.physical import Troubles
from supple.model.valid import OF_Q, OF_V, check_numbers

if TYPE_CHECKING:
    from supple.model.model import Model

OF_BODY = ("mass", "com", "inertia")
OF_JOINT = (*OF_Q, *OF_V)


def with_body(model: Model, body: str | int, given: Mapping[str, Any]) -> Model:
    part = model.bodies[body]  # type: ignore[index]
    return _with(model, f"body {part.name!r}", {name: part.index for name in OF_BODY}, given)


def with_joint(model: Model, joint: str | int, given: Mapping[str, Any]) -> Model:
    part = model.joints[joint]  # type: ignore[index]
    places = {name: part.q for name in OF_Q} | {name: part.v for name in OF_V}
    return _with(model, f"joint {part.name!r}", places, given)


def with_gravity(model: Model, gravity: Any) -> Model:
    values = take("gravity", gravity, REALS, ModelError)
    if values.shape != (3,):
        raise ModelError(f"gravity must be three numbers, (0, 0, -9.81), not of shape {values.shape}")
    return changed(model, gravity=values)


def _with(model: Model, what: str, places: Mapping[str, Any], given: Mapping[str, Any]) -> Model:
    """A model with other values in these places of its arrays."""
    arrays = {}
    for name, value in given.items():
        if name not in places:
            raise ModelError(f"{what} has no {name!r} that can be changed: there are {', '.join(places)}")
        array, values = getattr(model, name).copy(), take(f"{name} of {what}", value, REALS, ModelError)
        shape = array[places[name]].shape
        if name == "inertia" and values.shape == (3,):
            values = np.diag(values)
        if values.shape != shape and (name in OF_BODY or values.shape != ()):
            raise ModelError(f"{name} of {what} has shape {values.shape}; it must be {shape or 'one number'}")
        array[places[name]] = values
        arrays[name] = array
    return changed(model, **arrays)


def changed(model: Model, **arrays: Any) -> Model:
    """A model with other numbers in some of its arrays, checked as by ModelBuilder. What is unphysical or singular
    already may stay as it is, and what is no longer so leaves the report."""
    old = model.__getstate__()
    new = old | arrays
    check_numbers(new)
    if arrays.keys() & {"mass", "com", "inertia", "armature"}:
        before, now = Troubles.of(old), Troubles.of(new)
        now.refuse_beyond(before)
        new["report"] = now.still_reported(model.report, before)
    return type(model)._of(**new)
