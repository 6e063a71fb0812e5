"""Notebooks run without Jupyter: code cells one after the other, with the text that each would show."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def code_cells(path: Path) -> list[dict[str, Any]]:
    return [c for c in json.loads(path.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]


def shown(cell: dict[str, Any]) -> dict[str, str]:
    """What a cell shows, as it was saved: "stream" is what it prints, the others are by their type."""
    out: dict[str, str] = {}
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            out["stream"] = out.get("stream", "") + "".join(output["text"])
        else:
            out |= {kind: "".join(text) for kind, text in output["data"].items()}
    return out


def run(cells: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    """What each cell shows now. The value of its last line is shown if it is an expression."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells:
        tree, out, value = ast.parse("".join(cell["source"])), io.StringIO(), None
        with contextlib.redirect_stdout(out):
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "cell", "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # type: ignore[attr-defined]
        made = {"stream": out.getvalue()} if out.getvalue() else {}
        if value is not None:
            made["text/plain"] = repr(value)
            html = value._repr_html_() if hasattr(value, "_repr_html_") else None
            made |= {"text/html": html} if html is not None else {}
            if hasattr(value, "_repr_png_"):
                made["image/png"] = f"{len(value._repr_png_())} bytes"
        yield made
