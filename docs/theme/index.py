"""The index that search.js reads: as a script, which a page opened as a file may load, where it may not load JSON."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

FOLDER = "search"  #: where the plugin of that name writes what it found, and a search engine that we do without
BEGINNING = 300  #: characters


def on_post_build(config: Any) -> None:
    folder = Path(config.site_dir) / FOLDER
    entries = json.loads((folder / "search_index.json").read_text(encoding="utf-8"))["docs"]
    shutil.rmtree(folder)
    found = [[e["location"], e["title"], _text(e)] for e in entries]
    text = f"const SEARCHED = {json.dumps(found, ensure_ascii=False)};\n"
    (Path(config.site_dir) / "searched.js").write_text(text, encoding="utf-8")


def _text(entry: dict[str, str]) -> str:
    """Of a whole page only how it begins: the rest comes again with its sections."""
    text = " ".join(entry["text"].split())
    return text if "#" in entry["location"] else text[:BEGINNING]
