"""Pages made from the source: a line `::: names` or `::: commands` stands for all public names, or all commands.

Docstrings are shown as they are written, in a fixed width; signatures as Python has them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from html import escape
from typing import Any

import typer

import supple
from supple.cli import app

#: Headings of the page of names, and the modules of which the names belong there. Those of no other come under REST.
TOPICS: dict[str, tuple[str, ...]] = {
    "Bodies and files": ("model.builder", "model.model", "model.report", "model", "files", "model.clip", "supple"),
    "Dynamics": ("exact.forward", "exact.rnea", "exact.crba", "exact.factor", "exact.treematrix", "exact.wrench"),
    "What joints carry": ("exact.joint_wrenches", "exact.virtual_hubs"),
    "Kinematics and energy": ("exact.kinematics", "exact.answers", "exact.energy"),
    "Only the joints that matter": ("adaptive.quasistatics", "adaptive.dynamics", "adaptive.camera"),
    "Another root, impacts, walkers": (
        "model.reroot", "simulating.impacts", "simulating.walking", "simulating.gaits", "simulating.capture",
    ),
    "Runs and recordings": (
        "simulating.run", "simulating.simulation", "simulating.result", "simulating.state", "simulating.forces",
        "simulating.events", "adaptive.acting", "record.export",
    ),
    "Errors": ("errors",),
}  # fmt: skip
REST = "The rest"


def on_page_markdown(markdown: str, **_: Any) -> str:
    makers: dict[str, Callable[[], Iterator[str]]] = {"names": names, "commands": commands}
    return re.sub(r"^::: (\w+)$", lambda m: "\n".join(makers[m.group(1)]()), markdown, flags=re.MULTILINE)


def names() -> Iterator[str]:
    """Every public name, by topic."""
    placed = {home for homes in TOPICS.values() for home in homes}
    home_of = {name: home.removeprefix("supple.") for name, home in supple._MODULE_OF.items()}
    rest = dict.fromkeys(home for home in home_of.values() if home not in placed)
    for topic, homes in {**TOPICS, REST: tuple(rest)}.items():
        yield f"\n## {topic}\n"
        for name in (n for home in homes for n in supple.__all__ if home_of[n] == home):
            yield from entry(name, getattr(supple, name))


def entry(name: str, value: Any) -> Iterator[str]:
    yield f"\n### {name}\n"
    if inspect.ismodule(value):
        yield pre(inspect.getdoc(value))
        for inner, function in inspect.getmembers(value, inspect.isfunction):
            if function.__module__ == value.__name__ and not inner.startswith("_"):
                yield from member(f"{name}.{inner}", function)
        return
    if not (inspect.isclass(value) and issubclass(value, Exception)):
        yield signature(name, value)
    yield pre(inspect.getdoc(value))
    if inspect.isclass(value):
        for inner, thing in public_members(value):
            yield from member(inner, thing)


def public_members(kind: type) -> Iterator[tuple[str, Any]]:
    """Methods and properties that the class or a base of ours defines, in the order of the source."""
    seen = set()
    for base in kind.__mro__:
        if base.__module__.startswith("supple."):
            for name, thing in vars(base).items():
                shown = callable(thing) or isinstance(thing, property) or hasattr(thing, "func")
                if shown and not name.startswith("_") and name not in seen:
                    seen.add(name)
                    yield name, thing


def member(name: str, thing: Any) -> Iterator[str]:
    function = getattr(thing, "fget", None) or getattr(thing, "func", None)
    yield signature(f".{name}" if "." not in name else name, thing) if function is None else signature(f".{name}", None)
    text = inspect.getdoc(function or thing)
    if text:
        yield pre(text, "member")


def signature(name: str, value: Any) -> str:
    shown = name
    if value is not None:
        parameters = list(inspect.signature(value).parameters.values())
        parameters = [p.replace(annotation=p.empty) for p in parameters if p.name != "self"]
        shown += str(inspect.Signature(parameters))
    return f'<pre class="signature">{escape(shown)}</pre>'


def pre(text: str | None, kind: str = "") -> str:
    return f'<pre class="docstring {kind}">{escape(text or "")}</pre>\n'.replace("\n\n", "\n&#8203;\n")


def commands() -> Iterator[str]:
    """Every command with its arguments and options."""
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        yield f"\n## supple {name}\n\n{' '.join((command.help or '').split())}\n"
        yield "| | | default |\n|---|---|---|"
        for p in command.params:
            if p.param_type_name == "argument":
                shown = str(p.name).upper()
            else:
                shown = ", ".join(p.opts) + ("" if p.is_flag else " VALUE" * p.nargs)
            yield f"| `{shown}` | {_one_line(p.help)} | {default_of(p)} |"


def default_of(p: Any) -> str:
    told = getattr(p, "show_default", None)
    if isinstance(told, str):
        return told
    if p.required:
        return "needed"
    value = p.default
    plain = isinstance(value, (str, int, float)) and not isinstance(value, bool)
    return f"`{value}`" if plain or type(value).__name__.endswith("Path") else ""


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")
