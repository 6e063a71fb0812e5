"""Linkages with closed loops: the benchmark problems A02 to A05 of the IFToMM's library of multibody problems
[Gonzalez, Dopico, Lugris and Cuadrado 2006], and a slider-crank.

    four-bar-chain   A02  passes through singular positions: flat on the ground, its rods could go on in many ways
    andrews          A03  Andrews' squeezer, seven small bodies within milliseconds [Hairer and Wanner 1996, VII.7]
    bricard          A04  overconstrained: six hinges in space, which move only because of where their axes are
    flyball          A05  a governor with rods as couplers, which close loops, or as there with stiff springs

Each is a Scene whose loops are closed.
"""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.acting import Spring, SpringBetween
from supple.arguments import Positive, checked
from supple.exact.assembling import close_loops, close_velocities
from supple.model.builder import ModelBuilder
from supple.model.model import Model
from supple.model.parents import room
from supple.scenes.scene import NO_PUSHES, Scene, Some

Floats = NDArray[np.float64]
Hinge = dict[str, Any]
Point = tuple[float, float]

ABOUT_Y: Hinge = dict(joint="continuous", axis=(0.0, 1.0, 0.0))
ABOUT_Z: Hinge = dict(joint="continuous", axis=(0.0, 0.0, 1.0))


def bar(length: Floats | tuple[float, ...], mass: float, width: float = 0.0) -> dict[str, Any]:
    """Mass, centre and inertia of a bar of square section, from the origin to a point."""
    to = np.asarray(length, dtype=float)
    d2, w2 = float(to @ to), width * width
    along = np.outer(to, to) / d2
    return dict(mass=mass, com=0.5 * to, inertia=mass / 12 * ((d2 + w2) * (np.eye(3) - along) + 2 * w2 * along))


def _scene(model: Model, q: Any, ends: Any, dt: float, v: Any = None, **more: Any) -> Scene:
    """The linkage at the position nearest to q in which it is closed. ends: of each body, from its origin."""
    q0 = close_loops(model, q)
    rods = np.zeros((model.n_bodies, 2, 3))
    rods[:, 1] = ends
    v0 = None if v is None else close_velocities(model, q0, v)
    return Scene(model, q0, NO_PUSHES, dt, rods, v0=v0, **{"duration": 10.0} | more)


@checked
def four_bar_chain(windows: Some = 2) -> Scene:
    """A02: rods of 1 m and 1 kg stand upright beside each other, their tops joined by as many rods as there are
    windows. All fall over to the side, beginning with 1 m/s at the top, swing below the ground and back. When they lie
    flat, windows + 1 degrees of freedom are there for an instant, of which the chain uses one."""
    n = windows
    room(2 * n + 1)
    b = ModelBuilder("four-bar chain")
    # about themselves, rods do not turn: any inertia will do, and adaptive methods need some
    upright: dict[str, Any] = dict(mass=1.0, com=(0, 0, 0.5), inertia=(1 / 12, 1 / 12, 1e-3))
    level: dict[str, Any] = dict(mass=1.0, com=(0.5, 0, 0), inertia=(1e-3, 1 / 12, 1 / 12))
    for i in range(n + 1):
        b.add_body(f"rod{i}", None, **ABOUT_Y, position=(i, 0, 0), **upright)
    for i in range(n):
        b.add_body(f"coupler{i}", f"rod{i}", **ABOUT_Y, position=(0, 0, 1), **level)
        b.close(
            f"coupler{i}", f"rod{i + 1}", name=f"pin{i}", axis=(0, 1, 0), position=(1, 0, 0), other_position=(0, 0, 1)
        )
    model = b.build()
    crosses = np.array([name.startswith("coupler") for name in model.body_names])
    reach = np.where(crosses[:, None], (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    return _scene(model, np.zeros(model.nq), reach, 1e-3, np.where(crosses, -1.0, 1.0))


#: Andrews' squeezer: what its bodies are called here, and from where to where they reach, in their own frames.
SQUEEZER = {
    "crank": (0.007, 0.0, 0.0),
    "connecting rod": (-0.028, 0.0, 0.0),
    "triangle": (0.0, -0.035, 0.0),
    "upper arm": (0.04, 0.0, 0.0),
    "upper rod": (0.0, -0.02, 0.0),
    "lower arm": (0.0, -0.04, 0.0),
    "lower rod": (0.02, 0.0, 0.0),
}


@checked
def andrews() -> Scene:
    """A03: Andrews' squeezer, seven bodies in a plane, no gravity. A motor of 0.033 N m turns the crank, of 7 mm; a
    triangle, on which a spring pulls, and two pairs of arms meet where the connecting rod ends."""
    b = ModelBuilder("Andrews' squeezer", gravity=(0, 0, 0))

    def add(name: str, parent: str | None, at: Point, mass: float, com: Point, inertia: float) -> None:
        b.add_body(name, parent, **ABOUT_Z, position=(*at, 0), mass=mass, com=(*com, 0), inertia=(inertia,) * 3)

    A, B = (-0.06934, -0.00227), (-0.03635, 0.03273)
    add("crank", None, (0, 0), 0.04325, (0.00092, 0), 2.194e-6)
    add("connecting rod", "crank", (0.007, 0), 0.00365, (-0.0115, 0), 4.410e-7)
    add("triangle", None, B, 0.02373, (0.01043, -0.01874), 5.255e-6)
    add("upper arm", None, A, 0.07050, (0.02308, 0.00916), 1.169e-5)
    add("upper rod", "upper arm", (0.04, 0), 0.00706, (0, -0.00579), 5.667e-7)
    add("lower arm", None, A, 0.05498, (-0.00449, -0.01228), 1.912e-5)
    add("lower rod", "lower arm", (0, -0.04), 0.00706, (0.00579, 0), 5.667e-7)
    for name in ("triangle", "upper rod", "lower rod"):
        b.close(
            "connecting rod", name, name=f"pin of the {name}", axis=(0, 0, 1), position=SQUEEZER["connecting rod"],
            other_position=SQUEEZER[name],
        )  # fmt: skip
    model = b.build()
    spring = Spring("triangle", (0.014, 0.072, 0.0), 4530.0, (0.02, -0.018, 0.0), length=0.07785)
    q = dict(zip(SQUEEZER, (-0.0617138900142764, 0.0, 0.45527981916307, 0.487364979543843, 0.222668390165886,
                            1.23054744454982, -0.222668390165886)))  # fmt: skip
    start = [q[name] for name in model.body_names]
    ends = [SQUEEZER[name] for name in model.body_names]
    return _scene(model, start, ends, 2e-5, forces=(spring, motor), duration=0.05)


def motor(time: float, q: Floats, v: Floats, model: Model) -> Floats:
    """The torque that drives the crank of Andrews' squeezer."""
    tau = np.zeros(model.nv)
    tau[model.joints["crank_joint"].v] = 0.033
    return tau


@checked
def bricard() -> Scene:
    """A04: five rods of 1 m and 1 kg along the edges of a cube, from the world to the world by six hinges, each across
    the rods it joins. It has as many rows as joints, and moves: one of them is redundant wherever it is closed."""
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1.0)])
    sides = np.roll(corners, -1, axis=0) - corners
    axes = np.cross(np.roll(sides, 1, axis=0), sides)
    b = ModelBuilder("Bricard's linkage", gravity=(0, -9.81, 0))
    for i in range(5):
        parent, at = (None, corners[0]) if i == 0 else (f"rod{i - 1}", sides[i - 1])
        b.add_body(f"rod{i}", parent, "continuous", axis=axes[i], position=at, **bar(sides[i], 1.0, 0.1))
    b.close("rod4", None, name="last hinge", axis=axes[5], position=sides[4], other_position=corners[5])
    model = b.build()
    return _scene(model, np.zeros(model.nq), sides[:5], 2e-3)


@checked
def flyball(springs: bool = False) -> Scene:
    """A governor that turns freely about its shaft, once a second at first. Two balls of 5 kg on arms of 1 m; a slider
    on the shaft hangs on the arms' middles, by rods of 0.5 m that close two loops. Of 3,000 kg/m^3.

    springs: in place of these rods, of 8e5 N/m with dampers of 4e4 N s/m. That is A05: stiff, and without loops."""
    hub, density, arm, width = 0.05, 3000.0, 1.0, 0.01
    line = density * width * width  # mass of a metre
    b = ModelBuilder("flyball governor")
    b.add_body("shaft", None, **ABOUT_Z, **bar((0, 0, 1), line, width))
    b.add_body("slider", "shaft", "prismatic", axis=(0, 0, 1), mass=3.0, inertia=(5e-3, 5e-3, 5e-3))
    forces: list[SpringBetween] = []
    for i, side in enumerate((1.0, -1.0)):
        b.add_body(f"arm{i}", "shaft", **ABOUT_Y, position=(side * hub, 0, 1), **_ball_arm(side * arm, line, width))
        if not springs:
            coupler = bar((side * 0.5, 0, 0), 0.5 * line, width)
            b.add_body(f"coupler{i}", f"arm{i}", **ABOUT_Y, position=(side * 0.5, 0, 0), **coupler)
            b.close(
                f"coupler{i}", "slider", name=f"pin{i}", axis=(0, 1, 0), position=(side * 0.5, 0, 0),
                other_position=(side * hub, 0, 0),
            )  # fmt: skip
        else:
            points = (side * 0.5, 0.0, 0.0), (side * hub, 0.0, 0.0)
            forces.append(SpringBetween(f"arm{i}", "slider", 8e5, *points, damping=4e4, length=0.5))
    model = b.build()
    down = pi / 6  # below the horizontal
    place = {"shaft": 0.0, "slider": 0.5, "arm0": down, "arm1": -down, "coupler0": 2 * pi / 3, "coupler1": -2 * pi / 3}
    q = np.array([place[name] for name in model.body_names])
    v = np.array([2 * pi * (name == "shaft") for name in model.body_names])
    reach = {"shaft": (0, 0, 1), "slider": (0, 0, 0.1), "arm0": (arm, 0, 0), "arm1": (-arm, 0, 0),
             "coupler0": (0.5, 0, 0), "coupler1": (-0.5, 0, 0)}  # fmt: skip
    dt = 2e-5 if springs else 1e-3
    return _scene(model, q, [reach[name] for name in model.body_names], dt, v, forces=tuple(forces))


def _ball_arm(length: float, mass: float, width: float) -> dict[str, Any]:
    """An arm along x with a ball of 5 kg, a point, at its end."""
    rod = bar((length, 0, 0), mass, width)
    whole = mass + 5.0
    com = (mass * rod["com"] + 5.0 * np.array([length, 0, 0])) / whole
    across = mass * (rod["com"] - com)[0] ** 2 + 5.0 * (length - com[0]) ** 2
    return dict(mass=whole, com=com, inertia=rod["inertia"] + across * np.diag([0.0, 1.0, 1.0]))


@checked
def slider_crank(crank: Positive = 0.2, rod: Positive = 0.6, angle: float = 1.0, speed: float = 0.0) -> Scene:
    """A crank, a connecting rod, and a slider along x in line with the crank's shaft. angle, speed: of the crank,
    upwards from x."""
    b = ModelBuilder("slider-crank")
    b.add_body("crank", None, **ABOUT_Y, **bar((crank, 0, 0), 1.0, 0.02))
    b.add_body("rod", "crank", **ABOUT_Y, position=(crank, 0, 0), **bar((rod, 0, 0), 1.0, 0.02))
    b.add_body("slider", None, "prismatic", axis=(1, 0, 0), mass=1.0, inertia=(1e-3, 1e-3, 1e-3))
    b.close("rod", "slider", name="pin", axis=(0, 1, 0), position=(rod, 0, 0))
    model = b.build()
    tilt = np.arcsin(min(1.0, max(-1.0, crank / rod * sin(angle))))
    x = crank * cos(angle) + rod * cos(tilt)
    q = {"crank": -angle, "rod": angle + tilt, "slider": x}
    v = {"crank": -speed, "rod": 0.0, "slider": 0.0}
    reach = {"crank": (crank, 0, 0), "rod": (rod, 0, 0), "slider": (0.1, 0, 0)}
    start, moving, ends = ([part[name] for name in model.body_names] for part in (q, v, reach))
    return _scene(model, start, ends, 1e-3, moving)
