"""Preparing a function for differentiation: a copy whose loops, calls and memory the reverse sweep can mirror."""

from __future__ import annotations

from collections.abc import Callable

from adc.ir import kinds, ops
from adc.ir.attached import is_constant
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.diagnostics import AdcError
from adc.ir.externals import Named, provided
from adc.ir.types import MemRefType, RecordType
from adc.passes.analysis.messages import Messages
from adc.passes.differentiation import user_rules
from adc.passes.differentiation.activity.activity import Activity, Interface, analyse
from adc.passes.differentiation.activity.flow import foreign_outputs
from adc.passes.differentiation.call_plan import CallPlan
from adc.passes.differentiation.need.demand import Augmented
from adc.passes.differentiation.prepare.choices import link_choices
from adc.passes.differentiation.prepare.extremes import locate_extremes
from adc.passes.differentiation.prepare.products import split_products
from adc.passes.differentiation.prepare.rotate import rotate_while_loops
from adc.passes.differentiation.prepare.split_extremes import split_extremes
from adc.passes.differentiation.reverse.shadows import add_companions, add_counters
from adc.passes.differentiation.storage.insertion import Insertions
from adc.passes.differentiation.storage.legality import Legality
from adc.passes.differentiation.storage.storage import Recipes

Split = Callable[[str, Interface, frozenset[int]], CallPlan]


def serialise_reductions(module: Module, func: Func, interface: Interface) -> None:
    """Turn parallel loops that reduce floats by product, minimum or maximum into sequential ones, if the result is
    active and ``locate_extremes`` has not replaced it.

    The reversal of a sum does not depend on the order of its terms; that of the other reductions does.
    """
    found = [r for op in func.walk() if op.opdef is ops.parallel for r in _in_order(op)]
    if found:
        ordered = set(filter(analyse(module, func, interface).active, found))
        split_extremes(module, func, ordered)
        locate_extremes(func, ordered)
        split_products(func, ordered)
        serialise(func, lambda loop: not ordered.isdisjoint(loop.results))


def keep_memory(func: Func) -> None:
    """Drop the operations that free memory. A gradient frees what it has reversed, and that is just what the reversal
    of the gradient begins with.

    The reverse sweep frees that memory in the end; memory that it does not use is freed after its last use again.
    """

    def visit(block: Block) -> None:
        kept: list[Op] = []
        for op in block.ops:
            for region in op.regions:
                visit(region)
            if op.opdef in (ops.dealloc, ops.release):
                op.drop()
            else:
                kept.append(op)
        block.set_ops(kept)

    visit(func.body)


def serialise(func: Func, chosen: Callable[[Op], bool]) -> None:
    """Turn the parallel loops that are ``chosen`` into sequential ones."""

    def visit(block: Block) -> None:
        made: list[Op] = []
        for op in block.ops:
            for region in op.regions:
                visit(region)
            made.append(_sequential(op) if op.opdef is ops.parallel and chosen(op) else op)
        block.set_ops(made)

    visit(func.body)


def _in_order(loop: Op) -> list[Value]:
    """The results that are reductions of floats other than sums."""
    kinds = loop.regions[0].terminator.attrs["kinds"]
    return [r for kind, r in zip(kinds, loop.results, strict=True) if r.type.is_float and kind != "add"]


def _sequential(op: Op) -> Op:
    (body,) = op.regions
    carried = [body.add_arg(r.type) for r in op.results]
    end = body.terminator
    body.set_ops(body.ops[:-1])
    with insert_at(body, op.loc):
        combined = [_combine(kind, a, v) for kind, a, v in zip(end.attrs["kinds"], carried, end.operands, strict=True)]
        build(ops.yield_, combined)
    end.drop()
    op.set_regions(())
    loop = Op(ops.for_, op.operands, [r.type for r in op.results], {}, [body], op.loc)
    for old, new in zip(op.results, loop.results, strict=True):
        new.hint = old.hint
        old.replace_uses(new)
    op.drop()
    return loop


def _combine(kind: str, a: Value, b: Value) -> Value:
    on_floats, on_integers = ops.COMBINE[kind]
    return (on_floats if a.type.is_float else on_integers)(a, b)


def augment(
    module: Module,
    func: Func,
    interface: Interface,
    stable: frozenset[int],
    split: Split,
    *,
    direct: bool,
    shadow_args: Callable[[Func, Activity], dict[Value, Value]],
    assumed: CallPlan | None = None,
) -> tuple[Augmented, Recipes]:
    """Prepare ``func`` (a private copy): companions, counters, calls of augmented functions.

    ``split`` differentiates a callee. ``shadow_args`` gives the companions of the function's arguments. The arguments
    and results that have a shadow according to ``assumed`` get one.
    """
    user_rules.expand(module, func)
    keep_memory(func)
    serialise_reductions(module, func, interface)
    link_choices(func)
    rotate_while_loops(func)
    activity = analyse(module, func, interface)
    activity.include_held()
    if assumed is not None:
        returned = func.body.terminator.operands
        results = [returned[k] for k in (*assumed.shadow_results, *assumed.given)]
        activity.give_shadows(v for v in (*(func.args[k] for k in assumed.shadows), *results) if _is_memory(v))
    check_rules(module, func, activity)
    legality = Legality(module, func, activity.aliasing, stable, direct=direct)
    augmented = Augmented(module, func, activity, interface, direct)
    if assumed is not None:
        augmented.given.update(func.body.terminator.operands[k] for k in assumed.given)
    _plan_calls(augmented, legality, split)
    augmented.find_adjoint_regions()
    add_counters(augmented)
    augmented.companion.update(shadow_args(func, activity))
    insertions = Insertions()
    add_companions(augmented, insertions)
    insertions.apply(func)
    return augmented, Recipes(augmented, legality)


def check_rules(module: Module, func: Func, activity: Activity) -> None:
    """Refuse the derivatives that rules do not give."""
    for op in func.walk():
        if op.opdef is ops.external and activity.active(op.result):
            _check_partials(op, activity)
        if op.opdef is ops.foreign and any(_has_derivative(activity, v) for v in foreign_outputs(op)):
            raise _without_rule(op)
        if op.opdef not in (ops.call, ops.ruled) or user_rules.rules_of(module, op) is None:
            continue
        if any(_has_derivative(activity, r) for r in op.results):
            user_rules.refuse_constants(module, op, lambda v: _varies(activity, v))


def _check_partials(op: Op, activity: Activity) -> None:
    library, name = op.attrs["library"], op.attrs["symbol"]
    function = provided(Named.by(op))
    if function is None or function.partials is None:
        raise _without_rule(op)
    for k, (partial, operand) in enumerate(zip(function.partials, op.operands, strict=True)):
        if partial is None and activity.active(operand):
            help = "keep that argument constant, with adc.stop_gradient, or give a rule that has it"
            raise kinds.NO_DERIVATIVE(f"{library}.{name} has no derivative by argument {k + 1}", op.loc, help=help)


def _without_rule(op: Op) -> AdcError:
    name = op.attrs["symbol"]
    rule = "scalar_rule" if op.opdef is ops.external else "rrule"
    help = f"give it one: adc.{rule}({name}, ...)"
    if op.opdef is ops.foreign and op.attrs["written"]:
        help = "let a function call it that returns a new array, and give that one a rule with adc.rrule"
    return kinds.NO_DERIVATIVE(f"the C function {name} has no derivative rule", op.loc, help=help)


def _has_derivative(activity: Activity, value: Value) -> bool:
    return activity.has_shadow(value) if isinstance(value.type, MemRefType) else activity.active(value)


def _varies(activity: Activity, value: Value) -> bool:
    roots = activity.aliasing.roots(value) if isinstance(value.type, MemRefType) else {value}
    return not activity.varied.isdisjoint(roots)


def _is_memory(value: Value) -> bool:
    return isinstance(value.type, MemRefType)


def _concerns(interface: Interface, call: Op) -> bool:
    """Whether a call has derivatives, or makes shadows that overlap, or a record: that holds shadows if it holds
    anything that may have one."""
    active = interface.varied and (interface.useful_results or interface.useful_args)
    return bool(active) or bool(interface.shadowed) or _makes_record(call)


def _makes_record(call: Op) -> bool:
    return any(isinstance(r.type, RecordType) for r in call.results)


def _plan_calls(augmented: Augmented, legality: Legality, split: Split) -> None:
    """Differentiate the callees. What one of them needs a shadow of must have a shadow here."""
    activity = augmented.activity
    calls = [op for op in augmented.func.walk() if op.opdef is ops.call]
    crossing = Messages.asked(augmented.module).crossing
    stable = {
        op: frozenset(
            k for k, v in enumerate(op.operands) if isinstance(v.type, MemRefType) and legality.intact_after(op, v)
        )
        for op in calls
    }
    settled = False
    while not settled:
        settled = True
        augmented.calls.clear()
        for op in calls:
            interface = activity.interface_of(op)
            crosses = op.attrs["callee"] in crossing
            concerned = crosses or _concerns(interface, op)
            if not concerned or is_constant(augmented.module.funcs[op.attrs["callee"]]):
                continue
            plan = split(op.attrs["callee"], interface, stable[op])
            needed = crosses or bool(interface.shadowed) or _makes_record(op)
            if not needed and (plan.is_left_out or not (plan.shadows or plan.cotangents_out)):
                continue
            augmented.calls[op] = plan
            beside = [op.operands[k] for k in plan.shadows]
            beside += [op.results[k] for k in (*plan.shadow_results, *plan.given)]
            lacking = [v for v in beside if not activity.has_companion(v)]
            if lacking:
                activity.give_shadows(lacking)
                settled = False
