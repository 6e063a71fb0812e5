"""Positions as points on a manifold: neutral, random, integrate, difference, normalize. Vectorised over joints and
batches.

Angles and displacements add. Planar, ball and free joints move along the exponential map of SE(2), SO(3), SE(3) with
v in the body's frame, as Pinocchio's do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import FINITE, REALS, take
from supple.errors import StateError
from supple.model.joints import UNIT_PART, JointType

if TYPE_CHECKING:
    from supple.model.model import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PLAIN = (
    JointType.REVOLUTE,
    JointType.CONTINUOUS,
    JointType.PRISMATIC,
    JointType.SCREW,
    JointType.CYLINDRICAL,
    JointType.UNIVERSAL,
)

UNLIMITED = 1e100  #: a limit beyond this is none


class Layout:
    """Where each kind of coordinate sits: index arrays into q and v, made once a model."""

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


def layout(model: Model) -> Layout:
    made: Layout | None = model._work.get("layout")
    if made is None:
        made = model._work["layout"] = Layout(model)
    return made


_quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")  #: what is too large is refused in words


def checked(name: str, x: ArrayLike, n: int) -> Floats:
    """x as a float64 array whose last axis has length n, all its numbers finite."""
    out: Floats = take(name, x, REALS)
    if out.ndim not in (1, 2) or out.shape[-1] != n:
        raise StateError(f"{name} has shape {out.shape}; expected ({n},), or (B, {n}) for a batch")
    if not _all_finite(out):
        where = tuple(np.argwhere(~np.isfinite(out))[0].tolist())
        raise StateError(f"{name}{list(where)} is {out[where]}; every number must be finite")
    return out


def _all_finite(x: Floats) -> bool:
    return b"\0" not in np.isfinite(x).tobytes()  # a third of what .all() takes of a few numbers


def _finite(out: Floats) -> Floats:
    """A result, refused if it is none."""
    if not _all_finite(out):
        raise StateError("the numbers given are too large, or a quaternion (or cosine and sine) is zero")
    return out


def neutral(model: Model) -> Floats:
    q = np.zeros(model.nq)
    at = layout(model)
    q[at.ball_q[:, 3]] = 1.0
    q[at.free_q[:, 3]] = 1.0
    q[at.planar_q[:, 2]] = 1.0
    return q


def random(model: Model, rng: np.random.Generator) -> Floats:
    at = layout(model)
    reach = np.ones(model.nq)
    turning = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.SCREW, JointType.UNIVERSAL, JointType.CYLINDRICAL)
    reach[model.q_index[np.isin(model.joint_type, turning)]] = np.pi
    reach[model.q_index[model.joint_type == JointType.UNIVERSAL] + 1] = np.pi
    # Files write the largest float64, or the root of it, for "no limit".
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
            size = np.abs(out[..., part]).max(axis=-1, keepdims=True)  # whose square may be beyond float64
            if np.any(size == 0):
                raise StateError("a quaternion (or the cosine and sine of a planar joint) is zero: it has no direction")
            out[..., part] /= size
            out[..., part] /= np.linalg.norm(out[..., part], axis=-1, keepdims=True)
    return out


@_quiet
def integrate(model: Model, q: ArrayLike, v: ArrayLike, dt: float) -> Floats:
    q, v = _same_batch(checked("q", q, model.nq), checked("v", v, model.nv) * take("integrate: dt", dt, FINITE))
    return _finite(_moved(layout(model), q, v))


def _moved(at: Layout, q: Floats, v: Floats) -> Floats:
    if at.plain_q.size == q.shape[-1]:  # q and v have the same coordinates
        return q + v
    out = np.array(q)
    out[..., at.plain_q] = q[..., at.plain_q] + v[..., at.plain_v]
    if at.ball_q.size:
        out[..., at.ball_q] = _multiply(q[..., at.ball_q], _exp(v[..., at.ball_v]))
    if at.free_q.size:
        quat, w = q[..., at.free_q], v[..., at.free_ang]
        out[..., at.free_p] = q[..., at.free_p] + _rotate(quat, _left(w, v[..., at.free_lin]))
        out[..., at.free_q] = _multiply(quat, _exp(w))
    if at.planar_q.size:
        out[..., at.planar_q] = _planar_move(q[..., at.planar_q], v[..., at.planar_v])
    return out


@_quiet
def difference(model: Model, q0: ArrayLike, q1: ArrayLike) -> Floats:
    q0, q1 = _same_batch(checked("q0", q0, model.nq), checked("q1", q1, model.nq))
    return _finite(_between(layout(model), q0, q1, model.nv))


def _between(at: Layout, q0: Floats, q1: Floats, nv: int) -> Floats:
    if at.plain_q.size == q0.shape[-1]:
        return q1 - q0
    out = np.zeros(q0.shape[:-1] + (nv,))
    out[..., at.plain_v] = q1[..., at.plain_q] - q0[..., at.plain_q]
    if at.ball_q.size:
        out[..., at.ball_v] = _log(_multiply(_conjugate(q0[..., at.ball_q]), q1[..., at.ball_q]))
    if at.free_q.size:
        back = _conjugate(q0[..., at.free_q])
        w = _log(_multiply(back, q1[..., at.free_q]))
        out[..., at.free_ang] = w
        out[..., at.free_lin] = _left_inverse(w, _rotate(back, q1[..., at.free_p] - q0[..., at.free_p]))
    if at.planar_q.size:
        out[..., at.planar_v] = _planar_difference(q0[..., at.planar_q], q1[..., at.planar_q])
    return out


def _same_batch(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Give both the batch axis that either has."""
    if a.ndim == 2 and b.ndim == 2 and a.shape[0] != b.shape[0]:
        raise StateError(f"batches of different lengths: {a.shape[0]} and {b.shape[0]}")
    if a.ndim == b.ndim:
        return a, b
    size = a.shape[0] if a.ndim == 2 else b.shape[0]
    return np.broadcast_to(a, (size, a.shape[-1])), np.broadcast_to(b, (size, b.shape[-1]))


# --- quaternions (x, y, z, w) ---------------------------------------------------------------------------------------


def _multiply(a: Floats, b: Floats) -> Floats:
    av, aw, bv, bw = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vector = aw * bv + bw * av + np.cross(av, bv)
    out = np.concatenate([vector, aw * bw - np.sum(av * bv, axis=-1, keepdims=True)], axis=-1)
    return np.asarray(out / np.linalg.norm(out, axis=-1, keepdims=True))


def _conjugate(a: Floats) -> Floats:
    return np.asarray(a * np.array([-1.0, -1.0, -1.0, 1.0]))


def _rotate(a: Floats, x: Floats) -> Floats:
    u, w = a[..., :3], a[..., 3:]
    t = 2.0 * np.cross(u, x)
    return x + w * t + np.cross(u, t)


def _exp(w: Floats) -> Floats:
    """The quaternion that turns by the vector w."""
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    return np.concatenate([0.5 * w * np.sinc(angle / (2 * np.pi)), np.cos(angle / 2)], axis=-1)


def _log(a: Floats) -> Floats:
    """The rotation vector, of length at most π, of a quaternion."""
    a = np.where(a[..., 3:] < 0, -a, a)
    s = np.linalg.norm(a[..., :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(s, a[..., 3:])
    # angle / s -> 2 / w as s -> 0
    scale = np.where(s > 1e-12, angle / np.where(s > 1e-12, s, 1.0), 2.0 / np.where(a[..., 3:] > 0.5, a[..., 3:], 1.0))
    return a[..., :3] * scale


def _series(angle: Floats, exact: Floats, coefficients: tuple[float, ...]) -> Floats:
    """exact, or its Taylor series in angle^2 where exact would cancel."""
    z = angle * angle
    taylor = np.zeros_like(z)
    for c in reversed(coefficients):
        taylor = taylor * z + c
    return np.where(angle < 0.05, taylor, exact)


def _left(w: Floats, x: Floats) -> Floats:
    """The left Jacobian of SO(3) at w, times x: how far a body that moves by (w, x) in its own frame gets."""
    t = np.linalg.norm(w, axis=-1, keepdims=True)
    safe = np.where(t < 0.05, 1.0, t)
    b = _series(t, (1 - np.cos(safe)) / safe**2, (1 / 2, -1 / 24, 1 / 720, -1 / 40320))
    c = _series(t, (safe - np.sin(safe)) / safe**3, (1 / 6, -1 / 120, 1 / 5040, -1 / 362880))
    wx = np.cross(w, x)
    return x + b * wx + c * np.cross(w, wx)


def _left_inverse(w: Floats, x: Floats) -> Floats:
    t = np.linalg.norm(w, axis=-1, keepdims=True)
    safe = np.where(t < 0.05, 1.0, t)
    exact = (1 - 0.5 * safe / np.tan(0.5 * safe)) / safe**2
    c = _series(t, exact, (1 / 12, 1 / 720, 1 / 30240, 1 / 1209600))
    wx = np.cross(w, x)
    return x - 0.5 * wx + c * np.cross(w, wx)


# --- planar joints: x, y, cos, sin; v = x, y and turning rate in the body's frame -----------------------------------


def _planar_move(q: Floats, v: Floats) -> Floats:
    w = np.zeros(v.shape)
    w[..., 2] = v[..., 2]
    step = _left(w, np.concatenate([v[..., :2], np.zeros_like(v[..., 2:])], axis=-1))
    c, s = q[..., 2], q[..., 3]
    cw, sw = np.cos(v[..., 2]), np.sin(v[..., 2])
    out = np.empty_like(q)
    out[..., 0] = q[..., 0] + c * step[..., 0] - s * step[..., 1]
    out[..., 1] = q[..., 1] + s * step[..., 0] + c * step[..., 1]
    norm = np.hypot(c, s)
    out[..., 2] = (c * cw - s * sw) / norm
    out[..., 3] = (s * cw + c * sw) / norm
    return out


def _planar_difference(q0: Floats, q1: Floats) -> Floats:
    c, s = q0[..., 2], q0[..., 3]
    out = np.zeros(q0.shape[:-1] + (3,))
    angle = np.arctan2(c * q1[..., 3] - s * q1[..., 2], c * q1[..., 2] + s * q1[..., 3])
    dx, dy = q1[..., 0] - q0[..., 0], q1[..., 1] - q0[..., 1]
    w, x = np.zeros_like(out), np.zeros_like(out)
    w[..., 2] = angle
    x[..., 0], x[..., 1] = c * dx + s * dy, c * dy - s * dx
    out[..., :2] = _left_inverse(w, x)[..., :2]
    out[..., 2] = angle
    return out
