"""A batch in the scene of a page: instances of its mesh, or dots."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from supple.viewing.batch import Batch
from supple.viewing.colours import Bytes

Floats = NDArray[np.float64]


class Node(Protocol):
    """What is given again as it was is not sent again: viser compares."""

    handle: Any

    def show(self, R: Floats, r: Floats, painted: Bytes | None) -> None: ...


class Instances:
    def __init__(self, scene: Any, name: str, batch: Batch, R: Floats, r: Floats, visible: bool) -> None:
        self._batch = batch
        wxyz, position = batch.place(R, r)
        self.handle = scene.add_batched_meshes_simple(
            name, batch.vertices, batch.faces, wxyz, position, batched_scales=batch.scale, batched_colors=batch.own,
            lod="off", flat_shading=not batch.rods, visible=visible, cast_shadow=False, receive_shadow=False,
        )  # fmt: skip

    def show(self, R: Floats, r: Floats, painted: Bytes | None) -> None:
        self.handle.batched_wxyzs, self.handle.batched_positions = self._batch.place(R, r)
        self.handle.batched_colors = self._batch.colours(painted)


class Dots:
    def __init__(self, scene: Any, name: str, batch: Batch, R: Floats, r: Floats, visible: bool) -> None:
        self._batch = batch
        self.handle = scene.add_point_cloud(
            name, batch.middles(R, r), batch.own, point_size=batch.dot, point_shape="circle", precision="float32",
            visible=visible,
        )  # fmt: skip

    def show(self, R: Floats, r: Floats, painted: Bytes | None) -> None:
        self.handle.points = self._batch.middles(R, r)
        self.handle.colors = self._batch.colours(painted)


def node(scene: Any, name: str, batch: Batch, R: Floats, r: Floats, visible: bool) -> Node:
    return (Dots if batch.dots else Instances)(scene, name, batch, R, r, visible)
