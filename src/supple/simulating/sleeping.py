"""Which trees of an adaptive run with contacts sleep.

The free root of a tree is always active, unless the tree sleeps (adaptive/touching/sleeping.py). So whoever knows which
joints are active, as a recording does, knows who sleeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.settings import Settings
from supple.model.model import Model

Ints = NDArray[np.int64]


def asleep(about: Mapping[str, Any], model: Model, active: Ints | None) -> Ints | None:
    """The free roots of the trees that sleep while these joints are active; None in runs in which nothing sleeps: those
    of other methods, without contacts, whose active joints are a list, or of trees without free roots. about: the
    settings of the run."""
    chooses = about.get("method") == "adaptive" and isinstance(about.get("active", 0), Integral)
    roots = Settings.free_roots(model)
    if active is None or not len(roots) or not chooses or not isinstance(about.get("shapes"), list | tuple):
        return None
    return np.setdiff1d(roots, active)


def bodies_of(model: Model, roots: Ints) -> NDArray[np.bool_]:
    """(n_bodies,) which bodies are of the trees of these roots."""
    begun = np.zeros(model.n_bodies + 1, dtype=np.int64)
    np.add.at(begun, roots, 1)
    np.add.at(begun, model.subtree_end[roots], -1)
    return np.cumsum(begun[:-1]) > 0


def said(model: Model, roots: Ints) -> str:
    """How many trees sleep, in words."""
    trees = int((model.parent < 0).sum())
    return "everything" if len(roots) == trees else f"{len(roots):,} of {trees:,} trees"
