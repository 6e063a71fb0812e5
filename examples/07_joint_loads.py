"""What the bearings of an arm carry while it turns with a load: by joint, in any frame, and down to the ground."""

import numpy as np

import supple

builder = supple.ModelBuilder("crane")
post = builder.add_body("post", axis=(0, 0, 1), mass=20.0, com=(0, 0, 0.5), inertia=(2.0, 2.0, 0.3), joint_name="turn")
boom = builder.add_body("boom", post, axis=(0, -1, 0), position=(0, 0, 1), mass=8.0, com=(0.6, 0, 0),
                        inertia=(0.05, 1.0, 1.0), joint_name="lift")  # fmt: skip
builder.add_body("grip", boom, axis=(1, 0, 0), position=(1.2, 0, 0), mass=2.0, com=(0.1, 0, 0),
                 inertia=(0.01, 0.02, 0.02), joint_name="wrist")  # fmt: skip
arm = builder.build()

q = np.array([0.4, 0.6, 0.0])
v = np.array([1.5, 0.0, 0.0])
weight = supple.wrench(arm, "grip", force=(0, 0, -50), point=(0.2, 0.1, 0), q=q)  # of a load, a little to one side
tau = supple.inverse_dynamics(arm, q, v, None, weight)  # what keeps it turning evenly

# Row i: what the parent does to the child through joint i, moment first, along the world's axes.
carried = supple.joint_wrenches(arm, q, v, tau, weight)
for joint, wrench in zip(arm.joint_names, carried):
    print(f"{joint:5}  force {np.linalg.norm(wrench[3:]):6.1f} N  moment {np.linalg.norm(wrench[:3]):6.1f} N m")

# One of them, by name, along the child's axes. About its own a hinge carries what the motor gives; the rest is the
# bearing's.
hinge, axis = supple.joint_wrenches(arm, q, v, tau, weight, "child", joint="lift"), arm.joints["lift"].axis
motor = axis @ hinge[:3]
print(f"lift   motor {motor:.1f} N m, its bearing is bent by {np.linalg.norm(hinge[:3] - motor * axis):.1f} N m")
assert np.isclose(motor, tau[arm.joints["lift"].v])

# What the ground feels, about the world's origin: all the weight, and the pull of what goes round in a circle.
ground = supple.ground_wrench(arm, q, v, tau, weight)
print("ground force", ground[3:].round(1), "N, moment", ground[:3].round(1), "N m")
assert np.isclose(ground[5], -9.81 * arm.total_mass - 50)

# Two hundred positions at once; and the same from accelerations, whichever method found them.
lifts = np.array([[0.4, angle, 0.0] for angle in np.linspace(0, 1.2, 200)])
swept = supple.joint_wrenches(arm, lifts, v, tau, weight, joint="lift")
print(f"on its way from 0 to 1.2 rad the lift holds up {swept[:, 5].min():.0f} to {swept[:, 5].max():.0f} N")
a = supple.forward_dynamics(arm, q, v, tau, weight)
assert np.allclose(carried, supple.joint_wrenches(arm, q, v, None, weight, a=a))
