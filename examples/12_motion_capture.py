"""Captured motion to joint moments: a BVH file, the feet that stand, and what the ground gives."""

import numpy as np

import supple
from supple.capture.plot import plot_loads
from supple.scenes import walk_bvh

clip = supple.load_bvh(walk_bvh.FILE, mass=70.0)  # a walk of our own making; give it a file of yours
print(clip.model, f"{len(clip)} frames at {clip.rate:g} Hz; feet: {', '.join(clip.feet)}")
print(clip.model.report)

# Smooth, differentiate, see which feet stand, and ask for the forces. The walk was made, not measured: the warnings say
# where it is more than a person could do.
loads = supple.motion_loads(clip, cutoff=6.0)
for k, name in enumerate(clip.feet):
    alone, both = loads.support.foot == k, loads.support.down.all(axis=1)
    print(f"{name} stands alone in {alone.sum()} frames, with the other in {both.sum()}, "
          f"then carrying {100 * loads.shares[both, k].mean():.0f} % on average")  # fmt: skip
weight = 9.81 * clip.model.total_mass
print(
    f"the ground gives {loads.reaction[:, 2].min() / weight:.2f} to {loads.reaction[:, 2].max() / weight:.2f} weights"
)

# Moments have a sign and an axis: x of a thigh or shank points to the left, so that a positive moment bends the knee.
knee, bending = "LeftLeg_joint", loads.about("LeftLeg_joint", (1, 0, 0), "body")
k, last = loads.joints.index(knee), loads.times[-1]
work = np.trapezoid(loads.power[:, k], loads.times)
print(f"left knee: {bending.min():.0f} to {bending.max():.0f} N m, doing {work:.1f} J of work in {last:g} s")
plot_loads(loads, path="loads.png")
print("drawn: loads.png")
