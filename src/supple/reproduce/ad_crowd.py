"""AD Figure 1: a crowd pushed away from the camera, detail falling with distance; how fast it is, and how far off."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from supple import scenes
from supple.exact.kinematics import poses
from supple.model.model import Model
from supple.reproduce import ad_figures as figures
from supple.reproduce import ad_measure as measure
from supple.reproduce.ad_measure import Floats
from supple.reproduce.parts import Claim, three
from supple.reproduce.qs_measure import full
from supple.reproduce.report import Report
from supple.scenes import Scene
from supple.scenes.crowd import CAMERA

DT = 2.5e-4  #: seconds of a step: fingers that nothing stops turn quickly
SHARES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
DRAWN = 0.1  #: the share of joints in the picture
SECONDS = 0.12


def crowd(report: Report, people: tuple[int, int], quick: bool) -> list[Claim]:
    scene = scenes.crowd(*people, puppets=False)
    n, rows = scene.model.n_bodies, people[0]
    steps = round(SECONDS / DT)
    report.heading(f"Figure 1: a crowd of {people[0] * people[1]}, {n:,} joints, pushed for {steps * DT:.2g} s")
    step = full(scene, 5)
    weights = {"alike": None, "carried, near": carried(scene)}
    exact = measure.run(scene.adaptive_dynamics(), DT, 1, steps)
    lines: list[Sequence[object]] = []
    rms, gains = {}, {}
    lines.append(
        ("100 %", "", _ms(exact.seconds), *(three(t / exact.seconds) for t in (step.dca, step.aba)), "", "", "")
    )
    for share in report.track(SHARES[2::3] if quick else SHARES, "crowd"):
        for name, w in weights.items():
            ad = scene.adaptive_dynamics(round(share * n), weights=w, velocity_weights=w)
            seconds = measure.step_seconds({share: ad}, DT, 40, 120, range(3))[share]
            ad.set_state(scene.q0)
            r = measure.run(ad, DT, 1, steps)
            gains[share] = step.aba / seconds
            off = row_distances(scene, r.q[-1], exact.q[-1], rows)
            if share == DRAWN:
                rms[name], drawn = off, r
            lines.append((
                f"{100 * share:g} %", name, _ms(seconds), three(step.dca / seconds), three(gains[share]),
                _moving(scene.model, r), _mm(off[0]), _mm(off[-1]),
            ))  # fmt: skip
    report.table(
        ["joints active", "weights", "ms a step", "DCA / ours", "ABA / ours", "people that move", "first row off (mm)",
         "last row off (mm)"],
        lines, left=(0, 1),
    )  # fmt: skip
    way = float(row_distances(scene, scene.q0, exact.q[-1], rows).mean())
    report.text(
        f"A full step takes {_ms(step.dca)} ms by divide and conquer and {_ms(step.aba)} ms by the articulated-body "
        f"algorithm, accelerations alone. Bodies move by {_mm(way)} mm. How far off: the root of the mean square over "
        "the ends of a row's bodies. With a tenth of the joints or fewer, they are about as far off as they move: who "
        "is pushed at the chest bends everywhere, and most joints lie deep in the assembly tree, where they are "
        "reached only through those above (section 7.3). What remains is that people are pushed away as wholes. "
        "Weights: all joints alike; or each by the moment of inertia that it carries, over the square of its distance "
        "to the camera, which gives the budget to the first rows."
    )
    active = np.zeros(n)
    active[drawn.joints[-1]] = 1.0
    figure = figures.crowd(scene, drawn.q[-1], drawn.joints[-1], active.reshape(rows, -1).mean(axis=1), rms)
    caption = f"Figure 1: the crowd with {DRAWN:.0%} of its joints active, more of them near the camera"
    report.figure("ad-figure-1.png", caption, figure)
    best = gains[min(gains)]
    what = f"a crowd with {min(gains):.0%} of its joints active: times faster than the ABA"
    return [Claim.aside("Figure 1", what, "", three(best), "the paper prints no number")]


def carried(scene: Scene) -> Floats:
    """(n_bodies,) weights: the inertia about each joint of all that hangs on it (of a free joint: its mass), over the
    square of its distance to the camera, which is how large its motion looks."""
    model = scene.model
    R, x = poses(model, scene.q0)
    c = x + np.einsum("nij,nj->ni", R, model.com)
    m, about_c = model.mass, 0.5 * np.trace(model.inertia, axis1=1, axis2=2)
    sums = np.column_stack([m, m[:, None] * c, m * (c**2).sum(axis=1) + about_c])
    for j in range(model.n_bodies - 1, -1, -1):
        if model.parent[j] >= 0:
            sums[model.parent[j]] += sums[j]
    mass, moment, second = sums[:, 0], sums[:, 1:4], sums[:, 4]
    inertia = second - 2 * (x * moment).sum(axis=1) + mass * (x**2).sum(axis=1)
    away = ((x - np.array(CAMERA)) ** 2).sum(axis=1)
    return np.asarray(np.where(model.parent < 0, mass, inertia) / away)


def row_distances(scene: Scene, q: Floats, other: Floats, rows: int) -> Floats:
    """(rows,) how far off ends of bodies are in each row of people."""
    away = ((measure.points(scene, q) - measure.points(scene, other)) ** 2).sum(axis=1)
    return np.asarray(np.sqrt(away.reshape(rows, -1).mean(axis=1)))


def _moving(model: Model, r: measure.Run) -> str:
    """How many people move as a whole, in the end."""
    return str(int((model.parent[r.joints[-1]] < 0).sum()))


def _ms(seconds: float) -> str:
    return three(1e3 * seconds)


def _mm(metres: float) -> str:
    return three(1e3 * metres)
