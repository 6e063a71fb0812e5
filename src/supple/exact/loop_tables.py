"""What closes the loops of a model, as compiled code sees it.

A *group* is a loop joint, with the rows that it forbids, or a relation between coordinates, with one row. A force along
a row acts on the two ends of a loop (or at the joints of a relation) and is passed on from there to the root: on the
way it moves joints. An *entry* is a body on that way. The entries of a group form a tree; where two branches meet, the
forces add. Bodies that pass a force on to their parent share a *slot* with it if they are its last child in that tree,
as in model/topology.py: a loop needs one or two slots, however long it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple import memory
from supple.exact.tables import aligned
from supple.model.geometry import frames_along
from supple.model.joints import AXES, IN_KERNELS
from supple.model.kernel_frames import inside_turns
from supple.model.loops import Relation
from supple.model.model import Model
from supple.spatial.algebra import Force, Mat3, Motion, Vec3
from supple.spatial.fields import Floats, Integer, Integers, Number, Value
from supple.spatial.held import Held
from supple.spatial.structs import Link, Several, Struct, Table

Ints = NDArray[np.int64]


class LoopEnd(Struct):
    """A frame on a body: the loop joint's, with its axis along z."""

    body = Integer()  # -1: the world
    motion = Integer()  # that of the body, among Loops.motions
    R = Value(Mat3)
    p = Value(Vec3)


class LoopShape(Struct):
    """A loop joint."""

    kind = Integer()
    row = Integer()  # its first row
    pitch = Number()
    ends = Several(2, LoopEnd)  # on `body`, and on `other`


class Term(Struct):
    """A term of a relation between coordinates."""

    row = Integer()
    iq = Integer()
    iv = Integer()
    factor = Number()


class Entry(Struct):
    """A body on the way of a group's forces to the root; in the order of decreasing bodies."""

    body = Integer()
    row = Integer()  # the first row of the group
    n_rows = Integer()
    K = Integer()  # where the forces of its slot are
    K_parent = Integer()  # and those of the parent's; -1: the world
    end = Integer()  # where forces enter here: 2 loop + side, or -1
    term = Integer()  # the term of a relation whose joint is the body's, or -1
    is_first = Integer()  # whether no forces have come to this slot before


class Carried(Struct):
    """A unit force along a row, on its way to the root: about the origin of the body where it is."""

    f = Value(Force)


class Row(Struct):
    """One direction that is forbidden [closure.py]."""

    f = Value(Force)  # unit force on `other`, about P and along world axes
    P = Value(Vec3)  # in the world
    phi = Number()  # how far the loop is open
    rate = Number()  # how fast it opens
    g = Number()  # the acceleration along it that joints must add, for it to stay closed


class EndMotion(Struct):
    """The motion of a body at an end of a loop."""

    R = Value(Mat3)
    P = Value(Vec3)
    V = Value(Motion)
    zeta = Value(Motion)  # acceleration if no joint accelerated, -gravity included


class Room(Struct):
    """Memory of least_forces.py, named as there."""

    R = Floats()
    W = Floats()
    T = Floats()
    y = Floats()
    c = Floats()
    order = Integers()
    other = Integers()


class Loops(Struct):
    """What closes the loops of a model, and memory for one state."""

    n_loops = Integer()
    n_rows = Integer()
    n_terms = Integer()
    n_entries = Integer()
    size = Number()  # a length by which gaps in metres are compared with angles
    loops = Table(LoopShape)
    terms = Table(Term)
    sums = Floats()  # (n_rows,) what the terms of a relation add up to; zero for loop joints
    entries = Table(Entry)
    captured = Integers()  # (n_bodies,) the number of a body among those at ends of loops, or -1
    # memory
    rows = Table(Row)
    motions = Table(EndMotion)  # of those bodies; and last that of the world
    n_motions = Integer()
    K = Table(Carried)
    Y = Floats()  # (nv, n_rows) the force that a unit force along a row exerts on each joint, once those beyond moved
    L = Floats()  # (n_rows, n_rows) Y D^-1 Y^T: accelerations along rows due to forces along rows
    b = Floats()  # (n_rows,) accelerations along rows that these forces must cause
    x = Floats()  # (n_rows,) the forces
    B = Floats()  # (n_rows, nv) D^-1/2 Y, transposed and scaled [least_forces.py]
    scale = Floats()  # (n_rows,) of rows of B [constrained.py]
    least = Number()  # rows of which less remains depend on others [least_forces.py]
    rank = Integer()  # how many of the last rows did not
    room = Link(Room)


def loop_tables(model: Model) -> Held:
    """The loops of a model, without memory."""
    loops, relations = model.loop_list, model.relation_list
    counts = groups(model)
    first = np.cumsum(counts) - counts
    terms = _terms(model, first[len(loops) :])
    sums = np.zeros(int(counts.sum()))
    sums[first[len(loops) :]] = [x.offset / largest_factor(x) for x in relations]
    captured, n_ends = _captured(model)
    shapes = _shapes(model, first, captured, n_ends)
    return Loops.of(
        n_loops=len(loops), n_rows=len(sums), n_terms=len(terms), loops=shapes, terms=terms, sums=sums,
        size=extent(model), captured=captured, rows=Row.zeros(len(sums)), motions=EndMotion.zeros(n_ends + 1),
        n_motions=n_ends + 1,
    )  # fmt: skip


def groups(model: Model) -> Ints:
    """How many rows each loop and each relation has."""
    return np.array([x.rows for x in model.loop_list] + [1] * len(model.relation_list), dtype=np.int64)


def extent(model: Model) -> float:
    """The length of its longest body, in metres; one, if there is none."""
    ends = [x for loop in model.loop_list for x in (loop.position, loop.other_position)]
    lengths = np.linalg.norm(np.array([*model.position, *ends]), axis=1)
    return float(lengths.max(initial=0.0)) or 1.0


def largest_factor(relation: Relation) -> float:
    """Rows of relations are divided by it: {"wheel": 300, "pinion": 100} is {"wheel": 1, "pinion": 1 / 3}."""
    return max(map(abs, relation.factors)) or 1.0


def _shapes(model: Model, first: Ints, captured: Ints, world: int) -> NDArray[np.void]:
    out = LoopShape.zeros(len(model.loop_list))
    turns = inside_turns(model) if len(out) else np.empty((0, 3, 3))
    for i, x in enumerate(model.loop_list):
        along = frames_along(np.array([AXES[x._type]]), x.axis[None], x.axis2[None])[0]
        out["kind"][i], out["row"][i], out["pitch"][i] = IN_KERNELS[x._type], first[i], x.pitch
        places = ((x.body, x.position, x.rotation), (x.other, x.other_position, x.other_rotation))
        for side, (body, p, R) in enumerate(places):
            Q = np.eye(3) if body < 0 else turns[body]
            end = out["ends"][i, side]
            end["body"], end["motion"] = body, world if body < 0 else captured[body]
            end["R"], end["p"] = (Q.T @ R @ along).ravel(), Q.T @ p
    return out


def _terms(model: Model, first: Ints) -> NDArray[np.void]:
    joints = {name: i for i, name in enumerate(model.joint_names)} if len(first) else {}
    rows = [
        (row, joints[name], factor / largest_factor(x))
        for row, x in zip(first.tolist(), model.relation_list)
        for name, factor in zip(x.joints, x.factors)
    ]
    out = Term.zeros(len(rows))
    bodies = np.array([body for _, body, _ in rows], dtype=np.int64)
    out["row"], out["factor"] = [row for row, _, _ in rows], [factor for _, _, factor in rows]
    out["iq"], out["iv"] = model.q_index[bodies], model.v_index[bodies]
    return out


def _captured(model: Model) -> tuple[Ints, int]:
    out = np.full(model.n_bodies, -1)
    bodies = np.unique([i for x in model.loop_list for i in (x.body, x.other) if i >= 0]).astype(np.int64)
    out[bodies] = np.arange(len(bodies))
    return out, len(bodies)


class _Way(NamedTuple):
    """Bodies where forces of a group enter: the end of a loop, or the term of a relation, by body."""

    row: int
    n_rows: int
    ends: dict[int, int]
    terms: dict[int, int]


def entries(model: Model, tables: Held) -> tuple[NDArray[np.void], int]:
    """The entries of all groups, and the number of forces that are carried at once."""
    rows, size = [], 0
    for way in _ways(model, tables):
        found, slots = _entries_of(model, way, size)
        rows += found
        size += slots * way.n_rows
    out = Entry.zeros(len(rows))
    for i, name in enumerate(Entry.fields):
        out[name] = [row[i] for row in rows]
    # by decreasing body; a body's groups in their own order
    ordered: NDArray[np.void] = out[np.lexsort((out["row"], -out["body"]))]
    return ordered, size


def _ways(model: Model, tables: Held) -> list[_Way]:
    out = []
    for i, (shape, loop) in enumerate(zip(tables.loops, model.loop_list)):
        ends = {body: 2 * i + side for side, body in enumerate((loop.body, loop.other)) if body >= 0}
        out.append(_Way(int(shape["row"]), loop.rows, ends, {}))
    terms: dict[int, dict[int, int]] = {}
    for k, term in enumerate(tables.terms):
        terms.setdefault(int(term["row"]), {})[int(model.dof_body[term["iv"]])] = k
    return out + [_Way(row, 1, {}, at) for row, at in terms.items()]


def _entries_of(model: Model, way: _Way, first: int) -> tuple[list[tuple[int, ...]], int]:
    """The entries of one group, whose forces begin at `first`, and how many slots it needs."""
    support: set[int] = set()
    for start in (*way.ends, *way.terms):
        body = start
        while body >= 0 and body not in support:
            support.add(body)
            body = int(model.parent[body])
    slot: dict[int, int] = {-1: -1}
    last: dict[int, int] = {}
    for body in sorted(support):
        last[int(model.parent[body])] = body
    n_slots = 0
    for body in sorted(support):  # parents first
        up = int(model.parent[body])
        if up >= 0 and last[up] == body:
            slot[body] = slot[up]
        else:
            slot[body], n_slots = n_slots, n_slots + 1
    out: list[tuple[int, ...]] = []
    for body in support:
        up = int(model.parent[body])
        at, to = first + slot[body] * way.n_rows, -1 if up < 0 else first + slot[up] * way.n_rows
        fresh = int(body not in last)  # no child in the tree of the group
        out.append((body, way.row, way.n_rows, at, to, way.ends.get(body, -1), way.terms.get(body, -1), fresh))
    return out, n_slots


def with_memory(model: Model) -> Held:
    """The loops of a model with memory for the dynamics of one state."""
    tables = loop_tables(model)
    n, nv = tables.n_rows, model.nv
    memory.require(4 * n * n + 2 * n * nv, f"the dynamics of {n:,} rows that loops forbid", "use fewer loops")
    rows, size = entries(model, tables)
    square, one, numbers = n * n, n, np.zeros(n, dtype=np.int64)
    room = Room.of(
        R=aligned((square,)), W=aligned((square,)), T=aligned((square,)), y=aligned((one,)), c=aligned((one,)),
        order=numbers, other=numbers.copy(),
    )  # fmt: skip
    return tables.but(
        entries=rows, n_entries=len(rows), K=Carried.zeros(size), Y=aligned((nv * n,)), L=aligned((square,)),
        b=aligned((one,)), x=aligned((one,)), B=aligned((nv * n,)), scale=aligned((one,)), room=room,
    )  # fmt: skip
