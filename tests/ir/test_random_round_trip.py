"""Random IR, its adjoint and its lowered form are valid, print, parse back to the same text, and clone."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from adc.ir.core import Loc, Module
from adc.ir.diagnostics import AdcError, DifferentiationError
from adc.ir.interpret.interpreter import InterpreterError, run
from adc.ir.rewrite import clone_func
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_func, print_module
from adc.ir.verifier import verify
from adc.passes import pipelines
from adc.passes.base import run_pipeline
from adc.passes.differentiation.differentiate import gradient
from tests.passes.random_ir import arguments, generate

WRT = (0, 1, 3, 4)


def stages(seed: int) -> Iterator[Module]:
    module = generate(random.Random(seed))
    yield module
    module = run_pipeline(module, pipelines.SIMPLIFY)
    yield module
    try:
        gradient(module, "f", WRT)
    except DifferentiationError:
        return
    yield module
    yield run_pipeline(module, pipelines.LOWER)


def mark(module: Module) -> None:
    """Give every operation a location of its own."""
    for func in module.funcs.values():
        for n, op in enumerate(func.walk()):
            op.loc = Loc("random.py", n + 1, n % 7, n + 1, n % 7 + 1)


@pytest.mark.parametrize("block", range(5))
def test_every_stage(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        for module in stages(seed):
            verify(module)
            mark(module)
            for locs in (False, True):
                text = print_module(module, locs=locs)
                parsed = parse_module(text)
                verify(parsed)
                assert print_module(parsed, locs=locs) == text
            for func in list(module.funcs.values()):
                copy = clone_func(func, func.name)
                assert print_func(copy, locs=True) == print_func(func, locs=True)


def test_parsed_modules_run_alike() -> None:
    compared = 0
    for seed in range(60):
        module = generate(random.Random(seed))
        parsed = parse_module(print_module(module))
        outcomes = []
        for version in (module, parsed):
            args = arguments(random.Random(seed))
            try:
                outcomes.append(repr((run(version, "f", args), args)))
                compared += 1
            except (AdcError, ArithmeticError, InterpreterError) as error:
                outcomes.append(type(error).__name__)
        assert outcomes[0] == outcomes[1]
    assert compared > 40
