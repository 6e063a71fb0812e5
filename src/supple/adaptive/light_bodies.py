"""Light bodies that carry heavy ones: how inaccurate the assembly tree can be, whatever the posture and the forces.

The mobility of a light body that carries a heavy one is the small difference of two large ones, Phi1^A - Phi12^A W
Phi21^A [assembly/nodes.py]. What remains has a relative error of up to u r, where u is the unit roundoff and

    r = max over bodies i of  (the largest of I_j and m_j L^2, over all bodies j that i carries, and itself) / I_i

with m the mass, I_j the largest and I_i the smallest moment of inertia about the centre of mass, and L the longest
lever: from joint to joint, or to a centre of mass. Solutions over the tree have this error relative to their scale
[assembly/rounding.py] in some postures and under some forces, and none in others. In 1,600 bodies of 2 to 40 links with
mass ratios up to 1e9, straight, folded, bent or random, the largest error was 1.6 u r (for r > 128), against dense
matrices in extended precision. PER_RATIO times u r is what certificates allow for.

The articulated-body algorithm does not lose these digits, but what rounding does to it also varies with the posture and
the forces where r is large: for r > ALIKE it is probed at every solution [adaptive/whole_body.py].

Bodies alone under their joint (`lone`) are absorbed as inertias, which are added: they do not count as i. Bodies that
locked joints connect count as one body j, with a lever along all of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.assembly.tables import TreeTables
from supple.model.joints import ANGLES, KINDS, NQ, PITCHED, SLIDES, JointType
from supple.model.model import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

UNIT = 2.0**-53
PER_RATIO = 16.0  #: to be on the safe side
ALIKE = 1e4


class LightBodies:
    """The ratio r of a body. locked: of each joint, whether it is."""

    def __init__(self, model: Model, tables: TreeTables, locked: Flags | None = None) -> None:
        inner = np.flatnonzero(model.parent >= 0)
        links = _lengths(model.position)
        links[model.parent < 0] = 0.0
        self._length = float(max(links.max(initial=0.0), _lengths(model.com).max(initial=0.0)))
        moments, mass = model._kept(LightBodies, lambda: np.linalg.eigvalsh(model.inertia)), model.mass
        lightest, _, heaviest = moments.T.astype(np.float64)
        if locked is not None and locked.any():
            heaviest, mass = _welded(_tops(model.parent, locked), heaviest, mass, links / (self._length or 1.0))
        on_path = ~tables.lone[tables.assembly.leaf_of]
        self._own, self._carried = lightest, [_largest_below(x, model.subtree_end) for x in (heaviest, mass)]
        self._moments, self._masses = (_largest(x[on_path], lightest[on_path]) for x in self._carried)
        self._slots, self._metres = _sliding(model, inner)

    @property
    def slides(self) -> bool:
        """Whether the longest lever depends on the posture."""
        return len(self._slots) > 0

    def ratio(self, q: Floats) -> float:
        """r, with the levers at q."""
        lever = self._lever(q)
        return max(self._moments, self._masses * lever * lever)

    def _lever(self, q: Floats) -> float:
        """The longest lever L at q."""
        slid = float(np.max(self._metres * np.abs(q[self._slots]), initial=0.0))
        return self._length + 3.0**0.5 * slid  # a joint slides along three axes at most

    def worst(self, q: Floats) -> tuple[int, float, float]:
        """The body that carries most, relative to its own: its number, I_i, and the largest of I_j and m_j L^2."""
        moments, masses = self._carried
        carried = np.maximum(moments, masses * self._lever(q) ** 2)
        body = int(np.argmax(carried / np.maximum(self._own, 1e-300)))
        return body, float(self._own[body]), float(carried[body])

    def digits(self, q: Floats) -> float:
        """The error of solutions over the tree, relative to their scale, that certificates allow for."""
        return PER_RATIO * UNIT * self.ratio(q)

    def alike(self, q: Floats) -> bool:
        """Whether what rounding does to the whole body is much the same from posture to posture."""
        return self.ratio(q) <= ALIKE


def _lengths(x: Floats) -> Floats:
    return np.sqrt(np.einsum("ij,ij->i", x, x))


def _largest(carried: Floats, own: Floats) -> float:
    """The largest ratio; infinite if a body has no inertia of its own."""
    return float(np.max(np.divide(carried, own, out=np.full_like(own, np.inf), where=own > 0.0), initial=0.0))


def _largest_below(x: Floats, ends: Ints) -> Floats:
    """The largest x in each subtree, from the largest in stretches of 1, 2, 4, ... bodies."""
    begin, out, stretches, size = np.arange(len(x)), x.copy(), x, 1
    while size <= len(x):
        some = np.flatnonzero((ends - begin >= size) & (ends - begin < 2 * size))
        out[some] = np.maximum(stretches[some], stretches[ends[some] - size])
        stretches, size = np.maximum(stretches[:-size], stretches[size:]), 2 * size
    return out


def _tops(parent: Ints, locked: Flags) -> Ints:
    """The first body of those that locked joints connect, for each."""
    top = np.where(locked & (parent >= 0), parent, np.arange(len(parent)))
    while (top != top[top]).any():
        top = top[top]
    return top


def _welded(top: Ints, moment: Floats, mass: Floats, links: Floats) -> tuple[Floats, Floats]:
    """Moments and masses of what each body is locked to; masses for a lever of 1, where links are added to it."""
    n = len(top)
    link = np.where(top == np.arange(n), 0.0, links)
    moments, masses, long = (np.bincount(top, x, n).astype(np.float64) for x in (moment, mass, link))
    return moments[top], (masses * (1.0 + long) ** 2)[top]


def _sliding(model: Model, inner: Ints) -> tuple[Ints, Floats]:
    """The coordinates along which joints inside the body slide, and the metres per unit of each."""
    slots, metres = [], []
    kinds = model.joint_type[inner]
    for kind in JointType:
        joints = inner[kinds == kind] if SLIDES[kind] else inner[:0]
        unit = KINDS[kind].unit
        end = NQ[kind] if unit is None else unit[0]
        for k in range(0 if PITCHED[kind] else ANGLES[kind], end):
            slots.append(model.q_index[joints] + k)
            metres.append(np.abs(model.pitch[joints]) if PITCHED[kind] else np.ones(len(joints)))
    return np.concatenate(slots).astype(np.int64), np.concatenate(metres).astype(np.float64)
