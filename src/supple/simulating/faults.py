"""By how much the steps of a run miss what contacts promise (docs/algorithms/contact.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from supple.model.model import count
from supple.record.index import is_number
from supple.spatial.held import Held


@dataclass(frozen=True)
class ContactFaults:
    """result.about["contact_faults"] has these of a run with contacts, by name."""

    #: Parts of steps that stand although they end with more overlap or energy than they may, because they are as short
    #: as they get.
    rough: int = 0
    overlap: float = 0.0  #: the largest in them, metres, or radians of joints beyond their limits; 0 if it is allowed
    energy: float = 0.0  #: the most that one added, relative to T + m g^2 h^2; 0 if it is allowed
    relaxed: int = 0  #: parts of adaptive steps that miss the law by more than Contacts.tolerance
    fault: float = 0.0  #: the largest velocity by which they do, m/s

    @classmethod
    def of(cls, landing: Held) -> ContactFaults:
        """Those of the last step."""
        return cls(int(landing.rough), float(landing.deepest), float(landing.gained))

    def __add__(self, more: ContactFaults) -> ContactFaults:
        """With those of further steps."""
        overlap, energy, fault = (max(getattr(self, x), getattr(more, x)) for x in ("overlap", "energy", "fault"))
        return ContactFaults(self.rough + more.rough, overlap, energy, self.relaxed + more.relaxed, fault)

    def save(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def restored(cls, saved: Any) -> ContactFaults | None:
        """From what was saved; None if it is nothing of the kind."""
        names = {f.name for f in fields(cls)}
        good = isinstance(saved, Mapping) and saved.keys() == names
        if not (good and all(is_number(x) and x >= 0 for x in saved.values())):
            return None
        return cls(**saved) if all(type(saved[name]) is int for name in ("rough", "relaxed")) else None

    def __str__(self) -> str:
        """In words; empty if there are none."""
        said = []
        if self.rough:
            more = [f"overlap up to {1e3 * self.overlap:.2g} mm or mrad"] if self.overlap > 0.0 else []
            more += [f"gaining up to {100 * self.energy:.2g}% of the kinetic energy"] if self.energy > 0.0 else []
            said.append(f"{count(self.rough, 'part')} of steps above tolerance ({', '.join(more)})")
        if self.relaxed:
            by = f"by up to {self.fault:.2g} m/s"
            said.append(f"{count(self.relaxed, 'part')} of steps violating the contact law, {by}")
        return "; ".join(said)
