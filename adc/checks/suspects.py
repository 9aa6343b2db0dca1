"""Checks the derivatives of one function or operation of the IR, alone, for given inputs.

A wrapper sums the results, and the final contents of arrays, with weights to one number. The wrapper is differentiated
in both modes, run in the interpreter, and compared with its finite differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adc.border import aliasing
from adc.checks import differences
from adc.checks.leaves import along, copied, direction_of, freed, groups, moved
from adc.checks.leaves import is_array as is_float_array
from adc.errors import DifferentiationError
from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.attached import attached, is_float
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import reachable
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.interpret import interpreter
from adc.ir.interpret.memory import InterpreterError
from adc.ir.lazy_dataclass import dataclass
from adc.ir.rewrite import clone_op, inline_block
from adc.ir.types import MemRefType, f32, f64, index, memref
from adc.passes.differentiation import differentiate
from adc.passes.differentiation.activity.tangents import Tangent
from adc.passes.differentiation.forward import forward

FORWARD, REVERSE = "forward mode", "reverse mode"


@dataclass(frozen=True)
class Wrong:
    """A wrong derivative: its mode, its argument (None: all together), adc's derivative and the one by differences.

    ``value``: not a derivative is wrong but the value, which the derivative code also computes.
    """

    mode: str
    position: int | None
    found: float
    truth: float
    value: bool = False


class Suspect:
    """The function ``name`` of ``module``, alone. ``inlined``: its operations are inlined into the wrapper."""

    def __init__(self, module: Module, name: str, *, seed: int = 0, inlined: bool = False) -> None:
        self.module = module
        self.rng = np.random.default_rng(seed)
        self.target = module.funcs[name]
        rules = attached(self.target)
        constant = rules.constant if rules is not None else ()
        self.wrt = tuple(k for k, a in enumerate(self.target.args) if is_float(a.type) and k not in constant)
        self.single = _computes_in_single_precision(module, name)
        self.testable = bool(self.wrt) and all(map(_plain, (*self.target.args,)))
        self.weighted = _weighted(module, self.target, inlined) if self.testable else self.target
        self._gradient: Func | bool | None = False  # False until it is needed; None if there is none
        self._tangent: Tangent | bool | None = False

    def wrong(self, args: Sequence[Any], tolerance: float, *, each: bool) -> Wrong | None:
        """What is wrong for these arguments, if anything; ``each``: test the arguments one by one, unless they share
        memory."""
        if not self.testable:
            return None
        try:
            return self._wrong(list(args), tolerance, each)
        except (ArithmeticError, ValueError, IndexError, InterpreterError):
            return None  # the function is not defined at a distance of one step

    def _wrong(self, args: list[Any], tolerance: float, each: bool) -> Wrong | None:
        given = args + self.weights(args)
        args = self.freed(args)
        whole = direction_of(args, self._random)
        whole = [d if k in self.wrt else None for k, d in enumerate(whole)]
        chosen: list[int | None] = [None] if not each or groups(args) else list(self.wrt)
        plain = float(self.run(copied(given)))
        gradient = self.gradient(given)
        if gradient is not None and _apart(gradient[0], plain, self.loose(tolerance), 1e-10):
            return Wrong(REVERSE, None, gradient[0], plain, value=True)
        size = max((_size(gradient[1][k]) for k in self.wrt), default=0.0) if gradient is not None else 0.0
        for position in chosen:
            direction = [d if position in (None, k) else None for k, d in enumerate(whole)]
            padded = direction + [None] * (len(given) - len(args))

            def f(h: float, padded: list[Any] = padded) -> float:
                return float(self.run(moved(self.freed(given), padded, h)))

            found: list[tuple[str, float]] = []
            if gradient is not None:
                found.append((REVERSE, along(args, [gradient[1].get(k) for k in range(len(args))], direction)))
            tangent = self.tangent(given, direction)
            if tangent is not None:
                if _apart(tangent[0], plain, self.loose(tolerance), 1e-10):
                    return Wrong(FORWARD, None, tangent[0], plain, value=True)
                found.append((FORWARD, tangent[1]))
            truth = differences.derivative(f, single=self.single)
            floor = max(1e-3 * size * _size(direction[position] if position is not None else 1.0), 1e-12 * abs(plain))
            for mode, mine in found:
                off = abs(mine - truth.value)
                if not _apart(mine, truth.value, self.loose(tolerance), floor) or off <= 10.0 * truth.error:
                    continue
                rounding = 0.0 if self.single else 20.0 * differences.noise(f, truth.step) / truth.step
                if off > rounding and not differences.kinked(f, mine, single=self.single):
                    return Wrong(mode, position, mine, truth.value)
        return None

    def loose(self, tolerance: float) -> float:
        """The tolerance, relaxed for single precision."""
        return max(tolerance, 2e-3 if self.single else 0.0)

    def freed(self, args: Sequence[Any]) -> list[Any]:
        """The arguments, with copies of those that are only read and can be treated as not overlapping others."""
        arrays = {k: a for k, a in enumerate(args[: len(self.target.args)]) if isinstance(a, np.ndarray)}
        shared = {k for k in arrays if "adc.alias" in self.target.arg_attrs[k]}
        shared |= {v.index for v in _written(self.target)}
        return freed(args, aliasing.joined(arrays, shared))

    # Running it ------------------------------------------------------------------------------------------------------

    def weights(self, args: Sequence[Any]) -> list[Any]:
        """Weights of the results and of the final contents of arrays, as the wrapper takes them."""
        results = self._run(self.target.name, copied(args))
        kept = [r for r, t in zip(results, self.target.result_types, strict=True) if is_float(t)]
        kept += [args[v.index] for v in _written(self.target)]
        return [self.rng.uniform(0.5, 1.5, np.shape(r)) if isinstance(r, np.ndarray) else _one(self.rng) for r in kept]

    def gradient(self, given: Sequence[Any]) -> tuple[float, dict[int, Any]] | None:
        """The value and the cotangents by position, in reverse mode; None if it has none."""
        if self._gradient is False:
            self._gradient = self._made_gradient()
        func = self._gradient
        if not isinstance(func, Func):
            return None
        passed = copied(given)
        of = [attrs["adc.shadow"] for attrs in func.arg_attrs if "adc.shadow" in attrs]
        free = self.freed(given)
        zeros = direction_of([free[k] for k in of], lambda a: np.zeros(a.shape, a.dtype))
        shadows = dict(zip(of, zeros, strict=True))
        value, *scalars = self._run(func.name, [*passed, *zeros])
        floats = iter(scalars)
        found = {k: shadows[k] if k in shadows else next(floats) for k in self.wrt}
        return float(value), found

    def _made_gradient(self) -> Func | None:
        try:
            adjoint = differentiate.gradient(self.module, self.weighted.name, self.wrt, with_value=True)
        except DifferentiationError:
            return None
        return self.module.funcs[adjoint.name]

    def tangent(self, given: Sequence[Any], direction: Sequence[Any]) -> tuple[float, float] | None:
        """The value and its derivative along a direction, in forward mode; None if it has none."""
        if self._tangent is False:
            try:
                self._tangent = forward.jvp(self.module, self.weighted.name, self.wrt)
            except DifferentiationError:
                self._tangent = None
        made = self._tangent
        if not isinstance(made, Tangent):
            return None
        if not made.results:
            return float(self.run(copied(given))), 0.0
        all_ = direction_of(self.freed(given), lambda a: np.zeros_like(a) if is_float_array(a) else 0.0)
        for k, d in enumerate(direction):
            if d is not None:
                all_[k] = d
        tangents = copied([all_[k] for k in made.arguments])
        typed = [np.float32(t) if isinstance(given[k], np.float32) else t for k, t in zip(made.arguments, tangents)]
        value, tangent = self._run(made.name, [*copied(given), *typed])
        return float(value), float(tangent)

    def run(self, given: Sequence[Any]) -> Any:
        """The weighted sum of all results of the function."""
        return self._run(self.weighted.name, given)[0]

    def _run(self, name: str, args: Sequence[Any]) -> list[Any]:
        with np.errstate(all="ignore"):
            return interpreter.run(self.module, name, args)

    def _random(self, leaf: Any) -> Any:
        """A random direction, with elements of the size of those of ``leaf``."""
        if is_float_array(leaf):
            size = float(np.max(np.abs(leaf), initial=0.0))
            return (self.rng.uniform(0.5, 1.5, leaf.shape) * _scale(size)).astype(leaf.dtype)
        return _one(self.rng) * _scale(abs(float(leaf))) if isinstance(leaf, float | np.floating) else None


def alone(module: Module, op: Op) -> Func:
    """A new function of ``module`` that performs only ``op``; its operands become arguments, except constants."""
    free = [v for v in dict.fromkeys(op.operands) if v.op is None or v.op.opdef is not ops.constant]
    func = Func(module.unique_name("alone"), [v.type for v in free], (), [v.hint for v in free], op.loc)
    mapping = dict(zip(free, func.args, strict=True))
    with insert_at(func.body, op.loc):
        for v in dict.fromkeys(op.operands):
            if v not in mapping and v.op is not None:
                clone_op(v.op, mapping)
        made = clone_op(op, mapping)
        build(ops.return_, made.results)
    func.result_types = tuple(r.type for r in made.results)
    module.add(func)
    return func


def _weighted(module: Module, target: Func, inlined: bool) -> Func:
    """A new function, the wrapper: it takes the arguments, then weights for all results, and returns one float."""
    written = _written(target)
    outputs = [t for t in target.result_types if is_float(t)] + [a.type for a in written]
    types = [a.type for a in target.args]
    types += [memref(f64, t.rank) if isinstance(t, MemRefType) else f64 for t in outputs]
    func = Func(module.unique_name(f"{target.name}.weighted"), types, (f64,), [a.hint for a in target.args], target.loc)
    for mine, theirs in zip(func.arg_attrs, target.arg_attrs):
        mine.update(theirs)
    given = func.args[: len(target.args)]
    with insert_at(func.body, target.loc):
        if inlined:
            results: Sequence[Value] = inline_block(target.body, given)
        else:
            results = build(ops.call, given, {"callee": target.name, "types": target.result_types}).results
        kept = [r for r in results if is_float(r.type)] + [given[a.index] for a in written]
        total = const(0.0, f64)
        for value, weight in zip(kept, func.args[len(given) :], strict=True):
            total = _added(total, value, weight)
        build(ops.return_, [total])
    module.add(func)
    return func


def _added(total: Value, value: Value, weight: Value) -> Value:
    """Append ``total`` plus the inner product."""
    t = value.type
    if not isinstance(t, MemRefType):
        return ops.addf(total, ops.mulf(weight, value if t == f64 else ops.extf(value, type=f64)))

    def level(at: list[Value], total: Value) -> Value:
        if len(at) == t.rank:
            return _added(total, ops.load(value, *at), ops.load(weight, *at))
        block = Block([index, f64])
        with insert_at(block):
            build(ops.yield_, [level([*at, block.args[0]], block.args[1])])
        bounds = [const_index(0), ops.dim(value, dim=len(at)), const_index(1)]
        return build(ops.for_, [*bounds, total], {}, [f64], [block]).result

    return level([], total)


def _computes_in_single_precision(module: Module, name: str) -> bool:
    funcs = [module.funcs[n] for n in reachable(module, [name])]
    values = [v for func in funcs for v in (*func.args, *(r for op in func.walk() for r in op.results))]
    return any((v.type.element if isinstance(v.type, MemRefType) else v.type) == f32 for v in values)


def _written(func: Func) -> list[Value]:
    """The arguments that are arrays of floats and that the function may write to."""
    if attached(func) is not None:
        return []
    return [
        a
        for a, attrs in zip(func.args, func.arg_attrs, strict=True)
        if isinstance(a.type, MemRefType) and a.type.element.is_float and not attrs.get("adc.readonly")
    ]


def _plain(v: Value) -> bool:
    """Whether an argument is a number, or an array of numbers."""
    t = v.type.element if isinstance(v.type, MemRefType) else v.type
    return t.is_float or t.is_integer


def _one(rng: np.random.Generator) -> float:
    return float(rng.uniform(0.5, 1.5))


def _scale(size: float) -> float:
    return min(1.0, size) if size > 0.0 else 1.0


def _size(a: Any) -> float:
    return float(np.max(np.abs(a), initial=0.0))


def _apart(mine: float, truth: float, tolerance: float, floor: float) -> bool:
    """Whether two numbers disagree; False if one is not finite."""
    if not (np.isfinite(mine) and np.isfinite(truth)):
        return False
    return abs(mine - truth) > tolerance * max(abs(mine), abs(truth), floor)
