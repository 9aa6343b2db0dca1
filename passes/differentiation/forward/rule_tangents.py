"""Forward mode of functions that have derivative rules: by their frule or, for numbers, by their pullback.

A pullback is linear, so with a cotangent of one for a result it gives the partial derivatives of that result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adc.ir import kinds, ops
from adc.ir.alias import Aliasing
from adc.ir.arith import as_float, const
from adc.ir.attached import Attached, attached, is_float
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import recursive
from adc.ir.core import Func, Module, Op, Value
from adc.ir.rewrite import inline_block
from adc.ir.types import MemRefType, Type, i1
from adc.passes.building import sum_of
from adc.passes.differentiation.activity.activity import Interface
from adc.passes.differentiation.reverse.shadows import cast_to, like, zeroed
from adc.passes.differentiation.sources import Sources
from adc.passes.differentiation.user_rules import inline_small

Places = tuple[tuple[int, ...], tuple[int, ...]]  # arguments and results that have a tangent


def rule_places(module: Module, name: str, interface: Interface) -> Places | None:
    """Which arguments and results of a function have tangents by its rules; None if it has no rules."""
    func = module.funcs[name]
    rules = attached(func)
    if rules is None:
        return None
    if rules.frule is None and not _between_numbers(module, func, rules):
        raise kinds.NO_DERIVATIVE(
            f"{rules.text} has no forward rule, and with arrays none follows from an rrule",
            func.loc,
            help="give an frule as well, or use reverse mode",
        )
    known = rules.tangents if rules.frule is not None else rules.cotangents
    results = tuple(k for k, t in enumerate(func.result_types) if is_float(t))
    return tuple(k for k in known if k in interface.varied), results


def _between_numbers(module: Module, func: Func, rules: Attached) -> bool:
    if rules.rrule is None:
        return False
    types = [*(a.type for a in func.args), *module.funcs[rules.rrule].result_types]
    return not any(isinstance(t, MemRefType) for t in types)


def rule_tangent(module: Module, name: str, places: Places) -> Func:
    """The function with tangents at ``places``, by the rules. It is added to the module."""
    primal = module.funcs[name]
    rules = attached(primal)
    assert rules is not None
    for part in rules.functions:
        inline_small(module, module.funcs[part].body, recursive(module))
    arguments, _ = places
    types = [*(a.type for a in primal.args), *(primal.args[k].type for k in arguments)]
    hints = [*(a.hint for a in primal.args), *(f"{primal.args[k].hint}_dot" for k in arguments)]
    func = Func(module.unique_name(f"{name.replace('.ruled', '')}.jvp"), types, (), hints, primal.loc)
    numbers = [attrs["adc.alias"] for attrs in primal.arg_attrs if "adc.alias" in attrs]
    shift = max(numbers, default=0) + 1
    for new, attrs in enumerate(primal.arg_attrs):
        func.arg_attrs[new].update(attrs)
    for new, k in enumerate(arguments, len(primal.args)):
        if "adc.alias" in primal.arg_attrs[k]:
            func.arg_attrs[new]["adc.alias"] = primal.arg_attrs[k]["adc.alias"] + shift
    own = list(func.args[: len(primal.args)])
    given = dict(zip(arguments, func.args[len(own) :], strict=True))
    with insert_at(func.body, func.loc):
        if rules.frule is not None:
            results = _by_frule(module, rules, primal, own, given)
        else:
            results = _by_pullback(module, rules, primal, own, given)
        build(ops.return_, results)
    func.result_types = tuple(v.type for v in results)
    return module.add(func)


def _by_frule(
    module: Module, rules: Attached, primal: Func, own: list[Value], given: dict[int, Value]
) -> list[Value]:
    assert rules.frule is not None
    rule = module.funcs[rules.frule]
    tangents = [given[k] if k in given else _zero(own[k]) for k in rules.tangents]
    found = inline_block(rule.body, [*own, *tangents])
    count = len(primal.result_types)
    aliasing = Aliasing(rule, module)
    returned = rule.body.terminator.operands[count:]
    outside = {root for a in rule.args if isinstance(a.type, MemRefType) for root in aliasing.roots(a)}
    outside |= {
        root
        for v in rule.body.terminator.operands[:count]
        if isinstance(v.type, MemRefType)
        for root in aliasing.roots(v)
    }
    results = found[:count]
    floats = [t for t in primal.result_types if is_float(t)]
    seen: set[Value] = set()
    for tangent, source, t in zip(found[count:], returned, floats, strict=True):
        if isinstance(t, MemRefType):
            roots = aliasing.roots(source)
            # The tangent of an array is memory of its own, laid out as the array is.
            if tangent.type != t or not roots.isdisjoint(outside | seen):
                tangent = _copied(tangent, t)
            seen |= roots
        results.append(tangent)
    return results


def _by_pullback(
    module: Module, rules: Attached, primal: Func, own: list[Value], given: dict[int, Value]
) -> list[Value]:
    assert rules.rrule is not None and rules.pullback is not None
    found = inline_block(module.funcs[rules.rrule].body, own)
    count = len(primal.result_types)
    results, residuals = found[:count], found[count:]
    types = [t for t in primal.result_types if t.is_float]
    return results + tangents_by_pullback(module, rules, residuals, types, given, Sources())


def tangents_by_pullback(
    module: Module,
    rules: Attached,
    residuals: Sequence[Value],
    types: Sequence[Type],
    given: Mapping[int, Value],
    sources: Sources,
) -> list[Value]:
    """Append the tangents of the results, floats of ``types``, from the tangents of some arguments."""
    assert rules.pullback is not None
    pullback = module.funcs[rules.pullback]
    marks = {n: sources.mark(dot) for n, dot in given.items()}
    tangents = []
    for k, t in enumerate(types):
        unit = [const(float(k == n), other) for n, other in enumerate(types)]
        partials = dict(zip(rules.cotangents, inline_block(pullback.body, [*residuals, *unit]), strict=True))
        terms = []
        for n, dot in given.items():
            term = as_float(_product(dot, partials[n], marks[n]), t)
            sources.note(term, dot)
            terms.append(term)
        tangents.append(sum_of(terms) if terms else const(0.0, t))
        sources.note(tangents[-1], *terms)
    return tangents


def _product(dot: Value, partial: Value, mark: Value | None) -> Value:
    return dot * partial if mark is None else ops.strong_mulf(dot, partial, mark, const(False, i1))


def _zero(v: Value) -> Value:
    return zeroed(v) if isinstance(v.type, MemRefType) else const(0.0, v.type)


def _copied(v: Value, t: MemRefType) -> Value:
    fresh = ops.alloc(*like(v), type=MemRefType(t.shape, t.element))
    build(ops.copy, [v, fresh])
    return cast_to(fresh, t)


def ruled_interface(op: Op, arguments: tuple[Value, ...], varies: set[Value]) -> Interface:
    """How the function of ``adc.ruled`` is differentiated."""
    return Interface(frozenset(k for k, v in enumerate(arguments) if v in varies), frozenset(range(len(op.results))))
