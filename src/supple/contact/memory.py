"""Shapes and touches, as structs of kernels. A touch is a contact point of two shapes, or a joint near its limit.

symbol   meaning
X, at    a shape's rotation and position in the world
n, t, s  a touch's normal, from body b to body a, and two tangents: right-handed
gap      distance along n: negative where shapes overlap
lam      impulse on body a along n, t, s; body b receives the opposite
u        velocity of a relative to b, along n, t, s
"""

from __future__ import annotations

from supple.contact.blocks import Blocks
from supple.contact.deep import Deep
from supple.exact.kinematics import PlacedBody, Spatial
from supple.exact.tables import Tables
from supple.spatial import fields
from supple.spatial.algebra import Mat3, Sym3, Vec3
from supple.spatial.fields import Integer, Integers, Number, Value
from supple.spatial.structs import Link, Struct, Table

KINDS = ("sphere", "capsule", "box", "cylinder", "hull", "plane", "heights")
SPHERE, CAPSULE, BOX, CYLINDER, HULL, PLANE, HEIGHTS = range(len(KINDS))
CONTACT, LIMIT = range(2)  #: kinds of touches


class PlacedShape(Struct):
    """A shape on a body, and its pose."""

    kind = Integer()
    body = Integer()  # -1: the world
    R = Value(Mat3)  # in the body's frame, as kernels have it
    p = Value(Vec3)
    half = Value(Vec3)  # half edges; (radius, radius, half length) of capsules and cylinders; (radius, ...) of spheres;
    # of height fields, half edges along x and y, and the highest point
    box = Value(Vec3)  # half edges of a box about its origin that contains it
    friction = Number()  # -1: not given
    restitution = Number()
    margin = Number()
    group = Integer()
    mask = Integer()
    first = Integer()  # of its points
    count = Integer()
    graph = Integer()  # of a hull with many points: where its edge graph begins; -1: none
    rows = Integer()  # of a height field
    X = Value(Mat3)
    at = Value(Vec3)
    reach = Number()  # how far it may move in a step
    searched = Number()  # the same, at the last search for touches ahead, ...
    turned = Number()  # ... and by rotation alone
    allowed = Number()  # overlap that a part may end with [judging.py]
    low = Value(Vec3)  # axis-aligned box that contains it during the whole step
    high = Value(Vec3)


class Span(Struct):
    """The box of a shape, along the axes of a sweep [spans.py]."""

    low = Value(Vec3)
    high = Value(Vec3)
    shape = Integer()
    strip = Integer()


class Pairs(Struct):
    """Candidate pairs: shapes whose spans overlap and that may touch."""

    n = Integer()  # more than `room` if some are missing
    room = Integer()
    one = Integers()
    two = Integers()
    axis = Integer()  # of the sweep
    ahead = Integer()  # whether spans included the motion of a part
    n_near = Integer()
    near = Integers()  # shape * n_shapes + other: pairs that touch during it, with planes and height fields


class Touch(Struct):
    """A contact point of two shapes, or a joint at its limit."""

    kind = Integer()
    a = Integer()  # bodies, -1 for the world; of a limit: the degree of freedom
    b = Integer()
    shape = Integer()
    other = Integer()
    key = Integer()  # the same from step to step
    point = Value(Vec3)
    n = Value(Vec3)
    t = Value(Vec3)
    s = Value(Vec3)
    gap = Number()
    friction = Number()
    restitution = Number()
    first = Integer()  # of its entries
    count = Integer()
    W = Value(Sym3)  # response of u to lam: its block of the Delassus matrix
    before = Value(Vec3)  # u at the beginning of the part
    free = Value(Vec3)  # u without impulses
    bias = Number()  # u.x >= -bias
    lam = Value(Vec3)
    expected = Value(Vec3)  # lam that predicts the mean velocity of the part
    u = Value(Vec3)
    speed = Number()  # the larger of `before` and `free`, to which the tolerance is relative
    push = Number()  # the impulse that removes overlap from positions [overlap.py]
    struck = Value(Vec3)  # impulse of impacts
    active = Integer()  # whether it takes part in a solution
    aside = Integer()  # whether it is too far open for that [asides.py]
    settled = Integer()  # whether its impulse is final [striking.py]
    home = Integer()  # its body, the one with the higher index of two [passes.py]
    next = Integer()  # the next touch in the list of the same body [walking.py], -1: none
    deep = Integer()  # 0: it has rows; else its group of deep trees, from 1 on [passes.py]
    island = Integer()
    p = Integer()  # blocks of its bodies [blocks.py]
    q = Integer()
    panel = Integer()  # position of q among the neighbours of p
    row = Integer()  # its first equation [touch_equations.py], and their number
    rows = Integer()
    scale = Value(Vec3)  # of these
    f = Value(Vec3)  # [equations.py] as the next three
    slope = Value(Mat3)  # A
    v = Value(Vec3)
    change = Value(Vec3)
    beyond = Value(Vec3)  # lam after an iteration of newton.py, inside its cone or not, and the resulting u
    beyond_u = Value(Vec3)
    x = Value(Vec3)  # [interior_step.py], as everything down to K
    y = Value(Vec3)
    dx = Value(Vec3)
    dy = Value(Vec3)
    g = Value(Vec3)
    r = Value(Vec3)
    w = Value(Vec3)  # the scaling H
    strength = Number()
    t_y = Number()
    t_z = Number()
    soft = Number()
    anchor = Number()  # lam_n that it is relative to
    R_n = Number()
    R_t = Number()
    N = Value(Mat3)
    K = Value(Mat3)
    best = Value(Vec3)  # the impulse with the smallest residual
    held = Number()  # [holding.py] s, in place of |u_t|
    held_before = Number()  # s of the previous round
    way = Number()  # |u_t| - s then
    share = Number()  # the share of that by which s changes
    safe = Value(Vec3)  # [holding.py] the impulse with the smallest residual


class Entry(Struct):
    """The entries of a touch's three rows, along n, t and s, for one degree of freedom [rows.py]."""

    dof = Integer()
    y = Value(Vec3)


class Known(Struct):
    """The force of a touch in the previous part of a step [warm_start.py]."""

    key = Integer()
    lam = Value(Vec3)


class Exerted(Struct):
    """The impulse of a touch over a step [exerting.py]."""

    key = Integer()
    kind = Integer()
    dof = Integer()  # of a limit
    shape = Integer()
    other = Integer()
    gap = Number()
    point = Value(Vec3)
    n = Value(Vec3)
    impulse = Value(Vec3)  # on the first shape, along the world's axes; of a limit: on its degree of freedom, 0, 0
    slip = Value(Vec3)


class Scene(Struct):
    """All shapes and touches, and what solvers share."""

    model = Link(Tables)
    bodies = Table(PlacedBody)
    n_shapes = Integer()
    n_flat = Integer()  # how many of them, the last ones, are planes and height fields
    shapes = Table(PlacedShape)
    points = fields.Floats()  # vertices of hulls, heights
    graphs = Integers()  # of hulls [hulls.py]
    spans = Table(Span)  # strip by strip, sorted by their lower ends; and one more for sorting
    pairs = Link(Pairs)
    width = Number()  # of strips
    n_strips = Integer()
    strips = Integers()  # where each begins in spans
    neighbours = Integer()  # whether a body may touch its parent
    above = Integers()  # (bodies) that parent, without massless bodies that are parts of a joint
    n_apart = Integer()
    apart = Integers()  # pairs that never touch: sorted shape * n_shapes + other
    capacity = Integer()  # memory for touches
    n = Integer()  # touches; more than the capacity if some are missing
    touches = Table(Touch)
    sunk = Integer()  # whether shapes overlap too far where a part begins [finishing.py]
    room = Integer()  # memory for entries
    n_entries = Integer()
    entries = Table(Entry)
    n_known = Integer()
    known = Table(Known)
    n_exerted = Integer()
    exerted_room = Integer()
    exerted = Table(Exerted)  # impulses of the step so far [exerting.py]
    sequence = Integers()  # touches, island by island [islands.py]
    n_islands = Integer()
    ends = Integers()  # where islands end in it
    low = Integer()  # the current island in it
    high = Integer()
    n_local = Integer()  # degrees of freedom of the current island
    local = Integers()  # (nv,) their numbers in it, -1 for others
    dofs = Integers()  # (nv,) the inverse of `local`
    blocks = Link(Blocks)
    deep = Link(Deep)
    z = fields.Floats()  # (nv,) Y^T lam of all touches [rows.py]
    total = fields.Floats()  # (nv,) the same, summed over all rounds of impacts
    motions = Table(Spatial)  # velocities of bodies, as body_motions found them
    n_present = Integer()  # degrees of freedom of the model; of a hybrid body, the active ones
    present = Integers()
    limits = Integers()  # degrees of freedom with limits
    n_limits = Integer()
    coordinates = Integers()  # their indices in q
    lower = fields.Floats()
    upper = fields.Floats()
    q = fields.Floats()
    v = fields.Floats()
    done = Integer()  # sweeps and Newton iterations
    left = Number()  # the largest residual, in m/s
    length = Number()  # gaps, in metres, that count as touching
    allowed = Number()  # the smallest `allowed` of all shapes
