"""The page in a real Chromium: what is drawn, sought, moved and picked; nothing is asked of another host."""

from __future__ import annotations

import hashlib
import io
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import supple
from supple import scenes
from supple.simulating.run import follow
from supple.view import shapes

pytest.importorskip("viser")
playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("no Chromium here", allow_module_level=True)

FLAGS = [
    "--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--use-gl=angle", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]  # fmt: skip
WIDTH, HEIGHT = 900, 480
SCENE = {"x": 0, "y": 0, "width": 480, "height": HEIGHT}  # what the panel does not cover
LINKS, ACTIVE_JOINTS, FRAMES = 2000, 60, 5
PATIENCE = 60.0  # seconds, before something that does not come is a failure


@pytest.fixture(autouse=True)
def simple_rods(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of larger bodies: there is no graphics card here."""
    monkeypatch.setattr(shapes, "SIMPLY", 0)


@pytest.fixture(scope="module")
def run() -> supple.Result:
    scene = scenes.molecule(LINKS)
    push = supple.Push(LINKS - 1, (0.0, 40.0, 150.0))
    how = dict(method="adaptive", active=ACTIVE_JOINTS, dt=scene.dt, every=20, forces=[push])
    return supple.simulate(scene.model, scene.q0, duration=20 * (FRAMES - 1) * scene.dt, **how)  # type: ignore[arg-type]


class Browser:
    """A page, and the addresses that it asked for."""

    def __init__(self, context: Any) -> None:
        self.asked: list[str] = []
        self.page = context.new_page()
        context.on("request", lambda request: self.asked.append(request.url))
        self.page.on("websocket", lambda socket: self.asked.append(socket.url))
        self.page.set_default_timeout(1000 * PATIENCE)

    def open(self, url: str) -> None:
        self.page.goto(f"{url}?fixedDpr=1")  # or it would draw more coarsely where it is slow
        # a remark of viser's on slow graphics is orange, too
        self.page.add_style_tag(content="[class*=Notification] { display: none !important }")
        self.page.wait_for_selector("canvas")

    def picture(self) -> Any:
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.page.screenshot(clip=SCENE))).convert("RGB")).astype(int)

    def active_pixels(self) -> int:
        return int(is_active(self.picture()).sum())

    def hash(self) -> str:
        return hashlib.sha256(self.picture().tobytes()).hexdigest()

    def settled(self) -> str:
        """The hash of a picture that has become still."""
        last = ""
        for _ in range(40):
            now = self.hash()
            if now == last:
                return now
            last = now
        raise AssertionError("the picture does not become still")

    def wait(self, what: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not what():
            assert time.monotonic() < end, f"it did not come: {self.page.locator('table').first.inner_text()!r}"
            self.page.wait_for_timeout(50)

    def numbers(self, table: int = 0) -> dict[str, str]:
        rows = self.page.locator("table").nth(table).inner_text().split("\n")
        return dict(row.split("\t", 1) for row in rows if "\t" in row)

    def elsewhere(self) -> list[str]:
        """What was asked of other hosts."""
        here = ("http://127.0.0.1:", "ws://127.0.0.1:", "blob:", "data:", "file:")
        return [url for url in self.asked if not url.startswith(here)]


def is_active(x: Any) -> Any:
    """Of the reserved colour, in light and shade: an orange that is in nothing else."""
    r, g, b = x[..., 0], x[..., 1], x[..., 2]
    return (r > 110) & (g < 0.75 * r) & (b < 0.45 * r)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with playwright.sync_playwright() as p:
        folder = tmp_path_factory.mktemp("profile")
        view = {"width": WIDTH, "height": HEIGHT}
        context = p.chromium.launch_persistent_context(folder, executable_path=CHROMIUM, args=FLAGS, viewport=view)
        yield Browser(context)
        context.close()


@contextmanager
def playing(result: supple.Result) -> Iterator[str]:
    from supple.view.player import Player
    from supple.view.stage import address, close_server, open_server

    server = open_server(0)
    player = Player(server, result, scenes.molecule(LINKS).rods)
    thread = threading.Thread(target=player.run)
    thread.start()
    try:
        yield address(server)
    finally:
        player.stop()
        thread.join()
        close_server(server)


def test_recording_is_drawn_sought_and_picked(browser: Browser, run: supple.Result) -> None:
    with playing(run) as url:
        browser.open(url)
        browser.wait(lambda: browser.page.get_by_label("show links").count() == 1)
        seek = browser.page.get_by_role("textbox").first
        assert browser.numbers()["active joints"] == f"0 of {LINKS}"  # before the first step

        def at(frame: int) -> str:
            before = browser.hash()
            seek.fill(str(frame))
            seek.press("Enter")
            browser.wait(lambda: browser.numbers()["time"] == f"{run.times[frame]:.6g} s")
            browser.wait(lambda: browser.hash() != before)
            return browser.settled()

        last = at(FRAMES - 1)
        assert browser.numbers()["active joints"] == f"{len(run[FRAMES - 1].active)} of {LINKS}"  # type: ignore[arg-type]
        browser.wait(lambda: browser.active_pixels() > 50)
        middle = at(FRAMES // 2)
        assert middle != last
        assert at(FRAMES - 1) == last

        orange = is_active(browser.picture())
        crowded = sum(np.roll(orange, (i, j), (0, 1)).astype(int) for i in range(-2, 3) for j in range(-2, 3))
        y, x = np.unravel_index(int(np.argmax(crowded * orange)), orange.shape)
        browser.page.mouse.click(int(x), int(y))
        browser.wait(lambda: "joint" in browser.numbers(-1))
        picked = int(browser.numbers(-1)["body"].rpartition(" ")[2])
        assert browser.numbers(-1)["now"] == "active"
        assert picked in run[FRAMES - 1].active  # type: ignore[operator]

        shown = browser.page.get_by_label("show links")
        shown.uncheck()
        browser.wait(lambda: browser.active_pixels() == 0)
        shown.check()
        browser.wait(lambda: browser.active_pixels() > 50)
    assert browser.elsewhere() == []


def test_live_run_takes_another_number_of_active_joints(browser: Browser) -> None:
    from supple.view.live import Live
    from supple.view.stage import address, close_server, open_server

    scene = scenes.molecule(LINKS)
    going = supple.simulation(scene.model, scene.q0, method="adaptive", active=20, dt=1e-3, forces=scene.all_forces())
    server = open_server(0)
    live = Live(server, going, scene.rods)
    thread = threading.Thread(target=follow, args=(going,), kwargs={"watch": live.look, "keep": False})
    try:
        thread.start()
        browser.open(address(server))
        browser.wait(lambda: browser.numbers().get("active joints") == f"20 of {LINKS}")
        browser.page.get_by_role("slider").first.focus()
        for _ in range(7):
            browser.page.keyboard.press("ArrowRight")
        browser.wait(lambda: browser.numbers()["active joints"] == f"27 of {LINKS}")
        browser.page.get_by_label("follow the camera").check()
        browser.wait(lambda: live._camera is not None)
    finally:
        going.cursor.halt = True
        thread.join()
        close_server(server)
    assert going.stepper.active == 27
    assert np.ptp(going.stepper._weights.values) > 0  # those of a camera differ from joint to joint
    assert browser.elsewhere() == []


def test_exported_page_needs_nothing_else(browser: Browser, run: supple.Result, tmp_path: Path) -> None:
    from supple.view.export import export_html

    rods = scenes.molecule(LINKS).rods
    coloured = export_html(run, tmp_path / "run.html", rods=rods, frames=3)
    plain = export_html(run, tmp_path / "plain.html", rods=rods, frames=1, by="own")
    browser.page.goto("about:blank")  # the page before this one would look for its server again
    browser.asked.clear()
    browser.open(coloured.as_uri())
    browser.wait(lambda: browser.active_pixels() > 50)
    first = browser.hash()
    browser.wait(lambda: browser.hash() != first)  # it plays
    browser.open(plain.as_uri())
    browser.wait(lambda: int((browser.picture() < 200).all(axis=-1).sum()) > 50)
    assert browser.active_pixels() == 0
    assert {url.partition(":")[0] for url in browser.asked} <= {"file", "blob", "data"}
