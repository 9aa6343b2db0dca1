"""Delinearization: a loop over pairs whose counter is divided becomes a nest of two loops.

    for q in range(n * m):          for i in range(n):
        i, j = q // m, q % m            for j in range(m):
        u[i, j] = ...                       u[i, j] = ...

Then the subscripts are linear in the counters: they are checked once, dependences are found, rows are SIMD, and the
adjoint is that of the nest. The iterations are the same, in the same order, if ``m`` is at least one and the trip count
makes whole rows. That is tested before the loop; if it does not hold, the loop runs as it was.
More than two loops are found one after the other: ``q // (m * k)`` is ``(q // k) // m``.

Where the trip count is no product of the divisor, both the quotient and the remainder must be used.
"""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import field
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const, const_index, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Attr, Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having, inside
from adc.ir.rewrite import clone_op
from adc.ir.types import index
from adc.passes.analysis.cold import COLD, warm_regions
from adc.passes.analysis.division import remainder
from adc.passes.analysis.kinds import COUNTED
from adc.passes.rewrite import put_instead, replace_op

_QUOTIENTS = frozenset({ops.floordivsi, ops.divsi})
_DIVISIONS = _QUOTIENTS | {ops.remsi}


@dataclass(frozen=True)
class DelinearizeLoops:
    """Make nests of loops whose counter is divided by a loop-invariant value."""

    name: ClassVar[str] = "delinearize-loops"
    needs = _DIVISIONS

    def run(self, module: Module) -> Module:
        for func in having(module, self.needs):
            _block(func.body)
        return module


def _block(block: Block) -> None:
    new = block.in_place_of()
    for op in block.ops:
        if op.opdef in COUNTED and _divisor(op) is not None:
            _versions(op, new)
            continue
        for region in warm_regions(op):
            _block(region)
        new.append(op)
    block.set_ops(new.ops)


@dataclass(frozen=True)
class _Product:
    """An integer as a product of a constant and values."""

    constant: int
    values: Counter[Value] = field(default_factory=Counter)

    @staticmethod
    def of(value: Value) -> _Product:
        known, op = constant_of(value), value.op
        if known is not None:
            return _Product(int(known))
        if op is None or op.opdef is not ops.muli:
            return _Product(1, Counter([value]))
        a, b = map(_Product.of, op.operands)
        return _Product(a.constant * b.constant, a.values + b.values)

    def over(self, other: _Product) -> _Product | None:
        """The quotient of two products, if it is a product again."""
        if not other.constant or self.constant % other.constant or other.values - self.values:
            return None
        return _Product(self.constant // other.constant, self.values - other.values)

    def value(self, conditions: list[Value]) -> Value:
        """The product as code at the insertion point, which is right under further ``conditions``; these are
        appended."""
        factors = [*self.values.elements()]
        if self.constant != 1 or not factors:
            factors.append(const_index(self.constant))
        total, *rest = factors
        for factor in rest:
            conditions.append(ops.fits(total, factor, kind="mul"))
            total = ops.muli(total, factor)
        return total


def _divisor(loop: Op) -> Value | None:
    """The value that the counter of ``loop`` is divided by, if a nest can replace the loop; the smallest of several."""
    if constant_of(loop.operands[0]) != 0 or constant_of(loop.operands[2]) != 1:
        return None
    kinds = [*loop.regions[0].terminator.attrs["kinds"]] if loop.opdef is ops.parallel else []
    if any(kind != "add" for kind in kinds):
        return None
    counter, total = loop.regions[0].args[0], _Product.of(loop.operands[1])
    used: dict[Value, set[bool]] = {}
    for user, position in counter.uses:
        if _divides(user, position, loop):
            used.setdefault(user.operands[1], set()).add(user.opdef is ops.remsi)
    found = [
        v
        for v, both in used.items()
        if (constant_of(v) or 2) > 1 and (len(both) == 2 or total.over(_Product.of(v)) is not None)
    ]
    return min(found, key=lambda v: (_Product.of(v).values.total(), _Product.of(v).constant), default=None)


def _versions(loop: Op, block: Block) -> None:
    """Append to ``block`` a choice between the nest and the loop as it is."""
    fast, slow = Block(), Block()
    with insert_at(fast, loop.loc):
        nest = clone_op(loop, {})
    splitting = _Splitting(block)
    splitting.split(nest)
    with insert_at(fast, loop.loc):
        build(ops.yield_, fast.ops[-1].results)
    with insert_at(block, loop.loc):
        chosen = functools.reduce(ops.andi, dict.fromkeys(splitting.conditions))
        attrs: dict[str, Attr] = {COLD: "else"} if splitting.whole else {ops.LIKELY: True}
        choice = build(ops.if_, [chosen], attrs, [r.type for r in loop.results], [fast, slow])
    for old, new in zip(loop.results, choice.results, strict=True):
        old.replace_uses(new)
        new.hint = old.hint
    slow.append(loop)
    with insert_at(slow, loop.loc):
        build(ops.yield_, loop.results)


@dataclass
class _Splitting:
    """Makes nests. The code they need is appended to ``before``; under the ``conditions`` they do what the loops did.

    ``whole``: the trip counts are products, so that there are only whole rows if the divisors are positive.
    """

    before: Block
    conditions: list[Value] = field(default_factory=list)
    whole: bool = True

    def split(self, loop: Op) -> None:
        """Turn ``loop`` into a nest, and then the loops of the nest."""
        divisor = _divisor(loop)
        if divisor is None:
            for region in loop.regions:
                _block(region)
            return
        with insert_at(self.before, loop.loc):
            rows = self._rows(loop.operands[1], divisor)
        for nested in self._nest(loop, rows, divisor):
            self.split(nested)

    def _rows(self, total: Value, divisor: Value) -> Value:
        rest = _Product.of(total).over(_Product.of(divisor))
        if rest is not None:
            rows = self._positive(divisor, rest)
            self.conditions.append(ops.fits(rows, divisor, kind="mul"))
            return rows
        self.whole = False
        size = ops.maxsi(self._positive(divisor), const_index(1))
        self.conditions.append(ops.cmpi(ops.remsi(total, size), const_index(0), predicate="eq"))
        return ops.floordivsi(total, size)

    def _positive(self, divisor: Value, product: _Product | None = None) -> Value:
        """Require that ``divisor`` is positive. Returns it, or ``product`` if given, which is required not to
        overflow."""
        self.conditions.append(ops.cmpi(divisor, const_index(1), predicate="sge"))
        return divisor if product is None else product.value(self.conditions)

    def _nest(self, loop: Op, rows: Value, divisor: Value) -> tuple[Op, Op]:
        """Replace ``loop`` by two nested loops: the outer and the inner one."""
        body, carried, attrs = loop.regions[0], loop.operands[3:], dict(loop.attrs)
        counter, types = body.args[0], [r.type for r in loop.results]
        divisions = [op for op, k in counter.uses if _divides(op, k, loop)]
        hint = next((op.result.hint for op in divisions if op.opdef in _QUOTIENTS and op.result.hint), counter.hint)
        outer = Block([index, *(arg.type for arg in body.args[1:])], [hint, *(arg.hint for arg in body.args[1:])])
        self._in_pairs(body, outer.args[0], divisor, divisions)
        loop.set_regions(())
        with insert_at(outer, loop.loc):
            limits = const_index(0), divisor, const_index(1)
            if loop.opdef is ops.for_:
                inner = build(ops.for_, [*limits, *outer.args[1:]], attrs, types, [body])
                build(ops.yield_, inner.results)
            else:
                inner = build(ops.parallel, [*limits, *(const(-0.0, t) for t in types)], attrs, types, [body])
                build(ops.reduce, inner.results, dict(body.terminator.attrs))
        made = Block()
        with insert_at(made, loop.loc):
            whole = build(loop.opdef, [const_index(0), rows, const_index(1), *carried], attrs, types, [outer])
        put_instead(loop, list(made.ops))
        replace_op(loop, whole.results)
        return whole, inner

    def _in_pairs(self, body: Block, row: Value, divisor: Value, divisions: list[Op]) -> None:
        """Let the counter of ``body`` be the column, and compute its former uses from the row and the column."""
        column, start = body.args[0], Block()
        others = [(user, k) for user, k in column.uses if user not in divisions or k]
        for op in divisions:
            with insert_at(start, op.loc):
                found = self._divided(op, row, column, divisor)
            if found is None:
                others.append((op, 0))
                continue
            for one in (*(user for user, _ in op.result.uses if _is_pythons(user, op)), op):
                put_instead(one, [])
                replace_op(one, [found])
        if others:
            with insert_at(start):
                number = row * divisor + column
            for user, k in others:
                user.set_operand(k, number)
        body.set_ops([*start.ops, *body.ops])

    def _divided(self, op: Op, row: Value, column: Value, divisor: Value) -> Value | None:
        """``op`` applied to ``row * divisor + column``, without a division of it; None if that cannot be done."""
        by, quotient = op.operands[1], op.opdef in _QUOTIENTS
        if by is divisor:
            return row if quotient else column
        larger = _Product.of(by).over(_Product.of(divisor))
        smaller = _Product.of(divisor).over(_Product.of(by))
        if larger is None and smaller is None:
            return None
        with insert_at(self.before, op.loc):
            other = self._positive(by, larger or smaller)
            self.conditions.append(ops.cmpi(other, const_index(1), predicate="sge"))
            self.conditions.append(ops.fits(other, divisor if larger else by, kind="mul"))
        if larger is not None:
            return ops.floordivsi(row, other) if quotient else ops.remsi(row, other) * divisor + column
        return row * other + ops.floordivsi(column, by) if quotient else ops.remsi(column, by)


def _is_pythons(op: Op, rest: Op) -> bool:
    """Whether ``op`` turns the remainder of C into that of Python; the two are the same if nothing is negative."""
    found = remainder(op.result) if op.opdef is ops.select else None
    return found is not None and found[:2] == rest.operands


def _divides(op: Op, position: int, loop: Op) -> bool:
    """Whether ``op`` divides its operand at ``position`` by something that ``loop`` does not change."""
    return op.opdef in _DIVISIONS and position == 0 and not inside(op.operands[1], loop)
