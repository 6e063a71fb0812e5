"""Rigid contact: where shapes touch, and the impulses that keep them from passing through each other.

settings           which shapes may touch, and how accurately contacts are solved
ground             the ground plane that a run adds
shape_tables       the shapes of a run, as kernels see them
exclusions         pairs of shapes that never touch
joint_limits       the joint limits that a run enforces
memory             shapes and touches, as structs of kernels
finding            all touches: where shapes touch, or may do so within a step
spans              broad phase: bounding boxes, sorted along the longest axis
points             spheres and corners against each other, planes and boxes
capsules           capsules against spheres, boxes and each other
boxes              boxes against each other
convex             cylinders and hulls against everything
outlines           faces, edges and vertices by which convex shapes touch
patches            parallel edges, and deep overlap
support            distance between convex shapes
parting            the shortest way out of an overlap
expanding          the same, by an expanding polytope
hulls              how the farthest vertex of a hull is found
heights            height fields
hills              their vertices, and the way out for shapes deep inside
volumes            bounding boxes of parts of a body, for adaptive dynamics
rows               response of velocities at touches to impulses, by the articulated-body algorithm
mechanisms         the same for bodies with closed loops: equations and memory
loop_basis         the orthonormal basis of the rows of loops
loop_projection    velocities and rows that keep loops closed
passes             the response of deep trees, such as long chains, without rows
deep_groups        which trees these are
deep               their memory
cone               the law of one touch: forces that push, and friction within Coulomb's cone
islands            sets of touches that interact
solving            all touches, island by island
sweeps             block Gauss-Seidel
walking            the same, along a deep tree
newton             Newton's method, where sweeps are slow
interior           an interior-point method, where Newton's fails
interior_step      one iteration of it
circular           the cone that it stays inside
jamming            Newton's method from impulses with which everything sticks, where bodies jam
holding            convex problems, as a last resort
relieving          smaller impulses, where they are not unique
equations          the linear equations of these methods, in whichever unknowns are fewer:
tree_equations     degrees of freedom
touch_equations    or impulses
body_equations     or, of deep trees, velocities of bodies
body_factors       the factors of these
handles            and the bodies of deep trees that touch each other
blocks             the block pattern of equations, and their elimination order
factors            their factorization and solution
impacts            impulses with restitution
blow               the impulse of one touch by itself
outcomes           outcomes of a step, or of a part of one
landing            velocities of a part of a step
velocity_products  bias forces at other velocities, and the turning axes of free joints
asides             touches that are too far open to take part
striking           trees that are struck in a part
bouncing           restitution within a step
warm_start         initial impulses, from the previous step
part_length        how long a part may be
part_solution      the velocities at the end of a part
judging            acceptance of a part, by energy and by overlap
finishing          positions at the end of a part
tree_groups        trees that touch each other, which overlap may keep from moving apart
overlap            removal of overlap
opening            the same, at one touch
stepping           a time step
exerting           impulses summed over the parts of a step, as results report them
room               the memory of a run, and the host side of a step
"""
