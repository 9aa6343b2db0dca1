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
do not change, apart from ``g``: a number, or an element of an array, that is the same in all iterations of the
innermost loop, times constants. The three loops may be sequential: their order does not matter to what they add.

Reference: Allen and Kennedy, Optimizing Compilers for Modern Architectures, Morgan Kaufmann 2001, sections 5.2 and 5.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of
from adc.ir.builder import build, current_block, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, inside, with_inner
from adc.ir.rewrite import Mapping, clone_op
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
AROUND = 40  # operations beside the innermost loop, which become two: a step of a large program stays as it is
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
    if sum(1 for _ in with_inner(outer)) - sum(1 for _ in with_inner(inner)) > AROUND:
        return
    if not _may_come_last(sums, outer, memory) or not _is_private(sums, outer):
        return
    writes = [op for op in with_inner(outer) if not (op.regions or op.opdef is ops.load or op in sums)]

    terms = [_term(op, nest) for op in sums]
    found = [term for term in terms if term is not None]
    if len(found) < len(terms) or any(memory.may_write(w, t.load.operands[0]) for t in found for w in writes):
        return
    count = inner.operands[1]
    known = constant_of(count)
    kept = dict.fromkeys(term.kept for term in found)
    if len(kept) > MOST or (known or LONG) <= machine().few_terms:
        return
    with insert_at(Block(), inner.loc) as apart:
        extents = [loop.operands[1] for loop in nest.loops[:2]]
        arrays = {of: ops.alloc(*extents, type=MemRefType((None, None), of[0].type)) for of in kept}
        product = _product(nest, arrays, found)
    if not is_product(product):
        for op in reversed(apart.ops):
            op.drop()
        return
    with insert_at(Block(), outer.loc) as otherwise:
        build(ops.yield_, clone_op(outer, {}).results)
    _keep(nest, arrays)
    _put(outer, apart, otherwise if known is None else None, count)


@dataclass(frozen=True, eq=False)
class _Term:
    """What is added to an array: the product of numbers that are ``kept`` and an element that is loaded. ``strong``:
    nothing, if the first of the numbers is zero."""

    sum: Op
    kept: tuple[Value, ...]
    load: Op
    strong: bool


def _term(sum: Op, nest: _Nest) -> _Term | None:
    outer, _, inner = nest.loops
    factors: list[Value] = []
    tests: list[Value] = []
    _take_apart(sum.operands[0], factors, tests)
    scales = [f for f in factors if not inside(f, outer)]
    kept = [f for f in factors if f not in scales and _is_fixed(f, inner)]
    loads = [f.op for f in factors if f not in kept and f not in scales]
    if len(kept) != 1 or len(loads) != 1 or loads[0] is None or loads[0].opdef is not ops.load:
        return None
    if any(not _is_zero_test(test, kept[0]) for test in tests):
        return None
    at = [v for v in (*loads[0].operands, *sum.operands[1:]) if v not in nest.places]
    if any(inside(v, outer) for v in at):
        return None
    return _Term(sum, (kept[0], *scales), loads[0], bool(tests))


def _is_fixed(value: Value, inner: Op) -> bool:
    """Whether a factor is the same in all iterations of the innermost loop: known before it, or an element."""
    if not inside(value, inner):
        return True
    op = value.op
    return op is not None and op.opdef is ops.load and not any(inside(v, inner) for v in op.operands)


def _take_apart(value: Value, factors: list[Value], tests: list[Value]) -> None:
    """The factors of a product, and the conditions under which one of them is taken to be zero."""
    op = value.op
    if op is not None and op.opdef is ops.mulf:
        for operand in op.operands:
            _take_apart(operand, factors, tests)
    elif op is not None and op.opdef is ops.select and constant_of(op.operands[1]) == 0.0:
        tests.append(op.operands[0])
        _take_apart(op.operands[2], factors, tests)
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


def _keep(nest: _Nest, arrays: dict[tuple[Value, ...], Value]) -> None:
    """Store what the product takes, instead of the innermost loop, which is dropped."""
    inner = nest.inner
    with insert_at(Block(), inner.loc) as stores:
        at = []
        for loop in nest.loops[:2]:
            counter = loop.regions[0].args[0]
            is_forward = counter in nest.places
            at.append(counter if is_forward else ops.subi(ops.addi(loop.operands[1], const_index(-1)), counter))
        for (number, *scales), array in arrays.items():
            again = number.op if number.op is not None and inside(number, inner) else None
            total = clone_op(again, {}).result if again is not None else number
            for scale in scales:
                total = ops.mulf(total, scale)
            build(ops.store, [total, array, *at])
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
