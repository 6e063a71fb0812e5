"""Functions that are only ever part of others: they stay as they are lowered, and the kernels are optimised.

Numba treats every function that it compiles as one to be called from Python: it optimises it together with everything
that it calls, and makes machine code of it. Here all of this ends up in kernels, where it is optimised again. Without
it, kernels take half as long to compile, and are as fast.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder


class _Lowered(JITCodeLibrary):  # type: ignore[misc]
    """The code of a function that is linked with others. Its passes function by function, in which most of what is
    lowered vanishes, remain."""

    @property
    def codegen(self) -> Any:
        """To whom its environment is given: nobody, as it is not run (the kernel that contains it has that set)."""
        return SimpleNamespace(set_env=lambda name, environment: None)

    def _optimize_final_module(self) -> None:
        """Nothing: kernels are optimised."""

    def _finalize_final_module(self) -> None:
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is no machine code."""
        self._ensure_finalized()
        return 0


class Inlined(CompilerBase):  # type: ignore[misc]
    """The compiler of such functions: Numba's, up to the code before it is optimised."""

    def define_pipelines(self) -> list[Any]:
        """Numba asks for this once it knows the function, and before anything of it is compiled."""
        codegen = self.state.targetctx.codegen()
        self.state.library = _Lowered(codegen, self.state.func_id.func_qualname)
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


def environments_set(compiled: Any) -> None:
    """Give what a kernel was just made of its environments: constants that live in Python."""
    for environment in compiled._find_referenced_environments():
        compiled.library.codegen.set_env(environment.env_name, environment)
