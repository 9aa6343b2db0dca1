"""Idiom recognition: nests of loops that copy with exchanged subscripts become copies of a transposed view.

In a parallel nest of a load and a store, the stored elements are neighbours along one loop, and the loaded elements
along another. Whichever loop is the inner one, one of the two accesses strides from row to row, and touches one element
in each vector. The copy is done in tiles that are transposed in registers (``adc.backend.support.transposes``), in a
quarter of the time. Further loops stay around it; if there are none, parts of the rows run on threads. Nests that are
known to have only a few iterations stay loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.arith import const_index, constant_of, trip_count
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import having, inside
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.types import MemRefType, scalar_bytes
from adc.passes.analysis.cold import walk_warm
from adc.passes.analysis.kinds import TERMINATORS, accessed
from adc.passes.building import parallel_loop, strip, window
from adc.passes.rewrite import put_instead

FEW = 8  # iterations of a loop that is not worth a tile
ROWS = 64  # rows of the target that a thread copies at a time
WORDS = (4, 8)  # bytes of elements
_SUMS = frozenset({ops.addi, ops.subi})
_BESIDE = _SUMS | TERMINATORS


@dataclass(frozen=True)
class MatchTransposes:
    """Turn nests that copy with exchanged subscripts into copies of transposed views."""

    name: ClassVar[str] = "match-transposes"
    needs = frozenset({ops.parallel})

    def run(self, module: Module) -> Module:
        for func in having(module, self.needs):
            loops = [op for op in walk_warm(func.body) if op.opdef is ops.parallel and not op.results]
            found = [one for one in map(_match, loops) if one is not None]
            if found:
                alias = Aliasing.asked(func, module)
                for one in found:
                    if alias.roots(one.load.operands[0]).isdisjoint(alias.roots(one.store.operands[1])):
                        _replace(one)
        return module


@dataclass(frozen=True, eq=False)
class _Transpose:
    """``rows``: the loop over rows of the target, along which loaded elements are contiguous; ``columns``: the loop
    over its columns; ``loops``: all loops of the nest."""

    loops: list[Op]
    rows: Op
    columns: Op
    load: Op
    store: Op


def _match(nest: Op) -> _Transpose | None:
    if nest.parent is not None and nest.parent.parent_op is not None and _inner(nest.parent.parent_op) is nest:
        return None  # the whole nest may be one
    loops = [nest]
    while (inner := _inner(loops[-1])) is not None:
        loops.append(inner)
    body = loops[-1].regions[0].ops
    if len(loops) < 2 or any(loop.results or constant_of(loop.operands[2]) != 1 for loop in loops):
        return None
    if any(inside(bound, nest) for loop in loops for bound in loop.operands[:2]):
        return None
    accesses = [op for op in body if op.opdef not in _BESIDE]
    if [op.opdef for op in accesses] != [ops.load, ops.store] or accesses[1].operands[0] is not accesses[0].result:
        return None
    load, store = accesses
    t = load.operands[0].type
    if not isinstance(t, MemRefType) or isinstance(t.element, MemRefType) or scalar_bytes(t.element) not in WORDS:
        return None
    if any(inside(memref, nest) for memref in (load.operands[0], store.operands[1])):
        return None
    fastest = [_fastest(memref, at, loops, nest) for memref, *at in map(accessed, accesses)]
    rows, columns = fastest
    if rows is None or columns is None or rows is columns:
        return None
    if any(not {rows, columns} <= {_mover(v, loops, nest) for v in accessed(access)[1:]} for access in accesses):
        return None  # the loaded elements are repeated along one of them
    if any((n := _iterations(loop)) is not None and n < FEW for loop in (rows, columns)):
        return None
    return _Transpose(loops, rows, columns, load, store)


def _inner(loop: Op) -> Op | None:
    """The loop that is the only operation in a parallel loop, except for subscripts."""
    if loop.opdef is not ops.parallel:
        return None
    found = [op for op in loop.regions[0].ops if op.opdef not in _BESIDE]
    return found[0] if len(found) == 1 and found[0].opdef is ops.parallel else None


def _iterations(loop: Op) -> int | None:
    lower, upper = map(constant_of, loop.operands[:2])
    return None if lower is None or upper is None else int(upper) - int(lower)


def _fastest(memref: Value, at: Sequence[Value], loops: list[Op], nest: Op) -> Op | None:
    """The loop along which elements are contiguous in memory, if each subscript moves with one loop or none, and no two
    with the same."""
    t = memref.type
    assert isinstance(t, MemRefType)
    moved = [_mover(v, loops, nest) for v in at]
    movers = [m for m in moved if isinstance(m, Op)]
    if None in moved or len(set(movers)) < len(movers) or len(movers) < 2:
        return None
    strides = t.strides if t.strides is not None else (*(None for _ in at[1:]), 1)
    return next((m for m, stride in zip(moved, strides, strict=True) if stride == 1 and isinstance(m, Op)), None)


def _mover(subscript: Value, loops: list[Op], nest: Op) -> Op | str | None:
    """The loop whose counter plus a constant ``subscript`` is; "" if it is fixed; None if neither."""
    if not inside(subscript, nest):
        return ""
    for loop in loops:
        if subscript is loop.regions[0].args[0]:
            return loop
    op = subscript.op
    if op is None or op.opdef not in _SUMS:
        return None
    moved = [_mover(v, loops, nest) for v in op.operands]
    if moved[1] == "":
        return moved[0]
    return moved[1] if moved[0] == "" and op.opdef is ops.addi else None


def _replace(one: _Transpose) -> None:
    nest = one.loops[0]
    others = [loop for loop in one.loops if loop is not one.rows and loop is not one.columns]
    made = Block()
    with insert_at(made, nest.loc):
        counts = {loop: trip_count(*loop.operands[:3]) for loop in (one.rows, one.columns)}
        starts = {loop: loop.operands[0] for loop in (one.rows, one.columns)}
        mapping: Mapping = {}

        def around(left: list[Op]) -> None:
            if left:
                first = left[0].regions[0].args[0]

                def body(counter: Value) -> None:
                    mapping[first] = counter
                    around(left[1:])

                lower, upper = left[0].operands[:2]
                attrs = {"threads": True} if left[0] is others[0] and "threads" in nest.attrs else {}
                parallel_loop(lower, upper, body, **attrs)
            elif others or "threads" not in nest.attrs:
                _copy(one, starts, counts, mapping)
            else:
                _on_threads(one, starts, counts, mapping)

        around(others)
    put_instead(nest, made.ops)
    nest.drop()


def _on_threads(one: _Transpose, starts: dict[Op, Value], counts: dict[Op, Value], mapping: Mapping) -> None:
    size, total = const_index(ROWS), counts[one.rows]

    def part(number: Value) -> None:
        start, count = strip(number, size, total)
        begin = ops.addi(starts[one.rows], start)
        _copy(one, {**starts, one.rows: begin}, {**counts, one.rows: count}, mapping)

    parallel_loop(const_index(0), ops.ceildivsi(total, size), part, threads=True)


def _copy(one: _Transpose, starts: dict[Op, Value], counts: dict[Op, Value], mapping: Mapping) -> None:
    """Append the copy of the part that both loops go through, from their starts."""
    inner = dict(mapping)
    for loop, start in starts.items():
        inner[loop.regions[0].args[0]] = start
    for op in (op for loop in one.loops for op in loop.regions[0].ops if op.opdef in _SUMS):
        clone_op(op, inner)
    source, target = (_window(access, one, counts, inner) for access in (one.load, one.store))
    build(ops.copy, [source, target])


def _window(access: Op, one: _Transpose, counts: dict[Op, Value], mapping: Mapping) -> Value:
    """The part of an array that an access goes through, as a matrix whose rows are those of the target."""
    memref, *at = accessed(access)
    moved = [_mover(v, one.loops, one.loops[0]) for v in at]
    sizes = [counts[m] if isinstance(m, Op) and m in counts else const_index(1) for m in moved]
    dropped = tuple(k for k, m in enumerate(moved) if m not in counts)
    view = window(memref, [mapping.get(v) or v for v in at], sizes, dropped)
    first = next(m for m in moved if m in counts)
    return view if first is one.rows else ops.transpose(view, permutation=(1, 0))
