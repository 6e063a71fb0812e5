"""Requirements on a model, checked column by column; a message names the first offending body and the remedy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.arguments import shown
from supple.errors import ModelError
from supple.model.actuators import Actuator
from supple.model.geometry import are_rotations, as_reals, as_rotation, as_vector, frames_along
from supple.model.joints import AXES, DIRECTIONS, KINDS, JointType
from supple.model.manifold import PLAIN
from supple.model.report import Remark

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Moments may violate the triangle inequality by this fraction of the largest one: the rounding of printed numbers.
TRIANGLE_SLACK = 1e-5

#: The numbers of a joint, in the order of add_body's arguments: for each of its q, or else of its v.
OF_Q = ("lower", "upper", "rest")
NOT_NEGATIVE = ("damping", "armature", "friction", "stiffness")
NUMBERS = ("lower", "upper", "velocity_limit", "effort_limit", *NOT_NEGATIVE, "rest")

#: Joints that can have an actuator.
SINGLE = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC, JointType.SCREW)

SPRING = "acts only at joints whose coordinates add, not at ball, planar and free ones; set it to 0"

#: The largest number accepted, in SI units: larger than any physical quantity, and its cube does not overflow.
LARGEST = 1e60


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
        for what, column in out.items():
            self._refuse(what, "is not a number", np.isnan(column), count[what])
        for what in NOT_NEGATIVE:
            bad = ~(np.isfinite(out[what]) & (out[what] >= 0))
            self._refuse(what, "must be finite and not negative", bad, nv)
        self._refuse("rest", "must be finite", ~np.isfinite(out["rest"]), nq)
        if out["stiffness"].any():
            self._refuse("stiffness", SPRING, misplaced_springs(out["stiffness"], self.kind, nv), nv)
        bad = ~(out["lower"] <= out["upper"])
        if bad.any():
            j = int(np.flatnonzero(bad)[0])
            i = int(np.repeat(np.arange(len(nq)), nq)[j])
            raise ModelError(
                f"joint {self.joint_name[i]!r}: lower limit {out['lower'][j]:g} is above the upper {out['upper'][j]:g}"
            )
        return out

    def _refuse(self, what: str, why: str, bad: NDArray[np.bool_], count: Ints) -> None:
        if bad.any():
            i = int(np.repeat(np.arange(len(count)), count)[np.flatnonzero(bad)[0]])
            raise ModelError(f"joint {self.joint_name[i]!r}: {what} {why}")

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


def misplaced_springs(stiffness: Floats, kind: Ints, nv: Ints) -> NDArray[np.bool_]:
    """(nv,) where there is stiffness at a joint whose coordinates do not add."""
    return np.asarray((stiffness != 0) & ~np.isin(np.repeat(kind, nv), PLAIN))


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
    """Check numbers: finite, and not so large that products overflow; masses not negative; axes normalised in place."""
    for what in ("position", "com", "inertia", "pitch", "axis"):
        column: Floats = getattr(c, what)
        if np.isfinite(column).all() and column.max() <= LARGEST and column.min() >= -LARGEST:
            continue
        flat = np.abs(column.reshape(len(column), -1)).max(axis=1)
        i = _first(~np.isfinite(flat))
        if i is not None:
            raise ModelError(f"body {c.name[i]!r}: {what} is not finite: {column[i].tolist()}")
        i = _first(flat > LARGEST)
        if i is not None:
            raise ModelError(f"body {c.name[i]!r}: {what} is too large for anything real: {column[i].tolist()}")
    i = _first(~((c.mass <= LARGEST) & (c.mass >= 0)))
    if i is not None:
        raise ModelError(f"body {c.name[i]!r}: mass is {c.mass[i]:g}; it must be a number from 0 to {LARGEST:g}")
    axes = np.array(AXES)[c.kind]
    for what, column, who in (("axis", c.axis, axes > 0), ("axis2", c.axis2, axes == 2)):
        norm = np.linalg.norm(column, axis=1)
        i = _first(who & ~(norm > 1e-9))
        if i is not None:
            raise ModelError(f"joint {c.joint_name[i]!r}: {what} {column[i].tolist()} has no direction")
        column[who] /= norm[who, None]
    i = _first((axes == 2) & (np.abs(np.sum(c.axis * c.axis2, axis=1)) > 1e-6))
    if i is not None:
        name = JointType(int(c.kind[i])).name.lower()
        raise ModelError(f"joint {c.joint_name[i]!r}: the two axes of a {name} joint must be perpendicular")


def inertias(c: Columns, unphysical: str) -> list[Remark]:
    """Check that they are symmetric and physical: principal moments not negative, none larger than the sum of the
    others."""
    I = c.inertia
    size = np.abs(I).max(axis=(1, 2))
    i = _first(np.abs(I - I.transpose(0, 2, 1)).max(axis=(1, 2)) > 1e-9 * size)
    if i is not None:
        raise ModelError(f"body {c.name[i]!r}: the inertia matrix is not symmetric")
    c.inertia = I = 0.5 * (I + I.transpose(0, 2, 1))
    suspects = np.flatnonzero(size > 0)
    if not len(suspects):
        return []
    w = np.linalg.eigvalsh(I[suspects])
    slack = TRIANGLE_SLACK * w[:, 2]
    bad = suspects[(w[:, 0] < -slack) | (w[:, 0] + w[:, 1] < w[:, 2] - slack) | (w[:, 2] <= 0)]
    out = []
    for i in bad:
        m = np.linalg.eigvalsh(I[i])
        message = (
            f"body {c.name[i]!r}: no real body has principal moments of inertia {m[0]:.4g}, {m[1]:.4g}, {m[2]:.4g} "
            "(none may be negative or exceed the sum of the other two)"
        )
        if unphysical == "refuse":
            raise ModelError(f"{message}; about the centre of mass? (build(unphysical_inertia='report') keeps it)")
        out.append(Remark("unphysical inertia", message + "; used as given"))
    return out


def mass_matrix_regular(names: list[str], a: dict[str, Any], singular: str) -> list[Remark]:
    """Every degree of freedom must move something: a branch without inertia makes the mass matrix singular."""
    n = len(names)
    heavy = (a["mass"] > 0) | (np.abs(a["inertia"]).max(axis=(1, 2)) > 0)
    count = np.concatenate([[0], np.cumsum(heavy)])
    empty = count[a["subtree_end"]] == count[:n]
    nv = np.diff(np.append(a["v_index"], len(a["armature"])))
    body = np.repeat(np.arange(n), nv)
    idle = np.unique(body[empty[body] & (a["armature"] == 0)])
    leaves = np.flatnonzero(a["subtree_end"] == np.arange(1, n + 1))
    I = a["inertia"][leaves]
    thin = np.linalg.eigvalsh(I)[:, 0] <= 1e-14 * np.abs(I).max(axis=(1, 2))
    suspects = np.setdiff1d(leaves[thin], idle)
    flat = [int(i) for i in suspects if not _leaf_regular(int(i), a, int(nv[i]))]
    messages = [
        f"body {names[i]!r} and everything beyond it has no mass: its joint would move nothing and the mass matrix be "
        "singular; give it mass, give the joint armature, or make the joint fixed"
        for i in idle
    ] + [
        f"body {names[i]!r} has no inertia about its joint's axis: the mass matrix would be singular; give it inertia, "
        "give the joint armature, or make the joint fixed"
        for i in flat
    ]
    if messages and singular == "refuse":
        raise ModelError(messages[0])
    return [Remark("singular", message + "; until then forward dynamics raises SingularError") for message in messages]


def _leaf_regular(i: int, a: dict[str, Any], nv: int) -> bool:
    """Whether the mass matrix of one leaf alone, S^T I S + armature, is positive definite."""
    S = joint_motions(JointType(int(a["joint_type"][i])), a["axis"][i], a["axis2"][i], float(a["pitch"][i]))
    m, c = float(a["mass"][i]), a["com"][i]
    C = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
    I = np.block([[a["inertia"][i] + m * C @ C.T, m * C], [m * C.T, m * np.eye(3)]])
    v = int(a["v_index"][i])
    armature = a["armature"][v : v + nv]
    H = S.T @ I @ S + np.diag(armature)
    # An upper bound over all directions of such a motion; where the exact value is zero, rounding leaves a fraction of
    # it.
    largest = np.einsum("ij,ij->j", S, S) * np.abs(I).max() + armature
    if not np.all(np.diag(H) > 1e-14 * largest):
        return False
    scale = np.sqrt(np.diag(H))
    return bool(np.linalg.eigvalsh(H / np.outer(scale, scale))[0] > 1e-13)


def joint_motions(kind: JointType, axis: Floats, axis2: Floats, pitch: float) -> Floats:
    """(6, nv) the motions that a joint allows at its neutral position, angular first, in the body's frame."""
    motions = np.zeros((6, 6))
    motions[:3, :3] = motions[3:, 3:] = frames_along(np.array([AXES[kind]]), axis[None], axis2[None])[0]
    out = motions[:, [DIRECTIONS.index(x) for x in KINDS[kind].allowed.split()]]
    if KINDS[kind].pitched:
        out[3:] += pitch * out[:3]
    return out
