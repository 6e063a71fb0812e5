"""Closed loops: a crank that drives a rocker, a pair of gears, and a chain around two wheels."""

import numpy as np

import supple
from supple import scenes

# A four-bar linkage: three bodies of a tree, and a pin that closes the loop.
builder = supple.ModelBuilder("four-bar")
rod = dict(joint="continuous", axis=(0, 1, 0), mass=1.0)
builder.add_body("crank", **rod, com=(0.15, 0, 0), inertia=(1e-3, 0.01, 0.01))
builder.add_body("coupler", "crank", **rod, position=(0.3, 0, 0), com=(0.4, 0, 0), inertia=(1e-3, 0.05, 0.05))
builder.add_body("rocker", "coupler", **rod, position=(0.8, 0, 0), com=(0.3, 0, 0), inertia=(1e-3, 0.03, 0.03))
builder.close("rocker", None, "revolute", name="pin", axis=(0, 1, 0), position=(0.6, 0, 0), other_position=(0.7, 0, 0))
linkage = builder.build()

q = supple.close_loops(linkage, [-1.0, -0.2, 2.0])  # the nearest position in which the pin is where it should be
print(linkage.mobility(q))
print("the pin carries", np.linalg.norm(supple.joint_wrenches(linkage, q, joint="pin")[3:]).round(3), "N")

# It swings, and the loop stays closed.
run = supple.simulate(linkage, q, duration=2.0, dt=1e-3)
tip = [supple.poses(linkage, x)["rocker"] for x in run.q]
gap = max(np.linalg.norm(pose.position + pose.rotation @ (0.6, 0, 0) - (0.7, 0, 0)) for pose in tip)
print(f"after 2 s the pin is off by {gap:.1e} m, the energy by {np.ptp(run.energy):.1e} J")
assert gap < 1e-10

# The torque of the crank that holds it all.
tau = supple.inverse_dynamics(linkage, q, actuated=["crank_joint"])
assert np.allclose(supple.forward_dynamics(linkage, q, tau=tau), 0.0, atol=1e-9)
print(f"a torque of {tau[0]:.3f} N m at the crank holds it")

# Gears: two wheels whose angles have a sum, each times its number of teeth.
builder = supple.ModelBuilder("gears")
for name, y in (("wheel", 0.0), ("pinion", 0.4)):
    builder.add_body(
        name, joint="continuous", position=(0, y, 0), mass=1.0, inertia=(0.01, 0.01, 0.02), joint_name=name
    )
builder.relate({"wheel": 30, "pinion": 10}, name="teeth")
gears = builder.build()
a = supple.forward_dynamics(gears, [0, 0], tau=[1.0, 0.0])
print("a torque of 1 N m on the wheel turns it with", a[0].round(3), "and the pinion with", a[1].round(3), "rad/s^2")
assert np.isclose(a[1], -3 * a[0]) and np.isclose(a[0], 1.0 / (0.02 + 9 * 0.02))

# A bicycle chain around its two wheels is a loop, too; within 1% it takes a few of its joints.
scene = scenes.chain_drive()
found = scene.quasi_statics(error=0.01).solve()
print(f"{len(found.joints)} of {scene.model.n_joints} joints computed, error at most {found.error:.2%}")
