"""Array expansion: rows that a reverse sweep needs again become those of one array, not an array each.

    parallel p:                                    k = np.empty((n, m))
        k = np.empty(m)                            parallel p:
        tape[p] = k                                    ...  k[p, c] = ...
        ...  k[c] = ...                            ...
    ...                                            parallel p:
    parallel p:                                        ...  k[p, c] ...
        k = tape[p]
        ...  k[c] ...

What iterations of a parallel loop make for themselves is kept for the reverse sweep as a tape of arrays: memory that is
allocated in each iteration, reached through a pointer, and far apart for iterations that are to run side by side. If
all rows have the same length, they become an array with as many more axes as the tape has, which ``interleave`` lays
out.

Reference: Feautrier, Array expansion, Proceedings of the International Conference on Supercomputing 1988.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import enclosing, inside, of_kinds
from adc.ir.schedules import TAPE
from adc.ir.types import MemRefType
from adc.passes.analysis.kinds import COUNTED, ELEMENT, is_elementwise
from adc.passes.building import nest
from adc.passes.rewrite import put_instead


@dataclass(frozen=True)
class ExpandArrays:
    """Put the arrays with which parallel loops fill tapes into one array, as its rows."""

    name: ClassVar[str] = "expand-arrays"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            _function(func)
        return module


def _function(func: Func) -> None:
    for tape in of_kinds(func.body, {ops.alloc}):
        t = tape.result.type
        assert isinstance(t, MemRefType)
        if TAPE in tape.attrs and isinstance(t.element, MemRefType):
            rows = _Rows(tape)
            if rows.can_be_one():
                rows.expand()


class _Rows:
    """The rows of a tape: ``store`` keeps the row that ``row`` makes, ``loads`` read rows again."""

    def __init__(self, tape: Op) -> None:
        self.tape = tape
        users = [op for op, _ in tape.result.uses]
        self.stores = [op for op in users if op.opdef is ops.store]
        self.loads = [op for op in users if op.opdef is ops.load]
        self.known = len(users) == len(self.stores) + len(self.loads)

    @property
    def store(self) -> Op:
        return self.stores[0]

    @property
    def row(self) -> Op | None:
        return self.store.operands[0].op

    def can_be_one(self) -> bool:
        """Whether each iteration makes one row, all rows have one length, and only elements of rows are accessed."""
        if not self.known or len(self.stores) != 1 or (row := self.row) is None or row.opdef is not ops.alloc:
            return False
        t = row.result.type
        assert isinstance(t, MemRefType)
        around = []
        for op in enclosing(self.store.parent):
            if op.parent is not None and op.opdef not in COUNTED:
                return False
            around.append(op)
            if op.parent is self.tape.parent:
                break
        else:
            return False
        counters = {op.regions[0].args[0] for op in around}
        if around[-1].opdef is not ops.parallel or set(self.store.operands[2:]) != counters:
            return False
        if row.parent is not self.store.parent or any(inside(v, around[-1]) for v in row.operands):
            return False
        if t.strides is not None or isinstance(t.element, MemRefType) or TAPE in row.attrs:
            return False
        uses = [(op, k) for made in (row, *self.loads) for op, k in made.result.uses if op is not self.store]
        return all(is_elementwise(op, k) for op, k in uses)

    def expand(self) -> None:
        row, tape = self.row, self.tape
        assert row is not None and row.result.type is not None
        t, kept = row.result.type, tape.result.type
        assert isinstance(t, MemRefType) and isinstance(kept, MemRefType)
        loop = next(op for op in enclosing(self.store.parent) if op.parent is tape.parent)
        with insert_at(Block(), tape.loc) as made:
            whole = MemRefType((*kept.shape, *t.shape), t.element)
            array = build(ops.alloc, [*tape.operands, *row.operands], {"type": whole, TAPE: True}).result
            array.hint = tape.result.hint
        put_instead(loop, [*made.ops, loop])
        dynamic = iter(row.operands)
        extents = [next(dynamic) if n is None else n for n in t.shape]
        for one, at in [(row, self.store.operands[2:]), *((load, load.operands[1:]) for load in self.loads)]:
            for user in list(dict.fromkeys(op for op, _ in one.result.uses)):
                if user is not self.store:
                    _replace(user, array, at, extents)
        for op in (self.store, *self.loads, row, tape):
            put_instead(op, [])
            op.drop()


def _replace(user: Op, array: Value, at: Sequence[Value], extents: Sequence[Value | int]) -> None:
    """Replace a row by the part of the array at those first subscripts in an operation that uses it."""
    with insert_at(Block(), user.loc) as made:
        if user.opdef is ops.fill:
            rest = [n if isinstance(n, Value) else const_index(n) for n in extents]
            value = user.operands[0]
            nest(rest, lambda own: build(ops.store, [value, array, *at, *own]))
        elif user.opdef is ops.dim:
            extent = extents[int(user.attrs["dim"])]
            user.result.replace_uses(extent if isinstance(extent, Value) else const_index(extent))
        else:
            k = ELEMENT[user.opdef]
            operands = [*user.operands[:k], array, *at, *user.operands[k + 1 :]]
            new = build(user.opdef, operands, dict(user.attrs))
            for old, result in zip(user.results, new.results, strict=True):
                result.hint = old.hint
                old.replace_uses(result)
    put_instead(user, made.ops)
    user.drop()
