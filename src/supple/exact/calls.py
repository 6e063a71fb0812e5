"""From a public call to a kernel: the fast way for one state in plain arrays, the general way for everything else.

The fast way is a single call of a compiled entry point with the user's own objects (spatial/references.py). When the
kernel finds that an argument does not fit, or that a number is bad, it returns a status and nothing is computed;
`Algorithm.general` then converts dtypes, strides and lists, runs batches on all cores, four states to a SIMD
register, and turns a status into an exception that names the joint.
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
from supple.exact.motion import AXIS, Axes
from supple.exact.refusals import MODEL, refuse_not_finite, refuse_not_unit, refuse_singular
from supple.exact.tables import ALIGNMENT, OWN, aligned, host_tables, open_tables
from supple.exact.threads import in_parallel
from supple.model.manifold import UNIT_TOLERANCE
from supple.model.model import Model
from supple.spatial.compiler import INLINE, Kernel, helper
from supple.spatial.indexing import get, item
from supple.spatial.lanes import WIDTH, lanes_at
from supple.spatial.pointing import Unmoved
from supple.spatial.references import (
    ARGUMENTS,
    ODD,
    OK,
    ONE_ARGUMENT,
    address_of,
    fits_matrix,
    fits_vector,
    floats_at,
    floats_of,
    function_of,
    header_of,
    ints_at,
    is_none,
    new_array,
    release,
    status_object,
)
from supple.spatial.trig import RING

NOT_FINITE, NOT_UNIT, SINGULAR = 2, 3, 4
STATE_SHIFT = 8  #: a batch kernel returns status + (state << 8)

REGISTER = 8 * WIDTH  #: bytes

Floats = NDArray[np.float64]


# --- compiled checks and the lanes' coming and going ----------------------------------------------------------------


@njit(**dict(INLINE, fastmath={"reassoc"}))  # so that the sum is taken several entries at a time
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
        first = get(m.units, k, 0)
        for i in range(first, first + get(m.units, k, 1)):
            square += item(q, i) * item(q, i)
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
def gather(source, first, stop, address):
    """States first ... first+3 of a batch to registers at an address (the last state repeated past the end)."""
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

PATH, WORK, AXES, TURNS, DOFS, EXTRA, CONSTANTS, TABLES, N_TABLES, N_SLOTS, N_EXTRA, N_OUT, N_DIMS, DIMS = range(
    OWN, OWN + 14
)
HEADER = DIMS + 3

_BATCH = types.int64(types.int64, *[types.Array(types.float64, 2, "C")] * 5, types.int64, types.int64,
                     types.Array(types.float64, 1, "C"))  # fmt: skip


class Extras(NamedTuple):
    """What a core that has tables takes last."""

    scratch: Any  #: (extra,)
    constants: Any  #: (n, constant_row), the same for all states
    tables: Any  #: (any number, table_row) integers


def make_kernels(
    name: str,
    core: Any,
    path_row: int,
    body_row: int,
    dof_row: int,
    constant_row: int,
    table_row: int,
    only_q: bool,
    needs_v: bool,
    needs_x: bool,
) -> tuple[Kernel, Kernel]:
    """The entry points of an algorithm: for one state, given as q alone or with all else; for a range of a batch, four
    states at a time.

    core(m, q, v, x, has_wrenches, wrenches, out, path, work, S, dofs, extra) returns a number that is positive unless
    the model is singular there or the result has overflown. v and x have length nv and may be None where they are not
    needed; out and extra are flat, but extra is (n, constant_row) of float64 where a body has so many constants, and
    Extras where there are tables.
    """
    if table_row:

        def extra_of(h, m, scratch):
            tables = ints_at(h[TABLES], (h[N_TABLES], table_row))
            return Extras(scratch, floats_at(h[CONSTANTS], (m.n, constant_row)), tables)

    elif constant_row:

        def extra_of(h, m, scratch):
            return floats_at(h[CONSTANTS], (m.n, constant_row))

    else:

        def extra_of(h, m, scratch):
            return scratch

    extra_of = helper(extra_of)

    def run(h, m, q, v, x, has_wrenches, wrenches):
        """The result as a new array, or a status."""
        status = state_status(m, q)
        if status != OK:
            return status_object(status)
        array = new_array(h, h[N_DIMS], h.ctypes.data + 8 * DIMS)
        out = floats_of(array, (h[N_OUT],))
        good = core(
            m,
            q,
            v,
            x,
            has_wrenches,
            wrenches,
            out,
            floats_at(h[PATH], (h[N_SLOTS], path_row)),
            floats_at(h[WORK], (m.n, body_row)),
            Axes(floats_at(h[AXES], (m.nv, AXIS)), floats_at(h[TURNS], (RING, 2))),
            floats_at(h[DOFS], (m.nv, dof_row)),
            extra_of(h, m, floats_at(h[EXTRA], (h[N_EXTRA],))),
        )
        if good > 0.0 and finite(out):
            return array
        release(array)
        return status_object(NOT_FINITE if good > 0.0 else SINGULAR)

    run = helper(run)

    def single(self, arguments, count):
        h = header_of(self, HEADER)
        m = open_tables(h)
        if count != 4:
            return status_object(ODD)
        given = ints_at(arguments, (4,))
        q_, v_, x_, wrenches_ = given[0], given[1], given[2], given[3]
        has_v, has_x, has_wrenches = not is_none(h, v_), not is_none(h, x_), not is_none(h, wrenches_)
        if not fits_vector(h, q_, m.nq):
            return status_object(ODD)
        if (needs_v or has_v) and not fits_vector(h, v_, m.nv):
            return status_object(ODD)
        if (needs_x or has_x) and not fits_vector(h, x_, m.nv):
            return status_object(ODD)
        if has_wrenches and not fits_matrix(h, wrenches_, m.n, 6):
            return status_object(ODD)
        q = floats_of(q_, (m.nq,))
        v = floats_of(v_, (m.nv,)) if has_v else m.zeros
        x = floats_of(x_, (m.nv,)) if has_x else m.zeros
        wrenches = floats_of(wrenches_, (m.n, 6)) if has_wrenches else m.outward
        return run(h, m, q, v, x, has_wrenches, wrenches)

    def single_q(self, q_):
        h = header_of(self, HEADER)
        m = open_tables(h)
        if not fits_vector(h, q_, m.nq):
            return status_object(ODD)
        return run(h, m, floats_of(q_, (m.nq,)), m.zeros, m.zeros, False, m.outward)

    def batch(handle, q, v, x, wrenches, out, first, stop, scratch):
        h = ints_at(handle, (HEADER,))
        m = open_tables(h)
        n_out, n_extra, n_slots = h[N_OUT], h[N_EXTRA], h[N_SLOTS]
        at_q = (scratch.ctypes.data + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        at_v = at_q + m.nq * REGISTER
        at_x = at_v + m.nv * REGISTER
        at_wrenches = at_x + m.nv * REGISTER
        at_out = at_wrenches + m.n * 6 * REGISTER
        at_extra = at_out + n_out * REGISTER
        at_good = at_extra + n_extra * REGISTER
        at_path = at_good + REGISTER
        at_work = at_path + n_slots * path_row * REGISTER
        at_axes = at_work + m.n * body_row * REGISTER
        at_turns = at_axes + m.nv * AXIS * REGISTER
        at_dofs = at_turns + RING * 2 * REGISTER
        good = floats_at(at_good, (WIDTH,))
        floats_at(at_v, (2 * m.nv * WIDTH,))[:] = 0.0
        has_wrenches = wrenches.shape[1] > 0
        for state in range(first, stop, WIDTH):
            gather(q, state, stop, at_q)
            gather(v, state, stop, at_v)
            gather(x, state, stop, at_x)
            gather(wrenches, state, stop, at_wrenches)
            lanes_at(at_good, (1,))[0] = core(
                m,
                lanes_at(at_q, (m.nq,)),
                lanes_at(at_v, (m.nv,)),
                lanes_at(at_x, (m.nv,)),
                has_wrenches,
                lanes_at(at_wrenches, (m.n, 6)),
                lanes_at(at_out, (n_out,)),
                lanes_at(at_path, (n_slots, path_row)),
                lanes_at(at_work, (m.n, body_row)),
                Axes(lanes_at(at_axes, (m.nv, AXIS)), lanes_at(at_turns, (RING, 2))),
                lanes_at(at_dofs, (m.nv, dof_row)),
                extra_of(h, m, lanes_at(at_extra, (n_extra,))),
            )
            scatter(at_out, state, stop, out)
            for lane in range(min(WIDTH, stop - state)):
                s = state + lane
                status = state_status(m, q[s])
                if status == OK and not good[lane] > 0.0:
                    status = SINGULAR
                if status == OK and not finite(out[s]):
                    status = NOT_FINITE
                if status != OK:
                    return status + (s << STATE_SHIFT)
        return OK

    one = Kernel(single_q, ONE_ARGUMENT, name) if only_q else Kernel(single, ARGUMENTS, name)
    return one, Kernel(batch, _BATCH, f"{name} on batches", effort=2, nogil=True)


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


@dataclass
class Work(Unmoved):
    """One algorithm's scratch for one model, and the entry point that uses it."""

    run: Callable[..., Any]  #: gives the result as an array, or a status
    handle: int  #: the address of the header, for batches
    shape: tuple[int, ...]
    header: NDArray[np.int64]
    scratch: tuple[Floats, ...]
    lane_size: int  #: float64 numbers that a batch needs for each lane


@dataclass
class Algorithm:
    """A core and what the calls around it must know.

    path_row, body_row, dof_row: numbers of scratch a slot (what bodies pass on to children and parents), a body, and a
    degree of freedom (besides the axes S, which all have).
    inputs: of the four a core takes (q, v, x, wrenches), in that order, None where it takes none.
    output: the shape of the result. extra: how many numbers of scratch beside the rows; or constants: the model's
    numbers (n_bodies, constant_row) that a core takes in its place; or tables, integers (any, table_row), and both
    (Extras).
    inverse_D: 1/D a degree of freedom, from the scratch of a call that was singular, to name the joint. refuse: the
    same for cores that find more than that: raises if the scratch tells what is wrong.
    like: another algorithm of the same core, whose result has another size: the kernels are that one's.
    """

    name: str
    core: Any
    path_row: int
    body_row: int
    dof_row: int
    inputs: tuple[Argument, Argument | None, Argument | None, Argument | None]
    output: Callable[[Model], tuple[int, ...]]
    extra: Callable[[Model], int] = lambda model: 0
    constants: Callable[[Model], Floats] | None = None
    constant_row: int = 0
    tables: Callable[[Model], NDArray[np.int64]] | None = None
    table_row: int = 0
    inverse_D: Callable[[Model, Work], Floats] | None = None
    refuse: Callable[[Model, Work], None] | None = None
    like: Algorithm | None = None
    only_q: bool = field(init=False)
    single: Kernel = field(init=False)
    batch: Kernel = field(init=False)

    def __post_init__(self) -> None:
        needs = [x is not None and not x.optional for x in self.inputs]
        self.only_q = all(x is None for x in self.inputs[1:])
        if self.like is not None:
            self.single, self.batch = self.like.single, self.like.batch
            return
        rows = self.path_row, self.body_row, self.dof_row, self.constant_row, self.table_row
        self.single, self.batch = make_kernels(self.name, self.core, *rows, self.only_q, needs[1], needs[2])

    def scratch_sizes(self, model: Model) -> tuple[tuple[int, ...], ...]:
        """The shapes of what a core takes behind its result: path, work, the two parts of S, dofs, extra."""
        n, nv, slots = model.n_bodies, model.nv, host_tables(model).n_slots
        axes = (nv, AXIS), (RING, 2)
        return (slots, self.path_row), (n, self.body_row), *axes, (nv, self.dof_row), (self.extra(model),)

    def prepare(self, model: Model) -> Work:
        """Compile or load the entry point and make the scratch; kept with the model."""
        shape, n_extra, sizes = self.output(model), self.extra(model), self.scratch_sizes(model)
        scratch = tuple(aligned(size) for size in sizes)
        constants = np.empty(0) if self.constants is None else self.constants(model)
        tables = np.empty(0, dtype=np.int64) if self.tables is None else self.tables(model)
        n_out = math.prod(shape)
        dims = [*shape, *[0] * (3 - len(shape))]
        own = [*map(address_of, scratch), address_of(constants), address_of(tables), len(tables)]
        own += [sizes[0][0], n_extra, n_out, len(shape), *dims]
        words = host_tables(model).words + own
        header = np.array(words, dtype=np.int64)
        lane_size = model.nq + 2 * model.nv + 6 * model.n_bodies + n_out + 1 + sum(map(math.prod, sizes))
        run = function_of(self.single, words, host_tables(model), scratch, constants, tables)
        made = Work(run, address_of(header), shape, header, scratch, lane_size)
        work: Work = model._work.setdefault(self.name, made)  # another thread may have been quicker, and use its own
        model._fast[self.name] = work.run
        return work

    def __call__(self, model: Model, q: Any, v: Any, x: Any, wrenches: Any) -> Floats:
        """One state the fast way, anything else the general way. (The hottest public functions say this themselves.)"""
        try:
            work: Work = model._work.get(self.name) or self.prepare(model)
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
        work: Work = model._work.get(self.name) or self.prepare(model)
        out = work.run(*(arrays[:1] if self.only_q else arrays))
        if out.__class__ is int:
            self._explain(model, work, out, arrays)
        result: Floats = out
        return result

    def _many(self, model: Model, arrays: list[Floats | None], size: int) -> Floats:
        work: Work = model._work.get(self.name) or self.prepare(model)
        flat = [self._flat(model, a, x, size) for a, x in zip(self.inputs, arrays)]
        numbers = size * math.prod(work.shape)
        memory.require(numbers, f"the result ({self.name}) for a batch of {size:,} states", "use smaller batches")
        memory.require(WIDTH * work.lane_size, f"the scratch of {self.name} for a batch", "give it one state at a time")
        out = np.empty((size, math.prod(work.shape)))
        run = self.batch.load()

        def part(bounds: tuple[int, int]) -> int:
            return int(run(work.handle, *flat, out, *bounds, np.empty(WIDTH * work.lane_size + ALIGNMENT // 8)))

        bad = [status for status in in_parallel(part, size) if status != OK]
        if bad:
            self._explain_state(model, min(bad, key=lambda status: status >> STATE_SHIFT), arrays)
        return out.reshape((size, *work.shape))

    def _explain_state(self, model: Model, status: int, arrays: list[Floats | None]) -> NoReturn:
        """Say what is wrong with a state of a batch, by doing it again alone."""
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
        # Alone it went well: the order of operations differs a little, and so does rounding.
        if status & ((1 << STATE_SHIFT) - 1) == SINGULAR:
            raise SingularError(f"{where}: the mass matrix is singular to within rounding")
        raise StateError(f"{where}: the numbers given are too large for float64")

    def _flat(self, model: Model, argument: Argument | None, x: Floats | None, size: int) -> Floats:
        """(B, numbers) of every state; no columns where nothing is given, which kernels take for zeros."""
        if argument is None or x is None:
            return np.empty((size, 0))
        shape = argument.shape(model)
        return np.ascontiguousarray(np.broadcast_to(x, (size, *shape))).reshape(size, math.prod(shape))

    def _explain(self, model: Model, work: Work, status: int, arrays: list[Floats | None]) -> NoReturn:
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
