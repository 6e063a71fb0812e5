"""The columns of a model, as kernels of re-rooting read them; and where bodies and joints are once a chain is reversed.
See reroot.py for the symbols."""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import types

from supple.model.geometry import rotation_to_z
from supple.model.joints import AXES, SWAPS, JointType
from supple.model.model import Model
from supple.spatial import fields
from supple.spatial.algebra import Mat3, Vec3, transpose
from supple.spatial.compiler import kernel
from supple.spatial.fields import Integer, Integers, Value
from supple.spatial.held import Held
from supple.spatial.structs import Embedded, Link, Struct, Table


class _Vector(Struct):
    """A row of a column: three numbers."""

    value = Value(Vec3)


class _Matrix(Struct):
    """Nine."""

    value = Value(Mat3)


class Placement(Struct):
    """Columns of a model, by body."""

    position = Table(_Vector)
    rotation = Table(_Matrix)
    axis = Table(_Vector)
    axis2 = Table(_Vector)
    com = Table(_Vector)
    inertia = Table(_Matrix)


class ModelColumns(Struct):
    """A model's own."""

    parent = Integers()
    kinds = Integers()
    iq = Integers()
    iv = Integers()
    pitch = fields.Floats()
    plane = Table(_Matrix)  # of planar joints: the axes of their planes, and the normals, as columns
    placement = Embedded(Placement)


def columns_of(model: Model) -> Held:
    """Those of a model; kept with it."""
    return model._kept(ModelColumns, lambda: _columns(model))


def _columns(model: Model) -> Held:
    planar = model.joint_type == JointType.PLANAR
    plane = np.zeros((model.n_bodies, 3, 3))
    plane[planar] = rotation_to_z(model.axis[planar])
    wide = {name: np.ascontiguousarray(getattr(model, name)) for name in Placement.fields}
    return ModelColumns.of(
        parent=model.parent, kinds=model.joint_type, iq=model.q_index, iv=model.v_index, pitch=model.pitch, plane=plane,
        **wide,
    )  # fmt: skip


class Reversal(Struct):
    """A model and the one that it becomes."""

    n = Integer()
    order = Integers()  # the old body with each new index
    users = Integers()  # the old body whose joint it has
    shift = Table(_Vector)  # of the old bodies' origins
    old = Link(ModelColumns)
    new = Embedded(Placement)


@kernel(types.void(Reversal.type), "reversal of a chain")
def _fill(reversal):  # type: ignore[no-untyped-def]
    """Fill the columns of the new model from those of the old."""
    old, new, shift = reversal.old, reversal.new, reversal.shift
    for b in range(reversal.n):
        i, j = reversal.order[b], reversal.users[b]
        up, kind = old.parent[i], old.kinds[j]
        new.com[b].value = old.com[i].value - shift[i].value
        new.inertia[b].value = old.inertia[i].value
        E, axis, axis2 = old.rotation[j].value, old.axis[j].value, old.axis2[j].value
        if i == j:  # off the chain, or its end
            r = old.position[i].value
            new.position[b].value = r - shift[up].value if up >= 0 else r
        else:  # J' = E J^-1 E^T
            new.position[b].value = shift[j].value * -1.0
            axis2 = E @ axis2 * -1.0
            if AXES[kind] > 0:  # otherwise it has no meaning, and does not change
                axis = E @ axis * -1.0
            if SWAPS[kind]:
                axis, axis2 = axis2, axis
            E = transpose(E)
        new.rotation[b].value = E
        new.axis[b].value = axis
        new.axis2[b].value = axis2


fill = cache(_fill.load)
