"""The estimate of work that decides on threads: what a loop calls counts as what it does itself."""

from __future__ import annotations

import re

from adc.backend.lowering.lower import lower_module
from adc.ir.parser import parse_module

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
    """The LLVM code in front of the decision on threads, without the names of values."""
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
    found = re.search(r"((?:.*\n){12}).*fcmp ogt double", lowered.functions)
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
    assert "uitofp" in estimate(call, callee("work", 1, "%n")).replace("uitofp", "", 1)


def test_recursion_ends() -> None:
    text = f"""func.func @again(%a: {V}, %n: index) {{
  func.call @again(%a, %n) : ({V}, index) -> ()
  func.return
}}
"""
    assert estimate(f"func.call @again(%a, %n) : ({V}, index) -> ()", text)
