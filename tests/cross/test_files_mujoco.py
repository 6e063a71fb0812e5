"""MJCF loaded here and by MuJoCo: the same masses, the same bodies in the same places, the same velocities.

The bodies are random trees with every joint type, several joints on a body, anchors off the origin, `ref`
offsets and bodies without joints.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from robots import body_poses  # noqa: E402
from supple.errors import ModelError, StateError  # noqa: E402
from supple.files import from_mujoco, load, to_mujoco  # noqa: E402
from supple.model.builder import ModelBuilder  # noqa: E402
from supple.model.model import Model  # noqa: E402

SEEDS = range(12)


def numbers(x: np.ndarray) -> str:
    return " ".join(map(repr, np.atleast_1d(x).tolist()))


def random_mjcf(seed: int, n: int = 12) -> str:
    rng = np.random.default_rng(seed)
    up = [int(rng.integers(-1, i)) if i else -1 for i in range(n)]
    inside: dict[int, list[str]] = {}
    for i in reversed(range(n)):
        children = "".join(reversed(inside.get(i, [])))
        body = (
            f'<body name="b{i}" pos="{numbers(rng.normal(size=3))}" quat="{numbers(rng.normal(size=4))}">'
            f"{''.join(joints(rng, i, top=up[i] < 0))}"
            f'<inertial mass="{rng.uniform(0.5, 2)!r}" pos="{numbers(rng.normal(size=3))}" '
            f'quat="{numbers(rng.normal(size=4))}" diaginertia="{numbers(rng.uniform(1, 1.9, size=3))}"/>'
            f'<site name="s{i}" pos="{numbers(rng.normal(size=3))}"/>'
            f'<geom type="box" size="{numbers(rng.uniform(0.1, 1, size=3))}" '
            f'pos="{numbers(rng.normal(size=3))}"/>'
            f"{children}</body>\n"
        )
        inside.setdefault(up[i], []).append(body)
    bodies = "".join(reversed(inside[-1]))
    return f'<mujoco model="random"><compiler angle="radian"/><worldbody>{bodies}</worldbody></mujoco>'


def joints(rng: np.random.Generator, body: int, top: bool) -> list[str]:
    kinds = [
        (),
        ("hinge",),
        ("slide",),
        ("ball",),
        ("hinge", "slide", "hinge"),
        ("slide", "ball"),
        ("hinge", "ball"),
    ]
    kinds = [*kinds, ("free",), ("free",)] if top else kinds
    out = []
    for k, kind in enumerate(kinds[rng.integers(len(kinds))]):
        name = f'name="j{body}_{k}" type="{kind}"'
        if kind == "free":
            out.append(f"<joint {name}/>")
            continue
        ref = f'ref="{rng.normal()!r}" axis="{numbers(rng.normal(size=3))}"' if kind in ("hinge", "slide") else ""
        limit = 'range="-0.7 0.9"' if ref and rng.random() < 0.5 else ""
        dynamics = 'damping="0.5" armature="0.25" frictionloss="0.125"'
        out.append(f'<joint {name} pos="{numbers(rng.normal(size=3))}" {ref} {limit} {dynamics}/>')
    return out


def both(tmp_path: Path, seed: int) -> tuple[Model, Any]:
    path = tmp_path / "robot.xml"
    path.write_text(random_mjcf(seed))
    return load(path), mujoco.MjModel.from_xml_path(str(path))


def mujoco_poses(ours: Model, theirs: Any, q: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Where we have MuJoCo's bodies: on a frame "body/frame", on a frame (no joints), or on the body."""
    poses = body_poses(ours, q)
    out = {}
    for b in range(1, theirs.nbody):
        name = theirs.body(b).name
        frame = f"{name}/frame" if f"{name}/frame" in ours.frames else name
        if frame in ours.frames:
            f = ours.frames[frame]
            R, x = poses[f.body] if f.body >= 0 else (np.eye(3), np.zeros(3))
            out[name] = R @ f.rotation, x + R @ f.position
        else:
            out[name] = poses[ours.bodies[name].index]
    return out


@pytest.mark.parametrize("seed", SEEDS)
def test_bodies_are_where_mujoco_has_them(tmp_path: Path, seed: int) -> None:
    ours, theirs = both(tmp_path, seed)
    rng = np.random.default_rng(seed)
    q, v = ours.random(rng), rng.normal(size=ours.nv)
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = to_mujoco(ours, q, v)
    mujoco.mj_forward(theirs, data)
    for name, (R, x) in mujoco_poses(ours, theirs, q).items():
        # unit entries, positions of a few metres, a dozen joints: some hundred roundings at most
        np.testing.assert_allclose(R, data.body(name).xmat.reshape(3, 3), rtol=0, atol=1e-13, err_msg=name)
        np.testing.assert_allclose(x, data.body(name).xpos, rtol=0, atol=1e-13 * max(1, np.abs(x).max()), err_msg=name)


@pytest.mark.parametrize("seed", SEEDS)
def test_velocities_are_mujocos(tmp_path: Path, seed: int) -> None:
    """Our poses, differenced along our v, move as MuJoCo says for the qvel that to_mujoco gives."""
    ours, theirs = both(tmp_path, seed)
    rng = np.random.default_rng(seed)
    q, v = ours.random(rng), rng.normal(size=ours.nv)
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = to_mujoco(ours, q, v)
    mujoco.mj_forward(theirs, data)
    h = 1e-5
    before, after = (mujoco_poses(ours, theirs, ours.integrate(q, v, s)) for s in (-h, h))
    for name in before:
        speed = np.zeros(6)  # angular, linear; world axes
        body = theirs.body(name).id
        mujoco.mj_objectVelocity(theirs, data, mujoco.mjtObj.mjOBJ_XBODY, body, speed, 0)
        W = (after[name][0] - before[name][0]) / (2 * h) @ data.body(name).xmat.reshape(3, 3).T
        # h^2/6 of third derivatives (up to a few hundred), and rounding of 1e-15/h
        size = 1 + np.abs(speed).max() ** 3
        np.testing.assert_allclose([W[2, 1], W[0, 2], W[1, 0]], speed[:3], rtol=0, atol=1e-9 * size, err_msg=name)
        linear = (after[name][1] - before[name][1]) / (2 * h)
        np.testing.assert_allclose(linear, speed[3:], rtol=0, atol=1e-9 * size, err_msg=name)


@pytest.mark.parametrize("seed", SEEDS)
def test_masses_and_inertias(tmp_path: Path, seed: int) -> None:
    """Each moving body carries the inertia of all welded to it: compared at a random pose, in the world."""
    ours, theirs = both(tmp_path, seed)
    q = ours.random(np.random.default_rng(seed))
    data = mujoco.MjData(theirs)
    data.qpos[:] = to_mujoco(ours, q, np.zeros(ours.nv))[0]
    mujoco.mj_forward(theirs, data)
    poses = body_poses(ours, q)
    for b in range(1, theirs.nbody):
        if theirs.body_weldid[b] != b:
            continue
        welded = np.flatnonzero(theirs.body_weldid == b)
        m = theirs.body_mass[welded]
        com = m @ data.xipos[welded] / m.sum()
        I = np.zeros((3, 3))
        for k in welded:
            R, r = data.ximat[k].reshape(3, 3), data.xipos[k] - com
            I += R @ np.diag(theirs.body_inertia[k]) @ R.T + theirs.body_mass[k] * (r @ r * np.eye(3) - np.outer(r, r))
        i = ours.bodies[theirs.body(b).name].index
        R, x = poses[i]
        assert ours.mass[i] == pytest.approx(m.sum(), rel=1e-14)
        np.testing.assert_allclose(x + R @ ours.com[i], com, rtol=0, atol=1e-12)  # positions of tens of metres
        np.testing.assert_allclose(R @ ours.inertia[i] @ R.T, I, rtol=0, atol=1e-12 * np.abs(I).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_layout_limits_and_dynamics(tmp_path: Path, seed: int) -> None:
    ours, theirs = both(tmp_path, seed)
    assert list(ours.joint_names) == [theirs.joint(j).name for j in range(theirs.njnt)]
    assert ours.q_index.tolist() == theirs.jnt_qposadr.tolist()
    assert ours.v_index.tolist() == theirs.jnt_dofadr.tolist()
    np.testing.assert_array_equal(ours.damping, theirs.dof_damping)
    np.testing.assert_array_equal(ours.armature, theirs.dof_armature)
    np.testing.assert_array_equal(ours.friction, theirs.dof_frictionloss)
    for j in np.flatnonzero(theirs.jnt_limited):
        assert (ours.joints[int(j)].lower[0], ours.joints[int(j)].upper[0]) == tuple(theirs.jnt_range[j])
    free = [j for j in range(theirs.njnt) if not theirs.jnt_limited[j]]
    assert all(np.isinf(ours.joints[j].lower).all() and np.isinf(ours.joints[j].upper).all() for j in free)


@pytest.mark.parametrize("seed", SEEDS)
def test_sites_are_frames(tmp_path: Path, seed: int) -> None:
    ours, theirs = both(tmp_path, seed)
    q = ours.random(np.random.default_rng(seed))
    data = mujoco.MjData(theirs)
    data.qpos[:] = to_mujoco(ours, q, np.zeros(ours.nv))[0]
    mujoco.mj_forward(theirs, data)
    poses = [*body_poses(ours, q), (np.eye(3), np.zeros(3))]  # the last is the world, frame.body -1
    for s in range(theirs.nsite):
        frame = ours.frames[theirs.site(s).name]
        R, x = poses[frame.body]
        np.testing.assert_allclose(x + R @ frame.position, data.site_xpos[s], rtol=0, atol=1e-12)
    for visual, g in zip(ours.visuals, range(theirs.ngeom), strict=True):
        R, x = poses[visual.body]
        np.testing.assert_allclose(x + R @ visual.position, data.geom_xpos[g], rtol=0, atol=1e-12)
        np.testing.assert_allclose(R @ visual.rotation, data.geom_xmat[g].reshape(3, 3), rtol=0, atol=1e-12)


def test_the_random_trees_hold_every_case(tmp_path: Path) -> None:
    """Guards the tests above: all joint types, chains, anchors, offsets and welded bodies occur."""
    kinds, chains, anchors, refs, welded, limits = set(), 0, 0, 0, 0, 0
    for seed in SEEDS:
        _, theirs = both(tmp_path, seed)
        kinds |= set(theirs.jnt_type.tolist())
        chains += np.count_nonzero(theirs.body_jntnum > 1)
        anchors += np.count_nonzero(theirs.jnt_pos.any(axis=1))
        refs += np.count_nonzero(theirs.qpos0[theirs.jnt_qposadr[theirs.jnt_type >= 2]])
        welded += np.count_nonzero(theirs.body_jntnum[1:] == 0)
        limits += np.count_nonzero(theirs.jnt_limited)
    assert kinds == {0, 1, 2, 3}
    assert min(chains, anchors, refs, welded, limits) > 5


# --- the layout of the state ----------------------------------------------------------------------


@pytest.mark.parametrize("batch", [(), (5,)])
def test_state_there_and_back(tmp_path: Path, batch: tuple[int, ...]) -> None:
    ours, _ = both(tmp_path, 3)
    rng = np.random.default_rng(0)
    q = np.array([ours.random(rng) for _ in range(5)]) if batch else ours.random(rng)
    v = rng.normal(size=(*batch, ours.nv))
    qpos, qvel = to_mujoco(ours, q, v)
    q1, v1 = from_mujoco(ours, qpos, qvel)
    np.testing.assert_array_equal(q1, q)
    np.testing.assert_allclose(v1, v, rtol=0, atol=1e-14)  # R^T R differs from 1 by roundings
    if batch:
        for k in range(5):
            np.testing.assert_array_equal(to_mujoco(ours, q[k], v[k])[0], qpos[k])
            # sums of three products, maybe in another order
            np.testing.assert_allclose(to_mujoco(ours, q[k], v[k])[1], qvel[k], rtol=0, atol=1e-15)
        one_v = to_mujoco(ours, q, v[0])[1]
        np.testing.assert_allclose(one_v[2], to_mujoco(ours, q[2], v[0])[1], rtol=0, atol=1e-15)


def test_free_joint_by_hand() -> None:
    """A quarter turn about z: the body's x is the world's y."""
    b = ModelBuilder()
    b.add_body("base", joint="free", mass=1.0, inertia=(1, 1, 1))
    model = b.build()
    s = np.sqrt(0.5)
    qpos, qvel = to_mujoco(model, [1, 2, 3, 0, 0, s, s], [1, 0, 0, 4, 5, 6])
    np.testing.assert_array_equal(qpos, [1, 2, 3, s, 0, 0, s])
    np.testing.assert_allclose(qvel, [0, 1, 0, 4, 5, 6], rtol=0, atol=1e-15)


def test_states_that_cannot_be_converted() -> None:
    b = ModelBuilder()
    b.add_body("base", joint="planar", mass=1.0, inertia=(1, 1, 1), joint_name="slider")
    with pytest.raises(ModelError, match="joint 'slider' is planar: MuJoCo has no such joint"):
        to_mujoco(b.build(), [0, 0, 1, 0], [0, 0, 0])
    b = ModelBuilder()
    b.add_body("base", joint="free", mass=1.0, inertia=(1, 1, 1))
    model = b.build()
    with pytest.raises(StateError, match=r"q has shape \(6,\)"):
        to_mujoco(model, np.zeros(6), np.zeros(6))
    with pytest.raises(StateError, match="batches of different lengths: 2 and 3"):
        to_mujoco(model, np.ones((2, 7)), np.ones((3, 6)))
    with pytest.raises(StateError, match="zero"):
        from_mujoco(model, np.zeros(7), np.zeros(6))
