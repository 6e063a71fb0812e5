"""Impulses with restitution, at one instant.

Of the touches that are closed, those that approach each other bounce: u_n becomes -e u_n, with friction, and the others
wait. That may make others approach, which bounce next, until none does: bodies in a row hand on what hits them, as
Newton's cradle does [Smith and others 2012, Reflections on simultaneous impact]. Approaches slower than a bounce that
gravity would undo within a step are left to the step, which has no restitution.

With friction, this rule may add energy [Kane and Levinson 1985]. The work of a round is

    lam . (u before + u after) / 2

summed over touches: if it is positive, beyond rounding, the round is repeated with half the restitution, at last with
none, which only takes energy. Nor need there be impulses that let everything bounce, as where what bounces is held by
the limit of a joint: these are found with less restitution, too.
"""

from __future__ import annotations

from supple.contact.response.rows import answer
from supple.contact.solvers.solving import solve_touches
from supple.spatial.algebra import Vec3, dot
from supple.spatial.compiler import helper

ROUNDS = 400
CLOSED = 1e-3  #: gaps up to this share of scene.length are none
SOFTER = 6  #: times that restitution is halved before it is none
ROUNDING = 1e-12  #: of the energies that an impulse exchanges


@helper
def closed(scene, touch):
    return touch.gap <= CLOSED * scene.length


@helper
def approaching(scene, slowest, relative, slow):
    """Lets those take part that are closed and approach, by more than what solvers leave of a velocity; returns whether
    any of them bounces."""
    bounces = False
    for k in range(scene.n):
        touch = scene.touches[k]
        touch.active = 1 if closed(scene, touch) and touch.free.x < -relative * (touch.speed + slow) else 0
        touch.lam = Vec3(0.0, 0.0, 0.0)
        if touch.active and touch.restitution > 0.0 and touch.free.x < -slowest:
            bounces = True
    return bounces


@helper
def bounce(scene, slowest, softer, most, relative, slow):
    """One round. Returns the worst fault, relative to the tolerance, and the work."""
    for k in range(scene.n):
        touch = scene.touches[k]
        touch.bias = 0.0
        touch.lam = Vec3(0.0, 0.0, 0.0)
        if touch.active and touch.free.x < -slowest:
            touch.bias = softer * touch.restitution * touch.free.x
    worst = solve_touches(scene, most, relative, slow, softer == 0.0)
    work = 0.0
    for k in range(scene.n):
        touch = scene.touches[k]
        if touch.active:
            work += 0.5 * dot(touch.lam, touch.free + touch.u) + ROUNDING * dot(touch.lam, touch.free)
    return worst, work


@helper
def bounce_all(scene, slowest, share, most, relative, slow):
    """Rounds until nothing bounces; `free` is where the velocities at touches are then, and `total` the sum of z.
    share: of the restitution, at most. relative, slow: the tolerance [solving.py]. Returns the worst fault of a round,
    relative to the tolerance, -1 if there is no room, and how many rounds there were."""
    worst, rounds = 0.0, 0
    for i in range(scene.n_present):
        scene.total[scene.present[i]] = 0.0
    while rounds < ROUNDS and approaching(scene, slowest, relative, slow):
        softer, fault, work = share, 0.0, 1.0
        for attempt in range(SOFTER + 1):
            fault, work = bounce(scene, slowest, softer, most, relative, slow)
            if fault < 0.0:
                return fault, rounds
            if work <= 0.0 and fault <= 1.0:
                break
            softer = 0.5 * softer if attempt + 1 < SOFTER else 0.0
        worst = max(worst, fault)
        for i in range(scene.n_present):
            scene.total[scene.present[i]] += scene.z[scene.present[i]]
        for k in range(scene.n):
            touch = scene.touches[k]
            touch.free = touch.free + answer(scene, touch)
            touch.struck = touch.struck + touch.lam
        rounds += 1
    return worst, rounds
