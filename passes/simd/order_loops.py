"""Parallel loops go through memory in order: of two, one in the other, the inner one is that along which elements are
neighbours.

``for j: for i: a[i, j] = x[i] * c[j]`` goes down the columns of ``a``, with a cache line for each element; the other
way round it is SIMD. Adjoints have such nests (that of ``v @ a`` by ``a``), and users write them. Iterations of
parallel loops may run in any order, so the two may change places: what the outer loop loads for the inner one is then
loaded for each element.

A loop that finds the extreme of a column, or its product, and is in one over columns, takes its steps in order: then
``vectorise-outer`` finds those of many columns side by side. (An extreme has no order; products are NumPy's so.)

Reference: Allen and Kennedy, Optimizing Compilers for Modern Architectures, Morgan Kaufmann 2001, section 9.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.loop_attrs import REVERSE
from adc.ir.nesting import enclosing, inside
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.types import MemRefType
from adc.passes.analysis.affine import Forms
from adc.passes.analysis.cold import walk_warm
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import ELEMENT, PURE
from adc.passes.rewrite import put_instead, to_sequential

STRIDED = 8
"""What an element costs whose neighbours in the loop are apart in memory, where one beside them costs 1."""

FEW = 16
"""Inner loops of fewer iterations, if these are known, are unrolled, and the outer one becomes SIMD."""


@dataclass(frozen=True)
class OrderLoops:
    """Exchange two parallel loops where that makes neighbours of elements that were apart."""

    name: ClassVar[str] = "order-loops"

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in module.funcs.values():
            pairs = [pair for op in walk_warm(func.body) if (pair := _pair(op)) is not None]
            if pairs:
                memory, forms = Memory.asked(func, summaries), Forms()
                for outer, inner in [pair for pair in pairs if _pays(*pair, forms) and _may_change(*pair, memory)]:
                    _exchange(outer, inner)
            forms = Forms()
            for inner in [op for op in walk_warm(func.body) if _is_along_column(op, forms)]:
                put_instead(inner, [to_sequential(inner)])
        return module


def _is_along_column(inner: Op, forms: Forms) -> bool:
    """Whether a loop is all for an extreme or a product along which neighbours are apart, in a loop along which they
    are side by side."""
    if inner.opdef is not ops.parallel or not inner.results or any(op.regions for op in inner.regions[0].ops):
        return False
    outer = next(enclosing(inner.parent), None)
    if outer is None or outer.opdef is not ops.parallel or any(inside(v, outer) for v in inner.operands):
        return False
    kinds = inner.regions[0].terminator.attrs["kinds"]
    if not set(kinds) <= _IN_ORDER:
        return False
    body, column, row = inner.regions[0].ops[:-1], outer.regions[0].args[0], inner.regions[0].args[0]
    return _cost(body, column, forms) < _cost(body, row, forms)


_IN_ORDER = frozenset({"min", "max", "mul"})


def _pair(outer: Op) -> tuple[Op, Op] | None:
    """A loop in which there is only one other, an innermost one, and what is loaded and computed for that."""
    if outer.opdef is not ops.parallel or outer.results or not set(outer.attrs) <= _KNOWN:
        return None
    loops = [op for op in outer.regions[0].ops if op.regions]
    if len(loops) != 1 or loops[0] is not outer.regions[0].ops[-2]:
        return None
    inner = loops[0]
    if inner.opdef is not ops.parallel or inner.results or not set(inner.attrs) <= _KNOWN:
        return None
    return None if any(op.regions for op in inner.regions[0].ops) else (outer, inner)


_KNOWN = frozenset({"threads", REVERSE})


def _may_change(outer: Op, inner: Op, memory: Memory) -> bool:
    if int(constant_of(inner.operands[1]) or FEW) < FEW:
        return False
    if any(inside(v, outer) for v in inner.operands):
        return False
    for op in (*outer.regions[0].ops[:-2], *inner.regions[0].ops[:-1]):
        if op.opdef is ops.load:
            if op.parent is outer.regions[0] and memory.may_write(outer, op.operands[0]):
                return False
        elif op.opdef not in PURE and not (op.opdef is ops.store and op.parent is inner.regions[0]):
            return False
    return True


def _pays(outer: Op, inner: Op, forms: Forms) -> bool:
    ahead, body = outer.regions[0].ops[:-2], inner.regions[0].ops[:-1]
    now, then = inner.regions[0].args[0], outer.regions[0].args[0]
    return _cost([*ahead, *body], then, forms) < _cost(body, now, forms)


def _cost(body: Sequence[Op], counter: Value, forms: Forms) -> int:
    """Of what ``body`` accesses in a loop with that counter."""
    total = 0
    for op in body:
        if op.opdef not in ELEMENT:
            continue
        memref, *subscripts = op.operands if op.opdef is ops.load else op.operands[1:]
        t = memref.type
        assert isinstance(t, MemRefType)
        steps = [forms.of(v).split(forms.symbol(counter))[0] for v in subscripts]
        moved = [not step.is_constant or step.constant != 0 for step in steps]
        if any(moved):
            side_by_side = t.strides is None or t.strides[-1] == 1
            unit = steps[-1].is_constant and abs(steps[-1].constant) == 1
            total += 1 if side_by_side and unit and not any(moved[:-1]) else STRIDED
    return total


def _exchange(outer: Op, inner: Op) -> None:
    with insert_at(Block(), outer.loc) as made:
        whole = Block([inner.regions[0].args[0].type], [inner.regions[0].args[0].hint])
        part = Block([outer.regions[0].args[0].type], [outer.regions[0].args[0].hint])
        mapping: Mapping = {inner.regions[0].args[0]: whole.args[0], outer.regions[0].args[0]: part.args[0]}
        with insert_at(part, inner.loc):
            for op in (*outer.regions[0].ops[:-2], *inner.regions[0].ops):
                clone_op(op, mapping)
        with insert_at(whole, inner.loc):
            build(ops.parallel, outer.operands, dict(inner.attrs), [], [part])
            build(ops.reduce, [], {"kinds": ()})
        build(ops.parallel, inner.operands, dict(outer.attrs), [], [whole])
    put_instead(outer, made.ops)
    outer.drop()
