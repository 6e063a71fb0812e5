"""Requirements on a model, checked column by column; a message names the first offending body and the remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.arguments import shown
from supple.errors import ModelError
from supple.model import physical
from supple.model.actuators import Actuator
from supple.model.geometry import are_rotations, as_reals, as_rotation, as_vector
from supple.model.joints import AXES, NQ, NV, JointType
from supple.model.manifold import PLAIN
from supple.model.report import Remark

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: The numbers of a joint, in the order of add_body's arguments: for each of its q, or else of its v.
OF_Q = ("lower", "upper", "rest")
NOT_NEGATIVE = ("damping", "armature", "friction", "stiffness")
NUMBERS = ("lower", "upper", "velocity_limit", "effort_limit", *NOT_NEGATIVE, "rest")

#: Joints that can have an actuator.
SINGLE = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC, JointType.SCREW)

SPRING = "acts only at joints whose coordinates add, not at ball, planar and free ones; set it to 0"

#: The largest number accepted, in SI units: larger than any physical quantity, and its cube does not overflow.
LARGEST = 1e60
#: How far from 1 the computed length of a vector is at most that has been normalised: four roundings and more.
ROUNDED = 1e-15


@dataclass
class Columns:
    """The bodies given to a builder, one row each, in the order given."""

    name: list[str]
    joint_name: list[str]
    kind: Ints
    axis: Floats
    axis2: Floats
    pitch: Floats
    position: Floats
    rotation: Floats
    mass: Floats
    com: Floats
    inertia: Floats
    #: NUMBERS of the joints: arrays, or tuples where one is not one number
    rest: list[Any]
    parent: Ints

    def take(self, keep: Ints) -> Columns:
        """Some of the bodies, in the order given. Their parents keep their old indices."""
        if np.array_equal(keep, np.arange(len(self.name))):
            return self
        rows = keep.tolist()
        return Columns(
            [self.name[i] for i in rows],
            [self.joint_name[i] for i in rows],
            self.kind[keep],
            self.axis[keep],
            self.axis2[keep],
            self.pitch[keep],
            self.position[keep],
            self.rotation[keep],
            self.mass[keep],
            self.com[keep],
            self.inertia[keep],
            [x[keep] if isinstance(x, np.ndarray) else tuple(x[i] for i in rows) for x in self.rest],
            self.parent[keep],
        )

    def limits(self, nq: Ints, nv: Ints) -> dict[str, Floats]:
        """The per-joint numbers expanded to q (limits) or v (the others)."""
        count = {what: nq if what in OF_Q else nv for what in NUMBERS}
        out = {what: self._spread(what, column, count[what]) for what, column in zip(NUMBERS, self.rest)}
        joint_numbers(self.joint_name, self.kind, out)
        return out

    def _spread(self, what: str, values: Any, count: Ints) -> Floats:
        if isinstance(values, np.ndarray):
            return np.repeat(values, count)
        parts = []
        for i, (x, k) in enumerate(zip(values, count.tolist())):
            try:
                parts.append(np.broadcast_to(as_reals(x), (k,)))
            except (TypeError, ValueError):
                raise ModelError(
                    f"joint {self.joint_name[i]!r}: {what} must be one number or {k}, not {shown(x)}"
                ) from None
        return np.concatenate(parts)


def joint_numbers(names: Sequence[str], kind: Ints, given: Mapping[str, Floats]) -> None:
    """Check NUMBERS of joints, one for each of their q or v."""
    nq, nv = np.asarray(NQ)[kind], np.asarray(NV)[kind]

    def refuse(what: str, bad: NDArray[np.bool_], why: str) -> None:
        if bad.any():
            j = int(np.flatnonzero(bad)[0])
            i = int(np.repeat(np.arange(len(kind)), nq if what in OF_Q else nv)[j])
            raise ModelError(f"joint {names[i]!r}: {what} {why}")

    for what in NUMBERS:
        refuse(what, np.isnan(given[what]), "is not a number")
    for what in NOT_NEGATIVE:
        refuse(what, ~(np.isfinite(given[what]) & (given[what] >= 0)), "must be finite and not negative")
    for what in ("velocity_limit", "effort_limit"):
        refuse(what, given[what] < 0, "must not be negative")
    refuse("rest", ~np.isfinite(given["rest"]), "must be finite")
    if given["stiffness"].any():
        refuse("stiffness", (given["stiffness"] != 0) & ~np.isin(np.repeat(kind, nv), PLAIN), SPRING)
    over = np.flatnonzero(given["lower"] > given["upper"])
    if len(over):
        lower, upper = (given[what][over[0]] for what in ("lower", "upper"))
        refuse("lower", given["lower"] > given["upper"], f"limit {lower:g} is above the upper {upper:g}")


def plain(values: Sequence[Any]) -> Any:
    """The values as an array if each is one number, otherwise unchanged."""
    try:
        out = as_reals(values)
    except (TypeError, ValueError):
        return values
    return out if out.ndim == 1 else values


def joined(parts: list[Columns]) -> Columns:
    """All bodies of several blocks."""
    if len(parts) == 1:
        return parts[0]
    both: dict[str, Any] = {}
    for what in (f.name for f in fields(Columns)):
        column = [getattr(c, what) for c in parts]
        both[what] = np.concatenate(column) if isinstance(column[0], np.ndarray) else list(chain.from_iterable(column))
    both["rest"] = [plain(tuple(chain.from_iterable(x))) for x in zip(*(c.rest for c in parts))]
    return Columns(**both)


def is_text(name: str) -> bool:
    """Whether a string can be encoded."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def unique(kind: str, names: Sequence[Any]) -> None:
    if set(map(type, names)) <= {str}:
        different = set(names)
        if len(different) == len(names) and "" not in different and is_text("".join(names)):
            return
    seen = set()
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise ModelError(f"{kind} {i} has the name {shown(name)}: a name is a string of at least one character")
        if not is_text(name):
            raise ModelError(f"{kind} {i} has the name {shown(name)}: no file can hold half of a surrogate pair")
        if name in seen:
            several = {"body": "bodies"}.get(kind, f"{kind}s")
            raise ModelError(f"two {several} are called {name!r}: names must differ; rename one of them")
        seen.add(name)


def actuators(given: Any, joint_names: Sequence[str], kind: Ints) -> tuple[Actuator, ...]:
    """Motors of different names, each at a joint with one degree of freedom."""
    if not isinstance(given, (tuple, list)) or not all(isinstance(x, Actuator) for x in given):
        raise ModelError(f"actuator_list must be a tuple of Actuator, not {shown(given)}")
    if given:
        unique("actuator", [x.name for x in given])
        joints = {name: i for i, name in enumerate(joint_names)}
        for x in given:
            if x.joint not in joints:
                raise ModelError(f"actuator {x.name!r}: there is no joint {x.joint!r}")
            if kind[joints[x.joint]] not in SINGLE:
                raise ModelError(f"actuator {x.name!r}: joint {x.joint!r} has more than one degree of freedom")
    return tuple(given)


def scalars(what: str, values: Sequence[Any], names: list[str]) -> Floats:
    try:
        out = as_reals(values)
        if out.shape == (len(values),):
            return out
    except (TypeError, ValueError):
        pass
    for i, x in enumerate(values):
        try:
            if as_reals(x).shape == ():
                continue
        except (TypeError, ValueError):
            pass
        raise ModelError(f"body {names[i]!r}: {what} must be a number, not {shown(x)}")
    raise ModelError(f"{what} must be a number for every body")


def vectors(what: str, values: Sequence[Any], names: list[str]) -> Floats:
    try:
        out = as_reals(values)
        if out.shape == (len(values), 3):
            return out
    except (TypeError, ValueError):
        pass
    for i, x in enumerate(values):
        try:
            if as_reals(x).shape == (3,):
                continue
        except (TypeError, ValueError):
            pass
        raise ModelError(f"body {names[i]!r}: {what} must be three numbers, not {shown(x)}")
    raise ModelError(f"{what} must be three numbers for every body")


def _stacked(values: Sequence[Any], given: list[int]) -> Floats:
    """The given values as one separate array; empty if they differ in shape or are not numbers."""
    try:
        return as_reals([values[i] for i in given] if len(given) < len(values) else values)
    except (TypeError, ValueError):
        return np.empty(0)


def rotations(values: Sequence[Any], names: list[str]) -> Floats:
    given = _given(values)
    stack = _stacked(values, given)
    matrices, good = are_rotations(stack) if stack.shape[1:] in ((4,), (3, 3)) else (stack, np.array(False))
    if good.all() and len(given) == len(values):
        return matrices
    out = np.broadcast_to(np.eye(3), (len(values), 3, 3)).copy()
    if good.all():
        out[given] = matrices
        return out
    for i in given:  # of several forms, or one is not a rotation
        try:
            out[i] = as_rotation(values[i])
        except (TypeError, ValueError) as e:
            raise ModelError(f"body {names[i]!r}: {e}") from None
    return out


def poses(positions: Sequence[Any], rotations: Sequence[Any], what: Callable[[int], str]) -> tuple[Floats, Floats]:
    """Positions and rotations of many frames or shapes, checked as by as_vector and as_rotation; what(i): names the
    i-th."""
    given = _given(rotations)
    p, stack = _stacked(positions, list(range(len(positions)))), _stacked(rotations, given)
    R = np.broadcast_to(np.eye(3), (len(rotations), 3, 3)).copy()
    if given and stack.shape[1:] in ((4,), (3, 3)):
        R[given], good = are_rotations(stack)
    else:
        good = np.array(not given)
    if good.all() and p.shape == (len(R), 3) and np.isfinite(p).all():
        return p, R
    each = range(len(R))  # of several forms, or one is wrong: named below
    R = np.array([as_rotation(rotations[i], f"rotation of {what(i)}") for i in each]).reshape(-1, 3, 3)
    return np.array([as_vector(f"position of {what(i)}", positions[i]) for i in each]).reshape(-1, 3), R


def second_axes(values: Sequence[Any], kind: Ints, names: list[str]) -> Floats:
    out = np.zeros((len(values), 3))
    who = np.flatnonzero(np.array(AXES)[kind] == 2)
    for i in who.tolist():
        if values[i] is None:
            name = JointType(int(kind[i])).name.lower()
            raise ModelError(f"body {names[i]!r}: a {name} joint needs axis2, perpendicular to axis")
    if len(who):
        out[who] = vectors("axis2", [values[i] for i in who.tolist()], [names[i] for i in who.tolist()])
    return out


def _given(values: Sequence[Any]) -> list[int]:
    """Which of them are not None."""
    if isinstance(values, np.ndarray):
        return list(range(len(values)))
    return [i for i, x in enumerate(values) if x is not None]


def inertia_matrices(values: Sequence[Any], names: list[str]) -> Floats:
    given = _given(values)
    column = _stacked(values, given)
    if column.shape == (len(values), 3, 3):
        return column
    out = np.zeros((len(values), 3, 3))
    if column.shape == (len(given), 3, 3):
        out[given] = column
        return out
    if column.shape == (len(given), 3):
        out[np.array(given, dtype=np.int64)[:, None], range(3), range(3)] = column
        return out
    for i in given:
        x = values[i]
        try:
            I = as_reals(x)
        except (TypeError, ValueError):
            I = np.empty(0)
        if I.shape == (3,):
            I = np.diag(I)
        if I.shape != (3, 3):
            raise ModelError(f"body {names[i]!r}: inertia must be 3x3 or three diagonal entries, not {shown(x)}")
        out[i] = I
    return out


def _first(bad: NDArray[np.bool_]) -> int | None:
    return int(np.flatnonzero(bad)[0]) if bad.any() else None


def numbers(c: Columns) -> None:
    """Check numbers of bodies; axes are normalised in place. Unit vectors stay as they are, to the last bit: models
    that are written and read again do not drift."""
    body_numbers(c.name, {what: getattr(c, what) for what in ("position", "com", "inertia", "pitch", "axis", "mass")})
    axes = np.array(AXES)[c.kind]
    for what, column, who in (("axis", c.axis, axes > 0), ("axis2", c.axis2, axes == 2)):
        norm = np.linalg.norm(column, axis=1)
        i = _first(who & ~(norm > 1e-9))
        if i is not None:
            raise ModelError(f"joint {c.joint_name[i]!r}: {what} {column[i].tolist()} has no direction")
        off = who & (np.abs(norm - 1.0) > ROUNDED)
        column[off] /= norm[off, None]
    perpendicular(c.joint_name, c.kind, c.axis, c.axis2)


def body_numbers(names: Sequence[str], given: Mapping[str, Floats]) -> None:
    """Check numbers of bodies: finite, and not so large that products overflow; masses not negative."""
    for what, column in given.items():
        if what == "mass" or (np.isfinite(column).all() and column.max() <= LARGEST and column.min() >= -LARGEST):
            continue
        flat = np.abs(column.reshape(len(column), -1)).max(axis=1)
        i = _first(~np.isfinite(flat))
        if i is not None:
            raise ModelError(f"body {names[i]!r}: {what} is not finite: {column[i].tolist()}")
        i = _first(flat > LARGEST)
        if i is not None:
            raise ModelError(f"body {names[i]!r}: {what} is too large for anything real: {column[i].tolist()}")
    mass = given["mass"]
    i = _first(~((mass <= LARGEST) & (mass >= 0)))
    if i is not None:
        raise ModelError(f"body {names[i]!r}: mass is {mass[i]:g}; it must be a number from 0 to {LARGEST:g}")


def perpendicular(names: Sequence[str], kind: Ints, axis: Floats, axis2: Floats) -> None:
    """Check the axes of joints that have two."""
    two = np.array(AXES)[kind] == 2
    i = _first(two & (np.abs(np.sum(axis * axis2, axis=1)) > 1e-6))
    if i is not None:
        name = JointType(int(kind[i])).name.lower()
        raise ModelError(f"joint {names[i]!r}: the two axes of a {name} joint must be perpendicular")


def inertias(c: Columns, unphysical: str) -> list[Remark]:
    """Check that they are symmetric and physical."""
    symmetric(c.name, c.inertia)
    c.inertia = 0.5 * (c.inertia + c.inertia.transpose(0, 2, 1))
    return physical.unphysical_remarks(physical.unphysical(c.name, c.inertia, physical.TRIANGLE_SLACK), unphysical)


def symmetric(names: Sequence[str], I: Floats) -> None:
    size = np.abs(I).max(axis=(1, 2))
    i = _first(np.abs(I - I.transpose(0, 2, 1)).max(axis=(1, 2)) > 1e-9 * size)
    if i is not None:
        raise ModelError(f"body {names[i]!r}: the inertia matrix is not symmetric")
