"""`supple inspect`: what is in a file, what is wrong with it, what it costs, and which method is fastest."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from supple.commands.console import SHOWN, new_console, plain, say, show_remarks

if TYPE_CHECKING:
    from rich.console import Console

    from supple.model.model import Model
    from supple.model.shapes import Shape

#: Remarks on a file that say that something is wrong with the robot, not merely unused.
PROBLEMS = ("singular", "unphysical inertia")
LINES = 40  #: of the tree

File = Annotated[Path, typer.Argument(help="A URDF (.urdf), MJCF (.xml) or BVH (.bvh) file.", show_default=False)]
Floating = Annotated[bool, typer.Option("--floating-base", help="Put the robot on a free joint.")]
Tree = Annotated[
    bool, typer.Option("--no-loops", help="Leave out what closes loops in the file: mimic joints, equalities.")
]


def inspect(
    file: File,
    floating_base: Floating = False,
    no_loops: Tree = False,
    everything: Annotated[
        bool, typer.Option("--all", help="List every body, frame and shape, and all names in remarks.")
    ] = False,
    timings: Annotated[bool, typer.Option("--timings", help="Measure every method of forward dynamics.")] = False,
) -> None:
    """Show what is in a file: its tree, masses, degrees of freedom and shapes, what in it is not used or looks wrong,
    and what each method of forward dynamics costs."""
    from supple.commands.costs import show_costs
    from supple.files import load_quietly

    console = new_console()
    model = load_quietly(file, floating_base=floating_base, loops=not no_loops)
    show_model(console, model, everything)
    show_problems(console, model, everything)
    show_costs(console, model, timings)


def show_model(console: Console, model: Model, everything: bool) -> None:
    """Numbers, the tree, and the names of frames."""
    from rich.table import Table

    count = Counter(model.joints[i].type for i in range(model.n_joints))
    rows: dict[str, Any] = {
        "file": model.report.source,
        "bodies": f"{model.n_bodies} moving, {model.total_mass:.6g} kg in all",
        "joints": ", ".join(f"{n} {kind}" for kind, n in count.most_common()),
        "degrees of freedom": f"{model.nv}  (q has {model.nq} numbers, v {model.nv}){_remaining(model)}",
        "loops, relations": f"{len(model.loop_list)}, {len(model.relation_list)}",
        "springs, friction, actuators": ", ".join(str(n) for n in _joint_forces(model)),
        "gravity": ", ".join(f"{x:g}" for x in model.gravity) + " m/s²",
        "frames": len(model.frames),
        "shapes to draw": len(model.visuals),
        "shapes for contact": _kinds(model),
    }
    table = Table(title=plain(model.name), title_justify="left", title_style="bold", show_header=False, box=None)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, plain(value))
    console.print(table)
    console.print()
    for line in model.tree(model.n_bodies if everything else LINES).split("\n"):
        say(console, plain(line))
    if model.frames:
        names = list(model.frames)
        shown = names if everything else names[:SHOWN]
        more = f", and {len(names) - len(shown)} more (--all)" if len(shown) < len(names) else ""
        say(console, f"\nFrames: {plain(', '.join(shown))}{more}")
    if everything and model.shape_list:
        say(console, "\nShapes for contact, by body (lengths in m):")
        for shape in model.shape_list:
            say(console, f"  {plain(_shape(model, shape))}")


def _kinds(model: Model) -> str:
    """How many shapes of each kind bodies have, and how many of them are of the world."""
    count = Counter(shape.kind for shape in model.shape_list)
    fixed = sum(shape.body < 0 for shape in model.shape_list)
    kinds = f" ({', '.join(f'{n} {kind}' for kind, n in count.most_common())})" if count else ""
    return f"{len(model.shape_list)}{kinds}{f', {fixed} of them fixed to the world' if fixed else ''}"


def _shape(model: Model, shape: Shape) -> str:
    """One line: where it is, what it is, and what differs from the defaults."""
    body = "world" if shape.body < 0 else model.body_names[shape.body]
    size = " x ".join(f"{x:.4g}" for x in shape.size)
    corners = "" if shape.points is None or shape.kind != "hull" else f"{len(shape.points)} corners"
    words = [f"{body}: {shape.name}, {shape.kind} {size or corners}".rstrip()]
    words += [] if shape.friction is None else [f"friction {shape.friction:g}"]
    words += [f"restitution {shape.restitution:g}"] if shape.restitution else []
    words += [f"margin {shape.margin:g}"] if shape.margin else []
    words += [f"group {shape.group}, mask {shape.mask}"] if (shape.group, shape.mask) != (1, 1) else []
    return ", ".join(words)


def _remaining(model: Model) -> str:
    """How many degrees of freedom loops leave."""
    from supple.errors import SuppleError
    from supple.simulating.starting import closed_near

    if model.is_tree:
        return ""
    try:
        return f"; {model.mobility(closed_near(model, model.neutral())).degrees} with loops closed"
    except SuppleError as e:
        return f"; {e}"


def _joint_forces(model: Model) -> tuple[int, int, int]:
    """How many degrees of freedom have springs and dry friction, and how many actuators there are."""
    return int((model.stiffness != 0).sum()), int((model.friction != 0).sum()), len(model.actuator_list)


def show_problems(console: Console, model: Model, everything: bool) -> None:
    from supple.files.lost import PHYSICS

    rest = [r for r in model.report if r.subject not in PROBLEMS]
    acting = [r for r in rest if r.subject in PHYSICS]
    show_remarks(console, "Changes how it moves, and is not simulated as the file says", acting, everything)
    others = [r for r in rest if r.subject not in PHYSICS]
    show_remarks(console, "Read, but not used as the file says", others, everything)
    problems = [r for subject in PROBLEMS for r in model.report.about(subject)]
    console.print()
    for remark in problems:
        say(console, f"[bold red]Problem:[/] {plain(remark)}")
    if not problems:
        say(console, "[green]No problems found.[/]")
