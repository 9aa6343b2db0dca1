"""The reference interpreter on programs written as text, and on programs that it must refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adc.ir import ops
from adc.ir.interpret.interpreter import InterpreterError, Statistics, backward, forward, run, shuffled
from adc.ir.text.parser import parse_module
from adc.ir.verifier import verify


def call(text: str, *args: Any, name: str = "f", **options: Any) -> list[Any]:
    module = parse_module(text)
    verify(module)
    return run(module, name, args, **options)


def body(text: str, signature: str = "", results: str = "") -> str:
    """A function ``f`` around some operations and a few constants."""
    arrow = f" -> {results}" if results else ""
    return f"""
    func.func @f({signature}){arrow} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %zero = arith.constant 0.0 : f64
      %one = arith.constant 1.0 : f64
      {text}
    }}"""


LOOP = body(
    """
    %n = memref.dim %u, 0 : memref<?xf64>
    %s, %last = scf.for %i = %c0 to %n step %c2 iter_args(%a = %zero, %b = %c0) -> (f64, index) {
      %v = memref.load %u[%i] : memref<?xf64>
      %w = arith.addf %a, %v : f64
      scf.yield %w, %i : f64, index
    }
    func.return %s, %last : f64, index""",
    "%u: memref<?xf64>",
    "(f64, index)",
)


def test_for() -> None:
    assert call(LOOP, np.arange(7.0)) == [12.0, 6]
    assert call(LOOP, np.zeros(0)) == [0.0, 0]


WHILE = """
func.func @f(%n: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %steps = scf.while (%x = %n, %k = %zero) : (i64, i64) -> (i64) {
    %go = arith.cmpi ne, %x, %one : i64
    %odd = arith.andi %x, %one : i64
    %is = arith.cmpi eq, %odd, %one : i64
    %next = scf.if %is -> (i64) {
      %t = arith.muli %x, %three : i64
      %t1 = arith.addi %t, %one : i64
      scf.yield %t1 : i64
    } else {
      %h = arith.floordivsi %x, %two : i64
      scf.yield %h : i64
    }
    adc.assert %go, %k {error = "StopIteration", message = "after {} steps"} : i1, i64
    scf.condition(%go) %next, %k : i64, i64
  } do {
  ^bb0(%y: i64, %k1: i64):
    %k2 = arith.addi %k1, %one : i64
    scf.yield %y, %k2 : i64, i64
  }
  func.return %steps : i64
}
"""


def test_while_and_if() -> None:
    """The steps of Collatz's sequence, passed on by the condition."""
    text = WHILE.replace('adc.assert %go, %k {error = "StopIteration", message = "after {} steps"} : i1, i64', "")
    text = text.replace("-> (i64) {\n    %go", "-> (i64, i64) {\n    %go").replace("%steps =", "%end, %steps =")
    assert call(text, 27) == [111]
    with pytest.raises(StopIteration, match="after 111 steps"):
        call(text.replace("scf.condition(%go)", TRAP + "scf.condition(%go)"), 27)


TRAP = 'adc.assert %go, %k {error = "StopIteration", message = "after {} steps"} : i1, i64\n    '


PARALLEL = body(
    """
    %n = memref.dim %u, 0 : memref<?xf64>
    %low = arith.constant 0x7FF0000000000000 : f64
    %s, %m, %c = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero, %low, %c0) -> (f64, f64, index) {
      %v = memref.load %u[%i] : memref<?xf64>
      %w = math.sin %v : f64
      memref.store %w, %u[%i] : memref<?xf64>
      adc.accumulate %w, %t[%c0] : memref<?xf64>
      scf.reduce(%w, %v, %i : f64, f64, index) {kinds = ["add", "min", "max"]}
    }
    func.return %s, %m, %c : f64, f64, index""",
    "%u: memref<?xf64>, %t: memref<?xf64>",
    "(f64, f64, index)",
)


@pytest.mark.parametrize("order", [forward, backward, shuffled(1), shuffled(2)])
def test_parallel_in_any_order(order: Any) -> None:
    u, t = np.linspace(0.0, 3.0, 50), np.zeros(1)
    before = u.copy()
    total, least, last = call(PARALLEL, u, t, order=order)
    running = 0.0
    for v in np.sin(before):
        running += float(v)
    assert total == pytest.approx(running, rel=1e-15)
    assert (least, last) == (0.0, 49)
    np.testing.assert_allclose(u, np.sin(before), rtol=1e-15)
    assert t[0] == pytest.approx(running, rel=1e-13)


def test_reductions_do_not_depend_on_the_order() -> None:
    results = set()
    for order in (forward, backward, shuffled(3), shuffled(4)):
        results.add(call(PARALLEL, np.logspace(-8, 8, 40), np.zeros(1), order=order)[0])
    assert len(results) == 1


def test_order_of_iterations_shows_where_it_matters() -> None:
    """A loop that is not parallel gives other results in another order: this is how a test finds it out."""
    text = body(
        """
        %n = memref.dim %u, 0 : memref<?xf64>
        scf.parallel (%i) = (%c1) to (%n) step (%c1) {
          %j = arith.subi %i, %c1 : index
          %v = memref.load %u[%j] : memref<?xf64>
          memref.store %v, %u[%i] : memref<?xf64>
          scf.reduce()
        }
        func.return""",
        "%u: memref<?xf64>",
    )
    a, b = np.arange(5.0), np.arange(5.0)
    call(text, a)
    call(text, b, order=backward)
    assert a.tolist() == [0.0] * 5
    assert b.tolist() == [0.0, 0.0, 1.0, 2.0, 3.0]


def test_calls_and_recursion() -> None:
    text = """
    func.func @fib(%n: index) -> index {
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %small = arith.cmpi sle, %n, %c1 : index
      %r = scf.if %small -> (index) {
        scf.yield %n : index
      } else {
        %a = arith.subi %n, %c1 : index
        %b = arith.subi %n, %c2 : index
        %x = func.call @fib(%a) : (index) -> index
        %y = func.call @fib(%b) : (index) -> index
        %z = arith.addi %x, %y : index
        scf.yield %z : index
      }
      func.return %r : index
    }
    func.func @f(%u: memref<?xf64>, %n: index) -> (index, memref<?xf64>) {
      %r = func.call @fib(%n) : (index) -> index
      func.return %r, %u : index, memref<?xf64>
    }"""
    u = np.ones(2)
    result, same = call(text, u, 10)
    assert result == 55
    assert same is u


def test_subviews() -> None:
    text = body(
        """
        %v = memref.subview %u[%c3, %c1][%c2, %c2][%m1, %c2] {static_steps = [-1, 2]}
          : memref<?x?xf64> to memref<?x?xf64, strided<[?, 2], offset: ?>>
        %x = memref.load %v[%c0, %c0] : memref<?x?xf64, strided<[?, 2], offset: ?>>
        %y = memref.load %v[%c1, %c1] : memref<?x?xf64, strided<[?, 2], offset: ?>>
        linalg.fill ins(%one : f64) outs(%v : memref<?x?xf64, strided<[?, 2], offset: ?>>)
        %row = memref.subview %u[%c0, %c0][%c1, %c3][%c1, %c1] {dropped = [0], static_steps = [1, 1]}
          : memref<?x?xf64> to memref<?xf64, strided<[1], offset: ?>>
        %tr = memref.transpose %u {permutation = [1, 0]}
          : memref<?x?xf64> to memref<?x?xf64, strided<[1, ?], offset: ?>>
        %col = memref.subview %tr[%c0, %c0][%c1, %c3][%c1, %c1] {dropped = [0], static_steps = [1, 1]}
          : memref<?x?xf64, strided<[1, ?], offset: ?>> to memref<?xf64, strided<[?], offset: ?>>
        memref.copy %row, %out : memref<?xf64, strided<[1], offset: ?>> to memref<?xf64>
        %spot = memref.subview %u[%c3, %c3][%c1, %c1][%c1, %c1] {dropped = [0, 1], static_steps = [1, 1]}
          : memref<?x?xf64> to memref<f64, strided<[], offset: ?>>
        memref.store %zero, %spot[] : memref<f64, strided<[], offset: ?>>
        %z = memref.load %col[%c2] : memref<?xf64, strided<[?], offset: ?>>
        %none = memref.subview %u[%c0, %m1][%c2, %c0][%c1, %m1] {static_steps = [1, -1]}
          : memref<?x?xf64> to memref<?x?xf64, strided<[?, -1], offset: ?>>
        %d = memref.dim %none, 1 : memref<?x?xf64, strided<[?, -1], offset: ?>>
        func.return %x, %y, %z, %d : f64, f64, f64, index""",
        "%u: memref<?x?xf64>, %out: memref<?xf64>, %m1: index",
        "(f64, f64, f64, index)",
    )
    u, out = np.arange(20.0).reshape(4, 5), np.zeros(3)
    want = u.copy()
    assert call(text, u, out, -1) == [16.0, 13.0, 10.0, 0]
    want[3:1:-1, 1:5:2] = 1.0
    want[3, 3] = 0.0
    np.testing.assert_array_equal(u, want)
    np.testing.assert_array_equal(out, want[0, :3])


def test_allocations_and_memrefs_of_memrefs() -> None:
    text = body(
        """
        %tape = memref.alloc(%n) : memref<?xmemref<?xf64>>
        scf.for %i = %c0 to %n step %c1 {
          %k = arith.addi %i, %c1 : index
          %b = memref.alloc(%k) : memref<?xf64>
          %x = arith.sitofp %i : index to f64
          linalg.fill ins(%x : f64) outs(%b : memref<?xf64>)
          memref.store %b, %tape[%i] : memref<?xmemref<?xf64>>
        }
        %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (f64) {
          %b = memref.load %tape[%i] : memref<?xmemref<?xf64>>
          %v = memref.load %b[%i] : memref<?xf64>
          %t = arith.addf %a, %v : f64
          memref.dealloc %b : memref<?xf64>
          scf.yield %t : f64
        }
        memref.dealloc %tape : memref<?xmemref<?xf64>>
        func.return %s : f64""",
        "%n: index",
        "f64",
    )
    statistics = Statistics()
    assert call(text, 5, statistics=statistics) == [10.0]
    assert statistics.allocations == 6
    assert statistics.live_bytes == 0
    assert statistics.peak_bytes == 8 * (5 + 1 + 2 + 3 + 4 + 5)
    assert statistics.executed[ops.alloc] == 6
    assert statistics.executed[ops.addf] == 5
    assert statistics.total == sum(statistics.executed.values())


def test_grow_pack_and_unpack() -> None:
    text = body(
        """
        %none = adc.undef : memref<?xf64>
        %tape, %size = scf.for %i = %c0 to %n step %c1 iter_args(%t = %none, %k = %c0) -> (memref<?xf64>, index) {
          %g = adc.grow %t, %i : memref<?xf64>
          %x = arith.sitofp %i : index to f64
          memref.store %x, %g[%i] : memref<?xf64>
          %d = memref.dim %g, 0 : memref<?xf64>
          scf.yield %g, %d : memref<?xf64>, index
        }
        %r = adc.pack %tape, %n : memref<?xf64>, index
        %u, %m = adc.unpack %r : memref<?xf64>, index
        adc.release %r : !adc.record
        %s = scf.for %i = %c0 to %m step %c1 iter_args(%a = %zero) -> (f64) {
          %v = memref.load %u[%i] : memref<?xf64>
          %t = arith.addf %a, %v : f64
          scf.yield %t : f64
        }
        func.return %s, %size : f64, index""",
        "%n: index",
        "(f64, index)",
    )
    statistics = Statistics()
    total, size = call(text, 100, statistics=statistics)
    assert total == 4950.0
    assert 100 <= size <= 200
    assert statistics.allocations <= 9
    assert statistics.live_bytes == 8 * size  # the record, of two values, is gone


def test_widths() -> None:
    text = """
    func.func @f(%a: i32, %b: i64, %c: index, %x: f32, %p: i1) -> (i32, i64, index, f32, i1) {
      %a2 = arith.addi %a, %a : i32
      %b2 = arith.addi %b, %b : i64
      %c2 = arith.muli %c, %c : index
      %x2 = arith.mulf %x, %x : f32
      %p2 = arith.xori %p, %p : i1
      func.return %a2, %b2, %c2, %x2, %p2 : i32, i64, index, f32, i1
    }"""
    results = call(text, 2**30, 2**62, 2**40 + 1, 0.1, 1)
    assert results == [-(2**31), -(2**63), 2**41 + 1, np.float32(0.1) * np.float32(0.1), False]
    assert [type(r) for r in results] == [int, int, int, np.float32, bool]


def test_elements_of_every_type() -> None:
    for dtype, t, value in [
        (np.float64, "f64", 0.1),
        (np.float32, "f32", np.float32(0.1)),
        (np.int64, "i64", -7),
        (np.int64, "index", 7),
        (np.int32, "i32", -7),
        (np.bool_, "i1", True),
    ]:
        text = f"""
        func.func @f(%u: memref<?x{t}>, %c0: index, %c1: index) -> {t} {{
          %v = memref.load %u[%c0] : memref<?x{t}>
          memref.store %v, %u[%c1] : memref<?x{t}>
          func.return %v : {t}
        }}"""
        u = np.array([value, 0], dtype)
        (got,) = call(text, u, 0, 1)
        assert got == value
        assert type(got) is type(value)
        assert u[1] == u[0]


# Traps ----------------------------------------------------------------------------------------------------------------

BOUND = body("%j = adc.bound %i, %n : index\nfunc.return %j : index", "%i: index, %n: index", "index")


def test_bound() -> None:
    assert [call(BOUND, i, 4)[0] for i in (0, 3, -1, -4)] == [0, 3, 3, 0]
    for i in (4, -5):
        with pytest.raises(IndexError, match=f"index {i} is out of bounds for axis with size 4"):
            call(BOUND, i, 4)
    with pytest.raises(InterpreterError, match="yet not checked"):
        call(BOUND.replace("%n : index", "%n {check = false} : index"), 4, 4)


def test_traps_name_their_line() -> None:
    text = body(
        'adc.assert %p, %x, %n {error = "ValueError", message = "x is {}, n {}"} : i1, f64, index '
        'loc("prog.py":12:5 to 12:9)\nfunc.return',
        "%p: i1, %x: f64, %n: index",
    )
    assert call(text, True, 1.0, 1) == []
    with pytest.raises(ValueError, match=r"x is 2.5, n -3 \[computed-value\]\n  --> prog.py:12:5"):
        call(text, False, 2.5, -3)


def test_trap_in_a_callee_stops_the_caller() -> None:
    text = """
    func.func @g(%p: i1) {
      adc.assert %p {error = "ZeroDivisionError", message = "no"} : i1
      func.return
    }
    func.func @f(%p: i1, %u: memref<?xf64>, %i: index, %x: f64) {
      func.call @g(%p) : (i1) -> ()
      memref.store %x, %u[%i] : memref<?xf64>
      func.return
    }"""
    u = np.zeros(1)
    with pytest.raises(ZeroDivisionError):
        call(text, False, u, 0, 1.0)
    assert u[0] == 0.0


# What a correct compiler never emits ----------------------------------------------------------------------------------

U = "memref<?xf64>"


def window(result: str, source: str, offset: str, size: str, step: str, attrs: str, layout: str) -> str:
    """A subview in one dimension."""
    return f"%{result} = memref.subview %{source}[%{offset}][%{size}][%{step}] {{{attrs}}} : {U} to memref<{layout}>"


UNIT, TWICE, POINT = ("?xf64, strided<[1], offset: ?>", "?xf64, strided<[2], offset: ?>", "f64, strided<[], offset: ?>")
VIEW_OF_FREED = f"""
    %a = memref.alloc(%c1) : {U}
    {window("b", "a", "c0", "c1", "c1", "static_steps = [1]", UNIT)}
    memref.dealloc %a : {U}
    linalg.fill ins(%zero : f64) outs(%b : memref<{UNIT}>)"""

WRONG = [
    (f"%v = memref.load %u[%c3] : {U}", "outside an array of shape"),
    (f"%v = memref.load %u[%m] : {U}", "outside an array of shape"),
    (f"memref.store %zero, %u[%c3] : {U}", "outside an array of shape"),
    (f"adc.accumulate %zero, %u[%c3] : {U}", "outside an array of shape"),
    (window("v", "u", "c1", "c3", "c1", "static_steps = [1]", UNIT), "outside dimension 0"),
    (window("v", "u", "m", "c1", "c1", "static_steps = [1]", UNIT), "outside dimension 0"),
    (window("v", "u", "c0", "c2", "m", "static_steps = [-1]", UNIT.replace("1", "-1")), "outside dimension 0"),
    (window("v", "u", "c0", "m", "c1", "static_steps = [1]", UNIT), "size -1"),
    (window("v", "u", "c0", "c2", "k", "static_steps = [2]", TWICE), "are not the steps"),
    (window("v", "u", "c0", "c2", "c1", "dropped = [0], static_steps = [1]", POINT), "drops dimension 0 of size 2"),
    (f"%a = memref.alloc(%m) : {U}", "negative extent"),
    (f"memref.dealloc %u : {U}", "not allocated here"),
    (f"%a = memref.alloc(%c1) : {U}\nmemref.dealloc %a : {U}\nmemref.dealloc %a : {U}", "after it was freed"),
    (f"%a = memref.alloc(%c1) : {U}\nmemref.dealloc %a : {U}\n%v = memref.load %a[%c0] : {U}", "after it was freed"),
    (
        f"%a = memref.alloc(%c1) : {U}\n%b = adc.grow %a, %c3 : {U}\nmemref.store %zero, %a[%c0] : {U}",
        "after it was freed",
    ),
    (
        "%r = adc.pack %c1 : index\nadc.release %r : !adc.record\n%v = adc.unpack %r : index",
        "unpacks 1 values of a record of 0",
    ),
    (VIEW_OF_FREED, "after it was freed"),
    (f"memref.copy %u, %u : {U} to {U}", "overlap"),
    (f"%a = memref.alloc(%c1) : {U}\nmemref.copy %u, %a : {U} to {U}", "copy from shape"),
    (f"%g = adc.grow %u, %m : {U}", "grows a buffer to index -1"),
    (f"%t = memref.alloc(%c1) : memref<?x{U}>\n%v = memref.load %t[%c0] : memref<?x{U}>", "never stored"),
    ("%v = adc.undef : f64\n%w = arith.negf %v : f64", "undefined value"),
    ("%v = adc.undef : i1\nscf.if %v { }", "undefined value"),
    ("%v = adc.undef : i1\n%w = arith.select %v, %c0, %c1 : index", "undefined value"),
    ("%v = adc.undef : index\nscf.for %i = %c0 to %v step %c1 { }", "undefined value"),
    (f"%v = adc.undef : index\n%w = memref.load %u[%v] : {U}", "undefined value"),
    ("scf.for %i = %c0 to %c3 step %c0 { }", "loop with step 0"),
    ("%v = arith.divsi %c1, %c0 : index", "division by zero"),
    ("%v = arith.fptosi %inf : f64 to index", "does not fit"),
    (f"%v = memref.cast %u : {U} to memref<5xf64>", "has shape"),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[str(n) for n in range(len(WRONG))])
def test_wrong_programs(text: str, message: str) -> None:
    program = body(
        f"%m = arith.constant -1 : index\n%inf = arith.constant 0x7FF0000000000000 : f64\n{text}\nfunc.return",
        f"%u: {U}, %k: index",
    )
    with pytest.raises(InterpreterError, match=message):
        call(program, np.zeros(3), 1)


def test_undefined_values_may_be_passed_on() -> None:
    text = body(
        """
        %v = adc.undef : f64
        %p = arith.cmpi slt, %c0, %n : index
        %w = scf.if %p -> (f64) {
          scf.yield %one : f64
        } else {
          scf.yield %v : f64
        }
        %x = arith.select %p, %w, %v : f64
        func.return %x : f64""",
        "%n: index",
        "f64",
    )
    assert call(text, 1) == [1.0]
    with pytest.raises(InterpreterError, match="returns an undefined value"):
        call(text, 0)


def test_fresh_memory_is_poisoned() -> None:
    text = body(f"%a = memref.alloc(%c1) : {U}\n%v = memref.load %a[%c0] : {U}\nfunc.return %v : f64", "", "f64")
    assert np.isnan(call(text)[0])


def test_arguments_are_checked() -> None:
    text = body("func.return", f"%u: {U}")
    for wrong in (np.zeros((2, 2)), np.zeros(2, np.float32), 3.0, np.zeros(4)[::2]):
        with pytest.raises(InterpreterError, match="argument 0"):
            call(text, wrong)
    with pytest.raises(InterpreterError, match="takes 1 arguments, got 0"):
        call(text)
    call(body("func.return", "%u: memref<?xf64, strided<[2], offset: ?>>"), np.zeros(4)[::2])
    call(body("func.return", "%u: memref<?x?xf64, strided<[1, ?], offset: ?>>"), np.zeros((3, 4)).T)


def test_limit() -> None:
    endless = body("%t = arith.constant true : i1\nscf.while () : () -> () { scf.condition(%t) } do { }\nfunc.return")
    with pytest.raises(InterpreterError, match="more than 1000 operations"):
        call(endless, limit=1000)


def test_errors_name_the_innermost_operation() -> None:
    load = f'%v = memref.load %u[%c3] : {U} loc("a.py":7:3)'
    text = body(f"scf.for %i = %c0 to %c2 step %c1 {{ {load} }}\nfunc.return", f"%u: {U}")
    with pytest.raises(InterpreterError, match=r"^memref.load at a.py:7:3: subscript"):
        call(text, np.zeros(1))
