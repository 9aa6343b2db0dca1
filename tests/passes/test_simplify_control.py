"""Canonicalize, DCE, CSE and LICM on loops and branches."""

from __future__ import annotations

import itertools

import pytest

from adc.ir.core import Module
from adc.ir.diagnostics import AdcError
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from adc.passes.canonicalize.canonicalize import Canonicalize
from adc.passes.simplify.cse import CSE
from adc.passes.simplify.dce import DCE
from adc.passes.simplify.licm import LICM
from tests.passes.rewriting import check, run_text

CLEAN = (Canonicalize(), CSE(), Canonicalize(), DCE())


def test_known_condition_takes_its_branch() -> None:
    check(
        CLEAN,
        """func.func @f(%x: f64) -> f64 {
          %t = arith.constant true : i1
          %r = scf.if %t -> (f64) {
            %a = math.sin %x : f64
            scf.yield %a : f64
          } else {
            scf.yield %x : f64
          }
          func.return %r : f64
        }""",
        "func.func @f(%x: f64) -> f64 {\n%a = math.sin %x : f64\nfunc.return %a : f64\n}",
    )


def test_condition_is_known_inside_its_branch() -> None:
    check(
        CLEAN,
        """func.func @f(%p: i1, %x: f64) -> f64 {
          %r = scf.if %p -> (f64) {
            %t = arith.constant true : i1
            %n = arith.xori %p, %t : i1
            %a = scf.if %n -> (f64) {
              %s = math.cos %x : f64
              scf.yield %s : f64
            } else {
              %s = math.sin %x : f64
              scf.yield %s : f64
            }
            scf.yield %a : f64
          } else {
            %a = arith.select %p, %x, %r0 : f64
            scf.yield %a : f64
          }
          func.return %r : f64
        }""".replace("%r0", "%x"),
        """func.func @f(%p: i1, %x: f64) -> f64 {
          %r = scf.if %p -> (f64) {
            %s = math.sin %x : f64
            scf.yield %s : f64
          } else {
            scf.yield %x : f64
          }
          func.return %r : f64
        }""",
    )


def test_what_a_check_establishes_is_used() -> None:
    """After ``assert dim(a) == dim(b)`` the two are one value, and the same check again says nothing."""
    check(
        CLEAN,
        """func.func @f(%a: memref<?xf64>, %b: memref<?xf64>) -> (index, index) {
          %m = memref.dim %a, 0 : memref<?xf64>
          %n = memref.dim %b, 0 : memref<?xf64>
          %p = arith.cmpi eq, %m, %n : index
          adc.assert %p {error = "ValueError", message = "shapes differ"} : i1
          %q = arith.cmpi ne, %n, %m : index
          %r = scf.if %q -> (index) {
            scf.yield %m : index
          } else {
            scf.yield %n : index
          }
          %s = arith.subi %r, %n : index
          func.return %r, %s : index, index
        }""",
        """func.func @f(%a: memref<?xf64>, %b: memref<?xf64>) -> (index, index) {
          %c0 = arith.constant 0 : index
          %m = memref.dim %a, 0 : memref<?xf64>
          %n = memref.dim %b, 0 : memref<?xf64>
          %p = arith.cmpi eq, %m, %n : index
          adc.assert %p {error = "ValueError", message = "shapes differ"} : i1
          func.return %m, %c0 : index, index
        }""",
    )


def test_loops_of_no_and_of_one_iteration() -> None:
    check(
        CLEAN,
        """func.func @f(%x: f64, %n: index) -> (f64, f64) {
          %c1 = arith.constant 1 : index
          %n1 = arith.addi %n, %c1 : index
          %a = scf.for %i = %n to %n step %c1 iter_args(%c = %x) -> (f64) {
            %s = math.sin %c : f64
            scf.yield %s : f64
          }
          %c5 = arith.constant 5 : index
          %c6 = arith.constant 6 : index
          %b = scf.for %i = %c5 to %c6 step %c1 iter_args(%c = %x) -> (f64) {
            %v = arith.sitofp %i : index to f64
            %s = arith.mulf %c, %v : f64
            scf.yield %s : f64
          }
          func.return %a, %b : f64, f64
        }""",
        """func.func @f(%x: f64, %n: index) -> (f64, f64) {
          %v = arith.constant 5.0 : f64
          %s = arith.mulf %x, %v : f64
          func.return %x, %s : f64, f64
        }""",
    )


def test_parallel_loop_of_one_iteration_reduces() -> None:
    check(
        CLEAN,
        """func.func @f(%x: f64) -> f64 {
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          %r = scf.parallel (%i) = (%c1) to (%c2) step (%c1) init (%x) -> f64 {
            %s = math.sin %x : f64
            scf.reduce(%s : f64) {kinds = ["add"]}
          }
          func.return %r : f64
        }""",
        """func.func @f(%x: f64) -> f64 {
          %s = math.sin %x : f64
          %r = arith.addf %x, %s : f64
          func.return %r : f64
        }""",
    )


def test_zero_added_to_each_term_of_a_sum() -> None:
    text = """func.func @f(%a: memref<?xf64>, %n: index, %x: f64) -> f64 {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %start = arith.constant {} : f64
      %zero = arith.constant 0.0 : f64
      %r = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%start) -> f64 {{
        %v = memref.load %a[%i] : memref<?xf64>
        %w = arith.addf %v, %zero : f64
        scf.reduce(%w : f64) {{kinds = ["add"]}}
      }}
      func.return %r : f64
    }}"""
    assert "arith.addf" not in run_text(CLEAN, text.format("0.0"))
    assert "arith.addf" in run_text(CLEAN, text.format("-0.0"))  # the sum of no terms, or of terms -0.0


def test_loop_carries_only_what_changes_and_is_read() -> None:
    """An invariant value, one that feeds only itself, a pair of equals, a counter in disguise."""
    check(
        CLEAN,
        """func.func @f(%x: f64, %y: f64, %n: index) -> (f64, f64, f64, index) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c3 = arith.constant 3 : index
          %a, %b, %c, %d, %k = scf.for %i = %c0 to %n step %c1
              iter_args(%a0 = %x, %b0 = %x, %c0_ = %y, %d0 = %x, %k0 = %c3) -> (f64, f64, f64, f64, index) {
            %a1 = math.sin %a0 : f64
            %d1 = arith.mulf %d0, %b0 : f64
            %k1 = arith.addi %k0, %c1 : index
            scf.yield %a1, %a1, %c0_, %d1, %k1 : f64, f64, f64, f64, index
          }
          func.return %a, %b, %c, %k : f64, f64, f64, index
        }""",
        """func.func @f(%x: f64, %y: f64, %n: index) -> (f64, f64, f64, index) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c3 = arith.constant 3 : index
          %m = arith.maxsi %n, %c0 : index
          %k = arith.addi %m, %c3 : index
          %a = scf.for %i = %c0 to %n step %c1 iter_args(%a0 = %x) -> (f64) {
            %a1 = math.sin %a0 : f64
            scf.yield %a1 : f64
          }
          func.return %a, %a, %y, %k : f64, f64, f64, index
        }""",
    )


def test_values_permuted_among_equals_are_invariant() -> None:
    check(
        CLEAN,
        """func.func @f(%x: f64, %n: index) -> (f64, f64) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %a, %b = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %q = %x) -> (f64, f64) {
            scf.yield %q, %p : f64, f64
          }
          func.return %a, %b : f64, f64
        }""",
        "func.func @f(%x: f64, %n: index) -> (f64, f64) {\nfunc.return %x, %x : f64, f64\n}",
    )


def test_while_carries_only_what_changes_and_is_read() -> None:
    check(
        CLEAN,
        """func.func @f(%x: f64, %y: f64) -> (f64, f64) {
          %a, %b, %c = scf.while (%p = %x, %q = %y, %r = %x) : (f64, f64, f64) -> (f64, f64, f64) {
            %t = arith.cmpf olt, %p, %q : f64
            scf.condition(%t) %p, %q, %r : f64, f64, f64
          } do {
          ^bb0(%p: f64, %q: f64, %r: f64):
            %s = arith.mulf %p, %p : f64
            %u = arith.mulf %r, %q : f64
            scf.yield %s, %q, %u : f64, f64, f64
          }
          func.return %a, %b : f64, f64
        }""",
        """func.func @f(%x: f64, %y: f64) -> (f64, f64) {
          %a = scf.while (%p = %x) : (f64) -> (f64) {
            %t = arith.cmpf olt, %p, %y : f64
            scf.condition(%t) %p : f64
          } do {
          ^bb0(%p: f64):
            %s = arith.mulf %p, %p : f64
            scf.yield %s : f64
          }
          func.return %a, %y : f64, f64
        }""",
    )


def test_dce_keeps_what_can_be_observed() -> None:
    """Stores to arguments, checks and loops that may not end stay; an array that is only written goes."""
    check(
        (DCE(),),
        """func.func @f(%a: memref<?xf64>, %x: f64, %n: index, %p: i1) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %t = memref.alloc(%n) : memref<?xf64>
          linalg.fill ins(%x : f64) outs(%t : memref<?xf64>)
          scf.for %i = %c0 to %n step %c1 {
            %v = memref.load %t[%i] : memref<?xf64>
            %w = arith.mulf %v, %x : f64
            memref.store %w, %t[%i] : memref<?xf64>
            scf.yield
          }
          %d = memref.dim %a, 0 : memref<?xf64>
          %k = adc.bound %n, %d : index
          %l = adc.bound %c1, %d {check = false} : index
          scf.while () : () -> () {
            scf.condition(%p)
          } do {
            scf.yield
          }
          memref.store %x, %a[%c0] : memref<?xf64>
          func.return
        }""",
        """func.func @f(%a: memref<?xf64>, %x: f64, %n: index, %p: i1) {
          %c0 = arith.constant 0 : index
          %d = memref.dim %a, 0 : memref<?xf64>
          %k = adc.bound %n, %d : index
          scf.while () : () -> () {
            scf.condition(%p)
          } do {
            scf.yield
          }
          memref.store %x, %a[%c0] : memref<?xf64>
          func.return
        }""",
    )


def test_cse_sees_enclosing_blocks_and_not_siblings() -> None:
    check(
        (CSE(),),
        """func.func @f(%x: f64, %y: f64, %p: i1) -> (f64, f64) {
          %a = arith.addf %x, %y : f64
          %r = scf.if %p -> (f64) {
            %b = arith.addf %y, %x : f64
            %s = math.sin %x : f64
            %t = arith.mulf %b, %s : f64
            scf.yield %t : f64
          } else {
            %s = math.sin %x : f64
            scf.yield %s : f64
          }
          func.return %a, %r : f64, f64
        }""",
        """func.func @f(%x: f64, %y: f64, %p: i1) -> (f64, f64) {
          %a = arith.addf %x, %y : f64
          %r = scf.if %p -> (f64) {
            %s = math.sin %x : f64
            %t = arith.mulf %a, %s : f64
            scf.yield %t : f64
          } else {
            %s = math.sin %x : f64
            scf.yield %s : f64
          }
          func.return %a, %r : f64, f64
        }""",
    )


LOOP = """func.func @f(%a: memref<?xf64>, %b: memref<?xf64>, %x: f64, %n: index, %j: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  {before}
  scf.for %i = %c0 to {upper} step %c1 {{
    {body}
    memref.store %v, %a[%i] : memref<?xf64>
    scf.yield
  }}
  func.return
}}"""


def test_licm_moves_pure_code_and_safe_loads() -> None:
    load = "%v = memref.load %b[%c0] : memref<?xf64>"
    pure = "%s = math.sin %x : f64"
    check(
        (LICM(),),
        LOOP.format(before="", upper="%c9", body=f"{pure}\n%w = memref.load %b[%c0] : memref<?xf64>\n"
                    "%v = arith.mulf %w, %s : f64"),
        LOOP.format(before=f"{pure}\n%w = memref.load %b[%c0] : memref<?xf64>\n%v = arith.mulf %w, %s : f64",
                    upper="%c9", body=""),
    )  # fmt: skip
    for upper, body in [("%n", load), ("%c9", "%v = memref.load %a[%c0] : memref<?xf64>")]:
        text = LOOP.format(before="", upper=upper, body=body)  # may not run; is written
        check((LICM(),), text, text)


def test_licm_keeps_what_may_fail() -> None:
    division = "%q = arith.divsi %n, %j : index\n%v = arith.sitofp %q : index to f64"
    divided = LOOP.format(before="", upper="%c9", body=division)
    check((LICM(),), divided, divided)
    checked = "%k = adc.bound %j, %n : index\n%v = memref.load %b[%k] : memref<?xf64>"
    check(
        (LICM(),),
        LOOP.format(before="", upper="%c9", body=checked),
        LOOP.format(before=checked, upper="%c9", body=""),
    )
    text = LOOP.format(before="", upper="%n", body=checked)
    check((LICM(),), text, text)


def test_subscripts_in_range_need_no_check() -> None:
    result = run_text(
        CLEAN,
        """func.func @f(%a: memref<?xf64>, %n: index) {
          %c1 = arith.constant 1 : index
          %m1 = arith.constant -1 : index
          %d = memref.dim %a, 0 : memref<?xf64>
          %u = arith.subi %d, %c1 : index
          scf.for %i = %c1 to %u step %c1 {
            %l = arith.subi %i, %c1 : index
            %r = arith.addi %i, %c1 : index
            %lb = adc.bound %l, %d : index
            %rb = adc.bound %r, %d : index
            %v = memref.load %a[%lb] : memref<?xf64>
            memref.store %v, %a[%rb] : memref<?xf64>
            scf.yield
          }
          scf.for %i = %c1 to %n step %c1 {
            %ib = adc.bound %i, %d : index
            memref.store %v0, %a[%ib] : memref<?xf64>
            scf.yield
          }
          func.return
        }""".replace("memref.store %v0", "%v0 = arith.constant 2.0 : f64\nmemref.store %v0"),
    )
    assert result.count("adc.bound") == 1


ERRORS = """func.func @loops(%p: i1, %q: i1, %r: i1, %x: f64, %k: index) -> f64 {
  %false = arith.constant false : i1
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %pq = arith.andi %p, %q : i1
  %all = arith.andi %r, %pq : i1
  %t = scf.if %all -> (f64) {
    %y = math.sin %x : f64
    scf.yield %y : f64
  } else {
    %s, %last = scf.for %i = %c0 to %k step %c1 iter_args(%so_far = %x, %before = %x) -> (f64, f64) {
      adc.assert %q {error = "ValueError", message = "q"} : i1
      %y = math.cos %so_far : f64
      adc.assert %r {error = "ValueError", message = "r"} : i1
      %inner = scf.for %j = %c0 to %k step %c1 iter_args(%z = %y) -> (f64) {
        adc.assert %p {error = "ValueError", message = "p"} : i1
        %w = math.sin %z : f64
        scf.yield %w : f64
      }
      scf.yield %inner, %so_far : f64, f64
    }
    %sum = arith.addf %s, %last : f64
    scf.yield %sum : f64
  }
  func.return %t : f64
}

func.func @branches(%p: i1, %q: i1, %r: i1, %x: f64, %k: index) -> f64 {
  %false = arith.constant false : i1
  %c0 = arith.constant 0 : index
  %a = memref.alloc() : memref<1xf64>
  memref.store %x, %a[%c0] : memref<1xf64>
  %t = scf.if %p -> (f64) {
    %u = scf.if %q -> (f64) {
      adc.assert %r {error = "ValueError", message = "r"} : i1
      adc.assert %false {error = "ValueError", message = "p and q"} : i1
      %y = math.cos %x : f64
      memref.store %y, %a[%c0] : memref<1xf64>
      scf.yield %y : f64
    } else {
      %y = math.sin %x : f64
      memref.store %y, %a[%c0] : memref<1xf64>
      scf.yield %y : f64
    }
    scf.yield %u : f64
  } else {
    %y = math.tan %x : f64
    scf.yield %y : f64
  }
  %m = scf.if %r -> (memref<1xf64>) {
    %b = memref.alloc() : memref<1xf64>
    memref.store %t, %b[%c0] : memref<1xf64>
    scf.yield %b : memref<1xf64>
  } else {
    memref.store %t, %a[%c0] : memref<1xf64>
    adc.assert %false {error = "ValueError", message = "not r"} : i1
    %b = memref.alloc() : memref<1xf64>
    memref.store %x, %b[%c0] : memref<1xf64>
    scf.yield %b : memref<1xf64>
  }
  %v = memref.load %m[%c0] : memref<1xf64>
  %w = memref.load %a[%c0] : memref<1xf64>
  %sum = arith.addf %v, %w : f64
  func.return %sum : f64
}

func.func @while(%p: i1, %q: i1, %r: i1, %x: f64, %k: index) -> f64 {
  %false = arith.constant false : i1
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %n, %t = scf.while (%i = %k, %y = %x) : (index, f64) -> (index, f64) {
    %go = arith.cmpi slt, %i, %c5 : index
    scf.condition(%go) %i, %y : index, f64
  } do {
  ^bb0(%i: index, %y: f64):
    %z = math.sin %y : f64
    %next = scf.if %p -> (f64) {
      scf.yield %z : f64
    } else {
      adc.assert %q {error = "ValueError", message = "q"} : i1
      adc.assert %false {error = "ValueError", message = "not p"} : i1
      scf.yield %y : f64
    }
    %more = arith.addi %i, %c1 : index
    scf.yield %more, %next : index, f64
  }
  func.return %t : f64
}
"""


@pytest.mark.parametrize("name", ["loops", "branches", "while"])
def test_errors_are_the_same_where_nothing_after_them_is_reached(name: str) -> None:
    before, after = parse_module(ERRORS), parse_module(run_text(CLEAN, ERRORS))
    for p, q, r, k in itertools.product([False, True], [False, True], [False, True], [0, 1, 2, 6]):
        args = [p, q, r, 0.7, k]
        assert _outcome(after, name, args) == _outcome(before, name, args), args


def _outcome(module: Module, name: str, args: list[object]) -> object:
    try:
        return interpreter.run(module, name, list(args))
    except AdcError as error:
        return type(error), error.message


def test_code_after_certain_errors_is_gone() -> None:
    text = run_text((*CLEAN, *CLEAN), ERRORS)
    loops, branches, loop = text.split("func.func")[1:]
    assert "math.cos" in loops and loops.count("scf.for") == 1  # the inner one has no iteration
    assert "math.cos" not in branches and branches.count("scf.if") == 2
    assert "scf.if" not in loop
