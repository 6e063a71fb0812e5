"""MuJoCo's compiler, called in its C library by a process apart: an MJCF file into a compiled model, as bytes.

Run by apart_worker.py. Not through the package `mujoco`, which takes half a second to import; the process that asks
does that meanwhile.
"""

from __future__ import annotations

import ctypes
import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ERROR = 1000  #: bytes of a message
REPLIES = 1  #: the file that replies are written to; apart_worker.py says which
HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_char_p)


def library() -> Any:
    """MuJoCo's C library, with its plugins, as the package loads it."""
    spec = find_spec("mujoco")
    folders = [Path(p) for p in (spec.submodule_search_locations or ())] if spec else []
    names = ("libmujoco.so*", "libmujoco*.dylib", "mujoco.dll")
    found = next((f for folder in folders for name in names for f in sorted(folder.glob(name))), None)
    if found is None:
        raise ImportError("MuJoCo's library is not in its package")
    lib = ctypes.CDLL(str(found))
    lib.mj_loadXML.restype = ctypes.c_void_p
    lib.mj_loadXML.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    lib.mj_sizeModel.restype = ctypes.c_int  # of 64 bits in later versions: no model here needs them
    lib.mj_sizeModel.argtypes = [ctypes.c_void_p]
    lib.mj_saveModel.restype = None
    lib.mj_saveModel.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64]
    lib.mj_deleteModel.restype = None
    lib.mj_deleteModel.argtypes = [ctypes.c_void_p]
    for name, handler in (("mju_user_error", FAILED), ("mju_user_warning", SILENT)):
        ctypes.c_void_p.in_dll(lib, name).value = ctypes.cast(handler, ctypes.c_void_p).value
    plugins = found.parent / "plugin"
    if plugins.is_dir():
        lib.mj_loadAllPluginLibraries(str(plugins).encode(), None)
    return lib


@HANDLER
def FAILED(message: bytes) -> None:
    """An error of the engine that the compiler did not catch: it must not go on."""
    said = message.decode(errors="replace")
    reply = {"refused": f"MuJoCo refuses it: {said}", "bytes": 0, "last": True}
    os.write(REPLIES, json.dumps(reply).encode() + b"\n")
    os._exit(1)


@HANDLER
def SILENT(message: bytes) -> None:
    """A warning; by default it goes into a file MUJOCO_LOG.TXT."""


def answer(request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The compiled model of an MJCF file, or why there is none."""
    error = ctypes.create_string_buffer(ERROR)
    model = LIBRARY.mj_loadXML(os.fsencode(request["file"]), None, error, ERROR)
    if not model:
        return {"error": error.value.decode(errors="replace")}, b""
    try:
        data = ctypes.create_string_buffer(LIBRARY.mj_sizeModel(model))
        LIBRARY.mj_saveModel(model, None, data, len(data))
    finally:
        LIBRARY.mj_deleteModel(model)
    return {}, data.raw


LIBRARY = library()
