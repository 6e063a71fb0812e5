"""The page in a real Chromium that has hostile pages open, too: they get nothing; and names that would be markup."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from viser import __version__ as version

import supple
from browser import Browser, chromium
from pages import playing, until

REBOUND = "rebound.test"  #: a name that leads to this machine, as whoever owns a name can arrange

#: Whatever a page can do to another one: what it got is said, by what it tried.
ATTACK = """async ([there, host, protocol]) => {
    const got = {};
    const tries = async (name, what) => {
        try { got[name] = await Promise.race([what(), new Promise(done => setTimeout(done, 3000, "nothing"))]); }
        catch (e) { got[name] = "refused"; }
    };
    const socket = url => new Promise((done, failed) => {
        const s = new WebSocket(url, [protocol]);
        s.onopen = () => done("open");
        s.onmessage = () => done("a message");
        s.onerror = failed;
    });
    const loaded = (tag, what) => new Promise((done, failed) => {
        const e = Object.assign(document.createElement(tag), what, {onload: () => done("loaded"), onerror: failed});
        document.body.append(e);
    });
    const all = [];
    for (const [kind, url] of [["root", `http://${host}/`], ["page", there]]) all.push(
        tries(`fetch of the ${kind}`, async () => (await fetch(url)).status),
        tries(`known ${kind}`, async () => (await fetch(url, {credentials: "include"})).status),
        tries(`post to the ${kind}`, async () => (await fetch(url, {method: "POST", body: "x"})).status),
        tries(`blind fetch of the ${kind}`, async () => (await fetch(url, {mode: "no-cors"})).type),
        tries(`script of the ${kind}`, () => loaded("script", {src: url})),
        tries(`style of the ${kind}`, () => loaded("link", {rel: "stylesheet", href: url})),
        tries(`picture of the ${kind}`, () => loaded("img", {src: url})),
        tries(`socket of the ${kind}`, () => socket(url.replace("http", "ws").replace(/[/]$/, ""))),
        tries(`frame of the ${kind}`, async () => {
            const frame = document.createElement("iframe");
            document.body.append(Object.assign(frame, {src: url}));
            await new Promise(done => frame.onload = done);
            return frame.contentDocument ? frame.contentDocument.title : "nothing";
        }),
    );
    all.push(tries("window", async () => {
        const w = window.open(there);
        await new Promise(done => setTimeout(done, 1500));
        return w && !w.closed ? w.document.title : "nothing";
    }));
    await Promise.all(all);
    return got;
}"""


class Foreign(ThreadingHTTPServer):
    """Another server of this machine: other people's pages. It remembers what it is asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Page)
        self.asked: list[str] = []

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        body = b"<!doctype html><title>foreign</title><body>foreign</body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *what: Any) -> None:
        pass


@contextmanager
def foreign() -> Iterator[Foreign]:
    server = Foreign()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    rule = f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1"
    with chromium(tmp_path_factory.mktemp("profile"), rule, "--disable-popup-blocking") as context:
        yield context


def result_of(names: list[str]) -> supple.Result:
    b = supple.ModelBuilder("names")
    for i, name in enumerate(names):
        b.add_body(name, i - 1 if i else None, position=(0.0, 0.0, -0.5), axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.25))
    model = b.build()
    return supple.simulate(model, np.full(model.nq, 0.5), dt=1e-3, duration=4e-3)


def test_page_of_another_origin_gets_nothing(context: Any) -> None:
    """Not even one that was told the address."""
    with playing(result_of(["a", "b"])) as (url, player), foreign() as other:
        server, host = player._panel.server, url.split("/")[2]
        player._play.playing = False  # the page itself, which the other may open, would begin to play
        opened: list[Any] = []
        server._websock_server.on_client_connect(lambda client: opened.append(client))
        for name in ("127.0.0.1", REBOUND):
            page = context.new_page()
            page.goto(f"http://{name}:{other.port}/")
            got = page.evaluate(ATTACK, [url, host, f"viser-v{version}"])
            assert set(got.values()) <= {"refused", "nothing"}, (name, got)
            inside = [frame.evaluate("document.body ? document.body.innerText : ''") for frame in page.frames[1:]]
            assert len(inside) == 2 and not any("frame" in text or "time" in text for text in inside)
            windows = [p for p in context.pages if p.url.startswith(url)]
            for p in windows:  # the page itself, as if its address had been typed, and out of reach of who opened it
                p.close()
            page.close()
            until(lambda: not server.get_clients())
            assert len(opened) <= len(windows), name
            opened.clear()
        assert player._slider.value == 0

        right = Browser(context)  # and the right address works in the same browser
        right.open(url)
        right.wait(lambda: "time" in right.numbers())
        assert len(opened) > 0
        right.page.close()


def test_name_that_leads_here_is_refused(context: Any) -> None:
    """DNS rebinding: the browser takes the page for one of that name's owner, who may then read it."""
    with playing(result_of(["a", "b"])) as (url, player):
        page = context.new_page()
        answer = page.goto(url.replace("127.0.0.1", REBOUND))
        assert answer.status == 403
        assert "whole address" in page.locator("body").inner_text()
        assert page.evaluate("async () => (await fetch('/')).status") == 403
        page.close()
        assert not player._panel.server.get_clients()


def test_names_are_text(context: Any, tmp_path: Path) -> None:
    from supple.viewing.export import export_html

    with foreign() as other:
        there = f"http://127.0.0.1:{other.port}"
        names = [
            f"![]({there}/markdown.png)",
            f'<img src="{there}/html.png" onerror="document.title=1">',
            f"<script>fetch('{there}/script')</script>",
            f"</td></table><iframe src={there}/frame></iframe>",
            f"a\x1b]0;title\x07|`b` **c** &lt; &amp; {there}/link",
            f"<style>@import '{there}/style';</style>",
        ]
        shown = [name.replace("\x1b", "\\x1b").replace("\x07", "\\x07") for name in names]
        result = result_of(names)
        with playing(result) as (url, _):
            browser = Browser(context)
            browser.open(url)
            browser.wait(lambda: browser.page.get_by_label("show links").count() == 1)
            box = browser.page.get_by_role("textbox").nth(2)  # after the frame and the speed
            for i, name in enumerate(shown):
                box.fill(str(i))
                box.press("Enter")
                said = f"{name}, number {i}"
                browser.wait(lambda said=said: browser.numbers(-1).get("body") == said)
                assert browser.numbers(-1)["on"] == ("the world" if i == 0 else shown[i - 1])
            for wrong in (f"![]({there}/wrong.png)", f"<img src={there}/wrong.png onerror=document.title=1>"):
                box.fill(wrong)
                box.press("Enter")
                browser.wait(lambda wrong=wrong: f"There is no body, shape or frame '{wrong}'." in browser.text())
            assert browser.page.locator(f"[src*=':{other.port}/'], [href*=':{other.port}/']").count() == 0
            title = browser.page.title()
            blocked = "async url => { try { await fetch(url); return 'fetched'; } catch (e) { return 'refused'; } }"
            assert browser.page.evaluate(blocked, f"{there}/policy") == "refused"  # whatever else is forgotten
            browser.page.close()
        browser = Browser(context)
        browser.open(export_html(result, tmp_path / "run.html").as_uri())
        assert browser.page.evaluate(blocked, f"{there}/exported") == "refused"
        browser.page.close()
        assert other.asked == []
        assert title not in ("1", "title")
