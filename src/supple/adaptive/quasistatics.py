"""Quasi-statics within a guaranteed error [Redon and Lin 2005 (QS)]: only the joints that matter are computed, and only
the nodes affected by them are updated."""

from __future__ import annotations

import time
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive import certificate, restoring
from supple.adaptive.approximation import Approximation as Approximation
from supple.adaptive.approximation import approximation_of
from supple.adaptive.measures import MEASURES, Measure, measured, of_quasi_statics, said
from supple.adaptive.pushes import Pushes
from supple.adaptive.simulated_body import SimulatedBody
from supple.adaptive.solver import Solver
from supple.adaptive.turns import one_at_a_time
from supple.arguments import NOT_NEGATIVE, NotNegative, Whole, checked, choice, read_only, take
from supple.errors import quoted
from supple.integrating.closing import closed_at_first, is_closed
from supple.integrating.joint_law import joint_force
from supple.integrating.push_law import SPRING
from supple.integrating.states import checked_state
from supple.model.joints import NV
from supple.model.model import Model, count

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MEASURE = choice(*MEASURES)
_CODES = {
    "absolute-linkage": certificate.ABSOLUTE_LINKAGE,
    "relative-linkage": certificate.RELATIVE_LINKAGE,
    "absolute-joint": certificate.ABSOLUTE_JOINT,
    "relative-joint": certificate.RELATIVE_JOINT,
}


@read_only(
    model="make another QuasiStatics",
    order="make another QuasiStatics",
    q="set_state(q) moves the joints",
    time="step(dt) moves on",
    steps="step(dt) moves on",
)
@one_at_a_time("model", "q", "time", "steps", "refine", "step")
class QuasiStatics(SimulatedBody):
    """A body under forces, moved as if it were at rest at every instant, within a guaranteed error.

        qs = supple.QuasiStatics(model, q, error=2**-19)
        qs.apply("hand", force=(0, 0, -1))
        for _ in range(1000):
            qs.step(1e-3)

    error: the guaranteed error of the joint accelerations, in one of four measures [QS definition 2]. With e the
    difference between the true and the computed accelerations, "absolute-linkage" is |e| [rad/s^2], "relative-linkage"
    |e| / |qdd|, "absolute-joint" the largest |e_j| of a joint [rad/s^2], "relative-joint" that divided by the largest
    |qdd_j|. Zero means exact: every joint is computed. Both may be changed at any time: qs.error, qs.measure.

    Velocities are always zero; a step of dt moves joints by dt^2 / 2 times their accelerations. So progress is counted
    in steps, not in seconds: dt is how large a step is. The cost of a step is
    proportional to the nodes of the computed joints and those above the pushed bodies; nothing in it grows with n.
    """

    @checked
    def __init__(
        self,
        model: Model,
        q: ArrayLike | None = None,
        error: NotNegative = 2.0**-19,
        measure: Measure = "relative-joint",
        order: str | ArrayLike = "balanced",
    ) -> None:
        super().__init__(model, Pushes(model, SPRING))
        self._error, self._measure, self._order = error, measure, order
        self._q = self._closed(q)
        self._solver = Solver(model, self._q, order, self._pushes, _CODES[measure])

    def __repr__(self) -> str:
        body = f"{quoted(self.model.name)}, {self.model.n_bodies:,} joints"
        forces, error = count(len(self._pushes.acting), "force"), said(self.error, self.error_measure)
        return f"<QuasiStatics of {body} under {forces}: error at most {error}, after {count(self.steps, 'step')}>"

    # --- settings -------------------------------------------------------------------------------------------------

    @property
    def error(self) -> float:
        """The guaranteed error, in `measure`. May be changed at any time."""
        return self._error

    @error.setter
    def error(self, value: float) -> None:
        self._error = take("error", value, NOT_NEGATIVE)
        self._solver.changed()

    @property
    def measure(self) -> str:
        """The measure of `error`. May be changed at any time."""
        return self._measure

    @measure.setter
    def measure(self, value: str) -> None:
        self._measure = take("measure", value, MEASURE)
        self._solver.measure = _CODES[value]
        self._solver.changed()

    @property
    def error_measure(self) -> str:
        """What `error` measures: "relative-joint acceleration", "absolute-linkage acceleration [rad/s^2]"."""
        return of_quasi_statics(self._measure)

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return self._solver.steps

    @property
    def order(self) -> str | ArrayLike:
        """The order of the assembly tree."""
        return self._order

    @property
    def time(self) -> float:
        """The sum of the dt of the steps taken. It is not time: a body moves as far in one step of 10 dt as in about a
        hundred steps of dt."""
        return self._solver.time

    def set_state(self, q: ArrayLike) -> None:
        """Set the positions of all joints; everything is recomputed, O(n)."""
        self._q[:] = self._closed(q)
        self._solver.assemble()

    def _closed(self, q: ArrayLike | None) -> Floats:
        """A position, with its loops closed; refused if they are open. One in which a step may end stays as it is."""
        state = checked_state(self.model, q, None)[0]
        if self.model.is_tree or is_closed(self.model, state):
            return state
        return closed_at_first(self.model, state, np.zeros(self.model.nv))[0]

    # --- forces ---------------------------------------------------------------------------------------------------

    def torque(self, joint: str | int, value: ArrayLike) -> None:
        """Set the force that a joint's actuator exerts from now on: one number per degree of freedom."""
        part = self.model.joints[joint]  # type: ignore[index]
        node = int(self._solver.tables.assembly.node_of[part.index])
        self._solver.drive(part.v, joint_force(part, value), node)

    # --- solving --------------------------------------------------------------------------------------------------

    @checked
    def solve(
        self, error: NotNegative | None = None, joints: Whole | None = None, seconds: NotNegative | None = None
    ) -> Approximation:
        """The accelerations, within the guaranteed error (or another one, for this call), or as accurate as a limit on
        joints or seconds allows."""
        if joints is None and seconds is None:
            self._solve(error)
            return self._result()
        return list(self.refine(error, joints, seconds))[-1]

    @checked
    def refine(
        self, error: NotNegative | None = None, joints: Whole | None = None, seconds: NotNegative | None = None
    ) -> Iterator[Approximation]:
        """The same one joint at a time, the largest contribution first; stop whenever it is accurate enough.

        Continues until the error is reached, the limit on joints is reached, or the time limit has passed. Forces and
        state may change meanwhile: the next result uses the values at that time.
        """
        wanted, solver = self._error if error is None else error, self._solver
        begun, count, before, stamp = time.perf_counter(), 0, -1, -1
        while True:
            count = count + 1 if joints is None else min(count + 1, joints)
            with self._lock:
                useful = solver.over_tree(wanted, count, again=stamp == solver.stamp)
                if not useful:
                    solver.whole(wanted)
                result, stamp, done = self._result(), solver.stamp, solver.memory.n_computed
            yield result
            if not useful:
                return
            late = seconds is not None and time.perf_counter() - begun >= seconds
            if stamp == solver.stamp and (done in (before, joints) or done < count or late):
                break
            before = done
        if joints is None and not late and not solver.meets(wanted):
            with self._lock:
                solver.whole(wanted)
                result = self._result()
            yield result

    def step(self, dt: float) -> None:
        """Advance by dt: solve, then move the computed joints by dt^2 / 2 times their accelerations."""
        dt, solver = take("step: dt", dt, NOT_NEGATIVE), self._solver
        with self._lock:
            if not solver.solved:
                solver.solve(self._error)
            solver.advance(dt)

    def save(self) -> dict[str, NDArray[Any]]:
        """The data that, besides q and forces, determine how it continues: the out-of-date nodes, and when the tree
        was last used."""
        return restoring.with_state(self._solver.save(), self._q)

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Continue exactly as the object that saved this: one of the same model, at its q, with the same settings and
        forces. The results are bit-identical. To go back: set_state(q) to that of that time, then this. Costs O(n)."""
        given = restoring.of_quasi_statics(saved, self._solver.save(), self._solver.tables.assembly)
        restoring.refuse_another_state(saved, self._q)
        self._solver.restore(given, self._error)

    @checked
    def reach(self, error: NotNegative | None = None) -> int:
        """The number of joints that the forces reach at an error: the measure of motion complexity of QS section
        6.4."""
        self._solve(error)
        computed: int = self._solver.memory.n_computed
        return computed

    def measured_error(self) -> float:
        """The error of the accelerations of the next step, measured, in `measure`: against those of all joints, solved
        all at once. It is at most the certified one, `solve().error`. Costs O(n)."""
        found, exact = copy(self).solve().dense(), copy(self).solve(error=0.0).dense()
        some = np.array(NV)[self.model.joint_type] > 0
        return measured(exact, found, self._measure, self.model.v_index[some])

    def plot(self, path: str | Path | None = None) -> Any:
        """Plot the number of joints that the forces reach at errors of 1 down to 2^-19, as a matplotlib figure; saved
        if a path is given."""
        from supple.drawing import accelerations, saved

        errors = [2.0**-k for k in range(20)]
        joints = [self.reach(error) for error in errors]
        title = f"{self.model.name}: how far forces reach, after {count(self.steps, 'step')}"
        return saved(accelerations.reach(title, errors, joints, self.model.n_bodies, self.measure), path)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _solve(self, error: float | None) -> None:
        self._solver.solve(self._error if error is None else error)
        self._solver.solved = error is None  # whether a step may use it

    def _result(self) -> Approximation:
        return approximation_of(self._solver.memory, self.model, self._measure, self._solver.is_whole)

    def _poses_into(self, bodies: Ints, rows: Floats) -> None:
        self._solver.poses_into(bodies, rows)

    def _pushes_changed(self, *bodies: int) -> None:
        self._solver.changed()

    def _no_longer_pushed(self, body: int) -> None:
        self._solver.no_longer_pushed(body)
