"""All touches of an island at once, where all else failed: one convex problem after the other [Acary, Cadoux,
Lemaréchal and Malick 2011, A formulation of the linear discrete Coulomb friction problem via convex optimization].

The law is not convex because of the mu |u_t| that is added to u_n [interior.py]. With s in its place, held, lam
minimizes

    |Y^T lam|^2 / 2 + lam . (u_free + (bias + mu s) n)          over all cones of friction

which the method of interior.py solves from anywhere: u = 0, everything at rest, keeps its constraints. The first s is
zero [Anitescu 2006, Optimization-based simulation of nonsmooth rigid multibody dynamics], and the next is nearer to
|u_t| of the solution. Where that settles it is the law. With |u_t| itself it may go to and fro for ever between two
states of a touch: where s - |u_t| changes its sign, the next s of the touch is in between, where a line through both
is zero (regula falsi); where it does not, s goes on by a share of the way, which grows then, and has been halved
before.

Whatever s is, impulses push, friction is in its cone and against the slip, and lam . u = -(bias + mu s) lam_n takes
energy. What is missed is that u_n + bias is mu (|u_t| - s), and not zero, at a touch that slides: it parts, or closes,
at that velocity, which is the fault.
"""

from __future__ import annotations

from supple.contact.islands import touch_at
from supple.contact.solvers.circular import across
from supple.contact.solvers.interior import begin_inside, find_way, soften
from supple.contact.solvers.newton import from_nearby, take_best
from supple.contact.solvers.sweeps import prepare_z, worst_fault
from supple.spatial.compiler import helper, part

ROUNDS = 200  #: at most
TURNED, GOES_ON, FARTHEST = 0.5, 1.5, 2.0  #: factors of the share of the way, and the largest
BETWEEN = 0.1  #: of the way back, at least
POLISHED, TRIED = 4, 8  #: rounds between attempts by Newton's method, and by that of interior.py
SOLVED = 100.0  #: times the tolerance: what a convex problem may leave
NOT_FOUND = 1e300


@helper
def hold_none(scene):
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        touch.held, touch.way, touch.share = 0.0, 0.0, 1.0 / GOES_ON


@helper
def hold(scene):
    """s, nearer to |u_t|."""
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if touch.friction > 0.0:
            s, way = touch.held, across(touch.u) - touch.held
            if touch.way * way < 0.0:
                back = min(max(abs(way) / (abs(way) + abs(touch.way)), BETWEEN), 1.0 - BETWEEN)
                touch.share *= TURNED
                touch.held = s + back * (touch.held_before - s)
            else:
                touch.share = min(GOES_ON * touch.share, FARTHEST)
                touch.held = max(s + touch.share * way, 0.0)
            touch.held_before, touch.way = s, way


@helper
def keep_safe(scene):
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        touch.safe = touch.lam


@helper
def take_safe(scene):
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        touch.lam = touch.safe
    prepare_z(scene)
    return worst_fault(scene)


@part
def from_convex(scene, enough, tolerance, most):
    """Impulses of the present island, whose equations have room, until the worst fault is below the tolerance, by at
    most so many problems. Returns that of the best, which they are then, NOT_FOUND if none of the problems was solved;
    and the number of steps."""
    soften(scene, 0.0)
    hold_none(scene)
    steps, least = 0, NOT_FOUND
    for k in range(1, min(ROUNDS, most) + 1):
        begin_inside(scene, 1e300)
        left, more = find_way(scene, enough, tolerance, 1e300, 0.0, True)
        steps += more
        worst = take_best(scene)
        if left <= SOLVED * tolerance and worst < least:
            least = worst
            keep_safe(scene)
        hold(scene)
        if not worst <= tolerance and k % TRIED == 0:
            begin_inside(scene, worst)
            _, more = find_way(scene, enough, tolerance, worst, 0.0, False)
            worst, steps = take_best(scene), steps + more
        if not worst <= tolerance and k % POLISHED == 0:
            worst, more = from_nearby(scene, enough, worst)
            steps += more
        if worst <= tolerance:
            least = worst
            keep_safe(scene)
        if least <= tolerance:
            break
    return take_safe(scene) if least < NOT_FOUND else least, steps
