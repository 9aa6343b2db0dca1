"""Functions that run once per call, and whose loops, if any, all run on threads, are not optimised in loaded code."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from adc import jit_grad
from adc.backend.lowering.lower import lower_module
from adc.ir.text.parser import parse_module

_HEAD = """
func.func @share(%a: memref<?xf64>, %x: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %a, 0 : memref<?xf64>
  %sum = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> f64 {
    %y = memref.load %a[%i] : memref<?xf64>
    %z = arith.mulf %y, %x : f64
    scf.reduce(%z : f64) {kinds = ["add"]}
  } {threads = true}
  func.return %sum : f64
}
"""
_ONCE = """
func.func @main(%a: memref<?xf64>, %x: f64) -> f64 {
  %s = func.call @share(%a, %x) : (memref<?xf64>, f64) -> f64
  func.return %s : f64
}
"""
_IN_A_LOOP = """
func.func @main(%a: memref<?xf64>, %x: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %s = scf.for %k = %c0 to %c9 step %c1 iter_args(%r = %x) -> f64 {
    %y = func.call @share(%a, %r) : (memref<?xf64>, f64) -> f64
    scf.yield %y : f64
  }
  func.return %s : f64
}
"""


def not_optimised(text: str) -> set[str]:
    """The functions of LLVM IR that the optimiser leaves alone."""
    marked = set(re.findall(r"^attributes (#\d+) = .*\boptnone\b", text, re.MULTILINE))
    heads = re.findall(r'^define .*?@"?adc\.([\w.$]+)"?\(.*?(#\d+) ', text, re.MULTILINE)
    return {name.removesuffix("$value") for name, attributes in heads if attributes in marked}


def functions(text: str, *, quick: bool = True) -> set[str]:
    return not_optimised(str(lower_module(parse_module(text), exports=["main"], polls=True, quick=quick)))


def test_what_runs_once_and_only_shares_out_loops() -> None:
    assert functions(_HEAD + _ONCE) == {"share", "main"}
    assert functions(_HEAD + _ONCE, quick=False) == set()
    assert functions(_HEAD + _IN_A_LOOP) == set()


def test_it_is_so_in_programs() -> None:
    def statement(a: Any, b: Any) -> Any:
        return np.sum(np.sin(a) * b)

    def scalar(x: float) -> float:
        return x * x + 1.0

    def steps(a: Any, x: float) -> Any:
        for value in a:
            x = x * value
        return x

    a = np.linspace(0.0, 1.0, 5)
    for function, args, left in ((statement, (a, a), True), (scalar, (2.0,), False), (steps, (a, 2.0), False)):
        compiled = jit_grad(function)
        compiled(*args)
        assert ("optnone" in compiled.dump_ir("llvm")) == left
        np.testing.assert_allclose(compiled(*args), function(*args), rtol=1e-15)
