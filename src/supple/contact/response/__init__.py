"""The response of velocities to impulses at touches.

rows                response of velocities at touches to impulses, by the articulated-body algorithm
mechanisms          the same for bodies with closed loops: equations and memory
loop_basis          the orthonormal basis of the rows of loops
loop_projection     velocities and rows that keep loops closed
passes              the response of deep trees, such as long chains, without rows
deep_groups         which trees these are
velocity_products   bias forces at other velocities, and the turning axes of free joints
"""
