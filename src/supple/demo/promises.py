"""The same large body exactly and within a promised error: what each step costs, and the error there is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.table import Table

import supple
from supple import scenes
from supple.adaptive.measures import percent
from supple.demo.exact import duration

ERRORS = (0.1, 1e-3, 2.0**-19)  #: promised for the molecule, as shares of the largest joint acceleration
CURVE = [2.0**-k for k in range(0, 20, 2)]  #: the same for the figure
SHARES = (0.1, 0.01)  #: of the acceleration of all joints, promised for dynamics
STEPS, SECONDS = 100, 1.0  #: of which the mean is taken: at most


@dataclass(frozen=True)
class Row:
    """A way to follow a body."""

    how: str
    joints: float  #: computed in a step
    seconds: float  #: of a step
    certified: float | None = None  #: shares; None: exact
    measured: float | None = None


@dataclass(frozen=True)
class Comparison:
    title: str
    body: str  #: the same in a word
    of: str  #: what errors are shares of
    rows: list[Row]  #: the first one is exact


@dataclass(frozen=True)
class Curve:
    """How many joints an error takes."""

    joints: list[int]
    certified: list[float]
    measured: list[float]


def molecule(scene: scenes.Scene) -> tuple[Comparison, Curve]:
    """Quasi-statics of a long molecule with a force on its last atom."""
    model, tau, pushed = scene.model, _little(scene.model), scene.wrenches(scene.q0)
    rows = [Row("exact", model.n_bodies, _mean(lambda: supple.forward_dynamics(model, scene.q0, None, tau, pushed)))]
    for error in ERRORS:
        qs = scene.quasi_statics(error)
        dt = scene.step_of("quasi-statics")
        seconds = _mean(partial(qs.step, dt))
        found = qs.solve()
        rows.append(
            Row(f"error at most {percent(error)}", len(found.joints), seconds, found.error, qs.measured_error())
        )
    title = f"Quasi-statics of a molecule with {model.n_bodies:,} joints, pulled at one atom"
    return Comparison(title, "quasi-statics", "the largest joint acceleration", rows), _curve(scene)


def _curve(scene: scenes.Scene) -> Curve:
    qs = scene.quasi_statics()
    joints, certified, measured = [], [], []
    for error in CURVE:
        qs.error = error
        found = qs.solve()
        joints.append(len(found.joints))
        certified.append(found.error)
        measured.append(qs.measured_error())
    return Curve(joints, certified, measured)


def moving(scene: scenes.Scene) -> Comparison:
    """Dynamics of the same molecule from rest. The error of each step's accelerations is certified."""
    model, tau, pushed = scene.model, _little(scene.model), scene.wrenches(scene.q0)
    v = 1e-3 * np.random.default_rng(1).standard_normal(model.nv)

    def exact() -> None:
        a = supple.forward_dynamics(model, scene.q0, v, tau, pushed)
        model.integrate(scene.q0, v + scene.dt * a, scene.dt)

    rows = [Row("exact", model.n_bodies, _mean(exact))]
    for share in SHARES:
        ad = scene.adaptive_dynamics(error=share, guaranteed=True)
        ad.run(20 * scene.dt, scene.dt)
        seconds = _mean(partial(ad.step, scene.dt))
        off = ad.measured_error(scene.dt)
        ad.step(scene.dt)  # the step that was measured
        stats = ad.stats
        rows.append(Row(f"error at most {percent(share)}", stats.active_count, seconds, stats.acceleration_error, off))
    return Comparison("Dynamics of the same molecule", "dynamics", "the acceleration of all joints", rows)


def _little(model: supple.Model) -> NDArray[np.float64]:
    """A little torque at every joint: far from the force, accelerations would become so small that processors are ten
    times slower with them, which would flatter us."""
    out: NDArray[np.float64] = 1e-3 * np.random.default_rng(0).standard_normal(model.nv)
    return out


def _mean(step: Callable[[], object]) -> float:
    """Mean seconds of a step, the best of three rounds."""
    step()
    marks = [time.perf_counter()]
    while len(marks) <= STEPS and marks[-1] - marks[0] < SECONDS:
        step()
        marks.append(time.perf_counter())
    each = np.array([b - a for a, b in pairwise(marks)])
    return min(float(part.mean()) for part in np.array_split(each, 3) if len(part))


def table(comparison: Comparison) -> Table:
    out = Table(
        title=comparison.title, box=SIMPLE_HEAD, title_style="bold", title_justify="left", pad_edge=False,
        padding=0,
    )  # fmt: skip
    out.add_column("", no_wrap=True)
    for column in ("joints", "a step", "steps/s", "faster", "certified", "measured"):
        out.add_column(column, justify="right", no_wrap=True)
    exact = comparison.rows[0]
    for row in comparison.rows:
        errors = ["" if x is None else percent(x) for x in (row.certified, row.measured)]
        faster = "" if row is exact else f"{exact.seconds / row.seconds:,.0f} x"
        rate = f"{1.0 / row.seconds:,.0f}"
        out.add_row(row.how, f"{row.joints:,.0f}", duration(row.seconds), rate, faster, *errors)
    out.caption = (
        f"Errors are shares of {comparison.of}: what a step leaves out, as certified before it is taken, and as"
    )
    out.caption += " measured against a solution for all joints."
    out.caption_justify = "left"
    return out
