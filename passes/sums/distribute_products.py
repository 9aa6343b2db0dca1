"""Products of matrices, taken out of the loops that compute what they multiply.

    for i in range(n):                                  for i in range(n):
        for j in range(m):                                  for j in range(m):
            g = f(i, j)                                         g[i, j] = f(i, j)
            for l in range(k):                          for i, j, l:
                a_bar[i, l] += g * b[l, j]                  a_bar[i, l] += g[i, j] * b[l, j]
                b_bar[l, j] += g * a[i, l]                  b_bar[l, j] += g[i, j] * a[i, l]

That is how the adjoint of a product looks that a program writes as three loops: where its sums become known, the nest
adds to two matrices. On the right are two products (loop distribution with scalar expansion; ``match-products`` calls a
kernel for each), on the left every term is added to memory on its own. They are worth an array for ``g`` and the calls
if sums are not short, and there are some rows and columns, which is asked when it is known. A nest that is a product
already stays, and so does what ``version-products`` made for few terms.

What is taken out comes last. So it must add to arrays that the loops do not touch otherwise, and read arrays that they
do not change, apart from ``g``: a number, or an element of an array, that is the same in all iterations of the
innermost loop, times scales that the loops do not change. A scale that the nest multiplies later, as ``alpha`` in
``(g * b[l, j]) * alpha``, is multiplied into ``g`` only if it is moderate, as the product may be out of range otherwise
where the numbers in their order were not. The three loops may be sequential: their order does not matter to what they
add.

Loops around the nest, those over time for instance, may repeat it with another ``g`` and the same ``a`` and ``b``. Then
they sum ``g``, and the products come after them, once.

Reference: Allen and Kennedy, Optimizing Compilers for Modern Architectures, Morgan Kaufmann 2001, sections 5.2 and 5.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of
from adc.ir.builder import build, current_block, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, having, inside, with_inner
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.types import MemRefType, i1
from adc.passes.analysis.cold import walk_warm
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import COUNTED, PURE, TERMINATORS
from adc.passes.building import loop_of
from adc.passes.rewrite import put_instead
from adc.passes.sums.match_products import is_product, is_short
from adc.passes.sums.repeated import put_around, repeating

_IN_PRODUCTS = PURE | TERMINATORS | {ops.load, ops.accumulate}
AROUND = 40  # operations beside the innermost loop, which become two: a step of a large program stays as it is
FEWEST = 4  # rows and columns; with fewer, the calls take as long as the loops
FEWEST_TERMS = 7  # of a sum; the kernel is faster than a loop that adds to memory from here on
MODERATE = 1e-3, 1e3  # absolute values of scales
MOST = 2  # arrays for what is computed in the two outer loops


@dataclass(frozen=True)
class DistributeProducts:
    """Take products of matrices out of loops, if sums have many terms."""

    name: ClassVar[str] = "distribute-products"
    needs = frozenset({ops.accumulate})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
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
    if is_short(inner, inner.operands[1]):
        return None
    return _Nest(loops, places)


def _counts(loop: Op, k: int, places: dict[Value, int]) -> bool:
    """Enter the counter of a loop, or what a loop of a reverse sweep subtracts it from."""
    counter, upper = loop.regions[0].args[0], loop.operands[1]
    users = [user for user, _ in counter.uses]
    backward = [found for user in users for found in _reversed(user, counter, upper)]
    if not backward:
        places[counter] = k
        return True
    places.update((found, k) for found in backward)
    return all(_reversed(user, counter, upper) for user in users)


def _reversed(op: Op, counter: Value, upper: Value) -> list[Value]:
    """What is ``upper - 1 - counter``, if ``op`` subtracts the counter from one of the first two and nothing else is
    computed from that."""
    if op.opdef is not ops.subi or op.operands[1] is not counter:
        return []
    if _is_before(op.operands[0], upper):
        return [op.result]
    users = [user for user, _ in op.result.uses]
    if op.operands[0] is upper and all(_is_before(user.result, op.result) for user in users if user.results):
        return [user.result for user in users if user.results]
    return []


def _is_before(value: Value, end: Value) -> bool:
    """Whether a value is ``end - 1``."""
    op = value.op
    return op is not None and op.opdef is ops.addi and op.operands[0] is end and constant_of(op.operands[1]) == -1


def _distribute(func: Func, nest: _Nest, summaries: Summaries) -> None:
    outer, _, inner = nest.loops
    memory = Memory.asked(func, summaries)
    sums = [op for op in inner.regions[0].ops if op.opdef is ops.accumulate]
    if is_product(outer) or sum(1 for _ in with_inner(outer)) - sum(1 for _ in with_inner(inner)) > AROUND:
        return
    if not _may_come_last(sums, outer, memory) or not _is_private(sums, outer):
        return
    writes = [op for op in with_inner(outer) if not (op.regions or op.opdef is ops.load or op in sums)]

    terms = [_term(op, nest) for op in sums]
    found = [term for term in terms if term is not None]
    if len(found) < len(terms) or any(memory.may_write(w, array) for t in found for array in t.read for w in writes):
        return
    kept = dict.fromkeys(term.kept for term in found)
    around = _around(func, nest, found, sums, memory)
    with insert_at(Block(), outer.loc) as asked:
        worth = _worth(nest, dict.fromkeys(scale for term in found for scale in term.late))
    if len(kept) > MOST or worth is False:
        _drop(asked)
        return
    with insert_at(Block(), inner.loc) as apart:
        extents = [loop.operands[1] for loop in nest.loops[:2]]
        arrays = {of: ops.alloc(*extents, type=MemRefType((None, None), of[0].type)) for of in kept}
        product = _product(nest, arrays, found)
    if not is_product(product):
        _drop(apart)
        _drop(asked)
        return
    otherwise = None
    if isinstance(worth, Value):
        with insert_at(Block(), outer.loc) as otherwise:
            build(ops.yield_, clone_op(outer, {}).results)
    _keep(nest, arrays, summed=bool(around))
    if around:
        put_around(around, [*asked.ops, *apart.ops], arrays.values(), worth)
        _put(outer, [], worth, otherwise)
    else:
        put_instead(outer, [*asked.ops, outer])
        _put(outer, apart.ops, worth, otherwise)


def _around(func: Func, nest: _Nest, terms: Sequence[_Term], sums: Sequence[Op], memory: Memory) -> list[Op]:
    """The loops that repeat a nest with other numbers ``kept``, from the innermost."""
    extents = [loop.operands[1] for loop in nest.loops]
    scales = [scale for term in terms for scale in term.late]
    loads = [term.load for term in terms] + [v.op for v in scales if v.op is not None and inside(v, nest.loops[0])]
    fixed = [v for op in (*loads, *sums) for v in op.operands[1:] if v not in nest.places]
    fixed += [v for v in scales if not inside(v, nest.loops[0])]
    read = [op.operands[0] for op in loads]
    return repeating(func, nest.loops[0], sums, [*extents, *fixed], read, memory)


def _drop(block: Block) -> None:
    for op in reversed(block.ops):
        op.drop()


def _worth(nest: _Nest, scales: Iterable[Value]) -> Value | bool:
    """Whether there are enough terms, rows and columns, and the scales are moderate; appended if not known."""
    tests: list[Value] = []
    for loop, few in zip(nest.loops, (FEWEST, FEWEST, FEWEST_TERMS), strict=True):
        extent = loop.operands[1]
        known = constant_of(extent)
        if known is None:
            tests.append(ops.cmpi(extent, const_index(few), predicate="sge"))
        elif known < few:
            return False
    low, high = MODERATE
    numbers = []
    for scale in scales:
        known = constant_of(scale)
        if known is None:
            numbers.append(scale)
        elif not low <= abs(known) <= high:
            return False

    def moderate() -> Value:
        sizes = [ops.absf(_again(scale, nest.loops[0])) for scale in numbers]
        above = [ops.cmpf(size, const(low, size.type), predicate="oge") for size in sizes]
        below = [ops.cmpf(size, const(high, size.type), predicate="ole") for size in sizes]
        return reduce(ops.andi, [*above, *below])

    if not numbers or not tests:
        return reduce(ops.andi, tests) if tests else moderate() if numbers else True
    then, otherwise = Block(), Block()  # elements can be read if the nest has iterations
    with insert_at(then, nest.inner.loc):
        build(ops.yield_, [moderate()])
    with insert_at(otherwise, nest.inner.loc):
        build(ops.yield_, [const(False, i1)])
    return build(ops.if_, [reduce(ops.andi, tests)], {}, [i1], [then, otherwise]).results[0]


@dataclass(frozen=True, eq=False)
class _Term:
    """What is added to an array: the product of numbers that are ``kept`` and an element that is loaded. ``late``: the
    scales among the numbers, unless they are multiplied before the element. ``strong``: nothing, if the first of the
    numbers is zero. ``read``: the arrays whose elements are read at another time."""

    sum: Op
    kept: tuple[Value, ...]
    load: Op
    late: Sequence[Value]
    strong: bool
    read: Sequence[Value]


def _term(sum: Op, nest: _Nest) -> _Term | None:
    outer, _, inner = nest.loops
    factors: list[Value] = []
    tests: list[Value] = []
    _take_apart(sum.operands[0], inner, factors, tests)
    scales = [f for f in factors if _is_scale(f, outer)]
    kept = [f for f in factors if f not in scales and _is_fixed(f, inner)]
    loads = [f.op for f in factors if f not in kept and f not in scales]
    if len(kept) != 1 or len(loads) != 1 or loads[0] is None or loads[0].opdef is not ops.load:
        return None
    if any(not _is_zero_test(test, kept[0]) for test in tests):
        return None
    at = [v for v in (*loads[0].operands, *sum.operands[1:]) if v not in nest.places]
    if any(inside(v, outer) for v in at):
        return None
    is_last = _is_factor(loads[0].result, sum.operands[0])
    read = [loads[0].operands[0], *(v.op.operands[0] for v in scales if v.op is not None and inside(v, outer))]
    return _Term(sum, (kept[0], *scales), loads[0], () if is_last else scales, bool(tests), read)


def _is_scale(value: Value, outer: Op) -> bool:
    """Whether a number is known before the nest, or an element that may be read there if the nest has iterations."""
    op = value.op
    if not inside(value, outer):
        return True
    return op is not None and op.opdef is ops.load and not any(inside(v, outer) for v in op.operands)


def _again(value: Value, loop: Op) -> Value:
    """A number, loaded once more if it is loaded in the loop."""
    return clone_op(value.op, {}).result if value.op is not None and inside(value, loop) else value


def _is_factor(value: Value, product: Value) -> bool:
    """Whether a product is written as that of all its other factors and ``value``."""
    op = product.op
    if op is None or op.opdef is not ops.mulf:
        return False
    chosen = [x.op.operands[2] if x.op is not None and x.op.opdef is ops.select else x for x in op.operands]
    return value in chosen


def _is_fixed(value: Value, inner: Op) -> bool:
    """Whether a factor is the same in all iterations of the innermost loop: known before it, or an element."""
    if not inside(value, inner):
        return True
    op = value.op
    return op is not None and op.opdef is ops.load and not any(inside(v, inner) for v in op.operands)


def _take_apart(value: Value, inner: Op, factors: list[Value], tests: list[Value]) -> None:
    """The factors of a product that are computed in the innermost loop or before it, and the conditions under which one
    of them is taken to be zero."""
    op = value.op if inside(value, inner) else None
    if op is not None and op.opdef is ops.mulf:
        for operand in op.operands:
            _take_apart(operand, inner, factors, tests)
    elif op is not None and op.opdef is ops.select and constant_of(op.operands[1]) == 0.0:
        tests.append(op.operands[0])
        _take_apart(op.operands[2], inner, factors, tests)
    else:
        factors.append(value)


def _is_zero_test(test: Value, number: Value) -> bool:
    op = test.op
    if op is None or op.opdef is not ops.cmpf or op.attrs["predicate"] != "oeq":
        return False
    return op.operands[0] is number and constant_of(op.operands[1]) == 0.0


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


def _product(nest: _Nest, arrays: dict[tuple[Value, ...], Value], terms: Sequence[_Term]) -> Op:
    """Append a parallel nest that adds the terms."""
    zero, one = const_index(0), const_index(1)

    def inside_of(counters: list[Value]) -> None:
        if len(counters) < len(nest.loops):
            upper = nest.loops[len(counters)].operands[1]
            loop_of(ops.parallel, zero, upper, one, lambda x: inside_of([*counters, x]), "x")
            return
        mapping: Mapping = {v: counters[k] for v, k in nest.places.items()}
        kept = {of: ops.load(array, *counters[:2]) for of, array in arrays.items()}
        for term in terms:
            number, factor = kept[term.kept], clone_op(term.load, mapping).result
            if term.strong:
                nothing = const(0.0, factor.type)
                factor = ops.select(ops.cmpf(number, nothing, predicate="oeq"), nothing, factor)
            added = ops.mulf(number, factor, fastmath=ops.CONTRACT)
            mapping[term.sum.operands[0]] = added
            clone_op(term.sum, mapping)

    block = current_block()
    inside_of([])
    return block.ops[-1]


def _keep(nest: _Nest, arrays: dict[tuple[Value, ...], Value], summed: bool) -> None:
    """Store what the product takes, or add it to what loops around have summed, instead of the innermost loop, which is
    dropped."""
    inner = nest.inner
    with insert_at(Block(), inner.loc) as stores:
        at = []
        for loop in nest.loops[:2]:
            counter = loop.regions[0].args[0]
            is_forward = counter in nest.places
            at.append(counter if is_forward else ops.subi(ops.addi(loop.operands[1], const_index(-1)), counter))
        for (number, *scales), array in arrays.items():
            total = reduce(ops.mulf, [_again(scale, inner) for scale in scales], _again(number, inner))
            build(ops.accumulate if summed else ops.store, [total, array, *at])
    put_instead(inner, stores.ops)
    inner.drop()


def _put(outer: Op, apart: Sequence[Op], worth: Value | bool, otherwise: Block | None) -> None:
    """Put arrays before the nest and the product after it; if that is not worth it, run the nest as it was."""
    made, product = apart[:-1], apart[-1:]
    if isinstance(worth, bool) or otherwise is None:
        put_instead(outer, [*made, outer, *product])
        return
    block, results = outer.parent, outer.results
    assert block is not None
    then = Block()
    with insert_at(Block(), outer.loc) as chosen:
        branch = build(ops.if_, [worth], {}, [r.type for r in results], [then, otherwise])
    put_instead(outer, chosen.ops)
    for result, new in zip(results, branch.results, strict=True):
        result.replace_uses(new)
    for op in (*made, outer, *product):
        then.append(op)
    with insert_at(then, outer.loc):
        build(ops.yield_, list(results))
