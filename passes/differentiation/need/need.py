"""Need: which primal values the adjoint of an operation uses.

The answer for scalar operations is read off their derivative rules: a rule is run on placeholders, and what the terms
of the active operands reach is needed. So a sum needs nothing, a product needs the factor opposite to an active one,
and no table of needs can drift from the table of rules.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Mapping, Sequence

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.builder import insert_at
from adc.ir.core import Attr, Block, Loc, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.opdef import OpDef
from adc.ir.types import Type, i1
from adc.passes.differentiation.rules import RULES, Terms
from adc.passes.differentiation.sources import Sources


@functools.cache
def _keywords(opdef: OpDef) -> tuple[str, ...]:
    """The attributes that a rule asks for."""
    parameters = inspect.signature(RULES[opdef]).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


def apply_rule(opdef: OpDef, attrs: Mapping[str, Attr], g: Value, y: Value, operands: Sequence[Value]) -> Terms:
    """Append a rule's terms at the insertion point."""
    return RULES[opdef](g, y, *operands, **{name: attrs[name] for name in _keywords(opdef)})


def live_ops(block: Block, roots: Iterable[Value]) -> list[Op]:
    """The operations of a block without regions that ``roots`` depend on, in order."""
    wanted = {v.op for v in roots}
    live: list[Op] = []
    for op in reversed(block.ops):
        if op in wanted:
            live.append(op)
            wanted.update(v.op for v in op.operands)
    return live[::-1]


@dataclass(frozen=True)
class Needs:
    """Which operands of a scalar operation the adjoint uses, and whether it uses the result."""

    result: bool
    operands: tuple[int, ...]


def needs(op: Op, active: Sequence[int]) -> Needs:
    """What the adjoint of a scalar operation uses when the operands at positions ``active`` are active."""
    attrs = tuple((name, op.attrs[name]) for name in _keywords(op.opdef))
    return _needs(op.opdef, tuple(v.type for v in op.operands), op.result.type, attrs, tuple(active))


@functools.cache
def _needs(
    opdef: OpDef, types: tuple[Type, ...], result: Type, attrs: tuple[tuple[str, Attr], ...], active: tuple[int, ...]
) -> Needs:
    dummies = Block((result, result, *types))
    g, y, *operands = dummies.args
    with insert_at(Block(), Loc("<rule>", 0)) as scratch:
        terms = apply_rule(opdef, dict(attrs), g, y, operands)
    wanted = [terms[k] for k in active]
    reached = {v for v in wanted if v is not None}
    for op in live_ops(scratch, reached):
        reached.update(op.operands)
    return Needs(y in reached, tuple(k for k, v in enumerate(operands) if v in reached))


def contributes(op: Op, k: int) -> bool:
    """Whether a scalar operation has a term for its operand ``k``."""
    attrs = tuple((name, op.attrs[name]) for name in _keywords(op.opdef))
    return k in _contributing(op.opdef, tuple(v.type for v in op.operands), op.result.type, attrs)


@functools.cache
def _contributing(
    opdef: OpDef, types: tuple[Type, ...], result: Type, attrs: tuple[tuple[str, Attr], ...]
) -> frozenset[int]:
    g, y, *operands = Block((result, result, *types)).args
    with insert_at(Block(), Loc("<rule>", 0)):
        terms = apply_rule(opdef, dict(attrs), g, y, operands)
    return frozenset(k for k, term in enumerate(terms) if term is not None)


def emit_rule(
    op: Op,
    active: Sequence[int],
    g: Value,
    y: Value | None,
    operands: Sequence[Value | None],
    target: Block,
    mark: Value | None = None,
    sources: Sources | None = None,
) -> list[Value | None]:
    """Append to ``target`` the terms of the ``active`` operands, without what only other terms need.

    Values that are not needed may be None. Returns one term per entry of ``active``. Where ``mark`` holds, ``g`` is
    nothing, and so are its products; ``sources`` records what is made of ``g`` (see
    ``adc.passes.differentiation.need.strong_zeros``).
    """
    dummies = Block((op.result.type, *(v.type for v in op.operands)))
    filled = [dummies.args[k + 1] if v is None else v for k, v in enumerate(operands)]
    with insert_at(Block(), op.loc) as scratch:
        terms = apply_rule(op.opdef, op.attrs, g, dummies.args[0] if y is None else y, filled)
    wanted = [terms[k] for k in active]
    live = live_ops(scratch, (v for v in wanted if v is not None))
    kept = set(live)
    multiples = {g}
    for made in scratch.ops:
        if made not in kept:
            made.drop()
            continue
        if not multiples.isdisjoint(made.operands):
            if sources is not None:
                sources.follow(made, multiples)
            if mark is not None:
                with insert_at(target, op.loc):
                    _strengthen(made, multiples, mark)
            multiples.add(made.result)
        target.append(made)
    return wanted


def _strengthen(op: Op, multiples: set[Value], mark: Value) -> None:
    """Turn a product or quotient of one of ``multiples`` into a strong one, which is nothing where ``mark`` holds."""
    if op.opdef in (ops.strong_mulf, ops.strong_divf):
        op.set_operand(2, ops.ori(mark, op.operands[2]))
    elif op.opdef in (ops.mulf, ops.divf):
        g, by = op.operands if op.operands[0] in multiples else op.operands[::-1]
        if not _is_finite(by):
            op.set_operand(0, g)
            op.set_operand(1, by)
            op.add_operand(mark)
            if op.opdef is ops.mulf:
                op.add_operand(const(False, i1))
            op.set_opdef(ops.strong_mulf if op.opdef is ops.mulf else ops.strong_divf)


def _is_finite(value: Value) -> bool:
    """Whether a number is finite, whatever the arguments are."""
    op = value.op
    if op is None:
        return False
    if op.opdef in (ops.negf, ops.mulf):
        return all(map(_is_finite, op.operands))
    if op.opdef is ops.copysign:
        return _is_finite(op.operands[0])
    return op.opdef in (ops.constant, ops.sitofp, ops.uitofp)
