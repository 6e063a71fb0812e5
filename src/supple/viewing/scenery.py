"""What is drawn beside a body: the ground, pushes and torques, springs, where bodies and springs hang on the world, and
the arrows of a captured motion."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.contact.room import COLUMNS
from supple.errors import SuppleError, printable
from supple.exact.answers import Poses
from supple.model.clip import Arrows
from supple.model.geometry import rotation_to_z
from supple.model.joints import JointType
from supple.model.model import Model
from supple.simulating.contacts import arrows_now
from supple.simulating.forces import Push, Spring, SpringBetween
from supple.simulating.result import Result
from supple.viewing.batch import Batch
from supple.viewing.colours import ACTS, ANCHOR, CONTACT_FORCE, FORCE, SPRING, TORQUE, Entry, Rgb
from supple.viewing.shapes import ball_radii, link_length, tree_size
from supple.viewing.turned import Mesh, turned

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Bodies, points on them, vectors, whether these turn with the body, and which of those given they are.
Placed = tuple[Ints, Floats, Floats, NDArray[np.bool_], Ints]

ARROW, LINKS = 0.4, 12.0  #: of the strongest push: as a share of how large a body is, and in links of it, at most
THICK = 0.22  #: of an arrow: how wide it is, as a share of how long
WIDE, LINKS_WIDE = 0.05, 2.5  #: of springs and anchors, in the same way
PIN = 0.6  #: of a spring's width: how large an anchor is
LEAST = 0.25  #: of the strongest arrow, how long the others are at least
RING = 0.35, 0.6, 1.6  #: the radius of the strongest torque's ring, in arrows; how much smaller and larger others are
BEYOND = 1.25  #: of a ring, how much larger it is at least than a ball that is as wide as the body
VECTOR = 1.1  #: how long the longest arrow of a captured motion is about, as a share of how large the body is
CONTACT, LINKS_CONTACT = 0.4, 4.0  #: of a typical contact: as a share of how large a tree is, and in links, at most
BODY = 2.2  #: radii of a body, of a ball as wide: how long a typical contact's arrow is at least, or it would be inside
CUT = 2.5  #: typical forces: impacts are far stronger than what they leave at rest, and their arrows are cut to this
STAND = 2  #: contacts on which a tree may stand; of others,
CROWDED, SHORTEST = 50, 0.6  #: the number beyond which arrows are shorter, or they would hide bodies; the least share
MOST_CONTACTS = 300  #: whose forces are drawn while a run goes on, the strongest ones
SEEN = 1000  #: states that decide what is typical then
FAR = 2.0  #: times a typical force, beyond which another is taken
CELLS = 4.0  #: of the ground's grid, in half the size of a motion, about
MANY = 40  #: springs, beyond which they are drawn with fewer turns
CORNERS = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
BOX: Mesh = (
    CORNERS,
    np.array([(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6),
              (0, 6, 4), (1, 5, 7), (1, 7, 3)]),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Ground:
    """A plane: normal · x = height. real: bodies stand on it; otherwise it is there for the eye."""

    normal: Floats
    height: float
    real: bool

    @property
    def turn(self) -> Floats:
        """The rotation that takes z to the normal."""
        return np.asarray(rotation_to_z(self.normal[None])[0])

    def below(self, x: Floats) -> Floats:
        """The point of the plane under or above x."""
        return self.along(x, self.normal)

    def along(self, x: Floats, d: Floats) -> Floats:
        """(..., 3) where lines through points x along d meet the plane."""
        above = x @ self.normal - self.height
        return np.asarray(x - above[..., None] / (self.normal @ d) * d)


def nice(x: float) -> float:
    """1, 2 or 5 times a power of ten, near x."""
    ten = 10.0 ** np.floor(np.log10(x))
    return float(min((1.0, 2.0, 5.0, 10.0), key=lambda m: abs(np.log(m * ten / x))) * ten)


def ground_of(plane: Any, model: Model, points: Floats) -> Ground | None:
    """The ground that a run says (four numbers), or one below all points where there is gravity, or none."""
    if plane is not None:
        plane = np.asarray(plane, dtype=np.float64)
        return Ground(plane[:3] / np.linalg.norm(plane[:3]), float(plane[3] / np.linalg.norm(plane[:3])), True)
    if not np.any(model.gravity):
        return None
    up = -model.gravity / np.linalg.norm(model.gravity)
    heights = points @ up
    return Ground(up, float(heights.min() - 0.01 * np.ptp(heights)), False)


class Fixed(NamedTuple):
    """What does not change while a model is the same: sizes; bodies, points and vectors of what acts."""

    wide: float  #: of springs and anchors
    arrow: float  #: how long the strongest push is
    per: float  #: metres that a unit of the arrows of a captured motion or of contacts is long
    thick: float  #: of these arrows, how wide they are
    pushes: Placed
    torques: Placed
    springs: Placed
    between: tuple[Placed, Placed]  #: where springs between bodies begin and end
    roots: Floats  #: (k, 3) where trees hang on the world


class Scenery:
    """Forces and springs, as they are at a state. What has no place to be drawn at (controllers, functions) is said."""

    def __init__(
        self,
        forces: Sequence[Any],
        ground: Any = None,
        arrows: Arrows | None = None,
        others: Sequence[str] = (),
        typical: float | None = None,
        contacts: float = 0.0,
    ) -> None:
        """others: in words, kinds of forces that are not drawn. typical: of contacts, whose forces the arrows are: a
        force that decides how long they are, instead of the largest; those of many times that are cut. contacts: see
        `contacts_beyond`."""
        self.ground = ground  #: (4,) a plane on which bodies stand, if there is one
        self._pushes = [f for f in forces if isinstance(f, Push) and np.any(f.force)]
        self._torques = [f for f in forces if isinstance(f, Push) and np.any(f.torque)]
        self._springs = [f for f in forces if isinstance(f, Spring)]
        self._between = [f for f in forces if isinstance(f, SpringBetween)]
        self.arrows = arrows  #: may be changed while a run goes on, but not how many there are
        self._largest = 0.0 if arrows is None or typical is not None else arrows.largest
        self._typical, self._contacts = typical, contacts
        self._others = tuple(others)
        self._found: tuple[Model, Fixed] | None = None
        self._seen: deque[tuple[float, float]] = deque(maxlen=SEEN)  #: typical forces and numbers of contacts

    @classmethod
    def going_on(cls, model: Model, forces: Sequence[Any], ground: Any, others: Sequence[str]) -> Scenery:
        """That of a run with contacts that goes on: see show_contacts."""
        none = arrows_now(0.0, np.zeros((0, COLUMNS)), MOST_CONTACTS)
        return cls(forces, ground, none, others, typical=usual_force(model))

    @classmethod
    def of(cls, result: Result) -> Scenery:
        """That of a result."""
        touching = isinstance(result.about.get("shapes"), list) and len(result.segments)
        arrows = result.arrows
        if not touching:
            return cls(result.forces, result.ground, arrows, result.others)
        model = result.segments[0].model
        scale = usual_force(model, arrows), contacts_beyond(model, arrows)
        return cls(result.forces, result.ground, arrows, result.others, *scale)

    @property
    def _cut(self) -> float:
        """The force whose arrow is the longest: a number to be shown."""
        return np.inf if self._typical is None else float(f"{CUT * self._typical:.2g}")

    @property
    def _colours(self) -> dict[str, Rgb]:
        """By what batches are called; the arrows of contacts are told from pushes."""
        return ACTS if self._typical is None else ACTS | {"vector": CONTACT_FORCE}

    def show_contacts(self, model: Model, time: float, rows: Floats) -> None:
        """The forces of a state, and a scale that suits those so far. rows: see contact/room.py."""
        self.arrows = arrows_now(time, rows, MOST_CONTACTS)
        if self.arrows.largest > 0.0:
            self._seen.append((usual_force(model, self.arrows), contacts_beyond(model, self.arrows)))
            self.scale_by(*np.median(self._seen, axis=0).tolist())

    def scale_by(self, typical: float, contacts: float = 0.0) -> None:
        """Of contacts in a run that goes on: the typical force and number so far. Arrows change their scale where it is
        far from the one they are scaled by."""
        if self._typical is not None:
            far = typical / self._typical * _shorter(self._contacts) / _shorter(contacts)
            if not 1.0 / FAR < far < FAR:
                self._typical, self._contacts, self._found = typical, contacts, None

    def batches(self, model: Model, pose: Poses, time: float = 0.0, scale: float = 1.0) -> dict[str, Batch]:
        """One batch each, maybe empty, by what it is called in a legend. scale: of the pushes, those that act at this
        time."""
        wide, arrow, per, thick, pushes, torques, springs, between, roots = self._of(model, pose)
        hook, anchor = self._ends(pose, springs)
        first, second = (self._ends(pose, end)[0] for end in between)
        pull, hooks = np.concatenate([anchor - hook, second - first]), np.concatenate([hook, first])
        coil = _coil(9, 8) if len(pull) <= MANY else _coil(3, 5)
        coils = _along(coil, hooks, pull, np.linalg.norm(pull, axis=1), wide, SPRING)
        pins = np.concatenate([anchor, roots])
        up = np.tile((0.0, 0.0, 1.0), (len(pins), 1))
        held = _along(BOX, pins, up, np.full(len(pins), PIN * wide), PIN * wide, ANCHOR)
        out = {
            "force": self._arrows_at(model, pose, pushes, time, scale, arrow),
            "torque": self._rings_at(model, pose, torques, time, scale, arrow),
            "spring": coils,
            "anchor": held,
        }
        if self.arrows is None:
            return out
        return out | {"vector": _vectors(*self.arrows.at(time), per, thick, self._cut, self._colours["vector"])}

    def needing_room(self, model: Model, pose: Poses, time: float) -> list[Batch]:
        """What a picture must hold. Arrows of contacts up to a typical force: those of impacts are several times as
        long as bodies, which would be too small to be seen."""
        made = self.batches(model, pose, time)
        if self.arrows is not None and self._typical is not None:
            shown, (at, vectors) = self._of(model, pose), self.arrows.at(time)
            acting = vectors.any(axis=1)  # the others are anywhere
            colour = self._colours["vector"]
            made["vector"] = _vectors(at[acting], vectors[acting], shown.per, shown.thick, self._typical, colour)
        return list(made.values())

    def legend(self, names: Iterable[str]) -> list[Entry]:
        """What is to be said of batches of these names, and of what is not drawn."""
        words = {}
        if self.arrows is not None and self._found is not None:
            unit = printable(self.arrows.unit)
            name = "arrow" if unit != "N" else "force" if self._typical is None else "contact force"
            cut = f" (arrows cut at {self._cut:,g} N)" if np.isfinite(self._cut) else ""
            words["vector"] = f"{name}: 1 m is {1.0 / self._found[1].per:,.4g} {unit}{cut}"
            if name == "contact force":
                words["force"] = "applied force"
        out = [Entry(words.get(name, name), self._colours[name]) for name in names]
        return [*out, Entry(f"not drawn: forces of {', '.join(self._others)}", None)] if self._others else out

    def _arrows_at(self, model: Model, pose: Poses, pushes: Placed, time: float, scale: float, arrow: float) -> Batch:
        at, force = self._ends(pose, pushes)
        long = arrow * _clipped(_strengths(self._pushes, pushes, force, time, scale), LEAST, 3.0)
        from_within = np.einsum("mi,mi->m", force, at - _centres(model, pose, pushes[0])) >= 0.0
        ahead = force / np.maximum(np.linalg.norm(force, axis=1), 1e-300)[:, None]
        at = np.where(from_within[:, None], at, at - long[:, None] * ahead)  # it pulls there, or ends there
        return _along(_arrow(), at, force, long, THICK * arrow, FORCE)

    def _rings_at(self, model: Model, pose: Poses, torques: Placed, time: float, scale: float, arrow: float) -> Batch:
        """Around the centres of mass: a torque has no point at which it acts."""
        _, torque = self._ends(pose, torques)
        size, least, most = RING
        wide = ball_radii(model)[torques[0]]
        strength = _strengths(self._torques, torques, torque, time, scale)
        radius = size * arrow * _clipped(strength, least, most)
        radius = np.where(strength > 0.0, np.maximum(radius, BEYOND * wide), 0.0)
        return _along(_ring(), _centres(model, pose, torques[0]), torque, radius, radius, TORQUE)

    def _of(self, model: Model, pose: Poses) -> Fixed:
        if self._found is None or self._found[0] is not model:
            pushes = _places(model, [(f.body, f.point, f.force, f.frame) for f in self._pushes])
            torques = _places(model, [(f.body, f.point, f.torque, f.frame) for f in self._torques])
            springs = _places(model, [(f.body, f.point, f.anchor, "world") for f in self._springs])
            nowhere = np.zeros(3)
            there = [f for f in self._between if _is_in(model, f.body) and _is_in(model, f.other)]
            between = (
                _places(model, [(f.body, f.point, nowhere, "world") for f in there]),
                _places(model, [(f.other, f.other_point, nowhere, "world") for f in there]),
            )
            fixed = (model.parent < 0) & ~np.isin(model.joint_type, (JointType.FREE, JointType.PLANAR))
            seen = self.ground is None and not any(v.body < 0 for v in model.visuals)
            roots = model.position[fixed] if seen else np.zeros((0, 3))
            size, link = tree_size(model, pose), link_length(model)
            wide, arrow = min(WIDE * size, LINKS_WIDE * link), min(ARROW * size, LINKS * link)
            thick, per = THICK * arrow, 1.0
            if self._typical is not None:
                long = max(min(CONTACT * size, LINKS_CONTACT * link), BODY * float(np.median(_radii(model))))
                long = long * _shorter(self._contacts)
                thick, per = THICK * long, 1.0 / nice(self._typical / long)
            elif self._largest > 0.0:
                per = 1.0 / nice(self._largest / (VECTOR * size))
            self._found = model, Fixed(wide, arrow, per, thick, pushes, torques, springs, between, roots)
        return self._found[1]

    @staticmethod
    def _ends(pose: Poses, what: Placed) -> tuple[Floats, Floats]:
        """Points in the world, and vectors there."""
        body, point, vector, turns, _ = what
        R = pose.rotation[body]
        at = pose.position[body] + np.einsum("mij,mj->mi", R, point)
        return at, np.where(turns[:, None], np.einsum("mij,mj->mi", R, vector), vector)


def _strengths(given: Sequence[Push], placed: Placed, vectors: Floats, time: float, scale: float) -> Floats:
    """(m,) how strong pushes are, or their torques, as shares of the strongest; zero while they do not act."""
    norm = np.linalg.norm(vectors, axis=1)
    times = np.array([(f.start, f.stop) for f in given]).reshape(-1, 2)[placed[4]]
    acts = (times[:, 0] <= time) & (time < times[:, 1])
    return np.asarray(norm / norm.max(initial=1e-300) * scale * acts)


def _clipped(x: Floats, least: float, most: float) -> Floats:
    """Between these, or zero."""
    return np.where(x > 0.0, np.clip(x, least, most), 0.0)


def usual_force(model: Model, arrows: Arrows | None = None) -> float:
    """The typical force of a contact: half of what acts at an instant acts at contacts with at least this force; of a
    run, the median over its instants, of which impacts are few. Where that is not known, as before a run, what the
    weight of one of the model's trees suggests, the usual one if there are many: more contacts share it the more bodies
    there are, though not all of them touch."""
    forces = np.zeros((0, 0)) if arrows is None else np.sort(np.linalg.norm(arrows.vectors, axis=2), axis=1)
    forces = forces[forces.any(axis=1)]
    if len(forces):
        share = np.cumsum(forces, axis=1) / forces.sum(axis=1, keepdims=True)
        return float(np.median(forces[np.arange(len(forces)), np.argmax(share >= 0.5, axis=1)]))
    roots = np.flatnonzero(model.parent < 0)
    masses = np.add.reduceat(model.mass, roots)
    bodies = np.diff(np.append(roots, model.n_bodies))
    weight = float(np.median(masses / np.sqrt(bodies)) * np.linalg.norm(model.gravity))
    return weight if weight > 0.0 else 1.0


def contacts_beyond(model: Model, arrows: Arrows | None) -> float:
    """How many contacts there are, beyond those on which trees may stand: the median over instants with any."""
    number = np.zeros(0) if arrows is None else np.count_nonzero(arrows.vectors.any(axis=2), axis=1)
    trees = np.count_nonzero(model.parent < 0)
    return max(float(np.median(number[number > 0])) - STAND * trees, 0.0) if number.any() else 0.0


def _radii(model: Model) -> Floats:
    """(n_bodies,) of bodies as balls, no larger than their shapes reach: inertias in files are often far too large."""
    reach = np.zeros(model.n_bodies)
    for shape in model.shape_list:
        if shape.body >= 0:
            far = shape.radius + float(np.linalg.norm(shape.position - model.com[shape.body]))
            reach[shape.body] = max(reach[shape.body], far)
    return np.minimum(ball_radii(model), np.where(reach > 0.0, reach, np.inf))


def _shorter(contacts: float) -> float:
    """The share of their length that arrows of so many contacts have."""
    return float(np.clip(np.sqrt(CROWDED / max(contacts, 1.0)), SHORTEST, 1.0))


def _vectors(at: Floats, vectors: Floats, per: float, thick: float, cut: float, colour: Rgb) -> Batch:
    """The arrows of a captured motion or of contacts, true to scale up to `cut`. per: metres a unit. Those that are
    shorter than they are wide are narrower."""
    long = per * np.minimum(np.linalg.norm(vectors, axis=1), cut)
    return _along(_arrow(), at, vectors, long, np.minimum(thick, long), colour)


def _centres(model: Model, pose: Poses, body: Ints) -> Floats:
    """(m, 3) of bodies, in the world."""
    return np.asarray(pose.position[body] + np.einsum("mij,mj->mi", pose.rotation[body], model.com[body]))


def _is_in(model: Model, name: Any) -> bool:
    return len(_places(model, [(name, np.zeros(3), np.zeros(3), "world")])[0]) > 0


def _places(model: Model, given: list[tuple[Any, Any, Any, str]]) -> Placed:
    """What is not in the model is left out."""
    body, points, vectors, turns, found = [], [], [], [], []
    for i, (name, point, vector, frame) in enumerate(given):
        try:
            place = model.moving_place(name)
        except (SuppleError, KeyError, IndexError):
            continue
        body.append(place.body)
        points.append(place.position + place.rotation @ np.asarray(point))
        own = frame == "body"
        vectors.append(place.rotation @ np.asarray(vector) if own else np.asarray(vector))
        turns.append(own)
        found.append(i)
    shape = (len(body), 3)
    at, along = np.reshape(points, shape), np.reshape(vectors, shape)
    return np.array(body, dtype=np.int64), at, along, np.array(turns, dtype=bool), np.array(found, dtype=np.int64)


def _along(mesh: Mesh, at: Floats, d: Floats, length: Floats, wide: Floats | float, colour: Rgb) -> Batch:
    """Meshes along z from 0 to 1, from points on, in directions; those of no length are too small to be seen."""
    m, norm = len(at), np.linalg.norm(d, axis=1)
    seen = (norm > 0.0) & (length > 0.0)
    d = np.where(seen[:, None], d / np.where(seen, norm, 1.0)[:, None], (0.0, 0.0, 1.0))
    across = np.broadcast_to(wide, m)
    scale = np.where(seen[:, None], np.stack([across, across, length], axis=1), 1e-9)
    own = np.tile(np.array(colour, dtype=np.uint8), (m, 1))
    return Batch(*mesh, np.full(m, -1), at, rotation_to_z(d), scale, own, "solid", round=mesh is not BOX)


@cache
def _arrow() -> Mesh:
    return turned(8, ((0.0, 0.17), (0.72, 0.17), (0.72, 0.5)))


@cache
def _ring() -> Mesh:
    """An arrow that goes around z as a right-handed screw does, at a radius of 1."""
    angle = np.radians([*np.linspace(0.0, 235.0, 24), 235.0, *np.linspace(245.0, 300.0, 6)])
    thick = np.array([0.0, *[0.085] * 23, 0.24, *np.linspace(0.2, 0.0, 6)])
    around = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    turn = 2 * np.pi * np.arange(6) / 6
    across = np.cos(turn)[:, None] * around[:, None] + np.sin(turn)[:, None] * np.array([0.0, 0.0, -1.0])
    return _tube(around[:, None] + thick[:, None, None] * across)


def _tube(rings: Floats) -> Mesh:
    """The triangles between rings (k, sides, 3) of points; these go around the way from ring to ring as a right-handed
    screw does, or the sides would face inwards."""
    count, sides = rings.shape[:2]
    k = sides * np.arange(count - 1)[:, None]
    i, j = np.arange(sides), np.roll(np.arange(sides), -1)
    faces = [np.stack(f, -1) for f in ((k + i, k + j, k + sides + j), (k + i, k + sides + j, k + sides + i))]
    return rings.reshape(-1, 3), np.stack(faces).reshape(-1, 3)


@cache
def _coil(turns: int, steps: int) -> Mesh:
    """A tube of three sides that winds about z from 0 to 1."""
    s = np.linspace(0.0, 1.0, turns * steps + 1)
    angle = 2 * np.pi * turns * s
    radius = np.where((s < 0.06) | (s > 0.94), 0.0, 0.42)
    middle = np.stack([radius * np.cos(angle), radius * np.sin(angle), s], axis=1)
    out = np.stack([np.cos(angle), np.sin(angle), 0.0 * s], axis=1)
    thick, flat = 0.09, 0.25 / turns
    return _tube(np.stack([middle + thick * out, middle - thick * out, middle + [0.0, 0.0, flat]], axis=1))
