"""How a joint rotates the coefficients of the stretch above it, and the vectors passed across it: by E(q) [frames.py].

A revolute joint rotates pairs of rows. For other joints E is a matrix. The basis of a universal joint lies between its
two rotations, so it also rotates the lower side, by EB.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from supple.spatial.compiler import helper
from supple.spatial.cpu import make_six, swap_pairs
from supple.spatial.matrices import Mat6, MatrixRows
from supple.spatial.structs import Struct


class Turn(NamedTuple):
    """The rotation of a joint."""

    revolute: Any
    cos: Any
    sin: Any
    universal: Any
    by: Any  #: the matrices of other joints


class TurnMatrices(Struct):
    """For joints that are not revolute."""

    E = Mat6()
    Et = Mat6()  # its transpose
    EB = Mat6()  # universal joints: the rotation of the lower side
    EBt = Mat6()


new_turn_matrices = TurnMatrices.new


@helper
def revolute_turn(cos, sin, room):
    return Turn(True, cos, sin, False, room)


@helper
def turn_rows(A, c, s):
    """E A of a revolute joint: rotates pairs of rows."""
    return MatrixRows(A[0] * c + A[1] * s, A[1] * c - A[0] * s, A[2] * c + A[3] * s, A[3] * c - A[2] * s, A[4], A[5])


@helper
def turn_vector(x, cc, ss):
    """E x of a revolute joint, given the `cosines` and `sines` of its rotation."""
    return x * cc + swap_pairs(x) * ss


@helper
def cosines(c):
    return make_six(c, c, c, c, 1.0, 1.0)


@helper
def sines(s):
    return make_six(s, -s, s, -s, 0.0, 0.0)


@helper
def turn_both(A, c, s):
    """E A E^T of a revolute joint."""
    A, cc, ss = turn_rows(A, c, s), cosines(c), sines(s)
    return MatrixRows(
        turn_vector(A[0], cc, ss), turn_vector(A[1], cc, ss), turn_vector(A[2], cc, ss),
        turn_vector(A[3], cc, ss), turn_vector(A[4], cc, ss), turn_vector(A[5], cc, ss),
    )  # fmt: skip


@helper
def rows_of(A):
    """A matrix in registers."""
    return MatrixRows(A[0], A[1], A[2], A[3], A[4], A[5])


# --- the upper side: by E -------------------------------------------------------------------------------------------


@helper
def moved_rows(A, turn):
    """E A"""
    return turn_rows(A, turn.cos, turn.sin) if turn.revolute else turn.by.E @ A


@helper
def moved_both(A, turn):
    """E A E^T"""
    return turn_both(A, turn.cos, turn.sin) if turn.revolute else (turn.by.E @ A) @ turn.by.Et


@helper
def moved(x, turn):
    """E x"""
    return turn_vector(x, cosines(turn.cos), sines(turn.sin)) if turn.revolute else x @ turn.by.Et


@helper
def moved_back(x, turn):
    """E^T x"""
    return turn_vector(x, cosines(turn.cos), sines(-turn.sin)) if turn.revolute else x @ turn.by.E


# --- the lower side: unchanged, or by EB ----------------------------------------------------------------------------


@helper
def lower_rows(A, turn):
    """EB A"""
    return turn.by.EB @ A if turn.universal else rows_of(A)


@helper
def lower_both(A, turn):
    """EB A EB^T"""
    return (turn.by.EB @ A) @ turn.by.EBt if turn.universal else rows_of(A)


@helper
def lower(x, turn):
    """EB x"""
    return x @ turn.by.EBt if turn.universal else x


@helper
def lower_back(x, turn):
    """EB^T x"""
    return x @ turn.by.EB if turn.universal else x
