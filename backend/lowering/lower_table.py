"""Every operation and its lowering. Terminators are lowered with the operation or function that contains them."""

from __future__ import annotations

from collections.abc import Callable

from adc.backend.lowering import lower_allocations as allocations
from adc.backend.lowering import lower_control as control
from adc.backend.lowering import lower_files as files
from adc.backend.lowering import lower_memory as memory
from adc.backend.lowering import lower_products as products
from adc.backend.lowering import parallel
from adc.backend.lowering.integer_lowerings import Lowering as ScalarLowering
from adc.backend.lowering.lower_emitter import FunctionEmitter
from adc.backend.lowering.scalar_lowerings import SCALARS
from adc.ir import ops
from adc.ir.core import Op
from adc.ir.opdef import OpDef
from adc.ir.types import MemRefType

Lowering = Callable[[FunctionEmitter, Op], None]


def _scalar(lowering: ScalarLowering) -> Lowering:
    def lower(e: FunctionEmitter, op: Op) -> None:
        env = e.env
        env[op.result] = lowering(e, op, *[env.get(v) or e[v] for v in op.operands])

    return lower


def _select(e: FunctionEmitter, op: Op) -> None:
    if isinstance(op.result.type, MemRefType):
        memory.select(e, op)
    else:
        e.env[op.result] = SCALARS[ops.select](e, op, *e.scalars(op.operands))


def _ruled(e: FunctionEmitter, op: Op) -> None:
    for result, value in zip(op.results, op.operands, strict=False):
        e.env[result] = e[value]


LOWERINGS: dict[OpDef, Lowering] = {definition: _scalar(lowering) for definition, lowering in SCALARS.items()}
LOWERINGS |= {
    ops.select: _select,
    # memref
    ops.alloc: allocations.alloc,
    ops.dealloc: allocations.dealloc,
    ops.dim: memory.dim,
    ops.load: memory.load,
    ops.store: memory.store,
    ops.subview: memory.subview,
    ops.transpose: memory.transpose,
    ops.reinterpret_cast: memory.reinterpret_cast,
    ops.reshape: memory.reshape,
    ops.cast: memory.cast,
    ops.copy: memory.copy,
    ops.fill: memory.fill,
    ops.matmul: products.matmul,
    # scf
    ops.for_: control.for_,
    ops.while_: control.while_,
    ops.if_: control.if_,
    ops.parallel: parallel.parallel,
    # func
    ops.call: control.call,
    ops.foreign: control.foreign,
    ops.ruled: _ruled,
    # adc
    ops.bound: control.bound,
    ops.assert_: control.assert_,
    ops.accumulate: memory.accumulate,
    ops.threads: parallel.threads,
    ops.undef: control.undef,
    ops.grow: allocations.grow,
    ops.page_out: files.page_out,
    ops.pack: memory.pack,
    ops.release: memory.release,
    ops.unpack: memory.unpack,
}
