"""Simplification of extents, views, loads and stores."""

from __future__ import annotations

import pytest

from adc.passes.branches.if_convert import IfConvert
from adc.passes.canonicalize.canonicalize import Canonicalize
from adc.passes.memory.dead_stores import DeadStores
from adc.passes.memory.fold_views import FoldViews
from adc.passes.simplify.cse import CSE
from adc.passes.simplify.dce import DCE
from tests.passes.rewriting import check, run_text

CLEAN = (Canonicalize(), CSE(), Canonicalize(), DCE())


def test_extents_through_views_and_loops() -> None:
    """Buffers of one shape that a loop permutes keep it; a view has the size it was given."""
    check(
        CLEAN,
        """func.func @f(%b: memref<?x?xf64>, %n: index, %m: index, %k: index) -> (index, index, index, index) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %d0 = memref.dim %b, 0 : memref<?x?xf64>
          %d1 = memref.dim %b, 1 : memref<?x?xf64>
          %u = memref.alloc(%d0, %d1) : memref<?x?xf64>
          %p, %q = scf.for %i = %c0 to %n step %c1 iter_args(%x = %u, %y = %b) -> (memref<?x?xf64>, memref<?x?xf64>) {
            %e = memref.dim %y, 1 : memref<?x?xf64>
            %v = memref.alloc(%d0, %e) : memref<?x?xf64>
            scf.yield %y, %v : memref<?x?xf64>, memref<?x?xf64>
          }
          %t = memref.transpose %q {permutation = [1, 0]} : memref<?x?xf64>
            to memref<?x?xf64, strided<[1, ?], offset: ?>>
          %r0 = memref.dim %p, 0 : memref<?x?xf64>
          %r1 = memref.dim %t, 0 : memref<?x?xf64, strided<[1, ?], offset: ?>>
          %s = memref.subview %p[%k, %c0][%c1, %m][%c1, %c1] {dropped = [0], static_steps = [1, 1]}
            : memref<?x?xf64> to memref<?xf64, strided<[1], offset: ?>>
          %r2 = memref.dim %s, 0 : memref<?xf64, strided<[1], offset: ?>>
          %w = scf.for %i = %c0 to %n step %c1 iter_args(%z = %u) -> (memref<?x?xf64>) {
            %e = memref.alloc(%m, %m) : memref<?x?xf64>
            scf.yield %e : memref<?x?xf64>
          }
          %r3 = memref.dim %w, 0 : memref<?x?xf64>
          func.return %r0, %r1, %r2, %r3 : index, index, index, index
        }""",
        """func.func @f(%b: memref<?x?xf64>, %n: index, %m: index, %k: index) -> (index, index, index, index) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %d0 = memref.dim %b, 0 : memref<?x?xf64>
          %d1 = memref.dim %b, 1 : memref<?x?xf64>
          %u = memref.alloc(%d0, %d1) : memref<?x?xf64>
          %w = scf.for %i = %c0 to %n step %c1 iter_args(%z = %u) -> (memref<?x?xf64>) {
            %e = memref.alloc(%m, %m) : memref<?x?xf64>
            scf.yield %e : memref<?x?xf64>
          }
          %r3 = memref.dim %w, 0 : memref<?x?xf64>
          func.return %d0, %d1, %m, %r3 : index, index, index, index
        }""",
    )


VIEW = "memref<?xf64, strided<[{}], offset: ?>>"


def test_access_through_views_addresses_the_memory_underneath() -> None:
    """``b[k, ::-1][1:][i]`` is ``b[k, n - 1 - (1 + i)]``; ``b.T[i, j]`` is ``b[j, i]``."""
    check(
        (FoldViews(), *CLEAN),
        f"""func.func @f(%b: memref<?x?xf64>, %k: index, %i: index, %x: f64) -> f64 {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %m1 = arith.constant -1 : index
          %n = memref.dim %b, 1 : memref<?x?xf64>
          %o = arith.subi %n, %c1 : index
          %r = memref.subview %b[%k, %o][%c1, %n][%c1, %m1] {{dropped = [0], static_steps = [1, -1]}}
            : memref<?x?xf64> to {VIEW.format(-1)}
          %s = memref.subview %r[%c1][%o][%c1] {{static_steps = [1]}} : {VIEW.format(-1)} to {VIEW.format(-1)}
          %c = memref.cast %s : {VIEW.format(-1)} to {VIEW.format("?")}
          %v = memref.load %c[%i] : {VIEW.format("?")}
          %t = memref.transpose %b {{permutation = [1, 0]}} : memref<?x?xf64>
            to memref<?x?xf64, strided<[1, ?], offset: ?>>
          memref.store %x, %t[%i, %k] : memref<?x?xf64, strided<[1, ?], offset: ?>>
          adc.accumulate %x, %t[%k, %i] : memref<?x?xf64, strided<[1, ?], offset: ?>>
          func.return %v : f64
        }}""",
        """func.func @f(%b: memref<?x?xf64>, %k: index, %i: index, %x: f64) -> f64 {
          %m2 = arith.constant -2 : index
          %n = memref.dim %b, 1 : memref<?x?xf64>
          %a = arith.subi %n, %i : index
          %j = arith.addi %a, %m2 : index
          %v = memref.load %b[%k, %j] : memref<?x?xf64>
          memref.store %x, %b[%k, %i] : memref<?x?xf64>
          adc.accumulate %x, %b[%i, %k] : memref<?x?xf64>
          func.return %v : f64
        }""",
    )


ARRAYS = "func.func @f(%a: memref<?xf64>, %b: memref<?xf64>, %x: f64, %y: f64, %i: index, %j: index) -> {} {{\n{}\n}}"


def test_loads_of_what_is_known() -> None:
    """Stores forward to loads of the same element; to another element or argument they change nothing."""
    check(
        (CSE(), DCE()),
        ARRAYS.format(
            "(f64, f64, f64, f64)",
            """%c1 = arith.constant 1 : index
            %k = arith.addi %i, %c1 : index
            memref.store %x, %a[%i] : memref<?xf64>
            memref.store %y, %a[%k] : memref<?xf64>
            memref.store %y, %b[%j] : memref<?xf64>
            %p = memref.load %a[%i] : memref<?xf64>
            %q = memref.load %a[%j] : memref<?xf64>
            memref.store %x, %a[%j] : memref<?xf64>
            %r = memref.load %a[%i] : memref<?xf64>
            %s = memref.load %a[%i] : memref<?xf64>
            func.return %p, %q, %r, %s : f64, f64, f64, f64""",
        ),
        ARRAYS.format(
            "(f64, f64, f64, f64)",
            """%c1 = arith.constant 1 : index
            %k = arith.addi %i, %c1 : index
            memref.store %x, %a[%i] : memref<?xf64>
            memref.store %y, %a[%k] : memref<?xf64>
            memref.store %y, %b[%j] : memref<?xf64>
            %q = memref.load %a[%j] : memref<?xf64>
            memref.store %x, %a[%j] : memref<?xf64>
            %r = memref.load %a[%i] : memref<?xf64>
            func.return %x, %q, %r, %r : f64, f64, f64, f64""",
        ),
    )


@pytest.mark.parametrize("writes", [True, False])
def test_loads_around_loops(writes: bool) -> None:
    store = "memref.store %x, %a[%t] : memref<?xf64>" if writes else "memref.store %x, %b[%t] : memref<?xf64>"
    text = ARRAYS.format(
        "f64",
        f"""%c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %p = memref.load %a[%i] : memref<?xf64>
        %q = scf.for %t = %c0 to %j step %c1 iter_args(%s = %p) -> (f64) {{
          {store}
          %u = memref.load %a[%i] : memref<?xf64>
          %w = arith.addf %s, %u : f64
          scf.yield %w : f64
        }}
        %r = memref.load %a[%i] : memref<?xf64>
        %z = arith.addf %q, %r : f64
        func.return %z : f64""",
    )
    assert run_text((CSE(),), text).count("memref.load") == (3 if writes else 1)


def test_what_was_filled_is_known() -> None:
    text = ARRAYS.format(
        "f64",
        """%t = memref.alloc(%i) : memref<?xf64>
        linalg.fill ins(%x : f64) outs(%t : memref<?xf64>)
        %v = memref.load %t[%j] : memref<?xf64>
        func.return %v : f64""",
    )
    check((CSE(), DCE()), text, ARRAYS.format("f64", "func.return %x : f64"))


def test_overwritten_stores_go_unless_somebody_can_see_them() -> None:
    check(
        (DeadStores(),),
        ARRAYS.format(
            "f64",
            """memref.store %x, %a[%i] : memref<?xf64>
            memref.store %y, %a[%i] : memref<?xf64>
            %v = memref.load %b[%j] : memref<?xf64>
            memref.store %x, %a[%i] : memref<?xf64>
            %n = memref.dim %a, 0 : memref<?xf64>
            %k = adc.bound %j, %n : index
            memref.store %y, %a[%i] : memref<?xf64>
            %w = memref.load %a[%k] : memref<?xf64>
            memref.store %x, %a[%i] : memref<?xf64>
            func.return %w : f64""",
        ),
        ARRAYS.format(
            "f64",
            """%v = memref.load %b[%j] : memref<?xf64>
            memref.store %x, %a[%i] : memref<?xf64>
            %n = memref.dim %a, 0 : memref<?xf64>
            %k = adc.bound %j, %n : index
            memref.store %y, %a[%i] : memref<?xf64>
            %w = memref.load %a[%k] : memref<?xf64>
            memref.store %x, %a[%i] : memref<?xf64>
            func.return %w : f64""",
        ),
    )


def test_stores_to_memory_that_ends_with_the_iteration() -> None:
    """As the adjoint of a local array does: read a cotangent, set it to zero, and leave."""
    text = ARRAYS.format(
        "f64",
        """%c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %r = scf.for %t = %c0 to %j step %c1 iter_args(%s = %x) -> (f64) {
          %m = memref.alloc(%c1) : memref<?xf64>
          memref.store %s, %m[%c0] : memref<?xf64>
          <before>
          %v = memref.load %m[%c0] : memref<?xf64>
          <after>
          scf.yield %v : f64
        }
        func.return %r : f64""",
    )
    text = text.replace("<before>", "adc.accumulate %x, %m[%c0] : memref<?xf64>")
    zero = "memref.store %y, %m[%c0] : memref<?xf64>"
    check((DeadStores(),), text.replace("<after>", zero), text.replace("<after>", ""))


def test_branch_that_chooses_between_cheap_values() -> None:
    text = """func.func @f(%a: memref<?xf64>, %p: i1, %x: f64, %i: index) -> f64 {{
      %c1 = arith.constant 1 : index
      %r = scf.if %p -> (f64) {{
        %v = memref.load %a[%i] : memref<?xf64>
        %w = arith.mulf %v, %x : f64
        scf.yield %w : f64
      }} else {{
        %v = memref.load %a[{}] : memref<?xf64>
        scf.yield %v : f64
      }}
      func.return %r : f64
    }}"""
    check(
        (IfConvert(), DCE()),
        text.format("%i"),
        """func.func @f(%a: memref<?xf64>, %p: i1, %x: f64, %i: index) -> f64 {
          %v = memref.load %a[%i] : memref<?xf64>
          %w = arith.mulf %v, %x : f64
          %r = arith.select %p, %w, %v : f64
          func.return %r : f64
        }""",
    )
    check((IfConvert(),), text.format("%c1"), text.format("%c1"))  # a load that may not happen
    check((IfConvert(differentiable=True),), text.format("%i"), text.format("%i"))  # 0 * inf in the adjoint
