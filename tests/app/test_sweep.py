"""`supple sweep` as a person uses it: from the command line and a TOML file, resumed, drawn; errors in a line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from test_run import COMMAND, ENVIRONMENT, ended

import supple
from sweeps import same

PENDULUM = ["pendulum", "--set", "links=2", "--set", "duration=0.05", "--set", "dt=0.01", "--engine", "serial"]


def test_a_sweep_is_made_said_resumed_and_drawn(tmp_path):
    path = tmp_path / "p.zarr"
    code, out, error = ended("sweep", *PENDULUM, "--over", "angle=0.1:1:3", "--over", "damping=0,0.5", "--out", path)
    assert not code, error
    assert "6: 6 done" in out and "3 angle x 2 damping" in out and "kinetic" in out
    code, out, _ = ended("sweep", path, "--plot", tmp_path / "p.png", "--quantity", "kinetic")
    assert not code and (tmp_path / "p.png").stat().st_size > 5000
    whole = supple.load_sweep(path)
    (path / "status" / "0.0").unlink()  # as if nothing had come
    code, out, _ = ended("sweep", path)
    assert not code and "6 missing" in out and f"supple sweep {path} --resume" in out
    code, out, _ = ended("sweep", path, "--resume", "--engine", "serial")
    assert not code and same(supple.load_sweep(path), whole)
    for words, said in ((["--plot", "p.png"], "no quantity named 'kinetik'"), ([], "add --plot")):
        code, out, error = ended("sweep", path, "--quantity", "kinetik", *words)
        assert code == 2 and said in error and not out
    code, out, error = ended("sweep", path, "--over", "angle=1,2")
    assert code == 2 and "resumed as it was begun" in error
    code, _, error = ended(
        "sweep", *PENDULUM, "--over", "angle=0.1:1:4", "--over", "damping=0,0.5", "--out", path, "--resume"
    )
    assert code == 2 and "cannot be resumed as another sweep" in error
    code, _, error = ended("sweep", "pendulum", "--over", "angle=0.1:1:3", "--out", path, "--resume")
    assert code == 2 and "links is 2 there, not given now" in error


def test_a_gait_that_is_drawn_is_computed(tmp_path):
    words = ["compass", "--over", "slope=0.05,0.06", "--set", "duration=0.1", "--engine", "serial", "--out", "c.zarr"]
    code, out, error = ended("sweep", *words, "--quantity", "step_length", "--plot", "c.png", cwd=tmp_path)
    assert not code, error
    assert "Drawn: c.png" in out and "To see it" not in out and (tmp_path / "c.png").exists()
    assert {"kinetic", "step_length"} <= {*supple.load_sweep(tmp_path / "c.zarr").quantities}


def test_a_toml_file_says_the_same(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(
        'scene = "pendulum"\nout = "t.zarr"\nsamples = 4\nsampling = "latin-hypercube"\nquantity = ["energies"]\n'
        '[over]\nangle = "0.1:1"\ndamping = [0.0, 0.5]\n[set]\nlinks = 2\nduration = 0.05\ndt = 0.01\n'
    )
    code, _, error = ended("sweep", "--config", file, "--set", "links=3", "--engine", "serial", cwd=tmp_path)
    assert not code, error
    s = supple.load_sweep(tmp_path / "t.zarr")
    assert s.shape == (2, 4) and s.dimensions == ("damping", "sample") and s.fixed["links"] == 3
    assert "final_q" not in s.quantities and np.isfinite(s["energy_change"]).all()
    file.write_text('scene = "pendulum"\nout = "u.zarr"\n[over]\nangel = "0.1:1:2"\n')
    code, _, error = ended("sweep", "--config", file, cwd=tmp_path)
    assert code == 2 and "did you mean 'angle'" in error and not (tmp_path / "u.zarr").exists()
    file.write_text('scene = "pendulum"\nout = "u.zarr"\nover = 3\n')
    code, _, error = ended("sweep", "--config", file, cwd=tmp_path)
    assert code == 2 and "s.toml:3: over is a table: write [over]" in error and error.count("\n") == 1
    file.write_text('scene = "pendulum"\noat = "u.zarr"\n')
    code, _, error = ended("sweep", "--config", file, cwd=tmp_path)
    assert code == 2 and "s.toml:2" in error and "did you mean 'out'" in error


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a scene"),
        (["compass", "--over", "slope=0.1"], "give the store"),
        (["compass", "--over", "slop=0.1"], "did you mean 'slope'"),
        (["compass", "--over", "slope=0.1deg"], "slope must be"),
        (["compass", "--over", "slope=0.1:0.2:0"], "slope=0.1:0.2:0: "),
        (["compass", "--over", "slope=0.1:0.2"], "--samples 128"),
        (["compass", "--out", "x.zarr", "--over", "slope=0.1", "--quantity", "gayt"], "did you mean 'gait'"),
        (["compass", "--out", "x.zarr", "--over", "slope=0.1", "--quantity", "kinetik", "--plot", "x.png"], "kinetic"),
        (["compass", "--out", "x.zarr"], "goes over something"),
        (["compass", "--out", "x.zarr", "--over", "slope"], "write NAME=VALUE"),
        (["compass", "--out", "x.zarr", "--over", "slope=nan,0.1"], "slope must be"),
        (["compass", "--out", "x.zarr", "--over", "slope=0.1", "--set", "slope=0.1"], "varied, and fixed"),
        (["compass", "--out", "no/x.zarr", "--over", "slope=0.1"], "there is no folder"),
        (["compass", "--out", "x.zarr", "--over", "slope=0.1", "--engine", "dask://"], "engine"),
        (["compass", "--out", "x.zarr", "--over", "slope=0.1", "--plot", "x.doc"], "name ends in one of"),
        (["compass", "--out", "x.zarr", "--over", "slope=0.1", "--over", "slope=0.2"], "slope is given twice"),
        (["no.zarr", "--resume"], "there is no store no.zarr"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(words, said, tmp_path):
    code, _, error = ended("sweep", *words, cwd=tmp_path)
    assert code == 2 and said in error and error.count("\n") == 1, error
    assert not (tmp_path / "x.zarr").exists() or "--engine" in words


def test_ctrl_c_stops_it_and_says_how_to_go_on(tmp_path):
    words = [*COMMAND, "sweep", "pendulum", "--over", "angle=0.1:1:5000", "--set", "links=2", "--set", "duration=2"]
    env = ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*words, "--out", "s.zarr", "--engine", "serial"], env=env, cwd=tmp_path, **pipes) as process:
        path = Path(tmp_path / "s.zarr")
        while not (path / ".zmetadata").exists() or supple.load_sweep(path).done < 1:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
    assert process.returncode == 130 and "missing" in out and "To go on: supple sweep s.zarr --resume" in out
    assert error.strip().splitlines()[-1] == "supple: stopped" and "Traceback" not in error
    assert 1 <= supple.load_sweep(path).done < 5000
