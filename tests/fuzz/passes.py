"""Each pass by itself: the interpreter runs a random program before and after it, and must find the same."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from adc.frontend.tracer import trace
from adc.ir import interpreter
from adc.ir.core import Module
from adc.ir.parser import parse_module
from adc.ir.printer import print_module
from adc.ir.verifier import verify
from adc.passes import pipelines
from adc.passes.base import Pipeline
from adc.passes.differentiation import differentiate
from adc.signature import abstracts_of
from tests.fuzz.check import arguments, loaded
from tests.fuzz.generator import Program, generate
from tests.fuzz.oracle import Values, rejoin

Outcome = list[Any]


def check_passes(seed: int, size: int = 12) -> None:
    """Generate a program, and follow primal and gradient through their pipelines."""
    rng = random.Random(seed)
    program = generate(rng, size)
    args = arguments(program, rng)
    try:
        with loaded(program.text) as main:
            _primal(program, main, args)
            _gradient(program, main, args)
    except Exception as error:
        error.add_note(f"seed {seed}\narguments {args!r}\n{program.text}")
        raise


def _traced(program: Program, main: Any, args: Values) -> tuple[Module, str, Any]:
    names = tuple(p if isinstance(p, str) else p.name for p in program.params)
    traced = trace(main, abstracts_of(names, tuple(args)))
    return traced.module, traced.entry, traced


def _inputs(traced: Any, args: Values) -> Outcome:
    fresh = rejoin(args, [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args])
    rest = iter(fresh)
    return [leaf.fetch() if leaf.kind == "capture" else next(rest) for leaf in traced.leaves]


def _run(module: Module, name: str, traced: Any, args: Values) -> Outcome:
    """Results, and arguments as they are afterwards: those of the primal, then zeroed shadows."""
    values = _inputs(traced, args)
    func = module.funcs[name]
    for attrs in func.arg_attrs[len(values) :]:
        values.append(_shadow(values, int(attrs["adc.shadow"]), func.arg_attrs))
    results = interpreter.run(module, name, values)
    return [*results, *(v for v in values if isinstance(v, np.ndarray))]


def _shadow(values: Outcome, position: int, attrs: Any) -> Any:
    """Zeros laid out like the argument; overlapping arguments were refused by the caller."""
    assert "adc.alias" not in attrs[position]
    return np.zeros(values[position].shape, values[position].dtype)


def _primal(program: Program, main: Any, args: Values) -> None:
    module, name, traced = _traced(program, main, args)
    expected = _run(module, name, traced, args)
    _follow(module, name, traced, args, pipelines.SIMPLIFY, expected)
    _follow(module, name, traced, args, pipelines.LOWER, expected)


def _gradient(program: Program, main: Any, args: Values) -> None:
    module, name, traced = _traced(program, main, args)
    if any("adc.alias" in attrs for attrs in module.funcs[name].arg_attrs):
        return
    if not module.funcs[name].result_types:
        return
    value = _run(module, name, traced, args)[0]
    for step in pipelines.SIMPLIFY:
        module = step.run(module)
    wrt = tuple(
        k
        for k, a in enumerate(module.funcs[name].args)
        if a.type.is_float or getattr(a.type, "element", a.type).is_float
    )
    adjoint = differentiate.gradient(module, name, wrt, with_value=True)
    verify(module)
    expected = _run(module, adjoint.name, traced, args)
    assert _same(expected[:1], [value]), f"the gradient's value is {expected[0]}, the function's {value}"
    _follow(module, adjoint.name, traced, args, pipelines.LOWER, expected)


def _follow(module: Module, name: str, traced: Any, args: Values, passes: Pipeline, expected: Outcome) -> Module:
    for step in passes:
        before = print_module(module)
        try:
            module = step.run(module)
            verify(module)
            found = _run(module, name, traced, args)
            assert _same(found, expected), f"{step.name} changed {expected} to {found}"
            text = print_module(module)
            assert print_module(parse_module(text)) == text, f"after {step.name} the text does not parse back"
        except Exception as error:
            error.add_note(f"pass {step.name} on\n{before}")
            raise
    return module


def _same(found: Outcome, expected: Outcome) -> bool:
    """Equal up to the order of sums, which some passes own."""
    for a, b in zip(found, expected, strict=True):
        tolerance = 1e-5 if getattr(b, "dtype", None) == np.float32 else 1e-11
        close = np.allclose(np.asarray(a, float), np.asarray(b, float), tolerance, tolerance)
        if np.shape(a) != np.shape(b) or not close:
            return False
    return True
