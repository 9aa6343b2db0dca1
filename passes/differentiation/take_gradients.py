"""Gradients that a program takes itself: each ``adc.gradient`` becomes a call of the gradient of its callee.

The innermost come first, so that a gradient is code like any other where it is differentiated again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from adc.ir import ops
from adc.ir.attached import mentioned
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import closure
from adc.ir.core import Block, Module, Op
from adc.ir.types import MemRefType
from adc.passes.analysis.effects import Summaries
from adc.passes.base import Pipeline, run_pipeline
from adc.passes.differentiation.differentiate import gradient
from adc.passes.rewrite import put_instead, replace_op


def gradients_of(module: Module) -> list[str]:
    """The functions of which some other one takes the gradient."""
    asked = (op for func in module.funcs.values() for op in func.walk() if op.opdef is ops.gradient)
    return [op.attrs["callee"] for op in asked]


def take_gradients(module: Module, name: str, before: Pipeline) -> None:
    """Take the gradients that the function ``name`` asks for; those that they are of ask for none any more.

    The passes ``before`` clean up what is differentiated.
    """
    requests = [op for op in module.funcs[name].walk() if op.opdef is ops.gradient]
    made: dict[tuple[str, tuple[int, ...]], str] = {}
    for op in requests:
        key = op.attrs["callee"], tuple(op.attrs["wrt"])
        if key not in made:
            made[key] = _differentiated(module, *key, before)
        _replace(op, made[key])
    for callee, _ in made:
        if not any(callee in mentioned(func) for func in module.funcs.values()):
            del module.funcs[callee]


@dataclass(frozen=True)
class TakeGradients:
    """Take the gradients that functions ask for, innermost first."""

    before: Pipeline = ()
    name: ClassVar[str] = "take-gradients"

    def run(self, module: Module) -> Module:
        done: set[str] = set()
        for name in list(module.funcs):
            self._visit(module, name, done)
        return module

    def _visit(self, module: Module, name: str, done: set[str]) -> None:
        if name in done or name not in module.funcs:
            return
        done.add(name)
        for other in mentioned(module.funcs[name]):
            self._visit(module, other, done)
        take_gradients(module, name, self.before)


def _differentiated(module: Module, name: str, wrt: tuple[int, ...], before: Pipeline) -> str:
    part = Module({other: module.funcs[other] for other in closure(module, [name], mentioned)})
    run_pipeline(part, before)
    module.funcs.update(part.funcs)
    func, summary = module.funcs[name], Summaries(module).of(name)
    for k, arg in enumerate(func.args):
        if isinstance(arg.type, MemRefType) and summary is not None and k not in summary.writes:
            func.arg_attrs[k]["adc.readonly"] = True
    return gradient(module, name, wrt, with_value=True).name


def _replace(op: Op, name: str) -> None:
    """Call the gradient: the values, then the shadows, in which it adds up."""
    with insert_at(Block(), op.loc) as made:
        call = build(ops.call, op.operands, {"callee": name, "types": op.attrs["types"]})
    put_instead(op, made.ops)
    replace_op(op, call.results)
