"""Shapes and the places where they touch, as compiled code sees them.

symbol   what
X, at    a shape's rotation and position in the world
n, t, s  a touch's normal, from body b to body a, and two directions across it: right-handed
gap      the distance along n: negative where shapes overlap
lam      impulse on body a along n, t, s; body b gets the opposite
u        velocity of a relative to b, likewise
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
    """A shape on a body, and where it is."""

    kind = Integer()
    body = Integer()  # -1: the world
    R = Value(Mat3)  # in the body's frame, as kernels have it
    p = Value(Vec3)
    half = Value(Vec3)  # half edges; (radius, radius, half length) of capsules and cylinders; (radius, ...) of spheres
    box = Value(Vec3)  # half edges of a box about its origin that contains it
    friction = Number()  # -1: none is given
    restitution = Number()
    margin = Number()
    group = Integer()
    mask = Integer()
    first = Integer()  # of its points
    count = Integer()
    graph = Integer()  # of a hull with many of them: where that begins; -1: none
    rows = Integer()  # of a height field
    X = Value(Mat3)
    at = Value(Vec3)
    reach = Number()  # how far it may move in a step
    searched = Number()  # the same, of the last search for touches ahead
    allowed = Number()  # overlap that a part may end with [judging.py]
    low = Value(Vec3)  # a box along the world's axes that contains it all this step
    high = Value(Vec3)


class Span(Struct):
    """The box of a shape, along the axes of a sweep [spans.py]."""

    low = Value(Vec3)
    high = Value(Vec3)
    shape = Integer()
    strip = Integer()


class Pairs(Struct):
    """Pairs of shapes that may touch, of those whose boxes overlap as spans have them."""

    n = Integer()  # more than the room if some are missing
    room = Integer()
    one = Integers()
    two = Integers()
    axis = Integer()  # of the sweep
    ahead = Integer()  # whether they were searched for with the motion of a part
    n_near = Integer()
    near = Integers()  # shape * n_shapes + other: those that touch within its time, planes and height fields included


class Touch(Struct):
    """A place where two bodies touch, or a joint its limit."""

    kind = Integer()
    a = Integer()  # bodies; of a limit: the degree of freedom
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
    W = Value(Sym3)  # u answers to lam
    before = Value(Vec3)  # u at the beginning of the step
    free = Value(Vec3)  # u without any lam
    bias = Number()  # u.x >= -bias
    lam = Value(Vec3)
    expected = Value(Vec3)  # lam that velocities in the middle of the part were found with
    u = Value(Vec3)
    push = Number()  # against overlap: of positions
    struck = Value(Vec3)  # impulse of impacts
    active = Integer()  # whether it takes part
    aside = Integer()  # whether it is too far open for that [asides.py]
    settled = Integer()  # whether its impulse is known [striking.py]
    home = Integer()  # its body, the later one of two [passes.py]
    next = Integer()  # another touch that is renewed at the same body [walking.py], -1: none
    deep = Integer()  # 0: it has a row; else its group of deep trees, from 1 on [passes.py]
    island = Integer()
    p = Integer()  # blocks of its bodies [blocks.py]
    q = Integer()
    panel = Integer()  # where q is among the neighbours of p
    row = Integer()  # the first of its equations [touch_equations.py], and how many there are
    rows = Integer()
    scale = Value(Vec3)  # of these
    f = Value(Vec3)  # [equations.py] as the next three
    slope = Value(Mat3)  # A
    v = Value(Vec3)
    change = Value(Vec3)
    beyond = Value(Vec3)  # lam after a step of newton.py, wherever it is, and u by it
    beyond_u = Value(Vec3)
    x = Value(Vec3)  # [interior_step.py] as everything below
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
    best = Value(Vec3)  # the impulse with the least fault
    held = Number()  # [holding.py] s, in place of |u_t|
    held_before = Number()  # that of the round before
    way = Number()  # by how much |u_t| was larger then
    share = Number()  # of it that s goes
    safe = Value(Vec3)  # the impulse with the least fault


class Entry(Struct):
    """What a unit impulse at a touch, along n, t and s, does to one degree of freedom [rows.py]."""

    dof = Integer()
    y = Value(Vec3)


class Known(Struct):
    """An impulse of the step before."""

    key = Integer()
    lam = Value(Vec3)


class Exerted(Struct):
    """What a touch exerted in a step [exerting.py]."""

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
    """All of them."""

    model = Link(Tables)
    bodies = Table(PlacedBody)
    n_shapes = Integer()
    n_flat = Integer()  # the last ones of these: planes and height fields
    shapes = Table(PlacedShape)
    points = fields.Floats()  # corners of hulls, heights
    graphs = Integers()  # of hulls [hulls.py]
    spans = Table(Span)  # strip by strip, by their lower ends; and one to sort with
    pairs = Link(Pairs)
    width = Number()  # of strips
    n_strips = Integer()
    strips = Integers()  # where each begins in spans
    neighbours = Integer()  # whether a body may touch the one it hangs on
    above = Integers()  # (bodies) that one: the next above that is more than a part of its joint
    n_apart = Integer()
    apart = Integers()  # pairs that are never tried: sorted shape * n_shapes + other
    capacity = Integer()  # room for touches
    n = Integer()  # touches; more than the room if some are missing
    touches = Table(Touch)
    room = Integer()  # for entries
    n_entries = Integer()
    entries = Table(Entry)
    n_known = Integer()
    known = Table(Known)
    n_exerted = Integer()
    exerted_room = Integer()
    exerted = Table(Exerted)  # in the step so far [exerting.py]
    sequence = Integers()  # touches, island by island [islands.py]
    n_islands = Integer()
    ends = Integers()  # where islands end in it
    low = Integer()  # the present island in it
    high = Integer()
    n_local = Integer()  # degrees of freedom of the present island
    local = Integers()  # (nv,) their numbers, -1 for others
    dofs = Integers()  # (nv,) and the other way round
    blocks = Link(Blocks)
    deep = Link(Deep)
    z = fields.Floats()  # (nv,) what all impulses together do to degrees of freedom
    total = fields.Floats()  # (nv,) the same of all rounds of impacts
    motions = Table(Spatial)  # of bodies, at some velocities
    n_present = Integer()  # degrees of freedom of the model: of a hybrid body, those that are active
    present = Integers()
    limits = Integers()  # degrees of freedom with limits
    n_limits = Integer()
    coordinates = Integers()  # their indices in q
    lower = fields.Floats()
    upper = fields.Floats()
    q = fields.Floats()
    v = fields.Floats()
    done = Integer()  # sweeps and Newton's steps
    length = Number()  # what counts as touching, in metres
    allowed = Number()  # the least overlap of a shape that a part may end with
