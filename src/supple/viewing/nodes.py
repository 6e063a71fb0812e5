"""A batch in the scene of a page: instances of its mesh, or dots."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from supple.viewing.batch import Batch
from supple.viewing.colours import Bytes
from supple.viewing.light import reflecting

Floats = NDArray[np.float64]


WORLD = np.eye(3)[None], np.zeros((1, 3))


class Node(Protocol):
    """What is given again as it was is not sent again: viser compares."""

    handle: Any

    def show(self, R: Floats, r: Floats, painted: Bytes | None, picked: int | None) -> None: ...


class Instances:
    def __init__(self, scene: Any, name: str, batch: Batch, R: Floats, r: Floats, visible: bool) -> None:
        self._batch = batch
        wxyz, position = batch.place(R, r)
        self.handle = scene.add_batched_meshes_simple(
            name, batch.vertices, batch.faces, wxyz, position, batched_scales=batch.scale,
            batched_colors=reflecting(batch.own), lod="off", flat_shading=batch.kind == "solid",
            visible=visible, cast_shadow=False, receive_shadow=False,
        )  # fmt: skip

    def show(self, R: Floats, r: Floats, painted: Bytes | None, picked: int | None) -> None:
        self.handle.batched_wxyzs, self.handle.batched_positions = self._batch.place(R, r)
        self.handle.batched_colors = reflecting(self._batch.colours(painted, picked))


class Dots:
    def __init__(self, scene: Any, name: str, batch: Batch, R: Floats, r: Floats, visible: bool) -> None:
        self._batch = batch
        self.handle = scene.add_point_cloud(
            name, batch.middles(R, r), batch.own, point_size=batch.dot, point_shape="circle", precision="float32",
            visible=visible,
        )  # fmt: skip

    def show(self, R: Floats, r: Floats, painted: Bytes | None, picked: int | None) -> None:
        self.handle.points = self._batch.middles(R, r)
        self.handle.colors = self._batch.colours(painted, picked)


class Things:
    """Instances that change their sizes, too: arrows and springs."""

    def __init__(self, scene: Any, name: str, batch: Batch) -> None:
        self.name, self.some, self._handle = name, len(batch) > 0, None
        if self.some:
            wxyz, position = batch.place(*WORLD)
            self._handle = scene.add_batched_meshes_simple(
                f"/around/{name}", batch.vertices, batch.faces, wxyz, position,
                batched_scales=batch.scale.astype(np.float32), batched_colors=reflecting(batch.own), lod="off",
                flat_shading=True, side="double", cast_shadow=False, receive_shadow=False,
            )  # fmt: skip

    def show(self, batch: Batch) -> None:
        if self._handle is not None:
            self._handle.batched_wxyzs, self._handle.batched_positions = batch.place(*WORLD)
            self._handle.batched_scales = batch.scale.astype(np.float32)

    def remove(self) -> None:
        if self._handle is not None:
            self._handle.remove()


def node(scene: Any, name: str, batch: Batch, R: Floats, r: Floats, visible: bool) -> Node:
    return (Dots if batch.dots else Instances)(scene, name, batch, R, r, visible)
