"""Calls of functions that have derivative rules (``adc.ir.attached``).

A call of numbers is expanded where it is differentiated: what the rule computes becomes part of the caller, and
``adc.ruled`` stands for the results, whose cotangents the pullback turns into those of the arguments. The primal values
that the pullback needs are values of the caller like any others: stored or recomputed, whichever the plan finds
cheaper.

A call with arrays is differentiated as a call: its augmented function runs the rule and packs what the pullback needs
into a record; its reverse function runs the pullback. See ``adc.passes.differentiation.calls.rule_calls``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adc.ir import kinds, ops
from adc.ir.attached import Attached, attached, parts
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import recursive
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.externals import SYMBOL
from adc.ir.opdef import Trait
from adc.ir.rewrite import inline_block
from adc.ir.types import MemRefType
from adc.passes.rewrite import put_instead, replace_op

_STAYS = frozenset({"adc.entry", SYMBOL})
_EFFECTS = frozenset({Trait.WRITES, Trait.TRAPS})
MOST = 200  # operations at most in a function that a rule calls and that is inlined where the rule is used


def rules_of(module: Module, op: Op) -> Attached | None:
    """The rules by which a call, or the ``adc.ruled`` that replaced it, is differentiated."""
    callee = module.funcs.get(op.attrs["callee"])
    return attached(callee) if callee is not None else None


# Calls of numbers -----------------------------------------------------------------------------------------------------


def expand(module: Module, func: Func, *, forward: bool = False) -> None:
    """Put what rules compute in place of the calls of numbers in ``func``. ``forward``: only those whose tangents
    the pullback gives."""
    circular: frozenset[str] | None = None
    for op in list(func.walk()):
        rules = rules_of(module, op) if op.opdef is ops.call else None
        if rules is None or rules.rrule is None or (forward and rules.frule is not None):
            continue
        rule = module.funcs[rules.rrule]
        if any(isinstance(t, MemRefType) for t in (*(a.type for a in rule.args), *rule.result_types)):
            continue
        circular = recursive(module) if circular is None else circular
        for name in rules.functions:
            inline_small(module, module.funcs[name].body, circular)
        with insert_at(Block(), op.loc) as made:
            values = inline_block(rule.body, op.operands)
            types = tuple(r.type for r in op.results)
            attrs = {"callee": op.attrs["callee"], "types": types}
            ruled = build(ops.ruled, [*values, *op.operands], attrs)
        put_instead(op, made.ops)
        replace_op(op, ruled.results)


def inline_small(module: Module, block: Block, circular: frozenset[str]) -> None:
    """Inline small functions without rules into ``block``, which calls them."""
    work = [op for op in block.walk() if op.opdef is ops.call]
    while work:
        call = work.pop()
        callee = module.funcs[call.attrs["callee"]]
        if callee.name in circular or attached(callee) is not None or not _STAYS.isdisjoint(callee.attrs):
            continue
        if sum(1 for _ in callee.walk()) > MOST:
            continue
        with insert_at(Block(), call.loc) as made:
            results = inline_block(callee.body, call.operands)
        work += [op for op in made.walk() if op.opdef is ops.call]
        put_instead(call, made.ops)
        replace_op(call, results)


def varying(module: Module, op: Op) -> list[Value]:
    """The operands of a call with rules, or of ``adc.ruled``, that its results vary with."""
    rules = rules_of(module, op)
    assert rules is not None
    given = parts(op, module).arguments if op.opdef is ops.ruled else op.operands
    return [given[k] for k in sorted({*rules.cotangents, *rules.tangents, *rules.constant})]


def refuse_constants(module: Module, op: Op, varies: Callable[[Value], bool]) -> None:
    """Raise if a call is differentiated by an argument for which its rule gives no derivative."""
    rules = rules_of(module, op)
    assert rules is not None
    given = parts(op, module).arguments if op.opdef is ops.ruled else op.operands
    for k in rules.constant:
        if varies(given[k]):
            name = module.funcs[op.attrs["callee"]].args[k].hint or f"argument {k}"
            raise kinds.NO_DERIVATIVE(
                f"the {rules.text} gives no derivative by '{name}', which varies here",
                op.loc,
                help=f"give it in the rule (0.0 where it is zero), pass '{name}' by position if the rule has it so, "
                f"or adc.stop_gradient({name})",
            )


def needed_residuals(module: Module, op: Op, wanted: Sequence[int]) -> list[int]:
    """The residuals of ``adc.ruled`` that the pullback uses for those of its cotangents that are ``wanted``."""
    rules = rules_of(module, op)
    assert rules is not None and rules.pullback is not None
    pullback = module.funcs[rules.pullback]
    reached = {pullback.body.terminator.operands[k] for k in wanted}
    for inner in reversed(pullback.body.ops[:-1]):
        if _matters(inner) or not reached.isdisjoint(inner.results):
            reached.update(inner.operands)
            for region in inner.regions:
                for nested in region.walk():
                    reached.update(nested.operands)
    return [k for k in range(len(parts(op, module).residuals)) if pullback.args[k] in reached]


def _matters(op: Op) -> bool:
    """Whether an operation may do something besides computing its results."""
    if any(_matters(inner) for region in op.regions for inner in region.ops):
        return True
    return not _EFFECTS.isdisjoint(op.opdef.traits)
