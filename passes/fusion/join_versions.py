"""Branches between versions of loops become one branch, if their fast versions can then be fused.

``d = a * b; e = d + c`` has, twice, a loop for operands of one shape and another one that broadcasts. In the single
branch that replaces them all operands have one shape, so the loops have one range, and the forward and the reverse
sweep of both become one loop. The other side does what was there before.

Operations between the branches are done on both sides; arithmetic on extents goes before them. Assertions that extents
are equal become part of the condition. Nothing is joined across sequential loops and calls.
"""

from __future__ import annotations

import functools
import itertools
from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having, with_enclosing
from adc.ir.rewrite import Mapping, clone_op, inline_block
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.conditions import comparisons, conjuncts
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.effects import Summaries
from adc.passes.analysis.speculation import Speculation
from adc.passes.fusion.bodies import Bodies
from adc.passes.fusion.choices import Same, is_choice
from adc.passes.fusion.fuse_loops import fusible

_SIMPLE = frozenset({ops.alloc, ops.assert_, ops.fill, ops.copy, ops.load, ops.store})


@dataclass(frozen=True)
class JoinVersions:
    """Join branches between versions, if a loop in one can be fused with one in another, or beside them. At most
    ``most`` operations are duplicated for that."""

    most: int = 400
    name: ClassVar[str] = "join-versions"
    needs = frozenset({ops.if_})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            if any(is_choice(op) for op in func.walk()):
                _Joining(func, module, summaries, self.most).run()
        return module


class _Joining:
    def __init__(self, func: Func, module: Module, summaries: Summaries, most: int) -> None:
        self.func = func
        self.most = most
        self.analysis = Analysis(func, module, summaries)
        self.bodies = Bodies(self.analysis)
        self.speculation = Speculation(func)

    def run(self) -> None:
        self._block(self.func.body)

    def _block(self, block: Block) -> None:
        for op in block.ops:
            for region in warm_regions(op):
                with self.analysis.inside(region):
                    self._block(region)
        for simple, stretch in itertools.groupby(list(block.ops), self._may_be_within):
            if simple:
                self._stretch(block, list(stretch))

    def _may_be_within(self, op: Op) -> bool:
        return is_choice(op) or op.opdef is ops.parallel or op.opdef in _SIMPLE or self.speculation.safe(op)

    def _stretch(self, block: Block, stretch: list[Op]) -> None:
        """Join what can be joined among consecutive operations."""
        early = self._early(stretch)
        at = next((n for n, op in enumerate(stretch) if is_choice(op) and _is_late(op, stretch, early)), None)
        if at is not None:
            self._stretch(block, stretch[:at])
            self._stretch(block, stretch[at + 1 :])
            return
        choices = [op for op in stretch if is_choice(op)]
        assertions = [op for op in stretch if _asserts_equality(op, stretch, early)]
        same = Same(op.operands[0] for op in stretch if op in choices or op in assertions)
        self.bodies = Bodies(self.analysis)
        loops = [(op, loop) for op in stretch for loop in _loops_of(op)]
        fused = {op for pair in itertools.combinations(loops, 2) if self._fusible(*pair, same) for op, _ in pair}
        choices = [op for op in choices if op in fused]
        if not choices:
            return
        places = [n for n, op in enumerate(stretch) if op in fused]
        run = [op for op in stretch[: places[-1] + 1] if op not in early]
        if len(run) + sum(1 for op in run for region in op.regions for _ in region.walk()) <= self.most:
            conditions = [op.operands[0] for op in run if op in choices or op in assertions]
            self._join(block, run, [op for op in stretch if op in early], choices, list(dict.fromkeys(conditions)))

    def _early(self, stretch: list[Op]) -> set[Op]:
        """The operations that can go before all the others."""
        early: set[Op] = set()
        inside = set(stretch)
        for op in stretch:
            if self.speculation.safe(op) and all(v.op not in inside or v.op in early for v in op.operands):
                early.add(op)
        return early

    def _fusible(self, one: tuple[Op, Op], other: tuple[Op, Op], same: Same) -> bool:
        (place, first), (later, second) = one, other
        if place is later or first.attrs.get("threads") != second.attrs.get("threads"):
            return False
        bounds = zip(first.operands[:3], second.operands[:3], strict=True)
        return all(same.find(a) is same.find(b) for a, b in bounds) and fusible(self.bodies, first, second)

    def _join(
        self, block: Block, run: list[Op], early: list[Op], choices: list[Op], conditions: list[Value]
    ) -> None:
        """Join a run of operations. ``conditions``: those of ``choices``, and of assertions, which the fast side
        omits."""
        at, end = block.ops.index(run[0]), block.ops.index(run[-1]) + 1
        before, after = [op for op in block.ops[:at] if op not in early], block.ops[end:]
        inside = set(run)
        uses = [(user, n, r) for op in run for r in op.results for user, n in r.uses]
        used = [use for use in uses if inside.isdisjoint(with_enclosing(use[0]))]
        passed = list(dict.fromkeys(value for _, _, value in used))
        same = Same(conditions)
        known = {v for condition in conditions for v in conjuncts(condition)}
        fast, slow, made = Block(), Block(), Block()
        mapping: Mapping = {}
        with insert_at(fast, run[0].loc):
            for op in run:
                if op.opdef is ops.assert_ and _follows(op.operands[0], known):
                    continue
                if op in choices:
                    mapping.update(zip(op.results, inline_block(op.regions[0], [], mapping), strict=True))
                else:
                    clone_op(op, mapping)
            build(ops.yield_, [mapping[v] for v in passed])
        same.replace_in(fast)
        slow.set_ops(run)
        with insert_at(slow, run[0].loc):
            build(ops.yield_, passed)
        with insert_at(made, run[0].loc):
            condition = functools.reduce(ops.andi, conditions)
            # Not cold: if one condition does not hold, loops that do not depend on it should still be fast.
            joined = build(ops.if_, [condition], {ops.LIKELY: True}, [v.type for v in passed], [fast, slow])
        results = dict(zip(passed, joined.results, strict=True))
        for user, position, value in used:
            user.set_operand(position, results[value])
        for old, new in results.items():
            new.hint = old.hint
        block.set_ops([*before, *early, *made.ops, *(op for op in after if op not in early)])


def _loops_of(op: Op) -> list[Op]:
    among = op.regions[0].ops if is_choice(op) else [op]
    return [inner for inner in among if inner.opdef is ops.parallel]


def _follows(condition: Value, known: set[Value]) -> bool:
    """Whether ``condition`` follows from one of those ``known`` to hold."""
    if condition in known:
        return True
    op = condition.op
    return op is not None and op.opdef is ops.ori and any(_follows(v, known) for v in op.operands)


def _asserts_equality(op: Op, stretch: list[Op], early: set[Op]) -> bool:
    """Whether ``op`` asserts that two extents are equal, and can be tested before the stretch."""
    if op.opdef is not ops.assert_ or not any(c.attrs["predicate"] == "eq" for c in comparisons(op.operands[0])):
        return False
    return op.operands[0].op not in stretch or op.operands[0].op in early


def _is_late(choice: Op, stretch: list[Op], early: set[Op]) -> bool:
    return choice.operands[0].op in stretch and choice.operands[0].op not in early
