"""Recordings as CSV, NumPy and Parquet files, a block of states at a time: memory does not grow with the run.

A recording of several segments (events changed the state) still gives one table, unless their models have different
coordinates: then there is one file per segment, run-0.csv, run-1.csv and so on. NumPy files have every segment's
arrays, named "q" or, for several segments, "0/q", "1/q".

Contacts, of which a state has any number, have a table of their own: run.contacts.csv beside run.csv, a row for each;
NumPy files have the arrays "contacts" and "contacts_end" of every segment, and "shapes", the names that they count.
"""

from __future__ import annotations

import codecs
import csv
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, get_args
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from supple.arguments import checked_as
from supple.errors import RecordingError
from supple.model.model import Model, unknown
from supple.record.recording import RecordedSegment, Recording
from supple.writing import replacing

Format = Choice["csv", "npz", "parquet"]
FORMATS: tuple[str, ...] = get_args(Format)
NUMBERS = 1_000_000  #: read at a time
STATES = 1000  #: of which contacts are read at a time
WIDE = 2000  #: more coordinates than this are one column of lists in Parquet


@checked_as(RecordingError)
def export(recording: str | Path, path: str | Path | None = None, to: Format | None = None) -> list[Path]:
    """Write a recording as CSV, NumPy (.npz) or Parquet: as given by `to`, or by the suffix of the path; next to the
    recording, under its name, if no path is given. Returns the files that were written."""
    if to is None and path is not None:
        to = Path(path).suffix.lstrip(".").lower()  # type: ignore[assignment]
    if to not in FORMATS:
        raise RecordingError(f"{unknown('format', str(to), FORMATS, listed=True)} ({', '.join(FORMATS)})")
    source = Path(recording)
    with Recording(source) as r:
        target = source.with_suffix(f".{to}") if path is None else Path(path)
        if target.exists() and target.samefile(source):
            raise RecordingError(f"{target} is the recording itself; name another file")
        _check_ending(target, to)
        if to == "npz":
            with replacing(target, RecordingError) as new:
                _npz(r.segments, _shapes(r), new)
            return [target]
        groups = _tables(r.segments)
        names = [target] if len(groups) == 1 else [
            target.with_name(f"{target.stem}-{i}{target.suffix}") for i in range(len(groups))
        ]  # fmt: skip
        for name, segments in zip(names, groups):
            with replacing(name, RecordingError) as new:
                (_csv if to == "csv" else _parquet)(segments, new)
        if _shapes(r):
            names.append(target.with_name(f"{target.stem}.contacts{target.suffix}"))
            with replacing(names[-1], RecordingError) as new:
                (_contacts_csv if to == "csv" else _contacts_parquet)(r.segments, _shapes(r), new)
    return names


def _check_ending(path: Path, to: str) -> None:
    """A name without an ending is anybody's; another ending would mislead whoever opens the file."""
    ending = path.suffix.lstrip(".").lower()
    if ending and ending != to:
        other = f", or write {ending}" if ending in FORMATS else ""
        raise RecordingError(f"{path.name} does not end in .{to}, which is what is written: name it so{other}")


def columns(model: Model, what: Choice["q", "v"], name: str | None = None) -> list[str]:
    """A name for each coordinate: q.knee, or q.hip[0], q.hip[1]. name: instead of q or v."""
    out, head = [], name or what
    for i in range(model.n_joints):
        joint = model.joints[i]  # type: ignore[index]
        at = joint.q if what == "q" else joint.v
        n = at.stop - at.start
        out += [f"{head}.{joint.name}" if n == 1 else f"{head}.{joint.name}[{k}]" for k in range(n)]
    if len(set(out)) < len(out):  # a joint named "hip[0]" beside a ball joint "hip": the numbers tell them apart
        return [f"{name}#{i}" for i, name in enumerate(out)]
    return out


def _tables(segments: Sequence[RecordedSegment]) -> list[list[RecordedSegment]]:
    """Segments that fit in one table."""
    heads = {tuple(columns(m, "q") + columns(m, "v")) for m in {id(s.model): s.model for s in segments}.values()}
    return [list(segments)] if len(heads) == 1 else [[s] for s in segments]


def _blocks(segment: RecordedSegment) -> Iterator[tuple[dict[str, NDArray[Any]], NDArray[Any], NDArray[Any]]]:
    """Scalars by name, q and v, for a few states at a time."""
    rows = max(1, NUMBERS // (segment.model.nq + segment.model.nv))
    counts, error = segment.active_counts, segment.error
    times, kinetic, potential = segment.times, segment.kinetic, segment.potential
    for begin in range(0, len(segment), rows):
        part = slice(begin, begin + rows)
        scalars: dict[str, NDArray[Any]] = {"time": times[part], "kinetic": kinetic[part], "potential": potential[part]}
        if error is not None:
            scalars["error"] = error[part]
        if counts is not None:
            scalars["active_count"] = counts[part]
        yield scalars, segment.q[part], segment.v[part]


def _csv(segments: Sequence[RecordedSegment], file: BinaryIO) -> None:
    out, head = csv.writer(codecs.getwriter("utf-8")(file)), False
    for number, segment in enumerate(segments):
        for scalars, q, v in _blocks(segment):
            if not head:
                model = segment.model
                out.writerow([*scalars, *columns(model, "q"), *columns(model, "v"), "segment"])
                head = True
            singles = [x.tolist() for x in scalars.values()]
            for i in range(len(q)):  # repr of a float has all its digits
                out.writerow(
                    [*(repr(x[i]) for x in singles), *map(repr, q[i].tolist()), *map(repr, v[i].tolist()), number]
                )


def _shapes(recording: Recording) -> list[str]:
    """The names of the shapes that its contacts count; none if nothing could touch."""
    names = recording.about.get("shapes")
    return [str(name) for name in names] if isinstance(names, list) else []


#: Of contacts: two shapes, and numbers as contact/room.py has them, in metres, newtons and metres per second.
CONTACT_NUMBERS = ("gap", *(f"{what}.{axis}" for what in ("point", "normal", "force", "slip") for axis in "xyz"))


def _contact_blocks(segment: RecordedSegment) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The times of contacts, and their rows, for a few states at a time; at least once."""
    times = segment.times
    for begin in range(0, max(len(segment), 1), STATES):
        states = range(begin, min(begin + STATES, len(segment)))
        parts = [x for i in states if (x := segment.touches_at(i)) is not None]
        counts = [len(x) for x in parts]
        rows = np.concatenate([np.zeros((0, 2 + len(CONTACT_NUMBERS))), *parts])
        yield np.repeat(times[states.start : states.stop][: len(counts)], counts), rows


def _contacts_csv(segments: Sequence[RecordedSegment], shapes: Sequence[str], file: BinaryIO) -> None:
    out = csv.writer(codecs.getwriter("utf-8")(file))
    out.writerow(["time", "shape", "other", *CONTACT_NUMBERS, "segment"])
    for number, segment in enumerate(segments):
        for times, rows in _contact_blocks(segment):
            for time, (a, b, *numbers) in zip(times.tolist(), rows.tolist()):
                out.writerow([repr(time), shapes[int(a)], shapes[int(b)], *map(repr, numbers), number])


def _npz(segments: Sequence[RecordedSegment], shapes: Sequence[str], file: BinaryIO) -> None:
    """As np.savez writes it, but no array is ever in memory as a whole."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for number, segment in enumerate(segments):
            prefix = "" if len(segments) == 1 else f"{number}/"
            arrays: dict[str, Any] = {"times": segment.times, "q": segment.q, "v": segment.v}
            arrays |= {"kinetic": segment.kinetic, "potential": segment.potential}
            more = {"error": segment.error, "active_counts": segment.active_counts}
            more |= {"joint_wrenches": segment.joint_wrenches, "joint_forces": segment.joint_forces}
            for name, x in (arrays | {k: v for k, v in more.items() if v is not None}).items():
                with archive.open(f"{prefix}{name}.npy", "w", force_zip64=True) as f:
                    _npy(f, x)
            if shapes:
                _contacts_npy(archive, prefix, segment)
        if shapes:
            with archive.open("shapes.npy", "w", force_zip64=True) as f:
                np.lib.format.write_array(f, np.array(shapes), allow_pickle=False)


def _contacts_npy(archive: zipfile.ZipFile, prefix: str, segment: RecordedSegment) -> None:
    counts = segment.touch_counts
    assert counts is not None
    head = {"descr": "<f8", "fortran_order": False, "shape": (int(counts.sum()), 2 + len(CONTACT_NUMBERS))}
    with archive.open(f"{prefix}contacts.npy", "w", force_zip64=True) as f:
        np.lib.format.write_array_header_1_0(f, head)
        for _, rows in _contact_blocks(segment):
            f.write(np.ascontiguousarray(rows, dtype="<f8").tobytes())
    with archive.open(f"{prefix}contacts_end.npy", "w", force_zip64=True) as f:
        np.lib.format.write_array(f, np.cumsum(counts), allow_pickle=False)


def _npy(f: Any, x: Any) -> None:
    dtype = np.dtype(x.dtype)
    head = {"descr": dtype.str, "fortran_order": False, "shape": tuple(map(int, x.shape))}
    np.lib.format.write_array_header_1_0(f, head)
    rows = max(1, NUMBERS // max(1, int(np.prod(x.shape[1:]))))
    for begin in range(0, len(x), rows):
        f.write(np.ascontiguousarray(x[begin : begin + rows], dtype=dtype).tobytes())


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise RecordingError("Parquet files need pyarrow: pip install 'supple[parquet]'") from None
    return pa, pq


def _contacts_parquet(segments: Sequence[RecordedSegment], shapes: Sequence[str], file: BinaryIO) -> None:
    pa, pq = _pyarrow()
    writer, names = None, np.array(shapes)
    try:
        for number, segment in enumerate(segments):
            for times, rows in _contact_blocks(segment):
                fields = {"time": pa.array(times)}
                fields |= {what: pa.array(names[rows[:, k].astype(int)]) for k, what in enumerate(("shape", "other"))}
                fields |= {what: pa.array(rows[:, 2 + k]) for k, what in enumerate(CONTACT_NUMBERS)}
                table = pa.table(fields | {"segment": pa.array(np.full(len(rows), number))})
                writer = writer or pq.ParquetWriter(file, table.schema)
                writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _parquet(segments: Sequence[RecordedSegment], file: BinaryIO) -> None:
    pa, pq = _pyarrow()
    writer = None
    try:
        for number, segment in enumerate(segments):
            for scalars, q, v in _blocks(segment):
                fields: dict[str, Any] = {name: pa.array(x) for name, x in scalars.items()}
                for what, rows in (("q", q), ("v", v)):
                    rows = np.ascontiguousarray(rows)
                    if rows.shape[1] > WIDE:
                        fields[what] = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
                    else:
                        names = columns(segment.model, what)  # type: ignore[arg-type]
                        fields |= {name: pa.array(rows[:, i]) for i, name in enumerate(names)}
                fields["segment"] = pa.array(np.full(len(q), number))
                table = pa.table(fields)
                writer = writer or pq.ParquetWriter(file, table.schema)
                writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
