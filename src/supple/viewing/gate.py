"""Who is let into a page: whoever knows its address, from this machine.

viser asks nobody who they are: any web page that is open in a browser of this machine could read the scene and steer a
run. Here every request, for the page or for its socket, is looked at before viser sees it:

    token   the first part of the path, random and new for every page; the printed address has it, and viser's page
            opens its socket at its own path
    Host    must be a name of this machine; a foreign name that leads here (DNS rebinding) is refused
    Origin  must be the page itself, where a browser says it

and what is refused gets one sentence and nothing else. Answers forbid browsers to show the page inside another one, and
to fetch anything from anywhere else. What comes through the socket is looked at in messages.py.
"""

from __future__ import annotations

import inspect
import logging
import re
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from websockets.asyncio import server as sockets
from websockets.http11 import Request, Response
from websockets.protocol import OPEN

from supple.viewing.messages import heeded

HERE = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.ASCII | re.IGNORECASE)  #: of any port: ssh -L
LARGEST = 65_536  #: bytes of a message from a page
REFUSED = "This page opens only at the whole address that was printed, and only on this machine.\n"

#: What a page may load: what is in it, and its own socket. viser's is one script, which unpacks others.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; media-src data: blob:; worker-src blob: data:; "
    "connect-src 'self' data: blob:{socket}; base-uri 'none'; form-action 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

#: Of the socket's server: whoever knocks with something that is no request makes it log a traceback.
QUIET = logging.getLogger("supple.viewing.socket")
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False

_opening = threading.Lock()


class Gate:
    """Before one server. gui: viser's, once it is there; until then no message is heeded."""

    def __init__(self, protocol: str) -> None:
        """protocol: the socket's, as viser's page of this version says it."""
        self.token = secrets.token_urlsafe(24)
        self.gui: Any = None
        self._protocol, self.stands = protocol, False
        self._connections: set[sockets.ServerConnection] = set()

    @contextmanager
    def before_viser(self) -> Iterator[None]:
        """A server of viser that is made meanwhile is behind this gate; if it is, the gate stands."""

        def behind(handler: Any, *where: Any, **how: Any) -> Any:
            self.stands = True
            ask = self._ask(how.get("process_request"))
            more = {"create_connection": self._connection(), "max_size": LARGEST, "logger": QUIET}
            return serve(handler, *where, **how | {"process_request": ask} | more)

        with _opening:
            serve = sockets.serve
            sockets.serve = behind  # type: ignore[assignment,misc]
            try:
                yield
            finally:
                sockets.serve = serve  # type: ignore[misc]

    def inside(self, request: Request) -> str | None:
        """The path that is asked for, without the token; None: not let in."""
        hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
        if len(hosts) != 1 or HERE.fullmatch(hosts[0]) is None:
            return None
        if origins and (len(origins) > 1 or origins[0].lower() != f"http://{hosts[0].lower()}"):
            return None
        if "Upgrade" in request.headers and request.headers.get_all("Sec-WebSocket-Protocol") != [self._protocol]:
            return None
        _, _, path = request.path.partition("?")[0].partition("/")
        token, _, rest = path.partition("/")
        known = secrets.compare_digest(token.encode("utf-8", "surrogateescape"), self.token.encode())
        return f"/{rest}" if known else None

    def leave(self) -> None:
        """End connections that are no sockets: browsers hold some in reserve, and a server that closes waits for
        them."""
        for connection in list(self._connections):
            if connection.protocol.state is not OPEN:
                connection.loop.call_soon_threadsafe(connection.transport.abort)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _ask(self, viser: Callable[..., Any] | None) -> Callable[..., Any]:
        """What answers requests, instead of viser."""

        async def answer(connection: Any, request: Request) -> Response | None:
            path = self.inside(request)
            if path is None:
                return _closed(connection.respond(HTTPStatus.FORBIDDEN, REFUSED), "")
            request.path = path
            try:
                found = None if viser is None else viser(connection, request)
                found = await found if inspect.isawaitable(found) else found
            except (OSError, ValueError):  # no file can have such a name
                return _closed(connection.respond(HTTPStatus.NOT_FOUND, "There is no such page.\n"), "")
            return None if found is None else _closed(found, f" ws://{request.headers['Host']}")

        return answer

    def _connection(self) -> type[sockets.ServerConnection]:
        gate = self

        class Connection(sockets.ServerConnection):
            """Of what comes in, viser gets what it may act on, and nothing else."""

            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                gate._connections.add(self)

            def connection_lost(self, exc: Exception | None) -> None:
                gate._connections.discard(self)
                super().connection_lost(exc)

            async def recv(self, decode: bool | None = None) -> Any:
                while (message := heeded(await super().recv(decode), gate.gui)) is None:
                    pass
                return message

        return Connection


def _closed(response: Response, socket: str) -> Response:
    """An answer that no other page can use."""
    for name, value in HEADERS.items():
        response.headers[name] = value
    response.headers["Content-Security-Policy"] = POLICY.format(socket=socket) + "; frame-ancestors 'none'"
    return response
