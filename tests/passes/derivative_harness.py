"""Builds small functions in IR and checks their gradients against central differences of the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build, insert_at
from adc.ir.core import Block, Func, Module, Value
from adc.ir.interpret.interpreter import run, shuffled
from adc.ir.opdef import OpDef
from adc.ir.types import Type, f64, index
from adc.ir.verifier import verify
from adc.passes.differentiation.activity.tangents import Tangent
from adc.passes.differentiation.differentiate import gradient
from adc.passes.differentiation.forward.forward import jvp
from adc.passes.differentiation.rules import RULES
from adc.passes.differentiation.storage.adjoints import Adjoint

Body = Callable[..., Iterable[Value] | None]


def loop(lower: Value, upper: Value, inits: Sequence[Value], body: Body, step: int = 1) -> tuple[Value, ...]:
    """``scf.for``; the body gets the counter and what is carried, and returns what is carried on."""
    block = Block([index, *(v.type for v in inits)])
    with insert_at(block):
        build(ops.yield_, list(body(*block.args) or ()))
    bounds = [lower, upper, const_index(step)]
    return build(ops.for_, [*bounds, *inits], result_types=[v.type for v in inits], regions=[block]).results


def parallel(
    lower: Value, upper: Value, body: Body, inits: Sequence[Value] = (), kinds: Sequence[str] = ()
) -> tuple[Value, ...]:
    """``scf.parallel``; the body gets the counter and returns what is reduced."""
    block = Block([index])
    with insert_at(block):
        build(ops.reduce, list(body(block.args[0]) or ()), {"kinds": tuple(kinds)})
    bounds = [lower, upper, const_index(1)]
    return build(ops.parallel, [*bounds, *inits], result_types=[v.type for v in inits], regions=[block]).results


def branch(condition: Value, then: Body, otherwise: Body, types: Sequence[Type]) -> tuple[Value, ...]:
    blocks = []
    for body in (then, otherwise):
        block = Block()
        with insert_at(block):
            build(ops.yield_, list(body() or ()))
        blocks.append(block)
    return build(ops.if_, [condition], result_types=types, regions=blocks).results


def while_loop(inits: Sequence[Value], condition: Callable[..., Value], body: Body) -> tuple[Value, ...]:
    before, after = Block([v.type for v in inits]), Block([v.type for v in inits])
    with insert_at(before):
        build(ops.condition, [condition(*before.args), *before.args])
    with insert_at(after):
        build(ops.yield_, list(body(*after.args) or ()))
    return build(ops.while_, list(inits), result_types=[v.type for v in inits], regions=[before, after]).results


def view(memref: Value, offset: Value | int, size: Value, step: int = 1) -> Value:
    """A window on a 1-D memref."""
    start = offset if isinstance(offset, Value) else const_index(offset)
    attrs = {"static_steps": (step,), "dropped": ()}
    return build(ops.subview, [memref, start, size, const_index(step)], attrs).result


def call(callee: Func, *arguments: Value) -> tuple[Value, ...]:
    return build(ops.call, list(arguments), {"callee": callee.name, "types": callee.result_types}).results


def define(module: Module, name: str, types: Sequence[Type], body: Body, hints: Sequence[str] = ()) -> Func:
    """A function whose body is built by ``body(*args)``, which returns the results."""
    func = Func(name, types, (), hints)
    with insert_at(func.body):
        results = list(body(*func.args) or ())
        build(ops.return_, results)
    func.result_types = tuple(v.type for v in results)
    return module.add(func)


def tangent_alone(module: Module, made: Tangent) -> str:
    """Let a function with tangents return that of its first result alone, a float."""
    func = module.funcs[made.name]
    end = func.body.terminator
    found = end.operands[len(end.operands) - len(made.results)] if 0 in made.results else None
    func.body.set_ops(func.body.ops[:-1])
    with insert_at(func.body, func.loc):
        build(ops.return_, [const(0.0, f64) if found is None else found])
    end.drop()
    func.result_types = (f64,)
    return made.name


def define_with_rule(module: Module, name: str, opdef: OpDef, count: int) -> Func:
    """An operation on f64 as a function with a derivative rule of its own, which computes what that of adc does."""

    def rrule(*args: Value) -> list[Value]:
        y = opdef(*args)
        return [y, y, *args]

    def pullback(y: Value, *rest: Value) -> list[Value]:
        *args, g = rest
        return [const(0.0, f64) if term is None else term for term in RULES[opdef](g, y, *args)]

    define(module, f"{name}.rrule", [f64] * count, rrule)
    define(module, f"{name}.pullback", [f64] * (count + 2), pullback)
    func = define(module, name, [f64] * count, lambda *args: [opdef(*args)])
    func.attrs |= {"adc.rule": f"rrule {name}", "adc.rrule": f"{name}.rrule", "adc.pullback": f"{name}.pullback"}
    func.attrs |= {"adc.cotangents": tuple(range(count)), "adc.constant": ()}
    return func


class Modes:
    """The first and second derivatives of an operation on f64, each in all modes.

    ``ruled``: the operation is in a function that has a derivative rule.
    """

    def __init__(self, opdef: OpDef, *, ruled: bool = False) -> None:
        self.count = len(opdef.samples[0])
        self.wrt = tuple(range(self.count))
        self.module = Module()
        if ruled:
            user = define_with_rule(self.module, "u", opdef, self.count)
            define(self.module, "f", [f64] * self.count, lambda *args: call(user, *args))
        else:
            define(self.module, "f", [f64] * self.count, lambda *args: [opdef(*args)])
        self._reverse = gradient(self.module, "f", self.wrt).name
        self._forward = jvp(self.module, "f", self.wrt)
        self._forward_over_reverse = jvp(self.module, self._reverse, self.wrt)
        inner = [gradient(self.module, "f", (k,)).name for k in self.wrt]
        self._reverse_over_reverse = [gradient(self.module, name, self.wrt).name for name in inner]
        along = [tangent_alone(self.module, jvp(self.module, "f", (k,))) for k in self.wrt]
        self._reverse_over_forward = [gradient(self.module, name, self.wrt).name for name in along]

    def reverse(self, point: Sequence[float]) -> list[float]:
        return run(self.module, self._reverse, list(point))

    def forward(self, point: Sequence[float]) -> list[float]:
        return [self._along(self._forward, point, k, 1)[0] for k in self.wrt]

    def forward_over_reverse(self, point: Sequence[float]) -> list[list[float]]:
        return [self._along(self._forward_over_reverse, point, k, self.count) for k in self.wrt]

    def reverse_over_reverse(self, point: Sequence[float]) -> list[list[float]]:
        return [run(self.module, name, list(point)) for name in self._reverse_over_reverse]

    def reverse_over_forward(self, point: Sequence[float]) -> list[list[float]]:
        return [run(self.module, name, [*point, 1.0]) for name in self._reverse_over_forward]

    def _along(self, made: Tangent, point: Sequence[float], k: int, results: int) -> list[float]:
        """What a forward derivative along axis ``k`` gives for each result; zero if it does not vary."""
        given = [float(j == k) for j in made.arguments]
        found = run(self.module, made.name, [*point, *given])
        known = dict(zip(made.results, found[results:], strict=True))
        return [float(known.get(n, 0.0)) for n in range(results)]


def copied(arguments: Sequence[Any]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


def gradients(module: Module, adjoint: Adjoint, arguments: Sequence[Any], wrt: Sequence[int]) -> dict[int, Any]:
    """Runs a gradient function in the interpreter, its parallel loops in random order."""
    shadows = {k: np.zeros(arguments[k].shape) for k in wrt if isinstance(arguments[k], np.ndarray)}
    scalars = iter(run(module, adjoint.name, [*arguments, *shadows.values()], order=shuffled(0)))
    return {k: shadows[k] if k in shadows else next(scalars) for k in wrt}


def check_gradient(
    module: Module, name: str, arguments: Sequence[Any], wrt: Sequence[int], tolerance: float = 2e-7
) -> Adjoint:
    """The gradient equals central differences in a random direction per argument; arguments stay as they were."""
    adjoint = gradient(module, name, tuple(wrt))
    verify(module)
    before = copied(arguments)
    found = gradients(module, adjoint, arguments, wrt)
    for a, b in zip(arguments, before, strict=True):
        assert np.array_equal(a, b), "an argument was changed"
    rng = np.random.default_rng(7)
    for k in wrt:
        is_array = isinstance(arguments[k], np.ndarray)
        direction = rng.standard_normal(arguments[k].shape) if is_array else 1.0
        expected = difference(lambda a: run(module, name, a)[0], arguments, k, direction)
        got = float(np.sum(found[k] * direction))
        assert abs(got - expected) <= tolerance * max(1.0, abs(expected)), (name, k, got, expected)
    return adjoint


def difference(f: Callable[[list[Any]], float], arguments: Sequence[Any], k: int, direction: Any) -> float:
    """The derivative of f in a direction of argument k: central differences, extrapolated once (Richardson)."""

    def central(h: float) -> float:
        ends = []
        for sign in (1.0, -1.0):
            moved = copied(arguments)
            moved[k] = moved[k] + sign * h * direction
            ends.append(f(moved))
        return (ends[0] - ends[1]) / (2.0 * h)

    return (4.0 * central(1e-4) - central(2e-4)) / 3.0
