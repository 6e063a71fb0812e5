"""The cameras of those who look at a page: where they begin, and the buttons that move them."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from supple.viewing.camera import FIELD, View, bounds, fit

Floats = NDArray[np.float64]

USUAL = 1.1  #: width by height of the picture in a page, until somebody opens it
FIT, FOLLOW, STAY, RESET = "Fit", "Follow", "Stay", "Reset"
HINT = "Fit: all of the motion in the picture. Follow: move with the body (Stay: no more). Reset: look as at first."
#: In so many directions the outermost points are kept of all that is ever drawn: they need the most room.
_WAYS = np.array([d for d in product((-1.0, -0.5, 0.0, 0.5, 1.0), repeat=3) if any(d)])
DIRECTIONS = _WAYS / np.linalg.norm(_WAYS, axis=1)[:, None]


def extremes(points: Floats) -> Floats:
    """The points that are outermost in some direction."""
    return np.asarray(points[np.unique(np.argmax(points @ DIRECTIONS.T, axis=0))])


def is_at(position: Floats, view: View) -> bool:
    """Whether a camera is where it was put: a page says so to a few roundings."""
    return bool(np.linalg.norm(position - view.eye) <= 1e-5 * np.linalg.norm(view.eye - view.target))


def form(camera: Any) -> float:
    """A picture's width by its height, as a page says it."""
    return float(np.clip(camera.aspect, 0.1, 10.0))


class Put(NamedTuple):
    """Where the camera of a page was put last: in which direction from the motion, and for a picture of which form."""

    view: View
    back: Floats
    aspect: float


class Cameras:
    """points: the outermost of the motion.

    What a page says of its camera is late: it may not have had yet what was sent to it, and viser takes its word. So
    cameras are touched in one thread alone, viser's own, in which their messages arrive: nothing comes in between, and
    what is sent last was found from what was heard last.
    """

    def __init__(self, server: Any, gui: Any) -> None:
        self._server = server
        self._put: WeakKeyDictionary[Any, Put] = WeakKeyDictionary()  #: of each page
        self.points = np.zeros((1, 3))
        self._back = np.array([1.0, 0.0, 0.0])
        self._following, self._centre = False, np.zeros(3)
        self._buttons = gui.add_button_group("camera", (FIT, FOLLOW, RESET), hint=HINT)
        self._buttons.on_click(self._clicked)

    def begin(self, points: Floats, back: Floats) -> None:
        """All that is to be in the first picture, and from where."""
        self.points, self._back = extremes(points), back
        view, radius = fit(self.points, back, USUAL), bounds(self.points)[1]
        camera = self._server.initial_camera
        camera.fov, camera.near, camera.far = FIELD, 2e-3 * radius, 200.0 * radius
        camera.position, camera.look_at = view
        self._server.cameras = self  # instead of those of what was shown before
        self._server.on_client_connect(self._met)

    def more(self, points: Floats) -> None:
        """Further points of the motion; the buttons know them from now on."""
        self.points = extremes(np.concatenate([self.points, points]))

    def moved(self, centre: Floats) -> None:
        """Where the body is now: cameras that follow it move as much."""
        step, self._centre = centre - self._centre, centre
        if self._following and np.any(step):
            with suppress(RuntimeError):  # the server was closed meanwhile
                self._server.get_event_loop().call_soon_threadsafe(self._move, step)

    def _move(self, step: Floats) -> None:
        if self._following:  # still
            for client in self._server.get_clients().values():
                camera = client.camera
                camera.position = np.asarray(camera.position) + step

    @property
    def following(self) -> bool:
        return self._following

    async def _clicked(self, event: Any) -> None:
        button = self._buttons.value
        if button in (FOLLOW, STAY):
            self._follow(button == FOLLOW)
        elif event.client is not None:
            if button == RESET:
                self._follow(False)
                self._look(event.client, self._back)
            else:
                camera = event.client.camera
                self._look(event.client, np.asarray(camera.position) - np.asarray(camera.look_at))

    def _follow(self, value: bool) -> None:
        self._following = value
        self._buttons.options = (FIT, STAY if value else FOLLOW, RESET)

    async def _met(self, client: Any) -> None:
        """Somebody who has opened the page."""
        if self._server.cameras is not self:
            return

        @client.camera.on_update
        async def _(_: Any) -> None:
            self._told(client)

        self._look(client, self._back)

    def _told(self, client: Any) -> None:
        """Where a page says that its camera is. Its picture changes its form when the panel comes, or a phone is
        turned: as long as nobody has moved the camera from where it was put, all is to be in it."""
        if self._server.cameras is not self:
            return
        put, first = self._put[client], self._server.initial_camera
        position = np.asarray(client.camera.position)
        if is_at(position, put.view):
            if abs(form(client.camera) - put.aspect) > 0.01 * put.aspect:
                self._look(client, put.back)
        elif is_at(position, View(first.position, first.look_at)):  # a page may go there later than it is put elsewhere
            self._look(client, self._back)

    def _look(self, client: Any, back: Floats) -> None:
        length, aspect = float(np.linalg.norm(back)), form(client.camera)
        back = back / length if length > 1e-9 else self._back
        view, radius = fit(self.points, back, aspect), bounds(self.points)[1]
        self._put[client] = Put(view, back, aspect)
        camera = client.camera
        with client.atomic(), suppress(ValueError):  # of what a page says of its camera
            camera.near, camera.far = 2e-3 * radius, 200.0 * radius
            camera.fov = FIELD
            camera.up_direction = (0.0, 0.0, 1.0)
            # To a camera that was last heard to be there viser sends nothing, though what is under way may move it
            # yet. So somewhere else first; the page gets the last of both.
            camera.position = view.eye + (1.0 + np.linalg.norm(view.eye))
            camera.position = view.eye
            camera.look_at = view.target
