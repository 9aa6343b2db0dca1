"""Gradients that a program takes itself: each ``adc.gradient`` becomes a call of the gradient of its callee.

The innermost come first, so that a gradient is code like any other where it is differentiated again.
"""

from __future__ import annotations

from typing import ClassVar

from adc.ir import ops
from adc.ir.attached import mentioned
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import closure
from adc.ir.core import Block, Func, Module, Op
from adc.ir.lazy_dataclass import dataclass
from adc.ir.nesting import of_kinds
from adc.ir.types import MemRefType
from adc.passes.analysis.effects import Summaries
from adc.passes.base import Pipeline, run_pipeline
from adc.passes.differentiation.differentiate import gradient
from adc.passes.rewrite import put_instead, replace_op


def gradients_of(module: Module) -> list[str]:
    """The functions whose gradient some other function takes."""
    return [op.attrs["callee"] for func in module.funcs.values() for op in _requests(func)]


def take_gradients(module: Module, name: str, before: Pipeline = ()) -> None:
    """Take the gradients that the function ``name`` asks for. The functions they are taken of ask for none any more.

    The passes ``before`` clean up what is differentiated.
    """
    requests = _requests(module.funcs[name])
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
    """Take the gradients that one function asks for, of functions that ask for none."""

    name: ClassVar[str] = "take-gradients"

    def run(self, module: Module) -> Module:
        name = _next(module)
        if name is not None:
            take_gradients(module, name)
        return module


def asked_next(module: Module) -> list[str]:
    """The functions whose gradients ``take-gradients`` takes next: what cleans them up runs before it."""
    name = _next(module)
    return [] if name is None else [op.attrs["callee"] for op in _requests(module.funcs[name])]


def _next(module: Module) -> str | None:
    """The first function that asks for gradients, after those that it mentions."""
    asking = {name for name, func in module.funcs.items() if _requests(func)}
    done: set[str] = set()

    def visit(name: str) -> str | None:
        if name in done or name not in module.funcs:
            return None
        done.add(name)
        inner = (visit(other) for other in mentioned(module.funcs[name]))
        return next(filter(None, inner), name if name in asking else None)

    return next(filter(None, map(visit, list(module.funcs))), None) if asking else None


def _requests(func: Func) -> list[Op]:
    return of_kinds(func.body, {ops.gradient})


def _differentiated(module: Module, name: str, wrt: tuple[int, ...], before: Pipeline) -> str:
    part = Module({other: module.funcs[other] for other in closure(module, [name], mentioned)})
    run_pipeline(part, before)
    module.funcs.update(part.funcs)
    func, summary = module.funcs[name], Summaries.asked(module).of(name)
    for k, arg in enumerate(func.args):
        if isinstance(arg.type, MemRefType) and summary is not None and k not in summary.writes:
            func.arg_attrs[k]["adc.readonly"] = True
    return gradient(module, name, wrt, with_value=True).name


def _replace(op: Op, name: str) -> None:
    """Call the gradient with the values and then the shadows, to which it adds."""
    with insert_at(Block(), op.loc) as made:
        call = build(ops.call, op.operands, {"callee": name, "types": op.attrs["types"]})
    put_instead(op, made.ops)
    replace_op(op, call.results)
