"""The memory of a run with contact, its steps as called from Python, and their results."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.contact.blocks import blocks_for, make_room
from supple.contact.deep import deep_for, make_deep_room
from supple.contact.exclusions import above_of, overlapping_in_trees, pairs_apart, roots_of, side_by_side
from supple.contact.geometry.spans import width_of
from supple.contact.joint_limits import limits_of
from supple.contact.memory import CONTACT, LIMIT, Entry, Exerted, Known, Pairs, Scene, Span, Touch
from supple.contact.outcomes import (
    DONE,
    FLIGHT,
    MORE_ENTRIES,
    MORE_EQUATIONS,
    MORE_TOUCHES,
    SINGULAR,
    UNSOLVED,
    words_for_unsolved,
)
from supple.contact.response.mechanisms import connected, mechanisms_of
from supple.contact.settings import Contacts
from supple.contact.shape_tables import placed, shapes_of
from supple.contact.steps.judging import DEEPEST
from supple.contact.steps.landing import Landing
from supple.contact.steps.pushing import hold_pushes, move_halfway
from supple.contact.steps.stepping import contact_step, look, strayed
from supple.contact.tree_groups import tree_groups_for
from supple.errors import ModelError
from supple.exact.aba import ABA
from supple.exact.calls import Algorithm, HostWork
from supple.exact.kinematics import POSES, Spatial
from supple.exact.tables import host_tables
from supple.integrating.closing import projector
from supple.integrating.implicit import ImplicitRoom
from supple.model.model import Model
from supple.model.topology import depths
from supple.spatial.held import Held

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NO_KEY = -1.0  #: in place of a key: the row of the energy account
LENGTH = 1e-4  #: gaps up to so many metres count as touching, even at rest
EXERTED = 4  #: memory for touches of all parts of a step, relative to that for one part
PAIRS = 4  #: memory for candidate pairs, relative to that for touches
COLUMNS = 15  #: of a touch in a result: two shapes, gap, point, normal, force and slip
FORCE = slice(9, 12)  #: the force among them


class Unsolved(ArithmeticError):
    """No contact forces were found for a step."""


class ContactRoom(ImplicitRoom):
    """The memory of a model with contacts and joint forces, and its steps."""

    def __init__(self, model: Model, law: Floats, contacts: Contacts) -> None:
        super().__init__(model, law)
        self.model, self.contacts = model, contacts
        self.shapes = shapes_of(model, contacts)
        table, points, graphs = placed(model, self.shapes)
        flat = sum(x.kind in ("plane", "heights") for x in self.shapes)
        apart = pairs_apart(model, self.shapes, contacts)
        limits, coordinates, lower, upper = limits_of(model, contacts)
        placing = HostWork(POSES, model)
        spans = Span.zeros(len(table) + 1)  # one more, for sorting
        spans["shape"] = np.arange(len(spans))
        groups = connected(model, roots_of(model))
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
        self.scene: Held = Scene.of(length=LENGTH, known=Known.zeros(0), exerted=Exerted.zeros(0), **shared)
        self.ahead: Held = Scene.of(length=0.0, **shared)  # for the touches at the end of a part
        mechanisms = mechanisms_of(model, groups)
        with_loops = np.isin(groups, groups[model.dof_body[mechanisms.mechanism >= 0]]).astype(np.int64)
        self.landing: Held = Landing.of(
            implicit=self.implicit, scene=self.scene, ahead=self.ahead, mechanisms=mechanisms,
            placing=placing.call, groups=tree_groups_for(groups, with_loops), owner=model.dof_body,
            tolerance=contacts.tolerance, most=contacts.sweeps, overlap=contacts.overlap, q=np.zeros(model.nq),
            pushes=np.zeros((model.n_bodies, 6)),
            **{name: np.zeros(model.nv) for name in ("middle", "v", "dv", "dq")},
        )  # fmt: skip
        if not model.is_tree:
            self.landing.closing = projector(model).memory
        self.scene.present, self.scene.n_present = np.arange(model.nv), model.nv
        self.touches = Touch.zeros(0)
        self.make_room(64)
        self.make_room_for_entries(64 * 16)
        self._take, self._strayed = contact_step.load(), strayed.load()
        self.overlapping = self._exclude_overlapping()  #: names of shapes of one tree that never touch

    def _algorithm(self, model: Model) -> Algorithm:
        """That of the spanning tree: mechanisms.py accounts for loops."""
        return ABA

    def make_room(self, touches: int) -> None:
        """Allocates memory for so many touches; those found and known forces are kept."""
        scene, found, known = self.scene, Touch.zeros(touches), Known.zeros(touches)
        kept = min(scene.n, len(self.touches), touches)
        found[:kept] = self.touches[:kept]
        known[: scene.n_known] = scene.known[: scene.n_known]
        self.touches = found
        scene.touches, scene.capacity, scene.known = found, touches, known
        self.landing.known0 = Known.zeros(touches)
        self.ahead.touches, self.ahead.capacity = Touch.zeros(touches), touches
        scene.sequence = np.zeros(touches, dtype=np.int64)
        exerted = Exerted.zeros(scene.n_exerted + EXERTED * touches)
        exerted[: scene.n_exerted] = scene.exerted[: scene.n_exerted]
        scene.exerted, scene.exerted_room = exerted, len(exerted)
        self.pairs.one, self.pairs.two, self.pairs.near = np.zeros((3, PAIRS * touches), dtype=np.int64)
        self.pairs.room, self.pairs.n = PAIRS * touches, PAIRS * touches + 1

    def make_room_for_entries(self, entries: int) -> None:
        """Allocates memory for so many entries, none of which are kept."""
        self.scene.entries, self.scene.room = Entry.zeros(entries), entries

    def _more_entries(self, wanted: int) -> None:
        """Allocates memory for deep trees, if that was missing, or else for twice as many entries as were wanted: a
        touch has one for every degree of freedom above its bodies."""
        if make_deep_room(self.deep, self.model.nv):
            return
        try:
            self.make_room_for_entries(2 * wanted)
        except MemoryError:
            size = wanted * Entry.dtype.itemsize / 2**30
            raise ModelError(
                f"the equations of {self.scene.n:,} contacts of {self.model.name!r} need {size:.3g} GiB, more memory "
                "than there is: each contact depends on all joints up to the root; use method='adaptive', or shallower "
                "trees"
            ) from None

    def touching(self, q: Floats) -> NDArray[Any]:
        """The touches at q."""
        find = look.load()
        self.begin(q, np.zeros(self.model.nv))
        find(self.landing.address)
        while self.scene.n > self.scene.capacity:  # touches of a height field beyond the capacity are not all counted
            self.make_room(2 * self.scene.n)
            find(self.landing.address)
        return self.found

    def overlaps(self, q: Floats) -> bool:
        """Whether any shapes overlap at q."""
        return bool((self.touching(q)["gap"] < -self.contacts.overlap).any())

    def within_each_other(self, q: Floats) -> list[tuple[str, str, float]]:
        """Names of shapes that overlap at q by more than those of a step may, and by how many metres, the deepest
        first."""
        found = self.touching(q)
        deep = np.sort(found[(found["kind"] == CONTACT) & (found["gap"] < -DEEPEST)], order="gap")
        pairs: dict[tuple[str, str], float] = {}
        for i, j, gap in zip(deep["shape"], deep["other"], deep["gap"]):
            pairs.setdefault((self.shapes[i].name, self.shapes[j].name), -float(gap))
        return [(one, other, depth) for (one, other), depth in pairs.items()]

    def _exclude_overlapping(self) -> list[tuple[str, str]]:
        """Excludes pairs of shapes of one tree that overlap at the neutral position: most of them are drawn larger than
        the bodies are, near joints. Returns their names."""
        roots = np.append(roots_of(self.model), -1)
        root = roots[[x.body for x in self.shapes]]
        moving = len(self.shapes) - self.scene.n_flat
        q = side_by_side(self.model, self.scene.shapes[:moving], root[:moving])
        grounds = self.scene.shapes[moving:]  # belong to no tree, and may be anywhere at this position
        bits = {name: grounds[name].copy() for name in ("group", "mask")}
        grounds["group"] = grounds["mask"] = 0
        found = self.touching(q)
        for name, given in bits.items():
            grounds[name] = given
        pairs = overlapping_in_trees(self.model, root, found, self.contacts.overlap)
        more = pairs[:, 0] * len(self.shapes) + pairs[:, 1]
        apart = np.unique(np.concatenate([self.scene.apart[: self.scene.n_apart], more]))
        for scene in (self.scene, self.ahead):
            scene.apart, scene.n_apart = np.append(apart, 0), len(apart)
        return [(self.shapes[i].name, self.shapes[j].name) for i, j in pairs]

    def halfway(self, q: Floats, v: Floats, h: float) -> tuple[Floats, Floats]:
        """q and v in the middle of a step of length h, where forces act."""
        self.begin(q, v)
        move_halfway.load()(self.landing.address, h)
        return self.q.copy(), self.v.copy()

    def strayed(self, q: Floats, v: Floats, h: float) -> float | None:
        """After a step to q and v that the integrator took because nothing was near: metres by which a shape moved
        farther than touches were searched for, because forces made it fast. None if none did and no joint is beyond its
        limit."""
        self.begin(q, v)
        beyond = float(self._strayed(self.landing.address, h))
        return beyond if beyond >= 0.0 else None

    def take(
        self, q: Floats, v: Floats, h: float, tau: Floats, wrenches: Floats | None, beyond: float | None = None
    ) -> bool:
        """A step of length h from q and v, under forces in addition to the force law of joints, wrenches being those
        halfway. Its end is in self.q and self.v. Returns False if nothing touches during the step, which is then not
        taken. beyond: the step is taken in any case, and the search for touches extended by so many metres. Raises
        ArithmeticError."""
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
            self.begin(q, v)
            hold_pushes.load()(self.landing.address, h)
        while True:
            self.begin(q, v)
            status = self._take(self.landing.address, h)
            if status in (DONE, FLIGHT):
                return status == DONE
            if status == MORE_TOUCHES:
                touches = max(self.scene.n, self.scene.capacity, self.pairs.n // PAIRS + 1)
                self.make_room(2 * touches)
            elif status == MORE_ENTRIES:
                self._more_entries(self.scene.n_entries)
            elif status == MORE_EQUATIONS:
                make_room(self.blocks)
            else:
                break
        if status == UNSOLVED:
            fault = self.landing.fault
            advice = "take shorter steps, or a larger tolerance" if fault > 1.0 else "take shorter steps"
            raise Unsolved(f"{words_for_unsolved(self.scene.n, fault)}; {advice}")
        assert status == SINGULAR
        raise ArithmeticError("the mass matrix is singular")

    @property
    def account(self) -> Floats:
        """(1, 4) the energy account [judging.py]: NO_KEY, the rise of energy, the largest scale so far, 0."""
        return np.array([[NO_KEY, self.landing.risen, self.landing.largest, 0.0]])

    @property
    def known(self) -> Floats:
        """(k, 4) what the next step depends on besides the state: the energy account, then keys and forces of touches.
        Steps from the same state with the same rows are identical."""
        rows = self.scene.known[: self.scene.n_known]
        return np.concatenate([self.account, np.column_stack([rows["key"].astype(np.float64), rows["lam"]])])

    @known.setter
    def known(self, rows: Floats) -> None:
        self.landing.risen = self.landing.largest = 0.0
        if len(rows) and rows[0, 0] == NO_KEY:
            (self.landing.risen, self.landing.largest), rows = rows[0, 1:3], rows[1:]
        if len(rows) > self.scene.capacity:
            self.make_room(2 * len(rows))
        to = self.scene.known
        to["key"][: len(rows)], to["lam"][: len(rows)] = rows[:, 0].astype(np.int64), rows[:, 1:]
        self.scene.n_known = len(rows)

    @property
    def found(self) -> NDArray[Any]:
        """The touches of the last part of the last step."""
        return self.touches[: self.scene.n]

    def rows(self) -> Floats:
        """(k, COLUMNS) the contacts of the last step, with forces averaged over it, including impacts."""
        found = self._exerted(CONTACT)
        return touch_rows(found, found["impulse"] / self.landing.last, found["slip"])

    def limit_forces(self) -> Floats:
        """(nv,) forces of joint limits, averaged over the last step."""
        found, out = self._exerted(LIMIT), np.zeros(self.model.nv)
        np.add.at(out, found["dof"], found["impulse"][:, 0] / self.landing.last)
        return out

    @property
    def exerted(self) -> NDArray[Any]:
        """The impulses of contacts and limits in the last step."""
        found: NDArray[Any] = self.scene.exerted[: self.scene.n_exerted]
        return found

    def _exerted(self, kind: int) -> NDArray[Any]:
        return self.exerted[self.exerted["kind"] == kind]


def touch_rows(found: NDArray[Any], force: Floats, slip: Floats) -> Floats:
    """(k, COLUMNS) touches with forces and slip, as results have them."""
    columns = [found[name] for name in ("shape", "other", "gap", "point", "n")]
    return np.column_stack([*columns, force, slip]).astype(np.float64)
