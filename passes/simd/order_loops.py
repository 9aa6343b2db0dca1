"""Parallel loops go through memory in order: of two nested loops, the inner one is that along which elements are
neighbours, or nearer to each other.

``for j: for i: a[i, j] = x[i] * c[j]`` goes down the columns of ``a``, with a cache line for each element; the other
way round it is SIMD. Adjoints have such nests (that of ``v @ a`` by ``a``), and users write them. Iterations of
parallel loops may run in any order, so the two may be swapped: what the outer loop loads for the inner one is then
loaded for each element. Nests of more loops are sorted in this way, and so are nests that only reduce all elements to
numbers, like ``np.sum(a.T * a.T)``: the order in which parallel loops reduce is adc's own.

Sums, extremes and products of columns are taken row by row: see ``column_reductions``. Where that cannot be done, a
loop that finds an extreme or a product takes its steps in order: then ``vectorise-outer`` finds those of many columns
side by side.

Reference: Allen and Kennedy, Optimizing Compilers for Modern Architectures, Morgan Kaufmann 2001, section 9.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import REVERSE
from adc.ir.nesting import enclosing, inside
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.types import MemRefType
from adc.passes.analysis.affine import Forms
from adc.passes.analysis.cold import walk_warm
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import ELEMENT, PURE
from adc.passes.rewrite import put_instead, to_sequential
from adc.passes.simd.column_reductions import find_column_reduction, reduction_inside

STRIDED = 8
"""The cost of an element whose neighbours along the loop are apart in memory; one that is beside them costs 1."""

DEPTH = 8
"""The trip count that loops inside of the two are taken to have."""

FEW = 16
"""Inner loops that are known to have fewer iterations are unrolled, and the outer one becomes SIMD."""


@dataclass(frozen=True)
class OrderLoops:
    """Exchange two nested parallel loops where elements that were apart become neighbours; unless ``exchange_only``,
    columns are also reduced row by row."""

    exchange_only: bool = False
    name: ClassVar[str] = "order-loops"

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in module.funcs.values():
            while _exchange_some(func, summaries):
                pass
            if self.exchange_only:
                continue
            forms = Forms()
            for inner in [op for op in walk_warm(func.body) if _is_along_column(op, forms)]:
                reduction = find_column_reduction(inner, Memory.asked(func, summaries), forms)
                if reduction is not None and "add" not in _kinds(inner):
                    reduction.replace()
                elif _takes_steps_alike(inner) and ("add" not in _kinds(inner) or _only_columns(inner, forms)):
                    put_instead(inner, [to_sequential(inner)])
        return module


def _exchange_some(func: Func, summaries: Summaries) -> bool:
    """Exchange disjoint pairs of loops. Returns whether there were any."""
    forms = Forms()
    pairs = [pair for op in walk_warm(func.body) if (pair := _pair(op)) is not None and _pays(*pair, forms)]
    if not pairs:
        return False
    memory = Memory.asked(func, summaries)
    done: set[Op] = set()
    for outer, inner in pairs:
        if done.isdisjoint((outer, inner)) and _may_change(outer, inner, memory):
            done |= {outer, inner, *(op for op in inner.regions[0].ops if op.regions)}
            _exchange(outer, inner)
    return bool(done)


def _is_along_column(inner: Op, forms: Forms) -> bool:
    """Whether a loop only reduces elements along which neighbours are apart, inside a loop along which they are side by
    side."""
    if inner.opdef is not ops.parallel or not inner.results:
        return False
    outer = next(enclosing(inner.parent), None)
    if outer is None or outer.opdef is not ops.parallel or int(constant_of(outer.operands[1]) or FEW) < FEW:
        return False
    body, column, row = list(inner.regions[0].walk()), outer.regions[0].args[0], inner.regions[0].args[0]
    return _cost(body, column, forms) < _cost(body, row, forms)


def _only_columns(inner: Op, forms: Forms) -> bool:
    """Whether all loops beside this sum go along columns, too, and elements of columns are apart in memory: then
    nothing that goes along rows is run for several columns side by side."""
    outer = next(enclosing(inner.parent))
    loops = [op for op in outer.regions[0].ops if op.regions and op.results]
    return all(
        op.opdef is ops.for_
        or (_is_along_column(op, forms) and _cost(list(op.regions[0].walk()), op.regions[0].args[0], forms) >= STRIDED)
        for op in loops
    )


def _takes_steps_alike(inner: Op) -> bool:
    """Whether a loop has no others inside, and the same steps for all columns."""
    outer = next(enclosing(inner.parent))
    return not any(op.regions for op in inner.regions[0].ops) and not any(inside(v, outer) for v in inner.operands)


def _kinds(loop: Op) -> Sequence[str]:
    kinds: Sequence[str] = loop.regions[0].terminator.attrs["kinds"]
    return kinds


def _pair(outer: Op) -> tuple[Op, Op] | None:
    """A loop that contains only one other loop, apart from loads and computations for that; and the inner loop."""
    inner = _only_loop(outer)
    if inner is None or not all(loop.opdef is ops.parallel and set(loop.attrs) <= _KNOWN for loop in (outer, inner)):
        return None
    innermost = inner
    while any(op.regions for op in innermost.regions[0].ops):
        following = _only_loop(innermost)
        if following is None:
            return (outer, inner) if _is_of_results(innermost) else None
        if following.opdef is not ops.parallel:
            return None
        innermost = following
    return outer, inner


def _is_of_results(loop: Op) -> bool:
    """Whether the only operation with regions in a loop is a reduction, whose results are used in the loop."""
    found = [op for op in loop.regions[0].ops if op.regions]
    if len(found) != 1 or found[0].opdef is not ops.parallel or not found[0].results:
        return False
    return not any(op.regions for op in found[0].regions[0].ops)


def _only_loop(outer: Op) -> Op | None:
    """The only operation with regions in a loop, if it is at the end; None if there is none, or if one of the two has
    results, unless those of the loop only combine those of the other one."""
    found = [op for op in outer.regions[0].ops if op.regions] if outer.opdef is ops.parallel else []
    if len(found) != 1 or found[0] is not outer.regions[0].ops[-2]:
        return None
    if outer.results:
        return reduction_inside(outer)
    return None if found[0].results else found[0]


_KNOWN = frozenset({"threads", REVERSE})


def _may_change(outer: Op, inner: Op, memory: Memory) -> bool:
    if _only_loop(inner) is None and int(constant_of(inner.operands[1]) or FEW) < FEW:
        return False
    if any(inside(v, outer) for v in inner.operands):
        return False
    for op in outer.regions[0].walk():
        if op.opdef is ops.load:
            if op.parent is outer.regions[0] and memory.may_write(outer, op.operands[0]):
                return False
        elif op.opdef is ops.store:
            if op.parent is outer.regions[0]:
                return False
        elif op.opdef not in PURE and op.opdef not in (ops.parallel, ops.reduce):
            return False
    return True


def _pays(outer: Op, inner: Op, forms: Forms) -> bool:
    """Whether elements along the outer loop are nearer to each other than along the inner one. Around sums, there have
    to be elements that the outer loop has side by side: else the sums are what goes along rows, in either order, and
    nests that follow each other stay alike, and become one."""
    ahead, body = outer.regions[0].ops[:-2], list(inner.regions[0].walk())
    now, then = inner.regions[0].args[0], outer.regions[0].args[0]
    often = [op for op in body if op.parent is not inner.regions[0]] * (DEPTH - 1)
    if any(op.results for op in body if op.regions) and not any(_cost([op], then, forms) == 1 for op in body):
        return False
    near, far = _cost([*ahead, *body, *often], then, forms), _cost([*body, *often], now, forms)
    if near != far or _only_loop(inner) is None:
        return near < far
    return _leading(body, then, forms) > _leading(body, now, forms)


def _leading(body: Sequence[Op], counter: Value, forms: Forms) -> int:
    """The sum, over all accesses, of the position of the first subscript that a counter moves: the higher, the nearer
    to each other are the elements."""
    total = 0
    for op in body:
        if op.opdef in ELEMENT:
            steps = [forms.of(v).split(forms.symbol(counter))[0] for v in _subscripts(op)]
            total += next((k for k, step in enumerate(steps) if not step.is_constant or step.constant != 0), 0)
    return total


def _subscripts(op: Op) -> Sequence[Value]:
    return op.operands[1:] if op.opdef is ops.load else op.operands[2:]


def _cost(body: Sequence[Op], counter: Value, forms: Forms) -> int:
    """The cost of the accesses of ``body`` in a loop with that counter."""
    total = 0
    for op in body:
        if op.opdef not in ELEMENT:
            continue
        memref, subscripts = op.operands[0 if op.opdef is ops.load else 1], _subscripts(op)
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
        types, starts = [r.type for r in outer.results], (outer.operands[3:], inner.operands[3:])
        with insert_at(whole, inner.loc):
            parts = build(ops.parallel, [*outer.operands[:3], *starts[1]], dict(inner.attrs), types, [part]).results
            build(ops.reduce, parts, {"kinds": tuple(_kinds(outer))})
        found = build(ops.parallel, [*inner.operands[:3], *starts[0]], dict(outer.attrs), types, [whole]).results
    put_instead(outer, made.ops)
    for old, new in zip(outer.results, found, strict=True):
        old.replace_uses(new)
        new.hint = old.hint
    outer.drop()
