"""What a page draws and says, without a browser."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import supple
from supple import scenes
from supple.simulating.contacts import force_on
from supple.simulating.run import follow
from supple.viewing import shapes
from supple.viewing.batch import with_world
from supple.viewing.colours import ACTIVE, EXACT, RIGID, WORST, paint, shade
from supple.viewing.live import Live
from supple.viewing.panel import numbers, place_of
from supple.viewing.picking import pick
from supple.viewing.solids import solids, touching_solids
from supple.viewing.timeline import Timeline, fit_speed

pytest.importorskip("viser")


def turned(wxyz: np.ndarray) -> np.ndarray:
    """Rotation matrices of quaternions, w first."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(wxyz[:, [1, 2, 3, 0]]).as_matrix()


def test_rods_reach_between_the_points_of_their_bodies() -> None:
    scene = scenes.molecule(300)
    pose = supple.poses(scene.model, scene.q0)
    (batch, balls), missing = shapes.batches(scene.model, pose, scene.rods)
    assert (missing, batch.kind, balls.kind) == ([], "rod", "ball")
    wxyz, begin = batch.place(*with_world(pose))
    end = begin + batch.scale[:, 2:] * turned(wxyz)[:, :, 2]
    ends = pose.position[:, None] + np.einsum("nij,nkj->nki", pose.rotation, scene.rods)
    assert batch.body.tolist() == list(range(1, 300))  # the first atom hangs on no other
    np.testing.assert_allclose(begin, ends[1:, 0], atol=1e-4)  # single precision, at 100 angstroms
    np.testing.assert_allclose(end, ends[1:, 1], atol=1e-4)
    np.testing.assert_allclose(balls.place(*with_world(pose))[1], pose.position, atol=1e-4)


def one_body(inertia: Any, com: Any, mass: float = 2.0) -> supple.Model:
    builder = supple.ModelBuilder("one")
    builder.add_body("a", mass=mass, com=com, inertia=inertia)
    return builder.build()


@pytest.mark.parametrize("seed", range(5))
def test_rods_are_as_thick_as_their_bodies(seed: int) -> None:
    """An elliptic cylinder of random axes, turned at random: its mass, spread evenly, has the moments it is given."""
    rng = np.random.default_rng(seed)
    a, b, length = rng.uniform(0.05, 0.2), rng.uniform(0.05, 0.2), rng.uniform(0.5, 1.0)
    R = turned(rng.standard_normal((1, 4)))[0]
    spread = np.diag([a * a / 4, b * b / 4, length * length / 12])
    mass = rng.uniform(0.1, 10.0)
    inertia = R @ (mass * (np.trace(spread) * np.eye(3) - spread)) @ R.T
    model = one_body(inertia, 0.5 * length * R[:, 2], mass)
    (rod,), _ = shapes.batches(model, supple.poses(model, model.neutral()))
    np.testing.assert_allclose(rod.scale[0], [2 * max(a, b), 2 * min(a, b), length], rtol=1e-9)
    widest = R[:, 0] if a > b else R[:, 1]
    assert abs(rod.rotation[0][:, 0] @ widest) == pytest.approx(1.0)


def test_mass_at_an_end_is_a_ball_there() -> None:
    builder = supple.ModelBuilder("two")
    builder.add_body("arm", mass=1.0, com=(0.0, 0.0, -1.0), inertia=0.4 * 0.1**2 * np.eye(3))
    builder.add_body("next", "arm", position=(0.0, 0.0, -1.0), mass=1.0, com=(0.1, 0.0, 0.0), inertia=np.eye(3))
    model = builder.build()
    rods, balls = shapes.batches(model, supple.poses(model, model.neutral()))[0]
    assert balls.body.tolist() == [0]
    np.testing.assert_allclose(balls.begin, [[0.0, 0.0, -1.0]])
    np.testing.assert_allclose(balls.scale, 0.2)  # a ball of radius 0.1
    assert rods.scale[0, 0] < balls.scale[0, 0]


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
    solid, rods = shapes.batches(model, supple.poses(model, [0.0, 0.0]))[0]
    assert (solid.kind, solid.body.tolist(), rods.kind, rods.body.tolist()) == ("solid", [0], "rod", [1])
    world = with_world(supple.poses(model, [np.pi / 2, 0.0]))
    wxyz, position = solid.place(*world)
    corners = position + (solid.scale * solid.vertices) @ turned(wxyz)[0].T
    np.testing.assert_allclose(corners.max(axis=0), [0.8, 0.2, 0.1], atol=1e-6)
    np.testing.assert_allclose(corners.min(axis=0), [0.2, -0.2, -0.1], atol=1e-6)
    # rays from above, through the mesh, beside it, and through the rod at x = 1
    looks = [pick([solid, rods], *world, np.array([x, 0.0, 5.0]), np.array([0.0, 0.0, -1.0])) for x in (0.5, 0.1, 1.0)]
    assert looks == [0, None, 1]


def test_colours() -> None:
    model = supple.trees.chain(4)
    state = supple.State(0.0, model.neutral(), np.zeros(4), model, np.array([1, 3]))
    painted = paint("active", state, 0.0)
    assert painted is not None
    assert painted.tolist() == [list(RIGID), list(ACTIVE), list(RIGID), list(ACTIVE)]
    assert shade(0.0, 1.0).tolist() == EXACT.tolist()
    assert shade(1.0, 1.0).tolist() == WORST.tolist()
    assert EXACT[0] < shade(1e-3, 1.0)[0] < WORST[0]
    assert paint("active", state.replace(active_joints=None), 0.0) is None


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


def test_busy_port_is_refused() -> None:
    from supple.viewing.stage import open_server

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        with pytest.raises(supple.ViewError, match="cannot be used"):
            open_server(s.getsockname()[1])


@pytest.mark.parametrize("method", ["aba", "adaptive", "quasi-statics"])
def test_pushes_scaled_before_a_run_are_pushes_of_that_size(method: str) -> None:
    model = supple.trees.chain(6)
    push, larger = supple.Push(5, (1.0, 2.0, 3.0)), supple.Push(5, (2.5, 5.0, 7.5))
    one = supple.Simulation(model, method=method, dt=1e-3, duration=0.05, forces=[push])
    one.scale_pushes(2.5)
    other = supple.Simulation(model, method=method, dt=1e-3, duration=0.05, forces=[larger])
    *_, a = one
    *_, b = other
    assert np.array_equal(a.q, b.q)
    assert not np.array_equal(a.q, model.neutral())


def test_adaptive_dynamics_takes_another_error_while_it_runs() -> None:
    scene = scenes.molecule(200)
    ad = scene.adaptive_dynamics(active=20)
    ad.run(0.1, 0.01)
    assert (ad.error, ad.stats.active_count) == (None, 20)
    ad.error = 0.0
    ad.run(0.5, 0.01)
    assert (ad.error, ad.active) == (0.0, None)
    assert ad.stats.active_count > 150  # nothing that moves may be neglected
    ad.active = 7
    ad.run(0.5, 0.01)
    assert (ad.error, ad.stats.active_count) == (None, 7)
    with pytest.raises(supple.StateError, match=">= 0"):
        ad.error = -1.0


def test_very_many_rods_are_dots_in_their_middles(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = scenes.molecule(300)
    monkeypatch.setattr(shapes, "SIMPLY", 100)
    monkeypatch.setattr(shapes, "DOTS", 200)
    pose = supple.poses(scene.model, scene.q0)
    (dots,), _ = shapes.batches(scene.model, pose, scene.rods)
    assert dots.dots
    ends = pose.position[:, None] + np.einsum("nij,nkj->nki", pose.rotation, scene.rods)
    np.testing.assert_allclose(dots.middles(*with_world(pose))[1:], ends.mean(axis=1)[1:], atol=1e-4)


COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="centimeter" meter="0.01"/><up_axis>Z_UP</up_axis></asset>
<library_effects>{effects}</library_effects><library_materials>{materials}</library_materials>
<library_geometries>{geometries}</library_geometries>
<library_visual_scenes><visual_scene id="s">{nodes}</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def collada(colours: dict[str, str]) -> str:
    """A triangle of 100 units for each colour."""

    def all_of(text: str) -> str:
        return "".join(text.replace("NAME", name).replace("RGBA", rgba) for name, rgba in colours.items())

    return COLLADA.format(
        effects=all_of(
            '<effect id="NAME-e"><profile_COMMON><technique sid="t"><lambert><diffuse><color>RGBA</color></diffuse>'
            "</lambert></technique></profile_COMMON></effect>"
        ),
        materials=all_of('<material id="NAME-m"><instance_effect url="#NAME-e"/></material>'),
        geometries=all_of(
            '<geometry id="NAME-g"><mesh><source id="NAME-p"><float_array id="NAME-f" count="9">0 0 0 100 0 0 0 100 0'
            '</float_array><technique_common><accessor source="#NAME-f" count="3" stride="3"><param name="X" '
            'type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common>'
            '</source><vertices id="NAME-v"><input semantic="POSITION" source="#NAME-p"/></vertices>'
            '<triangles count="1" material="used"><input semantic="VERTEX" source="#NAME-v" offset="0"/><p>0 1 2</p>'
            "</triangles></mesh></geometry>"
        ),
        nodes=all_of(
            '<node id="NAME-n"><instance_geometry url="#NAME-g"><bind_material><technique_common><instance_material '
            'symbol="used" target="#NAME-m"/></technique_common></bind_material></instance_geometry></node>'
        ),
    )


def test_meshes_have_their_own_colours_and_units(tmp_path: Path) -> None:
    pytest.importorskip("collada")
    (tmp_path / "part.dae").write_text(collada({"red": "1 0 0 1", "blue": "0 0 1 1"}))
    body = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    shape = '<geometry><mesh filename="part.dae"/></geometry>'
    green = '<material name="g"><color rgba="0 1 0 1"/></material>'
    (tmp_path / "arm.urdf").write_text(
        f"""<robot name="arm"><link name="base"/>
        <joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint>
        <link name="a"><inertial>{body}</inertial><visual>{shape}</visual></link>
        <joint name="k" type="continuous"><parent link="a"/><child link="b"/></joint>
        <link name="b"><inertial>{body}</inertial><visual>{shape}{green}</visual></link></robot>"""
    )
    model = supple.load(tmp_path / "arm.urdf")
    pose = supple.poses(model, model.neutral())
    made, missing = shapes.batches(model, pose)
    assert missing == []
    assert sorted(b.own.tolist() for b in made) == [[[0, 0, 255], [0, 255, 0]], [[255, 0, 0], [0, 255, 0]]]
    assert [b.vertices.max() for b in made] == pytest.approx([1.0, 1.0])  # metres
    (tmp_path / "part.dae").unlink()
    made, missing = shapes.batches(model, pose)
    assert {b.kind for b in made} <= {"rod", "ball"}
    assert missing == [f"{tmp_path / 'part.dae'}: is not there any more"]


def watched(run: supple.Simulation, **how: Any) -> tuple[Any, supple.Result]:
    """A run to its end in a page that nobody opens."""
    from supple.viewing.stage import close_server, open_server

    server = open_server(0)
    try:
        live = Live(server, run)
        live._speed.value = 1e9
        return live, follow(run, watch=live.look, **how)
    finally:
        close_server(server)


def test_watched_run_is_the_run_that_it_would_have_been(tmp_path: Path) -> None:
    scene = scenes.molecule(100)
    how = dict(method="adaptive", active=10, dt=0.01, duration=1.0, forces=scene.all_forces())
    alone = supple.simulate(scene.model, scene.q0, **how)
    file = tmp_path / "run.h5"
    _, seen = watched(supple.Simulation(scene.model, scene.q0, **how), record=file)
    assert not seen.about["steered"]
    assert np.array_equal(alone.q, seen.q)
    assert np.array_equal(alone.v, seen.v)
    longer = supple.simulate(scene.model, scene.q0, **how | {"duration": 1.5}, record=file, resume=True)
    assert longer.times[-1] == 1.5


@pytest.mark.parametrize("active", [5, [1, 2]])
def test_sliders_are_for_what_may_be_changed(active: Any) -> None:
    """With a list of active joints there is nothing to choose."""
    scene = scenes.molecule(20)
    run = supple.Simulation(scene.model, scene.q0, method="adaptive", active=active, dt=0.01, duration=0.01)
    labels = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Live, "_slider", lambda live, name, slider: labels.append(name))
        watched(run)
    assert labels == (["active", "error"] if active == 5 else [])


def test_steered_run_says_so_and_does_not_go_on(tmp_path: Path) -> None:
    scene = scenes.molecule(100)
    how = dict(method="quasi-statics", error=1e-2, dt=1e-4, duration=1e-3, forces=scene.all_forces())
    run = supple.Simulation(scene.model, scene.q0, **how)
    look = Live.look

    def move(live: Any, sample: Any) -> None:
        if sample.piece.times[-1] == pytest.approx(5e-4):
            live._wishes.leave("error", -6.0)  # as sliders do
            live._wishes.leave("force", 2.0)
        look(live, sample)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Live, "look", move)
        _, seen = watched(run, record=tmp_path / "run.h5")
    assert seen.about["steered"]
    assert {e.name for e in seen.events} == {"error 1e-06", "force x 2"}
    assert [e.time for e in seen.events] == pytest.approx([5e-4, 5e-4])
    counts, error = seen.active_counts, seen.error
    assert counts is not None and error is not None
    assert counts[-1] > counts[4]
    assert error[-1] <= 1e-6 < error[4]
    with pytest.raises(supple.RecordingError, match="steered by hand"):
        supple.simulate(scene.model, scene.q0, **how | {"duration": 2e-3}, record=tmp_path / "run.h5", resume=True)


def test_recording_is_followed_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from supple.record import recorder
    from supple.viewing import growing
    from supple.viewing.player import Player
    from supple.viewing.stage import close_server, open_server

    monkeypatch.setattr(growing, "LOOKS", 0.0)
    monkeypatch.setattr(recorder.Recorder, "due", property(lambda self: True))
    model = supple.trees.chain(4)
    server, seen = open_server(0), []
    player: Any = None

    def look(sample: Any) -> None:
        nonlocal player
        if player is None:
            player = Player(server, supple.load_run(tmp_path / "run.h5"))
        player._grow()
        seen.append((len(player.timeline), int(player._slider.value)))
        assert sum(player._plots._handles["energy"].data[-1]) == 1  # up to the frame that is drawn: the first

    try:
        run = supple.Simulation(model, np.full(model.nq, 0.5), dt=1e-3, duration=0.01)
        run.cursor.watched = True
        result = follow(run, tmp_path / "run.h5", watch=look)
        player._grow()
        assert player.timeline._models[0] is player._panel.stage.model  # nothing is drawn anew
    finally:
        close_server(server)
    assert seen[0] == (1, 0)
    assert 1 < seen[-1][0] <= len(result)
    assert len(player.timeline) == len(result) == 11
    assert not player._growing.goes_on  # nobody writes it any more
    player._growing.close()


def test_contacts_of_a_recording_that_is_written_are_those_of_each_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of states that were not there when the page was opened: a ball that was in the air then, and lies now."""
    from supple.record import recorder
    from supple.viewing import growing
    from supple.viewing.player import Player
    from supple.viewing.stage import close_server, open_server

    monkeypatch.setattr(growing, "LOOKS", 0.0)
    monkeypatch.setattr(recorder.Recorder, "due", property(lambda self: True))
    b = supple.ModelBuilder("ball")
    b.add_body("ball", joint="free", mass=2.0, inertia=(0.01, 0.01, 0.01))
    b.add_shape("ball", "sphere", (0.1,))
    model = b.build()
    q = model.neutral()
    q[2] = 0.2
    server, player = open_server(0), None

    def look(sample: Any) -> None:
        nonlocal player
        player = player or Player(server, supple.load_run(tmp_path / "run.h5"))
        player._grow()

    try:
        run = supple.Simulation(model, q, dt=5e-3, duration=0.5, contacts=supple.Contacts(ground=0.0))
        run.cursor.watched = True
        follow(run, tmp_path / "run.h5", watch=look)
        assert player is not None
        player._grow()
        found = []
        for frame in (1, len(player.timeline) - 1):
            player._draw(frame)
            arrows = player._panel.stage.scenery.arrows
            found.append((float(arrows.times[0]), arrows.largest))
        player._growing.close()
    finally:
        close_server(server)
    assert found == [(5e-3, 0.0), (0.5, pytest.approx(2.0 * 9.81, rel=1e-3))]


def test_page_without_viser_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from supple.viewing.stage import open_server

    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(supple.ViewError, match=r"pip install 'supple\[view\]'"):
        open_server(0)


def test_export_takes_fewer_states_of_larger_bodies() -> None:
    from supple.viewing.export import FRAMES, frames_for

    model = supple.trees.chain(4)
    result = supple.simulate(model, dt=1e-3, duration=1.0)
    assert len(frames_for(Timeline(result), None)) == FRAMES
    assert len(frames_for(Timeline(result), 1000)) == 1000
    with pytest.raises(supple.ViewError, match="at least one"):
        frames_for(Timeline(result), 0)


@pytest.mark.parametrize(("kind", "size"), [("sphere", ()), ("cylinder", (1.0,)), ("capsule", ()), ("capsule", (0, 0))])
def test_shapes_without_their_sizes_are_not_drawn(kind: str, size: tuple[float, ...]) -> None:
    builder = supple.ModelBuilder("b")
    builder.add_body("a", mass=1.0, inertia=np.eye(3))
    builder.add_visual("a", kind, size)
    model = builder.build()
    drawn, failed, left_out = solids(model)
    assert not drawn and f"a {kind}" in failed[0] and left_out == list(model.visuals)


@pytest.mark.parametrize("planes", [1, 2])
def test_a_plane_is_the_ground_and_planes_that_are_not_are_said(planes: int) -> None:
    b = supple.ModelBuilder()
    b.add_body("ball", joint="free", mass=1.0, inertia=np.eye(3))
    b.add_shape("ball", "sphere", [0.1])
    for _ in range(planes):
        b.add_visual(None, "plane", (1.0, 1.0))
        b.add_shape(None, "plane", position=(0.0, 0.0, -0.2))
    model = b.build()
    run = supple.simulate(model, duration=0.01, contacts=True)
    drawn, failed, _ = solids(model)
    assert not drawn and (run.ground is None) == (planes > 1)
    if planes == 1:
        np.testing.assert_array_equal(run.ground, (0.0, 0.0, 1.0, -0.2))
        assert failed == []
    else:
        assert set(failed) == {"a plane"}


def test_bodies_whose_visuals_cannot_be_drawn_have_their_contact_shapes(tmp_path: Path) -> None:
    """The trunk keeps a small visual beside the mesh that is left out; the leg has only the mesh; the tail no shape."""
    b = supple.ModelBuilder()
    for name in ("trunk", "leg", "tail"):
        b.add_body(name, joint="free", mass=1.0, com=(0.0, 0.0, -0.5), inertia=np.eye(3))
        b.add_visual(name, "mesh", (1.0, 1.0, 1.0), mesh=str(tmp_path / "none.stl"), name="mesh")
    b.add_visual("trunk", "sphere", (0.05,), name="camera")
    b.add_shape("trunk", "box", (0.5, 0.3, 0.2), name="trunk")
    b.add_shape("trunk", "sphere", 0.05, name="camera")
    b.add_shape("leg", "box", (0.1, 0.1, 0.4), name="leg")
    model = b.build()
    made, missing = shapes.batches(model, supple.poses(model, model.neutral()))
    assert len(missing) == 1 and "none.stl" in missing[0]
    drawn = [(batch.kind, len(batch.vertices), batch.body.tolist()) for batch in made]
    (camera,) = [body for kind, corners, body in drawn if kind == "solid" and corners > 8]
    (boxes,) = [body for kind, corners, body in drawn if kind == "solid" and corners == 8]
    assert (camera, boxes) == ([0], [0, 1])
    assert [body for kind, _, body in drawn if kind != "solid"] == [[2]]


def test_ground_that_no_visual_shows_is_drawn_beside_the_visuals_of_the_world() -> None:
    builder = supple.ModelBuilder("hills")
    builder.add_body("a", joint="free", mass=1.0, inertia=np.eye(3))
    builder.add_visual(None, "box", (1.0, 1.0, 1.0), name="box")
    builder.add_visual(None, "mesh", (1.0, 1.0, 1.0), name="rock")  # of an MJCF: its file is not known
    builder.add_shape(None, "box", (1.0, 1.0, 1.0), name="box")
    builder.add_shape(None, "hull", points=np.eye(4)[:, :3], name="rock")
    builder.add_shape(None, "heights", (6.0, 4.0), points=np.zeros((2, 3)), name="hills")
    made = touching_solids(builder.build(), np.array([-1]))
    assert sorted(len(batch.vertices) for batch in made) == [4, 6]  # the rock and the hills; the box has its visual


def test_bodies_are_found_by_their_shapes_and_frames_and_say_what_touches_them() -> None:
    b = supple.ModelBuilder("boxes")
    for name in ("lower", "upper"):
        b.add_body(name, joint="free", mass=2.0, inertia=(0.02, 0.02, 0.02))
        b.add_shape(name, "box", (0.3, 0.3, 0.1), name=f"{name} box")
    b.add_frame("top", "upper", (0.0, 0.0, 0.05))
    b.add_shape(None, "box", (0.1, 0.1, 0.1), (5.0, 0.0, 0.0), name="stone")
    model = b.build()
    assert place_of(model, "upper") == place_of(model, "1") == (1, None)
    assert place_of(model, "upper box") == (1, ("shape", "upper box"))
    assert place_of(model, "top") == (1, ("frame", "top"))
    assert place_of(model, "stone") == (-1, ("shape", "stone"))
    assert place_of(model, "2") == place_of(model, "-1") == place_of(model, "") == (None, None)
    q = model.neutral()
    q[2], q[9] = 0.05, 0.15
    run = supple.simulate(model, q, duration=0.1, dt=2e-3, contacts=supple.Contacts(ground=0.0))
    touching = run.contacts(-1)
    assert {frozenset((c.body, c.other_body)) for c in touching} == {
        frozenset(x) for x in (("lower", None), ("lower", "upper"))
    }
    for name, number in (("upper", 4), ("lower", 8)):
        force, many = force_on(name, touching)
        assert many == number and force == pytest.approx((0.0, 0.0, 2.0 * 9.81), abs=1e-4)
    pose = supple.poses(model, run.q[-1])
    said = numbers(run[-1], 1, pose, None, touching, ("shape", "upper box"))
    assert "upper box" in said and "19.62 N in 4 contacts" in said
    assert "contact" not in numbers(run[0], 1, pose, None, run.contacts(0))
