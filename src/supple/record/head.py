"""The first page of a recording: the identity of the file, the number of commits, and the location of its index.

bytes  0  magic, 16          b"supple recording"
      16  id, 16             random, of the file
      32  generation, 8      commits so far
      40  size, 8            minimum size in bytes at the last one
      48  format, 8
      56  index: address, size, CRC-32, 8 each
      80  writer, 16         random, of the process that writes it
      96  CRC-32 of everything before, 4
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

PAGE = 4096
FORMAT = 3
MAGIC = b"supple recording"
_FIELDS = "<16s16sqqqqqq16s"
_SIZE = struct.calcsize(_FIELDS)
LENGTH = _SIZE + 4
_MOST = 2**62  #: limit on commits and bytes


class Place(NamedTuple):
    """Bytes in a file."""

    address: int
    size: int
    crc: int


class Head(NamedTuple):
    """The contents of the first page."""

    id: bytes
    generation: int
    size: int
    place: Place  #: of the index
    writer: bytes
    format: int = FORMAT

    def page(self) -> bytes:
        return self.packed().ljust(PAGE, b"\0")

    def packed(self) -> bytes:
        body = struct.pack(_FIELDS, MAGIC, self.id, self.generation, self.size, self.format, *self.place, self.writer)
        return body + struct.pack("<I", zlib.crc32(body))


def is_head(data: bytes) -> bool:
    """Whether a file that begins with this is a recording, of any format."""
    return data.startswith(MAGIC)


def read_head(data: bytes) -> Head | None:
    """The head from a file's first bytes; None if they are not the head of a recording, or damaged."""
    if len(data) < LENGTH or not is_head(data):
        return None
    body, (crc,) = data[:_SIZE], struct.unpack_from("<I", data, _SIZE)
    if zlib.crc32(body) != crc:
        return None
    _, name, generation, size, number, address, length, index_crc, writer = struct.unpack(_FIELDS, body)
    if not (0 <= generation < _MOST and 0 <= size < _MOST):
        return None
    return Head(name, generation, size, Place(address, length, index_crc), writer, number)


def old_format(data: bytes) -> bool:
    """Whether a recording is of the previous format, whose head had no CRC: zeros follow its size."""
    return is_head(data) and len(data) >= LENGTH and not any(data[48:LENGTH])
