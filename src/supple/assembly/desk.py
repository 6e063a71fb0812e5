"""What work on an assembly needs at hand, under one address: the tree, the numbers of the nodes, the state, scratch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.assembly.nodes import closing_words
from supple.assembly.tables import TreeTables, open_tree
from supple.spatial.compiler import helper
from supple.spatial.pointing import Pointing
from supple.spatial.references import address_of, float_vector, floats_at, int_vector, ints_at

_TREE, _OUT, _TAIL, _AT, _JOINT_AT, _TAIL_AT, _TOLD, _TOLD_AT, _Q, _EXTERNAL, _FORCE, _QDD, _W = range(13)
_SIZE, _N_TAIL, _N_TOLD, _NQ, _NV, WORDS = range(13, 19)

SCRATCH = closing_words(6)  #: the second part of a joint, where it is not kept


class Desk(NamedTuple):
    out: Any  #: the numbers of node i at at[i], of its joint at joint_at[i] ...
    tail: Any  #: ... and at tail_at[i]
    at: Any
    joint_at: Any
    tail_at: Any
    told: Any  #: what node i is told from above, twelve numbers at told_at[i]
    told_at: Any
    q: Any
    external: Any  #: forces on the bodies, six numbers each, in their bases
    force: Any  #: (nv,) the joints' own
    qdd: Any
    w: Any  #: scratch


@helper
def open_desk(address):
    """The tree and the desk at an address."""
    h = ints_at(address, (WORDS,))
    t = open_tree(h[_TREE])
    return t, Desk(
        float_vector(h[_OUT], h[_SIZE]),
        float_vector(h[_TAIL], h[_N_TAIL]),
        int_vector(h[_AT], t.nodes),
        int_vector(h[_JOINT_AT], t.nodes),
        int_vector(h[_TAIL_AT], t.nodes),
        float_vector(h[_TOLD], h[_N_TOLD]),
        int_vector(h[_TOLD_AT], t.nodes),
        float_vector(h[_Q], h[_NQ]),
        float_vector(h[_EXTERNAL], 6 * t.n),
        float_vector(h[_FORCE], h[_NV]),
        float_vector(h[_QDD], h[_NV]),
        float_vector(h[_W], SCRATCH),
    )


@helper
def state_arrays(address):
    """Positions, joint forces and accelerations of the desk at an address, as arrays."""
    h = ints_at(address, (WORDS,))
    return floats_at(h[_Q], (h[_NQ],)), floats_at(h[_FORCE], (h[_NV],)), floats_at(h[_QDD], (h[_NV],))


class HostDesk(Pointing):
    """A desk, and all that lies on it. keep_tails: whether the second part of a joint is kept."""

    _pointers = ("words", "address")

    def __init__(
        self,
        tables: TreeTables,
        out: NDArray[np.float64],
        at: NDArray[np.int64],
        joint_at: NDArray[np.int64],
        tail_at: NDArray[np.int64],
        told: NDArray[np.float64],
        told_at: NDArray[np.int64],
        q: NDArray[np.float64],
        external: NDArray[np.float64],
        force: NDArray[np.float64],
        qdd: NDArray[np.float64],
        keep_tails: bool,
    ) -> None:
        w = np.zeros(SCRATCH)
        tail = out if keep_tails else w
        self.kept = (tables, out, tail, at, joint_at, tail_at, told, told_at, q, external, force, qdd, w)
        self.out, self.told, self.q, self.external, self.force, self.qdd = out, told, q, external, force, qdd
        self._point()

    def _point(self) -> None:
        tables, out, tail, _, _, _, told, _, q, _, force, *_ = self.kept
        addresses = [tables.address, *map(address_of, self.kept[1:])]
        sizes = [len(out), len(tail), len(told), len(q), len(force)]
        self.words = np.array([*addresses, *sizes], dtype=np.int64)
        self.address = address_of(self.words)

    def look_at(self, q: NDArray[np.float64], qdd: NDArray[np.float64]) -> None:
        """Take another state; the arrays must live until the next one."""
        self.words[[_Q, _QDD]] = address_of(q), address_of(qdd)
