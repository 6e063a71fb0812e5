"""The force law of joints: springs with dampers, and limits that push back. Exact runs and adaptive ones have the same.

A law is rows of numbers, each for one degree of freedom. The rows of the same degree of freedom add up.

    DOF_, COORDINATE_   where it acts in v, and where its coordinate is in q
    STIFFNESS_, REST_   k (rest - q)
    DAMPER_, RATE_      + d (rate - v)
    MOST_               and no more than this, either way
    LOWER_, UPPER_      beyond these: a spring of stiffness
    WALL_, LOSS_        WALL_ times how far it is beyond, and a damper LOSS_ on the way out, never pulling back
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numpy.typing import ArrayLike, NDArray

from supple.arguments import (
    NAME_OR_NUMBER,
    NOT_NEGATIVE,
    NOT_NEGATIVE_OR_INFINITE,
    as_floats,
    several,
    shown,
    take,
)
from supple.errors import StateError
from supple.model.joints import NV
from supple.model.manifold import PLAIN, UNLIMITED
from supple.model.model import Joint, Model
from supple.spatial.compiler import helper, kernel
from supple.spatial.indexing import item, set_item

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

JOINTS = several(NAME_OR_NUMBER)

DOF_, COORDINATE_, STIFFNESS_, REST_, DAMPER_, RATE_, MOST_, LOWER_, UPPER_, WALL_, LOSS_, LAW = range(12)


@helper
def law_force(law, k, x, u):
    """What the row at law[k:] says of a coordinate x with velocity u."""
    pull = item(law, k + STIFFNESS_) * (item(law, k + REST_) - x) + item(law, k + DAMPER_) * (item(law, k + RATE_) - u)
    most, lower, upper = item(law, k + MOST_), item(law, k + LOWER_), item(law, k + UPPER_)
    f = min(max(pull, -most), most)
    if x < lower:
        f += max(item(law, k + WALL_) * (lower - x) - item(law, k + LOSS_) * u, 0.0)
    elif x > upper:
        f += min(item(law, k + WALL_) * (upper - x) - item(law, k + LOSS_) * u, 0.0)
    return f


@helper
def law_work(law, k, x, y):
    """The work that the row at law[k:] does while its coordinate goes from x to y at rest: the integral of
    law_force(law, k, ., 0)."""
    stiffness, most = item(law, k + STIFFNESS_), item(law, k + MOST_)
    pull = item(law, k + DAMPER_) * item(law, k + RATE_)
    a, b = pull + stiffness * (item(law, k + REST_) - x), pull + stiffness * (item(law, k + REST_) - y)
    if abs(a) <= most and abs(b) <= most:
        work = 0.5 * (a + b) * (y - x)
    elif stiffness == 0.0 or (abs(a) >= most and abs(b) >= most and a * b > 0.0):
        work = math.copysign(most, a) * (y - x)
    else:
        c, d = min(abs(a), most), min(abs(b), most)
        work = (c * (abs(a) - 0.5 * c) - d * (abs(b) - 0.5 * d)) / stiffness
    for beyond, then in (
        (item(law, k + LOWER_) - x, item(law, k + LOWER_) - y),
        (x - item(law, k + UPPER_), y - item(law, k + UPPER_)),
    ):
        beyond, then = max(beyond, 0.0), max(then, 0.0)
        work += 0.5 * item(law, k + WALL_) * (beyond - then) * (beyond + then)
    return work


@helper
def add_law(law, q, v, tau):
    """tau += what the law, flat, says at q and v."""
    for k in range(0, law.shape[0], LAW):
        j = int(item(law, k + DOF_))
        f = law_force(law, k, item(q, int(item(law, k + COORDINATE_))), item(v, j))
        set_item(tau, j, item(tau, j) + f)


_vector = types.float64[::1]


@kernel(types.void(_vector, _vector, _vector, _vector), "forces at joints")
def law_kernel(law, q, v, tau):
    add_law(law, q, v, tau)


def controller_rows(
    model: Model,
    joint: str | int,
    stiffness: float,
    damping: float = 0.0,
    target: ArrayLike = 0.0,
    rate: ArrayLike = 0.0,
    most: float = np.inf,
) -> Floats:
    """(k, LAW) a controller at each degree of freedom of a joint; target and rate: one number for each, or for all."""
    part = model.joints[joint]  # type: ignore[index]
    _refuse_curved(model, part)
    size = part.v.stop - part.v.start
    rows = _rows(np.arange(part.v.start, part.v.stop), np.arange(part.q.start, part.q.stop))
    rows[:, STIFFNESS_], rows[:, DAMPER_] = stiffness_and_damping(stiffness, damping)
    rows[:, MOST_] = take("most", most, NOT_NEGATIVE_OR_INFINITE)
    for name, value, column in (("target", target, REST_), ("rate", rate, RATE_)):
        x = np.atleast_1d(as_floats(name, value))
        if x.shape not in ((1,), (size,)):
            raise StateError(f"joint {part.name!r} takes {size} numbers as {name}, not {np.size(x)}")
        if not np.isfinite(x).all():
            raise StateError(f"the {name} of joint {part.name!r} must be finite, not {shown(value)}")
        rows[:, column] = x
    return rows


def limit_rows(model: Model, stiffness: float, damping: float = 0.0, joints: Any = None) -> Floats:
    """(m, LAW) the limits of the joints named, or of all that have some, as walls."""
    if joints is None:
        index = np.flatnonzero(np.isin(model.joint_type, PLAIN))
    else:
        parts = [model.joints[j] for j in take("joints", joints, JOINTS)]
        for part in parts:
            _refuse_curved(model, part)
        index = np.array([part.index for part in parts], dtype=np.int64)
    dof = np.array(NV)[model.joint_type[index]]
    offset = np.arange(int(dof.sum())) - np.repeat(np.cumsum(dof) - dof, dof)
    rows = _rows(np.repeat(model.v_index[index], dof) + offset, np.repeat(model.q_index[index], dof) + offset)
    at = rows[:, COORDINATE_].astype(np.int64)
    for column, limit in ((LOWER_, model.lower[at]), (UPPER_, model.upper[at])):
        there = np.abs(limit) < UNLIMITED
        rows[there, column] = limit[there]
    rows[:, WALL_], rows[:, LOSS_] = stiffness_and_damping(stiffness, damping)
    out: Floats = rows[np.isfinite(rows[:, [LOWER_, UPPER_]]).any(axis=1)]
    return out


def joint_force(part: Joint, value: Any) -> Floats:
    """The force at a joint: one finite number for each of its degrees of freedom."""
    x: Floats = np.atleast_1d(as_floats("torque", value))
    count = part.v.stop - part.v.start
    if x.shape != (count,) or not np.isfinite(x).all():
        raise StateError(f"joint {part.name!r} takes {count} finite numbers, not {shown(value)}")
    return x


def checked_rows(model: Model, rows: Any) -> Floats:
    """Rows of a law that somebody else made: kernels take their indices on trust."""
    out = as_floats("rows", rows)
    if out.ndim != 2 or out.shape[1] != LAW or np.isnan(out).any():
        raise StateError(f"rows of a law of joints have {LAW} numbers each; these have the shape {out.shape}, or NaN")
    dof = out[:, DOF_]
    if not np.isin(dof, np.arange(model.nv)).all():
        raise StateError(f"a row of a law of joints acts on a degree of freedom that is none of {model.nv}")
    at = dof.astype(np.int64)
    body = model.dof_body[at]
    for i in np.unique(body).tolist():
        _refuse_curved(model, model.joints[i])
    if not np.array_equal(out[:, COORDINATE_], model.q_index[body] + at - model.v_index[body]):
        raise StateError("a row of a law of joints has a coordinate that is not that of its degree of freedom")
    return out


def stiffness_and_damping(stiffness: Any, damping: Any) -> tuple[float, float]:
    """Both checked."""
    return take("stiffness", stiffness, NOT_NEGATIVE), take("damping", damping, NOT_NEGATIVE)


def _rows(dof: Ints, coordinate: Ints) -> Floats:
    rows = np.zeros((len(dof), LAW))
    rows[:, DOF_], rows[:, COORDINATE_] = dof, coordinate
    rows[:, MOST_], rows[:, LOWER_], rows[:, UPPER_] = np.inf, -np.inf, np.inf
    return rows


def _refuse_curved(model: Model, joint: Joint) -> None:
    if model.joint_type[joint.index] not in PLAIN:
        raise StateError(
            f"joint {joint.name!r} is a {joint.type} joint, whose coordinates do not add: write its force as a "
            "function (time, q, v) -> tau, or as a torque"
        )
