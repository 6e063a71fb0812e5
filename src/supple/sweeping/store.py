"""The store of a sweep: a folder in the Zarr format that grows while the sweep runs, and can be read at any time.

    .zgroup .zmetadata          Zarr's own
    .zattrs                     what is run, over what (`supple`), from which a sweep is resumed
    slope/ hip_mass/ ...        the axes
    status/                     of each run: 1 done, 0 failed, -1 missing
    failure/                    the messages of those that failed
    energy/ period/ ...         quantities

Chunks are written about every second, and when they are complete; `status` last, so that a kill at any instant loses at
most what came since. One process writes; its lock ends with it.
"""

from __future__ import annotations

import os
import shutil
import time as clock
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple import __version__
from supple.errors import SweepError
from supple.holding import lock
from supple.sweeping.cut import Cut
from supple.sweeping.outcomes import FAILURE, STATUS
from supple.sweeping.plan import Axis, Plan
from supple.sweeping.table import MISSING, Column, Table
from supple.sweeping.zarr_format import NEW, Layout, layout_of, put_json, read_array, read_json

SECONDS = 1.0  #: between two writings,
SHARE = 20.0  #: or so many times as long as the last one took
FORMAT = 1
GROUP = {"zarr_format": 2}
LOCK = ".lock"
FIRST = "supple_first"  #: the first run that has a quantity


class Store(Table):
    """A table whose chunks are files."""

    def __init__(self, path: Path, plan: Plan, about: dict[str, Any], units: dict[str, str]) -> None:
        super().__init__(plan, units)
        self.path, self._plan, self._about = path, plan, about
        self._lock: int | None = None
        self._written, self._took = clock.monotonic(), 0.0
        self._metadata: dict[str, Any] = {}

    @staticmethod
    def create(path: Path, plan: Plan, about: dict[str, Any], units: dict[str, str], overwrite: bool) -> Store:
        """A new one; refused where something is, unless it is a sweep that may be overwritten."""
        if path.is_symlink() or path.exists():
            there = path.is_dir() and (is_store(path) or all(x.name == LOCK for x in path.iterdir()))
            if not there:
                raise SweepError(f"{path} is there already, and is no sweep; give another name")
            if is_begun(path) and not overwrite:
                raise SweepError(f"{path} has a sweep already; resume it, overwrite it, or give another name")
        out = Store(path, plan, about, units)
        try:
            path.mkdir(exist_ok=True)
            out._hold()
            out._clear()
        except FileNotFoundError:
            raise SweepError(f"{path} cannot be written: there is no folder {path.parent}") from None
        except OSError as e:
            out.close()
            raise e if isinstance(e, SweepError) else _unwritable(path, e) from None
        try:
            out._write_axes()
        except OSError as e:
            out.close()
            raise e if isinstance(e, SweepError) else _unwritable(path, e) from None
        return out

    @staticmethod
    def resume(path: Path, units: dict[str, str] | None = None) -> Store:
        """One that is there, to go on with it."""
        plan, about, layouts = described(path)
        if about.get("version") != __version__:
            raise SweepError(
                f"{path} was begun with Supple {about.get('version')}, and this is {__version__}, which may compute "
                "something else; go on with that one, or give another name"
            )
        out = Store(path, plan, about, {name: x.unit for name, x in layouts.items()} | (units or {}))
        out._hold()
        try:
            out._read()
        except BaseException:
            out.close()
            raise
        return out

    def _read(self) -> None:
        """What is there, now that nobody else writes."""
        plan, _, layouts = described(self.path)
        for left in self.path.rglob(f"*{NEW}"):
            if not left.is_dir():  # a quantity can be called so
                left.unlink(missing_ok=True)
        said = read_json(self.path / ".zmetadata")["metadata"]
        self._metadata = {name: x for name, x in said.items() if "/" in name}
        axes = len(plan.shape)
        for name, layout in layouts.items():
            cut = Cut.read(plan.shape, layout.chunks[:axes])
            if layout.shape[:axes] != plan.shape or cut is None:
                raise SweepError(f"{self.path / name} is damaged: it is not cut as the sweep is")
            first = said[f"{name}/.zattrs"].get(FIRST)
            self.columns[name] = Column(cut, layout, first if isinstance(first, int) else 0, kept=True)
        self.status = read_array(self.path / STATUS, layouts[STATUS]).reshape(-1).copy()

    @property
    def plan(self) -> Plan:
        return self._plan

    @property
    def about(self) -> dict[str, Any]:
        return self._about

    def check_same(self, plan: Plan, about: dict[str, Any]) -> None:
        """Refuse to go on with a sweep that is another one."""
        mine, theirs = self._about, about
        for name in ("what", "content", "quantities", "batch"):
            if mine.get(name) != theirs.get(name):
                raise self._other(name, mine.get(name), theirs.get(name))
        for name in dict.fromkeys([*self._plan.fixed, *plan.fixed]):
            if self._plan.fixed.get(name) != plan.fixed.get(name):
                raise self._other(name, self._plan.fixed.get(name), plan.fixed.get(name))
        names, others = ([f"{a.name} ({', '.join(a.values)})" for a in p.axes] for p in (self._plan, plan))
        if names != others:
            raise self._other("its axes", ", ".join(names), ", ".join(others))
        for a, b in zip(self._plan.axes, plan.axes):
            for name, x in a.values.items():
                y = b.values[name]
                if x.shape != y.shape or not (x == y).all():
                    raise self._other(f"the values of {name}", f"{len(x)} from {x[0]}", f"{len(y)} from {y[0]}")

    def _other(self, name: str, here: Any, given: Any) -> SweepError:
        before, now = ("not given" if x is None else x for x in (here, given))
        return SweepError(
            f"{self.path} cannot be resumed as another sweep: {name} is {before} there, {now} now; give another name"
        )

    def _hold(self) -> None:
        try:
            self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        except OSError as e:
            raise _unwritable(self.path, e) from None
        if lock(self._lock) is False:
            os.close(self._lock)
            self._lock = None
            raise SweepError(f"{self.path} is being written by another process; wait for it, or give another name")

    def close(self) -> None:
        """Let others write."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _clear(self) -> None:
        """Remove what is there: first what says that it is a whole, last what says that it is a sweep."""
        order = {".zmetadata": 0, ".zattrs": 2, LOCK: 3}
        for part in sorted(self.path.iterdir(), key=lambda part: order.get(part.name, 1)):
            if part.name == LOCK:
                continue
            shutil.rmtree(part) if part.is_dir() and not part.is_symlink() else part.unlink()

    def _write_axes(self) -> None:
        """All that is known at the beginning; at first, that it is a sweep."""
        aside = [name for axis in self._plan.axes for name in axis.values if name != axis.name]
        coordinates = {"coordinates": " ".join(aside)} if aside else {}  # as xarray has them
        put_json(self.path / ".zattrs", {"supple": self._about} | coordinates)
        put_json(self.path / ".zgroup", GROUP)
        for axis in self._plan.axes:
            for name, values in axis.values.items():
                layout = Layout((axis.name,), (len(values),), (len(values),), values.dtype)
                self._write_layout(name, layout, {})
                layout.write_chunk(self.path / name / "0", values)
        self._write_layouts()

    def _write_layouts(self) -> None:
        """Write the metadata of columns that are new or became larger, each and all of them together."""
        several = [
            self._write_layout(name, c.layout, {FIRST: c.first} if c.first else {}) for name, c in self.columns.items()
        ]
        if any(several):
            self._write_metadata()
        for column in self.columns.values():
            column.kept = True

    def _write_metadata(self) -> None:
        arrays = {".zgroup": GROUP, ".zattrs": read_json(self.path / ".zattrs")} | self._metadata
        put_json(self.path / ".zmetadata", {"zarr_consolidated_format": 1, "metadata": arrays})

    def _write_layout(self, name: str, layout: Layout, more: dict[str, Any]) -> bool:
        """Whether it is another one than before."""
        both = {f"{name}/.zarray": layout.metadata(), f"{name}/.zattrs": layout.attributes() | more}
        if all(self._metadata.get(key) == x for key, x in both.items()):
            return False
        (self.path / name).mkdir(exist_ok=True)
        for key, content in both.items():
            put_json(self.path / key, content)
        self._metadata |= both
        return True

    def remove(self, names: list[str]) -> None:
        """What says that they are there first, then themselves."""
        super().remove(names)
        try:
            for name in names:
                for key in (f"{name}/.zarray", f"{name}/.zattrs"):
                    self._metadata.pop(key, None)
            self._write_metadata()
            for name in names:
                shutil.rmtree(self.path / name)
        except OSError as e:
            raise self._full(e) from None

    def load(self, column: Column, name: str, number: int) -> NDArray[Any]:
        chunk = column.blank()
        for place, part in self._parts(column, name, number):
            found = column.layout.read_chunk(place)
            if found is not None:
                whole = found.reshape(column.cut.size, *found.shape[len(self.shape) :])
                chunk[(slice(None), *part)] = whole[(slice(None), *(slice(0, s.stop - s.start) for s in part))]
        start, stop = column.cut.start(number), column.cut.stop(number)
        half = np.flatnonzero(self.status[start:stop] == MISSING)  # written before their status was
        chunk[half] = MISSING if name == STATUS else column.layout.blank(())
        return chunk

    def _parts(self, column: Column, name: str, number: int) -> list[tuple[Path, tuple[slice, ...]]]:
        """The files of a chunk, and which part of it each has: a column that became longer has several."""
        begins, each = column.cut.index(number), column.layout.chunks[len(self.shape) :]
        counts = [-(-n // c) for n, c in zip(column.trailing, each)]
        out = []
        for at in np.ndindex(*counts):
            key = ".".join(map(str, (*begins, *at)))
            place = tuple(slice(i * c, min((i + 1) * c, n)) for i, c, n in zip(at, each, column.trailing))
            out.append((self.path / name / key, place))
        return out

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return clock.monotonic() - self._written > max(SECONDS, SHARE * self._took)

    def flush(self) -> None:
        """Write all chunks that changed. Those that are complete need not be kept."""
        begun = clock.monotonic()
        try:
            self._write_layouts()
            for name in [*(n for n in self.columns if n != STATUS), STATUS]:
                column = self.columns[name]
                for number in sorted(column.dirty):
                    self._write(name, number)
                    column.dirty.discard(number)
            for column in self.columns.values():
                for number in list(column.open):
                    if not (self.status[column.cut.start(number) : column.cut.stop(number)] == MISSING).any():
                        del column.open[number]
        except OSError as e:
            raise self._full(e) from None
        self._written = clock.monotonic()
        self._took = self._written - begun

    def _full(self, e: OSError) -> SweepError:
        if not self.path.is_dir():
            return SweepError(f"{self.path} was removed while the sweep ran")
        said = e if isinstance(e, SweepError) else _unwritable(self.path, e)
        return SweepError(f"{said}; what was written before is safe: make room, and resume")

    def _write(self, name: str, number: int) -> None:
        column = self.columns[name]
        chunk = column.open[number]
        each = column.layout.chunks[len(self.shape) :]
        for path, part in self._parts(column, name, number):
            piece = column.layout.blank((column.cut.size, *each))
            piece[(slice(None), *(slice(0, s.stop - s.start) for s in part))] = chunk[(slice(None), *part)]
            column.layout.write_chunk(path, piece.reshape(column.layout.chunks))

    def array(self, name: str) -> NDArray[Any]:
        self.flush()
        return read_array(self.path / name, self.columns[name].layout)


def is_store(path: Path) -> bool:
    """Whether a folder has a sweep."""
    try:
        return "supple" in (read_json(path / ".zattrs") or {})
    except (SweepError, TypeError):
        return False


def is_begun(path: Path) -> bool:
    """Whether it has one that can be resumed: killed before its first run, it has none."""
    return is_store(path) and (path / ".zmetadata").exists()


def described(path: Path) -> tuple[Plan, dict[str, Any], dict[str, Layout]]:
    """The runs of the sweep in a store, what it says of itself, and its columns."""
    if not path.is_dir():
        raise SweepError(f"{path} is no sweep: there is no such folder")
    whole, said = read_json(path / ".zmetadata"), read_json(path / ".zattrs")
    if not isinstance(said, dict) or not isinstance(said.get("supple"), dict) or not isinstance(whole, dict):
        raise SweepError(f"{path} is no sweep that Supple has written, or was killed before its first run")
    about, arrays = said["supple"], whole.get("metadata")
    if about.get("format") != FORMAT:
        raise SweepError(f"{path} is of another version of Supple, whose sweeps this one does not read")
    if not isinstance(arrays, dict):
        raise SweepError(f"{path} is damaged: it does not say what arrays it has")
    layouts = {}
    for key, content in arrays.items():
        name, _, kind = key.rpartition("/")
        if kind == ".zarray" and name:
            if Path(name).name != name or name.startswith("."):
                raise SweepError(f"{path} is damaged: an array cannot be called {name!r}")
            layouts[name] = layout_of(f"{path / name}", content, arrays.get(f"{name}/.zattrs"))
    axes = []
    try:
        for entry in about["axes"]:
            values = {str(n): read_array(path / n, layouts.pop(n)) for n in entry["parameters"]}
            axes.append(Axis(str(entry["name"]), values))
        plan = Plan(tuple(axes), dict(about["fixed"]))
        good = bool(axes) and all(x.shape == (len(a),) for a in axes for x in a.values.values())
        good = good and layouts[STATUS].shape == plan.shape and FAILURE not in plan.names
    except (KeyError, TypeError, ValueError, StopIteration):
        good = False
    if not good:
        raise SweepError(f"{path} is damaged: its axes are not as it says")
    return plan, about, layouts


def _unwritable(path: Path, e: OSError) -> SweepError:
    return SweepError(f"{path} cannot be written: {e.strerror or e}")
