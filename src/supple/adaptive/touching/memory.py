"""The memory of contacts of a hybrid body, as structs of kernels.

Contacts act on the reduced tree: a link that is currently rigid passes them on to its reduced body. `scene` is a Scene
[contact/memory.py] whose model is that tree. Touches refer to reduced bodies by their rows in it, and to shapes by
their numbers in the whole model. Body -1 is the world, with everything that is rigidly attached to it, and sleeping
characters.

term             meaning
touch            a contact point of two shapes, or a joint near its limit
part             of a step: the interval over which touches are solved for once [contact/steps/stepping.py]
reduced body     the links between active joints, as one rigid body; in `reduced_body` counted from 1, 0 being the world
node             of the assembly tree. LEAF: one body; nodes above the rigid front contain active joints
candidate pair   two shapes that may touch before the neighbour list is built again
neighbour list   all candidate pairs
reach            the distance from a point within which anything in a box stays while the neighbour list lasts: of a
                 volume, from where it was when the list was built; of a box, from halfway along its expected motion
strays           the same relative to the root of its tree: what falls as a whole comes no nearer to itself
root             of a reduced tree: its first reduced body, of which all others are descendants
clearance        of a candidate pair: the distance that its shapes may travel before they can touch
character        a tree whose root is a free joint; it can sleep
"""

from __future__ import annotations

from supple.assembly.memory import Pose
from supple.contact.memory import Scene, Touch
from supple.contact.response.mechanisms import Mechanisms
from supple.contact.tree_groups import TreeGroups
from supple.exact.tables import Tables
from supple.spatial.algebra import Mat3, Vec3
from supple.spatial.compiler import helper
from supple.spatial.fields import Floats, Integer, Integers, Number, Value
from supple.spatial.structs import Link, Struct, Table

PAIRS = 16  #: memory for candidate pairs, relative to that for touches


class Home(Struct):
    """The pose of a shape on its body."""

    body = Integer()  # -1: the world
    R = Value(Mat3)
    p = Value(Vec3)


class Box(Struct):
    """The axis-aligned bounding box of something rigid, in the world, while the neighbour list lasts."""

    reduced_body = Integer()  # that it moves with, 0: the world
    due = Number()  # bounds on travel: as long as it is within these, the box is valid
    due_in_tree = Number()
    extent = Number()  # the largest distance of its contents from the origin of the reduced body
    reach = Number()  # see above; about `at`
    strays = Number()
    item = Integer()  # i: node i; n_nodes + i: the body of LEAF i alone; 2 n_nodes + t: shape t of the world
    c = Value(Vec3)  # its centre, in the frame of the reduced body ...
    here = Value(Vec3)  # ... in the world ...
    at_in_root = Value(Vec3)  # ... and in the frame of the root, both when the list was built
    at = Value(Vec3)  # the centre halfway along its expected motion
    far = Number()  # the largest distance of its contents from the centre
    low = Value(Vec3)  # including `reach`
    high = Value(Vec3)
    axis = Value(Vec3)  # the bounding capsule [capsules.py]: its direction, half its length, its radius
    half = Number()
    radius = Number()
    next = Integer()  # the next box of the same tree, -1: none
    place = Integer()  # in the order of the sweep


class Swept(Struct):
    """What the sweep needs of a box; in the order along x."""

    low = Value(Vec3)
    high = Value(Vec3)
    box = Integer()  # its number
    reduced_body = Integer()
    tree = Integer()  # the root of its tree, -1: the world
    here = Value(Vec3)
    at = Value(Vec3)
    axis = Value(Vec3)
    half = Number()
    radius = Number()
    reach = Number()
    strays = Number()


class Pace(Struct):
    """The motion of a character at the beginning of a step [sleeping.py]."""

    mass = Number()
    twice_kinetic = Number()  # twice the kinetic energy
    momentum = Value(Vec3)
    last = Value(Vec3)  # the momentum at the beginning of the previous step
    unbalanced = Integer()  # whether the momentum changes too fast for a character at rest


class ListedShape(Struct):
    """A shape of a candidate pair."""

    shape = Integer()
    body = Integer()  # its reduced body, counted from 0; -1: the world
    far = Number()  # the largest distance of its points from the origin of the reduced body


class ListedPair(Struct):
    """A candidate pair."""

    one = Integer()  # 2 * shape, plus 1 if both shapes are of the same tree: an index into shape_travel
    two = Integer()  # likewise
    clearance = Number()  # they cannot touch before the sum of their travel is as much [clearance.py]


class Travel(Struct):
    """How far the points of a reduced body have travelled since the neighbour list was built: at most moved + turned d,
    for points at a distance d from its origin."""

    root = Integer()  # of its tree
    box = Integer()  # of a root: the first box of its tree, -1: none
    moved = Number()  # in the world
    turned = Number()
    moved_in_tree = Number()  # relative to the root
    turned_in_tree = Number()
    step_moved = Number()  # what the next step may add to either
    step_turned = Number()


class Touching(Struct):
    """Contacts of a hybrid body. Arrays are indexed by node unless stated otherwise."""

    scene = Link(Scene)
    ahead = Link(Scene)  # shares shapes and bodies with it, but has the touches at the end of a part
    tables = Link(Tables)  # the reduced tree: scene.model
    # shapes
    homes = Table(Home)  # by shape
    shape_start = Integers()  # by body: where its shapes start in ...
    shapes_on = Integers()  # ... the shapes on bodies, body by body
    fixed = Integers()  # shapes of the world, without planes and height fields
    n_fixed = Integer()
    thinnest = Number()  # the least half thickness of a shape on a body [contact/steps/judging.py]
    # poses of nodes in their reduced bodies, where known [node_poses.py]
    formed = Integer()  # counts how often the reduced tree has been formed, from 1
    stamps = Integers()  # equal to `formed` if the pose of the node is known
    within = Table(Pose)
    reduced_body = Integers()  # that contains the node; 0: the world
    # the neighbour list [pairs.py]
    listed = Integer()  # `formed` when the list was built; 0: there is no list
    last_poses = Table(Pose)  # by reduced body: its pose in the previous search ...
    poses_in_root = Table(Pose)  # ... and that in the frame of its root
    shaped = Integers()  # the number of bodies with shapes
    boxes = Table(Box)
    n_boxes = Integer()
    order = Integers()  # boxes in their order along x
    swept = Table(Swept)  # in this order, as the next two
    begins = Floats()  # where they began along x when the list was built, ascending
    sides = Floats()  # lower and upper ends along y, alternating
    widest = Number()  # how far any box reaches along x, from where it began ...
    grown = Number()  # ... and back from there, because it was extended
    inside = Integers()  # those that reach into the current strip
    extending = Integer()  # whether pairs are added to the list for boxes that were extended [neighbours.py]
    n_pairs = Integer()  # more than pair_room if some are missing
    pair_room = Integer()
    pairs = Integers()  # shape * n_shapes + other, ascending
    scratch = Integers()  # of the same length, for sorting [radix_sort.py] ...
    counts = Integers()  # ... and digits of each value
    stamp = Integer()  # counts how often the list has been built
    shape_stamps = Integers()  # by shape: equal to `stamp` if it is one of ...
    listed_shapes = Table(ListedShape)  # ... the shapes of candidate pairs
    n_listed_shapes = Integer()
    list = Table(ListedPair)  # in the order of `pairs`
    travels = Table(Travel)  # by reduced body
    shape_travel = Floats()  # by shape, two numbers: travel since the list was built, including the next step; and the
    # same relative to the root of its tree
    shape_step_travel = Floats()  # by shape: what the next step contributes to both
    farthest = Number()  # the largest `extent` of boxes
    searches = Integer()  # counts searches for touches
    tried = Integers()  # by shape: equal to `searches` if it is placed
    stack = Integers()  # scratch of descents along the assembly tree
    groups = Link(TreeGroups)  # of reduced bodies
    # loops [loops.py]
    mechanisms = Link(Mechanisms)
    open = Integer()  # whether the last part may have left loops open
    gathered = Integer()  # `formed` when the joints of mechanisms were gathered; 0: they were not
    tree_of = Integers()  # by reduced body: the root of its tree
    tree_sets = Integers()  # by root: disjoint sets of trees that loops connect
    above_loop = Integers()  # by reduced body: whether it is above an end of a loop [ABOVE, NUMBERED]
    # joint limits
    limit_of = Integers()  # by degree of freedom: its row in the next three, -1: none
    coordinate = Integers()  # by row: its index in q
    lower = Floats()
    upper = Floats()
    owner = Integers()  # by degree of freedom: its reduced body, counted from 0
    # a step: fields that contact/ uses, too, are those of Landing [contact/steps/landing.py]
    end = Floats()  # by degree of freedom: velocities at the end of a part
    dv = Floats()  # by degree of freedom: their change by impulses
    dq = Floats()  # by degree of freedom: the motion that removes overlap
    x = Floats()  # by degree of freedom: scratch of a motion, as the next two
    rate = Floats()
    q0 = Floats()
    through = Floats()  # by row of the joint law: the velocity about which its force is linearized ...
    pieces = Floats()  # ... and the piece of the law that this is on
    tolerance = Number()  # of the contact law, relative to velocities
    most = Integer()  # sweeps, at most
    overlap = Number()  # depth that is not removed
    next = Number()  # the time until the first impact of a part
    before = Number()  # of a part: the time until forces act ...
    after = Number()  # ... and the time that is left then
    fault = Number()  # the largest residual of a step, relative to the tolerance
    missed = Number()  # the residual of the last part, in m/s
    sweeps = Integer()  # of a step, as the next two
    parts = Integer()
    bounces = Integer()
    last = Number()  # the length of the last step, or of the current one ...
    previous = Number()  # ... and of the one before that
    taken = Number()  # the length of its last part
    left = Number()  # the time that is left of the current step
    longest = Number()  # the next part is no longer than this
    slowest = Number()  # the slowest approach that bounces or strikes
    choosing = Integer()  # whether a choice of joints was interrupted for lack of memory
    placed = Integer()  # equal to `formed` if reduced bodies are placed where the last part ended
    part_q = Floats()  # by coordinate: q at the beginning of a part, after impacts
    part_v = Floats()  # by degree of freedom: v then ...
    first_v = Floats()  # ... and before impacts
    # the end of a part [judging.py, finishing.py]
    apart = Integer()  # whether dq is not zero
    kinetic = Floats()  # by reduced body: its kinetic energy, if no loops are to be closed
    work = Number()  # of joint forces and pushes in a part
    lifted = Number()  # the potential energy added in a step by removing overlap
    budget = Number()  # the kinetic energy that removing overlap may still add in a step
    scale = Number()  # energies of a step are relative to this
    largest = Number()  # the largest scale of all steps
    risen = Number()  # how far the energy is above its lowest value, apart from the work of forces
    gain = Number()  # the energy that a part adds
    excess = Number()  # the same relative to the scale, if that is more than allowed, otherwise 0
    depth = Number()  # the largest overlap at the end of a part, if that is more than allowed, otherwise 0
    rough = Integer()  # parts of all steps that are above tolerance but too short to be halved ...
    gained = Number()  # ... the largest excess of these ...
    deepest = Number()  # ... and their largest overlap
    relaxed = Integer()  # parts of all steps whose impulses miss the contact law by more than the tolerance ...
    relaxed_fault = Number()  # ... and the largest residual of these, in m/s
    n_contacts = Integer()  # of the touches, the first are contacts; limits follow
    foreseen = Integer()  # equal to `formed` if `ahead` has the touches where bodies are placed ...
    n_foreseen = Integer()  # ... which are the first in it, before limits that joints exceed ...
    horizon = Number()  # ... and may close within this time
    # forces at an update
    own_paths = Integers()  # the nodes above pushed bodies, ascending
    n_own_paths = Integer()
    # characters [sleeping.py]
    n_roots = Integer()  # their number
    roots = Integers()  # by character: its free joint
    root_of = Integers()  # by body: its character, -1: none
    only_characters = Integer()  # whether the model has nothing else
    keeps_awake = Integers()  # by character: whether it never sleeps, because of a pinned joint or a tie
    has_ties = Integer()  # whether loops, relations or springs connect characters ...
    tied = Integers()  # ... by character: the first of those that are connected with it
    asleep = Integers()  # by character
    n_asleep = Integer()
    quiet = Floats()  # by character: how long it has been still; RESTLESS if it is not
    paces = Table(Pace)  # by character
    row_root = Integers()  # by reduced body: its character
    island = Integers()  # by character: disjoint sets of characters in contact
    restless = Integers()  # by island: whether it stays awake
    still = Number()  # a character slower than this is still, in m/s ...
    patience = Number()  # ... and may sleep after so many seconds of that
    n_resting = Integer()
    resting_room = Integer()
    resting = Table(Touch)  # the contacts of sleeping characters; lam is a force ...
    n_loads = Integer()  # ... the first are with bodies that belong to no character but may move


touching_at = Touching.at


@helper
def touching_of(hybrid):
    """The Touching of a HybridBody."""
    return touching_at(hybrid.touching)
