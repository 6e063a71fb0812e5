"""What of a model may touch what, and how accurately that is solved."""

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
    """Which bodies touch each other, for a run: simulate(model, contacts=supple.Contacts(ground=0.0), ...).

    Bodies touch by the shapes of the model (ModelBuilder.add_shape, or a file's collision geometry); bodies whose joint
    connects them do not, unless neighbours is true, nor do shapes of one tree that overlap at the neutral position.

    ground: the height of a plane across gravity on which everything may fall, or "below": just below all shapes where
    the run begins; None for none.
    friction, restitution: of everything, instead of what the shapes say.
    apart: pairs of names, of bodies or shapes, that never touch.
    limits: also hold joints within their limits, by forces of the same kind.
    tolerance: faults that may remain, relative to the velocities that meet (a hundredth is aimed at); sweeps: how many
    are tried before a step is halved. overlap: metres of it that are left alone.
    sleep: in adaptive dynamics, characters that are slower than this for a quarter of a second sleep: in m/s, the root
    of twice their kinetic energy per mass; 0: none.
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
                raise StateError(f"Contacts: apart has {quoted(one)} twice in a pair; give the names of two that touch")

    def __repr__(self) -> str:
        given = (f"{f.name} {getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default)
        return f"<Contacts: {', '.join(given) or 'as the shapes say'}>"


def contacts_of(given: Contacts | bool | None, model: Model, q: NDArray[np.float64]) -> Contacts | None:
    """From what a run is given, that begins at q: None or False for none, True for the shapes of the model alone."""
    if given is None or given is False:
        return None
    contacts = Contacts() if given is True else given
    return replace(contacts, ground=lowest_point(model, q)) if contacts.ground == "below" else contacts
