"""The report's summary, its data, its HTML, and ``adc explain``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.cli import main
from adc.ir.core import Loc
from adc.passes.plans import LoopPlan, ParallelPlan


@jit_grad
def logistic(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = 3.1 * x * (1.0 - x)
    return x


@jit_grad
def smooth(x: Any, k: Any) -> Any:
    return x + k * x


LINE = logistic._subject.fn.__code__.co_firstlineno + 2


def test_the_report_begins_with_a_summary() -> None:
    report = logistic.report("f64, i64")
    lines = report.summary().splitlines()
    assert len(lines) <= 10 and str(report).startswith(report.summary())
    assert lines[0] == "gradient of logistic by x"
    assert f"tape: 1 value stored: x of line {LINE} (8 bytes in each iteration of line {LINE})" in report.summary()
    assert f"threads: no loop runs on threads; in order: line {LINE}" in report.summary()
    assert f"advice: line {LINE} runs on one thread, since it carries x" in report.summary()
    assert "report(call=(...)) measures a run" in lines[1]
    assert "SIMD" not in report.summary()


@jit_grad
def looked_up(u: Any, where: Any, n: Any) -> Any:
    v = u.copy()
    total = 0.0
    for _ in range(n):  # in front of which the largest subscript is looked for, on threads
        for i in range(len(v)):
            v[i] = np.sin(v[i])
        for k in where:
            total += v[k] ** 2
    return total


def test_a_loop_in_order_is_not_said_to_be_on_threads() -> None:
    first = looked_up._subject.fn.__code__.co_firstlineno
    told = looked_up.report("f64[::1], i64[::1], i64").summary()
    assert f"threads: loops of lines {first + 2}, {first + 5}, {first + 7}; in order: line {first + 4}" in told


def test_a_run_is_measured() -> None:
    report = logistic.report(call=(0.3, 1000))
    assert report.measured is not None
    assert 0.0 < report.measured.value_seconds < 0.1 and 0.0 < report.measured.gradient_seconds < 0.1
    peak = logistic.grad.forecast(0.3, 1000).peak
    assert report.measured.peak_bytes == peak and 8000 <= peak < 10000
    assert "memory: the gradient allocates at most 8" in report.summary()
    x = np.ones(5)
    both = smooth.report(call=(x, 2.0))
    assert both.what == "pullback" and both.measured is not None and both.summary().startswith("pullback of smooth")


def test_llvm_says_which_loops_are_simd() -> None:
    @jit_grad(parallel=False)
    def energy(x: Any) -> Any:
        return np.sum(x * x)

    line = energy._subject.fn.__code__.co_firstlineno + 2
    assert energy.report("f64[::1]", simd=True).simd == (line,)
    assert logistic.report("f64, i64", simd=True).simd == ()


def test_the_report_as_data_and_as_html() -> None:
    data = json.loads(json.dumps(logistic.report("f64, i64").as_dict()))
    assert data["function"] == "logistic" and data["with_respect_to"] == ["x"] and data["measured"] is None
    times = f"iterations of the loop in line {LINE}"
    assert data["stored"] == [
        {"line": LINE, "name": "x", "type": "float", "bytes": 8, "times": times, "factors": [times], "refers": False}
    ]
    assert data["loops"]["logistic.grad"][0]["kind"] == "sequential" and data["summary"][0].startswith("gradient of")
    html = smooth.report("f64[::1], f64")._repr_html_()
    assert html.startswith("<pre>pullback of smooth") and "<details>" in html
    assert "x: array of float64 with 1 axis: active" in html


def test_explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = "def f(x: float, n: int):\n    for _ in range(n):\n        x *= x\n    return x\n"
    (tmp_path / "program.py").write_text(program)
    target = f"{tmp_path / 'program.py'}:f"
    assert main(["explain", target, "--summary", "--no-simd"]) == 0
    assert capsys.readouterr().out.startswith("gradient of f by x\n")
    assert main(["explain", target]) == 0
    out = capsys.readouterr().out
    assert "SIMD: LLVM made no loop SIMD" in out and "\n  x: float: active\n" in out
    assert main(["explain", target, "--json", "--no-simd"]) == 0
    assert json.loads(capsys.readouterr().out)["stored"][0]["line"] == 2


def test_lines_of_the_library_are_not_told_as_the_programs() -> None:
    @jit_grad(parallel=False)
    def power(x: Any) -> Any:
        return np.sum(np.abs(np.fft.fft(x)) ** 2)

    first = power._subject.fn.__code__.co_firstlineno
    report = power.report("f64[::1]", simd=True)
    assert report.simd is not None and set(report.simd) <= {first + 2}

    @jit_grad
    def between(x: Any, y: Any) -> Any:
        return np.sum(np.interp(x, np.arange(4.0), y) ** 2)

    line = between._subject.fn.__code__.co_firstlineno + 2
    report = between.report("f64[::1], f64[::1]")
    assert {plan.loc.line for plan in [*report.loops(), *report.sums()]} <= {line}


def test_what_is_alike_is_told_once_and_in_plain_words() -> None:
    @jit_grad
    def rough(a: Any) -> Any:
        return np.sum(np.diff(a, axis=0) ** 2) + np.sum(np.diff(a, axis=1) ** 2)

    report = rough.report("f64[:, ::1]")
    assert "memref." not in report.summary() and "arith." not in report.summary()
    lines = str(report).splitlines()
    assert any(line.startswith("  line ") and line.endswith(" times)") for line in lines)
    loops = sum(len(plans) for plans in report.parallel.loops.values())
    assert loops == sum(len(plans) for plans in report.as_dict()["loops"].values())  # the data have all of them


def test_loops_of_functions_that_are_called_are_among_those_of_the_summary() -> None:
    def march(u: Any, n: Any) -> Any:
        for _ in range(n):
            u = u + 0.1 * np.sin(u) * np.sort(u)
        return u

    @jit_grad
    def loss(u: Any, n: Any) -> Any:
        s = 0.0
        # So often that it is not written out instead.
        for x in march(u, n) * march(u, n + 1) * march(u, n + 2) * march(u, n + 3):
            s += x * x * x
        return s

    line = march.__code__.co_firstlineno + 1
    report = loss.report("f64[::1], i64")
    assert line in {plan.loc.line for plan in report.loops()}
    tape = next(text for text in report.summary().splitlines() if "tape:" in text)
    assert f"of line {line} (the array itself in each iteration of line {line})" in tape.split(";")[0]
    advice = f"of line {line} is stored in each iteration of line {line}"
    assert any(advice in text for text in report.as_dict()["advice"])


def test_nests_that_are_equal_are_told_once() -> None:
    at = Loc("a.py", 3)
    outer, inner, other = (LoopPlan(at, *given) for given in (("i", 0, "threads"), ("j", 1, "parallel"), ("k", 0, "x")))
    plan = ParallelPlan({"f": [outer, inner, outer, inner, other, outer, inner, outer]})
    assert str(plan).splitlines() == [
        "loops of @f",
        "  a.py:3 for i: threads (2 times)",
        "    a.py:3 for j: parallel",
        "  a.py:3 for k: x",
        "  a.py:3 for i: threads",
        "    a.py:3 for j: parallel",
        "  a.py:3 for i: threads",
    ]
