"""The text of a BVH file: a hierarchy of joints with channels, then frames, one a line. Errors name file and line.

Read as the tools that write it differ: braces on lines of their own or not, keywords and channels in any case, UTF-8
with or without a byte order mark, UTF-16 with one, else Latin-1. What follows # or // at the beginning of a word is a
comment; in the name of a joint, if a blank follows the mark. Names are kept as they are, whatever characters they hold:
who shows them escapes them. Time and memory are O(n) in the text.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from supple.errors import ParseError
from supple.files.xml import NUMBER, read_bytes, short
from supple.model.checks import LARGEST

Floats = NDArray[np.float64]

AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
CHANNELS = [axis + what for what in ("position", "rotation") for axis in AXES]
MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
COMMENT = ("#", "//")
MOST_FRAMES = 10**9
MOST_JOINTS = 100_000


@dataclass
class Node:
    """A joint of the hierarchy; its channels are columns first, first + 1, ... of the frames."""

    name: str
    parent: int
    line: int
    offset: Floats = field(default_factory=lambda: np.full(3, np.nan))
    channels: list[str] = field(default_factory=list)
    first: int = 0
    end: Floats | None = None  #: of an end site


@dataclass
class Bvh:
    """What is in a file."""

    file: str
    nodes: list[Node]
    frames: Floats  #: (n_frames, n_channels)
    frame_time: float
    encoding: str  #: of its text


class _Lines:
    """The words of a file, line by line, and where they stand. A brace is a line of its own, wherever it stands."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.number = file, 0
        self._parts = self._split(text)
        self._next = next(self._parts, None)

    @staticmethod
    def _split(text: str) -> Iterator[tuple[int, list[str]]]:
        for number, line in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
            if "#" in line or "//" in line:
                line = _without_comment(line)
            for part in re.split(r"([{}])", line) if "{" in line or "}" in line else (line,):
                words = part.split()
                if words and words[0].startswith(COMMENT):
                    break
                if words:
                    yield number, words

    def words(self, wanted: str) -> list[str]:
        """Of the next line that has any."""
        return self._advance() if self._next is not None else self.ends(wanted)

    def ends(self, wanted: str) -> NoReturn:
        self.fail(f"the file ends where {wanted} should follow", self.number or 1)

    def rest(self) -> Iterator[list[str]]:
        while self._next is not None:
            yield self._advance()

    def _advance(self) -> list[str]:
        assert self._next is not None
        self.number, words = self._next
        self._next = next(self._parts, None)
        return words

    @property
    def more(self) -> bool:
        return self._next is not None

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        raise ParseError(message, self.file, self.number if line is None else line)

    def reals(self, words: list[str], what: str, count: int) -> Floats:
        if len(words) != count:
            self.fail(f"{what} needs {count} number{'s' * (count > 1)}, and has {len(words)}")
        row = " ".join(words)
        try:
            if "_" in row or not row.isascii():
                raise ValueError("what float() takes, and no BVH means")
            out = np.array([float(w) for w in words])
        except ValueError:
            bad = next(w for w in words if not NUMBER.fullmatch(w))
            self.fail(f"{what}: {short(bad)} is not a number")
        good = np.abs(out) <= LARGEST
        if not good.all():
            i = int(np.flatnonzero(~good)[0])
            self.fail(f"{what}: {short(words[i])} is {'too large' if np.isfinite(out[i]) else 'not finite'}")
        return out


def _without_comment(line: str) -> str:
    """A line up to a word that begins with a mark; in the name of a joint, up to one that is a mark."""
    words = line.split()
    named = bool(words) and words[0].upper() in ("ROOT", "JOINT")
    for i, word in enumerate(words):
        if word in COMMENT if named else word.startswith(COMMENT):
            return " ".join(words[:i])
    return line


def read_bvh(path: str | Path) -> Bvh:
    """The hierarchy and the frames of a file, as they are."""
    file = str(path)
    text, encoding = _text(file, read_bytes(path))
    lines = _Lines(file, text)
    if lines.words("HIERARCHY")[0].upper() != "HIERARCHY":
        lines.fail("not a BVH, which begins with HIERARCHY")
    nodes = _hierarchy(lines)
    frames, frame_time = _motion(lines, sum(len(n.channels) for n in nodes))
    return Bvh(file, nodes, frames, frame_time, encoding)


def _text(file: str, data: bytes) -> tuple[str, str]:
    """A file's text and its encoding. What is not UTF-8 is Latin-1, if it begins as a BVH does."""
    mark = next((mark for mark in MARKS if data.startswith(mark)), b"")
    encoding = MARKS.get(mark, "utf-8")
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as e:
        first = next(_Lines._split(data[:1000].decode("latin-1")), (0, [""]))[1][0]
        if mark or first.upper() != "HIERARCHY":
            line = data.count(b"\n", 0, e.start) + 1
            raise ParseError(f"not a text file, and so no BVH: it cannot be read as {encoding}", file, line) from None
        text, encoding = data.decode("latin-1"), "latin-1"
    if (at := text.find("\0")) >= 0:
        raise ParseError("not a text file, and so no BVH: it has a null character", file, text.count("\n", 0, at) + 1)
    return text, encoding


def _hierarchy(lines: _Lines) -> list[Node]:
    nodes: list[Node] = []
    open_: list[int] = []  # joints whose brace is open; -1 for an end site
    known: dict[str, int] = {}
    columns = 0  # of channels so far
    while True:
        words = lines.words("MOTION") if lines.more else lines.ends(f"the rest of {_opened(nodes, open_)}")
        key = words[0].upper()
        if key in ("ROOT", "JOINT"):
            name = " ".join(words[1:])
            if (key == "ROOT") != (not open_) or (open_ and open_[-1] < 0):
                lines.fail(f"{words[0]} {short(name)} does not belong here")
            if not name or name in known:
                lines.fail(
                    f"there is a joint {short(name)} already, in line {known[name]}" if name else "a joint has no name"
                )
            if key == "ROOT" and nodes:
                lines.fail(f"a second ROOT, {short(name)}: one skeleton a file")
            if len(nodes) == MOST_JOINTS:
                lines.fail(f"there are more than {MOST_JOINTS} joints, the most that are read")
            known[name] = lines.number
            nodes.append(Node(name, open_[-1] if open_ else -1, lines.number, first=columns))
            open_.append(len(nodes) - 1)
            _brace(lines)
        elif key == "END" and open_ and open_[-1] >= 0:
            if nodes[open_[-1]].end is not None:
                lines.fail(f"joint {short(nodes[open_[-1]].name)} has a second end site")
            open_.append(-1)
            _brace(lines)
        elif key == "OFFSET" and open_:
            offset = lines.reals(words[1:], "OFFSET", 3)
            if open_[-1] < 0:
                nodes[open_[-2]].end = offset
            elif not np.isnan(nodes[open_[-1]].offset[0]):
                lines.fail(f"a second OFFSET of joint {short(nodes[open_[-1]].name)}")
            else:
                nodes[open_[-1]].offset = offset
        elif key == "CHANNELS" and open_ and open_[-1] >= 0:
            _channels(lines, words, nodes, open_[-1])
            columns += len(nodes[-1].channels)
        elif key == "}" and open_:
            closed = open_.pop()
            if closed >= 0 and np.isnan(nodes[closed].offset[0]):
                lines.fail(f"joint {short(nodes[closed].name)} has no OFFSET")
        elif key == "MOTION" and nodes and not open_:
            return nodes
        elif key == "MOTION" and open_:
            lines.fail(f"MOTION begins within {_opened(nodes, open_)}: a closing brace is missing")
        else:
            lines.fail(f"{short(words[0])} is not expected here")


def _opened(nodes: list[Node], open_: list[int]) -> str:
    inner = [i for i in open_ if i >= 0]
    return f"joint {short(nodes[inner[-1]].name)} (line {nodes[inner[-1]].line})" if inner else "the hierarchy"


def _brace(lines: _Lines) -> None:
    if lines.words("an opening brace")[0] != "{":
        lines.fail("an opening brace is missing")


def _channels(lines: _Lines, words: list[str], nodes: list[Node], i: int) -> None:
    node = nodes[i]
    if i != len(nodes) - 1 or node.channels:
        lines.fail(f"CHANNELS of joint {short(node.name)} must come once, and before its children")
    said = _count(words[1]) if len(words) > 1 else None
    if said is None:
        lines.fail("CHANNELS must say how many there are")
    names = [word.capitalize() for word in words[2:]]
    if said != len(names):
        lines.fail(f"joint {short(node.name)} says it has {said} channels, and names {len(names)}")
    for name, word in zip(names, words[2:]):
        if name not in CHANNELS:
            lines.fail(f"{short(word)} is no channel; there are {', '.join(CHANNELS)}")
        if names.count(name) > 1:
            lines.fail(f"joint {short(node.name)} has the channel {name} twice")
    node.channels = names


def _motion(lines: _Lines, n_channels: int) -> tuple[Floats, float]:
    found = re.fullmatch(r"frames\s*:\s*(\S+)", " ".join(lines.words("Frames:")), re.IGNORECASE)
    said = None if found is None else _count(found[1])
    if said is None:
        lines.fail("the motion must begin with 'Frames:' and their number")
    said_line = lines.number
    found = re.fullmatch(r"frame time\s*:(.*)", " ".join(lines.words("Frame Time:")), re.IGNORECASE)
    if found is None:
        lines.fail("'Frame Time:' and the seconds of a frame must follow")
    frame_time = float(lines.reals(found[1].split(), "Frame Time", 1)[0])
    if frame_time <= 0:
        lines.fail(f"a frame must take time, not {frame_time:g} s")
    rows: list[Floats] = []
    for words in lines.rest():
        if len(rows) == said:
            lines.fail(f"there are more frames than the {said} of line {said_line}")
        if len(words) != n_channels:
            which = f"frame {len(rows) + 1} has {len(words)} numbers, and the hierarchy {n_channels} channels"
            cut = len(words) < n_channels and not lines.more
            lines.fail(f"the file is cut off in the middle of a frame: {which}" if cut else which)
        rows.append(lines.reals(words, f"frame {len(rows) + 1}", n_channels))
    if len(rows) != said:
        lines.fail(f"{said} frames are announced, and {len(rows)} are there", said_line)
    return np.array(rows).reshape(said, n_channels), frame_time


def _count(word: str) -> int | None:
    """A whole number, in plain digits; None if it is none, or beyond all reason."""
    count = int(word) if re.fullmatch(r"[0-9]{1,12}", word) else MOST_FRAMES + 1
    return count if count <= MOST_FRAMES else None
