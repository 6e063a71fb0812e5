"""Rigid contact: where shapes touch, and the impulses that keep them from passing through each other.

room             the memory of a run, and the host side of a step
steps            a time step: its parts, their velocities and positions, and which of them are accepted
solvers          impulses that satisfy the contact law
response         the response of velocities to impulses
geometry         where shapes touch
settings         which shapes may touch, and how accurately contacts are solved
ground           the ground plane that a run adds
shape_tables     the shapes of a run, as kernels see them
exclusions       pairs of shapes that never touch
joint_limits     the joint limits that a run enforces
memory           shapes and touches, as structs of kernels
deep             the memory of deep trees, such as long chains
islands          sets of touches that interact
tree_groups      trees that touch each other, which overlap may keep from moving apart
blocks           the block pattern of linear equations, and their elimination order
outcomes         outcomes of a step, or of a part of one
"""
