"""Lists that are items of lists of run-time length and change, or have several names: lists of neighbours, tables of
dynamic programming, eliminations on lists of lists, lists in dicts, lists that objects hold."""

from __future__ import annotations

import copy
import heapq
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pytest

import adc
from adc.ir.diagnostics import AdcError, CompileError


def neighbours(w, ends, n):
    near = [[] for _ in range(n)]
    for k in range(len(ends)):
        u, v = ends[k, 0], ends[k, 1]
        near[u].append((v, w[k]))
        near[v].append((u, w[k]))
    s = 0.0
    for u in range(n):
        for v, c in near[u]:
            s += c * c * (u + 2 * v)
    return s


def shortest_path(w, ends, n):
    near = [[] for _ in range(n)]
    for k in range(len(ends)):
        near[ends[k, 0]].append((ends[k, 1], w[k]))
        near[ends[k, 1]].append((ends[k, 0], w[k]))
    dist = [1e9] * n
    dist[0] = 0.0
    heap = [(0.0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > dist[u]:
            continue
        for v, c in near[u]:
            if d + c < dist[v]:
                dist[v] = d + c
                heapq.heappush(heap, (dist[v], v))
    return dist[n - 1] + 0.5 * dist[n - 2]


def edit_distance(x, y, cost):
    m, n = len(x), len(y)
    table = [[0.0] * (n + 1) for _ in range(m + 1)]
    for i in range(1, m + 1):
        table[i][0] = i * cost
    for j in range(1, n + 1):
        table[0][j] = j * cost
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            changed = table[i - 1][j - 1] + (x[i - 1] - y[j - 1]) ** 2
            table[i][j] = min(table[i - 1][j] + cost, table[i][j - 1] + cost, changed)
    return table[m][n]


def knapsack(value, weight, room):
    n = len(value)
    table = [[0 for _ in range(room + 1)] for _ in range(n + 1)]
    for i in range(1, n + 1):
        for w in range(1, room + 1):
            if weight[i - 1] <= w:
                table[i][w] = max(value[i - 1] + table[i - 1][w - weight[i - 1]], table[i - 1][w])
            else:
                table[i][w] = table[i - 1][w]
    return table[n][room]


def elimination(a, b):
    n = len(b)
    m = [[a[i, j] for j in range(n)] for i in range(n)]
    y = [b[i] for i in range(n)]
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(m[i][k]) > abs(m[p][k]):
                p = i
        m[k], m[p] = m[p], m[k]
        y[k], y[p] = y[p], y[k]
        for i in range(k + 1, n):
            f = m[i][k] / m[k][k]
            for j in range(k, n):
                m[i][j] -= f * m[k][j]
            y[i] -= f * y[k]
    x = [0.0] * n
    for i in range(n - 1, -1, -1):
        s = y[i]
        for j in range(i + 1, n):
            s -= m[i][j] * x[j]
        x[i] = s / m[i][i]
    return x[0] + 2 * x[n - 1]


def triangle(x, n):
    rows = [[1.0]]
    for i in range(1, n):
        before = rows[-1]
        row = [1.0]
        for j in range(1, i):
            row.append(before[j - 1] * x + before[j])
        row.append(1.0)
        rows.append(row)
    return sum(rows[-1]) + len(rows)


def levels(x, n):
    found = [[0]]
    while len(found[-1]) < n:
        below = []
        for u in found[-1]:
            below.append(2 * u + 1)
            below.append(2 * u + 2)
        found.append(below)
    s = 0.0
    for depth, level in enumerate(found):
        for u in level:
            s += x[u % len(x)] * (depth + 1)
    return s * s


def one_row_many_times(x, m):
    table = [[0.0] * len(x)] * m
    table[0][1] = x[1] * 2
    return table[m - 1][1] * x[0]


def rows_that_are_one(x, n):
    table = [[0.0] * 3 for _ in range(n)]
    other = [x[0], x[1], x[2]]
    table[1] = other
    other[0] = x[3] * 5
    table[0] = table[1]
    table[0][2] = x[4]
    s = 0.0
    for i in range(n):
        for j in range(3):
            s += table[i][j] * (i + 2) * (j + 1)
    return s + other[2]


def copies(x, n):
    table = [[x[i] * j for j in range(3)] for i in range(n)]
    parts = [row[:] for row in table]
    others = [list(row) for row in table]
    table[0][1] = 100.0
    parts[1][1] = x[0] * 7
    s = 0.0
    for i in range(n):
        for j in range(3):
            s += table[i][j] * parts[i][j] + others[i][j]
    return s


def of_three_extents(x, n):
    t = [[[0.0] * n for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                t[i][j][k] = x[k] * (i + 1) + x[j]
    s = 0.0
    for i in range(n):
        for j in range(n):
            for k in range(n):
                s += t[i][j][k] * t[k][j][i]
    return s


def in_called_functions(x, n):
    def fill(table, k):
        for i in range(len(table)):
            for j in range(k):
                table[i].append(x[j] * (i + j))

    def total(table):
        s = 0.0
        for row in table:
            for v in row:
                s += v * v
        return s

    table = [[] for _ in range(n)]
    fill(table, len(x))
    fill(table, 2)
    return total(table)


def in_a_defaultdict(w, keys):
    groups = defaultdict(list)
    for k in range(len(keys)):
        groups[keys[k]].append(w[k])
    s = 0.0
    for key, values in groups.items():
        for v in values:
            s += v * v * (key + 1)
        s += len(values)
    return s


def in_a_dict(w, keys):
    groups = {}
    for k in range(len(keys)):
        key = keys[k]
        if key not in groups:
            groups[key] = []
        groups[key].append(w[k])
    return sum([sum(groups[key]) ** 2 * key for key in groups], 0.0)


def by_setdefault(w, keys):
    groups = {}
    for k in range(len(keys)):
        groups.setdefault(keys[k], []).append(w[k])
    s = 0.0
    for key in groups:
        s += sum(groups[key]) ** 2 * key
    return s


class Particle:
    def __init__(self, x):
        self.x = x
        self.trail = [x]

    def step(self, dt):
        self.x = self.x + dt * self.x * self.x
        self.trail.append(self.x)


def trails(x, n):
    particles = [Particle(x[i]) for i in range(len(x))]
    for _ in range(n):
        for p in particles:
            p.step(0.1)
    s = 0.0
    for p in particles:
        for k in range(1, len(p.trail)):
            s += (p.trail[k] - p.trail[k - 1]) ** 2
        s += p.trail[-1] * len(p.trail)
    return s


def changing_length(x, n):
    rows = [[] for _ in range(n)]
    for i in range(len(x)):
        rows[i % n].append(x[i])
    row = rows[n - 1]
    row.insert(0, 1.5)
    row.append(row.pop(0) * 2)
    row.extend([0.25, row[0]])
    row += [3.0]
    del row[1]
    rows[0].reverse()
    rows[0].clear()
    return len(rows[0]) + sum([v * v * (k + 1) for k, v in enumerate(row)], 0.0)


def order_and_parts(x, n):
    rows = [[v * k for v in x] for k in range(1, n + 1)]
    row = rows[n - 1]
    row.sort(reverse=True)
    row[0:2] = [row[1] * 3, row[0], 7.0]
    row.remove(7.0)
    s = 10.0 * (7.0 in row) + (row == rows[-1]) + 2 * (row is rows[0]) + max(row) + min(row[1:])
    a, b, *rest = row
    return s + a * b + sum(rest) + row[-1]


def copied(x, n):
    rows = [[v * i for v in x] for i in range(n)]
    deep, one, outer = copy.deepcopy(rows), copy.copy(rows[1]), rows[:]
    rows[1][0] = 50.0
    one[1] = x[0]
    outer[0][2] = x[1] * 9
    return deep[1][0] * x[0] + one[0] + one[1] + rows[0][2] + sum(deep[n - 1])


def as_arrays(x, n):
    rows = [[v * i for v in x] for i in range(n)]
    rows[0][1] = x[2]
    return np.sum(rows) * np.sum(rows[1]) + np.dot(rows[0], rows[1]) + np.array(rows)[1, 2] + max(rows[1])


def slices_kept(x, n):
    state, kept = [x[0], x[1]], []
    for _ in range(n):
        state[0] += 0.1 * state[1]
        state[1] -= 0.1 * state[0]
        kept.append(state[:])
    for pair in kept:
        pair[0] *= 2
    return sum([pair[0] * pair[1] for pair in kept], 0.0)


def stack_of_lists(x, n):
    stack, s = [[x[0], 1.0]], 0.0
    while stack:
        top = stack.pop()
        s += top[0] * top[1]
        top[1] += 1
        if top[1] < n:
            stack.append(top)
    return s


rng = np.random.default_rng(3)
X = rng.random(5) + 0.5
ENDS = rng.integers(0, 5, (9, 2))
KEYS = rng.integers(0, 3, 8)
PROGRAMS = [
    (neighbours, X, ENDS[:5], 5), (shortest_path, rng.random(9), ENDS, 5), (edit_distance, X, rng.random(4), 0.3),
    (knapsack, X[:4], np.array([1, 3, 2, 4]), 6), (elimination, rng.random((4, 4)), X[:4]), (triangle, 0.7, 6),
    (levels, X, 6), (one_row_many_times, X, 3), (rows_that_are_one, X, 4), (copies, X, 4), (of_three_extents, X, 3),
    (in_called_functions, X, 3), (in_a_defaultdict, rng.random(8), KEYS), (in_a_dict, rng.random(8), KEYS),
    (by_setdefault, rng.random(8), KEYS), (trails, X, 3), (changing_length, X, 2), (order_and_parts, X, 3),
    (copied, X, 3), (as_arrays, X, 3), (slices_kept, X, 5), (stack_of_lists, X, 4),
]  # fmt: skip


def difference(fn, x, *rest):
    """The gradient by central differences."""
    h, found = 1e-6, np.zeros(np.shape(x))
    for at in np.ndindex(np.shape(x)):
        step = np.zeros(np.shape(x))
        step[at] = h
        found[at] = (fn(x + step, *rest) - fn(x - step, *rest)) / (2 * h)
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0].__name__)
def test_values_and_gradients(program):
    fn, x, *rest = program
    value, derivative = adc.jit_grad(fn).value_and_grad(x, *rest)
    assert value == fn(x, *rest)
    np.testing.assert_allclose(derivative, difference(fn, x, *rest), rtol=1e-6, atol=1e-7)


def test_both_modes_and_no_items():
    compiled = adc.jit_grad(in_called_functions)
    v = np.linspace(-1.0, 1.0, 5)
    _, tangent = compiled.jvp((X, 3), (v, None))
    np.testing.assert_allclose(tangent, compiled.grad(X, 3) @ v, rtol=1e-13)
    assert compiled(X, 0) == 0.0
    assert list(compiled.grad(X, 0)) == [0.0] * 5
    assert adc.jit_grad(neighbours)(X[:0], ENDS[:0], 3) == 0.0


def test_numbers_of_single_precision():
    def total(x, n):
        table = [[x[j] * x[j] for j in range(len(x))] for _ in range(n)]
        table[0][1] = x[0]
        return table[0][1] + table[n - 1][2]

    x = X.astype(np.float32)
    assert adc.jit_grad(total)(x, 3) == total(x, 3)
    assert adc.jit_grad(total).grad(x, 3).dtype == np.float32


def test_tables_are_results_with_rows_that_are_one():
    def made(x, n):
        table = [[v * i for v in x] for i in range(n)]
        table[0] = table[n - 1]
        return table, table[1]

    table, row = adc.jit_grad(made)(X, 3)
    assert (table, row) == made(X, 3)
    assert table[0] is table[2]
    assert row is table[1]


def test_a_list_that_grows_while_a_loop_goes_through_it():
    def grows(x, n, often):
        rows = [[v for v in x] for _ in range(n)]
        s = 0.0
        for v in rows[0]:
            s += v
            if often and v > 1.0:
                rows[n - 1].append(v)
        return s

    compiled = adc.jit_grad(grows)
    assert compiled(X, 2, True) == grows(X, 2, True)  # another one
    assert compiled(X, 1, False) == grows(X, 1, False)
    with pytest.raises(RuntimeError, match="changed its length"):
        compiled(X + 1.0, 1, True)


def test_lists_that_change_where_no_loop_goes_on_through_them():
    def f(x, n):
        rows = [[v * i for v in x] for i in range(n)]
        first, second = rows[0], rows[1]
        second += second
        first.extend(rows[0])
        for v in list(second):
            second.append(v)
        for k, v in enumerate(list(first)):
            first[0] += v * k
            first.pop()
        for v in x[: int(sum(second) * 0) + 2]:
            second.append(v)
        for v in rows[2]:
            if v > 0.5:
                rows[2].remove(v)
                break
        s = 0.0
        for v in rows[2]:
            s += sum(second) * v
            second.append(v)
        for k, v in enumerate(rows[2]):
            if k == 1:
                rows[2].append(v)
                return s + sum(second) + len(first) + sum(rows[2])
        return s

    compiled = adc.jit_grad(f)
    assert compiled(X, 3) == f(X, 3)
    steps = 1e-6 * np.eye(len(X))
    slopes = [(f(X + d, 3) - f(X - d, 3)) / 2e-6 for d in steps]
    np.testing.assert_allclose(compiled.grad(X, 3), slopes, rtol=1e-6, atol=1e-7)


def test_items_that_change_while_a_loop_goes_through_them():
    def sweep(x, n):
        rows = [[v for v in x] for _ in range(n)]
        s = 0.0
        for k, v in enumerate(rows[0]):
            s += v * v
            if k + 1 < len(x):
                rows[0][k + 1] = v * x[k]
        return s

    value, derivative = adc.jit_grad(sweep).value_and_grad(X, 2)
    assert value == sweep(X, 2)
    np.testing.assert_allclose(derivative, difference(sweep, X, 2), rtol=1e-6)


@pytest.mark.parametrize("k", [-4, 3])
def test_subscripts_out_of_range(k):
    def f(x, n, k):
        rows = [[x[0]] * 3 for _ in range(n)]
        rows[1][k] = 2.0
        return rows[1][0]

    with pytest.raises(IndexError):
        f(X, 2, k)
    with pytest.raises(IndexError):
        adc.jit_grad(f)(X, 2, k)


def test_lists_of_several_lengths_make_no_array():
    def f(x, n):
        rows = [[v for v in x] for _ in range(n)]
        rows[0].append(1.0)
        return np.array(rows).sum()

    assert adc.jit_grad(f)(X, 1) == f(X, 1)
    with pytest.raises(ValueError, match="different lengths"):
        adc.jit_grad(f)(X, 2)


def test_objects_that_hold_lists_of_such_objects_are_refused():
    class Node:
        def __init__(self, v):
            self.v = v
            self.children = []

    def f(x):
        nodes = [Node(v) for v in x]
        for i in range(1, len(x)):
            nodes[i - 1].children.append(nodes[i])
        return nodes[0].v

    with pytest.raises(CompileError, match="lists of such objects"):
        adc.jit_grad(f)(np.resize(X, 66))  # fewer are taken one by one


def test_a_row_of_another_kind_is_refused():
    def f(x, n):
        rows = [[v] for v in x]
        rows[0].append(np.array([1.0, 2.0]))
        return rows[n][0]

    with pytest.raises((CompileError, AdcError)):
        adc.jit_grad(f)(np.resize(X, 66), 1)


@dataclass
class Offer:
    price: float
    amount: float


class Market:
    """Lists of one object that hold items of different types, two of which a variable chooses from."""

    def __init__(self):
        self.bids, self.asks = [], []
        self.trades = []
        self.never = []

    def submit(self, offer, buys):
        book, other = (self.asks, self.bids) if buys else (self.bids, self.asks)
        sign = 1 if buys else -1
        while offer.amount > 1e-12 and book and sign * (offer.price - book[0].price) >= 0:
            best = book[0]
            amount = min(offer.amount, best.amount)
            self.trades.append((best.price, amount))
            offer.amount -= amount
            best.amount -= amount
            if best.amount <= 1e-12:
                book.pop(0)
        if self.never and self.never[0] > offer.price:
            self.trades.clear()
        if offer.amount > 1e-12:
            other.append(offer)


def test_lists_of_one_object():
    def traded(x):
        market = Market()
        for k, v in enumerate(x):
            market.submit(Offer(v, abs(v) + k), k % 2 == 0)
        return sum(p * q for p, q in market.trades) + sum(o.amount for o in market.bids) + len(market.asks)

    x = np.array([1.5, -2.0, 3.25, 0.5, 4.0, 1.0])
    compiled = adc.jit_grad(traded)
    assert compiled(x) == traded(x)
    steps = [(traded(x + 1e-6 * e) - traded(x - 1e-6 * e)) / 2e-6 for e in np.eye(6)]
    assert compiled.grad(x) == pytest.approx(np.array(steps), abs=1e-7)
