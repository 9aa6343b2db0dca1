"""merge-branches: what is left as it is."""

from __future__ import annotations

import pytest

from adc.passes.branches.merge_branches import MergeBranches
from tests.passes.rewriting import check

TEXT = """
func.func @f(%x: memref<?xf64>, %p: i1, %q: i1, %i: index) -> f64 {{
  %zero = arith.constant 0.0 : f64
  %one = arith.constant 1.0 : f64
  %r = scf.if %p -> (f64) {{
    %a = memref.load %x[%i] : memref<?xf64>
    scf.yield %a : f64
  }} else {{
    scf.yield %zero : f64
  }}
  {between}
  %s = scf.if {second} -> (f64) {{
    scf.yield %one : f64
  }} else {{
    scf.yield %zero : f64
  }}
  %t = arith.addf %r, %s : f64
  func.return %t : f64
}}
"""


@pytest.mark.parametrize(
    ("between", "second"),
    [
        ("memref.store %one, %x[%i] : memref<?xf64>", "%p"),
        ("memref.store %r, %x[%i] : memref<?xf64>", "%p"),
        ('adc.assert %q {error = "ValueError", message = "no"} : i1', "%p"),
        ("%u = arith.addf %r, %one : f64", "%p"),
        ("%u = arith.addf %zero, %one : f64", "%q"),
    ],
    ids=["what it reads is stored", "its result is stored", "a check that may fail", "its result is used", "another"],
)
def test_left(between: str, second: str) -> None:
    text = TEXT.format(between=between, second=second)
    check([MergeBranches()], text, text)
