"""Writing tables and blobs into a journaled file, with HDF5's metadata around them.

Space is allocated only at the end. Chunks have separate pages, so that rows can be added to them without a journal; all
small items share pages.
"""

from __future__ import annotations

import zlib
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.record import hdf5
from supple.record.hdf5 import BASE, FANOUT, LINKS, SIZES, UNDEFINED
from supple.record.head import PAGE, Place
from supple.record.index import ENTRY, Index, Table, WriterPart, checked, leaves
from supple.record.journal import NOWHERE, Journaled

CHUNK = 256 * 1024  #: bytes of a chunk of a table, or one row
ROWS = 1024  #: of a chunk of states, at most,
FEW = 64  #: and of other tables
SMALL = 4 * PAGE  #: allocated at a time for items that share pages


class Store:
    """The parts of a file that is being written. What is added is stored after `commit`."""

    def __init__(self, file: Journaled, index: Index | None = None) -> None:
        """index: of a file that is continued."""
        self._file = file
        self._blobs: dict[str, Blob] = {}
        self._groups: dict[str, Group] = {}
        self.tables: dict[str, Growing] = {}
        self._end, self._free = BASE + PAGE, (0, 0)
        self._index = Blob(self)
        if index is None:
            self._group("")
        else:
            self._go_on(index)

    def _go_on(self, index: Index) -> None:
        rest = WriterPart.read(index, self._file.size)
        self._end, self._free = self._file.size, rest.free
        self._index = Blob(self, self._file.head.place, rest.room)
        self._groups = {name: Group(self, header, links) for name, (header, links) in rest.groups.items()}
        for name, place in index.blobs.items():
            self._blobs[name] = Blob(self, place, *rest.blobs[name])
        for name, table in index.tables.items():
            self.tables[name] = Growing(self, table, leaves(self._file.read, table, name))

    def table(self, name: str, row: tuple[int, ...] = (), dtype: str = "f8") -> Growing:
        """The table of this name; a new one if there is none."""
        if name not in self.tables:
            most = ROWS if name.startswith("states/") else FEW
            rows = min(most, max(1, CHUNK // (prod(row) * SIZES[dtype])))
            made = Table(dtype, row, 0, rows, 0, [], [])
            made.header = self.take(len(hdf5.grown_dataset(dtype, (0, *row), rows, None)))
            self.tables[name] = Growing(self, made, np.zeros(0, dtype=ENTRY))
            self._link(name, made.header)
        return self.tables[name]

    def blob(self, name: str, data: bytes) -> None:
        """Bytes under a name, replacing previous ones."""
        if name not in self._blobs:
            self._blobs[name] = Blob(self, header=self.take(len(hdf5.fixed_dataset("u1", (0,), 0))))
            self._link(name, self._blobs[name].header)
        self._blobs[name].set(data)

    def array(self, x: NDArray[Any]) -> Place:
        """Numbers that are never changed."""
        data = x.tobytes()
        return Place(self._put(data), len(data), zlib.crc32(data))

    def show(self, group: str, arrays: dict[str, tuple[str, tuple[int, ...], int]]) -> None:
        """Make arrays visible to other tools as a group of datasets, as long as there is room for the group: dtype,
        shape and address of each by name."""
        if len(self._group(group.rpartition("/")[0]).links) >= LINKS:
            return
        links = {name: self._put(hdf5.fixed_dataset(*what)) for name, what in arrays.items()}
        self._link(group, self._put(hdf5.group(links, room=False)))

    def _put(self, data: bytes) -> int:
        address = self.take(len(data))
        self._file.write(address, data)
        return address

    def commit(self) -> None:
        """Make everything permanent, atomically."""
        for table in self.tables.values():
            table.write()
        for blob in self._blobs.values():
            blob.write_header()
        for group in self._groups.values():
            group.write()
        self._index.set(self._packed(room := self._index.room))
        if self._index.room != room:  # it moved, and contains its own capacity
            self._index.set(self._packed(self._index.room))
        self._file.size = self._end
        self._file.write(BASE, hdf5.superblock(self._end, self._groups[""].header))
        self._file.commit(self._index.place)

    def _packed(self, room: int) -> bytes:
        groups = {name: (g.header, g.links) for name, g in self._groups.items()}
        rest = WriterPart(self._free, room, groups, {name: (b.room, b.header) for name, b in self._blobs.items()})
        tables = {name: t.table for name, t in self.tables.items()}
        return Index(tables, {name: b.place for name, b in self._blobs.items()}, vars(rest)).packed()

    # --- space ----------------------------------------------------------------------------------------------------

    def take(self, size: int) -> int:
        """Space for something small, or separate pages."""
        size = -(-size // 8) * 8
        if size > SMALL // 2:
            return self.take_pages(size)
        begin, end = self._free
        if begin + size > end:
            begin = self.take_pages(SMALL)
            end = begin + SMALL
        self._free = (begin + size, end)
        return begin

    def take_pages(self, size: int) -> int:
        begin = -(-self._end // PAGE) * PAGE
        self._end = begin + -(-size // PAGE) * PAGE
        return begin

    def write(self, address: int, data: bytes) -> None:
        self._file.write(address, data)

    def append(self, address: int, data: Any) -> None:
        self._file.append(address, data)

    # --- groups ---------------------------------------------------------------------------------------------------

    def _link(self, name: str, header: int) -> None:
        above, _, last = name.rpartition("/")
        self._group(above).add(last, header)

    def _group(self, name: str) -> Group:
        if name not in self._groups:
            self._groups[name] = Group(self, self.take(len(hdf5.group({}))), {})
            if name:
                self._link(name, self._groups[name].header)
        return self._groups[name]


class Group:
    """An HDF5 group, as other tools see it: links beyond its capacity are left out."""

    def __init__(self, store: Store, header: int, links: dict[str, int]) -> None:
        self._store, self.header, self.links = store, header, links
        self._changed = True

    def add(self, name: str, header: int) -> None:
        if len(self.links) < LINKS:
            self.links[name] = header
            self._changed = True

    def write(self) -> None:
        if self._changed:
            self._store.write(self.header, hdf5.group(self.links))
            self._changed = False


class Blob:
    """Bytes at a location with some room to grow."""

    def __init__(self, store: Store, place: Place = NOWHERE, room: int = 0, header: int = 0) -> None:
        self._store, self.place, self.room, self.header = store, place, room, header
        self._changed = False

    def set(self, data: bytes) -> None:
        address = self.place.address
        if len(data) > self.room:
            self.room = 2 * len(data) + 256
            address = self._store.take(self.room)
        self._store.write(address, data)
        self.place, self._changed = Place(address, len(data), zlib.crc32(data)), True

    def write_header(self) -> None:
        if self._changed:
            self._store.write(self.header, hdf5.fixed_dataset("u1", (self.place.size,), self.place.address))
            self._changed = False


class Growing:
    """A table that rows are added to."""

    def __init__(self, store: Store, table: Table, chunks: NDArray[Any]) -> None:
        """chunks: all existing ones; at most one node of them is kept."""
        self._store, self.table = store, table
        self._first = max(0, len(table.nodes) - 1)  #: the first node that may change
        self._chunks = [(int(a), int(c)) for a, c in chunks[self._first * FANOUT :]]  #: from that node on
        self._waiting: list[NDArray[Any]] = []
        self._bytes = 0
        self._written = -1 if not len(chunks) else table.rows

    def __len__(self) -> int:
        return self.table.rows + sum(map(len, self._waiting))

    def add(self, rows: Any) -> int:
        """Append rows; returns their size in bytes."""
        x = np.array(rows, dtype=self.table.dtype).reshape(-1, *self.table.row)
        self._waiting.append(x)
        self._bytes += x.nbytes
        if self._bytes >= CHUNK:
            self._flush()
        return x.nbytes

    def _flush(self) -> None:
        t = self.table
        rows = np.concatenate(self._waiting) if len(self._waiting) != 1 else self._waiting[0]
        self._waiting, self._bytes = [], 0
        while len(rows):
            inside = t.rows % t.chunk
            if inside == 0:
                self._chunks.append((self._store.take_pages(t.chunk * t.row_bytes), 0))
            some, rows = rows[: t.chunk - inside], rows[t.chunk - inside :]
            address, crc = self._chunks[-1]
            data = some.data.cast("B")
            self._store.append(address + inside * t.row_bytes, data)
            self._chunks[-1] = address, zlib.crc32(data, crc)
            t.rows += len(some)

    def write(self) -> None:
        """Write everything that changed since the last commit."""
        if self._waiting:
            self._flush()
        t = self.table
        if t.rows == self._written:
            return
        self._written = t.rows
        self._write_leaves()
        self._write_upper()
        tree = (t.upper[-1][0] if t.upper else t.nodes[0][0]) if t.nodes else None
        self._store.write(t.header, hdf5.grown_dataset(t.dtype, (t.rows, *t.row), t.chunk, tree))
        last = max(0, len(t.nodes) - 1)
        self._chunks = self._chunks[(last - self._first) * FANOUT :]
        self._first = last

    def _write_leaves(self) -> None:
        t, size = self.table, hdf5.node_size(len(self.table.chunk_shape))
        while len(t.nodes) * FANOUT < t.chunks:
            t.nodes.append((self._store.take(size + FANOUT * ENTRY.itemsize), 0))
        addresses = [a for a, _ in t.nodes]
        for number in range(self._first, len(t.nodes)):
            begin = (number - self._first) * FANOUT
            entries = self._chunks[begin : begin + FANOUT]
            leaf = np.array(entries, dtype=ENTRY).tobytes()
            body = self._node(0, number, [a for a, _ in entries], addresses)
            self._store.write(addresses[number], body + leaf)
            t.nodes[number] = addresses[number], zlib.crc32(leaf)

    def _write_upper(self) -> None:
        t, below, first, level = self.table, [a for a, _ in self.table.nodes], self._first, 0
        while len(below) > 1:
            if level == len(t.upper):
                t.upper.append([])
            mine, first = t.upper[level], first // FANOUT
            while len(mine) * FANOUT < len(below):
                mine.append(self._store.take(hdf5.node_size(len(t.chunk_shape))))
            for number in range(first, len(mine)):
                children = below[number * FANOUT : (number + 1) * FANOUT]
                self._store.write(mine[number], self._node(level + 1, number, children, mine))
            below, level = mine, level + 1

    def _node(self, level: int, number: int, children: list[int], row: list[int]) -> bytes:
        """HDF5's node: `row` are all nodes of its level."""
        t, step = self.table, FANOUT**level
        first = number * FANOUT
        keys = [(first + i) * step * t.chunk for i in range(len(children))]
        keys.append(min((first + len(children)) * step, t.chunks) * t.chunk)
        left, right = row[number - 1] if number else UNDEFINED, row[number + 1] if number + 1 < len(row) else UNDEFINED
        return hdf5.node(level, keys, children, (left, right), t.chunk_shape)


def read_index(file: Journaled) -> Index:
    """The index of an open file."""
    return Index.read(checked(file.read, file.head.place, "its index"), file.size)
