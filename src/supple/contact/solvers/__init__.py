"""Impulses that satisfy the contact law, by the response of velocities to them.

cone              the law of one touch: forces that push, and friction within Coulomb's cone
solving           all touches, island by island
sweeps            block Gauss-Seidel
walking           the same, along a deep tree
newton            Newton's method, where sweeps are slow
interior          an interior-point method, where Newton's fails
interior_step     one iteration of it
circular          the cone that it stays inside
jamming           Newton's method from impulses with which everything sticks, where bodies jam
holding           convex problems, as a last resort
relieving         smaller impulses, where they are not unique
equations         the linear equations of these methods, in whichever unknowns are fewer:
tree_equations    degrees of freedom
touch_equations   or impulses
body_equations    or, of deep trees, velocities of bodies
body_factors      the factors of these
handles           and the bodies of deep trees that touch each other
factors           their factorization and solution
impacts           impulses with restitution
blow              the impulse of one touch by itself
opening           the same, at one touch
"""
