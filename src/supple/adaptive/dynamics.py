"""Adaptive dynamics [Redon, Galoppo and Lin 2005 (AD)]: as many joints move as allowed, and the body chooses which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive import steps as k
from supple.adaptive import store as st
from supple.adaptive.camera import camera_weights
from supple.adaptive.hybrid import ALL, Energy, Hybrid, checked_state
from supple.adaptive.metrics import Weights, WeightTable
from supple.errors import StateError
from supple.exact.refusals import as_floats
from supple.model.joints import NV, JointType
from supple.model.model import count

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHUNK = 1024  #: steps between looks at the keyboard
_PLAIN = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC, JointType.SCREW, JointType.CYLINDRICAL,
          JointType.UNIVERSAL)  # fmt: skip  # joints whose coordinates are plain numbers, one for each velocity


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


class AdaptiveDynamics(Hybrid):
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
    of the accelerations is certified: the metric of those taken for zero is at most `error`. It holds for those with
    which velocities change, in the middle of the step.

    A step is half a drift, a kick and half a drift, with accelerations in the middle: of second order, and energies
    hardly drift. One costs O(active joints + forces), whatever n is.
    """

    def __repr__(self) -> str:
        active = f"{len(self.active_joints):,} of {self.model.n_bodies:,} joints active"
        forces = count(len(self._pushes), "force")
        return f"<AdaptiveDynamics of {self.model.name!r} under {forces}: {active}, at {self.time:.6g} s>"

    def plot(self, path: str | None = None) -> Any:
        """The tree, its active joints in orange, as a matplotlib figure; saved if a path is given."""
        return self.model.plot(path, mark=self.active_joints)  # type: ignore[arg-type]

    # --- what is asked --------------------------------------------------------------------------------------------

    @property
    def fixed(self) -> bool:
        """Whether the joints that move were said once and for all: as a list."""
        return self._fixed

    @property
    def active(self) -> int | None:
        """How many joints may move; None: as many as the error asks for. May be changed at any time."""
        return None if self._most == ALL else self._most

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
        return self._error if self._most == ALL else None

    @error.setter
    def error(self, value: float) -> None:
        if self._fixed:
            raise StateError("which joints move was fixed when this was made")
        if not (np.isfinite(value) and value >= 0):
            raise StateError(f"error must be a finite number, not below zero; not {value!r}")
        self._ask_for(ALL, float(value))
        self._set_asked()
        self._due()

    def _ask_for(self, most: int, error: float) -> None:
        self._most, self._error = most, error
        if self._same_region:
            self._reach, self._reach_error = most, error

    def set_state(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Put the joints somewhere else: everything is computed anew, O(n)."""
        self._q[:], self._v[:] = checked_state(self.model, q, v)
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
        return {name: self._store.arrays[name].copy() for name in st.SAVED}

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Go on as another one would have when it saved this: one of the same model, at its q and v, asked for the same
        and under the same forces. It gives the same bits. Costs O(n)."""
        store = self._store
        if any(store.arrays[name].shape != saved[name].shape for name in st.SAVED):
            raise StateError("what was saved is of another model")
        self._arrange_now()
        for name in ("flags", "kept", "dropped"):
            store.arrays[name][:] = saved[name]
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
