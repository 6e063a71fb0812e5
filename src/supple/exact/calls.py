"""From a public call to a kernel: the fast way for one state in plain arrays, the general way for everything else.

The fast way is a single call of a compiled entry point with the user's own objects (spatial/cpu). When the
kernel finds that an argument does not fit, or that a number is bad, it returns a status and nothing is computed;
`Algorithm.general` then converts dtypes, strides and lists, runs batches on all cores, four states to a SIMD register,
and turns a status into an exception that names the joint.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from supple import memory
from supple.arguments import as_floats, take
from supple.errors import SingularError, StateError
from supple.exact.motion import Axes, CallState
from supple.exact.state_errors import MODEL, refuse_not_finite, refuse_not_unit, refuse_singular
from supple.exact.tables import ALIGNMENT, Tables, Wrench, aligned, aligned_rows, host_tables
from supple.exact.threads import in_parallel
from supple.model.joint_poses import Axis
from supple.model.manifold import UNIT_TOLERANCE
from supple.model.model import Model
from supple.spatial.addresses import float_vector, floats_at, int_vector
from supple.spatial.compiler import INLINE, Kernel, helper
from supple.spatial.cpu import (
    ARGUMENTS,
    ODD,
    OK,
    ONE_ARGUMENT,
    WIDTH,
    data_of,
    fits_matrix,
    fits_vector,
    floats_of,
    function_of,
    header_of,
    is_none,
    lanes_vector,
    new_array,
    release,
    status_object,
)
from supple.spatial.fields import Address, Integer
from supple.spatial.held import Held
from supple.spatial.pointing import Unmoved
from supple.spatial.structs import Link, Struct
from supple.spatial.trig import RING, Turn

NOT_FINITE, NOT_UNIT, SINGULAR = 2, 3, 4
STATE_SHIFT = 8  #: a batch kernel returns status + (state << 8)

REGISTER = 8 * WIDTH  #: bytes

Floats = NDArray[np.float64]


# --- what a core works with -----------------------------------------------------------------------------------------


class Call(Struct):
    """What the kernels of an algorithm find at one address: the model, and scratch."""

    model = Link(Tables)
    n_slots = Integer()
    n_extra = Integer()
    n_out = Integer()
    n_dims = Integer()
    dims = Address()  # the shape of the result
    path = Address()
    bodies = Address()
    dofs = Address()
    axes = Address()
    ring = Address()
    extra = Address()
    constants = Address()
    hubs = Address()


call_at = Call.at


class ScratchRows(NamedTuple):
    """The structs in which an algorithm keeps its numbers."""

    path: type[Struct]  #: for each slot: what bodies pass on to children and parents
    bodies: type[Struct] | None = None  #: for each body
    dofs: type[Struct] | None = None  #: for each degree of freedom, besides its axis
    constants: type[Struct] | None = None  #: for each body: numbers of the model
    hubs: type[Struct] | None = None  #: integers of the model


class Scratch(NamedTuple):
    """What a core works with: each a table of structs."""

    path: Any
    bodies: Any
    dofs: Any
    S: Any  #: Axes
    extra: Any  #: a vector of numbers
    constants: Any  #: of float64, also in lanes
    hubs: Any  #: integers
    n_out: Any  #: how many numbers the result has


@helper
def _no_table(address):
    return address


def _table(struct: type[Struct] | None) -> Any:
    return _no_table if struct is None else struct.table


def _lanes_table(struct: type[Struct] | None) -> Any:
    return _no_table if struct is None else struct.lanes_table


_axis_table, _turn_table, _wrench_table = Axis.table, Turn.table, Wrench.table
_axis_lanes, _turn_lanes, _wrench_lanes = Axis.lanes_table, Turn.lanes_table, Wrench.lanes_table


@helper
def no_wrenches():
    """The wrenches of a CallState that has none."""
    return _wrench_table(0)


def scratch_opener(rows: ScratchRows) -> tuple[Any, Any]:
    """Functions that open the scratch of a call; and that of four states in lanes, at an address, with its end."""
    path, bodies, dofs, constants, hubs = map(_table, rows)
    path_lanes, bodies_lanes, dofs_lanes = map(_lanes_table, rows[:3])
    path_bytes, body_bytes, dof_bytes = (REGISTER * (0 if x is None else x.words) for x in rows[:3])
    axis_bytes, ring_bytes = REGISTER * Axis.words, REGISTER * RING * Turn.words

    def opened(call):
        return Scratch(
            path(call.path),
            bodies(call.bodies),
            dofs(call.dofs),
            Axes(_axis_table(call.axes), _turn_table(call.ring)),
            float_vector(call.extra, call.n_extra),
            constants(call.constants),
            hubs(call.hubs),
            call.n_out,
        )

    def opened_lanes(call, at_path):
        m = call.model
        at_bodies = at_path + call.n_slots * path_bytes
        at_dofs = at_bodies + m.n * body_bytes
        at_axes = at_dofs + m.nv * dof_bytes
        at_ring = at_axes + m.nv * axis_bytes
        at_extra = at_ring + ring_bytes
        return Scratch(
            path_lanes(at_path),
            bodies_lanes(at_bodies),
            dofs_lanes(at_dofs),
            Axes(_axis_lanes(at_axes), _turn_lanes(at_ring)),
            lanes_vector(at_extra),
            constants(call.constants),
            hubs(call.hubs),
            call.n_out,
        )

    return helper(opened), helper(opened_lanes)


# --- compiled checks and the lanes' coming and going ----------------------------------------------------------------


@njit(**dict(INLINE, fastmath={"reassoc"}))  # lets the sum be vectorised
def finite(x, n):
    """Whether all n entries are finite; one pass, no branches."""
    total = 0.0
    for i in range(n):
        total += x[i] * 0.0
    return total == 0.0


@helper
def has_unit_parts(m, q):
    """Whether every quaternion (and cosine with sine) has unit length."""
    for k in range(m.n_units):
        square, part = 0.0, m.units[k]
        for i in range(part.first, part.first + part.length):
            square += q[i] * q[i]
        if not (abs(square - 1.0) <= UNIT_TOLERANCE):
            return False
    return True


@helper
def state_status(m, q):
    if not finite(q, m.nq):
        return NOT_FINITE
    if not has_unit_parts(m, q):
        return NOT_UNIT
    return OK


@helper
def row_of(a, i):
    """Row i of a matrix, as a vector."""
    return float_vector(a.ctypes.data + 8 * i * a.shape[1], a.shape[1])


@helper
def gather(source, first, stop, address):
    """States first ... first+3 of a batch to registers at an address (the last state is repeated past the end)."""
    size = source.shape[1]
    to = floats_at(address, (size, WIDTH))
    for lane in range(WIDTH):
        state = min(first + lane, stop - 1)
        for k in range(size):
            to[k, lane] = source[state, k]


@helper
def scatter(address, first, stop, target):
    """Registers at an address back to the states of a batch."""
    size = target.shape[1]
    source = floats_at(address, (size, WIDTH))
    for lane in range(min(WIDTH, stop - first)):
        for k in range(size):
            target[first + lane, k] = source[k, lane]


# --- the two kernels of an algorithm --------------------------------------------------------------------------------

_matrix = types.float64[:, ::1]
GIVEN = types.UniTuple(_matrix, 4)  #: q, v, known joint quantities and wrenches of a batch; no columns: none is given
BATCH = types.int64(types.int64, GIVEN, _matrix, types.int64, types.int64, types.float64[::1])


def make_kernels(
    name: str, core: Any, rows: ScratchRows, only_q: bool, needs: tuple[bool, bool]
) -> tuple[Kernel, Kernel]:
    """The entry points of an algorithm: for one state, given as q alone or with all else; for a range of a batch, four
    states at a time.

    core(m, state, out, scratch) returns a number that is positive unless the model is singular there or the result has
    overflowed. needs: whether v is required, and whether the known joint quantities are; if not, they may be None.
    """
    opened, opened_lanes = scratch_opener(rows)
    needs_v, needs_known = needs

    def run(header, call, state):
        """The result as a new array, or a status."""
        m = call.model
        status = state_status(m, state.q)
        if status != OK:
            return status_object(status)
        array = new_array(header, call.n_dims, call.dims)
        out = floats_of(array, call.n_out)
        good = core(m, state, out, opened(call))
        if good > 0.0 and finite(out, call.n_out):
            return array
        release(array)
        return status_object(NOT_FINITE if good > 0.0 else SINGULAR)

    run = helper(run)

    def single(self, arguments, count):
        h, struct = header_of(self)
        call = call_at(struct)
        m = call.model
        if count != 4:
            return status_object(ODD)
        given = int_vector(arguments, 4)
        q, v, known, wrenches = given[0], given[1], given[2], given[3]
        has_v, has_known, pushed = not is_none(h, v), not is_none(h, known), not is_none(h, wrenches)
        if not fits_vector(h, q, m.nq):
            return status_object(ODD)
        if (needs_v or has_v) and not fits_vector(h, v, m.nv):
            return status_object(ODD)
        if (needs_known or has_known) and not fits_vector(h, known, m.nv):
            return status_object(ODD)
        if pushed and not fits_matrix(h, wrenches, m.n, 6):
            return status_object(ODD)
        state = CallState(
            floats_of(q, m.nq),
            float_vector(data_of(v) if has_v else m.zero_v, m.nv),
            float_vector(data_of(known) if has_known else m.zero_v, m.nv),
            pushed,
            _wrench_table(data_of(wrenches) if pushed else 0),
        )
        return run(h, call, state)

    def single_q(self, q):
        h, struct = header_of(self)
        call = call_at(struct)
        m = call.model
        if not fits_vector(h, q, m.nq):
            return status_object(ODD)
        zeros = float_vector(m.zero_v, m.nv)
        return run(h, call, CallState(floats_of(q, m.nq), zeros, zeros, False, _wrench_table(0)))

    def batch(handle, given, out, first, stop, scratch):
        q, v, known, wrenches = given
        call = call_at(handle)
        m, n_out = call.model, call.n_out
        at_q = (scratch.ctypes.data + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        at_v = at_q + m.nq * REGISTER
        at_known = at_v + m.nv * REGISTER
        at_wrenches = at_known + m.nv * REGISTER
        at_out = at_wrenches + m.n * 6 * REGISTER
        at_good = at_out + n_out * REGISTER
        work = opened_lanes(call, at_good + REGISTER)
        good = float_vector(at_good, WIDTH)
        floats_at(at_v, (2 * m.nv * WIDTH,))[:] = 0.0
        state = CallState(
            lanes_vector(at_q),
            lanes_vector(at_v),
            lanes_vector(at_known),
            wrenches.shape[1] > 0,
            _wrench_lanes(at_wrenches),
        )
        for s in range(first, stop, WIDTH):
            gather(q, s, stop, at_q)
            gather(v, s, stop, at_v)
            gather(known, s, stop, at_known)
            gather(wrenches, s, stop, at_wrenches)
            lanes_vector(at_good)[0] = core(m, state, lanes_vector(at_out), work)
            scatter(at_out, s, stop, out)
            for lane in range(min(WIDTH, stop - s)):
                status = state_status(m, row_of(q, s + lane))
                if status == OK and not good[lane] > 0.0:
                    status = SINGULAR
                if status == OK and not finite(row_of(out, s + lane), n_out):
                    status = NOT_FINITE
                if status != OK:
                    return status + ((s + lane) << STATE_SHIFT)
        return OK

    one = Kernel(single_q, ONE_ARGUMENT, name) if only_q else Kernel(single, ARGUMENTS, name)
    return one, Kernel(batch, BATCH, f"{name} on batches", effort=2, plain=False, nogil=True)


# --- the Python side ------------------------------------------------------------------------------------------------


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


def _given(make: Callable[[Model], NDArray[Any]] | None, model: Model) -> NDArray[Any]:
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
    """

    name: str
    core: Any
    rows: ScratchRows
    inputs: tuple[Argument, Argument | None, Argument | None, Argument | None]
    output: Callable[[Model], tuple[int, ...]]
    extra: Callable[[Model], int] = lambda model: 0
    constants: Callable[[Model], NDArray[Any]] | None = None
    hubs: Callable[[Model], NDArray[Any]] | None = None
    inverse_D: Callable[[Model, HostWork], Floats] | None = None
    refuse: Callable[[Model, HostWork], None] | None = None
    like: Algorithm | None = None
    only_q: bool = field(init=False)
    single: Kernel = field(init=False)
    batch: Kernel = field(init=False)

    def __post_init__(self) -> None:
        _, needs_v, needs_known, _ = (x is not None and not x.optional for x in self.inputs)
        self.only_q = all(x is None for x in self.inputs[1:])
        if self.like is not None:
            self.single, self.batch = self.like.single, self.like.batch
            return
        self.single, self.batch = make_kernels(self.name, self.core, self.rows, self.only_q, (needs_v, needs_known))

    def prepare(self, model: Model) -> HostWork:
        """Compile or load the entry point and make the scratch; kept with the model."""
        made = HostWork(self, model)
        work: HostWork = model._work.setdefault(self.name, made)  # another thread may have been quicker
        model._fast[self.name] = work.run
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

    def _explain_state(self, model: Model, status: int, arrays: list[Floats | None]) -> NoReturn:
        """Explain what is wrong with a state of a batch, by computing it again alone."""
        state = status >> STATE_SHIFT
        alone = [
            x if a is None or x is None or x.ndim == len(a.shape(model)) else x[state]
            for a, x in zip(self.inputs, arrays)
        ]
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
