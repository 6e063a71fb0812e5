"""Pinocchio and MuJoCo on the same model and state as Supple, with results in Supple's coordinates.

Pinocchio reads the same URDF. MuJoCo gets the bodies of the Supple model one by one (its own URDF reader
would fuse and reorder them), with constraints and contacts off, so that mj_forward is forward dynamics and
little else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import supple
from supple.model.geometry import rotation_from_quaternion
from supple.model.joints import KINDS, JointType

Floats = NDArray[np.float64]


class PeerState:
    """A model with a position, a velocity, and joint forces, drawn at random."""

    def __init__(self, model: supple.Model, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.model = model
        self.q = model.random(rng)
        self.v, self.tau, self.a = rng.standard_normal((3, model.nv))


class Pinocchio:
    """Pinocchio knows no damping: the forces it is given have it taken off already."""

    def __init__(self, pin: Any, file: Path, floating_base: bool, state: PeerState) -> None:
        self.pin = pin
        joint = [pin.JointModelFreeFlyer()] if floating_base else []
        self.model = pin.buildModelFromUrdf(str(file), *joint)
        self.data = self.model.createData()
        self.state = state
        self.damping = state.model.damping * state.v
        self.tau = state.tau - self.damping
        self.conventions = (pin.Convention.LOCAL, pin.Convention.WORLD)

    def acceleration(self) -> Floats:
        return np.array(self.pin.aba(self.model, self.data, self.state.q, self.state.v, self.tau))

    def force(self) -> Floats:
        undamped = self.pin.rnea(self.model, self.data, self.state.q, self.state.v, self.state.a)
        return np.array(undamped + self.damping)

    def mass_matrix(self) -> Floats:
        upper = np.triu(self.pin.crba(self.model, self.data, self.state.q))
        return np.array(upper + np.triu(upper, 1).T)

    def factor(self) -> tuple[Floats, Floats]:
        """L and D of H = L^T D L, which Pinocchio calls U D U^T with U = L^T."""
        self.mass_matrix()
        self.pin.cholesky.decompose(self.model, self.data)
        return np.array(self.data.U).T, np.array(self.data.D).reshape(-1)


class Mujoco:
    """The state stands in MuJoCo's own data; a free base is linear in the world's frame there."""

    def __init__(self, mujoco: Any, state: PeerState) -> None:
        self.mujoco, self.state = mujoco, state
        self.model = _mujoco_model(mujoco, state.model)
        self.data = mujoco.MjData(self.model)
        free = np.flatnonzero(state.model.joint_type == JointType.FREE)
        self.linear = [state.model.joints[int(i)].v.start + np.arange(3) for i in free]
        self.turns = [rotation_from_quaternion(state.q[state.model.joints[int(i)].q][3:]) for i in free]
        self.data.qpos[:], self.data.qvel[:] = supple.to_mujoco(state.model, state.q, state.v)
        self.data.qfrc_applied[:] = self._turned(state.tau, back=False)
        mujoco.mj_forward(self.model, self.data)

    def acceleration(self) -> Floats:
        """d v / dt: in the body's frame the linear part lacks w x v."""
        self.mujoco.mj_forward(self.model, self.data)
        a, v = self._turned(self.data.qacc), self.state.v
        for at in self.linear:
            a[at] -= np.cross(v[at + 3], v[at])
        return a

    def force(self) -> Floats:
        """Inverse dynamics of the accelerations that stand in data.qacc: those of self.acceleration."""
        self.mujoco.mj_inverse(self.model, self.data)
        return self._turned(self.data.qfrc_inverse)

    def _turned(self, x: Floats, back: bool = True) -> Floats:
        out = np.array(x)
        for at, R in zip(self.linear, self.turns):
            out[at] = (R.T if back else R) @ out[at]
        return out


def _mujoco_model(mujoco: Any, model: supple.Model) -> Any:
    spec = mujoco.MjSpec()
    spec.option.gravity = model.gravity
    off = mujoco.mjtDisableBit
    spec.option.disableflags = int(off.mjDSBL_CONSTRAINT) | int(off.mjDSBL_CONTACT)
    bodies = [spec.worldbody]
    for i in range(model.n_bodies):
        I = model.inertia[i]
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, model.rotation[i].ravel())
        body = bodies[model.parent[i] + 1].add_body(
            name=model.body_names[i],
            pos=model.position[i],
            quat=quaternion,
            mass=model.mass[i],
            ipos=model.com[i],
            fullinertia=[I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]],
            explicitinertial=True,
        )
        dof = model.joints[i].v.start
        kind = getattr(mujoco.mjtJoint, str(KINDS[JointType(int(model.joint_type[i]))].mujoco))
        joint = body.add_joint(type=kind, axis=model.axis[i], armature=model.armature[dof])
        joint.damping = np.resize([model.damping[dof], 0.0, 0.0], np.shape(joint.damping))  # a polynomial since 4.0
        bodies.append(body)
    return spec.compile()
