"""Loops over rows of elements: ``for e in range(first[i], first[i + 1])``, as in compressed sparse rows.

Rows do not overlap if their limits never decrease. That is tested before the loop: a branch chooses between the loop
for disjoint rows and one that runs in sequence. This is an inspector, as in ``extremes``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from adc.ir import ops
from adc.ir.arith import const_index, constant_of, span
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import inside
from adc.ir.rewrite import clone_op
from adc.passes.analysis.affine import Form
from adc.passes.analysis.cold import COLD
from adc.passes.analysis.dependence import Access, Analysis
from adc.passes.building import parallel_extreme
from adc.passes.rewrite import to_sequential


@dataclass
class Rows:
    """Accesses to rows: that of iteration ``i`` lies between ``limits[i + offset]`` and the next of ``limits``."""

    loop: Op
    limits: Value
    offset: int
    accesses: list[Op] = field(default_factory=list)


def find_rows(analysis: Analysis, loop: Op, wanted: Iterable[Op]) -> list[Rows]:
    """Rows of elements to which the accesses ``wanted`` in ``loop`` are confined."""
    among = set(wanted)
    found: list[Rows] = []
    for access in analysis.accesses(loop).found:
        if access.op not in among:
            continue
        for limits, offset in _limits(analysis, access, loop):
            known = next((r for r in found if r.limits is limits and r.offset == offset), None)
            if known is None:
                found.append(known := Rows(loop, limits, offset))
            known.accesses.append(access.op)
    return found


def _limits(analysis: Analysis, access: Access, loop: Op) -> list[tuple[Value, int]]:
    """The array that holds the limits of the rows of ``access``, and its offset from the counter."""
    if access.where is None or constant_of(loop.operands[2]) != 1:
        return []
    found = []
    for low, high in access.where:
        around = _row_loop(analysis, low, loop) if low is high else None
        if around is None:
            continue
        counter, begin = around
        start = _place(analysis, begin, loop)
        end = _place(analysis, _end(analysis, counter, begin), loop)
        if start is not None and end is not None and end == (start[0], start[1] + 1):
            found.append(start)
    return found


def _row_loop(analysis: Analysis, subscript: Form, loop: Op) -> tuple[Op, Form] | None:
    """If a subscript is the counter of a loop inside ``loop`` plus something: that loop, and the first subscript."""
    for symbol in subscript.symbols():
        inner = symbol.loop
        if inner is None or inner is loop or not inside(symbol.value, loop):
            continue
        factor, rest = subscript.split(symbol)
        if factor.is_constant and factor.constant == 1 and constant_of(inner.operands[2]) == 1:
            return inner, rest + analysis.forms.of(inner.operands[0])
    return None


def _end(analysis: Analysis, inner: Op, begin: Form) -> Form:
    """The subscript after the last one of a loop that begins at ``begin``, if the loop has any iterations."""
    lower, upper = inner.operands[:2]
    op = upper.op
    if op is not None and op.opdef is ops.maxsi and constant_of(lower) == 0 and 0 in map(constant_of, op.operands):
        upper = next(v for v in op.operands if constant_of(v) != 0)
        lower, upper = span(upper) or (lower, upper)
    return begin + analysis.forms.of(upper) - analysis.forms.of(lower)


def _place(analysis: Analysis, limit: Form, loop: Op) -> tuple[Value, int] | None:
    """If every iteration of ``loop`` loads a form from an array that the loop does not change, at its counter plus a
    constant: the array and the constant."""
    symbols = limit.symbols()
    if len(symbols) != 1 or limit.degree != 1 or limit.constant:
        return None
    (symbol,) = symbols
    op = symbol.value.op
    if symbol.dim is not None or op is None or op.opdef is not ops.load or op.parent is not loop.regions[0]:
        return None
    if limit.coefficient(symbol).constant != 1 or len(op.operands) != 2 or inside(op.operands[0], loop):
        return None
    if not analysis.leaves(loop, op.operands[0]):
        return None
    distance = analysis.forms.of(op.operands[1]) - analysis.forms.of(loop.regions[0].args[0])
    return (op.operands[0], distance.constant) if distance.is_constant else None


def build_branch(rows: list[Rows]) -> tuple[Block, Block]:
    """Append a branch whose results replace the loop's. Returns its regions: one for the loop if rows do not overlap,
    so far with only a terminator, and one with the loop in sequence if they may."""
    loop = rows[0].loop
    condition = _in_order(rows[0])
    for more in rows[1:]:
        condition = ops.andi(condition, _in_order(more))
    then, otherwise = Block(), Block()
    with insert_at(Block(), loop.loc):
        copy = otherwise.append(to_sequential(clone_op(loop, {})))
    with insert_at(otherwise, loop.loc):
        build(ops.yield_, copy.results)
    branch = build(ops.if_, [condition], {COLD: "else"}, [r.type for r in loop.results], [then, otherwise])
    for old, new in zip(loop.results, branch.results, strict=True):
        new.hint = old.hint
        old.replace_uses(new)
    with insert_at(then, loop.loc):
        build(ops.yield_, loop.results)
    return then, otherwise


def _in_order(rows: Rows) -> Value:
    """Whether the limits never decrease where the loop loads them."""

    def falls(row: Value) -> Value:
        here = row + const_index(rows.offset) if rows.offset else row
        first, last = (ops.load(rows.limits, k) for k in (here, here + const_index(1)))
        return ops.select(ops.cmpi(last, first, predicate="slt"), const_index(1), const_index(0))

    lower, upper = rows.loop.operands[:2]
    fallen = parallel_extreme(lower, upper, falls, const_index(0), kind="max", counter="row")
    return ops.cmpi(fallen, const_index(0), predicate="eq")
