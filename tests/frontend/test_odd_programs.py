"""Corner cases: changing layouts, nested scopes, shadowed names, tuples carried by loops, unusual numbers."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from adc.frontend import prange
from tests.frontend.harness import check


def vector(n):
    return np.random.default_rng(n).normal(size=n)


def shrinking(x, n):
    for _ in range(n):
        x = x[1:]
    return x, np.sum(x)


def halving(x, n):
    while x.size > n:
        x = x[::2]
    return x


def transposing(a, n):
    for _ in range(n):
        a = a.T
    return a[0, 1], a


def growing(x, n):
    for k in range(n):
        y = np.zeros(x.size + 1)
        y[:-1] = x
        y[-1] = k
        x = y
    return x


def carried_tuple(x, n):
    state = (x, 0, (x * 2, 1.0))
    for k in range(n):
        a, b, (c, d) = state
        state = (a + c, b + k, (c * 0.5, d + b))
    return state


def tuple_of_arrays(u, v, n):
    pair = (u, v)
    for _ in range(n):
        pair[0][1:] = pair[1][:-1] + 1
        pair = (pair[1], pair[0])
    return pair[0]


def same_counter(n):
    total = 0
    for i in range(n):
        for i in range(2):
            total += i
        total += i * 10
    return total, n


def shadowed(x):
    abs = x * 2
    len = lambda t: t + 1
    return abs + len(x)


def branch_returns(x, c):
    if c > 1:
        return x[1:], c
    elif c > 0:
        return x[::2], 2 * c
    return x, 0


def partial_returns(x, c):
    if c > 0:
        if c > 10:
            return x + 1
        x = x * 2
    elif c < -5:
        return x - 1
    x = x + 3
    if x > 20:
        return x
    return -x


def one_branch_array(x, c):
    if c:
        y = x + 1
    else:
        y = x
    y[0] = 50.0
    return y


def swapped_in_branch(u, v, c):
    if c:
        u, v = v, u
    u[1:] = v[:-1]
    return u, v


def loop_in_branch(u, c, n):
    s = 0
    if c:
        for i in range(n):
            s += u[i]
    else:
        k = 0
        while k < n:
            s -= u[k]
            k += 1
    return s


def negative_steps(u):
    s = 0.0
    for i in range(len(u) - 1, -1, -1):
        s = s * 0.5 + u[i]
    return s


def known_conditions(x, n):
    if n is None:
        return x
    if isinstance(x, float) and not isinstance(n, float):
        x = x * n
    y = 3 if True else x[0]
    while False:
        y += 1
    return x + y


def weak_bools(x):
    flag = x > 0
    other = False
    count = 0
    for _ in range(3):
        other = not other
        count += flag
        count += True
    return flag + 1, other, count, -flag, flag * 2.5, flag / 2


def infinities(x):
    return x / 0.0, -x / 0.0, math.inf - x, x * math.nan > 0, x // 0.3, x % -0.3


def deep(x):
    s = 0.0
    for a in range(2):
        for b in range(a + 1):
            for c in range(b, 3):
                for d in range(2):
                    if d == a or (c > b and x > 0):
                        s += x * a - b + c * d
                    else:
                        s -= 1
    return s


def closures_in_loops(x, n):
    total = 0.0
    for i in range(n):
        scale = i * 2 + 1
        f = lambda t: t * scale + i
        total += f(x)
    return total


def nested_closures(x):
    a = 2

    def outer(y):
        b = y + a

        def inner(z, k=a):
            return z * b + a + k

        return inner(y) + inner(1.0, k=3)

    a = 5
    return outer(x)


def mutating_closure(u, n):
    v = u * 0

    def bump(k):
        v[k] += u[k]

    for i in range(n):
        bump(i % u.size)
    return v


def early_unset(n):
    if n > 0:
        value = n
    if n > 5:
        value += 1
    if n > 0:
        return value
    return -1


def scalar_array(n):
    total = np.zeros(())
    total[()] = 1.5
    total += n
    return total[()], total * 2


def indirect(u, index):
    s = 0.0
    for k in range(len(index)):
        u[index[k]] += k
        s += u[index[-k - 1]]
    return s


def parallel_any_step(u, a, b, s):
    total = 1
    for i in prange(a, b, s):
        total += i * u[i % 3]
    return total


def min_max_updates(u):
    low = u[0]
    high = -1e30
    for i in prange(1, len(u)):
        low = min(low, u[i])
        if u[i] > 0:
            high = max(u[i], high)
    return low, high


def chained_assignment(u):
    a = b = u[0] + 1
    v = w = np.zeros(3)
    v[1] = a
    c, (d, e) = w[1], (b, a)
    return a + b, v, w, c + d + e


def swap_elements(u):
    u[0], u[-1] = u[-1], u[0]
    i, u[i] = 1, 7.0
    return u


def integer_results(n, x):
    return n // 2, len(x), int(x[0]), n % 3, round(x[1]), x.size * n


def many_returns(x, n):
    y = x * 0.5
    if n > 0:
        if n > 8:
            return y
        y = y + 1
        k = n
    else:
        if n < -8:
            return -y
        k = -n
    if k > 3:
        if y > 1.0:
            return y * k
        elif k == 5:
            y = y * 3
        if y < -3:
            return k
    else:
        y -= 7
    if n == 7:
        return x
    return y + k


def arrays_and_returns(u, v, n):
    w = u
    if n > 1:
        if n > 5:
            return u, 1.0
        w = v[1:]
        w[0] = 3.0
        if n > 3:
            return w, 2.0
    w[1] = 9.0
    return w, n


def without_value(u, n):
    if n > 0:
        if n > 3:
            return
        u[0] = n
    u[1] = n


def rows_in_closures(a, n):
    s = 0.0
    for i in range(n):
        row = a[i]
        f = lambda k: row[k] * 2 + i
        s += f(0) + f(1)
        row = row * 2
        s += f(0)
    return s


def stored_closures(x, n):
    k = 1.0
    pair = (lambda t: t * k, 2)
    for i in range(n):
        k = k + i
        x = pair[0](x) + pair[1]
    return x


CASES = [
    (shrinking, [lambda n=n: (vector(6), n) for n in (0, 1, 4, 9)]),
    (halving, [lambda n=n: (vector(16), n) for n in (20, 3, 1)]),
    (transposing, [lambda n=n: (vector(6).reshape(2, 3), n) for n in (0, 2)]),
    (growing, [lambda n=n: (vector(2), n) for n in (0, 1, 3)]),
    (carried_tuple, [lambda n=n: (1.5, n) for n in (0, 1, 3)]),
    (tuple_of_arrays, [lambda n=n: (vector(4), vector(4) + 1, n) for n in (0, 1, 3)]),
    (same_counter, [lambda n=n: (n,) for n in (0, 3)]),
    (shadowed, [lambda: (1.5,)]),
    (branch_returns, [lambda c=c: (vector(5), c) for c in (2, 1, 0)]),
    (partial_returns, [lambda c=c: (1.5, c) for c in (11, 5, 0, -3, -9, 10)] + [lambda: (30.0, 1)]),
    (many_returns, [lambda x=x, n=n: (x, n) for x in (1.5, -4.0) for n in range(-10, 11)]),
    (arrays_and_returns, [lambda n=n: (vector(4), vector(5), n) for n in (0, 2, 4, 6)]),
    (without_value, [lambda n=n: (vector(3), n) for n in (-1, 2, 5)]),
    (rows_in_closures, [lambda n=n: (vector(6).reshape(3, 2), n) for n in (0, 3)]),
    (stored_closures, [lambda n=n: (1.5, n) for n in (0, 3)]),
    (one_branch_array, [lambda c=c: (vector(4), c) for c in (0, 1)]),
    (swapped_in_branch, [lambda c=c: (vector(4), vector(4) + 1, c) for c in (0, 1)]),
    (loop_in_branch, [lambda c=c: (vector(4), c, 3) for c in (0, 1)]),
    (negative_steps, [lambda n=n: (vector(n),) for n in (0, 1, 5)]),
    (known_conditions, [lambda: (1.5, 2), lambda: (1.5, None), lambda: (2, 2.5)]),
    (weak_bools, [lambda: (1.5,), lambda: (-1.5,)]),
    (infinities, [lambda: (np.float64(2.0),), lambda: (np.float64(-0.7),)]),
    (deep, [lambda: (0.5,), lambda: (-0.5,)]),
    (closures_in_loops, [lambda n=n: (1.5, n) for n in (0, 3)]),
    (nested_closures, [lambda: (1.5,)]),
    (mutating_closure, [lambda n=n: (vector(3), n) for n in (0, 5)]),
    (early_unset, [lambda n=n: (n,) for n in (0, 3, 7)]),
    (scalar_array, [lambda: (2,)]),
    (indirect, [lambda: (vector(4), np.array([0, 2, -1, 2])), lambda: (vector(4), np.array([0, 9, 1]))]),
    (parallel_any_step, [lambda s=s: (vector(3), 0, 7, s) for s in (1, 3)] + [lambda: (vector(3), 5, -1, -2)]),
    (min_max_updates, [lambda: (vector(6),), lambda: (vector(1),)]),
    (chained_assignment, [lambda: (vector(3),)]),
    (swap_elements, [lambda: (vector(3),)]),
    (integer_results, [lambda: (7, vector(3) * 10)]),
]


@pytest.mark.parametrize("function, makes", CASES, ids=lambda c: getattr(c, "__name__", ""))
def test_odd(function, makes):
    for make in makes:
        check(function, make, types=False)


def test_threads_trace_at_once():
    makers = [(f, makes[0]) for f, makes in CASES]

    def work(shift):
        for f, make in makers[shift:] + makers[:shift]:
            check(f, make, types=False)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, 7 * k) for k in range(4)]:
            done.result()
