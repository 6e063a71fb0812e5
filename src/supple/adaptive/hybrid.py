"""The hybrid body behind AdaptiveDynamics [AD section 4]: its settings, its arrays, and the kernels that move it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive import steps as k
from supple.adaptive.choose import RELATIVE
from supple.adaptive.drives import Driven
from supple.adaptive.keeping import UNWATCHED
from supple.adaptive.ledger import close_kernel, energy_kernel
from supple.adaptive.measures import LinkageMeasure
from supple.adaptive.memory import (
    CURRENT,
    HELD,
    LEDGER,
    PASSES,
    PINNED,
    SAVED_ARRAYS,
    SAVED_NUMBERS,
    HybridBody,
    Move,
    PushedBody,
)
from supple.adaptive.metrics import Weights, WeightTable
from supple.adaptive.pushes import Pushed, PushRows
from supple.adaptive.quasistatics import tree_digits
from supple.adaptive.reduced_tree import ReducedTables
from supple.arguments import NOT_NEGATIVE, Count, Kind, NotNegative, Whole, checked, take, whole
from supple.assembly.load_cases import BODY_LOADS, AbsorbedLoads, StretchLoads
from supple.assembly.memory import Pose, RigidBody
from supple.assembly.tables import TreeTables, tree_tables
from supple.assembly.tree import LEAF, LIGHT, SUM, assemble
from supple.errors import SimulationError, SingularError, StateError
from supple.integrating.push_law import PushRow
from supple.integrating.states import checked_state
from supple.model.joints import JointType
from supple.model.model import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ALL = 1 << 60


def _region(value: Any) -> float:
    x = NOT_NEGATIVE.form(value)
    return int(value) if isinstance(value, (int, np.integer)) else x


REGION = Kind("a whole number of joints or a finite number, not below zero", _region)
USUAL_DIGITS, FEWEST_DIGITS = 2.0**-40, 1e-5  #: relative errors of the assembly tree


class Energies(NamedTuple):
    """The energies of a body."""

    kinetic: float
    potential: float  #: of gravity, and of springs attached to the world


class Hybrid(Pushed, Driven):
    """A body of which only some joints move. AdaptiveDynamics is its public interface."""

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
        measure: LinkageMeasure = "relative-linkage",
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
        self._roots = (model.parent < 0) & (model.joint_type == JointType.FREE)  #: always active, unless locked
        self._measure: str = measure
        self._ask(active, error, update_every, acceleration_region, guaranteed)
        self._weighed = (weights, velocity_weights), ""  #: as given, and their source
        self._q, self._v = checked_state(model, q, v)
        self._weights = WeightTable(model, weights)
        self._velocity_weights = WeightTable(model, velocity_weights)
        self._build()
        self._act_by_model()

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
        self._region = region
        self._guaranteed = guaranteed
        self._every_asked = checked_every(update_every)

    @property
    def time(self) -> float:
        return float(self._hybrid.time)

    @property
    def q(self) -> Floats:
        """(nq,) joint positions: a live, read-only view; set_state changes them."""
        return view_of(self._q)

    @property
    def v(self) -> Floats:
        """(nv,) joint velocities: a live, read-only view."""
        return view_of(self._v)

    @property
    def active_joints(self) -> Ints:
        """The numbers of the joints that move."""
        joints: Ints = np.sort(self._hybrid.joints[: self._hybrid.n_joints])
        return joints

    @property
    def _every(self) -> int:
        """Steps from one choice of active joints to the next."""
        return 1 if self._guaranteed else self._every_asked

    @property
    def _pinned(self) -> NDArray[np.bool_]:
        """Whether a joint is always active: pinned, or the free root of a body."""
        pinned: NDArray[np.bool_] = (self._pins > 0) | (self._roots & (self._pins == 0))
        return pinned

    @property
    def _most_with_roots(self) -> int:
        """How many joints may move, together with the free roots, which do not count."""
        return self._most if self._fixed else min(self._most + int((self._roots & (self._pins >= 0)).sum()), ALL)

    @property
    def _reach(self) -> tuple[int, float]:
        """How many joints the acceleration update region may have, and the error allowed for the others."""
        if self._guaranteed or self._region is None:
            return self._most_with_roots, self._error
        return (min(self._region, ALL), 0.0) if isinstance(self._region, int) else (ALL, self._region)

    def _build(self) -> None:
        model, assembly, shared = self.model, self._assembly, self._shared
        n, m, nv = model.n_bodies, assembly.n_nodes, model.nv
        rigid_leaf = (assembly.kind == LEAF) & (assembly.left < 0)
        absorbed = (assembly.kind == LIGHT) | (assembly.kind == SUM)
        sizes = np.select([shared.lone, rigid_leaf, absorbed], [0, BODY_LOADS, AbsorbedLoads.words], StretchLoads.words)
        self._body = shared.body(model, self._q)
        self._body.loads, self._body.load_at = np.zeros(int(sizes.sum())), np.cumsum(sizes) - sizes
        self._reduced = ReducedTables(n, nv)
        dofs = self._reduced.tables["dofs"]
        dofs["armature"], dofs["damping"] = model.armature, model.damping
        of_nodes = ("flags", "must", "on_path", "seen", "expanded", "queue", "piece")
        of_dofs = ("drive", "controls", "momentum", "half", "gain", "effort", "impulse")
        self._hybrid = HybridBody.of(
            body=self._body,
            gravity=model.gravity,
            **{name: _zeros(m) for name in of_nodes},
            **{name: np.zeros(nv) for name in of_dofs},
            keys=np.zeros(m + 1),
            amount=np.zeros(m),
            rigid=RigidBody.zeros(m),
            piece_pose=Pose.zeros(m),
            motion=Move.zeros(m),
            joints=_zeros(n + 1),
            reduced=self._reduced.struct,
            world=Pose.zeros(n + 1),
            moves=Move.zeros(n + 1),
            push_leaf=_zeros(0),
            push_order=_zeros(0),
            push_start=_zeros(n + 3),
            pushes=PushRow.zeros(0),
            reduced_pushes=PushRow.zeros(0),
            pushed=PushedBody.zeros(n + 1),
            paths=_zeros(0),
            v=self._v,
            controlled=_zeros(nv),
            kept_q=np.zeros(model.nq),
            kept_v=np.zeros(nv),
            dropped=_zeros(n),
        )
        self._point()
        self._lay_out()
        self._assemble()

    def _point(self) -> None:
        self._kernel = k.run_kernel.load()
        self._hybrid.reduced = self._reduced.struct

    @contextmanager
    def _whole_or_not(self) -> Iterator[None]:
        """On an error inside this context nothing changes: all nodes are recomputed, bit-identically. O(n)."""
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
        """The data that, besides q, v and forces, determine how the run continues."""
        numbers = {name: np.array(getattr(self._hybrid, name)) for name in SAVED_NUMBERS}
        return numbers | {name: getattr(self._hybrid, name).copy() for name in SAVED_ARRAYS}

    def _put_back(self, saved: dict[str, NDArray[Any]]) -> None:
        self._arrange_now()
        for name in SAVED_ARRAYS:
            getattr(self._hybrid, name)[:] = saved[name]
        k.form_hybrid_body.load()(self._hybrid.address, CURRENT)
        for name in SAVED_NUMBERS:
            if name in saved:  # another version may have saved fewer of them
                setattr(self._hybrid, name, saved[name])
        self._set_asked()

    def _lay_out(self) -> None:
        """The tree, with the current weights and locks."""
        locked = np.flatnonzero(self._pins < 0)
        self._body.tree = self._shared.changed(self._weights.values, locked).tree
        self._hybrid.velocity_weight = self._velocity_weights.values
        must, pinned = self._hybrid.must, np.flatnonzero(self._pinned)
        must[:] = 0
        self._mark_above(must, self._assembly.node_of[pinned], PASSES)
        must[self._assembly.node_of[pinned]] = PINNED

    def _mark_above(self, marks: Ints, nodes: Ints, value: int) -> None:
        """Mark nodes and all nodes above them."""
        while len(nodes):
            marks[nodes] = value
            nodes = self._assembly.up[nodes]
            nodes = np.unique(nodes[nodes >= 0])

    def _assemble(self, active: Ints | None = None) -> None:
        """Recompute everything from the current state. Moving joints are active, and those given."""
        locked, moving = self._pins < 0, self._moving(self._v)
        if locked[moving].any():
            name = self.model.joint_names[int(moving[locked[moving]][0])]
            raise StateError(f"joint {name!r} is not to move, and its velocity is not zero")
        for table in (self._weights, self._velocity_weights):
            table.follow(self._q)
        self._make_nodes()
        self._hybrid.digits = self._digits()
        self._mark_active(moving if active is None else np.union1d(moving, active[~locked[active]]))
        for name in ("updates", "n_reached", "n_dropped", "acceleration_rest", "velocity_rest", *LEDGER):
            setattr(self._hybrid, name, 0)
        self._keep()
        self._set_asked()
        self._due()

    def _make_nodes(self) -> None:
        """The coefficients of all nodes, as if none were active."""
        body, hybrid = self._body, self._hybrid
        body.external["f"] = 0.0
        for x in (body.force, body.qdd, hybrid.flags, hybrid.drive, hybrid.momentum):
            x[:] = 0
        self._arrange_now()
        smallest = float(k.build_kernel.load()(self._hybrid.address))
        if not smallest > 0.0:
            self._refuse_singular(int(self._assembly.item[hybrid.worst]))

    def _digits(self) -> float:
        """The rounding error of a total, relative to its scale [assembly/rounding.py]; measured where it is part of a
        certificate."""
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
        """Form the hybrid body of these joints and the always active ones; joints above them are held."""
        flags, joined = self._hybrid.flags, self._assembly.node_of
        nodes = joined[np.union1d(joints, self._always())]
        self._mark_above(flags, nodes, CURRENT)
        flags[joined[flags[joined] > 0]] = CURRENT | HELD
        flags[nodes] = CURRENT
        k.form_hybrid_body.load()(self._hybrid.address, CURRENT)

    def _always(self) -> Ints:
        """The joints that are always active: all that may move, or the pinned ones."""
        return np.flatnonzero(self._pins >= 0 if self._all_fixed() else self._pinned)

    def _keep(self) -> None:
        """Keep the current state as the one to return to if a step fails."""
        hybrid = self._hybrid
        hybrid.kept_q[:], hybrid.kept_v[:] = self._q, self._v
        hybrid.kept_time, hybrid.kept_removed = hybrid.time, hybrid.removed

    def _set_asked(self) -> None:
        """Pass the settings to the kernels. Their metrics are sums of squares, so errors are squared."""
        hybrid, (reach, reach_error) = self._hybrid, self._reach
        hybrid.every, hybrid.most, hybrid.most_reached = self._every, self._most_with_roots, reach
        hybrid.ways = k.GUARANTEED if self._guaranteed else k.FIXED if self._all_fixed() else 0
        hybrid.ways |= 0 if self._check_energy else UNWATCHED
        hybrid.ways |= RELATIVE if self._measure == "relative-linkage" else 0
        hybrid.error, hybrid.reach_error = self._error * self._error, reach_error * reach_error

    def _due(self) -> None:
        self._hybrid.due = 0

    def _all_fixed(self) -> bool:
        """Whether the moving joints never change: those given, or all."""
        return self._fixed or (self._most < ALL and self._most_with_roots >= int((self._pins >= 0).sum()))

    def _check_pins(self, pins: Ints, most: int) -> None:
        wanted = int(((pins > 0) & ~self._roots).sum())
        if wanted > most:
            raise StateError(f"{wanted} joints are to be always active, and only {most} may be")

    def _energies(self) -> Energies:
        self._arrange_now()
        total = float(energy_kernel.load()(self._hybrid.address))
        kinetic = float(self._hybrid.kinetic)
        return Energies(kinetic, total - kinetic)

    def _advance(self, count: int, dt: float) -> None:
        with self._lock:
            self._arrange_now()
            tables = self._weights, self._velocity_weights
            looks = any(table.functions for table in tables) and not self._all_fixed()
            while count > 0:
                now = count
                if looks:  # before every update, in the middle of a step
                    if self._hybrid.due <= 0:
                        q = self.model.integrate(self._q, self._v, 0.5 * dt)
                        for table in tables:
                            table.follow(q, self.active_joints)
                        now = min(count, self._every)
                    else:
                        now = min(count, int(self._hybrid.due))
                self._call(now, dt)
                count -= now

    def _call(self, count: int, dt: float) -> None:
        ended = self._kernel(self._hybrid.address, count, dt)
        if ended != k.DONE:
            self._explain(ended, dt)

    def _explain(self, ended: int, dt: float) -> None:
        """Raise the error for how a run ended; everything is recomputed from the kept state."""
        hybrid, failed = self._hybrid, self.time
        joint = self.model.joint_names[int(hybrid.worst)]
        grown, there = float(hybrid.grown + hybrid.lent), float(hybrid.there)
        self._q[:], self._v[:] = hybrid.kept_q, hybrid.kept_v
        hybrid.time, hybrid.removed = hybrid.kept_time, hybrid.kept_removed
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
        if self._hybrid.accounts_open:
            close_kernel.load()(self._hybrid.address)

    def _pushes_changed(self) -> None:
        self._forces_change()  # the reduced tree still has the previous springs
        if self._arranged:
            k.form_hybrid_body.load()(self._hybrid.address, CURRENT)

    def _no_longer_pushed(self, body: int) -> None:
        pass

    def _push_rows(self) -> PushRows:
        rows: PushRows = self._hybrid.pushes
        return rows

    def _arrange_now(self) -> None:
        """Arrange the forces of joints, the pushes by body, and the nodes above those bodies."""
        self._settle()
        if self._arranged:
            return
        bodies, starts, rows, paths = self._arrangement(self._assembly)
        hybrid = self._hybrid
        hybrid.push_leaf = np.repeat(self._assembly.leaf_of[bodies], np.diff(starts))
        hybrid.push_order = _zeros(len(rows))
        hybrid.pushes, hybrid.reduced_pushes, hybrid.paths = rows, PushRow.zeros(len(rows)), paths
        hybrid.n_pushes, hybrid.n_paths = len(rows), len(paths)
        hybrid.on_path[:] = 0
        hybrid.on_path[paths] = 1
        k.form_hybrid_body.load()(self._hybrid.address, CURRENT)
        self._arranged = True


def _zeros(n: int) -> Ints:
    return np.zeros(n, dtype=np.int64)


def checked_active(value: Any) -> int:
    return min(take("active", value, whole(0)), ALL - 1)


def checked_every(value: Any) -> int:
    return min(take("update_every", value, whole(1)), ALL)


def view_of(x: Floats) -> Floats:
    view = x[:]
    view.flags.writeable = False
    return view
