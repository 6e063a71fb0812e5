"""Chains of four-bar windows beside Pinocchio and MuJoCo; how time grows with the size of a mechanism."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import supple
from supple import scenes
from supple.bench.exact import peer
from supple.bench.measure import agree, minima
from supple.bench.rows import Row

Floats = NDArray[np.float64]

LEAN, TURN = 0.3, 1.0  #: of the upright rods, in radians and radians a second
#: Windows beside peers. Pinocchio's matrices are dense: it is left out where a call would take minutes.
BESIDE, PINOCCHIO_MOST = (100, 1000), 100
THEIRS = "pin.constraintDynamics"
SOFT = "mj_forward, soft"

#: Mechanisms that are longer and longer, by how many windows they have: each window has as many joints.
LONG: dict[str, Callable[[int], supple.Model]] = {
    "four-bar chain": lambda n: scenes.four_bar_chain(n).model,
    "ladder": lambda n: scenes.net(2, n + 1).model,
    "strip of net": lambda n: scenes.net(4, n + 1).model,
}
SIZES, LONGEST = (10, 100, 1000), 10_000
FLAT = (2.0, 1.5)  #: how many times as much a joint may cost in the longest as in the shortest: floor, aim
NETS = (4, 8, 16)  #: knots along each side


def beside_peers(console: Console, windows: int, quick: bool) -> list[Row]:
    """Forward dynamics of a chain that leans and moves."""
    model, q, v = _leaning(windows)
    calls: dict[str, Callable[[], Any]] = {"forward dynamics": lambda: supple.forward_dynamics(model, q, v)}
    pin = peer(console, "pinocchio", "pin") if windows <= PINOCCHIO_MOST else None
    mujoco = peer(console, "mujoco", "mujoco")
    upright = np.array([name.startswith("rod") for name in model.body_names])
    expected = np.where(upright, 1.0, -1.0) * acceleration(windows)
    agree("forward dynamics and its closed form", calls["forward dynamics"](), expected, 1e-9)
    if pin is not None:
        calls[THEIRS] = _pinocchio(pin, model, q, v)
        agree(f"forward dynamics and {THEIRS}", calls["forward dynamics"](), calls[THEIRS](), 1e-6)
    if mujoco is not None:
        calls[SOFT] = _mujoco(mujoco, windows)
    best = minima(calls, 5 if quick else 20)
    ours = best.pop("forward dynamics")
    return [Row("forward dynamics", ours, "s", theirs, name) for name, theirs in best.items()] or [
        Row("forward dynamics", ours, "s")
    ]


def growth(quick: bool) -> list[Row]:
    """Time a joint of ever longer mechanisms; of the longest as a multiple of the shortest."""
    rows = []
    for name, make in LONG.items():
        sizes = SIZES if quick else (*SIZES, LONGEST)
        each = [_each_joint(make(n), max(3, 2000 // n)) for n in sizes]
        rows += [Row(f"{name}, {n:,}", x, "ns/joint") for n, x in zip(sizes, each)]
        rows.append(Row(f"{name}, {sizes[-1]:,} against {sizes[0]}", each[-1] / each[0], "times", None, None, *FLAT))
    return rows


def squares(quick: bool) -> list[Row]:
    """Time a joint of square nets."""
    models = {n: scenes.net(n, n).model for n in (NETS[:2] if quick else NETS)}
    return [
        Row(f"{n} x {n} knots, {model.n_bodies:,} joints", _each_joint(model, 10), "ns/joint")
        for n, model in models.items()
    ]


def _each_joint(model: supple.Model, rounds: int) -> float:
    """Nanoseconds of forward dynamics at rest."""
    q, v = model.neutral(), np.zeros(model.nv)
    return 1e9 * minima({"": lambda: supple.forward_dynamics(model, q, v)}, rounds)[""] / model.n_bodies


def acceleration(windows: int) -> float:
    """Of the upright rods, from the energy of the one motion that they have."""
    return (0.5 * (windows + 1) + windows) * 9.81 * np.sin(LEAN) / ((windows + 1) / 3 + windows)


def _leaning(windows: int) -> tuple[supple.Model, Floats, Floats]:
    model = scenes.four_bar_chain(windows).model
    sign = np.array([1.0 if name.startswith("rod") else -1.0 for name in model.body_names])
    return model, LEAN * sign, TURN * sign


def _pinocchio(pin: Any, model: supple.Model, q: Floats, v: Floats) -> Callable[[], Floats]:
    """Their call; points are held to points."""
    theirs = pin.Model()
    numbers: list[int] = []
    for b in range(model.n_bodies):
        up = int(model.parent[b])
        parent, place = (0 if up < 0 else numbers[up]), pin.SE3(np.eye(3), model.position[b])
        numbers.append(theirs.addJoint(parent, pin.JointModelRY(), place, model.joint_names[b]))
        body = pin.Inertia(float(model.mass[b]), model.com[b], model.inertia[b])
        theirs.appendBodyToJoint(numbers[b], body, pin.SE3.Identity())
    rows, memory = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for loop in model.loop_list:
        places = (pin.SE3(np.eye(3), x) for x in (loop.position, loop.other_position))
        ends = (x for pair in zip((numbers[loop.body], numbers[loop.other]), places) for x in pair)
        rows.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, theirs, *ends, pin.ReferenceFrame.LOCAL))
        memory.append(rows[len(rows) - 1].createData())
    data, settings = theirs.createData(), pin.ProximalSettings(1e-12, 1e-8, 20)
    pin.initConstraintDynamics(theirs, data, rows, memory)
    order = np.array([theirs.joints[k].idx_v for k in numbers])
    q_in, v_in, tau = np.zeros(model.nv), np.zeros(model.nv), np.zeros(model.nv)
    q_in[order], v_in[order] = q, v
    return lambda: pin.constraintDynamics(theirs, data, q_in, v_in, tau, rows, memory, settings)[order]


def _mujoco(mujoco: Any, windows: int) -> Callable[[], None]:
    """Their call, in which loops are soft: its results are other ones."""
    rod = '<joint type="hinge" axis="0 1 0"/><inertial pos="{}" mass="1" diaginertia="{}"/>'
    upright, level = rod.format("0 0 .5", ".0834 .0834 .0001"), rod.format(".5 0 0", ".0001 .0834 .0834")
    bodies = "".join(
        f'<body name="rod{i}" pos="{i} 0 0">{upright}'
        + (f'<body name="coupler{i}" pos="0 0 1">{level}</body>' if i < windows else "")
        + "</body>"
        for i in range(windows + 1)
    )
    loops = "".join(f'<connect body1="coupler{i}" body2="rod{i + 1}" anchor="1 0 0"/>' for i in range(windows))
    text = f"<mujoco><worldbody>{bodies}</worldbody><equality>{loops}</equality></mujoco>"
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = _as_mujoco(windows, LEAN), _as_mujoco(windows, TURN)
    return lambda: mujoco.mj_forward(theirs, data)


def _as_mujoco(windows: int, x: float) -> Floats:
    """Rods and couplers in turn."""
    return np.append(np.tile([x, -x], windows), x)
