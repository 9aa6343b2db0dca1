"""Sums into arrays over a ``prange`` loop: ``r[k] += x`` in iterations that meet.

If a loop does nothing to an array but add to its elements, iterations may meet: nobody sees the elements in between.
Sums of floats become ``adc.accumulate``, whose terms are added in an order that is the same for any number of threads.
Loops that sum integers run in order, and so do those that round each sum to a smaller float, or add to an element again
under a condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import holds
from adc.passes.analysis.affine import never_zero
from adc.passes.analysis.dependence import Access, Analysis

_ADDS, _SUBTRACTS = frozenset(ops.COMBINE["add"]), frozenset({ops.subf, ops.subi})
_FLOAT_CASTS = frozenset({ops.extf, ops.truncf})
_CASTS = frozenset({ops.index_cast, ops.extsi, ops.trunci}) | _FLOAT_CASTS


@dataclass(frozen=True)
class Update:
    """``store`` puts back what the element held, plus ``terms`` (each with its sign). The old value comes from
    ``before``, a load, or the store of an update just before this one. ``links`` lead from what is stored back to
    there: each is a value and its user."""

    before: Op
    store: Op
    terms: tuple[tuple[Value, int], ...]
    links: tuple[tuple[Value, Op], ...]

    @property
    def chain(self) -> list[Op]:
        """The operations that compute the new value from the old one."""
        return [v.op for v, _ in self.links if v.op is not None and self.before.operands[0] is not v]

    @property
    def in_any_order(self) -> bool:
        """Whether ``adc.accumulate`` can replace it."""
        plain = all(len(v.uses) == 1 for v, _ in self.links)
        plain = plain and all(op.opdef not in _FLOAT_CASTS for op in self.chain)
        return plain and not self.nested and self.store.operands[0].type.is_float

    @property
    def nested(self) -> bool:
        """Whether it is in a branch or loop that comes after the operation from which the old value comes."""
        return self.before.parent is not self.store.parent

    def of(self, originals: Mapping[Op, Op]) -> Update | None:
        """The same update among the operations of which these are copies."""
        store = originals.get(self.store)
        return None if store is None else _update(store)


def updated(loop: Op, accesses: Sequence[Access], analysis: Analysis, base: Value) -> list[Update] | None:
    """The updates of ``loop`` in the memory of ``base``; None if it uses that memory in any other way."""
    one = next(a for a in accesses if a.base is base)
    mine = {a.op: a for a in accesses if a.base is base or not analysis.apart(a, one, loop)}
    found = [_update(op) for op in mine if op.opdef is ops.store]
    known = [u for u in found if u is not None]
    if {op for u in known for op in (u.before, u.store)} != mine.keys():
        return None
    links = {link for u in known for link in u.links}
    if any((v, user) not in links for u in known for v, _ in u.links for user, _ in v.uses):
        return None
    return known if all(u.nested or _at_once(u, mine) for u in known) else None


def meets_everywhere(loop: Op, access: Access, analysis: Analysis) -> bool:
    """Whether the access is to the same elements in all iterations."""
    counter = analysis.forms.symbol(loop.regions[0].args[0])
    symbols = {s for low, high in access.where or () for s in low.symbols() | high.symbols()}
    return access.where is not None and all(s is not counter and analysis.comparable(s, loop) for s in symbols)


def accumulate(updates: Iterable[Update]) -> None:
    """Replace the stores by ``adc.accumulate``; nothing loads the elements any more."""
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
    before, terms, links = found
    return Update(before, store, tuple(terms), tuple(links)) if terms else None


def _back(
    value: Value, element: Sequence[Value], store: Op, user: Op
) -> tuple[Op, list[tuple[Value, int]], list[tuple[Value, Op]]] | None:
    """Where ``value``, which ``user`` uses, has the element from; what was added to it on the way, and by what."""
    op, link = value.op, (value, user)
    if op is None or sum(o is user for o, _ in value.uses) != 1:
        return None
    stores = [o for o, _ in value.uses if o.opdef is ops.store]
    if user is not store and len(stores) == 1 and holds(stores[0].parent, store):
        return (stores[0], [], [link]) if list(stores[0].operands) == [value, *element] else None
    if op.opdef is ops.load:
        return (op, [], [link]) if list(op.operands) == list(element) else None
    if op.opdef is ops.if_:
        ends, k = [block.ops[-1] for block in op.regions], op.results.index(value)
        paths = [_back(end.operands[k], element, store, end) for end in ends]
        known = [path for path in paths if path is not None]
        if len(known) < len(paths) or len({before for before, _, _ in known}) > 1:
            return None
        return known[0][0], [t for path in known for t in path[1]], [link, *(i for path in known for i in path[2])]
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
            before, terms, links = found
            if term is not None:
                terms = [*terms, (term, -1 if op.opdef in _SUBTRACTS else 1)]
            return before, terms, [link, *links]
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
    """Whether two accesses in one iteration are certainly to two different elements."""
    if a.base is not b.base or a.where is None or b.where is None:
        return False
    pairs = zip(a.where, b.where, strict=True)
    return any(p is q and r is s and never_zero(p - r) for (p, q), (r, s) in pairs)
