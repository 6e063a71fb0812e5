"""Messages and names for a terminal: nothing in them is obeyed, and nothing is hidden."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import supple
from drawn import SETTINGS
from supple.errors import printable

HOSTILE = "a\x1b[31m\x1b]0;owned\x07\x9b2J\r\nb\u202e\u2028\ud800"  # colours, a title, 8-bit CSI, a line, right to left
SPELLED = "a\\x1b[31m\\x1b]0;owned\\x07\\x9b2J\\r\\nb\\u202e\\u2028\\ud800"
KINDS = [
    supple.SuppleError, supple.ModelError, supple.ParseError, supple.StateError, supple.SingularError,
    supple.SimulationError, supple.RecordingError, supple.ViewError,
]  # fmt: skip


@SETTINGS
@given(text=st.text(st.characters(exclude_categories=())), keep=st.sampled_from(["", "\n"]))
def test_what_cannot_be_seen_is_spelled_out(text: str, keep: str) -> None:
    got = printable(text, keep)
    assert all(c.isprintable() or c in keep for c in got)
    assert printable(got, keep) == got
    if not keep and "\\" not in text:
        assert got.encode("latin-1", "backslashreplace").decode("unicode_escape") == text  # nothing is lost
    if text.isprintable():
        assert got == text


def test_it_reads_as_python_writes_it() -> None:
    assert printable(HOSTILE) == SPELLED
    assert printable("Knöchel 膝") == "Knöchel 膝"
    assert printable(7) == "7"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_is_spelled_out(kind: type[supple.SuppleError]) -> None:
    said = str(kind(f"body {HOSTILE} has no mass"))
    assert said == f"body {SPELLED} has no mass".replace("\\n", "\n")
    assert str(kind("two\nlines")) == "two\nlines"
    assert str(pickle.loads(pickle.dumps(kind("Knie")))) == "Knie"


def test_file_of_an_error_is_spelled_out() -> None:
    e = supple.ParseError("nothing here", file="\x1b[2J.urdf", line=3)
    assert str(e) == "\\x1b[2J.urdf:3: nothing here"
    assert e.file == "\x1b[2J.urdf"


def hostile_model() -> supple.Model:
    b = supple.ModelBuilder(HOSTILE[:-1])
    b.add_body("base\x1b[1m", mass=1.0, inertia=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    b.add_body("tip\x1b[2J\nforged", 0, joint_name="\x9bknee", mass=1.0, inertia=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    return b.build()


def test_whatever_a_model_says_of_itself_is_spelled_out() -> None:
    model = hostile_model()
    for text in (repr(model), model.tree(), repr(model.bodies), repr(model.joints), repr(model.bodies[1]),
                 repr(model.joints[1]), str(model.report), model._repr_html_()):  # fmt: skip
        assert printable(text, keep="\n│└├") == text
    assert len(model.tree().split("\n")) == 1 + model.n_bodies  # a name makes no lines of its own
    with pytest.raises(supple.ModelError) as refused:
        model.bodies["x\x1b[31m"]
    assert str(refused.value).isprintable()


def test_pictures_of_hostile_names(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    b = supple.ModelBuilder("$\\frac$ $x_{$")
    for i, name in enumerate(("$\\bad{$", "\x1b[31m", "a\u202e$^$")):
        b.add_body(name, i - 1 if i else None, position=(0, 0, 1), axis=(0, 1, 0), mass=1.0, inertia=np.eye(3))
    model = b.build()
    model.plot(str(tmp_path / "model.svg"))
    supple.simulate(model, np.full(model.nq, 0.5), dt=1e-3, duration=3e-3).plot(str(tmp_path / "run.svg"))
    assert {file.name for file in tmp_path.iterdir()} == {"model.svg", "run.svg"}
