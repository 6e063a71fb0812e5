"""How a matrix over a tree is packed, as compiled code sees it: Pattern of treematrix.py has the same by name."""

from __future__ import annotations

from supple.spatial.fields import Integer, Integers
from supple.spatial.structs import Struct


class Packing(Struct):
    """Of n rows, in depth-first order."""

    n = Integer()
    size = Integer()  # numbers, what fills rows up included; those of a factor are followed by n reciprocals
    parent = Integers()  # lambda [SF section 2], -1 for the root
    starts = Integers()  # where a row begins
    depth = Integers()  # how many numbers it has
    ends = Integers()  # one past its last descendant
