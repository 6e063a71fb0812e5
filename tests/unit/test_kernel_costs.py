"""What our kernels execute, by formula, against counting it: to the last operation."""

from __future__ import annotations

import numpy as np

from supple.costs.kernels import FORMULAS, kernel_costs, written
from supple.costs.matrices import Cost
from supple.model import trees
from supple.model.joints import JointType
from supple.reproduce.counting import counts
from supple.reproduce.vw_methods import SYSTEMS

NAMES = {"aba": "ABA", "crba": "CRBA + LTDL", "virtual-work": "virtual work"}


def test_formulas_are_what_is_counted():
    """Random forests of every joint type."""
    systems = [f"forest:{seed}" for seed in (1, 2)]
    kinds = set()
    for name, found in counts(systems, "supple.reproduce.vw_counts").items():
        model = SYSTEMS["forest"](int(name.partition(":")[2]))
        kinds |= set(model.joint_type.tolist())
        for method, cost in kernel_costs(model).items():
            counted = found[NAMES[method]]
            assert cost == Cost(counted.m, counted.a, counted.div, counted.sqrt)
    assert kinds == set(JointType) - {JointType.FIXED}


def test_a_formula_is_written_with_the_models_own_joints():
    model = trees.from_parents(np.array([-1, 0, 0]), joint=["free", "revolute", "revolute"])
    assert written(model, "virtual-work") == (
        "2 revolute (810m + 649a + 7 div) + 1 free (1411m + 1167a + 13 div) + branches (272m + 276a) + 3a "
        "- 1 on the world (292m + 273a)"
    )
    assert "D1 (9m + 7a)" in written(model, "crba")
    assert set(FORMULAS["aba"].joints) == set(JointType) - {JointType.FIXED}
