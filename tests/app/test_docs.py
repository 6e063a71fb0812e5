"""The documents: their Python and their commands run, what they name is there, and they build without a warning.

Blocks of a page run in order, in one folder: Python in one namespace, `sh` line by line through the command line's own
entry point (what takes minutes, or waits for a browser, is only parsed), `toml` becomes the file run.toml, `text` is
not to be typed as it stands.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import typer

import supple
from pictures import needs_the_same_matplotlib
from supple import cli, scenes
from supple.sweeping import engines

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PARSED_ONLY = ("demo", "reproduce", "bench", "compile")  #: commands that take minutes
WIDEST = 120  #: characters in a line that is not a row of a table
LARGEST = 150_000  #: bytes of a picture
MOVING = {"puppets.webp": 700_000}  #: the one that moves: 41 pictures in which nearly all moves, 16 kB each
OFF, SHARE = 0.25, 0.01  #: of pixels of a picture packed with losses: fewer than this share is off by so much of white
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip


class Block(NamedTuple):
    language: str
    text: str
    line: int  #: at which it begins


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [Block(m[1], m[2], text[: m.start(2)].count("\n")) for m in found]


def inline_code(page: Path) -> list[str]:
    """What stands between backticks within the text, on one line each."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]


def words_of(line: str) -> list[str]:
    return shlex.split(line, comments=True)


def parse(words: list[str]) -> None:
    """A command as the command line reads it, with all its options, but not run."""
    command: Any = typer.main.get_command(cli.app)
    if len(words) > 1 and not words[1].startswith("-"):
        assert words[1] in command.commands, f"there is no command {words[1]}"
        with contextlib.redirect_stdout(io.StringIO()):
            asked = command.commands[words[1]].make_context(words[1], words[2:]).params
        for option, known in (("paper", cli.PAPERS), ("what", cli.BENCHES)):
            assert asked.get(option) is None or asked[option] in known
        scene = asked.get("scene")
        assert scene is None or scene in scenes.NAMES or Path(scene).suffix


def run(words: list[str]) -> None:
    """A command, run as a person runs it; one that takes minutes, or waits for a browser, only parsed."""
    parse(words)
    waits = "--view" in words or (words[1] == "view" and not {"--html", "--gif", "--mp4"} & set(words))
    if words[1] in PARSED_ONLY or waits:
        return
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error), pytest.raises(SystemExit) as ended:
        cli.main(words[1:])
    assert not ended.value.code, error.getvalue()


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=name_of)
def test_what_a_page_says_to_type_works(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """The README shows what its Python prints, too. Sweeps run in this process: starting others takes longer than
    all that they compute, and is tested with sweeps."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engines, "Processes", lambda workers: engines.Serial())
    made: dict[str, Any] = {"__name__": "__main__"}
    printed = compared = ""
    for language, text, line in blocks(page):
        if language == "python":
            capsys.readouterr()
            exec(compile("\n" * line + text, str(page), "exec"), made)
            printed = capsys.readouterr().out
        elif language == "toml":
            Path("run.toml").write_text(text)
        elif language == "sh":
            for words in filter(None, map(words_of, text.splitlines())):
                check_other(words) if words[0] != "supple" else run(words)
        else:
            assert language == "text", f"{page}: what is a block of {language}?"
            if page.name == "README.md":
                compare(printed, text)
                compared = text
    assert compared or page.name != "README.md"


def compare(printed: str, shown: str) -> None:
    """Up to digits that differ between processors."""
    ours, theirs = (re.split(r"([\d.]+)", text) for text in (printed, shown))
    assert ours[::2] == theirs[::2]
    for a, b in zip(ours[1::2], theirs[1::2]):
        assert float(a.strip(".") or 0) == pytest.approx(float(b.strip(".") or 0), rel=0.05)


def check_other(words: list[str]) -> None:
    """make and pip are not run: what they are asked for is there."""
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    else:
        assert words[:2] == ["pip", "install"], words
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        for extra in re.findall(r"\[(\w+)\]", words[2]):
            assert extra in extras


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_and_files_named_in_the_text_are_there(page: Path) -> None:
    for code in inline_code(page):
        words = code.split()
        if words[0] == "supple" and len(words) > 1 and not words[1].isupper():
            command: Any = typer.main.get_command(cli.app)
            known = {option for p in command.commands[words[1]].params for option in p.opts}
            assert {word for word in words if word.startswith("--")} <= known, f"{page}: {code}"
        if words[0] == "make" and len(words) > 1:
            check_other(words)
        if re.fullmatch(r"[\w.*-]+(/[\w.*-]+)+(\.py|\.bvh|\.md)", code):
            assert [x for base in ("", "src", "src/supple") for x in (ROOT / base).glob(code)], f"{page}: {code}"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=name_of)
def test_lines_are_wrapped(page: Path) -> None:
    wide = [i for i, x in enumerate(page.read_text().splitlines(), 1) if len(x) > WIDEST and x[0] not in "|!"]
    assert not wide, f"lines wider than {WIDEST}: {wide}"


def test_links_of_the_readme_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text()):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_pictures_are_used_small_and_say_what_drew_them() -> None:
    pages = {page: page.read_text() for page in PAGES}
    for picture in (ROOT / "docs/pictures").iterdir():
        assert picture.stat().st_size <= MOVING.get(picture.name, LARGEST), picture
        users = [text for text in pages.values() if f"pictures/{picture.name})" in text]
        assert users, f"{picture} is on no page"
        for text in users:
            after = text.split(f"pictures/{picture.name})", 1)[1]
            assert re.search("`supple |`docs/draw/", after[:400]), f"which command drew {picture}?"


def test_the_animation_of_the_readme_is_that_of_its_commands(tmp_path: Path, monkeypatch) -> None:
    """Drawn anew: pictures of its first second, in which rounding, which differs between processors, has not grown yet.
    The next picture instead would be off in 4% of its pixels."""
    image = pytest.importorskip("PIL.Image")
    from supple.viewing.movie import Wanted, drawn, nothing, schedule
    from supple.viewing.timeline import Timeline

    monkeypatch.chdir(tmp_path)
    making = [code for code in inline_code(ROOT / "README.md") if "crowd.h5" in code and code.startswith("supple")][:2]
    run(making[0].split())
    command: Any = typer.main.get_command(cli.app)
    asked = command.commands["view"].make_context("view", making[1].split()[2:]).params
    size = tuple(int(x) for x in asked["size"].split("x"))
    file = Path(asked["gif"])  # a string, from older versions of typer
    result, kept = supple.load_run("crowd.h5"), image.open(ROOT / "docs/pictures" / file.name)
    timeline, wanted = Timeline(result), Wanted(fps=asked["fps"], size=size, camera=asked["camera"])
    frames, _ = schedule(timeline, wanted, file.suffix)
    assert (kept.n_frames, kept.size) == (len(frames), size)
    shown = [k for k, frame in enumerate(frames) if timeline.times[frame] <= 1.0][::5]
    for k, new in zip(shown, drawn(timeline, [frames[k] for k in shown], wanted, result.rods, nothing)):
        kept.seek(k)
        a, b = (np.asarray(x.convert("RGB")) / 255.0 for x in (kept, new))
        off = np.abs(a - b).max(axis=-1) > OFF
        found = {"all": off.mean(), "time": off[:30, :90].mean(), "legend": off[-30:, :320].mean()}
        assert max(found.values()) < SHARE, f"picture {k} is stale {found}: type what the README says"
    result.close()


@needs_the_same_matplotlib
def test_the_picture_of_a_run_is_that_of_its_command(tmp_path: Path, monkeypatch) -> None:
    from matplotlib.image import imread

    monkeypatch.chdir(tmp_path)
    (making,) = (x for x in inline_code(ROOT / "docs/algorithms/integrators.md") if x.endswith("--plot run.png"))
    run(making.split())
    kept, new = (imread(folder / "run.png")[..., :3] for folder in (ROOT / "docs/pictures", tmp_path))
    assert kept.shape == new.shape and np.abs(kept - new).mean() < 0.01, "run.png is stale"


@needs_the_same_matplotlib
@pytest.mark.parametrize("name", ["gallery-racket", "gallery-walk", "loops"])  # the others take longer, and are chaotic
def test_pictures_of_the_gallery_are_those_of_their_script(name: str, tmp_path: Path) -> None:
    from matplotlib.image import imread

    script = runpy.run_path(str(ROOT / "docs/draw/gallery.py"))
    assert all((ROOT / f"docs/pictures/{known}.png").exists() for known in script["FIGURES"])
    script["main"](tmp_path, [name])
    kept, new = imread(ROOT / f"docs/pictures/{name}.png"), imread(tmp_path / f"{name}.png")
    assert kept.shape == new.shape and np.abs(kept - new).mean() < 0.02, f"{name} is stale: run docs/draw/gallery.py"


def test_the_pages_build_without_a_warning(tmp_path: Path) -> None:
    site = tmp_path / "site"
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr  # (--quiet would hide warnings from --strict, too)
    assert "WARNING" not in done.stderr

    api = (site / "api.html").read_text()
    assert [name for name in supple.__all__ if f'id="{name.lower()}"' not in api.lower()] == []
    told = (site / "commands.html").read_text()
    command: Any = typer.main.get_command(cli.app)
    for name, each in command.commands.items():
        assert f'id="supple-{name}"' in told
        assert [p.opts[0] for p in each.params if p.param_type_name == "option" and p.opts[0] not in told] == []

    for asked, answer in ASKED.items():
        assert answer in found_by(site, asked.split())[:3], f"{asked!r} finds {found_by(site, asked.split())[:5]}"

    for page in site.rglob("*.html"):
        text = page.read_text()
        assert not re.findall(r'(?:src|<link[^>]*href)="(?:https?:)?//', text), f"{page} loads from another host"
        words_only = re.sub(r"<(code|pre)\b.*?</\1>", "", text, flags=re.DOTALL)
        assert "$" not in words_only, f"{page} has an equation that was not read"
        if page.parent.name == "algorithms":
            assert text.count("<math") > 2
    assert "//" not in re.sub(r"/\*.*?\*/", "", (site / "style.css").read_text(), flags=re.DOTALL)
    if CHROMIUM is not None:
        look_at(site)


#: What people look for, and the section that answers.
ASKED = {
    "contact": "Contact and collisions",
    "collision": "Contact and collisions",
    "closed loop": "Closed loops and constraints",
    "gradient": "Gradients and derivatives",
    "derivatives": "Gradients and derivatives",
    "gpu": "Graphics cards and single precision",
    "muscle": "Flexible bodies, fluids and muscles",
    "molecule": "The molecule is a benchmark",
    "pandas": "Tables",
    "by hand": "By hand",
}


def found_by(site: Path, words: list[str]) -> list[str]:
    """The titles that the search lists, as search.js orders them."""
    text = (site / "searched.js").read_text(encoding="utf-8")
    entries = json.loads(text.removeprefix("const SEARCHED = ").rstrip().removesuffix(";"))
    scores = [[10 if w in title.lower() else w in text.lower() for w in words] for _, title, text in entries]
    listed = [(sum(s), entry[1]) for s, entry in zip(scores, entries) if all(s)]
    return [title for _, title in sorted(listed, key=lambda x: -x[0])]


def look_at(site: Path) -> None:
    """In a Chromium: nothing is asked of another host, pages fit a narrow window, equations and search work."""
    playwright = pytest.importorskip("playwright.sync_api")
    asked: list[str] = []
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.on("request", lambda request: asked.append(request.url))
        for path in sorted(site.rglob("*.html")):
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} is too wide"
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto((site / "algorithms" / "virtual-work.html").as_uri())
        assert page.locator(".equation math").first.bounding_box()["height"] > 15
        page.fill("#search", "mobility")
        assert "Virtual work" in page.locator("#results").inner_text() or page.locator("#results li").count() > 1
        page.locator("#results a").first.click()
        assert page.locator("h1").count() == 1
        for words, answer in ASKED.items():
            page.fill("#search", words)
            assert answer in page.locator("#results").inner_text(), words
        browser.close()
    assert [url for url in asked if not url.startswith("file:")] == []
