"""Forces of joints, which persist until changed: torques, controllers and limits, in the form used by the kernels.

The rows of integrating/joint_law.py that act on one degree of freedom form a linked list: `controlled` holds 1 + the
number of its first row, and after that, for each row, 1 + the number of the next one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.integrating.joint_law import LAW, by_name, checked_rows, controller_rows, joint_force, limit_rows
from supple.integrating.model_law import Actuation, passive_rows
from supple.model.model import Model
from supple.spatial.held import Held

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Driven(ABC):
    """A body whose joints have forces of their own."""

    _q: Floats
    _hybrid: Held  #: a HybridBody

    @property
    @abstractmethod
    def model(self) -> Model: ...

    def _begin_drives(self) -> None:
        self._controllers: dict[int, Ints] = {}  #: by joint: the rows of its controller
        self._walls: Ints = np.zeros(0, dtype=np.int64)  #: the rows of limits
        self._servos: Ints = np.zeros(0, dtype=np.int64)  #: the rows of the model's actuators
        self._torques, self._motors = np.zeros((2, self.model.nv))  #: constant forces: as given, and of actuators
        self._n_rows = 0  #: rows in use
        self._n_linked = 0  #: of those, the ones in the lists
        self._unsettled: set[int] = set()  #: joints whose forces changed since the nodes above them were updated

    def _act_by_model(self) -> None:
        """The model's own springs and friction, and its actuators with controls of zero."""
        rows = passive_rows(self.model)
        if len(rows):
            self.joint_law(rows)
        self._actuation = Actuation(self.model)
        if self._actuation.names:
            self.controls({})

    def controls(self, values: Mapping[str, float] | ArrayLike) -> None:
        """Set the controls of the model's actuators: by name, zero for those not named; or one number for each."""
        rows, constant = self._actuation.at(self._actuation.controls(values))
        changed = np.flatnonzero(constant != self._motors)
        self._forces_change()
        self._unsettled |= self._feeling(rows) | set(self.model.dof_body[changed].tolist())
        self._motors = constant
        self._hybrid.controls[: self.model.nv] = self._torques + constant
        if len(self._servos) and self._servos[-1] < self._n_rows:
            self._rows()[self._servos] = rows
        else:
            self._servos = self._room_for(rows)
            self._n_rows += len(rows)
        self._settle()

    def torque(self, joint: str | int, value: ArrayLike) -> None:
        """Set a constant force at a joint from now on, in addition to all others: one number per degree of freedom."""
        part = self.model.joints[joint]  # type: ignore[index]
        force = joint_force(part, value)
        self._forces_change()
        self._unsettled.add(part.index)
        self._torques[part.v] = force
        self._hybrid.controls[part.v] = force + self._motors[part.v]
        self._settle()

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
        self._forces_change()
        self._unsettled.add(part.index)
        known = self._controllers.get(part.index)
        if known is not None and known[-1] < self._n_rows:
            self._rows()[known] = rows
        else:
            self._controllers[part.index] = self._room_for(rows)
            self._n_rows += len(rows)
        self._settle()

    def limits(self, stiffness: float, damping: float = 0.0) -> int:
        """Apply the model's limits to all joints, as springs with dampers that push back and never pull; returns the
        number of joints with limits. Calling it again changes those springs.

        An inactive limit costs only a comparison, and nothing at all while the joint does not move.
        """
        rows = limit_rows(self.model, stiffness, damping)
        self._forces_change()
        self._unsettled |= self._feeling(rows)
        if len(self._walls) and self._walls[-1] < self._n_rows:
            self._rows()[self._walls] = rows
        else:
            self._walls = self._room_for(rows)
            self._n_rows += len(rows)
        self._settle()
        return len(np.unique(self.model.dof_body[by_name(rows)["dof"].astype(np.int64)]))

    def joint_law(self, rows: Floats) -> None:
        """Add joint forces to all others that act there: rows of integrating/joint_law.py."""
        rows = checked_rows(self.model, rows)
        self._forces_change()
        self._unsettled |= self._feeling(rows)
        self._room_for(rows)
        self._n_rows += len(rows)
        self._settle()

    @abstractmethod
    def _forces_change(self) -> None:
        """Called when forces are about to change."""

    @abstractmethod
    def _renew_joint(self, j: int) -> None:
        """Called when the forces of a joint have changed."""

    def _feeling(self, rows: Floats) -> set[int]:
        """The joints on which rows currently act; an inactive limit does not."""
        law = by_name(rows)
        x = self._q[law["coordinate"].astype(np.int64)]
        felt = (law["stiffness"] > 0) | (law["damper"] > 0) | (x < law["lower"]) | (x > law["upper"])
        return set(np.unique(self.model.dof_body[law["dof"][felt].astype(np.int64)]).tolist())

    def _settle(self) -> None:
        """Link new rows into the lists, and update the nodes of joints whose forces changed. An interrupt may occur
        between any two lines: the remaining work is done before the next step."""
        links, nv = self._hybrid.controlled, self.model.nv
        dofs = by_name(self._rows()[self._n_linked : self._n_rows])["dof"].astype(np.int64)
        for dof in dofs.tolist():
            row = self._n_linked
            if links[dof] != 1 + row:
                links[nv + row] = links[dof]
                links[dof] = 1 + row
            self._n_linked = row + 1
        while self._unsettled:
            j = next(iter(self._unsettled))
            self._renew_joint(j)
            self._unsettled.discard(j)

    def _rows(self) -> Floats:
        rows: Floats = self._hybrid.controls[self.model.nv :].reshape(-1, LAW)
        return rows

    def _room_for(self, rows: Floats) -> Ints:
        """Append rows to those in use. Returns their numbers."""
        hybrid, nv = self._hybrid, self.model.nv
        end, room = self._n_rows + len(rows), len(hybrid.controlled) - nv
        if end > room:  # double the size, so that the cost of many calls is amortised
            more = max(end, 2 * room) - room
            hybrid.controls = np.concatenate([hybrid.controls, np.zeros(LAW * more)])
            hybrid.controlled = np.concatenate([hybrid.controlled, np.zeros(more, dtype=np.int64)])
        added = np.arange(self._n_rows, end)
        self._rows()[added] = rows
        return added
