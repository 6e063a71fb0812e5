"""The wheel: what is in it, and that it works from a folder that nothing may be written to."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FACTORIZE = """
import sys, numpy as np, supple
assert supple.__file__.startswith(sys.argv[1]), supple.__file__
H = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.5, 0.0, 2.0]])
x = supple.factorize(H, [-1, 0, 0]).solve([1.0, 2.0, 3.0])
assert np.allclose(H @ x, [1.0, 2.0, 3.0])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--quiet", "-w", str(folder), str(ROOT)], check=True)
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel unpacked, which is what installing it does; what it depends on comes from this environment."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_it_holds_every_module_and_nothing_else(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    sources = {str(p.relative_to(ROOT / "src")) for p in (ROOT / "src" / "supple").rglob("*.py")}
    packed = {name for name in names if name.endswith(".py")}
    assert packed == sources
    assert {"supple/py.typed", "supple/__init__.pyi"} <= names  # the latter has the public names
    assert any(name.endswith("LICENSE") for name in names)
    assert all(name.startswith(("supple/", "supple-")) for name in names)


def test_it_has_the_command(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        (entry,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert "supple = supple.__main__:main" in archive.read(entry).decode()


def test_it_compiles_once_and_writes_nothing_where_it_is_installed(installed: Path, tmp_path: Path):
    """There is no home, either. (A folder that is named: unit/test_compiler.py.)"""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SUPPLE_", "NUMBA_", "XDG_"))}
    env |= {"PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(tmp_path), "HOME": "/dev/null"}
    before = _files(installed)
    for path in (installed, *installed.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        first, second = (
            subprocess.run(
                [sys.executable, "-c", FACTORIZE, str(installed)],
                env=env,
                cwd=tmp_path,
                capture_output=True,
                text=True,
            )
            for _ in range(2)
        )
    finally:
        for path in (installed, *installed.rglob("*")):
            path.chmod(path.stat().st_mode | 0o200)
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert "compiling" in first.stderr and second.stderr == ""
    assert _files(installed) == before
    assert list(tmp_path.rglob("*.nbc")), "no compiled code where it was to be kept"


def _files(folder: Path) -> set[Path]:
    return {p for p in folder.rglob("*") if p.is_file()}
