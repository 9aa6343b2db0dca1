"""Programs in the IR's text, with arguments, that the tests of the lowering run natively and in the interpreter."""
# ruff: noqa: E501

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

ALL: dict[str, Program] = {}


@dataclass(frozen=True)
class Program:
    """The entry is ``@main``; ``cases`` gives argument lists. ``close``: floats may differ by rounding."""

    text: str
    cases: Callable[[], list[list[Any]]]
    close: bool = False


def program(name: str, text: str, cases: Callable[[], list[list[Any]]], close: bool = False) -> None:
    ALL[name] = Program(text, cases, close)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


program(
    "loop with steps, carried values, no iterations",
    """
func.func @main(%n: index, %m: index, %s: index) -> (index, f64, index) {
  %c0 = arith.constant 0 : index
  %x0 = arith.constant 0.0 : f64
  %half = arith.constant 0.5 : f64
  %a, %b = scf.for %i = %n to %m step %s iter_args(%p = %c0, %q = %x0) -> (index, f64) {
    %p1 = arith.addi %p, %i : index
    %f = arith.sitofp %i : index to f64
    %g = arith.mulf %f, %half : f64
    %q1 = arith.addf %q, %g : f64
    scf.yield %p1, %q1 : index, f64
  }
  %c10 = arith.constant 10 : index
  %c3 = arith.constant 3 : index
  %c = scf.for %i = %c0 to %c10 step %c3 iter_args(%p = %c0) -> (index) {
    %p1 = arith.addi %p, %i : index
    scf.yield %p1 : index
  }
  func.return %a, %b, %c : index, f64, index
}
""",
    lambda: [[0, 10, 1], [3, 3, 1], [5, 3, 2], [0, 10, 3], [-7, 9, 4], [0, 1, 100], [(1 << 63) - 5, (1 << 63) - 1, 3]],
)

program(
    "while with values that differ before and after, nested branches",
    """
func.func @main(%n: index, %x: f64) -> (index, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %half = arith.constant 0.5 : f64
  %count, %last, %rest = scf.while (%k = %n, %steps = %c0, %y = %x) : (index, index, f64) -> (index, f64, index) {
    %go = arith.cmpi sgt, %k, %c1 : index
    scf.condition(%go) %steps, %y, %k : index, f64, index
  } do {
  ^bb0(%s: index, %z: f64, %j: index):
    %odd = arith.remsi %j, %c2 : index
    %is_odd = arith.cmpi ne, %odd, %c0 : index
    %next, %w = scf.if %is_odd -> (index, f64) {
      %t = arith.muli %j, %c3 : index
      %u = arith.addi %t, %c1 : index
      %v = arith.addf %z, %half : f64
      scf.yield %u, %v : index, f64
    } else {
      %h = arith.floordivsi %j, %c2 : index
      scf.yield %h, %z : index, f64
    }
    %s1 = arith.addi %s, %c1 : index
    scf.yield %next, %s1, %w : index, index, f64
  }
  func.return %count, %last : index, f64
}
""",
    lambda: [[27, 1.0], [1, 2.0], [0, 3.0], [97, -1.0]],
)

program(
    "swapped buffers",
    """
func.func @main(%u: memref<?xf64>, %v: memref<?xf64>, %nt: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = arith.constant 0.25 : f64
  %a, %b = scf.for %t = %c0 to %nt step %c1 iter_args(%p = %u, %q = %v) -> (memref<?xf64>, memref<?xf64>) {
    %n = memref.dim %p, 0 : memref<?xf64>
    %m = arith.subi %n, %c1 : index
    scf.for %i = %c1 to %m step %c1 {
      %im = arith.subi %i, %c1 : index
      %ip = arith.addi %i, %c1 : index
      %l = memref.load %p[%im] : memref<?xf64>
      %c = memref.load %p[%i] : memref<?xf64>
      %r = memref.load %p[%ip] : memref<?xf64>
      %s = arith.addf %l, %r : f64
      %d = arith.subf %s, %c : f64
      %e = arith.mulf %k, %d : f64
      memref.store %e, %q[%i] : memref<?xf64>
    }
    scf.yield %q, %p : memref<?xf64>, memref<?xf64>
  }
  %x = memref.load %a[%c1] : memref<?xf64>
  %y = memref.load %b[%c1] : memref<?xf64>
  memref.store %x, %b[%c0] : memref<?xf64>
  %z = memref.load %a[%c1] : memref<?xf64>
  %w = arith.subf %x, %y : f64
  %f = arith.addf %w, %z : f64
  func.return %f : f64
}
""",
    lambda: [[rng().random(37), rng().random(37), nt] for nt in (0, 1, 2, 7)],
    close=True,
)

program(
    "two elements swapped and stored through in the loop itself",
    """
func.func @main(%u: memref<?xf64>, %v: memref<?xf64>, %nt: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k = arith.constant 1.5 : f64
  %a, %b = scf.for %t = %c0 to %nt step %c1 iter_args(%p = %u, %q = %v) -> (memref<?xf64>, memref<?xf64>) {
    %x = memref.load %p[%c0] : memref<?xf64>
    %y = arith.mulf %x, %k : f64
    memref.store %y, %q[%c0] : memref<?xf64>
    scf.yield %q, %p : memref<?xf64>, memref<?xf64>
  }
  %r = memref.load %a[%c0] : memref<?xf64>
  func.return %r : f64
}
""",
    lambda: [[np.array([1.0]), np.array([2.0]), nt] for nt in (0, 1, 5, 8, 33)],
)

program(
    "views: negative steps, dropped dimensions, transposes, casts, an empty one",
    """
func.func @main(%a: memref<?x?xf64>, %s: memref<?x?xf64, strided<[?, ?], offset: ?>>) -> (f64, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m1 = arith.constant -1 : index
  %n = memref.dim %a, 0 : memref<?x?xf64>
  %m = memref.dim %a, 1 : memref<?x?xf64>
  %nl = arith.subi %n, %c1 : index
  %h0 = arith.addi %m, %c1 : index
  %h = arith.floordivsi %h0, %c2 : index
  %v = memref.subview %a[%nl, %c0][%n, %h][%m1, %c2] {static_steps = [-1, 2]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 2], offset: ?>>
  %t = memref.transpose %v {permutation = [1, 0]} : memref<?x?xf64, strided<[?, 2], offset: ?>> to memref<?x?xf64, strided<[2, ?], offset: ?>>
  %w = memref.cast %t : memref<?x?xf64, strided<[2, ?], offset: ?>> to memref<?x?xf64, strided<[?, ?], offset: ?>>
  %row = memref.subview %w[%c0, %c0][%c1, %n][%c1, %c1] {dropped = [0], static_steps = [1, 1]} : memref<?x?xf64, strided<[?, ?], offset: ?>> to memref<?xf64, strided<[?], offset: ?>>
  memref.copy %w, %s : memref<?x?xf64, strided<[?, ?], offset: ?>> to memref<?x?xf64, strided<[?, ?], offset: ?>>
  %z = arith.constant 0.0 : f64
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%p = %z) -> (f64) {
    %x = memref.load %row[%i] : memref<?xf64, strided<[?], offset: ?>>
    %f = arith.sitofp %i : index to f64
    %y = arith.mulf %x, %f : f64
    %p1 = arith.addf %p, %y : f64
    scf.yield %p1 : f64
  }
  %e = memref.subview %a[%n, %m][%c0, %c0][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  memref.copy %e, %e : memref<?x?xf64, strided<[?, 1], offset: ?>> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  %d0 = memref.dim %t, 0 : memref<?x?xf64, strided<[2, ?], offset: ?>>
  %d1 = memref.dim %e, 1 : memref<?x?xf64, strided<[?, 1], offset: ?>>
  func.return %sum, %d0, %d1 : f64, index, index
}
""",
    lambda: [
        [rng().random((5, 7)), np.zeros((12, 5))[2:10:2, :]],
        [rng().random((5, 7)), np.zeros((5, 4)).T],
        [rng().random((1, 1)), np.zeros((1, 1))[::-1, ::-1]],
        [rng().random((5, 7)), np.zeros((4, 5))[::-1, ::-1]],
    ],
    close=True,
)

program(
    "allocation, fill, copy, dealloc, arrays of Booleans, f32 and i32",
    """
func.func @main(%n: index, %m: index) -> (memref<?x?xf64>, memref<?xi1>, memref<?xf32>, memref<?x2xi32>, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.5 : f64
  %a = memref.alloc(%n, %m) : memref<?x?xf64>
  linalg.fill ins(%zero : f64) outs(%a : memref<?x?xf64>)
  %b = memref.alloc(%n, %m) : memref<?x?xf64>
  linalg.fill ins(%one : f64) outs(%b : memref<?x?xf64>)
  memref.copy %b, %a : memref<?x?xf64> to memref<?x?xf64>
  memref.dealloc %b : memref<?x?xf64>
  %flags = memref.alloc(%n) : memref<?xi1>
  %yes = arith.constant true : i1
  linalg.fill ins(%yes : i1) outs(%flags : memref<?xi1>)
  %singles = memref.alloc(%n) : memref<?xf32>
  %words = memref.alloc(%n) : memref<?x2xi32>
  %seven = arith.constant 7 : i32
  linalg.fill ins(%seven : i32) outs(%words : memref<?x2xi32>)
  scf.for %i = %c0 to %n step %c1 {
    %r = arith.remsi %i, %c2 : index
    %even = arith.cmpi eq, %r, %c0 : index
    %old = memref.load %flags[%i] : memref<?xi1>
    %new = arith.andi %even, %old : i1
    memref.store %new, %flags[%i] : memref<?xi1>
    %f = arith.sitofp %i : index to f32
    %g = math.sqrt %f : f32
    memref.store %g, %singles[%i] : memref<?xf32>
    %w = arith.index_cast %i : index to i32
    memref.store %w, %words[%i, %c1] : memref<?x2xi32>
  }
  %small = memref.alloc() : memref<3xf64>
  linalg.fill ins(%one : f64) outs(%small : memref<3xf64>)
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%p = %zero) -> (f64) {
    %local = memref.alloc() : memref<2xf64>
    %f = arith.sitofp %i : index to f64
    memref.store %f, %local[%c0] : memref<2xf64>
    memref.store %one, %local[%c1] : memref<2xf64>
    %s = memref.load %small[%c2] : memref<3xf64>
    memref.store %f, %small[%c2] : memref<3xf64>
    %which = arith.remsi %i, %c2 : index
    %x = memref.load %local[%which] : memref<2xf64>
    %y = arith.mulf %x, %s : f64
    %p1 = arith.addf %p, %y : f64
    memref.dealloc %local : memref<2xf64>
    scf.yield %p1 : f64
  }
  func.return %a, %flags, %singles, %words, %sum : memref<?x?xf64>, memref<?xi1>, memref<?xf32>, memref<?x2xi32>, f64
}
""",
    lambda: [[5, 3], [0, 4], [4, 0], [1, 1], [300, 17]],
    close=True,
)

program(
    "memrefs of memrefs, grown buffers, records, calls that return memory",
    """
func.func @make(%n: index, %x: f64) -> (memref<?xf64>, index) {
  %a = memref.alloc(%n) : memref<?xf64>
  linalg.fill ins(%x : f64) outs(%a : memref<?xf64>)
  func.return %a, %n : memref<?xf64>, index
}
func.func @forward(%n: index, %b: memref<?x?xf64, strided<[?, 1], offset: ?>>) -> !adc.record {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tape = memref.alloc(%n) : memref<?xmemref<?xf64>>
  %none = adc.undef : memref<?xf64>
  %values, %flag = scf.for %i = %c0 to %n step %c1 iter_args(%p = %none, %f = %c0) -> (memref<?xf64>, index) {
    %x = arith.sitofp %i : index to f64
    %row, %len = func.call @make(%i, %x) : (index, f64) -> (memref<?xf64>, index)
    memref.store %row, %tape[%i] : memref<?xmemref<?xf64>>
    %q = adc.grow %p, %i : memref<?xf64>
    memref.store %x, %q[%i] : memref<?xf64>
    scf.yield %q, %len : memref<?xf64>, index
  }
  %yes = arith.cmpi sgt, %n, %c1 : index
  %r = adc.pack %tape, %values, %flag, %yes, %b : memref<?xmemref<?xf64>>, memref<?xf64>, index, i1, memref<?x?xf64, strided<[?, 1], offset: ?>>
  func.return %r : !adc.record
}
func.func @main(%n: index, %b: memref<?x?xf64, strided<[?, 1], offset: ?>>) -> (f64, index, i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %r = func.call @forward(%n, %b) : (index, memref<?x?xf64, strided<[?, 1], offset: ?>>) -> !adc.record
  %tape, %values, %flag, %yes, %c = adc.unpack %r : memref<?xmemref<?xf64>>, memref<?xf64>, index, i1, memref<?x?xf64, strided<[?, 1], offset: ?>>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%p = %z) -> (f64) {
    %row = memref.load %tape[%i] : memref<?xmemref<?xf64>>
    %m = memref.dim %row, 0 : memref<?xf64>
    %q = scf.for %j = %c0 to %m step %c1 iter_args(%o = %p) -> (f64) {
      %x = memref.load %row[%j] : memref<?xf64>
      %y = memref.load %values[%i] : memref<?xf64>
      %w = arith.mulf %x, %y : f64
      %o1 = arith.addf %o, %w : f64
      scf.yield %o1 : f64
    }
    memref.store %q, %c[%c1, %c1] : memref<?x?xf64, strided<[?, 1], offset: ?>>
    scf.yield %q : f64
  }
  func.return %s, %flag, %yes : f64, index, i1
}
""",
    lambda: [[n, np.zeros((9, 9))[::2, 1:4]] for n in (0, 1, 2, 9, 80)],
)

program(
    "calls of functions that cannot fail",
    """
func.func @pair(%x: f64, %n: index, %b: i1) -> (f64, index, i1) {
  %s = math.sin %x : f64
  %c1 = arith.constant 1 : index
  %m = arith.addi %n, %c1 : index
  %t = arith.constant true : i1
  %o = arith.xori %b, %t : i1
  func.return %s, %m, %o : f64, index, i1
}
func.func @nothing(%a: memref<?xf64>, %i: index, %x: f64) {
  memref.store %x, %a[%i] : memref<?xf64>
  func.return
}
func.func @view(%a: memref<?xf64>, %i: index) -> memref<?xf64, strided<[1], offset: ?>> {
  %c1 = arith.constant 1 : index
  %v = memref.subview %a[%i][%c1][%c1] {static_steps = [1]} : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
  func.return %v : memref<?xf64, strided<[1], offset: ?>>
}
func.func @fact(%n: index) -> index {
  %c1 = arith.constant 1 : index
  %last = arith.cmpi sle, %n, %c1 : index
  %r = scf.if %last -> (index) {
    scf.yield %c1 : index
  } else {
    %m = arith.subi %n, %c1 : index
    %q = func.call @fact(%m) : (index) -> index
    %p = arith.muli %n, %q : index
    scf.yield %p : index
  }
  func.return %r : index
}
func.func @main(%a: memref<?xf64>, %x: f64, %b: i1) -> (f64, index, i1, f64, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?xf64>
  %y, %m, %o = func.call @pair(%x, %n, %b) : (f64, index, i1) -> (f64, index, i1)
  scf.for %i = %c0 to %n step %c1 {
    func.call @nothing(%a, %i, %y) : (memref<?xf64>, index, f64) -> ()
  }
  %v = func.call @view(%a, %c1) : (memref<?xf64>, index) -> memref<?xf64, strided<[1], offset: ?>>
  memref.store %x, %v[%c0] : memref<?xf64, strided<[1], offset: ?>>
  %w = memref.load %a[%c1] : memref<?xf64>
  %f = func.call @fact(%n) : (index) -> index
  func.return %y, %m, %o, %w, %f : f64, index, i1, f64, index
}
""",
    lambda: [[np.zeros(6), 0.75, True], [np.zeros(2), -2.5, False]],
    close=True,
)

program(
    "arguments that overlap",
    """
func.func @main(%a: memref<?xf64> {adc.alias = 1}, %b: memref<?xf64> {adc.alias = 1}, %c: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?xf64>
  scf.for %i = %c1 to %n step %c1 {
    %im = arith.subi %i, %c1 : index
    %x = memref.load %a[%im] : memref<?xf64>
    %y = memref.load %c[%i] : memref<?xf64>
    %z = arith.addf %x, %y : f64
    memref.store %z, %b[%i] : memref<?xf64>
  }
  func.return
}
""",
    lambda: [[(x := rng().random(100)), x, rng().random(100)]],
)

program(
    "reductions",
    """
func.func @main(%a: memref<?xf64>, %k: memref<?xi64>, %lo: index, %hi: index, %st: index) -> (f64, f64, f64, f64, i64, i64, i64, i64) {
  %one = arith.constant 1.0 : f64
  %init = arith.constant 3.0 : f64
  %big = arith.constant 1.0e9 : f64
  %small = arith.constant -1.0e9 : f64
  %k0 = arith.constant 5 : i64
  %s, %p, %mi, %ma, %si, %pi, %mii, %mai = scf.parallel (%i) = (%lo) to (%hi) step (%st) init (%init, %one, %big, %small, %k0, %k0, %k0, %k0) -> (f64, f64, f64, f64, i64, i64, i64, i64) {
    %x = memref.load %a[%i] : memref<?xf64>
    %n = memref.load %k[%i] : memref<?xi64>
    scf.reduce(%x, %x, %x, %x, %n, %n, %n, %n : f64, f64, f64, f64, i64, i64, i64, i64) {kinds = ["add", "mul", "min", "max", "add", "mul", "min", "max"]}
  } {threads = true}
  func.return %s, %p, %mi, %ma, %si, %pi, %mii, %mai : f64, f64, f64, f64, i64, i64, i64, i64
}
""",
    lambda: [
        [1.0 + 1e-4 * rng().standard_normal(n), rng().integers(-50, 50, n), lo, n, st]
        for n, lo, st in ((5000, 0, 1), (5000, 7, 3), (3, 0, 1), (0, 0, 1), (20, 19, 5), (20000, 0, 1))
    ]
    + [[np.array([1.0, np.nan, 2.0]), np.array([1, 2, 3]), 0, 3, 1]],
    close=True,
)

program(
    "a parallel nest with a reduction inside",
    """
func.func @main(%a: memref<?x?xf64>, %r: memref<?xf64>, %scale: f64, %flag: i1) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %n = memref.dim %a, 0 : memref<?x?xf64>
  %total = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%z) -> (f64) {
    %m = memref.dim %a, 1 : memref<?x?xf64>
    %s = scf.parallel (%j) = (%c0) to (%m) step (%c1) init (%z) -> (f64) {
      %x = memref.load %a[%i, %j] : memref<?x?xf64>
      %y = math.exp %x : f64
      scf.reduce(%y : f64) {kinds = ["add"]}
    }
    %t = arith.mulf %s, %scale : f64
    %u = scf.if %flag -> (f64) {
      scf.yield %t : f64
    } else {
      scf.yield %s : f64
    }
    memref.store %u, %r[%i] : memref<?xf64>
    scf.reduce(%u : f64) {kinds = ["add"]}
  } {threads = true}
  func.return %total : f64
}
""",
    lambda: [[rng().random((n, m)), np.zeros(n), 0.5, flag] for n, m in ((700, 20), (3, 5), (0, 5), (5, 0)) for flag in (True, False)],
    close=True,
)

program(
    "accumulation where iterations collide",
    """
func.func @main(%a: memref<?xf64>, %k: memref<?xi64>, %h: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %x = memref.load %a[%i] : memref<?xf64>
    %j = memref.load %k[%i] : memref<?xi64>
    %p = arith.index_cast %j : i64 to index
    adc.accumulate %x, %h[%p] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return
}
""",
    lambda: [[rng().random(9000), rng().integers(0, 3, 9000), np.zeros(3)]],
    close=True,
)

program(
    "buffers of a parallel iteration's own",
    """
func.func @main(%a: memref<?xf64>, %o: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %n = memref.dim %a, 0 : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %x = memref.load %a[%i] : memref<?xf64>
    %small = memref.alloc() : memref<4xf64>
    %large = memref.alloc(%c4) : memref<?xf64>
    scf.for %j = %c0 to %c4 step %c1 {
      %f = arith.sitofp %j : index to f64
      %y = arith.addf %x, %f : f64
      memref.store %y, %small[%j] : memref<4xf64>
      memref.store %y, %large[%j] : memref<?xf64>
    }
    %q = arith.remsi %i, %c4 : index
    %u = memref.load %small[%q] : memref<4xf64>
    %v = memref.load %large[%q] : memref<?xf64>
    %w = arith.mulf %u, %v : f64
    memref.store %w, %o[%i] : memref<?xf64>
    memref.dealloc %large : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return
}
""",
    lambda: [[rng().random(n), np.zeros(n)] for n in (0, 9, 3000)],
)

program(
    "choice between memrefs",
    """
func.func @main(%a: memref<?xf64>, %b: memref<?xf64>, %which: i1) -> (f64, index) {
  %c0 = arith.constant 0 : index
  %x = arith.constant 9.0 : f64
  %m = arith.select %which, %a, %b : memref<?xf64>
  %k = scf.if %which -> (memref<?xf64>) {
    scf.yield %b : memref<?xf64>
  } else {
    scf.yield %a : memref<?xf64>
  }
  memref.store %x, %k[%c0] : memref<?xf64>
  %y = memref.load %m[%c0] : memref<?xf64>
  %n = memref.dim %k, 0 : memref<?xf64>
  func.return %y, %n : f64, index
}
""",
    lambda: [[np.array([1.0, 2.0]), np.array([3.0]), which] for which in (True, False)],
)

program(
    "a region that need not be fast",
    """
func.func @main(%a: memref<?xf64>, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %m = memref.dim %a, 0 : memref<?xf64>
  %ok = arith.cmpi sle, %n, %m : index
  %s = scf.if %ok -> (f64) {
    %t = scf.for %i = %c0 to %n step %c1 iter_args(%p = %z) -> (f64) {
      %x = memref.load %a[%i] : memref<?xf64>
      %q = arith.addf %p, %x : f64
      scf.yield %q : f64
    }
    scf.yield %t : f64
  } else {
    %t = scf.for %i = %c0 to %n step %c1 iter_args(%p = %z) -> (f64) {
      %j = arith.remsi %i, %m : index
      %k = adc.bound %j, %m : index
      %x = memref.load %a[%k] : memref<?xf64>
      %q = arith.addf %p, %x : f64
      memref.store %q, %a[%k] : memref<?xf64>
      scf.yield %q : f64
    }
    scf.yield %t : f64
  } {adc.cold = "else"}
  func.return %s : f64
}
""",
    lambda: [[rng().random(20), n] for n in (20, 5, 70)],
    close=True,
)
