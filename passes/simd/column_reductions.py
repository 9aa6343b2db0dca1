"""Sums, extremes and products of columns are taken row by row, as NumPy takes them.

    parallel j:                              parallel j: t[j] = -inf
        r = -inf                             for i:
        parallel i: r = max(r, x[i, j])          parallel j: t[j] = max(t[j], x[i, j])
        y[j] = r                             parallel j: y[j] = t[j]

Column by column, the elements are a row apart, which for long rows is another page of memory each; row by row, they are
read in order, as SIMD. The results so far are an array (scalar expansion; Allen and Kennedy, Optimizing Compilers for
Modern Architectures, Morgan Kaufmann 2001, sections 5.3 and 5.2 for the interchange). If there are loops outside of the
one over columns, the loop over rows goes outside of those whose elements are nearer to each other than its own.

An extreme does not depend on the order of its elements, and products and sums stay in theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import REVERSE, UNORDERED
from adc.ir.nesting import inside
from adc.ir.rewrite import Mapping, clone_op, used_from_outside
from adc.ir.types import MemRefType
from adc.passes.analysis.affine import Forms
from adc.passes.analysis.effects import Memory
from adc.passes.analysis.kinds import ELEMENT, PURE, accessed
from adc.passes.building import loop_of, parallel_loop
from adc.passes.rewrite import put_before, put_instead

_KNOWN = frozenset({"threads", REVERSE})


@dataclass(eq=False)
class ColumnReduction:
    """``rows``: the loops that reduce, the outermost first. ``columns``: the loops around them that go inside, the
    outermost first. ``needed``: what is computed in these loops for the reduction."""

    rows: list[Op]
    columns: list[Op]
    needed: list[Op]

    def replace(self) -> None:
        """Put loops over rows in front of the loops over columns, in which results are loaded."""
        outermost, inner = self.columns[0], self.rows[0]
        starts = inner.operands[3:]
        with insert_at(Block(), outermost.loc) as made:
            extents = [loop.operands[1] for loop in self.columns]
            types = [MemRefType((None,) * len(extents), r.type) for r in inner.results]
            arrays = [ops.alloc(*extents, type=t) for t in types]

            def begin(at: Sequence[Value], mapping: Mapping) -> None:
                for start, array in zip(starts, arrays, strict=True):
                    build(ops.store, [mapping.get(start, start), array, *at])

            self._over_columns({}, begin)
            self._over_rows(self.rows, {}, arrays)
        with insert_at(Block(), inner.loc) as loads:
            at = [loop.regions[0].args[0] for loop in self.columns]
            found = [ops.load(array, *at) for array in arrays]
        put_before(outermost, made.ops)
        put_instead(inner, loads.ops)
        for old, new in zip(inner.results, found, strict=True):
            old.replace_uses(new)
            new.hint = old.hint
        inner.drop()

    def _over_columns(self, mapping: Mapping, body: Callable[[Sequence[Value], Mapping], None]) -> None:
        """Append loops over the columns."""
        at: list[Value] = []

        def level(left: Sequence[Op]) -> None:
            if not left:
                body(at, mapping)
                return
            loop = left[0]

            def one(counter: Value) -> None:
                mapping[loop.regions[0].args[0]] = counter
                at.append(counter)
                for op in self.needed:
                    if op.parent is loop.regions[0]:
                        clone_op(op, mapping)
                level(left[1:])

            threads = {"threads": True} if loop is self.columns[0] and "threads" in loop.attrs else {}
            parallel_loop(loop.operands[0], loop.operands[1], one, **threads)

        level(self.columns)

    def _over_rows(self, left: Sequence[Op], mapping: Mapping, arrays: Sequence[Value]) -> None:
        """Append the loops over the rows, with those over columns inside, which combine what there is so far with the
        next row."""
        if left:
            loop = left[0]

            def one(counter: Value) -> None:
                mapping[loop.regions[0].args[0]] = counter
                self._over_rows(left[1:], mapping, arrays)

            lower, upper, step = loop.operands[:3]
            loop_of(ops.for_, lower, upper, step, one, loop.regions[0].args[0].hint, {UNORDERED: True})
            return

        def combine(at: Sequence[Value], mapping: Mapping) -> None:
            for loop in self.rows:
                for op in loop.regions[0].ops[:-1]:
                    if not op.regions:
                        clone_op(op, mapping)
            end = self.rows[-1].regions[0].terminator
            terms = [mapping.get(v, v) for v in end.operands]
            for kind, term, array in zip(end.attrs["kinds"], terms, arrays, strict=True):
                opdef, so_far = ops.COMBINE[kind][0 if term.type.is_float else 1], ops.load(array, *at)
                total = opdef(so_far, term) if kind == "mul" else opdef(term, so_far)
                build(ops.store, [total, array, *at])

        self._over_columns(dict(mapping), combine)


def find_column_reduction(inner: Op, memory: Memory, forms: Forms) -> ColumnReduction | None:
    """The loops that ``inner``, a reduction in a loop over columns, is made of, if it can go row by row."""
    rows = [inner]
    while (following := reduction_inside(rows[-1])) is not None:
        rows.append(following)
    if any(op.regions for op in rows[-1].regions[0].ops):
        return None
    columns = _columns_around(inner, rows, forms)
    if not columns or any(inside(v, columns[0]) for loop in (*rows, *columns) for v in loop.operands[:3]):
        return None
    needed = _needed(used_from_outside([inner]), columns, memory)
    own = [op for loop in rows for op in loop.regions[0].ops[:-1] if not op.regions]
    if needed is None or not all(op.opdef in PURE or op.opdef is ops.load for op in own):
        return None
    if _is_written_before(inner, columns, [op.operands[0] for op in own if op.opdef is ops.load], memory):
        return None
    return ColumnReduction(rows, columns, needed)


def _is_written_before(inner: Op, columns: Sequence[Op], arrays: Sequence[Value], memory: Memory) -> bool:
    """Whether an iteration of the loops over columns may change what the reduction in it reads. (Iterations of
    parallel loops do not read what others write.)"""
    for loop in reversed(columns):
        ops_of = loop.regions[0].ops
        before = ops_of[: ops_of.index(inner)]
        if any(memory.may_write(op, array) for op in before for array in arrays):
            return True
        inner = loop
    return False


def reduction_inside(loop: Op) -> Op | None:
    """A reduction of the same kind whose results are those of an iteration of ``loop``."""
    found = [op for op in loop.regions[0].ops if op.regions]
    end = loop.regions[0].terminator
    if len(found) != 1 or found[0].opdef is not ops.parallel or list(end.operands) != list(found[0].results):
        return None
    kinds, starts = end.attrs["kinds"], found[0].operands[3:]
    same = found[0].regions[0].terminator.attrs["kinds"] == kinds
    neutral = all(constant_of(v) == ops.NEUTRAL[kind] for kind, v in zip(kinds, starts, strict=True))
    return found[0] if same and neutral else None


def _columns_around(inner: Op, rows: Sequence[Op], forms: Forms) -> list[Op]:
    """The loops around a reduction along which elements are nearer to each other than along the rows."""
    columns: list[Op] = []
    row, body = rows[0].regions[0].args[0], rows[-1].regions[0].ops
    around = inner.parent.parent_op if inner.parent is not None else None
    while around is not None and around.opdef is ops.parallel and set(around.attrs) <= _KNOWN:
        if constant_of(around.operands[0]) != 0 or constant_of(around.operands[2]) != 1:
            break
        if not all(_is_nearer(op, around.regions[0].args[0], row, forms) for op in body if op.opdef in ELEMENT):
            break
        columns.insert(0, around)
        around = around.parent.parent_op if around.parent is not None else None
    return columns


def _is_nearer(access: Op, column: Value, row: Value, forms: Forms) -> bool:
    """Whether elements along the column counter are nearer to each other than along that of the rows, if both move."""
    places = []
    for counter in (column, row):
        steps = [forms.of(v).split(forms.symbol(counter))[0] for v in accessed(access)[1:]]
        places.append(next((k for k, step in enumerate(steps) if not step.is_constant or step.constant != 0), None))
    of_column, of_row = places
    return of_column is None or of_row is None or of_column > of_row


def _needed(values: Sequence[Value], columns: Sequence[Op], memory: Memory) -> list[Op] | None:
    """What is computed in the loops over columns for ``values``, in order; None if that cannot be repeated."""
    needed: set[Op] = set()
    work = list(values)
    counters = {loop.regions[0].args[0] for loop in columns}
    while work:
        value = work.pop()
        op = value.op
        if not inside(value, columns[0]) or value in counters or op in needed:
            continue
        if op is None or op.regions or op.parent not in {loop.regions[0] for loop in columns}:
            return None
        if op.opdef not in PURE and (op.opdef is not ops.load or memory.may_write(columns[0], op.operands[0])):
            return None
        if any(isinstance(r.type, MemRefType) for r in op.results):
            return None
        needed.add(op)
        work += op.operands
    return [op for loop in columns for op in loop.regions[0].ops if op in needed]
