"""Pipelines that are not run twice by tests: only for what is the same, and what comes out is what they make."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.driver import compiler
from adc.ir.core import Loc, Module
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_module
from adc.passes.base import run_pipeline
from adc.passes.pipelines import LOWER, SIMPLIFY, TIDY
from tests import stages

HERE = Path(__file__)
TEXT = """
func.func @f(%x: f64, %a: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %a, 0 : memref<?xf64>
  %s = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero) -> (f64) {
    %v = memref.load %a[%i] : memref<?xf64>
    %w = arith.mulf %v, %x : f64
    %u = arith.addf %t, %w : f64
    scf.yield %u : f64
  }
  func.return %s : f64
}
"""


def given(**changes: str) -> Module:
    text = TEXT
    for old, new in changes.items():
        text = text.replace(old, new)
    return parse_module(text)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What pipelines are run on."""
    found: list[str] = []

    def run(module: Module, steps: Any, **options: Any) -> Module:
        found.append(print_module(module))
        return run_pipeline(module, steps, **options)

    monkeypatch.setattr(stages, "_made", {})
    monkeypatch.setattr(stages, "run_pipeline", run)
    return found


def test_the_same_is_made_once_and_copied(runs: list[str]) -> None:
    first, second = (stages._run((), given(), LOWER) for _ in range(2))
    assert len(runs) == 1 and first is not second and first.funcs["f"] is not second.funcs["f"]
    expected = print_module(run_pipeline(given(), LOWER), locs=True)
    assert print_module(first, locs=True) == print_module(second, locs=True) == expected
    first.funcs.clear()  # what one test does with it
    assert print_module(stages._run((), given(), LOWER), locs=True) == expected and len(runs) == 1


def test_anything_else_is_another() -> None:
    moved = given()
    moved.funcs["f"].body.ops[0].loc = Loc("program.py", 3)
    modules = [
        given(),
        moved,
        given(mulf="divf"),
        given(**{"0.0 : f64": "-0.0 : f64"}),
        given(**{"%v, %x": "%x, %v"}),
        given(**{"%a": "%b"}),
        given(**{"%t, %w : f64": "%t, %w fastmath<contract> : f64"}),
        given(**{"@f": "@g"}),
    ]
    assert len({stages._content(module) for module in modules}) == len(modules)


def test_other_passes_and_what_was_exchanged_count(runs: list[str]) -> None:
    for exchanged, steps in (((), SIMPLIFY), ((), TIDY), ((1,), TIDY), ((1,), TIDY)):
        stages._run(exchanged, given(), steps)
    assert len(runs) == 3


def test_no_more_than_some_are_kept(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "_MOST", 5 * len(stages._content(given())))  # of two
    for name in "abacb":  # b is not there any more when it comes again
        stages._run((), given(**{"@f": f"@{name}"}), TIDY)
    assert len(runs) == 4 and len(stages._made) == 2


def total(a):
    return np.sum(a * a)


@pytest.mark.usefixtures("stages")
def test_a_test_that_asks_has_it() -> None:
    assert compiler.run_pipeline is not run_pipeline
    for engine in ("native", "interpreter"):
        np.testing.assert_array_equal(jit_grad(total, _engine=engine).grad(np.arange(3.0)), [0.0, 2.0, 4.0])


@pytest.mark.usefixtures("stages")
def test_a_test_that_exchanges_something_does_without(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiler.run_pipeline is run_pipeline


def test_so_does_one_that_does_not_ask() -> None:
    assert compiler.run_pipeline is run_pipeline


def test_files_that_ask_exchange_nothing_unseen() -> None:
    """What is exchanged by other means than the fixture ``monkeypatch`` would not be noticed."""
    texts = {path: path.read_text() for path in HERE.parent.rglob("test_*.py") if path != HERE}
    asking = {path: text for path, text in texts.items() if 'usefixtures("stages")' in text}
    assert asking
    assert not [path for path, text in asking.items() if re.search(r"\bmock\b|MonkeyPatch[.(]", text)]
