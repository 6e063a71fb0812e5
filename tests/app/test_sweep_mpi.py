"""A sweep by mpi4py.futures, started as its users do; where MPI is installed (pip install mpi4py mpich)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import supple
from sweeps import noisy, same

MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
if MPIEXEC is None or find_spec("mpi4py") is None:
    pytest.skip("MPI is not installed", allow_module_level=True)

STUDY = """
import sys
from mpi4py.futures import MPIPoolExecutor
import supple
from sweeps import noisy

if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        supple.sweep(noisy, {"a": [1, 2, 3], "b": [1, 2]}, repeats=2, engine=executor, out=sys.argv[1])
        print("workers:", executor.num_workers)
"""
#: Open MPI asks for these of a superuser, and of a machine with fewer cores than processes.
ALLOWED = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def test_results_are_those_of_one_core(tmp_path):
    script, path = tmp_path / "study.py", tmp_path / "s.zarr"
    script.write_text(STUDY)
    words = [MPIEXEC, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script), str(path)]
    env = os.environ | ALLOWED | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "workers: 2" in done.stdout, done.stderr
    one = supple.sweep(noisy, {"a": [1, 2, 3], "b": [1, 2]}, repeats=2, engine="serial")
    found = supple.load_sweep(path)
    assert same(found, one) and found.failed == 2
