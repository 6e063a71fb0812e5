"""The page: a body drawn in it, and what can be picked."""

from __future__ import annotations

import contextlib
import io
import socket
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import ViewError, printable
from supple.exact.answers import Poses
from supple.exact.kinematics import poses
from supple.model.geometry import quaternion_from_rotation
from supple.model.model import Model
from supple.simulating.state import State
from supple.viewing.batch import Batch, with_world
from supple.viewing.camera import bounds, reach
from supple.viewing.colours import PLANE, By, Entry, paint
from supple.viewing.light import add_lights
from supple.viewing.nodes import Node, Things, node
from supple.viewing.picking import pick
from supple.viewing.scenery import CELLS, Ground, Scenery, ground_of, nice
from supple.viewing.shapes import batches

Floats = NDArray[np.float64]

HOST, PORT = "127.0.0.1", 8080

LINES = (222, 222, 222), (180, 180, 180)  #: of the ground's grid
#: On a phone the panel would lie over the picture: there, the picture is above it. (viser's elements have no names.)
ON_PHONES = """<style>@media (max-width: 36em) {
    div:has(> div > canvas) { height: 52dvh !important }
    div[class*=Paper-root]:has(> div > div > div > [class*=Collapse]), div[class*=Paper-root][style*="60%"] {
        width: 100vw !important; max-height: 48dvh !important }
    div[class*=Paper-root][style*="60%"] div[style*="20em"] { width: 100vw !important }
}</style>"""


def open_server(port: int | None = None, title: str = "Supple") -> Any:
    """viser's server, to be reached from this machine only, at `address`. port: None takes the first free one from
    8080 on, 0 any."""
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
    server.gate, gate.gui = gate, server.gui
    if not gate.stands:
        close_server(server)
        raise ViewError("this version of viser opens pages in a way that cannot be guarded: pip install 'viser~=1.1'")
    # whoever closes a page does so between any two messages to it
    warnings.filterwarnings("ignore", "Queued a .* on a closed connection", UserWarning)
    _share_nothing(server)
    _arrange(server)
    return server


def clear(server: Any) -> None:
    """An empty page, for something else to be shown in it."""
    server.gui.reset()
    server.scene.reset()
    _arrange(server)


def _arrange(server: Any) -> None:
    server.gui.configure_theme(control_width="large", show_logo=False, show_share_button=False)
    server.gui.main_panel.dock_right()  # beside the body, not over it


def _share_nothing(server: Any) -> None:
    """viser would open a tunnel through a public server to whoever asks for it. Nobody can, see messages.py; nor is
    there anything to answer."""
    from viser import _messages

    for kind in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(kind)


def close_server(server: Any) -> None:
    server.gate.leave()
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def address(server: Any) -> str:
    """Of the page. Whoever has it may look and steer: see gate.py."""
    return f"http://{HOST}:{server.get_port()}/{server.gate.token}/"


class Stage:
    """A body in the scene of a page, and what is around it.

    Shapes are drawn in batches of many instances; of these, only those arrays are sent again that have changed.
    """

    def __init__(self, server: Any, picked: Callable[[int], None] | None = None) -> None:
        self.server = server
        self.model: Model | None = None
        self._parts: list[tuple[Batch, Node]] = []
        self._things: list[Things] = []
        self._seen: tuple[list[Batch], Floats, Floats] | None = None  #: what clicks are on, from another thread
        self._visible = True
        self.missing: list[str] = []  #: what could not be drawn, and why
        self.by: By = "own"
        self.largest_error = 0.0
        self.rods: Floats | None = None  #: of the first model, where its scene says them
        self.scenery = Scenery(())
        self.push_scale, self._time = 1.0, 0.0
        self.picked: int | None = None  #: the body that stands out
        if picked is not None:

            @server.scene.on_click()
            def _(event: Any) -> None:
                body = self.under(np.array(event.ray_origin), np.array(event.ray_direction))
                if body is not None:
                    picked(body)

    def show(self, state: State) -> Poses:
        """Draw a state."""
        self._time, model = state.time, state.model
        pose = poses(model, state.q)
        with self.server.atomic():
            if model is not self.model:
                self._put(model, pose)
            placed = with_world(pose)
            self._seen = ([b for b, _ in self._parts], *placed)
            painted = paint(self.by, state, self.largest_error)
            for _, shown in self._parts:
                shown.show(*placed, painted, self.picked)
            around = self.scenery.batches(model, pose, self._time, self.push_scale)
            for thing in self._things:
                thing.show(around[thing.name])
        return pose

    def reach(self, pose: Poses) -> Floats:
        """(k, 3) how far what is drawn reaches, where the bodies of the model are so."""
        assert self.model is not None
        around = self.scenery.batches(self.model, pose, self._time, self.push_scale)
        return reach([b for b in (*(b for b, _ in self._parts), *around.values()) if len(b)], pose)

    @property
    def acts(self) -> list[Entry]:
        """What there is of the scenery, for the legend."""
        return self.scenery.legend(thing.name for thing in self._things if thing.some)

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
        made, self.missing = batches(model, pose, self.rods if first else None)
        self._parts = [(b, node(scene, f"/body/{i}", b, *placed, self._visible)) for i, b in enumerate(made)]
        for thing in self._things:
            thing.remove()
        around = self.scenery.batches(model, pose, self._time, self.push_scale)
        self._things = [Things(scene, name, batch) for name, batch in around.items()]

    def set_scene(self, model: Model, points: Floats, back: Floats) -> Ground | None:
        """Light and ground for a motion. points: all that it reaches. back: towards the eye that looks first."""
        add_lights(self.server.scene, back)
        ground = ground_of(self.scenery.ground, model, points)
        if ground is not None:
            self._add_ground(ground, *bounds(points))
        return ground

    def _add_ground(self, ground: Ground, centre: Floats, radius: float) -> None:
        scene, at = self.server.scene, ground.below(centre)
        wxyz = quaternion_from_rotation(ground.turn)[[3, 0, 1, 2]]
        plane = {"plane_color": PLANE, "plane_opacity": 1.0} if ground.real else {}
        cell = nice(radius / CELLS)
        scene.add_grid(
            "/floor", width=6.0 * radius, height=6.0 * radius, position=at, wxyz=wxyz, cell_size=cell,
            section_size=5.0 * cell, cell_color=LINES[0], section_color=LINES[1], **plane,
        )  # fmt: skip
