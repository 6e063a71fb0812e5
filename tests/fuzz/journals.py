"""Recordings whose run was killed in the middle of a commit, with something wrong in the file, its journal, or both.

A journal that is whole counts, one that is not is refused. Where a single bit was turned round, what is read is one of
the two commits that were there, to the last bit.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import struct
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import supple
from supple.record import journal
from supple.record.head import PAGE, read_head
from supple.record.recorder import Recorder
from tampered import STATE, everything, same

MODEL = supple.trees.chain(4)
BEGIN = len(journal.JOURNAL) + hashlib.blake2b().digest_size


class Seed:
    """A file and its journal, killed after so many pages; and what there is before and after that commit."""

    def __init__(self, folder: Path, pages: int) -> None:
        path = folder / f"{pages}.h5"
        recorder = Recorder(path, {"dt": 0.1})
        self._add(recorder, 5)
        self.before = everything(path)
        self._add(recorder, 300, pages)
        recorder.close()
        (at,) = folder.glob(f"{path.name}.*.journal")
        self.file, self.journal, self.ending = path.read_bytes(), at.read_bytes(), at.name[len(path.name) :]
        self.after = everything(path)
        at.unlink()

    def _add(self, recorder: Recorder, n: int, pages: int | None = None) -> None:
        rng = np.random.default_rng(n)
        rows = rng.random((n, MODEL.nq)), rng.random((n, MODEL.nv)), rng.random(n), rng.random(n)
        recorder.add(MODEL, np.arange(n) * 0.1, *rows, active=[np.arange(i % 4) for i in range(n)])
        recorder.event(float(n), f"event {n}")
        real = journal._apply
        if pages is not None:
            journal._apply = lambda file, all_pages: _part(real, file, all_pages, pages)
        try:
            recorder.commit(STATE | {"step": n}, {"q": rows[0][-1], "v": rows[1][-1]})
        except InterruptedError:
            pass
        except supple.RecordingError:
            if pages is None:
                raise
        finally:
            journal._apply = real


def _part(real: Any, file: int, pages: dict[int, Any], count: int) -> None:
    real(file, {n: pages[n] for n in sorted(pages)[:count]})
    raise InterruptedError


@cache
def seeds() -> list[Seed]:
    folder = Path(tempfile.mkdtemp(prefix="supple-fuzz-seeds-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return [Seed(folder, pages) for pages in (0, 1, 2, 5)]


def attempt(rng: np.random.Generator, folder: Path) -> None:
    """One file with its journal, changed; read, then written on."""
    seed, path = seeds()[int(rng.integers(len(seeds())))], folder / "run.h5"
    at = folder / f"run.h5{seed.ending}"
    kind = int(rng.integers(7))
    file, pages = seed.file, seed.journal
    if kind == 0:
        pages = _bit(rng, pages)
    elif kind == 1:
        file = _bit(rng, file)
    elif kind == 2:
        pages = pages[: int(rng.integers(len(pages) + 1))]
    elif kind == 3:
        pages = _noise(rng, pages)
    elif kind == 4:
        pages = _made(rng, pages)
    elif kind == 5:
        pages = _made(rng, seeds()[int(rng.integers(len(seeds())))].journal)
    else:
        file = file[: int(rng.integers(len(file) + 1))]
    path.write_bytes(file)
    if rng.random() < 0.97:
        at.write_bytes(pages)
    else:
        os.mkfifo(at)
    try:
        _read(seed, path, kind <= 2)
    finally:
        _go_on(path)


def _read(seed: Seed, path: Path, flipped: bool) -> None:
    read = everything(path)
    if flipped:
        assert same(read, seed.before) or same(read, seed.after), "neither commit is what is read"


def _go_on(path: Path) -> None:
    """Written on, if that is possible, it is a recording."""
    try:
        recorder = Recorder(path)
    except supple.SuppleError:
        return
    try:
        rows = np.zeros((2, MODEL.nq)), np.zeros((2, MODEL.nv)), np.zeros(2), np.zeros(2)
        recorder.add(MODEL, np.zeros(2), *rows, active=[np.zeros(0, dtype=np.int64)] * 2)
        recorder.commit(STATE, {"q": rows[0][0], "v": rows[1][0]})
    finally:
        recorder.close()
    everything(path)


def _bit(rng: np.random.Generator, data: bytes) -> bytes:
    out = bytearray(data)
    out[int(rng.integers(len(out)))] ^= 1 << int(rng.integers(8))
    return bytes(out)


def _noise(rng: np.random.Generator, data: bytes) -> bytes:
    out = bytearray(data)
    at, n = int(rng.integers(len(out))), int(rng.integers(1, 2 * PAGE))
    out[at : at + n] = rng.bytes(n) if rng.random() < 0.5 else out[: int(rng.integers(n))]
    return bytes(out)


def _made(rng: np.random.Generator, data: bytes) -> bytes:
    """A journal that somebody made: its checksum is right."""
    body = bytearray(data[BEGIN:])
    (count,) = struct.unpack_from("<q", body)
    first, kind = 8 + 8 * count, int(rng.integers(6))
    if kind == 0:
        struct.pack_into("<q", body, 0, int(rng.choice([-1, 0, 1, count - 1, count + 1, 2**31, 2**60])))
    elif kind == 1:
        at = 8 + 8 * int(rng.integers(count))
        struct.pack_into("<q", body, at, int(rng.choice([-1, 0, 1, 2, 10**6, 2**40, 2**62])))
    elif kind == 2:
        body[first + int(rng.integers(len(body) - first))] ^= 1 << int(rng.integers(8))
    elif kind == 3:
        del body[int(rng.integers(len(body))) :]
    elif kind == 4:
        head = read_head(bytes(body[first : first + PAGE]))
        assert head is not None
        size, generation = (int(rng.choice([0, 1, 2**40, 2**62])) for _ in range(2))
        changed = head._replace(generation=generation) if rng.random() < 0.5 else head._replace(size=size)
        body[first : first + PAGE] = changed.page()
    else:
        body += rng.bytes(int(rng.integers(1, 2 * PAGE)))
    return journal.JOURNAL + hashlib.blake2b(body).digest() + bytes(body)


seeds()  # while the process may take its time
