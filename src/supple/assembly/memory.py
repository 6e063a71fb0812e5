"""What kernels share of an assembled body: its assembly tree, what its nodes know and are told, its state, the forces
on it.

What a node knows (nodes.py) lies among `numbers`, from node_at[i] on; of a JOIN and a LIGHT also what it knows of its
joint, from joint_at[i] on, and, among `closings`, from closing_at[i] on.
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
    """Of a body, in the adapted bases of frames.py."""

    T = Mat6()  # motions from the parent's basis to that of the joint's frame before it moves
    I = Mat6()  # rigid inertia


class RigidBody(Struct):
    Y = Value(RigidInertia)  # in its own frame


class Tree(Struct):
    """An assembly tree and the joints of its bodies: what does not change while a body moves."""

    n = Integer()  # bodies
    n_nodes = Integer()
    # of nodes [tree.py]
    kind = Integers()  # LEAF, JOIN, LIGHT or SUM
    left = Integers()
    right = Integers()
    up = Integers()
    item = Integers()  # the body, or the joint
    first = Integers()
    level = Integers()
    joints = Integers()  # how many there are in it
    open = Integers()  # whether a stretch has a bottom handle
    lone = Integers()  # whether a LEAF is all there is under a LIGHT
    top = Integers()  # the top body of a stretch; of LIGHT and SUM the body they hang on, -1: the world
    after = Integers()  # the joint after an open stretch
    # of bodies, and the joints by which they hang
    parent = Integers()
    joint = Integers()  # what kind of joint
    iq = Integers()
    iv = Integers()
    forbidden = Integers()  # how many directions the joint forbids
    heavy = Integers()  # the child with which the body's path goes on
    leaf_of = Integers()
    node_of = Integers()
    iw = Integers()  # where the weight of the joint begins
    links = Table(LinkMatrices)
    inertias = Table(RigidBody)
    frames = Table(Pose)  # of the joint before it moves, in the parent's frame
    pitch = Floats()
    armature = Floats()  # (nv,)
    weight = Floats()  # of k degrees of freedom k x k numbers: the weight of their accelerations in the total


class Told(Struct):
    """What a node is told from above."""

    f1 = Six()  # the force on its top handle; LIGHT, SUM and lone LEAF: the acceleration of the body they hang on
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
    loads = Floats()  # of node i, from load_at[i] on: what it knows while it moves as a rigid body [load_cases.py]
    load_at = Integers()
    spans = Table(Pose)  # of an open stretch: where the joint after it begins, seen from its top body [poses.py]
    external = Table(BodyForce)  # forces on the bodies, in their adapted bases
    nq = Integer()
    nv = Integer()
    q = Floats()
    force = Floats()  # (nv,) the joints' own
    qdd = Floats()
