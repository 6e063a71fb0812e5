"""A scene, or a robot in a file, as what a sweep runs: its parameters, and the settings of a run.

Quantities come in groups:

    state       final_q, final_v; time: at which the run ended
    energies    kinetic, potential: at the end; energy_change since the beginning
    events      events: how many there were; and how many of each name
    adaptive    error: the largest of the run; active_joints: their mean. Of adaptive methods only
    gait        period, step_length, energy_lost, largest_eigenvalue, stable: of the gait near the start; walkers only
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cached_property
from inspect import signature, unwrap
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np

from supple import scenes
from supple.arguments import Kind, kind_of, plan_of, take
from supple.errors import SimulationError, StateError, SuppleError
from supple.model.model import unknown
from supple.request import Request, check_scene, parameters, typed
from supple.simulating.simulation import Simulation
from supple.walking.gaits import Gait, gait
from supple.walking.walkers import Walker

RUN = ("state", "energies", "events", "adaptive")  #: groups of quantities that a simulation gives, all by default
GROUPS = (*RUN, "gait")
WALKERS: dict[str, Callable[..., Walker]] = {
    "compass": scenes.compass,
    "simplest-walker": scenes.simplest_walker,
}
WAY = 8  #: steps from the usual walker to another
#: Settings of a run that make no sense here.
NOT_VARIED = ("scene", "set", "every", "joint_wrenches", "joint_forces")
UNITS = {
    "time": "s", "kinetic": "J", "potential": "J", "energy_change": "J", "final_q": "rad, m", "final_v": "rad/s, m/s",
    "events": "1", "error": "as its measure says", "active_joints": "1", "period": "s", "step_length": "m",
    "energy_lost": "J", "largest_eigenvalue": "1", "stable": "1",
}  # fmt: skip
OF_GAIT = ("period", "step_length", "energy_lost", "largest_eigenvalue", "stable")


class SceneTarget:
    """A scene, or a file, and the groups of quantities that are wanted."""

    batched = False

    def __init__(self, scene: str, quantities: Sequence[str] | None = None) -> None:
        check_scene(scene)
        self.scene = scene if scene in scenes.NAMES else str(Path(scene).absolute())  # a worker may be elsewhere
        self.groups = tuple(RUN if quantities is None else quantities)
        for group in self.groups:
            if group not in GROUPS:
                raise StateError(f"{unknown('group of quantities', group, GROUPS, listed=True)} ({', '.join(GROUPS)})")
        if "gait" in self.groups and scene not in WALKERS:
            raise StateError(f"{self.name} is no walker, and has no gait; walkers are {', '.join(WALKERS)}")

    def __getstate__(self) -> dict[str, Any]:
        return {"scene": self.scene, "groups": self.groups}

    @property
    def name(self) -> str:
        return f"scene {self.scene!r}" if self.scene in scenes.NAMES else repr(self.scene)

    @property
    def digest(self) -> str | None:
        """Of a file, which may change before a sweep is resumed."""
        if self.scene in scenes.NAMES:
            return None
        try:
            return hashlib.sha256(Path(self.scene).read_bytes()).hexdigest()[:16]
        except OSError as e:
            raise StateError(f"{self.scene} cannot be read: {e.strerror or e}") from None

    @property
    def units(self) -> dict[str, str]:
        return UNITS

    @cached_property
    def _own(self) -> dict[str, Kind | None]:
        """The scene's parameters, and what each of them may be."""
        if self.scene not in scenes.NAMES:
            return {}
        made = unwrap(scenes.NAMES[self.scene])
        return plan_of(made, made).names

    @cached_property
    def _settings(self) -> dict[str, Any]:
        """The settings of a run that may vary, and their types."""
        hints = get_type_hints(Request)
        return {f.name: hints[f.name] for f in fields(Request) if f.name not in NOT_VARIED}

    def takes(self, parameter: str) -> bool:
        return parameter in self._own or parameter in self._settings

    def is_whole(self, parameter: str) -> bool:
        if parameter in self._own:
            return get_type_hints(unwrap(scenes.NAMES[self.scene]))[parameter] is int
        return int in (self._settings.get(parameter), *get_args(self._settings.get(parameter)))

    def accept(self, parameter: str, value: Any) -> Any:
        if parameter in self._own:
            return self._of_scene(parameter, value)
        if parameter not in self._settings:
            known = [*self._own, *self._settings]
            raise StateError(f"{self.name}: {unknown('parameter', parameter, known, listed=True)} ({', '.join(known)})")
        if "gait" in self.groups and not set(self.groups) & set(RUN):
            raise StateError(f"{parameter} is a setting of runs, and for a gait alone none is made; leave it out")
        kind, where = self._settings[parameter], f"{self.name}: {parameter}"
        found = typed(where, value, kind)
        allowed = {**signature(Simulation).parameters}.get(parameter)
        rule = None if allowed is None else kind_of(get_type_hints(Simulation.__init__, include_extras=True)[parameter])
        if isinstance(found, float) and not np.isfinite(found):
            raise StateError(f"{where} must be a finite number, not {found}")
        return found if rule is None else take(where, found, rule)

    def _of_scene(self, parameter: str, value: Any) -> Any:
        found = parameters(self.scene, scenes.NAMES[self.scene], {parameter: value})[parameter]
        kind = self._own[parameter]
        return found if kind is None else take(f"{self.name}: {parameter}", found, kind)

    def check(self, first: dict[str, Any], last: dict[str, Any]) -> None:
        """Refuse settings with which neither the first run nor the last could begin."""
        said = []
        for run in (first, last):
            try:
                self._prepared(run)
                return
            except SuppleError as e:
                said.append(e)
        raise said[0]

    def _prepared(self, parameters: dict[str, Any]) -> None:
        if set(self.groups) & set(RUN):
            self._request(parameters).simulation()
        else:
            WALKERS[self.scene](**parameters)

    def _request(self, parameters: dict[str, Any]) -> Request:
        own = {name: x for name, x in parameters.items() if name in self._own}
        more = {name: _as_field(self._settings[name], x) for name, x in parameters.items() if name not in own}
        return Request(scene=self.scene, set=own, **more)

    def run(self, parameters: dict[str, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        if set(self.groups) & set(RUN):
            out |= followed(self._request(parameters).simulation(), self.groups)
        if "gait" in self.groups:
            own = {name: x for name, x in parameters.items() if name in self._own}
            out |= of_gait(WALKERS[self.scene], own)
        return out

    def run_of(self, parameters: dict[str, Any]) -> Simulation:
        """The simulation of a run, to be looked at."""
        return self._request(parameters).simulation()


def _as_field(kind: Any, value: Any) -> Any:
    """A list of texts where a setting is one."""
    return typed("a setting", value, kind)


def followed(run: Simulation, groups: Sequence[str]) -> dict[str, Any]:
    """What is asked of a run, which is followed to its end; no states are kept."""
    first: float | None = None
    kinetic, potential, worst, joints, states = 0.0, 0.0, 0.0, 0, 0
    for sample in run.samples():
        piece = sample.piece
        if not len(piece.times):
            continue
        first = float(sample.kinetic[0] + sample.potential[0]) if first is None else first
        kinetic, potential = float(sample.kinetic[-1]), float(sample.potential[-1])
        states += len(piece.times)
        worst = worst if piece.error is None else max(worst, float(piece.error.max()))
        joints += 0 if piece.active is None else sum(len(x) for x in piece.active)
    out: dict[str, Any] = {}
    if "state" in groups:
        out |= {"time": run.time, "final_q": run.cursor.q, "final_v": run.cursor.v}
    if "energies" in groups and first is not None:
        out |= {"kinetic": kinetic, "potential": potential, "energy_change": kinetic + potential - first}
    if "events" in groups:
        names = [e.name for e in run.events]
        out["events"] = len(names)
        for name in dict.fromkeys([*(e.name for e in run.given["events"]), *names]):
            out[f"events_{re.sub('[^A-Za-z0-9]+', '_', name)[:40]}"] = names.count(name)
    if "adaptive" in groups and run.stepper is not None:
        out |= {"error": worst, "active_joints": joints / max(states, 1)}
    return out


def of_gait(make: Callable[..., Walker], parameters: dict[str, Any]) -> dict[str, Any]:
    """The periodic gait near a walker's state, or that to which the usual walker's leads; a walker without one is a
    failure of the run."""
    try:
        found = gait(make(**parameters))
    except SimulationError:
        found = _continued(make, parameters)
    return {
        "period": found.period, "step_length": found.step_length, "energy_lost": found.energy_lost,
        "largest_eigenvalue": float(np.abs(found.eigenvalues).max()), "stable": found.stable,
    }  # fmt: skip


def _continued(make: Callable[..., Walker], parameters: dict[str, Any]) -> Gait:
    """The gait of the usual walker, followed to these parameters."""
    usual = {name: p.default for name, p in signature(make).parameters.items() if name in parameters}
    numbers = {name: x for name, x in usual.items() if isinstance(x, float)}
    found: Gait | None = None
    for share in np.linspace(0.0, 1.0, WAY + 1).tolist():
        here = {name: x + share * (parameters[name] - x) for name, x in numbers.items()} if share < 1.0 else parameters
        walker = make(**(parameters | here))
        found = gait(walker if found is None else walker.at(found.walker.q, found.walker.v))
    assert found is not None
    return found
