"""Pages that are open: recordings that are shown, runs that go on, and a client that says what it likes."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import viser
from websockets.sync.client import ClientConnection, connect

import supple
from supple.simulating.run import follow


@contextmanager
def playing(result: supple.Result, rods: Any = None) -> Iterator[tuple[str, Any]]:
    """A result that is shown, until it is left; its address, and what shows it."""
    from supple.viewing.player import Player
    from supple.viewing.stage import address, close_server, open_server

    server = open_server(0)
    player = Player(server, result, rods)
    thread = threading.Thread(target=player.run)
    thread.start()
    try:
        yield address(server), player
    finally:
        player.stop()
        thread.join()
        close_server(server)


@contextmanager
def going(run: supple.Simulation, rods: Any = None) -> Iterator[tuple[str, Any]]:
    """A run that is shown, until it is left; its address, and what shows it."""
    from supple.viewing.live import Live
    from supple.viewing.stage import address, close_server, open_server

    server = open_server(0)
    live = Live(server, run, rods)
    thread = threading.Thread(target=follow, args=(run,), kwargs={"watch": live.look, "keep": False})
    thread.start()
    try:
        yield address(server), live
    finally:
        run.cursor.halt = True
        thread.join()
        close_server(server)


def until(what: Callable[[], Any]) -> None:
    """Waits for something that comes."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


PATIENCE = 60.0  # seconds, before something that does not come is a failure
PROTOCOL = f"viser-v{viser.__version__}"
CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [3.0, 0.0, 0.0], "fov": 1.0, "near": 0.01,
    "far": 1000.0, "image_height": 320, "image_width": 360, "look_at": [0.0, 0.0, 0.0], "up_direction": [0.0, 0.0, 1.0],
}  # fmt: skip


class Client:
    """A page that need not be one of ours: it sends what it is given."""

    def __init__(self, url: str, **how: Any) -> None:
        self.socket = knock(url, **how)
        self.send(CAMERA)  # viser knows a client from here on

    def send(self, message: Any) -> None:
        self.socket.send(message if isinstance(message, (bytes, str)) else msgspec.msgpack.encode(message))

    def move(self, control: Any, value: Any) -> None:
        self.send({"type": "GuiUpdateMessage", "uuid": control._impl.uuid, "updates": {"value": value}})

    def close(self) -> None:
        self.socket.close()


def knock(url: str, host: str | None = None, origin: Any = None, protocol: str = PROTOCOL) -> ClientConnection:
    """A socket, if it opens. host: what the request says, wherever it is sent to."""
    there = url.removeprefix("http://").rstrip("/")
    real, _, path = there.partition("/")
    name, _, port = real.partition(":")
    line = socket.create_connection((name, int(port)))
    try:
        how: dict[str, Any] = {"max_size": None, "max_queue": None}  # nobody reads what it gets
        return connect(f"ws://{host or real}/{path}", sock=line, origin=origin, subprotocols=[protocol], **how)
    except BaseException:
        line.close()
        raise
