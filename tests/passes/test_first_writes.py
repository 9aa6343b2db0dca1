"""FirstWrites, and stores to elements that only their own iteration reads (DeadStores)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from adc import jit_grad
from adc.ir import ops
from adc.ir.interpret import interpreter
from adc.ir.text.parser import parse_module
from adc.ir.verifier import verify
from adc.passes.memory.dead_stores import DeadStores
from adc.passes.memory.first_writes import FirstWrites
from adc.passes.simplify.cse import CSE
from adc.passes.simplify.dce import DCE
from tests.passes.rewriting import check

FUNC = """func.func @f(%a: memref<?xf64>, %n: index, %m: index, %x: f64) -> f64 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m1 = arith.constant -1 : index
  %last = arith.addi %n, %m1 : index
  %zero = arith.constant 0.0 : f64
  %t = memref.alloc(%n) : memref<?xf64>
  {initial}
  scf.for %i = {lower} to {upper} step {step} {{
    %r = arith.subi %last, %i : index
    {body}
  }}
  %s = memref.load %t[%c1] : memref<?xf64>
  func.return %s : f64
}}"""
FILL = "linalg.fill ins(%zero : f64) outs(%t : memref<?xf64>)"
COPY = "memref.copy %a, %t : memref<?xf64> to memref<?xf64>"


def program(body: str, initial: str = FILL, lower: str = "%c0", upper: str = "%n", step: str = "%c1") -> str:
    return FUNC.format(body=body, initial=initial, lower=lower, upper=upper, step=step)


@pytest.mark.parametrize("at", ["%i", "%r"])
def test_zeros_and_a_term_for_each_element(at: str) -> None:
    """``t = zeros(n)``, then ``t[i] += x``: the loop stores the sum; a second term adds to it."""
    check(
        (FirstWrites(), CSE(), DeadStores(), DCE()),
        program(f"""adc.accumulate %x, %t[{at}] : memref<?xf64>
        %v = memref.load %a[%i] : memref<?xf64>
        adc.accumulate %v, %t[{at}] : memref<?xf64>"""),
        program(
            f"""%v = memref.load %a[%i] : memref<?xf64>
            %u = arith.addf %x, %v fastmath<contract> : f64
            memref.store %u, %t[{at}] : memref<?xf64>""",
            initial="",
        ).replace("%r = arith.subi %last, %i : index", "%r = arith.subi %last, %i : index" if at == "%r" else "")
        .replace("%last = arith.addi %n, %m1 : index", "%last = arith.addi %n, %m1 : index" if at == "%r" else "")
        .replace("%m1 = arith.constant -1 : index", "%m1 = arith.constant -1 : index" if at == "%r" else "")
        .replace("%c2 = arith.constant 2 : index", "")
        .replace("%zero = arith.constant 0.0 : f64", ""),
    )  # fmt: skip


def test_row_sums_start_in_their_row() -> None:
    inner = """scf.for %j = %c0 to %m step %c1 {
      %v = memref.load %a[%j] : memref<?xf64>
      adc.accumulate %v, %t[%i] : memref<?xf64>
    }"""
    check((FirstWrites(),), program(inner), program(f"memref.store %zero, %t[%i] : memref<?xf64>\n{inner}", initial=""))


@pytest.mark.parametrize("initial", [FILL, COPY])
def test_what_is_overwritten_needs_no_initial_value(initial: str) -> None:
    store = "memref.store %x, %t[%r] : memref<?xf64>"
    check((FirstWrites(),), program(store, initial), program(store, initial=""))


STORE = "memref.store %x, %t[%i] : memref<?xf64>"


@pytest.mark.parametrize(
    "text",
    [
        program(STORE, COPY, lower="%c1", step="%c2"),
        program(STORE, COPY + "\n  memref.store %x, %a[%c1] : memref<?xf64>", upper="%m"),
        program(STORE, step="%c2"),
        program("memref.store %x, %t[%c0] : memref<?xf64>"),
        program(f"%v = memref.load %t[%r] : memref<?xf64>\n{STORE}"),  # may be an element of another iteration
        program(f"scf.if %p {{\n{STORE}\n}}").replace("%x: f64)", "%x: f64, %p: i1)").replace(FILL, COPY),
        program(f"%v = memref.load %t[%i] : memref<?xf64>\nmemref.store %v, %a[%r] : memref<?xf64>\n{STORE}", COPY),
        program(STORE, f"{FILL}\n%early = memref.load %t[%c0] : memref<?xf64>"),
    ],
    ids=[
        *("every other one", "what was copied is changed", "step 2", "one element", "other element", "in a branch"),
        *("what was copied is changed inside", "read before"),
    ],
)
def test_loops_that_do_not_write_every_element_first(text: str) -> None:
    check((FirstWrites(),), text, text)


BODIES = {
    "overwritten": "memref.store %x, %t[%i] : memref<?xf64>",
    "moved by 1": "%k = arith.addi %i, %c1 : index\nmemref.store %x, %t[%k] : memref<?xf64>",
    "added to": """%v = memref.load %t[%i] : memref<?xf64>
      %u = arith.addf %v, %x : f64
      memref.store %u, %t[%i] : memref<?xf64>""",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("lower", ["%c0", "%c1", "%c2", "%m"])
def test_a_copy_is_of_what_the_loop_leaves_out(body: str, lower: str) -> None:
    """No element is copied that the loop overwrites; what it reads first it reads where that would be copied from."""
    text = program(body, COPY, lower=lower, upper="%last").replace(
        "%s = memref.load %t[%c1]", "memref.copy %t, %a : memref<?xf64> to memref<?xf64>\n  %s = memref.load %t[%c1]"
    )
    module, changed = parse_module(text), FirstWrites().run(parse_module(text))
    verify(changed)
    whole = [op for op in changed.funcs["f"].walk() if op.opdef is ops.copy and op.operands[1].hint == "t"]
    assert not whole
    for n, m in itertools.product(range(2, 7), range(-1, 6)):
        if m < 0 and lower == "%m" and n > 0:
            continue  # negative subscripts are not what a loop without checks has
        expected, found = np.arange(1.0, n + 1.0), np.arange(1.0, n + 1.0)
        interpreter.run(module, "f", [expected, n, m, 0.5])
        interpreter.run(changed, "f", [found, n, m, 0.5])
        np.testing.assert_array_equal(found, expected)


def test_matrix_by_rows_and_by_columns() -> None:
    text = """func.func @f(%n: index, %m: index, %x: f64) -> f64 {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %t = memref.alloc(%n, %m) : memref<?x?xf64>
      {}
      scf.parallel (%j) = (%c0) to (%m) step (%c1) {{
        scf.for %i = %c0 to %n step %c1 {{
          memref.store %x, %t[{}] : memref<?x?xf64>
        }}
        scf.reduce()
      }}
      %s = memref.load %t[%c1, %c1] : memref<?x?xf64>
      func.return %s : f64
    }}"""
    fill = "linalg.fill ins(%x : f64) outs(%t : memref<?x?xf64>)"
    check((FirstWrites(),), text.format(fill, "%i, %j"), text.format("", "%i, %j"))


PARTS = """func.func @f(%n: index, %m: index, %i0: index, %i1: index, %j0: index, %j1: index, %x: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %three = arith.constant 3.0 : f64
  %t = memref.alloc(%n, %m) : memref<?x?xf64>
  linalg.fill ins(%three : f64) outs(%t : memref<?x?xf64>)
  scf.parallel (%OUTER) = (%LOWER) to (%UPPER) step (%c1) {
    scf.for %INNER = %FROM to %TO step %c1 {
      adc.accumulate %x, %t[%i, %j] : memref<?x?xf64>
    }
    scf.reduce()
  }
  %zero = arith.constant 0.0 : f64
  %s = scf.for %p = %c0 to %n step %c1 iter_args(%u = %zero) -> (f64) {
    %r = scf.for %q = %c0 to %m step %c1 iter_args(%v = %u) -> (f64) {
      %e = memref.load %t[%p, %q] : memref<?x?xf64>
      %pm = arith.muli %p, %m : index
      %k = arith.addi %pm, %q : index
      %w = arith.sitofp %k : index to f64
      %ew = arith.mulf %e, %w : f64
      %sum = arith.addf %v, %ew : f64
      scf.yield %sum : f64
    }
    scf.yield %r : f64
  }
  func.return %s : f64
}"""


@pytest.mark.parametrize("rows_first", [True, False])
def test_what_a_loop_leaves_out_is_filled_around_it(rows_first: bool) -> None:
    """Rectangles of a matrix, empty ones too: loops from 0 to 4 with bounds from -1 to 5 where they do not run."""
    names = ("i", "j") if rows_first else ("j", "i")
    text = PARTS.replace("OUTER", names[0]).replace("INNER", names[1])
    text = text.replace("LOWER", f"{names[0]}0").replace("UPPER", f"{names[0]}1")
    text = text.replace("FROM", f"{names[1]}0").replace("TO", f"{names[1]}1")
    before, after = parse_module(text), FirstWrites().run(parse_module(text))
    verify(after)
    fills = [op for op in after.funcs["f"].walk() if op.opdef is ops.fill]
    assert len(fills) == 4 and not any(op.operands[1].type.strides is None for op in fills)
    for n, m, bounds in itertools.product((0, 1, 4), (1, 3), itertools.product((-1, 0, 2), (-1, 1, 4), (0, 1), (0, 3))):
        (i0, i1, j0, j1) = bounds
        if i0 < i1 and j0 < j1 and not (0 <= i0 and i1 <= n and 0 <= j0 and j1 <= m):
            continue  # not in range
        args = [n, m, *bounds, 0.5]
        assert interpreter.run(after, "f", list(args)) == interpreter.run(before, "f", list(args)), args


def test_subscripts_in_range_by_a_condition_need_the_whole_fill() -> None:
    text = program(f"%p = arith.cmpi slt, %i, %n : index\nscf.if %p {{\n{ADD}\n}}", upper="%m")
    check((FirstWrites(),), text, text)


ADD = "adc.accumulate %x, %t[%i] : memref<?xf64>"


def test_shadows_are_set_by_the_loop_of_either_branch() -> None:
    def gradient(before: str, fast: str, slow: str) -> str:
        return f"""func.func @f(%a: memref<?xf64>, %b: memref<?xf64> {{adc.shadow = 0}}, %p: i1, %x: f64) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %zero = arith.constant 0.0 : f64
          %n = memref.dim %a, 0 : memref<?xf64>
          {before}
          scf.if %p {{
            scf.parallel (%i) = (%c0) to (%n) step (%c1) {{
              {fast}
              scf.reduce()
            }}
            scf.yield
          }} else {{
            {slow}
            scf.yield
          }} {{adc.cold = "else"}}
          func.return
        }}"""

    fill = "linalg.fill ins(%zero : f64) outs(%b : memref<?xf64>)"
    add = "adc.accumulate %x, %b[%i] : memref<?xf64>"
    rest = "adc.accumulate %x, %b[%c0] : memref<?xf64>"
    done = "memref.store %zero, %b[%i] : memref<?xf64>\n" + add
    check((FirstWrites(),), gradient(fill, add, rest), gradient("", done, f"{fill}\n{rest}"))


def test_a_gradient_needs_no_zeros() -> None:
    """Partials of a function of neighbouring elements; an array that is longer than the loop."""

    def f(a, b):  # type: ignore[no-untyped-def]
        total = 0.0
        for i in range(1, len(a) - 1):
            total += (a[i] * b[i]) ** 2
        return total

    rng, compiled = np.random.default_rng(0), jit_grad(f, argnums=(0, 1))
    for n, m in ((0, 0), (1, 1), (2, 2), (3, 3), (9, 9), (9, 12)):
        a, b = rng.random(n), rng.random(m)
        for _ in range(3):
            da, db = compiled.grad(a, b)
            inside = slice(1, max(1, n - 1))
            expected = np.zeros(n), np.zeros(m)
            expected[0][inside] = 2 * a[inside] * b[inside] ** 2
            expected[1][inside] = 2 * b[inside] * a[inside] ** 2
            np.testing.assert_allclose(da, expected[0], rtol=1e-14)
            np.testing.assert_allclose(db, expected[1], rtol=1e-14)


def test_zeroing_what_only_this_iteration_reads() -> None:
    """The adjoint of a local array: ``v = tbar[i]; tbar[i] = 0``, and the array ends after the loop."""
    text = """func.func @f(%a: memref<?xf64>, %n: index, %x: f64) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0.0 : f64
      %t = memref.alloc(%n) : memref<?xf64>
      linalg.fill ins(%x : f64) outs(%t : memref<?xf64>)
      scf.for %i = %c0 to %n step %c1 {{
        %v = memref.load %t[{at}] : memref<?xf64>
        {store}
        memref.store %v, %a[%i] : memref<?xf64>
      }}
      {after}
      func.return
    }}"""
    store = "memref.store %zero, %t[{}] : memref<?xf64>"
    read = "%w = memref.load %t[%c0] : memref<?xf64>\nmemref.store %w, %a[%c1] : memref<?xf64>"
    own = text.format(at="%i", store=store.format("%i"), after="")
    check((DeadStores(),), own, text.format(at="%i", store="", after=""))
    for kept in (
        text.format(at="%c1", store=store.format("%c1"), after=""),  # the next iteration reads it again
        text.format(at="%i", store=store.format("%i"), after=read),
        text.format(at="%i", store=store.format("%c1"), after=""),
    ):
        check((DeadStores(),), kept, kept)


def test_an_array_without_dimensions_in_a_loop() -> None:
    def f(a, s):
        return np.sum(a * s)

    gradient = jit_grad(f, argnums=1).grad(np.arange(4.0), np.array(2.0))
    assert gradient.shape == () and gradient == 6.0
