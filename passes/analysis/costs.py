"""What code costs, in the units of the operation cards: see ``adc.ir.opdef``."""

from __future__ import annotations

import math

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.opdef import OpDef
from adc.ir.types import MemRefType, scalar_bytes
from adc.passes.analysis.kinds import DIVISIONS

DEFAULT_TRIPS = 64  # for a loop whose trip count is not a constant
STORE_BYTE = 1.5  # writing one byte to a tape and reading it back, when the tape leaves the cache
LEAST_STORED = 4.0
"""Bytes: smaller entries are not written or read faster, and have to be widened to the lanes."""


def cost_of(opdef: OpDef) -> float:
    """The cost of one execution of an operation, without what is in its regions."""
    assert opdef.cost is not None
    return opdef.cost


def cost_of_scalar(op: Op) -> float:
    """The same for an operation without regions whose operands are known: integers are divided by a constant by a
    product and a shift."""
    if op.opdef in DIVISIONS and constant_of(op.operands[1]) is not None:
        return ops.CHEAP
    return cost_of(op.opdef)


def cost_of_block(block: Block, module: Module | None = None) -> float:
    """The cost of one execution of a block, with loops inside weighed by their trip counts."""
    total = 0.0
    for op in block.ops:
        if op.regions:
            total += trips(op) * sum(cost_of_block(region, module) for region in op.regions)
        elif op.opdef is ops.call and module is not None and op.attrs["callee"] in module.funcs:
            total += ops.CALL / 4
        else:
            total += cost_of(op.opdef)
    return total


def cost_of_func(func: Func) -> float:
    return cost_of_block(func.body)


def trips(op: Op) -> float:
    """How often the regions of an operation run per execution of it."""
    if op.opdef is ops.while_:
        return DEFAULT_TRIPS
    if op.opdef not in (ops.for_, ops.parallel):
        return 1.0
    lower, upper, step = (constant_of(v) for v in op.operands[:3])
    if lower is None or upper is None or step is None:
        return DEFAULT_TRIPS
    return max(0.0, -((lower - upper) // step))


def has_known_length(op: Op) -> bool:
    """Whether ``op`` is a counted loop whose trip count is a constant."""
    return op.opdef in (ops.for_, ops.parallel) and all(constant_of(v) is not None for v in op.operands[:3])


def executions(block: Block) -> float:
    """How often a block runs per call of its function."""
    count = 1.0
    op = block.parent_op
    while op is not None:
        count *= trips(op)
        op = op.parent.parent_op if op.parent is not None else None
    return count


def storage_cost(value: Value) -> float:
    """The cost of keeping one instance of a value for the reverse sweep; for a memref, without its memory."""
    return STORE_BYTE * max(float(scalar_bytes(value.type)), LEAST_STORED)


def memory_cost(array: Value) -> float:
    """The cost of keeping the memory of one instance of an allocated array."""
    t = array.type
    assert isinstance(t, MemRefType)
    elements = math.prod(DEFAULT_TRIPS if extent is None else extent for extent in t.shape)
    return STORE_BYTE * elements * scalar_bytes(t.element)
