"""Changes to files: by bytes, by lines and words, by XML elements and attributes."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from lxml import etree

Rng = np.random.Generator
T = TypeVar("T")

LARGEST = 300_000  #: bytes that a changed file may have


def one_of(rng: Rng, things: Sequence[T]) -> T:
    return things[int(rng.integers(len(things)))]


def few(rng: Rng) -> int:
    """How many changes: mostly one or two."""
    return int(min(rng.geometric(0.45), 12))


def times(rng: Rng) -> int:
    """How often something is repeated: mostly twice, seldom thousands of times."""
    return int(min(1 + rng.pareto(1.0), 3000))


def change_bytes(rng: Rng, data: bytes, odd: Sequence[bytes]) -> bytes:
    for _ in range(few(rng)):
        at, length = int(rng.integers(len(data) + 1)), int(rng.geometric(0.1))
        how = int(rng.integers(7))
        if how == 0 and data:  # one bit
            flipped = bytearray(data)
            flipped[min(at, len(data) - 1)] ^= 1 << int(rng.integers(8))
            data = bytes(flipped)
        elif how == 1:
            data = data[:at] + data[at + length :]
        elif how == 2:
            data = data[:at] + one_of(rng, odd) + data[at:]
        elif how == 3:
            data = data[:at] + one_of(rng, odd) + data[at + length :]
        elif how == 4:
            data = data[:at] + data[at : at + length] * times(rng) + data[at + length :]
        elif how == 5 and rng.random() < 0.3:
            data = data[:at]
        else:
            data = data[:at] + rng.bytes(min(length, 20)) + data[at + length :]
    return data[:LARGEST]


def change_lines(rng: Rng, data: bytes, words: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    for _ in range(few(rng)):
        at, other = (int(rng.integers(len(lines))) for _ in range(2))
        until = min(len(lines), at + int(rng.geometric(0.4)))
        how = int(rng.integers(7))
        if how == 0:
            lines[at:until] = [b""]
        elif how == 1:
            lines[at:until] = lines[at:until] * times(rng)
        elif how == 2:
            lines[at], lines[other] = lines[other], lines[at]
        elif how == 3:
            lines[other:other] = lines[at:until]
        elif how == 4:
            lines[at] = one_of(rng, words) + b" " + lines[at]
        else:
            parts = lines[at].split(b" ")
            parts[int(rng.integers(len(parts)))] = one_of(rng, words)
            lines[at] = b" ".join(parts)
    return b"\n".join(lines)[:LARGEST]


def change_tree(rng: Rng, data: bytes, values: Sequence[str], tags: Sequence[str]) -> bytes:
    root = etree.fromstring(data)
    for _ in range(few(rng)):
        change_element(rng, root, values, tags)
    out: bytes = etree.tostring(root)
    return out[:LARGEST]


def change_element(rng: Rng, root: Any, values: Sequence[str], tags: Sequence[str]) -> None:
    """One change to a tree of elements."""
    elements = [e for e in root.iter() if isinstance(e.tag, str)]
    element, other = one_of(rng, elements), one_of(rng, elements)
    parent, names = element.getparent(), sorted(element.attrib)
    inside = element in (other, *other.iterancestors())
    how = int(rng.integers(11))
    if how == 0 and parent is not None:
        parent.remove(element)
    elif how == 1 and parent is not None and len(elements) < 3000:
        for _ in range(min(times(rng), 50)):
            parent.append(copy.deepcopy(element))
    elif how == 2 and parent is not None and not inside:
        other.append(element)
    elif how == 3:
        element.tag = one_of(rng, tags)
    elif how == 4 and names:
        del element.attrib[one_of(rng, names)]
    elif how == 5 and names and other.attrib:
        element.set(one_of(rng, names), one_of(rng, sorted(other.attrib.values())))
    elif how == 6 and other.attrib:
        element.set(one_of(rng, sorted(other.attrib)), one_of(rng, values))
    elif how == 7:
        element.text = one_of(rng, values)
    elif how == 8 and not inside:  # deeper and deeper
        for _ in range(min(times(rng), 300)):
            inner = etree.SubElement(other, one_of(rng, tags))
            other = inner
    elif names:
        element.set(one_of(rng, names), one_of(rng, values))
