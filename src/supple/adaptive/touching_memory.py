"""What touches of a hybrid body need, as compiled code sees it.

Touches act on the reduced tree: a link that is rigid for the moment passes them to its reduced body. `scene` is one of
contact/memory.py over that tree: its model has the reduced bodies, whose number changes; touches have rows of it for
bodies, and the shapes of the whole model. What is rigidly attached to the world is body -1, characters that sleep
among it.

A character is a tree whose root is a free joint.
"""

from __future__ import annotations

from supple.assembly.memory import Pose
from supple.contact.memory import Scene, Touch
from supple.exact.tables import Tables
from supple.spatial.algebra import Mat3, Vec3
from supple.spatial.compiler import helper
from supple.spatial.fields import Floats, Integer, Integers, Number, Value
from supple.spatial.structs import Link, Struct, Table


class Home(Struct):
    """Where a shape is on its body."""

    body = Integer()  # -1: the world
    R = Value(Mat3)
    p = Value(Vec3)


class Touching(Struct):
    """Arrays are indexed by node unless stated otherwise."""

    scene = Link(Scene)
    tables = Link(Tables)  # scene.model
    # shapes
    homes = Table(Home)  # by shape
    shape_start = Integers()  # by body: the start of its shapes in ...
    shapes_on = Integers()
    fixed = Integers()  # those on the world that are not flat
    n_fixed = Integer()
    # the present places of nodes, as far as they are known
    stamp = Integer()
    stamps = Integers()  # equal to `stamp` if the place of a node is known
    world = Table(Pose)
    part = Integers()  # its reduced body
    shape_stamps = Integers()  # by shape: likewise
    stack = Integers()  # pairs of nodes
    # limits
    limit_of = Integers()  # by degree of freedom: its row among the limits, -1
    coordinate = Integers()  # by degree of freedom with limits
    lower = Floats()
    upper = Floats()
    owner = Integers()  # by degree of freedom: the row of its body in the reduced tree
    # a step
    middle = Floats()  # by degree of freedom: velocities in the middle of a part
    end = Floats()  # at its end
    dv = Floats()
    dq = Floats()
    x = Floats()
    rate = Floats()
    q0 = Floats()
    through = Floats()  # by row of the joints' law: velocities through which its lines are
    pieces = Floats()
    tolerance = Number()
    most = Integer()
    overlap = Number()
    next = Number()
    fault = Number()
    sweeps = Integer()
    parts = Integer()
    bounces = Integer()
    last = Number()
    slowest = Number()
    left = Number()  # of the step that is under way
    halves = Integer()
    slippery = Integer()  # parts of the step that were taken without friction
    slipped = Integer()  # of all steps
    # forces at an update
    own_paths = Integers()  # the nodes above pushed bodies, ascending
    n_own_paths = Integer()
    # characters
    n_roots = Integer()
    roots = Integers()  # their roots, as joints
    root_of = Integers()  # by body: its character, -1
    keeps_awake = Integers()  # by character: whether a joint of it is pinned
    asleep = Integers()  # by character
    n_asleep = Integer()
    only_characters = Integer()  # whether nothing but characters can move
    quiet = Floats()  # by character: how long it has hardly moved
    row_root = Integers()  # by reduced body: its character
    joined = Integers()  # by character: islands ...
    restless = Integers()  # ... and whether one of them moves
    still = Number()  # speeds below this are as good as none ...
    patience = Number()  # ... if they last this long
    n_resting = Integer()
    resting_room = Integer()
    resting = Table(Touch)  # of characters that sleep; lam is a force


touching_at = Touching.at


@helper
def touching_of(hybrid):
    """Of a HybridBody."""
    return touching_at(hybrid.touching)
