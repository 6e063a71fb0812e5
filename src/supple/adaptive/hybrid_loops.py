"""Makes the memory of the loops of a hybrid body [hybrid_rooms.py], and passes locks to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from supple import memory
from supple.adaptive.hybrid_rooms import EndAcceleration, HeldRow, HybridLoops, Pair
from supple.assembly.tree import Assembly
from supple.exact.assembling import closed_gap
from supple.exact.calls import HostWork
from supple.exact.front_tables import Front, Place
from supple.exact.loop_tables import EndMotion, Loops, LoopShape, Row, Term, loop_tables
from supple.exact.tables import DofTraits, host_tables
from supple.exact.with_loops import WITH_ARMATURES
from supple.model.model import Model
from supple.spatial.held import Held
from supple.spatial.pointing import Pointing

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

MOST_ADDED = 7  #: joints that a loop of six rows may need
LARGEST_GROUP = 64  #: degrees of freedom of loops that hang together: of more, not all motions are found
PER_BODY = 500  #: multiplications that take as long as moving a body and passing it, along fronts


class LoopsOfHybrid(Pointing):
    """The struct for a model with loops, and its tables. They are filled whenever the hybrid body is formed."""

    _pointers = ("_armature", "struct")

    def __init__(self, model: Model, assembly: Assembly) -> None:
        self._model, self._assembly = model, assembly
        self._locked: Flags = np.zeros(model.n_bodies, dtype=np.bool_)
        self._draws = 1
        self._point()

    def _point(self) -> None:
        model, whole = self._model, loop_tables(self._model)
        rows, nv = whole.n_rows, model.nv
        memory.require(
            rows * (2 * nv + 2 * rows), f"the {rows:,} rows of all loops over {nv:,} active joints",
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
            **_of_groups(model, whole),
            **{name: np.zeros(nv) for name in ("d", "pulled", "tau", "probe")}, sums=np.zeros(self._assembly.n_nodes),
        )  # fmt: skip
        self.lock(self._locked)
        self.draw(self._draws)

    def draw(self, count: int) -> None:
        """How many choices of signs show what rounding may do."""
        self._draws = self.struct.draws = count

    def lock(self, locked: Flags) -> None:
        """Joints that never move: they have infinite armatures."""
        self._locked = locked
        self._armature[:] = np.where(locked[self._model.dof_body], np.inf, self._model.armature)


def _of_loops(model: Model, whole: Held) -> dict[str, Any]:
    """Tables with rows for loops, terms and bodies."""
    n, loops, terms, rows = model.n_bodies, whole.n_loops, whole.n_terms, whole.n_rows
    starts = np.append(np.flatnonzero(np.diff(whole.terms["row"], prepend=-1)), terms)
    units = loops + len(starts) - 1
    sizes = {
        "term_body": terms, "row_of_joint": n, "first_dof": n, "pair_of": loops, "next": loops, "heads": n,
        "stamps": n + 1, "stuck": n, "barred": n, "units": units, "added": MOST_ADDED,
    }  # fmt: skip
    reduced = Loops.of(
        size=whole.size, loops=LoopShape.zeros(loops), terms=Term.zeros(terms), sums=np.zeros(rows),
        captured=np.zeros(n, dtype=np.int64), rows=Row.zeros(rows), motions=EndMotion.zeros(2 * loops + 1),
    )  # fmt: skip
    return {name: np.zeros(size, dtype=np.int64) for name, size in sizes.items()} | {
        "loops": reduced,
        "pairs": Pair.zeros(loops),
        "accelerations": EndAcceleration.zeros(2 * loops + 1),
        "relation_start": starts.astype(np.int64), "n_relations": len(starts) - 1, "unit_keys": np.zeros(units),
    } | {name: np.zeros(n) for name in ("weight", "moment", "shaken", "turned")}  # fmt: skip


def _of_groups(model: Model, whole: Held) -> dict[str, Any]:
    """The groups of loops and relations that have joints in common, if they are small, and room for their motions."""
    n, terms = model.n_bodies, whole.terms["row"]
    pairs = [pair for loop in model.loop_list for pair in _in_turn(_joints_of_loop(model, loop.body, loop.other))]
    for row in np.unique(terms):
        pairs += _in_turn(model.dof_body[whole.terms["iv"][terms == row]].tolist())
    one, other = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    _, group = connected_components(coo_array((np.ones(len(one)), (one, other)), shape=(n, n)), directed=False)
    sizes = np.bincount(group, weights=np.bincount(model.dof_body, minlength=n))
    small = np.intersect1d(group[one], np.flatnonzero(sizes <= LARGEST_GROUP))
    joints = np.flatnonzero(np.isin(group, small))
    joints = joints[np.argsort(group[joints], kind="stable")]
    most = int(sizes[small].max(initial=0.0))
    names = ("open", "open_start", "open_dofs", "order", "motion_pivots")
    numbers = {name: np.zeros(most + 1, dtype=np.int64) for name in names}
    return numbers | {
        "n_groups": len(small), "group_joints": joints, "alone": 1 - np.isin(np.arange(n), other),
        "group_start": np.searchsorted(group[joints], np.append(small, n)).astype(np.int64),
        "motions": np.zeros(most * most), "trial": np.zeros(most * most),
    }  # fmt: skip


def _joints_of_loop(model: Model, a: int, b: int) -> list[int]:
    """The joints on the way from one body to another."""
    out = []
    while a != b:
        if a > b:
            out.append(a)
            a = int(model.parent[a])
        else:
            out.append(b)
            b = int(model.parent[b])
    return out


def _in_turn(joints: list[int]) -> list[tuple[int, int]]:
    return list(zip(joints[:1] + joints, joints))


def _of_rows(rows: int, nv: int) -> dict[str, Any]:
    """Tables with numbers for rows."""
    one = {name: np.zeros(rows) for name in ("gives", "b", "x", "bounced", "numbers", "left_g", "size_g")}
    tables = {"from_row": np.zeros(rows, dtype=np.int64), "rows": HeldRow.zeros(rows), "places": Place.zeros(rows)}
    sizes = {
        "Y": rows * nv, "F": rows * nv, "K": 6 * rows, "H": 7 * rows, "E": rows * (min(rows, nv) + 2),
        "T": rows * min(rows, nv),
        "room": max(rows, nv), "found": nv + rows, "wanted": nv + rows,
    }  # fmt: skip
    return one | tables | {name: np.zeros(size) for name, size in sizes.items()}


def _cost(mechanism: Held) -> float:
    """Of the elimination of rows along fronts, as a count of multiplications."""
    fronts = mechanism.fronts
    return float((fronts["n"] ** 2 * fronts["stride"]).sum() + PER_BODY * mechanism.n_nodes)
