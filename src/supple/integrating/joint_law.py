"""The force law of joints: springs with dampers, and limits that push back. Shared by exact and adaptive runs.

A law consists of rows of numbers, each a Law for one degree of freedom. Rows of the same degree of freedom are summed.
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
from supple.spatial.addresses import vector
from supple.spatial.compiler import helper, kernel
from supple.spatial.fields import Number
from supple.spatial.structs import Struct

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

JOINTS = several(NAME_OR_NUMBER)


class Law(Struct):
    """k (rest - q) + d (rate - v), limited to `most` in either direction; and walls."""

    dof = Number()  # index in v where it acts: a whole number
    coordinate = Number()  # index of its coordinate in q
    stiffness = Number()  # k
    rest = Number()
    damper = Number()  # d
    rate = Number()
    most = Number()
    lower = Number()  # beyond these two: a spring of stiffness
    upper = Number()
    wall = Number()  # `wall`, and a damper
    loss = Number()  # `loss` on the way out, never pulling back


LAW = Law.words
law_among = Law.among


def by_name(rows: Floats) -> NDArray[Any]:
    """Rows (k, LAW) of a law as structs: a view."""
    out: NDArray[Any] = rows.view(Law.dtype)[:, 0]
    return out


@helper
def law_force(law, x, u):
    """The force of a row at a coordinate x with velocity u."""
    pull = law.stiffness * (law.rest - x) + law.damper * (law.rate - u)
    f = min(max(pull, -law.most), law.most)
    if x < law.lower:
        f += max(law.wall * (law.lower - x) - law.loss * u, 0.0)
    elif x > law.upper:
        f += min(law.wall * (law.upper - x) - law.loss * u, 0.0)
    return f


@helper
def law_size(law, x, u):
    """The sum of the magnitudes of the terms of law_force."""
    pull = law.stiffness * (law.rest - x) + law.damper * (law.rate - u)
    size = law.most
    if abs(pull) <= law.most:
        size = law.stiffness * (abs(law.rest) + abs(x)) + law.damper * (abs(law.rate) + abs(u))
    if x < law.lower:
        size += law.wall * (abs(law.lower) + abs(x)) + law.loss * abs(u)
    elif x > law.upper:
        size += law.wall * (abs(law.upper) + abs(x)) + law.loss * abs(u)
    return size


@helper
def law_line(law, x, u):
    """The force of a row at x and u; its slopes there, -df/dx and -df/du; and the piece of the law, within which the
    force is linear or limited.

    The slopes of a limited force are not zero, but those of the line through its value here and zero where it changes
    sign: a step that follows the line stops there, and does not swing over to the other limit.
    """
    pull = law.stiffness * (law.rest - x) + law.damper * (law.rate - u)
    share, piece = 1.0, 0.0
    if abs(pull) > law.most:
        share, piece = law.most / abs(pull), math.copysign(1.0, pull)
    f, stiffness, damper, push = share * pull, share * law.stiffness, share * law.damper, 0.0
    if x < law.lower:
        push = max(law.wall * (law.lower - x) - law.loss * u, 0.0)
    elif x > law.upper:
        push = min(law.wall * (law.upper - x) - law.loss * u, 0.0)
    if push != 0.0:
        f, stiffness, damper = f + push, stiffness + law.wall, damper + law.loss
        piece += math.copysign(3.0, push)
    return f, stiffness, damper, piece


@helper
def law_work(law, x, y):
    """The work of a row while its coordinate moves from x to y at rest: the integral of law_force(law, ., 0)."""
    stiffness, most, pull = law.stiffness, law.most, law.damper * law.rate
    a, b = pull + stiffness * (law.rest - x), pull + stiffness * (law.rest - y)
    if abs(a) <= most and abs(b) <= most:
        work = 0.5 * (a + b) * (y - x)
    elif stiffness == 0.0 or (abs(a) >= most and abs(b) >= most and a * b > 0.0):
        work = math.copysign(most, a) * (y - x)
    else:
        c, d = min(abs(a), most), min(abs(b), most)
        work = (c * (abs(a) - 0.5 * c) - d * (abs(b) - 0.5 * d)) / stiffness
    for beyond, then in ((law.lower - x, law.lower - y), (x - law.upper, y - law.upper)):
        beyond, then = max(beyond, 0.0), max(then, 0.0)
        work += 0.5 * law.wall * (beyond - then) * (beyond + then)
    return work


@helper
def add_law(laws, size, q, v, tau):
    """tau += the forces of the law, a flat array of `size` numbers, at q and v."""
    for k in range(0, size, LAW):
        law = law_among(laws, k)
        j = int(law.dof)
        tau[j] += law_force(law, q[int(law.coordinate)], v[j])


_vector = types.float64[::1]


@kernel(types.void(_vector, _vector, _vector, _vector), "forces at joints")
def law_kernel(law, q, v, tau):
    add_law(law, law.shape[0], vector(q), vector(v), vector(tau))


def steepest(rows: Floats, nv: int) -> tuple[Floats, Floats]:
    """(nv,) the largest stiffness and damping that a law may have at each degree of freedom, in any state."""
    law, out = by_name(rows), np.zeros((2, nv))
    at = law["dof"].astype(np.int64)
    walls = np.isfinite(law["lower"]) | np.isfinite(law["upper"])
    np.add.at(out[0], at, law["stiffness"] + np.where(walls, law["wall"], 0.0))
    np.add.at(out[1], at, law["damper"] + np.where(walls, law["loss"], 0.0))
    return out[0], out[1]


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
    rows = new_rows(model, np.arange(part.v.start, part.v.stop))
    law = by_name(rows)
    law["stiffness"], law["damper"] = stiffness_and_damping(stiffness, damping)
    law["most"] = take("most", most, NOT_NEGATIVE_OR_INFINITE)
    for name, value, column in (("target", target, "rest"), ("rate", rate, "rate")):
        x = np.atleast_1d(as_floats(name, value))
        if x.shape not in ((1,), (size,)):
            raise StateError(f"joint {part.name!r} takes {size} numbers as {name}, not {np.size(x)}")
        if not np.isfinite(x).all():
            raise StateError(f"the {name} of joint {part.name!r} must be finite, not {shown(value)}")
        law[column] = x
    return rows


def limit_rows(model: Model, stiffness: float, damping: float = 0.0, joints: Any = None) -> Floats:
    """(m, LAW) the limits of the joints named, or of all that have limits, as walls."""
    if joints is None:
        index = np.flatnonzero(np.isin(model.joint_type, PLAIN))
    else:
        parts = [model.joints[j] for j in take("joints", joints, JOINTS)]
        for part in parts:
            _refuse_curved(model, part)
        index = np.array([part.index for part in parts], dtype=np.int64)
    dof = np.array(NV)[model.joint_type[index]]
    offset = np.arange(int(dof.sum())) - np.repeat(np.cumsum(dof) - dof, dof)
    rows = new_rows(model, np.repeat(model.v_index[index], dof) + offset)
    law = by_name(rows)
    at = law["coordinate"].astype(np.int64)
    for column, limit in (("lower", model.lower[at]), ("upper", model.upper[at])):
        there = np.abs(limit) < UNLIMITED
        law[column][there] = limit[there]
    law["wall"], law["loss"] = stiffness_and_damping(stiffness, damping)
    out: Floats = rows[np.isfinite(law["lower"]) | np.isfinite(law["upper"])]
    return out


def joint_force(part: Joint, value: Any) -> Floats:
    """The force at a joint: one finite number for each of its degrees of freedom."""
    x: Floats = np.atleast_1d(as_floats("torque", value))
    count = part.v.stop - part.v.start
    if x.shape != (count,) or not np.isfinite(x).all():
        raise StateError(f"joint {part.name!r} takes {count} finite numbers, not {shown(value)}")
    return x


def checked_rows(model: Model, rows: Any) -> Floats:
    """Rows of a law that someone else made: checked, since kernels trust their indices."""
    out = as_floats("rows", rows)
    if out.ndim != 2 or out.shape[1] != LAW or np.isnan(out).any():
        raise StateError(f"rows of a law of joints have {LAW} numbers each; these have the shape {out.shape}, or NaN")
    out = np.ascontiguousarray(out)
    dof = by_name(out)["dof"]
    if not np.isin(dof, np.arange(model.nv)).all():
        raise StateError(f"a row of a law of joints acts on a degree of freedom that is none of {model.nv}")
    at, law = dof.astype(np.int64), by_name(out)
    by_position = (law["stiffness"] != 0) | np.isfinite(law["lower"]) | np.isfinite(law["upper"])
    for i in np.unique(model.dof_body[at[by_position]]).tolist():
        _refuse_curved(model, model.joints[i])
    if not np.array_equal(law["coordinate"], _coordinates(model, at)):
        raise StateError("a row of a law of joints has a coordinate that is not that of its degree of freedom")
    return out


def stiffness_and_damping(stiffness: Any, damping: Any) -> tuple[float, float]:
    """Both, checked."""
    return take("stiffness", stiffness, NOT_NEGATIVE), take("damping", damping, NOT_NEGATIVE)


def new_rows(model: Model, dof: Ints) -> Floats:
    """Rows of a law for degrees of freedom, in which nothing acts yet."""
    rows = np.zeros((len(dof), LAW))
    law = by_name(rows)
    law["dof"], law["coordinate"] = dof, _coordinates(model, dof)
    law["most"], law["lower"], law["upper"] = np.inf, -np.inf, np.inf
    return rows


def _coordinates(model: Model, dof: Ints) -> Ints:
    """Where the coordinates of degrees of freedom stand in q; for ball, planar and free joints some number of theirs,
    which nothing may depend on."""
    body = model.dof_body[dof]
    return np.asarray(model.q_index[body] + dof - model.v_index[body])


def _refuse_curved(model: Model, joint: Joint) -> None:
    if model.joint_type[joint.index] not in PLAIN:
        raise StateError(
            f"joint {joint.name!r} is a {joint.type} joint, whose coordinates do not add: write its force as a "
            "function (time, q, v) -> tau, or as a torque"
        )
