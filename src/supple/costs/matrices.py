"""Operation counts of the inertia-matrix algorithms on a tree [SF sections 4 to 6].

    symbol       what                                                                     SF
    d_i          distance of node i to the root, at least 1
    nu(i)        i and all its descendants
    D0, D1, D2   sums of min(1, d_i - 1), of d_i - 1, and of d_i (d_i - 1) / 2            (15) (8) (9)
    a, b, c      shares of D0 and D1: of DH nodes, of non-DH nodes, and of DH nodes
                 that are children of a floating base                                     (19) (21)
    m, a, div    multiplications, additions (subtractions too), divisions

Everything is computed from a parent array: parents first, -1 for the root. The cost of factors depends on the array
over degrees of freedom (model.expanded_parent), that of the CRBA and the others on the one over bodies (model.parent).
All sums are exact Python integers, computed in O(n) without recursion; nothing here is compiled.

The figures for CRBA, RNEA and ABA are the paper's, of the best published implementations on Denavit-Hartenberg (DH)
frames with revolute joints: a yardstick, not the counts of Supple itself (supple.reproduce.counting).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.errors import StateError
from supple.model.joints import JointType
from supple.model.model import Model
from supple.model.parents import expanded
from supple.model.topology import depths, n_children

Ints = NDArray[np.int64]
Form = Literal["ltdl", "ltl"]
FORMS: tuple[Form, ...] = get_args(Form)


@dataclass(frozen=True)
class Cost:
    """Numbers of operations. Printed in the notation of papers: 1258m + 1039a."""

    m: int = 0
    a: int = 0
    div: int = 0
    sqrt: int = 0
    sincos: int = 0  #: pairs of a sine and a cosine of one angle

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(x + y for x, y in zip(self.numbers, other.numbers)))

    def __sub__(self, other: Cost) -> Cost:
        return Cost(*(x - y for x, y in zip(self.numbers, other.numbers)))

    def __mul__(self, times: int) -> Cost:
        return Cost(*(times * x for x in self.numbers))

    __rmul__ = __mul__

    @property
    def numbers(self) -> tuple[int, int, int, int, int]:
        return self.m, self.a, self.div, self.sqrt, self.sincos

    def div_as_m(self) -> Cost:
        """Divisions counted as multiplications, as in SF section 6."""
        return Cost(self.m + self.div, self.a, 0, self.sqrt, self.sincos)

    def total(self, a: float = 1.0) -> float:
        """One number: multiplications, divisions and roots count 1, additions `a`, sines and cosines 0."""
        return self.m + self.div + self.sqrt + a * self.a

    def __str__(self) -> str:
        words = ("m", "a", " div", " sqrt", " sincos")
        return " + ".join(f"{x}{word}" for x, word in zip(self.numbers, words) if x) or "0"


# --- the sums over a tree -----------------------------------------------------------------------------------


def _parents(parent: ArrayLike) -> Ints:
    lam = np.asarray(parent)
    if lam.ndim != 1 or lam.dtype.kind not in "iu" or (lam < -1).any() or (lam >= np.arange(len(lam))).any():
        raise StateError("parent must be integers with -1 <= parent[i] < i: parents first, -1 for the root")
    return lam.astype(np.int64)


def _by_depth(parent: ArrayLike) -> list[int]:
    """Number of nodes at distance 0, 1, 2, ... from the root."""
    count: list[int] = np.bincount(depths(_parents(parent)), minlength=1).tolist()
    return count


def D0(parent: ArrayLike) -> int:
    """Nodes that are not children of the root [SF (15)]."""
    return sum(_by_depth(parent)[2:])


def D1(parent: ArrayLike) -> int:
    """Entries below the diagonal that are not branch-induced zeros [SF (8)]."""
    return sum(c * (d - 1) for d, c in enumerate(_by_depth(parent)) if d)


def D2(parent: ArrayLike) -> int:
    """Updates that a factorization makes to entries of other rows [SF (9)]."""
    return sum(c * (d * (d - 1) // 2) for d, c in enumerate(_by_depth(parent)))


def bounds(n: int, depth: int | None = None) -> tuple[int, int]:
    """The largest D1 and D2 of a tree of n nodes [SF (10) (11)]; of one with d_i <= depth [SF (12) (13)]."""
    if depth is None:
        return (n * n - n) // 2, (n**3 - n) // 6
    return n * (depth - 1), n * (depth * (depth - 1) // 2)


def density(parent: ArrayLike) -> float:
    """The fraction alpha of a matrix's entries that are not branch-induced zeros."""
    n = len(np.asarray(parent))
    return (n + 2 * D1(parent)) / n**2


def subtree_sizes(parent: ArrayLike) -> Ints:
    """|nu(i)|."""
    up = _parents(parent).tolist()
    size = [1] * len(up)
    for i in range(len(up) - 1, -1, -1):
        if up[i] >= 0:
            size[up[i]] += size[i]
    return np.array(size, dtype=np.int64)


def non_dh_nodes(parent: ArrayLike) -> int:
    """Nodes that cannot have Denavit-Hartenberg parameters because a sibling has them [SF (17)]."""
    return int(np.maximum(n_children(_parents(parent)) - 1, 0).sum())


class Split(NamedTuple):
    """D0 and D1 by kinds of node: a DH, b not DH, c DH on a floating base (these also count in a)."""

    D0a: int
    D1a: int
    D0b: int
    D1b: int
    D0c: int
    D1c: int


def split(parent: ArrayLike, floating: ArrayLike = ()) -> Split:
    """D0a ... D1c [SF (19), (21)]. floating: the indices of the nodes that are floating bases.

    Among a node's children, the one with the largest subtree is the DH node: that maximises D1a.
    """
    lam, size = _parents(parent), subtree_sizes(parent)
    # children of one parent together, the one with the largest subtree first
    order = np.lexsort((np.arange(len(lam)), -size, lam))
    dh = np.zeros(len(lam), dtype=bool)
    dh[order[np.append(True, np.diff(lam[order]) != 0)[: len(lam)]]] = True
    inner = lam >= 0
    sets = (inner & dh, inner & ~dh, inner & dh & np.isin(lam, np.asarray(floating, dtype=np.int64)))
    return Split(*(int(x) for s in sets for x in (s.sum(), size[s].sum())))


def floating_bases(model: Model) -> Ints:
    """The bodies on a free joint to the world."""
    return np.flatnonzero((model.parent < 0) & (model.joint_type == JointType.FREE))


# --- factors [SF Table 1] -----------------------------------------------------------------------------------


def factorization(parent: ArrayLike, form: Form = "ltdl") -> Cost:
    """Factorizing: D1 div + D2 (m + a), and n square roots in the LTL form."""
    n, d2 = len(np.asarray(parent)), D2(parent)
    return Cost(m=d2, a=d2, div=D1(parent), sqrt=n if _form(form) == "ltl" else 0)


def back_substitution(parent: ArrayLike, form: Form = "ltdl") -> Cost:
    """Solving H x = b with given factors: n div (LTL: 2n div) + 2 D1 (m + a)."""
    n, d1 = len(np.asarray(parent)), D1(parent)
    return Cost(m=2 * d1, a=2 * d1, div=n if _form(form) == "ltdl" else 2 * n)


def product(parent: ArrayLike, form: Form = "ltdl") -> Cost:
    """L x or L^T x: D1 (m + a), and n m if the diagonal of L is not one (LTL)."""
    n, d1 = len(np.asarray(parent)), D1(parent)
    return Cost(m=d1 if _form(form) == "ltdl" else n + d1, a=d1)


def triangle_solve(parent: ArrayLike, form: Form = "ltdl") -> Cost:
    """L^-1 x or L^-T x: D1 (m + a), and n div if the diagonal of L is not one (LTL)."""
    n, d1 = len(np.asarray(parent)), D1(parent)
    return Cost(m=d1, a=d1, div=0 if _form(form) == "ltdl" else n)


def _form(form: str) -> str:
    if form not in FORMS:
        raise StateError(f"form must be 'ltdl' or 'ltl', not {form!r}")
    return form


def rule_of_thumb(parent: ArrayLike) -> tuple[float, float]:
    """Approximate fraction of the dense cost that sparse factorization and back-substitution take [SF 4.1]."""
    alpha = density(parent)
    return alpha**2, alpha


# --- dynamics [SF sections 5 and 6] -------------------------------------------------------------------------

#: Adding and transforming a rigid body; transforming a vector: at DH nodes (A), at others (B), savings (C).
RX_A, VX_A = Cost(m=32, a=43), Cost(m=20, a=12)
RX_B, VX_B = Cost(m=47, a=58), Cost(m=24, a=18)
RX_C, VX_C = Cost(m=18, a=21), Cost(m=12, a=8)


def crba(parent: ArrayLike, floating: ArrayLike = ()) -> Cost:
    """The mass matrix [SF (20)], with the savings of floating bases [SF (21)]. parent: over bodies."""
    s = split(parent, floating)
    a = s.D0a * RX_A + s.D1a * VX_A
    b = s.D0b * RX_B + s.D1b * VX_B
    return a + b - (s.D0c * RX_C + s.D1c * VX_C)


def rnea(parent: ArrayLike, floating: Sequence[int] | Ints = ()) -> Cost:
    """Inverse dynamics [SF section 6].

    (93n - 69) m + (81n - 66) a on a chain; 7m + 13a more for a floating base, 4m + 8a for a non-DH node.
    The paper has one body on the root; if there are more, each saves as much as the first.
    """
    lam = _parents(parent)
    n, roots = len(lam), int((lam < 0).sum())
    chains = n * Cost(m=93, a=81) - roots * Cost(m=69, a=66)
    return chains + len(floating) * Cost(m=7, a=13) + split(lam).D0b * Cost(m=4, a=8)


def aba(parent: ArrayLike) -> Cost:
    """Forward dynamics by the articulated-body algorithm on a tree whose first body floats [SF section 6].

    (224n - 30) m + (205n - 37) a on a chain, n being the number of joints without the floating one.
    """
    lam = _parents(parent)
    if int((lam < 0).sum()) != 1:
        raise StateError("the published cost of the ABA is that of one tree on a floating base")
    n = len(lam) - 1
    return n * Cost(m=224, a=205) - Cost(m=30, a=37) + split(lam).D0b * Cost(m=66, a=57)


def forward_dynamics(parent: ArrayLike, dof: ArrayLike, floating: Sequence[int] | Ints = ()) -> Cost:
    """RNEA, CRBA, LTDL factorization and back-substitution, divisions as multiplications [SF section 6].

    parent: over bodies; dof: the degrees of freedom of each joint.
    """
    lam = expanded(parent, dof)
    factor = factorization(lam) + back_substitution(lam)
    return (rnea(parent, floating) + crba(parent, floating) + factor).div_as_m()
