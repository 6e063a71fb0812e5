"""Writing a recording: samples are collected, and written to the file together with a checkpoint, atomically."""

from __future__ import annotations

import json
import platform
import sys
import time as clock
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import RecordingError
from supple.model.model import Model
from supple.record import checkpoint as arrays_in
from supple.record.index import Damaged
from supple.record.journal import Journaled
from supple.record.layout import EVENTS, SEGMENT, States
from supple.record.models import ModelWriter
from supple.record.opening import being_written
from supple.record.recording import Recording
from supple.record.tables import Store, read_index
from supple.writing import check_target, reason

Floats = NDArray[np.float64]

SECONDS = 1.0  #: between commits,
BYTES = 16_000_000  #: or this many bytes


class Recorder:
    """A recording that is being written.

    `add` takes states, `commit` makes them permanent with what is needed to continue from there. If a run is killed, or
    the disk is full, the last commit remains.
    """

    def __init__(
        self,
        path: str | Path,
        about: dict[str, Any] | None = None,
        overwrite: bool = False,
        generation: int | None = None,
        given: dict[str, Any] | None = None,
    ) -> None:
        """A new recording; or, with about None, an existing one to be continued: refused if it is not of the generation
        that its reader saw. given: what must be given again to continue it."""
        self.path = Path(path)
        resumed = about is None
        check_target(self.path, RecordingError)
        if not resumed and not overwrite and self.path.exists():
            raise RecordingError(
                f"{self.path} is there already; give another name, or resume it, or overwrite it (--overwrite, "
                "in Python overwrite=True)"
            )
        self._segment: int | None = None  #: index of the current table of states
        self._waiting = 0
        self._last = clock.perf_counter()
        with _as_said(self.path):
            self._file = Journaled(self.path, "r+" if resumed else "w")
            try:
                if generation is not None and self._file.generation != generation:
                    raise being_written(self.path)
                if about is None:
                    self._go_on()
                else:
                    self._begin(about, given or {})
            except BaseException:
                self._file.close()
                raise

    def _begin(self, about: dict[str, Any], given: dict[str, Any]) -> None:
        self._store = Store(self._file)
        self._sets: list[States] = []
        self._about = about | {"argv": sys.argv}
        self._versions = {
            "supple": import_module("supple").__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        self._store.blob("given", json.dumps(given).encode())
        self._store.table("segments", (SEGMENT,), "i8")
        for name, form in EVENTS.items():
            self._store.table(name, *form)
        self._models = ModelWriter(self._store)
        self._say_about()

    def _go_on(self) -> None:
        """Continue with the data that a reader has found in the file and checked."""
        with Recording(self.path) as r:
            self._store = Store(self._file, read_index(self._file))
            self._sets = list(r.sets)
            self._about, self._versions = r.about, r.versions
            self._models = ModelWriter(self._store, r.rows("arrays"), r.rows("models/table"))
            self._segment = int(r.rows("segments")[-1, 1])

    def go_on(self, models: dict[int, Model], about: dict[str, Any]) -> None:
        """For a recording that is continued: its models by index, and how it is run from now on."""
        for number, model in models.items():
            self._models.remember(model, number)
        self.say(about)

    def say(self, about: dict[str, Any]) -> None:
        """Add to what is said about the run, or replace it."""
        self._about |= about
        self._say_about()

    def _say_about(self) -> None:
        self._store.blob("about", json.dumps({"about": self._about, "versions": self._versions}).encode())

    def add(
        self,
        model: Model,
        times: Floats,
        q: Floats,
        v: Floats | None,
        kinetic: Floats,
        potential: Floats,
        *,
        error: Floats | None = None,
        active: list[NDArray[np.int64]] | None = None,
        joint_wrenches: Floats | None = None,
        joint_forces: Floats | None = None,
        rods: Floats | None = None,
        touches: list[Floats] | None = None,
    ) -> None:
        """States of the open segment, or of a new one if there is none. rods: the points between which the model's
        bodies are drawn."""
        carried = 0 if joint_wrenches is None else model._n_carrying
        forces = 0 if joint_forces is None else model.nv
        nv = 0 if v is None else model.nv
        has = States(model.nq, nv, error is not None, carried, active is not None, forces, touches is not None)
        if self._segment is None:
            self._open_segment(self._models.number(model, rods), has)
        elif has != self._sets[self._segment]:
            raise RecordingError(f"{self.path} is damaged, and cannot be written on: its states are of another kind")
        at = f"states/{self._segment}"
        columns: dict[str, Any] = {"time": times, "q": q, "v": v, "kinetic": kinetic, "potential": potential}
        columns |= {"error": error, "joint_wrenches": joint_wrenches, "joint_forces": joint_forces}
        parts: dict[str, list[NDArray[Any]] | None] = {"active": active, "touches": touches}  # type: ignore[dict-item]
        for name, sets in parts.items():
            if sets:
                begin = len(self._store.tables[f"{at}/{name}"])
                columns[f"{name}_end"] = begin + np.cumsum([len(a) for a in sets], dtype=np.int64)
                columns[name] = np.concatenate(sets)
        for name, rows in columns.items():
            if rows is not None:
                self._waiting += self._store.tables[f"{at}/{name}"].add(rows)

    def end_segment(self) -> None:
        """The following states belong to another segment."""
        self._segment = None

    def event(self, time: float, name: str) -> None:
        tables, letters = self._store.tables, name.encode(errors="replace")
        tables["events/time"].add([time])
        tables["events/names"].add(np.frombuffer(letters, dtype=np.uint8))
        tables["events/name_end"].add([len(tables["events/names"])])

    @property
    def due(self) -> bool:
        """Whether it is time for a commit."""
        return self._waiting >= BYTES or clock.perf_counter() - self._last >= SECONDS

    def commit(self, checkpoint: dict[str, Any], arrays: dict[str, NDArray[Any]], finished: bool = False) -> None:
        """Make everything added permanent, with what a run needs to continue: JSON, and arrays, among them q and v."""
        with _as_said(self.path):
            self._store.blob("state", json.dumps({"finished": finished, "state": checkpoint}).encode())
            self._store.blob("checkpoint", arrays_in.packed(arrays))
            self._store.commit()
        self._waiting, self._last = 0, clock.perf_counter()

    def close(self) -> None:
        """Uncommitted data is lost."""
        self._file.close()

    def _open_segment(self, model: int, has: States) -> None:
        if has not in self._sets:
            self._sets.append(has)
        number = self._sets.index(has)
        for name, form in has.columns().items():
            self._store.table(f"states/{number}/{name}", *form)
        first = len(self._store.tables[f"states/{number}/time"])
        self._store.tables["segments"].add([[model, number, first]])
        self._segment = number


class _as_said:
    """Turns an operating-system error about a file into a RecordingError that names it and the remedy."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, e: BaseException | None, trace: Any) -> None:
        if isinstance(e, OSError) and not isinstance(e, RecordingError):
            why = reason(e, self._path)
            raise RecordingError(
                f"{self._path} cannot be written: {why}; what was recorded before is whole, and can be resumed"
                if self._path.exists()
                else f"{self._path} cannot be written: {why}"
            ) from e
        if isinstance(e, Damaged):
            raise RecordingError(f"{self._path} is damaged, and cannot be written on: {e}") from e
