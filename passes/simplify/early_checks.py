"""Checks that two extents are equal are made as early as possible, so that the code before them can rely on them too.

``a = np.exp(x); b = np.sin(y); return a * b`` checks the shapes of x and y where it multiplies. If that is done first,
the three statements go over one range, and become one loop without arrays in between.

A check moves past code that nobody sees if the check fails: past loops and stores that write only to memory of this run
of the function, raise nothing, and certainly end.
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having, with_inner
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import LOOPS
from adc.passes.analysis.speculation import Speculation


@dataclass(frozen=True)
class EarlyChecks:
    """Move assertions that integers are equal to before loops that do nothing visible."""

    name: ClassVar[str] = "early-checks"
    needs = frozenset({ops.assert_})

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            if any(_is_equality(op) for op in func.walk()):
                _Motion(func, summaries).run()
        return module


def _is_equality(op: Op) -> bool:
    condition = op.operands[0].op if op.opdef is ops.assert_ else None
    return condition is not None and condition.opdef is ops.cmpi and condition.attrs["predicate"] == "eq"


class _Motion:
    def __init__(self, func: Func, summaries: Summaries) -> None:
        self._memory = Memory.asked(func, summaries)
        self._speculation = Speculation(func)
        self._body = func.body

    def run(self) -> None:
        for block in [self._body, *(region for op in self._body.walk() for region in op.regions)]:
            self._block(block)

    def _block(self, block: Block) -> None:
        for check in [op for op in block.ops if _is_equality(op)]:
            at = block.ops.index(check)
            moved = [check]
            start = at
            wanted: set[Value] = set(check.operands)
            for k in range(at - 1, -1, -1):
                op = block.ops[k]
                if not wanted.isdisjoint(op.results):
                    if not self._speculation.safe(op):
                        break
                    moved.insert(0, op)
                    wanted |= set(op.operands)
                elif not self._is_unseen(op):
                    break
                elif op.opdef in LOOPS:
                    start = k
            if start < at:
                moved = [op for op in moved if op not in block.ops[:start]]
                passed = [op for op in block.ops[start:at] if op not in moved]
                block.set_ops([*block.ops[:start], *moved, *passed, *block.ops[at + 1 :]])

    def _is_unseen(self, op: Op) -> bool:
        effects = self._memory.effects(op)
        if effects.everything or effects.traps or not _ends(op):
            return False
        return all(self._memory.is_local(root) for root in effects.writes)


def _ends(op: Op) -> bool:
    return all(inner.opdef not in (ops.while_, ops.call) for inner in with_inner(op))
