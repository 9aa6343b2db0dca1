"""A walk over a function that rewrites it, operation by operation, by rules.

A rule for an operation without regions gives values equal to its results, or None. A rule for one with regions may do
more: it gives the operation to go on with, or None if it has put others in its place. Constants are made once, at the
start of the function. What a check or a branch establishes (``x == y``, a condition) is used where it holds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import UNKNOWN, Attr, Block, Func, Loc, Op, Value
from adc.ir.evaluate.evaluate import Undefined, normal
from adc.ir.nesting import enclosing
from adc.ir.opdef import OpDef
from adc.ir.types import MemRefType, RecordType, Type, i1, index
from adc.passes.analysis.conditions import MEANING, is_wide
from adc.passes.analysis.extents import Extents, shadowed
from adc.passes.analysis.integers import EXTREMES, Integers, says_more
from adc.passes.analysis.kinds import COUNTED, TRAPS
from adc.passes.analysis.linear import Linear
from adc.passes.analysis.prospects import Prospect
from adc.passes.rewrite import keep_hint, replace_op

Rule = Callable[["Rewriter", Op], Sequence[Value] | None]
Control = Callable[["Rewriter", Op], Op | None]

_OPPOSITE = {"slt": "sge", "sle": "sgt", "sgt": "sle", "sge": "slt"}
_ORDER = {(p, True): p for p in _OPPOSITE} | {(p, False): o for p, o in _OPPOSITE.items()}
"""What holds of two integers, by the predicate of a comparison and whether it holds."""


class Rewriter:
    """The state of one walk, which rules are given.

    ``again`` is set by rules that make a simplification possible in code that was passed already.
    """

    def __init__(self, func: Func, rules: Mapping[OpDef, Rule], control: Mapping[OpDef, Control]) -> None:
        self.func = func
        self._rules = rules
        self._control = control
        self.integers = Integers()
        self.extents = Extents(like=shadowed(func))
        self.again = False
        self.loc: Loc = UNKNOWN
        self._block: Block = func.body
        self._out: list[Op] = []
        self._pending: list[Op] = []
        self._constants: dict[tuple[Type, str | int | float], Op] = {}
        self._replaced: dict[Value, Value] = {}
        self._equal: dict[Value, Value] = {}
        self._log: list[tuple[Value, Value | None]] = []
        self._not_all: tuple[tuple[Value, ...], ...] = ()  # conditions that do not all hold
        self._not_negative: tuple[tuple[Linear, Prospect], ...] = ()  # by comparisons that hold

    def run(self) -> None:
        self.walk(self.func.body)

    # What rules use ---------------------------------------------------------------------------------------------------

    def emit(self, opdef: OpDef, *operands: Value, **attrs: Attr) -> Value:
        """The only result of an operation that is put before the present one, or a value known to be equal."""
        op = self.new(opdef, operands, attrs)
        values = self._simpler(op)
        if values is not None:
            op.drop()
            return values[0]
        self._put(op)
        return op.result

    def put(self, opdef: OpDef, operands: Sequence[Value], attrs: Mapping[str, Attr]) -> None:
        """Put an operation without results before the present one."""
        self._put(self.new(opdef, operands, attrs))

    def append(self, opdef: OpDef, *operands: Value, **attrs: Attr) -> Value:
        """The result of an operation that is put before the present one as it is."""
        return self._put(self.new(opdef, operands, attrs)).result

    def new(self, opdef: OpDef, operands: Sequence[Value], attrs: Mapping[str, Attr] = MappingProxyType({})) -> Op:
        """An operation that is in no block yet, at the location of the present one."""
        given = dict(opdef.defaults)
        given.update(attrs)
        assert opdef.infer is not None
        return Op(opdef, operands, opdef.infer([v.type for v in operands], given), given, loc=self.loc)

    def constant(self, value: float | int | bool, type: Type) -> Value:
        value = float(value) if type.is_float else int(value)
        key = type, repr(value) if type.is_float else value
        op = self._constants.get(key)
        if op is None:
            op = Op(ops.constant, (), (type,), {"value": value, "type": type}, loc=self.loc)
            op.parent = self.func.body
            self._constants[key] = op
        return op.result

    def index(self, value: int) -> Value:
        return self.constant(value, index)

    def proves_ge(self, a: Value, b: Value, margin: int = 0) -> bool:
        """Whether ``a >= b + margin`` where the present operation is."""
        linear = self.integers.linear
        return self.holds(linear(a, exact=True).plus(linear(b, exact=True), -1, -margin))

    def proves_ge_zero(self, a: Value) -> bool:
        """Whether ``a >= 0`` where the present operation is."""
        return self.holds(self.integers.linear(a, exact=True))

    def holds(self, form: Linear, substitutions: int = 3) -> bool:
        """Whether an exact form is not negative where the present operation is."""
        if self.integers.holds(form, (op for op in enclosing(self._block) if op.opdef in COUNTED)):
            return True
        if not self._not_negative:
            return False
        own: Prospect | None = None
        for known, prospect in self._not_negative:
            if known.terms.keys().isdisjoint(form.terms):
                continue
            own = own or self.integers.prospect(form)
            if own.fits(prospect) and self.integers.least(form.plus(known, -1)) >= 0:
                return True
        extreme = next((v for v in form.terms if v.op is not None and v.op.opdef in EXTREMES), None)
        if extreme is None or not substitutions:
            return False
        return self.integers.by_operands(form, extreme, lambda part: self.holds(part, substitutions - 1))

    def resolve(self, value: Value) -> Value:
        """The value that has replaced ``value``, or else ``value``."""
        while (new := self._replaced.get(value)) is not None:
            value = new
        return value

    def replace(self, old: Value, new: Value) -> None:
        """Make all users of ``old`` use ``new``."""
        old.replace_uses(new)
        self._replaced[old] = new
        keep_hint(old, new)

    def replace_op(self, op: Op, values: Sequence[Value]) -> None:
        for old, new in zip(op.results, values, strict=True):
            if old is not new:
                self._replaced[old] = new
        replace_op(op, values)

    def rebuilt(self, old: Sequence[Value], new: Sequence[Value]) -> None:
        """Note values that took the place of others, whose users have been changed already."""
        self._replaced.update((o, n) for o, n in zip(old, new, strict=True) if o is not n)

    @contextlib.contextmanager
    def collect(self, target: list[Op], block: Block) -> Iterator[None]:
        """Append what is emitted inside to ``target``, which the caller makes part of ``block``."""
        outer = self._block, self._out
        self._block, self._out = block, target
        try:
            yield
        finally:
            self._block, self._out = outer

    def later(self, ops_in_order: Sequence[Op]) -> None:
        """Visit these operations next: a region's code that takes the place of the operation it was in."""
        self._pending.extend(reversed(ops_in_order))

    def assume(self, condition: Value, holds: bool) -> None:
        """From here to the end of the block, use that ``condition`` is known, and what follows from it."""
        work = [(condition, holds)]
        while work:
            work.extend(self._assume(*work.pop()))

    def _assume(self, condition: Value, holds: bool) -> Sequence[tuple[Value, bool]]:
        """Note one condition; returns others that follow."""
        self._set_equal(condition, self.constant(holds, condition.type))
        follows = self._of_not_all(condition) if holds and self._not_all else []
        if not holds and len(parts := self._parts(condition)) > 1:
            self._not_all = (*self._not_all, tuple(parts))
        op = condition.op
        if op is None:
            return follows
        if (op.opdef is ops.andi and holds) or (op.opdef is ops.ori and not holds):
            return [(operand, holds) for operand in op.operands]
        if op.opdef is ops.select and op.result.type == i1:
            # The short-circuit "x and y" is select(x, y, false), "x or y" is select(x, true, y).
            first, *choices = op.operands
            if holds and _is_constant(choices[1], 0):
                return [(first, True), (choices[0], True)]
            if not holds and _is_constant(choices[0], 1):
                return [(first, False), (choices[1], False)]
        elif op.opdef is ops.xori and _is_constant(op.operands[1], 1):
            return [(op.operands[0], not holds)]
        elif op.opdef is ops.cmpi and (predicate := _ORDER.get((op.attrs["predicate"], holds))) is not None:
            self._not_negative = (*self._not_negative, *self._differences(op, predicate))
        elif op.opdef is ops.cmpi and op.attrs["predicate"] == ("eq" if holds else "ne"):
            kept, other = (self._equal.get(v, v) for v in op.operands)
            if says_more(other, kept):
                kept, other = other, kept
            if kept is not other and constant_of(other) is None:
                self._set_equal(other, kept)
        return follows

    def _differences(self, comparison: Op, predicate: str) -> list[tuple[Linear, Prospect]]:
        """What is not negative if a comparison of that ``predicate`` holds, of integers of 64 bits; and the prospect of
        its negative."""
        left, right = comparison.operands
        if not is_wide(left):
            return []
        between = self.integers.linear(right, exact=True).plus(self.integers.linear(left, exact=True), -1)
        found = [between.times(sign).plus_number(-margin) for sign, margin in MEANING[predicate]]
        return [(form, self.integers.prospect(form, -1)) for form in found]

    def _of_not_all(self, holds: Value) -> list[tuple[Value, bool]]:
        """Conditions that are false: each is the last of several that do not all hold, now that one more holds."""
        left = tuple(tuple(c for c in parts if c is not holds) for parts in self._not_all)
        self._not_all = tuple(parts for parts in left if len(parts) > 1)
        return [(parts[0], False) for parts in left if len(parts) == 1]

    def _parts(self, condition: Value) -> list[Value]:
        """The conditions whose conjunction ``condition`` is, without those that are known to hold."""
        op = condition.op
        if op is not None and op.opdef is ops.andi:
            return list(dict.fromkeys(part for operand in op.operands for part in self._parts(operand)))
        return [] if (known := self._equal.get(condition)) is not None and _is_constant(known, 1) else [condition]

    def fails(self) -> None:
        """Drop the rest of the block: the present operation raises an error, so nothing after it is reached."""
        if self._block is self.func.body or len(self._pending) <= 1:
            return
        end, *dead = self._pending
        self._pending = [end]
        own = {result for op in dead for result in op.results}
        loop = self._block.parent_op
        carried = self._block.args[1:] if loop is not None and loop.opdef is ops.for_ else ()
        for op in dead:
            op.drop()
        for position, value in enumerate(end.operands):
            if value in own:
                end.set_operand(position, carried[position] if carried else self._anything(value.type))

    def _anything(self, type: Type) -> Value:
        if isinstance(type, MemRefType | RecordType):
            return self.append(ops.undef, type=type)
        return self.constant(0, type)

    # The walk ---------------------------------------------------------------------------------------------------------

    def walk(self, block: Block, assumption: tuple[Value, bool] | None = None) -> None:
        """Canonicalise a block, in which ``assumption`` (a condition and whether it holds) may be used."""
        outer = (self._block, self._out, self._pending, self.loc)
        mark, not_all, not_negative = len(self._log), self._not_all, self._not_negative
        # The old list stays in place until the end: facts about loops are found through terminators.
        self._block, self._out, self._pending = block, [], list(reversed(block.ops))
        if assumption is not None:
            self.assume(*assumption)
        while self._pending:
            self._visit(self._pending.pop())
        while len(self._log) > mark:
            value, before = self._log.pop()
            if before is None:
                del self._equal[value]
            else:
                self._equal[value] = before
        self._not_all, self._not_negative = not_all, not_negative
        block.set_ops(self._out if block is not self.func.body else [*self._constants.values(), *self._out])
        self._block, self._out, self._pending, self.loc = outer

    def _visit(self, op: Op) -> None:
        if op.opdef is ops.constant:
            self._pool(op)
            return
        self.loc = op.loc
        if self._equal and not self._equal.keys().isdisjoint(op.operands):
            for position, operand in enumerate(op.operands):
                known = self._equal.get(operand)
                if known is not None and known.type == operand.type:
                    op.set_operand(position, known)
        if op.regions:
            control = self._control.get(op.opdef)
            left = control(self, op) if control is not None else op
            if left is not None:
                self._put(left)
            return
        values = self._simpler(op)
        if values is None:
            self._put(op)
        else:
            self.replace_op(op, values)

    def _pool(self, op: Op) -> None:
        value, type = op.attrs["value"], op.result.type
        key = type, repr(float(value)) if type.is_float else int(value)
        first = self._constants.setdefault(key, op)
        if first is op:
            op.parent = self.func.body
        else:
            self.replace_op(op, (first.result,))

    def _put(self, op: Op) -> Op:
        op.parent = self._block
        self._out.append(op)
        return op

    def _simpler(self, op: Op) -> Sequence[Value] | None:
        """Values equal to the results of ``op``, or None if it should stay."""
        operands = op.operands
        if operands and (first := operands[0].op) is not None and first.opdef is ops.constant:
            folded = self._fold(op)
            if folded is not None:
                return (folded,)
        rule = self._rules.get(op.opdef)
        return None if rule is None else rule(self, op)

    def _fold(self, op: Op) -> Value | None:
        evaluate = op.opdef.evaluate
        operands = op.operands
        if evaluate is None or not operands or op.opdef in TRAPS:
            return None
        values = []
        for operand in operands:
            source = operand.op
            if source is None or source.opdef is not ops.constant:
                return None
            values.append(normal(source.attrs["value"], operand.type))
        try:
            result = evaluate(op.attrs, op.result.type, *values)
        except Undefined:
            return None  # it may sit where it is never reached
        return self.constant(result, op.result.type)

    def _set_equal(self, value: Value, known: Value) -> None:
        self._log.append((value, self._equal.get(value)))
        self._equal[value] = known


def _is_constant(value: Value, number: int) -> bool:
    op = value.op
    return op is not None and op.opdef is ops.constant and op.attrs["value"] == number
