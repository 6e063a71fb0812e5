"""A ball that bounces, an arm that holds itself up: forces, events and integrators of a run."""

import numpy as np

import supple

# A ball on a vertical slide. The event finds the instant at which it touches the floor, and turns its velocity around.
builder = supple.ModelBuilder("ball")
builder.add_body("ball", joint="prismatic", axis=(0, 0, 1), mass=0.1)
ball = builder.build()
floor = supple.Event("bounce", lambda s: s.q[0], direction=-1, then=lambda s: s.replace(v=-0.8 * s.v))
run = supple.simulate(ball, [1.0], duration=3.0, dt=0.01, integrator="dop853", events=[floor])
print(run)
print("bounces at", ", ".join(f"{e.time:.6f}" for e in run.events), "s")
assert abs(run.events[0].time - np.sqrt(2 / 9.81)) < 1e-12

# An arm with a controller at each joint and a hand pushed down. Its joint limits are stiff springs.
builder = supple.ModelBuilder("arm")
upper = builder.add_body("upper", axis=(0, 1, 0), mass=2.0, com=(0, 0, 0.25), lower=-1.0, upper=1.0)
builder.add_body("lower", upper, axis=(0, 1, 0), position=(0, 0, 0.5), mass=1.0, com=(0, 0, 0.2))
arm = builder.build()
forces = [
    supple.Controller(arm.joint_names[0], stiffness=200.0, damping=20.0, target=0.4),
    supple.Controller(arm.joint_names[1], stiffness=100.0, damping=5.0, target=-0.8),
    supple.Push("lower", force=(0, 0, -5), point=(0, 0, 0.4)),
    supple.Limits(stiffness=5000.0, damping=50.0),
]
run = supple.simulate(arm, duration=3.0, forces=forces)
print(run)
print("the arm comes to rest at", np.round(run.final.q, 4), "with rates", np.round(run.final.v, 6))
assert np.abs(run.final.v).max() < 1e-4

# The same, state by state.
for state in supple.Simulation(arm, dt=1e-3, forces=forces):
    if state.q[0] > 0.3:
        print(f"the shoulder passes 0.3 after {state.time:.3f} s")
        break
