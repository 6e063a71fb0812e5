"""The command line as a person uses it: exit codes, what commands print, and what they refuse.

Commands that start quickly, stop oddly or start others run as processes; the rest through the same entry point here,
since most of a process's time would go into its imports.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import supple
from robots import robot
from supple import cli
from supple.bench import exact, measure, startup
from supple.commands.inspect import PROBLEMS
from supple.exact import threads

ARM = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 0.2"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0 0 0.2"/><mass value="1"/>
    <inertia ixx="0.05" iyy="0.05" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="hand"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="50" velocity="3"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.4"/>
    <axis xyz="0 1 0"/></joint>
  <joint name="grip" type="fixed"><parent link="lower"/><child link="hand"/><origin xyz="0 0 0.4"/></joint>
  <transmission name="motor"/>
</robot>
"""

MJCF = """<mujoco model="pendulum"><worldbody><body name="rod">
  <joint name="hinge" axis="0 1 0"/><inertial pos="0 0 -0.5" mass="1" diaginertia="0.1 0.1 0.01"/>
</body></worldbody></mujoco>
"""


def command(*arguments: object) -> list[str]:
    return [str(Path(sys.executable).with_name("supple")), *map(str, arguments)]


TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """A command in a terminal of 100 columns, without colours."""
    out, error, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        for name, value in TERMINAL.items():
            patch.setenv(name, value)
        try:
            cli.main([str(x) for x in arguments])
        except SystemExit as e:
            code = int(e.code or 0)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), error.getvalue())


def process(*arguments: object) -> str:
    """The same as a process of its own that succeeds."""
    env = os.environ | TERMINAL
    done = subprocess.run(command(*arguments), capture_output=True, text=True, env=env, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def succeeds(*arguments: object) -> str:
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(*arguments: object) -> str:
    """The one sentence that a wrong command is answered with."""
    done = run(*arguments)
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("supple: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return path


# --- finding one's way --------------------------------------------------------------------------


def test_version():
    assert process("--version") == f"supple {supple.__version__}\n"


def test_alone_it_names_every_command():
    out = process()
    for name in ("demo", "run", "export", "inspect", "convert", "reproduce", "bench", "compile"):
        assert f"supple {name}" in out
        assert "Usage" in succeeds(name, "--help")


def test_help_loads_nothing_heavy():
    program = "import sys, supple.cli; print(*{'numpy', 'numba', 'matplotlib', 'lxml'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (("insepct", "x.urdf"), "inspect"),
        (("inspect", "--floating-bse", "x.urdf"), "--floating-base"),
        (("bench", "exat"), "exact"),
        (("bench", "virtual-wrok"), "virtual-work"),
        (("reproduce", "sff"), "sf"),
        (("reproduce", "vww"), "vw"),
    ],
)
def test_misspelt_words_are_answered_with_the_right_ones(arguments: tuple[str, ...], suggestion: str):
    assert suggestion in refused(*arguments)


@pytest.mark.parametrize("arguments", [("inspect",), ("convert", "x.urdf"), ("compile", "--jobs", "0"), ("demo", "x")])
def test_missing_and_superfluous_arguments_are_refused(arguments: tuple[str, ...]):
    refused(*arguments)


# --- inspect ------------------------------------------------------------------------------------


def test_inspect_shows_what_is_in_a_file(arm: Path):
    out = succeeds("inspect", arm)
    for said in (
        "2 moving, 3 kg",
        "1 revolute, 1 continuous",
        "shoulder",
        "lower  [elbow: continuous]  1 kg",
        "hand",
    ):
        assert said in out
    assert "transmission 'motor': not used" in out
    assert "No problems found" in out


def test_what_an_encoding_lacks_is_spelled_out(arm: Path):
    env = os.environ | TERMINAL | {"PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command("inspect", arm), capture_output=True, env=env, timeout=300)
    assert done.returncode == 0, done.stderr
    assert rb"\u2514" in done.stdout


def test_inspect_with_a_floating_base(arm: Path):
    out = succeeds("inspect", arm, "--floating-base")
    assert "1 free" in out and "q has 9 numbers, v 8" in out


def test_inspect_tells_problems(tmp_path: Path):
    path = tmp_path / "weightless.urdf"
    path.write_text(ARM.replace('<mass value="1"/>', '<mass value="0"/>').replace("0.05", "0").replace("0.01", "0"))
    out = succeeds("inspect", path)
    assert "Problem:" in out and "lower" in out and "No problems" not in out


def test_inspect_shows_names_with_brackets_as_they_are(tmp_path: Path):
    path = tmp_path / "odd.urdf"
    path.write_text(ARM.replace('"hand"', '"[red]hand"').replace('name="arm"', 'name="[bold]arm"'))
    out = succeeds("inspect", path)
    assert "[red]hand" in out and "[bold]arm" in out


def test_inspect_says_all_of_a_file_in_groups():
    """Talos has more than a hundred remarks: a line each for what is the same, names of a few elements or of all."""
    path = robot("talos_full_v2.urdf")
    short, full = succeeds("inspect", path, "--no-loops"), succeeds("inspect", path, "--all", "--no-loops")
    remarks = supple.load(path, loops=False).report
    kinds = Counter(remark.subject for remark in remarks if remark.subject not in PROBLEMS)
    assert kinds.total() > 100
    said = short.split("Changes how it moves")[1].split("No problems")[0]
    assert len(said.strip().split("\n")) < 14
    acting, rest = said.split("Read, but not used as the file says")
    assert f"{kinds['free mimic']} x <mimic>" in acting and "<collision>" not in said
    assert f"{kinds['transmission']} x transmission" in rest
    assert "and 6 more" in acting and "more" not in full.split("Changes how it moves")[1].split("No problems")[0]


def test_load_says_in_one_line_what_changes_the_physics(caplog):
    with caplog.at_level("WARNING", "supple"):
        supple.load(robot("talos_full_v2.urdf"), loops=False)
        supple.load(robot("talos_full_v2.urdf"))
    tree, line = caplog.messages
    assert all(word in tree for word in ("talos_full_v2.urdf", "contacts", "mimic", "limits")) and "\n" not in tree
    assert "transmission" not in tree and "gazebo" not in tree
    assert "contacts" in line and "mimic" not in line


def test_inspect_shows_what_closes_loops():
    out = succeeds("inspect", robot("panda.urdf"))
    assert "0, 1" in out and "8 with loops closed" in out
    assert "panda_finger_joint2 - panda_finger_joint1 = 0" in out.split("⟲")[1]
    assert "⟲" not in succeeds("inspect", robot("panda.urdf"), "--no-loops")


def test_inspect_writes_formulas_with_this_robots_numbers(arm: Path):
    """Two hinges, one on the world: 2 (307m + 271a) + 3a - (60m + 81a), and two divisions."""
    out = succeeds("inspect", arm)
    for said in ("554m + 464a + 2 div", "D1 = 1", "93n - 69", "The fastest, by operations, is method 'aba'"):
        assert said in out
    assert "microseconds" not in out


def test_inspect_measures_the_methods_on_request(arm: Path):
    out = succeeds("inspect", arm, "--timings")
    fastest = out.split("The fastest is method '")[1].split("'")[0]
    assert fastest in ("aba", "crba", "virtual-work", "dca")
    assert all(f"\n  {method} " in out.split("microseconds")[1] for method in ("aba", "crba", "virtual-work", "dca"))


def test_files_that_are_not_there_or_not_robots_are_refused(tmp_path: Path):
    assert "no such file" in refused("inspect", tmp_path / "nothing.urdf")
    (tmp_path / "folder.urdf").mkdir()
    assert "folder" in refused("inspect", tmp_path / "folder.urdf")
    for name, content in (
        ("empty.urdf", ""),
        ("noise.urdf", "not xml at all"),
        ("page.xml", "<html/>"),
        ("x.stl", "x"),
    ):
        (tmp_path / name).write_text(content)
        assert name in refused("inspect", tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_one_may_not_read_is_refused(arm: Path):
    arm.chmod(0)
    assert "cannot be read" in refused("inspect", arm)


# --- convert ------------------------------------------------------------------------------------


def test_convert_writes_a_urdf_that_loads(arm: Path, tmp_path: Path):
    new = tmp_path / "new.urdf"
    out = succeeds("convert", arm, "-o", new)
    assert "2 degrees of freedom" in out and "transmission" in out
    assert supple.load(new).joint_names == supple.load(arm).joint_names


def test_convert_names_the_command_that_shows_all_remarks(tmp_path: Path):
    out = succeeds("convert", robot("talos_reduced.urdf"), "-o", tmp_path / "new.urdf")
    assert "`supple inspect --all` names each" in out


def test_convert_reads_mjcf(tmp_path: Path):
    pytest.importorskip("mujoco")
    (tmp_path / "pendulum.xml").write_text(MJCF)
    succeeds("convert", tmp_path / "pendulum.xml", "-o", tmp_path / "pendulum.urdf")
    model = supple.load(tmp_path / "pendulum.urdf")
    assert model.joint_names == ("hinge",) and model.total_mass == 1.0


def test_convert_refuses_what_it_cannot_write(arm: Path, tmp_path: Path):
    assert ".urdf" in refused("convert", arm, "-o", tmp_path / "new.xml")
    assert "cannot be written" in refused("convert", arm, "-o", tmp_path / "missing" / "new.urdf")


# --- demo, reproduce, bench, compile ----------------------------------------------------------------


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    assert "file" in refused("demo", "--out", tmp_path / "file" / "below")
    assert "file" in refused("reproduce", "sf", "--out", tmp_path / "file")


def test_reproduce_runs_the_papers_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What they write is checked in tests/papers."""
    ran = []
    for name in cli.PAPERS:
        module = import_module(f"supple.reproduce.{name}")
        monkeypatch.setattr(module, "run", lambda *given, name=name: ran.append((name, *given[:2])))
    succeeds("reproduce", "sf", "--quick", "--out", tmp_path)
    assert ran == [("sf", tmp_path, True)]
    succeeds("reproduce", "--out", tmp_path)
    assert ran[1:] == [(name, tmp_path, False) for name in cli.PAPERS]


def test_every_paper_and_benchmark_is_there():
    for name in cli.PAPERS:
        assert callable(import_module(f"supple.reproduce.{name}").run)
    for name in cli.BENCHES:
        assert callable(import_module(f"supple.bench.{name.replace('-', '_')}").groups)


def test_bench_writes_its_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(threads, "_threads", threads._threads)  # the benchmark sets it
    monkeypatch.setattr(measure, "BLOCK", 1e-5)
    monkeypatch.setattr(exact, "BATCH", 64)
    monkeypatch.setattr(startup, "rows", lambda repeats, rows=startup.rows: rows(1))
    file = tmp_path / "figures.json"
    out = succeeds("bench", "exact", "--quick", "--json", file)
    groups = json.loads(file.read_text())["groups"]
    assert len(groups) >= 3 and all(title in out for title in groups)
    assert all(row["ours"] > 0 for rows in groups.values() for row in rows)


def test_bench_refuses_a_file_it_cannot_write_before_measuring(tmp_path: Path):
    assert "no folder" in refused("bench", "--json", tmp_path / "missing" / "x.json")


def test_compile_finds_everything_ready_the_second_time():
    """The first time is often that of `make test`."""
    said = process("compile", "--jobs", "1")
    if " 0 of them compiled now" not in said:
        said = process("compile", "--jobs", "1")
    assert re.search(r"^\d+ kernels ready, 0 of them compiled now, in ", said, re.MULTILINE)


def test_compile_without_a_compiler_is_refused():
    env = os.environ | TERMINAL | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command("compile"), capture_output=True, text=True, env=env)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "supple: the environment variable NUMBA_DISABLE_JIT disables the compiler: unset it\n"


# --- being stopped ----------------------------------------------------------------------------------


def test_ctrl_c_ends_with_one_line_and_130():
    def interruptible() -> None:  # a process started in the background may have been told to ignore Ctrl-C
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    process = subprocess.Popen(
        command("bench", "exact"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=interruptible,
    )
    assert process.stdout is not None
    process.stdout.readline()  # it is at work
    try:
        for _ in range(3):  # Python drops an interrupt that comes within a callback from C
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                _, err = process.communicate(timeout=20)
                break
    finally:
        process.kill()
    assert process.returncode == 130
    assert err.splitlines()[-1] == "supple: stopped" and "Traceback" not in err


def test_ctrl_c_while_it_is_still_being_imported(tmp_path: Path):
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-m", "supple"], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "supple: stopped\n")


def test_a_wrong_command_ends_with_one_sentence_and_2():
    done = subprocess.run(command("insepct", "x.urdf"), capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("supple: ") and done.stderr.count("\n") == 1


def test_a_reader_that_leaves_early_is_no_error(arm: Path):
    with subprocess.Popen(command("inspect", arm), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_walker_walks_and_is_recorded(tmp_path: Path):
    out = tmp_path / "walk.h5"
    said = succeeds("run", "compass", "--set", "slope=0.05", "--duration", "2", "--record", out)
    assert "foot at the ground" in said
    kept = supple.load_run(out)
    assert [s.model.body_names[0] for s in kept.segments] == ["right", "left", "right"], "a root for each step"


# --- reroot ----------------------------------------------------------------------------------------------------------


def test_reroot_writes_the_robot_with_another_root(arm: Path, tmp_path: Path):
    out = tmp_path / "new.urdf"
    said = succeeds("reroot", arm, "--body", "hand", "-o", out)
    assert "root lower" in said
    old, new = supple.load(arm), supple.load(out)
    assert new.total_mass == old.total_mass and set(new.joint_names) == {"root_joint", "shoulder", "elbow"}
    assert new.parent.tolist() == [-1, 0, 1] and new.joints["root_joint"].type == "free"
    assert new.body_names[2] == "base", "the old root is now the end of the arm"
    fixed = succeeds("reroot", arm, "--body", "lower", "--fixed-base", "--joint", "revolute", "-o", out)
    assert "2 bodies, 2 degrees of freedom" in fixed and "shoulder" in fixed, "what its joint had is lost, and said so"


def test_reroot_refuses_by_name(arm: Path, tmp_path: Path):
    out = tmp_path / "new.urdf"
    assert "did you mean 'lower'" in refused("reroot", arm, "--body", "lowr", "-o", out)
    assert "did you mean 'revolute'" in refused("reroot", arm, "--body", "lower", "--joint", "revolut", "-o", out)
    assert "should end in .urdf" in refused("reroot", arm, "--body", "lower", "-o", tmp_path / "new.xml")
    assert not out.exists()
