"""Array contraction: what one loop over points leaves for the next is a row in each iteration, not a whole array.

    away = x[:, None, :] - y[None, :, :]           parallel p:
    terms = np.sum(away**2, axis=2)                    terms = np.empty(k)
    most = terms.max(axis=1)                           for c in range(k):
                                                           away = x[p] - y[c]
                                                           terms[c] = np.sum(away**2)
                                                       most[p] = terms.max()

Statements on arrays each make an array, which goes through memory, and which a reverse sweep keeps. If a loop over the
first axis only reads what the same iteration of an earlier one stored, the two are fused, even if other loops are in
between, and the array loses that axis: it is a row, or a number. Inner loops are then treated in the same way. The
result is like code of users who write the loop over points, and ``vectorise-outer`` takes points side by side.

This is done if one of the loops sums along rows, or finds their extremes: statements only on elements are SIMD as they
are, and short rows of them would not be. An array stays if anything else looks at it.

Reference: Gao, Olsen, Sarkar and Thekkath, Collective loop fusion for array contraction, Languages and Compilers for
Parallel Computing 1992; Lam, Cociorva, Baumgartner and Sadayappan, Memory-optimal evaluation of expression trees
involving large objects, High Performance Computing 1999.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import CHUNKS, OWN, PRIVATE
from adc.ir.nesting import enclosing, of_kinds
from adc.ir.types import MemRefType
from adc.passes.fusion.bodies import Bodies
from adc.passes.fusion.fuse_loops import fuse, may_be_fused
from adc.passes.rewrite import put_before, put_instead


@dataclass(frozen=True)
class ContractArrays:
    """Fuse loops if an array between them then loses its first axis. Nests that are ``alone`` are not fused.

    ``steps``: fuse nothing. Instead, arrays lose their first axis that one loop alone uses, in steps that each of its
    iterations takes in order: tapes of steps whose reverse follows in the same iteration.
    """

    alone: Callable[[Op], bool] | None = None
    steps: bool = False
    name: ClassVar[str] = "contract-arrays"

    def run(self, module: Module) -> Module:
        if self.steps:
            while sum(_contract(func, _has_steps) for func in module.funcs.values()):
                pass
            return module
        while self._some_arrays(module):
            fuse(module, self._wanted, self._wanted)
            if not sum(_contract(func, _reduces) for func in module.funcs.values()):
                break
        return module

    def _some_arrays(self, module: Module) -> bool:
        """Whether there is any array between two loops."""
        return any(
            len(loops) > 1
            for func in module.funcs.values()
            for alloc in of_kinds(func.body, {ops.alloc})
            if (loops := _loops(alloc)) is not None
        )

    def _wanted(self, bodies: Bodies, first: Op, second: Op) -> bool:
        common = bodies.of(first).accesses.keys() & bodies.of(second).accesses.keys()
        if not any(self._is_left(base, first, second) for base in common):
            return False
        if not _only_sums(first) or not _only_sums(second):
            return False  # the derivative of an extreme needs a loop that does nothing else, to look for its place
        if _is_within(first) and bodies.of(first).shape != bodies.of(second).shape:
            return False  # one of them is SIMD as it is
        return (_reduces(first) or _reduces(second)) and may_be_fused(bodies, first, second)

    def _is_left(self, memref: Value, first: Op, second: Op) -> bool:
        """Whether ``first`` leaves an array only for loops of its range, including ``second``."""
        loops = _loops(memref.op) if memref.op is not None and memref.op.opdef is ops.alloc else None
        if loops is None or not {first, second} <= loops.keys():
            return False
        if any(loop.operands[:3] != first.operands[:3] for loop in loops):
            return False
        return self.alone is None or not any(map(self.alone, loops))


def _loops(alloc: Op) -> dict[Op, None] | None:
    """The loops in the block of an array if each uses its counter as the first subscript of the array, and the array is
    otherwise only filled before them, and freed; None if there are other uses. Loops over the iterations of chunks
    count as the loops of the chunks."""
    t = alloc.result.type
    assert isinstance(t, MemRefType)
    if t.strides is not None or isinstance(t.element, MemRefType) or not t.rank:
        return None
    found: dict[Op, None] = {}
    fills: list[Op] = []
    for user, position in alloc.result.uses:
        if user.opdef is ops.fill and position == 1 and user.parent is alloc.parent:
            fills.append(user)
        elif (user.opdef is ops.load and position == 0) or (user.opdef is ops.store and position == 1):
            loop = _once(user, alloc)
            if loop is None or user.operands[position + 1] is not loop.regions[0].args[0]:
                return None
            found[loop] = None
        elif user.opdef not in (ops.dim, ops.dealloc):
            return None
    if len(fills) > 1 or (fills and found and not _is_before(fills[0], found)):
        return None
    return found


def _once(access: Op, alloc: Op) -> Op | None:
    """The parallel loop around an access that runs once for an allocation: the one in its block, or in a loop over
    chunks there."""
    around: Op | None = None
    for op in enclosing(access.parent):
        if op.parent is alloc.parent:
            if CHUNKS in op.attrs and around is not None and PRIVATE in around.attrs:
                op = around
            return op if op.opdef is ops.parallel else None
        around = op
    return None


def _is_before(fill: Op, loops: dict[Op, None]) -> bool:
    assert fill.parent is not None
    return next(op for op in fill.parent.ops if op is fill or op in loops) is fill


def _reduces(loop: Op) -> bool:
    return any(op.opdef is ops.parallel and op.results for op in loop.regions[0].walk())


def _is_within(loop: Op) -> bool:
    return any(op.opdef is ops.parallel for op in enclosing(loop.parent))


def _only_sums(loop: Op) -> bool:
    return all(kind == "add" for kind in loop.regions[0].terminator.attrs["kinds"])


def _contract(func: Func, is_fit: Callable[[Op], bool]) -> int:
    """Remove the first axis of arrays that one loop that is fit stores to and loads from, and no other uses. Returns
    the number of these arrays."""
    found = 0
    for alloc in of_kinds(func.body, {ops.alloc}):
        loops = _loops(alloc)
        if loops is not None and len(loops) == 1 and all(map(is_fit, loops)) and _is_between(alloc):
            _take_axis(alloc, *loops)
            found += 1
    return found


def _has_steps(loop: Op) -> bool:
    return any(op.opdef in (ops.for_, ops.while_) for op in loop.regions[0].walk())


def _is_between(alloc: Op) -> bool:
    kinds = {op.opdef for op, _ in alloc.result.uses}
    return ops.store in kinds and ops.load in kinds


def _take_axis(alloc: Op, loop: Op) -> None:
    t = alloc.result.type
    assert isinstance(t, MemRefType)
    body = loop.regions[0]
    users = list(dict.fromkeys(op for op, _ in alloc.result.uses))
    dynamic = iter(alloc.operands)
    extents = [next(dynamic) if extent is None else extent for extent in t.shape]
    number = t.rank == 1
    with insert_at(Block(), alloc.loc) as front:
        attrs = {**alloc.attrs, "type": MemRefType((1,) if number else t.shape[1:], t.element), OWN: True}
        row = build(ops.alloc, [v for v in extents[1:] if isinstance(v, Value)], attrs).result
        row.hint = alloc.result.hint
        zero = const_index(0)
        for fill in (op for op in users if op.opdef is ops.fill):
            build(ops.fill, [fill.operands[0], row])
    put_before(body.ops[0], front.ops)
    for op in users:
        if op.opdef in (ops.fill, ops.dealloc):
            put_instead(op, [])
            op.drop()
        elif op.opdef is ops.dim:
            extent = extents[int(op.attrs["dim"])]
            with insert_at(Block(), op.loc) as made:
                known = extent if isinstance(extent, Value) else const_index(extent)
            op.result.replace_uses(known)
            put_instead(op, made.ops)
            op.drop()
        else:
            at = 0 if op.opdef is ops.load else 1
            rest = [zero] if number else op.operands[at + 2 :]
            with insert_at(Block(), op.loc) as made:
                if at:
                    build(ops.store, [op.operands[0], row, *rest])
                else:
                    value = ops.load(row, *rest)
                    value.hint = op.result.hint
                    op.result.replace_uses(value)
            put_instead(op, made.ops)
            op.drop()
    put_instead(alloc, [])
    alloc.drop()
