"""The packing of a matrix over a tree, as compiled code sees it: Pattern in treematrix.py has the same fields by
name."""

from __future__ import annotations

from supple.spatial.fields import Integer, Integers
from supple.spatial.structs import Struct


class Packing(Struct):
    """The packing of n rows, in depth-first order."""

    n = Integer()
    size = Integer()  # numbers, including fillers; those of a factor are followed by n reciprocals
    parent = Integers()  # lambda [SF section 2], -1 for the root
    starts = Integers()  # where a row begins
    depth = Integers()  # how many numbers it has
    ends = Integers()  # one past its last descendant
