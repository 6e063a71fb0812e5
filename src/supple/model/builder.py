"""ModelBuilder: collects bodies, checks them all at once, and makes the frozen Model. The only place that validates.

build() is O(n) and vectorised: names, numbers and inertias are checked as columns; bodies are renumbered depth first in
the order in which children were added; bodies on fixed joints are merged into what carries them and stay as named frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.errors import ModelError
from supple.model import checks
from supple.model.geometry import as_rotation, point_inertia
from supple.model.joints import JOINT_NAMES, NQ, NV, JointName, JointType
from supple.model.model import Frame, Model, Visual, unknown
from supple.model.report import Remark, Report
from supple.model.topology import depth_first, subtree_ends

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Body = int | str | None

GRAVITY = (0.0, 0.0, -9.81)
_TYPE = {name: JointType[name.upper()] for name in JOINT_NAMES}
_ZERO, _Z = (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)


class ModelBuilder:
    """Add bodies, then build(). Each body brings the joint that joins it to its parent.

    >>> b = ModelBuilder()
    >>> upper = b.add_body("upper", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5))
    >>> lower = b.add_body("lower", upper, "revolute", axis=(0, 1, 0), position=(0, 0, -1), mass=1.0, com=(0, 0, -0.5))
    >>> b.build()
    <Model 'model': 2 bodies, nq=2, nv=2, 2 kg>
    """

    def __init__(self, name: str = "model", gravity: ArrayLike = GRAVITY, source: str | None = None) -> None:
        self.name, self._gravity, self._source = name, gravity, source
        self._rows: list[tuple[Any, ...]] = []
        self._frames: list[tuple[str, Body, Any, Any]] = []
        self._visuals: list[tuple[Body, dict[str, Any]]] = []
        self._remarks: list[Remark] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add_body(
        self,
        name: str | None = None,
        parent: Body = None,
        joint: JointName = "revolute",
        *,
        axis: ArrayLike = _Z,
        axis2: ArrayLike | None = None,
        pitch: float = 0.0,
        position: ArrayLike = _ZERO,
        rotation: ArrayLike | None = None,
        mass: float = 0.0,
        com: ArrayLike = _ZERO,
        inertia: ArrayLike | None = None,
        joint_name: str | None = None,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        velocity_limit: ArrayLike = np.inf,
        effort_limit: ArrayLike = np.inf,
        damping: ArrayLike = 0.0,
        armature: ArrayLike = 0.0,
        friction: ArrayLike = 0.0,
    ) -> int:
        """Add a body on a joint; returns its number here, to be used as a parent.

        parent: a number returned earlier, a body's name (also one added later), or None for the world.
        position, rotation: the joint's frame in the parent's; rotation is 3x3 or a quaternion (x, y, z, w).
        com, inertia: in the body's frame; inertia (3x3, or 3 diagonal entries) is about com, None is a point mass.
        lower, upper: one number or one for each entry of the joint's q; velocity_limit, effort_limit, damping,
        armature, friction: one number or one for each entry of its v.
        """
        # fmt: off
        self._rows.append((name, parent, joint, axis, axis2, pitch, position, rotation, mass, com, inertia, joint_name,
                           lower, upper, velocity_limit, effort_limit, damping, armature, friction))
        # fmt: on
        return len(self._rows) - 1

    def add_frame(
        self, name: str, body: Body = None, position: ArrayLike = _ZERO, rotation: ArrayLike | None = None
    ) -> None:
        """Name a place on a body (None: the world)."""
        self._frames.append((name, body, position, rotation))

    def add_visual(
        self,
        body: Body,
        kind: str,
        size: Sequence[float],
        position: ArrayLike = _ZERO,
        rotation: ArrayLike | None = None,
        rgba: tuple[float, float, float, float] | None = None,
        mesh: str | None = None,
        name: str | None = None,
    ) -> None:
        """Fix a shape to a body, for drawing only."""
        self._visuals.append(
            (body, dict(kind=kind, size=tuple(size), position=position, rotation=rotation, rgba=rgba, mesh=mesh, name=name))
        )

    def remark(self, subject: str, message: str, line: int | None = None) -> None:
        """Put something into model.report."""
        self._remarks.append(Remark(subject, message, line))

    def build(self, *, unphysical_inertia: str = "refuse", singular: str = "refuse") -> Model:
        """Check everything and make the model. Nothing is made if anything is wrong.

        unphysical_inertia: what to do with an inertia that no real body has (principal moments that violate the
        triangle inequality or are negative): "refuse", or "report" to keep it and say so in model.report.
        singular: what to do with a joint that moves no inertia, which makes the mass matrix singular: "refuse", or
        "report". Kinematics and inverse dynamics of such a model work; forward dynamics raises SingularError.
        """
        columns = self._columns()
        kind: Ints = columns.kind
        parent = self._parents(columns)
        checks.numbers(columns)
        remarks = [*self._remarks, *checks.inertias(columns, unphysical_inertia)]
        order = depth_first(parent)
        if len(order) < len(parent):
            _refuse_cycle(columns.name, parent, order)
        merged = _Merger(columns, parent, order)
        keep = merged.keep
        new_parent = merged.parent
        end = subtree_ends(new_parent)
        kept = columns.take(keep)
        kind = kept.kind
        nq, nv = np.asarray(NQ)[kind], np.asarray(NV)[kind]
        limits = kept.limits(nq, nv)
        arrays = dict(
            gravity=_vector("gravity", self._gravity),
            parent=new_parent,
            subtree_end=end,
            joint_type=kind,
            q_index=np.cumsum(nq) - nq,
            v_index=np.cumsum(nv) - nv,
            position=merged.position,
            rotation=merged.rotation,
            axis=kept.axis,
            axis2=kept.axis2,
            pitch=kept.pitch,
            mass=merged.mass,
            com=merged.com,
            inertia=merged.inertia,
            **limits,
        )
        remarks += checks.mass_matrix_regular(kept.name, arrays, singular)
        for a in arrays.values():
            a.flags.writeable = False
        frames = merged.frames(self._frames, self._resolve)
        return Model(
            name=self.name,
            **arrays,
            body_names=tuple(kept.name),
            joint_names=tuple(kept.joint_name),
            frame_list=frames,
            visuals=self._place_visuals(merged),
            report=Report(self._source, tuple(remarks)),
        )

    # --- columns and names --------------------------------------------------------------------------------------

    def _columns(self) -> checks.Columns:
        if not self._rows:
            raise ModelError("a model needs at least one body: call add_body before build")
        (name, parent, joint, axis, axis2, pitch, position, rotation, mass, com, inertia, joint_name, *rest) = zip(
            *self._rows
        )
        names = [f"body{i}" if x is None else x for i, x in enumerate(name)]
        checks.unique("body", names)
        joint_names = [f"{names[i]}_joint" if x is None else x for i, x in enumerate(joint_name)]
        checks.unique("joint", joint_names)
        for i, j in enumerate(joint):
            if j not in _TYPE:
                raise ModelError(f"body {names[i]!r}: " + unknown("joint type", str(j), JOINT_NAMES))
        kind = np.array([_TYPE[j] for j in joint], dtype=np.int64)
        columns = checks.Columns(
            name=names,
            joint_name=joint_names,
            parent=parent,
            kind=kind,
            axis=checks.vectors("axis", axis, names),
            axis2=checks.second_axes(axis2, kind, names),
            pitch=checks.scalars("pitch", pitch, names),
            position=checks.vectors("position", position, names),
            rotation=checks.rotations(rotation, names),
            mass=checks.scalars("mass", mass, names),
            com=checks.vectors("com", com, names),
            inertia=checks.inertia_matrices(inertia, names),
            rest=rest,
        )
        self._numbers = {n: i for i, n in enumerate(names)}
        return columns

    def _resolve(self, body: Body, what: str) -> int:
        """The number of a body given by number or name; -1 for the world."""
        if body is None or body == "world" or (isinstance(body, int) and body == -1):
            return self._numbers.get("world", -1) if body == "world" else -1
        if isinstance(body, str):
            if body not in self._numbers:
                raise ModelError(f"{what}: {unknown('body', body, list(self._numbers))}")
            return self._numbers[body]
        if isinstance(body, (int, np.integer)) and 0 <= body < len(self._rows):
            return int(body)
        raise ModelError(f"{what}: {body!r} is not a body; give a name, a number from add_body, or None for the world")

    def _parents(self, columns: checks.Columns) -> Ints:
        n = len(self._rows)
        given = columns.parent
        if all(type(p) is int for p in given):
            out = np.array(given, dtype=np.int64)
            if out.min() >= -1 and out.max() < n:
                return out
        return np.array([self._resolve(p, f"parent of {columns.name[i]!r}") for i, p in enumerate(given)], dtype=np.int64)

    def _place_visuals(self, merged: _Merger) -> tuple[Visual, ...]:
        out = []
        for body, v in self._visuals:
            i = self._resolve(body, "visual")
            to, R, p = merged.place(i, as_rotation(v["rotation"]), _vector("position", v["position"]))
            out.append(Visual(to, v["kind"], v["size"], p, R, v["rgba"], v["mesh"], v["name"]))
        return tuple(out)


def _vector(what: str, x: ArrayLike) -> Floats:
    out = np.array(x, dtype=np.float64)
    if out.shape != (3,) or not np.isfinite(out).all():
        raise ModelError(f"{what} must be three finite numbers, not {x!r}")
    return out


def _refuse_cycle(names: list[str], parent: Ints, order: Ints) -> NoReturn:
    """Name the bodies of one cycle and refuse."""
    reached = np.zeros(len(parent), dtype=bool)
    reached[order] = True
    i = int(np.flatnonzero(~reached)[0])
    seen: dict[int, int] = {}
    while i not in seen:
        seen[i] = len(seen)
        i = int(parent[i])
    loop = [repr(names[j]) for j, k in seen.items() if k >= seen[i]]
    shown = " -> ".join([*loop[:5], "..."] if len(loop) > 5 else [*loop, loop[0]])
    raise ModelError(f"the bodies {shown} are each other's parents: a tree has no cycle; hang one of them on the world")


class _Merger:
    """Bodies without those on fixed joints: their mass goes to what carries them, their names become frames.

    carrier[i]: the kept body that carries body i (-1 the world); to_R, to_p: body i's frame in the carrier's.
    """

    def __init__(self, c: checks.Columns, parent: Ints, order: Ints) -> None:
        fixed = c.kind == JointType.FIXED
        self.names = c.name
        keep = order[~fixed[order]]
        if not len(keep):
            raise ModelError("every joint is fixed: nothing can move; give at least one body a joint that does")
        n = len(parent)
        number = np.full(n + 1, -1, dtype=np.int64)
        number[keep] = np.arange(len(keep))
        self.carrier = number[:n].copy()
        self.to: dict[int, tuple[Floats, Floats]] = {}
        position, rotation = c.position.copy(), c.rotation.copy()
        mass, com, inertia = c.mass.copy(), c.com.copy(), c.inertia.copy()
        if fixed.any():
            self._merge(fixed, parent, order, position, rotation, mass, com, inertia)
        up = parent[keep]
        self.keep = keep
        self.parent = np.where(up < 0, -1, self.carrier[up])
        self.position, self.rotation = position[keep], rotation[keep]
        self.mass, self.com = mass[keep], com[keep]
        # The sums over merged bodies are symmetric up to rounding; the matrix is exactly so.
        self.inertia = 0.5 * (inertia[keep] + inertia[keep].transpose(0, 2, 1))
        self.fixed_order = order[fixed[order]]

    def _merge(
        self,
        fixed: NDArray[np.bool_],
        parent: Ints,
        order: Ints,
        position: Floats,
        rotation: Floats,
        mass: Floats,
        com: Floats,
        inertia: Floats,
    ) -> None:
        on_fixed = fixed[parent] & (parent >= 0)
        original = {}
        for i in order[(fixed | on_fixed)[order]]:
            p = int(parent[i])
            if p >= 0 and fixed[p]:
                R, t = self.to[p]
                position[i] = R @ position[i] + t
                rotation[i] = R @ rotation[i]
            if fixed[i]:
                self.carrier[i] = -1 if p < 0 else self.carrier[p]
                self.to[int(i)] = (rotation[i], position[i])
                original[int(i)] = p
        kept_of = {int(i): int(i) for i in order[~fixed[order]]}
        for i in order[fixed[order]]:
            p = int(parent[i])
            kept_of[int(i)] = -1 if p < 0 else kept_of[p]
            k = kept_of[int(i)]
            if k >= 0 and (mass[i] > 0 or inertia[i].any()):
                R, t = self.to[int(i)]
                c = R @ com[i] + t
                total = mass[k] + mass[i]
                both = com[k] if total == 0 else (mass[k] * com[k] + mass[i] * c) / total
                inertia[k] = (
                    inertia[k]
                    + point_inertia(mass[k], com[k] - both)
                    + R @ inertia[i] @ R.T
                    + point_inertia(mass[i], c - both)
                )
                mass[k], com[k] = total, both

    def place(self, i: int, R: Floats, p: Floats) -> tuple[int, Floats, Floats]:
        """A pose given on body i, on the body that is kept."""
        if i < 0:
            return -1, R, p
        if i in self.to:
            A, t = self.to[i]
            R, p = A @ R, A @ p + t
        return int(self.carrier[i]), R, p

    def frames(self, extra: list[tuple[str, Body, Any, Any]], resolve: Any) -> tuple[Frame, ...]:
        out = [
            Frame(self.names[i], *_frozen_pose(*self.place(int(i), np.eye(3), np.zeros(3)))) for i in self.fixed_order
        ]
        for name, body, position, rotation in extra:
            i = resolve(body, f"frame {name!r}")
            place = self.place(i, as_rotation(rotation), _vector(f"position of frame {name!r}", position))
            out.append(Frame(name, *_frozen_pose(*place)))
        checks.unique("frame", [f.name for f in out])
        return tuple(out)


def _frozen_pose(body: int, R: Floats, p: Floats) -> tuple[int, Floats, Floats]:
    R, p = np.array(R), np.array(p)
    R.flags.writeable = p.flags.writeable = False
    return body, p, R
