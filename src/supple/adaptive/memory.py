"""What kernels share of a body that is moved adaptively, beside its assembled body: of quasi-statics and of adaptive
dynamics.

The hybrid body [AD section 4] is what adaptive dynamics simulates: active joints, and between them bodies rigid for the
time being. It is written down as a model of its own, the *reduced* tree, a row for each active joint with the rigid
body under it, in the form that exact/aba.py takes. A rigid body consists of *pieces*: nodes of the rigid front, and
single bodies on which something active hangs. Reduced body 0 is the world; row b of the reduced tree is of reduced
body b + 1.
"""

from __future__ import annotations

from supple.adaptive.reduced_tree import ReducedTree
from supple.assembly.memory import AssembledBody, Pose, RigidBody
from supple.spatial.algebra import Force, Motion, RigidInertia, Vec3
from supple.spatial.fields import Floats, Integer, Integers, Number, Numbers, Value
from supple.spatial.structs import Link, Struct, Table

# --- forces on bodies -------------------------------------------------------------------------------------------------

PUSH, OWN_PUSH, SPRING = range(3)  # a force of the world; one that turns with its body; to a point of the world


class PushRow(Struct):
    """A force on a body."""

    kind = Integer()
    stiffness = Number()  # of a spring
    damping = Number()
    vector = Value(Vec3)  # the force; of a spring its anchor
    moment = Value(Vec3)
    point = Value(Vec3)  # of the body


# --- quasi-statics ----------------------------------------------------------------------------------------------------


class Carried(Struct):
    """Magnitudes of what a joint carries, added up."""

    force = Number()
    moment = Number()


class Strain(Struct):
    """Magnitudes of the pushes on a body, added up, in its basis."""

    f = Numbers(6)


class QuasiStaticBody(Struct):
    """A solution over the assembly tree, or of the whole body, and what it is made from. Of nodes, unless said
    otherwise."""

    body = Link(AssembledBody)
    gravity = Value(Vec3)
    # what is out of date
    marks = Integers()  # 0, FORCES (what depends on forces is out of date) or MATRICES (all is)
    dirty = Integers()  # the nodes that are marked ...
    n_dirty = Integer()
    sorted = Integers()  # ... the same by level, the lowest first
    levels = Integers()  # where those of a level begin
    n_levels = Integer()
    stale = Integer()  # whether spans are
    # the queue of nodes [QS section 4.3]
    queue = Integers()
    values = Floats()  # the most that their totals can be, rounding included
    queue_length = Integer()
    slack = Floats()  # how far below that their totals are, as computed; they may be as far below again
    visited = Integers()
    n_visited = Integer()
    computed = Integers()  # (n,) joints
    n_computed = Integer()
    n_touched = Integer()  # nodes renewed
    worst = Integer()  # the node of the smallest pivot
    # forces on bodies
    pushed = Integers()  # the bodies that are pushed
    n_pushed = Integer()
    push_start = Integers()  # where the pushes of each of them begin
    pushes = Table(PushRow)
    strain = Table(Strain)  # of pushed bodies
    paths = Integers()  # the nodes above those bodies, ascending
    n_paths = Integer()
    world = Table(Pose)  # [poses.py]
    # the error of a solution [QS definition 2]
    root = Number()  # the total of all joints
    largest = Number()  # of those computed, the largest square ...
    squares = Number()  # ... and the sum of all
    low = Number()  # the error is between low and high
    high = Number()
    floor = Number()  # what rounding can do to the accelerations that are computed
    digits = Number()  # the relative error of coefficients [assembly/rounding.py]
    size = Number()  # the root of the scale of all
    slid = Number()  # how far joints inside the body have slid since `digits` was measured
    # of the whole body [whole_body.py]
    noise = Floats()  # (nv,) how large the terms of a joint's own equation are
    probe = Floats()  # (nv,)
    carried = Table(Carried)  # (n,)
    noise_level = Number()
    amplification = Number()
    amplification_in_all = Number()


# --- adaptive dynamics ------------------------------------------------------------------------------------------------

# flags of a node: of the active region, of the acceleration update region, chosen; and while it is in the first, or
# chosen: that its own joint does not move, but something under it does
CURRENT, UPDATE, CHOSEN, HELD, HOLD = 1, 2, 4, 8, 16
PASSES, PINNED = 1, 2  # what `must` says: something under the node must be active; its own joint must


class Move(Struct):
    """How a frame moves, in its own axes: it turns with w and dw, its origin has acceleration a and velocity v."""

    w = Value(Vec3)
    dw = Value(Vec3)
    a = Value(Vec3)
    v = Value(Vec3)


class PushedBody(Struct):
    """Of a reduced body that is pushed, within a kick [kick.py]."""

    V = Value(Motion)  # velocities so far
    given = Value(Force)  # the forces that are no springs
    drag = Value(Force)  # those of springs' dampers


class HybridBody(Struct):
    """Of nodes, unless said otherwise."""

    body = Link(AssembledBody)
    gravity = Value(Vec3)
    # regions [AD section 4.1]
    flags = Integers()
    must = Integers()  # PASSES or PINNED
    on_path = Integers()  # whether something pushed is under it
    seen = Integers()  # the nodes above and of the front, parents first
    n_seen = Integer()
    expanded = Integers()  # the nodes that were chosen
    n_expanded = Integer()
    queue = Integers()
    keys = Floats()
    queue_length = Integer()
    amount = Floats()  # its share of the metric
    velocity_weight = Floats()
    # rigid nodes
    rigid = Table(RigidBody)  # as a rigid body, in the frame of its top body
    piece = Integers()  # the reduced body that a piece is of ...
    piece_pose = Table(Pose)  # ... and where in it the piece's frame is
    motion = Table(Move)  # of a piece
    # the reduced tree
    joints = Integers()  # by row
    n_joints = Integer()
    n_angles = Integer()
    reduced = Link(ReducedTree)
    world_inertia = Value(RigidInertia)  # of what is rigid with the world
    world = Table(Pose)  # of reduced bodies
    moves = Table(Move)  # of reduced bodies
    # forces on bodies
    push_leaf = Integers()  # of pushes: the leaf of the body
    push_order = Integers()  # pushes by reduced body ...
    push_start = Integers()  # ... and where those of one begin
    n_pushes = Integer()
    pushes = Table(PushRow)
    reduced_pushes = Table(PushRow)
    pushed = Table(PushedBody)  # of reduced bodies
    paths = Integers()  # the nodes above the bodies that are pushed, ascending
    n_paths = Integer()
    # of degrees of freedom
    v = Floats()
    drive = Floats()  # forces of the joints just now
    controls = Floats()  # forces of actuators; then rows of integrating/joint_law.py
    controlled = Integers()  # 1 + the first of these rows; then, of each row, 1 + the next one
    momentum = Floats()
    half = Floats()  # velocities within a kick
    gain = Floats()  # mean accelerations of a kick, so far
    effort = Floats()  # mean forces of joints in it, so far
    impulse = Floats()
    # settings
    dt = Number()
    every = Integer()  # steps between updates
    most = Integer()  # active joints
    error = Number()
    most_reached = Integer()  # joints of the acceleration update region
    reach_error = Number()
    ways = Integer()  # GUARANTEED, FIXED, UNWATCHED [steps.py, keeping.py]
    # where it is
    time = Number()
    steps = Integer()
    updates = Integer()
    due = Integer()  # steps until the next update
    n_reached = Integer()  # joints in the last acceleration update region
    acceleration_total = Number()  # the acceleration metric of all joints ...
    acceleration_rest = Number()  # ... and of those that were not reached
    velocity_rest = Number()  # the velocity metric of the joints that were stopped
    digits = Number()  # relative error of totals
    worst = Integer()  # the node, or the joint, that an error is about
    # the last good state [keeping.py]
    kept_q = Floats()
    kept_v = Floats()
    kept_time = Number()
    kept_removed = Number()
    dropped = Integers()  # joints stopped since then
    n_dropped = Integer()
    # energy [ledger.py]
    kinetic = Number()
    removed = Number()  # by stopping joints
    unchecked = Integer()  # steps since the last look
    accounts_open = Number()
    then_kinetic = Number()
    then_potential = Number()
    work = Number()
    drag_work = Number()
    stopped = Number()
    height = Number()
    grown = Number()
    lent = Number()
    stretch = Number()
    there = Number()
    squares = Number()


#: Arrays of what decides, beside q, v and forces, how a run goes on ...
SAVED_ARRAYS = ("flags", "kept_q", "kept_v", "dropped")
#: ... numbers that an assembly of all nodes begins anew ...
LEDGER = (
    "accounts_open", "then_kinetic", "then_potential", "work", "drag_work", "stopped", "height", "grown", "lent",
    "stretch", "there", "squares",
)  # fmt: skip
#: ... and the other ones.
SAVED_NUMBERS = (
    "dt", "time", "steps", "updates", "due", "n_reached", "acceleration_total", "acceleration_rest", "velocity_rest",
    "digits", "kept_time", "kept_removed", "n_dropped", "kinetic", "removed", "unchecked", *LEDGER,
)  # fmt: skip
