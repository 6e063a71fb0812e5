"""A model as compiled code sees it: a few wide tables, one row a body, and the header through which a kernel finds
them.

Inside kernels body frames are turned so that the axis of a joint is z (universal joints: first axis x, second z; planar
joints: normal z). `outward` turns back: R_world_user = R_world_inside @ outward. Ball and free joints are not turned.

    bodies   (n, 8) int      parent, joint kind, first index in q, first index in v, slot, the parent's slot, whether
                             anything hangs on it, its first angle
    rows     (n, 24) float   tree rotation 9, tree offset 3, mass, first moment 3, the rotational inertia at the origin
                             split as k 1 + s s^T + t t^T: k, s 3, t 3 (cheaper to turn than the matrix); pitch
    inertias (n, 6) float    the rotational inertia again, as it is
    outward  (n, 9) float
    dofs     (nv, 2) float   armature, damping
    angles   (k,) int        the angles among the coordinates: their indices in q
    units    (k, 2) int      where unit vectors (quaternions; cosine and sine) sit in q: first index, length
    lam      (nv,) int       the expanded parent array [SF section 2], -1 for the world
    starts   (nv,) int       where row k of a matrix over that tree begins when its rows are packed (treematrix.py)
    depth    (nv,) int       how many numbers it has
    ends     (nv,) int       one past the last descendant of a degree of freedom
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.exact.treematrix import Pattern
from supple.model.inside import inside_inertias, inside_turns, tree_poses
from supple.model.joints import UNIT_PART, JointType
from supple.model.model import Model
from supple.model.topology import slots
from supple.spatial.algebra import (
    Vec3,
)
from supple.spatial.compiler import helper
from supple.spatial.pointing import Unmoved
from supple.spatial.references import PREFIX, address_of, floats_at, header_prefix, ints_at

PARENT, KIND, IQ, IV, SLOT, PARENT_SLOT, HAS_CHILDREN, ANGLE, BODY = range(9)
TREE_R, TREE_P, RIGID, SPLIT, PITCH, ROW = 0, 9, 12, 16, 23, 24
ARMATURE, DAMPING = range(2)
ALIGNMENT = 64  #: bytes; a cache line

(
    _N,
    _NQ,
    _NV,
    _BODIES,
    _ROWS,
    _OUTWARD,
    _DOFS,
    _UNITS,
    _N_UNITS,
    _GRAVITY,
    _ZEROS,
    _LAM,
    _STARTS,
    _DEPTH,
    _ENDS,
    _ANGLES,
    _N_ANGLES,
    _INERTIAS,
) = range(PREFIX, PREFIX + 18)
OWN = PREFIX + 18  #: where an algorithm's own words begin in a header


class Tables(NamedTuple):
    """What open_tables gives a kernel."""

    n: Any
    nq: Any
    nv: Any
    bodies: Any
    rows: Any
    outward: Any
    dofs: Any
    units: Any
    gravity: Any
    zeros: Any
    lam: Any
    starts: Any
    depth: Any
    ends: Any
    angles: Any
    inertias: Any


@helper
def open_tables(header):
    """The tables of the model that a header is of."""
    n, nv = header[_N], header[_NV]
    g = floats_at(header[_GRAVITY], (3,))
    return Tables(
        n,
        header[_NQ],
        nv,
        ints_at(header[_BODIES], (n, BODY)),
        floats_at(header[_ROWS], (n, ROW)),
        floats_at(header[_OUTWARD], (n, 9)),
        floats_at(header[_DOFS], (nv, 2)),
        ints_at(header[_UNITS], (header[_N_UNITS], 2)),
        Vec3(g[0], g[1], g[2]),
        floats_at(header[_ZEROS], (nv,)),
        ints_at(header[_LAM], (nv,)),
        ints_at(header[_STARTS], (nv,)),
        ints_at(header[_DEPTH], (nv,)),
        ints_at(header[_ENDS], (nv,)),
        ints_at(header[_ANGLES], (header[_N_ANGLES],)),
        floats_at(header[_INERTIAS], (n, 6)),
    )


class HostTables(Unmoved):
    """The tables, kept by the model for every algorithm."""

    def __init__(self, model: Model) -> None:
        n = model.n_bodies
        kind = np.where(model.joint_type == JointType.CONTINUOUS, JointType.REVOLUTE, model.joint_type)
        slot = slots(model.parent, model.subtree_end)
        self.n_slots = int(slot.max(initial=0)) + 1
        self.angles = _angles(model)
        self.bodies = np.ascontiguousarray(
            np.stack(
                [
                    model.parent,
                    kind,
                    model.q_index,
                    model.v_index,
                    slot,
                    np.where(model.parent < 0, 0, slot[model.parent]),
                    model.subtree_end > np.arange(1, n + 1),
                    np.searchsorted(self.angles, model.q_index),
                ],
                axis=1,
            ),
            dtype=np.int64,
        )
        Q = inside_turns(model)
        rows = aligned((n, ROW))
        R, p = tree_poses(model, Q)
        rows[:, TREE_R : TREE_R + 9] = R.reshape(n, 9)
        rows[:, TREE_P : TREE_P + 3] = p
        h, I = inside_inertias(model, Q)
        rows[:, RIGID] = model.mass
        rows[:, RIGID + 1 : RIGID + 4] = h
        self.inertias = aligned((n, 6))
        upper = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
        for k, (i, j) in enumerate(upper):
            self.inertias[:, k] = I[:, i, j]
        rows[:, SPLIT : SPLIT + 7] = _splits(model, I)
        rows[:, PITCH] = model.pitch
        self.rows = rows
        self.outward = np.ascontiguousarray(Q.transpose(0, 2, 1).reshape(n, 9))
        self.dofs = np.ascontiguousarray(np.stack([model.armature, model.damping], axis=1))
        parts = [(model.q_index[model.joint_type == t] + first, length) for t, (first, length) in UNIT_PART.items()]
        self.units = np.concatenate(
            [np.stack([start, np.full_like(start, length)], axis=1) for start, length in parts]
        ).astype(np.int64)
        self.units = np.ascontiguousarray(self.units[np.argsort(self.units[:, 0])])
        self.gravity = np.array(model.gravity)
        self.zeros = np.zeros(model.nv)
        sizes = [n, model.nq, model.nv]
        self.words = (
            header_prefix() + sizes + [address_of(x) for x in (self.bodies, self.rows, self.outward, self.dofs)]
        )
        self.words += [address_of(self.units), len(self.units), address_of(self.gravity), address_of(self.zeros)]
        last = np.append(model.v_index, model.nv)
        ends = np.repeat(last[model.subtree_end], np.diff(last))
        self.pattern = Pattern(model.expanded_parent, ends)
        pattern = self.pattern
        self.words += [address_of(x) for x in (pattern.packed_parent, pattern.starts, pattern.depth, pattern.ends)]
        self.words += [address_of(self.angles), len(self.angles), address_of(self.inertias)]


def aligned(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Zeros that begin with a cache line."""
    size = math.prod(shape)
    raw = np.zeros(size + ALIGNMENT // 8)
    skip = -address_of(raw) % ALIGNMENT // 8
    return raw[skip : skip + size].reshape(shape)


def realigned(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same numbers, beginning with a cache line."""
    out = aligned(x.shape)
    out[...] = x
    return out


def split_inertias(I: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, 7) k, s, t with I = k 1 + s s^T + t t^T: k the smallest eigenvalue, s and t along the other two axes."""
    k, axes = np.linalg.eigh(I)
    lengths = np.sqrt(np.maximum(k[:, 1:] - k[:, :1], 0.0))
    return np.concatenate([k[:, :1], axes[:, :, 1] * lengths[:, :1], axes[:, :, 2] * lengths[:, 1:]], axis=1)


def _splits(model: Model, I: NDArray[np.float64]) -> NDArray[np.float64]:
    """split_inertias; of a re-rooted model, only of the bodies that changed."""
    if "kin" not in model._work:
        return split_inertias(I)
    before, order, changed = model._work.pop("kin")
    out: NDArray[np.float64] = before.rows[order, SPLIT : SPLIT + 7]
    out[changed] = split_inertias(I[changed])
    return out


def _angles(model: Model) -> NDArray[np.int64]:
    """(k,) index in q of every coordinate that is an angle, in order."""
    turning = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.SCREW, JointType.CYLINDRICAL, JointType.UNIVERSAL)
    second = model.joint_type == JointType.UNIVERSAL
    both = np.concatenate([model.q_index[np.isin(model.joint_type, turning)], model.q_index[second] + 1])
    return np.sort(both)


def host_tables(model: Model) -> HostTables:
    tables: HostTables | None = model._work.get("tables")
    if tables is None:
        tables = model._work.setdefault("tables", HostTables(model))  # never replaced: headers hold its addresses
    return tables
