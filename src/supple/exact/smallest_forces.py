"""The smallest forces along the rows of loops, where rows are redundant, of mechanisms of any size.

fronts.py takes the smallest ones among rows that are eliminated together. Over all rows, forces x with a given effect
G^T x are smallest if they are x = G y: y minimises |G y - x|. G is sparse: a row has numbers only for the joints from
its two ends up to the body where their ways to the root meet. Near singular positions G^T G has only half of the digits
that tell rows apart, and is never formed:

    [ d 1   G   ] [ r ]   [ x ]        (G^T G + d^2) y = G^T x
    [ G^T  -d 1 ] [ y ] = [ 0 ]

d is small beside what remains of rows that do not depend on others [row_scales.py], and large beside rounding. With the
remainder solved for again, it has no effect on these. What still differs of the effect, by the rounding of large y, is
made up for by forces r: those of the same equations with (0, G^T (x - G y)) on the right.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray
from scipy.sparse import block_array, csr_array, eye_array
from scipy.sparse.linalg import splu

from supple.exact.call_kernels import call_at
from supple.exact.closure import along, find_rows, loops_of, move_ends
from supple.exact.jacobians import axis_of
from supple.exact.kinematics import POSES, placed_scratch
from supple.exact.loop_tables import Loops
from supple.model.joint_poses import DOF
from supple.model.model import Model
from supple.spatial.addresses import vector
from supple.spatial.algebra import shift_force
from supple.spatial.compiler import helper, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LITTLE, TIMES = 1e-2, 6  #: of what remains of a row that does not depend on others; how often it is solved for


@helper
def add_joint(m, work, b, loop, loops, sign, place, rows, columns, values):
    """The numbers of joint b in the rows of a loop. Returns where the next ones go."""
    j = m.bodies[b].iv
    for r in range(loop.row, loop.row + 6 - DOF[loop.kind]):
        f = shift_force(loops.rows[r].P - work.bodies[b].P, loops.rows[r].f)
        for k in range(j, j + DOF[m.bodies[b].kind]):
            if rows.shape[0] > 0:
                rows[place], columns[place], values[place] = r, k, sign * along(f, axis_of(m, work, b, k))
            place += 1
    return place


_i1, _f1 = types.int64[::1], types.float64[::1]


@kernel(types.int64(types.int64, Loops.type, _f1, _f1, _i1, _i1, _f1), "sparse rows of loops")
def _sparse_rows(handle, loops, q, v, rows, columns, values):
    """The numbers of G, row by row, those of relations last. Returns how many there are; arrays without room are not
    filled."""
    call = call_at(handle)
    m, work, place = call.model, placed_scratch(call), 0
    move_ends(m, vector(q), vector(v), loops, work)
    find_rows(loops)
    for i in range(loops.n_loops):
        loop = loops.loops[i]
        a, b = loop.ends[0].body, loop.ends[1].body
        while a != b:  # parents have smaller numbers than their children
            if a > b:
                place = add_joint(m, work, a, loop, loops, -1.0, place, rows, columns, values)
                a = m.bodies[a].parent
            else:
                place = add_joint(m, work, b, loop, loops, 1.0, place, rows, columns, values)
                b = m.bodies[b].parent
    for i in range(loops.n_terms):
        if rows.shape[0] > 0:
            term = loops.terms[i]
            rows[place], columns[place], values[place] = term.row, term.iv, term.factor
        place += 1
    return place


def sparse_rows(model: Model, q: Floats) -> csr_array:
    """G at a position."""
    loops, run, still = loops_of(model), _sparse_rows.load(), np.zeros(model.nv)
    given = POSES.work(model).handle, loops.address, q, still
    none: tuple[Ints, Ints, Floats] = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    n = int(run(*given, *none))
    rows, columns, values = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    run(*given, rows, columns, values)
    return csr_array((values, (rows, columns)), shape=(loops.n_rows, model.nv))


def smallest_forces(model: Model, q: Floats, x: Floats, least: float) -> Floats:
    """The smallest forces along all rows with the effect of forces x. Rows of which less than `least` remains, of one,
    depend on others."""
    G = sparse_rows(model, q)
    rows, size = len(x), math.sqrt(float((G * G).sum(axis=0).max(initial=0.0)))
    if size == 0.0:
        return np.zeros_like(x)
    d = LITTLE * least * size
    factor = splu(block_array([[d * eye_array(rows), G], [G.T, -d * eye_array(model.nv)]]).tocsc())
    y = np.zeros(model.nv)
    for _ in range(TIMES):
        y += factor.solve(np.concatenate([x - G @ y, np.zeros(model.nv)]))[rows:]
    found: Floats = G @ y
    found += factor.solve(np.concatenate([np.zeros(rows), G.T @ (x - found)]))[:rows]
    return found
