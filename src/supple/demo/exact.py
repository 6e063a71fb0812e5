"""Forward dynamics of a robot and of a large tree by every exact method, beside Pinocchio and MuJoCo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.table import Table

import supple
from supple import robots
from supple.bench.measure import minima
from supple.bench.peers import Mujoco, PeerState, Pinocchio
from supple.files import load_quietly

Floats = NDArray[np.float64]

METHODS = ("aba", "crba", "virtual-work", "dca")
TREE = 10_000  #: joints
ROUNDS = 15


@dataclass(frozen=True)
class Timing:
    method: str
    robot: float  #: seconds a call
    tree: float | None  #: None: not measured


def timings() -> tuple[str, list[Timing]]:
    """The robot's name, and the times of each method."""
    supple.set_threads(1)
    file = robots.find(robots.TALOS)
    robot = supple.trees.humanoid(general=False) if file is None else load_quietly(file, floating_base=True)
    state, tree = PeerState(robot), PeerState(supple.trees.random_tree(TREE, seed=1, joints=["revolute"]))
    on_robot: dict[str, Callable[[], Any]] = {f"Supple, {m}": _call(state, m) for m in METHODS}
    if file is not None:
        on_robot |= _peers(file, state)
    on_tree = {f"Supple, {m}": _call(tree, m) for m in ("aba", "virtual-work", "dca")}
    small, large = minima(on_robot, ROUNDS), minima(on_tree, 3)
    return robot.name, [Timing(name, small[name], large.get(name)) for name in on_robot]


def _call(state: PeerState, method: str) -> Callable[[], Floats]:
    def call() -> Floats:
        return supple.forward_dynamics(state.model, state.q, state.v, state.tau, method=method)  # type: ignore[arg-type]

    return call


def _peers(file: Any, state: PeerState) -> dict[str, Callable[[], Floats]]:
    """The same by others, where they are installed."""
    out: dict[str, Callable[[], Floats]] = {}
    for name, make in (
        ("pinocchio", lambda module: Pinocchio(module, file, True, state)),
        ("mujoco", lambda module: Mujoco(module, state)),
    ):
        try:
            peer = make(import_module(name))
        except ImportError:
            continue
        out[{"pinocchio": "Pinocchio, aba", "mujoco": "MuJoCo, mj_forward"}[name]] = peer.acceleration
    return out


def table(robot: str, found: list[Timing]) -> Table:
    out = Table(title="Exact forward dynamics, a call on one thread", box=SIMPLE_HEAD, title_style="bold",
                title_justify="left", pad_edge=False)  # fmt: skip
    out.add_column("", no_wrap=True)
    out.add_column(robot.capitalize(), justify="right")
    out.add_column(f"a tree of {TREE:,} joints", justify="right")
    for each in found:
        out.add_row(each.method, duration(each.robot), "" if each.tree is None else duration(each.tree))
    return out


def duration(seconds: float) -> str:
    """Seconds in a unit that reads well."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
