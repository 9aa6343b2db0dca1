"""Arrays that are filled once and read in one place: there the element is computed instead (array contraction).

``values @ x[columns]`` needs an array of what it gathers, and ``(x - x.mean()) / x.std()`` one of differences. Neither
is necessary if each element is read only once: what reads it can gather, or subtract, itself. It is not kept for a
reverse sweep then either, which can do so again. Nor is an array necessary of sums that are read once each, such as the
squared distances in ``np.min(np.sum((x[:, None] - y) ** 2, axis=2), axis=1)``: the sum moves into the loop that reads
it.

Copies with other subscripts (arrays with margins, what ``np.roll`` makes) are read in any number of places, and so are
arrays of subscripts that follow from counters: what reads them computes the subscript, and loops are cut where it has
a bound or a remainder (``split-index-sets``).

The array must be filled by a nest of loops that goes through all of its elements, one by one. What is stored must be
made from loads, of memory that nobody writes before the last look at the array, by a few operations, or by loops of
such operations that go along rows. (Loops along columns are SIMD over the elements, and would be no longer.)

Reference: Gao, Olsen, Sarkar and Thekkath, Collective loop fusion for array contraction, Languages and Compilers for
Parallel Computing 1992.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.builder import insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, having, inside, place_in
from adc.ir.rewrite import clone_op, used_from_outside
from adc.ir.types import IndexType, IntType
from adc.passes.analysis.affine import Forms
from adc.passes.analysis.costs import cost_of, executions
from adc.passes.analysis.effects import Memory, Summaries
from adc.passes.analysis.integers import Integers
from adc.passes.analysis.kinds import COUNTED, LOOPS, PURE, STRUCTURED, TERMINATORS
from adc.passes.rewrite import put_instead

CHEAP = 10.0
"""What an element may cost to compute: two loads, one through the other, and a wrapped subscript."""

CHEAP_ONCE = 40.0
"""What it may cost if each element is read but once, and is no value of a function: nothing is computed again then, and
the array need be neither stored nor kept."""

AS_A_LOAD = 3.0
"""What it may cost in a loop that reads it again and again: one operation, beside loads from the cache."""

CHEAP_TWICE = 6.0
"""What it may cost if one iteration reads two elements: a difference of two loads, as in differences of differences."""

LONG = 100
"""Operations of a nest, several copies of which are too much code."""

_READING = PURE | STRUCTURED | TERMINATORS | {ops.load}


@dataclass(frozen=True)
class ForwardElements:
    """Compute elements of arrays where they are read, if that is in one place, and they are cheap or are read once;
    very cheap ones also where one iteration reads two; those of copies, and subscripts, wherever they are read.
    Nests that are ``alone`` stay as they are."""

    name: ClassVar[str] = "forward-elements"
    needs = frozenset({ops.alloc})
    alone: Callable[[Op], bool] | None = None

    def run(self, module: Module) -> Module:
        summaries = Summaries.asked(module)
        for func in having(module, self.needs):
            allocs = [op for op in func.walk() if op.opdef is ops.alloc]
            for alloc in allocs:  # the first one first: copies of copies are copies
                found = _copied(func, alloc, summaries)
                if found is not None:
                    _forward(*found)
            for alloc in allocs[::-1]:  # the last one first: in differences of differences, each is cheap by itself
                found = forwardable(func, alloc, summaries, self.alone)
                if found is None:
                    continue
                filled, _ = found
                _forward(*found)
                if self.alone is not None and filled.alone and any(map(self.alone, func.walk())):
                    put_instead(filled.nest, [])  # so that products may be read in one place (``version-products``)
                    filled.nest.drop()
        return module


@dataclass(frozen=True)
class Filled:
    """How an array is filled. ``nest`` is in the array's block; ``counters``: those of its loops, by dimension;
    ``made``: the operations that compute what is stored, ``value``."""

    nest: Op
    counters: Mapping[int, Value]
    value: Value
    made: list[Op]

    @property
    def alone(self) -> bool:
        """Whether filling the array is all that the nest does."""
        return not self.nest.results and sum(op.opdef not in _READING for op in self.nest.regions[0].walk()) == 1

    @property
    def sums(self) -> bool:
        return any(op.regions for op in self.made)

    @property
    def cost(self) -> float:
        return sum(cost_of(op.opdef) for op in self.made)


def _forward(filled: Filled, loads: Sequence[Op]) -> None:
    """Compute the elements in place of ``loads``, after which nobody reads the array."""
    for load in loads:
        mapping = {counter: load.operands[1 + dim] for dim, counter in filled.counters.items()}
        copy = Block()
        with insert_at(copy, load.loc):
            for op in filled.made:
                clone_op(op, mapping)
        load.result.replace_uses(mapping.get(filled.value, filled.value))
        put_instead(load, list(copy.ops))
        load.drop()


def _only_uses(alloc: Op) -> tuple[Op, list[Op]] | None:
    """The only store into an array, and its loads, if it has no other uses."""
    users = [op for op, _ in alloc.result.uses]
    loads = [op for op in users if op.opdef is ops.load]
    stores = [op for op in users if op.opdef is ops.store and op.operands[1] is alloc.result]
    dims = sum(op.opdef is ops.dim for op in users)
    if not loads or len(stores) != 1 or len(users) != dims + len(loads) + 1:
        return None
    return stores[0], loads


def _copied(func: Func, alloc: Op, summaries: Summaries) -> tuple[Filled, list[Op]] | None:
    """How a copy is filled, and its loads, if what it is a copy of can be read there instead; else None."""
    uses = _only_uses(alloc)
    filled = None if uses is None else how_filled(alloc, uses[0], CHEAP_ONCE)
    if uses is None or filled is None or not _is_copy(filled):
        return None
    integers, loads = Integers(), uses[1]
    may = all(_cuts_read(alloc, load, integers) and stays(func, alloc, filled, load, summaries) for load in loads)
    return (filled, loads) if may else None


def forwardable(
    func: Func, alloc: Op, summaries: Summaries, alone: Callable[[Op], bool] | None = None
) -> tuple[Filled, list[Op]] | None:
    """How an array is filled, and its loads, if its elements should be computed there instead; else None."""
    uses = _only_uses(alloc)
    if uses is None:
        return None
    store, loads = uses
    load = loads[0]
    if len(loads) > 1 and any(op.parent is not load.parent for op in loads):
        return None
    once = len(loads) == 1 and _reads_once(load, alloc)
    cheap = CHEAP_ONCE if once else CHEAP if len(loads) == 1 else CHEAP_TWICE if len(loads) == 2 else 0.0
    filled = how_filled(alloc, store, cheap)
    if filled is None or not stays(func, alloc, filled, load, summaries):
        return None
    assert store.parent is not None and load.parent is not None
    around = next((op for op in enclosing(load.parent) if op.opdef in LOOPS), None)
    if around is None or around.opdef is not ops.parallel:
        return None  # a recurrence would wait for code that was SIMD
    if filled.sums:
        moves = len(loads) == 1 and len(filled.value.uses) == 1  # else it would be summed twice
        pays = moves and once and _are_rows(filled) and not _is_part(store, alone)
    elif executions(load.parent) > executions(store.parent):
        pays = len(loads) == 1 and _is_as_a_load(alloc, filled) and not _is_part(load, alone)
    else:
        pays = filled.cost <= CHEAP or not any(op.opdef.called for op in filled.made)
    return (filled, loads) if pays else None


def _is_copy(filled: Filled) -> bool:
    """Whether the elements are those of another array, at subscripts that are computed from the counters, or are such
    subscripts."""
    if filled.sums:
        return False
    loads = [op for op in filled.made if op.opdef is ops.load]
    if len(loads) == 1:
        return loads[0].result is filled.value
    return not loads and isinstance(filled.value.type, IntType | IndexType)


def _cuts_read(alloc: Op, load: Op, integers: Integers) -> bool:
    """Whether a load may read what the array is a copy of, at subscripts whose remainders and bounds vanish where the
    loops around the load are cut (``split-index-sets``), if these are short enough to be written several times."""
    assert load.parent is not None and alloc.parent is not None
    subscripts = [integers.linear(v, exact=True).terms for v in load.operands[1:]]
    if any(list(terms.values()) not in ([], [1]) for terms in subscripts):
        return False
    counters = {counter for terms in subscripts for counter in terms}
    for around in enclosing(load.parent):
        if around is alloc.parent.parent_op or not counters:
            break
        if around.opdef in COUNTED and around.regions[0].args[0] in counters:
            counters.remove(around.regions[0].args[0])
            if sum(1 for _ in around.regions[0].walk()) > LONG:
                return False
    return not counters


def how_filled(alloc: Op, store: Op, cheap: float) -> Filled | None:
    """How the store fills the array, if it certainly stores all elements, and these cost at most ``cheap``."""
    home = alloc.parent
    if len(alloc.operands) != len(store.operands) - 2:
        return None  # an extent is a constant in the type
    subscripts = list(store.operands[2:])
    counters: dict[int, Value] = {}
    block = store.parent
    nest: Op = store
    while block is not None and block is not home:
        loop = block.parent_op
        if loop is None or loop.opdef not in COUNTED or block.args[0] not in subscripts:
            return None
        dim = subscripts.index(block.args[0])
        lower, upper, step = loop.operands[:3]
        if constant_of(lower) != 0 or constant_of(step) != 1 or upper is not alloc.operands[dim]:
            return None
        counters[dim] = block.args[0]
        nest, block = loop, loop.parent
    if block is None or len(counters) != len(subscripts) or len(set(subscripts)) != len(subscripts):
        return None
    made = made_in(store.operands[0], nest)
    if made is None:
        return None
    filled = Filled(nest, counters, store.operands[0], made)
    return filled if filled.sums or filled.cost <= cheap else None


def made_in(value: Value, nest: Op) -> list[Op] | None:
    """The operations in ``nest`` that compute ``value``, in order; None if some are not loads or pure operations, or
    use what the loops carry. They are as well defined where they are repeated as they were here."""
    found: list[Op] = []

    def visit(value: Value) -> bool:
        op = value.op
        if not inside(value, nest):
            return True
        if op is None:
            return value.index == 0  # a counter
        if op in found:
            return True
        known = _only_reads(op) if op.regions else op.opdef is ops.load or op.opdef in PURE
        if not known or len(found) > CHEAP * 2 or not all(map(visit, used_from_outside([op]))):
            return False
        found.append(op)
        return True

    return found if visit(value) else None


def _only_reads(op: Op) -> bool:
    """Whether an operation contains only loads, pure operations, and loops and branches of such."""
    kinds = {inner.opdef for inner in (op, *(o for region in op.regions for o in region.walk()))}
    return kinds <= _READING


def _reads_once(load: Op, alloc: Op) -> bool:
    """Whether a load reads no element twice, and no function call in its block would be SIMD without it."""
    subscripts = load.operands[1:]
    assert load.parent is not None and alloc.parent is not None
    home = alloc.parent.parent_op
    if any(op.opdef.called for op in load.parent.ops):
        return False
    count = 0
    for around in enclosing(load.parent):
        if around is home:
            break
        if around.opdef in COUNTED:
            if around.regions[0].args[0] not in subscripts:
                return False
            count += 1
        elif around.opdef is not ops.if_:
            return False
    return count == len(set(subscripts)) == len(subscripts)


def _are_rows(filled: Filled) -> bool:
    """Whether the loops that make an element go along rows, if they go along anything."""
    forms = Forms()
    for op in (op for made in filled.made for region in made.regions for op in region.walk()):
        around = next(enclosing(op.parent))  # within what is made
        if op.opdef is ops.load and around.opdef in COUNTED:
            counter = forms.symbol(around.regions[0].args[0])
            steps = [forms.of(v).split(counter)[0] for v in op.operands[1:]]
            if any(not step.is_constant or step.constant != 0 for step in steps[:-1]):
                return False
    return True


def _is_part(access: Op, alone: Callable[[Op], bool] | None) -> bool:
    """Whether an access is in a nest that stays as it is."""
    around = [op for op in enclosing(access.parent) if op.opdef is ops.parallel]
    return alone is not None and any(map(alone, around))


def _is_as_a_load(alloc: Op, filled: Filled) -> bool:
    """Whether computing an element is as cheap as loading it, in a loop that makes the array again and again."""
    in_loop = any(around.opdef in LOOPS for around in enclosing(alloc.parent))
    return in_loop and sum(cost_of(op.opdef) for op in filled.made if op.opdef is not ops.load) <= AS_A_LOAD


def stays(func: Func, alloc: Op, filled: Filled, load: Op, summaries: Summaries) -> bool:
    """Whether the load comes after the nest, when everything that the nest read is still unchanged."""
    block = alloc.parent
    assert block is not None
    place = place_in(block, load)
    if place is None or place is filled.nest:
        return False
    start, end = block.ops.index(filled.nest), block.ops.index(place)
    if end < start:
        return False
    memory = Memory.asked(func, summaries)
    every = (o for op in filled.made for o in (op, *(inner for region in op.regions for inner in region.walk())))
    sources = [op.operands[0] for op in every if op.opdef is ops.load]
    return not any(memory.may_overwrite(op, source) for op in block.ops[start : end + 1] for source in sources)
