"""Forward dynamics by divide and conquer [Featherstone 1999; QS section 3.1] over the assembly tree.

    pass 0   from the root to the leaves: velocities, and the force that the bodies need when no joint accelerates
    pass 1   from the leaves of the assembly tree up: each node's articulated-body equation from those of its parts
    pass 2   down again: every joint's acceleration, and the forces on the parts

Accelerations are relative to zeta, as in aba.py, so velocities, gravity and wrenches enter as one force on each body
(`external`), and the world does not accelerate. For a joint, only what pass 2 needs is stored [dca_memory.py]. In large
bodies, short stretches of revolute joints are not divided any further but assembled joint by joint [dca_runs.py].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numpy.typing import ArrayLike, NDArray

from supple.assembly.absorbing import leaf_forces
from supple.assembly.joints import force_in_basis
from supple.assembly.memory import AssembledBody
from supple.assembly.nodes import RIGID as RIGID_WORDS
from supple.assembly.passes import (
    absorbed_of,
    join_down,
    leaf_down,
    light_down,
    lone_down,
    next_joint,
    renew,
    sides_of_leaf,
    stretch_of,
    sum_down,
)
from supple.assembly.revolute_joins import is_plain_revolute, join_revolute, revolute_down
from supple.assembly.tree import JOIN, LEAF, LIGHT, SUM, Assembly, assemble
from supple.errors import SingularError
from supple.exact.aba import ABA, joint_force
from supple.exact.call_kernels import SINGULAR, STATE_SHIFT, state_status
from supple.exact.dca_memory import DcaScratch, Forces, Layout, Passes, SavedBody
from supple.exact.dca_runs import accelerate_run, assemble_run
from supple.exact.digits import has_mobilities, keeps_digits, settled
from supple.exact.motion import Axes, CallState, joint_of, move, turn_ahead, turn_of, turned_inertia, world_at_rest
from supple.exact.rnea import rigid_force
from supple.exact.tables import Wrench
from supple.exact.threads import in_parallel, run_parts
from supple.model.joint_poses import REVOLUTE
from supple.model.model import Model
from supple.spatial.addresses import vector
from supple.spatial.algebra import crf, cross, rotate_force, shift_motion, transpose, z_axis
from supple.spatial.compiler import helper, kernel
from supple.spatial.cpu import LINE, OK, fetch_from

Floats = NDArray[np.float64]

AHEAD, JOINT_LINES = 6, 11  # nodes ahead at which cache lines are prefetched; cache lines of a joint
MASK = (1 << STATE_SHIFT) - 1


saved_among, wrenches_at = SavedBody.among, Wrench.table


@helper
def forces_on_bodies(x, state, body):
    """Pass 0: the force of each body at acceleration zeta, reversed, in its adapted basis; the joints' own forces; the
    turns of revolute joints."""
    m, path, S = x.model, x.path, Axes(x.axes, x.ring)
    path[0].zeta = world_at_rest(m, state.q[0], path[0])
    done = 0
    for b in range(m.n):
        i, p, kind, _ = joint_of(m, b)
        done = turn_ahead(m, state.q, S, done, b)
        R, r, V, c = move(m, b, path[p].R, path[p].V, state.q, state.v, S)
        I = turned_inertia(R, m.shapes[b])
        zeta = shift_motion(r, path[p].zeta) + c
        path[i].R, path[i].V, path[i].zeta = R, V, zeta
        if x.run_of[b] >= 0:
            f = rigid_force(I, V.ang, zeta.ang, zeta.lin + cross(V.ang, V.lin))  # as in aba.py
            if state.pushed:
                f = f - rotate_force(R @ m.outward[b].R, state.wrenches[b].f)
            run, row = x.runs[x.run_of[b]], x.bodies[b]
            row.r, row.z, row.p, row.I = r, z_axis(R), f, I
            if b == run.first:
                run.R1 = R
            if b == run.last:
                run.R2 = R
        else:
            f = rotate_force(transpose(R), I @ zeta + crf(V, I @ V))
            if state.pushed:
                f = f - rotate_force(m.outward[b].R, state.wrenches[b].f)
            body.external[b].f = force_in_basis(body.tree, b, f) * -1.0
        if kind == REVOLUTE:
            x.turns[b].cos, x.turns[b].sin = turn_of(m, b, S, 0)
    for j in range(m.nv):
        body.force[j] = joint_force(m, state.known, state.v, j)


@helper
def assemble_nodes(x, start, stop):
    """Pass 1, over a part of the order. Returns the smallest pivot, and its node."""
    body, tree, order = x.body, x.body.tree, x.order
    smallest, worst = 1.0e300, -1
    for at in range(start, stop):
        i = order[at]
        if at + AHEAD < stop:
            soon = order[at + AHEAD]
            if tree.kind[soon] == JOIN:
                fetch_from(body.numbers, body.joint_at[soon], JOINT_LINES)
            else:
                fetch_from(body.numbers, body.node_at[soon], RIGID_WORDS // LINE)
        kind, j, pivot = tree.kind[i], tree.item[i], 1.0e300
        if x.run_at[i] >= 0:
            pivot = assemble_run(body, i, x.runs[x.run_at[i]], x.bodies, x.dofs)
        elif kind == JOIN and is_plain_revolute(tree, j):
            pivot = join_revolute(body, i, x.turns[j].cos, x.turns[j].sin)
        elif kind == LEAF and tree.left[i] < 0:  # its matrices are constant
            if not tree.lone[i]:
                sides, f = sides_of_leaf(tree, i, False), body.external[j].f
                leaf_forces(next_joint(tree, j), stretch_of(body, i), False, absorbed_of(body, i), sides, f)
        else:
            pivot = renew(body, i, False, True)
        if not pivot >= smallest:
            smallest, worst = pivot, i
        if x.save_at[i] >= 0:
            saved, C = saved_among(body.numbers, x.save_at[i]), stretch_of(body, i)
            saved.Phi1, saved.b1 = C.Phi1, C.b1
    return smallest, worst


@helper
def accelerate_nodes(x, start, stop):
    """Pass 2, over a part of the order, backwards."""
    body, tree, order = x.body, x.body.tree, x.order
    for at in range(stop - 1, start - 1, -1):
        i = order[at]
        if at - 4 * AHEAD >= start and tree.kind[order[at - 4 * AHEAD]] != LEAF:
            fetch_from(body.numbers, body.joint_at[order[at - 4 * AHEAD]], JOINT_LINES)
        kind, j, l = tree.kind[i], tree.item[i], tree.left[i]
        if x.run_at[i] >= 0:
            accelerate_run(body, i, x.runs[x.run_at[i]], x.bodies, x.dofs)
        elif kind == JOIN:
            if is_plain_revolute(tree, j):
                revolute_down(body, i, x.turns[j].cos, x.turns[j].sin)
            else:
                join_down(body, i)
        elif kind == LIGHT:
            light_down(body, i)
        elif kind == SUM:
            sum_down(body, i)
        elif l >= 0:
            if tree.lone[i]:
                lone_down(body, i)
            else:
                saved = saved_among(body.numbers, x.save_at[i])
                leaf_down(body, i, saved.Phi1, saved.b1)


_f1, _f2, _int = types.float64[::1], types.float64[:, ::1], types.int64


@kernel(_int(Forces.type, AssembledBody.type, _f1, _f1, _f1, _f2, types.boolean), "dca, forces", nogil=True)
def forces_kernel(forces, body, q, v, tau, wrenches, pushed):
    """Pass 0. Returns a status."""
    state = CallState(vector(q), vector(v), vector(tau), pushed, wrenches_at(wrenches.ctypes.data))
    status = state_status(forces.model, state.q)
    if status == OK:
        forces_on_bodies(forces, state, body)
    return status


@kernel(_int(Passes.type, _int, _int), "dca, assembly", effort=8, nogil=True)
def assemble_kernel(passes, start, stop):
    """Pass 1. Returns OK, or SINGULAR and the node."""
    smallest, worst = assemble_nodes(passes, start, stop)
    return OK if smallest > 0.0 else SINGULAR + (max(worst, 0) << STATE_SHIFT)


@kernel(_int(Passes.type, _int, _int), "dca, accelerations", nogil=True)
def accelerate_kernel(passes, start, stop):
    """Pass 2. Returns OK."""
    accelerate_nodes(passes, start, stop)
    return OK


def divide_and_conquer(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    order: str | ArrayLike = "balanced",
) -> Floats:
    """forward_dynamics by divide and conquer, over an assembly tree of any order (see assembly.assemble)."""
    layout = _layout(model, order)
    arrays, size = ABA.arrays(model, (q, v, tau, wrenches))
    B = 1 if size is None else size
    flat_q, flat_v, flat_tau, flat_w = (ABA._flat(model, argument, x, B) for argument, x in zip(ABA.inputs, arrays))
    if arrays[2] is None:
        flat_tau = np.zeros((B, model.nv))
    pushed = arrays[3] is not None
    pushes = flat_w.reshape(B, model.n_bodies, 6) if pushed else np.empty((B, 0, 6))
    out = np.empty((B, model.nv))
    lost: list[int] = []  # nodes at which a pivot was not positive
    forces, up, down = forces_kernel.load(), assemble_kernel.load(), accelerate_kernel.load()

    def solve(i: int, scratch: DcaScratch, alone: bool) -> int:
        """One state; alone, on several threads."""
        for body in scratch.bodies:
            body.q, body.qdd = flat_q[i], out[i]
        at, arguments = scratch.bodies[-1].address, (flat_q[i], flat_v[i], flat_tau[i])
        status = scratch.status or int(forces(scratch.forces.address, at, *arguments, pushes[i], pushed))
        *below, top = ((passes.address, *bounds) for passes, bounds in zip(scratch.passes, layout.parts))
        if status == OK:
            status = max(_all(up, below, alone), default=OK) or int(up(*top))
        if status == OK:
            down(*top)
            _all(down, below, alone)
        if status != OK:
            out[i] = np.nan
        if status & MASK == SINGULAR:
            lost.append(status >> STATE_SHIFT)
        return OK

    def some(bounds: tuple[int, int]) -> int:
        scratch = DcaScratch(model, layout)
        return max((solve(i, scratch, False) for i in range(*bounds)), default=OK)

    if size is None:
        try:
            scratch = layout.kept.pop()
        except IndexError:  # another thread is using it: this one makes its own
            scratch = DcaScratch(model, layout)
        solve(0, scratch, True)
        layout.kept[:] = [scratch]
    else:
        in_parallel(some, size)
    if lost and not has_mobilities(model):
        raise _no_inverse(model, layout.tables.assembly, lost[0])
    if not keeps_digits(model) or not np.isfinite(out).all():  # which also reports what is wrong with a state
        out = settled(model, "divide and conquer", arrays, size, out)
    return out[0] if size is None else out


def _all(run: Callable[..., int], calls: list[tuple[Any, ...]], threads: bool) -> list[int]:
    return run_parts(lambda call: int(run(*call)), calls) if threads and calls else [int(run(*call)) for call in calls]


def _layout(model: Model, order: str | ArrayLike) -> Layout:
    assembly = assemble(model, order)
    if not isinstance(order, str):
        return Layout(model, assembly)
    return model._kept((Layout, order), lambda: Layout(model, assembly))


def _no_inverse(model: Model, assembly: Assembly, node: int) -> SingularError:
    body = model.body_names[int(assembly.item[node])]
    return SingularError(
        f"divide and conquer needs the inverse of every path body's inertia, and body {body!r}, with what is joined to "
        "it, has no inertia in some direction; give it mass and inertia, or use method='aba'"
    )
