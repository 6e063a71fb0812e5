"""Every exact algorithm, and its intermediates, against Pinocchio: random forests of every joint type, and real robots.

Tolerances: both sides carry rounding of a few hundred operations a body; 1e-11 of the largest number in the vector
leaves two to three digits of room on trees of up to 40 bodies.
"""

from __future__ import annotations

import zlib

import numpy as np
import pinocchio as pin
import pytest

import supple
from oracle import MOVING, pinocchio_model, random_model
from robots import RIGID, ROBOTS
from supple.model.geometry import rotation_to_z
from supple.model.joints import JointType

TOLERANCE = 1e-11


def close(ours, theirs, tolerance=TOLERANCE):
    scale = max(1.0, float(np.abs(theirs).max(initial=0.0)))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * scale)


def turns(model):
    """Pinocchio's frames of bodies on planar joints are turned: its normal is always z."""
    planar = model.joint_type == JointType.PLANAR
    out = np.broadcast_to(np.eye(3), (model.n_bodies, 3, 3)).copy()
    out[planar] = rotation_to_z(model.axis[planar])
    return out


def cases():
    for kind in MOVING:
        yield pytest.param(((kind,), 12, 0.5, 0.1), id=f"only {kind}")
    yield pytest.param((MOVING, 30, 0.5, 0.1), id="mixed tree")
    yield pytest.param((MOVING, 30, 1.0, 0.0), id="mixed chain")
    yield pytest.param((MOVING, 30, 0.0, 0.0), id="mixed bush")
    yield pytest.param((MOVING, 30, 0.3, 0.6), id="forest")
    yield pytest.param((("free",) + MOVING[:3], 1, 0.0, 0.0), id="one body")


@pytest.fixture(params=cases())
def case(request):
    kinds, n, chain, world = request.param
    rng = np.random.default_rng(zlib.crc32(repr((kinds, n, chain, world)).encode()))
    model = random_model(rng, n, kinds, chain=chain, world=world)
    state = [model.random(rng), *rng.standard_normal((3, model.nv))]
    wrenches = rng.standard_normal((model.n_bodies, 6))
    peer = pinocchio_model(model)
    return model, peer, peer.createData(), state, wrenches


def peer_wrenches(model, wrenches):
    out = pin.StdVec_Force()
    out.append(pin.Force.Zero())
    for T, w in zip(turns(model), wrenches):
        out.append(pin.Force(T.T @ w[3:], T.T @ w[:3]))
    return out


def test_layout(case):
    model, peer, *_ = case
    assert (model.nq, model.nv) == (peer.nq, peer.nv)
    close(model.neutral(), pin.neutral(peer))


def test_forward_dynamics(case):
    model, peer, data, (q, v, tau, _), wrenches = case
    theirs = pin.aba(peer, data, q, v, tau - model.damping * v, peer_wrenches(model, wrenches))
    for method in ("aba", "crba", "virtual-work", "dense"):
        close(supple.forward_dynamics(model, q, v, tau, wrenches, method=method), theirs, 1e-9)


def test_inverse_dynamics(case):
    model, peer, data, (q, v, a, _), wrenches = case
    theirs = pin.rnea(peer, data, q, v, a, peer_wrenches(model, wrenches)) + model.damping * v
    close(supple.inverse_dynamics(model, q, v, a, wrenches), theirs)


def test_bias_force(case):
    model, peer, data, (q, v, _, _), _ = case
    close(supple.bias_force(model, q, v), pin.nonLinearEffects(peer, data, q, v) + model.damping * v)
    close(supple.bias_force(model, q), pin.computeGeneralizedGravity(peer, data, q))


def test_mass_matrix(case):
    model, peer, data, (q, *_), _ = case
    upper = np.triu(pin.crba(peer, data, q))
    theirs = upper + np.triu(upper, 1).T
    close(supple.mass_matrix(model, q), theirs)
    close(supple.mass_matrix(model, q, sparse=True).dense(), theirs)


def test_factors(case):
    """Pinocchio has H = U D U^T with U upper triangular, which is the transpose of our L."""
    model, peer, data, (q, *_), _ = case
    pin.crba(peer, data, q)
    pin.cholesky.decompose(peer, data)
    factor = supple.factorize(supple.mass_matrix(model, q), model.expanded_parent)
    close(factor.D, data.D, 1e-10)
    close(factor.L, data.U.T, 1e-10)


def test_kinematics(case):
    model, peer, data, (q, v, a, _), _ = case
    pin.forwardKinematics(peer, data, q, v, a)
    poses = supple.poses(model, q)
    velocities = supple.velocities(model, q, v, "body").spatial
    accelerations = supple.accelerations(model, q, v, a, "body").spatial
    for i, T in enumerate(turns(model)):
        close(poses.rotation[i] @ T, data.oMi[i + 1].rotation)
        close(poses.position[i], data.oMi[i + 1].translation)
        for ours, theirs in ((velocities[i], data.v[i + 1]), (accelerations[i], data.a[i + 1])):
            close(T.T @ ours[:3], theirs.angular)
            close(T.T @ ours[3:], theirs.linear)


def test_jacobians(case):
    model, peer, data, (q, *_), _ = case
    pin.computeJointJacobians(peer, data, q)
    for i in {0, model.n_bodies // 2, model.n_bodies - 1}:
        theirs = pin.getJointJacobian(peer, data, i + 1, pin.LOCAL_WORLD_ALIGNED).reshape(6, -1)
        close(supple.jacobian(model, q, i), theirs[[3, 4, 5, 0, 1, 2]])


@pytest.mark.parametrize("chain", [0.0, 0.5, 1.0])
def test_derivatives_of_jacobians(chain):
    """Without universal joints, both of whose axes Pinocchio treats as fixed to the body (property/test_dynamics.py has
    them)."""
    rng = np.random.default_rng(int(10 * chain))
    model = random_model(rng, 30, tuple(kind for kind in MOVING if kind != "universal"), chain=chain, world=0.1)
    q, v, peer = model.random(rng), rng.standard_normal(model.nv), pinocchio_model(model)
    data = peer.createData()
    pin.computeJointJacobiansTimeVariation(peer, data, q, v)
    for i, T in enumerate(turns(model)):
        for along, axes in (("world", pin.LOCAL_WORLD_ALIGNED), ("body", pin.LOCAL)):
            theirs = pin.getJointJacobianTimeVariation(peer, data, i + 1, axes).reshape(6, -1)[[3, 4, 5, 0, 1, 2]]
            if along == "body":
                theirs = np.concatenate([T @ theirs[:3], T @ theirs[3:]])
            close(supple.jacobian_derivative(model, q, v, i, frame=along), theirs)


def test_terms(case):
    model, peer, data, (q, v, *_), _ = case
    close(supple.gravity_force(model, q), pin.computeGeneralizedGravity(peer, data, q))
    peer.gravity = pin.Motion.Zero()
    close(supple.coriolis_force(model, q, v), pin.nonLinearEffects(peer, data, q, v))
    A = pin.ccrba(peer, data, q, v)
    close(supple.momentum_matrix(model, q), A[[3, 4, 5, 0, 1, 2]])


def test_totals(case):
    model, peer, data, (q, v, *_), _ = case
    pin.forwardKinematics(peer, data, q, v)
    bodies = sum(0.5 * u.dot(I * u) for u, I in zip(data.v, peer.inertias))
    close(supple.kinetic_energy(model, q, v), bodies + 0.5 * model.armature @ v**2)
    close(supple.potential_energy(model, q), pin.computePotentialEnergy(peer, data, q))
    close(supple.center_of_mass(model, q), pin.centerOfMass(peer, data, q))
    momentum = pin.computeCentroidalMomentum(peer, data, q, v)
    close(supple.momentum(model, q, v), np.r_[momentum.angular, momentum.linear])


def test_manifold(case):
    model, peer, _, (q, v, _, _), _ = case
    q1 = pin.integrate(peer, q, 0.3 * v)
    close(model.integrate(q, v, 0.3), q1)
    close(model.difference(q, q1), pin.difference(peer, q, q1), 1e-10)


def bases():
    """Every robot on a fixed base, if it has joints; every fourth with a floating one, which is the same for all."""
    for i, path in enumerate(ROBOTS):
        if path.name not in RIGID:
            yield pytest.param(path, False, id=f"fixed-{path.stem}")
        if path.name in RIGID or i % 4 == 0:
            yield pytest.param(path, True, id=f"floating-{path.stem}")


@pytest.mark.parametrize(("path", "floating"), [*bases()])
def test_robot(path, floating):
    """Every robot of example-robot-data, read by both from its file: mass matrix, inverse and forward dynamics."""
    root = (pin.JointModelFreeFlyer(),) if floating else ()
    peer = pin.buildModelFromUrdf(str(path), *root)
    data = peer.createData()
    model = supple.load(path, floating_base=floating, loops=False)
    rng = np.random.default_rng(1)
    q, v, a = model.random(rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)
    theirs_q = peer_position(model, peer, q)
    upper = np.triu(pin.crba(peer, data, theirs_q))
    H = upper + np.triu(upper, 1).T
    close(supple.mass_matrix(model, q), H)
    tau = pin.rnea(peer, data, theirs_q, v, a) + model.damping * v
    close(supple.inverse_dynamics(model, q, v, a), tau)
    rounding = 2e-15 * np.abs(tau).max() * np.linalg.norm(np.linalg.pinv(H), 2)  # of tau, as it moves accelerations
    for method in ("aba", "crba"):
        if model.report.about("singular"):
            with pytest.raises(supple.SingularError, match="joint"):
                supple.forward_dynamics(model, q, v, tau, method=method)
        else:
            close(supple.forward_dynamics(model, q, v, tau, method=method), a, 1e-10 + rounding)


def peer_position(model, peer, q):
    """Pinocchio writes a continuous joint as cosine and sine."""
    out = pin.neutral(peer)
    for i, name in enumerate(model.joint_names):
        joint = peer.joints[peer.getJointId(name)]
        mine = q[model.joints[i].q]
        if model.joints[i].type == "continuous" and joint.nq == 2:
            mine = [np.cos(mine[0]), np.sin(mine[0])]
        out[joint.idx_q : joint.idx_q + joint.nq] = mine
    return out
