"""Contact in adaptive dynamics.

stepping        runs and steps
choice          the choice of active joints
halving         the parts of a step
solution        the velocities at the end of a part
velocities      those without impulses, and those at touches
joint_forces    joint forces, which are linear in the velocities at the end
loops           closed loops
finishing       positions at the end of a part
judging         acceptance of a part, by energy and by overlap
sleeping        characters at rest
search          narrow phase: the touches of candidate pairs
clearance       candidate pairs that cannot touch yet
neighbours      the neighbour list, kept up to date
pairs           the neighbour list: all candidate pairs
boxes           bounding boxes of everything rigid
descent         candidate pairs of two nodes of the assembly tree
volumes         bounding boxes of the nodes of the assembly tree
capsules        bounding capsules of shapes and boxes
body_poses      poses and velocities of reduced bodies
node_poses      poses of nodes and shapes in the frames of reduced bodies
room            the memory, as called from Python, and results
memory          its structs of kernels
tables          tables of the model
saved           saved states
"""
