"""Continuing a recorded run: what a recording stores for that, and restoring a run to where it ended.

Stored data is checked before it is used, since a recording may come from anyone.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from supple.errors import RecordingError, StateError
from supple.model.model import Model
from supple.record.index import is_number
from supple.record.models import refuse_other_model
from supple.record.recording import Recording
from supple.simulating.crossings import Seen
from supple.simulating.described import difference, given, other_start
from supple.simulating.drivers import Cursor
from supple.simulating.dynamics import EnergyGuard
from supple.simulating.events import Happened
from supple.simulating.faults import ContactFaults
from supple.simulating.names import today
from supple.simulating.simulation import Simulation
from supple.simulating.state import checked_state
from supple.simulating.watch import restored, saved


def checkpoint(run: Simulation, failed: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a run needs to continue from its cursor: JSON, and arrays."""
    c, guard = run.cursor, None if run.guard is None else run.guard.save()
    state, arrays = _saved(c)
    state |= {"before": None, "over": c.over, "failed": failed, "steered": run.steered, "guard": guard}
    if c.before is not None:
        state["before"], before = _saved(c.before)
        arrays |= {f"before_{name}": x for name, x in before.items()}
    if run.contact_faults is not None:
        state["contact_faults"] = run.contact_faults
        if c.before is not None:
            state["before"]["contact_faults"] = c.before.faults.save()
    more: dict[str, Any] = run.stepper.save() if hasattr(run.stepper, "save") else {}
    return state, arrays | more


def _saved(c: Cursor) -> tuple[dict[str, Any], dict[str, Any]]:
    arrays = {"q": c.q, "v": c.v} | ({"known": c.known} if len(c.known) else {})
    return {"time": c.time, "step": c.step, "h": c.h, "seen": saved(c.seen)}, arrays


def go_on(run: Simulation, path: Path) -> tuple[dict[int, Model], int]:
    """Restore a run to where its recording ends, if it is the same run. Returns its models by number, and the index of
    that commit."""
    with Recording(path) as r:
        state, arrays = r.checkpoint()
        if state["failed"]:
            raise RecordingError(f"{path} cannot be resumed: its run ended with an error: {state['failed']}")
        if state.get("steered"):
            raise RecordingError(f"{path} was steered by hand in a page, so it cannot be resumed")
        _refuse_another_run(run, r)
        if run.grid.end < state["time"]:
            raise RecordingError(f"{path} is at {state['time']:.6g} s already; give a duration of at least that much")
        first, end = r.segments[0], r.segments[-1]
        last = run.model if end.model is first.model else end.model
        models = {first.number: run.model, end.number: last}
        run.events[:] = [Happened(name, time) for time, name in r.events]
        kept, generation, shapes = float(end.times[-1]), r.generation, r.about.get("shapes")
    try:
        cursor = _cursor(run, last, state, arrays)
        cursor.kept = kept
        run.resume(cursor, arrays, _checked_guard(state.get("guard")), _checked_shapes(run, shapes))
    except _Unfit as e:
        raise RecordingError(f"{path} is damaged, and cannot be resumed: {e}") from None
    except (StateError, KeyError, IndexError, TypeError, ValueError, OverflowError) as e:  # by a stepper's own arrays
        raise RecordingError(f"{path} is damaged, and cannot be resumed: its checkpoint does not fit: {e}") from e
    return models, generation


class _Unfit(Exception):
    """A checkpoint that no run could have written."""


def _cursor(run: Simulation, model: Model, state: dict[str, Any], arrays: dict[str, Any]) -> Cursor:
    cursor, before = _restored(run, model, state, arrays, ""), state.get("before")
    if before is not None:
        cursor.before = _restored(run, model, before, arrays, "before_")
    elif cursor.time < cursor.step * run.dt:  # the last step was to an end between two instants of the grid
        cursor.step -= 1
    cursor.over = state.get("over")
    if not (cursor.over is None or isinstance(cursor.over, str)):
        raise _Unfit("what ended it is no event")
    return cursor.towards(run.grid)


def _restored(run: Simulation, model: Model, state: Any, arrays: dict[str, Any], prefix: str) -> Cursor:
    if not isinstance(state, dict):
        raise _Unfit("its checkpoint is none")
    time, step, h, seen = (state.get(name, "") for name in ("time", "step", "h", "seen"))
    if not (is_number(time) and is_number(h) and type(step) is int and step >= 0 and h >= 0):
        raise _Unfit("its checkpoint has no time, step or length of a step")
    slack = 1e-6 * run.dt + 1e-9 * abs(time)
    # A step may end between two instants of the grid; one of dop853 may have begun long before.
    if time > (step + 1) * run.dt + slack or (not prefix and time < (step - 1) * run.dt - slack):
        raise _Unfit(f"it is at {time:.6g} s after {step} steps of {run.dt:g} s")
    events = len(run.given["events"])
    if not isinstance(seen, list) or len(seen) not in (0, events) or not all(map(_is_seen, seen)):
        raise _Unfit("what it remembers of events is not of this run's events")
    if not {f"{prefix}q", f"{prefix}v"} <= arrays.keys():
        raise _Unfit("its checkpoint has no q or v")
    q, v = checked_state(model, arrays.pop(f"{prefix}q"), arrays.pop(f"{prefix}v"))
    known = arrays.pop(f"{prefix}known", np.zeros((0, 4)))
    if known.dtype != np.float64 or known.ndim != 2 or known.shape[1] != 4 or not np.isfinite(known).all():
        raise _Unfit("what it remembers of contacts is none")
    faults = _checked_faults(state.get("contact_faults"))
    return Cursor(model, q, v, time, step, h, restored(seen), known=known, faults=faults)


def _is_seen(row: Any) -> bool:
    """Whether this is valid data about an event."""
    if not isinstance(row, list) or len(row) != len(fields(Seen)):
        return False
    side, zero, origin, rebounded, last, flight, many = row
    return (
        all(x is None or is_number(x) for x in (side, zero, last, flight))
        and side in (None, -1, 0, 1)
        and origin in (-1, 0, 1)
        and isinstance(rebounded, bool)
        and type(many) is int
        and many >= 0
    )


def _checked_guard(guard: Any) -> dict[str, float] | None:
    if guard is None:
        return None
    if not isinstance(guard, dict) or guard.keys() != EnergyGuard.names or not all(map(is_number, guard.values())):
        raise _Unfit("what guards its energy is none")
    return guard


def _checked_shapes(run: Simulation, names: Any) -> list[str] | None:
    """The shapes that the rows of contacts count, which begin with those of the first model."""
    first = run.shape_names
    if first is not None and not (
        isinstance(names, list) and names[: len(first)] == first and all(isinstance(name, str) for name in names)
    ):
        raise _Unfit("the shapes that it names are not those of this run")
    return None if first is None else names


def _checked_faults(faults: Any) -> ContactFaults:
    found = ContactFaults() if faults is None else ContactFaults.restored(faults)
    if found is None:
        raise _Unfit("what it says of faults of contacts is nothing of the kind")
    return found


def _refuse_another_run(run: Simulation, r: Recording) -> None:
    """A recording must be continued as it began: with the same model, from the same state, under the same forces."""
    begun, c = r.segments[0], run.cursor
    refuse_other_model(r.path, begun.model, run.model)
    start = other_start(run.model, (begun.q[0], np.asarray(begun.v[0])), (c.q, c.v))
    what = f"from another start: {start}" if start is not None else difference(today(r.given), given(run))
    if what is not None:
        raise RecordingError(
            f"{r.path} was recorded {what}; give the same to resume it, or overwrite it (overwrite=True, --overwrite)"
        )
