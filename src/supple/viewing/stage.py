"""The page: a body drawn in it, what can be picked, where the camera is."""

from __future__ import annotations

import contextlib
import io
import socket
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import ViewError, printable
from supple.exact.answers import Poses
from supple.exact.kinematics import poses
from supple.model.model import Model
from supple.viewing.batch import Batch, with_world
from supple.viewing.colours import By, paint
from supple.viewing.nodes import Node, node
from supple.viewing.picking import pick
from supple.viewing.shapes import batches

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HOST, PORT = "127.0.0.1", 8080
FIELD = np.radians(50.0)  #: of view, upright
LIGHT = np.array([-0.9, 0.25, 0.9])  #: where most light comes from, and less from across
EYE = np.array([-0.75, -0.55, 0.35])  #: see first_look


def open_server(port: int | None = None, title: str = "Supple", own_light: bool = True) -> Any:
    """viser's server, to be reached from this machine only, at `address`. port: None takes the first free one from
    8080 on, 0 any.

    own_light: False leaves the light as it is in viser's pages.
    """
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
    from supple.viewing.gate import Gate

    gate = Gate(f"viser-v{viser.__version__}")
    with contextlib.redirect_stdout(io.StringIO()), gate.before_viser():  # it would print a banner of its own
        server = viser.ViserServer(HOST, PORT if port is None else port, label=printable(title), verbose=False)
    if not gate.stands:
        close_server(server)
        raise ViewError("this version of viser opens pages in a way that cannot be guarded: pip install 'viser~=1.1'")
    _share_nothing(server)
    server.gate, gate.gui = gate, server.gui
    if own_light:
        _light(server.scene)
    server.gui.configure_theme(control_width="large", show_logo=False, show_share_button=False)
    server.gui.main_panel.dock_right()  # beside the body, not over it
    return server


def _share_nothing(server: Any) -> None:
    """viser would open a tunnel through a public server to whoever asks for it. Nobody can, see messages.py; nor is
    there anything to answer."""
    from viser import _messages

    for kind in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(kind)


def _light(scene: Any) -> None:
    """From above and from the left. viser's own light is a picture all around, which without a graphics card takes
    longer than all else; shadows would draw everything several times."""
    scene.configure_environment_map(None)
    scene.configure_default_lights(enabled=False)
    add_sky(scene)
    for name, side, intensity in (("sun", LIGHT, 2.0), ("lamp", LIGHT * (-1.0, -1.0, 0.5), 0.6)):
        scene.add_light_directional(f"/light/{name}", intensity=intensity, position=side, cast_shadow=False)


def add_sky(scene: Any) -> None:
    """Light from all sides, less from below."""
    scene.add_light_hemisphere("/light/sky", ground_color=(120, 120, 135), intensity=1.7, position=(0.0, 0.0, 1.0))


def close_server(server: Any) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def address(server: Any) -> str:
    """Of the page. Whoever has it may look and steer: see gate.py."""
    return f"http://{HOST}:{server.get_port()}/{server.gate.token}/"


class Stage:
    """A body in the scene of a page.

    Shapes are drawn in batches of many instances; of these, only those arrays are sent again that have changed.
    """

    def __init__(self, server: Any, picked: Callable[[int], None] | None = None) -> None:
        self.server = server
        self.model: Model | None = None
        self._parts: list[tuple[Batch, Node]] = []
        self._seen: tuple[list[Batch], Floats, Floats] | None = None  #: what clicks are on, from another thread
        self._visible = True
        self.missing: list[str] = []  #: what could not be drawn, and why
        self.by: By = "own"
        self.largest_error = 0.0
        self.rods: Floats | None = None  #: of the first model, where its scene says them
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
            placed = with_world(pose)
            self._seen = ([batch for batch, _ in self._parts], *placed)
            painted = paint(self.by, model.n_bodies, active, error, self.largest_error)
            for _, shown in self._parts:
                shown.show(*placed, painted)
        return pose

    def under(self, eye: Floats, ahead: Floats) -> int | None:
        """The body that a ray from the eye meets."""
        seen = self._seen
        return None if seen is None else pick(*seen, eye, ahead / np.linalg.norm(ahead))

    @property
    def visible(self) -> bool:
        return self._visible

    @visible.setter
    def visible(self, value: bool) -> None:
        self._visible = value
        for _, shown in self._parts:
            shown.handle.visible = value

    def _put(self, model: Model, pose: Poses) -> None:
        """Another model: its shapes, instead of those that are there."""
        for _, shown in self._parts:
            shown.handle.remove()
        first, self.model = self.model is None, model
        placed, scene = with_world(pose), self.server.scene
        made, self.missing = batches(model, bounds(pose.position)[1], self.rods if first else None)
        self._parts = [(b, node(scene, f"/body/{i}", b, *placed, self._visible)) for i, b in enumerate(made)]
        if first:
            reach = np.concatenate([b.corners(*placed) for b in made])
            self._look_at(reach, first_look(model), bool(np.any(model.gravity)))

    def _look_at(self, points: Floats, eye: Floats, floor: bool) -> None:
        centre, radius = bounds(points)
        camera = self.server.initial_camera
        camera.fov, camera.near, camera.far = FIELD, 2e-3 * radius, 200.0 * radius
        camera.position, camera.look_at = first_eye(eye, centre, points), centre
        if floor:
            lowest = float(points[:, 2].min())
            self.server.scene.add_grid(
                "/floor", width=4 * radius, height=4 * radius, position=(*centre[:2], lowest - 0.02 * radius),
                cell_size=_round(radius / 5), section_size=_round(radius),
            )  # fmt: skip


def bounds(points: Floats) -> tuple[Floats, float]:
    """The centre of a box around points, and the distance from there to its corners."""
    low, high = points.min(axis=0), points.max(axis=0)
    return 0.5 * (low + high), max(0.5 * float(np.linalg.norm(high - low)), 1e-3) * 1.05


def first_look(model: Model) -> Floats:
    """The direction from a body to where it is first looked at from: robots face along x."""
    return EYE * (-1.0, 1.0, 1.0) if model.visuals else EYE


def first_eye(ahead: Floats, centre: Floats, points: Floats) -> Floats:
    """The nearest place that way from which all points are in view, with a margin, if the page is wider than high."""
    ahead = ahead / np.linalg.norm(ahead)
    right = np.cross((0.0, 0.0, 1.0), ahead)
    right /= np.linalg.norm(right)
    seen = points - centre
    off = np.abs(seen @ np.stack([right, np.cross(ahead, right)], axis=1)).max(axis=1)
    least = bounds(points)[1]
    return np.asarray(centre + ahead * max(float((seen @ ahead + 1.1 * off / np.tan(FIELD / 2)).max()), least))


def _round(length: float) -> float:
    """A power of ten near a length."""
    return float(10.0 ** np.round(np.log10(length)))
