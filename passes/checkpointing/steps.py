"""Time loops as functions of their own: what a schedule runs, and runs again.

``for t in range(n)`` becomes a function of the first and the last step, of what the loop uses, and of what it carries.
Buffers that change places (``u, v = v, u``) are where they were after as many steps as there are buffers: so many
steps are one, and what is left over follows in a loop as it was. All memory thus has one name in all steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import reachable
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.moments import strip_views
from adc.ir.rewrite import Mapping, clone_op, inline_block, used_from_outside
from adc.ir.types import MemRefType, RecordType, index
from adc.passes.checkpointing.schedule import Schedule
from adc.passes.effects import Memory, Summaries
from adc.passes.kinds import LOOPS
from adc.passes.rewrite import put_instead

CHECKPOINT = "adc.checkpoint"
"""Attribute of functions of steps: the schedule, the name of the function that runs steps, and how many arguments from
the end on are what the loop carries."""

MOST_BUFFERS = 6


@dataclass(frozen=True)
class StepsPlan:
    """What became of one loop. ``reason``: why it is not checkpointed, or empty."""

    line: int
    reason: str = ""

    def __str__(self) -> str:
        return f"  line {self.line}: " + (self.reason or "checkpointed")


@dataclass(frozen=True)
class OutlineSteps:
    """Make the outermost sequential loops functions of steps, which are differentiated by ``schedule``."""

    name: ClassVar[str] = "outline-steps"

    schedule: Schedule

    def run(self, module: Module) -> Module:
        self.plan(module)
        return module

    def plan(self, module: Module) -> list[StepsPlan]:
        """Change the module, and say what was done."""
        found = []
        summaries = Summaries(module)
        repeated = _called_in_loops(module)
        for func in list(module.funcs.values()):
            if func.name in repeated:
                continue
            memory: Memory | None = None
            for loop in list(_outermost(func.body)):
                memory = memory or Memory(func, summaries)
                made = _steps(loop, memory)
                if isinstance(made, str):
                    found.append(StepsPlan(loop.loc.line, made))
                    continue
                _Outlining(module, func, loop, made, self.schedule).run()
                found.append(StepsPlan(loop.loc.line))
        return found


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
    """The outermost counted sequential loops that are worth it: those with other loops, or calls, inside."""
    for op in block.ops:
        if op.opdef is ops.for_:
            if any(inner.opdef in LOOPS or inner.opdef is ops.call for inner in op.regions[0].walk()):
                yield op
        elif op.opdef is ops.if_:
            for region in op.regions:
                yield from _outermost(region)


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
    captured = [v for v in used_from_outside([loop]) if isinstance(v.type, MemRefType)]
    if any(isinstance(v.type, RecordType) for v in used_from_outside([loop])):
        return "it uses what a call has left"
    if any(isinstance(v.type, MemRefType) and isinstance(v.type.element, MemRefType) for v in captured):
        return "it uses an array of arrays"
    for n, v in enumerate(captured):
        if memory.may_write(loop, v) and strip_views(v) is not v:
            return "it writes to a view of an array"
        # If they are only read, their shadows overlap all the same.
        if any(memory.may_overlap(v, other) for other in captured[:n]):
            return "arrays that it uses may overlap"
    if _period(after) > MOST_BUFFERS:
        return "buffers take too many steps to be where they were"
    return after


def _period(after: Sequence[int]) -> int:
    """After how many steps all buffers are where they were."""
    place, count = list(after), 1
    while place != list(range(len(after))):
        place, count = [after[k] for k in place], count + 1
        if count > MOST_BUFFERS:
            break
    return count


class _Outlining:
    def __init__(self, module: Module, func: Func, loop: Op, after: Sequence[int], schedule: Schedule) -> None:
        self.module = module
        self.func = func
        self.loop = loop
        self.after = after
        self.schedule = schedule
        self.scalars = [k for k, v in enumerate(loop.results) if not isinstance(v.type, MemRefType)]

    def run(self) -> None:
        """Put a call of the steps, and a loop for those that are left over, where the loop was."""
        loop, period = self.loop, _period(self.after)
        made = Block()
        with insert_at(made, loop.loc):
            lower, upper, step = loop.operands[:3]
            steps = trip_count(lower, upper, step)
            rounds = steps if period == 1 else ops.floordivsi(steps, const_index(period))
            carried = self._call(rounds, period)
            results = list(loop.operands[3:])
            for k, value in zip(self.scalars, carried, strict=True):
                results[k] = value
            if period > 1:
                done = ops.muli(rounds, const_index(period))
                start = ops.addi(lower, done if constant_of(step) == 1 else ops.muli(done, step))
                rest = clone_op(loop, {})
                for k, value in enumerate((start, upper, step, *results)):
                    rest.set_operand(k, value)
                results = list(rest.results)
        for old, new in zip(loop.results, results, strict=True):
            old.replace_uses(new)
        put_instead(loop, made.ops)
        loop.drop()

    def _call(self, rounds: Value, period: int) -> Sequence[Value]:
        """Append the call of all whole rounds; what the loop carries then, buffers excepted."""
        used = self._used()
        constants = [v.op for v in used if v.op is not None and v.op.opdef is ops.constant]
        captured = [v for v in used if v.op not in constants]
        initial = [self.loop.operands[3 + k] for k in self.scalars]
        types = [v.type for v in initial]
        hints = ["first", "last", *(v.hint for v in captured)]
        hints += [self.loop.regions[0].args[1 + k].hint for k in self.scalars]
        own = Func(
            self.module.unique_name(f"{self.func.name}.run"),
            [index, index, *(v.type for v in captured), *types],
            types,
            hints,
            self.loop.loc,
        )
        self.module.add(own)
        first, last, *rest = own.args
        mapping: Mapping = dict(zip(captured, rest, strict=False))
        with insert_at(own.body, self.loop.loc):
            for op in constants:
                clone_op(op, mapping)
            build(ops.return_, self._loop(first, last, rest[len(captured) :], mapping, period))
        steps = Func(self.module.unique_name(f"{self.func.name}.steps"), own.type.inputs, types, hints, self.loop.loc)
        steps.attrs[CHECKPOINT] = (*self.schedule.attr(), len(types), own.name)
        self.module.add(steps)
        with insert_at(steps.body, self.loop.loc):
            inner = build(ops.call, steps.args, {"callee": own.name, "types": tuple(types)})
            build(ops.return_, inner.results)
        operands = [const_index(0), rounds, *captured, *initial]
        return build(ops.call, operands, {"callee": steps.name, "types": tuple(types)}).results

    def _used(self) -> list[Value]:
        """What the loop uses from outside, initial values of scalars that it carries excepted."""
        loop, (body,) = self.loop, self.loop.regions
        found = dict.fromkeys((loop.operands[0], loop.operands[2]))
        found.update((v, None) for v in loop.operands[3:] if isinstance(v.type, MemRefType))
        found.update((v, None) for v in used_from_outside(body.ops) if v.owner is not body)
        return list(found)

    def _loop(
        self, first: Value, last: Value, carried: Sequence[Value], mapping: Mapping, period: int
    ) -> Sequence[Value]:
        """Append the loop over rounds from ``first`` to ``last``; ``mapping``: what stands for values from outside."""
        loop, (body,) = self.loop, self.loop.regions
        lower, _, step = (mapping.get(v, v) for v in loop.operands[:3])
        block = Block([index, *(v.type for v in carried)], ["round", *(v.hint for v in carried)])
        with insert_at(block, loop.loc):
            state: list[Value] = [mapping.get(v, v) for v in loop.operands[3:]]
            for k, value in zip(self.scalars, block.args[1:], strict=True):
                state[k] = value
            for n in range(period):
                number = block.args[0]
                if period > 1:
                    number = ops.addi(ops.muli(number, const_index(period)), const_index(n))
                offset = number if constant_of(step) == 1 else ops.muli(number, step)
                counter = offset if constant_of(lower) == 0 else ops.addi(lower, offset)
                state = inline_block(body, [counter, *state], dict(mapping))
            build(ops.yield_, [state[k] for k in self.scalars])
        bounds = [first, last, const_index(1)]
        return build(ops.for_, [*bounds, *carried], {}, [v.type for v in carried], [block]).results
