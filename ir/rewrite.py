"""Copying IR: operations, blocks and functions under a mapping of values.

A mapping says which new value stands for an old one; what it does not name stands for itself. Copies extend the mapping
with their results and block arguments, so that several pieces of code can be copied one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.ir.builder import current_block
from adc.ir.core import Block, Func, Module, Op, Value

Mapping = dict[Value, Value]


def clone_op(op: Op, mapping: Mapping) -> Op:
    """Append a deep copy of ``op`` at the insertion point and extend ``mapping`` by its results."""
    return _clone_into(current_block(), op, mapping)


def _clone_into(target: Block, op: Op, mapping: Mapping) -> Op:
    regions = [clone_block(region, mapping) for region in op.regions] if op.regions else ()
    operands = [mapping.get(v, v) for v in op.operands]
    copy = Op(op.opdef, operands, [r.type for r in op.results], dict(op.attrs), regions, op.loc)
    for old, new in zip(op.results, copy.results, strict=True):
        new.hint = old.hint
        mapping[old] = new
    return target.append(copy)


def clone_block(block: Block, mapping: Mapping) -> Block:
    """A deep copy of ``block`` with arguments of the same types, in no region yet; ``mapping`` is extended."""
    copy = Block([a.type for a in block.args], [a.hint for a in block.args])
    mapping.update(zip(block.args, copy.args, strict=True))
    for op in block.ops:
        _clone_into(copy, op, mapping)
    return copy


def inline_block(block: Block, args: Sequence[Value], mapping: Mapping | None = None) -> list[Value]:
    """Append a copy of what ``block`` does to ``args``, without its terminator.

    Returns the copies of the terminator's operands.
    """
    mapping = {} if mapping is None else mapping
    mapping.update(zip(block.args, args, strict=True))
    for op in block.ops[:-1]:
        clone_op(op, mapping)
    return [mapping.get(v, v) for v in block.terminator.operands]


def clone_func(func: Func, name: str, mapping: Mapping | None = None) -> Func:
    """A deep copy of ``func`` under another name, in no module yet; ``mapping`` is extended."""
    copy = Func(name, [a.type for a in func.args], func.result_types, [a.hint for a in func.args], func.loc)
    copy.arg_attrs = [dict(attrs) for attrs in func.arg_attrs]
    copy.attrs = dict(func.attrs)
    mapping = {} if mapping is None else mapping
    mapping.update(zip(func.args, copy.args, strict=True))
    for op in func.body.ops:
        _clone_into(copy.body, op, mapping)
    return copy


def clone_module(module: Module) -> Module:
    """A deep copy: functions of the same names, attributes that are the same objects."""
    return Module({name: clone_func(func, func.name) for name, func in module.funcs.items()})


def erase_if(block: Block, dead: Callable[[Op], bool]) -> bool:
    """Drop the operations of ``block``, nested ones included, that are ``dead``; later ones are tested first.

    Returns whether there were any. An operation is tested after its users have been dropped.
    """
    kept: list[Op] = []
    changed = False
    for op in reversed(block.ops):
        if dead(op):
            op.drop()
            changed = True
            continue
        for region in reversed(op.regions):
            changed |= erase_if(region, dead)
        kept.append(op)
    if changed:
        block.set_ops(kept[::-1])
    return changed


def used_from_outside(moved: Sequence[Op]) -> list[Value]:
    """The values from outside that ``moved`` use, in the order of their first use."""
    inside: set[Value] = set()
    found: dict[Value, None] = {}

    def visit(operations: Sequence[Op]) -> None:
        for op in operations:
            found.update((v, None) for v in op.operands if v not in inside)
            for region in op.regions:
                inside.update(region.args)
                visit(region.ops)
            inside.update(op.results)

    visit(moved)
    return list(found)
