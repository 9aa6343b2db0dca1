"""Functions whose signature may change, since only calls refer to them."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.attached import DERIVATIVE, attached, mentioned
from adc.ir.callgraph import recursive
from adc.ir.core import Func, Module, Op
from adc.ir.externals import SYMBOL
from adc.ir.schedules import REMATERIALISED
from adc.passes.analysis.records import names_arguments

_STAYS = frozenset({"adc.entry", "adc.noinline", REMATERIALISED, SYMBOL, DERIVATIVE})


def own_calls(module: Module, *, aliased: bool = False) -> dict[str, list[Op]]:
    """The calls of each function whose signature may change, since nothing else refers to it. ``aliased``: also of
    functions with arguments that may overlap."""
    found: dict[str, list[Op]] = {}
    for func in module.funcs.values():
        for op in func.walk():
            if op.opdef is ops.call:
                found.setdefault(op.attrs["callee"], []).append(op)
    if not found:
        return {}
    fixed = set(recursive(module))
    for func in module.funcs.values():
        called = {op.attrs["callee"] for op in func.walk() if op.opdef is ops.call}
        fixed.update(name for name in mentioned(func) if name not in called)
        fixed.update(op.attrs["callee"] for op in func.walk() if op.opdef is not ops.call and "callee" in op.attrs)
        fixed.add(func.attrs.get(DERIVATIVE, ""))
        rules = attached(func)
        fixed.update([func.name, *rules.functions] if rules is not None else ())
    own = {name for name, func in module.funcs.items() if name not in fixed and _is_own(func, aliased=aliased)}
    return {name: calls for name, calls in found.items() if name in own}


def function_of(op: Op) -> Func:
    block = op.parent
    while block is not None and isinstance(block.parent, Op):
        block = block.parent.parent
    assert block is not None and isinstance(block.parent, Func)
    return block.parent


def _is_own(func: Func, *, aliased: bool) -> bool:
    """Whether only calls determine what its arguments are."""
    names = ("adc.shadow", "adc.tangent") if aliased else ("adc.shadow", "adc.tangent", "adc.alias")
    positions = any(name in attrs for attrs in func.arg_attrs for name in names)
    return _STAYS.isdisjoint(func.attrs) and not positions and not names_arguments(func)
