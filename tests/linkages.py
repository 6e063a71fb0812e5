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


def related_trees(rng, trees: int, decades: float = 0.0) -> Model:
    """Trees on the world, each an arm with a slider that cannot move: a universal joint stands across it, or a screw
    holds the whole tree. Relations couple pairs of arms, and pairs of sliders, which they cannot move either. Another
    screw leads from tree to tree. At q = 0 all loops are closed. decades: how far masses are apart."""
    builder, pairs = supple.ModelBuilder(), []
    for t in range(trees):
        held, parent = t % 3 == 1, None
        base = "revolute" if held else str(rng.choice(["ball", "free", "revolute"]))
        for name, joint in ((f"base{t}", base), (f"arm{t}", "revolute"), (f"slider{t}", "prismatic")):
            mass = 10 ** rng.uniform(0, decades)
            builder.add_body(
                name, parent, joint, axis=rng.normal(size=3), position=rng.normal(size=3),
                rotation=random_rotation(rng), mass=mass, com=0.3 * rng.normal(size=3),
                inertia=mass * np.array([0.3, 0.36, 0.42]),
            )  # fmt: skip
            parent = name
        pairs.append((None, f"slider{t}", "screw") if held else (f"arm{t}", f"slider{t}", "universal"))
    pairs.append(("slider0", f"slider{trees - 1}", "screw"))
    tree = builder.build()
    poses = supple.poses(tree, tree.neutral())
    for a, b, kind in pairs:
        (R_A, P_A), (R_B, P_B) = (poses[x] if x else (np.eye(3), np.zeros(3)) for x in (a, b))
        R, p, axis = random_rotation(rng), rng.normal(size=3), rng.normal(size=3)
        builder.close(
            a, b, kind, axis=axis, axis2=np.cross(axis, rng.normal(size=3)), pitch=0.3, rotation=R, position=p,
            other_rotation=R_B.T @ R_A @ R, other_position=R_B.T @ (R_A @ p + P_A - P_B),
        )  # fmt: skip
    for k in range(trees):
        one, two = rng.choice(trees, 2, replace=False)
        name = ("slider", "arm")[k % 2]
        builder.relate({f"{name}{one}_joint": rng.uniform(0.3, 3), f"{name}{two}_joint": rng.uniform(0.3, 3)})
    return builder.build()


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


def four_bar(crank=0.3, coupler=0.8, rocker=0.6, base=0.7, mass=1.0, turned=None) -> Model:
    """A plane linkage in x and z, with hinges about y: crank and coupler in the tree, the rocker's end on the world
    closed by a loop joint. At q = 0 all rods point along x. turned: the whole, rotated."""
    R = np.eye(3) if turned is None else turned
    builder = supple.ModelBuilder("four-bar", gravity=R @ (0, 0, -9.81))
    parent, at, rotation = None, (0.0, 0.0, 0.0), R
    for name, length in (("crank", crank), ("coupler", coupler), ("rocker", rocker)):
        about = mass * length**2 / 12
        builder.add_body(
            name, parent, "continuous", axis=(0, 1, 0), position=at, rotation=rotation, mass=mass,
            com=(length / 2, 0, 0), inertia=(1e-3, about, about),
        )  # fmt: skip
        parent, at, rotation = name, (length, 0.0, 0.0), np.eye(3)
    builder.close(
        "rocker", None, "revolute", name="pin", axis=(0, 1, 0), position=at, other_position=R @ (base, 0, 0),
        other_rotation=R,
    )  # fmt: skip
    return builder.build()


def parallelogram(rods=3, length=0.4, base=1.0, turned=None) -> Model:
    """Parallel rods of different masses from the world to a coupler: with three of them it moves only because the
    lengths are what they are. The first rod and the coupler are the tree's, at angles q and -q; the others' ends are
    closed, at angles pi + q."""
    R = np.eye(3) if turned is None else turned
    builder, hinge = supple.ModelBuilder(gravity=R @ (0, 0, -9.81)), dict(joint="continuous", axis=(0, 1, 0))
    rod = dict(com=(length / 3, 0, 0.05), inertia=(1e-3, length**2 / 12, length**2 / 12))
    builder.add_body("crank", **hinge, rotation=R, mass=1.0, **rod)
    about = base**2 / 12
    builder.add_body(
        "coupler", "crank", **hinge, position=(length, 0, 0), mass=2.0, com=(base / 3, 0, 0.1),
        inertia=(1e-3, about, about),
    )  # fmt: skip
    for i in range(1, rods):
        at = np.array([base * i / (rods - 1), 0, 0])
        builder.add_body(f"rod{i}", "coupler", **hinge, position=at, mass=0.5 * i, **rod)
        builder.close(
            f"rod{i}", None, name=f"pin{i}", axis=(0, 1, 0), position=(length, 0, 0), other_position=R @ at,
            other_rotation=R,
        )  # fmt: skip
    return builder.build()


def parallel(angle, rods=3):
    """The position of a parallelogram."""
    return np.array([angle, -angle] + [np.pi + angle] * (rods - 1))


def bennett(twist=0.6, other_twist=1.1) -> tuple[Model, np.ndarray]:
    """Bennett's linkage: four hinges in space, which move only because sides are as the sines of twists; at a position
    in which it is closed."""
    sides, twists = (1.0, np.sin(other_twist) / np.sin(twist)) * 2, (twist, other_twist) * 2
    about_x = [np.array([[1, 0, 0], [0, np.cos(t), -np.sin(t)], [0, np.sin(t), np.cos(t)]]) for t in twists]
    builder = supple.ModelBuilder("Bennett", gravity=(0, -3, -9.81))
    parent, at, R = None, np.zeros(3), np.eye(3)
    for i in range(3):
        builder.add_body(
            f"side{i}", parent, "continuous", axis=(0, 0, 1), position=at, rotation=R, mass=1.0 + i,
            com=(sides[i] / 2, 0.1 * i, 0), inertia=(0.05, 0.1 * (i + 1), 0.1 * (i + 1)),
        )  # fmt: skip
        parent, at, R = f"side{i}", np.array([sides[i], 0, 0]), about_x[i]
    back = about_x[3].T
    builder.close(
        "side2", None, "revolute", name="last", axis=(0, 0, 1), position=at, rotation=R,
        other_position=back @ (-sides[3], 0, 0), other_rotation=back,
    )  # fmt: skip
    model = builder.build()
    return model, supple.close_loops(model, [1.26, -3.61, -1.26])
