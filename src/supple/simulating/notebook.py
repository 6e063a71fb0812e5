"""A result in a notebook: what it is of, how it was made, what came of it. Names come from files: all is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np

from supple.errors import printable, quoted, short
from supple.model.model import count
from supple.simulating.result import Result

EVENTS = 8  #: listed, of those that happened


def as_html(result: Result) -> str:
    """A table of two columns under a line that says as much as the repr."""
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(printable(said))}</td></tr>" for name, said in _rows(result)
    )
    return f"<details open><summary>{escape(repr(result)[1:-1])}</summary><table>{rows}</table></details>"


def _rows(result: Result) -> Iterator[tuple[str, str]]:
    yield "model", repr(result.model)[1:-1]
    kept = [s for s in result.segments if len(s)]
    if not kept:
        return
    energy = [s.kinetic + s.potential for s in kept]
    kinetic = max(float(s.kinetic.max()) for s in kept)
    unit, first, last = result.model.units.energy, energy[0][0], energy[-1][-1]
    yield "energy", f"{first:.6g} {unit} at first, {last:.6g} {unit} at last; kinetic at most {kinetic:.4g} {unit}"
    if result.error is not None:
        yield "error", result.error_in_words()
    counts = [s.active_counts for s in kept if s.active_counts is not None]
    if counts:
        mean = float(np.concatenate(counts).mean())
        yield "joints computed", f"{mean:,.1f} of {result.model.n_joints:,} on average"
    if len(result.segments) > 1:
        yield "segments", f"{len(result.segments)}: events changed the state or the model"
    if result.events:
        first = ", ".join(f"{quoted(e.name)} at {e.time:.6g} s" for e in result.events[:EVENTS])
        rest = len(result.events) - EVENTS
        yield count(len(result.events), "event"), first + (f" and {rest} more" if rest > 0 else "")
    if result.contact_faults:
        yield "contacts", result.contact_faults
    if result.about.get("stopped"):
        yield "stopped", short(result.about["stopped"])
