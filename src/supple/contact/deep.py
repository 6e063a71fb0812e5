"""The memory of touches of deep trees, such as long chains, whose rows would be too long [passes.py].

symbol    what                                                                                  shape or frame
r, I      origin as seen from the parent's, rigid inertia                                       world axes, as in aba.py
S, U, d   axis, I^A S and 1 / D of the factors of the mass matrix                               likewise
L         how a body gives way to a force on it, everything else being free: J H^-1 J^T         6x6, symmetric
F, V      impulses on a body, with those passed on by its children; its change of velocity      about its origin
M         inertia of the body and all below it, with the slopes A of its touches                6x6, not symmetric
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
    first = Integer()  # of its degrees of freedom, and of those of the next body
    last = Integer()
    r = Value(Vec3)
    I = Value(RigidInertia)
    L = Value(Mobility)
    F = Value(Force)
    V = Value(Motion)
    G = Value(Motion)  # what impulses on other bodies do to it [walking.py]
    head = Integer()  # the first touch that is renewed at it, -1: none
    M = Mat6()  # [body_equations.py] as everything below
    f = Six()
    v = Six()
    handle = Integer()  # its block, -1: none
    port = Integer()  # the handle below it that is linked to one above it, -1: none


class DeepDof(Struct):
    """A degree of freedom of a deep tree."""

    S = Value(Motion)
    U = Value(Force)
    d = Number()
    w = Number()  # what a unit force on it does to its velocity
    turn = Value(Motion)  # and to that of its body
    force = Number()  # impulse on it, as of a limit
    x = Number()  # its change of velocity
    armature = Number()
    stiffness = Number()  # [body_equations.py] as everything below: armature, and slopes of limits
    tau = Number()
    t = Number()  # tau and what forces on bodies leave of themselves
    left = Six()  # S^T M
    right = Six()  # M S
    D = Number()  # 1 / (S^T M S + stiffness)
    P = Six()  # what it has to do with the port: S^T P, Q S
    Q = Six()


class Port(Struct):
    """Where a handle is linked to the one above it, through all bodies in between."""

    P = Mat6()  # row i: the force on the body above of a unit force i of the handle
    Q = Mat6()  # row i: velocity i at the handle, by that of the body above
    C = Mat6()  # velocities at the handle by its forces
    v = Six()  # and by those on bodies in between
    force = Six()  # on the body above
    upper = Integer()  # the handle above, -1: none
    scale = Number()  # of forces


class Deep(Struct):
    """All of them."""

    possible = Integer()  # whether any tree is deep
    price = Number()  # of rows, relative to what they seem to cost: 0 for rows in any case, infinity for passes
    room = Integer()  # bodies that there is room for
    wanted = Integer()
    bodies = Table(DeepBody)
    dofs = Table(DeepDof)
    ports = Table(Port)
    above = Integers()  # (bodies,) degrees of freedom from a body up to the root
    root = Integers()  # (bodies,) the first body of the tree
    joined = Integers()  # (bodies,) of roots: those that touches connect [islands.set_of]
    count = Integers()  # (bodies,) of roots, as the next two: touches
    width = Integers()  # degrees of freedom
    by_rows = Integers()  # costs
    by_passes = Integers()
    group = Integers()  # (bodies,) of roots: the group of deep trees, -1: none
    n_groups = Integer()
    begins = Integers()  # (bodies + 1,) where a group begins in order
    order = Integers()  # (bodies,) bodies, group by group, parents first
    low = Integer()  # the present group in it
    high = Integer()


NAMES = ("above", "root", "joined", "count", "width", "by_rows", "by_passes", "group", "begins", "order")
LEAST = 24  #: bodies above each other: trees that are less deep always have rows


def deep_for(n: int, depth: int) -> Held:
    """The memory of n bodies, so many of which are above each other; tables grow by need."""
    possible = depth >= LEAST
    arrays = {name: np.zeros((n if possible else 0) + 2, dtype=np.int64) for name in NAMES}
    tables = {"bodies": DeepBody.zeros(1), "dofs": DeepDof.zeros(1), "ports": Port.zeros(1)}
    return Deep.of(possible=possible, price=1.0, **tables, **arrays)


def make_deep_room(deep: Held, nv: int) -> bool:
    """For as many bodies as were wanted, if that was too many, and for all degrees of freedom. Returns whether it
    was."""
    if deep.wanted <= deep.room:
        return False
    n = deep.room = min(2 * deep.wanted, len(deep.above))
    deep.bodies, deep.dofs, deep.ports = DeepBody.zeros(n), DeepDof.zeros(nv), Port.zeros(n)
    return True
