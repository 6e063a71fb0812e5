"""Recordings: whole at any instant, continued to the same bits, refused with a reason, exported."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import h5py
import numpy as np
import pytest

import supple
from recorded import CASES, MODEL, bouncing, equal, pulled_chain
from robots import robot
from supple.record import journal
from supple.record.journal import PAGE, Journaled
from supple.record.model_group import read_model, same_model, write_model
from supple.record.recorder import Recorder
from supple.record.recording import Recording
from supple.record.rows import Rows


def numbers(n: int) -> tuple[np.ndarray, ...]:
    """n made-up states of MODEL."""
    rng = np.random.default_rng(n)
    return np.arange(n) * 0.1, rng.random((n, MODEL.nq)), rng.random((n, MODEL.nv)), rng.random(n), rng.random(n)


def checkpoint(n: int) -> dict[str, object]:
    return {"time": float(n), "step": n, "h": 0.1, "fresh": None, "over": None, "failed": None}


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
    monkeypatch.setattr("supple.record.layout.CHUNK", 2048)
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
        with_journal += "run.h5.journal" in files
        if "run.h5" not in files:
            assert not steps
            continue
        file = Journaled(copy, "r")
        with h5py.File(file, "r") as h5:
            steps.append(json.loads(h5["checkpoint"].attrs["about"])["step"])
            times, q, v, kinetic, potential = whole[steps[-1]]
            s = {name: x[:] for name, x in h5["segments/0"].items()}
            np.testing.assert_array_equal(s["time"], times)
            np.testing.assert_array_equal(s["q"], q)
            np.testing.assert_array_equal(s["v"], v)
            np.testing.assert_array_equal(s["kinetic"], kinetic)
            np.testing.assert_array_equal(s["potential"], potential)
        file.close()
        if i % 19 == 0:
            again = Recorder(copy)
            again.go_on([MODEL], {})
            again.add(MODEL, *numbers(5))
            again.commit(checkpoint(99), ends(1), finished=True)
            again.close()
            assert not copy.with_name("run.h5.journal").exists()
            with h5py.File(copy) as h5:  # HDF5 alone reads it, too
                assert len(h5["segments/0/time"]) == len(times) + 5
    assert steps == sorted(steps) and set(steps) == {1, 2, 3} and with_journal > 20


def test_a_journaled_file_is_a_file(tmp_path):
    """Random writes, reads and commits after the first page, which is its own, against bytes in memory."""
    rng = np.random.default_rng(0)
    path, mirror = tmp_path / "file", bytearray()
    f = Journaled(path, "w")
    for _ in range(300):
        at, data = int(rng.integers(PAGE, 5 * PAGE)), rng.bytes(int(rng.integers(1, 2 * PAGE)))
        mirror.extend(bytes(max(0, at + len(data) - len(mirror))))
        mirror[at : at + len(data)] = data
        f.seek(at)
        f.write(data)
        a, b = sorted(rng.integers(PAGE, len(mirror) + 1, 2).tolist())
        f.seek(a)
        assert f.read(b - a) == mirror[a:b]
        if rng.random() < 0.1:
            f.commit()
            assert path.read_bytes()[PAGE : len(mirror)] == mirror[PAGE:]
    f.commit()
    f.close()
    rest = path.read_bytes()[len(mirror) :]
    assert path.read_bytes()[PAGE : len(mirror)] == mirror[PAGE:] and len(rest) < PAGE and not any(rest)
    assert list(tmp_path.iterdir()) == [path]


def test_models_come_back_as_they_were(tmp_path):
    models = [MODEL, supple.trees.humanoid(), supple.load(robot("talos_reduced.urdf"), floating_base=True)]
    with h5py.File(tmp_path / "models.h5", "w") as h5:
        for i, model in enumerate(models):
            write_model(h5.create_group(str(i)), model)
            back = read_model(lambda name, group=h5[str(i)]: group[name][:])
            assert same_model(model, back) is None and not back.mass.flags.writeable
            for f in fields(supple.Model):
                x, y = getattr(model, f.name), getattr(back, f.name)
                if f.name in ("frame_list", "visuals"):
                    assert repr(x) == repr(y)
                elif not isinstance(x, np.ndarray) and f.init:
                    assert x == y or tuple(x) == tuple(y)
            q = model.random(0)
            np.testing.assert_array_equal(supple.poses(model, q).position, supple.poses(back, q).position)
    assert same_model(models[0], models[1]) is not None


@pytest.mark.parametrize("name", CASES)
def test_a_resumed_run_has_the_same_bits(name, tmp_path, monkeypatch):
    """Stopped in the middle, several times, and resumed each time: the same as in one go, in memory."""
    model, how = CASES[name]
    how = {"dt": 1e-3, "check_energy": False} | how
    steps, path = 200, tmp_path / "run.h5"
    dt = float(how["dt"])  # type: ignore[arg-type]
    whole = supple.simulate(model, duration=steps * dt, **how)
    from supple.simulating import drivers, run

    monkeypatch.setattr(drivers, "NUMBERS", 12 * (model.nq + model.nv))  # small pieces
    monkeypatch.setattr("supple.record.recorder.SECONDS", 0.0)
    real, left = run.InFile.add, [0]

    def add(self: run.InFile, sample: object) -> None:
        real(self, sample)  # type: ignore[arg-type]
        left[0] -= 1
        if left[0] == 0:
            raise MemoryError  # what nothing is prepared for

    monkeypatch.setattr(run.InFile, "add", add)
    died = 0
    for first in (3, 2, 5, 4, 0):
        left[0] = first
        try:
            supple.simulate(model, duration=steps * dt, record=path, resume=True, **how)
        except MemoryError:
            died += 1
    assert died >= 2
    equal(supple.load_run(path), whole)


def test_a_longer_duration_goes_on(tmp_path):
    how = {"q": MODEL.random(0), "dt": 1e-3, "record": tmp_path / "run.h5"}
    first = supple.simulate(MODEL, duration=0.1, **how)
    assert first.about["duration"] == 0.1 and "stopped" not in first.about
    both = supple.simulate(MODEL, duration=0.2, resume=True, **how)
    assert both.about["duration"] == 0.2
    equal(both, supple.simulate(MODEL, q=MODEL.random(0), duration=0.2, dt=1e-3))


@pytest.mark.parametrize("how", [{}, {"method": "crba"}, {"integrator": "adaptive"}, {"method": "adaptive"}], ids=str)
def test_a_longer_duration_goes_on_from_within_a_step(how, tmp_path):
    """A run that was over half a step after 10 dt goes on to 11 dt. It has the states of one in one go, but for what
    two short steps differ from a long one: of a method of first order, some of a step's twentieth, not half a step."""
    how = {"q": MODEL.random(0), "dt": 1e-4, "check_energy": False} | how
    supple.simulate(MODEL, duration=1.05e-3, record=tmp_path / "run.h5", **how).close()
    both = supple.simulate(MODEL, duration=2e-3, record=tmp_path / "run.h5", resume=True, **how)
    whole = supple.simulate(MODEL, duration=2e-3, **how)
    np.testing.assert_array_equal(both.times, np.insert(whole.times, 11, 1.05e-3))
    step = np.abs(np.diff(whole.q, axis=0)).max()
    assert np.abs(np.delete(both.q, 11, axis=0) - whole.q).max() < 0.1 * step


def test_energy_from_nowhere_is_noticed_across_a_resumption(tmp_path):
    """At the same instant as in one go."""
    b = supple.ModelBuilder("pendulum")
    b.add_body("bob", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -1))
    model, how = b.build(), {"q": [1.0], "dt": 0.01, "integrator": "euler"}
    with pytest.raises(supple.SimulationError, match="energy grows") as whole:
        supple.simulate(model, duration=60.0, **how)
    steps = round(whole.value.time / 0.01)
    for end in (0.01 * (steps // 2), 0.01 * (steps - 2)):
        supple.simulate(model, duration=end, record=tmp_path / "run.h5", resume=True, **how).close()
    with pytest.raises(supple.SimulationError, match="energy grows") as parts:
        supple.simulate(model, duration=60.0, record=tmp_path / "run.h5", resume=True, **how)
    assert parts.value.time == whole.value.time


def test_what_a_recording_has(tmp_path):
    """Wrenches, active sets, errors, events, the model of every segment; one row is read at a time."""
    r = supple.simulate(MODEL, MODEL.random(0), duration=0.01, record=tmp_path / "a.h5", joint_wrenches=True)
    kept = supple.simulate(MODEL, MODEL.random(0), duration=0.01, joint_wrenches=True)
    np.testing.assert_array_equal(r.joint_wrenches, kept.joint_wrenches)
    assert r.about["versions"]["supple"] == supple.__version__ and "argv" in r.about
    assert isinstance(r.segments[0].q, Rows) and r[3].q.shape == (MODEL.nq,)
    model, how = pulled_chain()
    a = supple.simulate(model, duration=0.3, record=tmp_path / "b.h5", **how)
    b = supple.simulate(model, duration=0.3, **how)
    np.testing.assert_array_equal(a.error, b.error)
    np.testing.assert_array_equal(a.active_counts, b.active_counts)
    for i in (0, 1, len(b) - 1):
        np.testing.assert_array_equal(a[i].active, b[i].active)
    assert not a[1].v.any() and "v" not in h5py.File(tmp_path / "b.h5")["segments/0"]
    model, how = bouncing()
    c = supple.simulate(model, duration=1.0, record=tmp_path / "c.h5", **how)
    assert [e.name for e in c.events] == ["floor"] and len(c.segments) == 2
    assert same_model(c.model, model) is None and "in " in repr(c)


def test_a_run_that_an_event_stopped_is_over(tmp_path):
    model, _ = bouncing()
    stop = supple.Event("floor", lambda s: s.q[0], -1, "stop")
    how = {"q": [1.0], "events": [stop], "record": tmp_path / "run.h5", "resume": True}
    first = supple.simulate(model, duration=1.0, **how)
    again = supple.simulate(model, duration=2.0, **how)
    assert first.final.time == again.final.time < 0.5 and len(first) == len(again)
    assert "stopped" not in again.about


class Walker:
    """A stepper with a memory of its own, which it saves."""

    def __init__(self, model: supple.Model, q: np.ndarray, v: np.ndarray) -> None:
        self.model, self.q, self.v, self.time = model, q.copy(), v.copy(), 0.0
        self._memory = np.zeros(1)

    def step(self, dt: float) -> None:
        self._memory = np.sin(self._memory + 1.0)
        self.q = self.q + dt * self._memory

    def save(self) -> dict[str, np.ndarray]:
        return {"memory": self._memory}

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        self._memory = saved["memory"]


def test_a_stepper_may_save_more_than_q_and_v(tmp_path, monkeypatch):
    from supple.simulating import simulation

    monkeypatch.setitem(simulation.OWN, "walker", simulation.Own(Walker, ()))
    monkeypatch.setattr(simulation, "METHODS", (*simulation.METHODS, "walker"))
    model, _ = bouncing()
    how = {"method": "walker", "dt": 0.1, "every": 3}
    supple.simulate(model, [0.0], duration=1.2, record=tmp_path / "run.h5", **how)
    both = supple.simulate(model, [0.0], duration=3.0, record=tmp_path / "run.h5", resume=True, **how)
    equal(both, supple.simulate(model, [0.0], duration=3.0, **how))


def test_a_failed_run_keeps_what_was_good(tmp_path):
    b = supple.ModelBuilder("pendulum")
    b.add_body("bob", axis=(0, 1, 0), mass=2.0, com=(0, 0, -0.7))
    how = {"q": [1.0], "duration": 60.0, "dt": 0.05, "integrator": "euler", "record": tmp_path / "run.h5"}
    with pytest.raises(supple.SimulationError) as caught:
        supple.simulate(b.build(), **how)
    r = supple.load_run(tmp_path / "run.h5")
    assert r.final.time == caught.value.state.time == caught.value.result.final.time
    assert "energy grows" in r.about["stopped"]
    with pytest.raises(supple.RecordingError, match="ended with an error"):
        supple.simulate(b.build(), resume=True, **how)


class FullDisk:
    """The os module of a system whose disk is full from the k-th write on."""

    def __init__(self, writes: int) -> None:
        self._left = writes

    def __getattr__(self, name: str) -> object:
        real = getattr(os, name)
        if name not in ("pwrite", "write"):
            return real

        def call(*arguments: object) -> object:
            self._left -= 1
            if self._left <= 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*arguments)

        return call


@pytest.mark.parametrize("writes", [1, 5, 40, 43, 46, 49, 52, 55])
def test_a_full_disk_loses_nothing(writes, tmp_path, monkeypatch):
    path, how = tmp_path / "run.h5", {"q": MODEL.random(0), "dt": 1e-3}
    monkeypatch.setattr("supple.record.recorder.SECONDS", 0.0)
    monkeypatch.setattr("supple.simulating.drivers.SECONDS", 1e-4)
    with monkeypatch.context() as patch:
        patch.setattr(journal, "os", FullDisk(writes))
        with pytest.raises(supple.RecordingError, match=r"run\.h5 cannot be written: No space left"):
            supple.simulate(MODEL, duration=5.0, record=path, **how)
    assert sorted(p.name for p in tmp_path.iterdir() if "journal" not in p.name) in ([], ["run.h5"])
    done = supple.load_run(path).final.time if path.exists() else 0.0
    r = supple.simulate(MODEL, duration=done + 0.01, record=path, resume=True, **how)
    equal(r, supple.simulate(MODEL, duration=done + 0.01, **how))


def test_what_is_refused(tmp_path):
    path, other = tmp_path / "run.h5", supple.trees.chain(2)
    how = {"q": MODEL.random(0), "duration": 0.01, "record": path}
    supple.simulate(MODEL, **how).close()
    cases: dict[str, object] = {
        "there already": lambda: supple.simulate(MODEL, **how),
        "another model: its": lambda: supple.simulate(other, **(how | {"q": None}), resume=True),
        "recorded with dt 0.001, not 0.002": lambda: supple.simulate(MODEL, **how, dt=2e-3, resume=True),
        "cannot be read: No such file": lambda: supple.load_run(tmp_path / "no.h5"),
        "cannot be written: No such file": lambda: supple.simulate(
            MODEL, **(how | {"record": tmp_path / "no" / "a.h5"})
        ),
    }
    (tmp_path / "text.h5").write_text("not at all")
    cases["not a recording"] = lambda: supple.load_run(tmp_path / "text.h5")
    with h5py.File(tmp_path / "other.h5", "w") as h5:
        h5["x"] = 1
    cases["not a recording of Supple's"] = lambda: supple.load_run(tmp_path / "other.h5")
    shutil.copy(path, tmp_path / "future.h5")
    with h5py.File(tmp_path / "future.h5", "r+") as h5:
        h5.attrs["version"], h5.attrs["supple"] = 2, "9.0"
    cases[r"format 2, made by Supple 9\.0"] = lambda: supple.load_run(tmp_path / "future.h5")
    (tmp_path / "short.h5").write_bytes(path.read_bytes()[:-5000])
    cases["is truncated"] = lambda: supple.load_run(tmp_path / "short.h5")
    for message, call in cases.items():
        with pytest.raises(supple.RecordingError, match=message):
            call()  # type: ignore[operator]
    with pytest.raises(supple.RecordingError, match=r"is at 0\.01 s already"):
        supple.simulate(MODEL, **(how | {"duration": 0.005}), resume=True)
    assert supple.load_run(path).about["duration"] == 0.01
    writer = Recorder(path)
    with pytest.raises(supple.RecordingError, match="being written by another run"):
        supple.simulate(MODEL, **how, overwrite=True)
    writer.close()
    supple.simulate(MODEL, **how, overwrite=True)


def test_exports_have_the_same_numbers(tmp_path):
    """To the last bit; segments of one model are in one table, of several in files of their own."""
    model, how = bouncing()
    r = supple.simulate(model, duration=1.0, dt=0.01, record=tmp_path / "run.h5", **how)
    (made,) = supple.export(tmp_path / "run.h5", to="csv")
    table = np.genfromtxt(made, delimiter=",", names=True, deletechars="")
    np.testing.assert_array_equal(table["time"], r.times)
    np.testing.assert_array_equal(table[f"q.{model.joint_names[0]}"], r.q[:, 0])
    np.testing.assert_array_equal(table[f"v.{model.joint_names[0]}"], r.v[:, 0])
    assert table["segment"].max() == 1
    (made,) = supple.export(tmp_path / "run.h5", tmp_path / "out.npz")
    with np.load(made) as arrays:
        np.testing.assert_array_equal(np.concatenate([arrays["0/q"], arrays["1/q"]]), r.q)
        np.testing.assert_array_equal(arrays["0/kinetic"], r.segments[0].kinetic)
    pq = pytest.importorskip("pyarrow.parquet")
    (made,) = supple.export(tmp_path / "run.h5", to="parquet")
    rows = pq.read_table(made)
    np.testing.assert_array_equal(rows[f"q.{model.joint_names[0]}"].to_numpy(), r.q[:, 0])

    chain, pulled = pulled_chain()
    r = supple.simulate(chain, duration=0.2, record=tmp_path / "qs.h5", joint_wrenches=True, **pulled)
    with np.load(supple.export(tmp_path / "qs.h5", to="npz")[0]) as arrays:
        np.testing.assert_array_equal(arrays["q"], r.q)
        np.testing.assert_array_equal(arrays["active"], r.active_counts)
        np.testing.assert_array_equal(arrays["joint_wrenches"], r.joint_wrenches)
        assert not arrays["v"].any() and arrays["v"].shape == r.v.shape

    two = supple.trees.chain(2)
    swap = supple.Event(
        "swap", lambda s: s.time - 0.05, 1, lambda s: supple.State(s.time, np.zeros(2), np.zeros(2), two)
    )
    supple.simulate(model, [1.0], duration=0.1, events=[swap], record=tmp_path / "two.h5", dt=0.01)
    assert [p.name for p in supple.export(tmp_path / "two.h5", to="csv")] == ["two-0.csv", "two-1.csv"]
    with pytest.raises(supple.RecordingError, match="did you mean 'parquet'"):
        supple.export(tmp_path / "two.h5", to="parket")  # type: ignore[arg-type]


def test_an_export_is_whole_or_not_there(tmp_path, monkeypatch):
    """It never takes the recording's place, leaves what was there until it is whole, and writes devices as they are."""
    from supple.record import export

    supple.simulate(MODEL, MODEL.random(0), duration=0.01, record=tmp_path / "run.h5").close()
    (tmp_path / "link.npz").symlink_to(tmp_path / "run.h5")
    for name in ("run.h5", "link.npz"):
        with pytest.raises(supple.RecordingError, match="is the recording itself"):
            supple.export(tmp_path / "run.h5", tmp_path / name, to="npz")
    (tmp_path / "run.csv").write_text("before")

    def full(segments: object, path: Path) -> None:
        path.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(export, "_csv", full)
    with pytest.raises(supple.RecordingError, match=r"run\.csv cannot be written: No space left"):
        supple.export(tmp_path / "run.h5", to="csv")
    assert (tmp_path / "run.csv").read_text() == "before" and not list(tmp_path.glob("*.new"))
    monkeypatch.undo()
    if Path("/dev/null").is_char_device():
        supple.export(tmp_path / "run.h5", "/dev/null", to="csv")
        assert Path("/dev/null").is_char_device()


def test_recordings_that_are_cut_off_or_damaged_are_refused(tmp_path):
    """Cut off anywhere; without HDF5's mark; with lengths that the file cannot have; with columns that are missing."""
    path, copy, rng = tmp_path / "run.h5", tmp_path / "copy.h5", np.random.default_rng(0)
    how = {"q": MODEL.random(0), "duration": 0.01}
    supple.simulate(MODEL, record=path, **how).close()
    data = path.read_bytes()
    whole = journal.read_head(data).size  # type: ignore[union-attr]
    descriptors = Path("/proc/self/fd")
    opened = len(list(descriptors.iterdir())) if descriptors.exists() else 0
    for size in (0, 1, 47, 48, PAGE, PAGE + 100, *rng.integers(0, whole, 10).tolist(), whole - 1):
        copy.write_bytes(data[:size])
        with pytest.raises(supple.RecordingError, match=r"truncated|empty|not a recording"):
            supple.load_run(copy)
    copy.write_bytes(data[:PAGE] + b"nothing" + data[PAGE + 7 :])
    with pytest.raises(supple.RecordingError, match="damaged, and refused"):
        supple.load_run(copy)
    for name, rows in (("q", 12), ("time", 10**12), ("checkpoint", None)):
        copy.write_bytes(data)
        with h5py.File(copy, "r+") as h5:
            if rows is None:
                del h5["checkpoint"]
            for column in h5["segments/0"].values() if name == "time" else ():
                column.resize(rows, axis=0)
            if name == "q":
                h5["segments/0/q"].resize(rows, axis=0)
        with pytest.raises(supple.RecordingError, match=r"(damaged|truncated), and refused"):
            supple.load_run(copy)
    copy.write_bytes(data)
    with h5py.File(copy, "r+") as h5:
        h5["models/0/about"][:3] = 0
    with pytest.raises(supple.RecordingError, match="damaged, and refused"):
        supple.load_run(copy)
    assert not opened or len(list(descriptors.iterdir())) == opened
    copy.write_bytes(data)
    recorder = Recorder(copy)
    del recorder._h5["segments/0/kinetic"]
    with pytest.raises(supple.RecordingError, match="damaged, and cannot be written on"):
        recorder.add(MODEL, *numbers(2))
    recorder.close()


def test_long_names_of_events_are_cut_off_between_letters(tmp_path):
    recorder = Recorder(tmp_path / "run.h5", {})
    recorder.add(MODEL, *numbers(2))
    recorder.event(1.0, "a" + 70 * "é")
    recorder.commit({"failed": None, "time": 1.0}, {})
    recorder.close()
    with Recording(tmp_path / "run.h5") as r:
        assert r.events == [(1.0, "a" + 59 * "é")]


def test_a_link_to_a_recording_is_the_recording(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "run.h5").symlink_to(tmp_path / "disk" / "run.h5")
    supple.simulate(MODEL, MODEL.random(0), duration=0.01, record=tmp_path / "run.h5").close()
    assert (tmp_path / "run.h5").is_symlink() and [p.name for p in (tmp_path / "disk").iterdir()] == ["run.h5"]
    assert len(supple.load_run(tmp_path / "run.h5")) == 11


def test_memory_does_not_grow_with_a_recording(tmp_path):
    """20,000 bodies: what is held while recording stays below a few states, however many there are."""
    import tracemalloc

    model = supple.trees.chain(20_000, general=False)
    rows = np.zeros((4, model.nq))
    recorder = Recorder(tmp_path / "run.h5", {})
    tracemalloc.start()
    for k in range(60):
        recorder.add(model, np.arange(4.0), rows, rows, np.zeros(4), np.zeros(4))
        recorder.commit(checkpoint(k), {"q": rows[0], "v": rows[0]})
        if k == 5:
            tracemalloc.reset_peak()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    recorder.close()
    assert (tmp_path / "run.h5").stat().st_size > 60 * 2 * rows.nbytes
    assert peak < 8 * rows.nbytes
