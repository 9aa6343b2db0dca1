"""Which loops become functions of steps, and which cannot: see ``adc.passes.checkpointing.outline``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from adc.ir import kinds, ops
from adc.ir.callgraph import reachable
from adc.ir.core import Block, Func, Module, Op
from adc.ir.moments import strip_views
from adc.ir.rewrite import used_from_outside
from adc.ir.schedules import SCHEDULE, Schedule
from adc.ir.types import MemRefType, holds_records
from adc.passes.checkpointing.conventions import CHECKPOINT, SPANS
from adc.passes.checkpointing.outline import MOST_BUFFERS, CountedLoop, OpenLoop, period
from adc.passes.effects import Memory, Summaries
from adc.passes.kinds import LOOPS

OPEN = "its length is not known before, so that it takes adc.revolve(snapshots) or 'recompute-all' only"
OPEN_ON_DISK = "its length is not known before, so that its snapshots cannot be on disk"


@dataclass(frozen=True)
class StepsPlan:
    """What became of one loop. ``reason``: why it is not checkpointed, or empty."""

    line: int
    reason: str = ""

    def __str__(self) -> str:
        return f"  line {self.line}: " + (self.reason or "checkpointed")


@dataclass(frozen=True)
class OutlineSteps:
    """Make loops functions of steps, which are differentiated by a schedule: those that have one of their own, and, by
    ``schedule``, the outermost sequential ones."""

    name: ClassVar[str] = "outline-steps"

    schedule: Schedule | None = None

    def run(self, module: Module) -> Module:
        self.plan(module)
        return module

    def plan(self, module: Module) -> list[StepsPlan]:
        """Change the module, and say what was done. Raises ``DifferentiationError`` for a loop that has a schedule of
        its own and cannot be run by it."""
        found = []
        for func in list(module.funcs.values()):
            # Inner loops first: an outer one then calls their steps.
            for loop in [op for op in func.walk() if SCHEDULE in op.attrs][::-1]:
                schedule = Schedule(*loop.attrs[SCHEDULE])
                reason = self._outline(module, func, loop, schedule)
                if reason:
                    raise kinds.NOT_CHECKPOINTED(
                        f"the steps of this loop cannot be run again: {reason}",
                        loop.loc,
                        help="use range instead of adc.steps, or leave out checkpoint=",
                    )
                found.append(StepsPlan(loop.loc.line))
        if self.schedule is None:
            return found
        if self.schedule.memory:
            # What a loop of unknown length keeps is not known before, unless it has a schedule.
            for func in list(module.funcs.values()):
                if func.attrs.keys().isdisjoint((CHECKPOINT, SPANS)):
                    for loop in list(_open_with_floats(func.body))[::-1]:
                        found.append(StepsPlan(loop.loc.line, self._outline(module, func, loop, self.schedule)))
        repeated = _called_in_loops(module)
        for func in list(module.funcs.values()):
            if func.name in repeated or not func.attrs.keys().isdisjoint((CHECKPOINT, SPANS)):
                continue
            for loop in list(_outermost(func.body)):
                found.append(StepsPlan(loop.loc.line, self._outline(module, func, loop, self.schedule)))
        return found

    @staticmethod
    def _outline(module: Module, func: Func, loop: Op, schedule: Schedule) -> str:
        """Why it is not possible, or nothing."""
        memory = Memory(func, Summaries(module))
        if loop.opdef is ops.while_:
            if schedule.steps != 1 and not schedule.memory:
                return OPEN
            if schedule.disk:
                return OPEN_ON_DISK
            scalars = _open_steps(loop, memory)
            if isinstance(scalars, str):
                return scalars
            OpenLoop(module, func, loop, scalars, schedule).run()
            return ""
        made = _steps(loop, memory)
        if isinstance(made, str):
            return made
        CountedLoop(module, func, loop, made, schedule).run()
        return ""


def without_schedules(module: Module) -> Module:
    """The module, whose loops have no schedules of their own any more."""
    for func in module.funcs.values():
        for op in func.walk():
            op.attrs.pop(SCHEDULE, None)
    return module


def _called_in_loops(module: Module) -> set[str]:
    """The functions that are called in loops, or by such functions."""
    called = (
        op.attrs["callee"]
        for func in module.funcs.values()
        for loop in func.walk()
        if loop.opdef in LOOPS
        for region in loop.regions
        for op in region.walk()
        if op.opdef is ops.call
    )
    return reachable(module, called)


def _outermost(block: Block) -> Iterator[Op]:
    """The outermost sequential loops that are worth it: those with other loops, or calls, inside."""
    for op in block.ops:
        if op.opdef in (ops.for_, ops.while_):
            if any(inner.opdef in LOOPS or inner.opdef is ops.call for region in op.regions for inner in region.walk()):
                yield op
        elif op.opdef is ops.if_:
            for region in op.regions:
                yield from _outermost(region)


def _open_with_floats(block: Block) -> Iterator[Op]:
    """The loops of unknown length that compute floats, except those in parallel loops; outer ones first."""
    for op in block.ops:
        if op.opdef is ops.parallel:
            continue
        if op.opdef is ops.while_ and any(
            result.type.is_float for region in op.regions for inner in region.walk() for result in inner.results
        ):
            yield op
        for region in op.regions:
            yield from _open_with_floats(region)


def _steps(loop: Op, memory: Memory) -> list[int] | str:
    """For each value that the loop carries, which of them it is after a step, if it is a buffer; else why not."""
    (body,) = loop.regions
    after = []
    for k, value in enumerate(body.terminator.operands):
        if not isinstance(value.type, MemRefType):
            after.append(k)
        elif value.owner is body and value.index > 0:
            after.append(value.index - 1)
        else:
            return "an array that it carries is another one after each step"
    reason = _of_arrays(loop, memory)
    if reason:
        return reason
    if period(after) > MOST_BUFFERS:
        return "buffers take too many steps to be where they were"
    return after


def _open_steps(loop: Op, memory: Memory) -> list[int] | str:
    """Positions of what a loop of unknown length carries besides arrays, which stay where they are; else why not."""
    before, after = loop.regions
    _, *passed = before.terminator.operands
    scalars = []
    for k, (arg, value) in enumerate(zip(before.args, after.terminator.operands, strict=True)):
        if not isinstance(arg.type, MemRefType):
            scalars.append(k)
        elif value.owner is not after or passed[value.index] is not arg:
            return "an array that it carries is another one after each step, and its length is not known before"
    if any(isinstance(v.type, MemRefType) and v.op is not None and v.op.parent is before for v in passed):
        return "what decides whether it goes on makes a view of an array"
    if any(effects.everything or effects.writes for effects in map(memory.effects, before.ops)):
        return "what decides whether it goes on changes memory"
    return _of_arrays(loop, memory) or scalars


def _of_arrays(loop: Op, memory: Memory) -> str:
    """Why the arrays that a loop uses do not allow it to be run in steps, or nothing."""
    captured = [v for v in used_from_outside([loop]) if isinstance(v.type, MemRefType)]
    if any(holds_records(v.type) for v in used_from_outside([loop])):
        return "it uses what calls have left"
    if any(isinstance(v.type, MemRefType) and isinstance(v.type.element, MemRefType) for v in captured):
        return "it uses an array of arrays"
    for n, v in enumerate(captured):
        if memory.may_write(loop, v) and strip_views(v) is not v:
            return "it writes to a view of an array"
        # If they are only read, their shadows overlap all the same.
        if any(memory.may_overlap(v, other) for other in captured[:n]):
            return "arrays that it uses may overlap"
    return ""
