"""Dynamics against MuJoCo: random forests of the joints it knows, rebuilt in its own format.

MuJoCo keeps free joints' linear velocity along world axes and quaternions w first; to_mujoco and from_mujoco
translate. It is an independent code in other coordinates (about the centre of mass of each tree), so agreement to
1e-10 of the largest number is what two correct programs have.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import supple
from oracle import random_model
from supple.model.geometry import quaternion_from_rotation

KNOWN = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "ball": "ball", "free": "free"}


def numbers(x):
    return " ".join(repr(float(y)) for y in np.ravel(x))


def mjcf(model):
    """The model as MJCF. A free joint may only stand on the world there."""
    children = {i: [] for i in range(-1, model.n_bodies)}
    for i, p in enumerate(model.parent):
        children[int(p)].append(i)

    def body(i):
        joint = model.joints[i]
        x, y, z, w = quaternion_from_rotation(model.rotation[i])
        I = model.inertia[i]
        dof = joint.v.start
        axis = f'axis="{numbers(model.axis[i])}"' if joint.type not in ("ball", "free") else ""
        extra = f'armature="{float(model.armature[dof])!r}" damping="{float(model.damping[dof])!r}"'
        # compiling renormalises inertias by eigenvectors: full precision in, nearly full precision out
        return f"""
        <body name="{model.body_names[i]}" pos="{numbers(model.position[i])}" quat="{numbers([w, x, y, z])}">
          <joint name="{joint.name}" type="{KNOWN[joint.type]}" {axis} {extra}/>
          <inertial pos="{numbers(model.com[i])}" mass="{float(model.mass[i])!r}"
            fullinertia="{numbers([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])}"/>
          {"".join(body(c) for c in children[i])}
        </body>"""

    inside = "".join(body(i) for i in children[-1])
    return f"""<mujoco><compiler angle="radian" balanceinertia="false" boundmass="0"/>
      <option gravity="{numbers(model.gravity)}"><flag contact="disable" constraint="disable"/></option>
      <worldbody>{inside}</worldbody></mujoco>"""


@pytest.fixture(params=range(8))
def case(request):
    rng = np.random.default_rng(request.param)
    model = random_model(rng, 12, ("revolute", "continuous", "prismatic", "ball"), world=0.15)
    if request.param % 2:
        model = floating(model)
    peer = mujoco.MjModel.from_xml_string(mjcf(model))
    q, v = model.random(rng), rng.standard_normal(model.nv)
    data = mujoco.MjData(peer)
    data.qpos[:], data.qvel[:] = supple.to_mujoco(model, q, v)
    return model, peer, data, q, v, rng


def floating(model):
    """The same bodies on a base that is free (at the world's origin: MuJoCo ignores where a free joint is placed)."""
    b = supple.ModelBuilder(gravity=model.gravity)
    b.add_body("base", joint="free", mass=3.0, com=(0.1, 0.2, -0.1), inertia=(0.3, 0.4, 0.5))
    for i in range(model.n_bodies):
        parent = "base" if model.parent[i] < 0 else model.body_names[model.parent[i]]
        joint = model.joints[i]
        b.add_body(
            model.body_names[i], parent, joint.type, axis=model.axis[i], position=model.position[i],
            rotation=model.rotation[i], mass=model.mass[i], com=model.com[i], inertia=model.inertia[i],
            armature=model.armature[joint.v], damping=model.damping[joint.v],
        )  # fmt: skip
    return b.build()


def close(ours, theirs, tolerance=1e-10):
    scale = max(1.0, float(np.abs(theirs).max(initial=0)))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * scale)


def velocity_map(model, q):
    """T with v_mujoco = T v_ours, by columns."""
    return np.array([supple.to_mujoco(model, q, e)[1] for e in np.eye(model.nv)]).T


def test_poses_and_totals(case):
    model, peer, data, q, _, _ = case
    mujoco.mj_forward(peer, data)
    poses = supple.poses(model, q)
    close(poses.position, data.xpos[1:])
    close(poses.rotation.reshape(-1, 9), data.xmat[1:])
    close(supple.center_of_mass(model, q), data.subtree_com[0])


def test_mass_matrix_and_bias(case):
    model, peer, data, q, _, _ = case
    mujoco.mj_forward(peer, data)
    M = np.zeros((peer.nv, peer.nv))
    mujoco.mj_fullM(peer, data, M)
    T = velocity_map(model, q)
    close(supple.mass_matrix(model, q), T.T @ M @ T)
    # bias at rest: the force of gravity (with velocities the map's own derivative would come in)
    data.qvel[:] = 0
    mujoco.mj_forward(peer, data)
    close(supple.bias_force(model, q), T.T @ data.qfrc_bias)


@pytest.mark.parametrize("method", ["aba", "crba", "virtual-work", "dense"])
def test_accelerations(case, method):
    model, peer, data, q, v, rng = case
    tau = rng.standard_normal(model.nv)
    T = velocity_map(model, q)
    data.qfrc_applied[:] = np.linalg.solve(T.T, tau)
    mujoco.mj_forward(peer, data)
    ours = supple.forward_dynamics(model, q, v, tau, method=method)
    # MuJoCo's linear acceleration of a free body is along world axes: d/dt (R v) = R (dv/dt + w x v)
    for i in np.flatnonzero(model.joint_type == 8):
        at = model.joints[int(i)].v.start
        ours[at : at + 3] += np.cross(v[at + 3 : at + 6], v[at : at + 3])
    close(T @ ours, data.qacc, 1e-9)
