"""The acceleration of a model under its forces, by any exact method: what integrators evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.contact.room import ContactRoom
from supple.contact.settings import Contacts
from supple.errors import SimulationError, StateError, SuppleError
from supple.exact.energy import KINETIC, POTENTIAL, TOTALS
from supple.exact.forward import Method, forward_dynamics
from supple.exact.inverse import inverse_dynamics
from supple.exact.joint_wrenches import joint_wrenches
from supple.exact.kinematics import poses
from supple.exact.with_loops import were_redundant
from supple.integrating.chart import chart
from supple.integrating.closing import Closing
from supple.integrating.friction import friction_rows, jumps_kernel
from supple.integrating.implicit import ImplicitRoom
from supple.integrating.runge_kutta import RK4, dop853
from supple.integrating.stages import StepRoom
from supple.model.model import Model, unknown
from supple.simulating.carrying import Carrying
from supple.simulating.contacts import NOWHERE, renumbered, touch_wrenches
from supple.simulating.forces import Forces, each_state
from supple.simulating.functions import Force
from supple.simulating.state import State
from supple.spatial.pointing import Pointing

Floats = NDArray[np.float64]
EXACT: tuple[str, ...] = get_args(Method)
#: Energy that may appear without work before a run is stopped: a fraction of all energy seen to change form, and of the
#: work of gravity over the body's size.
FROM_NOWHERE, BY_GRAVITY = 0.5, 0.05


class Steps(dict[str, StepRoom]):
    """The memory of steps by integrator, for as long as the forces act: another run has its own."""

    def __init__(self, model: Model, law: Floats, contacts: Contacts | None) -> None:
        self._model, self._law, self._contacts = model, law, contacts

    def __missing__(self, integrator: str) -> StepRoom:
        self[integrator] = room = self._new(integrator)
        return room

    def _new(self, integrator: str) -> StepRoom:
        if integrator == "contacts":
            assert self._contacts is not None
            return ContactRoom(self._model, self._law, self._contacts)
        if integrator == "implicit":
            return ImplicitRoom(self._model, self._law)
        return StepRoom(self._model, dop853() if integrator == "dop853" else RK4)


class Dynamics(Pointing):
    """A model, its forces and a method of forward dynamics."""

    _pointers = ("chart", "steps")

    def __init__(
        self,
        model: Model,
        method: str,
        forces: Sequence[Any] = (),
        tau: ArrayLike | Force | None = None,
        contacts: Contacts | None = None,
    ) -> None:
        if method not in EXACT:
            raise StateError(unknown("method", method, EXACT))
        self.model, self.method, self.contacts = model, method, contacts
        self.forces = Forces(model, forces, tau)
        self._closing = None if model.is_tree else Closing(model)
        self._friction = friction_rows(self.forces.law).reshape(-1)
        self._point()

    def _point(self) -> None:
        self.chart = chart(self.model)
        self.steps = Steps(self.model, self.forces.law, self.contacts)

    @property
    def room(self) -> ContactRoom:
        """The memory of steps in which bodies touch."""
        room = self.steps["contacts"]
        assert isinstance(room, ContactRoom)
        return room

    @cached_property
    def fixed_shapes(self) -> NDArray[np.bool_]:
        """Whether each shape of the room is fixed to the world."""
        return np.array([x.body < 0 for x in self.room.shapes], dtype=bool)

    @cached_property
    def friction(self) -> Floats:
        """The coefficient of friction of each shape of the room, negative where none is given."""
        return np.array(self.room.scene.shapes["friction"])

    def closed(self, time: float, state: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """q and v with loops closed, if there are any."""
        return state if self._closing is None else self._closing(time, state)

    def acceleration(self, time: float, q: Floats, v: Floats, within: float | None = None) -> Floats:
        """(nv,) as returned by forward_dynamics; errors state the time and the joint. within: an instant inside the
        step that is being taken, whose pushes act.

        Stages of a step are a little beside the positions in which loops are closed. Rows that are redundant there are
        not here, so that accelerations are those of the nearest state with closed loops."""
        if self._closing is None:
            return self._acceleration(time, q, v, within)
        if self.method == "aba":
            found = self._acceleration(time, q, v, within)
            if not were_redundant(self.model):
                return found
        return self._acceleration(time, *self._closing(time, (q, v)), within)

    def _acceleration(self, time: float, q: Floats, v: Floats, within: float | None) -> Floats:
        tau, wrenches = self.forces(time, q, v, within)
        try:
            return forward_dynamics(self.model, q, v, tau, wrenches, self.method)  # type: ignore[arg-type]
        except (StateError, ArithmeticError) as e:
            given = tau if wrenches is None else np.append(tau, wrenches)
            cause = OverflowError(str(e)) if isinstance(e, StateError) and np.isfinite(given).all() else e
            raise SimulationError(f"at time {time:.6g} s: {e}", time) from cause

    def friction_jumps(self, *velocities: Floats) -> bool:
        """Whether dry friction jumps between velocities that follow each other in a step."""
        if not len(self._friction):
            return False
        jumps = jumps_kernel.load()
        return any(jumps(self._friction, u, w) for u, w in pairwise(velocities))

    def require(self, taken: bool, time: float, q: Floats, v: Floats) -> None:
        """Raises an error, unless a step could be taken: the one of accelerations at the step's beginning, if there is
        one."""
        if not taken:
            self.acceleration(time, q, v)
            raise SimulationError(f"a step from {time:.6g} s cannot be taken: the forces within it are too large", time)

    def energies(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """(B,) kinetic and potential energy of states (B, nq), (B, nv): of gravity, springs, walls and constant pushes;
        bit-identical for a state in any batch."""
        (totals,) = each_state(self.model, q, lambda q, v: (TOTALS.general(self.model, q, v, None, None),), v)
        kinetic = totals[:, KINETIC] + 0.5 * (self.model.armature * v * v).sum(axis=1)
        return kinetic, totals[:, POTENTIAL] + self.forces.energy(q)

    def joint_wrenches(
        self,
        times: Floats,
        q: Floats,
        v: Floats,
        touches: Sequence[Floats] | None = None,
        limits: Sequence[Floats] | None = None,
    ) -> Floats:
        """(B, n_joints, 6) wrenches that joints carry (supple.joint_wrenches, in the child's frame). touches, limits:
        of runs with contacts, for each state: rows of contact/room.py, and (nv,) forces of the joints' limits."""
        out = np.empty((len(q), self.model._n_carrying, 6))
        method: Any = self.method if self._closing is None else "aba"  # which alone knows the forces of loop joints
        for i in range(len(q)):
            tau, wrenches = self.forces(float(times[i]), q[i], v[i])
            wrenches = self._with_touches(q[i], wrenches, None if touches is None else touches[i])
            tau = tau if limits is None else tau + limits[i]
            out[i] = joint_wrenches(self.model, q[i], v[i], tau, wrenches, "child", method=method)
        return out

    def joint_forces(
        self,
        times: Floats,
        q: Floats,
        v: Floats,
        touches: Sequence[Floats] | None = None,
        limits: Sequence[Floats] | None = None,
    ) -> Floats:
        """(B, 3, nv) forces at the joints: those applied, the passive ones, and those of wrenches on bodies. touches,
        limits: as of joint_wrenches."""
        out = np.zeros((len(q), 3, self.model.nv))
        for i in range(len(q)):
            out[i, 0], out[i, 1], wrenches = self.forces.apart(float(times[i]), q[i], v[i])
            wrenches = self._with_touches(q[i], wrenches, None if touches is None else touches[i])
            if limits is not None:
                out[i, 1] += limits[i]
            if wrenches is not None:  # without gravity, at rest, joints have to hold nothing else
                out[i, 2] = -inverse_dynamics(self._weightless, q[i], wrenches=wrenches)
        return out

    def contacts_of(self, other: Dynamics, touches: Floats, limits: Floats) -> tuple[Floats, Floats]:
        """Rows of touches, and forces of joint limits, of a step with another model: those of shapes and joints that
        this one has, too."""
        if other.model is self.model:
            return touches, limits
        number = {x.name: i for i, x in enumerate(self.room.shapes)}
        place = np.array([number.get(x.name, NOWHERE) for x in other.room.shapes], dtype=np.int64)
        return renumbered(touches, place), Carrying(other.model, self.model).kept(limits)

    def _with_touches(self, q: Floats, wrenches: Floats | None, touches: Floats | None) -> Floats | None:
        """Wrenches on bodies, with those of touches added."""
        if touches is None or not len(touches):
            return wrenches
        return touch_wrenches(self.model, self.room.shapes, q, touches) + (0.0 if wrenches is None else wrenches)

    @cached_property
    def _weightless(self) -> Model:
        return self.model.with_gravity(np.zeros(3))


class EnergyGuard:
    """Stops a run whose energy grows although nothing supplies any.

    An integrator's errors may add a little. What counts as too much is measured by the energy that has changed form so
    far (the largest kinetic energy seen, the largest change of potential energy), and by the work of gravity over the
    body's own size. With explicit Euler, a body at rest moves only after its first step: after k steps under a constant
    force, 1/k of its kinetic energy came from nowhere, however short the steps, and that much is allowed.
    """

    names = frozenset({"_begun", "_potential", "_most", "_rows", "_least"})  #: names of the numbers that it saves

    def __init__(self, dynamics: Dynamics, q: Floats, kinetic: float, potential: float) -> None:
        model, at = dynamics.model, poses(dynamics.model, q).position
        size = float(np.linalg.norm(at - at.mean(axis=0), axis=1).max() + np.linalg.norm(model.com, axis=1).max())
        moments, heavy = np.trace(model.inertia, axis1=1, axis2=2).clip(min=0.0), model.mass > 0.0
        size = max(size, float(np.sqrt(moments[heavy] / model.mass[heavy]).max(initial=0.0)))  # of a body by itself
        weight = model.total_mass * float(np.linalg.norm(model.gravity))
        self._begun, self._potential, self._most = kinetic + potential, potential, kinetic
        self._rows = 0
        self._least = BY_GRAVITY * weight * size + 1e-9 * abs(self._begun)

    def check(self, kinetic: Floats, potential: Floats) -> int | None:
        """The first row with too much energy, or None."""
        moved = np.maximum(kinetic, np.abs(potential - self._potential))
        most = np.maximum.accumulate(np.maximum(moved, self._most))
        share = FROM_NOWHERE + 1.0 / (self._rows + np.arange(1, len(most) + 1))
        self._rows += len(most)
        bad = np.flatnonzero(kinetic + potential - self._begun > share * most + self._least)
        self._most = float(most[-1])
        return int(bad[0]) if len(bad) else None

    def save(self) -> dict[str, float]:
        """What it has seen, for a run that is continued later."""
        return dict(vars(self))

    @classmethod
    def restored(cls, saved: dict[str, float]) -> EnergyGuard:
        guard = cls.__new__(cls)
        vars(guard).update(saved)
        return guard


class Keeping:
    """`with Keeping(state):` attaches the last good state to any error raised inside, and makes it a
    SimulationError."""

    def __init__(self, last: State) -> None:
        self._last = last

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, e: BaseException | None, trace: Any) -> None:
        last = self._last
        if isinstance(e, SimulationError):
            e.state = last if e.state is None else e.state
            e.time = last.time if e.time is None else e.time
        elif isinstance(e, SuppleError):
            raise SimulationError(f"at time {last.time:.6g} s: {e}", last.time, None, last) from e
