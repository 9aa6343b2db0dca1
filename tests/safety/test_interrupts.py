"""Ctrl-C stops compiled code, wherever it is."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import adc
from adc.backend.ahead.aot import Part, build
from adc.backend.ahead.cabi import primal
from adc.backend.lowering.lower import lower_module
from adc.backend.lowering.lower_effects import Effects
from adc.driver.compiler import Staged
from adc.ir.core import Module
from adc.passes.calls.inline import Inline
from adc.reports.dump import resolve

ROOT = Path(__file__).parents[2]


def test_every_kind_of_kernel_is_interrupted() -> None:
    run = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("interrupted.py"))],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "ADC_NUM_THREADS": "2"},
    )
    assert run.returncode == 0 and run.stdout.endswith("done\n"), run.stdout + run.stderr


def nested(u, n):
    total = 0.0
    for t in range(n):
        for i in range(u.shape[0]):
            for k in range(3):
                total += u[i] * t * k
    return total


def module_of(fn: object, signature: str) -> tuple[Module, str]:
    subject = adc.jit_grad(fn)._subject  # type: ignore[type-var, arg-type]
    staged = Staged(subject, resolve(subject, signature))
    traced = staged.traced()
    return staged.primal(traced), traced.entry


def test_objects_made_ahead_of_time_do_not_poll() -> None:
    module, name = module_of(nested, "f64[::1], i64")
    built = build([Part(module, (primal(module, name, "nested"),))], "nested")
    assert "adc_poll" not in built.llvm_ir() and "adc_attention" not in built.llvm_ir()


def test_loops_of_few_iterations_do_not_poll() -> None:
    module, _ = module_of(nested, "f64[::1], i64")
    text = lower_module(module, polls=True).text()
    assert text.count("call i32 @adc_poll") == 1  # in the time loop: not in a row, nor in the loop over three
    assert "adc_poll" not in lower_module(module).text()


def thrice(x):
    for _ in range(3):
        x = math.sin(x)
    return x


def nine_times(x):
    for _ in range(3):
        x = thrice(x)
    return x


def test_brief_loops_around_calls_with_brief_loops_do_not_poll_nor_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Inline, "run", lambda self, module: module)
    module, _ = module_of(nine_times, "f64")
    text = lower_module(module, polls=True).text()
    assert "call i32 @adc_poll" not in text and "%out0" not in text.split("thrice")[1].split("\n")[0]
    assert adc.jit_grad(nine_times)(0.5) == nine_times(0.5)


def counting(x, n):
    total = 0.0
    for t in range(n):
        for k in range(n):
            total += x * (t - k)
    return total


def test_innermost_loops_that_no_array_limits_poll_between_strips() -> None:
    module, _ = module_of(counting, "f64, i64")
    assert lower_module(module, polls=True).text().count("call i32 @adc_poll") == 2


def straight(u):
    total = 0.0
    for k in range(4):
        total += float(k)
    return total * 2.0


def test_what_has_no_long_loop_still_cannot_fail() -> None:
    module, name = module_of(straight, "f64")
    assert name not in Effects.of(module, polls=True).fallible


def test_parallel_loop_of_few_iterations_in_a_function_that_cannot_fail() -> None:
    def few(x):
        ones = np.ones(2)
        return x * np.sum(ones * ones)

    assert adc.jit_grad(few)(1.5) == 3.0
    assert adc.grad(few)(1.5) == 2.0
