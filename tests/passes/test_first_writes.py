"""FirstWrites, and stores to elements that their own iteration alone looks at (DeadStores)."""

from __future__ import annotations

import pytest

from adc.passes.simplify.cse import CSE
from adc.passes.simplify.dce import DCE
from adc.passes.simplify.dead_stores import DeadStores
from adc.passes.simplify.first_writes import FirstWrites
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
            f"""%w = arith.addf %zero, %x : f64
            %v = memref.load %a[%i] : memref<?xf64>
            %u = arith.addf %w, %v : f64
            memref.store %u, %t[{at}] : memref<?xf64>""",
            initial="",
        ).replace("%r = arith.subi %last, %i : index", "%r = arith.subi %last, %i : index" if at == "%r" else "")
        .replace("%last = arith.addi %n, %m1 : index", "%last = arith.addi %n, %m1 : index" if at == "%r" else "")
        .replace("%m1 = arith.constant -1 : index", "%m1 = arith.constant -1 : index" if at == "%r" else "")
        .replace("%c2 = arith.constant 2 : index", ""),
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
        program(STORE, lower="%c1"),
        program(STORE, upper="%m"),
        program(STORE, step="%c2"),
        program("memref.store %x, %t[%c0] : memref<?xf64>"),
        program(f"%v = memref.load %t[%r] : memref<?xf64>\n{STORE}"),  # may be an element of another iteration
        program(f"scf.if %p {{\n{STORE}\n}}").replace("%x: f64)", "%x: f64, %p: i1)").replace(FILL, COPY),
        program(f"%v = memref.load %t[%i] : memref<?xf64>\n{STORE}", COPY),
        program(STORE, f"{FILL}\n%early = memref.load %t[%c0] : memref<?xf64>"),
    ],
    ids=["from 1", "to m", "step 2", "one element", "other element", "in a branch", "copy is read", "read before"],
)
def test_loops_that_do_not_write_every_element_first(text: str) -> None:
    check((FirstWrites(),), text, text)


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
    check((FirstWrites(),), text.format(fill, "%j, %i"), text.format(fill, "%j, %i"))


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
