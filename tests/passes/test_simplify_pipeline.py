"""Running passes in sequence: checks in between, hooks, time that grows with the size of the program."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import ClassVar

import pytest

from adc.ir import ops
from adc.ir.builder import build, insert_at
from adc.ir.core import Func, Module
from adc.ir.text.parser import parse_module
from adc.ir.types import f64, index
from adc.passes.base import Changed, Pass, PassError, Verify, asked_verification, passes_of, run_pipeline
from adc.passes.canonicalize.canonicalize import Canonicalize
from adc.passes.pipelines import FREE, LOWER, PREPARE, SIMPLIFY
from adc.passes.simplify.dce import DCE
from tests.passes.random_ir import MATRIX, STRIDED, Generator

TEXT = "func.func @f(%x: f64) -> f64 {\n%y = math.sin %x : f64\nfunc.return %x : f64\n}"


@dataclass(frozen=True)
class DropsTerminator:
    name: ClassVar[str] = "drops-terminator"

    def run(self, module: Module) -> Module:
        for func in module.funcs.values():
            func.body.pop().drop()
        return module


def test_a_pass_that_breaks_the_module_is_named() -> None:
    with pytest.raises(PassError, match="pass drops-terminator"):
        run_pipeline(parse_module(TEXT), (DCE(), DropsTerminator()), verify=Verify.PASSES)


def test_hook_sees_each_pass_and_its_result() -> None:
    seen: list[tuple[str, int]] = []

    def after(step: Pass, changed: Changed, module: Module, seconds: float) -> None:
        assert seconds >= 0
        seen.append((step.name, sum(1 for _ in module.funcs["f"].walk())))

    run_pipeline(parse_module(TEXT), (Canonicalize(), DCE()), after=after)
    assert seen == [("canonicalize", 2), ("dce", 1)]


@dataclass(frozen=True)
class Renames:
    """Changes each function in each run."""

    runs: list[str]
    settles: bool = False
    name: ClassVar[str] = "renames"

    def run(self, module: Module) -> Module:
        self.runs.append(self.name)
        for func in module.funcs.values():
            func.attrs["adc.count"] = len(self.runs)
        return module


def test_a_pass_that_settles_waits_for_others_to_change_something() -> None:
    for settles, expected in ((True, 1), (False, 2)):
        one, other = Renames([], settles), Renames([])
        run_pipeline(parse_module(TEXT), (one, one))
        assert len(one.runs) == expected
        run_pipeline(parse_module(TEXT), (one, other, one))
        assert len(one.runs) == expected + 2 and len(other.runs) == 1


def test_passes_are_values_with_names() -> None:
    for step in passes_of((*PREPARE, *LOWER)):
        assert isinstance(step, Pass)
        assert step == type(step)(**vars(step)) and hash(step) == hash(type(step)(**vars(step)))
        assert step.name == step.name.lower() and " " not in step.name


def _long_function(operations: int) -> Module:
    """Statements one after the other, as in a long Python function."""
    generator = Generator(random.Random(operations), 10**9)
    generator._callee()
    func = Func("f", [STRIDED, MATRIX, index, f64, f64], [f64], ["a", "b", "n", "x", "y"])
    generator.module.add(func)
    generator.scope = [list(func.args)]
    with insert_at(func.body):
        while sum(1 for _ in func.walk()) < operations:
            generator.statements(1)
            if len(generator.scope[0]) > 400:
                generator.scope[0][5:200] = []  # what was computed long ago is not used again
        build(ops.return_, [generator.pick(f64)])
    return generator.module


def test_time_grows_with_the_size() -> None:
    """Four times the program takes well under the sixteen times of a quadratic pass, whatever else the machine does."""

    def seconds(operations: int) -> float:
        best = float("inf")
        for _ in range(2):
            module = _long_function(operations)
            start = time.process_time()
            run_pipeline(module, (*SIMPLIFY, *FREE))
            best = min(best, time.process_time() - start)
        return best

    assert seconds(8_000) < 9 * seconds(2_000)


def test_a_pipeline_that_breaks_the_module_is_named() -> None:
    with pytest.raises(PassError, match="one of the passes dce, drops-terminator"):
        run_pipeline(parse_module(TEXT), (DCE(), DropsTerminator()), verify=Verify.PIPELINES)


@pytest.mark.parametrize(
    ("asked", "found"),
    [("", Verify.NEVER), ("pipelines", Verify.PIPELINES), ("1", Verify.PASSES), ("x", Verify.PASSES)],
)
def test_the_environment_says_when_to_verify(monkeypatch: pytest.MonkeyPatch, asked: str, found: Verify) -> None:
    monkeypatch.setenv("ADC_VERIFY", asked)
    assert asked_verification() is found
