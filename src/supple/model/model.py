"""Model: a forest of rigid bodies, frozen once built.

Bodies are numbered depth first, parents before children; the world is -1. Joint i connects body i to its parent.
Because of the depth-first numbering the descendants of body i are i+1 ... subtree_end[i]-1. All arrays are read-only.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import Seed, Whole, checked, shown
from supple.errors import ModelError, quoted, short
from supple.model import changed, manifold
from supple.model.actuators import Actuator
from supple.model.frozen import frozen_arrays, frozen_property, kept
from supple.model.joints import JointType
from supple.model.loops import Loop, Relation
from supple.model.report import Report, Units
from supple.model.shapes import Shape
from supple.model.valid import ARRAYS, valid
from supple.once import made_once, refuse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@made_once("body")
@frozen_arrays("position", "rotation")
@dataclass(frozen=True)
class Frame:
    """A named place on a body: a body merged at a fixed joint, a sensor, a tool. body -1 is the world."""

    name: str
    body: int
    position: Floats
    rotation: Floats

    def __eq__(self, other: object) -> bool:
        return same_fields(self, other)

    def __repr__(self) -> str:
        return f"<Frame {quoted(self.name)} on body {self.body} at {listed(self.position)}>"


@made_once("body")
@frozen_arrays("position", "rotation")
@dataclass(frozen=True)
class Visual:
    """A shape to draw, fixed to a body. kind: box, sphere, cylinder, capsule, ellipsoid, plane or mesh.

    size: edge lengths (box), radius (sphere), radius and length (cylinder, capsule), semi-axes (ellipsoid), scale
    (mesh).
    """

    body: int
    kind: str
    size: tuple[float, ...]
    position: Floats
    rotation: Floats
    rgba: tuple[float, float, float, float] | None = None
    mesh: str | None = None
    name: str | None = None

    def __eq__(self, other: object) -> bool:
        return same_fields(self, other)

    def __repr__(self) -> str:
        return f"<Visual: {self.kind} {listed(self.size)} on body {self.body} at {listed(self.position)}>"


@dataclass(frozen=True)
class Joint:
    """One joint of a model: model.joints["knee"]. q and v are slices into the model's q and v."""

    name: str
    index: int
    type: str
    q: slice
    v: slice
    axis: Floats
    lower: Floats
    upper: Floats

    def __repr__(self) -> str:
        place = f"q[{self.q.start}:{self.q.stop}], v[{self.v.start}:{self.v.stop}]"
        limited = np.isfinite(self.lower).any() or np.isfinite(self.upper).any()
        limits = f"limits {listed(self.lower)} to {listed(self.upper)}" if limited else "no limits"
        return f"<Joint {self.index} {quoted(self.name)}: {self.type}, {place}, axis {listed(self.axis)}, {limits}>"


@dataclass(frozen=True)
class Body:
    """One body of a model: model.bodies["shin"]. com and inertia (about com) are in the body's frame."""

    name: str
    index: int
    parent: int
    mass: float
    com: Floats
    inertia: Floats

    def __repr__(self) -> str:
        moments = listed(np.diagonal(self.inertia))
        about = f"mass {self.mass:.4g}, com {listed(self.com)}, moments of inertia {moments}"
        return f"<Body {self.index} {quoted(self.name)}: {about}, parent {self.parent}>"


def same_fields(a: Any, b: object) -> bool:
    """Whether two objects are of the same class with equal fields."""
    names = [f.name for f in fields(a)]
    return type(a) is type(b) and all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)


LISTED = 7  #: numbers in a line


def listed(x: ArrayLike) -> str:
    """A few numbers on one line: the first of them, if there are many."""
    flat = np.ravel(np.asarray(x, dtype=np.float64))
    numbers = ", ".join(f"{value:.4g}" for value in flat[:LISTED].tolist())
    return f"[{numbers}{', ...' if len(flat) > LISTED else ''}]"


def span(times: Floats) -> str:
    """The time that states take, for a line that begins with their number."""
    return f", {times[0]:.6g} to {times[-1]:.6g} s" if len(times) else ""


T = TypeVar("T")


@made_once("_names")
class Named(Mapping[str, T], Generic[T]):
    """The parts of a model by name or index; for an unknown name, the error suggests the closest known ones."""

    def __init__(self, kind: str, names: Sequence[str], make: Any) -> None:
        self._kind, self._names, self._make = kind, names, make

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self._names)}

    def __getitem__(self, key: str | int) -> T:
        part: T
        if isinstance(key, str):
            if key not in self._index:
                raise ModelError(unknown(self._kind, key, self._names))
            part = self._make(self._index[key])
            return part
        if not isinstance(key, (int, np.integer)) or isinstance(key, bool):
            raise ModelError(f"a {self._kind} is asked for by its name or number, not by {shown(key)}")
        if not 0 <= key < len(self._names):
            raise ModelError(f"there is no {self._kind} {key}: this model has {len(self._names)}, numbered from 0")
        part = self._make(int(key))
        return part

    def get(self, key: str | int, default: Any = None) -> Any:
        try:
            return self[key]
        except ModelError:
            return default

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._index

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        shown = short(", ".join(self._names[:6])) + (", ..." if len(self._names) > 6 else "")
        return f"<{count(len(self._names), self._kind)}: {shown}>"


def count(n: int, kind: str) -> str:
    """The number with its noun."""
    many = {"body": "bodies", "push": "pushes"}
    return f"{n} {kind if n == 1 else many.get(kind, kind + 's')}"


LONG_NAME, MANY_NAMES = 80, 5_000  #: limits beyond which no similar names are searched
FEW = 4  #: names that stand for many


def unknown(kind: str, name: str, known: Sequence[str], *, listed: bool = False) -> str:
    """The error message for an unknown name. listed: a list of all that are known follows it."""
    few = [x for x in known if len(x) <= LONG_NAME] if len(known) <= MANY_NAMES and len(name) <= LONG_NAME else []
    near = difflib.get_close_matches(name, few, n=3)  # quadratic in the lengths of names
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else _some(known, listed)
    shown = name if len(name) <= LONG_NAME else name[: LONG_NAME - 3] + "..."
    return f"no {kind} named {shown!r}; {hint}"


def _some(known: Sequence[str], listed: bool) -> str:
    """How many there are, and the first few, if no list follows."""
    if not known:
        return "there are none"
    if len(known) == 1:
        return "there is one" if listed else f"there is one: {quoted(known[0])}"
    first = [quoted(x) for x in dict.fromkeys(known[:FEW])]
    while len(first) > 1 and sum(map(len, first)) > LONG_NAME:
        first.pop()
    names = "" if listed else f": {', '.join(first)}"
    if names and len(dict.fromkeys(known)) == len(first):
        return f"there are{names}"
    return f"there are {len(known)} of them{names}{', ...' if names else ''}"


@made_once("_work")
@frozen_arrays(*ARRAYS)
@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A forest of rigid bodies. Made by ModelBuilder or supple.load and immutable: dataclasses.replace makes another
    one. Fields that do not form a valid model are refused."""

    name: str
    gravity: Floats
    parent: Ints  #: (n_bodies,) parent[i] < i, the world is -1
    subtree_end: Ints  #: (n_bodies,) the descendants of i are i+1 ... subtree_end[i]-1
    joint_type: Ints  #: (n_bodies,) a JointType
    q_index: Ints  #: (n_bodies,) where joint i's coordinates begin in q
    v_index: Ints  #: (n_bodies,) and in v
    position: Floats  #: (n_bodies, 3) origin of joint i's frame in the parent's frame
    rotation: Floats  #: (n_bodies, 3, 3) maps joint-frame coordinates to the parent's frame
    axis: Floats  #: (n_bodies, 3) unit vector in the joint's frame
    axis2: Floats  #: (n_bodies, 3) second axis of universal joints
    pitch: Floats  #: (n_bodies,) metres per radian, for screw joints
    mass: Floats  #: (n_bodies,)
    com: Floats  #: (n_bodies, 3) centre of mass in the body's frame
    inertia: Floats  #: (n_bodies, 3, 3) about the centre of mass, body axes
    lower: Floats  #: (nq,)
    upper: Floats  #: (nq,)
    velocity_limit: Floats  #: (nv,)
    effort_limit: Floats  #: (nv,)
    damping: Floats  #: (nv,) viscous: a force of -damping * v
    armature: Floats  #: (nv,) added to the diagonal of the mass matrix
    friction: Floats  #: (nv,) dry friction: acts in runs (integrating/model_law.py), as do springs and actuators
    stiffness: (
        Floats  #: (nv,) of springs at joints: a force of stiffness * (rest - q); zero at ball, planar, free joints
    )
    rest: Floats  #: (nq,) where these springs are at rest
    origin: Floats  #: (n_bodies, 3) of the body's frame, in the frame it was built with: zeros until the root changes
    body_names: Sequence[str]
    joint_names: Sequence[str]
    frame_list: tuple[Frame, ...]
    visuals: tuple[Visual, ...]
    actuator_list: tuple[Actuator, ...]
    loop_list: tuple[Loop, ...]
    relation_list: tuple[Relation, ...]
    report: Report
    shape_list: tuple[Shape, ...] = ()  #: by which bodies touch
    #: What algorithms store with a model, each under its own key [_kept].
    _work: dict[Hashable, Any] = field(init=False)
    #: Their entry points, for the hottest calls.
    _fast: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.__setstate__(self.__getstate__())

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles contain: not the scratch, which holds addresses of this model's arrays."""
        return {name: getattr(self, name) for name in _FIELDS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state.keys() != set(_FIELDS):
            raise ModelError("this model was pickled by another version of Supple: make it anew")
        if "_work" in self.__dict__:
            refuse(self)
        self._take(valid(state))

    @classmethod
    def _of(cls, **state: Any) -> Model:
        """A model from fields that are known to be valid."""
        model = cls.__new__(cls)
        model._take(state)
        return model

    def _take(self, state: dict[str, Any]) -> None:
        arrays = {name: kept(x) for name, x in state.items() if isinstance(x, np.ndarray)}
        self.__dict__.update(state, **arrays, _work={}, _fast={})

    def _kept(self, owner: Hashable, make: Callable[[], T]) -> T:
        """What an algorithm stores with this model: made on first use, and never replaced, since kernels hold addresses
        of it. The owner is an object of that algorithm's own file."""
        found: T | None = self._work.get(owner)
        if found is None:
            found = self._work.setdefault(owner, make())  # another thread may have been faster
        return found

    @cached_property
    def n_bodies(self) -> int:
        return len(self.parent)

    @property
    def n_joints(self) -> int:
        return self.n_bodies

    @property
    def _n_carrying(self) -> int:
        """How many joints carry wrenches: those of the tree, then those that close loops."""
        return self.n_bodies + len(self.loop_list)

    @cached_property
    def nq(self) -> int:
        return len(self.lower)

    @cached_property
    def nv(self) -> int:
        return len(self.damping)

    @property
    def units(self) -> Units:
        """The units of its masses, lengths and energies: kg, m and J, unless its report names others."""
        return self.report.units

    @cached_property
    def total_mass(self) -> float:
        return float(self.mass.sum())

    @frozen_property
    def expanded_parent(self) -> Ints:
        """(nv,) the parent array over degrees of freedom: a joint with k of them is a chain of k [SF section 2]."""
        nv_joint = np.diff(np.append(self.v_index, self.nv))
        lam = np.arange(-1, self.nv - 1)
        last = self.v_index + nv_joint - 1
        lam[self.v_index] = np.where(self.parent < 0, -1, last[self.parent])
        return lam

    @frozen_property
    def dof_body(self) -> Ints:
        """(nv,) the body that each degree of freedom moves."""
        return np.repeat(np.arange(self.n_bodies), np.diff(np.append(self.v_index, self.nv)))

    @cached_property
    def bodies(self) -> Named[Body]:
        return Named("body", self.body_names, self._body)

    @cached_property
    def joints(self) -> Named[Joint]:
        return Named("joint", self.joint_names, self._joint)

    @cached_property
    def frames(self) -> Named[Frame]:
        return Named("frame", tuple(f.name for f in self.frame_list), self.frame_list.__getitem__)

    @cached_property
    def actuators(self) -> Named[Actuator]:
        return Named("actuator", tuple(a.name for a in self.actuator_list), self.actuator_list.__getitem__)

    @cached_property
    def loops(self) -> Named[Loop]:
        """The joints that close loops."""
        return Named("loop", tuple(x.name for x in self.loop_list), self.loop_list.__getitem__)

    @cached_property
    def relations(self) -> Named[Relation]:
        """The relations between joint coordinates."""
        return Named("relation", tuple(x.name for x in self.relation_list), self.relation_list.__getitem__)

    @cached_property
    def shapes(self) -> Named[Shape]:
        """The shapes by which bodies touch."""
        return Named("shape", tuple(x.name for x in self.shape_list), self.shape_list.__getitem__)

    @property
    def is_tree(self) -> bool:
        """Whether nothing closes a loop."""
        return not self.loop_list and not self.relation_list

    def _require_tree(self, what: str) -> None:
        """Refuse loops."""
        if not self.is_tree:
            raise ModelError(
                f"{what} is for trees, and this model has loops: load(..., loops=False), or --no-loops, reads a file "
                "without them; dataclasses.replace(model, loop_list=(), relation_list=()) leaves them out"
            )

    def _body(self, i: int) -> Body:
        return Body(self.body_names[i], i, int(self.parent[i]), float(self.mass[i]), self.com[i], self.inertia[i])

    def _joint(self, i: int) -> Joint:
        kind = JointType(int(self.joint_type[i]))
        q = slice(int(self.q_index[i]), int(self.q_index[i]) + kind.nq)
        v = slice(int(self.v_index[i]), int(self.v_index[i]) + kind.nv)
        return Joint(self.joint_names[i], i, kind.name.lower(), q, v, self.axis[i], self.lower[q], self.upper[q])

    def body_index(self, body: str | int) -> int:
        """The index of a body given by name or index; an unknown one is refused."""
        return self.bodies[body].index  # type: ignore[index]

    def place(self, name: str | int) -> Frame:
        """The place of a body, given by name or index, or of a named frame; an unknown one is refused."""
        if isinstance(name, str) and name not in self.bodies and self.frames:
            if name not in self.frames:
                raise ModelError(unknown("body or frame", name, [*self.body_names, *self.frames]))
            return self.frames[name]
        body = self.bodies[name]  # type: ignore[index]
        return Frame(body.name, body.index, np.zeros(3), np.eye(3))

    def moving_place(self, name: str | int) -> Frame:
        """The same for places that can move: frames fixed to the world are refused."""
        place = self.place(name)
        if place.body < 0:
            raise ModelError(f"frame {name!r} is fixed to the world, which no force moves")
        return place

    def mobility(self, q: ArrayLike) -> Any:
        """The degrees of freedom that loops leave at q, where they are closed: supple.mobility(model, q)."""
        from supple.exact.assembling import mobility

        return mobility(self, q)

    def with_body(self, body: str | int, **values: ArrayLike) -> Model:
        """Another model with a different mass, com or inertia (about com; 3x3, or 3 diagonal entries) of one body."""
        return changed.with_body(self, body, values)

    def with_joint(self, joint: str | int, **values: ArrayLike) -> Model:
        """Another model with a different lower, upper, velocity_limit, effort_limit, damping, armature, friction,
        stiffness or rest of one joint: one number, or one for each entry of its q or v."""
        return changed.with_joint(self, joint, values)

    def with_gravity(self, gravity: ArrayLike) -> Model:
        """Another model under another gravity: three numbers, along the world's axes."""
        return changed.with_gravity(self, gravity)

    def neutral(self) -> Floats:
        """The neutral position of every joint: zeros, and identity rotations."""
        return manifold.neutral(self)

    @checked
    def random(self, rng: Seed = None) -> Floats:
        """A position drawn within the limits (angles in ±π, displacements in ±1 if there are none)."""
        return manifold.random(self, np.random.default_rng(rng))

    def integrate(self, q: ArrayLike, v: ArrayLike, dt: float = 1.0) -> Floats:
        """The position reached from q when v, constant in each body's frame, acts for dt. Accepts batches."""
        return manifold.integrate(self, q, v, dt)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Floats:
        """The v that takes q0 to q1 in unit time: integrate(q0, difference(q0, q1)) = q1. Accepts batches."""
        return manifold.difference(self, q0, q1)

    def normalize(self, q: ArrayLike) -> Floats:
        """q with its quaternions, and the cosine and sine of planar joints, normalised to unit length."""
        return manifold.normalize(self, q)

    def __repr__(self) -> str:
        trees = int((self.parent < 0).sum())
        forest = "" if trees == 1 else f" in {trees} trees"
        mass = f"{self.total_mass:.6g} {self.units.mass}"
        size = f"{count(self.n_bodies, 'body')}{forest}, nq={self.nq}, nv={self.nv}, {mass}"
        return f"<Model {quoted(self.name)}: {size}>"

    @checked
    def tree(self, most: Whole = 40) -> str:
        """The bodies as an indented tree, one per line, and what closes loops: for reading, each cut off after `most`
        lines."""
        unit, lines, indent = self.units.mass, [short(self.name)], {-1: ""}  # what precedes the children of a body
        for i in range(min(self.n_bodies, most)):
            p = int(self.parent[i])
            last = self.subtree_end[i] == (self.n_bodies if p < 0 else self.subtree_end[p])
            indent[i] = indent[p] + ("  " if last else "│ ")
            name = f"{short(self.body_names[i])}  [{short(self.joint_names[i])}: {self.joints[i].type}]"  # type: ignore[index]
            lines.append(f"{indent[p]}{'└' if last else '├'} {name}  {self.mass[i]:.4g} {unit}")
        if self.n_bodies > most:
            lines.append(f"... and {self.n_bodies - most} more")
        closing = self.loop_list + self.relation_list
        lines += [f"⟲ {x.described(self.body_names)}" for x in closing[:most]]
        if len(closing) > most:
            lines.append(f"... and {len(closing) - most} more that close loops")
        return "\n".join(lines)

    @checked
    def plot(self, path: str | Path | None = None, mark: Sequence[Whole] | None = None) -> Any:
        """The tree as a matplotlib figure, saved if a path is given: bodies by name, or only the overall shape if there
        are many. Joints that close loops are dashed. mark: indices of joints to be shown in orange."""
        from supple.drawing import saved, tree

        kinds = [JointType(k).name.lower() for k in self.joint_type.tolist()]
        closed = [(x.body, x.other, x.name, x.joint) for x in self.loop_list]
        figure = tree.tree(repr(self)[1:-1], self.parent, self.body_names, self.joint_names, kinds, mark, closed)
        return saved(figure, path)

    def _repr_html_(self) -> str:
        """In notebooks: the sizes, and a collapsible tree."""
        text = f"<b>{escape(short(self.name))}</b>: {escape(repr(self)[1:-1].rpartition(': ')[2])}"
        return f"<details><summary>{text}</summary><pre>{escape(self.tree(200))}</pre></details>"


_FIELDS = tuple(f.name for f in fields(Model) if f.init)
