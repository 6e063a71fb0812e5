"""The hybrid body behind AdaptiveDynamics [AD section 4]: what is asked of it, its arrays, the kernels that move it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive import steps as k
from supple.adaptive import store as st
from supple.adaptive.drives import Driven
from supple.adaptive.keeping import UNWATCHED
from supple.adaptive.ledger import close_kernel, energy_kernel
from supple.adaptive.metrics import Weights, WeightTable
from supple.adaptive.pushes import PUSH_ROW, Pushed
from supple.adaptive.quasistatics import tree_digits
from supple.arguments import NOT_NEGATIVE, Count, Kind, NotNegative, Whole, as_floats, checked, take, whole
from supple.assembly.desk import HostDesk
from supple.assembly.loads import BODY_LOADS, AbsorbedLoads, StretchLoads
from supple.assembly.tables import TreeTables, tree_tables
from supple.assembly.tree import LEAF, LIGHT, SUM, assemble
from supple.errors import SimulationError, SingularError, StateError
from supple.exact.kinematics import POSES
from supple.model.inside import inside_inertias, tree_poses
from supple.model.model import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ALL = 1 << 60


def _region(value: Any) -> float:
    x = NOT_NEGATIVE.form(value)
    return int(value) if isinstance(value, (int, np.integer)) else x


REGION = Kind("a whole number of joints or a finite number, not below zero", _region)
USUAL_DIGITS, FEWEST_DIGITS = 2.0**-40, 1e-5  #: relative errors of the assembly tree


class Energy(NamedTuple):
    """Energies of a body; potential: of gravity and of springs to the world."""

    kinetic: float
    potential: float

    @property
    def total(self) -> float:
        return self.kinetic + self.potential


class Hybrid(Pushed, Driven):
    """A body of which only some joints move. AdaptiveDynamics is what a user sees of it."""

    _pointers = ("_lock", "_kernel")

    @checked
    def __init__(
        self,
        model: Model,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        active: Whole | Sequence[str | int] | None = None,
        *,
        error: NotNegative | None = None,
        update_every: Count = 20,
        acceleration_region: Annotated[float, REGION] | None = None,
        weights: Weights = None,
        velocity_weights: Weights = None,
        guaranteed: bool = False,
        order: str | ArrayLike = "balanced",
        check_energy: bool = True,
    ) -> None:
        self._check_energy = check_energy
        self._begin_pushes(model)
        self._begin_drives()
        self._order = order
        self._shared: TreeTables = tree_tables(model, assemble(model, order))
        self._assembly = self._shared.assembly
        self._pins = np.zeros(model.n_bodies, dtype=np.int64)  #: 1: always active, -1: never
        self._ask(active, error, update_every, acceleration_region, guaranteed)
        self._q, self._v = checked_state(model, q, v)
        self._weights = WeightTable(model, weights)
        self._velocity_weights = WeightTable(model, velocity_weights)
        self._build()

    def _ask(
        self,
        active: int | Sequence[str | int] | None,
        error: float | None,
        update_every: int,
        region: float | None,
        guaranteed: bool,
    ) -> None:
        self._fixed = isinstance(active, Sequence)
        if self._fixed and (error is not None or guaranteed):
            raise StateError("with a list of active joints there is no error to keep to")
        if active is not None and error is not None:
            raise StateError("give either active, a number of joints, or error")
        if guaranteed and error is None:
            raise StateError("guaranteed=True promises an error: give error=...")
        if self._fixed:
            chosen = {self.model.joints[name].index for name in active}  # type: ignore[union-attr,index]
            self._pins[:] = -1
            self._pins[sorted(chosen)] = 1
            active = len(chosen)
        self._most, self._error = ALL, 0.0
        if error is not None:
            self._error = error
        else:
            self._most = self.model.n_bodies if active is None else checked_active(active)
        self._same_region = guaranteed or region is None  #: both regions are asked for in the same words
        self._reach, self._reach_error = self._most, self._error
        if region is not None and not guaranteed:
            self._reach, self._reach_error = (min(region, ALL), 0.0) if isinstance(region, int) else (ALL, region)
        self._guaranteed = guaranteed
        self._every = 1 if guaranteed else checked_every(update_every)

    @property
    def time(self) -> float:
        return float(self._store.numbers[st.TIME])

    @property
    def q(self) -> Floats:
        """(nq,) where the joints are: a view that follows, not to be written to; set_state moves them."""
        return read_only(self._q)

    @property
    def v(self) -> Floats:
        """(nv,) their velocities, likewise."""
        return read_only(self._v)

    @property
    def active_joints(self) -> Ints:
        """The joints that move, by number."""
        joints: Ints = np.sort(self._store.joints[: self._store.counts[st.JOINTS]])
        return joints

    def _build(self) -> None:
        model, assembly, shared = self.model, self._assembly, self._shared
        n, m = model.n_bodies, assembly.n_nodes
        rigid_leaf = (assembly.kind == LEAF) & (assembly.left < 0)
        absorbed = (assembly.kind == LIGHT) | (assembly.kind == SUM)
        sizes = np.select([shared.lone, rigid_leaf, absorbed], [0, BODY_LOADS, AbsorbedLoads.words], StretchLoads.words)
        host = st.HostStore(n, model.nq, model.nv, m, int(sizes.sum()), len(self._weights.values))
        self._store = host
        host.load_at[:] = np.cumsum(sizes) - sizes
        R, r = tree_poses(model)
        host.trees[:] = np.concatenate([R.reshape(n, 9), r], axis=1).reshape(-1)
        h, inertia = inside_inertias(model)
        upper = inertia[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
        host.own[:] = np.concatenate([model.mass[:, None], h, upper], axis=1).reshape(-1)
        host.numbers[st.GRAVITY : st.GRAVITY + 3] = model.gravity
        host.tables[2][:] = np.stack([model.armature, model.damping], axis=1)
        host.arrays["v"] = self._v
        self._point()
        self._lay_out()
        self._assemble()

    def _point(self) -> None:
        self._kernel = k.run_kernel.load()

    @contextmanager
    def _whole_or_not(self) -> Iterator[None]:
        """What is refused in here changes nothing: what a node knows is made anew, to the same bits. O(n)."""
        own, saved = dict(self.__dict__), self._saved()
        changed = (self._q, self._v, self._weights.values, self._velocity_weights.values)
        contents = [x.copy() for x in changed]
        try:
            yield
        except BaseException:
            self.__dict__.update(own)
            for x, content in zip(changed, contents):
                x[:] = content
            self._lay_out()
            self._make_nodes()
            self._put_back(saved)
            raise

    def _saved(self) -> dict[str, NDArray[Any]]:
        """What decides, beside q, v and forces, how it goes on."""
        return {name: self._store.arrays[name].copy() for name in st.SAVED}

    def _put_back(self, saved: dict[str, NDArray[Any]]) -> None:
        self._arrange_now()
        for name in ("flags", "kept", "dropped"):
            self._store.arrays[name][:] = saved[name]
        k.form_hybrid_body.load()(self._desk.address, self._store.address, st.CURRENT)
        for name, own in (("counts", st.OWN_COUNTS), ("numbers", st.OWN_NUMBERS)):
            self._store.arrays[name][list(own)] = saved[name][list(own)]
        self._set_asked()

    def _repoint(self) -> None:
        self._store.point(self._q, self._desk.qdd)

    def _lay_out(self) -> None:
        """The desk, with the weights and locks of now."""
        locked = np.flatnonzero(self._pins < 0)
        tables = self._shared.changed(self._weights.values, locked)
        self._store.arrays["velocity_weight"] = self._velocity_weights.values
        ints, m, model = tables.ints, self._assembly.n_nodes, self.model
        if not hasattr(self, "_numbers"):
            self._numbers = np.zeros(tables.size), np.zeros(6 * model.n_bodies), np.zeros(model.nv), np.zeros(model.nv)
        out, external, force, qdd = self._numbers
        self._desk = HostDesk(
            tables, out, ints[8], ints[9], ints[10], np.zeros(12 * m), 12 * np.arange(m), self._q, external, force, qdd,
            keep_tails=True,
        )  # fmt: skip
        self._repoint()
        must, pinned = self._store.must, np.flatnonzero(self._pins > 0)
        must[:] = 0
        self._mark_above(must, self._assembly.node_of[pinned], st.PASSES)
        must[self._assembly.node_of[pinned]] = st.PINNED

    def _mark_above(self, marks: Ints, nodes: Ints, value: int) -> None:
        """Mark nodes, and all above them."""
        while len(nodes):
            marks[nodes] = value
            nodes = self._assembly.up[nodes]
            nodes = np.unique(nodes[nodes >= 0])

    def _assemble(self, active: Ints | None = None) -> None:
        """Everything, from the state as it is. What moves is active, and what is said to be."""
        locked, moving = self._pins < 0, self._moving(self._v)
        if locked[moving].any():
            name = self.model.joint_names[int(moving[locked[moving]][0])]
            raise StateError(f"joint {name!r} is not to move, and its velocity is not zero")
        for table in (self._weights, self._velocity_weights):
            table.follow(self._q)
        self._make_nodes()
        self._store.numbers[st.DIGITS] = self._digits()
        self._mark_active(moving if active is None else np.union1d(moving, active[~locked[active]]))
        self._store.counts[[st.UPDATES, st.REACHED, st.DROPPED]] = 0
        self._store.numbers[[st.REST, st.VELOCITY_REST, *st.LEDGER]] = 0.0
        self._keep()
        self._set_asked()
        self._due()

    def _make_nodes(self) -> None:
        """What all nodes know, as if none were active."""
        for x in (*self._numbers[1:], self._store.flags, self._store.drive, self._store.momentum):
            x[:] = 0
        self._arrange_now()
        smallest = float(k.build_kernel.load()(self._desk.address, self._store.address))
        if not smallest > 0.0:
            self._refuse_singular(int(self._assembly.item[self._store.counts[st.WORST]]))

    def _digits(self) -> float:
        """What a total may be off by because of rounding, in parts of its scale [assembly/rounding.py]; measured where
        it is part of a certificate."""
        if not self._guaranteed:
            return USUAL_DIGITS
        found = tree_digits(self.model, self._q, self._order)
        if found > FEWEST_DIGITS:
            mass = self.model.mass
            summed = np.append(0.0, np.cumsum(mass))
            carried = summed[self.model.subtree_end] - summed[:-1]
            body = int(np.argmax(carried / np.maximum(mass, 1e-300)))
            raise SingularError(
                "guaranteed=True takes accelerations from the assembly tree, which has too few digits for them: body "
                f"{self.model.body_names[body]!r} of {mass[body]:.3g} kg carries {carried[body]:.3g} kg; leave "
                "guaranteed out, or use simulate(method='aba')"
            )
        return found

    def _moving(self, v: Floats) -> Ints:
        return np.unique(self.model.dof_body[np.flatnonzero(v)])

    def _mark_active(self, joints: Ints) -> None:
        """The hybrid body of these joints, and of those that are always active; those above them are held."""
        flags, joined = self._store.flags, self._assembly.node_of
        nodes = joined[np.union1d(joints, self._always())]
        self._mark_above(flags, nodes, st.CURRENT)
        flags[joined[flags[joined] > 0]] = st.CURRENT | st.HELD
        flags[nodes] = st.CURRENT
        k.form_hybrid_body.load()(self._desk.address, self._store.address, st.CURRENT)

    def _always(self) -> Ints:
        """The joints that are always active: all that may move, or the pinned ones."""
        return np.flatnonzero(self._pins >= 0 if self._all_fixed() else self._pins > 0)

    def _keep(self) -> None:
        """The state as it is becomes the one to which a step that fails goes back."""
        self._store.kept[: self.model.nq], self._store.kept[self.model.nq :] = self._q, self._v
        self._store.numbers[[st.KEPT_TIME, st.KEPT_REMOVED]] = self._store.numbers[[st.TIME, st.REMOVED]]

    def _set_asked(self) -> None:
        """Tell the kernels what is asked."""
        counts, numbers = self._store.counts, self._store.numbers
        counts[[st.EVERY, st.MOST, st.MOST_REACHED]] = self._every, self._most, self._reach
        counts[st.WAYS] = k.GUARANTEED if self._guaranteed else k.FIXED if self._all_fixed() else 0
        counts[st.WAYS] |= 0 if self._check_energy else UNWATCHED
        numbers[[st.ERROR, st.REACH_ERROR]] = self._error, self._reach_error

    def _due(self) -> None:
        self._store.counts[st.DUE] = 0

    def _all_fixed(self) -> bool:
        """Whether the same joints move always: those given, or all."""
        return self._fixed or (self._most < ALL and self._most >= int((self._pins >= 0).sum()))

    @staticmethod
    def _check_pins(pins: Ints, most: int) -> None:
        wanted = int((pins > 0).sum())
        if wanted > most:
            raise StateError(f"{wanted} joints are to be always active, and only {most} may be")

    def _energy(self) -> Energy:
        self._arrange_now()
        total = float(energy_kernel.load()(self._store.address))
        kinetic = float(self._store.numbers[st.KINETIC])
        return Energy(kinetic, total - kinetic)

    def _advance(self, count: int, dt: float) -> None:
        with self._lock:
            self._arrange_now()
            counts, tables = self._store.counts, (self._weights, self._velocity_weights)
            looks = any(table.functions for table in tables) and not self._all_fixed()
            while count > 0:
                now = count
                if looks:  # before every update, which is in the middle of a step
                    if counts[st.DUE] <= 0:
                        q = self.model.integrate(self._q, self._v, 0.5 * dt)
                        for table in tables:
                            table.follow(q, self.active_joints)
                        now = min(count, self._every)
                    else:
                        now = min(count, int(counts[st.DUE]))
                self._call(now, dt)
                count -= now

    def _call(self, count: int, dt: float) -> None:
        ended = self._kernel(self._desk.address, self._store.address, count, dt)
        if ended != k.DONE:
            self._explain(ended, dt)

    def _explain(self, ended: int, dt: float) -> None:
        """Say what happened; everything is made anew from the state that was kept."""
        store, failed = self._store, self.time
        joint = self.model.joint_names[int(store.counts[st.WORST])]
        grown, there = float(store.numbers[[st.GROWN, st.LENT]].sum()), float(store.numbers[st.THERE])
        self._q[:], self._v[:] = store.kept[: self.model.nq], store.kept[self.model.nq :]
        store.numbers[[st.TIME, st.REMOVED]] = store.numbers[[st.KEPT_TIME, st.KEPT_REMOVED]]
        self._assemble()
        if ended == k.SINGULAR:
            self._refuse_singular(None)
        if ended == k.NOT_FINITE:
            what = f"the velocity of joint {joint!r} is no longer finite"
        else:
            rest = max(0.0, there - grown)
            what = (
                f"energy grows without work being done, by {grown:.3g} J where there are {rest:.3g} J otherwise, joint "
                f"{joint!r} moving fastest"
            )
        raise SimulationError(
            f"at time {failed:.6g} {what}: the step of {dt:g} is too long, or a force too stiff; the state of time "
            f"{self.time:.6g} is kept"
        )

    def _refuse_singular(self, body: int | None) -> None:
        where = "a body" if body is None else f"body {self.model.body_names[body]!r}"
        raise SingularError(
            f"{where}, with what is joined to it, has no inertia in some direction, or so little that float64 cannot "
            "tell it beside what it carries, and its inverse is needed; give it mass and inertia"
        )

    def _forces_change(self) -> None:
        if self._store.numbers[st.OPEN]:
            close_kernel.load()(self._store.address)

    def _pushes_changed(self) -> None:
        self._forces_change()  # the reduced tree still has the springs of before
        if self._arranged:
            k.form_hybrid_body.load()(self._desk.address, self._store.address, st.CURRENT)

    def _no_longer_pushed(self, body: int) -> None:
        pass

    def _push_rows(self) -> Floats:
        rows: Floats = self._store.pushes
        return rows

    def _arrange_now(self) -> None:
        """The pushes by body, and the nodes above those bodies."""
        if self._arranged:
            return
        bodies, starts, rows, paths = self._arrangement(self._assembly)
        arrays = self._store.arrays
        leaves = np.repeat(self._assembly.leaf_of[bodies], np.diff(starts))
        arrays["push_leaf"] = leaves.astype(np.int64)
        arrays["push_order"] = np.zeros(len(leaves), dtype=np.int64)
        arrays["pushes"], arrays["reduced_pushes"], arrays["paths"] = rows, np.zeros(len(rows)), paths
        arrays["on_path"][:] = 0
        arrays["on_path"][paths] = 1
        self._store.counts[st.N_PUSHES], self._store.counts[st.N_PATHS] = len(rows) // PUSH_ROW, len(paths)
        self._repoint()
        k.form_hybrid_body.load()(self._desk.address, self._store.address, st.CURRENT)


def checked_active(value: Any) -> int:
    return min(take("active", value, whole(0)), ALL - 1)


def checked_every(value: Any) -> int:
    return min(take("update_every", value, whole(1)), ALL)


def read_only(x: Floats) -> Floats:
    view = x[:]
    view.flags.writeable = False
    return view


def checked_state(model: Model, q: ArrayLike | None, v: ArrayLike | None) -> tuple[Floats, Floats]:
    x = model.neutral() if q is None else as_floats("q", q)
    y = np.zeros(model.nv) if v is None else as_floats("v", v)
    if x.shape != (model.nq,) or y.shape != (model.nv,):
        raise StateError(f"q and v have shapes {x.shape} and {y.shape}; expected ({model.nq},) and ({model.nv},)")
    POSES(model, x, None, None, None)  # refuses what is not finite or not of unit length, by name
    if not np.isfinite(y).all():
        joint = model.joint_names[int(model.dof_body[np.flatnonzero(~np.isfinite(y))[0]])]
        raise StateError(f"the velocity of joint {joint!r} is not finite")
    return x.copy(), y.copy()
