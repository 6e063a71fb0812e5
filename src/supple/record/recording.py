"""Reading a recording: its segments as arrays in the file, read where they are asked for.

The file may be growing under another process's hands. What was there when it was opened stays there, and is all that is
seen of it; when a commit moves things about in the file, it is opened again, and what was being read is read anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from supple.errors import RecordingError, printable
from supple.model.model import Model
from supple.record.journal import Journaled
from supple.record.layout import VERSION
from supple.record.model_group import read_model
from supple.record.rows import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
T = TypeVar("T")


class Contents(NamedTuple):
    """What there is, at one commit."""

    about: dict[str, Any]
    versions: dict[str, str]
    finished: bool
    state: dict[str, Any]  #: the checkpoint's JSON
    models: int
    segments: list[tuple[int, dict[str, tuple[Any, ...]]]]  #: the model's number; shape and dtype by name
    events: list[tuple[float, str]]


class Recording:
    """A recording that is read, as it was when it was opened. Use as a context, or close it; what is asked for after
    that is refused."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._id: bytes | None = None
        self._open()
        try:
            self._contents = self.read(self._look)
        except BaseException:
            self.close()
            raise
        self.about, self.versions, self.finished = self._contents[:3]
        self.events = self._contents.events
        self.generation = self._file.generation

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise RecordingError(f"{self.path} is open, and not copied or pickled: hand on its path, and load it there")

    def read(self, look: Callable[[Any], T]) -> T:
        """What `look` finds in the HDF5 file, all of it as one commit left it."""
        while True:
            if self._file.closed:
                raise RecordingError(f"{self.path} is closed: what was not read before cannot be read any more")
            try:
                return look(self._h5)
            except RecordingError:
                raise
            except Exception as e:  # HDF5 raises many kinds, of damaged files any
                if not self._file.stale:
                    raise self._damaged(e) from None
            self.close()
            self._open()

    def _open(self) -> None:
        import h5py

        while True:
            try:
                self._file = Journaled(self.path, "r")
            except RecordingError:
                raise
            except OSError as e:
                raise RecordingError(f"{self.path} cannot be read: {e.strerror}") from None
            if self._id not in (None, self._file.id):
                self._file.close()
                raise RecordingError(f"{self.path} is another recording than it was; open it again")
            self._id = self._file.id
            try:
                self._h5 = h5py.File(self._file, "r")
                return
            except Exception as e:
                self._file.close()
                if not self._file.stale:
                    raise self._damaged(e) from None

    def _damaged(self, e: Exception) -> RecordingError:
        left, missing = self._file.size, self._file.missing
        if missing:
            return RecordingError(f"{self.path} is truncated, and refused: of {left + missing} bytes {left} are left")
        return RecordingError(f"{self.path} is damaged, and refused: {e}")

    def _look(self, h5: Any) -> Contents:
        attributes = h5.attrs
        if attributes["version"] != VERSION:
            made, by = attributes["version"], attributes["supple"]
            raise RecordingError(
                f"{self.path} is of format {made}, made by Supple {by}; this one reads format {VERSION}: use that one"
            )
        groups = [h5["segments"][str(i)] for i in range(len(h5["segments"]))]
        rows = [{x.shape[0] for name, x in g.items() if name != "active"} for g in groups]
        stored = sum(x.nbytes for g in groups for x in g.values())
        if any(len(x) != 1 for x in rows) or stored > self._file.size:
            raise RecordingError(f"{self.path} is damaged, and refused: its lengths cannot be true")
        return Contents(
            json.loads(attributes["about"]),
            {name: str(attributes[name]) for name in ("supple", "python", "numpy", "h5py", "created")},
            bool(attributes["finished"]),
            json.loads(h5["checkpoint"].attrs["about"]),
            len(h5["models"]),
            [(int(g.attrs["model"]), {name: (x.shape, x.dtype) for name, x in g.items()}) for g in groups],
            [(float(t), name.decode(errors="ignore")) for t, name in h5["events"][:]],
        )

    @cached_property
    def models(self) -> list[Model]:
        try:
            return [read_model(partial(self._array, f"models/{i}")) for i in range(self._contents.models)]
        except RecordingError:
            raise
        except Exception as e:  # its JSON may be anything
            raise self._damaged(e) from None

    @cached_property
    def segments(self) -> list[RecordedSegment]:
        return [
            RecordedSegment(self, number, self.models[model], has)
            for number, (model, has) in enumerate(self._contents.segments)
        ]

    @cached_property
    def given(self) -> dict[str, Any]:
        """What must be given again to continue it."""
        return self.read(lambda h5: dict(json.loads(bytes(h5["given"][:]))))

    @property
    def state(self) -> dict[str, Any]:
        """Of what a run needs to go on, what is not arrays."""
        return self._contents.state

    def checkpoint(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a run needs to go on: JSON and arrays, among them q and v. Of the last commit there is."""
        return self.read(
            lambda h5: (
                json.loads(h5["checkpoint"].attrs["about"]),
                {name: x[()] for name, x in h5["checkpoint"].items()},
            )
        )

    def _array(self, group: str, name: str) -> NDArray[Any]:
        """One that no commit changes, read by itself: all arrays of a large model at once would take longer than it is
        from one commit to the next, and would be begun anew for ever."""
        place = f"{group}/{name}"
        shape, dtype = self.read(lambda h5: (h5[place].shape, h5[place].dtype))
        return np.asarray(Rows(self.read, place, shape, dtype))

    def close(self) -> None:
        self._h5.close()
        self._file.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *what: object) -> None:
        self.close()

    def __repr__(self) -> str:
        n = sum(map(len, self.segments))
        end = "finished" if self.finished else "not finished"
        return f"<Recording {printable(self.path)}: {self.models[0].name!r}, {n} states, {end}>"


class RecordedSegment:
    """States of one model in a file. q, v and joint_wrenches stay there: index them, or np.asarray them."""

    def __init__(self, recording: Recording, number: int, model: Model, has: dict[str, tuple[Any, ...]]) -> None:
        self.model, self._has = model, has
        self._recording, self._place = recording, f"segments/{number}"

    def __len__(self) -> int:
        return int(self._has["time"][0][0])

    @cached_property
    def times(self) -> Floats:
        return self._all("time")

    @property
    def q(self) -> Any:
        return self._rows("q")

    @property
    def v(self) -> Any:
        """Zeros where the method has no velocities."""
        return self._rows("v") if "v" in self._has else np.broadcast_to(0.0, (len(self), self.model.nv))

    @cached_property
    def kinetic(self) -> Floats:
        return self._all("kinetic")

    @cached_property
    def potential(self) -> Floats:
        return self._all("potential")

    @cached_property
    def error(self) -> Floats | None:
        return self._all("error") if "error" in self._has else None

    @property
    def joint_wrenches(self) -> Any:
        return self._rows("joint_wrenches") if "joint_wrenches" in self._has else None

    @property
    def active_counts(self) -> Ints | None:
        return None if self._ends is None else np.diff(self._ends, prepend=0)

    def active(self, i: int) -> Ints | None:
        """The joints that were active at state i."""
        if self._ends is None:
            return None
        i = range(len(self))[i]
        out: Ints = self._rows("active")[self._ends[i - 1] if i > 0 else 0 : self._ends[i]]
        return out

    @cached_property
    def _ends(self) -> Ints | None:
        return self._all("active_end") if "active_end" in self._has else None

    def _all(self, name: str) -> NDArray[Any]:
        return np.asarray(self._rows(name))

    def _rows(self, name: str) -> Rows:
        return Rows(self._recording.read, f"{self._place}/{name}", *self._has[name])
