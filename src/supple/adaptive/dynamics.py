"""Adaptive dynamics [Redon, Galoppo and Lin 2005 (AD)]: as many joints move as allowed, and the body chooses which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive import steps as k
from supple.adaptive import store as st
from supple.adaptive.camera import camera_weights
from supple.adaptive.metrics import Weights, WeightTable
from supple.adaptive.pushes import PUSH_ROW, Pushed
from supple.assembly.desk import HostDesk
from supple.assembly.loads import ABSORBED_LOADS, BODY_LOADS, STRETCH_LOADS
from supple.assembly.passes import node_kernels
from supple.assembly.tables import TreeTables, tree_tables
from supple.assembly.tree import LEAF, LIGHT, SUM, assemble
from supple.errors import SimulationError, SingularError, StateError
from supple.exact.kinematics import POSES
from supple.exact.refusals import as_floats
from supple.model.inside import inside_inertias, tree_poses
from supple.model.joints import NV, JointType
from supple.model.model import Model, count

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ALL = 1 << 60
_CHUNK = 1024  #: steps between looks at the keyboard
_PLAIN = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC, JointType.SCREW, JointType.CYLINDRICAL,
          JointType.UNIVERSAL)  # fmt: skip  # joints whose coordinates are plain numbers, one for each velocity


class Energy(NamedTuple):
    """Energies of a body; potential: of gravity and of springs to the world."""

    kinetic: float
    potential: float

    @property
    def total(self) -> float:
        return self.kinetic + self.potential


@dataclass(frozen=True)
class AdaptiveStats:
    """How adaptive dynamics is doing."""

    time: float
    steps: int
    updates: int  #: of the active region
    active: int  #: joints that move
    reached: int  #: joints in the last acceleration update region
    rigid_front: int  #: nodes rigid, under nodes that are not
    force_region: int  #: nodes above bodies that are pushed
    energy_removed: float  #: by stopping joints, since the beginning
    acceleration_error: float  #: of the last update: the acceleration metric of the joints that were not reached
    velocity_error: float  #: of the last update: the velocity metric of the joints that were stopped
    certified: bool  #: whether acceleration_error holds for the accelerations of every step


class AdaptiveDynamics(Pushed):
    """A body of which only some joints move, those that matter most just now.

        ad = supple.AdaptiveDynamics(model, q, v, active=100)
        ad.apply("hand", force=(0, 0, 10))
        ad.run(1.0, dt=1e-3)

    active: how many joints may move; or a list of joints: these, always. error: instead of a number, what may be
    neglected of the velocity metric, the sum of v.V v over joints. Every `update_every` steps the choice is made anew.
    acceleration_region: how many joints are looked at beyond those that move, by their accelerations (a whole number),
    or what may be neglected of the acceleration metric (any other number); by default as many as may move, or `error`.

    weights, velocity_weights: of joints in the two metrics, A and V: a number for each joint, or a dictionary by names
    of numbers, symmetric positive definite matrices, or functions of the joint's position that give one. 1 if not said.

    guaranteed: the mode of AD section 7.3. Nothing is stopped and the choice is made at every step, so that the error
    of the accelerations is certified: the metric of those taken for zero is at most `error`.

    Steps are semi-implicit: velocities first, then positions with the new ones. One costs O(active joints + forces),
    whatever n is.
    """

    def __init__(
        self,
        model: Model,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        active: int | Sequence[str | int] | None = None,
        *,
        error: float | None = None,
        update_every: int = 20,
        acceleration_region: float | None = None,
        weights: Weights = None,
        velocity_weights: Weights = None,
        guaranteed: bool = False,
        order: str | ArrayLike = "balanced",
    ) -> None:
        self.model = model
        self._begin_pushes(model)
        self._shared: TreeTables = tree_tables(model, assemble(model, order))
        self._assembly = self._shared.assembly
        self._pins = np.zeros(model.n_bodies, dtype=np.int64)  #: 1: always active, -1: never
        self._ask(active, error, update_every, acceleration_region, guaranteed)
        self._q, self._v = _state(model, q, v)
        self._weights = WeightTable(model, weights, self._q)
        self._velocity_weights = WeightTable(model, velocity_weights, self._q)
        self._build()

    def __repr__(self) -> str:
        active = f"{len(self.active_joints):,} of {self.model.n_bodies:,} joints active"
        forces = count(len(self._pushes), "force")
        return f"<AdaptiveDynamics of {self.model.name!r} under {forces}: {active}, at {self.time:.6g} s>"

    def plot(self, path: str | None = None) -> Any:
        """The tree, its active joints in orange, as a matplotlib figure; saved if a path is given."""
        return self.model.plot(path, mark=self.active_joints)  # type: ignore[arg-type]

    # --- what is asked --------------------------------------------------------------------------------------------

    def _ask(
        self,
        active: int | Sequence[str | int] | None,
        error: float | None,
        update_every: int,
        region: float | None,
        guaranteed: bool,
    ) -> None:
        n = self.model.n_bodies
        self._fixed = active is not None and not isinstance(active, (int, np.integer))
        if self._fixed and (error is not None or guaranteed):
            raise StateError("with a list of active joints there is no error to keep to")
        if active is None and error is None:
            active = n
        if active is not None and error is not None:
            raise StateError("give either active, a number of joints, or error")
        if self._fixed:
            chosen = [self.model.joints[name].index for name in active]  # type: ignore[union-attr,index]
            self._pins[:] = -1
            self._pins[chosen] = 1
            active = len(chosen)
        if not self._fixed and isinstance(active, (int, np.integer)) and active < 0:
            raise StateError(f"active must not be below zero, as {active} is")
        for name, value in (("error", error), ("acceleration_region", region)):
            if value is not None and not (np.isfinite(value) and value >= 0):
                raise StateError(f"{name} must be a finite number, not below zero; not {value!r}")
        if int(update_every) != update_every or update_every < 1:
            raise StateError(f"update_every must be a whole number of steps, at least 1; not {update_every!r}")
        if guaranteed and error is None:
            raise StateError("guaranteed=True promises an error: give error=...")
        self._most = _ALL if error is not None else int(active)  # type: ignore[arg-type]
        self._error = 0.0 if error is None else float(error)
        self._same_region = guaranteed or region is None  #: both regions are asked for in the same words
        if guaranteed or region is None:
            self._reach, self._reach_error = self._most, self._error
        elif isinstance(region, (int, np.integer)):
            self._reach, self._reach_error = int(region), 0.0
        else:
            self._reach, self._reach_error = _ALL, float(region)
        self.guaranteed = guaranteed
        self.update_every = 1 if guaranteed else int(update_every)

    @property
    def time(self) -> float:
        return float(self._store.numbers[st.TIME])

    @property
    def active(self) -> int | None:
        """How many joints may move; None: as many as the error asks for. May be changed at any time."""
        return None if self._most == _ALL else self._most

    @active.setter
    def active(self, value: int) -> None:
        if self._fixed or self.guaranteed:
            raise StateError("which joints move was fixed when this was made")
        if int(value) != value or value < 0:
            raise StateError(f"active must be a whole number, not below zero; not {value!r}")
        self._ask_for(int(value), 0.0)
        self._check_pins()
        if self._all_fixed():
            flags = self._store.flags
            self._mark_above(flags, np.flatnonzero(self._pins >= 0), st.CURRENT)
            k.form_kernel.load()(self._desk.address, self._store.address, st.CURRENT, 0)
        self._set_asked()
        self._due()

    @property
    def error(self) -> float | None:
        """What may be neglected; None: as much as the number of joints asks for. May be changed at any time."""
        return self._error if self._most == _ALL else None

    @error.setter
    def error(self, value: float) -> None:
        if self._fixed:
            raise StateError("which joints move was fixed when this was made")
        if not (np.isfinite(value) and value >= 0):
            raise StateError(f"error must be a finite number, not below zero; not {value!r}")
        self._ask_for(_ALL, float(value))
        self._set_asked()
        self._due()

    def _ask_for(self, most: int, error: float) -> None:
        self._most, self._error = most, error
        if self._same_region:
            self._reach, self._reach_error = most, error

    @property
    def q(self) -> Floats:
        """(nq,) where the joints are: a view that follows, not to be written to; set_state moves them."""
        return _view(self._q)

    @property
    def v(self) -> Floats:
        """(nv,) their velocities, likewise."""
        return _view(self._v)

    @property
    def active_joints(self) -> Ints:
        """The joints that move, by number."""
        joints: Ints = np.sort(self._store.joints[: self._store.counts[st.JOINTS]])
        return joints

    def set_state(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Put the joints somewhere else: everything is computed anew, O(n)."""
        self._q[:], self._v[:] = _state(self.model, q, v)
        self._weights.follow(self._q, np.arange(self.model.n_bodies))
        self._assemble()

    def pin(self, joint: str | int, active: bool | None = True) -> None:
        """Keep a joint always active (True), never (False: it is locked, and stops if it moves), or neither (None).

        Costs O(n).
        """
        j = self.model.joints[joint].index  # type: ignore[index]
        before, pins = self._energy().kinetic, self._pins.copy()
        self._pins[j] = 0 if active is None else 1 if active else -1
        try:
            self._check_pins()
        except StateError:
            self._pins = pins
            raise
        stops = active is False and bool(self._v[self.model.joints[joint].v].any())  # type: ignore[index]
        if stops:
            k.momenta_kernel.load()(self._store.address)
            self._v[self.model.joints[joint].v] = 0.0  # type: ignore[index]
        self._lay_out()
        self._assemble()
        if stops:
            k.velocities_kernel.load()(self._store.address)
            self._store.numbers[st.REMOVED] += before - self._energy().kinetic

    def set_weights(self, weights: Weights = None, velocity_weights: Weights = None) -> None:
        """Other weights in the metrics; costs O(n)."""
        self._weights = WeightTable(self.model, weights, self._q)
        self._velocity_weights = WeightTable(self.model, velocity_weights, self._q)
        self._lay_out()
        self._assemble()

    def look_from(self, eye: ArrayLike, target: ArrayLike | None = None, **options: Any) -> None:
        """Weigh joints by what they move in the picture of a camera: see camera_weights, which takes the options. The
        metrics are then in pixels squared, and so is `error`. Costs O(n log n); to be said again when it has moved."""
        weights = camera_weights(self.model, self._q, eye, target, **options)
        self.set_weights(weights, weights)

    # --- forces ---------------------------------------------------------------------------------------------------

    def torque(self, joint: str | int, value: ArrayLike) -> None:
        """The force that a joint's actuator exerts from now on: one number for each of its degrees of freedom."""
        part = self.model.joints[joint]  # type: ignore[index]
        x = np.atleast_1d(as_floats("torque", value))
        count = part.v.stop - part.v.start
        if x.shape != (count,) or not np.isfinite(x).all():
            raise StateError(f"joint {part.name!r} takes {count} finite numbers, not {value!r}")
        self._controls()[part.v, st.C_FORCE] = x
        self._renew_joint(part.index)

    def control(
        self, joint: str | int, stiffness: float, damping: float = 0.0, target: ArrayLike | None = None
    ) -> None:
        """A proportional-derivative controller: the force stiffness (target - q) - damping v, beside any torque.

        target: where the joint is now, by default. Of joints whose coordinates are numbers, not of ball, planar and
        free joints. Costs nothing while the joint does not move.
        """
        part = self._plain(joint)
        aim = self._q[part.q] if target is None else np.atleast_1d(as_floats("target", target))
        if aim.shape != (part.v.stop - part.v.start,) or not np.isfinite(aim).all():
            raise StateError(
                f"the target of joint {part.name!r} must be as many finite numbers as it has, not {target!r}"
            )
        for name, value in (("stiffness", stiffness), ("damping", damping)):
            if not (np.isfinite(value) and value >= 0):
                raise StateError(f"{name} must be a finite number, not below zero; not {value!r}")
        rows = self._controls()[part.v]
        rows[:, st.C_STIFFNESS], rows[:, st.C_DAMPING], rows[:, st.C_TARGET] = stiffness, damping, aim
        self._store.controlled[part.v] = 1 + np.arange(part.q.start, part.q.stop)
        self._renew_joint(part.index)

    def limits(self, stiffness: float, damping: float = 0.0) -> int:
        """Let all joints feel the model's limits, as springs that push them back; returns how many have some.

        A limit that is not touched costs nothing but a comparison, and nothing at all while the joint does not move.
        """
        for name, value in (("stiffness", stiffness), ("damping", damping)):
            if not (np.isfinite(value) and value >= 0):
                raise StateError(f"{name} must be a finite number, not below zero; not {value!r}")
        model = self.model
        plain = np.flatnonzero(np.isin(model.joint_type, _PLAIN))
        dof = np.array(NV)[model.joint_type[plain]]
        offset = np.arange(int(dof.sum())) - np.repeat(np.cumsum(dof) - dof, dof)
        iq, iv = np.repeat(model.q_index[plain], dof) + offset, np.repeat(model.v_index[plain], dof) + offset
        some = np.isfinite(model.lower[iq]) | np.isfinite(model.upper[iq])
        iq, iv = iq[some], iv[some]
        rows = self._controls()
        rows[iv, st.C_LOW], rows[iv, st.C_HIGH] = model.lower[iq], model.upper[iq]
        rows[iv, st.C_STOP], rows[iv, st.C_STOP_DAMPING] = stiffness, damping
        self._store.controlled[iv] = 1 + iq
        outside = (self._q[iq] < model.lower[iq]) | (self._q[iq] > model.upper[iq])
        for j in np.unique(model.dof_body[iv[outside]]):
            self._renew_joint(int(j))
        return len(np.unique(model.dof_body[iv]))

    # --- moving ---------------------------------------------------------------------------------------------------

    def step(self, dt: float) -> None:
        """Move on by dt."""
        self._advance(1, dt)

    def run(self, duration: float, dt: float) -> AdaptiveStats:
        """Move on by a duration, in steps of dt (its last digits are rounded away: always whole steps)."""
        if not (np.isfinite(duration) and duration >= 0):
            raise StateError(f"the duration must be a finite number, not below zero; not {duration!r}")
        if not (np.isfinite(dt) and dt > 0):
            raise StateError(f"dt must be a positive number, not {dt!r}")
        left = round(duration / dt)
        while left > 0:
            count = min(left, _CHUNK)
            self._advance(count, dt)
            left -= count
        return self.stats

    def update(self) -> None:
        """Let the next step choose the active joints anew, whenever the last choice was."""
        self._due()

    def save(self) -> dict[str, NDArray[Any]]:
        """What decides, beside q, v and forces, how it goes on: which joints are active, and where it is between
        updates."""
        return {name: self._store.arrays[name].copy() for name in ("flags", "counts", "numbers", "kept")}

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Go on as another one would have when it saved this: one of the same model, at its q and v, asked for the same
        and under the same forces. It gives the same bits. Costs O(n)."""
        store = self._store
        if any(store.arrays[name].shape != saved[name].shape for name in ("flags", "counts", "numbers", "kept")):
            raise StateError("what was saved is of another model")
        self._arrange_now()
        store.flags[:], store.kept[:] = saved["flags"], saved["kept"]
        k.form_kernel.load()(self._desk.address, store.address, st.CURRENT, 0)
        for name, own in (("counts", st.OWN_COUNTS), ("numbers", st.OWN_NUMBERS)):
            store.arrays[name][list(own)] = saved[name][list(own)]

    # --- what can be seen -----------------------------------------------------------------------------------------

    def energy(self) -> Energy:
        """Kinetic and potential energy; costs O(active joints)."""
        return self._energy()

    @property
    def stats(self) -> AdaptiveStats:
        counts, numbers = self._store.counts, self._store.numbers
        return AdaptiveStats(
            self.time,
            int(counts[st.STEPS]),
            int(counts[st.UPDATES]),
            int(counts[st.JOINTS]),
            int(counts[st.REACHED]),
            int((self._store.flags[self._store.seen[: counts[st.SEEN]]] == 0).sum()),
            int(counts[st.N_PATHS]),
            float(numbers[st.REMOVED]),
            float(numbers[st.REST]),
            float(numbers[st.VELOCITY_REST]),
            self.guaranteed,
        )

    def regions(self) -> dict[str, Ints]:
        """Joints by region [AD section 4.1]: "active", "rigid", "forced" (joined above a force), "passive"."""
        node = self._assembly.node_of
        active = np.zeros(self.model.n_bodies, dtype=bool)
        active[self.active_joints] = True
        forced = self._store.on_path[node] != 0
        sets = {"active": active, "rigid": ~active, "forced": forced, "passive": ~active & ~forced}
        return {name: np.flatnonzero(x) for name, x in sets.items()}

    def poses(self, bodies: Any = None) -> tuple[Floats, Floats]:
        """Rotations (m, 3, 3) and positions (m, 3) in the world of some bodies, named or numbered; of all by default.

        Costs O(active joints), and O(log n) for each body.
        """
        if bodies is None:
            index = np.arange(self.model.n_bodies)
        else:
            index = np.array([self.model.body_index(b) for b in bodies], dtype=np.int64)
        self._energy()  # which notes where the reduced bodies are
        out = np.empty((len(index), 12))
        k.poses_kernel.load()(self._desk.address, self._store.address, index, out)
        R = out[:, :9].reshape(-1, 3, 3) @ self._turns[index].transpose(0, 2, 1)
        return R, out[:, 9:].copy()

    # --- inside ---------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        model, assembly, shared = self.model, self._assembly, self._shared
        n, m = model.n_bodies, assembly.n_nodes
        rigid_leaf = (assembly.kind == LEAF) & (assembly.left < 0)
        absorbed = (assembly.kind == LIGHT) | (assembly.kind == SUM)
        sizes = np.select([shared.lone, rigid_leaf, absorbed], [0, BODY_LOADS, ABSORBED_LOADS], STRETCH_LOADS)
        host = st.HostStore(n, model.nq, model.nv, m, int(sizes.sum()), len(self._weights.values), k.links())
        self._store = host
        host.load_at[:] = np.cumsum(sizes) - sizes
        R, r = tree_poses(model)
        host.trees[:] = np.concatenate([R.reshape(n, 9), r], axis=1).reshape(-1)
        h, inertia = inside_inertias(model)
        upper = inertia[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
        host.own[:] = np.concatenate([model.mass[:, None], h, upper], axis=1).reshape(-1)
        host.numbers[st.GRAVITY : st.GRAVITY + 3] = model.gravity
        host.tables[2][:] = np.stack([model.armature, model.damping], axis=1)
        host.controls.reshape(-1, st.CONTROL)[:, [st.C_LOW, st.C_HIGH]] = -np.inf, np.inf
        host.arrays["v"] = self._v
        self._kernel = k.run_kernel.load()
        self._check_pins()
        self._lay_out()
        self._assemble()

    def _lay_out(self) -> None:
        """The desk, with the weights and locks of now."""
        locked = np.flatnonzero(self._pins < 0)
        tables = self._shared.changed(self._weights.values, locked)
        self._store.velocity_weight[:] = self._velocity_weights.values
        ints, m, model = tables.ints, self._assembly.n_nodes, self.model
        if not hasattr(self, "_numbers"):
            self._numbers = np.zeros(tables.size), np.zeros(6 * model.n_bodies), np.zeros(model.nv), np.zeros(model.nv)
        out, external, force, qdd = self._numbers
        self._desk = HostDesk(
            tables, out, ints[8], ints[9], ints[10], np.zeros(12 * m), 12 * np.arange(m), self._q, external, force, qdd,
            keep_tails=True, kernels=node_kernels(),
        )  # fmt: skip
        self._store.point(self._q, qdd)
        must = self._store.must
        must[:] = 0
        self._mark_above(must, np.flatnonzero(self._pins > 0), 1)

    def _mark_above(self, marks: Ints, joints: Ints, value: int) -> None:
        """Mark the nodes of joints, and all above them."""
        nodes = self._assembly.node_of[joints]
        while len(nodes):
            marks[nodes] = value
            nodes = self._assembly.up[nodes]
            nodes = np.unique(nodes[nodes >= 0])

    def _assemble(self) -> None:
        """Everything, from the state as it is; what moves is active."""
        flags = self._store.flags
        flags[:] = 0
        locked = self._pins < 0
        moving = np.unique(self.model.dof_body[np.flatnonzero(self._v)])
        if locked[moving].any():
            name = self.model.joint_names[int(moving[locked[moving]][0])]
            raise StateError(f"joint {name!r} is not to move, and its velocity is not zero")
        self._arrange_now()
        smallest = float(k.build_kernel.load()(self._desk.address, self._store.address))
        if not smallest > 0.0:
            self._refuse_singular(int(self._assembly.item[self._store.counts[st.WORST]]))
        first = np.union1d(moving, np.flatnonzero(self._pins > 0))
        if self._all_fixed():
            first = np.flatnonzero(~locked)
        if len(first):
            self._mark_above(flags, first, st.CURRENT)
        k.form_kernel.load()(self._desk.address, self._store.address, st.CURRENT, 0)
        self._store.counts[st.UPDATES] = 0
        self._store.numbers[[st.WORK_DONE, st.POWER_DT]] = 0.0
        self._store.kept[: self.model.nq], self._store.kept[self.model.nq :] = self._q, self._v
        self._store.numbers[st.KEPT_TIME] = self.time
        self._set_asked()
        self._due()

    def _set_asked(self) -> None:
        """Tell the kernels what is asked."""
        counts, numbers = self._store.counts, self._store.numbers
        counts[[st.EVERY, st.MOST, st.MOST_REACHED]] = self.update_every, self._most, self._reach
        counts[st.WAYS] = k.GUARANTEED if self.guaranteed else k.FIXED if self._all_fixed() else 0
        numbers[[st.ERROR, st.REACH_ERROR]] = self._error, self._reach_error

    def _due(self) -> None:
        self._store.counts[st.DUE] = 0

    def _all_fixed(self) -> bool:
        """Whether the same joints move always: those given, or all."""
        return self._fixed or (self._most < _ALL and self._most >= int((self._pins >= 0).sum()))

    def _check_pins(self) -> None:
        wanted = int((self._pins > 0).sum())
        if wanted > self._most:
            raise StateError(f"{wanted} joints are to be always active, and only {self._most} may be")

    def _controls(self) -> Floats:
        rows: Floats = self._store.controls.reshape(-1, st.CONTROL)
        return rows

    def _plain(self, joint: str | int) -> Any:
        part = self.model.joints[joint]  # type: ignore[index]
        if self.model.joint_type[part.index] not in _PLAIN:
            raise StateError(f"joint {part.name!r} is a {part.type} joint: its coordinates are not one number each")
        return part

    def _renew_joint(self, j: int) -> None:
        """The forces of a joint changed: known at once by the nodes above it that are rigid."""
        node = int(self._assembly.node_of[j])
        k.resettle_kernel.load()(self._desk.address, self._store.address, node)

    def _energy(self) -> Energy:
        self._arrange_now()
        total = float(k.energy_kernel.load()(self._store.address))
        kinetic = float(self._store.numbers[st.KINETIC])
        return Energy(kinetic, total - kinetic)

    def _advance(self, count: int, dt: float) -> None:
        if not np.isfinite(dt):
            raise StateError(f"dt must be a finite number, not {dt!r}")
        self._arrange_now()
        counts = self._store.counts
        while count > 0:
            now = count
            if self._weights.functions and not self._all_fixed():  # to be looked at before every update
                if counts[st.DUE] <= 0:
                    self._weights.follow(self._q, self.active_joints)
                    now = min(count, self.update_every)
                else:
                    now = min(count, int(counts[st.DUE]))
            self._call(now, dt)
            count -= now

    def _call(self, count: int, dt: float) -> None:
        ended = self._kernel(self._desk.address, self._store.address, count, dt)
        if ended != k.DONE:
            self._explain(ended, dt)

    def _explain(self, ended: int, dt: float) -> None:
        """Say what happened; the state is already the one that was kept."""
        numbers, failed = self._store.numbers, self.time
        numbers[st.TIME] = numbers[st.KEPT_TIME]
        numbers[[st.WORK_DONE, st.POWER_DT]], self._store.counts[st.UPDATES] = 0.0, 0
        self._due()
        if ended == k.SINGULAR:
            self._refuse_singular(None)
        joint = self.model.joint_names[int(self._store.counts[st.WORST])]
        what = (
            f"the velocity of joint {joint!r} is no longer finite"
            if ended == k.NOT_FINITE
            else f"energy grows without work being done, joint {joint!r} moving fastest"
        )
        raise SimulationError(
            f"at time {failed:.6g} {what}: the step of {dt:g} is too long, or a force too stiff; the state of time "
            f"{self.time:.6g} is kept"
        )

    def _refuse_singular(self, body: int | None) -> None:
        where = "a body" if body is None else f"body {self.model.body_names[body]!r}"
        raise SingularError(
            f"{where}, with what is joined to it, has no inertia in some direction, where its inverse is needed; give "
            "it mass and inertia"
        )

    def _pushes_changed(self) -> None:
        if self._arranged:
            k.form_kernel.load()(self._desk.address, self._store.address, st.CURRENT, 0)

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
        self._store.point(self._q, self._desk.qdd)
        k.form_kernel.load()(self._desk.address, self._store.address, st.CURRENT, 0)


def _view(x: Floats) -> Floats:
    view = x[:]
    view.flags.writeable = False
    return view


def _state(model: Model, q: ArrayLike | None, v: ArrayLike | None) -> tuple[Floats, Floats]:
    x = model.neutral() if q is None else as_floats("q", q)
    y = np.zeros(model.nv) if v is None else as_floats("v", v)
    if x.shape != (model.nq,) or y.shape != (model.nv,):
        raise StateError(f"q and v have shapes {x.shape} and {y.shape}; expected ({model.nq},) and ({model.nv},)")
    POSES(model, x, None, None, None)  # refuses what is not finite or not of unit length, by name
    if not np.isfinite(y).all():
        joint = model.joint_names[int(model.dof_body[np.flatnonzero(~np.isfinite(y))[0]])]
        raise StateError(f"the velocity of joint {joint!r} is not finite")
    return x.copy(), y.copy()
