"""Equalities of MJCF files against MuJoCo: random trees with constraints of every kind.

MuJoCo's constraints are soft: what is compared is what they hold (the residuals are zero where our loops are closed),
which directions they forbid (the rows of both Jacobians span the same space), and the accelerations that its mass
matrix, forces and rows have if the rows are obeyed exactly.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

from test_dynamics_mujoco import numbers, velocity_map  # noqa: E402
from test_files_mujoco import random_mjcf  # noqa: E402

import supple  # noqa: E402
from supple.exact.closure import closure  # noqa: E402

#: Between a body of the tree and a free body, or between two joints.
KINDS = {
    "connect bodies": '<connect body1="{body}" body2="free" {anchor}/>',
    "connect sites": '<connect site1="sfree" site2="{site}"/>',
    "weld": '<weld body1="free" body2="{body}" {anchor}/>',
    "weld relpose": '<weld body1="{body}" body2="free" {anchor} relpose="{pose}" torquescale="3"/>',
    "weld sites": '<weld site1="{site}" site2="sfree"/>',
    "loose weld": '<weld body1="free" {anchor} torquescale="0"/>',
    "joint": '<joint joint1="{one}" joint2="{two}" polycoef="{line} 0 0 0"/>',
    "one joint": '<joint joint1="{one}" polycoef="{line} 0 0 0"/>',
}
BODY = (
    '<body name="{0}" pos="1 2 3" quat="1 2 3 4"><freejoint/><site name="s{0}" pos="0.1 0.2 0.3" quat="4 3 2 1"/>'
    '<inertial mass="1.5" pos="0.1 0 0.2" diaginertia="1 1.2 1.5"/></body></worldbody>'
)


def constraint(rng: np.random.Generator, kind: str, hinges: list[str]) -> str:
    """One of a kind."""
    one, two = rng.choice(hinges, 2, replace=False)
    body, site = (f"{what}{rng.integers(12)}" for what in "bs")
    anchor, pose, line = (numbers(rng.normal(size=n)) for n in (3, 7, 2))
    return KINDS[kind].format(
        one=one, two=two, body=body, site=site, anchor=f'anchor="{anchor}"', pose=pose, line=line
    )  # fmt: skip


def written(path: Path, seed: int, kinds: tuple[str, ...]) -> Path:
    rng = np.random.default_rng(seed)
    text = random_mjcf(seed).replace("</worldbody>", BODY.format("free"))
    path.write_text(text)
    m = mujoco.MjModel.from_xml_path(str(path))
    hinges = [m.joint(j).name for j in range(m.njnt) if m.jnt_type[j] in (2, 3)]
    inside = "".join(constraint(rng, kind, hinges) for kind in kinds)
    path.write_text(text.replace("</mujoco>", f"<equality>{inside}</equality></mujoco>"))
    return path


def rows_of(m: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """MuJoCo's rows of equalities."""
    J = np.zeros((data.nefc, m.nv))
    if mujoco.mj_isSparse(m):
        mujoco.mju_sparse2dense(J, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
    else:
        J[:] = data.efc_J.reshape(data.nefc, m.nv)
    return J[: data.ne]


def rates_of_rows(m: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """How fast the rows change along the velocities, times those: by central differences."""
    qpos, qvel, h, out = data.qpos.copy(), data.qvel.copy(), 1e-5, 0.0
    for sign in (1.0, -1.0):
        data.qpos[:] = qpos
        mujoco.mj_integratePos(m, data.qpos, qvel, sign * h)
        mujoco.mj_forward(m, data)
        out = out + sign * rows_of(m, data) @ qvel / (2 * h)
    data.qpos[:] = qpos
    mujoco.mj_forward(m, data)
    return out


def hard_accelerations(m: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """M a = forces + J^T x, J a = -J' v, as dense equations; of redundant rows any will do."""
    M, J = np.zeros((m.nv, m.nv)), rows_of(m, data)
    mujoco.mj_fullM(m, data, M)
    force = data.qfrc_applied + data.qfrc_passive - data.qfrc_bias
    free = np.linalg.solve(M, force)
    inverse = np.linalg.solve(M, J.T)
    x = np.linalg.lstsq(J @ inverse, -rates_of_rows(m, data) - J @ free, rcond=1e-11)[0]
    return free + inverse @ x


def of_mujoco(model: supple.Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Our accelerations as MuJoCo's: of free bodies along world axes, d/dt (R v) = R (dv/dt + w x v)."""
    a = a.copy()
    for i in np.flatnonzero(model.joint_type == 8):
        at = model.joints[int(i)].v.start
        a[at : at + 3] += np.cross(v[at + 3 : at + 6], v[at : at + 3])
    return velocity_map(model, q) @ a


def rank(A: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(A / np.linalg.norm(A, axis=1, keepdims=True), 1e-8))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_equalities_hold_what_mujocos_hold(tmp_path: Path, kind: str, seed: int) -> None:
    path = written(tmp_path / "robot.xml", seed, (kind, "joint") if kind != "joint" else (kind,))
    compare(path, seed)


@pytest.mark.parametrize("seed", range(4))
def test_several_equalities_at_once(tmp_path: Path, seed: int) -> None:
    compare(written(tmp_path / "robot.xml", 10 + seed, ("weld", "connect bodies", "one joint")), seed)


def compare(path: Path, seed: int) -> None:
    model, m = supple.load(path), mujoco.MjModel.from_xml_path(str(path))
    assert len(model.loop_list) + len(model.relation_list) == m.neq and not model.report.about("equality")
    rng, data = np.random.default_rng(seed), mujoco.MjData(m)
    near = model.integrate(supple.from_mujoco(model, m.qpos0)[0], 0.3 * rng.normal(size=model.nv))
    q = supple.close_loops(model, near)
    v = supple.close_velocities(model, q, rng.normal(size=model.nv))
    tau, T = rng.normal(size=model.nv), velocity_map(model, q)
    data.qfrc_applied[:] = np.linalg.solve(T.T, tau)
    # at rest no row changes; otherwise central differences say how fast: 1e-5 squared, times some tens
    for speed, tolerance in ((0.0 * v, 1e-9), (v, 1e-7)):
        data.qpos[:], data.qvel[:] = supple.to_mujoco(model, q, speed)
        mujoco.mj_forward(m, data)
        ours = of_mujoco(model, q, speed, supple.forward_dynamics(model, q, speed, tau))
        theirs = hard_accelerations(m, data)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * max(1.0, np.abs(theirs).max()))
    assert np.abs(data.efc_pos[: data.ne]).max() < 1e-10
    J, G = rows_of(m, data) @ T, closure(model, q).G
    J = J[np.abs(J).max(axis=1) > 1e-9]  # a loose weld has rows of zeros
    assert rank(G) == rank(J) == rank(np.vstack([J, G]))
