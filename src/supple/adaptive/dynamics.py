"""Adaptive dynamics [Redon, Galoppo and Lin 2005 (AD)]: a limited number of joints move, chosen by the body itself."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive import steps as k
from supple.adaptive.camera import camera_weights
from supple.adaptive.hybrid import ALL, REGION, Hybrid, checked_active, checked_every
from supple.adaptive.measures import LINKAGE_MEASURES, of_adaptive_dynamics, ratio, said
from supple.adaptive.memory import CURRENT, HELD, SAVED_ARRAYS, SAVED_NUMBERS
from supple.adaptive.metrics import Weights, WeightTable
from supple.adaptive.turns import one_at_a_time
from supple.arguments import ARRAY, FLAG, NOT_NEGATIVE, POSITIVE, checked, choice, read_only, take
from supple.errors import StateError, quoted
from supple.integrating.states import checked_state
from supple.model.model import count

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MEASURE = choice(*LINKAGE_MEASURES)
_CHUNK = 1024  #: steps between checks for a keyboard interrupt
MOST_STEPS = 1e15  #: in one run


@dataclass(frozen=True)
class AdaptiveStats:
    """Statistics of adaptive dynamics."""

    time: float
    steps: int
    updates: int  #: number of active region updates
    active_count: int  #: joints that move
    reached: int  #: joints in the last acceleration update region
    rigid_front: int  #: rigid nodes directly below nodes that are not rigid
    force_region: int  #: nodes above pushed bodies
    energy_removed: float  #: by stopping joints, since the beginning
    acceleration_error: float  #: at the last update: of the joints that were not reached
    velocity_error: float  #: at the last update: of the joints that were stopped
    certified: bool  #: whether acceleration_error holds for the accelerations of every step
    measure: str  #: what `error` is measured in: relative, or with its unit

    def __repr__(self) -> str:
        done = f"{self.steps:,} steps to {self.time:.6g} s, {self.active_count:,} joints active"
        return f"<AdaptiveStats: {done}, error {self.error:.3g}, {self.energy_removed:.3g} J removed>"

    @property
    def error(self) -> float:
        """The error at the last update, in the measure in which `error` is set."""
        return self.acceleration_error if self.certified else self.velocity_error

    def __str__(self) -> str:
        return f"{self.active_count:,} joints active, error {said(self.error, self.measure)}"


@read_only(
    model="make another AdaptiveDynamics",
    order="make another AdaptiveDynamics",
    q="set_state(q, v) moves the joints",
    v="set_state(q, v) moves the joints",
    time="step(dt) and run(duration, dt) move on",
    active_joints="active, error and pin(joint) choose them",
    fixed="make another AdaptiveDynamics with active=[...]",
    error_measure="measure, guaranteed and the weights decide it",
)
@one_at_a_time("model", "q", "v", "time", "step", "run")
class AdaptiveDynamics(Hybrid):
    """A body of which only the currently most important joints move.

        ad = supple.AdaptiveDynamics(model, q, v, active=100)
        ad.apply("hand", force=(0, 0, 10))
        ad.run(1.0, dt=1e-3)

    active: how many joints may move, besides the free roots of bodies, which always do; or a list of joints, which then
    always move, and no others. error: alternatively, the largest velocity allowed for the joints that are stopped, as
    a share of the velocity of all joints: 0.01 is 1% of the motion. Both are roots of the velocity metric, the sum of
    v.V v over joints. With measure="absolute-linkage", `error` is not a share but that root itself [rad/s]. The active
    joints are chosen again every `update_every` steps.
    acceleration_region: how many joints, besides those that move, are examined by their accelerations (an integer), or
    the largest acceleration allowed for the others, in the same measure (any other number). Default: the number of
    joints that may move, or `error`.

    weights, velocity_weights: the joints' weights in the two metrics, A and V: a number for each joint, or a dictionary
    by name of numbers, symmetric positive definite matrices, or functions of the joint's position that return one.
    Default: 1.

    check_energy=False continues when energy grows without a source; otherwise SimulationError is raised.

    guaranteed: the mode of AD section 7.3. No joint is stopped and the choice is made at every step, so that the error
    of the accelerations is certified, rounding included: those treated as zero are at most `error`, as a share of all
    (or, absolute, [rad/s^2]). It holds for the accelerations that change the velocities, in the middle of the step.
    `error_measure` says what `error` is measured in, and measured_error(dt) measures it.

    Settings may be changed at any time: ad.active, ad.error, ad.update_every, ad.guaranteed, ...

    A step is a half drift, a kick and a half drift, with accelerations evaluated in the middle. It is of second order,
    with hardly any energy drift. It costs O(active joints + forces), independently of n.
    """

    def __repr__(self) -> str:
        active = f"{len(self.active_joints):,} of {self.model.n_bodies:,} joints active"
        forces = count(len(self._pushes), "force")
        least = "" if self.error is None else f", error allowed {said(self.error, self.error_measure)}"
        return f"<AdaptiveDynamics of {quoted(self.model.name)} under {forces}: {active}{least}, at {self.time:.6g} s>"

    def plot(self, path: str | Path | None = None) -> Any:
        """Plot the tree with its active joints in orange, as a matplotlib figure; saved if a path is given."""
        return self.model.plot(path, mark=self.active_joints)  # type: ignore[arg-type]

    # --- settings -------------------------------------------------------------------------------------------------

    @property
    def fixed(self) -> bool:
        """Whether the moving joints were fixed from the start, by a list."""
        return self._fixed

    @property
    def active(self) -> int | None:
        """How many joints may move, besides free roots; None: determined by the error. May be changed at any time."""
        return None if self._most == ALL else self._most

    @active.setter
    def active(self, value: int) -> None:
        if self._guaranteed:
            raise StateError("with guaranteed=True as many joints move as the error asks for: set guaranteed = False")
        self._refuse_if_fixed()
        most = checked_active(value)
        self._check_pins(self._pins, most)
        self._ask_for(most, 0.0)
        if self._all_fixed():
            self._arrange_now()
            self._mark_active(self.active_joints)
            self._hybrid.acceleration_rest = self._hybrid.velocity_rest = 0.0

    @property
    def error(self) -> float | None:
        """The error allowed, in `measure`; None: determined by the number of joints. May be changed at any time."""
        return self._error if self._most == ALL else None

    @error.setter
    def error(self, value: float) -> None:
        self._refuse_if_fixed()
        self._ask_for(ALL, take("error", value, NOT_NEGATIVE))

    @property
    def measure(self) -> str:
        """The measure of `error`: "relative-linkage" or "absolute-linkage". May be changed at any time."""
        return self._measure

    @measure.setter
    def measure(self, value: str) -> None:
        self._measure = take("measure", value, MEASURE)
        self._set_asked()
        self._due()

    @property
    def error_measure(self) -> str:
        """What `error` measures: "relative-linkage velocity", "absolute-linkage acceleration [rad/s^2]"."""
        weights, source = self._weighed
        plain = weights[0 if self._guaranteed else 1] is None
        return of_adaptive_dynamics(self._measure, self._guaranteed, "" if plain else source or "given")

    @property
    def update_every(self) -> int:
        """Number of steps between choices of the active joints. May be changed at any time."""
        return self._every

    @update_every.setter
    def update_every(self, value: int) -> None:
        every = checked_every(value)
        if self._guaranteed and every != 1:
            raise StateError("with guaranteed=True the choice is made at every step: update_every is 1")
        self._hybrid.due = max(0, int(self._hybrid.due) + every - self._every)  # counted from the last choice
        self._every_asked = every
        self._set_asked()

    @property
    def guaranteed(self) -> bool:
        """Whether the error of the accelerations is certified at every step. May be changed at any time, O(n)."""
        return self._guaranteed

    @guaranteed.setter
    def guaranteed(self, value: bool) -> None:
        wanted = take("guaranteed", value, FLAG)
        if wanted == self._guaranteed:
            return
        self._refuse_if_fixed()
        if self._most != ALL:
            raise StateError("guaranteed=True promises an error: set error first")
        with self._whole_or_not():
            self._guaranteed = wanted
            self._assemble(self.active_joints)

    @property
    def acceleration_region(self) -> float | None:
        """How many joints are examined by their accelerations, or the acceleration error allowed; None: as for the
        active joints. May be changed at any time; has no effect with guaranteed=True."""
        return self._region

    @acceleration_region.setter
    def acceleration_region(self, value: float | None) -> None:
        self._region = None if value is None else take("acceleration_region", value, REGION)
        self._set_asked()
        self._due()

    @property
    def check_energy(self) -> bool:
        """Whether energy that grows without a source raises SimulationError. May be changed at any time."""
        return self._check_energy

    @check_energy.setter
    def check_energy(self, value: bool) -> None:
        self._check_energy = take("check_energy", value, FLAG)
        self._set_asked()

    @property
    def order(self) -> str | ArrayLike:
        """The order of the assembly tree."""
        return self._order

    def _ask_for(self, most: int, error: float) -> None:
        self._most, self._error = most, error
        self._set_asked()
        self._due()

    def _refuse_if_fixed(self) -> None:
        if self._fixed:
            raise StateError(
                "which joints move was given as a list, once and for all: make another AdaptiveDynamics, with a number "
                "of active joints or an error"
            )

    def set_state(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Set the state of all joints; everything is recomputed, O(n)."""
        x, y = checked_state(self.model, q, v)
        with self._whole_or_not():
            self._q[:], self._v[:] = x, y
            self._assemble()

    @checked
    def pin(self, joint: str | int, moves: bool | None = True) -> None:
        """Keep a joint always active (True), never active (False: it is locked, and stops if it moves), or neither
        (None).

        A moving joint is stopped by an impulse along it: the other active joints keep their momenta, and
        `stats.energy_removed` grows by the energy lost. Costs O(n).
        """
        part = self.model.joints[joint]  # type: ignore[index]
        self._refuse_if_fixed()
        pins = self._pins.copy()
        pins[part.index] = 0 if moves is None else 1 if moves else -1
        self._check_pins(pins, self._most)
        with self._whole_or_not():
            stops, before, were = moves is False and self._v[part.v].any(), self._energies(), self.active_joints
            self._pins = pins
            if stops:
                self._mark_active(were)  # those that will move, and the one that stops: it is not locked yet
                k.momenta_kernel.load()(self._hybrid.address)
                momenta = self._hybrid.momentum.copy()
                self._v[part.v] = 0.0
            self._lay_out()
            self._assemble(were)
            if stops:
                self._hybrid.momentum[:] = momenta
                k.velocities_kernel.load()(self._hybrid.address)
                if not np.isfinite(self._v).all():
                    self._refuse_singular(None)
                self._hybrid.removed += before.kinetic - self._energies().kinetic
                self._keep()

    @checked
    def set_weights(self, weights: Weights = None, velocity_weights: Weights = None) -> None:
        """Change the weights of the metrics; costs O(n)."""
        self._weigh(weights, velocity_weights)

    @property
    def weights(self) -> Weights:
        """The joints' weights in the acceleration metric, as given. May be changed at any time, O(n)."""
        return self._weighed[0][0]

    @weights.setter
    def weights(self, value: Weights) -> None:
        self.set_weights(value, self._weighed[0][1])

    @property
    def velocity_weights(self) -> Weights:
        """The joints' weights in the velocity metric, as given. May be changed at any time, O(n)."""
        return self._weighed[0][1]

    @velocity_weights.setter
    def velocity_weights(self, value: Weights) -> None:
        self.set_weights(self._weighed[0][0], value)

    def _weigh(self, weights: Weights, velocity_weights: Weights, source: str = "") -> None:
        tables = WeightTable(self.model, weights), WeightTable(self.model, velocity_weights)
        with self._whole_or_not():
            self._weights, self._velocity_weights = tables
            self._weighed = (weights, velocity_weights), source
            self._lay_out()
            self._assemble(self.active_joints)

    def look_from(self, eye: ArrayLike, target: ArrayLike | None = None, **options: Any) -> None:
        """Weight joints by their effect on the image of a camera: see camera_weights, which takes the options. Errors
        are then in pixels. Costs O(n log n); call it again when the camera has moved."""
        weights = camera_weights(self.model, self._q, eye, target, **options)
        self._weigh(weights, weights, "camera")

    # --- moving ---------------------------------------------------------------------------------------------------

    def step(self, dt: float) -> None:
        """Advance by dt."""
        self._advance(1, take("step: dt", dt, POSITIVE))

    def run(self, duration: float, dt: float) -> AdaptiveStats:
        """Advance by a duration, in steps of dt (rounded to a whole number of steps)."""
        length, dt = take("run: duration", duration, NOT_NEGATIVE), take("run: dt", dt, POSITIVE)
        if not length / dt < MOST_STEPS:
            raise StateError(f"{length:g} s are more than {MOST_STEPS:g} steps of {dt:g} s; take longer or fewer steps")
        left = round(length / dt)
        while left > 0:
            count = min(left, _CHUNK)
            self._advance(count, dt)
            left -= count
        return self.stats

    def update(self) -> None:
        """Choose the active joints in the next step, regardless of when they were last chosen."""
        self._due()

    def save(self) -> dict[str, NDArray[Any]]:
        """The data that, besides q, v and forces, determine how the run continues: the active joints, and the position
        between updates."""
        return self._saved()

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Continue exactly as the object that saved this: one of the same model, at its q and v, with the same settings
        and forces. The results are bit-identical. Costs O(n)."""
        self._put_back(self._checked_save(saved))

    # --- inspection -----------------------------------------------------------------------------------------------

    @property
    def energy(self) -> float:
        """Kinetic and potential energy, J; costs O(active joints), as does each of them."""
        return sum(self._energies())

    @property
    def kinetic(self) -> float:
        """Kinetic energy, J."""
        return self._energies().kinetic

    @property
    def potential(self) -> float:
        """Potential energy, J: of gravity, and of springs attached to the world."""
        return self._energies().potential

    @property
    def stats(self) -> AdaptiveStats:
        hybrid = self._hybrid
        front = hybrid.flags[hybrid.seen[: hybrid.n_seen]] == 0
        return AdaptiveStats(
            time=self.time,
            steps=int(hybrid.steps),
            updates=int(hybrid.updates),
            active_count=int(hybrid.n_joints),
            reached=int(hybrid.n_reached),
            rigid_front=int(front.sum()),
            force_region=int(hybrid.n_paths),
            energy_removed=float(hybrid.removed),
            acceleration_error=self._share(hybrid.acceleration_rest, hybrid.acceleration_least),
            velocity_error=self._share(hybrid.velocity_rest, hybrid.velocity_total),
            certified=self._guaranteed,
            measure=self.error_measure,
        )

    def _share(self, rest: float, total: float) -> float:
        """The root of a metric left out, in `measure`."""
        relative = self._measure == "relative-linkage"
        return ratio(float(np.sqrt(rest)), float(np.sqrt(total))) if relative else float(np.sqrt(rest))

    def measured_error(self, dt: float) -> float:
        """The error of the accelerations of the next step, measured, in `measure`: the difference between a step of dt
        and one in which all joints move, neither of which is taken. Costs O(n).

        With guaranteed=True it is at most the error that the step certifies, up to what a step of dt itself leaves
        out."""
        dt = take("measured_error: dt", dt, POSITIVE)
        some, whole = copy(self), copy(self)
        whole._become_exact()
        for body in (some, whole):
            body.step(dt)
        off, total = (self._weights.norm((whole.v - body.v) / dt) for body in (some, self))
        return ratio(off, total) if self._measure == "relative-linkage" else off

    def _become_exact(self) -> None:
        """From now on all joints move, but for those that are locked one by one."""
        if self._fixed:
            self._pins[:] = 0
        self._fixed = self._guaranteed = False
        self._most = self.model.n_bodies
        self._lay_out()
        self._assemble()

    def regions(self) -> dict[str, Ints]:
        """Joints by region [AD section 4.1]: "active", "rigid", "forced" (joined above a force), "passive"."""
        node = self._assembly.node_of
        active = np.zeros(self.model.n_bodies, dtype=bool)
        active[self.active_joints] = True
        forced = self._hybrid.on_path[node] != 0
        sets = {"active": active, "rigid": ~active, "forced": forced, "passive": ~active & ~forced}
        return {name: np.flatnonzero(x) for name, x in sets.items()}

    # --- inside ---------------------------------------------------------------------------------------------------

    def _checked_save(self, saved: Any) -> dict[str, NDArray[Any]]:
        """The saved data, unchanged, if consistent with this model."""
        if not (isinstance(saved, Mapping) and all(name in saved for name in SAVED_ARRAYS)):
            raise StateError(f"restore takes what save() gave: a dictionary of {', '.join(SAVED_ARRAYS)} and numbers")
        names = [name for name in (*SAVED_ARRAYS, *SAVED_NUMBERS) if name in saved]
        given, like = {name: take(name, saved[name], ARRAY) for name in names}, self._saved()
        whole_numbers = {name for name, x in like.items() if x.dtype.kind == "i"}
        if any(
            x.shape != like[name].shape or x.dtype.kind not in ("iu" if name in whole_numbers else "f")
            for name, x in given.items()
        ):
            raise StateError("what was saved is of another model")
        if any((given[name] < 0).any() for name in given.keys() & whole_numbers - {"due"}):
            raise StateError("what was saved has counts below zero")
        dropped, count = given["dropped"], int(given.get("n_dropped", 0))
        if count > len(dropped) or (dropped[:count] >= self.model.n_joints).any():
            raise StateError("what was saved has joints that this model does not have")
        flags = given["flags"]
        above = flags[self._assembly.up]
        active = flags[self._assembly.node_of] == CURRENT
        known = np.isin(flags, (0, CURRENT, CURRENT | HELD)).all()
        whole = above[(flags != 0) & (self._assembly.up >= 0)].all()
        if not (known and whole and active[self._moving(self._v)].all() and active[self._always()].all()):
            raise StateError(
                "what was saved is of another model, of another q and v, or of one that was asked for something else"
            )
        if not all(
            np.isfinite(given[name]).all() for name in ("kept_q", "kept_v", "time", "kept_time") if name in given
        ):
            raise StateError("what was saved has numbers that are not finite")
        return given

    def _poses_into(self, bodies: Ints, rows: Floats) -> None:
        self._energies()  # records the poses of the reduced bodies
        k.poses_kernel.load()(self._hybrid.address, bodies, rows)

    def _renew_joint(self, j: int) -> None:
        """The forces of a joint changed: update the rigid nodes above it immediately."""
        node = int(self._assembly.node_of[j])
        k.resettle_kernel.load()(self._hybrid.address, node)
