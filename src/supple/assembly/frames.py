"""Coordinates adapted to assembly: in each body's frame, the joint's forbidden directions first, the allowed ones last.

A spatial vector of a body is written in the basis adapted to its joint: first the directions that the joint forbids,
then those it allows, in the order of its velocities. Motions have coordinates in that basis, forces in the dual one, so
the last entries of a force are the joint's own forces. Internal frames are those of model/kernel_frames.py: axes along
z, the first axis of a universal joint along x.

    kind         forbidden         allowed      (l: linear, a: angular)
    revolute     lx ly ax ay lz    az
    screw        lx ly ax ay lz    az + pitch lz
    universal    lx ly lz ay       ax az        of the frame between its two turns
    planar       lz ax ay          lx ly az     and so on [KINDS in model/joints.py]

A vector is transformed from the parent's basis to the child's in two steps: by the constant T to the joint's frame at
zero position, then by E(q), the joint's motion.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from supple.model.joints import DIRECTIONS, KINDS, PITCHED
from supple.model.kernel_frames import inside_inertias, tree_poses
from supple.model.model import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: For each kind of joint: the order of the natural coordinates (angular x y z, linear x y z) in the adapted basis.
BASIS: Ints = np.array(
    [[DIRECTIONS.index(x) for x in f"{kind.forbidden} {kind.allowed}".split()] for _, kind in sorted(KINDS.items())]
)
NATURAL: Ints = np.arange(6)  #: the world's basis


def skew(r: Floats) -> Floats:
    """(n, 3, 3) with skew(r) x = r x x."""
    out = np.zeros((len(r), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -r[:, 2], r[:, 1], -r[:, 0]
    return out - out.transpose(0, 2, 1)


def to_joints(model: Model) -> Floats:
    """(n, 6, 6) T: motions from the parent's basis to the basis of the joint's frame at zero position."""
    R, r = tree_poses(model)
    basis = np.concatenate([BASIS[model.joint_type], NATURAL[None]])  # the world's last: parent -1 indexes it
    pitch = np.append(_pitch(model), 0.0)
    out = np.empty((model.n_bodies, 6, 6))
    for block in _blocks(model.n_bodies):
        parent = model.parent[block]
        Rt = R[block].transpose(0, 2, 1)
        X = np.zeros((len(Rt), 6, 6))
        X[:, :3, :3] = X[:, 3:, 3:] = Rt
        X[:, 3:, :3] = -Rt @ skew(r[block])
        X = np.take_along_axis(X, basis[block, :, None], axis=1)  # rows of the child
        X[:, 4] -= pitch[block, None] * X[:, 5]
        X = np.take_along_axis(X, basis[parent][:, None, :], axis=2)  # columns of the parent
        X[:, :, 5] += pitch[parent, None] * X[:, :, 4]
        out[block] = X
    return out


def adapted_inertias(model: Model) -> Floats:
    """(n, 6, 6) rigid inertias in the adapted bases."""
    h, I = inside_inertias(model)
    basis, pitch = BASIS[model.joint_type], _pitch(model)[:, None]
    out = np.empty((model.n_bodies, 6, 6))
    for block in _blocks(model.n_bodies):
        M = np.zeros((len(h[block]), 6, 6))
        M[:, :3, :3] = I[block]
        M[:, :3, 3:], M[:, 3:, :3] = skew(h[block]), -skew(h[block])
        M[:, [3, 4, 5], [3, 4, 5]] = model.mass[block, None]
        M = np.take_along_axis(np.take_along_axis(M, basis[block, :, None], axis=1), basis[block, None, :], axis=2)
        M[:, 5] += pitch[block] * M[:, 4]
        M[:, :, 5] += pitch[block] * M[:, :, 4]
        out[block] = M
    return out


def _pitch(model: Model) -> Floats:
    return np.where(np.array(PITCHED)[model.joint_type], model.pitch, 0.0)


def _blocks(n: int, rows: int = 2048) -> Iterator[slice]:
    """A few bodies at a time, so that intermediate results stay in the cache."""
    return (slice(i, min(i + rows, n)) for i in range(0, n, rows))
