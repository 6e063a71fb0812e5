"""Solutions of quasi-statics: over the assembly tree [QS], or of the whole body at once, where the tree would be slower
or not accurate enough."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive import backsubstitution as k
from supple.adaptive import whole_body as wh
from supple.adaptive.body_poses import poses_kernel
from supple.adaptive.light_bodies import UNIT, LightBodies
from supple.adaptive.memory import Pulls, Strain, quasi_static_memory
from supple.adaptive.outdated import FORCES, mark_kernel
from supple.adaptive.pace import Pace
from supple.adaptive.pushes import Pushes
from supple.adaptive.quasi_static_loops import QuasiStaticLoops
from supple.assembly.nodes import Absorbed
from supple.assembly.tables import tree_tables
from supple.assembly.tree import assemble
from supple.errors import SimulationError
from supple.exact.aba import ABA
from supple.exact.with_loops import WITH_LOOPS
from supple.model.model import Model
from supple.spatial.held import Held
from supple.spatial.pointing import Pointing

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ALL = 1 << 62
_ROUNDING = ("digits", "slid", "amplification", "amplification_in_all")  #: measured from time to time
#: Other forces and postures have shown errors, relative to their scale, up to this many times those of the probe,
#: unless bodies are very unlike [light_bodies.py].
DIGITS_SAFETY = 8192.0
USELESS = 1e-3  #: a tree with a larger relative error is not used
FARTHEST = 1e100  #: radians or metres that a joint moves in a step: float64 has their square, and sums of many


class Solver(Pointing):
    """A body that is solved again and again as it moves. measure: the code of the measure of errors [certificate.py].

    `memory`, a QuasiStaticBody, is shared with the kernels; it has the last solution, which is valid until `changed`.
    """

    _pointers = ("_kernel", "_whole_kernel", "_aba", "_handle")

    def __init__(self, model: Model, q: Floats, order: str | ArrayLike, pushes: Pushes, measure: int) -> None:
        self.model, self.q, self.pushes, self.measure = model, q, pushes, measure
        self.time, self.steps = 0.0, 0
        self.tables = tree_tables(model, assemble(model, order))
        self.memory: Held = quasi_static_memory(model, self.tables, q)
        self._loops = None if model.is_tree else QuasiStaticLoops(model, self.tables, self.memory)
        pushes.arranged = model.is_tree  # bodies at the ends of loops are among the pushed ones
        self._n_nodes = self.tables.assembly.n_nodes
        self._pace = Pace(model.n_bodies)
        self._light = LightBodies(model, self.tables)
        self.stamp = 0  #: changes with every change of forces or state, and with every solution
        self.solved = False  #: whether a step may use the last solution
        self.is_whole = False  #: whether that is one of the whole body
        lengths = np.linalg.norm(model.position[model.parent >= 0], axis=1)
        self._length = float(np.median(lengths[lengths > 0.0])) if (lengths > 0.0).any() else 1.0  #: of a link
        self._point()
        self.assemble()

    def _point(self) -> None:
        self._kernel, self._whole_kernel = k.step_kernel.load(), wh.whole_kernel.load()
        self._aba = ABA.work(self.model)
        self._handle = self._aba.handle

    def assemble(self) -> None:
        """Recompute everything at another position, and measure its accuracy."""
        if self._loops is not None:
            self._loops.keep(self.q)
        self._pace.probed = 0
        self._probe_digits(k.BUILD)

    # --- changes --------------------------------------------------------------------------------------------------

    def changed(self) -> None:
        """The last solution is no longer valid."""
        self.solved = self.is_whole = False
        self.stamp += 1

    def drive(self, dofs: slice, forces: ArrayLike, node: int) -> None:
        """Set the forces of the joint of a node."""
        self.memory.body.force[dofs] = forces
        if self._loops is not None:
            self._loops.own[dofs] = forces
        self.mark(node)

    def mark(self, node: int) -> None:
        """The forces in a node have changed."""
        mark_kernel.load()(self.memory.address, node, FORCES)
        self.changed()

    def no_longer_pushed(self, body: int) -> None:
        self.memory.body.external["f"][body] = 0.0
        self.mark(int(self.tables.assembly.leaf_of[body]))

    def _arrange(self) -> None:
        """Pass the pushes to the kernels."""
        qs = self.memory
        also = None if self._loops is None else self._loops.bodies
        qs.pushed, qs.push_start, qs.pushes, qs.paths = self.pushes.arrangement(self.tables.assembly, also)
        qs.n_pushed, qs.n_paths = len(qs.pushed), len(qs.paths)
        qs.strain, qs.pulls = Strain.zeros(len(qs.pushed)), Pulls.zeros(len(qs.pushed))
        if self._loops is not None:
            self._loops.among_pushed(qs.pushed)
        self.pushes.arranged = True

    # --- solving --------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Springs between two bodies pull to where the other end is now."""
        ends = self.pushes.ends
        if ends and self.memory.n_pushed:
            rows = np.empty((len(ends), 12))
            self.poses_into(np.array([end.body for end in ends], dtype=np.int64), rows)
            self.pushes.follow(rows)

    def _run(self, tasks: int, error: float = 0.0, most: int = 0, factor: float = 0.0) -> float:
        if not self.pushes.arranged:
            self._arrange()
        if tasks & k.RENEW:
            self._follow()
        result: float = self._kernel(self.memory.address, tasks, error, self.measure, most, factor)
        return result

    def _run_whole(self, tasks: int, error: float = 0.0, factor: float = 0.0) -> float:
        if not self.pushes.arranged:
            self._arrange()
        if tasks & (wh.SOLVE | wh.NOTE):
            self._follow()
        run = self._whole_kernel
        result: float = run(self._handle, self.memory.address, tasks, error, self.measure, factor)
        return result

    def meets(self, wanted: float) -> bool:
        met: bool = self.memory.high <= wanted
        return met

    def solve(self, wanted: float) -> None:
        """Solve within an error: over the assembly tree, or, where that would be slower or inaccurate, all at once."""
        qs, pace, done = self.memory, self._pace, False
        self.changed()
        if wanted > 0.0 and pace.tree(qs.n_dirty / self._n_nodes):
            done = self.over_tree(wanted, pace.budget) and qs.high <= wanted
            pace.tried(done, qs.n_touched + qs.n_visited)
        if not done:
            self.whole(wanted)
            pace.whole(qs.n_computed)

    def over_tree(self, wanted: float, most: int, again: bool = False) -> bool:
        """Solve over the assembly tree, for at most `most` joints; false if the result is unusable. again: continue the
        last solution."""
        qs = self.memory
        if self._loops is not None and not self._loops.are_few:
            return False
        if not again and (self._pace.digits_due() or qs.slid > self._length):
            self._probe_digits(k.ALL_FORCES)
        self.changed()
        if not again and not (self._run(k.RENEW) > 0.0 and (self._loops is None or self._loops.find())):
            return False
        smallest = self._run(k.GO_ON if again else k.BEGIN | k.GO_ON, wanted, most)
        return smallest > 0.0 and math.isfinite(qs.root + qs.largest)

    def whole(self, wanted: float) -> None:
        """Solve for all joints at once."""
        self.changed()
        qs = self.memory
        if not self._solve_whole(wanted) > 0.0:
            ABA.general(self.model, self.q, np.zeros(self.model.nv), qs.body.force, None)  # names what is singular
        self._check()
        stale = self._pace.stale_probe(qs.noise_level, math.sqrt(qs.largest), qs.slid / self._length)
        unlike = not self._light.alike(self.q)
        if stale or unlike or self._loops is not None:
            if self._probe_whole(unlike) > wh.LUCK:
                self._pace.probed = 0
            self._run_whole(wh.SELECT, wanted)
        self.is_whole = True

    def _solve_whole(self, wanted: float) -> float:
        """Returns the smallest D."""
        if self._loops is None:
            return self._run_whole(wh.SOLVE | wh.SELECT, wanted)
        self._run_whole(wh.NOTE)
        if not self._loops.find_whole() > 0.0:
            WITH_LOOPS.general(self.model, self.q, np.zeros(self.model.nv), None, None)  # names what is singular
        return self._run_whole(wh.SOLVE | wh.CLOSED | wh.SELECT, wanted)

    def _probe_whole(self, unlike: bool) -> float:
        """Returns the residual of the equations of motion, relative to the noise."""
        if self._loops is None:
            return self._run_whole(wh.PROBE | (wh.UNLIKE if unlike else 0))
        left = self._run_whole(wh.PROBE | wh.CLOSED)
        self._loops.probe_whole(wh.DRAWS if unlike else 1)
        return left

    def _check(self) -> None:
        if not math.isfinite(self.memory.root):
            bad = np.flatnonzero(~np.isfinite(self.memory.body.qdd))
            where = f"joint {self.model.joint_names[int(self.model.dof_body[bad[0]])]!r}" if len(bad) else "the body"
            raise SimulationError(
                f"the acceleration of {where} is not finite at time {self.time:.6g}; the state before it is kept: use "
                "a smaller step or smaller forces"
            )

    def advance(self, dt: float) -> None:
        """Move the computed joints by dt^2 / 2 times their accelerations."""
        factor = 0.5 * dt * dt
        moved = factor * math.sqrt(self.memory.largest)
        if not moved <= FARTHEST:
            raise SimulationError(f"a step of {dt:g} s moves joints beyond what float64 can tell; the state is kept")
        whole = self.is_whole
        if whole:
            self._run_whole(wh.ADVANCE_ALL, 0.0, factor)
        else:
            self._run(k.ADVANCE, 0.0, 0, factor)
        self.changed()
        if self._loops is not None:
            self._close(whole)
        self._pace.moved += moved
        self.time += dt
        self.steps += 1

    def _close(self, whole: bool) -> None:
        """Close loops after a step, or go back to where they were closed. whole: it was one of the whole body."""
        assert self._loops is not None
        if whole:
            self._run(k.SPANS)
        if not self._loops.close():
            try:
                self._loops.close_whole(self.time, self.q)
            finally:
                self._run(k.MARK_ALL)

    def poses_into(self, bodies: Ints, rows: Floats) -> None:
        """World poses of bodies, twelve numbers each."""
        self._run(k.SPANS)
        poses_kernel.load()(self.memory.address, bodies, rows)

    # --- the accuracy of the tree ---------------------------------------------------------------------------------

    def _probe_digits(self, tasks: int) -> None:
        """Measure the rounding errors of solutions over the tree, relative to their scale [assembly/rounding.py], by
        comparison with solutions of the whole body under random torques alone. The torques are equal in size at all
        joints, proportional to the joints' inertias, and in between, since light joints may hide the errors of heavy
        ones, or the reverse. What light bodies that carry heavy ones do in other postures, and under other forces, is
        known without measuring [light_bodies.py]."""
        self.changed()
        if not self.pushes.arranged:
            self._arrange()
        qs, off = self.memory, 0.0
        with self._torques_alone() as force:
            if self._run_whole(wh.SOLVE | wh.WEIGHTLESS) > 0.0:
                inertia = 1.0 / self._aba.dofs["d"]
                torque = np.random.default_rng(0).standard_normal(len(force))
                for power in (0.0, 0.5, 1.0):
                    force[:] = torque * inertia**power
                    off = max(off, self._difference(tasks))
                    tasks = k.ALL_FORCES
        qs.digits, qs.slid = max(DIGITS_SAFETY * max(off, UNIT), self._light.digits(self.q)), 0.0
        self._run(tasks | k.ALL_FORCES | k.RENEW)
        self._pace.probed_digits(qs.digits < USELESS)

    @contextmanager
    def _torques_alone(self) -> Iterator[Floats]:
        """No gravity and no pushes meanwhile; yields the forces of the joints, which are put back."""
        qs, force = self.memory, self.memory.body.force
        kept = force.copy(), qs.gravity.copy(), qs.n_pushed, qs.n_paths
        try:
            qs.body.external["f"] = qs.gravity = qs.n_pushed = qs.n_paths = qs.digits = 0
            yield force
        finally:
            force[:], qs.gravity, qs.n_pushed, qs.n_paths = kept

    def _difference(self, tasks: int) -> float:
        """The difference between a solution over the tree, after some tasks, and one of the whole body, relative to
        their scale: the largest over the trees of a forest."""
        if not self._run(tasks | k.RENEW | k.BEGIN | k.GO_ON, 0.0, _ALL) > 0.0:
            return np.inf
        body, tree = self.memory.body, self.memory.body.qdd.copy()
        self._run_whole(wh.SOLVE | wh.WEIGHTLESS)
        first = np.flatnonzero(self.model.parent < 0)
        node = self.tables.assembly.node_of[first]
        scale = np.sqrt(body.numbers[self.tables.node_at[node] + Absorbed.offsets["e_scale"]])
        off = np.maximum.reduceat(np.abs(tree - body.qdd), self.model.v_index[first])
        worst = float(np.max(off / np.where(scale > 0.0, scale, 1.0), initial=0.0))
        return worst if worst < np.inf else np.inf

    # --- going on -------------------------------------------------------------------------------------------------

    def save(self) -> dict[str, NDArray[Any]]:
        """The data that, besides q and forces, determine how it continues."""
        return {
            "marks": self.memory.marks.astype(np.int8),
            "pace": self._pace.save(),
            "rounding": np.array([getattr(self.memory, name) for name in _ROUNDING]),
            "solved": np.array([self.solved, self.is_whole]),
        }

    def restore(self, saved: dict[str, NDArray[Any]], error: float) -> None:
        """Continue from there, with the current q and forces. error: that of a step."""
        self._run(k.RENEW)  # anything set meanwhile
        self.changed()
        qs, dirty = self.memory, np.flatnonzero(saved["marks"])
        qs.marks[:] = saved["marks"]
        qs.dirty[: len(dirty)] = dirty
        qs.n_dirty, qs.stale = len(dirty), 1
        self._pace = Pace.restored(saved["pace"])
        for name, value in zip(_ROUNDING, saved["rounding"]):
            setattr(qs, name, value)
        self.solved, self.is_whole = (bool(x) for x in saved["solved"])
        if self.solved and self.is_whole:
            self._solve_whole(error)
        elif self.solved:
            self._run(k.RENEW)
            if self._loops is not None:
                self._loops.find()
            self._run(k.BEGIN | k.GO_ON, error, self._pace.budget)


def tree_digits(model: Model, q: Floats, order: str | ArrayLike) -> float:
    """The error of solutions over an assembly tree of a model at q, relative to their scale."""
    digits: float = Solver(model, q.copy(), order, Pushes(model), 0).memory.digits
    return digits
