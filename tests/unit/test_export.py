"""Recordings exported: the same numbers in every format, and a whole file or none."""

from __future__ import annotations

import csv
import errno
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

import supple
from recorded import MODEL, bouncing, pulled_chain


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
        np.testing.assert_array_equal(arrays["active_counts"], r.active_counts)
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


def test_an_ending_that_says_something_else_is_refused(tmp_path):
    supple.simulate(MODEL, MODEL.random(0), duration=0.01, record=tmp_path / "run.h5").close()
    for name, to, said in (
        ("a.csv", "npz", "or write csv"),
        ("a.npz", "parquet", "or write npz"),
        ("a.txt", "csv", "so$"),
    ):
        with pytest.raises(supple.RecordingError, match=rf"{name} does not end in \.{to}, .*name it.*{said}"):
            supple.export(tmp_path / "run.h5", tmp_path / name, to=to)
        assert not (tmp_path / name).exists()
    for name in ("numbers", "a.NPZ"):  # no ending, and one in capitals
        assert supple.export(tmp_path / "run.h5", tmp_path / name, to="npz") == [tmp_path / name]


def test_an_export_is_whole_or_not_there(tmp_path, monkeypatch):
    """It never takes the recording's place, leaves what was there until it is whole, and writes devices as they are."""
    from supple.record import export

    supple.simulate(MODEL, MODEL.random(0), duration=0.01, record=tmp_path / "run.h5").close()
    (tmp_path / "link.npz").symlink_to(tmp_path / "run.h5")
    for name in ("run.h5", "link.npz"):
        with pytest.raises(supple.RecordingError, match="is the recording itself"):
            supple.export(tmp_path / "run.h5", tmp_path / name, to="npz")
    (tmp_path / "run.csv").write_text("before")

    def full(segments: object, file: BinaryIO) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(export, "_csv", full)
    with pytest.raises(supple.RecordingError, match=r"run\.csv cannot be written: No space left"):
        supple.export(tmp_path / "run.h5", to="csv")
    assert (tmp_path / "run.csv").read_text() == "before" and not list(tmp_path.glob(".*"))
    monkeypatch.undo()
    if Path("/dev/null").is_char_device():
        with pytest.raises(supple.RecordingError, match="/dev/null cannot be written: it is a device, not a file"):
            supple.export(tmp_path / "run.h5", "/dev/null", to="csv")
        assert Path("/dev/null").is_char_device()


def test_contacts_are_exported(tmp_path):
    """By name in tables of their own, as result.contacts(i) has them; as rows of numbers in NumPy's."""
    b = supple.ModelBuilder("box")
    b.add_body("box", joint="free", mass=2.0, inertia=(0.02, 0.03, 0.04))
    b.add_shape("box", "box", (0.4, 0.3, 0.1), name="crate", friction=0.5)
    model = b.build()
    q = [0, 0, 0.06, 0, 0, 0, 1]
    r = supple.simulate(model, q, duration=0.1, record=tmp_path / "run.h5", contacts=supple.Contacts(ground=0.0))
    found = [(t, c) for i, t in enumerate(r.times) for c in r.contacts(i)]
    assert len(found) > 100
    _, made = supple.export(tmp_path / "run.h5", to="csv")
    assert made.name == "run.contacts.csv"
    with made.open(newline="") as f:
        rows = list(csv.DictReader(f))
    assert len(rows) == len(found)
    for row, (time, c) in zip(rows, found):
        assert (float(row["time"]), row["shape"], row["other"], float(row["gap"])) == (time, c.shape, c.other, c.gap)
        for what in ("point", "normal", "force", "slip"):
            assert [float(row[f"{what}.{x}"]) for x in "xyz"] == getattr(c, what).tolist()
    with np.load(supple.export(tmp_path / "run.h5", to="npz")[0]) as arrays:
        np.testing.assert_array_equal(arrays["contacts"][:, 9:12], [c.force for _, c in found])
        assert np.diff(arrays["contacts_end"], prepend=0).tolist() == [len(r.contacts(i)) for i in range(len(r))]
        assert {str(arrays["shapes"][int(k)]) for k in arrays["contacts"][:, :2].ravel()} == {"crate", "ground"}
    pq = pytest.importorskip("pyarrow.parquet")
    table = pq.read_table(supple.export(tmp_path / "run.h5", to="parquet")[1])
    np.testing.assert_array_equal(table["force.z"].to_numpy(), [c.force[2] for _, c in found])
    assert set(table["shape"].to_pylist()) == {"crate"}
