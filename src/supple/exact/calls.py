"""From a public call to a kernel: the fast way for one state in plain arrays, the general way for everything else.

The fast way is a single call of a compiled entry point with the user's own objects [call_kernels.py]. When the kernel
finds that an argument does not fit, or that a number is bad, it returns a status and nothing is computed;
`Algorithm.general` then converts dtypes, strides and lists, runs batches on all cores, and turns a status into an
exception that names the joint.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from supple import memory
from supple.arguments import as_floats, take
from supple.errors import SingularError, StateError
from supple.exact.call_kernels import NOT_UNIT, SINGULAR, STATE_SHIFT, Call, ScratchRows, make_kernels
from supple.exact.state_errors import MODEL, refuse_not_finite, refuse_not_unit, refuse_singular
from supple.exact.tables import ALIGNMENT, aligned, aligned_rows, host_tables
from supple.exact.threads import in_parallel
from supple.model.joint_poses import Axis
from supple.model.model import Model
from supple.spatial.compiler import Kernel
from supple.spatial.cpu import OK, WIDTH, function_of
from supple.spatial.held import Held
from supple.spatial.pointing import Unmoved
from supple.spatial.structs import Struct
from supple.spatial.trig import RING, Turn

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Argument:
    """An input of an algorithm: its name, its shape for a model, and whether None may stand for zeros."""

    name: str
    shape: Callable[[Model], tuple[int, ...]]
    optional: bool = False


Q = Argument("q", lambda m: (m.nq,))
V = Argument("v", lambda m: (m.nv,))
A_OR_NONE = Argument("a", lambda m: (m.nv,), optional=True)
V_OR_NONE = Argument("v", lambda m: (m.nv,), optional=True)
TAU = Argument("tau", lambda m: (m.nv,), optional=True)
WRENCHES = Argument("wrenches", lambda m: (m.n_bodies, 6), optional=True)


class HostWork(Unmoved):
    """One algorithm's scratch for one model, and the entry point that uses it."""

    def __init__(self, algorithm: Algorithm, model: Model) -> None:
        host, rows, shape = host_tables(model), algorithm.rows, algorithm.output(model)
        n, nv, n_extra = model.n_bodies, model.nv, algorithm.extra(model)
        self.shape = shape
        self.path = aligned_rows(rows.path, host.n_slots)
        self.bodies, self.dofs = _rows_for(rows.bodies, n), _rows_for(rows.dofs, nv)
        self.axes, self.ring, self.extra = aligned_rows(Axis, nv), aligned_rows(Turn, RING), aligned((n_extra,))
        self.call: Held = Call.of(
            model=host, n_slots=host.n_slots, n_extra=n_extra, n_out=math.prod(shape), n_dims=len(shape),
            dims=np.array(shape, dtype=np.int64), path=self.path, bodies=self.bodies, dofs=self.dofs, axes=self.axes,
            ring=self.ring, extra=self.extra, constants=_given(algorithm.constants, model),
            hubs=_given(algorithm.hubs, model),
        )  # fmt: skip
        self.run = function_of(algorithm.single, self.call)  #: gives the result as an array, or a status
        self.handle = self.call.address  #: for batches
        #: float64 numbers that a batch needs for each lane
        self.lane_size = model.nq + 2 * nv + 6 * n + math.prod(shape) + 1 + sum(x.nbytes for x in self.scratch) // 8

    @property
    def scratch(self) -> tuple[NDArray[Any], ...]:
        return self.path, self.bodies, self.dofs, self.axes, self.ring, self.extra


def _rows_for(struct: type[Struct] | None, n: int) -> NDArray[Any]:
    return np.empty(0) if struct is None else aligned_rows(struct, n)


def _given(make: Callable[[Model], NDArray[Any] | Held] | None, model: Model) -> NDArray[Any] | Held:
    return np.empty(0) if make is None else make(model)


@dataclass
class Algorithm:
    """A core and what the calls around it must know.

    rows: the structs in which it keeps its numbers.
    inputs: of the four a core takes (q, v, known joint quantities, wrenches), in that order, None where it takes none.
    output: the shape of the result. extra: how many numbers of scratch in addition to the rows. constants, hubs: make
    those of the model.
    inverse_D: 1/D of each degree of freedom, from the scratch of a call that was singular, to name the joint. refuse:
    the same for cores that detect more than that: raises if the scratch tells what is wrong.
    like: another algorithm with the same core and a result of different size, whose kernels are used.
    lanes: whether four states of a batch can be computed at once.
    of_trees: whether public calls do not use it for models with loops.
    method: the name under which they find it, if that is not its own.
    """

    name: str
    core: Any
    rows: ScratchRows
    inputs: tuple[Argument, Argument | None, Argument | None, Argument | None]
    output: Callable[[Model], tuple[int, ...]]
    extra: Callable[[Model], int] = lambda model: 0
    constants: Callable[[Model], NDArray[Any]] | None = None
    hubs: Callable[[Model], NDArray[Any] | Held] | None = None
    inverse_D: Callable[[Model, HostWork], Floats] | None = None
    refuse: Callable[[Model, HostWork], None] | None = None
    like: Algorithm | None = None
    lanes: bool = True
    of_trees: bool = False
    method: str = ""
    only_q: bool = field(init=False)
    single: Kernel = field(init=False)
    batch: Kernel | None = field(init=False)

    def __post_init__(self) -> None:
        _, needs_v, needs_known, _ = (x is not None and not x.optional for x in self.inputs)
        self.only_q = all(x is None for x in self.inputs[1:])
        if self.like is not None:
            self.single, self.batch = self.like.single, self.like.batch
            return
        needs = needs_v, needs_known
        self.single, self.batch = make_kernels(self.name, self.core, self.rows, self.only_q, needs, self.lanes)

    def prepare(self, model: Model) -> HostWork:
        """Compile or load the entry point and make the scratch; kept with the model."""
        made = HostWork(self, model)
        work: HostWork = model._work.setdefault(self.name, made)  # another thread may have been quicker
        if model.is_tree or not self.of_trees:
            model._fast[self.method or self.name] = work.run
        return work

    def work(self, model: Model) -> HostWork:
        """The entry point and scratch for a model."""
        return model._work.get(self.name) or self.prepare(model)

    def __call__(self, model: Model, q: Any, v: Any, x: Any, wrenches: Any) -> Floats:
        """One state the fast way, anything else the general way. (The hottest public functions inline this.)"""
        try:
            work: HostWork = model._work.get(self.name) or self.prepare(model)
        except AttributeError:
            take("model", model, MODEL)
            raise
        out = work.run(q) if self.only_q else work.run(q, v, x, wrenches)
        return self.general(model, q, v, x, wrenches) if out.__class__ is int else out

    def general(self, model: Model, *values: Any) -> Floats:
        """The call again, for arguments of any form."""
        arrays, size = self.arrays(model, values)
        return self._one(model, arrays) if size is None else self._many(model, arrays, size)

    def arrays(self, model: Model, values: tuple[Any, ...]) -> tuple[list[Floats | None], int | None]:
        """The arguments as C-contiguous float64, and the batch size (None: one state)."""
        take("model", model, MODEL)
        arrays: list[Floats | None] = []
        size: int | None = None
        for argument, value in zip(self.inputs, values):
            if argument is None or (value is None and argument.optional):
                arrays.append(None)
                continue
            shape = argument.shape(model)
            x: Floats = as_floats(argument.name, value)
            if x.shape[-len(shape) :] != shape or x.ndim > len(shape) + 1:
                wanted = ", ".join(map(str, shape))
                comma = "," if len(shape) == 1 else ""
                raise StateError(
                    f"{argument.name} has shape {x.shape}; expected ({wanted}{comma}), or (B, {wanted}) for batches"
                )
            if x.ndim > len(shape):
                if size is not None and size != len(x):
                    raise StateError(f"{argument.name} has a batch of {len(x)}, the arguments before it one of {size}")
                size = len(x)
            arrays.append(x)
        return arrays, size

    def _one(self, model: Model, arrays: list[Floats | None]) -> Floats:
        work = self.work(model)
        out = work.run(*(arrays[:1] if self.only_q else arrays))
        if out.__class__ is int:
            self._explain(model, work, out, arrays)
        result: Floats = out
        return result

    def _many(self, model: Model, arrays: list[Floats | None], size: int) -> Floats:
        if self.batch is None:
            return self._one_by_one(model, arrays, size)
        work = self.work(model)
        flat = tuple(self._flat(model, a, x, size) for a, x in zip(self.inputs, arrays))
        numbers = size * math.prod(work.shape)
        memory.require(numbers, f"the result ({self.name}) for a batch of {size:,} states", "use smaller batches")
        memory.require(WIDTH * work.lane_size, f"the scratch of {self.name} for a batch", "give it one state at a time")
        out = np.empty((size, math.prod(work.shape)))
        run = self.batch.load()

        def part(bounds: tuple[int, int]) -> int:
            return int(run(work.handle, flat, out, *bounds, np.empty(WIDTH * work.lane_size + ALIGNMENT // 8)))

        bad = [status for status in in_parallel(part, size) if status != OK]
        if bad:
            self._explain_state(model, min(bad, key=lambda status: status >> STATE_SHIFT), arrays)
        return out.reshape((size, *work.shape))

    def _one_by_one(self, model: Model, arrays: list[Floats | None], size: int) -> Floats:
        shape = self.output(model)
        memory.require(size * math.prod(shape), f"the result ({self.name}) for a batch of {size:,} states", "use fewer")
        out = np.empty((size, *shape))
        for i in range(size):
            try:
                out[i] = self._one(model, self._state(model, arrays, i))
            except (StateError, SingularError) as e:
                raise type(e)(f"state {i} of the batch: {e}") from None
        return out

    def _state(self, model: Model, arrays: list[Floats | None], i: int) -> list[Floats | None]:
        """The arguments of state i of a batch."""
        return [
            x if a is None or x is None or x.ndim == len(a.shape(model)) else x[i] for a, x in zip(self.inputs, arrays)
        ]

    def _explain_state(self, model: Model, status: int, arrays: list[Floats | None]) -> NoReturn:
        """Explain what is wrong with a state of a batch, by computing it again alone."""
        state = status >> STATE_SHIFT
        alone = self._state(model, arrays, state)
        where = f"state {state} of the batch"
        try:
            self._one(model, alone)
        except (StateError, SingularError) as e:
            raise type(e)(f"{where}: {e}") from None
        # Alone it succeeded: the order of operations differs slightly, and so does rounding.
        if status & ((1 << STATE_SHIFT) - 1) == SINGULAR:
            raise SingularError(f"{where}: the mass matrix is singular to within rounding")
        raise StateError(f"{where}: the numbers given are too large for float64")

    def _flat(self, model: Model, argument: Argument | None, x: Floats | None, size: int) -> Floats:
        """(B, numbers) of every state; no columns if nothing is given, which kernels treat as zeros."""
        if argument is None or x is None:
            return np.empty((size, 0))
        shape = argument.shape(model)
        return np.ascontiguousarray(np.broadcast_to(x, (size, *shape))).reshape(size, math.prod(shape))

    def _explain(self, model: Model, work: HostWork, status: int, arrays: list[Floats | None]) -> NoReturn:
        for argument, x in zip(self.inputs, arrays):
            if argument is not None and x is not None and not np.isfinite(x).all():
                refuse_not_finite(model, argument.name, x)
        if status == NOT_UNIT:
            assert arrays[0] is not None
            refuse_not_unit(model, arrays[0])
        if self.refuse is not None:
            self.refuse(model, work)
        if status == SINGULAR and self.inverse_D is not None:
            refuse_singular(model, self.inverse_D(model, work))
        raise StateError(f"{self.name}: the result is not finite: the numbers given are too large for float64")
