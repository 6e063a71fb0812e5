"""What a person asks of `supple sweep`, from the command line and a TOML file, put together.

scene = "compass"
out = "map.zarr"
quantity = ["gait"]

[over]
slope = "0.01:0.1:100"
hip_mass = [5, 10, 15]

[set]
leg_mass = 1.0
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from supple.errors import StateError
from supple.model.model import unknown
from supple.request import assignments, check_scene, place, read_toml, typed

if TYPE_CHECKING:
    from supple.sweeping.result import Sweep

NUMBERS = ("samples", "repeats", "seed")
KINDS: dict[str, Any] = {
    "scene": str,
    "out": str,
    "sampling": str,
    "quantity": list[str],
    **dict.fromkeys(NUMBERS, int),
}


@dataclass(frozen=True)
class SweepRequest:
    """A sweep as it was asked for; None where nothing was said."""

    scene: str | None = None
    over: dict[str, Any] = field(default_factory=dict)
    set: dict[str, Any] = field(default_factory=dict)
    samples: int | None = None
    sampling: str | None = None
    repeats: int | None = None
    seed: int | None = None
    quantity: tuple[str, ...] = ()
    out: str | None = None

    @staticmethod
    def of(
        scene: str | None, over: list[str], settings: list[str], samples: int | None, sampling: str | None,
        repeats: int | None, seed: int | None, quantity: list[str], out: Path | None,
    ) -> SweepRequest:  # fmt: skip
        """As the options of the command line have it."""
        both = assignments(over, "--over"), assignments(settings, "--set")
        if len(both[0]) < len(over):
            names = [text.partition("=")[0].strip() for text in over]
            twice = next(name for name in names if names.count(name) > 1)
            raise StateError(f"--over {twice} is given twice; write all its values in one: {twice}=A,B,C")
        store = None if out is None else str(out)
        return SweepRequest(scene, *both, samples, sampling, repeats, seed, tuple(quantity), store)

    @property
    def is_store(self) -> bool:
        """Whether what is named is a store, and no scene."""
        from supple.sweeping.store import is_store

        return self.scene is not None and Path(self.scene).is_dir() and is_store(Path(self.scene))

    @property
    def says_more(self) -> bool:
        """Than a scene, and what to draw."""
        return replace(self, quantity=()) != SweepRequest(self.scene)

    @property
    def to_draw(self) -> str | None:
        """The quantity to be drawn: one that is no group."""
        from supple.sweeping.scene_runs import GROUPS

        return next((x for x in self.quantity if x not in GROUPS), None)

    def under(self, file: Path | None) -> SweepRequest:
        """This request where it says something, a TOML file's where it does not."""
        if file is None:
            return self
        said, text = read_toml(file, ("set", "over"))
        for name in ("over", "set"):
            if not isinstance(said.get(name, {}), dict):
                raise StateError(f"{place(file, text, name)}: {name} is a table: write [{name}], and its keys below")
        below: dict[str, Any] = {"over": said.pop("over", {}), "set": said.pop("set", {})}
        for key, value in said.items():
            where = f"{place(file, text, key)}: "
            if key not in KINDS:
                raise StateError(
                    f"{where}{unknown('setting', key, [*KINDS, 'over', 'set'], listed=True)} ({', '.join(KINDS)})"
                )
            below[key] = typed(f"{where}{key}", value, KINDS[key])
        below["quantity"] = tuple(below.get("quantity", ()))
        usual = SweepRequest()
        mine = {name: x for name, x in vars(self).items() if x != getattr(usual, name)}
        for name in ("over", "set"):
            mine[name] = below.pop(name) | getattr(self, name)
        return SweepRequest(**(below | mine))

    def groups(self, drawn: bool) -> list[str] | None:
        """Of quantities that are computed: those that are named, all but gaits if none is, and that of the quantity to
        be drawn. Refuses names that are none."""
        from supple.sweeping.outcomes import WALL
        from supple.sweeping.scene_runs import GROUPS, OF_GAIT, RUN, UNITS

        known, out = (*UNITS, WALL), [x for x in self.quantity if x in GROUPS]
        others = [x for x in self.quantity if x not in GROUPS]
        for name in others:
            if not drawn:
                raise StateError(f"{unknown('group of quantities', name, GROUPS, listed=True)} ({', '.join(GROUPS)})")
            if name not in known and not name.startswith("events_"):
                raise StateError(f"{unknown('quantity', name, known, listed=True)} ({', '.join(known)})")
        if set(others) & set(OF_GAIT) and "gait" not in out:
            out = [*(out or RUN), "gait"]
        return out or None

    def run(self, resume: bool, retry: bool, overwrite: bool, drawn: bool, **where: Any) -> Sweep:
        """Make the runs. drawn: whether a quantity is drawn then."""
        from supple.sweeping.sweep import planned, sweep, target_of

        if self.scene is None:
            raise StateError("name a scene, a file or a store; `supple run --list` lists the scenes")
        check_scene(self.scene)
        groups = self.groups(drawn)
        given: dict[str, Any] = {name: getattr(self, name) for name in ("samples", "sampling", "repeats", "seed")}
        given = {name: x for name, x in given.items() if x is not None}
        if self.out is None:  # what is misspelt is said first
            planned(target_of(self.scene, groups, batched=False), self.over, self.set, **given)
            raise StateError("give the store in which results are kept: --out map.zarr")
        return sweep(
            self.scene, self.over, fixed=self.set, quantities=groups, out=self.out, resume=resume, retry=retry,
            overwrite=overwrite, progress=True, **given, **where,
        )  # fmt: skip
