"""Pictures of things, from plain arrays: matplotlib is wanted only when one is drawn."""

from __future__ import annotations

import io
import os
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from supple.arguments import PATH, take
from supple.errors import SuppleError, printable
from supple.writing import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, GREY, PALE, BLUE, ORANGE = "#1d2b36", "#8fa0ad", "#cdd5db", "#1b4f72", "#e0702a"


def require_matplotlib() -> None:
    """Refuse in one sentence where matplotlib is missing, or does not start. (It refuses an unknown MPLBACKEND, though
    no figure here needs a backend.)"""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise SuppleError("figures need matplotlib: pip install 'supple[figures]'") from None
    except Exception as error:
        why, backend = str(error), os.environ.get("MPLBACKEND")
        if backend and backend in why:
            why = f"the environment variable MPLBACKEND is {backend!r}, which it does not know: unset it"
        raise SuppleError(f"figures need matplotlib, which does not start: {why}") from None


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches; refused in one sentence where there is no matplotlib."""
    require_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return _shown(Figure)(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1))


@cache
def _shown(figure: type[Figure]) -> type[Figure]:
    """A kind of figure that notebooks show, whether or not pyplot draws in them."""

    class Picture(figure):  # type: ignore[misc, valid-type]
        def _repr_png_(self) -> bytes:
            file = io.BytesIO()
            self.savefig(file, format="png", dpi=100, facecolor="white")
            return file.getvalue()

    return Picture


def footnote(figure: Figure, text: str) -> None:
    """Small print below a picture: what it leaves out."""
    if text:
        figure.supxlabel(text, x=0.01, ha="left", fontsize=8, color=GREY)


def saved(figure: Figure, path: str | PathLike[str] | None) -> Figure:
    """The figure, also written to a file if one is named; its ending (.png, .svg, .pdf) says how."""
    _take_names_as_they_are(figure)
    if path is not None:
        to = Path(take("path", path, PATH))
        stem = to.name.rstrip(".")  # empty of "." and ".."
        save(figure, to if to.suffix.strip(".") or not stem else to.with_name(f"{stem}.png"))
    return figure


def save(figure: Figure, path: Path, dpi: Any = 150, paper: str = "white") -> None:
    """Write a figure to a file; dpi: as matplotlib takes it."""
    try:
        with replacing(path) as file:
            figure.savefig(file, format=path.suffix[1:].lower(), dpi=dpi, facecolor=paper)
    except ValueError as e:  # an ending that stands for no format
        raise SuppleError(f"the figure cannot be saved as {str(path)!r}: {e}") from None


def _take_names_as_they_are(figure: Figure) -> None:
    """A name with dollars in it is no formula. (The numbers at axes are: powers of ten.)"""
    from matplotlib.text import Text

    of_axes = {text for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for text in axis.findobj(Text)}
    for text in figure.findobj(Text):
        if isinstance(text, Text) and text not in of_axes:
            text.set_parse_math(False)
            text.set_text(printable(text.get_text(), keep="\n"))
