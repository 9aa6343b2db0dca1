"""Arguments that are the same value in all calls of a function become one argument.

A function that is traced with closures takes what they capture as arguments, once for each. In the callee they would be
arrays that may overlap, and calls that differ only in which of them they pass would not be seen to be the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from adc.ir import ops
from adc.ir.callgraph import components
from adc.ir.core import Func, Module, Op
from adc.ir.lazy_dataclass import dataclass
from adc.passes.analysis.calls import own_calls
from adc.passes.rewrite import put_instead

_READONLY, _ALIAS = "adc.readonly", "adc.alias"


@dataclass(frozen=True)
class MergeArguments:
    """Pass a value once, where all calls pass it several times."""

    name: ClassVar[str] = "merge-arguments"

    def run(self, module: Module) -> Module:
        if any(len(set(op.operands)) < len(op.operands) for op in _calls(module)):
            own = own_calls(module, aliased=True)
            for name in reversed([name for component in components(module) for name in component]):
                if name in own:
                    _merge(module.funcs[name], [op for op in _calls(module) if op.attrs["callee"] == name])
        return module


def _calls(module: Module) -> list[Op]:
    return [op for func in module.funcs.values() for op in func.walk() if op.opdef is ops.call]


def _merge(func: Func, calls: Sequence[Op]) -> None:
    first: dict[tuple[object, ...], int] = {}  # position of an argument, by what the calls give for it
    kept: list[int] = []
    for position, arg in enumerate(func.args):
        place = first.setdefault(tuple(call.operands[position] for call in calls), position)
        if place == position:
            kept.append(position)
            continue
        attrs, others = func.arg_attrs[place], func.arg_attrs[position]
        readonly = bool(attrs.get(_READONLY) and others.get(_READONLY))
        func.arg_attrs[place] = {**others, **attrs}
        if not readonly:
            func.arg_attrs[place].pop(_READONLY, None)
        arg.replace_uses(func.args[place])
    if len(kept) == len(func.args):
        return
    func.body.keep_args(kept)
    func.arg_attrs = [func.arg_attrs[k] for k in kept]
    groups = [attrs.get(_ALIAS) for attrs in func.arg_attrs]
    for attrs in func.arg_attrs:
        if groups.count(attrs.get(_ALIAS)) == 1:
            attrs.pop(_ALIAS, None)
    for call in calls:
        new = Op(
            *(ops.call, [call.operands[k] for k in kept], [r.type for r in call.results]),
            dict(call.attrs), loc=call.loc,
        )  # fmt: skip
        for old, result in zip(call.results, new.results, strict=True):
            old.replace_uses(result)
            result.hint = old.hint
        put_instead(call, [new])
        call.drop()
