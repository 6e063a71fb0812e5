"""What adaptive dynamics keeps beside the desk, under one address: which nodes are active, what rigid nodes know, the
hybrid body as a tree of its own, forces.

The hybrid body [AD section 4] is what is simulated: active joints, and between them bodies rigid for the time being. It
is written down as a model of its own, the *reduced* tree, a row for each active joint with the rigid body under it, in
the form that exact/aba.py takes. A rigid body consists of *pieces*: nodes of the rigid front, and single bodies on
which something active hangs. `piece_*` tell of each where it is. Reduced body 0 is the world; row b of a table is of
reduced body b + 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.exact.aba import BODY_ROW, DOF_ROW, PATH_ROW
from supple.exact.motion import AXIS, Axes
from supple.exact.tables import BODY, ROW, aligned, realigned
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper
from supple.spatial.pointing import Pointing
from supple.spatial.references import address_of, float_vector, floats_at, int_vector, ints_at
from supple.spatial.trig import RING

POSE, MOTION, INERTIA10 = 12, 9, 10  # numbers of a pose; of w, dw and the origin's acceleration; of a rigid inertia
MOVE = 12  # of those, and the origin's velocity
# flags of a node: of the active region, of the acceleration update region, chosen; and while it is in the first, or
# chosen: that its own joint does not move, but something under it does
CURRENT, UPDATE, CHOSEN, HELD, HOLD = 1, 2, 4, 8, 16

PASSES, PINNED = 1, 2  # what `must` says

# counts: of what the lists have; steps and updates so far; what is asked
SEEN, EXPANDED, JOINTS, ANGLES, N_PUSHES, N_PATHS, QUEUE, REACHED, WORST = range(9)
STEPS, UPDATES, DUE, EVERY, MOST, MOST_REACHED, WAYS, UNCHECKED, DROPPED, COUNTS = range(9, 19)
# numbers: what the acceleration metric has in all, and neglected; the velocity metric, neglected; energies; time, and
# that of the state kept; what is asked; the accounts of ledger.py
GRAVITY, ROOT, REST, VELOCITY_REST, REMOVED, KINETIC = 0, *range(3, 8)
TIME, KEPT_TIME, KEPT_REMOVED, DT, ERROR, REACH_ERROR, DIGITS = range(8, 15)
OPEN, THEN_KINETIC, THEN_POTENTIAL, WORK, DRAG_WORK, STOPPED = range(15, 21)
HEIGHT, GROWN, LENT, STRETCH, THERE, SQUARES, NUMBERS = range(21, 28)
LEDGER = tuple(range(OPEN, NUMBERS))
# what of them a run carries along, and is not asked for or found anew
OWN_COUNTS = (STEPS, UPDATES, DUE, REACHED, UNCHECKED, DROPPED)
SAVED = ("flags", "counts", "numbers", "kept", "dropped")  #: arrays of what decides how a run goes on
OWN_NUMBERS = (*range(ROOT, TIME), TIME, KEPT_TIME, KEPT_REMOVED, DT, DIGITS, *LEDGER)
# a row of reduced bodies that are pushed: velocities so far; the forces that are no springs; those of springs' dampers
PUSHED_V, PUSHED_GIVEN, PUSHED_DRAG, PUSHED_ROW = 0, 6, 12, 18


class Store(NamedTuple):
    flags: Any  #: of nodes
    seen: Any  #: the nodes above and of the front, parents first
    expanded: Any  #: nodes chosen
    queue: Any
    piece: Any  #: of nodes: the reduced body that a piece is of
    on_path: Any  #: of nodes: whether something pushed is under them
    must: Any  #: of nodes: PASSES, something under them must be active; PINNED: their own joint must
    paths: Any  #: the nodes above the bodies that are pushed, ascending
    joints: Any  #: of the reduced tree, a joint for each row
    load_at: Any  #: of nodes
    push_leaf: Any  #: the leaf of the body pushed, for each push
    push_order: Any  #: pushes by reduced body
    push_start: Any  #: where those of a reduced body begin
    controlled: Any  #: (nv,) 1 + the first row of controls for a degree of freedom; then, of each row, 1 + the next one
    dropped: Any  #: joints stopped since the state was kept
    counts: Any
    rigid: Any  #: of nodes: their inertia as rigid bodies, in the frame of their top body
    own: Any  #: of bodies
    loads: Any
    piece_pose: Any  #: of nodes: where in the reduced body a piece's frame is
    motion: Any  #: of nodes: how a piece moves
    spans: Any
    trees: Any
    world: Any  #: of reduced bodies: pose
    moves: Any  #: of reduced bodies: motion and velocity, in their frames
    keys: Any  #: of the queue
    amount: Any  #: of nodes: their share of the metric
    v: Any
    drive: Any  #: (nv,) forces of the joints just now
    controls: Any  #: (nv,) forces of actuators; then rows of exact/joint_law.py
    momentum: Any  #: (nv,)
    pushes: Any
    reduced_pushes: Any
    velocity_weight: Any
    numbers: Any
    world_mass: Any  #: the inertia of what is rigid with the world
    kept: Any  #: (nq + nv,) the last good state
    pushed: Any  #: of reduced bodies that are pushed
    half: Any  #: (nv,) velocities within a kick
    gain: Any  #: (nv,) mean accelerations of a kick, so far
    effort: Any  #: (nv,) mean forces of joints in it, so far
    impulse: Any  #: (nv,)


class Reduced(NamedTuple):
    """The hybrid body as exact/aba.py takes a model."""

    n: Any
    bodies: Any
    rows: Any
    dofs: Any
    gravity: Any
    angles: Any


class Scratch(NamedTuple):
    """What the articulated-body algorithm needs to work on it."""

    q: Any
    v: Any
    drive: Any
    qdd: Any
    zeros: Any
    momentum: Any
    half: Any
    gain: Any
    effort: Any
    impulse: Any
    path: Any
    work: Any
    axes: Any
    dofs: Any
    angles: Any  #: room for those of the tree


_INTS, _FLOATS = 16, 26
_TABLES = 2 * (_INTS + _FLOATS)
_COUNTS, _V, _DRIVE, _MOMENTUM, _NUMBERS, _HALF, _GAIN, _EFFORT, _IMPULSE = (
    Store._fields.index(x) for x in ("counts", "v", "drive", "momentum", "numbers", "half", "gain", "effort", "impulse")
)
(
    _N, _NQ, _NV, _BODIES, _ROWS, _DOFS, _ANGLES, _PATH, _WORK, _AXES, _RING, _SCRATCH, _Q, _QDD, _ZEROS, WORDS,
) = range(_TABLES, _TABLES + 16)  # fmt: skip


@helper
def open_store(address):
    h = ints_at(address, (WORDS,))
    z = _INTS + _FLOATS
    return Store(
        int_vector(h[0], h[z + 0]), int_vector(h[1], h[z + 1]), int_vector(h[2], h[z + 2]),
        int_vector(h[3], h[z + 3]), int_vector(h[4], h[z + 4]), int_vector(h[5], h[z + 5]),
        int_vector(h[6], h[z + 6]), int_vector(h[7], h[z + 7]), int_vector(h[8], h[z + 8]),
        int_vector(h[9], h[z + 9]), int_vector(h[10], h[z + 10]), int_vector(h[11], h[z + 11]),
        int_vector(h[12], h[z + 12]), int_vector(h[13], h[z + 13]), int_vector(h[14], h[z + 14]),
        int_vector(h[15], h[z + 15]), float_vector(h[16], h[z + 16]), float_vector(h[17], h[z + 17]),
        float_vector(h[18], h[z + 18]), float_vector(h[19], h[z + 19]), float_vector(h[20], h[z + 20]),
        float_vector(h[21], h[z + 21]), float_vector(h[22], h[z + 22]), float_vector(h[23], h[z + 23]),
        float_vector(h[24], h[z + 24]), float_vector(h[25], h[z + 25]), float_vector(h[26], h[z + 26]),
        float_vector(h[27], h[z + 27]), float_vector(h[28], h[z + 28]), float_vector(h[29], h[z + 29]),
        float_vector(h[30], h[z + 30]), float_vector(h[31], h[z + 31]), float_vector(h[32], h[z + 32]),
        float_vector(h[33], h[z + 33]), float_vector(h[34], h[z + 34]), float_vector(h[35], h[z + 35]),
        float_vector(h[36], h[z + 36]), float_vector(h[37], h[z + 37]), float_vector(h[38], h[z + 38]),
        float_vector(h[39], h[z + 39]), float_vector(h[40], h[z + 40]), float_vector(h[41], h[z + 41]),
    )  # fmt: skip


@helper
def open_reduced(address):
    """The reduced tree as it is now, and scratch."""
    h = ints_at(address, (WORDS,))
    counts, numbers = int_vector(h[_COUNTS], COUNTS), float_vector(h[_NUMBERS], NUMBERS)
    n, nq, nv, capacity = counts[JOINTS], h[_NQ], h[_NV], h[_N] + 1
    g = Vec3(numbers[GRAVITY], numbers[GRAVITY + 1], numbers[GRAVITY + 2])
    m = Reduced(
        n,
        ints_at(h[_BODIES], (capacity, BODY)),
        floats_at(h[_ROWS], (capacity, ROW)),
        floats_at(h[_DOFS], (nv, 2)),
        g,
        ints_at(h[_ANGLES], (counts[ANGLES],)),
    )
    return m, Scratch(
        floats_at(h[_Q], (nq,)),
        floats_at(h[_V], (nv,)),
        floats_at(h[_DRIVE], (nv,)),
        floats_at(h[_QDD], (nv,)),
        floats_at(h[_ZEROS], (nv,)),
        floats_at(h[_MOMENTUM], (nv,)),
        floats_at(h[_HALF], (nv,)),
        floats_at(h[_GAIN], (nv,)),
        floats_at(h[_EFFORT], (nv,)),
        floats_at(h[_IMPULSE], (nv,)),
        floats_at(h[_PATH], (capacity, PATH_ROW)),
        floats_at(h[_WORK], (capacity, BODY_ROW)),
        Axes(floats_at(h[_AXES], (nv, AXIS)), floats_at(h[_RING], (RING, 2))),
        floats_at(h[_SCRATCH], (nv, DOF_ROW)),
        int_vector(h[_ANGLES], 2 * h[_N]),
    )


class HostStore(Pointing):
    """The arrays, by name, and their addresses."""

    _pointers = ("words", "address")

    def __init__(self, n: int, nq: int, nv: int, m: int, loads: int, weights: int) -> None:
        def ints(size: int) -> NDArray[np.int64]:
            return np.zeros(size, dtype=np.int64)

        per_node = {name: ints(m) for name in ("flags", "seen", "expanded", "queue", "piece", "on_path", "must")}
        self.arrays: dict[str, Any] = dict(
            per_node, paths=ints(0), joints=ints(n + 1), load_at=ints(m), push_leaf=ints(0), push_order=ints(0),
            push_start=ints(n + 3), controlled=ints(nv), dropped=ints(n), counts=ints(COUNTS),
            rigid=np.zeros(INERTIA10 * m), own=np.zeros(INERTIA10 * n), loads=np.zeros(loads),
            piece_pose=np.zeros(POSE * m), motion=np.zeros(MOTION * m), spans=np.zeros(POSE * m),
            trees=np.zeros(POSE * n), world=np.zeros(POSE * (n + 1)), moves=np.zeros(MOVE * (n + 1)),
            keys=np.zeros(m + 1), amount=np.zeros(m), v=np.zeros(nv), drive=np.zeros(nv),
            controls=np.zeros(nv), momentum=np.zeros(nv), pushes=np.zeros(0), reduced_pushes=np.zeros(0),
            velocity_weight=np.zeros(weights), numbers=np.zeros(NUMBERS), world_mass=np.zeros(INERTIA10),
            kept=np.zeros(nq + nv), pushed=np.zeros(PUSHED_ROW * (n + 1)), half=np.zeros(nv), gain=np.zeros(nv),
            effort=np.zeros(nv), impulse=np.zeros(nv),
        )  # fmt: skip
        assert tuple(self.arrays) == Store._fields
        self.tables: list[NDArray[Any]] = [
            np.zeros((n + 1, BODY), dtype=np.int64), aligned((n + 1, ROW)), np.zeros((nv, 2)), ints(2 * n),
            aligned((n + 1, PATH_ROW)), aligned((n + 1, BODY_ROW)), aligned((nv, AXIS)), aligned((RING, 2)),
            aligned((nv, DOF_ROW)),
        ]  # fmt: skip
        self.zeros, self.sizes = np.zeros(nv), [n, nq, nv]
        self.words = np.zeros(WORDS, dtype=np.int64)

    def point(self, q: NDArray[np.float64], qdd: NDArray[np.float64]) -> None:
        """Write down where everything is, q and qdd included."""
        self._state = q, qdd
        arrays = list(self.arrays.values())
        rest = [address_of(a) for a in (*self.tables, q, qdd, self.zeros)]
        sizes = [a.size for a in arrays]
        self.words[:] = [address_of(a) for a in arrays] + sizes + self.sizes + rest
        self.address = address_of(self.words)

    def _point(self) -> None:
        self.tables = [realigned(a) if a.dtype == np.float64 else a for a in self.tables]
        self.words = np.zeros(WORDS, dtype=np.int64)
        self.point(*self._state)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["arrays"][name]
        except KeyError:
            raise AttributeError(name) from None
