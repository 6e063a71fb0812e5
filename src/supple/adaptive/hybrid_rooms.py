"""The loops of the hybrid body in memory: those that join different rigid parts of it, and room for their rows.

A loop whose two ends are in the same rigid part does nothing there: rigid parts may contain whole loops. The ends of
the others are frames on reduced bodies, so that exact/closure.py finds their rows as it does for a model. A relation
between coordinates has terms at active joints; those of the others are part of its sum.
"""

from __future__ import annotations

from supple.exact.call_kernels import Call
from supple.exact.front_tables import Front, Place
from supple.exact.loop_tables import Loops
from supple.spatial.algebra import Force, Motion, Vec3
from supple.spatial.fields import Floats, Integer, Integers, Number, Value
from supple.spatial.structs import Link, Struct, Table


class Pair(Struct):
    """Two reduced bodies, and all the loops between them. If these have more than six rows, they are combined to six
    [hybrid_rows.py]."""

    first = Integer()  # their first row
    n = Integer()  # how many rows they have
    at = Integer()  # the first of those that are eliminated
    H = Integer()  # where their reflections begin


class HeldRow(Struct):
    """A row that is eliminated: of a loop, or a combination of them."""

    a = Integer()  # rows of the reduced tree of the bodies on which the opposite force acts, and the force; -1: none
    b = Integer()
    f = Value(Force)  # about P, along world axes
    P = Value(Vec3)


class EndAcceleration(Struct):
    """The acceleration of a body at an end of a loop, beyond zeta, if loops exerted no forces."""

    A = Value(Motion)


class HybridLoops(Struct):
    """The rows of the reduced tree: one front, at the world, as in exact/front_tables.py. With N active degrees of
    freedom, numbered along the reduced tree, Y and F have N numbers a row."""

    whole = Link(Loops)  # of the model
    leaf = Integers()  # (2 loops,) the leaf of the body at each end; -1: the world
    term_joint = Integers()  # the joint of each term of the model's relations
    loops = Link(Loops)  # of the reduced tree: `motion` and `body` of ends are those of reduced bodies
    from_row = Integers()  # which row of the model each of its rows is
    term_body = Integers()  # the row of the reduced tree of each of its terms
    row_of_joint = Integers()  # (n,) the row of the reduced tree of each active joint
    first_dof = Integers()  # the first degree of freedom of each row of the reduced tree
    pairs = Table(Pair)
    n_pairs = Integer()
    pair_of = Integers()  # of each loop of the reduced tree
    next = Integers()  # the next loop whose later body is the same ...
    heads = Integers()  # (n,) ... and the first
    stamps = Integers()  # (n + 1,) the pair of a body with the current one
    rows = Table(HeldRow)
    # rows and their elimination [hybrid_rows.py, exact/row_elimination.py]
    front = Link(Front)
    pair = Link(Front)  # the rows of one pair of bodies
    n_joint_rows = Integer()  # the first rows of the front, which are of loop joints
    least = Number()  # rows of which less remains depend on others
    redundant = Integer()  # how many did so
    gives = Floats()  # how far each gives way to a unit force, by its two bodies alone
    places = Table(Place)
    Y = Floats()  # along each degree of freedom, the force that a unit force along a row exerts
    F = Floats()
    d = Floats()  # (N,) 1 / D of degrees of freedom
    K = Floats()  # the forces of rows that are combined
    H = Floats()  # reflections by which they are
    numbers = Floats()  # a number for each row of loops
    E = Floats()
    T = Floats()
    b = Floats()
    x = Floats()  # forces along rows
    room = Floats()
    bounced = Floats()  # accelerations of rows by which velocities bounce off loops ...
    bounces = Integer()  # ... and whether they do, in this kick
    # closing [hybrid_closing.py]
    closed = Number()  # how far loops may stay open: metres, radians
    left = Number()  # how far they do
    worst = Integer()  # along which row of the model
    pulled = Floats()  # (nv,) by how much joints were moved, in a step
    balance = Number()  # of energies, before the step [ledger.py]
    # the whole body, along fronts [loop_choice.py, hybrid_fronts.py]
    call = Link(Call)
    by_fronts = Integer()  # whether that is the cheaper way
    fronts_cost = Number()
    rounding = Number()  # what of g of rows may be rounding, as of the size of the model
    accelerations = Table(EndAcceleration)  # as Loops.motions
    found = Floats()  # (nv + rows,) accelerations, and forces along all rows
    wanted = Floats()  # (nv + rows,) those of the fully articulated body
    tau = Floats()  # (nv,)
    armature = Floats()  # (nv,) of all joints; infinite if locked
    # joints that cannot move without others [loop_units.py]
    relation_start = Integers()  # the first term of each relation, and the number of terms
    n_relations = Integer()
    stuck = Integers()  # (n,)
    barred = Integers()  # (n,) whether a joint is not to be selected
    sums = Floats()  # by node: the metric of its joints that may be
    units = Integers()  # loops and relations, as a queue
    unit_keys = Floats()
    added = Integers()  # (7,) joints that complete one
    # the room that is left [loop_filling.py]
    n_groups = Integer()
    group_start = Integers()  # of each small group: the first of its joints, and the number of all
    group_joints = Integers()
    alone = Integers()  # (n,) whether no loop or relation holds a joint
    open = Integers()  # joints of one group that are not selected ...
    open_start = Integers()  # ... the first degree of freedom of each, and their number ...
    open_dofs = Integers()  # ... and those of the body
    order = Integers()  # a random order of them
    motions = Floats()  # all motions of the group ...
    motion_pivots = Integers()  # ... each of which has a one where the others have zeros
    trial = Floats()  # those that are left
    # certificates [loop_certificate.py]
    draws = Integer()  # how many choices of signs show what rounding may do
    weight = Floats()  # (n,) summed magnitudes of the forces that joints carry ...
    moment = Floats()  # (n,) ... and of their moments
    shaken = Floats()  # (n,) of the accelerations of bodies ...
    turned = Floats()  # (n,) ... and of their angular accelerations
    left_g = Floats()  # (rows,) by how much rows do not accelerate as they should
    size_g = Floats()  # (rows,) the magnitudes of the terms of that
    probe = Floats()  # (nv,) forces by which the equations of joints are not satisfied
