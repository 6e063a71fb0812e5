"""The page in a real Chromium: what is drawn, played, sought, moved and picked; nothing is asked of another host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import supple
from browser import HEIGHT, PATIENCE, SCENE, WIDTH, Browser, chromium, is_active
from pages import going, playing
from supple import scenes
from supple.viewing import shapes
from supple.viewing.colours import CONTACT_FORCE, FORCE, RIGID, Rgb
from walks import walk_then_fly

COMMAND = [sys.executable, "-c", "from supple.cli import main; main()"]
LINKS, ACTIVE_JOINTS, FRAMES = 2000, 60, 5


def near_rigid(browser: Browser) -> int:
    """Pixels of bodies that are not active."""
    return int((np.abs(browser.picture() - np.array(RIGID)).max(axis=-1) <= 16).sum())


def near_force(browser: Browser, colour: Rgb = FORCE) -> int:
    return int((np.abs(browser.picture() - np.array(colour)).max(axis=-1) <= 40).sum())


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


@pytest.fixture(scope="module")
def whole_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as context:
        yield Browser(context)


@pytest.fixture
def browser(whole_browser: Browser) -> Iterator[Browser]:
    whole_browser.asked.clear()
    whole_browser.clip = SCENE
    yield whole_browser
    whole_browser.leave()
    assert whole_browser.elsewhere() == []


def test_recording_is_drawn_sought_played_and_picked(browser: Browser, run: supple.Result) -> None:
    with playing(run, scenes.molecule(LINKS).rods) as (url, _):
        browser.open(url)
        browser.wait(lambda: browser.page.get_by_label("show links").count() == 1)
        seek = browser.page.get_by_role("textbox").first
        browser.wait(lambda: browser.drawn_pixels() > 20)
        times = [f"{t:.6g} s" for t in run.times]
        browser.press("Pause")  # it opens playing
        browser.wait(lambda: browser.page.get_by_role("button", name="Play", exact=True).count() == 1)
        for frame in (1, 0):  # wherever it was
            seek.fill(str(frame))
            seek.press("Enter")
            browser.wait(lambda frame=frame: browser.numbers()["time"] == times[frame])
        assert browser.numbers()["active joints"] == f"0 of {LINKS}"  # before the first step
        browser.settled()

        def at(frame: int) -> str:
            before = browser.hash()
            seek.fill(str(frame))
            seek.press("Enter")
            browser.wait(lambda: browser.numbers()["time"] == times[frame])
            browser.wait(lambda: browser.hash() != before)
            return browser.settled()

        last = at(FRAMES - 1)
        assert browser.numbers()["active joints"] == f"{len(run[FRAMES - 1].active_joints)} of {LINKS}"  # type: ignore[arg-type]
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
        assert picked in run[FRAMES - 1].active_joints  # type: ignore[operator]

        shown = browser.page.get_by_label("show links")
        shown.uncheck()
        browser.wait(lambda: browser.active_pixels() == 0)
        assert near_rigid(browser) == 0
        shown.check()
        browser.wait(lambda: browser.active_pixels() > 20)


@pytest.mark.parametrize("weight", [0.0, 9.81])
def test_forces_of_contacts_are_drawn_while_a_run_goes_on(browser: Browser, weight: float) -> None:
    """Under a ball that lies on the floor there is an arrow; under one without weight there is none."""
    b = supple.ModelBuilder("ball", gravity=(0.0, 0.0, -weight))
    b.add_body("ball", joint="free", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.add_shape("ball", "sphere", 0.5)
    b.add_visual("ball", "box", (0.2, 0.2, 0.2), position=(0, 0, 0.6))
    model = b.build()
    q = model.neutral()
    q[2] = 0.5 if weight else 0.6
    with going(supple.Simulation(model, q, dt=0.01, every=5, contacts=supple.Contacts(ground=0.0))) as (url, _):
        browser.open(url)
        browser.wait(lambda: browser.drawn_pixels() > 100 and (not weight or near_force(browser, CONTACT_FORCE) > 20))
        assert weight or near_force(browser, CONTACT_FORCE) == 0


def test_live_run_is_steered(browser: Browser) -> None:
    """22 people, half of them far away: by keys, and by where the page looks. They always move as a whole."""
    scene = scenes.crowd(rows=2, columns=11, puppets=False)
    model, q, second, people = scene.model, scene.q0.copy(), 11 * 89, 22
    q[model.q_index[np.flatnonzero((model.parent < 0) & (np.arange(model.n_bodies) >= second))] + 1] += 50.0  # metres
    pushes = [supple.Push(b, 0.01 * f, p) for b, f, p in scene.pushes.each()]  # nobody is to fly away meanwhile
    run = supple.Simulation(model, q, method="adaptive", active=20, dt=scene.dt, forces=pushes, every=20)
    with going(run, scene.rods) as (url, live):
        browser.open(url)

        def active() -> int:
            return int(browser.numbers().get("active joints", "0 of").split(" of")[0])

        browser.wait(lambda: active() == 20 + people)
        assert not run.steered
        browser.slide(0, "ArrowRight", 7)
        browser.wait(lambda: active() == 27 + people)
        assert (run.steered, run.stepper.active, run.events[-1].name) == (True, 27, "27 active joints")

        browser.page.get_by_label("weigh joints by on-screen motion").check()
        (client,) = live.server.get_clients().values()

        def look_at(person: int) -> None:
            there = supple.poses(model, run.cursor.q).position[person]
            client.camera.look_at, client.camera.position = there, there + np.array([-3.0, 0.0, 0.5])

        def far_away() -> float:
            active = np.asarray(run.stepper.active_joints)  # none, while the run's thread chooses them
            active = active[model.parent[active] >= 0]
            return float(np.mean(active >= second)) if len(active) else 0.5

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
        browser.page.get_by_label("weigh joints by on-screen motion").uncheck()
        browser.wait(lambda: live._camera is None)

        browser.slide(1, "End", 1)  # the largest error: everything may be neglected
        browser.wait(lambda: active() < 20 + people)
        browser.slide(1, "Home", 1)
        browser.wait(lambda: active() > 200)
        browser.press("Pause")
        browser.slide(2, "ArrowRight", 10)
        browser.wait(lambda: run.events[-1].name == "force x 1.5")
        halted = run.cursor.time
        browser.press("Play")
        browser.wait(lambda: run.cursor.time > halted)


def test_exported_page_needs_nothing_else(browser: Browser, run: supple.Result, tmp_path: Path) -> None:
    from supple.viewing.export import export_html

    file = export_html(run, tmp_path / "run.html", rods=scenes.molecule(LINKS).rods, frames=3)
    browser.clip = SCENE | {"width": WIDTH, "height": HEIGHT - 80}  # there is a bar below it, and no panel
    browser.open(file.as_uri())
    assert "active" in browser.text()  # the legend, whose colours would count
    browser.page.evaluate("document.getElementById('supple-time').parentElement.style.visibility = 'hidden'")
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


def test_exported_page_of_a_captured_motion_holds_its_last_state(browser: Browser, tmp_path: Path) -> None:
    from supple.viewing.export import export_html
    from supple.viewing.show import shown_as
    from supple.viewing.timeline import HOLD

    result, *_ = shown_as(walk_then_fly())
    file = export_html(result, tmp_path / "walk.html", frames=5)
    browser.clip = {"x": 0, "y": 60, "width": WIDTH, "height": HEIGHT - 140}  # below the legend, above the bar
    browser.open(file.as_uri())
    browser.wait(lambda: browser.drawn_pixels() > 100)
    assert "force: 1 m is 1,000 N" in browser.text()
    browser.page.keyboard.press("Space")
    slider, scrub = browser.page.locator("[role=slider]").first, browser.page.get_by_role("textbox").first
    lasts = float(result.times[-1] - result.times[0])
    assert float(slider.get_attribute("aria-valuemax")) == pytest.approx(lasts + HOLD, abs=0.01)
    for time, said, acts in ((0.25 * lasts, 0.25 * lasts, True), (lasts + 0.9 * HOLD, lasts, False)):
        scrub.fill(f"{time:.3f}")
        scrub.press("Enter")
        browser.wait(lambda said=said: f"{said:.3f} s" in browser.text())
        browser.wait(lambda acts=acts: (near_force(browser) > 20) if acts else near_force(browser) == 0)


@pytest.mark.parametrize("name", ["crowd", "molecule"])
def test_large_bodies_open_and_play(browser: Browser, name: str) -> None:
    """17,800 bodies as spikes, 50,000 as dots."""
    scene = scenes.NAMES[name]()
    forces = scene.all_forces()[:40]
    how = dict(method="adaptive", active=300, dt=10 * scene.dt, every=10, forces=forces)
    result = supple.simulate(scene.model, scene.q0, duration=60 * scene.dt * 10, **how)  # type: ignore[arg-type]
    with playing(result, scene.rods) as (url, _):
        browser.open(url)
        browser.wait(lambda: browser.drawn_pixels() > 200)  # it opens playing
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
