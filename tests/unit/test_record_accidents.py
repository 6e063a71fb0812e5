"""Recordings under accidents: deleted, moved or replaced while they are written, links and pipes in their places, two
writers, and systems without locks."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import supple
from recorded import MODEL, checkpoint, numbers
from supple import holding
from supple.errors import RecordingError
from supple.record import journal, opening
from supple.record.head import PAGE
from supple.record.journal import Journaled
from supple.record.recorder import Recorder
from supple.record.recording import Recording


def begun(path: Path) -> Recorder:
    """A recording after its first commit."""
    recorder = Recorder(path, {})
    more(recorder, 1)
    return recorder


def more(recorder: Recorder, k: int) -> None:
    recorder.add(MODEL, *numbers(3))
    recorder.commit(checkpoint(k), {"q": np.zeros(2)})


def states(path: Path) -> int:
    with Recording(path) as r:
        return len(r.segments[0].times)


@pytest.mark.parametrize("what", ["deleted", "moved", "replaced"])
def test_a_recording_that_is_gone_is_noticed_at_the_next_commit(what, tmp_path):
    path = tmp_path / "run.h5"
    recorder = begun(path)
    more(recorder, 2)
    if what != "deleted":
        path.rename(tmp_path / "moved.h5")
    else:
        path.unlink()
    if what == "replaced":
        path.write_text("precious")
    with pytest.raises(RecordingError, match=r"run\.h5 was deleted, moved or replaced while its run went on"):
        more(recorder, 3)
    recorder.close()
    left = {"deleted": [], "moved": ["moved.h5"], "replaced": ["moved.h5", "run.h5"]}
    assert sorted(p.name for p in tmp_path.iterdir()) == left[what]
    if what == "replaced":
        assert path.read_text() == "precious"
    if what != "deleted":
        assert states(tmp_path / "moved.h5") == 6
        more(again := Recorder(tmp_path / "moved.h5"), 3)
        again.close()
        assert states(tmp_path / "moved.h5") == 9


def test_a_run_ends_when_its_recording_is_deleted(tmp_path, monkeypatch):
    monkeypatch.setattr("supple.record.recorder.SECONDS", 0.0)
    monkeypatch.setattr("supple.simulating.drivers.SECONDS", 0.0)
    path, seen = tmp_path / "run.h5", []

    def push(time: float, q: Any, v: Any) -> Any:
        seen.append(time)
        if len(seen) == 100:
            path.unlink()
        return np.zeros(MODEL.nv)

    with pytest.raises(RecordingError, match="was deleted, moved or replaced"):
        supple.simulate(MODEL, MODEL.random(0), duration=10.0, tau=push, record=path)
    assert seen[-1] < 0.2


def test_two_files_never_share_a_journal(tmp_path, monkeypatch):
    """One is moved away, and another takes its name; both die in the middle of a commit."""
    path = tmp_path / "run.h5"
    first = begun(path)

    def die(*_: Any) -> None:
        raise MemoryError

    path.rename(tmp_path / "old.h5")
    first._file.path = first._file._at = tmp_path / "old.h5"  # as if it had been there from the beginning
    second = begun(path)
    (tmp_path / "old.h5").rename(tmp_path / "kept.h5")
    path.rename(tmp_path / "old.h5")
    second._file.path = second._file._at = tmp_path / "old.h5"
    monkeypatch.setattr(journal, "_apply", die)
    with pytest.raises(MemoryError):
        more(second, 2)
    with pytest.raises(RecordingError, match="deleted, moved or replaced"):
        more(first, 2)
    monkeypatch.undo()
    first.close(), second.close()
    assert len(list(tmp_path.glob("old.h5.*.journal"))) == 1
    assert (states(tmp_path / "old.h5"), states(tmp_path / "kept.h5")) == (6, 3)


def test_links_in_the_place_of_new_files_are_not_followed(tmp_path):
    precious, path = tmp_path / "precious", tmp_path / "run.h5"
    precious.write_text("precious")
    new = tmp_path / "run.h5.new"
    new.symlink_to(precious)
    with pytest.raises(RecordingError, match=r"run\.h5\.new is a link, not a file"):
        Recorder(path, {})
    new.unlink()
    recorder = begun(path)
    link = journal._journal(path, recorder._file.head.id)
    link.with_name(link.name + ".new").symlink_to(precious)
    more(recorder, 2)
    recorder.close()
    (tmp_path / "run.csv.new").symlink_to(precious)
    supple.export(path, tmp_path / "run.csv")
    assert precious.read_text() == "precious" and states(path) == 6


def test_what_a_killed_run_left_is_removed(tmp_path):
    path, new = tmp_path / "run.h5", tmp_path / "run.h5.new"
    new.write_bytes(b"some bytes" * 1000)
    begun(path).close()
    assert states(path) == 3 and not new.exists()


def test_two_who_begin_at_once(tmp_path):
    """The second is refused; the first goes on."""
    first = Recorder(tmp_path / "run.h5", {})
    with pytest.raises(RecordingError, match="being written by another run"):
        Recorder(tmp_path / "run.h5", {}, overwrite=True)
    more(first, 1)
    with pytest.raises(RecordingError, match="being written by another run"):
        Recorder(tmp_path / "run.h5", {}, overwrite=True)
    first.close()
    assert states(tmp_path / "run.h5") == 3


def test_a_lock_is_of_the_file_that_has_the_name(tmp_path, monkeypatch):
    """Between opening and locking, another file takes the name: that one is opened."""
    path, real, others = tmp_path / "run.h5", holding.lock, []
    begun(path).close()

    def lock(file: int, alone: bool = True) -> bool | None:
        if not others:
            others.append(path.rename(tmp_path / "old.h5"))
            more(other := begun(path), 2)
            other.close()
        return real(file, alone)

    monkeypatch.setattr(journal, "lock", lock)
    recorder = Recorder(path)
    more(recorder, 3)
    recorder.close()
    assert states(path) == 9 and states(tmp_path / "old.h5") == 3


@pytest.mark.skipif(not holding.LOCKS, reason="there are no locks to be without")
def test_without_locks_a_second_writer_is_found(tmp_path, monkeypatch):
    def flock(*_: Any) -> None:
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(holding.fcntl, "flock", flock)
    path = tmp_path / "run.h5"
    first = begun(path)
    second = Recorder(path)
    with pytest.raises(RecordingError, match="being written by another run"):
        more(first, 2)
    more(second, 3)
    first.close(), second.close()
    assert states(path) == 6
    (tmp_path / "other.h5.new").write_bytes(b"")
    with pytest.raises(RecordingError, match=r"other\.h5\.new is there: another run begins other\.h5"):
        Recorder(tmp_path / "other.h5", {})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_pipes_and_devices_are_refused_and_not_waited_for(tmp_path):
    pipe, path = tmp_path / "pipe.h5", tmp_path / "run.h5"
    os.mkfifo(pipe)
    for what in (pipe, Path("/dev/zero"), tmp_path):
        with pytest.raises(RecordingError, match=r"is a (pipe|device|folder)"):
            supple.load_run(what)
        with pytest.raises(RecordingError, match=r"cannot be written: it is a (pipe|device|folder)"):
            supple.simulate(MODEL, duration=0.01, record=what, overwrite=True)
        assert not opening.in_use(what)
    (tmp_path / "link.h5").symlink_to(pipe)
    with pytest.raises(RecordingError, match="is a pipe"):
        supple.load_run(tmp_path / "link.h5")
    recorder = begun(path)
    recorder.close()
    os.mkfifo(journal._journal(path, recorder._file.head.id))
    with pytest.raises(RecordingError, match=r"journal is a pipe"):
        supple.load_run(path)
    os.mkfifo(tmp_path / "new.h5.new")
    with pytest.raises(RecordingError, match=r"new\.h5\.new is a pipe"):
        Recorder(tmp_path / "new.h5", {})


def test_a_journal_that_is_damaged_is_named(tmp_path, monkeypatch):
    """Any bit, any length, any number of pages: it is refused, and the file without it is as it was before."""
    path, rng = tmp_path / "run.h5", np.random.default_rng(0)
    recorder = begun(path)

    def die(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(journal, "_apply", die)
    with pytest.raises(MemoryError):
        more(recorder, 2)
    recorder.close()
    monkeypatch.undo()
    (at,) = tmp_path.glob("*.journal")
    data = at.read_bytes()
    assert states(path) == 6
    cases = [data[: int(n)] for n in (0, 8, 81, 100, len(data) - 1, *rng.integers(0, len(data), 20))]
    for i in rng.integers(0, 8 * len(data), 100).tolist():
        flipped = bytearray(data)
        flipped[i // 8] ^= 1 << i % 8
        cases.append(bytes(flipped))
    body = bytearray(data[len(journal.JOURNAL) + 64 :])
    for count in (-1, 0, 1, 2**40, 2**62):  # with a checksum that is right
        body[:8] = int(count).to_bytes(8, "little", signed=True)
        cases.append(journal.JOURNAL + journal.hashlib.blake2b(body).digest() + bytes(body))
    for bad in cases:
        at.write_bytes(bad)
        with pytest.raises(RecordingError, match=r"journal is damaged, and refused"):
            supple.load_run(path)
        with pytest.raises(RecordingError, match=r"journal is damaged, and refused"):
            Recorder(path)
    at.unlink()
    assert states(path) == 3


def test_reading_stops_where_a_file_ends(tmp_path):
    """A page of the journal or the file that is short is no reason to try for ever."""
    file = Journaled(tmp_path / "file", "w")
    file.write(PAGE, b"abc")
    assert file.read(PAGE, 10**6) == b"abc" and file.read(10 * PAGE, 5) == b""
    file.close()


def test_links_that_lead_to_themselves(tmp_path):
    link = tmp_path / "run.h5"
    link.symlink_to("run.h5")
    with pytest.raises(supple.RecordingError, match="is a link"):
        supple.load_run(link)
    with pytest.raises(supple.RecordingError, match="is a link"):
        supple.export(link, tmp_path / "run.csv")
    with pytest.raises(supple.ModelError, match="cannot be written"):
        supple.save_urdf(supple.trees.chain(2), link)
    supple.save_urdf(supple.trees.chain(2), tmp_path / "r.urdf")
    assert supple.load(tmp_path / "r.urdf", package_dirs=[link]).n_bodies == 2


@pytest.mark.parametrize("size", [PAGE + 900, 50, 0])
def test_a_recording_that_is_cut_off_is_noticed_at_the_next_commit(size, tmp_path):
    recorder = begun(tmp_path / "run.h5")
    os.truncate(tmp_path / "run.h5", size)
    with pytest.raises(RecordingError, match=f"was cut off while its run went on.* {size} are left"):
        more(recorder, 2)


def test_a_first_page_that_is_overwritten_is_noticed_at_the_next_commit(tmp_path):
    recorder = begun(tmp_path / "run.h5")
    with (tmp_path / "run.h5").open("r+b") as f:
        f.write(b"something else")
    with pytest.raises(RecordingError, match="was overwritten while its run went on"):
        more(recorder, 2)


def test_names_beside_which_a_journal_has_no_room_are_refused_at_once(tmp_path):
    for length in (255, 227):
        with pytest.raises(RecordingError, match=f"too long by {length - 226} bytes.*give a shorter name"):
            Recorder(tmp_path / ("r" * length), {})
        assert not list(tmp_path.iterdir())
    recorder = begun(tmp_path / ("r" * 226))
    more(recorder, 2)
    recorder.close()
    assert states(recorder.path) == 6


@pytest.mark.parametrize("begins", [b"", journal.JOURNAL])
def test_a_journal_that_is_mostly_a_hole_is_not_read(begins, tmp_path, monkeypatch):
    """It takes nothing on its disk, and no more in memory than what its recording can have."""
    begun(tmp_path / "run.h5").close()
    with Recording(tmp_path / "run.h5") as r:
        at = journal._journal(r.path, r._file.head.id)
    with at.open("wb") as f:
        f.write(begins)
        f.truncate(2**32)
    sizes, read = [], journal._read_some
    monkeypatch.setattr(journal, "_read_some", lambda *a: sizes.append(a[1]) or read(*a))
    with pytest.raises(RecordingError, match="is damaged, and refused"):
        Recording(tmp_path / "run.h5")
    assert sum(sizes) < 2 * PAGE
