"""What closes the loops of a model, as compiled code sees it: loop joints, each with the rows that it forbids, and
relations between coordinates, with one row each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.model.geometry import frames_along
from supple.model.joints import AXES, IN_KERNELS
from supple.model.kernel_frames import inside_turns
from supple.model.loops import Relation
from supple.model.model import Model
from supple.spatial.algebra import Force, Mat3, Motion, Vec3
from supple.spatial.fields import Floats, Integer, Integers, Number, Value
from supple.spatial.held import Held
from supple.spatial.structs import Several, Struct, Table

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


class Loops(Struct):
    """What closes the loops of a model, and memory for one state."""

    n_loops = Integer()
    n_rows = Integer()
    n_terms = Integer()
    size = Number()  # a length by which gaps in metres are compared with angles
    loops = Table(LoopShape)
    terms = Table(Term)
    sums = Floats()  # (n_rows,) what the terms of a relation add up to; zero for loop joints
    captured = Integers()  # (n_bodies,) the number of a body among those at ends of loops, or -1
    # memory
    rows = Table(Row)
    motions = Table(EndMotion)  # of those bodies; and last that of the world
    n_motions = Integer()


def loop_tables(model: Model) -> Held:
    """The loops of a model."""
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
    if not len(out):
        return out
    turns = inside_turns(model)
    axes = (np.array([getattr(x, name) for x in model.loop_list]) for name in ("axis", "axis2"))
    frames = frames_along(np.array([AXES[x._type] for x in model.loop_list]), *axes)
    for i, (x, along) in enumerate(zip(model.loop_list, frames)):
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
