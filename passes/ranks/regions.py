"""What code that each rank runs for its own elements reads of those of others.

Of a store into an array that is shared out, a rank needs the elements that are its own to be right; what it computes
beyond does not matter, as nobody reads it before it is fetched from its owner. So for each store, and each load that
its value depends on, the region is what the rank's own elements take: the subscripts of the load, for the iterations
whose subscript of the store is in the rank's block.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Op
from adc.ir.nesting import enclosing, inside
from adc.ir.partitions import FAR, NONE
from adc.passes.analysis.affine import Form
from adc.passes.analysis.kinds import COUNTED
from adc.passes.ranks.accesses import MOST_CHOICES, ONE, Access, Accesses, Apart, Moved
from adc.passes.ranks.dependences import Dependences
from adc.passes.ranks.layouts import Layouts

FEW = 8
"""How many iterations every rank may do."""

Along = tuple[int, Form, int, Form, Form, Form, int, Form]
"""What is read along one axis of an array: see ``adc.ir.partitions.Partition``."""

Guard = tuple[int, Form, Form, Form]


@dataclass(frozen=True)
class Box:
    guards: tuple[Guard, ...]
    axes: tuple[Along, ...]


def whole_axis(extent: Form) -> Along:
    zero = Form.ZERO
    return NONE, extent, 1, zero, zero, extent, 1, zero


class Nest(Accesses):
    """A loop nest, or a single operation, that is to be run for a rank's own elements."""

    def __init__(self, op: Op, layouts: Layouts) -> None:
        super().__init__(op, layouts)
        self.around: list[list[Apart]] = []  # what has to hold for what is found: of each list, one

    # What depends on what ---------------------------------------------------------------------------------------------

    def behind_store(self, store: Access) -> list[Access]:
        """The loads that what a store does depends on."""
        behind = Dependences(self, enclosing(store.op.parent), self.around)
        return behind.of([*store.op.operands, *self.deciding(store.op)])

    def behind_results(self) -> list[Access]:
        """The loads that the results of the nest depend on."""
        behind = Dependences(self, (), self.around)
        return behind.of([v for region in self.op.regions for v in region.terminator.operands])

    # Regions ----------------------------------------------------------------------------------------------------------

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
        if self.order[load.op] < self.order[store.op] and self._meet_in_one_iteration(load, store):
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

    def _cut(self, store: Access, loop: Op) -> tuple[int, Form, int, Form] | None:
        for d, axis in enumerate(self.layouts.of(store.array)):
            if axis == NONE or store.at is None:
                continue
            by = self.moved(store.at[d])
            if isinstance(by, Moved) and by.loop is loop and by.factor > 0 and self.is_visible(by.rest):
                return axis, self.layouts.extent(store.array, d), by.factor, by.rest
        return None
