"""InsertDeallocs: an array that was chosen, and may so have two names, is freed once, also if the code frees it itself.

The interpreter raises if freed memory is used or freed again. In compiled code the memory would be given out twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc.ir.interpret.interpreter import Statistics, run
from adc.ir.text.parser import parse_module
from adc.ir.verifier import verify
from adc.passes.base import Verify, run_pipeline
from adc.passes.pipelines import FREE

CHOSEN = """
func.func @f(%n: index, %p: i1) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %two = arith.constant 2.0 : f64
  %always = arith.constant true : i1
  %h = memref.alloc(%c1) : memref<?xmemref<?xf64>>
  %a = memref.alloc(%n) : memref<?xf64>
  linalg.fill ins(%one : f64) outs(%a : memref<?xf64>)
  memref.store %a, %h[%c0] : memref<?xmemref<?xf64>>
  %c = scf.if %p -> (memref<?xf64>) {
    scf.yield %a : memref<?xf64>
  } else {
    %b = memref.alloc(%n) : memref<?xf64>
    linalg.fill ins(%one : f64) outs(%b : memref<?xf64>)
    scf.yield %b : memref<?xf64>
  }
  memref.store %two, %c[%c0] : memref<?xf64>
  %x = memref.load %a[%c0] : memref<?xf64>
{free}
  func.return %x : f64
}

func.func @take(%r: !adc.record) {
  %a = adc.unpack %r : memref<?xf64>
  memref.dealloc %a : memref<?xf64>
  adc.release %r : !adc.record
  func.return
}
"""
HERE = "  memref.dealloc %a : memref<?xf64>"
WAYS = {
    "here": HERE,
    "in a branch": "  scf.if %always {\n    memref.dealloc %a : memref<?xf64>\n    scf.yield\n  }",
    "by a callee": "  %r = adc.pack %a : memref<?xf64>\n  func.call @take(%r) : (!adc.record) -> ()",
    "of a holder": "  %l = memref.load %h[%c0] : memref<?xmemref<?xf64>>\n  memref.dealloc %l : memref<?xf64>",
    "as it grows": "  %g = adc.grow %a, %n : memref<?xf64>",
    "under either name": "  memref.dealloc %c : memref<?xf64>",
}
WITHOUT_HOLDER = "  memref.store %a, %h[%c0] : memref<?xmemref<?xf64>>\n"


@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize(
    ("way", "held"), [(way, held) for way in WAYS for held in (True, False) if held or way != "of a holder"]
)
def test_what_the_code_frees_is_freed_once(way: str, held: bool, chosen: bool) -> None:
    text = CHOSEN.replace("{free}", WAYS[way])
    module = parse_module(text if held else text.replace(WITHOUT_HOLDER, ""))
    verify(module)
    module = run_pipeline(module, FREE, verify=Verify.PASSES)
    assert run(module, "f", [3, chosen]) == [2.0 if chosen else 1.0]


@pytest.mark.parametrize("chosen", [True, False])
def test_the_other_array_is_freed_too(chosen: bool) -> None:
    """The one that the code does not free itself does not stay to the end of the run."""
    text = CHOSEN.replace("{free}", HERE).replace(WITHOUT_HOLDER, "")
    taken = Statistics()
    run(run_pipeline(parse_module(text), FREE), "f", [3, chosen], statistics=taken)
    assert taken.live_bytes == 0


def by_a_condition(x: Any, y: float) -> Any:
    a = x.copy()
    c = a if y > 0 else x * 3
    c[1] = y * y
    return np.sum(a * a * a) + np.sum(c * a)


def of_three(x: Any, y: float) -> Any:
    a, b, d = x.copy(), np.sin(x), x * x
    if y > 1:
        c = a
    elif y > 0:
        c = b
    else:
        c = d
    c[0] = y * x[1]
    return np.sum(a * b * d) + np.sum(c * c)


def pick(a: Any, y: float) -> Any:
    return a if y > 0 else a * 3


def by_a_callee(x: Any, y: float) -> Any:
    a = x.copy()
    c = pick(a, y)
    c[1] = y * x[0]
    return np.sum(a * a * a) + np.sum(c * a)


@pytest.mark.parametrize("f", [by_a_condition, of_three, by_a_callee])
def test_hessian_where_arrays_are_chosen(f: Any) -> None:
    """All columns in one run: memory that was freed twice was given out for two arrays of the next column."""
    x = np.array([0.5, 1.5, 0.7])
    for y in (0.8, -0.6):
        columns = [adc.hvp(f, (x, y), (e, None)) for e in np.eye(3)]
        np.testing.assert_allclose(adc.hessian(f)(x, y), np.array(columns), rtol=1e-12, atol=1e-12)
