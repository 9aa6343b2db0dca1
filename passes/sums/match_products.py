"""Idiom recognition: nests of loops that add up products of two matrices become one operation, which calls a kernel.

In a nest of three parallel loops with counters p, q and r, each term is a product of two floats, one at ``[p, r]`` and
one at ``[r, q]``, which is added, in an order that is left to the library, to an element at ``[p, q]``. The subscripts
may be in any order, and among others that the nest does not change. Then the terms of one target are a product of
matrices. A nest of two loops, with a vector on the left, is a product of one row, if rows of the matrix on the right
are contiguous; otherwise each sum goes along a row, which loops do well. A sum is stored (as ``@`` is written) or
accumulated (as in its adjoint, twice in one nest). The loops are parallel, so they do not write what they read, except
for the targets, which must not overlap anything that is read.

The kernel (``adc.backend.support.products``) reads its operands once for many sums; loops take ten times as long for
matrices of 100 x 100, seventy times for 512 x 512, and are more code. Nests of few, known extents stay loops.

A product of a matrix with its own transpose (covariances, Gram matrices) is symmetric: only what is up to the diagonal
is computed, strip by strip, and mirrored. Both halves have the same bits anyway: they add the same products in the
same order.

Derivatives leave out of a product what is multiplied by a zero that is nothing at all, even if it is infinite. The
kernel does so as well: it checks whether all numbers are finite, and if not goes through them one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.arith import const, const_index, constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, holds, inside, of_kinds
from adc.ir.types import MemRefType
from adc.passes.analysis.conditions import comparisons
from adc.passes.analysis.machine import machine
from adc.passes.building import parallel_loop, strip, window
from adc.passes.rewrite import put_instead

FEW = 512  # multiply-adds; nests that are known to have no more stay loops
STRIP = 48  # rows of a symmetric product that are computed up to their diagonal


@dataclass(frozen=True)
class MatchProducts:
    """Replace nests that are products of matrices by calls of the kernel."""

    name: ClassVar[str] = "match-products"
    needs = frozenset({ops.parallel})

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            loops = [op for op in of_kinds(func.body, self.needs) if not op.results]
            if found := [product for product in map(_match, loops) if product is not None]:
                _replace_all(func, module, found)
        return module


def is_product(nest: Op) -> bool:
    """Whether an operation is the outermost loop of such a nest, and its sums are not known to be short."""
    found = _match(nest) if nest.opdef is ops.parallel and not nest.results else None
    return found is not None and not is_short(nest, found.terms)


def stored_product(nest: Op) -> Value | None:
    """How many terms the sums of a nest that stores products of matrices have, if that is not known."""
    if nest.results or (found := _match(nest)) is None or not all(s.fresh and s.target.rows for s in found.sums):
        return None
    return None if constant_of(terms := found.terms) is not None or inside(terms, nest) else terms



@dataclass(frozen=True, eq=False)
class _Place:
    """A matrix: the elements of an array that two counters, ``rows`` and ``columns``, move through."""

    memref: Value
    subscripts: tuple[Value, ...]
    rows: Value | None  # None: a vector, as a matrix of one row
    columns: Value


@dataclass(frozen=True, eq=False)
class _Sum:
    """``target += left @ right``; ``fresh``: the target's old contents are overwritten; ``strong``: the side whose
    zeros are nothing at all."""

    left: _Place
    right: _Place
    target: _Place
    fresh: bool
    strong: str = ""


@dataclass(frozen=True, eq=False)
class _Products:
    nest: Op
    extents: dict[Value, Value]  # by counter
    sums: list[_Sum]

    @property
    def terms(self) -> Value:
        """How many terms each sum has."""
        target = self.sums[0].target
        return next(n for counter, n in self.extents.items() if counter not in (target.rows, target.columns))


def is_short(nest: Op, terms: Value) -> bool:
    """Whether branches around a nest say that its sums have few terms: they have another version, with the kernel."""
    for branch in enclosing(nest.parent):
        for held in comparisons(branch.operands[0]) if branch.opdef is ops.if_ else ():
            is_held = held.attrs["predicate"] == "sle" and holds(branch.regions[0], nest)
            if is_held and held.operands[0] is terms:
                return (constant_of(held.operands[1]) or 0) == machine().few_terms
    return False


def _replace_all(func: Func, module: Module, found: Sequence[_Products]) -> None:
    alias = Aliasing.asked(func, module)
    legal = [p for p in found if _is_apart(p, alias) and all(_is_private(s.target, p.nest) for s in p.sums)]
    nests = {p.nest for p in legal}
    for products in legal:
        if not nests.isdisjoint(enclosing(products.nest.parent)):
            continue  # the nest around it is one
        made = Block()
        with insert_at(made, products.nest.loc):
            for one in products.sums:
                _build(one, products)
        put_instead(products.nest, made.ops)
        products.nest.drop()


def _match(nest: Op) -> _Products | None:
    """What the nest around three counters computes, if it consists only of sums of products."""
    loops = _perfect(nest)
    if len(loops) not in (2, 3):
        return None
    extents = {}
    for loop in loops:
        lower, upper, step = loop.operands[:3]
        if constant_of(lower) != 0 or constant_of(step) != 1 or inside(upper, nest):
            return None
        extents[loop.regions[0].args[0]] = upper
    sizes = [size for size in map(constant_of, extents.values()) if size is not None]
    if len(sizes) == len(loops) and math.prod(sizes) <= FEW:
        return None
    reader = _Reader(nest, extents)
    sums = reader.accumulated(loops[-1]) if not loops[-1].results else reader.stored(loops[-1])
    return _Products(nest, extents, sums) if sums else None


def _perfect(nest: Op) -> list[Op]:
    """The loops of a perfect nest of parallel loops, from the outermost inwards; none if it is no such nest. The
    innermost one may sum."""
    loops = [nest]
    while inner := [op for op in loops[-1].regions[0].ops if op.regions]:
        if len(inner) > 1 or inner[0].opdef is not ops.parallel or loops[-1].results:
            return []
        loops += inner
    return loops


@dataclass(frozen=True, eq=False)
class _Reader:
    nest: Op
    extents: dict[Value, Value]

    def accumulated(self, innermost: Op) -> list[_Sum]:
        """The sums of a nest whose innermost loop accumulates; none if there is anything else in it."""
        found: list[_Sum] = []
        for op in _effects(self.nest):
            one = None
            if op.opdef is ops.accumulate and op.parent is innermost.regions[0]:
                one = self._sum(op.operands[0], op.operands[1], op.operands[2:], fresh=False)
            if one is None:
                return []
            found.append(one)
        return found

    def stored(self, innermost: Op) -> list[_Sum]:
        """The sums of a nest whose innermost loop returns totals, which are stored."""
        body = innermost.regions[0]
        end = body.terminator
        if set(end.attrs["kinds"]) != {"add"} or any(constant_of(v) != 0.0 for v in innermost.operands[3:]):
            return []
        found: list[_Sum] = []
        taken = set()
        for op in _effects(self.nest):
            total = op.operands[0] if op.opdef in (ops.store, ops.accumulate) else None
            if total is None or total.op is not innermost or total in taken or op.parent is not innermost.parent:
                return []
            taken.add(total)
            fresh = op.opdef is ops.store
            for term in _terms(end.operands[total.index]):
                one = self._sum(term, op.operands[1], op.operands[2:], fresh)
                if one is None:
                    return []
                found.append(one)
                fresh = False
        return found if all(len(r.uses) == 1 for r in innermost.results) else []

    def _sum(self, term: Value, memref: Value, subscripts: Sequence[Value], fresh: bool) -> _Sum | None:
        op = term.op
        if op is None or op.opdef is not ops.mulf or "contract" not in op.attrs["fastmath"]:
            return None
        target = self._place(memref, subscripts)
        x, y = op.operands
        x_alone, y_alone = _without_choice(x, y), _without_choice(y, x)
        factors = (self._loaded(x_alone), y_alone is not y), (self._loaded(y_alone), x_alone is not x)
        if target is None:
            return None
        summed = set(self.extents) - {target.rows, target.columns}
        if len(summed) != 1 or (target.rows is None and not _is_contiguous(target)):
            return None
        (inner,) = summed
        for (left, left_strong), (right, right_strong) in (factors, factors[::-1]):
            if left is None or right is None or (left_strong and right_strong):
                return None
            if target.rows is None:
                is_row = left.rows is None and left.columns is inner and not right_strong
                if is_row and (right.rows, right.columns) == (inner, target.columns) and _is_contiguous(right):
                    return _Sum(left, right, target, fresh, "left" if left_strong else "")
                continue
            moved = {left.rows, left.columns}, {right.rows, right.columns}
            if moved == ({target.rows, inner}, {inner, target.columns}):
                strong = "left" if left_strong else "right" if right_strong else ""
                return _Sum(_turned(left, target.rows), _turned(right, inner), target, fresh, strong)
        return None

    def _loaded(self, value: Value) -> _Place | None:
        op = value.op
        if op is None or op.opdef is not ops.load or not inside(value, self.nest):
            return None
        return self._place(op.operands[0], op.operands[1:])

    def _place(self, memref: Value, subscripts: Sequence[Value]) -> _Place | None:
        moved = [v for v in subscripts if v in self.extents]
        rest = [v for v in (memref, *subscripts) if v not in self.extents]
        if any(inside(v, self.nest) for v in rest) or len(set(moved)) != len(moved):
            return None
        if len(moved) == 1 and len(self.extents) == 2:
            return _Place(memref, tuple(subscripts), None, moved[0])
        return _Place(memref, tuple(subscripts), moved[0], moved[1]) if len(moved) == 2 else None


def _without_choice(value: Value, partner: Value) -> Value:
    """A factor, without the select that makes it zero where ``partner`` is zero."""
    op = value.op
    if op is None or op.opdef is not ops.select or constant_of(op.operands[1]) != 0.0:
        return value
    test = op.operands[0].op
    if test is None or test.opdef is not ops.cmpf or test.attrs["predicate"] != "oeq":
        return value
    return op.operands[2] if test.operands[0] is partner and constant_of(test.operands[1]) == 0.0 else value


def _effects(nest: Op) -> Iterator[Op]:
    """The operations of a nest other than loads, computations and loops."""
    for op in nest.regions[0].walk():
        if not (op.opdef.pure or op.regions or op.opdef in (ops.load, ops.reduce)):
            yield op


def _terms(value: Value) -> Iterator[Value]:
    """The terms of a sum that is written as additions."""
    op = value.op
    if op is not None and op.opdef is ops.addf and "contract" in op.attrs["fastmath"]:
        for operand in op.operands:
            yield from _terms(operand)
    else:
        yield value


def _is_contiguous(place: _Place) -> bool:
    """Whether neighbouring columns are neighbours in memory."""
    t = place.memref.type
    assert isinstance(t, MemRefType)
    return place.subscripts[-1] is place.columns and (t.strides is None or t.strides[-1] == 1)


def _turned(place: _Place, rows: Value | None) -> _Place:
    """The matrix or its transpose: the one whose rows ``rows`` counts."""
    if place.rows is rows or place.rows is None:
        return place
    return _Place(place.memref, place.subscripts, place.columns, place.rows)


def _is_apart(products: _Products, alias: Aliasing) -> bool:
    """Whether no target overlaps what is read, or another target."""
    targets = list(dict.fromkeys(s.target.memref for s in products.sums))
    read = {s.memref for one in products.sums for s in (one.left, one.right)}
    others = [(t, u) for k, t in enumerate(targets) for u in (*read, *targets[:k])]
    return all(alias.roots(t).isdisjoint(alias.roots(u)) for t, u in others)


def _is_private(target: _Place, nest: Op) -> bool:
    """Whether no two iterations of a parallel loop around the nest add to one element: the kernel adds without
    synchronisation."""
    fixed = {v for v in target.subscripts if v is not target.rows and v is not target.columns}
    around = [op for op in enclosing(nest.parent) if op.opdef is ops.parallel]
    return all(loop.regions[0].args[0] in fixed or inside(target.memref, loop) for loop in around)


def _build(one: _Sum, products: _Products) -> None:
    """Append the operation, on threads if nothing else around it is: each thread computes some of the rows, or some of
    the columns of a single row."""
    left, right, target = (_view(place, products.extents) for place in (one.left, one.right, one.target))
    if one.fresh:
        assert isinstance(target.type, MemRefType)
        build(ops.fill, [const(0.0, target.type.element), target])
    attrs = {"strong": one.strong}
    extent = products.extents[one.target.columns]
    known = constant_of(extent)
    if _is_symmetric(one) and (known is None or known >= 2 * STRIP):
        _build_symmetric(left, right, target, extent)
        return
    if any(op.opdef is ops.parallel for op in enclosing(products.nest.parent)):
        build(ops.matmul, [left, right, target], attrs)
        return
    shared = products.extents[one.target.columns if one.target.rows is None else one.target.rows]
    threads = ops.threads()
    size = ops.ceildivsi(shared, threads)

    def part(number: Value) -> None:
        start, count = strip(number, size, shared)
        here = start, ops.maxsi(count, const_index(0))
        if one.target.rows is None:
            build(ops.matmul, [left, _columns(right, *here), _columns(target, *here)], attrs)
        else:
            build(ops.matmul, [_rows(left, *here), right, _rows(target, *here)], attrs)

    parallel_loop(const_index(0), threads, part, threads=True)


def _is_symmetric(one: _Sum) -> bool:
    """Whether a matrix is multiplied by its transpose, and nothing was there before."""
    left, right, target = one.left, one.right, one.target
    if not one.fresh or one.strong or left.memref is not right.memref or target.rows is None:
        return False
    return tuple(target.columns if v is target.rows else v for v in left.subscripts) == right.subscripts


def _build_symmetric(left: Value, right: Value, target: Value, extent: Value) -> None:
    """Append a loop over strips of rows, the first and the last, the second and the last but one, and so on: threads
    get strips of all lengths."""
    short = ops.cmpi(extent, const_index(2 * STRIP), predicate="slt")
    size = ops.select(short, ops.maxsi(extent, const_index(1)), const_index(STRIP))
    strips = ops.ceildivsi(extent, size)

    def part(place: Value) -> None:
        half = ops.floordivsi(place, const_index(2))
        is_even = ops.cmpi(ops.muli(half, const_index(2)), place, predicate="eq")
        number = ops.select(is_even, half, ops.subi(ops.subi(strips, const_index(1)), half))
        start, count = strip(number, size, extent)
        end = ops.addi(start, count)
        rows = _columns(_rows(target, start, count), const_index(0), end)
        build(ops.matmul, [_rows(left, start, count), _columns(right, const_index(0), end), rows], {"strong": ""})

        def mirrored(column: Value) -> None:
            def one(row: Value) -> None:
                at = ops.addi(start, row)
                build(ops.store, [ops.load(target, at, column), target, column, at])

            parallel_loop(const_index(0), count, one)

        parallel_loop(const_index(0), start, mirrored)

    parallel_loop(const_index(0), strips, part, threads=True)


def _view(place: _Place, extents: dict[Value, Value]) -> Value:
    """The matrix as an array of rank two."""
    zero, one = const_index(0), const_index(1)
    offsets = [zero if v in extents else v for v in place.subscripts]
    sizes = [extents.get(v, one) for v in place.subscripts]
    dropped = tuple(k for k, v in enumerate(place.subscripts) if v not in extents)
    whole = all(_is_extent(size, place.memref, k) for k, size in enumerate(sizes))
    view = place.memref if whole else window(place.memref, offsets, sizes, dropped)
    if place.rows is None:
        return build(ops.reshape, [view, one, extents[place.columns]], {"groups": ((0, 1), (1, 1))}).result
    first = next(v for v in place.subscripts if v in extents)
    return view if first is place.rows else ops.transpose(view, permutation=(1, 0))


def _is_extent(size: Value, memref: Value, dim: int) -> bool:
    """Whether a loop from zero to before ``size`` goes along the whole dimension of an array."""
    made, op, t = memref.op, size.op, memref.type
    assert isinstance(t, MemRefType)
    if made is not None and made.opdef is ops.alloc and dim < t.rank and t.shape[dim] is None:
        return made.operands[t.shape[:dim].count(None)] is size
    return op is not None and op.opdef is ops.dim and op.operands[0] is memref and op.attrs["dim"] == dim


def _rows(matrix: Value, start: Value, count: Value) -> Value:
    return window(matrix, [start, const_index(0)], [count, ops.dim(matrix, dim=1)], ())


def _columns(matrix: Value, start: Value, count: Value) -> Value:
    return window(matrix, [const_index(0), start], [ops.dim(matrix, dim=0), count], ())
