"""Forward dynamics of models with loops: the state, its factors, and the solution, along fronts [fronts.py]."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.errors import SingularError
from supple.exact.aba import ROWS
from supple.exact.call_kernels import scratch_opener
from supple.exact.calls import TAU, WRENCHES, Algorithm, HostWork, Q, V
from supple.exact.front_builder import mechanism, n_rows
from supple.exact.front_rows import prepare_state, tell_rows
from supple.exact.front_solution import collect, collect_forces, improve, load_forces, solve_fronts
from supple.exact.front_tables import Mechanism
from supple.exact.fronts import factor_fronts
from supple.model.model import Model
from supple.spatial.compiler import helper
from supple.spatial.held import Held

Floats = NDArray[np.float64]


@helper
def loop_joints(m, state, out, work):
    """qdd and, if there is room for them, the forces along rows. Returns the smallest D."""
    mech = work.hubs[0]
    smallest = factor_state(m, state, mech, work)
    load_forces(m, state, mech, work)
    solve_fronts(mech)
    collect(m, mech, out, work)
    if work.n_out > m.nv:
        collect_forces(m, mech, out)
    if mech.is_uneven:
        improve(m, mech, out, work)
    return smallest


@helper
def factor_state(m, state, mech, work):
    """Everything that does not depend on forces. Returns the smallest D."""
    prepare_state(m, state, mech, work)
    tell_rows(mech, 1.0)
    return factor_fronts(mech)


def _inverse_D(model: Model, work: HostWork) -> Floats:
    dofs, out = work.call.hubs.dofs, np.ones(model.nv)
    mine = dofs["iv"] >= 0
    out[dofs["iv"][mine]] = dofs["d"][mine]
    return out


def _refuse(model: Model, work: HostWork) -> None:
    """Name the loop joint beyond which nothing has inertia, if that is what is wrong."""
    nodes, dofs = work.call.hubs.nodes, work.call.hubs.dofs
    bad = np.flatnonzero((dofs["iv"] < 0) & ~(np.isfinite(dofs["d"]) & (dofs["d"] > 0.0)))
    if len(bad):
        node = nodes[int(np.searchsorted(nodes["dof"] + nodes["n_dofs"], bad[-1], side="right"))]
        loop, body = model.loop_list[node["joint"]], model.body_names[node["body"]]
        raise SingularError(
            f"the mass matrix is singular: loop {loop.name!r} holds body {body!r}, which has no inertia in a direction "
            "in which the loop lets it move; give it mass or inertia"
        )


def were_redundant(model: Model) -> bool:
    """Whether rows depended on each other in the last state that WITH_LOOPS was given."""
    return bool(WITH_LOOPS.work(model).call.hubs.redundant)


def dependent_rows(model: Model, q: Floats) -> list[int]:
    """The rows that depend on others at a position, in the order of closure; those of joints of the model's tree that
    are cut come after these, and -1 is a combination of several."""
    WITH_LOOPS.general(model, q, np.zeros(model.nv), None, None)
    mech = WITH_LOOPS.work(model).call.hubs
    rows, found, fronts = _rows_passed_on(mech), [], mech.fronts
    dependent = fronts[fronts["n"] - fronts["n_open"] - fronts["n_kept"] > fronts["rank"]]
    for first, n, n_open, n_kept, rank in dependent[["places", "n", "n_open", "n_kept", "rank"]].tolist():
        columns = mech.places["pivot"][first + rank : first + n - n_open - n_kept]
        found += rows[first + columns - n_open].tolist()
    return found


def _rows_passed_on(mech: Held) -> NDArray[np.int64]:
    """Place.row, with rows that fronts passed on as they were, not as combinations."""
    out: NDArray[np.int64] = mech.places["row"].copy()
    fronts = mech.fronts
    for above in fronts[fronts["below"] >= 0]:
        i = int(above["below"])
        while i >= 0:
            front, n = fronts[i], int(fronts["n_kept"][i])
            if n and front["n"] == front["n_open"] + n:
                first = int(front["to"] + front["n_open"])
                there = mech.to[first : first + n] - int(above["n_open"])
                out[int(above["places"]) + there] = out[int(front["places"]) : int(front["places"]) + n]
            i = int(front["beside"])
    return out


_INPUTS = Q, V, TAU, WRENCHES
_ROWS = ROWS._replace(hubs=Mechanism)
front_scratch, _ = scratch_opener(_ROWS)
WITH_LOOPS = Algorithm(
    "aba with loops", loop_joints, _ROWS, _INPUTS, lambda m: (m.nv,), hubs=mechanism, inverse_D=_inverse_D,
    refuse=_refuse, lanes=False, method="aba",
)  # fmt: skip
#: Also the forces along all rows, in the order of closure.
WITH_FORCES = Algorithm(
    "aba with loops and forces", loop_joints, _ROWS, _INPUTS, lambda m: (m.nv + n_rows(m),), hubs=mechanism,
    inverse_D=_inverse_D, refuse=_refuse, lanes=False, like=WITH_LOOPS,
)  # fmt: skip
#: For models whose tables are given other armatures.
WITH_ARMATURES = Algorithm(
    "aba with loops and armatures", loop_joints, _ROWS, _INPUTS, lambda m: (m.nv,), lanes=False, like=WITH_LOOPS,
    hubs=lambda model: mechanism(model, armature=True), inverse_D=_inverse_D, refuse=_refuse,
)  # fmt: skip
