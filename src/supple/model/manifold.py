"""Positions as points on a manifold: neutral, random, integrate, difference, normalize. Also for batches.

Angles and displacements are added. Planar, ball and free joints move along the exponential map of SE(2), SO(3), SE(3)
with v in the body's frame, as in Pinocchio (moving.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import FINITE, REALS, take
from supple.errors import StateError
from supple.model.joints import ANGLES, KINDS, NQ, UNIT_PART, JointType

if TYPE_CHECKING:
    from supple.model.model import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PLAIN = tuple(t for t, kind in KINDS.items() if kind.nv and kind.unit is None)  #: joints whose coordinates add

UNLIMITED = 1e100  #: a limit beyond this counts as none
UNIT_TOLERANCE = 1e-6  #: tolerance for the squared length of a quaternion, or of cosine and sine
UNIT_KINDS = np.isin(np.arange(len(NQ)), list(UNIT_PART))  #: joints that have one


class Layout:
    """The position of each kind of coordinate: index arrays into q and v, made once per model."""

    def __init__(self, model: Model) -> None:
        kinds, iq, iv = model.joint_type, model.q_index, model.v_index

        def rows(kind: JointType, first: int, count: int, start: Ints) -> Ints:
            return np.asarray(start[kinds == kind][:, None] + np.arange(first, first + count))

        self.plain_q = np.concatenate([rows(t, 0, t.nq, iq).ravel() for t in PLAIN])
        self.plain_v = np.concatenate([rows(t, 0, t.nv, iv).ravel() for t in PLAIN])
        self.ball_q, self.ball_v = rows(JointType.BALL, 0, 4, iq), rows(JointType.BALL, 0, 3, iv)
        self.free_p, self.free_q = rows(JointType.FREE, 0, 3, iq), rows(JointType.FREE, 3, 4, iq)
        self.free_lin, self.free_ang = rows(JointType.FREE, 0, 3, iv), rows(JointType.FREE, 3, 3, iv)
        self.planar_q, self.planar_v = rows(JointType.PLANAR, 0, 4, iq), rows(JointType.PLANAR, 0, 3, iv)
        self.unit_parts = [rows(t, *UNIT_PART[t], iq) for t in UNIT_PART]
        self.ones = np.concatenate([iq[kinds == t] + KINDS[t].one for t in UNIT_PART])  #: 1 at the neutral position
        self.is_angle = np.zeros(model.nq, dtype=bool)
        for t in JointType:
            self.is_angle[rows(t, 0, ANGLES[t], iq)] = True


def layout(model: Model) -> Layout:
    return model._kept(Layout, lambda: Layout(model))


def checked(name: str, x: ArrayLike, n: int) -> Floats:
    """x as a float64 array whose last axis has length n, all finite."""
    out: Floats = take(name, x, REALS)
    if out.ndim not in (1, 2) or out.shape[-1] != n:
        raise StateError(f"{name} has shape {out.shape}; expected ({n},), or (B, {n}) for a batch")
    if not _all_finite(out):
        where = tuple(np.argwhere(~np.isfinite(out))[0].tolist())
        raise StateError(f"{name}{list(where)} is {out[where]}; every number must be finite")
    return out


def _all_finite(x: Floats) -> bool:
    return b"\0" not in np.isfinite(x).tobytes()  # for a few numbers, a third of the time of .all()


def check_units(model: Model, q: Floats, bodies: Ints) -> None:
    """Refuse a state in which the quaternion, or cosine and sine, of one of these bodies' joints is not of unit
    length."""
    kinds = model.joint_type[bodies]
    if not UNIT_KINDS[kinds].any():
        return
    for kind, (first, length) in UNIT_PART.items():
        some = bodies[kinds == kind]
        starts = model.q_index[some] + first
        squares = np.sum(q[starts[:, None] + np.arange(length)] ** 2, axis=1)
        bad = np.flatnonzero(~(np.abs(squares - 1.0) <= UNIT_TOLERANCE))
        if len(bad):
            joint, at, norm = model.joint_names[int(some[bad[0]])], int(starts[bad[0]]), np.sqrt(squares[bad[0]])
            what = "quaternion" if length == 4 else "cosine and sine"
            raise StateError(
                f"joint {joint!r}: the {what} in q[{at}:{at + length}] has length {norm:.9g}, not 1; use "
                "model.normalize(q)"
            )


def _finite(out: Floats) -> Floats:
    """A result, refused if it is not finite."""
    if not _all_finite(out):
        raise StateError("the numbers given are too large, or a quaternion (or cosine and sine) is zero")
    return out


def neutral(model: Model) -> Floats:
    q = np.zeros(model.nq)
    q[layout(model).ones] = 1.0
    return q


def random(model: Model, rng: np.random.Generator) -> Floats:
    at = layout(model)
    reach = np.where(at.is_angle, np.pi, 1.0)
    # Files use the largest float64, or its square root, for "no limit".
    low = np.where(np.abs(model.lower) < UNLIMITED, model.lower, -reach)
    high = np.where(np.abs(model.upper) < UNLIMITED, model.upper, np.maximum(reach, low))
    q = rng.uniform(np.minimum(low, high), high)
    for part in at.unit_parts:
        q[part] = rng.standard_normal(part.shape)
    return normalize(model, q)


def normalize(model: Model, q: ArrayLike) -> Floats:
    out = checked("q", q, model.nq).copy()
    for part in layout(model).unit_parts:
        if part.size:
            size = np.abs(out[..., part]).max(axis=-1, keepdims=True)  # whose square may overflow
            if np.any(size == 0):
                raise StateError("a quaternion (or the cosine and sine of a planar joint) is zero: it has no direction")
            out[..., part] /= size
            out[..., part] /= np.linalg.norm(out[..., part], axis=-1, keepdims=True)
    return out


def integrate(model: Model, q: ArrayLike, v: ArrayLike, dt: float) -> Floats:
    from supple.model.moving import move_all  # compiled: not needed to make a model

    q, v = _same_batch(checked("q", q, model.nq), checked("v", v, model.nv))
    out = np.empty(q.shape)
    move_all()(*_joints(model), *map(_rows, (q, v)), take("integrate: dt", dt, FINITE), _rows(out))
    return _finite(out)


def difference(model: Model, q0: ArrayLike, q1: ArrayLike) -> Floats:
    from supple.model.moving import between_all

    q0, q1 = _same_batch(checked("q0", q0, model.nq), checked("q1", q1, model.nq))
    out = np.empty((*q0.shape[:-1], model.nv))
    between_all()(*_joints(model), *map(_rows, (q0, q1, out)))
    return _finite(out)


def _joints(model: Model) -> tuple[Ints, Ints, Ints]:
    return model.joint_type, model.q_index, model.v_index


def _rows(x: Floats) -> Floats:
    """One state or many, as a contiguous batch; not copied if it already is one."""
    return np.ascontiguousarray(np.atleast_2d(x))


def _same_batch(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Give both the batch axis of either."""
    if a.ndim == 2 and b.ndim == 2 and a.shape[0] != b.shape[0]:
        raise StateError(f"batches of different lengths: {a.shape[0]} and {b.shape[0]}")
    if a.ndim == b.ndim:
        return a, b
    size = a.shape[0] if a.ndim == 2 else b.shape[0]
    return np.broadcast_to(a, (size, a.shape[-1])), np.broadcast_to(b, (size, b.shape[-1]))
