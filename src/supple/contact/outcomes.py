"""Outcomes of a step with contact, or of a part of one."""

from __future__ import annotations

DONE = 0
FLIGHT = 1  #: nothing can touch: the run's integrator takes the step
SINGULAR = 2  #: the mass matrix is singular
MORE_TOUCHES, MORE_ENTRIES, MORE_EQUATIONS = 3, 4, 5  #: not enough memory for these: allocate more, and try again
UNSOLVED = 6  #: no impulses were found to the tolerance
STRIKES = 7  #: a touch with restitution closes within the part, which has to end there
RELAXED = 8  #: solved, but only as a convex problem

FASTEST = 1e100  #: velocities beyond have no energy that could be judged


def words_for_unsolved(n: int, fault: float) -> str:
    """What an error says of an UNSOLVED part with n touches. fault: the residual, relative to the tolerance. If that is
    small enough, impulses were found, but velocities exceed FASTEST."""
    if fault <= 1.0:
        return "velocities have become too large for numbers"
    by = f": the residual is {fault:.3g} times the tolerance" if fault < 1e100 else ""
    return f"the forces of {n} contacts and limits could not be found{by}"
