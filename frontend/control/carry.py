"""The variables that a loop carries from one iteration to the next.

The body is traced under assumptions: the type of each variable at the head of the loop, and which carried arrays never
overlap. Afterwards ``settle`` compares the assumptions with the end of the body; if they were too narrow, it widens
them and the body is traced again. Types only ever widen, so this ends, usually at the first attempt.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import field
from typing import Any

from adc.frontend import abstract
from adc.frontend.control.carried_objects import (
    carried_arrays,
    made_in,
    objects_in_choices,
    settle_objects,
    widened_contents,
)
from adc.frontend.control.first_types import check_first, made_floats
from adc.frontend.control.guesses import Guesses, guess
from adc.frontend.control.jumps import OUT, hint
from adc.frontend.control.lengths import Appends, not_kept, settled_list
from adc.frontend.control.sums import settled_number
from adc.frontend.data.compounds import Contents
from adc.frontend.data.described import Maybe, describe, widen, without_dims
from adc.frontend.data.dims import as_before
from adc.frontend.data.roots import NOWHERE, Phase, Phases, Roots, older, overlap
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Poison, Ref, Static, Unbound
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.objects import heap, merge
from adc.frontend.objects.joining import Narrowing, differ_in_weakness, hinted, narrow
from adc.frontend.objects.merge import Clash, array_count, arrays, coerce, flatten, is_narrow, join, rebuild, types
from adc.frontend.objects.rows import is_growing
from adc.ir import kinds
from adc.ir.arith import constant_of
from adc.ir.builder import current_loc, insert_at
from adc.ir.core import Block, Value
from adc.ir.diagnostics import CompileError, Note
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import Type


@dataclass(eq=False)
class Carry:
    """``private``: names that the loop itself sets at the head of each iteration, such as its counter."""

    frame: Frame
    stmt: ast.For | ast.While
    private: frozenset[str] = frozenset()
    before: dict[str, AbstractValue] = field(init=False)
    specs: dict[str, abstract.Abstract] = field(default_factory=dict)
    late: list[str] = field(default_factory=list)  # first assigned in the body, and read only after the loop
    late_specs: dict[str, abstract.Abstract] = field(default_factory=dict)
    over: dict[str, Roots] = field(default_factory=dict)  # per carried array: outer memory it may refer to
    apart: set[frozenset[str]] = field(default_factory=set)
    guessed: set[str] = field(default_factory=set)
    guesses: Guesses = field(default_factory=Guesses)
    unknown: set[str] = field(default_factory=set)  # of those assigned in some iterations only: no type yet
    attempts: int = 0
    order: int = 0
    head: dict[str, AbstractValue] = field(default_factory=dict)  # the variables at the head of an iteration
    chosen: dict[str, Ref] = field(default_factory=dict)  # one object before the loop and another later
    initial: dict[str, Ref] = field(default_factory=dict)  # the objects that they are before the loop
    outset: dict[ast.stmt, Any] = field(init=False)
    appends: Appends = field(default_factory=Appends)
    inside: Block | None = None  # the body of a ``while`` loop
    tested: Set[int] = frozenset()  # its arguments whose extents, or which as integers, its condition uses

    def __post_init__(self) -> None:
        frame, live = self.frame, self.frame.liveness
        self.before = dict(frame.env)
        self.outset = dict(frame.hints)
        assigns = live.assigns[self.stmt] - self.private
        at_head = live.reads[self.stmt] | frame.captured
        after = live.after[self.stmt] | frame.captured
        hints = frame.hints.get(self.stmt, {})
        for name in sorted(assigns):
            value = self.before.get(name)
            if isinstance(value, Poison) and name in at_head and frame.tracer.attempt.may_divide(value.divides):
                raise heap.unreadable(frame, value)
            if value is not None and (name not in at_head | after or isinstance(value, Poison)):
                del self.before[name]
                value = None
            if value is not None:
                self.specs[name] = hinted(widen(describe(value)), hints.get(name))
            elif name in at_head:
                self.specs[name] = hints.get(name) or Maybe(abstract.Scalar(guess(self.stmt, name)))
                if name not in hints:
                    self.guessed.add(name)
            elif name in after and name in live.settles[self.stmt]:
                self.late.append(name)
            elif name in after and name in hints:
                self.specs[name] = hints[name]
            elif name in after:
                self.unknown.add(name)
        self._assume_apart()

    def _assume_apart(self) -> None:
        initial = {
            leaf: a.roots
            for name, spec in self.specs.items()
            for leaf, a in _leaves(name, self.before.get(name), spec).items()
        }
        everything = frozenset().union(*initial.values()) if initial else NOWHERE
        self.over = dict.fromkeys(initial, everything)
        for x in initial:
            for y in initial:
                if x < y and not overlap(initial[x], initial[y]):
                    self.apart.add(frozenset((x, y)))

    # One attempt ------------------------------------------------------------------------------------------------------

    def types(self) -> list[Type]:
        return [t for spec in self.specs.values() for t in types(spec)]

    def hints(self) -> list[str]:
        return [hint(name) for name, spec in self.specs.items() for _ in types(spec)]

    def jumps(self) -> bool:
        """Whether the body may end the loop."""
        return any(name in self.late_specs for name in OUT)

    def ended(self, late: Sequence[Value], ran: bool | Value | None) -> list[Value]:
        """The flags, among the values of the late variables, that tell whether the body has ended the loop."""
        flags, position = [], 0
        for name in self.late_specs:
            if name in OUT:
                flags.append(late[position])
            position += len(types(self._late(name, ran)))
        return flags

    def attempt(self, trace: Callable[[], None]) -> bool:
        """Trace the body, or a part of it. False: an assumption about a variable was wrong, so it is traced again.

        This happens to literals before the loop that must be NumPy's numbers, and to guesses.
        """
        loops, parallel = list(self.frame.loops), list(self.frame.parallel)
        self.frame.loops.append(self)
        try:
            trace()
        except Narrowing as found:
            if found.carry is not self:
                raise
            self.specs[found.name] = found.spec
        except CompileError as refusal:
            if not self.guesses.another(self, refusal):
                raise
        else:
            return True
        finally:
            self.frame.loops[:] = loops
        self._forget()
        self.frame.abandoned = True
        self.frame.parallel[:] = parallel
        return False

    def _forget(self) -> None:
        """Forget what inner loops concluded from a wrong guess."""
        self.frame.hints.clear()
        self.frame.hints.update(self.outset)

    def enter(self, values: Iterator[Value]) -> None:
        """Set the frame's variables to their values at the head of an iteration."""
        self.order = self.frame.next_order()
        self.late_specs = {}
        self.frame.env = self._bound(values)
        self.head = dict(self.frame.env)
        self.appends.enter(self.head)

    def changed_in_test(self) -> str | None:
        """What the condition, which has just been traced, has changed, as a user would write it; None if nothing."""
        for key in heap.changed(self.head, self.frame.env):
            return heap.shown(self.frame, key)
        return None

    def _bound(self, values: Iterator[Value]) -> dict[str, AbstractValue]:
        env, phases = dict(self.before), Phases(set(self.apart))
        for name, spec in self.specs.items():
            env[name] = rebuild(spec, values, self._phase(name, phases))
        return env

    def _phase(self, name: str, phases: Phases) -> Callable[[int], Roots]:
        def roots(k: int) -> Roots:
            leaf = f"{name}#{k}"
            over = self.over.get(leaf, NOWHERE)
            return frozenset({Phase(leaf, self.frame.next_order(), "", phases, over)})

        return roots

    def settle(self, body: Block) -> bool:
        """Whether the assumptions hold at the end of the body; if not, they are widened."""
        good, start = settle_objects(self), dict(self.before)
        env, moved = self.frame.env, False
        ints: list[tuple[Value | Static, float | None]] = []
        if not good:
            self._assume_apart()
        for name, spec in self.specs.items():
            end = env.get(name)
            assert end is not None
            if isinstance(end, Poison):
                raise heap.unreadable(self.frame, end, self.frame.assigned_at.get(name))
            wider = self._widened(name, spec, end)
            if wider != spec:
                moved = moved or bool(array_count(wider))
                ints += made_floats(self.before.get(name), self.head.get(name), spec, wider)
                self.specs[name] = wider
                good = good and differ_in_weakness(spec, wider) and not _narrow(body)
        check_first(self.frame, self.stmt, ints)
        good = self.appends.settle(self) and good
        if moved:  # the variable may have other arrays now, so conclusions about them no longer hold
            self.apart.clear()
            self._assume_apart()
        if any(is_growing(self.before.get(name)) and self.before[name] is not v for name, v in start.items()):
            self._assume_apart()
        for name in sorted(self.unknown):
            end = env.get(name)
            if end is not None and not isinstance(end, Poison):
                found = widen(describe(end))
                self.specs[name] = found if isinstance(found, Maybe) else Maybe(found)
                self.unknown.discard(name)
                good = False
        for name in self.late:
            end = env.get(name)
            if end is not None and not isinstance(end, Poison):
                self._settle_late(name, end, lambda spec: spec)
        for name in OUT:
            if name in env:
                self._settle_late(name, env[name], lambda spec: spec if isinstance(spec, Maybe) else Maybe(spec))
        good = self._settle_memory(env) and good
        self.frame.hints[self.stmt] = {name: without_dims(spec, as_before) for name, spec in self.specs.items()}
        self.attempts += 1
        return good

    def _settle_late(
        self, name: str, end: AbstractValue, optional: Callable[[abstract.Abstract], abstract.Abstract]
    ) -> None:
        for key, held in ((name, end), *made_in(self, end)):
            self.late_specs[key] = optional(widen(describe(held)))
            self.over |= {leaf: self._outer(a.roots) for leaf, a in _leaves(key, held).items()}

    def _widened(self, name: str, spec: abstract.Abstract, end: AbstractValue) -> abstract.Abstract:
        """The type at the head of the loop, given the value at the end of the body."""
        found = widen(describe(end))
        if name in self.guessed:
            self.guessed.discard(name)
            better = Maybe(found.item if isinstance(found, Maybe) else found)
            if better != spec:
                self._forget()
            return better
        start = self.before.get(name)
        if isinstance(start, Contents):
            return self._widened_contents(name, start, spec, end)
        try:
            if self.attempts == 0 and start is not None:
                # A literal takes the type it is combined with in the loop: 0.0 before a sum of float32 is float32.
                joined = join(describe(start), found)
                result = joined if spec == widen(describe(start)) else join(joined, spec)
            else:
                result = join(spec, found)
            late = [ref for ref in objects_in_choices(result) if ref.key not in self.before]
            for ref in late:
                self.frame.want_pool(ref)
            if late:
                raise Clash("one of them belongs to an object that the loop makes: make it before the loop")
            return result
        except Clash as clash:
            array = settled_number(self, name, start, end)
            if array is not None:
                self.before[name] = array
                return widen(describe(array))
            narrow(self.frame, name, spec, found)
            if self.appends.few:
                heap.unroll(self.frame, [self])
            before = "unset" if start is None else describe_type(start)
            raise refuse(
                self.frame.assigned_at.get(name, current_loc()),
                f"{heap.shown(self.frame, name)} changes its type in the loop: {before} before it, "
                f"{describe_type(end)} here; {clash}",
                f"give '{name}' its final type before the loop, or use another name here",
                [Note("this is the loop", self.frame.loc(self.stmt))],
                kind=kinds.TYPE_CHANGE_IN_LOOP,
            ) from None

    def _widened_contents(
        self, name: str, start: Contents, spec: abstract.Abstract, end: AbstractValue
    ) -> abstract.Abstract:
        try:
            return widened_contents(start, spec, end)
        except Clash as clash:
            growing = settled_list(self, start, end)
            if growing is not None:
                self.before[name] = growing
                return widen(describe(growing))
            heap.unroll(self.frame, [self])
            if start.form.kind == "list":
                self.frame.want_lists_in(start, end)
            raise refuse(
                self.frame.assigned_at.get(name, current_loc()),
                *not_kept(self.frame, heap.shown(self.frame, name), start, end, clash),
                [Note("this is the loop", self.frame.loc(self.stmt))],
                kind=kinds.TYPE_CHANGE_IN_LOOP,
            ) from None

    def _settle_memory(self, env: dict[str, AbstractValue]) -> bool:
        ends = {
            leaf: a.roots
            for name, spec in self.specs.items()
            if is_growing(env[name]) or not is_growing(self.before.get(name))  # else it will be copied into new memory
            for leaf, a in _leaves(name, env[name], spec).items()
        }
        good = True
        for leaf, roots in ends.items():
            outer = self._outer(roots)
            known = self.over.get(leaf, NOWHERE)
            if not outer <= known:
                self.over[leaf] = known | outer
                good = False
        for pair in list(self.apart):
            x, y = pair
            if overlap(ends.get(x, NOWHERE), ends.get(y, NOWHERE)):
                self.apart.discard(pair)
                good = False
        return good

    def _outer(self, roots: Roots) -> Roots:
        """Those of ``roots`` that are older than the loop; phases made inside it are replaced by what they stand
        for."""
        return older(roots, self.order)

    # The finished loop ------------------------------------------------------------------------------------------------

    def _late(self, name: str, ran: bool | Value | None) -> abstract.Abstract:
        """The type by which a late variable leaves the loop: with a flag unless it is set whenever the loop ran at
        all."""
        spec = self.late_specs[name]
        return spec if ran is not None or isinstance(spec, Maybe) else Maybe(spec)

    def late_types(self, ran: bool | Value | None) -> list[Type]:
        return [t for name in self.late_specs for t in types(self._late(name, ran))]

    def late_hints(self, ran: bool | Value | None) -> list[str]:
        return [hint(name) for name in self.late_specs for _ in types(self._late(name, ran))]

    def yields(self, block: Block, ran: bool | Value | None) -> list[Value]:
        """The values that the body yields, converted at its end."""
        env = self.frame.env
        with insert_at(block):
            result = [v for name, spec in self.specs.items() for v in flatten(coerce(env[name], spec))]
            for name in self.late_specs:
                result += flatten(coerce(env[name], self._late(name, ran)))
        return result

    def inits(self, ran: bool | Value | None) -> list[Value]:
        """The carried values before the first iteration, converted at the insertion point.

        ``ran`` says whether there is an iteration, if that is known before the loop.
        """
        result: list[Value] = []
        for name, spec in self.specs.items():
            start = self.before.get(name)
            result += flatten(merge.unset(spec) if start is None else coerce(start, spec))
        for name in self.late_specs:
            spec = self._late(name, ran)
            empty = merge.unset(spec)
            result += flatten(empty if isinstance(spec, Maybe) else empty.value)
        return result

    def leave(self, results: Iterator[Value], ran: bool | Value | None) -> None:
        """Set the frame's variables to their values after the loop."""
        ends, phases = self.frame.env, Phases(set(self.apart))
        env = self._bound(results)
        for name in self.late_specs:
            spec = self._late(name, ran)
            value = rebuild(spec, results, self._phase(name, phases))
            if not isinstance(spec, Maybe) and isinstance(ran, Value) and not constant_of(ran):
                value = Unbound(ran, value)
            env[name] = value
        for name in (*self.late, *sorted(self.unknown)):
            if isinstance(ends.get(name), Poison):
                env[name] = ends[name]
        self.frame.env = env


def _leaves(name: str, value: AbstractValue | None, spec: abstract.Abstract | None = None) -> dict[str, Array]:
    """The arrays of a variable that are carried. Values that stay the same (in ``spec``) are not."""
    if value is None:
        return {}
    found = list(arrays(value)) if spec is None else carried_arrays(value, spec)
    return {f"{name}#{k}": a for k, a in enumerate(found) if a is not None}


def _narrow(body: Block) -> bool:
    """Whether types occur for which it matters whether a number is Python's or NumPy's."""
    return any(is_narrow(r.type) for op in body.walk() for r in op.results)
