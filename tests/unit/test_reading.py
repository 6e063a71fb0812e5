"""Files that are given are read if they are regular and not too large, and else refused at once."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

import supple
from supple.errors import ParseError, SuppleError
from supple.reading import check_file, read_beginning, read_file, read_text
from supple.request import Request

READERS: dict[str, Callable[[Path], object]] = {
    ".urdf": supple.load,
    ".xml": supple.load,
    ".bvh": supple.load_bvh,
    ".toml": lambda path: Request().over(path),
    ".any": read_file,
}


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(path))


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 10**12)


OTHERS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a pipe": (pipe, "not a regular file but a pipe"),
    "a socket": (listening, "not a regular file but a socket"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "not a regular file but a device"),
    "a folder": (lambda path: path.mkdir(), "this is a folder"),
    "a loop": (lambda path: path.symlink_to(path), "cannot be read: .*symbolic links"),
    "a terabyte of zeros": (sparse, "the file is larger than"),
    "nothing": (lambda path: None, "there is no such file"),
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize("what", OTHERS)
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, suffix: str, what: str) -> None:
    make, message = OTHERS[what]
    path = tmp_path / f"given{suffix}"
    make(path)
    with pytest.raises(SuppleError, match=rf"given{suffix}: .*{message}"):
        READERS[suffix](path)


def test_files_are_read_up_to_their_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    assert read_file(path, 100) == b"x" * 100
    assert read_beginning(path, 10) == b"x" * 10
    check_file(path, 100)
    for read in (read_file, check_file):
        with pytest.raises(ParseError, match="larger than"):
            read(path, 99)
    with pytest.raises(ParseError, match=r"file\\x00: cannot be read"):
        read_file(f"{path}\0")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no such file system here")
def test_files_that_do_not_tell_their_size_are_bounded_too() -> None:
    """A file of size zero that has content."""
    assert len(read_file("/proc/self/status")) > 100
    with pytest.raises(ParseError, match="larger than"):
        read_file("/proc/self/status", 100)


def test_text_that_is_not_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfone\ntwo\nthr\xe9e\n")
    with pytest.raises(ParseError, match=r"text:3: not UTF-8 text: byte 0xe9") as e:
        read_text(path)
    assert e.value.line == 3
    path.write_bytes(b"\xef\xbb\xbfone\n")
    assert read_text(path) == "one\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("set." + ".".join("a" * 40_000) + " = 1", "given.toml:1: a key of so many parts"),
        ("dt = 1\nset.a.b = 1", r"given.toml: 'a' must be a plain value .* not a table"),
        ("x = " + "[" * 40_000, "nested too deep"),
        ("x = " + "{a = " * 10_000, "nested too deep"),
        ("dt = " + "9" * 5000, "4300 digits|limit"),
        ("dt = 0x" + "f" * 5000, "given.toml:1: dt must be a number, not one of so many digits"),
        ("force = [[1]]", "given.toml:1: 'force' must be a plain value"),
        ("\n" * 90_000 + "dz = 1", "given.toml:90001: no setting named 'dz'"),
        ("#" * 100_001, "larger than"),
        ("dt = '\udce9'", "given.toml:1: not UTF-8"),
    ],
    ids=lambda x: str(x)[:20],
)
def test_settings_are_refused_where_they_are_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "given.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(SuppleError, match=message):
        Request().over(path)


def test_suggestions_for_names_cost_little() -> None:
    """They are quadratic in the lengths of names."""
    from supple.model.model import unknown

    assert unknown("link", "bose", ["base", "arm"]).endswith("did you mean 'base'?")
    assert unknown("link", "x", ["base", "arm"]).endswith("; there are: 'base', 'arm'")
    assert unknown("link", "x", [f"link {i}" for i in range(9)]).endswith("; there are 9 of them: 'link 0', 'link 1', "
                                                                          "'link 2', 'link 3', ...")  # fmt: skip
    assert unknown("link", "x", ["base"]).endswith("; there is one: 'base'")
    assert unknown("link", "x", ["base"], listed=True).endswith("; there is one")
    assert unknown("link", "x", []).endswith("; there are none")
    for name, known in (("ab" * 50_000, ["ba" * 50_000]), ("ab" * 30, ["ba" * 50_000] * 100)):
        assert len(unknown("link", name, known)) < 200
