"""The results of a sweep: quantities by name over named axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.arguments import checked, checked_as, take, whole
from supple.errors import StateError, SweepError, printable, short
from supple.model.model import unknown
from supple.sweeping.cut import Cut
from supple.sweeping.outcomes import FAILURE, STATUS, WALL
from supple.sweeping.plan import Plan
from supple.sweeping.store import described
from supple.sweeping.table import DONE, FAILED, MISSING, Table
from supple.sweeping.zarr_format import Layout, read_array

Floats = NDArray[np.float64]


class Failure(NamedTuple):
    """A run that failed: its number, what it was given, and what went wrong."""

    run: int
    parameters: dict[str, Any]
    message: str

    def __repr__(self) -> str:
        given = ", ".join(f"{short(name)}={short(x)}" for name, x in self.parameters.items())
        return f"<Failure of run {self.run} ({short(given)}): {printable(self.message)[:120]}>"


class Sweep:
    """The results of a sweep: s["period"] is an array over its axes, s.axes has their values, s.units the units.

    NaN is what was not computed, or failed: s.status says which (1 done, 0 failed, -1 missing), s.failures why. One
    that is read from a store (supple.load_sweep) is what was there when it was opened; refresh() reads it again.
    """

    def __init__(self, plan: Plan, about: dict[str, Any], table: Table | None, path: Path | None) -> None:
        self._plan, self._table, self._path = plan, table, path
        self.about = about  #: what was run, and how
        self._layouts: dict[str, Layout] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read the state of the store again, which may be growing."""
        self._read: dict[str, NDArray[Any]] = {}
        if self._path is not None:
            _, _, self._layouts = described(self._path)
        elif self._table is not None:
            self._layouts = {name: column.layout for name, column in self._table.columns.items()}
        self._read[STATUS] = self._array(STATUS).astype(np.int8)  # first: what it says is done is there

    @property
    def path(self) -> str | None:
        """The store, if there is one."""
        return None if self._path is None else str(self._path)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._plan.shape

    def __len__(self) -> int:
        return self._plan.size

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(axis.name for axis in self._plan.axes)

    @property
    def axes(self) -> dict[str, NDArray[Any]]:
        """The values of each parameter along its axis: one for each axis, or several that were sampled together."""
        return {name: x.copy() for axis in self._plan.axes for name, x in axis.values.items()}

    @property
    def fixed(self) -> dict[str, Any]:
        """What was the same in all runs."""
        return dict(self._plan.fixed)

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of what was computed."""
        return tuple(name for name in self._layouts if name not in (STATUS, FAILURE))

    @property
    def units(self) -> dict[str, str]:
        """Of the quantities that have any."""
        return {name: self._layouts[name].unit for name in self.quantities if self._layouts[name].unit}

    @property
    def status(self) -> NDArray[np.int8]:
        """Of each run: 1 done, 0 failed, -1 missing."""
        return self._read[STATUS]

    @property
    def done(self) -> int:
        return int((self.status == DONE).sum())

    @property
    def failed(self) -> int:
        return int((self.status == FAILED).sum())

    @property
    def missing(self) -> int:
        return int((self.status == MISSING).sum())

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.quantities:
            raise StateError(
                f"{unknown('quantity', str(name), self.quantities, listed=True)} ({', '.join(self.quantities)})"
            )
        if name not in self._read:
            self._read[name] = self._array(name)
        return self._read[name]

    def _array(self, name: str) -> NDArray[Any]:
        if self._path is not None:
            return read_array(self._path / name, self._layouts[name])
        assert self._table is not None
        return self._table.array(name)

    def parameters(self, run: int) -> dict[str, Any]:
        """What a run got: run counts through the axes in C order."""
        number = take("the number of a run", run, whole(0, len(self) - 1))
        return self._plan.fixed | self._plan.varied(number)

    @property
    def failures(self) -> list[Failure]:
        """The runs that failed, and why."""
        return self._failures()

    def _failures(self, most: int | None = None) -> list[Failure]:
        """The first ones. Only chunks that have any are read: texts are large."""
        runs = np.flatnonzero(self.status.reshape(-1) == FAILED)[:most]
        if FAILURE not in self._layouts or not len(runs):
            return []
        cut = Cut.read(self.shape, self._layouts[FAILURE].chunks)
        if cut is None:
            raise SweepError(f"{self._path} is damaged: its failures are not cut as the sweep is")
        columns = {name: x.tolist() for name, x in self._plan.columns(runs).items()}
        out: list[Failure] = []
        number, said = -1, np.empty(0)
        for i, run in enumerate(runs.tolist()):
            of, row = cut.place(run)
            if of != number:
                number, said = of, self._said_in(cut, of)
            out.append(Failure(run, {name: x[i] for name, x in columns.items()}, str(said[row])))
        return out

    def _said_in(self, cut: Cut, number: int) -> NDArray[Any]:
        """The messages of a chunk."""
        layout = self._layouts[FAILURE]
        if self._path is None:
            assert self._table is not None
            return self._table.columns[FAILURE].open[number]
        found = layout.read_chunk(self._path / FAILURE / ".".join(map(str, cut.index(number))))
        return np.full(cut.size, "") if found is None else found.reshape(-1)

    def to_xarray(self) -> Any:
        """An xarray.Dataset with the axes by name, units as attributes."""
        try:
            import xarray
        except ImportError:
            raise SweepError("to_xarray needs xarray: pip install 'supple[sweeps]'") from None
        axes = self._plan.axes
        coordinates = {name: (axis.name, x) for axis in axes for name, x in axis.values.items()}
        columns = {
            name: (
                self._layouts[name].dimensions,
                self[name],
                {"units": self.units[name]} if name in self.units else {},
            )
            for name in self.quantities
        }
        return xarray.Dataset({**columns, STATUS: (self.dimensions, self.status)}, coordinates)

    @checked
    def plot(self, path: str | Path | None = None, quantity: str | None = None) -> Any:
        """A matplotlib figure, saved if a path is given: lines over one axis, a heat map over two, several over three;
        points if parameters were sampled. quantity: which; by default the first that was computed."""
        from supple.sweeping.plot import plot

        return plot(self, path, self._to_show(quantity))

    def _to_show(self, quantity: str | None) -> str:
        """The quantity to be shown: the one named, or the first that varies."""
        if quantity is not None:
            _ = self[quantity]
            return quantity
        numbers = [name for name in self.quantities if self._layouts[name].dtype.kind == "f" and name != WALL]
        if not numbers:
            raise StateError("there is nothing to show yet: no run gave a number")
        own = [name for name in numbers if len(self._layouts[name].shape) == len(self.shape)]
        for name in own:
            known = self[name][np.isfinite(self[name])]
            if len(known) and known.min() < known.max():
                return name
        return (own or numbers)[0]

    def __repr__(self) -> str:
        size = " x ".join(f"{len(axis)} {axis.name}" for axis in self._plan.axes)
        text = f"<Sweep of {short(self.about.get('what', 'runs'))}: {short(size)}; {self.done:,} done"
        text += f", {self.failed:,} failed" * bool(self.failed) + f", {self.missing:,} missing" * bool(self.missing)
        names = short(", ".join(name for name in self.quantities if name != WALL))
        return text + (f"; {names}" if names else "") + (f"; in {short(self._path)}>" if self._path else ">")


@checked_as(SweepError)
def load_sweep(path: str | Path) -> Sweep:
    """The results in the store of a sweep, also of one that is still running."""
    plan, about, _ = described(Path(path))
    return Sweep(plan, about, None, Path(path))
