"""`supple demo`: a robot and a tree of 10,000 joints, every method of forward dynamics, and a picture."""

from __future__ import annotations

import timeit
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import supple
from supple import robots
from supple.drawing import require_matplotlib
from supple.errors import SuppleError
from supple.exact.forward import METHODS

Floats = NDArray[np.float64]

N_TREE = 10_000
DENSE_LIMIT = 2_000  #: degrees of freedom beyond which the dense method is not worth waiting for

#: A step, for a robot that has these joints.
STEP = {
    "leg_left_3_joint": -0.75, "leg_left_4_joint": 0.95, "leg_left_5_joint": -0.2,
    "leg_right_3_joint": 0.2, "leg_right_4_joint": 0.35, "leg_right_5_joint": -0.5,
    "arm_left_1_joint": 0.3, "arm_left_2_joint": 0.35, "arm_left_3_joint": -0.2, "arm_left_4_joint": -0.5,
    "arm_right_1_joint": -0.3, "arm_right_2_joint": -0.3, "arm_right_3_joint": 0.2, "arm_right_4_joint": -1.3,
}  # fmt: skip


@dataclass(frozen=True)
class Result:
    """What one method gave on one model: seconds a call, differences relative to the largest number."""

    method: str
    seconds: float | None = None
    to_first: float = 0.0  #: from the first method's accelerations
    to_wanted: float = 0.0  #: from the accelerations whose inverse dynamics gave tau
    reason: str = ""  #: why it was left out


@dataclass(frozen=True)
class Case:
    name: str
    title: str
    model: supple.Model
    q: Floats
    results: list[Result]


def run(out: Path, console: Console) -> None:
    """The table on the console and the picture in out/demo.png."""
    rng = np.random.default_rng(0)
    robot = _robot(console)
    tree = grow_tree(N_TREE)
    sway = tree.integrate(tree.neutral(), 0.03 * rng.standard_normal(tree.nv))
    cases = [
        _compare(robot.name.capitalize(), f"{robot.nv} degrees of freedom", robot, _stand(robot), rng),
        _compare("Tree", f"{tree.nv:,} joints", tree, sway, rng),
    ]
    console.print(_table(cases))
    try:
        require_matplotlib()
    except SuppleError as e:
        console.print(f"No picture: {e}", markup=False)
        return
    from supple.demo import picture

    file = out / "demo.png"
    picture.draw(cases, file)
    console.print(f"The picture is in {file}", markup=False, highlight=False)


# --- two bodies -----------------------------------------------------------------------------------


def _robot(console: Console) -> supple.Model:
    file = robots.find(robots.TALOS)
    if file is not None:
        return supple.load(file, floating_base=True)
    console.print("Talos is not installed (pip install example-robot-data): a generated humanoid stands in.")
    model: supple.Model = supple.trees.humanoid(general=False)
    return model


def _stand(model: supple.Model) -> Floats:
    q = model.neutral()
    for name, angle in STEP.items():
        if name in model.joints:
            q[model.joints[name].q] = angle
    return q


def grow_tree(n: int, seed: int = 3) -> supple.Model:
    """A tree of n revolute joints as a gardener means it: twigs of some links that fork into shorter ones."""
    rng = np.random.default_rng(seed)
    builder = supple.ModelBuilder("tree")
    # The body to grow from (None: the ground), its length, the next one's, links to the next fork.
    tips: deque[tuple[int | None, float, float, int]] = deque([(None, 0.0, 1.0, 7)])
    while len(builder) < n:
        body, height, length, left = tips.popleft()
        twigs = 1 if left else int(rng.choice((2, 3, 4), p=(0.3, 0.45, 0.25)))
        turn = rng.uniform(0, 2 * np.pi)
        for k in range(min(twigs, n - len(builder))):
            tilt = 0.1 * rng.standard_normal() if left else rng.uniform(0.3, 0.8)
            around = turn + 2 * np.pi * k / twigs + 0.3 * rng.standard_normal()
            size = length if left else length * rng.uniform(0.72, 0.9)
            axis = np.array([np.cos(around), np.sin(around), 0.0])
            child = builder.add_body(
                None,
                body,
                axis=axis,
                position=(0.0, 0.0, height),
                rotation=np.append(axis * np.sin(tilt / 2), np.cos(tilt / 2)),
                mass=size**3,
                com=(0.0, 0.0, size / 2),
                inertia=size**5 / 12 * np.array([1.0, 1.0, 0.1]),
            )
            tips.append((child, size, size, left - 1 if left else int(rng.integers(2, 6))))
    return builder.build()


# --- every method -----------------------------------------------------------------------------------


def _compare(name: str, size: str, model: supple.Model, q: Floats, rng: np.random.Generator) -> Case:
    v, wanted = rng.standard_normal((2, model.nv))
    tau = supple.inverse_dynamics(model, q, v, wanted)
    results: list[Result] = []
    first: Floats | None = None
    for method in METHODS:
        if method == "dense" and model.nv > DENSE_LIMIT:
            gigabytes, steps = 8e-9 * model.nv**2, model.nv**3 / 3
            reason = f"a matrix of {gigabytes:.2g} GB, and {steps:.1g} multiplications to factor it"
            results.append(Result(method, reason=reason))
            continue

        def call(method: Any = method) -> Floats:
            return supple.forward_dynamics(model, q, v, tau, method=method)

        a = call()
        first = a if first is None else first
        results.append(Result(method, _seconds(call), _difference(a, first), _difference(a, wanted)))
    return Case(name, f"{name}: {size}", model, q, results)


def _seconds(call: Any) -> float:
    """The least time a call takes, within a tenth of a second or so."""
    number = max(1, min(1000, int(0.01 / max(timeit.timeit(call, number=1), 1e-6))))
    return min(timeit.repeat(call, number=number, repeat=8)) / number


def _difference(a: Floats, b: Floats) -> float:
    return float(np.abs(a - b).max() / np.abs(b).max())


def _table(cases: list[Case]) -> Table:
    table = Table(title="Forward dynamics by every method", box=SIMPLE_HEAD, title_style="bold", pad_edge=False)
    table.add_column("method", no_wrap=True)
    for column in ("time a call", "off aba", "off the known"):
        table.add_column(column, justify="right")
    notes = [
        "The forces are inverse dynamics (RNEA) of known accelerations, which every method has to find again.",
        "Differences, from aba and from the known, are relative to the largest.",
    ]
    for case in cases:
        table.add_row(f"[bold]{case.title}[/]")
        for r in case.results:
            if r.seconds is None:
                table.add_row(f"  {r.method}", "[dim]left out[/]")
                notes.append(f"{r.method} is left out on the {case.name.lower()}: {r.reason}.")
                continue
            to_first = "" if r is case.results[0] else f"{r.to_first:.1e}"
            table.add_row(f"  {r.method}", duration(r.seconds), to_first, f"{r.to_wanted:.1e}")
        table.add_section()
    table.caption, table.caption_justify = " ".join(notes), "left"
    return table


def duration(seconds: float) -> str:
    """Seconds in a unit that reads well."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
