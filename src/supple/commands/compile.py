"""`supple compile`: every kernel now, so that first calls are quick."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated, Any

import typer

from supple.commands.console import new_console, plain, say
from supple.errors import SuppleError

if TYPE_CHECKING:
    from multiprocessing.pool import Pool


def compile(
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, help="How many to compile at a time.", show_default="all cores")
    ] = os.cpu_count() or 1,
) -> None:
    """Compile every kernel now; later runs load them from the cache."""
    from numba import config

    from supple.spatial.code_cache import cache_folder
    from supple.spatial.compiler import KERNELS, callees

    if config.DISABLE_JIT:
        raise SuppleError("the environment variable NUMBA_DISABLE_JIT disables the compiler: unset it")
    import_kernels()
    missing = callees([kernel for kernel in KERNELS.values() if not kernel.is_kept()])
    if missing:
        _compile({kernel.name: {x.name for x in called} for kernel, called in missing.items()}, jobs)
    say(
        new_console(),
        f"{len(KERNELS)} kernels ready, {len(missing)} of them compiled now, in {plain(cache_folder())}",
    )


def import_kernels() -> None:
    """Declare every kernel there is, by importing the modules that do."""
    from supple.spatial.sources import COMPILED_LAYERS

    for layer in COMPILED_LAYERS:
        for module in iter_modules(import_module(f"supple.{layer}").__path__):
            import_module(f"supple.{layer}.{module.name}")


def _compile(callees: dict[str, set[str]], jobs: int) -> None:
    """Compile kernels in processes, and show which."""
    from multiprocessing import get_context

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = new_console()
    columns = (
        TextColumn("compiling"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with (
        Progress(*columns, console=console, transient=True) as progress,
        get_context("spawn").Pool(jobs, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool,
    ):
        task = progress.add_task("", total=len(callees))
        for name, seconds in _in_order(pool, _compile_kernel, callees, jobs):
            progress.update(task, advance=1, description=name)
            if seconds is not None:
                say(console, f"  {name}: {seconds:.1f} s")


def _in_order(
    pool: Pool, work: Callable[[str], Any], callees: dict[str, set[str]], jobs: int
) -> Iterator[tuple[str, Any]]:
    """Do the work for each name as soon as it is done for those that it calls: no process then compiles what another
    does. Of those that can begin, the first begins. Yields each with its result."""
    waiting, running, done = dict(callees), set[str](), set[str]()
    results: SimpleQueue[tuple[str, Any]] = SimpleQueue()
    while waiting or running:
        ready = [name for name, called in waiting.items() if called <= done]
        for name in ready[: jobs - len(running)]:
            del waiting[name]
            running.add(name)
            ended = partial(_put, results, name)
            pool.apply_async(work, (name,), callback=ended, error_callback=ended)
        name, result = results.get()
        if isinstance(result, BaseException):
            raise result
        running.remove(name)
        done.add(name)
        yield name, result


def _put(results: SimpleQueue[tuple[str, Any]], name: str, result: Any) -> None:
    results.put((name, result))


def _compile_kernel(name: str) -> float | None:
    """In a worker: compile one kernel, or find it in the cache. The seconds it took, None if it was there."""
    from supple.spatial import compiler

    taken: list[float | None] = []
    compiler.announce = lambda name, seconds: taken.append(seconds)
    import_kernels()
    compiler.KERNELS[name].load()
    return taken[-1] if taken else None
