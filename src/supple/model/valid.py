"""Requirements on the arrays of a Model, whoever made them: kernels trust their indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import ModelError
from supple.model import checks
from supple.model.frozen import kept
from supple.model.geometry import are_rotations, as_reals
from supple.model.joints import AXES, NQ, NV, JointType
from supple.model.loops import valid_loops, valid_relations
from supple.model.physical import Troubles
from supple.model.report import Report
from supple.model.shapes import valid_shapes
from supple.model.topology import is_depth_first

Ints = NDArray[np.int64]

INDICES = ("parent", "subtree_end", "joint_type", "q_index", "v_index")
OF_BODIES = dict(position=(3,), rotation=(3, 3), axis=(3,), axis2=(3,), pitch=(), mass=(), com=(3,), inertia=(3, 3),
                 origin=(3,))  # fmt: skip
OF_Q = checks.OF_Q
OF_V = tuple(name for name in checks.NUMBERS if name not in OF_Q)
ARRAYS = ("gravity", *INDICES, *OF_BODIES, *OF_Q, *OF_V)  #: the fields of a Model that are arrays
_POSE = (("position", (3,)), ("rotation", (3, 3)))
UNIT = 1e-6  #: tolerance for the length of an axis
_ADVICE = "a Model is made by ModelBuilder, supple.load, or dataclasses.replace of one"


def valid(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of a Model in the right form; ModelError for those that do not form a valid model."""
    out = dict(given)
    out.update({name: _indices(name, given[name]) for name in INDICES})
    n = len(out["parent"])
    _check_tree(out, n)
    nq, nv = (int(np.array(count)[out["joint_type"]].sum()) for count in (NQ, NV))
    shapes = {"gravity": (3,), **{name: (n, *shape) for name, shape in OF_BODIES.items()}}
    shapes.update({name: (nq,) for name in OF_Q} | {name: (nv,) for name in OF_V})
    out.update({name: _numbers(name, given[name], shape) for name, shape in shapes.items()})
    for what in ("body", "joint"):
        out[f"{what}_names"] = _names(what, given[f"{what}_names"], n)
    check_numbers(out)
    if not isinstance(given["name"], str):
        raise ModelError(f"the name of a model is a string, not {given['name']!r}")
    if not isinstance(given["report"], Report):
        raise ModelError(f"the report of a model is a Report, not {given['report']!r}")
    _check_physical(out)
    for name in ("frame_list", "visuals"):
        if not isinstance(given[name], (tuple, list)):
            raise ModelError(f"{name} must be a tuple, not {given[name]!r}")
        out[name] = tuple(_fixed(name, part, n) for part in given[name])
    for name in ("loop_list", "relation_list", "shape_list"):
        if not isinstance(given[name], (tuple, list)):
            raise ModelError(f"{name} must be a tuple, not {given[name]!r}")
    out["loop_list"] = valid_loops(given["loop_list"], out["joint_names"])
    out["relation_list"] = valid_relations(given["relation_list"], out["joint_names"], out["joint_type"])
    out["shape_list"] = valid_shapes(given["shape_list"], n)
    out["actuator_list"] = checks.actuators(given["actuator_list"], out["joint_names"], out["joint_type"])
    return out


def _indices(name: str, given: Any) -> Ints:
    try:
        raw = np.asarray(given)
    except ValueError:  # lists of different lengths
        raw = np.empty((0, 0))
    if raw.ndim != 1 or raw.dtype.kind not in "iu":
        raise ModelError(f"{name} must be one whole number for each body, not {_shown(raw)}; {_ADVICE}")
    return raw.astype(np.int64)


def _numbers(name: str, given: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    try:
        out = as_reals(given)
    except (TypeError, ValueError):
        raise ModelError(f"{name} must be an array of numbers; {_ADVICE}") from None
    if out.shape != shape:
        raise ModelError(f"{name} must have the shape {shape}, not {out.shape}; {_ADVICE}")
    return out


def _shown(x: NDArray[Any]) -> str:
    return f"an array of {x.dtype} of shape {x.shape}"


def _check_tree(out: dict[str, Any], n: int) -> None:
    """Indices that kernels follow."""
    for name in INDICES:
        if len(out[name]) != n:
            raise ModelError(f"{name} has {len(out[name])} entries, and parent {n}: one for each body; {_ADVICE}")
    if not is_depth_first(out["parent"], out["subtree_end"]):
        raise ModelError(
            "parent and subtree_end must number bodies depth first: parents before children, all descendants of body i "
            f"from i + 1 to subtree_end[i] - 1; {_ADVICE}"
        )
    kind = out["joint_type"]
    wrong = np.flatnonzero((kind <= JointType.FIXED) | (kind > max(JointType)))
    if len(wrong):
        i = int(wrong[0])
        raise ModelError(f"joint_type[{i}] is {kind[i]}: a joint of a model is one of JointType, and moves; {_ADVICE}")
    for name, counts in (("q_index", NQ), ("v_index", NV)):
        count = np.array(counts)[kind]
        right = np.cumsum(count) - count
        if not np.array_equal(out[name], right):
            i = int(np.flatnonzero(out[name] != right)[0])
            raise ModelError(f"{name}[{i}] is {out[name][i]}, and the joints before have {right[i]}; {_ADVICE}")


def check_numbers(out: dict[str, Any]) -> None:
    """The numbers of a model, checked as by ModelBuilder, up to rounding."""
    if not (np.abs(out["gravity"]) <= checks.LARGEST).all():
        raise ModelError("gravity has a number that is not finite, or too large for anything real")
    bodies, joints, kind = out["body_names"], out["joint_names"], out["joint_type"]
    checks.body_numbers(bodies, {name: out[name] for name in OF_BODIES if name != "rotation"})
    checks.joint_numbers(joints, kind, out)
    wrong = np.flatnonzero(~are_rotations(out["rotation"])[1])
    if len(wrong):
        raise ModelError(f"body {bodies[wrong[0]]!r}: rotation is not one: R R^T must be 1 and det R = 1")
    checks.symmetric(bodies, out["inertia"])
    axes = np.array(AXES)[kind]
    for name, who in (("axis", axes > 0), ("axis2", axes == 2)):
        wrong = np.flatnonzero(who & ~(np.abs(np.linalg.norm(out[name], axis=1) - 1.0) <= UNIT))
        if len(wrong):
            raise ModelError(f"joint {joints[wrong[0]]!r}: {name} is not of unit length")
    checks.perpendicular(joints, kind, out["axis"], out["axis2"])


def _check_physical(out: dict[str, Any]) -> None:
    """As by ModelBuilder: what its report does not mention is refused. Re-rooted models have other leaves than those
    that were checked when they were built, and may be found singular only now."""
    found, known = Troubles.of(out), Troubles.reported(out["report"])
    if out["origin"].any():
        known = replace(known, singular=found.singular)
    found.refuse_beyond(known)


def _names(kind: str, given: Any, n: int) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != n:
        raise ModelError(f"{kind}_names must be {n} names; {_ADVICE}")
    names = tuple(given)
    checks.unique(kind, names)
    return names


def _fixed(name: str, part: Any, n: int) -> Any:
    """A frame or a visual, on an existing body."""
    body = getattr(part, "body", None)
    if not hasattr(part, "__dataclass_fields__") or not isinstance(body, (int, np.integer)) or not -1 <= body < n:
        raise ModelError(f"{name} has something on body {body!r}, and there are {n}, numbered from 0; the world is -1")
    place = {what: _numbers(f"{what} in {name}", getattr(part, what), shape) for what, shape in _POSE}
    if not all(np.isfinite(x).all() for x in place.values()):
        raise ModelError(f"{name} has something at a place that is not finite")
    return replace(part, **{what: kept(x) for what, x in place.items()})
