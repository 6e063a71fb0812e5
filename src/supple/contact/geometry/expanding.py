"""Whether two convex shapes that overlap are parted sooner along another direction: the expanding polytope algorithm
[van den Bergen 2001, Proximity queries and penetration depth computation on 3D game objects].

A polytope within the difference D = B - A has corners on its surface. The overlap along a direction n is the support
function of D; it is never less than the distance of the polytope's face across n, if n is that face's normal. The face
that is nearest to the origin is pushed out to the surface of D, until none is nearer than the least overlap that is
known: then there is no direction along which it is less. Distances have signs, so that the origin need not be inside
the polytope to begin with.
"""

from __future__ import annotations

from supple.contact.geometry.points import across, norm
from supple.contact.geometry.support import farthest
from supple.spatial.algebra import Vec3, cross, dot
from supple.spatial.compiler import helper, part
from supple.spatial.fields import Integer, Number, Value
from supple.spatial.structs import Several, Struct

CORNERS = 64  #: of the polytope
FACES = 2 * CORNERS  #: more than its corners allow, 2 * CORNERS - 4
FLAT = 1e-9  #: relative to the size: a point that is less in front of a face is on it
LESS = 0.02  #: by which share overlap is less, at least, along another direction, to be looked for


class PolytopeCorner(Struct):
    w = Value(Vec3)


class Face(Struct):
    """Its corners, counter-clockwise about its unit normal n, and the distance of its plane from the origin along n."""

    a = Integer()
    b = Integer()
    c = Integer()
    n = Value(Vec3)
    far = Number()


class Edge(Struct):
    a = Integer()
    b = Integer()


class Polytope(Struct):
    n = Integer()
    corners = Several(CORNERS, PolytopeCorner)
    n_faces = Integer()
    faces = Several(FACES, Face)
    n_edges = Integer()
    edges = Several(FACES, Edge)  # around faces that are taken away


new_polytope = Polytope.new


@helper
def add_polytope_corner(scene, A, B, P, n):
    """The point of B - A that is farthest along n. Returns it."""
    w = farthest(scene, B, n) - farthest(scene, A, n * -1.0)
    P.corners[P.n].w = w
    P.n += 1
    return w


@helper
def set_face(P, face, a, b, c):
    """One without an area is never pushed out."""
    p = P.corners[a].w
    n = cross(P.corners[b].w - p, P.corners[c].w - p)
    size = norm(n)
    face.a, face.b, face.c = a, b, c
    face.n = n * (1.0 / size) if size > 0.0 else n
    face.far = dot(face.n, p) if size > 0.0 else 1e300


@helper
def add_face(P, a, b, c):
    set_face(P, P.faces[P.n_faces], a, b, c)
    P.n_faces += 1


@helper
def begin_polytope(scene, A, B, P, n, near):
    """A tetrahedron: points of D that are farthest along n, against it, off the line of both, and off the plane of the
    three. Returns whether it has an inside."""
    P.n = P.n_faces = 0
    p, q = add_polytope_corner(scene, A, B, P, n), add_polytope_corner(scene, A, B, P, n * -1.0)
    if norm(p - q) <= near:
        return False
    along = (p - q) * (1.0 / norm(p - q))
    t, s = across(along)
    off, best = p, 0.0
    for k in range(4):
        d = (t if k < 2 else s) * (1.0 if k % 2 == 0 else -1.0)
        r = farthest(scene, B, d) - farthest(scene, A, d * -1.0)
        x = norm(cross(along, r - p))
        if x > best:
            off, best = r, x
    P.corners[2].w, P.n = off, 3
    m = cross(p - q, off - q)
    if best <= near or norm(m) == 0.0:
        return False
    m = m * (1.0 / norm(m))
    one, two = add_polytope_corner(scene, A, B, P, m), add_polytope_corner(scene, A, B, P, m * -1.0)
    if dot(m, one - q) < dot(m, q - two):
        P.corners[3].w, one = two, two
    P.n = 4
    if abs(dot(m, one - q)) <= near:
        return False
    above = dot(cross(q - p, off - p), one - p) > 0.0  # then p, q, off look away from the fourth if turned round
    i, j = (1, 0) if above else (0, 1)
    add_face(P, i, j, 2)
    add_face(P, j, i, 3)
    add_face(P, i, 2, 3)
    add_face(P, 2, j, 3)
    return True


@helper
def add_edge(P, a, b):
    """Unless it is there in the other direction: then it is between two faces that are taken away, and so is it."""
    for k in range(P.n_edges):
        edge = P.edges[k]
        if edge.a == b and edge.b == a:
            last = P.edges[P.n_edges - 1]
            edge.a, edge.b = last.a, last.b
            P.n_edges -= 1
            return
    if P.n_edges < FACES:
        P.edges[P.n_edges].a, P.edges[P.n_edges].b = a, b
        P.n_edges += 1


@helper
def push_out(P, near):
    """The last corner joins the polytope, instead of the faces that it is in front of. Returns whether there was
    room."""
    k, new, P.n_edges = 0, P.n - 1, 0
    while k < P.n_faces:
        face = P.faces[k]
        if dot(face.n, P.corners[new].w - P.corners[face.a].w) > near:
            add_edge(P, face.a, face.b)
            add_edge(P, face.b, face.c)
            add_edge(P, face.c, face.a)
            P.n_faces -= 1
            last = P.faces[P.n_faces]
            face.a, face.b, face.c, face.n, face.far = last.a, last.b, last.c, last.n, last.far
        else:
            k += 1
    if P.n_faces + P.n_edges > FACES:
        return False
    for k in range(P.n_edges):
        add_face(P, P.edges[k].a, P.edges[k].b, new)
    return True


@helper
def nearest_face(P):
    best = 0
    for k in range(1, P.n_faces):
        if P.faces[k].far < P.faces[best].far:
            best = k
    return P.faces[best]


@part
def less_overlap(scene, A, B, n, depth):
    """A normal from B to A along which shapes that overlap by `depth` along n overlap less, and by how much: n and
    depth if there is none, or if it is hardly less."""
    P, near, enough = new_polytope(), FLAT * (norm(A.box) + norm(B.box)), (1.0 - LESS) * depth
    if not begin_polytope(scene, A, B, P, n, near):
        return n, depth
    while P.n < CORNERS and P.n_faces > 0:
        face = nearest_face(P)
        m, far = face.n, face.far
        if far >= enough:
            break
        x = dot(m, add_polytope_corner(scene, A, B, P, m))
        if x < depth:
            n, depth = m, x
            enough = min(enough, (1.0 - LESS) * depth)
        if x - far <= near or not push_out(P, near):
            break
    return n, depth
