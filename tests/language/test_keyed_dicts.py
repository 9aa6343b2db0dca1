"""Dicts whose keys the run computes: as in Python to the bit; derivatives against differences, forward and reverse."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.errors import CompileError

KEYS = np.array([3, 1, 4, 1, 5, 3])
ADJACENT = {1: (3, 4), 3: (4, 5), 4: (1, 5), 5: (3, 1)}


def found_or_new(w, keys):
    d = {}
    same = d
    for k, x in zip(keys, w):
        if k in same:
            d[k] += x
        else:
            same[k] = x
    total = 0.0
    for k, v in d.items():
        total = total * 1.1 + k * v * v
    return total + len(d) + max(d.values()) + sum(d.values()) + sum(d)


def with_get(w, keys):
    d = {2: 0.5}
    for k, x in zip(keys, w):
        d[k] = d.get(k, 0.0) + x * x
    best = max(d, key=d.get)
    for k in list(d.keys()):
        d[k] *= 2
    for k in d:
        d[k] += 1
    for k, v in d.items():
        d[k] -= v * 0.25
    del d[2]
    return d[best] + d.pop(1, 0.25) + d.pop(77, 0.5) + len(d)


def missing_at_first(w, keys):
    d = {}
    for k, x in zip(keys, w):
        try:
            d[k] += x
        except KeyError:
            d[k] = 2 * x
    return sum(v * v for v in d.values())


def recurrence(w, keys):
    memo = {}
    for i in range(2 * len(keys)):
        if i < 2:
            memo[i] = w[0] * (i + 1)
        else:
            memo[i] = memo[i - 1] * 0.5 + memo[i - 2] * w[0]
    return sum(memo[i] for i in range(len(memo)))


def remembered(w, keys):
    seen = {}

    def visit(i):
        if keys[i] not in seen:
            seen[keys[i]] = w[i] ** 2
        return seen[keys[i]]

    return sum(visit(i) * (i + 1) for i in range(len(keys)))


def add_to(d, k, x):
    d[k] = d.get(k, 0.0) + x


def in_calls(w, keys):
    d = {}
    for k, x in zip(keys, w):
        add_to(d, k, x)
    add_to(d, 1, 2.0)
    return sum(v * v * k for k, v in d.items())


@dataclass
class Cache:
    store: dict = field(default_factory=dict)
    hits: int = 0

    def get(self, k, compute):
        if k in self.store:
            self.hits += 1
        else:
            self.store[k] = compute(k)
        return self.store[k]


def attributes(w, keys):
    cache, total = Cache(), 0.0
    for k in keys:
        total += cache.get(int(k), lambda k: w[k % len(w)] ** 2)
    return total + cache.hits


class Body:
    def __init__(self, x):
        self.x = x
        self.n = 1

    def hit(self, y):
        self.x += y
        self.n += 1


def objects(w, keys):
    d = {}
    for k, x in zip(keys, w):
        if k not in d:
            d[k] = Body(x)
        else:
            d[k].hit(x)
    return sum(b.x * b.n * k for k, b in d.items())


def tuples(w, keys):
    d = {}
    for k, x in zip(keys, w):
        total, n = d.get((k, k % 2), (0.0, 0))
        d[k, k % 2] = (total + x, n + 1)
    return sum(total / n for total, n in d.values()) + sum(k * odd for k, odd in d)


def arrays(w, keys):
    d = {}
    for k, x in zip(keys, w):
        if k in d:
            d[k] = d[k] * x
        else:
            d[k] = np.array([x, x * k])
    return sum(v.sum() * k for k, v in d.items())


def emptied(w, keys):
    d, i, total = {}, 0, 0.0
    while i < len(keys):
        d[keys[i]] = d.get(keys[i], 1.0) * w[i]
        i += 1
    while d:
        k = max(d)
        total += d.pop(k) * k
    return total


def made_of_others(w, keys):
    d = dict(zip(keys, w))
    e = {k: i for i, k in enumerate(keys)}
    f = {int(k): 0.0 for k in keys}
    f.update({7: 1.0})
    g = f.copy()
    for i, k in enumerate(keys):
        f[k] += w[i]
    f.setdefault(8, 3.0)
    g |= {9: 2.0}
    return sum(v * k + e[k] for k, v in d.items()) + sum(f[k] * k for k in sorted(f)) + sum(g.values()) + (f == g)


def copied(w, keys):
    d = dict(zip(keys, w))
    e, f = dict(d), dict(d.items())
    e[1] = 2.0
    last, x = f.popitem()
    sums = defaultdict(float, {"ab": 1.0})
    sums["cd"] += w[0]
    plain = {**sums, "ef": 2.0}
    plain.update(Counter(["ab", "gh", "gh"]))
    return sum(d.values()) + sum(e.values()) * 2 + len(f) + last * x + sum(plain.values()) + len(plain) + (d == e)


def replaced(w, keys):
    old = dict(zip(keys, w))
    for _ in range(3):
        new = {}
        for k, v in old.items():
            new[k] = new.get(k, 0.0) + v * 0.5
            new[k + 1] = new.get(k + 1, 0.0) + v * 0.25
        old = new
    return sum(k * v for k, v in old.items())


def on_some_paths(w, keys):
    best = {"first": 1.0}
    for x in w:
        if x > 0.3:
            best["last"] = x
    return best.get("last", 0.5) * 3 + best["first"] + len(best)


def known_keys(w, keys):
    weights, total = {1: 0.5, 3: 2.5, 4: 1.5, 5: 3.0}, 0.0
    for k, x in zip(keys, w):
        total += weights[k] * x + weights.get(k + 1, 0.25) + (k in weights)
        weights[k] *= 1.5
    return total


def graph(w, keys):
    u, total = 1, 0.0
    for i in range(len(w)):
        u = ADJACENT[u][i % 2]
        total += w[i] * u
    return total


def float_keys(w, keys):
    d = {1: 2.0}
    for k, x in zip((0.5, -0.0, 0.0, 1.0), (w[0], 2.0, 3.0, 4.0)):
        key = k * (1 if w[0] > -1 else 0)
        d[key] = d.get(key, 0) + x
    return sum(k * v for k, v in d.items()) + len(d) + d[True]


def sums_by_name(w, keys):
    sums = defaultdict(float)
    for k, x in zip(keys, w):
        sums["odd" if k % 2 else "even"] += x
        if k > 3:
            sums["large"] += x * x
    return sum(v * len(name) for name, v in sums.items()) + len(sums)


def none_or_number(w, keys):
    d = dict(zip(keys, w))
    found = [d.get(k) for k in (1, 2, keys[0])]
    return sum(1 if x is None else 2 for x in found) * sum(w)


def by_pairs(w, keys):
    d = defaultdict(lambda: 1.0)
    for k, x in zip(keys, w):
        d[k, "a" if x > 0.5 else "b"] *= x
    return sum(v * k for (k, name), v in d.items() if name == "a") + len(d)


def lists_by_name(w, keys):
    groups = defaultdict(list)
    for name, x in (("a", w[0]), ("b", 2 * w[0]), ("a", 3.0)):
        groups[name].append(x)
    return sum(sum(g) ** 2 for g in groups.values()) + len(groups["a"]) + len(groups["c"])


def counted(w, keys):
    c, more = Counter(keys), Counter({3: 5})
    more.update(keys)
    more.subtract([1, 4])
    (k, n), *_ = more.most_common(2) if len(w) else [(0, 0)]
    return sum(w) * n + k + c.total() + c[99] + len(c) + more[1] + (c == more)


def lists(w, keys):
    groups = defaultdict(list)
    for k, x in zip(keys, w):
        groups[k].append(x)
    return sum(sum(g) for g in groups.values())


OF_ANY = [
    missing_at_first, remembered, in_calls, attributes, objects, tuples, arrays, emptied,
    replaced, on_some_paths, known_keys, graph, sums_by_name, by_pairs,
]  # fmt: skip
OF_SOME = [
    found_or_new, with_get, recurrence, float_keys, lists_by_name, made_of_others, copied, counted, none_or_number,
    lists,
]


@pytest.mark.parametrize("function", OF_ANY + OF_SOME)
def test_as_in_python(function):
    w = np.random.default_rng(3).random(6)
    compiled = jit_grad(function)
    for n in (6, 1, 0) if function in OF_ANY else (6,):
        value = function(w[:n], KEYS[:n])
        assert compiled(w[:n], KEYS[:n]) == value
        got = compiled.grad(w[:n], KEYS[:n])
        step, rows = 1e-6, np.eye(n)
        slopes = [
            (function(w[:n] + step * r, KEYS[:n]) - function(w[:n] - step * r, KEYS[:n])) / (2 * step) for r in rows
        ]
        assert got == pytest.approx(np.array(slopes), rel=1e-6, abs=1e-7)
        tangent = np.arange(1.0, n + 1)
        assert compiled.jvp((w[:n], KEYS[:n]), (tangent, None))[1] == pytest.approx(float(got @ tangent), rel=1e-12)


def test_lists_by_keys_are_returned():
    def grouped(w, keys):
        groups = {}
        for k, x in zip(keys, w):
            if k not in groups:
                groups[k] = []
            groups[k].append(x)
        return groups

    w = np.random.default_rng(3).random(6)
    assert jit_grad(grouped)(w, KEYS) == grouped(w, KEYS)


def test_returned():
    def plain(w, keys):
        d = {}
        for k, x in zip(keys, w):
            d[k] = x
        return d

    def named(w, keys):
        d = defaultdict(float)
        for k, x in zip(keys, w):
            d[k, "odd" if k % 2 else "even"] += x
        return {"sums": d, "counts": Counter(keys)}

    w = np.arange(6.0)
    assert jit_grad(plain)(w, KEYS) == plain(w, KEYS)
    assert list(jit_grad(plain)(w, KEYS)) == list(plain(w, KEYS))
    got = jit_grad(named)(w, KEYS)
    assert got == named(w, KEYS)
    assert type(got["counts"]) is Counter
    assert got["sums"]["new"] == 0.0


def test_a_missing_key():
    def known(x, k):
        d = {1: x, 4: 2 * x}
        return d[k[0]] + d[k[1]]

    def computed(x, k):
        d = {}
        for i in k:
            d[i, 1] = x
        return d[k[0], 2]

    keys = np.array([1, 7])
    for function in (known, computed):
        for call in (jit_grad(function), adc.grad(function)):
            with pytest.raises(KeyError, match="7" if function is known else r"1\)?, 2\)"):
                call(2.0, keys)
    assert jit_grad(known)(2.0, np.array([4, 1])) == 6.0


def test_dicts_of_the_caller():
    def changed(d, keys):
        for k in keys:
            d[k] *= 2.0
        return d[1]

    def longer(d, keys):
        for k in keys:
            d[k] = 2.0
        return d[1]

    given = {1: 0.5, 3: 1.5}
    assert jit_grad(changed)(given, np.array([1, 3, 1])) == 2.0
    assert given == {1: 2.0, 3: 3.0}
    with pytest.raises(CompileError, match="the key of a dict must be known"):
        jit_grad(longer)(given, KEYS)


def sets(w, keys):
    groups = {}
    for k in keys:
        if k not in groups:
            groups[k] = set()
        groups[k].add(1)
    return sum(w) * len(groups)


def changed_array(w, keys):
    d, t = {}, np.zeros(2)
    for k, x in zip(keys, w):
        t += x
        d[k] = t
    return sum(v.sum() for v in d.values())


@pytest.mark.parametrize(
    "function, said",
    [
        (sets, "cannot have a set for each"),
        (changed_array, "append a copy"),
    ],
)
def test_refused(function, said):
    with pytest.raises(CompileError) as refused:
        jit_grad(function)(np.ones(6), KEYS)
    assert said in str(refused.value)
    assert "test_keyed_dicts.py" in str(refused.value)


def deleted_counts(keys):
    counts = Counter(keys)
    del counts[99]
    del counts[1]
    return counts


def equal_counts(keys):
    counts, other = Counter(keys), Counter(keys)
    other[77] = 0
    found = [counts == other, other == counts, counts != other]
    other[77] = 1
    return [*found, counts == other, other == counts, counts == {77: 1}]


def known_counts(keys):
    counts = Counter("abca")
    del counts["z"]
    del counts["b"]
    return counts == Counter("aac"), counts == Counter(a=2, c=1, d=0), counts == {"a": 2, "c": 1}, counts == Counter()


def fewer_than_none(keys):
    return Counter(keys).most_common(keys[0] - 7), Counter(keys).most_common(-1)


@pytest.mark.parametrize("f", [deleted_counts, equal_counts, known_counts, fewer_than_none])
def test_counts_that_are_missing(f):
    assert jit_grad(f)(KEYS) == f(KEYS)
