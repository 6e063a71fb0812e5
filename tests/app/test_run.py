"""`supple run` and `supple export` as a person uses them: exit codes, bad input, Ctrl-C and kill -9.

What records what others go on with, and what is stopped, are processes; the rest goes through the same entry point
here, since most of a process's time would go into its imports.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import supple
from pictures import lacking
from supple import cli, memory, request, scenes
from supple.commands.run import _measured_said, _say_done
from supple.record.head import LENGTH, read_head
from supple.simulating.run import follow

ARM = """<robot name="arm"><link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 0.2"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0 0 0.2"/><mass value="1"/>
    <inertia ixx="0.05" iyy="0.05" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="50" velocity="3"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.4"/>
    <axis xyz="0 1 0"/></joint></robot>
"""
COMMAND = [sys.executable, "-c", "from supple.cli import main; main()"]
TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "SUPPLE_QUIET": "1"}
ENVIRONMENT = os.environ | TERMINAL


def process(*arguments: object, cwd: Path | None = None) -> str:
    """What a command says that succeeds, in a terminal of 100 columns, without colours."""
    words = [*COMMAND, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT, cwd=cwd, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def ended(*arguments: object, cwd: Path | None = None) -> tuple[object, str, str]:
    """The same in this process: the exit code, and what is on standard output and on standard error."""
    out, error, code = io.StringIO(), io.StringIO(), None
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        patch.chdir(cwd or Path.cwd())
        for name, value in TERMINAL.items():
            patch.setenv(name, value)
        try:
            cli.main([str(x) for x in arguments])
        except SystemExit as e:
            code = e.code
    return code, out.getvalue(), error.getvalue()


def succeeds(*arguments: object, cwd: Path | None = None) -> str:
    code, out, error = ended(*arguments, cwd=cwd)
    assert not code, error
    return out


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    (tmp_path / "arm.urdf").write_text(ARM)
    return tmp_path / "arm.urdf"


def test_the_list_has_every_scene_and_its_parameters():
    shown = succeeds("run", "--list")
    assert all(name in shown for name in scenes.NAMES)
    assert "joints=50000" in shown and "(end, middle, spread)" in shown


def test_a_scene_recorded_resumed_and_exported(tmp_path):
    """The way through: run, record, go on for longer, export; the same numbers as from Python."""
    shown = process("run", "molecule", "--set", "joints=60", "--method", "quasi-statics", "--steps", "10", "--error",
                    "1e-3", "--record", "run.h5", "--plot", "run.png", cwd=tmp_path)  # fmt: skip
    assert "quasi-statics" in shown and "active joints" in shown and "recorded in" in shown
    assert "from 0 to 10 steps" in shown and "certified error at most" in shown and "% of the largest joint" in shown
    assert not lacking(tmp_path, {"run.png": ("#1f77b4", "#ff7f0e")})
    assert "To watch it: supple view run.h5" in shown
    assert "from 0 to 20 steps" in succeeds("run", "--resume", "run.h5", "--steps", "20", cwd=tmp_path)
    assert "run.csv" in succeeds("export", "run.h5", "--to", "csv", cwd=tmp_path)
    scene = scenes.molecule(60)
    r = supple.simulate(scene.model, scene.q0, forces=scene.all_forces(), method="quasi-statics", error=1e-3,
                        dt=scene.step_of("quasi-statics"), duration=20 * scene.step_of("quasi-statics"))  # fmt: skip
    table = np.genfromtxt(tmp_path / "run.csv", delimiter=",", names=True)
    np.testing.assert_array_equal(table["time"], r.times)
    np.testing.assert_array_equal(supple.load_run(tmp_path / "run.h5").q, r.q)


def test_a_file_with_forces_from_both_places(arm, tmp_path):
    """Options of the command line go before those of a TOML file; the rest adds up."""
    (tmp_path / "run.toml").write_text(
        'scene = "arm.urdf"\ndt = 0.01\nduration = 9.0\nintegrator = "semi-implicit"\n'
        'torque = ["elbow=0.5"]\njoint-wrenches = true\n'
    )
    words = "run --config run.toml --duration 0.2 --at shoulder=0.3 --force lower:0,0,-2@0,0,0.4 --limits 300"
    succeeds(*words.split(), "--record", "run.h5", "--spring", "upper:1,0,0,20", cwd=tmp_path)
    model = supple.load(arm)
    forces = [supple.Push("lower", (0, 0, -2), (0, 0, 0.4)), supple.Spring("upper", (1, 0, 0), 20.0)]
    r = supple.simulate(model, [0.3, 0.0], duration=0.2, dt=0.01, integrator="semi-implicit", tau=[0.0, 0.5],
                        forces=[*forces, supple.Limits(300.0, 3.0)], joint_wrenches=True)  # fmt: skip
    recorded = supple.load_run(tmp_path / "run.h5")
    np.testing.assert_array_equal(recorded.q, r.q)
    np.testing.assert_array_equal(recorded.joint_wrenches, r.joint_wrenches)
    assert recorded.about["request"]["torque"] == ["elbow=0.5"]
    arm.unlink()  # the recording has the model: it goes on without the file
    assert "to 0.3 s" in succeeds("run", "--resume", "run.h5", "--duration", "0.3", cwd=tmp_path)


FOOT = """<robot name="foot"><link name="base">
  <inertial><mass value="2"/><inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision name="sole"><geometry><box size="0.3 0.2 0.1"/></geometry></collision></link>
  <link name="one"><inertial><origin xyz="0 0 0.1"/><mass value="0.5"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="two"><inertial><origin xyz="0 0 0.1"/><mass value="0.5"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 0.2"/><geometry><sphere radius="0.02"/></geometry></collision></link>
  <joint name="left" type="revolute"><parent link="base"/><child link="one"/><origin xyz="0 0.1 0"/><axis xyz="0 1 0"/>
    <dynamics damping="1"/><limit lower="0.01" upper="1" effort="9" velocity="9"/></joint>
  <joint name="right" type="revolute"><parent link="base"/><child link="two"/><origin xyz="0 -0.1 0"/>
    <axis xyz="0 1 0"/><dynamics damping="1"/><limit lower="0.1" upper="1" effort="9" velocity="9"/></joint></robot>
"""


@pytest.mark.parametrize("how", [(), ("--method", "adaptive", "--active", "2")])
def test_a_robot_on_the_ground(how, tmp_path):
    """It stands where it begins; the same numbers as from Python, in the recording and in the table of contacts."""
    (tmp_path / "foot.urdf").write_text(FOOT)
    words = "run foot.urdf --ground --dt 0.002 --record run.h5 --joint-wrenches --duration"
    shown = " ".join(succeeds(*words.split(), "0.5", *how, "--floating-base", cwd=tmp_path).split())
    assert "at the end, the largest force" in shown
    assert "joint 'right' began 0.1 rad beyond its limit, and so did 1 other" in shown
    model = supple.load(tmp_path / "foot.urdf", floating_base=True)
    options = {"method": "adaptive", "active": 2} if how else {}
    r = supple.simulate(model, duration=0.5, dt=0.002, contacts=supple.Contacts(ground="below"), joint_wrenches=True,
                        **options)  # fmt: skip
    kept = supple.load_run(tmp_path / "run.h5")
    np.testing.assert_array_equal(kept.q, r.q)
    np.testing.assert_array_equal(kept.joint_wrenches, r.joint_wrenches)
    np.testing.assert_allclose(sum(c.force for c in kept.contacts(-1)), (0, 0, 3.0 * 9.81), atol=0.05)
    shown = succeeds("run", "--resume", "run.h5", "--duration", "0.6", cwd=tmp_path)
    assert "to 0.6 s" in shown and "measured" not in shown
    succeeds("export", "run.h5", "--to", "csv", cwd=tmp_path)
    rows = (tmp_path / "run.contacts.csv").read_text().splitlines()
    assert {tuple(row.split(",")[1:3]) for row in rows[1:]} == {("sole", "ground")}
    fixed = " ".join(succeeds("run", "foot.urdf", "--ground", "--duration", "0.01", cwd=tmp_path).split())
    assert "the base is fixed to the world: --floating-base lets it fall" in fixed


def test_stiff_joints_run_implicitly_and_it_is_said(arm, tmp_path):
    """One line before the run; the recording is resumed by the same integrator."""
    words = f"run {arm} --limits 1e9 --at elbow=0.5 --record run.h5 --duration"
    shown = succeeds(*words.split(), "0.1", cwd=tmp_path)
    assert shown.count("stiff: the ") == 1 and "integrator 'implicit' is used" in shown
    assert supple.load_run(tmp_path / "run.h5").about["integrator"] == "implicit"
    succeeds("run", "--resume", "run.h5", "--duration", "0.2", cwd=tmp_path)
    model = supple.load(arm)
    whole = supple.simulate(model, [0.0, 0.5], duration=0.2, dt=1e-3, forces=[supple.Limits(1e9, 1e7)])
    np.testing.assert_array_equal(supple.load_run(tmp_path / "run.h5").q, whole.q)
    assert "stiff" not in succeeds("run", arm, "--duration", "0.01", cwd=tmp_path)


def test_what_is_at_rest_leaves_nothing_out():
    out = " ".join(succeeds("run", "pile", "--set", "chains=2", "--set", "links=3", "--duration", "4").split())
    assert "asleep everything, at the end" in out and "measured" not in out
    out = " ".join(succeeds("run", "pile", "--set", "chains=2", "--set", "links=3", "--duration", "0.01").split())
    assert "asleep" not in out and "measured" not in out  # a share of accelerations says little where things touch


TWO = """<robot name="two"><link name="base">
  <inertial><mass value="2"/><inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
  <link name="hand"><inertial><mass value="1"/><inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/>
  </inertial><collision><geometry><sphere radius="0.05"/></geometry></collision></link>
  <link name="far"><inertial><mass value="1"/><inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/>
  </inertial><collision><geometry><sphere radius="0.05"/></geometry></collision></link>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="far"/><origin xyz="0.5 0 0"/></joint>
  <joint name="out" type="prismatic"><parent link="far"/><child link="hand"/><origin xyz="0.5 0 0"/></joint></robot>
"""


@pytest.mark.parametrize("how", [(), ("--every", "5"), ("--method", "adaptive", "--active", "2")])
def test_shapes_that_begin_within_each_other_are_named(how, tmp_path):
    """However many states are kept, and although the first step moves them apart."""
    (tmp_path / "two.urdf").write_text(TWO)
    words = ("run", "two.urdf", "--floating-base", "--contacts", "--duration", "0.02", "--record", "run.h5")
    shown = " ".join(succeeds(*words, "--at", "out=-0.86", *how, cwd=tmp_path).split())
    assert "'hand' and 'base' began 10 mm within each other" in shown and "other pair" not in shown
    assert "10 mm within" in " ".join(succeeds("run", "--resume", "run.h5", "--duration", "0.03", cwd=tmp_path).split())
    assert "within" not in succeeds(*words, "--overwrite", "--at", "out=-0.84", *how, cwd=tmp_path)


def test_a_floor_besides_that_of_the_file_is_said(tmp_path):
    """It is below the lowest shape, so that the body does not fall on the plane of the file."""
    pytest.importorskip("mujoco")
    (tmp_path / "box.xml").write_text(
        '<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/><body pos="0 0 1"><freejoint/>'
        '<geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>'
    )
    words = ("run", "box.xml", "--duration", "0.01")
    said = " ".join(succeeds(*words, "--ground", cwd=tmp_path).split())
    assert "the file's own plane 'floor': --contacts does not" in said
    assert "own plane" not in succeeds(*words, "--contacts", cwd=tmp_path)


def test_how_a_run_with_contact_steps_is_said():
    assert "how aba; rk4 in flight, midpoint rule in contact " in " ".join(
        succeeds("run", "rope", "--set", "links=3", "--duration", "0.01").split()
    )
    assert "how aba, rk4 energy" in " ".join(succeeds("run", "pendulum", "--duration", "0.01").split())


def test_a_large_scene_says_that_it_is_being_built(monkeypatch):
    monkeypatch.setattr(request, "MANY", 10)
    code, _, said = ended("run", "pendulum", "--set", "links=11", "--duration", "0.01")
    assert not code and "supple: building 11 bodies ..." in said


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder of Linux")
def test_a_folder_that_cannot_hold_files_is_named():
    code, _, said = ended("run", "pendulum", "--duration", "0.01", "--record", "/proc/x.h5")
    assert code == 2 and "/proc/x.h5 cannot be written: the folder /proc cannot hold files" in said


def test_what_hangs_still_leaves_nothing_out():
    b = supple.ModelBuilder(gravity=(0.0, 0.0, -9.81))
    for i in range(10):
        where, up = (0.0, 0.0, -0.1 if i else 0.0), f"link{i - 1}" if i else None
        body = dict(mass=1.0, com=(0.0, 0.0, -0.05), inertia=[1e-3] * 3)
        b.add_body(f"link{i}", up, axis=(0.0, 1.0, 0.0), position=where, **body)
    model = b.build()
    for aside, said in ((1e-9, "nothing accelerates"), (1e-2, "the next step leaves out ")):
        hanging = model.with_gravity((9.81 * aside, 0.0, -9.81))
        run = supple.Simulation(hanging, duration=0.01, method="adaptive", active=2)
        measured = run.measured_error()
        assert measured is not None and measured > 0.1
        assert _measured_said(run, measured).startswith(said)


def test_the_page_of_a_live_run_has_the_name_of_the_file(arm, monkeypatch):
    titles = []

    def refuse(port: int | None, title: str) -> None:
        titles.append(title)
        raise supple.StateError("no page")

    monkeypatch.setattr("supple.viewing.stage.open_server", refuse)
    code, _, error = ended("run", arm, "--view")
    assert code and "no page" in error and titles == ["arm.urdf"]


def test_actuators_of_a_file_are_controlled_from_the_command_line(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "lever.xml").write_text(
        '<mujoco><worldbody><body><joint name="pivot" axis="0 1 0"/>'
        '<geom type="capsule" size=".1" fromto="0 0 0 1 0 0"/></body></worldbody>'
        '<actuator><motor name="m" joint="pivot" gear="9"/></actuator></mujoco>'
    )
    words = "run lever.xml --control m=0.5 --duration 0.2 --dt 0.01 --record run.h5"
    shown = succeeds(*words.split(), cwd=tmp_path)
    assert "not simulated" in shown and "contacts" in shown
    model = supple.load(tmp_path / "lever.xml")
    wanted = supple.simulate(model, duration=0.2, dt=0.01, tau=[4.5])
    np.testing.assert_allclose(supple.load_run(tmp_path / "run.h5").q, wanted.q, atol=1e-14)


def test_inspect_tells_what_a_robot_costs(arm):
    """The counts are those of supple.costs.matrices; timed, the fastest method is named."""
    from supple.costs import matrices as costs

    model = supple.load(arm)
    shown = succeeds("inspect", arm, "--timings")
    assert str(costs.factorization(model.expanded_parent)) in shown and str(costs.crba(model.parent)) in shown
    times = dict(re.findall(r"^  (aba|crba|virtual-work|dca) +([\d.]+)$", shown, re.MULTILINE))
    assert len(times) == 4 and f"fastest is method '{min(times, key=lambda k: float(times[k]))}'" in shown


BAD = {
    "run": "name a scene or a file",
    "run molecul": "did you mean 'molecule'",
    "run nowhere.urdf": "nowhere.urdf",
    "run molecule --set joint=5": "did you mean 'joints'",
    "run molecule --set joints=many": "joints must be a whole number, not 'many'",
    "run molecule --set joints": "write NAME=VALUE",
    "run molecule --set where=ende": "did you mean 'end'",
    "run molecule --set joints=0": "from 1 to",
    "run molecule --set joints=1e30": "joints must be a whole number from 1 to",
    "run molecule --set joints=20 --set seed=-1": "seed must be a whole number from 0 to",
    "run folder": "folder is a folder",
    "run arm.urdf --set joints=5": "a file has none",
    "run arm.urdf --method abba": "did you mean 'aba'",
    "run arm.urdf --integrator rk5": "did you mean 'rk4'",
    "run arm.urdf --dt fast": "'--dt'",
    "run arm.urdf --dt -1": "supple: --dt must be a positive number of seconds, not -1\n",
    "run arm.urdf --dt 0": "supple: --dt must be a positive number of seconds, not 0\n",
    "run pile --every 0": "supple: --every must be a whole number >= 1, not 0\n",
    "run pile --active -1": "supple: --active must be a whole number >= 0, not -1\n",
    "run pile --error -0.5": "supple: --error must be a finite number >= 0, not -0.5\n",
    "run pile --limits -1": "supple: --limits must be a finite number >= 0, not -1\n",
    "run pile --method foo": "supple: --method must be 'aba',",
    "run --config zero.toml": "supple: --dt must be a positive number of seconds, not 0\n",
    "run arm.urdf --dt 1e-12 --duration 1e300": "more than 1e+15 steps",
    "run arm.urdf --rtol 1e-6": "--rtol is for integrator 'dop853': add --integrator dop853, or leave --rtol out",
    "run arm.urdf --plot run.docx": "a picture's name ends in one of",
    "run arm.urdf --plot no/run.png": "there is no folder no",
    "run arm.urdf --duration nan": "--duration must be a finite number of seconds",
    "run arm.urdf --control servo=1": "no actuator named 'servo'",
    "run arm.urdf --control servo=x": "'x' must be 1 numbers",
    "run arm.urdf --force lowr:0,0,1": "did you mean 'lower'",
    "run arm.urdf --force lower:0,1": "3 numbers",
    "run arm.urdf --force ²:0,0,1": "no body",
    f"run arm.urdf --force {'9' * 5000}:0,0,1": "no body",
    "run arm.urdf --force lower:0,0,1@": "3 numbers",
    "run arm.urdf --torque elbo=1": "did you mean 'elbow'",
    "run arm.urdf --at elbow=1,2": "has 1 coordinates",
    "run rope --force nobody:1,0,0": "no body named 'nobody'; there are 40 of them: 'rope 0', 'rope 1', ",
    "run arm.urdf --force x:1,0,0": "no body or frame named 'x'; there are: 'upper', 'lower', 'base'",
    "run arm.urdf --error 0.1": "--error is for methods 'quasi-statics' and 'adaptive', this run uses 'aba': add "
    "--method adaptive, or leave --error out",
    "run rope --active 5": "--active is for method 'adaptive', this run uses 'aba': add --method adaptive, or leave",
    "run arm.urdf --method quasi-statics --active 1": "use --method adaptive, or leave --active out",
    "run pile --error 0.01 --guaranteed": "--guaranteed does not work with contact, which pile has: leave --guaranteed",
    "run standing-robot --set height=-1": "supple: standing-robot: height must be a positive number, not -1",
    "run compass --set slope=9": "supple: compass: slope",
    "run rope --set links=100000000": "a model of 100,000,000 bodies would take 160 GB",
    "run arm.urdf --config no.toml": "no.toml: there is no such file",
    "run --config broken.toml": "broken.toml",
    "run --config typo.toml": "typo.toml:2: no setting named 'duratoin'; did you mean 'duration'?",
    "run --config type.toml": "type.toml:2: dt must be a number, not 'slow'",
    "run --config scene.toml": "scene.toml:4: scene 'molecule': no parameter named 'joint'; did you mean 'joints'?",
    "run --config binary.toml": "binary.toml:2: not UTF-8 text",
    "run arm.urdf --grund": "No such option: --grund (Possible options: --ground",
    "run arm.urdf --ground": "no body of 'arm' that can move has a contact shape",
    "run pendulum --ground": "leave --ground out, or run one that has some: falling-crowd",
    "run walker-by-contact --ground": "walker-by-contact has its own ground, and takes no floor: leave --ground out",
    "run pile --floating-base": "--floating-base is for robots from files: leave it out",
    "run pile --no-loops": "--no-loops is for robots from files: leave it out",
    "run rope --method dca": "method 'dca' does not support contact, which rope has: use --method aba or adaptive",
    "run arm.urdf --ground --method dca": "support contact: use --method aba or adaptive, or leave --ground out",
    "run rope --integrator dop853": "needs steps of fixed length, and 'dop853' has none: leave --integrator out",
    "run pile --active 5 --error 0.1": "give --active or --error, not both",
    "inspect run.h5": "run.h5: a recording, not a robot: use `supple view` or `supple export`",
    "run --resume no.h5": "no.h5 cannot be read",
    "run --resume arm.urdf": "not a recording",
    "run arm.urdf --record no/run.h5": "cannot be written",
    "run arm.urdf --record folder": "folder cannot be written: it is a folder",
    "run arm.urdf --record /dev/null --overwrite": "/dev/null cannot be written: it is a device",
    "export no.h5 --to csv": "no.h5 cannot be read",
    "export arm.urdf --to csv": "not a recording",
    "export no.h5 --to cvs": "did you mean 'csv'",
    "export no.h5": "say what to write",
    "run pendulumm": f"did you mean 'pendulum' or 'spring-pendulum'? (the scenes are {', '.join(scenes.NAMES)}",
    "run xyz": f"the scenes are {', '.join(scenes.NAMES)}",
}


def test_what_is_wrong_is_answered_in_a_sentence(arm, tmp_path, monkeypatch):
    """Exit code 2, one line, no traceback."""
    (tmp_path / "broken.toml").write_text("scene = \n")
    (tmp_path / "typo.toml").write_text('scene = "arm.urdf"\nduratoin = 3\n')
    (tmp_path / "type.toml").write_text('scene = "arm.urdf"\ndt = "slow"\n')
    (tmp_path / "scene.toml").write_text('scene = "molecule"\n\n[set]\njoint = 5\n')
    (tmp_path / "zero.toml").write_text('scene = "arm.urdf"\ndt = 0.0\n')
    (tmp_path / "binary.toml").write_bytes(bytes(range(256)))
    (tmp_path / "folder").mkdir()
    monkeypatch.setattr(memory, "physical_memory", lambda: 8 * 10**9)
    wrong = {}
    for words, message in BAD.items():
        code, _, line = ended(*words.split(), cwd=tmp_path)
        if code != 2 or line.count("\n") != 1 or not line.startswith("supple: ") or message not in line:
            wrong[words] = code, line
    assert not wrong


def begin(tmp_path: Path) -> subprocess.Popen[str]:
    """A run that would take minutes, once its recording has more than how it begins."""
    words = [
        "run",
        "bicycle-chain",
        "--method",
        "crba",
        "--dt",
        "1e-4",
        "--duration",
        "10000",
        "--every",
        "10",
        "--record",
        "run.h5",
    ]
    process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=ENVIRONMENT, cwd=tmp_path, start_new_session=True)  # fmt: skip
    until, path = time.monotonic() + 200, tmp_path / "run.h5"
    while not path.exists() or read_head(path.read_bytes()[:LENGTH]).generation < 2:  # type: ignore[union-attr]
        assert process.poll() is None and time.monotonic() < until, process.communicate()
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_is_stopped_and_resumed(how, tmp_path):
    """Ctrl-C closes the recording and says how to go on; kill -9 leaves it whole. Then it goes on to the same bits."""
    process = begin(tmp_path)
    process.send_signal(how)
    out, err = process.communicate(timeout=60)
    r = supple.load_run(tmp_path / "run.h5")
    stopped = r.final.time
    if how == signal.SIGINT:
        assert process.returncode == 130 and err.strip() == "supple: stopped"
        assert "To go on: supple run --resume run.h5" in out and stopped > 0.0
        assert re.search(r"from 0 to [\d.]+ s", out)
    r.close()
    dt, every = r.about["dt"], 10
    end = (round(stopped / dt / every) + 20) * every * dt
    succeeds("run", "--resume", "run.h5", "--duration", end, cwd=tmp_path)
    scene, recorded = scenes.bicycle_chain(), supple.load_run(tmp_path / "run.h5")
    whole = supple.simulate(scene.model, scene.q0, forces=scene.all_forces(), method="crba", dt=dt, every=every,
                            duration=end)  # fmt: skip
    assert len(recorded) == len(whole)
    np.testing.assert_array_equal(recorded.final.q, whole.final.q)
    np.testing.assert_array_equal(recorded.final.v, whole.final.v)


GRIPPER = (
    '<robot name="gripper"><link name="palm"/>'
    + "".join(
        f'<link name="f{i}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        f'</inertial></link><joint name="j{i}" type="continuous"><parent link="palm"/><child link="f{i}"/>'
        f'<axis xyz="0 1 0"/><dynamics damping="0.1"/>{mimic}</joint>'
        for i, mimic in enumerate(["", '<mimic joint="j0" multiplier="2" offset="0.3"/>'])
    )
    + "</robot>"
)


def test_a_file_with_loops_begins_where_they_are_closed(tmp_path, caplog):
    (tmp_path / "gripper.urdf").write_text(GRIPPER)
    words = "run gripper.urdf --torque j0=1 --duration 0.1 --dt 0.01 --record run.h5"
    assert "not simulated" not in succeeds(*words.split(), cwd=tmp_path)
    (line,) = caplog.messages
    assert line == "gripper: begins where its loops are closed: 2 joints moved, 'j0' by 0.12 (m or rad)"
    r = supple.load_run(tmp_path / "run.h5")
    assert r.model.relation_list[0].offset == 0.3 and r.q[-1, 0] != r.q[0, 0]
    np.testing.assert_allclose(r.q[:, 1], 2 * r.q[:, 0] + 0.3, atol=1e-12)
    caplog.clear()
    succeeds("run", "--resume", "run.h5", "--duration", "0.2", cwd=tmp_path)
    assert not caplog.messages
    whole = supple.simulate(supple.load(tmp_path / "gripper.urdf"), duration=0.2, dt=0.01, tau=[1.0, 0.0])
    np.testing.assert_array_equal(supple.load_run(tmp_path / "run.h5").q, whole.q)


def test_joints_stay_where_they_are_put_if_loops_allow_it(tmp_path, caplog):
    (tmp_path / "gripper.urdf").write_text(GRIPPER)
    run = "run gripper.urdf --duration 0.01 --dt 0.01 --record run.h5 --overwrite --at"
    for at, first in (("j0=0.5", [0.5, 1.3]), ("j1=0.7", [0.2, 0.7]), ("j0=0.1 --at j1=9 --at j0=0.1", [0.1, 0.5])):
        succeeds(*run.split(), *at.split(), cwd=tmp_path)
        np.testing.assert_allclose(supple.load_run(tmp_path / "run.h5").q[0], first, atol=1e-12)
    caplog.clear()
    shown = succeeds(*run.split(), "j1=9", "--no-loops", cwd=tmp_path)
    assert "mimic joints, which move on their own" in shown and not caplog.messages
    assert supple.load_run(tmp_path / "run.h5").q[0].tolist() == [0.0, 9.0]


def test_loops_that_cannot_be_closed_say_what_to_do(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "short.xml").write_text(
        '<mujoco><worldbody><body name="a"><joint axis="0 1 0"/><geom size=".1"/><site name="s" pos="1 0 0"/></body>'
        '<site name="t" pos="3 0 0"/></worldbody>'
        '<equality><connect name="far" site1="s" site2="t"/></equality></mujoco>'
    )
    code, _, said = ended("run", "short.xml", cwd=tmp_path)
    assert code == 2 and "loop 'far' cannot be closed" in said and "--at" in said and "--no-loops" in said
    assert "loop 'far' cannot be closed" in succeeds("inspect", "short.xml", cwd=tmp_path)
    succeeds("run", "short.xml", "--no-loops", "--duration", "0.01", cwd=tmp_path)


def test_a_run_that_keeps_its_last_state_only_says_nothing_of_the_others() -> None:
    """A run without end, as in a page, ends when it is stopped: what it began with is not known any more."""
    body = supple.trees.chain(3)
    texts = []
    for keep in (True, False):
        run = supple.Simulation(body, [0.1, 0.2, 0.3], duration=0.05, dt=1e-2)
        said = io.StringIO()
        _say_done(Console(file=said, width=200), follow(run, keep=keep), None)
        texts.append(said.getvalue())
    assert "states" in texts[0] and "at first" in texts[0]
    assert "states" not in texts[1] and "at first" not in texts[1] and "0.05 s" in texts[1] and "J at last" in texts[1]
