"""What the stores of a nest of loops depend on: which elements of arrays, as forms of the counters at the store.

A value may come from another iteration than that of the store: through a number that a loop carries from one iteration
to the next, or through memory of the nest's own, such as a buffer for a row that is written in one loop and read in
another. So each value comes with what the counters were when it was computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Block, Op, Value
from adc.ir.nesting import enclosing, inside
from adc.passes.analysis.affine import Form
from adc.passes.analysis.kinds import COUNTED
from adc.passes.ranks.accesses import MOST_ALTERNATIVES, MOST_CHOICES, Access, Accesses, Apart, Moved, goes_to_stores

MOST_VISITS = 6
"""The number of iterations from which a value may come before it counts as coming from any."""

Then = Mapping[Op, Form]
"""The former values of loop counters that differ from those at the store. Loops without a counter are in it, too, if
the iteration differs."""


class Dependences:
    """The loads that stores in the loops ``kept`` depend on. ``around`` gets the conditions for that."""

    def __init__(self, nest: Accesses, kept: Iterable[Op], around: list[list[Apart]]) -> None:
        self.nest = nest
        self._kept = frozenset(kept)
        self._around = around
        self._found: dict[Access, None] = {}
        self._todo: list[tuple[Value, Then]] = []
        self._seen: dict[Value, set[frozenset[tuple[Op, Form]]]] = {}

    def of(self, values: Iterable[Value]) -> list[Access]:
        if not self.nest.loads:
            return []
        # A number of which nothing is known, like one that is loaded in another iteration.
        self._any = Form.symbol(self.nest.forms.symbol(self.nest.loads[0].op.result, None, self.nest.op))
        self._come(values, {})
        while self._todo:
            value, then = self._todo.pop()
            then = {loop: form for loop, form in then.items() if inside(value, loop)}
            seen = self._seen.setdefault(value, set())
            if len(seen) >= MOST_VISITS:
                then = dict.fromkeys(then, self._any)
            key = frozenset(then.items())
            if key not in seen:
                seen.add(key)
                self._visit(value, then)
        return list(self._found)

    def _come(self, values: Iterable[Value], then: Then) -> None:
        self._todo += [(v, then) for v in values if inside(v, self.nest.op)]

    def _visit(self, value: Value, then: Then) -> None:
        op = value.op
        if op is None:
            self._visit_argument(value, then)
            return
        self._come(op.operands, then)
        # The result of a loop is from its last iteration, and the store may be in any.
        inner = {**then, op: self._any} if op in self._kept else then
        for region in op.regions:
            ends: Sequence[Value] = region.terminator.operands
            if op.opdef in (ops.if_, ops.for_):
                ends = ends[value.index : value.index + 1]
            self._come(ends, inner)
        if op in self.nest.by_op:
            self._load(self.nest.by_op[op], then)

    def _visit_argument(self, value: Value, then: Then) -> None:
        assert value.block is not None
        loop = value.block.parent_op
        assert loop is not None
        outside = {other: form for other, form in then.items() if other is not loop}
        if loop.opdef is ops.for_ and value.index > 0:
            (body,) = loop.regions
            self._come([*loop.operands[:3], loop.operands[2 + value.index]], outside)
            step = constant_of(loop.operands[2])
            before = then.get(loop, Form.symbol(self.nest.forms.symbol(body.args[0])))
            before = before - step if isinstance(step, int) else self._any
            around = loop in self._kept or loop in then  # else the counter is any of its numbers
            self._come([body.terminator.operands[value.index - 1]], {**then, loop: before} if around else then)
            return
        counted = loop.opdef in COUNTED
        self._come(loop.operands[:3] if counted else loop.operands, outside)  # not its initial values
        if not counted:
            ends = [v for region in loop.regions for v in region.terminator.operands]
            self._come(ends, {**then, loop: self._any})

    # Elements ---------------------------------------------------------------------------------------------------------

    def _load(self, load: Access, then: Then) -> None:
        if then:
            for at in self._elements(load, then):
                self._found[Access(load.op, load.array, at, load)] = None
        else:
            self._found[load] = None
        if inside(load.array, self.nest.op) and not self._is_of_update(load):  # memory of the nest's own
            for store in self.nest.writes:
                if store.array is load.array or self.nest.layouts.may_be_one(store.array, load.array):
                    for stored in self._stored(store, load, then):
                        self._come([*store.op.operands, *self.nest.deciding(store.op)], stored)

    def _is_of_update(self, load: Access) -> bool:
        """Whether a loaded value goes only into the same element. Where an element gets its value from has been asked
        before its old value is looked at."""
        loops = self._loops_around(load.op.parent)

        def same(user: Op) -> bool:
            (store,) = (w for w in self.nest.writes if w.op is user)
            element = store.array is load.array and store.at is not None and store.at == load.at
            return element and self._loops_around(user.parent) == loops

        return goes_to_stores(load.op, same)

    def _stored(self, store: Access, load: Access, then: Then) -> Iterator[Then]:
        """What the counters around a store were when it stored what a load of the nest's own memory gives."""
        if load.at is None or store.at is None or store.array is not load.array:
            yield self._when(store, load, {}, then)
            return
        places = [list(dict.fromkeys(self.nest.choices(form, self._around, MOST_CHOICES))) for form in store.at]
        if prod(map(len, places)) > MOST_ALTERNATIVES:
            places = [[form] for form in store.at]
        for at, place in product(self._elements(load, then), product(*places)):
            counters = {} if at is None else self._counters(place, at)
            if counters is not None:
                yield self._when(store, load, counters, then)

    def _elements(self, load: Access, then: Then) -> Iterator[tuple[Form, ...] | None]:
        """The elements that a load may have been of."""
        if load.at is None:
            yield None
            return
        forms = []
        for form in load.at:
            found = self.nest.choices(form, self._around, MOST_CHOICES)
            forms.append(list(dict.fromkeys(self._back(each, then) for each in found)))
        if prod(map(len, forms)) > MOST_ALTERNATIVES:
            yield None
        else:
            yield from product(*forms)

    def _back(self, form: Form, then: Then) -> Form:
        """What a number was in the iteration ``then``."""
        found = rest = form
        for symbol in list(form.symbols()):
            was = then.get(symbol.loop) if symbol.loop is not None and symbol.later is None else None
            if was is None and not any(loop in then for loop in enclosing(symbol.value.block)):
                continue
            factor, rest = rest.split(symbol)
            if not factor.is_constant:
                return self._any
            found = found + ((self._any if was is None else was) - Form.symbol(symbol)) * factor.constant
        return found

    def _when(self, store: Access, load: Access, counters: Then, then: Then) -> Then:
        """What the counters around a store were; ``counters`` are those that follow from its subscripts."""
        known = set(self._loops_around(load.array.block))
        found: dict[Op, Form] = {}
        before = self._is_before(store, load)
        for loop in self._loops_around(store.op.parent):
            around_both = loop in enclosing(load.op.parent)
            if loop in counters and loop not in known:
                found[loop] = counters[loop]
                before = before and (not around_both or self._is_earlier(loop, counters[loop], then))
            elif loop in known or (before and around_both and self._stores_the_same(store, loop)):
                if loop in then:
                    found[loop] = then[loop]
            else:
                before = before and not around_both
                if loop in self._kept:
                    found[loop] = self._any
        return found

    def _is_earlier(self, loop: Op, was: Form, then: Then) -> bool:
        """Whether an iteration is known not to come after the present one."""
        now = then.get(loop, Form.symbol(self.nest.forms.symbol(loop.regions[0].args[0])))
        step, before = constant_of(loop.operands[2]), was - now
        return isinstance(step, int) and step > 0 and before.is_constant and before.constant <= 0

    def _stores_the_same(self, store: Access, loop: Op) -> bool:
        """Whether a store is to the same elements in each iteration of a loop, so that none keeps what an earlier one
        left."""
        inner = [each for each in self._loops_around(store.op.parent) if loop in enclosing(each.parent)]
        forms = [*(store.at or ()), *(self.nest.forms.of(v) for each in inner for v in each.operands[:3])]
        symbols = [symbol for form in forms for symbol in form.symbols()]
        return store.at is not None and all(not inside(s.value, loop) or s.loop in inner for s in symbols)

    def _counters(self, place: Sequence[Form], at: Sequence[Form]) -> Then | None:
        """What the counters were when an element was stored, as far as subscripts tell; None if it is another
        element."""
        found: dict[Op, Form] = {}
        for form, stored in zip(at, place, strict=True):
            moved = self.nest.moved(stored)
            if isinstance(moved, Moved) and abs(moved.factor) == 1:
                found.setdefault(moved.loop, (form - moved.rest) * moved.factor)
            elif isinstance(moved, Form) and (form - moved).is_constant and (form - moved).constant != 0:
                return None
        return found

    def _loops_around(self, block: Block | None) -> list[Op]:
        """The loops of the nest around a block, the innermost first."""
        return [loop for loop in enclosing(block) if loop.opdef is not ops.if_ and self._holds(loop)]

    def _holds(self, loop: Op) -> bool:
        return loop is self.nest.op or self.nest.op in enclosing(loop.parent)

    def _is_before(self, store: Access, load: Access) -> bool:
        """Whether a store runs in each iteration of the loops around both, before the load."""
        around = set(enclosing(load.op.parent))
        apart = [op for op in enclosing(store.op.parent) if op not in around]
        return self.nest.order[store.op] < self.nest.order[load.op] and all(op.opdef in COUNTED for op in apart)
