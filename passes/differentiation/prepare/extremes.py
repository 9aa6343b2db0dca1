"""Minima and maxima, prepared for differentiation: first the loop finds where they are, then what is there.

A loop that reduces floats by minimum or maximum has the derivative of one of its terms. Its result is compared with
each term again, in a parallel loop that finds the first iteration with exactly that result. The loop's body is run once
more for that iteration, and the derivative of what it computes is that of the result. So nothing of the loop itself is
differentiated or kept, in any mode. Of several equal terms the first one counts; if some are NaN, the first of those.

Terms that are computed again need not have the same bits: a library function gives other bits where its loop is SIMD,
and a product may be fused with a sum in one place and not in the other. If such a term is not found, the terms are
compared with one another, in one loop that finds their extreme and its place. Terms that take loops to compute are
treated so from the start, since computing them twice would take twice the time; unless that leaves nothing to threads.

The few terms of a window, whose loops have constant bounds (``x.reshape(n, 2, m, 2).max(axis=(1, 3))``), are compared
one after the other without a loop, so that windows side by side are SIMD.
"""

from __future__ import annotations

from itertools import product

from adc.ir import ops
from adc.ir.arith import const, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Op, Value
from adc.ir.nesting import enclosing
from adc.ir.rewrite import Mapping, clone_op, inline_block
from adc.ir.types import FloatType, IntType, index
from adc.passes.analysis.cold import COLD
from adc.passes.analysis.costs import has_known_length
from adc.passes.analysis.kinds import LOOPS, PURE, READS, REGIONS, TERMINATORS, VIEWS, WRITES

_NOWHERE = 2**63 - 1
_FEW = 16  # terms that are compared without a loop
_SHORT = 64  # operations that these may take in all
_REPEATED = (PURE | READS | VIEWS | TERMINATORS | REGIONS | {ops.bound}) - WRITES


def locate_extremes(func: Func, active: set[Value]) -> None:
    """Let what is found at the place of an extreme stand for it, wherever a loop only reduces.

    ``active`` are the results of loops whose derivatives matter; afterwards, those that still have derivatives.
    """
    _visit(func.body, active)


def _visit(block: Block, active: set[Value]) -> None:
    made = block.in_place_of()
    for op in block.ops:
        extremes = []
        if op.opdef is ops.parallel and may_be_repeated(op.regions[0]):
            extremes = [k for k in extremes_of(op) if op.results[k] in active]
        window = _window(op) if extremes else []
        replaced = bool(extremes) and (bool(window) or _is_costly(op))
        if not replaced:
            made.append(op)
        with insert_at(made, op.loc):
            if window:
                _compare(window, active)
            else:
                for k in extremes:
                    _locate(op, k, active)
        if replaced:
            op.drop()
    block.set_ops(made.ops)
    for op in block.ops:
        for region in op.regions:
            _visit(region, active)


def extremes_of(loop: Op) -> list[int]:
    """The positions of the results that are minima or maxima of floats."""
    kinds = loop.regions[0].terminator.attrs["kinds"]
    return [k for k, r in enumerate(loop.results) if r.type.is_float and kinds[k] in ("min", "max")]


def may_be_repeated(body: Block) -> bool:
    """Whether a body has no effects other than to end the run, which it would have ended before."""
    return all(op.opdef in _REPEATED and all(map(may_be_repeated, op.regions)) for op in body.ops)


def _is_costly(loop: Op) -> bool:
    """Whether the terms of a loop take loops to compute, and loops around it are there for threads."""
    around = any(op.opdef in LOOPS for op in enclosing(loop.parent))
    return around and len(loop.results) == 1 and any(op.opdef in LOOPS for op in loop.regions[0].walk())


def _locate(loop: Op, k: int, active: set[Value]) -> None:
    """Append, after a loop or in its place, the value that replaces an extreme."""
    found, (body,) = loop.results[k], loop.regions
    users = list(found.uses)
    extreme = found
    if _is_costly(loop):
        extreme, place = _extreme_and_place(loop, k)
    else:
        place = _place(loop, k)
        if not has_same_bits(body):
            place = _place_if_lost(loop, k, place)
    there, otherwise = Block(), Block()
    with insert_at(there):
        copies: Mapping = {}
        build(ops.yield_, [inline_block(body, [place], copies)[k]])
    with insert_at(otherwise):
        build(ops.yield_, [loop.operands[3 + k]])
    exists = ops.cmpi(place, const(_NOWHERE, index), predicate="ne")
    again = build(ops.if_, [exists], {}, [found.type], [there, otherwise]).result
    value = ops.twin(extreme, again)  # the result is compared with other values: every bit has to be the same
    value.hint = found.hint
    for user, position in users:
        user.set_operand(position, value)
    inner = {r for op in body.walk() for r in op.results if r in active}
    active |= {copies[r] for r in inner}
    active.discard(found)
    kinds = body.terminator.attrs["kinds"]
    if not any(r in active or (r.type.is_float and kinds[j] == "add") for j, r in enumerate(loop.results)):
        active -= inner  # nothing else of the loop has a derivative


def _window(loop: Op) -> list[Op]:
    """The loops of a nest that finds the extreme of a few terms, of which each only reduces the next one's results;
    empty if it is none."""
    nest, count = [loop], 1
    while True:
        (body,) = nest[-1].regions
        if not has_known_length(nest[-1]) or len(nest[-1].results) > 1:
            return []
        count *= len(_range(nest[-1]))
        inner = [op for op in body.ops if op.regions]
        if not inner:
            break
        kinds = body.terminator.attrs["kinds"]
        if len(inner) > 1 or inner[0].opdef is not ops.parallel or inner[0].results != tuple(body.terminator.operands):
            return []
        if inner[0].regions[0].terminator.attrs["kinds"] != kinds:
            return []
        if constant_of(inner[0].operands[3]) != ops.NEUTRAL[kinds[0]]:
            return []
        nest.append(inner[0])
    length = sum(len(op.regions[0].ops) for op in nest)
    return nest if 0 < count <= _FEW and count * length <= _SHORT else []


def _range(loop: Op) -> range:
    return range(*(int(constant_of(v) or 0) for v in loop.operands[:3]))


def _compare(nest: list[Op], active: set[Value]) -> None:
    """Append, in the place of a nest, comparisons of its terms and the value that replaces its extreme."""
    found, kind = nest[0].results[0], nest[0].regions[0].terminator.attrs["kinds"][0]
    start = nest[0].operands[3]
    ranges = [_range(loop) for loop in nest]
    best, place = start, const(_NOWHERE, index)
    for number, counters in enumerate(product(*ranges)):
        term = _term(nest, [const(c, index) for c in counters], {})
        better = _is_better(term, best, kind)
        best, place = ops.COMBINE[kind][0](term, best), ops.select(better, const(number, index), place)
    there, otherwise = Block(), Block()
    copies: Mapping = {}
    with insert_at(there):
        build(ops.yield_, [_term(nest, _counters(place, ranges), copies)])
    with insert_at(otherwise):
        build(ops.yield_, [start])
    exists = ops.cmpi(place, const(_NOWHERE, index), predicate="ne")
    again = build(ops.if_, [exists], {}, [found.type], [there, otherwise]).result
    value = ops.twin(best, again)
    value.hint = found.hint
    found.replace_uses(value)
    inner = {r for op in nest[0].regions[0].walk() for r in op.results if r in active}
    active |= {copies[r] for r in inner if r in copies}
    active -= {found, *inner}


def _counters(place: Value, ranges: list[range]) -> list[Value]:
    """The counters of the term with the number ``place``."""
    numbers: list[Value] = []
    for r in reversed(ranges[1:]):
        rest = ops.floordivsi(place, const(len(r), index))
        numbers.append(ops.subi(place, ops.muli(rest, const(len(r), index))))
        place = rest
    numbers.append(place)
    pairs = zip(reversed(numbers), ranges, strict=True)
    return [ops.addi(const(r.start, index), ops.muli(number, const(r.step, index))) for number, r in pairs]


def _term(nest: list[Op], counters: list[Value], mapping: Mapping) -> Value:
    """Append what a nest computes for a term; ``mapping`` then has the copies."""
    for loop, counter in zip(nest, counters, strict=True):
        (body,) = loop.regions
        mapping[body.args[0]] = counter
        for op in body.ops[:-1]:
            if op not in nest:
                clone_op(op, mapping)
    (term,) = nest[-1].regions[0].terminator.operands
    return mapping.get(term, term)


def _place(loop: Op, k: int) -> Value:
    """Append a search for the first counter whose term is the result, to the bit, or is NaN."""
    found = loop.results[k]
    assert isinstance(found.type, FloatType)
    bits = IntType(found.type.width)
    block = Block([index], [loop.regions[0].args[0].hint])
    (counter,) = block.args
    wanted = ops.bitcast(found, type=bits)
    with insert_at(block):
        term = inline_block(loop.regions[0], [counter])[k]
        same = ops.cmpi(ops.bitcast(term, type=bits), wanted, predicate="eq")
        hit = ops.ori(same, ops.cmpf(term, term, predicate="uno"))
        place = ops.select(hit, counter, const(_NOWHERE, index))
        build(ops.reduce, [place], {"kinds": ("min",)})
    start = const(_NOWHERE, index)
    return build(ops.parallel, [*loop.operands[:3], start], dict(loop.attrs), [index], [block]).result


def has_same_bits(body: Block) -> bool:
    """Whether what ``body`` computes has the same bits wherever it is computed."""
    return not any(
        op.opdef.called
        or op.attrs.get("fastmath", "none") != "none"
        or (op.opdef is ops.parallel and _sums_floats(op))
        for op in body.walk()
    )


def _sums_floats(loop: Op) -> bool:
    """Whether a loop has a sum, or a product, in an order that adc chooses."""
    kinds = loop.regions[0].terminator.attrs["kinds"]
    return any(r.type.is_float and kind in ("add", "mul") for r, kind in zip(loop.results, kinds, strict=True))


def _place_if_lost(loop: Op, k: int, place: Value) -> Value:
    """Append another search, for the case that ``place`` is nowhere and the result is not the value that the loop began
    with."""
    found, start = loop.results[k], loop.operands[3 + k]
    assert isinstance(found.type, FloatType)
    bits = IntType(found.type.width)
    new = ops.cmpi(ops.bitcast(found, type=bits), ops.bitcast(start, type=bits), predicate="ne")
    lost = ops.andi(ops.cmpi(place, const(_NOWHERE, index), predicate="eq"), new)
    search, known = Block(), Block()
    with insert_at(search):
        build(ops.yield_, [_extreme_and_place(loop, k)[1]])
    with insert_at(known):
        build(ops.yield_, [place])
    return build(ops.if_, [lost], {COLD: "then"}, [index], [search, known]).result


def _extreme_and_place(loop: Op, k: int) -> tuple[Value, Value]:
    """Append a loop that finds the extreme of its own terms, and the first place of it if it is beyond the start value.
    """
    (body,) = loop.regions
    kind = body.terminator.attrs["kinds"][k]
    start = loop.operands[3 + k]
    block = Block([index, start.type, index], [body.args[0].hint, "best", "place"])
    counter, best, place = block.args
    with insert_at(block):
        term = inline_block(body, [counter])[k]
        better = _is_better(term, best, kind)
        build(ops.yield_, [ops.COMBINE[kind][0](term, best), ops.select(better, counter, place)])
    inits = [start, const(_NOWHERE, index)]
    extreme, where = build(ops.for_, [*loop.operands[:3], *inits], {}, [start.type, index], [block]).results
    return extreme, where


def _is_better(term: Value, best: Value, kind: str) -> Value:
    """Whether a term takes the place of the best of those before it."""
    beyond = ops.cmpf(term, best, predicate="olt" if kind == "min" else "ogt")
    no_number = ops.cmpf(term, term, predicate="uno")
    return ops.ori(beyond, ops.andi(no_number, ops.cmpf(best, best, predicate="ord")))
