"""What a page may ask for.

Whatever comes through a page's socket is looked at here, once, before viser acts on it. Three kinds of messages are
heeded: a control was moved, the camera was, the scene was clicked on. Numbers become finite ones within the range of
their control; what has the wrong type, lacks something, or belongs to no control is as if it had not been sent. Of the
rest of viser's messages (uploads, and asking for a public tunnel to this machine) none gets through.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from msgspec import MsgspecError, Struct, msgpack

LONGEST = 200  #: characters of a text
FAR = 1e12  #: the largest coordinate of a point
PIXELS = 100_000  #: of a picture's edge, at most

Three = tuple[float, float, float]
Four = tuple[float, float, float, float]


class Moved(Struct, tag_field="type", tag="GuiUpdateMessage"):
    """A control. viser would set any attribute of its own; here it is the value alone."""

    uuid: str
    updates: dict[str, Any]

    def clean(self, gui: Any) -> bool:
        control = gui._gui_input_handle_from_uuid.get(self.uuid)
        value = None if control is None else within(control, self.updates.get("value"))
        self.updates = {"value": value}
        return value is not None


class Camera(Struct, tag_field="type", tag="ViewerCameraMessage"):
    wxyz: Four
    position: Three
    fov: float
    near: float
    far: float
    image_height: float
    image_width: float
    look_at: Three
    up_direction: Three

    def clean(self, gui: Any) -> bool:
        points = (*self.wxyz, *self.position, *self.look_at, *self.up_direction)
        if not _near(*points, self.fov, self.near, self.far, self.image_height, self.image_width):
            return False
        self.fov = clamped(self.fov, 1e-3, 3.1)
        self.image_height = round(clamped(self.image_height, 1, PIXELS))
        self.image_width = round(clamped(self.image_width, 1, PIXELS))
        return True


class Clicked(Struct, tag_field="type", tag="ScenePointerMessage"):
    event_type: Literal["click"]
    ray_origin: Three
    ray_direction: Three
    screen_pos: tuple[tuple[float, float], ...]
    modifier: None = None

    def clean(self, gui: Any) -> bool:
        self.screen_pos = self.screen_pos[:1]
        ray = (*self.ray_origin, *self.ray_direction)
        return len(self.screen_pos) == 1 and _near(*ray, *self.screen_pos[0]) and math.hypot(*self.ray_direction) > 1e-3


_read = msgpack.Decoder(Moved | Camera | Clicked).decode


def heeded(raw: object, gui: Any) -> bytes | None:
    """A message that viser may act on; None: there is nothing to act on. gui: viser's, with its controls."""
    if gui is None or not isinstance(raw, bytes):
        return None
    try:
        message = _read(raw)
    except (MsgspecError, ValueError, TypeError, RecursionError):
        return None
    return msgpack.encode(message) if message.clean(gui) else None


def within(control: Any, value: Any) -> Any:
    """A value that a control can have, the nearest to this; None: it is none at all."""
    now = control.value
    if control.disabled:
        return None
    if hasattr(control, "options"):
        return value if isinstance(value, str) and value in control.options else None
    if isinstance(now, bool):
        return value if isinstance(value, bool) else None
    if isinstance(now, str):
        return value[:LONGEST] if isinstance(value, str) else None
    if not (isinstance(now, (int, float)) and type(value) in (int, float) and math.isfinite(value)):
        return None
    low, high = (end if x is None else x for x, end in ((control.min, -math.inf), (control.max, math.inf)))
    x = clamped(value, low, high)
    return round(x) if isinstance(now, int) else float(x)


def clamped(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


def _near(*numbers: float) -> bool:
    return all(abs(x) <= FAR for x in numbers)  # not so of NaN
