"""Which body a ray from the eye meets.

viser can tell for itself, but keeps a tree of boxes for that, which a page of ten thousands of moving bodies would
spend its time on; a click is rare.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.viewing.batch import Batch

Floats = NDArray[np.float64]

SLACK = 0.004  #: radians by which a ray may miss a rod: some pixels


def pick(parts: list[Batch], R: Floats, r: Floats, eye: Floats, ahead: Floats) -> int | None:
    """The body that is met first; if none is, the rod that is missed least. R, r: see with_world."""
    best: tuple[float, float, int] | None = None
    for batch in parts:
        missed, away = TO[batch.kind](batch, R, r, eye, ahead)
        missed = np.where(batch.body >= 0, missed, np.inf)
        i = int(np.lexsort((away, missed))[0])
        found = float(missed[i]), float(away[i]), int(batch.body[i])
        if found[0] <= SLACK and (best is None or found < best):
            best = found
    return None if best is None else best[2]


def _to_rods(batch: Batch, R: Floats, r: Floats, eye: Floats, ahead: Floats) -> tuple[Floats, Floats]:
    """(m,) by what angle rods are missed, zero where they are met, and how far away."""
    turn = R[batch.body]
    begin = r[batch.body] + np.einsum("mij,mj->mi", turn, batch.begin) - eye
    rod = batch.scale[:, 2:] * np.einsum("mij,mj->mi", turn, batch.rotation[:, :, 2])
    # the point s of a rod, 0 <= s <= 1, where it is nearest to the ray: both seen along the ray
    across, slant = begin - np.outer(begin @ ahead, ahead), rod - np.outer(rod @ ahead, ahead)
    length2 = np.einsum("mi,mi->m", slant, slant)
    s = np.clip(-np.einsum("mi,mi->m", across, slant) / np.where(length2 > 0, length2, 1.0), 0.0, 1.0)
    away = (begin + s[:, None] * rod) @ ahead
    gap = np.linalg.norm(across + s[:, None] * slant, axis=1) - 0.5 * batch.scale[:, 0]
    return np.where(away > 0, np.maximum(gap, 0.0) / np.where(away > 0, away, 1.0), np.inf), away


def _to_balls(batch: Batch, R: Floats, r: Floats, eye: Floats, ahead: Floats) -> tuple[Floats, Floats]:
    """The same of balls."""
    centre = r[batch.body] + np.einsum("mij,mj->mi", R[batch.body], batch.begin) - eye
    away = centre @ ahead
    gap = np.linalg.norm(centre - np.outer(away, ahead), axis=1) - 0.5 * batch.scale[:, 0]
    return np.where(away > 0, np.maximum(gap, 0.0) / np.where(away > 0, away, 1.0), np.inf), away


def _to_solids(batch: Batch, R: Floats, r: Floats, eye: Floats, ahead: Floats) -> tuple[Floats, Floats]:
    """The same of meshes, met in a triangle or not at all."""
    away = np.full(len(batch), np.inf)
    a, b, c = (batch.vertices[batch.faces[:, k]] for k in range(3))
    u, v = b - a, c - a
    for i, body in enumerate(batch.body):
        # the ray in the mesh's own coordinates: lengths along it stay what they were
        turn = (R[body] @ batch.rotation[i]).T
        o = turn @ (eye - r[body] - R[body] @ batch.begin[i]) / batch.scale[i]
        d = turn @ ahead / batch.scale[i]
        p = np.cross(d, v)
        det = np.einsum("fi,fi->f", u, p)
        ok = np.abs(det) > 0
        inverse = 1.0 / np.where(ok, det, 1.0)
        s = inverse * ((o - a) * p).sum(axis=1)
        q = np.cross(o - a, u)
        t = inverse * (q @ d)
        at = inverse * (v * q).sum(axis=1)
        hit = ok & (s >= 0) & (t >= 0) & (s + t <= 1) & (at > 0)
        away[i] = at[hit].min(initial=np.inf)
    return np.where(np.isfinite(away), 0.0, np.inf), away


TO = {"rod": _to_rods, "ball": _to_balls, "capsule": _to_rods, "solid": _to_solids}
