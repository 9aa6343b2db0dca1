"""The elements of arrays that a nest of loops reads and writes, as forms of the counters of its loops."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod

from adc.ir import ops
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, inside
from adc.passes.analysis.affine import Form, Forms
from adc.passes.analysis.kinds import COUNTED, ELEMENT_WRITES, PURE, accessed
from adc.passes.ranks.layouts import Layouts, subscripts, underneath

ONE = Form.number(1)

MOST_CHOICES, MOST_ALTERNATIVES = 6, 32
"""How many choices are followed, and how many elements a load may be of."""


@dataclass(frozen=True, eq=False)
class Access:
    """An element of an array that is not a view; ``at`` is None if its subscripts are not known.

    ``like``: the access as it is in the loops, if this one is that of another iteration."""

    op: Op
    array: Value
    at: tuple[Form, ...] | None
    like: Access | None = None


def access(forms: Forms, op: Op) -> Access:
    memref, *places = accessed(op)
    array, views = underneath(memref)
    at = subscripts(forms, views, places)
    return Access(op, array, None if at is None else tuple(at))


def goes_to_stores(op: Op, accepts: Callable[[Op], bool], block: Block | None = None) -> bool:
    """Whether the result of an operation goes only to stores that are all accepted, through operations that only
    compute; in ``block``, if it is given."""
    todo, seen = [op], {op}
    while todo:
        for user, _ in todo.pop().result.uses:
            if user in seen:
                continue
            seen.add(user)
            if block is not None and user.parent is not block:
                return False
            if user.opdef is ops.store:
                if not accepts(user):
                    return False
            elif user.opdef in PURE and len(user.results) == 1 and not user.regions:
                todo.append(user)
            else:
                return False
    return True


Apart = tuple[Form, Form]
"""The first form is not less than the second."""


@dataclass(frozen=True, eq=False)
class Moved:
    """A subscript that the counter of ``loop`` moves: ``factor * counter + rest``."""

    loop: Op
    factor: int
    rest: Form


class Accesses:
    """The elements that a loop nest, or a single operation, reads and writes."""

    def __init__(self, op: Op, layouts: Layouts) -> None:
        self.op = op
        self.layouts = layouts
        self.forms = layouts.forms
        own = [inner for region in op.regions for inner in region.walk()] if op.regions else [op]
        self.order = {inner: k for k, inner in enumerate(own)}
        self.loads = [access(self.forms, inner) for inner in own if inner.opdef is ops.load]
        self.writes = [access(self.forms, inner) for inner in own if inner.opdef in ELEMENT_WRITES]
        self.stores = [store for store in self.writes if not inside(store.array, op)]
        self.by_op = {load.op: load for load in self.loads}
        self.loops = [inner for inner in [op, *own] if inner.opdef in COUNTED]

    def moved(self, form: Form) -> Moved | Form | None:
        """How a subscript moves: the form itself if it does not move; None if that is not known."""
        within = [s for s in form.symbols() if inside(s.value, self.op)]
        if not within:
            return form
        loop = within[0].loop
        if len(within) > 1 or loop is None:
            return None
        factor, rest = form.split(within[0])
        if not factor.is_constant or factor.constant == 0:
            return None
        return Moved(loop, factor.constant, rest)

    def is_visible(self, form: Form) -> bool:
        return not any(inside(s.value, self.op) for s in form.symbols())

    def range(self, loop: Op) -> tuple[Form, Form] | None:
        """The numbers between which the counter of a loop lies, if they are known before the nest."""
        low, high = (self.forms.of(v) for v in loop.operands[:2])
        return (low, high) if self.is_visible(low) and self.is_visible(high) else None

    def deciding(self, op: Op) -> list[Value]:
        """The values that decide whether an operation of the nest runs."""
        found: list[Value] = []
        for around in enclosing(op.parent):
            found += around.operands[:3] if around.opdef in COUNTED else around.operands
            if around.opdef is ops.while_:
                found += around.regions[0].terminator.operands
            if around is self.op:
                break
        return found

    def alternatives(self, load: Access) -> tuple[list[Access], list[list[Apart]]]:
        """A load at each of the elements of which it reads one, if subscripts are clamped or wrap around; and the
        conditions for that: of each list, one must hold."""
        if load.at is None:
            return [load], []
        conditions: list[list[Apart]] = []
        forms = [self.choices(form, conditions, MOST_CHOICES) for form in load.at]
        if prod(map(len, forms)) > MOST_ALTERNATIVES:
            return [load], []
        return [Access(load.op, load.array, at, load.like) for at in product(*forms)], conditions

    def as_done(self, load: Access) -> list[Access]:
        """A load with the subscripts that it has in the loops; one for each that it may have."""
        return [load] if load.like is None else self.alternatives(load.like)[0]

    def choices(self, form: Form, conditions: list[list[Apart]], depth: int) -> list[Form]:
        """Forms of which one equals the subscript; only the subscript itself, if nothing more is known."""
        for symbol in form.symbols():
            if depth == 0 or symbol.dim is not None or not inside(symbol.value, self.op):
                continue
            choices = self._choices(symbol.value, conditions, depth)
            if choices is not None:
                found = [form.substitute(symbol, choice) for choice in choices]
                return list(dict.fromkeys(f for each in found for f in self.choices(each, conditions, depth - 1)))
        return [form]

    def _choices(self, value: Value, conditions: list[list[Apart]], depth: int) -> list[Form] | None:
        """The values of which an integer is one, if an operation chooses it."""
        op = value.op
        if op is None:
            return None
        if op.opdef is ops.minsi or op.opdef is ops.maxsi:
            return [self.forms.of(v) for v in op.operands]
        if op.opdef is ops.select:
            return [self.forms.of(v) for v in op.operands[1:]]
        if op.opdef is ops.if_:
            return [self.forms.of(region.terminator.operands[value.index]) for region in op.regions]
        if op.opdef is ops.bound:
            subscript, extent = map(self.forms.of, op.operands)
            return [subscript, subscript + extent]
        if op.opdef is ops.remsi:
            x, n = map(self.forms.of, op.operands)
            found: list[list[Apart]] = []
            if not self.is_visible(n) or not all(
                self._once_around(each, n, found) for each in self.choices(x, found, depth - 1)
            ):
                return None
            conditions += found
            return [x, x + n, x - n]
        return None

    def _once_around(self, form: Form, n: Form, conditions: list[list[Apart]]) -> bool:
        """Whether it can be said before the nest that a number is between ``-2 * n`` and ``2 * n``; what must hold for
        that is added to ``conditions``."""
        moved = self.moved(form)
        if moved is None:
            return False
        empty: list[Apart] = []
        first = last = form
        if isinstance(moved, Moved):
            ends = self.range(moved.loop)
            if ends is None or not self.is_visible(moved.rest):
                return False
            empty = [ends]
            first, last = (moved.rest + end * moved.factor for end in (ends[0], ends[1] - 1))
            if moved.factor < 0:
                first, last = last, first
        for low, high in ((first, ONE - n * 2), (n * 2 - 1, last)):
            rest = low - high
            if not (rest.is_constant and rest.constant >= 0):
                conditions.append([(low, high), *empty])
        return True
