"""Where `supple run` begins with an MJCF file: where MuJoCo does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import supple
from supple.files.mjcf_start import start_of
from supple.request import Request

mujoco = pytest.importorskip("mujoco")

FILE = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
<body name="it's &quot;a&quot;" pos="1 2 3" euler="10 20 30"><freejoint name="a 'b' &quot;c&quot;"/><geom size=".1"/>
<body pos="0 0 .2"><joint name="hinge" type="hinge" ref=".5"/><geom size=".1"/></body></body>
<body pos="4 0 1e-7"><freejoint/><geom size=".1"/></body>
<body pos="7 0 0"><joint name="ball" type="ball"/><geom size=".1"/></body></worldbody></mujoco>"""


def test_a_run_begins_where_mujoco_does(tmp_path: Path) -> None:
    path = tmp_path / "file.xml"
    path.write_text(FILE)
    model = supple.load(path)
    expected, _ = supple.from_mujoco(model, mujoco.MjModel.from_xml_path(str(path)).qpos0)
    np.testing.assert_allclose(start_of(model), expected, atol=1e-12)
    assert not np.allclose(expected, model.neutral())
    run = Request(str(path), contacts=True, duration=0.01).simulation()
    np.testing.assert_allclose(run.cursor.q, expected, atol=1e-12)
