"""A Chromium without a window, and the pages that are opened in it. Tests that import this are skipped where there is
none."""

from __future__ import annotations

import hashlib
import io
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
PATIENCE = 90.0  # seconds, before something that does not come is a failure


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
            assert time.monotonic() < end, f"it did not come: {self.text()!r}"
            self.page.wait_for_timeout(20)

    def text(self) -> str:
        return str(self.page.locator("body").inner_text())

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


@contextmanager
def chromium(folder: Path, *flags: str) -> Iterator[Any]:
    """A browser's context, with a profile of its own."""
    with playwright.sync_playwright() as p:
        view = {"width": WIDTH, "height": HEIGHT}
        context = p.chromium.launch_persistent_context(
            folder, executable_path=CHROMIUM, args=[*FLAGS, *flags], viewport=view
        )
        yield context
        context.close()
