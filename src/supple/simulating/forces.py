"""Forces that act on a body while it moves.

A force is any function of the state, with forces at joints or wrenches on bodies (functions.py). The forces below are
specified for a body or joint by name. They are bound to a model when a run begins, and again when an event changes the
model (carrying.py). They report the energy that they store, so that a run can distinguish energy from a spring from
energy that comes from nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive.acting import OnBody, Push, Spring, SpringBetween
from supple.adaptive.simulated_body import ends_of
from supple.arguments import NOT_NEGATIVE_OR_INFINITE, NotNegative, Row, as_floats, checked, shown
from supple.errors import StateError, quoted
from supple.exact.kinematics import poses, velocities
from supple.integrating import joint_law
from supple.integrating.model_law import Actuation, law_energy, passive_rows
from supple.integrating.push_law import (
    END,
    OWN_PUSH,
    PUSH,
    SPRING,
    Pushes,
    PushRow,
    push_energy_kernel,
    push_kernel,
)
from supple.model.model import Frame, Model, count, listed
from supple.simulating.functions import Force, by_joint, returned
from supple.simulating.state import lent, lent_to
from supple.spatial.pointing import Pointing

Floats = NDArray[np.float64]

SMALL = 500  #: number of bodies up to which states are best computed in batches


@checked
@dataclass(frozen=True)
class Controller:
    """A proportional-derivative controller, or a spring with a damper, at a joint with additive coordinates (not
    planar, ball or free): stiffness (target - q) + damping (rate - v), limited to `most` in either direction."""

    joint: str | int
    stiffness: NotNegative
    damping: NotNegative = 0.0
    target: Row = 0.0
    rate: Row = 0.0
    most: Annotated[float, NOT_NEGATIVE_OR_INFINITE] = np.inf

    def __repr__(self) -> str:
        which = quoted(self.joint) if isinstance(self.joint, str) else f"joint {self.joint}"
        gains = f"stiffness {self.stiffness:.4g}, damping {self.damping:.4g}, most {self.most:.4g}"
        return f"<Controller of {which}: {gains}, target {listed(self.target)}, rate {listed(self.rate)}>"


@checked
@dataclass(frozen=True)
class Limits:
    """The model's joint limits as stiff springs: beyond a limit, stiffness times the excess, and a damper that never
    pulls back. For the joints named, or for all that have limits."""

    stiffness: NotNegative
    damping: NotNegative = 0.0
    joints: Sequence[str | int] | None = None

    def __repr__(self) -> str:
        which = "all joints" if self.joints is None else count(len(self.joints), "joint")
        return f"<Limits of {which}: stiffness {self.stiffness:.4g}, damping {self.damping:.4g}>"


@checked
@dataclass(frozen=True)
class Controls:
    """The controls of the model's actuators (Model.actuators): by name, zero for those not named; one number for each;
    or a function of the state, as forces may be, that returns either."""

    values: Any

    def __repr__(self) -> str:
        return f"<Controls: {shown(self.values)}>"


class Forces(Pointing):
    """All forces on one model, to be evaluated at a time and state: those given, and the model's own."""

    _pointers = ("_law_of",)

    def __init__(self, model: Model, forces: Sequence[Any], tau: ArrayLike | Force | None) -> None:
        self.model = model
        self.constant = np.zeros(model.nv)
        self._point()
        pushes: list[OnBody] = []
        rows: list[Floats] = []
        passive: list[bool] = []
        self.functions: list[Force] = []
        controls: list[Any] = []
        for force in forces:
            if isinstance(force, OnBody):
                pushes.append(force)
            elif isinstance(force, Controller | Limits):
                rows.append(law_rows(model, force))
                passive += [isinstance(force, Limits)] * len(rows[-1])
            elif isinstance(force, Controls):
                controls.append(force.values)
            elif callable(force):
                self.functions.append(force)
            else:
                raise StateError(
                    "a force is a Push, Spring, SpringBetween, Controller, Limits, Controls or a function "
                    f"(time, q, v) or (state); not {shown(force)}"
                )
        if callable(tau):
            self.functions.append(tau)
        elif tau is not None:
            self.constant += joint_forces(model, tau)
        self._actuation = Actuation(model)
        self._steer: Callable[..., Any] | None = None  #: controls as a function
        servos, motors = self._actuation.at(self._controls_of(controls))
        if self._steer is None:
            self.constant += motors
        self.law = np.concatenate([*rows, passive_rows(model), servos])
        self._n_servos = len(servos)
        own = len(passive_rows(model))
        self._passive = np.array([*passive, *([True] * own), *([False] * len(servos))], dtype=bool)  #: rows of the law
        self.world = WorldForces(model, pushes) if pushes else None

    def _point(self) -> None:
        self._law_of = joint_law.law_kernel.load()

    def _controls_of(self, given: list[Any]) -> Floats:
        """The controls at the beginning; zero where a function gives them later."""
        if len(given) > 1:
            raise StateError("controls are given once: put them all into one Controls")
        if given and callable(given[0]):
            self._steer = given[0]
            return np.zeros(len(self._actuation.names))
        return self._actuation.controls(given[0] if given else {})

    def scale_pushes(self, scale: float) -> None:
        """Multiply every push by `scale`, relative to how it was given."""
        if self.world is not None:
            self.world.scale(scale)

    @property
    def at_joints_only(self) -> bool:
        """Whether compiled code can evaluate everything: constant forces and the law, at the joints."""
        return self.world is None and not self.functions and self._steer is None

    @property
    def conserve(self) -> bool:
        """Whether no force can add energy beyond what `energy` counts: springs and walls, but no motors, no pushes."""
        law = joint_law.by_name(self.law)
        motors, moving = (law["most"] < np.inf) & (law["stiffness"] > 0.0), law["damper"] * law["rate"] != 0.0
        pushed = self.world is not None and not self.world.conserve
        by_function = bool(self.functions) or self._steer is not None
        return not (by_function or self.constant.any() or (motors | moving).any() or pushed)

    @property
    def times(self) -> tuple[Floats, Floats]:
        """When each force on a body starts and stops."""
        return (np.zeros(0), np.zeros(0)) if self.world is None else self.world.times

    def __call__(self, time: float, q: Floats, v: Floats, within: float | None = None) -> tuple[Floats, Floats | None]:
        """tau and wrenches; None if there are none. within: the pushes are those of this time, an instant inside the
        step that is being taken."""
        tau, wrenches = self.apart_from_law(time, q, v, within)
        if len(self.law):
            tau = tau.copy()
            self._law_of(self.law.reshape(-1), q, v, tau)
        return tau, wrenches

    def apart(self, time: float, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats | None]:
        """tau in two parts: the forces applied, and the passive ones of springs, dry friction and limits; wrenches."""
        tau, wrenches = self.apart_from_law(time, q, v)
        applied, passive = tau.copy(), np.zeros(self.model.nv)
        for some, out in ((~self._passive, applied), (self._passive, passive)):
            self._law_of(self.law[some].reshape(-1), q, v, out)
        return applied, passive, wrenches

    def apart_from_law(
        self, time: float, q: Floats, v: Floats, within: float | None = None
    ) -> tuple[Floats, Floats | None]:
        """The same without the law of joints, which is that of this time afterwards."""
        wrenches = None if self.world is None else self.world(time if within is None else within, q, v)
        if not self.functions and self._steer is None:
            return self.constant, wrenches
        tau = self.constant.copy()
        if self._steer is not None:
            tau += self._steered(time, q, v)
        for function in self.functions:
            got = lent_to("force", function, function, time, time, lent(q), lent(v))
            x = returned(self.model, function, got, time)
            if x.ndim == 1:
                tau += x
            else:
                wrenches = x.copy() if wrenches is None else wrenches + x
        return tau, wrenches

    def _steered(self, time: float, q: Floats, v: Floats) -> Floats:
        """Puts the servos' aims of now into the law; returns the motors' forces."""
        assert self._steer is not None
        got = lent_to("force", self._steer, self._steer, time, time, lent(q), lent(v))
        self.law[len(self.law) - self._n_servos :], motors = self._actuation.at(self._actuation.controls(got))
        return motors

    def energy(self, q: Floats) -> Floats:
        """(B,) energy stored in springs and walls at positions q (B, nq); not in servos that a function moves."""
        own = len(self.law) - self._n_servos
        out = law_energy(self.law[:own], q)
        if self._steer is None:
            out += self._actuation.energy(self.law[own:], q)
        return out if self.world is None else out + self.world.energy(q)


class WorldForces:
    """Pushes and springs, evaluated together. A spring between two bodies has two rows."""

    def __init__(self, model: Model, forces: Sequence[OnBody]) -> None:
        ends = [end for force in forces for end in _ends(model, force)]
        self.model, self._given = model, PushRow.zeros(len(ends))
        for i, (row, (force, place, point, other)) in enumerate(zip(self._given, ends)):
            row["point"] = place.rotation @ np.asarray(point) + place.position
            if isinstance(force, Push):
                own = force.frame == "body"
                turn = place.rotation if own else np.eye(3)
                row["kind"] = OWN_PUSH if own else PUSH
                row["vector"], row["moment"] = turn @ np.asarray(force.force), turn @ np.asarray(force.torque)
                continue
            row["stiffness"], row["damping"], row["length"] = force.stiffness, force.damping, force.length
            if isinstance(force, Spring):
                row["kind"], row["vector"] = SPRING, force.anchor
            else:
                row["kind"], row["pulls"], row["other"] = END, force.pulls_only, i + other
        self._bodies = np.array([end.place.body for end in ends], dtype=np.int64)
        self._rows = self._given.copy()
        start = np.array([getattr(end.force, "start", 0.0) for end in ends])
        stop = np.array([getattr(end.force, "stop", np.inf) for end in ends])
        self._pushes = Pushes.of(rows=self._rows, bodies=self._bodies, start=start, stop=stop, count=len(ends))
        self.times = start, stop
        works = (self._given["kind"] == OWN_PUSH) | (start > 0.0) | (stop < np.inf)
        self.conserve = not (self._given["moment"].any() or self._given["vector"][works].any())
        self._damped = bool(self._given["damping"].any())

    def scale(self, scale: float) -> None:
        """Multiply every push by `scale`, relative to how it was given; springs are unchanged."""
        pushes = np.isin(self._given["kind"], (PUSH, OWN_PUSH))
        for name in ("vector", "moment"):
            self._rows[name][pushes] = scale * self._given[name][pushes]

    def __call__(self, time: float, q: Floats, v: Floats) -> Floats:
        """(n_bodies, 6)"""
        R, X = self._poses(q)
        V = velocities(self.model, q, v).spatial[self._bodies] if self._damped else np.zeros((len(X), 6))
        out = np.zeros((self.model.n_bodies, 6))
        push_kernel.load()(self._pushes.address, time, R.reshape(-1, 9), X, V, out)
        return out

    def _poses(self, q: Floats) -> tuple[Floats, Floats]:
        """Poses of the bodies that are pushed, in states q."""
        pose = poses(self.model, q)
        return pose.rotation[..., self._bodies, :, :], pose.position[..., self._bodies, :]

    def energy(self, q: Floats) -> Floats:
        """(B,) energy of springs, and of constant world-frame forces on points, which is -force · point; pushes that
        do not act all the time have none."""
        R, X = each_state(self.model, q, self._poses)
        out = np.empty(len(q))
        push_energy_kernel.load()(self._pushes.address, R.reshape(-1, 9), X.reshape(-1, 3), out)
        return out


class _End(NamedTuple):
    """Where a force acts."""

    force: OnBody
    place: Frame
    point: Any  #: there
    other: int  #: from here to the other end of a spring between two bodies


def _ends(model: Model, force: OnBody) -> list[_End]:
    if not isinstance(force, SpringBetween):
        return [_End(force, model.moving_place(force.body), force.point, 0)]
    first, second = ends_of(model, force.body, force.other)
    return [_End(force, first, force.point, 1), _End(force, second, force.other_point, -1)]


def each_state(model: Model, q: Floats, call: Callable[..., tuple[Floats, ...]], *more: Floats) -> tuple[Floats, ...]:
    """Results of a call for states (B, nq): in one batch for a small body, one by one for a large one, where that is
    faster. The choice depends on the model only, so that a state gives bit-identical results in any batch."""
    if model.n_bodies <= SMALL:
        return call(q, *more)
    return tuple(np.stack(x) for x in zip(*(call(*row) for row in zip(q, *more))))


def law_rows(model: Model, force: Controller | Limits) -> Floats:
    """A force at joints in the form of integrating/joint_law.py."""
    if isinstance(force, Limits):
        return joint_law.limit_rows(model, force.stiffness, force.damping, force.joints)
    c = force
    return joint_law.controller_rows(model, c.joint, c.stiffness, c.damping, c.target, c.rate, c.most)


def joint_forces(model: Model, tau: Any) -> Floats:
    """(nv,) a constant tau, given as an array or by joint."""
    x = by_joint(model, tau, "tau") if isinstance(tau, Mapping) else as_floats("tau", tau)
    if x.shape != (model.nv,) or not np.isfinite(x).all():
        raise StateError(
            f"tau must be {model.nv} finite numbers, forces by joint {{name: force}}, or a function (time, q, v) or "
            "(state)"
        )
    return x
