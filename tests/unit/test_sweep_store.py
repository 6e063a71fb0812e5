"""The store of a sweep: read while it grows, resumed after a kill at any instant, refused where it is another one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import supple
from supple import StateError, SweepError
from supple.sweeping import store as stores
from supple.sweeping import zarr_format
from supple.sweeping.sweep import go_on
from sweeps import batched, mixed, noisy, same, slow

OVER = {"a": [1, 2, 3, 4], "b": [1, 2, 3]}


def kept(out, what=noisy, over=OVER, **how):
    return supple.sweep(what, over, engine="serial", out=out, **how)


@pytest.fixture
def small_chunks(monkeypatch):
    """So that a small sweep has many, written at once."""
    monkeypatch.setattr("supple.sweeping.table.RUNS", 5)
    monkeypatch.setattr(stores, "SECONDS", 0.0)
    monkeypatch.setattr(stores, "SHARE", 0.0)


def test_what_is_kept_is_what_it_is_in_memory(tmp_path, small_chunks):
    s = kept(tmp_path / "s.zarr", repeats=3)
    assert same(s, supple.sweep(noisy, OVER, engine="serial", repeats=3))
    assert same(supple.load_sweep(tmp_path / "s.zarr"), s) and s.axes["seed"].tolist() == [0, 1, 2]
    assert not list((tmp_path / "s.zarr").rglob("*.new"))


def test_xarray_and_zarr_open_it_with_named_axes(tmp_path, small_chunks):
    import xarray
    import zarr

    s = kept(tmp_path / "s.zarr", repeats=2, units={"x": "m"})
    with xarray.open_zarr(tmp_path / "s.zarr", chunks=None) as d:
        assert d.x.dims == ("a", "b", "repeat") and d.x.attrs["units"] == "m" and "seed" in d.coords
        assert d.several.shape == (4, 3, 2, 3) and d.word.sel(a=2, b=1).values.tolist() == ["a is 2"] * 2
        assert np.array_equal(d.x, s["x"], equal_nan=True) and float(d.status.sel(a=3, b=2)[0]) == 0
        assert "go together" in str(d.failure.sel(a=3, b=2).values[0])
        mine = s.to_xarray()
        assert mine.x.equals(d.x.load()) and mine.several.equals(d.several.load())
    group = zarr.open_group(tmp_path / "s.zarr", mode="r")
    assert np.array_equal(group["several"][...], s["several"], equal_nan=True)
    drawn = kept(tmp_path / "d.zarr", lambda a, n: a * n, {"a": "0:1", "n": "1:9"}, samples=6)
    with xarray.open_zarr(tmp_path / "d.zarr", chunks=None) as d:
        assert d.result.dims == ("sample",) and np.array_equal(d.a, drawn.axes["a"]) and {"a", "n"} <= set(d.coords)


def test_booleans_and_text_are_axes_too(tmp_path):
    s = kept(tmp_path / "s.zarr", lambda a, b: f"{a}{b}", {"a": ["x", "yy"], "b": [True, False]})
    assert s["result"].tolist() == [["xTrue", "xFalse"], ["yyTrue", "yyFalse"]]
    again = supple.load_sweep(tmp_path / "s.zarr")
    assert again.parameters(2) == {"a": "yy", "b": True}
    kept(tmp_path / "s.zarr", lambda a, b: f"{a}{b}", {"a": ["x", "yy"], "b": [True, False]}, resume=True)


# --- stopped, and resumed -------------------------------------------------------------------------------------------

SCRIPT = """
import sys, supple
from supple.sweeping import driver, store
import supple.sweeping.table as table
table.RUNS = 50
store.SECONDS, store.SHARE, driver.BUNDLE = 0.0, 0.0, 0.01
zarr = store.put_json.__globals__
zarr["os"].fsync = lambda file: None  # what the page cache has outlives a process
from sweeps import counted
print("go", flush=True)
supple.sweep(counted, {"a": range(300)}, fixed={"folder": sys.argv[2]}, out=sys.argv[1], resume=True,
             engine="serial" if sys.argv[3] == "serial" else None, workers=None if sys.argv[3] == "serial" else 2)
print("done", flush=True)
"""


def begun(path: Path, folder: Path, engine: str) -> subprocess.Popen[str]:
    env = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parents[1])])}
    words = [sys.executable, "-c", SCRIPT, str(path), str(folder), engine]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env)
    assert process.stdout is not None and process.stdout.readline() == "go\n"
    return process


def calls(marks: Path) -> int:
    return sum(len(f.read_text()) for f in marks.iterdir())


KILLS = {"serial": 3, "local": 2}


@pytest.mark.parametrize("engine", KILLS)
def test_killed_at_random_instants_it_goes_on_and_makes_no_run_twice_but_the_last(engine, tmp_path):
    path, marks, rng = tmp_path / "s.zarr", tmp_path / "marks", np.random.default_rng()
    marks.mkdir()
    kills, before = 0, 0
    while True:
        with begun(path, marks, engine) as process:
            if kills < KILLS[engine]:
                while not (path / ".zmetadata").exists() or supple.load_sweep(path).done < before + 20:
                    assert process.poll() is None
                    time.sleep(0.002)
                time.sleep(float(rng.uniform(0.0, 0.02)))
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills, before = kills + 1, supple.load_sweep(path).done
                if engine == "local":  # workers end with their driver
                    time.sleep(0.5)
                    made = calls(marks)
                    time.sleep(0.1)
                    assert calls(marks) == made
                continue
            assert process.wait(60) == 0
            break
    s = supple.load_sweep(path)
    assert s.missing == 0 and np.array_equal(s["result"], np.sqrt(np.arange(300)))
    assert len(list(marks.iterdir())) == 300
    assert 300 <= calls(marks) < 300 + 3 * 80  # those under way when it was killed, and what was not written yet


def test_ctrl_c_keeps_what_is_done_and_says_so(tmp_path):
    def f(a):
        if a == 30:
            os.kill(os.getpid(), signal.SIGINT)
        return slow(a, 0.003)

    before = signal.getsignal(signal.SIGINT)
    s = kept(tmp_path / "s.zarr", f, {"a": range(2000)})
    assert 30 < s.done < 2000 and s.missing == 2000 - s.done and "Ctrl-C" in s.about["stopped"]
    assert signal.getsignal(signal.SIGINT) is before
    assert supple.load_sweep(tmp_path / "s.zarr").done == s.done


def test_only_what_is_missing_is_computed(tmp_path, small_chunks):
    seen = []

    def f(a):
        seen.append(a)
        if len(seen) == 7:
            raise KeyboardInterrupt
        if a == 3:
            raise ValueError("three")
        return a

    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path / "s.zarr", f, {"a": range(12)})
    done = supple.load_sweep(tmp_path / "s.zarr")
    assert 0 < done.done < 7
    seen[:] = [0] * 10
    s = kept(tmp_path / "s.zarr", f, {"a": range(12)}, resume=True)
    assert s.missing == 0 and s.failed == 1 and len(seen) - 10 == done.missing
    seen[:] = [0] * 10
    s = supple.sweep(f, {"a": range(12)}, engine="serial", out=tmp_path / "s.zarr", retry=True)
    assert seen[10:] == [3] and s.failed == 1
    assert kept(tmp_path / "s.zarr", f, {"a": range(12)}, resume=True).failed == 1 and len(seen) == 11


def test_batches_are_the_same_ones_whoever_computes_them(tmp_path, small_chunks):
    seen = []

    def f(x):
        seen.append(len(x))
        if len(seen) == 3:
            raise KeyboardInterrupt
        return batched(x, x)

    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path / "s.zarr", f, {"x": range(20)}, batch=6)
    s = kept(tmp_path / "s.zarr", f, {"x": range(20)}, batch=6, resume=True)
    assert seen == [6, 6, 6, 6, 2] or seen == [6, 6, 6, 6, 6, 2]
    assert np.allclose(s["r"], np.arange(20) * np.sqrt(2)) and s["both"].shape == (20, 2)


def test_a_store_is_read_while_it_grows(tmp_path, small_chunks):
    """At every run, by us and by xarray: what is said to be done is there, and right."""
    import xarray

    path, seen = tmp_path / "s.zarr", []

    def f(a):
        if a > 0 and a % 4 == 0:
            s = supple.load_sweep(path)
            done = s.status == 1
            assert np.array_equal(s["result"][done], np.sqrt(np.flatnonzero(done))) if done.any() else True
            with xarray.open_zarr(path, chunks=None) as d:
                assert d.sizes["a"] == 60
            seen.append(s.done)
        return np.sqrt(a)

    assert kept(path, f, {"a": range(60)}).done == 60
    assert seen == sorted(seen) and seen[-1] > 30


def test_values_whose_status_was_not_written_are_as_if_they_were_never_there(tmp_path, small_chunks):
    """A kill between the two; made again, the run may fail."""
    path = tmp_path / "s.zarr"
    kept(path, mixed, {"a": range(12)})
    for f in (path / "status").glob("[0-9]*"):
        f.unlink()

    def mixed_up(a):
        if a % 2:
            raise ValueError("odd")
        return {"long": [1.0]}

    mixed_up.__module__, mixed_up.__qualname__ = mixed.__module__, mixed.__qualname__
    s = kept(path, mixed_up, {"a": range(12)}, resume=True)
    assert s.failed == 6 and np.isnan(s["long"][1::2]).all() and np.isnan(s["long"][:, 1:]).all()


def test_large_and_growing_arrays_are_cut_into_files_of_a_bearable_size(tmp_path, monkeypatch):
    monkeypatch.setattr("supple.sweeping.table.BYTES", 100_000)
    s = kept(tmp_path / "large.zarr", lambda a: np.full(5000, a), {"a": range(40)})
    assert (s["result"] == np.arange(40)[:, None]).all()
    assert max(f.stat().st_size for f in (tmp_path / "large.zarr").rglob("*") if f.is_file()) <= 100_000
    s = kept(tmp_path / "longer.zarr", lambda a: np.arange(float(a)), {"a": range(1, 200)})
    assert s["result"].shape == (199, 199) and (np.isfinite(s["result"]).sum(axis=1) == np.arange(1, 200)).all()
    assert len(list((tmp_path / "longer.zarr" / "result").iterdir())) < 30
    again = kept(tmp_path / "longer.zarr", lambda a: np.arange(float(a)), {"a": range(1, 200)}, resume=True)
    assert same(again, s)


def test_only_the_messages_of_failures_are_read(tmp_path, small_chunks, monkeypatch):
    def f(a):
        if a % 50 == 3:
            raise ValueError(f"a is {a}")
        return a

    s, read = kept(tmp_path / "s.zarr", f, {"a": range(200)}), []
    whole = zarr_format.Layout.read_chunk
    monkeypatch.setattr(zarr_format.Layout, "read_chunk", lambda x, path: read.append(path) or whole(x, path))
    assert [(x.run, x.message) for x in s.failures] == [(a, f"ValueError: a is {a}") for a in (3, 53, 103, 153)]
    assert len(read) == 4
    assert [x.parameters for x in s._failures(2)] == [{"a": 3}, {"a": 53}]


def test_a_quantity_can_be_called_as_what_is_being_written(tmp_path):
    for _ in range(2):
        assert kept(tmp_path / "s.zarr", lambda a: {"x.new": a}, {"a": [1, 2]}, resume=True)["x.new"].tolist() == [1, 2]


# --- refused --------------------------------------------------------------------------------------------------------


def test_resumed_only_as_it_was_begun(tmp_path):
    path = tmp_path / "s.zarr"
    kept(path, fixed={"seed": 1})
    other = [
        dict(over={"a": [1, 2, 3, 5], "b": [1, 2, 3]}, fixed={"seed": 1}),
        dict(over={"a": [1, 2, 3], "b": [1, 2, 3]}, fixed={"seed": 1}),
        dict(over={"b": [1, 2, 3], "a": [1, 2, 3, 4]}, fixed={"seed": 1}),
        dict(over={"a": [1, 2, 3, 4]}, fixed={"seed": 1}),
        dict(fixed={"seed": 2}),
        dict(),
        dict(repeats=2),
        dict(what=slow, over={"a": [1, 2]}),
    ]
    for how in other:
        with pytest.raises(SweepError, match=r"s\.zarr cannot be resumed as another sweep: .* there, .* now"):
            kept(path, resume=True, **how)
    with pytest.raises(SweepError, match="has a sweep already; resume it, overwrite it"):
        kept(path)
    with pytest.raises(StateError, match="give one of them"):
        kept(path, resume=True, overwrite=True)
    assert kept(path, over={"a": [1]}, overwrite=True).shape == (1,)


def test_not_resumed_with_another_version_or_other_bound_arguments(tmp_path):
    path = tmp_path / "s.zarr"
    kept(path, partial(noisy, b=2.0), {"a": [1, 2]})
    assert kept(path, partial(noisy, b=2.0), {"a": [1, 2]}, resume=True).done == 2
    with pytest.raises(SweepError, match=r"noisy\(b=2.0\) there, .*noisy\(b=3.0\) now"):
        kept(path, partial(noisy, b=3.0), {"a": [1, 2]}, resume=True)
    about = (path / ".zattrs").read_text().replace(f'"{supple.__version__}"', '"9.9"')
    (path / ".zattrs").write_text(about)
    with pytest.raises(SweepError, match=r"was begun with Supple 9\.9, and this is .* give another name"):
        kept(path, partial(noisy, b=2.0), {"a": [1, 2]}, resume=True)
    assert supple.load_sweep(path).done == 2


ARM = """<robot name="arm"><link name="base"/><joint name="j" type="continuous"><parent link="base"/><child link="arm"/>
<axis xyz="0 1 0"/></joint><link name="arm"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


def test_a_file_is_found_from_anywhere_and_not_resumed_when_it_changed(tmp_path, monkeypatch):
    (tmp_path / "arm.urdf").write_text(ARM)
    how = dict(over={"dt": [0.01, 0.02]}, fixed={"duration": 0.04}, engine="serial", out=tmp_path / "s.zarr")
    monkeypatch.chdir(tmp_path)
    assert supple.sweep("arm.urdf", **how).done == 2
    monkeypatch.chdir("/")
    for f in (tmp_path / "s.zarr" / "status").glob("[0-9]*"):
        f.unlink()
    assert go_on(tmp_path / "s.zarr", engine="serial").done == 2
    with (tmp_path / "arm.urdf").open("a") as f:
        f.write("<!-- another -->")
    with pytest.raises(SweepError, match="is not what it was when the sweep began"):
        go_on(tmp_path / "s.zarr", engine="serial")
    with pytest.raises(SweepError, match="cannot be resumed as another sweep: content"):
        supple.sweep(str(tmp_path / "arm.urdf"), resume=True, **how)


def test_a_store_that_is_removed_is_said_to_be(tmp_path, small_chunks):
    def f(a):
        if a == 3:
            shutil.rmtree(tmp_path / "s.zarr")
        return a

    with pytest.raises(SweepError, match=r"s\.zarr was removed while the sweep ran$"):
        kept(tmp_path / "s.zarr", f, {"a": range(30)})


def test_two_drivers_do_not_share_a_store(tmp_path):
    def f(a):
        if a == 2:
            for how in ({"resume": True}, {"overwrite": True}):
                with pytest.raises(SweepError, match="is being written by another process"):
                    kept(tmp_path / "s.zarr", f, {"a": range(4)}, **how)
        return a

    assert kept(tmp_path / "s.zarr", f, {"a": range(4)}).failed == 0
    assert kept(tmp_path / "s.zarr", lambda a: a, {"a": range(4)}, overwrite=True).done == 4


def test_what_is_no_store_is_left_alone(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("mine")
    for name in ("file", "folder"):
        for how in ({}, {"resume": True}, {"overwrite": True}):
            with pytest.raises(SweepError, match="is there already, and is no sweep"):
                kept(tmp_path / name, **how)
        with pytest.raises(SweepError):
            supple.load_sweep(tmp_path / name)
    assert (tmp_path / "folder" / "mine").read_text() == (tmp_path / "file").read_text() == "mine"
    with pytest.raises(SweepError, match="there is no folder"):
        kept(tmp_path / "nowhere" / "s.zarr")


def test_a_full_disk_is_said_in_a_sentence_and_nothing_is_lost(tmp_path, small_chunks, monkeypatch):
    room, sync = [40], os.fsync

    def full(file):
        room[0] -= 1
        if room[0] < 0:
            raise OSError(28, "No space left on device")
        sync(file)

    monkeypatch.setattr(zarr_format.os, "fsync", full)
    with pytest.raises(
        SweepError, match=r"^\S*s\.zarr\S* cannot be written: No space left on device; .* safe: make room, and resume$"
    ):
        kept(tmp_path / "s.zarr", lambda a: a, {"a": range(200)})
    monkeypatch.undo()
    monkeypatch.setattr("supple.sweeping.table.RUNS", 5)
    before = supple.load_sweep(tmp_path / "s.zarr")
    assert 0 < before.done < 200
    assert kept(tmp_path / "s.zarr", lambda a: a, {"a": range(200)}, resume=True).done == 200


def test_damage_is_found_or_harmless(tmp_path, small_chunks):
    """Bytes changed, files cut, removed or replaced: an error in words, or a sweep of the same shape."""
    path, rng = tmp_path / "s.zarr", np.random.default_rng(1)
    kept(path)
    files = sorted(f for f in path.rglob("*") if f.is_file() and f.name != ".lock")
    for _ in range(120):
        f = files[rng.integers(len(files))]
        whole = f.read_bytes()
        how = rng.integers(4)
        if how == 0:
            data = bytearray(whole)
            for _ in range(3):
                data[rng.integers(len(data))] = rng.integers(256)
            f.write_bytes(bytes(data))
        elif how == 1:
            f.write_bytes(whole[: rng.integers(len(whole))])
        elif how == 2:
            f.unlink()
        else:
            f.write_bytes(files[rng.integers(len(files))].read_bytes())
        try:
            s = supple.load_sweep(path)
            for name in s.quantities:
                _ = s[name]
            _ = s.failures, repr(s)
        except (SweepError, MemoryError):
            pass
        f.write_bytes(whole)
    assert supple.load_sweep(path).done == 11


def test_hostile_metadata(tmp_path):
    path = tmp_path / "s.zarr"
    kept(path)
    good = json.loads((path / ".zmetadata").read_text())
    said = json.loads((path / ".zattrs").read_text())

    def refused(metadata=good, about=said):
        (path / ".zmetadata").write_text(json.dumps(metadata))
        (path / ".zattrs").write_text(json.dumps(about))
        with pytest.raises(SweepError) as e:
            supple.load_sweep(path)
        assert "\n" not in str(e.value)

    huge = good["metadata"] | {"status/.zarray": good["metadata"]["status/.zarray"] | {"shape": [10**12, 3]}}
    refused({"metadata": huge})
    outside = good["metadata"] | {"../x/.zarray": good["metadata"]["status/.zarray"]}
    refused({"metadata": outside})
    refused({"metadata": []})
    refused([])
    refused(about={"supple": {"format": 99}})
    refused(about={"supple": said["supple"] | {"axes": [{"name": "a", "parameters": ["../../a"]}]}})
    refused(about={"supple": said["supple"] | {"axes": []}})
    refused(about={"supple": said["supple"] | {"fixed": 3}})
