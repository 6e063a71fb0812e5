"""What a page may say: whatever comes through its socket, a page goes on, and so does a run."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import supple
from drawn import SETTINGS

pytest.importorskip("viser")

import msgspec
from viser import _messages

from pages import CAMERA, Client, going, playing, until
from supple import scenes
from supple.viewing.live import WEIGH
from supple.viewing.messages import FAR, LONGEST, heeded, within
from supple.viewing.stage import close_server, open_server

NUMBERS = [math.nan, math.inf, -math.inf, 1e9, -1e9, 1e308, -0.0, 2**63, -(2**63), 0, 0.5, 400]
OTHERS = [None, True, False, "", "x", "1", "NaN", "²", "٣", "9" * 5000, "own", [], [1, 2], {}, {"a": 1}, b"x", [[[]]]]
VALUES = NUMBERS + OTHERS
CLICK = {
    "type": "ScenePointerMessage", "event_type": "click", "ray_origin": [5.0, 0.0, 0.0],
    "ray_direction": [-1.0, 0.0, 0.0], "screen_pos": [[0.5, 0.5]], "modifier": None,
}  # fmt: skip


def click(**change: Any) -> dict[str, Any]:
    return CLICK | change


def camera(**change: Any) -> dict[str, Any]:
    return CAMERA | change


def hostile(controls: list[Any]) -> Iterator[Any]:
    """Messages that no page of ours sends."""
    yield from (b"", b"\x00", b"\xc1", b"\x80", 100 * b"\x91", 40_000 * b"\x91", b"\xdd\xff\xff\xff\xff", "text")
    yield from (None, 1, [], "GuiUpdateMessage", {}, {"type": None}, {"type": []}, {"type": "Message"})
    for name in sorted(_messages.Message._subclass_from_type_string()):
        yield {"type": name}
        yield {"type": name, "uuid": "x", "name": "/body/0", "owner": "", "updates": {"visible": False}}
    for control in controls:
        uuid = control._impl.uuid
        for value in VALUES:
            yield {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}}
        for name in ("max", "min", "update_cb", "removed", "props", "uuid", "__class__", "value.x"):
            yield {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {name: 1e9}}
        yield {"type": "GuiUpdateMessage", "uuid": uuid, "updates": [["value", 1]]}
        yield {"type": "GuiUpdateMessage", "uuid": uuid}
        yield {"type": "GuiButtonHoldMessage", "uuid": uuid, "frequency": 1e9}
        yield {"type": "GuiRemoveMessage", "uuid": uuid}
    for uuid in (None, 7, [], "nobody's", ""):
        yield {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": 1}}
    for x in VALUES:
        for name in ("ray_origin", "ray_direction", "screen_pos", "modifier", "event_type"):
            yield click(**{name: x})
            yield click(**{name: [x, x, x]})
        for name in CAMERA:
            yield camera(**{name: x})
            yield camera(**{name: [x, x, x]})
    yield click(ray_direction=[0.0, 0.0, 0.0])
    yield {name: value for name, value in CLICK.items() if name != "ray_origin"}
    yield {name: value for name, value in CAMERA.items() if name != "position"}


def complaints(capfd: pytest.CaptureFixture[str]) -> list[str]:
    """What was said on standard error, but for what is compiled."""
    return [line for line in capfd.readouterr().err.splitlines() if not line.startswith("supple: compiling")]


def controls_of(server: Any) -> list[Any]:
    return list(server.gui._gui_input_handle_from_uuid.values())


def test_recording_is_shown_whatever_a_page_sends(capfd: pytest.CaptureFixture[str]) -> None:
    model = supple.trees.chain(3)
    result = supple.simulate(model, np.full(model.nq, 0.5), dt=1e-3, duration=4e-3)
    with playing(result) as (url, player):
        client, frames = Client(url), len(player.timeline)
        controls = controls_of(player._panel.server)
        assert {type(c).__name__ for c in controls} >= {
            "GuiSliderHandle", "GuiButtonHandle", "GuiCheckboxHandle", "GuiNumberHandle", "GuiDropdownHandle",
            "GuiTextHandle",
        }  # fmt: skip
        for message in hostile(controls):
            client.send(message)
        client.move(player._slider, 10**9)
        until(lambda: player._slider.value == frames - 1)
        client.move(player._speed, 0)
        until(lambda: player._speed.value == 1e-9)
        player._play.playing = False
        client.move(player._slider, 2)
        until(lambda: player._frame == 2)
        assert player._slider.max == frames - 1
        client.close()
    assert complaints(capfd) == []


def test_one_state_cannot_be_left(capfd: pytest.CaptureFixture[str]) -> None:
    """Its slider says that it is disabled; a client that moves it all the same moves nothing."""
    model = supple.trees.chain(3)
    with playing(supple.simulate(model, dt=1e-3, duration=0.0)) as (url, player):
        assert len(player.timeline) == 1
        client = Client(url)
        client.move(player._slider, 1)
        client.move(player._panel._name, "1")
        until(lambda: player._panel.picked == model.body_names[1])
        assert player._slider.value == 0
        client.close()
    assert complaints(capfd) == []


def test_run_goes_on_whatever_a_page_sends(capfd: pytest.CaptureFixture[str]) -> None:
    scene = scenes.molecule(40)
    how = dict(method="adaptive", active=5, dt=scene.dt, every=5, forces=scene.all_forces())
    run = supple.Simulation(scene.model, scene.q0, **how)  # type: ignore[arg-type]
    with going(run, scene.rods) as (url, live):
        client = Client(url)
        controls = {c.label: c for c in controls_of(live.server)}
        client.move(controls[WEIGH], True)
        for message in hostile([c for name, c in controls.items() if name != "Pause"]):
            client.send(message)

        def is_refused() -> bool:
            """Sent again and again, as pages do: what was sent before may be handled later."""
            client.send(camera(position=[1.0, 2.0, 3.0], look_at=[1.0, 2.0, 3.0]))
            client.move(controls[WEIGH], True)
            time.sleep(0.2)
            return "somewhere else" in live._panel.refused

        until(is_refused)  # said, not obeyed
        client.move(controls[WEIGH], False)
        for label, value, event in (
            ("active joints", 3, "3 active joints"),
            ("active joints", 10**9, f"{scene.model.n_joints} active joints"),
            ("error, log 10", -3, "error 0.001"),
            ("error, log 10", 400, "error 1"),
            ("force", 1, "force x 1"),
            ("force", 1e9, "force x 3"),
            ("force", -5, "force x 0"),
        ):
            before = len(run.events) if controls[label].value != value else 0
            client.move(controls[label], value)
            until(lambda event=event, since=before: event in {e.name for e in run.events[since:]})
        for value in VALUES:
            client.move(controls["force"], value)
            client.move(controls["speed"], value)
        client.move(controls["speed"], 1e9)
        here = run.cursor.time
        until(lambda: run.cursor.time > here)
        names = {event.name for event in run.events}
        assert not {name for name in names if "nan" in name or "inf" in name}
        assert {float(n.split()[-1]) for n in names if n.startswith("force x")} <= {0.0, 0.5, 1.0, 3.0}
        client.close()
    assert complaints(capfd) == []


def test_what_a_run_refuses_does_not_end_it() -> None:
    scene = scenes.molecule(40)
    run = supple.Simulation(scene.model, scene.q0, method="adaptive", active=10, dt=scene.dt, every=5)
    for joint in range(3):
        run.stepper.pin(joint)
    with going(run, scene.rods) as (url, live):
        client = Client(url)
        controls = {c.label: c for c in controls_of(live.server)}
        client.move(controls["active joints"], 1)
        until(lambda: live._panel.refused)
        assert run.stepper.active == 10
        client.move(controls["active joints"], 8)
        until(lambda: run.stepper.active == 8 and not live._panel.refused)
        client.close()


def test_many_pages_speak_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    scene = scenes.molecule(40)
    how = dict(method="adaptive", active=5, dt=scene.dt, every=5, forces=scene.all_forces())
    run = supple.Simulation(scene.model, scene.q0, **how)  # type: ignore[arg-type]
    with going(run, scene.rods) as (url, live):
        controls = [c for c in controls_of(live.server) if c.label != "Pause"]

        def speak(seed: int) -> None:
            client, rng = Client(url), np.random.default_rng(seed)
            for _ in range(150):
                some, value = controls[rng.integers(len(controls))], VALUES[rng.integers(len(VALUES))]
                client.move(some, value)
                client.send(click(ray_origin=rng.standard_normal(3).tolist()))
                client.send(camera(position=rng.standard_normal(3).tolist()))
            client.close()

        threads = [threading.Thread(target=speak, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        until(lambda: not live.server.get_clients())
        client = Client(url)
        client.move(live._speed, 1e9)
        force = next(c for c in controls if c.label == "force")
        client.move(force, 2.25)  # which nobody else asked for
        until(lambda: "force x 2.25" in {event.name for event in run.events})
        here = run.cursor.time
        until(lambda: run.cursor.time > here)
        client.close()
    assert complaints(capfd) == []


@pytest.fixture(scope="module")
def gui() -> Iterator[Any]:
    server = open_server(0)
    server.gui.add_slider("whole", 0, 7, 1, 3)
    server.gui.add_slider("part", -1.5, 2.5, 0.1, 0.0)
    server.gui.add_number("least", 1.0, min=1e-9)
    server.gui.add_checkbox("yes", True)
    server.gui.add_dropdown("one of", ("a", "b"))
    server.gui.add_text("name", "")
    server.gui.add_button("press")
    server.gui.add_vector3("place", (0.0, 0.0, 0.0))
    yield server.gui
    close_server(server)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(max_size=9),
    lambda some: st.lists(some, max_size=4) | st.dictionaries(st.text(), some, max_size=4),
    max_leaves=6,
)


@SETTINGS
@given(value=ANYTHING)
def test_value_is_one_that_its_control_can_have(gui: Any, value: Any) -> None:
    can = {
        "whole": lambda x: type(x) is int and 0 <= x <= 7,
        "part": lambda x: type(x) is float and -1.5 <= x <= 2.5,
        "least": lambda x: type(x) is float and 1e-9 <= x < math.inf,
        "yes": lambda x: type(x) is bool,
        "one of": lambda x: x in ("a", "b"),
        "name": lambda x: type(x) is str and len(x) <= LONGEST,
        "press": lambda x: type(x) is bool,
        "place": lambda x: False,
    }
    for control in gui._gui_input_handle_from_uuid.values():
        got = within(control, value)
        assert got is None or can[control.label](got)
        if can[control.label](value):
            assert got == value


@SETTINGS
@given(data=st.data())
def test_whatever_is_let_through_can_be_read_and_is_finite(gui: Any, data: Any) -> None:
    kinds = [CAMERA, CLICK, {"type": "GuiUpdateMessage", "uuid": next(iter(gui._gui_input_handle_from_uuid))}]
    fields = dict(data.draw(st.sampled_from(kinds)))
    for name in data.draw(st.lists(st.sampled_from([*fields, "updates", "owner"]), max_size=3)):
        three = st.lists(st.floats(), min_size=3, max_size=3)
        fields[name] = data.draw(ANYTHING | three | st.fixed_dictionaries({"value": ANYTHING}))
    raw = msgspec.msgpack.encode(fields)
    if data.draw(st.booleans()) and len(raw):
        place = data.draw(st.integers(0, len(raw) - 1))
        raw = raw[:place] + bytes([data.draw(st.integers(0, 255))]) + raw[place + 1 :]
    passed = heeded(raw, gui)
    if passed is None:
        return
    message = _messages.Message.deserialize(passed)
    for name in ("position", "look_at", "wxyz", "up_direction", "ray_origin", "ray_direction"):
        assert all(abs(x) <= FAR for x in getattr(message, name, ()))


def test_our_own_messages_get_through_as_they_are(gui: Any) -> None:
    for sent in (CAMERA, CLICK):
        passed = heeded(msgspec.msgpack.encode(sent), gui)
        assert passed is not None and msgspec.msgpack.decode(passed) == sent
    assert heeded(msgspec.msgpack.encode(CAMERA), None) is None
