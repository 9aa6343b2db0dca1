"""Lists whose length is known only at run time."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import adc
from adc import prange
from adc.errors import CompileError
from tests.programs.harness import check

V = np.linspace(-1.0, 1.5, 7)


# Functions of x and n, held against plain Python, with gradients ------------------------------------------------------


def appended(x, n):
    ys = []
    for i in range(n):
        ys.append(x * i)
    return sum(ys) + len(ys)


def appended_sometimes(x, n):
    ys = []
    for i in range(n):
        if i % 3 != 1:
            ys.append(x * x * i)
    s = 0.0
    for y in ys:
        s += y * y
    return s


def appended_by_its_value(x, n):
    ys = []
    for i in range(n):
        v = math.sin(0.2 * x * i)
        if v > 0:
            ys.append(v)
        elif v < -0.95:
            continue
        else:
            ys.append(v * v)
            ys.append(x)
    return sum(ys)


def while_short(x, n):
    ys = [1.0]
    while len(ys) < n:
        ys.append(ys[-1] * x)
    return ys[-1] + ys[0] * x


def until_it_breaks(x, n):
    ys = [x]
    while True:
        ys.append(math.sin(ys[-1]))
        if len(ys) > n:
            break
    return ys[-1] * ys[0]


def break_out(x, n):
    ys = []
    for i in range(n):
        if i > 4:
            break
        ys.append(x**i)
    return sum(ys)


def comprehended(x, n):
    ys = [math.sin(x * i) for i in range(n)]
    return sum(ys) * len(ys)


def comprehended_where(x, n):
    ys = [x * i * j for i in range(n) for j in range(i) if (i + j) % 2]
    return sum([y * y for y in ys])


def stack(x, n):
    ys = [x * i for i in range(n + 2)]
    while len(ys) > 1:
        a = ys.pop()
        b = ys.pop()
        ys.append(a * b * 0.1 + 1.0)
    return ys[0]


def branch(x, n):
    ys = []
    if x * n > 1.0:
        ys.append(x)
    else:
        ys.append(2 * x)
        ys.append(x * x)
    return sum(ys) * len(ys)


def chosen(x, n):
    if n > 3:
        ys = [x, 2 * x]
    else:
        ys = [x * x]
    ys.append(x)
    return sum(ys) + ys[-1] * len(ys)


def grown_in_nest(x, n):
    ys = []
    for i in range(n):
        for j in range(i):
            if j % 2:
                ys.append(x * j)
            ys.append(x * x * i)
    return sum([y * y for y in ys]) if ys else 0.0


def rows(x, n):
    total = 0.0
    for i in range(n):
        row = []
        for j in range(i + 1):
            row.append(x * j + i)
        total += row[-1] * row[0] * x
    return total


def elements_assigned(x, n):
    ys = [0.0]
    for i in range(n):
        ys.append(math.sin(ys[-1] + x))
        ys[i] = ys[i] * ys[-1]
        ys[-1] += x
    return sum(ys)


def add_to(ys, x):
    ys.append(x * len(ys))
    ys[0] = ys[0] * 1.5


def grown_by_callee(x, n):
    ys = [x]
    for _ in range(n):
        add_to(ys, x)
    return sum(ys)


def made(n, x):
    r = []
    for i in range(n):
        r.append(x * i)
    return r


def made_by_callee(x, n):
    ys, zs = made(n, x), made(n + 1, x * x)
    ys += zs
    ys.extend([1.0, x])
    return sum([y * y for y in ys]) + ys[-1]


def lists_in_a_loop(x, n):
    total = 0.0
    for i in range(n):
        ys = made(i, x)
        ys.append(x)
        total += sum(ys) * ys[0]
    return total


def two_names(x, n):
    ys = [x]
    zs = ys
    for _ in range(n):
        zs.append(zs[-1] * 0.5)
    return sum(ys)


def in_a_dict(x, n):
    d = {"a": [], "b": [x]}
    for i in range(n):
        d["a"].append(x * i)
        d["b"].append(d["a"][-1] * x)
    return sum(d["a"]) * sum(d["b"])


def pairs(x, n):
    ys = [(x * i, i) for i in range(n)]
    s = 0.0
    for u, k in ys:
        s += u * u * k
    return s


def slices(x, n):
    ys = [x**i for i in range(n)]
    m = n // 2
    return sum(ys[1:]) + 2 * sum(ys[::-2]) + 3 * sum(ys[m:]) - sum(ys[:-1])


def joined(x, n):
    ys = [x * i for i in range(n)]
    zs = ys + [x] + ys  # noqa: RUF005
    return sum([z * k for k, z in enumerate(zs)])


def inserted(x, n):
    ys = [x * i for i in range(n)]
    ys.insert(1, x * x)
    ys.insert(-1, 3 * x)
    ys.insert(100, x**3)
    first = ys.pop(0) + ys.pop(1)
    return sum([y * k for k, y in enumerate(ys)]) + first


def zipped(x, n):
    ys = [x * i for i in range(n)]
    zs = [x + i for i in range(n + 2)]
    s = 0.0
    for a, b in zip(ys, zs):
        s += a * b
    for k, z in enumerate(reversed(zs)):
        s += k * z * x
    return s


def copied(x, n):
    ys = [x * i for i in range(n)]
    zs, ws = ys.copy(), list(ys)
    for i in range(len(zs)):
        zs[i] *= x
    ws.append(x)
    us = copy.copy(zs)
    us.clear()
    return sum(ys) + 2 * sum(zs) + 3 * sum(ws) + len(us)


def int_becomes_float(x, n):
    ys = [0]
    for i in range(n):
        ys.append(i * x)
    zs = [i for i in range(n)]
    zs[0] = x
    return sum(ys) + sum(zs)


def as_arrays(x, n):
    ys = [x * i for i in range(n)]
    a = np.array(ys)
    ys[0] = 7.0
    return np.sum(a * a) + np.sum(ys) + np.max(ys) * x + np.dot(a, np.asarray(ys))


def extrema(x, n):
    ys = [math.sin(0.3 * x * i) for i in range(n)]
    return max(ys) * 2.0 + min(ys)


def repeated(x, n):
    ys = [x, 2 * x] * n
    ys[3] = x * x
    zs = 2 * ys
    return sum(zs) * len([*zs, *ys, x])


def nested_function(x, n):
    ys = []

    def add(v):
        ys.append(v * x)

    for i in range(n):
        add(i)
    return sum(ys)


def descend(ys, n, x):
    if n > 0:
        ys.append(x * n)
        descend(ys, n - 1, x)


def recursive(x, n):
    ys = [x * i for i in range(n)]
    descend(ys, n, x)
    return sum(ys) * len(ys)


def on_threads(x, n):
    a = np.zeros(n)
    for i in prange(n):
        ys = []
        for j in range(i):
            if j % 2:
                ys.append(x * j)
            else:
                ys.append(x * x)
        a[i] = sum(ys) * x
    return np.sum(a)


def set_by_the_last(x, n):
    for i in range(n):
        ys = []
        for j in range(i):
            ys.append(j * x)
    return sum(ys) + len(ys)


def returns_early(x, n):
    ys = []
    for i in range(n):
        ys.append(x)
        if i * x > 3:
            return sum(ys)
    return 2 * sum(ys)


def several_each_time(x, n):
    ys = [0.5]
    for i in range(n):
        ys.append(x)
        if i > 3:
            ys.append(x * 2)
        ys.append(x * ys[i])
        ys.append(ys[-1] + ys[-2])
    return sum(ys)


def longest(x, n):
    best = []
    for i in range(n):
        cur = []
        for j in range(i):
            cur.append(x * j)
        if len(cur) > len(best):
            best = cur
    return sum(best)


def many_known(x, n):
    ys = []
    for i in range(500):
        if i % 7 < 3:
            ys.append(math.sin(0.01 * i * x) / n)
    return sum(ys)


def few_known(x, n):
    ys = [x] * 3
    for i in range(4):
        if i % 2:
            ys.append(x * i)
    a, b, c, d, e = ys
    return a + b * c * d * e + n


def monotone_stack(x, n):
    ys = [math.sin(2.0 * i) + 0.01 * x * i for i in range(n)]
    zs = []
    for y in ys:
        while zs and zs[-1] < y:
            zs.pop()
        zs.append(y)
    k = zs.pop() if n > 4 else 0.5
    return sum(zs) + k * len(zs)


def halves(x, n):
    work = [(0, n, x)]
    s = 0.0
    while work:
        low, high, y = work.pop()
        if high - low < 2:
            s += y * low
            continue
        middle = (low + high) // 2
        work.append((low, middle, y * x))
        work.append((middle, high, y + x))
    return s


def extended(x, n):
    ys = []
    ys.extend([x, 2 * x])
    ys.extend(x * i for i in range(n))
    ys += range(n)
    zs = list(y * y for y in ys)
    return sum(zs) * len(zs)


def swapped(x, n):
    ys, zs = [x], [x, x]
    for _ in range(n):
        ys.append(zs[-1] * 0.5)
        ys, zs = zs, ys
    return sum(ys) + 3 * sum(zs)


@pytest.mark.parametrize(
    "fn",
    [
        appended,
        appended_sometimes,
        appended_by_its_value,
        while_short,
        until_it_breaks,
        break_out,
        comprehended,
        comprehended_where,
        stack,
        branch,
        chosen,
        grown_in_nest,
        rows,
        elements_assigned,
        grown_by_callee,
        made_by_callee,
        lists_in_a_loop,
        two_names,
        in_a_dict,
        pairs,
        slices,
        joined,
        inserted,
        zipped,
        copied,
        int_becomes_float,
        as_arrays,
        extrema,
        repeated,
        nested_function,
        recursive,
        on_threads,
        set_by_the_last,
        returns_early,
        several_each_time,
        longest,
        many_known,
        few_known,
        monotone_stack,
        halves,
        extended,
        swapped,
    ],
    ids=lambda fn: fn.__name__,
)
def test_values_and_gradients(fn):
    check(fn, (0.7, 5), (0.9, 23), (0.4, 2))


# Results --------------------------------------------------------------------------------------------------------------


def same(fn, *args):
    """The result and the arguments afterwards are what plain Python has, types of items included."""
    mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
    expected = fn(*theirs)
    result = adc.jit_grad(fn)(*mine)
    assert repr(result) == repr(expected)
    assert repr(mine) == repr(theirs)


def ints(n):
    return [i * i for i in range(n)]


def flags(n):
    return [i > 1 for i in range(n)]


def of_array(a):
    return [v * v for v in a]


def picked(a, x):
    found = []
    for v in a:
        if v > x:
            found.append(v)
        elif v < -x:
            break
    return found


def records(x, n):
    return [(x * i, i, None, (i, "a")) for i in range(n)]


def primes(n):
    found = []
    for k in range(2, n):
        for p in found:
            if k % p == 0:
                break
        else:
            found.append(k)
    return found


def literals_around(a):
    ys = [0.0]
    for v in a:
        ys.append(v * v)
    ys.append(1.0)
    return np.sum(np.array(ys)) + ys[-2]


def looked_at(n):
    ys = [i for i in range(n)]
    zs = ys[::2] + list(range(n))
    zs.insert(1, 5)
    zs.pop(0)
    return zs, len(zs), max(zs), min(zs), sum(zs), any(zs), all(zs), not ys, not zs[:0]


def changed(xs, n):
    for _ in range(n):
        xs.append(xs[-1] * 0.5)
    return xs[1]


def nested_result(x, n):
    return {"a": [x] * 2, "b": ([x * i for i in range(n)], n)}


def popped(n):
    ys = [i for i in range(n)]
    ys.pop()
    ys.pop()
    return ys


def unpacked(x, n):
    a, b, c = [x * i for i in range(n)]
    return a + b * c


def test_results():
    for n in (0, 1, 5):
        same(ints, n)
        same(flags, n)
        same(of_array, np.arange(float(n)))
        same(records, 1.5, n)
        same(nested_result, 1.5, n)
        same(changed, [1.0, 3.0], n)
    same(of_array, np.arange(3))
    same(of_array, np.arange(3, dtype=np.float32))
    same(literals_around, np.arange(5.0))
    with pytest.raises(CompileError):  # NumPy makes float64 of Python's floats among float32
        adc.jit_grad(literals_around)(np.arange(66, dtype=np.float32))  # fewer are taken one by one
    same(literals_around, np.arange(5, dtype=np.float32))
    same(primes, 60)
    same(picked, V, 0.5)
    same(picked, V[::-1].copy(), 0.5)
    same(looked_at, 4)
    same(popped, 2)
    same(unpacked, 2.0, 3)


def test_a_long_list():
    same(ints, 100_000)
    assert adc.grad(while_short)(1.0, 50_000) == pytest.approx(50_000.0)


def test_pullback_of_a_list():
    def f(xs, n):
        return [xs[i % len(xs)] ** 2 * i for i in range(n)]

    y, back = adc.pullback(f, [3.0, 2.0], 5)
    assert y == [0.0, 4.0, 18.0, 12.0, 36.0]
    seed = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert back(seed) == ([6.0 * (2 * 3.0 + 4 * 5.0), 4.0 * (1 * 2.0 + 3 * 4.0)], None)
    with pytest.raises(adc.AdcError):
        back(seed[:3])

    _, back = adc.pullback(records, 2.0, 3)
    assert back([(1.0, None, None, None), None, (10.0, None, None, None)]) == (20.0, None)
    with pytest.raises(adc.AdcError):
        back(3.0)


def test_the_callers_list():
    def f(xs, n):
        for i in range(n):
            xs.append(xs[i] * xs[-1])
        s = 0.0
        for v in xs:
            s += v * v
        return s

    xs = [1.1, 0.9]
    gradient = adc.grad(f)(xs, 4)
    assert xs == [1.1, 0.9]
    for k in range(2):
        ends = []
        for h in (1e-6, -1e-6):
            moved = [*xs]
            moved[k] += h
            ends.append(f(moved, 4))
        assert gradient[k] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)

    _, back = adc.pullback(f, xs, 2)
    assert xs == [1.1, 0.9, 1.1 * 0.9, 0.9 * (1.1 * 0.9)]
    assert len(back(1.0)[0]) == 2


def test_second_derivatives():
    def powers(x, n):
        ys = [x]
        for _ in range(n - 1):
            ys.append(ys[-1] * x)
        return sum(ys)

    x = 1.1
    assert adc.grad(adc.grad(powers))(x, 5) == pytest.approx(2 + 6 * x + 12 * x**2 + 20 * x**3)

    def filtered(x, n):
        ys = [x * x * i for i in range(n)]
        zs = []
        for y in ys:
            if y > 1:
                zs.append(y * y)
        return sum(zs)

    assert adc.grad(adc.grad(filtered))(x, 5) == pytest.approx(12 * x**2 * 30)


# Errors ---------------------------------------------------------------------------------------------------------------


def item(n, k):
    ys = [i for i in range(n)]
    return ys[k]


def put(n, k):
    ys = [i for i in range(n)]
    ys[k] = 3
    return ys


def test_out_of_range():
    got, stored = adc.jit_grad(item), adc.jit_grad(put)
    assert got(4, -4) == 0 and got(4, 3) == 3
    assert stored(2, -1) == [0, 3]
    for n, k in ((4, 4), (4, -5), (0, 0), (0, -1)):
        with pytest.raises(IndexError):
            got(n, k)
        with pytest.raises(IndexError):
            stored(n, k)
    with pytest.raises(IndexError, match="pop from empty list"):
        adc.jit_grad(popped)(1)
    for n in (2, 4):
        with pytest.raises(ValueError, match="cannot be unpacked into 3"):
            adc.jit_grad(unpacked)(1.0, n)
    with pytest.raises(ValueError, match="iterable argument is empty"):
        adc.jit_grad(extrema)(1.0, 0)


def lists_of_lists(n):
    ys = []
    for i in range(n):
        ys.append([i])
    return ys


def strings_differ(n):
    ys = []
    for i in range(n):
        ys.append("a" if i == 3 else i)
    return ys


def changed_while_gone_through(n):
    ys = [i for i in range(n)]
    for y in ys:
        if y == 2:
            ys.append(7)
    return ys


def known_list_changed_while_gone_through(n):
    ys = [1, 2, 3]
    for y in ys:
        if y == n:
            ys.append(y)
    return ys


def appended_in_parallel(n):
    ys = []
    for i in prange(n):
        ys.append(i)
    return ys


def stored_in_parallel(n):
    ys = [i for i in range(n)]
    for i in prange(n):
        ys[i] = 2
    return ys


def ranges(n):
    ys = []
    for i in range(int(n)):
        ys.append(range(i))
    return len(ys)


def test_the_way_out():
    with pytest.raises(CompileError) as caught:
        adc.jit_grad(ranges)(4.0)
    assert "np.zeros" in caught.value.help


def rows(n):
    ys = []
    for i in range(n):
        ys.append([i, i * 2.0])
    return ys


ROWS = [
    rows, lists_of_lists, lambda n: np.array(rows(n)),
    lambda n: rows(n)[1] == [1, 2.0], lambda n: rows(n)[1] < [1, 3.0],
    lambda n: rows(n)[1] + rows(n)[2], lambda n: rows(n)[1] * 2, lambda n: rows(n)[1][1:],
    lambda n: isinstance(rows(n)[1], list), lambda n: 2.0 in rows(n)[1], lambda n: sum(a * b for a, b in rows(n)),
    lambda n: sorted(rows(n), key=lambda r: -r[1]), lambda n: np.array([[[i, 1.0], [2.0, i]] for i in range(n)]),
]  # fmt: skip


@pytest.mark.parametrize("fn", ROWS)
def test_items_that_are_lists(fn):
    compiled = adc.jit_grad(fn)
    for n in (3, 5):
        assert repr(compiled(n)) == repr(fn(n))


def row_changed(n):
    ys = rows(n)
    ys[1].append(3.0)
    return ys


def row_with_a_name(n):
    ys = []
    for i in range(n):
        row = [i]
        ys.append(row)
        row.append(2)
    return ys


def first_row_with_a_name(n):
    row = [1]
    ys = [row]
    for i in range(n):
        ys.append([i])
    row.append(2)
    return ys


@pytest.mark.parametrize("fn", [row_with_a_name, first_row_with_a_name])
def test_items_that_are_lists_with_names(fn):
    assert adc.jit_grad(fn)(4) == fn(4)


def test_items_made_by_a_called_function_may_be_changed():
    assert adc.jit_grad(row_changed)(4) == row_changed(4)


@pytest.mark.parametrize(
    "fn",
    [
        strings_differ,
        changed_while_gone_through,
        known_list_changed_while_gone_through,
        appended_in_parallel,
        stored_in_parallel,
    ],
)
def test_refused(fn):
    with pytest.raises(CompileError):
        adc.jit_grad(fn)(4)


# Ints that floats are not equal to, and NaN ---------------------------------------------------------------------------


def large_beside_floats(x, n, k):
    ys = [x]
    for i in range(k):
        ys.append(n + i)
    return sum(ys) - n


def widened_late(x, n, k):
    ys = []
    for i in range(k):
        ys.append(n + i)
    ys.append(x)
    return sum(ys) - n


@pytest.mark.parametrize("program", [large_beside_floats, widened_late])
def test_ints_that_are_no_floats(program):
    made = adc.jit_grad(program)
    assert made(1.5, 2**50, 3) == program(1.5, 2**50, 3)
    with pytest.raises(OverflowError, match="53 bits"):
        made(1.5, 2**53, 3)


def has_nan(ys):
    return math.nan in ys


def place_of_nan(ys):
    return ys.index(math.nan)


def count_of_nan(ys):
    zs = []
    for y in ys:
        zs.append(y)
    return zs.count(math.nan)


@pytest.mark.parametrize("program", [has_nan, place_of_nan, count_of_nan])
def test_nan_is_found_by_identity(program):
    with pytest.raises(CompileError, match="which object"):
        adc.jit_grad(program)([1.0, math.nan])


def test_known_nans_are_found():
    def program(x):
        return math.nan in [1.0, math.nan, x], math.nan in np.array([x, math.nan])

    assert adc.jit_grad(program)(2.0) == program(2.0)


# Arrays that are assigned to slices of lists --------------------------------------------------------------------------


def array_in_the_middle(x, n):
    ys = [0.0] * 8
    ys[1:6] = V[:n] * x
    ys[0] = x
    return sum(ys) * x + len(ys)


def ints_replaced(x, n):
    ys = [1, 2, 3]
    ys[1:2] = np.array([x, x * x, n * x])
    return sum(ys) + len(ys)


def whole_replaced(x, n):
    ys = [1, x]
    ys[:] = V[n:] * x
    return sum(ys) + len(ys)


def inserted_backwards(x, n):
    ys = [x] * 4
    ys[3:1] = V[:n]
    return sum(y * k for k, y in enumerate(ys))


@pytest.mark.parametrize("program", [array_in_the_middle, ints_replaced, whole_replaced, inserted_backwards])
def test_arrays_in_slices(program):
    check(program, (0.7, 5), (-1.2, 0))
