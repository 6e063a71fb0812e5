"""What a page draws and says, without a browser."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest

import supple
from supple import scenes
from supple.view import batch as batches_of
from supple.view import shapes
from supple.view.colours import ACTIVE, EXACT, RIGID, WORST, paint, shade
from supple.view.picking import pick
from supple.view.timeline import Timeline, fit_speed

pytest.importorskip("viser")


def turned(wxyz: np.ndarray) -> np.ndarray:
    """Rotation matrices of quaternions, w first."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(wxyz[:, [1, 2, 3, 0]]).as_matrix()


def test_rods_reach_between_the_points_of_their_bodies() -> None:
    scene = scenes.molecule(300)
    pose = supple.poses(scene.model, scene.q0)
    (batch,), missing = shapes.batches(scene.model, 10.0, scene.rods)
    assert missing == []
    wxyz, begin = batch.place(*batches_of.with_world(pose))
    end = begin + batch.scale[:, 2:] * turned(wxyz)[:, :, 2]
    ends = pose.position[:, None] + np.einsum("nij,nkj->nki", pose.rotation, scene.rods)
    np.testing.assert_allclose(begin[1:], ends[1:, 0], atol=1e-4)  # single precision, at 100 angstroms
    np.testing.assert_allclose(end[1:], ends[1:, 1], atol=1e-4)


def test_visuals_are_drawn_where_the_file_has_them(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / "part.stl")
    (tmp_path / "arm.urdf").write_text(
        """<robot name="arm"><link name="base"/>
        <joint name="j" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/></joint>
        <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
        <visual><origin xyz="0 0 0.5"/><geometry><mesh filename="part.stl" scale="2 2 2"/></geometry></visual></link>
        <joint name="k" type="continuous"><origin xyz="0 0 1"/><parent link="a"/><child link="b"/></joint>
        <link name="b"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
    )
    model = supple.load(tmp_path / "arm.urdf")
    solid, rods = shapes.batches(model, 1.0)[0]
    assert (solid.rods, solid.body.tolist(), rods.rods, rods.body.tolist()) == (False, [0], True, [1])
    world = batches_of.with_world(supple.poses(model, [np.pi / 2, 0.0]))
    wxyz, position = solid.place(*world)
    corners = position + (solid.scale * solid.vertices) @ turned(wxyz)[0].T
    np.testing.assert_allclose(corners.max(axis=0), [0.8, 0.2, 0.1], atol=1e-6)
    np.testing.assert_allclose(corners.min(axis=0), [0.2, -0.2, -0.1], atol=1e-6)
    # rays from above, through the mesh, beside it, and through the rod at x = 1
    looks = [pick([solid, rods], *world, np.array([x, 0.0, 5.0]), np.array([0.0, 0.0, -1.0])) for x in (0.5, 0.1, 1.0)]
    assert looks == [0, None, 1]


def test_colours() -> None:
    painted = paint("active", 4, np.array([1, 3]), None, 0.0)
    assert painted is not None
    assert painted.tolist() == [list(RIGID), list(ACTIVE), list(RIGID), list(ACTIVE)]
    assert shade(0.0, 1.0).tolist() == EXACT.tolist()
    assert shade(1.0, 1.0).tolist() == WORST.tolist()
    assert EXACT[0] < shade(1e-3, 1.0)[0] < WORST[0]
    assert paint("active", 4, None, None, 0.0) is None


def test_timeline_finds_states_and_spreads_them() -> None:
    scene = scenes.molecule(50)
    result = supple.simulate(scene.model, scene.q0, method="adaptive", active=5, dt=0.01, duration=1.0)
    t = Timeline(result)
    assert [t.at(x) for x in (-1.0, 0.0, 0.0149, 0.5, 9.0)] == [0, 0, 1, 50, 100]
    assert np.array_equal(t.state(37).q, result.q[37])
    spread = t.spread(11)
    assert (spread[0], spread[-1], len(spread)) == (0, 100, 11)
    assert set(np.diff(spread)) <= {9, 10, 11}
    assert [fit_speed(x) for x in (5.0, 0.5, 600.0, np.inf)] == [1.0, 0.05, 60.0, 1.0]


def test_gif_moves(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    from supple.view.export import export_gif

    model = supple.trees.chain(4)
    result = supple.simulate(model, np.full(model.nq, 0.5), dt=1e-3, duration=1.0, every=100)
    with image.open(export_gif(result, tmp_path / "p.gif", frames=5, size=(120, 90))) as picture:
        assert (picture.n_frames, picture.size) == (5, (120, 90))
    with pytest.raises(supple.ViewError, match="moving picture ends in"):
        export_gif(result, tmp_path / "p.txt")


def test_busy_port_is_refused() -> None:
    from supple.view.stage import open_server

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        with pytest.raises(supple.ViewError, match="cannot be used"):
            open_server(s.getsockname()[1])


@pytest.mark.parametrize("method", ["aba", "adaptive", "quasi-statics"])
def test_pushes_scaled_before_a_run_are_pushes_of_that_size(method: str) -> None:
    model = supple.trees.chain(6)
    push, larger = supple.Push(5, (1.0, 2.0, 3.0)), supple.Push(5, (2.5, 5.0, 7.5))
    one = supple.simulation(model, method=method, dt=1e-3, duration=0.05, forces=[push])
    one.scale_pushes(2.5)
    other = supple.simulation(model, method=method, dt=1e-3, duration=0.05, forces=[larger])
    *_, a = one
    *_, b = other
    assert np.array_equal(a.q, b.q)
    assert not np.array_equal(a.q, model.neutral())


def test_adaptive_dynamics_takes_another_error_while_it_runs() -> None:
    scene = scenes.molecule(200)
    ad = scene.adaptive_dynamics(active=20)
    ad.run(0.1, 0.01)
    assert (ad.error, ad.stats.active) == (None, 20)
    ad.error = 0.0
    ad.run(0.5, 0.01)
    assert (ad.error, ad.active) == (0.0, None)
    assert ad.stats.active > 150  # nothing that moves may be neglected
    ad.active = 7
    ad.run(0.5, 0.01)
    assert (ad.error, ad.stats.active) == (None, 7)
    with pytest.raises(supple.StateError, match="below zero"):
        ad.error = -1.0
