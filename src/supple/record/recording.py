"""Reading a recording: its segments as arrays in the file, read on access.

The file may be growing while another process writes it. What existed when it was opened stays there, and is all that is
visible. Everything that is read is checked: bytes by their CRC, sizes against the file, numbers against their use.
"""

from __future__ import annotations

import time as clock
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from supple.errors import ModelError, RecordingError, printable, quoted
from supple.model.model import Model, count, span
from supple.record import checkpoint
from supple.record.index import Damaged, Index, as_dict, checked, is_number, leaves, parsed
from supple.record.journal import Journaled
from supple.record.layout import EVENTS, RAGGED, SEGMENT, States
from supple.record.models import ARRAY_ROW, COLUMNS, array_place, read_model
from supple.record.rows import Column, Rows
from supple.record.tables import read_index

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PATIENCE = 30.0  #: seconds for which a file that another process is changing is opened again
REPEATED = 64  #: limit on the size of its models, which share arrays, as a multiple of the size of the file


class Recording:
    """A recording open for reading, as it was when it was opened. Use as a context manager, or close it; access after
    that is refused."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._models: dict[int, Model] = {}
        self._arrays: dict[int, NDArray[Any]] = {}
        until = clock.monotonic() + PATIENCE
        while not self._opened(clock.monotonic() >= until):
            pass

    def _opened(self, last: bool) -> bool:
        """Whether everything is consistent; if not, another process must have committed in the meantime."""
        try:
            self._file = Journaled(self.path, "r")
        except RecordingError:
            raise
        except OSError as e:
            raise RecordingError(f"{self.path} cannot be read: {e.strerror}") from None
        except MemoryError:  # a journal of any size
            raise self._too_large() from None
        try:
            self._look()
            return True
        except (Damaged, RecordingError) as e:
            again = self._file.stale and not last
            self.close()
            if again:
                return False
            raise e if isinstance(e, RecordingError) else self._damaged(str(e)) from None
        except MemoryError:
            self.close()
            raise self._too_large() from None
        except BaseException:
            self.close()
            raise

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise RecordingError(f"{self.path} is open, and not copied or pickled: hand on its path, and load it there")

    def _too_large(self) -> RecordingError:
        """A file may be larger than its size on disk."""
        return RecordingError(
            f"{self.path} is refused: what must be read to open it does not fit in memory; no run of this machine can "
            "have left that"
        )

    def _damaged(self, what: str) -> RecordingError:
        return RecordingError(f"{self.path} is damaged, and refused: {what}")

    def _look(self) -> None:
        file = self._file
        if file.missing:
            left = file.head.size - file.missing
            raise RecordingError(f"{self.path} is truncated, and refused: of {file.head.size} bytes {left} are left")
        index = read_index(file)
        self._columns = {
            name: Column(file, name, table, leaves(file.read, table, name), self._refusal)
            for name, table in index.tables.items()
        }
        self._index = index
        self.generation = file.generation
        self.sets = _sets(index)
        self._check_tables()
        about, said = as_dict(self._json("about")), as_dict(self._json("state"))
        self.about, self.versions = as_dict(about.get("about")), as_dict(about.get("versions"))
        self.given = as_dict(self._json("given"))
        self.finished, self.state = said.get("finished") is True, _checked_state(as_dict(said.get("state")))
        self.events = self._events()
        self._segments = self._checked_segments()

    def _check_tables(self) -> None:
        forms = {**EVENTS, "segments": ((SEGMENT,), "i8"), "arrays": ((ARRAY_ROW,), "i8")}
        forms["models/table"] = (len(COLUMNS),), "i8"
        for i, states in enumerate(self.sets):
            forms |= {f"states/{i}/{name}": form for name, form in states.columns().items()}
        tables = self._index.tables
        for name, (row, dtype) in forms.items():
            if name not in tables or (tables[name].row, tables[name].dtype) != (row, dtype):
                raise Damaged(f"it has no {name}, or not of the form that it must be")
        for i in range(len(self.sets)):
            names = [name for name in self.sets[i].columns() if name not in RAGGED]
            if len({tables[f"states/{i}/{name}"].rows for name in names}) != 1:
                raise Damaged(f"the columns of states/{i} are not of one length")

    def _events(self) -> list[tuple[float, str]]:
        times, ends = self.rows("events/time"), self.rows("events/name_end")
        letters = self.rows("events/names").tobytes()
        if len(ends) != len(times) or (np.diff(ends, prepend=0) < 0).any() or (ends > len(letters)).any():
            raise Damaged("its events have no names")
        starts = [0, *ends.tolist()]
        names = [letters[a:b].decode(errors="replace") for a, b in pairwise(starts)]
        return list(zip(times.tolist(), names))

    def _checked_segments(self) -> list[tuple[int, int, int, int]]:
        """For each segment: the model, the states, and the first and last of them."""
        rows = self.rows("segments").tolist()
        ends = [self._index.tables[f"states/{i}/time"].rows for i in range(len(self.sets))]
        models, out = self._index.tables["models/table"].rows, []
        for model, number, first in reversed(rows):
            if not (0 <= model < models and 0 <= number < len(self.sets) and 0 <= first <= ends[number]):
                raise Damaged("its segments are not of its models and states")
            out.append((model, number, first, ends[number]))
            ends[number] = first
        if not out or any(ends) or out[-1][2] == out[-1][3]:
            raise Damaged("its segments are not all of its states")
        return out[::-1]

    # --- contents -----------------------------------------------------------------------------------------------------

    def rows(self, name: str) -> NDArray[Any]:
        """All rows of a table."""
        column = self._columns[name]
        if column.table.rows * column.table.row_bytes > self._file.most:
            raise Damaged(f"{name} is larger than what the file takes on its disk")
        return column.rows(0, len(column))

    def _json(self, name: str) -> Any:
        return parsed(self._blob(name))

    def _blob(self, name: str) -> bytes:
        if name not in self._index.blobs:
            raise Damaged(f"it has no {name}")
        return checked(self._file.read, self._index.blobs[name], name)

    def model(self, number: int) -> Model:
        """One of its models, checked like any model."""
        if number not in self._models:
            try:
                row = dict(zip(COLUMNS, self._model_rows[number].tolist()))
                self._models[number] = read_model(lambda name: self._array(row[name]))
            except ModelError as e:
                raise self._damaged(f"its model {number} is none: {e}") from None
            except Damaged as e:
                raise self._damaged(f"its model {number}: {e}") from None
        return self._models[number]

    @cached_property
    def rods(self) -> Floats | None:
        """The points between which the bodies of its first model are drawn, (n_bodies, 2, 3)."""
        number = int(self._model_rows[0][COLUMNS.index("rods")])
        if number < 0:
            return None
        try:
            rods = self._array(number)
        except Damaged as e:
            raise self._damaged(f"rods: {e}") from None
        if rods.dtype != np.float64 or rods.shape != (self.model(0).n_bodies, 2, 3) or not np.isfinite(rods).all():
            raise self._damaged("its rods are not those of its model")
        return rods

    @cached_property
    def _model_rows(self) -> Ints:
        rows = self.rows("models/table")
        sizes = self._array_rows[:, 1].astype(np.float64)
        if len(rows) == 0 or rows.max() >= len(sizes) or rows[:, :-1].min() < 0 or sizes.min() < 0:
            raise self._damaged("its models have arrays that there are not")
        if sizes[rows[:, :-1]].sum() > REPEATED * (self._file.size + 1e6):
            raise self._damaged("its models are larger than the file can have")
        return rows

    @cached_property
    def _array_rows(self) -> Ints:
        return self.rows("arrays")

    def _array(self, number: int) -> NDArray[Any]:
        """Models share arrays: each is read once."""
        if number not in self._arrays:
            place, dtype, shape = array_place(self._array_rows[number])
            if place.size > self._file.size or self._file.closed:
                raise Damaged("an array cannot be read: the file is closed, or cannot have it")
            x = np.frombuffer(checked(self._file.read, place, f"array {number}"), dtype).reshape(shape)
            self._arrays[number] = x
        return self._arrays[number]

    @cached_property
    def segments(self) -> list[RecordedSegment]:
        return [RecordedSegment(self, *where) for where in self._segments]

    def column(self, number: int, name: str) -> Column | None:
        """A column of states, if there is one."""
        return self._columns.get(f"states/{number}/{name}")

    def checkpoint(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a run needs to continue: JSON and arrays, among them q and v."""
        try:
            return self.state, checkpoint.unpacked(self._blob("checkpoint"))
        except Damaged as e:
            if self._file.stale:
                raise RecordingError(f"{self.path} went on while it was read; open it again") from None
            raise self._damaged(str(e)) from None

    def _refusal(self, name: str, row: int, what: str) -> RecordingError:
        """The error for a table that cannot be read from a row on."""
        kind, _, column = name.rpartition("/")
        if not kind.startswith("states/"):
            return self._damaged(f"{name} {what}")
        before = ""
        if row > 0 and column != "time" and column not in RAGGED:
            before = f", after {float(self._columns[f'{kind}/time'].rows(row - 1, row)[0]):.6g} s"
        return RecordingError(
            f"{self.path}: {column} in {name} {what} from row {row} on{before}; rows before that can be read, and all "
            "other columns"
        )

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *what: object) -> None:
        self.close()

    def __repr__(self) -> str:
        n = sum(map(len, self.segments))
        end = "finished" if self.finished else "not finished"
        return f"<Recording {printable(self.path)}: {quoted(self.model(0).name)}, {n} states, {end}>"


def _sets(index: Index) -> list[States]:
    """The kinds of its tables of states."""
    out: list[States] = []
    while f"states/{len(out)}/q" in index.tables:
        at = f"states/{len(out)}/"
        tables = (index.tables.get(at + name) for name in ("q", "v", "joint_wrenches", "joint_forces"))
        rows = [() if x is None else x.row for x in tables]
        nq, nv, n = (row[0] if row else 0 for row in rows[:3])
        forces = rows[3][1] if len(rows[3]) == 2 and rows[3][0] == 3 else 0
        error, active, touches = (f"{at}{name}" in index.tables for name in ("error", "active", "touches"))
        out.append(States(nq, nv, error, n, active, forces, touches))
    return out


def _checked_state(state: dict[str, Any]) -> dict[str, Any]:
    """Check the entries that every checkpoint has."""
    time, failed = state.get("time"), state.get("failed", 0)
    if not is_number(time):
        raise Damaged("its checkpoint has no time")
    if not (failed is None or isinstance(failed, str)):
        raise Damaged("its checkpoint does not say whether it failed")
    return state


class RecordedSegment:
    """States of one model in a file. q, v, joint_wrenches and joint_forces stay there: index them, or use
    np.asarray."""

    def __init__(self, recording: Recording, model: int, states: int, begin: int, end: int) -> None:
        self._recording, self.number, self._states = recording, model, states
        self._begin, self._end = begin, end

    def __repr__(self) -> str:
        return f"<RecordedSegment of {quoted(self.model.name)}: {count(len(self), 'state')}{span(self.times)}>"

    def __len__(self) -> int:
        return self._end - self._begin

    @cached_property
    def model(self) -> Model:
        model, states = self._recording.model(self.number), self._recording.sets[self._states]
        n = model.nq, states.nv and model.nv, states.wrenches and model._n_carrying, states.forces and model.nv
        if n != (states.nq, states.nv, states.wrenches, states.forces):
            raise RecordingError(f"{self._recording.path} is damaged, and refused: its states are not of its models")
        return model

    @cached_property
    def times(self) -> Floats:
        out: Floats = self._all("time")
        return out

    @property
    def q(self) -> Any:
        return self._rows("q")

    @property
    def v(self) -> Any:
        """Zeros if the method has no velocities."""
        v = self._rows("v")
        return np.broadcast_to(0.0, (len(self), self.model.nv)) if v is None else v

    @cached_property
    def kinetic(self) -> Floats:
        out: Floats = self._all("kinetic")
        return out

    @cached_property
    def potential(self) -> Floats:
        out: Floats = self._all("potential")
        return out

    @cached_property
    def error(self) -> Floats | None:
        out: Floats | None = self._all("error")
        return out

    @property
    def joint_wrenches(self) -> Any:
        return self._rows("joint_wrenches")

    @property
    def joint_forces(self) -> Any:
        """(k, 3, nv) applied, passive, pushed."""
        return self._rows("joint_forces")

    @property
    def active_counts(self) -> Ints | None:
        return None if self._ends is None else np.diff(self._ends)

    def active_joints(self, i: int) -> Ints | None:
        """The joints that were active at state i."""
        out: Ints | None = self._part("active", self._ends, i)
        if out is not None and len(out) and not 0 <= out.min() <= out.max() < self.model.n_joints:
            raise self._recording._refusal(f"states/{self._states}/active", 0, "has no joints")
        return out

    @property
    def touch_counts(self) -> Ints | None:
        """(k,) how many contacts each state has."""
        return None if self._touch_ends is None else np.diff(self._touch_ends)

    def touches_at(self, i: int) -> Floats | None:
        """What touched at state i: rows of contact/room.py."""
        out: Floats | None = self._part("touches", self._touch_ends, i)
        shapes = self._recording.about.get("shapes")
        n = len(shapes) if isinstance(shapes, list) else 0
        if out is not None and len(out) and not (0 <= out[:, :2].min() <= out[:, :2].max() < n):
            raise self._recording._refusal(f"states/{self._states}/touches", 0, "has no shapes")
        return out

    def _part(self, name: str, ends: Ints | None, i: int) -> Any:
        """What state i has in a column that has any number of rows for one."""
        if ends is None:
            return None
        i = range(len(self))[i]
        column = self._recording.column(self._states, name)
        assert column is not None
        return column.rows(int(ends[i]), int(ends[i + 1]))

    @cached_property
    def _ends(self) -> Ints | None:
        return self._ends_of("active")

    @cached_property
    def _touch_ends(self) -> Ints | None:
        return self._ends_of("touches")

    def _ends_of(self, name: str) -> Ints | None:
        """Where the rows of each state begin, and where those of the last one end."""
        column, active = (self._recording.column(self._states, x) for x in (f"{name}_end", name))
        if column is None or active is None:
            return None
        first = self._begin - 1 if self._begin else 0
        rows = column.rows(first, self._end)
        out = rows if self._begin else np.concatenate([np.zeros(1, dtype=np.int64), rows])
        if out[0] < 0 or (np.diff(out) < 0).any() or out[-1] > len(active):
            raise self._recording._refusal(f"states/{self._states}/{name}_end", first, "does not fit")
        return out

    def _all(self, name: str) -> Any:
        rows = self._rows(name)
        return None if rows is None else np.asarray(rows)

    def _rows(self, name: str) -> Any:
        column = self._recording.column(self._states, name)
        return None if column is None else Rows(column, self._begin, self._end)
