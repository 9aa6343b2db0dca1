"""Units in branches are compiled when they are first called, and then found by later processes."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pytest

from adc import jit_grad
from adc.backend.lowering.lower_units import lower_units
from adc.driver import late_units
from adc.errors import OutOfMemoryError
from adc.ir.text.parser import parse_module
from adc.passes.outlining.outline_nests import OutlineNests

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("ADC_CACHE", "1")
    monkeypatch.setenv("ADC_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(OutlineNests, "most", property(lambda self: 3))  # functions of few loops are long
    monkeypatch.setattr(late_units, "_UNITS", WeakValueDictionary())
    yield tmp_path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of units that were called for the first time."""
    texts: list[str] = []
    original = late_units.optimize_or_find
    monkeypatch.setattr(late_units, "optimize_or_find", lambda text, *more: texts.append(text) or original(text, *more))
    return texts


def both_ways(x: Any, up: Any) -> Any:
    y = x.copy()
    if up > 0:
        for i in range(1, len(y)):
            y[i] = np.sin(y[i - 1]) + x[i]
        for i in range(1, len(y)):
            y[i] = y[i] * y[i - 1] + up
    else:
        for i in range(1, len(y)):
            y[i] = np.cos(y[i - 1]) - x[i]
        for i in range(1, len(y)):
            y[i] = y[i] * y[i - 1] - up
    return np.sum(y)


X = np.linspace(0.3, 0.9, 8)


def test_a_branch_is_compiled_when_it_is_reached(compiled: list[str]) -> None:
    made = jit_grad(both_ways)
    for up, new in ((1, True), (2, False), (-1, True), (-2, False), (3, False)):
        compiled.clear()
        assert made(X, up) == pytest.approx(both_ways(X, up), rel=1e-13)
        assert bool(compiled) == new
    step = 1e-6
    for up in (1, -1):
        gradient = made.grad(X, up)
        for k in range(len(X)):
            ends = [both_ways(X + sign * step * (np.arange(len(X)) == k), up) for sign in (1, -1)]
            assert gradient[k] == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6)


def test_a_branch_without_a_cache(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADC_CACHE", "0")
    made = jit_grad(both_ways)
    assert made(X, 1) == pytest.approx(both_ways(X, 1), rel=1e-13)
    assert made(X, -1) == pytest.approx(both_ways(X, -1), rel=1e-13)
    assert compiled


def test_units_are_shared_as_long_as_a_function_has_them(compiled: list[str]) -> None:
    first, second = (jit_grad(both_ways, threads=count) for count in (1, 2))
    first(X, 1), second(X, -1)
    compiled.clear()
    second(X, 1), first(X, -1)
    assert not compiled
    del first
    gc.collect()
    assert second(X, 2) == pytest.approx(both_ways(X, 2), rel=1e-13)
    assert second(X, -2) == pytest.approx(both_ways(X, -2), rel=1e-13)


def test_threads_that_reach_a_branch_together_wait_for_its_code(compiled: list[str]) -> None:
    made = jit_grad(both_ways)
    made(X, -1)
    before = len(compiled)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: made(X, 1 + k % 2), range(16)))
    assert found == [made(X, 1), made(X, 2)] * 8
    assert len(compiled) - before == len(set(compiled[before:]))


def test_code_that_cannot_be_made_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    made = jit_grad(both_ways)

    def full(*_: Any) -> None:
        raise MemoryError("no more")

    with monkeypatch.context() as patched:
        patched.setattr(late_units, "optimize_or_find", full)
        with pytest.raises(OutOfMemoryError):
            made(X, 1)
    assert "no more" in capfd.readouterr().err
    assert made(X, 1) == pytest.approx(both_ways(X, 1), rel=1e-13)


PROGRAM = """
import sys
from typing import Any

import numpy as np

import adc.passes.pipelines
from adc import jit_grad
from adc.backend import optimize
from adc.passes.outlining.outline_nests import OutlineNests

OutlineNests.most = property(lambda self: 3)

BODY

runs = []
run = optimize._run_pipeline
optimize._run_pipeline = lambda *given: runs.append(1) or run(*given)
made, x = jit_grad(both_ways), np.linspace(0.3, 0.9, 8)
for up in map(int, sys.argv[1:]):
    assert abs(made(x, up) - both_ways(x, up)) < 1e-12
print(len(runs))
"""


def test_a_later_process_compiles_nothing(folder: Path) -> None:
    """It finds what was called, and does not need what was not."""
    body = "".join(Path(__file__).read_text().partition("def both_ways")[1:]).partition("\n\n\n")[0]
    (folder / "program.py").write_text(PROGRAM.replace("BODY", body))

    def runs(*ups: int) -> int:
        command = [sys.executable, str(folder / "program.py"), *map(str, ups)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return int(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)

    assert runs(1) > 0
    assert runs(1, 2) == 0
    assert 0 < runs(1, -1)
    assert runs(1, -1) == 0


BRANCH = """
func.func @piece(%a: memref<?xf64>) attributes {adc.unit = true, adc.noinline = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?xf64>
  scf.for %k = %c0 to %n step %c1 {
    %x = memref.load %a[%k] : memref<?xf64>
    memref.store %x, %a[%c0] : memref<?xf64>
  }
  func.return
}
func.func @f(%a: memref<?xf64>, %b: i1) attributes {adc.unit = true} {
  scf.if %b {
    THEN
    scf.yield
  } else {
    ELSE
    scf.yield
  } ATTRS
  func.return
}
"""
CALL = "func.call @piece(%a) : (memref<?xf64>) -> ()"


@pytest.mark.parametrize("then", [True, False])
@pytest.mark.parametrize(
    ("attrs", "usual"),
    [("", ()), ("{adc.likely = true}", (True,)), ('{adc.cold = "else"}', (True,)), ('{adc.cold = "then"}', (False,))],
)
def test_only_the_usual_side_of_a_branch_is_linked_at_once(then: bool, attrs: str, usual: tuple[bool, ...]) -> None:
    text = BRANCH.replace("ATTRS", attrs).replace("THEN", CALL if then else "").replace("ELSE", "" if then else CALL)
    units = lower_units(parse_module(text), threads=True, vectors=True)
    piece, whole = (units.units[name].symbol for name in ("piece", "f"))
    at_once = then in usual
    assert units.lowered[whole].needs == ((piece,) if at_once else ())
    assert units.lowered[whole].late == (() if at_once else (piece,))
    assert ("@adc_late" in units.texts[whole]) == (not at_once)
    assert list(units.with_needed([whole])) == ([whole, piece] if at_once else [whole])
