"""What code that each rank runs for its own elements reads of those of others.

Of a store into an array that is shared out, a rank needs the elements that are its own to be right; what it computes
beyond does not matter, as nobody reads it before it is fetched from its owner. So for each store, and each load that
its value depends on, the region is what the rank's own elements take: the subscripts of the load, for the iterations
whose subscript of the store is in the rank's block.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from math import prod

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op, Value
from adc.ir.nesting import enclosing, inside
from adc.ir.partitions import FAR, NONE
from adc.passes.analysis.affine import Form, Forms
from adc.passes.analysis.kinds import COUNTED, ELEMENT, ELEMENT_WRITES
from adc.passes.ranks.layouts import Layouts, subscripts, underneath

ONE = Form.number(1)

MOST_CHOICES, MOST_ALTERNATIVES = 6, 32
"""How many choices are looked through, and how many elements a load may be of."""

FEW = 8
"""How many iterations every rank may do."""


@dataclass(frozen=True, eq=False)
class Access:
    """An element of an array that is no view; ``at`` is None where its subscripts are not known."""

    op: Op
    array: Value
    at: tuple[Form, ...] | None


def access(forms: Forms, op: Op) -> Access:
    position = ELEMENT[op.opdef]
    array, views = underneath(op.operands[position])
    at = subscripts(forms, views, op.operands[position + 1 :])
    return Access(op, array, None if at is None else tuple(at))


Along = tuple[int, Form, int, Form, Form, Form, int, Form]
"""What is read along one axis of an array: see ``adc.ir.partitions.Partition``."""

Guard = tuple[int, Form, Form, Form]


Apart = tuple[Form, Form]
"""The first is the second, or more."""


@dataclass(frozen=True)
class Box:
    guards: tuple[Guard, ...]
    axes: tuple[Along, ...]


def whole_axis(extent: Form) -> Along:
    zero = Form.ZERO
    return NONE, extent, 1, zero, zero, extent, 1, zero


@dataclass(frozen=True, eq=False)
class Moved:
    """A subscript that the counter of ``loop`` moves: ``factor * counter + rest``."""

    loop: Op
    factor: int
    rest: Form


class Nest:
    """A loop nest, or a single operation, that is to be run for a rank's own elements."""

    def __init__(self, op: Op, layouts: Layouts) -> None:
        self.op = op
        self.layouts = layouts
        self.forms = layouts.forms
        own = [inner for region in op.regions for inner in region.walk()] if op.regions else [op]
        self._order = {inner: k for k, inner in enumerate(own)}
        self.loads = [access(self.forms, inner) for inner in own if inner.opdef is ops.load]
        self._writes = [access(self.forms, inner) for inner in own if inner.opdef in ELEMENT_WRITES]
        self.stores = [store for store in self._writes if not inside(store.array, op)]
        self.loops = [inner for inner in [op, *own] if inner.opdef in COUNTED]

    def moved(self, form: Form) -> Moved | Form | None:
        """How a subscript moves; itself if it does not; None if that is not known."""
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
        """Between which numbers the counter of a loop is, if that is known in front of the nest."""
        low, high = (self.forms.of(v) for v in loop.operands[:2])
        return (low, high) if self.is_visible(low) and self.is_visible(high) else None

    # What depends on what ---------------------------------------------------------------------------------------------

    def behind_store(self, store: Access) -> list[Access]:
        """The loads that what a store does depends on."""
        return self._behind([*store.op.operands, *self._deciding(store.op)])

    def behind_results(self) -> list[Access]:
        """The loads that the results of the nest depend on."""
        return self._behind([v for region in self.op.regions for v in region.terminator.operands])

    def _deciding(self, op: Op) -> list[Value]:
        """What decides whether an operation of the nest is done."""
        found: list[Value] = []
        for around in enclosing(op.parent):
            found += around.operands[:3] if around.opdef in COUNTED else around.operands
            if around.opdef is ops.while_:
                found += around.regions[0].terminator.operands
            if around is self.op:
                break
        return found

    def _behind(self, start: Iterable[Value]) -> list[Access]:
        by_op = {load.op: load for load in self.loads}
        found: dict[Access, None] = {}
        seen: set[Value] = set()
        todo = list(start)
        while todo:
            value = todo.pop()
            if value in seen or not inside(value, self.op):
                continue
            seen.add(value)
            op = value.op
            if op is None:
                block = value.block
                loop = block.parent_op if block is not None else None
                assert loop is not None
                todo += loop.operands
                todo += [v for region in loop.regions for v in region.terminator.operands]
                continue
            todo += op.operands
            todo += [v for region in op.regions for v in region.terminator.operands]
            if op in by_op:
                load = by_op[op]
                found[load] = None
                if inside(load.array, self.op):  # memory of the nest's own: what was stored there
                    for store in self._writes:
                        if store.array is load.array or self.layouts.may_be_one(store.array, load.array):
                            todo += [*store.op.operands, *self._deciding(store.op)]
        return list(found)

    # Regions ----------------------------------------------------------------------------------------------------------

    def alternatives(self, load: Access) -> tuple[list[Access], list[list[Apart]]]:
        """A load at each of the elements one of which it reads, where subscripts are clamped, or wrap around; and what
        has to hold for that: of each list, one."""
        if load.at is None:
            return [load], []
        conditions: list[list[Apart]] = []
        forms = [self._alternatives(form, conditions, MOST_CHOICES) for form in load.at]
        if prod(map(len, forms)) > MOST_ALTERNATIVES:
            return [load], []
        return [Access(load.op, load.array, at) for at in product(*forms)], conditions

    def _alternatives(self, form: Form, conditions: list[list[Apart]], depth: int) -> list[Form]:
        """Forms one of which is equal to a subscript; itself, if it is one or nothing is known."""
        for symbol in form.symbols():
            if depth == 0 or symbol.dim is not None or not inside(symbol.value, self.op):
                continue
            choices = self._choices(symbol.value, conditions, depth)
            if choices is not None:
                found = [form.substitute(symbol, choice) for choice in choices]
                return list(dict.fromkeys(f for each in found for f in self._alternatives(each, conditions, depth - 1)))
        return [form]

    def _choices(self, value: Value, conditions: list[list[Apart]], depth: int) -> list[Form] | None:
        """The values one of which an integer has that an operation chooses."""
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
                self._once_around(each, n, found) for each in self._alternatives(x, found, depth - 1)
            ):
                return None
            conditions += found
            return [x, x + n, x - n]
        return None

    def _once_around(self, form: Form, n: Form, conditions: list[list[Apart]]) -> bool:
        """Whether it can be said in front of the nest that a number is between ``-2 * n`` and ``2 * n``; ``conditions``
        get what has to hold for that."""
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

    def _is_short(self, low: Form, high: Form) -> bool:
        """Whether a range has a few numbers at most, in all cases."""
        pairs = product(self._bounds(low, -1), self._bounds(high, 1))
        return any((b - a).is_constant and (b - a).constant <= FEW for a, b in pairs)

    def _bounds(self, form: Form, sign: int, depth: int = MOST_CHOICES) -> list[Form]:
        """Forms that one is not more than (``sign`` 1), or not less (-1)."""
        found = [form]
        for symbol in form.symbols():
            op, factor = symbol.value.op, form.coefficient(symbol)
            if depth == 0 or symbol.dim is not None or op is None or not factor.is_constant:
                continue
            if op.opdef is (ops.minsi if factor.constant * sign > 0 else ops.maxsi):
                for v in op.operands:
                    found += self._bounds(form.substitute(symbol, self.forms.of(v)), sign, depth - 1)
        return found

    def box(self, store: Access | None, load: Access) -> Box | None:
        """What ranks read by a load for what is stored, or for all (None); None if all of it is their own."""
        wanted = self.layouts.of(load.array)
        along, local = [], True
        for d, axis in enumerate(wanted):
            found, own = self._along(store, load, d)
            along.append(found)
            local = local and (axis == NONE or own)
        return None if local else Box(self._guards(store), tuple(along))

    def takes_all(self, load: Access, box: Box) -> bool:
        """Whether a rank reads more of an axis than what belongs to its block, and a few elements."""
        pairs = zip(self.layouts.of(load.array), box.axes, strict=True)
        return any(
            axis != NONE and along[0] == NONE and along[6] and not self._is_short(along[4], along[5])
            for axis, along in pairs
        )

    def _guards(self, store: Access | None) -> tuple[Guard, ...]:
        if store is None or store.at is None:
            return ()
        found = []
        for d, (axis, form) in enumerate(zip(self.layouts.of(store.array), store.at, strict=True)):
            if axis != NONE and isinstance(self.moved(form), Form):
                found.append((axis, self.layouts.extent(store.array, d), form, form + 1))
        return tuple(found)

    def _along(self, store: Access | None, load: Access, d: int) -> tuple[Along, bool]:
        """What is read along one axis, and whether it is the rank's own if that axis is shared out."""
        extent = self.layouts.extent(load.array, d)
        if load.at is None:
            return whole_axis(extent), False
        form, axis = load.at[d], self.layouts.of(load.array)[d]
        own = False
        if store is not None and store.at is not None:
            for e, (shared, stored) in enumerate(zip(self.layouts.of(store.array), store.at, strict=True)):
                same = shared == axis and self.layouts.extent(store.array, e) == extent
                own = own or (shared != NONE and same and stored == form)
        moved = self.moved(form)
        one, zero, far = ONE, Form.ZERO, Form.number(FAR)
        if isinstance(moved, Form):
            return (NONE, extent, 1, zero, zero, one, 0, form), own
        if store is not None and store.at is not None:
            for e, (shared, stored) in enumerate(zip(self.layouts.of(store.array), store.at, strict=True)):
                if shared == NONE:
                    continue
                size, by = self.layouts.extent(store.array, e), self.moved(stored)
                if moved is not None and isinstance(by, Moved) and by.loop is moved.loop and by.factor > 0:
                    low, high = self.range(moved.loop) or (-far, far)
                    if self.is_visible(by.rest) and self.is_visible(moved.rest):
                        return (shared, size, by.factor, by.rest, low, high, moved.factor, moved.rest), own
                if self.is_visible(form - stored):
                    return (shared, size, 1, zero, -far, far, 1, form - stored), own
        if moved is not None and (found := self.range(moved.loop)) is not None and self.is_visible(moved.rest):
            return (NONE, extent, 1, zero, *found, moved.factor, moved.rest), own
        return whole_axis(extent), own

    def apart(self, load: Access, store: Access) -> list[Apart] | None:
        """What shows that a load and a store of an array never meet: one of these has to hold, of forms that are known
        in front of the nest. None if nothing does."""
        if self._order[load.op] < self._order[store.op] and self._meet_in_one_iteration(load, store):
            return []  # what is loaded was there before
        found = []
        for a, b in zip(load.at or (), store.at or (), strict=False):
            one, other = self._span(a), self._span(b)
            if one is None or other is None or a == b or self._together(a, b):
                continue
            for (low, _), (_, high) in ((one, other), (other, one)):
                rest = low - high
                if rest.is_constant and rest.constant >= 0:
                    return []
                if not rest.is_constant:
                    found.append((low, high))
        return found or None

    def _together(self, a: Form, b: Form) -> bool:
        """Whether one loop moves both subscripts."""
        one, other = self.moved(a), self.moved(b)
        return isinstance(one, Moved) and isinstance(other, Moved) and one.loop is other.loop

    def _meet_in_one_iteration(self, a: Access, b: Access) -> bool:
        """Whether iterations of the loops around both may be run in any order, or have elements of their own."""
        around = set(enclosing(b.op.parent))
        both = [loop for loop in enclosing(a.op.parent) if loop in around and self._holds(loop)]
        same = [self.moved(x) for x, y in zip(a.at or (), b.at or (), strict=False) if x == y]
        own = {moved.loop for moved in same if isinstance(moved, Moved)}
        return all(loop.opdef in (ops.parallel, ops.if_) or loop in own for loop in both)

    def _holds(self, op: Op) -> bool:
        return op is self.op or self.op in enclosing(op.parent)

    def _span(self, form: Form) -> Apart | None:
        """Between which numbers a subscript is."""
        moved = self.moved(form)
        if isinstance(moved, Form):
            return form, form + 1
        if moved is None or moved.factor != 1 or not self.is_visible(moved.rest):
            return None
        ends = self.range(moved.loop)
        return None if ends is None else (ends[0] + moved.rest, ends[1] + moved.rest)

    # Cuts -------------------------------------------------------------------------------------------------------------

    def cuts(self, loop: Op) -> list[tuple[int, Form, int, Form]] | None:
        """By which blocks the range of a loop may be cut: an axis, an extent, and factor and rest of the subscript that
        is to be in the block. None if all iterations have to be done."""
        if loop.results or loop.opdef not in COUNTED or constant_of(loop.operands[2]) != 1:
            return None
        found: dict[tuple[int, Form, int, Form], None] = {}
        for store in self._writes:
            if loop not in enclosing(store.op.parent):
                continue
            if inside(store.array, loop):
                continue
            by = None if inside(store.array, self.op) else self._cut(store, loop)
            if by is None:
                return None
            found[by] = None
        return list(found) or None

    def _cut(self, store: Access, loop: Op) -> tuple[int, Form, int, Form] | None:
        for d, axis in enumerate(self.layouts.of(store.array)):
            if axis == NONE or store.at is None:
                continue
            by = self.moved(store.at[d])
            if isinstance(by, Moved) and by.loop is loop and by.factor > 0 and self.is_visible(by.rest):
                return axis, self.layouts.extent(store.array, d), by.factor, by.rest
        return None
