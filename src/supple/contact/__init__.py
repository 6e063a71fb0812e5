"""Bodies that touch: where they do, and the forces and impulses by which they do not pass through each other.

settings     what of a model may touch what, and how accurately that is solved
memory       shapes, and the places where they touch, as compiled code sees them
finding      all places where shapes touch, or may within a step
points       spheres and corners against each other, planes and boxes
capsules     capsules against spheres, boxes and each other
boxes        boxes against each other
convex       cylinders and hulls against everything
outlines     faces, lines and points by which convex shapes touch
patches      parallel lines, and what overlaps deeply
support      how far apart convex shapes are
heights      height fields
hills        their corners, and the way out for what is deep inside
rows         how velocities at these places answer to forces there, by the articulated-body algorithm
cone         one place: forces that push, and friction within Coulomb's cone
islands      which of them have to do with each other
solving      all of them, island by island
sweeps       one after the other, again and again
newton       all at once, where sweeps are slow
interior     all at once, where that fails
circular     the cone that it keeps inside
blocks       the pattern of their equations, and the order in which they are solved
factors      their solution
impacts      impulses with restitution
landing      velocities of a part of a step
judging      whether a part may stand: by energy, and by overlap
finishing    where it leads
stepping     a step of time
room         the memory of steps, and what is said of one
"""
