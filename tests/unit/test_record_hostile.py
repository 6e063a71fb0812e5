"""Recordings that somebody made to do harm: refused before compiled code sees them, whatever their checksums say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
import zlib
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import supple
from supple.commands.run import _resume
from supple.errors import RecordingError, StateError
from supple.record.checkpoint import packed
from supple.record.hdf5 import node_size
from supple.record.head import LENGTH, read_head
from supple.record.index import ENTRY
from supple.record.recorder import Recorder
from supple.record.recording import Recording
from supple.request import Request
from supple.viewing.timeline import Timeline
from tampered import STATE, changed, everything, fake, recorded, same, whole_index, with_blob, with_index, with_rows

CHAIN = supple.trees.chain(12)
Q, V = np.zeros((5, CHAIN.nq)), np.zeros((5, CHAIN.nv))
CHAIN_BAD = {
    "q_index": [(5, 10**9), (5, 600), (5, -1)],
    "v_index": [(5, 10**9), (0, 1)],
    "parent": [(5, 10**6), (5, 5), (0, -2), (3, 7)],
    "subtree_end": [(0, 10**9), (0, 3), (11, 0)],
    "joint_type": [(2, 99), (2, 0), (2, -1)],
    "mass": [(0, np.nan), (0, -1.0), (0, 1e300)],
    "inertia": [((0, 0, 1), 5.0), ((0, 0, 0), np.inf)],
    "rotation": [((0, 0, 0), 7.0), ((0, 0, 0), np.nan)],
    "axis": [((0, 0), 3.0)],
    "lower": [(0, np.nan)],
    "damping": [(0, -1.0), (0, np.inf)],
    "friction": [(0, -1.0), (0, np.nan)],
    "stiffness": [(0, -1.0), (0, np.inf), (0, np.nan)],
    "rest": [(0, np.inf), (0, np.nan)],
    "gravity": [(0, np.nan)],
    "origin": [((0, 0), np.inf)],
}


@dataclass
class Motor:
    """What has the fields of an actuator."""

    name: Any = "m"
    joint: Any = CHAIN.joint_names[0]
    gain: Any = 1.0
    stiffness: Any = 0.0
    damping: Any = 0.0
    bias: Any = 0.0
    control_range: Any = (-1.0, 1.0)
    force_range: Any = (-1.0, 1.0)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return recorded(tmp_path_factory.mktemp("good") / "run.h5", CHAIN, Q, V).read_bytes()


@pytest.mark.parametrize("name", CHAIN_BAD)
def test_no_number_of_a_model_is_taken_on_trust(name, tmp_path):
    for index, value in CHAIN_BAD[name]:
        bad = fake(CHAIN, **{name: changed(getattr(CHAIN, name), index, value)})
        with pytest.raises(RecordingError, match=rf"damaged, and refused: its model 0 is none: .*{name}"):
            supple.load_run(recorded(tmp_path / "run.h5", bad, Q, V))


@pytest.mark.parametrize("name", ["parent", "q_index", "mass", "inertia", "lower", "damping", "gravity", "axis2"])
def test_arrays_of_other_shapes_and_types(name, tmp_path):
    x = getattr(CHAIN, name)
    other = x.astype(np.float64) if x.dtype.kind == "i" else x[:0]
    for bad in (x[:-1], np.concatenate([x, x]), x[:0, None], other):
        with pytest.raises(RecordingError, match="damaged, and refused"):
            supple.load_run(recorded(tmp_path / "run.h5", fake(CHAIN, **{name: bad}), Q, V))


def test_names_frames_and_shapes_of_a_model(tmp_path):
    place, turned = np.zeros(3), np.eye(3)
    frame, visual = supple.model.model.Frame, supple.model.model.Visual
    for bad in (
        {"body_names": CHAIN.body_names[1:]},
        {"body_names": [CHAIN.body_names[0]] * 12},
        {"joint_names": [3] * 12},
        {"name": 5},
        {"frame_list": (frame("f", 12, place, turned),)},
        {"frame_list": (frame("f", 0, place * np.nan, turned),)},
        {"frame_list": (frame(["f"], 0, place, turned),)},
        {"visuals": (visual(-7, "box", (1.0,), place, turned),)},
        {"visuals": (visual(0, "box", (np.nan,), place, turned),)},
        {"visuals": (visual(0, "mesh", (1.0,), place, turned, mesh=["x"]),)},
        {"visuals": (visual(0, "box", (1.0,), place, turned, rgba=(1.0, 2.0)),)},
        {"actuator_list": (Motor(joint="nowhere"),)},
        {"actuator_list": (Motor(), Motor())},
        {"actuator_list": (Motor(gain="1"),)},
        {"actuator_list": (Motor(stiffness=-1.0),)},
        {"actuator_list": (Motor(name=["m"]),)},
        {"actuator_list": (Motor(force_range=(2.0, 1.0)),)},
        {"actuator_list": (Motor(force_range=(1.0,)),)},
        {"actuator_list": (Motor(control_range="ab"),)},
    ):
        with pytest.raises(RecordingError, match="damaged, and refused"):
            supple.load_run(recorded(tmp_path / "run.h5", fake(CHAIN, **bad), Q, V))


def test_states_must_be_of_their_model_and_finite(tmp_path):
    smaller = supple.trees.chain(3)
    sizes = {"nq": smaller.nq, "nv": smaller.nv, "n_bodies": 3}
    with pytest.raises(RecordingError, match="its states are not of its models"):
        supple.load_run(recorded(tmp_path / "a.h5", fake(CHAIN, **sizes), Q[:, : smaller.nq], V[:, : smaller.nv]))
    r = supple.load_run(recorded(tmp_path / "b.h5", CHAIN, changed(Q, (3, 1), np.nan), V))
    with pytest.raises(
        RecordingError, match=r"q in states/0/q has a number that is not finite from row 3 on, after 0.2"
    ):
        _ = r.q
    r = supple.load_run(recorded(tmp_path / "c.h5", CHAIN, Q, V, active=[np.array([0, 12])] * 5))
    with pytest.raises(RecordingError, match="active has no joints"):
        r.segments[0].active_joints(0)


def bombs() -> dict[str, Any]:
    """Changes of an index that would take memory or time without end."""

    def of_table(name: str, entry: int, value: Any) -> Any:
        return lambda index: index["tables"][name].__setitem__(entry, value)

    rows, row, chunk, nodes = 2, 1, 3, 5
    out = {
        "many rows": of_table("states/0/q", rows, 10**12),
        "many in a row": of_table("states/0/q", row, [10**9]),
        "many columns": of_table("states/0/q", row, [CHAIN.nq] * 8),
        "negative": of_table("states/0/q", rows, -1),
        "half": of_table("states/0/q", rows, 2.5),
        "true": of_table("states/0/q", rows, True),
        "no chunk": of_table("states/0/q", chunk, 0),
        "large chunks": of_table("states/0/q", chunk, 2**30),
        "large chunks of one column": of_table("states/0/time", chunk, 2**22),
        "small chunks": of_table("states/0/q", chunk, 1),
        "no nodes": of_table("states/0/q", nodes, []),
        "many nodes": of_table("states/0/q", nodes, [[0, 0]] * 10**5),
        "far nodes": of_table("states/0/q", nodes, [[10**15, 0]]),
        "another type": of_table("states/0/q", 0, "O"),
        "a list": lambda index: index.update(tables=[]),
        "no table": lambda index: index["tables"].pop("segments"),
        "no blob": lambda index: index["blobs"].pop("about"),
        "far blob": lambda index: index["blobs"].update(about=[10**15, 10, 0]),
        "large blob": lambda index: index["blobs"].update(about=[0, 10**15, 0]),
        "shorter column": of_table("states/0/time", rows, 4),
    }
    return out


@pytest.mark.parametrize("what", bombs())
def test_an_index_that_asks_for_more_than_there_is(what, good, tmp_path):
    path, index = tmp_path / "run.h5", whole_index(good)
    bombs()[what](index)
    path.write_bytes(with_index(good, index))
    tracemalloc.start()
    with pytest.raises(RecordingError, match="damaged, and refused"):
        supple.load_run(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50e6


def test_an_index_that_is_no_index(good, tmp_path):
    path = tmp_path / "run.h5"
    for text in (b"", b"[]", b"[" * 10**5, b"\xff\xfe", b"{}", b'{"tables": {}, "blobs": {}, "rest": {}}', b"1" * 5000):
        path.write_bytes(with_index(good, text))
        with pytest.raises(RecordingError, match="damaged, and refused"):
            supple.load_run(path)
        for name in ("about", "state", "given"):
            path.write_bytes(with_blob(good, name, text))
            if text not in (b"{}", b'{"tables": {}, "blobs": {}, "rest": {}}') or name != "given":
                with pytest.raises(RecordingError, match="damaged, and refused"):
                    supple.load_run(path)


@pytest.mark.parametrize(
    ("table", "index", "value"),
    [
        ("segments", (0, 0), 1), ("segments", (0, 0), -1), ("segments", (0, 1), 1), ("segments", (0, 2), 3),
        ("models/table", (0, 0), 10**6), ("models/table", (0, 0), -5), ("models/table", (0, 3), 2),
        ("arrays", (3, 0), 10**15), ("arrays", (3, 0), -8), ("arrays", (3, 1), 10**15), ("arrays", (3, 3), 9),
        ("arrays", (3, 4), 3), ("arrays", (3, 5), 10**15), ("arrays", (3, 5), -1), ("arrays", (3, 2), 0),
        ("events/name_end", 0, 10**9), ("events/name_end", 0, -1), ("events/time", 0, np.nan),
    ],
)  # fmt: skip
def test_numbers_that_point_out_of_the_file(table, index, value, good, tmp_path):
    path = tmp_path / "run.h5"
    path.write_bytes(with_rows(good, table, lambda rows: rows.__setitem__(index, value)))
    with pytest.raises(RecordingError, match="damaged, and refused"):
        everything(path)


def test_what_hdf5_would_follow_is_not_looked_at(good, tmp_path):
    """Links to other files, external storage, filters: none is read, since HDF5's metadata are not."""
    path, secret = tmp_path / "run.h5", tmp_path / "secret"
    secret.write_bytes(np.full(100, 42.0).tobytes())
    path.write_bytes(good)
    before = everything(path)
    with h5py.File(path, "r+") as h5:
        del h5["given"], h5["states/0/q"]
        h5["given"] = h5py.ExternalLink(str(secret), "x")
        h5["models/1"] = h5py.SoftLink("/nowhere")
        h5["states/0"].create_dataset("q", (5, 12), "f8", external=[(str(secret), 0, 480)])
    with suppress(RecordingError):  # if HDF5 wrote into what we use
        assert same(everything(path), before)


REQUEST = {"scene": "molecule", "set": {"joints": 10**8}}


def test_a_file_does_not_decide_which_scene_is_built(good, tmp_path):
    """`supple view` draws by what is in the file; `supple run --resume` builds no scene of another size."""
    path, about = tmp_path / "run.h5", {"request": REQUEST, "duration": 1.0}
    path.write_bytes(with_blob(good, "about", json.dumps({"about": about, "versions": {}}).encode()))
    words = [sys.executable, "-m", "supple", "run", "--resume", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "its scene has" in done.stderr + done.stdout
    with supple.load_run(path)._file as r:
        assert r.rods is None
        model = r.model(0)
    for bad in (
        REQUEST,
        {"scene": "millipede", "set": {"legs": 112, "leg_links": 112, "spine": 112}},
        {"scene": "pendulum", "set": {"links": model.n_bodies + 1}},
        {"scene": "pendulum", "set": {"links": model.n_bodies - 1}},
        {"scene": "crowd", "set": {"rows": 10**300, "columns": 10**300}},
        {"scene": "molecule"},
        {"scene": "compass"},
        {"scene": "no"} | {"other": 3},
        {"scene": 5},
        {"scene": "molecule", "set": {"joints": "x"}},
        [],
    ):
        with pytest.raises(StateError):
            Request.recorded(bad, model)
    same = {"scene": "pendulum", "set": {"links": model.n_bodies}}
    assert Request.recorded(same, model).scene == "pendulum"  # which go_on compares with the model


def test_a_scene_of_as_many_bodies_but_another_model_is_not_run(good, tmp_path):
    path, bodies = tmp_path / "run.h5", CHAIN.n_bodies
    about = {"request": {"scene": "bicycle-chain", "set": {"links": bodies}, "dt": 0.001}, "duration": 1.0}
    path.write_bytes(with_blob(good, "about", json.dumps({"about": about, "versions": {}}).encode()))
    before = path.read_bytes()
    with pytest.raises(RecordingError, match="was recorded with another model, different in"):
        _resume(path, Request(), None, None)
    assert path.read_bytes() == before


def test_scenes_are_drawn_as_they_were(tmp_path):
    run = Request(scene="bicycle-chain", set={"links": 5}, duration=0.01, dt=0.005).simulation()
    from supple.simulating.run import follow

    r = follow(run, tmp_path / "run.h5")
    np.testing.assert_array_equal(r.rods, run.rods)
    assert r.rods.shape == (r.segments[0].model.n_bodies, 2, 3)
    r.close()
    data = (tmp_path / "run.h5").read_bytes()
    for bad in ((0, -1, 0), (0, -1, 10**6)):
        (tmp_path / "bad.h5").write_bytes(
            with_rows(data, "models/table", lambda x, bad=bad: x.__setitem__(bad[:2], bad[2]))
        )
        with pytest.raises(RecordingError, match="damaged, and refused"):
            supple.load_run(tmp_path / "bad.h5")


CHECKPOINTS: list[dict[str, Any]] = [
    {"time": "x"}, {"step": -1}, {"step": 1.5}, {"h": None}, {"seen": [[1, 2]]}, {"seen": 3}, {"before": []},
    {"before": {"time": 1.0}}, {"over": 5}, {"guard": {"x": 1}}, {"guard": []}, {"failed": 5}, {"time": 1e999},
    {"step": 8}, {"step": 12}, {"time": 0.005}, {"time": 10**400}, {"time": -(10**400)}, {"h": 10**400},
    {"seen": [["a", None, 0, False, None, None, 0]]},
]  # fmt: skip


def test_checkpoints_that_no_run_left(tmp_path):
    path, how = tmp_path / "run.h5", {"q": CHAIN.neutral(), "check_energy": False}
    supple.simulate(CHAIN, duration=0.01, record=path, **how).close()
    data = path.read_bytes()
    with Recording(path) as r:
        state = r.state
    for bad in CHECKPOINTS:
        text = json.dumps({"finished": True, "state": state | bad}).encode()
        path.write_bytes(with_blob(data, "state", text))
        with pytest.raises(RecordingError, match="damaged, and"):
            supple.simulate(CHAIN, duration=0.02, record=path, resume=True, **how)
    for bad in (b"", b"{}\n", b'{"q": ["<f8", [12]]}\n', b'{"q": ["O", [1]], "v": 1}\n' + bytes(8), b"[]\nabc"):
        path.write_bytes(with_blob(data, "checkpoint", bad))
        with pytest.raises(RecordingError, match="damaged, and"):
            supple.simulate(CHAIN, duration=0.02, record=path, resume=True, **how)


def test_resuming_into_an_index_that_is_none_of_ours(good, tmp_path):
    path: Path = tmp_path / "run.h5"
    for name, value in (
        ("free", [0]), ("free", ["a", 1]), ("room", -1), ("groups", []), ("groups", {}), ("blobs", {}),
        ("groups", {"": [0, {"x" * 30: 1}]}), ("groups", {"": [0, {str(i): 1 for i in range(70)}]}),
    ):  # fmt: skip
        index = whole_index(good)
        index["rest"][name] = value
        path.write_bytes(with_index(good, index))
        assert len(supple.load_run(path)) == 5
        with pytest.raises(RecordingError, match="damaged, and cannot be written on"):
            supple.record.recorder.Recorder(path)


@pytest.mark.parametrize(
    ("place", "value"), [("n_dropped", 10**9), ("n_dropped", -1), ("dropped", 10**9), ("dropped", -1)]
)
def test_joints_that_an_adaptive_stepper_would_go_through(place, value, tmp_path):
    """The joints that stopped lately are gone through by compiled code, as many as the checkpoint says."""
    path, how = tmp_path / "run.h5", {"q": CHAIN.random(0), "method": "adaptive", "active": 4}
    supple.simulate(CHAIN, duration=0.01, record=path, **how).close()
    with Recording(path) as r:
        _, arrays = r.checkpoint()
    arrays["n_dropped"][...] = 1
    arrays[place].flat[0] = value
    path.write_bytes(with_blob(path.read_bytes(), "checkpoint", packed(arrays)))
    with pytest.raises(
        RecordingError,
        match=r"damaged, and cannot be resumed: .*(joints that this model does not have|counts below zero)",
    ):
        supple.simulate(CHAIN, duration=0.02, record=path, resume=True, **how)


def test_a_run_does_not_go_on_in_states_of_another_kind(tmp_path):
    path, how = tmp_path / "run.h5", {"q": CHAIN.neutral(), "check_energy": False}
    supple.simulate(CHAIN, duration=0.01, record=path, **how).close()
    index = whole_index(path.read_bytes())
    del index["tables"]["states/0/v"]
    path.write_bytes(with_index(path.read_bytes(), index))
    with pytest.raises(RecordingError, match="cannot be written on: its states are of another kind"):
        supple.simulate(CHAIN, duration=0.02, record=path, resume=True, **how)


def test_a_head_at_the_end_of_all_numbers(good, tmp_path):
    head, path = read_head(good), tmp_path / "run.h5"
    assert head is not None
    path.write_bytes(head._replace(generation=2**63 - 1).packed() + good[LENGTH:])
    with pytest.raises(RecordingError, match="the head, is not as it was written"):
        supple.load_run(path)


@pytest.mark.skipif(sys.platform != "linux", reason="a file with a hole")
def test_a_file_that_is_larger_than_its_disk(good, tmp_path):
    """A blob in the hole of a file, of 2^44 bytes; a journal that is one hole."""
    index, path = whole_index(good), tmp_path / "run.h5"
    index["blobs"]["given"] = [10**6, 2**43, 0]
    path.write_bytes(with_index(good, index))
    try:
        os.truncate(path, 2**43 + 10**7)
    except OSError:
        pytest.skip("a file system without such files")
    with pytest.raises(RecordingError, match="is damaged, and refused: given"):
        supple.load_run(path)
    path.write_bytes(good)
    head = read_head(good)
    assert head is not None
    beside = tmp_path / f"run.h5.{head.id.hex()[:16]}.journal"
    beside.touch()
    os.truncate(beside, 2**43)
    with pytest.raises(RecordingError, match="journal is damaged, and refused"):
        supple.load_run(path)


ODD = ([], {"a": 1}, True, 3, 10**400, "x", None, [[]])


@pytest.mark.parametrize("name", ["method", "integrator", "measure", "error_measure", "stopped", "dt", "duration"])
def test_what_a_recording_says_about_its_run_may_be_anything(name, tmp_path):
    """Of quasi-statics, about which most is said, with numbers that were not the measure's."""
    path = tmp_path / "run.h5"
    supple.simulate(CHAIN, duration=0.02, dt=0.01, method="quasi-statics", record=path).close()
    data = path.read_bytes()
    with Recording(path) as r:
        about, versions = r.about, r.versions
    for odd in ODD:
        path.write_bytes(
            with_blob(data, "about", json.dumps({"about": about | {name: odd}, "versions": versions}).encode())
        )
        with closing(supple.load_run(path)) as run:
            assert isinstance(repr(run) + run.span + run.progress_unit + str(run.measure), str)
            assert name not in run.about or isinstance(run.about[name], str | float | int | None)
            if odd in ("x", 3, None):  # a text, a number, nothing: what the others become
                run.plot(tmp_path / "x.png" if odd == "x" else None)


@pytest.mark.parametrize("upper", [[[]], [[5000]], [[], []], [[5000, 5000]]])
def test_nodes_above_others_are_as_many_as_are_needed(good, tmp_path, upper):
    """Who goes on writing would take the first of the last ones."""
    index, path = whole_index(good), tmp_path / "run.h5"
    index["tables"]["states/0/q"][6] = upper
    path.write_bytes(with_index(good, index))
    with pytest.raises(RecordingError, match="not as many nodes as its tables need"):
        supple.load_run(path)


@pytest.mark.skipif(sys.platform != "linux", reason="a file with a hole")
def test_states_in_the_hole_of_a_file_are_not_read(good, tmp_path):
    """64 million states of zeros, every checksum right, in a few kilobytes of disk."""
    path = tmp_path / "run.h5"
    chunk, chunks, at = 2**16, 1024, len(good)  # rows; their number; where what is added begins
    data, index = good, whole_index(good)
    for name, table in index["tables"].items():
        if not name.startswith("states/0/"):
            continue
        size = 8 * int(np.prod(table[1], dtype=int)) * chunk
        leaf = np.array([(2**24, zlib.crc32(bytes(size)))] * 64, dtype=ENTRY).tobytes()
        node = [len(data), zlib.crc32(leaf)]
        data += bytes(node_size(len(table[1]) + 2)) + leaf
        table[2:4], table[5:7] = [chunk * chunks, chunk], [[node] * (chunks // 64), [[len(good)]]]
    path.write_bytes(with_index(data, index))
    try:
        os.truncate(path, 2**36)
    except OSError:
        pytest.skip("a file system without such files")
    assert path.stat().st_blocks * 512 < len(data) + 10**6 < at + 10**7
    with closing(supple.load_run(path)) as run:
        (segment,) = run.segments
        assert len(segment) == chunk * chunks
        q = segment.q
        for whole in (
            lambda: segment.times, lambda: segment.kinetic, lambda: np.asarray(q), lambda: q[...], lambda: q[::2],
            lambda: q[1:], lambda: supple.export(path, tmp_path / "run.csv"), lambda: run.plot(tmp_path / "x.png"),
            lambda: list(Timeline(run).times), lambda: run.energy,
        ):  # fmt: skip
            with pytest.raises(RecordingError, match=r"rows of states/0/\w+ take .* copy it without holes"):
                whole()
        assert not q[10**6].any() and q[-5:, 0].shape == (5,) and q[[1, -1]].shape == (2, CHAIN.nq)


def test_segments_of_several_kinds_are_looked_at(tmp_path):
    """What only some of them have is not drawn."""
    recorder, n = Recorder(tmp_path / "run.h5", {"duration": 1.0, "dt": 0.1}), len(Q)
    rows = Q, V, np.zeros(n), np.zeros(n)
    recorder.add(CHAIN, np.arange(n) * 0.1, *rows, error=np.ones(n), active=[np.arange(2)] * n)
    recorder.end_segment()
    recorder.add(CHAIN, 1.0 + np.arange(n) * 0.1, *rows)
    recorder.commit(STATE, {"q": Q[-1], "v": V[-1]})
    recorder.close()
    run = supple.load_run(tmp_path / "run.h5")
    timeline = Timeline(run)
    assert timeline.error is None and timeline.active is None
    assert [timeline.state(i).error for i in range(2 * n)] == [None] * 2 * n
    run.close()


def test_an_array_of_less_than_nothing_makes_no_room_for_others(good, tmp_path):
    """What models come to is bounded, whatever one of them is said to be."""
    (tmp_path / "run.h5").write_bytes(with_rows(good, "arrays", lambda rows: rows.__setitem__((-1, 1), -(2**62))))
    with pytest.raises(RecordingError, match="its models have arrays that there are not"):
        supple.load_run(tmp_path / "run.h5")
