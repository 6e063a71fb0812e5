"""Recordings: what they hold, what is refused and why, and what a full disk or a failure leaves."""

from __future__ import annotations

import errno
import gc
import os
from dataclasses import fields
from pathlib import Path

import h5py
import numpy as np
import pytest

import supple
from recorded import MODEL, bouncing, checkpoint, equal, numbers, pulled_chain
from robots import robot
from supple.record import journal
from supple.record.head import LENGTH, PAGE, read_head
from supple.record.models import same_model
from supple.record.recorder import Recorder
from supple.record.recording import Recording
from supple.record.rows import Rows


def test_models_come_back_as_they_were(tmp_path):
    models = [MODEL, supple.trees.humanoid(), supple.load(robot("talos_reduced.urdf"), floating_base=True)]
    for i, model in enumerate(models):
        path = tmp_path / f"{i}.h5"
        recorder = Recorder(path, {})
        rows = np.zeros(1), model.random(0)[None], np.zeros((1, model.nv)), np.zeros(1), np.zeros(1)
        recorder.add(model, *rows)
        recorder.commit(checkpoint(1), {})
        recorder.close()
        with Recording(path) as r:
            back = r.model(0)
        assert same_model(model, back) is None and not back.mass.flags.writeable
        for f in fields(supple.Model):
            x, y = getattr(model, f.name), getattr(back, f.name)
            if f.name in ("frame_list", "visuals"):
                assert repr(x) == repr(y)
            elif not isinstance(x, np.ndarray) and f.init:
                assert x == y or tuple(x) == tuple(y)
        q = model.random(0)
        np.testing.assert_array_equal(supple.poses(model, q).position, supple.poses(back, q).position)
        with h5py.File(path) as h5:  # other tools see them, too
            np.testing.assert_array_equal(h5["models/0/inertia"], model.inertia)
            np.testing.assert_array_equal(h5["models/0/parent"], model.parent)
    assert same_model(models[0], models[1]) is not None


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
        np.testing.assert_array_equal(a[i].active_joints, b[i].active_joints)
    assert not a[1].v.any() and "v" not in h5py.File(tmp_path / "b.h5")["states/0"]
    model, how = bouncing()
    c = supple.simulate(model, duration=1.0, record=tmp_path / "c.h5", **how)
    assert [e.name for e in c.events] == ["floor"] and len(c.segments) == 2
    assert same_model(c.model, model) is None and "in " in repr(c)


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
        "another model, different in": lambda: supple.simulate(other, **(how | {"q": None}), resume=True),
        "recorded with dt 0.001, not 0.002": lambda: supple.simulate(MODEL, **how, dt=2e-3, resume=True),
        "cannot be read: No such file": lambda: supple.load_run(tmp_path / "no.h5"),
        "cannot be written: there is no folder": lambda: supple.simulate(
            MODEL, **(how | {"record": tmp_path / "no" / "a.h5"})
        ),
    }
    (tmp_path / "text.h5").write_text("not at all")
    cases["not a recording"] = lambda: supple.load_run(tmp_path / "text.h5")
    with h5py.File(tmp_path / "other.h5", "w") as h5:
        h5["x"] = 1
    cases["not a recording of Supple's"] = lambda: supple.load_run(tmp_path / "other.h5")
    data = path.read_bytes()
    head = read_head(data)
    (tmp_path / "future.h5").write_bytes(head._replace(format=99).packed() + data[LENGTH:])
    cases[r"is of format 99; this Supple reads format 3"] = lambda: supple.load_run(tmp_path / "future.h5")
    (tmp_path / "old.h5").write_bytes(data[:48].ljust(PAGE, b"\0") + data[PAGE:])
    cases["of an earlier format"] = lambda: supple.load_run(tmp_path / "old.h5")
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


def test_recordings_that_are_cut_off_are_refused(tmp_path):
    path, copy, rng = tmp_path / "run.h5", tmp_path / "copy.h5", np.random.default_rng(0)
    supple.simulate(MODEL, record=path, q=MODEL.random(0), duration=0.01).close()
    data = path.read_bytes()
    whole = read_head(data).size
    descriptors = Path("/proc/self/fd")
    opened = len(list(descriptors.iterdir())) if descriptors.exists() else 0
    for size in (0, 1, 47, 48, PAGE, PAGE + 100, *rng.integers(0, whole, 10).tolist(), whole - 1):
        copy.write_bytes(data[:size])
        with pytest.raises(supple.RecordingError, match=r"truncated|empty|not a recording|damaged"):
            supple.load_run(copy)
    assert not opened or len(list(descriptors.iterdir())) == opened


def test_names_of_events_may_be_long(tmp_path):
    recorder, name = Recorder(tmp_path / "run.h5", {}), "a" + 7000 * "é"
    recorder.add(MODEL, *numbers(2))
    recorder.event(1.0, name)
    recorder.event(2.0, "")
    recorder.commit({"failed": None, "time": 1.0}, {})
    recorder.close()
    with Recording(tmp_path / "run.h5") as r:
        assert r.events == [(1.0, name), (2.0, "")]


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


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no list of open files")
def test_recordings_that_nobody_closes_are_closed(tmp_path):
    model, path = supple.trees.chain(2), tmp_path / "run.h5"
    supple.simulate(model, duration=0.01, dt=0.01, record=path, check_energy=False).close()
    gc.collect()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        supple.load_run(path).segments[0].q[0]
    gc.collect()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_rows_are_indexed_as_arrays_are(tmp_path):
    """In every way, or refused as they refuse it."""
    model = supple.trees.chain(2)
    run = supple.simulate(model, duration=0.06, dt=0.01, record=tmp_path / "run.h5", check_energy=False)
    rows, whole = run.segments[0].q, np.asarray(run.segments[0].q)
    n = len(whole)
    assert n == 7
    keys = [
        (), ..., None, True, whole > whole.mean(), (..., 0), whole[:, 0] > 0, 0, -1, np.int8(-n), np.array(3), [],
        [0, -1], [[0, 1], [2, -3]], (1, 1), (slice(2, 5), 1), ([1, 2], [0, 1]), (whole[:, 0] > 0, 1), range(3),
        (np.arange(3), None), np.array([3, 1], dtype=np.uint64), (2, ..., None),
    ]  # fmt: skip
    ends = [None, 0, 1, 3, n, n + 2, -1, -n, -n - 2]
    keys += [slice(a, b, c) for a in ends for b in ends for c in (None, 1, 2, -1, -3, 100)]
    for key in keys:
        np.testing.assert_array_equal(rows[key], whole[key], err_msg=repr(key))
    for key in (n, -n - 1, [0, n], np.ones(n - 1, dtype=bool), 1.0, [0.5], "x", (0, 2), np.int64(2**62)):
        for x in (rows, whole):
            with pytest.raises(IndexError):
                x[key]
    run.close()
