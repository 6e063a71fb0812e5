"""Reproduced papers as one HTML page: style and figures are inside it, and it asks no other host for anything."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from supple.errors import ParseError
from supple.reading import read_file
from supple.reproduce.markdown import provenance
from supple.reproduce.parts import ASIDE, CROSS, MARKS, TICK, Claims, Heading, Paper, Picture, Table, Text

LONG = 24  #: characters of a cell that may be broken into lines, and needs room for them
_KINDS = {TICK: "held", CROSS: "failed", ASIDE: "aside"}  #: what a mark looks like, by its first character
_VERDICT: dict[str, tuple[str, str]] = {mark: (_KINDS[mark[0]], verdict) for verdict, mark in MARKS.items()}
_VERDICT |= {TICK: ("held", "holds"), CROSS: ("failed", "does not hold")}


def document(title: str, navigation: str, body: str) -> str:
    style = files("supple.reproduce").joinpath("page.css").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
{navigation}
<main>
{body}
</main>
</body>
</html>
"""


def navigation(papers: Iterable[tuple[str, str, list[tuple[str, str]]]]) -> str:
    """Links to papers (anchor, title) and to their headings."""
    items = []
    for anchor, title, headings in papers:
        below = "".join(f"<li>{link(a, text)}</li>" for a, text in headings)
        items.append(f"<li>{link(anchor, title)}{f'<ul>{below}</ul>' if below else ''}</li>")
    return f'<nav aria-label="Contents"><ul>{"".join(items)}</ul></nav>'


def section(made: Paper, folder: Path) -> str:
    """A paper; its figures are read from the folder."""
    out = [f'<section>\n<h2 id="{made.key}">{escape(made.title)}</h2>', paragraph(provenance(made), "made")]
    for anchor, part in made.sections():
        match part:
            case Heading(text):
                out.append(f'<h3 id="{anchor}">{escape(text)}</h3>')
            case Text(markdown):
                out.append(paragraph(markdown))
            case Table(columns, rows, left):
                out.append(table(columns, [list(map(escape, row)) for row in rows], left))
            case Claims():
                shown = part.table()
                out.append(table(shown.columns, [list(map(escape, row)) for row in shown.rows], shown.left))
                out.append(paragraph(part.count()))
            case Picture(file, caption):
                out.append(_figure(folder / file, caption))
    return "\n".join([*out, "</section>"])


def link(anchor: str, text: str) -> str:
    return f'<a href="#{anchor}">{escape(text)}</a>'


def paragraph(markdown: str, kind: str = "") -> str:
    """A paragraph, or a list where lines begin with "- "."""
    if markdown.startswith("- "):
        return "<ul>" + "".join(f"<li>{_inline(line[2:])}</li>" for line in markdown.splitlines()) + "</ul>"
    return f"<p{f' class={kind!r}' if kind else ''}>{_inline(markdown)}</p>"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    """Cells are HTML; a tick or a cross becomes a mark that can also be read aloud."""
    words = [i in left for i in range(len(columns))]
    head = "".join(f'<th scope="col"{_side(w)}>{escape(x)}</th>' for x, w in zip(columns, words))
    lines = ["".join(f"<td{_side(w, len(x) > LONG)}>{_cell(x)}</td>" for x, w in zip(row, words)) for row in rows]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="table"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>'


def _side(words: bool, long: bool = False) -> str:
    kinds = ["words"] * words + ["long"] * long
    return f' class="{" ".join(kinds)}"' if kinds else ""


def _cell(text: str) -> str:
    if text not in _VERDICT:
        return text
    kind, meaning = _VERDICT[text]
    return f'<span class="{kind}" role="img" aria-label="{meaning}" title="{meaning}">{text}</span>'


def _inline(markdown: str) -> str:
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(markdown))
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)


def _figure(file: Path, caption: str) -> str:
    try:
        data = base64.b64encode(read_file(file)).decode()
    except ParseError:
        return f"<p>{escape(file.name)}, which shows “{escape(caption)}”, is no longer in the folder.</p>"
    said = escape(caption)
    image = f'<img alt="{said}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{said}</figcaption></figure>"
