"""The memory of contacts of a hybrid body, sleep as called from Python, saved states, and results."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.memory import OuterForce
from supple.adaptive.radix_sort import DIGITS
from supple.adaptive.settings import Settings
from supple.adaptive.touching.memory import PAIRS, Box, Home, ListedPair, ListedShape, Pace, Swept, Touching, Travel
from supple.adaptive.touching.saved import PREFIX, SAVED, SAVED_NUMBERS, Saved, check_saved, from_columns, to_columns
from supple.adaptive.touching.sleeping import RESTLESS, wake_kernel
from supple.adaptive.touching.stepping import HEADROOM, ROOM_FOR_ENTRIES, ROOM_FOR_EQUATIONS, ROOM_FOR_TOUCHES
from supple.adaptive.touching.tables import bodies_with_shapes, boxes_of_bodies, characters, thinnest
from supple.assembly.memory import Pose
from supple.assembly.tree import SUM, Assembly
from supple.contact.blocks import make_room
from supple.contact.deep import make_deep_room
from supple.contact.geometry.volumes import Volume
from supple.contact.memory import Known, Touch
from supple.contact.response.mechanisms import connected
from supple.contact.room import ContactRoom, touch_rows
from supple.contact.settings import Contacts
from supple.contact.tree_groups import tree_groups_for
from supple.errors import printable
from supple.exact.kinematics import PlacedBody
from supple.exact.tables import host_tables
from supple.integrating.joint_law import LAW
from supple.model.model import Model
from supple.spatial.held import Held
from supple.spatial.pointing import Pointing

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PATIENCE = 0.25  #: seconds for which a character has to be still before it falls asleep
NEVER = 1 << 62  #: more relaxed parts than there can be


def _ints(n: int) -> Ints:
    return np.zeros(n, dtype=np.int64)


class TouchesOfHybrid(Pointing):
    """Contacts of a hybrid body of a model, and its sleeping characters. reduced: the tables of its reduced tree."""

    _pointers = ("room", "struct", "_tables", "_homes", "_arrays", "_paces", "_never_sleep")

    def __init__(self, model: Model, assembly: Assembly, contacts: Contacts, reduced: dict[str, NDArray[Any]]) -> None:
        self.model, self.assembly, self.contacts = model, assembly, contacts
        self._reduced = reduced
        self._locked = np.zeros(len(Settings.free_roots(model)), dtype=bool)  #: which free roots never move
        self._kept: Saved | None = None
        self._reported = 0  #: relaxed parts up to this number do not cause a warning
        self._springs: list[tuple[int, int]] = []  #: bodies that springs connect
        self._point()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_kept": self.save(), "_reduced": {}}

    def attach(self, reduced: dict[str, NDArray[Any]], memory: Held) -> None:
        """Attaches this to the tables of a reduced tree, and to a HybridBody."""
        self._reduced = reduced
        self._tables.bodies = reduced["bodies"]
        memory.touching, memory.has_touches = self.struct, 1
        memory.body_volumes = boxes_of_bodies(self.model, self._homes, self.room.scene.shapes)
        self._make_room_for_forces(memory)
        self.for_paths(memory.paths[: memory.n_paths], memory)  # a copy has them already
        if not len(memory.volumes):
            memory.volumes = Volume.zeros(self.assembly.n_nodes)

    def _point(self) -> None:
        """Makes the structs of kernels, after construction and after copying."""
        self.room = ContactRoom(self.model, np.zeros((0, LAW)), self.contacts)
        scene, table = self.room.scene, self.room.scene.shapes
        self._tables: Held = host_tables(self.model).tables.but(n=0)
        self._homes = Home.zeros(len(table))
        for name in ("body", "R", "p"):
            self._homes[name] = table[name]
        table["X"], table["at"], table["reach"] = table["R"], table["p"], 0.0
        placed = PlacedBody.zeros(self.model.n_bodies + 1)
        for x in (scene, self.room.ahead):
            x.model, x.bodies, x.length = self._tables, placed, scene.length
        self.resting = Touch.zeros(0)
        self.struct: Held = Touching.of(
            scene=scene, ahead=self.room.ahead, tables=self._tables, homes=self._homes, formed=1,
            **self._of_shapes(), **self._of_list(), **self._of_parts(), **self._of_characters(), **self._of_loops(),
        )  # fmt: skip
        self._make_room_with_touches()
        if self._kept is not None:
            self.restore(self._kept)
            self._kept = None

    def _of_shapes(self) -> dict[str, Any]:
        """Fields of Touching: which shapes are on which bodies and nodes."""
        body, flat = self._homes["body"], len(self._homes) - self.room.scene.n_flat
        order = np.argsort(body[:flat], kind="stable")
        order = order[body[order] >= 0]
        fixed = np.flatnonzero(body[:flat] < 0)
        return {
            "shape_start": np.searchsorted(body[order], np.arange(self.model.n_bodies + 1)), "shapes_on": order,
            "fixed": fixed, "n_fixed": len(fixed),
            "thinnest": thinnest(self.room.scene.shapes["box"][order]),
            "shaped": bodies_with_shapes(self.assembly, np.unique(body[body >= 0])),
        }  # fmt: skip

    def _of_list(self) -> dict[str, Any]:
        """Fields of Touching: poses, boxes and travel, but not the list itself, whose length depends on the memory for
        touches."""
        n, nodes, shapes = self.model.n_bodies, self.assembly.n_nodes, len(self._homes)
        boxes = nodes + shapes  # at most: of nodes, and of bodies with shapes
        return {
            "within": Pose.zeros(nodes), "last_poses": Pose.zeros(n), "poses_in_root": Pose.zeros(n),
            "boxes": Box.zeros(boxes), "swept": Swept.zeros(boxes), "begins": np.zeros(boxes),
            "sides": np.zeros(2 * boxes), "travels": Travel.zeros(n), "listed_shapes": ListedShape.zeros(shapes),
            "shape_travel": np.zeros(2 * shapes), "shape_step_travel": np.zeros(shapes), "counts": _ints(DIGITS),
            "stack": _ints(24 * self.assembly.depth + 64), "groups": tree_groups_for(_ints(n), _ints(n)),
            **{name: _ints(nodes) for name in ("stamps", "reduced_body", "own_paths")},
            **{name: _ints(boxes) for name in ("order", "inside")},
            **{name: _ints(shapes) for name in ("shape_stamps", "tried")},
        }  # fmt: skip

    def _of_parts(self) -> dict[str, Any]:
        """Fields of Touching: limits, settings, and the scratch of parts of a step."""
        contacts, scene, nq, nv = self.contacts, self.room.scene, self.model.nq, self.model.nv
        limit_of, limits = np.full(nv, -1), scene.limits[: scene.n_limits]
        limit_of[limits] = np.arange(len(limits))
        return {
            "limit_of": limit_of, "coordinate": scene.coordinates, "lower": scene.lower, "upper": scene.upper,
            "owner": _ints(nv), "tolerance": contacts.tolerance, "most": contacts.sweeps, "overlap": contacts.overlap,
            "kinetic": np.zeros(self.model.n_bodies),
            "q0": np.zeros(nq), "part_q": np.zeros(nq), "through": np.zeros(1), "pieces": np.zeros(1),
            **{name: np.zeros(nv) for name in ("end", "dv", "dq", "x", "rate", "part_v", "first_v")},
        }  # fmt: skip

    def _of_characters(self) -> dict[str, Any]:
        """Fields of Touching: characters, all of them awake."""
        model, roots = self.model, Settings.free_roots(self.model)
        self._arrays = {"asleep": _ints(len(roots)), "quiet": np.full(len(roots), RESTLESS)}
        self._paces = Pace.zeros(len(roots))
        return {
            "n_roots": len(roots), "roots": roots, "root_of": characters(model, roots, self._locked),
            "row_root": _ints(model.n_bodies), "only_characters": bool((model.parent < 0).sum() == len(roots)),
            "patience": PATIENCE, "still": self.contacts.sleep, "paces": self._paces,
            **{name: _ints(len(roots)) for name in ("keeps_awake", "island", "restless")}, **self._arrays,
        }  # fmt: skip

    def _of_loops(self) -> dict[str, Any]:
        """Fields of Touching: mechanisms over the reduced tree, and ties between characters."""
        more = 0 if self.model.is_tree else self.model.n_bodies + 2
        tied, has_ties = self._ties()
        ints = {name: _ints(more) for name in ("first", "begin", "rank")}
        return {
            "mechanisms": self.room.landing.mechanisms.but(n=0, **ints), "tied": tied, "has_ties": has_ties,
            **{name: _ints(more) for name in ("tree_of", "tree_sets", "above_loop")},
        }  # fmt: skip

    def _ties(self) -> tuple[Ints, bool]:
        """By character, the first of those that loops, relations and springs connect with it; and whether any are
        connected. Characters that are connected with a tree that never sleeps do not sleep, either."""
        model, roots = self.model, Settings.free_roots(self.model)
        trees = np.flatnonzero(model.parent < 0)
        group = connected(model, trees[np.searchsorted(trees, np.arange(model.n_bodies), "right") - 1], self._springs)
        self._never_sleep = np.isin(group[roots], group[np.setdiff1d(trees, roots)]).astype(np.int64)
        _, first, which = np.unique(group[roots], return_index=True, return_inverse=True)
        return first[which].astype(np.int64), len(first) < len(roots)

    def tie(self, springs: list[tuple[int, int]], memory: Held, settings: Settings) -> None:
        """Characters that springs connect sleep and wake together: the force on one depends on the position of the
        other."""
        if springs != self._springs:
            self._springs = springs
            self.struct.tied, self.struct.has_ties = self._ties()
            self.mark_asleep(memory, settings)

    def _make_room_with_touches(self) -> None:
        """Allocates what depends on the memory for touches: that for candidate pairs, for touches of characters that
        fall asleep, which may be all of a step, and for known forces, which may be those of both when characters
        wake."""
        n, s, capacity, scene = self.struct.n_resting, self.struct, self.room.scene.capacity, self.room.scene
        s.pairs, s.scratch = np.zeros((2, PAIRS * capacity), dtype=np.int64)
        s.list = ListedPair.zeros(PAIRS * capacity)
        s.pair_room, s.listed = PAIRS * capacity, 0
        more = Touch.zeros(n + max(capacity, scene.n_exerted))
        more[:n] = self.resting[:n]
        self.resting = s.resting = more
        s.resting_room = len(more)
        known = Known.zeros(max(capacity, scene.n_known) + len(more))
        known[: scene.n_known] = scene.known[: scene.n_known]
        scene.known = known

    def _make_room_for_forces(self, memory: Held) -> None:
        """Allocates memory for forces at an update: two for each touch, and one for each of sleeping characters."""
        memory.outer = OuterForce.zeros(2 * self.room.scene.capacity + self.struct.resting_room)

    def make_room(self, touches: int) -> None:
        """Allocates memory for so many touches; known forces are kept."""
        scene = self.room.scene
        known, n = scene.known, scene.n_known
        scene.n_known = 0
        self.room.make_room(touches)
        scene.known, scene.n_known = known, n
        self._make_room_with_touches()

    def lacks_room(self, ended: int, memory: Held) -> bool:
        """Whether a run ended because memory was missing. If so, there is more now."""
        scene = self.room.scene
        if ended == ROOM_FOR_TOUCHES:
            self.make_room(max(2 * HEADROOM * scene.n, scene.capacity))
            self._make_room_for_forces(memory)
        elif ended == ROOM_FOR_ENTRIES:
            if not make_deep_room(self.room.deep, self.model.nv):
                self.room.make_room_for_entries(2 * scene.n_entries)
        elif ended == ROOM_FOR_EQUATIONS:
            make_room(self.room.blocks)
        return ended in (ROOM_FOR_TOUCHES, ROOM_FOR_ENTRIES, ROOM_FOR_EQUATIONS)

    def warn_once(self) -> None:
        """Reports parts that miss the contact law, if there are any: one line by the logger "supple" in the life of
        this object."""
        if self.struct.relaxed > self._reported:
            self._reported = NEVER
            text = (
                f"{self.model.name}: in a part of a step, no forces were found that satisfy the law of contact to the "
                f"tolerance; the residual is {self.struct.relaxed_fault:.2g} m/s. stats.relaxed counts such parts; "
                "shorter steps or more active joints make them fewer"
            )
            logging.getLogger("supple").warning("%s", printable(text))

    def formed(self) -> None:
        """Called when the reduced tree has been formed again."""
        self.struct.formed += 1

    def for_rows(self, n: int) -> None:
        """Allocates memory for n rows of the joint law."""
        if len(self.struct.through) < n:
            self.struct.through, self.struct.pieces = np.zeros(2 * n), np.zeros(2 * n)

    def for_paths(self, paths: Ints, memory: Held) -> None:
        """Sets the nodes above pushed bodies; there is memory for those that contact forces add."""
        self.struct.own_paths[: len(paths)], self.struct.n_own_paths = paths, len(paths)
        memory.paths = np.append(paths, np.zeros(self.assembly.n_nodes - len(paths), dtype=np.int64))

    # --- sleep ----------------------------------------------------------------------------------------------------

    @property
    def sleeping(self) -> Ints:
        """The free roots of sleeping characters."""
        found: Ints = self.struct.roots[self._arrays["asleep"] > 0]
        return found

    def mark_asleep(self, memory: Held, settings: Settings) -> None:
        """Marks the nodes of sleeping characters, the characters that never sleep, and trees that are locked."""
        asleep, a, roots = memory.asleep, self.assembly, self.struct.roots
        self._locked = settings.pins[roots] < 0
        self.struct.root_of[:] = characters(self.model, roots, self._locked)
        asleep[:] = 0
        asleep[a.node_of[self.sleeping]] = 1
        above = a.up[a.node_of[roots]]
        while len(above := np.unique(above[above >= 0])):
            both = above[a.kind[above] == SUM]
            asleep[both] = asleep[a.left[both]] & asleep[a.right[both]]
            above = a.up[above]
        pinned = np.flatnonzero(settings.pins > 0)
        self.struct.keeps_awake[:] = self._never_sleep
        kept = self.struct.root_of[pinned]
        self.struct.keeps_awake[kept[kept >= 0]] = 1

    def wake(self, memory: Held, body: int | None) -> bool:
        """Wakes the character of a body, or all if it is None; the time for which they have been still starts again.
        Returns whether any were asleep."""
        c = -1 if body is None else int(self.struct.root_of[body])
        if body is None or c >= 0:
            self._arrays["quiet"][slice(None) if body is None else c] = RESTLESS
        sleeps = self.struct.n_asleep > 0 and (body is None or (c >= 0 and bool(self._arrays["asleep"][c])))
        if sleeps:
            wake_kernel.load()(memory.address, c)
        return sleeps

    def begin(self, memory: Held) -> None:
        """Resets everything: all characters are awake, and there are no touches and no known forces."""
        s = self.struct
        self._arrays["asleep"][:], self._arrays["quiet"][:] = 0, RESTLESS
        memory.asleep[:], self._paces["last"] = 0, 0.0
        s.n_asleep = s.n_resting = s.n_loads = 0
        self.room.scene.n_known = self.room.scene.n = self.room.scene.n_exerted = 0
        s.left, s.choosing = 0.0, 0
        s.largest = s.risen = 0.0

    # --- saved states ---------------------------------------------------------------------------------------------

    def save(self) -> Saved:
        """Everything that determines how a run continues."""
        rest = self.resting[: self.struct.n_resting]
        arrays: Saved = {name: x.copy() for name, x in self._arrays.items()}
        arrays |= {name: np.array(getattr(self.struct, field)) for name, field in SAVED_NUMBERS.items()}
        arrays["momenta"] = self._paces["last"].copy()
        arrays["known"] = self.room.known[1:]
        arrays["exerted"] = to_columns(self.room.exerted)
        arrays["resting"] = rest.view(np.float64).reshape(len(rest), Touch.words).copy()
        return {PREFIX + name: arrays[name] for name in SAVED}

    def checked(self, saved: Any) -> tuple[Saved, Ints]:
        """The arrays of a saved state that are of contacts, if they fit; and the roots of sleeping characters."""
        given = check_saved(saved, self.save(), len(self._homes), self.model.nv)
        roots: Ints = self.struct.roots[given[PREFIX + "asleep"] > 0]
        return given, roots

    def restore(self, saved: Saved, memory: Held | None = None) -> None:
        """Restores a saved state that has been checked. memory: the HybridBody that this is attached to."""
        for name, x in self._arrays.items():
            x[:] = saved[PREFIX + name]
        self._paces["last"] = saved[PREFIX + "momenta"]
        s, scene, resting, known = self.struct, self.room.scene, saved[PREFIX + "resting"], saved[PREFIX + "known"]
        s.n_asleep, s.left, s.choosing, s.n_resting = int(self._arrays["asleep"].sum()), 0, 0, len(resting)
        for name, field in SAVED_NUMBERS.items():
            setattr(s, field, saved[PREFIX + name])
        self._reported = max(self._reported, int(s.relaxed))
        self._restore_resting(np.ascontiguousarray(resting).view(Touch.dtype)[:, 0])
        scene.known, scene.n_known = Known.zeros(len(known)), len(known)
        scene.known["key"], scene.known["lam"] = known[:, 0].astype(np.int64), known[:, 1:]
        exerted = saved[PREFIX + "exerted"]
        scene.n = scene.n_exerted = 0
        self.make_room(max(scene.capacity, len(exerted)))
        if memory is not None:
            self._make_room_for_forces(memory)
        scene.n_exerted = len(exerted)
        from_columns(self.room.exerted, exerted)

    def _restore_resting(self, resting: NDArray[np.void]) -> None:
        """Restores the contacts of sleeping characters: those that load other bodies come first."""
        bodies = self._homes["body"][np.stack([resting["shape"], resting["other"]])]
        loads = ((bodies >= 0) & (self.struct.root_of[bodies] < 0)).any(axis=0)
        self.resting, self.struct.n_loads = resting[np.argsort(~loads, kind="stable")], int(loads.sum())

    # --- results --------------------------------------------------------------------------------------------------

    def rows(self) -> Floats:
        """Contacts with forces, in the columns of contact/room.py; those of sleeping characters as they fell asleep."""
        self.room.landing.last = self.struct.last or 1.0
        resting = self.resting[: self.struct.n_resting]
        frame = np.stack([resting["n"], resting["t"], resting["s"]], axis=1)
        force = np.einsum("ki,kij->kj", resting["lam"], frame)
        return np.concatenate([self.room.rows(), touch_rows(resting, force, np.zeros_like(force))])

    def limit_forces(self) -> Floats:
        """(nv,) the forces of joint limits in the last step; zero for sleeping characters."""
        self.room.landing.last = self.struct.last or 1.0
        return self.room.limit_forces()
