"""Equations: TeX between dollars becomes MathML when the pages are built. Browsers draw that by themselves.

One dollar on each side within a line; two on each side as a paragraph of its own, in which align* makes several lines.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.blockprocessors import BlockProcessor
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.util import AtomicString

BEFORE_ESCAPES = 185  #: a priority: after `code`, before backslashes are read as escapes
BEFORE_PARAGRAPHS = 75


def to_mathml(tex: str, display: str) -> str:
    """MathML; what the converter does not know is refused, where it would show it as it is."""
    out: str = convert(tex, display=display)
    unknown = re.findall(r"\\\w*|<merror|<mi>&</mi>", out)
    if unknown:
        raise ValueError(f"cannot be turned into MathML, {unknown[0]!r} is not known: {tex}")
    for bar in ("&#x02016;", "&#x0007C;"):  # of norms: as high as a letter, not as the line
        out = out.replace(f"<mo>{bar}</mo>", f'<mo stretchy="false">{bar}</mo>')
    return out


class InLine(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:
        return self.md.htmlStash.store(to_mathml(m.group(1), "inline")), m.start(0), m.end(0)


class Displayed(BlockProcessor):
    def test(self, parent: ElementTree.Element, block: str) -> bool:
        return block.startswith("$$") and block.rstrip().endswith("$$") and len(block.strip()) > 4

    def run(self, parent: ElementTree.Element, blocks: list[str]) -> None:
        tex = blocks.pop(0).strip()[2:-2]
        box = ElementTree.SubElement(parent, "div", {"class": "equation"})
        box.text = AtomicString(self.parser.md.htmlStash.store(to_mathml(tex, "block")))


class Equations(Extension):
    def extendMarkdown(self, md: Markdown) -> None:
        md.inlinePatterns.register(InLine(r"\$([^$\n]+(?:\n[^$\n]+)?)\$", md), "equation", BEFORE_ESCAPES)
        md.parser.blockprocessors.register(Displayed(md.parser), "equation", BEFORE_PARAGRAPHS)


def on_config(config: Any) -> Any:
    config.markdown_extensions.append(Equations())
    return config
