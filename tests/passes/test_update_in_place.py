"""update-in-place leaves arrays apart that are made from views of each other."""

from __future__ import annotations

import pytest

from adc.ir import ops
from adc.ir.text.parser import parse_module
from adc.passes.buffers.update_in_place import UpdateInPlace

TEXT = """
func.func @f(%x: memref<?xf64>, %steps: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %back = arith.constant -1 : index
  %n = memref.dim %x, 0 : memref<?xf64>
  %end = arith.subi %n, %c1 : index
  %last = scf.for %t = %c0 to %steps step %c1 iter_args(%u = %x) -> (memref<?xf64>) {
    %new = memref.alloc(%n) : memref<?xf64>
    %v = memref.subview %u[%end] [%n] [%back] {static_steps = [-1]} : memref<?xf64> to memref<?xf64, strided<[-1]>>
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %a = memref.load LOADED
      memref.store %a, %new[%i] : memref<?xf64>
      scf.reduce()
    }
    scf.yield %new : memref<?xf64>
  }
  %r = memref.load %last[%c1] : memref<?xf64>
  func.return %r : f64
}
"""


@pytest.mark.parametrize(
    ("loaded", "arrays"),
    [("%u[%i] : memref<?xf64>", 0), ("%v[%i] : memref<?xf64, strided<[-1]>>", 1)],
    ids=["the same element", "from the other end"],
)
def test_an_element_of_a_view_is_another_one(loaded, arrays):
    text = TEXT.replace("LOADED", loaded)
    text = text.replace("strided<[-1]>", "strided<[-1], offset: ?>")
    func = UpdateInPlace().run(parse_module(text)).funcs["f"]
    (loop,) = (op for op in func.walk() if op.opdef is ops.for_)
    assert sum(op.opdef is ops.alloc for op in loop.regions[0].walk()) == arrays
