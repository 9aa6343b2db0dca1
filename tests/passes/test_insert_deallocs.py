"""InsertDeallocs: memory is freed once, after its last use, and time loops run in constant memory.

The interpreter raises if freed memory is used or freed again.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import adc
from adc.ir import ops
from adc.ir.interpret.interpreter import InterpreterError, Statistics, run
from adc.ir.text.parser import parse_module
from adc.ir.verifier import verify
from adc.passes.base import Verify, run_pipeline
from adc.passes.canonicalize.canonicalize import Canonicalize
from adc.passes.memory.insert_deallocs import InsertDeallocs
from adc.passes.pipelines import FREE, SIMPLIFY
from adc.passes.simplify.dce import DCE
from tests.passes import random_ir
from tests.passes.rewriting import check


def statistics(text: str, name: str, args: list[Any]) -> tuple[list[Any], Statistics]:
    """Results, equal with and without deallocations, and what the run with them took."""
    plain = run(parse_module(text), name, [a.copy() if isinstance(a, np.ndarray) else a for a in args])
    module = run_pipeline(parse_module(text), FREE, verify=Verify.PASSES)
    taken = Statistics()
    results = run(module, name, args, statistics=taken)
    assert repr(results) == repr(plain)
    return results, taken


def test_freed_after_the_last_use_in_its_block() -> None:
    check(
        (InsertDeallocs(),),
        """func.func @f(%x: f64, %n: index) -> f64 {
          %c0 = arith.constant 0 : index
          %a = memref.alloc(%n) : memref<?xf64>
          %b = memref.alloc(%n) : memref<?xf64>
          memref.store %x, %a[%c0] : memref<?xf64>
          memref.copy %a, %b : memref<?xf64> to memref<?xf64>
          %y = math.sin %x : f64
          %v = memref.load %b[%c0] : memref<?xf64>
          func.return %v : f64
        }""",
        """func.func @f(%x: f64, %n: index) -> f64 {
          %c0 = arith.constant 0 : index
          %a = memref.alloc(%n) : memref<?xf64>
          %b = memref.alloc(%n) : memref<?xf64>
          memref.store %x, %a[%c0] : memref<?xf64>
          memref.copy %a, %b : memref<?xf64> to memref<?xf64>
          memref.dealloc %a : memref<?xf64>
          %y = math.sin %x : f64
          %v = memref.load %b[%c0] : memref<?xf64>
          memref.dealloc %b : memref<?xf64>
          func.return %v : f64
        }""",
    )


def test_what_leaves_the_function_is_not_freed() -> None:
    text = """func.func @f(%n: index) -> (memref<?xf64>, memref<?xf64, strided<[1], offset: ?>>, !adc.record) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %a = memref.alloc(%n) : memref<?xf64>
      %b = memref.alloc(%n) : memref<?xf64>
      %c = memref.alloc(%n) : memref<?xf64>
      %v = memref.subview %b[%c0][%n][%c1] {static_steps = [1]}
        : memref<?xf64> to memref<?xf64, strided<[1], offset: ?>>
      %r = adc.pack %c : memref<?xf64>
      func.return %a, %v, %r : memref<?xf64>, memref<?xf64, strided<[1], offset: ?>>, !adc.record
    }"""
    check((InsertDeallocs(),), text, text)


TIME_LOOP = """func.func @f(%u0: memref<?xf64>, %nt: index, %x: f64) -> f64 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %u0, 0 : memref<?xf64>
  {start}
  %r = scf.for %t = %c0 to %nt step %c1 iter_args(%u = {init}) -> (memref<?xf64>) {{
    %v = memref.alloc(%n) : memref<?xf64>
    scf.for %i = %c0 to %n step %c1 {{
      %a = memref.load %u[%i] : memref<?xf64>
      %b = arith.addf %a, %x : f64
      memref.store %b, %v[%i] : memref<?xf64>
    }}
    {update}
  }}
  %s = memref.load %r[%c0] : memref<?xf64>
  func.return %s : f64
}}"""
ALWAYS = "scf.yield %v : memref<?xf64>"
SOMETIMES = """%old = memref.load %u[%c0] : memref<?xf64>
    %new = memref.load %v[%c0] : memref<?xf64>
    %two = arith.constant 2.5 : f64
    %p = arith.cmpf olt, %new, %two : f64
    %w = scf.if %p -> (memref<?xf64>) {
      scf.yield %v : memref<?xf64>
    } else {
      memref.store %old, %u[%c1] : memref<?xf64>
      scf.yield %u : memref<?xf64>
    }
    scf.yield %w : memref<?xf64>"""
OWN = ("%o = memref.alloc(%n) : memref<?xf64>\nmemref.copy %u0, %o : memref<?xf64> to memref<?xf64>", "%o")


@pytest.mark.parametrize("update", [ALWAYS, SOMETIMES], ids=["always", "sometimes"])
@pytest.mark.parametrize(("start", "init"), [("", "%u0"), OWN], ids=["argument", "own"])
@pytest.mark.parametrize("steps", [0, 1, 2, 9])
def test_fresh_array_in_each_step_takes_constant_memory(update: str, start: str, init: str, steps: int) -> None:
    """``u = u + x``, and ``if c: u = u + x``; from the caller's array or an array of our own."""
    text = TIME_LOOP.format(start=start, init=init, update=update)
    _, taken = statistics(text, "f", [np.zeros(4), steps, 0.5])
    assert taken.live_bytes == 0
    assert taken.peak_bytes <= 2 * 32


def test_swapped_buffers_are_freed_once() -> None:
    text = """func.func @f(%nt: index, %n: index, %x: f64) -> f64 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %a = memref.alloc(%n) : memref<?xf64>
      %b = memref.alloc(%n) : memref<?xf64>
      linalg.fill ins(%x : f64) outs(%a : memref<?xf64>)
      %p, %q = scf.for %t = %c0 to %nt step %c1 iter_args(%u = %a, %v = %b) -> (memref<?xf64>, memref<?xf64>) {
        %w = memref.load %u[%c0] : memref<?xf64>
        %z = arith.mulf %w, %x : f64
        memref.store %z, %v[%c0] : memref<?xf64>
        scf.yield %v, %u : memref<?xf64>, memref<?xf64>
      }
      %s = memref.load %p[%c0] : memref<?xf64>
      func.return %s : f64
    }"""
    for steps in range(4):
        _, taken = statistics(text, "f", [steps, 3, 2.0])
        assert taken.live_bytes == 0
    module = run_pipeline(parse_module(text), (InsertDeallocs(), Canonicalize(), DCE()), verify=Verify.PASSES)
    assert not any(op.opdef.name == "scf.if" for op in module.funcs["f"].walk())  # who owns what is known


def test_leapfrog_of_fresh_arrays() -> None:
    """``old, u = u, 2 * u - old``: three arrays live at a time."""
    text = """func.func @f(%nt: index, %n: index, %x: f64) -> memref<?xf64> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %a = memref.alloc(%n) : memref<?xf64>
      %b = memref.alloc(%n) : memref<?xf64>
      linalg.fill ins(%x : f64) outs(%a : memref<?xf64>)
      linalg.fill ins(%x : f64) outs(%b : memref<?xf64>)
      %p, %q = scf.for %t = %c0 to %nt step %c1 iter_args(%o = %a, %u = %b) -> (memref<?xf64>, memref<?xf64>) {
        %w = memref.load %u[%c0] : memref<?xf64>
        %y = memref.load %o[%c0] : memref<?xf64>
        %z = arith.addf %w, %y : f64
        %new = memref.alloc(%n) : memref<?xf64>
        linalg.fill ins(%z : f64) outs(%new : memref<?xf64>)
        scf.yield %u, %new : memref<?xf64>, memref<?xf64>
      }
      func.return %q : memref<?xf64>
    }"""
    for steps in range(5):
        results, taken = statistics(text, "f", [steps, 4, 1.0])
        assert taken.live_bytes == results[0].nbytes
        assert taken.peak_bytes <= 3 * 32


def test_one_array_as_two_initial_values_is_not_freed_early() -> None:
    text = """func.func @f(%nt: index, %n: index, %x: f64) -> f64 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %a = memref.alloc(%n) : memref<?xf64>
      linalg.fill ins(%x : f64) outs(%a : memref<?xf64>)
      %p, %q = scf.for %t = %c0 to %nt step %c1 iter_args(%o = %a, %u = %a) -> (memref<?xf64>, memref<?xf64>) {
        %w = memref.load %o[%c0] : memref<?xf64>
        %new = memref.alloc(%n) : memref<?xf64>
        linalg.fill ins(%w : f64) outs(%new : memref<?xf64>)
        scf.yield %u, %new : memref<?xf64>, memref<?xf64>
      }
      %r = memref.load %p[%c0] : memref<?xf64>
      %s = memref.load %q[%c0] : memref<?xf64>
      %z = arith.addf %r, %s : f64
      func.return %z : f64
    }"""
    for steps in range(5):
        _, taken = statistics(text, "f", [steps, 4, 1.0])
        assert taken.peak_bytes <= 4 * 32


def test_tape_of_a_while_loop_grows_and_is_freed() -> None:
    text = """func.func @f(%x: f64, %limit: f64) -> f64 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %none = adc.undef : memref<?xf64>
      %k, %y, %tape = scf.while (%i = %c0, %v = %x, %b = %none) : (index, f64, memref<?xf64>)
          -> (index, f64, memref<?xf64>) {
        %p = arith.cmpf olt, %v, %limit : f64
        scf.condition(%p) %i, %v, %b : index, f64, memref<?xf64>
      } do {
      ^bb0(%i: index, %v: f64, %b: memref<?xf64>):
        %g = adc.grow %b, %i : memref<?xf64>
        memref.store %v, %g[%i] : memref<?xf64>
        %w = arith.mulf %v, %v : f64
        %j = arith.addi %i, %c1 : index
        scf.yield %j, %w, %g : index, f64, memref<?xf64>
      }
      %s = scf.for %i = %c0 to %k step %c1 iter_args(%t = %y) -> (f64) {
        %v = memref.load %tape[%i] : memref<?xf64>
        %u = arith.addf %t, %v : f64
        scf.yield %u : f64
      }
      func.return %s : f64
    }"""
    for limit in (1.0, 2.0, 1e6):
        _, taken = statistics(text, "f", [1.5, limit])
        assert taken.live_bytes == 0


def test_the_caller_frees_what_a_callee_returns() -> None:
    text = """func.func @g(%u: memref<?xf64>) -> memref<?xf64> {
      %c0 = arith.constant 0 : index
      %n = memref.dim %u, 0 : memref<?xf64>
      %t = memref.alloc(%n) : memref<?xf64>
      %r = memref.alloc(%n) : memref<?xf64>
      memref.copy %u, %t : memref<?xf64> to memref<?xf64>
      memref.copy %t, %r : memref<?xf64> to memref<?xf64>
      func.return %r : memref<?xf64>
    }
    func.func @same(%u: memref<?xf64>) -> memref<?xf64> {
      func.return %u : memref<?xf64>
    }
    func.func @f(%u0: memref<?xf64>, %nt: index) -> f64 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %r = scf.for %t = %c0 to %nt step %c1 iter_args(%u = %u0) -> (memref<?xf64>) {
        %v = func.call @g(%u) : (memref<?xf64>) -> memref<?xf64>
        scf.yield %v : memref<?xf64>
      }
      %w = func.call @same(%r) : (memref<?xf64>) -> memref<?xf64>
      %s = memref.load %w[%c0] : memref<?xf64>
      func.return %s : f64
    }"""
    for steps in (0, 1, 5):
        _, taken = statistics(text, "f", [np.ones(4), steps])
        assert taken.live_bytes == 0
        assert taken.peak_bytes <= 3 * 32


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1), simplified=st.booleans())
@example(seed=1454961, simplified=True)
def test_random_functions_never_use_what_is_freed(seed: int, simplified: bool) -> None:
    rng = random.Random(seed)
    module = random_ir.generate(rng, fresh=True)
    args = random_ir.arguments(rng)
    try:
        before = random_ir.Outcome(module, args)
    except InterpreterError:
        assume(False)
    if simplified:
        module = run_pipeline(module, SIMPLIFY)
    module = InsertDeallocs().run(module)
    verify(module)
    after = random_ir.Outcome(module, args, limit=10**6)
    assert after.seen() == before.seen()
    assert after.statistics.peak_bytes <= before.statistics.peak_bytes


PACKED = """
func.func @f(%n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1.0 : f64
  %kept = memref.alloc(%n) : memref<?xf64>
  %gone = memref.alloc(%n) : memref<?xf64>
  linalg.fill ins(%c1 : f64) outs(%kept : memref<?xf64>)
  linalg.fill ins(%c1 : f64) outs(%gone : memref<?xf64>)
  %r = adc.pack %kept, %gone : memref<?xf64>, memref<?xf64>
{hand}
  %y = memref.load %kept[%c0] : memref<?xf64>
  %z = arith.addf %x, %y : f64
  func.return %z : f64
}

func.func @take(%r: !adc.record) -> f64 {
  %c0 = arith.constant 0 : index
  %a, %b = adc.unpack %r : memref<?xf64>, memref<?xf64>
  %x = memref.load %b[%c0] : memref<?xf64>
  memref.dealloc %b : memref<?xf64>
  adc.release %r : !adc.record
  func.return %x : f64
}
"""
HAND = "  %x = func.call @take(%r) : (!adc.record) -> f64"
IN_BRANCH = """  %t = arith.constant true : i1
  %q = scf.if %t -> (!adc.record) {
    scf.yield %r : !adc.record
  } else {
    scf.yield %r : !adc.record
  }
  %x = func.call @take(%q) : (!adc.record) -> f64"""


@pytest.mark.parametrize(("hand", "freed"), [(HAND, ["kept"]), (IN_BRANCH, [])], ids=["seen", "through a branch"])
def test_what_a_callee_frees_of_a_record_is_freed_once(hand, freed):
    """The rest is still the caller's; where it is not seen which record it is, all stays to the end of the run."""
    module = parse_module(PACKED.replace("{hand}", hand))
    verify(module)
    module = InsertDeallocs().run(module)
    verify(module)
    found = [op.operands[0].hint for op in module.funcs["f"].walk() if op.opdef is ops.dealloc]
    assert found == freed
    assert run(module, "f", [3]) == [2.0]


HELD = """
func.func @f(%n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %h = memref.alloc(%c1) : memref<?xmemref<?xf64>>
  %inside = memref.alloc(%n) : memref<?xf64>
  linalg.fill ins(%one : f64) outs(%inside : memref<?xf64>)
  memref.store %inside, %h[%c0] : memref<?xmemref<?xf64>>
{hand}
  func.return %x : f64
}

func.func @take(%r: !adc.record) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h = adc.unpack %r : memref<?xmemref<?xf64>>
  %a = memref.load %h[%c0] : memref<?xmemref<?xf64>>
  %x = memref.load %a[%c0] : memref<?xf64>
  scf.for %i = %c0 to %c1 step %c1 {
    %b = memref.load %h[%i] : memref<?xmemref<?xf64>>
    {free}
    scf.yield
  }
  adc.release %r : !adc.record
  func.return %x : f64
}
"""
HANDED = """  %r = adc.pack %h : memref<?xmemref<?xf64>>
  %x = func.call @take(%r) : (!adc.record) -> f64"""
FREED_HERE = """  %a = memref.load %h[%c0] : memref<?xmemref<?xf64>>
  %x = memref.load %a[%c0] : memref<?xf64>
  memref.dealloc %a : memref<?xf64>"""
FREE_INSIDE = "memref.dealloc %b : memref<?xf64>"


@pytest.mark.parametrize(
    ("hand", "free", "freed"),
    [(HANDED, FREE_INSIDE, ["h"]), (HANDED, "", ["inside", "h"]), (FREED_HERE, "", ["a", "h"])],
    ids=["by the callee", "by nobody", "here"],
)
def test_what_is_freed_of_a_memref_of_memrefs_is_freed_once(hand, free, freed):
    """Whoever frees what is loaded from one frees what was stored to it."""
    module = parse_module(HELD.replace("{hand}", hand).replace("{free}", free))
    verify(module)
    module = InsertDeallocs().run(module)
    verify(module)
    found = [op.operands[0].hint for op in module.funcs["f"].walk() if op.opdef is ops.dealloc]
    assert sorted(found) == sorted(freed)
    assert run(module, "f", [3]) == [1.0]


def test_what_grows_in_a_tangent_is_freed_once() -> None:
    """The tangent of a ``while`` loop's tape of numbers that have none: freed twice, it was given out twice."""

    def f(x, keep):
        n, s = 0, 0.0
        while n < 2:
            y = 1.0 / x
            z = y * y
            for i in range(len(x)):
                if keep[i]:
                    s += z[i] / (1.0 + n)
            n += 1
        return s

    x = np.array([0.5, 1.5, 2.0])
    np.testing.assert_allclose(adc.hessian(f)(x, np.ones(3, bool)), np.diag(9.0 / x**4), rtol=1e-12, atol=1e-12)


def test_a_view_that_a_recursion_returns_is_not_freed() -> None:
    """It is an array on one way and a part of one on the other: callers do not know where the memory begins."""

    def recursive(n: int, m: int) -> Any:
        return np.ones(n) if m == 0 else np.append(recursive(n + 1, m - 1), 1.0)[1:]

    def either(n: int, m: int) -> Any:
        x = np.full(n, 2.0)
        while m > 0:
            x = np.append(x, 3.0)[1:] if m % 2 else x * 0.5
            m -= 1
        return x

    def f(a: Any, n: int, m: int) -> Any:
        return np.sum(recursive(n, m) * a[0, : n + m]) + np.sum(either(n, m) * a[1, :n])

    a = np.arange(20.0).reshape(2, 10)
    compiled = adc.jit_grad(f)
    for n, m in ((4, 6), (10, 0), (3, 1), (1, 9)):
        assert compiled(a, n, m) == f(a, n, m)
        gradient = compiled.grad(a, n, m)
        assert gradient[0, : n + m].sum() == n + m
        assert not gradient[0, n + m :].any()
