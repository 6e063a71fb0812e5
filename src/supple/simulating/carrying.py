"""Forces given for a run's first model, applied to another model that an event has substituted: usually the same bodies
with another root.

Bodies and joints are identified by name.

- A body keeps its axes, but its origin may move (Model.origin): points on it are relative to the new one.
- A joint between two bodies stays the same whichever of them is the child. Reversed, it keeps its coordinates; the two
  of a universal joint change places. Forces at ball, planar and free joints are along the axes of the body that used to
  be the child, so in the coordinates of the reversed joint they rotate with it.
- A joint on the world stays the same as long as its body, its type and its placement do. Otherwise it is gone, and
  forces that act there are refused.
- Pairs of bodies or shapes that never touch are named, too; those of which one is gone are left out.
- A function (state) or (time, q, v, model) receives the model. A function of (time, q, v) alone is refused if q and v
  no longer mean what they meant at the beginning.

O(n) when the model changes; no cost per step, except for forces that rotate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.contact.settings import Contacts
from supple.errors import StateError
from supple.integrating.model_law import Actuation
from supple.model.joints import SWAPS
from supple.model.model import Model, Named
from supple.rerooting.reversal import TOGETHER, Together
from supple.simulating.forces import Controller, Controls, Limits, OnBody, SpringBetween, joint_forces
from supple.simulating.functions import ARRAYS, FUNCTION, Force, form_of, told
from supple.simulating.state import name_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GONE = -2  #: index of something that does not exist; the world is -1
SAME = 1e-9  #: distance up to which two placements on the world count as the same: metres, or relative


def carried(first: Model, model: Model, forces: Sequence[Any], tau: Any) -> tuple[list[Any], ArrayLike | Force | None]:
    """The forces and tau of a run that began with one model, for its current model."""
    to = Carrying(first, model)
    out = [to.force(x) for x in forces]
    if callable(tau):
        return out, to.function(tau)
    if tau is None or model is first:
        return out, tau
    values = joint_forces(first, tau)
    return out + to.turning(values), to.torques(values)


def carried_contacts(first: Model, model: Model, contacts: Contacts | None) -> Contacts | None:
    """Those settings for its current model: pairs `apart` of which a body or shape is gone mean nothing any more."""
    if contacts is None or model is first:
        return contacts
    gone = {*first.bodies, *first.shapes} - {*model.bodies, *model.shapes}
    return replace(contacts, apart=[pair for pair in contacts.apart if gone.isdisjoint(pair)])


class Carrying:
    """From one model to another."""

    def __init__(self, first: Model, model: Model) -> None:
        self.first, self.model = first, model

    def force(self, force: Any) -> Any:
        """The same force, for the other model."""
        if self.model is self.first and not callable(force) and not isinstance(force, Controls):
            return force
        if isinstance(force, OnBody):
            return self._at_its_point(force)
        if isinstance(force, Controller):
            return self._at_its_joint(force)
        if isinstance(force, Limits) and force.joints is not None:
            advice = "name joints that stay, or leave `joints` out, for all that have limits"
            return replace(force, joints=[self._joint(j, "Limits at", advice)[0] for j in force.joints])
        if isinstance(force, Controls):
            return self._same_controls(force)
        return self.function(force) if callable(force) else force

    def function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if form_of(function) != ARRAYS:
            return told(function, self.model)
        if not self._means_the_same:
            raise StateError(
                f"force {name_of(function)!r} is a function (time, q, v), written for the model "
                "that the run began with; an event changed the model, and q and v now mean something else: make it "
                f"{FUNCTION}"
            )
        return function

    def torques(self, tau: Floats) -> Floats:
        """(nv,) the joint forces, except those that rotate."""
        joints = np.unique(self.first.dof_body[np.flatnonzero(tau)])
        gone = joints[~(self._stays | self._reversed)[joints]]
        if len(gone):
            advice = f"let tau be zero there, or make it {FUNCTION}"
            raise self._is_gone(int(gone[0]), "tau has a force at", advice)
        return self.kept(tau)

    def kept(self, tau: Floats) -> Floats:
        """(nv,) the joint forces at joints that are still there, except those that rotate."""
        there = (self._stays | self._reversed) & ~self._turns
        dof = np.flatnonzero((tau != 0.0) & there[self.first.dof_body])
        joint = self.first.dof_body[dof]
        place = dof - self.first.v_index[joint]
        swaps = self._reversed[joint] & np.array(SWAPS)[self.first.joint_type[joint]]
        out = np.zeros(self.model.nv)
        out[self.model.v_index[self._joints[joint]] + np.where(swaps, 1 - place, place)] = tau[dof]
        return out

    def turning(self, tau: Floats) -> list[Force]:
        """Forces along the axes of a body that is no longer the child of its joint, as functions; empty if there are
        none."""
        driven = np.zeros(self.first.n_joints, dtype=bool)
        driven[self.first.dof_body[np.flatnonzero(tau)]] = True
        joints = np.flatnonzero(driven & self._turns)
        return [Turning(self.first, self.model, joints, self._joints[joints], tau)] if len(joints) else []

    def _at_its_point(self, force: OnBody) -> OnBody:
        what = f"{type(force).__name__} on"
        body, point = self._same_point(force.body, force.point, what)
        if not isinstance(force, SpringBetween):
            return replace(force, body=body, point=point)
        other, there = self._same_point(force.other, force.other_point, what)
        return replace(force, body=body, point=point, other=other, other_point=there)

    def _same_point(self, body: str | int, point: Any, what: str) -> tuple[str | int, Any]:
        """A body, or a frame, and a point in its frame, in the current model."""
        place = self.first.moving_place(body)
        if isinstance(body, str) and body not in self.first.bodies:  # a frame is where the model has it
            if body not in self.model.frames:
                raise self._has_no("frame", body, what)
            return body, point
        if place.name not in self.model.bodies:
            raise self._has_no("body", place.name, what)
        now = self.model.body_index(place.name)
        return now, point + self.first.origin[place.body] - self.model.origin[now]

    def _same_controls(self, force: Controls) -> Controls:
        """Actuators are identified by name, too."""
        if callable(force.values):
            return Controls(self.function(force.values))
        if isinstance(force.values, Mapping) or self.model is self.first:
            return force
        values = Actuation(self.first).controls(force.values).tolist()
        return Controls({name: x for name, x in zip(self.first.actuators, values) if x})

    def _at_its_joint(self, force: Controller) -> Controller:
        joint, turned = self._joint(force.joint, "Controller at", f"use {FUNCTION}")
        if not (turned and SWAPS[self.model.joint_type[joint]]):
            return replace(force, joint=joint)
        target, rate = (np.asarray(x)[::-1] for x in (force.target, force.rate))
        return replace(force, joint=joint, target=target, rate=rate)

    def _joint(self, key: str | int, what: str, advice: str) -> tuple[int, bool]:
        """The current index of a joint, and whether it is reversed."""
        old = self.first.joints[key].index  # type: ignore[index]
        if not (self._stays[old] or self._reversed[old]):
            raise self._is_gone(old, what, advice)
        return int(self._joints[old]), bool(self._reversed[old])

    def _has_no(self, kind: str, name: str, what: str) -> StateError:
        return StateError(
            f"{what} {kind} {name!r}: the model that an event gave has no {kind} of that name; keep it there, or use "
            + FUNCTION
        )

    def _is_gone(self, joint: int, what: str, advice: str) -> StateError:
        name, up = self.first.joint_names[joint], int(self.first.parent[joint])
        ends = [self.first.body_names[joint], "the world" if up < 0 else f"body {self.first.body_names[up]!r}"]
        again = ", and the joint that now has its name is another" if name in self.model.joints else ""
        return StateError(
            f"{what} joint {name!r}, which is gone since an event changed the model: it joined body {ends[0]!r} to "
            f"{ends[1]}{again}; {advice}"
        )

    # --- which parts are which; by the numbers that bodies and joints have in the first model -------------------------

    @cached_property
    def _bodies(self) -> Ints:
        return _numbers(self.first.body_names, self.model.bodies)

    @cached_property
    def _joints(self) -> Ints:
        return _numbers(self.first.joint_names, self.model.joints)

    @cached_property
    def _ends(self) -> tuple[NDArray[np.bool_], Ints, Ints]:
        """Whether there is a joint of the same name and type; the parent of the body that the joint moved, and of the
        one that it moves, by their current indices."""
        now = np.maximum(self._joints, 0)
        there = (self._joints >= 0) & (self.model.joint_type[now] == self.first.joint_type)
        up = np.where(self.first.parent < 0, -1, self._bodies[self.first.parent])
        return there, up, self.model.parent[now]

    @cached_property
    def _stays(self) -> NDArray[np.bool_]:
        """Whether a joint still exists unchanged."""
        there, up, parent = self._ends
        out: NDArray[np.bool_] = there & (self._bodies == self._joints) & (up == parent)
        tops = np.flatnonzero(out & (self.first.parent < 0))
        ours, theirs = _placement(self.first, tops), _placement(self.model, self._joints[tops])
        out[tops] = np.isclose(ours, theirs, rtol=SAME, atol=SAME).all(axis=1)
        return out

    @cached_property
    def _reversed(self) -> NDArray[np.bool_]:
        there, up, parent = self._ends
        return np.asarray(there & (self._bodies == parent) & (up == self._joints))

    @cached_property
    def _turns(self) -> NDArray[np.bool_]:
        """Whether forces at a joint are along axes that rotate in its current coordinates."""
        return np.asarray(self._reversed & np.isin(self.first.joint_type, TOGETHER))

    @cached_property
    def _means_the_same(self) -> bool:
        """Whether q, v, tau and wrenches mean the same for both models."""
        if self.model is self.first:
            return True
        here = np.arange(self.first.n_bodies)
        if self.model.n_bodies != len(here) or not (self._bodies == here).all() or not (self._joints == here).all():
            return False
        return bool(self._stays.all()) and np.allclose(self.first.origin, self.model.origin, rtol=SAME, atol=SAME)


class Turning:
    """Constant forces at ball, planar or free joints that are now reversed: a function (time, q, v) -> tau.

    first, model: before and now. old, now: the indices of the joints there. tau: for the first model."""

    def __init__(self, first: Model, model: Model, old: Ints, now: Ints, tau: Floats) -> None:
        self._tau, self._sizes = tau, (first.nq, model.nv)
        kinds = first.joint_type[old]
        groups = [(kind, kinds == kind) for kind in TOGETHER if (kinds == kind).any()]
        self._ways = [
            (Together.of(kind, model, first, now[some], old[some], model.neutral()),
             Together.of(kind, first, model, old[some], now[some], first.neutral()))
            for kind, some in groups
        ]  # fmt: skip

    def __call__(self, time: float, q: Floats, v: Floats) -> Floats:
        nq, nv = self._sizes
        was, out = np.zeros(nq), np.zeros(nv)
        for back, forth in self._ways:
            back.at(q).position(q, was)
            forth.at(was).force(self._tau, out)
        return out


def _numbers(names: Sequence[str], parts: Named[Any]) -> Ints:
    """The index of each name, GONE if it does not exist."""
    at = {name: i for i, name in enumerate(parts)}
    return np.array([at.get(name, GONE) for name in names], dtype=np.int64)


def _placement(model: Model, joints: Ints) -> Floats:
    """(k, 22) the placement of joints on the world: their axes and pitch, their placement there and on their bodies."""
    wide = (model.position, model.rotation.reshape(-1, 9), model.axis, model.axis2, model.origin)
    return np.concatenate([x[joints] for x in wide] + [model.pitch[joints, None]], axis=1)
