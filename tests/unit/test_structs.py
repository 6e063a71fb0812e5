"""Structs declared once: compiled code, NumPy and plain Python see the same numbers under the same names."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import config, types

from supple.exact.tables import aligned
from supple.spatial.algebra import RigidInertia, Sym3, Vec3
from supple.spatial.compiler import helper, kernel
from supple.spatial.cpu import WIDTH, absolute, dot, lanes_type, lanes_vector
from supple.spatial.fields import Address, Floats, Integer, Integers, Number, Numbers, Six, Value
from supple.spatial.matrices import Mat6, new_matrix, product_of_rows
from supple.spatial.structs import Embedded, Following, Link, Several, Struct, Table


class Row(Struct):
    u = Six()
    r = Number()


class Vectors(Struct):
    b = Six()
    c = Six()


class Joint(Struct):
    Y = Mat6()
    inertia = Value(RigidInertia)
    pair = Several(2, Row)
    rows = Following(Row)


class Node(Struct, align=8):
    Phi = Mat6()
    Psi = Mat6()
    vectors = Embedded(Vectors)
    eta = Number()
    h = Numbers(3)


class Body(Struct):
    n = Integer()
    count = Integer()
    flags = Integers()
    q = Floats()
    nodes = Table(Node)
    joint = Link(Joint)


new_row = Row.new


@helper
def mix(A, C, J):
    C.Phi = A.Phi - J.Y.T @ J.Y
    C.Psi = J.Y @ A.Phi @ A.Psi + A.Psi
    C.b = A.b @ J.Y + J.Y @ A.c
    C.vectors.c = absolute(A.c) * 2.0
    C.eta += dot(A.b, A.c)


@kernel(types.void(Body.type, types.int64), "struct test, one")
def one(body, i):
    mix(body.nodes[0], body.nodes[i], body.joint)


@kernel(types.float64(Body.type), "struct test, all")
def everything(body):
    M = new_matrix()
    for i in range(1, body.n):
        one(body, i)  # another kernel, by its name
        node, row = body.nodes[i], body.joint.rows[i]
        body.flags[i] |= 4
        body.q[i] += 0.5
        body.count += 1
        row.u, row.r = node.b + node.Phi[i], node.Phi[i, 2]
        M[0], M[1] = row.u, node.c
        node.h[i - 1] = M[1, 3] * 2.0
        node.Psi[2] = product_of_rows(M, M, 2)[1]
    I = body.joint.inertia
    body.joint.inertia = RigidInertia(I.m + 1.0, I.h * 2.0 + Vec3(I.m, 0.0, 0.0), I.I)
    spare = new_row()
    spare.r = 3.0
    body.joint.pair[1].r = spare.r
    return body.nodes[1].eta


def run() -> dict[str, list[float]]:
    """What the kernels do to a body of three nodes, by name."""
    rng = np.random.default_rng(0)
    nodes = Node.zeros(3)
    for name in nodes.dtype.names or ():
        nodes[name] = rng.normal(size=nodes[name].shape)
    joint = rng.normal(size=Joint.words + 3 * Row.words)
    body = Body.of(n=3, flags=np.arange(3), q=np.arange(3.0), nodes=nodes, joint=joint)
    call = everything.load()
    eta = call(body.address)
    out = {name: nodes[name].ravel() for name in nodes.dtype.names or ()}
    out |= {"joint": joint, "q": body.q, "flags": body.flags, "count": np.array([body.count]), "eta result": [eta]}
    return {name: np.asarray(x, dtype=float).ravel().tolist() for name, x in out.items()}


def test_compiled_code_does_what_numpy_does():
    rng = np.random.default_rng(0)
    nodes = Node.zeros(3)
    for name in nodes.dtype.names or ():
        nodes[name] = rng.normal(size=nodes[name].shape)
    joint = rng.normal(size=Joint.words + 3 * Row.words)
    Y, A = joint[:36].reshape(6, 6), nodes[0]
    got = {name: np.array(x) for name, x in run().items()}
    Phi, Psi = A["Phi"] - Y.T @ Y, Y @ A["Phi"] @ A["Psi"] + A["Psi"]
    b, c = A["b"] @ Y + Y @ A["c"], 2.0 * np.abs(A["c"])
    close = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(got["Phi"].reshape(3, 6, 6)[2], Phi, **close)
    np.testing.assert_allclose(got["b"].reshape(3, 6)[2], b, **close)
    np.testing.assert_allclose(got["c"].reshape(3, 6)[2], c, **close)
    u = b + Phi[2]
    Psi[2] = np.outer(u, u)[1] + np.outer(c, c)[1]
    np.testing.assert_allclose(got["Psi"].reshape(3, 6, 6)[2], Psi, **close)
    rows = got["joint"][Joint.words :].reshape(3, 7)
    np.testing.assert_allclose(rows[2], [*u, Phi[2, 2]], **close)
    np.testing.assert_allclose(got["h"].reshape(3, 3)[2, 1], 2.0 * c[3], **close)
    np.testing.assert_allclose(got["eta"][1:], nodes["eta"][1:] + A["b"] @ A["c"], **close)
    assert got["flags"].tolist() == [0, 5, 6]
    assert got["q"].tolist() == [0.0, 1.5, 2.5]
    assert got["count"].tolist() == [2]
    m = joint[36]
    inertia = joint[36:46] * [1, 2, 2, 2, 1, 1, 1, 1, 1, 1] + [1, m, 0, 0, 0, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(got["joint"][36:46], inertia, **close)
    assert got["joint"][46 + 7 + 6] == 3.0


def test_plain_python_does_the_same():
    """With the compiler disabled, which takes a process of its own."""
    find = f"import sys, json; sys.path.insert(0, {str(Path(__file__).parent)!r})"
    code = find + "; import test_structs as t; print(json.dumps(t.run()))"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    plain, compiled = json.loads(done.stdout), run()
    assert plain.keys() == compiled.keys()
    for name, numbers in compiled.items():
        np.testing.assert_allclose(plain[name], numbers, rtol=0, atol=1e-12, err_msg=name)


def test_plain_python_checks_every_index():
    code = (
        "import numpy as np\n"
        "from supple.spatial.structs import Struct, Table\n"
        "from supple.spatial.fields import Address, Floats, Integer, Number\n"
        "class Row(Struct):\n    x = Number()\n"
        "class Body(Struct):\n    n = Integer()\n    q = Floats()\n    rows = Table(Row)\n"
        "body = Body.of(n=2, q=np.zeros(2), rows=Row.zeros(2))\n"
        "s = Body.at(body.address)\n"
        "for use in (lambda: s.q[2], lambda: s.q[-1], lambda: s.rows[2], lambda: s.rows[-1]):\n"
        "    try:\n        use()\n    except IndexError:\n        print('refused')\n"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split() == ["refused"] * 4


def test_a_struct_says_which_field_it_does_not_have():
    body = Body.of(n=2)
    with pytest.raises(AttributeError, match="'Body' object has no attribute 'm'"):
        body.m  # noqa: B018
    with pytest.raises(AttributeError, match="'Body' object has no attribute 'm'"):
        body.m = 3


def test_a_struct_on_the_host_keeps_its_arrays_and_gives_them_back():
    q = np.arange(3.0)
    body = Body.of(n=3, q=q)
    assert body.q is q
    assert body.n == 3
    assert Node.words % 8 == 0
    assert Node.offsets["b"] == Node.offsets["vectors"] == 72


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_has_arrays_of_its_own_and_their_addresses(again):
    nodes = Node.zeros(3)
    body = Body.of(n=3, flags=np.arange(3), q=np.arange(3.0), nodes=nodes, joint=np.zeros(Joint.words + 3 * Row.words))
    other = again(body)
    everything.load()(other.address)
    np.testing.assert_array_equal(other.q, [0.0, 1.5, 2.5])
    np.testing.assert_array_equal(body.q, [0.0, 1.0, 2.0])
    assert (other.count, body.count) == (2, 0)


class Rigid(Struct):
    inertia = Value(RigidInertia)
    where = Address()


rigid_lanes, rigid_among, rigid_table = Rigid.lanes_table, Rigid.among, Rigid.table_of(lanes_type)


@kernel(types.void(types.int64, types.int64), "struct test, lanes")
def of_lanes(to, address):
    """Some numbers are the same for all states: the mass."""
    q = lanes_vector(address)
    h = Vec3(q[0], q[1], q[2])
    rigid_lanes(to)[1].inertia = RigidInertia(2.0, h, Sym3(q[0], q[0], q[0], q[0], q[0], q[1]))
    row = rigid_among(lanes_vector(to), 0)
    row.inertia = rigid_table(to)[1].inertia + rigid_table(to)[1].inertia


@pytest.mark.skipif(config.DISABLE_JIT, reason="registers are for compiled code")
def test_a_struct_of_registers_takes_numbers_that_are_the_same_for_all():
    to, q = aligned((2 * Rigid.words, WIDTH)), aligned((3, WIDTH))
    q[:] = np.arange(3.0 * WIDTH).reshape(3, WIDTH)
    of_lanes.load()(to.ctypes.data, q.ctypes.data)
    expected = np.stack([np.full(WIDTH, 2.0), *q, *[q[0]] * 5, q[1]])
    np.testing.assert_array_equal(to[Rigid.words : Rigid.words + 10], expected)
    np.testing.assert_array_equal(to[:10], 2.0 * expected)


@pytest.mark.skipif(config.DISABLE_JIT, reason="plain Python does not forbid it")
def test_kernels_do_not_write_addresses():
    """Compiled code reads them once."""

    @kernel(types.void(Rigid.type), "struct test, addresses")
    def write(x):
        x.where = 3

    with pytest.raises(Exception, match="addresses are written on the host"):
        write.load()
