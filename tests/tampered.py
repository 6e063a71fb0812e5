"""Recordings changed by somebody who knows their format: every checksum is right."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import supple
from supple.record.head import LENGTH, Place, read_head
from supple.record.index import ENTRY, Index
from supple.record.recorder import Recorder
from supple.record.recording import Recording

STATE = {"time": 1.0, "step": 1, "h": 0.1, "seen": [], "before": None, "over": None, "failed": None}


def recorded(path: Path, model: Any, q: Any, v: Any, **more: Any) -> Path:
    """A recording of a few states of something that need not be a model."""
    n = len(q)
    recorder = Recorder(path, {"duration": 1.0, "dt": 0.1}, overwrite=True)
    recorder.add(model, np.arange(n) * 0.1, q, v, np.zeros(n), np.zeros(n), **more)
    recorder.event(0.5, "half")
    recorder.commit(STATE, {"q": q[-1], "v": v[-1]})
    recorder.close()
    return path


def fake(model: supple.Model, **changes: Any) -> Any:
    """What has the fields of a model."""
    out = SimpleNamespace(**{f.name: getattr(model, f.name) for f in fields(supple.Model) if f.init})
    out.nq, out.nv, out.n_bodies = model.nq, model.nv, model.n_bodies
    vars(out).update(changes)
    return out


def changed(x: np.ndarray, index: Any, value: Any) -> np.ndarray:
    out = np.array(x)
    out[index] = value
    return out


def whole_index(data: bytes) -> dict[str, Any]:
    head = read_head(data)
    assert head is not None
    return dict(json.loads(data[head.place.address : head.place.address + head.place.size]))


def with_index(data: bytes, index: dict[str, Any] | bytes) -> bytes:
    """The same file with another index, at its end."""
    head, text = read_head(data), index if isinstance(index, bytes) else json.dumps(index).encode()
    assert head is not None
    place = Place(len(data), len(text), zlib.crc32(text))
    return head._replace(place=place, size=len(data) + len(text)).packed() + data[LENGTH:] + text


def with_index_changed(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    index = whole_index(data)
    change(index)
    return with_index(data, index)


def with_blob(data: bytes, name: str, text: bytes) -> bytes:
    """The same file with another blob of this name."""
    index = whole_index(data)
    index["blobs"][name] = Place(len(data), len(text), zlib.crc32(text))
    return with_index(data + text, index)


def with_rows(data: bytes, name: str, change: Callable[[np.ndarray], None]) -> bytes:
    """The same file with other numbers in a table; those of its first chunk are changed."""
    head = read_head(data)
    assert head is not None
    said = whole_index(data)
    table = Index.read(json.dumps(said).encode(), len(data)).tables[name]
    out, leaf = bytearray(data), table.leaf_place(0)
    entries = np.frombuffer(data[leaf.address : leaf.address + leaf.size], dtype=ENTRY).copy()
    at, n = int(entries["address"][0]), min(table.rows, table.chunk)
    rows = np.frombuffer(data[at : at + n * table.row_bytes], dtype=table.dtype).reshape(n, *table.row).copy()
    change(rows)
    out[at : at + rows.nbytes] = rows.tobytes()
    entries["crc"][0] = zlib.crc32(rows.tobytes())
    out[leaf.address : leaf.address + leaf.size] = entries.tobytes()
    said["tables"][name][5][0][1] = zlib.crc32(entries.tobytes())
    return with_index(bytes(out), said)


def used_bytes(path: Path) -> np.ndarray:
    """Which bytes of a recording say something."""
    data = path.read_bytes()
    used, head = np.zeros(len(data), dtype=bool), read_head(data)
    assert head is not None
    used[:LENGTH] = True
    index = Index.read(json.dumps(whole_index(data)).encode(), len(data))
    places = [head.place, *index.blobs.values()]
    for table in index.tables.values():
        for i in range(len(table.nodes)):
            leaf = table.leaf_place(i)
            places.append(leaf)
            for k, (at, _) in enumerate(np.frombuffer(data[leaf.address : leaf.address + leaf.size], dtype=ENTRY)):
                rows = min(table.chunk, table.rows - (64 * i + k) * table.chunk)
                places.append(Place(int(at), rows * table.row_bytes, 0))
    with Recording(path) as r:
        places += [Place(int(row[0]), int(row[1]), 0) for row in r.rows("arrays")]
    for place in places:
        used[place.address : place.address + place.size] = True
    return used


def everything(path: Path) -> list[Any]:
    """All that a recording says, with a look at what compiled code makes of it."""
    r = supple.load_run(path)
    try:
        out: list[Any] = [r.about, r.events, r.rods]
        for s in r.segments:
            out += [s.times, np.asarray(s.q), np.asarray(s.v), s.kinetic, s.potential, s.error, s.active_counts]
            out += [None if s.joint_wrenches is None else np.asarray(s.joint_wrenches)]
            out += [s.active_joints(i) for i in range(len(s))]
            out += [getattr(s.model, f.name) for f in fields(supple.Model) if f.init and f.name != "report"]
            if len(s):
                out += [supple.poses(s.model, s.q[0]).position]
        with Recording(path) as raw:
            out += [raw.state, raw.given, raw.finished, *raw.checkpoint()]
        return out
    finally:
        r.close()


def same(a: Any, b: Any) -> bool:
    """Whether two things that were read are the same to the last bit."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple) and not hasattr(a, "body"):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return repr(a) == repr(b)
