"""Where a robot's mesh files lie: package://, file:// and relative names; nothing outside its own folders.

A file may name any path. Kept are only meshes that lie, with links and '..' resolved, in one of
  - the folder of the robot's file, and everything below it;
  - the package that folder is in: the nearest parent with a package.xml;
  - the package that a package:// name refers to: a folder of that name in package_dirs, or a parent of the
    robot's file (though no home or top-level folder), or beside such a parent and with a package.xml;
  - the package_dirs.
Meshes are looked for, never opened.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

PACKAGE_SCHEMES = ("package://", "model://")


class MeshFinder:
    """Resolves the mesh names of one robot file."""

    def __init__(self, file: Path, package_dirs: Sequence[str | Path] | None) -> None:
        self.folder = file.resolve().parent
        self.parents = [self.folder, *self.folder.parents]
        self.package_dirs = [Path(os.path.realpath(d)) for d in package_dirs or ()]
        own = next((p for p in self.parents if (p / "package.xml").is_file()), None)
        self.roots = [self.folder, *self.package_dirs, *([] if own is None else [own])]
        self._packages: dict[str, Path | None] = {}

    def find(self, name: str) -> tuple[str | None, str]:
        """The path of a mesh, or None and the reason: "mesh missing", "mesh outside" or "mesh unknown"."""
        try:
            return self._find(name)
        except (OSError, ValueError, RuntimeError):  # null characters, names too long, loops of links
            return None, "mesh unknown"

    def _find(self, name: str) -> tuple[str | None, str]:
        roots = self.roots
        scheme = next((s for s in PACKAGE_SCHEMES if name.startswith(s)), None)
        if scheme is not None:
            package, _, rest = name[len(scheme) :].lstrip("/").partition("/")
            folder = self._package(package)
            if folder is None:
                return None, "mesh missing"
            path, roots = folder / rest.lstrip("/"), [folder, *roots]
        elif name.startswith("file://"):
            path = Path(unquote(name[len("file://") :]))
        elif "://" in name:
            return None, "mesh unknown"
        else:
            path = self.folder / name
        path = path.resolve()
        if not any(path.is_relative_to(root) for root in roots):
            return None, "mesh outside"
        return (str(path), "") if path.is_file() else (None, "mesh missing")

    def _package(self, name: str) -> Path | None:
        if name not in self._packages:
            self._packages[name] = None if name in ("", ".", "..") else self._look_for_package(name)
        return self._packages[name]

    def _look_for_package(self, name: str) -> Path | None:
        for folder in self.package_dirs:
            if folder.name == name:
                return folder
            if (folder / name).is_dir():
                return (folder / name).resolve()
        for parent in self.parents:
            if parent.name == name and not _is_shared(parent):
                return parent
            if (parent / name / "package.xml").is_file():
                return (parent / name).resolve()
        return None


def _is_shared(folder: Path) -> bool:
    """Whether a folder holds more than a robot: the file system's root, a folder in it, the user's home."""
    return len(folder.parts) <= 2 or Path.home().is_relative_to(folder)
