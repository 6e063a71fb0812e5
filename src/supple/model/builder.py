"""ModelBuilder: collects bodies, checks them all at once, and makes the frozen Model. The only place that validates.

build() is O(n) and vectorised: names, numbers and inertias are checked as columns; bodies are renumbered depth first
in the order in which children were added; bodies on fixed joints are merged into the body that carries them and remain
as named frames.

add_body takes one body, add_bodies whole columns: a million bodies in a few seconds. Both are stored in blocks of
columns, in the order of add_body's arguments.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import chain
from typing import Annotated, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple import memory
from supple.arguments import (
    FINITE,
    NONE,
    PATH,
    TEXT,
    WHOLE_NUMBERS,
    checked_model,
    choice,
    either,
    several,
    shown,
    take,
)
from supple.errors import ModelError, quoted
from supple.model import checks, physical
from supple.model.actuators import Actuator
from supple.model.geometry import as_reals, as_vector
from supple.model.joints import JOINT_NAMES, NQ, NV, JointName, JointType
from supple.model.loops import Loop, Relation, relation, valid_loops, valid_relations
from supple.model.merge import Body, Merger
from supple.model.model import Model, Visual, count, unknown
from supple.model.report import Remark, Report
from supple.model.shapes import Shape, sound_size, valid_shapes
from supple.model.topology import depth_first, subtree_ends

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GRAVITY = (0.0, 0.0, -9.81)
SIZE = several(FINITE, as_tuple=True)
RGBA = either([several(FINITE, 4, as_tuple=True), NONE])
Trouble = Annotated[str, choice("refuse", "report")]  #: what to do about it
_TYPE = {name: int(JointType[name.upper()]) for name in JOINT_NAMES}
_ZERO, _Z = (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)
_CONSTANT = frozenset({str, int, float, tuple, type(None)})  #: immutable types


class ModelBuilder:
    """Add bodies, then build(). Each body comes with the joint that connects it to its parent.

    >>> b = ModelBuilder()
    >>> upper = b.add_body("upper", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5))
    >>> lower = b.add_body("lower", upper, "revolute", axis=(0, 1, 0), position=(0, 0, -1), mass=1.0, com=(0, 0, -0.5))
    >>> b.build()
    <Model 'model': 2 bodies, nq=2, nv=2, 2 kg>
    """

    def __init__(self, name: str = "model", gravity: ArrayLike = GRAVITY, source: str | None = None) -> None:
        self.name, self._gravity = take("the name of a model", name, TEXT, ModelError), _own(gravity)
        self._source = source
        self._blocks: list[tuple[Any, ...]] = []  # columns of bodies, those of add_bodies as arrays
        self._before = 0  # bodies in the blocks
        self._rows: list[tuple[Any, ...]] = []  # from add_body, after the blocks
        self._names: list[str] = []  # of the last build
        self._numbers: dict[str, int] = {}
        self._frames: list[tuple[str, Body, Any, Any]] = []
        self._visuals: list[tuple[Body, dict[str, Any]]] = []
        self._shapes: list[tuple[Body, dict[str, Any]]] = []
        self._actuators: list[Actuator] = []
        self._loops: list[tuple[Body, Body, dict[str, Any]]] = []
        self._relations: list[Relation] = []
        self._remarks: list[Remark] = []

    def __len__(self) -> int:
        return self._before + len(self._rows)

    def __repr__(self) -> str:
        return f"<ModelBuilder {quoted(self.name)}: {count(len(self), 'body')}, not built yet>"

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
        stiffness: ArrayLike = 0.0,
        rest: ArrayLike = 0.0,
    ) -> int:
        """Add a body on a joint; returns its index in the builder, to be used as a parent.

        parent: an index returned earlier, a body's name (possibly one added later), or None for the world.
        position, rotation: the joint's frame in the parent's; rotation is 3x3 or a quaternion (x, y, z, w).
        com, inertia: in the body's frame; inertia (3x3, or 3 diagonal entries) is about com, None is a point mass.
        lower, upper, rest: one number or one for each entry of the joint's q; velocity_limit, effort_limit, damping,
        armature, friction, stiffness: one number or one for each entry of its v. stiffness and rest are of a spring
        at the joint, friction is dry: they act in runs.
        """
        # fmt: off
        row = (name, parent, joint, axis, axis2, pitch, position, rotation, mass, com, inertia, joint_name,
               lower, upper, velocity_limit, effort_limit, damping, armature, friction, stiffness, rest)
        # fmt: on
        self._rows.append(tuple([x if x.__class__ in _CONSTANT else _own(x) for x in row]))
        return len(self) - 1

    def add_bodies(
        self,
        parent: ArrayLike,
        joint: JointName | Sequence[JointName] = "revolute",
        *,
        names: Sequence[str] | None = None,
        axis: ArrayLike = _Z,
        axis2: ArrayLike | None = None,
        pitch: ArrayLike = 0.0,
        position: ArrayLike = _ZERO,
        rotation: ArrayLike | None = None,
        mass: ArrayLike = 0.0,
        com: ArrayLike = _ZERO,
        inertia: ArrayLike | None = None,
        joint_names: Sequence[str] | None = None,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        velocity_limit: ArrayLike = np.inf,
        effort_limit: ArrayLike = np.inf,
        damping: ArrayLike = 0.0,
        armature: ArrayLike = 0.0,
        friction: ArrayLike = 0.0,
        stiffness: ArrayLike = 0.0,
        rest: ArrayLike = 0.0,
    ) -> range:
        """Add many bodies at once; returns their indices, which follow those of the bodies already added.

        parent: (n,) the index of each body's parent, -1 for the world. Everything else is as in add_body, either one
        value for all bodies or one per body along the first axis: axis (3,) or (n, 3), rotation (3, 3), (4,),
        (n, 3, 3) or (n, 4). inertia is 3x3 (no diagonals), limits and the like one number per joint.
        """
        up = np.array(take("parent", parent, WHOLE_NUMBERS, ModelError))
        if up.ndim != 1:
            raise ModelError("parent must be a one-dimensional array of integers, one a body, -1 for the world")
        n = len(up)
        if self._rows:
            self._blocks.append(tuple(zip(*self._rows)))
            self._before, self._rows = len(self), []
        numbers = (lower, upper, velocity_limit, effort_limit, damping, armature, friction, stiffness, rest)
        block = (
            _listed("names", names, n),
            up,
            [joint] * n if isinstance(joint, str) else _listed("joint", joint, n),
            _column("axis", axis, n, (3,)),
            [None] * n if axis2 is None else _column("axis2", axis2, n, (3,)),
            _column("pitch", pitch, n, ()),
            _column("position", position, n, (3,)),
            [None] * n if rotation is None else _column("rotation", rotation, n, (3, 3), (4,)),
            _column("mass", mass, n, ()),
            _column("com", com, n, (3,)),
            [None] * n if inertia is None else _column("inertia", inertia, n, (3, 3)),
            _listed("joint_names", joint_names, n),
            *(_column(what, x, n, ()) for what, x in zip(checks.NUMBERS, numbers)),
        )
        if n:
            self._blocks.append(block)
            self._before += n
        return range(self._before - n, self._before)

    def add_frame(
        self, name: str, body: Body = None, position: ArrayLike = _ZERO, rotation: ArrayLike | None = None
    ) -> None:
        """Name a place on a body (None: the world)."""
        self._frames.append((name, body, _own(position), _own(rotation)))

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
            (
                body,
                dict(
                    kind=take("the kind of a visual", kind, TEXT, ModelError),
                    size=take("the size of a visual", size, SIZE, ModelError),
                    position=_own(position),
                    rotation=_own(rotation),
                    rgba=take("rgba of a visual", rgba, RGBA, ModelError),
                    mesh=None if mesh is None else str(take("the mesh of a visual", mesh, PATH, ModelError)),
                    name=take("the name of a visual", name, either([TEXT, NONE]), ModelError),
                ),
            )
        )

    def add_shape(
        self,
        body: Body,
        kind: str,
        size: Sequence[float] = (),
        position: ArrayLike = _ZERO,
        rotation: ArrayLike | None = None,
        *,
        name: str | None = None,
        friction: float | None = None,
        restitution: float = 0.0,
        margin: float = 0.0,
        group: int = 1,
        mask: int = 1,
        points: ArrayLike | None = None,
        apart: Sequence[str] = (),
    ) -> None:
        """Fix a shape to a body (None: the world), by which it touches others in runs with contacts.

        kind and size, in metres: "sphere" (radius), "cylinder" (radius, length along z), "capsule" (radius, length of
        its straight part along z), "box" (edge lengths), "hull" (no size: the convex hull of `points` (k, 3)); on the
        world also "plane" (no size: solid below its z = 0) and "heights" (edge lengths along x and y; `points` (rows
        along y, columns along x) are the heights).
        position, rotation: its frame in that of the body; rotation is 3x3 or a quaternion (x, y, z, w).
        name: by which contacts and filters know it; "shape0", "shape1", ... by default.
        friction: Coulomb's coefficient. Of two shapes that touch, the larger one counts; None means that of the other
        shape, and 1 if both are None. restitution: from 0, no bounce, to 1; of two shapes, the larger one counts.
        margin: it touches this far outside its surface, in metres; the margins of two shapes are added.
        group, mask: bits; two shapes may touch if the group of one and the mask of the other have a bit in common.
        apart: names of shapes that it never touches.
        """
        name = f"shape{len(self._shapes)}" if name is None else name
        given = dict(name=name, kind=kind, size=sound_size(f"shape {shown(name)}", kind, size), friction=friction)
        given |= dict(
            restitution=restitution, margin=margin, group=group, mask=mask, points=_own(points), apart=_own(apart)
        )
        self._shapes.append((body, given | dict(position=_own(position), rotation=_own(rotation))))

    @checked_model
    def add_actuator(self, actuator: Actuator) -> None:
        """Add a motor at a joint, given by its name."""
        self._actuators.append(actuator)

    def close(
        self,
        body: Body,
        other: Body,
        joint: JointName = "revolute",
        *,
        name: str | None = None,
        axis: ArrayLike = _Z,
        axis2: ArrayLike | None = None,
        pitch: float = 0.0,
        position: ArrayLike = _ZERO,
        rotation: ArrayLike | None = None,
        other_position: ArrayLike = _ZERO,
        other_rotation: ArrayLike | None = None,
    ) -> None:
        """Close a loop: connect two bodies (None: the world) by a joint besides those of the tree.

        position, rotation: the joint's frame in that of `body`; axis, axis2 and pitch are in it, as in add_body.
        other_position, other_rotation: the frame of `other` that coincides with it at the joint's neutral position.
        joint: any type but "free"; "ball" holds a point to a point, "fixed" welds.
        The bodies need not be where the joint wants them: supple.close_loops finds positions that are.
        """
        given = dict(joint=joint, axis=_own(axis), axis2=_own(_ZERO if axis2 is None else axis2), pitch=pitch)
        places = dict(position=_own(position), rotation=_own(rotation))
        places.update(other_position=_own(other_position), other_rotation=_own(other_rotation))
        self._loops.append(
            (body, other, dict(name=f"loop{len(self._loops)}" if name is None else name, **given, **places))
        )

    def relate(self, factors: Mapping[str, float], offset: float = 0.0, name: str | None = None) -> None:
        """Hold a linear relation between the coordinates of joints, given by name: the sum of factor times coordinate
        is offset. A pinion that turns three times as fast as a wheel, the other way: {"wheel": 3, "pinion": 1}."""
        self._relations.append(relation(f"relation{len(self._relations)}" if name is None else name, factors, offset))

    @checked_model
    def remark(self, subject: str, message: str, line: int | None = None) -> None:
        """Add a remark to model.report."""
        self._remarks.append(Remark(subject, message, line))

    @checked_model
    def build(self, *, unphysical_inertia: Trouble = "refuse", singular: Trouble = "refuse") -> Model:
        """Check everything and make the model. Nothing is made if anything is wrong.

        unphysical_inertia: how to treat an inertia that no real body has (principal moments that violate the triangle
        inequality or are negative): "refuse", or "report" to keep it and mention it in model.report.
        singular: how to treat a joint that moves no inertia, which makes the mass matrix singular: "refuse", or
        "report". Kinematics and inverse dynamics of such a model work; forward dynamics raises SingularError.
        """
        columns = self._columns()
        parent = columns.parent
        checks.numbers(columns)
        unphysical = checks.inertias(columns, unphysical_inertia)
        order = depth_first(parent)
        if len(order) < len(parent):
            _refuse_cycle(columns.name, parent, order)
        merged = Merger(columns, parent, order)
        keep = merged.keep
        new_parent = merged.parent
        end = subtree_ends(new_parent)
        kept = columns.take(keep)
        kind = kept.kind
        nq, nv = np.asarray(NQ)[kind], np.asarray(NV)[kind]
        limits = kept.limits(nq, nv)
        arrays = dict(
            gravity=as_vector("gravity", self._gravity),
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
            origin=np.zeros((len(kept.name), 3)),
            **limits,
        )
        singular_ones = physical.singular_remarks(physical.singular_messages(kept.name, arrays), singular)
        if unphysical:
            unphysical += physical.merged_remarks(kept.name, merged.inertia, unphysical)
        remarks = [*self._remarks, *unphysical, *singular_ones]
        frames = merged.frames(self._frames, self._resolve)
        return Model._of(
            name=self.name,
            **arrays,
            body_names=tuple(kept.name),
            joint_names=tuple(kept.joint_name),
            frame_list=frames,
            visuals=self._place_visuals(merged),
            actuator_list=checks.actuators(self._actuators, kept.joint_name, kind),
            loop_list=valid_loops(self._place_loops(merged), kept.joint_name),
            relation_list=valid_relations(self._relations, kept.joint_name, kind),
            report=Report(self._source, tuple(remarks)),
            shape_list=valid_shapes(self._place_shapes(merged), len(kept.name)),
        )

    # --- columns and names --------------------------------------------------------------------------------------

    def _columns(self) -> checks.Columns:
        blocks = [*self._blocks, tuple(zip(*self._rows))] if self._rows else self._blocks
        if not blocks:
            raise ModelError("a model needs at least one body: call add_body before build")
        given = chain.from_iterable(block[0] for block in blocks)
        names = [f"body{i}" if x is None else x for i, x in enumerate(given)]
        checks.unique("body", names)
        given = chain.from_iterable(block[11] for block in blocks)
        joint_names = [f"{names[i]}_joint" if x is None else x for i, x in enumerate(given)]
        checks.unique("joint", joint_names)
        self._names, self._numbers = names, {}
        ends = np.cumsum([len(block[0]) for block in blocks]).tolist()
        return checks.joined(
            [self._block(b, names[i:j], joint_names[i:j]) for b, i, j in zip(blocks, [0, *ends], ends)]
        )

    def _block(self, block: tuple[Any, ...], names: list[str], joint_names: list[str]) -> checks.Columns:
        """A block's columns in the right form; further requirements are checked for all blocks at once."""
        (_, parent, joint, axis, axis2, pitch, position, rotation, mass, com, inertia, _, *rest) = block
        for i, j in enumerate(joint):
            if not isinstance(j, str) or j not in _TYPE:
                raise ModelError(
                    f"body {names[i]!r}: " + unknown("joint type", j if isinstance(j, str) else shown(j), JOINT_NAMES)
                )
        kind = np.array([_TYPE[j] for j in joint], dtype=np.int64)
        return checks.Columns(
            name=names,
            joint_name=joint_names,
            kind=kind,
            axis=checks.vectors("axis", axis, names),
            axis2=checks.second_axes(axis2, kind, names),
            pitch=checks.scalars("pitch", pitch, names),
            position=checks.vectors("position", position, names),
            rotation=checks.rotations(rotation, names),
            mass=checks.scalars("mass", mass, names),
            com=checks.vectors("com", com, names),
            inertia=checks.inertia_matrices(inertia, names),
            rest=[checks.plain(x) for x in rest],
            parent=self._parents(parent, names),
        )

    def _by_name(self) -> dict[str, int]:
        """Body indices by name, computed on first use: large models seldom need them."""
        if not self._numbers:
            self._numbers = {name: i for i, name in enumerate(self._names)}
        return self._numbers

    def _resolve(self, body: Body, what: str) -> int:
        """The index of a body given by index or name; -1 for the world."""
        if body is None:
            return -1
        if isinstance(body, str):
            if body not in self._by_name() and body != "world":
                raise ModelError(f"{what}: {unknown('body', body, self._names)}")
            return self._by_name().get(body, -1)
        if isinstance(body, (int, np.integer)) and -1 <= body < len(self):
            return int(body)
        raise ModelError(
            f"{what}: {shown(body)} is not a body; give a name, a number from add_body, or None for the world"
        )

    def _parents(self, given: Sequence[Any], names: list[str]) -> Ints:
        if isinstance(given, np.ndarray) or all(type(p) is int for p in given):
            with contextlib.suppress(OverflowError):  # for an int beyond 64 bits
                out = np.array(given, dtype=np.int64)
                if out.min() >= -1 and out.max() < len(self):
                    return out
                given = out.tolist()
        return np.array([self._resolve(p, f"parent of {names[i]!r}") for i, p in enumerate(given)], dtype=np.int64)

    def _place_visuals(self, merged: Merger) -> tuple[Visual, ...]:
        on, given = [body for body, _ in self._visuals], [v for _, v in self._visuals]
        bodies = [self._resolve(body, "visual") for body in on]
        places = checks.poses(
            [v["position"] for v in given], [v["rotation"] for v in given], lambda i: f"a visual on {on[i]!r}"
        )
        return tuple([
            Visual(to, v["kind"], v["size"], p, R, v["rgba"], v["mesh"], v["name"])
            for v, (to, p, R) in zip(given, merged.place(bodies, *places))
        ])  # fmt: skip

    def _place_shapes(self, merged: Merger) -> list[Shape]:
        if not self._shapes:
            return []
        bodies = [self._resolve(body, f"shape {shown(given['name'])}") for body, given in self._shapes]
        places = checks.poses(
            [given["position"] for _, given in self._shapes],
            [given["rotation"] for _, given in self._shapes],
            lambda i: f"shape {shown(self._shapes[i][1]['name'])}",
        )
        placed = zip(self._shapes, merged.place(bodies, *places))
        return [
            Shape(**(given | dict(body=to, position=p, rotation=R)))  # type: ignore[arg-type]
            for (_, given), (to, p, R) in placed
        ]

    def _place_loops(self, merged: Merger) -> list[Loop]:
        out = []
        for body, other, given in self._loops:
            what = f"loop {shown(given['name'])}"
            bodies = [self._resolve(x, what) for x in (body, other)]
            places = checks.poses(
                [given["position"], given["other_position"]],
                [given["rotation"], given["other_rotation"]],
                lambda i, what=what: what,  # type: ignore[misc]
            )
            (one, p, R), (two, p2, R2) = merged.place(bodies, *places)
            on = dict(body=one, position=p, rotation=R, other=two, other_position=p2, other_rotation=R2)
            out.append(Loop(**{**given, **on}))
        return out


def _own(x: Any) -> Any:
    """x, or a copy of it if the caller could change it before build()."""
    if isinstance(x, np.ndarray):
        memory.require(x.size, f"a copy of an array of shape {x.shape}", "a body has a few numbers of each kind")
        return x.copy()
    return deepcopy(x) if isinstance(x, list) else x


def _column(what: str, x: ArrayLike, n: int, *items: tuple[int, ...]) -> Floats:
    """x as one row per body, as a separate copy; items: the shapes that one body's value may have."""
    try:
        a = as_reals(x)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be numbers: one value for all bodies, or one a body") from None
    for item in items:
        if a.shape == (n, *item):
            return a
        if a.shape == item:
            return np.array(np.broadcast_to(a, (n, *item)))
    wanted = " or ".join(str(shape) for item in items for shape in (item, (n, *item)))
    raise ModelError(f"{what} has shape {a.shape}; for {n} bodies it must be {wanted}")


def _listed(what: str, x: Sequence[Any] | None, n: int) -> list[Any]:
    out: list[Any] = [None] * n if x is None else take(what, x, several(None), ModelError)
    if len(out) != n:
        raise ModelError(f"{what} has {len(out)} entries for {n} bodies")
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
