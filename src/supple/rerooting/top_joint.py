"""The joint that connects a tree to the world, and how it is fitted to the motion of its body."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.errors import ModelError, StateError, quoted
from supple.model.geometry import as_rotation
from supple.model.joint_motion import JointShape
from supple.model.joints import AXES, JointType
from supple.model.model import Joint, Model, listed
from supple.model.valid import OF_Q, OF_V
from supple.once import made_once
from supple.rerooting.chain import End

Floats = NDArray[np.float64]

UNLIMITED = dict.fromkeys((*OF_Q, *OF_V), 0.0)
UNLIMITED |= dict(lower=-np.inf, upper=np.inf, velocity_limit=np.inf, effort_limit=np.inf)

#: How far a motion may be from what the joint allows: radians, or relative to the body's own largest number; or as far
#: as rounding along the chain can bring it.
TOLERANCE = 1e-9


@made_once("shape")
@dataclass(frozen=True)
class TopJoint:
    """A joint on the world: its shape, its frame there, its name, its limits, damping, armature and spring, if any.

    near: its previous q. Among all equivalent coordinates (angles a turn apart, a quaternion and its negative) the
    nearest to those are used."""

    shape: JointShape
    position: Floats
    rotation: Floats
    name: str = ""
    limits: dict[str, Floats] = field(default_factory=dict)
    near: Floats | None = None

    def __repr__(self) -> str:
        kind = self.shape.kind.name.lower()
        return f"<TopJoint {quoted(self.name)}: {kind}, at {listed(self.position)} on the world>"

    @classmethod
    def of(cls, model: Model, body: int, q: Floats | None = None) -> TopJoint:
        """The joint of a body on the world, in a state of the model."""
        joint = model.joints[body]
        kind = JointType(int(model.joint_type[body]))
        shape = JointShape(kind, model.axis[body], model.axis2[body], float(model.pitch[body]))
        limits = {name: getattr(model, name)[joint.q] for name in OF_Q}
        limits |= {name: getattr(model, name)[joint.v] for name in OF_V}
        near = None if q is None else q[joint.q].copy()
        return cls(shape, model.position[body], model.rotation[body], joint.name, limits, near)

    def coordinates(self, R: Floats, p: Floats) -> Floats:
        """The q at which a body is rotated by R and displaced by p from the joint's frame; some other q if there is
        none."""
        q = self.shape.coordinates(R, p)
        lower, upper = (self.limits.get(name, np.full(len(q), UNLIMITED[name])) for name in ("lower", "upper"))
        return self.shape.alike(q, self.near, lower, upper)


class NewJoint(NamedTuple):
    """A joint for the new root, as reroot takes it."""

    type: str
    axis: ArrayLike | None
    axis2: ArrayLike | None
    pitch: float
    position: ArrayLike | None
    rotation: ArrayLike | None


def top_joint(model: Model, body: int, joint: NewJoint, point: Floats, bind: Floats) -> TopJoint:
    """A new joint for a body. bind: the body's rotation when all joints are neutral."""
    if joint.type == "fixed":
        raise ModelError(f"body {model.body_names[body]!r}: a root hangs on a joint that moves, not on a fixed one")
    kind = JointType[joint.type.upper()]
    had = JointType(int(model.joint_type[body]))
    e = model.axis[body] if AXES[had] else np.array([0.0, 0.0, 1.0])
    e = _unit("axis", joint.axis, model, body) if joint.axis is not None else e
    e2 = np.zeros(3)
    if AXES[kind] == 2:
        if joint.axis2 is None:
            raise ModelError(
                f"body {model.body_names[body]!r}: a {joint.type} joint needs axis2, perpendicular to axis"
            )
        e2 = _unit("axis2", joint.axis2, model, body)
        if abs(e @ e2) > 1e-6:
            raise ModelError(f"body {model.body_names[body]!r}: axis2 must be perpendicular to axis")
        e2 = _unit("axis2", e2 - (e @ e2) * e, model, body)
    free = kind == JointType.FREE
    origin = (np.zeros(3) if free else point) if joint.position is None else np.asarray(joint.position)
    R = (np.eye(3) if free else bind) if joint.rotation is None else as_rotation(joint.rotation)
    return TopJoint(JointShape(kind, e, e2, float(joint.pitch)), origin, R)


def _unit(what: str, x: ArrayLike, model: Model, body: int) -> Floats:
    out = np.asarray(x) / max(float(np.abs(x).max()), 1e-300)  # whose square may overflow
    length = float(np.linalg.norm(out))
    if length < 1e-9:
        raise ModelError(f"body {model.body_names[body]!r}: {what} is zero: it has no direction")
    return out / length


def fit(
    body: str, top: TopJoint, end: End, origin: Floats, joint: Joint, q: Floats, v: Floats | None, a: Floats | None
) -> None:
    """Put the joint's coordinates into q, v and a; refuse a motion that the joint cannot represent.

    origin: of the body's frame, in the world [RR (21), (22)]. end: the motion of the body there, about end.p.
    """
    shape, R, r = top.shape, top.rotation.T @ end.R, origin - end.p
    p = top.rotation.T @ (origin - top.position)
    q_J = top.coordinates(R, p)
    R_J, p_J = shape.pose(q_J)
    turned, off = float(np.abs(R_J - R).max()), float(np.abs(p_J - p).max())
    by_R, by_p, by_V, by_A = end.rounding.tolist()
    is_turned = turned > max(TOLERANCE, by_R)
    is_off = off > max(TOLERANCE * max(1.0, float(np.abs(origin).max()), float(np.abs(end.p).max())), by_p)
    if is_turned or is_off:
        how = [f"turned by {turned:.3g}" * is_turned, f"{off:.3g} m away" * is_off]
        raise StateError(
            f"{_who(body, top)} cannot be where it is: it is {' and '.join(filter(None, how))} from any position that "
            "the joint has; give the joint's rotation and position now, or another joint ('free' has them all)"
        )
    q[joint.q] = q_J
    if v is None:
        return
    V, A = _about(end.V, r, end.R), _about(end.A, r, end.R)
    v_J, left = shape.rates(q_J, V)
    _refuse_rest(body, top, "velocity", left, V, by_V)
    v[joint.v] = v_J
    if a is not None:
        a_J, left = shape.accelerations(q_J, v_J, A)
        _refuse_rest(body, top, "acceleration", left, A, by_A)
        a[joint.v] = a_J


def _about(m: Floats, r: Floats, R: Floats) -> Floats:
    """A motion given at the origin along world axes, at r along those of a body."""
    w, u = m[:3], m[3:]
    (a, b, c), (x, y, z) = w.tolist(), r.tolist()
    return np.concatenate([w @ R, (u + [b * z - c * y, c * x - a * z, a * y - b * x]) @ R])


def _refuse_rest(body: str, top: TopJoint, what: str, left: Floats, whole: Floats, rounding: float) -> None:
    if np.abs(left).max() > max(TOLERANCE * max(1.0, float(np.abs(whole).max())), rounding):
        raise StateError(
            f"{_who(body, top)} cannot have the {what} that it has: {np.abs(left[:3]).max():.3g} of its angular and "
            f"{np.abs(left[3:]).max():.3g} of its linear part are not the joint's; an impact would stop them, and "
            "another joint ('free' has them all) could keep them"
        )


def _who(body: str, top: TopJoint) -> str:
    kind = top.shape.kind
    about = f" (axis {np.array2string(top.shape.axis, precision=4)})" if AXES[kind] else ""
    return f"body {body!r} on a {kind.name.lower()} joint{about}"
