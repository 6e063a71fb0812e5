"""Another body becomes the root: of a robot in motion, and of a walker at every step it takes."""

import numpy as np

import supple
from supple.scenes import compass

# An arm on the ground. Seen from its hand: the same bodies, the same motion, the other way round.
builder = supple.ModelBuilder("arm")
builder.add_body("upper", axis=(0, 1, 0), mass=2.0, com=(0, 0, 0.2), inertia=(0.03, 0.03, 0.01), joint_name="shoulder")
builder.add_body("fore", "upper", axis=(0, 1, 0), position=(0, 0, 0.4), mass=1.5, com=(0, 0, 0.15),
                 inertia=(0.02, 0.02, 0.01), joint_name="elbow", lower=-2.5, upper=0.0)  # fmt: skip
builder.add_body("hand", "fore", "ball", position=(0, 0, 0.3), mass=0.5, com=(0, 0, 0.05), inertia=(1e-3, 1e-3, 1e-3),
                 joint_name="wrist")  # fmt: skip
arm = builder.build()
q = arm.integrate(arm.neutral(), [0.4, -0.8, 0.1, 0.2, 0.3])
v = np.array([1.0, 2.0, 0.0, 0.5, 0.0])

new = supple.reroot(arm, q, v, body="hand", joint="free")
print(new.model.tree())
print("elbow", new.q[new.model.joints["elbow"].q], "as before; kinetic energy",
      supple.kinetic_energy(arm, q, v), "=", supple.kinetic_energy(new.model, new.q, new.v))  # fmt: skip
back = new.undo()
assert np.allclose(back.v, v) and np.allclose(back.model.position, arm.position)

# A joint that cannot hold the body as it is, or moves otherwise, is refused by name.
try:
    supple.reroot(arm, q, v, body="hand", joint="revolute", axis=(0, 1, 0))
except supple.StateError as e:
    print("refused:", e)

# The hand grasps something that does not move: what the new joint does not allow is lost in the impact.
hit = supple.impact(arm, q, v, body="hand", joint="ball")
print(f"grasping costs {hit.energy_lost:.3f} J of {supple.kinetic_energy(arm, q, v):.3f} J")

# The compass biped walks down a slope; its stance foot is the root, and changes at each touchdown.
gait = supple.gait(compass(slope=0.05))
print(f"a step takes {gait.period:.4f} s and {gait.step_length:.4f} m, and loses {gait.energy_lost:.4f} J")
print("disturbances shrink by", np.abs(gait.eigenvalues).round(3), "a step: stable" if gait.stable else "unstable")
for step in supple.walk(gait.walker, 3):
    print(f"  on the {step.feet[0]:10} for {step.duration:.6f} s, {len(step.trace)} states kept")
