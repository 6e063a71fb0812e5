"""The report over papers: what it is put together from, and what it is when papers fail, are stopped, or come later."""

from __future__ import annotations

import io
import json
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from supple.drawing import new_figure
from supple.errors import SuppleError
from supple.reproduce import book, markdown, run
from supple.reproduce.parts import ASIDE, CROSS, TICK, Claim, load_paper, tally, three
from supple.reproduce.report import Report


def quiet() -> Console:
    return Console(file=io.StringIO(), width=100)


def reproduce(key: str, folder: Path, stop: type[BaseException] | None = None, note: str = "some text") -> None:
    """A small paper, perhaps stopped before its end."""
    with Report(key, f"{key.upper()}: a <paper>", folder, quick=True, console=quiet()) as report:
        report.heading("Numbers & such")
        report.text(f"**{note}** with `code` | <b>")
        report.table(["what", "n"], [("a | b", 1), ("y", 2)])
        report.claims([Claim.same("2", "a claim", "3", 3), Claim.stated("4", "a wrong one", "1", "2 < 3", False)])
        report.figure(f"{key}-figure.png", "a caption", new_figure(2, 1))
        if stop is not None:
            raise stop("stopped")


def papers(monkeypatch: pytest.MonkeyPatch, **stops: type[BaseException] | None) -> None:
    """Stand-ins for the modules of papers."""
    modules = {
        f"supple.reproduce.{key}": SimpleNamespace(run=lambda out, *_, key=key, stop=stop: reproduce(key, out, stop))
        for key, stop in stops.items()
    }
    monkeypatch.setattr(run, "import_module", modules.__getitem__)


class Page(HTMLParser):
    """Tags that are opened and closed in order; anchors, links, and what is asked of other places."""

    VOID = {"meta", "img", "br"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.anchors: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.text = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors += [given["id"]] if given.get("id") else []  # type: ignore[list-item]
        self.links += [given["href"]] if given.get("href") else []  # type: ignore[list-item]
        self.sources += [given["src"]] if given.get("src") else []  # type: ignore[list-item]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_paper_is_kept_and_read_again(tmp_path: Path):
    reproduce("sf", tmp_path)
    paper = load_paper(tmp_path, "sf")
    assert paper is not None and paper.finished and paper.quick and paper.command == "supple reproduce sf --quick"
    assert [type(part).__name__ for part in paper.parts] == ["Heading", "Text", "Table", "Claims", "Picture"]
    assert [(anchor, c.holds) for anchor, c in paper.claims()] == [("sf-1", True), ("sf-1", False)]
    text = (tmp_path / "sf.md").read_text()
    assert text.startswith("# SF: a <paper>\n") and paper.machine["numpy"] in text
    assert "| a \\| b | 1 |" in text and "1 of 2 hold; 1 differs." in text
    assert (tmp_path / "sf-figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": 99}', '{"format": 1, "parts": [{"kind": "x"}]}'])
def test_files_that_are_not_ours_are_left_alone(tmp_path: Path, content: str):
    (tmp_path / "sf.json").write_text(content)
    assert load_paper(tmp_path, "sf") is None
    assert book.write(tmp_path) == []


def test_claims_are_counted_only_where_theirs_and_ours_are_the_same_quantity():
    faster = [Claim.most("1", "times faster", 100.0, ours) for ours in (300.0, 110.0, 90.0, 20.0)]
    assert [c.verdict for c in faster] == ["better", "agrees", "agrees", "worse"]
    errors = [Claim.least("1", "error", 1e-6, ours, "{:.0e}".format) for ours in (0.0, 1e-6, 1e-3, np.inf)]
    assert [c.verdict for c in errors] == ["better", "agrees", "worse", "worse"]
    other = Claim.aside("1", "error", "1e-6", "1e-9", "30 steps, theirs 4,000")
    assert not other.counted and not other.holds and other.mark == ASIDE and "not counted: 30 steps" in other.what
    assert tally([*faster, other]) == "3 of 4 hold, in 1 of them ours is better; in 1 ours is worse. Not counted: 1."
    assert tally([Claim.same("", "", "3", 4), faster[-1]]) == "0 of 2 hold; in 1 ours is worse and 1 differs."


def test_a_worse_result_comes_first_and_an_aside_is_not_counted(tmp_path: Path):
    with Report("sf", "SF: a paper", tmp_path, quick=True, console=quiet()) as report:
        report.claims([Claim.same("1", "as printed", "3", 3), Claim.most("2", "how fast", 9.0, 3.0)])
        report.claims([Claim.aside("3", "something else", "", "4", "no number is printed")])
    made = book.Book.of(tmp_path)
    assert [row[1][2] for row in made.claims()[0].rows] == ["how fast"]
    assert made.overview()[0][1][-2:] == ["1 of 2", "1"]
    as_text, page = (path.read_text(encoding="utf-8") for path in book.write(tmp_path))
    for text in (as_text, page):
        assert text.index("Where ours is worse") < text.index("something else") and f"{CROSS} worse" in text
    assert 'aria-label="worse"' in page and 'aria-label="not counted"' in page


def test_papers_reproduced_one_by_one_come_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    papers(monkeypatch, sf=None, qs=None)
    run.run(["qs"], tmp_path, True, quiet())
    run.run(["sf"], tmp_path, True, quiet())
    (tmp_path / "qs.json").write_text((tmp_path / "qs.json").read_text().replace('"date": "', '"date": "long ago, '))
    run.run(["sf"], tmp_path, True, quiet())
    for name in ("report.md", "report.html"):
        text = (tmp_path / name).read_text()
        assert text.index("SF: a ") < text.index("QS: a ") and "long ago" in text
        assert "Of the claims, 2 of 4 hold; 2 differ." in text and "supple reproduce vw" in text


def test_the_page_is_whole_and_asks_nothing_of_others(tmp_path: Path):
    reproduce("sf", tmp_path)
    reproduce("rr", tmp_path)
    _, html = book.write(tmp_path)
    page = Page(html.read_text(encoding="utf-8"))
    assert len(set(page.anchors)) == len(page.anchors)
    assert {link.removeprefix("#") for link in page.links} <= set(page.anchors)
    assert len(page.sources) == 2 and all(x.startswith("data:image/png;base64,") for x in page.sources)
    assert "url(" not in html.read_text() and "@import" not in html.read_text()
    for said in (
        "SF: a <paper>",
        "with code | <b>",
        "2 < 3",
        TICK,
        CROSS,
        "Where ours is worse, or differs",
        "processor",
        "numba",
    ):
        assert said in page.text


def test_a_figure_that_is_gone_is_named(tmp_path: Path):
    reproduce("sf", tmp_path)
    (tmp_path / "sf-figure.png").unlink()
    _, html = book.write(tmp_path)
    assert "sf-figure.png" in Page(html.read_text()).text


def test_a_paper_that_fails_does_not_keep_others_from_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    papers(monkeypatch, sf=None, vw=SuppleError, qs=None)
    with pytest.raises(SuppleError, match="stopped"):
        run.run(["sf", "vw", "qs"], tmp_path, True, quiet())
    found = book.Book.of(tmp_path)
    assert [(p.key, p.finished) for p in found.papers] == [("sf", True), ("vw", False), ("qs", True)]
    assert "Stopped before its end" in (tmp_path / "report.html").read_text()


def test_ctrl_c_leaves_a_report_over_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    papers(monkeypatch, sf=None, vw=KeyboardInterrupt, qs=None)
    with pytest.raises(KeyboardInterrupt):
        run.run(["sf", "vw", "qs"], tmp_path, True, quiet())
    assert [p.key for p in book.Book.of(tmp_path).papers] == ["sf", "vw"]
    assert "report.html" in {p.name for p in tmp_path.iterdir()}


def test_a_paper_that_is_stopped_does_not_replace_a_whole_one(tmp_path: Path):
    reproduce("sf", tmp_path, note="the first")
    before = (tmp_path / "sf-figure.png").stat().st_mtime_ns
    with pytest.raises(KeyboardInterrupt):
        reproduce("sf", tmp_path, KeyboardInterrupt, note="the second")
    paper = load_paper(tmp_path, "sf")
    assert paper is not None and paper.finished and "the first" in (tmp_path / "sf.md").read_text()
    assert (tmp_path / "sf-figure.png").stat().st_mtime_ns == before
    with pytest.raises(KeyboardInterrupt):
        reproduce("vw", tmp_path, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        reproduce("vw", tmp_path, KeyboardInterrupt, note="again")
    assert "again" in (tmp_path / "vw.md").read_text()


def test_machines_that_differ_are_told_apart(tmp_path: Path):
    reproduce("sf", tmp_path)
    reproduce("vw", tmp_path)
    assert [keys for keys, _ in book.Book.of(tmp_path).machines()] == ["SF, VW"]
    other = json.loads((tmp_path / "vw.json").read_text())
    other["machine"]["numpy"] = "0.1"
    (tmp_path / "vw.json").write_text(json.dumps(other))
    assert [(keys, m["numpy"] == "0.1") for keys, m in book.Book.of(tmp_path).machines()] == [
        ("SF", False),
        ("VW", True),
    ]


def test_brackets_are_said_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Not taken for markup of the console."""
    said = quiet()
    with Report("sf", "SF [title]", tmp_path, True, said) as report:
        report.heading("in [metres]")
        report.table(["what [column]"], [["q [rad]"]])
    monkeypatch.setattr(run, "import_module", lambda name: (_ for _ in ()).throw(SuppleError("supple[figures]")))
    with pytest.raises(SuppleError):
        run.run(["sf"], tmp_path, True, said)
    text = said.file.getvalue()  # type: ignore[attr-defined]
    for word in ("[title]", "[metres]", "[column]", "[rad]", "supple[figures]"):
        assert word in text


def test_numbers_and_times_as_one_writes_them():
    assert [three(x) for x in (0.01234, 1.5, 99.96, 123.4, 12345.6)] == ["0.0123", "1.5", "100", "123", "12,346"]
    assert [markdown.duration(x) for x in (4.2, 89, 125, 6000)] == ["4 s", "89 s", "2 min", "1.7 h"]
