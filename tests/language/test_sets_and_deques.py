"""``set`` and ``collections.deque``: as in Python, with known and run-time items; derivatives against differences."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from adc import jit_grad
from adc.errors import CompileError


def delay_line(x, n):
    q = deque([0.0, x], maxlen=3)
    for _ in range(n):
        q.append(q[-1] * x + q[0])
    return sum(q) + len(q)


def work_queue(x, n):
    q = deque()
    q.append(x)
    total = 0.0
    while q:
        v = q.popleft()
        total += v
        if v < n:
            q.append(v * 1.5)
            q.appendleft(v + 3)
    return total


def window(x, n):
    q = deque(maxlen=4)
    for k in range(n + 1):
        q.append(x * k)
    return np.mean(q) + max(q) + sum(v * k for k, v in enumerate(reversed(q)))


def run_time_length(x, n):
    q = deque(maxlen=n)
    for k in range(6):
        q.extend([x * k, x + k])
        q.rotate(1)
    return sum(v * k for k, v in enumerate(q)) + len(q)


def emptied(x, n):
    q = deque([x, 2 * x])
    try:
        for _ in range(n):
            x += q.popleft()
    except IndexError:
        x = -x
    return x


def known(x, n):
    fixed = {0, 2}
    total = 0.0
    for i in range(n):
        if i not in fixed:
            total += x * i
    return total + len(fixed | {5}) + sum(x * k for k in sorted(fixed ^ {2, 4}))


def run_time(x, n):
    seen = set()
    total = 0.0
    for i in range(n):
        k = (i * i) % 7
        if k in seen:
            continue
        seen.add(k)
        total += x * k
    for k in sorted(seen):
        total = total * 1.1 + k
    return total + len({j % 3 for j in range(n)})


def of_texts(x, n):
    names = set("a b a c".split())
    names.discard("z")
    names.remove("b")
    y = x * len(names) + (2 if "a" in names else 0) + n
    return y + (names == {"c", "a"}) + 2 * (names > {"a"}) + 4 * names.isdisjoint({"a"}) + 8 * (names & {"q"} == set())


def in_place(x, n):
    first, names = {0, 1, 2, 3}, {0, 1, 2, 3}
    same, seen, others = first, set(), names
    same -= {0}
    same &= {1, 2}
    same |= {7}
    others ^= {0, 9}
    for k in range(n):
        kept = seen
        kept |= {k % 3}
    kept -= {2}
    frozen = fixed = frozenset([1])
    fixed |= {2, 3}
    q = deque([x, 2.0])
    r = q
    r += [3.0]
    r.extend(r)
    r.extendleft(r)
    total = x * len(first) + 10 * len(names) + 100 * len(seen) + 1000 * len(frozen) + 10000 * len(fixed) + len(q)
    return total + sum(v * k for k, v in enumerate(q))


def kinds(x, n):
    s, fixed, q = {n}, frozenset([1, 2]), deque([x])
    asked = [isinstance(s, set), isinstance(s, frozenset), isinstance(q, deque), type(fixed | s) is frozenset, s == q]
    asked += [isinstance(fixed, frozenset), isinstance(s | fixed, set), fixed == {2, 1}, type(q) is list]
    s.symmetric_difference_update([1, 1, 4])
    s.intersection_update([1, 4], [4, 5])
    s.difference_update([7], [8])
    several = len(fixed.union([3], [4])) + len(fixed.intersection([1, 5], [1])) + len(fixed.difference([1], [2]))
    return x * sum(2**k for k, yes in enumerate(asked) if yes) + len(s) + 10 * several


@pytest.mark.parametrize(
    "function", [delay_line, work_queue, window, run_time_length, emptied, known, run_time, of_texts, in_place, kinds]
)
def test_as_in_python(function):
    compiled = jit_grad(function)
    for n in (1, 5):
        assert compiled(1.5, n) == pytest.approx(function(1.5, n), rel=1e-12)
        h = 1e-5
        slope = (function(1.5 + h, n) - function(1.5 - h, n)) / (2 * h)
        assert compiled.grad(1.5, n) == pytest.approx(slope, rel=1e-7)
        assert compiled.jvp((1.5, n), (1.0, None))[1] == pytest.approx(slope, rel=1e-7)


def unordered(x):
    total = 0.0
    for k in {1.0, 2.0}:
        total = total * x + k
    return total


def added(x):
    return x * sum({1.0, 2.0})


def of_frozen(x):
    s = frozenset([1])
    s.add(2)
    return x * len(s)


def returned(x):
    return {x, 2 * x}


def returned_deep(x):
    return {"a": deque([x])}


@pytest.mark.parametrize(
    "function, said",
    [
        (unordered, "order of what is in a set"),
        (added, "order of what is in a set"),
        (of_frozen, "frozenset has no 'add'"),
        (returned, "cannot return a set"),
        (returned_deep, "cannot return a deque"),
    ],
)
def test_refused(function, said):
    with pytest.raises(CompileError, match=said):
        jit_grad(function)(2.0)


def test_operators_take_sets():
    @jit_grad
    def joined(x):
        return x * len({1} | [2])

    with pytest.raises(TypeError):
        joined(2.0)


def inserted_and_removed(x, n):
    q = deque([x, 2.0 * x, 3.0])
    q.insert(1, x * x)
    q.insert(-1, 5.0)
    q.remove(3.0)
    for _ in range(n):
        q.insert(2, q[0] + q[-1])
        q.remove(q[0])
    return sum(q) + 10.0 * q[0]


def test_deques_insert_and_remove() -> None:
    compiled = jit_grad(inserted_and_removed)
    for n in (0, 2):
        assert compiled(1.3, n) == pytest.approx(inserted_and_removed(1.3, n), rel=1e-14)
        step = inserted_and_removed(1.3 + 1e-6, n) - inserted_and_removed(1.3 - 1e-6, n)
        assert compiled.grad(1.3, n) == pytest.approx(step / 2e-6, rel=1e-7)

    def into_a_full_one(x):
        q = deque([x], maxlen=1)
        q.insert(0, x)
        return q[0]

    def of_what_is_not_there(x):
        q = deque([x, 2.0 * x])
        q.remove(x + 5.0)
        return q[0]

    def by_another_name(x):
        q = deque([x])
        q.push(x)
        return q[0]

    with pytest.raises(IndexError, match="deque already at its maximum size"):
        jit_grad(into_a_full_one)(1.0)
    with pytest.raises(ValueError, match="not in deque"):
        jit_grad(of_what_is_not_there)(1.0)
    with pytest.raises(CompileError, match="deque has no 'push'") as caught:
        jit_grad(by_another_name)(1.0)
    assert "it has append, appendleft, clear" in str(caught.value)
