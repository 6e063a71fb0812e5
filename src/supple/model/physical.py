"""What no real body is, and what cannot be simulated: unphysical inertias, and joints that move nothing.

ModelBuilder refuses both, or reports them. A model that was made with such a thing keeps it when it is copied, stored
or changed elsewhere; nothing new of the kind is accepted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import ModelError
from supple.model.geometry import frames_along
from supple.model.joints import AXES, DIRECTIONS, KINDS, JointType
from supple.model.report import Remark, Report

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Moments may violate the triangle inequality by this fraction of the largest one: the rounding of printed numbers.
TRIANGLE_SLACK = 1e-5
#: And by this one in bodies that were merged: such violations add up, and the largest moment of a sum is at least two
#: thirds of the sum of those of its parts.
MERGED_SLACK = 2.0 * TRIANGLE_SLACK

UNPHYSICAL, SINGULAR = "unphysical inertia", "singular"  #: the subjects of remarks
_MOMENTS = ": no real body has principal moments of inertia "
_WHY = "(none may be negative or exceed the sum of the other two)"
_PRINTED = 1e-3  #: within which printed moments are the same
_UNTIL = "; until then forward dynamics raises SingularError"


def unphysical(names: Sequence[str], I: Floats, slack: float) -> dict[str, Floats]:
    """The principal moments of bodies ("body 'x'") where one is negative or larger than the sum of the others."""
    suspects = np.flatnonzero(_suspicious(I, slack))
    w = np.linalg.eigvalsh(I[suspects])
    most = slack * w[:, 2]
    bad = (w[:, 0] < -most) | (w[:, 0] + w[:, 1] < w[:, 2] - most) | (w[:, 2] <= 0)
    return {f"body {names[i]!r}": m for i, m in zip(suspects[bad].tolist(), w[bad])}


def _suspicious(I: Floats, slack: float) -> Flags:
    """Those that may be unphysical: all others have a positive definite tr(I)/2 - I, within the slack. O(n), without
    eigenvalues."""
    size = np.abs(I).max(axis=(1, 2), initial=0.0)
    half = 0.5 * np.trace(I, axis1=1, axis2=2) + 0.5 * slack * size
    x, y, z = (half - I[:, i, i] for i in range(3))
    a, b, c = I[:, 1, 2], I[:, 0, 2], I[:, 0, 1]
    minor = x * y - c * c
    det = z * minor - x * a * a - y * b * b - 2.0 * a * b * c
    return np.asarray((size > 0) & ~((x > 0) & (minor > 0) & (det > 0)))


def unphysical_remarks(found: Mapping[str, Floats], how: str, end: str = "; used as given") -> list[Remark]:
    """What is said of these; how: "refuse" or "report" them."""
    messages = [f"{who}{_MOMENTS}{m[0]:.4g}, {m[1]:.4g}, {m[2]:.4g} {_WHY}" for who, m in found.items()]
    if messages and how == "refuse":
        raise ModelError(f"{messages[0]}; about the centre of mass? (build(unphysical_inertia='report') keeps it)")
    return [Remark(UNPHYSICAL, message + end) for message in messages]


def merged_remarks(names: Sequence[str], I: Floats, remarks: Sequence[Remark]) -> list[Remark]:
    """What is said besides of bodies that are unphysical with those on fixed joints."""
    known = Troubles.reported(Report(None, tuple(remarks)))
    found = unphysical(names, I, MERGED_SLACK)
    new = {who: m for who, m in found.items() if not known.has(who, m)}
    return unphysical_remarks(new, "report", "; with all that is fixed to it")


def singular_messages(names: Sequence[str], a: Mapping[str, Any]) -> list[str]:
    """What is said of bodies whose joint moves nothing in some direction: every degree of freedom must move something,
    since a branch without inertia makes the mass matrix singular. a: the arrays of a model."""
    n = len(names)
    heavy = (a["mass"] > 0) | (np.abs(a["inertia"]).max(axis=(1, 2)) > 0)
    count = np.concatenate([[0], np.cumsum(heavy)])
    empty = count[a["subtree_end"]] == count[:n]
    nv = np.diff(np.append(a["v_index"], len(a["armature"])))
    body = np.repeat(np.arange(n), nv)
    idle = np.unique(body[empty[body] & (a["armature"] == 0)])
    leaves = np.flatnonzero(a["subtree_end"] == np.arange(1, n + 1))
    I = a["inertia"][leaves]
    thin = np.linalg.eigvalsh(I)[:, 0] <= 1e-14 * np.abs(I).max(axis=(1, 2))
    suspects = np.setdiff1d(leaves[thin], idle)
    flat = suspects[~_leaves_regular(suspects, a)]
    return [
        f"body {names[i]!r} and everything beyond it has no mass: its joint would move nothing and the mass matrix be "
        "singular; give it mass, give the joint armature, or make the joint fixed"
        for i in idle.tolist()
    ] + [
        f"body {names[i]!r} has no inertia about its joint's axis: the mass matrix would be singular; give it inertia, "
        "give the joint armature, or make the joint fixed"
        for i in flat.tolist()
    ]


def singular_remarks(messages: Sequence[str], how: str) -> list[Remark]:
    """What is said of these; how: "refuse" or "report" them."""
    if messages and how == "refuse":
        raise ModelError(messages[0])
    return [Remark(SINGULAR, message + _UNTIL) for message in messages]


def _leaves_regular(leaves: Ints, a: Mapping[str, Any]) -> Flags:
    """Whether the mass matrix of each of these alone, S^T I S + armature, is positive definite."""
    out = np.ones(len(leaves), dtype=bool)
    kinds = a["joint_type"][leaves]
    for kind in np.unique(kinds).tolist():
        of = kinds == kind
        i = leaves[of]
        S = joint_motions(JointType(kind), a["axis"][i], a["axis2"][i], a["pitch"][i])
        armature = a["armature"][a["v_index"][i][:, None] + np.arange(S.shape[2])]
        I = _spatial(a["mass"][i], a["com"][i], a["inertia"][i])
        H = S.transpose(0, 2, 1) @ I @ S
        diagonal = np.arange(S.shape[2])
        H[:, diagonal, diagonal] += armature
        # An upper bound over all directions of such a motion; where the exact value is zero, rounding leaves a fraction
        # of it.
        largest = np.einsum("nij,nij->nj", S, S) * np.abs(I).max(axis=(1, 2))[:, None] + armature
        d = H[:, diagonal, diagonal]
        good = (d > 1e-14 * largest).all(axis=1)
        scale = np.sqrt(np.where(good[:, None], d, 1.0))
        out[of] = good & (np.linalg.eigvalsh(H / (scale[:, :, None] * scale[:, None, :]))[:, 0] > 1e-13)
    return out


def _spatial(m: Floats, c: Floats, I: Floats) -> Floats:
    """(n, 6, 6) spatial inertias about the origins, angular first."""
    C, out = np.zeros((len(m), 3, 3)), np.zeros((len(m), 6, 6))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        C[:, k, j], C[:, j, k] = c[:, i], -c[:, i]
    mC = m[:, None, None] * C
    out[:, :3, :3] = I + mC @ C.transpose(0, 2, 1)
    out[:, :3, 3:], out[:, 3:, :3] = mC, mC.transpose(0, 2, 1)
    out[:, 3:, 3:] = m[:, None, None] * np.eye(3)
    return out


def joint_motions(kind: JointType, axis: Floats, axis2: Floats, pitch: Floats) -> Floats:
    """(n, 6, nv) the motions that joints of a kind allow at their neutral position, angular first, in the body's
    frame."""
    motions = np.zeros((len(axis), 6, 6))
    motions[:, :3, :3] = motions[:, 3:, 3:] = frames_along(np.full(len(axis), AXES[kind]), axis, axis2)
    out = motions[:, :, [DIRECTIONS.index(x) for x in KINDS[kind].allowed.split()]]
    if KINDS[kind].pitched:
        out[:, 3:] += pitch[:, None, None] * out[:, :3]
    return out


@dataclass(frozen=True)
class Troubles:
    """The moments of bodies that are unphysical (several, where they were merged); and what is said of bodies that are
    singular."""

    unphysical: Mapping[str, Sequence[Floats]]
    singular: frozenset[str]

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Troubles:
        """Those that the fields of a model have."""
        names = fields["body_names"]
        moments = {who: [m] for who, m in unphysical(names, fields["inertia"], MERGED_SLACK).items()}
        return cls(moments, frozenset(singular_messages(names, fields)))

    @classmethod
    def reported(cls, report: Report) -> Troubles:
        """Those that a report tells."""
        moments: dict[str, list[Floats]] = {}
        for who, _, rest in (x.message.partition(_MOMENTS) for x in report.about(UNPHYSICAL)):
            moments.setdefault(who, []).append(_numbers(rest.partition(" (")[0]))
        return cls(moments, frozenset(x.message.removesuffix(_UNTIL) for x in report.about(SINGULAR)))

    def has(self, who: str, m: Floats) -> bool:
        """Whether this body is unphysical, with the same moments up to their printing."""
        most = _PRINTED * np.abs(m).max()
        return any(np.abs(known - m).max() <= most for known in self.unphysical.get(who, ()))

    def refuse_beyond(self, known: Troubles) -> None:
        """Refuse those that are not known."""
        unphysical_remarks({who: m[0] for who, m in self.unphysical.items() if not known.has(who, m[0])}, "refuse")
        singular_remarks(sorted(self.singular - known.singular), "refuse")

    def still_reported(self, report: Report, before: Troubles) -> Report:
        """A report without those that were there before and are gone."""
        gone = {*(before.unphysical.keys() - self.unphysical.keys()), *(before.singular - self.singular)}
        left = (x for x in report if not gone & {x.message.partition(_MOMENTS)[0], x.message.removesuffix(_UNTIL)})
        return Report(report.source, tuple(left))


def _numbers(text: str) -> Floats:
    """Three printed numbers; somebody else's remark may have none."""
    try:
        return np.array([float(x) for x in text.split(", ")]).reshape(3)
    except ValueError:
        return np.full(3, np.nan)
