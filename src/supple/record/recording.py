"""Reading a recording: its segments as arrays in the file, read where they are asked for."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import RecordingError
from supple.model.model import Model
from supple.record.journal import Journaled, in_use
from supple.record.layout import FORMAT, VERSION
from supple.record.model_group import read_model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Recording:
    """A recording that is read. Use as a context, or close it; what is asked for after that is refused."""

    def __init__(self, path: str | Path) -> None:
        import h5py

        self.path = Path(path)
        try:
            self._file = Journaled(self.path, "r")
        except OSError as e:
            raise RecordingError(f"{self.path} cannot be read: {e.strerror}") from None
        try:
            self._h5 = h5py.File(self._file, "r")
        except OSError as e:
            size = self._file.size
            self._file.close()
            raise _refusal(self.path, size, str(e)) from None
        attributes = self._h5.attrs
        if attributes.get("format") != FORMAT:
            self.close()
            raise RecordingError(f"{self.path} is an HDF5 file, but not a recording of Supple's")
        if attributes["version"] != VERSION:
            made, by = attributes["version"], attributes["supple"]
            self.close()
            raise RecordingError(
                f"{self.path} is of format {made}, made by Supple {by}; this one reads format {VERSION}: use that one"
            )
        self.about: dict[str, Any] = json.loads(attributes["about"])
        self.versions = {name: str(attributes[name]) for name in ("supple", "python", "numpy", "h5py", "created")}
        self.finished = bool(attributes["finished"])

    @cached_property
    def models(self) -> list[Model]:
        group = self._h5["models"]
        return [read_model(group[str(i)]) for i in range(len(group))]

    @cached_property
    def segments(self) -> list[RecordedSegment]:
        group = self._h5["segments"]
        return [RecordedSegment(group[str(i)], self.models) for i in range(len(group))]

    @property
    def events(self) -> list[tuple[float, str]]:
        return [(float(t), name.decode()) for t, name in self._h5["events"][:]]

    @property
    def checkpoint(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a run needs to go on: JSON and arrays, among them q and v."""
        group = self._h5["checkpoint"]
        return json.loads(group.attrs["about"]), {name: group[name][()] for name in group}

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
        return f"<Recording {self.path}: {self.models[0].name!r}, {n} states, {end}>"


class RecordedSegment:
    """States of one model in a file. q, v, joint_wrenches are datasets: index them, or np.asarray them."""

    def __init__(self, group: Any, models: list[Model]) -> None:
        self._group, self.model = group, models[int(group.attrs["model"])]

    def __len__(self) -> int:
        return len(self._group["time"])

    @property
    def times(self) -> Floats:
        return self._read("time")

    @property
    def q(self) -> Any:
        return self._group["q"]

    @property
    def v(self) -> Any:
        """Zeros where the method has no velocities."""
        return self._group["v"] if "v" in self._group else np.broadcast_to(0.0, (len(self), self.model.nv))

    @property
    def kinetic(self) -> Floats:
        return self._read("kinetic")

    @property
    def potential(self) -> Floats:
        return self._read("potential")

    @property
    def error(self) -> Floats | None:
        return self._read("error") if "error" in self._group else None

    @property
    def joint_wrenches(self) -> Any:
        return self._group.get("joint_wrenches")

    @property
    def active_counts(self) -> Ints | None:
        return np.diff(self._read("active_end"), prepend=0) if "active_end" in self._group else None

    def active(self, i: int) -> Ints | None:
        """The joints that were active at state i."""
        if "active_end" not in self._group:
            return None
        ends = self._group["active_end"]
        out: Ints = self._group["active"][ends[i - 1] if i > 0 else 0 : ends[i]]
        return out

    def _read(self, name: str) -> NDArray[Any]:
        out: NDArray[Any] = self._group[name][:]
        return out


def _refusal(path: Path, size: int, reason: str) -> RecordingError:
    if in_use(path):
        return RecordingError(f"{path} is just being written; try again")
    with path.open("rb") as f:
        head = f.read(8)
    if head != b"\x89HDF\r\n\x1a\n":
        return RecordingError(f"{path} is not a recording: it does not begin as HDF5 files do")
    if "truncated" in reason:
        return RecordingError(
            f"{path} is truncated: of what HDF5 had written there are {size} bytes left; it is refused"
        )
    return RecordingError(f"{path} is damaged and refused: {reason}")
