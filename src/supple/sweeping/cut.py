"""How the runs of a sweep are cut into chunks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

RUNS = 4096  #: about so many in a chunk
Chunk = tuple[int, ...]


@dataclass(frozen=True)
class Cut:
    """How runs of a shape are cut into chunks: whole along the last axes, single along the first."""

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    axis: int  #: that is cut into pieces

    @staticmethod
    def of(shape: tuple[int, ...], most: int = RUNS) -> Cut:
        axis = len(shape) - 1
        while axis > 0 and prod(shape[axis:]) < most:
            axis -= 1
        rest = prod(shape[axis + 1 :])
        pieces = -(-shape[axis] // max(1, most // rest))
        length = -(-shape[axis] // pieces)
        return Cut(shape, (1,) * axis + (length, *shape[axis + 1 :]), axis)

    @cached_property
    def size(self) -> int:
        """Of a chunk."""
        return prod(self.chunks)

    @cached_property
    def block(self) -> int:
        """Runs that share their place along the first axes."""
        return prod(self.shape[self.axis :])

    @cached_property
    def pieces(self) -> int:
        """Chunks of a block."""
        return -(-self.shape[self.axis] // self.chunks[self.axis])

    def start(self, number: int) -> int:
        return number // self.pieces * self.block + number % self.pieces * self.size

    def stop(self, number: int) -> int:
        return min(self.start(number) + self.size, (number // self.pieces + 1) * self.block)

    def index(self, number: int) -> Chunk:
        """Of a chunk, along each axis."""
        outer = np.unravel_index(number // self.pieces, self.shape[: self.axis]) if self.axis else ()
        return (*map(int, outer), number % self.pieces, *[0] * (len(self.shape) - self.axis - 1))

    def place(self, run: int) -> tuple[int, int]:
        """The chunk of a run, and its row there."""
        block, inside = divmod(run, self.block)
        piece, row = divmod(inside, self.size)
        return block * self.pieces + piece, row

    def stretches(self, start: int, stop: int) -> Iterator[tuple[int, slice, slice]]:
        """The chunks that have the runs from start to stop: their numbers, the rows and the runs."""
        while start < stop:
            number, row = self.place(start)
            end = min(stop, self.stop(number))
            yield number, slice(row, row + end - start), slice(start, end)
            start = end

    @staticmethod
    def read(shape: tuple[int, ...], chunks: Chunk) -> Cut | None:
        """From the chunks that a store says; None if they are none of ours."""
        for axis in range(len(shape)):
            outer, inner = chunks[:axis], chunks[axis + 1 :]
            if all(n == 1 for n in outer) and inner == shape[axis + 1 :] and 1 <= chunks[axis] <= shape[axis]:
                return Cut(shape, chunks, axis)
        return None
