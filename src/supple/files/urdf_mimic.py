"""URDF's <mimic> as a relation between two joints, and relations as <mimic>.

A joint that mimics another is at multiplier times the other's coordinate, plus offset. A fixed joint is at zero: what
mimics it is held at the offset. Each joint mimics one other, and none itself, however long the way: relations between
pairs of joints can be written if they form trees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from supple.files.xml import LARGEST, Document, Element
from supple.model.builder import ModelBuilder
from supple.model.loops import Relation
from supple.model.model import unknown

COUPLED = ("revolute", "continuous", "prismatic")  #: types with one coordinate
WITHOUT = "load(..., loops=False) reads the tree without it"


@dataclass(frozen=True)
class Mimic:
    """What a joint follows. element: where the file says so."""

    leader: str
    multiplier: float = 1.0
    offset: float = 0.0
    element: Element = None


def read_mimic(doc: Document, joint: Element, kind: str, loops: bool) -> Mimic | None:
    """What a joint of a type mimics, if anything. loops: otherwise it is left out, and remarked upon."""
    element = doc.child(joint, "mimic")
    if element is None:
        return None
    if kind == "fixed":
        doc.remark("fixed mimic", element, "means nothing on a fixed joint and is not used")
        return None
    doc.unused(element, ("joint", "multiplier", "offset"))
    leader = doc.text(element, "joint")
    if not loops:
        doc.remark(
            "free mimic", element, f"follows joint {leader!r} in the file; here it moves on its own (loops=False)"
        )
        return None
    if kind not in COUPLED:
        doc.fail(element, f"a {kind} joint has more than one coordinate, and cannot follow another joint; {WITHOUT}")
    return Mimic(leader, doc.number(element, "multiplier", 1.0), doc.number(element, "offset", 0.0), element)


def add_mimics(
    doc: Document, builder: ModelBuilder, kinds: Mapping[str, str], given: Mapping[str, Mimic], strict: bool
) -> None:
    """Relations for all joints that mimic others. kinds: the type of every joint. strict: refuse a joint that mimics
    one that is not there, instead of reporting it."""
    mimics = {name: mimic for name, mimic in given.items() if _is_there(doc, mimic, kinds, strict)}
    for name, mimic in mimics.items():
        _check_leader(doc, name, mimic, kinds)
    _refuse_cycle(mimics, lambda name, message: doc.fail(mimics[name].element, message))
    for name, mimic in mimics.items():
        factors = {name: 1.0}
        if kinds[mimic.leader] != "fixed" and mimic.multiplier != 0.0:
            factors[mimic.leader] = -mimic.multiplier
        builder.relate(factors, mimic.offset, name)


def _is_there(doc: Document, mimic: Mimic, kinds: Mapping[str, str], strict: bool) -> bool:
    """Whether there is a joint to follow."""
    if mimic.leader in kinds:
        return True
    missing = f"follows a joint that is not there, and moves on its own: {unknown('joint', mimic.leader, list(kinds))}"
    if strict:
        doc.fail(mimic.element, missing)
    doc.remark("free mimic", mimic.element, missing)
    return False


def _check_leader(doc: Document, name: str, mimic: Mimic, kinds: Mapping[str, str]) -> None:
    kind = kinds[mimic.leader]
    if mimic.leader == name:
        doc.fail(mimic.element, f"the joint follows itself; remove it, or name another joint; {WITHOUT}")
    if kind not in (*COUPLED, "fixed"):
        doc.fail(
            mimic.element,
            f"it cannot follow joint {mimic.leader!r}, which has more than one coordinate; {WITHOUT}",
        )
    if kind == "fixed":
        doc.remark("fixed mimic", mimic.element, f"joint {mimic.leader!r} is fixed: held at {mimic.offset:g}")


def _refuse_cycle(mimics: Mapping[str, Mimic], refuse: Callable[[str, str], NoReturn]) -> None:
    """Refuse joints that follow each other in a circle."""
    seen: dict[str, str] = {}  # and from where
    for first in mimics:
        name = first
        while name in mimics and name not in seen:
            seen[name] = first
            name = mimics[name].leader
        if name in mimics and seen[name] == first:
            refuse(name, f"joint {name!r} follows itself by way of {mimics[name].leader!r}; remove one; {WITHOUT}")


# --- writing --------------------------------------------------------------------------------------


def written(relations: Sequence[Relation], joints: Sequence[str]) -> tuple[dict[str, Mimic], list[str]]:
    """What each joint mimics, and the names of relations that cannot be written so. joints: those with one coordinate,
    of which any may lead a joint that is held, with a multiplier of zero."""
    pairs: dict[str, list[tuple[Relation, str]]] = {}  # of a joint, its relations and the joints at their other ends
    groups, fixed = _Groups(), _Groups()  # `fixed`: with None for the world, which holds joints
    followers, held, rest = set(), list[tuple[Relation, str]](), []
    for x in relations:
        mine = [joint for joint, factor in zip(x.joints, x.factors) if factor != 0.0]
        if len(mine) == 1:
            held.append((x, mine[0]))
        elif len(mine) == 2 and _is_writable(x) and groups.joins(*mine):
            fixed.joins(*mine)
            followers.add(mine[0])
            for joint, other in (mine, reversed(mine)):
                pairs.setdefault(joint, []).append((x, other))
        else:
            rest.append(x.name)
    out: dict[str, Mimic] = {}
    leaders = sorted(joints, key={joint for _, joint in held}.__contains__)  # rather one that is not held itself
    for x, joint in held:
        leader = next((name for name in leaders if not groups.has(joint, name)), None)
        if leader is not None and _is_writable(x) and fixed.joins(joint, None):
            groups.joins(joint, leader)
            out[joint] = _mimic(x, joint, leader)
        else:
            rest.append(x.name)
    # from joints that are held, or that none of their relations begins with, on to those that follow them
    roots = [*out, *sorted(pairs, key=followers.__contains__)]
    return out | _followers(roots, pairs), rest


def _followers(roots: Sequence[str], pairs: Mapping[str, list[tuple[Relation, str]]]) -> dict[str, Mimic]:
    """What all joints but the first of each tree mimic."""
    out: dict[str, Mimic] = {}
    reached: set[str] = set()
    for root in roots:
        waiting = [] if root in reached else [root]
        reached.add(root)
        while waiting:
            leader = waiting.pop()
            for x, follower in pairs.get(leader, ()):
                if follower not in reached:
                    reached.add(follower)
                    waiting.append(follower)
                    out[follower] = _mimic(x, follower, leader)
    return out


def _mimic(x: Relation, follower: str, leader: str) -> Mimic:
    factors = dict(zip(x.joints, x.factors))
    own = factors[follower]
    return Mimic(leader, 0.0 - factors.get(leader, 0.0) / own, x.offset / own)


def _is_writable(x: Relation) -> bool:
    """Whether both ways to write it take numbers that can be read again."""
    factors = [abs(factor) for factor in x.factors if factor != 0.0]
    return max(*factors, abs(x.offset)) <= LARGEST * min(factors)


class _Groups:
    """Joints that relations connect."""

    def __init__(self) -> None:
        self._above: dict[str | None, str | None] = {}

    def joins(self, one: str, two: str | None) -> bool:
        """Connect two joints; False if they were connected already."""
        a, b = self._top(one), self._top(two)
        self._above[a] = b
        return a != b

    def has(self, one: str, two: str) -> bool:
        """Whether two joints are connected."""
        return self._top(one) == self._top(two)

    def _top(self, joint: str | None) -> str | None:
        way = []
        while self._above.get(joint, joint) != joint:
            way.append(joint)
            joint = self._above[joint]
        for passed in way:
            self._above[passed] = joint
        return joint
