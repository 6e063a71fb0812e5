"""What is looked at before MuJoCo reads an MJCF: the files that it names, since to open a pipe is to wait for who
writes to it; numbers that MuJoCo takes though they are none; and entities, which it leaves as they are written.

MuJoCo looks for a file in the folder of the model, of the file that names it, or in one that <compiler> names; a name
is refused if it leads to something other than a regular file in any of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from supple.errors import ParseError
from supple.files.xml import Element, line_of, read_bytes, refuse_entities, safe_options, tag_of
from supple.reading import check_file

FOLDERS = ("meshdir", "texturedir", "assetdir")
MODELS = ("include", "model")  #: elements that name other MJCF files
MOST_FILES = 1000  #: that include each other
PLACES = ("pos", "quat", "axisangle", "xyaxes", "zaxis", "euler", "fromto")
#: Attributes whose numbers MuJoCo does not look at.
FINITE = {
    "weld": ("torquescale",),
    "geom": ("size", "friction", "margin", "gap", *PLACES),
    "hfield": ("size", "elevation"),
}


def check_references(file: str) -> None:
    """Refuse a file that names a pipe, a device or a folder, or declares entities, or includes one that does."""
    for element, at, name, found in _references(file):
        _check(found, element, at, name)


def refuse_missing(file: str, missing: str) -> None:
    """Refuse a file because of another that MuJoCo could not open, by the element that names it."""
    named = [(element, at, name) for element, at, name, _ in _references(file) if name.strip()]
    for matches in (missing.endswith, lambda name: Path(name).name == Path(missing).name):  # the latter: `strippath`
        for element, at, name in named:
            if matches(name):
                message = f"<{tag_of(element)}>: there is no file {missing!r}, or it cannot be opened"
                raise ParseError(message, at, line_of(element))


def _references(file: str) -> Iterator[tuple[Element, str, str, list[Path]]]:
    """Elements that name files, here and in what is included: the file they are in, the name, and where it may lead.
    Numbers are checked on the way."""
    home = Path(file).absolute().parent
    files, seen = [(Path(file).absolute(), file)], set[Path]()
    folders = {home}
    while files:
        at, known_as = files.pop()
        if at in seen:
            continue
        seen.add(at)
        if len(seen) > MOST_FILES:
            raise ParseError(f"more than {MOST_FILES} files are included", file)
        root = _root(at)
        if root is None:
            continue
        refuse_entities(root, read_bytes(at), known_as)
        _check_numbers(root, known_as)
        folders |= {home / str(name) for what in FOLDERS for name in root.xpath(f"//@{what}")}
        for element in root.xpath("//*[@*[starts-with(name(), 'file')]]"):
            for name in (str(value) for key, value in element.attrib.items() if str(key).startswith("file")):
                found = _candidates(name, folders | {at.parent})
                yield element, known_as, name, found
                of_models = tag_of(element) in MODELS
                files += [(path, str(path)) for path in found if of_models and path.suffix.lower() != ".mjb"]


def _root(path: Path) -> Element | None:
    try:
        return etree.fromstring(read_bytes(path), etree.XMLParser(recover=True, **safe_options()))
    except (etree.XMLSyntaxError, ValueError):  # MuJoCo will say what is wrong with it
        return None


def _check_numbers(root: Element, file: str) -> None:
    """torquescale says whether a weld holds rotations: with one that is not a number it would be anyone's guess, as
    would be shapes with such sizes, heights or friction. Friction must not be negative, either."""
    for tag, names in FINITE.items():
        for element in root.iter(tag):
            for name in names:
                _check_attribute(element, name, file)


def _check_attribute(element: Element, name: str, file: str) -> None:
    given = str(element.get(name, ""))
    try:
        values = [float(x) for x in given.split()]
    except ValueError:  # MuJoCo will say what is wrong with it
        return
    if all(math.isfinite(x) and (name != "friction" or x >= 0.0) for x in values):
        return
    one = "a finite number" if len(values) == 1 else "finite numbers"
    wanted = f"{one} >= 0" if name == "friction" else one
    shown = given if len(given) <= 60 else f"{given[:57]}..."
    raise ParseError(f"<{tag_of(element)}>: {name} needs {wanted}, not {shown!r}", file, line_of(element))


def line_of_geom(file: str, name: str, number: int, count: int) -> int | None:
    """The line of a geom, by its name, or by its number if the file holds as many as there are: None if neither is
    so, as where it comes from another file or is repeated."""
    root = _root(Path(file))
    geoms = [] if root is None else root.xpath("//worldbody//geom")
    named = [x for x in geoms if x.get("name") == name]
    if not named and len(geoms) == count:
        named = _by_body(geoms)[number : number + 1]
    return line_of(named[0]) if len(named) == 1 else None


def _by_body(geoms: list[Element]) -> list[Element]:
    """In the order in which MuJoCo numbers them: those of a body before those of bodies in it."""
    bodies: dict[Element, list[Element]] = {}
    for x in geoms:
        owner = next(x.iterancestors("body", "worldbody"))
        bodies.setdefault(owner, []).append(x)
    order = {e: i for i, e in enumerate(geoms[0].getroottree().getroot().iter("body", "worldbody"))}
    return [x for owner in sorted(bodies, key=lambda e: order[e]) for x in bodies[owner]]


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
