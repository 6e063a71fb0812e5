"""What is where in a recording.

Before HDF5's own bytes there is a page of ours (journal.py).

/            attributes: version; supple, python, numpy, h5py; created, about (JSON: how it was run, the
             command); finished
/models/0    a model (model_group.py); more where events changed it
/segments/0  states between events that changed the state: attribute model, its number; datasets time (k,),
             q (k, nq), v (k, nv; empty where the method has none), kinetic, potential (k,), and where there are
             any: error (k,), joint_wrenches (k, n, 6), active_end (k,) and active: the active joints of state i are
             active[active_end[i-1]:active_end[i]]
/events      time, name
/given       JSON as bytes: settings, forces and events, compared when it is resumed (simulating/described.py)
/checkpoint  what a run needs to go on: q, v, and JSON; of a run that ended within a step also where that step began,
             before_q and before_v
"""

from __future__ import annotations

from typing import Any

import numpy as np

VERSION = 2
EVENT = np.dtype([("time", "f8"), ("name", "S120")])
CHUNK = 256 * 1024  #: bytes of a chunk of a dataset, or one row
LIBVER = ("earliest", "v108")  #: files of these carry no mark of being open, which a killed process could not remove


def growing(group: Any, name: str, row: tuple[int, ...], dtype: Any = "f8") -> Any:
    """An empty dataset of rows of a shape, to be appended to."""
    size = max(1, int(np.prod(row))) * np.dtype(dtype).itemsize
    rows = min(4096, max(1, CHUNK // size))
    return group.create_dataset(name, (0, *row), dtype, maxshape=(None, *row), chunks=(rows, *(max(1, n) for n in row)))


def append(dataset: Any, rows: Any) -> None:
    n = len(dataset)
    dataset.resize(n + len(rows), axis=0)
    dataset[n:] = rows
