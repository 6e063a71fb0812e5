"""Writing a recording: samples are gathered, and go to the file together with a checkpoint, all at once."""

from __future__ import annotations

import json
import platform
import sys
import time as clock
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import RecordingError
from supple.model.model import Model
from supple.record.journal import PAGE, Journaled, being_written
from supple.record.layout import EVENT, LIBVER, VERSION, append, growing
from supple.record.model_group import write_model

Floats = NDArray[np.float64]

SECONDS = 1.0  #: between commits,
BYTES = 16_000_000  #: or so much


class Recorder:
    """A recording that is being written.

    `add` takes states, `commit` makes them permanent with what is needed to go on from there. A run that is killed
    leaves the last commit; so does a disk that is full.
    """

    def __init__(
        self,
        path: str | Path,
        about: dict[str, Any] | None = None,
        overwrite: bool = False,
        generation: int | None = None,
        given: dict[str, Any] | None = None,
    ) -> None:
        """A new recording; or, about None, one that is there, to be continued: refused if it is not of the generation
        that its reader saw. given: what must be given again to continue it."""
        import h5py

        self.path = Path(path)
        resumed = about is None
        if self.path.exists() and not self.path.is_file():
            what = "a folder" if self.path.is_dir() else "no file"
            raise RecordingError(f"{self.path} is {what}: a recording must be a file of its own")
        if not resumed and self.path.exists() and not overwrite:
            raise RecordingError(
                f"{self.path} is there already; give another name, or resume it, or overwrite it (--overwrite, "
                "in Python overwrite=True)"
            )
        with _as_said(self.path, "written"):
            self._file = Journaled(self.path, "r+" if resumed else "w")
            try:
                if generation is not None and self._file.generation != generation:
                    raise being_written(self.path)
                mode = {"mode": "r+"} if resumed else {"mode": "w", "userblock_size": PAGE}
                self._h5 = h5py.File(self._file, libver=LIBVER, **mode)
            except BaseException:
                self._file.close()
                raise
        self._models: list[Model] = []
        self._segment: Any = None
        self._waiting = 0
        self._last = clock.perf_counter()
        with _as_said(self.path, "written"):
            if about is not None:
                self._begin(about, given or {})
            else:
                self._segment = self._h5[f"segments/{len(self._h5['segments']) - 1}"]

    def _begin(self, about: dict[str, Any], given: dict[str, Any]) -> None:
        import h5py

        h5 = self._h5
        h5.attrs.update(
            version=VERSION, supple=import_module("supple").__version__,
            python=platform.python_version(), numpy=np.__version__, h5py=h5py.__version__,
            created=datetime.now(UTC).isoformat(timespec="seconds"), finished=False,
            about=json.dumps(about | {"argv": sys.argv}),
        )  # fmt: skip
        h5.create_group("models")
        h5.create_group("segments")
        growing(h5, "events", (), EVENT)
        h5.create_dataset("given", data=np.frombuffer(json.dumps(given).encode(), dtype=np.uint8))

    def go_on(self, models: list[Model], about: dict[str, Any]) -> None:
        """For a recording that is continued: the models that it has, in its order, and how it is run from now on."""
        self._models = list(models)
        self._h5.attrs["about"] = json.dumps(json.loads(self._h5.attrs["about"]) | about)

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
    ) -> None:
        """States of the segment that is open; of a new one, if there is none."""
        with _as_said(self.path, "written"):
            if self._segment is None:
                self._segment = self._open_segment(model, v, error, active, joint_wrenches)
            columns = {"time": times, "q": q, "v": v, "kinetic": kinetic, "potential": potential}
            columns |= {"error": error, "joint_wrenches": joint_wrenches}
            for name, rows in columns.items():
                if rows is not None:
                    append(self._segment[name], rows)
                    self._waiting += rows.nbytes
            if active is not None:
                begin = len(self._segment["active"])
                append(self._segment["active_end"], begin + np.cumsum([len(a) for a in active], dtype=np.int64))
                append(self._segment["active"], np.concatenate(active) if active else np.zeros(0, dtype=np.int64))
                self._waiting += 8 * sum(map(len, active))

    def end_segment(self) -> None:
        """The states that follow are of another segment."""
        self._segment = None

    def event(self, time: float, name: str) -> None:
        with _as_said(self.path, "written"):
            append(self._h5["events"], np.array([(time, name.encode())], dtype=EVENT))

    @property
    def due(self) -> bool:
        """Whether it is time for a commit."""
        return self._waiting >= BYTES or clock.perf_counter() - self._last >= SECONDS

    def commit(self, checkpoint: dict[str, Any], arrays: dict[str, NDArray[Any]], finished: bool = False) -> None:
        """Make all that was added permanent, with what a run needs to go on: JSON, and arrays, among them q and v."""
        h5 = self._h5
        with _as_said(self.path, "written"):
            h5.attrs["finished"] = finished
            group = h5.require_group("checkpoint")
            for name, x in arrays.items():
                if name in group and group[name].shape != x.shape:
                    del group[name]
                if name in group:
                    group[name][...] = x
                else:
                    group.create_dataset(name, data=x)
            group.attrs["about"] = json.dumps(checkpoint)
            h5.flush()
            self._file.commit()
        self._waiting, self._last = 0, clock.perf_counter()

    def close(self) -> None:
        """What was not committed is lost."""
        with suppress(Exception):
            self._h5.close()
        self._file.close()

    def _open_segment(self, model: Model, v: Any, error: Any, active: Any, joint_wrenches: Any) -> Any:
        group = self._h5.create_group(f"segments/{len(self._h5['segments'])}")
        group.attrs["model"] = self._number(model)
        for name, row in (("time", ()), ("q", (model.nq,)), ("kinetic", ()), ("potential", ())):
            growing(group, name, row)
        if v is not None:
            growing(group, "v", (model.nv,))
        if error is not None:
            growing(group, "error", ())
        if joint_wrenches is not None:
            growing(group, "joint_wrenches", (model.n_bodies, 6))
        if active is not None:
            growing(group, "active", (), "i8")
            growing(group, "active_end", (), "i8")
        return group

    def _number(self, model: Model) -> int:
        for i, known in enumerate(self._models):
            if known is model:
                return i
        self._models.append(model)
        write_model(self._h5.create_group(f"models/{len(self._models) - 1}"), model)
        return len(self._models) - 1


class _as_said:
    """Turns what the system says of a file into a RecordingError that names it and the way out."""

    def __init__(self, path: Path, what: str) -> None:
        self._path, self._what = path, what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, e: BaseException | None, trace: Any) -> None:
        if isinstance(e, OSError) and not isinstance(e, RecordingError):
            reason = e.strerror or str(e)
            raise RecordingError(
                f"{self._path} cannot be {self._what}: {reason}; what was recorded before is whole, and can be resumed"
                if self._path.exists()
                else f"{self._path} cannot be {self._what}: {reason}"
            ) from e
        if isinstance(e, KeyError | RuntimeError):  # of HDF5, where the file is not what it should be
            raise RecordingError(f"{self._path} is damaged, and cannot be {self._what} on: {e}") from e
