"""The result of a run: states over time, in segments of one model each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.measures import said
from supple.arguments import Whole, checked, take, whole
from supple.errors import StateError, printable, quoted
from supple.model.clip import Arrows
from supple.model.model import Model, count, span
from supple.simulating.contacts import Contact, contact_arrows, contacts_from
from supple.simulating.events import Happened
from supple.simulating.faults import ContactFaults
from supple.simulating.names import error_name, measure_of, one_of_progress, progress_unit, when, whole_steps
from supple.simulating.sleeping import asleep
from supple.simulating.state import State

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_ARROWS = 2000  #: states of which forces of contacts are drawn
Library = Literal["pandas", "polars"]


class Segment(Protocol):
    """States of one model, between two events that changed the state or the model; in memory, or in a recording."""

    @property
    def model(self) -> Model: ...
    @property
    def times(self) -> Floats: ...
    @property
    def q(self) -> Floats: ...
    @property
    def v(self) -> Floats: ...
    @property
    def kinetic(self) -> Floats: ...
    @property
    def potential(self) -> Floats: ...
    @property
    def error(self) -> Floats | None: ...
    @property
    def joint_wrenches(self) -> Floats | None: ...
    @property
    def joint_forces(self) -> Floats | None: ...
    @property
    def active_counts(self) -> Ints | None: ...
    def active_joints(self, i: int) -> Ints | None: ...
    def touches_at(self, i: int) -> Floats | None: ...
    def __len__(self) -> int: ...


@dataclass(frozen=True, eq=False, repr=False)
class SegmentInMemory:
    """A segment in memory."""

    model: Model
    times: Floats
    q: Floats
    v: Floats
    kinetic: Floats
    potential: Floats
    error: Floats | None
    joint_wrenches: Floats | None
    active_sets: Sequence[Ints] | None
    joint_forces: Floats | None = None  #: (k, 3, nv) applied, passive, pushed
    touches: Sequence[Floats] | None = None  #: rows of contact/room.py

    def __repr__(self) -> str:
        return f"<Segment of {quoted(self.model.name)}: {count(len(self), 'state')}{span(self.times)}>"

    def __len__(self) -> int:
        return len(self.times)

    @property
    def active_counts(self) -> Ints | None:
        return None if self.active_sets is None else np.array([len(x) for x in self.active_sets], dtype=np.int64)

    def active_joints(self, i: int) -> Ints | None:
        return None if self.active_sets is None else self.active_sets[i]

    def touches_at(self, i: int) -> Floats | None:
        return None if self.touches is None else self.touches[i]


class Result:
    """The states of a run: r.times, r.q, r.v, r.energy; r[i] is a State, r.plot() a picture.

    Where events changed the state or the model, r.segments has a part for each stretch between them; the instant of
    such a change appears twice, before and after. r.events lists what happened when.
    """

    def __init__(self, segments: Sequence[Segment], events: Sequence[Happened], about: dict[str, Any],
                 recording: str | None = None, file: Any = None, rods: Floats | None = None,
                 forces: Sequence[Any] = (), ground: Floats | None = None, others: Sequence[str] = (),
                 arrows: Arrows | None = None) -> None:  # fmt: skip
        self.segments, self.events, self.about, self.recording = tuple(segments), tuple(events), about, recording
        self.rods = rods  #: (n_bodies, 2, 3) points between which the bodies of the first model are drawn, if known
        self.forces = tuple(forces)  #: what acted, as far as it is known: of a recording, every Push and Spring
        self.ground = ground  #: (4,) normal and height of a plane on which bodies stand, if known
        self.others = tuple(others)  #: in words, the kinds of forces that acted beside pushes and springs
        self._arrows = arrows
        self._file = file  #: kept open while it is being read

    def close(self) -> None:
        """Close the recording that it reads, if any."""
        if self._file is not None:
            self._file.close()

    def __len__(self) -> int:
        return sum(map(len, self.segments))

    def __getitem__(self, i: int) -> State:
        n, i = len(self), take("the number of a state", i, whole())
        if not -n <= i < n:
            raise IndexError(f"there is no state {i}: there are {n}")
        k = i % n
        for s in self.segments:
            if k < len(s):
                error, active = None if s.error is None else float(s.error[k]), s.active_joints(k)
                sleeping = asleep(self.about, s.model, active)
                return State(float(s.times[k]), s.q[k], s.v[k], s.model, active, error, sleeping)
            k -= len(s)
        raise AssertionError

    def __iter__(self) -> Iterator[State]:
        return (self[i] for i in range(len(self)))

    @cached_property
    def arrows(self) -> Arrows | None:
        """Arrows to draw: those of a captured motion, or contact forces, for up to two thousand states."""
        if self._arrows is not None or not self.about.get("shapes") or not len(self):
            return self._arrows
        which = np.unique(np.linspace(0, len(self) - 1, min(len(self), MOST_ARROWS)).astype(np.int64))
        which = which[np.append(np.diff(self.times[which]) > 0, True)]
        return contact_arrows(self.times[which], [self.contacts(int(i)) for i in which])

    @checked
    def contacts(self, i: Annotated[int, whole()]) -> list[Contact]:
        """The contacts of state i, in a run with contacts: each has the names of two shapes (shape, other) and of their
        bodies (body, other_body), gap, point, normal, force and slip; see supple.Contact. Forces are averages over the
        step that led to the state: times the step size, they add up to the change of momentum. Points between the same
        two shapes share a force evenly, where that is possible. The initial state has none."""
        n, names = len(self), self.about.get("shapes")
        if not -n <= i < n:
            raise IndexError(f"there is no state {i}: there are {n}")
        k = i % n
        for s in self.segments:
            if k < len(s):
                rows = s.touches_at(k)
                return [] if rows is None or not isinstance(names, list) else contacts_from(rows, names, s.model)
            k -= len(s)
        raise AssertionError

    @property
    def model(self) -> Model:
        """The model at the end."""
        return self.segments[-1].model

    @property
    def final(self) -> State:
        """The last state."""
        return self[-1]

    @property
    def times(self) -> Floats:
        """(k,) seconds; those of quasi-statics, sums of dt, are no time: see `progress`."""
        return self._all("times")

    @property
    def progress(self) -> Floats:
        """(k,) how far the run had come, in `progress_unit`: its times, or the numbers of quasi-static steps."""
        return self._counted(self.times)

    @property
    def progress_unit(self) -> str:
        """ "s", or "steps" of quasi-statics, which knows no time."""
        return progress_unit(self.about)

    @property
    def span(self) -> str:
        """From when to when it is, in words."""
        times = [s.times for s in self.segments if len(s)]
        if not times:
            return "empty"
        return f"{float(self._counted(times[0][:1])[0]):,.6g} to {when(float(times[-1][-1]), self.about)}"

    def _counted(self, times: Floats) -> Floats:
        """Times in `progress_unit`."""
        return times if self.progress_unit == "s" else whole_steps(times, self._each)

    @property
    def _each(self) -> float:
        """Of `times`, what counts as one of `progress`."""
        return one_of_progress(self.about)

    @property
    def q(self) -> Floats:
        """(k, nq)"""
        return self._all("q")

    @property
    def v(self) -> Floats:
        """(k, nv)"""
        return self._all("v")

    @property
    def kinetic(self) -> Floats:
        return self._all("kinetic")

    @property
    def potential(self) -> Floats:
        """Potential energy of gravity, springs, joint limits and constant pushes."""
        return self._all("potential")

    @property
    def energy(self) -> Floats:
        """(k,) kinetic and potential."""
        return self.kinetic + self.potential

    @property
    def error(self) -> Floats | None:
        """(k,) error of leaving out joints, in `measure`, by default a share of the motion: certified for quasi-statics
        and for adaptive dynamics with guaranteed=True; for other adaptive dynamics, at the last choice of active
        joints. None: nothing was left out."""
        return None if self.segments[0].error is None else self._all("error")

    @property
    def measure(self) -> str | None:
        """The measure of the error in words: "relative-joint acceleration", "absolute-linkage velocity [rad/s]"; None
        if there is none."""
        return None if self.segments[0].error is None else measure_of(self.about)

    def error_in_words(self) -> str:
        """The largest error with its name and unit; empty if there is none."""
        error, measure = self.error, self.measure
        if error is None or measure is None:
            return ""
        return f"{error_name(measure)} at most {said(float(error.max()), measure)}"

    @property
    def joint_wrenches(self) -> Floats | None:
        """(k, n_joints, 6) wrenches that the joints carry, if they were requested; contacts and joint limits included.
        Those of adaptive runs are of the whole body under the same forces, all of its joints free to move."""
        return None if self.segments[0].joint_wrenches is None else self._all("joint_wrenches")

    @property
    def applied(self) -> Floats | None:
        """(k, nv) the forces applied at the joints: tau, functions, controllers and actuators; None unless the run was
        told to keep them (joint_forces=True). They are those at each state's time, position and velocity.

        inverse_dynamics(model, q, v, a) = applied + passive + pushed, with a the accelerations there. The model's
        damping is on its left, in inverse_dynamics, as everywhere."""
        return self._forces(0)

    @property
    def passive(self) -> Floats | None:
        """(k, nv) the forces of the joints' own springs and dry friction, and of joint limits (supple.Limits, and those
        of runs with contacts); None as for `applied`."""
        return self._forces(1)

    @property
    def pushed(self) -> Floats | None:
        """(k, nv) forces on bodies, as forces at the joints: those of pushes, springs, contacts, and functions that
        return wrenches; None as for `applied`."""
        return self._forces(2)

    def _forces(self, part: int) -> Floats | None:
        return None if self.segments[0].joint_forces is None else self._all("joint_forces")[:, part]

    @property
    def active_counts(self) -> Ints | None:
        """(k,) how many joints an adaptive method computed."""
        return None if self.segments[0].active_counts is None else self._all("active_counts")

    def _all(self, name: str) -> NDArray[Any]:
        parts = [getattr(s, name) for s in self.segments]
        if len({p.shape[1:] for p in parts}) > 1:
            raise StateError(f"events changed the model: {name} is not one array; take it from result.segments")
        out: NDArray[Any] = np.asarray(parts[0]) if len(parts) == 1 else np.concatenate(parts)
        return out

    @checked
    def plot(self, path: str | Path | None = None, joints: Sequence[str] | None = None) -> Any:
        """Energies, coordinates, and the activity of an adaptive method, over time: a matplotlib figure, saved if a
        path is given. joints: by name; the first eight by default."""
        from supple.simulating.plot import plot

        return plot(self, path, joints)

    @checked
    def to_frame(
        self, library: Library | None = None, joints: Sequence[str] | None = None, segment: Whole | None = None
    ) -> Any:
        """A pandas or polars DataFrame with a row for each state: time (step, of quasi-statics), energies, the error
        and how many joints were active if the method is adaptive, then a column for each coordinate and velocity:
        q.knee, v.knee, q.hip[0]; and, if they were kept, for the forces at the joints: applied.knee, passive.knee,
        pushed.knee.

        library: "pandas" or "polars"; by default the first of them that is installed. joints: by name; all by default.
        Where events made segments, a column says which one a state is of; segment: only the states of one."""
        from supple.simulating.frame import to_frame

        return to_frame(self, library, joints, segment)

    @property
    def contact_faults(self) -> str:
        """By how much steps missed what contacts promise, in words; empty if they did not. about["contact_faults"] has
        the numbers."""
        return str(ContactFaults.restored(self.about.get("contact_faults")) or "")

    def __repr__(self) -> str:
        how = ", ".join(str(self.about[k]) for k in ("method", "integrator") if self.about.get(k))
        text = f"<Result of {quoted(self.model.name)}: {len(self)} states, {self.span}, {how}"
        if self._file is None and self.error is not None and len(self):
            text += f"; {self.error_in_words()}"
        if self.events:
            text += f"; {count(len(self.events), 'event')}"
        if self.contact_faults:
            text += f"; {self.contact_faults}"
        if self.about.get("stopped"):
            text += f"; {self.about['stopped']}"
        return printable(text + (f"; in {self.recording}>" if self.recording else ">"))

    def _repr_html_(self) -> str:
        """In notebooks: the same line, and energies, errors and events below it."""
        from supple.simulating.notebook import as_html

        return as_html(self)
