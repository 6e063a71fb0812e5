"""Recordings read while another process writes them: what was there when they were opened, whatever came since."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import supple
from supple import holding
from supple.errors import RecordingError
from supple.record import journal, opening
from supple.record.index import leaves
from supple.record.journal import Journaled
from supple.record.models import same_model
from supple.record.recorder import Recorder
from supple.record.recording import Recording
from supple.record.rows import Column, Rows
from supple.record.tables import Store

MODEL = supple.trees.random_tree(6, seed=2)
STATES = 7  #: added by each commit


def q_of(n: int) -> np.ndarray:
    """The rows of n states: each says which it is."""
    return np.arange(n)[:, None] + np.linspace(0.0, 0.5, MODEL.nq)


class Writer:
    """A recording under way, as another process would have it."""

    def __init__(self, path: Path) -> None:
        self.recorder, self.count = Recorder(path, {"dt": 0.1}), 0
        self.commit()

    def commit(self) -> None:
        first, self.count = self.count, self.count + STATES
        t, q = np.arange(first, self.count) * 0.1, q_of(self.count)[first:]
        self.recorder.add(MODEL, t, q, np.zeros((STATES, MODEL.nv)), t, t, error=t, active=[np.arange(3)] * STATES)
        self.recorder.event(float(self.count), "more")
        state = {"time": float(self.count), "step": self.count, "failed": None}
        self.recorder.commit(state, {"q": q[-1], "v": np.zeros(MODEL.nv)})


@pytest.fixture
def small_and_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supple.record.tables.CHUNK", 1024)
    monkeypatch.setattr(journal.os, "fsync", lambda file: None)


def whole(r: Recording) -> int:
    """How many states a recording has, of which all must be there, and all of one commit."""
    (segment,) = r.segments
    n = len(segment)
    assert n == r.state["step"] == STATES * r.generation == STATES * len(r.events)
    np.testing.assert_array_equal(segment.times, 0.1 * np.arange(n))
    np.testing.assert_array_equal(np.asarray(segment.q), q_of(n))
    np.testing.assert_array_equal(segment.q[n // 2], q_of(n)[n // 2])
    np.testing.assert_array_equal(segment.active_joints(n - 1), np.arange(3))
    return n


@pytest.mark.parametrize("commits", [1, 3])
def test_commits_between_any_two_reads(commits, small_and_quick, tmp_path, monkeypatch):
    """The file changes before the k-th time that bytes are read from it."""
    writer = Writer(tmp_path / "run.h5")
    real, left = journal._read_some, [0]

    def read_some(*arguments: Any) -> bytes:
        left[0] -= 1
        for _ in range(commits if left[0] == 0 else 0):
            writer.commit()
        return real(*arguments)

    monkeypatch.setattr(journal, "_read_some", read_some)
    for k in range(1, 41, commits):
        left[0] = k
        with Recording(tmp_path / "run.h5") as r:
            whole(r)
        assert left[0] <= 0


def test_a_reader_looks_in_the_middle_of_commits(small_and_quick, tmp_path, monkeypatch):
    """After each page that a commit writes, one who reads for long reads a row, and another opens the file."""
    path, seen = tmp_path / "run.h5", []
    writer = Writer(path)
    first = Recording(path)
    real = journal._write_at

    def write_at(*arguments: Any) -> int:
        done = real(*arguments)
        n = len(first.segments[0])
        np.testing.assert_array_equal(first.segments[0].q[len(seen) % n], q_of(n)[len(seen) % n])
        with Recording(path) as r:
            seen.append(whole(r))
        return done

    monkeypatch.setattr(journal, "_write_at", write_at)
    for _ in range(3):
        writer.commit()
    monkeypatch.undo()
    assert seen == sorted(seen) and set(seen) == {k * STATES for k in (1, 2, 3, 4)} and len(seen) > 15
    assert whole_as_before(first) == STATES
    first.close()
    with pytest.raises(supple.RecordingError, match="is closed"):
        _ = first.segments[0].q[0]


def whole_as_before(r: Recording) -> int:
    """The states that a recording had when it was opened, though the file has more."""
    (segment,) = r.segments
    np.testing.assert_array_equal(np.asarray(segment.q), q_of(len(segment)))
    return len(segment)


def test_a_journal_beside_another_file_is_not_its_own(tmp_path, monkeypatch):
    """A run is killed in the middle of a commit, and another recording put in its place."""
    writer = Writer(tmp_path / "run.h5")
    monkeypatch.setattr(journal, "_apply", lambda *_: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(MemoryError):
        writer.commit()
    writer.recorder.close()
    monkeypatch.undo()
    with Recording(tmp_path / "run.h5") as r:  # the journal is its own: it counts
        assert whole(r) == 2 * STATES
    assert len(list(tmp_path.glob("run.h5.*.journal"))) == 1
    Writer(tmp_path / "other.h5").recorder.close()
    shutil.copy(tmp_path / "other.h5", tmp_path / "run.h5")
    with Recording(tmp_path / "run.h5") as r:
        assert whole(r) == STATES


def test_a_recording_put_in_the_place_of_another_is_not_taken_for_it(tmp_path):
    path = tmp_path / "run.h5"
    writer = Writer(path)
    r = Recording(path)
    assert same_model(r.model(0), MODEL) is None
    writer.commit()
    writer.recorder.close()
    path.unlink()
    Writer(path).recorder.close()
    assert whole_as_before(r) == STATES  # what it opened is there for as long as it is open
    r.close()
    with pytest.raises(supple.RecordingError, match="is closed"):
        _ = r.segments[0].v[0]


def test_two_who_resume_at_once(tmp_path):
    """A recording that went on after it was looked at is not continued from what was seen."""
    writer = Writer(tmp_path / "run.h5")
    with Recording(tmp_path / "run.h5") as r:
        seen = r.generation
    writer.commit()
    writer.recorder.close()
    with pytest.raises(supple.RecordingError, match="being written by another run"):
        Recorder(tmp_path / "run.h5", generation=seen)
    Recorder(tmp_path / "run.h5", generation=seen + 1).close()


def test_who_looks_whether_a_file_is_written_does_not_write_it(tmp_path, monkeypatch):
    path = tmp_path / "run.h5"
    writer = Writer(path)
    assert opening.in_use(path)
    writer.recorder.close()
    with path.open("rb") as another:
        assert holding.lock(another.fileno(), alone=False)
        assert not opening.in_use(path)

    def flock(*_: Any) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    if holding.LOCKS:
        monkeypatch.setattr(holding.fcntl, "flock", flock)
    Recorder(path, generation=1).close()  # a file system without locks is none on which all files are in use


def test_rows_are_indexed_as_arrays_are(tmp_path, monkeypatch):
    monkeypatch.setattr("supple.record.tables.CHUNK", 6 * 48)  # several chunks
    x = np.random.default_rng(0).random((29, 3, 2))
    file = Journaled(tmp_path / "file", "w")
    store = Store(file)
    store.table("x", (3, 2)).add(x)
    store.commit()
    table = store.tables["x"].table
    rows = Rows(Column(file, "x", table, leaves(file.read, table, "x"), RecordingError), 4, 27)
    x = x[4:27]
    assert table.chunks == 5
    for key in (0, -1, np.int64(5), slice(None), slice(3, 17), slice(17, 3), slice(None, None, 5), slice(9, 2, -2),
                (4, 1), (4, 1, 0), (slice(2, 20), 1), [3, 1, 1], np.arange(23) % 2 == 0, ..., (..., 1),
                ([3, 1], [0, 2]), (0, slice(None), [1, 0]), (slice(9, 2, -2), [1, 0])):  # fmt: skip
        got = rows[key]
        assert np.shape(got) == np.shape(x[key])
        np.testing.assert_array_equal(got, x[key])
    assert len(rows) == 23 and rows.ndim == 3 and "23 x 3 x 2" in repr(rows)
    np.testing.assert_array_equal(rows, x)
    for key in (23, -24, (0, 3)):
        with pytest.raises(IndexError):
            rows[key]


WRITER = """
import sys, supple
from supple.record import journal, recorder
from supple.simulating import drivers
recorder.SECONDS = drivers.SECONDS = 0.0
journal.os.fsync = lambda file: None
model = supple.trees.random_tree(6, seed=2)
supple.simulate(model, model.random(0), duration=1e9, check_energy=False, record=sys.argv[1])
"""


def test_a_process_writes_and_another_reads(tmp_path):
    """Real processes; the reader opens the file until it has seen fifteen lengths of it."""
    path = tmp_path / "run.h5"
    env = os.environ | {"SUPPLE_THREADS": "1"}
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], env=env) as process:
        try:
            while not path.exists():
                assert process.poll() is None
            seen: set[int] = set()
            rows = supple.simulate(MODEL, MODEL.random(0), duration=3e-3, check_energy=False).q
            while len(seen) < 15:
                assert process.poll() is None
                r = supple.load_run(path)
                n = len(r)
                assert r.q.shape == (n, MODEL.nq) and r.times[-1] == pytest.approx(1e-3 * (n - 1))
                assert r.about["stopped"] == f"not finished, at {r.times[-1]:.6g} s"
                np.testing.assert_array_equal(r.q[: len(rows)], rows[:n])
                r.close()
                seen.add(n)
        finally:
            process.kill()
