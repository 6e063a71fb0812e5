"""Compiling in three quarters of the time, with the same machine code as a result.

Numba turns every function that it compiles into machine code, also one that has no entry for Python and is only ever
linked into others: for a kernel with a hundred helpers, a tenth of the time that its compilation takes. Within
`linked_only` such functions end as optimised LLVM code, which is what Numba links into their callers. The code of the
callers is the same, bit by bit. And while it compiles, Python's garbage collector searches the growing heap again and
again for little (`without_collection`): another seventh.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext

_ENTRY = "_ZN7cpython"  #: how the name of an entry for Python begins


@contextmanager
def linked_only() -> Iterator[None]:
    """Compile functions that cannot be called from Python without machine code of their own."""
    finalize, executable = JITCodeLibrary._finalize_final_module, CPUContext.get_executable

    def finalize_linked(library: Any) -> None:
        if not _is_linked_only(library):
            finalize(library)
            return
        library._finalize_dynamic_globals()
        library._verify_declare_only_symbols()
        library._finalized = True

    def executable_or_name(context: Any, library: Any, function: Any, env: Any) -> Any:
        """What Python calls; for a function that it cannot call, an object that stands for it among its callers."""
        library._ensure_finalized()
        if not _is_linked_only(library):
            return executable(context, library, function, env)
        return _dynfunc.make_function(function.lookup_module(), function.qualname, "", 0, env, (library,))

    with global_compiler_lock:
        JITCodeLibrary._finalize_final_module, CPUContext.get_executable = finalize_linked, executable_or_name
        try:
            yield
        finally:
            JITCodeLibrary._finalize_final_module, CPUContext.get_executable = finalize, executable


@contextmanager
def without_collection() -> Iterator[None]:
    """Let garbage that refers to itself wait."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _is_linked_only(library: Any) -> bool:
    """Whether its functions have no entry for Python. (What was loaded from the cache has machine code, and no LLVM code
    from which that could be seen.)"""
    defined = [f.name for f in library._final_module.functions if not f.is_declaration]
    return bool(defined) and not any(name.startswith(_ENTRY) for name in defined)
