"""Every scene in a real Chromium: its bodies are inside the picture all the time, on a desk and on a phone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import supple
from browser import HEIGHT, SCENE, WIDTH, Browser, chromium, is_active
from supple import scenes
from supple.viewing import stage
from supple.viewing.camera import View
from supple.viewing.colours import ACTIVE, ANCHOR, ASLEEP, FORCE, PICKED, RIGID, SPRING
from supple.viewing.player import Player
from supple.viewing.stage import address, clear, close_server, open_server
from walks import walk_then_fly

#: Small ones, and for how long they are followed.
SMALL: dict[str, tuple[dict[str, Any], float]] = {
    "bicycle-chain": ({"links": 12}, 0.16),
    "compass": ({}, 2.5),
    "millipede": ({"legs": 12, "leg_links": 4, "spine": 40}, 0.2),
    "molecule": ({"joints": 60}, 10.0),
    "pendulum": ({"links": 20}, 0.9),
    "simplest-walker": ({}, 8.0),
    "spring-pendulum": ({"links": 20}, 0.7),
    "crowd": ({"rows": 1, "columns": 2}, 0.2),
    "four-bar-chain": ({"windows": 3}, 1.5),
    "andrews": ({}, 0.03),
    "bricard": ({}, 2.0),
    "flyball": ({}, 1.0),
    "slider-crank": ({}, 1.0),
    "net": ({"width": 3, "height": 3}, 0.5),
    "chain-drive": ({"links": 24}, 0.3),
    "falling-crowd": ({"rows": 1, "columns": 2}, 0.3),
    "pile": ({"chains": 2, "links": 6}, 0.4),
    "rope": ({"links": 12}, 0.1),
    "standing-robot": ({}, 0.2),
    "walker-by-contact": ({"steps": 2}, 1.0),
}
PHONE = {"width": 390, "height": 640}
UPPER = {"x": 0, "y": 0, "width": 390, "height": 320}  #: where the picture is, on a phone
FRAMES = 12


class Place:
    """A page that is opened once; what it shows is changed, as at the end of a watched run."""

    def __init__(self, browser: Browser, server: Any) -> None:
        self.browser, self.server = browser, server

    @contextmanager
    def shows(self, result: supple.Result, rods: Any, posed: bool = False) -> Iterator[Player]:
        clear(self.server)
        player = Player(self.server, result, rods, posed)
        thread = threading.Thread(target=player.run)
        thread.start()
        try:
            yield player
        finally:
            player.stop()
            thread.join()

    def wide(self) -> None:
        self.browser.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        self.browser.clip = SCENE

    def phone(self) -> None:
        self.browser.page.set_viewport_size(PHONE)
        self.browser.clip = UPPER

    def seen(self) -> tuple[int, int]:
        """Pixels of bodies, and those of them at the picture's edge."""
        there = is_active(self.browser.picture())
        return int(there.sum()), int(there.sum() - there[3:-3, 3:-3].sum())

    def at_edge(self) -> int:
        """Pixels of bodies at the picture's edge, as soon as it has bodies."""
        found = [(0, 0)]
        self.browser.wait(lambda: found.append(self.seen()) or found[-1][0] > 15)  # type: ignore[func-returns-value]
        return found[-1][1]

    def is_inside(self) -> bool:
        there, edge = self.seen()
        return there > 15 and edge == 0

    def is_cut_off(self) -> bool:
        there, edge = self.seen()
        return there == 0 or edge > 0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    server = open_server(0)
    with chromium(tmp_path_factory.mktemp("profile")) as context:
        browser = Browser(context)
        browser.open(address(server))
        browser.wait(lambda: len(server.get_clients()) == 1)
        yield Place(browser, server)
        browser.leave()
    assert browser.elsewhere() == []
    close_server(server)


@pytest.fixture
def all_active(monkeypatch: pytest.MonkeyPatch) -> None:
    """All bodies in the reserved colour."""
    monkeypatch.setattr(stage, "paint", lambda by, state, largest: np.tile(np.uint8(ACTIVE), (state.model.n_bodies, 1)))


def run_of(name: str) -> tuple[supple.Result, scenes.Scene]:
    given, duration = SMALL[name]
    scene = scenes.NAMES[name](**given)
    how: Any = dict(duration=duration, dt=scene.dt, every=max(1, round(duration / scene.dt / FRAMES)))
    walks = {"events": scene.events} if scene.events else {"method": "aba", "contacts": scene.contacts}
    result = supple.simulate(
        scene.model, scene.q0, scene.v0, forces=scene.all_forces(), check_energy=False, **how, **walks
    )
    result.ground = scene.ground
    return result, scene


def go(place: Place, player: Any, frame: int) -> None:
    """To a frame, as the slider does."""

    def there() -> bool:
        player._slider.value = frame  # again, if playing moved it on meanwhile
        player._wanted.set()
        return bool(player._frame == frame)

    place.browser.wait(there)
    place.browser.settled()


@pytest.mark.parametrize("name", SMALL)
def test_bodies_are_in_the_picture_from_first_to_last(place: Place, all_active: None, name: str) -> None:
    result, scene = run_of(name)
    last = len(result) - 1
    place.wide()
    with place.shows(result, scene.rods) as player:
        place.browser.wait(lambda: player._frame > 0)  # it opens playing
        player._play.playing = False
        for frame in (0, last // 2, last):
            go(place, player, frame)
            assert place.at_edge() == 0, (frame, "on a desk")
        (client,) = place.server.get_clients().values()
        home = np.array(client.camera.position)
        ahead = np.asarray(client.camera.look_at) - home
        client.camera.position = home + 0.93 * ahead  # the control: so near, some of it is cut off
        place.browser.wait(place.is_cut_off)
        place.browser.press("Reset")
        place.browser.wait(place.is_inside)
        if name in ("compass", "crowd", "millipede"):
            place.phone()
            place.browser.wait(lambda: client.camera.aspect > 1.15)
            place.browser.settled()
            assert place.at_edge() == 0, "on a phone"


LEGEND = """() => [...document.querySelectorAll('span > span')].map(
    s => [s.parentElement.innerText.trim(), getComputedStyle(s).backgroundColor])"""


def near(picture: Any, colour: tuple[int, ...], off: int = 16) -> int:
    """How many pixels have a colour, nearly: bodies are lit."""
    return int((np.abs(picture - np.array(colour)).max(axis=-1) <= off).sum())


def adaptive_run() -> tuple[supple.Result, scenes.Scene]:
    scene = scenes.molecule(60)
    how: Any = dict(method="adaptive", active=25, dt=scene.dt, every=20, duration=100 * scene.dt)
    return supple.simulate(scene.model, scene.q0, forces=scene.all_forces(), **how), scene


def test_legend_has_the_colours_that_are_drawn(place: Place) -> None:
    result, scene = adaptive_run()
    place.wide()
    with place.shows(result, scene.rods) as player:
        player._play.playing = False
        go(place, player, len(result) - 1)
        place.browser.wait(lambda: near(place.browser.picture(), ACTIVE) > 30)
        said = dict(place.browser.page.evaluate(LEGEND))
        wanted = {"active": ACTIVE, "rigid": RIGID, "force": FORCE}
        assert {name: said.get(name) for name in wanted} == {name: f"rgb{c}" for name, c in wanted.items()}
        picture = place.browser.picture()
        found = {name: near(picture, colour) for name, colour in wanted.items()}
        assert min(found.values()) > 10, found
        # nothing else is of these colours: without bodies, none is
        place.browser.page.get_by_label("show links").uncheck()
        place.browser.wait(lambda: near(place.browser.picture(), ACTIVE) == 0)
        assert near(place.browser.picture(), RIGID) == 0
        place.browser.page.get_by_label("show links").check()


def test_trees_that_sleep_have_a_colour_of_their_own(place: Place) -> None:
    """In the page as in its legend, and words beside it."""
    scene = scenes.pile(2, 3)
    how: Any = dict(method="adaptive", active=1, contacts=scene.contacts, dt=scene.dt, every=100, duration=4.0)
    result = supple.simulate(scene.model, scene.q0, **how)
    place.wide()
    with place.shows(result, scene.rods) as player:
        player._play.playing = False
        go(place, player, 0)
        place.browser.wait(lambda: near(place.browser.picture(), RIGID) > 30)
        shade = near(place.browser.picture(), ASLEEP)  # of bodies, where no lamp reaches them
        assert near(place.browser.picture(), RIGID) > 2 * shade and near(place.browser.picture(), ACTIVE) > 10
        go(place, player, len(result) - 1)
        place.browser.wait(lambda: near(place.browser.picture(), ASLEEP) > 2 * shade + 30)
        picture = place.browser.picture()  # edges are mixed with what is behind them
        assert near(picture, ASLEEP) > 3 * near(picture, RIGID) and near(picture, ACTIVE) == 0
        assert dict(place.browser.page.evaluate(LEGEND))["asleep"] == f"rgb{ASLEEP}"
        player._panel.pick(4)
        place.browser.wait(lambda: place.browser.numbers(-1).get("now") == "asleep")
        assert place.browser.numbers(0)["asleep"] == "everything"


def at_pixel(place: Place, point: Any) -> tuple[int, int]:
    """Where a point of the world is in the picture."""
    (client,) = place.server.get_clients().values()
    view = View(np.array(client.camera.position), np.array(client.camera.look_at))
    (x, y), _ = view.see(np.array([point]), (client.camera.image_width, client.camera.image_height))[0][0], None
    return round(x), round(y)


def test_picked_body_stands_out(place: Place) -> None:
    """The root, too; and of a walker whichever leg it stands on, though its root changes."""
    scene = scenes.spring_pendulum(links=8)
    result = supple.simulate(scene.model, scene.q0, forces=scene.all_forces(), dt=scene.dt, duration=0.01, every=5)
    place.wide()
    with place.shows(result, scene.rods) as player:
        player._play.playing = False
        go(place, player, 0)
        place.browser.wait(lambda: near(place.browser.picture(), SPRING, 40) > 3)
        assert near(place.browser.picture(), ANCHOR, 40) > 3
        assert near(place.browser.picture(), PICKED, 40) == 0
        pose = supple.poses(scene.model, result[0].q)
        for body in (0, 3):
            name = scene.model.body_names[body]
            place.browser.page.mouse.click(
                *at_pixel(place, pose.position[body] + pose.rotation[body] @ scene.rods[body].mean(0))
            )
            place.browser.wait(lambda name=name: place.browser.numbers(-1).get("body", "").startswith(f"{name},"))
            place.browser.wait(lambda: near(place.browser.picture(), PICKED, 40) > 3)
            assert dict(place.browser.page.evaluate(LEGEND))["picked"] == f"rgb{PICKED}"
    result, scene = run_of("compass")
    with place.shows(result, scene.rods) as player:
        player._play.playing = False
        player._panel.pick(scene.model.bodies["left"].index)
        for frame in (0, len(result) - 1):
            go(place, player, frame)
            assert player._panel.stage.model.body_names[player._panel.stage.picked] == "left"
        assert result.segments[0].model.body_names != result.segments[1].model.body_names


def test_buttons_move_the_camera(place: Place, all_active: None) -> None:
    result, scene = run_of("compass")
    place.wide()
    with place.shows(result, scene.rods) as player:
        player._play.playing = False
        go(place, player, 0)
        place.browser.wait(lambda: place.seen()[0] > 15)
        (client,) = place.server.get_clients().values()
        home = np.array(client.camera.position)

        def moved() -> Any:
            return np.asarray(client.camera.position) - home

        place.browser.press("Follow")
        place.browser.wait(lambda: player._panel.cameras.following)
        go(place, player, len(result) - 1)
        place.browser.wait(lambda: moved()[0] > 0.5)  # it walks along x
        place.browser.press("Stay")
        place.browser.wait(lambda: not player._panel.cameras.following)
        client.camera.position = home + [5.0, 5.0, 1.0]
        place.browser.wait(lambda: place.seen()[0] == 0)
        place.browser.press("Fit")
        place.browser.wait(place.is_inside)
        place.browser.press("Reset")
        place.browser.wait(lambda: np.allclose(moved(), 0.0, atol=1e-2))


def test_captured_motion_has_the_forces_of_the_ground(place: Place) -> None:
    from supple.viewing.show import shown_as

    result, _, posed = shown_as(walk_then_fly())
    place.wide()
    with place.shows(result, None, posed) as player:
        player._play.playing = False
        go(place, player, 20)
        place.browser.wait(lambda: near(place.browser.picture(), FORCE, 40) > 20)
        said = dict(place.browser.page.evaluate(LEGEND))
        assert {text: colour for text, colour in said.items() if text.startswith("force: 1 m is 1,000 N")}
        assert f"rgb{FORCE}" in said.values()
        go(place, player, len(result) - 1)  # the control: here, none acts
        place.browser.wait(lambda: near(place.browser.picture(), FORCE, 40) == 0)
        assert place.browser.drawn_pixels() > 100


def test_joints_are_moved_by_sliders(place: Place) -> None:
    from supple.viewing.show import shown_as

    model = supple.trees.chain(3)
    result, _, posed = shown_as(model, np.zeros(model.nq))
    place.wide()
    with place.shows(result, None, posed) as player:
        place.browser.wait(lambda: place.browser.drawn_pixels() > 100)
        before = place.browser.settled()
        sliders = place.browser.page.locator("[role=slider]:visible")
        sliders.nth(0).focus()
        for _ in range(3):
            place.browser.page.keyboard.press("End")
        place.browser.wait(lambda: bool(player._joints._held))  # type: ignore[union-attr]
        place.browser.wait(lambda: place.browser.hash() != before)
        place.browser.press("Release joints")
        place.browser.wait(lambda: not player._joints._held)  # type: ignore[union-attr]


def test_every_scene_is_tried() -> None:
    assert SMALL.keys() == scenes.NAMES.keys()
