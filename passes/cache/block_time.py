"""Several time steps in one sweep over memory (``block-time``).

A time loop of stencils goes through its fields once in each step, and if they exceed the caches, memory determines the
run time. Here steps are taken in groups, and a group goes through memory once: see ``time_emission``. ``time_steps``
says what a loop must look like, and ``time_slopes`` why the result has the same bits.

If the user asked for it (``time_block=``), it is done wherever it is right; for ``"auto"`` only if the fields are
large, which is tested at run time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Attr, Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing
from adc.ir.rewrite import clone_op
from adc.passes.analysis.cold import COLD, walk_warm
from adc.passes.analysis.dependence import Analysis
from adc.passes.analysis.effects import Summaries
from adc.passes.cache.time_emission import Emission
from adc.passes.cache.time_recognition import is_candidate, recognise
from adc.passes.cache.time_slopes import Slopes, find_slopes
from adc.passes.cache.time_steps import Steps, Unfit
from adc.passes.choices import AUTO, TimeBlock
from adc.passes.plans import NestPlan


@dataclass(frozen=True)
class BlockTime:
    """Run the steps of time loops several at a time.

    ``steps``: how many, or ``"auto"``; None leaves loops as they are, and ``plan`` says where it would be right.
    """

    steps: TimeBlock = None
    name: ClassVar[str] = "block-time"

    def run(self, module: Module) -> Module:
        if self.steps is not None:
            self.plan(module)
        return module

    def plan(self, module: Module) -> dict[str, list[NestPlan]]:
        """Run the pass, and report for each function what was done and what was not."""
        summaries = Summaries.asked(module)
        return {name: _Blocking(func, module, summaries, self.steps).run() for name, func in module.funcs.items()}


class _Blocking:
    def __init__(self, func: Func, module: Module, summaries: Summaries, asked: TimeBlock) -> None:
        self.func = func
        self.module = module
        self.summaries = summaries
        self.asked = asked
        self.plans: list[NestPlan] = []

    def run(self) -> list[NestPlan]:
        loops = [op for op in walk_warm(self.func.body) if is_candidate(op)]
        if loops and "adc.cold" not in self.func.attrs:
            around = {loop: set(enclosing(loop.parent)) for loop in loops}
            replaced: set[Op] = set()
            for loop in loops:
                if replaced.isdisjoint(around[loop]) and self._loop(loop):
                    replaced.add(loop)
        return self.plans

    def _loop(self, loop: Op) -> bool:
        """Replace the loop if possible. Returns whether that was done."""
        analysis = Analysis(self.func, self.module, self.summaries)
        try:
            steps = recognise(analysis, loop)
            slopes = find_slopes(analysis, steps)
        except Unfit as unfit:
            line = f" (line {unfit.op.loc.line})" if unfit.op is not None and unfit.op.loc.line > 0 else ""
            self._note(loop, "one", unfit.reason + line)
            return False
        moves = f"blocks shrink by {slopes.lower} and {slopes.upper} rows a step"
        if self.asked is None:
            gain = "but pay only where the fields exceed the cache"
            self._note(loop, "one", f"several would be right, too ({moves}), {gain}")
            return False
        self._note(loop, "several" if self.asked == AUTO else str(self.asked), moves)
        _replace(analysis, steps, slopes, None if self.asked == AUTO else int(self.asked))
        return True

    def _note(self, loop: Op, kind: str, reason: str) -> None:
        self.plans.append(NestPlan(loop.loc, loop.regions[0].args[0].hint, kind, reason))


def _replace(analysis: Analysis, steps: Steps, slopes: Slopes, asked: int | None) -> None:
    """Replace the loop by code that runs several steps at once."""
    loop = steps.loop
    block = loop.parent
    assert block is not None
    at = block.ops.index(loop)
    new = Block()
    with insert_at(new, loop.loc):
        emission = Emission(analysis.forms, steps, slopes, asked)
        results = _versions(emission, loop, asked)
    for old, value in zip(loop.results, results, strict=True):
        value.hint = value.hint or old.hint
        old.replace_uses(value)
    loop.drop()
    block.set_ops([*block.ops[:at], *new.ops, *block.ops[at + 1 :]])


def _versions(emission: Emission, loop: Op, asked: int | None) -> list[Value]:
    """The blocked loop if the conditions on steps hold and it pays, otherwise the loop as it was."""
    condition = emission.condition()
    if condition is not None:
        return _branch(condition, loop, lambda: _where_it_pays(emission, loop, asked), {COLD: "else"})
    return _where_it_pays(emission, loop, asked)


def _where_it_pays(emission: Emission, loop: Op, asked: int | None) -> list[Value]:
    if asked is not None:
        return emission.run()
    return _branch(emission.measures.pays(), loop, emission.run, {})


def _branch(condition: Value, loop: Op, then: Callable[[], list[Value]], attrs: dict[str, Attr]) -> list[Value]:
    """Append a branch that runs ``then``, or else ``loop`` as it is."""
    blocks = [Block(), Block()]
    with insert_at(blocks[0]):
        build(ops.yield_, then())
    with insert_at(blocks[1]):
        build(ops.yield_, clone_op(loop, {}).results)
    return list(build(ops.if_, [condition], attrs, [r.type for r in loop.results], blocks).results)
