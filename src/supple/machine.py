"""The machine and the versions that measured figures depend on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import supple

PACKAGES = ("numpy", "numba", "pin", "mujoco")


def machine() -> dict[str, str]:
    """What is said beside every measured figure: processor, system, and versions of what computes."""
    out = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": _system(),
        "supple": supple.__version__,
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            out[package] = version(package)
        except PackageNotFoundError:
            out[package] = "not installed"
    return out


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _system() -> str:
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        name = ""
    kernel = f"{platform.system()} {platform.release()}"
    return f"{name}, {kernel}" if name else kernel
