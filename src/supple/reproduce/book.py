"""The report over all papers reproduced into a folder, in this run or earlier ones: report.md and report.html.

It begins with the machine, the versions and the claims of all papers; the papers follow. The Markdown refers to the
figures beside it. The page carries them inside, as it does its style: one file that can be sent, kept, and opened
without a network.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from supple.reproduce import PAPERS, markdown, page
from supple.reproduce.markdown import duration
from supple.reproduce.parts import Paper, load_paper

TITLE = "Five papers reproduced by Supple"
COLUMNS = ["paper", "section", "claim", "theirs", "ours", ""]


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
            f"Theirs is what a paper prints; ours is worked out or measured by Supple. {sum(c.holds for c in claims)} "
            f"of {len(claims)} claims hold."
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
        """A row for each paper: its form and date, how long it took, and how many of its claims hold."""
        rows = []
        for paper in self.papers:
            claims = [c for _, c in paper.claims()]
            form = ("quick" if paper.quick else "full") + ("" if paper.finished else ", stopped")
            held = f"{sum(c.holds for c in claims)} of {len(claims)}"
            rows.append((paper, [form, paper.command, paper.date, duration(paper.seconds), held]))
        return rows

    def claims(self) -> list[tuple[str, str, list[tuple[str, list[str]]]]]:
        """Tables of claims under COLUMNS: anchor, title, and rows with the anchors of where they are. First come those
        that do not hold, then those of each paper."""
        all_of = {
            paper: [(anchor, c, [paper.key.upper(), c.where, c.what, c.theirs, c.ours, c.mark]) for anchor, c in found]
            for paper, found in ((p, p.claims()) for p in self.papers)
        }
        failed = [(anchor, row) for rows in all_of.values() for anchor, c, row in rows if not c.holds]
        tables = [("claims-failed", "What does not hold", failed)] if failed else []
        for paper, rows in all_of.items():
            tables.append((f"claims-{paper.key}", paper.title, [(anchor, row) for anchor, _, row in rows]))
        return tables


OVERVIEW = ["paper", "form", "command", "begun", "took", "claims that hold"]


def write(folder: Path) -> list[Path]:
    """Write the report over what the folder has; nothing, if it has no paper."""
    book = Book.of(folder)
    if not book.papers:
        return []
    texts = {"report.md": "\n".join(as_markdown(book)) + "\n", "report.html": as_page(book, folder)}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def as_markdown(book: Book) -> list[str]:
    lines = [f"# {TITLE}", "", book.introduction(), ""]
    papers = [[f"[{paper.title}](#{paper.key})", *cells] for paper, cells in book.overview()]
    lines += markdown.table(OVERVIEW, papers, [0, 1, 2])
    for keys, machine in book.machines():
        lines += ["", *markdown.table(["machine and versions", keys], list(map(list, machine.items())), [0, 1])]
    lines += ["", "## Claims"]
    for anchor, title, rows in book.claims():
        cells = [[key, where, f"[{what}](#{at})", *rest] for at, (key, where, what, *rest) in rows]
        lines += ["", f'### <a id="{anchor}"></a>{title}', "", *markdown.table(COLUMNS, cells, [0, 1, 2])]
    for paper in book.papers:
        lines += ["", *markdown.section(paper)]
    return lines


def as_page(book: Book, folder: Path) -> str:
    link, plain = page.link, page.escape
    rows = [[link(paper.key, paper.title), *map(plain, cells)] for paper, cells in book.overview()]
    body = [f"<h1>{TITLE}</h1>", page.paragraph(book.introduction()), page.table(OVERVIEW, rows, [0, 1, 2])]
    for papers, machine in book.machines():
        cells = [[plain(name), plain(value)] for name, value in machine.items()]
        body.append(page.table(["machine and versions", papers], cells, [0, 1]))
    body.append('<h2 id="claims">Claims</h2>')
    for anchor, title, found in book.claims():
        shown = [
            [plain(key), plain(where), link(at, what), *map(plain, rest)] for at, (key, where, what, *rest) in found
        ]
        body += [f'<h3 id="{anchor}">{plain(title)}</h3>', page.table(COLUMNS, shown, [0, 1, 2])]
    body += [page.section(paper, folder) for paper in book.papers]
    headings = [(anchor, title) for anchor, title, _ in book.claims()]
    contents = [("claims", "Claims", headings), *((p.key, p.title, p.headings()) for p in book.papers)]
    return page.document(TITLE, page.navigation(contents), "\n".join(body))
