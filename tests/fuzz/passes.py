"""Each pass alone: the interpreter runs a random program before and after it, with the same result."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from adc.border.signature import abstracts_of
from adc.frontend.entrance import trace
from adc.ir.core import Module
from adc.ir.interpret import interpreter
from adc.ir.interpret.memory import InterpreterError
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_func, print_module
from adc.ir.verifier import verify
from adc.passes import pipelines
from adc.passes.analysis import machine
from adc.passes.base import Changed, Pass, Pipeline, Verify, run_pipeline
from adc.passes.cache import tile_loops
from adc.passes.cache.tile_loops import TileLoops
from adc.passes.differentiation import differentiate
from adc.passes.outlining.outline_nests import OutlineNests
from adc.passes.scatter import privatisation
from adc.passes.simd.interleave import Interleave
from adc.passes.simd.vectorise_outer import VectoriseOuter
from tests.fuzz.check import loaded
from tests.fuzz.generator import Program, generate
from tests.fuzz.oracle import copies
from tests.fuzz.params import Choice, Values, arguments, build, flat, name_of

Outcome = list[Any]
# These programs have few loops, of few iterations.
_NARROW = {
    VectoriseOuter: VectoriseOuter(2),
    Interleave: Interleave(2),
    OutlineNests: OutlineNests(most=3),
    TileLoops: TileLoops((2, 3)),
}
LOWER: Pipeline = tuple(_NARROW.get(type(p), p) for p in pipelines.LOWER)  # type: ignore[call-overload]


def check_passes(seed: int, size: int = 12, only: frozenset[str] | None = None) -> None:
    """Generate a program, and follow primal and gradient through their pipelines."""
    rng = random.Random(seed)
    program = generate(rng, size, only)
    leaves = arguments(program.params, rng, overlap=False)
    try:
        with (
            loaded(program.text) as names,
            mock.patch.object(privatisation, "WORTH", 1),
            mock.patch.object(machine, "CPU", replace(machine.CPU, lanes=2)),
            mock.patch.object(tile_loops, "GRAIN", 1),
        ):
            _Subject(program, names, leaves).primal()
            _Subject(program, names, leaves).gradient()
    except Exception as error:
        error.add_note(f"seed {seed}\narguments {leaves!r}\n{program.text}")
        raise


class _Subject:
    """A program that was traced for its arguments, which are kept leaf by leaf."""

    def __init__(self, program: Program, names: dict[str, Any], leaves: Values) -> None:
        self.params = program.params
        self.leaves = leaves
        given = build(program.params, leaves, names)
        self.traced = trace(names["main"], abstracts_of(tuple(map(name_of, program.params)), tuple(given)))

    def primal(self) -> None:
        module, name = self.traced.module, self.traced.entry
        expected = self._run(module, name)
        self._follow(module, name, pipelines.SIMPLIFY, expected)
        self._follow(module, name, LOWER, expected)

    def gradient(self) -> None:
        module, name = self.traced.module, self.traced.entry
        assert not any("adc.alias" in attrs for attrs in module.funcs[name].arg_attrs)
        if not module.funcs[name].result_types:
            return
        value = self._run(module, name)[0]
        module = run_pipeline(module, pipelines.SIMPLIFY)
        wrt = tuple(
            k
            for k, a in enumerate(module.funcs[name].args)
            if a.type.is_float or getattr(a.type, "element", a.type).is_float
        )
        adjoint = differentiate.gradient(module, name, wrt, with_value=True)
        verify(module)
        expected = self._run(module, adjoint.name)
        assert _same(expected[:1], [value]), f"the gradient's value is {expected[0]}, the function's {value}"
        self._follow(module, adjoint.name, LOWER, expected)

    def _follow(self, module: Module, name: str, passes: Pipeline, expected: Outcome) -> None:
        texts = {func.name: print_func(func) for func in module.funcs.values()}

        def after(step: Pass, changed: Changed, module: Module, seconds: float) -> None:
            nonlocal texts
            if not changed:
                return
            new = {func.name: print_func(func) for func in module.funcs.values() if func.name in changed}
            before, texts = texts, {k: t for k, t in (texts | new).items() if k in new or k not in changed}
            try:
                found = self._run(module, name)
                assert _same(found, expected), f"{step.name} changed {expected} to {found}"
                text = "\n".join(new.values())
                assert print_module(parse_module(text)) == text, f"after {step.name} the text does not parse back"
            except Exception as error:
                error.add_note("\n".join([f"pass {step.name} on", *before.values()]))
                raise

        try:
            run_pipeline(module, passes, verify=Verify.PASSES, after=after)
        except Exception as error:
            error.add_note("\n".join(["the last code that is right is", *texts.values()]))
            raise

    def _run(self, module: Module, name: str) -> Outcome:
        """Results, or the exception; then arrays as they are afterwards: arguments, and shadows, which were zero."""
        values = self._inputs()
        func = module.funcs[name]
        for attrs in func.arg_attrs[len(values) :]:
            like = values[int(attrs["adc.shadow"])]
            values.append(np.zeros(like.shape, like.dtype))
        try:
            results = interpreter.run(module, name, values)
        except InterpreterError:
            raise
        except Exception as error:
            results = [repr(error)]
            # In an adjoint shadows are unfinished then, and nobody sees them.
            values = values[: len(self._inputs())]
        return [*results, *(v for v in values if isinstance(v, np.ndarray))]

    def _inputs(self) -> Outcome:
        """What the traced function takes: all leaves but those that were known when it was traced."""
        values = []
        for leaf, value in zip(flat(self.params), copies(self.leaves), strict=True):
            if isinstance(leaf, Choice) and value in ("True", "False"):
                values.append(value == "True")
            elif value is not None and not isinstance(leaf, Choice):
                values.append(value)
        rest = iter(values)
        return [leaf.fetch() if leaf.kind == "capture" else next(rest) for leaf in self.traced.leaves]


def _same(found: Outcome, expected: Outcome) -> bool:
    """Equal up to the order of sums, which some passes own."""
    for a, b in zip(found, expected, strict=True):
        if isinstance(a, str) or isinstance(b, str):
            if a != b:
                return False
            continue
        tolerance = 1e-5 if getattr(b, "dtype", None) == np.float32 else 1e-11
        close = np.allclose(np.asarray(a, float), np.asarray(b, float), tolerance, tolerance)
        if np.shape(a) != np.shape(b) or not close:
            return False
    return True
