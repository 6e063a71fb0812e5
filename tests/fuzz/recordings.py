"""Recordings with wrong bits, cut off, edited by HDF5 tools, or made by somebody who knows the format and does harm.

What loads is read to the end, given to compiled code, and now and then resumed. Where a single bit was turned round,
what is read must be what was there, to the last bit.
"""

from __future__ import annotations

import atexit
import json
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import supple
from tampered import everything, fake, recorded, same, used_bytes, whole_index, with_blob, with_index, with_rows

Random = np.random.Generator

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 3, 7, 64, 10**6, 2**31, 2**53, 2**63, 10**30, -(2**63), 0.5, 1e308, float("nan"),
    float("inf"), "", "x", "f8", "i8", "../..", "\ud800", [], [[]], {}, {"": 0}, [0, 0], [[0, 0]] * 100,
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 3, 5, 63, 64, 1000, 10**6, 2**31, 2**40, 2**62, -(2**62))
FLOATS = (0.0, -1.0, 1e300, -1e300, np.nan, np.inf, -np.inf, 1e-300, 0.1, 7.0)


class Seed:
    """A recording that is good, and how to go on with it."""

    def __init__(self, folder: Path, name: str, model: supple.Model, duration: float, **how: Any) -> None:
        self.model, self.how, path = model, how | {"check_energy": False}, folder / f"{name}.h5"
        supple.simulate(model, duration=duration, record=path, **self.how).close()
        self.data, self.clean, self.longer = path.read_bytes(), everything(path), 1.2 * duration
        self.used = np.flatnonzero(used_bytes(path))
        self.index = whole_index(self.data)
        self.tables = [name for name, said in self.index["tables"].items() if said[2]]
        supple.simulate(model, duration=self.longer, record=path, resume=True, **self.how).close()
        self.resumed = everything(path)

    def resume(self, path: Path) -> list[Any]:
        supple.simulate(self.model, duration=self.longer, record=path, resume=True, **self.how).close()
        return everything(path)


def floor(state: supple.State) -> float:
    return float(state.q[0])


def bounce(state: supple.State) -> supple.State:
    return state.replace(v=-0.8 * state.v)


def push(time: float, q: Any, v: Any) -> Any:
    return 0.1 * np.cos(time) - 0.01 * v


@cache
def seeds() -> list[Seed]:
    """Of every kind of thing that a recording can have."""
    folder = Path(tempfile.mkdtemp(prefix="supple-fuzz-seeds-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    tree = supple.trees.random_tree(6, seed=2)
    b = supple.ModelBuilder("ball")
    b.add_body("ball", joint="prismatic", axis=(0, 0, 1), mass=1.0, stiffness=0.1, rest=0.2, friction=0.01)
    b.add_actuator(supple.Actuator("lift", "ball_joint", gain=2.0, damping=0.01, force_range=(-1.0, 2.0)))
    b.add_visual("ball", "sphere", (0.1,), rgba=(1.0, 0.0, 0.0, 1.0))
    b.add_frame("top", "ball", (0, 0, 0.1))
    falls = supple.Event("floor", floor, -1, bounce)
    chain = supple.trees.chain(30)
    pushes = [supple.Push(29, force=(0, 1, 0.5))]
    return [
        Seed(folder, "tree", tree, 0.02, q=tree.random(0), joint_wrenches=True, joint_forces=True),
        Seed(folder, "forced", tree, 0.02, q=tree.random(1), tau=push, dt=2e-3),
        Seed(folder, "ball", b.build(), 2.0, q=[1.0], events=[falls], dt=0.02),
        Seed(folder, "quasi-statics", chain, 0.1, forces=pushes, method="quasi-statics", error=1e-3, dt=0.02),
        Seed(folder, "adaptive", chain, 0.01, q=chain.random(0), forces=pushes, method="adaptive", active=6, dt=1e-3),
    ]


def attempt(rng: Random, folder: Path) -> None:
    """One recording, changed; then all that can be done with one."""
    seed, path = seeds()[int(rng.integers(len(seeds())))], folder / "run.h5"
    change = CHANGES[int(rng.choice(len(CHANGES), p=WEIGHTS))]
    path.write_bytes(change(rng, seed))
    flipped = change is one_bit
    if rng.random() < 0.2:
        shutil.copy(path, folder / "again.h5")
        try:
            resumed = seed.resume(folder / "again.h5")
            assert not flipped or same(resumed, seed.resumed), "a run went on to other numbers"
        except supple.SuppleError:
            pass
    read = everything(path)
    assert not flipped or same(read, seed.clean), "a bit changed what is read"
    r = supple.load_run(path)
    try:
        repr(r), r.measure, r.span
        for segment in r.segments[:3]:
            q, v = np.asarray(segment.q)[-1], np.asarray(segment.v)[-1]
            supple.forward_dynamics(segment.model, q, v)
            repr(segment.model), segment.model.tree()
    finally:
        r.close()
    if rng.random() < 0.05:
        supple.export(path, folder / "run.npz")


def one_bit(rng: Random, seed: Seed) -> bytes:
    out = bytearray(seed.data)
    at = int(rng.choice(seed.used)) if rng.random() < 0.8 else int(rng.integers(len(out)))
    out[at] ^= 1 << int(rng.integers(8))
    return bytes(out)


def some_bytes(rng: Random, seed: Seed) -> bytes:
    """Several bits, stretches of noise or of zeros, pieces of the file in other places, an end that is missing."""
    out = bytearray(seed.data)
    for _ in range(int(rng.integers(1, 5))):
        at, n = int(rng.choice(seed.used)), int(rng.integers(1, 200))
        kind = int(rng.integers(4))
        if kind == 0:
            out[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            out[at : at + n] = rng.bytes(len(out[at : at + n]))
        elif kind == 2:
            out[at : at + n] = bytes(len(out[at : at + n]))
        else:
            source = int(rng.choice(seed.used))
            piece = out[source : source + n]
            out[at : at + len(piece)] = piece
    if rng.random() < 0.2:
        del out[int(rng.integers(len(out))) :]
    return bytes(out)


def places(x: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where there is anything in JSON."""
    out = [at] if at else []
    for key, value in x.items() if isinstance(x, dict) else enumerate(x[:50]) if isinstance(x, list) else ():
        out += places(value, (*at, key))
    return out


def odd(rng: Random) -> Any:
    """One of its own, which may be changed."""
    return deepcopy(ODD[int(rng.integers(len(ODD)))])


def other_json(rng: Random, x: Any) -> Any:
    """JSON with something else somewhere, missing, or twice."""
    x = json.loads(json.dumps(x))
    for _ in range(int(rng.integers(1, 3))):
        found = places(x)
        if not found:
            return odd(rng)
        *above, key = found[int(rng.integers(len(found)))]
        inside = x
        for k in above:
            inside = inside[k]
        kind = int(rng.integers(4))
        if kind == 0:
            del inside[key]
        elif kind == 1 and isinstance(inside[key], int | float):
            inside[key] = inside[key] + int(rng.integers(-3, 4))
        elif kind == 2 and isinstance(inside, list):
            inside.append(inside[key])
        else:
            inside[key] = odd(rng)
    return x


def other_index(rng: Random, seed: Seed) -> bytes:
    return with_index(seed.data, other_json(rng, seed.index))


def other_blob(rng: Random, seed: Seed) -> bytes:
    """The JSON of a blob changed; of the checkpoint, its bytes."""
    name = str(rng.choice(["about", "given", "state", "checkpoint"]))
    address, size, _ = seed.index["blobs"][name]
    data = seed.data[address : address + size]
    if name == "checkpoint" and rng.random() < 0.5:
        out = bytearray(data)
        out[int(rng.integers(len(out)))] = int(rng.integers(256))
        return with_blob(seed.data, name, bytes(out))
    text, _, rest = data.partition(b"\n")
    changed = json.dumps(other_json(rng, json.loads(text))).encode()
    return with_blob(seed.data, name, changed + (b"\n" + rest if name == "checkpoint" else b""))


def other_rows(rng: Random, seed: Seed) -> bytes:
    """Numbers of tables changed, their checksums put right."""
    data = seed.data

    def change(rows: Any) -> None:
        flat, n = rows.reshape(-1), int(rng.integers(1, 4))
        for i in rng.integers(0, len(flat), n).tolist():
            if flat.dtype.kind == "f":
                flat[i] = FLOATS[int(rng.integers(len(FLOATS)))]
            elif flat.dtype.itemsize == 1:
                flat[i] = int(rng.integers(256))
            else:
                flat[i] = NUMBERS[int(rng.integers(len(NUMBERS)))] + (int(flat[i]) if rng.random() < 0.3 else 0) % 2**60

    for _ in range(int(rng.integers(1, 3))):
        data = with_rows(data, str(rng.choice(seed.tables)), change)
    return data


def other_array(rng: Random, seed: Seed) -> bytes:
    """Numbers of a model changed, their checksums put right."""
    out, found = bytearray(seed.data), []

    def change(rows: Any) -> None:
        row = rows[int(rng.integers(len(rows)))]
        address, size, _, kind = (int(x) for x in row[:4])
        if size:
            x = np.frombuffer(out[address : address + size], dtype=("f8", "i8", "u1")[kind]).copy()
            at = int(rng.integers(len(x)))
            x[at] = (FLOATS if kind == 0 else NUMBERS if kind == 1 else range(256))[int(rng.integers(10))]
            out[address : address + size] = x.tobytes()
            row[2] = zlib.crc32(x.tobytes())
            found.append((address, x.tobytes()))

    data = bytearray(with_rows(seed.data, "arrays", change))
    for address, piece in found:
        data[address : address + len(piece)] = piece
    return bytes(data)


def other_model(rng: Random, seed: Seed) -> bytes:
    """A recording of something that is nearly a model: another shape, type or name."""
    m = seed.model
    name = str(
        rng.choice(["parent", "mass", "inertia", "lower", "gravity", "q_index", "axis", "rotation", "body_names"])
    )
    x = getattr(m, name)
    kind = int(rng.integers(5))
    if name == "body_names":
        bad: Any = [("a", "a\x00b", "\ud800", "x" * 10**5, 5)[kind]] * (m.n_bodies - (kind == 0))
    else:
        bad = (x[:-1], np.concatenate([x, x]), x[:0], x.astype(np.float64), x[..., None][..., :1])[kind]
    with tempfile.TemporaryDirectory() as folder:
        q, v = np.tile(m.neutral(), (3, 1)), np.zeros((3, m.nv))
        try:
            return recorded(Path(folder) / "run.h5", fake(m, **{name: bad}), q, v).read_bytes()
        except (ValueError, TypeError):  # of more dimensions than can be written
            return seed.data


def by_hdf5(rng: Random, seed: Seed) -> bytes:
    """Edited by h5py, which knows nothing of us."""
    import h5py

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.h5"
        path.write_bytes(seed.data)
        try:
            with h5py.File(path, "r+") as h5:
                names: list[str] = []
                h5.visit(names.append)
                name = str(rng.choice(names))
                kind = int(rng.integers(5))
                if kind == 0:
                    del h5[name]
                elif kind == 1:
                    h5[name].attrs["x"] = "text" * int(rng.integers(1, 300))
                elif kind == 2:
                    h5[f"{rng.integers(1000)}"] = h5py.ExternalLink("/etc/passwd", "x")
                elif kind == 3 and isinstance(h5[name], h5py.Dataset) and h5[name].maxshape[0] is None:
                    h5[name].resize(int(rng.integers(0, 10_000)), axis=0)
                elif isinstance(h5[name], h5py.Dataset) and h5[name].size:
                    h5[name][...] = 1
        except (KeyError, OSError, RuntimeError, ValueError):
            pass
        return path.read_bytes()


CHANGES: tuple[Callable[[Random, Seed], bytes], ...] = (
    one_bit, some_bytes, other_index, other_blob, other_rows, other_array, other_model, by_hdf5,
)  # fmt: skip
WEIGHTS = (0.35, 0.1, 0.15, 0.1, 0.12, 0.12, 0.03, 0.03)

seeds()  # while the process may take its time
