"""The law of contact, judged from outside after every step: by poses, velocities and energies of Supple's exact
functions, by corners in plain arithmetic, and by coal's distances where it is installed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import supple
from supple import AdaptiveDynamics, Contacts, Model, Shape, SimulationError
from supple.contact.memory import CONTACT, LIMIT
from supple.contact.room import ContactRoom, Unsolved
from supple.integrating.joint_law import LAW
from supple.model.geometry import rotation_from_quaternion
from supple.model.manifold import layout
from tests.touching import moved_on

try:
    import coal
except ImportError:  # then only the search itself says how deep bodies overlap
    coal = None

Floats = NDArray[np.float64]
NOTHING = np.zeros((0, LAW))
LOOK = 5  #: steps between looks by coal


@dataclass
class Verdict:
    """What was found, of as many steps as were judged."""

    scenes: int = 0
    steps: int = 0  #: that were taken with touches
    flights: int = 0  #: and without
    parts: int = 0  #: of steps with touches
    rough: int = 0  #: parts that were as short as they get, and still not as good as promised
    relaxed: int = 0  #: parts of adaptive steps that miss the law, and say so
    refused: list[str] = field(default_factory=list)
    pull: float = 0.0  #: the largest impulse that pulled, relative to the largest of its step
    cone: float = 0.0  #: by how much friction left its cone, likewise
    fault: float = 0.0  #: the largest velocity by which the law was missed, relative to those that meet
    differ: float = 0.0  #: between velocities at touches as the step has them and as they are, likewise
    overlap: list[float] = field(default_factory=list)  #: the largest of each scene, in metres
    beyond: list[float] = field(default_factory=list)  #: likewise of joints beyond their limits
    rise: list[float] = field(default_factory=list)  #: the largest rise of energy in a step of each scene
    total: list[float] = field(default_factory=list)  #: the largest rise between any two instants of each scene
    unseen: float = 0.0  #: overlap that the search does not find
    where: dict[str, str] = field(default_factory=dict)  #: the scene of each figure

    def note(self, name: str, x: float, where: str) -> None:
        if not x <= getattr(self, name):
            setattr(self, name, x)
            self.where[name] = where

    def __str__(self) -> str:
        def spread(x: list[float], unit: float) -> str:
            y = np.array(x or [0.0]) / unit
            return f"median {np.median(y):.2g}, 99 % {np.quantile(y, 0.99):.2g}, most {y.max():.2g}"

        return "\n".join(
            [
                f"{self.scenes:,} scenes, {self.steps:,} steps with touches and {self.flights:,} without, "
                f"{len(self.refused)} refused; {self.parts / max(self.steps, 1):.2f} parts a step, "
                f"{self.rough} of them rough, {self.relaxed} off the law",
                f"of the largest impulse of a step: pull {self.pull:.1g}, beyond the cone {self.cone:.1g}",
                f"of the velocities that meet: fault {self.fault:.1g}, u differs by {self.differ:.1g}",
                f"overlap, largest of a scene, mm: {spread(self.overlap, 1e-3)}; not found by the search "
                f"{1e3 * self.unseen:.2g}" + ("" if coal else " (coal is not installed)"),
                f"beyond limits, largest of a scene, mrad or mm: {spread(self.beyond, 1e-3)}",
                f"rise of energy in a step, largest of a scene: {spread(self.rise, 1.0)}",
                f"and between any two instants: {spread(self.total, 1.0)}",
                *(f"{name}: {where}" for name, where in self.where.items()),
                *self.refused[:5],
            ]
        )


def lowest_points(x: Shape, R: Floats, at: Floats, down: Floats) -> float:
    """How far a shape reaches along a direction."""
    d, size = R.T @ down, x.size
    if x.kind == "sphere":
        far = size[0]
    elif x.kind == "capsule":
        far = size[0] + 0.5 * size[1] * abs(d[2])
    elif x.kind == "cylinder":
        far = size[0] * np.hypot(d[0], d[1]) + 0.5 * size[1] * abs(d[2])
    elif x.kind == "box":
        far = 0.5 * np.abs(d) @ size
    else:
        assert x.points is not None
        far = (x.points @ d).max()
    return float(far + at @ down)


def coal_shape(x: Shape) -> Any:
    if x.kind == "hull":
        points = coal.StdVec_Vec3s()
        for p in x.points:  # type: ignore[union-attr]
            points.append(p)
        return coal.Convex.convexHull(points, False, None)
    return getattr(coal, x.kind.capitalize())(*x.size)


class Judge:
    """Steps of a model with contacts, each of them judged. q and v are where it is."""

    def __init__(self, model: Model, q: Floats, v: Floats, contacts: Contacts, verdict: Verdict, name: str) -> None:
        self.model, self.q, self.v, self.verdict, self.name = model, q, v, verdict, name
        self.room, self.looking = (ContactRoom(model, NOTHING, contacts) for _ in range(2))
        self.bounces = any(x.restitution > 0 for x in self.room.shapes)
        self.overlap = self.beyond = self.rise = self.total = self.largest = 0.0
        self.lowest = np.inf  # of energies so far
        self.count, self.deepest, self.risen = 0, "", ""
        self._lifted = self._before = self._slowest = 0.0
        self._solid = [k for k, x in enumerate(self.room.shapes) if x.kind not in ("plane", "heights")]
        self._coal = {k: coal_shape(self.room.shapes[k]) for k in self._solid} if coal else {}
        n = len(self.room.shapes)
        apart = self.room.scene.apart[: self.room.scene.n_apart].tolist()
        self._apart = {(x // n, x % n) for x in apart}

    def run(self, duration: float, h: float) -> None:
        """Until the end, or until a step is refused."""
        for _ in range(round(duration / h)):
            try:
                self.step(h)
            except (Unsolved, SimulationError) as e:
                self.verdict.refused.append(f"{self.name}, step {self.count}: {e}")
                break
        self.verdict.scenes += 1
        for name in ("overlap", "beyond", "rise", "total"):
            x = getattr(self, name)
            if x > max(getattr(self.verdict, name), default=0.0):
                more = {"overlap": self.deepest, "rise": self.risen}.get(name)
                self.verdict.where[name] = self.name + (f": {more}" if more else "")
            getattr(self.verdict, name).append(x)

    def step(self, h: float) -> None:
        model, q, v = self.model, self.q, self.v
        kinetic, potential = self._energies(q, v)
        lifted = 0.0  # by moving apart what overlaps
        parts = self._take(h)
        if parts > 0:
            self.verdict.steps += 1
            self.verdict.parts += parts
            lifted = self._lifted
            self._judge_impulses()
            if parts == 1:
                self._judge_velocities(q, self._begun(v), h)
        else:
            self.verdict.flights += 1
        self.count += 1
        self._judge_places()
        now = self._energies(self.q, self.v)
        g = np.array(model.gravity)
        scale = kinetic + model.total_mass * float(g @ g) * h * h + 1e-12
        rise = (sum(now) - kinetic - potential - lifted) / scale
        if rise > self.rise:
            self.rise, self.risen = rise, f"step {self.count}"
        self.lowest, self.largest = min(self.lowest, kinetic + potential), max(self.largest, scale)
        self.total = max(self.total, (sum(now) - self.lowest) / self.largest)

    def _take(self, h: float) -> int:
        """A step. Returns its parts, 0 if nothing touched in it."""
        room, q, v = self.room, self.q, self.v
        if room.take(q, v, h, np.zeros(self.model.nv), None):
            self.q, self.v, self._lifted = room.q.copy(), room.v.copy(), room.landing.lifted
            self._before, self._slowest = room.landing.before, room.landing.slowest
            self.verdict.rough += room.landing.rough
            return int(room.landing.parts)
        final = supple.simulate(self.model, q, v, dt=h, duration=h).final
        self.q, self.v = final.q, final.v
        return 0

    def _energies(self, q: Floats, v: Floats) -> tuple[float, float]:
        """Of motion; and of gravity and the model's own springs."""
        model, at = self.model, layout(self.model)
        stretch = q[at.plain_q] - model.rest[at.plain_q]
        springs = 0.5 * float(model.stiffness[at.plain_v] @ stretch**2)
        return float(supple.kinetic_energy(model, q, v)), float(supple.potential_energy(model, q)) + springs

    def _judge_impulses(self) -> None:
        """They push, and friction is in its cone."""
        found = self.room.found
        lam, mu = found["lam"] + found["struck"], found["friction"]
        largest = np.abs(lam).max(initial=1e-300)
        self.verdict.note("pull", -lam[:, 0].min(initial=0.0) / largest, self.name)
        excess = np.hypot(lam[:, 1], lam[:, 2]) - np.where(found["kind"] == CONTACT, mu, 0.0) * lam[:, 0]
        self.verdict.note("cone", excess.max(initial=0.0) / largest, self.name)

    def _begun(self, v: Floats) -> Floats:
        """The velocities that a step of one part began with. v: those before it."""
        return v

    def _judge_velocities(self, q: Floats, v: Floats, h: float) -> None:
        """Touches where forces acted, half of the way or at the beginning of the step, with the velocities that it
        ended with, along the axes that bodies had there."""
        found, model, v1, before = self.room.found, self.model, self.v.copy(), self._before
        assert 0.0 <= before <= 0.5 * h
        q, _ = moved_on(model, q, v, before)
        for at, lin in zip(layout(model).free_q, layout(model).free_lin):
            turn = rotation_from_quaternion(q[at]).T @ rotation_from_quaternion(self.q[at])
            v1[lin] = turn @ v1[lin]
        P, motion = supple.poses(model, q).position, supple.velocities(model, q, v1)
        u = np.zeros((len(found), 3))
        for k, t in enumerate(found):
            if t["kind"] == LIMIT:
                u[k, 0] = t["n"][0] * v1[t["a"]]
                continue
            w = np.zeros(3)
            for shape, sign in ((t["shape"], 1.0), (t["other"], -1.0)):
                b = self.room.shapes[shape].body
                if b >= 0:
                    w += sign * (motion.linear[b] + np.cross(motion.angular[b], t["point"] - P[b]))
            u[k] = t["n"] @ w, t["t"] @ w, t["s"] @ w
        contact, lam = found["kind"] == CONTACT, found["lam"]
        mu = np.where(contact, found["friction"], 0.0)
        met = np.abs([found["before"], found["free"]]).max(initial=0.0) + float(np.linalg.norm(model.gravity)) * h
        self.verdict.note("differ", np.abs(u - found["u"])[contact].max(initial=0.0) / met, self.name)
        next_time = np.where((found["restitution"] > 0) & (found["free"][:, 0] < -self._slowest), 0.0, 0.5 * h)
        opens = u[:, 0] + np.maximum(found["gap"], 0.0) / (h - before + next_time)
        slip = np.where(mu > 0, np.hypot(u[:, 1], u[:, 2]), 0.0)
        pushes = lam[:, 0] * found["W"][:, 0]  # as a velocity
        # how far friction is from where it should be, given the slip, or the slip given friction, or it sticks
        t, size = lam[:, 1:], np.hypot(lam[:, 1], lam[:, 2])
        should = -(mu * lam[:, 0] / np.maximum(slip, 1e-300))[:, None] * u[:, 1:]
        wrong = found["W"][:, 0] * np.linalg.norm(t - should, axis=1)
        aside = np.linalg.norm(u[:, 1:] + (slip / np.maximum(size, 1e-300))[:, None] * t, axis=1)
        aside += found["W"][:, 0] * np.abs(mu * lam[:, 0] - size)
        slides = np.minimum(np.minimum(slip, wrong), aside)
        faults = [-opens, np.minimum(pushes, opens), slides]
        self.verdict.note("fault", max(x.max(initial=0.0) for x in faults) / met, self.name)

    def _judge_places(self) -> None:
        model, q = self.model, self.q
        found = self.looking.touching(q)
        contact = found[found["kind"] == CONTACT]
        deep = -contact["gap"].min(initial=0.0)
        if deep > self.overlap:
            t = contact[np.argmin(contact["gap"])]
            kinds = " on ".join(self.room.shapes[t[x]].kind for x in ("shape", "other"))
            self.deepest = f"{kinds}, step {self.count}"
        at = layout(model).plain_q
        out = np.maximum(model.lower[at] - q[at], q[at] - model.upper[at])
        self.overlap, self.beyond = max(self.overlap, deep), max(self.beyond, out.max(initial=0.0))
        if self.count % LOOK == 0:
            self._look_again(q, contact)

    def _look_again(self, q: Floats, found: NDArray[Any]) -> None:
        """Overlap by corners, and by coal."""
        shapes, place = self.room.shapes, supple.poses(self.model, q)
        known: dict[tuple[int, int], float] = {}
        for t in found:
            pair = (min(t["shape"], t["other"]), max(t["shape"], t["other"]))
            known[pair] = max(known.get(pair, 0.0), -t["gap"])
        where = {}
        for k in self._solid:
            x = shapes[k]
            R, p = (place.rotation[x.body], place.position[x.body]) if x.body >= 0 else (np.eye(3), np.zeros(3))
            where[k] = R @ x.rotation, p + R @ x.position
        for i, k in enumerate(self._solid):
            for l, plane in enumerate(shapes):
                if plane.kind == "plane" and shapes[k].body >= 0 and self._may(k, l):
                    down = -plane.rotation[:, 2]
                    deep = lowest_points(shapes[k], *where[k], down) - plane.position @ down
                    self._compare(deep, known, k, l)
            for l in self._solid[i + 1 :]:
                near = np.linalg.norm(where[k][1] - where[l][1]) < shapes[k].radius + shapes[l].radius
                if coal and near and self._may(k, l):
                    places = [coal.Transform3s(*where[x]) for x in (k, l)]
                    request, result = coal.DistanceRequest(), coal.DistanceResult()
                    deep = -coal.distance(self._coal[k], places[0], self._coal[l], places[1], request, result)
                    self._compare(deep, known, k, l)

    def _may(self, k: int, l: int) -> bool:
        a, b, parent = self.room.shapes[k].body, self.room.shapes[l].body, self.model.parent
        joined = a == b or (a >= 0 and b >= 0 and (parent[a] == b or parent[b] == a))
        return not joined and (min(k, l), max(k, l)) not in self._apart

    def _compare(self, deep: float, known: dict[tuple[int, int], float], k: int, l: int) -> None:
        self.overlap = max(self.overlap, deep)
        missed = deep - known.get((min(k, l), max(k, l)), 0.0)
        self.verdict.note("unseen", missed, f"{self.name}, step {self.count}: {k} and {l}")


class AdaptiveJudge(Judge):
    """The same of adaptive dynamics."""

    def __init__(self, body: AdaptiveDynamics, verdict: Verdict, name: str) -> None:
        assert body.contacts is not None and body._hybrid.touches is not None
        self.body = body
        super().__init__(body.model, body.q.copy(), body.v.copy(), body.contacts, verdict, name)
        self.room = body._hybrid.touches.room

    def _take(self, h: float) -> int:
        body, before = self.body, self.body.stats
        asleep = len(body.sleeping)
        body.step(h)
        self.q, self.v, struct, now = body.q.copy(), body.v.copy(), body._hybrid.memory.touching, body.stats
        self.verdict.rough += now.rough - before.rough
        self.verdict.relaxed += now.relaxed - before.relaxed
        self._lifted, self._before, self._slowest = struct.lifted, struct.before, struct.slowest
        if len(body.sleeping) == (body.model.parent < 0).sum() == asleep:
            return 0
        return int(struct.parts) if len(self.room.found) else 0

    def _begun(self, v: Floats) -> Floats:
        """Joints that were not chosen were stopped first."""
        scene, struct, out = self.room.scene, self.body._hybrid.memory.touching, np.zeros_like(v)
        active = scene.present[: scene.n_present]
        out[active] = struct.part_v[active]
        return out
