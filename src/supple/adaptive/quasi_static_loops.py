"""The loops of a body in quasi-statics: their forces, over the assembly tree or all at once; how they are closed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.loop_closing import close_kernel
from supple.adaptive.loop_forces import HeldBody, LoopForces
from supple.adaptive.loop_solution import loop_forces_kernel
from supple.adaptive.pushes import nodes_above
from supple.adaptive.whole_loops import probe_loops_kernel, whole_loops_kernel
from supple.assembly.tables import TreeTables
from supple.errors import SimulationError, SingularError
from supple.exact.assembling import CLOSED, size_of
from supple.exact.loop_tables import loop_tables
from supple.exact.with_loops import WITH_LOOPS
from supple.integrating.closing import Closing
from supple.model.model import Model
from supple.spatial.held import Held
from supple.spatial.pointing import Pointing

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_ROWS = 64  #: of loops, over the tree
PASSES = 12  #: besides one for each row: how often the nodes above the ends of loops are visited, up or down


class QuasiStaticLoops(Pointing):
    """The loops of a model, whose QuasiStaticBody is `memory`. bodies: those at the ends of loops, which count as
    pushed."""

    _pointers = ("_find", "_find_whole", "_close", "_probe", "_work", "_handle")

    def __init__(self, model: Model, tables: TreeTables, memory: Held) -> None:
        self._model, self._memory, assembly = model, memory, tables.assembly
        loops = loop_tables(model)
        n, rows = model.n_bodies, loops.n_rows
        self.bodies: Ints = np.flatnonzero(loops.captured >= 0)
        joints = np.array([model.dof_body[iv] for iv in loops.terms["iv"]], dtype=np.int64)
        nodes = np.concatenate([assembly.leaf_of[self.bodies], assembly.node_of[joints]])
        paths = nodes_above(assembly, nodes)
        #: Whether loops are few enough for the tree to pay.
        self.are_few = rows <= MOST_ROWS and (rows + PASSES) * len(paths) <= assembly.n_nodes
        self._most_joints = n // 12 + 64
        most = min(6 * (self._most_joints + len(paths)), model.nv)
        held_bodies, columns = HeldBody.zeros(len(self.bodies)), most * rows if self.are_few else 0
        held_bodies["body"] = self.bodies
        numbers = ("x", "y", "size", "gives", "yields", "scale", "change", "kept")
        self.held: Held = LoopForces.of(
            loops=loops, bodies=held_bodies, n_bodies=len(self.bodies), paths=paths, n_paths=len(paths),
            term_nodes=assembly.node_of[joints], own=np.zeros(model.nv), still=np.zeros(model.nv),
            **{name: np.zeros(rows) for name in numbers},
            **{name: np.zeros(rows, dtype=np.int64) for name in ("order", "chief")},
            L=np.zeros(rows * rows if self.are_few else 0),
            sides=_sides(model) if self.are_few else np.zeros(0, dtype=np.int64),
            taken=np.zeros(n, dtype=np.int64), joints=np.zeros(n, dtype=np.int64), columns=np.zeros(columns),
            moves=np.zeros(model.nv), kept_q=np.zeros(model.nq),
        )  # fmt: skip
        self._closing = Closing(model)
        self._least = CLOSED * size_of(model)  # over the tree, rounding does not grow with n
        self._point()

    def _point(self) -> None:
        self._find, self._find_whole = loop_forces_kernel.load(), whole_loops_kernel.load()
        self._close, self._probe = close_kernel.load(), probe_loops_kernel.load()
        self._work = WITH_LOOPS.work(self._model)
        self._handle = self._work.handle

    @property
    def own(self) -> Floats:
        """(nv,) the forces of joints, without those of relations."""
        own: Floats = self.held.own
        return own

    def among_pushed(self, pushed: Ints) -> None:
        """Note where the bodies are among the pushed ones."""
        self.held.bodies["pushed"] = np.searchsorted(pushed, self.bodies)

    def find(self) -> bool:
        """Find the forces of loops over the tree, whose nodes are up to date, and let them act."""
        return bool(self._find(self._memory.address, self.held.address))

    def find_whole(self) -> float:
        """The same for the whole body, with its accelerations. Returns the smallest D."""
        return float(self._find_whole(self._handle, self._memory.address, self.held.address))

    def probe_whole(self, draws: int) -> None:
        """Find how rounding errors of the whole body, which whole_kernel has noted, are amplified."""
        self._probe(self._handle, self._memory.address, self.held.address, draws)

    def close(self) -> bool:
        """Close loops after a step in which few joints moved, by these and a few more; false if they do not suffice."""
        few = self.are_few and self._memory.n_computed <= self._most_joints
        return few and bool(self._close(self._memory.address, self.held.address, self._least))

    def close_whole(self, time: float, q: Floats) -> None:
        """Close them by all joints; where that fails, q is again what it was before the step."""
        there = q.copy()
        q[:] = self.held.kept_q
        try:
            q[:], _ = self._closing(time, (there, np.zeros(self._model.nv)))
        except SingularError as error:
            raise SimulationError(
                f"at time {time:.6g} s, a step leads to where loops cannot be closed: {error}; the state before it is "
                "kept: use shorter steps or smaller forces",
                time,
            ) from error
        self.keep(q)

    def keep(self, q: Floats) -> None:
        """The loops are closed here: a position to come back to."""
        self.held.kept_q[:] = q


def _sides(model: Model) -> Ints:
    """(loops x n,) 1 for joints that move `other`, -1 for those that move `body`, 0 for those that move both."""
    out = np.zeros((len(model.loop_list), model.n_bodies), dtype=np.int64)
    for i, loop in enumerate(model.loop_list):
        for b, sign in ((loop.other, 1), (loop.body, -1)):
            while b >= 0:
                out[i, b] += sign
                b = int(model.parent[b])
    return out.ravel()
