"""MLIR in the form that its tools print: read, compiled and differentiated; or refused with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adc.backend.mlir import reading
from adc.commands.mlir_source import load_mlir
from adc.errors import AdcError

NDArray = np.ndarray[Any, Any]

ROD = """
// Heat on a rod, as MLIR's tools print it.
#loc = loc("rod.c":3:1)
module @rod attributes {llvm.data_layout = ""} {
  func.func private @hypot(f64, f64) -> f64
  func.func private @flux(%u: memref<?xf64, strided<[?], offset: ?>>, %i: index, %r: f64) -> f64 {
    %c1 = arith.constant 1 : index
    %two = arith.constant -2.0e+00 : f64
    %left = arith.subi %i, %c1 : index
    %right = arith.addi %i, %c1 overflow<nsw> : index
    %a = memref.load %u[%left] : memref<?xf64, strided<[?], offset: ?>>
    %b = memref.load %u[%i] : memref<?xf64, strided<[?], offset: ?>>
    %c = memref.load %u[%right] : memref<?xf64, strided<[?], offset: ?>>
    %d = math.fma %b, %two, %a : f64
    %e = arith.addf %d, %c fastmath<contract> : f64
    %f = arith.mulf %e, %r : f64 loc(#loc)
    return %f : f64
  }
  func.func @heat(%table: memref<?x?xf64>, %r: f64, %steps: i64) -> (f64, i1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant 0x0000000000000000 : f64
    %true = arith.constant true
    %m = memref.dim %table, %c0 : memref<?x?xf64>
    %n = memref.dim %table, %c1 : memref<?x?xf64>
    // every second element of the second row
    %half = arith.ceildivsi %n, %c2 : index
    %row = memref.subview %table[1, 0] [1, %half] [1, 2] : memref<?x?xf64> to memref<?xf64, strided<[2], offset: ?>>
    %u = memref.cast %row : memref<?xf64, strided<[2], offset: ?>> to memref<?xf64, strided<[?], offset: ?>>
    %new = memref.alloc(%half) {alignment = 64 : i64} : memref<?xf64>
    %end = arith.subi %half, %c1 : index
    %count = arith.index_cast %steps : i64 to index
    scf.for %t = %c0 to %count step %c1 {
      scf.parallel (%i) = (%c1) to (%end) step (%c1) {
        %f = func.call @flux(%u, %i, %r) : (memref<?xf64, strided<[?], offset: ?>>, index, f64) -> f64
        memref.store %f, %new[%i] : memref<?xf64>
        scf.reduce
      }
      scf.for %i = %c1 to %end step %c1 {
        %f = memref.load %new[%i] : memref<?xf64>
        %old = memref.load %u[%i] : memref<?xf64, strided<[?], offset: ?>>
        %next = arith.addf %old, %f : f64
        memref.store %next, %u[%i] : memref<?xf64, strided<[?], offset: ?>>
      }
    }
    memref.dealloc %new : memref<?xf64>
    %sum = scf.for %i = %c0 to %half step %c1 iter_args(%s = %zero) -> (f64) {
      %x = memref.load %u[%i] : memref<?xf64, strided<[?], offset: ?>>
      %positive = arith.cmpf ogt, %x, %zero : f64
      %term = scf.if %positive -> (f64) {
        %c = math.cbrt %x : f64
        %y = func.call @hypot(%c, %zero) : (f64, f64) -> f64
        scf.yield %y : f64
      } else {
        scf.yield %x : f64
      }
      %next = arith.addf %s, %term : f64
      scf.yield %next : f64
    }
    // halved until it is below one
    %small:2 = scf.while (%x = %sum, %k = %c0) : (f64, index) -> (f64, index) {
      %one = arith.constant 1.000000e+00 : f64
      %big = arith.cmpf ogt, %x, %one : f64
      scf.condition(%big) %x, %k : f64, index
    } do {
    ^bb0(%x: f64, %k: index):
      %h = arith.constant 5.0e-01 : f64
      %y = arith.mulf %x, %h : f64
      %l = arith.addi %k, %c1 : index
      scf.yield %y, %l : f64, index
    }
    %often = arith.cmpi ult, %c0, %small#1 : index
    %both = arith.andi %often, %true : i1
    return %small#0, %both : f64, i1
  }
}
"""


def rod(table: NDArray, r: Any, steps: int) -> tuple[Any, bool]:
    u = table.copy()[1, ::2]
    for _ in range(steps):
        u[1:-1] += r * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    total = sum(v ** (1.0 / 3.0) if v.real > 0.0 else v for v in u)
    often = False
    while total.real > 1.0:
        total, often = 0.5 * total, True
    return total, often


@pytest.mark.parametrize("columns", [1, 2, 9])
def test_values_and_derivatives(tmp_path: Path, columns: int) -> None:
    path = tmp_path / "rod.mlir"
    path.write_text(ROD)
    ((subject, _),) = load_mlir(str(path))
    table = np.random.default_rng(columns).random((3, columns)) - 0.2
    changed = table.copy()
    value, back = subject.owner.pullback(changed, 0.2, 4)
    expected = rod(table, 0.2, 4)
    np.testing.assert_allclose(value[0], expected[0], rtol=1e-14)
    assert value[1] == expected[1]
    assert np.array_equal(changed[::2], table[::2]) and np.array_equal(changed[1, 1::2], table[1, 1::2])
    by_table, by_r, _ = back((1.0, None))
    exact = np.zeros(table.shape)
    for at in np.ndindex(*table.shape):
        moved = table.astype(complex)
        moved[at] += 1e-30j
        exact[at] = rod(moved, 0.2, 4)[0].imag / 1e-30
    np.testing.assert_allclose(by_table, exact, rtol=1e-12, atol=1e-14)
    slope = rod(table.astype(complex), 0.2 + 1e-30j, 4)[0].imag / 1e-30
    np.testing.assert_allclose(by_r, slope, rtol=1e-12, atol=1e-14)


BODY = """
func.func @f(%x: memref<?x?xf64>) -> f64 {
  %c = arith.constant 1 : index
  %z = arith.constant 1.0 : f64
  LINE
  return %z : f64
}
"""
REFUSED = [
    ("vector.print %z : f64", "vector.print is not supported"),
    ("%a = arith.addf %z, %w : f64", "%w is not a value"),
    ("%a = arith.addf %z, %c : f64", "arith.addf"),
    ("%a = arith.cmpf less, %z, %z : f64", "expected one of false, oeq"),
    ("%a = arith.constant 1.0 : bf16", "the type bf16"),
    ("%a = memref.load %x[%c, %c : memref<?x?xf64>", "expected ','"),
    ("%a = func.call @other(%z) : (f64) -> f64", "there is no function other"),
    ("scf.for %i = %c to %c step %z {", "expected"),
    (
        "%a = memref.subview %x[0, 0] [1, 1] [1, 1] : memref<?x?xf64> to memref<1xf64, strided<[1]>>",
        "which dimensions this view leaves out",
    ),
]


@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_refusals(line: str, message: str) -> None:
    with pytest.raises(AdcError) as caught:
        reading.parse_text(BODY.replace("LINE", line), "f.mlir")
    assert message in str(caught.value)
    if "{" not in line:
        assert caught.value.loc.line == 5


def test_names_in_regions_beside_each_other() -> None:
    """The first %a is an offset, and the second a number."""
    text = """
func.func @f(%x: memref<?x?xf64>, %c: i1) -> f64 {
  %c1 = arith.constant 1 : index
  %z = scf.if %c -> (f64) {
    %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %x
        : memref<?x?xf64> -> memref<f64>, index, index, index, index, index
    %a = arith.addi %offset, %strides#1 : index
    %n = arith.subi %sizes#1, %c1 : index
    %v = memref.reinterpret_cast %base to offset: [%a], sizes: [%n], strides: [%strides#1]
        : memref<f64> to memref<?xf64, strided<[?], offset: ?>>
    %y = memref.load %v[%c1] : memref<?xf64, strided<[?], offset: ?>>
    scf.yield %y : f64
  } else {
    %a = arith.addi %c1, %c1 : index
    %b = arith.subi %a, %c1 : index
    %y = memref.load %x[%b, %a] : memref<?x?xf64>
    scf.yield %y : f64
  }
  return %z : f64
}
"""
    from adc.ir.interpret.interpreter import run

    module = reading.parse_text(text, "f.mlir")
    x = np.arange(12.0).reshape(3, 4)
    assert run(module, "f", [x, True]) == [2.0]
    assert run(module, "f", [x, False]) == [6.0]
