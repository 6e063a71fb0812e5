"""Mechanisms with loops: random ones of every joint type, closed at a known position, and some with closed forms."""

from __future__ import annotations

import numpy as np

import supple
from supple.model.joint_motion import JointShape
from supple.model.joints import JointType
from supple.model.model import Model

CLOSING = ("revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "ball", "fixed")
TREE = ("revolute", "ball", "universal", "prismatic", "cylindrical")


def random_rotation(rng):
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.sign(np.linalg.det(Q))


def random_coordinates(rng, kind: JointType):
    q = 0.7 * rng.normal(size=kind.nq)
    unit = {JointType.BALL: slice(0, 4), JointType.PLANAR: slice(2, 4)}.get(kind)
    if unit is not None:
        q[unit] /= np.linalg.norm(q[unit])
    return q


def random_linkage(rng, kinds=CLOSING, n=8, loops=2) -> tuple[Model, np.ndarray]:
    """A tree with loop joints of the given types, and a position in which they are closed."""
    seed = int(rng.integers(1 << 30))
    tree = _tree(seed, n).build()
    q = tree.random(rng)
    poses = supple.poses(tree, q)
    builder = _tree(seed, n)
    for k in range(loops):
        kind = JointType[str(rng.choice(kinds)).upper()]
        a, b = (str(x) for x in rng.choice(tree.body_names, 2, replace=False))
        R_A, P_A = poses[a] if k % 2 == 0 else (np.eye(3), np.zeros(3))
        R_B, P_B = poses[b]
        axis = _unit(rng.normal(size=3))
        axis2, pitch = _unit(np.cross(axis, rng.normal(size=3))), 0.3
        R_J, p_J = np.eye(3), np.zeros(3)
        if kind != JointType.FIXED:
            R_J, p_J = JointShape(kind, axis, axis2, pitch).pose(random_coordinates(rng, kind))
        R, p = random_rotation(rng), rng.normal(size=3)
        at, turned = R_A @ (R @ p_J + p) + P_A, R_A @ R @ R_J
        builder.close(
            a if k % 2 == 0 else None, b, kind.name.lower(), axis=axis, axis2=axis2, pitch=pitch, position=p,
            rotation=R, other_position=R_B.T @ (at - P_B), other_rotation=R_B.T @ turned,
        )  # fmt: skip
    return builder.build(), q


def _tree(seed: int, n: int) -> supple.ModelBuilder:
    rng = np.random.default_rng(seed)
    builder = supple.ModelBuilder()
    for i in range(n):
        parent = None if i == 0 else int(rng.integers(max(0, i - 4), i))
        builder.add_body(
            f"b{i}", parent, "free" if i == 0 else str(rng.choice(TREE)), axis=(0, 0, 1), axis2=(1, 0, 0),
            position=rng.normal(size=3), rotation=random_rotation(rng), mass=float(rng.uniform(0.5, 2)),
            com=0.3 * rng.normal(size=3), inertia=(1, 1.2, 1.4), armature=0.1 * (i > 0), damping=0.2 * (i > 0),
        )  # fmt: skip
    return builder


def _unit(x):
    return x / np.linalg.norm(x)


def allowed_velocity(rng, G):
    """A velocity with G v = 0."""
    _, s, Vt = np.linalg.svd(G)
    N = Vt[np.count_nonzero(s > 1e-9) :].T
    return N @ rng.normal(size=N.shape[1])


def four_bar(crank=0.3, coupler=0.8, rocker=0.6, base=0.7, mass=1.0) -> Model:
    """A plane linkage in x and z, with hinges about y: crank and coupler in the tree, the rocker's end on the world
    closed by a loop joint. At q = 0 all rods point along x."""
    builder = supple.ModelBuilder("four-bar")
    parent, at = None, (0.0, 0.0, 0.0)
    for name, length in (("crank", crank), ("coupler", coupler), ("rocker", rocker)):
        about = mass * length**2 / 12
        builder.add_body(
            name, parent, "continuous", axis=(0, 1, 0), position=at, mass=mass, com=(length / 2, 0, 0),
            inertia=(1e-3, about, about),
        )  # fmt: skip
        parent, at = name, (length, 0.0, 0.0)
    builder.close("rocker", None, "revolute", name="pin", axis=(0, 1, 0), position=at, other_position=(base, 0, 0))
    return builder.build()
