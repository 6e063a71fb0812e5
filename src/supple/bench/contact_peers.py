"""MuJoCo models with the same bodies, shapes, springs, limits and step size as Supple's, with its default solver."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.contact.room import ContactRoom
from supple.model.geometry import rotation_from_quaternion
from supple.model.joints import KINDS, JointType
from supple.model.model import Model
from supple.model.shapes import Shape

Floats = NDArray[np.float64]


def mujoco_model(mujoco: Any, room: ContactRoom, dt: float, sleep: bool) -> Any:
    """MuJoCo's model for a run with contacts. sleep: whether bodies at rest sleep."""
    model, spec = room.model, mujoco.MjSpec()
    spec.option.gravity, spec.option.timestep = model.gravity, dt
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    if sleep:
        spec.option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    bodies = [spec.worldbody]
    for i in range(model.n_bodies):
        bodies.append(_body(mujoco, bodies[model.parent[i] + 1], model, i))
    for shape in room.shapes:
        _geom(mujoco, bodies[shape.body + 1], shape)
    pairs = {(model.shapes[a].body, model.shapes[b].body) for a, b in room.overlapping}
    for a, b in sorted(pairs):
        spec.add_exclude(bodyname1=model.body_names[a], bodyname2=model.body_names[b])
    return spec.compile()


def _body(mujoco: Any, parent: Any, model: Model, i: int) -> Any:
    I, quaternion = model.inertia[i], np.empty(4)
    mujoco.mju_mat2Quat(quaternion, model.rotation[i].ravel())
    body = parent.add_body(
        name=model.body_names[i], pos=model.position[i], quat=quaternion, mass=model.mass[i], ipos=model.com[i],
        fullinertia=[I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]], explicitinertial=True,
    )  # fmt: skip
    kind, part = JointType(int(model.joint_type[i])), model.joints[i]
    if kind == JointType.FREE:
        body.add_freejoint()
        return body
    axes = [model.axis[i], model.axis2[i]] if kind == JointType.UNIVERSAL else [model.axis[i]]
    name = "mjJNT_HINGE" if kind == JointType.UNIVERSAL else str(KINDS[kind].mujoco)
    for k, axis in enumerate(axes):
        dof, at = part.v.start + k, part.q.start + k
        joint = body.add_joint(type=getattr(mujoco.mjtJoint, name), axis=axis, armature=model.armature[dof])
        joint.damping = np.resize([model.damping[dof], 0.0, 0.0], np.shape(joint.damping))
        joint.stiffness = np.resize([model.stiffness[dof], 0.0, 0.0], np.shape(joint.stiffness))
        joint.springref = model.rest[at]
        if np.isfinite([model.lower[at], model.upper[at]]).all():
            joint.limited, joint.range = True, [model.lower[at], model.upper[at]]
    return body


def _geom(mujoco: Any, body: Any, shape: Shape) -> None:
    quaternion, half = np.empty(4), np.array(shape.size)
    mujoco.mju_mat2Quat(quaternion, shape.rotation.ravel())
    if shape.kind == "capsule":
        half = half * (1.0, 0.5)
    elif shape.kind == "box":
        half = 0.5 * half
    elif shape.kind == "plane":
        half = np.array([0.0, 0.0, 1.0])
    body.add_geom(
        type=getattr(mujoco.mjtGeom, f"mjGEOM_{shape.kind.upper()}"), size=np.append(half, np.zeros(3))[:3],
        pos=shape.position, quat=quaternion, friction=[1.0 if shape.friction is None else shape.friction, 0.005, 1e-4],
    )  # fmt: skip


def mujoco_data(mujoco: Any, theirs: Any, model: Model, q: Floats, v: Floats) -> Any:
    """A state of Supple's model, for MuJoCo: bodies are in the same order, and universal joints are two hinges."""
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = q, v
    for joint in np.flatnonzero(model.joint_type == JointType.FREE):
        at, dof = model.q_index[joint] + 3, model.v_index[joint]
        data.qpos[at : at + 4] = np.roll(q[at : at + 4], 1)
        data.qvel[dof : dof + 3] = rotation_from_quaternion(q[at : at + 4]) @ v[dof : dof + 3]
    return data
