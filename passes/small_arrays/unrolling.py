"""The loops that go through small arrays: which they are, how long they are when unrolled, and unrolling them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Op, Value
from adc.ir.nesting import enclosing
from adc.ir.rewrite import Mapping as Copies
from adc.ir.rewrite import clone_op
from adc.passes.analysis.kinds import ELEMENT, VIEWS
from adc.passes.rewrite import replace_op
from adc.passes.small_arrays.numbers import Numbers
from adc.passes.small_arrays.sharing import writes
from adc.passes.small_arrays.views import Use, numbers_of


def loops_of_uses(uses: Iterable[Use], numbers: Numbers) -> set[Op] | None:
    """The loops that have to be unrolled so that all subscripts, and the operands of views, are numbers; None if that
    is not enough."""
    subscripts: list[Value] = []
    around: set[Op] = set()
    for op, position in uses:
        made_by: list[Value] = []
        if op.opdef in ELEMENT:
            made_by += op.operands[position + 1 :]
        memref = op.operands[position]
        while memref.op is not None and memref.op.opdef in VIEWS:
            made_by += numbers_of(memref.op)
            memref = memref.op.operands[0]
        known = all(numbers.of(v) is not None for v in made_by)
        if known and (op.opdef in ELEMENT or op.opdef in _WHOLE) and None in numbers.elements(op, position):
            return None  # a subscript out of range: this code never runs
        subscripts += made_by
        if writes(op, position):
            around.update(_parallel_between(op, memref.block))
    return _written_out([*subscripts, *(loop.regions[0].args[0] for loop in around)], numbers)


_WHOLE = frozenset({ops.copy, ops.fill})


def _parallel_between(op: Op, home: Block | None) -> Iterator[Op]:
    """The parallel loops around ``op``, inside ``home``."""
    for around in enclosing(op.parent):
        if home in around.regions:
            return
        if around.opdef is ops.parallel:
            yield around


def _written_out(values: Sequence[Value], numbers: Numbers) -> set[Op] | None:
    """The loops whose unrolling makes these values numbers, and those on which the bounds of these depend."""
    found: set[Op] = set()
    work = list(values)
    while work:
        loops = numbers.loops_of(work.pop())
        if loops is None:
            return None
        for loop in loops:
            if loop not in found:
                found.add(loop)
                work += loop.operands[:3]
    return found


def are_short(loops: set[Op], chosen: set[Op], numbers: Numbers, code: int) -> bool:
    """Whether each outermost one of ``loops`` has at most ``code`` operations when all ``chosen`` are unrolled."""
    try:
        for loop in loops:
            if chosen.isdisjoint(enclosing(loop.parent)):
                length(loop, chosen, numbers, code)
    except TooLong:
        return False
    finally:
        numbers.counters.clear()
    return True


CALL = 28
"""The code of an elementary function and its derivative, in operations. A loop calls the function for several elements
at once: for more than about twelve, that is faster than one by one."""


class TooLong(Exception):
    """Raised if a nest has too much code when unrolled."""


def length(op: Op, chosen: set[Op], numbers: Numbers, most: int) -> int:
    """The number of operations of ``op`` when the chosen loops in it are unrolled. Raises ``TooLong`` if it is more
    than ``most``."""
    if op not in chosen:
        own = CALL if op.opdef.called else 1
        if own > most:
            raise TooLong
        return own + _length(op, chosen, numbers, most - own)
    trips = numbers.trips(op)
    if trips is None or len(trips) > most:
        raise TooLong
    total = 0
    counter = op.regions[0].args[0]
    for number in trips:
        numbers.counters[counter] = number
        total += _length(op, chosen, numbers, most - total)
        if total > most:
            raise TooLong
    numbers.counters.pop(counter, None)
    return total


def _length(op: Op, chosen: set[Op], numbers: Numbers, most: int) -> int:
    total = 0
    taken = numbers.of(op.operands[0]) if op.opdef is ops.if_ else None
    for region in op.regions if taken is None else [op.regions[0 if taken else 1]]:
        for inner in region.ops:
            total += length(inner, chosen, numbers, most - total)
            if total > most:
                raise TooLong
    return total


def write_out(func: Func, chosen: set[Op], numbers: Numbers) -> None:
    """Unroll the chosen loops: replace them by the code of each iteration."""
    _Writer(chosen, numbers).block(func.body)


class _Writer:
    def __init__(self, chosen: set[Op], numbers: Numbers) -> None:
        self._chosen = chosen
        self._numbers = numbers

    def block(self, block: Block) -> None:
        if not any(inner in self._chosen for inner in block.walk()):
            return
        new = block.in_place_of()
        for op in block.ops:
            if op in self._chosen:
                with insert_at(new, op.loc):
                    results = self._loop(op, {})
                replace_op(op, results)
                continue
            new.append(op)
            for region in op.regions:
                self.block(region)
        block.set_ops(new.ops)

    def _loop(self, loop: Op, copies: Copies) -> list[Value]:
        """Append all iterations of a loop, and return its results."""
        trips = self._numbers.trips(loop)
        assert trips is not None
        (body,) = loop.regions
        carried = [copies.get(v, v) for v in loop.operands[3:]]
        for number in trips:
            self._numbers.counters[body.args[0]] = number
            copies[body.args[0]] = const_index(number)
            copies.update(zip(body.args[1:], carried, strict=False))
            self._copy(body.ops[:-1], copies)
            given = [copies.get(v, v) for v in body.terminator.operands]
            carried = given if loop.opdef is ops.for_ else list(_combined(body.terminator, carried, given))
        self._numbers.counters.pop(body.args[0], None)
        return carried

    def _copy(self, operations: Sequence[Op], copies: Copies) -> None:
        for op in operations:
            if op in self._chosen:
                copies.update(zip(op.results, self._loop(op, copies), strict=True))
            elif any(inner in self._chosen for region in op.regions for inner in region.walk()):
                self._copy_around(op, copies)
            else:
                clone_op(op, copies)

    def _copy_around(self, op: Op, copies: Copies) -> None:
        """Append a copy of ``op`` with the loops inside unrolled."""
        regions = []
        for region in op.regions:
            copy = Block([a.type for a in region.args], [a.hint for a in region.args])
            copies.update(zip(region.args, copy.args, strict=True))
            with insert_at(copy):
                self._copy(region.ops, copies)
            regions.append(copy)
        operands = [copies.get(v, v) for v in op.operands]
        types = [r.type for r in op.results]
        made = build(op.opdef, operands, dict(op.attrs), types, regions, op.loc)
        copies.update(zip(op.results, made.results, strict=True))


def _combined(end: Op, so_far: Sequence[Value], given: Sequence[Value]) -> Iterator[Value]:
    """The reductions of a parallel loop after one more iteration, in order."""
    for kind, before, value in zip(end.attrs["kinds"], so_far, given, strict=True):
        yield ops.COMBINE[kind][0 if value.type.is_float else 1](before, value)
