"""Which axes of which arrays are distributed among ranks, and along which axis of the grid of ranks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

from adc.ir import kinds, ops
from adc.ir.arith import constant_of
from adc.ir.core import UNKNOWN, Block, Func, Op, Value
from adc.ir.diagnostics import CompileTypeError
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import inside, with_inner
from adc.ir.opdef import OpDef
from adc.ir.partitions import NONE
from adc.ir.types import MemRefType
from adc.passes.analysis.affine import Form, Forms
from adc.passes.analysis.effects import Effects, Memory

NEAR = 8
"""By how many elements an allocated array may be shorter or longer than the grid."""

AXES = "adc.axes"
"""Attribute of a parameter: for each of its axes the axis of the grid, or ``NONE``."""


@dataclass(frozen=True)
class Shared:
    """Which parameters are arrays with the extents of the grid: the name of each, and for each of its axes that of the
    grid (or ``NONE``) and by how much it is longer than the grid there. ``cut``: the axes along which there are several
    ranks. ``grid``: the number of axes of the grid. ``replicate``: whether all ranks run all of what cannot be cut."""

    parameters: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]
    cut: tuple[int, ...]
    grid: int
    replicate: bool = False


Axis = tuple[int, Form]
"""The axis of the grid, and the extent in terms of that of one argument."""


class Layouts:
    """The layouts of the arrays of one function, by their extents: an array is cut like the arguments that have its
    extents, or nearly."""

    def __init__(self, func: Func, forms: Forms, memory: Memory, cut: Collection[int]) -> None:
        """``cut``: the axes of the grid that are considered."""
        self.forms = forms
        self._cut = cut
        self._func = func
        self._memory = memory
        self._args = set(func.args)
        self._known: dict[Value, tuple[Axis, ...]] = {}
        self._given: dict[Value, tuple[Axis, ...]] = {}
        self._asked: set[Value] = set()  # arrays whose axes are being found
        self._assumed = False  # whether their axes are taken to be like those found before
        self._base: dict[int, Form] = {}  # the extents of the grid
        self._like: list[tuple[int, Form, int]] = []  # extents that equal them, and how much longer they are
        for arg, attrs in zip(func.args, func.arg_attrs, strict=True):
            if AXES not in attrs:
                continue
            found: list[Axis] = []
            for d, (axis, more) in enumerate(attrs[AXES]):
                extent = forms.extent(arg, d)
                axis = axis if axis in cut else NONE
                if axis != NONE:
                    base = self._base.setdefault(axis, extent - more)
                    self._like.append((axis, extent, more))
                    extent = base + more
                found.append((axis, extent))
            self._given[arg] = tuple(found)

    def share(self, array: Value, axis: int) -> None:
        """Let an array that a pass has made be cut along its only axis."""
        self._given[array] = ((axis, self.forms.extent(array, 0)),)

    def of(self, array: Value) -> tuple[int, ...]:
        """The axes of an array that is not a view."""
        return tuple(axis for axis, _ in self._axes(array))

    def extent(self, array: Value, d: int) -> Form:
        return self._axes(array)[d][1]

    def is_shared(self, array: Value) -> bool:
        return any(axis != NONE for axis in self.of(array))

    def shares(self, value: Value) -> bool:
        """Whether a value is an array that is distributed, or a view of one."""
        return isinstance(value.type, MemRefType) and self.is_shared(underneath(value)[0])

    def may_share(self, value: Value) -> bool:
        """Whether a value may be such an array; for what a call may return, this is not asked."""
        if not isinstance(value.type, MemRefType):
            return False
        roots = self._memory.roots(underneath(value)[0])
        known = [root for root in roots if root in self._args or (root.op is not None and root.op.opdef is ops.alloc)]
        return any(axis != NONE for root in known for axis, _ in self._of_root(root))

    def touches(self, op: Op) -> bool:
        """Whether an operation, or one inside, takes such an array."""
        return any(self.shares(v) for inner in with_inner(op) for v in inner.operands)

    def may_be_one(self, a: Value, b: Value) -> bool:
        """Whether two arrays may be the same memory."""
        return self._memory.may_overlap(a, b)

    def effects(self, op: Op) -> Effects:
        return self._memory.effects(op)

    def roots(self, array: Value) -> frozenset[Value]:
        return self._memory.roots(array)

    def written(self, block: Block) -> frozenset[Value]:
        """The arrays that a block of operations may write to, of those that are visible from outside."""
        effects = [self._memory.effects(op) for op in block.ops]
        if any(e.everything for e in effects):
            return frozenset(self._args)
        return frozenset().union(*(e.writes for e in effects))

    @cached_property
    def _views_carried(self) -> frozenset[Value]:
        """The memory under views that loops and branches carry, which are not known to be views there."""
        found: frozenset[Value] = frozenset()
        for op in self._func.walk():
            if op.opdef in VIEWS_OF and not is_same(op) and any(_is_carried(*use) for use in op.result.uses):
                found |= self._memory.roots(op.result)
        return found

    def _axes(self, array: Value) -> tuple[Axis, ...]:
        known = self._known.get(array)
        if known is not None:
            return known
        if array in self._asked:
            self._assumed = True
            raise _Asked
        roots = self._memory.roots(array)
        if array not in roots and not self._views_carried.isdisjoint(roots):
            raise _unclear(array)
        first = not self._asked
        if first:
            self._assumed = False
        self._asked.add(array)
        try:
            found = self._of_roots(array, roots)
        finally:
            self._asked.discard(array)
        if first or not self._assumed:
            self._known[array] = found
        if first and self._assumed and self._of_roots(array, roots) != found:
            del self._known[array]
            raise _unclear(array)
        return found

    def _of_roots(self, array: Value, roots: frozenset[Value]) -> tuple[Axis, ...]:
        """The axes of an array that is one of several. Axes whose extents are its own are like those of the others."""
        assert isinstance(array.type, MemRefType)
        if not roots:  # what has no value, in a branch that gives none: nobody has any of it
            return tuple((NONE, self.forms.extent(array, d)) for d in range(array.type.rank))
        found = []
        for root in roots:
            try:
                found.append(self._of_root(root))
            except _Asked:
                continue
        if not found:
            raise _Asked if len(self._asked) > 1 else _unclear(array)
        axes: list[Axis] = []
        for d, each in enumerate(zip(*found, strict=True)):
            if all(axis == NONE for axis, _ in each):
                axes.append((NONE, self.forms.extent(array, d)))
            elif all(axis == each[0] for axis in each):
                axis, extent = each[0]
                seen = all(_is_seen(symbol.value, array) for symbol in extent.symbols())
                axes.append((axis, extent if seen else self.forms.extent(array, d)))
            else:
                raise _unclear(array)
        return tuple(axes)

    def _of_root(self, array: Value) -> tuple[Axis, ...]:
        if array in self._given:
            return self._given[array]
        assert isinstance(array.type, MemRefType)
        holds = isinstance(array.type, MemRefType) and isinstance(array.type.element, MemRefType)
        if array in self._args or holds:  # every rank has all of an array of arrays
            return tuple((NONE, self.forms.extent(array, d)) for d in range(array.type.rank))
        if array.op is not None and array.op.opdef is ops.call and not self._takes_shared(array.op):
            return tuple((NONE, self.forms.extent(array, d)) for d in range(array.type.rank))
        grows = array.op is not None and array.op.opdef is ops.grow and array.type.rank == 1
        if grows:  # a list of numbers: one for each step, say
            return ((NONE, self.forms.extent(array, 0)),)
        if array.op is None or array.op.opdef is not ops.alloc:
            raise _unclear(array)
        found: list[Axis] = []
        above = NONE
        for d in range(array.type.rank):
            extent = self._as_of_others(self.forms.extent(array, d))
            best = self._nearest(extent, above)
            coarse = self._fraction_of(self._unclipped(extent))
            if best is not None:
                axis, more = best
                above, extent = axis, self._base[axis] + more
                found.append((axis, extent))
            elif coarse is not None and coarse > above:
                above = coarse
                found.append((coarse, self._unclipped(extent)))
            else:
                found.append((NONE, extent))
        return tuple(found)

    def _as_of_others(self, extent: Form) -> Form:
        """An extent in terms of those of arguments, if it is made of extents of arrays that time loops carry."""
        for symbol in extent.symbols():
            if symbol.dim is None or symbol.value in self._given or symbol.value in self._args:
                continue
            try:
                axis, found = self._axes(symbol.value)[symbol.dim]
            except CompileTypeError:
                continue
            if axis != NONE and found != Form.symbol(symbol):
                return self._as_of_others(extent.substitute(symbol, found))
        return extent

    def clipped(self, array: Value) -> list[tuple[Form, Form]]:
        """For an allocated array, pairs of extents and what they are taken to be, if these may differ for very short
        arrays."""
        found = []
        for d, (axis, extent) in enumerate(self._axes(array)):
            given = self.forms.extent(array, d)
            if axis != NONE and given != extent and not self._is_max_of(given, extent):
                found.append((given, extent))
        return found

    def _is_max_of(self, extent: Form, of: Form) -> bool:
        """Whether an extent is ``max(of, c)`` for a constant ``c`` that is not positive."""
        symbols = list(extent.symbols())
        op = symbols[0].value.op if len(symbols) == 1 and symbols[0].dim is None else None
        if op is None or op.opdef is not ops.maxsi or extent != Form.symbol(symbols[0]):
            return False
        pairs = (op.operands, op.operands[::-1])
        return any(_is_not_positive(constant_of(b)) and self.forms.of(a) == of for a, b in pairs)

    def _unclipped(self, extent: Form) -> Form:
        """An extent as it is for arrays that are not very short: without limits that keep it from being negative, or
        greater than another extent that it is always less than."""
        for symbol in extent.symbols():
            op = symbol.value.op
            if symbol.dim is not None or op is None or op.opdef not in (ops.maxsi, ops.minsi):
                continue
            a, b = (self._unclipped(self._as_of_others(self.forms.of(v))) for v in op.operands)
            if op.opdef is ops.maxsi and b.is_constant and b.constant <= 0:
                return self._unclipped(extent.substitute(symbol, a))
            if op.opdef is ops.maxsi and a.is_constant and a.constant <= 0:
                return self._unclipped(extent.substitute(symbol, b))
            others = [y for x, y in zip(op.operands, (b, a), strict=True) if self._is_limit(x, y, of=op.opdef)]
            if others:
                return self._unclipped(extent.substitute(symbol, others[0]))
            if (a - b).is_constant:
                less = ((a - b).constant < 0) == (op.opdef is ops.minsi)
                return self._unclipped(extent.substitute(symbol, a if less else b))
            for one, many in ((a, b), (b, a)):
                # The least of one and an extent of the grid, which has no axis without elements.
                if op.opdef is ops.minsi and one.is_constant and one.constant <= 1 and self._is_like_grid(many):
                    return self._unclipped(extent.substitute(symbol, one))
        return extent

    def _is_limit(self, value: Value, other: Form, *, of: OpDef) -> bool:
        """Whether the greater of a value and another one (``of``), or the lesser, is always the other: ``max(min(x, 2),
        x)`` is ``x``."""
        op = value.op
        if op is None or op.opdef is not (ops.minsi if of is ops.maxsi else ops.maxsi):
            return False
        rests = [self._unclipped(self._as_of_others(self.forms.of(v))) - other for v in op.operands]
        sign = 1 if of is ops.maxsi else -1
        return any(rest.is_constant and sign * rest.constant <= 0 for rest in rests)

    def _is_like_grid(self, extent: Form) -> bool:
        return any((extent - given).is_constant for _, given, _ in self._like)

    def _takes_shared(self, call: Op) -> bool:
        return any(isinstance(v.type, MemRefType) and self.is_shared(underneath(v)[0]) for v in call.operands)

    def _fraction_of(self, extent: Form) -> int | None:
        """The axis of the grid of which an extent is about a fraction, such as a half, or a half of that: a coarser
        grid is distributed in proportion."""
        if len(extent.symbols()) != 1:
            return None
        (symbol,) = extent.symbols()
        op = symbol.value.op
        if symbol.dim is not None or op is None or op.opdef not in (ops.floordivsi, ops.ceildivsi):
            return None
        by, rest = constant_of(op.operands[1]), extent - Form.symbol(symbol)
        if not isinstance(by, int) or by < 2 or not rest.is_constant or abs(rest.constant) > NEAR:
            return None
        of = self._unclipped(self._as_of_others(self.forms.of(op.operands[0])))
        for axis, given, more in self._like:
            if (of - given).is_constant and abs((of - given).constant + more) <= NEAR:
                return axis
        return self._fraction_of(of)

    def _nearest(self, extent: Form, above: int) -> tuple[int, int] | None:
        """The axis of the grid whose extent is nearest, among those after ``above``, and by how much this one is
        longer."""
        found = []
        for axis, given, more in self._like:
            rest = self._unclipped(extent) - given
            if axis > above and rest.is_constant and extent.symbols() and abs(rest.constant + more) <= NEAR:
                found.append((abs(rest.constant + more), axis, rest.constant + more))
        return min(found)[1:] if found else None


class _Asked(Exception):
    """Raised if the axes of an array depend on themselves."""


def _is_not_positive(value: object) -> bool:
    return isinstance(value, int) and value <= 0


def mark_shadows(func: Func) -> bool:
    """Mark shadows of parameters as distributed like the parameters. Returns whether any is."""
    for attrs in func.arg_attrs:
        of = attrs.get("adc.shadow")
        if isinstance(of, int) and AXES in func.arg_attrs[of]:
            attrs[AXES] = func.arg_attrs[of][AXES]
    return any(AXES in attrs for attrs in func.arg_attrs)


def _is_seen(value: Value, at: Value) -> bool:
    """Whether a value is computed around where another one is, not in a branch, say, that gives that."""
    around = value.block.parent_op if value.block is not None else None
    return around is None or inside(at, around)


def _is_carried(user: Op, position: int) -> bool:
    """Whether an operand is not only used but goes into a loop, out of a region, or into memory."""
    if user.opdef is ops.store:
        return position == 0
    ends = user.parent is not None and user.parent.ops and user.parent.ops[-1] is user
    return bool(user.regions or user.opdef is ops.select or (ends and user.opdef is not ops.return_))


def _unclear(array: Value) -> Exception:
    return kinds.NOT_DISTRIBUTED(
        "it cannot be told how this array is distributed among the ranks",
        array.op.loc if array.op is not None else UNKNOWN,
        help="use arrays of one shape where you exchange them",
    )


def underneath(array: Value) -> tuple[Value, list[Op]]:
    """The array that a view is of, and the views, the last first."""
    views: list[Op] = []
    while array.op is not None and array.op.opdef in VIEWS_OF:
        views.append(array.op)
        array = array.op.operands[0]
    return array, views


VIEWS_OF = (ops.subview, ops.transpose, ops.cast, ops.reshape, ops.reinterpret_cast)


def is_same(view: Op) -> bool:
    """Whether a view has the elements of its base under the same subscripts."""
    return view.opdef is ops.cast or (view.opdef is ops.reshape and all(g == (1, 1) for g in view.attrs["groups"]))


def subscripts(forms: Forms, views: Sequence[Op], given: Sequence[Value]) -> list[Form] | None:
    """The subscripts of the array underneath ``views``, for those of the last view; None if there are none."""
    found = [forms.of(v) for v in given]
    for view in views:
        if view.opdef is ops.subview:
            rank, dropped = len(view.attrs["static_steps"]), view.attrs["dropped"]
            offsets, steps = view.operands[1 : 1 + rank], view.operands[1 + 2 * rank :]
            rest = iter(found)
            found = [
                forms.of(offset) if d in dropped else forms.of(offset) + next(rest) * forms.of(step)
                for d, (offset, step) in enumerate(zip(offsets, steps, strict=True))
            ]
        elif view.opdef is ops.transpose:
            before = dict(zip(view.attrs["permutation"], found, strict=True))
            found = [before[d] for d in range(len(found))]
        elif not is_same(view):
            return None
    return found
