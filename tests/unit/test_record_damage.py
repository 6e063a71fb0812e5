"""A bit that is wrong is found wherever it matters, and what is before it can be read."""

from __future__ import annotations

import numpy as np
import pytest

import supple
from recorded import MODEL, bouncing, pulled_chain
from supple.errors import RecordingError
from supple.record.recording import Recording
from tampered import everything, same, used_bytes


@pytest.mark.parametrize("kind", ["plain", "events", "active"])
def test_no_bit_changes_a_number_in_silence(kind, tmp_path):
    path, rng = tmp_path / "run.h5", np.random.default_rng(len(kind))
    if kind == "plain":
        supple.simulate(MODEL, MODEL.random(0), duration=0.02, record=path, joint_wrenches=True).close()
    elif kind == "events":
        model, how = bouncing()
        supple.simulate(model, duration=2.0, dt=0.01, record=path, **how).close()
    else:
        model, how = pulled_chain()
        supple.simulate(model, duration=0.1, record=path, **how).close()
    before, data = everything(path), path.read_bytes()
    used = np.flatnonzero(used_bytes(path))
    found = 0
    for at in [0, 17, 33, 41, 49, 57, 81, 97, *rng.choice(used, 120).tolist()]:
        flipped = bytearray(data)
        flipped[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        try:
            assert same(everything(path), before)
        except RecordingError:
            found += 1
    assert found >= 127  # a bit of the head says which process wrote it last, and may be anything


def test_what_is_before_the_damage_can_be_read(tmp_path):
    path = tmp_path / "run.h5"
    supple.simulate(MODEL, MODEL.random(0), duration=3.0, record=path, check_energy=False).close()
    whole = supple.load_run(path)
    q, column = whole.q, whole.segments[0].q._column
    at = int(column._chunks["address"][1])
    whole.close()
    data = bytearray(path.read_bytes())
    data[at + 100] ^= 4
    path.write_bytes(data)
    r = supple.load_run(path)
    with pytest.raises(RecordingError, match=r"q in states/0/q is damaged from row 1024 on, after 1\.023 s"):
        _ = r.q
    np.testing.assert_array_equal(r.segments[0].q[:1024], q[:1024])
    np.testing.assert_array_equal(r.segments[0].q[2048:], q[2048:])
    assert len(r.times) == 3001 and r.v.shape == (3001, MODEL.nv)
    with pytest.raises(RecordingError, match="is damaged from row 1024 on"):
        supple.export(path, tmp_path / "run.csv")
    assert not (tmp_path / "run.csv").exists()


def test_walkers_keep_no_more_than_their_states(tmp_path):
    """A thousand segments, each with a model of its own place: arrays are shared, models are read when asked for."""
    from dataclasses import replace

    from supple.record.recorder import Recorder

    model, path = supple.trees.chain(3), tmp_path / "run.h5"
    recorder = Recorder(path, {})
    rows = np.zeros((20, model.nq)), np.zeros((20, model.nv)), np.zeros(20), np.zeros(20)
    size = []
    for k in range(1000):
        position = np.array(model.position)
        position[0, 0] = 0.5 * (k % 600)
        recorder.add(replace(model, position=position), np.full(20, float(k)), *rows)
        recorder.end_segment()
        if k % 100 == 99:
            recorder.commit({"time": 1.0, "failed": None}, {})
            size.append(path.stat().st_size)
    recorder.close()
    data = 20 * (model.nq + model.nv + 3) * 8
    assert (size[-1] - size[0]) / 900 < 1.5 * data + 500
    with Recording(path) as r:
        assert len(r.segments) == 1000 and len(r.rows("models/table")) == 600 and len(r.rows("arrays")) < 630
        assert r.segments[999].model is r.segments[399].model
        assert r.segments[500].model.position[0, 0] == 250.0 and len(r._models) == 2
