"""A plot of a result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from supple.drawing import footnote, new_figure, saved
from supple.errors import StateError, short
from supple.simulating.names import error_name

if TYPE_CHECKING:
    from supple.simulating.result import Result

COORDINATES = 8  #: how many are plotted unless joints are named


def plot(result: Result, path: str | Path | None, joints: Sequence[str] | None) -> Any:
    """See Result.plot."""
    counts, error = result.active_counts, result.error
    applied = result.segments[0].joint_forces is not None
    rows = 2 + applied + (counts is not None) + (error is not None)
    figure = new_figure(8, 2.4 * rows)
    energies, coordinates, *rest = figure.subplots(rows, 1, sharex=True)
    t, kinetic, potential = result.progress, result.kinetic, result.potential
    energies.plot(t, kinetic + potential, "k", label="energy")
    energies.plot(t, kinetic, label="kinetic")
    energies.plot(t, potential, label="potential")
    energies.set_ylabel(result.model.units.energy)
    energies.set_title(f"{short(result.model.name)}: {_how(result)}", loc="left")
    curves = _curves(result, joints, "q")
    _plot_curves(coordinates, result, curves)
    coordinates.set_ylabel(f"rad, {result.model.units.length}")
    axes = (energies, coordinates, *rest)
    if applied:
        _plot_curves(rest[0], result, _curves(result, joints, "v"))
        rest[0].set_ylabel("force applied")
        rest = rest[1:]
    if counts is not None:
        rest[0].plot(t, counts, label="active joints")
        rest[0].set_ylabel("joints")
    if error is not None:
        _plot_error(rest[-1], t, error, str(result.measure))
    for event in result.events:
        for axis in axes:
            axis.axvline(event.time / result._each, color="0.8", lw=0.8, zorder=0)
    for axis in axes:
        if axis.get_legend_handles_labels()[0]:  # no joints may be asked for
            axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1].set_xlabel(result.progress_unit)
    footnote(figure, _left_out(result, len(curves)))
    return saved(figure, path)


def _plot_curves(axis: Any, result: Result, curves: dict[str, list[tuple[Any, Any]]]) -> None:
    for number, (name, parts) in enumerate(curves.items()):
        for k, (times, values) in enumerate(parts):
            axis.plot(result._counted(times), values, f"C{number % 10}", label=short(name) if k == 0 else None)


def _plot_error(axis: Any, t: Any, error: Any, measure: str) -> None:
    """Errors over time: in per cent, or in their unit."""
    name, absolute, unit = measure.partition(" [")
    axis.plot(t, error if absolute else 100.0 * error, label=error_name(measure))
    axis.set_ylabel(unit.rstrip("]") if absolute else "%")
    axis.set_title(name, loc="left", fontsize=8)


def _how(result: Result) -> str:
    return ", ".join(str(result.about[k]) for k in ("method", "integrator") if result.about.get(k))


def _left_out(result: Result, drawn: int) -> str:
    """What the result has and the picture does not show."""
    coordinates = max(s.model.nq for s in result.segments)
    out = []
    if drawn < coordinates:
        out.append(f"{coordinates - drawn:,} of {coordinates:,} coordinates (joints=[...] chooses those drawn)")
    if any(len(s) and np.any(s.v[-1]) for s in result.segments):
        out.append("velocities (result.v)")
    if result.segments[0].joint_wrenches is not None:
        out.append("joint wrenches (result.joint_wrenches)")
    if result.segments[0].joint_forces is not None:
        out.append("passive and pushed forces (result.passive, result.pushed)")
    return f"Not shown: {', '.join(out)}." if out else ""


def _curves(result: Result, joints: Sequence[str] | None, what: Literal["q", "v"]) -> dict[str, list[tuple[Any, Any]]]:
    """The curves of coordinates (q), or of forces applied along velocities (v), by name: times with values for each
    segment that has it."""
    curves: dict[str, list[tuple[Any, Any]]] = {}
    for segment in result.segments:
        model = segment.model
        wanted = list(joints) if joints is not None else list(model.joint_names[:COORDINATES])
        rows = np.asarray(segment.q) if what == "q" else np.asarray(segment.joint_forces)[:, 0]
        for name in wanted:
            if joints is None or name in model.joints:
                at: slice = getattr(model.joints[name], what)
                for i in range(at.start, at.stop):
                    label = name if at.stop - at.start == 1 else f"{name}[{i - at.start}]"
                    if joints is not None or label in curves or len(curves) < COORDINATES:
                        curves.setdefault(label, []).append((segment.times, rows[:, i]))
    missing = [] if joints is None else [j for j in joints if not any(j in s.model.joints for s in result.segments)]
    if missing:
        raise StateError(f"no joint named {missing[0]!r} in this result")
    return curves
