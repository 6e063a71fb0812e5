"""Forces written as functions: how they are called, and what they return.

    (time, q, v)          the state as arrays
    (time, q, v, model)   and the model that it belongs to
    (state)               a State: time, q, v, model, and joints by name, state["elbow"].q

A function is of the first form that takes its arguments; one whose only argument without a default is called `state` is
of the last. It returns tau (nv,), or a dictionary of forces by joint, or wrenches (n_bodies, 6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.arguments import as_floats, shown
from supple.errors import SimulationError, StateError
from supple.model.model import Model, unknown
from supple.simulating.state import State, name_of, slices

Floats = NDArray[np.float64]
Force = Callable[[float, Floats, Floats], Any]

FUNCTION = "a function (state) or (time, q, v, model), which is told the model it acts on"
ARRAYS, AND_MODEL, STATE = 3, 4, 1  #: how many arguments a function takes


def form_of(function: Callable[..., Any]) -> int:
    """ARRAYS, AND_MODEL or STATE."""
    try:
        takes = signature(function)
    except (TypeError, ValueError):  # some callables that are not written in Python have no signature
        return ARRAYS
    if _needs(takes) == ["state"]:
        return STATE
    for count in (ARRAYS, AND_MODEL, STATE):
        try:
            takes.bind(*range(count))
            return count
        except TypeError:
            pass
    raise StateError(f"force {name_of(function)!r} takes {takes}; a force is a function (time, q, v), or {FUNCTION}")


def _needs(takes: Signature) -> list[str]:
    """The arguments without defaults."""
    return [
        p.name
        for p in takes.parameters.values()
        if p.default is Parameter.empty and p.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    ]


def told(function: Callable[..., Any], model: Model) -> Force:
    """A function that wants to know the model, as one of (time, q, v)."""
    if form_of(function) == STATE:

        @wraps(function)
        def with_state(time: float, q: Floats, v: Floats) -> Any:
            return function(State(time, q, v, model))

        return with_state

    @wraps(function)
    def with_model(time: float, q: Floats, v: Floats) -> Any:
        return function(time, q, v, model)

    return with_model


def returned(model: Model, function: Callable[..., Any], got: Any, time: float) -> Floats:
    """What a force returned: (nv,) forces at the joints, or (n_bodies, 6) wrenches. Numbers that are not finite are
    refused."""
    what = f"force {name_of(function)!r}"
    x = by_joint(model, got, what) if isinstance(got, Mapping) else as_floats(f"what {what} returns", got)
    if x.shape not in ((model.nv,), (model.n_bodies, 6)):
        raise StateError(
            f"{what} returned shape {x.shape}; a force returns ({model.nv},) at the joints, forces by joint "
            f"{{name: force}}, or ({model.n_bodies}, 6), a wrench on each body"
        )
    if not np.isfinite(x.sum()):
        _refuse_not_finite(model, what, x, time)
    return x


def _refuse_not_finite(model: Model, what: str, x: Floats, time: float) -> None:
    bad = np.argwhere(~np.isfinite(x))
    if not len(bad):  # only the sum is not
        return
    i = int(bad[0, 0])
    joint = model.joint_names[int(model.dof_body[i]) if x.ndim == 1 else i]
    where = f"joint {joint!r}" if x.ndim == 1 else f"body {model.body_names[i]!r}"
    raise SimulationError(f"{what} is {x[tuple(bad[0])]} at {where}, at time {time:.6g} s", time, joint)


def by_joint(model: Model, forces: Mapping[Any, Any], what: str) -> Floats:
    """(nv,) from forces by joint, zero at those not named: one number, or one for each degree of freedom."""
    out, known = np.zeros(model.nv), slices(model)
    for name, force in forces.items():
        if not isinstance(name, str) or name not in known:
            said = unknown("joint", name, model.joint_names) if isinstance(name, str) else f"not {shown(name)}"
            raise StateError(f"{what} has forces by the names of joints: {said}")
        at = known[name][1]
        single = at.stop - at.start == 1
        out[at] = force if single and isinstance(force, float) else _of_size(at.stop - at.start, name, force, what)
    return out


def _of_size(size: int, joint: str, force: Any, what: str) -> Floats:
    x = as_floats(f"{what} at joint {joint!r}", force)
    if not (x.shape == (size,) or (x.ndim == 0 and size == 1)):
        need = "one number" if size == 1 else f"{size} numbers"
        raise StateError(f"{what} at joint {joint!r} must be {need}, not {shown(force)}")
    return x
