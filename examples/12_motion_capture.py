"""Captured motion to joint torques: a BVH file, the foot that stands as the root, and what the ground gives."""

import numpy as np

import supple
from supple.capture.plot import plot_loads
from supple.scenes import walk_bvh

clip = supple.load_bvh(walk_bvh.FILE, mass=70.0)  # a walk of our own making; give it a file of yours
print(clip.model, f"{len(clip)} frames at {clip.rate:g} Hz; feet: {', '.join(clip.feet)}")
print(clip.model.report)

# Smooth, differentiate, see which foot stands, re-root to it, and ask for the forces.
loads = supple.motion_loads(clip, cutoff=6.0)
for name, foot in zip(clip.feet, range(2)):
    print(f"{name} stands in {np.count_nonzero(loads.support.foot == foot)} frames")
weight = 9.81 * clip.model.total_mass
print(
    f"the ground gives {loads.reaction[:, 2].min() / weight:.2f} to {loads.reaction[:, 2].max() / weight:.2f} weights"
)

# With the root left at the pelvis, that force would come from nowhere, and the legs would carry nothing.
knee = loads.joints.index("LeftLeg_joint")
stands = loads.support.foot == 0
print(f"left knee while it stands: {loads.supported[stands, knee].mean():.0f} N m on average; "
      f"with the root at the pelvis {loads.pelvis[stands, knee].mean():.0f} N m")  # fmt: skip
plot_loads(loads, path="loads.png")
print("drawn: loads.png")
