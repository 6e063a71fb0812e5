"""A mechanism with loops as fronts.py sees it: the bodies along a spanning tree, and the rows that are open at each.

A *row* is a direction that a cut joint forbids, with an unknown force along it [closure.py], or a relation between
coordinates. It enters at the bodies at both ends of the joint and is *open* on the way from there to the body where
the two ways meet; from there on it is *closed*: whatever else happens, it is known by the motion of that one body.
Closed rows depend on six numbers; if there are many, all but six combinations of them are eliminated. A
*front* is the set of rows at a body; bodies one after another with the same rows share one.
"""

from __future__ import annotations

from supple.exact.loop_tables import Loops
from supple.spatial.algebra import Force, Inertia, Motion, RigidInertia, Vec3
from supple.spatial.fields import Floats, Integer, Integers, Number, Value
from supple.spatial.structs import Link, Struct, Table


class Node(Struct):
    """A body, with the joint towards its parent in the spanning tree. The first nodes are the *bases*: the world, once
    for each body that is joined to it."""

    body = Integer()  # -1: a base
    parent = Integer()  # a node; -1: none, of a base
    joint = Integer()  # the body whose joint in the model's tree it is; or the number of a loop
    is_loop = Integer()
    sign = Number()  # 1 if the parent is the first body of the joint, -1 if the second
    dof = Integer()  # its first degree of freedom, among FrontDof
    n_dofs = Integer()
    front = Integer()  # -1: there are no rows
    is_new = Integer()  # whether its front begins here
    end = Integer()  # its first among Mechanism.ends
    n_ends = Integer()
    direct = Integer()  # its first among Mechanism.directs
    n_directs = Integer()
    # memory
    P = Value(Vec3)  # origin, in the world
    r = Value(Vec3)  # relative to the parent's
    I = Value(RigidInertia)
    IA = Value(Inertia)  # with what the bodies beyond it add
    f = Value(Force)  # bias force, at acceleration zeta + c
    pA = Value(Force)  # with what the bodies beyond it add
    c = Value(Motion)  # what loop joints of the spanning tree add to zeta
    A = Value(Motion)  # acceleration beyond zeta + c


class FrontDof(Struct):
    """A degree of freedom of a joint in the spanning tree."""

    iv = Integer()  # among the velocities of the model; -1: of a loop joint
    y = Integer()  # where its numbers in Mechanism.Y begin
    # memory
    armature = Number()
    s = Value(Motion)  # how it moves the node
    U = Value(Force)
    d = Number()
    u = Number()
    tau = Number()


class End(Struct):
    """Where the rows of a cut joint enter."""

    row = Integer()  # the first, among Loops.rows
    n_rows = Integer()
    at = Integer()  # in the front
    sign = Number()  # 1: at the second body of the joint, on which the unit forces act
    owns = Integer()  # whether what the rows must equal is added here


class Direct(Struct):
    """A term of a relation, at the joint whose coordinate it has."""

    dof = Integer()
    row = Integer()
    at = Integer()  # in the front
    factor = Number()
    owns = Integer()


class Front(Struct):
    """Rows: the open ones, then the closed ones. With x the forces along them and A the acceleration of the node,
    K^T A + F^T F x = b. Offsets refer to the arrays of Mechanism."""

    n = Integer()
    n_open = Integer()
    n_kept = Integer()  # closed rows that are carried on; those after them are eliminated
    is_base = Integer()
    stride = Integer()  # the most rows of F
    K = Integer()
    F = Integer()
    b = Integer()  # also x
    H = Integer()  # six reflections of the closed rows, or none
    E = Integer()  # w; and the reflections Z
    to = Integer()  # where the rows of the front continue in that of the parent node
    # memory
    has_begun = Integer()  # whether rows have arrived from below
    n_F = Integer()  # rows of F
    rank = Integer()  # the first of them, which are those of eliminated rows


class Cut(Struct):
    """A joint of the model's tree outside the spanning tree."""

    body = Integer()
    node = Integer()
    other = Integer()  # the node of its parent, or of the world
    row = Integer()  # its first row
    is_soft = Integer()  # whether rows for armatures follow


class Mechanism(Struct):
    """A mechanism along a spanning tree, and memory for one state."""

    loops = Link(Loops)
    n_nodes = Integer()
    n_dofs = Integer()
    n_bases = Integer()
    n_fronts = Integer()
    n_cuts = Integer()
    has_loop_joints = Integer()  # whether any is in the spanning tree
    is_uneven = Integer()  # whether masses are far apart [uneven_rows.py]
    least = Number()  # rows of which less remains depend on others [row_elimination.py]
    redundant = Integer()  # how many did so in the last state
    nodes = Table(Node)
    dofs = Table(FrontDof)
    ends = Table(End)
    directs = Table(Direct)
    fronts = Table(Front)
    cuts = Table(Cut)
    node_of = Integers()  # (n_bodies,)
    soft = Floats()  # (rows,) compliance of rows: 1 / armature of a cut joint; -1: it has none, and no force
    n_all_rows = Integer()  # those of cut joints included
    gives = Floats()  # (rows,) how far each gives way to a unit force, by its ends' inertias alone
    to = Integers()
    row_of = Integers()  # by Front.b: the row in each place; -1: a combination of rows that a child passed on
    block = Integers()  # by Front.b: the first place of the joint or child to which it belongs
    pivots = Integers()  # columns of F in the order of their elimination, by Front.b
    K = Floats()  # six numbers a row
    F = Floats()  # by columns, one for each row of a front; and one of measures, if masses are far apart
    b = Floats()
    x = Floats()
    scale = Floats()  # of closed rows, by Front.b
    H = Floats()
    E = Floats()
    Y = Floats()
    a = Floats()  # (nv,) accelerations
    more = Floats()  # (nv + rows,) what an improvement adds to the solution
    room = Floats()
