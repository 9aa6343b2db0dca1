"""Is what a store puts into memory certainly loaded again, before something else is stored there?

The search goes forward from the store to the end of its block, and on after the operation around it. At the end of a
sequential loop it goes on both at the beginning of the next iteration and after the loop, where a carried memref has
another name. A store inside loops writes a box of elements: in each dimension a range of a loop's counter, plus a
constant. It is loaded again by a nest over the same ranges, or over the whole array, whose body loads the element.

The result is a list of sets of loads: of each set, one has to be read by somebody.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.arith import constant_of
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import inside
from adc.ir.opdef import Trait
from adc.ir.types import MemRefType
from adc.passes.analysis.cold import COLD
from adc.passes.analysis.kinds import COUNTED, TARGET, VIEWS


@dataclass(frozen=True)
class _At:
    """A subscript: a value plus a constant."""

    value: Value
    offset: int


@dataclass(frozen=True)
class _Range:
    """The values of a counter, plus a constant."""

    bounds: tuple[Value, ...]
    offset: int


Loads = list[set[Value]]
_Place = tuple[_At | _Range, ...]  # an element, or a box of elements


class _Places:
    """Where a block loads and stores: the numbers of the operations, in order, that do or contain operations that
    do."""

    def __init__(self, block: Block, aliasing: Aliasing) -> None:
        self.number = {op: n for n, op in enumerate(block.ops)}
        self.loads: dict[Value, list[int]] = {}
        self.writes: dict[Value, list[int]] = {}  # by roots
        for n, op in enumerate(block.ops):
            inner = [op, *(found for region in op.regions for found in region.walk())]
            for memref in {found.operands[0] for found in inner if found.opdef is ops.load}:
                self.loads.setdefault(memref, []).append(n)
            for root in {root for found in inner for memref in _written(found) for root in aliasing.roots(memref)}:
                self.writes.setdefault(root, []).append(n)


class Rereading:
    """Answers for one function, which must not change meanwhile."""

    def __init__(self, aliasing: Aliasing) -> None:
        self._aliasing = aliasing
        self._known: dict[Op, Loads] = {}
        self._places: dict[Block, _Places] = {}
        self._written: dict[Op, dict[Value, Op | None]] = {}
        self._answers: dict[tuple[Op, Value], bool] = {}

    def loads(self, store: Op) -> Loads:
        """Sets of loads of what ``store`` has stored; of each set, one must be read."""
        if store not in self._known:
            _, memref, *subscripts = store.operands
            assert store.parent is not None
            self._known[store] = self._after(store, store, memref, tuple(map(_plain, subscripts)))
        return self._known[store]

    def _after(self, store: Op, op: Op, memref: Value, place: _Place) -> Loads:
        """The loads after ``op``, which contains the store."""
        block = op.parent
        assert block is not None
        found = self._scan(block, self._in(block).number[op] + 1, memref, place)
        around = block.parent_op
        if found is None or found or around is None:
            return [found or set()]
        if around.opdef is ops.if_ and _is_outside(around, None, place):
            behind = memref if _is_outside(around, memref, ()) else _handed_on(block, memref, around.results)
            return [set()] if behind is None else self._after(store, around, behind, place)
        if around.opdef in COUNTED and any(isinstance(v, _At) and v.value is block.args[0] for v in place):
            widened = tuple(_widened(v, block.args[0], around) for v in place)
            others = (v for v, by in self._changes(around).items() if by is not store)
            if _is_outside(around, memref, widened) and not any(self._aliasing.may_overlap(v, memref) for v in others):
                return self._after(store, around, memref, widened)
        elif around.opdef is ops.for_:
            return self._next(store, around, memref, place)
        return [set()]

    def _next(self, store: Op, loop: Op, memref: Value, place: _Place) -> Loads:
        """The loads in the next iteration, and those after the loop."""
        (body,) = loop.regions
        if not _is_outside(loop, None, place):
            return [set()]
        again: Value | None = memref
        behind: Value | None = memref
        if not _is_outside(loop, memref, ()):
            again, behind = _handed_on(body, memref, body.args[1:]), _handed_on(body, memref, loop.results)
        if again is None or behind is None:
            return [set()]
        return [self._scan(body, 0, again, place) or set(), *self._after(store, loop, behind, place)]

    def _in(self, block: Block) -> _Places:
        if block not in self._places:
            self._places[block] = _Places(block, self._aliasing)
        return self._places[block]

    def _scan(self, block: Block, start: int, memref: Value, place: _Place) -> set[Value] | None:
        """What is loaded from operation ``start`` on, until something else is stored. None if something is, and nothing
        was loaded before."""
        places = self._in(block)
        writes = (_since(start, places.writes.get(root, ())) for root in self._aliasing.roots(memref))
        stored = (n for n in heapq.merge(*writes) if self._writes(block.ops[n], memref))
        end = next(stored, len(block.ops))
        found: set[Value] = set()
        for n in itertools.takewhile(lambda n: n < end, _since(start, places.loads.get(memref, ()))):
            found.update(self._loaded(block.ops[n], memref, place, ()))
        return None if end < len(block.ops) and not found else found

    def _loaded(self, op: Op, memref: Value, place: _Place, loops: tuple[Op, ...]) -> Iterator[Value]:
        """The results of loads in ``op`` that cover all of ``place``; ``op`` is in ``loops``, which go over the
        place."""
        if op.opdef is ops.load:
            if op.operands[0] is memref and self._covers(op, place, loops):
                yield op.result
            return
        if op.opdef in COUNTED:
            loops = (*loops, op)
        elif op.opdef is not ops.if_ or not (op.attrs.get(ops.LIKELY) or op.attrs.get(COLD) == "else"):
            return
        for inner in op.regions[0].ops:  # a branch between equivalent versions: one of them
            yield from self._loaded(inner, memref, place, loops)

    def _covers(self, load: Op, place: _Place, loops: tuple[Op, ...]) -> bool:
        """Whether the load covers the whole place when exactly these loops run."""
        left = {loop.regions[0].args[0]: loop for loop in loops}
        for axis, (subscript, wanted) in enumerate(zip(map(_plain, load.operands[1:]), place, strict=True)):
            loop = left.pop(subscript.value, None)
            if not isinstance(wanted, _Range):
                if loop is not None or subscript.offset != wanted.offset or not _same(subscript.value, wanted.value):
                    return False
                continue
            if loop is None:
                return False
            further = wanted.offset - subscript.offset
            if further or not all(map(_same, loop.operands[:3], wanted.bounds)):
                lower, upper, step = loop.operands[:3]
                if constant_of(step) != 1 or not _at_most(lower, wanted.bounds[0], -further):
                    return False
                whole = subscript.offset == 0 and self._is_extent(upper, load, axis)
                if not (whole or _at_most(wanted.bounds[1], upper, further)):
                    return False
        return not left

    def _is_extent(self, value: Value, load: Op, axis: int) -> bool:
        memref = load.operands[0]
        asked = value.op if value.op is not None and value.op.opdef is ops.dim else None
        of = asked.operands[0] if asked is not None and asked.attrs["dim"] == axis else None
        if of is memref or (memref.op is not None and memref.op.opdef in VIEWS):
            return of is memref  # the axes of a view are not those of the allocation
        roots = self._aliasing.roots(memref)
        return all(root.type == memref.type and (of is root or _extent(root, axis) is value) for root in roots)

    def _writes(self, op: Op, memref: Value) -> bool:
        """Whether an operation may change what is in ``memref``."""
        answer = self._answers.get((op, memref))
        if answer is None:
            answer = any(self._aliasing.may_overlap(v, memref) for v in self._changes(op))
            self._answers[op, memref] = answer
        return answer

    def _changes(self, op: Op) -> dict[Value, Op | None]:
        """The memrefs that an operation may change, each with the operation that does; None: several do."""
        found = self._written.get(op)
        if found is None:
            found = dict.fromkeys(_written(op), op) if not op.regions else {}
            for inner in (inner for region in op.regions for inner in region.ops):
                for memref, by in self._changes(inner).items():
                    found[memref] = None if memref in found else by
            self._written[op] = found
        return found


def _written(op: Op) -> Iterable[Value]:
    """The memrefs that an operation, which has no regions, may change."""
    if Trait.WRITES not in op.opdef.traits:
        return ()
    return (v for v in (op.operands[1:2] if op.opdef in TARGET else op.operands) if isinstance(v.type, MemRefType))


def _since(start: int, numbers: Sequence[int]) -> Iterator[int]:
    """The members of ``numbers``, which ascend, that are at least ``start``."""
    return itertools.islice(numbers, bisect.bisect_left(numbers, start), None)


def _plain(subscript: Value) -> _At:
    """A subscript as a value plus a constant, without bounds checks."""
    offset = 0
    while subscript.op is not None:
        op = subscript.op
        step = constant_of(op.operands[1]) if op.opdef is ops.addi else 0 if op.opdef is ops.bound else None
        if step is None:
            break
        offset += int(step)
        subscript = op.operands[0]
    return _At(subscript, offset)


def _widened(place: _At | _Range, counter: Value, loop: Op) -> _At | _Range:
    """Everything that a place covers while ``loop`` runs."""
    within = isinstance(place, _At) and place.value is counter
    return _Range(loop.operands[:3], place.offset) if within else place


def _same(a: Value, b: Value) -> bool:
    known = constant_of(a)
    return a is b or (known is not None and known == constant_of(b))


def _at_most(a: Value, b: Value, further: int) -> bool:
    """Whether ``a + further <= b`` is known: both are constants, or one is the other plus or minus a constant."""
    x, y = constant_of(a), constant_of(b)
    if x is not None and y is not None:
        return bool(x + further <= y)
    if a is b:
        return further <= 0
    op = a.op
    if op is None or op.opdef not in (ops.addi, ops.subi) or op.operands[0] is not b:
        return False
    step = constant_of(op.operands[1])
    return step is not None and (step if op.opdef is ops.addi else -step) + further <= 0


def _handed_on(block: Block, memref: Value, names: Sequence[Value]) -> Value | None:
    """Which of ``names`` stands for ``memref`` after the block's terminator has handed it on."""
    return next((name for v, name in zip(block.terminator.operands, names, strict=True) if v is memref), None)


def _extent(root: Value, axis: int) -> Value | None:
    """The value that is the extent of an allocation along an axis."""
    op = root.op
    if op is None or op.opdef is not ops.alloc:
        return None
    shape = root.type.shape  # type: ignore[attr-defined]
    return op.operands[sum(n is None for n in shape[:axis])] if shape[axis] is None else None


def _is_outside(around: Op, memref: Value | None, place: _Place) -> bool:
    """Whether the memref and the values of the place were defined before ``around`` began, or are constants."""
    values = [v.value for v in place if isinstance(v, _At)]
    values += [v for part in place if isinstance(part, _Range) for v in part.bounds]
    if memref is not None:
        values.append(memref)
    return all(not inside(v, around) or constant_of(v) is not None for v in values)
