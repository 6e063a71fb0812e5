"""Scenes: a function each that returns a model, a position and the forces on it.

>>> from supple import scenes
>>> scenes.bicycle_chain().model
<Model 'bicycle chain': 30 bodies, nq=30, nv=30, 0.09 kg>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from supple.scenes.bicycle_chain import bicycle_chain
from supple.scenes.chain_drive import TEETH, chain_drive
from supple.scenes.compass import compass, compass_scene
from supple.scenes.crowd import crowd
from supple.scenes.falling_crowd import falling_crowd
from supple.scenes.linkages import andrews, bricard, flyball, four_bar_chain, slider_crank
from supple.scenes.millipede import millipede
from supple.scenes.molecule import molecule
from supple.scenes.net import n_bodies as bodies_of_net
from supple.scenes.net import net
from supple.scenes.pendulum import pendulum
from supple.scenes.ropes import pile, rope
from supple.scenes.scene import Pushes, Scene, Springs
from supple.scenes.simplest_walker import simplest_walker, simplest_walker_scene
from supple.scenes.skeleton import skeleton
from supple.scenes.spring_pendulum import spring_pendulum
from supple.scenes.standing_robot import standing_robot
from supple.scenes.walker_by_contact import walker_by_contact

__all__ = [
    "NAMES",
    "Pushes",
    "Scene",
    "Springs",
    "andrews",
    "bicycle_chain",
    "bricard",
    "chain_drive",
    "compass",
    "crowd",
    "falling_crowd",
    "flyball",
    "four_bar_chain",
    "millipede",
    "molecule",
    "net",
    "pendulum",
    "pile",
    "rope",
    "simplest_walker",
    "slider_crank",
    "spring_pendulum",
    "standing_robot",
    "walker_by_contact",
]

NAMES: dict[str, Callable[..., Scene]] = {
    "bicycle-chain": bicycle_chain,
    "compass": compass_scene,
    "millipede": millipede,
    "molecule": molecule,
    "pendulum": pendulum,
    "simplest-walker": simplest_walker_scene,
    "spring-pendulum": spring_pendulum,
    "crowd": crowd,
    "falling-crowd": falling_crowd,
    "four-bar-chain": four_bar_chain,
    "andrews": andrews,
    "bricard": bricard,
    "flyball": flyball,
    "slider-crank": slider_crank,
    "net": net,
    "chain-drive": chain_drive,
    "pile": pile,
    "rope": rope,
    "standing-robot": standing_robot,
    "walker-by-contact": walker_by_contact,
}

TOUCHES = ("falling-crowd", "pile", "rope", "standing-robot", "walker-by-contact")  #: scenes with contacts
#: Scenes with contacts to use instead of others.
TOUCHING = {"crowd": "falling-crowd", "compass": "walker-by-contact", "simplest-walker": "walker-by-contact"}

#: How many bodies they have, by their parameters.
_BODIES: dict[str, Callable[[Mapping[str, Any]], int]] = {
    "bicycle-chain": lambda p: int(p["links"]),
    "compass": lambda p: 2,
    "millipede": lambda p: int(p["spine"] + p["legs"] * p["leg_links"]),
    "molecule": lambda p: int(p["joints"]),
    "pendulum": lambda p: int(p["links"]),
    "simplest-walker": lambda p: 2,
    "spring-pendulum": lambda p: int(p["links"]),
    "crowd": lambda p: int(p["rows"] * p["columns"] * len(skeleton().names)),
    "falling-crowd": lambda p: int(p["rows"] * p["columns"] * len(skeleton().names)),
    "four-bar-chain": lambda p: 2 * int(p["windows"]) + 1,
    "andrews": lambda p: 7,
    "bricard": lambda p: 5,
    "flyball": lambda p: 4 if p["springs"] else 6,
    "slider-crank": lambda p: 3,
    "net": lambda p: bodies_of_net(int(p["width"]), int(p["height"])),
    "chain-drive": lambda p: int(p["links"]) - TEETH + 2,
    "pile": lambda p: int(p["chains"] * p["links"]),
    "rope": lambda p: int(p["links"]),
    "standing-robot": lambda p: 12,
    "walker-by-contact": lambda p: 2,
}


def n_bodies(name: str, given: Mapping[str, Any]) -> int:
    """How many bodies a scene would have, which is not built for that."""
    usual = {p.name: p.default for p in signature(NAMES[name]).parameters.values()}
    return _BODIES[name](usual | dict(given))
