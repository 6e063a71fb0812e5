"""The saved state of contacts in adaptive dynamics: which arrays it has, and whether given ones fit a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.restoring import refuse_missing
from supple.arguments import ARRAY, take
from supple.contact.memory import CONTACT, LIMIT, Touch
from supple.errors import StateError

Floats = NDArray[np.float64]
Saved = dict[str, NDArray[Any]]

PREFIX = "touches_"  #: of the names of arrays in a saved state
#: Saved numbers, and the fields of Touching that they are.
SAVED_NUMBERS = {
    "last_step": "last", "rough": "rough", "deepest": "deepest", "gained": "gained", "relaxed": "relaxed",
    "relaxed_fault": "relaxed_fault", "largest": "largest", "risen": "risen",
}  # fmt: skip
LATER = ("exerted", "momenta", "gained", "last_step", "largest", "risen")  #: names that earlier versions did not save
#: Names of saved arrays, after PREFIX.
SAVED = ("asleep", "quiet", "momenta", "known", "resting", "exerted", *SAVED_NUMBERS)
#: Fields of Exerted that are saved, as columns, and how many columns each has.
COLUMNS = {
    "shape": 1, "other": 1, "kind": 1, "dof": 1, "gap": 1, "point": 3, "n": 3, "impulse": 3, "slip": 3, "key": 1,
}  # fmt: skip


def to_columns(exerted: NDArray[np.void]) -> Floats:
    """The impulses of a step, one row per touch."""
    fields = (exerted[name].reshape(len(exerted), k) for name, k in COLUMNS.items())
    return np.concatenate([x.astype(np.float64) for x in fields], axis=1)


def from_columns(exerted: NDArray[np.void], columns: Floats) -> None:
    """The inverse of to_columns: fills `exerted`."""
    at = 0
    for name, k in COLUMNS.items():
        exerted[name] = columns[:, at : at + k].reshape(exerted[name].shape)
        at += k


def check_saved(saved: Any, like: Saved, n_shapes: int, nv: int) -> Saved:
    """The arrays of contacts in a saved state. Raises StateError if they do not fit a model with n_shapes shapes and nv
    degrees of freedom. like: a saved state of that model. Arrays that earlier versions did not save are empty or
    zero."""
    names = [PREFIX + name for name in SAVED]
    if not (isinstance(saved, Mapping) and any(name in saved for name in names)):
        raise StateError("the saved state is of a run without contacts")
    refuse_missing(saved, (PREFIX + name for name in SAVED if name not in LATER))
    given = {name: take(name, saved[name], ARRAY) for name in names if name in saved}
    given.setdefault(PREFIX + "exerted", np.zeros((0, sum(COLUMNS.values()))))
    given.setdefault(PREFIX + "momenta", np.zeros_like(like[PREFIX + "momenta"]))
    for name in LATER[2:]:
        given.setdefault(PREFIX + name, np.array(0.0))
    given[PREFIX + "exerted"] = _with_keys(given[PREFIX + "exerted"])
    _check_shapes(given, like)
    numbers = (given[PREFIX + x] for x in ("quiet", "momenta", "known", "exerted", *SAVED_NUMBERS))
    if not all(np.isfinite(x).all() for x in numbers):
        raise StateError("the saved state of contacts has numbers that are not finite")
    if not all(given[PREFIX + x] >= 0 for x in SAVED_NUMBERS):
        raise StateError("the saved state of contacts has negative counts, times or energies")
    _check_indices(given[PREFIX + "resting"], given[PREFIX + "exerted"], n_shapes, nv)
    if PREFIX + "exerted" not in saved or given[PREFIX + "last_step"] == 0.0:
        # Whoever fell asleep in the next step would keep the forces of the last one, which are not there.
        given[PREFIX + "quiet"] = np.minimum(given[PREFIX + "quiet"], 0.0)
    return given


def _with_keys(exerted: NDArray[Any]) -> NDArray[Any]:
    """Impulses of a step with their keys, which earlier versions did not save."""
    lacks = exerted.ndim == 2 and exerted.shape[1] == sum(COLUMNS.values()) - COLUMNS["key"]
    return np.pad(exerted, ((0, 0), (0, 1))) if lacks else exerted


def _check_shapes(given: Saved, like: Saved) -> None:
    """Raises StateError unless arrays have the shapes and types of a saved state of the model."""
    asleep, known, resting, exerted = (given[PREFIX + name] for name in ("asleep", "known", "resting", "exerted"))
    fits = all(
        given[PREFIX + x].shape == like[PREFIX + x].shape for x in ("asleep", "quiet", "momenta", *SAVED_NUMBERS)
    )
    fits = fits and known.shape[1:] == (4,) and resting.shape[1:] == (Touch.words,)
    fits = fits and exerted.shape[1:] == (sum(COLUMNS.values()),)
    whole = all(given[PREFIX + x].dtype.kind in "iu" for x in ("asleep", "rough", "relaxed"))
    if not (fits and whole) or not np.isin(asleep, (0, 1)).all():
        raise StateError("the saved state is of another model, or of a run with other contacts")


def _check_indices(resting: NDArray[Any], exerted: NDArray[Any], n_shapes: int, nv: int) -> None:
    """Raises StateError unless touches are of shapes and joints of the model."""
    touches = np.ascontiguousarray(resting).view(Touch.dtype)
    shapes = exerted[exerted[:, 2] == CONTACT][:, :2]
    if not all(((x >= 0) & (x < n_shapes)).all() for x in (touches["shape"], touches["other"], shapes)):
        raise StateError("the saved state has contacts of shapes that this model does not have")
    limits = exerted[exerted[:, 2] != CONTACT]
    if not ((limits[:, 2] == LIMIT) & (limits[:, 3] >= 0) & (limits[:, 3] < nv)).all():
        raise StateError("the saved state has joint limits that this model does not have")
