"""Functions that do the same are merged: similar statements become equal nests, and LLVM compiles each only once.

Like LLVM's MergeFunctions, but before anything is spent on the duplicates. Names of values do not count. Neither do
source locations, unless an operation reports them: operations that may end the run, calls, and allocations of memory.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import count
from math import prod

from adc.ir import ops
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.nesting import of_kinds
from adc.ir.types import MemRefType
from adc.passes.analysis.attributes import attr_key
from adc.passes.analysis.kinds import LOOPS, PURE, SILENT, TERMINATORS

_AT_NO_PLACE = frozenset({ops.if_, ops.load, ops.store, ops.accumulate, ops.dealloc})
_TELL_NO_PLACE = (PURE | SILENT | LOOPS | TERMINATORS | _AT_NO_PLACE) - {ops.call, ops.alloc}
_TOUCH = frozenset({ops.load, ops.store, ops.dealloc})
_SMALL = 128  # elements of a buffer that is certainly in the frame

Key = tuple[Hashable, ...]


def merge_equal(module: Module, candidates: Iterable[Func]) -> None:
    """Keep one of the ``candidates`` that are equal, and call it in place of the others. Candidates are functions that
    only calls refer to."""
    first: dict[Key, str] = {}
    instead: dict[str, str] = {}
    for func in candidates:
        kept = first.setdefault(_key(func), func.name)
        if kept != func.name:
            instead[func.name] = kept
            del module.funcs[func.name]
    if not instead:
        return
    for func in module.funcs.values():
        for op in of_kinds(func.body, {ops.call}):
            if op.attrs["callee"] in instead:
                op.set_attr("callee", instead[op.attrs["callee"]])


def _key(func: Func) -> Key:
    """A key that is equal for functions that do the same in the same way."""
    numbers: dict[Value, int] = {}
    arguments = tuple(map(attr_key, func.arg_attrs))
    return attr_key(func.attrs), arguments, func.result_types, _block(func.body, numbers, count())


def _block(block: Block, numbers: dict[Value, int], fresh: count[int]) -> Key:
    numbers.update(zip(block.args, fresh, strict=False))
    return (*(arg.type for arg in block.args), *(_op(op, numbers, fresh) for op in block.ops))


def _op(op: Op, numbers: dict[Value, int], fresh: count[int]) -> Key:
    operands = tuple([numbers[v] for v in op.operands])
    regions = tuple([_block(region, numbers, fresh) for region in op.regions])
    numbers.update(zip(op.results, fresh, strict=False))
    place = None if op.opdef in _TELL_NO_PLACE or _in_frame(op) else op.loc
    return op.opdef, operands, tuple([r.type for r in op.results]), attr_key(op.attrs), regions, place


def _in_frame(op: Op) -> bool:
    """Whether ``op`` makes a small buffer, such as one for the lanes of a loop: allocating it cannot fail."""
    if op.opdef is not ops.alloc or op.operands:
        return False
    t = op.result.type
    assert isinstance(t, MemRefType)
    touched = all(user.opdef in _TOUCH and (user.opdef is not ops.store or at == 1) for user, at in op.result.uses)
    return touched and prod(extent or 0 for extent in t.shape) <= _SMALL
