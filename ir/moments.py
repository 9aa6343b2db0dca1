"""Can two memrefs overlap at one moment? Finer than their roots, which hold for all moments.

In

    for t in range(nt):
        ...
        u, v = v, u

``u`` and ``v`` have the same two roots, and yet never overlap. Two memrefs that are in scope together overlap only if,
at the moment when the later one was created, its source overlapped the other: the initial or the yielded values of a
loop, or what the taken branch yields. Two that were created together, as arguments of one loop, are followed together.
So the question is one of reachability among pairs, and loops in loops need nothing special. New memory overlaps nothing
that was there before it. Memrefs that are loaded from slots of one number, where one iteration has put them, were there
together in that iteration: the memory that a reverse sweep gets back from tapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import NamedTuple

from adc.ir import ops
from adc.ir.core import Block, Func, Op, Value
from adc.ir.nesting import enclosing
from adc.ir.opdef import Trait
from adc.ir.slots import Slots, filled_by
from adc.ir.types import MemRefType

Pair = tuple[Value, Value]
_VIEWS = ops.having(Trait.VIEW)
_NUMBERS = frozenset(kind for kind in ops.TABLE.values() if kind.evaluate is not None) - {ops.select}  # without memrefs


def strip_views(memref: Value) -> Value:
    """The memref that ``memref`` is a chain of views of."""
    while (op := memref.op) is not None and op.opdef in _VIEWS:
        memref = op.operands[0]
    return memref


class _Birth(NamedTuple):
    """Where a memref comes from. ``number`` is its place in program order, ``end`` the last number of its block.

    ``sources``: the memrefs that it may be, one for each edge into ``owner``; memrefs of one owner are set together.
    """

    number: int
    end: int
    new: bool
    owner: object = None
    sources: tuple[Value, ...] = ()


class Moments:
    """Answers for one function, as it was when this was made."""

    def __init__(self, func: Func) -> None:
        self._births: dict[Value, _Birth] = {}
        self._declared: frozenset[frozenset[Value]] = frozenset()
        self._apart: set[frozenset[Value]] = set()
        self._together: set[frozenset[Value]] = set()
        self._count = 0
        self._block(func.body, {})

    def __contains__(self, memref: Value) -> bool:
        """Whether the memref existed when this was made."""
        return memref in self._births

    def place(self, memref: Value) -> int:
        """The position of a memref in program order; memrefs that did not exist come last."""
        birth = self._births.get(memref)
        return self._count + 1 if birth is None else birth.number

    def sources(self, memref: Value) -> tuple[Value, ...]:
        """The memrefs that ``memref`` may be, one for each edge to where it is set; none for others."""
        birth = self._births.get(memref)
        return () if birth is None else birth.sources

    def declare_apart(self, pairs: Iterable[Pair]) -> None:
        """Declare that the two memrefs of each pair do not overlap."""
        self._declared = frozenset(map(frozenset, pairs))
        self._apart |= self._declared

    def anew(self) -> Moments:
        """The same without the answers that are kept."""
        new = copy(self)
        new._apart, new._together = set(self._declared), set()
        return new

    def may_overlap(self, a: Value, b: Value, meet: Callable[[Value, Value], bool]) -> bool:
        """Whether two memrefs may overlap at a moment when both are in scope; if there is none, whether they ever may.
        ``meet``: whether the roots of two memrefs meet. (It is not kept here: it belongs to the object that keeps this
        one, and that would be a reference cycle.)"""
        a, b = strip_views(a), strip_views(b)
        if not self._in_scope(a, b):
            return meet(a, b)
        work, seen = [(a, b)], {frozenset({a, b})}
        while work:
            found = self._sources(*work.pop(), meet)
            if found is None:
                self._together.add(frozenset({a, b}))
                return True
            for pair in found:
                key = frozenset(pair)
                if key not in seen:
                    seen.add(key)
                    work.append(pair)
        self._apart |= seen
        return False

    def made_in_iteration(self, memref: Value, loop: Op) -> list[Op] | None:
        """The allocations that ``memref`` may be, if all are in the iteration of ``loop`` that it belongs to; else
        None."""
        work, seen, found = [memref], {memref}, []
        while work:
            value = strip_views(work.pop())
            birth = self._births.get(value)
            if birth is None or loop not in enclosing(value.block):
                return None
            if birth.new:
                assert value.op is not None
                found.append(value.op)
            elif (
                not birth.sources
                or isinstance(birth.owner, Slots)
                or (isinstance(value.owner, Block) and value.owner.parent_op is loop)
            ):
                return None
            else:
                work += [source for source in birth.sources if source not in seen]
                seen.update(birth.sources)
        return found

    def _in_scope(self, a: Value, b: Value) -> bool:
        x, y = self._births.get(a), self._births.get(b)
        return x is not None and y is not None and (x.number <= y.number <= x.end or y.number <= x.number <= y.end)

    def _sources(self, a: Value, b: Value, meet: Callable[[Value, Value], bool]) -> list[Pair] | None:
        """Pairs of which at least one must overlap if ``a`` and ``b`` do; None if ``a`` and ``b`` may overlap."""
        a, b = strip_views(a), strip_views(b)
        if a is b:
            # An undefined memref has no elements.
            return [] if a.op is not None and a.op.opdef is ops.undef else None
        key = frozenset({a, b})
        if key in self._apart or not meet(a, b):
            return []
        if key in self._together or not self._in_scope(a, b):
            return None
        later, earlier = self._births[a], self._births[b]
        if later.number < earlier.number:
            a, b, later, earlier = b, a, earlier, later
        if later.new:
            return []
        if later.owner is not None and later.owner == earlier.owner:
            return list(zip(later.sources, earlier.sources, strict=True))
        if isinstance(later.owner, Slots):  # what was there at another time than its source
            return None
        return [(source, b) for source in later.sources] if later.sources else None

    # Where memrefs come from -----------------------------------------------------------------------------------------

    def _block(self, block: Block, sources: dict[Value, tuple[Value, ...]]) -> None:
        mine: list[tuple[Value, int, bool, object, tuple[Value, ...]]] = []
        for arg in block.args:
            if type(arg.type) is MemRefType:
                mine.append((arg, self._next(), False, block if arg in sources else None, sources.get(arg, ())))
        for op in block.ops:
            if op.opdef in _NUMBERS:
                continue
            if op.regions:
                self._regions(op)
            of: tuple[object, dict[Value, tuple[Value, ...]]] | None = None
            for result in op.results:
                if type(result.type) is MemRefType:
                    owner, made = of = of or _made_by(op)
                    new = op.opdef is ops.alloc or op.opdef is ops.undef
                    mine.append((result, self._next(), new, owner, made.get(result, ())))
        for value, number, new, owner, given in mine:
            self._births[value] = _Birth(number, self._count, new, owner, given)

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _regions(self, op: Op) -> None:
        kind = op.opdef
        if kind is ops.for_:
            (body,) = op.regions
            self._block(body, _joined(body.args[1:], op.operands[3:], body.terminator.operands))
        elif kind is ops.while_:
            before, after = op.regions
            self._block(before, _joined(before.args, op.operands, after.terminator.operands))
            self._block(after, _joined(after.args, before.terminator.operands[1:]))
        else:
            for region in op.regions:
                self._block(region, {})


def _joined(targets: tuple[Value, ...], *sources: tuple[Value, ...]) -> dict[Value, tuple[Value, ...]]:
    return dict(zip(targets, zip(*sources, strict=True), strict=True))


def _made_by(op: Op) -> tuple[object, dict[Value, tuple[Value, ...]]]:
    """The owner by which results of ``op`` are grouped, and the sources of each result."""
    kind = op.opdef
    if kind is ops.for_:
        return op, _joined(op.results, op.operands[3:], op.regions[0].terminator.operands)
    if kind is ops.while_:
        return op, _joined(op.results, op.regions[0].terminator.operands[1:])
    if kind is ops.if_:
        return op, _joined(op.results, *(region.terminator.operands for region in op.regions))
    if kind is ops.select:
        return op.operands[0], {op.result: op.operands[1:]}
    if kind is ops.load and (store := filled_by(op.operands[0])) is not None:
        return Slots(op.operands[1:], store.operands[2:]), {op.result: store.operands[:1]}
    return None, {}
