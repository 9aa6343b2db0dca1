"""Rows of elements between limits in an array are disjoint if the limits are in order, which is checked at run time."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adc import jit_grad, prange
from adc.backend import runtime
from adc.backend.lowering.lower_effects import is_ragged
from adc.ir import ops
from adc.ir.text.parser import parse_module
from adc.passes.scatter import privatisation
from tests.machines import pretend


def product(values, x, columns, first):
    """A sparse matrix times a vector."""
    total = 0.0
    for i in prange(len(first) - 1):
        s = 0.0
        for e in range(first[i], first[i + 1]):
            s += values[e] * x[columns[e]]
        total += np.sin(s) + s * s
    return total


def later_rows(values, x, columns, first):
    """Limits at another offset, and elements at one."""
    total = 0.0
    for i in prange(1, len(first) - 2):
        for e in range(first[i + 1], first[i + 2]):
            total += values[e - 1] * values[e - 1] * x[i] + values[e]
    return total


def pairs(values, x, columns, first):
    """Two accesses to one row, of which one is moved by one: rows then meet at their ends."""
    total = 0.0
    for i in prange(len(first) - 1):
        for e in range(first[i] + 1, first[i + 1]):
            total += values[e] * values[e - 1] * x[columns[e]]
    return total


def scaled(values, x, columns, first):
    """What is stored goes to rows as well."""
    out = np.zeros_like(values)
    for i in range(len(first) - 1):
        for e in range(first[i], first[i + 1]):
            out[e] = values[e] * x[i % len(x)] + values[e] ** 2
    return np.sum(np.sin(out))


def repeated(values, x, columns, first):
    """Each row twice, in one iteration."""
    total = 0.0
    for i in prange(len(first) - 1):
        for k in range(2):
            for e in range(first[i], first[i + 1]):
                total += values[e] * values[e] * x[k]
    return total


PROGRAMS = [product, later_rows, pairs, scaled, repeated]


def inputs(rows: int, longest: int, m: int, seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    first = np.concatenate([[0], np.cumsum(rng.integers(0, longest + 1, rows))]).astype(np.int64)
    entries = int(first[-1]) + 1
    return rng.standard_normal(entries), rng.standard_normal(max(m, rows)), rng.integers(0, m, entries), first


@functools.cache
def compiled_for(function: Callable[..., Any], short: bool) -> tuple[Any, Any]:
    """Compiled and interpreted; ``short`` says how long the chunks of private copies are."""
    return tuple(jit_grad(function, argnums=(0, 1), _engine=engine) for engine in ("native", "interpreter"))


def check(function: Callable[..., Any], args: tuple[Any, ...], short: bool = False) -> None:
    compiled, interpreted = compiled_for(function, short)
    value, found = compiled.value_and_grad(*args)
    assert value == pytest.approx(function(*args), rel=1e-11, abs=1e-11)
    for a, b in zip(found, interpreted.grad(*args), strict=True):
        assert np.allclose(a, b, rtol=1e-11, atol=1e-11)
    rng = np.random.default_rng(4)
    for k in (0, 1):
        direction = rng.standard_normal(args[k].shape)

        def moved(h: float, k: int = k, direction: Any = direction) -> Any:
            return function(*(a + h * direction if j == k else a for j, a in enumerate(args)))

        slope = (8 * (moved(1e-5) - moved(-1e-5)) - (moved(2e-5) - moved(-2e-5))) / 12e-5
        terms = found[k] * direction
        assert abs(np.sum(terms) - slope) <= 1e-7 * (1.0 + np.sum(np.abs(terms)))
    before, several = runtime.threads(), []
    try:
        for count in (1, 2, 3, 8):
            runtime.set_threads(count)
            several.append(compiled.grad(*args))
            for a, b in zip(several[0], several[-1], strict=True):
                assert np.array_equal(a, b)
    finally:
        runtime.set_threads(before)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("rows", "longest"), [(0, 3), (1, 5), (40, 3), (25, 30)])
@pytest.mark.parametrize("short", [False, True], ids=["", "short-chunks"])
def test_limits_in_order(
    function: Callable[..., Any], rows: int, longest: int, short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if short:
        monkeypatch.setattr(privatisation, "WORTH", 1)
        pretend(monkeypatch, lanes=2)
    check(function, inputs(rows, longest, 6, rows), short)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@given(st.integers(0, 1000), st.integers(1, 9))
@settings(max_examples=8, deadline=None)
def test_limits_of_any_kind(function: Callable[..., Any], seed: int, rows: int) -> None:
    """Rows that overlap, limits that decrease."""
    values, x, columns, first = inputs(rows, 12, 5, seed)
    limits = np.random.default_rng(seed).integers(0, len(values) - 1 or 1, len(first))
    limits[0] = max(limits[0], 1)
    check(function, (values, x, columns, np.maximum(limits, 1 if function is later_rows else 0)))


@pytest.mark.usefixtures("optimised")
def test_many_entries_in_few_columns() -> None:
    """Terms of one row that meet in an element of a private copy, in loops long enough to be SIMD."""
    values, x, columns, first = inputs(4000, 60, 3, 1)
    x = x[:3]
    (by_values, by_x) = jit_grad(product, argnums=(0, 1)).grad(values, x, columns, first)
    rows = np.repeat(np.arange(4000), np.diff(first))
    entries = len(rows)
    s = np.bincount(rows, values[:entries] * x[columns[:entries]], 4000)
    s_bar = (np.cos(s) + 2 * s)[rows]
    assert np.allclose(by_values[:entries], s_bar * x[columns[:entries]], rtol=1e-12)
    assert np.allclose(by_x, np.bincount(columns[:entries], s_bar * values[:entries], 3), rtol=1e-10)


@pytest.mark.parametrize(
    "first", [[3, 5, 5, 9], [0, 12], [12, 12], [0, 0, 0], [4], [7, 2, 9], [2, 11, 11]], ids=lambda limits: str(limits)
)
def test_elements_outside_of_the_rows_are_zero(first: list[int]) -> None:
    """Also where memory held something else before, and where no rows are left."""
    rng = np.random.default_rng(len(first))
    values, x, columns = rng.standard_normal(12), rng.standard_normal(5), rng.integers(0, 5, 12)
    compiled, _ = compiled_for(product, False)
    for _ in range(3):
        np.full(12, np.nan)  # freed at once, for the gradient to find
        by_values, _ = compiled.grad(values, x, columns, np.array(first))
        inside = {e for begin, end in itertools.pairwise(first) for e in range(begin, end)}
        assert all(by_values[e] == 0.0 for e in range(12) if e not in inside)
    check(product, (values, x, columns, np.array(first)))


def test_rows_store_what_they_would_add() -> None:
    """Only what is outside of the rows is filled: parts of the array."""
    text = jit_grad(product, argnums=(0, 1)).dump_ir("lowered", "f64[::1], f64[::1], i64[::1], i64[::1]")
    with_chunks = next(part for part in text.split("func.func") if "%chunk)" in part)
    assert text.count("memref.subview %values_bar") == 2
    chunks = with_chunks[with_chunks.index("%chunk)") :].split("adc.chunks")[0]
    assert "memref.store" in chunks and "memref.load %values_bar" not in chunks


def test_ragged_loops() -> None:
    """Those whose limits are loaded in the loop around, as such or computed from what is loaded."""
    text = """func.func @f(%a: memref<?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.load %a[%c0] : memref<?xindex>
  scf.for %i = %c0 to %first step %c1 {
    %low = memref.load %a[%i] : memref<?xindex>
    %wide = arith.addi %low, %n : index
    scf.for %j = %c0 to %low step %c1 {
    }
    scf.for %k = %c0 to %wide step %c1 {
    }
    scf.for %l = %first to %n step %c1 {
    }
    scf.for %m = %c0 to %i step %c1 {
    }
  }
  func.return
}"""
    loops = [op for op in parse_module(text).funcs["f"].walk() if op.opdef is ops.for_]
    found = {loop.regions[0].args[0].hint: is_ragged(loop) for loop in loops}
    assert found == {"i": False, "j": True, "k": True, "l": False, "m": False}


def test_the_report_says_so() -> None:
    f = jit_grad(product, argnums=(0, 1))
    f.grad(*inputs(5, 3, 4, 0))
    assert ", to values: plain: rows do not overlap where first is in order" in str(f.report())
    f = jit_grad(pairs, argnums=0)
    f.grad(*inputs(5, 3, 4, 0))
    assert "where first is in order" not in str(f.report())


@pytest.mark.usefixtures("optimised")
def test_columns_of_pairs_are_gathered() -> None:
    """No SIMD loop that runs only if the rows have one element each."""

    def spread(pairs, x, out):
        for i in prange(len(out)):
            out[i] = x[pairs[i, 0], 0] * x[pairs[i, 1], 1]
        return 0.0

    rng = np.random.default_rng(0)
    pairs, x, out = rng.integers(0, 9, (300, 2)), rng.standard_normal((9, 3)), np.empty(300)
    compiled = jit_grad(spread, argnums=1)
    compiled(pairs, x, out)
    assert np.array_equal(out, x[pairs[:, 0], 0] * x[pairs[:, 1], 1])
    assert "ident.check" not in compiled.dump_ir("llvm")
