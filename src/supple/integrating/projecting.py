"""Back to where loops are closed: positions and velocities after a step, by the least motion in the metric of H.

    H dq = G^T x,  G dq = -phi        H dv = G^T x,  G dv = -G v        [exact/closure.py]

Both are responses to forces along the rows alone [exact/responses.py]: the projection is as exact, as quick and as sure
with redundant rows as the dynamics. Velocities change by what an impact
that closes the rows would do: the kinetic energy does not grow.

Steps for positions are repeated until the loops are closed as far as rounding allows. Which rows count as redundant
depends on the gap [row_scales.py]: if it does not become smaller without them, fewer are left out. With redundant
rows a last step makes it as small as it can be, because a singular position is seen the more sharply, the smaller the
gap.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.exact.call_kernels import Call, no_wrenches
from supple.exact.front_rows import prepare_state, tell_rows
from supple.exact.motion import CallState
from supple.exact.responses import respond
from supple.exact.with_loops import WITH_LOOPS, front_scratch
from supple.integrating.chart import move_into
from supple.model.model import Model
from supple.spatial import fields
from supple.spatial.compiler import helper, kernel
from supple.spatial.fields import Integer, Number
from supple.spatial.held import Held
from supple.spatial.pointing import Pointing
from supple.spatial.structs import Link, Struct

Floats = NDArray[np.float64]

MOST = 40  #: steps for positions
STUCK = 0.5  #: a step that leaves more than this of the gap did not help
#: What remains of a row for it to count: a share of what tells rows apart; less after a step that did not help.
FIRST_SHARE, STRICTER, STRICTEST = 0.03, 0.1, 1e-5
LARGE = 100.0  #: coordinates whose rounding, some 1e-14, is seen
LARGEST = 1e6  #: coordinates beyond which gaps may be no larger
REFUSED = 1e3  #: times as far as loops may stay open: those that do are not closed
CLOSED, OPEN, LOST = 0, 1, 2  #: what came of it: closed, not closed, or a singular mass matrix


class Projection(Struct):
    """A state, and memory for its projection."""

    call = Link(Call)
    q = fields.Floats()  # (nq,)
    v = fields.Floats()  # (nv,)
    change = fields.Floats()  # (nv,)
    still = fields.Floats()  # (nv,) zeros
    least = Number()  # how far loops may stay open: metres, radians
    left = Number()  # how far they do
    worst = Integer()  # along which row


@kernel(types.int64(Projection.type), "closing loops", effort=2)
def project_kernel(projection):
    """Project q, then v."""
    call, q, v = projection.call, projection.q, projection.v
    m, work, change = call.model, front_scratch(call), projection.change
    mech = work.hubs[0]
    loops, mech.redundant = mech.loops, 0
    before, share, least, polished = np.inf, FIRST_SHARE, least_gap(projection, m.nq), False
    for _ in range(MOST):
        prepare_state(m, CallState(q, v, projection.still, False, no_wrenches()), mech, work)
        find_gap(loops, projection)
        gap = projection.left
        if gap <= least:
            if polished or mech.redundant == 0:
                break
            polished = True
        elif share < STRICTEST and gap <= REFUSED * least:
            break
        if gap > STUCK * before:
            share *= STRICTER
        for r in range(loops.n_rows):
            loops.rows[r].g = -loops.rows[r].phi
        tell_rows(mech, share)
        if not respond(m, mech, change, work) > 0.0:
            return LOST
        move_into(m, q, change, 1.0, q)
        before = gap
    for r in range(loops.n_rows):  # at the last position
        loops.rows[r].g = -loops.rows[r].rate
    tell_rows(mech, 1.0)
    if not respond(m, mech, change, work) > 0.0:
        return LOST
    for j in range(m.nv):
        v[j] += change[j]
    return CLOSED if projection.left <= REFUSED * least else OPEN


@helper
def least_gap(projection, nq):
    """How far loops may stay open: more where coordinates are so large that their rounding opens them."""
    most = 0.0
    for i in range(nq):
        most = max(most, abs(projection.q[i]))
    return projection.least * (1.0 + min(most, LARGEST) / LARGE)


@helper
def find_gap(loops, projection):
    """The widest gap, and its row."""
    projection.left, projection.worst = 0.0, 0
    for r in range(loops.n_rows):
        gap = abs(loops.rows[r].phi)
        if not gap <= projection.left:
            projection.left, projection.worst = gap, r


class Projector(Pointing):
    """Closes the loops of a model. least: how far they may stay open; a thousand times that is refused."""

    _pointers = ("memory", "_run")

    def __init__(self, model: Model, least: float) -> None:
        self._model, self._least = model, least
        self.q, self.v = np.zeros(model.nq), np.zeros(model.nv)
        self._point()

    def _point(self) -> None:
        still = np.zeros(self._model.nv)
        self.memory: Held = Projection.of(
            call=WITH_LOOPS.work(self._model).call, q=self.q, v=self.v, change=still.copy(), still=still,
            least=self._least,
        )  # fmt: skip
        self._run = project_kernel.load()

    def __call__(self, q: Floats, v: Floats) -> tuple[Floats, Floats, int]:
        """q and v with all loops closed; and CLOSED, or what is wrong."""
        self.q[:], self.v[:] = q, v
        status = int(self._run(self.memory.address))
        return self.q.copy(), self.v.copy(), status

    @property
    def left(self) -> tuple[float, int]:
        """The widest gap that is left, and its row."""
        return float(self.memory.left), int(self.memory.worst)
