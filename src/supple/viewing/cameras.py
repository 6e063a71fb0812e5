"""The cameras of those who look at a page: where they begin, and the buttons that move them."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from typing import Any

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


class Cameras:
    """points: the outermost of the motion. Pages ask from threads of their own; they only touch their own camera."""

    def __init__(self, server: Any, gui: Any) -> None:
        self._server = server
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
            for client in self._server.get_clients().values():
                camera = client.camera
                camera.position = np.asarray(camera.position) + step

    @property
    def following(self) -> bool:
        return self._following

    def _clicked(self, event: Any) -> None:
        button = self._buttons.value
        if button in (FOLLOW, STAY):
            self._follow(button == FOLLOW)
        elif event.client is not None:
            if button == RESET:
                self._follow(False)
                self._home(event.client)
            else:
                camera = event.client.camera
                self._look(event.client, np.asarray(camera.position) - np.asarray(camera.look_at))

    def _follow(self, value: bool) -> None:
        self._following = value
        self._buttons.options = (FIT, STAY if value else FOLLOW, RESET)

    def _met(self, client: Any) -> None:
        """Somebody who has opened the page. Its picture changes its form when the panel comes, or a phone is turned: as
        long as nobody has moved the camera from where it was put, all is to be in it."""
        if self._server.cameras is not self:
            return
        first = self._server.initial_camera, client.camera
        put = [np.array(camera.position) for camera in first]  # what is under way may still say these
        aspect = 0.0

        def fit_again() -> None:
            nonlocal aspect
            aspect = float(client.camera.aspect)
            self._home(client)
            put.append(np.array(client.camera.position))

        @client.camera.on_update
        def _(event: Any) -> None:
            other = abs(client.camera.aspect - aspect) > 0.01 * aspect
            if (
                self._server.cameras is self
                and other
                and any(np.allclose(client.camera.position, eye, rtol=1e-3) for eye in put)
            ):
                fit_again()

        fit_again()

    def _home(self, client: Any) -> None:
        self._look(client, self._back)

    def _look(self, client: Any, back: Floats) -> None:
        length = float(np.linalg.norm(back))
        aspect = float(np.clip(client.camera.aspect, 0.1, 10.0))  # which a page says
        view: View = fit(self.points, back / length if length > 1e-9 else self._back, aspect)
        radius = bounds(self.points)[1]
        with client.atomic(), suppress(ValueError):  # of what a page says of its camera meanwhile
            client.camera.near, client.camera.far = 2e-3 * radius, 200.0 * radius
            client.camera.fov = FIELD
            client.camera.up_direction = (0.0, 0.0, 1.0)
            client.camera.position = view.eye
            client.camera.look_at = view.target
