"""EarlyChecks: equalities that move before loops, and those that must stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_module
from adc.passes.simplify.early_checks import EarlyChecks
from tests.passes.rewriting import check, run_text

FUNC = """func.func @f(%a: memref<?xf64>, %b: memref<?xf64>, %n: index, %x: f64) -> f64 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %a, 0 : memref<?xf64>
  {body}
  func.return %x : f64
}}"""
EQUAL = """%e = arith.cmpi eq, %m, %n : index
  adc.assert %e {error = "ShapeError", message = "no"} : i1"""
ALLOC = "%t = memref.alloc(%m) : memref<?xf64>"


def loop(body: str) -> str:
    return f"scf.parallel (%i) = (%c0) to (%m) step (%c1) {{\n{body}\nscf.reduce()\n}}"


FILL = loop("memref.store %x, %t[%i] : memref<?xf64>")


def test_a_check_moves_in_front_of_a_loop_that_nobody_sees() -> None:
    before, after = (FUNC.format(body="\n".join(parts)) for parts in ((ALLOC, FILL, EQUAL), (ALLOC, EQUAL, FILL)))
    check((EarlyChecks(),), before, after)


STAYS = {
    "an argument is written": loop("memref.store %x, %a[%i] : memref<?xf64>"),
    "it may raise another error": ALLOC
    + "\n"
    + loop("%k = adc.bound %i, %n {check = true} : index\nmemref.store %x, %t[%k] : memref<?xf64>"),
    "it may not end": f"""{ALLOC}
      scf.while () : () -> () {{
        %v = memref.load %t[%c0] : memref<?xf64>
        %go = arith.cmpf olt, %v, %x : f64
        scf.condition(%go)
      }} do {{
        scf.yield
      }}""",
}


@pytest.mark.parametrize("why", STAYS)
def test_a_check_stays(why: str) -> None:
    text = FUNC.format(body=f"{STAYS[why]}\n{EQUAL}")
    assert run_text((EarlyChecks(),), text) == run_text((), print_module(parse_module(text)))


def test_a_check_of_what_the_loop_computes_stays() -> None:
    body = f"""%n2 = scf.for %i = %c0 to %m step %c1 iter_args(%k = %c0) -> (index) {{
        scf.yield %i : index
      }}
      {EQUAL.replace("%n :", "%n2 :")}"""
    text = FUNC.format(body=body)
    assert run_text((EarlyChecks(),), text) == run_text((), print_module(parse_module(text)))


def named(x: Any, y: Any) -> Any:
    a = np.exp(-x * x)
    b = np.sin(y)
    c = a * b
    return c + x * y


def test_named_arrays_are_one_loop() -> None:
    x, y = np.random.default_rng(0).random((2, 9))
    compiled = adc.jit_grad(threads=1)(named)
    np.testing.assert_allclose(compiled(x, y), named(x, y), rtol=1e-14)
    text = compiled.dump_ir("lowered").split("\n}")[0]
    assert text.count("scf.parallel") == 1
    assert text.count("memref.alloc") == 1
    with pytest.raises(ValueError, match="broadcast"):
        compiled(x, y[:5])


def test_what_was_written_before_the_error_is_there() -> None:
    def f(x: Any, y: Any) -> Any:
        x[:] = 2.0 * x
        b = np.sin(y)
        return np.sum(x * b)

    x = np.ones(4)
    with pytest.raises(ValueError, match="broadcast"):
        adc.jit_grad(f)(x, np.ones(3))
    assert np.array_equal(x, np.full(4, 2.0))
