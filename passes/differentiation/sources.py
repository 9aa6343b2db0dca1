"""What cotangents and tangents are made of, so that one that is nothing can be told from one that happens to be zero.

A cotangent is a sum of multiples of numbers that were loaded, carried by a loop, or given: its sources. It is nothing
if these are zero, or were not chosen. See ``adc.passes.differentiation.need.strong_zeros``.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import reduce

from adc.ir import ops
from adc.ir.arith import const, constant_of
from adc.ir.builder import current_block, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import i1


@dataclass(frozen=True)
class Choice:
    """A value made of one side's sources where the condition holds, and of the other side's where it does not."""

    condition: Value
    sides: tuple[tuple[Source, ...], tuple[Source, ...]]


Source = Value | Choice


class Sources:
    """Which numbers each cotangent, or tangent, is made of: it is nothing if all of these are."""

    MOST = 4  # numbers that are compared with zero
    MOST_PARTS = 16  # numbers and choices; the latter have their conditions already

    def __init__(self) -> None:
        self._sources: dict[Value, tuple[Source, ...]] = {}
        self._marks: dict[tuple[Block, Source], Value | None] = {}
        self._results: dict[Value, Value | None] = {}

    def of(self, value: Value) -> tuple[Source, ...]:
        if value in self._sources:
            return self._sources[value]
        return () if constant_of(value) == 0.0 else (value,)

    def follow(self, made: Op, multiples: Collection[Value]) -> None:
        """``made`` is an operation of a rule, linear in ``multiples``; what it leaves out is nothing."""
        if made.opdef is ops.select:
            self.choose(made.result, *made.operands)
            return
        self.note(made.result, *(v for v in made.operands if v in multiples))
        if made.opdef in (ops.strong_mulf, ops.strong_divf):
            for mark in made.operands[2:]:
                if constant_of(mark) != 0:
                    self._set(made.result, (Choice(mark, ((), self.of(made.result))),))

    def note(self, made: Value, *parts: Value) -> None:
        """``made`` is a multiple, or the sum of multiples, of ``parts``."""
        if made not in parts:
            self._set(made, tuple(dict.fromkeys(source for part in parts for source in self.of(part))))

    def choose(self, made: Value, condition: Value, a: Value, b: Value) -> None:
        """``made`` is ``a`` if the condition holds, and ``b`` if not."""
        then, otherwise = self.of(a), self.of(b)
        self._set(made, then if then == otherwise else (Choice(condition, (then, otherwise)),))

    def _set(self, made: Value, sources: tuple[Source, ...]) -> None:
        parts = list(_parts(sources))
        numbers = {part for part in parts if isinstance(part, Value) and constant_of(part) is None}
        if len(numbers) <= self.MOST and len(parts) <= self.MOST_PARTS:
            self._sources[made] = sources

    def mark(self, *values: Value) -> Value | None:
        """Whether values are nothing, computed at the insertion point; None if one of them is known not to be."""
        return self._all(tuple(dict.fromkeys(source for value in values for source in self.of(value))))

    def _all(self, sources: tuple[Source, ...]) -> Value | None:
        marks = [self._is_nothing(source) for source in sources]
        if any(mark is None for mark in marks):
            return None
        return reduce(ops.andi, [mark for mark in marks if mark is not None]) if marks else const(True, i1)

    def _is_nothing(self, source: Source) -> Value | None:
        at = current_block(), source
        if at not in self._marks:
            if isinstance(source, Choice):
                self._marks[at] = self._chosen(source)
            elif constant_of(source):
                return None
            elif self._is_known_in_branch(source):
                self._marks[at] = self._from_branch(source)
            else:
                self._marks[at] = ops.cmpf(source, const(0.0, source.type), predicate="oeq")
        return self._marks[at]

    def _chosen(self, choice: Choice) -> Value | None:
        sides = [self._all(side) for side in choice.sides]
        if all(side is None for side in sides):
            return None
        return ops.select(choice.condition, *(const(False, i1) if side is None else side for side in sides))

    def _is_known_in_branch(self, value: Value) -> bool:
        """Whether a branch returned the value and knows more about it than the value itself."""
        op = value.op
        if op is None or op.opdef is not ops.if_:
            return False
        given = [region.terminator.operands[value.index] for region in op.regions]
        return any(self.of(v) != (v,) or self._is_known_in_branch(v) for v in given)

    def _from_branch(self, value: Value) -> Value | None:
        """Whether what a branch returned is nothing: computed as one more result of the branch."""
        op = value.op
        assert op is not None
        if value not in self._results:
            made: list[tuple[Block, Value | None]] = []
            for region in op.regions:
                with insert_at(region.in_place_of(), op.loc) as block:
                    made.append((block, self.mark(region.terminator.operands[value.index])))
            if any(mark is not None for _, mark in made):
                self._results[value] = _with_result(op, made)
            else:
                self._results[value] = None
                for block, _ in made:
                    for unused in reversed(block.ops):  # marks of sources beside the one known not to be nothing
                        unused.drop()
        return self._results[value]


def _with_result(branch: Op, made: Sequence[tuple[Block, Value | None]]) -> Value:
    """One more result of a branch, computed by a block at the end of each region; false where the mark is None."""
    for region, (block, mark) in zip(branch.regions, made, strict=True):
        end = region.terminator
        with insert_at(block, branch.loc):
            end.add_operand(const(False, i1) if mark is None else mark)
        region.set_ops([*region.ops[:-1], *block.ops, end])
    return branch.add_result(i1)


def _parts(sources: Iterable[Source]) -> Iterator[Source]:
    for source in sources:
        yield source
        if isinstance(source, Choice):
            yield from _parts(itertools.chain(*source.sides))
