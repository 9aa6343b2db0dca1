"""Two loops over the same range, or two branches on the same condition, as one."""

from __future__ import annotations

from collections.abc import Sequence

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Op, Value
from adc.ir.nesting import with_enclosing
from adc.ir.rewrite import Mapping, clone_op
from adc.ir.types import Type


def joined_loops(first: Op, second: Op) -> Op:
    """One loop that does what both do, the first one's part of an iteration before the second one's."""
    body, rest = (loop.regions[0] for loop in (first, second))
    rest.args[0].replace_uses(body.args[0])
    ends = [body.terminator, rest.terminator]
    kinds = tuple(kind for end in ends for kind in end.attrs["kinds"])
    values = [v for end in ends for v in end.operands]
    body.set_ops([*body.ops[:-1], *rest.ops[:-1]])
    body.append(Op(ops.reduce, values, (), {**ends[0].attrs, "kinds": kinds}, (), ends[0].loc))
    operands = [*first.operands, *second.operands[3:]]
    attrs = {name: value for name, value in first.attrs.items() if second.attrs.get(name) == value}
    return _instead(first, second, ends, Op(ops.parallel, operands, _types(first, second), attrs, [body], first.loc))


def joined_branches(first: Op, second: Op) -> Op:
    """One branch that does what both do."""
    regions, ends = [], []
    for one, other in zip(first.regions, second.regions, strict=True):
        end, last = one.terminator, other.terminator
        ends += [end, last]
        for result, value in zip(first.results, end.operands, strict=True):
            _replace_inside(result, value, other)
        values = [*end.operands, *last.operands]
        one.set_ops([*one.ops[:-1], *other.ops[:-1]])
        one.append(Op(ops.yield_, values, (), {}, (), last.loc))
        regions.append(one)
    joined = Op(ops.if_, first.operands, _types(first, second), dict(first.attrs), regions, first.loc)
    return _instead(first, second, ends, joined)


def with_following(branch: Op, following: Sequence[Op]) -> Op:
    """A branch that does what ``branch`` does and, on both sides, what follows it."""
    inside = set(following)
    values = [r for op in following for r in op.results]
    passed = [v for v in values if any(inside.isdisjoint(with_enclosing(user)) for user, _ in v.uses)]
    ends = []
    for region in branch.regions:
        end = region.pop()
        ends.append(end)
        mapping: Mapping = dict(zip(branch.results, end.operands, strict=True))
        with insert_at(region, end.loc):
            for op in following:
                clone_op(op, mapping)
            build(ops.yield_, [*end.operands, *(mapping[v] for v in passed)])
    types = [*(r.type for r in branch.results), *(v.type for v in passed)]
    made = Op(ops.if_, branch.operands, types, dict(branch.attrs), branch.regions, branch.loc)
    for result, new in zip([*branch.results, *passed], made.results, strict=True):
        new.hint = result.hint
        result.replace_uses(new)
    for op in (*ends, *reversed(following)):
        op.drop()
    branch.set_regions(())
    branch.drop()
    return made


def _replace_inside(old: Value, new: Value, block: Block) -> None:
    for user, position in list(old.uses):
        if any(op.parent is block for op in with_enclosing(user)):
            user.set_operand(position, new)


def _types(first: Op, second: Op) -> list[Type]:
    return [r.type for op in (first, second) for r in op.results]


def _instead(first: Op, second: Op, ends: list[Op], new: Op) -> Op:
    """Replace two operations by ``new``, which has their regions."""
    old = [*first.results, *second.results]
    for result, made in zip(old, new.results, strict=True):
        made.hint = result.hint
        result.replace_uses(made)
    for end in ends:
        end.drop()
    for op in (first, second):
        op.set_regions(())
        op.drop()
    return new
