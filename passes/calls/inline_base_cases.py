"""The base case of a recursive function, in which it does not call itself, is inlined into its recursive callers.

    def total(node, depth):
        if depth == 0:                 # asked by the caller, before it calls
            return value[node]
        return total(2 * node, depth - 1) + total(2 * node + 1, depth - 1)

In a tree, at least half of the calls are for leaves, which do little: the call, its checks and the record that it
leaves for a reverse sweep take most of their time. The code before the branch is run twice if the call is made after
all; so it must be short, and change nothing.

This is partial inlining, as LLVM has it for functions that return early.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import recursive
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import with_inner
from adc.ir.opdef import Trait
from adc.ir.rewrite import clone_op, inline_block
from adc.ir.types import MemRefType, RecordType
from adc.passes.analysis.kinds import WRITES
from adc.passes.calls.inline import may_be_inlined
from adc.passes.rewrite import put_instead, replace_op


@dataclass(frozen=True)
class InlineBaseCases:
    """Inline base cases of at most ``most`` operations, after at most as many before the branch, without constants."""

    most: int = 24
    name: ClassVar[str] = "inline-base-cases"

    def run(self, module: Module) -> Module:
        circular = recursive(module)
        cases = [_case_of(module.funcs[name], self.most) for name in module.funcs if name in circular]
        by_name = {case.func.name: case for case in cases if case is not None}
        calls = [
            op
            for name in module.funcs
            if name in circular
            for op in module.funcs[name].walk()
            if op.opdef is ops.call and op.attrs["callee"] in by_name
        ]
        for call in calls:
            _put_in_place(by_name[call.attrs["callee"]], call)
        return module


@dataclass(frozen=True)
class _Case:
    """The base case is region ``side`` of a branch of ``func``; the operations ``before`` come before the branch."""

    func: Func
    before: Sequence[Op]
    branch: Op
    side: int


def _case_of(func: Func, most: int) -> _Case | None:
    """The base case of a function that ends with the branch, if it is short."""
    if not may_be_inlined(func) or any(isinstance(t, MemRefType | RecordType) for t in func.result_types):
        return None
    *others, end = func.body.ops
    branch = others[-1] if others else None
    if branch is None or branch.opdef is not ops.if_ or not set(branch.results).issuperset(end.operands):
        return None
    before = others[:-1]
    if not _is_short((inner for op in before for inner in with_inner(op)), most, _changes_nothing):
        return None
    for side, region in enumerate(branch.regions):
        if _is_short(region.walk(), most, _is_simple):
            return _Case(func, before, branch, side)
    return None


def _is_short(operations: Iterable[Op], most: int, allowed: Callable[[Op], bool]) -> bool:
    """Whether there are at most ``most`` operations, not counting constants, all of them ``allowed``."""
    count = 0
    for op in operations:
        count += op.opdef is not ops.constant
        if count > most or not allowed(op):
            return False
    return True


def _changes_nothing(op: Op) -> bool:
    return op.opdef not in WRITES and _is_simple(op)


def _is_simple(op: Op) -> bool:
    """Whether this is neither a call nor a loop, and allocates no memory."""
    kind = op.opdef
    if kind is ops.call or "callee" in op.attrs or Trait.ALLOCATES in kind.traits or Trait.LOOP in kind.traits:
        return False
    return kind.pure or kind in (ops.if_, ops.yield_, ops.load, ops.store, ops.bound, ops.assert_)


def _put_in_place(case: _Case, call: Op) -> None:
    """Replace ``call`` by a test for the base case, which is inlined, with the call for other cases."""
    mapping: dict[Value, Value] = dict(zip(case.func.args, call.operands, strict=True))
    types = [r.type for r in call.results]
    region = case.branch.regions[case.side]
    own, other = Block(), Block()
    with insert_at(Block(), call.loc) as made:
        for op in case.before:
            clone_op(op, mapping)
    with insert_at(own, call.loc):
        results = inline_block(region, (), mapping)
        build(ops.yield_, [results[v.index] for v in case.func.body.terminator.operands])
    with insert_at(other, call.loc):
        build(ops.yield_, build(ops.call, call.operands, dict(call.attrs)).results)
    condition = case.branch.operands[0]
    sides = [own, other] if case.side == 0 else [other, own]
    choice = Op(ops.if_, [mapping.get(condition, condition)], types, {}, sides, call.loc)
    made.append(choice)
    put_instead(call, made.ops)
    replace_op(call, choice.results)
