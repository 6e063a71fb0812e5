"""Recordings are whole whenever their process dies: every prefix of what it wrote is one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

from recorded import MODEL, checkpoint, numbers
from supple.errors import RecordingError
from supple.record import journal, opening
from supple.record.head import PAGE, Place
from supple.record.journal import Journaled
from supple.record.recorder import Recorder
from supple.record.recording import Recording


def ends(n: int) -> dict[str, np.ndarray]:
    """The last q and v of so many states."""
    _, q, v, _, _ = numbers(n)
    return {"q": q[-1], "v": v[-1]}


class LoggedSystem:
    """The os module, and what changes files through it, one entry a change: made again, they make the same files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[tuple[object, ...]] = []
        self._paths: dict[int, str] = {}
        monkeypatch.setattr(journal, "os", self)
        monkeypatch.setattr(opening, "os", self)
        for name in ("replace", "unlink"):
            monkeypatch.setattr(Path, name, self._of_path(name, getattr(Path, name)))

    def __getattr__(self, name: str) -> object:
        real = getattr(os, name)
        if name == "open":

            def call(path: Path, flags: int, *mode: int) -> object:
                file = real(path, flags, *mode)
                self._paths[file] = Path(path).name
                if flags & os.O_CREAT:
                    self.log.append(("create", file, Path(path).name, bool(flags & os.O_TRUNC)))
                return file

            return call
        if name in ("pwrite", "write", "ftruncate"):

            def change(file: int, *what: object) -> object:
                first = bytes(what[0]) if name != "ftruncate" else what[0]  # type: ignore[call-overload]
                self.log.append((name, file, first, *what[1:]))
                return real(file, *what)

            return change
        return real

    def _of_path(self, name: str, real: object) -> object:
        def call(path: Path, *arguments: object, **options: object) -> object:
            if path.exists():
                self.log.append((name, path.name, *(Path(str(x)).name for x in arguments)))
            return real(path, *arguments, **options)  # type: ignore[operator]

        return call


def replayed(log: list[tuple[object, ...]]) -> Iterator[dict[str, bytearray]]:
    """The files after each change, and in the middle of each write."""
    files: dict[str, bytearray] = {}
    handles: dict[object, bytearray] = {}
    yield files
    for kind, *what in log:
        if kind == "create":
            handles[what[0]] = files.setdefault(str(what[1]), bytearray())
            if what[2]:
                del handles[what[0]][:]
        elif kind in ("pwrite", "write"):
            file, data = handles[what[0]], what[1]
            at = what[2] if kind == "pwrite" else len(file)
            file.extend(bytes(max(0, at + len(data) - len(file))))
            for half in (slice(0, len(data) // 2), slice(len(data) // 2, len(data))):
                file[at + half.start : at + half.stop] = data[half]
                yield files
            continue
        elif kind == "ftruncate":
            file, size = handles[what[0]], what[1]
            file.extend(bytes(max(0, size - len(file))))
            del file[size:]
        elif kind == "replace":
            files[str(what[1])] = files.pop(str(what[0]))
        else:
            del files[str(what[0])]
        yield files


def test_a_process_may_die_at_any_write(tmp_path, monkeypatch):
    """After every single change of a file, and in the middle of each write: the recording is that of a commit, reads as
    a whole, and can be written on."""
    system, path = LoggedSystem(monkeypatch), tmp_path / "run.h5"
    monkeypatch.setattr("supple.record.tables.CHUNK", 2048)
    recorder = Recorder(path, {"dt": 0.1})
    for k in range(1, 4):
        recorder.add(MODEL, *numbers(60 * k))  # beyond the size of a chunk
        recorder.commit(checkpoint(k), ends(k))
    recorder.close()
    monkeypatch.undo()
    whole = {k: [np.concatenate(x) for x in zip(*(numbers(60 * j) for j in range(1, k + 1)))] for k in (1, 2, 3)}
    copy, steps, with_journal = tmp_path / "copy" / "run.h5", [], 0
    copy.parent.mkdir()
    for i, files in enumerate(replayed(system.log)):
        for old in copy.parent.iterdir():
            old.unlink()
        for name, data in files.items():
            (copy.parent / name).write_bytes(data)
        with_journal += any(name.endswith(".journal") for name in files)
        if "run.h5" not in files:
            assert not steps
            continue
        with Recording(copy) as r:
            steps.append(r.state["step"])
            times, q, v, kinetic, potential = whole[steps[-1]]
            (part,) = r.segments
            np.testing.assert_array_equal(part.times, times)
            np.testing.assert_array_equal(part.q, q)
            np.testing.assert_array_equal(part.v, v)
            np.testing.assert_array_equal(part.kinetic, kinetic)
            np.testing.assert_array_equal(part.potential, potential)
            np.testing.assert_array_equal(r.checkpoint()[1]["q"], ends(steps[-1])["q"])
        if i % 19 == 0:
            again = Recorder(copy)
            again.go_on({0: MODEL}, {})
            again.add(MODEL, *numbers(5))
            again.commit(checkpoint(99), ends(1), finished=True)
            again.close()
            assert [p.name for p in copy.parent.iterdir() if p.name.endswith(".journal")] == []
            with h5py.File(copy) as h5:  # HDF5 alone reads it, too
                np.testing.assert_array_equal(h5["states/0/q"][: len(times)], q)
                np.testing.assert_array_equal(h5["states/0/time"][len(times) :], numbers(5)[0])
    assert steps == sorted(steps) and set(steps) == {1, 2, 3} and with_journal > 20


def files_along_three_commits(tmp_path, monkeypatch):
    """Copies of the files after every change: of the recording, and of its journal where it has one."""
    system = LoggedSystem(monkeypatch)
    recorder = Recorder(tmp_path / "made.h5", {"dt": 0.1})
    for k in range(1, 4):
        recorder.add(MODEL, *numbers(5))
        recorder.commit(checkpoint(k), ends(k))
    recorder.close()
    monkeypatch.undo()
    return [{name: bytes(data) for name, data in files.items()} for files in replayed(system.log)]


def with_journal(along):
    """Of those, the ones with a journal that is complete, by their journals' name."""
    name = next(n for files in along for n in files if n.endswith(".journal"))
    return name, [files for files in along if name in files and "made.h5" in files]


def test_a_journal_that_is_not_as_it_was_written_is_refused(tmp_path, monkeypatch):
    """Whichever byte of it is another one: its pages would go into the recording."""
    name, steps = with_journal(files_along_three_commits(tmp_path, monkeypatch))
    folder, files = tmp_path / "copy", steps[-1]
    folder.mkdir()
    (folder / "made.h5").write_bytes(files["made.h5"])
    size = len(files[name])
    for at in [0, 20, 70, 80, *np.linspace(90, size - 1, 20).astype(int).tolist()]:
        data = bytearray(files[name])
        data[at] ^= 1
        (folder / name).write_bytes(data)
        with pytest.raises(RecordingError, match="is damaged, and refused"):
            Recording(folder / "made.h5")
    (folder / name).write_bytes(files[name])
    with Recording(folder / "made.h5") as r:
        assert r.state["step"] == 3


def test_a_journal_of_an_earlier_commit_is_not_heeded(tmp_path, monkeypatch):
    """Left behind by a copy, say: what the recording had then would replace what it has now."""
    along = files_along_three_commits(tmp_path, monkeypatch)
    name, steps = with_journal(along)
    folder = tmp_path / "copy"
    folder.mkdir()
    (folder / "made.h5").write_bytes(along[-1]["made.h5"])
    (folder / name).write_bytes(steps[0][name])
    with Recording(folder / "made.h5") as r:
        assert r.state["step"] == 3 and len(r.segments[0].times) == 15
    (folder / "made.h5").write_bytes(steps[0]["made.h5"])
    with Recording(folder / "made.h5") as r:
        assert r.state["step"] < 3  # beside the file that it was written for


def test_a_journaled_file_is_a_file(tmp_path):
    """Random writes and commits after the first page, which is its own, against bytes in memory."""
    rng = np.random.default_rng(0)
    path, mirror = tmp_path / "file", bytearray()
    f = Journaled(path, "w")
    for _ in range(300):
        at, data = int(rng.integers(PAGE, 5 * PAGE)), rng.bytes(int(rng.integers(1, 2 * PAGE)))
        mirror.extend(bytes(max(0, at + len(data) - len(mirror))))
        mirror[at : at + len(data)] = data
        f.write(at, data)
        a, b = sorted(rng.integers(PAGE, len(mirror) + 1, 2).tolist())
        assert f.read(a, b - a) == mirror[a:b]
        if rng.random() < 0.1:
            f.commit(Place(0, 0, 0))
            assert path.read_bytes()[PAGE : len(mirror)] == mirror[PAGE:]
    f.commit(Place(0, 0, 0))
    f.close()
    rest = path.read_bytes()[len(mirror) :]
    assert path.read_bytes()[PAGE : len(mirror)] == mirror[PAGE:] and len(rest) < PAGE and not any(rest)
    assert list(tmp_path.iterdir()) == [path]
