"""What is written is a regular file, whole or not there; what else is at its place is refused at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import supple
from supple import trees
from supple.bench.rows import save as save_rows
from supple.bench.run import run as run_bench
from supple.commands.run import _drawable
from supple.drawing import new_figure, saved
from supple.errors import RecordingError, SuppleError, ViewError
from supple.holding import LOCKS
from supple.reproduce.page import _figure
from supple.reproduce.parts import load_paper
from supple.reproduce.report import Report
from supple.viewing.export import export_html
from supple.viewing.movie import export_movie
from supple.writing import check_target, replacing, write_file
from tests.unit.test_reading import listening, pipe

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")

CHAIN = trees.chain(2)
SECONDS = 60  #: after which what waits for ever is stopped


@pytest.fixture(scope="module")
def compiled() -> None:
    short_run()


@pytest.fixture
def not_for_ever(compiled: None) -> Iterator[None]:
    """Nothing waits for ever; kernels may take their time before."""

    def late(*_: object) -> None:
        raise TimeoutError("it waits")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def short_run(**how: Any) -> Any:
    return supple.simulate(CHAIN, duration=0.002, **how)


def export_as(path: Path) -> None:
    recording = path.parent / "recorded.h5"
    short_run(record=recording).close()
    supple.export(recording, path)


def report_to(path: Path) -> None:
    """Of a paper whose figure has this name."""
    report = Report("xx", "A paper", path.parent)
    report.figure(path.name, "a figure", new_figure(1, 1))
    report._save()


WRITERS: dict[str, Callable[[Path], object]] = {
    "save_urdf.urdf": lambda path: supple.save_urdf(CHAIN, path),
    "export.csv": export_as,
    "export.npz": export_as,
    "export.parquet": export_as,
    "plot.png": lambda path: short_run().plot(path),
    "plot.svg": lambda path: CHAIN.plot(path),
    "saved.pdf": lambda path: saved(new_figure(1, 1), path),
    "before a run.png": _drawable,
    "page.html": lambda path: export_html(short_run(), path),
    "moving.gif": lambda path: export_movie(short_run(), path),
    "record.h5": lambda path: short_run(record=path),
    "overwrite.h5": lambda path: short_run(record=path, overwrite=True),
    "resume.h5": lambda path: short_run(record=path, resume=True),
    "bench.json": lambda path: save_rows(path, {}),
    "before a bench.json": lambda path: run_bench([], None, True, path),  # type: ignore[arg-type]
    "report.png": report_to,
    "xx.md": lambda path: report_to(path.with_name("figure.png")),
    "xx.json": lambda path: report_to(path.with_name("figure.png")),
    "any.txt": lambda path: write_file(path, "text"),
}

OTHERS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a pipe": (pipe, "pipe"),
    "a link to a pipe": (lambda path: (pipe(path.with_name("pipe")), path.symlink_to("pipe"))[0], "pipe"),
    "a socket": (listening, "socket"),
    "a device": (lambda path: path.symlink_to("/dev/null"), "device"),
    "a folder": (lambda path: path.mkdir(), "folder"),
    "a loop": (lambda path: path.symlink_to(path), "symbolic links"),
}


@pytest.mark.usefixtures("not_for_ever")
@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("what", OTHERS)
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, name: str, what: str) -> None:
    make, said = OTHERS[what]
    path = tmp_path / name
    make(path)
    before = path.lstat()
    with pytest.raises(SuppleError, match=rf"{name} cannot be written: .*{said}"):
        WRITERS[name](path)
    assert path.lstat().st_ino == before.st_ino and not list(tmp_path.glob(".*"))


@pytest.mark.usefixtures("not_for_ever")
def test_reports_do_not_read_what_is_no_file_either(tmp_path: Path) -> None:
    for name in ("xx.json", "figure.png"):
        pipe(tmp_path / name)
    assert load_paper(tmp_path, "xx") is None
    assert "is no longer in the folder" in _figure(tmp_path / "figure.png", "")


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 251 + ".txt")  # as long as names may be
    write_file(path, "before")
    path.chmod(0o640)
    with pytest.raises(ZeroDivisionError), replacing(path) as f:
        f.write(b"half of")
        _ = 1 / 0
    assert path.read_text() == "before" and names(tmp_path) == [path.name]
    write_file(path, "after, é")
    assert path.read_bytes() == "after, é".encode() and names(tmp_path) == [path.name]
    assert path.stat().st_mode & 0o777 == 0o640


KILLED = """
import os, sys
from supple.writing import replacing
with replacing(sys.argv[1]) as f:
    f.write(b"half")
    f.flush()
    os.kill(os.getpid(), 9)
"""


def killed_while_writing(path: Path) -> Path:
    """The part of a file that a killed process leaves."""
    before = set(path.parent.iterdir())
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)]).returncode == -signal.SIGKILL
    (left,) = set(path.parent.iterdir()) - before
    return left


@pytest.mark.skipif(not LOCKS, reason="there are no locks")
def test_what_a_killed_process_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "run of tuesday afternoon.csv"
    assert killed_while_writing(path).read_bytes() == b"half"
    killed_while_writing(path)
    write_file(path, "whole")
    assert path.read_text() == "whole" and names(tmp_path) == [path.name]


@pytest.mark.skipif(not LOCKS, reason="there are no locks")
def test_what_somebody_else_writes_or_owns_is_left_alone(tmp_path: Path) -> None:
    """A part that is being written, also just before it gets its name; other files of like names; links."""
    path = tmp_path / "x"
    others = {".x.new", ".x.0123456789abcde.new", ".y.0123456789abcdef.new", ".x.0123456789abcdef.newer"}
    for name in others:
        (tmp_path / name).write_text("mine")
    (tmp_path / "target").write_text("mine")
    (tmp_path / ".x.00000000000000aa.new").symlink_to("target")
    pipe(tmp_path / ".x.00000000000000ab.new")
    with replacing(path) as f:
        f.write(b"first")
        write_file(path, "second")
        f.close()
        write_file(path, "third")
        assert path.read_text() == "third"
    assert path.read_text() == "first"
    left = {"x", "target", ".x.00000000000000aa.new", ".x.00000000000000ab.new"}
    assert set(names(tmp_path)) == others | left and (tmp_path / "target").read_text() == "mine"


def test_many_write_the_same_file_at_once(tmp_path: Path) -> None:
    """Whoever is last; nobody takes the part of another for one that was left."""
    path, texts = tmp_path / "x", [str(k) * 1000 for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: write_file(path, texts[k % 8]), range(400)))
    assert path.read_text() in texts and names(tmp_path) == ["x"]


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    write_file(path, "before")
    with pytest.raises(ViewError, match="x cannot be written: No space left on device"), replacing(path, ViewError):
        raise OSError(28, "No space left on device")
    with pytest.raises(RecordingError, match="of ours"), replacing(path, ViewError):
        raise RecordingError("of ours")
    assert path.read_text() == "before" and names(tmp_path) == ["x"]


def test_links_stay_and_what_they_lead_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, real = tmp_path / "link", tmp_path / "there" / "real"
    link.symlink_to(real)
    for text in ("new", "newer"):
        write_file(link, text)
        assert link.is_symlink() and real.read_text() == text and names(real.parent) == ["real"]
    (tmp_path / "astray").symlink_to(tmp_path / "no" / "where")
    for path in (tmp_path / "no" / "x", tmp_path / "astray", real / "x"):
        with pytest.raises(SuppleError, match=r"cannot be written: (there is no folder .*(no|real)|Not a directory)$"):
            check_target(path)


def test_umask_decides_who_may_read(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "x", "")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


def test_what_is_read_only_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(tmp_path / "x", "")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may do anything
    with pytest.raises(SuppleError, match="read-only"):
        write_file(tmp_path / "x", "other")
    assert (tmp_path / "x").read_text() == ""


def test_figures_have_the_ending_png_unless_another_is_given(tmp_path: Path) -> None:
    for name, there in (("x", "x.png"), ("y.", "y.png"), ("z.SVG", "z.SVG")):
        saved(new_figure(1, 1), tmp_path / name)
        assert (tmp_path / there).stat().st_size > 100
    for folder in (".", "..", "/", Path()):
        with pytest.raises(SuppleError, match="it is a folder"):
            saved(new_figure(1, 1), folder)
    with pytest.raises(SuppleError, match=r"cannot be saved as .*x\.odd"):
        saved(new_figure(1, 1), tmp_path / "x.odd")
    assert not (tmp_path / "x.odd").exists() and not list(tmp_path.glob(".*"))


class Named:
    """A path, but no Path."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)


def test_any_path_like_object_names_a_file(tmp_path: Path) -> None:
    urdf, run, csv, figure = (Named(tmp_path / name) for name in ("a.urdf", "run.h5", "run.csv", "a.png"))
    supple.save_urdf(CHAIN, urdf)  # type: ignore[arg-type]
    assert supple.load(urdf).n_bodies == 2  # type: ignore[arg-type]
    short_run(record=run).close()
    short_run(record=run, resume=True).close()
    supple.load_run(run).close()  # type: ignore[arg-type]
    assert supple.export(run, csv) == [csv.path]  # type: ignore[arg-type]
    for drawn in (CHAIN, short_run(), supple.mass_matrix(CHAIN, [0, 0], sparse=True)):
        figure.path.unlink(missing_ok=True)
        drawn.plot(figure)
        assert figure.path.stat().st_size > 1000
