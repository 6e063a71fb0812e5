"""Bodies that touch: a ball that bounces, blocks on a slope, a tower that is hit, and the force on every contact."""

import numpy as np

import supple

# A ball that falls from 1 m keeps 0.8 of its speed at each bounce, and 0.64 of its height.
builder = supple.ModelBuilder("ball")
builder.add_body("ball", joint="free", mass=0.1, inertia=[1e-4] * 3)
builder.add_shape("ball", "sphere", 0.05, restitution=0.8)
ball = builder.build()
q = ball.neutral()
q[2] = 1.05
run = supple.simulate(ball, q, duration=8.0, dt=2e-3, contacts=supple.Contacts(ground=0.0))
height = run.q[:, 2] - 0.05
top = height[1:-1][(height[1:-1] > height[:-2]) & (height[1:-1] >= height[2:])]
print("it rises to", top[:4].round(3), "m, and rests after", run.times[height > 1e-5].max().round(2), "s")

# Two blocks on a slope of 20 degrees: the one with enough friction stays.
slope = np.radians(20.0)
builder = supple.ModelBuilder("slope", gravity=(9.81 * np.sin(slope), 0, -9.81 * np.cos(slope)))
builder.add_shape(None, "plane", name="slope")
for name, friction in (("rough", 0.5), ("smooth", 0.2)):
    builder.add_body(name, joint="free", mass=1.0, inertia=[0.01] * 3)
    builder.add_shape(name, "box", (0.2, 0.2, 0.1), friction=friction, name=name)
blocks = builder.build()
q = blocks.neutral()
q[[2, 9]], q[8] = 0.05, 1.0
run = supple.simulate(blocks, q, duration=1.0, dt=2e-3, contacts=True)
expected = 9.81 * (np.sin(slope) - 0.2 * np.cos(slope))
print(f"after 1 s they slide with {run.v[-1, 0]:.6f} and {run.v[-1, 6]:.6f} m/s, where {expected:.6f} is expected")
assert abs(run.v[-1, 0]) < 1e-6 and abs(run.v[-1, 6] - expected) < 1e-5

# A tower of five boxes stands; what every contact carries is known.
builder = supple.ModelBuilder("tower")
for i in range(5):
    builder.add_body(f"box{i}", joint="free", mass=1.0, inertia=[0.01] * 3)
    builder.add_shape(f"box{i}", "box", (0.2, 0.2, 0.1), friction=0.6)
tower = builder.build()
q = tower.neutral()
q[2::7] = 0.05 + 0.1 * np.arange(5)
run = supple.simulate(tower, q, duration=0.5, dt=2e-3, contacts=supple.Contacts(ground=0.0))
ground = sum(c.pressure for c in run.contacts(-1) if c.other == "ground")
print(f"the ground carries {ground:.4f} N of {5 * 9.81:.4f} N; the top moved by {np.ptp(run.q[:, 30]):.1e} m")

# The second box is hit: it flies out, and those above fall.
v = np.zeros(tower.nv)
v[6] = 4.0
run = supple.simulate(tower, q, v, duration=1.0, dt=2e-3, contacts=supple.Contacts(ground=0.0))
print("after 1 s boxes are at heights", run.q[-1, 2::7].round(3), "m;", len(run.contacts(-1)), "contacts")
