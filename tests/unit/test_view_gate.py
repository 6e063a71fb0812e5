"""Who gets into a page, without a browser: sockets and requests that say what they like."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import supple

pytest.importorskip("viser")

import viser
from websockets.exceptions import InvalidStatus

from pages import PROTOCOL, Client, knock, playing, until
from supple.viewing.stage import address, close_server, open_server

FOREIGN = "evil.example"


@pytest.fixture(scope="module")
def result() -> supple.Result:
    model = supple.trees.chain(3)
    return supple.simulate(model, np.full(model.nq, 0.5), dt=1e-3, duration=4e-3)


@pytest.fixture(scope="module")
def page(result: supple.Result) -> Iterator[tuple[str, Any]]:
    with playing(result) as shown:
        yield shown


def get(url: str, path: str, *headers: tuple[str, str]) -> tuple[int, bytes, Any]:
    """The status, the body and the headers of an answer to a request with these headers, and no others."""
    line = http.client.HTTPConnection(url.removeprefix("http://").partition("/")[0], timeout=30)
    try:
        line.putrequest("GET", path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers:
            line.putheader(name, value)
        line.endheaders()
        answer = line.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        line.close()


def parts(url: str) -> tuple[str, str, str]:
    """Host, port and token of an address."""
    here, _, token = url.removeprefix("http://").rstrip("/").partition("/")
    return here, here.partition(":")[2], token


WRONG_PATHS = ["/", "/index.html", "//", "/?{token}", "/x/{token}/", "/{half}/", "/{token}x/", "/{swapped}/", "{token}"]
WRONG_HEADERS = [
    [],
    [("Host", "")],
    [("Host", FOREIGN)],
    [("Host", "evil.example:{port}")],
    [("Host", "127.0.0.1.evil.example:{port}")],
    [("Host", "evil.example@127.0.0.1:{port}")],
    [("Host", "127.0.0.1:{port}/")],
    [("Host", "127.0.0.1:{port}"), ("Host", "evil.example")],
    [("Host", "127.0.0.1:{port}"), ("Origin", "http://evil.example")],
    [("Host", "127.0.0.1:{port}"), ("Origin", "null")],
    [("Host", "127.0.0.1:{port}"), ("Origin", "http://127.0.0.1:1")],
    [("Host", "127.0.0.1:{port}"), ("Origin", "http://localhost:{port}")],
    [("Host", "127.0.0.1:{port}"), ("Origin", "https://127.0.0.1:{port}")],
    [("Host", "127.0.0.1:{port}"), ("Origin", "http://127.0.0.1:{port}"), ("Origin", "http://evil.example")],
]


@pytest.mark.parametrize("path", WRONG_PATHS)
def test_page_without_its_token_is_refused(page: tuple[str, Any], path: str) -> None:
    here, _, token = parts(page[0])
    swapped = token.swapcase()
    assert swapped != token
    wrong = path.format(token=token, half=token[:-1], swapped=swapped)
    status, body, _ = get(page[0], wrong, ("Host", here))
    assert status >= 400 and len(body) < 200


def test_an_address_of_any_length_is_answered(page: tuple[str, Any]) -> None:
    here, _, token = parts(page[0])
    for path in ("a" * 5000, "a/" * 2500, "a" * 300, "a%00b", "a" * 10):
        status, body, _ = get(page[0], f"/{token}/{path}", ("Host", here))
        assert status == 404 and len(body) < 200, path


@pytest.mark.parametrize("headers", WRONG_HEADERS)
def test_page_for_another_host_or_origin_is_refused(page: tuple[str, Any], headers: list[tuple[str, str]]) -> None:
    _, port, token = parts(page[0])
    status, body, _ = get(page[0], f"/{token}/", *((name, value.format(port=port)) for name, value in headers))
    assert status >= 400 and len(body) < 200


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:9", "[::1]:{port}"])
def test_page_at_its_address_opens_and_stays_alone(page: tuple[str, Any], host: str) -> None:
    """Through `ssh -L`, too: its port is another."""
    _, port, token = parts(page[0])
    host = host.format(port=port)
    for more in ([], [("Origin", f"http://{host}")]):
        status, body, headers = get(page[0], f"/{token}/?a=b", ("Host", host), *more)
        assert status == 200 and b'<div id="root">' in body
        assert (headers["X-Frame-Options"], headers["Referrer-Policy"]) == ("DENY", "no-referrer")
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and f"ws://{host};" in policy
        assert "http:" not in policy and "*" not in policy


@pytest.mark.parametrize(
    "wrong",
    [
        {"path": ""},
        {"path": "/"},
        {"path": "/{half}"},
        {"host": "evil.example:80"},
        {"host": "127.0.0.1.evil.example"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:1"},
        {"protocol": "viser-v0.0.1"},
    ],
)
def test_socket_is_refused(page: tuple[str, Any], wrong: dict[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    url, player = page
    here, _, token = parts(url)
    if "path" in wrong:
        url = f"http://{here}{wrong['path'].format(half=token[:-1])}"
    before = player._panel.server._websock_server._client_state_from_id.copy()
    with pytest.raises(InvalidStatus, match="403"):
        knock(url, **{name: value for name, value in wrong.items() if name != "path"})
    assert player._panel.server._websock_server._client_state_from_id == before
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("origin", [None, "http://{here}"])
def test_socket_with_its_token_opens(page: tuple[str, Any], origin: str | None) -> None:
    url, player = page
    client = Client(url, origin=origin and origin.format(here=parts(url)[0]))
    assert client.socket.subprotocol == PROTOCOL
    assert len(client.socket.recv(timeout=30)) > 100
    until(lambda: player._panel.server.get_clients())
    client.close()
    until(lambda: not player._panel.server.get_clients())


def test_every_page_has_a_long_token_of_its_own() -> None:
    servers = [open_server(0) for _ in range(3)]
    try:
        tokens = {parts(address(server))[2] for server in servers}
        assert len(tokens) == 3 and min(map(len, tokens)) >= 22  # 128 bits
        assert {server.get_host() for server in servers} == {"127.0.0.1"}
        with pytest.raises(InvalidStatus):
            knock(f"http://{parts(address(servers[0]))[0]}/{parts(address(servers[1]))[2]}")
    finally:
        for server in servers:
            close_server(server)


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_nobody_waits_for_connections_in_reserve(said: bytes) -> None:
    """Browsers open some that they do not use, and keep others: of a page that is closed, nothing goes on."""
    server = open_server(0)
    with socket.create_connection((server.get_host(), server.get_port())) as line:
        line.sendall(said)
        until(lambda: server.gate._connections)
        close_server(server)
        assert not server._websock_server._server_thread.is_alive()


def test_whoever_knocks_with_something_else_is_not_heard(
    page: tuple[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    name, _, port = parts(page[0])[0].partition(":")
    tls = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + 300 * b"\x7f"
    for knocked in (tls, b"POST / HTTP/1.1\r\n\r\n", b"\r\n\r\n", b""):
        with socket.create_connection((name, int(port))) as line:
            line.sendall(knocked)
            line.shutdown(socket.SHUT_WR)
            line.settimeout(30)
            while line.recv(4096):
                pass
    assert capfd.readouterr() == ("", "")


def test_a_server_that_no_gate_is_before_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a viser to come served pages in some other way."""
    from supple.viewing import gate

    closed: list[Any] = []
    monkeypatch.setattr(gate.Gate, "stands", property(lambda self: False, lambda self, value: None), raising=False)
    monkeypatch.setattr(
        "supple.viewing.stage.close_server", lambda server: (closed.append(server), close_server(server))
    )
    with pytest.raises(supple.ViewError, match="guarded"):
        open_server(0)
    assert len(closed) == 1


def test_nobody_gets_a_tunnel(page: tuple[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    url, player = page
    asked: list[Any] = []
    monkeypatch.setattr(viser._viser, "ViserTunnel", lambda *where: asked.append(where))
    server = player._panel.server
    client = Client(url)
    for kind in ("ShareUrlRequest", "ShareUrlDisconnect", "ShareUrlRequest"):
        client.send({"type": kind})
    client.move(player._slider, 2)
    until(lambda: player._frame == 2)  # whatever was sent before has been dealt with
    client.move(player._slider, 0)
    until(lambda: player._frame == 0)
    client.close()
    assert asked == []
    handled = {kind.__name__ for kind in server._websock_server._incoming_handlers}
    assert not {name for name in handled if "Share" in name}
