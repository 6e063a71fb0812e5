"""The few structures of HDF5 that a recording has, as bytes.

HDF5's metadata is written so that any HDF5 tool can open a recording; Supple itself never reads it. Section numbers are
those of the HDF5 File Format Specification, version 3.0. Addresses are relative to BASE, the end of our own first page.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import prod

BASE = 4096  #: where HDF5 begins: after a user block, which is our head
UNDEFINED = UNLIMITED = 0xFFFFFFFFFFFFFFFF
FANOUT = 64  #: children of a node of a B-tree: twice the default K of HDF5

_SPACE, _LINK_INFO, _TYPE, _FILL, _LINK, _LAYOUT, _GROUP_INFO, _NIL = 0x01, 0x02, 0x03, 0x05, 0x06, 0x08, 0x0A, 0x00
LINKS, LONGEST_NAME = 64, 24  #: capacity of a group

#: Datatype messages [IV.A.2.d]: IEEE doubles, and integers of 8 bytes and of one.
_TYPES = {
    "f8": struct.pack("<B3sIHHBBBBI", 0x11, b"\x20\x3f\x00", 8, 0, 64, 52, 11, 0, 52, 1023),
    "i8": struct.pack("<B3sIHH", 0x10, b"\x08\x00\x00", 8, 0, 64),
    "u1": struct.pack("<B3sIHH", 0x10, b"\x00\x00\x00", 1, 0, 8),
}
SIZES = {"f8": 8, "i8": 8, "u1": 1}


def superblock(end: int, root: int) -> bytes:
    """Version 2 [II.A]. end: of the file, root: the group's header."""
    body = b"\x89HDF\r\n\x1a\n" + struct.pack("<BBBBQQQQ", 2, 8, 8, 0, BASE, UNDEFINED, end, root - BASE)
    return _summed(body)


def grown_dataset(dtype: str, shape: Sequence[int], chunk_rows: int, tree: int | None) -> bytes:
    """The header of a chunked, extensible dataset. tree: the root of its B-tree, if it has one."""
    address = UNDEFINED if tree is None else tree - BASE
    chunk = (chunk_rows, *shape[1:], SIZES[dtype])
    layout = struct.pack(f"<BBBQ{len(chunk)}I", 3, 2, len(chunk), address, *chunk)
    return _header(
        [_space(shape, (UNLIMITED, *shape[1:])), (_TYPE, _TYPES[dtype]), (_FILL, b"\x03\x0b"), (_LAYOUT, layout)]
    )


def fixed_dataset(dtype: str, shape: Sequence[int], address: int) -> bytes:
    """The header of a contiguous dataset."""
    size = prod(shape) * SIZES[dtype]
    layout = struct.pack("<BBQQ", 3, 1, address - BASE if size else UNDEFINED, size)
    return _header([_space(shape, shape), (_TYPE, _TYPES[dtype]), (_FILL, b"\x03\x0a"), (_LAYOUT, layout)])


def group(links: dict[str, int], room: bool = True) -> bytes:
    """The header of a group with links to other headers [IV.A.2.g]; with room for LINKS in all, its size is the same
    whatever it contains."""
    messages = [(_LINK_INFO, struct.pack("<BBQQ", 0, 0, UNDEFINED, UNDEFINED)), (_GROUP_INFO, b"\0\0")]
    for name, header in links.items():
        text = name.encode()
        messages.append((_LINK, struct.pack("<BBB", 1, 0, len(text)) + text + struct.pack("<Q", header - BASE)))
    if room:
        used = sum(4 + len(body) for _, body in messages[2:])
        messages.append((_NIL, bytes(LINKS * (15 + LONGEST_NAME) - used)))
    return _header(messages)


def node(
    level: int, keys: Sequence[int], children: Sequence[int], beside: tuple[int, int], shape: Sequence[int]
) -> bytes:
    """A node of the B-tree of a dataset's chunks [III.A.1]. keys: the first row of each child, and the end of the last
    one. beside: its neighbours, or UNDEFINED. shape: of a chunk, its last entry being the bytes of a number."""
    size, rest = prod(shape), bytes(8 * (len(shape) - 1))
    out = bytearray(b"TREE" + struct.pack("<BBHQQ", 1, level, len(children), *(_relative(x) for x in beside)))
    for key, child in zip(keys, children):
        out += struct.pack("<IIQ", size, 0, key) + rest + struct.pack("<Q", child - BASE)
    out += struct.pack("<IIQ", size, 0, keys[-1]) + rest
    return bytes(out.ljust(node_size(len(shape)), b"\0"))


def node_size(rank: int) -> int:
    """Bytes of a node; rank: of a chunk, with the bytes of a number as one dimension."""
    return 24 + (FANOUT + 1) * (8 + 8 * rank) + FANOUT * 8


def _relative(address: int) -> int:
    return UNDEFINED if address == UNDEFINED else address - BASE


def _space(shape: Sequence[int], most: Sequence[int]) -> tuple[int, bytes]:
    return _SPACE, struct.pack(f"<BBBB{2 * len(shape)}Q", 2, len(shape), 1, 1, *shape, *most)


def _header(messages: list[tuple[int, bytes]]) -> bytes:
    """An object header of version 2 [IV.A.1.b]."""
    body = b"".join(struct.pack("<BHB", kind, len(data), 0) + data for kind, data in messages)
    return _summed(b"OHDR" + struct.pack("<BBI", 2, 0x02, len(body)) + body)


def _summed(body: bytes) -> bytes:
    return body + struct.pack("<I", lookup3(body))


def lookup3(data: bytes) -> int:
    """Jenkins' hash, used for HDF5's metadata."""
    words = struct.unpack(f"<{-(-len(data) // 12) * 3}I", data.ljust(-(-len(data) // 12) * 12, b"\0"))
    a = b = c = (0xDEADBEEF + len(data)) & 0xFFFFFFFF
    for i in range(0, len(words), 3):
        a, b, c = (a + words[i]) & 0xFFFFFFFF, (b + words[i + 1]) & 0xFFFFFFFF, (c + words[i + 2]) & 0xFFFFFFFF
        a, b, c = _mixed(a, b, c) if i + 3 < len(words) else _final(a, b, c)
    return c


def _turned(x: int, k: int) -> int:
    return ((x << k) | (x >> (32 - k))) & 0xFFFFFFFF


def _mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    for k in (4, 6, 8, 16, 19, 4):
        a = ((a - c) & 0xFFFFFFFF) ^ _turned(c, k)
        c = (c + b) & 0xFFFFFFFF
        a, b, c = b, c, a
    return a, b, c


def _final(a: int, b: int, c: int) -> tuple[int, int, int]:
    for k in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - _turned(b, k)) & 0xFFFFFFFF
        a, b, c = b, c, a
    return c, a, b
