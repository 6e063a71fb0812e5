"""A model as compiled code sees it: a few tables of structs, one row per body or degree of freedom.

Inside kernels, body frames are rotated so that the axis of a joint is z (universal joints: first axis x, second z;
planar joints: normal z). `outward` rotates back: R_world_user = R_world_inside @ outward. Frames of ball and free
joints are not rotated.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from supple.exact.packing import Packing
from supple.exact.treematrix import Pattern
from supple.model.joints import IN_KERNELS, UNIT_PART
from supple.model.kernel_frames import inside_inertias, inside_turns, tree_poses
from supple.model.manifold import layout
from supple.model.model import Model
from supple.model.topology import slots
from supple.spatial.addresses import address_of
from supple.spatial.algebra import Force, Mat3, Sym3, Vec3
from supple.spatial.fields import Address, Integer, Integers, Number, Value
from supple.spatial.held import Held
from supple.spatial.pointing import Unmoved
from supple.spatial.structs import Link, Struct, Table

ALIGNMENT = 64  #: bytes; a cache line


class Body(Struct):
    """The position of a body in the tree."""

    parent = Integer()  # -1: the world
    kind = Integer()  # of its joint
    iq = Integer()  # its joint's first index in q
    iv = Integer()  # and in v
    slot = Integer()  # [topology.slots]
    parent_slot = Integer()
    has_children = Integer()
    angle = Integer()  # index of its joint's first angle, among all angles


class BodyShape(Struct):
    """The placement of a body's joint, and the body's inertia about its own origin. The rotational inertia is split,
    I = k 1 + s s^T + t t^T: cheaper to rotate than the matrix."""

    tree_R = Value(Mat3)  # the joint's frame in the parent's, before it moves
    tree_p = Value(Vec3)
    mass = Number()
    h = Value(Vec3)  # first moment
    k = Number()
    s = Value(Vec3)
    t = Value(Vec3)
    pitch = Number()


class OwnInertia(Struct):
    """The rotational inertia of a body, not split."""

    I = Value(Sym3)


class Outward(Struct):
    """The user's frame of a body relative to the one that kernels use."""

    R = Value(Mat3)


class DofTraits(Struct):
    """Properties of a degree of freedom."""

    armature = Number()
    damping = Number()


class UnitPart(Struct):
    """A unit vector among the coordinates: a quaternion, or cosine and sine."""

    first = Integer()  # index in q
    length = Integer()


class Wrench(Struct):
    """A wrench on a body, in its frame; or one that a joint carries."""

    f = Value(Force)


class Tables(Struct):
    """The model."""

    n = Integer()
    nq = Integer()
    nv = Integer()
    n_units = Integer()
    n_angles = Integer()
    gravity = Value(Vec3)
    bodies = Table(Body)
    shapes = Table(BodyShape)
    inertias = Table(OwnInertia)
    outward = Table(Outward)
    dofs = Table(DofTraits)
    units = Table(UnitPart)
    angles = Integers()  # the angles among the coordinates: their indices in q
    zero_v = Address()  # nv zeros
    packing = Link(Packing)  # of a matrix over the degrees of freedom


class HostTables(Unmoved):
    """The tables, kept by the model for every algorithm."""

    def __init__(self, model: Model) -> None:
        n = model.n_bodies
        slot = slots(model.parent, model.subtree_end)
        self.n_slots = int(slot.max(initial=0)) + 1
        angles = _angles(model)
        Q = inside_turns(model)
        h, I = inside_inertias(model, Q)
        last = np.append(model.v_index, model.nv)
        ends = np.repeat(last[model.subtree_end], np.diff(last))
        self.pattern = Pattern(model.expanded_parent, ends)
        self.shapes = _shapes(model, Q, h, I)
        self.tables: Held = Tables.of(
            n=n, nq=model.nq, nv=model.nv, gravity=model.gravity, shapes=self.shapes, packing=self.pattern._packing
        )
        inertias, outward, dofs = aligned_rows(OwnInertia, n), Outward.zeros(n), DofTraits.zeros(model.nv)
        inertias["I"] = I[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
        outward["R"] = Q.transpose(0, 2, 1).reshape(n, 9)
        dofs["armature"], dofs["damping"] = model.armature, model.damping
        units = _units(model)
        self.tables.bodies, self.tables.inertias, self.tables.outward = _bodies(model, slot, angles), inertias, outward
        self.tables.dofs, self.tables.zero_v = dofs, np.zeros(model.nv)
        self.tables.units, self.tables.n_units = units, len(units)
        self.tables.angles, self.tables.n_angles = angles, len(angles)
        self.address = self.tables.address


def _bodies(model: Model, slot: NDArray[np.int64], angles: NDArray[np.int64]) -> NDArray[np.void]:
    out = Body.zeros(model.n_bodies)
    out["parent"], out["iq"], out["iv"] = model.parent, model.q_index, model.v_index
    out["kind"] = np.array(IN_KERNELS)[model.joint_type]
    out["slot"], out["parent_slot"] = slot, np.where(model.parent < 0, 0, slot[model.parent])
    out["has_children"] = model.subtree_end > np.arange(1, model.n_bodies + 1)
    out["angle"] = np.searchsorted(angles, model.q_index)
    return out


def _shapes(model: Model, Q: NDArray[np.float64], h: NDArray[np.float64], I: NDArray[np.float64]) -> NDArray[np.void]:
    out = aligned_rows(BodyShape, model.n_bodies)
    R, p = tree_poses(model, Q)
    out["tree_R"], out["tree_p"] = R.reshape(-1, 9), p
    out["mass"], out["h"], out["pitch"] = model.mass, h, model.pitch
    split = _splits(model, I)
    out["k"], out["s"], out["t"] = split[:, 0], split[:, 1:4], split[:, 4:]
    return out


def _units(model: Model) -> NDArray[np.void]:
    parts = [(model.q_index[model.joint_type == t] + first, length) for t, (first, length) in UNIT_PART.items()]
    first = np.concatenate([start for start, _ in parts])
    out = UnitPart.zeros(len(first))
    out["first"], out["length"] = first, np.repeat([length for _, length in parts], [len(start) for start, _ in parts])
    ordered: NDArray[np.void] = out[np.argsort(first)]
    return ordered


def aligned(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Zeros aligned to a cache line."""
    size = math.prod(shape)
    raw = np.zeros(size + ALIGNMENT // 8)
    skip = -address_of(raw) % ALIGNMENT // 8
    return raw[skip : skip + size].reshape(shape)


def aligned_rows(struct: type[Struct], n: int) -> NDArray[np.void]:
    """n structs aligned to a cache line."""
    return aligned((n * struct.words,)).view(struct.dtype)


def realigned(x: NDArray[np.void]) -> NDArray[np.void]:
    """The same structs, aligned to a cache line."""
    out = aligned((x.nbytes // 8,)).view(x.dtype)
    out[...] = x
    return out


def split_inertias(I: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, 7) k, s, t with I = k 1 + s s^T + t t^T: k the smallest eigenvalue, s and t along the other two axes."""
    k, axes = np.linalg.eigh(I)
    lengths = np.sqrt(np.maximum(k[:, 1:] - k[:, :1], 0.0))
    return np.concatenate([k[:, :1], axes[:, :, 1] * lengths[:, :1], axes[:, :, 2] * lengths[:, 1:]], axis=1)


def _splits(model: Model, I: NDArray[np.float64]) -> NDArray[np.float64]:
    """split_inertias; for a re-rooted model, recomputed only for the bodies that changed."""
    before, order, changed = model._work.pop(inherit, (None, None, None))
    if before is None:
        return split_inertias(I)
    out: NDArray[np.float64] = np.column_stack([before.shapes[name][order] for name in ("k", "s", "t")])
    out[changed] = split_inertias(I[changed])
    return out


def _angles(model: Model) -> NDArray[np.int64]:
    """(k,) index in q of every coordinate that is an angle, in order."""
    return np.flatnonzero(layout(model).is_angle)


def host_tables(model: Model) -> HostTables:
    return model._kept(HostTables, lambda: HostTables(model))


def inherit(model: Model, before: Model, order: NDArray[np.int64], changed: NDArray[np.int64]) -> None:
    """Let a model inherit what was computed for another one, whose bodies are the same in another order, except those
    that changed."""
    if HostTables in before._work:
        model._work[inherit] = host_tables(before), order, changed
