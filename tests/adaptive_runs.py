"""A little of everything that quasi-statics and adaptive dynamics can do, on small bodies of every joint type."""

from __future__ import annotations

import numpy as np

import supple
from oracle import MOVING, random_model


def adaptive_runs() -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    out = []
    for shape in ({"chain": 0.5, "world": 0.1}, {"chain": 0.0, "world": 0.0}):
        model = random_model(rng, 14, MOVING, **shape)
        q, (v, w) = model.random(rng), rng.standard_normal((2, model.nv))
        out += [quasi_static_steps(model, q), adaptive_steps(model, q, v, active=5), guaranteed_steps(model, q, w)]
    return out


def quasi_static_steps(model: supple.Model, q: np.ndarray) -> np.ndarray:
    qs = supple.QuasiStatics(model, q, error=1e-2)
    push = qs.apply(13, force=(1.0, 2.0, 3.0), point=(0.1, 0.0, 0.2))
    qs.apply(7, torque=(0.0, 1.0, 0.0), frame="body")
    spring = qs.spring(4, anchor=(0.0, 0.0, 1.0), stiffness=2.0)
    rope = qs.spring_between(11, 5, 3.0, (0.1, 0.0, 0.0), length=0.2, pulls_only=True)
    joint = model.joints[2]
    qs.torque(2, np.ones(joint.v.stop - joint.v.start))
    for i in range(3):
        qs.step(0.02)
        if i == 1:
            push.set(force=(0.0, -1.0, 0.0))
            spring.remove()
            rope.set(length=0.1)
    R, x = qs.poses()
    return np.concatenate([qs.q, qs.solve(error=0.0).dense(), R.ravel(), x.ravel()])


def adaptive_steps(model: supple.Model, q: np.ndarray, v: np.ndarray, active: int) -> np.ndarray:
    ad = supple.AdaptiveDynamics(model, q, v, active=active, update_every=2)
    ad.apply(13, force=(1.0, 2.0, 3.0))
    ad.spring(6, anchor=(0.0, 0.0, 1.0), stiffness=2.0, damping=0.1)
    ad.spring_between(2, 12, 3.0, other_point=(0.0, 0.2, 0.0), damping=0.1, length=0.4)
    hinge = next(i for i in range(model.n_joints) if model.joints[i].type in ("revolute", "prismatic"))
    ad.control(hinge, target=0.5, stiffness=3.0, damping=0.2)
    ad.pin(hinge)
    for _ in range(4):
        ad.step(1e-3)
    R, x = ad.poses()
    return np.concatenate([ad.q, ad.v, [ad.kinetic, ad.potential], ad.active_joints, R.ravel(), x.ravel()])


def guaranteed_steps(model: supple.Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    ad = supple.AdaptiveDynamics(model, q, 0.0 * v, error=0.5, guaranteed=True)
    ad.apply(3, force=(0.0, 0.0, 5.0))
    ad.spring_between(1, 9, 3.0, damping=0.1, pulls_only=True)
    for _ in range(2):
        ad.step(1e-3)
    return np.concatenate([ad.q, ad.v, ad.active_joints])
