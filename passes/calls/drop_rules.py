"""What only differentiation needs is removed when all derivatives have been taken. Functions with derivative rules, and
those that would be run again, are then functions like any other."""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.attached import MARKS, attached, mentioned
from adc.ir.callgraph import closure
from adc.ir.core import Block, Module
from adc.ir.lazy_dataclass import dataclass
from adc.ir.schedules import REMATERIALISED
from adc.passes.rewrite import replace_op


@dataclass(frozen=True)
class DropRules:
    """Remove ``adc.ruled``, ``adc.stop_gradient``, the marks of functions that are run again, and the rules of
    functions with what only these use."""

    name: ClassVar[str] = "drop-rules"

    def run(self, module: Module) -> Module:
        parts = _of_rules(module)
        ruled = [func for func in module.funcs.values() if attached(func) is not None]
        stops = any(op.opdef is ops.stop_gradient for func in module.funcs.values() for op in func.walk())
        marked = without_marks(module)
        if not ruled and not stops and not marked:
            return module
        for func in module.funcs.values():
            _drop(func.body)
        for func in ruled:
            for mark in MARKS:
                func.attrs.pop(mark, None)
        used = set(closure(module, module.funcs.keys() - parts, mentioned))
        for name in parts - used:
            del module.funcs[name]
        return module


def without_marks(module: Module) -> bool:
    """Remove the marks of functions that reverse sweeps would run again. Returns whether there were any."""
    marked = [func for func in module.funcs.values() if REMATERIALISED in func.attrs]
    for func in marked:
        del func.attrs[REMATERIALISED]
    return bool(marked)


def _of_rules(module: Module) -> set[str]:
    """The functions that only rules mention."""
    known = [attached(func) for func in module.funcs.values()]
    rules = {name for found in known if found is not None for name in found.functions}
    called = {op.attrs["callee"] for func in module.funcs.values() for op in func.walk() if op.opdef is ops.call}
    return rules - called


def _drop(block: Block) -> None:
    kept = []
    for op in block.ops:
        for region in op.regions:
            _drop(region)
        if op.opdef in (ops.ruled, ops.stop_gradient):
            replace_op(op, op.operands[: len(op.results)])
        else:
            kept.append(op)
    block.set_ops(kept)
