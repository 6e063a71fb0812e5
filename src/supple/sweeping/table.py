"""The results of a sweep, as they come: a column for each quantity, in chunks of runs; in memory, or in a store.

Runs are numbered in C order, and chunks are cut so that each is a stretch of numbers: chunk (i, j) of a grid of 1000 x
1000 has the runs of four rows. What a store has are the chunks as files (zarr_format.py), the column `status` last:
a run is done when its status says so, and then its quantities are there. A quantity that was never seen before begins
a new column; an array longer than those before it makes its column longer, and the shorter ones end in NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import StateError
from supple.sweeping.outcomes import FAILURE, LONGEST, STATUS, Outcome
from supple.sweeping.zarr_format import Layout

RUNS = 4096  #: about so many in a chunk
MISSING, FAILED, DONE = -1, 0, 1  #: of a run
MOST_COLUMNS = 1000
TEXT = np.dtype(f"<U{LONGEST}")
NAN = float("nan")
Chunk = tuple[int, ...]


@dataclass(frozen=True)
class Cut:
    """How runs of a shape are cut into chunks: whole along the last axes, single along the first."""

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    axis: int  #: that is cut into pieces

    @staticmethod
    def of(shape: tuple[int, ...], most: int = RUNS) -> Cut:
        axis = len(shape) - 1
        while axis > 0 and prod(shape[axis:]) < most:
            axis -= 1
        rest = prod(shape[axis + 1 :])
        pieces = -(-shape[axis] // max(1, most // rest))
        length = -(-shape[axis] // pieces)
        return Cut(shape, (1,) * axis + (length, *shape[axis + 1 :]), axis)

    @cached_property
    def size(self) -> int:
        """Of a chunk."""
        return prod(self.chunks)

    @cached_property
    def block(self) -> int:
        """Runs that share their place along the first axes."""
        return prod(self.shape[self.axis :])

    @cached_property
    def pieces(self) -> int:
        """Chunks of a block."""
        return -(-self.shape[self.axis] // self.chunks[self.axis])

    def number(self, run: int) -> int:
        """The chunk of a run, counted."""
        return run // self.block * self.pieces + run % self.block // self.size

    def start(self, number: int) -> int:
        return number // self.pieces * self.block + number % self.pieces * self.size

    def stop(self, number: int) -> int:
        return min(self.start(number) + self.size, (number // self.pieces + 1) * self.block)

    def index(self, number: int) -> Chunk:
        """Of a chunk, along each axis."""
        outer = np.unravel_index(number // self.pieces, self.shape[: self.axis]) if self.axis else ()
        return (*map(int, outer), number % self.pieces, *[0] * (len(self.shape) - self.axis - 1))


class Column:
    """A quantity: numbers, arrays or text. Holds the chunks that are not complete yet, or in memory all."""

    def __init__(self, cut: Cut, layout: Layout) -> None:
        self.cut, self.layout = cut, layout
        self.open: dict[int, NDArray[Any]] = {}  #: (size of a chunk, *trailing)

    @property
    def trailing(self) -> tuple[int, ...]:
        return self.layout.shape[len(self.cut.shape) :]

    def put(self, number: int, row: int, value: Any) -> None:
        if not isinstance(value, np.ndarray):
            self.open[number][row] = value
        elif value.ndim == 1:
            self.open[number][row, : len(value)] = value
        else:
            self.open[number][row] = value

    def lengthen(self, length: int) -> None:
        """Make room for longer arrays."""
        x, runs = self.layout, self.cut.shape
        shape = (*runs, length)
        self.layout = Layout(x.dimensions, shape, x.chunks, x.dtype, x.fill, x.packed, x.unit)
        for number, old in self.open.items():
            new = self.layout.blank((len(old), length))
            new[:, : old.shape[1]] = old
            self.open[number] = new

    def blank(self) -> NDArray[Any]:
        return self.layout.blank((self.cut.size, *self.trailing))


class Table:
    """Results by run. A store (store.py) keeps them in files; alone, they are in memory."""

    def __init__(self, shape: tuple[int, ...], dimensions: tuple[str, ...], units: Mapping[str, str]) -> None:
        self.shape, self.dimensions, self.units = shape, dimensions, dict(units)
        self.cut = Cut.of(shape)
        self.status = np.full(prod(shape), MISSING, dtype=np.int8)
        self.columns: dict[str, Column] = {}
        self.dirty: set[int] = set()  #: chunks with something that is not in a file
        self._add(STATUS, (), np.dtype(np.int8), MISSING)

    @property
    def counts(self) -> tuple[int, int]:
        """How many runs are done, and how many failed."""
        return int(np.count_nonzero(self.status == DONE)), int(np.count_nonzero(self.status == FAILED))

    @property
    def missing(self) -> NDArray[np.int64]:
        """The runs that have no result."""
        return np.flatnonzero(self.status == MISSING)

    def put(self, runs: Iterable[int], outcomes: Iterable[Outcome]) -> None:
        """Results of some runs."""
        for run, outcome in zip(runs, outcomes):
            values = outcome.values
            if values is not None:
                try:
                    self._make_room(values)
                except StateError as e:
                    values, outcome = None, outcome._replace(message=str(e)[:LONGEST])
            if values is None:
                self._column(FAILURE, outcome.message)
            self._put(run, {FAILURE: outcome.message} if values is None else values, values is not None)

    def put_batch(self, start: int, values: Mapping[str, NDArray[Any]]) -> None:
        """Results of runs from `start` on: arrays with a row for each."""
        self._make_room({name: x[0] if x.ndim > 1 else float(x[0]) for name, x in values.items()})
        count = len(next(iter(values.values())))
        run, end = start, start + count
        while run < end:
            number, row = self._row(run)
            stop = min(end, self.cut.stop(number))
            rows, part = slice(row, row + stop - run), slice(run - start, stop - start)
            for name, x in values.items():
                self._opened(name, number)[(rows, *(slice(0, n) for n in x.shape[1:]))] = x[part]
            self._opened(STATUS, number)[rows] = self.status[run:stop] = DONE
            self.dirty.add(number)
            run = stop

    def forget_failures(self) -> None:
        """Failed runs are to be made again."""
        for run in np.flatnonzero(self.status == FAILED).tolist():
            number, row = self._row(run)
            self._opened(FAILURE, number)[row] = ""
            self._set(run, number, row, MISSING)

    def _put(self, run: int, values: Mapping[str, Any], good: bool) -> None:
        number, row = self._row(run)
        for name, value in values.items():
            self._opened(name, number)
            self.columns[name].put(number, row, value)
        self._set(run, number, row, DONE if good else FAILED)

    def _set(self, run: int, number: int, row: int, status: int) -> None:
        self._opened(STATUS, number)[row] = self.status[run] = status
        self.dirty.add(number)

    def _opened(self, name: str, number: int) -> NDArray[Any]:
        """A chunk of a column, to write to."""
        column = self.columns[name]
        if number not in column.open:
            column.open[number] = self.load(column, name, number)
        return column.open[number]

    def _row(self, run: int) -> tuple[int, int]:
        number = self.cut.number(run)
        return number, run - self.cut.start(number)

    def load(self, column: Column, name: str, number: int) -> NDArray[Any]:
        """A chunk to write to."""
        return column.blank()

    def _make_room(self, values: Mapping[str, Any]) -> None:
        """Columns for these, refused if they do not go together with what others are."""
        for name, value in values.items():
            column = self._column(name, value)
            text, shape = isinstance(value, str), np.shape(value)
            if text != (column.layout.dtype.kind == "U"):
                raise StateError(f"{name} is {'text' if text else 'a number'} here, and something else in other runs")
            if len(shape) != len(column.trailing) or (len(shape) > 1 and shape != column.trailing):
                raise StateError(f"{name} has shape {shape} here, and {column.trailing} in other runs")
            if len(shape) == 1 and shape[0] > column.trailing[0]:
                column.lengthen(shape[0])
                self.changed()

    def _column(self, name: str, value: Any) -> Column:
        if name not in self.columns:
            if len(self.columns) >= MOST_COLUMNS:
                raise StateError(f"there are {MOST_COLUMNS} quantities already; {name} is one too many")
            text = isinstance(value, str)
            shape = tuple(max(n, 1) for n in np.shape(value))
            self._add(name, shape, TEXT if text else np.dtype(np.float64), "" if text else NAN, text)
            self.changed()
        return self.columns[name]

    def _add(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], fill: Any, packed: bool = False) -> None:
        more = tuple(f"{name}_{i}" for i in range(len(shape)))
        sizes = (*self.shape, *shape), (*self.cut.chunks, *shape)
        unit = self.units.get(name, "")
        self.columns[name] = Column(self.cut, Layout((*self.dimensions, *more), *sizes, dtype, fill, packed, unit))

    def changed(self) -> None:
        """Columns were added, or became longer."""

    def flush(self) -> None:
        """Bring everything to the files, if there are any."""

    def array(self, name: str) -> NDArray[Any]:
        """All of a column: (*shape of the sweep, *shape of the quantity)."""
        column, size = self.columns[name], prod(self.shape)
        out = column.layout.blank((size, *column.trailing))
        for number, chunk in column.open.items():
            start, stop = self.cut.start(number), self.cut.stop(number)
            out[start:stop] = chunk[: stop - start]
        return out.reshape(column.layout.shape)
