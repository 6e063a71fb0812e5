"""Where an MJCF file lets a run begin: its qpos0, which MuJoCo starts from and model.neutral() has not."""

from __future__ import annotations

import ast
import re

import numpy as np
from numpy.typing import NDArray

from supple.model.model import Model

START = "qpos0"  #: the subject of remarks on joints that do not begin at zero [mjcf_remarks.py]
_SAID = re.compile(r"joint (?P<name>'.*'|\".*\"): the file begins at qpos (?P<qpos>\[[-+.,e\d ]*\])", re.DOTALL)


def start_of(model: Model) -> NDArray[np.float64]:
    """(nq,) the position in which the file of a model begins: the neutral one, unless a remark says otherwise."""
    q = model.neutral()
    for remark in model.report.about(START):
        said = _SAID.match(remark.message)
        name = "" if said is None else str(ast.literal_eval(said["name"]))
        if said is None or name not in model.joints:
            continue
        joint, values = model.joints[name], np.array(ast.literal_eval(said["qpos"]), dtype=float)
        if joint.type == "free" and len(values) == 7:
            values = values[[0, 1, 2, 4, 5, 6, 3]]  # MuJoCo's quaternions begin with w
        if len(values) == joint.q.stop - joint.q.start and np.isfinite(values).all():
            q[joint.q] = values
    return model.normalize(q)
