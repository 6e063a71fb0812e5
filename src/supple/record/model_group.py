"""A model in an HDF5 group, without loss: every array as it is, the rest as JSON (whose floats are exact)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import RecordingError
from supple.model.model import Frame, Model, Visual
from supple.model.report import Remark, Report

NAMES = ("body_names", "joint_names")


def write_model(group: Any, model: Model) -> None:
    """Into an empty group."""
    for f in fields(Model):
        value = getattr(model, f.name)
        if isinstance(value, np.ndarray):
            group.create_dataset(f.name, data=value)
    about = {
        "name": model.name,
        **{name: list(getattr(model, name)) for name in NAMES},
        "frames": [asdict(x) for x in model.frame_list],
        "visuals": [asdict(x) for x in model.visuals],
        "report": {"source": model.report.source, "remarks": [asdict(x) for x in model.report]},
    }
    text = json.dumps(about, default=lambda x: x.tolist())
    group.create_dataset("about", data=np.frombuffer(text.encode(), dtype=np.uint8))


def read_model(read: Callable[[str], NDArray[Any]]) -> Model:
    """What write_model wrote. read: gives the arrays of its group by name."""
    about = json.loads(bytes(read("about")))
    frames = tuple(Frame(**_arrays(x)) for x in about["frames"])
    visuals = tuple(Visual(**_arrays(x)) for x in about["visuals"])
    remarks = tuple(Remark(**x) for x in about["report"]["remarks"])
    rest: dict[str, Any] = {
        "name": about["name"],
        **{name: tuple(about[name]) for name in NAMES},
        "frame_list": frames,
        "visuals": visuals,
        "report": Report(about["report"]["source"], remarks),
    }
    arrays: dict[str, Any] = {f.name: read(f.name) for f in fields(Model) if f.init and f.name not in rest}
    model = Model(**rest, **arrays)
    model.__setstate__(model.__getstate__())  # read-only, as a built one
    return model


def same_model(a: Model, b: Model) -> str | None:
    """What is different between two models as far as motion goes; None if nothing is."""
    for f in fields(Model):
        x, y = getattr(a, f.name), getattr(b, f.name)
        if isinstance(x, np.ndarray) and not (x.shape == y.shape and np.array_equal(x, y)):
            return f.name
    other = next((name for name in NAMES if tuple(getattr(a, name)) != tuple(getattr(b, name))), None)
    return "frames" if other is None and not _same_frames(a, b) else other


def _same_frames(a: Model, b: Model) -> bool:
    """Forces may act on them."""
    return len(a.frame_list) == len(b.frame_list) and all(
        (x.name, x.body) == (y.name, y.body)
        and np.array_equal(x.position, y.position)
        and np.array_equal(x.rotation, y.rotation)
        for x, y in zip(a.frame_list, b.frame_list)
    )


def _arrays(x: dict[str, Any]) -> dict[str, Any]:
    out = dict(x, position=np.array(x["position"], dtype=float), rotation=np.array(x["rotation"], dtype=float))
    for name in ("size", "rgba"):
        if out.get(name) is not None:
            out[name] = tuple(out[name])
    return out


def refuse_other_model(path: Any, theirs: Model, ours: Model) -> None:
    """A run is continued with the model that it was begun with."""
    what = same_model(theirs, ours)
    if what is not None:
        raise RecordingError(
            f"{path} was recorded with another model, different in {what}; give the same one to resume it"
        )
