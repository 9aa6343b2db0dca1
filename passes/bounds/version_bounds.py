"""Removing the checks of subscripts from loops.

First by proof: the subscript is in range whenever the code runs. Otherwise by versioning: before a loop nest that
checks subscripts which are linear in its counters, one test finds whether all of them are in range in all iterations,
and chooses between a copy without these checks and the nest as it was. The same is done for bounds of slices that are
loaded from an array of offsets, ``x[first[i] : first[i + 1]]``::

    %ok = ...                       // 1 <= lower, upper <= extent, ...
    scf.if %ok { fast copy } else { the nest } {adc.cold = "else"}

The original nest has Python's semantics to the letter: negative subscripts, and an IndexError in the right iteration
with what was stored before it. Subscripts that are not linear (loaded ones, remainders) are checked in both copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Loc, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, inside
from adc.ir.rewrite import Mapping, clone_op
from adc.passes.analysis.affine import Form, Forms, Symbol
from adc.passes.analysis.cold import COLD, walk_warm, warm_regions
from adc.passes.analysis.conditions import is_wide
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.extremes import Extremes, Origins
from adc.passes.analysis.form_conditions import FALSE, TRUE, Condition, Emitter, both, leaves, sides
from adc.passes.analysis.guards import guards_of
from adc.passes.analysis.kinds import COUNTED
from adc.passes.analysis.ranges import LIMITS, Ranges
from adc.passes.analysis.running import running
from adc.passes.analysis.small_integers import SmallIntegers
from adc.passes.bounds.ways import clamp, computed_alike, ways_of
from adc.passes.rewrite import replace_op

LEAST_LIMIT = 1 << 20  # of the size of integers, where their products might not fit into 64 bits
_COMPARISONS = {"sge": (0, 1, 0), "sgt": (0, 1, -1), "sle": (1, 0, 0), "slt": (1, 0, -1)}


@dataclass(frozen=True)
class BoundDecision:
    """What became of one check: "proved", "versioned" or "checked", and why."""

    loc: Loc
    outcome: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.loc}: {self.outcome}" + (f": {self.reason}" if self.reason else "")


@dataclass
class BoundsPlan:
    """What became of the checks of a module's functions."""

    decisions: dict[str, list[BoundDecision]] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = []
        for name, decisions in self.decisions.items():
            lines.append(f"bounds of @{name}")
            lines += [f"  {d}" for d in decisions]
        return "\n".join(lines)


@dataclass(frozen=True)
class VersionBounds:
    """Remove checks of subscripts from loops, by proof or by a test before the loop."""

    name: ClassVar[str] = "version-bounds"

    def run(self, module: Module) -> Module:
        version_bounds(module)
        return module


def version_bounds(module: Module) -> BoundsPlan:
    """Change the module, and report what was done."""
    plan = BoundsPlan()
    summaries = Summaries.asked(module)
    for func in module.funcs.values():
        decisions = plan.decisions[func.name] = []
        forms = Forms()
        _Prover(forms, decisions).run(func)
        _Versioner(forms, decisions, Origins(Memory.asked(func, summaries))).run(func)
    return plan


class _Scoped:
    """A walk in order that keeps track of which values are extents of memrefs, and so not negative."""

    def __init__(self, forms: Forms, decisions: list[BoundDecision]) -> None:
        self.forms = forms
        self.decisions = decisions
        self._scope: list[Symbol] = []

    def assume(self, op: Op) -> None:
        extents = op.operands if op.opdef is ops.alloc else op.operands[1:] if op.opdef is ops.bound else ()
        for extent in extents:
            symbol = self.forms.assume_nonnegative(extent)
            if symbol is not None:
                self._scope.append(symbol)

    def leave(self, mark: int) -> None:
        self.forms.forget_nonnegative(self._scope[mark:])
        del self._scope[mark:]


class _Prover(_Scoped):
    """Removes the checks that never fail."""

    def run(self, func: Func) -> None:
        self._block(func.body)

    def _block(self, block: Block) -> None:
        mark = len(self._scope)
        kept = block.in_place_of()
        for op in block.ops:
            self.assume(op)
            if op.opdef is ops.bound and op.attrs["check"]:
                way = self._proved(op)
                if way is not None:
                    self.decisions.append(BoundDecision(op.loc, "proved"))
                    _remove(op, way, kept)
                    continue
            for region in op.regions:
                self._block(region)
            kept.append(op)
        self.leave(mark)
        block.set_ops(kept.ops)

    def _proved(self, op: Op) -> str | None:
        loops = [o for o in enclosing(op.parent) if o.opdef in COUNTED]
        ranges = Ranges(self.forms, facts=running(self.forms, loops))
        for way in ways_of(self.forms, op):
            if all(ranges.nonnegative(form) == TRUE for form in way.conditions):
                return way.kind
        return None


def _remove(op: Op, kind: str, block: Block) -> None:
    """Replace a check by its subscript. What is left of the check is appended to ``block``."""
    subscript, extent = op.operands
    with insert_at(block, op.loc):
        if kind == "negative":
            subscript = ops.addi(subscript, extent)
        elif kind == "either":
            subscript = ops.bound(subscript, extent, check=False)
    replace_op(op, [subscript])


class _Versioner(_Scoped):
    """Makes copies of loop nests without the checks that a test before the nest covers."""

    def __init__(self, forms: Forms, decisions: list[BoundDecision], origins: Origins) -> None:
        super().__init__(forms, decisions)
        self.origins = origins

    def run(self, func: Func) -> None:
        self._walk(func.body)
        for op in walk_warm(func.body):
            if op.opdef is ops.bound and op.attrs["check"]:
                self.decisions.append(BoundDecision(op.loc, "checked", "not linear in loop counters and invariants"))

    def _walk(self, block: Block) -> None:
        mark = len(self._scope)
        new = block.in_place_of()
        for op in block.ops:
            self.assume(op)
            if op.opdef in COUNTED:
                self._nest(op, new)
            else:
                for region in warm_regions(op):
                    self._walk(region)
                new.append(op)
        self.leave(mark)
        block.set_ops(new.ops)

    def _nest(self, loop: Op, block: Block) -> None:
        """Append ``loop``, or a choice between two versions of it, to ``block``."""
        question = _Question(self.forms, loop, Extremes(loop, self.origins))
        ways: dict[Op, str] = {}
        tests: list[_Test] = []
        for op in walk_warm(loop.regions[0]):
            found = question.about(op)
            if found is not None:
                ways[op], test = found
                tests.append(test)
        if tests:
            for op in question.extremes.pending.ops:
                block.append(op)
            with insert_at(block, loop.loc):
                limit = min((t.limit for t in tests if t.limit is not None), default=None)
                small = frozenset[Symbol]().union(*(t.small for t in tests))
                chosen = Emitter(self.forms, limit).emit(both(t.condition for t in tests), small)
            loop = self._version(loop, chosen, ways, block)
        else:
            for op in question.extremes.pending.ops:
                op.drop()  # built for a test that was not made
            block.append(loop)
        # What cannot be tested here may be testable before a loop further inside.
        for region in loop.regions:
            self._walk(region)

    def _version(self, loop: Op, chosen: Value, ways: dict[Op, str], block: Block) -> Op:
        """Append the choice, and return the fast copy."""
        fast, slow = Block(), Block()
        for op in ways:
            self.decisions.append(BoundDecision(op.loc, "versioned", f"tested before the loop at {loop.loc}"))
        with insert_at(fast, loop.loc):
            mapping: Mapping = {}
            copy = clone_op(loop, mapping)
            build(ops.yield_, copy.results)
        copies = dict(zip((loop, *loop.regions[0].walk()), (copy, *copy.regions[0].walk()), strict=True))
        self.origins.copied(mapping, copies)
        _strip(copy.regions[0], {copies[op]: way for op, way in ways.items()})
        with insert_at(block, loop.loc):
            choice = build(ops.if_, [chosen], {COLD: "else"}, [r.type for r in loop.results], [fast, slow])
        for old, new in zip(loop.results, choice.results, strict=True):
            old.replace_uses(new)
            new.hint = old.hint
            self.forms.rename(old, new)
        slow.append(loop)
        with insert_at(slow, loop.loc):
            build(ops.yield_, loop.results)
        return copy


def _strip(block: Block, removed: dict[Op, str]) -> None:
    kept = Block()
    for op in block.ops:
        kind = removed.get(op)
        if kind == "assert":
            op.drop()
        elif kind == "clamp":
            replace_op(op, [op.operands[2].op.operands[0]])  # type: ignore[union-attr]
        elif kind is not None:
            _remove(op, kind, kept)
        else:
            for region in op.regions:
                _strip(region, removed)
            kept.append(op)
    block.set_ops(kept.ops)


def _parent(op: Op) -> Op | Func | None:
    return op.parent.parent if op.parent is not None else None


def _blocks(owner: Op | Func | None) -> Sequence[Block]:
    return owner.regions if isinstance(owner, Op) else [owner.body] if owner is not None else []


@dataclass
class _Test:
    """A condition to test before a nest; it is valid only if certain symbols are smaller than a limit."""

    condition: Condition
    small: frozenset[Symbol] = frozenset()
    limit: int | None = None


class _Question:
    """What must be tested before ``loop`` so that something holds in all its iterations."""

    def __init__(self, forms: Forms, loop: Op, extremes: Extremes) -> None:
        self.forms = forms
        self.loop = loop
        self.extremes = extremes
        self._clamps: Mapping = {}

    def about(self, op: Op) -> tuple[str, _Test] | None:
        """How ``op``, if it is a check, can be removed, and the test that this needs."""
        if op.opdef in (ops.bound, ops.assert_, ops.select):
            self.extremes.guards = tuple(guards_of(op, self.loop))
        if op.opdef is ops.bound and op.attrs["check"]:
            for way in ways_of(self.forms, op):
                ranges = self._ranges()
                conditions = [ranges.nonnegative(form) for form in way.conditions]
                if way.kind == "negative" and conditions[0] != TRUE:
                    continue
                test = self._test(conditions, ranges)
                if test is not None:
                    return way.kind, test
                if way.kind == "plain" and conditions[0] != FALSE:
                    return None  # else negative subscripts are meant
        elif op.opdef is ops.assert_:
            made = op.operands[0].op
            if made is not None and made.opdef is ops.fits:
                kind, pair = made.attrs["kind"], made.operands
                test = self._small(lambda known: known.fits(kind, *pair))
            else:
                ranges = self._ranges()
                test = self._test([self._holds(op.operands[0], ranges)], ranges)
            if test is not None:
                return "assert", test
        elif op.opdef is ops.select and (clamped := clamp(op)) is not None:
            subscript, extent = map(self.forms.of, clamped)
            if self.extremes.loaded(clamped[0], least=True) is not None:
                ranges = self._ranges()
                test = self._test([ranges.nonnegative(form) for form in (subscript, extent - subscript)], ranges)
                if test is not None:
                    self._clamps[op.result] = clamped[0]
                    return "clamp", test
        return None

    def _available(self, value: Value) -> bool:
        return not inside(value, self.loop)

    def _ranges(self) -> Ranges:
        return Ranges(self.forms, self._available, extremes=self.extremes)

    def _holds(self, value: Value, ranges: Ranges) -> Condition | None:
        """The condition that an i1 is true in all iterations."""
        if self._available(value):
            return Condition("value", value=value)
        op = value.op
        if op is None:
            return None
        if op.opdef is ops.andi:
            parts = [self._holds(v, ranges) for v in op.operands]
            return both(p for p in parts if p is not None) if None not in parts else None
        if op.opdef is not ops.cmpi or not all(is_wide(v) for v in op.operands):
            return None
        predicate = op.attrs["predicate"]
        first, second = op.operands
        if predicate in ("eq", "sle", "sge") and computed_alike(first, second, self._clamps):
            return TRUE
        forms = [self.forms.of(v) for v in op.operands]
        for form in forms:
            if not self.forms.is_exact(form):
                ranges.note_inexact(form)
        conditions = []
        for name in ("sle", "sge") if predicate == "eq" else (predicate,):
            if name not in _COMPARISONS:
                return None
            greater, less, margin = _COMPARISONS[name]
            conditions.append(ranges.nonnegative(forms[greater] - forms[less] + margin))
        return both(c for c in conditions if c is not None) if None not in conditions else None

    def _small(self, holds: Callable[[SmallIntegers], bool]) -> _Test | None:
        """A test that integers are small, if ``holds`` is true of integers that are made of small ones."""
        for limit in (*LIMITS, LEAST_LIMIT):
            integers = SmallIntegers(limit, self._in_scope)
            if holds(integers):
                return _Test(TRUE, frozenset(map(self.forms.symbol, integers.small)), limit)
        return None

    def _in_scope(self, value: Value) -> bool:
        """Whether ``value`` can be used before the loop."""
        around = [self.loop, *enclosing(self.loop.parent)]
        op = value.op
        if op is None:
            return value.block in [a.parent for a in around]
        for outer in around:
            if op.parent is outer.parent:
                order = op.parent.ops if op.parent is not None else []
                return order.index(op) < order.index(outer)
            # A block that is being walked is in two pieces: what has been visited has moved to the first one.
            if _parent(op) is _parent(outer):
                return op.parent is not None and op.parent not in _blocks(_parent(op))
        return False

    def _test(self, conditions: list[Condition | None], ranges: Ranges) -> _Test | None:
        if any(c is None for c in conditions):
            return None
        condition = both(c for c in conditions if c is not None)
        if condition.kind == "false":
            return None
        exact = self.forms.is_exact
        doubtful = [f for form in leaves(condition) for f in sides(self.forms, form)[:2] if not exact(f)] + list(
            ranges.inexact
        )
        small = {s for form in doubtful for s in self._made_of(form)}
        if not all(self._available(s.value) for s in small):
            return None
        if not doubtful:
            return _Test(condition)
        limit = next((n for n in LIMITS if all(exact(form, n) for form in doubtful)), None)
        return None if limit is None else _Test(condition, frozenset(small), limit)

    def _made_of(self, form: Form) -> set[Symbol]:
        """The symbols on whose size the size of a form depends: those of loop bounds in place of the counters."""
        found: set[Symbol] = set()
        for symbol in form.symbols():
            if symbol.loop is None:
                bounds = [self.extremes.of(symbol.value, least=least) for least in (True, False)]
                found |= {self.forms.symbol(v) for v in bounds if v is not None} or {symbol}
            else:
                for bound in symbol.loop.operands[:2]:
                    found |= self._made_of(self.forms.of(bound))
        return found
