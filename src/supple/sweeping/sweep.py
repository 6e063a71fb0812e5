"""`sweep`: many runs of a scene or of a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from supple import __version__
from supple.arguments import checked, whole
from supple.errors import StateError, SweepError, quoted
from supple.interrupting import Interrupted
from supple.sweeping.driver import Driver
from supple.sweeping.engines import Engine, engine_of
from supple.sweeping.functions import FunctionTarget
from supple.sweeping.outcomes import NAME, WALL
from supple.sweeping.plan import Plan, Sampling, check_names, plan
from supple.sweeping.progress import Progress
from supple.sweeping.result import Sweep
from supple.sweeping.store import FORMAT, Store, is_begun
from supple.sweeping.table import Table
from supple.sweeping.work import Work, taken

Many = Annotated[int, whole(1, 10**7)]

if TYPE_CHECKING:
    from supple.sweeping.scene_runs import SceneTarget

    Target = SceneTarget | FunctionTarget


@checked
def sweep(
    what: str | Callable[..., Any],
    over: Mapping[str, Any],
    *,
    fixed: Mapping[str, Any] | None = None,
    samples: Many | None = None,
    sampling: Sampling = "sobol",
    repeats: Many | None = None,
    seed: Annotated[int, whole(0, 2**62)] = 0,
    quantities: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    batch: Annotated[int, whole(1, 10**6)] | None = None,
    engine: Any = None,
    workers: Annotated[int, whole(1, 1024)] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    retry: bool = False,
    overwrite: bool = False,
    progress: bool = False,
) -> Sweep:
    """Run a scene or a function once for each combination of parameters.

        supple.sweep("compass", {"slope": "0.01:0.1:100", "hip_mass": [5, 10, 15]}, out="map.zarr")
        supple.sweep(distance, {"angle": supple.Range(0.1, 1.5), "speed": supple.Range(1, 9)}, samples=256)

    what: the name of a scene, or a file, whose runs `supple run` would make; or a function, which is called with the
    parameters by name and returns a number, text, an array, or several by name. over: the parameters that vary. A list
    of values or a Range with a count makes an axis of a grid; text says the same ("0.01:0.1:100", "1e-4:1e-1:25:log",
    "5,10,15"). All ranges without a count are sampled together: `samples` points by `sampling`. repeats: each
    combination with the seeds seed, seed + 1, ... of the parameter `seed`. fixed: parameters that do not vary. All
    values are checked before anything runs.

    quantities: of a scene, groups of them: "state", "energies", "events", "adaptive" (all by default) and "gait".
    units: of what a function returns, by name. batch: the function gets arrays of so many runs at a time, and returns
    arrays with a row for each.

    engine: "local", processes of this machine (`workers` of them, by default one a core); "serial", this process;
    "dask://host:port"; an executor of concurrent.futures; or a Dask client. The results do not depend on it.

    out: a folder in which results are kept as they come, in the Zarr format; supple.load_sweep and xarray.open_zarr
    read it at any time. Without it they are in memory. resume: make the runs that are missing there; retry: also those
    that failed. overwrite: replace it. A run that fails is recorded, and the others go on; Ctrl-C stops, and the result
    has what was done.
    """
    if out is None and (resume or retry or overwrite):
        raise StateError("resume, retry and overwrite are for a store: give out='runs.zarr'")
    target = target_of(what, quantities, batch is not None)
    checked_units = _units(units or {})
    runs = planned(target, over, fixed or {}, samples, sampling, repeats, seed)
    about = {
        "format": FORMAT, "version": __version__, "what": target.name, "fixed": runs.fixed, "batch": batch,
        "axes": [{"name": axis.name, "parameters": list(axis.values)} for axis in runs.axes],
    }  # fmt: skip
    if not isinstance(target, FunctionTarget):
        about |= {"scene": target.scene, "quantities": list(target.groups), "content": target.digest}
    known = {WALL: "s"} | target.units | checked_units
    table: Table = (
        Table(runs, known) if out is None else _store(Path(out), runs, about, known, resume or retry, overwrite)
    )
    return _make(target, runs, about, table, batch, engine, workers, retry, progress)


def go_on(
    path: str | Path, *, engine: Any = None, workers: int | None = None, retry: bool = False, progress: bool = False
) -> Sweep:
    """Make the runs of a scene that are missing in a store, which says everything else itself."""
    store = Store.resume(Path(path))
    try:
        about = store.about
        if not isinstance(about.get("scene"), str) or not isinstance(about.get("quantities"), list):
            raise SweepError(f"{path} has runs of a function: resume it from Python, with sweep(..., resume=True)")
        from supple.sweeping.scene_runs import SceneTarget

        target = SceneTarget(about["scene"], [str(x) for x in about["quantities"]])
        if about.get("content") != target.digest:
            raise SweepError(f"{path} cannot be resumed: {target.name} is not what it was when the sweep began")
        for axis in store.plan.axes:
            for name, values in axis.values.items():
                for x in values.tolist():
                    target.accept(name, x)
        for name, x in store.plan.fixed.items():
            target.accept(name, x)
    except BaseException:
        store.close()
        raise
    return _make(target, store.plan, about, store, None, engine, workers, retry, progress)


def target_of(what: Any, quantities: Sequence[str] | None, batched: bool) -> Target:
    """What is to be run."""
    if isinstance(what, str):
        if batched:
            raise StateError("batch is for functions of many states at once; a scene makes its runs one by one")
        from supple.sweeping.scene_runs import SceneTarget  # and with it all that Supple can do

        return SceneTarget(what, quantities)
    if quantities is not None:
        raise StateError("quantities are for scenes; a function returns its own")
    return FunctionTarget(what, batched)


def planned(
    target: Target, over: Mapping[str, Any], fixed: Mapping[str, Any], samples: int | None = None,
    sampling: Sampling = "sobol", repeats: int | None = None, seed: int = 0,
) -> Plan:  # fmt: skip
    """The runs; refused before anything starts is what no run could begin with."""
    runs = plan(target, over, fixed, samples, sampling, repeats, seed)
    check_names(runs)
    if not isinstance(target, FunctionTarget):
        target.check(*(runs.fixed | runs.varied(i) for i in (0, runs.size - 1)))
    else:
        target.check({*runs.names, *runs.fixed})
    return runs


def _units(units: Mapping[str, str]) -> dict[str, str]:
    for name, unit in units.items():
        if not isinstance(name, str) or not NAME.fullmatch(name) or not isinstance(unit, str) or len(unit) > 80:
            raise StateError(f"units are given by the names of quantities, as text, not {quoted(name)}: {unit!r}")
    return dict(units)


def _store(
    path: Path, runs: Plan, about: dict[str, Any], units: dict[str, str], resume: bool, overwrite: bool
) -> Store:
    if resume and overwrite:
        raise StateError("resume goes on with a store, and overwrite removes it; give one of them")
    if not resume or not is_begun(path):
        return Store.create(path, runs, about, units, overwrite)
    store = Store.resume(path, units)
    try:
        store.check_same(runs, about)
    except BaseException:
        store.close()
        raise
    return store


def _make(
    target: Target, runs: Plan, about: dict[str, Any], table: Table, batch: int | None, engine: Any,
    workers: int | None, retry: bool, progress: bool,
) -> Sweep:  # fmt: skip
    """All runs that are missing."""
    path = table.path if isinstance(table, Store) else None
    try:
        if retry:
            table.forget_failures()
        left = len(table.missing)
        if left:
            work = Work(target, runs.fixed, taken([*runs.names, *runs.fixed, *(a.name for a in runs.axes)]))
            made = engine_of(engine, workers, left)
            about = about | _followed(Driver(runs, work, table, made, batch), made, table, progress)
        table.flush()
    finally:
        if isinstance(table, Store):
            table.close()
    return Sweep(runs, about, table if path is None else None, path)


def _followed(driver: Driver, engine: Engine, table: Table, progress: bool) -> dict[str, Any]:
    """To the end, or to Ctrl-C."""
    good = False
    try:
        with Interrupted(driver.halt) as interrupted, Progress(table, engine, progress) as bar:
            driver.run(bar.show)
        good = not interrupted.told
        table.flush()
        return {} if good else {"stopped": "stopped by Ctrl-C"}
    finally:
        engine.close(at_once=not good)
