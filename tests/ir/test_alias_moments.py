"""Which memrefs can overlap at one moment: permuted buffers, and what branches choose between."""

from __future__ import annotations

from adc.ir.alias import Aliasing
from adc.ir.core import Func, Value
from adc.ir.parser import parse_module

PROGRAM = """
func.func @f(%a: memref<?xf64>, %b: memref<?xf64>, %p: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q, %r = scf.if %p -> (memref<?xf64>, memref<?xf64>) {
    %s, %t = scf.for %i = %c0 to %n step %c1 iter_args(%u = %a, %v = %b) -> (memref<?xf64>, memref<?xf64>) {
      scf.yield %v, %u : memref<?xf64>, memref<?xf64>
    }
    scf.yield %s, %t : memref<?xf64>, memref<?xf64>
  } else {
    scf.yield %b, %a : memref<?xf64>, memref<?xf64>
  }
  func.return
}
"""
SAME = PROGRAM.replace("scf.yield %b, %a", "scf.yield %b, %b")


def _results(text: str) -> tuple[Func, tuple[Value, ...]]:
    func = parse_module(text).funcs["f"]
    (branch,) = (op for op in func.body.ops if op.opdef.name == "scf.if")
    return func, branch.results


def test_results_of_a_branch_whose_sides_yield_distinct_memrefs_are_distinct() -> None:
    func, (q, r) = _results(PROGRAM)
    aliasing = Aliasing(func)
    assert aliasing.roots(q) == aliasing.roots(r) == {func.args[0], func.args[1]}
    assert not aliasing.may_overlap(q, r)
    assert aliasing.may_overlap(q, func.args[0])


def test_they_may_overlap_if_one_side_yields_the_same_memref_twice() -> None:
    func, (q, r) = _results(SAME)
    assert Aliasing(func).may_overlap(q, r)


def test_permuted_buffers_are_distinct_inside_the_loop() -> None:
    func, _ = _results(PROGRAM)
    (loop,) = (op for op in func.walk() if op.opdef.name == "scf.for")
    _, u, v = loop.regions[0].args
    assert not Aliasing(func).may_overlap(u, v)
