"""Arrays that privatise-arrays gave each iteration of a loop become one again, if the iterations run in order.

An allocation for each iteration takes longer than some iterations do. In a parallel loop the array belongs to the whole
iteration, so that the iterations that one thread runs use it in turn; the lowering sees to that. This pass runs last,
when memory is freed where its use ends.
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Func, Module, Op
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import OWN
from adc.ir.nesting import inside, of_kinds
from adc.ir.opdef import OpDef
from adc.passes.rewrite import put_before, put_instead


@dataclass(frozen=True)
class ShareArrays:
    """Allocate before sequential loops what each iteration allocates and frees because of privatise-arrays."""

    name: ClassVar[str] = "share-arrays"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            _share(func)
        return module


def _share(func: Func) -> None:
    for alloc in [op for op in of_kinds(func.body, {ops.alloc}) if op.attrs.get(OWN)]:
        frees = [op for op, _ in alloc.result.uses if op.opdef is ops.dealloc]
        if len(frees) == 1:
            while (loop := _around(alloc, frees[0], ops.for_)) is not None:
                _take_out(alloc, frees[0], loop)
            loop = _around(alloc, frees[0], ops.parallel)
            if loop is not None:
                _stretch(alloc, frees[0], loop)


def _around(alloc: Op, free: Op, opdef: OpDef) -> Op | None:
    """The loop whose iterations, one after the other, could use the array in turn, if it is an ``opdef``."""
    block = alloc.parent
    loop = block.parent_op if block is not None else None
    if loop is None or loop.opdef is not opdef or free.parent is not block:
        return None
    return None if any(inside(v, loop) for v in alloc.operands) else loop


def _take_out(alloc: Op, free: Op, loop: Op) -> None:
    body = loop.regions[0]
    body.set_ops([op for op in body.ops if op is not alloc and op is not free])
    put_before(loop, [alloc])
    put_instead(loop, [loop, free])


def _stretch(alloc: Op, free: Op, loop: Op) -> None:
    body = loop.regions[0]
    rest = [op for op in body.ops if op is not alloc and op is not free]
    body.set_ops([alloc, *rest[:-1], free, rest[-1]])
