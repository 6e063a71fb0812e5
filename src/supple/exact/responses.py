"""The least motion, in the metric of the mass matrix, that closes loops or keeps them from opening.

    H dq = G^T x,  G dq = -phi        H dv = G^T x,  G dv = -G v

Both are accelerations of a body at rest under forces along the rows alone [fronts.py]: O(n) where loops are short.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.exact.call_kernels import call_at, no_wrenches
from supple.exact.front_rows import prepare_state, tell_rows
from supple.exact.front_solution import collect, load_nothing, solve_fronts
from supple.exact.fronts import factor_fronts
from supple.exact.motion import CallState
from supple.exact.with_loops import WITH_LOOPS, front_scratch
from supple.model.model import Model
from supple.spatial.addresses import vector
from supple.spatial.compiler import helper, kernel

Floats = NDArray[np.float64]


@helper
def respond(m, mech, change, work):
    """The motion by which rows move as their g says, at a state that is prepared. Returns the smallest D."""
    smallest = factor_fronts(mech)
    load_nothing(mech)
    solve_fronts(mech)
    collect(m, mech, change, work)
    return smallest


_f1 = types.float64[::1]


@kernel(types.float64(types.int64, _f1, _f1, types.boolean, types.float64, _f1), "responses to loops")
def _response(handle, q, v, to_gaps, share, change):
    """The change of q, or of v, that rows ask for. share: rows count of which this part remains of what tells rows
    apart."""
    call = call_at(handle)
    m, work, velocities = call.model, front_scratch(call), vector(v)
    mech = work.hubs[0]
    prepare_state(m, CallState(vector(q), velocities, velocities, False, no_wrenches()), mech, work)
    for r in range(mech.loops.n_rows):
        row = mech.loops.rows[r]
        row.g = -row.phi if to_gaps else -row.rate
    tell_rows(mech, share)
    return respond(m, mech, vector(change), work)


def _found(model: Model, q: Floats, v: Floats, to_gaps: bool, share: float) -> Floats:
    work, out = WITH_LOOPS.work(model), np.empty(model.nv)
    if not _response.load()(work.handle, q, v, to_gaps, share, out) > 0.0:
        WITH_LOOPS.general(model, q, v, None, None)  # names the joint
    return out


def closing_motion(model: Model, q: Floats, share: float) -> Floats:
    """dq: the motion that closes the loops, to first order. share: see row_scales.py; rows of which less remains
    are left out."""
    return _found(model, q, np.zeros(model.nv), True, share)


def closing_velocities(model: Model, q: Floats, v: Floats) -> Floats:
    """dv: what velocities v lack for loops not to open."""
    return _found(model, q, v, False, 1.0)
