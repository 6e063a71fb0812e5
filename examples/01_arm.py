"""A two-link arm built by hand: its accelerations, the torques that would cause them, its energy."""

import numpy as np

import supple

builder = supple.ModelBuilder("arm")
upper = builder.add_body(
    "upper", joint="revolute", axis=(0, 1, 0), mass=2.0, com=(0, 0, -0.25), inertia=(0.04, 0.04, 0.002)
)
builder.add_body(
    "lower", upper, "revolute", axis=(0, 1, 0), position=(0, 0, -0.5),
    mass=1.0, com=(0, 0, -0.2), inertia=(0.02, 0.02, 0.001), joint_name="elbow",
)  # fmt: skip
arm = builder.build()
print(arm)
print(arm.tree())

q = arm.neutral()  # hanging straight down
q[arm.joints["elbow"].q] = np.pi / 2
v = np.array([0.0, 1.0])
tau = np.array([0.5, 0.0])

a = supple.forward_dynamics(arm, q, v, tau)
print("accelerations          ", a)
print("torques that cause them", supple.inverse_dynamics(arm, q, v, a))
print("torques to hold it     ", supple.bias_force(arm, q))

# Newton's law in joint coordinates: H a + C = tau
H, C = supple.mass_matrix(arm, q), supple.bias_force(arm, q, v)
assert np.allclose(H @ a + C, tau)

where = supple.poses(arm, q)
print("the elbow is at        ", where.position[arm.bodies["lower"].index])
print("energy                 ", supple.kinetic_energy(arm, q, v) + supple.potential_energy(arm, q), "J")
