"""Which operations are inside which."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.nesting import enclosing, holds, inside, kinds_in, of_kinds, place_in, with_enclosing
from adc.ir.text.parser import parse_module

TEXT = """
func.func @f(%x: memref<?xf64>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    %v = memref.load %x[%i] : memref<?xf64>
    scf.for %j = %zero to %i step %one {
      memref.store %v, %x[%j] : memref<?xf64>
    }
  }
  func.return
}
"""


def test_blocks_operations_and_values() -> None:
    func = parse_module(TEXT).funcs["f"]
    outer, inner = (op for op in func.walk() if op.opdef is ops.for_)
    store = next(op for op in func.walk() if op.opdef is ops.store)
    assert list(enclosing(store.parent)) == [inner, outer]
    assert list(with_enclosing(store)) == [store, inner, outer]
    assert list(enclosing(func.body)) == [] == list(enclosing(None))
    element, array, place = store.operands
    assert inside(element, outer) and not inside(element, inner)
    assert inside(place, inner) and not inside(array, outer)
    assert not inside(outer.operands[0], outer)
    assert place_in(func.body, store) is outer and place_in(inner.regions[0], store) is store
    assert place_in(inner.regions[0], outer) is None
    assert holds(func.body, store) and holds(inner.parent, store) and holds(inner.regions[0], store)
    assert not holds(inner.regions[0], inner) and not holds(None, store)


def test_kinds_of_operations_are_those_that_there_are_now() -> None:
    func = parse_module(TEXT).funcs["f"]
    assert kinds_in(func) == {op.opdef for op in func.walk()} and kinds_in(func) is kinds_in(func)
    (store,) = of_kinds(func.body, {ops.store})
    store.set_opdef(ops.accumulate)
    assert kinds_in(func) == {op.opdef for op in func.walk()}
