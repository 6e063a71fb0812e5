"""What QS prints: Table 1, and statements of section 6."""

from __future__ import annotations

FORCES = (1, 10, 100, 1000)
ERRORS = (3, 7, 11, 15, 19)  #: of Table 1, as powers of a half
DCA = {1: 875.1, 10: 873.0, 100: 875.0, 1000: 880.0}  #: milliseconds of a full step
TIME = {  #: milliseconds of a step
    1: (0.6, 0.9, 1.4, 1.9, 2.4),
    10: (0.9, 1.3, 1.8, 2.6, 3.1),
    100: (2.7, 4.1, 6.4, 7.8, 8.4),
    1000: (17.8, 21.4, 42.6, 49.2, 49.9),
}
JOINTS = {
    1: (25, 37, 47, 59, 73),
    10: (32, 45, 56, 75, 85),
    100: (39, 80, 145, 189, 206),
    1000: (41, 149, 830, 1060, 1086),
}
DISPLACEMENT = {
    1: (6e-5, 2e-6, 1e-7, 4e-9, 2e-9),
    10: (1e-4, 1e-4, 4e-7, 4e-8, 1e-8),
    100: (8e-4, 6e-4, 7e-5, 3e-6, 1e-7),
    1000: (6e-3, 2e-3, 7e-5, 2e-6, 6e-8),
}
STEPS = 4000  #: of a run
FINAL = 1e-6  #: the displacement error of the final configuration is smaller, at 2^-19 (section 6.4)
CROSSING = 1e-4  #: the error below which the millipede is slower than by divide and conquer
