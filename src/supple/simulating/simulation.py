"""A run: what is simulated, how, and its current state."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive.dynamics import AdaptiveDynamics
from supple.adaptive.quasistatics import QuasiStatics
from supple.arguments import FINITE, FLAG, Count, Kind, Positive, Seconds, checked, choice, number, read_only, take
from supple.contact.ground import only_plane, upwards
from supple.contact.room import COLUMNS
from supple.contact.settings import Contacts, contacts_of
from supple.errors import StateError, printable, quoted
from supple.integrating.closing import closed_at_first
from supple.model.model import Model, count, span
from supple.simulating import drivers
from supple.simulating.carrying import carried, carried_contacts
from supple.simulating.contacts import renumbered, world_last
from supple.simulating.divergence import energy_grew
from supple.simulating.drivers import Cursor, Grid, Piece
from supple.simulating.dynamics import EXACT, Dynamics, EnergyGuard
from supple.simulating.events import Event, Happened
from supple.simulating.faults import ContactFaults
from supple.simulating.following import Following
from supple.simulating.forces import Push
from supple.simulating.integrators import FIXED, Adaptive
from supple.simulating.marching import march
from supple.simulating.names import progress_unit, when
from supple.simulating.sharing import share_evenly
from supple.simulating.starting import first_position
from supple.simulating.state import State, checked_state
from supple.simulating.stiffness import Stiffness, stiffest
from supple.simulating.timed_pushes import TimedPushes
from supple.simulating.watch import Watch

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

INTEGRATORS = (*FIXED, "dop853")
TOLERANCE = 1e-9  #: relative and absolute tolerance of integrator "dop853", unless given
LONGEST = 100  #: largest number of states kept in a step of "dop853"; those between are interpolated
MOST_STEPS = 1e15  #: beyond this, the times of successive steps are the same number


class Own(NamedTuple):
    """A method with its own stepper: how the stepper is made, from model, q, v and options, and which options."""

    make: Callable[..., drivers.Stepper]
    options: tuple[str, ...]

    @property
    def defaults(self) -> dict[str, Any]:
        """Default values of the options, except those that default to None."""
        takes = signature(self.make).parameters
        known = {name: takes[name].default for name in self.options if name in takes}
        return {name: x for name, x in known.items() if x is not None and x is not Parameter.empty}


@wraps(QuasiStatics, updated=())
def _quasi_statics(model: Model, q: Floats, v: Floats, **options: Any) -> QuasiStatics:
    return QuasiStatics(model, q, **options)


OWN = {
    "quasi-statics": Own(_quasi_statics, ("error", "measure", "order")),
    "adaptive": Own(
        AdaptiveDynamics,
        (
            "active",
            "error",
            "measure",
            "update_every",
            "acceleration_region",
            "weights",
            "velocity_weights",
            "guaranteed",
            "order",
        ),
    ),
}


def _method(value: Any) -> str:
    """One of the methods available now: entries may have been added to OWN."""
    name: str = choice(*EXACT, *OWN).form(value)
    return name


Method = Annotated[str, Kind(choice(*EXACT, *OWN).wanted, _method)]
Integrator = Annotated[str, choice(*INTEGRATORS)]
Duration = Annotated[float, number("a finite number of seconds >= 0", 0.0)]


@dataclass
class Sample:
    """A piece of a run, with the quantities computed from its states."""

    piece: Piece
    kinetic: Floats
    potential: Floats
    joint_wrenches: Floats | None
    joint_forces: Floats | None = None

    def __repr__(self) -> str:
        p = self.piece
        return f"<Sample of {quoted(p.model.name)}: {count(len(p.times), 'state')}{span(p.times)}>"

    def until(self, row: int) -> Sample:
        """The rows before `row`."""
        p, w, f = self.piece, self.joint_wrenches, self.joint_forces
        active, error = None if p.active is None else p.active[:row], None if p.error is None else p.error[:row]
        touches = None if p.touches is None else p.touches[:row]
        piece = Piece(p.model, p.times[:row], p.q[:row], p.v[:row], active, error, touches=touches)
        carried, forces = None if w is None else w[:row], None if f is None else f[:row]
        return Sample(piece, self.kinetic[:row], self.potential[:row], carried, forces)


@read_only(
    **dict.fromkeys(
        (
            "method",
            "integrator",
            "model",
            "dt",
            "every",
            "duration",
            "forces",
            "tau",
            "joint_wrenches",
            "joint_forces",
            "contacts",
            "rtol",
            "atol",
        ),
        "a run goes on as it was begun; make another Simulation",
    ),
    time="iterating moves on",
    stepper="the method decides it",
    push_scale="scale_pushes(scale) changes it",
)
class Simulation:
    """A run that is about to begin, or under way: iterate over its states, or over its samples (`samples`).

        for state in supple.Simulation(model, q, v, dt=1e-3):
            ...

    It continues forever unless a duration is given. `simulate` takes the same settings, runs to the end and keeps the
    states; its docstring describes the settings.
    """

    @checked
    def __init__(
        self,
        model: Model,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        *,
        duration: Duration | None = None,
        dt: Seconds = 1e-3,
        integrator: Integrator | None = None,
        method: Method = "aba",
        forces: Any = (),
        tau: ArrayLike | Mapping[str, Any] | Callable[..., Any] | None = None,
        events: Iterable[Event] | Event = (),
        every: Count = 1,
        rtol: Positive | None = None,
        atol: Positive | None = None,
        joint_wrenches: bool = False,
        joint_forces: bool = False,
        check_energy: bool = True,
        contacts: Contacts | bool | None = None,
        **options: Any,
    ) -> None:
        self._method, self._model = method, model
        self._integrator = _integrator(method, integrator)
        end = np.inf if duration is None else duration
        if MOST_STEPS * dt < end < np.inf:
            raise StateError(f"{end:g} s are more than {MOST_STEPS:g} steps of {dt:g} s; use longer or fewer steps")
        self.grid = Grid(dt, min(every, int(MOST_STEPS)), end)
        self.events: list[Happened] = []
        self._joint_wrenches, self._joint_forces, self._check_energy = joint_wrenches, joint_forces, check_energy
        self._forces, self._tau = (forces,) if not isinstance(forces, Sequence) else tuple(forces), tau
        self._watch = Watch(events, self.dt)
        q, v = checked_state(model, first_position(model) if q is None else q, v)
        q, v = closed_at_first(model, q, v)
        self.cursor = Cursor(model, q, v, h=dt, checked=check_energy)
        self._contacts = contacts_of(contacts, model, q)
        self._refuse_contacts()
        self._adaptive: Adaptive | None = None
        if self.integrator == "dop853":
            rtol, atol = (TOLERANCE if x is None else x for x in (rtol, atol))
            longest = min(LONGEST * self.dt * self.grid.every, self._watch.longest)
            self._adaptive = Adaptive(rtol, atol, self.dt, longest=longest)
        elif rtol is not None or atol is not None:
            raise StateError("rtol and atol are for integrator 'dop853'; steps of fixed length have none")
        self._resumed = False
        self._made: deque[Dynamics] = deque(maxlen=2)  #: the driver's and our own; an event creates new ones
        self._push_scale, self._rescaled = 1.0, False
        self.guard: EnergyGuard | None = None  #: of the current segment
        self.steered = False  #: whether the run was changed from outside while under way; its events say how
        self._pushes = TimedPushes((), dt)  #: on the stepper
        self._stepper: Any = None
        self.rods: Floats | None = (
            None  #: (n_bodies, 2, 3) points between which bodies are drawn, if a scene specifies them
        )
        #: (4,) normal and height of a plane on which bodies stand, if there is one
        self.ground: Floats | None = None
        if self._contacts is not None and self._contacts.ground is not None:
            self.ground = np.append(upwards(model), self._contacts.ground)
        elif self._contacts is not None:
            self.ground = only_plane(model)
        self._options = options
        takes = OWN[method].options if method in OWN else ()
        for name in options:
            if name not in takes:
                owners = [other for other, own in OWN.items() if name in own.options]
                if owners:
                    others = f"method{'s'[: len(owners) != 1]} {' and '.join(map(repr, owners))}"
                    raise StateError(
                        f"{name} is for {others}, this run uses {method!r}: "
                        f"give method={owners[-1]!r}, or leave {name} out"
                    )
                near = get_close_matches(name, [*signature(Simulation).parameters, *takes], n=1)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise StateError(
                    f"method {method!r} takes no {name}{hint}; besides the common settings it has {_list(takes)}"
                )
        if method in OWN:
            self._refuse_for_own(v)
            self._make_stepper()
        self._shape_names: list[str] = []
        self._places: Ints | None = None  #: there of the shapes of the present model, if these are not the first ones
        self._go_on_with(model)  # bad shapes are refused here
        self._stiffness: Stiffness | None = None  #: why the integrator is implicit, if that was not asked for
        if integrator is None and method == "aba":
            stiff = stiffest(model, self._dynamics.forces.law, q)
            if stiff is not None and stiff.too_stiff(dt):
                self._integrator, self._stiffness = "implicit", stiff
                logging.getLogger("supple").info("%s", printable(f"{model.name}: {self.why_implicit}"))

    def __copy__(self) -> Simulation:
        """A copy that continues independently from here."""
        return deepcopy(self, {id(self.model): self.model})

    @property
    def method(self) -> str:
        return self._method

    @property
    def integrator(self) -> str:
        """Its name; empty if the method has its own stepper."""
        return self._integrator

    @property
    def why_implicit(self) -> str | None:
        """Why the integrator is "implicit", if none was given; else None."""
        return None if self._stiffness is None else f"stiff: {self._stiffness}; integrator 'implicit' is used"

    @property
    def model(self) -> Model:
        """The model at the beginning; an event may have replaced it since."""
        return self._model

    @property
    def dt(self) -> float:
        return self.grid.dt

    @property
    def every(self) -> int:
        return self.grid.every

    @property
    def duration(self) -> float:
        """Infinite if none was given."""
        return self.grid.end

    @property
    def forces(self) -> tuple[Any, ...]:
        return self._forces

    @property
    def tau(self) -> Any:
        return self._tau

    @property
    def joint_wrenches(self) -> bool:
        return self._joint_wrenches

    @property
    def joint_forces(self) -> bool:
        return self._joint_forces

    @property
    def contacts(self) -> Contacts | None:
        """What touches what, if anything does."""
        return self._contacts

    @property
    def shape_names(self) -> list[str] | None:
        """The names of the shapes that may touch, the ground's among them. If events change the model, those of later
        models follow."""
        return None if self._contacts is None else list(self._shape_names)

    def within_each_other(self) -> list[tuple[str, str, float]]:
        """Names of shapes that are inside each other now, deeper than a step may leave them, and how deep in metres,
        the deepest first. Steps move them apart, which changes the energy."""
        return [] if self._contacts is None else self._dynamics.room.within_each_other(self.cursor.q)

    @property
    def contact_faults(self) -> dict[str, float] | None:
        """By how much steps missed what contacts promise, so far, as in result.about; None without contacts."""
        if self._contacts is None:
            return None
        faults = self.cursor.faults
        if isinstance(self._stepper, AdaptiveDynamics):
            stats = self._stepper.stats
            faults = ContactFaults(stats.rough, stats.overlap, stats.energy_gain, stats.relaxed, stats.relaxed_fault)
        return faults.save()

    @property
    def check_energy(self) -> bool:
        """Whether the run stops if it diverges: if energy grows although nothing supplies any, or joints become faster
        and faster. If not, it goes on while numbers are finite. May be changed at any time."""
        return self._check_energy

    @check_energy.setter
    def check_energy(self, value: bool) -> None:
        self._check_energy = take("check_energy", value, FLAG)
        self.guard, self.cursor.checked = self.guard if value else None, self._check_energy
        if isinstance(self._stepper, AdaptiveDynamics):
            self._stepper.check_energy = value

    @property
    def rtol(self) -> float | None:
        return None if self._adaptive is None else self._adaptive.rtol

    @property
    def atol(self) -> float | None:
        return None if self._adaptive is None else self._adaptive.atol

    @property
    def time(self) -> float:
        """Current time, in seconds."""
        return self.cursor.time

    @property
    def stepper(self) -> Any:
        """The QuasiStatics or AdaptiveDynamics object that steps, whose settings may be changed; None for other
        methods."""
        return self._stepper

    @property
    def push_scale(self) -> float:
        """Factor by which every supple.Push is scaled."""
        return self._push_scale

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the run, as words and numbers."""
        out: dict[str, Any] = {"method": self.method, "integrator": self.integrator}
        out |= {"dt": self.dt, "every": self.grid.every, "duration": self.grid.end}
        out["progress_unit"] = progress_unit(out)
        if self._adaptive is not None:
            out |= {"rtol": self._adaptive.rtol, "atol": self._adaptive.atol}
        if self._measure is not None:
            out["error_measure"] = self._measure
        if self._contacts is not None:
            out["shapes"] = self.shape_names
        return out | {name: value for name, value in self._options.items() if value is not None}

    @property
    def _measure(self) -> str | None:
        """The measure of the error."""
        return getattr(self._stepper, "error_measure", None)

    def when(self, time: float) -> str:
        """A time of the run in words: "0.25 s", or "250 steps" of quasi-statics."""
        return when(time, {"method": self.method, "dt": self.dt})

    def measured_error(self) -> float | None:
        """The error of leaving out joints in the next step, measured, in the measure of accelerations of the method;
        None if it leaves out none. Costs O(n)."""
        if isinstance(self._stepper, AdaptiveDynamics):
            return self._stepper.measured_error(self.dt)
        return self._stepper.measured_error() if isinstance(self._stepper, QuasiStatics) else None

    @property
    def given(self) -> dict[str, Any]:
        """Whatever else determines the run: settings of the method left at their defaults, forces and events as given,
        and what is checked and kept."""
        defaults = OWN[self.method].defaults if self.method in OWN else {}
        unsaid = {name: x for name, x in defaults.items() if self._options.get(name) is None}
        if self.method == "adaptive" and self._options.get("error") is not None:
            unsaid["error_measure"] = self._measure  # determines what the number means
        out: dict[str, Any] = unsaid | {"forces": self._forces, "tau": self._tau, "events": self._watch.events}
        kept: dict[str, Any] = {"joint_forces": True} if self.joint_forces else {}  # as before there were any
        kept |= {} if self._contacts is None else {"contacts": self._contacts}
        return out | {"joint_wrenches": self.joint_wrenches, "check_energy": self._check_energy} | kept

    def __iter__(self) -> Iterator[State]:
        """The states, including the first one."""
        return Following(sample.piece.state(i) for sample in self.samples() for i in range(len(sample.piece.times)))

    def samples(self) -> Iterator[Sample]:
        """The run piece by piece, starting at the cursor; the cursor's own state comes first, unless the run is
        resumed.

        When an error is raised, everything before it has been yielded, and the error has the last good state.
        """
        return Following(self._samples())

    def _samples(self) -> Iterator[Sample]:
        if self._adaptive is not None:
            self._adaptive.h = self.cursor.h
        good = self.cursor.state
        if not self._resumed:
            first = self._first()
            self.guard = self._new_guard(first)
            yield first
        for piece in self._pieces():
            if piece.model is not self._dynamics.model:
                self._go_on_with(piece.model)
            self.events += piece.happened
            sample = self._sample(piece)
            if len(piece.times):  # empty if an event ends a segment whose states were all yielded before
                self.guard = self.guard or self._new_guard(sample)
                bad = None if self.guard is None else self.guard.check(sample.kinetic, sample.potential)
                if bad is not None:
                    yield sample.until(bad)
                    last = piece.state(bad - 1) if bad else good
                    raise energy_grew(self._dynamics, piece.state(bad), last, self.dt, self.integrator)
                good = piece.state(-1)
            self.guard = None if piece.ends_segment else self.guard
            yield sample
            self.guard, self._rescaled = None if self._rescaled else self.guard, False

    def _new_guard(self, sample: Sample) -> EnergyGuard | None:
        f, p = self._dynamics, sample.piece
        if not (self._check_energy and self.stepper is None and f.forces.conserve):
            return None
        if self._contacts is not None and f.room.overlaps(p.q[0]):
            return None  # moving shapes apart lifts them
        return EnergyGuard(f, p.q[0], float(sample.kinetic[0]), float(sample.potential[0]))

    def _first(self) -> Sample:
        c = self.cursor
        piece = Piece(c.model, np.array([c.time]), c.q[None].copy(), c.v[None].copy())
        if self._contacts is not None:
            piece.touches, piece.limits = [np.zeros((0, COLUMNS))], [np.zeros(c.model.nv)]
        if self.stepper is not None:
            active, error = drivers.how_exact(self.stepper)
            piece.active, piece.error = (
                None if active is None else [active],
                None if error is None else np.array([error]),
            )
        return self._sample(piece)

    def _pieces(self) -> Iterator[Piece]:
        c, f, grid = self.cursor, self._dynamics, self.grid
        if self.stepper is not None:
            return drivers.own_steps(c, self.stepper, grid, self._pushes)
        plain = f.forces.at_joints_only and not self._watch.events and c.on(grid) and self._contacts is None
        if plain and self.method == "aba" and self.integrator in FIXED:
            return march(c, f, grid, self.integrator)
        return drivers.stepping(c, f, grid, self.integrator, self._watch, self._adaptive, self._renewed)

    def _go_on_with(self, model: Model) -> None:
        """Reports states of this model from now on."""
        self._dynamics = self._renewed(model)
        if self._contacts is None:
            return
        names = [x.name for x in self._dynamics.room.shapes]
        self._shape_names = list(dict.fromkeys(self._shape_names + names))
        place = {name: i for i, name in enumerate(self._shape_names)}
        places = np.array([place[name] for name in names], dtype=np.int64)
        self._places = None if (places == np.arange(len(places))).all() else places

    def _renewed(self, model: Model) -> Dynamics:
        """The same method and forces for another model."""
        forces, tau = carried(self.model, model, self._forces, self._tau)
        contacts = carried_contacts(self.model, model, self._contacts)
        made = Dynamics(model, "aba" if self.method in OWN else self.method, forces, tau, contacts)
        made.forces.scale_pushes(self.push_scale)
        self._made.append(made)
        return made

    def _make_stepper(self) -> None:
        c = self.cursor
        watched: dict[str, Any] = {}
        if self.method == "adaptive":
            watched = {"check_energy": self._check_energy, "contacts": self._contacts}
        self._stepper = OWN[self.method].make(c.model, c.q, c.v, **self._options, **watched)
        pushes = drivers.load_stepper(self._stepper, self._forces, self._tau)
        self._pushes = TimedPushes(pushes, self.dt, whole_steps=not hasattr(self._stepper, "v"))
        self._pushes.restore(c.time)
        if isinstance(self.stepper, QuasiStatics):
            self.stepper._solver.time, self.stepper._solver.steps = c.time, c.step
            if c.model.stiffness.any() or c.model.friction.any() or c.model.actuator_list:
                logging.getLogger("supple").warning(
                    "quasi-statics does not know springs, dry friction and actuators of joints: they do not act"
                )

    @property
    def may_stop(self) -> bool:
        """Whether events may end it before its duration is over."""
        return bool(self._watch.events)

    @property
    def has_pushes(self) -> bool:
        """Whether there is a supple.Push among the forces."""
        return any(isinstance(force, Push) for force in self._forces)

    def halt(self) -> None:
        """Stop after the current step, so that nothing is half done."""
        self.cursor.halt = True

    def scale_pushes(self, scale: float) -> None:
        """From the next step on, every supple.Push is multiplied by `scale`."""
        self._push_scale, self._rescaled = take("the scale of pushes", scale, FINITE), True
        for made in self._made:
            made.forces.scale_pushes(self._push_scale)
        self._pushes.scale(self._push_scale)

    def resume(
        self,
        cursor: Cursor,
        saved: dict[str, NDArray[Any]],
        guard: dict[str, float] | None = None,
        shapes: list[str] | None = None,
    ) -> None:
        """Continue from another run's cursor, bit-identically to that run. saved: what its stepper saved.
        guard: what its guard saved. shapes: its shape_names."""
        self.cursor, self._resumed, self._shape_names = cursor, True, shapes or self._shape_names
        cursor.checked = self._check_energy
        self.guard = EnergyGuard.restored(guard) if guard and self._check_energy else None
        if self.stepper is not None:
            self._make_stepper()
            if saved:
                self.stepper.restore(saved)
        if cursor.model is not self._dynamics.model:
            self._go_on_with(cursor.model)

    def _sample(self, piece: Piece) -> Sample:
        f = self._dynamics
        if not len(piece.times):
            carried = np.zeros((0, piece.model._n_carrying, 6)) if self.joint_wrenches else None
            forces = np.zeros((0, 3, piece.model.nv)) if self.joint_forces else None
            return Sample(piece, np.zeros(0), np.zeros(0), carried, forces)
        if piece.touches is not None:
            piece.touches = share_evenly([world_last(rows, f.fixed_shapes) for rows in piece.touches], f.friction)
        kinetic, potential = f.energies(piece.q, piece.v)
        states = piece.times, piece.q, piece.v, piece.touches, piece.limits
        wrenches = f.joint_wrenches(*states) if self.joint_wrenches else None
        forces = f.joint_forces(*states) if self.joint_forces else None
        if piece.touches is not None and self._places is not None:
            piece.touches = [renumbered(rows, self._places) for rows in piece.touches]
        return Sample(piece, kinetic, potential, wrenches, forces)

    def _refuse_contacts(self) -> None:
        if self._contacts is None:
            return
        if self.method not in ("aba", "adaptive") or self.integrator == "dop853":
            how = "integrator='dop853'" if self.method == "aba" else f"method={self.method!r}"
            raise StateError(f"contacts need method 'aba' or 'adaptive' and steps of fixed length: leave {how} out")

    def _refuse_for_own(self, v: Floats) -> None:
        if self._watch.events:
            raise StateError(f"method {self.method!r} takes no events; an exact method does")
        if self.method == "quasi-statics" and v.any():
            raise StateError("quasi-statics moves bodies that are at rest: leave v out")
        if self.method == "quasi-statics" and self.joint_forces:
            raise StateError("quasi-statics knows no forces of motors, springs and friction: leave joint_forces out")

    def __repr__(self) -> str:
        how = f"{self.method}, {self.integrator}" if self.integrator else self.method
        when = self.when(self.cursor.time)
        return f"<Simulation of {quoted(self.cursor.model.name)} at {when}: {how}, dt={self.dt:g}>"


def _integrator(method: str, integrator: str | None) -> str:
    if method in OWN:
        if integrator is not None:
            others = ", ".join(EXACT)
            raise StateError(
                f"method {method!r} steps in its own way: leave the integrator out, or take another method ({others})"
            )
        return ""
    if integrator == "implicit" and method != "aba":
        raise StateError(
            f"integrator 'implicit' steps by the articulated-body algorithm, not by method {method!r}: leave the "
            "method out, or take another integrator"
        )
    return "rk4" if integrator is None else integrator


def _list(words: Sequence[str]) -> str:
    return ", ".join(words) or "nothing"
