"""What the physics of a file loses here, in one line; and the remarks on a file in groups, one a line."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from supple.errors import printable
from supple.model.manifold import UNLIMITED
from supple.model.model import Model
from supple.model.report import Remark

#: The subjects of remarks that change how a robot moves, in words.
PHYSICS = {
    "equality": "some equalities",
    "free mimic": "mimic joints, which move on their own",
    "tendon": "tendons",
    "actuator": "some actuators",
    "stiffness": "some springs",
    "frictionloss": "friction of free joints",
    "dampingpoly": "polynomial damping",
    "armature": "",
    "gravcomp": "gravity compensation",
    "fluid": "fluid forces",
    "flex": "soft bodies",
    "plugin": "plugins",
    "mocap": "bodies moved by mocap",
    "contact": "some properties of contacts",
    "collision": "some shapes that could touch",
    "range": "",
}
LIMITS = "joint limits, unless the run has contacts or supple.Limits"
CONTACTS = "contacts, unless the run asks for them (contacts=True, --contacts)"
ANY = "…"  #: for names and numbers that differ
NAMED = 6  #: names that are shown of a group
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[-+]?\d+)?(?![\w.])")


def left_out(model: Model) -> list[str]:
    """What of a model's file would change how it moves, and is left out."""
    words = dict.fromkeys(PHYSICS.get(r.subject, "") for r in model.report)
    limited = (np.abs(np.concatenate([model.lower, model.upper])) < UNLIMITED).any()
    touching = any(x.body >= 0 for x in model.shape_list)
    return [*filter(None, words), *([LIMITS] if limited else ()), *([CONTACTS] if touching else ())]


def say_left_out(model: Model) -> None:
    """One line on the logger "supple", which goes to standard error unless it is told otherwise."""
    words = left_out(model)
    if words:
        name = Path(model.report.source or model.name).name
        text = f"{name}: not simulated: {'; '.join(words)} (`supple inspect` and model.report say more)"
        logging.getLogger("supple").warning("%s", printable(text))


@dataclass(frozen=True)
class Group:
    """Remarks that say the same of different elements. names: of those, if they have any."""

    subject: str
    text: str
    count: int
    names: tuple[str, ...]

    @property
    def is_cut(self) -> bool:
        """Whether there are more names than are shown."""
        return len(self.names) > NAMED

    def shown(self, everything: bool = False) -> str:
        if self.count == 1:
            return self.text
        some = self.names if everything else self.names[:NAMED]
        more = f" and {len(self.names) - len(some)} more" if len(some) < len(self.names) else ""
        return f"{self.count} x {self.text}{': ' if some else ''}{', '.join(some)}{more}"


def groups(remarks: Iterable[Remark]) -> list[Group]:
    """Remarks by subject and by what they say, whatever names and numbers are in it; in the order of the file."""
    found: dict[tuple[str, str], list[Remark]] = {}
    for r in remarks:
        found.setdefault((r.subject, _NUMBER.sub(ANY, _QUOTED.sub(ANY, r.message))), []).append(r)
    return [_group(subject, pattern, same) for (subject, pattern), same in found.items()]


def _group(subject: str, pattern: str, same: list[Remark]) -> Group:
    if len(same) == 1:
        return Group(subject, str(same[0]), 1, ())
    firsts = (_QUOTED.search(r.message) for r in same)
    return Group(subject, pattern, len(same), tuple(m[0][1:-1] for m in firsts if m is not None))
