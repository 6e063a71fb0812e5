"""The page in a real Chromium: what is drawn, played, sought, moved and picked; nothing is asked of another host."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import signal
import subprocess
import sys
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
WIDTH, HEIGHT, SCENE_WIDTH = 744, 320, 360  # the panel is beside the scene
SCENE = {"x": 0, "y": 0, "width": SCENE_WIDTH, "height": HEIGHT}
COMMAND = [sys.executable, "-c", "from supple.cli import main; main()"]
LINKS, ACTIVE_JOINTS, FRAMES = 2000, 60, 5
PATIENCE = 90.0  # seconds, before something that does not come is a failure


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


TURNS = """() => new Promise(done => {
    let left = 8;
    const turn = () => --left ? requestAnimationFrame(turn) : done();
    requestAnimationFrame(turn);
})"""


class Browser:
    """A page, and the addresses that it asked for."""

    def __init__(self, context: Any) -> None:
        self.asked: list[str] = []
        self.clip = SCENE
        self.page = context.new_page()
        context.on("request", lambda request: self.asked.append(request.url))
        self.page.on("websocket", lambda socket: self.asked.append(socket.url))
        self.page.set_default_timeout(1000 * PATIENCE)

    def open(self, url: str) -> None:
        self.page.goto(f"{url}?fixedDpr=1")  # or it would draw more coarsely where it is slow
        # a remark of viser's on slow graphics is orange, too
        self.page.add_style_tag(content="[class*=Notification] { display: none !important }")
        self.page.wait_for_selector("canvas")

    def leave(self) -> None:
        """Or the page would look for its server again and again."""
        self.page.goto("about:blank")

    def picture(self) -> Any:
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.page.screenshot(clip=self.clip))).convert("RGB")).astype(int)

    def active_pixels(self) -> int:
        return int(is_active(self.picture()).sum())

    def drawn_pixels(self) -> int:
        return int((self.picture().min(axis=-1) < 200).sum())

    def hash(self) -> str:
        return hashlib.sha256(self.picture().tobytes()).hexdigest()

    def settled(self) -> str:
        """The hash of a picture that has become still, after what has arrived in the page had its turns to be drawn."""
        last = self.page.evaluate(TURNS) or ""
        for _ in range(40):
            now = self.hash()
            if now == last:
                return now
            last = now
        raise AssertionError("the picture does not become still")

    def wait(self, what: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not what():
            assert time.monotonic() < end, f"it did not come: {self.page.locator('body').inner_text()!r}"
            self.page.wait_for_timeout(20)

    def numbers(self, table: int = 0) -> dict[str, str]:
        tables = self.page.locator("table")
        rows = tables.nth(table).inner_text().split("\n") if tables.count() else ()
        return dict(row.split("\t", 1) for row in rows if "\t" in row)

    def press(self, button: str) -> None:
        self.page.get_by_role("button", name=button, exact=True).click()

    def slide(self, number: int, key: str, times: int) -> None:
        """Move a slider by keys."""
        self.page.get_by_role("slider").nth(number).focus()
        for _ in range(times):
            self.page.keyboard.press(key)

    def elsewhere(self) -> list[str]:
        """What was asked of other hosts."""
        here = ("http://127.0.0.1:", "ws://127.0.0.1:", "blob:", "data:", "file:", "about:")
        return [url for url in self.asked if not url.startswith(here)]


def is_active(x: Any) -> Any:
    """Of the reserved colour, in light and shade: an orange that is in nothing else."""
    r, g, b = x[..., 0], x[..., 1], x[..., 2]
    return (r > 110) & (g < 0.75 * r) & (b < 0.45 * r)


@pytest.fixture(scope="module")
def whole_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with playwright.sync_playwright() as p:
        folder = tmp_path_factory.mktemp("profile")
        view = {"width": WIDTH, "height": HEIGHT}
        context = p.chromium.launch_persistent_context(folder, executable_path=CHROMIUM, args=FLAGS, viewport=view)
        yield Browser(context)
        context.close()


@pytest.fixture
def browser(whole_browser: Browser) -> Iterator[Browser]:
    whole_browser.asked.clear()
    whole_browser.clip = SCENE
    yield whole_browser
    whole_browser.leave()
    assert whole_browser.elsewhere() == []


@contextmanager
def playing(result: supple.Result, rods: Any) -> Iterator[str]:
    from supple.view.player import Player
    from supple.view.stage import address, close_server, open_server

    server = open_server(0)
    player = Player(server, result, rods)
    thread = threading.Thread(target=player.run)
    thread.start()
    try:
        yield address(server)
    finally:
        player.stop()
        thread.join()
        close_server(server)


@contextmanager
def going(run: supple.Simulation, rods: Any) -> Iterator[tuple[str, Any]]:
    """A run that is shown, until it is left; its address, and what shows it."""
    from supple.view.live import Live
    from supple.view.stage import address, close_server, open_server

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


def test_recording_is_drawn_sought_played_and_picked(browser: Browser, run: supple.Result) -> None:
    with playing(run, scenes.molecule(LINKS).rods) as url:
        browser.open(url)
        browser.wait(lambda: browser.page.get_by_label("show links").count() == 1)
        seek = browser.page.get_by_role("textbox").first
        assert browser.numbers()["active joints"] == f"0 of {LINKS}"  # before the first step
        browser.wait(lambda: browser.drawn_pixels() > 20)
        times = [f"{t:.6g} s" for t in run.times]

        def at(frame: int) -> str:
            before = browser.hash()
            seek.fill(str(frame))
            seek.press("Enter")
            browser.wait(lambda: browser.numbers()["time"] == times[frame])
            browser.wait(lambda: browser.hash() != before)
            return browser.settled()

        last = at(FRAMES - 1)
        assert browser.numbers()["active joints"] == f"{len(run[FRAMES - 1].active)} of {LINKS}"  # type: ignore[arg-type]
        assert browser.active_pixels() > 20
        middle = at(FRAMES // 2)
        assert middle != last
        assert at(FRAMES - 1) == last
        browser.slide(0, "ArrowLeft", FRAMES // 2)
        browser.wait(lambda: browser.numbers()["time"] == times[FRAMES - 1 - FRAMES // 2])
        browser.wait(lambda: browser.hash() != last)  # (viser turns the camera by the same keys)

        browser.press("Play")
        seen: set[str] = set()
        browser.wait(lambda: len(seen.add(browser.numbers()["time"]) or seen) >= 3)  # type: ignore[func-returns-value]
        browser.press("Pause")
        browser.wait(lambda: browser.page.get_by_role("button", name="Play", exact=True).count() == 1)
        browser.page.wait_for_timeout(300)
        stopped = browser.numbers()["time"]
        browser.page.wait_for_timeout(1000)  # more than a frame, at the speed it plays
        assert browser.numbers()["time"] == stopped

        if stopped != times[-1]:
            at(FRAMES - 1)
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
        assert browser.drawn_pixels() == 0
        shown.check()
        browser.wait(lambda: browser.active_pixels() > 20)


def test_live_run_is_steered(browser: Browser) -> None:
    """22 people, half of them far away: by keys, and by where the page looks."""
    scene = scenes.crowd(rows=2, columns=11)
    model, q, second = scene.model, scene.q0.copy(), 11 * 89
    q[model.q_index[np.flatnonzero((model.parent < 0) & (np.arange(model.n_bodies) >= second))] + 1] += 50.0  # metres
    pushes = [supple.Push(b, 0.01 * f, p) for b, f, p in scene.pushes.each()]  # nobody is to fly away meanwhile
    run = supple.simulation(model, q, method="adaptive", active=20, dt=scene.dt, forces=pushes, every=20)
    with going(run, scene.rods) as (url, live):
        browser.open(url)

        def active() -> int:
            return int(browser.numbers().get("active joints", "0 of").split(" of")[0])

        browser.wait(lambda: active() == 20)
        assert not run.steered
        browser.slide(0, "ArrowRight", 7)
        browser.wait(lambda: active() == 27)
        assert (run.steered, run.stepper.active, run.events[-1].name) == (True, 27, "27 active joints")

        browser.page.get_by_label("follow the camera").check()
        (client,) = live.server.get_clients().values()

        def look_at(person: int) -> None:
            there = supple.poses(model, run.cursor.q).position[person]
            client.camera.look_at, client.camera.position = there, there + np.array([-3.0, 0.0, 0.5])

        def far_away() -> float:
            return float(np.mean(np.asarray(run.stepper.active_joints) >= second))

        look_at(0)
        browser.wait(lambda: far_away() < 0.2)
        look_at(second)
        browser.wait(lambda: far_away() > 0.8)
        followed = live._camera.copy()
        browser.page.mouse.move(100, 100)
        browser.page.mouse.down()
        browser.page.mouse.move(160, 120, steps=3)
        browser.page.mouse.up()
        browser.wait(lambda: not np.array_equal(live._camera, followed))  # dragged by hand
        browser.page.get_by_label("follow the camera").uncheck()
        browser.wait(lambda: live._camera is None)

        browser.slide(1, "End", 1)  # the largest error: everything may be neglected
        browser.wait(lambda: active() < 20)
        browser.slide(1, "Home", 1)
        browser.wait(lambda: active() > 200)
        browser.press("Pause")
        browser.slide(2, "ArrowRight", 10)
        browser.wait(lambda: run.events[-1].name == "force x 1.5")
        halted = run.cursor.time
        browser.press("Play")
        browser.wait(lambda: run.cursor.time > halted)


def test_exported_page_needs_nothing_else(browser: Browser, run: supple.Result, tmp_path: Path) -> None:
    from supple.view.export import export_html

    file = export_html(run, tmp_path / "run.html", rods=scenes.molecule(LINKS).rods, frames=3)
    browser.clip = SCENE | {"width": WIDTH, "height": HEIGHT - 80}  # there is a bar below it, and no panel
    browser.open(file.as_uri())
    shown = ""
    while not shown or browser.active_pixels() <= 20:  # until it is stopped beyond its first state
        if shown:
            browser.page.keyboard.press("Space")  # it was at the first again: on
        browser.wait(lambda: browser.active_pixels() > 20)  # it plays: the first of its states has no active joints
        browser.page.keyboard.press("Space")
        shown = browser.settled()
    scrub = browser.page.get_by_role("textbox").first
    scrub.fill("0")
    scrub.press("Enter")
    browser.wait(lambda: browser.active_pixels() == 0 and browser.drawn_pixels() > 20)
    assert browser.settled() != shown
    assert {url.partition(":")[0] for url in browser.asked} <= {"file", "blob", "data"}


@pytest.mark.parametrize("name", ["crowd", "molecule"])
def test_large_bodies_open_and_play(browser: Browser, name: str) -> None:
    """17,800 bodies as spikes, 50,000 as dots."""
    scene = scenes.NAMES[name]()
    forces = scene.all_forces()[:40]
    how = dict(method="adaptive", active=300, dt=10 * scene.dt, every=10, forces=forces)
    result = supple.simulate(scene.model, scene.q0, duration=60 * scene.dt * 10, **how)  # type: ignore[arg-type]
    with playing(result, scene.rods) as url:
        browser.open(url)
        browser.wait(lambda: browser.drawn_pixels() > 200)
        browser.press("Play")
        seen: set[str] = set()
        browser.wait(lambda: len(seen.add(browser.numbers()["time"]) or seen) >= 2)  # type: ignore[func-returns-value]
        browser.wait(lambda: browser.active_pixels() > 5)


def test_watched_run_is_recorded_and_ends_by_ctrl_c(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "run.h5"
    asked = ["molecule", "--set", "joints=200", "--method", "adaptive", "--active", "20", "--duration", "1000"]
    command = [*COMMAND, "run", *asked, "--record", str(file), "--view", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ) as p:
        assert p.stdout is not None
        url = next(line for line in p.stdout if "http" in line).split()[2]
        browser.open(url)
        browser.wait(lambda: browser.numbers().get("active joints") == "20 of 200")
        p.send_signal(signal.SIGINT)
        said, wrong = p.communicate(timeout=PATIENCE)
    assert p.returncode == 130
    assert "Traceback" not in wrong
    assert f"supple run --resume {file}" in said.replace("\n", " ")
    watched = supple.load_run(file)
    assert not watched.about["steered"]
    assert len(watched) > 1
