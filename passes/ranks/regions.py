"""The elements of other ranks that code reads which each rank runs for its own elements.

For a store into a distributed array, a rank needs its own elements to be right. Other elements that it computes
do not matter, as nobody reads them before they are fetched from their owner. So for each store, and each load that its
value depends on, the region is what the rank's own elements need: the subscripts of the load, for the iterations in
which the subscript of the store is in the rank's block.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import NamedTuple

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, inside
from adc.ir.partitions import FAR, NONE
from adc.passes.analysis.affine import Form, Symbol
from adc.passes.analysis.kinds import COUNTED
from adc.passes.ranks.accesses import MOST_CHOICES, ONE, Access, Accesses, Apart, Moved
from adc.passes.ranks.congruences import are_apart
from adc.passes.ranks.dependences import Dependences
from adc.passes.ranks.layouts import Layouts

FEW = 8
"""How many iterations may be run by every rank."""


class Along(NamedTuple):
    """What is read along one axis of an array: elements from ``by * i + start`` on, and ``more`` after that, for the
    ``i`` from ``low`` to before ``high`` for which one of ``factor * i + rest``, and ``wide`` after that, is in the
    block."""

    axis: int
    extent: Form
    factor: int
    rest: Form
    wide: Form
    low: Form
    high: Form
    by: int
    start: Form
    more: Form = Form.ZERO


Guard = tuple[int, Form, Form, Form]

Cut = tuple[int, Form, int, Form, Form]
"""An axis, an extent, factor and rest of a subscript, and by how much the subscript may be greater; it is in the
block."""


@dataclass(frozen=True)
class Box:
    guards: tuple[Guard, ...]
    axes: tuple[Along, ...]


def whole_axis(extent: Form) -> Along:
    zero = Form.ZERO
    return Along(NONE, extent, 1, zero, zero, zero, extent, 1, zero)


class Nest(Accesses):
    """A loop nest, or a single operation, that is to be run for a rank's own elements."""

    def __init__(self, op: Op, layouts: Layouts) -> None:
        super().__init__(op, layouts)
        self.writes = [self._settled(each) for each in self.writes]
        self.stores = [self._settled(each) for each in self.stores]
        self.loads = [self._settled(each) for each in self.loads]
        self.by_op = {load.op: load for load in self.loads}
        self.around: list[list[Apart]] = []  # conditions for what is found: of each list, one must hold

    def _settled(self, each: Access) -> Access:
        """An access whose subscripts do not count from the end, where that is known."""
        if each.at is None:
            return each
        at = []
        for form in each.at:
            for symbol in [s for s in form.symbols() if s.dim is None and inside(s.value, self.op)]:
                op = symbol.value.op
                if op is None or op.opdef is not ops.bound:
                    continue
                subscript = self.forms.of(op.operands[0])
                least = self._end(subscript, -1, MOST_CHOICES)
                if least is not None and least.is_constant and least.constant >= 0:
                    form = form.substitute(symbol, subscript)
            at.append(form)
        return replace(each, at=tuple(at)) if tuple(at) != each.at else each

    # What depends on what ---------------------------------------------------------------------------------------------

    def behind_store(self, store: Access) -> list[Access]:
        """The loads that a store depends on."""
        behind = Dependences(self, enclosing(store.op.parent), self.around)
        return behind.of([*store.op.operands, *self.deciding(store.op)])

    def behind_results(self) -> list[Access]:
        """The loads that the results of the nest depend on."""
        behind = Dependences(self, (), self.around)
        return behind.of([v for region in self.op.regions for v in region.terminator.operands])

    # Regions ----------------------------------------------------------------------------------------------------------

    def _is_short(self, low: Form, high: Form) -> bool:
        """Whether a range has only a few numbers in all cases."""
        pairs = product(self._bounds(low, -1), self._bounds(high, 1))
        if any((b - a).is_constant and (b - a).constant <= FEW for a, b in pairs):
            return True
        for symbol in high.symbols():
            op, once = symbol.value.op, high.coefficient(symbol) == Form.number(1)
            if once and symbol.dim is None and op is not None and op.opdef is ops.maxsi:
                return all(self._is_short(low, high.substitute(symbol, self.forms.of(v))) for v in op.operands)
        return False

    def _bounds(self, form: Form, sign: int, depth: int = MOST_CHOICES) -> list[Form]:
        """Forms that are not less than ``form`` (``sign`` 1), or not greater (-1)."""
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
        """What ranks read by a load for a store, or for everything (None); None if all of it is their own."""
        wanted = self.layouts.of(load.array)
        along, local = [], True
        for d, axis in enumerate(wanted):
            found, own = self._along(store, load, d)
            along.append(found)
            local = local and (axis == NONE or own)
        return None if local else Box(self._guards(store), tuple(along))

    def takes_all(self, store: Access, load: Access, box: Box) -> bool:
        """Whether a rank reads more along an axis than its own block and a few elements, for something else than a
        number that is made of them all, such as their sum. One row of a matrix is not much for what all ranks keep:
        receivers along it have subscripts that are not known."""
        kept = not self.layouts.is_shared(store.array)
        return any(
            axis != NONE
            and along.axis == NONE
            and along.by
            and not self._is_short(along.low, along.high)
            and not (load.at is not None and self._is_reduced(load.at[d], store))
            and not (kept and any(e != d and self._is_fixed(load, e) for e in range(len(box.axes))))
            for d, (axis, along) in enumerate(zip(self.layouts.of(load.array), box.axes, strict=True))
        )

    def _is_fixed(self, load: Access, d: int) -> bool:
        """Whether all iterations read the same element along an axis, which has many."""
        if load.at is None or self._is_short(Form.ZERO, self.layouts.extent(load.array, d)):
            return False
        return isinstance(self.moved(load.at[d]), Form)

    def _is_reduced(self, form: Form, store: Access) -> bool:
        """Whether a subscript runs along a loop that moves no subscript of the store, so that what is stored is made of
        all its iterations."""
        moved = self.moved(form)
        if not isinstance(moved, Moved) or store.at is None:
            return False
        return all(symbol.loop is not moved.loop for place in store.at for symbol in place.symbols())

    def _guards(self, store: Access | None) -> tuple[Guard, ...]:
        if store is None or store.at is None:
            return ()
        found = []
        for d, (axis, form) in enumerate(zip(self.layouts.of(store.array), store.at, strict=True)):
            if axis != NONE and isinstance(self.moved(form), Form):
                found.append((axis, self.layouts.extent(store.array, d), form, form + 1))
        return tuple(found)

    def _along(self, store: Access | None, load: Access, d: int) -> tuple[Along, bool]:
        """What is read along one axis, and whether that is the rank's own, if the axis is distributed."""
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
            return Along(NONE, extent, 1, zero, zero, zero, one, 0, form), own
        if store is not None and store.at is not None:
            for e, (shared, stored) in enumerate(zip(self.layouts.of(store.array), store.at, strict=True)):
                if shared == NONE:
                    continue
                size = self.layouts.extent(store.array, e)
                if (found := self._together(shared, size, stored, form)) is not None:
                    return found, own
                if self.is_visible(form - stored):
                    return Along(shared, size, 1, zero, zero, -far, far, 1, form - stored), own
        if moved is not None and (ends := self.range(moved.loop)) is not None and self.is_visible(moved.rest):
            return Along(NONE, extent, 1, zero, zero, *ends, moved.factor, moved.rest), own
        return whole_axis(extent), own

    def _together(self, axis: int, extent: Form, stored: Form, form: Form) -> Along | None:
        """What is read if one counter moves both subscripts, that of the load and that of the store."""
        by = self.spread(stored)
        if by is None:
            return None
        (moved, wide), read = by, self.spread(form, by[0].loop)
        if read is None:
            return None
        low, high = self.range(moved.loop) or (Form.number(-FAR), Form.number(FAR))
        to, more = read
        return Along(axis, extent, moved.factor, moved.rest, wide, low, high, to.factor, to.rest, more)

    def spread(self, form: Form, loop: Op | None = None) -> tuple[Moved, Form] | None:
        """How the counter of one loop, of ``loop`` if it is given, moves a subscript, and how far at most the counters
        of others move it from there; their ranges must be known before the nest."""
        within = [s for s in form.symbols() if inside(s.value, self.op)]
        best = None
        for main in within:
            factor, rest = form.split(main)
            if main.loop is None or (loop is not None and main.loop is not loop) or not factor.is_constant:
                continue
            found = self._least(rest)
            if found is not None and (best is None or self._is_short(Form.ZERO, found[1])):
                best = Moved(main.loop, factor.constant, found[0]), found[1]
        return best

    def _least(self, form: Form) -> tuple[Form, Form] | None:
        """The least value of a number, and by how much it may be greater, if that is known before the nest."""
        low, high = self._end(form, -1, MOST_CHOICES), self._end(form, 1, MOST_CHOICES)
        return None if low is None or high is None else (low, high - low)

    def _end(self, form: Form, sign: int, depth: int) -> Form | None:
        """A form that a number is not greater than (``sign`` 1), or not less than (-1), if one is known before the
        nest."""
        symbol = next((s for s in form.symbols() if inside(s.value, self.op)), None)
        if symbol is None:
            return form
        factor, rest = form.split(symbol)
        if depth == 0 or symbol.later is not None or not factor.is_constant:
            return None
        for end in self._ends_of(symbol, sign * factor.constant, depth - 1):
            if (found := self._end(rest + end * factor.constant, sign, depth - 1)) is not None:
                return found
        return None

    def _ends_of(self, symbol: Symbol, sign: int, depth: int) -> list[Form]:
        """Forms that a counter, or a chosen number, is not greater than (``sign`` positive), or not less than."""
        loop, op = symbol.loop, symbol.value.op
        if loop is not None:
            return [self.forms.of(loop.operands[0]) if sign < 0 else self.forms.of(loop.operands[1]) - 1]
        if symbol.dim is not None or op is None or op.opdef not in (ops.minsi, ops.maxsi):
            return []
        either = [self.forms.of(v) for v in op.operands]
        if (op.opdef is ops.minsi) == (sign > 0):
            return sorted(either, key=lambda form: not form.is_constant)
        a, b = (self._end(form, sign, depth) for form in either)
        if a is None or b is None or not (a - b).is_constant:
            return []
        return [a if (a - b).constant * sign > 0 else b]

    def apart(self, load: Access, store: Access) -> list[Apart] | None:
        """What shows that a load and a store of an array never meet: one of these conditions, on forms known before the
        nest, has to hold. None if nothing shows it."""
        if self.order[load.op] < self.order[store.op] and self._meet_in_one_iteration(load, store):
            return []  # the loaded value was there before
        if are_apart(self, load, store):
            return []
        found = []
        for a, b in zip(load.at or (), store.at or (), strict=False):
            one, other = self._span(a), self._span(b)
            if one is None or other is None or a == b or self._share_loop(a, b):
                continue
            for (low, _), (_, high) in ((one, other), (other, one)):
                rest = low - high
                if rest.is_constant and rest.constant >= 0:
                    return []
                if not rest.is_constant and not _is_of_short_arrays(rest):
                    found.append((low, high))
        return found or None

    def _share_loop(self, a: Form, b: Form) -> bool:
        """Whether one loop moves both subscripts."""
        one, other = self.moved(a), self.moved(b)
        return isinstance(one, Moved) and isinstance(other, Moved) and one.loop is other.loop

    def _meet_in_one_iteration(self, a: Access, b: Access) -> bool:
        """Whether iterations of the loops around both may run in any order, or have elements of their own."""
        around = set(enclosing(b.op.parent))
        both = [loop for loop in enclosing(a.op.parent) if loop in around and self._holds(loop)]
        same = [self.moved(x) for x, y in zip(a.at or (), b.at or (), strict=False) if x == y]
        own = {moved.loop for moved in same if isinstance(moved, Moved)}
        return all(loop.opdef in (ops.parallel, ops.if_) or loop in own for loop in both)

    def _holds(self, op: Op) -> bool:
        return op is self.op or self.op in enclosing(op.parent)

    def _span(self, form: Form) -> Apart | None:
        """The numbers between which a subscript lies."""
        moved = self.moved(form)
        if isinstance(moved, Form):
            return form, form + 1
        if moved is None or moved.factor != 1 or not self.is_visible(moved.rest):
            return None
        ends = self.range(moved.loop)
        return None if ends is None else (ends[0] + moved.rest, ends[1] + moved.rest)

    # Cuts -------------------------------------------------------------------------------------------------------------

    def cuts(self, loop: Op) -> list[Cut] | None:
        """The blocks by which the range of a loop may be cut; None if all iterations have to run."""
        if loop.results or loop.opdef not in COUNTED or constant_of(loop.operands[2]) != 1:
            return None
        found: dict[Cut, None] = {}
        for store in self.writes:
            if loop not in enclosing(store.op.parent):
                continue
            if inside(store.array, loop):
                continue
            by = None if inside(store.array, self.op) else self._cut(store, loop)
            if by is None:
                return None
            found[by] = None
        return list(found) or None

    def _cut(self, store: Access, loop: Op) -> Cut | None:
        for d, axis in enumerate(self.layouts.of(store.array)):
            if axis == NONE or store.at is None:
                continue
            by = self.spread(store.at[d])
            if by is not None and by[0].loop is loop:
                return axis, self.layouts.extent(store.array, d), by[0].factor, by[0].rest, by[1]
        return None


def _is_of_short_arrays(rest: Form) -> bool:
    """Whether a number is negative unless arrays have very few elements: it is less the longer they are."""
    factors = [rest.coefficient(symbol) for symbol in rest.symbols()]
    extents = all(symbol.dim is not None for symbol in rest.symbols())
    return extents and rest.constant <= ONE.constant and all(f.is_constant and f.constant < 0 for f in factors)
