"""Error messages for unusable arguments: where the fault is and what to do about it."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from supple.arguments import instance
from supple.errors import SingularError, StateError
from supple.model.manifold import check_units
from supple.model.model import Model

Floats = NDArray[np.float64]

MODEL = instance(Model)


def refuse_not_finite(model: Model, name: str, x: Floats) -> NoReturn:
    where = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
    if name == "wrenches":
        place = f"of body {model.body_names[where[0]]!r}"
    else:
        starts = model.q_index if name == "q" else model.v_index
        joint = int(np.searchsorted(starts, where[0], side="right")) - 1
        place = f"(joint {model.joint_names[joint]!r})"
    raise StateError(f"{name}{list(where)} {place} is {x[where]}; every number must be finite")


def refuse_not_unit(model: Model, q: Floats) -> NoReturn:
    check_units(model, q, np.arange(model.n_bodies))
    raise AssertionError("no part of q is off unit length")


def refuse_singular(model: Model, inverse_D: Floats) -> NoReturn:
    bad = np.flatnonzero(~(np.isfinite(inverse_D) & (inverse_D > 0)))
    body = int(model.dof_body[bad[-1]]) if len(bad) else 0  # eliminated last to first: the last one is the cause
    raise SingularError(
        f"the mass matrix is singular: joint {model.joint_names[body]!r} moves body {model.body_names[body]!r} and "
        "what it carries, which have no inertia in that direction; give them mass or inertia, or the joint armature"
    )
