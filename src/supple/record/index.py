"""The index of a recording: its tables and blobs, where they are, and the CRC-32 of every part.

JSON, to which the head points. A table is an array that grows by rows, in chunks; 64 chunks belong to a node, which is
a node of HDF5's B-tree followed by our own leaf: address and CRC of each chunk. The CRC of a chunk covers the rows that
it has so far. A blob is a byte string that is replaced as a whole. So the head validates the index, the index validates
leaves and blobs, and leaves validate the numbers.

Whatever a file contains, reading its index takes no more memory than the file's size: all sizes are checked against it.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.record import hdf5
from supple.record.hdf5 import BASE, FANOUT, SIZES
from supple.record.head import Place

LARGEST_CHUNK = 2**24  #: bytes of a chunk of several rows: a writer that continues a file allocates a whole one
LARGEST_ROW = 2**32 - 1  #: and of one row: the limit of HDF5
ENTRY = np.dtype([("address", "<i8"), ("crc", "<i8")])  #: of a leaf


class Damaged(Exception):
    """The data found is not what was written, or was never written by Supple."""


@dataclass
class Table:
    """The index entry of a table."""

    dtype: str
    row: tuple[int, ...]  #: the shape of a row
    rows: int
    chunk: int  #: rows of a chunk
    header: int  #: address of HDF5's header
    nodes: list[tuple[int, int]]  #: address and leaf CRC of each node
    upper: list[list[int]]  #: HDF5's nodes above, level by level

    @property
    def row_bytes(self) -> int:
        return prod(self.row) * SIZES[self.dtype]

    @property
    def chunks(self) -> int:
        return -(-self.rows // self.chunk)

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """In the form that HDF5 uses."""
        return (self.chunk, *self.row, SIZES[self.dtype])

    def leaf_place(self, number: int) -> Place:
        """Where the leaf of a node is, up to its used length."""
        address, crc = self.nodes[number]
        used = min(FANOUT, self.chunks - number * FANOUT)
        return Place(address + hdf5.node_size(len(self.chunk_shape)), used * ENTRY.itemsize, crc)

    def said(self) -> list[Any]:
        return [self.dtype, self.row, self.rows, self.chunk, self.header, self.nodes, self.upper]

    @staticmethod
    def read(said: Any, size: int) -> Table:
        dtype, row, rows, chunk, header, nodes, upper = _list(said, 7)
        if not isinstance(dtype, str) or dtype not in SIZES:
            raise Damaged("its index names a type that there is none of")
        out = Table(dtype, tuple(_count(x, 1, size) for x in _list(row)), _count(rows, 0, size), 1, 0, [], [])
        out.chunk, out.header = _count(chunk, 1, 2**31), _count(header, BASE, size)
        if len(out.row) > 2 or out.rows * out.row_bytes > size:
            raise Damaged("its index names more numbers than the file can have")
        if out.chunk * out.row_bytes > (LARGEST_CHUNK if out.chunk > 1 else LARGEST_ROW):
            raise Damaged("its index has larger chunks than are ever written")
        out.nodes = [(_count(a, BASE, size), _count(c, 0, 2**32)) for a, c in (_list(x, 2) for x in _list(nodes))]
        out.upper = [[_count(a, BASE, size) for a in _list(level)] for level in _list(upper)]
        level, levels = -(-out.chunks // FANOUT), []
        while level > 1:
            level = -(-level // FANOUT)
            levels.append(level)
        if len(out.nodes) != -(-out.chunks // FANOUT) or [len(x) for x in out.upper] != levels:
            raise Damaged("its index has not as many nodes as its tables need")
        return out


@dataclass
class Index:
    """Tables and blobs by their names, and what only the writer needs."""

    tables: dict[str, Table]
    blobs: dict[str, Place]
    rest: dict[str, Any]

    def packed(self) -> bytes:
        said = {"tables": {name: t.said() for name, t in self.tables.items()}, "blobs": self.blobs, "rest": self.rest}
        return json.dumps(said, separators=(",", ":")).encode()

    @staticmethod
    def read(data: bytes, size: int) -> Index:
        """size: of the file."""
        said = as_dict(parsed(data))
        tables = {name: Table.read(x, size) for name, x in as_dict(said.get("tables")).items()}
        if sum(t.rows * t.row_bytes for t in tables.values()) > size:
            raise Damaged("its index names more numbers than the file can have")
        blobs = {
            name: Place(_count(a, BASE, size), _count(n, 0, size), _count(c, 0, 2**32))
            for name, (a, n, c) in ((name, _list(x, 3)) for name, x in as_dict(said.get("blobs")).items())
        }
        return Index(tables, blobs, as_dict(said.get("rest")))


@dataclass
class WriterPart:
    """The part of the index for a writer that continues: where there is space, and where HDF5's headers are."""

    free: tuple[int, int]  #: from ... to, for small items
    room: int  #: capacity of the index itself
    groups: dict[str, tuple[int, dict[str, int]]]  #: header, and links to others
    blobs: dict[str, tuple[int, int]]  #: room and header

    @staticmethod
    def read(index: Index, size: int) -> WriterPart:
        rest = index.rest
        begin, end = (_count(x, 0, size) for x in _list(rest.get("free"), 2))
        if begin < min(end, BASE):
            raise Damaged("its index has no place for what is new")
        groups = {
            name: (_count(header, BASE, size), _links(links, size))
            for name, (header, links) in ((k, _list(x, 2)) for k, x in as_dict(rest.get("groups")).items())
        }
        blobs = {
            name: (_count(room, 0, size), _count(header, BASE, size))
            for name, (room, header) in ((k, _list(x, 2)) for k, x in as_dict(rest.get("blobs")).items())
        }
        if blobs.keys() != index.blobs.keys() or "" not in groups:
            raise Damaged("its index does not say where all is")
        return WriterPart((begin, end), _count(rest.get("room"), 0, size), groups, blobs)


Read = Callable[[int, int], bytes]


def checked(read: Read, place: Place, what: str) -> bytes:
    """The bytes at a place, refused if they are not what was written there."""
    data = read(place.address, place.size)
    if len(data) != place.size or zlib.crc32(data) != place.crc:
        raise Damaged(f"{what} is not as it was written")
    return data


def leaves(read: Read, table: Table, name: str) -> NDArray[Any]:
    """Where the chunks of a table are, and their CRCs."""
    parts = [checked(read, table.leaf_place(i), f"the index of {name}") for i in range(len(table.nodes))]
    out = np.frombuffer(b"".join(parts), dtype=ENTRY)
    if len(out) and out["address"].min() < BASE:
        raise Damaged(f"the index of {name} has chunks that are no place in the file")
    return out


def parsed(data: bytes) -> Any:
    """Parsed JSON of any content."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise Damaged("what should be JSON is not") from None


def as_dict(x: Any) -> dict[str, Any]:
    if not isinstance(x, dict):
        raise Damaged("a part of it that should be a table of names is not")
    return x


def is_number(x: Any) -> bool:
    """Whether this is a finite number, as in JSON: integers may be larger than any float."""
    return isinstance(x, int | float) and not isinstance(x, bool) and abs(x) <= sys.float_info.max


def _list(x: Any, length: int | None = None) -> list[Any]:
    if not isinstance(x, list) or length not in (None, len(x)):
        raise Damaged("a part of its index that should be a list is not, or is too short")
    return x


def _count(x: Any, least: int, most: int) -> int:
    if type(x) is not int or not least <= x <= most:
        raise Damaged(f"a number in its index should be from {least} to {most}, and is not")
    return x


def _links(x: Any, size: int) -> dict[str, int]:
    links = {name: _count(header, BASE, size) for name, header in as_dict(x).items()}
    if len(links) > hdf5.LINKS or any(len(name) > hdf5.LONGEST_NAME or not name.isascii() for name in links):
        raise Damaged("its index has more links than there is room for")
    return links
