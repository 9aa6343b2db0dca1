"""Sums into arrays over a loop of ``prange``: ``r[k] += x`` in iterations that meet.

Where all that a loop does to an array is to add to its elements, the iterations may meet: nobody sees the elements in
between. Sums of floats become ``adc.accumulate``, whose terms are added in an order that is fixed for any number of
threads; loops that sum integers run in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Op, Value
from adc.passes.parallel.dependence import Access, Analysis, never_zero

_ADDS, _SUBTRACTS = frozenset({ops.addf, ops.addi}), frozenset({ops.subf, ops.subi})
_CASTS = frozenset({ops.index_cast, ops.extsi, ops.trunci})


@dataclass(frozen=True)
class Update:
    """``store`` puts what the element held, with ``terms`` added (each with its sign), back into it. What it held comes
    from ``before``, a load, or the store of an update just before this one. ``chain`` computes one from the other."""

    before: Op
    store: Op
    terms: tuple[tuple[Value, int], ...]
    chain: tuple[Op, ...]

    @property
    def floats(self) -> bool:
        return self.store.operands[0].type.is_float

    def of(self, originals: Mapping[Op, Op]) -> Update | None:
        """The same among the operations that these are copies of."""
        store = originals.get(self.store)
        return None if store is None else _update(store)


def updated(loop: Op, accesses: Sequence[Access], analysis: Analysis, base: Value) -> list[Update] | None:
    """The updates that are all that ``loop`` does to the memory of ``base``; None if it does more."""
    one = next(a for a in accesses if a.base is base)
    mine = {a.op: a for a in accesses if a.base is base or not analysis.apart(a, one, loop)}
    found = [_update(op) for op in mine if op.opdef is ops.store]
    known = [u for u in found if u is not None]
    if {op for u in known for op in (u.before, u.store)} != mine.keys() or not all(_at_once(u, mine) for u in known):
        return None
    return known


def meets_everywhere(loop: Op, access: Access, analysis: Analysis) -> bool:
    """Whether the access is to the same elements in all iterations."""
    counter = analysis.forms.symbol(loop.regions[0].args[0])
    symbols = {s for low, high in access.where or () for s in low.symbols() | high.symbols()}
    return access.where is not None and all(s is not counter and analysis.comparable(s, loop) for s in symbols)


def accumulate(updates: Iterable[Update]) -> None:
    """Put ``adc.accumulate`` in the place of the stores; nothing loads the elements any more."""
    found = {u.store: u for u in updates}
    for block in dict.fromkeys(store.parent for store in found):
        assert block is not None
        mine = [found[op] for op in block.ops if op in found]
        gone = {op for u in mine for op in (u.store, *u.chain)}
        old, new = block.ops, block.in_place_of()
        for op in old:
            if op in found:
                _, memref, *at = op.operands
                with insert_at(new, op.loc):
                    for term, sign in found[op].terms:
                        build(ops.accumulate, [term if sign > 0 else ops.negf(term), memref, *at])
            elif op not in gone:
                new.append(op)
        for op in reversed(old):
            if op in gone:
                op.drop()
        block.set_ops(new.ops)


def _update(store: Op) -> Update | None:
    value, *element = store.operands
    found = _back(value, element, store, store)
    if found is None:
        return None
    before, terms, chain = found
    return Update(before, store, tuple(terms), tuple(chain)) if terms else None


def _back(
    value: Value, element: Sequence[Value], store: Op, user: Op
) -> tuple[Op, list[tuple[Value, int]], list[Op]] | None:
    """Where ``value``, which ``user`` takes, has the element from; what was added to it on the way, and by what."""
    op = value.op
    if op is None or op.parent is not store.parent:
        return None
    others = [o for o, _ in value.uses if o is not user]
    if user is not store and len(others) == 1 and others[0].opdef is ops.store and others[0].parent is store.parent:
        return (others[0], [], []) if list(others[0].operands) == [value, *element] else None
    if others or len(value.uses) > 1:
        return None
    if op.opdef is ops.load:
        return (op, [], [op]) if list(op.operands) == list(element) else None
    sides: list[tuple[Value, Value | None]]
    if op.opdef in _CASTS:
        sides = [(op.operands[0], None)]
    elif op.opdef in _ADDS:
        sides = [(op.operands[0], op.operands[1]), (op.operands[1], op.operands[0])]
    elif op.opdef in _SUBTRACTS:
        sides = [(op.operands[0], op.operands[1])]
    else:
        return None
    for inner, term in sides:
        found = _back(inner, element, store, op)
        if found is not None:
            before, terms, chain = found
            if term is not None:
                terms = [*terms, (term, -1 if op.opdef in _SUBTRACTS else 1)]
            return before, terms, [op, *chain]
    return None


def _at_once(update: Update, accesses: Mapping[Op, Access]) -> bool:
    """Whether nothing else reaches the element between the load and the store."""
    block = update.store.parent
    assert block is not None
    first, last = block.ops.index(update.before), block.ops.index(update.store)
    between = {op for outer in block.ops[first + 1 : last] for op in (outer, *_inside(outer))}
    return all(_differ(accesses[update.store], accesses[op]) for op in between if op in accesses)


def _inside(op: Op) -> Iterator[Op]:
    for region in op.regions:
        yield from region.walk()


def _differ(a: Access, b: Access) -> bool:
    """Whether two accesses in one iteration are certainly to two elements."""
    if a.base is not b.base or a.where is None or b.where is None:
        return False
    pairs = zip(a.where, b.where, strict=True)
    return any(p is q and r is s and never_zero(p - r) for (p, q), (r, s) in pairs)
