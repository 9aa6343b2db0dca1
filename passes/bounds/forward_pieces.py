"""Arrays that are put together from pieces, and read at places that follow from counters: what reads them takes the
elements from where the pieces came from.

    up = np.empty(n)                            for i in range(n):
    up[:1] = u[:1]                                  left = u[0] if i < 1 else u[i - 1]
    up[1:] = u[:-1]                                 v[i] = u[i] - left
    for i in range(n): v[i] = u[i] - up[i]

So are neighbours that ``np.concatenate`` moves, and margins: of zeros, or of copies in the rows and columns around an
array (ghost cells), made in each step anew. Each read becomes a choice between the pieces by its subscripts, the one
that was written last first. Most of these conditions hold always or never; at the others the loops are cut
(``split-index-sets``). A piece that is thin (a row of an array) may be computed, others are copies.

The pieces must be written in one block, before all reads in it, and what they were copied from must not change
meanwhile. If that block is a loop's, and the array outlives it, the pieces are the same boxes each time, so that other
elements are those with which the array was filled in front of the loop.

Reference: Gao, Olsen, Sarkar and Thekkath, Collective loop fusion for array contraction, Languages and Compilers for
Parallel Computing 1992; Griebl, Feautrier and Lengauer, Index set splitting, 2000.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, constant_of
from adc.ir.builder import insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.moments import strip_views
from adc.ir.nesting import enclosing, having, inside, place_in
from adc.ir.rewrite import clone_op
from adc.ir.types import MemRefType, i1, index
from adc.passes.analysis.cold import is_unlikely
from adc.passes.analysis.conditions import decide_order
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.integers import EXTREMES, Integers
from adc.passes.analysis.kinds import COUNTED
from adc.passes.analysis.linear import Linear
from adc.passes.bounds.pieces import Array, Piece, put_together
from adc.passes.bounds.split_index_sets import MAX_INNER_CUTS, NEAR, materialise, may_be_parallel
from adc.passes.building import chosen
from adc.passes.memory.forward_elements import LONG
from adc.passes.rewrite import put_instead

_Cut = tuple[Op, frozenset[tuple[Value, int]], int]

MOST_CHOICES = 32
"""Pieces that all reads of an array choose between, where that is not known beforehand."""


def in_pieces(module: Module) -> list[str]:
    """The functions that may put arrays together from pieces: their views and conditions are cleaned up before."""
    found = []
    for name, func in module.funcs.items():
        writers: Counter[Value] = Counter()
        readers: set[Value] = set()
        for op in func.walk():
            if op.opdef is ops.load:
                readers.add(strip_views(op.operands[0]))
            elif op.opdef in (ops.store, ops.fill):
                writers[strip_views(op.operands[1])] += 1
        arrays = (v for v, count in writers.items() if count > 1 and v in readers)
        if any(v.op is not None and v.op.opdef is ops.alloc for v in arrays):
            found.append(name)
    return found


@dataclass(frozen=True)
class ForwardPieces:
    """Read the elements of arrays that were put together from pieces where the pieces came from, if the loops that read
    them can be cut so that it is known which piece is read. Nests that are ``alone`` stay as they are."""

    name: ClassVar[str] = "forward-pieces"
    needs = frozenset({ops.alloc})
    alone: Callable[[Op], bool] | None = None

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            integers = Integers()
            for alloc in [op for op in func.walk() if op.opdef is ops.alloc]:
                while (array := put_together(alloc)) is not None:
                    choices = [_Choice(array, load, integers) for load in array.loads]
                    if not _pays(choices, self.alone) or not _stays(func, array, summaries):
                        break
                    for choice in choices:
                        choice.write()
                    integers = Integers()  # the old one has forms of loads that are gone
        return module


def _stays(func: Func, array: Array, summaries: Summaries) -> bool:
    """Whether what the pieces were made from is unchanged at the last read."""
    memory = Memory.asked(func, summaries)
    order = array.order
    end = max(order[place] for load in array.loads if (place := place_in(array.block, load)) is not None)
    return not any(
        memory.may_overwrite(op, source)
        for piece in array.pieces
        for source in piece.sources
        for op in array.block.ops[order[piece.place] : end + 1]
    )


@dataclass(frozen=True)
class _Test:
    """Whether ``subscript`` is at least ``limit`` (``least``), or less."""

    subscript: Value
    limit: Linear
    least: bool

    def form(self, integers: Integers) -> Linear:
        """What is not negative where the test holds."""
        apart = integers.linear(self.subscript, exact=True).plus(self.limit, -1)
        return apart if self.least else apart.times(-1).plus_number(-1)

    def write(self) -> Value:
        return ops.cmpi(self.subscript, materialise(self.limit), predicate="sge" if self.least else "slt")


@dataclass
class _Choice:
    """The pieces that a load may read, the last one first, each with the tests that are left to make."""

    array: Array
    load: Op
    integers: Integers
    options: list[tuple[Piece, list[_Test | tuple[Value, bool]]]] = field(default_factory=list)
    known: bool = True

    def __post_init__(self) -> None:
        self.loops = [op for op in enclosing(self.load.parent) if op.opdef in COUNTED]
        place = place_in(self.array.block, self.load)
        self.inner = [op for op in self.loops if op is place or (place is not None and place in enclosing(op.parent))]
        pieces = self.array.pieces
        order = self.array.order
        at = order[place] if place is not None else 0
        own = sum(order.get(piece.place, -1) < at for piece in pieces)
        later = [self._tests(piece) is not None for piece in pieces[own:]]
        self.known = not (any(later[:1]) and pieces[own].place is place)  # else it would be read where it is written
        for piece in pieces[:own][::-1]:
            if self.array.carried and any(later) and piece.place.parent is not self.array.block:
                self.known = False  # it may be of the iteration before
            tests = self._tests(piece)
            if tests is not None:
                self.options.append((piece, tests))
                if not tests:
                    return
        self.known = self.known and not (self.array.carried and any(later))

    def _holds(self, form: Linear) -> bool:
        return self.integers.holds(form, self.loops)

    def _tests(self, piece: Piece) -> list[_Test | tuple[Value, bool]] | None:
        """The tests whether the load reads the piece; None if it does not."""
        left: list[_Test | tuple[Value, bool]] = []
        for condition, side in piece.conditions:
            known = self._known(condition)
            if known is None:
                left.append((condition, side))
            elif known is not side:
                return None
        for dim, part in enumerate(piece.box or ()):
            subscript = self.load.operands[1 + dim]
            extent = self._extent(dim)
            for limit, least in ((part.lower, True), (part.upper, False)):
                limit = self._resolved(limit)
                if self._holds(limit.times(-1) if least else limit.plus(extent, -1)):
                    continue  # the load is within the array
                test = _Test(subscript, limit, least)
                form = self._resolved(test.form(self.integers))
                if self._holds(form):
                    continue
                if self._holds(form.times(-1).plus_number(-1)):
                    return None
                left.append(test)
        return left

    def _extent(self, dim: int) -> Linear:
        extents = iter(self.array.alloc.operands)
        memref = self.array.alloc.result.type
        assert isinstance(memref, MemRefType)
        each = [next(extents) if n is None else n for n in memref.shape]
        found = each[dim]
        return Linear({}, found) if isinstance(found, int) else self._resolved(self.integers.linear(found, exact=True))

    def _resolved(self, form: Linear) -> Linear:
        """The same number where the load is, without extremes whose operands are in order there."""
        for v in form.terms:
            if v.op is None or v.op.opdef not in EXTREMES:
                continue
            a, b = (self.integers.linear(x, exact=True) for x in v.op.operands)
            for x, y in ((a, b), (b, a)):
                if self._holds(x.plus(y, -1) if v.op.opdef is ops.maxsi else y.plus(x, -1)):
                    return self._resolved(form.without(v).plus(x, form.terms[v]))
        return form

    def _known(self, condition: Value) -> bool | None:
        op = condition.op
        if op is None or op.opdef is not ops.cmpi or op.operands[0].type != index:
            return None
        predicate, (a, b) = op.attrs["predicate"], op.operands
        ordered = predicate in ("slt", "sle", "sgt", "sge")
        return decide_order(predicate, a, b, self._proves_ge) if ordered else None

    def _proves_ge(self, a: Value, b: Value, margin: int) -> bool:
        x, y = (self.integers.linear(v, exact=True) for v in (a, b))
        return self._holds(x.plus(y, -1).plus_number(-margin))

    @property
    def is_rare(self) -> bool:
        """Whether the load is in code for rare cases, where tests may be made."""
        assert self.load.parent is not None
        return is_unlikely(self.load.parent)

    def cuts(self) -> set[_Cut] | None:
        """Where loops have to be cut in the middle so that no test is left; None if that is not possible."""
        found: set[_Cut] = set()
        if not self.inner:
            return found
        for test in (test for _, tests in self.options for test in tests):
            if not isinstance(test, _Test):
                return None
            form = self._resolved(test.form(self.integers))
            loops = [loop for loop in self.inner if loop.regions[0].args[0] in form.terms]
            if len(loops) != 1 or constant_of(loops[0].operands[2]) != 1:
                return None
            (loop,) = loops
            counter = loop.regions[0].args[0]
            sign, rest = form.terms[counter], form.without(counter)
            if sign not in (1, -1) or any(inside(v, loop) for v in rest.terms):
                return None
            if not may_be_parallel(loop, self.integers):
                return None
            at = rest.times(-sign).plus_number(sign == -1)
            lower, upper = (self.integers.linear(v, exact=True) for v in loop.operands[:2])
            trips = upper.plus(lower, -1)
            if not trips.terms and trips.constant <= NEAR:
                return None  # it is too short to be cut
            ends = (at.plus(lower, -1), upper.plus(at, -1))
            if not any(not end.terms and end.constant <= NEAR for end in ends):
                found.add((loop, frozenset(at.terms.items()), at.constant))
        return found

    def write(self) -> None:
        """Put the choice in the place of the load."""
        code = Block()
        with insert_at(code, self.load.loc):
            value = self._written(self.options)
        self.load.result.replace_uses(value)
        put_instead(self.load, list(code.ops))
        self.load.drop()

    def _written(self, options: Sequence[tuple[Piece, list[_Test | tuple[Value, bool]]]]) -> Value:
        if not options:  # np.empty: it is not written
            return const(0, self.load.result.type)
        (piece, tests), *others = options
        if not tests:
            return self._element(piece)
        condition: Value | None = None
        for test in tests:
            one = test.write() if isinstance(test, _Test) else _as_said(*test)
            condition = one if condition is None else ops.andi(condition, one)
        assert condition is not None
        return chosen(condition, lambda: [self._element(piece)], lambda: [self._written(others)])[0]

    def _element(self, piece: Piece) -> Value:
        mapping: dict[Value, Value] = {}
        for dim, part in enumerate(piece.box or ()):
            if part.counter is not None:
                subscript, offset = self.load.operands[1 + dim], self._resolved(part.offset)
                own = not offset.terms and not offset.constant
                mapping[part.counter] = subscript if own else ops.subi(subscript, materialise(offset))
        for op in piece.made:
            clone_op(op, mapping)
        return mapping.get(piece.value, piece.value)


def _as_said(condition: Value, side: bool) -> Value:
    return condition if side else ops.xori(condition, const(True, i1))


def _pays(choices: Sequence[_Choice], alone: Callable[[Op], bool] | None) -> bool:
    """Whether no test is left in loops after these are cut, a few times at most, and there is little code in them."""
    if not all(choice.known for choice in choices):
        return False
    if sum(len(choice.options) for choice in choices) > MOST_CHOICES:
        return False
    cuts: set[_Cut] = set()
    for choice in choices:
        if choice.is_rare:
            continue
        own = choice.cuts()
        if own is None or (alone is not None and any(map(alone, choice.inner))):
            return False
        if choice.inner and sum(1 for _ in choice.inner[-1].regions[0].walk()) > LONG:
            return False
        cuts |= own
    loops = [loop for loop, *_ in cuts]
    return all(loops.count(loop) <= MAX_INNER_CUTS for loop in loops)
