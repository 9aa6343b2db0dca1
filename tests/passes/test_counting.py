"""Subscripts that a nest counts with other steps than one: they are tested once before it, and values, errors and
gradients are those of plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adc import jit_grad, prange
from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from adc.ir.types import index
from adc.passes.analysis.cold import walk_warm

RNG = np.random.default_rng(3)


def lower(a: Any, x: Any, start: int) -> float:
    """Rows of a triangle that gets longer."""
    total = 0.0
    for p in range(len(x)):
        q = start
        for i in range(4):
            t = 0.0
            for j in range(i + 1):
                t += a[q] * np.sin(x[p] + j)
                q += 1
            total += t * t
    return total


def upper(a: Any, x: Any, start: int) -> float:
    """Of one that gets shorter: where rows begin and how long they are do not take their limits together."""
    total = 0.0
    for p in range(len(x)):
        q = start
        for i in range(4):
            for j in range(i, 4):
                total += a[q] * a[q] * x[p] * x[j % len(x)]
                q += 1
    return total


def shrinking(a: Any, x: Any, start: int) -> float:
    """The lengths of rows are known when the program runs, and differ."""
    total = 0.0
    d = min(4, len(a))
    for p in range(len(x)):
        q = start
        for i in range(5):
            for j in range(d - i):
                total += a[q] * a[q] * x[p] * (1.0 + j)
                q += 1
    return total


def computed(a: Any, x: Any, start: int) -> float:
    total = 0.0
    for p in range(len(x)):
        for i in range(4):
            for j in range(i + 1):
                total += a[start + i * (i + 1) // 2 + j] ** 2 * x[p]
    return total


def simplex(a: Any, x: Any, start: int) -> float:
    """Three levels: what the outer one counts follows from the inner ones."""
    total = 0.0
    for p in range(len(x)):
        q = start
        for i in range(4):
            for j in range(i):
                for k in range(j):
                    total += a[q] * a[q + k] * x[p]
                    q += 2
    return total


def blocks(a: Any, x: Any, start: int) -> float:
    """Blocks of several sizes, backwards, and a store."""
    b = np.zeros(len(a))
    for p in range(len(x)):
        q = len(a) - 1 - start
        for i in range(5):
            for j in range(i % 3):
                b[q - j] += a[q - j] * x[p]
            q -= i % 3
    return np.sum(b * b)


def in_threads(a: Any, x: Any, start: int) -> float:
    """The index runs inside a parallel loop and another one."""
    total = 0.0
    for p in prange(len(x)):
        for _ in range(2):
            q = start
            s = 0.0
            for i in range(min(4, len(a))):
                t = 0.0
                for j in range(i + 1):
                    t += a[q] * x[p] ** j
                    q += 1
                s += t * t
            total += s + q
    return total


def by_columns(a: Any, x: Any, start: int) -> float:
    """A triangle without its diagonal, by columns: the place follows from both counters."""
    total = 0.0
    d = 4
    for p in range(len(x)):
        for i in range(d):
            for j in range(i):
                total += a[start + j * (2 * d - j - 1) // 2 + i - j - 1] ** 2 * x[p]
    return total


EXACT = {by_columns: 6, in_threads: 10, lower: 10, upper: 10, shrinking: 10, computed: 10, simplex: 8, blocks: 10}
COMPILED = {f: jit_grad(argnums=(0, 1))(f) for f in EXACT}


@pytest.mark.parametrize("function", EXACT, ids=lambda f: f.__name__)
def test_as_in_python(function: Any) -> None:
    compiled, size = COMPILED[function], EXACT[function]
    for a, x, start in (
        (RNG.random(size), RNG.random(5), 0),
        (RNG.random(size + 4), RNG.random(1), 3),
        (RNG.random(size + 4), RNG.random(0), 0),
        (RNG.random(size + 3), RNG.random(2), -1),  # from the end, in part
        (RNG.random(size - 1), RNG.random(2), 0),  # too short
        (RNG.random(size - 1), RNG.random(0), 0),  # and nobody sees
        (RNG.random(size), RNG.random(2), 2**62),
    ):
        try:
            expected = function(a, x, start)
        except IndexError:
            with pytest.raises(IndexError):
                compiled(a, x, start)
            continue
        assert compiled(a, x, start) == pytest.approx(expected, rel=1e-13)
        value, (da, dx) = compiled.value_and_grad(a, x, start)
        assert value == pytest.approx(expected, rel=1e-13)
        # Polynomials of degree two in a, and analytic in x: by complex steps, in plain Python.
        for given, found, at in ((a, da, 0), (x, dx, 1)):
            for k in range(len(given)):
                moved = [a.astype(complex), x.astype(complex)]
                moved[at][k] += 1e-30j
                assert found[k] == pytest.approx(_analytic(function, moved, start) / 1e-30, rel=1e-11, abs=1e-13)


def _analytic(function: Any, moved: list[Any], start: int) -> float:
    if function is blocks:
        return float(np.imag(_blocks(moved[0], moved[1], start)))
    return float(np.imag(function(moved[0], moved[1], start)))


def _blocks(a: Any, x: Any, start: int) -> Any:
    q = len(a) - 1 - start
    counts = np.zeros(len(a))
    for i in range(5):
        for j in range(i % 3):
            counts[q - j] += 1
        q -= i % 3
    return np.sum((counts * a * np.sum(x)) ** 2)


@pytest.mark.parametrize("function", EXACT, ids=lambda f: f.__name__)
def test_nothing_is_checked_inside(function: Any) -> None:
    compiled, args = jit_grad(function), (RNG.random(EXACT[function]), RNG.random(3), 0)
    compiled(*args)
    module = parse_module(compiled.dump_ir("simplified"))
    statistics = interpreter.Statistics()
    (value,) = interpreter.run(module, function.__name__, list(args), statistics=statistics)
    assert value == pytest.approx(function(*args), rel=1e-13)
    assert statistics.executed[ops.bound] == 0
    if function is in_threads:  # and where rows begin is found once, in front of the parallel loop
        around = [op for op in walk_warm(module.funcs["in_threads"].body) if op.opdef is ops.parallel]
        assert around and not [r for op in around for o in op.regions[0].walk() for r in o.results if _carried(o, r)]


def _carried(op: Op, result: Value) -> bool:
    return op.opdef is ops.for_ and result.type == index


def hashed(a: Any, x: Any, wanted: bool, d: int) -> float:
    """Places that take a while to count."""
    total = 0.0
    for p in range(len(x)):
        if wanted:
            q = 0
            for i in range(d):
                for j in range(i):
                    total += a[q] * x[p]
                    q = (3 * q + j) % 7
    return total


def test_nothing_is_counted_where_nothing_is_done() -> None:
    compiled, a, two = jit_grad(hashed), RNG.random(7), RNG.random(2)
    assert compiled(a, two, True, 5) == pytest.approx(hashed(a, two, True, 5), rel=1e-13)
    module = parse_module(compiled.dump_ir("simplified"))
    for x, wanted in ((RNG.random(0), True), (two, False)):
        statistics = interpreter.Statistics()
        assert interpreter.run(module, "hashed", [a, x, wanted, 40], statistics=statistics) == [0.0]
        assert sum(statistics.executed.values()) < 200


def within_row(a: Any, x: Any, d: int) -> float:
    """How long the row is that begins there does not tell how long those before it were."""
    q, total = 0, 0.0
    for i in range(3):
        length = max(d - 3 * i, 0)
        for _ in range(1):
            total += a[q - i * length] * x[0]
        q += length
    return total


def test_rows_of_several_lengths() -> None:
    compiled, a, x = jit_grad(within_row), RNG.random(9), RNG.random(1)
    for d in (0, 2, 3, 5):
        assert compiled(a, x, d) == pytest.approx(within_row(a, x, d), rel=1e-13)
    with pytest.raises(IndexError):
        within_row(a, x, 7)
    with pytest.raises(IndexError):
        compiled(a, x, 7)
