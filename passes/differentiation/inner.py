"""Derivatives asked for in compiled code: declared functions get their bodies, and gradients are taken.

The frontend declares a function that is the forward mode of another one. Here it is defined by a call of the function
that the forward-mode pass makes, innermost derivatives first. Afterwards nothing of this is left in the module, which
may be differentiated in any mode: that is how reverse over forward works.
"""

from __future__ import annotations

from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.attached import DERIVATIVE, mentioned
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import closure
from adc.ir.core import Module, Value
from adc.ir.types import MemRefType
from adc.passes.base import Pipeline
from adc.passes.differentiation.activity.held import may_have_tangent
from adc.passes.differentiation.forward.forward import jvp
from adc.passes.differentiation.reverse.shadows import zeroed
from adc.passes.differentiation.take_gradients import gradients_of, take_gradients

WRT = "adc.wrt"  # see adc.frontend.functions.derivatives


def takes_derivatives(module: Module) -> bool:
    """Whether a program asks for derivatives of its functions itself."""
    return any(DERIVATIVE in func.attrs for func in module.funcs.values()) or bool(gradients_of(module))


def define_derivatives(module: Module, entry: str, before: Pipeline = ()) -> None:
    """Define the declared functions that are wanted, remove the rest, and take the gradients that are asked for.

    The passes ``before`` clean up the functions whose gradients are taken.
    """
    declared = [name for name, func in module.funcs.items() if DERIVATIVE in func.attrs]
    asked = any(op.opdef is ops.gradient for func in module.funcs.values() for op in func.walk())
    if not declared and not asked:
        return
    wanted = closure(module, [entry], mentioned)
    for name in declared:
        if name not in wanted:
            del module.funcs[name]
    done: set[str] = set()
    for name in wanted:
        _settle(module, name, done, (), (), before)


def _settle(
    module: Module, name: str, done: set[str], path: tuple[str, ...], inside: tuple[str, ...], before: Pipeline
) -> None:
    """Define everything that is left to define in a function, after its callees.

    ``path``: the functions that led here; ``inside``: those of them that lead here through a derivative.
    """
    if name in inside:
        raise kinds.NO_DERIVATIVE("a function that takes its own derivative has none", module.funcs[name].loc)
    if name in done or name not in module.funcs:
        return
    done.add(name)
    path = (*path, name)
    func = module.funcs[name]
    derived = [op.attrs["callee"] for op in func.walk() if op.opdef is ops.gradient]
    derived += [func.attrs[DERIVATIVE]] if DERIVATIVE in func.attrs else []
    for other in mentioned(func):
        _settle(module, other, done, path, path if other in derived else inside, before)
    if DERIVATIVE in func.attrs:
        _define(module, name)
    else:
        take_gradients(module, name, before)


def _define(module: Module, name: str) -> None:
    func = module.funcs[name]
    callee = str(func.attrs[DERIVATIVE])
    wrt = tuple(func.attrs[WRT])
    made = jvp(module, callee, wrt)
    primal = module.funcs[callee]
    count = len(primal.args)
    arguments = func.args[:count]
    tangents = dict(zip(wrt, func.args[count:], strict=True))
    end = func.body.terminator
    func.body.set_ops([])
    end.drop()
    with insert_at(func.body, func.loc):
        given = [tangents[k] if k in tangents else _zero(arguments[k]) for k in made.arguments]
        attrs = {"callee": made.name, "types": module.funcs[made.name].result_types}
        found = build(ops.call, [*arguments, *given], attrs).results
        values = found[: len(primal.result_types)]
        dots = dict(zip(made.results, found[len(values) :], strict=True))
        wanted = [k for k, t in enumerate(primal.result_types) if may_have_tangent(t)]
        build(ops.return_, [*values, *(dots[k] if k in dots else _zero(values[k]) for k in wanted)])
    del func.attrs[DERIVATIVE], func.attrs[WRT]


def _zero(value: Value) -> Value:
    return zeroed(value) if isinstance(value.type, MemRefType) else const(0.0, value.type)

