"""The compiled side of a call: what a core finds at one address, and the two kernels that are made of a core.

One kernel is the entry point for a single state, which is given Python objects (spatial/cpu); the other runs a range of
a batch, four states to a SIMD register. Both check numbers, and return a status if one is bad. calls.py has the other
side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import njit, types

from supple.exact.motion import Axes, CallState
from supple.exact.tables import ALIGNMENT, Tables, Wrench
from supple.model.joint_poses import Axis
from supple.model.manifold import UNIT_TOLERANCE
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
    header_of,
    is_none,
    lanes_vector,
    new_array,
    release,
    status_object,
)
from supple.spatial.fields import Address, Integer
from supple.spatial.structs import Link, Struct
from supple.spatial.trig import RING, Turn

NOT_FINITE, NOT_UNIT, SINGULAR = 2, 3, 4
STATE_SHIFT = 8  #: a batch kernel returns status + (state << 8)

REGISTER = 8 * WIDTH  #: bytes


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
    name: str, core: Any, rows: ScratchRows, only_q: bool, needs: tuple[bool, bool], lanes: bool
) -> tuple[Kernel, Kernel | None]:
    """The entry points of an algorithm: for one state, given as q alone or with all else; for a range of a batch, four
    states at a time, unless its branches depend on numbers, so that four states cannot go together (lanes False).

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
    return one, Kernel(batch, BATCH, f"{name} on batches", effort=2, plain=False, nogil=True) if lanes else None
