"""The reduced tree in memory: the hybrid body as exact/aba.py takes a model, and room to work on it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.exact.aba import BODY_ROW, DOF_ROW, PATH_ROW
from supple.exact.motion import AXIS, Axes
from supple.exact.tables import BODY, ROW, aligned, realigned
from supple.spatial.compiler import helper
from supple.spatial.indexing import as_array
from supple.spatial.pointing import Pointing
from supple.spatial.references import address_of, floats_at, int_vector, ints_at
from supple.spatial.trig import RING


class Reduced(NamedTuple):
    """The hybrid body as exact/aba.py takes a model."""

    n: Any
    bodies: Any
    rows: Any
    dofs: Any
    gravity: Any
    angles: Any


class Scratch(NamedTuple):
    """What the articulated-body algorithm needs to work on it."""

    q: Any
    v: Any
    drive: Any
    qdd: Any
    zeros: Any
    momentum: Any
    half: Any
    gain: Any
    effort: Any
    impulse: Any
    path: Any
    work: Any
    axes: Any
    dofs: Any
    angles: Any  #: room for those of the tree


_BODIES, _ROWS, _DOFS, _ANGLES, _PATH, _WORK, _AXES, _RING, _SCRATCH, _ZEROS = range(10)


@helper
def open_reduced(hybrid):
    """The reduced tree as it is now, and scratch."""
    body, h = hybrid.body, hybrid.reduced
    n, nq, nv = body.tree.n, body.nq, body.nv
    m = Reduced(
        hybrid.n_joints,
        ints_at(h[_BODIES], (n + 1, BODY)),
        floats_at(h[_ROWS], (n + 1, ROW)),
        floats_at(h[_DOFS], (nv, 2)),
        hybrid.gravity,
        ints_at(h[_ANGLES], (hybrid.n_angles,)),
    )
    return m, Scratch(
        as_array(body.q, nq),
        as_array(hybrid.v, nv),
        as_array(hybrid.drive, nv),
        as_array(body.qdd, nv),
        floats_at(h[_ZEROS], (nv,)),
        as_array(hybrid.momentum, nv),
        as_array(hybrid.half, nv),
        as_array(hybrid.gain, nv),
        as_array(hybrid.effort, nv),
        as_array(hybrid.impulse, nv),
        floats_at(h[_PATH], (n + 1, PATH_ROW)),
        floats_at(h[_WORK], (n + 1, BODY_ROW)),
        Axes(floats_at(h[_AXES], (nv, AXIS)), floats_at(h[_RING], (RING, 2))),
        floats_at(h[_SCRATCH], (nv, DOF_ROW)),
        int_vector(h[_ANGLES], 2 * n),
    )


class ReducedTables(Pointing):
    """The tables, and their addresses."""

    _pointers = ("words",)

    def __init__(self, n: int, nv: int) -> None:
        self.tables: list[NDArray[Any]] = [
            np.zeros((n + 1, BODY), dtype=np.int64), aligned((n + 1, ROW)), np.zeros((nv, 2)),
            np.zeros(2 * n, dtype=np.int64), aligned((n + 1, PATH_ROW)), aligned((n + 1, BODY_ROW)),
            aligned((nv, AXIS)), aligned((RING, 2)), aligned((nv, DOF_ROW)), np.zeros(nv),
        ]  # fmt: skip
        self._point()

    def _point(self) -> None:
        self.tables = [realigned(a) if a.dtype == np.float64 else a for a in self.tables]
        self.words = np.array([address_of(a) for a in self.tables], dtype=np.int64)
