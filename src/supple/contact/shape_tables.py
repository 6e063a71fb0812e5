"""The shapes that take part in a run, and their table as kernels see it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.contact.geometry.hulls import SCANNED, graph_of
from supple.contact.ground import ground_shape
from supple.contact.memory import KINDS, PLANE, PlacedShape
from supple.contact.settings import Contacts
from supple.contact.steps.judging import DEEPEST, TINY
from supple.errors import ModelError
from supple.exact.tables import host_tables
from supple.model.model import Model, count
from supple.model.shapes import OF_THE_WORLD, Shape

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUGHEST = 1e3  #: upper bound on friction coefficients: equations of flatter cones are ill-conditioned


def shapes_of(model: Model, contacts: Contacts) -> list[Shape]:
    """The shapes that take part; planes and height fields come last."""
    shapes = list(model.shape_list)
    if contacts.ground is not None:
        assert not isinstance(contacts.ground, str)
        shapes.append(ground_shape(model, contacts.ground))
    given = {name: x for name in ("friction", "restitution") if (x := getattr(contacts, name)) is not None}
    shapes = [replace(x, **given) for x in shapes] if given else shapes
    if not any(x.body >= 0 for x in shapes):
        unused = len(model.report.about("collision"))
        more = f"; its file has some that could not be used ({count(unused, 'remark')}: `supple inspect`)"
        fixed = (
            "; the base of a robot is fixed to the world unless it is loaded with floating_base=True (--floating-base)"
        )
        raise ModelError(
            f"no body of {model.name!r} that can move has a contact shape: add shapes with ModelBuilder.add_shape, or "
            f"collision geometry to its file{more if unused else ''}{fixed if model.shape_list else ''}"
        )
    return sorted(shapes, key=lambda x: KINDS.index(x.kind) >= PLANE)


def placed(model: Model, shapes: list[Shape]) -> tuple[NDArray[np.void], Floats, Ints]:
    """The table of shapes, the points of hulls and height fields, and the edge graphs of hulls."""
    out, points, at = PlacedShape.zeros(len(shapes)), [], 0
    graphs, end = [np.zeros(1, dtype=np.int64)], 1
    outward = host_tables(model).tables.outward["R"].reshape(-1, 3, 3)[: model.n_bodies]
    body = np.array([x.body for x in shapes])
    turn = np.concatenate([outward, np.eye(3)[None]])[body]  # the last one is the world's
    out["kind"], out["body"] = [KINDS.index(x.kind) for x in shapes], body
    out["R"] = (turn @ np.array([x.rotation for x in shapes])).reshape(-1, 9)
    out["p"] = np.einsum("kij,kj->ki", turn, np.array([x.position for x in shapes]))
    alike: dict[Any, int] = {}  # shapes of the same size share a computation; those of points differ
    which = [alike.setdefault((x.kind, i if x.points is not None else x.size), i) for i, x in enumerate(shapes)]
    halves = {i: _halves(shapes[i]) for i in alike.values()}
    out["half"], out["box"] = (np.array([halves[i][k] for i in which]) for k in range(2))
    solid = np.array([x.kind not in OF_THE_WORLD for x in shapes], dtype=bool)
    away = np.array([x.position - model.com[x.body] if x.body >= 0 else np.zeros(3) for x in shapes]).reshape(-1, 3)
    reach = np.linalg.norm(away, axis=1) + np.linalg.norm(out["box"], axis=1)
    out["allowed"] = np.where(solid, np.minimum(DEEPEST, TINY * reach), DEEPEST)
    for name in ("restitution", "margin", "group", "mask"):
        out[name] = [getattr(x, name) for x in shapes]
    out["graph"] = -1
    out["friction"] = [-1.0 if x.friction is None else min(x.friction, ROUGHEST) for x in shapes]
    for i, x in enumerate(shapes):
        if x.points is not None:
            row, flat = out[i], x.points.ravel()
            row["first"], row["rows"], row["count"] = at // 3, len(x.points), len(x.points)
            if x.kind == "heights":
                row["count"] = x.points.shape[1]
            else:  # relative to the middle of its bounding box
                row["p"] += turn[i] @ x.rotation @ _middle(x.points)
                flat = (x.points - _middle(x.points)).ravel()
            if x.kind == "hull" and len(x.points) > SCANNED:
                row["graph"] = end
                graphs.append(graph_of(x.points, end))
                end += len(graphs[-1])
            points.append(np.concatenate([flat, np.zeros(-len(flat) % 3)]))
            at += len(points[-1])
    return out, np.concatenate([*points, np.zeros(3)]), np.concatenate(graphs)


def _middle(points: Floats) -> Floats:
    """The middle of the bounding box of points."""
    return np.asarray(0.5 * (points.min(axis=0) + points.max(axis=0)))


def _halves(x: Shape) -> tuple[Floats, Floats]:
    """`half` and `box` of a shape [memory.py]."""
    size = np.array(x.size)
    if x.kind == "sphere":
        half = np.repeat(size, 3)
        return half, half
    if x.kind in ("capsule", "cylinder"):
        half = np.array([size[0], size[0], 0.5 * size[1]])
        return half, half + (np.array([0.0, 0.0, size[0]]) if x.kind == "capsule" else 0.0)
    if x.kind == "box":
        return 0.5 * size, 0.5 * size
    if x.kind == "hull":
        assert x.points is not None
        half = 0.5 * np.ptp(x.points, axis=0)
        return half, half
    if x.kind == "heights":
        assert x.points is not None
        return np.array([0.5 * size[0], 0.5 * size[1], x.points.max()]), np.full(3, math.inf)
    return np.zeros(3), np.full(3, math.inf)
