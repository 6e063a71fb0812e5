"""The memory of steps with touches, and what is said of one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.contact.blocks import blocks_for, make_room
from supple.contact.deep import deep_for, make_deep_room
from supple.contact.ground import ground_shape
from supple.contact.hulls import SCANNED, graph_of
from supple.contact.judging import DEEPEST, TINY
from supple.contact.landing import Landing
from supple.contact.mechanisms import connected, mechanisms_of
from supple.contact.memory import (
    CONTACT,
    KINDS,
    LIMIT,
    PLANE,
    Entry,
    Exerted,
    Known,
    Pairs,
    PlacedShape,
    Scene,
    Span,
    Touch,
)
from supple.contact.settings import Contacts
from supple.contact.spans import width_of
from supple.contact.stepping import (
    DONE,
    FLIGHT,
    MORE_ENTRIES,
    MORE_EQUATIONS,
    MORE_TOUCHES,
    SINGULAR,
    UNSOLVED,
    contact_step,
    look,
    strayed,
)
from supple.errors import ModelError
from supple.exact.aba import ABA
from supple.exact.calls import Algorithm, HostWork
from supple.exact.kinematics import POSES, Spatial, poses
from supple.exact.tables import host_tables
from supple.integrating.closing import projector
from supple.integrating.implicit import ImplicitRoom
from supple.model.joints import JointType
from supple.model.manifold import UNLIMITED, layout
from supple.model.model import Model, unknown
from supple.model.shapes import OF_THE_WORLD, Shape
from supple.model.topology import depths
from supple.spatial.held import Held

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NO_KEY = -1.0  #: of the row that is not a touch's
LENGTH = 1e-4  #: metres that count as near, whatever the velocities
PLAY = 1e-6  #: metres, or radians, between the limits of a joint, at least: interior-point methods need an inside
EXERTED = 4  #: touches of all parts of a step that there is room for, relative to those of one
ROUGHEST = 1e3  #: friction beyond this counts as this: equations of cones that are flatter are not solved as well
PAIRS = 4  #: of shapes that may touch, for every touch there is room for
COLUMNS = 15  #: of a touch in a result: two shapes, gap, point, normal, force and slip


class Unsolved(ArithmeticError):
    """A step whose touches could not be solved."""


def shapes_of(model: Model, contacts: Contacts) -> list[Shape]:
    """The shapes that take part, those that are flat last."""
    shapes = list(model.shape_list)
    if contacts.ground is not None:
        assert not isinstance(contacts.ground, str)
        shapes.append(ground_shape(model, contacts.ground))
    given = {name: x for name in ("friction", "restitution") if (x := getattr(contacts, name)) is not None}
    shapes = [replace(x, **given) for x in shapes] if given else shapes
    if not any(x.body >= 0 for x in shapes):
        unused = len(model.report.about("collision"))
        more = f"; what its file has could not be used ({unused} remarks: `supple inspect`)" if unused else ""
        raise ModelError(
            f"no body of {model.name!r} has a shape by which it could touch anything: add some with "
            f"ModelBuilder.add_shape, or collision geometry to its file{more}"
        )
    return sorted(shapes, key=lambda x: KINDS.index(x.kind) >= PLANE)


def placed(model: Model, shapes: list[Shape]) -> tuple[NDArray[np.void], Floats, Ints]:
    """Shapes as kernels see them, the points of hulls and height fields, and the graphs of hulls."""
    out, points, at = PlacedShape.zeros(len(shapes)), [], 0
    graphs, end = [np.zeros(1, dtype=np.int64)], 1
    outward = host_tables(model).tables.outward["R"].reshape(-1, 3, 3)[: model.n_bodies]
    body = np.array([x.body for x in shapes])
    turn = np.concatenate([outward, np.eye(3)[None]])[body]  # the last one is the world's
    out["kind"], out["body"] = [KINDS.index(x.kind) for x in shapes], body
    out["R"] = (turn @ np.array([x.rotation for x in shapes])).reshape(-1, 9)
    out["p"] = np.einsum("kij,kj->ki", turn, np.array([x.position for x in shapes]))
    alike: dict[Any, int] = {}  # hulls are not, whose points differ
    which = [alike.setdefault((x.kind, i if x.kind == "hull" else x.size), i) for i, x in enumerate(shapes)]
    halves = {i: _halves(shapes[i]) for i in alike.values()}
    out["half"], out["box"] = (np.array([halves[i][k] for i in which]) for k in range(2))
    solid = np.array([x.kind not in OF_THE_WORLD for x in shapes], dtype=bool)
    away = np.array([x.position - model.com[x.body] if x.body >= 0 else np.zeros(3) for x in shapes]).reshape(-1, 3)
    reach = np.linalg.norm(away, axis=1) + np.linalg.norm(out["box"], axis=1)
    out["allowed"] = np.where(solid, np.minimum(DEEPEST, TINY * reach), DEEPEST)
    for name in ("restitution", "margin", "group", "mask"):
        out[name] = [getattr(x, name) for x in shapes]
    out["graph"] = -1
    out["friction"] = [-1.0 if x.friction is None else min(x.friction, ROUGHEST) for x in shapes]
    for i, x in enumerate(shapes):
        if x.points is not None:
            row, flat = out[i], x.points.ravel()
            row["first"], row["rows"], row["count"] = at // 3, len(x.points), len(x.points)
            if x.kind == "heights":
                row["count"] = x.points.shape[1]
            else:  # about its middle, wherever its origin is
                row["p"] += turn[i] @ x.rotation @ _middle(x.points)
                flat = (x.points - _middle(x.points)).ravel()
            if x.kind == "hull" and len(x.points) > SCANNED:
                row["graph"] = end
                graphs.append(graph_of(x.points, end))
                end += len(graphs[-1])
            points.append(np.concatenate([flat, np.zeros(-len(flat) % 3)]))
            at += len(points[-1])
    return out, np.concatenate([*points, np.zeros(3)]), np.concatenate(graphs)


def _middle(points: Floats) -> Floats:
    """Of a box around corners."""
    return np.asarray(0.5 * (points.min(axis=0) + points.max(axis=0)))


def _halves(x: Shape) -> tuple[Floats, Floats]:
    size = np.array(x.size)
    if x.kind == "sphere":
        half = np.repeat(size, 3)
        return half, half
    if x.kind in ("capsule", "cylinder"):
        half = np.array([size[0], size[0], 0.5 * size[1]])
        return half, half + (np.array([0.0, 0.0, size[0]]) if x.kind == "capsule" else 0.0)
    if x.kind == "box":
        return 0.5 * size, 0.5 * size
    if x.kind == "hull":
        assert x.points is not None
        half = 0.5 * np.ptp(x.points, axis=0)
        return half, half
    if x.kind == "heights":
        return np.array([0.5 * size[0], 0.5 * size[1], 0.0]), np.full(3, math.inf)
    return np.zeros(3), np.full(3, math.inf)


def pairs_apart(model: Model, shapes: list[Shape], contacts: Contacts) -> Ints:
    """The pairs of shapes that never touch, by the names of shapes, bodies and frames."""
    n, found = len(shapes), set()
    by_name = {x.name: i for i, x in enumerate(shapes)}

    def of(name: str) -> list[int]:
        if name in by_name:
            return [by_name[name]]
        if name not in model.bodies:
            raise ModelError(unknown("body or shape", name, [*model.body_names, *by_name]))
        return [i for i, x in enumerate(shapes) if x.body == model.bodies[name].index]

    given = [(x.name, other) for x in shapes for other in x.apart]
    if not contacts.neighbours:  # nor do bodies that the joint of a loop connects
        names = model.body_names
        given += [(names[x.body], names[x.other]) for x in model.loop_list if x.body >= 0 and x.other >= 0]
    for one, two in (*given, *contacts.apart):
        found |= {min(i, j) * n + max(i, j) for i in of(one) for j in of(two)}
    return np.array(sorted(found), dtype=np.int64)


def limits_of(model: Model, contacts: Contacts) -> tuple[Ints, Ints, Floats, Floats]:
    """Degrees of freedom with limits, their coordinates, and the limits: a joint that has no room between them gets
    some play."""
    at, index = layout(model).plain_q, layout(model).plain_v
    has = (np.abs(model.lower[at]) < UNLIMITED) | (np.abs(model.upper[at]) < UNLIMITED)
    keep = np.flatnonzero(has & contacts.limits)
    keep = keep[np.argsort(index[keep])]
    lower, upper = model.lower[at[keep]], model.upper[at[keep]]
    play = 0.5 * np.maximum(PLAY - (upper - lower), 0.0)
    return index[keep], at[keep], lower - play, upper + play


def above_of(model: Model, shapes: list[Shape]) -> Ints:
    """The body that each one hangs on; bodies without mass and shapes are parts of a joint, and skipped."""
    real = model.mass > 0
    real[[x.body for x in shapes if x.body >= 0]] = True
    out = np.array(model.parent)
    skipped = (out >= 0) & ~real[out]
    while skipped.any():
        out[skipped] = model.parent[out[skipped]]
        skipped = (out >= 0) & ~real[out]
    return out


def _roots(model: Model) -> Ints:
    """The first body of the tree that each one is in: bodies are numbered tree by tree."""
    first = model.parent < 0
    return np.flatnonzero(first)[np.cumsum(first) - 1]


def _side_by_side(model: Model, table: NDArray[np.void], root: Ints) -> Floats:
    """The neutral position, but trees whose root is free stand side by side along x: they need not be tried with each
    other. table: shapes, root: of each, -1 for the world."""
    q, free = model.neutral(), np.flatnonzero((model.parent < 0) & (model.joint_type == JointType.FREE))
    if len(free) > 1:
        at, own = poses(model, q).position[table["body"]], np.linalg.norm(table["p"], axis=1)
        far = np.linalg.norm(at, axis=1) + own + np.linalg.norm(table["box"], axis=1) + table["margin"]
        size = np.zeros(model.n_bodies)
        np.maximum.at(size, root[root >= 0], far[root >= 0])
        q[model.q_index[free]] += 2.0 * np.cumsum(size[free])
    return q


class ContactRoom(ImplicitRoom):
    """A model under a law, whose bodies touch."""

    def __init__(self, model: Model, law: Floats, contacts: Contacts) -> None:
        super().__init__(model, law)
        self.model, self.contacts = model, contacts
        self.shapes = shapes_of(model, contacts)
        table, points, graphs = placed(model, self.shapes)
        flat = sum(x.kind in ("plane", "heights") for x in self.shapes)
        apart = pairs_apart(model, self.shapes, contacts)
        limits, coordinates, lower, upper = limits_of(model, contacts)
        placing = HostWork(POSES, model)
        spans = Span.zeros(len(table) + 1)  # one more: the one that is moved
        spans["shape"] = np.arange(len(spans))
        groups = connected(model, _roots(model))
        self.blocks: Held = blocks_for(groups[model.dof_body])
        looped = bool(model.loop_list or model.relation_list)
        self.deep: Held = deep_for(model.n_bodies, 0 if looped else int(depths(model.parent).max()))
        self.pairs: Held = Pairs.of()
        shared: dict[str, Any] = dict(
            model=host_tables(model), bodies=placing.bodies, n_shapes=len(table), n_flat=flat, shapes=table,
            points=points, graphs=graphs, spans=spans, width=width_of(table["box"][: len(table) - flat]),
            strips=np.zeros(len(spans), dtype=np.int64), pairs=self.pairs, neighbours=contacts.neighbours,
            above=above_of(model, self.shapes), n_apart=len(apart),
            apart=np.append(apart, 0), z=np.zeros(model.nv), total=np.zeros(model.nv),
            local=np.zeros(model.nv, dtype=np.int64), ends=np.zeros(model.nv + 1, dtype=np.int64),
            dofs=np.zeros(model.nv, dtype=np.int64), blocks=self.blocks, deep=self.deep,
            motions=Spatial.zeros(model.n_bodies), limits=np.append(limits, 0), n_limits=len(limits),
            coordinates=np.append(coordinates, 0), lower=np.append(lower, 0.0), upper=np.append(upper, 0.0),
            q=self.q, v=self.v, allowed=table["allowed"].min(initial=DEEPEST),
        )  # fmt: skip
        self.scene: Held = Scene.of(length=LENGTH, **shared)
        self.ahead: Held = Scene.of(length=0.0, **shared)  # for touches where a part ends
        self.landing: Held = Landing.of(
            implicit=self.implicit, scene=self.scene, ahead=self.ahead, mechanisms=mechanisms_of(model, groups),
            placing=placing.call, owner=model.dof_body, tolerance=contacts.tolerance, most=contacts.sweeps,
            overlap=contacts.overlap, q=np.zeros(model.nq),
            **{name: np.zeros(model.nv) for name in ("middle", "v", "dv", "dq")},
        )  # fmt: skip
        if not model.is_tree:
            self.landing.closing = projector(model).memory
        self.scene.present, self.scene.n_present = np.arange(model.nv), model.nv
        self.touches = Touch.zeros(0)
        self._room_for(64, 64 * 16)
        self._take, self._strayed = contact_step.load(), strayed.load()
        self.overlapping = self._part_overlapping(flat)  #: names of shapes of one tree that are never tried

    def _algorithm(self, model: Model) -> Algorithm:
        """That of trees: mechanisms.py closes loops."""
        return ABA

    def _room_for(self, touches: int, entries: int) -> None:
        known = self.scene.known if self.scene.n_known else None
        found, more = Touch.zeros(touches), Known.zeros(touches)
        found[: len(self.touches)] = self.touches[:touches]
        if known is not None:
            more[: len(known)] = known
        self.touches = found
        self.scene.touches, self.scene.capacity, self.scene.known = self.touches, touches, more
        self.ahead.touches, self.ahead.capacity = Touch.zeros(touches), touches
        self.scene.sequence = np.zeros(touches, dtype=np.int64)
        self.scene.entries, self.scene.room = Entry.zeros(entries), entries
        so_far = self.scene.n_exerted
        exerted = Exerted.zeros(so_far + EXERTED * touches)
        if so_far:
            exerted[:so_far] = self.scene.exerted[:so_far]
        self.scene.exerted, self.scene.exerted_room = exerted, len(exerted)
        self.pairs.one, self.pairs.two, self.pairs.near = np.zeros((3, PAIRS * touches), dtype=np.int64)
        self.pairs.room, self.pairs.n = PAIRS * touches, PAIRS * touches + 1

    def _more_entries(self, wanted: int) -> None:
        """Twice as many as are wanted: a touch has one for every degree of freedom above its bodies; unless what there
        was no room for is deep trees."""
        if make_deep_room(self.deep, self.model.nv):
            return
        try:
            self._room_for(self.scene.capacity, 2 * wanted)
        except MemoryError:
            size = wanted * Entry.dtype.itemsize / 2**30
            raise ModelError(
                f"the equations of {self.scene.n:,} touches of {self.model.name!r} take {size:.3g} GiB, which are not "
                "there: each reaches over all joints up to the root; use method='adaptive', or trees that are less deep"
            ) from None

    def touching(self, q: Floats) -> NDArray[Any]:
        """Where shapes touch at q."""
        find = look.load()
        self.begin(q, np.zeros(self.model.nv))
        find(self.landing.address)
        if self.scene.n > self.scene.capacity:
            self._room_for(2 * self.scene.n, self.scene.room)
            find(self.landing.address)
        return self.found

    def overlaps(self, q: Floats) -> bool:
        """Whether any shapes overlap at q."""
        return bool((self.touching(q)["gap"] < -self.contacts.overlap).any())

    def _part_overlapping(self, flat: int) -> list[tuple[str, str]]:
        """Shapes of one tree that overlap at the neutral position are apart: most of them are drawn larger than they
        are, about joints between them. Those on the world are of every tree that is not free: the base of a robot."""
        roots = np.append(_roots(self.model), -1)
        root = roots[[x.body for x in self.shapes]]
        moving = len(self.shapes) - self.scene.n_flat
        q = _side_by_side(self.model, self.scene.shapes[:moving], root[:moving])
        grounds = self.scene.shapes[moving:]  # of no tree, and perhaps above all shapes
        bits = {name: grounds[name].copy() for name in ("group", "mask")}
        grounds["group"] = grounds["mask"] = 0
        found = self.touching(q)
        for name, given in bits.items():
            grounds[name] = given
        deep = (found["kind"] == CONTACT) & (found["gap"] < -self.contacts.overlap)
        pairs = np.column_stack([found[name][deep] for name in ("shape", "other")])
        pairs = np.unique(np.sort(pairs, axis=1), axis=0)
        low, high = np.sort(root[pairs], axis=1).T
        bound = np.append(self.model.joint_type != JointType.FREE, False)  # the last one is the world's
        pairs = pairs[((low == high) & (low >= 0)) | ((low < 0) & bound[high])]
        more = pairs[:, 0] * len(self.shapes) + pairs[:, 1]
        apart = np.unique(np.concatenate([self.scene.apart[: self.scene.n_apart], more]))
        for scene in (self.scene, self.ahead):
            scene.apart, scene.n_apart = np.append(apart, 0), len(apart)
        return [(self.shapes[i].name, self.shapes[j].name) for i, j in pairs]

    def strayed(self, q: Floats, v: Floats, h: float) -> float | None:
        """After a step that was not taken because nothing is near, but another way, to q and v: metres by which bodies
        moved farther than touches were searched for, because forces made them fast. None if they did not, and no joint
        is beyond its limit."""
        self.begin(q, v)
        beyond = float(self._strayed(self.landing.address, h))
        return beyond if beyond >= 0.0 else None

    def take(
        self, q: Floats, v: Floats, h: float, tau: Floats, wrenches: Floats | None, beyond: float | None = None
    ) -> bool:
        """A step of length h from q and v under forces in addition to the law: its end is in self.q and self.v. False
        if nothing touches all the step, and it was not taken. beyond: it is taken in any case, and touches are searched
        for so much farther. Raises ArithmeticError."""
        if beyond is None:
            return self._taken(q, v, h, tau, wrenches)
        self.landing.certain, self.scene.length = True, LENGTH + beyond
        try:
            return self._taken(q, v, h, tau, wrenches)
        finally:
            self.landing.certain, self.scene.length = False, LENGTH

    def _taken(self, q: Floats, v: Floats, h: float, tau: Floats, wrenches: Floats | None) -> bool:
        self.force[:], self.implicit.pushed = tau, wrenches is not None
        if wrenches is not None:
            self._wrenches[:] = wrenches
        landing = self.landing
        risen, largest = landing.risen, landing.largest
        while True:
            self.begin(q, v)
            status = self._take(landing.address, h)
            if status in (DONE, FLIGHT):
                return status == DONE
            landing.risen, landing.largest = risen, largest  # as if it had not been tried
            if status == MORE_TOUCHES:
                touches = max(self.scene.n, self.scene.capacity, self.pairs.n // PAIRS + 1)
                self._room_for(2 * touches, self.scene.room)
            elif status == MORE_ENTRIES:
                self._more_entries(self.scene.n_entries)
            elif status == MORE_EQUATIONS:
                make_room(self.blocks)
            else:
                break
        if status == UNSOLVED:
            raise Unsolved(
                f"the forces of {self.scene.n} touches could not be found: what is left is "
                f"{landing.fault:.3g} times the tolerance"
            )
        assert status == SINGULAR
        raise ArithmeticError("the mass matrix is singular")

    @property
    def account(self) -> Floats:
        """(1, 4) what steps have added to the energy: -1, which is no key, and two sums [judging.py]."""
        return np.array([[NO_KEY, self.landing.risen, self.landing.largest, 0.0]])

    @property
    def known(self) -> Floats:
        """(k, 4) what the next step begins with: the account of energy, then keys, and forces; steps of the same state
        with the same are alike."""
        rows = self.scene.known[: self.scene.n_known]
        return np.concatenate([self.account, np.column_stack([rows["key"].astype(np.float64), rows["lam"]])])

    @known.setter
    def known(self, rows: Floats) -> None:
        self.landing.risen = self.landing.largest = 0.0
        if len(rows) and rows[0, 0] == NO_KEY:
            (self.landing.risen, self.landing.largest), rows = rows[0, 1:3], rows[1:]
        if len(rows) > self.scene.capacity:
            self._room_for(2 * len(rows), self.scene.room)
        to = self.scene.known
        to["key"][: len(rows)], to["lam"][: len(rows)] = rows[:, 0].astype(np.int64), rows[:, 1:]
        self.scene.n_known = len(rows)

    @property
    def found(self) -> NDArray[Any]:
        """The touches of the last part of the last step."""
        return self.touches[: self.scene.n]

    def rows(self) -> Floats:
        """(k, COLUMNS) what pushed in the last step, with forces that are averages over it, impacts included."""
        found = self._exerted(CONTACT)
        return touch_rows(found, found["impulse"] / self.landing.last, found["slip"])

    def limit_forces(self) -> Floats:
        """(nv,) those of the joints' limits in the last step, on average over it."""
        found, out = self._exerted(LIMIT), np.zeros(self.model.nv)
        np.add.at(out, found["dof"], found["impulse"][:, 0] / self.landing.last)
        return out

    @property
    def exerted(self) -> NDArray[Any]:
        """What touches and limits exerted in the last step."""
        found: NDArray[Any] = self.scene.exerted[: self.scene.n_exerted]
        return found

    def _exerted(self, kind: int) -> NDArray[Any]:
        return self.exerted[self.exerted["kind"] == kind]


def touch_rows(found: NDArray[Any], force: Floats, slip: Floats) -> Floats:
    """(k, COLUMNS) touches with forces and slip, as a result has them."""
    columns = [found[name] for name in ("shape", "other", "gap", "point", "n")]
    return np.column_stack([*columns, force, slip]).astype(np.float64)
