"""Supple: articulated rigid bodies of any size, exactly or as exactly as asked.

    import supple

    model = supple.load("robot.urdf")
    a = supple.forward_dynamics(model, model.neutral(), v, tau)

The names below are the public ones. They are loaded when first used: importing supple is quick, and compiling waits
until something is computed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from supple.adaptive.camera import camera_weights as camera_weights
    from supple.adaptive.dynamics import AdaptiveDynamics as AdaptiveDynamics
    from supple.adaptive.dynamics import AdaptiveStats as AdaptiveStats
    from supple.adaptive.quasistatics import Approximation as Approximation
    from supple.adaptive.quasistatics import QuasiStatics as QuasiStatics
    from supple.cite import citation as citation
    from supple.errors import ModelError as ModelError
    from supple.errors import ParseError as ParseError
    from supple.errors import RecordingError as RecordingError
    from supple.errors import SimulationError as SimulationError
    from supple.errors import SingularError as SingularError
    from supple.errors import StateError as StateError
    from supple.errors import SuppleError as SuppleError
    from supple.errors import ViewError as ViewError
    from supple.exact.crba import mass_matrix as mass_matrix
    from supple.exact.energy import center_of_mass as center_of_mass
    from supple.exact.energy import kinetic_energy as kinetic_energy
    from supple.exact.energy import momentum as momentum
    from supple.exact.energy import potential_energy as potential_energy
    from supple.exact.factor import Factor as Factor
    from supple.exact.factor import factorize as factorize
    from supple.exact.forward import forward_dynamics as forward_dynamics
    from supple.exact.joint_wrenches import Multiplier as Multiplier
    from supple.exact.joint_wrenches import ground_wrench as ground_wrench
    from supple.exact.joint_wrenches import joint_wrenches as joint_wrenches
    from supple.exact.joint_wrenches import multipliers as multipliers
    from supple.exact.kinematics import Poses as Poses
    from supple.exact.kinematics import accelerations as accelerations
    from supple.exact.kinematics import jacobian as jacobian
    from supple.exact.kinematics import poses as poses
    from supple.exact.kinematics import velocities as velocities
    from supple.exact.rnea import bias_force as bias_force
    from supple.exact.rnea import inverse_dynamics as inverse_dynamics
    from supple.exact.threads import set_threads as set_threads
    from supple.exact.treematrix import Pattern as Pattern
    from supple.exact.treematrix import TreeMatrix as TreeMatrix
    from supple.exact.virtual_hubs import VirtualWork as VirtualWork
    from supple.exact.virtual_hubs import virtual_work as virtual_work
    from supple.exact.wrench import wrench as wrench
    from supple.files import from_mujoco as from_mujoco
    from supple.files import load as load
    from supple.files import load_bvh as load_bvh
    from supple.files import save_urdf as save_urdf
    from supple.files import to_mujoco as to_mujoco
    from supple.model import trees as trees
    from supple.model.builder import ModelBuilder as ModelBuilder
    from supple.model.clip import Clip as Clip
    from supple.model.model import Model as Model
    from supple.model.reroot import Rerooted as Rerooted
    from supple.model.reroot import reroot as reroot
    from supple.record.export import export as export
    from supple.simulating.capture import Loads as Loads
    from supple.simulating.capture import motion_loads as motion_loads
    from supple.simulating.events import Event as Event
    from supple.simulating.forces import Controller as Controller
    from supple.simulating.forces import Limits as Limits
    from supple.simulating.forces import Push as Push
    from supple.simulating.forces import Spring as Spring
    from supple.simulating.gaits import Gait as Gait
    from supple.simulating.gaits import gait as gait
    from supple.simulating.impacts import Impact as Impact
    from supple.simulating.impacts import impact as impact
    from supple.simulating.result import Result as Result
    from supple.simulating.run import load_run as load_run
    from supple.simulating.run import simulate as simulate
    from supple.simulating.simulation import simulation as simulation
    from supple.simulating.state import State as State
    from supple.simulating.walking import Walker as Walker
    from supple.simulating.walking import walk as walk

_HOME = {
    "adaptive.camera": "camera_weights",
    "adaptive.dynamics": "AdaptiveDynamics AdaptiveStats",
    "adaptive.quasistatics": "Approximation QuasiStatics",
    "cite": "citation",
    "errors": "ModelError ParseError RecordingError SimulationError SingularError StateError SuppleError ViewError",
    "exact.threads": "set_threads",
    "exact.crba": "mass_matrix",
    "exact.energy": "center_of_mass kinetic_energy momentum potential_energy",
    "exact.forward": "forward_dynamics",
    "exact.joint_wrenches": "Multiplier ground_wrench joint_wrenches multipliers",
    "exact.kinematics": "Poses accelerations jacobian poses velocities",
    "exact.factor": "Factor factorize",
    "exact.rnea": "bias_force inverse_dynamics",
    "exact.treematrix": "Pattern TreeMatrix",
    "exact.virtual_hubs": "VirtualWork virtual_work",
    "exact.wrench": "wrench",
    "files": "from_mujoco load load_bvh save_urdf to_mujoco",
    "model.builder": "ModelBuilder",
    "model.clip": "Clip",
    "model.model": "Model",
    "model.reroot": "Rerooted reroot",
    "simulating.capture": "Loads motion_loads",
    "simulating.gaits": "Gait gait",
    "simulating.impacts": "Impact impact",
    "simulating.walking": "Walker walk",
    "model": "trees",
    "record.export": "export",
    "simulating.events": "Event",
    "simulating.forces": "Controller Limits Push Spring",
    "simulating.result": "Result",
    "simulating.run": "load_run simulate",
    "simulating.simulation": "simulation",
    "simulating.state": "State",
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name == "scenes":  # a package of its own, and no public name like those above
        return import_module("supple.scenes")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'supple' has no attribute {name!r}")
    module = import_module(f"supple.{_MODULE_OF[name]}")
    value = import_module(f"supple.model.{name}") if name == "trees" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
