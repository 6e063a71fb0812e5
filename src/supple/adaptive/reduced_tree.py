"""The reduced tree in memory: the hybrid body in the form that exact/aba.py uses for a model, and its workspace."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.exact.aba import AbaBody, AbaDof, AbaPath
from supple.exact.call_kernels import Scratch
from supple.exact.motion import Axes
from supple.exact.tables import Body, DofTraits, aligned_rows, realigned
from supple.model.joint_poses import Axis
from supple.model.model import Model
from supple.spatial.algebra import Mat3, RigidInertia, Vec3
from supple.spatial.compiler import helper
from supple.spatial.cpu import LINE
from supple.spatial.fields import Floats, Integers, Number, Value
from supple.spatial.held import Held
from supple.spatial.pointing import Pointing
from supple.spatial.structs import Struct, Table
from supple.spatial.trig import RING, Turn


class ReducedShape(Struct, align=LINE):
    """Data of a reduced body, as BodyShape of exact/tables.py; its inertia is not split."""

    tree_R = Value(Mat3)
    tree_p = Value(Vec3)
    I = Value(RigidInertia)
    pitch = Number()


class ReducedTree(Struct):
    """The tables of the reduced tree."""

    bodies = Table(Body)
    shapes = Table(ReducedShape)
    dofs = Table(DofTraits)
    angles = Integers()  # storage for those of the tree
    path = Table(AbaPath)
    rows = Table(AbaBody)
    dof_rows = Table(AbaDof)
    axes = Table(Axis)
    ring = Table(Turn)
    zero_v = Floats()


class Reduced(NamedTuple):
    """The hybrid body in the form that exact/aba.py uses for a model."""

    n: Any
    n_angles: Any
    bodies: Any
    shapes: Any
    dofs: Any
    gravity: Any
    angles: Any


class ReducedScratch(NamedTuple):
    """The workspace of the articulated-body algorithm for it."""

    nv: Any
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
    work: Any  #: exact.call_kernels.Scratch
    angles: Any  #: storage for those of the tree


@helper
def open_reduced(hybrid):
    """The current reduced tree, and its workspace."""
    body, h = hybrid.body, hybrid.reduced
    m = Reduced(hybrid.n_joints, hybrid.n_angles, h.bodies, h.shapes, h.dofs, hybrid.gravity, h.angles)
    work = Scratch(h.path, h.rows, h.dof_rows, Axes(h.axes, h.ring), h.zero_v, 0, 0, body.nv)
    return m, ReducedScratch(
        body.nv,
        body.q,
        hybrid.v,
        hybrid.drive,
        body.qdd,
        h.zero_v,
        hybrid.momentum,
        hybrid.half,
        hybrid.gain,
        hybrid.effort,
        hybrid.impulse,
        work,
        h.angles,
    )


class ReducedTables(Pointing):
    """The tables, aligned to cache lines, and their struct."""

    _pointers = ("struct",)

    def __init__(self, model: Model) -> None:
        n, nv = model.n_bodies, model.nv
        self.tables: dict[str, NDArray[Any]] = dict(
            bodies=Body.zeros(n + 1), shapes=aligned_rows(ReducedShape, n + 1), dofs=DofTraits.zeros(nv),
            angles=np.zeros(2 * n, dtype=np.int64), path=aligned_rows(AbaPath, n + 1),
            rows=aligned_rows(AbaBody, n + 1), dof_rows=aligned_rows(AbaDof, nv), axes=aligned_rows(Axis, nv),
            ring=aligned_rows(Turn, RING), zero_v=np.zeros(nv),
        )  # fmt: skip
        self.tables["dofs"]["armature"], self.tables["dofs"]["damping"] = model.armature, model.damping
        self._point()

    def _point(self) -> None:
        self.tables = {name: realigned(a) for name, a in self.tables.items()}
        self.struct: Held = ReducedTree.of(**self.tables)
