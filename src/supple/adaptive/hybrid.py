"""The hybrid body [AD section 4]: its memory, its nodes, the joints that move, and the kernels that move it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive import failures
from supple.adaptive import steps as k
from supple.adaptive.drives import Drives
from supple.adaptive.hybrid_loops import LoopsOfHybrid
from supple.adaptive.ledger import close_accounts, energy_kernel
from supple.adaptive.light_bodies import LightBodies
from supple.adaptive.memory import (
    CURRENT,
    HELD,
    LEDGER,
    PASSES,
    PINNED,
    SAVED_ARRAYS,
    SAVED_NUMBERS,
    hybrid_memory,
)
from supple.adaptive.metrics import Metrics
from supple.adaptive.pushes import Pushes, nodes_above
from supple.adaptive.reduced_tree import ReducedTables
from supple.adaptive.settings import Settings
from supple.adaptive.solver import tree_digits
from supple.adaptive.touching.room import TouchesOfHybrid
from supple.adaptive.touching.stepping import NOT_SOLVED, touching_run
from supple.adaptive.whole_body import DRAWS
from supple.assembly.tables import tree_tables
from supple.assembly.tree import assemble
from supple.contact.settings import Contacts
from supple.errors import StateError
from supple.integrating.push_law import END, PushRow
from supple.model.model import Model
from supple.spatial.held import Held
from supple.spatial.pointing import Pointing

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

USUAL_DIGITS, FEWEST_DIGITS = 2.0**-40, 1e-5  #: relative errors of the assembly tree
#: Of the articulated-body algorithm, where bodies are alike [light_bodies.py]: how many times smaller its error is than
#: what is allowed for the tree; and the least that is allowed for. In 1,940 bodies of up to 100 links near balance the
#: error was at most a tenth of that, against long double.
BETTER, LEAST_DIGITS = 256.0, 256.0 * 2.0**-53


class Energies(NamedTuple):
    """The energies of a body."""

    kinetic: float
    potential: float  #: of gravity, and of all forces that store energy


class Hybrid(Pointing):
    """A body of which only some joints move.

    It has the state (q, v); the settings and metrics by which its active joints are chosen; the forces on it (pushes,
    drives); and `memory`, a HybridBody, which kernels share. After a change of settings, metrics or state, `lay_out`
    and `assemble` bring the memory up to date.
    """

    _pointers = ("_kernel",)

    def __init__(
        self,
        model: Model,
        order: str | ArrayLike,
        state: tuple[Floats, Floats],
        settings: Settings,
        metrics: Metrics,
        pushes: Pushes,
        contacts: Contacts | None = None,
    ) -> None:
        self.model, self.order, (self.q, self.v) = model, order, state
        self.settings, self.metrics, self.pushes = settings, metrics, pushes
        self._shared = tree_tables(model, assemble(model, order))
        self.assembly = self._shared.assembly
        self._reduced = ReducedTables(model)
        self.memory: Held = hybrid_memory(model, self._shared, self._reduced, *state)
        self._loops = None if model.is_tree else LoopsOfHybrid(model, self.assembly)
        self.touches = None
        if contacts is not None:
            self.touches = TouchesOfHybrid(model, self.assembly, contacts, self._reduced.tables)
            pushes.arranged = False  # touches act as pushes do
        self.drives = Drives(model, self.q, self.memory, self.assembly.node_of)
        self._point()
        self.lay_out()
        self.assemble()
        self.drives.act_by_model()

    def _point(self) -> None:
        self._kernel = k.run_kernel.load()
        self.memory.reduced = self._reduced.struct
        if self.touches is not None:
            self._kernel = touching_run.load()
            self.touches.attach(self._reduced.tables, self.memory)
            self.touches.mark_asleep(self.memory, self.settings)
        if self._loops is not None and self.touches is not None:
            self.touches.struct.mechanisms.loops = self._loops.struct.loops
        if self._loops is not None:
            self.memory.closing, self.memory.has_loops = self._loops.struct, 1
            if self.memory.n_seen:  # a copy
                misjudged = self.memory.misjudged
                self._form()
                self.memory.misjudged = misjudged

    # --- the nodes ------------------------------------------------------------------------------------------------

    def lay_out(self) -> None:
        """The tree, with the current weights and locks."""
        pins = self.settings.pins
        self.memory.body.tree = self._shared.changed(self.metrics.acceleration.values, np.flatnonzero(pins < 0)).tree
        self.memory.velocity_weight = self.metrics.velocity.values
        self._mark_must()
        self._light = LightBodies(self.model, self._shared, pins < 0)
        if self._loops is not None:
            self._loops.lock(pins < 0)

    def _mark_must(self) -> None:
        """The nodes of joints that must be active, and those above them."""
        if self.touches is not None:
            self.touches.mark_asleep(self.memory, self.settings)
        must, pinned = self.memory.must, self.assembly.node_of[self._awake(np.flatnonzero(self.settings.pinned))]
        must[:] = 0
        must[nodes_above(self.assembly, pinned)] = PASSES
        must[pinned] = PINNED

    def assemble(self, active: Ints | None = None) -> None:
        """Recompute everything from the current state. Moving joints are active, and those given."""
        locked, moving = self.settings.pins < 0, self.moving
        if locked[moving].any():
            name = self.model.joint_names[int(moving[locked[moving]][0])]
            raise StateError(f"joint {name!r} is locked, but its velocity is not zero")
        if self.touches is not None:
            self.touches.begin(self.memory)
            self._mark_must()
        self._build(moving if active is None else np.union1d(moving, active[~locked[active]]))

    def weigh(self, metrics: Metrics) -> None:
        """Change the metrics. Contacts keep their forces, and nobody wakes."""
        self.metrics = metrics
        self.lay_out()
        self._build(self.active_joints)

    def _build(self, active: Ints) -> None:
        """Everything that follows from the state, the metrics and the settings, with these joints active."""
        self.metrics.follow(self.q)
        self._make_nodes()
        self._note_digits(self._digits())
        self.mark_active(active)
        for name in ("updates", "n_reached", "n_dropped", "acceleration_rest", "velocity_rest", *LEDGER):
            setattr(self.memory, name, 0)
        self.keep()
        self.settings.write(self.memory)
        self.memory.due = 0

    def _make_nodes(self) -> None:
        """The coefficients of all nodes, as if none were active."""
        memory, body = self.memory, self.memory.body
        body.external["f"] = 0.0
        for x in (body.force, body.qdd, memory.flags, memory.drive, memory.momentum):
            x[:] = 0
        self.arrange()
        if not k.build_kernel.load()(memory.address) > 0.0:
            raise failures.singular(self.model, int(self.assembly.item[memory.worst]))

    def _digits(self) -> float:
        """The rounding error of a total, relative to its scale [assembly/rounding.py]; measured where it is part of a
        certificate."""
        if not self.settings.guaranteed or self._loops is not None:  # with loops it is found in every step
            return USUAL_DIGITS
        return self._enough(max(tree_digits(self.model, self.q, self.order), self._light.digits(self.q)))

    def _enough(self, digits: float) -> float:
        if digits > FEWEST_DIGITS:
            raise failures.too_few_digits(self.model, self._light.worst(self.q))
        return digits

    def _note_digits(self, digits: float) -> None:
        """digits: of the tree. Those of the articulated-body algorithm follow from them."""
        alike, memory = self._light.alike(self.q), self.memory
        if self._loops is not None:
            self._loops.draw(1 if alike else DRAWS)
        memory.digits, memory.whole_digits = digits, max(digits / BETTER, LEAST_DIGITS) if alike else digits

    # --- the joints that move -------------------------------------------------------------------------------------

    @property
    def active_joints(self) -> Ints:
        """The numbers of the joints that move."""
        joints: Ints = np.sort(self.memory.joints[: self.memory.n_joints])
        return joints

    @property
    def moving(self) -> Ints:
        """The joints whose velocities are not zero."""
        return np.unique(self.model.dof_body[np.flatnonzero(self.v)])

    @property
    def never_rigid(self) -> Ints:
        """The joints that are active whatever is chosen, if nobody sleeps. Loops with locked joints may hold pinned
        ones."""
        settings = self.settings
        return settings.always if self._loops is None or settings.all_fixed else self.moving

    def _awake(self, joints: Ints) -> Ints:
        """Those of some joints that are not the roots of sleeping characters."""
        return joints if self.touches is None else np.setdiff1d(joints, self.touches.sleeping)

    def mark_active(self, joints: Ints) -> None:
        """Form the hybrid body of these joints and the always active ones; joints above them are held."""
        flags, joined = self.memory.flags, self.assembly.node_of
        nodes = joined[np.union1d(joints, self._awake(self.settings.always))]
        flags[nodes_above(self.assembly, nodes)] = CURRENT
        flags[joined[flags[joined] > 0]] = CURRENT | HELD
        flags[nodes] = CURRENT
        self._form()

    def _form(self) -> None:
        """The reduced tree of the active region, and the forces on it."""
        k.form_hybrid_body.load()(self.memory.address, CURRENT)
        if self.touches is not None:
            self.touches.formed()

    def ask(self, settings: Settings, due: int = 0) -> None:
        """Change settings that do not change the tree. due: in how many steps the active joints are chosen again."""
        self.settings = settings
        settings.write(self.memory)
        self.memory.due = due

    def change_pins(self, settings: Settings, stops: slice | None) -> None:
        """Change the pins. stops: degrees of freedom that are stopped, by an impulse along them: the other active
        joints keep their momenta. Whoever sleeps wakes."""
        self.wake()
        memory, before, were = self.memory, self.energies(), self.active_joints
        self.settings = settings
        if stops is not None:
            self.mark_active(were)  # those that will move, and the one that stops: it is not locked yet
            k.momenta_kernel.load()(memory.address)
            momenta = memory.momentum.copy()
            self.v[stops] = 0.0
        self.lay_out()
        self.assemble(were)
        if stops is not None:
            memory.momentum[:] = momenta
            k.velocities_kernel.load()(memory.address)
            if not np.isfinite(self.v).all():
                raise failures.singular(self.model, None)
            memory.removed += before.kinetic - self.energies().kinetic
            self.keep()

    # --- forces ---------------------------------------------------------------------------------------------------

    def arrange(self) -> None:
        """Arrange the forces of joints, the pushes by body, and the nodes above those bodies."""
        if not self.drives.settled:
            self.drives.settle()
        if self.pushes.arranged:
            return
        memory, (bodies, starts, rows, paths) = self.memory, self.pushes.arrangement(self.assembly)
        memory.push_leaf = np.repeat(self.assembly.leaf_of[bodies], np.diff(starts))
        memory.push_order = np.zeros(len(rows), dtype=np.int64)
        memory.pushes, memory.reduced_pushes, memory.paths = rows, PushRow.zeros(len(rows)), paths
        if self.touches is not None:
            self.touches.for_paths(paths, memory)
            self.touches.tie(self.pushes.connections, memory, self.settings)
        memory.n_pushes, memory.n_paths, memory.n_ends = len(rows), len(paths), int((rows["kind"] == END).sum())
        memory.on_path[:] = 0
        memory.on_path[paths] = 1
        self._form()
        self.pushes.arranged = True

    def wake(self, body: int | None = None) -> None:
        """Wake the character of a body, or all of them: forces on it change."""
        if self.touches is not None and self.touches.wake(self.memory, body):
            self._form()

    def pushes_changed(self, *bodies: int) -> None:
        """Called after a push on bodies was added, changed or removed."""
        for body in bodies:
            self.wake(body)
        close_accounts(self.memory)  # the reduced tree still has the previous springs
        if self.pushes.arranged:
            self._form()

    # --- moving ---------------------------------------------------------------------------------------------------

    def advance(self, count: int, dt: float) -> None:
        """Steps of dt. On an error the state is the last one whose energies were checked."""
        if not (self.drives.settled and self.pushes.arranged):
            self.arrange()
        if self.touches is not None:
            self.touches.for_rows(self.memory.n_rows)
        if self.metrics.vary and not self.settings.all_fixed:
            self._advance_weighing(count, dt)
            return
        self._run(count, dt)

    def _run(self, count: int, dt: float) -> None:
        """Steps in compiled code: all at once, unless joints slide, and the digits of a certificate with them."""
        sliding, memory = self.settings.guaranteed and self._loops is None and self._light.slides, self.memory
        for _ in range(count if sliding else 1):
            if sliding:
                self._note_digits(self._enough(max(memory.digits, self._light.digits(self.q))))
            ended = self._take(1 if sliding else count, dt)
            if ended != k.DONE:
                self.fail(ended, dt)

    def _take(self, count: int, dt: float) -> int:
        """Steps in compiled code. Returns how they ended."""
        memory, end = self.memory, self.memory.steps + count
        ended = int(self._kernel(memory.address, count, dt))
        while self.touches is not None and self.touches.lacks_room(ended, memory):
            ended = int(self._kernel(memory.address, end - memory.steps, dt))
        if self.touches is not None:
            self.touches.warn_once()
        return ended

    def _advance_weighing(self, count: int, dt: float) -> None:
        """The same, with the weights evaluated before every choice of the active joints, in the middle of a step."""
        while count > 0:
            if self.memory.due <= 0:
                self.metrics.follow(self.model.integrate(self.q, self.v, 0.5 * dt), self.active_joints)
                now = min(count, self.settings.every)
            else:
                now = min(count, self.memory.due)
            self._run(now, dt)
            count -= now

    def fail(self, ended: int, dt: float) -> None:
        """Raise the error for how a run ended; everything is recomputed from the kept state."""
        memory = self.memory
        error: Exception
        if ended == k.SINGULAR:
            error = failures.singular(self.model, None)
        elif ended == k.BROKEN:
            error = failures.broken(self.model, memory, dt)
        elif ended == NOT_SOLVED:
            error = failures.unsolved(memory, dt)
        else:
            error = failures.unstable(self.model, memory, ended, dt)
        self.q[:], self.v[:] = memory.kept_q, memory.kept_v
        memory.time, memory.removed = memory.kept_time, memory.kept_removed
        self.assemble()
        raise error

    def energies(self) -> Energies:
        """As those of the exact methods (simulating/dynamics.py)."""
        total, kinetic = self._record_poses(), self.memory.kinetic
        return Energies(kinetic, total - kinetic + self.drives.energy())

    def _record_poses(self) -> float:
        """The poses of the reduced bodies. Returns the energy, without that at joints."""
        self.arrange()
        return float(energy_kernel.load()(self.memory.address))

    def poses_into(self, bodies: Ints, rows: Floats) -> None:
        """World poses of bodies, twelve numbers each."""
        self._record_poses()
        k.poses_kernel.load()(self.memory.address, bodies, rows)

    # --- going back -----------------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Keep the current state as the one to return to if a step fails."""
        memory = self.memory
        memory.kept_q[:], memory.kept_v[:] = self.q, self.v
        memory.kept_time, memory.kept_removed = memory.time, memory.removed

    def save(self) -> dict[str, NDArray[Any]]:
        """The data that, besides q, v and forces, determine how the run continues."""
        numbers = {name: np.array(getattr(self.memory, name)) for name in SAVED_NUMBERS}
        touches = {} if self.touches is None else self.touches.save()
        return numbers | {name: getattr(self.memory, name).copy() for name in SAVED_ARRAYS} | touches

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Continue from there, with the current q, v, forces and settings."""
        self.arrange()
        for name in SAVED_ARRAYS:
            getattr(self.memory, name)[:] = saved[name]
        if self.touches is not None:
            self.touches.restore(saved, self.memory)
            self._mark_must()
        self._form()
        for name in SAVED_NUMBERS:
            if name in saved:  # another version may have saved fewer of them
                setattr(self.memory, name, saved[name])
        self.settings.write(self.memory)

    @contextmanager
    def unless_it_fails(self) -> Iterator[None]:
        """On an error inside this context nothing changes: all nodes are recomputed, bit-identically. O(n)."""
        settings, metrics, saved = self.settings, self.metrics, self.save()
        changed = (self.q, self.v, metrics.acceleration.values, metrics.velocity.values)
        contents = [x.copy() for x in changed]
        try:
            yield
        except BaseException:
            self.settings, self.metrics = settings, metrics
            for x, content in zip(changed, contents):
                x[:] = content
            self.lay_out()
            self._make_nodes()
            self.restore(saved)
            raise
