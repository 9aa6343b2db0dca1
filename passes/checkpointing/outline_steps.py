"""Which loops become functions of steps, and which cannot: see ``adc.passes.checkpointing.outline``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from adc.ir import kinds, ops
from adc.ir.builder import insert_at
from adc.ir.callgraph import called_in
from adc.ir.core import Block, Func, Loc, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.moments import strip_views
from adc.ir.nesting import enclosing
from adc.ir.rewrite import clone_op, used_from_outside
from adc.ir.schedules import ALL_STEPS, SCHEDULE, Schedule
from adc.ir.types import MemRefType, holds_records
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.kinds import LOOPS
from adc.passes.checkpointing.buffers import (
    RESIZED,
    SHARED,
    Carried,
    are_shared,
    into_buffers,
    is_resized,
    replaced,
    used_inside,
)
from adc.passes.checkpointing.conventions import CHECKPOINT, SPANS
from adc.passes.checkpointing.outline import CountedLoop, OpenLoop

OPEN = "its length is not known in advance, so that it takes adc.revolve(snapshots) or 'recompute-all' only"
ORDERED = "it prints, or calls a C function whose effects are in order, as often as the program says"
OF_RANKS = "several ranks run it together, and what fits into memory= may differ between them: give a schedule"
OPEN_ON_DISK = "its length is not known in advance, so that its snapshots cannot be on disk"


@dataclass(frozen=True)
class StepsPlan:
    """What was done with one loop. ``reason``: why it is not checkpointed, or empty."""

    loc: Loc
    reason: str = ""

    def __str__(self) -> str:
        return f"  line {self.loc.line}: " + (self.reason or "checkpointed")


@dataclass(frozen=True)
class OutlineSteps:
    """Make loops functions of steps, which are differentiated by a schedule: those that have one of their own and, with
    ``schedule``, the outermost sequential ones."""

    name: ClassVar[str] = "outline-steps"

    schedule: Schedule | None = None

    def run(self, module: Module) -> Module:
        self.plan(module)
        return module

    def plan(self, module: Module) -> list[StepsPlan]:
        """Change the module, and report what was done. Raises ``DifferentiationError`` for a loop that has a schedule
        of its own and cannot be run by it."""
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
                found.append(StepsPlan(loop.loc))
        if self.schedule is None:
            return found
        if self.schedule.memory:
            # What a loop of unknown length keeps is not known beforehand, unless it has a schedule.
            for func in list(module.funcs.values()):
                if func.attrs.keys().isdisjoint((CHECKPOINT, SPANS)):
                    for loop in list(_open_with_floats(func.body))[::-1]:
                        found.append(StepsPlan(loop.loc, self._outline(module, func, loop, self.schedule)))
        for anywhere, simple in ((False, False), (True, False), (True, True)):
            if not anywhere or all(plan.reason for plan in found):
                found += self._by_schedule(module, self.schedule, anywhere=anywhere, simple=simple)
        if not self.schedule.memory and self.schedule.steps < ALL_STEPS and all(plan.reason for plan in found):
            raise _nothing_to_act_on(module, found)
        return found

    def _by_schedule(
        self, module: Module, schedule: Schedule, *, anywhere: bool, simple: bool
    ) -> Iterator[StepsPlan]:
        """Outline the outermost sequential loops. ``anywhere``: also those in loops on threads, and in functions called
        in loops; ``simple``: also those without loops or calls inside."""
        repeated = set() if anywhere else called_in(module, LOOPS)
        for func in list(module.funcs.values()):
            if func.name in repeated or not func.attrs.keys().isdisjoint((CHECKPOINT, SPANS)):
                continue
            for loop in list(_outermost(func.body, anywhere=anywhere, simple=simple)):
                reason = _of_many(loop, Memory.asked(func, Summaries.asked(module))) if anywhere else ""
                yield StepsPlan(loop.loc, reason or self._outline(module, func, loop, schedule))

    @staticmethod
    def _outline(module: Module, func: Func, loop: Op, schedule: Schedule) -> str:
        """Outline a loop. Returns why that is not possible, or an empty string."""
        summaries = Summaries.asked(module)
        memory = Memory.asked(func, summaries)
        effects = memory.effects(loop)
        if effects.once:
            return ORDERED
        if effects.ordered and schedule.memory:
            return OF_RANKS
        if _make_views_inside(loop, memory):
            memory = Memory.asked(func, summaries)
        is_open = loop.opdef is ops.while_
        if is_open and schedule.steps != 1 and not schedule.memory:
            return OPEN
        if is_open and schedule.disk:
            return OPEN_ON_DISK
        new = replaced(loop)
        reason = (_of_condition(loop, memory) if is_open else "") or _of_arrays(loop, new, memory)
        if reason:
            return reason
        if new:
            into_buffers(func, loop, new, summaries)
        (OpenLoop if is_open else CountedLoop)(module, func, loop, schedule).run()
        return ""


def _nothing_to_act_on(module: Module, refused: Sequence[StepsPlan]) -> Exception:
    """The error for a schedule that would be ignored."""
    if refused:
        reason, loc = f"the steps of this loop cannot be run again: {refused[0].reason}", refused[0].loc
    else:
        reason, loc = "there is no loop whose steps follow one another", next(iter(module.funcs.values())).loc
    return kinds.NOT_CHECKPOINTED(
        f"checkpoint= has nothing to act on: {reason}",
        loc,
        help="leave out checkpoint=, or use adc.checkpoint(f) for calls that are to be run again",
    )


def without_schedules(module: Module) -> Module:
    """Remove the schedules of loops from the module."""
    for func in module.funcs.values():
        for op in func.walk():
            op.drop_attr(SCHEDULE)
    return module


def _outermost(block: Block, *, anywhere: bool, simple: bool) -> Iterator[Op]:
    """The outermost sequential loops that contain loops or calls; with ``simple``, all. ``anywhere``: also those in
    loops on threads."""
    for op in block.ops:
        if op.opdef in (ops.for_, ops.while_):
            if simple or any(
                inner.opdef in LOOPS or inner.opdef is ops.call for region in op.regions for inner in region.walk()
            ):
                yield op
        elif op.opdef is ops.if_ or (anywhere and op.opdef is ops.parallel):
            for region in op.regions:
                yield from _outermost(region, anywhere=anywhere, simple=simple)


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


def _of_many(loop: Op, memory: Memory) -> str:
    """Why a loop that runs often, perhaps on threads, should have no snapshots; or an empty string."""
    parallel = next((op for op in enclosing(loop.parent) if op.opdef is ops.parallel), None)
    for v in used_from_outside([loop]):
        if isinstance(v.type, MemRefType) and memory.may_write(loop, v):
            made = [root.op for root in memory.roots(v) if root.op is not None and root.op.opdef is ops.alloc]
            own = [op for op in made if parallel is None or parallel in enclosing(op.parent)]
            if len(own) < len(memory.roots(v)):
                return "each run of it changes a part of an array that all runs share"
    return ""


def _of_condition(loop: Op, memory: Memory) -> str:
    """Why the condition of a loop of unknown length does not allow it to be run in steps; or an empty string."""
    before = loop.regions[0]
    kept = Carried.by(loop).args
    if any(isinstance(v.type, MemRefType) and k not in kept for k, v in enumerate(before.args)) or any(
        isinstance(v.type, MemRefType) and v.owner is not before for v in before.terminator.operands[1:]
    ):
        return "what decides whether it goes on makes a view of an array"
    if any(effects.everything or effects.writes for effects in map(memory.effects, before.ops)):
        return "what decides whether it goes on changes memory"
    return ""


def _make_views_inside(loop: Op, memory: Memory) -> bool:
    """Make views of arrays inside the loop that writes to them: the views do not change, but that need not put them
    before it. Returns whether there were such views."""
    views = [v for v in used_inside(loop) if isinstance(v.type, MemRefType) and strip_views(v) is not v]
    views = [v for v in views if memory.may_write(loop, v)]
    for region in loop.regions if views else ():
        mapping: dict[Value, Value] = {}
        with insert_at(Block(), loop.loc) as made:
            for view in views:
                _copy_view(view, mapping)
        inside = set(region.walk())
        for view in views:
            for op, position in [use for use in view.uses if use[0] in inside]:
                op.set_operand(position, mapping[view])
        region.set_ops([*made.ops, *region.ops])
    return bool(views)


def _copy_view(view: Value, mapping: dict[Value, Value]) -> None:
    if view in mapping or strip_views(view) is view:
        return
    assert view.op is not None
    _copy_view(view.op.operands[0], mapping)
    clone_op(view.op, mapping)


def _of_arrays(loop: Op, new: Sequence[int], memory: Memory) -> str:
    """Why the arrays that a loop uses do not allow it to be run in steps; or an empty string. ``new``: the positions of
    the carried arrays that it replaces in a step."""
    first = len(loop.operands) - len(Carried.by(loop).inits)
    carried = [v for k, v in enumerate(loop.operands) if k - first not in new]
    used = list(dict.fromkeys([*carried, *used_inside(loop)]))
    captured = [v for v in used if isinstance(v.type, MemRefType)]
    types = [v.type for v in (*captured, *loop.results)]
    if any(holds_records(v.type) for v in used_from_outside([loop])):
        return "it uses records that calls have left"
    if any(isinstance(t, MemRefType) and isinstance(t.element, MemRefType) for t in types):
        return "it uses an array of arrays"
    if is_resized(loop, new, memory):
        return RESIZED
    if new and are_shared(loop, new, memory):
        return SHARED
    for n, v in enumerate(captured):
        if memory.may_write(loop, v) and strip_views(v) is not v:
            return "it writes to a view of an array"
        # Even if they are only read, their shadows overlap.
        if any(memory.may_overlap(v, other) for other in captured[:n]):
            return "arrays that it uses may overlap"
    return ""
