"""The motion of the last body of a chain of bodies, from the joints of the chain alone. O(length of the chain).

Along world axes: V and A are the spatial velocity and acceleration (without gravity) of the body, at its origin. B is
the orientation of the body if every joint of the chain were neutral: its bind orientation [RR (9)].

Rounding: after m joints, a rotation has an error of some m eps, and so does everything that it rotates. A result near
the world that was computed via ten thousand links is as accurate as the largest intermediate number allows, not
relative to its own size.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.errors import ModelError
from supple.model.joint_poses import JointPlace, OwnAxes, move_joint_frame
from supple.model.model import Model
from supple.rerooting.placement import ModelColumns, columns_of
from supple.spatial import fields
from supple.spatial.algebra import Mat3, Motion, Vec3, crm, shift_motion
from supple.spatial.compiler import helper, kernel
from supple.spatial.fields import Integer, Integers, Number, Value
from supple.spatial.held import Held
from supple.spatial.structs import Link, Struct

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDING = 4 * np.finfo(float).eps  #: per joint of a chain, relative to the largest intermediate number


class End(NamedTuple):
    """The last body of a chain: R, p, B, and V, A of six numbers each, angular first. rounding: its possible effect on
    the numbers in R, p, V and A."""

    R: Floats
    p: Floats
    B: Floats
    V: Floats
    A: Floats
    rounding: Floats


class ChainMotion(Struct):
    """The state of a chain, and the motion of its last body."""

    model = Link(ModelColumns)
    body = Integer()  # the last
    q = fields.Floats()
    v = fields.Floats()
    a = fields.Floats()
    chain = Integers()  # the bodies, from the world on; room for all
    length = Integer()  # how many they are
    R = Value(Mat3)
    p = Value(Vec3)
    B = Value(Mat3)
    V = Value(Motion)
    A = Value(Motion)
    far = Number()  # the largest numbers on the way: of p, V and A
    fast = Number()
    faster = Number()


@helper
def _largest(so_far, m):  # type: ignore[no-untyped-def]
    """The largest number of a motion and those before it."""
    for c in range(3):
        so_far = max(so_far, abs(m.ang[c]), abs(m.lin[c]))
    return so_far


@helper
def _find_chain(c):  # type: ignore[no-untyped-def]
    """The chain from the world to the body. Returns its length."""
    parent, length = c.model.parent, 0
    i = c.body
    while i >= 0:
        length += 1
        i = parent[i]
    i = c.body
    for m in range(length - 1, -1, -1):
        c.chain[m] = i
        i = parent[i]
    return length


@kernel(types.void(ChainMotion.type), "motion of a chain")
def _chain_end(c):  # type: ignore[no-untyped-def]
    """The chain from the world to a body, and the motion of that body."""
    model, length = c.model, _find_chain(c)
    P = Vec3(0.0, 0.0, 0.0)
    R = Mat3(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))
    B, V, A = R, Motion(P, P), Motion(P, P)
    far, fast, faster = 0.0, 0.0, 0.0
    for m in range(length):
        b = c.chain[m]
        tree, r = model.rotation[b].value, R @ model.position[b].value
        joint = JointPlace(model.kinds[b], model.iq[b], model.iv[b], 0, model.pitch[b])
        own = OwnAxes(model.axis[b].value, model.axis2[b].value, model.plane[b].value)
        B = B @ tree
        R, r, w, u, dw, du = move_joint_frame(joint, own, R @ tree, r, c.q, c.v, c.a)
        P = P + r
        v_J = Motion(R @ w, R @ u)
        V = shift_motion(r, V) + v_J
        bent = crm(V, v_J)
        A = shift_motion(r, A) + bent + Motion(R @ dw, R @ du)
        far = max(far, abs(P.x), abs(P.y), abs(P.z))
        fast, faster = _largest(fast, V), _largest(_largest(faster, bent), A)
    c.length, c.R, c.p, c.B, c.V, c.A = length, R, P, B, V, A
    c.far, c.fast, c.faster = far, fast, faster


_kernel = cache(_chain_end.load)


def chain_end(model: Model, body: int, q: Floats, v: Floats | None, a: Floats | None) -> tuple[Ints, End]:
    """The chain of bodies from the world to a body, and the motion of that body (at rest if v or a are not given)."""
    n, zeros = model.n_bodies, np.zeros(model.nv)
    if not 0 <= body < n:
        raise ModelError(f"there is no body {body}: this model has {n}, numbered from 0")
    chain = np.empty(n, dtype=np.int64)
    v, a = zeros if v is None else v, zeros if a is None else a
    c: Held = ChainMotion.of(model=columns_of(model), body=body, q=q, v=v, a=a, chain=chain)
    _kernel()(c.address)
    rounding = ROUNDING * c.length * np.array([1.0, c.far, c.fast, c.faster])
    return chain[: c.length], End(c.R.reshape(3, 3), c.p, c.B.reshape(3, 3), c.V, c.A, rounding)
