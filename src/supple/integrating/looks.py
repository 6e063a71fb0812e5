"""A function of time that is known at equal distances within a step: the polynomial through these looks, and where it
turns or crosses zero between them. Strides (walking/touchdown.py) and events (simulating/zeros.py) share it.

x is measured in parts, the distances between looks: 0 to n. The polynomial is Newton's, with divided differences c.
"""

from __future__ import annotations

from numba import types

from supple.spatial.addresses import vector
from supple.spatial.compiler import helper, kernel, part

NOWHERE = -1.0  #: instead of a place
BEYOND = 0.125  #: parts beyond either end in which a minimum counts, too: the next window may see it before its own


@part
def differences(f, n, c):
    """c: the divided differences for the looks f at 0, 1, ... n."""
    for k in range(n + 1):
        c[k] = f[k]
    for k in range(1, n + 1):
        for j in range(n, k - 1, -1):
            c[j] = (c[j] - c[j - 1]) / k


@part
def value(c, n, x):
    """The polynomial at x, and its rate."""
    f, rate = c[n], 0.0
    for k in range(n - 1, -1, -1):
        rate = rate * (x - k) + f
        f = f * (x - k) + c[k]
    return f, rate


@part
def least(c, n, a, b, sign):
    """Where between a and b the polynomial times sign is smallest; a or b, if it does not go down and up again
    there."""
    if sign * value(c, n, a)[1] >= 0.0:
        return a
    if sign * value(c, n, b)[1] <= 0.0:
        return b
    for _ in range(40):
        x = 0.5 * (a + b)
        a, b = (x, b) if sign * value(c, n, x)[1] < 0.0 else (a, x)
    return 0.5 * (a + b)


@part
def falls(c, f, n, i):
    """Where in part i the polynomial falls through zero, or NOWHERE. f, c: as in `differences`."""
    a, b, fa, fb = float(i), float(i + 1), f[i], f[i + 1]
    if (fa > 0.0) == (fb > 0.0):
        x = least(c, n, a, b, 1.0 if fa > 0.0 else -1.0)
        fx = value(c, n, x)[0]
        if (fx > 0.0) == (fa > 0.0):
            return NOWHERE
        a, fa, b, fb = (a, fa, x, fx) if fa > 0.0 else (x, fx, b, fb)
    elif fb > 0.0:
        return NOWHERE
    for _ in range(50):  # bisection
        x = 0.5 * (a + b)
        a, b = (x, b) if value(c, n, x)[0] > 0.0 else (a, x)
    return b


@helper
def add_dips(c, n, w, out):
    """Where the polynomial, seen from the side of zero of the nearest look, is smallest: rows of out are places, values
    seen from there, and that side. Returns how many there are."""
    count = 0
    for half in range(2 * n):
        near = w[(half + 1) // 2]
        sign = 1.0 if near > 0.0 else -1.0 if near < 0.0 else 0.0
        a = 0.5 * half - (BEYOND if half == 0 else 0.0)
        b = 0.5 * half + 0.5 + (BEYOND if half == 2 * n - 1 else 0.0)
        if sign * value(c, n, a)[1] < 0.0 <= sign * value(c, n, b)[1]:
            x = least(c, n, a, b, sign)
            out[count, 0], out[count, 1], out[count, 2] = x, sign * value(c, n, x)[0], sign
            count += 1
    return count


_vector = types.float64[::1]


@kernel(types.int64(_vector, _vector, types.float64[:, ::1]), "dips between looks")
def dips_kernel(w, c, out):
    """`add_dips` for plain Python: looks w (n + 1,), room c (n + 1,), out (2 n, 3)."""
    n = w.shape[0] - 1
    differences(vector(w), n, vector(c))
    return add_dips(vector(c), n, vector(w), out)
