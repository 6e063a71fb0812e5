"""Forces of contacts in a real Chromium: their arrows are there while something touches, where it touches, and stand
on the floor."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import supple
from browser import Browser, chromium
from supple.viewing.colours import CONTACT_FORCE, FORCE
from supple.viewing.export import export_html
from supple.viewing.player import Player
from supple.viewing.stage import address, close_server, open_server


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with chromium(tmp_path_factory.mktemp("profile")) as context:
        yield Browser(context)


@pytest.fixture(scope="module")
def drop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of two plates: one falls and lands, the other hangs in the air beside it."""
    b = supple.ModelBuilder("plates")
    for i in range(2):
        b.add_body(f"plate{i}", joint="free", mass=2.0, inertia=(0.02, 0.02, 0.04))
        b.add_shape(f"plate{i}", "box", (0.4, 0.4, 0.04), friction=0.5)
    model = b.build()
    q = model.neutral()
    q[:3], q[7:10] = (-0.3, 0, 0.62), (0.3, 0, 0.62)
    path = tmp_path_factory.mktemp("run") / "drop.h5"
    up = supple.Push("plate1", (0, 0, 2.0 * 9.81), frame="world")
    supple.simulate(model, q, duration=1.0, dt=5e-3, record=path, contacts=supple.Contacts(ground=0.0), forces=[up])
    return path


def pushes(picture: Any) -> Any:
    """Pixels of the colours that only arrows have: of pushes, and of contacts."""
    off = np.abs(np.asarray(picture)[..., None, :] - np.array([FORCE, CONTACT_FORCE])).max(axis=-1)
    return off.min(axis=-1) <= 40


def sides(browser: Browser) -> tuple[int, int]:
    """How many such pixels the halves of the picture have: that of the plate that falls, and that of the other one,
    whose push is always there."""
    mask = pushes(browser.picture())
    middle = mask.shape[1] // 2
    return int(mask[:, :middle].sum()), int(mask[:, middle:].sum())


def test_arrows_follow_contacts_in_a_recording(browser: Browser, drop: Path) -> None:
    """The push that holds the second plate is the control: its arrow is there all the time, on the other side."""
    result = supple.load_run(drop)
    server = open_server(None, "drop")
    player = Player(server, result, result.rods)
    thread = threading.Thread(target=player.run)
    thread.start()

    def go(time: float) -> None:
        frame = int(np.searchsorted(result.times, time))

        def there() -> bool:
            player._play.playing = False
            player._slider.value = frame
            player._wanted.set()
            return player._frame == frame

        browser.wait(there)
        browser.settled()

    try:
        browser.open(address(server))
        browser.wait(lambda: player._frame > 0)
        for time, touching in ((0.3, False), (0.9, True), (0.3, False)):
            go(time)
            browser.wait(lambda: sides(browser)[1] > 5)
            there, _ = sides(browser)
            assert there > 5 if touching else there == 0, (time, there)
        go(0.9)
        rows = np.flatnonzero(pushes(browser.picture())[:, : browser.picture().shape[1] // 2].any(axis=1))
        go(0.3)
        other = np.flatnonzero(pushes(browser.picture())[:, browser.picture().shape[1] // 2 :].any(axis=1))
        assert rows.max() > other.max() + 20  # they stand on the floor, and the plate hangs above it
    finally:
        player.stop()
        thread.join()
        browser.leave()
        close_server(server)


def test_arrows_follow_contacts_in_an_exported_page(browser: Browser, drop: Path, tmp_path: Path) -> None:
    export_html(supple.load_run(drop), tmp_path / "drop.html", frames=3)
    browser.open((tmp_path / "drop.html").as_uri())

    def seen(time: str) -> int:
        """How many such pixels there are at a time: of the push and of the legend, and of contacts."""
        counts: list[int] = []

        def there() -> bool:
            before, now = browser.text(), sum(sides(browser))
            if time in before and time in browser.text():
                counts.append(now)
            return len(counts) > 1 and counts[-1] == counts[-2]

        browser.wait(there)
        return counts[-1]

    flying = seen("0.000 s")
    assert flying > 5
    assert seen("0.500 s") > flying + 5
    assert seen("0.000 s") == flying  # it begins again
    browser.leave()
