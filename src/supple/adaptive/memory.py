"""The data of an adaptively moved body that kernels share, besides its assembled body: for quasi-statics and for
adaptive dynamics.

The hybrid body [AD section 4] is what adaptive dynamics simulates: active joints, and between them bodies that are
currently rigid. It is stored as a model of its own, the *reduced* tree, with one row for each active joint and the
rigid body under it, in the form used by exact/aba.py. A rigid body consists of *pieces*: nodes of the rigid front, and
single bodies that carry something active. Reduced body 0 is the world; row b of the reduced tree belongs to reduced
body b + 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.hybrid_rooms import HybridLoops
from supple.adaptive.reduced_tree import ReducedTables, ReducedTree
from supple.assembly.load_cases import BODY_LOADS, AbsorbedLoads, StretchLoads
from supple.assembly.memory import AssembledBody, Pose, RigidBody
from supple.assembly.tables import TreeTables
from supple.assembly.tree import LEAF, LIGHT, SUM
from supple.contact.geometry.volumes import Volume
from supple.exact.loop_tables import groups
from supple.integrating.push_law import PushRow
from supple.model.model import Model
from supple.spatial.algebra import Force, Motion, RigidInertia, Vec3
from supple.spatial.fields import Address, Floats, Integer, Integers, Number, Numbers, Value
from supple.spatial.held import Held
from supple.spatial.structs import Link, Struct, Table

Vector = NDArray[np.float64]

# --- quasi-statics ----------------------------------------------------------------------------------------------------


class Carried(Struct):
    """Summed magnitudes of the forces that a joint carries."""

    force = Number()
    moment = Number()


class Strain(Struct):
    """Summed magnitudes of the pushes on a body, in its basis."""

    f = Numbers(6)


class Pulls(Struct):
    """The forces on a pushed body, along world axes, about its origin."""

    pushes = Value(Force)
    loops = Value(Force)  # those of loops that end at it


class QuasiStaticBody(Struct):
    """A solution over the assembly tree, or of the whole body, and the data for it. Arrays are indexed by node unless
    stated otherwise."""

    body = Link(AssembledBody)
    gravity = Value(Vec3)
    # out-of-date data
    marks = Integers()  # 0, FORCES (force-dependent coefficients are out of date) or MATRICES (all coefficients are)
    dirty = Integers()  # the marked nodes ...
    n_dirty = Integer()
    sorted = Integers()  # ... the same sorted by level, the lowest first
    levels = Integers()  # start of each level
    n_levels = Integer()
    stale = Integer()  # whether spans are out of date
    # the queue of nodes [QS section 4.3]
    queue = Integers()
    values = Floats()  # upper bounds of their totals, rounding included
    queue_length = Integer()
    slack = Floats()  # difference to the computed totals; the true ones may be lower by the same amount again
    visited = Integers()
    n_visited = Integer()
    computed = Integers()  # (n,) joints
    n_computed = Integer()
    n_touched = Integer()  # number of nodes recomputed
    worst = Integer()  # the node of the smallest pivot
    # forces on bodies
    pushed = Integers()  # the pushed bodies
    n_pushed = Integer()
    push_start = Integers()  # start of the pushes of each of them
    pushes = Table(PushRow)
    strain = Table(Strain)  # of pushed bodies
    pulls = Table(Pulls)  # likewise
    paths = Integers()  # the nodes above those bodies, ascending
    n_paths = Integer()
    world = Table(Pose)  # [poses.py]
    # the error of a solution [QS definition 2]
    root = Number()  # the total of all joints
    largest = Number()  # the largest square of the computed ones ...
    squares = Number()  # ... and the sum of their squares
    low = Number()  # the error is between low and high
    high = Number()
    floor = Number()  # rounding error of the computed accelerations
    digits = Number()  # the relative error of coefficients [assembly/rounding.py]
    size = Number()  # the root of the scale of the whole
    left_open = Number()  # accelerations, in all, by which the forces of loops are wrong [loop_solution.py]
    slid = Number()  # sliding displacement of joints inside the body since `digits` was measured
    # for the whole body [whole_body.py]
    noise = Floats()  # (nv,) magnitude of the terms of a joint's own equation
    probe = Floats()  # (nv,)
    carried = Table(Carried)  # (n,)
    noise_level = Number()
    amplification = Number()
    amplification_in_all = Number()
    closed = Floats()  # (nv + rows,) accelerations with loops closed, and the forces of loops [whole_loops.py]


# --- adaptive dynamics ------------------------------------------------------------------------------------------------

# flags of a node: in the active region, in the acceleration update region, chosen; and, for the first and the last:
# its own joint does not move, but something under it does
CURRENT, UPDATE, CHOSEN, HELD, HOLD = 1, 2, 4, 8, 16
PASSES, PINNED = 1, 2  # values of `must`: something under the node must be active; its own joint must


class Move(Struct):
    """The motion of a frame, in its own axes: angular velocity w, angular acceleration dw, and the acceleration a and
    velocity v of its origin."""

    w = Value(Vec3)
    dw = Value(Vec3)
    a = Value(Vec3)
    v = Value(Vec3)


class PushedBody(Struct):
    """Data of a pushed reduced body, within a kick [kick.py]."""

    now = Value(Motion)  # its velocity
    V = Value(Motion)  # velocities so far
    given = Value(Force)  # the forces other than springs
    drag = Value(Force)  # the forces of the springs' dampers


class OuterForce(Struct):
    """A force on a body, in its axes, about its origin; while velocities are predicted, on a reduced body, in the axes
    of the world [touching/choice.py]."""

    body = Integer()
    f = Value(Force)


class HybridBody(Struct):
    """Arrays are indexed by node unless stated otherwise."""

    body = Link(AssembledBody)
    gravity = Value(Vec3)
    # regions [AD section 4.1]
    flags = Integers()
    must = Integers()  # PASSES or PINNED
    on_path = Integers()  # whether a pushed body is under it
    seen = Integers()  # the nodes above and of the front, parents first
    n_seen = Integer()
    expanded = Integers()  # the chosen nodes
    n_expanded = Integer()
    queue = Integers()
    keys = Floats()
    queue_length = Integer()
    amount = Floats()  # its share of the metric
    velocity_weight = Floats()
    # rigid nodes
    rigid = Table(RigidBody)  # as a rigid body, in the frame of its top body
    piece = Integers()  # the reduced body that contains a piece ...
    piece_pose = Table(Pose)  # ... and the pose of the piece's frame in it
    motion = Table(Move)  # of a piece
    # the reduced tree
    joints = Integers()  # by row
    n_joints = Integer()
    n_angles = Integer()
    reduced = Link(ReducedTree)
    world_inertia = Value(RigidInertia)  # of everything rigidly attached to the world
    world = Table(Pose)  # of reduced bodies
    moves = Table(Move)  # of reduced bodies
    closing = Link(HybridLoops)  # only of bodies with loops
    has_loops = Integer()
    n_loop_rows = Integer()  # those of loops between different reduced bodies
    touching = Address()  # only of bodies that touch: a Touching [touching/memory.py]
    has_touches = Integer()
    asleep = Integers()  # whether all characters under it sleep [sleeping.py]
    volumes = Table(Volume)  # only of bodies that touch: boxes around its shapes ...
    body_volumes = Table(Volume)  # ... and by body: around its own, in its frame
    outer = Table(OuterForce)  # further forces on bodies, at an update
    n_outer = Integer()
    misjudged = Integer()  # whether fronts have misjudged rows since the hybrid body was formed [hybrid_fronts.py]
    # forces on bodies
    push_leaf = Integers()  # per push: the leaf of the body
    push_order = Integers()  # per push: its place among those sorted by reduced body ...
    push_start = Integers()  # ... and per reduced body: the start of its own
    n_pushes = Integer()
    n_ends = Integer()  # of them, ends of springs between two bodies
    pushes = Table(PushRow)
    reduced_pushes = Table(PushRow)
    pushed = Table(PushedBody)  # of reduced bodies
    paths = Integers()  # the nodes above the pushed bodies, ascending
    n_paths = Integer()
    # per degree of freedom
    v = Floats()
    drive = Floats()  # current forces of the joints
    controls = Floats()  # forces of actuators; then rows of integrating/joint_law.py
    controlled = Integers()  # 1 + the first of these rows; then, for each row, 1 + the next one
    n_rows = Integer()  # number of these rows; without any, `controlled` is not read
    has_friction = Integer()  # whether there has been dry friction among them
    dof_joint = Integers()  # the joint of each
    momentum = Floats()
    half = Floats()  # velocities within a kick
    gain = Floats()  # mean accelerations of a kick, accumulated
    effort = Floats()  # mean joint forces of a kick, accumulated
    impulse = Floats()
    # settings
    dt = Number()
    every = Integer()  # steps between updates
    most = Integer()  # largest number of active joints
    error = Number()
    most_reached = Integer()  # largest number of joints of the acceleration update region
    reach_error = Number()
    ways = Integer()  # GUARANTEED, FIXED, UNWATCHED, RELATIVE [steps.py, keeping.py, choose.py]
    # current state
    time = Number()
    steps = Integer()
    updates = Integer()
    due = Integer()  # steps until the next update
    n_reached = Integer()  # number of joints in the last acceleration update region
    acceleration_total = Number()  # the acceleration metric of all joints ...
    acceleration_least = Number()  # ... at least, whatever rounding did ...
    acceleration_rest = Number()  # ... and of those that were not reached
    velocity_total = Number()  # the velocity metric of the joints that moved ...
    velocity_rest = Number()  # ... and of those of them that were stopped
    digits = Number()  # relative error of totals
    whole_digits = Number()  # the same where all joints have been reached, and the articulated-body algorithm is run
    worst = Integer()  # the node or joint that an error refers to
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
    unchecked = Integer()  # steps since the last check
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


#: The arrays that, besides q, v and forces, determine how a run continues ...
SAVED_ARRAYS = ("flags", "kept_q", "kept_v", "dropped")
#: ... the numbers that an assembly of all nodes resets ...
LEDGER = (
    "accounts_open", "then_kinetic", "then_potential", "work", "drag_work", "stopped", "height", "grown", "lent",
    "stretch", "there", "squares",
)  # fmt: skip
#: ... and the other numbers.
SAVED_NUMBERS = (
    "dt", "time", "steps", "updates", "due", "n_reached", "acceleration_total", "acceleration_least",
    "acceleration_rest", "velocity_total", "velocity_rest", "digits", "whole_digits", "kept_time", "kept_removed",
    "n_dropped", "kinetic", "removed", "unchecked", "misjudged", *LEDGER,
)  # fmt: skip


def hybrid_memory(model: Model, tables: TreeTables, reduced: ReducedTables, q: Vector, v: Vector) -> Held:
    """The HybridBody of a model, and its AssembledBody, at q and v, with everything else zero."""
    assembly = tables.assembly
    n, m, nv = model.n_bodies, assembly.n_nodes, model.nv
    rigid_leaf = (assembly.kind == LEAF) & (assembly.left < 0)
    absorbed = (assembly.kind == LIGHT) | (assembly.kind == SUM)
    sizes = np.select([tables.lone, rigid_leaf, absorbed], [0, BODY_LOADS, AbsorbedLoads.words], StretchLoads.words)
    body = tables.body(model, q)
    body.loads, body.load_at = np.zeros(int(sizes.sum())), np.cumsum(sizes) - sizes
    of_nodes = ("flags", "must", "on_path", "asleep", "seen", "expanded", "queue", "piece")
    of_dofs = ("drive", "controls", "momentum", "half", "gain", "effort", "impulse")
    none = np.zeros(0, dtype=np.int64)
    return HybridBody.of(
        body=body,
        gravity=model.gravity,
        **{name: np.zeros(m, dtype=np.int64) for name in of_nodes},
        **{name: np.zeros(nv) for name in of_dofs},
        keys=np.zeros(m + 1),
        amount=np.zeros(m),
        rigid=RigidBody.zeros(m),
        piece_pose=Pose.zeros(m),
        motion=Move.zeros(m),
        joints=np.zeros(n + 1, dtype=np.int64),
        reduced=reduced.struct,
        world=Pose.zeros(n + 1),
        moves=Move.zeros(n + 1),
        push_leaf=none,
        push_order=none,
        push_start=np.zeros(n + 3, dtype=np.int64),
        pushes=PushRow.zeros(0),
        reduced_pushes=PushRow.zeros(0),
        pushed=PushedBody.zeros(n + 1),
        paths=none,
        volumes=Volume.zeros(0),
        body_volumes=Volume.zeros(0),
        outer=OuterForce.zeros(0),
        v=v,
        controlled=np.zeros(nv, dtype=np.int64),
        dof_joint=model.dof_body.astype(np.int64),
        kept_q=np.zeros(model.nq),
        kept_v=np.zeros(nv),
        dropped=np.zeros(n, dtype=np.int64),
    )


def quasi_static_memory(model: Model, tables: TreeTables, q: Vector) -> Held:
    """The QuasiStaticBody of a model, and its AssembledBody, at q, with everything else zero."""
    n, m, levels = model.n_bodies, tables.assembly.n_nodes, tables.assembly.depth + 1
    return QuasiStaticBody.of(
        body=tables.body(model, q),
        gravity=model.gravity,
        **{name: np.zeros(m, dtype=np.int64) for name in ("marks", "dirty", "sorted")},
        levels=np.zeros(levels, dtype=np.int64),
        n_levels=levels,
        queue=np.zeros(m + 1, dtype=np.int64),
        values=np.zeros(m + 1),
        slack=np.zeros(m),
        visited=np.zeros(m + 1, dtype=np.int64),
        computed=np.zeros(n, dtype=np.int64),
        pushed=np.zeros(0, dtype=np.int64),
        push_start=np.zeros(1, dtype=np.int64),
        pushes=PushRow.zeros(0),
        strain=Strain.zeros(0),
        pulls=Pulls.zeros(0),
        paths=np.zeros(0, dtype=np.int64),
        world=Pose.zeros(m),
        noise=np.zeros(model.nv),
        probe=np.zeros(model.nv),
        carried=Carried.zeros(n),
        closed=np.zeros(0 if model.is_tree else model.nv + int(groups(model).sum())),
    )
