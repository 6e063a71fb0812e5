"""What touches of a hybrid body need, as compiled code sees it.

Touches act on the reduced tree: a link that is rigid for the moment passes them to its reduced body. `scene` is one of
contact/memory.py over that tree: its model has the reduced bodies, whose number changes; touches have rows of it for
bodies, and the shapes of the whole model. What is rigidly attached to the world is body -1, characters that sleep
among it.

A character is a tree whose root is a free joint.
"""

from __future__ import annotations

from supple.assembly.memory import Pose
from supple.contact.mechanisms import Mechanisms
from supple.contact.memory import Scene, Touch
from supple.exact.tables import Tables
from supple.spatial.algebra import Mat3, Vec3
from supple.spatial.compiler import helper
from supple.spatial.fields import Floats, Integer, Integers, Number, Value
from supple.spatial.structs import Link, Struct, Table

PAIRS = 16  #: room for pairs of shapes that may touch, for each touch that there is room for


class Home(Struct):
    """Where a shape is on its body."""

    body = Integer()  # -1: the world
    R = Value(Mat3)
    p = Value(Vec3)


class Box(Struct):
    """Around something rigid, where pairs were listed; along the world's axes."""

    part = Integer()  # its reduced body, 0: the world
    reach = Number()  # how far it may move until pairs are listed again ...
    strays = Number()  # ... and relative to the first reduced body of its tree
    out = Number()  # how far any of it is from the origin of its reduced body
    item = Integer()  # a node; the body of a LEAF, beyond these; a shape of the world, beyond these
    c = Value(Vec3)  # its middle, on its reduced body ...
    at = Value(Vec3)  # ... in the world ...
    at_on = Value(Vec3)  # ... and on the first one of its tree
    far = Number()  # what it contains is at most so far from the middle
    low = Value(Vec3)
    high = Value(Vec3)


class Pace(Struct):
    """How a character moves where a step begins: twice its energy of motion, its momentum, and whether it is out of
    balance."""

    mass = Number()
    twice = Number()
    momentum = Value(Vec3)
    last = Value(Vec3)  # where the step before began
    sways = Integer()


class Noted(Struct):
    """A shape of a pair that may touch."""

    shape = Integer()
    body = Integer()  # its reduced body, -1: the world
    far = Number()  # how far any of it is from the origin of that


class Listed(Struct):
    """A pair of shapes that may touch."""

    one = Integer()  # a shape, times two; and one more if they are of one tree
    two = Integer()
    spare = Number()  # they cannot touch before their ways since pairs were listed are as long [touching_spares.py]


class Shift(Struct):
    """The ways of points of a reduced body since pairs were listed: at most so long, and so long times their distance
    from its origin."""

    first = Integer()  # the first reduced body of its tree
    moved = Number()
    turned = Number()
    strayed = Number()  # relative to that
    twisted = Number()
    moves = Number()  # what a step may add
    turns = Number()


class Touching(Struct):
    """Arrays are indexed by node unless stated otherwise."""

    scene = Link(Scene)
    ahead = Link(Scene)  # the same, and touches where a part ends
    tables = Link(Tables)  # scene.model
    # shapes
    homes = Table(Home)  # by shape
    shape_start = Integers()  # by body: the start of its shapes in ...
    shapes_on = Integers()
    fixed = Integers()  # those on the world that are not flat
    n_fixed = Integer()
    # the places of nodes on their reduced bodies, as far as they are known [touching_places.py]
    formed = Integer()  # how often the reduced tree has been formed, from 1
    stamps = Integers()  # equal to `formed` if the place of a node is known
    within = Table(Pose)
    part = Integers()  # its reduced body
    # pairs of shapes that may touch [touching_pairs.py]
    listed = Integer()  # `formed`, of when they were listed; 0: not
    places = Table(Pose)  # of reduced bodies: the places they had in the search before ...
    places_on = Table(Pose)  # ... and those on the first one of their tree
    shaped = Integers()  # by node: how many bodies of it have shapes
    boxes = Table(Box)
    n_boxes = Integer()
    order = Integers()  # of boxes along x ...
    begins = Floats()  # ... where they begin along it ...
    sides = Floats()  # ... where they begin and end along y ...
    inside = Integers()  # ... and which of them reach into a strip
    again = Integer()  # whether bodies meet again that moved too far [touching_strays.py]
    n_pairs = Integer()
    pair_room = Integer()
    pairs = Integers()  # shape * n_shapes + other, ascending
    spare = Integers()  # to sort them [radix_sort.py]
    counts = Integers()
    stamp = Integer()
    shape_stamps = Integers()  # by shape: equal to `stamp` if it is ...
    noted = Table(Noted)  # ... among those of any pair
    n_noted = Integer()
    list = Table(Listed)  # the same pairs
    shifts = Table(Shift)  # by reduced body
    ways = Floats()  # by shape: that since pairs were listed, and what a step may add; then the same, relative to the
    # first reduced body of its tree
    adds = Floats()  # by shape: what a step may add to both
    tried = Integers()  # by shape: equal to `searches` if it is placed
    searches = Integer()
    stack = Integers()  # pairs of nodes
    # loops [touching_loops.py]; by reduced body
    mechanisms = Link(Mechanisms)
    open = Integer()  # whether a part may have left loops open
    gathered = Integer()  # `formed`, of when their joints were; 0: not
    tree_of = Integers()  # the first reduced body of its tree ...
    tree_sets = Integers()  # ... which of these loops connect ...
    about = Integers()  # ... and whether it is above the end of a loop
    # limits
    limit_of = Integers()  # by degree of freedom: its row among the limits, -1
    coordinate = Integers()  # by degree of freedom with limits
    lower = Floats()
    upper = Floats()
    owner = Integers()  # by degree of freedom: the row of its body in the reduced tree
    # a step
    end = Floats()  # by degree of freedom: velocities at the end of a part
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
    before = Number()
    after = Number()
    fault = Number()
    sweeps = Integer()
    parts = Integer()
    bounces = Integer()
    last = Number()  # the length of the last step
    taken = Number()  # that of its last part
    slowest = Number()
    left = Number()  # of the step that is under way
    longest = Number()  # that the next part of it may be
    missed = Number()  # the velocity by which the last part missed the law
    # where a part ends [touching_judging.py, touching_finishing.py], as in contact/landing.py
    apart = Integer()  # whether dq is a motion
    work = Number()  # of forces in a part
    lifted = Number()  # in a step: energy of gravity, by moving apart what overlaps
    budget = Number()  # what moving apart may still add to the energy of motion
    scale = Number()  # of energies in a step
    largest = Number()  # of all steps
    risen = Number()  # by how much the energy is higher than it was at best, other than by the work of forces
    gain = Number()  # what a part adds to it
    excess = Number()  # what a part adds to the energy, relative to the scale, if that is more than it may ...
    depth = Number()  # ... and how deep shapes overlap then, likewise
    n_contacts = Integer()  # of the last search: they come before limits
    foreseen = Integer()  # equal to `formed` if `ahead` has the touches of where bodies are placed ...
    n_foreseen = Integer()  # ... the first ones of it, and then joints beyond their limits ...
    horizon = Number()  # ... within this time to come
    rough = Integer()  # parts of all steps that stand although they should not, and the largest of both in them
    gained = Number()
    deepest = Number()
    part_q = Floats()  # where a part begins, after impacts
    part_v = Floats()
    first_v = Floats()  # and before these
    placed = Integer()  # equal to `formed` if reduced bodies are placed where a part has just ended
    choosing = Integer()  # whether a choice of joints waits for room
    relaxed = Integer()  # parts of all steps that missed it by more than the tolerance ...
    relaxed_fault = Number()  # ... and the largest velocity by which they did
    # forces at an update
    own_paths = Integers()  # the nodes above pushed bodies, ascending
    n_own_paths = Integer()
    # characters
    n_roots = Integer()
    roots = Integers()  # their roots, as joints
    root_of = Integers()  # by body: its character, -1
    keeps_awake = Integers()  # by character: whether a joint of it is pinned, or it is connected with what never sleeps
    has_ties = Integer()  # whether loops, relations or springs connect characters ...
    tied = Integers()  # ... and by character: the first one of those that it hangs together with
    asleep = Integers()  # by character
    n_asleep = Integer()
    only_characters = Integer()  # whether nothing but characters can move
    quiet = Floats()  # by character: how long it has hardly moved; RESTLESS if it does [sleeping.py]
    paces = Table(Pace)  # by character
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
