"""From a public call to a kernel: the fast way for one state in plain arrays, the general way for everything else.

The fast way is a single call of a compiled entry point with the user's own objects (spatial/references.py). When the kernel
finds that an argument does not fit, or that a number is bad, it returns a status and nothing is computed; `Algorithm.general`
then converts dtypes, strides and lists, runs batches on all cores, four states to a SIMD register, and turns a status into
an exception that names the joint.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NoReturn

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.errors import SingularError, StateError
from supple.exact.tables import make_header
from supple.model.model import Model
from supple.spatial.compiler import Kernel, helper
from supple.spatial.lanes import WIDTH, lanes
from supple.spatial.references import OK, address_of

NOT_FINITE, NOT_UNIT, SINGULAR = 2, 3, 4
_STATE_SHIFT = 8  #: a batch kernel returns status + (state << 8)

UNIT_TOLERANCE = 1e-6  #: how far the squared length of a quaternion may be from one

Floats = NDArray[np.float64]
_matrix = types.Array(types.float64, 2, "C")
_vector = types.Array(types.float64, 1, "C")


# --- compiled checks and the lanes' coming and going --------------------------------------------------------------------


@helper
def finite(x):
    """Whether all entries are finite; one pass, no branches."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * 0.0
    return total == 0.0


@helper
def has_unit_parts(m, q):
    """Whether every quaternion (and cosine with sine) has unit length."""
    for k in range(m.units.shape[0]):
        square = 0.0
        for i in range(m.units[k, 0], m.units[k, 0] + m.units[k, 1]):
            square += q[i] * q[i]
        if not (abs(square - 1.0) <= UNIT_TOLERANCE):
            return False
    return True


@helper
def state_status(m, q):
    if not finite(q):
        return NOT_FINITE
    if not has_unit_parts(m, q):
        return NOT_UNIT
    return OK


@helper
def take(scratch, at, rows, columns):
    """The next rows x columns registers of a scratch array."""
    return lanes(scratch[at : at + rows * columns * WIDTH].reshape((rows, columns, WIDTH)))


@helper
def gather(source, first, stop, scratch, at):
    """States first ... first+3 of a batch into a register each entry (the last one repeated past the end)."""
    size = source.shape[1]
    for lane in range(WIDTH):
        state = min(first + lane, stop - 1)
        for k in range(size):
            scratch[at + k * WIDTH + lane] = source[state, k]
    return lanes(scratch[at : at + size * WIDTH].reshape((size, WIDTH)))


@helper
def scatter(scratch, at, first, stop, target):
    """Registers back to the states of a batch."""
    for lane in range(min(WIDTH, stop - first)):
        for k in range(target.shape[1]):
            target[first + lane, k] = scratch[at + k * WIDTH + lane]


def batch_signature(n_inputs: int) -> Any:
    """handle, inputs (B, size) ..., output (B, size), first state, stop, scratch -> status"""
    arrays = [_matrix] * (n_inputs + 1)
    return types.int64(types.int64, *arrays, types.int64, types.int64, _vector)


# --- the Python side ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Argument:
    """An input of an algorithm: its name, its shape for a model, and whether None may stand for zeros."""

    name: str
    shape: Callable[[Model], tuple[int, ...]]
    optional: bool = False


Q = Argument("q", lambda m: (m.nq,))
V = Argument("v", lambda m: (m.nv,))
A = Argument("a", lambda m: (m.nv,))
TAU = Argument("tau", lambda m: (m.nv,), optional=True)
WRENCHES = Argument("wrenches", lambda m: (m.n_bodies, 6), optional=True)


@dataclass
class Work:
    """One algorithm's scratch for one model, and the entry point that uses it."""

    run: Callable[..., int]
    handle: int
    shape: tuple[int, ...]
    header: NDArray[np.int64]
    scratch: tuple[NDArray[Any], ...]


@dataclass
class Algorithm:
    """What the general way must know of an algorithm.

    scratch(model): the arrays of a single call; their addresses follow the model's tables in the header, then own(model).
    lanes_size(model): float64 numbers a batch call needs for each lane.
    """

    name: str
    single: Kernel
    batch: Kernel
    inputs: Sequence[Argument]
    output: Callable[[Model], tuple[int, ...]]
    scratch: Callable[[Model], tuple[NDArray[Any], ...]]
    lanes_size: Callable[[Model], int]
    own: Callable[[Model], list[int]] = field(default=lambda model: [])
    inverse_D: Callable[[Model, Work], Floats] | None = None  #: 1/D a degree of freedom, for naming what is singular

    def prepare(self, model: Model) -> Work:
        """Compile or load the entry point and make the scratch; kept with the model."""
        scratch = self.scratch(model)
        header = make_header(model, [address_of(a) for a in scratch] + self.own(model))
        work = Work(self.single.load(), address_of(header), self.output(model), header, scratch)
        model._work[self.name] = work
        return work

    def general(self, model: Model, *values: Any) -> Floats:
        """The call again, for arguments of any form."""
        arrays, size = self._arrays(model, values)
        return self._one(model, arrays) if size is None else self._many(model, arrays, size)

    def _arrays(self, model: Model, values: tuple[Any, ...]) -> tuple[list[Floats | None], int | None]:
        """The arguments as C-contiguous float64, and the batch size (None: one state)."""
        arrays: list[Floats | None] = []
        size: int | None = None
        for argument, value in zip(self.inputs, values):
            if value is None and argument.optional:
                arrays.append(None)
                continue
            shape = argument.shape(model)
            x = as_floats(argument.name, value)
            if x.shape[-len(shape) :] != shape or x.ndim > len(shape) + 1:
                wanted = ", ".join(map(str, shape))
                comma = "," if len(shape) == 1 else ""
                raise StateError(
                    f"{argument.name} has shape {x.shape}; expected ({wanted}{comma}), or (B, {wanted}) for a batch of B"
                )
            if x.ndim > len(shape):
                if size is not None and size != len(x):
                    raise StateError(f"{argument.name} has a batch of {len(x)}, the arguments before it one of {size}")
                size = len(x)
            arrays.append(x)
        return arrays, size

    def _one(self, model: Model, arrays: list[Floats | None]) -> Floats:
        work: Work = model._work.get(self.name) or self.prepare(model)
        out = np.empty(work.shape)
        status = work.run(work.handle, *arrays, out)
        if status != OK:
            self._explain(model, work, status, arrays)
        return out

    def _many(self, model: Model, arrays: list[Floats | None], size: int) -> Floats:
        flat = [self._flat(model, a, x, size) for a, x in zip(self.inputs, arrays)]
        shape = self.output(model)
        out = np.empty((size, int(np.prod(shape))))
        work: Work = model._work.get(self.name) or self.prepare(model)
        run = self.batch.load()
        length = WIDTH * self.lanes_size(model)

        def part(bounds: tuple[int, int]) -> int:
            return int(run(work.handle, *flat, out, *bounds, np.empty(length)))

        for status in in_parallel(part, size):
            if status != OK:
                state = status >> _STATE_SHIFT
                bad = [
                    None if x is None else x if x.ndim == len(a.shape(model)) else x[state]
                    for a, x in zip(self.inputs, arrays)
                ]
                self._one(model, [None if x is None else np.ascontiguousarray(x) for x in bad])
                raise AssertionError(f"{self.name}: state {state} failed in a batch only")
        return out.reshape((size, *shape))

    def _flat(self, model: Model, argument: Argument, x: Floats | None, size: int) -> Floats:
        """(B, anything) of every state; None becomes zeros, except wrenches, which become no columns at all."""
        shape = argument.shape(model)
        if x is None:
            return np.zeros((size, 0 if argument is WRENCHES else int(np.prod(shape))))
        x = np.broadcast_to(x, (size, *shape))
        return np.ascontiguousarray(x).reshape(size, int(np.prod(shape)))

    def _explain(self, model: Model, work: Work, status: int, arrays: list[Floats | None]) -> NoReturn:
        for argument, x in zip(self.inputs, arrays):
            if x is not None and not np.isfinite(x).all():
                refuse_not_finite(model, argument.name, x)
        if status == NOT_UNIT:
            assert arrays[0] is not None
            refuse_not_unit(model, arrays[0])
        if status == SINGULAR and self.inverse_D is not None:
            refuse_singular(model, self.inverse_D(model, work))
        raise StateError(f"{self.name}: the result is not finite: the numbers given are too large for float64")


def as_floats(name: str, value: Any) -> Floats:
    """Any array-like of real numbers as C-contiguous float64."""
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "fiub":
            raise TypeError(f"dtype {raw.dtype}")
        return np.ascontiguousarray(raw, dtype=np.float64)
    except (TypeError, ValueError) as e:
        raise StateError(f"{name} must be an array of real numbers: {e}") from None


def refuse_not_finite(model: Model, name: str, x: Floats) -> NoReturn:
    where = tuple(int(i) for i in np.argwhere(~np.isfinite(x))[0])
    if name == "wrenches":
        place = f"of body {model.body_names[where[0]]!r}"
    else:
        starts = model.q_index if name == "q" else model.v_index
        joint = int(np.searchsorted(starts, where[0], side="right")) - 1
        place = f"(joint {model.joint_names[joint]!r})"
    raise StateError(f"{name}{list(where)} {place} is {x[where]}; every number must be finite")


def refuse_not_unit(model: Model, q: Floats) -> NoReturn:
    from supple.model.joints import UNIT_PART

    for i in range(model.n_bodies):
        for kind, (first, length) in UNIT_PART.items():
            if model.joint_type[i] == kind:
                at = int(model.q_index[i]) + first
                norm = float(np.linalg.norm(q[at : at + length]))
                if not abs(norm * norm - 1.0) <= UNIT_TOLERANCE:
                    what = "quaternion" if length == 4 else "cosine and sine"
                    raise StateError(
                        f"joint {model.joint_names[i]!r}: the {what} in q[{at}:{at + length}] has length {norm:.9g}, "
                        "not 1; use model.normalize(q)"
                    )
    raise AssertionError("no part of q is off unit length")


def refuse_singular(model: Model, inverse_D: Floats) -> NoReturn:
    bad = np.flatnonzero(~(np.isfinite(inverse_D) & (inverse_D > 0)))
    body = int(model.dof_body[bad[-1]]) if len(bad) else 0  # eliminated last to first: the last one is the cause
    raise SingularError(
        f"the mass matrix is singular: joint {model.joint_names[body]!r} moves body {model.body_names[body]!r} and what it "
        "carries, which have no inertia in that direction; give them mass or inertia, or the joint armature"
    )


# --- threads --------------------------------------------------------------------------------------------------------

_SMALL = 32  #: batches below this are not worth a second thread
_threads = int(os.environ.get("SUPPLE_THREADS", "0")) or os.cpu_count() or 1


def set_threads(count: int) -> None:
    """How many threads batches run on (at first: all cores, or SUPPLE_THREADS)."""
    global _threads
    if count < 1:
        raise StateError(f"the number of threads must be at least 1, not {count}")
    _threads = int(count)


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=count, thread_name_prefix="supple")


def in_parallel(part: Callable[[tuple[int, int]], int], size: int) -> list[int]:
    """part((first, stop)) over 0 ... size, in pieces of whole registers, on the threads asked for."""
    if _threads == 1 or size < _SMALL:
        return [part((0, size))] if size else []
    step = -(-size // (_threads * WIDTH)) * WIDTH
    pieces = [(i, min(i + step, size)) for i in range(0, size, step)]
    return list(_pool(_threads).map(part, pieces))


