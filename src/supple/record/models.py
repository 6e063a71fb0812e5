"""The models of a recording, stored losslessly: every array unchanged, the rest as JSON (whose floats are exact).

Equal arrays are stored once, and so are equal models. What is read is checked like any model not made by ModelBuilder:
no index in a file reaches compiled code unchecked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import ModelError, RecordingError
from supple.model.actuators import ANY, Actuator
from supple.model.loops import MATRICES, VECTORS, Loop, Relation
from supple.model.model import Frame, Model, Visual
from supple.model.report import Remark, Report
from supple.model.shapes import Shape
from supple.record.hdf5 import SIZES
from supple.record.head import Place
from supple.record.index import Damaged, as_dict, parsed
from supple.record.tables import Store

NAMES = ("body_names", "joint_names")
_REST = {"name", *NAMES, "frame_list", "visuals", "actuator_list", "loop_list", "relation_list", "report", "shape_list"}
ARRAYS = tuple(f.name for f in fields(Model) if f.init and f.name not in _REST)
#: The columns of the table of models that are indices of arrays; -1 if there is none. rods: the points between which
#: bodies are drawn, (n_bodies, 2, 3).
COLUMNS = (*ARRAYS, "about", "rods")
TYPES = ("f8", "i8", "u1")
ARRAY_ROW = 10  #: a row of the table of arrays: address, bytes, CRC, type, rank, three dimensions, hash (two numbers)
KNOWN = 1000  #: number of most recent arrays and models that are recognised when they recur


class ModelWriter:
    """Writes models to a store, each array and each model once."""

    def __init__(self, store: Store, arrays: Any = (), models: Any = ()) -> None:
        """arrays, models: the existing rows."""
        self._store = store
        self._arrays = store.table("arrays", (ARRAY_ROW,), "i8")
        self._models = store.table("models/table", (len(COLUMNS),), "i8")
        first = max(0, len(arrays) - KNOWN)
        self._known = {row[8:].tobytes(): (first + i, int(row[0])) for i, row in enumerate(arrays[first:])}
        first = max(0, len(models) - KNOWN)
        self._numbers = {tuple(row.tolist()): first + i for i, row in enumerate(models[first:])}
        self._last: list[tuple[Model, int]] = []  #: the last two that were requested

    def remember(self, model: Model, number: int) -> None:
        """Register this model as the one stored under a number."""
        self._last = [(model, number), *self._last][:2]

    def number(self, model: Model, rods: NDArray[Any] | None = None) -> int:
        """The index of a model, which is added to the recording if necessary."""
        for known, number in self._last:
            if known is model:
                return number
        arrays: dict[str, NDArray[Any]] = {name: np.ascontiguousarray(getattr(model, name)) for name in ARRAYS}
        arrays["about"] = np.frombuffer(_about(model), dtype=np.uint8)
        if rods is not None:
            arrays["rods"] = np.ascontiguousarray(rods, dtype=np.float64)
        stored = {name: self._array(x) for name, x in arrays.items()}
        row = tuple(stored[name][0] if name in stored else -1 for name in COLUMNS)
        if row not in self._numbers:
            number = len(self._models)
            self._models.add(np.array([row]))
            self._store.show(
                f"models/{number}", {name: (_type(x), x.shape, stored[name][1]) for name, x in arrays.items()}
            )
            _remember(self._numbers, row, number)
        self.remember(model, self._numbers[row])
        return self._numbers[row]

    def _array(self, x: NDArray[Any]) -> tuple[int, int]:
        """Its index, and its address."""
        kind, shape = TYPES.index(_type(x)), (*x.shape, 0, 0, 0)[:3]
        key = hashlib.blake2b(x.tobytes() + repr((kind, x.ndim, shape)).encode(), digest_size=16).digest()
        if key not in self._known:
            place, number = self._store.array(x), len(self._arrays)
            self._arrays.add(np.array([[*place, kind, x.ndim, *shape, *np.frombuffer(key, dtype="<i8")]]))
            _remember(self._known, key, (number, place.address))
        return self._known[key]


def _type(x: NDArray[Any]) -> str:
    return f"{x.dtype.kind}{x.dtype.itemsize}"


def _remember(known: dict[Any, Any], key: Any, value: Any) -> None:
    known[key] = value
    if len(known) > KNOWN:
        del known[next(iter(known))]


def _about(model: Model) -> bytes:
    about = {
        "name": model.name,
        **{name: list(getattr(model, name)) for name in NAMES},
        "frames": [asdict(x) for x in model.frame_list],
        "visuals": [asdict(x) for x in model.visuals],
        "actuators": [_finite(asdict(x)) for x in model.actuator_list],
        "loops": [asdict(x) for x in model.loop_list],
        "relations": [asdict(x) for x in model.relation_list],
        "shapes": [asdict(x) for x in model.shape_list],
        "report": {"source": model.report.source, "remarks": [asdict(x) for x in model.report]},
    }
    return json.dumps(about, default=lambda x: x.tolist()).encode()


def _finite(x: dict[str, Any]) -> dict[str, Any]:
    """Without infinite ranges, which are the default, and which JSON lacks."""
    return {name: value for name, value in x.items() if value != ANY}


def array_place(row: NDArray[Any]) -> tuple[Place, str, tuple[int, ...]]:
    """Location, type and shape from a row of the table of arrays."""
    address, size, crc, kind, rank, *rest = (int(x) for x in row)
    if not (0 <= kind < len(TYPES) and 0 <= rank <= 3 and min(address, size, crc) >= 0):
        raise Damaged("a model's array is of no known form")
    shape, dtype = tuple(rest[:rank]), TYPES[kind]
    if min(shape, default=0) < 0 or _product(shape) * SIZES[dtype] != size:
        raise Damaged("a model's array is not of the size that it is said to be")
    return Place(address, size, crc), dtype, shape


def _product(shape: tuple[int, ...]) -> int:
    out = 1
    for n in shape:
        out *= n
    return out


def read_model(read: Callable[[str], NDArray[Any]]) -> Model:
    """A checked model. read: returns its arrays by name. Raises ModelError, Damaged."""
    about = as_dict(parsed(read("about").tobytes()))
    try:
        return _model(about, {name: read(name) for name in ARRAYS})
    except (KeyError, TypeError, ValueError, OverflowError) as e:
        if isinstance(e, ModelError):
            raise
        raise Damaged(f"what is said of its model is not what is said of one: {e!r}"[:300]) from None


def _model(about: dict[str, Any], arrays: dict[str, Any]) -> Model:
    report = as_dict(about["report"])
    given: dict[str, Any] = {
        "name": about["name"],
        **{name: tuple(about[name]) for name in NAMES},
        "frame_list": tuple(_frame(as_dict(x)) for x in about["frames"]),
        "visuals": tuple(_visual(as_dict(x)) for x in about["visuals"]),
        "actuator_list": tuple(Actuator(**as_dict(x)) for x in about["actuators"]),
        "loop_list": tuple(_loop(as_dict(x)) for x in about.get("loops", ())),  # recordings of trees have none
        "relation_list": tuple(_relation(as_dict(x)) for x in about.get("relations", ())),
        "shape_list": tuple(_shape(as_dict(x)) for x in about.get("shapes", ())),
        "report": Report(_text(report["source"], True), tuple(_remark(as_dict(x)) for x in report["remarks"])),
    }
    return Model(**given, **arrays)  # which checks them


def _frame(x: dict[str, Any]) -> Frame:
    return Frame(_text(x["name"]), _whole(x["body"]), _reals(x["position"], (3,)), _reals(x["rotation"], (3, 3)))


def _visual(x: dict[str, Any]) -> Visual:
    place = _whole(x["body"]), _text(x["kind"]), tuple(_reals(x["size"]).tolist())
    rgba = None if x["rgba"] is None else tuple(_reals(x["rgba"], (4,)).tolist())
    rest: Any = rgba, _text(x["mesh"], True), _text(x["name"], True)
    return Visual(*place, _reals(x["position"], (3,)), _reals(x["rotation"], (3, 3)), *rest)


def _loop(x: dict[str, Any]) -> Loop:
    given: dict[str, Any] = {name: _reals(x[name], (3,)) for name in VECTORS}
    given |= {name: _reals(x[name], (3, 3)) for name in MATRICES}
    given |= {name: _text(x[name]) for name in ("name", "joint")} | {k: _whole(x[k]) for k in ("body", "other")}
    return Loop(**given, pitch=float(x["pitch"]))


def _relation(x: dict[str, Any]) -> Relation:
    joints = tuple(_text(joint) for joint in x["joints"])
    return Relation(_text(x["name"]), joints, tuple(_reals(x["factors"]).tolist()), float(x["offset"]))


def _shape(x: dict[str, Any]) -> Shape:
    points = None if x["points"] is None else np.array(x["points"], dtype=np.float64)
    given: dict[str, Any] = {name: _text(x[name]) for name in ("name", "kind")}
    given |= {name: _whole(x[name]) for name in ("body", "group", "mask")}
    given |= {name: float(x[name]) for name in ("restitution", "margin")}
    given["friction"] = None if x["friction"] is None else float(x["friction"])
    given |= {"position": _reals(x["position"], (3,)), "rotation": _reals(x["rotation"], (3, 3)), "points": points}
    apart = tuple(_text(name) for name in x["apart"])
    return Shape(**given, size=tuple(_reals(x["size"]).tolist()), apart=apart)


def _remark(x: dict[str, Any]) -> Remark:
    return Remark(_text(x["subject"]), _text(x["message"]), None if x["line"] is None else _whole(x["line"]))


def _text(x: Any, or_none: bool = False) -> Any:
    if not (isinstance(x, str) or (or_none and x is None)):
        raise Damaged(f"a text in it is none: {x!r}"[:100])
    return x


def _whole(x: Any) -> int:
    if type(x) is not int:
        raise Damaged(f"a number in it is not whole: {x!r}"[:100])
    return x


def _reals(x: Any, shape: tuple[int, ...] | None = None) -> NDArray[np.float64]:
    out = np.array(x, dtype=np.float64)
    if (out.ndim != 1 if shape is None else out.shape != shape) or not np.isfinite(out).all():
        raise Damaged(f"what should be numbers in it is not: {x!r}"[:100])
    return out


def same_model(a: Model, b: Model) -> str | None:
    """The difference between two models as far as motion is concerned; None if there is none."""
    for name in ARRAYS:
        x, y = getattr(a, name), getattr(b, name)
        if not (x.shape == y.shape and np.array_equal(x, y)):
            return name
    other = next((name for name in NAMES if tuple(getattr(a, name)) != tuple(getattr(b, name))), None)
    if other is None and not _same_frames(a, b):
        return "frames"
    lists = {"actuators": "actuator_list", "loops": "loop_list", "relations": "relation_list", "shapes": "shape_list"}
    unlike = (what for what, name in lists.items() if getattr(a, name) != getattr(b, name))
    return next(unlike, None) if other is None else other


def _same_frames(a: Model, b: Model) -> bool:
    """Relevant since forces may act on them."""
    return len(a.frame_list) == len(b.frame_list) and all(
        (x.name, x.body) == (y.name, y.body)
        and np.array_equal(x.position, y.position)
        and np.array_equal(x.rotation, y.rotation)
        for x, y in zip(a.frame_list, b.frame_list)
    )


def refuse_other_model(path: Any, theirs: Model, ours: Model) -> None:
    """A run must be continued with the model that it began with."""
    what = same_model(theirs, ours)
    if what is not None:
        raise RecordingError(
            f"{path} was recorded with another model, different in {what}; give the same one to resume it"
        )
