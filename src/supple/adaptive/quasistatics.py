"""Quasi-statics within a promised error [Redon and Lin 2005 (QS)]: only the joints that matter are computed, and only
what they change is renewed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive import backsubstitution as k
from supple.adaptive.pushes import Pushed
from supple.assembly.desk import HostDesk
from supple.assembly.passes import node_kernels
from supple.assembly.tables import TreeTables, tree_tables
from supple.assembly.tree import assemble
from supple.errors import SimulationError, SingularError, StateError
from supple.exact.kinematics import POSES
from supple.exact.refusals import as_floats
from supple.model.inside import tree_poses
from supple.model.joints import NV
from supple.model.model import Model, count, unknown
from supple.spatial.references import address_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Measure = Literal["relative-joint", "absolute-joint", "relative-linkage", "absolute-linkage"]
MEASURES: tuple[str, ...] = get_args(Measure)
_CODES = {
    "absolute-linkage": k.ABSOLUTE_LINKAGE,
    "relative-linkage": k.RELATIVE_LINKAGE,
    "absolute-joint": k.ABSOLUTE_JOINT,
    "relative-joint": k.RELATIVE_JOINT,
}
_ALL = 1 << 62


@dataclass(frozen=True)
class Approximation:
    """Accelerations of some joints, those of all others taken for zero, and what that is worth [QS section 4.1]."""

    joints: Ints  #: the joints that were computed, in that order, by number
    dofs: Ints  #: where their accelerations belong in v
    accelerations: Floats  #: one number for each of dofs
    bounds: tuple[float, float]  #: the error is between these
    total: float  #: of all joints, computed or not: the root of the sum of squares of their accelerations
    nv: int

    @property
    def error(self) -> float:
        """The error is certainly not larger than this, in the measure asked for."""
        return self.bounds[1]

    def __repr__(self) -> str:
        low, high = self.bounds
        size = f"{len(self.joints):,} joints computed of a body with nv={self.nv:,}"
        return f"<Approximation: {size}, error from {low:.3g} to {high:.3g}, |qdd| = {self.total:.4g}>"

    def plot(self, path: str | None = None) -> Any:
        """The accelerations that were computed, as a matplotlib figure; saved if a path is given."""
        from supple.drawing import accelerations, saved

        return saved(accelerations.accelerations(repr(self)[1:-1], self.dofs, self.accelerations), path)

    def dense(self) -> Floats:
        """(nv,) all accelerations, zeros among them."""
        out = np.zeros(self.nv)
        out[self.dofs] = self.accelerations
        return out


class QuasiStatics(Pushed):
    """A body under forces, moved as if it were at rest at every instant, within a promised error.

        qs = supple.QuasiStatics(model, q, error=2**-19)
        qs.apply("hand", force=(0, 0, -1))
        for _ in range(1000):
            qs.step(1e-3)

    error: what is promised of the joint accelerations, in one of four measures [QS definition 2]. With e the difference
    between the accelerations and what is taken for them, "absolute-linkage" is |e|, "relative-linkage" |e| / |qdd|,
    "absolute-joint" the largest |e_j| of a joint, "relative-joint" that divided by the largest |qdd_j|. Zero means
    exact: every joint is computed.

    Velocities are zero throughout; a step of dt moves joints by dt^2 / 2 times their accelerations. A step costs as
    many nodes as it has joints to compute, and as lie above the bodies that are pushed; nothing in it grows with n.
    """

    def __init__(
        self,
        model: Model,
        q: ArrayLike | None = None,
        error: float = 2.0**-19,
        measure: Measure = "relative-joint",
        order: str | ArrayLike = "balanced",
    ) -> None:
        self.model, self.time = model, 0.0
        self._begin_pushes(model)
        self.measure = measure
        self.error = error
        assembly = assemble(model, order)
        self._tables: TreeTables = tree_tables(model, assembly)
        self._build(model, _state(model, q))

    def __repr__(self) -> str:
        body = f"{self.model.name!r}, {self.model.n_bodies:,} joints"
        forces = count(len(self._pushes), "force")
        return f"<QuasiStatics of {body} under {forces}: {self.measure} error {self.error:.3g}, at {self.time:.6g} s>"

    # --- what is asked --------------------------------------------------------------------------------------------

    @property
    def error(self) -> float:
        return self._error

    @error.setter
    def error(self, value: float) -> None:
        if not (np.isfinite(value) and value >= 0):
            raise StateError(f"the error must be zero (exact) or a positive number, not {value!r}")
        self._error = float(value)
        self._solved = False

    @property
    def measure(self) -> str:
        return self._measure

    @measure.setter
    def measure(self, value: str) -> None:
        if value not in _CODES:
            raise StateError(unknown("measure", str(value), MEASURES))
        self._measure = value
        self._solved = False

    @property
    def q(self) -> Floats:
        """(nq,) where the joints are: a view that follows, not to be written to; set_state moves them."""
        view = self._q[:]
        view.flags.writeable = False
        return view

    def set_state(self, q: ArrayLike) -> None:
        """Put all joints somewhere else: everything is computed anew, O(n)."""
        self._q[:] = _state(self.model, q)
        self._assemble()

    # --- forces ---------------------------------------------------------------------------------------------------

    def torque(self, joint: str | int, value: ArrayLike) -> None:
        """The force that a joint's actuator exerts from now on: one number for each of its degrees of freedom."""
        part = self.model.joints[joint]  # type: ignore[index]
        x = np.atleast_1d(as_floats("torque", value))
        if x.shape != (part.v.stop - part.v.start,) or not np.isfinite(x).all():
            raise StateError(f"joint {part.name!r} takes {part.v.stop - part.v.start} finite numbers, not {value!r}")
        self._desk.force[part.v] = x
        self._mark(int(self._tables.assembly.node_of[part.index]))

    # --- solving --------------------------------------------------------------------------------------------------

    def solve(
        self, error: float | None = None, joints: int | None = None, seconds: float | None = None
    ) -> Approximation:
        """The accelerations, as exactly as asked: the promised error (or another one, this time), or as good as so many
        joints, or so many seconds, allow."""
        if joints is None and seconds is None:
            self._go(error, _ALL)
            return self._result()
        return list(self.refine(error, joints, seconds))[-1]

    def refine(
        self, error: float | None = None, joints: int | None = None, seconds: float | None = None
    ) -> Iterator[Approximation]:
        """The same one joint at a time, the largest contribution first; stop whenever it is good enough.

        Goes on until the error is reached, so many joints are computed, or so many seconds have passed.
        """
        if joints is not None and (int(joints) != joints or joints < 0):
            raise StateError(f"joints must be a whole number, not below zero; not {joints!r}")
        if seconds is not None and not seconds >= 0:
            raise StateError(f"seconds must be a number, not below zero; not {seconds!r}")
        begun, count, before = time.perf_counter(), 0, -1
        while True:
            count = count + 1 if joints is None else min(count + 1, int(joints))
            self._go(error, count, again=before >= 0)
            yield self._result()
            done = int(self._counts[k.COMPUTED])
            late = seconds is not None and time.perf_counter() - begun >= seconds
            if done in (before, joints) or done < count or late:
                return
            before = done

    def step(self, dt: float) -> None:
        """Move on by dt: solve, then move the joints that were computed by dt^2 / 2 times their accelerations."""
        if not np.isfinite(dt):
            raise StateError(f"dt must be a finite number, not {dt!r}")
        tasks = k.ADVANCE if self._solved else k.RENEW | k.BEGIN | k.GO_ON | k.ADVANCE
        smallest = self._run(tasks, self._error, _CODES[self._measure], _ALL, 0.5 * dt * dt)
        self._check(smallest)
        self._solved = False
        self.time += dt

    def poses(self, bodies: Any = None) -> tuple[Floats, Floats]:
        """Rotations (m, 3, 3) and positions (m, 3) in the world of some bodies, named or numbered; of all by default.

        Costs O(log n) for each; nothing is disturbed.
        """
        if bodies is None:
            index = np.arange(self.model.n_bodies)
        else:
            index = np.array([self.model.body_index(b) for b in bodies], dtype=np.int64)
        out = np.empty((len(index), 12))
        k.poses_kernel.load()(self._desk.address, address_of(self._words), index, out)
        R = out[:, :9].reshape(-1, 3, 3) @ self._turns[index].transpose(0, 2, 1)
        return R, out[:, 9:].copy()

    def reach(self, error: float | None = None) -> int:
        """How many joints the forces reach at an error: QS section 6.4's measure of how complex the motion is."""
        self._go(error, _ALL)
        return int(self._counts[k.COMPUTED])

    def plot(self, path: str | None = None) -> Any:
        """How many joints the forces reach at errors of 1 down to 2^-19, as a matplotlib figure; saved if a path is
        given."""
        from supple.drawing import accelerations, saved

        errors = [2.0**-k for k in range(20)]
        joints = [self.reach(error) for error in errors]
        title = f"{self.model.name}: how far forces reach, at {self.time:.4g} s"
        return saved(accelerations.reach(title, errors, joints, self.model.n_bodies, self.measure), path)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _build(self, model: Model, q: Floats) -> None:
        tables, n, m = self._tables, model.n_bodies, self._tables.assembly.n_nodes
        ints = tables.ints
        self._q = q
        external, force, qdd = np.zeros(6 * n), np.zeros(model.nv), np.zeros(model.nv)
        self._desk = HostDesk(
            tables, np.zeros(tables.size), ints[8], ints[9], ints[10], np.zeros(12 * m), 12 * np.arange(m), q,
            external, force, qdd, keep_tails=True, kernels=node_kernels(),
        )  # fmt: skip
        R, r = tree_poses(model)
        trees = np.concatenate([R.reshape(n, 9), r], axis=1).reshape(-1)
        depth = tables.assembly.depth
        self._counts, self._numbers = np.zeros(k.COUNTS, dtype=np.int64), np.zeros(k.NUMBERS)
        self._numbers[k.GRAVITY : k.GRAVITY + 3] = model.gravity
        lists = [np.zeros(m, dtype=np.int64) for _ in range(3)]
        queue, values, visited = np.zeros(m + 1, dtype=np.int64), np.zeros(m + 1), np.zeros(m + 1, dtype=np.int64)
        none = np.zeros(0, dtype=np.int64)
        self._arrays = [
            *lists, np.zeros(depth + 1, dtype=np.int64), queue, values, visited, np.zeros(n, dtype=np.int64), trees,
            np.zeros(12 * m), np.zeros(12 * m), none, np.zeros(1, dtype=np.int64), np.zeros(0), none, self._counts,
            self._numbers,
        ]  # fmt: skip
        self._words = np.zeros(2 * len(self._arrays), dtype=np.int64)
        self._point_at_arrays()
        self._kernel = k.step_kernel.load()
        self._assemble()

    def _point_at_arrays(self) -> None:
        n = len(self._arrays)
        self._words[:n] = [address_of(a) for a in self._arrays]
        self._words[n:] = [a.size for a in self._arrays]

    def _assemble(self) -> None:
        self._solved = False
        self._check(self._run(k.BUILD, 0.0, 0, 0, 0.0))

    def _run(self, tasks: int, error: float, measure: int, most: int, factor: float) -> float:
        if not self._arranged:
            self._arrange()
        return float(self._kernel(self._desk.address, self._words.ctypes.data, tasks, error, measure, most, factor))

    def _go(self, error: float | None, most: int, again: bool = False) -> None:
        if error is not None and not (np.isfinite(error) and error >= 0):
            raise StateError(f"the error must be zero (exact) or a positive number, not {error!r}")
        wanted = self._error if error is None else float(error)
        tasks = k.GO_ON if again else k.RENEW | k.BEGIN | k.GO_ON
        self._solved = False
        self._check(self._run(tasks, wanted, _CODES[self._measure], most, 0.0))
        self._solved = error is None and most == _ALL  # what a step may use

    def _check(self, smallest: float) -> None:
        model, assembly = self.model, self._tables.assembly
        if not smallest > 0.0:
            body = model.body_names[int(assembly.item[self._counts[k.WORST]])]
            raise SingularError(
                f"body {body!r}, with what is joined to it, has no inertia in some direction, where its inverse is "
                "needed; give it mass and inertia"
            )
        if not np.isfinite(self._numbers[k.ROOT] + self._numbers[k.LARGEST]):
            computed = self._arrays[7][: self._counts[k.COMPUTED]]
            bad = [j for j in computed if not np.isfinite(self._desk.qdd[model.v_index[j]])]
            where = f"joint {model.joint_names[int(bad[0])]!r}" if bad else "the whole body"
            raise SimulationError(
                f"the acceleration of {where} is not finite at time {self.time:.6g}; the state before it is kept: use "
                "a smaller step or smaller forces"
            )

    def _result(self) -> Approximation:
        model = self.model
        joints = self._arrays[7][: self._counts[k.COMPUTED]].copy()
        count = np.array(NV)[model.joint_type[joints]]
        dofs = np.repeat(model.v_index[joints] - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
        low, high, root = (float(self._numbers[i]) for i in (k.LOW, k.HIGH, k.ROOT))
        return Approximation(joints, dofs, self._desk.qdd[dofs], (low, high), float(np.sqrt(root)), model.nv)

    def _mark(self, node: int) -> None:
        k.mark_kernel.load()(self._desk.address, address_of(self._words), node, k.FORCES)
        self._solved = False

    def _pushes_changed(self) -> None:
        self._solved = False

    def _no_longer_pushed(self, body: int) -> None:
        self._desk.external[6 * body : 6 * body + 6] = 0.0
        self._mark(int(self._tables.assembly.leaf_of[body]))

    def _push_rows(self) -> Floats:
        rows: Floats = self._arrays[13]
        return rows

    def _arrange(self) -> None:
        bodies, starts, rows, paths = self._arrangement(self._tables.assembly)
        self._arrays[11:15] = [bodies, starts, rows, paths]
        self._counts[k.PUSHED], self._counts[k.PATHS] = len(bodies), len(paths)
        self._point_at_arrays()


def _state(model: Model, q: ArrayLike | None) -> Floats:
    x = model.neutral() if q is None else as_floats("q", q)
    if x.shape != (model.nq,):
        raise StateError(f"q has shape {x.shape}; expected ({model.nq},)")
    POSES(model, x, None, None, None)  # refuses what is not finite or not of unit length, by name
    return x.copy()
