"""Products of matrices, taken out of the loops that compute what they multiply.

    for i in range(n):                                  for i in range(n):
        for j in range(m):                                  for j in range(m):
            g = f(i, j)                                         g[i, j] = f(i, j)
            for l in range(k):                          for i, j, l:
                a_bar[i, l] += g * b[l, j]                  a_bar[i, l] += g[i, j] * b[l, j]
                b_bar[l, j] += g * a[i, l]                  b_bar[l, j] += g[i, j] * a[i, l]

That is how the adjoint of a product looks that a program writes as three loops: where its sums become known, the nest
adds to two matrices. On the right are two products (loop distribution with scalar expansion; ``match-products`` calls a
kernel for each), on the left every term is added to memory on its own. They are worth an array for ``g`` if sums have
many terms, which is asked when it is known.

What is taken out comes last. So it must add to arrays that the loops do not touch otherwise, and read arrays that they
do not change, apart from ``g``: numbers, or elements of arrays, that are the same in all iterations of the innermost
loop. The three loops may be sequential: their order does not matter to what they add.

Reference: Allen and Kennedy, Optimizing Compilers for Modern Architectures, Morgan Kaufmann 2001, sections 5.2 and 5.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import build, current_block, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, inside, with_inner
from adc.ir.rewrite import Mapping, clone_op, used_from_outside
from adc.ir.types import MemRefType
from adc.passes.analysis.cold import walk_warm
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import COUNTED, PURE, TERMINATORS
from adc.passes.analysis.machine import machine
from adc.passes.building import loop_of
from adc.passes.rewrite import put_instead
from adc.passes.sums.match_products import is_product

_IN_PRODUCTS = PURE | TERMINATORS | {ops.load, ops.accumulate}
LONG = 1 << 20  # terms, if it is not known how many
MOST = 2  # arrays for what is computed in the two outer loops


@dataclass(frozen=True)
class DistributeProducts:
    """Take products of matrices out of loops, if sums have many terms."""

    name: ClassVar[str] = "distribute-products"

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in module.funcs.values():
            for nest in [n for op in walk_warm(func.body) if (n := _nest(op)) is not None]:
                _distribute(func, nest, summaries)
        return module


@dataclass(frozen=True, eq=False)
class _Nest:
    loops: tuple[Op, Op, Op]  # from the outermost inwards
    places: dict[Value, int]  # which loop's counter a value is, counted forwards

    @property
    def inner(self) -> Op:
        return self.loops[2]


def _nest(inner: Op) -> _Nest | None:
    """The nest whose innermost loop is ``inner``, if that only adds terms, and the nest is rectangular."""
    if inner.opdef not in COUNTED or inner.results or inner.parent is None:
        return None
    body = inner.regions[0]
    if not any(op.opdef is ops.accumulate for op in body.ops):
        return None
    if any(op.opdef not in _IN_PRODUCTS or op.regions for op in body.ops):
        return None
    around = list(enclosing(inner.parent))[:2]
    if len(around) < 2 or any(loop.opdef not in COUNTED for loop in around):
        return None
    loops = around[1], around[0], inner
    places: dict[Value, int] = {}
    for k, loop in enumerate(loops):
        lower, upper, step = loop.operands[:3]
        if constant_of(lower) != 0 or constant_of(step) != 1 or inside(upper, loops[0]):
            return None
        if not _counts(loop, k, places):
            return None
    return _Nest(loops, places)


def _counts(loop: Op, k: int, places: dict[Value, int]) -> bool:
    """Enter the counter of a loop, or what a loop of a reverse sweep subtracts it from."""
    counter, upper = loop.regions[0].args[0], loop.operands[1]
    users = [user for user, _ in counter.uses]
    backward = [user for user in users if _is_reversed(user, counter, upper)]
    if backward and len(backward) != len(users):
        return False
    places.update({user.result: k for user in backward} if backward else {counter: k})
    return True


def _is_reversed(op: Op, counter: Value, upper: Value) -> bool:
    """Whether ``op`` is ``upper - 1 - counter``."""
    if op.opdef is not ops.subi or op.operands[1] is not counter:
        return False
    last = op.operands[0].op
    if last is None or last.opdef is not ops.addi:
        return False
    return last.operands[0] is upper and constant_of(last.operands[1]) == -1


def _distribute(func: Func, nest: _Nest, summaries: Summaries) -> None:
    outer, _, inner = nest.loops
    memory = Memory.asked(func, summaries)
    sums = [op for op in inner.regions[0].ops if op.opdef is ops.accumulate]
    if not _may_come_last(sums, outer, memory) or not _is_private(sums, outer):
        return
    body = [op for op in inner.regions[0].ops[:-1] if not nest.places.keys() & set(op.results)]
    writes = [op for op in with_inner(outer) if not (op.regions or op.opdef is ops.load or op in sums)]
    again = {
        op
        for op in body
        if op.opdef is ops.load
        and (inside(op.operands[0], outer) or any(memory.may_write(w, op.operands[0]) for w in writes))
    }
    if any(inside(v, inner) for op in again for v in op.operands):
        return  # an element that is not the same in all iterations
    body = [op for op in body if op not in again]
    taken = [op.result for op in again]
    taken += [v for v in used_from_outside(body) if inside(v, outer) and v not in nest.places and v not in taken]
    terms = inner.operands[1]
    known = constant_of(terms)
    if len(taken) > MOST or not all(v.type.is_float for v in taken) or (known or LONG) <= machine().few_terms:
        return
    with insert_at(Block(), inner.loc) as apart:
        extents = [loop.operands[1] for loop in nest.loops[:2]]
        arrays = {v: ops.alloc(*extents, type=MemRefType((None, None), v.type)) for v in taken}
        product = _product(nest, arrays, body)
    if not is_product(product):
        for op in reversed(apart.ops):
            op.drop()
        return
    with insert_at(Block(), outer.loc) as otherwise:
        build(ops.yield_, clone_op(outer, {}).results)
    _keep(nest, arrays)
    _put(outer, apart, otherwise if known is None else None, terms)


def _may_come_last(sums: Sequence[Op], outer: Op, memory: Memory) -> bool:
    """Whether nothing else in a nest touches what is added to, and no two of the arrays overlap."""
    targets = list(dict.fromkeys(op.operands[1] for op in sums))
    others = [op for op in with_inner(outer) if not op.regions and op not in sums]
    if any(inside(target, outer) for target in targets):
        return False
    if any(memory.may_overlap(t, u) for k, t in enumerate(targets) for u in targets[:k]):
        return False
    return not any(memory.may_read(op, t) or memory.may_write(op, t) for op in others for t in targets)


def _is_private(sums: Sequence[Op], outer: Op) -> bool:
    """Whether no loop around may run several of the nests at once, as their terms are added without synchronisation."""
    around = [op for op in enclosing(outer.parent) if op.opdef is ops.parallel]
    return all(
        loop.regions[0].args[0] in op.operands[2:] or inside(op.operands[1], loop) for loop in around for op in sums
    )


def _product(nest: _Nest, arrays: dict[Value, Value], body: Sequence[Op]) -> Op:
    """Append a parallel nest of the operations ``body`` of the innermost loop."""
    zero, one = const_index(0), const_index(1)

    def inside_of(counters: list[Value]) -> None:
        if len(counters) < len(nest.loops):
            upper = nest.loops[len(counters)].operands[1]
            loop_of(ops.parallel, zero, upper, one, lambda x: inside_of([*counters, x]), "x")
            return
        mapping: Mapping = {v: counters[k] for v, k in nest.places.items()}
        mapping.update((v, ops.load(array, *counters[:2])) for v, array in arrays.items())
        for op in body:
            clone_op(op, mapping)

    block = current_block()
    inside_of([])
    return block.ops[-1]


def _keep(nest: _Nest, arrays: dict[Value, Value]) -> None:
    """Store what the product takes, instead of the innermost loop, which is dropped."""
    inner = nest.inner
    with insert_at(Block(), inner.loc) as stores:
        at = [next(v for v, k in nest.places.items() if k == level) for level in range(2)]
        for value, array in arrays.items():
            op = value.op
            again = op is not None and inside(value, inner)
            build(ops.store, [clone_op(op, {}).result if again and op is not None else value, array, *at])
    put_instead(inner, stores.ops)
    inner.drop()


def _put(outer: Op, apart: Block, otherwise: Block | None, terms: Value) -> None:
    """Put arrays before the nest and the product after it; if there are few terms, run the nest as it was."""
    *made, product = apart.ops
    if otherwise is None:
        put_instead(outer, [*made, outer, product])
        return
    block, results = outer.parent, outer.results
    assert block is not None
    then = Block()
    with insert_at(Block(), outer.loc) as chosen:
        many = ops.cmpi(terms, const_index(machine().few_terms), predicate="sgt")
        branch = build(ops.if_, [many], {}, [r.type for r in results], [then, otherwise])
    put_instead(outer, chosen.ops)
    for result, new in zip(results, branch.results, strict=True):
        result.replace_uses(new)
    for op in (*made, outer, product):
        then.append(op)
    with insert_at(then, outer.loc):
        build(ops.yield_, list(results))
