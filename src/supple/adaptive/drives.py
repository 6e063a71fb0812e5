"""Forces of joints, which persist until changed: torques, controllers and limits, in the form used by the kernels.

The rows of integrating/joint_law.py that act on one degree of freedom form a linked list: `controlled` holds 1 + the
number of its first row, and after that, for each row, 1 + the number of the next one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive.ledger import close_accounts
from supple.adaptive.steps import resettle_kernel
from supple.integrating.friction import friction_rows
from supple.integrating.joint_law import LAW, by_name, checked_rows, joint_force, limit_rows
from supple.integrating.model_law import Actuation, law_energy, passive_rows
from supple.model.model import Joint, Model
from supple.spatial.held import Held

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Drives:
    """The forces of the joints of a hybrid body. `memory`: its HybridBody; node_of: the node that joins at each joint.

    An interrupt may occur between any two lines: `settled` is then False, and `settle` does the remaining work before
    the next step.
    """

    def __init__(self, model: Model, q: Floats, memory: Held, node_of: Ints) -> None:
        self._model, self._q, self._memory, self._node_of = model, q, memory, node_of
        self.settled = True
        self._controllers: dict[int, Ints] = {}  #: by joint: the rows of its controller
        self._walls: Ints = np.zeros(0, dtype=np.int64)  #: the rows of limits
        self._servos: Ints = np.zeros(0, dtype=np.int64)  #: the rows of the model's actuators
        self._torques, self._motors = np.zeros((2, model.nv))  #: constant forces: as given, and of actuators
        self._actuation = Actuation(model)
        self._n_rows = 0  #: rows in use
        self._n_linked = 0  #: of those, the ones in the lists
        self._unsettled: set[int] = set()  #: joints whose forces changed since the nodes above them were updated

    def act_by_model(self) -> None:
        """The model's own springs and friction, and its actuators with controls of zero."""
        rows = passive_rows(self._model)
        if len(rows):
            self.add(rows)
        if self._actuation.names:
            self.controls({})

    def controls(self, values: Mapping[str, float] | ArrayLike) -> None:
        """Set the controls of the model's actuators."""
        rows, constant = self._actuation.at(self._actuation.controls(values))
        changed = np.flatnonzero(constant != self._motors)
        self._begin_change(self._feeling(rows) | set(self._model.dof_body[changed].tolist()))
        self._motors = constant
        self._memory.controls[: self._model.nv] = self._torques + constant
        if len(self._servos) and self._servos[-1] < self._n_rows:
            self._write(self._servos, rows)
        else:
            self._servos = self._room_for(rows)
            self._n_rows += len(rows)
        self.settle()

    def torque(self, part: Joint, value: ArrayLike) -> None:
        """Set the constant force at a joint."""
        force = joint_force(part, value)
        self._begin_change({part.index})
        self._torques[part.v] = force
        self._memory.controls[part.v] = force + self._motors[part.v]
        self.settle()

    def control(self, joint: int, rows: Floats) -> None:
        """Set the controller of a joint."""
        self._begin_change({joint})
        known = self._controllers.get(joint)
        if known is not None and known[-1] < self._n_rows:
            self._write(known, rows)
        else:
            self._controllers[joint] = self._room_for(rows)
            self._n_rows += len(rows)
        self.settle()

    def limits(self, stiffness: float, damping: float) -> int:
        """Set the springs of all limits of the model. Returns the number of joints with limits."""
        rows = limit_rows(self._model, stiffness, damping)
        self._begin_change(self._feeling(rows))
        if len(self._walls) and self._walls[-1] < self._n_rows:
            self._write(self._walls, rows)
        else:
            self._walls = self._room_for(rows)
            self._n_rows += len(rows)
        self.settle()
        return len(np.unique(self._joints(rows)))

    def add(self, rows: Floats) -> None:
        """Add rows of integrating/joint_law.py to all others."""
        rows = checked_rows(self._model, rows)
        self._begin_change(self._feeling(rows))
        self._room_for(rows)
        self._n_rows += len(rows)
        self.settle()

    def energy(self) -> float:
        """That stored in springs, controllers, limits and servos, moving or not. Costs O(rows)."""
        rows, servos = self._rows()[: self._n_rows], self._servos[self._servos < self._n_rows]
        others = np.delete(rows, servos, axis=0)
        q = self._q[None]
        return float((law_energy(others, q) + self._actuation.energy(rows[servos], q))[0])

    def settle(self) -> None:
        """Link new rows into the lists, and update the nodes of joints whose forces changed."""
        links, nv = self._memory.controlled, self._model.nv
        dofs = by_name(self._rows()[self._n_linked : self._n_rows])["dof"].astype(np.int64)
        for dof in dofs.tolist():
            row = self._n_linked
            if links[dof] != 1 + row:
                links[nv + row] = links[dof]
                links[dof] = 1 + row
            self._n_linked = row + 1
        self._memory.n_rows = self._n_linked
        while self._unsettled:
            j = next(iter(self._unsettled))
            resettle_kernel.load()(self._memory.address, int(self._node_of[j]))
            self._unsettled.discard(j)
        self.settled = True

    def _begin_change(self, joints: set[int]) -> None:
        """The forces of some joints are about to change."""
        close_accounts(self._memory)
        self.settled = False
        self._unsettled |= joints

    def _feeling(self, rows: Floats) -> set[int]:
        """The joints on which rows currently act; an inactive limit does not."""
        law = by_name(rows)
        x = self._q[law["coordinate"].astype(np.int64)]
        felt = (law["stiffness"] > 0) | (law["damper"] > 0) | (x < law["lower"]) | (x > law["upper"])
        return set(self._joints(rows)[felt].tolist())

    def _joints(self, rows: Floats) -> Ints:
        """The joint of each row."""
        joints: Ints = self._model.dof_body[by_name(rows)["dof"].astype(np.int64)]
        return joints

    def _rows(self) -> Floats:
        rows: Floats = self._memory.controls[self._model.nv :].reshape(-1, LAW)
        return rows

    def _room_for(self, rows: Floats) -> Ints:
        """Write rows after those in use. Returns their numbers; the caller counts them as used."""
        memory, nv = self._memory, self._model.nv
        end, room = self._n_rows + len(rows), len(memory.controlled) - nv
        if end > room:  # double the size, so that the cost of many calls is amortised
            more = max(end, 2 * room) - room
            memory.controls = np.concatenate([memory.controls, np.zeros(LAW * more)])
            memory.controlled = np.concatenate([memory.controlled, np.zeros(more, dtype=np.int64)])
        added = np.arange(self._n_rows, end)
        self._write(added, rows)
        return added

    def _write(self, numbers: Ints, rows: Floats) -> None:
        if len(friction_rows(rows)):
            self._memory.has_friction = 1
        self._rows()[numbers] = rows
