"""The estimate of work that decides on threads: work in callees counts like work in the loop itself."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest

from adc.backend.lowering.lower import lower_module
from adc.ir.text.parser import parse_module
from tests.backend.lowering_harness import Native

V = "memref<?xf64>"
CALLEE = """func.func @{name}(%a: {V}, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %trips = arith.constant {trips} : index
  scf.for %k = %c0 to {limit} step %c1 {{
    %x = memref.load %a[%k] : {V}
    %y = math.sin %x : f64
    memref.store %y, %a[%k] : {V}
  }}
  func.return
}}
"""


def estimate(body: str, *callees: str) -> str:
    """The LLVM code in front of the call that decides on threads, and the call, without the names of values."""
    text = f"""func.func @main(%a: {V}, %n: index) attributes {{adc.entry = true}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {{
    {body}
    scf.reduce()
  }} {{threads = true}}
  func.return
}}
"""
    lowered = lower_module(parse_module(text + "".join(callees)))
    found = re.search(r"((?:.*\n){12}.* = call i32 @adc_parallel.*)\n", lowered.functions)
    assert found is not None, lowered.functions
    return re.sub(r"%\S+", "%", found[1])


def callee(name: str, trips: int, limit: str = "%trips") -> str:
    return CALLEE.format(name=name, V=V, trips=trips, limit=limit)


def test_the_loops_of_callees_count() -> None:
    call = f"func.call @work(%a, %n) : ({V}, index) -> ()"
    assert estimate(call, callee("work", 10)) != estimate(call, callee("work", 10_000))


def test_what_is_passed_on_stands_for_parameters() -> None:
    """The trips of the callee's loop are the caller's ``n``, which is known where threads are decided on."""
    call = f"func.call @work(%a, %n) : ({V}, index) -> ()"
    assert "sitofp" in estimate(call, callee("work", 1, "%n"))
    assert "sitofp" not in estimate(call, callee("work", 1))


def test_recursion_ends() -> None:
    text = f"""func.func @again(%a: {V}, %n: index) {{
  func.call @again(%a, %n) : ({V}, index) -> ()
  func.return
}}
"""
    assert estimate(f"func.call @again(%a, %n) : ({V}, index) -> ()", text)


def test_a_loop_that_calls_its_own_function() -> None:
    """What another branch computed is not known where the loop is."""
    text = f"""func.func @main(%a: {V}, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %x = arith.constant 1.0 : f64
  %less = arith.subi %n, %c1 : index
  %deep = arith.cmpi slt, %c2, %n : index
  scf.if %deep {{
    %m = arith.floordivsi %n, %c2 : index
    scf.for %j = %c0 to %m step %c1 {{
      memref.store %x, %a[%j] : {V}
    }}
  }}
  %some = arith.cmpi slt, %c0, %n : index
  scf.if %some {{
    scf.parallel (%i) = (%c0) to (%less) step (%c1) {{
      %b = memref.alloc(%n) : {V}
      func.call @main(%b, %i) : ({V}, index) -> ()
      memref.dealloc %b : {V}
      memref.store %x, %a[%i] : {V}
      scf.reduce()
    }} {{threads = true}}
  }}
  func.return
}}
"""
    a = np.zeros(6)
    Native(parse_module(text))("main", a, 6)
    np.testing.assert_array_equal(a, [1, 1, 1, 1, 1, 0])


def number(body: str) -> float:
    """The estimate of a body, which has to be known when it is compiled."""
    found = re.search(r"double (0x\w+)\)$", estimate(body))
    assert found is not None
    return float(struct.unpack(">d", bytes.fromhex(found[1][2:]))[0])


def over(lower: str, upper: str, step: str = "%c1") -> str:
    """A loop of one store."""
    return f"scf.for %k = {lower} to {upper} step {step} {{\nmemref.store %cst, %a[%k] : {V}\n}}"


CONSTANTS = "%cst = arith.constant 1.0 : f64\n" + "".join(
    f"%c{k} = arith.constant {k} : index\n" for k in (7, 16, 64, 1000)
)


@pytest.mark.parametrize(
    ("body", "iterations"),
    [
        (over("%c0", "%c1000"), 1000),
        (over("%c0", "%c1000", "%c64"), 1063 / 64),
        (over("%c1000", "%c0"), 0),
        ("%end = arith.subi %c1000, %c64 : index\n" + over("%c64", "%end"), 872),
        ("%half = arith.floordivsi %c1000, %c16 : index\n" + over("%c0", "%half"), 62.5),
        # A chunk: where it ends depends on where it begins.
        (
            "%start = arith.muli %i, %c64 : index\n%left = arith.subi %c1000, %start : index\n"
            "%length = arith.minsi %left, %c64 : index\n%end = arith.addi %start, %length : index\n"
            + over("%start", "%end"),
            64,
        ),
    ],
)
def test_trips_follow_from_what_bounds_are_computed_from(body: str, iterations: float) -> None:
    body = body.replace("%i,", "%c7,")
    one, none = number(CONSTANTS + over("%c0", "%c1")), number(CONSTANTS + over("%c0", "%c0"))
    found = number(CONSTANTS + body)
    assert found == pytest.approx(none + (one - none) * iterations, abs=10.0)  # a little is for the bounds


def test_a_triangle_counts_as_half_of_its_square() -> None:
    def nest(inner: str) -> str:
        return CONSTANTS + f"scf.for %j = %c0 to %c1000 step %c1 {{\n{inner}\n}}"

    square, triangle = number(nest(over("%c0", "%c1000"))), number(nest(over("%c0", "%j")))
    assert triangle == pytest.approx(square / 2, rel=0.01)
    assert number(nest(over("%j", "%c1000"))) == triangle


def test_bounds_that_are_loaded_are_guessed() -> None:
    body = "%end = memref.load %sizes[%i] : memref<?xindex>\n" + over("%c0", "%end")
    assert number(CONSTANTS + "%sizes = memref.alloc(%n) : memref<?xindex>\n" + body) > number(CONSTANTS)
