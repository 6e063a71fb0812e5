"""Adaptive dynamics [Redon, Galoppo and Lin 2005 (AD)]: a limited number of joints move, chosen by the body itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive import inspection, restoring
from supple.adaptive.camera import camera_weights
from supple.adaptive.hybrid import Hybrid
from supple.adaptive.loop_budget import refuse_too_few
from supple.adaptive.measures import LINKAGE_MEASURES, LinkageMeasure, of_adaptive_dynamics, said
from supple.adaptive.metrics import Metrics, Weights
from supple.adaptive.pushes import Pushes
from supple.adaptive.settings import ALL, REGION, Settings, checked_every, refuse_contacts, which_move
from supple.adaptive.simulated_body import SimulatedBody, view_of
from supple.adaptive.stats import AdaptiveStats as AdaptiveStats
from supple.adaptive.stats import stats_of
from supple.adaptive.turns import one_at_a_time
from supple.arguments import FLAG, NOT_NEGATIVE, POSITIVE, Count, NotNegative, Whole, checked, choice, read_only, take
from supple.contact.room import COLUMNS
from supple.contact.settings import Contacts, contacts_of
from supple.errors import StateError, quoted
from supple.integrating.closing import kept_closed
from supple.integrating.joint_law import controller_rows
from supple.integrating.states import checked_state
from supple.model.model import Model, count

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MEASURE = choice(*LINKAGE_MEASURES)
_CHUNK = 1024  #: steps between checks for a keyboard interrupt
MOST_STEPS = 1e15  #: in one run


@read_only(
    model="make another AdaptiveDynamics",
    order="make another AdaptiveDynamics",
    q="set_state(q, v) moves the joints",
    v="set_state(q, v) moves the joints",
    time="step(dt) and run(duration, dt) move on",
    active_joints="active, error and pin(joint) choose them",
    fixed="make another AdaptiveDynamics with active=[...]",
    error_measure="measure, guaranteed and the weights decide it",
    contacts="make another AdaptiveDynamics",
    sleeping="Contacts(sleep=...) and forces decide it",
    touches="they follow from the state",
)
@one_at_a_time("model", "q", "v", "time", "step", "run")
class AdaptiveDynamics(SimulatedBody):
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
    (or, absolute, [rad/s^2]). Where rounding does not allow that (forces in balance, light links that carry heavy
    ones), `stats.error` is larger, and still an upper bound. It holds for the accelerations that change the velocities,
    in the middle of the step. `error_measure` says what `error` is measured in, and measured_error(dt) measures it.

    Settings may be changed at any time: ad.active, ad.error, ad.update_every, ad.guaranteed, ...

    A step is a half drift, a kick and a half drift, with accelerations evaluated in the middle. It is of second order,
    with hardly any energy drift. It costs O(active joints + forces), independently of n.

    contacts: True lets bodies touch by the shapes of the model, supple.Contacts(ground=0.0) also a floor; joints are
    held within their limits. Steps in which something may touch are of first order, those of exact runs with contacts.
    Characters that lie still sleep, and cost nothing, until they are touched or pushed.

    Loops are kept closed, by the active joints alone. Joints that cannot move without others, of a four-bar linkage or
    of a relation, are chosen together or not at all, and each counts. Choosing joints then costs O(n), and so does
    every step with guaranteed=True.
    """

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
        contacts: Contacts | bool | None = None,
    ) -> None:
        super().__init__(model, Pushes(model))
        settings = Settings(
            **which_move(model, active, error, guaranteed),
            measure=measure,
            region=acceleration_region,
            every_asked=checked_every(update_every),
            check_energy=check_energy,
        )
        state = kept_closed(model, *checked_state(model, q, v))
        self._q = state[0]
        refuse_too_few(model, self._q, settings)
        metrics = Metrics(model, weights, velocity_weights)
        self._contacts = contacts_of(contacts, model, state[0])
        refuse_contacts(self._contacts, guaranteed)
        self._hybrid = Hybrid(model, order, state, settings, metrics, self._pushes, self._contacts)

    def __repr__(self) -> str:
        active = f"{len(self.active_joints):,} of {self.model.n_bodies:,} joints active"
        forces = count(len(self._pushes.acting), "force")
        least = "" if self.error is None else f", error allowed {said(self.error, self.error_measure)}"
        return f"<AdaptiveDynamics of {quoted(self.model.name)} under {forces}: {active}{least}, at {self.time:.6g} s>"

    def plot(self, path: str | Path | None = None) -> Any:
        """Plot the tree with its active joints in orange, as a matplotlib figure; saved if a path is given."""
        return self.model.plot(path, mark=self.active_joints)  # type: ignore[arg-type]

    # --- settings -------------------------------------------------------------------------------------------------

    @property
    def fixed(self) -> bool:
        """Whether the moving joints were fixed from the start, by a list."""
        return self._hybrid.settings.fixed

    @property
    def active(self) -> int | None:
        """How many joints may move, besides free roots; None: determined by the error. May be changed at any time."""
        most = self._hybrid.settings.most
        return None if most == ALL else most

    @active.setter
    def active(self, value: int) -> None:
        hybrid = self._hybrid
        settings = hybrid.settings.with_active(value)
        refuse_too_few(self.model, self._q, settings)
        hybrid.ask(settings)
        if hybrid.settings.all_fixed:
            hybrid.wake()
            hybrid.arrange()
            hybrid.mark_active(hybrid.active_joints)
            hybrid.memory.acceleration_rest = hybrid.memory.velocity_rest = 0.0

    @property
    def error(self) -> float | None:
        """The error allowed, in `measure`; None: determined by the number of joints. May be changed at any time."""
        settings = self._hybrid.settings
        return settings.error if settings.most == ALL else None

    @error.setter
    def error(self, value: float) -> None:
        self._hybrid.ask(self._hybrid.settings.with_error(value))

    @property
    def measure(self) -> str:
        """The measure of `error`: "relative-linkage" or "absolute-linkage". May be changed at any time."""
        return self._hybrid.settings.measure

    @measure.setter
    def measure(self, value: str) -> None:
        self._hybrid.ask(replace(self._hybrid.settings, measure=take("measure", value, MEASURE)))

    @property
    def error_measure(self) -> str:
        """What `error` measures: "relative-linkage velocity", "absolute-linkage acceleration [rad/s^2]"."""
        metrics, guaranteed = self._hybrid.metrics, self.guaranteed
        plain = metrics.given[0 if guaranteed else 1] is None
        return of_adaptive_dynamics(self.measure, guaranteed, "" if plain else metrics.source or "given")

    @property
    def update_every(self) -> int:
        """Number of steps between choices of the active joints. May be changed at any time."""
        return self._hybrid.settings.every

    @update_every.setter
    def update_every(self, value: int) -> None:
        before, settings = self._hybrid.settings, self._hybrid.settings.with_every(value)
        due = max(0, self._hybrid.memory.due + settings.every - before.every)  # counted from the last choice
        self._hybrid.ask(settings, due)

    @property
    def guaranteed(self) -> bool:
        """Whether the error of the accelerations is certified at every step. May be changed at any time, O(n)."""
        return self._hybrid.settings.guaranteed

    @guaranteed.setter
    def guaranteed(self, value: bool) -> None:
        hybrid, settings = self._hybrid, self._hybrid.settings.with_guaranteed(value)
        refuse_contacts(self._contacts, settings.guaranteed)
        if settings.guaranteed != hybrid.settings.guaranteed:
            with hybrid.unless_it_fails():
                hybrid.settings = settings
                hybrid.assemble(hybrid.active_joints)

    @property
    def acceleration_region(self) -> float | None:
        """How many joints are examined by their accelerations, or the acceleration error allowed; None: as for the
        active joints. May be changed at any time; has no effect with guaranteed=True."""
        return self._hybrid.settings.region

    @acceleration_region.setter
    def acceleration_region(self, value: float | None) -> None:
        region = None if value is None else take("acceleration_region", value, REGION)
        self._hybrid.ask(replace(self._hybrid.settings, region=region))

    @property
    def check_energy(self) -> bool:
        """Whether energy that grows without a source raises SimulationError. May be changed at any time."""
        return self._hybrid.settings.check_energy

    @check_energy.setter
    def check_energy(self, value: bool) -> None:
        settings = replace(self._hybrid.settings, check_energy=take("check_energy", value, FLAG))
        self._hybrid.ask(settings, self._hybrid.memory.due)

    @property
    def order(self) -> str | ArrayLike:
        """The order of the assembly tree."""
        return self._hybrid.order

    def set_state(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Set the state of all joints; everything is recomputed, O(n)."""
        hybrid, (x, y) = self._hybrid, kept_closed(self.model, *checked_state(self.model, q, v))
        with hybrid.unless_it_fails():
            hybrid.q[:], hybrid.v[:] = x, y
            hybrid.assemble()

    @checked
    def pin(self, joint: str | int, moves: bool | None = True) -> None:
        """Keep a joint always active (True), never active (False: it is locked, and stops if it moves), or neither
        (None).

        A moving joint is stopped by an impulse along it: the other active joints keep their momenta, and
        `stats.energy_removed` grows by the energy lost. Costs O(n).
        """
        part, hybrid = self.model.joints[joint], self._hybrid  # type: ignore[index]
        settings = hybrid.settings.with_pin(part.index, moves)
        with hybrid.unless_it_fails():
            hybrid.change_pins(settings, part.v if moves is False and hybrid.v[part.v].any() else None)

    @checked
    def set_weights(self, weights: Weights = None, velocity_weights: Weights = None) -> None:
        """Change the weights of the metrics; costs O(n)."""
        self._weigh(weights, velocity_weights)

    @property
    def weights(self) -> Weights:
        """The joints' weights in the acceleration metric, as given. May be changed at any time, O(n)."""
        return self._hybrid.metrics.given[0]

    @weights.setter
    def weights(self, value: Weights) -> None:
        self.set_weights(value, self.velocity_weights)

    @property
    def velocity_weights(self) -> Weights:
        """The joints' weights in the velocity metric, as given. May be changed at any time, O(n)."""
        return self._hybrid.metrics.given[1]

    @velocity_weights.setter
    def velocity_weights(self, value: Weights) -> None:
        self.set_weights(self.weights, value)

    def _weigh(self, weights: Weights, velocity_weights: Weights, source: str = "") -> None:
        hybrid, metrics = self._hybrid, Metrics(self.model, weights, velocity_weights, source)
        with hybrid.unless_it_fails():
            hybrid.weigh(metrics)

    def look_from(self, eye: ArrayLike, target: ArrayLike | None = None, **options: Any) -> None:
        """Weight joints by their effect on the image of a camera: see camera_weights, which takes the options. Errors
        are then in pixels. Costs O(n log n); call it again when the camera has moved."""
        weights = camera_weights(self.model, self._q, eye, target, **options)
        self._weigh(weights, weights, "camera")

    # --- forces of joints -----------------------------------------------------------------------------------------

    def torque(self, joint: str | int, value: ArrayLike) -> None:
        """Set a constant force at a joint from now on, in addition to all others: one number per degree of freedom."""
        part = self.model.joints[joint]  # type: ignore[index]
        self._hybrid.drives.torque(part, value)
        self._hybrid.wake(part.index)

    def controls(self, values: Mapping[str, float] | ArrayLike) -> None:
        """Set the controls of the model's actuators: by name, zero for those not named; or one number for each."""
        self._hybrid.drives.controls(values)
        self._hybrid.wake()

    def control(
        self,
        joint: str | int,
        stiffness: float,
        damping: float = 0.0,
        target: ArrayLike | None = None,
        rate: ArrayLike = 0.0,
        most: float = np.inf,
    ) -> None:
        """A proportional-derivative controller: the force stiffness (target - q) + damping (rate - v), limited to
        `most` in either direction, in addition to any torque. A joint has one controller: a new one replaces it.

        target: the current position by default. Only for joints whose coordinates are numbers, not for ball, planar and
        free joints. Costs nothing while the joint does not move.
        """
        part = self.model.joints[joint]  # type: ignore[index]
        aim = self._q[part.q] if target is None else target
        rows = controller_rows(self.model, part.index, stiffness, damping, aim, rate, most)
        self._hybrid.drives.control(part.index, rows)
        self._hybrid.wake(part.index)

    def limits(self, stiffness: float, damping: float = 0.0) -> int:
        """Apply the model's limits to all joints, as springs with dampers that push back and never pull; returns the
        number of joints with limits. Calling it again changes those springs.

        An inactive limit costs only a comparison, and nothing at all while the joint does not move.
        """
        count = self._hybrid.drives.limits(stiffness, damping)
        self._hybrid.wake()
        return count

    def joint_law(self, rows: Floats) -> None:
        """Add joint forces to all others that act there: rows of integrating/joint_law.py."""
        self._hybrid.drives.add(rows)
        self._hybrid.wake()

    # --- moving ---------------------------------------------------------------------------------------------------

    def step(self, dt: float) -> None:
        """Advance by dt."""
        dt = take("step: dt", dt, POSITIVE)
        with self._lock:
            self._hybrid.advance(1, dt)

    def run(self, duration: float, dt: float) -> AdaptiveStats:
        """Advance by a duration, in steps of dt (rounded to a whole number of steps)."""
        length, dt = take("run: duration", duration, NOT_NEGATIVE), take("run: dt", dt, POSITIVE)
        if not length / dt < MOST_STEPS:
            raise StateError(f"{length:g} s are more than {MOST_STEPS:g} steps of {dt:g} s; use longer or fewer steps")
        left = round(length / dt)
        while left > 0:
            count = min(left, _CHUNK)
            with self._lock:
                self._hybrid.advance(count, dt)
            left -= count
        return self.stats

    def update(self) -> None:
        """Choose the active joints in the next step, regardless of when they were last chosen."""
        self._hybrid.memory.due = 0

    def save(self) -> dict[str, NDArray[Any]]:
        """The data that, besides q, v and forces, determine how the run continues: the active joints, and the position
        between updates."""
        return restoring.with_state(self._hybrid.save(), self._hybrid.q, self._hybrid.v)

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Continue exactly as the object that saved this: one of the same model, at its q and v, with the same settings
        and forces. The results are bit-identical. To go back: set_state(q, v) to those of that time, then this. Costs
        O(n)."""
        hybrid = self._hybrid
        touches: dict[str, Any] = {}
        active = np.union1d(hybrid.moving, hybrid.never_rigid)
        if hybrid.touches is not None:
            touches, sleeping = hybrid.touches.checked(saved)
            active = np.setdiff1d(active, sleeping)
        given = restoring.of_adaptive_dynamics(saved, hybrid.save(), hybrid.assembly, active)
        restoring.refuse_another_state(saved, hybrid.q, hybrid.v)
        hybrid.restore(given | touches)

    # --- inspection -----------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        return self._hybrid.memory.time  # type: ignore[no-any-return]

    @property
    def v(self) -> Floats:
        """(nv,) joint velocities: a live, read-only view."""
        return view_of(self._hybrid.v)

    @property
    def active_joints(self) -> Ints:
        """The numbers of the joints that move."""
        return self._hybrid.active_joints

    @property
    def energy(self) -> float:
        """Kinetic and potential energy, J, as result.energy; costs O(active joints + forces), as does each of them."""
        return sum(self._hybrid.energies())

    @property
    def kinetic(self) -> float:
        """Kinetic energy, J."""
        return self._hybrid.energies().kinetic

    @property
    def potential(self) -> float:
        """Potential energy, J: of gravity, springs, controllers, limits, servos, and pushes that keep their direction
        in the world (minus force times position)."""
        return self._hybrid.energies().potential

    @property
    def contacts(self) -> Contacts | None:
        """What touches what, if anything does."""
        return self._contacts

    @property
    def sleeping(self) -> Ints:
        """The bodies with free joints at the roots of the trees that sleep: these are at rest, and cost nothing."""
        touches = self._hybrid.touches
        return np.zeros(0, dtype=np.int64) if touches is None else touches.sleeping

    @property
    def touches(self) -> Floats:
        """(k, 15) the contacts of the last step: two shapes by number, gap, point (3), normal (3), force on the first
        shape (3) and slip (3). result.contacts(i) has them by name, with the force between two shapes shared evenly.
        Contacts of sleeping characters that a call has woken since then are missing until the next step."""
        touches = self._hybrid.touches
        return np.zeros((0, COLUMNS)) if touches is None else touches.rows()

    @property
    def limit_forces(self) -> Floats:
        """(nv,) forces with which joint limits acted in the last step, on average over it, with contacts; zero at
        joints of characters that sleep."""
        touches = self._hybrid.touches
        return np.zeros(self.model.nv) if touches is None else touches.limit_forces()

    @property
    def stats(self) -> AdaptiveStats:
        self._hybrid.arrange()
        return stats_of(self._hybrid.memory, self._hybrid.settings, self.error_measure)

    def measured_error(self, dt: float) -> float:
        """The error of the accelerations of the next step, measured, in `measure`: the difference between a step of dt
        and one in which all joints move, neither of which is taken. Costs O(n).

        With guaranteed=True it is at most the error that the step certifies, up to what a step of dt itself leaves
        out."""
        dt = take("measured_error: dt", dt, POSITIVE)
        return inspection.measured_error(self, dt)

    def regions(self) -> dict[str, Ints]:
        """Joints by region [AD section 4.1]: "active", "rigid", "forced" (joined above a force), "passive"."""
        return inspection.regions(self._hybrid)

    def _pushes_changed(self, *bodies: int) -> None:
        self._hybrid.pushes_changed(*bodies)

    def _poses_into(self, bodies: Ints, rows: Floats) -> None:
        self._hybrid.poses_into(bodies, rows)
