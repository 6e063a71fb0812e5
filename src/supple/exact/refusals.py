"""What is said of arguments that cannot be used: where the fault is and what to do about it."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from supple.errors import SingularError, StateError
from supple.model.joints import UNIT_PART
from supple.model.model import Model

Floats = NDArray[np.float64]

UNIT_TOLERANCE = 1e-6  #: how far the squared length of a quaternion may be from one


def as_floats(name: str, value: Any) -> Floats:
    """Any array-like of real numbers as C-contiguous, aligned float64."""
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "fiub":
            raise TypeError(f"dtype {raw.dtype}")
        out = np.ascontiguousarray(raw, dtype=np.float64)
        return out if out.flags.aligned else out.copy()
    except (TypeError, ValueError) as e:
        raise StateError(f"{name} must be an array of real numbers: {e}") from None


def as_array(name: str, value: Any) -> NDArray[Any]:
    """Any array-like, of whatever it holds."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as e:
        raise StateError(f"{name} must be an array: {e}") from None


def as_triple(name: str, value: Any) -> Floats:
    """Three finite numbers."""
    out = as_floats(name, value)
    if out.shape != (3,) or not np.isfinite(out).all():
        raise StateError(f"{name} must be three finite numbers, not {value!r}")
    return out


def as_number(name: str, value: Any, *, positive: bool = False, infinite: bool = False) -> float:
    """A finite number, not below zero. positive: nor zero; infinite: or infinity."""
    x = _real(value)
    if not (x > 0 or (x == 0 and not positive)) or (x == np.inf and not infinite):
        what = "a positive number," if positive else f"a {'' if infinite else 'finite '}number, not below zero;"
        raise StateError(f"{name} must be {what} not {value!r}")
    return x


def as_whole(name: str, value: Any, least: int = 0) -> int:
    """A whole number, at least so large."""
    x = _real(value)
    if isinstance(value, (bool, np.bool_)) or not np.isfinite(x) or x != int(x) or x < least:
        raise StateError(f"{name} must be a whole number, at least {least}; not {value!r}")
    return int(value)


def _real(value: Any) -> float:
    """A single number as a float; NaN if it is none."""
    try:
        return np.nan if isinstance(value, (str, bytes)) or np.ndim(value) else float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan


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
    for i in range(model.n_bodies):
        for kind, (first, length) in UNIT_PART.items():
            if model.joint_type[i] == kind:
                at = int(model.q_index[i]) + first
                norm = float(np.linalg.norm(q[at : at + length]))
                if not abs(norm * norm - 1.0) <= UNIT_TOLERANCE:
                    what = "quaternion" if length == 4 else "cosine and sine"
                    raise StateError(
                        f"joint {model.joint_names[i]!r}: the {what} in q[{at}:{at + length}] has length {norm:.9g}, "
                        "not 1; use model.normalize(q)"
                    )
    raise AssertionError("no part of q is off unit length")


def refuse_singular(model: Model, inverse_D: Floats) -> NoReturn:
    bad = np.flatnonzero(~(np.isfinite(inverse_D) & (inverse_D > 0)))
    body = int(model.dof_body[bad[-1]]) if len(bad) else 0  # eliminated last to first: the last one is the cause
    raise SingularError(
        f"the mass matrix is singular: joint {model.joint_names[body]!r} moves body {model.body_names[body]!r} and "
        "what it carries, which have no inertia in that direction; give them mass or inertia, or the joint armature"
    )
