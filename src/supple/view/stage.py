"""The page: a body drawn in it, what can be picked, where the camera is."""

from __future__ import annotations

import contextlib
import io
import socket
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import ViewError
from supple.exact.kinematics import Poses, poses
from supple.model.model import Model
from supple.view.colours import By, paint
from supple.view.picking import pick
from supple.view.shapes import Batch, batches, with_world

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HOST, PORT = "127.0.0.1", 8080
FIELD = np.radians(50.0)  #: of view, upright
EYE = np.array([-0.75, -0.55, 0.35])  #: the direction from a body to where it is first looked at from


def open_server(port: int | None = None, title: str = "Supple") -> Any:
    """viser's server, to be reached from this machine only. port: None takes the first free one from 8080 on, 0 any."""
    try:
        import viser
    except ImportError:
        raise ViewError("looking at bodies needs viser: pip install 'supple[view]'") from None
    if port is not None:
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind((HOST, port))
            except (OSError, OverflowError) as e:
                reason = getattr(e, "strerror", None) or str(e)
                raise ViewError(
                    f"port {port} of this machine cannot be used: {reason}; give another with --port, or none for any"
                ) from None
    with contextlib.redirect_stdout(io.StringIO()):  # it would print a banner of its own
        server = viser.ViserServer(HOST, PORT if port is None else port, label=title, verbose=False)
    server.scene.configure_default_lights(cast_shadow=False)  # shadows would draw everything several times
    server.gui.configure_theme(control_width="large", show_logo=False, show_share_button=False)
    return server


def close_server(server: Any) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def address(server: Any) -> str:
    return f"http://{HOST}:{server.get_port()}"


class Stage:
    """A body in the scene of a page.

    Shapes are drawn in batches of many instances; of these, only those arrays are sent again that have changed.
    """

    def __init__(self, server: Any, picked: Callable[[int], None] | None = None) -> None:
        self.server = server
        self.model: Model | None = None
        self._parts: list[tuple[Batch, Any]] = []
        self._visible = True
        self.missing: list[str] = []  #: what could not be drawn, and why
        self.by: By = "own"
        self.largest_error = 0.0
        self.rods: Floats | None = None  #: of the first model, where its scene says them
        self._placed: tuple[Floats, Floats] | None = None
        if picked is not None:

            @server.scene.on_click()
            def _(event: Any) -> None:
                body = self.under(np.array(event.ray_origin), np.array(event.ray_direction))
                if body is not None:
                    picked(body)

    def show(self, model: Model, q: Floats, active: Ints | None = None, error: float | None = None) -> Poses:
        """Draw a state. active: the joints that are computed; error: what is certified of the others."""
        pose = poses(model, q)
        with self.server.atomic():
            if model is not self.model:
                self._put(model, pose)
            self._placed = placed = with_world(pose)
            painted = paint(self.by, model.n_bodies, active, error, self.largest_error)
            for batch, node in self._parts:
                node.batched_wxyzs, node.batched_positions = batch.place(*placed)
                node.batched_colors = batch.colours(painted)
        return pose

    def under(self, eye: Floats, ahead: Floats) -> int | None:
        """The body that a ray from the eye meets."""
        if self._placed is None:
            return None
        return pick([batch for batch, _ in self._parts], *self._placed, eye, ahead / np.linalg.norm(ahead))

    @property
    def visible(self) -> bool:
        return self._visible

    @visible.setter
    def visible(self, value: bool) -> None:
        self._visible = value
        for _, node in self._parts:
            node.visible = value

    def _put(self, model: Model, pose: Poses) -> None:
        """Another model: its shapes, instead of those that are there."""
        for _, node in self._parts:
            node.remove()
        first, self.model = self.model is None, model
        made, self.missing = batches(model, bounds(pose.position)[1], self.rods if first else None)
        self._parts = [(batch, self._add(i, batch, pose)) for i, batch in enumerate(made)]
        if first:
            self._look_at(pose, bool(np.any(model.gravity)))

    def _add(self, i: int, batch: Batch, pose: Poses) -> Any:
        wxyz, position = batch.place(*with_world(pose))
        return self.server.scene.add_batched_meshes_simple(
            f"/body/{i}", batch.vertices, batch.faces, wxyz, position, batched_scales=batch.scale,
            batched_colors=batch.own, lod="off", flat_shading=not batch.rods, visible=self._visible,
            cast_shadow=False, receive_shadow=False,
        )  # fmt: skip

    def _look_at(self, pose: Poses, floor: bool) -> None:
        centre, radius = bounds(pose.position)
        camera = self.server.initial_camera
        camera.fov, camera.near, camera.far = FIELD, 2e-3 * radius, 200.0 * radius
        camera.position, camera.look_at = first_eye(centre, radius), centre
        if floor:
            lowest = float(pose.position[:, 2].min())
            self.server.scene.add_grid(
                "/floor", width=4 * radius, height=4 * radius, position=(*centre[:2], lowest - 0.02 * radius),
                cell_size=_round(radius / 5), section_size=_round(radius),
            )  # fmt: skip


def bounds(points: Floats) -> tuple[Floats, float]:
    """The centre of a box around points, and the distance from there to its corners."""
    low, high = points.min(axis=0), points.max(axis=0)
    return 0.5 * (low + high), max(0.5 * float(np.linalg.norm(high - low)), 1e-3) * 1.05


def first_eye(centre: Floats, radius: float) -> Floats:
    """From where about all of a ball is in view: bodies seldom fill one."""
    return np.asarray(centre + 0.8 * EYE / np.linalg.norm(EYE) * radius / np.sin(FIELD / 2))


def _round(length: float) -> float:
    """A power of ten near a length."""
    return float(10.0 ** np.round(np.log10(length)))
