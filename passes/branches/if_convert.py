"""Branches that only choose between cheap values become ``arith.select``, so that loops around them vectorise."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having
from adc.ir.opdef import OpDef
from adc.ir.types import MemRefType, RecordType
from adc.passes.analysis.kinds import LINEAR
from adc.passes.analysis.speculation import Speculation
from adc.passes.branches.stores_in_place import stores_in_place

SLOW = 4  # what a quotient or a root counts as


@dataclass(frozen=True)
class IfConvert:
    """Replace ``scf.if`` by the code of both branches and selects, where that costs at most ``limit`` operations.

    A load moves out of the branches only if both do it. With ``differentiable`` (for code that is yet to be
    differentiated) the float operations that move are linear: the adjoint of a branch not taken must contribute
    nothing, and zero times an infinite partial is not zero. Otherwise, branches of parallel loops that only store
    where the iteration has loaded store in any case (``stores_in_place``).
    """

    limit: int = 10
    differentiable: bool = False
    name: ClassVar[str] = "if-convert"
    needs = frozenset({ops.if_})

    def run(self, module: Module) -> Module:
        for func in having(module, self.needs):
            stores = {} if self.differentiable else stores_in_place(func, module)
            _Conversion(self, func, stores).block(func.body)
        return module


class _Conversion:
    def __init__(self, options: IfConvert, func: Func, stores: dict[Op, Op]) -> None:
        self._options = options
        self._stores = stores
        self._speculation = Speculation(func)

    def block(self, block: Block) -> None:
        new = block.in_place_of()
        for op in block.ops:
            for region in op.regions:
                self.block(region)
            if op.opdef is not ops.if_ or not (self._store(op, new) or self._convert(op, new)):
                new.append(op)
        block.set_ops(new.ops)

    def _convert(self, op: Op, block: Block) -> bool:
        then, other = op.regions
        shared = _shared_loads(then, other)
        if not _is_cheap(op, shared, self._price, self._options.limit):
            return False
        condition = op.operands[0]
        pairs = list(zip(then.terminator.operands, other.terminator.operands, strict=True))
        for region in op.regions:
            region.terminator.drop()
            for inner in region.ops[:-1]:
                twin = shared.get(inner)
                if twin is not None:
                    pairs = [(x, twin.result if y is inner.result else y) for x, y in pairs]
                    inner.result.replace_uses(twin.result)
                    inner.drop()
                else:
                    block.append(inner)
        op.set_regions(())
        with insert_at(block, op.loc):
            for result, (x, y) in zip(op.results, pairs, strict=True):
                chosen = x if x is y else build(ops.select, (condition, x, y)).result
                chosen.hint = chosen.hint or result.hint
                self._speculation.note_choice(chosen, (x, y))
                result.replace_uses(chosen)
        op.drop()
        return True

    def _store(self, op: Op, block: Block) -> bool:
        """Let a branch that only stores store in any case, if it may."""
        store = self._stores.get(op)
        if store is None or not _within(op.regions[0].ops[:-2], self._price, self._options.limit):
            return False
        value, memref, *subscripts = store.operands
        if not self._speculation.defined(value):
            return False
        condition = op.operands[0]
        for region in op.regions:
            region.terminator.drop()
        for inner in op.regions[0].ops[:-2]:
            block.append(inner)
        op.set_regions(())
        with insert_at(block, store.loc):
            old = build(ops.load, (memref, *subscripts)).result
            store.set_operand(0, build(ops.select, (condition, value, old)).result)
        block.append(store)
        op.drop()
        return True

    def _price(self, op: Op) -> int | None:
        """The cost of executing ``op`` when it is not needed; None if that must not happen."""
        kind = op.opdef
        if not self._speculation.safe(op) or len(op.results) != 1:
            return None
        if self._options.differentiable and op.result.type.is_float and kind not in LINEAR and kind is not ops.constant:
            return None
        return _cost(kind)


def is_choice(op: Op) -> bool:
    """Whether ``op`` only chooses between values that are cheap enough for a select, as far as ``op`` alone tells."""
    return _is_cheap(op, _shared_loads(*op.regions), lambda inner: _cost(inner.opdef), IfConvert.limit)


def _is_cheap(op: Op, shared: Container[Op], price: Callable[[Op], int | None], limit: int) -> bool:
    """Whether both branches can be executed at a cost of no more than ``limit``."""
    if not op.results or any(isinstance(r.type, MemRefType | RecordType) for r in op.results):
        return False
    return _within([inner for r in op.regions for inner in r.ops[:-1] if inner not in shared], price, limit)


def _within(executed: Iterable[Op], price: Callable[[Op], int | None], limit: int) -> bool:
    """Whether operations may be executed when they are not needed, at a cost of no more than ``limit``."""
    cost = 0
    for op in executed:
        of_op = price(op)
        if of_op is None or (cost := cost + of_op) > limit:
            return False
    return True


def _shared_loads(then: Block, other: Block) -> dict[Op, Op | None]:
    """Loads that both branches do, of memory that neither writes: those of the second, with their twins in the
    first."""
    loads: dict[tuple[Value, ...], Op] = {}
    shared: dict[Op, Op | None] = {}
    for op in then.ops:
        if op.opdef is ops.load:
            loads.setdefault(op.operands, op)
    for op in other.ops:
        if op.opdef is ops.load and (twin := loads.get(op.operands)) is not None:
            shared[op] = twin
            shared[twin] = None
    return shared


def _cost(kind: OpDef) -> int | None:
    """The cost of an operation; None if it has to stay as it is written, as those of adc's own dialect have."""
    if kind.evaluate is None or kind.called or kind.dialect == "adc":
        return None
    return 0 if kind is ops.constant else SLOW if kind.slow else 1
