"""What operations cost, in units of about one vectorised floating-point addition. Rough on purpose: plans weigh
alternatives that differ by factors, and must not depend on the machine.
"""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.opdef import OpDef, Trait
from adc.ir.types import MemRefType, scalar_bytes

DEFAULT_TRIPS = 64  # of a loop whose trip count is not a constant
STORE_BYTE = 1.5  # writing one byte to a tape and reading it back, when the tape leaves the cache
LEAST_STORED = 4.0
"""Bytes: a smaller entry is written and read no faster, and has to be widened to the lanes that it is for."""
CALL = 20.0
CACHE_BYTES = 6 << 20
"""What stays in the caches of a core between two uses, its share of those that cores have in common included."""
BLOCK_BYTES = 1 << 20
"""What stays close to a core, where a loop can choose how much it goes through again."""
_FREE = {ops.constant, ops.undef, ops.threads, ops.dim, ops.cast, ops.subview, ops.transpose, ops.index_cast, ops.bound}
_CHEAP_MATH = {ops.absf, ops.copysign, ops.fma, ops.floor, ops.ceil, ops.trunc, ops.roundeven, ops.round_, ops.fits}
_CHEAP_MATH |= {ops.strong_mulf}
_INTEGER_DIVISIONS = {ops.divsi, ops.remsi, ops.floordivsi, ops.ceildivsi}

# Of vector code, an element, as the processor's own division and glibc's vector functions do it (measured, over arrays
# in the first cache). What is not listed costs MATH.
MATH = 8.0
_MEASURED = {
    **dict.fromkeys((ops.divf, ops.strong_divf, ops.hypot), 7.0),
    **dict.fromkeys((ops.sqrt, ops.rsqrt, ops.log, ops.log2, ops.log10, ops.log1p, ops.tan), 10.0),
    **dict.fromkeys((ops.asin, ops.acos, ops.atan, ops.sinh, ops.cosh, ops.erf, ops.erfc, ops.cbrt), 13.0),
    **dict.fromkeys((ops.tanh, ops.atan2, ops.asinh, ops.acosh, ops.atanh), 18.0),
    **dict.fromkeys((ops.powf, ops.lgamma, ops.tgamma, ops.polygamma, ops.remf, ops.remainder), 30.0),
}


def cost_of(opdef: OpDef) -> float:
    """Of one execution of an operation without regions."""
    if opdef in _FREE:
        return 0.0
    if opdef in _MEASURED:
        return _MEASURED[opdef]
    if opdef in _CHEAP_MATH or opdef.dialect == "arith":
        return 4.0 if opdef in _INTEGER_DIVISIONS else 1.0
    if opdef is ops.call or opdef is ops.external:
        return CALL
    if Trait.READS in opdef.traits or Trait.WRITES in opdef.traits:
        return 1.5
    return MATH


def cost_of_block(block: Block, module: Module | None = None) -> float:
    """Of one execution of a block, loops inside weighed by their trip counts."""
    total = 0.0
    for op in block.ops:
        if op.regions:
            total += trips(op) * sum(cost_of_block(region, module) for region in op.regions)
        elif op.opdef is ops.call and module is not None and op.attrs["callee"] in module.funcs:
            total += CALL / 4
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
    """Of keeping one instance of a value for the reverse sweep; for an allocation, of keeping its memory as well."""
    size = float(scalar_bytes(value.type))
    if isinstance(value.type, MemRefType) and value.op is not None and value.op.opdef is ops.alloc:
        size += DEFAULT_TRIPS**value.type.rank * scalar_bytes(value.type.element)
    return STORE_BYTE * max(size, LEAST_STORED)
