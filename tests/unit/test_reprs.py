"""What objects say of themselves: one line each, with names and sizes, whatever the size."""

from __future__ import annotations

import numpy as np
import pytest

import supple
from supple import scenes
from supple.files.bvh import load_bvh
from supple.model import trees
from supple.scenes import walk_bvh
from supple.walking.walkers import walk


@pytest.fixture(scope="module")
def arm() -> supple.Model:
    b = supple.ModelBuilder("arm")
    upper = b.add_body(
        "upper",
        axis=(0, 1, 0),
        mass=2.0,
        com=(0, 0, -0.25),
        inertia=(1, 1, 1),
        joint_name="shoulder",
        lower=-1,
        upper=2,
    )
    b.add_body("lower", upper, "ball", position=(0, 0, -0.5), mass=1.0, com=(0, 0, -0.2), inertia=(1, 1, 1))
    b.add_frame("tip", "lower", position=(0, 0, -0.4))
    return b.build()


def test_parts_of_a_model(arm: supple.Model):
    assert repr(arm.joints["shoulder"]) == (
        "<Joint 0 'shoulder': revolute, q[0:1], v[0:1], axis [0, 1, 0], limits [-1] to [2]>"
    )
    assert repr(arm.bodies["upper"]).startswith("<Body 0 'upper': mass 2, com [0, 0, -0.25], moments of inertia [")
    assert repr(arm.frames["tip"]) == "<Frame 'tip' on body 1 at [0, 0, -0.4]>"
    assert repr(supple.ModelBuilder("x")) == "<ModelBuilder 'x': 0 bodies, not built yet>"


def test_a_notebook_shows_the_tree_of_a_model():
    b = supple.ModelBuilder("a <b> & c")
    b.add_body("x<y", mass=1.0, inertia=(1, 1, 1))
    html = b.build()._repr_html_()
    assert "a &lt;b&gt; &amp; c" in html and "x&lt;y" in html and "1 body, nq=1" in html and "<pre>" in html


def test_what_is_computed(arm: supple.Model):
    q, v = arm.random(0), np.ones(4)
    assert repr(supple.poses(arm, q)) == "<Poses: rotation (2, 3, 3), position (2, 3)>"
    assert repr(supple.virtual_work(arm, q, v)) == "<VirtualWork: accelerations (4,), wrenches (2, 6)>"
    first = supple.multipliers(arm, q, v)[0]
    assert repr(first).startswith("<Multiplier of 5 constraints: n [")
    H = supple.mass_matrix(arm, q, sparse=True)
    assert repr(H.pattern) == "<Pattern of 4 rows, 10 numbers on and below the diagonal>"
    free = trees.humanoid()
    new = supple.reroot(free, free.neutral(), body=5, joint="free")
    assert repr(new).startswith(f"<Rerooted from {free.body_names[0]!r} to {free.body_names[5]!r}: <Model ")


def test_what_is_pushed():
    scene = scenes.millipede(2, 3, 6)
    assert repr(scene).startswith("<Scene: Model 'millipede': 12 bodies") and "; 1 push; adaptive, 2 s" in repr(scene)
    qs, ad = scene.quasi_statics(), scene.adaptive_dynamics(4)
    allowed = "error at most 0.000191% of the largest joint acceleration"
    assert repr(qs) == f"<QuasiStatics of 'millipede', 12 joints under 1 force: {allowed}, after 0 steps>"
    assert "error allowed 2% of the velocity of all joints" in repr(scene.adaptive_dynamics(error=0.02))
    assert repr(ad).startswith("<AdaptiveDynamics of 'millipede' under 1 force: ")
    assert repr(qs.solve()).startswith("<Approximation: ") and "of a body with nv=12" in repr(qs.solve())
    assert "% of the largest joint acceleration, |qdd|" in repr(qs.solve())
    push = qs.apply(3, force=(0, 0, 2))
    assert repr(push) == f"<Push on {scene.model.body_names[3]!r}: force [0, 0, 2]>"
    push.remove()
    assert repr(push).endswith(", removed>")
    assert repr(ad.spring(3, (1, 2, 3), 50.0)).endswith("to [1, 2, 3], 50 N/m>")


def test_walks_and_captured_motion():
    walker = scenes.compass()
    step = walk(walker, 1)[0]
    assert repr(walker).startswith("<Walker 'compass' on ") and repr(step).startswith("<Step on ")
    assert " J lost>" in repr(step)
    assert repr(supple.gait(walker)).startswith("<Gait of 'compass': stable, period of 1 step: 0.734379104")
    clip = load_bvh(walk_bvh.FILE)
    loads = supple.motion_loads(clip)
    assert repr(clip).startswith("<Clip of ") and f"{len(clip)} frames" in repr(clip)
    assert repr(loads).startswith("<Loads of ") and "times on a foot" in repr(loads)
    assert len(loads.plot().axes) == 2


def test_no_repr_breaks_the_line(arm: supple.Model):
    scene = scenes.molecule(40)
    shown = [arm, arm.joints, arm.joints[0], arm.bodies[1], arm.frames[0], scene, scene.pushes, scene.springs]
    assert all("\n" not in repr(x) and len(repr(x)) < 200 for x in shown)
