"""A chain of ball joints let go and followed for two seconds: its energy stays where it was."""

import numpy as np

import supple

chain = supple.trees.chain(20, general=False, joint="ball", link_length=0.1, link_mass=0.05)
q = chain.integrate(chain.neutral(), np.tile([0.0, 0.08, 0.0], chain.n_joints))  # bent a little, in one plane
v = np.zeros(chain.nv)


def energy() -> float:
    return supple.kinetic_energy(chain, q, v) + supple.potential_energy(chain, q)


first, dt, steps = energy(), 5e-4, 4000
for step in range(steps + 1):
    if step % 800 == 0:
        x, _, z = supple.poses(chain, q).position[-1]
        print(f"t = {step * dt:.1f} s: last link at x = {x:6.3f} m, z = {z:6.3f} m; energy {energy():.6f} J")
    # The midpoint rule: half a step to find the slope, then a whole one along it.
    half_q, half_v = chain.integrate(q, v, dt / 2), v + dt / 2 * supple.forward_dynamics(chain, q, v)
    q, v = chain.integrate(q, half_v, dt), v + dt * supple.forward_dynamics(chain, half_q, half_v)

print(f"the energy has changed by {abs(energy() - first):.1e} J")
assert abs(energy() - first) < 1e-4
