"""What of a model may touch what, and how accurately that is solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

from supple.arguments import FINITE, NONE, NOT_NEGATIVE, TEXT, Count, Kind, Positive, checked, either, several
from supple.model.shapes import FRACTION

#: Pairs of names.
PAIRS: Kind = several(several(TEXT, 2, as_tuple=True), as_tuple=True)


@checked
@dataclass(frozen=True)
class Contacts:
    """Which bodies touch each other, for a run: simulate(model, contacts=supple.Contacts(ground=0.0), ...).

    Bodies touch by the shapes of the model (ModelBuilder.add_shape, or a file's collision geometry); bodies whose joint
    connects them do not, unless neighbours is true.

    ground: the height of a plane across gravity on which everything may fall; None for none.
    friction, restitution: of everything, instead of what the shapes say.
    apart: pairs of names, of bodies or shapes, that never touch.
    limits: also hold joints within their limits, by forces of the same kind.
    tolerance: faults that remain, relative to the velocities that meet; sweeps: how many are tried before a step is
    halved. overlap: metres of it that are left alone.
    """

    ground: Annotated[float | None, either([FINITE, NONE])] = None
    friction: Annotated[float | None, either([NOT_NEGATIVE, NONE])] = None
    restitution: Annotated[float | None, either([FRACTION, NONE])] = None
    neighbours: bool = False
    apart: Annotated[Sequence[tuple[str, str]], PAIRS] = ()
    limits: bool = True
    tolerance: Positive = 1e-7
    sweeps: Count = 2000
    overlap: Positive = 1e-6

    def __repr__(self) -> str:
        given = (f"{f.name} {getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default)
        return f"<Contacts: {', '.join(given) or 'as the shapes say'}>"


def contacts_of(given: Any) -> Contacts | None:
    """From what a run is given: None or False for none, True for the shapes of the model alone."""
    if given is None or given is False:
        return None
    return Contacts() if given is True else given  # type: ignore[no-any-return]
