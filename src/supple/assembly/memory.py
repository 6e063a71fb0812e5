"""The data of an assembled body that kernels share: its assembly tree, the coefficients and inputs of its nodes, its
state, and the forces on it.

The coefficients of node i (nodes.py) are stored in `numbers`, starting at node_at[i]. A JOIN or LIGHT also stores the
coefficients of its joint, starting at joint_at[i], and, in `closings`, starting at closing_at[i].
"""

from __future__ import annotations

from supple.spatial.algebra import Mat3, RigidInertia, Vec3
from supple.spatial.fields import Floats, Integer, Integers, Six, Value
from supple.spatial.matrices import Mat6
from supple.spatial.structs import Link, Struct, Table


class Pose(Struct):
    """x_outer = R x_inner + r."""

    R = Value(Mat3)
    r = Value(Vec3)


class LinkMatrices(Struct):
    """Matrices of a body, in the adapted bases of frames.py."""

    T = Mat6()  # motions from the parent's basis to that of the joint's frame at zero position
    I = Mat6()  # rigid inertia


class RigidBody(Struct):
    Y = Value(RigidInertia)  # in its own frame


class Tree(Struct):
    """An assembly tree and the joints of its bodies: everything that is constant while a body moves."""

    n = Integer()  # number of bodies
    n_nodes = Integer()
    # per node [tree.py]
    kind = Integers()  # LEAF, JOIN, LIGHT or SUM
    left = Integers()
    right = Integers()
    up = Integers()
    item = Integers()  # the body, or the joint
    first = Integers()
    level = Integers()
    joints = Integers()  # number of joints in it
    open = Integers()  # whether a stretch has a bottom handle
    lone = Integers()  # whether a LEAF is the only node under a LIGHT
    top = Integers()  # the top body of a stretch; for LIGHT and SUM the body that carries them, -1: the world
    after = Integers()  # the joint after an open stretch
    # per body, and per joint that carries it
    parent = Integers()
    joint = Integers()  # kind of joint
    iq = Integers()
    iv = Integers()
    forbidden = Integers()  # number of directions that the joint forbids
    heavy = Integers()  # the child that continues the body's path
    leaf_of = Integers()
    node_of = Integers()
    iw = Integers()  # offset of the joint's weight
    links = Table(LinkMatrices)
    inertias = Table(RigidBody)
    frames = Table(Pose)  # of the joint at zero position, in the parent's frame
    pitch = Floats()
    armature = Floats()  # (nv,)
    weight = Floats()  # k x k numbers for k degrees of freedom: the weight of their accelerations in the total


class Told(Struct):
    """The input that a node receives from above, in the downward pass."""

    f1 = Six()  # the force on its top handle; LIGHT, SUM and lone LEAF: the acceleration of the body that carries them
    f2 = Six()  # the force on its bottom handle


class BodyForce(Struct):
    f = Six()


class AssembledBody(Struct):
    tree = Link(Tree)
    numbers = Floats()
    closings = Floats()
    node_at = Integers()
    joint_at = Integers()
    closing_at = Integers()
    told = Table(Told)  # of node i: told_at[i]
    told_at = Integers()
    loads = Floats()  # node i, starting at load_at[i]: its coefficients while it moves as a rigid body [load_cases.py]
    load_at = Integers()
    spans = Table(Pose)  # open stretch: the frame of the joint after it, relative to its top body [poses.py]
    external = Table(BodyForce)  # forces on the bodies, in their adapted bases
    nq = Integer()
    nv = Integer()
    q = Floats()
    force = Floats()  # (nv,) the joints' own forces
    qdd = Floats()
