"""Settings of contact: which shapes may touch, and how accurately contacts are solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from supple.arguments import (
    FINITE,
    NONE,
    NOT_NEGATIVE,
    TEXT,
    Count,
    Kind,
    NotNegative,
    Positive,
    checked,
    choice,
    either,
    several,
)
from supple.contact.ground import lowest_point
from supple.errors import StateError, quoted
from supple.model.model import Model
from supple.model.shapes import FRACTION

#: Pairs of names.
PAIRS: Kind = several(several(TEXT, 2, as_tuple=True), as_tuple=True)


@checked
@dataclass(frozen=True)
class Contacts:
    """Contact settings of a run: simulate(model, contacts=supple.Contacts(ground=0.0), ...).

    Bodies touch by the shapes of the model (ModelBuilder.add_shape, or collision geometry of a file). Bodies connected
    by a joint do not touch, unless neighbours is true, nor do shapes of one tree that overlap at the neutral position.

    ground: the height of a plane perpendicular to gravity, or "below": just below all shapes at the start of the run,
    including those fixed to the world, except planes; None for no plane. Shapes of all groups touch it.
    friction, restitution: coefficients of all shapes, overriding their own.
    neighbours: whether bodies connected by a joint touch.
    apart: pairs of names, of bodies or shapes, that never touch.
    limits: whether joints keep within their limits, by the same solver.
    tolerance: the error that velocities at contacts may have, relative to the relative velocities. Solvers aim at a
    hundredth of it; steps that exceed it are divided.
    sweeps: how many times the simplest solver, Gauss-Seidel, goes through all contacts before a step is halved; also
    how many convex problems are solved after that.
    overlap: overlap below this, in metres, is left alone; what is deeper is moved apart.
    sleep: in adaptive dynamics, trees with a free root that are slower than this for a quarter of a second fall asleep.
    In m/s: the root of twice their kinetic energy per mass. With 0, nothing sleeps.
    """

    ground: Annotated[float | Literal["below"] | None, either([FINITE, choice("below"), NONE])] = None
    friction: Annotated[float | None, either([NOT_NEGATIVE, NONE])] = None
    restitution: Annotated[float | None, either([FRACTION, NONE])] = None
    neighbours: bool = False
    apart: Annotated[Sequence[tuple[str, str]], PAIRS] = ()
    limits: bool = True
    tolerance: Positive = 1e-5
    sweeps: Count = 2000
    overlap: Positive = 1e-6
    sleep: NotNegative = 0.01

    def __post_init__(self) -> None:
        for one, other in self.apart:
            if one == other:
                raise StateError(f"Contacts: apart pairs {quoted(one)} with itself; give two different names")

    def __repr__(self) -> str:
        given = (f"{f.name} {getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default)
        return f"<Contacts: {', '.join(given) or 'as the shapes say'}>"


def contacts_of(given: Contacts | bool | None, model: Model, q: NDArray[np.float64]) -> Contacts | None:
    """The settings of a run that begins at q. given: None or False for no contacts, True for the defaults."""
    if given is None or given is False:
        return None
    contacts = Contacts() if given is True else given
    return replace(contacts, ground=lowest_point(model, q)) if contacts.ground == "below" else contacts
