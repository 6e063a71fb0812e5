"""Springs between two bodies against MuJoCo's spatial tendons: springs, dampers and ropes, on random forests."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from test_dynamics_mujoco import close, floating, mjcf, numbers, velocity_map

import supple
from oracle import random_model
from supple.simulating.forces import Forces


@pytest.mark.parametrize("seed", range(8))
def test_accelerations_are_mujocos(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 10, ("revolute", "continuous", "prismatic", "ball"), world=0.2)
    model = floating(model) if seed % 2 else model
    springs, sites, tendons = [], "", ""
    for k in range(4):
        ends, points = rng.choice(10, 2, replace=False), rng.standard_normal((2, 3))
        stiffness, damping, rest = rng.uniform(5, 50), rng.uniform(0, 5) * (k % 2), rng.uniform(0.0, 2.0) * (k > 0)
        rope = k == 2  # without a damper: MuJoCo's also brakes a slack rope
        springs.append(supple.SpringBetween(int(ends[0]), int(ends[1]), stiffness, *points, damping, rest, rope))
        for e in range(2):
            sites += f"{ends[e]} {k}{e} {numbers(points[e])}\n"
        least = 0.0 if rope else rest
        tendons += (
            f'<spatial stiffness="{stiffness!r}" damping="{damping!r}" springlength="{least!r} {rest!r}">'
            f'<site site="{k}0"/><site site="{k}1"/></spatial>'
        )
    text = mjcf(model).replace("</worldbody>", f"</worldbody><tendon>{tendons}</tendon>")
    for line in sites.splitlines():
        body, name, *at = line.split()
        head = f'<body name="{model.body_names[int(body)]}"'
        start = text.index(">", text.index(head)) + 1
        text = f'{text[:start]}<site name="{name}" pos="{" ".join(at)}"/>{text[start:]}'
    peer = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(peer)
    q, v = model.random(rng), rng.standard_normal(model.nv)
    data.qpos[:], data.qvel[:] = supple.to_mujoco(model, q, v)
    mujoco.mj_forward(peer, data)
    _, wrenches = Forces(model, springs, None)(0.0, q, v)
    ours = supple.inverse_dynamics(model, q) - supple.inverse_dynamics(model, q, wrenches=wrenches)
    T = velocity_map(model, q)
    theirs = T.T @ (data.qfrc_spring + data.qfrc_damper) + model.damping * v  # those of joints
    assert np.abs(ours).max() > 1.0
    close(ours, theirs, 1e-9)
