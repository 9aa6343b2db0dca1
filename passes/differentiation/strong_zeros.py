"""Strong zeros: what does not matter contributes nothing, even where its derivative is infinite or NaN.

In ``np.where(x > 0, np.sqrt(x), 0.0)`` both sides are computed, and where x is 0 the cotangent of the root is zero
while its partial is infinite. Likewise where only some elements of ``np.sqrt(x)`` are read, or where a branch that is
not taken reads it. A product of a cotangent with a partial is therefore a *strong* one (``adc.strong_mulf``,
``adc.strong_divf``): zero if nothing has read the value that the cotangent belongs to, whatever the partial is. Nobody
asks where the partial might be infinite: any argument may be NaN.

That nothing has read a value is seen by the zero that its cotangent then is. So the product is marked by a comparison
with zero: not of the cotangent at hand, but of the number that it is a multiple of (``Sources``), which was loaded from
a shadow or carried by a loop; of what is chosen also the condition matters, and what a branch gives says so itself. A
factor that happens to be zero is none that nothing has read: ``np.sqrt(x) ** 2`` at 0 is NaN in both modes. Strong
products have a derivative rule, so the zeros stay strong in derivatives of any order.

There is no mark where it is known that the value has been read (``adc.passes.differentiation.reading``), nor where the
partial is a number that the code knows to be finite.

In forward mode what is not chosen, run or read is dropped with its tangent. But a tangent may be zero, of elements
along which no derivative is taken, and products with it are strong too: so a column of a Jacobian is the same in both
modes. Numbers that are in no array are all or nothing, so in loops products with them have marks only where an
operation may have made an infinity out of finite numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from adc.ir import ops
from adc.ir.arith import const, constant_of
from adc.ir.builder import current_block, insert_at
from adc.ir.core import Block, Func, Op, Value
from adc.ir.types import i1
from adc.passes.differentiation.activity import edges
from adc.passes.differentiation.need import needs
from adc.passes.differentiation.rules import RULES

_EXTREMA = frozenset({ops.maximumf, ops.minimumf, ops.maxnumf, ops.minnumf})


def leaves_out(op: Op) -> Sequence[int]:
    """The operands of a scalar operation that it may leave out, so that what computed them may not matter."""
    kind = op.opdef
    if kind is ops.select:
        return (1, 2)
    if kind in _EXTREMA:
        return (0, 1)
    if kind is ops.strong_mulf:
        return [k for k in (0, 1) if constant_of(op.operands[3 - k]) != 0]
    return (1,) if kind is ops.strong_divf else ()


@dataclass(frozen=True)
class Choice:
    """What is made of one side's sources where the condition holds, of the other's where it does not."""

    condition: Value
    sides: tuple[tuple[Source, ...], tuple[Source, ...]]


Source = Value | Choice


class Sources:
    """Which numbers each cotangent, or tangent, is made of: it is nothing if all of these are."""

    MOST = 4

    def __init__(self) -> None:
        self._sources: dict[Value, tuple[Source, ...]] = {}
        self._marks: dict[tuple[Block, Source], Value | None] = {}
        self._results: dict[Value, Value | None] = {}

    def of(self, value: Value) -> tuple[Source, ...]:
        if value in self._sources:
            return self._sources[value]
        return () if constant_of(value) == 0.0 else (value,)

    def multiple(self, op: Op, k: int, term: Value, g: Value) -> None:
        """``term`` is what ``op`` makes of ``g`` for its operand ``k``, which it may leave out."""
        made = term.op
        if k not in leaves_out(op) or made is None:
            self.note(term, g)
        elif made.opdef is ops.select:
            sides = [() if constant_of(v) == 0.0 else self.of(g) for v in made.operands[1:]]
            self._choose(term, made.operands[0], sides)
        elif made.opdef in (ops.strong_mulf, ops.strong_divf):
            sources = self.of(g)
            for mark in made.operands[2:]:
                if constant_of(mark) != 0:
                    sources = (Choice(mark, ((), sources)),)
            self._set(term, sources)

    def note(self, made: Value, *parts: Value) -> None:
        """``made`` is a multiple, or the sum of multiples, of ``parts``."""
        if made not in parts:
            self._set(made, tuple(dict.fromkeys(source for part in parts for source in self.of(part))))

    def choose(self, made: Value, condition: Value, a: Value, b: Value) -> None:
        """``made`` is ``a`` if the condition holds, and ``b`` if not."""
        self._choose(made, condition, [self.of(a), self.of(b)])

    def _choose(self, made: Value, condition: Value, sides: Sequence[tuple[Source, ...]]) -> None:
        then, otherwise = sides
        self._set(made, then if then == otherwise else (Choice(condition, (then, otherwise)),))

    def _set(self, made: Value, sources: tuple[Source, ...]) -> None:
        if sum(map(_size, sources)) <= self.MOST:
            self._sources[made] = sources

    def mark(self, value: Value) -> Value | None:
        """Whether a value is nothing at all, at the insertion point; None if it is known not to be."""
        return self._all(self.of(value))

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
        """Whether a branch gave the value and knows more of it than what it is."""
        op = value.op
        if op is None or op.opdef is not ops.if_:
            return False
        given = [region.terminator.operands[value.index] for region in op.regions]
        return any(self.of(v) != (v,) or self._is_known_in_branch(v) for v in given)

    def _from_branch(self, value: Value) -> Value | None:
        """Whether what a branch gave is nothing: one more result of the branch."""
        op = value.op
        assert op is not None
        if value not in self._results:
            made: list[tuple[Block, Value | None]] = []
            for region in op.regions:
                with insert_at(region.in_place_of(), op.loc) as block:
                    made.append((block, self.mark(region.terminator.operands[value.index])))
            self._results[value] = _with_result(op, made) if any(mark is not None for _, mark in made) else None
        return self._results[value]


def _with_result(branch: Op, made: Sequence[tuple[Block, Value | None]]) -> Value:
    """One more result of a branch, computed by a block at the end of each region; false where that gives None."""
    for region, (block, mark) in zip(branch.regions, made, strict=True):
        end = region.terminator
        with insert_at(block, branch.loc):
            end.add_operand(const(False, i1) if mark is None else mark)
        region.set_ops([*region.ops[:-1], *block.ops, end])
    return branch.add_result(i1)


def _size(source: Source) -> int:
    """How many numbers have to be looked at."""
    return 1 + sum(map(_size, itertools.chain(*source.sides))) if isinstance(source, Choice) else 1


def strong(cotangents: Sequence[Value], term: Value) -> Value:
    """``term``, which a rule of a user made of ``cotangents``; zero where these are and ``term`` is NaN.

    Appended at the insertion point.
    """
    zero = const(0.0, term.type)
    vain = ops.cmpf(term, term, predicate="uno")
    for g in reversed(cotangents):
        vain = ops.andi(ops.cmpf(g, const(0.0, g.type), predicate="oeq"), vain)
    return ops.select(vain, zero, term)


# Forward mode ---------------------------------------------------------------------------------------------------------

# At finite arguments the result or a partial may be infinite or NaN. (Overflow of sums and products does not count.)
_SINGULAR = frozenset(
    {
        *(ops.divf, ops.strong_divf, ops.remf, ops.remainder, ops.sqrt, ops.rsqrt, ops.cbrt, ops.powf, ops.fpowi),
        *(ops.log, ops.log2, ops.log10, ops.log1p, ops.exp, ops.exp2, ops.expm1, ops.sinh, ops.cosh),
        *(ops.asin, ops.acos, ops.acosh, ops.atanh, ops.atan2, ops.lgamma, ops.tgamma, ops.polygamma, ops.external),
    }
)


def _is_singular(op: Op) -> bool:
    """A quotient by a number that is known is a product."""
    return op.opdef in _SINGULAR and not (op.opdef is ops.divf and constant_of(op.operands[1]))


class StrongTangents:
    """Which terms of a function's scalar operations are strong products in forward mode: all but those, in loops, whose
    partials are numbers that are in no array, and finite where the arguments are."""

    def __init__(self, func: Func) -> None:
        self.sources = Sources()
        self._top = set(func.body.ops)
        self._wild: set[Value] = set()
        size = -1
        while size < len(self._wild):
            size = len(self._wild)
            for op in func.walk():
                self._spread(op)

    def _spread(self, op: Op) -> None:
        if op.opdef in RULES:
            if _is_singular(op) or any(v in self._wild for v in op.operands):
                self._wild.add(op.result)
        elif op.opdef in (ops.load, ops.call, ops.ruled, ops.unpack):
            self._wild.update(op.results)
        else:
            for sources, targets in edges(op):
                self._wild.update(t for s, t in zip(sources, targets, strict=True) if s in self._wild)

    def mark(self, op: Op, k: int, tangent: Value) -> Value | None:
        """Whether the tangent of an operand is nothing; None if that does not matter."""
        return self.sources.mark(tangent) if self._is_strong(op, k) else None

    def _is_strong(self, op: Op, k: int) -> bool:
        if op in self._top or _is_singular(op):
            return True
        need = needs(op, (k,))
        return (need.result and op.result in self._wild) or any(op.operands[n] in self._wild for n in need.operands)
