"""Bodies that touch: where they do, and the forces and impulses by which they do not pass through each other.

settings         what of a model may touch what, and how accurately that is solved
ground           the plane that a run adds
memory           shapes, and the places where they touch, as compiled code sees them
finding          all places where shapes touch, or may within a step
spans            boxes around shapes, sorted along the longest axis
points           spheres and corners against each other, planes and boxes
capsules         capsules against spheres, boxes and each other
boxes            boxes against each other
convex           cylinders and hulls against everything
outlines         faces, lines and points by which convex shapes touch
patches          parallel lines, and what overlaps deeply
support          how far apart convex shapes are
parting          the shortest way out of an overlap
expanding        the same, by an expanding polytope
hulls            how the farthest corner of a hull is found
heights          height fields
hills            their corners, and the way out for what is deep inside
volumes          boxes around parts of a body, for adaptive dynamics
rows             how velocities at these places answer to forces there, by the articulated-body algorithm
mechanisms       the same of bodies whose loops stay closed
passes           the same of deep trees, such as long chains, without rows
deep_groups      which trees these are
deep             their memory
cone             one place: forces that push, and friction within Coulomb's cone
islands          which of them have to do with each other
solving          all of them, island by island
sweeps           one after the other, again and again
walking          the same, along a deep tree
newton           all at once, where sweeps are slow
interior         all at once, where that fails
interior_step    one step of it
circular         the cone that it keeps inside
jamming          from impulses that let everything stick, where bodies jam
holding          convex problems, where nothing else is left
equations        their equations, in whichever unknowns are fewer:
tree_equations   degrees of freedom
touch_equations  or impulses
body_equations   or, of deep trees, velocities of bodies
body_factors     the factors of these
handles          and the bodies that touch each other
blocks           the pattern of their equations, and the order in which they are solved
factors          their solution
impacts          impulses with restitution
blow             the impulse of one touch by itself
landing          velocities of a part of a step
asides           touches that are too far open to take part
striking         trees that are struck in it
judging          whether a part may stand: by energy, and by overlap
finishing        where it leads
overlap          shapes that overlap are moved apart
opening          one touch of these
stepping         a step of time
exerting         the impulses of all parts of a step, as results have them
room             the memory of steps, and what is said of one
"""
