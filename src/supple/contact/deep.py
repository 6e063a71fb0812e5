"""The memory of deep trees, such as long chains, whose rows would be too long [passes.py].

symbol    meaning                                                                               shape or frame
r, I      origin as seen from the parent's, rigid inertia                                       world axes, as in aba.py
S, U, d   axis, I^A S and 1 / D of the factors of the mass matrix                               world axes
L         mobility of a body, its response to a force on it: J H^-1 J^T                         6x6, symmetric
F, V      impulse on a body, with those passed on by its children; its change of velocity       about its origin
M         inertia of the body and all below it, with the slopes A of their touches              6x6, not symmetric
"""

from __future__ import annotations

import numpy as np

from supple.spatial.algebra import Force, Mobility, Motion, RigidInertia, Vec3
from supple.spatial.fields import Integer, Integers, Number, Six, Value
from supple.spatial.held import Held
from supple.spatial.matrices import Mat6
from supple.spatial.structs import Struct, Table


class DeepBody(Struct):
    """A body of a deep tree."""

    parent = Integer()
    first = Integer()  # its first degree of freedom, and the one after its last
    last = Integer()
    r = Value(Vec3)
    I = Value(RigidInertia)
    L = Value(Mobility)
    F = Value(Force)
    V = Value(Motion)
    G = Value(Motion)  # its change of velocity by impulses elsewhere [walking.py]
    head = Integer()  # the first touch in its list, -1: none
    M = Mat6()  # [body_equations.py], as everything below
    f = Six()
    v = Six()
    handle = Integer()  # its block, -1: none
    port = Integer()  # the handle below it that is linked to one above it, -1: none


class DeepDof(Struct):
    """A degree of freedom of a deep tree."""

    S = Value(Motion)
    U = Value(Force)
    d = Number()
    w = Number()  # response of its velocity to a unit force on it
    turn = Value(Motion)  # and that of the velocity of its body
    force = Number()  # impulse on it, by a limit
    x = Number()  # its change of velocity
    armature = Number()
    stiffness = Number()  # [body_equations.py], as everything below: armature plus slopes of limits
    tau = Number()
    t = Number()  # tau plus S . f
    left = Six()  # S^T M
    right = Six()  # M S
    D = Number()  # 1 / (S^T M S + stiffness)
    P = Six()  # its coupling to the port: P S, Q S
    Q = Six()


class Port(Struct):
    """The link of a handle to the one above it, with all bodies in between eliminated."""

    P = Mat6()  # row i: the force on the body above, by a unit force i of the handle
    Q = Mat6()  # row i: velocity i at the handle, by the velocity of the body above
    C = Mat6()  # velocities at the handle, by its forces
    v = Six()  # velocities at the handle, by forces on bodies in between
    force = Six()  # of the handle on its parent
    upper = Integer()  # the handle above, -1: none
    scale = Number()  # of forces


class Deep(Struct):
    """All deep trees, and the groups that they form [deep_groups.py]."""

    possible = Integer()  # whether any tree is deep
    price = Number()  # factor of the estimated cost of rows: 0 forces rows, infinity forces passes
    room = Integer()  # memory for so many bodies
    wanted = Integer()  # bodies for which memory is needed
    bodies = Table(DeepBody)
    dofs = Table(DeepDof)
    ports = Table(Port)
    above = Integers()  # (bodies,) degrees of freedom from a body up to the root
    root = Integers()  # (bodies,) the root of its tree
    joined = Integers()  # (bodies,) of roots: union-find of trees that touch each other [islands.set_of]
    count = Integers()  # (bodies,) of roots, as the next three: touches of the tree
    width = Integers()  # its degrees of freedom
    by_rows = Integers()  # estimated costs
    by_passes = Integers()
    group = Integers()  # (bodies,) of roots: the group of deep trees, -1: none
    n_groups = Integer()
    begins = Integers()  # (bodies + 1,) where a group begins in `order`
    order = Integers()  # (bodies,) bodies, group by group, parents first
    low = Integer()  # the current group in it
    high = Integer()


NAMES = ("above", "root", "joined", "count", "width", "by_rows", "by_passes", "group", "begins", "order")
LEAST = 24  #: bodies on a path from the root: shallower trees always have rows


def deep_for(n: int, depth: int) -> Held:
    """The memory of n bodies, with at most `depth` bodies on a path from a root. Tables grow when needed."""
    possible = depth >= LEAST
    arrays = {name: np.zeros((n if possible else 0) + 2, dtype=np.int64) for name in NAMES}
    tables = {"bodies": DeepBody.zeros(1), "dofs": DeepDof.zeros(1), "ports": Port.zeros(1)}
    return Deep.of(possible=possible, price=1.0, **tables, **arrays)


def make_deep_room(deep: Held, nv: int) -> bool:
    """Allocates memory for the bodies that were wanted, and for all degrees of freedom, if there was not enough.
    Returns whether it did."""
    if deep.wanted <= deep.room:
        return False
    n = deep.room = min(2 * deep.wanted, len(deep.above))
    deep.bodies, deep.dofs, deep.ports = DeepBody.zeros(n), DeepDof.zeros(nv), Port.zeros(n)
    return True
