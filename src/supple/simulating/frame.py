"""A result as a table of pandas or polars: a row for each state."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from supple.errors import StateError, SuppleError
from supple.model.model import Model, unknown
from supple.record.export import columns
from supple.simulating.result import Library, Result, Segment


def to_frame(result: Result, library: Library | None, joints: Sequence[str] | None, segment: int | None) -> Any:
    """See Result.to_frame."""
    make = _library(library).DataFrame
    numbers = range(len(result.segments)) if segment is None else [_known(segment, len(result.segments))]
    tables = [_table(result, result.segments[i], joints) for i in numbers]
    if any(list(t) != list(tables[0]) for t in tables):
        raise StateError(
            "events changed the model, so that its coordinates do not fit in one table: take one segment at a time, "
            f"to_frame(segment=0) to to_frame(segment={len(tables) - 1}), or the coordinates that all have, "
            "to_frame(joints=[...])"
        )
    whole = {name: np.concatenate([t[name] for t in tables]) for name in tables[0]}
    if len(result.segments) > 1:
        whole["segment"] = np.repeat(np.array(numbers), [len(result.segments[i]) for i in numbers])
    return make(whole)


def _library(name: Library | None) -> Any:
    """pandas or polars: the one that is named, or the first that is installed."""
    for module in get_args(Library) if name is None else (name,):
        try:
            return import_module(module)
        except ImportError:
            continue
    raise SuppleError(
        f"a table needs {name or 'pandas or polars'}: pip install {name or 'pandas'}; without it, result.times, "
        "result.q and result.v are NumPy arrays, and supple.export writes a recording as CSV"
    )


def _known(segment: int, count: int) -> int:
    if not 0 <= segment < count:
        raise StateError(f"there is no segment {segment}: this result has {count}, numbered from 0")
    return segment


def _table(result: Result, segment: Segment, joints: Sequence[str] | None) -> dict[str, NDArray[Any]]:
    """Columns by name, in their order."""
    times = result._counted(segment.times)
    table: dict[str, NDArray[Any]] = (
        {"time": times} if result.progress_unit == "s" else {"step": times.astype(np.int64)}
    )
    table |= {"kinetic": segment.kinetic, "potential": segment.potential}
    for name, x in (("error", segment.error), ("active_count", segment.active_counts)):
        if x is not None:
            table[name] = x
    for what, states in (("q", segment.q), ("v", segment.v)):
        of = np.ascontiguousarray(np.asarray(states).T)
        names = columns(segment.model, what)  # type: ignore[arg-type]
        table |= {names[i]: of[i] for i in _rows(segment.model, what, joints)}
    if segment.joint_forces is not None:
        forces = np.asarray(segment.joint_forces)
        for k, what in enumerate(("applied", "passive", "pushed")):
            of, names = np.ascontiguousarray(forces[:, k].T), columns(segment.model, "v", what)
            table |= {names[i]: of[i] for i in _rows(segment.model, "v", joints)}
    return table


def _rows(model: Model, what: str, joints: Sequence[str] | None) -> list[int]:
    """Which coordinates are wanted."""
    if joints is None:
        return list(range(model.nq if what == "q" else model.nv))
    out: list[int] = []
    for name in joints:
        if name not in model.joints:
            raise StateError(unknown("joint", name, model.joint_names))
        at = getattr(model.joints[name], what)
        out += range(at.start, at.stop)
    return out
