"""How Supple is compiled: the options, the kernels, and where their machine code is stored.

helper   a small function that is inlined into kernels. It has no entry point for Python: calling one from there crashes
         (its .py_func may be called).
part     a larger one that is called, so that it is compiled once for all its callers.
kernel   a function with a fixed signature, compiled on first use and loaded from the cache by later processes.
         Kernels and helpers may call a kernel by its name. It is linked, not inlined: Numba would optimise a large
         part again with every function that calls it, and with the callers of these.

The cache is in the user's cache folder (SUPPLE_CACHE_DIR or NUMBA_CACHE_DIR override it; a temporary folder is used if
none is writable). A kernel is in a subfolder named by a hash of every source file that its module imports, directly or
indirectly, of the versions below and of Numba's settings. Numba's own freshness test considers only the file of the
function it caches, so an edit to a helper in another file would go unnoticed: here it changes the folder. Numba would
also run whatever it finds there: here a file is verified first (code_cache.py).

Floating-point: contraction, no signed zeros, reciprocals allowed; never re-association, which would break the range
reduction of sines and cosines, and never the assumption that numbers are finite.
"""

from __future__ import annotations

import contextlib
import dis
import gc
import hashlib
import os
import pickle
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NoReturn

import llvmlite.binding as llvm
import numba
from numba import njit, types
from numba.core.caching import _Cache as CacheBase
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.extending import typeof_impl

from supple.errors import SuppleError
from supple.spatial.code_cache import NotOurs, cache_folder, read_kept, say, write_kept
from supple.spatial.inlining import Inlined, environments_set
from supple.spatial.sources import generation, modules_of
from supple.spatial.stacks import with_room

OPTIONS: dict[str, Any] = dict(fastmath={"contract", "nsz", "arcp"}, error_model="numpy")
INLINE: dict[str, Any] = dict(
    OPTIONS, forceinline=True, no_cfunc_wrapper=True, no_cpython_wrapper=True, pipeline_class=Inlined
)

GENERATIONS_KEPT = 60  #: cache folders of other sources that are kept: about three for every module

helper = njit(**INLINE)
part = njit(**dict(INLINE, forceinline=False))

#: Every kernel of the modules imported so far, by name.
KERNELS: dict[str, Kernel] = {}


class Kernel:
    """A function compiled for one signature, on first use or from the cache. effort: roughly how long that takes, so
    that the longest can start first when all are compiled. plain: whether it can run without being compiled."""

    def __init__(
        self,
        function: Callable[..., Any],
        signature: Any,
        name: str,
        effort: int = 1,
        plain: bool = True,
        **options: Any,
    ) -> None:
        self.name, self.effort, self.plain = name, effort, plain
        function.__qualname__ = name.replace(" ", "_")  # names the file in the cache
        self.signature = signature
        self.modules = modules_of(function)
        self.function = function
        self.dispatcher = njit(**OPTIONS, **options)(function)
        KERNELS[self.name] = self

    @property
    def symbol(self) -> str:
        """Its name for the linker."""
        return "supple: " + self.name

    def __call__(self, *arguments: Any) -> Any:
        """With the compiler disabled, call the function."""
        return self.dispatcher(*arguments)

    def load(self) -> Callable[..., Any]:
        """The compiled function as called from Python, with arguments of exactly the signature's types: they are not
        checked."""
        if not isinstance(self.dispatcher, numba.core.dispatcher.Dispatcher):  # NUMBA_DISABLE_JIT
            return self._plain if self.plain else self.refuse_plain
        entry: Callable[..., Any] = self._compiled().entry_point
        return entry

    def _plain(self, *arguments: Any) -> Any:
        """The function itself, called from outside: structs are given by their addresses."""
        kinds = self.signature.args
        opened = (kind.struct.at(x) if hasattr(kind, "struct") else x for kind, x in zip(kinds, arguments))
        return self.function(*opened)

    def refuse_plain(self, *arguments: Any) -> NoReturn:
        """Called where the compiler is disabled, and only compiled code could do it."""
        raise SuppleError(
            f"{self.name} needs the compiler, which the environment variable NUMBA_DISABLE_JIT disables: unset it, and "
            "start Python again"
        )

    def address(self) -> int:
        """The compiled function as called from C; with the compiler disabled, a number that nothing calls."""
        if not isinstance(self.dispatcher, numba.core.dispatcher.Dispatcher):
            return id(self)
        compiled = self._compiled()
        return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name))

    def is_kept(self) -> bool:
        """Whether its machine code is in the cache, and whole. It is not loaded."""
        try:
            path, identity = _Cache(self)._place(self.signature, self.dispatcher.targetctx.codegen())
            return read_kept(path, identity) is not None
        except NotOurs:
            return False

    def _compiled(self) -> Any:
        if not self.dispatcher.signatures:
            with_room(self._compile)
        return self.dispatcher.overloads[self.dispatcher.signatures[0]]

    def _compile(self) -> None:
        for callee in kernels_in(self.function):
            llvm.add_symbol(callee.symbol, callee.address())
        self.dispatcher._cache = _Cache(self)
        with _without_collection():
            self.dispatcher.compile(self.signature)


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Let Python's garbage collector wait: while Numba compiles, it searches the growing heap again and again, which
    takes a seventh of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@typeof_impl.register(Kernel)
def _linked(kernel: Kernel, context: Any) -> Any:
    """A kernel as other kernels see it: an external function."""
    return types.ExternalFunction(kernel.symbol, kernel.signature)


def kernels_in(function: Callable[..., Any]) -> set[Kernel]:
    """The kernels that a function calls by name, directly or through helpers."""
    found: set[Kernel] = set()
    seen: set[Any] = set()
    waiting = [function]
    while waiting:
        x = waiting.pop()
        if x in seen:
            continue
        seen.add(x)
        named = {name: x.__globals__[name] for name in x.__code__.co_names if name in x.__globals__}
        if any(isinstance(value, Kernel) for value in named.values()):  # co_names also has names of attributes
            called = {step.argval for step in dis.get_instructions(x) if step.opname == "LOAD_GLOBAL"}
            named = {name: value for name, value in named.items() if name in called}
        values = [*named.values(), *(cell.cell_contents for cell in x.__closure__ or ())]
        found.update(value for value in values if isinstance(value, Kernel))
        waiting += [value.py_func for value in values if hasattr(value, "py_func")]
    return found


def callees(kernels: Collection[Kernel]) -> dict[Kernel, set[Kernel]]:
    """Of each kernel, those among them that it calls. The one to start first is the first: where a call leads on to
    others, the whole way counts."""
    found = {kernel: kernels_in(kernel.function).intersection(kernels) for kernel in kernels}
    efforts = {kernel: 0 for kernel in found}
    waiting = [(kernel, 0) for kernel in found]
    while waiting:
        kernel, after = waiting.pop()
        if kernel.effort + after > efforts[kernel]:
            efforts[kernel] = kernel.effort + after
            waiting += [(callee, efforts[kernel]) for callee in found[kernel]]
    return dict(sorted(found.items(), key=lambda pair: -efforts[pair[0]]))


def kernel(signature: Any, name: str, **options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Declare a kernel: its signature (a Numba type expression), a readable name, its effort, and options such as
    nogil=True."""
    return lambda function: Kernel(function, signature, name, **options)


# --- announcing compilations ----------------------------------------------------------------------------------------

Announcer = Callable[[str, float | None], None]


def _print_announcement(name: str, seconds: float | None) -> None:
    """The default: a line on standard error when a compilation starts, its time when it ends."""
    if os.environ.get("SUPPLE_QUIET"):
        return
    if seconds is None:
        say(f"compiling {name} (once; kept for later runs) ...", end=" ")
    else:
        say(f"{seconds:.1f} s", before="")


announce: Announcer = _print_announcement


# --- the cache ------------------------------------------------------------------------------------------------------


def _forget_old_generations() -> None:
    """Remove the cache folders of older sources, except those used most recently."""
    here = {generation(k.modules) for k in KERNELS.values()}
    with contextlib.suppress(OSError):
        others = sorted((p for p in cache_folder().iterdir() if p.name not in here), key=lambda p: p.stat().st_mtime)
        for old in others[:-GENERATIONS_KEPT]:
            shutil.rmtree(old, ignore_errors=True)


def _reduced(data: CompileResult) -> tuple[Any, ...]:
    """What is kept of a kernel: its machine code. Numba would add the code before that, for others to inline, which
    nobody does, and read it again with every load, for the names in it: those of its entries are enough."""
    (name, kind, (code, _)), description, *rest = data._reduce()
    entries = description.llvm_func_name, description.llvm_cpython_wrapper_name, description.llvm_cfunc_wrapper_name
    names = llvm.parse_assembly("".join(f'define void @"{entry}"() {{\n ret void\n}}\n' for entry in entries))
    return (name, kind, (code, names.as_bitcode())), description, *rest


class _Cache(CacheBase):  # type: ignore[misc]
    """Where Numba looks for the code of a kernel, and stores it: in a separate file."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._generation = generation(kernel.modules)
        self._started = 0.0

    @property
    def cache_path(self) -> str:
        return str(cache_folder() / self._generation)

    def _place(self, sig: Any, codegen: Any) -> tuple[Path, bytes]:
        """The file of a kernel, and the identity of the code in it: the folder represents the sources, including those
        of what a closure holds."""
        identity = repr((self._generation, self._kernel.name, str(sig), codegen.magic_tuple())).encode()
        name = re.sub(r"\W+", "_", self._kernel.name)
        digest = hashlib.blake2b(identity, digest_size=6).hexdigest()
        return Path(self.cache_path) / f"{name}.{digest}.nbc", identity

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Numba would first register everything it can type and lower, which takes half a second; compiled code needs
        only the memory management."""
        rtsys.initialize(target_context)
        path, identity = self._place(sig, target_context.codegen())
        try:
            kept = read_kept(path, identity)
            if kept is not None:
                found = CompileResult._rebuild(target_context, *pickle.loads(kept))
                with contextlib.suppress(OSError):
                    os.utime(path.parent)  # mark as recently used
                return found
        except NotOurs as e:
            say(f"the compiled code in {path} {e}: it is compiled again")
        announce(self._kernel.name, None)
        self._started = time.perf_counter()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        announce(self._kernel.name, time.perf_counter() - self._started)
        environments_set(data)
        if data.library.has_dynamic_globals:  # it contains addresses of this process
            return
        try:
            _forget_old_generations()
            path, identity = self._place(sig, data.codegen)
            write_kept(path, identity, dumps(_reduced(data)))
        except OSError as e:
            say(f"cannot keep the compiled code in {cache_folder()}: {e}")

    def enable(self) -> None:
        """Part of Numba's cache interface: this one is always enabled."""

    disable = flush = enable
