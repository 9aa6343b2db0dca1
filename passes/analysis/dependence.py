"""Do two iterations of a loop touch the same memory? The accesses of a loop's body, and a test of pairs of them.

An access names a memref that is not a view and, for each dimension, the least and greatest subscript as forms. Two
accesses are *separated* if in some dimension the greatest subscript of one is below the least subscript of the other
for every pair of different iterations (Banerjee's test, with symbols), or if no integer solution exists (the GCD test).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, inside
from adc.ir.types import MemRefType
from adc.passes.analysis.affine import INT64, Form, Forms, Symbol, never_zero
from adc.passes.analysis.conditions import MEANING, comparisons
from adc.passes.analysis.effects import Summaries
from adc.passes.analysis.extents import shadowed
from adc.passes.analysis.kinds import COUNTED, TERMINATORS
from adc.passes.analysis.questions import Questions
from adc.passes.analysis.spans import Span, in_other_shape, through_views

MAX_PAIRS = 4000


@dataclass(frozen=True, eq=False)
class Access:
    """What ``op`` does ("read", "write" or "accumulate") to ``base``. ``where`` is None if that is not known; it may
    be known of a ``view`` in another shape, whose elements are different elements of ``base``."""

    op: Op
    base: Value
    where: tuple[Span, ...] | None
    kind: str
    view: tuple[Value, tuple[Span, ...]] | None = None

    @property
    def changes(self) -> bool:
        return self.kind != "read"

    @property
    def is_point(self) -> bool:
        return self.where is not None and all(low is high for low, high in self.where)

    def __str__(self) -> str:
        name = self.base.hint or "memory"
        return f"{self.kind} of {name} in line {self.op.loc.line}"


@dataclass
class Accesses:
    """For the body of one loop: accesses to memory that outlives an iteration, and operations that rule out any
    order."""

    found: list[Access] = field(default_factory=list)
    obstacles: list[tuple[Op, str]] = field(default_factory=list)


class Analysis:
    """What the dependence tests of one function have in common."""

    def __init__(
        self, func: Func, module: Module, summaries: Summaries | None = None, aliasing: Aliasing | None = None
    ) -> None:
        self.forms = Forms()
        self.summaries = summaries or Summaries.asked(module)
        self.aliasing = aliasing or Aliasing.asked(func, module)
        self.shadowed = shadowed(func)
        self.facts: list[Form] = []  # not negative at this point
        self.conditions: dict[Value, bool] = {}  # what the branches around this point have decided on
        self.rows: dict[Op, dict[Op, object]] = {}  # by loop: accesses to rows of an iteration's own, and the arrays

    @contextlib.contextmanager
    def inside(self, region: Block) -> Iterator[None]:
        """Inside, code in ``region`` is looked at: in a branch, use what its condition says of integers."""
        branch = region.parent_op
        taken = branch is not None and branch.opdef is ops.if_ and branch.regions[0] is region
        known, count, conditions = self.forms.known, len(self.facts), self.conditions
        if branch is not None and branch.opdef is ops.if_:
            self.conditions = {**conditions, branch.operands[0]: taken}
        compared = list(comparisons(branch.operands[0])) if branch is not None and taken else []
        for op in compared:
            self._learn_limit(op)
        for op in compared:
            left, right = (self.forms.of(v) for v in op.operands)
            if self.forms.is_exact(left) and self.forms.is_exact(right):
                self.facts += [(right - left) * sign - margin for sign, margin in MEANING[op.attrs["predicate"]]]
        yield
        self.forms.known, self.conditions = known, conditions
        del self.facts[count:]

    def _learn_limit(self, op: Op) -> None:
        """Learn from a comparison of a symbol with a number."""
        left, right = (self.forms.of(v) for v in op.operands)
        for sign, margin in MEANING[op.attrs["predicate"]]:
            form = (right - left) * sign - margin  # not negative
            symbols = list(form.symbols())
            if len(symbols) != 1 or not self.forms.is_exact(left) or not self.forms.is_exact(right):
                continue
            factor, rest = form.split(symbols[0])
            if factor.is_constant and abs(factor.constant) == 1 and rest.is_constant:
                low, high = self.forms.known.get(symbols[0], INT64)
                if factor.constant > 0:
                    low = max(low, -rest.constant)
                else:
                    high = min(high, rest.constant)
                self.forms.known = {**self.forms.known, symbols[0]: (low, high)}

    # Accesses ---------------------------------------------------------------------------------------------------------

    def accesses(self, loop: Op) -> Accesses:
        """What the body of ``loop`` does to memory that existed before the iteration."""
        result = Accesses()
        for op in loop.regions[0].walk():
            self._visit(op, loop, result)
        return result

    def accesses_of(self, op: Op, loop: Op) -> Accesses:
        """What one operation in the body of ``loop``, nested ones included, does to memory from before the
        iteration."""
        result = Accesses()
        self._visit(op, loop, result)
        for region in op.regions:
            for inner in region.walk():
                self._visit(inner, loop, result)
        return result

    def _visit(self, op: Op, loop: Op, result: Accesses) -> None:
        kind, operands, found = op.opdef, op.operands, result.found
        if kind is ops.load:
            self._point(op, operands[0], operands[1:], "read", loop, found)
        elif kind is ops.store or kind is ops.accumulate:
            if isinstance(operands[0].type, MemRefType):
                result.obstacles.append((op, "stores an array"))
            name = "write" if kind is ops.store else "accumulate"
            self._point(op, operands[1], operands[2:], name, loop, found)
        elif kind is ops.fill:
            self._whole(op, operands[1], "write", loop, found)
        elif kind is ops.copy:
            self._whole(op, operands[0], "read", loop, found)
            self._whole(op, operands[1], "write", loop, found)
        elif kind is ops.matmul:
            for operand in operands:
                self._whole(op, operand, "read", loop, found)
            self._whole(op, operands[2], "write", loop, found)
        elif kind is ops.call:
            self._call(op, loop, result)
        elif kind is ops.bound:
            if op.attrs["check"]:
                result.obstacles.append((op, "may raise IndexError"))
        elif kind is ops.assert_:
            result.obstacles.append((op, f"may raise {op.attrs['error']}"))
        elif kind is ops.foreign:
            self._foreign(op, loop, result)
        elif kind is ops.dealloc:
            if not self.is_private(operands[0], loop):
                result.obstacles.append((op, "frees memory"))
        elif kind not in _HARMLESS and not op.regions and not op.opdef.pure:
            result.obstacles.append((op, f"{kind.name} in the loop"))

    def _call(self, op: Op, loop: Op, result: Accesses) -> None:
        summary = self.summaries.of(op.attrs["callee"])
        if summary is not None and summary.ordered:
            result.obstacles.append((op, f"@{op.attrs['callee']} has effects that are in order"))
        elif summary is None or summary.traps:
            result.obstacles.append((op, f"@{op.attrs['callee']} may raise an error"))
        if any(isinstance(r.type, MemRefType) and not self.is_private(r, loop) for r in op.results):
            result.obstacles.append((op, f"@{op.attrs['callee']} returns an array"))
        for position, operand in enumerate(op.operands):
            if isinstance(operand.type, MemRefType):
                if summary is None or position in summary.writes:
                    self._whole(op, operand, "write", loop, result.found)
                if summary is None or position in summary.reads:
                    self._whole(op, operand, "read", loop, result.found)

    def _foreign(self, op: Op, loop: Op, result: Accesses) -> None:
        if op.attrs["ordered"]:
            result.obstacles.append((op, f"{op.attrs['symbol']} has effects that are in order"))
        for position, operand in enumerate(op.operands):
            if isinstance(operand.type, MemRefType):
                for kind in ("read", "write") if position in op.attrs["written"] else ("read",):
                    self._whole(op, operand, kind, loop, result.found)

    def _point(
        self, op: Op, memref: Value, subscripts: Sequence[Value], kind: str, loop: Op, found: list[Access]
    ) -> None:
        points = [self.forms.of(v) for v in subscripts]
        self._add(op, memref, [(p, p) for p in points], kind, loop, found)

    def _whole(self, op: Op, memref: Value, kind: str, loop: Op, found: list[Access]) -> None:
        assert isinstance(memref.type, MemRefType)
        spans = [(Form.ZERO, self.forms.extent(memref, d) - 1) for d in range(memref.type.rank)]
        self._add(op, memref, spans, kind, loop, found)

    def _add(self, op: Op, memref: Value, where: list[Span], kind: str, loop: Op, found: list[Access]) -> None:
        if not self.is_private(memref, loop):
            base, spans = self.through_views(memref, where)
            view = None if spans is not None else in_other_shape(self.forms, memref, where)
            found.append(Access(op, base, spans, kind, view))

    def is_private(self, memref: Value, loop: Op) -> bool:
        """Whether each iteration of ``loop`` has memory of its own for ``memref``."""
        roots = self.aliasing.roots(memref)
        return all(root.op is not None and inside(root, loop) for root in roots)

    def through_views(self, memref: Value, where: list[Span]) -> tuple[Value, tuple[Span, ...] | None]:
        """Subscripts of a view as subscripts of the memref that it is a view of."""
        return through_views(self.forms, memref, where)

    # Dependences ------------------------------------------------------------------------------------------------------

    def conflicts(self, loop: Op, accesses: Sequence[Access]) -> Iterator[tuple[Access, Access]]:
        """Pairs that may touch the same element in different iterations, if at least one of them changes it."""
        unlike, questions = distinct(accesses), self.questions(loop)
        pairs = 0
        for n, a in enumerate(unlike):
            for b in unlike[: n + 1]:
                if (a.changes or b.changes) and not self.apart(a, b, loop):
                    pairs += 1
                    if pairs > MAX_PAIRS or not self.independent(a, b, loop, questions):
                        yield a, b

    def is_unordered(self, loop: Op) -> bool:
        """Whether the effects of iterations may come in any order. Carried values may still order them."""
        accesses = self.accesses(loop)
        return not accesses.obstacles and not any(self.conflicts(loop, accesses.found))

    def apart(self, a: Access, b: Access, loop: Op) -> bool:
        """Whether the two access memory that never overlaps in any iterations."""
        if a.base is b.base:
            return False
        if inside(a.base, loop) or inside(b.base, loop):
            return self.aliasing.roots(a.base).isdisjoint(self.aliasing.roots(b.base))
        return not self.aliasing.may_overlap(a.base, b.base)

    def apart_now(self, a: Value, b: Value) -> bool:
        """Whether two memrefs do not overlap at a moment when both are in scope."""
        return not self.aliasing.may_overlap(a, b)

    def leaves(self, loop: Op, memref: Value) -> bool:
        """Whether no access in ``loop`` changes the memory of ``memref``."""
        return all(self.apart_now(a.base, memref) for a in self.accesses(loop).found if a.changes)

    def questions(self, loop: Op) -> Questions:
        """For asking ``independent`` about many pairs, while neither the code nor the current point changes."""
        return Questions(self.forms, loop, self.facts)

    def independent(self, a: Access, b: Access, loop: Op, questions: Questions | None = None) -> bool:
        """Whether ``a`` and ``b``, in different iterations of ``loop``, always touch different elements."""
        if a.base is not b.base or inside(a.base, loop):
            return False
        if a.where is None or b.where is None:
            if a.view is None or b.view is None or a.view[0] is not b.view[0] or inside(a.view[0], loop):
                return False
            one = replace(a, where=a.view[1])
            a, b = one, one if a is b else replace(b, where=b.view[1])
        assert a.where is not None and b.where is not None
        rows = self.rows.get(loop, {})
        if a.op in rows and rows[a.op] == rows.get(b.op):
            return True
        if self._have_own(a.where, b.where, loop):
            return True
        questions = questions or self.questions(loop)
        return self._separated(a, b, questions) and (a is b or self._separated(b, a, questions))

    def _have_own(self, a: tuple[Span, ...], b: tuple[Span, ...], loop: Op) -> bool:
        """Whether the counter of ``loop``, plus what is the same in all iterations, is a subscript of both. That is so
        for most pairs, and quickly seen."""
        counter = self.forms.symbol(loop.regions[0].args[0])
        for (low, high), (least, greatest) in zip(a, b, strict=True):
            if low is high and least is greatest and abs(low.terms.get((counter,), 0)) == 1 and low == least:
                others = [monomial for monomial in low.terms if monomial != (counter,)]
                if not any(inside(symbol.value, loop) for monomial in others for symbol in monomial):
                    return True
        return False

    def _separated(self, first: Access, second: Access, questions: Questions) -> bool:
        """The same for ``second`` in a later iteration than ``first``."""
        assert first.where is not None and second.where is not None
        asked = functools.partial(questions.nonnegative, first.op.parent, second.op.parent)
        for (low, high), (least, greatest) in zip(first.where, second.where, strict=True):
            least, greatest = questions.later(least), questions.later(greatest)
            if low is high and never_zero(low - least):
                return True
            if asked(least - high - 1) or asked(low - greatest - 1):
                return True
        return self._contradiction(first, second, questions)

    def _contradiction(self, first: Access, second: Access, questions: Questions) -> bool:
        """Whether equal subscripts in all dimensions would imply that the second iteration is not the later one."""
        assert first.where is not None and second.where is not None
        loop, asked = questions.loop, functools.partial(questions.nonnegative, first.op.parent, second.op.parent)
        counter = Form.symbol(self.forms.symbol(loop.regions[0].args[0]))
        later = counter + 1 - questions.later(counter)  # not positive
        zeros = [
            low - questions.later(least)
            for (low, high), (least, greatest) in zip(first.where, second.where, strict=True)
            if low is high and least is greatest
        ]
        while zeros:
            zero = zeros.pop()
            symbol = next((s for s in zero.symbols() if _solvable(zero, s, loop)), None)
            if symbol is None:
                continue
            factor, rest = zero.split(symbol)
            value = rest * -factor.constant
            zeros = [z.substitute(symbol, value) for z in zeros]
            later = later.substitute(symbol, value)
            if any(never_zero(z) for z in zeros) or asked(later - 1):
                return True
        return False

    # Certain conflicts -----------------------------------------------------------------------------------------------

    def certain_conflict(self, loop: Op, a: Access, b: Access) -> bool:
        """Whether ``a`` and ``b`` certainly touch one element in two iterations, if the loop has enough of them."""
        if a.base is not b.base or inside(a.base, loop) or not (a.is_point and b.is_point):
            return False
        if not (_always_runs(a.op, loop) and _always_runs(b.op, loop)):
            return False
        assert a.where is not None and b.where is not None
        counter = self.forms.symbol(loop.regions[0].args[0])
        distance: int | None = None
        for (p, _), (q, _) in zip(a.where, b.where, strict=True):
            if any(s is not counter and not self.comparable(s, loop) for s in p.symbols() | q.symbols()):
                return False
            factor, other = p.coefficient(counter), q.coefficient(counter)
            difference = p - q
            if factor != other or not factor.is_constant or not difference.is_constant:
                return False
            if not factor.terms:
                if difference.terms:
                    return False
                continue
            steps, remainder = divmod(difference.constant, factor.constant)
            if remainder or (distance is not None and distance != steps):
                return False
            distance = steps
        if distance is None:
            return True
        lower, upper, step = (self.forms.of(v) for v in loop.operands[:3])
        if distance == 0 or not step.is_constant or distance % step.constant:
            return False
        trips = upper - lower
        return not trips.is_constant or abs(distance) < trips.constant

    def comparable(self, symbol: Symbol, loop: Op) -> bool:
        """Whether a symbol has the same value in two iterations: an invariant, or a counter with the same range."""
        if not inside(symbol.value, loop):
            return True
        bounds = symbol.loop.operands[:3] if symbol.loop is not None else ()
        return bool(bounds) and not any(inside(s.value, loop) for v in bounds for s in self.forms.of(v).symbols())


_HARMLESS = TERMINATORS | {ops.alloc}


def distinct(accesses: Sequence[Access]) -> list[Access]:
    """One of each group of accesses that do the same to the same place, in the same loops."""
    found: dict[object, Access] = {}
    for a in accesses:
        found.setdefault((a.base, a.where, a.view, a.kind, a.op.parent if a.where is None else None), a)
    return list(found.values())


def _solvable(zero: Form, symbol: Symbol, loop: Op) -> bool:
    """Whether the equation ``zero == 0`` gives ``symbol``, a value of the loop's body, as an integer form."""
    factor, _ = zero.split(symbol)
    return inside(symbol.value, loop) and factor.is_constant and abs(factor.constant) == 1


def _always_runs(op: Op, loop: Op) -> bool:
    """Whether every iteration of ``loop`` reaches ``op``, if the loops in between run at all."""
    for outer in enclosing(op.parent):
        if outer is loop:
            return True
        if outer.opdef not in COUNTED:
            return False
    return False
