"""Named arrays as one byte string: JSON that describes them, a newline, and their data."""

from __future__ import annotations

import json
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.record.index import Damaged, as_dict, parsed

TYPES = ("<f8", "<i8", "<i4", "|i1", "|u1", "|b1")


def packed(arrays: dict[str, NDArray[Any]]) -> bytes:
    contiguous = {name: np.asarray(x, order="C") for name, x in arrays.items()}
    for name, x in contiguous.items():
        if x.dtype.str not in TYPES:
            raise TypeError(f"a stepper saved {name} as {x.dtype}, which a recording cannot keep")
    head = {name: [x.dtype.str, x.shape] for name, x in contiguous.items()}
    return b"\n".join([json.dumps(head).encode(), b"".join(x.tobytes() for x in contiguous.values())])


def unpacked(data: bytes) -> dict[str, NDArray[Any]]:
    """What `packed` was given. Raises Damaged."""
    text, _, rest = data.partition(b"\n")
    out, at = {}, 0
    for name, said in as_dict(parsed(text)).items():
        if not isinstance(said, list) or len(said) != 2 or said[0] not in TYPES or not isinstance(said[1], list):
            raise Damaged(f"its checkpoint has {name} in no known form")
        dtype, shape = np.dtype(said[0]), said[1]
        if any(type(n) is not int or not 0 <= n <= len(rest) for n in shape) or len(shape) > 4:
            raise Damaged(f"its checkpoint has {name} in no known shape")
        end = at + prod(shape) * dtype.itemsize
        if end > len(rest):
            raise Damaged("its checkpoint is too short")
        out[name] = np.frombuffer(rest[at:end], dtype=dtype).reshape(shape).copy()
        at = end
    if at != len(rest):
        raise Damaged("its checkpoint is too long")
    return out
