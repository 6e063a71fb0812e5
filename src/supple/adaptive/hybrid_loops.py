"""The loops of the hybrid body in memory: those that join different rigid parts of it, and room for their rows.

A loop whose two ends are in the same rigid part does nothing there: rigid parts may contain whole loops. The ends of
the others are frames on reduced bodies, so that exact/closure.py finds their rows as it does for a model. A relation
between coordinates has terms at active joints; those of the others are part of its sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple import memory
from supple.assembly.tree import Assembly
from supple.exact.assembling import closed_gap
from supple.exact.call_kernels import Call
from supple.exact.calls import HostWork
from supple.exact.front_tables import Front
from supple.exact.loop_tables import EndMotion, Loops, LoopShape, Row, Term, loop_tables
from supple.exact.tables import DofTraits, host_tables
from supple.exact.with_loops import WITH_ARMATURES
from supple.model.model import Model
from supple.spatial.algebra import Force, Motion, Vec3
from supple.spatial.fields import Floats, Integer, Integers, Number, Value
from supple.spatial.held import Held
from supple.spatial.pointing import Pointing
from supple.spatial.structs import Link, Struct, Table

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

PER_BODY = 500  #: multiplications that take as long as moving a body and passing it, along fronts


class Pair(Struct):
    """Two reduced bodies, and all the loops between them. If these have more than six rows, they are combined to six
    [hybrid_rows.py]."""

    first = Integer()  # their first row
    n = Integer()  # how many rows they have
    at = Integer()  # the first of those that are eliminated
    H = Integer()  # where their reflections begin


class HeldRow(Struct):
    """A row that is eliminated: of a loop, or a combination of them."""

    a = Integer()  # rows of the reduced tree of the bodies on which the opposite force acts, and the force; -1: none
    b = Integer()
    f = Value(Force)  # about P, along world axes
    P = Value(Vec3)


class EndAcceleration(Struct):
    """The acceleration of a body at an end of a loop, beyond zeta, if loops exerted no forces."""

    A = Value(Motion)


class HybridLoops(Struct):
    """The rows of the reduced tree: one front, at the world, as in exact/front_tables.py. With N active degrees of
    freedom, numbered along the reduced tree, Y and F have N numbers a row."""

    whole = Link(Loops)  # of the model
    leaf = Integers()  # (2 loops,) the leaf of the body at each end; -1: the world
    term_joint = Integers()  # the joint of each term of the model's relations
    loops = Link(Loops)  # of the reduced tree: `motion` and `body` of ends are those of reduced bodies
    from_row = Integers()  # which row of the model each of its rows is
    term_body = Integers()  # the row of the reduced tree of each of its terms
    row_of_joint = Integers()  # (n,) the row of the reduced tree of each active joint
    first_dof = Integers()  # the first degree of freedom of each row of the reduced tree
    pairs = Table(Pair)
    n_pairs = Integer()
    pair_of = Integers()  # of each loop of the reduced tree
    next = Integers()  # the next loop whose later body is the same ...
    heads = Integers()  # (n,) ... and the first
    stamps = Integers()  # (n + 1,) the pair of a body with the current one
    rows = Table(HeldRow)
    # rows and their elimination [hybrid_rows.py, exact/row_elimination.py]
    front = Link(Front)
    pair = Link(Front)  # the rows of one pair of bodies
    n_joint_rows = Integer()  # the first rows of the front, which are of loop joints
    least = Number()  # rows of which less remains depend on others
    redundant = Integer()  # how many did so
    gives = Floats()  # how far each gives way to a unit force, by its two bodies alone
    row_of = Integers()
    block = Integers()
    pivots = Integers()
    Y = Floats()  # along each degree of freedom, the force that a unit force along a row exerts
    F = Floats()
    d = Floats()  # (N,) 1 / D of degrees of freedom
    K = Floats()  # the forces of rows that are combined
    H = Floats()  # reflections by which they are
    numbers = Floats()  # a number for each row of loops
    E = Floats()
    scale = Floats()
    b = Floats()
    x = Floats()  # forces along rows
    room = Floats()
    bounced = Floats()  # accelerations of rows by which velocities bounce off loops ...
    bounces = Integer()  # ... and whether they do, in this kick
    # closing [hybrid_closing.py]
    closed = Number()  # how far loops may stay open: metres, radians
    left = Number()  # how far they do
    worst = Integer()  # along which row of the model
    pulled = Floats()  # (nv,) by how much joints were moved, in a step
    # the whole body, along fronts [loop_choice.py, hybrid_fronts.py]
    call = Link(Call)
    by_fronts = Integer()  # whether that is the cheaper way
    fronts_cost = Number()
    accelerations = Table(EndAcceleration)  # as Loops.motions
    found = Floats()  # (nv + rows,) accelerations, and forces along all rows
    tau = Floats()  # (nv,)
    armature = Floats()  # (nv,) of all joints; infinite if locked


class LoopsOfHybrid(Pointing):
    """The struct for a model with loops, and its tables. They are filled whenever the hybrid body is formed."""

    _pointers = ("_armature", "struct")

    def __init__(self, model: Model, assembly: Assembly) -> None:
        self._model, self._assembly = model, assembly
        self._locked: Flags = np.zeros(model.n_bodies, dtype=np.bool_)
        self._point()

    def _point(self) -> None:
        model, whole = self._model, loop_tables(self._model)
        rows, nv = whole.n_rows, model.nv
        memory.require(
            rows * (2 * nv + rows), f"the {rows:,} rows of all loops over {nv:,} active joints",
            "use simulate(method='aba')",
        )  # fmt: skip
        bodies, leaf_of = whole.loops["ends"]["body"].reshape(-1), self._assembly.leaf_of
        call = HostWork(WITH_ARMATURES, model).call
        traits, self._armature = DofTraits.zeros(nv), np.zeros(nv)
        traits["damping"] = model.damping
        call.model = host_tables(model).tables.but(dofs=traits)
        self.struct: Held = HybridLoops.of(
            whole=whole,
            leaf=np.where(bodies >= 0, leaf_of[bodies], -1),
            term_joint=model.dof_body[whole.terms["iv"]].astype(np.int64),
            front=Front.of(is_base=1), pair=Front.of(), closed=closed_gap(model), call=call,
            armature=self._armature, fronts_cost=_cost(call.hubs), **_of_loops(model, whole), **_of_rows(rows, nv),
            **{name: np.zeros(nv) for name in ("d", "pulled", "tau")},
        )  # fmt: skip
        self.lock(self._locked)

    @property
    def ends(self) -> Ints:
        """The nodes on which loops act: leaves of the bodies at their ends, joints of relations."""
        leaf = self.struct.leaf
        return np.unique(np.concatenate([leaf[leaf >= 0], self._assembly.node_of[self.struct.term_joint]]))

    def lock(self, locked: Flags) -> None:
        """Joints that never move: they have infinite armatures."""
        self._locked = locked
        self._armature[:] = np.where(locked[self._model.dof_body], np.inf, self._model.armature)


def _of_loops(model: Model, whole: Held) -> dict[str, Any]:
    """Tables with rows for loops, terms and bodies."""
    n, loops, terms, rows = model.n_bodies, whole.n_loops, whole.n_terms, whole.n_rows
    sizes = {
        "term_body": terms, "row_of_joint": n, "first_dof": n, "pair_of": loops, "next": loops, "heads": n,
        "stamps": n + 1,
    }  # fmt: skip
    reduced = Loops.of(
        size=whole.size, loops=LoopShape.zeros(loops), terms=Term.zeros(terms), sums=np.zeros(rows),
        captured=np.zeros(n, dtype=np.int64), rows=Row.zeros(rows), motions=EndMotion.zeros(2 * loops + 1),
    )  # fmt: skip
    return {name: np.zeros(size, dtype=np.int64) for name, size in sizes.items()} | {
        "loops": reduced,
        "pairs": Pair.zeros(loops),
        "accelerations": EndAcceleration.zeros(2 * loops + 1),
    }


def _of_rows(rows: int, nv: int) -> dict[str, Any]:
    """Tables with numbers for rows."""
    one = {name: np.zeros(rows) for name in ("gives", "scale", "b", "x", "bounced", "numbers")}
    whole = {name: np.zeros(rows, dtype=np.int64) for name in ("from_row", "row_of", "block", "pivots")}
    sizes = {
        "Y": rows * nv, "F": rows * nv, "K": 6 * rows, "H": 7 * rows, "E": rows * (min(rows, nv) + 2),
        "room": max(rows, nv), "found": nv + rows,
    }  # fmt: skip
    return one | whole | {name: np.zeros(size) for name, size in sizes.items()} | {"rows": HeldRow.zeros(rows)}


def _cost(mechanism: Held) -> float:
    """Of the elimination of rows along fronts, as a count of multiplications."""
    fronts = mechanism.fronts
    return float((fronts["n"] ** 2 * fronts["stride"]).sum() + PER_BODY * mechanism.n_nodes)
