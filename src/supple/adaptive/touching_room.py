"""The memory of touches of a hybrid body, and what is said of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.memory import OuterForce
from supple.adaptive.radix_sort import DIGITS
from supple.adaptive.settings import Settings
from supple.adaptive.sleeping import RESTLESS, wake_kernel
from supple.adaptive.touching import ROOM_FOR_ENTRIES, ROOM_FOR_EQUATIONS, ROOM_FOR_TOUCHES, SPARE
from supple.adaptive.touching_memory import PAIRS, Box, Home, Listed, Noted, Pace, Shift, Touching
from supple.arguments import ARRAY, take
from supple.assembly.memory import Pose
from supple.assembly.tree import SUM, Assembly
from supple.contact.blocks import make_room
from supple.contact.deep import make_deep_room
from supple.contact.mechanisms import connected
from supple.contact.memory import CONTACT, LIMIT, Known, Touch
from supple.contact.room import ContactRoom, touch_rows
from supple.contact.settings import Contacts
from supple.contact.volumes import Volume
from supple.errors import StateError, printable
from supple.exact.kinematics import PlacedBody
from supple.exact.tables import host_tables
from supple.integrating.joint_law import LAW
from supple.model.model import Model
from supple.spatial.held import Held
from supple.spatial.pointing import Pointing

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Saved = dict[str, NDArray[Any]]

PATIENCE = 0.25  #: seconds that a character has to be still before it sleeps
#: Fields of Touching that are saved, by name.
SAVED_NUMBERS = {
    "last_step": "last", "rough": "rough", "deepest": "deepest", "gained": "gained", "relaxed": "relaxed",
    "relaxed_fault": "relaxed_fault", "largest": "largest", "risen": "risen",
}  # fmt: skip
LATER = ("exerted", "momenta", "gained", "last_step", "largest", "risen")  #: names that earlier versions did not save
#: Names of what is saved, after PREFIX.
SAVED = ("asleep", "quiet", "momenta", "known", "resting", "exerted", *SAVED_NUMBERS)
#: Fields of Exerted, which is shown of the last step, and how many numbers each has.
SHOWN = {
    "shape": 1, "other": 1, "kind": 1, "dof": 1, "gap": 1, "point": 3, "n": 3, "impulse": 3, "slip": 3,
}  # fmt: skip
PREFIX = "touches_"
ONCE = 1 << 62


class TouchesOfHybrid(Pointing):
    """What a hybrid body of a model needs to touch, and its characters that sleep. reduced: the tables of its reduced
    tree."""

    _pointers = ("room", "struct", "_tables", "_homes", "_arrays", "_paces", "_never_sleep")

    def __init__(self, model: Model, assembly: Assembly, contacts: Contacts, reduced: dict[str, NDArray[Any]]) -> None:
        self.model, self.assembly, self.contacts = model, assembly, contacts
        self._reduced = reduced
        self._kept: Saved | None = None
        self._said = 0  #: parts that missed the law, of which was said that they do
        self._springs: list[tuple[int, int]] = []  #: bodies that springs connect
        self._point()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_kept": self.save(), "_reduced": {}}

    def attach(self, reduced: dict[str, NDArray[Any]], memory: Held) -> None:
        """To the tables of a reduced tree, and to a HybridBody."""
        self._reduced = reduced
        self._tables.bodies = reduced["bodies"]
        memory.touching, memory.has_touches = self.struct, 1
        memory.body_volumes = _around(self.model, self._homes, self.room.scene.shapes)
        memory.outer = OuterForce.zeros(2 * self.room.scene.capacity)
        self.for_paths(memory.paths[: memory.n_paths], memory)  # a copy has them already
        if not len(memory.volumes):
            memory.volumes = Volume.zeros(self.assembly.n_nodes)

    def _point(self) -> None:
        model, nodes = self.model, self.assembly.n_nodes
        n, nv = model.n_bodies, model.nv
        self.room = ContactRoom(model, np.zeros((0, LAW)), self.contacts)
        scene, table = self.room.scene, self.room.scene.shapes
        self._tables: Held = host_tables(model).tables.but(n=0)
        self._homes = Home.zeros(len(table))
        for name in ("body", "R", "p"):
            self._homes[name] = table[name]
        table["X"], table["at"], table["reach"] = table["R"], table["p"], 0.0
        placed = PlacedBody.zeros(n + 1)
        for x in (scene, self.room.ahead):
            x.model, x.bodies, x.length = self._tables, placed, scene.length
        flat = len(table) - scene.n_flat
        body = table["body"]
        order = np.argsort(body[:flat], kind="stable")
        order = order[body[order] >= 0]
        starts = np.searchsorted(body[order], np.arange(n + 1))
        limit_of, limits = np.full(nv, -1), scene.limits[: scene.n_limits]
        limit_of[limits] = np.arange(len(limits))
        most = nodes + len(table)  # boxes: of nodes, and of bodies with shapes
        roots = Settings.free_roots(model)
        self._arrays = {"asleep": np.zeros(len(roots), dtype=np.int64), "quiet": np.full(len(roots), RESTLESS)}
        self._paces = Pace.zeros(len(roots))
        contacts, self.resting = self.contacts, Touch.zeros(0)
        self.struct: Held = Touching.of(
            scene=scene, ahead=self.room.ahead, tables=self._tables, homes=self._homes, shape_start=starts,
            shapes_on=order, fixed=np.flatnonzero(body[:flat] < 0), n_fixed=int((body[:flat] < 0).sum()),
            within=Pose.zeros(nodes), places=Pose.zeros(n), places_on=Pose.zeros(n), shifts=Shift.zeros(n), formed=1,
            boxes=Box.zeros(most), begins=np.zeros(most),
            **{name: np.zeros(most, dtype=np.int64) for name in ("order", "inside")},
            sides=np.zeros(2 * most), shaped=_shaped(self.assembly, np.unique(body[body >= 0])),
            noted=Noted.zeros(len(table)), counts=np.zeros(DIGITS, dtype=np.int64),
            stack=np.zeros(24 * self.assembly.depth + 64, dtype=np.int64), limit_of=limit_of,
            coordinate=scene.coordinates, lower=scene.lower, upper=scene.upper,
            **{name: np.zeros(nodes, dtype=np.int64) for name in ("stamps", "part", "own_paths")},
            **{name: np.zeros(nv) for name in ("end", "dv", "dq", "x", "rate", "part_v", "first_v")},
            **{name: np.zeros(len(table), dtype=np.int64) for name in ("shape_stamps", "tried")},
            ways=np.zeros(2 * len(table)), adds=np.zeros(len(table)), owner=np.zeros(nv, dtype=np.int64),
            q0=np.zeros(model.nq), part_q=np.zeros(model.nq), tolerance=contacts.tolerance,
            most=contacts.sweeps, overlap=contacts.overlap,
            n_roots=len(roots), roots=roots, root_of=_characters(model, roots), row_root=np.zeros(n, dtype=np.int64),
            only_characters=bool((model.parent < 0).sum() == len(roots)), patience=PATIENCE, still=contacts.sleep,
            **{name: np.zeros(len(roots), dtype=np.int64) for name in ("keeps_awake", "joined", "restless")},
            through=np.zeros(1), pieces=np.zeros(1), paces=self._paces, **self._arrays, **self._of_loops(),
        )  # fmt: skip
        self._make_room_with_touches()
        if self._kept is not None:
            self.restore(self._kept)
            self._kept = None

    def _of_loops(self) -> dict[str, Any]:
        """Tables of mechanisms over the reduced tree, and of characters that loops and relations connect."""
        more = 0 if self.model.is_tree else self.model.n_bodies + 2
        tied, has_ties = self._ties()
        ints = {name: np.zeros(more, dtype=np.int64) for name in ("first", "begin", "rank")}
        return {
            "mechanisms": self.room.landing.mechanisms.but(n=0, **ints), "tied": tied, "has_ties": has_ties,
            **{name: np.zeros(more, dtype=np.int64) for name in ("tree_of", "tree_sets", "about")},
        }  # fmt: skip

    def _ties(self) -> tuple[Ints, bool]:
        """By character, the first one of those that loops, relations and springs connect it with; whether they connect
        any. Characters that are connected with what never sleeps do not sleep, either."""
        model, roots = self.model, Settings.free_roots(self.model)
        trees = np.flatnonzero(model.parent < 0)
        group = connected(model, trees[np.searchsorted(trees, np.arange(model.n_bodies), "right") - 1], self._springs)
        self._never_sleep = np.isin(group[roots], group[np.setdiff1d(trees, roots)]).astype(np.int64)
        _, first, which = np.unique(group[roots], return_index=True, return_inverse=True)
        return first[which].astype(np.int64), len(first) < len(roots)

    def tie(self, springs: list[tuple[int, int]], memory: Held, settings: Settings) -> None:
        """Characters that springs connect sleep and wake together: the force on one depends on where the other is."""
        if springs != self._springs:
            self._springs = springs
            self.struct.tied, self.struct.has_ties = self._ties()
            self.mark_asleep(memory, settings)

    def _make_room_with_touches(self) -> None:
        """Characters that fall asleep may have as many touches as there are; when they wake, these are remembered
        besides those of the step before; and pairs of shapes that may touch are more."""
        n, s, capacity, scene = self.struct.n_resting, self.struct, self.room.scene.capacity, self.room.scene
        s.pairs, s.spare = np.zeros((2, PAIRS * capacity), dtype=np.int64)
        s.list = Listed.zeros(PAIRS * capacity)
        s.pair_room, s.listed = PAIRS * capacity, 0
        more = Touch.zeros(n + capacity)
        more[:n] = self.resting[:n]
        self.resting = s.resting = more
        s.resting_room = len(more)
        known = Known.zeros(max(capacity, scene.n_known) + len(more))
        known[: scene.n_known] = scene.known[: scene.n_known]
        scene.known = known

    def make_room(self, touches: int, entries: int) -> None:
        """For so many."""
        scene = self.room.scene
        known, n = scene.known, scene.n_known
        scene.n_known = 0
        self.room._room_for(touches, entries)
        scene.known, scene.n_known = known, n
        self._make_room_with_touches()

    def lacks_room(self, ended: int, memory: Held) -> bool:
        """Whether a run ended for want of room, which there is now."""
        scene = self.room.scene
        if ended == ROOM_FOR_TOUCHES:
            self.make_room(max(2 * SPARE * scene.n, scene.capacity), scene.room)
            memory.outer = OuterForce.zeros(2 * scene.capacity)
        elif ended == ROOM_FOR_ENTRIES:
            if not make_deep_room(self.room.deep, self.model.nv):
                self.make_room(scene.capacity, 2 * scene.n_entries)
        elif ended == ROOM_FOR_EQUATIONS:
            make_room(self.room.blocks)
        return ended in (ROOM_FOR_TOUCHES, ROOM_FOR_ENTRIES, ROOM_FOR_EQUATIONS)

    def warn_once(self) -> None:
        """That the law was missed, if it was: one line, by the logger "supple", in the life of this object."""
        if self.struct.relaxed > self._said:
            self._said = ONCE
            text = (
                f"{self.model.name}: no forces were found that keep the law of contact to its tolerance in a part of a "
                f"step; it is missed by {self.struct.relaxed_fault:.2g} m/s there. stats.relaxed counts such parts; "
                "shorter steps or more active joints make them fewer"
            )
            logging.getLogger("supple").warning("%s", printable(text))

    def formed(self) -> None:
        """Called when the reduced tree has been formed anew."""
        self.struct.formed += 1

    def for_rows(self, n: int) -> None:
        """Room for n rows of the law of joints."""
        if len(self.struct.through) < n:
            self.struct.through, self.struct.pieces = np.zeros(2 * n), np.zeros(2 * n)

    def for_paths(self, paths: Ints, memory: Held) -> None:
        """The nodes above pushed bodies; touches add others."""
        self.struct.own_paths[: len(paths)], self.struct.n_own_paths = paths, len(paths)
        memory.paths = np.append(paths, np.zeros(self.assembly.n_nodes - len(paths), dtype=np.int64))

    # --- sleep ----------------------------------------------------------------------------------------------------

    @property
    def sleeping(self) -> Ints:
        """The free roots of characters that sleep."""
        found: Ints = self.struct.roots[self._arrays["asleep"] > 0]
        return found

    def mark_asleep(self, memory: Held, settings: Settings) -> None:
        """The nodes of characters that sleep; and which characters never do."""
        asleep, a = memory.asleep, self.assembly
        asleep[:] = 0
        asleep[a.node_of[self.sleeping]] = 1
        above = a.up[a.node_of[self.struct.roots]]
        while len(above := np.unique(above[above >= 0])):
            both = above[a.kind[above] == SUM]
            asleep[both] = asleep[a.left[both]] & asleep[a.right[both]]
            above = a.up[above]
        pinned = np.flatnonzero(settings.pins > 0)
        self.struct.keeps_awake[:] = self._never_sleep
        kept = self.struct.root_of[pinned]
        self.struct.keeps_awake[kept[kept >= 0]] = 1

    def wake(self, memory: Held, body: int | None) -> bool:
        """The character of a body, or all of them: they have to be still anew before they sleep. Returns whether there
        was any to wake."""
        c = -1 if body is None else int(self.struct.root_of[body])
        if body is None or c >= 0:
            self._arrays["quiet"][slice(None) if body is None else c] = RESTLESS
        there = self.struct.n_asleep > 0 and (body is None or (c >= 0 and bool(self._arrays["asleep"][c])))
        if there:
            wake_kernel.load()(memory.address, c)
        return there

    def begin(self, memory: Held) -> None:
        """As at the beginning: everybody is awake, nothing is remembered."""
        s = self.struct
        self._arrays["asleep"][:], self._arrays["quiet"][:] = 0, RESTLESS
        memory.asleep[:], self._paces["last"] = 0, 0.0
        s.n_asleep = s.n_resting = self.room.scene.n_known = self.room.scene.n = self.room.scene.n_exerted = 0
        s.left, s.choosing = 0.0, 0
        s.largest = s.risen = 0.0

    # --- what is kept ---------------------------------------------------------------------------------------------

    def save(self) -> Saved:
        """What determines how a run continues."""
        rest = self.resting[: self.struct.n_resting]
        arrays: Saved = {name: x.copy() for name, x in self._arrays.items()}
        arrays |= {name: np.array(getattr(self.struct, field)) for name, field in SAVED_NUMBERS.items()}
        arrays["momenta"] = self._paces["last"].copy()
        arrays["known"] = self.room.known[1:]
        arrays["exerted"] = _columns(self.room.exerted)
        arrays["resting"] = rest.view(np.float64).reshape(len(rest), Touch.words).copy()
        return {PREFIX + name: arrays[name] for name in SAVED}

    def checked(self, saved: Any) -> tuple[Saved, Ints]:
        """Of saved data, those that are of touches, if they fit; and the roots of characters that sleep."""
        like, names = self.save(), [PREFIX + name for name in SAVED]
        if not (isinstance(saved, Mapping) and all(PREFIX + name in saved for name in SAVED if name not in LATER)):
            raise StateError("what was saved is of a run without contacts")
        given = {name: take(name, saved[name], ARRAY) for name in names if name in saved}
        given.setdefault(PREFIX + "exerted", np.zeros((0, sum(SHOWN.values()))))
        given.setdefault(PREFIX + "momenta", np.zeros_like(like[PREFIX + "momenta"]))
        for name in LATER[2:]:
            given.setdefault(PREFIX + name, np.array(0.0))
        asleep, known, resting, exerted = (given[PREFIX + name] for name in ("asleep", "known", "resting", "exerted"))
        fits = all(
            given[PREFIX + x].shape == like[PREFIX + x].shape for x in ("asleep", "quiet", "momenta", *SAVED_NUMBERS)
        )
        fits = fits and known.shape[1:] == (4,) and resting.shape[1:] == (Touch.words,)
        fits = fits and exerted.shape[1:] == (sum(SHOWN.values()),)
        whole = all(given[PREFIX + x].dtype.kind in "iu" for x in ("asleep", "rough", "relaxed"))
        if not (fits and whole) or not np.isin(asleep, (0, 1)).all():
            raise StateError("what was saved is of another model, or of a run with other contacts")
        numbers = (given[PREFIX + x] for x in ("quiet", "momenta", "known", "exerted", *SAVED_NUMBERS))
        places, n = np.ascontiguousarray(resting).view(Touch.dtype), len(self._homes)
        if not (all(np.isfinite(x).all() for x in numbers) and all(given[PREFIX + x] >= 0 for x in SAVED_NUMBERS)):
            raise StateError("what was saved has numbers that are not finite")
        shapes = exerted[exerted[:, 2] == CONTACT][:, :2]
        if not all(((x >= 0) & (x < n)).all() for x in (places["shape"], places["other"], shapes)):
            raise StateError("what was saved has shapes that this model does not have")
        limits = exerted[exerted[:, 2] != CONTACT]
        if not ((limits[:, 2] == LIMIT) & (limits[:, 3] >= 0) & (limits[:, 3] < self.model.nv)).all():
            raise StateError("what was saved has joint limits that this model does not have")
        roots: Ints = self.struct.roots[asleep > 0]
        return given, roots

    def restore(self, saved: Saved, memory: Held | None = None) -> None:
        """memory: the HybridBody that this is attached to."""
        for name, x in self._arrays.items():
            x[:] = saved[PREFIX + name]
        self._paces["last"] = saved[PREFIX + "momenta"]
        s, scene, resting, known = self.struct, self.room.scene, saved[PREFIX + "resting"], saved[PREFIX + "known"]
        s.n_asleep, s.left, s.choosing, s.n_resting = int(self._arrays["asleep"].sum()), 0, 0, len(resting)
        for name, field in SAVED_NUMBERS.items():
            setattr(s, field, saved[PREFIX + name])
        self._said = max(self._said, int(s.relaxed))
        self.resting = np.ascontiguousarray(resting).view(Touch.dtype)[:, 0].copy()
        scene.known, scene.n_known = Known.zeros(len(known)), len(known)
        scene.known["key"], scene.known["lam"] = known[:, 0].astype(np.int64), known[:, 1:]
        exerted = saved[PREFIX + "exerted"]
        scene.n = scene.n_exerted = 0
        self.make_room(max(scene.capacity, len(exerted)), scene.room)
        if memory is not None:
            memory.outer = OuterForce.zeros(2 * scene.capacity)
        scene.n_exerted = len(exerted)
        _fill(self.room.exerted, exerted)

    def rows(self) -> Floats:
        """What touches, with forces: rows of contact/room.py; those of characters that sleep as they were."""
        self.room.landing.last = self.struct.last or 1.0
        resting = self.resting[: self.struct.n_resting]
        frame = np.stack([resting["n"], resting["t"], resting["s"]], axis=1)
        force = np.einsum("ki,kij->kj", resting["lam"], frame)
        return np.concatenate([self.room.rows(), touch_rows(resting, force, np.zeros_like(force))])

    def limit_forces(self) -> Floats:
        """(nv,) those of the joints' limits in the last step; zero at joints of characters that sleep."""
        self.room.landing.last = self.struct.last or 1.0
        return self.room.limit_forces()


def _columns(found: NDArray[np.void]) -> Floats:
    """What was exerted, as numbers."""
    fields = (found[name].reshape(len(found), k) for name, k in SHOWN.items())
    return np.concatenate([x.astype(np.float64) for x in fields], axis=1)


def _fill(found: NDArray[np.void], columns: Floats) -> None:
    """The other way round."""
    at = 0
    for name, k in SHOWN.items():
        found[name] = columns[:, at : at + k].reshape(found[name].shape)
        at += k


def _around(model: Model, homes: NDArray[np.void], shapes: NDArray[np.void]) -> NDArray[np.void]:
    """Boxes around the shapes of every body; and one more, for use by others."""
    out = Volume.zeros(model.n_bodies + 1)
    low, high = np.full((model.n_bodies, 3), np.inf), np.full((model.n_bodies, 3), -np.inf)
    on = homes["body"] >= 0
    size = np.einsum("kij,kj->ki", np.abs(homes["R"][on].reshape(-1, 3, 3)), shapes["box"][on])
    size += shapes["margin"][on, None]
    np.minimum.at(low, homes["body"][on], homes["p"][on] - size)
    np.maximum.at(high, homes["body"][on], homes["p"][on] + size)
    has = np.flatnonzero(np.isfinite(low[:, 0]))
    out["h"] = -1.0
    out["c"][has], out["h"][has] = 0.5 * (low[has] + high[has]), 0.5 * (high[has] - low[has])
    return out


def _shaped(assembly: Assembly, bodies: Ints) -> Ints:
    """How many of some bodies there are in every node."""
    out, nodes = np.zeros(assembly.n_nodes, dtype=np.int64), assembly.leaf_of[bodies]
    while len(nodes):
        np.add.at(out, nodes, 1)
        nodes = assembly.up[nodes]
        nodes = nodes[nodes >= 0]
    return out


def _characters(model: Model, roots: Ints) -> Ints:
    """The character of every body, -1 for those of none."""
    out = np.full(model.n_bodies, -1)
    for c, root in enumerate(roots):
        out[root : model.subtree_end[root]] = c
    return out
