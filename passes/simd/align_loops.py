"""Innermost loops over rows of arrays start their SIMD part at the beginning of a cache line.

A vector as wide as a cache line that does not start at one lies in two of them, and takes twice as long to load or
store. Loops of stencils leave out the rim, so all their accesses are off by the same amount; LLVM does not take care of
this. Here the first few iterations, up to where most of the accesses are aligned, become a loop of their own
(Eichenberger, Wu and O'Brien, Vectorization for SIMD architectures with alignment constraints, PLDI 2004).

The number of these iterations follows from bounds and extents alone, as if arrays started at a cache line, which adc's
own do. So results do not depend on where an array is in memory. The number is the same for all rows, and computed
before the nest: zero if the length of rows is not a whole number of lines, since then each row is off by another
amount.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index, constant_of
from adc.ir.builder import insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import PEELED, REVERSE, TILES
from adc.ir.nesting import having, inside
from adc.ir.rewrite import clone_op
from adc.ir.types import MemRefType, scalar_bytes
from adc.passes.analysis.affine import nest_around
from adc.passes.analysis.cold import warm_regions
from adc.passes.analysis.kinds import ELEMENT, PURE, accessed
from adc.passes.analysis.machine import machine
from adc.passes.rewrite import put_before

LEAST = 256
"""Iterations; if there are fewer, the peeled ones take as long as is gained."""

_ACCESSES = frozenset({ops.load, ops.store})
WORTH = 5  # accesses that become aligned; stores count twice


@dataclass(frozen=True)
class AlignLoops:
    """Peel the first iterations off innermost parallel loops that are not on threads."""

    name: ClassVar[str] = "align-loops"
    needs = frozenset({ops.parallel})

    def run(self, module: Module) -> Module:
        for func in having(module, self.needs):
            _block(func.body)
        return module


def _block(block: Block) -> None:
    for op in list(block.ops):
        for region in warm_regions(op):
            _block(region)
        if op.opdef is ops.parallel and _fits(op):
            _peel(op)


def _fits(loop: Op) -> bool:
    if loop.results or not loop.attrs.keys() <= {REVERSE} or constant_of(loop.operands[2]) != 1:
        return False
    lower, upper = map(constant_of, loop.operands[:2])
    if lower is not None and upper is not None and upper - lower < LEAST:
        return False
    body = loop.regions[0].ops[:-1]
    return all(op.opdef in _ACCESSES or (op.opdef in PURE and is_quick(op)) for op in body)


def is_quick(op: Op) -> bool:
    """Whether an operation is not a function of the mathematics library. Such functions give other bits for a vector,
    and the peeled iterations would compute them one at a time."""
    return not op.opdef.called


@dataclass(frozen=True)
class _Access:
    """An access to the element ``shift`` after the loop's counter in a row of an array."""

    op: Op
    memref: Value
    shift: int

    @property
    def weight(self) -> int:
        return 2 if self.op.opdef is ops.store else 1

    @property
    def type(self) -> MemRefType:
        t = self.memref.type
        assert isinstance(t, MemRefType)
        return t

    @property
    def lanes(self) -> int:
        return machine().line_bytes // scalar_bytes(self.type.element)


def _accesses(loop: Op) -> Iterator[_Access]:
    """The accesses that go along rows of arrays without gaps."""
    for op in loop.regions[0].ops:
        if op.opdef not in ELEMENT:
            continue
        memref, *subscripts = accessed(op)
        t = memref.type
        assert isinstance(t, MemRefType)
        if t.strides is not None or not subscripts or not t.element.is_float or inside(memref, loop):
            continue
        shift = _shift(subscripts[-1], loop.regions[0].args[0])
        if shift is not None:
            yield _Access(op, memref, shift)


def _shift(subscript: Value, counter: Value) -> int | None:
    """The constant that is added to the counter."""
    if subscript is counter:
        return 0
    op = subscript.op
    if op is None or op.opdef is not ops.addi or op.operands[0] is not counter:
        return None
    number = constant_of(op.operands[1])
    return None if number is None else int(number)


def _peel(loop: Op) -> None:
    """Put a loop of the first iterations before ``loop``, if that aligns enough of its accesses."""
    groups: dict[tuple[int, int], list[_Access]] = {}
    weights: Counter[tuple[int, int]] = Counter()
    for access in _accesses(loop):
        kind = access.lanes, access.shift % access.lanes
        groups.setdefault(kind, []).append(access)
        weights[kind] += access.weight
    if not weights:
        return
    kind, weight = weights.most_common(1)[0]
    lanes, shift = kind
    lower, upper = loop.operands[:2]
    first = _residue(lower, lanes)
    if weight < WORTH or (first is not None and (first + shift) % lanes == 0):
        return
    access = max(groups[kind], key=lambda a: a.weight)
    nest = nest_around(loop, (lower, upper, access.memref))
    before, peeled = Block(), Block()
    with insert_at(before, nest.loc):
        start = _start(access, lower, upper)
    with insert_at(peeled, loop.loc):
        few = clone_op(loop, {})
    few.set_operand(1, start)
    few.set_attr(PEELED, True)
    loop.set_operand(0, start)
    put_before(nest, before.ops)
    put_before(loop, peeled.ops)


def _residue(lower: Value, lanes: int) -> int | None:
    """A number that differs from ``lower`` by a multiple of ``lanes``, if one is known."""
    owner = lower.owner
    blocks = owner.parent_op if isinstance(owner, Block) else None
    if blocks is not None and int(blocks.attrs.get(TILES, 1)) % lanes == 0:
        lower = blocks.operands[0]
    number = constant_of(lower)
    return None if number is None else int(number)


def _start(access: _Access, lower: Value, upper: Value) -> Value:
    """Where the loop should start: at ``lower``, or at the first aligned iteration after it."""
    less = const_index(access.lanes - 1)
    over = ops.andi(ops.addi(lower, const_index(access.shift)), less)
    missing = ops.andi(ops.subi(const_index(access.lanes), over), less)
    # The difference may wrap around, but not to something positive for a loop that has iterations.
    runs = ops.cmpi(lower, upper, predicate="slt")
    peels = ops.andi(runs, ops.cmpi(ops.subi(upper, lower), const_index(LEAST), predicate="sge"))
    if access.type.rank > 1:
        row = ops.dim(access.memref, dim=access.type.rank - 1)
        whole = ops.cmpi(ops.andi(row, less), const_index(0), predicate="eq")
        peels = ops.andi(peels, whole)
    return ops.addi(lower, ops.select(peels, missing, const_index(0)))
