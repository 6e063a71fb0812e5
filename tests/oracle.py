"""Independent models to compare with: ours, rebuilt joint by joint in Pinocchio, and a random tree of every joint
type."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from supple.model.builder import ModelBuilder
from supple.model.geometry import rotation_to_z
from supple.model.joints import JointType
from supple.model.model import Model
from supple.model.trees import ALL_JOINTS

MOVING = ALL_JOINTS


def pinocchio_model(model: Model) -> pin.Model:
    """The same bodies in Pinocchio, in the same order, with the same layout of q and v.

    Planar joints know only the normal z there: bodies on one get a frame turned by `turn`, so their inertias and the
    placements of their children are turned back.
    """
    out = pin.Model()
    out.gravity = pin.Motion(np.array(model.gravity), np.zeros(3))
    turns = [np.eye(3)] * model.n_bodies
    for i in range(model.n_bodies):
        p = int(model.parent[i])
        kind = JointType(int(model.joint_type[i]))
        turn = rotation_to_z(model.axis[i : i + 1])[0] if kind == JointType.PLANAR else np.eye(3)
        turns[i] = turn
        up = np.eye(3) if p < 0 else turns[p]
        placement = pin.SE3(up.T @ model.rotation[i] @ turn, up.T @ model.position[i])
        joint = out.addJoint(p + 1, _joint(model, i, kind), placement, model.joint_names[i])
        inertia = pin.Inertia(float(model.mass[i]), turn.T @ model.com[i], turn.T @ model.inertia[i] @ turn)
        out.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    out.armature = np.array(model.armature)
    return out


def _joint(model: Model, i: int, kind: JointType) -> object:
    a, b = np.array(model.axis[i]), np.array(model.axis2[i])
    if kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
        return pin.JointModelRevoluteUnaligned(a)
    if kind == JointType.PRISMATIC:
        return pin.JointModelPrismaticUnaligned(a)
    if kind == JointType.SCREW:
        return pin.JointModelHelicalUnaligned(a, float(model.pitch[i]))
    if kind == JointType.UNIVERSAL:
        return pin.JointModelUniversal(a, b)
    if kind == JointType.CYLINDRICAL:
        both = pin.JointModelComposite(2)
        both.addJoint(pin.JointModelRevoluteUnaligned(a))
        both.addJoint(pin.JointModelPrismaticUnaligned(a))
        return both
    if kind == JointType.PLANAR:
        return pin.JointModelPlanar()
    if kind == JointType.BALL:
        return pin.JointModelSpherical()
    return pin.JointModelFreeFlyer()


def free_roots(model: Model) -> np.ndarray:
    """Which joints are free roots of bodies: always active in adaptive dynamics, and not counted."""
    return (model.parent < 0) & (model.joint_type == JointType.FREE)


def random_model(
    rng: np.random.Generator,
    n: int,
    kinds: tuple[str, ...] = MOVING,
    *,
    chain: float = 0.5,
    world: float = 0.1,
    extras: bool = True,
) -> Model:
    """A random forest of n bodies. chain: how often a body hangs on the one before; world: how often on the world."""
    b = ModelBuilder("random")
    for i in range(n):
        parent = None
        if i and rng.random() > world:
            parent = i - 1 if rng.random() < chain else int(rng.integers(0, i))
        axis = rng.standard_normal(3)
        quaternion = rng.standard_normal(4)
        corners = rng.standard_normal((6, 3)) * rng.uniform(0.1, 0.5)  # an inertia that some real body has
        inertia = sum((x @ x) * np.eye(3) - np.outer(x, x) for x in corners)
        b.add_body(
            None,
            parent,
            str(rng.choice(kinds)),
            axis=axis,
            axis2=np.cross(axis, rng.standard_normal(3)),
            pitch=rng.uniform(-0.5, 0.5),
            position=rng.standard_normal(3),
            rotation=quaternion / np.linalg.norm(quaternion),
            mass=rng.uniform(0.2, 3.0),
            com=rng.standard_normal(3) * 0.3,
            inertia=inertia,
            armature=rng.uniform(0.0, 0.3) if extras else 0.0,
            damping=rng.uniform(0.0, 0.5) if extras else 0.0,
        )
    return b.build()


def uneven_model(
    rng: np.random.Generator,
    n: int,
    masses: tuple[float, float],
    lengths: tuple[float, float],
    *,
    armature: float = 0.0,
    chain: float = 0.7,
) -> Model:
    """A random forest whose masses and lengths are spread over decades, as are the moments of inertia; a fifth of the
    bodies are dummies of 0.1 g. armature: the largest, at a third of the joints."""
    b = ModelBuilder("uneven")
    for i in range(n):
        parent = None
        if i and rng.random() > 0.05:
            parent = i - 1 if rng.random() < chain else int(rng.integers(0, i))
        mass, reach, away = (float(10 ** rng.uniform(*np.log10(x))) for x in (masses, lengths, lengths))
        dummy = rng.random() < 0.2
        if dummy:
            mass, reach = 1e-4, 1e-2
        corners = rng.standard_normal((6, 3)) * reach * np.sqrt(mass) * rng.uniform(0.02, 0.2)
        inertia = sum((x @ x) * np.eye(3) - np.outer(x, x) for x in corners)
        inertia = inertia * max(1.0, 1e-8 / float(np.linalg.eigvalsh(inertia)[0]))
        axis, quaternion = rng.standard_normal(3), rng.standard_normal(4)
        b.add_body(
            None,
            parent,
            str(rng.choice(MOVING)),
            axis=axis,
            axis2=np.cross(axis, rng.standard_normal(3)),
            pitch=rng.uniform(-0.5, 0.5),
            position=rng.standard_normal(3) * away,
            rotation=quaternion / np.linalg.norm(quaternion),
            mass=mass,
            com=rng.standard_normal(3) * reach * 0.4 * (not dummy),
            inertia=inertia,
            armature=float(armature ** rng.uniform(-1, 1)) if armature and rng.random() < 0.33 else 0.0,
        )
    return b.build()
