"""The report over all papers reproduced into a folder, in this run or earlier ones: report.md and report.html.

It begins with the machine, the versions and the claims of all papers; the papers follow. The Markdown refers to the
figures beside it. The page carries them inside, as it does its style: one file that can be sent, kept, and opened
without a network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from supple.reproduce import PAPERS, markdown, page
from supple.reproduce.markdown import duration
from supple.reproduce.parts import NEAR, Claim, Paper, load_paper, tally
from supple.writing import write_file

TITLE = "Five papers reproduced by Supple"
COLUMNS = ["section", "claim", "theirs", "ours", ""]


class ClaimTable(NamedTuple):
    """A table of claims. rows: with the anchor of where each is."""

    anchor: str
    title: str
    columns: list[str]
    rows: list[tuple[str, list[str]]]

    def linked(self, link: Callable[[str, str], str], plain: Callable[[str], str]) -> list[list[str]]:
        """The cells, what is claimed being a link."""
        what = self.columns.index("claim")
        return [[link(at, x) if i == what else plain(x) for i, x in enumerate(row)] for at, row in self.rows]

    @property
    def words(self) -> list[int]:
        return list(range(self.columns.index("claim") + 1))


@dataclass(frozen=True, eq=False)
class Book:
    """Papers, in the order of PAPERS."""

    papers: list[Paper]

    @classmethod
    def of(cls, folder: Path) -> Book:
        found = (load_paper(folder, key) for key in PAPERS)
        return cls([paper for paper in found if paper is not None])

    @property
    def missing(self) -> list[str]:
        return [key for key in PAPERS if key not in {p.key for p in self.papers}]

    def introduction(self) -> str:
        """What the reader has before him, in a sentence or two."""
        claims = [c for paper in self.papers for _, c in paper.claims()]
        text = (
            "Theirs is what a paper prints; ours is worked out or measured by Supple. A claim is counted only if both "
            "are the same quantity: times are compared as ratios to a full step of the same program on the same "
            f"machine, and are alike within a factor of {NEAR}. Of the claims, {tally(claims)}"
        )
        if self.missing:
            text += f" Not reproduced yet: {', '.join(f'`supple reproduce {key}`' for key in self.missing)}."
        return text

    def machines(self) -> list[tuple[str, dict[str, str]]]:
        """The machines and versions that the papers were reproduced with, each with the papers it stands for."""
        found: list[tuple[list[str], dict[str, str]]] = []
        for paper in self.papers:
            keys = next((keys for keys, machine in found if machine == paper.machine), None)
            if keys is None:
                found.append(([paper.key], paper.machine))
            else:
                keys.append(paper.key)
        return [(", ".join(map(str.upper, keys)), machine) for keys, machine in found]

    def overview(self) -> list[tuple[Paper, list[str]]]:
        """A row for each paper: its form and date, how long it took, how many of its claims hold, and in
        how many ours is worse."""
        rows = []
        for paper in self.papers:
            claims = [c for _, c in paper.claims()]
            form = ("quick" if paper.quick else "full") + ("" if paper.finished else ", stopped")
            held = f"{sum(c.holds for c in claims)} of {sum(c.counted for c in claims)}"
            worse = str(sum(c.verdict == "worse" for c in claims))
            rows.append((paper, [form, paper.command, paper.date, duration(paper.seconds), held, worse]))
        return rows

    def claims(self) -> list[ClaimTable]:
        """First those where ours is worse or another, with their papers; then those of each paper."""
        tables = []
        every = [(p, at, c) for p in self.papers for at, c in p.claims()]
        failed = [(at, [p.key.upper(), *cells(c)]) for p, at, c in every if c.counted and not c.holds]
        if failed:
            tables.append(ClaimTable("claims-failed", "Where ours is worse, or differs", ["paper", *COLUMNS], failed))
        for p in self.papers:
            rows = [(at, cells(c)) for at, c in p.claims()]
            tables.append(ClaimTable(f"claims-{p.key}", p.title, COLUMNS, rows))
        return tables


def cells(claim: Claim) -> list[str]:
    return [claim.where, claim.what, claim.theirs, claim.ours, claim.mark]


OVERVIEW = ["paper", "form", "command", "begun", "took", "claims that hold", "ours is worse"]


def write(folder: Path) -> list[Path]:
    """Write the report over what the folder has; nothing, if it has no paper."""
    book = Book.of(folder)
    if not book.papers:
        return []
    texts = {"report.md": "\n".join(as_markdown(book)) + "\n", "report.html": as_page(book, folder)}
    for name, text in texts.items():
        write_file(folder / name, text)
    return [folder / name for name in texts]


def as_markdown(book: Book) -> list[str]:
    lines = [f"# {TITLE}", "", book.introduction(), ""]
    papers = [
        [f"[{paper.title}](#{paper.key})", form, f"`{command}`", *rest]
        for paper, (form, command, *rest) in book.overview()
    ]
    lines += markdown.table(OVERVIEW, papers, [0, 1, 2])
    for keys, machine in book.machines():
        lines += ["", *markdown.table(["machine and versions", keys], list(map(list, machine.items())), [0, 1])]
    lines += ["", "## Claims"]
    for t in book.claims():
        shown = t.linked(lambda anchor, text: f"[{text}](#{anchor})", str)
        lines += ["", f'### <a id="{t.anchor}"></a>{t.title}', "", *markdown.table(t.columns, shown, t.words)]
    for paper in book.papers:
        lines += ["", *markdown.section(paper)]
    return lines


def as_page(book: Book, folder: Path) -> str:
    link, plain = page.link, page.escape
    rows = [
        [link(paper.key, paper.title), plain(form), f"<code>{plain(command)}</code>", *map(plain, rest)]
        for paper, (form, command, *rest) in book.overview()
    ]
    body = [f"<h1>{TITLE}</h1>", page.paragraph(book.introduction()), page.table(OVERVIEW, rows, [0, 1, 2])]
    for papers, machine in book.machines():
        cells = [[plain(name), plain(value)] for name, value in machine.items()]
        body.append(page.table(["machine and versions", papers], cells, [0, 1]))
    body.append('<h2 id="claims">Claims</h2>')
    for t in book.claims():
        body += [
            f'<h3 id="{t.anchor}">{plain(t.title)}</h3>',
            page.table(t.columns, t.linked(link, plain), t.words),
        ]
    body += [page.section(paper, folder) for paper in book.papers]
    headings = [(t.anchor, t.title) for t in book.claims()]
    contents = [("claims", "Claims", headings), *((p.key, p.title, p.headings()) for p in book.papers)]
    return page.document(TITLE, page.navigation(contents), "\n".join(body))
