"""Arrays: elements, views, expressions, overlap, reductions: the traced code against Python with NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from adc.frontend import prange
from adc.ir import ops
from tests.frontend.harness import check

RNG = np.random.default_rng(7)


def vector(n, dtype=np.float64):
    values = np.random.default_rng(n + 11).normal(size=n) * 3
    return values.astype(dtype)


def matrix(m, n, dtype=np.float64):
    return vector(m * n, dtype).reshape(m, n)


def heat(u, v, c, nt):
    n = u.shape[0]
    for _t in range(nt):
        for i in range(1, n - 1):
            v[i] = u[i] + c * (u[i - 1] - 2 * u[i] + u[i + 1])
        u, v = v, u
    return u[n // 2]


def heat_slices(u, c, nt):
    for _ in range(nt):
        u[1:-1] += c * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def heat_copies(u, c, nt):
    for _ in range(nt):
        v = u.copy()
        v[1:-1] = u[1:-1] + c * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = v
    return u


def heat_plane(u, v, c, nt):
    for _ in range(nt):
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + c[1:-1, 1:-1] * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
        u, v = v, u
    return np.sum(u)


def test_heat():
    for n, nt in itertools.product([3, 8], [0, 1, 4]):
        check(heat, lambda n=n, nt=nt: (vector(n), vector(n), 0.1, nt))
        check(heat, lambda n=n, nt=nt: (vector(n, np.float32), vector(n, np.float32), 0.1, nt))
        check(heat_slices, lambda n=n, nt=nt: (vector(n), 0.1, nt))
        check(heat_copies, lambda n=n, nt=nt: (vector(n), 0.1, nt))
        check(heat_plane, lambda n=n, nt=nt: (matrix(n, n + 1), matrix(n, n + 1), matrix(n, n + 1), nt))


def slices(x):
    return (
        x[1:],
        x[:-1],
        x[2:5],
        x[-3:],
        x[:100],
        x[50:],
        x[::2],
        x[1::3],
        x[1:-1:2],
        x[::-1],
        x[-2:0:-1],
        x[5:1:-2],
        x[:],
        x[-1:1],
        x[...],
    )


def run_time_slices(x, a, b, s):
    return x[a:b], x[a:], x[:b], x[a:b:2], x[a:b:-1], x[a::-2], x[:b:-1], x[a:b:s], x[::s]


def test_slices():
    for n in [0, 1, 2, 3, 6, 9]:
        check(slices, lambda n=n: (vector(n),))
        check(slices, lambda n=n: (vector(2 * n)[::2],))
    for n, a, b, s in itertools.product([0, 1, 5], [-7, -2, 0, 3], [-3, 0, 2, 9], [-2, 1, 3, 0]):
        check(run_time_slices, lambda n=n, a=a, b=b, s=s: (vector(n), a, b, s))


def elements(a, i, j):
    a[i, j] = 5.0
    a[i, 0] += a[i, j] * 2
    a[-1, j] -= 1
    return a[i, j], a[i][j], a[i, :].shape[0], a.T[j, i]


def test_elements():
    for i, j in itertools.product([-3, -1, 0, 1, 2], [-4, 0, 3, 4]):
        check(elements, lambda i=i, j=j: (matrix(2, 4), i, j))
    check(elements, lambda: (np.asfortranarray(matrix(3, 4)), 1, 2))


def expressions(x, y, s):
    z = x + y * s
    w = -x / 2 + (y - 1) ** 2
    z += w
    z *= 2
    x[:] = z - x
    return z, w, x * x[::-1], np.sin(x) + np.maximum(x, y), abs(x), x > y, (x > 0) & (y < 1)


def test_expressions():
    for n in [0, 1, 5]:
        check(expressions, lambda n=n: (vector(n), vector(n), 1.5))
        check(expressions, lambda n=n: (vector(n, np.float32), vector(n, np.float32), 1.5))
        check(expressions, lambda n=n: (vector(n), vector(n, np.float32), 2))
        check(expressions, lambda n=n: (matrix(n, 3), matrix(n, 3), np.float32(2)))


def broadcasting(a, b):
    c = a + b
    return c, a * b - 1, np.sum(a - b), (a + b + a).shape


def broadcast_store(a, b):
    a[:] = b
    a += b
    return a


@pytest.mark.parametrize(
    "shapes",
    [
        ((3,), (3,)),
        ((3,), (1,)),
        ((1,), (4,)),
        ((1,), (1,)),
        ((2, 3), (3,)),
        ((2, 3), (1, 3)),
        ((2, 3), (2, 1)),
        ((2, 1), (1, 3)),
        ((2, 1), (4,)),
        ((3,), (2,)),
        ((2, 3), (2,)),
        ((0,), (1,)),
        ((0, 3), (3,)),
        ((2, 3), ()),
    ],
)
def test_broadcasting(shapes):
    make = lambda: tuple(vector(int(np.prod(s))).reshape(s) for s in shapes)
    if shapes[1] != ():
        check(broadcasting, make, rtol=1e-12)
    if len(shapes[0]) >= len(shapes[1]):
        check(broadcast_store, make)


def known_ones(n):
    row = np.zeros((1, n)) + 2
    column = np.ones((n, 1))
    column[:, 0] = np.arange(n)
    return row * column + 1


def test_known_ones():
    check(known_ones, lambda: (4,))
    check(known_ones, lambda: (0,))
    check(known_ones, lambda: (1,))


def new_axes(x, y):
    return x[:, None] * y[None, :] + x[:, np.newaxis], np.sum(x[None] - y[:, None])


def test_new_axes():
    check(new_axes, lambda: (vector(3), vector(4)))
    check(new_axes, lambda: (vector(1), vector(4)))


# Aliasing -------------------------------------------------------------------------------------------------------------


def names(x):
    y = x
    z = x[1:]
    y[0] = 10.0
    z[0] = 20.0
    y = y + 1
    y[1] = -1.0
    x += 1
    return x, y, z


def overlapping(x):
    x[1:] = x[:-1]
    x[:-1] = x[1:] * 2
    x[::2] = x[::2] + 1
    x[:] = x[::-1]
    x[1:-1] += x[2:] - x[:-2]
    x[:] = x + x
    return x


def value_semantics(x):
    y = x * 2
    z = (x + 1, x)
    x[0] = 100.0
    return y, z


def two(x, y):
    x[1:] = y[:-1] + 1
    y[:] = x * 2
    x += y
    return np.dot(x, y)


def test_aliasing():
    for n in [2, 3, 7]:
        check(names, lambda n=n: (vector(n),))
        check(overlapping, lambda n=n: (vector(n),))
        check(value_semantics, lambda n=n: (vector(n),))
        check(two, lambda n=n: (vector(n), vector(n)))

        def same(n=n):
            x = vector(n)
            return x, x

        def shifted(n=n):
            x = vector(n + 1)
            return x[1:], x[:-1]

        def reversed_(n=n):
            x = vector(n)
            return x, x[::-1]

        for make in (same, shifted, reversed_):
            check(two, make)


def rotating(u, v, w, n):
    for k in range(n):
        u, v, w = v, w, u
        u[1:] = v[:-1] + w[1:] * k
    return u, v


def rebound(u, n):
    v = u
    for k in range(n):
        v = v + 1
        u[0] = v[0] * k
    return v


def becomes_alias(u, v, n):
    for _ in range(n):
        u[1:] = v[:-1] + 1
        v = u
    return v


def chosen(u, v, flag):
    if flag:
        a, b = u, v
    else:
        a, b = v, u
    a[1:] = b[:-1]
    c = a if flag else b
    c[0] = 7.0
    return c


def first_of_loop(x, n):
    for k in range(n):
        row = x[k]
        row[0] = k
    row[1] = 9.0
    return x


def test_arrays_in_control_flow():
    for n in [0, 1, 3, 4]:
        check(rotating, lambda n=n: (vector(4), vector(4) + 1, vector(4) * 2, n))
        check(rebound, lambda n=n: (vector(4), n))
        check(becomes_alias, lambda n=n: (vector(4), vector(4) + 1, n))
        check(first_of_loop, lambda n=n: (matrix(4, 3), n))

    def same(n):
        x = vector(5)
        return x[1:], x[:-1], x[1:], n

    for n in [1, 3]:
        check(rotating, lambda n=n: same(n))
    for flag in [True, False]:
        check(chosen, lambda flag=flag: (vector(4), vector(4) + 1, int(flag)))


# Reductions, products, library ----------------------------------------------------------------------------------------


def reductions(x):
    return x.sum(), np.max(x), x.min(), np.mean(x * 2), np.prod(x), np.sum(x * x), np.sum(x[::2])


def along(a):
    return np.sum(a, axis=0), a.sum(axis=1), a.max(axis=-1), np.mean(a, axis=0), np.sum(a, axis=(0, 1)), a.T.min(axis=0)


def sum_only(x):
    return np.sum(x), x.mean()


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_reductions():
    for dtype in (np.float64, np.float32, np.int64, np.int32):
        for n in [1, 2, 9]:
            check(reductions, lambda n=n, dtype=dtype: (vector(n, dtype),), rtol=1e-12)
        check(along, lambda dtype=dtype: (matrix(3, 4, dtype),), rtol=1e-12)
    check(sum_only, lambda: (vector(0),))
    check(reductions, lambda: (vector(0),))
    check(reductions, lambda: (np.array([1.0, np.nan, 2.0]),))
    check(reductions, lambda: (np.zeros((2, 0, 3)),))


def products(a, b, x, y):
    return a @ b, a @ x, x @ b, np.dot(x, y), x.dot(y), np.dot(a, b) @ y, (a + 1) @ (x * 2)


def test_products():
    check(products, lambda: (matrix(3, 3), matrix(3, 3) + 1, vector(3), vector(3) - 1), rtol=1e-12)
    check(products, lambda: (matrix(2, 3), matrix(2, 3), vector(3), vector(3)))


def creation(n, x):
    a = np.zeros((n, 2))
    b = np.ones(n, dtype=np.float32)
    c = np.full((2, n), 1.5)
    d = np.empty_like(x)
    d[:] = 3
    e = np.full_like(x, 2)
    f = np.array((1.0, x[0], 3))
    g = np.array(((1, 2), (3, n)))
    h = np.zeros(n, dtype=int)
    return a, b, c, d, e, f, g, h, np.arange(n), np.arange(10, 0, -n), np.copy(x), x.astype(np.float32), np.ones_like(x)


def test_creation():
    check(creation, lambda: (3, vector(2)))
    check(creation, lambda: (1, vector(2, np.float32)))
    check(creation, lambda: (-1, vector(2)))


def where(x, y):
    return np.where(x > 0, np.log(x), y), np.where(x > y, x, 0.0), np.clip(x, -1, y)


def test_where():
    check(where, lambda: (vector(5), vector(5)))


def shapes(a):
    m, n = a.shape
    return m, n, len(a), a.size, a.ndim, a.T.shape, a[0].shape, a[:, 1:].size, np.shape(a)


def unpacking(a):
    p, q = a
    r, s, t = q
    p[0] = 5.0
    return r + s * t, p


def test_shapes():
    check(shapes, lambda: (matrix(2, 3),))
    check(unpacking, lambda: (matrix(2, 3),))
    check(unpacking, lambda: (matrix(3, 3),))


def integers(a, b, k):
    a[0] = k
    a[1] += 2.5
    a *= 2
    c = a + b * k
    d = a / 2
    e = a // 3 + b % 4
    return c, d, e, a[0] * 2.5, a[1] + b[0], np.sum(a)


def test_integers():
    for s, t in itertools.product((np.int64, np.int32), repeat=2):
        check(integers, lambda s=s, t=t: (vector(4, s), vector(4, t), 3))
    big = np.array([2**30, 5, 7, 9], dtype=np.int32)
    check(integers, lambda: (big.copy(), big.copy(), 7))


def masks(a, flags):
    flags[0] = a[0] > 0
    flags[1:] = a[1:] > 1
    n = 0
    for i in range(len(a)):
        if flags[i]:
            n += 1
    return n, flags, a * flags


def test_masks():
    check(masks, lambda: (vector(5), np.zeros(5, dtype=bool)))


# Parallel loops -------------------------------------------------------------------------------------------------------


def parallel(x, y):
    total = 0.0
    count = 0
    low = 1e300
    product = 1.0
    for i in prange(len(x)):
        t = x[i] * 2
        y[i] = t + 1
        if t > 0:
            count += 1
        total = total + t
        total -= 0.5
        low = min(low, t)
        product *= 1.0 + abs(t) / 10
    return total, count, low, product


def parallel_nested(a):
    total = 0
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j]
    return total


def test_parallel():
    for n in [0, 1, 9]:
        check(parallel, lambda n=n: (vector(n), vector(n)), rtol=1e-12, types=n > 0)
        check(parallel_nested, lambda n=n: (matrix(n, 3),), rtol=1e-12, types=n > 0)
    check(parallel_nested, lambda: (matrix(4, 3, np.float32),), rtol=1e-12)


# Calls ----------------------------------------------------------------------------------------------------------------

SCALE = 2.5
COUNT = 3
AXIS = 1
TABLE = np.array([1.0, 2.0, 4.0])


def step(u, v, c=0.5, *, shift=0.0):
    v[1:-1] = u[1:-1] + c * (u[2:] - u[:-2]) + shift
    return v[0] + SCALE


def part(x):
    return x[1:]


def make(n, x):
    result = np.full(n, x)
    return result, result[1:]


def calls(u, v):
    a = step(u, v)
    b = step(v, u, shift=1.0, c=2.0)
    w = part(u)
    w[0] = 50.0
    r, s = make(COUNT, a)
    s[0] = 4.0
    return a + b, r, w, step(u, u)


def higher_order(f, x, n):
    for _ in range(n):
        x = f(x)
    return x


def uses_functions(x, k):
    def scaled(t):
        return t * k + SCALE

    return higher_order(scaled, x, 3) + higher_order(lambda t: t / 2 + scaled(t), x, COUNT)


def reads_globals(x):
    total = 0.0
    for i in range(COUNT):
        total += TABLE[i] * x
    return total + np.dot(TABLE, TABLE[::-1]) + (1, 2, 3, 4)[COUNT]


def pending(x):
    y = (x + 1) + changed(x)
    return y, x


def changed(x):
    x[:] = x * 2
    return 1.0


def test_calls():
    check(calls, lambda: (vector(5), vector(5) + 1))

    def same():
        x = vector(6)
        return x[1:], x[:-1]

    check(calls, same)
    check(uses_functions, lambda: (1.5, 2))
    check(uses_functions, lambda: (2, 3))
    check(reads_globals, lambda: (1.5,))
    check(pending, lambda: (vector(3),))
    assert RNG is not None


def along_axis(a, axis, t=(0, 1)):
    return np.sum(a, axis=axis) * t[axis]


def constants_through_calls(a, k):
    return along_axis(a, 0), along_axis(a, 1, t=(k, 2.0)), along_axis(a, AXIS)


def of_expression(f, x):
    return f(x + 1) + (x * 2)[1:] + (x - 1)[0]


def expression_arguments(x):
    return of_expression(part, x), higher_order(lambda t: -t, x * 2, 3)


def stepping(a, b, s):
    total = 0
    for i in range(a, b, s):
        total += i
    return total


def steps_in_callee(n, s):
    return stepping(0, n, 2) + stepping(n, 0, -3) + stepping(0, n, s)


def test_arguments():
    check(constants_through_calls, lambda: (matrix(3, 2), 4))
    check(expression_arguments, lambda: (vector(4),))
    check(steps_in_callee, lambda: (9, 2))


def statistics(x, y):
    return (
        np.var(x),
        np.std(x * 2),
        np.linalg.norm(x),
        np.any(x > 1),
        np.all(x < 100),
        np.count_nonzero(x > 0),
        np.outer(x, y + 1),
        np.vdot(x, x),
        np.any(x > 1e9),
    )


def spaced(a, b, n):
    return np.linspace(a, b, n), np.linspace(0, 1, 5), np.linspace(b, a)


def test_more_library():
    check(statistics, lambda: (vector(5), vector(3)), rtol=1e-12)
    check(statistics, lambda: (vector(5, np.int64), vector(3, np.float32)), rtol=1e-12)
    for n in (0, 1, 2, 7):
        check(spaced, lambda n=n: (0.5, 2.5, n), rtol=1e-12)


def boundary(u):
    u[0] = u[1]
    u[-1] = u[-2] * 2 + u[-1]
    u[:, 0] = u[:, -2]
    u[1:-1, -1] = u[1:-1, 1] - u[1:-1, -1]
    u[0, :-1] = u[0, 1:]
    return sum(u[0]) + sum(u[:, 1] * 2, 1.0)


def test_rows_need_no_temporary():
    for m, n in [(3, 3), (2, 2), (2, 4), (5, 3)]:
        traced = check(boundary, lambda m=m, n=n: (matrix(m, n),), rtol=1e-12)
    assert sum(op.opdef is ops.alloc for op in traced.module.funcs["boundary"].walk()) == 1
