"""Quasi-statics within a guaranteed error [Redon and Lin 2005 (QS)]: only the joints that matter are computed, and only
the nodes affected by them are updated."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive import backsubstitution as k
from supple.adaptive import whole_body as wh
from supple.adaptive.measures import MEASURES, Measure, measured, of_quasi_statics, percent, said
from supple.adaptive.memory import Carried, QuasiStaticBody, Strain
from supple.adaptive.pace import Pace
from supple.adaptive.pushes import Pushed, PushRows
from supple.adaptive.turns import one_at_a_time
from supple.arguments import ARRAY, NOT_NEGATIVE, NotNegative, Whole, checked, choice, read_only, take
from supple.assembly.memory import Pose
from supple.assembly.nodes import Absorbed
from supple.assembly.tables import TreeTables, tree_tables
from supple.assembly.tree import assemble
from supple.errors import SimulationError, StateError, quoted
from supple.exact.aba import ABA
from supple.integrating.joint_law import joint_force
from supple.integrating.push_law import PushRow
from supple.integrating.states import checked_state
from supple.model.joints import NV
from supple.model.model import Model, count

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MEASURE = choice(*MEASURES)
_CODES = {
    "absolute-linkage": k.ABSOLUTE_LINKAGE,
    "relative-linkage": k.RELATIVE_LINKAGE,
    "absolute-joint": k.ABSOLUTE_JOINT,
    "relative-joint": k.RELATIVE_JOINT,
}
_ALL = 1 << 62
_ROUNDING = ("digits", "slid", "amplification", "amplification_in_all")  #: measured from time to time
UNIT = 2.0**-53
#: Other forces have shown errors, relative to their scale, up to this many times those of the probe.
DIGITS_SAFETY = 8192.0
USELESS = 1e-3  #: a tree with a larger relative error is not used


@dataclass(frozen=True)
class Approximation:
    """Accelerations of some joints, with all others treated as zero, and the error of this [QS section 4.1]."""

    joints: Ints  #: the numbers of the computed joints, in the order of computation
    dofs: Ints  #: the indices of their accelerations in v
    accelerations: Floats  #: one number for each of dofs
    bounds: tuple[float, float]  #: the error is between these, rounding included
    total: float  #: of all joints, computed or not: the root of the sum of squares of their accelerations
    nv: int
    measure: str  #: the measure of the error: relative, or with its unit
    whole: bool = (
        False  #: whether all joints were solved at once, because the assembly tree would not have been accurate
    )
    #: or not faster; those not in `joints` are small enough to be treated as zero

    @property
    def error(self) -> float:
        """Upper bound of the error, in `measure`. It exceeds the error requested only where float64 cannot resolve
        accelerations that well: near balance, when all digits of large forces cancel."""
        return self.bounds[1]

    def __repr__(self) -> str:
        low, high = self.bounds
        size = f"{len(self.joints):,} joints computed of a body with nv={self.nv:,}{', all at once' * self.whole}"
        least = percent(low) if self.measure.startswith("relative") else f"{low:.3g}"
        return f"<Approximation: {size}, error from {least} to {said(high, self.measure)}, |qdd| = {self.total:.4g}>"

    def plot(self, path: str | Path | None = None) -> Any:
        """Plot the computed accelerations, as a matplotlib figure; saved if a path is given."""
        from supple.drawing import accelerations, saved

        return saved(accelerations.accelerations(repr(self)[1:-1], self.dofs, self.accelerations), path)

    def dense(self) -> Floats:
        """(nv,) all accelerations, including zeros."""
        out = np.zeros(self.nv)
        out[self.dofs] = self.accelerations
        return out


@read_only(
    model="make another QuasiStatics",
    order="make another QuasiStatics",
    q="set_state(q) moves the joints",
    time="step(dt) moves on",
    steps="step(dt) moves on",
)
@one_at_a_time("model", "q", "time", "steps", "refine", "step")
class QuasiStatics(Pushed):
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

    _pointers = ("_lock", "_kernel", "_whole_kernel", "_aba", "_handle")

    @checked
    def __init__(
        self,
        model: Model,
        q: ArrayLike | None = None,
        error: NotNegative = 2.0**-19,
        measure: Measure = "relative-joint",
        order: str | ArrayLike = "balanced",
    ) -> None:
        self._time, self._steps, self._order = 0.0, 0, order
        self._begin_pushes(model)
        self._pace = Pace(model.n_bodies)
        self._stamp = 0  #: changes with every change of forces or state, and with every solution
        self.measure = measure
        self.error = error
        assembly = assemble(model, order)
        self._tables: TreeTables = tree_tables(model, assembly)
        self._build(model, checked_state(model, q, None)[0])

    def __repr__(self) -> str:
        body = f"{quoted(self.model.name)}, {self.model.n_bodies:,} joints"
        forces, error = count(len(self._pushes), "force"), said(self.error, self.error_measure)
        return f"<QuasiStatics of {body} under {forces}: error at most {error}, after {count(self.steps, 'step')}>"

    # --- settings -------------------------------------------------------------------------------------------------

    @property
    def error(self) -> float:
        """The guaranteed error, in `measure`. May be changed at any time."""
        return self._error

    @error.setter
    def error(self, value: float) -> None:
        self._error = _checked_error(value)
        self._changed()

    @property
    def measure(self) -> str:
        """The measure of `error`. May be changed at any time."""
        return self._measure

    @measure.setter
    def measure(self, value: str) -> None:
        take("measure", value, MEASURE)
        self._measure, self._code = value, _CODES[value]
        self._changed()

    @property
    def error_measure(self) -> str:
        """What `error` measures: "relative-joint acceleration", "absolute-linkage acceleration [rad/s^2]"."""
        return of_quasi_statics(self._measure)

    @property
    def order(self) -> str | ArrayLike:
        """The order of the assembly tree."""
        return self._order

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return self._steps

    @property
    def time(self) -> float:
        """The sum of the dt of the steps taken. It is not time: a body moves as far in one step of 10 dt as in about a
        hundred steps of dt."""
        return self._time

    @property
    def q(self) -> Floats:
        """(nq,) joint positions: a live, read-only view; set_state changes them."""
        view = self._q[:]
        view.flags.writeable = False
        return view

    def set_state(self, q: ArrayLike) -> None:
        """Set the positions of all joints; everything is recomputed, O(n)."""
        self._q[:] = checked_state(self.model, q, None)[0]
        self._assemble()

    # --- forces ---------------------------------------------------------------------------------------------------

    def torque(self, joint: str | int, value: ArrayLike) -> None:
        """Set the force that a joint's actuator exerts from now on: one number per degree of freedom."""
        part = self.model.joints[joint]  # type: ignore[index]
        self._body.force[part.v] = joint_force(part, value)
        self._mark(int(self._tables.assembly.node_of[part.index]))

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
        wanted, begun, count, before, stamp = self._wanted(error), time.perf_counter(), 0, -1, -1
        while True:
            count = count + 1 if joints is None else min(count + 1, joints)
            with self._lock:
                useful = self._assembled(wanted, count, again=stamp == self._stamp)
                if not useful:
                    self._whole(wanted)
                result, stamp, done = self._result(), self._stamp, int(self._qs.n_computed)
            yield result
            if not useful:
                return
            late = seconds is not None and time.perf_counter() - begun >= seconds
            if stamp == self._stamp and (done in (before, joints) or done < count or late):
                break
            before = done
        if joints is None and not late and not self._meets(wanted):
            with self._lock:
                self._whole(wanted)
                result = self._result()
            yield result

    def step(self, dt: float) -> None:
        """Advance by dt: solve, then move the computed joints by dt^2 / 2 times their accelerations."""
        dt = take("step: dt", dt, NOT_NEGATIVE)
        factor = 0.5 * dt * dt
        with self._lock:
            if not self._solved:
                self._solve(None)
            moved = factor * math.sqrt(self._qs.largest)
            if not moved < math.inf:
                raise SimulationError(
                    f"a step of {dt:g} s moves joints beyond what float64 can tell; the state is kept"
                )
            if self._is_whole:
                self._run_whole(wh.ADVANCE_ALL, 0.0, factor)
            else:
                self._run(k.ADVANCE, 0.0, 0, factor)
            self._changed()
            self._pace.moved += moved
            self._time += dt
            self._steps += 1

    def save(self) -> dict[str, NDArray[Any]]:
        """The data that, besides q and forces, determine how it continues: the out-of-date nodes, and when the tree
        was last used."""
        return {
            "marks": self._qs.marks.astype(np.int8),
            "pace": self._pace.save(),
            "rounding": np.array([getattr(self._qs, name) for name in _ROUNDING]),
            "solved": np.array([self._solved, self._is_whole]),
        }

    def restore(self, saved: dict[str, NDArray[Any]]) -> None:
        """Continue exactly as the object that saved this: one of the same model, at its q, with the same settings and
        forces. The results are bit-identical. Costs O(n)."""
        saved = self._checked_save(saved)
        marks = saved["marks"]
        self._run(k.RENEW, 0.0, 0, 0.0)  # anything set meanwhile
        self._changed()
        qs, dirty = self._qs, np.flatnonzero(marks)
        qs.marks[:] = marks
        qs.dirty[: len(dirty)] = dirty
        qs.n_dirty, qs.stale = len(dirty), 1
        self._pace = Pace.restored(saved["pace"])
        for name, value in zip(_ROUNDING, saved["rounding"]):
            setattr(qs, name, value)
        self._solved, self._is_whole = (bool(x) for x in saved["solved"])
        if self._solved and self._is_whole:
            self._run_whole(wh.SOLVE | wh.SELECT, self._error)
        elif self._solved:
            self._run(k.RENEW | k.BEGIN | k.GO_ON, self._error, self._pace.budget, 0.0)

    @checked
    def reach(self, error: NotNegative | None = None) -> int:
        """The number of joints that the forces reach at an error: the measure of motion complexity of QS section
        6.4."""
        self._solve(error)
        return int(self._qs.n_computed)

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

    def _checked_save(self, saved: Any) -> dict[str, NDArray[Any]]:
        """The saved data, if consistent with this model."""
        like = {"marks": self._qs.marks, "pace": self._pace.save(), "rounding": np.zeros(4), "solved": np.zeros(2)}
        if not (isinstance(saved, Mapping) and all(name in saved for name in like)):
            raise StateError(f"restore takes what save() gave: a dictionary of {', '.join(like)}")
        given = {name: take(name, saved[name], ARRAY) for name in like}
        fits = all(x.shape == like[name].shape and x.dtype.kind in "fiub" for name, x in given.items())
        if not fits or given["pace"][0] != self.model.n_bodies:
            raise StateError("what was saved is of another model")
        marks, up = given["marks"], self._tables.assembly.up
        closed = (marks[up] >= marks)[up >= 0].all()  # nodes above a node depend on it
        if not (np.isin(marks, (0, k.FORCES, k.MATRICES)).all() and closed):
            raise StateError("what was saved is of another model")
        if not (np.isfinite(given["pace"]).all() and (given["pace"] >= 0).all()):
            raise StateError("what was saved has numbers that are not finite, or negative")
        return given

    def _build(self, model: Model, q: Floats) -> None:
        tables, n, m = self._tables, model.n_bodies, self._tables.assembly.n_nodes
        levels = tables.assembly.depth + 1
        self._q = q
        self._body = tables.body(model, q)
        self._qs = QuasiStaticBody.of(
            body=self._body,
            gravity=model.gravity,
            **{name: _zeros(m) for name in ("marks", "dirty", "sorted")},
            levels=_zeros(levels),
            n_levels=levels,
            queue=_zeros(m + 1),
            values=np.zeros(m + 1),
            slack=np.zeros(m),
            visited=_zeros(m + 1),
            computed=_zeros(n),
            pushed=_zeros(0),
            push_start=_zeros(1),
            pushes=PushRow.zeros(0),
            strain=Strain.zeros(0),
            paths=_zeros(0),
            world=Pose.zeros(m),
            noise=np.zeros(model.nv),
            probe=np.zeros(model.nv),
            carried=Carried.zeros(n),
        )
        self._point()
        lengths = np.linalg.norm(model.position[model.parent >= 0], axis=1)
        self._length = float(np.median(lengths[lengths > 0.0])) if (lengths > 0.0).any() else 1.0  #: of a link
        self._assemble()

    def _point(self) -> None:
        self._kernel, self._whole_kernel = k.step_kernel.load(), wh.whole_kernel.load()
        self._aba = ABA.work(self.model)
        self._handle = self._aba.handle

    def _assemble(self) -> None:
        """Recompute everything, and measure its accuracy."""
        self._pace.probed = 0
        self._probe_digits(k.BUILD)

    def _probe_digits(self, tasks: int) -> None:
        """Measure the rounding errors of solutions over the tree, relative to their scale [assembly/rounding.py], by
        comparison with solutions of the whole body under random torques alone. The torques are equal in size at all
        joints, proportional to the joints' inertias, and in between, since light joints may hide the errors of heavy
        ones, or the reverse."""
        self._changed()
        if not self._arranged:
            self._arrange()
        qs, force = self._qs, self._body.force
        kept = force.copy(), qs.gravity.copy(), qs.n_pushed, qs.n_paths
        self._body.external["f"] = qs.gravity = qs.n_pushed = qs.n_paths = qs.digits = 0
        off = 0.0
        if self._run_whole(wh.SOLVE | wh.WEIGHTLESS, 0.0) > 0.0:
            inertia = 1.0 / self._aba.dofs["d"]
            torque = np.random.default_rng(0).standard_normal(len(force))
            for power in (0.0, 0.5, 1.0):
                force[:] = torque * inertia**power
                off = max(off, self._difference(tasks))
                tasks = k.ALL_FORCES
        force[:], qs.gravity, qs.n_pushed, qs.n_paths = kept
        qs.digits, qs.slid = DIGITS_SAFETY * max(off, UNIT), 0.0
        self._run(tasks | k.ALL_FORCES | k.RENEW, 0.0, 0, 0.0)
        self._pace.probed_digits(qs.digits < USELESS)

    def _difference(self, tasks: int) -> float:
        """The difference between a solution over the tree, after some tasks, and one of the whole body, relative to
        their scale: the largest over the trees of a forest."""
        if not self._run(tasks | k.RENEW | k.BEGIN | k.GO_ON, 0.0, _ALL, 0.0) > 0.0:
            return np.inf
        tree = self._body.qdd.copy()
        self._run_whole(wh.SOLVE | wh.WEIGHTLESS, 0.0)
        first = np.flatnonzero(self.model.parent < 0)
        node = self._tables.assembly.node_of[first]
        scale = np.sqrt(self._body.numbers[self._tables.node_at[node] + Absorbed.offsets["e_scale"]])
        off = np.maximum.reduceat(np.abs(tree - self._body.qdd), self.model.v_index[first])
        worst = float(np.max(off / np.where(scale > 0.0, scale, 1.0), initial=0.0))
        return worst if worst < np.inf else np.inf

    def _changed(self) -> None:
        """The last solution is no longer valid."""
        self._solved = self._is_whole = False
        self._stamp += 1

    def _run(self, tasks: int, error: float, most: int, factor: float) -> float:
        if not self._arranged:
            self._arrange()
        result: float = self._kernel(self._qs.address, tasks, error, self._code, most, factor)
        return result

    def _run_whole(self, tasks: int, error: float, factor: float = 0.0) -> float:
        if not self._arranged:
            self._arrange()
        run = self._whole_kernel
        result: float = run(self._handle, self._qs.address, tasks, error, self._code, factor)
        return result

    def _wanted(self, error: float | None) -> float:
        return self._error if error is None else _checked_error(error)

    def _meets(self, wanted: float) -> bool:
        met: bool = self._qs.high <= wanted
        return met

    def _solve(self, error: float | None) -> None:
        """Solve within an error: over the assembly tree, or, where that would be slower or inaccurate, all at once."""
        wanted, done = self._wanted(error), False
        self._changed()
        if wanted > 0.0 and self._pace.tree(self._qs.n_dirty / self._tables.assembly.n_nodes):
            done = self._assembled(wanted, self._pace.budget) and self._meets(wanted)
            self._pace.tried(done, self._qs.n_touched + self._qs.n_visited)
        if not done:
            self._whole(wanted)
            self._pace.whole(self._qs.n_computed)
        self._solved = error is None  # whether a step may use it

    def _assembled(self, wanted: float, most: int, again: bool = False) -> bool:
        """Solve over the assembly tree, for at most `most` joints; false if the result is unusable."""
        if not again and (self._pace.digits_due() or self._qs.slid > self._length):
            self._probe_digits(k.ALL_FORCES)
        self._changed()
        smallest = self._run(k.GO_ON if again else k.RENEW | k.BEGIN | k.GO_ON, wanted, most, 0.0)
        return smallest > 0.0 and math.isfinite(self._qs.root + self._qs.largest)

    def _whole(self, wanted: float) -> None:
        """Solve for all joints at once."""
        self._changed()
        if not self._run_whole(wh.SOLVE | wh.SELECT, wanted) > 0.0:
            ABA.general(self.model, self._q, np.zeros(self.model.nv), self._body.force, None)  # names what is singular
        self._check()
        noise, largest, slid = self._qs.noise_level, self._qs.largest, self._qs.slid
        if self._pace.stale_probe(noise, math.sqrt(largest), slid / self._length):
            if self._run_whole(wh.PROBE, wanted) > wh.LUCK:
                self._pace.probed = 0
            self._run_whole(wh.SELECT, wanted)
        self._is_whole = True

    def _check(self) -> None:
        if not math.isfinite(self._qs.root):
            bad = np.flatnonzero(~np.isfinite(self._body.qdd))
            where = f"joint {self.model.joint_names[int(self.model.dof_body[bad[0]])]!r}" if len(bad) else "the body"
            raise SimulationError(
                f"the acceleration of {where} is not finite at time {self.time:.6g}; the state before it is kept: use "
                "a smaller step or smaller forces"
            )

    def _result(self) -> Approximation:
        model = self.model
        joints = self._qs.computed[: self._qs.n_computed].copy()
        count = np.array(NV)[model.joint_type[joints]]
        dofs = np.repeat(model.v_index[joints] - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
        low, high, root = float(self._qs.low), float(self._qs.high), float(self._qs.root)
        accelerations, total = self._body.qdd[dofs], float(np.sqrt(root))
        measure = of_quasi_statics(self._measure)
        return Approximation(joints, dofs, accelerations, (low, high), total, model.nv, measure, self._is_whole)

    def _mark(self, node: int) -> None:
        k.mark_kernel.load()(self._qs.address, node, k.FORCES)
        self._changed()

    def _poses_into(self, bodies: Ints, rows: Floats) -> None:
        self._run(k.SPANS, 0.0, 0, 0.0)
        k.poses_kernel.load()(self._qs.address, bodies, rows)

    def _pushes_changed(self) -> None:
        self._changed()

    def _no_longer_pushed(self, body: int) -> None:
        self._body.external["f"][body] = 0.0
        self._mark(int(self._tables.assembly.leaf_of[body]))

    def _push_rows(self) -> PushRows:
        rows: PushRows = self._qs.pushes
        return rows

    def _arrange(self) -> None:
        qs = self._qs
        qs.pushed, qs.push_start, qs.pushes, qs.paths = self._arrangement(self._tables.assembly)
        qs.n_pushed, qs.n_paths = len(qs.pushed), len(qs.paths)
        qs.strain = Strain.zeros(len(qs.pushed))
        self._arranged = True


def tree_digits(model: Model, q: Floats, order: str | ArrayLike) -> float:
    """The error of solutions over an assembly tree of a model at q, relative to their scale."""
    return float(QuasiStatics(model, q, order=order)._qs.digits)


def _zeros(n: int) -> Ints:
    return np.zeros(n, dtype=np.int64)


def _checked_error(value: Any) -> float:
    error: float = take("error", value, NOT_NEGATIVE)
    return error
