"""Forward mode along several directions at once gives the same, for each direction, as forward mode along it alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from adc.errors import AdcError
from adc.ir import ops
from adc.ir.core import Module
from adc.ir.interpret.interpreter import run
from adc.ir.text.parser import parse_module
from adc.ir.verifier import verify
from adc.passes.differentiation.forward.forward import jvp
from adc.passes.differentiation.forward.several import Direction, jvps
from tests.passes.random_ir import generate
from tests.passes.test_adjoint_random import WRT, _point


def copied(arguments: Sequence[Any]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


def one_by_one(module: Module, arguments: Sequence[Any], tangents: dict[int, Any]) -> list[Any]:
    """The tangents of the results along a direction; zeros for those that have none."""
    made = jvp(module, "f", sorted(tangents))
    given = [np.array(tangents.get(k, np.zeros(np.shape(arguments[k])))) for k in made.arguments]
    found = run(module, made.name, [*copied(arguments), *(a if a.shape else float(a) for a in given)], limit=20_000)
    count = len(module.funcs["f"].result_types)
    dots = dict(zip(made.results, found[count:], strict=True))
    return [dots.get(k, 0.0) for k in range(count)]


def at_once(
    module: Module, arguments: Sequence[Any], directions: Sequence[Direction], tangents: Sequence[dict[int, Any]]
) -> list[list[Any]]:
    made = jvps(module, "f", directions)
    assert made is not None
    verify(module)
    given = [
        np.array(along.get(k, np.zeros(np.shape(arguments[k]))))
        for along, places in zip(tangents, made.arguments, strict=True)
        for k in places
    ]
    found = run(module, made.name, [*copied(arguments), *(a if a.shape else float(a) for a in given)], limit=200_000)
    count = len(module.funcs["f"].result_types)
    rest = iter(found[count:])
    return [
        [dots.get(k, 0.0) for k in range(count)]
        for dots in ({k: next(rest) for k in places} for places in made.results)
    ]


@pytest.mark.parametrize("first", range(0, 120, 40))
def test_random_functions(first: int) -> None:
    """Arrays that are written to, views, loops, branches; directions of some of the arguments."""
    compared = 0
    for seed in range(first, first + 40):
        module = generate(random.Random(seed), 25, fresh=True)
        arguments, direction = _point(seed)
        rng = np.random.default_rng(seed)
        chosen = [set(rng.choice(WRT, rng.integers(1, 5), replace=False).tolist()) for _ in range(3)]
        tangents = [{k: direction[k] * (2.0 * n + 1.0) for k in some} for n, some in enumerate(chosen)]
        directions = [Direction(frozenset(some)) for some in chosen]
        ones = {k: 1.0 for k in (3, 4)}
        tangents.append(ones)
        directions.append(Direction(units=tuple((k, None) for k in ones)))
        with np.errstate(all="ignore"):
            try:
                values = run(module, "f", copied(arguments), limit=20_000)
                expected = [one_by_one(module, arguments, along) for along in tangents]
            except (AdcError, ArithmeticError, ValueError, IndexError):
                continue
            if jvps(module, "f", directions) is None:
                continue
            found = at_once(module, arguments, directions, tangents)
        for ours, theirs in zip(found, expected, strict=True):
            for value, a, b in zip(values, ours, theirs, strict=True):
                known = np.isfinite(value)  # of memory that nothing was stored to, nothing is known
                a, b = np.broadcast_to(a, known.shape), np.broadcast_to(b, known.shape)
                np.testing.assert_array_equal(a[known], b[known], f"{seed}")
        compared += 1
    assert compared > 10


ROWS = """
func.func @f(%x: memref<?x?xf64>, %y: memref<?xf64>, %n: index) -> (memref<?xf64>, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %rows = memref.dim %x, 0 : memref<?x?xf64>
  %columns = memref.dim %x, 1 : memref<?x?xf64>
  %z = memref.alloc(%rows) : memref<?xf64>
  %total = scf.for %i = %c0 to %rows step %c1 iter_args(%s = %zero) -> (f64) {
    %a = memref.load %x[%i, %c0] : memref<?x?xf64>
    %at = adc.bound %c1, %columns : index
    %b = memref.load %x[%i, %at] : memref<?x?xf64>
    %ab = arith.mulf %a, %b : f64
    %w = memref.load %y[%i] : memref<?xf64>
    %c = math.sin %b : f64
    %small = arith.cmpf olt, %a, %w : f64
    %d = scf.if %small -> (f64) {
      %e = arith.divf %ab, %w : f64
      scf.yield %e : f64
    } else {
      scf.yield %c : f64
    }
    memref.store %d, %z[%i] : memref<?xf64>
    %inner = scf.for %k = %c0 to %columns step %c1 iter_args(%t = %s) -> (f64) {
      %v = memref.load %x[%i, %k] : memref<?x?xf64>
      %vv = arith.mulf %v, %v : f64
      %u = arith.addf %t, %vv : f64
      scf.yield %u : f64
    }
    scf.yield %inner : f64
  }
  func.return %z, %total : memref<?xf64>, f64
}
"""


def test_units_of_rows() -> None:
    """Subscripts that are numbers, checked ones, and the counter of a loop."""
    module = parse_module(ROWS)
    rng = np.random.default_rng(0)
    for rows in (0, 1, 4):
        x, y = rng.uniform(0.3, 1.2, (rows, 3)), rng.uniform(0.3, 1.2, rows)
        directions = [Direction(units=((0, k),)) for k in range(3)]
        directions += [Direction(units=((1, None),)), Direction(frozenset({0, 1}))]
        directions.append(Direction(units=((0, 1), (1, None))))
        units = [np.zeros((rows, 3)) for _ in range(3)]
        for k, unit in enumerate(units):
            unit[:, k] = 1.0
        ones, dots = np.ones(rows), {0: rng.standard_normal((rows, 3)), 1: rng.standard_normal(rows)}
        tangents: list[dict[int, Any]] = [*({0: unit} for unit in units), {1: ones}, dots, {0: units[1], 1: ones}]
        expected = [one_by_one(module, [x, y, 1], along) for along in tangents]
        for ours, theirs in zip(at_once(module, [x, y, 1], directions, tangents), expected, strict=True):
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(a, b)


def test_what_does_not_vary_has_no_code() -> None:
    """The sine is not differentiated along the first column, and nothing is along the second result's other one."""
    module = parse_module(ROWS)
    made = jvps(module, "f", [Direction(units=((0, 0),))])
    assert made is not None
    assert not any(op.opdef is ops.cos for op in module.funcs[made.name].walk())
    made = jvps(module, "f", [Direction(units=((0, 1),))])
    assert made is not None
    assert any(op.opdef is ops.cos for op in module.funcs[made.name].walk())


@pytest.mark.parametrize(
    "use",
    [
        "memref.store %zero, %x[%c0, %c0] : memref<?x?xf64>",
        "memref.copy %x, %x : memref<?x?xf64> to memref<?x?xf64>",
        ("%r = memref.subview %x[%c0, %c0][%c1, %c1][%c1, %c1] {static_steps = [1, 1]} "
        ": memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>"),
    ],
)
def test_arrays_that_are_not_just_read_have_no_units(use: str) -> None:
    text = ROWS.replace("  %z = memref.alloc", f"  {use}\n  %z = memref.alloc")
    module = parse_module(text)
    before = set(module.funcs)
    assert jvps(module, "f", [Direction(units=((0, 0),))]) is None
    assert set(module.funcs) == before
