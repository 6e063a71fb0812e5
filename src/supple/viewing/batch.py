"""Many instances of one mesh, each fixed to a body, and where they are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from supple.exact.answers import Poses
from supple.model.geometry import quaternion_from_rotation
from supple.viewing.colours import PICKED, Bytes

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]

FEW = 500  #: instances whose boxes are looked at in full
DOT = 0.6  #: the size of a dot, as a share of the usual length


Kind = Literal["solid", "rod", "ball", "capsule"]


@dataclass(frozen=True, eq=False)
class Batch:
    """Instances of one mesh. A rod's mesh reaches along z from 0 to 1, a ball's is of radius 1/2 about its
    origin. A capsule's is of radius 1/2 about z from 0 to 1, and round beyond."""

    vertices: Floats
    faces: Ints
    body: Ints  #: (m,) -1 is the world
    begin: Floats  #: (m, 3) where the mesh's origin is, in the body's frame
    rotation: Floats  #: (m, 3, 3) how it is turned there
    scale: Floats  #: (m, 3)
    own: Bytes  #: (m, 3) colours
    kind: Kind = "solid"
    round: bool = False  #: of rods: their turn about z is of no account
    dots: bool = False  #: rods that are drawn as dots

    def __len__(self) -> int:
        return len(self.body)

    def place(self, R: Floats, r: Floats) -> tuple[Floats32, Floats32]:
        """Quaternions (m, 4), w first, and positions (m, 3) in the world. R, r: see with_world."""
        R, r = R[self.body], r[self.body]
        position = (r + np.einsum("mij,mj->mi", R, self.begin)).astype(np.float32)
        if self.round:
            return _along(np.einsum("mij,mj->mi", R, self.rotation[:, :, 2])), position
        turned = quaternion_from_rotation(R @ self.rotation)
        return turned[:, [3, 0, 1, 2]].astype(np.float32), position

    def middles(self, R: Floats, r: Floats) -> Floats32:
        """(m, 3) of rods, in the world."""
        middle: Floats = self.begin + 0.5 * self.scale[:, 2:] * self.rotation[:, :, 2]
        return np.asarray(r[self.body] + np.einsum("mij,mj->mi", R[self.body], middle), dtype=np.float32)

    def corners(self, R: Floats, r: Floats) -> Floats:
        """(k, 3) corners of the mesh's box in each instance, in the world: about how far it reaches. Where there are
        very many, two opposite ones."""
        low, high = self.vertices.min(axis=0), self.vertices.max(axis=0)
        which = np.array(list(product((0.0, 1.0), repeat=3)) if len(self) <= FEW else [(0.0,) * 3, (1.0,) * 3])
        ends = low + which * (high - low)
        local = self.begin[:, None] + np.einsum("mij,mkj->mki", self.rotation, self.scale[:, None] * ends)
        reach: Floats = r[self.body][:, None] + np.einsum("mij,mkj->mki", R[self.body], local)
        return reach.reshape(-1, 3)

    @property
    def dot(self) -> float:
        """How large a dot is."""
        return DOT * usual_length(self.scale[:, 2])

    def colours(self, painted: Bytes | None, picked: int | None = None) -> Bytes:
        """(m, 3) painted: of bodies; what is fixed to the world keeps its own. picked: the body that stands out."""
        out = self.own if painted is None else np.where((self.body >= 0)[:, None], painted[self.body], self.own)
        return (
            out if picked is None else np.where((self.body == picked)[:, None], np.array(PICKED, dtype=np.uint8), out)
        )


def with_world(pose: Poses) -> tuple[Floats, Floats]:
    """Rotations and positions of bodies, and the world's as one more row, which -1 is."""
    return np.concatenate([pose.rotation, np.eye(3)[None]]), np.concatenate([pose.position, np.zeros((1, 3))])


def _along(d: Floats) -> Floats32:
    """(m, 4) quaternions, w first, that turn z to unit vectors on the shortest way."""
    out = np.zeros((len(d), 4), dtype=np.float32)
    w = np.sqrt(np.maximum(0.5 * (1.0 + d[:, 2]), 0.0))
    down = w < 1e-4
    half = 0.5 / np.where(down, 1.0, w)
    out[:, 0], out[:, 1], out[:, 2] = w, np.where(down, 1.0, -d[:, 1] * half), np.where(down, 0.0, d[:, 0] * half)
    return out


def usual_length(lengths: Floats) -> float:
    """The mean, longer ones counting for more: the many bones of a hand do not make a thigh thin."""
    some = lengths[lengths > 0]
    return float(some @ some / some.sum()) if len(some) else 1.0
