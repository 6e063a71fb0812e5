"""`supple bench loops`: a robot whose feet are held, beside Pinocchio with the same rows; mechanisms of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console

import supple
from supple import robots
from supple.bench import closed_chain, hybrid_net, windows
from supple.bench.exact import peer
from supple.bench.measure import agree, minima
from supple.bench.peers import PeerState, Pinocchio
from supple.bench.rows import Row

#: Times faster than the peer: (floor, aim).
HELD_PINOCCHIO = (1.3, 2.0)
THEIRS = "pin.constraintDynamics"
SOLES = ("left_sole_link", "right_sole_link")


def groups(console: Console, quick: bool) -> Iterator[tuple[str, list[Row]]]:
    yield from _held_feet(console, quick)
    for n in windows.BESIDE[:1] if quick else windows.BESIDE:
        yield f"A chain of {n:,} four-bar windows", windows.beside_peers(console, n, quick)
    links, error = f"{closed_chain.LINKS:,}", "relative joint error 2^-19"
    yield f"Quasi-statics of a closed chain of {links} links, one force, {error}", closed_chain.rows(quick)
    yield "A step of adaptive dynamics of a net", hybrid_net.rows(quick)
    yield "Longer and longer mechanisms, by their number of windows", windows.growth(quick)
    yield "Square nets", windows.squares(quick)


def _held_feet(console: Console, quick: bool) -> Iterator[tuple[str, list[Row]]]:
    pin, file = peer(console, "pinocchio", "pin"), robots.find(robots.TALOS)
    if file is None:
        console.print("Talos is left out: pip install example-robot-data brings its file")
        return
    state = PeerState(supple.load(file, floating_base=True))
    held = replace(state.model, loop_list=tuple(_held(state, sole) for sole in SOLES))
    q, tau = state.q, state.tau
    state.v = v = supple.close_velocities(held, q, state.v)
    calls: dict[str, Any] = {
        "forward dynamics": lambda: supple.forward_dynamics(held, q, v, tau),
        "of the tree": lambda: supple.forward_dynamics(state.model, q, v, tau),
    }
    if pin is not None:
        theirs = _theirs(pin, Pinocchio(pin, file, True, state))
        agree(f"forward dynamics and {THEIRS}", calls["forward dynamics"](), theirs(), 1e-9)
        calls[THEIRS] = theirs
    best = minima(calls, 20 if quick else 100)
    found = [Row("held", best["forward dynamics"], "s", best["of the tree"], "free")]
    if pin is not None:
        beside = best["forward dynamics"], "s", best[THEIRS], THEIRS
        found.insert(0, Row("held", *beside, *HELD_PINOCCHIO))
    yield "Talos, both soles held (12 rows)", found


def _held(state: PeerState, name: str) -> supple.Loop:
    """A weld of a frame to the world, where it is."""
    frame, pose, none = state.model.frames[name], supple.poses(state.model, state.q)[name], np.zeros(3)
    here = frame.position, frame.rotation
    return supple.Loop(name, "fixed", -1, frame.body, pose.position, pose.rotation, *here, none, none)


def _theirs(pin: Any, theirs: Pinocchio) -> Callable[[], Any]:
    """Their call with the same rows."""
    rows, memory = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for name in SOLES:
        frame = theirs.model.frames[theirs.model.getFrameId(name)]
        kind, axes = pin.ContactType.CONTACT_6D, pin.ReferenceFrame.LOCAL
        row = pin.RigidConstraintModel(kind, theirs.model, frame.parentJoint, frame.placement, axes)
        rows.append(row)
        memory.append(row.createData())
    pin.initConstraintDynamics(theirs.model, theirs.data, rows, memory)
    settings, state = pin.ProximalSettings(1e-12, 1e-12, 1), theirs.state
    given = theirs.model, theirs.data, state.q, state.v, theirs.tau, rows, memory, settings
    return lambda: pin.constraintDynamics(*given)
