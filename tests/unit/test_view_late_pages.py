"""Pages that are slow: what they say of their camera is late, and so is what they are told. All is in the picture in
the end, wherever anything was meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("viser")

import msgspec
import zstandard

from pages import CAMERA, PATIENCE, Client, until
from supple.viewing import cameras
from supple.viewing.camera import View, fit
from supple.viewing.cameras import FIT, FOLLOW, RESET, Cameras
from supple.viewing.stage import address, close_server, open_server

DESK, NARROW, PHONE = (356, 320), (2, 332), (390, 333)  #: what a page says in turn, when it becomes a phone's
BACK = np.array([-0.75, -0.55, 0.35])
WIDE = np.array([(x, y, z) for x in (-2.0, 2.0) for y in (-1.0, 1.0) for z in (0.0, 1.0)])
TALL = np.array([(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (0.0, 3.0)])


class Page(Client):
    """A page as it is: it does what it is told, but only when it gets round to it."""

    def __init__(self, url: str) -> None:
        self.position, self.target, self.size = CAMERA["position"], CAMERA["look_at"], DESK
        self.told: list[dict[str, Any]] = []  #: and not yet done
        super().__init__(url)
        self._reader = threading.Thread(target=self._listen)
        self._reader.start()

    def _listen(self) -> None:
        for raw in self.socket:
            assert isinstance(raw, bytes)
            size = int.from_bytes(raw[8:16], "little")
            got = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(raw[16 : 16 + size]))
            self.told += [m for m in got["messages"] if m["type"].startswith("SetCamera") and not m.get("initial")]

    def close(self) -> None:
        super().close()
        self._reader.join()

    def says(self) -> dict[str, Any]:
        width, height = self.size
        return CAMERA | {
            "position": self.position, "look_at": self.target, "image_width": width, "image_height": height,
        }  # fmt: skip

    def resize(self, size: tuple[int, int]) -> None:
        self.size = size
        self.send(self.says())

    def wait_to_be_told(self) -> None:
        until(lambda: any(m["type"] == "SetCameraPositionMessage" for m in self.told))

    def obey(self) -> None:
        """What it was told so far; then it says where it is."""
        many = len(self.told)
        for message in self.told[:many]:
            if message["type"] == "SetCameraPositionMessage":
                self.position = list(message["position"])
            elif message["type"] == "SetCameraLookAtMessage":
                self.target = list(message["look_at"])
        del self.told[:many]
        self.send(self.says())

    def obey_until(self, view: View) -> None:
        """Until it sees this, and is told nothing more."""
        end, still = time.monotonic() + PATIENCE, 0
        while still < 10:
            assert time.monotonic() < end, (self.position, self.target, view)
            still = still + 1 if self.sees(view) and not self.told else 0
            if self.told:
                self.obey()
            time.sleep(0.02)

    def sees(self, view: View) -> bool:
        return np.allclose(self.position, view.eye, rtol=1e-6) and np.allclose(self.target, view.target, atol=1e-6)


class Shown:
    """Cameras, and one page that looks at what they are for."""

    def __init__(self) -> None:
        self.server = open_server(0)
        self.pages: list[Page] = []

    def begin(self, points: Any) -> Page:
        self.points = points
        self.cameras = Cameras(self.server, self.server.gui)
        self.cameras.begin(points, BACK)
        page = Page(address(self.server))
        self.pages.append(page)
        page.wait_to_be_told()
        page.obey_until(self.home(DESK))
        return page

    def home(self, size: tuple[int, int]) -> View:
        return fit(self.points, BACK, float(np.clip(size[0] / size[1], 0.1, 10.0)))

    def press(self, page: Page, button: str) -> None:
        page.move(self.cameras._buttons, button)

    def heard(self, what: Callable[[Any], bool]) -> None:
        """Waits until a page's word has come."""
        (client,) = self.server.get_clients().values()
        until(lambda: what(client.camera))

    def close(self) -> None:
        for page in self.pages:
            page.close()
        close_server(self.server)


@pytest.fixture
def shown() -> Iterator[Shown]:
    made = Shown()
    yield made
    made.close()


def turn_into_a_phone(page: Page) -> None:
    """Two sizes, and it has obeyed nothing in between."""
    page.resize(NARROW)
    page.wait_to_be_told()
    page.resize(PHONE)
    time.sleep(0.2)


@pytest.mark.parametrize("points", [WIDE, TALL])
def test_a_page_becomes_a_phones_before_it_obeys(shown: Shown, points: Any) -> None:
    """A tall body is seen from the same place on both: where the page says that it is already, but will not stay."""
    page = shown.begin(points)
    turn_into_a_phone(page)
    page.obey_until(shown.home(PHONE))


def test_a_later_size_is_not_overtaken_by_an_earlier(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    page = shown.begin(WIDE)

    def slow(points: Any, back: Any, aspect: float) -> View:
        time.sleep(0.3 if aspect < 0.2 else 0.0)  # as under load
        return fit(points, back, aspect)

    monkeypatch.setattr(cameras, "fit", slow)
    page.resize(NARROW)
    time.sleep(0.1)
    page.resize(PHONE)
    time.sleep(0.5)
    page.obey_until(shown.home(PHONE))


def test_a_page_says_a_size_twice(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is told where to go: the second says where it was."""
    page = shown.begin(WIDE)
    sent = threading.Event()
    look = Cameras._look

    def slow(self: Cameras, client: Any, back: Any) -> None:
        look(self, client, back)
        if not sent.is_set():
            sent.set()
            time.sleep(0.3)

    monkeypatch.setattr(Cameras, "_look", slow)
    page.resize(NARROW)
    assert sent.wait(PATIENCE)
    page.send(page.says())
    time.sleep(0.5)
    page.wait_to_be_told()
    page.size = PHONE  # says so when it has obeyed
    page.obey_until(shown.home(PHONE))


def test_a_phone_is_turned_after_reset(shown: Shown) -> None:
    page = shown.begin(WIDE)
    page.position, page.target = [9.0, 9.0, 9.0], [5.0, 5.0, 5.0]  # by hand
    page.resize(PHONE)
    time.sleep(0.2)
    assert not page.told  # nobody moves a camera from where a hand has put it
    shown.press(page, RESET)
    page.wait_to_be_told()
    page.obey_until(shown.home(PHONE))
    page.resize((300, 600))
    page.wait_to_be_told()
    page.obey_until(shown.home((300, 600)))


def test_reset_while_a_camera_follows(shown: Shown) -> None:
    """The page says that it is where it shall be, but it has yet to go elsewhere."""
    page = shown.begin(WIDE)
    shown.press(page, FOLLOW)
    until(lambda: shown.cameras.following)
    shown.cameras.moved(np.array([30.0, 0.0, 0.0]))
    page.wait_to_be_told()
    page.send(page.says())
    shown.heard(lambda camera: camera.position[0] < 10.0)
    shown.press(page, RESET)
    until(lambda: not shown.cameras.following)
    time.sleep(0.1)
    page.obey_until(shown.home(DESK))


def test_a_page_goes_to_its_first_view_last(shown: Shown) -> None:
    """A page applies what it is told to begin with when it is drawn: later than what it was told then."""
    page = shown.begin(WIDE)
    first = shown.server.initial_camera
    page.position, page.target = first.position.tolist(), first.look_at.tolist()
    page.send(page.says())
    page.wait_to_be_told()
    page.obey_until(shown.home(DESK))


def test_what_was_fitted_stays_so_on_a_phone(shown: Shown) -> None:
    page = shown.begin(WIDE)
    page.position, page.target = [0.0, -20.0, 5.0], [0.0, 0.0, 5.0]  # by hand
    page.send(page.says())
    shown.press(page, FIT)
    page.wait_to_be_told()
    page.obey_until(fit(WIDE, np.array([0.0, -1.0, 0.0]), DESK[0] / DESK[1]))
    turn_into_a_phone(page)
    page.obey_until(fit(WIDE, np.array([0.0, -1.0, 0.0]), PHONE[0] / PHONE[1]))


@pytest.mark.parametrize("seed", range(8))
def test_in_any_order(shown: Shown, seed: int) -> None:
    rng = np.random.default_rng(seed)
    page = shown.begin((WIDE, TALL)[seed % 2])
    sizes = [DESK, NARROW, PHONE, (300, 600), (900, 300)]

    def by_hand() -> None:
        page.position, page.target = rng.uniform(5.0, 9.0, 3).tolist(), rng.uniform(0.0, 1.0, 3).tolist()
        page.send(page.says())

    def resize() -> None:
        page.resize(sizes[rng.integers(len(sizes))])

    ways = [resize, page.obey, by_hand, lambda: page.send(page.says()), lambda: shown.press(page, RESET)]
    for _ in range(40):
        ways[rng.integers(len(ways))]()
        time.sleep(float(rng.choice([0.0, 0.001, 0.03])))
    for _ in range(3):  # and at last, nobody has moved it since
        shown.press(page, RESET)
        resize()
        resize()
    time.sleep(0.2)
    page.obey_until(shown.home(page.size))
