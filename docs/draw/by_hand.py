"""The figures of the worked examples: two and four rods, held out sideways and let go. python docs/draw/by_hand.py"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from supple.drawing import BLUE, GREY, INK, ORANGE, new_figure

PICTURES = Path(__file__).parents[1] / "pictures"
ROD, GREEN = "#c9d6df", "#2e8b7a"


def rod(ax: Any, x: float, y: float, length: float = 2.0, label: str = "") -> None:
    """A rod from (x, y) to the right, with a pin at its left end."""
    from matplotlib.patches import FancyBboxPatch

    shape = FancyBboxPatch((x, y - 0.09), length, 0.18, boxstyle="round,pad=0.02,rounding_size=0.1")
    shape.set(facecolor=ROD, edgecolor=GREY)
    ax.add_patch(shape)
    ax.plot(x, y, "o", color=INK, markersize=6, zorder=3)
    ax.text(x + 0.5 * length, y, label, ha="center", va="center", fontsize=9, color=INK)


def wall(ax: Any, x: float, y: float) -> None:
    ax.plot([x, x], [y - 0.35, y + 0.35], color=INK, linewidth=3)


def arrow(ax: Any, start: tuple[float, float], end: tuple[float, float], colour: str, text: str = "") -> None:
    """An arrow with its text at the tip."""
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.8}, zorder=4)
    side = "bottom" if end[1] > start[1] else "top"
    ax.text(end[0], end[1], text, ha="center", va=side, fontsize=9, color=colour)


def turn(ax: Any, x: float, y: float, colour: str, text: str, up: bool) -> None:
    """An arrow about a pin: the right side goes up, or down."""
    start, end = ((x + 0.42, y - 0.2), (x + 0.42, y + 0.2)) if up else ((x + 0.42, y + 0.2), (x + 0.42, y - 0.2))
    style = {
        "arrowstyle": "-|>",
        "color": colour,
        "linewidth": 1.8,
        "connectionstyle": f"arc3,rad={0.5 if up else -0.5}",
    }
    ax.annotate("", end, start, arrowprops=style, zorder=4)
    ax.text(x + 0.8, y + (0.42 if up else -0.42), text, ha="center", va="center", fontsize=9, color=colour)


def panel(ax: Any, title: str, height: float = 1.25) -> None:
    ax.set(xlim=(-0.4, 4.5), ylim=(-height, height))
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title(title, loc="left", fontsize=10, color=INK)


def panels(*titles: str) -> tuple[Any, Any]:
    """A figure, and a panel for each title."""
    figure = new_figure(9.4, 2.5)
    axes = figure.subplots(1, len(titles))
    for ax, title in zip(axes, titles):
        panel(ax, title)
    return figure, axes


def on_the_wall(ax: Any, rods: int = 2) -> None:
    wall(ax, 0, 0)
    for i in range(rods):
        rod(ax, 2 * i, 0, label=f"rod {i + 1}")


def articulated_body() -> Any:
    titles = "1. The force that holds each rod up", "2. Leaves in: what a pin feels", "3. Root out: accelerations"
    figure, (first, second, third) = panels(*titles)
    on_the_wall(first)
    for x in (1, 3):
        arrow(first, (x, 0.1), (x, 0.8), BLUE, "29.4 N")
    on_the_wall(second, rods=1)
    arrow(second, (2, 0.1), (2, 0.7), BLUE, "7.35 N")
    second.plot(2, 0, "s", color=ORANGE, markersize=12, zorder=3)
    second.text(
        2.25, -0.05, "rod 2, felt here:\n0.75 kg up and down,\n3 kg along", fontsize=9, color=ORANGE, va="center"
    )
    second.text(0, -0.95, "felt at the wall's pin:\n7 kg m² and 44.1 N m", fontsize=9, color=ORANGE, va="center")
    on_the_wall(third)
    turn(third, 0, 0, GREEN, "−6.3 rad/s²", up=False)
    turn(third, 2, 0, GREEN, "+8.4 rad/s²", up=True)
    arrow(third, (2, -0.1), (2, -1.0), BLUE, "12.6 m/s²")
    return figure


def virtual_work() -> Any:
    titles = "1. All joints open: everything falls", "2. Close joint 2, then joint 1", "3. Back: what every pin carries"
    figure, (first, second, third) = panels(*titles)
    wall(first, 0, 0)
    for i, x in enumerate((0.15, 2.4)):
        rod(first, x, 0, label=f"rod {i + 1}")
        arrow(first, (x + 1, -0.1), (x + 1, -0.8), BLUE, "9.8 m/s²")
    on_the_wall(second)
    second.text(2, 0.55, "no force needed:\nboth fall alike", ha="center", fontsize=9, color=ORANGE)
    second.text(0, -0.85, "44.1 N m, 36.75 N if rigid,\n0 N m, 8.4 N as a hinge", fontsize=9, color=ORANGE)
    on_the_wall(third)
    arrow(third, (0.12, 0.1), (0.12, 0.6), BLUE, "8.4 N on rod 1,\nupwards")
    arrow(third, (2, -0.1), (2, -0.6), BLUE, "2.1 N on rod 2,\ndownwards")
    return figure


def divide_and_conquer() -> Any:
    figure = new_figure(8.4, 4.2)
    ax = figure.subplots()
    ax.set(xlim=(-1.9, 10.3), ylim=(-1.2, 4.5))
    ax.set_axis_off()
    on_the_wall(ax, rods=4)
    nodes = {"12": (2.0, 1.4), "34": (6.0, 1.4), "1234": (4.0, 2.7), "wall": (4.0, 4.0)}
    said = {
        "12": "rods 1 and 2\njoint 2: −2.273 N",
        "34": "rods 3 and 4\njoint 4: −0.152 N",
        "1234": "rods 1 to 4\njoint 3: 0.606 N",
        "wall": "on the wall\njoint 1: 8.487 N",
    }
    for i in range(4):
        ax.plot((2 * i + 1, nodes["12" if i < 2 else "34"][0]), (0.1, 1.4), color=GREY, linewidth=1, zorder=1)
    for child, parent in (("12", "1234"), ("34", "1234"), ("1234", "wall")):
        ax.plot(*zip(nodes[child], nodes[parent]), color=GREY, linewidth=1, zorder=1)
    for name, (x, y) in nodes.items():
        box = {"facecolor": "white", "edgecolor": ORANGE, "boxstyle": "round,pad=0.35"}
        ax.text(x, y, said[name], ha="center", va="center", fontsize=9, color=INK, bbox=box, zorder=2)
    ax.annotate("", (8.6, 4.0), (8.6, 0.2), arrowprops={"arrowstyle": "-|>", "color": ORANGE, "linewidth": 1.5})
    ax.text(8.75, 2.0, "up: responses\n$\\Phi$, $b$", fontsize=9, color=ORANGE, va="center")
    ax.annotate("", (-0.9, 0.2), (-0.9, 4.0), arrowprops={"arrowstyle": "-|>", "color": BLUE, "linewidth": 1.5})
    ax.text(-1.05, 2.0, "down:\nforces", fontsize=9, color=BLUE, va="center", ha="right")
    for x, force, text in ((0, 8.487, "8.487 N"), (2, -2.273, "−2.273"), (4, 0.606, "0.606"), (6, -0.152, "−0.152")):
        ax.text(x, -0.55, text, ha="center", fontsize=9, color=BLUE, weight="bold" if force > 1 else "normal")
    ax.text(3.2, -1.05, "what each pin carries, upwards on the rod to its right", ha="center", fontsize=9, color=BLUE)
    return figure


FIGURES = {"hand-articulated-body": articulated_body, "hand-virtual-work": virtual_work,
           "hand-divide-and-conquer": divide_and_conquer}  # fmt: skip


def main(folder: Path = PICTURES) -> None:
    for name, draw in FIGURES.items():
        draw().savefig(folder / f"{name}.png", dpi=110, facecolor="white")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
