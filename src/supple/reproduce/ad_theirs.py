"""What AD prints: the times of Figure 5, Table 1, and statements of section 7."""

from __future__ import annotations

FIGURE_5 = {300: 5.0, 100: 1.7, 50: 0.7, 20: 0.25, 1: 0.02}  #: active joints: milliseconds of a step, about

ONE_OF_ALL = FIGURE_5[300] / FIGURE_5[1]
DCA_OVER_ABA = 3.0  #: operations on one processor, about (section 7.2)

FORCES = (1, 5, 10, 20, 50, 250)
TABLE_1 = {  #: forces: milliseconds of a step, for six sizes of the active region, which are lost
    1: (0.02, 0.51, 1.71, 2.97, 4.04, 5.40),
    5: (0.07, 0.49, 1.54, 3.21, 4.34, 5.19),
    10: (0.16, 0.73, 1.47, 3.03, 4.22, 5.16),
    20: (0.40, 0.90, 1.60, 3.00, 4.72, 5.56),
    50: (0.98, 1.40, 2.16, 3.58, 4.99, 5.59),
    250: (1.83, 2.30, 2.97, 4.28, 5.43, 6.31),
}
DCA = {1: 5.89, 5: 5.89, 10: 5.88, 20: 5.90, 50: 5.92, 250: 6.04}  #: forces: milliseconds of a full step

#: The sizes that Table 1 has lost, as shares of all joints: what its times suggest, about 28, 92, 175 and 237 of 300.
SHARES = (1 / 300, 0.10, 1 / 3, 175 / 300, 0.80, 1.0)
