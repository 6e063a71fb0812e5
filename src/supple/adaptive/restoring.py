"""Checks of saved data, before adaptive dynamics or quasi-statics continue from them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.memory import CURRENT, HELD, SAVED_ARRAYS, SAVED_NUMBERS
from supple.adaptive.outdated import FORCES, MATRICES
from supple.arguments import ARRAY, take
from supple.assembly.tree import Assembly
from supple.errors import StateError

Ints = NDArray[np.int64]
Saved = dict[str, NDArray[Any]]

STATE = "of_state"  #: in what is saved: a checksum of the state that it belongs to
#: Names of numbers that earlier versions did not save.
LATER = ("acceleration_least", "velocity_total", "whole_digits", "misjudged")


def with_state(saved: Saved, *state: NDArray[np.float64]) -> Saved:
    """The saved data, with a checksum of the state they belong to."""
    return saved | {STATE: np.array(_checksum(*state))}


def _checksum(*state: NDArray[np.float64]) -> int:
    return zlib.crc32(b"".join(x.tobytes() for x in state))


def refuse_another_state(saved: Saved, *state: NDArray[np.float64]) -> None:
    """The accounts of energy, and what is out of date, are those of the state at which they were saved."""
    if STATE in saved and not np.array_equal(saved[STATE], _checksum(*state)):
        names = "q and v" if len(state) > 1 else "q"
        raise StateError(
            f"what was saved belongs to another state: first set_state({names.replace(' and', ',')}) with the {names} "
            "of that time, which save() does not include"
        )


def refuse_missing(saved: Mapping[str, Any], names: Iterable[str]) -> None:
    """Raises StateError unless saved data have all of these names."""
    for name in names:
        if name not in saved:
            raise StateError(f"restore takes what save() gave, all of it; this has no {name}")


def of_adaptive_dynamics(saved: Any, like: Saved, assembly: Assembly, active: Ints) -> Saved:
    """The saved data, unchanged, if they fit. like: what is saved now; active: joints that must be active."""
    if not isinstance(saved, Mapping):
        raise StateError(f"restore takes what save() gave: a dictionary of {', '.join(SAVED_ARRAYS)} and numbers")
    refuse_missing(saved, (name for name in (*SAVED_ARRAYS, *SAVED_NUMBERS) if name not in LATER))
    names = [name for name in (*SAVED_ARRAYS, *SAVED_NUMBERS) if name in saved]
    given = {name: take(name, saved[name], ARRAY) for name in names}
    whole_numbers = {name for name, x in like.items() if x.dtype.kind == "i"}
    if any(
        x.shape != like[name].shape or x.dtype.kind not in ("iu" if name in whole_numbers else "f")
        for name, x in given.items()
    ):
        raise StateError("what was saved is of another model")
    if any((given[name] < 0).any() for name in given.keys() & whole_numbers - {"due"}):
        raise StateError("what was saved has counts below zero")
    dropped, count = given["dropped"], int(given.get("n_dropped", 0))
    if count > len(dropped) or (dropped[:count] >= len(assembly.node_of)).any():
        raise StateError("what was saved has joints that this model does not have")
    flags = given["flags"]
    known = np.isin(flags, (0, CURRENT, CURRENT | HELD)).all()
    whole = flags[assembly.up][(flags != 0) & (assembly.up >= 0)].all()
    if not (known and whole and (flags[assembly.node_of] == CURRENT)[active].all()):
        raise StateError("what was saved is of another model, of another q and v, or was saved with other settings")
    if not all(np.isfinite(given[name]).all() for name in ("kept_q", "kept_v", "time", "kept_time") if name in given):
        raise StateError("what was saved has numbers that are not finite")
    return given


def of_quasi_statics(saved: Any, like: Saved, assembly: Assembly) -> Saved:
    """The saved data, if they fit. like: what is saved now."""
    if not (isinstance(saved, Mapping) and all(name in saved for name in like)):
        raise StateError(f"restore takes what save() gave: a dictionary of {', '.join(like)}")
    given = {name: take(name, saved[name], ARRAY) for name in like}
    fits = all(x.shape == like[name].shape and x.dtype.kind in "fiub" for name, x in given.items())
    if not fits or given["pace"][0] != like["pace"][0]:
        raise StateError("what was saved is of another model")
    marks, up = given["marks"], assembly.up
    closed = (marks[up] >= marks)[up >= 0].all()  # nodes above a node depend on it
    if not (np.isin(marks, (0, FORCES, MATRICES)).all() and closed):
        raise StateError("what was saved is of another model")
    if not (np.isfinite(given["pace"]).all() and (given["pace"] >= 0).all()):
        raise StateError("what was saved has numbers that are not finite, or negative")
    return given
