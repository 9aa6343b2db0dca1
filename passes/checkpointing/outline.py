"""Loops as functions of their own: what a schedule runs, and runs again.

``for t in range(n)`` becomes a function of a range of steps, of what the loop uses, and of what it carries. Buffers
that are swapped (``u, v = v, u``) are back in place after as many steps as there are buffers: so many steps count as
one, and the remaining ones follow in a loop as before. So all memory has one name in all steps.

For a loop of unknown length two functions are made: one that runs as many steps as there are, up to a number, and
returns how many it ran; and one that runs a range of steps without asking whether there are more, since the reverse
sweep knows. The condition is evaluated once more in the end, for what it hands on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.rewrite import Mapping, clone_op, inline_block, used_from_outside
from adc.ir.schedules import SCHEDULE, Schedule
from adc.ir.steps import CONTINUES
from adc.ir.types import MemRefType, Type, index
from adc.passes.checkpointing.buffers import period, places_after
from adc.passes.checkpointing.conventions import BOUNDS, CHECKPOINT, SPANS
from adc.passes.checkpointing.schedule import undecided
from adc.passes.rewrite import put_instead

MOST_STEPS = 1 << 62


class _Outlining:
    """``captured``: what functions of steps take besides bounds and what the loop carries. ``scalars``: positions of
    the carried values that are not arrays; arrays are captured."""

    first_init: ClassVar[int]  # operand of the loop

    def __init__(self, module: Module, func: Func, loop: Op, schedule: Schedule) -> None:
        self.module = module
        self.func = func
        self.loop = loop
        self.schedule = schedule
        self.inits = loop.operands[self.first_init :]
        self.scalars = [k for k, v in enumerate(self.inits) if not isinstance(v.type, MemRefType)]
        used = self._used()
        self.constants = [v.op for v in used if v.op is not None and v.op.opdef is ops.constant]
        self.captured = [v for v in used if v.op not in self.constants]
        self.initial = [self.inits[k] for k in self.scalars]
        self.types = [v.type for v in self.initial]
        self.hints = [self._carried(k).hint for k in self.scalars]

    def _used(self) -> list[Value]:
        """What the loop uses from outside, except initial values of scalars that it carries."""
        found = dict.fromkeys(v for v in self._bounds() if isinstance(v, Value))
        found.update((v, None) for v in self.inits if isinstance(v.type, MemRefType))
        for region in self.loop.regions:
            found.update((v, None) for v in used_from_outside(region.ops) if not self._own(v))
        return list(found)

    def _own(self, value: Value) -> bool:
        return value.op is None and value.owner in self.loop.regions

    def _bounds(self) -> Sequence[Value]:
        """The operands that determine the count of steps."""
        return ()

    def _carried(self, k: int) -> Value:
        """The block argument of a carried value."""
        raise NotImplementedError

    def _function(self, kind: str, results: Sequence[Type]) -> tuple[Func, Mapping, list[Value]]:
        """A function of steps without a body, the values in it that replace values from outside, and the carried
        values."""
        func = Func(
            self.module.unique_name(f"{self.func.name}.{kind}"),
            [*[index] * BOUNDS, *(v.type for v in self.captured), *self.types],
            results,
            ["first", "last", "most", "all", *(v.hint for v in self.captured), *self.hints],
            self.loop.loc,
        )
        # How much memory a range of steps takes is known for calls.
        func.attrs["adc.noinline"] = True
        self.module.add(func)
        rest = func.args[BOUNDS:]
        mapping: Mapping = dict(zip(self.captured, rest, strict=False))
        with insert_at(func.body, self.loop.loc):
            for op in self.constants:
                clone_op(op, mapping)
        return func, mapping, list(rest[len(self.captured) :])

    def _state(self, scalars: Sequence[Value], mapping: Mapping) -> list[Value]:
        """All that is carried, given the values that are not arrays."""
        state = [mapping.get(v, v) for v in self.inits]
        for k, value in zip(self.scalars, scalars, strict=True):
            state[k] = value
        return state

    def _call(self, run: Func, advance: Func | None, steps: Value) -> Sequence[Value]:
        """Append the call of all steps and return what is carried then, except arrays."""
        func, _, _ = self._function("steps", self.types)
        schedule = self.schedule
        asked = undecided(self.module, self.loop.loc, is_open=advance is not None) if schedule.memory else ""
        named = advance.name if advance is not None else ""
        kept = (schedule.disk, schedule.directory)
        func.attrs[CHECKPOINT] = (schedule.snapshots, schedule.steps, asked, len(self.types), run.name, named, *kept)
        func.body.set_ops([])
        with insert_at(func.body, self.loop.loc):
            if advance is None:
                found = _called(run, func.args)
            else:
                _, *found = _called(advance, [func.args[0], const_index(MOST_STEPS), *func.args[2:]])
            build(ops.return_, found)
        return _called(func, [const_index(0), steps, steps, steps, *self.captured, *self.initial])

    def _replace(self, made: Block, results: Sequence[Value]) -> None:
        for old, new in zip(self.loop.results, results, strict=True):
            old.replace_uses(new)
        put_instead(self.loop, made.ops)
        self.loop.drop()


def _called(func: Func, operands: Sequence[Value]) -> Sequence[Value]:
    return build(ops.call, operands, {"callee": func.name, "types": func.result_types}).results


class CountedLoop(_Outlining):
    """A ``scf.for``, whose arrays stay in place or are swapped."""

    first_init = 3

    def __init__(self, module: Module, func: Func, loop: Op, schedule: Schedule) -> None:
        super().__init__(module, func, loop, schedule)
        self.period = period(places_after(loop))

    def _bounds(self) -> Sequence[Value]:
        return self.loop.operands[0], self.loop.operands[2]

    def _carried(self, k: int) -> Value:
        return self.loop.regions[0].args[1 + k]

    def run(self) -> None:
        """Replace the loop by a call of the steps, and a loop for those that remain."""
        own, mapping, carried = self._function("run", self.types)
        own.attrs[SPANS] = True
        with insert_at(own.body, self.loop.loc):
            build(ops.return_, self._loop(own.args[0], own.args[1], carried, mapping))
        loop, count = self.loop, self.period
        made = Block()
        with insert_at(made, loop.loc):
            lower, upper, step = loop.operands[:3]
            steps = trip_count(lower, upper, step)
            rounds = steps if count == 1 else ops.floordivsi(steps, const_index(count))
            results = self._state(self._call(own, None, rounds), {})
            if count > 1:
                done = ops.muli(rounds, const_index(count))
                start = ops.addi(lower, done if constant_of(step) == 1 else ops.muli(done, step))
                rest = clone_op(loop, {})
                rest.drop_attr(SCHEDULE)
                for k, value in enumerate((start, upper, step, *results)):
                    rest.set_operand(k, value)
                results = list(rest.results)
        self._replace(made, results)

    def _loop(self, first: Value, last: Value, carried: Sequence[Value], mapping: Mapping) -> Sequence[Value]:
        """Append the loop over rounds from ``first`` to ``last``; ``mapping``: replacements of values from outside."""
        loop, (body,) = self.loop, self.loop.regions
        lower, _, step = (mapping.get(v, v) for v in loop.operands[:3])
        block = Block([index, *self.types], ["round", *(v.hint for v in carried)])
        with insert_at(block, loop.loc):
            state = self._state(block.args[1:], mapping)
            for n in range(self.period):
                number = block.args[0]
                if self.period > 1:
                    number = ops.addi(ops.muli(number, const_index(self.period)), const_index(n))
                offset = number if constant_of(step) == 1 else ops.muli(number, step)
                counter = offset if constant_of(lower) == 0 else ops.addi(lower, offset)
                state = inline_block(body, [counter, *state], dict(mapping))
            build(ops.yield_, [state[k] for k in self.scalars])
        bounds = [first, last, const_index(1)]
        return build(ops.for_, [*bounds, *carried], {}, self.types, [block]).results


class OpenLoop(_Outlining):
    """A ``scf.while`` whose arrays stay in place and whose condition changes no memory."""

    first_init = 0

    def _carried(self, k: int) -> Value:
        return self.loop.regions[0].args[k]

    def run(self) -> None:
        """Replace the loop by a call of the steps, followed by the condition once more."""
        own = self._run()
        advance = self._advance()
        made = Block()
        with insert_at(made, self.loop.loc):
            last = self._call(own, advance, const_index(0))
            _, *results = inline_block(self.loop.regions[0], self._state(last, {}), {})
        self._replace(made, results)

    def _run(self) -> Func:
        """The function that runs a range of steps that are known to exist."""
        func, mapping, carried = self._function("run", self.types)
        func.attrs[SPANS] = True
        before, after = self.loop.regions
        block = Block([index, *self.types], ["step", *self.hints])
        with insert_at(block, self.loop.loc):
            inside = dict(mapping)
            _, *passed = inline_block(before, self._state(block.args[1:], mapping), inside)
            state = inline_block(after, passed, inside)
            build(ops.yield_, [state[k] for k in self.scalars])
        with insert_at(func.body, self.loop.loc):
            bounds = [*func.args[:2], const_index(1)]
            loop = build(ops.for_, [*bounds, *carried], {}, self.types, [block])
            build(ops.return_, loop.results)
        return func

    def _advance(self) -> Func:
        """The function that runs steps as long as there are any, up to its second argument, and returns how many it
        ran."""
        func, mapping, carried = self._function("advance", [index, *self.types])
        func.attrs[CONTINUES] = True
        before, after = self.loop.regions
        values = [k for k, a in enumerate(after.args) if not isinstance(a.type, MemRefType)]
        passed_types = [after.args[k].type for k in values]
        head = Block([index, *self.types], ["count", *self.hints])
        body = Block([index, *self.types, *passed_types])
        inside = dict(mapping)
        with insert_at(head, self.loop.loc):
            more, *passed = inline_block(before, self._state(head.args[1:], mapping), inside)
            allowed = ops.cmpi(head.args[0], func.args[1], predicate="slt")
            build(ops.condition, [ops.andi(allowed, more), *head.args, *(passed[k] for k in values)])
        with insert_at(body, self.loop.loc):
            arrays = list(passed)
            for k, value in zip(values, body.args[1 + len(self.types) :], strict=True):
                arrays[k] = value
            state = inline_block(after, arrays, dict(mapping))
            build(ops.yield_, [body.args[0] + 1, *(state[k] for k in self.scalars)])
        with insert_at(func.body, self.loop.loc):
            types = [index, *self.types, *passed_types]
            loop = build(ops.while_, [const_index(0), *carried], None, types, [head, body])
            build(ops.return_, loop.results[: 1 + len(self.types)])
        return func
