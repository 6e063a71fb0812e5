"""Joint wrenches: the force and moment that a body receives from its parent, by any method."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import checked
from supple.errors import ModelError, StateError
from supple.exact import rnea
from supple.exact.aba import ABA
from supple.exact.answers import Poses, at_rest
from supple.exact.digits import has_mobilities, is_long, keeps_digits, settled
from supple.exact.forward import Method, forward_dynamics
from supple.exact.kinematics import poses
from supple.exact.loop_dynamics import carried_by_joints
from supple.exact.virtual_hubs import solved
from supple.model.geometry import rotation_to_z
from supple.model.joints import AXES, DIRECTIONS, KINDS, JointType
from supple.model.model import Model, listed, unknown

Floats = NDArray[np.float64]
Frame = Literal["world", "child", "parent"]


@checked
def joint_wrenches(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    frame: Frame = "world",
    *,
    a: ArrayLike | None = None,
    method: Method | None = None,
    joint: str | int | None = None,
) -> Floats:
    """(n_joints, 6) wrench that each joint carries, moment first: row i is what the parent exerts on the child through
    joint i, including actuators and constraint, with the moment about the child's origin; the child exerts the
    opposite.

    frame: the axes of the components: the world's, those of the child's body, or of the parent's (the world's, for a
    body on the world). The row of a named joint is model.joints["knee"].index; joint="knee" returns that of one joint
    alone, (6,).

    Given forces tau, the motion follows by forward dynamics: method "virtual-work" obtains joint wrenches on the way,
    the others compute accelerations first and then the wrenches they require, compared with those of "aba". None:
    virtual work, the most accurate on long chains, if bodies are similar or paths long, and "aba" if some bodies are
    far lighter than others, which costs virtual work its digits. Given accelerations a instead (and no tau), joint
    wrenches are a by-product of inverse dynamics. v None means at rest. Any argument may have a leading batch axis.

    Along the joint's own directions, a row is tau - damping v - armature a; across them, what the bearing holds.

    Joints that close loops have rows after all others, in the order of model.loops: what `body` exerts on `other`,
    which count as parent and child. These forces are the smallest ones where they are not unique. They follow from
    forces tau only, by "aba".
    """
    index = None if joint is None else _joint(model, joint)
    out = _in_world(model, q, v, tau, wrenches, a, method)
    if frame != "world":
        ends = [(x.body, x.other) for x in model.loop_list]
        bodies = (
            np.append(model.parent, [b for b, _ in ends])
            if frame == "parent"
            else np.array([*range(model.n_bodies), *(other for _, other in ends)])
        )
        bodies = bodies.astype(np.int64)
        R = np.where((bodies < 0)[:, None, None], np.eye(3), poses(model, q).rotation[..., bodies, :, :])
        if index is not None:
            R, out = R[..., index, :, :], out[..., index, :]
        # R^T x, for both halves
        return np.concatenate([np.einsum("...ji,...j->...i", R, out[..., k : k + 3]) for k in (0, 3)], axis=-1)
    return out if index is None else out[..., index, :]


def _joint(model: Model, joint: str | int) -> int:
    """The row of a joint, or of one that closes a loop."""
    if isinstance(joint, str) and joint not in model.joints:
        loops = list(model.loops)
        if joint not in loops:
            raise ModelError(unknown("joint", joint, [*model.joint_names, *loops]))
        return model.n_bodies + loops.index(joint)
    return model.joints[joint].index  # type: ignore[index]


@checked
def ground_wrench(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    *,
    a: ArrayLike | None = None,
    method: Method | None = None,
) -> Floats:
    """(6,) the wrench on the ground: the sum of all that the bodies exert on the world through the joints attached to
    it, moment first, about the world's origin and along its axes. Arguments as in joint_wrenches."""
    loops = model.loop_list
    held = np.array([*(model.parent < 0), *((x.body < 0) - (x.other < 0) * 1.0 for x in loops)], dtype=np.float64)
    bodies = np.array([*range(model.n_bodies), *(x.other for x in loops)], dtype=np.int64)
    carried = held[:, None] * _in_world(model, q, v, tau, wrenches, a, method)
    r, f = np.where((bodies < 0)[:, None], 0.0, poses(model, q).position[..., bodies, :]), carried[..., 3:]
    moment = carried[..., :3] + np.cross(r, f)
    return -np.concatenate([moment.sum(axis=-2), f.sum(axis=-2)], axis=-1)


def _in_world(model: Model, q: ArrayLike, v: ArrayLike | None, tau: ArrayLike | None, wrenches: ArrayLike | None,
              a: ArrayLike | None, method: Method | None) -> Floats:  # fmt: skip
    """(..., n, 6) along the world's axes, about the origins of the bodies."""
    if a is not None and tau is not None:
        raise StateError("give either forces tau or accelerations a: each follows from the other")
    if not model.is_tree:
        if a is not None or method not in (None, "aba"):
            raise StateError("with loops, joints carry what forces tau make them: give tau, and no a; method 'aba'")
        return carried_by_joints(model, q, at_rest(model, v), tau, wrenches)
    if a is not None:
        flat = rnea.WITH_WRENCHES(model, q, v, a, wrenches)
    else:
        as_it_goes = keeps_digits(model) or (is_long(model) and has_mobilities(model))
        method = method or ("virtual-work" if as_it_goes else "aba")
        flat = _of_motion(model, q, at_rest(model, v), tau, wrenches, method)
    return flat[..., model.nv :].reshape(*flat.shape[:-1], model.n_bodies, 6)


def _of_motion(model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None, wrenches: ArrayLike | None,
               method: Method) -> Floats:  # fmt: skip
    """(..., nv + 6 n) given forces. Inverse dynamics multiplies errors of accelerations by all the mass that they move:
    with methods other than "aba", accelerations may be good and the resulting wrenches still bad."""
    if method == "virtual-work":
        return solved(model, q, v, tau, wrenches, "absorb")
    a = forward_dynamics(model, q, v, tau, wrenches, method)
    flat = rnea.WITH_WRENCHES(model, q, v, a, wrenches)
    if method == "aba":
        return flat
    flat[..., : model.nv] = a
    arrays, size = ABA.arrays(model, (q, v, tau, wrenches))
    return settled(model, f"method {method!r}", arrays, size, flat)


class Multiplier(NamedTuple):
    """The constraint force of a joint as a vector of multipliers [VW section 3.1]."""

    n: Floats  #: (c,) one number per constraint
    K: Floats  #: (c, 6) its direction in the child's frame, orthonormal; K^T n is the constraint's wrench on the child

    def __repr__(self) -> str:
        return f"<Multiplier of {len(self.n)} constraints: n {listed(self.n)}>"


@checked
def multipliers(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
) -> list[Multiplier]:
    """The raw constraint forces n_m of all joints with their K_m, as defined in VW: K_m spans what the joint forbids,
    so that K_m times the relative velocity of child and parent is zero. One state, no batch."""
    carried = joint_wrenches(model, q, v, tau, wrenches, "child")
    if carried.ndim != 2:
        raise StateError("multipliers takes one state, not a batch; joint_wrenches takes both")
    pose = poses(model, q)
    out = []
    for i in range(model.n_bodies):
        K = _constraints(model, i, pose)
        out.append(Multiplier(K @ carried[i], K))
    return out


def _constraints(model: Model, i: int, pose: Poses) -> Floats:
    """(c, 6) an orthonormal basis of the wrenches that do no work on joint i's motion, in the child's frame."""
    kind = JointType(int(model.joint_type[i]))
    if AXES[kind] == 2:  # the second axis is the child's; the first one, as the child sees it now
        up = np.eye(3) if model.parent[i] < 0 else pose.rotation[model.parent[i]]
        first = pose.rotation[i].T @ up @ model.rotation[i] @ model.axis[i]
        z = model.axis2[i]
        x, y = first, np.cross(z, first)
    else:
        x, y, z = rotation_to_z(model.axis[i : i + 1])[0].T if AXES[kind] else np.eye(3)
    basis = np.zeros((6, 6))  # rotations about x, y and z, translations along them
    basis[:3, :3] = basis[3:, 3:] = x, y, z
    if KINDS[kind].pitched:
        pitch = float(model.pitch[i])
        basis[5] = (basis[5] - pitch * basis[2]) / np.hypot(1.0, pitch)
    allowed = KINDS[kind].allowed.split()
    return basis[[k for k, direction in enumerate(DIRECTIONS) if direction not in allowed]]
