"""A time step with contact: its parts, their velocities and positions, and which of them are accepted.

stepping        a time step
part_length     how long a part may be
warm_start      initial impulses, from the previous step
landing         velocities of a part of a step
asides          touches that are too far open to take part
striking        trees that are struck in a part
part_solution   the velocities at the end of a part
bouncing        restitution within a step
finishing       positions at the end of a part
overlap         removal of overlap
judging         acceptance of a part, by energy and by overlap
exerting        impulses summed over the parts of a step, as results report them
"""
