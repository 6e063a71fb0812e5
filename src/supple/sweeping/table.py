"""The results of a sweep, as they come: a column for each quantity, in chunks of runs; in memory, or in a store.

Runs are numbered in C order, and chunks are cut so that each is a stretch of numbers: chunk (i, j) of a grid of 1000 x
1000 has the runs of four rows; of large arrays, fewer. What a store has are the chunks as files (zarr_format.py), the
column `status` last: a run is done when its status says so, and then its quantities are there. A quantity that was
never seen before begins a new column; an array larger than those before it makes its column larger, and the smaller
ones end in NaN. What a quantity is (text or numbers, of how many axes) is for the first run to say that has it, whoever
computes it when: if one with a lower number comes later and differs, those behind it are made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import StateError
from supple.sweeping.cut import RUNS, Cut
from supple.sweeping.outcomes import FAILURE, LONGEST, STATUS, Outcome
from supple.sweeping.plan import Plan
from supple.sweeping.zarr_format import Layout

BYTES = 4_000_000  #: about so many in a chunk
MISSING, FAILED, DONE = -1, 0, 1  #: of a run
MOST_COLUMNS = 1000
OWN = (STATUS, FAILURE)
TEXT = np.dtype(f"<U{LONGEST}")
NAN = float("nan")


class Column:
    """A quantity: numbers, arrays or text. Holds the chunks that are not complete yet, or in memory all.
    first: the lowest number of a run that has it."""

    def __init__(self, cut: Cut, layout: Layout, first: int = 0, kept: bool = False) -> None:
        self.cut, self.layout = cut, layout
        self._shapes = {self.trailing: first}  #: that were seen, and the first run that has each
        self.kept = kept  #: in files: its chunks are cut once and for all
        self.open: dict[int, NDArray[Any]] = {}  #: (size of a chunk, *room)
        self.dirty: set[int] = set()  #: chunks with something that is not in a file
        self._room = self.trailing  #: which grows by doubling

    @property
    def trailing(self) -> tuple[int, ...]:
        return self.layout.shape[len(self.cut.shape) :]

    @property
    def is_text(self) -> bool:
        return self.layout.dtype.kind == "U"

    @property
    def first(self) -> int:
        return min(self._shapes.values())

    def make_room(self, run: int, shape: tuple[int, ...]) -> None:
        """For an array of a run."""
        self._shapes[shape] = min(run, self._shapes.get(shape, run))
        self._fit(tuple(map(max, shape, self.trailing)))

    def shrink(self, run: int) -> None:
        """To what runs before this one have."""
        self._shapes = {shape: first for shape, first in self._shapes.items() if first < run}
        self._fit(tuple(max(sizes) for sizes in zip(*self._shapes)))

    def _fit(self, trailing: tuple[int, ...]) -> None:
        if trailing == self.trailing:
            return
        self.layout = replace(self.layout, shape=(*self.cut.shape, *trailing))
        if any(n > m for n, m in zip(trailing, self._room)):
            self._room = tuple(max(n, 2 * m) if n > m else m for n, m in zip(trailing, self._room))
            self._move()

    def _move(self) -> None:
        """What is open into chunks with more room."""
        old, open_before = self.cut, self.open
        if not self.kept:
            self.cut = cut_of(old.shape, self._room, self.layout.dtype)
            self.layout = replace(self.layout, chunks=(*self.cut.chunks, *self._room))
        self.open = {}
        for number, chunk in open_before.items():
            start, stop = old.start(number), old.stop(number)
            inner = tuple(slice(0, n) for n in chunk.shape[1:])
            for new, rows, runs in self.cut.stretches(start, stop):
                part = chunk[runs.start - start : runs.stop - start]
                self.open.setdefault(new, self.blank())[(rows, *inner)] = part
        if not self.kept:
            self.dirty = set(self.open)

    def blank(self) -> NDArray[Any]:
        return self.layout.blank((self.cut.size, *self._room))


def cut_of(shape: tuple[int, ...], trailing: tuple[int, ...], dtype: np.dtype[Any]) -> Cut:
    return Cut.of(shape, max(1, min(RUNS, BYTES // (dtype.itemsize * prod(trailing)))))


class Table:
    """Results by run. A store (store.py) keeps them in files; alone, they are in memory."""

    def __init__(self, plan: Plan, units: Mapping[str, str]) -> None:
        self.shape, self.dimensions, self.units = plan.shape, tuple(axis.name for axis in plan.axes), dict(units)
        self._names = {*self.dimensions, *plan.names}
        self.status = np.full(plan.size, MISSING, dtype=np.int8)
        self.columns: dict[str, Column] = {}
        self.reopened = False  #: runs that were done are to be made again
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
            try:
                values, message = outcome.values, outcome.message
                if values is not None:
                    self._make_room(run, {name: (isinstance(x, str), _shape(x)) for name, x in values.items()})
            except StateError as e:
                values, message = None, str(e)
            if values is None:
                self._fail(run, message)
            else:
                for name, value in values.items():
                    number, row = self.columns[name].cut.place(run)
                    at: Any = (row, *[slice(0, n) for n in _shape(value)])
                    self._opened(name, number)[at] = value
                self._set(run, run + 1, DONE)

    def put_batch(self, start: int, values: Mapping[str, NDArray[Any]]) -> None:
        """Results of runs from `start` on: arrays with a row for each."""
        stop = start + len(next(iter(values.values())))
        try:
            self._make_room(start, {name: (False, x.shape[1:]) for name, x in values.items()})
        except StateError as e:
            for run in range(start, stop):
                self._fail(run, str(e))
            return
        for name, x in values.items():
            more = tuple(slice(0, n) for n in x.shape[1:])
            for number, rows, runs in self.columns[name].cut.stretches(start, stop):
                self._opened(name, number)[(rows, *more)] = x[runs.start - start : runs.stop - start]
        self._set(start, stop, DONE)

    def forget_failures(self) -> None:
        """Failed runs are to be made again."""
        self._forget(self.status == FAILED)

    def _forget(self, which: NDArray[np.bool_]) -> None:
        """Runs are as if they had never been made: first their status, so that at any time it tells the truth."""
        for number, rows, runs in self.columns[STATUS].cut.stretches(0, len(which)):
            if which[runs].any():
                self._opened(STATUS, number)[rows][which[runs]] = MISSING
        self.status[which] = MISSING
        self.flush()
        for name, column in self.columns.items():
            for number, rows, runs in column.cut.stretches(0, len(which)):
                if name != STATUS and which[runs].any():
                    self._opened(name, number)[rows][which[runs]] = column.layout.blank(())

    def _fail(self, run: int, message: str) -> None:
        if FAILURE not in self.columns:
            self._add(FAILURE, (), TEXT, "", True)
        number, row = self.columns[FAILURE].cut.place(run)
        self._opened(FAILURE, number)[row] = message[:LONGEST]
        self._set(run, run + 1, FAILED)

    def _set(self, start: int, stop: int, status: int) -> None:
        self.status[start:stop] = status
        for number, rows, _ in self.columns[STATUS].cut.stretches(start, stop):
            self._opened(STATUS, number)[rows] = status

    def _opened(self, name: str, number: int) -> NDArray[Any]:
        """A chunk of a column, to write to."""
        column = self.columns[name]
        if number not in column.open:
            column.open[number] = self.load(column, name, number)
        column.dirty.add(number)
        return column.open[number]

    def load(self, column: Column, name: str, number: int) -> NDArray[Any]:
        """A chunk to write to."""
        return column.blank()

    def _make_room(self, run: int, kinds: Mapping[str, tuple[bool, tuple[int, ...]]]) -> None:
        """Columns for what a run has: of each quantity, whether it is text, and its shape. Refused if earlier runs have
        something else."""
        other = [name for name, kind in kinds.items() if not self._is_as(name, *kind)]
        for name in other:
            if self.columns[name].first < run:
                raise StateError(f"{name} is {_said(*kinds[name])} here, and something else in other runs")
        if other:
            self._give_way(run)
        for name, (text, shape) in kinds.items():
            sizes = tuple(max(n, 1) for n in shape)
            if name not in self.columns:
                self._add(name, sizes, TEXT if text else np.dtype(np.float64), "" if text else NAN, text, run)
            self.columns[name].make_room(run, sizes)

    def _is_as(self, name: str, text: bool, shape: tuple[int, ...]) -> bool:
        column = self.columns.get(name)
        return column is None or (text == column.is_text and len(shape) == len(column.trailing))

    def _give_way(self, run: int) -> None:
        """What later runs have is something else in this one: they are to be made again."""
        later = np.arange(len(self.status)) >= run
        self._forget(later & (self.status != MISSING))
        self.remove([name for name, column in self.columns.items() if column.first >= run and name not in OWN])
        self.flush()
        for name, column in self.columns.items():
            if name not in OWN:
                column.shrink(run)
        self.reopened = True

    def remove(self, names: list[str]) -> None:
        """Columns that no run has any more."""
        for name in names:
            del self.columns[name]

    def _add(
        self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], fill: Any, packed: bool = False, first: int = 0
    ) -> None:
        if len(self.columns) >= MOST_COLUMNS:
            raise StateError(f"there are {MOST_COLUMNS} quantities already; {name} is one too many")
        cut = cut_of(self.shape, shape, dtype)
        dimensions = (*self.dimensions, *(self._unused(f"{name}_{i}") for i in range(len(shape))))
        sizes = (*self.shape, *shape), (*cut.chunks, *shape)
        layout = Layout(dimensions, *sizes, dtype, fill, packed, self.units.get(name, ""))
        self.columns[name] = Column(cut, layout, first)

    def _unused(self, dimension: str) -> str:
        """A name for an axis of an array that is no parameter's."""
        return self._unused(f"{dimension}_") if dimension in self._names else dimension

    def flush(self) -> None:
        """Bring everything to the files, if there are any."""

    def array(self, name: str) -> NDArray[Any]:
        """All of a column: (*shape of the sweep, *shape of the quantity)."""
        column, size = self.columns[name], prod(self.shape)
        out = column.layout.blank((size, *column.trailing))
        for number, chunk in column.open.items():
            start, stop = column.cut.start(number), column.cut.stop(number)
            out[start:stop] = chunk[(slice(0, stop - start), *(slice(0, n) for n in column.trailing))]
        return out.reshape(column.layout.shape)


def _shape(value: Any) -> tuple[int, ...]:
    return value.shape if isinstance(value, np.ndarray) else ()


def _said(text: bool, shape: tuple[int, ...]) -> str:
    axes = len(shape)
    return "text" if text else ("a number", "a list of numbers")[axes] if axes < 2 else f"an array of {axes} axes"
