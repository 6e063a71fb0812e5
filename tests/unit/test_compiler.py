"""Compiled once, kept for later runs, and compiled again when anything it depends on has changed.

Each test has processes of its own with a cache folder of its own: new ones with a copy of the package, or, where the
cache is all that matters, forks of one that has imported the package and compiled something. The kernel is a small one
over a helper from another file; one test goes through a public function.
"""

from __future__ import annotations

import ast
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

import supple
from supple.commands.compile import _in_order, import_kernels
from supple.spatial import compiler, sources

PACKAGE = Path(supple.__file__).parent

#: A kernel whose result is 3 x, by way of spatial/algebra.py.
PROBE = """
from numba import types
from supple.spatial.algebra import Vec3, dot
from supple.spatial.compiler import kernel

@kernel(types.float64(types.float64), "probe")
def probe(x):
    return dot(Vec3(x, x, x), Vec3(1.0, 1.0, 1.0))

print(probe.load()(2.0))
"""
#: Forks for each line that it reads, runs what the line says, and says how that ended and what was written.
SERVER = """
import atexit, json, os, sys, tempfile, traceback
from numba import njit
from supple.spatial.algebra import Vec3, dot
import supple.spatial.compiler

njit("float64(float64)")(lambda x: dot(Vec3(x, x, x), Vec3(1.0, 1.0, 1.0)))
for line in sys.stdin:
    script, env, folder = json.loads(line)
    pipes = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        code = 0
        for number, (_, end) in enumerate(pipes, 1):
            os.dup2(end, number)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(env)
        tempfile.tempdir = None
        try:
            exec(script, {"__name__": "__main__"})
        except BaseException:
            code = traceback.print_exc() or 1
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(code)
    for _, end in pipes:
        os.close(end)
    said = [os.fdopen(begin).read() for begin, _ in pipes]
    print(json.dumps([*said, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]), flush=True)
"""
#: What a compilation says.
SAID = re.compile(r"supple: compiling probe \(once; kept for later runs\) \.\.\. \d+\.\d s\n")
#: And what is said before, of a file that is there and is not used.
AGAIN = re.compile(r"supple: the compiled code in \S+/probe\.\w+\.nbc (.*): it is compiled again\n" + SAID.pattern)


class Runs:
    """Runs Python, with a cache of its own."""

    def __init__(self, folder: Path, cache: Path | None, package: Path) -> None:
        self.folder, self.cache, self.package = folder, folder / "cache", package
        if cache is not None:
            shutil.copytree(cache, self.cache)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "SUPPLE_", "PYTHON"))}
        temporary = folder / "tmp"
        temporary.mkdir()
        self.env = kept | {
            "PYTHONPATH": str(package.parent),
            "PYTHONDONTWRITEBYTECODE": "1",
            "SUPPLE_CACHE_DIR": str(self.cache),
            "TMPDIR": str(temporary),
        }

    def __call__(self, script: str = PROBE, **env: str) -> tuple[str, str]:
        """What it wrote on standard output and on standard error."""
        out, error, code = self.run(script, self.env | env)
        assert code == 0, error
        return out, error

    def run(self, script: str, env: dict[str, str]) -> tuple[str, str, int]:
        raise NotImplementedError

    def files(self, pattern: str) -> list[Path]:
        return sorted(self.cache.rglob(pattern))


class Starts(Runs):
    """By new processes, on a copy of the package."""

    def __init__(self, folder: Path, cache: Path | None = None) -> None:
        package = folder / "install" / "supple"
        shutil.copytree(PACKAGE, package)
        super().__init__(folder, cache, package)

    def start(self, script: str, env: dict[str, str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-c", script],
            env=env, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, script: str, env: dict[str, str]) -> tuple[str, str, int]:
        process = self.start(script, env)
        return *process.communicate(timeout=300), process.returncode


class Forks(Runs):
    """By forks of a process that has imported the package."""

    def __init__(self, server: subprocess.Popen[str], folder: Path, cache: Path | None = None) -> None:
        folder.mkdir(exist_ok=True)
        super().__init__(folder, cache, PACKAGE)
        self.server = server

    def run(self, script: str, env: dict[str, str]) -> tuple[str, str, int]:
        assert self.server.stdin is not None and self.server.stdout is not None
        self.server.stdin.write(json.dumps([script, env, str(self.folder)]) + "\n")
        self.server.stdin.flush()
        out, error, code = json.loads(self.server.stdout.readline())
        return out, error, code


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    runs = Runs(tmp_path_factory.mktemp("server"), None, PACKAGE)
    words = [sys.executable, "-W", "error", "-c", SERVER]
    with subprocess.Popen(words, env=runs.env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process
        process.stdin.close()
    assert process.returncode == 0 and not runs.files("*")


@pytest.fixture
def starts(tmp_path):
    return Starts(tmp_path)


@pytest.fixture
def runs(tmp_path, server):
    return Forks(server, tmp_path)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A cache in which the probe is."""
    starts = Starts(tmp_path_factory.mktemp("filled"))
    assert compiled(starts())
    assert len(starts.files("*.nbc")) == len(starts.files("**/*")) - 2 == 1  # and two folders
    return starts.cache


@pytest.fixture
def warm_starts(tmp_path, filled):
    """Another installation that has seen such a cache: the hash is of the sources, not of where they lie."""
    return Starts(tmp_path, filled)


@pytest.fixture
def warm(tmp_path, server, filled):
    return Forks(server, tmp_path, filled)


def compiled(result):
    """Whether a run compiled the probe, and said so once; its number is right either way."""
    out, error = result
    assert out == "6.0\n"
    assert error == "" or SAID.fullmatch(error)
    return error != ""


def test_public_functions(starts, server):
    """A first process says what it compiles, a second one nothing; the numbers are the same to the last bit."""
    script = """
import numpy as np, supple
H = np.array([[4.0, 1, 1], [1, 3, 0], [1, 0, 2]]) / 3
print(supple.factorize(H, [-1, 0, 0]).values.tolist())
"""
    first = starts(script)
    second = Forks(server, starts.folder / "second", starts.cache)(script)
    assert len(re.findall("compiling factorize ", first[1])) == 1
    assert second == (first[0], "")


def test_an_edit_in_another_file(warm_starts):
    """Numba looks at the kernel's own file only; here the helper it calls is changed."""
    algebra = warm_starts.package / "spatial" / "algebra.py"
    before = algebra.read_text()
    after = before.replace("return a.x * b.x + a.y * b.y + a.z * b.z", "return a.x * b.x + a.y * b.y + a.z * b.z * 3.0")
    assert after != before
    algebra.write_text(after)
    out, error = warm_starts()
    assert out == "10.0\n" and SAID.fullmatch(error)
    algebra.write_text(before)
    assert not compiled(warm_starts())  # what was compiled before is still there


def test_an_edit_above_does_not_matter(warm_starts):
    """The command line and the loaders cannot change a kernel."""
    with (warm_starts.package / "files" / "urdf.py").open("a") as f:
        f.write("\n# a remark\n")
    assert not compiled(warm_starts())


def flip(file: Path, at: int) -> None:
    """One bit of one byte."""
    content = bytearray(file.read_bytes())
    content[at] ^= 1 << (at % 8)
    file.write_bytes(content)


def elsewhere(file: Path) -> None:
    """Put in place of a file a link to it: what a link leads to, somebody else may decide."""
    file.symlink_to(file.rename(file.with_suffix(".there")))


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


DAMAGES = {
    "emptied": (lambda file: file.write_bytes(b""), "is damaged"),
    "cut in half": (lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]), "is damaged"),
    "longer": (lambda file: file.write_bytes(file.read_bytes() + b"."), "is damaged"),
    "something else": (lambda file: file.write_bytes(pickle.dumps("not a kernel")), "is damaged"),
    "first bit": (lambda file: flip(file, 0), "is damaged"),
    "a bit of the digest": (lambda file: flip(file, 30), "is damaged"),
    "a bit in the middle": (lambda file: flip(file, file.stat().st_size // 2), "is damaged"),
    "last bit": (lambda file: flip(file, file.stat().st_size - 1), "is damaged"),
    "a hole of a terabyte": (lambda file: os.truncate(file, 2**40), "is damaged"),
    "a link": (elsewhere, r"cannot be read \(Too many levels of symbolic links\)"),
    "a pipe": (pipe, "is a link, or not what it should be"),
    "open to others": (lambda file: file.chmod(0o666), r"can be written to by other users \(chmod go-w\)"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_replaced(warm, damage):
    """Nothing of them is run: they are compiled again, which is said."""
    (file,) = warm.files("*.nbc")
    spoil, why = DAMAGES[damage]
    spoil(file)
    out, error = warm()
    said = AGAIN.fullmatch(error)
    assert out == "6.0\n" and said and re.fullmatch(why, said[1]), error
    assert not compiled(warm())


def test_a_missing_file_is_replaced(warm):
    (file,) = warm.files("*.nbc")
    file.unlink()
    assert compiled(warm())
    assert not compiled(warm())


def test_the_code_of_one_kernel_in_place_of_another(warm):
    """Both files are whole; each is the code of its own kernel only."""
    both = PROBE + PROBE.replace("probe", "second").replace("1.0, 1.0, 1.0", "2.0, 2.0, 2.0")
    assert warm(both)[0] == "6.0\n12.0\n"
    first, second = warm.files("*.nbc")
    first.write_bytes(second.read_bytes())
    out, error = warm(both)
    assert out == "6.0\n12.0\n" and AGAIN.fullmatch(error)


def test_a_file_of_another_user(warm):
    """Whoever it belongs to could have written anything. (Who one is, is told otherwise here: a test cannot become
    another user.)"""
    script = "import os\nme = os.geteuid()\nos.geteuid = lambda: me + 1\n" + PROBE
    out, error = warm(script)
    assert out == "6.0\n" and "kernels for compiled code belongs to another user" in error


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o702])
def test_a_folder_that_others_may_write_to(warm, mode):
    """Is not used, which is said with the way out; a temporary folder serves instead."""
    (folder,) = warm.files("kernels")
    folder.chmod(mode)
    out, error = warm()
    said = rf"supple: the folder {folder} for compiled code can be written to by other users \(chmod go-w\), .*\n"
    assert out == "6.0\n" and re.fullmatch(said + SAID.pattern, error), error
    folder.chmod(0o700)
    assert not compiled(warm())


def test_a_link_in_place_of_the_folder(warm):
    (folder,) = warm.files("kernels")
    folder.symlink_to(folder.rename(warm.folder / "there"))
    out, error = warm()
    assert out == "6.0\n" and "kernels for compiled code is a link, or not what it should be" in error


def test_nobody_else_may_read_or_write(warm):
    """Whatever the user's mask is."""
    shutil.rmtree(warm.cache)
    assert compiled(warm("import os; os.umask(0)\n" + PROBE))
    assert all(path.stat().st_mode & 0o077 == 0 for path in [warm.cache, *warm.cache.rglob("*")])


def test_a_cache_folder_that_cannot_be_made(runs):
    """A temporary folder serves instead, for later runs too."""
    occupied = runs.folder / "occupied"
    occupied.write_text("a file where the folder should be")
    env = {"SUPPLE_CACHE_DIR": str(occupied / "cache")}
    assert compiled(runs(**env))
    assert not compiled(runs(**env))
    assert list((runs.folder / "tmp").rglob("*.nbc"))


def test_no_folder_that_lasts(runs):
    """Not even that: a folder of this process's own, and every run compiles."""
    occupied = runs.folder / "occupied"
    occupied.write_text("")
    (runs.folder / "tmp" / f"supple-{os.getuid()}").write_text("")
    env = {"SUPPLE_CACHE_DIR": str(occupied / "cache")}
    assert compiled(runs(**env))
    assert compiled(runs(**env))
    assert not list((runs.folder / "tmp").glob("supple-*/**"))  # and takes it along


def fill(place: Path) -> None:
    place.mkdir(parents=True)
    (place / "x").write_text("")


#: What stands where a part of the cache should be: the chosen folder (0), that of all kernels, one of a generation, a
#: file (3).
STANDS: dict[str, tuple[int, Callable[[Path], object]]] = {
    "a file": (0, lambda place: place.write_text("")),
    "a link to nowhere": (0, lambda place: place.symlink_to("nowhere")),
    "a link to itself": (1, lambda place: place.symlink_to(place)),
    "a pipe": (2, lambda place: os.mkfifo(place)),
    "a folder that is not empty": (3, fill),
}


@pytest.mark.parametrize("stands", STANDS)
def test_something_else_where_the_cache_should_be(warm, stands):
    """Computes all the same, and does not remove it."""
    level, make = STANDS[stands]
    (file,) = warm.files("*.nbc")
    place = [file, *file.parents][3 - level]
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    make(place)
    there = place.lstat()
    out, error = warm()
    assert out == "6.0\n" and "compiling probe" in error and "Traceback" not in error, error
    assert place.lstat().st_ino == there.st_ino


def test_the_cache_removed_while_it_is_used(warm):
    """Is made again, as private as before, for what is compiled from then on."""
    second = PROBE.replace("probe", "second")
    gone = f"import os, shutil\nos.umask(0)\nshutil.rmtree({str(warm.cache)!r})\n"
    out, error = warm(PROBE + gone + second)
    assert out == "6.0\n6.0\n" and SAID.fullmatch(error.replace("second", "probe")), error
    assert [file.name.partition(".")[0] for file in warm.files("*.nbc")] == ["second"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in [warm.cache, *warm.cache.rglob("*")])


def test_a_full_disk(runs):
    """What cannot be kept is used all the same, and the reason is given; nothing of it stays."""
    out, error = runs("import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n" + PROBE)
    assert out == "6.0\n"
    assert re.search(r"supple: cannot keep the compiled code in .*: \[Errno 27\] File too large", error)
    assert not [path for path in runs.cache.rglob("*") if path.is_file()]


def test_nowhere_to_keep_anything(runs):
    """No folder of the user's, and no temporary one."""
    nowhere = """
import tempfile
def none(*how, **more):
    raise FileNotFoundError(2, "No usable temporary directory found")
tempfile.gettempdir = tempfile.mkdtemp = none
"""
    (runs.folder / "occupied").write_text("")
    out, error = runs(nowhere + PROBE, SUPPLE_CACHE_DIR=str(runs.folder / "occupied" / "cache"))
    assert out == "6.0\n" and "SUPPLE_CACHE_DIR selects another" in error and "Traceback" not in error


@pytest.mark.parametrize("stream", ["None", "open('/dev/full', 'w')", "open('/dev/null')"])
def test_nobody_to_tell(runs, stream):
    """Standard error is closed, full or not to be written: the number comes all the same, and nothing else with it."""
    out, _ = runs(f"import os, sys\nsys.stderr = {stream}\n{PROBE}\nsys.stdout.flush()\nos._exit(0)")
    assert out == "6.0\n"


def test_a_thread_with_a_small_stack(warm):
    """LLVM needs more than 32 KiB: kernels are compiled and loaded where there is room."""
    small = """
import threading
threading.stack_size(32768)
def in_a_thread(text):
    thread = threading.Thread(target=exec, args=(text, {"__name__": "__main__"}))
    thread.start()
    thread.join()
"""
    loaded = f"import supple.spatial.algebra\n{small}\nin_a_thread({PROBE!r})\nprint(threading.stack_size())"
    assert warm(loaded) == ("6.0\n32768\n", "")
    shutil.rmtree(warm.cache)
    out, error = warm(loaded)
    assert out == "6.0\n32768\n" and SAID.fullmatch(error)
    wrong = loaded.replace("types.float64(types.float64)", "types.float64(types.unicode_type)")
    _, error = warm(wrong)
    assert "TypingError" in error  # of the thread that asked


def test_a_read_only_installation(starts):
    """Nothing is written beside the sources. (Permissions do not hold back an administrator: files are compared.)"""
    folders = [starts.package, *(p for p in starts.package.rglob("*") if p.is_dir())]
    before = sorted(starts.package.rglob("*"))
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert compiled(starts())
        assert sorted(starts.package.rglob("*")) == before
    finally:
        for folder in folders:
            folder.chmod(0o755)


def test_two_processes_at_once(starts, server):
    """Both compile, both write, both are right, and what they leave is whole."""
    both = [starts.start(PROBE, starts.env) for _ in range(2)]
    for process in both:
        out, error = process.communicate(timeout=300)
        assert process.returncode == 0, error
        assert out == "6.0\n"
    third = Forks(server, starts.folder / "third", starts.cache)
    assert not compiled(third())


def test_quiet(runs):
    assert runs(SUPPLE_QUIET="1") == ("6.0\n", "")
    assert runs.files("*.nbc")


def test_without_a_compiler(starts):
    """NUMBA_DISABLE_JIT starts kernels as the Python they are written in."""
    assert starts(NUMBA_DISABLE_JIT="1") == ("6.0\n", "")
    assert not starts.files("*.nbc")


def test_old_generations_are_forgotten(runs):
    """All but the last few used; whatever else lies in the cache folder is left alone."""
    kernels = runs.cache / "kernels"
    for k in range(compiler.GENERATIONS_KEPT + 3):
        (kernels / f"old{k}").mkdir(parents=True)
        (kernels / f"old{k}" / "x.nbc").write_text("")
        os.utime(kernels / f"old{k}", (1000 + k, 1000 + k))
    (runs.cache / "other").mkdir()
    assert compiled(runs())
    left = {p.name for p in kernels.iterdir() if p.name.startswith("old")}
    assert left == {f"old{k + 3}" for k in range(compiler.GENERATIONS_KEPT)}
    assert (runs.cache / "other").exists() and len(list(kernels.iterdir())) == compiler.GENERATIONS_KEPT + 1


def test_importing_does_not_load_the_compiler(starts):
    """Nor does building a model and finding a position for it: only computing does."""
    script = """
import sys
import supple
assert "numba" not in sys.modules and "numpy" not in sys.modules, "import"
model = supple.trees.chain(3)
model.normalize(model.random(0))
assert "numba" not in sys.modules, "building"
supple.forward_dynamics
assert "numba" in sys.modules
"""
    assert starts(script) == ("", "")


def test_sources_of_a_kernel():
    """All that its module imports, directly or not, and the modules of functions that it closes over; no others."""
    from supple.adaptive.backsubstitution import step_kernel
    from supple.exact.aba import ABA
    from supple.exact.rnea import RNEA

    def names(kernel):
        return {str(p.relative_to(sources.PACKAGE)) for p in sources.sources(kernel.modules)}

    quasi_statics = names(step_kernel)
    assert {"adaptive/heap.py", "assembly/stretches.py", "spatial/cpu/sixes.py", "model/joints.py"} <= quasi_statics
    assert not {"adaptive/steps.py", "exact/crba.py", "simulating/run.py"} & quasi_statics
    entries = {k.name: names(k) for k in compiler.KERNELS.values()}
    aba, rnea = entries[ABA.name], entries[RNEA.name]
    assert "exact/aba.py" in aba and "exact/call_kernels.py" in aba and "exact/aba.py" not in rnea
    assert "exact/rnea.py" in rnea


def test_kernels_begin_when_those_they_call_are_ready():
    """The longest way first; never more at a time than there are processes for."""
    import_kernels()
    called = compiler.callees(list(compiler.KERNELS.values()))
    assert len(called) == len(compiler.KERNELS)
    names = {k.name: {x.name for x in calls} for k, calls in called.items()}
    ended: list[str] = []
    with ThreadPool(2) as pool:
        for name, result in _in_order(pool, lambda name: (name, names[name] <= set(ended)), names, 2):
            assert result == (name, True)
            ended.append(name)
    assert sorted(ended) == sorted(names)


def test_a_helper_s_constants_that_live_in_python(runs):
    """Of helpers there is no machine code; a kernel has what they need, compiled and loaded."""
    script = """
from numba import types
from supple.spatial.compiler import helper, kernel

@helper
def said(x):
    print("so many:", x)
    return 2.0 * x

@kernel(types.float64(types.float64), "probe")
def probe(x):
    return said(x)

print(probe.load()(2.0))
"""
    first, second = runs(script), runs(script)
    assert first[0] == "so many: 2.0\n4.0\n" and SAID.fullmatch(first[1])
    assert second == (first[0], "")


def test_settings_are_part_of_the_generation(monkeypatch):
    """What changes machine code has a cache of its own; what does not, has not."""
    generation = sources.generation.__wrapped__
    plain = generation()
    assert re.fullmatch("[0-9a-f]{24}", plain) and generation() == plain
    for name, matters in (("NUMBA_BOUNDSCHECK", True), ("NUMBA_OPT", True), ("NUMBA_CPU_NAME", True),
                          ("NUMBA_NUM_THREADS", False), ("NUMBA_CACHE_DIR", False), ("OTHER", False)):  # fmt: skip
        with monkeypatch.context() as m:
            m.setenv(name, "1")
            assert (generation() != plain) is matters, name


def test_kernels_have_names_of_their_own():
    """The cache goes by them."""
    import supple.exact.energy
    import supple.exact.forward
    import supple.exact.kinematics  # noqa: F401

    names = [k.dispatcher.py_func.__qualname__ for k in compiler.KERNELS.values()]
    assert len(set(names)) == len(names) >= 20
    assert all(" " not in name for name in names)


def test_python_objects_are_read_in_few_places():
    """The names that read or make Python objects are those of entry points and of what calls them; no algorithm's."""
    from supple.spatial import cpu
    from supple.spatial.cpu import python_objects

    reading = {x for x in cpu.__all__ if hasattr(python_objects, x)} - {"OK", "ODD"}  # statuses
    places = set()
    texts = {path: path.read_text() for path in sources.PACKAGE.rglob("*.py")}
    for path, text in texts.items():
        for node in ast.walk(ast.parse(text)) if "spatial.cpu" in text else ():
            if isinstance(node, ast.ImportFrom) and node.module == "supple.spatial.cpu":
                found = reading & {x.name for x in node.names}
                places |= {str(path.relative_to(sources.PACKAGE))} if found else set()
    entries = {"exact/call_kernels.py", "exact/factor_entries.py"}
    assert places == entries | {"exact/calls.py", "exact/factor.py"}
