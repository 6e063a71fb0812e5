"""What a person asks of `supple run`, from the command line and a TOML file, checked and put together.

A TOML file has the same names as the options, and a table `set` for the parameters of a scene:

    scene = "molecule"
    duration = 2.0
    force = ["atom17: 0, 0, 1"]

    [set]
    joints = 2000
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from supple import scenes
from supple.arguments import NOT_NEGATIVE, POSITIVE, SECONDS, kind_of, shown, take, whole
from supple.contact.settings import Contacts
from supple.errors import StateError
from supple.files import load_quietly
from supple.files.mjcf_start import start_of
from supple.model.model import Joint, Model, unknown
from supple.model.parents import room
from supple.reading import read_text
from supple.scenes import Scene
from supple.simulating.forces import Controls, Limits, Push, Spring
from supple.simulating.names import today
from supple.simulating.simulation import OWN, Duration, Integrator, Method, Simulation
from supple.simulating.starting import closed_near, say_moved

FILES = (".urdf", ".xml", ".mjcf", ".bvh")
STEP, DURATION = 1e-3, 5.0  #: of a robot in a file, unless said
SCENE_STEPS = 1000  #: of a scene, by quasi-statics
LARGEST_CONFIG = 100_000  #: bytes of a TOML file
MOST_DOTS = 500  #: in the key of a line
MANY, MOST = 200_000, 10**8  #: bodies: how many take seconds to build, and may be
#: What options may be, by their names in a Request.
KINDS = {
    "method": kind_of(Method), "integrator": kind_of(Integrator), "dt": SECONDS, "duration": kind_of(Duration),
    "steps": whole(0), "every": whole(1), "error": NOT_NEGATIVE, "active": whole(0), "rtol": POSITIVE,
    "atol": POSITIVE, "limits": NOT_NEGATIVE,
}  # fmt: skip


@dataclass
class Request:
    """A run as it was asked for; None where nothing was said. Kept in its recording."""

    scene: str | None = None
    set: dict[str, Any] = field(default_factory=dict)
    method: str | None = None
    integrator: str | None = None
    dt: float | None = None
    duration: float | None = None
    every: int = 1
    error: float | None = None
    active: int | None = None
    rtol: float | None = None
    atol: float | None = None
    force: list[str] = field(default_factory=list)
    spring: list[str] = field(default_factory=list)
    torque: list[str] = field(default_factory=list)
    at: list[str] = field(default_factory=list)
    limits: float | None = None
    floating_base: bool = False
    joint_wrenches: bool = False
    steps: int | None = None
    measure: str | None = None
    guaranteed: bool | None = None
    control: list[str] = field(default_factory=list)
    joint_forces: bool = False
    loops: bool = True
    contacts: bool = False
    ground: bool = False

    def over(self, file: Path | None) -> Request:
        """This request where it says something, a TOML file's where it does not."""
        if file is None:
            return self
        known = {f.name: f for f in fields(Request)}
        hints = get_type_hints(Request)
        below: dict[str, Any] = {}
        settings, text = read_toml(file)
        for key, value in settings.items():
            name = key.replace("-", "_")
            if name not in known:
                wrong = unknown("setting", key, list(known), listed=True)
                raise StateError(f"{place(file, text, key)}: {wrong} ({', '.join(known)})")
            below[name] = typed(f"{place(file, text, key)}: {key}", value, hints[name])
        scene = self.scene or below.get("scene")
        if scene in scenes.NAMES:  # while it can be said where what is wrong is written
            for key, value in below.get("set", {}).items():
                parameters(scene, scenes.NAMES[scene], {key: value}, f"{place(file, text, key)}: ")
        mine, plain = asdict(self), asdict(Request())
        said = {name: value for name, value in mine.items() if value != plain[name]}
        if "set" in said:
            said["set"] = below.get("set", {}) | said["set"]
        if "duration" in said or "steps" in said:  # each instead of the other
            below = {name: value for name, value in below.items() if name not in ("duration", "steps")}
        return Request(**(below | said))

    @staticmethod
    def recorded(said: Any, model: Model) -> Request:
        """A request as a recording has it. The file may be anybody's: a scene is built only if it has as many bodies as
        the model that is recorded with it."""
        hints = get_type_hints(Request)
        if not isinstance(said, dict) or not said.keys() <= hints.keys():
            raise StateError("it has a request that is none")
        said = today(said)
        request = Request(**{name: typed(name, x, hints[name]) for name, x in said.items() if x is not None})
        if request.scene in scenes.NAMES:
            make = scenes.NAMES[str(request.scene)]
            given = parameters(str(request.scene), make, request.set)
            bodies = scenes.n_bodies(str(request.scene), given)
            if bodies != model.n_bodies:
                raise StateError(f"its scene has {shown(bodies)} bodies, and its model {model.n_bodies}")
        return request

    def simulation(self, model: Model | None = None, endless: bool = False) -> Simulation:
        """The run. model: instead of the one in the file, for a recording that is continued. endless: it has no
        duration."""
        self._check()
        made = self._scene() if self.scene in scenes.NAMES else None
        if made is None and self.set:
            raise StateError("--set is for the parameters of a scene; a file has none")
        if made is not None and model is None:
            self._refuse_for_scene(made)
        body = made.model if made is not None else model or self._load()
        method = self.method or ("aba" if made is None else made.method)
        dt = self.dt if self.dt is not None else STEP if made is None else made.step_of(method)
        long = DURATION if made is None else SCENE_STEPS * dt if method == "quasi-statics" else made.duration
        if self.duration is not None and self.steps is not None:
            raise StateError("give --duration or --steps, not both")
        duration = self.duration if self.duration is not None else long if self.steps is None else self.steps * dt
        options = {name: getattr(self, name) for name in ("error", "active", "measure", "guaranteed", "rtol", "atol")}
        given = {name: value for name, value in options.items() if value is not None}
        touching = self._contacts(made, method)
        self._refuse_options(given, method, made, touching)
        if method == "adaptive" and made is not None and not given.keys() & {"error", "active"}:
            given |= made.adaptive
        near = self._position(body, start_of(body) if made is None else made.q0)
        q = near if made is not None and not self.at else self._closed(body, near)
        if model is None:  # a run that is continued has said so when it began
            say_moved(body, near, q)
        run = Simulation(
            body, q, None if made is None else made.v0,
            duration=None if endless else duration, dt=dt,
            integrator=self.integrator, method=method, forces=self._forces(body, made), tau=self._tau(body),
            events=() if made is None else made.events, every=self.every, joint_wrenches=self.joint_wrenches,
            joint_forces=self.joint_forces, contacts=touching,
            **given,
        )  # fmt: skip
        if made is not None:
            run.rods, run.ground = made.drawn_rods, made.ground if run.ground is None else run.ground
        return run

    def _contacts(self, made: Scene | None, method: str) -> Contacts | bool:
        """What touches what: as the scene has it, with its own ground; or as asked for."""
        asked = "--ground" if self.ground else "--contacts" if self.contacts else ""
        own = made is not None and made.contacts is not None
        if (own or asked) and method not in ("aba", "adaptive"):
            which, more = (f", which {self.scene} has", "") if own else ("", f", or leave {asked} out")
            raise StateError(f"method {method!r} does not support contact{which}: use --method aba or adaptive{more}")
        if (own or asked) and method == "aba" and self.integrator == "dop853":
            raise StateError("contact needs steps of fixed length, and 'dop853' has none: leave --integrator out")
        if made is not None and made.contacts is not None:
            return made.contacts
        if made is not None and asked and not made.model.shape_list:
            name = str(self.scene)
            others = scenes.TOUCHING.get(name) or "one that has some: " + ", ".join(scenes.TOUCHES)
            raise StateError(f"bodies of {name} have no shapes by which to touch: leave {asked} out, or run {others}")
        return Contacts(ground="below") if self.ground else self.contacts

    def _check(self) -> None:
        """Refuse values that no run takes, by the names of their options."""
        for name, kind in KINDS.items():
            value = getattr(self, name)
            if value is not None and kind is not None:
                whole_number = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
                take(f"--{name}", int(value) if whole_number else value, kind)

    def _refuse_for_scene(self, made: Scene) -> None:
        """Options that a scene leaves no choice of."""
        for said, option in ((self.floating_base, "--floating-base"), (not self.loops, "--no-loops")):
            if said:
                raise StateError(f"{option} is for robots from files: leave it out")
        if self.ground and made.contacts is not None and made.contacts.ground is None:
            raise StateError(f"{self.scene} has its own ground, and takes no floor: leave --ground out")

    def _refuse_options(self, given: dict[str, Any], method: str, made: Scene | None, touching: Any) -> None:
        """Options of other methods and integrators, and what contact excludes."""
        for name in given:
            if name in ("rtol", "atol"):
                if self.integrator != "dop853":
                    raise StateError(
                        f"--{name} is for integrator 'dop853': add --integrator dop853, or leave --{name} out"
                    )
                continue
            owners = [other for other, own in OWN.items() if name in own.options]
            if method not in owners:
                way = "add" if self.method is None else "use"
                raise StateError(
                    f"--{name} is for method{'s'[: len(owners) != 1]} {' and '.join(map(repr, owners))}, this run uses "
                    f"{method!r}: {way} --method {owners[-1]}, or leave --{name} out"
                )
        if self.active is not None and self.error is not None and method == "adaptive":
            raise StateError("give --active or --error, not both")
        if touching and self.guaranteed:
            which = f", which {self.scene} has" if made is not None and made.contacts is not None else ""
            raise StateError(f"--guaranteed does not work with contact{which}: leave --guaranteed out")

    def _scene(self) -> Scene:
        name = str(self.scene)
        make = scenes.NAMES[name]
        given = parameters(name, make, self.set)
        n = scenes.n_bodies(name, given)
        if MANY < n <= MOST:
            room(n)
            print(f"supple: building {n:,} bodies ...", file=sys.stderr, flush=True)
        try:
            return make(**given)
        except StateError as e:  # the name of a function is not that of its scene
            said = str(e)
            prefix = f"{make.__name__}: "
            raise StateError(f"{name}: {said.removeprefix(prefix)}" if said.startswith(prefix) else said) from None

    def _load(self) -> Model:
        name = str(self.scene)
        check_scene(name)
        return load_quietly(name, floating_base=self.floating_base, loops=self.loops)

    def _position(self, model: Model, q: Any) -> Any:
        out = np.array(q)
        for text in self.at:
            part, numbers = _at_joint(model, "--at", text)
            if len(numbers) != part.q.stop - part.q.start:
                raise StateError(f"--at {text!r}: joint {part.name!r} has {part.q.stop - part.q.start} coordinates")
            out[part.q] = numbers
        return model.normalize(out) if self.at else out

    def _closed(self, model: Model, q: Any) -> Any:
        """A position with loops closed, in which joints stay where --at puts them, if possible."""
        try:
            return closed_near(model, q, [_named("--at", text, "=")[0] for text in self.at])
        except StateError as e:
            raise StateError(f"{e}; --at JOINT=VALUE says where a joint begins, --no-loops leaves loops out") from None

    def _forces(self, model: Model, made: Scene | None) -> list[Any]:
        out = [] if made is None else made.all_forces()
        for text in self.force:
            body, rest = _named("--force", text, ":")
            value, at, where = rest.partition("@")
            push = _numbers("--force", text, value, 3)
            point = _numbers("--force", text, where, 3) if at else (0.0, 0.0, 0.0)
            out.append(Push(_known(model, body), push, point))
        for text in self.spring:
            body, rest = _named("--spring", text, ":")
            *anchor, stiffness = _numbers("--spring", text, rest, 4)
            out.append(Spring(_known(model, body), anchor, stiffness))
        if self.limits is not None:
            out.append(Limits(self.limits, 0.01 * self.limits))
        if self.control:
            parts = (_named("--control", text, "=") for text in self.control)
            out.append(Controls({name: _numbers("--control", f"{name}={x}", x, 1)[0] for name, x in parts}))
        return out

    def _tau(self, model: Model) -> Any:
        if not self.torque:
            return None
        tau = np.zeros(model.nv)
        for text in self.torque:
            part, numbers = _at_joint(model, "--torque", text)
            if len(numbers) != part.v.stop - part.v.start:
                raise StateError(f"--torque {text!r}: joint {part.name!r} takes {part.v.stop - part.v.start} numbers")
            tau[part.v] = numbers
        return tau


def check_scene(name: str) -> None:
    """Refuse what is neither a scene nor the name of a file."""
    if name in scenes.NAMES:
        return
    if Path(name).is_dir():
        raise StateError(f"{name} is a folder; name a file in it")
    if Path(name).suffix.lower() not in FILES and not Path(name).exists():
        said, known = unknown("scene", name, list(scenes.NAMES), listed=True), ", ".join(scenes.NAMES)
        raise StateError(f"{said} (the scenes are {known}; `supple run --list` says more; or name a file)")


def parameters(scene: str, make: Callable[..., Scene], given: dict[str, Any], where: str = "") -> dict[str, Any]:
    """The arguments of a scene, checked against what it takes; text is read as what is wanted. where: they are from."""
    hints = get_type_hints(make)
    known = list(inspect.signature(make).parameters)
    out = {}
    for key, value in given.items():
        name = key.replace("-", "_")
        if name not in known:
            raise StateError(
                f"{where}scene {scene!r}: {unknown('parameter', key, known, listed=True)} ({', '.join(known)})"
            )
        out[name] = typed(f"{where}{scene}: {key}", value, hints[name])
    return out


def assignments(texts: Sequence[str], option: str = "--set") -> dict[str, Any]:
    """key=value, several of them."""
    return dict(_named(option, text, "=") for text in texts)


def typed(what: str, value: Any, kind: Any) -> Any:
    """A value of a kind: as TOML has it, or from text."""
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            choices = get_args(kind)
            raise StateError(
                f"{what}: {unknown('choice', str(value), choices, listed=True)} ({', '.join(map(str, choices))})"
            )
        return value
    kinds = [k for k in get_args(kind) if k is not type(None)] if type(None) in get_args(kind) else [kind]
    one = get_origin(kinds[0]) or kinds[0]
    try:
        if one in (int, float) and not isinstance(value, bool):
            number = float(value)
            if one is float:
                return number
            if number == int(number):
                return int(number)
        elif one is bool:
            return value if isinstance(value, bool) else {"true": True, "yes": True, "false": False, "no": False}[value]
        elif isinstance(value, one) and all(isinstance(x, str) for x in value if one is list):
            return value
        elif one is list and isinstance(value, str):
            return [value]
    except (TypeError, ValueError, OverflowError, KeyError):
        pass
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text", list: "a list of texts"}
    raise StateError(f"{what} must be {names.get(one, 'a table')}, not {_shown(value)}")


def _shown(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 256:
        return "one of so many digits"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def read_toml(file: Path, tables: Sequence[str] = ("set",)) -> tuple[dict[str, Any], str]:
    """What a file says, and its text. Values are plain: only `tables` are tables, and no table is in them."""
    text = read_text(file, LARGEST_CONFIG)
    for number, line in enumerate(text.split("\n"), start=1):
        if line.partition("=")[0].count(".") > MOST_DOTS:  # which tomllib takes the square of
            raise StateError(f"{file}:{number}: a key of so many parts; write [set] and the parameters below it")
    try:
        settings = tomllib.loads(text)
    except RecursionError:
        raise StateError(f"{file}: arrays or tables are nested too deep; settings are plain values") from None
    except ValueError as e:  # TOML's own, or Python's on a number of thousands of digits
        raise StateError(f"{file}: {e}") from None
    inside = [entry for name in tables for entry in _table(settings.get(name)).items()]
    for key, value in [*((k, x) for k, x in settings.items() if k not in tables or not isinstance(x, dict)), *inside]:
        inner = value if isinstance(value, list) else ()
        if isinstance(value, dict) or any(isinstance(x, (dict, list)) for x in inner):
            raise StateError(f"{place(file, text, key)}: {key!r} must be a plain value or a list of them, not a table")
    return settings, text


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def place(file: Path, text: str, key: str) -> str:
    """The file, and the line in which a key is set."""
    found = re.search(rf"^[ \t]*\[?[\"']?{re.escape(key)}[\"']?\s*[=.\]]", text, re.MULTILINE)
    return str(file) if found is None else f"{file}:{text.count(chr(10), 0, found.end()) + 1}"


def _named(option: str, text: str, sign: str) -> tuple[str, str]:
    name, found, rest = text.partition(sign)
    if not found or not name.strip():
        raise StateError(f"{option} {text!r}: write NAME{sign}VALUE")
    return name.strip(), rest.strip()


def _numbers(option: str, text: str, values: str, count: int | None = None) -> list[float]:
    try:
        out = [float(x) for x in values.split(",")]
    except ValueError:
        out = []
    if not out or not np.isfinite(out).all() or (count is not None and len(out) != count):
        raise StateError(
            f"{option} {text!r}: {values!r} must be {'' if count is None else count} numbers with commas between"
        )
    return out


def _at_joint(model: Model, option: str, text: str) -> tuple[Joint, list[float]]:
    """Of JOINT=VALUE,...: the joint, and the numbers."""
    joint, values = _named(option, text, "=")
    return model.joints[joint], _numbers(option, text, values)


def _known(model: Model, body: str) -> str | int:
    """The name of a body or frame, or a body's number, refused where there is none."""
    number = body.isdecimal() and len(body) < 20 and body not in model.bodies
    known = int(body) if number else body
    model.moving_place(known)
    return known
