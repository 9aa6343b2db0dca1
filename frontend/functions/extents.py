"""Extents of arrays, computed before the code that makes the arrays, from values that already exist."""

from __future__ import annotations

from adc.frontend.data.dims import Dim
from adc.ir import ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import build
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, index

_TOTAL = frozenset({ops.addi, ops.subi, ops.muli, ops.maxsi, ops.minsi, ops.cmpi, ops.select})
_DIVISIONS = frozenset({ops.floordivsi, ops.ceildivsi})
_DEPTH = 60  # the most operations to follow for one extent


@dataclass(frozen=True, eq=False)
class _Scope:
    """Code that has not run yet: a block with those nested in it, or the body of the function that ``call`` calls."""

    module: Module
    block: Block
    call: Op | None = None
    caller: _Scope | None = None

    def contains(self, v: Value) -> bool:
        block = v.block if v.op is None else v.op.parent
        while block is not None:
            if block is self.block:
                return True
            around = block.parent
            block = around.parent if isinstance(around, Op) else None
        return False


def hoisted(module: Module, dim: Dim, block: Block) -> Dim | None:
    """The extent ``dim`` at the insertion point, before the code in ``block``; None if it cannot be computed there.

    It follows from extents of existing arrays, also through calls.
    """
    return dim if isinstance(dim, int) else _number(dim, _Scope(module, block), _DEPTH)


def _number(v: Value, scope: _Scope, depth: int) -> Value | None:
    known = constant_of(v)
    if known is not None and v.type == index:
        return const_index(int(known))
    if not scope.contains(v):
        return v if scope.call is None else None
    if v.op is None:
        return _argument(v, scope, depth)
    op = v.op
    if depth == 0:
        return None
    if op.opdef is ops.dim:
        return _extent(op.operands[0], op.attrs["dim"], scope, depth - 1)
    by_constant = op.opdef in _DIVISIONS and bool(constant_of(op.operands[1]))
    if op.opdef not in _TOTAL and not by_constant:
        return None
    operands = [_number(x, scope, depth - 1) for x in op.operands]
    found = [x for x in operands if x is not None]
    return build(op.opdef, found, dict(op.attrs)).result if len(found) == len(operands) else None


def _argument(v: Value, scope: _Scope, depth: int) -> Value | None:
    """A number that a function was called with."""
    if scope.call is None or scope.caller is None or v.block is not scope.block:
        return None
    return _number(scope.call.operands[v.index], scope.caller, depth)


def _extent(array: Value, k: int, scope: _Scope, depth: int) -> Value | None:
    """The extent ``k`` of an array."""
    assert isinstance(array.type, MemRefType)
    if (static := array.type.shape[k]) is not None:
        return const_index(static)
    if not scope.contains(array):
        return ops.dim(array, dim=k) if scope.call is None else None
    if depth == 0:
        return None
    op = array.op
    if op is None:
        if scope.call is None or scope.caller is None or array.block is not scope.block:
            return None
        return _extent(scope.call.operands[array.index], k, scope.caller, depth - 1)
    if op.opdef is ops.alloc:
        return _number(op.operands[sum(n is None for n in array.type.shape[:k])], scope, depth - 1)
    if op.opdef is ops.cast:
        return _extent(op.operands[0], k, scope, depth - 1)
    if op.opdef is ops.reshape:
        return _number(op.operands[1 + k], scope, depth - 1)
    if op.opdef is ops.reinterpret_cast:
        return _number(op.operands[2 + k], scope, depth - 1)
    if op.opdef is ops.subview:
        rank = op.operands[0].type.rank  # type: ignore[attr-defined]
        kept = [n for n in range(rank) if n not in op.attrs["dropped"]]
        return _number(op.operands[1 + rank + kept[k]], scope, depth - 1)
    if op.opdef is ops.call:
        func = scope.module.funcs[op.attrs["callee"]]
        if not func.body.ops or func.body.ops[-1].opdef is not ops.return_:
            return None  # it is recursive, and is being traced
        returned = func.body.terminator.operands[array.index]
        return _extent(returned, k, _Scope(scope.module, func.body, op, scope), depth - 1)
    return None
