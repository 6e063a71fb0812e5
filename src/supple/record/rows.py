"""The rows of a table in a file, read on access, a chunk at a time, each checked by its CRC."""

from __future__ import annotations

import operator
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import RecordingError
from supple.memory import physical_memory
from supple.record.index import Table
from supple.record.journal import Journaled

#: Makes the error for a table that cannot be read from a row on, from its name, the row, and the problem.
Refusal = Callable[[str, int, str], RecordingError]


class Column:
    """A table as it was when the file was opened: existing rows are never changed."""

    def __init__(self, file: Journaled, name: str, table: Table, chunks: NDArray[Any], refusal: Refusal) -> None:
        """chunks: address and CRC of each."""
        self.name, self.table, self.dtype = name, table, np.dtype(table.dtype)
        self._file, self._chunks, self._refusal = file, chunks, refusal
        self._finite = name.rpartition("/")[2] in ("time", "q", "v")  #: always finite, whatever happens in a run
        self._last: tuple[int, NDArray[Any]] = -1, np.zeros(0)

    def __len__(self) -> int:
        return self.table.rows

    def require(self, rows: int) -> None:
        """Refuse to read so many rows at once that memory would not suffice, or that the file cannot have: one with
        holes can be of any size."""
        if self._file.closed:
            raise RecordingError(f"{self._file.path} is closed: what was not read before cannot be read any more")
        size, available = rows * self.table.row_bytes, physical_memory()
        if size > self._file.most:
            raise RecordingError(
                f"{self._file.path}: {rows:,} rows of {self.name} take {size / 1e9:.3g} GB, but the file takes much "
                "less on its disk, as one with holes does: they are not read; if you trust it, copy it without holes "
                "(cp --sparse=never)"
            )
        if available is not None and size > 0.8 * available:
            raise RecordingError(
                f"{self._file.path}: {rows:,} rows of {self.name} take {size / 1e9:.3g} GB, and this machine has "
                f"{available / 1e9:.3g} GB: read fewer at a time, as in q[1000:2000]"
            )

    def rows(self, begin: int, end: int) -> NDArray[Any]:
        """The rows as a separate array."""
        self.require(end - begin)
        out = np.empty((max(0, end - begin), *self.table.row), self.dtype)
        size = self.table.chunk
        for k in range(begin // size, -(-end // size)) if end > begin else ():
            i, j = max(begin, k * size), min(end, (k + 1) * size)
            out[i - begin : j - begin] = self._chunk(k)[i - k * size : j - k * size]
        return out

    def _chunk(self, k: int) -> NDArray[Any]:
        number, rows = self._last
        if number == k:
            return rows
        t = self.table
        used = min(t.chunk, t.rows - k * t.chunk)
        address, crc = self._chunks[k].tolist()
        data = self._file.read(address, used * t.row_bytes)
        if len(data) != used * t.row_bytes or zlib.crc32(data) != crc:
            raise self._refusal(self.name, k * t.chunk, "is damaged")
        rows = np.frombuffer(data, self.dtype).reshape(used, *t.row)
        if self._finite and not np.isfinite(rows).all():
            bad = int(np.flatnonzero(~np.isfinite(rows).reshape(used, -1).all(axis=1))[0])
            raise self._refusal(self.name, k * t.chunk + bad, "has a number that is not finite")
        self._last = k, rows
        return rows


class Rows:
    """Rows begin ... end of a table. Indexing returns what a NumPy array would."""

    def __init__(self, column: Column, begin: int, end: int) -> None:
        self._column, self._begin = column, begin
        self.shape, self.dtype = (end - begin, *column.table.row), column.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        first, *rest = (key or (...,)) if isinstance(key, tuple) else (key,)
        if isinstance(first, slice):
            return self._slice(range(len(self))[first])[(slice(None), *rest)]
        if first is Ellipsis or first is None or (np.ndim(first) != 1 and np.asarray(first).dtype == bool):
            return np.asarray(self)[key]
        which = _places(first, len(self))
        if which.ndim == 0:
            return self._between(int(which), int(which) + 1)[(0, *rest)]
        return self._each(which.ravel().tolist())[(np.arange(which.size).reshape(which.shape), *rest)]

    def _slice(self, which: range) -> NDArray[Any]:
        if which.step == 1:
            return self._between(which.start, max(which.start, which.stop))
        return self._each(which)

    def _each(self, which: Sequence[int]) -> NDArray[Any]:
        self._column.require(min(len(which), len(self)))
        rows = np.empty((len(which), *self.shape[1:]), self.dtype)
        for k, i in enumerate(which):
            rows[k] = self._between(i, i + 1)[0]
        return rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("what is in a file cannot be an array without being copied")
        return np.asarray(self._between(0, len(self)), dtype)

    def __repr__(self) -> str:
        return f"<{self._column.name}: {' x '.join(map(str, self.shape))} {self.dtype} in a recording>"

    def _between(self, begin: int, end: int) -> NDArray[Any]:
        return self._column.rows(self._begin + begin, self._begin + end)


def _places(index: Any, n: int) -> NDArray[np.int64]:
    """The rows, of n, that an index names which is not a slice; raises what an array would."""
    try:
        which = np.asarray(index if np.ndim(index) else operator.index(index))
    except TypeError as e:
        raise IndexError(str(e)) from None
    if which.dtype == bool:
        if len(which) != n:
            raise IndexError(f"a mask of {len(which)} entries for {n} rows")
        return np.flatnonzero(which)
    if which.size and which.dtype.kind not in "iu":
        raise IndexError("rows are named by integers, slices and masks")
    if ((which < -n) | (which >= n)).any():
        raise IndexError(f"there are {n} rows, and none of the number {which[(which < -n) | (which >= n)][0]}")
    return np.where(which < 0, which + n, which).astype(np.int64)
