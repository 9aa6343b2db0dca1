"""Pullbacks of functions that return arrays: their reverse functions take cotangent arrays.

``differentiate.split`` needs a shadow of each array that the function made: here that is a copy of the cotangent. For
other array results it returns the shadows with the results: for a pullback called from Python these are packed into the
record, and the cotangents are added to them.
"""

from __future__ import annotations

from collections.abc import Sequence

from adc.driver.derived import clear_shadows
from adc.frontend.traced import Traced
from adc.ir import ops
from adc.ir.arith import const_index
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import callees
from adc.ir.core import Block, Func, Module, Value
from adc.ir.rewrite import inline_block
from adc.ir.types import MemRefType, Type, index, record
from adc.passes.differentiation.call_plan import CallPlan
from adc.passes.differentiation.calls import pieces
from adc.passes.differentiation.calls.pieces import as_type
from adc.passes.differentiation.reverse.shadows import cast_to, like


def seeded(module: Module, name: str, plan: CallPlan) -> tuple[str, str, tuple[int, ...]]:
    """The forward and the reverse function for a pullback of ``name``, and the results that take a cotangent, in order.

    The forward function takes the arguments and the shadows of ``plan.shadows``, and returns the results of the
    function and a record, if there is one. The reverse function takes the arguments ``plan.kept``, the shadows, one
    cotangent for each of the listed results (C-contiguous memrefs for arrays), and the record; it returns the
    cotangents ``plan.cotangents_out``.
    """
    if not plan.shadow_results and not plan.given:
        return plan.augmented, plan.reverse, plan.cotangents_in
    forward = _forward(module, name, plan) if plan.shadow_results else plan.augmented
    reverse, taken = _reverse(module, name, plan)
    return forward, reverse, taken


def clears(module: Module, traced: Traced, plan: CallPlan, reverse: str) -> frozenset[int]:
    """Let the reverse function set those shadows to zero whose arguments are never stored to.

    Such a shadow begins with zeros unless the caller gives a cotangent of the argument's final contents, which can as
    well be added at the end. Returns these arguments.
    """
    called = {name for func in module.funcs.values() for name in callees(func)}
    if traced.alias_groups or reverse in called:
        return frozenset()
    args = module.funcs[plan.augmented].args[len(traced.leaves) :]
    kept = list(plan.kept)
    func, positions = module.funcs[reverse], []
    for n, k in enumerate(plan.shadows):
        if k in kept and k not in traced.mutated and not args[n].uses:
            positions.append(len(kept) + n)
            func.arg_attrs[positions[-1]]["adc.shadow"] = kept.index(k)
    clear_shadows(func, positions)
    return frozenset(plan.shadows[k - len(kept)] for k in positions)


def both_halves(module: Module, forward: str, reverse: str, plan: CallPlan, taken: Sequence[int]) -> Func:
    """A function that calls the forward function, then the reverse function. It is never run, and in no module; it
    models the allocations of a pullback and one call of it."""
    first, second = module.funcs[forward], module.funcs[reverse]
    func = Func(f"{forward}.both", [a.type for a in first.args], [], [a.hint for a in first.args], first.loc)
    with insert_at(func.body, first.loc):
        results = build(ops.call, func.args, {"callee": forward, "types": first.result_types}).results
        fixed = len(plan.kept) + len(plan.shadows)
        types = [a.type for a in second.args]
        shadows = [func.args[k] for k in plan.shadows]
        operands = [func.args[k] for k in plan.kept]
        operands += [as_type(pieces.like(v), t) for v, t in zip(shadows, types[len(operands) : fixed], strict=True)]
        operands += [_stand_in(results[k], t) for k, t in zip(taken, types[fixed:], strict=False)]
        operands += results[len(first.result_types) - 1 :] if len(types) > len(operands) else []
        build(ops.call, operands, {"callee": reverse, "types": second.result_types})
        build(ops.return_, ())
    return func


def _stand_in(result: Value, t: Type) -> Value:
    """A stand-in for the cotangent of a result: the result itself, unless it has another layout."""
    return result if result.type == t or not isinstance(t, MemRefType) else as_type(pieces.like(result), t)


def _forward(module: Module, name: str, plan: CallPlan) -> str:
    primal, augmented = module.funcs[name], module.funcs[plan.augmented]
    results = (*primal.result_types, record)
    hints = [arg.hint for arg in augmented.args]
    func = Func(module.unique_name(f"{name}.forward"), [a.type for a in augmented.args], results, hints, primal.loc)
    func.arg_attrs = [dict(attrs) for attrs in augmented.arg_attrs]
    with insert_at(func.body, primal.loc):
        attrs = {"callee": augmented.name, "types": augmented.result_types}
        made = build(ops.call, func.args, attrs).results
        count = len(primal.result_types)
        build(ops.return_, [*made[:count], build(ops.pack, made[count:]).result])
    module.add(func)
    return func.name


def _reverse(module: Module, name: str, plan: CallPlan) -> tuple[str, tuple[int, ...]]:
    primal, augmented, reverse = module.funcs[name], module.funcs[plan.augmented], module.funcs[plan.reverse]
    taken = tuple(sorted({*plan.cotangents_in, *plan.shadow_results, *plan.given}))
    packed = augmented.result_types[len(primal.result_types) :]
    fixed = len(plan.kept) + len(plan.shadows)
    types = [a.type for a in reverse.args[:fixed]]
    hints = [a.hint for a in reverse.args[:fixed]]
    for k in taken:
        t = primal.result_types[k]
        types.append(MemRefType(t.shape, t.element) if isinstance(t, MemRefType) else t)
        hints.append(f"result{k}_bar")
    called = module.unique_name(f"{name}.reverse")
    if packed:
        types.append(record)
        hints.append("record")
    func = Func(called, types, reverse.result_types, hints, primal.loc)
    func.arg_attrs[:fixed] = [dict(attrs) for attrs in reverse.arg_attrs[:fixed]]
    with insert_at(func.body, primal.loc):
        values = _unpacked(func.args[-1], packed, plan) if packed else ()
        shadows = dict(zip(plan.shadow_results, values, strict=False))
        cotangents = dict(zip(taken, func.args[fixed:], strict=False))
        for k in plan.shadow_results:
            _add(cotangents[k], shadows[k])
        given = [_copied(cotangents[k], primal.result_types[k]) for k in plan.given]
        operands = [*func.args[:fixed], *given, *(cotangents[k] for k in plan.cotangents_in)]
        operands += [values[-1]] if plan.record else []
        if _may_move(module, reverse, plan):
            del module.funcs[reverse.name]
            build(ops.return_, inline_block(reverse.body, operands))
        else:
            attrs = {"callee": reverse.name, "types": reverse.result_types}
            build(ops.return_, build(ops.call, operands, attrs).results)
    module.add(func)
    return func.name, taken


def _may_move(module: Module, reverse: Func, plan: CallPlan) -> bool:
    """Whether the reverse sweep may be inlined into the function that takes cotangents, where it is optimised together
    with the initialisation of shadows.

    Not if shadows of results come with the record: the record may refer to the same memory again, which only calls
    hide.
    """
    called = {name for func in module.funcs.values() for name in callees(func)}
    return not plan.shadow_results and not reverse.attrs and reverse.name not in called


def _unpacked(packed: Value, types: Sequence[Type], plan: CallPlan) -> tuple[Value, ...]:
    """The shadows of results and the record of the reverse function, from the record of the pullback."""
    if not plan.shadow_results:
        return (packed,)
    return build(ops.unpack, [packed], {"types": tuple(types)}).results


def _copied(cotangent: Value, t: Type) -> Value:
    """A copy of a cotangent, as a shadow of a result of type ``t``."""
    own = cotangent.type
    assert isinstance(own, MemRefType) and isinstance(t, MemRefType)
    shadow = ops.alloc(*like(cotangent), type=MemRefType(t.shape, t.element))
    build(ops.copy, [cotangent, shadow])
    return cast_to(shadow, t)


def _add(source: Value, target: Value) -> None:
    """Add each element of ``source`` to that of ``target``, which is of the same shape."""
    t = source.type
    assert isinstance(t, MemRefType)

    def loops(subscripts: list[Value]) -> None:
        if len(subscripts) == t.rank:
            value = ops.load(source, *subscripts)
            build(ops.accumulate, [value, target, *subscripts])
            return
        upper = ops.dim(source, dim=len(subscripts))
        body = Block([index])
        with insert_at(body):
            loops([*subscripts, body.args[0]])
            build(ops.yield_, [])
        build(ops.for_, [const_index(0), upper, const_index(1)], result_types=[], regions=[body])

    loops([])
