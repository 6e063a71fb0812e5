"""Prefetching nodes. The coefficients of a node fill up to 50 cache lines, its load cases 28, and those of a large body
are far apart: without prefetching, a choice of active joints would mostly wait for memory."""

from __future__ import annotations

from supple.assembly.tree import LEAF
from supple.spatial.compiler import helper
from supple.spatial.cpu import LINE, fetch, fetch_from

AHEAD = 4  #: nodes in advance
POSE_LINES = 3  #: cache lines in which a pose, a motion or a rigid inertia lies
CLOSING_LINES, MATRIX_LINES = 6, 5  #: those of a Closing of one degree of freedom, and of a 6x6 matrix


@helper
def fetch_between(numbers, start, end):
    fetch_from(numbers, start, (end - start + LINE - 1) // LINE)


@helper
def fetch_coefficients(body, i):
    """What the node above reads of node i."""
    fetch_between(body.numbers, body.node_at[i], body.joint_at[i])


@helper
def fetch_joint(body, i):
    """What node i stores about its joint."""
    fetch_between(body.numbers, body.joint_at[i], body.closing_at[i])
    fetch_from(body.closings, body.closing_at[i], CLOSING_LINES)


@helper
def fetch_loads(body, i):
    """The load cases of node i."""
    if i + 1 < body.tree.n_nodes:
        fetch_between(body.loads, body.load_at[i], body.load_at[i + 1])


@helper
def fetch_link(tree, i):
    """The constant matrices of the body of node i."""
    fetch(tree.links, tree.item[i], 2 * MATRIX_LINES)


@helper
def fetch_part(body, i):
    """What is read and written when node i, a part of another, enters the queue."""
    tree = body.tree
    if tree.kind[i] == LEAF:
        fetch(body.told, body.told_at[i], POSE_LINES)
        fetch_from(body.numbers, body.node_at[i], MATRIX_LINES)
        i = max(tree.left[i], 0)
    fetch(body.told, body.told_at[i], POSE_LINES)
    fetch_coefficients(body, i)


@helper
def fetch_to_expand(body, i):
    """What is read and written when node i is expanded."""
    fetch_joint(body, i)
    fetch_part(body, body.tree.left[i])
    if body.tree.right[i] >= 0:
        fetch_part(body, body.tree.right[i])


@helper
def fetch_piece(hybrid, i):
    """What a reduced tree needs of node i."""
    fetch(hybrid.rigid, i, POSE_LINES)
    fetch(hybrid.body.spans, i, POSE_LINES)
    fetch(hybrid.piece_pose, i, POSE_LINES)
