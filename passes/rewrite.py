"""Shared steps of passes that rebuild code: remove an operation, move a region's code, change what a loop carries.

Passes go through a block once, in order, and build its new list of operations; nothing is inserted in the middle of
a list, so a pass takes time linear in the size of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.loop_attrs import PRIVATE, UNORDERED


def replace_op(op: Op, values: Sequence[Value]) -> None:
    """Make the users of ``op`` use ``values`` instead; ``op`` itself, now without users, forgets its operands.

    The caller leaves it out of its block.
    """
    for old, new in zip(op.results, values, strict=True):
        if old is not new:
            old.replace_uses(new)
            keep_hint(old, new)
    op.drop()


def replace_each(block: Block, made: Callable[[Op], Value | None]) -> None:
    """Replace operations in a block, and in the regions in it, by what ``made`` appends for them; None: they stay."""
    new = block.in_place_of()
    for op in block.ops:
        for region in op.regions:
            replace_each(region, made)
        with insert_at(new, op.loc):
            value = made(op)
        if value is None:
            new.append(op)
        else:
            replace_op(op, [value])
    block.set_ops(new.ops)


def put_before(op: Op, made: Sequence[Op]) -> None:
    """Put operations before ``op``. Each call takes time linear in the length of the block."""
    put_instead(op, [*made, op])


def put_instead(op: Op, made: Sequence[Op]) -> None:
    """Replace ``op`` by operations in its block; ``op`` itself is not changed."""
    block = op.parent
    assert block is not None
    at = block.ops.index(op)
    block.set_ops([*block.ops[:at], *made, *block.ops[at + 1 :]])


def keep_hint(old: Value, new: Value) -> None:
    """Let ``new`` carry the Python name of the value that it replaces, unless it is a constant."""
    op = new.op
    if old.hint and not new.hint and (op is None or op.opdef is not ops.constant):
        new.hint = old.hint


def keep_args(block: Block, keep: Sequence[int]) -> None:
    """Leave ``block`` only the arguments at positions ``keep``; the others have no users."""
    block.keep_args(keep)


def keep_operands(block: Block, keep: Sequence[int]) -> None:
    """Leave the terminator of ``block`` only the operands at positions ``keep``."""
    old = block.ops[-1]
    if len(keep) == len(old.operands):
        return
    operands = [old.operands[k] for k in keep]
    attrs = dict(old.attrs)
    if old.opdef is ops.reduce:
        attrs["kinds"] = tuple(attrs["kinds"][k] for k in keep)
    old.drop()
    block.set_ops([*block.ops[:-1], Op(old.opdef, operands, (), attrs, loc=old.loc)])


def with_operands(op: Op, operands: Sequence[Value], keep_results: Sequence[int]) -> Op:
    """A copy of ``op`` that takes over its regions, with other operands and only some results; ``op`` is dropped.

    Results that are left out have no users. The caller puts the copy where ``op`` was.
    """
    results = [op.results[k] for k in keep_results]
    regions = op.regions
    op.set_regions(())
    new = Op(op.opdef, operands, [r.type for r in results], dict(op.attrs), regions, op.loc)
    op.drop()
    for old, result in zip(results, new.results, strict=True):
        old.replace_uses(result)
        result.hint = old.hint
    return new


def keep_carried(op: Op, keep: Sequence[int]) -> Op:
    """``scf.for``, ``scf.parallel`` or ``scf.if`` with only the carried values (results) at positions ``keep``.

    Arguments and results that are left out have no users.
    """
    for region in op.regions:
        keep_operands(region, keep)
        if op.opdef is ops.for_:
            keep_args(region, [0, *(k + 1 for k in keep)])
    operands = op.operands
    fixed = 1 if op.opdef is ops.if_ else 3
    if op.opdef is ops.if_:
        return with_operands(op, operands, keep)
    return with_operands(op, [*operands[:fixed], *(operands[fixed + k] for k in keep)], keep)


def keep_while(op: Op, carried: Sequence[int], passed: Sequence[int]) -> Op:
    """``scf.while`` with only the carried values ``carried`` and the values passed on (results) ``passed``."""
    before, after = op.regions
    keep_operands(before, [0, *(k + 1 for k in passed)])
    keep_operands(after, carried)
    keep_args(before, carried)
    keep_args(after, passed)
    return with_operands(op, [op.operands[k] for k in carried], passed)


def to_sequential(loop: Op) -> Op:
    """A ``scf.for`` with the body of the parallel ``loop``, which is dropped. Reductions become carried values."""
    body = loop.regions[0]
    end = body.pop()
    carried = [body.add_arg(v.type) for v in end.operands]
    with insert_at(body, end.loc):
        totals = []
        for kind, so_far, value in zip(end.attrs["kinds"], carried, end.operands, strict=True):
            opdef = ops.COMBINE[kind][0 if value.type.is_float else 1]
            totals.append(opdef(value, so_far) if kind in ("min", "max") else opdef(so_far, value))
        build(ops.yield_, totals)
    end.drop()
    loop.set_regions(())
    attrs = {name: value for name, value in loop.attrs.items() if name not in ("threads", PRIVATE)}
    attrs[UNORDERED] = True
    new = Op(ops.for_, loop.operands, [r.type for r in loop.results], attrs, [body], loop.loc)
    for old, result in zip(loop.results, new.results, strict=True):
        old.replace_uses(result)
        result.hint = old.hint
    loop.drop()
    return new
