"""Calls of functions that have derivative rules, with arrays among their arguments or results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adc.ir import kinds, ops
from adc.ir.alias import Aliasing
from adc.ir.arith import const
from adc.ir.attached import Attached, attached, is_float
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import recursive
from adc.ir.core import Attr, Func, Module, Value
from adc.ir.rewrite import clone_func, inline_block
from adc.ir.types import MemRefType, Type, i1, record
from adc.passes.building import nest
from adc.passes.differentiation.activity.activity import Interface
from adc.passes.differentiation.call_plan import CallPlan
from adc.passes.differentiation.reverse.shadows import SHADOW_ALIAS, attrs_of_kept, cast_to, extents_of, like
from adc.passes.differentiation.user_rules import inline_small


def split_plan(module: Module, name: str, interface: Interface, augmented: str, reverse: str) -> CallPlan:
    """How a call with arrays is differentiated; the functions are made by ``split_functions``.

    All float results get cotangents, so that the pullback knows their shapes.
    """
    func = module.funcs[name]
    rules = attached(func)
    assert rules is not None
    if rules.rrule is None:
        raise kinds.NO_DERIVATIVE(
            f"{rules.text} has no reverse rule, and with arrays none follows from an frule",
            func.loc,
            help="give an rrule as well",
        )
    wanted = [k for k in rules.cotangents if k in interface.varied]
    results = list(enumerate(func.result_types))
    return CallPlan(
        augmented,
        reverse,
        tuple(k for k in wanted if isinstance(func.args[k].type, MemRefType)),
        (),
        tuple(k for k, t in results if isinstance(t, MemRefType) and t.element.is_float),
        (),
        tuple(k for k, t in results if t.is_float),
        tuple(k for k in wanted if not isinstance(func.args[k].type, MemRefType)),
        False,
    )


def split_functions(
    module: Module, name: str, stable: frozenset[int], plan: CallPlan
) -> tuple[CallPlan, Func, Func]:
    """The augmented and the reverse function of a function with rules. ``stable``: arguments that do not change."""
    primal = module.funcs[name]
    rules = attached(primal)
    assert rules is not None and rules.rrule is not None and rules.pullback is not None
    for part in rules.functions:
        inline_small(module, module.funcs[part].body, recursive(module))
    rule, pullback = module.funcs[rules.rrule], module.funcs[rules.pullback]
    # The augmented function: the rule, and shadows that it does not look at.
    func = clone_func(rule, plan.augmented)
    originals = list(func.args)
    for k in plan.shadows:
        t = originals[k].type
        assert isinstance(t, MemRefType)
        func.body.add_arg(t, f"{originals[k].hint}_bar")
        func.arg_attrs.append({"adc.shadow": k} | _shadow_alias(func.arg_attrs[k]))
    aliasing = Aliasing(func, module)
    end = func.body.terminator
    returned = list(end.operands[: len(primal.result_types)])
    residuals = list(end.operands[len(returned) :])
    func.body.set_ops(func.body.ops[:-1])
    end.drop()
    # Copy memory that may be written before the reverse sweep: what arguments hold, and results.
    memrefs = {k: aliasing.roots(v) for k, v in enumerate(originals) if _is_memref(v)}
    unsafe = {root for v in returned if _is_memref(v) for root in aliasing.roots(v)}
    unsafe |= {root for k, roots in memrefs.items() if k not in stable for root in roots}
    copies: dict[Value, Value] = {}
    with insert_at(func.body, func.loc):
        for v in dict.fromkeys(residuals):
            if _is_memref(v) and not unsafe.isdisjoint(aliasing.roots(v)):
                copies[v] = _copied(v)
    used = [copies.get(v, v) for v in residuals]
    memory = {root for v in residuals if _is_memref(v) and v not in copies for root in aliasing.roots(v)}
    kept = [k for k, v in enumerate(originals) if v in used or not memory.isdisjoint(memrefs.get(k, ()))]
    packed = list(dict.fromkeys(v for v in used if v not in originals))
    with insert_at(func.body, func.loc):
        results = [*returned, *([build(ops.pack, packed).result] if packed else [])]
        build(ops.return_, results)
    func.result_types = tuple(v.type for v in results)
    # The reverse function: the pullback, whose cotangents of arrays are added to the shadows.
    args = [originals[k] for k in kept]
    types: list[Type] = [v.type for v in args] + [originals[k].type for k in plan.shadows]
    types += [primal.result_types[k] for k in (*plan.given, *plan.cotangents_in)] + ([record] if packed else [])
    hints = [v.hint for v in args] + [f"{originals[k].hint}_bar" for k in plan.shadows]
    hints += ["result_bar"] * (len(plan.given) + len(plan.cotangents_in)) + (["record"] if packed else [])
    rev = Func(plan.reverse, types, (), hints, primal.loc)
    for new, k in enumerate(kept):
        rev.arg_attrs[new] |= {**attrs_of_kept(primal, kept, k), "adc.readonly": True}
    for new, k in enumerate(plan.shadows, len(kept)):
        rev.arg_attrs[new] |= _shadow_alias(primal.arg_attrs[k])
    inputs = list(rev.args)
    values: dict[Value, Value] = dict(zip(args, inputs, strict=False))
    shadows = dict(zip(plan.shadows, inputs[len(kept) :], strict=False))
    given = inputs[len(kept) + len(plan.shadows) :]
    cotangents = dict(zip((*plan.given, *plan.cotangents_in), given, strict=False))
    with insert_at(rev.body, rev.loc):
        if packed:
            attrs = _memory_of(packed, aliasing, kept, originals, set(copies.values()))
            unpacked = build(ops.unpack, [inputs[-1]], {"types": tuple(v.type for v in packed), **attrs})
            values.update(zip(packed, unpacked.results, strict=True))
        floats = [k for k, t in enumerate(primal.result_types) if is_float(t)]
        passed = [values[x] for x in used] + [cotangents[k] for k in floats]
        passed = [_as(v, a.type) for v, a in zip(passed, pullback.args, strict=True)]
        found = dict(zip(rules.cotangents, inline_block(pullback.body, passed), strict=True))
        for k, shadow in shadows.items():
            _add_to(shadow, found[k], originals[k].hint, rules)
        build(ops.return_, [found[k] for k in plan.cotangents_out])
    rev.result_types = tuple(primal.args[k].type for k in plan.cotangents_out)
    return replace(plan, kept=tuple(kept), record=bool(packed)), func, rev


def _is_memref(v: Value) -> bool:
    return isinstance(v.type, MemRefType)


def _as(v: Value, t: Type) -> Value:
    return cast_to(v, t) if isinstance(t, MemRefType) else v


def _shadow_alias(attrs: dict[str, Attr]) -> dict[str, Attr]:
    number = attrs.get("adc.alias")
    return {} if number is None else {"adc.alias": number + SHADOW_ALIAS}


def _copied(v: Value) -> Value:
    """A copy of what a memref holds, of its type."""
    t = v.type
    assert isinstance(t, MemRefType)
    fresh = ops.alloc(*like(v), type=MemRefType(t.shape, t.element))
    build(ops.copy, [v, fresh])
    return cast_to(fresh, t)


def _memory_of(
    packed: Sequence[Value], aliasing: Aliasing, kept: Sequence[int], originals: Sequence[Value], copies: set[Value]
) -> dict[str, Attr]:
    """The attributes of ``adc.unpack`` that say which memory is unpacked."""
    place: dict[Value, int] = {}
    for new, k in enumerate(kept):
        if _is_memref(originals[k]):
            for root in aliasing.roots(originals[k]):
                place.setdefault(root, new)
    numbers: list[tuple[int, ...]] = []
    for v in packed:
        roots = () if not _is_memref(v) else (v,) if v in copies else aliasing.in_order(aliasing.roots(v))
        numbers.append(tuple(sorted(place.setdefault(root, -1 - len(place)) for root in roots)))
    return {"roots": tuple(numbers)}


def _add_to(shadow: Value, cotangent: Value, name: str, rules: Attached) -> None:
    """Add the cotangent of an array to its shadow, which has its shape."""
    fits = const(True, i1)
    extents = [(ops.dim(shadow, dim=k), ops.dim(cotangent, dim=k)) for k in range(shadow.type.rank)]  # type: ignore[attr-defined]
    for a, b in extents:
        fits = ops.andi(fits, ops.cmpi(a, b, predicate="eq"))
    shown = ", ".join("{}" for _ in extents)
    message = f"the pullback of the {rules.text} gives an array of shape ({shown}) for '{name}' of shape ({shown})"
    values = [*(b for _, b in extents), *(a for a, _ in extents)]
    build(ops.assert_, [fits, *values], {"error": "ShapeError", "message": message})
    nest(extents_of(shadow), lambda at: build(ops.accumulate, [ops.load(cotangent, *at), shadow, *at]))
