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
from supple.spatial.cpu import LINE
from supple.spatial.fields import Floats, Integer, Integers, Number, Value
from supple.spatial.structs import Link, Struct, Table


class Node(Struct, align=LINE):
    """A body, with the joint towards its parent in the spanning tree; or a *base*: the world, once for each body that
    is joined to it. Each is followed by all that are beyond it."""

    body = Integer()  # -1: a base
    parent = Integer()  # a node; -1: none, of a base
    joint = Integer()  # the body whose joint in the model's tree it is; or the number of a loop
    is_loop = Integer()
    sign = Number()  # 1 if the parent is the first body of the joint, -1 if the second
    dof = Integer()  # its first degree of freedom, among FrontDof
    n_dofs = Integer()
    slot = Integer()  # among Mechanism.passed
    has_children = Integer()
    front = Integer()  # -1: there are no rows
    is_new = Integer()  # whether its front begins here
    Y = Integer()  # where its numbers in Mechanism.Y begin: for each degree of freedom, one a row
    end = Integer()  # its first among Mechanism.ends
    n_ends = Integer()
    direct = Integer()  # its first among Mechanism.directs
    n_directs = Integer()
    # memory
    P = Value(Vec3)  # origin, in the world
    I = Value(RigidInertia)
    f = Value(Force)  # bias force, at acceleration zeta + c
    c = Value(Motion)  # what loop joints of the spanning tree add to zeta
    A = Value(Motion)  # acceleration beyond zeta + c


class Passed(Struct):
    """What nodes pass on to their parents, by slots [topology.slots]."""

    IA = Value(Inertia)  # what the bodies beyond a node add to I; with I, while it is passed
    pA = Value(Force)  # and to the bias force


class FrontDof(Struct):
    """A degree of freedom of a joint in the spanning tree."""

    iv = Integer()  # among the velocities of the model; -1: of a loop joint
    # memory
    armature = Number()
    s = Value(Motion)  # how it moves the node
    U = Value(Force)
    d = Number()
    u = Number()  # at first tau


class End(Struct):
    """Where the rows of a cut joint enter."""

    row = Integer()  # the first, among Loops.rows
    n_rows = Integer()
    at = Integer()  # in the front
    sign = Number()  # 1: at the second body of the joint, on which the unit forces act
    owns = Integer()  # whether what the rows must equal is added here: at the end that comes first, from the leaves


class Direct(Struct):
    """A term of a relation, at the joint whose coordinate it has."""

    dof = Integer()
    row = Integer()
    at = Integer()  # in the front
    factor = Number()
    owns = Integer()  # as of an end


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
    places = Integer()  # its first closed row
    b = Integer()  # also x
    H = Integer()  # six reflections of the closed rows, or none
    E = Integer()  # w; and the reflections Z
    T = Integer()
    to = Integer()  # where the rows of the front continue in that of the parent node
    below = Integer()  # the first front that continues in this one; -1: none
    beside = Integer()  # the next that continues where this one does; -1: none
    # memory
    n_F = Integer()  # rows of F
    rank = Integer()  # the first of them, which are those of eliminated rows


class Place(Struct):
    """A closed row of a front."""

    row = Integer()  # -1: a combination of rows that a child passed on
    block = Integer()  # the first column of the joint or child to which it belongs
    # memory
    scale = Number()
    pivot = Integer()  # by number in the order of elimination: a column


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
    n_cuts = Integer()
    has_loop_joints = Integer()  # whether any is in the spanning tree
    is_uneven = Integer()  # whether masses are far apart [uneven_rows.py]
    least = Number()  # rows of which less remains depend on others [row_scales.py]
    redundant = Integer()  # how many did so in the last state
    nodes = Table(Node)
    passed = Table(Passed)
    dofs = Table(FrontDof)
    ends = Table(End)
    directs = Table(Direct)
    fronts = Table(Front)
    places = Table(Place)
    cuts = Table(Cut)
    node_of = Integers()  # (n_bodies,)
    soft = Floats()  # (rows,) compliance of rows: 1 / armature of a cut joint; -1: it has none, and no force
    gives = Floats()  # (rows,) how far each gives way to a unit force, by what is at its ends alone
    to = Integers()
    # fronts that are being passed, in memory that others use after them
    K = Floats()  # six numbers a row
    F = Floats()  # by columns, one for each row of a front; and one of measures, if masses are far apart
    # what solutions need, front after front, in one array with many names
    b = Floats()  # then x
    H = Floats()
    E = Floats()
    T = Floats()
    Y = Floats()
    a = Floats()  # (nv,) accelerations
    more = Floats()  # (nv + rows,) what an improvement adds to the solution
    room = Floats()
