"""A picture of a sweep: lines over one axis, heat maps over two, several of them over three; points of samples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from supple.drawing import BLUE, footnote, new_figure, saved
from supple.errors import StateError, short
from supple.sweeping.plan import REPEAT, SAMPLE

if TYPE_CHECKING:
    from supple.sweeping.result import Sweep

LINES = 6  #: as many values of a second axis are lines; more are a heat map
PANELS = 9  #: of a third axis
MOST_TICKS = 8  #: of words
LARGEST = 1e290  #: number that is drawn; beyond it, distances on paper overflow
COLOURS = "viridis"
NOTHING = "#eeeeee"  #: the colour of what failed or is missing

Values = NDArray[Any]
Axes = dict[str, Values]


def plot(sweep: Sweep, path: str | Path | None, quantity: str) -> Any:
    """See Sweep.plot."""
    values = sweep[quantity]
    if values.dtype.kind != "f":
        raise StateError(f"{quantity} is text; name a quantity that is a number")
    values = np.where(np.abs(values) < LARGEST, values, np.nan)
    names, notes = list(sweep.dimensions), []
    if REPEAT in names:
        place = names.index(REPEAT)
        notes.append(f"means of {values.shape[place]} repeats")
        values = _mean(values, place)
        names.pop(place)
    extra = values.ndim - len(names)
    long = [i for i, name in enumerate(names) if values.shape[i] > 1]
    values = values.reshape((*(values.shape[i] for i in long), *values.shape[len(names) :]))
    names = [names[i] for i in long]
    axes = sweep.axes
    for place, name in enumerate(names):
        if name in axes and axes[name].dtype.kind in "fi":  # as a ruler has them, in whatever order they were given
            order = np.argsort(axes[name], kind="stable")
            axes[name], values = axes[name][order], values.take(order, place)
    unit = f" ({sweep.units[quantity]})" if sweep.units.get(quantity, "1") != "1" else ""
    label = f"{quantity.replace('_', ' ')}{unit}"
    if SAMPLE in names:
        figure = _samples(sweep, axes, names, values, label)
    elif extra:
        figure = _points(sweep, axes, names, values, label)
    elif len(names) <= 1 or (len(names) == 2 and min(values.shape) <= LINES):
        figure = _lines(sweep, axes, names, values, label)
    else:
        figure = _maps(sweep, axes, names, values, label)
    if sweep.failed or sweep.missing:
        notes.append(f"{sweep.failed:,} runs failed, {sweep.missing:,} are missing")
    footnote(figure, "; ".join(notes))
    return saved(figure, path)


def _mean(values: Values, axis: int) -> Values:
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, values, 0.0).sum(axis) / known.sum(axis))


def _lines(sweep: Sweep, axes: Axes, names: list[str], values: Values, label: str) -> Any:
    figure = new_figure(8, 4.6)
    ax = figure.subplots()
    if len(names) == 2 and values.shape[0] < values.shape[1]:
        names, values = names[::-1], values.T
    x = axes[names[0]] if names else np.zeros(1)
    _prepare(ax.xaxis, names[0] if names else "", x)
    several = values.reshape(len(x), -1)
    for i in range(several.shape[1]):
        said = f"{names[1]} = {_said(axes[names[1]][i])}" if len(names) == 2 else None
        ax.plot(_places(x), several[:, i], ".-" if len(x) <= 60 else "-", label=said)
    if len(names) == 2:
        ax.legend(frameon=False, fontsize=9)
    ax.set_ylabel(label)
    _finish(ax, sweep)
    return figure


def _points(sweep: Sweep, axes: Axes, names: list[str], values: Values, label: str) -> Any:
    """Quantities of several numbers: all of them over one axis, as in a diagram of bifurcations."""
    if len(names) > 1:
        raise StateError(
            f"{label} has several numbers a run, which are drawn over one axis; this sweep has {len(names)}"
        )
    figure = new_figure(9, 5.4)
    ax = figure.subplots()
    x = axes[names[0]] if names else np.zeros(1)
    flat = values.reshape(len(x), -1)
    _prepare(ax.xaxis, names[0] if names else "", x)
    ax.plot(np.repeat(_places(x), flat.shape[1]), flat.reshape(-1), ",", color=BLUE, alpha=0.6)
    ax.set_ylabel(label)
    _finish(ax, sweep)
    return figure


def _maps(sweep: Sweep, axes: Axes, names: list[str], values: Values, label: str) -> Any:
    if len(names) > 3 or (len(names) == 3 and min(values.shape) > PANELS):
        raise StateError(
            f"a picture has up to three axes, one of them of at most {PANELS} values; this sweep has "
            f"{' x '.join(map(str, values.shape))}: open it with xarray (to_xarray) and select from it"
        )
    panel = int(np.argmin(values.shape)) if len(names) == 3 else None
    several = np.moveaxis(values, panel, 0) if panel is not None else values[None]
    along = [name for i, name in enumerate(names) if i != panel]
    columns = min(3, len(several))
    rows = -(-len(several) // columns)
    figure = new_figure(1.2 + (7.0 if columns == 1 else 4.2 * columns), 0.6 + (5.0 if rows == 1 else 3.6 * rows))
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).reshape(-1)
    known = several[np.isfinite(several)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    x, y = (axes[name] for name in along)
    image: Any = None
    for ax, one in zip(panels, several):
        ax.set_facecolor(NOTHING)
        image = ax.pcolormesh(_edges(x), _edges(y), one.T, cmap=COLOURS, vmin=low, vmax=high, rasterized=True)
        _prepare(ax.xaxis, along[0], x)
        _prepare(ax.yaxis, along[1], y)
    for ax in panels[len(several) :]:
        ax.set_visible(False)
    if panel is not None:
        for ax, value in zip(panels, axes[names[panel]]):
            ax.set_title(f"{names[panel]} = {_said(value)}", fontsize=10)
    else:
        _title(panels[0], sweep)
    figure.colorbar(image, ax=panels[: len(several)].tolist(), label=label)
    return figure


def _samples(sweep: Sweep, axes: Axes, names: list[str], values: Values, label: str) -> Any:
    """Points over the first one or two parameters that were sampled."""
    if len(names) > 1:
        raise StateError("samples on top of a grid are not drawn; open the sweep with xarray (to_xarray)")
    drawn = [name for name in axes if name not in sweep.dimensions and name != "seed"]
    figure = new_figure(8, 5)
    ax = figure.subplots()
    x = axes[drawn[0]]
    _prepare(ax.xaxis, drawn[0], np.sort(x))
    if len(drawn) == 1:
        ax.plot(x, values, ".", color=BLUE)
        ax.set_ylabel(label)
    else:
        y = axes[drawn[1]]
        _prepare(ax.yaxis, drawn[1], np.sort(y))
        marks = ax.scatter(x, y, c=values, s=14, cmap=COLOURS, plotnonfinite=False)
        figure.colorbar(marks, label=label)
    _finish(ax, sweep)
    return figure


def _prepare(axis: Any, name: str, values: Values) -> None:
    axis.set_label_text(name.replace("_", " "))
    if values.dtype.kind not in "fi":
        some = range(0, len(values), max(1, len(values) // MOST_TICKS))
        axis.set_ticks(list(some), [_said(values[i]) for i in some])
    elif _by_ratios(values):
        axis._set_axes_scale("log")


def _by_ratios(values: Values) -> bool:
    """Whether numbers are spread over a range so wide that ratios count."""
    return bool(len(values) > 2 and values.min() > 0 and values.max() > 50 * np.median(values) > 0)


def _places(values: Values) -> Values:
    return values if values.dtype.kind in "fi" else np.arange(len(values))


def _edges(values: Values) -> Values:
    """Of the cells about values: half way to the next."""
    x = _places(values).astype(np.float64)
    log = values.dtype.kind in "fi" and _by_ratios(values)
    x = np.log(x) if log else x
    half = 0.5 * np.diff(x)
    out = np.concatenate([[x[0] - half[0]], x[:-1] + half, [x[-1] + half[-1]]])
    return np.exp(out) if log else out


def _said(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (float, np.floating)) else short(str(value))


def _title(ax: Any, sweep: Sweep) -> None:
    ax.set_title(short(sweep.about.get("what", "")), loc="left", fontsize=11)


def _finish(ax: Any, sweep: Sweep) -> None:
    _title(ax, sweep)
    ax.grid(True, color="#e6e6e6", linewidth=0.7)
    ax.spines[["top", "right"]].set_visible(False)
