"""Results of kinematics: an array over all bodies, and the row of any body or named frame by its name.

A named frame is fixed to a body: its pose is X_w = X_wb X_bf, its velocity that of the body's field at its origin.
Spatial accelerations are fields like velocities, and shift in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import take
from supple.errors import ModelError
from supple.exact.state_errors import MODEL
from supple.model.model import Frame, Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Along = Literal["world", "body"]


class Pose(NamedTuple):
    """Where one body or named frame is: x_world = rotation @ x_frame + position."""

    rotation: Floats  #: (3, 3), or (B, 3, 3)
    position: Floats  #: (3,), or (B, 3)

    def __repr__(self) -> str:
        return f"<Pose: rotation {self.rotation.shape}, position {self.position.shape}>"


@dataclass(frozen=True, eq=False, repr=False)
class Poses:
    """World poses of bodies: x_world = rotation @ x_body + position. poses["hand"] is the Pose of a body or named
    frame, poses[3] of body 3."""

    rotation: Floats  #: (n_bodies, 3, 3), or (B, n_bodies, 3, 3)
    position: Floats  #: (n_bodies, 3), or (B, n_bodies, 3)
    model: Model
    #: the bodies or frames of the rows, if some were requested; None: all bodies, in order
    places: tuple[Frame, ...] | None = None

    def __getitem__(self, name: str | int) -> Pose:
        row, place = _row(self.model, self.places, name)
        if row is None:
            return Pose(_repeated(place.rotation, self.rotation, 3), _repeated(place.position, self.position, 2))
        R, r = self.rotation[..., row, :, :], self.position[..., row, :]
        return Pose(R @ place.rotation, r + R @ place.position)

    def __iter__(self) -> Iterator[Floats]:
        """So that `R, r = poses(model, q)` unpacks into rotations and positions."""
        return iter((self.rotation, self.position))

    def __repr__(self) -> str:
        return f"<Poses: rotation {self.rotation.shape}, position {self.position.shape}>"


@dataclass(frozen=True, eq=False, repr=False)
class Motions:
    """Velocities, or spatial accelerations, of all bodies at their origins. motions["hand"] is that of a body or named
    frame, (6,) or (B, 6), angular first; motions[3] of body 3."""

    spatial: Floats  #: (n_bodies, 6), or (B, n_bodies, 6), angular first
    frame: Along  #: the axes of the components: the world's, or those of each body or frame itself
    model: Model
    _q: Floats | None  #: where named frames are, along the world's axes

    @property
    def angular(self) -> Floats:
        """(n_bodies, 3), or (B, n_bodies, 3)."""
        return self.spatial[..., :3]

    @property
    def linear(self) -> Floats:
        """(n_bodies, 3), or (B, n_bodies, 3)."""
        return self.spatial[..., 3:]

    def __getitem__(self, name: str | int) -> Floats:
        row, place = _row(self.model, None, name)
        if row is None:  # fixed to the world
            return np.zeros((*self.spatial.shape[:-2], 6))
        x = self.spatial[..., row, :]
        if not isinstance(name, str) or name in self.model.bodies:
            return x
        offset = place.position
        if self.frame == "world":
            offset = self._rotation(row) @ offset
        angular, linear = x[..., :3], x[..., 3:] + np.cross(x[..., :3], offset)
        if self.frame == "body":
            angular, linear = angular @ place.rotation, linear @ place.rotation
        return np.concatenate([angular, linear], axis=-1)

    def _rotation(self, body: int) -> Floats:
        from supple.exact.kinematics import poses

        assert self._q is not None
        R: Floats = poses(self.model, self._q).rotation[..., body, :, :]
        return R

    def __iter__(self) -> Iterator[Floats]:
        """So that `w, u = velocities(model, q, v)` unpacks into the angular and the linear parts."""
        return iter((self.angular, self.linear))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.array(self.spatial, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"<Motions: spatial {self.spatial.shape}, frame {self.frame!r}>"


def _row(model: Model, places: tuple[Frame, ...] | None, name: Any) -> tuple[int | None, Frame]:
    """The row of the body that a name or number refers to, None for the world, and its placement on that body."""
    place = model.place(name)
    if places is None:
        return (place.body if place.body >= 0 else None), place
    for row, known in enumerate(places):
        if known.name == place.name:
            return row, Frame(place.name, place.body, np.zeros(3), np.eye(3))
    raise ModelError(f"{place.name!r} is not among the {len(places)} that these poses were asked for")


def _repeated(x: Floats, like: Floats, own: int) -> Floats:
    """A value for every state of a batch."""
    return np.broadcast_to(x, (*like.shape[: like.ndim - own], *x.shape)).copy()


def at_rest(model: Model, v: ArrayLike | None) -> ArrayLike:
    """v, or zeros where it is None."""
    if v is not None:
        return v
    take("model", model, MODEL)
    return _zeros(model.nv)


@lru_cache(maxsize=32)
def _zeros(n: int) -> Floats:
    out = np.zeros(n)
    out.flags.writeable = False
    return out
