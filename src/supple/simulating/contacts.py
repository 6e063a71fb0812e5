"""What touches what, in the result of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from supple.contact.room import COLUMNS, FORCE
from supple.errors import quoted
from supple.exact.kinematics import poses
from supple.model.clip import Arrows
from supple.model.model import Model, listed
from supple.model.shapes import Shape

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NOWHERE = -1  #: the number of a shape that there is no more


@dataclass(frozen=True, eq=False)
class Contact:
    """A point where two shapes touch: result.contacts(i). A shape of the world is always the other one. Vectors are in
    world coordinates; lengths in m, forces in N, velocities in m/s. Gap, point and normal are those where forces acted:
    in the middle of the step, or of its last part if it was divided."""

    shape: str
    other: str
    gap: float  #: between their surfaces; negative where they overlap
    point: Floats
    normal: Floats  #: from the other shape to the first
    force: Floats  #: on the first shape, averaged over the step, the opposite acts on the other [sharing.py]
    slip: Floats  #: velocity of the first shape relative to the other, across the normal
    body: str | None = None  #: which the first shape is on; None: the world
    other_body: str | None = None

    @property
    def pressure(self) -> float:
        """The force along the normal."""
        return float(self.force @ self.normal)

    def __repr__(self) -> str:
        return f"<Contact of {quoted(self.shape)} and {quoted(self.other)}: force {listed(self.force)}>"


def world_last(rows: Floats, fixed: NDArray[np.bool_]) -> Floats:
    """Rows in which a shape that is fixed to the world is the second one, so that forces are those on bodies. fixed: by
    shape."""
    one, two = rows[:, :2].astype(np.int64).T
    swapped = fixed[one] & ~fixed[two]
    if not swapped.any():
        return rows
    out = rows.copy()
    out[swapped, :2] = rows[swapped, 1::-1]
    out[swapped, 6:] *= -1.0  # normal, force and slip
    return out


def renumbered(rows: Floats, place: Ints) -> Floats:
    """Rows whose shapes are numbered otherwise, without those of shapes that are NOWHERE. place: the new number of each
    shape."""
    out = rows.copy()
    out[:, :2] = place[rows[:, :2].astype(np.int64)]
    there: NDArray[np.bool_] = (out[:, :2] != NOWHERE).all(axis=1)
    return out[there]


def contacts_from(rows: Floats, names: Sequence[str], model: Model) -> list[Contact]:
    """From the rows of a state, the names of shapes, and the model that they are of."""
    out = []
    for row in rows:
        one, two = (names[int(k)] for k in row[:2])
        point, normal, force, slip = row[3:COLUMNS].reshape(4, 3)
        bodies = body_of(model, one), body_of(model, two)
        out.append(Contact(one, two, float(row[2]), point, normal, force, slip, *bodies))
    return out


def body_of(model: Model, shape: str) -> str | None:
    """The name of the body that a shape is on; None for those of the world, and for a ground that only a run has."""
    known = isinstance(shape, str) and shape in model.shapes  # the names in a recording are anybody's
    body = model.shapes[shape].body if known else -1
    return model.body_names[body] if body >= 0 else None


def force_on(body: str, contacts: Sequence[Contact]) -> tuple[Floats, int]:
    """The sum of the forces of contacts on a body, and how many of them are its own."""
    own = [c.force if c.body == body else -c.force for c in contacts if body in (c.body, c.other_body)]
    return np.sum(own, axis=0) if own else np.zeros(3), len(own)


def contact_arrows(times: Floats, contacts: Sequence[Sequence[Contact]]) -> Arrows:
    """Their forces, as many at every time as there are most at one; those that there are not have no length."""
    most = max(map(len, contacts), default=0)
    points, vectors = np.zeros((2, len(times), most, 3))
    for i, some in enumerate(contacts):
        for k, contact in enumerate(some):
            points[i, k], vectors[i, k] = contact.point, contact.force
    return Arrows(tuple(f"contact {k}" for k in range(most)), times, points, vectors, "N")


def arrows_now(time: float, rows: Floats, most: int) -> Arrows:
    """The strongest forces of a state, from its rows; always as many, the others have no length."""
    rows = rows[np.argsort(-np.linalg.norm(rows[:, FORCE], axis=1), kind="stable")[:most]]
    points, vectors = np.zeros((2, 1, most, 3))
    points[0, : len(rows)], vectors[0, : len(rows)] = rows[:, 3:6], rows[:, FORCE]
    return Arrows(tuple(f"contact {k}" for k in range(most)), np.array([time]), points, vectors, "N")


def touch_wrenches(model: Model, shapes: Sequence[Shape], q: Floats, rows: Floats) -> Floats:
    """(n_bodies, 6) the wrenches of touches on bodies, in the bodies' frames."""
    R, P = (np.asarray(x) for x in (poses(model, q).rotation, poses(model, q).position))
    out = np.zeros((model.n_bodies, 6))
    for side, sign in ((0, 1.0), (1, -1.0)):
        body = np.array([shapes[int(k)].body for k in rows[:, side]])
        mine = body >= 0
        b, force = body[mine], sign * rows[mine, FORCE]
        moment = np.cross(rows[mine, 3:6] - P[b], force)
        wrench = np.concatenate([np.einsum("kji,kj->ki", R[b], x) for x in (moment, force)], axis=1)
        np.add.at(out, b, wrench)
    return out
