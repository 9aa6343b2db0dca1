"""Arguments of the functions that differentiation makes: shadows, copies, and what a reverse function is given."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Func, Op, Value
from adc.ir.types import MemRefType, Type, record
from adc.passes.differentiation.activity.activity import Activity
from adc.passes.differentiation.activity.held import is_container
from adc.passes.differentiation.need.demand import Augmented
from adc.passes.differentiation.reverse.shadows import SHADOW_ALIAS, attrs_of_kept, cast_to, like, zeroed


def remove_return(func: Func) -> list[Value]:
    """Remove the return from the end of a function, so that more can follow, and give the values that it returned."""
    end = func.body.terminator
    returned = list(end.operands)
    func.body.set_ops(func.body.ops[:-1])
    end.drop()
    return returned


def add_shadow_arg(func: Func, position: int, t: Type) -> Value:
    """Add an argument of type ``t``: the shadow of the argument at ``position``."""
    name = func.args[position].hint
    shadow = func.body.add_arg(t, f"{name}_bar" if name else "")
    attrs = {} if is_container(t) else {"adc.shadow": position}
    if "adc.name" in func.arg_attrs[position]:
        attrs["adc.name"] = func.arg_attrs[position]["adc.name"] + "_bar"
    if "adc.alias" in func.arg_attrs[position]:
        attrs["adc.alias"] = func.arg_attrs[position]["adc.alias"] + SHADOW_ALIAS
    func.arg_attrs.append(attrs)
    return shadow


def shadow_args(
    func: Func, activity: Activity, originals: list[Value], positions: list[int]
) -> dict[Value, Value]:
    """Add shadows of the arguments that need one, and append the positions of these arguments to ``positions``."""
    companions = {}
    for k, arg in enumerate(originals):
        if activity.has_companion(arg):
            positions.append(k)
            companions[arg] = add_shadow_arg(func, k, arg.type)
    return companions


def shadow_args_of_gradient(
    func: Func, activity: Activity, originals: list[Value], wrt: frozenset[int]
) -> dict[Value, Value]:
    """Shadows of the arguments that need one: new arguments where the gradient is wanted, else local arrays of
    zeros."""
    companions: dict[Value, Value] = {}
    local: list[Op] = []
    for k, arg in enumerate(originals):
        t = arg.type
        if not isinstance(t, MemRefType) or not (k in wrt or activity.has_companion(arg)):
            continue
        aliased = "adc.alias" in func.arg_attrs[k]
        if aliased or k in wrt:
            # A gradient is laid out C-contiguously, unless it must be laid out like others that it overlaps.
            shadow = add_shadow_arg(func, k, t if aliased else MemRefType(t.shape, t.element))
        with insert_at(func.body, func.loc):
            count = len(func.body.ops)
            companions[arg] = cast_to(shadow, t) if aliased or k in wrt else zeroed(arg)
            local += func.body.ops[count:]
    func.body.set_ops([*local, *func.body.ops[: len(func.body.ops) - len(local)]])
    return companions


def copy_mutated(func: Func, originals: list[Value]) -> None:
    """Work on copies of the arguments that are written to, so that the caller's stay as they were."""
    start: list[Op] = []
    for arg, attrs in zip(originals, func.arg_attrs, strict=False):
        if not isinstance(arg.type, MemRefType) or attrs.get("adc.readonly") or "adc.alias" in attrs:
            continue
        with insert_at(func.body, func.loc):
            count = len(func.body.ops)
            fresh = ops.alloc(*like(arg), type=MemRefType(arg.type.shape, arg.type.element))
            build(ops.copy, [arg, fresh])
            local = cast_to(fresh, arg.type)
            made = func.body.ops[count:]
        local.hint = arg.hint
        own = set(made)
        for user, position in list(arg.uses):
            if user not in own:
                user.set_operand(position, local)
        start += made
        func.body.set_ops(func.body.ops[:count])
        attrs["adc.readonly"] = True
    func.body.set_ops([*start, *func.body.ops])


def reverse_function(
    primal: Func,
    name: str,
    augmented: Augmented,
    kept: tuple[int, ...],
    positions: list[int],
    taken: tuple[int, ...],
    has_record: bool,
) -> Func:
    """The function of the reverse sweep, without its body: it is given the arguments ``kept``, shadows of those at
    ``positions``, cotangents of the results ``taken``, and the record of the forward sweep."""
    func = augmented.func
    types = [func.args[k].type for k in kept] + [func.args[k].type for k in positions]
    types += [primal.result_types[k] for k in taken] + ([record] if has_record else [])
    hints = [func.args[k].hint for k in kept] + [f"{func.args[k].hint}_bar" for k in positions]
    hints += ["result_bar"] * len(taken) + (["record"] if has_record else [])
    rev = Func(name, types, (), hints, func.loc)
    for new, k in enumerate(kept):
        rev.arg_attrs[new].update(attrs_of_kept(primal, kept, k))
        rev.arg_attrs[new]["adc.readonly"] = True
    for new, k in enumerate(positions, len(kept)):
        if "adc.alias" in primal.arg_attrs[k]:
            rev.arg_attrs[new]["adc.alias"] = primal.arg_attrs[k]["adc.alias"] + SHADOW_ALIAS
    return rev
