"""XML read with suspicion: nothing outside the file is touched, numbers are checked, errors have a line.

A Document also keeps the remarks made on the way: what its reader asks for is used, `unused` tells the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from supple.errors import ParseError
from supple.model.checks import LARGEST
from supple.model.report import Remark
from supple.reading import read_file

Element = Any  # lxml's, which has no types
Floats = NDArray[np.float64]

#: The line counter of libxml2's nodes stops here; a line that has reached it is not known.
LAST_LINE = 65535

#: What a decimal number looks like: stricter than float(), which takes nan, inf, 1_000 and Arabic digits.
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def safe_options() -> dict[str, bool]:
    """No entities, no DTD, no network, and libxml2's own limits on depth and size left on."""
    return dict(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)


def read_bytes(path: str | Path) -> bytes:
    """The content of a file that is not empty."""
    data = read_file(path)
    if not data or data.isspace():
        raise ParseError("the file is empty", str(path))
    return data


def root_tag(path: str | Path) -> str:
    """The tag of a file's outermost element, reading no further than that."""
    try:
        for _, element in etree.iterparse(BytesIO(read_bytes(path)), events=("start",), **safe_options()):
            return tag_of(element)
    except etree.XMLSyntaxError as e:
        raise ParseError(f"not well-formed XML: {e.msg}", str(path), e.lineno) from None
    raise ParseError("there is no element in the file", str(path))


def refuse_entities(element: Element, data: bytes, file: str) -> None:
    """Refuse a file whose DOCTYPE declares entities. element: any one of it; data: its content."""
    dtd = element.getroottree().docinfo.internalDTD
    if dtd is not None and any(True for _ in dtd.iterentities()):
        before, found, _ = data.partition(b"<!ENTITY")
        line = before.count(b"\n") + 1 if found else None
        raise ParseError("the DOCTYPE declares entities, which are refused; write them out", file, line)


def tag_of(element: Element) -> str:
    """The tag as written, except that a default namespace (xmlns="...") is no part of it."""
    tag: str = element.tag
    if not tag.startswith("{"):
        return tag
    local = tag.rpartition("}")[2]
    return local if element.prefix is None else f"{element.prefix}:{local}"


def line_of(element: Element) -> int | None:
    line = element.sourceline
    return None if line is None or line >= LAST_LINE else int(line)


def children(element: Element) -> Iterator[Element]:
    """The elements directly inside one: no comments, no processing instructions."""
    return (child for child in element if isinstance(child.tag, str))


def _name_of(element: Element) -> str:
    name, other = element.get("name"), element.get("reference")
    own = f"<{tag_of(element)}>" if name is None else f"{tag_of(element)} {name!r}"
    return own if other is None else f"{own} for {other!r}"


class Document:
    """A parsed file: its root element, typed access to what it holds, and the remarks made on it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.file = str(path)
        self.remarks: list[Remark] = []
        data = read_bytes(path)
        try:
            self.root: Element = etree.fromstring(data, etree.XMLParser(**safe_options()))
        except etree.XMLSyntaxError as e:
            raise ParseError(f"not well-formed XML: {e.msg}", self.file, e.lineno) from None
        except ValueError as e:
            raise ParseError(f"not well-formed XML: {e}", self.file) from None
        refuse_entities(self.root, data, self.file)

    # --- saying what is wrong or unused -----------------------------------------------------------

    def fail(self, element: Element, message: str) -> NoReturn:
        raise ParseError(f"{self.where(element)}: {message}", self.file, line_of(element))

    def remark(self, subject: str, element: Element, message: str) -> None:
        self.remarks.append(Remark(subject, f"{self.where(element)}: {message}", line_of(element)))

    def where(self, element: Element) -> str:
        """<limit> of joint 'knee', <gazebo> for 'foot'."""
        above = [x for x in element.iterancestors() if x.getparent() is not None]
        named = [x for x in above if x.get("name") or x.get("reference")]
        return f"{_name_of(element)} of {_name_of(named[-1])}" if named else _name_of(element)

    def unused(
        self, element: Element, attributes: Collection[str] = (), tags: Collection[str] = (), text: bool = False
    ) -> None:
        """Remark on everything directly in an element other than these attributes and children. text: is used, too."""
        subject = tag_of(element)
        extra = [repr(key) for key in element.attrib if key not in attributes]
        if extra:
            self.remark(subject, element, f"attribute {', '.join(extra)} not used")
        if not text and (element.text or "").strip():
            self.remark(subject, element, "text is not used")
        for child in element:
            if isinstance(child.tag, str):
                if tag_of(child) not in tags:
                    self.remark(tag_of(child), child, "not used")
            elif child.tag is not etree.Comment:
                self.remark(subject, element, "a processing instruction is not used")
            if not text and (child.tail or "").strip():
                self.remark(subject, element, "text is not used")

    # --- typed access -----------------------------------------------------------------------------

    def child(self, element: Element, tag: str) -> Element | None:
        """The only child of a tag, or None; two are refused, for which one is meant would be a guess."""
        found = [c for c in children(element) if tag_of(c) == tag]
        if len(found) > 1:
            self.fail(found[1], f"a second <{tag}>; only one is allowed")
        return found[0] if found else None

    def required(self, element: Element, tag: str) -> Element:
        found = self.child(element, tag)
        if found is None:
            self.fail(element, f"<{tag}> is missing")
        return found

    def text(self, element: Element, attribute: str) -> str:
        value = element.get(attribute)
        if value is None or not value.strip():
            self.fail(element, f"attribute {attribute!r} is {'missing' if value is None else 'empty'}")
        return str(value)

    def number(self, element: Element, attribute: str, default: float | None = None, largest: float = LARGEST) -> float:
        """One finite number; with a default, the attribute may be missing."""
        if default is not None and element.get(attribute) is None:
            return default
        return self._numbers(element, attribute, 1, largest)[0]

    def vector(
        self,
        element: Element | None,
        attribute: str,
        default: tuple[float, ...] | None = None,
        count: int = 3,
    ) -> Floats:
        """`count` finite numbers; with a default, the element or the attribute may be missing."""
        if default is not None and (element is None or element.get(attribute) is None):
            return np.array(default)
        return np.array(self._numbers(element, attribute, count, LARGEST))

    def value(self, element: Element) -> float:
        """The finite number that an element holds, however large: its attribute 'value', or its text, beside
        comments."""
        text = element.get("value") is None
        self.unused(element, ("value",), text=text)
        if not text:
            return self.number(element, "value", largest=math.inf)
        return self._parsed(element, "its text", "".join(element.xpath("text()")), 1, math.inf)[0]

    def _numbers(self, element: Element, attribute: str, count: int, largest: float) -> list[float]:
        return self._parsed(element, attribute, self.text(element, attribute), count, largest)

    def _parsed(self, element: Element, attribute: str, text: str, count: int, largest: float) -> list[float]:
        words = text.split()
        if len(words) != count:
            need = "one number" if count == 1 else f"{count} numbers"
            self.fail(element, f"{attribute} needs {need}, not {len(words)}: {short(' '.join(words))}")
        out = []
        for word in words:
            value = float(word) if NUMBER.fullmatch(word) else math.nan
            if not math.isfinite(value):
                self.fail(element, f"{attribute} holds {short(word)}, which is not a finite number")
            if abs(value) > largest:
                self.fail(element, f"{attribute} holds {short(word)}, too large for anything real")
            out.append(value)
        return out


def short(text: str) -> str:
    """Text in quotes, cut where it is long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")
