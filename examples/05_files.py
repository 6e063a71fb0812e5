"""A robot from a URDF file: what is in it, what of it is not used, a Jacobian, a force at its hand."""

import tempfile
from pathlib import Path

import numpy as np

import supple

URDF = """<robot name="boom">
  <link name="ground"/>
  <link name="mast"><inertial><origin xyz="0 0 1"/><mass value="80"/>
    <inertia ixx="30" iyy="30" izz="2" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="boom"><inertial><origin xyz="1.5 0 0"/><mass value="40"/>
    <inertia ixx="1" iyy="30" izz="30" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="hook"/>
  <joint name="turn" type="continuous"><parent link="ground"/><child link="mast"/><axis xyz="0 0 1"/></joint>
  <joint name="raise" type="revolute"><parent link="mast"/><child link="boom"/><origin xyz="0 0 2"/>
    <axis xyz="0 -1 0"/><limit lower="0" upper="1.2" effort="4000" velocity="1"/></joint>
  <joint name="tip" type="fixed"><parent link="boom"/><child link="hook"/><origin xyz="3 0 0"/></joint>
  <transmission name="motor"/>
</robot>"""

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "boom.urdf"
    file.write_text(URDF)
    crane = supple.load(file)

print(crane.tree())
print("frames:", list(crane.frames))  # what fixed joints carry becomes named frames
for remark in crane.report:  # nothing is dropped in silence
    print("remark:", remark)

q, v = np.array([0.3, 0.8]), np.array([0.2, 0.0])
J = supple.jacobian(crane, q, "hook")  # (6, nv), angular first, along the world's axes
print("the hook moves at", J[3:] @ v, "m/s")

# A load of 50 kg at the hook: as a wrench on the boom, or through the Jacobian.
load = np.array([0.0, 0.0, -50 * 9.81])
wrenches = supple.wrench(crane, "boom", force=load, point=crane.frames["hook"].position, q=q)
a = supple.forward_dynamics(crane, q, v, wrenches=wrenches)
assert np.allclose(a, supple.forward_dynamics(crane, q, v, tau=J[3:].T @ load))
print("torque that holds boom and load:", supple.bias_force(crane, q, wrenches=wrenches)[1], "N m")
