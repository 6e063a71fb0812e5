"""Files of compiled code, damaged in every way we can think of: nothing of them is run, or they are as they were."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numba import types

from supple.errors import SuppleError
from supple.spatial import code_cache, compiler
from supple.spatial.algebra import Vec3, dot

Random = np.random.Generator


class Opened:
    """Ends the process if anybody unpickles it: a crash, to whoever watches."""

    def __reduce__(self) -> Any:
        return os._exit, (77,)


@cache
def kernels() -> tuple[compiler.Kernel, compiler.Kernel]:
    """Two small kernels, compiled into a folder of this process's own."""
    folder = Path(tempfile.mkdtemp(prefix="supple-fuzz-cache-"))
    code_cache.cache_folder = compiler.cache_folder = lambda: folder  # type: ignore[assignment]
    compiler.announce = lambda name, seconds: None
    compiler.say = lambda text: None

    def three(x):  # type: ignore[no-untyped-def]
        return dot(Vec3(x, x, x), Vec3(1.0, 1.0, 1.0))

    def six(x):  # type: ignore[no-untyped-def]
        return dot(Vec3(x, x, x), Vec3(2.0, 2.0, 2.0))

    signature = types.float64(types.float64)
    both = compiler.Kernel(three, signature, "three times"), compiler.Kernel(six, signature, "six times")
    assert [kernel.load()(2.0) for kernel in both] == [6.0, 12.0]
    return both


@cache
def kept(kernel: compiler.Kernel) -> tuple[Path, bytes, bytes]:
    """Where the code of a kernel is, what of, and the file as it should be."""
    context = kernel.dispatcher.targetctx
    path, identity = kernel.dispatcher._cache._place(kernel.signature, context.codegen())
    return path, identity, path.read_bytes()


# --- damages of bytes -----------------------------------------------------------------------------------------------


def nothing(rng: Random, good: bytes) -> bytes:
    return good


def flips(rng: Random, good: bytes) -> bytes:
    """A few bits, anywhere or in the head."""
    out = bytearray(good)
    reach = len(out) if rng.random() < 0.7 else 64
    for at in rng.integers(reach, size=rng.integers(1, 5)):
        out[at] ^= 1 << int(rng.integers(8))
    return bytes(out)


def overwritten(rng: Random, good: bytes) -> bytes:
    """A stretch of zeros, of noise, or of what stands elsewhere in the file."""
    at, size = int(rng.integers(len(good))), int(rng.integers(1, 5000))
    there = int(rng.integers(len(good)))
    what = [bytes(size), rng.bytes(size), good[there : there + size]][rng.integers(3)]
    return good[:at] + what + good[at + len(what) :]


def cut(rng: Random, good: bytes) -> bytes:
    return good[: int(rng.integers(len(good)))]


def longer(rng: Random, good: bytes) -> bytes:
    return good + rng.bytes(int(rng.integers(1, 100)))


def shifted(rng: Random, good: bytes) -> bytes:
    at = int(rng.integers(len(good)))
    return good[:at] + (rng.bytes(1) + good[at:] if rng.random() < 0.5 else good[at + 1 :])


def noise(rng: Random, good: bytes) -> bytes:
    return rng.bytes(int(rng.integers(10_000)))


def trap(rng: Random, good: bytes) -> bytes:
    """What ends the process when it is unpickled; with a head, and a digest of something else."""
    return good[: [0, 16, 48][rng.integers(3)]] + pickle.dumps(Opened())


def other(rng: Random, good: bytes) -> bytes:
    """The whole file of another kernel; or its contents, with the digest of those as the code of nothing."""
    _, _, file = kept(kernels()[1])
    if rng.random() < 0.5:
        return file
    content = file[48:]
    return code_cache.MARK + code_cache._digest(content, rng.bytes(int(rng.integers(40)))) + content


DAMAGES: tuple[Callable[[Random, bytes], bytes], ...] = (
    nothing, flips, flips, flips, overwritten, cut, longer, shifted, noise, trap, other,
)  # fmt: skip


# --- and of what holds them -----------------------------------------------------------------------------------------


def place(rng: Random, path: Path, content: bytes, folder: Path) -> bool:
    """Put a file where the code should be, perhaps in an odd way; whether that is the usual one."""
    odd = rng.random()
    if odd < 0.96:
        path.write_bytes(content)
        path.chmod(0o600)
        return True
    path.unlink(missing_ok=True)
    if odd < 0.97:
        (folder / "elsewhere").write_bytes(content)
        path.symlink_to(folder / "elsewhere")
    elif odd < 0.98:
        os.mkfifo(path)
    elif odd < 0.99:
        path.mkdir()
    else:
        path.write_bytes(content)
        path.chmod([0o666, 0o620, 0o000 if os.geteuid() else 0o602][rng.integers(3)])
    return False


def clear(path: Path) -> None:
    path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def attempt(rng: Random, folder: Path) -> None:
    """The file of a small kernel, damaged or not, through the very function with which Numba would load it."""
    kernel = kernels()[0]
    path, _, good = kept(kernel)
    damage = DAMAGES[rng.integers(len(DAMAGES))]
    if damage is nothing and rng.random() < 0.8:  # each loads machine code that stays
        damage = flips
    content = damage(rng, good)
    clear(path)
    usual = place(rng, path, content, folder)
    try:
        found = kernel.dispatcher._cache.load_overload(kernel.signature, kernel.dispatcher.targetctx)
    finally:
        clear(path)
    if usual and content == good:
        assert found is not None and found.entry_point(2.0) == 6.0, "code that is as it was is used"
        return
    assert found is None, f"{damage.__name__}: code was taken that is not as it was"
    raise SuppleError("compiled again")
