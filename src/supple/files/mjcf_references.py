"""What is looked at before MuJoCo reads an MJCF: the files that it names, since to open a pipe is to wait for who
writes to it; and numbers that MuJoCo takes though they are none.

MuJoCo looks for a file in the folder of the model, of the file that names it, or in one that <compiler> names; a name
is refused if it leads to something other than a regular file in any of them.
"""

from __future__ import annotations

import math
from pathlib import Path

from lxml import etree

from supple.errors import ParseError
from supple.files.xml import Element, line_of, read_bytes, safe_options, tag_of
from supple.reading import check_file

FOLDERS = ("meshdir", "texturedir", "assetdir")
MODELS = ("include", "model")  #: elements that name other MJCF files
MOST_FILES = 1000  #: that include each other


def check_references(file: str) -> None:
    """Refuse a file that names a pipe, a device or a folder, or includes one that does."""
    home = Path(file).absolute().parent
    files, seen = [Path(file).absolute()], set[Path]()
    folders = {home}
    while files:
        at = files.pop()
        if at in seen:
            continue
        seen.add(at)
        if len(seen) > MOST_FILES:
            raise ParseError(f"more than {MOST_FILES} files are included", file)
        root = _root(at)
        if root is None:
            continue
        _check_scales(root, str(at))
        folders |= {home / str(name) for what in FOLDERS for name in root.xpath(f"//@{what}")}
        for element in root.xpath("//*[@*[starts-with(name(), 'file')]]"):
            for name in (str(value) for key, value in element.attrib.items() if str(key).startswith("file")):
                found = _candidates(name, folders | {at.parent})
                _check(found, element, str(at), name)
                files += [path for path in found if tag_of(element) in MODELS and path.suffix.lower() != ".mjb"]


def _root(path: Path) -> Element | None:
    try:
        return etree.fromstring(read_bytes(path), etree.XMLParser(recover=True, **safe_options()))
    except (etree.XMLSyntaxError, ValueError):  # MuJoCo will say what is wrong with it
        return None


def _check_scales(root: Element, file: str) -> None:
    """torquescale says whether a weld holds rotations: with one that is not a number it would be anyone's guess."""
    for element in root.xpath("//*[@torquescale]"):
        value = str(element.get("torquescale"))
        try:
            finite = math.isfinite(float(value))
        except ValueError:  # MuJoCo will say what is wrong with it
            continue
        if not finite:
            message = f"<{tag_of(element)}>: torquescale needs a finite number, not {value!r}"
            raise ParseError(message, file, line_of(element))


def _candidates(name: str, folders: set[Path]) -> list[Path]:
    """Where a name may lead: as it is, and without its own folders (`strippath`)."""
    paths = (folder / part for folder in folders for part in {name, Path(name).name})
    return [path for path in paths if name.strip() and _is_there(path)]


def _is_there(path: Path) -> bool:
    try:
        return path.exists() and not path.is_dir()  # which MuJoCo refuses by itself
    except (OSError, ValueError):  # names too long, null characters
        return False


def _check(found: list[Path], element: Element, file: str, name: str) -> None:
    for path in found:
        try:
            check_file(path)
        except ParseError as e:
            raise ParseError(f"<{tag_of(element)}> names {name!r}: {e.message}", file, line_of(element)) from None
