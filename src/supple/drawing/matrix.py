"""Where a matrix over a tree is not zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from supple.drawing import footnote, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CELLS = 600  #: of a picture at most; of larger matrices a cell shows the largest entry in it
FAINTEST = 1e-5  #: of the largest entry


def sparsity(title: str, n: int, row: Ints, column: Ints, values: Floats) -> Figure:
    """Entries that are not zero, darker where they are larger."""
    figure = new_figure(5.2, 5.6)
    ax = figure.subplots()
    cells = min(n, CELLS)
    image = np.zeros((cells, cells))
    np.maximum.at(image, (row * cells // n, column * cells // n), np.abs(values))
    shade = np.full_like(image, np.nan)
    filled = image > 0
    shade[filled] = np.log10(np.maximum(image[filled] / image.max(initial=1e-300), FAINTEST))
    ax.imshow(
        shade, cmap="Blues", vmin=np.log10(FAINTEST) - 1.5, vmax=0.5, interpolation="nearest", extent=(0, n, n, 0)
    )
    ax.set_title(title, loc="left", fontsize=11)
    ax.set(xticks=[0, n], yticks=[0, n])
    if n > CELLS:
        each = f"{n / CELLS:.1f} x {n / CELLS:.1f}"
        footnote(figure, f"Not every entry is shown: each dot is the largest of about {each}.")
    return figure
